//! The fork-join pool: lends a caller's slice to a few workers and returns when every item is done. Workers take items
//! from a common counter ([`Pool::new`]) or each has its own ([`Pool::per_item`]). The pool has no queue, does not
//! steal, allocates nothing per call, and runs work that comes while it is busy (from inside work, or from another
//! thread) in the calling thread. General pools cost 5 to 50 µs per empty fork-join; a window of 1 ms cannot afford
//! that several times. Which thread runs an item is never visible in results.
//!
//! Why it is sound: a job lives on the caller's stack. A worker touches it only between entering the gate and leaving
//! it, and the caller does not return, nor unwind, before the gate is closed and empty. Each index is given to one
//! thread only, so no two threads hold the same item.

use crate::gate::{Gate, Padded, Seat};
use crate::{Payload, discard, thread_name};
use muster_core::exec::Executor;
use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A pool of threads that share the items of a slice; see [`Executor`]. Dropping it joins its threads.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

/// Who runs which item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Assignment {
    /// Whoever is free takes the next one; the caller works too.
    NextFree,
    /// Item `i` belongs to worker `i` (modulo the number of workers); the caller only waits.
    OwnWorker,
}

/// What the workers know of the pool.
struct Shared {
    assignment: Assignment,
    seats: Box<[Seat]>,
    gate: Gate,
    /// The job inside the gate; dangling while the gate is closed.
    job: AtomicPtr<Job<'static>>,
    /// Somebody owns the gate. Apart from what workers read, since callers write it twice per call.
    busy: Padded<AtomicBool>,
    stop: AtomicBool,
    spin_ns: AtomicU64,
}

/// One call of `for_each_mut`, on the stack of its caller.
struct Job<'call> {
    /// Works through a range of items. It does not unwind, and no index may be given to it twice.
    run: &'call (dyn Fn(Range<usize>) + Sync),
    items: usize,
    /// How many items are claimed at a time.
    batch: usize,
    /// The first item nobody has claimed.
    next: Padded<AtomicUsize>,
}

/// The panic of the item with the lowest index, so that the same one is passed on however the items were shared out.
#[derive(Default)]
struct FirstPanic(Mutex<Option<(usize, Payload)>>);

/// The right to use the gate, given back when dropped.
struct Turn<'pool>(&'pool Shared);

/// Closes the gate when dropped, so that no worker is left inside even if the caller unwinds.
struct Closing<'pool>(&'pool Shared);

impl Pool {
    /// How long threads spin by default: longer than the serial part between two stages, much shorter than a window.
    const SPIN_FOR: Duration = Duration::from_micros(50);

    /// A pool of `threads` threads (0 counts as 1). The caller is one of them; the others are named
    /// `muster-worker-1`, `muster-worker-2` and so on. Items are claimed in order by whoever is free.
    ///
    /// # Errors
    /// If the operating system refuses a thread.
    pub fn new(threads: usize) -> io::Result<Self> {
        let names = (1..threads).map(|worker| format!("muster-worker-{worker}")).collect();
        Self::start(Assignment::NextFree, names)
    }

    /// A pool with one worker per item, named by the first 15 bytes of `names`. Item `i` always runs on worker `i`
    /// (modulo the number of workers if there are more items), and the caller only waits.
    ///
    /// # Errors
    /// If the operating system refuses a thread.
    pub fn per_item(names: Vec<String>) -> io::Result<Self> {
        Self::start(Assignment::OwnWorker, names)
    }

    fn start(assignment: Assignment, names: Vec<String>) -> io::Result<Self> {
        // Spinning threads that outnumber the cores only keep each other from working.
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let spin_for = if names.len() < cores { Self::SPIN_FOR } else { Duration::ZERO };
        let shared = Arc::new(Shared {
            assignment,
            seats: names.iter().map(|_| Seat::default()).collect(),
            gate: Gate::default(),
            job: AtomicPtr::new(ptr::null_mut()),
            busy: Padded::default(),
            stop: AtomicBool::new(false),
            spin_ns: AtomicU64::new(0),
        });
        let mut pool = Self { shared, workers: Vec::with_capacity(names.len()) };
        pool.spin_for(spin_for);
        for (worker, name) in names.iter().enumerate() {
            let shared = Arc::clone(&pool.shared);
            let builder = thread::Builder::new().name(thread_name(name));
            pool.workers.push(builder.spawn(move || shared.serve(worker))?);
        }
        Ok(pool)
    }

