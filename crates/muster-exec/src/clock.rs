//! The wall clock of a run and the ways to wait for it. A wait never ends early, unless the run is to stop, and ends as
//! little late as the strategy allows; it does not catch up or skip, that is the loop's decision. Lateness at 1 kHz is
//! 40 to 90 µs with a plain sleep and 0.1 to 0.3 µs with a sleep that spins at its end, which is why there are
//! strategies and a measurement to choose by.

use crate::system::{Origin, thread_cpu_ns};
use muster_core::exec::Clock;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How to wait, from cheap to punctual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WaitStrategy {
    /// The standard library's sleep.
    Sleep,
    /// A sleep until an absolute time with 1 ns timer slack, which stays set for the thread that waits. Outside Linux
    /// the same as `Sleep`.
    AbsoluteSleep,
    /// An absolute sleep until 200 µs before the deadline, then spinning.
    #[default]
    Hybrid,
}

impl WaitStrategy {
    /// All of them, from cheap to punctual.
    pub const ALL: [Self; 3] = [Self::Sleep, Self::AbsoluteSleep, Self::Hybrid];

    /// The name for command lines and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sleep => "sleep",
            Self::AbsoluteSleep => "absolute-sleep",
            Self::Hybrid => "hybrid",
        }
    }
}

/// Wall-clock time since its construction; see [`Clock`].
#[derive(Debug, Clone)]
pub struct WallClock {
    origin: Origin,
    strategy: WaitStrategy,
    stop: Option<Arc<AtomicBool>>,
}

/// A wait longer than this looks at the stop flag in between.
const PIECE_NS: u64 = 100_000_000;
/// More than an absolute sleep is usually late, even in a virtual machine.
const SPIN_NS: u64 = 200_000;

impl WallClock {
    /// A clock that starts now.
    pub fn new(strategy: WaitStrategy) -> Self {
        Self { origin: Origin::now(), strategy, stop: None }
    }

    /// Ends every wait within 100 ms once `stop` is true, deadline or not.
    #[must_use]
    pub fn with_stop(self, stop: Arc<AtomicBool>) -> Self {
        Self { stop: Some(stop), ..self }
    }

    fn stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn spin_until_ns(&self, deadline_ns: u64) {
        while self.now_ns() < deadline_ns {
            spin_loop();
        }
    }
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new(WaitStrategy::default())
    }
}

impl Clock for WallClock {
    fn now_ns(&self) -> u64 {
        self.origin.elapsed_ns()
    }

    fn wait_until_ns(&self, deadline_ns: u64) {
        loop {
            let now_ns = self.now_ns();
            if now_ns >= deadline_ns || self.stopped() {
                return;
            }
            let left_ns = deadline_ns - now_ns;
            match self.strategy {
                WaitStrategy::Sleep => thread::sleep(Duration::from_nanos(left_ns.min(PIECE_NS))),
                WaitStrategy::AbsoluteSleep => self.origin.sleep_until(now_ns + left_ns.min(PIECE_NS)),
                WaitStrategy::Hybrid if left_ns <= SPIN_NS => self.spin_until_ns(deadline_ns),
                WaitStrategy::Hybrid => self.origin.sleep_until(now_ns + (left_ns - SPIN_NS).min(PIECE_NS)),
            }
        }
    }
}

/// How late the waits of a paced loop ended, and what they cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaitStats {
    /// Mean lateness.
    pub mean_ns: u64,
    /// Median lateness.
    pub p50_ns: u64,
    /// Lateness that one wait in a hundred exceeds.
    pub p99_ns: u64,
    /// Greatest lateness.
    pub max_ns: u64,
    /// Processor time of the waiting thread per wall-clock time, if the platform tells.
    pub cpu_share: Option<f64>,
}

impl WaitStats {
    fn new(mut late_ns: Vec<u64>, cpu_share: Option<f64>) -> Self {
        late_ns.sort_unstable();
        let last = late_ns.len().saturating_sub(1);
        let percentile = |percent| late_ns.get(last.min(late_ns.len() * percent / 100)).copied().unwrap_or(0);
        Self {
            mean_ns: late_ns.iter().sum::<u64>() / late_ns.len().max(1) as u64,
            p50_ns: percentile(50),
            p99_ns: percentile(99),
            max_ns: percentile(100),
            cpu_share,
        }
    }
}

/// Waits `count` times, for deadlines one `period` apart, and says how late it was.
pub fn measure_waits(strategy: WaitStrategy, period: Duration, count: usize) -> WaitStats {
    let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
    let cpu_before_ns = thread_cpu_ns();
    let clock = WallClock::new(strategy);
    let mut deadline_ns = 0u64;
    let late_ns = (0..count).map(|_| {
        deadline_ns = deadline_ns.saturating_add(period_ns);
        clock.wait_until_ns(deadline_ns);
        clock.now_ns() - deadline_ns
    });
    let late_ns = late_ns.collect();
    let wall_ns = clock.now_ns().max(1);
    let cpu_ns = thread_cpu_ns().zip(cpu_before_ns).map(|(after, before)| after - before);
    WaitStats::new(late_ns, cpu_ns.map(|cpu_ns| cpu_ns as f64 / wall_ns as f64))
}

