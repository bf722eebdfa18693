//! Helicopters with their control, closed through the whole simulator.

use muster::{Setup, Simulation};
use muster_core::command::Action;
use muster_core::lanes::setpoint;
use muster_scenario::text::Threads;

fn simulation(text: &str) -> Simulation {
    let setup = Setup { threads: Some(Threads::Count(1)), ..Setup::default() };
    Simulation::from_text(text, &setup).unwrap_or_else(|error| panic!("{error}"))
}

/// One RMAX of the library 20 m above the ground, with more keys of its own and of the world.
fn rmax(robot: &str, world: &str) -> Simulation {
    let text = "robots: [{name: h, kind: rmax, at: {xyz_m: [0, 0, 20]}";
    simulation(&format!("{{world: {{{world}}}, {text}, {robot}}}]}}"))
}

fn fly(sim: &mut Simulation, mode: f64, values: [f64; 4], seconds: f64, mut see: impl FnMut(f64, &Simulation)) {
    sim.command(Action::Setpoint { robot: "h".to_owned(), mode, values });
    for step in 1..=(seconds * 50.0) as u32 {
        sim.run_for(0.02);
        see(f64::from(step) * 0.02, sim);
    }
}

fn values<const N: usize>(sim: &Simulation, path: &str) -> [f64; N] {
    let values = sim.world().property(path).unwrap_or_else(|error| panic!("{error}"));
    values.try_into().expect("as many numbers")
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

fn rpy(sim: &Simulation) -> (f64, f64, f64) {
    let [x, y, z, w] = values(sim, "h.orientation");
    muster_core::math::rpy_from_quat(glam::DQuat::from_xyzw(x, y, z, w))
}

/// Roll and pitch.
fn tilt(sim: &Simulation) -> [f64; 2] {
    let (roll, pitch, _) = rpy(sim);
    [roll, pitch]
}

fn yaw(sim: &Simulation) -> f64 {
    rpy(sim).2
}

#[test]
fn it_holds_its_place_for_a_minute_and_in_wind() {
    for (world, limit_m) in [("", 0.3), ("wind: {mean_mps: [4, -3, 0]}", 2.5)] {
        let mut sim = rmax("", world);
        let (mut worst, mut late) = (0.0, 0.0);
        fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 20.0, 0.0], 60.0, |time, sim| {
            let error = distance(values(sim, "h.position_m"), [0.0, 0.0, 20.0]);
            worst = f64::max(worst, error);
            if time > 30.0 {
                late = f64::max(late, error);
            }
        });
        println!("{world:?}: worst {worst:.3} m, after 30 s {late:.3} m");
        assert!(worst < limit_m, "{worst}");
        assert!(late < 0.2, "{late}");
    }
}

#[test]
fn hover_takes_the_power_of_momentum_theory() {
    let mut sim = rmax("", "");
    fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 20.0, 0.0], 40.0, |_, _| ());
    let [power] = values(&sim, "h.motion.rotor_power_w");
    let weight: f64 = 80.0 * 9.80665;
    let area = std::f64::consts::PI * 1.5575 * 1.5575;
    let tip: f64 = 89.0 * 1.5575;
    let profile = 0.125 * (0.24 / (std::f64::consts::PI * 1.5575)) * 0.012 * 1.225 * area * tip.powi(3);
    let expected = 1.15 * weight * (weight / (2.0 * 1.225 * area)).sqrt() + profile;
    println!("hover {power:.0} W, momentum theory {expected:.0} W");
    // the tail rotor's push makes it lean by 3.5 degrees
    assert!((power / expected - 1.0).abs() < 0.005, "{power} {expected}");
}

