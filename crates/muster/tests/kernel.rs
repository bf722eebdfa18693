//! The kernel: who steps, in which order, at which rates, on which threads, and how simulated time keeps step with the
//! wall clock. Each test is named after the row of the conformance table it proves. Where time matters, it is told by a
//! clock of the test's own or by traces, so that a busy machine changes nothing.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod common;

use common::{Counting, Event, check_everywhere, count, serial, simulation, tape};
use muster::pace::{Late, Pacer};
use muster::run::{Ended, Progress, RunOptions, Watcher, run};
use muster::{Setup, Simulation};
use muster_core::command::{Action, Command};
use muster_core::component::{Control, Driver, Measure};
use muster_core::exec::{Clock, Inline, Serial};
use muster_core::property::Slot;
use muster_core::time::SimTime;
use muster_core::world::{Machine, Options, PHASES, World};
use muster_scenario::text::Threads;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const MS: u64 = 1_000_000;
const TAU: u64 = 20 * MS;

/// A clock that goes only when told, and remembers waits.
#[derive(Default)]
struct Told {
    now_ns: AtomicU64,
    waits_ns: Mutex<Vec<u64>>,
}

impl Told {
    fn pass(&self, ns: u64) {
        self.now_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// The time waited since the last question.
    fn waited_ns(&self) -> u64 {
        std::mem::take(&mut *self.waits_ns.lock().unwrap()).iter().sum()
    }
}

impl Clock for Told {
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::Relaxed)
    }

    fn wait_until_ns(&self, deadline_ns: u64) {
        self.waits_ns.lock().unwrap().push(deadline_ns - self.now_ns());
        self.now_ns.store(deadline_ns, Ordering::Relaxed);
    }
}

fn paced(rtf: f64, span_s: f64) -> RunOptions {
    RunOptions { rtf: Some(rtf), span: SimTime::from_s(span_s), windows: None, timeout: None, require_rt: false }
}

/// Keeps what is told of a run.
#[derive(Default)]
struct Heard(Vec<muster::run::Event>);

impl Watcher for Heard {
    fn progress(&mut self, _: &Progress) {}

    fn event(&mut self, event: muster::run::Event) {
        self.0.push(event);
    }
}

fn walk(world: &mut World, clock: &dyn Clock, until: SimTime) -> muster_core::world::Window {
    let mut background = Inline::default();
    world.walk_window(until, &mut Machine { executor: &Serial, background: &mut background, clock })
}

fn world_of(text: &str) -> World {
    World::new(Arc::clone(&simulation(text, &serial(&[])).scenario().model), Options::default()).unwrap()
}

