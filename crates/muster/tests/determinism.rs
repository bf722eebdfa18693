//! The same bits, whatever the threads, windows, islands, registers, asynchrony and speed: for a crowd, and for every
//! scenario file of the repository (those with thousands of robots with some of them). What the bits are stands in
//! `goldens.txt`, so that a change nobody meant shows; `MUSTER_BLESS=1` writes it anew.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod common;

use common::files::{ScenarioFile, all};
use muster::run::{RunOptions, Unwatched, run};
use muster::{Setup, Simulation};
use muster_core::simd::Simd;
use muster_core::time::SimTime;
use muster_scenario::build::Override;
use muster_scenario::text::{Async, Threads};
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

const CROWD: &str = r#"
world: {include: worlds/arena.yaml}
run: {for_s: 5, seed: 3}
robots:
  - name: d{i}
    kind: differential
    count: 60
    layout: {random: {from_m: [-9, -9, 0], to_m: [9, 9, 0], min_distance_m: 0.5}}
    motion: {kind: differential, rate_hz: 100, speed_max_mps: 1.0}
    driver: {kind: random_walk, rate_hz: 20, speed_mps: 0.8}
    sensors:
      near: {kind: neighbours, rate_hz: 10, radius_m: 2, latency_ms: 30}
      gps: {kind: gps, rate_hz: 7, latency_ms: 15, modifiers: [{kind: gaussian_noise, std: 0.1}, {kind: dropout, probability: 0.2}]}
  - name: p{i}
    kind: point
    count: 20
    layout: {random: {from_m: [-9, -9, 0.3], to_m: [9, 9, 2], min_distance_m: 0.5}}
    motion: {kind: point, rate_hz: 330}
    driver: {kind: random_walk, rate_hz: 33, speed_mps: 2}
"#;

fn hash(text: &str, setup: &Setup) -> u128 {
    let mut sim = Simulation::from_text(text, setup).unwrap_or_else(|error| panic!("{error}"));
    sim.run_for(3.0);
    sim.world().hash()
}

fn set(over: &str) -> Setup {
    Setup { over: vec![muster_scenario::build::Override::parse(over).expect("path=value")], ..Setup::default() }
}

#[test]
fn the_hash_is_equal_for_any_threads_windows_islands_registers_and_asynchrony() {
    let base = hash(CROWD, &Setup { threads: Some(Threads::Count(1)), ..Setup::default() });
    for threads in [Threads::Count(2), Threads::Count(8), Threads::PerRobot] {
        assert_eq!(hash(CROWD, &Setup { threads: Some(threads), ..Setup::default() }), base, "{threads:?}");
    }
    for window in ["run.window_ms=1", "run.window_ms=5", "run.window_ms=7.3", "run.window_ms=500"] {
        assert_eq!(hash(CROWD, &set(window)), base, "{window}");
    }
    for asynchronous in [Async::None, Async::Messages, Async::Events, Async::Both] {
        let setup = Setup { asynchronous: Some(asynchronous), ..Setup::default() };
        assert_eq!(hash(CROWD, &setup), base, "{asynchronous:?}");
    }
    let mut one_island = Setup::default();
    one_island.options.one_island = true;
    assert_eq!(hash(CROWD, &one_island), base, "one island");
    let mut scalar = Setup::default();
    scalar.options.simd = Simd::Scalar;
    assert_eq!(hash(CROWD, &scalar), base, "scalar");
    assert_ne!(hash(CROWD, &set("run.seed=4")), base, "another seed is another run");
}

#[test]
fn a_saved_state_continues_with_the_same_bits() {
    let mut sim = Simulation::from_text(CROWD, &Setup::default()).unwrap_or_else(|error| panic!("{error}"));
    sim.run_for(1.01);
    let saved = sim.save();
    sim.run_for(1.5);
    let expected = sim.world().hash();
    sim.restore(&saved);
    sim.run_for(1.5);
    assert_eq!(sim.world().hash(), expected);
    sim.reset();
    sim.run_for(2.51);
    assert_eq!(sim.world().hash(), expected, "and so does a run from the beginning");
}

/// How long files are simulated; not a multiple of any window or tick.
const SPAN_S: f64 = 1.0517;

