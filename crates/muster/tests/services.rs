//! Services: every row of the table does what it says, by its law; calls are answered, preempted and cancelled.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

use glam::DVec3;
use muster::{Datum, Outcome, Setup, Simulation};
use muster_core::math;
use muster_core::time::SimTime;
use muster_scenario::text::Threads;

const G: f64 = 9.80665;

/// What the driver's status means.
const TRANSIT: f64 = 0.0;
const ARRIVED: f64 = 1.0;
const STOPPED: f64 = 2.0;
const PREEMPTED: f64 = 3.0;

/// A world of one robot.
fn robot(text: &str) -> Simulation {
    let setup = Setup { threads: Some(Threads::Count(1)), ..Setup::default() };
    let text = format!("{{robots: [{{name: r, {text}}}]}}");
    Simulation::from_text(&text, &setup).unwrap_or_else(|error| panic!("{error}"))
}

/// Calls a service with numbers; the call's number.
fn call(sim: &mut Simulation, service: &str, numbers: &[f64]) -> u64 {
    let arguments: Vec<Datum> = numbers.iter().map(|&number| number.into()).collect();
    sim.call("r", service, &arguments).unwrap_or_else(|error| panic!("{error}"))
}

/// The same, and it must succeed at once.
fn done(sim: &mut Simulation, service: &str, numbers: &[f64]) {
    let number = call(sim, service, numbers);
    sim.walk_window(sim.world().time());
    assert_eq!(sim.take_answers(), [(number, Outcome::Succeeded)], "{service}");
}

/// Calls a service with words and numbers, which must succeed at once.
fn worded(sim: &mut Simulation, service: &str, arguments: &[Datum]) {
    let number = sim.call("r", service, arguments).unwrap();
    sim.walk_window(sim.world().time());
    assert_eq!(sim.take_answers(), [(number, Outcome::Succeeded)], "{service}");
}

fn vector(sim: &Simulation, property: &str) -> DVec3 {
    DVec3::from_slice(&sim.world().property(&format!("r.{property}")).unwrap())
}

fn number(sim: &Simulation, property: &str) -> f64 {
    sim.world().number(&format!("r.{property}")).unwrap_or_else(|| panic!("no {property}"))
}

fn near(found: DVec3, expected: DVec3, tolerance: f64) {
    assert!((found - expected).length() <= tolerance, "{found}, expected {expected}");
}

fn rpy(sim: &Simulation) -> (f64, f64, f64) {
    math::rpy_from_quat(sim.world().pose("r").unwrap().orientation)
}

#[test]
fn v_omega_drives_an_arc() {
    let mut sim = robot("kind: point, at: {xyz_m: [0, 0, 1]}");
    done(&mut sim, "v_omega", &[1.0, 0.5]);
    sim.run_for(2.0);
    // an arc of radius v/ω = 2 m about (0, 2), by 1 rad
    let (sin, cos) = math::sin_cos(1.0);
    near(vector(&sim, "position_m"), DVec3::new(2.0 * sin, 2.0 - 2.0 * cos, 1.0), 1e-9);
}

#[test]
fn xy_omega_moves_an_omni_robot_sideways() {
    let mut sim = robot("kind: omni, motion: {wheel_accel_max_radps2: 1e6}");
    done(&mut sim, "xy_omega", &[0.0, 0.4, 0.0]);
    sim.run_for(2.0);
    near(vector(&sim, "position_m"), DVec3::new(0.0, 0.8, 0.0), 0.002);
    assert!(rpy(&sim).2.abs() < 1e-6, "without turning");
}

#[test]
fn velocity_has_three_axes_and_a_turn() {
    let mut sim = robot("kind: point, at: {xyz_m: [0, 0, 1]}");
    done(&mut sim, "velocity", &[0.3, -0.2, 0.5]);
    sim.run_for(2.0);
    near(vector(&sim, "position_m"), DVec3::new(0.6, -0.4, 2.0), 1e-9);
    done(&mut sim, "velocity", &[0.0, 0.0, 0.0, 0.7]);
    sim.run_for(1.0);
    assert!((rpy(&sim).2 - 0.7).abs() < 1e-9);
}

