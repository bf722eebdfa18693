//! Robots come, go, fail, are moved, saved and restored: nobody else notices, nothing grows, and where windows end, who
//! shares a chunk and what runs beside the loop changes nothing.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod common;

use common::heap::{CountingAllocator, alive};
use common::{check_everywhere, check_with, count, serial, simulation, tape};
use glam::DVec3;
use muster::sink::{Batch, Sink};
use muster::{Setup, Simulation};
use muster_core::command::{Action, Command};
use muster_core::component::Pose;
use muster_core::lanes::setpoint;
use muster_core::model::Placement;
use muster_core::time::SimTime;
use muster_scenario::text::Async;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn at(x: f64, y: f64) -> Pose {
    Pose { position_m: DVec3::new(x, y, 1.0), ..Pose::IDENTITY }
}

/// A robot made like one that exists at the start.
fn like(sim: &Simulation, model: &str, name: &str, pose: Pose) -> Action {
    let placed = sim.scenario().model.robots.iter().find(|robot| robot.name == model).unwrap();
    let cohort = Arc::clone(&placed.cohort);
    Action::Spawn(Box::new(Placement {
        name: name.to_owned(),
        realm: 0,
        cohort,
        pose,
        velocity_mps: DVec3::ZERO,
        attached: None,
    }))
}

fn delete(robot: &str) -> Action {
    Action::Delete { robot: robot.to_owned() }
}

fn post_at(sim: &mut Simulation, time_s: f64, sequence: u64, action: Action) {
    sim.world_mut().post(Command { time: SimTime::from_s(time_s), link: 1, sequence, action });
}

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

const SOME: &str = r#"
run: {seed: 5}
robots:
  - name: r{i}
    kind: point
    count: 20
    layout: {grid: {rows: 5, spacing_m: 1, from_m: [0, 0, 1]}}
    driver: {kind: random_walk, rate_hz: 30, speed_mps: 1}
    sensors:
      near: {kind: neighbours, rate_hz: 40, radius_m: 2, latency_ms: 60}
      gps: {kind: gps, rate_hz: 7, latency_ms: 15, modifiers: [{kind: gaussian_noise, std: 0.1}, {kind: dropout, probability: 0.3}]}
"#;

/// Everything in one thread, so that its memory can be told apart from that of other tests.
fn alone(over: &[&str]) -> Setup {
    Setup { asynchronous: Some(Async::None), ..serial(over) }
}

/// Later batches may not take longer than early ones, in the best case of each.
fn check_constant_time(batches: &[Duration]) {
    let (early, late) = batches.split_at(batches.len() / 2);
    let (early, late) = (early.iter().min().unwrap(), late.iter().min().unwrap());
    println!("a batch takes {early:?}, later {late:?}");
    assert!(*late < 3 * *early, "{batches:?}");
}

#[test]
fn a_thousand_resets_cost_constant_time_and_memory() {
    let mut sim = simulation(SOME, &alone(&[]));
    let (mut expected, mut batches, mut bytes) = (None, Vec::with_capacity(10), Vec::with_capacity(10));
    for _ in 0..10 {
        let start = Instant::now();
        for _ in 0..100 {
            sim.run_for(0.1);
            let hash = sim.world().hash();
            assert_eq!(*expected.get_or_insert(hash), hash, "a reset is a beginning");
            sim.reset();
        }
        batches.push(start.elapsed());
        bytes.push(alive());
    }
    assert_eq!(bytes[2], bytes[9], "{bytes:?}");
    check_constant_time(&batches);
}

#[test]
fn ten_thousand_robots_come_and_go_without_growth() {
    let mut sim = simulation(SOME, &alone(&["run.window_ms=1"]));
    let (mut batches, mut bytes) = (Vec::with_capacity(20), Vec::with_capacity(20));
    for _ in 0..20 {
        let start = Instant::now();
        for _ in 0..50 {
            for robot in 0..10 {
                let spawn = like(&sim, "r0", &format!("s{robot}"), at(f64::from(robot), 20.0));
                sim.command(spawn);
            }
            sim.run_for(0.001);
            assert_eq!(sim.world().robots().count(), 30);
            (0..10).for_each(|robot| sim.command(delete(&format!("s{robot}"))));
            sim.run_for(0.001);
        }
        batches.push(start.elapsed());
        bytes.push(alive());
    }
    assert_eq!((sim.world().robots().count(), sim.world_mut().take_refusals().len()), (20, 0));
    // buffers grow to the most they ever hold: some bytes in 7,500 robots, and far less than a robot
    assert!(bytes[19] - bytes[4] < 6000, "{bytes:?}");
    check_constant_time(&batches);
}

