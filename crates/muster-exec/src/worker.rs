//! The background worker: one named thread that runs jobs beside the loop, first in, first out. Boxes travel to it and
//! back through a queue whose room is reserved at construction, so steady state allocates nothing. It sleeps while
//! nothing is due and survives jobs that panic. It never reorders, drops or runs a job twice, so when its results are
//! used is up to the loop alone. A loop that would have to wait for results can help instead.

use crate::{Payload, discard, thread_name};
use muster_core::exec::{Background, Job};
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A thread that runs jobs beside the loop; see [`Background`]. Dropping it discards the jobs that have not begun and
/// joins the thread, or leaves it to end by itself if its present job takes more than a second.
pub struct Worker<J: Job> {
    shared: Arc<Shared<J>>,
    capacity: usize,
    thread: Option<JoinHandle<()>>,
}

struct Shared<J> {
    state: Mutex<State<J>>,
    /// A job is due, or the end is.
    due: Condvar,
    /// A job was done, or the thread has ended.
    done: Condvar,
}

struct State<J> {
    /// Jobs in the order they were started.
    jobs: VecDeque<Stage<J>>,
    /// How many are not done.
    open: usize,
    /// How many were taken back so far: by so much the places of those left have moved.
    taken: u64,
    stop: bool,
    begun: bool,
    ended: bool,
    panics: u64,
    last_panic: Option<String>,
}

/// How far a job is.
enum Stage<J> {
    Due(Box<J>),
    /// Somebody has it.
    Running,
    Done(Box<J>),
}

impl<J> State<J> {
    /// Takes the oldest job that nobody has begun, if it is among the first, and its number among all there ever were.
    fn begin(&mut self, among: usize) -> Option<(u64, Box<J>)> {
        let at = self.jobs.iter().take(among).position(|stage| matches!(stage, Stage::Due(_)))?;
        match std::mem::replace(&mut self.jobs[at], Stage::Running) {
            Stage::Due(job) => Some((self.taken + at as u64, job)),
            other => {
                self.jobs[at] = other;
                None
            }
        }
    }

    fn take_done(&mut self) -> Option<Box<J>> {
        match self.jobs.pop_front()? {
            Stage::Done(job) => {
                self.taken += 1;
                Some(job)
            }
            stage => {
                self.jobs.push_front(stage);
                None
            }
        }
    }
}

impl<J: Job> Worker<J> {
    /// Starts a thread named by the first 15 bytes of `name`. It takes up to `capacity` (at least 1) jobs that are not
    /// done; jobs that are done wait to be taken back, and more than `capacity` of them make their queue grow.
    ///
    /// # Errors
    /// If the operating system refuses a thread.
    pub fn new(name: &str, capacity: usize) -> io::Result<Self> {
        let capacity = capacity.max(1);
        let state = State {
            jobs: VecDeque::with_capacity(2 * capacity),
            open: 0,
            taken: 0,
            stop: false,
            begun: false,
            ended: false,
            panics: 0,
            last_panic: None,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), due: Condvar::new(), done: Condvar::new() });
        let thread = thread::Builder::new().name(thread_name(name)).spawn({
            let shared = Arc::clone(&shared);
            move || shared.serve()
        })?;
        // a thread that nobody has seen yet would be late for the first jobs
        drop(shared.wait(&shared.done, |state| !state.begun));
        Ok(Self { shared, capacity, thread: Some(thread) })
    }

    /// How many jobs have panicked. Such a job comes back like any other.
    pub fn panics(&self) -> u64 {
        self.shared.lock().panics
    }

    /// What the last job that panicked said.
    pub fn last_panic(&self) -> Option<String> {
        self.shared.lock().last_panic.clone()
    }
}

impl<J: Job> Background<J> for Worker<J> {
    /// Hands over a job, waiting while `capacity` jobs are due or running.
    fn start(&mut self, job: Box<J>) {
        let mut state = self.shared.wait(&self.shared.done, |state| state.open >= self.capacity);
        state.jobs.push_back(Stage::Due(job));
        state.open += 1;
        drop(state);
        self.shared.due.notify_one();
    }

    fn finish(&mut self) -> Option<Box<J>> {
        let under_way = |state: &State<J>| !matches!(state.jobs.front(), None | Some(Stage::Done(_)));
        self.shared.wait(&self.shared.done, under_way).take_done()
    }

    fn finish_if_done(&mut self) -> Option<Box<J>> {
        self.shared.lock().take_done()
    }

