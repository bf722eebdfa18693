//! `--seeds`: one scenario over many seeds, on all cores; pass rate and spread at the end. Small fleets of several seeds
//! share a world, each in a realm of its own, so that they fill wide registers together.

use super::options::RunFlags;
use super::progress::micros;
use super::run::{Source, can_write, exit_code, run_options, write_report};
use super::{FAILED, unloaded};
use comfy_table::{Table, presets};
use muster::report::Report;
use muster::run::{Ended, RunOptions, run_seeds};
use muster::{LoadError, Setup};
use muster_scenario::text::{Async, Threads};
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

type Outcome = Result<(Report, Ended), LoadError>;

/// Runs every seed and returns the exit code: that of the worst run.
pub(crate) fn run(source: &Source, flags: &RunFlags, seeds: &[u64], stop: &Arc<AtomicBool>) -> u8 {
    if flags.report.as_ref().is_some_and(|path| !can_write(path)) {
        return FAILED;
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let packs: Vec<&[u64]> = match pack_size(source, flags, seeds, cores) {
        Ok(size) => seeds.chunks(size).collect(),
        Err(error) => return unloaded(&error),
    };
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let outcomes: Mutex<BTreeMap<u64, Outcome>> = Mutex::new(BTreeMap::new());
    let show = std::io::stderr().is_terminal() && !flags.quiet;
    std::thread::scope(|scope| {
        for _ in 0..cores.min(packs.len()) {
            scope.spawn(|| {
                while let Some(&pack) = packs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let ran = run_pack(source, flags, pack, stop);
                    outcomes.lock().unwrap_or_else(PoisonError::into_inner).extend(ran);
                    let finished = done.fetch_add(pack.len(), Ordering::Relaxed) + pack.len();
                    if show {
                        eprint!("\r\x1b[2K{finished} / {} seeds", seeds.len());
                        _ = std::io::stderr().flush();
                    }
                }
            });
        }
    });
    if show {
        eprint!("\r\x1b[2K");
    }
    conclude(outcomes.into_inner().unwrap_or_else(PoisonError::into_inner), flags)
}

/// So many packs for each core at least, that none is idle at the end for long.
const PACKS_PER_CORE: usize = 4;

/// How many seeds share a world.
fn pack_size(source: &Source, flags: &RunFlags, seeds: &[u64], cores: usize) -> Result<usize, LoadError> {
    let first = seeds.first().copied().into_iter().collect();
    let sim = source.load(&Setup { seeds: first, ..setup(flags) })?;
    let most = seeds.len() / (cores * PACKS_PER_CORE);
    let RunOptions { rtf, windows, timeout, .. } = run_options(&sim.scenario().run, flags);
    // those who measure windows or the wall clock mean those of one seed
    let alone = rtf.is_some() || windows.is_some() || timeout.is_some() || flags.threads == Some(Threads::PerRobot);
    Ok(if alone { 1 } else { sim.scenario().model.best_joined(most) })
}

/// Runs the scenario with each of these seeds in one world.
fn run_pack(source: &Source, flags: &RunFlags, seeds: &[u64], stop: &Arc<AtomicBool>) -> Vec<(u64, Outcome)> {
    let load = |seeds: &[u64]| {
        let sim = source.load(&Setup { stop: Some(Arc::clone(stop)), seeds: seeds.to_vec(), ..setup(flags) })?;
        let options = run_options(&sim.scenario().run, flags);
        Ok((sim, options))
    };
    match run_seeds(seeds, &load, stop) {
        Ok(reports) => seeds.iter().copied().zip(reports.into_iter().map(Ok)).collect(),
        Err(error) => seeds.iter().map(|&seed| (seed, Err(LoadError::clone(&error)))).collect(),
    }
}

fn setup(flags: &RunFlags) -> Setup {
    let mut setup = flags.setup();
    setup.threads = Some(flags.threads.unwrap_or(Threads::Count(1)));
    setup.asynchronous = Some(flags.asynchronous.unwrap_or(Async::None));
    setup
}

fn conclude(outcomes: BTreeMap<u64, Outcome>, flags: &RunFlags) -> u8 {
    let mut reports: Vec<(u64, Report, Ended)> = Vec::new();
    for (seed, outcome) in outcomes {
        match outcome {
            Ok((report, ended)) => reports.push((seed, report, ended)),
            Err(error) => return unloaded(&error),
        }
    }
    let passed = reports.iter().filter(|(_, report, ended)| *ended == Ended::Finished && !report.failed());
    let passed = passed.count();
    if !flags.quiet {
        print_spread(&reports, passed);
    }
    if let Some(path) = &flags.report {
        let all: Vec<serde_json::Value> = reports.iter().map(|(_, report, _)| report.json()).collect();
        if !write_report(path, &serde_json::Value::from(all)) {
            return FAILED;
        }
    }
    let codes = reports.iter().map(|(_, report, ended)| exit_code(*ended, report.failed()));
    codes.max().unwrap_or(super::INTERRUPTED)
}

fn print_spread(reports: &[(u64, Report, Ended)], passed: usize) {
    for (seed, report, ended) in
        reports.iter().filter(|(_, report, ended)| *ended != Ended::Finished || report.failed()).take(20)
    {
        let why = report.failures.first().map_or_else(|| format!("{ended:?}"), ToString::to_string);
        say!("seed {seed}: {why}");
    }
    let share = |count: usize| 100.0 * count as f64 / reports.len().max(1) as f64;
    say!("{passed} of {} seeds passed ({:.1} %)", reports.len(), share(passed));
    let expected = reports.iter().map(|(_, report, _)| report.expected).max().unwrap_or(0);
    for number in 0..expected {
        let fails = |report: &Report| report.failures.iter().any(|failure| failure.expectation == number);
        let held = reports.iter().filter(|(_, report, _)| !fails(report)).count();
        say!("  expect[{number}] held in {held} ({:.1} %)", share(held));
    }
    let mut columns: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (_, report, _) in reports {
        columns.entry("contacts".to_owned()).or_default().push(report.contacts as f64);
        columns.entry("real-time factor".to_owned()).or_default().push(report.rtf());
        for (name, value) in &report.measured {
            columns.entry(name.clone()).or_default().push(*value);
        }
    }
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    table.set_header(vec!["value", "runs", "min", "median", "mean", "std", "max"]);
    for (name, values) in &mut columns {
        values.sort_by(f64::total_cmp);
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let std = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
        let median = values[values.len() / 2];
        let shown = [values[0], median, mean, std, values[values.len() - 1]].map(|value| format!("{value:.4}"));
        let mut row = vec![name.clone(), values.len().to_string()];
        row.extend(shown);
        table.add_row(row);
    }
    say!("{table}");
    let wall: f64 = reports.iter().map(|(_, report, _)| report.wall_time_s).sum();
    say!("{} of computing for {} runs", micros(wall * 1e6), reports.len());
}