#[test]
fn steer_force_accelerates_a_car_by_force_over_mass() {
    let mut sim = robot("kind: car, motion: {rear_axle_m: 0, rolling_resistance: 0, drag_area_m2: 0}");
    done(&mut sim, "steer_force", &[0.0, 2600.0]);
    sim.run_for(3.0);
    // 2600 N on the 1300 kg of the default car
    assert!((vector(&sim, "velocity_mps").x - 2600.0 / 1300.0 * 3.0).abs() < 1e-6);
    done(&mut sim, "steer_force", &[0.0, 0.0, 5200.0]);
    sim.run_for(2.0);
    assert_eq!(vector(&sim, "velocity_mps").length(), 0.0, "6 m/s at 4 m/s² are 1.5 s");
}

#[test]
fn attitude_tilts_a_quadrotor_and_it_accelerates_that_way() {
    let mut sim = robot("kind: quadrotor, at: {xyz_m: [0, 0, 10]}");
    let tilt: f64 = 0.1;
    done(&mut sim, "attitude", &[0.0, tilt, 0.0, 0.716 * G / tilt.cos()]);
    sim.run_for(0.5);
    let before = vector(&sim, "velocity_mps").x;
    sim.run_for(0.2);
    let (roll, pitch, _) = rpy(&sim);
    assert!(roll.abs() < 0.01 && (pitch - tilt).abs() < 0.01, "{roll} {pitch}");
    // g tan θ forward, less the drag of half a metre a second
    let gained = (vector(&sim, "velocity_mps").x - before) / 0.2;
    assert!((gained / (G * tilt.tan()) - 1.0).abs() < 0.15, "{gained} m/s²");
}

#[test]
fn inputs_turn_rotors_at_their_speeds() {
    let mut sim = robot("kind: quadrotor, at: {xyz_m: [0, 0, 50]}");
    done(&mut sim, "inputs", &[400.0, 410.0, 420.0, 430.0]);
    sim.run_for(0.5);
    let speeds = sim.world().property("r.motion.rotor_speed_radps").unwrap();
    for (speed, expected) in speeds.iter().zip([400.0, 410.0, 420.0, 430.0]) {
        assert!((speed - expected).abs() < 1.0, "{speeds:?}");
    }
    let wrong = call(&mut sim, "inputs", &[1.0, 2.0]);
    sim.run_for(0.01);
    let answers = sim.take_answers();
    let expected = "r.inputs: found 2 inputs, expected 4";
    assert!(
        matches!(&answers[..], [(number, Outcome::Failed(why))] if *number == wrong && why.starts_with(expected)),
        "{answers:?}"
    );
}

#[test]
fn position_and_course_are_followed_by_those_who_can() {
    let mut sim = robot("kind: quadrotor, at: {xyz_m: [0, 0, 2]}");
    done(&mut sim, "position", &[1.0, -1.0, 3.0]);
    sim.run_for(4.0);
    near(vector(&sim, "position_m"), DVec3::new(1.0, -1.0, 3.0), 0.05);
    let mut sim = robot("kind: fixed_wing, at: {xyz_m: [0, 0, 100]}, speed_mps: 25, driver: null");
    done(&mut sim, "course", &[1.0, 120.0, 25.0]);
    sim.run_for(40.0);
    let velocity = vector(&sim, "velocity_mps");
    assert!((math::atan2(velocity.y, velocity.x) - 1.0).abs() < 0.05, "{velocity}");
    assert!((vector(&sim, "position_m").z - 120.0).abs() < 3.0);
    let (course, mode) = (number(&sim, "setpoint[0]"), number(&sim, "setpoint_mode"));
    done(&mut sim, "stop", &[]);
    assert_eq!((number(&sim, "setpoint[0]"), number(&sim, "setpoint_mode")), (course, mode), "it cannot stop");
}

#[test]
fn teleport_puts_a_robot_elsewhere_at_rest() {
    let mut sim = robot("kind: point, at: {xyz_m: [0, 0, 1]}, velocity_mps: [3, 0, 0]");
    done(&mut sim, "teleport", &[4.0, 5.0, 6.0, 1.0, 0.2, -0.3]);
    let (roll, pitch, yaw) = rpy(&sim);
    near(vector(&sim, "position_m"), DVec3::new(4.0, 5.0, 6.0), 0.0);
    assert!((roll + 0.3).abs() + (pitch - 0.2).abs() + (yaw - 1.0).abs() < 1e-12);
    assert_eq!(vector(&sim, "velocity_mps").length(), 0.0);
}

/// A robot with a pan-tilt unit whose joints turn at most at a radian a second.
const PAN_TILT: &str = "kind: point, at: {xyz_m: [0, 0, 1]}, frames: { \
    pan: {turn: [0, 0, 1], rate_max_degps: 57.29577951308232}, \
    tilt: {parent: pan, turn: [0, 1, 0], rate_max_degps: 57.29577951308232, range_deg: [-30, 60]}}";

