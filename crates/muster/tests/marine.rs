//! Boats and submarines with their control, closed through the whole simulator.

use muster::{Setup, Simulation};
use muster_core::command::Action;
use muster_core::lanes::setpoint;
use muster_scenario::text::Threads;

fn load(text: &str) -> Result<Simulation, String> {
    let setup = Setup { threads: Some(Threads::Count(1)), ..Setup::default() };
    Simulation::from_text(text, &setup).map_err(|error| error.to_string())
}

/// One robot of the library at a place, in water with more keys.
fn vessel(kind: &str, at: [f64; 3], water: &str) -> Simulation {
    let text = format!(
        "{{world: {{ground: false, water: {{{water}}}}}, robots: [{{name: v, kind: {kind}, at: {{xyz_m: {at:?}}}}}]}}"
    );
    load(&text).unwrap_or_else(|error| panic!("{error}"))
}

fn steer(sim: &mut Simulation, mode: f64, values: [f64; 4], seconds: f64, mut see: impl FnMut(f64, &Simulation)) {
    sim.command(Action::Setpoint { robot: "v".to_owned(), mode, values });
    for step in 1..=(seconds * 20.0) as u32 {
        sim.run_for(0.05);
        see(f64::from(step) * 0.05, sim);
    }
}

fn values<const N: usize>(sim: &Simulation, path: &str) -> [f64; N] {
    let values = sim.world().property(path).unwrap_or_else(|error| panic!("{error}"));
    values.try_into().expect("as many numbers")
}

