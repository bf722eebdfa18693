//! World events: contacts, zones, times and conditions do what the scenario says, at instants that depend on nothing but
//! the scenario, and are told once.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

use glam::DVec3;
use muster::report::{Happened, Report};
use muster::run::{Event, Progress, RunOptions, Unwatched, Watcher, run, run_realms};
use muster::{Setup, Simulation};
use muster_core::simd::Simd;
use muster_core::time::SimTime;
use muster_core::world::Options;
use muster_scenario::build::Override;
use muster_scenario::text::{Async, Threads};

fn load(text: &str, setup: &Setup) -> Simulation {
    Simulation::from_text(text, setup).unwrap_or_else(|error| panic!("{error}"))
}

fn simulation(text: &str) -> Simulation {
    load(text, &Setup { threads: Some(Threads::Count(1)), ..Setup::default() })
}

fn for_s(seconds: f64) -> RunOptions {
    RunOptions { rtf: None, span: SimTime::from_s(seconds), windows: None, timeout: None, require_rt: false }
}

fn report(sim: &mut Simulation, seconds: f64) -> Report {
    run(sim, &for_s(seconds), &false.into(), &mut Unwatched).0
}

fn number(sim: &Simulation, path: &str) -> f64 {
    sim.world().number(path).unwrap_or_else(|| panic!("no {path}"))
}

fn speed(sim: &Simulation, robot: &str) -> f64 {
    DVec3::from_slice(&sim.world().property(&format!("{robot}.velocity_mps")).unwrap()).length()
}

/// When each event happened in a run, in ms.
fn times_ms(text: &str, seconds: f64) -> Vec<(u32, f64)> {
    let report = report(&mut simulation(text), seconds);
    assert_eq!(report.refusals, [""; 0]);
    report.events.iter().map(|each| (each.event, (each.time.s() * 1e6).round() / 1e3)).collect()
}

const WALL: &str = "obstacles: {wall: {box_size_m: [0.2, 4, 2], at: {xyz_m: [2, 0, 1]}}}";

#[test]
fn d18_a_robot_that_touches_a_wall_stands_in_the_next_step_and_the_event_is_told_once() {
    let forward = "driver: {kind: keyboard, speed_mps: 0.9, keys: [{at_s: 0, press: up}]}";
    for robot in [
        format!("kind: point, {forward}"),
        format!("kind: differential, {forward}"),
        format!("kind: point, motion: {{rate_hz: 333}}, {forward}"),
        "kind: point, driver: {kind: goto, to_m: [5, 1, 0.5], by: strafe}".to_owned(),
    ] {
        let text = format!(
            "{{world: {{{WALL}}}, robots: [{{name: robot, {robot}, at: {{xyz_m: [0, 0, 0.5]}}}}], \
             events: [{{on: 'contact(robot, wall)', do: robot.stop}}]}}"
        );
        let mut sim = simulation(&text);
        while sim.world().events().is_empty() {
            sim.walk_window(SimTime::NEVER);
            assert!(sim.world().time() < SimTime::from_s(10.0), "{robot}: no contact");
        }
        let at = sim.world().events()[0].time;
        assert_eq!(number(&sim, "robot.contacts"), 1.0, "{robot}");
        let rate = sim.world().find("robot").unwrap().cohort.blueprint.rate;
        assert_eq!(rate.time_of(rate.first_at_or_after(at)), at, "{robot}: the contact began at a tick");
        let next = rate.time_of(rate.first_after(at));
        sim.run_until(next);
        assert_eq!(speed(&sim, "robot"), 0.0, "{robot}: in the next step");
        sim.run_for(2.0);
        assert_eq!(speed(&sim, "robot"), 0.0, "{robot}: and from then on");
        let whole = report(&mut simulation(&text), 8.0);
        let once = Happened {
            event: 0,
            time: at,
            acts: at,
            on: "contact(robot, wall)".to_owned(),
            who: Some("robot".to_owned()),
            other: Some("wall".to_owned()),
            deeds: vec!["robot.stop".to_owned()],
        };
        assert_eq!((whole.events, whole.event_counts), (vec![once], vec![1]), "{robot}");
    }
}

