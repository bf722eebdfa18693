//! The cases that measure more than one world, or something else than worlds.

use super::How;
use super::measure::{Line, Measured, Plan, load, measure, median, over, phases};
use crate::cli::micros;
use muster::report::Meter;
use muster::sink::{Batch, Sink};
use muster::{Setup, Simulation};
use muster_core::exec::{Executor, Inline, Serial};
use muster_core::model::Model;
use muster_core::node::Value as NodeValue;
use muster_core::time::SimTime;
use muster_core::world::{Machine, Options, World};
use muster_exec::{Pool, WaitStrategy, WallClock, measure_fork_join, measure_waits};
use muster_scenario::text::Async;
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const VEHICLES: &str = include_str!("../../../../benches/scenarios/vehicles-1000.yaml");
const PROXIMITY: &str = include_str!("../../../../benches/scenarios/proximity-10000.yaml");
const TEN: &str = include_str!("../../../../benches/scenarios/ten.yaml");
const COLD_START: &str = include_str!("../../../../benches/scenarios/cold-start.yaml");
const CAMERAS: &str = include_str!("../../../../benches/scenarios/cameras-100.yaml");
const FIXED_WING: &str = include_str!("../../../../benches/scenarios/fixed-wing-100.yaml");

type Lines = Result<Vec<Line>, String>;

/// A thousand small worlds of ten robots on one pool, beside one world of ten thousand. The small ones are joined as
/// realms, several to a world, as `muster run --seeds` does.
pub(super) fn worlds(how: &How) -> Lines {
    let worlds = if how.quick { 100 } else { 1_000 };
    let threads = how.threads.unwrap_or(2);
    let plan = Plan { warm_up_s: 0.5, batch_s: 0.5, batches: 3 }.quick(how.quick);
    let big = TEN.replace("count: 10\n", &format!("count: {}\n", worlds * 10)).replace("rows: 2", "rows: 100");
    // in turns, so that whatever else the machine does meets both
    let round = |_| Ok((measure(&mut load(&big, threads, &[])?, plan), joined(worlds, threads, plan)?));
    let mut rounds = (0..5).map(round).collect::<Result<Vec<(Measured, Joined)>, String>>()?;
    let ratio = |(one, small): &(Measured, Joined)| small.rate * median(&one.ns_per_tick) * 1e-9;
    rounds.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let ratios: Vec<f64> = rounds.iter().map(ratio).collect();
    let (one, Joined { rate, each, meter }) = rounds.swap_remove(rounds.len() / 2);
    let (one_rate, ns, ratio) = (1e9 / median(&one.ns_per_tick), 1e9 / rate, median(&ratios));
    let (p50, p99) = (meter.windows.quantile_us(0.5), meter.windows.quantile_us(0.99));
    let rtf = 1e6 / ns / (worlds * 10) as f64;
    Ok(vec![
        one.line("worlds-1000", "one world").both("ticks_per_s", one_rate, format!("{one_rate:.3e}")).both(
            "ratio",
            1.0,
            "1.00".to_owned(),
        ),
        Line::new("worlds-1000", format!("{worlds} worlds"))
            .count("threads", threads)
            .count("robots", worlds * 10)
            .both("rtf", rtf, format!("{rtf:.2}"))
            .both("ns_per_robot_tick", ns, format!("{ns:.1}"))
            .value("window_us", json!({ "p50": p50, "p99": p99, "max": meter.windows.max_us() }))
            .value("phases", phases(&meter.phases, ns))
            .value("joined", json!(each))
            .value("ratio_spread", json!([ratios.first(), ratios.last()]))
            .shown("window p50", micros(p50))
            .shown("window p99", micros(p99))
            .shown("phases", format!("joined by {each}, the first of them"))
            .both("ticks_per_s", rate, format!("{rate:.3e}"))
            .both("ratio", ratio, format!("{ratio:.2}")),
    ])
}

/// How small worlds that share one pool fared.
struct Joined {
    /// Robot-ticks a second, all together.
    rate: f64,
    /// How many were joined into one world at most.
    each: usize,
    /// The windows of the first of these.
    meter: Meter,
}