    /// From now on, threads that run out of work spin for so long before they sleep. The default is 50 µs, or none if
    /// the threads outnumber the cores. Longer suits full speed; shorter leaves more to other processes.
    /// A worker that sleeps takes 50 µs or more to join in, and much longer if the kernel wakes it on the caller's core.
    pub fn spin_for(&self, limit: Duration) {
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        self.shared.spin_ns.store(limit_ns, Ordering::Relaxed);
    }

    /// Shares the items of a job out and returns when all are done.
    fn share_out(&self, job: &Job<'_>, _turn: &Turn<'_>) {
        let shared = &*self.shared;
        shared.job.store(ptr::from_ref(job).cast_mut().cast(), Ordering::Relaxed);
        let closing = Closing(shared);
        match shared.assignment {
            Assignment::NextFree => {
                let helpers = job.items.div_ceil(job.batch) - 1;
                shared.gate.open();
                self.ring(helpers);
                job.claim_all();
            }
            Assignment::OwnWorker => {
                let owners = job.items.min(self.workers.len());
                shared.gate.expect(u32::try_from(owners).expect("threads are far fewer than 2^32"));
                self.ring(owners);
            }
        }
        drop(closing);
    }

    fn ring(&self, workers: usize) {
        for (seat, worker) in self.shared.seats.iter().zip(&self.workers).take(workers) {
            seat.ring(worker.thread());
        }
    }
}

impl Executor for Pool {
    fn threads(&self) -> usize {
        match self.shared.assignment {
            Assignment::NextFree => self.workers.len() + 1,
            Assignment::OwnWorker => self.workers.len().max(1),
        }
    }

    fn always_spread(&self) -> bool {
        matches!(self.shared.assignment, Assignment::OwnWorker)
    }

    /// See [`Executor::for_each_mut`]. If several items panic, the panic of the lowest index is passed on. Called from
    /// inside `work`, or while another thread uses the pool, it runs all items in the calling thread.
    fn for_each_mut<T: Send>(&self, items: &mut [T], work: &(impl Fn(usize, &mut T) + Sync)) {
        let first_panic = FirstPanic::default();
        let alone = match self.shared.assignment {
            Assignment::NextFree => items.len() <= 1,
            Assignment::OwnWorker => items.is_empty(),
        };
        let turn = if alone || self.workers.is_empty() { None } else { self.shared.take_turn() };
        if let Some(turn) = turn {
            let len = items.len();
            // An atomic pointer only because it may be shared between threads; `T: Send` makes that right here.
            let base = AtomicPtr::new(items.as_mut_ptr());
            let run = |range: Range<usize>| {
                let first = range.start;
                debug_assert!(range.end <= len);
                // SAFETY: the range lies within the slice, which this call borrows mutably until `share_out` returns,
                // and no other range given out contains any of its indices.
                let part = unsafe { slice::from_raw_parts_mut(base.load(Ordering::Relaxed).add(first), range.len()) };
                work_through(first, part, work, &first_panic);
            };
            let batch = batch(len, self.threads());
            self.share_out(&Job { run: &run, items: len, batch, next: Padded::default() }, &turn);
        } else {
            work_through(0, items, work, &first_panic);
        }
        first_panic.pass_on();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.ring(self.workers.len());
        for worker in self.workers.drain(..) {
            if let Err(payload) = worker.join() {
                discard(payload);
            }
        }
    }
}

impl Shared {
    /// The life of a worker.
    fn serve(&self, worker: usize) {
        loop {
            self.seats[worker].await_ring(self.spin_limit());
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let inside = match self.assignment {
                Assignment::NextFree => self.gate.enter(),
                Assignment::OwnWorker => Some(self.gate.enter_expected()),
            };
            let Some(_inside) = inside else { continue };
            // SAFETY: we are inside the gate until the end of this turn of the loop. The pointer was stored before the
            // gate was opened (or our seat rung), and its job lives until the gate is closed and empty.
            let job = unsafe { &*self.job.load(Ordering::Relaxed) };
            match self.assignment {
                Assignment::NextFree => job.claim_all(),
                Assignment::OwnWorker => job.run_own(worker, self.seats.len()),
            }
        }
    }

    fn take_turn(&self) -> Option<Turn<'_>> {
        let taken = self.busy.0.swap(true, Ordering::Acquire);
        // Not `then_some`: that would make a turn and drop it, which gives away what somebody else has.
        (!taken).then(|| Turn(self))
    }

    fn spin_limit(&self) -> Duration {
        Duration::from_nanos(self.spin_ns.load(Ordering::Relaxed))
    }
}

