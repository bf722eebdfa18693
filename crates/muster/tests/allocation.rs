//! Steady state allocates nothing: every scenario of the repository, after it has warmed up, walks its windows without
//! one allocation on any thread, with and without listeners, whatever runs beside the loop.
//!
//! One test, since allocations are counted for the whole process.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod common;

use common::files::{ScenarioFile, all};
use common::heap::{CountingAllocator, allocations};
use common::{serial, simulation};
use muster::sink::{Batch, Sink};
use muster::{Setup, Simulation};
use muster_core::time::SimTime;
use muster_scenario::text::{Async, Threads};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

/// Takes everything. While the door is shut it waits, so that batches pile up as far as they may.
struct Everything {
    door: Arc<Door>,
    sensors: bool,
}

#[derive(Default)]
struct Door {
    open: Mutex<bool>,
    moved: Condvar,
    taken: AtomicU64,
    shut_once: AtomicBool,
}

impl Door {
    fn set(&self, open: bool) {
        *self.open.lock().unwrap() = open;
        self.moved.notify_all();
    }
}

impl Sink for Everything {
    fn sensors(&self) -> Vec<String> {
        if self.sensors { vec!["*.*".to_owned()] } else { Vec::new() }
    }

    fn states(&self) -> bool {
        true
    }

    fn take(&mut self, batch: &Batch) {
        let open = self.door.open.lock().unwrap();
        drop(self.door.moved.wait_timeout_while(open, Duration::from_millis(3), |open| !*open).unwrap());
        let robots = batch.states().map_or(0, |states| states.robots.len());
        self.door.taken.fetch_add((batch.samples().count() + robots) as u64, Ordering::Relaxed);
    }
}

fn walk(sim: &mut Simulation, seconds: f64) {
    let end = sim.world().time() + SimTime::from_s(seconds);
    while sim.world().time() < end {
        sim.walk_window(end);
    }
}

/// Windows until the queue of messages is as full as it gets, then until it is empty again.
fn fill_queue(sim: &mut Simulation, door: &Door, asynchronous: bool) {
    if asynchronous && !door.shut_once.swap(true, Ordering::Relaxed) {
        door.set(false);
        for _ in 0..40 {
            sim.walk_window(SimTime::NEVER);
        }
        door.set(true);
    }
    sim.flush();
}

fn check(what: &str, sim: &mut Simulation, door: Option<&Door>, asynchronous: bool) {
    walk(sim, 0.6);
    if let Some(door) = door {
        // twice: messages that waited behind others meet windows of every size
        for _ in 0..2 {
            door.shut_once.store(false, Ordering::Relaxed);
            fill_queue(sim, door, asynchronous);
        }
    }
    walk(sim, 0.6);
    // buffers grow to the most they ever hold, rarely and ever more rarely; anything that recurs is caught
    let (mut quiet, mut total) = (0, 0);
    for _ in 0..40 {
        let before = allocations();
        walk(sim, 0.3);
        let during = allocations() - before;
        total += during;
        quiet = if during == 0 { quiet + 1 } else { 0 };
        if quiet == 3 {
            break;
        }
    }
    sim.flush();
    // the queue of messages has room for 32, each with buffers that find their size; so have groups of robots that meet
    let most = if asynchronous { 170 } else { 48 };
    // far fewer than windows: a large fleet whose robots go on meeting for the first time
    let rare = total <= 32;
    assert!(rare || (quiet == 3 && total <= most), "{what}: {total} allocations, of late {quiet} quiet spans of 0.3 s");
}

fn check_file(file: &ScenarioFile, asynchronous: Async, threads: usize, listened: bool) {
    let states = muster_scenario::build::Override::parse("run.states_hz=50").unwrap();
    let setup = Setup {
        over: vec![states],
        asynchronous: Some(asynchronous),
        threads: Some(Threads::Count(threads)),
        ..Setup::default()
    };
    let mut sim = file.load(&setup);
    let door = Arc::new(Door::default());
    door.set(true);
    if listened {
        let sensors = sim.world().robots().any(|robot| !robot.cohort.blueprint.sensors.is_empty());
        sim.add_sink(Box::new(Everything { door: Arc::clone(&door), sensors })).unwrap();
    }
    let what = format!("{} {asynchronous:?} {threads} threads, listened: {listened}", file.name);
    let beside = matches!(asynchronous, Async::Both | Async::Messages);
    check(&what, &mut sim, listened.then_some(&*door), beside);
    assert_eq!(listened, door.taken.load(Ordering::Relaxed) > 0, "{what}");
}

/// What the files do not have: latency, modifiers, joints, readers of others, a robot that failed.
const REST: &str = r#"
run: {states_hz: 50}
robots:
  - name: a{i}
    kind: point
    count: 20
    layout: {line: {step_m: [3, 0, 0], from_m: [0, 0, 1]}}
    frames: {arm: {turn: [0, 0, 1]}}
    driver: {kind: probe, rate_hz: 100, reads: [look, b.look, b.truth], fails: nan, at_s: 0.1, home_x_m: 6}
    sensors:
      look: {kind: gazer, rate_hz: 30, latency_ms: 35}
      near: {kind: neighbours, rate_hz: 50, radius_m: 4, latency_ms: 60, modifiers: [{kind: gaussian_noise, std: 0.1}]}
      all: {kind: world_state, rate_hz: 20, latency_ms: 10}
      arm: {kind: gps, rate_hz: 50, frame: arm, latency_ms: 33, modifiers: [{kind: dropout, probability: 0.3}]}
  - name: b
    kind: point
    at: {xyz_m: [0, 9, 1]}
    driver: {kind: random_walk}
    sensors: {look: {kind: gazer, rate_hz: 30}}
"#;

#[test]
fn steady_state_allocates_nothing() {
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    for file in all() {
        check_file(&file, Async::None, 1, false);
        check_file(&file, Async::Both, 2, true);
    }
    let demo = all().into_iter().find(|file| file.name == "library/demos/fleet").unwrap();
    for asynchronous in [Async::None, Async::Messages, Async::Events] {
        check_file(&demo, asynchronous, 1, true);
    }
    for asynchronous in [Async::None, Async::Both] {
        let mut sim = simulation(REST, &Setup { asynchronous: Some(asynchronous), ..serial(&[]) });
        let door = Arc::new(Door::default());
        door.set(true);
        sim.add_sink(Box::new(Everything { door: Arc::clone(&door), sensors: true })).unwrap();
        check(&format!("the rest {asynchronous:?}"), &mut sim, Some(&door), asynchronous == Async::Both);
        assert_eq!(sim.world_mut().take_faults().len(), 1);
    }
}