#[test]
fn a_body_that_lies_on_the_ground_touches_a_wall_anew() {
    let text = format!(
        "{{world: {{{WALL}}}, robots: [
           {{name: box, motion: {{kind: single_body}}, shape: {{box_size_m: [0.4, 0.4, 0.2], friction: 0.05}},
             at: {{xyz_m: [0, 0, 0.1]}}, velocity_mps: [3, 0, 0]}},
           {{name: lamp, kind: lamp, light: {{on: false}}}}],
         events: [{{on: 'contact(box, wall)', do: lamp.on}}, {{on: contact(box), do: lamp.light_intensity_cd = 7}}]}}"
    );
    let mut sim = simulation(&text);
    let report = report(&mut sim, 2.0);
    let told: Vec<(u32, &str)> =
        report.events.iter().map(|each| (each.event, each.other.as_deref().unwrap_or_default())).collect();
    assert_eq!(told, [(1, "ground"), (0, "wall"), (1, "wall")]);
    assert_eq!((number(&sim, "lamp.light"), number(&sim, "lamp.light_intensity_cd")), (1.0, 7.0));
    // s = v t - µ g t²/2 for the 1.7 m to the wall, with the geometric mean of the coefficients
    let braking = (0.05_f64 * 0.6).sqrt() * 9.80665;
    let expected = (3.0 - (9.0 - 2.0 * braking * 1.7).sqrt()) / braking;
    let at = report.events[1].time.s();
    assert!((at - expected).abs() < 0.01, "{at} s, expected {expected} s");
}

#[test]
fn two_robots_that_touch_are_each_told_of_the_other() {
    let text = "{robots: [
        {name: a, kind: point, at: {xyz_m: [0, 0, 1]}}, {name: b, kind: point, at: {xyz_m: [1, 0, 1]}, motion: {rate_hz: 70}}],
      events: [{on: at(0 s), do: [a.velocity(1), b.velocity(-1)]},
               {on: 'contact(*, *)', do: '{who}.velocity(0, distance({who}, {other}) > 0 ? 0.5 : 0)'},
               {on: 'contact(b, a)', do: 'b.teleport(5, {other}.position_m[1], 1)', after_s: 0.5}]}";
    let mut sim = simulation(text);
    let report = report(&mut sim, 1.0);
    let told: Vec<(u32, Option<&str>, Option<&str>)> =
        report.events[1..].iter().map(|each| (each.event, each.who.as_deref(), each.other.as_deref())).collect();
    assert_eq!(told, [(1, Some("a"), Some("b")), (1, Some("b"), Some("a")), (2, Some("b"), Some("a"))]);
    assert_eq!(report.refusals, [""; 0]);
    assert!((number(&sim, "b.position_m[0]") - 5.0).abs() < 1e-9, "half a second later it is elsewhere");
}

#[test]
fn zones_are_entered_and_left_at_the_instants_of_their_rate() {
    // along x at 1 m/s from -2: inside from t = 1 s to 3 s
    let text = |rate: &str| {
        format!(
            "{{world: {{zones: {{yard: {{box_size_m: [2, 2, 2]}}, far: {{sphere_radius_m: 1, at: {{xyz_m: [9, 0, 0]}}}}}}}}, \
              robots: [{{name: r, kind: point, at: {{xyz_m: [-2.0001, 0, 0.5]}}}}],
              events: [{{on: at(0 s), do: r.velocity(1)}}, {{on: 'enter(r, yard)', do: r.stop, after_s: 100{rate}}},
                       {{on: 'leave(r, yard)', do: r.stop, after_s: 100{rate}}}, {{on: 'enter(*, *)', do: r.stop, after_s: 100}}]}}"
        )
    };
    let at = |rate| times_ms(&text(rate), 4.0);
    assert_eq!(at(""), [(0, 0.0), (1, 1020.0), (3, 1020.0), (2, 3020.0)], "at 50 Hz, run.events_hz");
    assert_eq!(at(", rate_hz: 3"), [(0, 0.0), (3, 1020.0), (1, 1333.333), (2, 3333.333)]);
    // who is inside at the start has entered
    let inside = "{world: {zones: {yard: {box_size_m: [2, 2, 2]}}}, robots: [{name: r, kind: point}],
                   events: [{on: 'enter(r, yard)', do: r.velocity(1)}]}";
    assert_eq!(times_ms(inside, 1.0), [(0, 0.0)]);
}