impl Job<'_> {
    /// Runs unclaimed items until there are none.
    fn claim_all(&self) {
        loop {
            // Relaxed is enough for giving each index out once; the gate makes the items' contents visible.
            let first = self.next.0.fetch_add(self.batch, Ordering::Relaxed);
            if first >= self.items {
                return;
            }
            (self.run)(first..self.items.min(first + self.batch));
        }
    }

    /// Runs the items that belong to one of so many workers.
    fn run_own(&self, worker: usize, workers: usize) {
        for item in (worker..self.items).step_by(workers) {
            (self.run)(item..item + 1);
        }
    }
}

impl FirstPanic {
    fn keep(&self, index: usize, payload: Payload) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let beaten = match &*first {
            Some((other, _)) if *other < index => Some(payload),
            _ => first.replace((index, payload)).map(|(_, payload)| payload),
        };
        drop(first);
        if let Some(payload) = beaten {
            discard(payload);
        }
    }

    fn pass_on(self) {
        if let Some((_, payload)) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            resume_unwind(payload);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.busy.0.store(false, Ordering::Release);
    }
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.gate.close(self.0.spin_limit());
    }
}

/// Works through all items although some may panic. The loop is inside the catch so that items that do not panic, the
/// usual case, pay nothing for it.
fn work_through<T>(first: usize, items: &mut [T], work: &impl Fn(usize, &mut T), panics: &FirstPanic) {
    let mut begun = 0;
    while begun < items.len() {
        let rest = items[begun..].iter_mut();
        let result = catch_unwind(AssertUnwindSafe(|| {
            for item in rest {
                begun += 1;
                work(first + begun - 1, item);
            }
        }));
        if let Err(payload) = result {
            panics.keep(first + begun - 1, payload);
        }
    }
}

/// How many items to claim at a time: one while they are few and may be uneven, more when claiming would cost as much
/// as working, at most a sixteenth of a thread's share.
fn batch(items: usize, threads: usize) -> usize {
    (items / (16 * threads)).clamp(1, 64)
}