#[test]
fn k01_components_can_only_ask_the_world_steps() {
    // what components are lent has no way to step: a driver gets columns and readings, a sensor a sample
    let _: fn(&dyn Driver, &mut Control<'_>) = |driver, control| driver.control(control);
    let _: fn(&dyn muster_core::component::Feel, &mut Measure<'_>) = |feel, measure| feel.measure(measure);
    let mut sim = simulation("{robots: [{name: a, kind: point}]}", &serial(&[]));
    let before = sim.world().hash();
    for sequence in 0..10 {
        let action = Action::Set { path: "a.position_m[2]".to_owned(), values: vec![sequence as f64] };
        sim.world_mut().post(Command { time: SimTime::ZERO, link: 3, sequence, action });
    }
    assert_eq!((sim.world().time(), sim.world().hash()), (SimTime::ZERO, before), "requests wait");
    sim.walk_window(SimTime::from_s(0.001));
    assert_eq!(sim.world().number("a.position_m[2]"), Some(9.0), "and are met by the next step, in order");
}

#[test]
fn k02_physics_first_then_logic_then_the_wait() {
    let text = "{run: {window_ms: 1, order: ssx}, robots: [{name: a, motion: {kind: timed, rate_hz: 1000, tape: k02}, \
                sensors: {feel: {kind: feeler, rate_hz: 1000, tape: k02}}, driver: {kind: probe, rate_hz: 1000, tape: k02}}]}";
    let tape = tape("k02");
    let mut world = world_of(text);
    let mut waits = Vec::new();
    for step in 1..=200 {
        walk(&mut world, &Counting(Arc::clone(&tape)), SimTime::from_ns(step * MS));
        waits.push(tape.events().len());
    }
    let events: Vec<(&str, u64)> = tape.events().iter().map(|event| (event.what, event.time.ns() / MS)).collect();
    assert_eq!(events[..5], [("move", 1), ("feel", 1), ("drive", 1), ("move", 2), ("feel", 2)]);
    for (step, wait) in (1..).zip(&waits) {
        // the drivers that follow step n are called when the wait for it is over, with what arrived meanwhile
        assert_eq!(events[wait - 2..*wait], [("move", step), ("feel", step)]);
        assert!(*wait == events.len() || events[*wait] == ("drive", step));
    }
}

#[test]
fn k03_one_thread_for_each_active_robot() {
    let text = "{run: {threads: per_robot}, robots: [\
                {name: 'act{i}', kind: point, count: 10, layout: {line: {step_m: [3, 0, 0]}}, driver: {kind: random_walk}}, \
                {name: 'pas{i}', count: 5, layout: {line: {step_m: [3, 9, 0]}}, motion: {kind: point}}]}";
    let mut sim = simulation(text, &Setup::default());
    sim.run_for(0.1);
    let mut threads = muster_exec::thread_names();
    threads.retain(|name| name.starts_with("act") || name.starts_with("pas"));
    threads.sort();
    assert_eq!(threads, (0..10).map(|robot| format!("act{robot}")).collect::<Vec<_>>());
    drop(sim);
    assert!(
        !muster_exec::thread_names().iter().any(|name| name.starts_with("act") || name.starts_with("pas")),
        "and they end with it"
    );
}

#[test]
fn k04_no_step_begins_before_all_of_the_last_are_done() {
    // 2,000 steps instead of 10,000, with 0.1 ms instead of 5 ms
    let text = "{run: {window_ms: 1, threads: per_robot}, robots: [\
                {name: slow, kind: point, driver: {kind: probe, rate_hz: 1000, sleep_us: 100, tape: k04}}, \
                {name: fast, kind: point, at: {xyz_m: [9, 0, 1]}, driver: {kind: probe, rate_hz: 1000, tape: k04}}]}";
    let mut sim = simulation(text, &Setup::default());
    sim.run_for(2.0);
    let mut events = tape("k04").events();
    assert_eq!(events.len(), 4000);
    events.sort_by_key(|event| event.time);
    let steps: Vec<&[Event]> = events.chunks(2).collect();
    let violations = steps.windows(2).filter(|pair| {
        let ended = pair[0].iter().map(|event| event.ended).max();
        let began = pair[1].iter().map(|event| event.began).min();
        began < ended
    });
    assert_eq!(violations.count(), 0);
}

#[test]
fn k05_the_wait_is_n_tau_minus_now_if_that_is_positive() {
    let clock = Told::default();
    let mut pacer = Pacer::new(&clock, SimTime::ZERO, 1.0);
    let takes_ms = [5, 1, 20, 0, 19, 50, 3, 3, 30, 1, 100, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    for (n, takes) in (1..).zip(takes_ms) {
        clock.pass(takes * MS);
        let (deadline, now) = (n * TAU, clock.now_ns());
        let late = pacer.wait(&clock, SimTime::from_ns(deadline), n, &|| ());
        assert_eq!(clock.waited_ns(), deadline.saturating_sub(now), "step {n}");
        assert_eq!(late, (now >= deadline).then(|| now - deadline), "step {n}");
    }
}

#[test]
fn k06_missed_deadlines_are_told_and_counted() {
    // the driver sleeps in its first call only: the next is a second later
    let text =
        "{run: {window_ms: 20}, robots: [{name: a, kind: point, driver: {kind: probe, rate_hz: 1, sleep_us: 50000}}]}";
    let mut sim = simulation(text, &serial(&[]));
    let mut told = Heard::default();
    let (report, ended) = run(&mut sim, &paced(1.0, 0.3), &false.into(), &mut told);
    assert_eq!((ended, report.windows), (Ended::Finished, 15));
    assert_eq!(report.late.first_window, Some(1));
    assert!(report.late.count >= 2 && report.late.worst_ns >= 30 * MS, "{:?}", report.late);
    let muster::run::Event::Late { window: 1, late, count: 1 } = told.0[0] else { panic!("{:?}", told.0) };
    assert!(late.as_millis() >= 30);
    assert_eq!(report.json()["late"]["count"], report.late.count);

    let clock = Told::default();
    let mut pacer = Pacer::new(&clock, SimTime::ZERO, 1.0);
    for n in 1..=100 {
        clock.pass(if n == 10 { 50 * MS } else { 2 * MS });
        pacer.wait(&clock, SimTime::from_ns(n * TAU), n, &|| ());
    }
    assert_eq!(pacer.late, Late { count: 2, worst_ns: 30 * MS, first_window: Some(10) }, "the count is exact");
}

#[test]
fn k07_an_offset_is_recovered() {
    let clock = Told::default();
    let mut pacer = Pacer::new(&clock, SimTime::ZERO, 1.0);
    let mut offsets_ns = Vec::new();
    for n in 1..=7 {
        clock.pass(if n == 1 { 100 * MS } else { 2 * MS });
        pacer.wait(&clock, SimTime::from_ns(n * TAU), n, &|| ());
        offsets_ns.push(clock.now_ns().abs_diff(n * TAU));
    }
    assert_eq!(offsets_ns[0], 80 * MS);
    assert!(offsets_ns[6] < MS, "{offsets_ns:?}");
}

#[test]
fn k08_ways_of_waiting_are_compared_and_the_most_punctual_is_the_default() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["bench", "wait", "--quick", "--json"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 6, "three strategies at two periods: {text}");
    for line in &lines {
        for key in ["mean_us", "p99_us", "max_us"] {
            assert!(line[key].is_number(), "{key} in {line}");
        }
    }
    let default = muster_exec::WaitStrategy::default().name();
    let least = |strategy: &str, key: &str| {
        let of = |line: &&serde_json::Value| line["variant"].as_str().is_some_and(|name| name.starts_with(strategy));
        lines.iter().filter(of).filter_map(|line| line[key].as_f64()).fold(f64::INFINITY, f64::min)
    };
    println!("{text}");
    // a machine that takes the processor away for more than a millisecond says nothing about ways of waiting
    let busy = least(default, "p99_us") > 1000.0;
    for other in muster_exec::WaitStrategy::ALL {
        let best = least(default, "p50_us") <= least(other.name(), "p50_us") + 5.0;
        assert!(best || busy, "{default} and {}: {text}", other.name());
    }
}

const WANDERERS: &str = "{run: {window_ms: 1, seed: 9}, robots: [{name: 'w{i}', kind: differential, count: 3, \
    layout: {line: {step_m: [2, 0, 0]}}, driver: {kind: random_walk, rate_hz: 20}}, \
    {name: x, kind: point, at: {xyz_m: [9, 9, 1]}, driver: {kind: probe, rate_hz: 1000}}]}";

#[test]
fn k09_results_are_valid_if_real_time_is_always_missed() {
    let throttled = WANDERERS.replace("kind: probe, rate_hz: 1000", "kind: probe, rate_hz: 1000, sleep_us: 1500");
    let mut sim = simulation(&throttled, &serial(&[]));
    let (slow, _) = run(&mut sim, &paced(1.0, 0.3), &false.into(), &mut Heard::default());
    assert_eq!(slow.late.count, 300, "every window is late");
    let mut sim = simulation(WANDERERS, &serial(&[]));
    sim.run_for(0.3);
    assert_eq!(slow.state_hash, sim.world().hash());
}

#[test]
fn k10_real_time_without_a_real_time_kernel() {
    // 5 s instead of 1000 s; the share is told, and judged only as far as a machine with other work allows
    let mut sim = simulation(WANDERERS, &serial(&["run.window_ms=20"]));
    let mut told = Heard::default();
    let (report, _) = run(&mut sim, &paced(1.0, 5.0), &false.into(), &mut told);
    let share = report.late.count as f64 / report.windows as f64;
    println!(
        "late: {} of {} ({:.2} %), worst {} us",
        report.late.count,
        report.windows,
        share * 100.0,
        report.late.worst_ns / 1000
    );
    assert_eq!(report.windows, 250);
    assert!(report.late.count <= report.windows);
    assert_eq!(report.late.count == 0, report.late.worst_ns == 0 && report.late.first_window.is_none());
    assert_eq!(report.late.count > 0, told.0.iter().any(|event| matches!(event, muster::run::Event::Late { .. })));
    assert!(report.wall_time_s >= 5.0, "never ahead of the clock");
    assert!(share < 0.5, "{share}");
}

#[test]
fn k13_every_algorithm_runs_at_its_own_rate_an_exact_number_of_times() {
    let text = "{robots: [{name: a, motion: {kind: timed, rate_hz: 1000}, driver: {kind: probe, rate_hz: 30}, \
                controller: {kind: probe, rate_hz: 7}, sensors: {a: {kind: clock, rate_hz: 1000}, b: {kind: clock, rate_hz: 100}, \
                c: {kind: clock, rate_hz: 30}, d: {kind: clock, rate_hz: 7}, e: {kind: gazer, rate_hz: 7}, \
                f: {kind: gazer, rate_hz: 30, latency_ms: 11}}}]}";
    for window in ["run.window_ms=20", "run.window_ms=333"] {
        let mut sim = simulation(text, &serial(&[window]));
        sim.run_for(10.0);
        let world = sim.world();
        let robot = world.robots().next().unwrap();
        let samples: Vec<u64> = (0..6).map(|sensor| world.samples(robot, sensor)).collect();
        // of the last one 299 are visible: that of 10 s is under way
        assert_eq!(samples, [10_000, 1000, 300, 70, 70, 299]);
        assert_eq!((count(&sim, "a.driver.calls"), count(&sim, "a.controller.calls")), (300, 70));
        assert_eq!(count(&sim, "a.motion.ticks"), 10_000);
    }
}

#[test]
fn k14_rates_belong_to_algorithm_and_robot() {
    let text =
        "{robots: [{name: a, motion: {kind: timed, rate_hz: 1000}}, {name: b, motion: {kind: timed, rate_hz: 250}}]}";
    let mut sim = simulation(text, &serial(&[]));
    sim.run_for(4.0);
    assert_eq!((count(&sim, "a.motion.ticks"), count(&sim, "b.motion.ticks")), (4000, 1000));
}

#[test]
fn k15_a_sequence_keeps_its_order() {
    let text = "{robots: [{name: a, motion: {kind: timed, rate_hz: 500, tape: k15}, \
                driver: {kind: probe, rate_hz: 500, tape: k15}, sensors: {feel: {kind: feeler, rate_hz: 500, tape: k15}}}]}";
    let mut sim = simulation(text, &serial(&[]));
    sim.run_for(2.0);
    let order: Vec<&str> = tape("k15").events().iter().map(|event| event.what).collect();
    assert_eq!(order.len(), 3000);
    assert!(order.chunks(3).all(|tick| tick == ["drive", "move", "feel"]));
}

/// Robots in chunks of their own whose drivers take 2 ms each.
fn sleepers(tape: &str, robots: usize) -> String {
    let robot = |i: usize| {
        format!(
            "{{name: s{i}, kind: point, at: {{xyz_m: [{}, 0, 1]}}, driver: {{kind: probe, rate_hz: 50, sleep_us: 2000, \
             speed_mps: 0.{i}, tape: {tape}}}}}",
            9 * i
        )
    };
    let robots: Vec<String> = (1..=robots).map(robot).collect();
    format!("{{run: {{window_ms: 20}}, robots: [{}]}}", robots.join(", "))
}

/// The most calls that ran at the same time, and how many steps had any such.
fn overlap(events: &[Event]) -> (usize, usize) {
    let at_once =
        |event: &Event| events.iter().filter(|other| other.began <= event.began && event.began < other.ended).count();
    let most = events.iter().map(at_once).max().unwrap_or(0);
    let mut times: Vec<SimTime> = events.iter().filter(|event| at_once(event) > 1).map(|event| event.time).collect();
    times.dedup();
    (most, times.len())
}

#[test]
fn k16_sequences_run_in_parallel() {
    // two cores stand for the row's four: calls that sleep must overlap in time on two threads, and must not on one
    for (threads, name) in [(1, "k16one"), (2, "k16two")] {
        let mut sim =
            simulation(&sleepers(name, 2), &Setup { threads: Some(Threads::Count(threads)), ..Setup::default() });
        sim.run_for(1.0);
        let (most, steps) = overlap(&tape(name).events());
        assert_eq!(most, threads);
        assert!(if threads == 1 { steps == 0 } else { steps >= 12 }, "{steps} of 50 steps overlap");
    }
}

#[test]
fn k17_the_number_of_threads_is_a_limit() {
    let setup = Setup { threads: Some(Threads::Count(2)), ..Setup::default() };
    let mut sim = simulation(&sleepers("k17", 8), &setup);
    sim.run_for(0.4);
    let events = tape("k17").events();
    assert_eq!(events.len(), 8 * 20);
    assert_eq!(overlap(&events).0, 2);
    let mut threads: Vec<String> = events.iter().map(|event| event.thread.clone()).collect();
    threads.sort();
    threads.dedup();
    assert!(threads.len() <= 2, "{threads:?}");
}

#[test]
fn k20_the_step_controls_the_accuracy() {
    let drift = |rate_hz: u32| {
        let text = format!("{{robots: [{{name: p, motion: {{kind: pendulum, rate_hz: {rate_hz}}}}}]}}");
        let mut sim = simulation(&text, &serial(&[]));
        sim.run_for(5.0);
        sim.world().number("p.motion.energy_jpkg").unwrap().abs()
    };
    let drifts = [100, 300, 1000, 3000, 10_000].map(drift);
    println!("drift of a pendulum's energy: {drifts:?} J/kg");
    assert!(drifts.windows(2).all(|pair| pair[1] < pair[0]), "{drifts:?}");
}

#[test]
fn k21_the_phases_of_a_step_keep_their_order() {
    // Gazebo's four: plug-ins and collision detection, physics, messages. Coupling is the broad phase of collisions.
    assert_eq!(PHASES, ["commands", "couple", "live", "freeze", "look", "measure", "deliver"]);
    let text = "{run: {window_ms: 1}, robots: [{name: a, motion: {kind: timed, rate_hz: 1000, tape: k21}, \
                driver: {kind: probe, rate_hz: 1000, tape: k21}, sensors: {look: {kind: gazer, rate_hz: 1000, tape: k21}}}]}";
    let tape = tape("k21");
    let mut world = world_of(text);
    for step in 1..=100 {
        let before = (tape.clock.load(Ordering::Relaxed), tape.events().len());
        let window = walk(&mut world, &Counting(Arc::clone(&tape)), SimTime::from_ns(step * MS));
        assert_eq!(window.phases_ns, [1; PHASES.len()], "each phase once, in its order");
        let events: Vec<(&str, u64)> =
            tape.events()[before.1..].iter().map(|event| (event.what, event.clock - before.0 - 1)).collect();
        let phase = |name: &str| PHASES.iter().position(|phase| *phase == name).unwrap() as u64;
        assert_eq!(events, [("drive", phase("live")), ("move", phase("live")), ("look", phase("look"))]);
    }
}

#[test]
fn k22_a_seed_repeats_byte_by_byte() {
    let log = || {
        let mut sim = simulation(WANDERERS, &serial(&["run.window_ms=5"]));
        let mut bytes = Vec::new();
        while sim.world().time() < SimTime::from_s(1.0) {
            sim.walk_window(SimTime::from_s(1.0));
            for robot in ["w0", "w1", "w2", "x"] {
                for shown in sim.world().properties_of(robot).unwrap() {
                    shown.values.iter().for_each(|value| bytes.extend(value.to_bits().to_le_bytes()));
                }
            }
        }
        bytes
    };
    let first = log();
    assert!(first.len() > 100_000);
    assert!(first == log() && first == log());
    check_everywhere(WANDERERS, 0.3);
}

#[test]
fn k23_everything_of_every_robot_is_readable_and_settable_while_paused() {
    let text = "{robots: [{name: q, kind: quadrotor, at: {xyz_m: [0, 0, 5]}}, {name: w, kind: fixed_wing, at: {xyz_m: [0, 0, 99]}}, \
                {name: d, kind: differential, at: {xyz_m: [5, 5, 0]}, driver: {kind: random_walk}}, \
                {name: p, kind: point, at: {xyz_m: [9, 9, 9]}, sensors: {feel: {kind: feeler, latency_ms: 30}}}]}";
    let mut sim = simulation(text, &serial(&[]));
    sim.run_for(0.5);
    let now = sim.world().time();
    let names: Vec<String> = sim.world().robots().map(|robot| robot.name.clone()).collect();
    let mut checked = 0;
    for shown in names.iter().flat_map(|name| sim.world().properties_of(name).unwrap()).collect::<Vec<_>>() {
        assert_eq!(sim.world().property(&shown.path).unwrap(), shown.values);
        let wanted: Vec<f64> = shown.values.iter().map(|value| value.round() + 1.0).collect();
        sim.command(Action::Set { path: shown.path.clone(), values: wanted.clone() });
        sim.walk_window(now);
        let refused = sim.world_mut().take_refusals().len();
        assert_eq!(refused, usize::from(!shown.variable), "{}", shown.path);
        assert_eq!(shown.variable, matches!(shown.slot, Slot::Column(..) | Slot::Extra(_)), "{}", shown.path);
        if shown.variable {
            assert_eq!(sim.world().property(&shown.path).unwrap(), wanted, "{}", shown.path);
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
    assert_eq!(sim.world().time(), now, "nothing lived meanwhile");
}

#[test]
fn a_paced_run_that_needs_real_time_stops_at_the_first_miss() {
    let text = WANDERERS.replace("kind: probe, rate_hz: 1000", "kind: probe, rate_hz: 1000, sleep_us: 1500");
    let mut sim: Simulation = simulation(&text, &serial(&[]));
    let options = RunOptions { require_rt: true, ..paced(1.0, 0.3) };
    let (report, ended) = run(&mut sim, &options, &false.into(), &mut Heard::default());
    assert_eq!((ended, report.windows, report.late.count), (Ended::Late, 1, 1));
}
