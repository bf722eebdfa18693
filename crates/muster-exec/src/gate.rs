//! How the threads of a pool meet: a [`Seat`] is where one worker waits to be rung for, a [`Gate`] counts the workers
//! that are inside a job. Both spin for a bounded time and then sleep in the kernel, because a job a microsecond away
//! must not cost a wake-up and a job a millisecond away must not cost a core. There is no unsafe code here; the pool's
//! unsafe code relies on one promise of the gate: after [`Gate::close`] nobody is inside and nobody comes in.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Keeps a value on cache lines of its own; 128 bytes because neighbouring lines are fetched in pairs.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

/// Where one worker waits for its next ring.
#[derive(Default)]
pub(crate) struct Seat {
    state: Padded<AtomicU32>,
}

const AWAKE: u32 = 0;
const PARKED: u32 = 1;
const RUNG: u32 = 2;

impl Seat {
    /// Calls the worker `thread` that waits, or soon will, on this seat. What the caller wrote before is visible to it.
    pub(crate) fn ring(&self, thread: &Thread) {
        if self.state.0.swap(RUNG, Ordering::AcqRel) == PARKED {
            thread.unpark();
        }
    }

    /// Waits for a ring and takes it: spinning for `spin_for`, then asleep. Two rings before this call are one.
    pub(crate) fn await_ring(&self, spin_for: Duration) {
        let state = &self.state.0;
        let rung = spin_until(spin_for, || state.load(Ordering::Relaxed) == RUNG);
        if !rung && state.compare_exchange(AWAKE, PARKED, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            while state.load(Ordering::Relaxed) == PARKED {
                thread::park();
            }
        }
        // A swap, not a store: it reads the latest ring, so what came before that ring is visible and none is lost.
        state.swap(AWAKE, Ordering::Acquire);
    }
}

/// Counts the workers inside a job and lets the owner wait until the last has left.
#[derive(Default)]
pub(crate) struct Gate {
    /// The number of workers inside, with [`OPEN`] and [`OWNER_SLEEPS`].
    state: Padded<AtomicU32>,
    sleep: Mutex<()>,
    empty: Condvar,
}

/// Workers may still come in.
const OPEN: u32 = 1 << 31;
/// The last worker to leave has to wake the owner.
const OWNER_SLEEPS: u32 = 1 << 30;
const INSIDE: u32 = OWNER_SLEEPS - 1;

impl Gate {
    /// Lets workers in that come by themselves. Only the owner of a closed gate may call it.
    pub(crate) fn open(&self) {
        self.state.0.store(OPEN, Ordering::Release);
    }

    /// Counts `workers` as inside before they come; each of them has to leave. Only the owner of a closed gate may
    /// call it.
    pub(crate) fn expect(&self, workers: u32) {
        self.state.0.store(workers, Ordering::Release);
    }

    /// Goes in, if the gate is open, until the guard is dropped.
    pub(crate) fn enter(&self) -> Option<Inside<'_>> {
        let go_in = |state| (state & OPEN != 0).then_some(state + 1);
        self.state.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, go_in).ok().map(|_| Inside { gate: self })
    }

    /// Takes the place of a worker that was expected.
    pub(crate) fn enter_expected(&self) -> Inside<'_> {
        Inside { gate: self }
    }

    /// Lets nobody in any more and waits until all have left: spinning for `spin_for`, then asleep. What they wrote
    /// is visible afterwards.
    pub(crate) fn close(&self, spin_for: Duration) {
        let state = &self.state.0;
        let inside = state.fetch_and(!OPEN, Ordering::Acquire) & INSIDE;
        if inside == 0 || spin_until(spin_for, || state.load(Ordering::Acquire) & INSIDE == 0) {
            return;
        }
        let mut sleep = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        let mut inside = state.fetch_or(OWNER_SLEEPS, Ordering::Acquire) & INSIDE;
        while inside != 0 {
            sleep = self.empty.wait(sleep).unwrap_or_else(PoisonError::into_inner);
            inside = state.load(Ordering::Acquire) & INSIDE;
        }
        state.store(0, Ordering::Relaxed);
    }

    fn leave(&self) {
        if self.state.0.fetch_sub(1, Ordering::Release) == OWNER_SLEEPS | 1 {
            // The owner announced its sleep under this lock: once we have it, the owner is asleep or has seen us leave.
            drop(self.sleep.lock().unwrap_or_else(PoisonError::into_inner));
            self.empty.notify_one();
        }
    }
}

/// A worker inside a gate; dropping it leaves.
pub(crate) struct Inside<'gate> {
    gate: &'gate Gate,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.gate.leave();
    }
}

/// Polls until `done` or until `limit` has passed; says whether it is done.
fn spin_until(limit: Duration, done: impl Fn() -> bool) -> bool {
    /// Reading the clock costs about as much as this many polls.
    const POLLS_PER_LOOK: usize = 16;

    if done() || limit.is_zero() {
        return done();
    }
    let started = Instant::now();
    loop {
        for _ in 0..POLLS_PER_LOOK {
            if done() {
                return true;
            }
            spin_loop();
        }
        if started.elapsed() >= limit {
            return done();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn nobody_enters_a_closed_gate() {
        let gate = Gate::default();
        assert!(gate.enter().is_none());
        gate.open();
        let inside = gate.enter();
        assert!(inside.is_some());
        drop(inside);
        gate.close(Duration::ZERO);
        assert!(gate.enter().is_none());
    }

    #[test]
    fn closing_waits_for_the_last_to_leave() {
        for spin_for in [Duration::ZERO, Duration::from_secs(5)] {
            let gate = Gate::default();
            let left = AtomicBool::new(false);
            gate.expect(1);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let inside = gate.enter_expected();
                    thread::sleep(Duration::from_millis(20));
                    left.store(true, Ordering::Relaxed);
                    drop(inside);
                });
                gate.close(spin_for);
                assert!(left.load(Ordering::Relaxed));
            });
        }
    }

    #[test]
    fn a_ring_before_the_wait_is_not_lost() {
        let seat = Seat::default();
        seat.ring(&thread::current());
        // returns at all: a lost ring would leave it parked
        seat.await_ring(Duration::ZERO);
        assert_eq!(seat.state.0.load(Ordering::Relaxed), AWAKE);
    }

    #[test]
    fn a_ring_wakes_a_parked_worker() {
        let seat = Seat::default();
        thread::scope(|scope| {
            let worker = scope.spawn(|| seat.await_ring(Duration::ZERO));
            while seat.state.0.load(Ordering::Relaxed) != PARKED {
                thread::yield_now();
            }
            seat.ring(worker.thread());
        });
        assert_eq!(seat.state.0.load(Ordering::Relaxed), AWAKE);
    }
}