/// The median time in nanoseconds of a call with one item per thread and no work, threads being warm.
pub fn measure_fork_join(pool: &Pool, rounds: usize) -> u64 {
    let mut items = vec![(); pool.threads()];
    let mut call_ns = || {
        let started = Instant::now();
        pool.for_each_mut(&mut items, &|_, ()| {});
        u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    };
    for _ in 0..rounds / 10 {
        call_ns();
    }
    let mut times_ns: Vec<u64> = (0..rounds.max(1)).map(|_| call_ns()).collect();
    times_ns.sort_unstable();
    times_ns[times_ns.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::Barrier;

    /// Fewer rounds where each costs a thousand times more.
    const ROUNDS: usize = if cfg!(miri) { 5 } else { 2_000 };

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|robot| format!("robot-{robot}")).collect()
    }

    fn pools() -> Vec<Pool> {
        let dynamic = [0, 1, 2, 3, 8].map(|threads| Pool::new(threads).unwrap());
        let fixed = [0, 1, 3].map(|workers| Pool::per_item(names(workers)).unwrap());
        dynamic.into_iter().chain(fixed).collect()
    }

    fn message(payload: &Payload) -> &str {
        payload.downcast_ref::<String>().unwrap()
    }

    #[test]
    fn each_item_is_done_exactly_once() {
        for pool in pools() {
            for round in 0..ROUNDS {
                let mut items: Vec<Box<usize>> = (0..round % 70).map(|_| Box::new(0)).collect();
                pool.for_each_mut(&mut items, &|index, item| **item += index + 1);
                assert!(items.iter().enumerate().all(|(index, item)| **item == index + 1));
            }
        }
    }

    #[test]
    fn large_slices_are_claimed_in_batches_without_gaps() {
        let pool = Pool::new(3).unwrap();
        for len in [47, 48, 49, 1_000, 4_097] {
            let mut items = vec![0; len];
            pool.for_each_mut(&mut items, &|index, item| *item += index + 1);
            assert!(items.into_iter().eq(1..=len));
        }
    }

    #[test]
    fn batches_are_small() {
        fn check(items: usize, threads: usize, expected: usize) {
            assert_eq!(batch(items, threads), expected);
        }
        check(0, 1, 1);
        check(63, 2, 1);
        check(640, 2, 20);
        check(1_000_000, 2, 64);
    }

    #[test]
    fn threads_work_at_the_same_time() {
        let pool = Pool::new(3).unwrap();
        let barrier = Barrier::new(3);
        pool.for_each_mut(&mut [(); 3], &|_, ()| {
            barrier.wait();
        });
        assert_eq!(pool.threads(), 3);
    }

    #[test]
    fn one_item_runs_in_the_caller() {
        let pool = Pool::new(4).unwrap();
        let caller = thread::current().id();
        pool.for_each_mut(&mut [()], &|_, ()| assert_eq!(thread::current().id(), caller));
    }

    #[test]
    fn the_first_panic_passes_on_after_all_other_items() {
        for pool in pools() {
            for _ in 0..ROUNDS.min(20) {
                let mut items = [0; 40];
                let result = catch_unwind(AssertUnwindSafe(|| {
                    pool.for_each_mut(&mut items, &|index, item| {
                        *item += 1;
                        if index % 16 == 7 {
                            // Without the message on standard error that `panic!` would print a thousand times.
                            resume_unwind(Box::new(format!("item {index} fails")));
                        }
                    });
                }));
                assert_eq!(message(&result.unwrap_err()), "item 7 fails");
                assert_eq!(items, [1; 40]);
            }
            let mut after = [0; 4];
            pool.for_each_mut(&mut after, &|_, item| *item += 1);
            assert_eq!(after, [1; 4]);
        }
    }

    #[test]
    fn nested_calls_run_in_the_thread_that_makes_them() {
        for pool in pools() {
            let mut rows = [[0; 5]; 6];
            pool.for_each_mut(&mut rows, &|row, items| {
                let thread = thread::current().id();
                pool.for_each_mut(items, &|column, item| {
                    assert_eq!(thread::current().id(), thread);
                    *item += 10 * row + column;
                });
            });
            for (row, items) in rows.into_iter().enumerate() {
                assert_eq!(items, [0, 1, 2, 3, 4].map(|column| 10 * row + column));
            }
        }
    }

    #[test]
    fn several_callers_do_not_disturb_each_other() {
        let pool = Pool::new(2).unwrap();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..ROUNDS / 4 {
                        let mut items = [0; 9];
                        pool.for_each_mut(&mut items, &|index, item| *item += index);
                        assert_eq!(items, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
                    }
                });
            }
        });
    }

    #[test]
    fn an_item_always_runs_on_its_own_worker() {
        let pool = Pool::per_item(names(4)).unwrap();
        assert_eq!(pool.threads(), 4);
        for len in [1, 4, 6, 2] {
            let mut seen = vec![String::new(); len];
            pool.for_each_mut(&mut seen, &|_, name| name.push_str(thread::current().name().unwrap()));
            let expected: Vec<String> = (0..len).map(|item| format!("robot-{}", item % 4)).collect();
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn workers_are_named() {
        let pool = Pool::new(3).unwrap();
        let seen = Mutex::new(BTreeMap::new());
        let barrier = Barrier::new(3);
        pool.for_each_mut(&mut [(); 3], &|_, ()| {
            barrier.wait();
            let thread = thread::current();
            *seen.lock().unwrap().entry(thread.name().unwrap().to_owned()).or_insert(0) += 1;
        });
        let seen = seen.into_inner().unwrap();
        assert_eq!(seen.get("muster-worker-1"), Some(&1));
        assert_eq!(seen.get("muster-worker-2"), Some(&1));
    }

    #[test]
    fn sleeping_and_spinning_threads_both_take_part() {
        let rounds = if cfg!(miri) { 3 } else { 50 };
        for spin_for in [Duration::ZERO, Duration::from_millis(1)] {
            let pool = Pool::new(2).unwrap();
            pool.spin_for(spin_for);
            let barrier = Barrier::new(2);
            for pause in [Duration::ZERO, Duration::from_micros(200)] {
                for _ in 0..rounds {
                    pool.for_each_mut(&mut [(); 2], &|_, ()| {
                        barrier.wait();
                    });
                    thread::sleep(pause);
                }
            }
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn idle_workers_use_no_processor_time() {
        use crate::cpu::tests::{processor_time, task};
        for pool in [Pool::new(3).unwrap(), Pool::per_item(names(2)).unwrap()] {
            let mut tasks = vec![None; pool.threads()];
            let barrier = Barrier::new(pool.threads());
            pool.for_each_mut(&mut tasks, &|_, own| {
                barrier.wait();
                *own = Some(task());
            });
            // Long enough for the workers to stop spinning.
            thread::sleep(Duration::from_millis(50));
            let used = || tasks.iter().flatten().map(|id| processor_time(id)).sum::<Duration>();
            let before = used();
            thread::sleep(Duration::from_millis(300));
            assert!(used() - before < Duration::from_millis(2), "{:?}", used() - before);
        }
    }

    #[test]
    fn an_empty_fork_join_can_be_measured() {
        let pool = Pool::new(2).unwrap();
        assert!(measure_fork_join(&pool, ROUNDS) > 0);
    }
}
