//! The `muster` command.
//!
//! Exit codes: 0 ok, 1 run-time failure or failed expectation, 2 usage, 3 invalid scenario, 5 real time missed under
//! `--require-rt`, 124 timeout, 130 interrupted after a clean stop.

/// Prints a line. A reader that went away (`muster list | head`) is no reason to fail, nor to lose a report.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        _ = writeln!(std::io::stdout().lock(), $($text)*);
    }};
}

mod bench;
mod cli;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    ExitCode::from(cli::dispatch(arguments))
}
