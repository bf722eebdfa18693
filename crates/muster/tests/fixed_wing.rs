//! Aircraft with their autopilot, closed loop, as a scenario runs them.

use glam::DVec3;
use muster::judge::Judge;
use muster::{Setup, Simulation};
use muster_core::command::Action;
use muster_core::lanes::setpoint;
use muster_core::math;
use muster_core::simd::Simd;
use muster_core::time::SimTime;
use muster_scenario::text::Threads;
use std::f64::consts::FRAC_PI_2;

fn simulation(text: &str) -> Simulation {
    Simulation::from_text(text, &Setup::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// An aircraft at 200 m that flies east, with keys of a robot and of the world added.
fn aircraft(robot: &str, world: &str) -> Simulation {
    let start = "name: a, kind: fixed_wing, at: {xyz_m: [0, 0, 200]}";
    simulation(&format!("{{world: {{{world}}}, robots: [{{{start}{robot}}}]}}"))
}

fn number(sim: &Simulation, path: &str) -> f64 {
    sim.world().number(path).unwrap_or_else(|| panic!("no {path}"))
}

fn vector(sim: &Simulation, path: &str) -> DVec3 {
    DVec3::from_slice(&sim.world().property(path).unwrap_or_else(|error| panic!("{error}")))
}

fn altitude(sim: &Simulation) -> f64 {
    number(sim, "a.position_m[2]")
}

fn course(sim: &Simulation) -> f64 {
    let velocity = vector(sim, "a.velocity_mps");
    math::atan2(velocity.y, velocity.x)
}

/// Speed through the air, without the noise of the sensor.
fn airspeed(sim: &Simulation) -> f64 {
    (vector(sim, "a.velocity_mps") - vector(sim, "a.wind_mps")).length()
}

/// Angle of attack in still air.
fn alpha(sim: &Simulation) -> f64 {
    let pose = sim.world().pose("a").expect("the aircraft");
    let through_air = math::rotate_inverse(pose.orientation, vector(sim, "a.velocity_mps"));
    math::atan2(-through_air.z, through_air.x)
}

fn command(sim: &mut Simulation, mode: f64, values: [f64; 4]) {
    sim.command(Action::Setpoint { robot: "a".to_owned(), mode, values });
}

fn set(sim: &mut Simulation, property: &str, value: f64) {
    sim.command(Action::Set { path: format!("a.{property}"), values: vec![value] });
}

/// Runs in steps of 0.1 s and notes quantities after each.
fn record<const N: usize>(sim: &mut Simulation, seconds: f64, of: [fn(&Simulation) -> f64; N]) -> [Vec<f64>; N] {
    let mut record = [const { Vec::new() }; N];
    for _ in 0..(seconds * 10.0) as usize {
        sim.run_for(0.1);
        record.iter_mut().zip(of).for_each(|(values, of)| values.push(of(sim)));
    }
    assert_eq!(sim.world_mut().take_refusals(), [""; 0]);
    record
}

/// The time after which a record stays within a band around the end value.
fn settled_s(record: &[f64], end: f64, band: f64) -> f64 {
    record.iter().rposition(|value| (value - end).abs() > band).map_or(0.0, |last| 0.1 * (last + 1) as f64)
}

fn most(record: &[f64]) -> f64 {
    record.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn least(record: &[f64]) -> f64 {
    record.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The greatest distance from a value.
fn off(record: &[f64], from: f64) -> f64 {
    (most(record) - from).max(from - least(record))
}

#[test]
fn without_a_driver_it_flies_straight_and_level() {
    let mut sim = aircraft("", "");
    let [heights, speeds, courses] = record(&mut sim, 60.0, [altitude, airspeed, course]);
    assert!(off(&heights, 200.0) < 0.5, "{} m off", off(&heights, 200.0));
    assert!(off(&speeds, 25.0) < 0.3, "{} m/s off", off(&speeds, 25.0));
    assert!(off(&courses, 0.0) < 0.001, "{} rad off", off(&courses, 0.0));
    assert!((number(&sim, "a.position_m[0]") - 1500.0).abs() < 15.0);
}

#[test]
fn a_step_of_altitude_settles() {
    let mut sim = aircraft("", "");
    command(&mut sim, setpoint::COURSE, [0.0, 230.0, 25.0, 0.0]);
    let [heights, speeds] = record(&mut sim, 25.0, [altitude, airspeed]);
    let settled = settled_s(&heights, 230.0, 1.5);
    assert!(settled < 10.0 && most(&heights) < 232.0, "settled in {settled} s, highest {} m", most(&heights));
    assert!(off(&speeds, 25.0) < 1.0, "{} m/s off in the climb", off(&speeds, 25.0));
    command(&mut sim, setpoint::COURSE, [0.0, 200.0, 25.0, 0.0]);
    let [heights, speeds] = record(&mut sim, 25.0, [altitude, airspeed]);
    let settled = settled_s(&heights, 200.0, 1.5);
    assert!(settled < 10.0 && least(&heights) > 198.0, "settled in {settled} s, lowest {} m", least(&heights));
    assert!(off(&speeds, 25.0) < 1.0, "{} m/s off in the descent", off(&speeds, 25.0));
}

#[test]
fn a_step_of_course_settles() {
    for side in [1.0, -1.0] {
        let mut sim = aircraft("", "");
        command(&mut sim, setpoint::COURSE, [side * FRAC_PI_2, 200.0, 25.0, 0.0]);
        let [courses, heights] = record(&mut sim, 20.0, [course, altitude]);
        let settled = settled_s(&courses, side * FRAC_PI_2, 0.05 * FRAC_PI_2);
        let furthest = off(&courses, 0.0);
        assert!(settled < 8.0 && furthest < 1.05 * FRAC_PI_2, "settled in {settled} s, furthest {furthest} rad");
        assert!(off(&heights, 200.0) < 3.0, "{} m off in the turn", off(&heights, 200.0));
    }
}

#[test]
fn a_step_of_airspeed_settles_at_the_same_height() {
    let mut sim = aircraft("", "");
    for (speed, from) in [(32.0, 25.0), (19.0, 32.0)] {
        command(&mut sim, setpoint::COURSE, [0.0, 200.0, speed, 0.0]);
        let [speeds, heights] = record(&mut sim, 20.0, [airspeed, altitude]);
        let (settled, height) = (settled_s(&speeds, speed, 0.5), off(&heights, 200.0));
        assert!(settled < 8.0 && height < 2.0, "from {from} to {speed} m/s in {settled} s, {height} m off");
    }
}

#[test]
fn velocity_setpoints_climb_and_turn_at_the_rates_asked_for() {
    let mut sim = aircraft("", "");
    command(&mut sim, setpoint::VELOCITY, [27.0, 0.0, 2.0, -0.1]);
    sim.run_for(10.0);
    let before = (altitude(&sim), course(&sim));
    sim.run_for(10.0);
    let (climbed, turned) = (altitude(&sim) - before.0, math::wrap_angle(course(&sim) - before.1));
    assert!((climbed - 20.0).abs() < 0.5 && (turned + 1.0).abs() < 0.02, "{climbed} m, {turned} rad");
    assert!((airspeed(&sim) - 27.0).abs() < 0.5);
}

#[test]
fn what_it_flew_last_is_held_when_nothing_is_commanded_any_more() {
    let mut sim = aircraft("", "");
    command(&mut sim, setpoint::VELOCITY, [27.0, 0.0, 2.0, -0.1]);
    sim.run_for(10.0);
    command(&mut sim, setpoint::NONE, [0.0; 4]);
    sim.run_for(0.1);
    let before = (altitude(&sim), course(&sim));
    sim.run_for(30.0);
    let after = (altitude(&sim) - before.0, math::wrap_angle(course(&sim) - before.1));
    assert!(after.0.abs() < 1.0 && after.1.abs() < 0.02, "{after:?}");
    assert!((airspeed(&sim) - 25.0).abs() < 0.3);
}

#[test]
fn a_position_is_circled_either_way_round_and_in_wind() {
    fn distance(sim: &Simulation) -> f64 {
        (vector(sim, "a.position_m") - DVec3::new(600.0, 200.0, 0.0)).truncate().length()
    }
    for (clockwise, turn) in [(false, 1.0), (true, -1.0)] {
        let controller = format!(", controller: {{loiter_clockwise: {clockwise}}}");
        let mut sim = aircraft(&controller, "wind: {mean_mps: [0, 4, 0]}");
        command(&mut sim, setpoint::POSITION, [600.0, 200.0, 230.0, 0.0]);
        sim.run_for(50.0);
        let [distances, heights] = record(&mut sim, 30.0, [distance, altitude]);
        assert!(off(&distances, 100.0) < 2.0, "{} m off the circle", off(&distances, 100.0));
        assert!(off(&heights, 230.0) < 1.5, "{} m off", off(&heights, 230.0));
        let around =
            (vector(&sim, "a.position_m") - DVec3::new(600.0, 200.0, 0.0)).cross(vector(&sim, "a.velocity_mps"));
        assert!(around.z * turn > 0.0);
    }
}

#[test]
fn places_without_a_height_are_flown_at_the_height_it_started_with() {
    let driver = ", driver: {kind: waypoints, by: course, speed_mps: 25, tolerance_m: 30, loop_forever: true, \
                  points_m: [[500, 0], [500, 500], [0, 0]]}";
    let mut sim = aircraft(driver, "wind: {gusts: {kind: dryden}}");
    let [heights] = record(&mut sim, 120.0, [altitude]);
    assert!(off(&heights, 200.0) < 10.0, "{} m off", off(&heights, 200.0));
}

#[test]
fn gusts_do_not_throw_it_off_its_altitude() {
    for (level, most_m) in [("light", 7.0), ("moderate", 15.0)] {
        let mut sim = aircraft("", &format!("wind: {{mean_mps: [3, 3, 0], gusts: {{kind: dryden, level: {level}}}}}"));
        let [heights] = record(&mut sim, 60.0, [altitude]);
        assert!(off(&heights, 200.0) < most_m, "{level}: {} m off", off(&heights, 200.0));
    }
}

#[test]
fn held_elevator_stalls_it_and_the_autopilot_recovers() {
    fn pitot(sim: &Simulation) -> f64 {
        number(sim, "a.airspeed.airspeed_mps")
    }
    let mut sim = aircraft("", "");
    command(&mut sim, setpoint::DIRECT, [0.0; 4]);
    set(&mut sim, "input.elevator_rad", -0.5);
    set(&mut sim, "input.throttle", 0.1);
    let [alphas, speeds] = record(&mut sim, 5.0, [alpha, pitot]);
    assert_eq!(number(&sim, "a.input.elevator_rad"), -0.5, "nobody else moves it");
    assert!(most(&alphas) > 0.4712 && least(&speeds) < 10.0, "{} rad, {} m/s", most(&alphas), least(&speeds));
    assert!(altitude(&sim) < 190.0, "{} m", altitude(&sim));
    command(&mut sim, setpoint::COURSE, [0.0, 200.0, 25.0, 0.0]);
    let [heights] = record(&mut sim, 30.0, [altitude]);
    assert!(least(&heights) > 150.0, "down to {} m", least(&heights));
    assert!((altitude(&sim) - 200.0).abs() < 1.0 && (airspeed(&sim) - 25.0).abs() < 0.5 && course(&sim).abs() < 0.02);
}

#[test]
fn it_recovers_from_whatever_the_inputs_have_led_it_into() {
    let mut sim = simulation(
        "{robots: [{name: 'a{i}', kind: fixed_wing, count: 32, layout: {line: {from_m: [0, 0, 600], step_m: [0, 90, 0]}}}]}",
    );
    let chance = muster_core::random::Stream::new(5, 1);
    for i in 0..32 {
        let [elevator, aileron, rudder, throttle] = chance.uniforms(i, 0);
        let inputs = [-0.7 + 0.9 * elevator, 0.4 * aileron - 0.2, 0.2 * rudder - 0.1, 0.8 * throttle];
        sim.command(Action::Setpoint { robot: format!("a{i}"), mode: setpoint::DIRECT, values: [0.0; 4] });
        for (name, value) in ["elevator_rad", "aileron_rad", "rudder_rad", "throttle"].into_iter().zip(inputs) {
            sim.command(Action::Set { path: format!("a{i}.input.{name}"), values: vec![value] });
        }
    }
    sim.run_for(5.0);
    for i in 0..32 {
        let values = [1.0, 600.0, 25.0, 0.0];
        sim.command(Action::Setpoint { robot: format!("a{i}"), mode: setpoint::COURSE, values });
    }
    sim.run_for(80.0);
    for i in 0..32 {
        let (position, velocity) =
            (vector(&sim, &format!("a{i}.position_m")), vector(&sim, &format!("a{i}.velocity_mps")));
        let course = math::atan2(velocity.y, velocity.x);
        assert!((position.z - 600.0).abs() < 2.0 && (course - 1.0).abs() < 0.02, "a{i}: {position}, {course} rad");
    }
}

#[test]
fn ten_aircraft_fly_forward_and_up() {
    let mut sim = simulation(
        "{robots: [{name: 'a{i}', kind: fixed_wing, count: 10, layout: {line: {from_m: [0, 0, 100], step_m: [0, 20, 0]}}}]}",
    );
    for i in 0..10 {
        let values = [25.0, 0.0, 3.0, 0.0];
        sim.command(Action::Setpoint { robot: format!("a{i}"), mode: setpoint::VELOCITY, values });
    }
    sim.run_for(20.0);
    for i in 0..10 {
        let at = vector(&sim, &format!("a{i}.position_m"));
        assert!((at - DVec3::new(497.5, 20.0 * f64::from(i), 160.0)).length() < 2.0, "{at}");
    }
}

#[test]
fn every_sensor_measures_at_its_rate_exactly() {
    let mut sim = aircraft("", "");
    sim.run_for(10.0);
    let robot = sim.world().robots().next().expect("an aircraft");
    for (name, count) in [("imu", 5000), ("truth", 1000), ("barometer", 500), ("airspeed", 500), ("gps", 100)] {
        let sensor = robot.cohort.blueprint.sensors.iter().position(|slot| slot.name == name).expect("a sensor");
        assert_eq!(sim.world().samples(robot, sensor), count, "{name}");
    }
}

#[test]
fn the_hash_is_equal_for_any_registers_and_threads() {
    let hash = |setup: &Setup| {
        let text = "{world: {wind: {gusts: {kind: dryden}}}, robots: [{name: 'a{i}', kind: fixed_wing, count: 19, \
                    layout: {line: {from_m: [0, 0, 100], step_m: [0, 20, 0]}}, \
                    driver: {kind: random_walk, speed_mps: 25, turn_max_radps: 0.3}}]}";
        let mut sim = Simulation::from_text(text, setup).unwrap_or_else(|error| panic!("{error}"));
        sim.run_for(3.0);
        sim.world().hash()
    };
    let base = hash(&Setup { threads: Some(Threads::Count(1)), ..Setup::default() });
    assert_eq!(hash(&Setup { threads: Some(Threads::PerRobot), ..Setup::default() }), base, "a thread for each");
    let mut scalar = Setup::default();
    scalar.options.simd = Simd::Scalar;
    assert_eq!(hash(&scalar), base, "scalar");
}

#[test]
fn examples_hold_what_they_expect() {
    for name in ["fixed_wings", "fixed_wing_circuit"] {
        let path = format!("{}/../../examples/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        let mut sim = Simulation::load(&path, &Setup::default()).unwrap_or_else(|error| panic!("{error}"));
        let end = SimTime::from_s(sim.scenario().run.for_s);
        let mut judge = Judge::new(sim.scenario().expect.iter(), end);
        assert!(!judge.is_empty());
        while sim.world().time() < end {
            sim.walk_window(end.min(judge.next_time(sim.world().time())));
            judge.watch(sim.world());
        }
        assert!(judge.failures.is_empty(), "{name}: {:#?}", judge.failures);
    }
}