#[test]
fn who_came_and_went_leaves_no_trace_in_the_others() {
    // far away from the others, so that only storage could carry a trace
    let run = |visitors: bool| {
        let mut sim = simulation(SOME, &serial(&[]));
        for turn in 0..20 {
            if visitors {
                for robot in 0..7 {
                    let spawn = like(&sim, "r0", &format!("s{robot}"), at(500.0 + f64::from(robot), 0.0));
                    sim.command(spawn);
                }
            }
            sim.run_for(0.0117);
            if visitors {
                (0..7).for_each(|robot| sim.command(delete(&format!("s{robot}"))));
            }
            sim.run_for(0.0071 * f64::from(turn % 3 + 1));
        }
        let hashes: Vec<Option<u128>> = (0..20).map(|r| sim.world().state().hash_of(&format!("r{r}"))).collect();
        hashes
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn results_under_way_are_saved_and_restored() {
    for asynchronous in [Async::None, Async::Both] {
        let mut sim = simulation(SOME, &Setup { asynchronous: Some(asynchronous), ..serial(&[]) });
        sim.run_for(0.513);
        let saved = sim.save();
        sim.run_for(0.7);
        let expected = sim.world().hash();
        for _ in 0..3 {
            sim.restore(&saved);
            assert_eq!(sim.world().time(), SimTime::from_s(0.513));
            sim.run_for(0.7);
            assert_eq!(sim.world().hash(), expected, "{asynchronous:?}");
        }
        let mut other = simulation(SOME, &serial(&["run.window_ms=3"]));
        other.restore(&saved);
        other.run_for(0.7);
        assert_eq!(other.world().hash(), expected, "a saved state continues in another simulation");
    }
}

#[test]
fn a_teleported_robot_stands_where_it_was_put() {
    let text = "{robots: [{name: a, kind: point}, {name: b, kind: point, at: {xyz_m: [9, 0, 1]}}]}";
    let mut sim = simulation(text, &serial(&[]));
    sim.command(Action::Teleport { robot: "a".to_owned(), pose: at(8.75, 0.0) });
    sim.run_for(0.02);
    assert!(sim.world().contacts().len() >= 2, "the new place is at a robot: both feel it");
    sim.command(Action::Teleport { robot: "a".to_owned(), pose: at(-3.0, 4.0) });
    sim.run_for(0.1);
    let position = sim.world().pose("a").unwrap().position_m;
    assert!((position - DVec3::new(-3.0, 4.0, 1.0)).length() < 1e-3, "{position}");
    let moved = check_with(text, &|sim| {
        post_at(sim, 0.1234, 1, Action::Teleport { robot: "a".to_owned(), pose: at(8.8, 0.1) });
        sim.run_for(0.5);
    });
    assert_ne!(moved, check_everywhere(text, 0.5));
}

fn failing(fails: &str) -> String {
    format!(
        "{{run: {{seed: 2}}, robots: [{{name: 'p{{i}}', kind: point, count: 20, layout: {{line: {{step_m: [5, 0, 0]}}}}, \
         motion: {{kind: point, rate_hz: 500}}, sensors: {{feel: {{kind: feeler, rate_hz: 50}}}}, \
         driver: {{kind: probe, reads: [feel], rate_hz: 100, at_s: 0.2, home_x_m: 25, {fails}}}}}]}}"
    )
}

#[test]
fn a_robot_whose_driver_fails_is_isolated_and_the_others_go_on() {
    let hashes = |sim: &Simulation| -> Vec<Option<u128>> {
        (0..20).filter(|&robot| robot != 5).map(|robot| sim.world().state().hash_of(&format!("p{robot}"))).collect()
    };
    let mut well = simulation(&failing("fails: never"), &serial(&[]));
    well.run_for(0.5);
    for (fails, what, time_s) in [("panic", "fails as told", 0.2), ("nan", "no longer finite", 0.202)] {
        let mut sim = simulation(&failing(&format!("fails: {fails}")), &serial(&[]));
        sim.run_for(0.5);
        let faults = sim.world_mut().take_faults();
        assert_eq!(faults.len(), 1, "{faults:?}");
        let name = &sim.world().robot(faults[0].robot).unwrap().name;
        assert_eq!((name.as_str(), faults[0].time), ("p5", SimTime::from_s(time_s)), "{fails}");
        assert!(faults[0].what.contains(what), "{}", faults[0].what);
        assert_eq!(hashes(&sim), hashes(&well), "{fails}");
        assert_eq!(sim.world().property("p5.velocity_mps").unwrap(), [0.0; 3]);
        check_everywhere(&failing(&format!("fails: {fails}")), 0.5);
    }
}

#[test]
fn a_fault_is_reported_with_name_and_time() {
    use muster::run::{Event, Progress, RunOptions, Watcher, run};
    struct Events(Vec<Event>);
    impl Watcher for Events {
        fn progress(&mut self, _: &Progress) {}

        fn event(&mut self, event: Event) {
            self.0.push(event);
        }
    }
    let mut sim = simulation(&failing("fails: panic"), &serial(&[]));
    sim.command(delete("nobody"));
    let options = RunOptions { rtf: None, span: SimTime::from_s(0.4), windows: None, timeout: None, require_rt: false };
    let mut events = Events(Vec::new());
    let (report, _) = run(&mut sim, &options, &false.into(), &mut events);
    assert_eq!(report.faults.len(), 1);
    assert!(report.faults[0].starts_with("robot \"p5\" was isolated at 0.200000 s: driver \"probe\" panicked"));
    assert_eq!(report.refusals, ["found no robot \"nobody\""]);
    assert_eq!(events.0, [Event::Refused(report.refusals[0].clone()), Event::Fault(report.faults[0].clone())]);
}

#[test]
fn a_driver_that_panics_before_it_asks_for_a_robot_fails_for_all_of_them_and_ends() {
    let mut sim = simulation(&failing("fails: panic_first"), &serial(&[]));
    sim.run_for(0.3);
    assert_eq!(sim.world_mut().take_faults().len(), 20);
    check_everywhere(&failing("fails: panic_first"), 0.3);
}

#[test]
fn robots_that_fail_one_after_another_in_one_chunk_do_not_disturb_each_other() {
    // the second fails while the first is isolated beside it
    let text = |fails: [&str; 2]| {
        let robot = |i: usize| {
            format!(
                "{{name: p{i}, kind: point, at: {{xyz_m: [{}, 0, 1]}}, driver: {{kind: probe, rate_hz: 100, \
                 fails: {}, at_s: 0.{i}, home_x_m: {}}}}}",
                5 * i,
                fails[i - 1],
                5 * i
            )
        };
        format!("{{robots: [{}, {}]}}", robot(1), robot(2))
    };
    for fails in [["nan", "nan"], ["panic", "nan"], ["nan", "panic"]] {
        check_everywhere(&text(fails), 0.4);
    }
}

#[test]
fn sensors_and_modifiers_that_panic_isolate_their_robots() {
    let others = "{name: other, kind: point, at: {xyz_m: [50, 0, 1]}, driver: {kind: random_walk}}";
    let cases = [
        (
            "look: {kind: gazer, rate_hz: 20, panics_from_s: 0.2, at_x_m: 3}",
            "sensor \"look\" panicked: sees nothing",
            1,
        ),
        (
            "look: {kind: gazer, rate_hz: 20, panics_from_s: 0.2, at_x_m: 3, latency_ms: 70}",
            "sensor \"look\" panicked: sees nothing",
            1,
        ),
        (
            "look: {kind: gazer, rate_hz: 20, latency_ms: 70, modifiers: [{kind: breaker}]}",
            "\"look\" panicked: broke",
            4,
        ),
        ("look: {kind: gazer, rate_hz: 20, modifiers: [{kind: breaker}]}", "sensor \"look\" panicked: broke", 4),
        ("feel: {kind: feeler, rate_hz: 20, modifiers: [{kind: breaker}]}", "sensor \"feel\" panicked: broke", 4),
        ("feel: {kind: feeler, rate_hz: 20, panics_from_s: 0.2}", "sensor \"feel\" panicked: feels nothing", 4),
    ];
    for (sensor, what, robots) in cases {
        let text = format!(
            "{{robots: [{{name: 'p{{i}}', kind: point, count: 4, layout: {{line: {{step_m: [3, 0, 0], from_m: [0, 0, 1]}}}}, \
             sensors: {{{sensor}}}}}, {others}]}}"
        );
        let mut sim = simulation(&text, &serial(&[]));
        sim.run_for(0.5);
        let faults = sim.world_mut().take_faults();
        assert_eq!(faults.len(), robots, "{sensor}: {faults:?}");
        assert!(faults[0].what.contains(what), "{}", faults[0].what);
        check_everywhere(&text, 0.5);
        let alone = format!("{{robots: [{others}]}}");
        let mut alone = simulation(&alone, &serial(&[]));
        alone.run_for(0.5);
        assert_eq!(sim.world().state().hash_of("other"), alone.world().state().hash_of("other"), "{sensor}");
    }
}

#[test]
fn a_motion_that_panics_isolates_the_robots_it_moved_at_once() {
    let text = "{robots: [{name: 't{i}', count: 3, layout: {line: {step_m: [3, 0, 0]}}, motion: {kind: timed, panics_from_s: 0.1}}, \
                {name: other, kind: point, driver: {kind: random_walk}}]}";
    let mut sim = simulation(text, &serial(&[]));
    sim.run_for(0.3);
    let faults = sim.world_mut().take_faults();
    assert_eq!(faults.len(), 3);
    assert!(faults[0].what.contains("motion \"timed\" panicked: moves no more"), "{}", faults[0].what);
    assert!(sim.world().number("other.position_m").unwrap().abs() > 0.1);
}

#[test]
fn commands_that_cannot_be_obeyed_are_refused_with_reason_and_change_nothing() {
    let mut sim = simulation(SOME, &serial(&[]));
    sim.run_for(0.1);
    let before = sim.world().hash();
    let set = |path: &str, values: &[f64]| Action::Set { path: path.to_owned(), values: values.to_vec() };
    let refused = [
        (delete("r99"), "found no robot \"r99\" (did you mean"),
        (like(&sim, "r0", "r1", at(0.0, 0.0)), "a second robot \"r1\""),
        (set("r1.positoin_m", &[0.0; 3]), "did you mean \"r1.position_m\""),
        (set("r1.position_m", &[0.0]), "found 1 values"),
        (set("r1.position_m[1]", &[f64::NAN]), "not finite"),
        (set("r1.speed_max_mps", &[1.0]), "is constant"),
        (Action::Setpoint { robot: "r1".to_owned(), mode: f64::NAN, values: [0.0; 4] }, "not finite"),
        (Action::AddProperty { path: "r1.position_m".to_owned(), values: vec![1.0] }, "already"),
    ];
    let expected: Vec<&str> = refused.iter().map(|(_, reason)| *reason).collect();
    refused.into_iter().for_each(|(action, _)| sim.command(action));
    let now = sim.world().time();
    sim.walk_window(now);
    let refusals = sim.world_mut().take_refusals();
    assert_eq!(refusals.len(), expected.len(), "{refusals:#?}");
    refusals.iter().zip(expected).for_each(|(refusal, reason)| assert!(refusal.contains(reason), "{refusal}"));
    assert_eq!(sim.world().hash(), before);
}

const FOLLOWERS: &str = r#"
run: {seed: 4}
robots:
  - name: lead
    kind: point
    motion: {kind: point, rate_hz: 330}
    driver: {kind: random_walk, rate_hz: 10}
    sensors: {feel: {kind: feeler, rate_hz: 33, latency_ms: 4}, look: {kind: gazer, rate_hz: 9, latency_ms: 35}}
  - name: f{i}
    kind: point
    count: 3
    layout: {line: {step_m: [2, 0, 0], from_m: [0, 5, 1]}}
    motion: {kind: point, rate_hz: 100}
    driver: {kind: probe, rate_hz: 100, reads: [lead.feel, lead.look]}
"#;

#[test]
fn a_robot_others_read_can_go_and_come_back() {
    let mut sim = simulation(FOLLOWERS, &serial(&[]));
    sim.run_for(0.5);
    assert!(count(&sim, "f0.driver.news") > 15);
    sim.command(delete("lead"));
    sim.run_for(0.2);
    let gone = sim.world().property("f0.driver.stamps").unwrap();
    assert_eq!(gone[..2], [-1.0, -1.0], "a robot that is gone says nothing");
    let news = count(&sim, "f0.driver.news");
    let back = like(&sim, "lead", "lead", at(0.0, 0.0));
    sim.command(back);
    sim.run_for(0.5);
    assert!(count(&sim, "f0.driver.news") > news + 15, "and is heard when it is back");
    check_with(FOLLOWERS, &|sim| {
        let back = like(sim, "lead", "lead", at(0.0, 0.0));
        post_at(sim, 0.2035, 1, delete("lead"));
        post_at(sim, 0.3017, 2, back);
        sim.run_for(0.61);
    });
}

#[test]
fn wires_do_not_lead_to_those_who_took_a_place() {
    let text = FOLLOWERS.replace("reads: [lead.feel, lead.look]", "reads: [lead.feel, late.feel], optional: true");
    let mut sim = simulation(&text, &serial(&[]));
    let spawn = |sim: &Simulation, name: &str| like(sim, "lead", name, at(1.0, 1.0));
    let late = spawn(&sim, "late");
    sim.command(late);
    sim.run_for(0.2);
    sim.command(delete("late"));
    sim.command(delete("lead"));
    let thief = spawn(&sim, "thief");
    sim.command(thief);
    sim.run_for(0.2);
    let late = spawn(&sim, "late");
    sim.command(late);
    sim.run_for(0.3);
    let stamps = sim.world().property("f0.driver.stamps").unwrap();
    assert_eq!(stamps[0], -1.0, "lead is gone");
    let own = sim.world().number("late.feel.stamp_ns").unwrap();
    assert!((stamps[1] - own).abs() <= 40e6 && own > 0.0, "{stamps:?} {own}");
}

#[test]
fn commands_act_in_the_order_of_time_link_and_sequence() {
    let orders = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]];
    let results = orders.map(|order| {
        let mut sim = simulation(SOME, &serial(&[]));
        let commands = [(0.05, 2, 1, 10.0), (0.05, 1, 2, 20.0), (0.05, 1, 1, 30.0), (0.04, 9, 9, 40.0)];
        for (time_s, link, sequence, value) in order.map(|index| commands[index]) {
            let action = Action::Set { path: "r1.position_m[2]".to_owned(), values: vec![value] };
            sim.world_mut().post(Command { time: SimTime::from_s(time_s), link, sequence, action });
        }
        sim.run_for(0.05);
        let now = sim.world().time();
        sim.walk_window(now);
        (sim.world().number("r1.position_m[2]").unwrap(), sim.world().hash())
    });
    assert_eq!(results[0].0, 10.0, "link 2 comes after both of link 1");
    assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
}

