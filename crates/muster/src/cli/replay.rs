//! `muster replay`: a recording walked again, from what it holds and nothing else.

use super::progress::{People, summary};
use super::run::{exit_code, stop_on_interrupt, write_report};
use super::{FAILED, INTERRUPTED, INVALID, OK, options, unloaded};
use clap::Args;
use muster::record::{self, Verdict};
use muster::run::{Ended, RunOptions, Unwatched, run as run_simulation};
use muster::{PortBase, Setup, Simulation};
use muster_core::time::SimTime;
use muster_links::record::reader::Recording;
use muster_scenario::text::{Async, Rtf, Threads};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What to replay, and how.
#[derive(Args)]
pub(crate) struct ReplayArguments {
    /// The recording
    file: PathBuf,
    /// Prove that the run gives the same bits again, or name the first second and the robots that differ; opens no link
    #[arg(long)]
    verify: bool,
    /// Real-time factor: 1 for real time, 10 for ten times as fast, `max` for as fast as possible
    #[arg(long, value_parser = options::rtf, default_value = "1", conflicts_with = "verify")]
    rtf: Rtf,
    /// Threads: a number, `auto`, or `per_robot`
    #[arg(long, value_parser = options::threads)]
    threads: Option<Threads>,
    /// What runs beside the loop: none, messages, events or both; results do not depend on it
    #[arg(long = "async", value_parser = options::asynchronous, value_name = "WHAT")]
    asynchronous: Option<Async>,
    /// Which ports links take: `auto` for any that are free, or the first of a row; else those of the scenario
    #[arg(long, value_name = "PORT|auto", default_value = "as-written", value_parser = options::port_base, hide_default_value = true)]
    port_base: PortBase,
    /// Do not open the scenario's links
    #[arg(long)]
    no_links: bool,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// No progress, no table
    #[arg(short, long)]
    quiet: bool,
}

/// Replays and returns the exit code.
pub(crate) fn replay(arguments: &ReplayArguments) -> u8 {
    let recording = match record::open(&arguments.file) {
        Ok(recording) => recording,
        Err(error) => {
            eprintln!("{error}");
            return INVALID;
        }
    };
    let stop = Arc::new(AtomicBool::new(false));
    let running = stop_on_interrupt(&stop);
    let setup = Setup {
        threads: arguments.threads,
        asynchronous: arguments.asynchronous,
        stop: Some(Arc::clone(&stop)),
        ..Setup::default()
    };
    let mut sim = match record::load_recorded(&recording, &setup) {
        Ok(sim) => sim,
        Err(error) => return unloaded(&error),
    };
    if recording.manifest.version != env!("CARGO_PKG_VERSION") {
        let version = &recording.manifest.version;
        eprintln!("warning: recorded by muster {version}, this is {}", env!("CARGO_PKG_VERSION"));
    }
    running.store(true, Ordering::Relaxed);
    if arguments.verify {
        verify(arguments, &recording, &mut sim, &stop)
    } else {
        play(arguments, &recording, &mut sim, &stop)
    }
}

fn run_options(rtf: Option<f64>) -> RunOptions {
    RunOptions { rtf, span: SimTime::NEVER, windows: None, timeout: None, require_rt: false }
}

fn verify(arguments: &ReplayArguments, recording: &Recording, sim: &mut Simulation, stop: &Arc<AtomicBool>) -> u8 {
    let reasons = sim.unrepeatable();
    if !reasons.is_empty() {
        eprintln!("error: the run cannot be proven, since some of its components need not give the same bits again:");
        reasons.iter().for_each(|reason| eprintln!("  {reason}"));
        return FAILED;
    }
    let (report, ended) = run_simulation(sim, &run_options(None), stop, &mut Unwatched);
    if let Some(path) = &arguments.report
        && !write_report(path, &report.json())
    {
        return FAILED;
    }
    let Some(verdict) = sim.verdict() else { return FAILED };
    say!("{}: {verdict}", arguments.file.display());
    if ended == Ended::Interrupted {
        return INTERRUPTED;
    }
    if let Some(damage) = &recording.damage {
        eprintln!("error: the recording is damaged {damage}");
        return FAILED;
    }
    match (&recording.end, &verdict) {
        (_, Verdict::Differs(_) | Verdict::Stuck { .. }) => FAILED,
        (_, Verdict::Equal { hashes: 0, .. }) => {
            eprintln!("error: the recording was cut off before its first hash: nothing is proven");
            FAILED
        }
        (None, _) => {
            eprintln!("warning: the recording was cut off: verified as far as it goes");
            OK
        }
        (Some(_), _) => OK,
    }
}

fn play(arguments: &ReplayArguments, recording: &Recording, sim: &mut Simulation, stop: &Arc<AtomicBool>) -> u8 {
    if !arguments.no_links
        && let Err(error) = sim.open_links(arguments.port_base)
    {
        eprintln!("{error}");
        return FAILED;
    }
    if let Some(damage) = &recording.damage {
        eprintln!("warning: the recording is damaged {damage}");
    }
    let rtf = match arguments.rtf {
        Rtf::Factor(factor) => Some(factor),
        Rtf::Max => None,
    };
    let mut people = People::new(arguments.quiet);
    let (report, ended) = run_simulation(sim, &run_options(rtf), stop, &mut people);
    people.clear();
    if !arguments.quiet {
        summary(&report);
    }
    if let Some(path) = &arguments.report
        && !write_report(path, &report.json())
    {
        return FAILED;
    }
    match sim.verdict() {
        Some(verdict @ (Verdict::Differs(_) | Verdict::Stuck { .. })) => {
            eprintln!("error: {}: {verdict}", arguments.file.display());
            FAILED
        }
        _ => exit_code(ended, false),
    }
}
