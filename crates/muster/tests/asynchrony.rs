//! Asynchrony: what runs beside the loop, how it meets the loop, and that it changes nothing. Tests that the loop does
//! not wait let sensors and sinks wait for the loop: if it waited as well, neither would go on.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod common;

use common::{Counting, count, serial, simulation, tape};
use muster::sink::{Batch, Sink};
use muster::{Setup, Simulation};
use muster_core::component::{Look, LookAt};
use muster_core::exec::{Background, Inline, Serial};
use muster_core::look::LookJob;
use muster_core::time::SimTime;
use muster_core::world::{Machine, Options, World};
use muster_scenario::text::Async;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const MS: u64 = 1_000_000;
const CASES: [Async; 4] = [Async::None, Async::Messages, Async::Events, Async::Both];

fn with(asynchronous: Async, over: &[&str]) -> Setup {
    Setup { asynchronous: Some(asynchronous), ..serial(over) }
}

/// Walks windows and tells a tape how far the loop is.
fn walk(sim: &mut Simulation, tape: &common::Tape, seconds: f64) {
    let end = sim.world().time() + SimTime::from_s(seconds);
    while sim.world().time() < end {
        sim.walk_window(end);
        tape.pass(sim.world().time());
    }
    tape.pass(SimTime::NEVER);
}

#[test]
fn y01_synchronous_callbacks_run_once_a_step_in_the_main_thread_before_the_pose_changes() {
    let text = "{robots: [{name: a, motion: {kind: timed, rate_hz: 1000, tape: y01}, driver: {kind: probe, rate_hz: 1000, tape: y01}}]}";
    let main = std::thread::current().name().unwrap().to_owned();
    let mut sim = simulation(text, &with(Async::Both, &[]));
    sim.run_for(1.0);
    let events = tape("y01").events();
    assert_eq!(events.len(), 2000);
    for (step, pair) in events.chunks(2).enumerate() {
        assert_eq!((pair[0].what, pair[1].what), ("drive", "move"));
        assert_eq!(pair[0].time, SimTime::from_ns(step as u64 * MS));
        assert!(pair.iter().all(|event| event.thread == main));
    }
}

#[test]
fn y02_the_loop_does_not_wait_for_asynchronous_callbacks() {
    // the callback ends only when the loop is 90 steps further: a loop that waited for it would never come there
    for latency_ms in [100, 250] {
        let name = format!("y02-{latency_ms}");
        let text = format!(
            "{{run: {{window_ms: 1}}, robots: [{{name: a, kind: point, sensors: {{look: {{kind: gazer, rate_hz: 10, \
             latency_ms: {latency_ms}, waits_s: 0.09, tape: {name}}}}}}}]}}"
        );
        let tape = tape(&name);
        let mut sim = simulation(&text, &with(Async::Events, &[]));
        walk(&mut sim, &tape, 2.0);
        drop(sim);
        assert_eq!(tape.wrong(), 0, "{name}");
        let events = tape.events();
        assert!(events.len() >= 17, "{}", events.len());
        // a loop that is quick does a look itself that is due and nobody has begun: it is 90 steps further by then
    }
}

#[test]
fn y02_a_result_that_is_due_is_waited_for() {
    let text = "{run: {window_ms: 1}, robots: [{name: a, kind: point, driver: {kind: probe, rate_hz: 1000, reads: [look]}, \
                sensors: {look: {kind: gazer, rate_hz: 100, latency_ms: 2, sleep_us: 3000}}}]}";
    let mut sim = simulation(text, &with(Async::Events, &[]));
    sim.run_for(0.2);
    assert_eq!(count(&sim, "a.driver.news"), 19, "seen at 12 ms, 22 ms, ... 192 ms");
}

#[test]
fn y03_each_plug_in_has_its_period() {
    let text = "{robots: [{name: w, kind: fixed_wing, at: {xyz_m: [0, 0, 100]}, speed_mps: 25, \
                sensors: {near: {kind: neighbours, rate_hz: 20, latency_ms: 50}}}]}";
    for case in CASES {
        let mut sim = simulation(text, &with(case, &[]));
        sim.run_for(10.0);
        let (world, robot) = (sim.world(), sim.world().robots().next().unwrap());
        let sensors = robot.cohort.blueprint.sensors.iter().enumerate();
        let counts: Vec<(&str, u64)> =
            sensors.map(|(sensor, slot)| (slot.name.as_str(), world.samples(robot, sensor))).collect();
        for expected in
            [("imu", 5000), ("gps", 100), ("barometer", 500), ("airspeed", 500), ("truth", 1000), ("near", 199)]
        {
            assert!(counts.contains(&expected), "{case:?}: {expected:?} among {counts:?}");
        }
    }
}

