//! What the clock asks of the operating system: monotonic time, an absolute sleep and the processor time of a thread.
//! Linux answers through `libc`; elsewhere the standard library stands in, a little less precisely. Nothing else in
//! the crate may call `libc`, so that a new platform is one more module here.

#[cfg(target_os = "linux")]
pub(crate) use linux::{Origin, thread_cpu_ns};
#[cfg(not(target_os = "linux"))]
pub(crate) use portable::{Origin, thread_cpu_ns};

#[cfg(target_os = "linux")]
mod linux {
    use std::cell::Cell;
    use std::ptr;

    const NS_PER_S: u64 = 1_000_000_000;

    /// The moment a clock counts from.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Origin {
        monotonic_ns: u64,
    }

    impl Origin {
        pub(crate) fn now() -> Self {
            Self { monotonic_ns: read_ns(libc::CLOCK_MONOTONIC) }
        }

        pub(crate) fn elapsed_ns(self) -> u64 {
            read_ns(libc::CLOCK_MONOTONIC) - self.monotonic_ns
        }

        /// Sleeps until so long after the origin. A signal may end the sleep early.
        pub(crate) fn sleep_until(self, elapsed_ns: u64) {
            use_smallest_timer_slack();
            let until_ns = self.monotonic_ns.saturating_add(elapsed_ns);
            let until = libc::timespec {
                tv_sec: (until_ns / NS_PER_S) as libc::time_t,
                tv_nsec: (until_ns % NS_PER_S) as libc::c_long,
            };
            // SAFETY: `until` is valid for the call, and an absolute sleep needs no place for the time that is left.
            // The result does not matter: whoever waits looks at the clock again.
            unsafe {
                libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const until, ptr::null_mut())
            };
        }
    }

    /// Processor time this thread has used.
    pub(crate) fn thread_cpu_ns() -> Option<u64> {
        Some(read_ns(libc::CLOCK_THREAD_CPUTIME_ID))
    }

    fn read_ns(clock: libc::clockid_t) -> u64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is valid for writing, and nothing else is written.
        let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
        assert_eq!(result, 0, "Linux has had clock {clock} since version 2.6");
        time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
    }

    /// The kernel may wake a thread late by its slack, 50 µs by default, to wake several at once. Slack belongs to a
    /// thread, so each thread that waits sets its own, once.
    fn use_smallest_timer_slack() {
        const SLACK_NS: libc::c_ulong = 1;
        thread_local! {
            static DONE: Cell<bool> = const { Cell::new(false) };
        }
        if !DONE.replace(true) {
            // SAFETY: this option takes one number and touches no memory of ours. If it is refused, sleep is less
            // precise, no more.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK_NS) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod portable {
    use std::thread;
    use std::time::{Duration, Instant};

    /// The moment a clock counts from.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Origin(Instant);

    impl Origin {
        pub(crate) fn now() -> Self {
            Self(Instant::now())
        }

        pub(crate) fn elapsed_ns(self) -> u64 {
            u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
        }

        /// Sleeps until so long after the origin.
        pub(crate) fn sleep_until(self, elapsed_ns: u64) {
            thread::sleep(Duration::from_nanos(elapsed_ns.saturating_sub(self.elapsed_ns())));
        }
    }

    /// Processor time this thread has used; unknown here.
    pub(crate) fn thread_cpu_ns() -> Option<u64> {
        None
    }
}