#[test]
fn timers_happen_exactly_at_their_times() {
    let text = "{robots: [{name: r, kind: point}],
      events: [{on: at(1.2345 s), do: r.velocity(1)}, {on: every(700 ms), do: 'r.setpoint[1] = time_s', once: false},
               {on: every(300 ms), do: r.stop, once: true}]}";
    assert_eq!(times_ms(text, 2.5), [(2, 300.0), (1, 700.0), (0, 1234.5), (1, 1400.0), (1, 2100.0)]);
    let mut sim = simulation(text);
    sim.run_for(2.2345);
    assert!((number(&sim, "r.position_m[0]") - 1.0).abs() < 1e-3, "1 m/s since 1.2345 s, within a tick");
    assert!((number(&sim, "r.setpoint[1]") - 2.1).abs() < 1e-12, "values are those of the instant");
}

#[test]
fn a_condition_happens_whenever_it_becomes_true() {
    // up and down by 1 m about 2 m, once every 2π s
    let text = "{robots: [{name: r, kind: point, at: {xyz_m: [0, 0, 2]}}, {name: lamp, kind: lamp}],
      events: [{on: every(10 ms), do: 'r.velocity(0, 0, cos(time_s))'},
               {on: 'r.position_m[2] > 2.5', do: lamp.on}, {on: 'r.position_m[2] > 2.5', do: lamp.on, once: true}]}";
    assert_eq!(report(&mut simulation(text), 20.0).event_counts[2], 1);
    let happened = simulation_times(text, 1, 20.0);
    // sin t = 1/2 upwards at π/6 + 2πk
    let expected = [0.0, 1.0, 2.0, 3.0].map(|k| std::f64::consts::PI / 6.0 + std::f64::consts::TAU * k);
    assert_eq!(happened.len(), expected.iter().filter(|&&time| time < 20.0).count(), "{happened:?}");
    for (found, expected) in happened.iter().zip(expected) {
        // the next instant of 50 Hz, and the steps of the velocity
        assert!((found - expected).abs() < 0.035, "{found} {expected}");
    }
}

/// When one event happens, walked window by window.
fn simulation_times(text: &str, event: u32, seconds: f64) -> Vec<f64> {
    let mut sim = simulation(text);
    let mut times = Vec::new();
    while sim.world().time() < SimTime::from_s(seconds) {
        sim.walk_window(SimTime::from_s(seconds));
        times.extend(sim.world().events().iter().filter(|each| each.event == event).map(|each| each.time.s()));
    }
    times
}

#[test]
fn a_condition_is_looked_at_for_each_of_many_robots() {
    let text =
        "{robots: [{name: 'p{i}', kind: point, count: 5, layout: {line: {step_m: [2, 0, 0], from_m: [0, 0, 1]}}}],
      events: [{on: at(0 s), do: 'p*.velocity(0, 1)'},
               {on: '{who}.position_m[1] > 1 and {who}.position_m[0] > 3', who: 'p*', do: '{who}.stop'}]}";
    let mut sim = simulation(text);
    let report = report(&mut sim, 3.0);
    let who: Vec<&str> = report.events[1..].iter().filter_map(|each| each.who.as_deref()).collect();
    assert_eq!(who, ["p2", "p3", "p4"]);
    for robot in 0..5 {
        let y = number(&sim, &format!("p{robot}.position_m[1]"));
        assert_eq!(y < 1.1, robot >= 2, "p{robot} at {y}");
    }
}