#[test]
fn a_command_acts_at_its_time_wherever_windows_end() {
    check_with(SOME, &|sim| {
        let setpoint =
            Action::Setpoint { robot: "r3".to_owned(), mode: setpoint::VELOCITY, values: [1.0, 0.5, 0.0, 0.1] };
        post_at(sim, 0.1003, 1, setpoint);
        post_at(sim, 0.2001, 2, Action::Set { path: "r4.position_m".to_owned(), values: vec![2.0, 2.1, 1.0] });
        let spawn = like(sim, "r0", "new", at(2.0, 2.6));
        post_at(sim, 0.2507, 3, spawn);
        post_at(sim, 0.3111, 4, delete("r7"));
        sim.run_for(0.6);
    });
}

#[test]
fn whether_a_spawned_robot_joins_others_or_is_the_first_does_not_matter() {
    // ticks, drivers and sensors that do not divide each other, and robots that come between ticks
    let text = r#"
robots:
  - name: a{i}
    kind: point
    count: 2
    layout: {line: {step_m: [2, 0, 0], from_m: [0, 5, 1]}}
    motion: {kind: point, rate_hz: 90}
    driver: {kind: probe, rate_hz: 70, reads: [feel]}
    sensors: {feel: {kind: feeler, rate_hz: 37, latency_ms: 13}}
"#;
    check_with(text, &|sim| {
        for (number, time_s) in [0.0505, 0.1, 0.1111111, 0.155, 0.2222].into_iter().enumerate() {
            let spawn = like(sim, "a0", &format!("s{number}"), at(9.0, 3.0 * number as f64));
            post_at(sim, time_s, number as u64, spawn);
        }
        sim.run_for(0.7);
    });
}