    fn help(&mut self, count: usize) {
        loop {
            let begun = self.shared.lock().begin(count);
            let Some((number, job)) = begun else { return };
            self.shared.carry_out(number, job);
        }
    }
}

impl<J: Job> Drop for Worker<J> {
    fn drop(&mut self) {
        const PATIENCE: Duration = Duration::from_millis(900);

        self.shared.lock().stop = true;
        self.shared.due.notify_one();
        let waited = self.shared.done.wait_timeout_while(self.shared.lock(), PATIENCE, |state| !state.ended);
        let ended = waited.unwrap_or_else(PoisonError::into_inner).0.ended;
        if let Some(thread) = self.thread.take_if(|_| ended)
            && let Err(payload) = thread.join()
        {
            discard(payload);
        }
    }
}

impl<J: Job> Shared<J> {
    /// Runs a job and puts it back to its place.
    fn carry_out(&self, number: u64, mut job: Box<J>) {
        let result = catch_unwind(AssertUnwindSafe(|| job.run()));
        let mut state = self.lock();
        let at = (number - state.taken) as usize;
        state.jobs[at] = Stage::Done(job);
        state.open -= 1;
        if let Err(payload) = result {
            state.panics += 1;
            state.last_panic = Some(message(&payload));
            drop(state);
            discard(payload);
        } else {
            drop(state);
        }
        self.done.notify_one();
    }

    /// The life of the thread.
    fn serve(&self) {
        self.lock().begun = true;
        self.done.notify_all();
        loop {
            let due = |state: &State<J>| state.jobs.iter().any(|stage| matches!(stage, Stage::Due(_)));
            let mut state = self.wait(&self.due, |state| !due(state) && !state.stop);
            if state.stop {
                state.ended = true;
                drop(state);
                self.done.notify_one();
                return;
            }
            let begun = state.begin(usize::MAX);
            drop(state);
            if let Some((number, job)) = begun {
                self.carry_out(number, job);
            }
        }
    }
}

impl<J> Shared<J> {
    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, change: &Condvar, condition: impl Fn(&State<J>) -> bool) -> MutexGuard<'_, State<J>> {
        change.wait_while(self.lock(), |state| condition(state)).unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a panic said, as far as it was text.
