//! The same bits, whatever the threads, windows, islands, registers and asynchrony.

use muster::{Setup, Simulation};
use muster_core::simd::Simd;
use muster_scenario::text::{Async, Threads};

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