#[test]
fn a_reader_that_comes_late_sees_at_once_what_is_there() {
    let text = r#"
robots:
  - name: lead
    kind: point
    sensors: {feel: {kind: feeler, rate_hz: 2}}
  - name: first
    kind: point
    at: {xyz_m: [5, 0, 1]}
    driver: {kind: probe, rate_hz: 200, reads: [lead.feel], optional: true}
  - name: other
    kind: point
    at: {xyz_m: [9, 0, 1]}
    sensors: {feel: {kind: feeler, rate_hz: 2}}
"#;
    let text = text.replace("[lead.feel]", "[other.feel]");
    check_with(&text, &|sim| {
        post_at(sim, 0.1, 1, delete("other"));
        let back = like(sim, "other", "other", at(9.0, 0.0));
        post_at(sim, 0.2, 2, back);
        let reader = like(sim, "first", "reader", at(7.0, 0.0));
        post_at(sim, 0.73, 3, reader);
        sim.run_for(1.0);
    });
    let lone = text.replace("driver: {kind: probe, rate_hz: 200, reads: [other.feel], optional: true}", "")
        + "  - {name: reads, kind: point, at: {xyz_m: [20, 0, 1]}, driver: {kind: probe, rate_hz: 200, reads: [lead.feel]}}\n";
    check_with(&lone, &|sim| {
        post_at(sim, 0.1, 1, delete("reads"));
        let back = like(sim, "reads", "again", at(20.0, 0.0));
        post_at(sim, 0.731, 2, back);
        sim.run_for(1.0);
    });
}

