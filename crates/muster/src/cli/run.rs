//! `muster run` and `muster demo`.

use super::options::RunFlags;
use super::progress::{People, summary};
use super::{FAILED, INTERRUPTED, LATE, OK, TIMEOUT, USAGE, seeds, unloaded};
use muster::report::Report;
use muster::run::{Ended, RunOptions, run as run_simulation};
use muster::{LoadError, Setup, Simulation, library};
use muster_core::time::SimTime;
use muster_links::link::Address;
use muster_scenario::text::{Rtf, RunText};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Where a scenario comes from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// A file.
    File(PathBuf),
    /// The library.
    Demo(String),
    /// A text.
    Text(String),
}

impl Source {
    /// Loads the scenario.
    pub(crate) fn load(&self, setup: &Setup) -> Result<Simulation, LoadError> {
        match self {
            Self::File(path) => Simulation::load(&path.to_string_lossy(), setup),
            Self::Demo(name) => Simulation::load(&format!("demos/{name}.yaml"), setup),
            Self::Text(text) => Simulation::from_text(text, setup),
        }
    }
}

/// Runs a scenario and returns the exit code.
pub(crate) fn run(source: Source, flags: &RunFlags) -> u8 {
    if let Source::Demo(name) = &source
        && !library::names("demos").any(|known| known == name)
    {
        let names: Vec<&str> = library::names("demos").collect();
        eprintln!("error: found demo {name:?}, expected one of {}", names.join(", "));
        return USAGE;
    }
    let begun = Instant::now();
    if flags.trace {
        muster::plugins::trace_on();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let running = stop_on_interrupt(&stop);
    if let Some(list) = &flags.seeds {
        running.store(true, Ordering::Relaxed);
        return seeds::run(&source, flags, &list.0, &stop);
    }
    let setup = Setup { stop: Some(Arc::clone(&stop)), ..flags.setup() };
    let mut sim = match source.load(&setup) {
        Ok(sim) => sim,
        Err(error) => return unloaded(&error),
    };
    if flags.report.as_ref().is_some_and(|path| !can_write(path)) {
        return FAILED;
    }
    let mut options = run_options(&sim.scenario().run, flags);
    options.timeout = options.timeout.map(|timeout| timeout.saturating_sub(begun.elapsed()));
    running.store(true, Ordering::Relaxed);
    if let Some(path) = &flags.record
        && let Err(error) = sim.record(path, flags.wants())
    {
        eprintln!("error: {error}");
        return FAILED;
    }
    if !flags.no_links
        && let Err(error) = sim.open_links(flags.port_base)
    {
        eprintln!("{error}");
        return FAILED;
    }
    introduce(&sim, flags.quiet);
    if let Source::Text(_) = source {
        say!("[SCENE INITIALIZED]");
    }
    let mut people = People::new(flags.quiet);
    let (report, ended) = run_simulation(&mut sim, &options, &stop, &mut people);
    people.clear();
    tell_end(&report, ended);
    if !flags.quiet {
        summary(&report);
    }
    if let Some(path) = &flags.report
        && !write_report(path, &report.json())
    {
        return FAILED;
    }
    exit_code(ended, report.failed())
}

/// What people should know before a run.
fn introduce(sim: &Simulation, quiet: bool) {
    sim.warnings().iter().for_each(|warning| eprintln!("{warning}"));
    sim.choices().iter().for_each(|choice| eprintln!("{choice}"));
    if sim.drawing().adapter.is_some() || sim.drawing().why.is_some() {
        eprintln!("{}", sim.drawing());
    }
    if !quiet && !sim.scenario().about.is_empty() {
        eprintln!("{}", sim.scenario().about.trim());
    }
    if !quiet {
        tell_addresses(&sim.addresses());
    }
}

/// What people should know after it.
fn tell_end(report: &Report, ended: Ended) {
    if let [first, ..] = report.unpromised.as_slice() {
        let count = report.unpromised.len();
        eprintln!("the hash holds for this card only: {count} sensors see through it, such as {first}");
    }
    if ended == Ended::Faulty {
        eprintln!("error: stopped at {:.3} s: a component failed (run.on_fault: stop)", report.sim_time_s);
    }
    if ended == Ended::Late {
        eprintln!("error: stopped at {:.3} s: a deadline was missed (--require-rt)", report.sim_time_s);
    }
}

/// Tells where links can be reached; of many only how many.
fn tell_addresses(addresses: &[Address]) {
    const TOLD: usize = 12;
    for address in addresses.iter().take(TOLD) {
        eprintln!("{} {} ({}) at {}", address.link, address.channel, address.direction, address.at);
    }
    if addresses.len() > TOLD {
        eprintln!("and {} more: muster ports tells them all", addresses.len() - TOLD);
    }
}

/// The exit code of a run.
pub(crate) fn exit_code(ended: Ended, failed: bool) -> u8 {
    match ended {
        Ended::Interrupted => INTERRUPTED,
        Ended::Timeout => TIMEOUT,
        Ended::Late => LATE,
        Ended::Faulty => FAILED,
        Ended::Finished if failed => FAILED,
        Ended::Finished => OK,
    }
}

/// What the command line and the scenario ask for together.
pub(crate) fn run_options(text: &RunText, flags: &RunFlags) -> RunOptions {
    let span = flags.span.map_or(SimTime::from_s(text.for_s), |span| SimTime::from_ns(span.as_nanos() as u64));
    let asked = flags.rtf.unwrap_or(text.rtf);
    let rtf = match asked {
        Rtf::Factor(factor) => Some(factor),
        Rtf::Max if flags.require_rt => Some(1.0),
        Rtf::Max => None,
    };
    RunOptions {
        rtf,
        span: if flags.steps.is_some() { SimTime::NEVER } else { span },
        windows: flags.steps,
        timeout: flags.timeout.or(text.timeout_s.map(Duration::from_secs_f64)),
        require_rt: flags.require_rt,
    }
}

/// True if a report can be written; else says why not, before anybody has waited for the run.
pub(crate) fn can_write(path: &Path) -> bool {
    if path.exists() && !path.is_file() {
        return told(path, std::fs::OpenOptions::new().write(true).open(path).map(|_| ()));
    }
    let beside = beside(path);
    told(path, std::fs::write(&beside, "").and_then(|()| std::fs::remove_file(&beside)))
}

/// Writes a report, or says why it cannot.
pub(crate) fn write_report(path: &Path, report: &serde_json::Value) -> bool {
    told(path, write_whole(path, &format!("{report:#}\n")))
}

fn told(path: &Path, outcome: std::io::Result<()>) -> bool {
    if let Err(error) = &outcome {
        eprintln!("error: cannot write report {}: {error}", path.display());
    }
    outcome.is_ok()
}

fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    PathBuf::from(beside)
}

/// Writes a file beside its place and moves it there, so that a full disk leaves no half of it. What is no plain file
/// (a pipe, a device) is written as it is.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    if path.exists() && !path.is_file() {
        return std::fs::write(path, text);
    }
    let beside = beside(path);
    std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path)).inspect_err(|_| {
        _ = std::fs::remove_file(&beside);
    })
}

/// The first Ctrl-C asks for a clean stop, the second ends at once; so does the first before there is anything to stop,
/// which is so until what is returned is set.
pub(crate) fn stop_on_interrupt(stop: &Arc<AtomicBool>) -> Arc<AtomicBool> {
    let running = Arc::new(AtomicBool::new(false));
    let (stop, started) = (Arc::clone(stop), Arc::clone(&running));
    let outcome = ctrlc::set_handler(move || {
        if stop.swap(true, Ordering::Relaxed) || !started.load(Ordering::Relaxed) {
            std::process::exit(i32::from(INTERRUPTED));
        }
    });
    if let Err(error) = outcome {
        eprintln!("warning: Ctrl-C will not stop cleanly: {error}");
    }
    running
}