fn message(payload: &Payload) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Instant;

    struct Square {
        number: u64,
        square: Option<u64>,
    }

    impl Job for Square {
        fn run(&mut self) {
            assert!(self.number != 13, "no luck with {}", self.number);
            self.square = Some(self.number * self.number);
        }
    }

    fn square(number: u64) -> Box<Square> {
        Box::new(Square { number, square: None })
    }

    /// A job that says when it begins and waits until it may end.
    struct Held {
        begun: Sender<()>,
        release: Receiver<()>,
    }

    impl Job for Held {
        fn run(&mut self) {
            // Either end may have gone when the test is over.
            self.begun.send(()).ok();
            self.release.recv().ok();
        }
    }

    fn held() -> (Box<Held>, Receiver<()>, Sender<()>) {
        let (begun, has_begun) = channel();
        let (may_end, release) = channel();
        (Box::new(Held { begun, release }), has_begun, may_end)
    }

    #[test]
    fn jobs_come_back_in_the_order_they_were_started() {
        let mut worker = Worker::new("order", 4).unwrap();
        for round in 0..200 {
            for number in 0..4 {
                worker.start(square(100 + 4 * round + number));
            }
            for number in 0..4 {
                let expected = 100 + 4 * round + number;
                assert_eq!(worker.finish().unwrap().square, Some(expected * expected));
            }
        }
        assert!(worker.finish().is_none());
    }

    #[test]
    fn the_same_boxes_come_back_and_the_queues_do_not_grow() {
        let mut worker = Worker::new("boxes", 3).unwrap();
        let room = |worker: &Worker<Square>| worker.shared.lock().jobs.capacity();
        let before = room(&worker);
        let mut job = square(2);
        let address = &raw const *job;
        for _ in 0..100 {
            worker.start(job);
            job = worker.finish().unwrap();
        }
        assert!(std::ptr::eq(address, &raw const *job));
        assert_eq!(room(&worker), before);
    }

    #[test]
    fn a_job_under_way_is_not_taken_back_unless_waited_for() {
        let mut worker = Worker::new("under-way", 2).unwrap();
        assert!(worker.finish_if_done().is_none());
        let (job, has_begun, may_end) = held();
        worker.start(job);
        has_begun.recv().unwrap();
        assert!(worker.finish_if_done().is_none());
        may_end.send(()).unwrap();
        assert!(worker.finish().is_some());
        assert!(worker.finish_if_done().is_none());
    }

    #[test]
    fn starting_waits_while_the_worker_is_full() {
        let mut worker = Worker::new("full", 2).unwrap();
        let (first, has_begun, may_end) = held();
        let (second, _, second_may_end) = held();
        let (third, third_has_begun, third_may_end) = held();
        worker.start(first);
        worker.start(second);
        has_begun.recv().unwrap();
        let pause = Duration::from_millis(50);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(pause);
                may_end.send(()).unwrap();
            });
            let started = Instant::now();
            worker.start(third);
            assert!(started.elapsed() >= pause / 2);
        });
        drop((second_may_end, third_may_end));
        third_has_begun.recv().unwrap();
        assert_eq!([worker.finish(), worker.finish(), worker.finish()].iter().flatten().count(), 3);
    }

    #[test]
    fn a_caller_that_takes_nothing_back_is_not_stuck() {
        let mut worker = Worker::new("untaken", 1).unwrap();
        (0..10).for_each(|number| worker.start(square(number)));
        let squares: Vec<u64> = std::iter::from_fn(|| worker.finish()).filter_map(|job| job.square).collect();
        assert_eq!(squares, [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]);
    }

    #[test]
    fn a_caller_that_helps_gets_the_same_results_in_the_same_order() {
        let mut worker = Worker::new("helps", 64).unwrap();
        for round in 0..200 {
            (0..16).for_each(|number| worker.start(square(100 + 16 * round + number)));
            worker.help(10);
            for number in 0..16 {
                let expected = 100 + 16 * round + number;
                assert_eq!(worker.finish().unwrap().square, Some(expected * expected));
            }
        }
        // what was not asked for is left to the worker
        let (first, has_begun, may_end) = held();
        let mut worker = Worker::new("helps", 4).unwrap();
        worker.start(first);
        has_begun.recv().unwrap();
        let (second, second_has_begun, second_may_end) = held();
        worker.start(second);
        worker.help(1);
        assert!(second_has_begun.try_recv().is_err());
        drop((may_end, second_may_end));
        assert_eq!([worker.finish(), worker.finish()].iter().flatten().count(), 2);
    }

    #[test]
    fn a_panicking_job_comes_back_and_the_next_one_runs() {
        let mut worker = Worker::new("panics", 2).unwrap();
        assert_eq!((worker.panics(), worker.last_panic()), (0, None));
        worker.start(square(13));
        worker.start(square(3));
        assert_eq!(worker.finish().unwrap().square, None);
        assert_eq!(worker.finish().unwrap().square, Some(9));
        assert_eq!(worker.panics(), 1);
        assert_eq!(worker.last_panic().as_deref(), Some("no luck with 13"));
    }

    #[test]
    fn dropping_discards_jobs_that_have_not_begun() {
        let mut worker = Worker::new("discards", 2).unwrap();
        let (first, has_begun, may_end) = held();
        let (second, second_has_begun, _second_may_end) = held();
        worker.start(first);
        worker.start(second);
        has_begun.recv().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(30));
                drop(may_end);
            });
            drop(worker);
        });
        assert!(second_has_begun.recv().is_err());
    }

    #[test]
    #[cfg(not(miri))]
    fn dropping_takes_at_most_a_second() {
        let mut worker = Worker::new("drop", 1).unwrap();
        let (job, has_begun, _may_end) = held();
        worker.start(job);
        has_begun.recv().unwrap();
        let started = Instant::now();
        drop(worker);
        assert!(started.elapsed() < Duration::from_secs(1));
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn a_worker_with_nothing_due_sleeps() {
        use crate::cpu::tests::{processor_time, task};
        struct WhoAmI(String);
        impl Job for WhoAmI {
            fn run(&mut self) {
                self.0 = task();
            }
        }
        let mut worker = Worker::new("sleeper", 1).unwrap();
        worker.start(Box::new(WhoAmI(String::new())));
        let id = worker.finish().unwrap().0;
        assert!(crate::thread_names().contains(&"sleeper".to_owned()));
        thread::sleep(Duration::from_millis(20));
        let before = processor_time(&id);
        thread::sleep(Duration::from_millis(300));
        assert!(processor_time(&id) - before < Duration::from_millis(1));
    }
}
