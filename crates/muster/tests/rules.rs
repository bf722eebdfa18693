//! One test for each of the twelve rules that make the simulator fast and repeatable at once. Other tests go deeper;
//! these show that each rule holds at all.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod common;

use common::heap::{CountingAllocator, allocations};
use common::{check_everywhere, check_with, count, serial, simulation, tape};
use glam::DVec3;
use muster::run::{RunOptions, Unwatched, run};
use muster::{Setup, Simulation};
use muster_core::command::{Action, Command};
use muster_core::component::Pose;
use muster_core::exec::{Executor, Inline, Serial};
use muster_core::model::Placement;
use muster_core::simd::Simd;
use muster_core::time::{Rate, SimTime, Ticker};
use muster_core::world::{Machine, Options, World};
use muster_exec::{Pool, WallClock};
use muster_scenario::text::{Async, Threads};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

/// Robots of several kinds, near each other and not, with everything that could go wrong about time.
const MIXED: &str = r#"
world: {include: worlds/arena.yaml, wind: {mean_mps: [1, 0, 0], gusts: {kind: dryden, level: light}}}
run: {seed: 11}
robots:
  - name: d{i}
    kind: differential
    count: 20
    layout: {random: {from_m: [-4, -4, 0], to_m: [4, 4, 0], min_distance_m: 0.4}}
    motion: {kind: differential, rate_hz: 100, speed_max_mps: 1.0}
    driver: {kind: random_walk, rate_hz: 20, speed_mps: 0.8}
    sensors:
      near: {kind: neighbours, rate_hz: 10, radius_m: 2, latency_ms: 30}
      gps: {kind: gps, rate_hz: 7, latency_ms: 15, modifiers: [{kind: dropout, probability: 0.2}]}
  - name: p{i}
    kind: point
    count: 8
    layout: {random: {from_m: [-4, -4, 0.2], to_m: [4, 4, 1], min_distance_m: 0.5}}
    motion: {kind: point, rate_hz: 330}
    driver: {kind: probe, rate_hz: 33, speed_mps: 1, reads: [d0.near, d1.gps, d2.truth]}
  - name: q{i}
    kind: quadrotor
    count: 3
    layout: {line: {step_m: [2, 0, 0], from_m: [0, 0, 4]}}
"#;

/// An executor that counts how often it is asked.
struct Asked(Serial, AtomicUsize);

impl Executor for Asked {
    fn threads(&self) -> usize {
        2
    }

    fn always_spread(&self) -> bool {
        true
    }

    fn for_each_mut<T: Send>(&self, items: &mut [T], work: &(impl Fn(usize, &mut T) + Sync)) {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.for_each_mut(items, work);
    }
}

fn walk<E: Executor>(world: &mut World, executor: &E, end: SimTime) {
    let (clock, mut background) = (WallClock::default(), Inline::default());
    while world.time() < end {
        world.walk_window(end, &mut Machine { executor, background: &mut background, clock: &clock });
    }
    // takes back what is under way before the background goes
    drop(world.save(&mut background));
}

fn model_of(text: &str) -> Arc<muster_core::model::Model> {
    Arc::clone(&simulation(text, &serial(&[])).scenario().model)
}

#[test]
fn rule_01_one_fork_join_a_window_not_a_tick() {
    let text = "{robots: [{name: 'r{i}', count: 50, layout: {grid: {rows: 5, spacing_m: 30, from_m: [0, 0, 9]}}, \
                motion: {kind: point, rate_hz: 1000}, shape: {sphere_radius_m: 0.2}, driver: {kind: random_walk, rate_hz: 100}}]}";
    let mut world = World::new(model_of(text), Options::default()).unwrap();
    let asked = Asked(Serial, AtomicUsize::new(0));
    walk(&mut world, &asked, SimTime::from_s(1.0));
    assert_eq!((world.windows(), asked.1.into_inner()), (50, 50), "1,000 ticks of robots that touch nobody");
    assert_eq!(world.robot_ticks(), 50_000);
}

