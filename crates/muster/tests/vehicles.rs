//! Vehicles on springs with slipping tyres, against the closed forms of vehicle dynamics.

use glam::DVec3;
use muster::{Setup, Simulation};
use muster_core::command::Action;
use muster_core::lanes::setpoint;
use muster_scenario::text::Threads;

const G: f64 = 9.80665;
/// Of the library's off-road vehicle with its wheels.
const MASS_KG: f64 = 300.0;
const BASE_M: f64 = 1.3;

fn simulation(text: &str) -> Simulation {
    let setup = Setup { threads: Some(Threads::Count(1)), ..Setup::default() };
    Simulation::from_text(text, &setup).unwrap_or_else(|error| panic!("{error}"))
}

fn values(sim: &Simulation, path: &str) -> Vec<f64> {
    sim.world().property(path).unwrap_or_else(|error| panic!("{error}"))
}

fn vec3(sim: &Simulation, path: &str) -> DVec3 {
    let values = values(sim, path);
    DVec3::new(values[0], values[1], values[2])
}

/// An off-road vehicle with more keys of its own, in a world.
fn vehicle(world: &str, robot: &str) -> Simulation {
    simulation(&format!("{{world: {{{world}}}, robots: [{{name: v, kind: offroad, {robot}}}]}}"))
}

fn steer_force(sim: &mut Simulation, steer_rad: f64, force_n: f64, brake_n: f64) {
    let values = [steer_rad, force_n, brake_n, 0.0];
    sim.command(Action::Setpoint { robot: "v".to_owned(), mode: setpoint::STEER_FORCE, values });
}

const ON_GROUND: &str = "at: {xyz_m: [0, 0, 0.6]}";

#[test]
fn at_rest_the_springs_carry_the_weight_and_nothing_moves() {
    let mut sim = vehicle("", ON_GROUND);
    sim.run_for(3.0);
    let travel: f64 = values(&sim, "v.motion.wheel_travel_m").iter().sum();
    // each spring yields a third of its travel under a quarter of the weight
    let spring = 3.0 * MASS_KG * G / 4.0 / 0.15;
    assert!((travel * spring / (MASS_KG * G) - 1.0).abs() < 1e-6, "{travel}");
    let before = vec3(&sim, "v.position_m");
    sim.run_for(5.0);
    assert!((vec3(&sim, "v.position_m") - before).length() < 1e-6);
    assert!(vec3(&sim, "v.velocity_mps").length() < 1e-6);
}

/// Turn rate and speed of a steady curve at a steering angle, driven by a force.
fn curve(wheels: &str, steer_rad: f64, force_n: f64) -> (f64, f64) {
    let mut sim = vehicle("", &format!("{ON_GROUND}{wheels}"));
    steer_force(&mut sim, 0.0, 2.0 * force_n, 0.0);
    sim.run_for(4.0);
    steer_force(&mut sim, steer_rad, force_n, 0.0);
    sim.run_for(60.0);
    let (velocity, turn) = (vec3(&sim, "v.velocity_mps"), vec3(&sim, "v.angular_velocity_radps").z);
    (turn, velocity.length())
}

#[test]
fn slow_curves_have_the_radius_of_the_single_track_model() {
    let steer: f64 = 0.1;
    let (turn, speed) = curve("", steer, 45.0);
    let (radius, expected) = (speed / turn, BASE_M / steer.tan());
    assert!(speed > 0.5 && (radius / expected - 1.0).abs() < 0.02, "{radius} {expected} at {speed} m/s");
}

#[test]
fn understeer_is_that_of_the_single_track_model() {
    let axle = |stiffness: f64, x: f64, steered: bool| {
        format!(
            "{{name: l{x}, at_m: [{x}, 0.5, -0.35], mass_kg: 10, steered: {steered}, cornering_npr: {stiffness}}}, \
             {{name: r{x}, at_m: [{x}, -0.5, -0.35], mass_kg: 10, steered: {steered}, cornering_npr: {stiffness}}}"
        )
    };
    for (front, rear) in [(8000.0, 12000.0), (12000.0, 8000.0), (10000.0, 10000.0)] {
        let wheels = format!(", motion: {{wheels: [{}, {}]}}", axle(front, 0.65, true), axle(rear, -0.65, false));
        let steer: f64 = 0.01;
        let (turn, speed) = curve(&wheels, steer, 70.0);
        // weight is even, so K = m/(2 L) (L/2) (1/Cf - 1/Cr) with the stiffness of both wheels of an axle
        let gradient = MASS_KG * 0.5 * (1.0 / (2.0 * front) - 1.0 / (2.0 * rear));
        let expected = speed * steer / (BASE_M + gradient * speed * speed);
        assert!(speed > 4.0 && (turn / expected - 1.0).abs() < 0.02, "{front} {rear}: {turn} {expected} at {speed}");
    }
}

