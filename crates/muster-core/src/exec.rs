//! What the core needs from the machine, as small traits: somebody who runs independent work, somebody who runs
//! work beside the loop, and somebody who tells and waits for wall-clock time. The core owns none of these;
//! `muster-exec` implements them with threads, [`Serial`] and [`Inline`] without.
//!
//! Measured times may influence scheduling only, never results.

/// Runs independent pieces of work, perhaps on several threads.
pub trait Executor: Sync {
    /// How many threads may work at the same time, at least 1.
    fn threads(&self) -> usize;

    /// True if work must be spread over the threads even where that costs more than it saves.
    fn always_spread(&self) -> bool {
        false
    }

    /// Calls `work(index, item)` exactly once for each item, in any order and on any thread, and returns when all
    /// are done. A panic inside `work` is passed on to the caller after all other items are done.
    fn for_each_mut<T: Send>(&self, items: &mut [T], work: &(impl Fn(usize, &mut T) + Sync));
}

/// The executor without threads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Serial;

impl Executor for Serial {
    fn threads(&self) -> usize {
        1
    }

    fn for_each_mut<T: Send>(&self, items: &mut [T], work: &(impl Fn(usize, &mut T) + Sync)) {
        for (index, item) in items.iter_mut().enumerate() {
            work(index, item);
        }
    }
}

/// A piece of work that can run beside the loop.
pub trait Job: Send + 'static {
    /// Does the work; the result stays inside the job.
    fn run(&mut self);
}

/// Runs jobs beside the loop, first in, first out. Boxes travel in both directions so that steady state allocates
/// nothing.
pub trait Background<J: Job>: Send {
    /// Hands over a job. May wait when too many are under way.
    fn start(&mut self, job: Box<J>);

    /// Takes back the oldest job, waiting for it if it is still under way; `None` if none was started.
    fn finish(&mut self) -> Option<Box<J>>;

    /// Takes back the oldest job if it is done already.
    fn finish_if_done(&mut self) -> Option<Box<J>>;

    /// Works on those of the oldest `count` jobs that nobody has begun, instead of waiting for them.
    fn help(&mut self, count: usize) {
        _ = count;
    }

    /// False if there is nobody beside the loop: a job that is started is done at once, in the caller's thread.
    fn is_beside(&self) -> bool {
        true
    }
}

/// The background that works at once, in the caller's thread.
#[derive(Debug)]
pub struct Inline<J> {
    done: std::collections::VecDeque<Box<J>>,
}

impl<J> Default for Inline<J> {
    fn default() -> Self {
        Self { done: std::collections::VecDeque::new() }
    }
}

impl<J: Job> Background<J> for Inline<J> {
    fn start(&mut self, mut job: Box<J>) {
        job.run();
        self.done.push_back(job);
    }

    fn finish(&mut self) -> Option<Box<J>> {
        self.done.pop_front()
    }

    fn finish_if_done(&mut self) -> Option<Box<J>> {
        self.done.pop_front()
    }

    fn is_beside(&self) -> bool {
        false
    }
}

/// Wall-clock time since the start of the run, in nanoseconds.
pub trait Clock: Sync {
    /// Nanoseconds since the clock was started.
    fn now_ns(&self) -> u64;

    /// Returns at `deadline_ns` or as soon after it as the machine allows; at once if it has passed.
    fn wait_until_ns(&self, deadline_ns: u64);
}