#[test]
fn rule_02_the_same_bits_on_any_threads_at_any_speed() {
    let base = check_everywhere(MIXED, 0.3);
    for threads in [Threads::Count(8), Threads::PerRobot] {
        let mut sim = simulation(MIXED, &Setup { threads: Some(threads), ..Setup::default() });
        sim.run_for(0.3);
        assert_eq!(sim.world().hash(), base, "{threads:?}");
    }
    let span = SimTime::from_s(0.3);
    let options = RunOptions { rtf: Some(2.0), span, windows: None, timeout: None, require_rt: false };
    let (paced, _) = run(&mut simulation(MIXED, &Setup::default()), &options, &false.into(), &mut Unwatched);
    assert_eq!(paced.state_hash, base, "in step with the clock");
}

#[test]
fn rule_03_a_result_appears_at_its_time_and_only_then() {
    let text = |sleep_us: u32| {
        format!(
            "{{robots: [{{name: a, kind: point, driver: {{kind: probe, rate_hz: 1000, reads: [look]}}, \
             sensors: {{look: {{kind: gazer, rate_hz: 20, latency_ms: 33, sleep_us: {sleep_us}}}}}}}]}}"
        )
    };
    for asynchronous in [Async::None, Async::Messages, Async::Events, Async::Both] {
        let mut sim =
            simulation(&text(2000), &Setup { asynchronous: Some(asynchronous), ..serial(&["run.window_ms=1"]) });
        sim.run_for(0.083);
        assert_eq!(count(&sim, "a.driver.news"), 0, "not before 50 ms + 33 ms");
        sim.run_for(0.001);
        assert_eq!((count(&sim, "a.driver.news"), count(&sim, "a.driver.stamps")), (1, 50_000_000), "{asynchronous:?}");
    }
    assert_eq!(check_everywhere(&text(0), 0.5), check_everywhere(&text(200), 0.5), "how long it takes does not matter");
}

#[test]
fn rule_04_steady_state_allocates_nothing() {
    // in depth: allocation.rs; here other tests run beside, so the quietest of some spans counts
    let mut sim = simulation(MIXED, &Setup { asynchronous: Some(Async::None), ..serial(&[]) });
    sim.run_for(1.0);
    let spans = (0..200).map(|_| {
        let before = allocations();
        sim.walk_window(SimTime::NEVER);
        allocations() - before
    });
    assert_eq!(spans.min(), Some(0));
}

#[test]
fn rule_05_time_is_whole_nanoseconds_and_rates_are_exact() {
    for hz in [1000.0, 333.0, 60.0, 59.94, 7.0, 0.3] {
        let rate = Rate::from_hz(hz).unwrap();
        let mut ticker = Ticker::after(rate, SimTime::ZERO, SimTime::ZERO);
        let mut events = 0;
        while ticker.next <= SimTime::from_s(100.0) {
            ticker.advance(rate);
            events += 1;
        }
        assert_eq!(events, (hz * 100.0).round() as i32, "{hz} Hz in 100 s");
    }
    let text = "{robots: [{name: a, kind: point, driver: {kind: probe, rate_hz: 7}, sensors: {feel: {kind: feeler, rate_hz: 33}}}]}";
    let mut sim = simulation(text, &serial(&[]));
    sim.run_for(100.0);
    assert_eq!((count(&sim, "a.driver.calls"), count(&sim, "a.feel.count")), (700, 3300));
}

#[test]
fn rule_06_who_misbehaves_is_isolated_and_reported() {
    let text = |fails: &str| {
        format!(
            "{{robots: [{{name: 'a{{i}}', kind: point, count: 5, layout: {{line: {{step_m: [3, 0, 0], from_m: [0, 0, 1]}}}}, \
             driver: {{kind: probe, rate_hz: 100, fails: {fails}, at_s: 0.1, home_x_m: 6}}}}]}}"
        )
    };
    let others = |sim: &Simulation| ["a0", "a1", "a3", "a4"].map(|name| sim.world().state().hash_of(name));
    let mut well = simulation(&text("never"), &serial(&[]));
    well.run_for(0.5);
    for fails in ["nan", "panic"] {
        let mut sim = simulation(&text(fails), &serial(&[]));
        sim.run_for(0.5);
        let faults = sim.world_mut().take_faults();
        assert_eq!(faults.iter().map(|fault| fault.robot).collect::<Vec<_>>(), [2], "{fails}");
        assert_eq!(others(&sim), others(&well), "{fails}");
    }
}