#[test]
fn slow_ticks_late_samples_and_rates_that_do_not_divide_give_the_same_bits_everywhere() {
    let robot = |ticks: u32, driver: u32, sensor: &str| {
        format!(
            "{{name: 'a{ticks}', kind: point, at: {{xyz_m: [{ticks}, 0, 1]}}, motion: {{kind: point, rate_hz: {ticks}, speed_max_mps: 1}}, \
             driver: {{kind: probe, rate_hz: {driver}, reads: [feel, b.feel, b.look, look]}}, \
             sensors: {{feel: {{kind: feeler, {sensor}}}, look: {{kind: gazer, rate_hz: 23, latency_ms: 3.3}}}}}}"
        )
    };
    let other = "{name: b, kind: point, motion: {kind: point, rate_hz: 330}, driver: {kind: random_walk, rate_hz: 33}, \
                 sensors: {feel: {kind: feeler, rate_hz: 47}, look: {kind: gazer, rate_hz: 19}}}";
    let robots = [
        robot(100, 100, "rate_hz: 100, latency_ms: 5"),
        robot(1000, 333, "rate_hz: 909, latency_ms: 1.05"),
        robot(90, 70, "rate_hz: 77, latency_ms: 12.3456, modifiers: [{kind: dropout, probability: 0.4}]"),
        robot(50, 7, "rate_hz: 50, phase: spread, latency_ms: 0.001"),
        robot(250, 249, "rate_hz: 249, latency_ms: 100"),
    ];
    check_everywhere(&format!("{{robots: [{other}, {}]}}", robots.join(", ")), 0.8);
}