/// Measures small worlds, each with a seed of its own.
fn joined(count: usize, threads: usize, plan: Plan) -> Result<Joined, String> {
    let seed = |seed: usize| over("run.seed", NodeValue::Integer(seed as i64));
    let model = |at: usize| Ok(Arc::clone(&load(TEN, 1, &[seed(at)])?.scenario().model));
    let models: Vec<Arc<Model>> = (0..count).map(model).collect::<Result<_, String>>()?;
    let each = models.first().map_or(1, |model| model.best_joined(count.div_ceil(threads)));
    let world = |model| World::new(Arc::new(model), Options::default()).map_err(|error| error.to_string());
    let mut worlds: Vec<World> = models.chunks(each).filter_map(Model::join).map(world).collect::<Result<_, _>>()?;
    let pool = Pool::new(threads).map_err(|error| error.to_string())?;
    let clock = WallClock::new(WaitStrategy::default());
    let meter = Mutex::new(Meter::default());
    let walk = |worlds: &mut Vec<World>, end: SimTime| {
        pool.for_each_mut(worlds, &|index, world: &mut World| {
            let mut background = Inline::default();
            let mut machine = Machine { executor: &Serial, background: &mut background, clock: &clock };
            let mut watched = (index == 0).then(|| meter.lock().unwrap_or_else(PoisonError::into_inner));
            while world.time() < end {
                let window = world.walk_window(end, &mut machine);
                if let Some(meter) = &mut watched {
                    meter.add(&window);
                }
            }
        });
    };
    walk(&mut worlds, SimTime::from_s(plan.warm_up_s));
    let mut rates: Vec<f64> = Vec::new();
    for batch in 1..=plan.batches {
        let before: u64 = worlds.iter().map(World::robot_ticks).sum();
        let start = Instant::now();
        walk(&mut worlds, SimTime::from_s(plan.warm_up_s + plan.batch_s * batch as f64));
        let wall = start.elapsed().as_secs_f64();
        let after: u64 = worlds.iter().map(World::robot_ticks).sum();
        rates.push((after - before) as f64 / wall);
    }
    rates.sort_by(f64::total_cmp);
    let meter = meter.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Joined { rate: median(&rates), each, meter })
}

/// What freezing a world of ten thousand driving robots costs: all poses, all parts, and the hierarchy of these built anew.
pub(super) fn hierarchy(how: &How) -> Lines {
    let mut sim = load(PROXIMITY, how.threads.unwrap_or(2), &[])?;
    let rounds = if how.quick { 20 } else { 200 };
    let mut all_us = Vec::new();
    for _ in 0..rounds {
        sim.run_for(0.1);
        let begun = Instant::now();
        let frozen = sim.world_mut().freeze_now();
        all_us.push(begun.elapsed().as_secs_f64() * 1e6);
        drop(frozen);
    }
    all_us.sort_by(f64::total_cmp);
    let (p50, p99) = (median(&all_us), all_us[all_us.len() * 99 / 100]);
    let line = Line::new("hierarchy-10000", "freeze and arrange").count("robots", sim.world().robots().count());
    Ok(vec![line.both("p50_us", p50, micros(p50)).both("p99_us", p99, micros(p99))])
}

/// A thousand vehicles on one and on two threads, beside two processes with a thread each: what two threads gain should
/// be what two processes gain.
pub(super) fn vehicles(how: &How) -> Lines {
    let plan = Plan { warm_up_s: 2.0, batch_s: 1.0, batches: 5 }.quick(how.quick);
    let alone = |threads: usize| Ok::<_, String>(measure(&mut load(VEHICLES, threads, &[])?, plan));
    if let Some(threads) = how.threads {
        return Ok(vec![alone(threads)?.line("vehicles-1000", "full")]);
    }
    let (one, two) = (alone(1)?, alone(2)?);
    let rate = |ns_per_tick: &[f64]| 1.0 / median(ns_per_tick);
    let gain = rate(&two.ns_per_tick) / rate(&one.ns_per_tick);
    let beside = two_processes(how)? * median(&one.ns_per_tick);
    let share = gain / beside;
    Ok(vec![
        one.line("vehicles-1000", "full"),
        two.line("vehicles-1000", "full").both("gain", gain, format!("{gain:.2}")),
        Line::new("vehicles-1000", "two processes".to_owned())
            .count("threads", 1)
            .both("gain", beside, format!("{beside:.2}"))
            .both("threads_per_processes", share, format!("{share:.2}")),
    ])
}