#[test]
fn m17_pan_and_tilt_are_reached_at_a_radian_a_second_and_the_call_is_answered_then() {
    let mut sim = robot(PAN_TILT);
    let number_of_call = call(&mut sim, "pan_tilt", &[0.5, 0.2]);
    sim.run_for(0.45);
    assert_eq!(sim.take_answers(), [], "at 1 rad/s it takes 0.5 s");
    assert!((number(&sim, "joint.pan") - 0.45).abs() < 2e-3 && (number(&sim, "joint.tilt") - 0.2).abs() < 1e-9);
    sim.run_for(0.15);
    assert_eq!(sim.take_answers(), [(number_of_call, Outcome::Succeeded)]);
    let tolerance = 0.3_f64.to_radians();
    assert!(
        (number(&sim, "joint.pan") - 0.5).abs() < tolerance && (number(&sim, "joint.tilt") - 0.2).abs() < tolerance
    );
}

#[test]
fn joints_are_moved_one_by_one_together_and_at_rates() {
    let mut sim = robot(PAN_TILT);
    let first = sim.call("r", "joint", &["pan".into(), 2.0.into()]).unwrap();
    sim.run_for(0.5);
    // another wants the joints: the first learns of it
    let second = call(&mut sim, "joints", &[-0.1, 5.0]);
    sim.run_for(3.0);
    assert_eq!(sim.take_answers(), [(first, Outcome::Preempted), (second, Outcome::Succeeded)]);
    let limit = 60_f64.to_radians();
    assert!((number(&sim, "joint.pan") + 0.1).abs() < 1e-9 && (number(&sim, "joint.tilt") - limit).abs() < 1e-9);
    worded(&mut sim, "joint_rate", &["pan".into(), 0.4.into()]);
    sim.run_for(1.0);
    assert!((number(&sim, "joint.pan") - 0.3).abs() < 1e-3 && (number(&sim, "joint.tilt") - limit).abs() < 1e-9);
    let third = sim.call("r", "joint", &["pan".into(), 3.0.into()]).unwrap();
    sim.run_for(0.2);
    sim.cancel(third);
    sim.run_for(1.0);
    assert_eq!(sim.take_answers(), [(third, Outcome::Preempted)]);
    assert!((number(&sim, "joint.pan") - 0.5).abs() < 2e-3, "it stays where it was: {}", number(&sim, "joint.pan"));
    let wrong = sim.call("r", "joint", &["pam".into(), 1.0.into()]).unwrap();
    sim.run_for(0.01);
    let why = "r.joint: found no joint \"pam\", expected one of pan, tilt (did you mean \"pan\"?)".to_owned();
    assert_eq!(sim.take_answers(), [(wrong, Outcome::Failed(why))]);
}

#[test]
fn a_light_is_switched() {
    let mut sim = robot("kind: lamp, light: {intensity_cd: 40, colour: [1, 0.5, 0]}");
    assert_eq!(number(&sim, "light"), 1.0);
    assert_eq!((number(&sim, "light_intensity_cd"), number(&sim, "light_colour[1]")), (40.0, 0.5));
    done(&mut sim, "off", &[]);
    assert_eq!(number(&sim, "light"), 0.0);
    done(&mut sim, "on", &[]);
    assert_eq!(number(&sim, "light"), 1.0);
    let mut dark = robot("kind: point");
    let wrong = call(&mut dark, "on", &[]);
    dark.run_for(0.01);
    let why = "r.on: found no light, expected light: {…} on the robot".to_owned();
    assert_eq!(dark.take_answers(), [(wrong, Outcome::Failed(why))]);
}

#[test]
fn m18_keys_are_pressed_and_released() {
    let mut sim =
        robot("kind: point, at: {xyz_m: [0, 0, 1]}, driver: {kind: keyboard, accel_mps2: 1e6, decay_mps2: 1e6}");
    for key in ["up", "page_up"] {
        worded(&mut sim, "press", &[key.into()]);
    }
    sim.run_for(1.0);
    near(vector(&sim, "position_m"), DVec3::new(1.0, 0.0, 1.5), 1e-9);
    worded(&mut sim, "release", &["up".into()]);
    sim.run_for(1.0);
    near(vector(&sim, "position_m"), DVec3::new(1.0, 0.0, 2.0), 1e-9);
    let wrong = sim.call("r", "press", &["upp".into()]).unwrap();
    sim.run_for(0.01);
    assert!(matches!(&sim.take_answers()[..], [(number, Outcome::Failed(_))] if *number == wrong));
}

