//! The trace log: what is asked of plug-ins outside the loop, in order. It belongs to the process, like its standard error.

use std::sync::atomic::{AtomicBool, Ordering};

static ON: AtomicBool = AtomicBool::new(false);

/// Writes the trace log to the standard error from now on.
pub fn trace_on() {
    ON.store(true, Ordering::Relaxed);
}

/// Adds a line.
pub fn trace(line: impl FnOnce() -> String) {
    if ON.load(Ordering::Relaxed) {
        eprintln!("trace: {}", line());
    }
}
