//! The `muster` command.
//!
//! Exit codes: 0 ok, 1 run-time failure or failed expectation, 2 usage, 3 invalid scenario, 5 real time missed under
//! `--require-rt`, 124 timeout, 130 interrupted after a clean stop.

/// Prints a line; see `note_printed` for what becomes of one that cannot be.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        crate::note_printed(writeln!(std::io::stdout().lock(), $($text)*));
    }};
}

mod bench;
mod cli;

use clap::Parser;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

/// Why something could not be printed.
static UNPRINTED: OnceLock<String> = OnceLock::new();

/// A reader that went away (`muster list | head`) is no reason to fail, nor to lose a report; a full disk is.
fn note_printed(outcome: io::Result<()>) {
    if let Err(error) = outcome
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        UNPRINTED.get_or_init(|| error.to_string());
    }
}

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    let code = cli::dispatch(arguments);
    note_printed(io::stdout().flush());
    match UNPRINTED.get() {
        Some(error) if code == cli::OK => {
            eprintln!("error: cannot write to the standard output: {error}");
            ExitCode::from(cli::FAILED)
        }
        _ => ExitCode::from(code),
    }
}