/// Measures every strategy as [`measure_waits`] does and returns the one with the lowest median lateness among those
/// that use at most `cpu_share_max` of a core, with its figures; [`WaitStrategy::Sleep`] if none does. The median, as
/// a busy machine makes rare waits late by chance.
pub fn best_strategy(period: Duration, count: usize, cpu_share_max: f64) -> (WaitStrategy, WaitStats) {
    let measured = WaitStrategy::ALL.map(|strategy| (strategy, measure_waits(strategy, period, count)));
    best_of(measured, cpu_share_max)
}

fn best_of(measured: [(WaitStrategy, WaitStats); 3], cpu_share_max: f64) -> (WaitStrategy, WaitStats) {
    let affordable = |stats: &WaitStats| stats.cpu_share.is_none_or(|share| share <= cpu_share_max);
    let best = measured.iter().filter(|(_, stats)| affordable(stats)).min_by_key(|(_, stats)| stats.p50_ns);
    best.copied().unwrap_or(measured[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_wait_never_ends_early() {
        for strategy in WaitStrategy::ALL {
            let clock = WallClock::new(strategy);
            let mut deadline_ns = clock.now_ns();
            for step_ns in [1, 1_000, 60_000, 199_999, 200_001, MS, 3 * MS] {
                deadline_ns = deadline_ns.max(clock.now_ns()) + step_ns;
                clock.wait_until_ns(deadline_ns);
                assert!(clock.now_ns() >= deadline_ns, "{strategy:?} {step_ns}");
            }
        }
    }

    #[test]
    fn a_wait_longer_than_a_piece_is_complete() {
        let clock = WallClock::default();
        clock.wait_until_ns(PIECE_NS + PIECE_NS / 2);
        assert!(clock.now_ns() >= PIECE_NS + PIECE_NS / 2);
    }

    #[test]
    fn a_deadline_that_has_passed_costs_no_wait() {
        for strategy in WaitStrategy::ALL {
            let clock = WallClock::new(strategy);
            thread::sleep(Duration::from_millis(2));
            let best = (0..20).map(|_| {
                let started = Instant::now();
                clock.wait_until_ns(MS);
                started.elapsed()
            });
            assert!(best.min().unwrap() < Duration::from_micros(20));
        }
    }

    #[test]
    fn the_clock_agrees_with_the_standard_one() {
        let outer = Instant::now();
        let clock = WallClock::default();
        let inner = Instant::now();
        thread::sleep(Duration::from_millis(10));
        let least = inner.elapsed();
        let now = Duration::from_nanos(clock.now_ns());
        assert!(least <= now && now <= outer.elapsed());
    }

    #[test]
    fn stopping_ends_a_long_wait() {
        for strategy in WaitStrategy::ALL {
            let stop = Arc::new(AtomicBool::new(false));
            let clock = WallClock::new(strategy).with_stop(Arc::clone(&stop));
            thread::scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(Duration::from_millis(20));
                    stop.store(true, Ordering::Relaxed);
                });
                clock.wait_until_ns(60_000 * MS);
            });
            assert!(clock.now_ns() < 5_000 * MS);
        }
    }

    #[test]
    fn statistics_of_known_lateness() {
        let stats = WaitStats::new((1..=100).rev().collect(), None);
        assert_eq!((stats.mean_ns, stats.p50_ns, stats.p99_ns, stats.max_ns), (50, 51, 100, 100));
        assert_eq!(WaitStats::new(Vec::new(), None).max_ns, 0);
    }

    #[test]
    fn the_best_strategy_is_the_most_punctual_one_that_is_affordable() {
        fn check(shares: [Option<f64>; 3], cpu_share_max: f64, expected: WaitStrategy) {
            let mut late_ns = 90;
            let mut of = |strategy, cpu_share| {
                late_ns -= 30;
                (strategy, WaitStats::new(vec![late_ns], cpu_share))
            };
            let [sleep, absolute, hybrid] = WaitStrategy::ALL;
            let measured = [of(sleep, shares[0]), of(absolute, shares[1]), of(hybrid, shares[2])];
            assert_eq!(best_of(measured, cpu_share_max).0, expected);
        }
        check([None, None, None], 0.0, WaitStrategy::Hybrid);
        check([Some(0.01), Some(0.02), Some(0.2)], 0.5, WaitStrategy::Hybrid);
        check([Some(0.01), Some(0.02), Some(0.2)], 0.1, WaitStrategy::AbsoluteSleep);
        check([Some(0.01), Some(0.02), Some(0.2)], 0.0, WaitStrategy::Sleep);
    }

    #[test]
    fn sleeping_costs_little_processor_time() {
        let stats = measure_waits(WaitStrategy::AbsoluteSleep, Duration::from_millis(5), 20);
        assert!(stats.cpu_share.is_none_or(|share| share < 0.1), "{stats:?}");
        assert!(stats.p50_ns <= stats.p99_ns && stats.p99_ns <= stats.max_ns);
    }
}