fn yaw(sim: &Simulation) -> f64 {
    let [x, y, z, w] = values(sim, "v.orientation");
    muster_core::math::yaw_from_quat(glam::DQuat::from_xyzw(x, y, z, w))
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

#[test]
fn a_submarine_dives_to_its_depth_and_holds_it_within_twenty_centimetres() {
    for (water, limit_m) in [
        ("", 0.02),
        ("current_mps: [0.3, 0.1, 0.05]", 0.05),
        ("density_kgpm3: 1000, waves: {amplitude_m: 0.2, period_s: 4}", 0.2),
    ] {
        let mut sim = vessel("submarine", [0.0, 0.0, -1.0], water);
        let (mut settled, mut late) = (0.0, 0.0);
        steer(&mut sim, setpoint::POSITION, [0.0, 0.0, -6.0, 0.0], 90.0, |time, sim| {
            let error = (values::<3>(sim, "v.position_m")[2] + 6.0).abs();
            if error > 0.2 {
                settled = time;
            }
            if time > 40.0 {
                late = f64::max(late, error);
            }
        });
        println!("{water:?}: within 0.2 m after {settled:.1} s, within {late:.4} m after 40 s");
        assert!(settled < 25.0, "{settled}");
        assert!(late < limit_m, "{late}");
    }
}

#[test]
fn a_submarine_goes_anywhere_and_takes_its_heading() {
    let mut sim = vessel("submarine", [0.0, 0.0, -3.0], "current_mps: [0, 0.2, 0]");
    steer(&mut sim, setpoint::POSITION, [4.0, -3.0, -5.0, 1.5], 60.0, |_, _| ());
    let error = distance(values(&sim, "v.position_m"), [4.0, -3.0, -5.0]);
    assert!(error < 0.05 && (yaw(&sim) - 1.5).abs() < 0.02, "{error} {}", yaw(&sim));
}

#[test]
fn velocities_are_over_ground_in_the_frame_of_the_heading() {
    let mut sim = vessel("submarine", [0.0, 0.0, -5.0], "current_mps: [0.2, 0.1, 0]");
    steer(&mut sim, setpoint::VELOCITY, [0.5, 0.2, -0.1, 0.0], 20.0, |_, _| ());
    let [x, y, z] = values(&sim, "v.velocity_mps");
    let (sin, cos) = yaw(&sim).sin_cos();
    let found = [x * cos + y * sin, y * cos - x * sin, z];
    assert!(distance(found, [0.5, 0.2, -0.1]) < 0.03, "{found:?}");
}

#[test]
fn a_submarine_with_its_thrusters_off_rises_and_floats() {
    let mut sim = vessel("submarine", [0.0, 0.0, -3.0], "");
    steer(&mut sim, setpoint::NONE, [0.0; 4], 120.0, |_, _| ());
    let [_, _, height] = values(&sim, "v.position_m");
    // 13.5 kg of the 13.735 kg that it displaces are under water
    let expected = 0.117 - 0.254 * 13.5 / (1025.0 * 0.0134);
    assert!((height - expected).abs() < 0.002, "{height} {expected}");
    assert!(values::<1>(&sim, "v.depth.depth_m")[0] < 0.2);
}

#[test]
fn a_boat_drives_its_course_at_its_speed_and_floats_on_its_draught() {
    let mut sim = vessel("boat", [0.0, 0.0, 0.13], "");
    steer(&mut sim, setpoint::COURSE, [1.0, 0.0, 1.5, 0.0], 60.0, |_, _| ());
    let [x, y, _] = values(&sim, "v.velocity_mps");
    assert!((x.hypot(y) - 1.5).abs() < 0.02 && (yaw(&sim) - 1.0).abs() < 0.02, "{x} {y} {}", yaw(&sim));
    let [speed] = values(&sim, "v.log.water_speed_mps");
    assert!((speed - 1.5).abs() < 0.1, "{speed}");
    steer(&mut sim, setpoint::NONE, [0.0; 4], 60.0, |_, _| ());
    let [_, _, height] = values(&sim, "v.position_m");
    let expected = 0.2715 - 55.0 / (1025.0 * 2.0 * 2.0 * 0.1875);
    assert!((height - expected).abs() < 1e-3, "{height} {expected}");
}

#[test]
fn a_boat_reaches_its_top_speed_and_turns_on_the_spot() {
    let text = "{world: {ground: false, water: {}}, robots: [{name: v, kind: boat, controller: {speed_max_mps: 9}}]}";
    let mut sim = load(text).unwrap_or_else(|error| panic!("{error}"));
    steer(&mut sim, setpoint::COURSE, [0.0, 0.0, 9.0, 0.0], 40.0, |_, _| ());
    let [x, ..] = values::<3>(&sim, "v.velocity_mps");
    println!("top speed {x:.3} m/s, 6 knots are 3.086");
    assert!((x / 3.086 - 1.0).abs() < 0.02, "{x}");

    let mut sim = vessel("boat", [0.0, 0.0, 0.2], "");
    steer(&mut sim, setpoint::VELOCITY, [0.0, 0.0, 0.0, 0.3], 30.0, |_, _| ());
    let turn = values::<3>(&sim, "v.angular_velocity_radps")[2];
    assert!((turn - 0.3).abs() < 0.01, "{turn}");
    assert!(distance(values(&sim, "v.position_m"), [0.0, 0.0, 0.2]) < 0.5);
}

#[test]
fn a_boat_keeps_near_a_place_in_a_current() {
    let mut sim = vessel("boat", [0.0, 0.0, 0.2], "current_mps: [0.3, 0.2, 0]");
    let mut worst: f64 = 0.0;
    steer(&mut sim, setpoint::POSITION, [20.0, 10.0, 0.0, 0.0], 240.0, |time, sim| {
        let [x, y, _] = values(sim, "v.position_m");
        if time > 60.0 {
            worst = worst.max((x - 20.0).hypot(y - 10.0));
        }
    });
    println!("keeps within {worst:.2} m");
    assert!(worst < 4.0, "{worst}");
}

#[test]
fn without_water_a_boat_falls_and_lies_on_the_ground() {
    let mut sim =
        load("{robots: [{name: v, kind: boat, at: {xyz_m: [0, 0, 3]}}]}").unwrap_or_else(|error| panic!("{error}"));
    sim.run_for(0.5);
    let [_, _, speed] = values(&sim, "v.velocity_mps");
    assert!((speed + 0.5 * 9.80665).abs() < 0.05, "{speed}");
    sim.run_for(5.0);
    let [_, _, height] = values(&sim, "v.position_m");
    assert!((0.2..0.8).contains(&height), "{height}");
}

#[test]
fn wrong_water_and_vessels_are_refused_with_their_keys() {
    for (text, expected) in [
        ("{world: {water: {levl_m: 1}}}", "did you mean \"level_m\"?"),
        ("{world: {water: {density_kgpm3: -1}}}", "world.water.density_kgpm3"),
        ("{world: {water: {waves: {period_s: 0}}}}", "world.water.waves.period_s"),
        (
            "{robots: [{name: v, motion: {kind: marine, thrusters: [{direction: [0, 0, 0]}]}}]}",
            "thrusters[0].direction",
        ),
        ("{robots: [{name: v, motion: {kind: marine, hull: [{}]}}]}", "no size_m"),
        ("{robots: [{name: v, kind: boat, motion: {kind: point}}]}", "which commands thrust_n"),
    ] {
        let error = load(text).err().unwrap_or_else(|| panic!("{text} was taken"));
        assert!(error.contains(expected), "{text}: {error}");
    }
    assert!(load("{world: {water: {}}}").is_ok() && load("{world: {water: null}}").is_ok());
}