#[test]
fn rule_07_window_boundaries_change_nothing() {
    let base = check_everywhere(MIXED, 0.4);
    for cut_ms in [0.7, 3.0, 11.3] {
        let mut sim = simulation(MIXED, &serial(&[]));
        while sim.world().time() < SimTime::from_s(0.4) {
            let until = sim.world().time() + SimTime::from_s(cut_ms * 1e-3);
            sim.walk_window(until.min(SimTime::from_s(0.4)));
        }
        assert_eq!(sim.world().hash(), base, "cut every {cut_ms} ms by somebody who looks on");
    }
}

#[test]
fn rule_08_every_change_is_a_command_that_acts_at_its_stamp() {
    let after = check_with(MIXED, &|sim| {
        let placed = &sim.scenario().model.robots[0];
        let pose = Pose { position_m: DVec3::new(3.0, 0.0, 0.0), ..Pose::IDENTITY };
        let (cohort, velocity_mps) = (Arc::clone(&placed.cohort), DVec3::ZERO);
        let spawn = Action::Spawn(Box::new(Placement {
            name: "new".to_owned(),
            realm: 0,
            cohort,
            pose,
            velocity_mps,
            attached: None,
        }));
        let actions = [
            (0.0511, spawn),
            (0.1003, Action::Delete { robot: "p3".to_owned() }),
            (0.1501, Action::Set { path: "q1.position_m[2]".to_owned(), values: vec![6.0] }),
            (0.1501, Action::AddProperty { path: "q1.payload_kg".to_owned(), values: vec![0.1] }),
            (0.2007, Action::Teleport { robot: "d4".to_owned(), pose }),
        ];
        // posted in the wrong order: the stamp counts
        for (sequence, (time_s, action)) in actions.into_iter().enumerate().rev() {
            let time = SimTime::from_s(time_s);
            sim.world_mut().post(Command { time, link: 0, sequence: sequence as u64, action });
        }
        sim.run_for(0.4);
        assert_eq!(sim.world_mut().take_refusals(), Vec::<String>::new());
        assert_eq!((sim.world().generation(), sim.world().robots().count()), (3, 31), "two changes of who exists");
    });
    assert_ne!(after, check_everywhere(MIXED, 0.4));
}

#[test]
fn rule_09_contacts_do_not_depend_on_islands_and_speed_is_bounded() {
    let mut touches = Vec::new();
    for one_island in [false, true] {
        let mut setup = serial(&[]);
        setup.options.one_island = one_island;
        let mut sim = simulation(MIXED, &setup);
        sim.run_for(2.0);
        touches.push((sim.world().touches(), sim.world().hash()));
    }
    assert!(touches[0].0 > 100 && touches[0] == touches[1], "{touches:?}");
    let text = "{robots: [{name: a, kind: point, motion: {kind: point, speed_max_mps: 2}}]}";
    let mut sim = simulation(text, &serial(&[]));
    sim.command(Action::Set { path: "a.velocity_mps".to_owned(), values: vec![1e6, 0.0, 0.0] });
    sim.command(Action::Set { path: "a.contact_push_m".to_owned(), values: vec![1e3, 0.0, 0.0] });
    sim.run_for(0.1);
    assert!(sim.world().number("a.position_m").unwrap() <= 0.2 + 1e-9, "no faster than it declares");
}