fn hash_of(file: &ScenarioFile, setup: &Setup) -> u128 {
    let mut sim = file.load(setup);
    sim.run_for(SPAN_S);
    sim.world().hash()
}

/// The hash of a file in one thread, computed once.
fn base_of(file: &ScenarioFile) -> u128 {
    static BASES: OnceLock<Mutex<BTreeMap<String, u128>>> = OnceLock::new();
    let bases = BASES.get_or_init(Mutex::default);
    let known = bases.lock().unwrap().get(&file.name).copied();
    known.unwrap_or_else(|| {
        let hash = hash_of(file, &Setup { threads: Some(Threads::Count(1)), ..Setup::default() });
        bases.lock().unwrap().insert(file.name.clone(), hash);
        hash
    })
}

fn check_files(what: &str, setup: &Setup) {
    for file in all() {
        assert_eq!(hash_of(&file, setup), base_of(&file), "{} with {what}", file.name);
    }
}

fn over(text: &str) -> Setup {
    Setup { over: vec![Override::parse(text).unwrap()], ..Setup::default() }
}

#[test]
fn every_file_has_one_hash_on_any_number_of_threads() {
    for threads in [Threads::Count(2), Threads::Count(8)] {
        check_files(&format!("{threads:?}"), &Setup { threads: Some(threads), ..Setup::default() });
    }
}

#[test]
fn every_file_has_one_hash_with_any_windows() {
    for window in ["run.window_ms=1", "run.window_ms=5", "run.window_ms=20"] {
        check_files(window, &over(window));
    }
}

#[test]
fn every_file_has_one_hash_in_all_four_asynchronous_cases() {
    for asynchronous in [Async::None, Async::Messages, Async::Events, Async::Both] {
        check_files(asynchronous.word(), &Setup { asynchronous: Some(asynchronous), ..Setup::default() });
    }
}

#[test]
fn every_file_has_one_hash_with_any_islands_chunks_and_registers() {
    let with = |change: &dyn Fn(&mut Setup)| {
        let mut setup = Setup::default();
        change(&mut setup);
        setup
    };
    check_files("one island", &with(&|setup| setup.options.one_island = true));
    check_files("chunks of five", &with(&|setup| setup.options.lanes = 5));
    check_files("scalar registers", &with(&|setup| setup.options.simd = Simd::Scalar));
}

#[test]
fn every_file_has_one_hash_saved_and_restored_in_between() {
    for file in all() {
        let base = base_of(&file);
        let mut sim = file.load(&Setup::default());
        sim.run_for(0.1013);
        let saved = sim.save();
        sim.run_for(0.07);
        sim.restore(&saved);
        sim.run_until(SimTime::from_s(SPAN_S));
        assert_eq!(sim.world().hash(), base, "{}", file.name);
        let mut other = file.load(&over("run.window_ms=3"));
        other.restore(&saved);
        other.run_until(SimTime::from_s(SPAN_S));
        assert_eq!(other.world().hash(), base, "{} in another simulation", file.name);
    }
}

#[test]
fn every_file_has_one_hash_in_step_with_the_clock() {
    let span = SimTime::from_s(0.2);
    std::thread::scope(|scope| {
        for file in all() {
            scope.spawn(move || {
                let of = |rtf| {
                    let options = RunOptions { rtf, span, windows: None, timeout: None, require_rt: false };
                    run(&mut file.load(&Setup::default()), &options, &false.into(), &mut Unwatched).0.state_hash
                };
                assert_eq!(of(Some(1.0)), of(None), "{}", file.name);
            });
        }
    });
}

#[test]
fn the_bits_are_those_of_the_goldens() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens.txt");
    let line = |file: &ScenarioFile| format!("{} {:032x}\n", file.name, base_of(file));
    let found: String = all().iter().map(line).collect();
    if std::env::var_os("MUSTER_BLESS").is_some() {
        std::fs::write(path, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    let changed: Vec<&str> = found.lines().filter(|line| !expected.lines().any(|golden| golden == *line)).collect();
    assert!(
        changed.is_empty() && found.lines().count() == expected.lines().count(),
        "the bits of {changed:#?} changed (or files came or went). If that is meant: MUSTER_BLESS=1 cargo test -p muster --test determinism"
    );
}
