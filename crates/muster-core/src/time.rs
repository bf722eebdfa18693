//! Simulation time as integer nanoseconds, and rates whose events fall on an exact lattice.
//!
//! Event `k` of a rate of `h` hertz happens at `floor(k / h)` nanoseconds, so rates that do not divide each other (or
//! a second) still fire an exact number of times and never drift.

use std::fmt;
use std::ops::{Add, Sub};

/// A point in simulation time or a span of it, in nanoseconds; a run starts at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SimTime(u64);

impl SimTime {
    /// The start of a run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// From nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// From seconds, rounded to the nearest nanosecond; negative and non-finite values give zero, values beyond the
    /// range [`SimTime::NEVER`].
    pub fn from_s(seconds: f64) -> Self {
        Self((seconds * 1e9 + 0.5) as u64)
    }

    /// In nanoseconds.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// In seconds.
    pub fn s(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

impl Add for SimTime {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for SimTime {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// Microhertz in one hertz; rates are kept to this resolution.
const MICRO: f64 = 1e6;
/// Nanoseconds times microhertz in one event.
const ONE_EVENT: u64 = 1_000_000_000_000_000;

/// How often something happens, to a microhertz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    micro_hz: u64,
    base_ns: u64,
    rest: u64,
}

impl Rate {
    /// The highest rate: an event a microsecond.
    pub const MAX_HZ: f64 = 1e6;

    /// The highest rate.
    pub const MAX: Self = {
        let micro_hz = (Self::MAX_HZ * MICRO) as u64;
        Self { micro_hz, base_ns: ONE_EVENT / micro_hz, rest: ONE_EVENT % micro_hz }
    };

    /// A rate of more than 0 and at most [`Rate::MAX_HZ`] hertz.
    pub fn from_hz(hz: f64) -> Option<Self> {
        let micro_hz = (hz * MICRO + 0.5) as u64;
        (hz.is_finite() && hz <= Self::MAX_HZ && micro_hz > 0).then(|| Self {
            micro_hz,
            base_ns: ONE_EVENT / micro_hz,
            rest: ONE_EVENT % micro_hz,
        })
    }

    /// In hertz.
    pub fn hz(self) -> f64 {
        self.micro_hz as f64 / MICRO
    }

    /// The nominal time between two events in seconds; what integrators use as their step.
    pub fn period_s(self) -> f64 {
        MICRO / self.micro_hz as f64
    }

    /// The time between two events, rounded down.
    pub fn period(self) -> SimTime {
        SimTime(self.base_ns)
    }

    /// When event `k` happens.
    pub fn time_of(self, k: u64) -> SimTime {
        SimTime((u128::from(k) * u128::from(ONE_EVENT) / u128::from(self.micro_hz)) as u64)
    }

    /// The first event at or after `time`.
    pub fn first_at_or_after(self, time: SimTime) -> u64 {
        let scaled = u128::from(time.0) * u128::from(self.micro_hz);
        let mut k = (scaled / u128::from(ONE_EVENT)) as u64;
        while self.time_of(k) < time {
            k += 1;
        }
        k
    }
}

impl Rate {
    /// The first event after `time`.
    pub fn first_after(self, time: SimTime) -> u64 {
        self.first_at_or_after(SimTime(time.0.saturating_add(1)))
    }
}

/// Walks along the events of a rate. Cheap: one addition an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticker {
    /// When the next event happens.
    pub next: SimTime,
    /// Which event that is.
    pub index: u64,
    error: u64,
}

impl Ticker {
    /// The first event at or after `time`, of a rate whose events are shifted by `phase`.
    pub fn at_or_after(rate: Rate, phase: SimTime, time: SimTime) -> Self {
        let index = rate.first_at_or_after(time - phase);
        let error = (u128::from(index) * u128::from(rate.rest) % u128::from(rate.micro_hz)) as u64;
        Self { next: rate.time_of(index) + phase, index, error }
    }

    /// The first event after `time`.
    pub fn after(rate: Rate, phase: SimTime, time: SimTime) -> Self {
        let mut ticker = Self::at_or_after(rate, phase, time);
        while ticker.next <= time {
            ticker.advance(rate);
        }
        ticker
    }

    /// Goes on to the next event.
    pub fn advance(&mut self, rate: Rate) {
        self.index += 1;
        self.error += rate.rest;
        let carry = self.error >= rate.micro_hz;
        self.next = SimTime(self.next.0 + rate.base_ns + u64::from(carry));
        if carry {
            self.error -= rate.micro_hz;
        }
    }

    /// Passes all events up to `time` and returns the index of the last of them, if there was one.
    pub fn take_due(&mut self, rate: Rate, time: SimTime) -> Option<u64> {
        let mut last = None;
        while self.next <= time {
            last = Some(self.index);
            self.advance(rate);
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_that_do_not_divide_a_second_fire_an_exact_number_of_times() {
        for (hz, expected) in [(1000.0, 10_000), (100.0, 1000), (30.0, 300), (7.0, 70), (33.3, 333), (0.5, 5)] {
            let rate = Rate::from_hz(hz).unwrap();
            let mut ticker = Ticker::after(rate, SimTime::ZERO, SimTime::ZERO);
            let mut count = 0;
            while ticker.next <= SimTime::from_s(10.0) {
                count += 1;
                ticker.advance(rate);
            }
            assert_eq!(count, expected, "{hz} Hz");
        }
    }

    #[test]
    fn a_ticker_that_walks_equals_a_ticker_that_jumps() {
        for hz in [1000.0, 7.0, 333.333, 59.94, 999_983.0] {
            let rate = Rate::from_hz(hz).unwrap();
            let phase = SimTime::from_ns(123_457);
            let mut walked = Ticker::at_or_after(rate, phase, SimTime::ZERO);
            for _ in 0..20_000 {
                assert_eq!(walked, Ticker::at_or_after(rate, phase, walked.next), "{hz} Hz");
                assert_eq!(walked.next, rate.time_of(walked.index) + phase);
                walked.advance(rate);
            }
        }
    }

    #[test]
    fn only_positive_finite_rates_up_to_a_megahertz_exist() {
        for hz in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e6, 1e-9] {
            assert_eq!(Rate::from_hz(hz), None, "{hz}");
        }
    }
}