#[test]
fn a_step_of_ten_metres_settles_with_little_overshoot() {
    for axis in 0..3 {
        let mut sim = rmax("", "");
        fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 20.0, 0.0], 10.0, |_, _| ());
        let mut target = [0.0, 0.0, 20.0];
        target[axis] += 10.0;
        let (mut settled, mut over, mut tilted) = (0.0, f64::MIN, 0.0);
        fly(&mut sim, setpoint::POSITION, [target[0], target[1], target[2], 0.0], 30.0, |time, sim| {
            let position = values(sim, "h.position_m");
            over = f64::max(over, position[axis] - target[axis]);
            tilted = tilt(sim).iter().fold(tilted, |most, angle| f64::max(most, angle.abs()));
            if distance(position, target) > 0.5 {
                settled = time;
            }
        });
        println!(
            "axis {axis}: within 0.5 m after {settled:.2} s, overshoot {over:.2} m, tilt {:.1} deg",
            tilted.to_degrees()
        );
        assert!(settled < 15.0, "{settled}");
        assert!(over < 1.5, "{over}");
        assert!(tilted < 0.42, "{tilted}");
    }
}

#[test]
fn an_attitude_is_kept() {
    let mut sim = rmax("", "");
    fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 20.0, 0.0], 10.0, |_, _| ());
    let (mut worst, mut turn) = (0.0, 0.0);
    let weight = 80.0 * 9.80665;
    fly(&mut sim, setpoint::ATTITUDE, [0.05, -0.08, 0.3, weight], 6.0, |time, sim| {
        let [roll, pitch] = tilt(sim);
        if time > 3.0 {
            worst = f64::max(worst, f64::max((roll - 0.05).abs(), (pitch + 0.08).abs()));
        }
        turn = values::<3>(sim, "h.angular_velocity_radps")[2];
    });
    println!("attitude within {:.2} deg, turn rate {turn:.3} rad/s", f64::to_degrees(worst));
    assert!(worst < 0.02, "{worst}");
    assert!((turn - 0.3).abs() < 0.03, "{turn}");
}

#[test]
fn velocities_and_courses_are_flown() {
    let mut sim = rmax("", "");
    fly(&mut sim, setpoint::VELOCITY, [5.0, 1.0, 0.5, 0.0], 25.0, |_, _| ());
    let [x, y, z] = values(&sim, "h.velocity_mps");
    let (sin, cos) = yaw(&sim).sin_cos();
    let found = [x * cos + y * sin, y * cos - x * sin, z];
    println!("velocity {found:?}, heading {:.3} rad", yaw(&sim));
    assert!(distance(found, [5.0, 1.0, 0.5]) < 0.1, "{found:?}");
    let height = values::<3>(&sim, "h.position_m")[2];
    fly(&mut sim, setpoint::COURSE, [2.0, height + 5.0, 6.0, 0.0], 40.0, |_, _| ());
    let [x, y, z] = values(&sim, "h.velocity_mps");
    assert!((x.hypot(y) - 6.0).abs() < 0.15 && (y.atan2(x) - 2.0).abs() < 0.05, "{x} {y}");
    assert!(z.abs() < 0.1 && (values::<3>(&sim, "h.position_m")[2] - height - 5.0).abs() < 0.3);
    assert!((yaw(&sim) - 2.0).abs() < 0.05, "{}", yaw(&sim));
}

#[test]
fn without_a_setpoint_it_sinks_and_recovers_when_told_to() {
    let mut sim = rmax("", "");
    fly(&mut sim, setpoint::NONE, [0.0; 4], 0.7, |_, _| ());
    assert!(values::<3>(&sim, "h.velocity_mps")[2] < -1.0);
    let mut lowest = f64::MAX;
    fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 20.0, 0.0], 40.0, |_, sim| {
        lowest = f64::min(lowest, values::<3>(sim, "h.position_m")[2]);
    });
    assert!(lowest > 5.0, "{lowest}");
    assert!(distance(values(&sim, "h.position_m"), [0.0, 0.0, 20.0]) < 0.3);
}

#[test]
fn a_helicopter_with_other_numbers_flies_with_gains_from_them() {
    let motion =
        "{kind: helicopter, rate_hz: 500, mass_kg: 60, rotor_clockwise: false, flap_s: 0.1, hub_stiffness_nm: 300}";
    let robot = format!("motion: &other {motion}, controller: {{kind: helicopter_control, helicopter: *other}}");
    let mut sim = rmax(&robot, "");
    fly(&mut sim, setpoint::POSITION, [5.0, 5.0, 22.0, 1.0], 40.0, |_, _| ());
    let error = distance(values(&sim, "h.position_m"), [5.0, 5.0, 22.0]);
    assert!(error < 0.1, "{error}");
}
