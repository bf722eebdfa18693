//! Robots on the ground, closed loop, as a scenario runs them.

use glam::DVec3;
use muster::run::{RunOptions, Unwatched, run};
use muster::{Setup, Simulation};
use muster_core::command::Action;
use muster_core::lanes::setpoint;
use muster_core::math;
use muster_core::time::SimTime;

fn simulation(text: &str) -> Simulation {
    Simulation::from_text(text, &Setup::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn vector(sim: &Simulation, path: &str) -> DVec3 {
    DVec3::from_slice(&sim.world().property(path).unwrap_or_else(|error| panic!("{error}")))
}

fn number(sim: &Simulation, path: &str) -> f64 {
    sim.world().number(path).unwrap_or_else(|| panic!("no {path}"))
}

fn yaw(sim: &Simulation) -> f64 {
    math::yaw_from_quat(sim.world().pose("r").expect("the robot").orientation)
}

fn pitch(sim: &Simulation) -> f64 {
    math::rpy_from_quat(sim.world().pose("r").expect("the robot").orientation).1
}

fn velocity(sim: &mut Simulation, values: [f64; 4]) {
    sim.command(Action::Setpoint { robot: "r".to_owned(), mode: setpoint::VELOCITY, values });
}

/// The time by which `value` stays within `band` of its end, in a run of so many seconds.
fn settled_s(sim: &mut Simulation, seconds: f64, (end, band): (f64, f64), value: impl Fn(&Simulation) -> f64) -> f64 {
    let mut settled = 0.0;
    for step in 1..=(seconds * 100.0) as u32 {
        sim.run_for(0.01);
        if (value(sim) - end).abs() > band {
            settled = 0.01 * f64::from(step);
        }
    }
    settled
}

const ALL: [&str; 7] = ["atrv", "pioneer", "neobotix", "omni", "tracked_robot", "segway", "car"];

/// How each robot goes to a place.
fn goto(kind: &str) -> &'static str {
    match kind {
        "neobotix" | "omni" => "by: strafe",
        "car" => "by: pursuit, turn_radius_m: 4.5",
        _ => "by: velocity",
    }
}

#[test]
fn l05_a_metre_a_second_for_two_seconds_is_two_metres() {
    for kind in ALL.iter().filter(|kind| **kind != "segway") {
        // none of them is at its speed at once; those that cannot go that fast go as fast as they can
        let mut sim = simulation(&format!("{{robots: [{{name: r, kind: {kind}}}]}}"));
        velocity(&mut sim, [1.0, 0.0, 0.0, 0.0]);
        sim.run_for(1.0);
        let (from, speed) = (vector(&sim, "r.position_m"), vector(&sim, "r.velocity_mps").x);
        sim.run_for(2.0);
        let way = vector(&sim, "r.position_m") - from;
        let expected = if *kind == "neobotix" { 0.9 } else { 1.0_f64 };
        assert!((speed - expected).abs() < 0.07, "{kind}: {speed} m/s");
        assert!((way - DVec3::new(2.0 * expected, 0.0, 0.0)).length() < 0.1, "{kind}: {way}");
    }
}

#[test]
fn l05_the_atrv_is_two_metres_on_after_two_seconds_from_rest() {
    let mut sim = simulation("{robots: [{name: r, kind: atrv, motion: {wheel_accel_max_radps2: 100}}]}");
    velocity(&mut sim, [1.0, 0.0, 0.0, 0.0]);
    sim.run_for(2.0);
    assert!((vector(&sim, "r.position_m") - DVec3::new(2.0, 0.0, 0.0)).length() < 0.1);
}

#[test]
fn l06_every_robot_goes_to_a_place_named_in_the_scenario() {
    for kind in ALL {
        let driver = format!("{{kind: goto, to_m: [4, 2, 0], tolerance_m: 0.5, speed_mps: 1, {}}}", goto(kind));
        let mut sim = simulation(&format!("{{robots: [{{name: r, kind: {kind}, driver: {driver}}}]}}"));
        sim.run_for(10.0);
        let off = vector(&sim, "r.position_m") - DVec3::new(4.0, 2.0, 0.0);
        assert!(off.truncate().length() <= 0.5, "{kind}: {off}");
        assert_eq!(number(&sim, "r.driver.status"), 1.0, "{kind} has arrived");
    }
}

#[test]
fn l06_a_destination_is_commanded_while_it_runs() {
    for kind in ALL {
        let text = format!("{{robots: [{{name: r, kind: {kind}, driver: {{kind: goto, {}}}}}]}}", goto(kind));
        let mut sim = simulation(&text);
        sim.run_for(1.0);
        assert!(vector(&sim, "r.position_m").length() < 1e-6, "{kind} stays where nothing is commanded");
        let values = [4.0, 2.0, 0.0, 0.0];
        sim.command(Action::Setpoint { robot: "r".to_owned(), mode: setpoint::POSITION, values });
        sim.run_for(0.1);
        assert_eq!(number(&sim, "r.driver.status"), 0.0, "{kind} is on its way");
        sim.run_for(9.9);
        let off = vector(&sim, "r.position_m") - DVec3::new(4.0, 2.0, 0.0);
        assert!(off.truncate().length() <= 0.5, "{kind}: {off}");
        // and on, by the property
        sim.command(Action::Set { path: "r.driver.destination_m".to_owned(), values: vec![20.0, 6.0, 0.0] });
        sim.command(Action::Set { path: "r.driver.tolerance_m".to_owned(), values: vec![1.0] });
        sim.run_for(30.0);
        assert_eq!(number(&sim, "r.driver.status"), 1.0, "{kind} has arrived again");
        let off = vector(&sim, "r.position_m") - DVec3::new(20.0, 6.0, 0.0);
        assert!(off.truncate().length() <= 1.0, "{kind}: {off}");
        assert_eq!(sim.world_mut().take_refusals(), [""; 0]);
    }
}

#[test]
fn a_car_reaches_places_inside_its_turning_circle() {
    for (x, y) in [(0.0, 2.0), (-1.0, -3.0), (-5.0, 0.0), (1.0, 4.0)] {
        let driver = format!(
            "{{kind: goto, to_m: [{x}, {y}, 0], tolerance_m: 0.7, speed_mps: 2, by: pursuit, turn_radius_m: 4.5}}"
        );
        let mut sim = simulation(&format!("{{robots: [{{name: r, kind: car, driver: {driver}}}]}}"));
        sim.run_for(40.0);
        assert_eq!(number(&sim, "r.driver.status"), 1.0, "{x} {y}: {}", vector(&sim, "r.position_m"));
    }
}

#[test]
fn a_pursuing_car_keeps_to_the_straight_way_between_places() {
    let driver = "{kind: waypoints, by: pursuit, points_m: [[40, 0], [40, 40]], speed_mps: 3, lookahead_m: 4, \
                  turn_radius_m: 4.5, tolerance_m: 1}";
    let text = format!("{{robots: [{{name: r, kind: car, at: {{xyz_m: [0, 2, 0]}}, driver: {driver}}}]}}");
    let mut sim = simulation(&text);
    sim.run_for(10.0);
    // 30 m on it is on the line from its start to the first place, and looks along it
    let at = vector(&sim, "r.position_m");
    assert!((at.y - 2.0 * (1.0 - at.x / 40.0)).abs() < 0.05, "{at}");
    sim.run_for(15.0);
    let at = vector(&sim, "r.position_m");
    assert!((at.x - 40.0).abs() < 0.1 && at.y > 25.0, "{at}");
    sim.run_for(5.0);
    assert_eq!(number(&sim, "r.driver.status"), 1.0, "{at}");
    let at = vector(&sim, "r.position_m");
    assert!((at.x - 40.0).abs() < 0.5, "{at}");
}

#[test]
fn encoders_count_the_way_of_each_wheel() {
    // straight on: every wheel has the same way
    for (kind, sensor, wheels, radius_m, ticks) in [
        ("pioneer", "wheels", 2, 0.0975, 76600.0),
        ("neobotix", "wheels", 4, 0.127, 10000.0),
        ("car", "wheels", 2, 0.31, 96.0),
        ("segway", "wheels", 2, 0.24, 4096.0),
    ] {
        let mut sim = simulation(&format!("{{robots: [{{name: r, kind: {kind}}}]}}"));
        velocity(&mut sim, [0.8, 0.0, 0.0, 0.0]);
        sim.run_for(10.0);
        let counts = sim.world().property(&format!("r.{sensor}.ticks")).expect("counts");
        assert_eq!(counts.len(), wheels);
        // a leaning body turns against its wheels
        let turned = vector(&sim, "r.position_m").x / radius_m - pitch(&sim);
        let expected = turned / std::f64::consts::TAU * ticks;
        for count in counts {
            // the pioneer's wheels are integrated, which misses at most a ∆t²/8 at each end of its one ramp
            let slack = if kind == "pioneer" { 10.0 * 0.02 * 0.02 / 4.0 / std::f64::consts::TAU * ticks } else { 0.0 };
            assert!((count - expected).abs() <= 1.0 + slack, "{kind}: {count}, expected {expected}");
        }
    }
}

#[test]
fn encoders_on_slipping_tracks_count_more_than_the_way() {
    let mut sim = simulation("{robots: [{name: r, kind: tracked_robot}]}");
    velocity(&mut sim, [0.0, 0.0, 0.0, 1.0]);
    sim.run_for(5.0);
    let counts = sim.world().property("r.tracks.ticks").expect("counts");
    let rolled = |count: f64| count / 2000.0 * std::f64::consts::TAU * 0.09;
    // sprockets ramp at 30 rad/s² to the speed of a radian a second about centres of rotation 0.3 m away at 0.95
    let sprocket = 0.3 / 0.95 / 0.09;
    let turned = 5.0 - 0.5 * sprocket / 30.0;
    assert!((math::wrap_angle(turned) - yaw(&sim)).abs() < 1e-9, "{}", yaw(&sim));
    let way = turned * 0.3 / 0.95;
    assert!((rolled(counts[1]) - way).abs() < 3e-4 && (rolled(counts[0]) + way).abs() < 3e-4, "{counts:?} {way}");
}

#[test]
fn an_encoder_on_a_wheel_that_does_not_exist_is_refused_by_name() {
    let text = "{robots: [{name: r, kind: car, sensors: {wheels: {kind: wheel_encoder, wheels: [rear_lef]}}}]}";
    let error = Simulation::from_text(text, &Setup::default()).err().expect("a problem").to_string();
    assert!(error.contains("rear_lef") && error.contains("rear_left") && error.contains("front_right"), "{error}");
}

#[test]
fn a_car_is_driven_by_steering_and_forces() {
    let mut sim = simulation(
        "{robots: [{name: r, kind: car, motion: {rear_axle_m: 0, rolling_resistance: 0, drag_area_m2: 0}}]}",
    );
    let force = |sim: &mut Simulation, values| {
        sim.command(Action::Setpoint { robot: "r".to_owned(), mode: setpoint::STEER_FORCE, values });
    };
    force(&mut sim, [0.0, 2600.0, 0.0, 0.0]);
    sim.run_for(3.0);
    // 2 m/s² for 3 s
    assert!((vector(&sim, "r.velocity_mps").x - 6.0).abs() < 1e-6);
    force(&mut sim, [0.3, 0.0, 0.0, 0.0]);
    sim.run_for(2.0);
    let (speed, turn) = (vector(&sim, "r.velocity_mps").length(), vector(&sim, "r.angular_velocity_radps").z);
    assert!((speed / turn - 2.6 / math::tan(0.3)).abs() < 1e-6, "radius {}", speed / turn);
    force(&mut sim, [0.3, 0.0, 5200.0, 0.0]);
    sim.run_for(2.0);
    assert_eq!(vector(&sim, "r.velocity_mps").length(), 0.0, "6 m/s at 4 m/s² are 1.5 s");
}

#[test]
fn a_segway_holds_upright_and_does_not_wander() {
    let mut sim = simulation("{robots: [{name: r, kind: segway}]}");
    sim.run_for(60.0);
    assert!(pitch(&sim).abs() < 1e-9 && vector(&sim, "r.position_m").length() < 1e-6);
}

#[test]
fn a_segway_returns_from_a_tilt() {
    for tilt_deg in [-12.0, 5.0, 12.0_f64] {
        let text = format!("{{robots: [{{name: r, kind: segway, at: {{rpy_deg: [0, {tilt_deg}, 0]}}}}]}}");
        let mut sim = simulation(&text);
        assert!((pitch(&sim) - tilt_deg.to_radians()).abs() < 1e-9);
        let settled = settled_s(&mut sim, 6.0, (0.0, 0.01), pitch);
        assert!(settled < 2.0, "{tilt_deg}: {settled} s");
        assert!(vector(&sim, "r.velocity_mps").length() < 0.01);
    }
}

#[test]
fn a_segway_falls_without_its_controller_and_switches_off_when_fallen() {
    let mut sim = simulation("{robots: [{name: r, kind: segway, controller: null, at: {rpy_deg: [0, 1, 0]}}]}");
    sim.run_for(3.0);
    assert!((pitch(&sim) - 1.2).abs() < 1e-6, "{}", pitch(&sim));
    let mut sim = simulation("{robots: [{name: r, kind: segway, at: {rpy_deg: [0, 60, 0]}}]}");
    sim.run_for(3.0);
    assert_eq!(number(&sim, "r.input.torque_left_nm"), 0.0);
    assert_eq!(vector(&sim, "r.velocity_mps").length(), 0.0);
}

#[test]
fn a_segway_follows_speed_and_turn_rate_without_overshoot() {
    let mut sim = simulation("{robots: [{name: r, kind: segway, motion: {friction_nms: 0.5}}]}");
    let speed = |sim: &Simulation| {
        let heading = math::quat_from_yaw(yaw(sim));
        math::rotate_inverse(heading, vector(sim, "r.velocity_mps")).x
    };
    velocity(&mut sim, [1.5, 0.0, 0.0, 0.0]);
    let mut most: f64 = 0.0;
    let mut leaned: f64 = 0.0;
    for _ in 0..500 {
        sim.run_for(0.01);
        most = most.max(speed(&sim));
        leaned = leaned.max(pitch(&sim).abs());
    }
    assert!(most < 1.5 * 1.05 && leaned < 0.25, "{most} m/s, {leaned} rad");
    assert!((speed(&sim) - 1.5).abs() < 0.01, "{}", speed(&sim));
    velocity(&mut sim, [1.5, 0.0, 0.0, 0.7]);
    let settled = settled_s(&mut sim, 5.0, (0.7, 0.035), |sim| vector(sim, "r.angular_velocity_radps").z);
    assert!(settled < 1.5 && (speed(&sim) - 1.5).abs() < 0.02, "{settled} s, {} m/s", speed(&sim));
    velocity(&mut sim, [0.0; 4]);
    let settled = settled_s(&mut sim, 6.0, (0.0, 0.05), speed);
    assert!(settled < 4.0, "{settled} s");
}

#[test]
fn a_small_segway_balances_with_gains_of_its_own_model() {
    let small = "body_mass_kg: 0.8, body_inertia_kgm2: [0.004, 0.0035, 0.001], centre_height_m: 0.07, \
                 wheel_mass_kg: 0.05, wheel_inertia_kgm2: 0.00003, wheel_radius_m: 0.034, wheel_gap_m: 0.17";
    let text = format!(
        "{{robots: [{{name: r, kind: segway, at: {{rpy_deg: [0, 6, 0]}}, shape: {{sphere_radius_m: 0.05}}, \
         motion: {{{small}, torque_max_nm: 0.5, friction_nms: 0}}, controller: {{{small}}}}}]}}"
    );
    let mut sim = simulation(&text);
    let settled = settled_s(&mut sim, 5.0, (0.0, 0.01), pitch);
    assert!(settled < 2.0 && vector(&sim, "r.velocity_mps").length() < 0.01, "{settled} s");
}

#[test]
fn m18_keys_of_a_script_drive_a_robot() {
    let driver = "{kind: keyboard, rate_hz: 100, speed_mps: 1, accel_mps2: 2, decay_mps2: 4, turn_radps: 1, \
                  keys: [{at_s: 1, press: up}, {at_s: 3, release: up}]}";
    let motion = "{wheel_accel_max_radps2: 1000}";
    let text = format!("{{robots: [{{name: r, kind: atrv, motion: {motion}, driver: {driver}}}]}}");
    let mut sim = simulation(&text);
    sim.run_for(1.0);
    assert_eq!(vector(&sim, "r.position_m"), DVec3::ZERO);
    sim.run_for(2.0);
    // half a second to a metre a second, then 1.5 s at it
    assert!((vector(&sim, "r.position_m").x - 1.75).abs() < 0.02, "{}", vector(&sim, "r.position_m"));
    sim.run_for(2.0);
    // a quarter of a second to rest
    assert!((vector(&sim, "r.position_m").x - 1.875).abs() < 0.02, "{}", vector(&sim, "r.position_m"));
    assert_eq!(vector(&sim, "r.velocity_mps"), DVec3::ZERO);
}

#[test]
fn m18_keys_are_pressed_while_it_runs() {
    let mut sim = simulation("{robots: [{name: r, kind: atrv, driver: {kind: keyboard}}]}");
    let press = |sim: &mut Simulation, keys: f64| {
        sim.command(Action::Set { path: "r.driver.pressed".to_owned(), values: vec![keys] });
    };
    sim.run_for(1.0);
    assert_eq!(vector(&sim, "r.position_m"), DVec3::ZERO);
    press(&mut sim, 1.0 + 4.0);
    sim.run_for(2.0);
    let velocity = vector(&sim, "r.velocity_mps").length();
    assert!((velocity - 1.0).abs() < 1e-9 && (vector(&sim, "r.angular_velocity_radps").z - 1.0).abs() < 1e-9);
    press(&mut sim, 2.0);
    sim.run_for(2.0);
    let forward = math::rotate_inverse(math::quat_from_yaw(yaw(&sim)), vector(&sim, "r.velocity_mps")).x;
    assert!((forward + 1.0).abs() < 1e-9, "{forward}");
    // up and down at once are none
    press(&mut sim, 3.0);
    sim.run_for(1.0);
    assert_eq!(vector(&sim, "r.velocity_mps"), DVec3::ZERO);
}

/// How fast they run is for `muster bench atrv-15` to say.
#[test]
fn x21_fifteen_atrv_have_every_sensor_at_its_rate() {
    let mut sim = simulation(include_str!("../../../benches/scenarios/atrv-15.yaml"));
    let span = SimTime::from_s(3.0);
    let options = RunOptions { rtf: None, span, windows: None, timeout: None, require_rt: false };
    let (report, _) = run(&mut sim, &options, &false.into(), &mut Unwatched);
    let mut names: Vec<&str> = report.sensors.iter().map(|sensor| sensor.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["atrv.gps", "atrv.imu", "atrv.odometry", "atrv.truth"]);
    assert!(report.sensors.iter().all(|sensor| (sensor.count, sensor.achieved_hz) == (15, 60.0)));
    for at in 0..15 {
        assert!(vector(&sim, &format!("atrv{at}.velocity_mps")).length() > 0.3, "atrv{at} drives");
    }
}

#[test]
fn b01_every_ground_platform_is_in_the_library_and_runs() {
    let robots: Vec<String> = ALL
        .iter()
        .enumerate()
        .map(|(at, kind)| format!("{{name: {kind}0, kind: {kind}, at: {{xyz_m: [0, {}, 0]}}}}", 10 * at))
        .collect();
    let mut sim = simulation(&format!("{{robots: [{}]}}", robots.join(", ")));
    sim.run_for(1.0);
    assert_eq!(sim.world().robots().count(), ALL.len());
    for kind in ALL {
        assert!(muster::library::names("robots").any(|name| name == kind), "{kind}");
    }
}
