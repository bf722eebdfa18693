//! Figures and fixtures: robots that walk by their joints, humans, doors, lifts, pan-tilt units, and what feels joints
//! and contacts; through the whole simulator.

use glam::{DQuat, DVec3};
use muster::{Setup, Simulation};
use muster_core::command::Action;
use muster_core::component::Pose;
use muster_core::lanes::setpoint;
use muster_core::math;

fn simulation(text: &str) -> Simulation {
    Simulation::from_text(text, &Setup::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn one(robot: &str) -> Simulation {
    simulation(&format!("{{robots: [{{name: r, {robot}}}]}}"))
}

fn refusal(text: &str) -> String {
    match Simulation::from_text(text, &Setup::default()) {
        Ok(_) => panic!("not refused"),
        Err(error) => error.to_string(),
    }
}

fn values(sim: &Simulation, path: &str) -> Vec<f64> {
    sim.world().property(path).unwrap_or_else(|error| panic!("{error}"))
}

fn number(sim: &Simulation, path: &str) -> f64 {
    values(sim, path)[0]
}

fn vector(sim: &Simulation, path: &str) -> DVec3 {
    DVec3::from_slice(&values(sim, path))
}

fn pose(sim: &Simulation, path: &str) -> Pose {
    let v = values(sim, path);
    Pose { position_m: DVec3::new(v[0], v[1], v[2]), orientation: DQuat::from_xyzw(v[3], v[4], v[5], v[6]) }
}

fn set(sim: &mut Simulation, path: &str, values: &[f64]) {
    sim.command(Action::Set { path: path.to_owned(), values: values.to_vec() });
}

fn velocity(sim: &mut Simulation, speed: f64, turn: f64) {
    let values = [speed, 0.0, 0.0, turn];
    sim.command(Action::Setpoint { robot: "r".to_owned(), mode: setpoint::VELOCITY, values });
}

/// The lowest point of a sole, given its middle in the frame of the foot and its size.
fn lowest(foot: &Pose, middle: DVec3, [length, width]: [f64; 2]) -> f64 {
    let corners = [(0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5)];
    let height = |(a, b): (f64, f64)| foot.then(&at(middle + DVec3::new(a * length, b * width, 0.0))).position_m.z;
    corners.map(height).into_iter().fold(f64::INFINITY, f64::min)
}

fn at(position_m: DVec3) -> Pose {
    Pose { position_m, ..Pose::IDENTITY }
}

/// A figure of the library with its soles.
const FIGURES: [(&str, f64, f64, [f64; 2], f64); 2] =
    [("biped", 0.01, -0.0335, [0.104, 0.066], 0.24), ("human", 0.07, -0.068, [0.266, 0.096], 1.2)];

const FEET: [&str; 2] = ["r.frame.left_foot", "r.frame.right_foot"];

// M02, L04
#[test]
fn the_foot_a_biped_stands_on_never_moves_the_lower_one_is_on_the_ground_and_it_swaps_once_a_step() {
    for (kind, ahead, below, size, speed) in FIGURES {
        let mut sim = one(&format!("kind: {kind}, at: {{xyz_m: [3, -2, 0], yaw_deg: 30}}"));
        velocity(&mut sim, speed, 0.2);
        let sole = DVec3::new(ahead, 0.0, below);
        let (mut last, mut lifts, mut worst, mut tilt) = (None, [0.0; 2], 0.0_f64, 0.0_f64);
        let (mut steps, mut swaps) = (0.0, 0.0);
        for _ in 0..1980 {
            sim.run_for(0.005);
            let feet = FEET.map(|foot| pose(&sim, foot));
            let low = lowest(&feet[0], sole, size).min(lowest(&feet[1], sole, size));
            assert!(low.abs() < 1e-9, "{kind}: {low}");
            let stance = number(&sim, "r.motion.stance") as usize;
            if let Some((before, foot)) = last.replace((stance, feet[stance]))
                && before == stance
            {
                let foot: Pose = foot;
                worst = worst.max((foot.position_m - feet[stance].position_m).length());
                worst = worst.max((foot.orientation - feet[stance].orientation).length());
            }
            // a step is a foot that was lifted
            let lift = values(&sim, "r.controller.lift_m");
            steps += (0..2).filter(|&leg| lift[leg] > 0.0 && lifts[leg] == 0.0).count() as f64;
            swaps = number(&sim, "r.motion.swaps");
            lifts = [lift[0], lift[1]];
            let (roll, pitch, _) = math::rpy_from_quat(sim.world().pose("r").unwrap().orientation);
            tilt = tilt.max(roll.abs()).max(pitch.abs());
        }
        assert!(worst < 1e-12, "{kind}: the foot moved by {worst}");
        assert!(tilt < 1e-12, "{kind}: the base tilted by {tilt}");
        // the first step is made by the foot it does not stand on
        assert!(steps > 15.0 && swaps == steps - 1.0, "{kind}: {swaps} swaps, {steps} steps");
    }
}

// M02
#[test]
fn any_joint_trajectory_keeps_the_lower_foot_on_the_ground_and_never_slides() {
    let mut sim = one("kind: biped, controller: null");
    let joints = ["hip_yaw", "hip", "knee", "foot"];
    let (sole, mut last) = (DVec3::new(0.01, 0.0, -0.0335), None);
    for tick in 0..1500 {
        // slow enough for the servos, and of no use for walking
        let t = 0.005 * f64::from(tick);
        for (number, joint) in joints.into_iter().enumerate() {
            for (side, sign) in [("left", 1.0), ("right", -1.0)] {
                let swing = (t * (1.0 + 0.37 * number as f64) * 2.0 + sign).sin();
                set(&mut sim, &format!("r.joint_command.{side}_{joint}"), &[[0.3, 0.5, 0.6, 0.4][number] * swing]);
            }
        }
        sim.run_for(0.005);
        let feet = FEET.map(|foot| pose(&sim, foot));
        let low = feet.map(|foot| lowest(&foot, sole, [0.104, 0.066])).into_iter().fold(f64::INFINITY, f64::min);
        assert!(low.abs() < 1e-9, "{t}: {low}");
        let stance = number(&sim, "r.motion.stance") as usize;
        if let Some((before, foot)) = last.replace((stance, feet[stance].position_m))
            && before == stance
        {
            let foot: DVec3 = foot;
            assert!((foot - feet[stance].position_m).length() < 1e-12, "{t}");
        }
    }
    assert!(number(&sim, "r.motion.swaps") > 3.0);
}

#[test]
fn walkers_go_as_fast_and_turn_as_fast_as_they_are_told() {
    for (kind, _, _, _, speed) in FIGURES {
        let mut sim = one(&format!("kind: {kind}"));
        velocity(&mut sim, 0.8 * speed, 0.0);
        sim.run_for(3.0);
        let start = vector(&sim, "r.position_m");
        sim.run_for(10.0);
        let way = vector(&sim, "r.position_m") - start;
        assert!((way.x / (8.0 * speed) - 1.0).abs() < 0.002, "{kind}: {way}");
        assert!(way.y.abs() < 1e-9 && way.z.abs() < 1e-3, "{kind}: {way}");
        velocity(&mut sim, 0.0, 0.4);
        sim.run_for(3.0);
        let yaw = |sim: &Simulation| math::yaw_from_quat(sim.world().pose("r").unwrap().orientation);
        let before = yaw(&sim);
        sim.run_for(5.0);
        let turned = math::wrap_angle(yaw(&sim) - before);
        assert!((turned / 2.0 - 1.0).abs() < 0.03, "{kind}: {turned}");
    }
}

#[test]
fn told_to_stop_they_bring_their_feet_together_and_stand_still() {
    for (kind, _, _, _, speed) in FIGURES {
        let mut sim = one(&format!("kind: {kind}"));
        velocity(&mut sim, speed, 0.3);
        sim.run_for(4.3);
        velocity(&mut sim, 0.0, 0.0);
        sim.run_for(3.0);
        let (stood, joints) = (pose(&sim, "r.frame.left_foot"), values(&sim, "r.joint.left_hip"));
        let swaps = number(&sim, "r.motion.swaps");
        sim.run_for(10.0);
        assert_eq!(pose(&sim, "r.frame.left_foot"), stood, "{kind}");
        assert_eq!((values(&sim, "r.joint.left_hip"), number(&sim, "r.motion.swaps")), (joints, swaps), "{kind}");
        assert_eq!(vector(&sim, "r.velocity_mps"), DVec3::ZERO);
        let base = sim.world().pose("r").unwrap();
        let feet = FEET.map(|foot| base.orientation.inverse() * (pose(&sim, foot).position_m - base.position_m));
        assert!((feet[0].x - feet[1].x).abs() < 3e-3, "{kind}: {feet:?}");
    }
}

#[test]
fn who_is_pushed_or_put_elsewhere_takes_the_foot_along() {
    let mut sim = one("kind: human");
    velocity(&mut sim, 1.0, 0.0);
    sim.run_for(2.0);
    let (before, height) = (pose(&sim, "r.frame.left_foot"), vector(&sim, "r.position_m").z);
    let pose_now = sim.world().pose("r").unwrap();
    let (left, moved) = (before.position_m - pose_now.position_m, DVec3::new(7.0, -3.0, pose_now.position_m.z));
    let there = Pose { position_m: moved, ..pose_now };
    sim.command(Action::Teleport { robot: "r".to_owned(), pose: there });
    sim.run_for(0.005);
    let foot = pose(&sim, "r.frame.left_foot").position_m - moved;
    assert!((foot - left).length() < 0.03, "{foot} {left}");
    sim.run_for(1.0);
    assert!((vector(&sim, "r.position_m").z - height).abs() < 1e-3 && vector(&sim, "r.position_m").x > 7.5);
}

#[test]
fn a_human_walks_to_places_by_waypoints_destinations_setpoints_and_keys() {
    let mut sim = one("kind: human, driver: {kind: waypoints, points_m: [[4, 0], [4, 3]], speed_mps: 1.1}");
    sim.run_for(12.0);
    assert_eq!(number(&sim, "r.driver.status"), 1.0, "{}", vector(&sim, "r.position_m"));
    let mut sim = one("kind: human, driver: {kind: goto, to_m: [-3, 2, 0], tolerance_m: 0.3}");
    sim.run_for(10.0);
    assert_eq!(number(&sim, "r.driver.status"), 1.0);
    let mut sim = one("kind: human, at: {xyz_m: [1, 1, 0]}");
    let place = [4.0, -2.0, 0.0, 1.5];
    sim.command(Action::Setpoint { robot: "r".to_owned(), mode: setpoint::POSITION, values: place });
    sim.run_for(12.0);
    let here = sim.world().pose("r").unwrap();
    let off = here.position_m.truncate() - glam::DVec2::new(4.0, -2.0);
    assert!(off.length() < 0.15, "{off}");
    assert!((math::yaw_from_quat(here.orientation) - 1.5).abs() < 0.06);
    let keys = "[{at_s: 0, press: up}, {at_s: 4, release: up}]";
    let mut sim = one(&format!("kind: human, driver: {{kind: keyboard, keys: {keys}}}"));
    sim.run_for(6.0);
    assert!((vector(&sim, "r.position_m").x - 4.0).abs() < 0.4, "{}", vector(&sim, "r.position_m"));
}

#[test]
fn joints_of_a_walking_human_stay_within_those_of_people_and_arms_swing_against_the_legs() {
    let mut sim = one("kind: human");
    velocity(&mut sim, 1.2, 0.3);
    // ranges of the library without their limits acting: what is commanded stays within them
    let joints = [
        ("hip", -120.0, 30.0),
        ("knee", 0.0, 135.0),
        ("foot", -40.0, 50.0),
        ("hip_yaw", -45.0, 45.0),
        ("shoulder", -180.0, 60.0),
        ("elbow", -150.0, 0.0),
    ];
    let mut against = 0.0;
    for _ in 0..600 {
        sim.run_for(0.01);
        for side in ["left", "right"] {
            for (joint, low, high) in joints {
                let commanded = number(&sim, &format!("r.joint_command.{side}_{joint}")).to_degrees();
                assert!((low..=high).contains(&commanded), "{side}_{joint}: {commanded}");
            }
        }
        let mean = 0.5 * (number(&sim, "r.joint.left_hip") + number(&sim, "r.joint.right_hip"));
        against += number(&sim, "r.joint.left_shoulder") * (number(&sim, "r.joint.left_hip") - mean);
    }
    assert!(against < -1.0, "{against}");
}

#[test]
fn limbs_of_a_human_are_solid() {
    // an arm held out to the front stops a robot that would pass in front of the body
    let robots = |arm: f64| {
        format!(
            "{{robots: [{{name: r, kind: human, controller: null, frames: {{left_shoulder: {{start_deg: {arm}}}, \
             left_elbow: {{start_deg: 0}}}}}}, {{name: ball, kind: point, at: {{xyz_m: [0.4, 2, 1.37]}}}}]}}"
        )
    };
    for (arm, touches) in [(-90.0, true), (0.0, false)] {
        let mut sim = simulation(&robots(arm));
        let values = [0.0, -1.0, 0.0, 0.0];
        sim.command(Action::Setpoint { robot: "ball".to_owned(), mode: setpoint::VELOCITY, values });
        sim.run_for(1.9);
        assert_eq!(number(&sim, "ball.contacts") > 0.0, touches, "arm at {arm}");
    }
}

// M17
#[test]
fn a_pan_tilt_unit_is_where_it_was_told_at_its_speed_limit() {
    let limit = 1.0_f64.to_degrees();
    for (kind, prefix) in [("kind: pan_tilt", ""), ("kind: pioneer, include: mounts/pan_tilt.yaml", "")] {
        let frames = format!("frames: {{pan: {{rate_max_degps: {limit}}}, tilt: {{rate_max_degps: {limit}}}}}");
        let mut sim = one(&format!("{kind}, {frames}{prefix}"));
        set(&mut sim, "r.joint_command.pan", &[0.5]);
        set(&mut sim, "r.joint_command.tilt", &[0.2]);
        let (mut fastest, mut pan) = (0.0_f64, 0.0);
        for _ in 0..60 {
            sim.run_for(0.01);
            let next = number(&sim, "r.joint.pan");
            (fastest, pan) = (fastest.max((next - pan) / 0.01), next);
        }
        // 0.5 rad at 1 rad/s, and 1 rad/s over 2000 °/s² to gain and lose that speed
        let tolerance = 0.3_f64.to_radians();
        assert!((number(&sim, "r.joint.pan") - 0.5).abs() < tolerance, "{}", number(&sim, "r.joint.pan"));
        assert!((number(&sim, "r.joint.tilt") - 0.2).abs() < tolerance);
        assert!(fastest > 0.99 && fastest < 1.0 + 1e-9, "{fastest}");
        let (view, base) = (pose(&sim, "r.frame.view"), sim.world().pose("r").unwrap());
        let expected = base.orientation * (math::quat_from_yaw(0.5) * math::quat_from_rpy(0.0, 0.2, 0.0));
        assert!(view.orientation.angle_between(expected) < 2.0 * tolerance);
    }
}

#[test]
fn a_sensor_on_a_pan_tilt_unit_turns_with_it() {
    let mut sim = one("kind: atrv, include: mounts/pan_tilt.yaml, frames: {pan: {at: {xyz_m: [0.2, 0, 0.4]}}}, \
         sensors: {eye: {kind: imu, frame: view, rate_hz: 100}}");
    set(&mut sim, "r.joint_command.tilt", &[0.5]);
    sim.run_for(1.0);
    // looking down by 0.5 rad, gravity pulls forwards: at rest it reads upwards
    let felt = vector(&sim, "r.eye.accel_mps2");
    let expected = DVec3::new(-0.5_f64.sin(), 0.0, 0.5_f64.cos()) * 9.80665;
    assert!((felt - expected).length() < 1e-6, "{felt}");
}

#[test]
fn a_door_pushes_a_box_with_mass_and_stops_for_nobody() {
    let run = |crate_: &str| {
        let mut sim = simulation(&format!("{{robots: [{{name: r, kind: door}}{crate_}]}}"));
        set(&mut sim, "r.joint_command.leaf", &[1.5]);
        let opening: Vec<f64> = (0..40)
            .map(|_| {
                sim.run_for(0.05);
                number(&sim, "r.joint.leaf")
            })
            .collect();
        (sim, opening)
    };
    let (_, alone) = run("");
    let heavy = ", {name: crate, motion: {kind: single_body, mass_kg: 400}, shape: {box_size_m: [0.3, 0.3, 0.3]}, \
                 at: {xyz_m: [0.6, 0.4, 0.15]}}";
    let (sim, against) = run(heavy);
    assert_eq!(alone, against, "the door moves as if nobody were there");
    assert_eq!(vector(&sim, "r.position_m"), DVec3::ZERO);
    // the leaf stands at 1.5 rad: the whole crate must be beyond it
    let (crate_, leaf) = (vector(&sim, "crate.position_m"), math::quat_from_yaw(1.5));
    let beside = (leaf.inverse() * crate_).y;
    assert!(beside > 0.02 + 0.15 - 0.005, "{crate_}: {beside} m beside the leaf");
    assert!((crate_ - DVec3::new(0.6, 0.4, 0.15)).length() > 0.2 && crate_.z < 0.16);
}

#[test]
fn a_closed_door_blocks_a_robot_and_an_open_one_lets_it_through() {
    for open in [false, true] {
        let mut sim = simulation(
            "{robots: [{name: door, kind: door, at: {yaw_deg: 90}}, {name: r, kind: pioneer, at: {xyz_m: [-2, 0.45, 0]}}]}",
        );
        set(&mut sim, "door.joint_command.leaf", &[if open { -1.57 } else { 0.0 }]);
        sim.run_for(2.0);
        velocity(&mut sim, 0.6, 0.0);
        sim.run_for(8.0);
        let x = vector(&sim, "r.position_m").x;
        assert!(if open { x > 2.0 } else { x < 0.0 }, "open: {open}, at {x}");
        assert_eq!(number(&sim, "r.contacts") > 0.0, !open);
    }
}

#[test]
fn a_lift_lifts_and_a_conveyor_conveys() {
    let crate_ = "motion: {kind: single_body, mass_kg: 20}, shape: {box_size_m: [0.4, 0.4, 0.4]}";
    let mut sim = simulation(&format!(
        "{{robots: [{{name: lift, kind: lift}}, {{name: a, {crate_}, at: {{xyz_m: [0, 0, 0.3]}}}}, \
         {{name: belt, kind: conveyor, at: {{xyz_m: [10, 0, 0], yaw_deg: 90}}}}, \
         {{name: b, {crate_}, at: {{xyz_m: [10, -1.5, 0.7]}}}}]}}"
    ));
    sim.run_for(0.5);
    set(&mut sim, "lift.joint_command.platform", &[2.0]);
    sim.run_for(1.0);
    let speed = vector(&sim, "b.velocity_mps");
    assert!((speed - DVec3::Y * 0.5).length() < 2e-3, "{speed}");
    sim.run_for(5.0);
    assert!(
        (vector(&sim, "a.position_m") - DVec3::new(0.0, 0.0, 2.3)).length() < 2e-3,
        "{}",
        vector(&sim, "a.position_m")
    );
    set(&mut sim, "belt.input.belt_mps", &[0.0; 3]);
    sim.run_for(1.0);
    assert!(vector(&sim, "b.velocity_mps").length() < 1e-3);
}

// A06
#[test]
fn an_automatic_door_is_open_while_somebody_is_near_and_closes_five_seconds_after() {
    let mut sim =
        simulation("{robots: [{name: door, kind: sliding_door}, {name: r, kind: point, at: {xyz_m: [-5, 0, 0.2]}}]}");
    velocity(&mut sim, 1.0, 0.0);
    let (mut last_near, mut closed, mut opened) = (0.0, None, None);
    for step in 1..=2000 {
        let t = 0.01 * f64::from(step);
        sim.run_for(0.01);
        let near = vector(&sim, "r.position_m").length() <= 2.0;
        let open = number(&sim, "door.driver.open") == 1.0;
        if near {
            last_near = t;
            opened = opened.or_else(|| open.then_some(t));
            assert!(open || t < 3.07, "open at {t}");
        }
        if closed.is_none() && last_near > 0.0 && !open && t > last_near {
            closed = Some(t);
        }
    }
    // the sensor looks every 0.05 s
    assert!((opened.unwrap() - 3.0).abs() < 0.07, "{opened:?}");
    assert!((closed.unwrap() - last_near - 5.0).abs() < 0.06, "{closed:?} {last_near}");
    assert_eq!(number(&sim, "r.contacts"), 0.0, "and it is wide enough");
    assert!(number(&sim, "door.joint.left").abs() < 1e-9, "closed again");
}

#[test]
fn a_script_moves_joints_at_its_times_and_again() {
    let mut sim = one("kind: door, driver: {kind: joint_script, repeat_s: 8, \
         moves: [{at_s: 4, joint: leaf, to_deg: 0}, {at_s: 1, joint: leaf, to_deg: 90}]}");
    for (time, angle) in [(0.9, 0.0), (3.9, 90.0), (7.9, 0.0), (11.9, 90.0), (15.9, 0.0)] {
        sim.run_for(time - sim.world().time().s());
        assert!((number(&sim, "r.joint.leaf").to_degrees() - angle).abs() < 1e-6, "{time}");
    }
    let wrong =
        "{robots: [{name: r, kind: door, driver: {kind: joint_script, moves: [{at_s: 1, joint: leaf, to_m: 1}]}}]}";
    assert!(
        refusal(wrong).contains("found to_m for joint \"leaf\", expected to_deg, as it turns"),
        "{}",
        refusal(wrong)
    );
    let wrong =
        "{robots: [{name: r, kind: door, driver: {kind: joint_script, moves: [{at_s: 1, joint: knob, to_deg: 1}]}}]}";
    assert!(refusal(wrong).contains("one of the robot's joints: leaf"), "{}", refusal(wrong));
}

// S03
#[test]
fn encoders_round_the_joints_of_a_running_robot_to_their_marks() {
    let mut sim = one("kind: biped");
    velocity(&mut sim, 0.2, 0.0);
    let (mark, mut moved) = (std::f64::consts::TAU / 4096.0, 0.0_f64);
    for _ in 0..200 {
        sim.run_for(0.01);
        let read = values(&sim, "r.joints.position");
        assert_eq!(read.len(), 12);
        for (joint, read) in ["left_hip_yaw", "left_hip", "left_knee", "left_foot"].into_iter().zip(&read) {
            let truth = number(&sim, &format!("r.joint.{joint}"));
            assert!((read - truth).abs() <= 0.5 * mark + 1e-12, "{joint}: {read} {truth}");
            assert!((read / mark - (read / mark).round()).abs() < 1e-6);
        }
        moved = moved.max((read[1] + 26.8_f64.to_radians()).abs());
    }
    assert!(moved > 0.1);
    let ticks = values(&sim, "r.joints.ticks");
    assert_eq!(ticks[1] * mark, values(&sim, "r.joints.position")[1]);
}

#[test]
fn a_body_at_rest_bears_its_weight_and_one_that_falls_bears_nothing() {
    let text = "motion: {kind: single_body, mass_kg: 3}, shape: {box_size_m: [0.4, 0.4, 0.2]}, \
                sensors: {force: {kind: contact_force, at: {rpy_deg: [0, 90, 0]}}}";
    let mut sim = one(&format!("{text}, at: {{xyz_m: [0, 0, 0.6]}}"));
    sim.run_for(0.2);
    assert_eq!(vector(&sim, "r.force.force_n"), DVec3::ZERO);
    sim.run_for(3.0);
    let weight = 3.0 * 9.80665;
    assert!((vector(&sim, "r.force.force_n") - DVec3::Z * weight).length() < 1e-3);
    // the mount looks down: what presses upwards comes from behind
    let felt = vector(&sim, "r.force.body_force_n");
    assert!((felt + DVec3::X * weight).length() < 1e-3, "{felt}");
}

#[test]
fn a_collision_sensor_tells_whom_the_robot_touched() {
    let mut sim = simulation(
        "{world: {obstacles: {wall: {box_size_m: [0.2, 4, 1], at: {xyz_m: [3, 0, 0.5]}}}}, robots: [\
         {name: other, kind: point, at: {xyz_m: [-1, 0, 0.15]}}, \
         {name: r, kind: differential, motion: {speed_max_mps: 1}, sensors: {bump: {kind: collision, rate_hz: 50}}}]}",
    );
    let bump =
        |sim: &Simulation| ["touching", "contacts", "kind", "id"].map(|field| number(sim, &format!("r.bump.{field}")));
    sim.run_for(0.1);
    assert_eq!(bump(&sim), [0.0, 0.0, -1.0, -1.0]);
    velocity(&mut sim, 0.8, 0.0);
    sim.run_for(6.0);
    // the ground is obstacle 0, the wall 1
    assert_eq!(bump(&sim), [1.0, 1.0, 1.0, 1.0]);
    velocity(&mut sim, -0.8, 0.0);
    sim.run_for(1.0);
    assert_eq!(bump(&sim), [0.0, 1.0, 1.0, 1.0]);
    sim.run_for(5.0);
    let [touching, contacts, kind, id] = bump(&sim);
    assert_eq!([touching, kind, id], [1.0, 0.0, 0.0], "robot 0, pushed along");
    assert!(contacts >= 2.0);
}

#[test]
fn what_does_not_fit_a_figure_is_refused_with_what_would() {
    let robot = |rest: &str| refusal(&format!("{{robots: [{{name: r, kind: biped, {rest}}}]}}"));
    let text = robot("motion: {feet: [{frame: left_toe}, {frame: right_foot}]}");
    assert!(text.contains("found foot \"left_toe\", expected one of the robot's frames: left_hip_yaw"), "{text}");
    let text = robot("controller: {stand_height_m: 0.2}");
    assert!(text.contains("between 0 m and 0.1858 m, for bent knees"), "{text}");
    let text = robot("controller: {legs: []}");
    assert!(text.contains("one to 8 legs"), "{text}");
    let text = robot("sensors: {joints: {joints: [elbow]}}");
    assert!(text.contains("found joint \"elbow\", expected one of the robot's joints: left_hip_yaw"), "{text}");
    let text = robot("controller: {swings: [{joint: left_elbow, leg: 5}]}");
    assert!(text.contains("a number below 2"), "{text}");
}

#[test]
fn parts_on_frames_that_no_joint_moves_are_solid() {
    let mut sim = simulation(
        "{robots: [{name: post, motion: {kind: fixture}, frames: {top: {at: {xyz_m: [1, 0, 0.2]}}}, \
         parts: {knob: {frame: top, sphere_radius_m: 0.2}}}, {name: r, kind: point, at: {xyz_m: [-0.5, 0, 0.2]}}]}",
    );
    velocity(&mut sim, 1.0, 0.0);
    sim.run_for(3.0);
    assert!((vector(&sim, "r.position_m").x - 0.65).abs() < 0.02, "{}", vector(&sim, "r.position_m"));
}

#[test]
fn legs_commanded_by_rate_are_where_legs_commanded_by_position_are() {
    // a base on four legs of two joints, trotting; commands come at a tenth of the ticks
    let robot = |by: &str| {
        let mut text = String::from("motion: {kind: point, rate_hz: 1000}, sensors: {}, frames: {");
        let mut legs = String::new();
        for (number, (x, y, phase)) in
            [(0.2, 0.1, 0.0), (0.2, -0.1, 0.5), (-0.2, 0.1, 0.5), (-0.2, -0.1, 0.0)].iter().enumerate()
        {
            text += &format!(
                "hip{number}: {{at: {{xyz_m: [{x}, {y}, 0]}}, turn: [0, 1, 0]}}, \
                 knee{number}: {{parent: hip{number}, at: {{xyz_m: [0, 0, -0.2]}}, turn: [0, 1, 0]}}, \
                 foot{number}: {{parent: knee{number}, at: {{xyz_m: [0, 0, -0.2]}}}}, "
            );
            legs += &format!(
                "{{hip: hip{number}, knee: knee{number}, thigh_m: 0.2, shank_m: 0.2, y_m: {y}, phase: {phase}, \
                 knee_points: backward}}, "
            );
        }
        format!(
            "{text}}}, controller: {{kind: gait, rate_hz: 100, by: {by}, stand_height_m: 0.32, period_s: 0.4, \
             stance_share: 0.6, legs: [{legs}]}}"
        )
    };
    let mut sims = ["position", "rate"].map(|by| one(&robot(by)));
    for sim in &mut sims {
        velocity(sim, 0.4, 0.2);
        sim.run_for(1.0);
    }
    for _ in 0..100 {
        sims.iter_mut().for_each(|sim| sim.run_for(0.01));
        for joint in ["hip0", "knee0", "hip1", "knee3"] {
            let path = format!("r.joint.{joint}");
            let [by_position, by_rate] = sims.each_ref().map(|sim| number(sim, &path));
            assert!((by_position - by_rate).abs() < 1e-9, "{joint}: {by_position} {by_rate}");
        }
        // a foot on the ground stays where it is in the world, as far as legs that turn by sliding can
        let foot = pose(&sims[0], "r.frame.foot0").position_m;
        assert!(foot.z > -0.32 - 1e-9, "{foot}");
    }
}

/// Humans who run into each other and a door that swings through them and a crate; all feel whom they touch.
const CROWD: &str = "
world: {obstacles: {post: {cylinder: {radius_m: 0.2, height_m: 2}, at: {xyz_m: [1, 1, 1]}}}}
robots:
  - {name: 'h{i}', kind: human, count: 6, layout: {grid: {rows: 2, spacing_m: 0.9, from_m: [0, 0, 0]}},
     driver: {kind: random_walk, rate_hz: 20, speed_mps: 1}, sensors: {bump: {kind: collision, rate_hz: 40}}}
  - {name: door, kind: door, at: {xyz_m: [1.5, 0, 0]}, sensors: {bump: {kind: collision}},
     driver: {kind: joint_script, repeat_s: 3, moves: [{at_s: 0.5, joint: leaf, to_deg: 90}, {at_s: 2, joint: leaf, to_deg: -90}]}}
  - {name: crate, motion: {kind: single_body, mass_kg: 9}, shape: {box_size_m: [0.3, 0.3, 0.3]}, at: {xyz_m: [2, 0.5, 0.2]},
     sensors: {bump: {kind: collision}}}
";

#[test]
fn what_figures_do_and_feel_is_the_same_on_any_threads_windows_chunks_islands_and_in_any_realm() {
    let run = |setup: &Setup| {
        let mut sim = Simulation::from_text(CROWD, setup).unwrap_or_else(|error| panic!("{error}"));
        sim.run_for(5.013);
        sim
    };
    let over = |text: &str| muster_scenario::build::Override::parse(text).unwrap();
    let base = run(&Setup::default());
    let touched: Vec<f64> = (0..6).map(|i| number(&base, &format!("h{i}.bump.contacts"))).collect();
    assert!(touched.iter().filter(|&&contacts| contacts > 0.0).count() >= 3, "{touched:?}");
    assert!(number(&base, "crate.bump.kind") >= 0.0);
    let mut setups =
        ["one thread", "windows of 7.3 ms", "two robots in a chunk", "one island"].map(|what| (what, Setup::default()));
    setups[0].1.threads = Some(muster_scenario::text::Threads::Count(1));
    setups[1].1.over = vec![over("run.window_ms=7.3")];
    setups[2].1.options.lanes = 2;
    setups[3].1.options.one_island = true;
    for (what, setup) in &setups {
        assert_eq!(run(setup).world().hash(), base.world().hash(), "{what}");
    }
    let joined = run(&Setup { seeds: vec![5, 1, 8], ..Setup::default() });
    for (realm, seed) in [(0, 5), (1, 1), (2, 8)] {
        let alone = run(&Setup { seeds: vec![seed], ..Setup::default() });
        assert_eq!(joined.world().realm(realm).hash(), alone.world().hash(), "seed {seed}");
    }
}
