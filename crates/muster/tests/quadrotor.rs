//! The flight control of quadrotors, closed through the whole simulator: sensors, integer inner loop, rotors.

use muster::{Setup, Simulation};
use muster_core::command::Action;
use muster_core::lanes::setpoint;
use muster_scenario::text::Threads;

fn simulation(text: &str) -> Simulation {
    let setup = Setup { threads: Some(Threads::Count(1)), ..Setup::default() };
    Simulation::from_text(text, &setup).unwrap_or_else(|error| panic!("{error}"))
}

/// One quadrotor of the library 2 m above the ground, with more keys of its own and of the world.
fn quadrotor(robot: &str, world: &str) -> Simulation {
    let text = "robots: [{name: q, kind: quadrotor, at: {xyz_m: [0, 0, 2]}";
    simulation(&format!("{{world: {{{world}}}, {text}, {robot}}}]}}"))
}

/// One quadrotor of the library, at a place.
fn quadrotor_at(at: &str) -> Simulation {
    simulation(&format!("{{robots: [{{name: q, kind: quadrotor, at: {{{at}}}}}]}}"))
}

fn fly(sim: &mut Simulation, mode: f64, values: [f64; 4], seconds: f64, mut see: impl FnMut(f64, &Simulation)) {
    sim.command(Action::Setpoint { robot: "q".to_owned(), mode, values });
    for step in 1..=(seconds * 100.0) as u32 {
        sim.run_for(0.01);
        see(f64::from(step) * 0.01, sim);
    }
}

fn vec3(sim: &Simulation, path: &str) -> [f64; 3] {
    let values = sim.world().property(path).unwrap_or_else(|error| panic!("{error}"));
    values.try_into().expect("three numbers")
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

#[test]
fn a_step_of_one_metre_settles_in_three_seconds_with_little_overshoot() {
    for (axis, name) in ["forward", "left", "up"].into_iter().enumerate() {
        let mut sim = quadrotor("", "");
        let mut target = [0.0, 0.0, 2.0];
        fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 2.0, 0.0], 3.0, |_, _| ());
        target[axis] += 1.0;
        let (mut settled, mut highest) = (0.0, f64::MIN);
        fly(&mut sim, setpoint::POSITION, [target[0], target[1], target[2], 0.0], 6.0, |time, sim| {
            let position = vec3(sim, "q.position_m");
            highest = f64::max(highest, position[axis] - target[axis]);
            if distance(position, target) > 0.05 {
                settled = time;
            }
        });
        println!("step {name}: settled within 5 cm after {settled:.2} s, overshoot {:.1} %", 100.0 * highest);
        assert!(settled < 3.0, "{name}: {settled} s");
        assert!(highest < 0.2, "{name}: {highest} m");
    }
}

#[test]
fn hover_holds_within_five_centimetres_for_a_minute() {
    let mut sim = quadrotor("", "");
    let mut worst = 0.0;
    fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 2.0, 0.0], 60.0, |_, sim| {
        worst = f64::max(worst, distance(vec3(sim, "q.position_m"), [0.0, 0.0, 2.0]));
    });
    println!("hover: worst error {:.1} mm", 1e3 * worst);
    assert!(worst < 0.05, "{worst} m");
}

#[test]
fn an_attitude_is_held_with_its_turn_rate_and_thrust() {
    let mut sim = quadrotor("", "");
    let weight = 0.716 * 9.80665;
    fly(&mut sim, setpoint::ATTITUDE, [0.1, -0.05, 0.5, weight], 1.5, |_, _| ());
    let values = sim.world().property("q.orientation").expect("an orientation");
    let [x, y, z, w] = values.try_into().expect("four numbers");
    let (roll, pitch, _) = muster_core::math::rpy_from_quat(glam::DQuat::from_xyzw(x, y, z, w));
    assert!((roll - 0.1).abs() < 0.01 && (pitch + 0.05).abs() < 0.01, "{roll} {pitch}");
    let turn = vec3(&sim, "q.angular_velocity_radps")[2];
    assert!((turn - 0.5).abs() < 0.03, "{turn}");
}

#[test]
fn wind_does_not_push_it_off_its_place() {
    let mut sim = quadrotor("", "wind: {mean_mps: [3, 0, 0]}");
    let (mut worst, mut later) = (0.0, 0.0);
    fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 2.0, 0.0], 30.0, |time, sim| {
        let error = distance(vec3(sim, "q.position_m"), [0.0, 0.0, 2.0]);
        worst = f64::max(worst, error);
        if time > 5.0 {
            later = f64::max(later, error);
        }
    });
    println!("wind of 3 m/s: worst error {:.1} mm, after 5 s {:.1} mm", 1e3 * worst, 1e3 * later);
    assert!(later < 0.1, "{later} m");
}

