//! Aircraft with their autopilot, closed loop, as a scenario runs them.

use muster::{Setup, Simulation};
use muster_core::command::Action;
use muster_core::lanes::setpoint;
use muster_core::math;
use std::f64::consts::FRAC_PI_2;

fn simulation(text: &str) -> Simulation {
    Simulation::from_text(text, &Setup::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// An aircraft at 200 m that flies east, with keys of a robot and of the world added.
fn aircraft(robot: &str, world: &str) -> Simulation {
    simulation(&format!("{{world: {{{world}}}, robots: [{{name: a, kind: fixed_wing, at: {{xyz_m: [0, 0, 200]}}{robot}}}]}}"))
}

fn number(sim: &Simulation, path: &str) -> f64 {
    sim.world().number(path).unwrap_or_else(|| panic!("no {path}"))
}

fn altitude(sim: &Simulation) -> f64 {
    number(sim, "a.position_m[2]")
}

fn course(sim: &Simulation) -> f64 {
    math::atan2(number(sim, "a.velocity_mps[1]"), number(sim, "a.velocity_mps[0]"))
}

/// Speed through the air, without the noise of the sensor.
fn airspeed(sim: &Simulation) -> f64 {
    let axis = |axis: usize| number(sim, &format!("a.velocity_mps[{axis}]")) - number(sim, &format!("a.wind_mps[{axis}]"));
    axis(0).hypot(axis(1)).hypot(axis(2))
}

fn command(sim: &mut Simulation, mode: f64, values: [f64; 4]) {
    sim.command(Action::Setpoint { robot: "a".to_owned(), mode, values });
}

fn set(sim: &mut Simulation, property: &str, value: f64) {
    sim.command(Action::Set { path: format!("a.{property}"), values: vec![value] });
}

/// Runs in steps of 0.1 s and notes a quantity after each.
fn record(sim: &mut Simulation, seconds: f64, quantity: impl Fn(&Simulation) -> f64) -> Vec<f64> {
    (0..(seconds * 10.0) as usize)
        .map(|_| {
            sim.run_for(0.1);
            quantity(sim)
        })
        .collect()
}

/// The time after which a record stays within a band around the end value.
fn settled_s(record: &[f64], end: f64, band: f64) -> f64 {
    record.iter().rposition(|value| (value - end).abs() > band).map_or(0.0, |last| 0.1 * (last + 1) as f64)
}

fn most(record: &[f64]) -> f64 {
    record.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn off(record: &[f64], from: f64) -> f64 {
    most(&record.iter().map(|value| (value - from).abs()).collect::<Vec<_>>())
}

#[test]
fn without_a_driver_it_flies_straight_and_level() {
    let mut sim = aircraft("", "");
    let mut worst = [0.0_f64; 3];
    for _ in 0..600 {
        sim.run_for(0.1);
        let now = [altitude(&sim) - 200.0, airspeed(&sim) - 25.0, number(&sim, "a.position_m[1]")];
        worst = std::array::from_fn(|index| worst[index].max(now[index].abs()));
    }
    println!("altitude, airspeed, sideways {worst:?}");
    assert!(worst[0] < 2.0 && worst[1] < 0.5 && worst[2] < 1.0, "altitude, airspeed, sideways {worst:?}");
    assert!((number(&sim, "a.position_m[0]") - 1500.0).abs() < 15.0);
}

#[test]
fn a_step_of_altitude_settles() {
    let mut sim = aircraft("", "");
    command(&mut sim, setpoint::COURSE, [0.0, 230.0, 25.0, 0.0]);
    let mut speeds = Vec::new();
    let heights = record(&mut sim, 30.0, altitude);
    let settled = settled_s(&heights, 230.0, 1.5);
    println!("settled {settled} s, highest {}", most(&heights));
    assert!(settled < 20.0 && most(&heights) < 236.0, "settled {settled} s, highest {}", most(&heights));
    command(&mut sim, setpoint::COURSE, [0.0, 200.0, 25.0, 0.0]);
    speeds.extend(record(&mut sim, 20.0, airspeed));
    println!("down: {} speed off {}", altitude(&sim), off(&speeds, 25.0));
    assert!((altitude(&sim) - 200.0).abs() < 1.5 && off(&speeds, 25.0) < 2.0);
}

#[test]
fn a_step_of_course_settles() {
    let mut sim = aircraft("", "");
    command(&mut sim, setpoint::COURSE, [FRAC_PI_2, 200.0, 25.0, 0.0]);
    let mut low = 0.0_f64;
    let mut courses = Vec::new();
    for _ in 0..250 {
        sim.run_for(0.1);
        courses.push(course(&sim));
        low = low.max((altitude(&sim) - 200.0).abs());
    }
    let settled = settled_s(&courses, FRAC_PI_2, 0.05 * FRAC_PI_2);
    println!("settled {settled} s, most {} , altitude off {low}", most(&courses) / FRAC_PI_2);
    assert!(settled < 15.0 && most(&courses) < 1.15 * FRAC_PI_2, "settled {settled} s, most {}", most(&courses));
    assert!(low < 3.0, "{low} m off in the turn");
}

#[test]
fn a_step_of_airspeed_settles_at_the_same_height() {
    let mut sim = aircraft("", "");
    for (speed, from) in [(32.0, 25.0), (19.0, 32.0)] {
        command(&mut sim, setpoint::COURSE, [0.0, 200.0, speed, 0.0]);
        let mut low = 0.0_f64;
        let mut speeds = Vec::new();
        for _ in 0..200 {
            sim.run_for(0.1);
            speeds.push(airspeed(&sim));
            low = low.max((altitude(&sim) - 200.0).abs());
        }
        let settled = settled_s(&speeds, speed, 0.5);
        println!("{from}->{speed}: settled {settled} s, low {low}");
        assert!(settled < 15.0 && low < 5.0, "from {from} to {speed} m/s in {settled} s, {low} m off");
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
    println!("{climbed} {turned} {}", airspeed(&sim));
    assert!((climbed - 20.0).abs() < 1.0 && (turned + 1.0).abs() < 0.05, "{climbed} m, {turned} rad");
    assert!((airspeed(&sim) - 27.0).abs() < 0.5);
    command(&mut sim, setpoint::NONE, [0.0; 4]);
    sim.run_for(1.0);
    let left = (altitude(&sim), course(&sim));
    sim.run_for(20.0);
    println!("{} {}", altitude(&sim) - left.0, course(&sim) - left.1);
    assert!((altitude(&sim) - left.0).abs() < 5.0 && math::wrap_angle(course(&sim) - left.1).abs() < 0.1);
}

#[test]
fn a_position_is_circled() {
    let mut sim = aircraft("", "wind: {mean_mps: [0, 4, 0]}");
    command(&mut sim, setpoint::POSITION, [600.0, 200.0, 230.0, 0.0]);
    sim.run_for(60.0);
    let distance = |sim: &Simulation| (number(sim, "a.position_m[0]") - 600.0).hypot(number(sim, "a.position_m[1]") - 200.0);
    let distances = record(&mut sim, 40.0, distance);
    println!("{} {}", off(&distances, 100.0), altitude(&sim));
    assert!(off(&distances, 100.0) < 8.0, "{} m off the circle", off(&distances, 100.0));
    assert!((altitude(&sim) - 230.0).abs() < 2.0);
}

#[test]
fn waypoints_by_course_arrive() {
    let driver = "driver: {kind: waypoints, by: course, speed_mps: 25, tolerance_m: 30, \
                  points_m: [[500, 0, 210], [500, 500, 220], [0, 0, 200]]}";
    let mut sim = aircraft(&format!(", {driver}"), "");
    sim.run_for(90.0);
    assert_eq!(number(&sim, "a.driver.status"), 1.0);
}

#[test]
fn gusts_do_not_throw_it_off_its_altitude() {
    for (level, most_m) in [("light", 15.0), ("moderate", 15.0)] {
        let mut sim = aircraft("", &format!("wind: {{mean_mps: [3, 3, 0], gusts: {{kind: dryden, level: {level}}}}}"));
        let heights = record(&mut sim, 60.0, altitude);
        println!("{level} {} {}", off(&heights, 200.0), airspeed(&sim));
        assert!(off(&heights, 200.0) < most_m, "{level}: {} m off", off(&heights, 200.0));
    }
}

#[test]
fn held_elevator_stalls_it_and_the_autopilot_recovers() {
    let mut sim = aircraft("", "");
    sim.run_for(2.0);
    command(&mut sim, setpoint::DIRECT, [0.0; 4]);
    set(&mut sim, "input.elevator_rad", -0.5);
    set(&mut sim, "input.throttle", 0.1);
    let alpha = |sim: &Simulation| {
        let pose = sim.world().pose("a").expect("the aircraft");
        let velocity = glam::DVec3::from_slice(&sim.world().property("a.velocity_mps").expect("velocity"));
        let through = math::rotate_inverse(pose.orientation, velocity);
        math::atan2(-through.z, through.x)
    };
    for _ in 0..0 {
        sim.run_for(0.25);
        println!("{:.2} alpha {:.3} speed {:.2} z {:.1} vz {:.1} roll", sim.world().time().s(), alpha(&sim), airspeed(&sim), altitude(&sim), number(&sim, "a.velocity_mps[2]"));
    }
    let (mut alphas, mut speeds) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        sim.run_for(0.1);
        alphas.push(alpha(&sim));
        speeds.push(number(&sim, "a.airspeed.airspeed_mps"));
    }
    let slowest = speeds.iter().copied().fold(f64::INFINITY, f64::min);
    println!("alpha {} slowest {slowest} height {}", most(&alphas), altitude(&sim));
    assert!(most(&alphas) > 0.4712 && slowest < 15.0, "angle of attack {}, {slowest} m/s", most(&alphas));
    assert!(altitude(&sim) < 190.0, "{} m", altitude(&sim));
    command(&mut sim, setpoint::COURSE, [0.0, 200.0, 25.0, 0.0]);
    let heights = record(&mut sim, 40.0, altitude);
    println!("lowest {} end {} {} {}", -most(&heights.iter().map(|h| -h).collect::<Vec<_>>()), altitude(&sim), airspeed(&sim), course(&sim));
    assert!((altitude(&sim) - 200.0).abs() < 2.0 && (airspeed(&sim) - 25.0).abs() < 0.5 && course(&sim).abs() < 0.05);
}

#[test]
fn ten_aircraft_fly_forward_and_up() {
    let mut sim = simulation(
        "{robots: [{name: 'a{i}', kind: fixed_wing, count: 10, layout: {line: {from_m: [0, 0, 100], step_m: [0, 20, 0]}}}]}",
    );
    for i in 0..10 {
        sim.command(Action::Setpoint { robot: format!("a{i}"), mode: setpoint::VELOCITY, values: [25.0, 0.0, 3.0, 0.0] });
    }
    sim.run_for(20.0);
    for i in 0..10 {
        let at = sim.world().pose(&format!("a{i}")).expect("an aircraft").position_m;
        println!("{at}");
        assert!(at.x > 480.0 && (at.z - 160.0).abs() < 3.0 && (at.y - 20.0 * f64::from(i)).abs() < 1.0, "{at}");
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