/// When a robot that goes to and fro before a wall is told to touch it, s. It leaves for `half_ms` at 1 m/s, and comes back
/// at 2 m/s in half of that.
fn knocks(half_ms: u32, rate: &str) -> Vec<f64> {
    let text = format!(
        "{{world: {{{WALL}}}, robots: [{{name: r, kind: point, at: {{xyz_m: [1.55, 0, 0.5]}}}}, {{name: lamp, kind: lamp}}],
          events: [{{on: every({half_ms} ms), do: 'r.velocity(floor(time_s / {half_ms}e-3 + 0.5) % 2 == 0 ? 2 : -1)'}},
                   {{on: 'contact(r, wall)', do: lamp.on{rate}}}]}}"
    );
    simulation_times(&text, 1, 8.0)
}

#[test]
fn a_contact_begins_anew_only_after_a_tenth_of_a_second_apart() {
    let chatter = knocks(60, "");
    assert_eq!(chatter.len(), 1, "apart for 90 ms: {chatter:?}");
    let knocks_seen = knocks(200, "");
    assert_eq!(knocks_seen.len(), 18, "apart for 300 ms, every 400 ms: {knocks_seen:?}");
    assert!(knocks_seen.windows(2).all(|pair| (pair[1] - pair[0] - 0.4).abs() < 0.005), "{knocks_seen:?}");
}

#[test]
fn a_rate_spaces_contacts() {
    for (rate_hz, every_s) in [(1.0, 1.2), (2.0, 0.8), (50.0, 0.4)] {
        let seen = knocks(200, &format!(", rate_hz: {rate_hz}"));
        assert!(seen.len() >= 3, "{rate_hz} Hz: {seen:?}");
        // a knock every 0.4 s, of which those are told that come a period or more after the last
        assert!(seen.windows(2).all(|pair| (pair[1] - pair[0] - every_s).abs() < 0.005), "{rate_hz} Hz: {seen:?}");
    }
}

#[test]
fn the_log_says_when_an_event_acts() {
    let text = "{robots: [{name: lamp, kind: lamp}], events: [{on: at(1 s), do: lamp.off, after_s: 0.5}, {on: at(2 s), do: lamp.on}]}";
    let told: Vec<String> = report(&mut simulation(text), 3.0).events.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["event at(1 s) at 1.000000 s: lamp.off (at 1.500000 s)", "event at(2 s) at 2.000000 s: lamp.on"]);
}

#[test]
fn a_contact_with_a_rate_happens_at_the_next_instant_of_it() {
    let text = |rate: &str| {
        format!(
            "{{world: {{{WALL}}}, robots: [{{name: r, kind: point, at: {{xyz_m: [0, 0, 0.5]}}}}],
              events: [{{on: at(0 s), do: r.velocity(1)}}, {{on: contact(r), do: r.velocity(-1){rate}}}]}}"
        )
    };
    let turned = |rate: &str, window_ms: f64| {
        let over = vec![Override::parse(&format!("run.window_ms={window_ms}")).unwrap()];
        let mut sim = load(&text(rate), &Setup { over, ..Setup::default() });
        while speed(&sim, "r") >= 0.0 && sim.world().events().iter().all(|each| each.event == 0) {
            sim.walk_window(SimTime::NEVER);
        }
        let contact = sim.world().events()[0].time;
        // until it happened nothing was done: the window began with it
        sim.run_until(SimTime::from_s(3.0));
        (contact, number(&sim, "r.position_m[0]").to_bits())
    };
    let exact = turned("", 20.0);
    let coarse = turned(", rate_hz: 4", 20.0);
    assert_eq!(exact.0, coarse.0, "the contact is told with its own time");
    assert_ne!(exact.1, coarse.1, "but later it turned back later");
    for window_ms in [1.0, 7.3, 500.0] {
        assert_eq!((turned("", window_ms), turned(", rate_hz: 4", window_ms)), (exact, coarse), "{window_ms} ms");
    }
}

#[test]
fn deeds_are_done_later_if_so_told_and_in_their_order() {
    let text = "{robots: [{name: r, kind: point}, {name: lamp, kind: lamp, light: {on: false}}],
      events: [{on: at(1 s), do: [lamp.on, lamp.off, lamp.on], after_s: 0.25}, {on: at(1.5 s), do: [lamp.on, lamp.off]}]}";
    let mut sim = simulation(text);
    for (until, expected) in [(1.2, 0.0), (1.26, 1.0), (1.6, 0.0)] {
        sim.run_until(SimTime::from_s(until));
        assert_eq!(number(&sim, "lamp.light"), expected, "at {until} s");
    }
}

