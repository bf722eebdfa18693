//! Threads and time for muster: a fork-join [`Pool`], a background [`Worker`] and a [`WallClock`], which implement the
//! traits of [`muster_core::exec`], and what a report says about the machine. Nothing here knows robots or simulation
//! time, and nothing here may change a result: the core behaves the same without this crate, only slower. It is a
//! crate of its own so that the core needs neither unsafe code nor the operating system.
#![expect(unsafe_code, reason = "lending a caller's slice to other threads and waiting precisely need it")]

mod clock;
mod cpu;
mod gate;
mod pool;
mod system;
mod worker;

pub use clock::{WaitStats, WaitStrategy, WallClock, best_strategy, measure_waits};
pub use cpu::{Machine, machine, peak_memory_mb, thread_names};
pub use pool::{Pool, measure_fork_join};
pub use worker::Worker;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic carries.
type Payload = Box<dyn Any + Send>;

/// Drops what a panic carried, even if that panics in turn: a worker must outlive whatever its work throws.
fn discard(payload: Payload) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(another);
    }
}

/// A name the operating system shows in full: Linux keeps 15 bytes, and a zero byte would end it.
fn thread_name(name: &str) -> String {
    let mut name: String = name.chars().filter(|&character| character != '\0').collect();
    name.truncate(name.floor_char_boundary(15));
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_name_is_cut_between_characters() {
        fn check(name: &str, expected: &str) {
            assert_eq!(thread_name(name), expected);
        }
        check("short", "short");
        check("exactly-15-byte", "exactly-15-byte");
        check("a-robot-with-a-long-name", "a-robot-with-a-");
        check("fourteen-bytesé", "fourteen-bytes");
        check("zero\0byte", "zerobyte");
    }

    #[test]
    fn a_payload_that_panics_when_dropped_is_discarded() {
        struct Sore;
        impl Drop for Sore {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        discard(Box::new(Sore));
    }
}
