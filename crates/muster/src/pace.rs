//! Pacing: a window that ends at simulation time `t` is over at wall-clock time `t / rtf` after the start (`N·τ` when
//! windows are equal). The wait is `t_w = t / rtf − t_now`, and only if that is positive; otherwise the deadline was
//! missed, which is counted. Deadlines are absolute, so an offset is recovered as soon as windows are fast enough.

use muster_core::exec::Clock;
use muster_core::time::SimTime;

/// Threads are woken this long before they are needed.
const WAKE_BEFORE_NS: u64 = 150_000;

/// Keeps simulated time in step with the wall clock.
#[derive(Debug, Clone, Copy)]
pub struct Pacer {
    rtf: f64,
    start: (SimTime, u64),
    /// Deadlines missed so far.
    pub late: Late,
}

/// Deadlines missed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Late {
    /// How many.
    pub count: u64,
    /// By how much at worst.
    pub worst_ns: u64,
    /// The first window that was late.
    pub first_window: Option<u64>,
}

impl Pacer {
    /// Starts pacing now, at simulation time `now`, with `rtf` simulated seconds a second.
    pub fn new(clock: &dyn Clock, now: SimTime, rtf: f64) -> Self {
        Self { rtf, start: (now, clock.now_ns()), late: Late::default() }
    }

    /// The same, with what was late before.
    pub fn after(self, late: Late) -> Self {
        Self { late, ..self }
    }

    /// When the window that ends at `end` is over.
    pub fn deadline_ns(&self, end: SimTime) -> u64 {
        let span_ns = (end - self.start.0).ns() as f64 / self.rtf;
        self.start.1 + span_ns.round() as u64
    }

    /// Waits for the end of a window; returns by how much it was missed, if it was. `wake` is called a little before
    /// the end, so that threads which sleep are there when the next window begins.
    pub fn wait(&mut self, clock: &dyn Clock, end: SimTime, window: u64, wake: &dyn Fn()) -> Option<u64> {
        let (deadline_ns, now_ns) = (self.deadline_ns(end), clock.now_ns());
        if deadline_ns > now_ns {
            if deadline_ns - now_ns > WAKE_BEFORE_NS {
                clock.wait_until_ns(deadline_ns - WAKE_BEFORE_NS);
                wake();
            }
            clock.wait_until_ns(deadline_ns);
            return None;
        }
        let late_ns = now_ns - deadline_ns;
        self.late.count += 1;
        self.late.worst_ns = self.late.worst_ns.max(late_ns);
        self.late.first_window.get_or_insert(window);
        Some(late_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::sync::Mutex;

    /// A clock that goes only when told, and remembers waits.
    #[derive(Default)]
    struct Told(Mutex<(Cell<u64>, RefCell<Vec<u64>>)>);

    impl Told {
        fn pass(&self, ns: u64) {
            let inner = self.0.lock().unwrap();
            inner.0.set(inner.0.get() + ns);
        }

        fn waits(&self) -> Vec<u64> {
            self.0.lock().unwrap().1.borrow().clone()
        }
    }

    impl Clock for Told {
        fn now_ns(&self) -> u64 {
            self.0.lock().unwrap().0.get()
        }

        fn wait_until_ns(&self, deadline_ns: u64) {
            let inner = self.0.lock().unwrap();
            inner.1.borrow_mut().push(deadline_ns - inner.0.get());
            inner.0.set(deadline_ns);
        }
    }

    const TAU: u64 = 20_000_000;

    fn window(clock: &Told, pacer: &mut Pacer, n: u64, takes_ns: u64) -> Option<u64> {
        clock.pass(takes_ns);
        pacer.wait(clock, SimTime::from_ns(n * TAU), n, &|| ())
    }

    #[test]
    fn the_wait_is_n_tau_minus_now_and_none_when_that_is_not_positive() {
        let clock = Told::default();
        let mut pacer = Pacer::new(&clock, SimTime::ZERO, 1.0);
        assert_eq!(window(&clock, &mut pacer, 1, 5_000_000), None);
        assert_eq!(window(&clock, &mut pacer, 2, 20_000_000), Some(0), "exactly on time leaves nothing to wait");
        assert_eq!(window(&clock, &mut pacer, 3, 27_000_000), Some(7_000_000));
        assert_eq!(window(&clock, &mut pacer, 4, 1_000_000), None);
        let lead = WAKE_BEFORE_NS;
        assert_eq!(clock.waits(), [15_000_000 - lead, lead, 12_000_000 - lead, lead]);
        assert_eq!(pacer.late, Late { count: 2, worst_ns: 7_000_000, first_window: Some(2) });
    }

    #[test]
    fn an_offset_is_recovered_within_six_windows() {
        let clock = Told::default();
        let mut pacer = Pacer::new(&clock, SimTime::ZERO, 1.0);
        window(&clock, &mut pacer, 1, 100_000_000);
        let recovered = (2..=7).find(|&n| {
            window(&clock, &mut pacer, n, 2_000_000);
            clock.now_ns().abs_diff(n * TAU) < 1_000_000
        });
        assert!(recovered.is_some(), "no recovery by window 7");
    }

    #[test]
    fn the_real_time_factor_scales_deadlines() {
        let clock = Told::default();
        let pacer = Pacer::new(&clock, SimTime::ZERO, 10.0);
        assert_eq!(pacer.deadline_ns(SimTime::from_s(1.0)), 100_000_000);
    }
}
