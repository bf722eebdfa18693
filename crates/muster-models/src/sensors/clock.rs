//! The simulation's clock. Time is counted in whole nanoseconds; seconds and nanoseconds apart hold it exactly however
//! long a run is, and `time_s` is the number nearest to it, so sample N of a rate that divides a second stands at N
//! times its period without drift.

use super::build;
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::lanes::{LANES, Quantity};
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// The simulation's clock.
    pub struct Clock {}
}

/// The simulation's clock.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "clock",
    doc: "Simulation time in seconds, and exactly as whole seconds and nanoseconds.",
    fields: Clock::FIELDS,
    build: &build::<Clock>,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] = &[Quantity::one("time_s"), Quantity::one("seconds"), Quantity::one("nanoseconds")];

/// Where the time is in a sample.
pub const TIME: usize = 0;
/// Where the whole seconds are in a sample.
pub const SECONDS: usize = 1;
/// Where the nanoseconds beyond them are in a sample.
pub const NANOSECONDS: usize = 2;

const NS_PER_S: u64 = 1_000_000_000;

impl Sensor for Clock {
    fn fields(&self) -> &'static [Quantity] {
        FIELDS
    }

    fn default_rate_hz(&self) -> f64 {
        100.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }
}

impl Feel for Clock {
    fn start(&self, _: &mut Measure<'_>, _: usize) {}

    fn measure(&self, measure: &mut Measure<'_>) {
        let ns = measure.time.ns();
        // one correctly rounded division: the number nearest to the exact time while nanoseconds fit in 53 bits
        let values = [ns as f64 / NS_PER_S as f64, (ns / NS_PER_S) as f64, (ns % NS_PER_S) as f64];
        for (column, value) in measure.sample.iter_mut().zip(values) {
            column[..measure.lanes.min(LANES)].fill(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults};
    use super::*;

    #[test]
    fn time_is_n_periods_exactly() {
        let clock: Clock = defaults();
        let mut bench = Bench::new(&clock, 1000.0);
        for n in [0, 1, 3, 1000, 123_456_789, 86_400_000] {
            bench.index = n;
            bench.measure(&clock);
            let sample: Vec<f64> = bench.sample.iter().map(|column| column[5]).collect();
            assert_eq!(sample, [n as f64 / 1000.0, (n / 1000) as f64, (n % 1000 * 1_000_000) as f64]);
        }
    }
}