#[test]
fn no_driver_reads_what_is_not_visible_yet() {
    let sim = {
        let mut sim = simulation(FOLLOWERS, &serial(&["run.window_ms=1"]));
        sim.run_for(1.0);
        sim
    };
    assert!(count(&sim, "f0.driver.news") > 30);
    assert_eq!(count(&sim, "f0.driver.ahead"), 0);
}

#[test]
fn a_retooled_robot_keeps_what_is_under_way() {
    let text = r#"
robots:
  - name: a
    kind: point
    driver: {kind: probe, rate_hz: 100, reads: [feel, look]}
    sensors: {look: {kind: gazer, rate_hz: 20, latency_ms: 90}, feel: {kind: feeler, rate_hz: 20, latency_ms: 90}}
  - name: b
    kind: point
    at: {xyz_m: [5, 0, 1]}
    driver: {kind: probe, rate_hz: 100, reads: [feel, look]}
    sensors:
      feel: {kind: feeler, rate_hz: 20, latency_ms: 90}
      look: {kind: gazer, rate_hz: 20, latency_ms: 90, modifiers: [{kind: gaussian_noise, std: 0.1}]}
"#;
    let retool = |sim: &mut Simulation| {
        let cohort = Arc::clone(&sim.scenario().model.robots[1].cohort);
        post_at(sim, 0.31, 1, Action::Retool { robot: "a".to_owned(), cohort, recipe: None });
    };
    let mut sim = simulation(text, &serial(&[]));
    retool(&mut sim);
    sim.run_for(0.3901);
    let stamps = sim.world().property("a.driver.stamps").unwrap();
    assert_eq!(stamps[..2], [300e6, 300e6], "measured before the change, visible after it");
    check_with(text, &|sim| {
        retool(sim);
        sim.run_for(0.6);
    });
}