/// Tilt of the body, in degrees.
fn tilt_deg(sim: &Simulation) -> f64 {
    let orientation = sim.world().pose("q").expect("a living robot").orientation;
    (orientation * glam::DVec3::Z).z.clamp(-1.0, 1.0).acos().to_degrees()
}

#[test]
fn a_far_setpoint_is_flown_to_within_the_limits_of_tilt_and_speed() {
    let mut sim = quadrotor("controller: {tilt_max_deg: 20, speed_max_mps: 3, climb_max_mps: 1}", "");
    let (mut tilt, mut speed, mut climb) = (0.0, 0.0, 0.0);
    fly(&mut sim, setpoint::POSITION, [15.0, 20.0, 7.0, 0.0], 15.0, |_, sim| {
        tilt = f64::max(tilt, tilt_deg(sim));
        let velocity = vec3(sim, "q.velocity_mps");
        speed = f64::max(speed, velocity[0].hypot(velocity[1]));
        climb = f64::max(climb, velocity[2]);
    });
    println!("far: tilt {tilt:.1}°, speed {speed:.2} m/s, climb {climb:.2} m/s");
    assert!((15.0..22.0).contains(&tilt), "{tilt}");
    assert!((2.8..3.3).contains(&speed), "{speed}");
    assert!((0.9..1.3).contains(&climb), "{climb}");
    assert!(distance(vec3(&sim, "q.position_m"), [15.0, 20.0, 7.0]) < 0.05);
}

#[test]
fn velocities_are_in_the_frame_of_the_heading_and_turning_does_not_mix_them() {
    let mut sim = quadrotor("", "");
    // with a turn of ω the path is a circle of radius v / ω
    fly(&mut sim, setpoint::VELOCITY, [1.0, 0.0, 0.25, 0.5], 10.0, |_, _| ());
    let ([vx, vy, vz], yaw) = (vec3(&sim, "q.velocity_mps"), {
        let orientation = sim.world().pose("q").expect("a living robot").orientation;
        muster_core::math::yaw_from_quat(orientation)
    });
    let (forward, left) = (vx * yaw.cos() + vy * yaw.sin(), vy * yaw.cos() - vx * yaw.sin());
    println!("turning: forward {forward:.3}, left {left:.3}, up {vz:.3} m/s");
    assert!((forward - 1.0).abs() < 0.1 && left.abs() < 0.2 && (vz - 0.25).abs() < 0.02);
    let turned = muster_core::math::wrap_angle(yaw - 5.0);
    assert!(turned.abs() < 0.15, "turned to {yaw} rad, {turned} from the integral of its rate");
}

#[test]
fn a_heading_behind_is_turned_to_and_a_course_is_flown_along_the_nose() {
    let mut sim = quadrotor("", "");
    fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 2.0, 3.1], 4.0, |_, _| ());
    let yaw = |sim: &Simulation| muster_core::math::yaw_from_quat(sim.world().pose("q").expect("alive").orientation);
    assert!((yaw(&sim) - 3.1).abs() < 0.02, "{}", yaw(&sim));
    assert!(distance(vec3(&sim, "q.position_m"), [0.0, 0.0, 2.0]) < 0.02);
    fly(&mut sim, setpoint::COURSE, [-1.57, 3.0, 2.0, 0.0], 8.0, |_, _| ());
    let [vx, vy, _] = vec3(&sim, "q.velocity_mps");
    assert!(vx.abs() < 0.1 && (vy + 2.0).abs() < 0.1, "{vx} {vy}");
    assert!((yaw(&sim) + 1.57).abs() < 0.02 && (vec3(&sim, "q.position_m")[2] - 3.0).abs() < 0.02);
}

#[test]
fn without_a_setpoint_the_rotors_stop_and_it_falls_until_it_is_told_to_fly_again() {
    let mut sim = quadrotor_at("xyz_m: [0, 0, 50]");
    fly(&mut sim, setpoint::NONE, [0.0; 4], 1.0, |_, _| ());
    assert!(sim.world().property("q.input.rotor_speed_radps").expect("inputs").iter().all(|&speed| speed == 0.0));
    assert!(vec3(&sim, "q.velocity_mps")[2] < -7.0);
    fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 40.0, 0.0], 8.0, |_, _| ());
    assert!(distance(vec3(&sim, "q.position_m"), [0.0, 0.0, 40.0]) < 0.05);
}

