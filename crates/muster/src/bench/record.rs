//! What recording costs a fleet that runs in real time, and how fast the recorder alone is.

use super::How;
use super::measure::{Line, load, median};
use crate::cli::micros;
use muster::record::{RecordOutcome, Wants};
use muster::run::{RunOptions, Unwatched, run};
use muster::sink::{Batch, Directory};
use muster::{Setup, Simulation};
use muster_core::time::SimTime;
use muster_core::world::Heard;
use muster_links::delivery::Interest;
use muster_links::record::Compression;
use muster_links::record::manifest::Manifest;
use muster_links::record::recorder::Recorder;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

const OUTPUTS: &str = include_str!("../../../../benches/scenarios/outputs-100.yaml");

type Lines = Result<Vec<Line>, String>;

/// A file that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("muster-bench-{}-{name}.mcap", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

/// Both.
pub(super) fn record(how: &How) -> Lines {
    let mut lines = cost(how)?;
    lines.extend(throughput(how)?);
    Ok(lines)
}

/// One run in real time.
struct Ran {
    p50_us: f64,
    p99_us: f64,
    recording: Option<RecordOutcome>,
    late: u64,
}

fn real_time(seconds: f64, threads: usize, file: Option<&Path>) -> Result<Ran, String> {
    let setup = Setup { threads: Some(super::threads(threads)), keep_files: true, ..Setup::default() };
    let mut sim = Simulation::from_text(OUTPUTS, &setup).map_err(|error| error.to_string())?;
    if let Some(path) = file {
        sim.record(path, Wants::default())?;
    }
    let span = SimTime::from_s(seconds);
    let options = RunOptions { rtf: Some(1.0), span, windows: None, timeout: None, require_rt: false };
    let (report, _) = run(&mut sim, &options, &AtomicBool::new(false), &mut Unwatched);
    let windows = &report.meter.windows;
    Ok(Ran {
        p50_us: windows.quantile_us(0.5),
        p99_us: windows.quantile_us(0.99),
        recording: report.recording,
        late: report.late.count,
    })
}

/// Windows of a fleet in real time, with and without a recorder, in turns so that whatever else the machine does meets both.
fn cost(how: &How) -> Lines {
    let (seconds, rounds) = if how.quick { (3.0, 1) } else { (10.0, 3) };
    let threads = how.threads.unwrap_or(2);
    let mut all: [Vec<Ran>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        all[0].push(real_time(seconds, threads, None)?);
        let file = Scratch::new("cost");
        all[1].push(real_time(seconds, threads, Some(&file.0))?);
    }
    let middle = |runs: &[Ran], of: fn(&Ran) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        median(&values)
    };
    let line = |variant: &str, runs: &[Ran]| {
        let (p50, p99) = (middle(runs, |run| run.p50_us), middle(runs, |run| run.p99_us));
        let late: u64 = runs.iter().map(|run| run.late).sum();
        let line = Line::new("record", variant).count("threads", threads);
        line.both("window_p50_us", p50, micros(p50))
            .both("window_p99_us", p99, micros(p99))
            .count("late", late as usize)
    };
    let ratio = middle(&all[1], |run| run.p99_us) / middle(&all[0], |run| run.p99_us);
    let dropped: u64 = all[1].iter().filter_map(|run| run.recording.as_ref()).map(|recording| recording.dropped).sum();
    let recorded = line("100 robots, recorded", &all[1]).both("p99_ratio", ratio, format!("{ratio:.2}"));
    let recorded = recorded.count("dropped", dropped as usize);
    Ok(vec![line("100 robots, real time", &all[0]), recorded])
}

/// A second of samples, window by window.
fn second(sim: &mut Simulation) -> Vec<Heard> {
    let names: Vec<(String, String)> = sim
        .world()
        .robots()
        .flat_map(|robot| robot.cohort.blueprint.sensors.iter().map(|slot| (robot.name.clone(), slot.name.clone())))
        .collect();
    names.iter().for_each(|(robot, sensor)| _ = sim.world_mut().listen(robot, sensor));
    let mut all = Vec::new();
    while sim.world().time() < SimTime::from_s(1.0) {
        sim.walk_window(SimTime::from_s(1.0));
        let mut heard = Heard::default();
        sim.world_mut().swap_heard(&mut heard);
        all.push(heard);
    }
    all
}

/// The recorder alone: the same second of samples again and again, as fast as it takes them, beside a plain file.
fn throughput(how: &How) -> Lines {
    let bytes = if how.quick { 200_000_000 } else { 1_000_000_000 };
    let mut lines = vec![plain(bytes)?];
    let mut sim = load(OUTPUTS, 1, &[])?;
    let seconds = second(&mut sim);
    for (name, compression) in
        Compression::NAMES.into_iter().zip([Compression::None, Compression::Lz4, Compression::Zstd])
    {
        let file = Scratch::new(name);
        let directory = Arc::new(Directory::of(sim.world()));
        let wants = Wants { compression, ..Wants::default() };
        let manifest = Manifest::default();
        let begun = Instant::now();
        let world = sim.world_mut();
        let mut recorder =
            Recorder::start(&file.0, &manifest, wants, world, &directory).map_err(|error| error.to_string())?;
        let mut ear = recorder.ear().ok_or("found nothing to hear, expected sensors")?;
        let interest = Arc::new(Interest::new(&*ear, &directory));
        let mut batch = Batch { directory: Arc::clone(&directory), interest, ..Batch::default() };
        while recorder.outcome().payload_bytes < bytes {
            for heard in &seconds {
                batch.heard.clone_from(heard);
                ear.take(&batch);
            }
        }
        let outcome = recorder.finish(sim.world_mut(), "finished");
        let wall_s = begun.elapsed().as_secs_f64();
        let rate = outcome.payload_bytes as f64 * 1e-6 / wall_s;
        let share = outcome.file_bytes as f64 / outcome.payload_bytes as f64;
        let line = Line::new("record", format!("recorder alone, {name}"));
        let line =
            line.both("mb_per_s", rate, format!("{rate:.0}")).both("stored", share, format!("{:.1} %", 100.0 * share));
        lines.push(line.count("dropped", outcome.dropped as usize));
    }
    Ok(lines)
}

/// What the disk takes.
fn plain(bytes: u64) -> Result<Line, String> {
    let file = Scratch::new("plain");
    let block = vec![0x5a_u8; 1 << 20];
    let write = || -> std::io::Result<f64> {
        let begun = Instant::now();
        let mut file = std::fs::File::create(&file.0)?;
        for _ in 0..bytes >> 20 {
            file.write_all(&block)?;
        }
        file.sync_data()?;
        Ok(bytes as f64 * 1e-6 / begun.elapsed().as_secs_f64())
    };
    let rate = write().map_err(|error| error.to_string())?;
    Ok(Line::new("record", "a plain file, synced").both("mb_per_s", rate, format!("{rate:.0}")))
}