#[test]
fn robots_are_spawned_like_others_and_deleted() {
    let mut sim = robot("kind: point, at: {xyz_m: [0, 0, 1]}, driver: {kind: random_walk}");
    worded(&mut sim, "spawn", &["s".into(), 3.0.into(), 4.0.into(), 5.0.into()]);
    near(sim.world().pose("s").unwrap().position_m, DVec3::new(3.0, 4.0, 5.0), 0.0);
    sim.run_for(1.0);
    assert!(sim.world().pose("s").unwrap().position_m != DVec3::new(3.0, 4.0, 5.0), "it lives");
    let again = sim.call("r", "spawn", &["s".into(), 0.0.into(), 0.0.into()]).unwrap();
    sim.run_for(0.1);
    assert!(matches!(&sim.take_answers()[..], [(number, Outcome::Failed(_))] if *number == again));
    done(&mut sim, "delete", &[]);
    assert!(sim.world().find("r").is_none() && sim.world().find("s").is_some());
}

/// Runs until the driver's status is this; how long that took.
fn until_status(sim: &mut Simulation, status: f64) -> f64 {
    let from = sim.world().time();
    while number(sim, "driver.status") != status {
        sim.run_for(0.01);
        let passed = (sim.world().time() - from).s();
        assert!(passed < 60.0, "status is {} and not {status}", number(sim, "driver.status"));
    }
    (sim.world().time() - from).s()
}

#[test]
fn l06_a_goto_is_in_transit_and_answered_on_arrival() {
    let mut sim = robot("kind: atrv, driver: {kind: goto}");
    let there = call(&mut sim, "goto", &[4.0, 2.0, 0.0, 0.5, 1.0]);
    sim.run_for(0.1);
    assert_eq!(number(&sim, "driver.status"), TRANSIT);
    let took = until_status(&mut sim, ARRIVED);
    assert!(took < 10.0, "{took} s");
    assert!((vector(&sim, "position_m") - DVec3::new(4.0, 2.0, 0.0)).length() <= 0.5);
    sim.run_for(0.02);
    assert_eq!(sim.take_answers(), [(there, Outcome::Succeeded)]);
}

#[test]
fn a_goto_that_is_stopped_stays_pending_until_it_is_resumed_and_arrives() {
    for kind in ["kind: differential, driver: {kind: goto}", "kind: quadrotor, driver: {kind: goto, by: position}"] {
        let mut sim = robot(&format!("{kind}, at: {{xyz_m: [0, 0, 0.5]}}"));
        let there = call(&mut sim, "goto", &[3.0, 0.0, 0.5]);
        sim.run_for(1.0);
        assert_eq!(number(&sim, "driver.status"), TRANSIT, "{kind}");
        done(&mut sim, "stop", &[]);
        assert_eq!(number(&sim, "driver.status"), STOPPED, "{kind}");
        sim.run_for(2.0);
        let held = vector(&sim, "position_m");
        sim.run_for(1.0);
        near(vector(&sim, "position_m"), held, 0.02);
        assert!(held.x > 0.2 && held.x < 2.0, "{kind}: {held}");
        assert_eq!(sim.take_answers(), [], "{kind}: still pending");
        done(&mut sim, "resume", &[]);
        assert_eq!(number(&sim, "driver.status"), TRANSIT, "{kind}");
        until_status(&mut sim, ARRIVED);
        sim.run_for(0.02);
        assert_eq!(sim.take_answers(), [(there, Outcome::Succeeded)], "{kind}");
    }
}

#[test]
fn a_goto_during_a_goto_preempts_it() {
    let mut sim = robot("kind: differential, driver: {kind: goto}");
    let first = call(&mut sim, "goto", &[3.0, 0.0]);
    sim.run_for(1.0);
    let second = call(&mut sim, "goto", &[0.0, 2.0, 0.0, 0.1]);
    sim.walk_window(sim.world().time());
    assert_eq!(sim.take_answers(), [(first, Outcome::Preempted)]);
    until_status(&mut sim, ARRIVED);
    sim.run_for(0.02);
    assert_eq!(sim.take_answers(), [(second, Outcome::Succeeded)]);
    near(vector(&sim, "position_m"), DVec3::new(0.0, 2.0, 0.0), 0.1);
}