#[test]
fn direct_inputs_are_left_alone_and_the_attitude_is_known_afterwards() {
    let mut sim = quadrotor_at("xyz_m: [0, 0, 50]");
    let path = "q.input.rotor_speed_radps".to_owned();
    sim.command(Action::Set { path: path.clone(), values: vec![480.0, 440.0, 440.0, 480.0] });
    fly(&mut sim, setpoint::DIRECT, [0.0; 4], 0.4, |_, _| ());
    assert_eq!(sim.world().property(&path).expect("inputs"), [480.0, 440.0, 440.0, 480.0]);
    assert!(tilt_deg(&sim) > 30.0, "it rolled: {}", tilt_deg(&sim));
    fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 50.0, 0.0], 6.0, |_, _| ());
    assert!(distance(vec3(&sim, "q.position_m"), [0.0, 0.0, 50.0]) < 0.05);
}

#[test]
fn a_start_in_the_air_may_be_tilted() {
    let mut sim = quadrotor_at("xyz_m: [0, 0, 10], rpy_deg: [25, -20, 100]");
    fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 10.0, 1.0], 5.0, |_, _| ());
    assert!(distance(vec3(&sim, "q.position_m"), [0.0, 0.0, 10.0]) < 0.05);
}

#[test]
fn a_biased_gyroscope_is_learnt_on_the_ground() {
    let biased = "motion: {start_rotors: rest}, controller: {hold_at_start: false}, sensors: {imu: {gyro_bias_radps: [0.05, -0.04, 0.03], accel_bias_std_mps2: 0.3}}";
    let text = format!("{{robots: [{{name: q, kind: quadrotor, at: {{xyz_m: [0, 0, 0.25]}}, {biased}}}]}}");
    let mut sim = simulation(&text);
    sim.run_for(2.0);
    let mut late = 0.0;
    fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 5.0, 0.0], 20.0, |time, sim| {
        if time > 8.0 {
            late = f64::max(late, distance(vec3(sim, "q.position_m"), [0.0, 0.0, 5.0]));
        }
    });
    assert!(late < 0.05, "{late}");
}

/// Numbers of the size of a Crazyflie 2, a twenty-fifth of the Hummingbird's weight.
#[test]
fn another_airframe_flies_with_its_own_numbers_and_the_same_gains() {
    let airframe = "mass_kg: 0.028, arm_m: 0.046, inertia_kgm2: [1.66e-5, 1.66e-5, 2.93e-5], \
                    thrust_square_ns2: 2.13e-8, moment_ratio_m: 0.006, rotor_max_radps: 2500";
    let text = format!(
        "motion: {{{airframe}, rotor_drag_kg: 2e-7, body_drag_kgpm: 0.001}}, controller: {{{airframe}}}, \
         shape: {{sphere_radius_m: 0.06}}"
    );
    let mut sim = quadrotor(&text, "");
    fly(&mut sim, setpoint::POSITION, [1.0, 0.0, 2.0, 0.0], 4.0, |_, _| ());
    assert!(distance(vec3(&sim, "q.position_m"), [1.0, 0.0, 2.0]) < 0.05, "{:?}", vec3(&sim, "q.position_m"));
}

#[test]
fn what_cannot_fly_is_refused_with_its_name() {
    let refused = |robot: &str, parts: &[&str]| {
        let text = format!("{{robots: [{{name: q, {robot}}}]}}");
        let error = match Simulation::from_text(&text, &Setup::default()) {
            Ok(_) => panic!("{robot} was accepted"),
            Err(error) => error.rendered,
        };
        for part in parts {
            assert!(error.contains(part), "{part} is not in {error}");
        }
    };
    let control = |more: &str| format!("kind: quadrotor, controller: {{kind: flight_control, {more}}}");
    refused("kind: quadrotor, motion: {kind: point}", &["controller", "rotor_speed_radps", "motion \"point\""]);
    refused(&control("arm_m: 0"), &["controller.arm_m", "found 0", "0.001"]);
    refused(
        &control("inertia_kgm2: [4, 4, 4], arm_m: 0.001, thrust_square_ns2: 1e-10"),
        &["controller", "rotor speed for roll"],
    );
    refused(&control("rate_hz: 50"), &["controller.rate_hz", "200 to 2000 Hz"]);
    refused("motion: {kind: quadrotor}, controller: {kind: flight_control}", &["no sensor \"imu\""]);
}