#[test]
fn robots_come_and_go_by_events() {
    let text = "{robots: [{name: r, kind: point, at: {xyz_m: [0, 0, 1]}}],
      events: [{on: at(1 s), do: ['r.spawn(s, 3, 0, 1)', s.velocity(1), r.delete]}, {on: 's.position_m[0] > 4', do: s.stop}]}";
    let mut sim = simulation(text);
    let report = report(&mut sim, 4.0);
    assert_eq!((report.refusals, report.event_counts), (vec![], vec![1, 1]));
    assert!(sim.world().find("r").is_none());
    assert!((number(&sim, "s.position_m[0]") - 4.0).abs() < 0.03);
}

/// Everything at once: robots of several rates that touch each other and the walls, zones, conditions, timers.
const CROWD: &str = "
world: {include: worlds/arena.yaml, zones: {middle: {box_size_m: [4, 4, 4]}, corner: {sphere_radius_m: 3, at: {xyz_m: [4, 4, 0]}}}}
run: {seed: 3}
robots:
  - name: d{i}
    kind: differential
    count: 60
    layout: {random: {from_m: [-4, -4, 0], to_m: [4, 4, 0], min_distance_m: 0.5}}
    motion: {kind: differential, rate_hz: 100, speed_max_mps: 1.0}
    driver: {kind: random_walk, rate_hz: 20, speed_mps: 0.8}
    sensors: {gps: {kind: gps, rate_hz: 7, latency_ms: 15}}
  - name: p{i}
    kind: point
    count: 12
    layout: {random: {from_m: [-4, -4, 0.1], to_m: [4, 4, 0.2], min_distance_m: 0.5}}
    motion: {kind: point, rate_hz: 330}
    driver: {kind: random_walk, rate_hz: 33, speed_mps: 2}
  - name: g{i}
    kind: point
    count: 3
    layout: {line: {step_m: [1, 0, 0], from_m: [-1, 0, 0.5]}}
    driver: {kind: goto, by: strafe}
events:
  - {on: 'contact(d*, *)', do: '{who}.v_omega(-0.3, 0.5)'}
  - {on: 'contact(p*, p*)', do: ['{who}.stop'], rate_hz: 30}
  - {on: 'contact(p*, d*)', do: '{other}.resume'}
  - {on: 'enter(d*, middle)', do: ['{who}.resume', '{who}.contacts = 0'], rate_hz: 7}
  - {on: 'leave(p*, *)', do: '{who}.teleport(0, 0, 2)', after_s: 0.123}
  - {on: '{who}.gps.position_m[0] > 2', who: 'd*', do: '{who}.stop'}
  - {on: every(333.3 ms), do: ['g*.goto(4 * sin(time_s), 3, 0.5)', 'p*.resume']}
  - {on: at(1.001 s), do: ['p0.spawn(new, 0, 0, 3)', d0.delete]}
  - {on: 'distance(g0, g1) < 0.9', do: g2.stop}
";

fn crowd(setup: &Setup) -> (u128, Vec<Happened>) {
    let mut sim = load(CROWD, setup);
    let report = report(&mut sim, 2.5);
    (report.state_hash, report.events)
}

#[test]
fn events_have_one_outcome_whatever_the_windows_threads_islands_registers_and_asynchrony() {
    let base = crowd(&Setup { threads: Some(Threads::Count(1)), ..Setup::default() });
    let counts: Vec<usize> = (0..9).map(|event| base.1.iter().filter(|each| each.event == event).count()).collect();
    println!("events: {counts:?}");
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let check = |what: &str, setup: &Setup| assert!(crowd(setup) == base, "{what}");
    for threads in [Threads::Count(2), Threads::Count(8), Threads::PerRobot] {
        check(&format!("{threads:?}"), &Setup { threads: Some(threads), ..Setup::default() });
    }
    for window in ["run.window_ms=1", "run.window_ms=5", "run.window_ms=7.3", "run.window_ms=500"] {
        check(window, &Setup { over: vec![Override::parse(window).unwrap()], ..Setup::default() });
    }
    for asynchronous in [Async::None, Async::Both] {
        check(asynchronous.word(), &Setup { asynchronous: Some(asynchronous), ..Setup::default() });
    }
    let options = Options::default();
    for (what, options) in [
        ("one island", Options { one_island: true, ..options }),
        ("chunks of five", Options { lanes: 5, ..options }),
        ("scalar", Options { simd: Simd::Scalar, ..options }),
    ] {
        check(what, &Setup { options, ..Setup::default() });
    }
}