/// A vehicle that looks up a slope.
fn on_slope(slope_deg: f64) -> Simulation {
    let (sin, cos) = slope_deg.to_radians().sin_cos();
    let world = format!("ground: false, obstacles: {{hill: {{plane: true, at: {{rpy_deg: [0, {}, 0]}}}}}}", -slope_deg);
    let at = format!("at: {{xyz_m: [{}, 0, {}], rpy_deg: [0, {}, 0]}}", -0.6 * sin, 0.6 * cos, -slope_deg);
    vehicle(&world, &at)
}

#[test]
fn on_a_slope_of_ten_degrees_brakes_hold_and_a_force_climbs_as_the_balance_says() {
    let mut sim = on_slope(10.0);
    sim.run_for(2.0);
    let before = vec3(&sim, "v.position_m");
    sim.run_for(5.0);
    let crept = (vec3(&sim, "v.position_m") - before).length();
    assert!(crept < 1e-4, "{crept} m in 5 s");
    let force = 900.0;
    steer_force(&mut sim, 0.0, force, 0.0);
    sim.run_for(0.5);
    let (start, dt) = (vec3(&sim, "v.velocity_mps").length(), 1.0);
    sim.run_for(dt);
    let gained = (vec3(&sim, "v.velocity_mps").length() - start) / dt;
    let (sin, cos) = 10_f64.to_radians().sin_cos();
    // four wheels of 0.75 m r² turn along
    let inert_kg = MASS_KG + 4.0 * 0.75 * 10.0;
    let drag_n = 0.6 * (start + 0.5 * gained).powi(2);
    let expected = (force - MASS_KG * G * (sin + 0.01 * cos) - drag_n) / inert_kg;
    assert!((gained / expected - 1.0).abs() < 0.02, "{gained} {expected}");
    assert!(vec3(&sim, "v.velocity_mps").z > 0.0);
}

#[test]
fn locked_wheels_stop_it_after_v_squared_over_two_mu_g() {
    let mut sim = vehicle("", &format!("{ON_GROUND}, velocity_mps: [10, 0, 0], motion: {{brake_max_nm: 20000}}"));
    steer_force(&mut sim, 0.0, 0.0, 1e6);
    let start = vec3(&sim, "v.position_m").x;
    sim.run_for(4.0);
    let way = vec3(&sim, "v.position_m").x - start;
    let friction = 0.6_f64.sqrt();
    // the air brakes, too: m v dv/dx = -(µ m g + c v²)
    let (c, mu_g) = (0.6 / MASS_KG, friction * G);
    let expected = ((mu_g + c * 100.0) / mu_g).ln() / (2.0 * c);
    assert!((way / expected - 1.0).abs() < 0.02, "{way} {expected}");
}

#[test]
fn a_velocity_is_followed_and_a_ditch_is_felt_by_the_springs() {
    let mut sim = vehicle("obstacles: {bump: {box_size_m: [0.6, 4, 0.2], at: {xyz_m: [8, 0, 0]}}}", ON_GROUND);
    sim.command(Action::Setpoint { robot: "v".to_owned(), mode: setpoint::VELOCITY, values: [3.0, 0.0, 0.0, 0.0] });
    sim.run_for(1.5);
    assert!((vec3(&sim, "v.velocity_mps").x - 3.0).abs() < 0.1);
    let mut highest: f64 = 0.0;
    for _ in 0..200 {
        sim.run_for(0.01);
        highest = highest.max(vec3(&sim, "v.position_m").z);
    }
    assert!(highest > 0.65, "{highest}");
    assert!(vec3(&sim, "v.position_m").x > 9.5 && values(&sim, "v.contacts")[0] == 0.0);
}