#[test]
fn rule_10_the_hash_covers_state_and_not_storage() {
    let mut sim = simulation(MIXED, &serial(&[]));
    sim.run_for(0.2);
    let saved = sim.save();
    let base = sim.world().hash();
    let names: Vec<String> = sim.world().robots().map(|robot| robot.name.clone()).collect();
    let mut variables = 0;
    for name in ["d0", "p0", "q0"] {
        for shown in sim.world().properties_of(name).unwrap().into_iter().filter(|shown| shown.variable) {
            sim.restore(&saved);
            let values = shown.values.iter().map(|value| value + 1.0).collect();
            sim.command(Action::Set { path: shown.path.clone(), values });
            let now = sim.world().time();
            sim.walk_window(now);
            assert_ne!(sim.world().hash(), base, "{} is covered", shown.path);
            variables += 1;
        }
    }
    assert!(variables > 60, "{variables}");
    sim.restore(&saved);
    assert_eq!(sim.world().hash(), base);
    let robots: Vec<Option<u128>> = names.iter().map(|name| sim.world().state().hash_of(name)).collect();
    let mut packed = serial(&[]);
    packed.options.lanes = 1;
    let mut other = simulation(MIXED, &packed);
    other.run_for(0.2);
    let others: Vec<Option<u128>> = names.iter().map(|name| other.world().state().hash_of(name)).collect();
    assert_eq!(robots, others, "storage is not");
}

#[test]
fn rule_11_one_source_of_mathematics() {
    let mut scalar = serial(&[]);
    scalar.options.simd = Simd::Scalar;
    let hashes = [scalar, serial(&[])].map(|setup| {
        let mut sim = simulation(MIXED, &setup);
        sim.run_for(1.0);
        sim.world().hash()
    });
    assert_eq!(hashes[0], hashes[1], "registers of any width");
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut read = 0;
    for file in ["muster-core/src", "muster-models/src"].iter().flat_map(|folder| sources(&crates.join(folder))) {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for function in STD_FUNCTIONS {
                let found = line.contains(&format!(".{function}(")) || line.contains(&format!("f64::{function}("));
                assert!(!found, "{}: {line}", file.display());
            }
        }
        read += 1;
    }
    assert!(read > 40, "{read} files");
}

/// Functions of the standard library (and glam) that are not the same everywhere.
const STD_FUNCTIONS: [&str; 20] = [
    "sin", "cos", "tan", "sin_cos", "asin", "acos", "atan", "atan2", "exp", "exp2", "exp_m1", "ln", "ln_1p", "log2",
    "log10", "powf", "cbrt", "hypot", "tanh", "mul_add",
];

/// Rust files that are not tests; expressions are what users write, and judge without changing.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if name.ends_with(".rs") && !["tests.rs", "testing.rs", "expression.rs"].contains(&name.as_str()) {
            found.push(path);
        }
    }
    found
}

#[test]
fn rule_12_a_world_owns_no_thread_and_no_global() {
    let model = model_of(MIXED);
    let mut lone = World::new(Arc::clone(&model), Options::default()).unwrap();
    walk(&mut lone, &Serial, SimTime::from_s(0.3));
    // many worlds of one model on one pool, at different times, are each like a world alone
    let pool = Pool::new(2).unwrap();
    let mut worlds: Vec<World> = (0..8).map(|_| World::new(Arc::clone(&model), Options::default()).unwrap()).collect();
    pool.for_each_mut(&mut worlds, &|index, world| walk(world, &Serial, SimTime::from_s(0.03 * index as f64)));
    pool.for_each_mut(&mut worlds, &|_, world| walk(world, &Serial, SimTime::from_s(0.3)));
    assert!(worlds.iter().all(|world| world.hash() == lone.hash()));
    // it runs where it is called, and nothing of it stays behind
    let text = "{robots: [{name: a, kind: point, driver: {kind: probe, rate_hz: 1000, tape: rule12}}]}";
    let mut world = World::new(model_of(text), Options::default()).unwrap();
    walk(&mut world, &Serial, SimTime::from_s(0.1));
    let here = std::thread::current().name().unwrap().to_owned();
    assert!(tape("rule12").events().iter().all(|event| event.thread == here));
}