/// A background that writes down when work is handed to it.
struct Signals {
    inner: Inline<LookJob>,
    signals: Arc<Mutex<Vec<usize>>>,
    tape: Arc<common::Tape>,
}

impl Background<LookJob> for Signals {
    fn start(&mut self, job: Box<LookJob>) {
        self.signals.lock().unwrap().push(self.tape.events().len());
        self.inner.start(job);
    }

    fn finish(&mut self) -> Option<Box<LookJob>> {
        self.inner.finish()
    }

    fn finish_if_done(&mut self) -> Option<Box<LookJob>> {
        self.inner.finish_if_done()
    }
}

#[test]
fn y04_the_signal_comes_before_the_synchronous_callbacks() {
    let text = "{run: {window_ms: 1}, robots: [{name: a, kind: point, driver: {kind: probe, rate_hz: 1000, tape: y04}, \
                sensors: {look: {kind: gazer, rate_hz: 1000, latency_ms: 5}}}]}";
    let model = Arc::clone(&simulation(text, &serial(&[])).scenario().model);
    let mut world = World::new(model, Options::default()).unwrap();
    let (tape, signals) = (tape("y04"), Arc::new(Mutex::new(Vec::new())));
    let inner = Inline::default();
    let mut background = Signals { inner, signals: Arc::clone(&signals), tape: Arc::clone(&tape) };
    let clock = Counting(Arc::clone(&tape));
    for step in 1..=500 {
        let mut machine = Machine { executor: &Serial, background: &mut background, clock: &clock };
        world.walk_window(SimTime::from_ns(step * MS), &mut machine);
    }
    // the signal of instant n finds n drives done (those of instants 0 to n - 1), not the one of n itself
    let signals = signals.lock().unwrap();
    assert_eq!(*signals, (1..=500).collect::<Vec<usize>>());
    let drives: Vec<u64> = tape.events().iter().map(|event| event.time.ns() / MS).collect();
    assert_eq!(drives, (0..500).collect::<Vec<u64>>());
}

#[test]
fn y05_the_thread_ends_with_the_simulation_and_calls_nobody_after() {
    let text = "{run: {window_ms: 1}, robots: [{name: a, kind: point, sensors: {look: {kind: gazer, rate_hz: 50, \
                latency_ms: 400, sleep_us: 20000, tape: y05}}}]}";
    let mut sim = simulation(text, &with(Async::Events, &[]));
    sim.run_for(0.35);
    let stop = Instant::now();
    drop(sim);
    assert!(stop.elapsed() < Duration::from_secs(1), "{:?}", stop.elapsed());
    let calls = tape("y05").events().len();
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(tape("y05").events().len(), calls);
    assert!(calls < 17, "work that had not begun was dropped");
}