/// Robot-ticks a nanosecond of two processes that measure the vehicles on one thread each, at the same time.
fn two_processes(how: &How) -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let start = || {
        let mut command = std::process::Command::new(&program);
        command.args(["bench", "vehicles-1000", "--threads", "1", "--json"]).args(how.quick.then_some("--quick"));
        command.stdout(std::process::Stdio::piped()).spawn().map_err(|error| error.to_string())
    };
    let rate = |child: std::process::Child| {
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        let line: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
        line["ns_per_robot_tick"].as_f64().map(|ns| 1.0 / ns).ok_or_else(|| "no ns_per_robot_tick".to_owned())
    };
    let (first, second) = (start()?, start()?);
    Ok(rate(first)? + rate(second)?)
}

/// From the start of a process to the end of its first window.
pub(super) fn cold_start(how: &How) -> Lines {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let path = std::env::temp_dir().join(format!("muster-cold-start-{}.yaml", std::process::id()));
    std::fs::write(&path, COLD_START).map_err(|error| error.to_string())?;
    let mut times: Vec<f64> = Vec::new();
    for _ in 0..if how.quick { 5 } else { 21 } {
        let start = Instant::now();
        let status = std::process::Command::new(&program)
            .args(["run", "--steps", "1", "--quiet"])
            .arg(&path)
            .stderr(std::process::Stdio::null())
            .status()
            .map_err(|error| error.to_string())?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        if !status.success() {
            return Err(format!("the cold run ended with {status}"));
        }
    }
    _ = std::fs::remove_file(&path);
    times.sort_by(f64::total_cmp);
    let (middle, worst) = (median(&times), times.last().copied().unwrap_or(0.0));
    Ok(vec![
        Line::new("cold-start", "whole process, one window")
            .count("threads", std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
            .count("robots", 100)
            .both("first_window_ms", middle, format!("{middle:.1}"))
            .both("worst_ms", worst, format!("{worst:.1}")),
    ])
}

/// How punctually each way of waiting wakes up, at 1 kHz and 50 Hz.
pub(super) fn wait(how: &How) -> Lines {
    let mut lines = Vec::new();
    for period in [Duration::from_millis(1), Duration::from_millis(20)] {
        let count = if how.quick { 50 } else { (2.0 / period.as_secs_f64()) as u32 };
        for strategy in WaitStrategy::ALL {
            let stats = measure_waits(strategy, period, count as usize);
            let us = |ns: u64| ns as f64 / 1e3;
            let line = Line::new("wait", format!("{} every {period:?}", strategy.name()));
            let line = [
                ("mean_us", stats.mean_ns),
                ("p50_us", stats.p50_ns),
                ("p99_us", stats.p99_ns),
                ("max_us", stats.max_ns),
            ]
            .into_iter()
            .fold(line, |line, (key, ns)| line.both(key, us(ns), format!("{:.1}", us(ns))));
            let share = stats.cpu_share.unwrap_or(f64::NAN);
            let chosen = if strategy == WaitStrategy::default() { "default" } else { "" };
            lines.push(line.both("cpu_share", share, format!("{:.0} %", share * 100.0)).shown("", chosen.to_owned()));
        }
    }
    Ok(lines)
}

/// A subscriber that encodes every state and sample as text, as a bridge would.
struct Encoder {
    bytes: Vec<u8>,
    count: u64,
}

impl Sink for Encoder {
    fn sensors(&self) -> Vec<String> {
        vec!["*.*".to_owned()]
    }

    fn states(&self) -> bool {
        true
    }

    fn take(&mut self, batch: &Batch) {
        use std::io::Write;
        self.bytes.clear();
        for seen in batch.states().into_iter().flat_map(|states| &states.robots) {
            let (p, q) = (seen.position_m, seen.orientation);
            _ = write!(self.bytes, "{} {} {} {} {} {} {} {};", seen.robot, p.x, p.y, p.z, q.x, q.y, q.z, q.w);
            self.count += 1;
        }
        for sample in batch.samples() {
            _ = write!(self.bytes, "{} {} {} {:?};", sample.robot, sample.sensor, sample.stamp.ns(), sample.values);
            self.count += 1;
        }
    }
}

/// GZA's four cases: what runs beside the loop, with a subscriber to everything.
pub(super) fn asynchronous(how: &How) -> Lines {
    let span_s = if how.quick { 1.0 } else { 5.0 };
    let text = FIXED_WING.replace("run: {for_s: 100}", "run: {for_s: 100, states_hz: 60}").replace(
        "    speed_mps: 25",
        "    speed_mps: 25\n    sensors: {near: {kind: neighbours, rate_hz: 50, radius_m: 100, latency_ms: 20}}",
    );
    let mut lines = Vec::new();
    let mut hashes = Vec::new();
    for case in [Async::None, Async::Messages, Async::Events, Async::Both] {
        let threads = Some(super::threads(how.threads.unwrap_or(1)));
        let setup = Setup { asynchronous: Some(case), threads, ..Setup::default() };
        let mut sim = Simulation::from_text(&text, &setup).map_err(|error| error.to_string())?;
        sim.add_sink(Box::new(Encoder { bytes: Vec::new(), count: 0 }))?;
        let start = Instant::now();
        sim.run_for(span_s);
        let rtf = span_s / start.elapsed().as_secs_f64();
        hashes.push(sim.world().hash());
        lines.push(
            Line::new("async", case.word())
                .count("threads", sim.threads())
                .count("robots", 100)
                .both("rtf", rtf, format!("{rtf:.1}"))
                .value("state_hash", format!("{:032x}", sim.world().hash()).into()),
        );
    }
    hashes.dedup();
    match hashes.as_slice() {
        [_] => Ok(lines),
        _ => Err("the four cases differ in their state hash".to_owned()),
    }
}

/// 100 aircraft with a camera each, images beside the loop and in it, and without anybody who looks at them.
pub(super) fn cameras(how: &How) -> Lines {
    let plan = Plan { warm_up_s: 1.0, batch_s: 2.0, batches: 5 }.quick(how.quick);
    let threads = Some(super::threads(how.threads.unwrap_or(2)));
    let mut lines = Vec::new();
    let cases =
        [("asynchronous", Async::Both, true), ("synchronous", Async::None, true), ("unseen", Async::Both, false)];
    for (variant, asynchronous, seen) in cases {
        let setup = Setup { asynchronous: Some(asynchronous), threads, render: how.render, ..Setup::default() };
        let mut sim = Simulation::from_text(CAMERAS, &setup).map_err(|error| error.to_string())?;
        let names: Vec<String> = sim.world().robots().map(|robot| robot.name.clone()).collect();
        if seen && !names.iter().all(|name| sim.world_mut().listen(name, "camera")) {
            return Err("a robot has no camera".to_owned());
        }
        let measured = measure(&mut sim, plan);
        let pixels_per_s = CAMERA_PIXELS_PER_S * median(&measured.rtf);
        let line = measured.line("cameras-100", variant);
        lines.push(match seen {
            true => line.both("pixels_per_s", pixels_per_s, format!("{:.1} million", pixels_per_s / 1e6)),
            false => line,
        });
    }
    Ok(lines)
}

/// Pixels of all cameras in a simulated second.
const CAMERA_PIXELS_PER_S: f64 = 100.0 * 10.0 * 64.0 * 48.0;

/// The cost of handing out work.
pub(super) fn fork_join(how: &How) -> Lines {
    let threads = how.threads.unwrap_or(2);
    let pool = Pool::new(threads).map_err(|error| error.to_string())?;
    let ns = measure_fork_join(&pool, if how.quick { 1_000 } else { 100_000 }) as f64;
    Ok(vec![Line::new("fork-join", "empty").count("threads", threads).both("fork_join_ns", ns, format!("{ns:.0}"))])
}