#[test]
fn events_go_on_after_save_and_restore_as_without() {
    let mut sim = load(CROWD, &Setup::default());
    sim.run_until(SimTime::from_s(0.9031));
    let saved = sim.save();
    sim.run_until(SimTime::from_s(2.5));
    let hash = sim.world().hash();
    assert_eq!(hash, crowd(&Setup::default()).0, "whoever walks the windows");
    sim.restore(&saved);
    sim.run_until(SimTime::from_s(2.5));
    assert_eq!(sim.world().hash(), hash);
    let mut other = load(CROWD, &Setup { over: vec![Override::parse("run.window_ms=3").unwrap()], ..Setup::default() });
    other.restore(&saved);
    other.run_until(SimTime::from_s(2.5));
    assert_eq!(other.world().hash(), hash, "in another simulation");
    sim.reset();
    sim.run_until(SimTime::from_s(2.5));
    assert_eq!(sim.world().hash(), hash, "from the beginning");
}

#[test]
fn events_happen_in_each_realm_as_they_would_alone() {
    let reports = |seeds: &[u64]| {
        let setup = Setup { seeds: seeds.to_vec(), threads: Some(Threads::Count(1)), ..Setup::default() };
        run_realms(&mut load(CROWD, &setup), &for_s(2.0), &false.into(), &mut Unwatched).0
    };
    let seeds = [3, 8, 5];
    for (joined, seed) in reports(&seeds).into_iter().zip(seeds) {
        let alone = &reports(&[seed])[0];
        assert!(alone.events.len() > 20);
        assert_eq!((joined.state_hash, &joined.events), (alone.state_hash, &alone.events), "seed {seed}");
        assert_eq!(joined.event_counts, alone.event_counts);
    }
}

/// Keeps what is told while a run goes on.
#[derive(Default)]
struct Log(Vec<String>);

impl Watcher for Log {
    fn progress(&mut self, _: &Progress) {}

    fn event(&mut self, event: Event) {
        if let Event::Happened(text) = event {
            self.0.push(text);
        }
    }
}

#[test]
fn the_log_tells_an_event_as_it_happens_and_grows_tired_of_one_that_recurs() {
    let text = "{robots: [{name: r, kind: point, at: {xyz_m: [0, 0, 1]}}],
      events: [{on: every(10 ms), do: r.stop}, {on: at(0.5 s), do: r.velocity(1)}]}";
    let mut log = Log::default();
    let report = run(&mut simulation(text), &for_s(1.0), &false.into(), &mut log).0;
    assert_eq!(log.0.len(), 11);
    assert_eq!(log.0[0], "event every(10 ms) at 0.010000 s: r.stop");
    assert!(log.0[9].ends_with("(not told again)") && log.0[10] == "event at(0.5 s) at 0.500000 s: r.velocity(1)");
    assert_eq!((&report.event_counts[..], report.events.len()), (&[99, 1][..], 100));
    let json = &report.json()["events"][49];
    assert_eq!((json["time_s"].as_f64(), json["do"][0].as_str()), (Some(0.5), Some("r.stop")), "{json}");
}

#[test]
fn a_deed_that_cannot_be_done_is_a_command_refused_by_name() {
    let text = "{robots: [{name: r, kind: point}, {name: s, kind: point, at: {xyz_m: [1, 0, 0]}}],
      events: [{on: at(0.1 s), do: s.delete}, {on: at(0.2 s), do: [s.stop, 'r.velocity(s.position_m[0])', r.velocity(1 / 0)]}]}";
    let refusals = report(&mut simulation(text), 0.5).refusals;
    assert_eq!(
        refusals,
        [
            "events[1].do[0], s.stop: found no robot \"s\"",
            "events[1].do[1], r.velocity(s.position_m[0]): \"s.position_m[0]\" has no value",
            "events[1].do[2], r.velocity(1 / 0): found inf for forward_mps of velocity, expected a finite number",
        ]
    );
}