#[test]
fn velocities_preempt_a_goto_until_the_robot_is_given_back_to_its_driver() {
    for kind in ["kind: differential, driver: {kind: goto}", "kind: quadrotor, driver: {kind: goto, by: position}"] {
        let mut sim = robot(&format!("{kind}, at: {{xyz_m: [0, 0, 0.5]}}"));
        let there = call(&mut sim, "goto", &[3.0, 0.0, 0.5]);
        sim.run_for(1.0);
        let driven = call(&mut sim, "v_omega", &[-0.5, 0.0]);
        sim.run_for(3.0);
        assert_eq!(sim.take_answers(), [(there, Outcome::Preempted), (driven, Outcome::Succeeded)], "{kind}");
        assert_eq!(number(&sim, "driver.status"), PREEMPTED, "{kind}");
        let back = vector(&sim, "position_m").x;
        assert!(back < 0.0, "{kind}: {back}");
        done(&mut sim, "stop", &[]);
        sim.run_for(2.0);
        assert!(vector(&sim, "velocity_mps").length() < 0.02, "{kind}: {}", vector(&sim, "velocity_mps"));
        assert!((vector(&sim, "position_m").x - back).abs() < 1.0, "{kind} goes nowhere");
        done(&mut sim, "resume", &[]);
        sim.run_for(0.5);
        assert!(vector(&sim, "velocity_mps").length() < 1.3, "{kind} goes at its own pace");
        until_status(&mut sim, ARRIVED);
        assert!((vector(&sim, "position_m") - DVec3::new(3.0, 0.0, 0.5)).length() < 0.6, "{kind}");
    }
}

#[test]
fn a_cancelled_goto_is_answered_as_preempted_and_the_robot_stops() {
    let mut sim = robot("kind: differential, driver: {kind: goto}");
    let there = call(&mut sim, "goto", &[5.0, 0.0]);
    sim.run_for(1.0);
    sim.cancel(there);
    sim.cancel(there + 77);
    sim.run_for(2.0);
    assert_eq!(sim.take_answers(), [(there, Outcome::Preempted)], "and what is unknown is passed over");
    assert_eq!(number(&sim, "driver.status"), STOPPED);
    assert_eq!(vector(&sim, "velocity_mps").length(), 0.0);
}