/// Counts what it gets.
struct Listener(Arc<Mutex<Vec<(u64, u64)>>>);

impl Sink for Listener {
    fn sensors(&self) -> Vec<String> {
        vec!["r*.*".to_owned()]
    }

    fn states(&self) -> bool {
        true
    }

    fn take(&mut self, batch: &Batch) {
        let samples = batch.samples().count() as u64;
        self.0.lock().unwrap().push((samples, u64::from(batch.states().is_some())));
    }
}

fn listen(sim: &mut Simulation) -> Arc<Mutex<Vec<(u64, u64)>>> {
    let heard = Arc::default();
    sim.add_sink(Box::new(Listener(Arc::clone(&heard)))).unwrap();
    heard
}

fn totals(heard: &Arc<Mutex<Vec<(u64, u64)>>>) -> (u64, u64) {
    std::mem::take(&mut *heard.lock().unwrap()).iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

#[test]
fn listeners_hear_on_after_a_reset_and_time_never_goes_back() {
    let mut sim = simulation(SOME, &serial(&["run.states_hz=60"]));
    let heard = listen(&mut sim);
    sim.run_for(1.0);
    let first = totals(&heard);
    assert_eq!(first.1, 60);
    sim.reset();
    sim.run_for(1.0);
    assert_eq!(totals(&heard), first, "the same again after a reset");

    let mut sim = simulation(SOME, &serial(&["run.states_hz=60"]));
    sim.run_for(0.5);
    let heard = listen(&mut sim);
    let mut before = sim.world().time();
    while before < SimTime::from_s(1.0) {
        sim.walk_window(SimTime::from_s(1.0));
        assert!(sim.world().time() > before, "{} after {before}", sim.world().time());
        before = sim.world().time();
    }
    sim.flush();
    assert_eq!(totals(&heard).1, 30, "from 0.5 s to 1 s");
}

#[test]
fn samples_are_delivered_once_whatever_the_windows_and_pauses() {
    let run = |over: &[&str], pauses: usize| {
        let mut sim = simulation(SOME, &serial(over));
        let log = Arc::new(Mutex::new(Vec::new()));
        sim.add_sink(Box::new(Log(Arc::clone(&log)))).unwrap();
        let spawn = like(&sim, "r0", "r_new", at(3.0, 9.0));
        post_at(&mut sim, 0.1234, 1, spawn);
        while sim.world().time() < SimTime::from_s(0.7) {
            sim.walk_window(SimTime::from_s(0.7));
            let now = sim.world().time();
            (0..pauses).for_each(|_| _ = sim.walk_window(now));
        }
        sim.flush();
        let mut log = std::mem::take(&mut *log.lock().unwrap());
        log.sort();
        log
    };
    let base = run(&[], 0);
    assert!(base.len() > 200);
    assert!(base.windows(2).all(|pair| pair[0] != pair[1]), "nothing is delivered twice");
    for (over, pauses) in [(vec!["run.window_ms=1"], 0), (vec!["run.window_ms=7.3"], 0), (vec![], 1)] {
        assert_eq!(run(&over, pauses), base, "{over:?} {pauses}");
    }
}

type Line = (String, u32, u64, u64, Vec<u64>);

/// Writes down every sample.
struct Log(Arc<Mutex<Vec<Line>>>);

impl Sink for Log {
    fn sensors(&self) -> Vec<String> {
        vec!["r*.*".to_owned()]
    }

    fn take(&mut self, batch: &Batch) {
        let mut log = self.0.lock().unwrap();
        for sample in batch.samples() {
            let name = batch.directory.robots[&sample.robot].name.clone();
            let values = sample.values.iter().map(|value| value.to_bits()).collect();
            log.push((name, sample.sensor, sample.stamp.ns(), sample.index, values));
        }
    }
}

#[test]
fn nobody_inherits_a_listener() {
    let mut sim = simulation(SOME, &serial(&[]));
    assert!(sim.world_mut().listen("r3", "gps") && sim.world_mut().listen("r3", "near"));
    sim.command(delete("r3"));
    let spawn = like(&sim, "r0", "heir", at(3.0, 3.0));
    sim.command(spawn);
    for _ in 0..30 {
        sim.walk_window(SimTime::NEVER);
        assert!(sim.world().heard().is_empty());
    }
}

#[test]
fn spawning_and_deleting_does_not_wait_for_results_under_way() {
    let text = "{robots: [{name: a, kind: point, sensors: {look: {kind: gazer, rate_hz: 10, latency_ms: 100, \
                waits_s: 0.09, tape: spawn-in-flight}}}]}";
    let tape = tape("spawn-in-flight");
    let mut sim = simulation(text, &Setup { asynchronous: Some(Async::Events), ..serial(&["run.window_ms=10"]) });
    for turn in 0..10 {
        let spawn = like(&sim, "a", &format!("s{turn}"), at(f64::from(turn), 3.0));
        post_at(&mut sim, 0.11 + 0.1 * f64::from(turn), 1, spawn);
        post_at(&mut sim, 0.15 + 0.1 * f64::from(turn), 2, delete(&format!("s{turn}")));
    }
    while sim.world().time() < SimTime::from_s(1.2) {
        sim.walk_window(SimTime::from_s(1.2));
        tape.pass(sim.world().time());
    }
    tape.pass(SimTime::NEVER);
    assert_eq!(tape.wrong(), 0, "the loop went on while sensors looked");
    assert!(tape.events().len() >= 10);
}

/// A motion may leap to a far place; the bound that holds it back must come before it meets a wall, or it passes through.
#[test]
fn a_leap_does_not_pass_through_a_thin_wall() {
    let text = "{world: {obstacles: {w: {box_size_m: [0.01, 100, 100], at: {xyz_m: [5, 0, 0]}}}}, \
                robots: [{name: p, kind: point, at: {xyz_m: [0, 6, 1]}, motion: {jump: true}, \
                driver: {kind: waypoints, points_m: [[50, 6, 1]], speed_mps: 20, by: position}}]}";
    let mut sim =
        muster::Simulation::from_text(text, &muster::Setup::default()).unwrap_or_else(|error| panic!("{error}"));
    sim.run_for(3.0);
    let x = sim.world().number("p.position_m").unwrap();
    assert!(x > 4.0 && x < 5.0, "{x}");
}