/// The problems of one event in a small world, each without its place.
fn problems(event: &str) -> Vec<String> {
    let text = format!(
        "world: {{zones: {{yard: {{sphere_radius_m: 1}}}}, obstacles: {{wall: {{sphere_radius_m: 1}}}}}}
robots:
  - {{name: scout, kind: point, at: {{xyz_m: [5, 0, 1]}}, driver: {{kind: goto, by: strafe}}}}
  - {{name: lamp, kind: lamp}}
events:
  - {event}
"
    );
    let error = Simulation::from_text(&text, &Setup::default()).err().unwrap_or_else(|| panic!("{event} is fine"));
    assert!(error.problems.iter().all(|problem| problem.place.line == 6), "{error}");
    error.problems.iter().map(ToString::to_string).collect()
}

/// Events that are wrong, and what is told of them.
const WRONG: &[(&str, &str)] = &[
    (
        "{on: 'contact(scut, wall)', do: scout.stop}",
        "events[0].on: found \"scut\", expected a robot: scout, lamp (did you mean \"scout\"?)",
    ),
    (
        "{on: 'contact(scout, wal)', do: scout.stop}",
        "events[0].on: found \"wal\", expected an obstacle or a robot: ground, wall, scout, lamp (did you mean \"wall\"?)",
    ),
    (
        "{on: 'enter(scout, yrd)', do: scout.stop}",
        "events[0].on: found \"yrd\", expected a zone of world.zones: yard (did you mean \"yard\"?)",
    ),
    ("{on: 'enter(scout)', do: scout.stop}", "events[0].on: found \"enter(scout)\", expected enter(ROBOTS, ZONES)"),
    ("{on: at(2), do: scout.stop}", "events[0].on: found \"2\", expected a time with its unit, such as 2 s or 500 ms"),
    ("{on: every(0 s), do: scout.stop}", "events[0].on: found \"every(0 s)\", expected a span of time above 0"),
    ("{on: 'contakt(scout, wall)', do: scout.stop}", "(did you mean \"contact\"?)"),
    ("{on: 'scout.position[2] > 3', do: scout.stop}", "(did you mean \"position_m\"?)"),
    (
        "{on: 'scut.position_m[2] > 3', do: scout.stop}",
        "events[0].on: found \"scut\", expected a robot: scout, lamp (did you mean \"scout\"?)",
    ),
    (
        "{on: 'scout.position_m[2] >', do: scout.stop}",
        "events[0].on: found the end in \"scout.position_m[2] >\", expected a value",
    ),
    (
        "{on: '{who}.position_m[2] > 3', do: scout.stop}",
        "events[0].on: found {who} in \"{who}.position_m[2] > 3\", expected a robot's name: this event happens to nobody",
    ),
    ("{on: at(1 s), do: scout.stopp}", "(did you mean \"stop\"?)"),
    (
        "{on: at(1 s), do: scot.stop}",
        "events[0].do[0]: found \"scot\", expected a robot: scout, lamp (did you mean \"scout\"?)",
    ),
    (
        "{on: at(1 s), do: stop}",
        "events[0].do[0]: found \"stop\", expected ROBOT.SERVICE or ROBOT.PROPERTY = VALUE, such as robot.stop",
    ),
    (
        "{on: at(1 s), do: scout.goto(4)}",
        "events[0].do[0]: found \"goto(4)\", expected goto(x_m, y_m, z_m = 0, tolerance_m = as it was, speed_mps = as it was)",
    ),
    (
        "{on: at(1 s), do: 'lamp.goto(4, 2)'}",
        "events[0].do[0]: found no driver that follows goto on lamp, expected driver: {kind: goto}",
    ),
    ("{on: at(1 s), do: 'scout.goto(4, x)'}", "events[0].do[0]: found \"x\", expected a robot: scout, lamp"),
    ("{on: at(1 s), do: scout.on}", "events[0].do[0]: found no light on scout, expected light: {…} on the robot"),
    ("{on: at(1 s), do: scout.driver.sped_mps = 2}", "(did you mean \"driver.speed_mps\"?)"),
    (
        "{on: at(1 s), do: '{who}.stop'}",
        "events[0].do[0]: found {who} in \"{who}\", expected a robot's name: this event happens to nobody",
    ),
    (
        "{on: 'contact(scout, wall)', who: scout, do: scout.stop}",
        "events[0].who: found who for contact(…), expected who for an expression only",
    ),
    (
        "{on: at(1 s), do: scout.stop, rate_hz: 5}",
        "events[0].rate_hz: found a rate for a timer, expected none: it has its own times",
    ),
    (
        "{on: 'enter(scout, yard)', do: '{other}.stop'}",
        "events[0].do[0]: found \"yard\", expected a robot: scout, lamp",
    ),
    ("{on: at(1 s)}", "events[0]: found no do, expected do: text, or list of text"),
    (
        "{on: 'scout.position_m[7] > 1', do: scout.stop}",
        "events[0].on: found [7] of scout.position_m, expected an index from [0] to [2]",
    ),
    (
        "{on: at(1 s), do: 'scout.position_m[3] = 1'}",
        "events[0].do[0]: found [3] of position_m, expected an index from [0] to [2]",
    ),
    ("{on: at(1 s), do: scout.position_m = 1}", "events[0].do[0]: found 1 values for position_m, expected 3 of them"),
    (
        "{on: at(1 s), do: scout.attach(lmp)}",
        "events[0].do[0]: found \"lmp\", expected a robot: scout, lamp (did you mean \"lamp\"?)",
    ),
    (
        "{on: at(1 s), do: 'scout.hitch(nobody, 0, 0, 0)'}",
        "events[0].do[0]: found \"nobody\", expected a robot: scout, lamp",
    ),
    (
        "{on: at(1 s), do: 'scout.velocity(1'}",
        "events[0].do[0]: found \"velocity(1\", expected a closing parenthesis \")\" at the end",
    ),
    ("{on: 'contact(scout, wall', do: scout.stop}", "expected an operator, \",\" or \")\""),
    (
        "{on: at(1 s), do: scout.goto(4, max(1, 2), 0)}",
        "events[0].do: found \"scout.goto(4\", expected a closing parenthesis \")\" (between braces and brackets a text with \
         commas needs quotes: do: \"scout.goto(4, max(1, 2), 0)\")",
    ),
    (
        "{on: contact(scout, wall), do: scout.stop}",
        "events[0].on: found \"contact(scout\", expected a closing parenthesis \")\" (between braces and brackets a text with \
         commas needs quotes: on: \"contact(scout, wall)\")",
    ),
    (
        "{on: at(1 s), do: [scout.stop, scout.goto(4, 2), lamp.on]}",
        "events[0].do: found \"scout.goto(4\", expected a closing parenthesis \")\" (between braces and brackets a text with \
         commas needs quotes: do: \"scout.goto(4, 2)\")",
    ),
];

#[test]
fn what_is_wrong_with_an_event_is_told_with_its_line_and_the_nearest_name() {
    for (event, expected) in WRONG {
        let found = problems(event);
        assert!(found.len() == 1 && found[0].ends_with(expected), "{event}\n{found:#?}\n{expected}");
    }
    // all at once
    let both = problems("{on: 'enter(scut, yrd)', do: [scout.stopp, lamp.of]}");
    assert_eq!(both.len(), 4, "{both:#?}");
    let both = problems("{on: 'contact(scut, wal)', do: 'scout.goto(x, y)'}");
    assert_eq!(both.len(), 4, "{both:#?}");
}

#[test]
fn a_contact_of_what_has_no_outline_is_questionable() {
    let text =
        "{robots: [{name: ghost, kind: point, shape: {none: true}}], events: [{on: contact(ghost), do: ghost.stop}]}";
    let sim = simulation(text);
    assert!(sim.warnings()[0].contains("what has no outline touches nothing"), "{:?}", sim.warnings());
}