#[test]
fn y06_only_what_cannot_write_may_run_beside_the_loop() {
    // The background takes nothing but looks, and a look gets the world by shared reference. That a sensor which
    // writes forces is refused by the compiler is the doc test of `muster_core::component::Sensor`.
    let _: fn(&dyn Look, &LookAt<'_>, &mut Vec<f64>) = |look, at, sample| look.look(at, sample);
    let text = "{robots: [{name: a, kind: point, sensors: {look: {kind: gazer, rate_hz: 100, latency_ms: 10, tape: y06}}, \
                driver: {kind: probe, rate_hz: 100, tape: y06}}]}";
    let main = std::thread::current().name().unwrap().to_owned();
    let mut sim = simulation(text, &with(Async::Both, &[]));
    sim.run_for(1.0);
    for event in tape("y06").events() {
        // the loop does what is due and nobody has begun itself
        let may = event.what == "look" && event.thread == "async-events";
        assert!(may || event.thread == main, "{event:?}");
    }
}

/// A subscriber to states; waits for the loop if it has a tape.
struct States {
    count: Arc<AtomicUsize>,
    threads: Arc<Mutex<Vec<String>>>,
    tape: Option<Arc<common::Tape>>,
    ahead: SimTime,
}

impl Sink for States {
    fn states(&self) -> bool {
        true
    }

    fn take(&mut self, batch: &Batch) {
        let Some(states) = batch.states() else { return };
        assert_eq!(states.time, batch.time);
        self.count.fetch_add(states.robots.len(), Ordering::Relaxed);
        self.threads.lock().unwrap().push(std::thread::current().name().unwrap_or_default().to_owned());
        if let Some(tape) = &self.tape {
            tape.wait_for(batch.time + self.ahead);
        }
    }
}

const HUNDRED: &str = "{run: {states_hz: 60}, robots: [{name: 'r{i}', kind: point, count: 100, \
                       layout: {grid: {rows: 10, spacing_m: 3, from_m: [0, 0, 1]}}, driver: {kind: random_walk}}]}";

#[test]
fn y07_states_are_published_at_their_rate_beside_the_loop() {
    for subscribers in [1, 5] {
        let name = format!("y07-{subscribers}");
        let tape = tape(&name);
        let mut sim = simulation(HUNDRED, &with(Async::Messages, &[]));
        let (count, threads) = (Arc::new(AtomicUsize::new(0)), Arc::default());
        for number in 0..subscribers {
            // the first subscriber is slow: it waits until the loop is 12 publications further
            let sink = States {
                count: Arc::clone(&count),
                threads: Arc::clone(&threads),
                tape: (number == 0).then(|| Arc::clone(&tape)),
                ahead: SimTime::from_s(0.2),
            };
            sim.add_sink(Box::new(sink)).unwrap();
        }
        walk(&mut sim, &tape, 2.0);
        sim.flush();
        assert_eq!(tape.wrong(), 0, "the loop went on whatever subscribers did");
        assert_eq!(count.load(Ordering::Relaxed), 2 * 60 * 100 * subscribers);
        assert!(threads.lock().unwrap().iter().all(|thread| thread == "async-messages"));
    }
}

#[test]
fn y08_two_threads_more_with_both() {
    let text =
        HUNDRED.replace("kind: random_walk}", "kind: random_walk}, sensors: {n: {kind: neighbours, latency_ms: 40}}");
    let program = std::env::args().next().unwrap();
    // in a process of its own, as the threads of other tests are in this one
    if std::env::var_os("Y08_INSIDE").is_none() {
        let arguments = ["y08_two_threads_more_with_both", "--exact", "--nocapture", "--test-threads=1"];
        let output = std::process::Command::new(program).args(arguments).env("Y08_INSIDE", "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let before = muster_exec::thread_names();
    for case in CASES {
        let mut sim = simulation(&text, &with(case, &[]));
        let (count, threads) = (Arc::default(), Arc::default());
        sim.add_sink(Box::new(States { count, threads, tape: None, ahead: SimTime::ZERO })).unwrap();
        sim.run_for(0.2);
        let mut names = muster_exec::thread_names();
        before.iter().for_each(|name| _ = names.iter().position(|other| other == name).map(|at| names.remove(at)));
        names.sort();
        let expected: &[&str] = match case {
            Async::None => &[],
            Async::Messages => &["async-messages"],
            Async::Events => &["async-events"],
            Async::Both => &["async-events", "async-messages"],
        };
        assert_eq!(names, expected, "{case:?}");
    }
}

#[test]
fn y09_four_cases_can_be_switched() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["bench", "async", "--quick", "--json"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let cases: Vec<&str> = lines.iter().filter_map(|line| line["variant"].as_str()).collect();
    assert_eq!(cases, ["none", "messages", "events", "both"], "{text}");
    assert!(lines.iter().all(|line| line["state_hash"] == lines[0]["state_hash"]), "{text}");
}

#[test]
fn y10_asynchrony_leaves_every_bit_as_it_was() {
    let text = "{run: {seed: 3, states_hz: 60}, robots: [{name: 'q{i}', kind: quadrotor, count: 4, \
                layout: {line: {step_m: [3, 0, 0], from_m: [0, 0, 3]}}, \
                driver: {kind: probe, rate_hz: 100, reads: [look, near], speed_mps: 1}, \
                sensors: {look: {kind: gazer, rate_hz: 37, latency_ms: 41}, near: {kind: neighbours, rate_hz: 50, latency_ms: 20}}}]}";
    let trajectories = CASES.map(|case| {
        let mut sim = simulation(text, &with(case, &[]));
        let (count, threads) = (Arc::default(), Arc::default());
        sim.add_sink(Box::new(States { count, threads, tape: None, ahead: SimTime::ZERO })).unwrap();
        let mut hashes = Vec::new();
        while sim.world().time() < SimTime::from_s(2.0) {
            sim.walk_window(SimTime::from_s(2.0));
            hashes.push(sim.world().hash());
        }
        assert!(count_news(&sim) > 100);
        hashes
    });
    assert!(trajectories.iter().all(|hashes| *hashes == trajectories[0]));
}

fn count_news(sim: &Simulation) -> i64 {
    count(sim, "q0.driver.news")
}

#[test]
fn y11_a_callback_sees_one_instant() {
    // 1,000 robots, each looking 1,000 times at numbers of others that must all belong to the same instant
    let text = "{run: {window_ms: 1}, robots: [{name: 't{i}', count: 1000, layout: {line: {step_m: [0, 0, 0]}}, \
                motion: {kind: timed, rate_hz: 1000}, sensors: {check: {kind: checker, rate_hz: 1000, latency_ms: 4, tape: y11}}}]}";
    let mut sim = simulation(text, &with(Async::Events, &[]));
    sim.run_for(1.0);
    drop(sim.save());
    let tape = tape("y11");
    assert_eq!((tape.calls.load(Ordering::Relaxed), tape.wrong()), (1_000_000, 0));
}

/// Processor time of the threads of this name in this process, in ticks of 10 ms.
fn processor_ticks(name: &str) -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let of_task = |path: std::path::PathBuf| {
        let stat = std::fs::read_to_string(path.join("stat")).ok()?;
        let (head, tail) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = tail.split_whitespace().collect();
        head.ends_with(name).then_some(fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?)
    };
    tasks.filter_map(|task| of_task(task.path())).sum()
}

#[test]
fn y15_asynchronous_threads_sleep_while_nothing_is_due() {
    let program = std::env::args().next().unwrap();
    if std::env::var_os("Y15_INSIDE").is_none() {
        let arguments = ["y15_asynchronous_threads_sleep_while_nothing_is_due", "--exact", "--nocapture"];
        let output = std::process::Command::new(program).args(arguments).env("Y15_INSIDE", "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    // one look and one message a second of simulated time; the loop is busy meanwhile
    let text = "{run: {states_hz: 1}, robots: [{name: a, kind: point, driver: {kind: random_walk, rate_hz: 1000}, \
                sensors: {look: {kind: gazer, rate_hz: 1, latency_ms: 500}}}]}";
    let mut sim = simulation(text, &with(Async::Both, &[]));
    let (count, threads) = (Arc::default(), Arc::default());
    sim.add_sink(Box::new(States { count, threads, tape: None, ahead: SimTime::ZERO })).unwrap();
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(700) {
        sim.run_for(0.9);
        std::thread::sleep(Duration::from_millis(10));
    }
    let ticks = [processor_ticks("async-events"), processor_ticks("async-messages")];
    assert!(muster_exec::thread_names().iter().filter(|name| name.starts_with("async-")).count() == 2);
    assert!(ticks.iter().all(|&ticks| ticks <= 3), "{ticks:?} of 70 ticks");
}

#[test]
fn y16_a_slower_output_period_tracks_as_well() {
    let rmse = |rate_hz: u32| {
        let text = format!(
            "{{run: {{seed: 8}}, robots: [{{name: q, kind: quadrotor, at: {{xyz_m: [0, 0, 3]}}, \
             sensors: {{truth: {{kind: truth, rate_hz: {rate_hz}}}}}, driver: {{kind: waypoints, by: position, rate_hz: 100, \
             speed_mps: 1, loop_forever: true, points_m: [[2, 0, 3], [2, 2, 4], [0, 2, 3], [0, 0, 3]]}}}}]}}"
        );
        let mut sim = simulation(&text, &serial(&[]));
        let (mut sum, mut samples) = (0.0, 0);
        while sim.world().time() < SimTime::from_s(20.0) {
            sim.walk_window(SimTime::NEVER);
            let (is, wanted) =
                (sim.world().property("q.position_m").unwrap(), sim.world().property("q.setpoint").unwrap());
            sum += is.iter().zip(&wanted).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            samples += 1;
        }
        (sum / f64::from(samples)).sqrt()
    };
    let (slow, fast) = (rmse(100), rmse(1000));
    println!("tracking error with truth at 100 Hz: {slow:.4} m, at 1000 Hz: {fast:.4} m");
    assert!(slow > 0.0 && (slow / fast - 1.0).abs() < 0.05, "{slow} {fast}");
}