#[test]
fn waypoints_are_told_while_it_runs() {
    let mut sim = robot("kind: differential, driver: {kind: waypoints, points_m: [[9, 9]], room: 3, tolerance_m: 0.1}");
    sim.run_for(0.5);
    let route = call(&mut sim, "waypoints", &[1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    let mut passed = [false; 3];
    while number(&sim, "driver.status") != ARRIVED || sim.world().time() < SimTime::from_s(0.6) {
        sim.run_for(0.01);
        assert!(sim.world().time() < SimTime::from_s(30.0), "{passed:?}");
        let places = [DVec3::X, DVec3::new(1.0, 1.0, 0.0), DVec3::Y];
        for (at, place) in places.into_iter().enumerate() {
            // in their order
            passed[at] |= (vector(&sim, "position_m") - place).length() < 0.12 && passed[..at].iter().all(|&done| done);
        }
    }
    sim.run_for(0.02);
    assert_eq!((sim.take_answers(), passed), (vec![(route, Outcome::Succeeded)], [true; 3]));
    let far = call(&mut sim, "waypoints", &[0.0; 12]);
    sim.run_for(0.02);
    let why = "r.waypoints: found 4 places, expected at most 3 (`room` of the driver)".to_owned();
    assert_eq!(sim.take_answers(), [(far, Outcome::Failed(why))]);
    let mut fixed = robot("kind: differential, driver: {kind: waypoints, points_m: [[9, 9]]}");
    let refused = call(&mut fixed, "waypoints", &[0.0; 3]);
    fixed.run_for(0.02);
    assert!(matches!(&fixed.take_answers()[..], [(number, Outcome::Failed(_))] if *number == refused));
}

#[test]
fn any_robot_stops_and_goes_on_whatever_drives_it() {
    for driver in ["random_walk", "keyboard, keys: [{at_s: 0, press: up}]"] {
        let mut sim = robot(&format!("kind: point, at: {{xyz_m: [0, 0, 1]}}, driver: {{kind: {driver}}}"));
        sim.run_for(1.0);
        assert!(vector(&sim, "velocity_mps").length() > 0.1, "{driver}");
        done(&mut sim, "stop", &[]);
        sim.run_for(0.001);
        assert_eq!(vector(&sim, "velocity_mps").length(), 0.0, "{driver}: in the next tick");
        sim.run_for(2.0);
        assert_eq!(vector(&sim, "velocity_mps").length(), 0.0, "{driver}");
        done(&mut sim, "resume", &[]);
        sim.run_for(1.0);
        assert!(vector(&sim, "velocity_mps").length() > 0.1, "{driver}");
    }
}

#[test]
fn who_was_put_aside_stays_so_when_saved_moved_and_retooled() {
    let text = "{robots: [{name: 'p{i}', kind: point, count: 3, layout: {line: {step_m: [2, 0, 0], from_m: [0, 0, 1]}}, \
                driver: {kind: random_walk}}]}";
    let mut sim = Simulation::from_text(text, &Setup::default()).unwrap_or_else(|error| panic!("{error}"));
    sim.call("p2", "stop", &[]).unwrap();
    sim.run_for(0.1);
    let saved = sim.save();
    // the last robot of the chunk moves to another lane, then to another chunk
    sim.call("p0", "delete", &[]).unwrap();
    sim.run_for(0.1);
    sim.set_modifiers("p2", "truth", "[{kind: gaussian_noise, std: 0.1}]").unwrap();
    sim.run_for(0.5);
    let speed = |sim: &Simulation, robot: &str| {
        DVec3::from_slice(&sim.world().property(&format!("{robot}.velocity_mps")).unwrap()).length()
    };
    assert!(speed(&sim, "p2") == 0.0 && speed(&sim, "p1") > 0.0);
    let hash = sim.world().hash();
    sim.restore(&saved);
    sim.call("p2", "resume", &[]).unwrap();
    sim.run_for(0.6);
    assert!(speed(&sim, "p2") > 0.0 && sim.world().hash() != hash);
}

#[test]
fn a_call_that_cannot_be_is_refused_before_or_answered_with_the_reason() {
    let mut sim = robot("kind: point");
    assert_eq!(sim.call("r", "gotu", &[]).unwrap_err(), "found no service \"gotu\" (did you mean \"goto\"?)");
    let error = sim.call("r", "v_omega", &[1.0.into()]).unwrap_err();
    assert_eq!(error, "found 1 argument for v_omega, expected v_omega(v_mps, omega_radps)");
    let lost = sim.call("s", "stop", &[]).unwrap();
    let driverless = call(&mut sim, "goto", &[1.0, 2.0]);
    sim.run_for(0.01);
    let why = "r.goto: found no driver that follows goto, expected driver: {kind: goto}".to_owned();
    let nobody = "found no robot \"s\"".to_owned();
    assert_eq!(sim.take_answers(), [(lost, Outcome::Failed(nobody)), (driverless, Outcome::Failed(why))]);
    assert_eq!(sim.world_mut().take_refusals(), [""; 0], "who gets an answer needs no warning");
}

#[test]
fn what_robots_offer_is_known_without_asking_them() {
    let offered = |text: &str| -> Vec<&str> {
        let sim = robot(text);
        let cohort = &sim.world().find("r").unwrap().cohort;
        let services = muster::REGISTRY.services.iter();
        services.filter(|service| service.offered_by(cohort)).map(|service| service.name).collect()
    };
    let (plain, driven) = (
        offered("kind: point"),
        offered("kind: lamp, driver: {kind: goto, rate_hz: 10}, sensors: {truth: {kind: truth, rate_hz: 10}}"),
    );
    for (service, by_plain, by_driven) in [
        ("v_omega", true, true),
        ("goto", false, true),
        ("resume", false, true),
        ("on", false, true),
        ("press", false, false),
    ] {
        assert_eq!((plain.contains(&service), driven.contains(&service)), (by_plain, by_driven), "{service}");
    }
    assert!(
        !plain.contains(&"joint")
            && ["joint", "joints", "pan_tilt"].iter().all(|name| offered(PAN_TILT).contains(name))
    );
    assert!(offered("kind: point, driver: {kind: keyboard}").contains(&"press"));
}

#[test]
fn a_call_fails_when_its_robot_goes() {
    let mut sim = robot("kind: differential, driver: {kind: goto}");
    let there = call(&mut sim, "goto", &[5.0, 0.0]);
    sim.run_for(0.5);
    let gone = call(&mut sim, "delete", &[]);
    sim.run_for(0.1);
    let failed = Outcome::Failed("the robot is gone".to_owned());
    assert_eq!(sim.take_answers(), [(gone, Outcome::Succeeded), (there, failed)]);
}
