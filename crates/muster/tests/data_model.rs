//! Objects, properties, compounds, frames and components: what a robot is made of and how its parts are reached.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use glam::{DQuat, DVec3};
use muster::sink::{Batch, Sink};
use muster::{Setup, Simulation};
use muster_core::command::Action;
use muster_core::component::Pose;
use muster_core::contact::Other;
use muster_core::lanes::setpoint;
use muster_core::property::{PropertyError, Slot};
use muster_scenario::text::Threads;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

fn simulation(text: &str) -> Simulation {
    let setup = Setup { threads: Some(Threads::Count(1)), ..Setup::default() };
    Simulation::from_text(text, &setup).unwrap_or_else(|error| panic!("{error}"))
}

fn values(sim: &Simulation, path: &str) -> Vec<f64> {
    sim.world().property(path).unwrap_or_else(|error| panic!("{error}"))
}

fn vec3(sim: &Simulation, path: &str) -> DVec3 {
    DVec3::from_slice(&values(sim, path)[..3])
}

fn check_near(found: DVec3, expected: [f64; 3], within: f64) {
    assert!((found - DVec3::from(expected)).length() < within, "found {found}, expected {expected:?}");
}

/// Asks for a change and walks one window; returns why it was refused, if it was.
fn obey(sim: &mut Simulation, action: Action) -> Vec<String> {
    sim.command(action);
    sim.run_for(0.02);
    sim.world_mut().take_refusals()
}

fn teleport(sim: &mut Simulation, robot: &str, xyz_m: [f64; 3], yaw_rad: f64) {
    let pose = Pose { position_m: DVec3::from(xyz_m), orientation: DQuat::from_rotation_z(yaw_rad) };
    let refused = obey(sim, Action::Teleport { robot: robot.to_owned(), pose });
    assert!(refused.is_empty(), "{refused:?}");
}

fn velocity(sim: &mut Simulation, robot: &str, values: [f64; 4]) {
    sim.command(Action::Setpoint { robot: robot.to_owned(), mode: setpoint::VELOCITY, values });
}

/// Remembers the first number of every sample of one sensor, with its stamp.
struct Ear(String, Arc<Mutex<Vec<(f64, f64)>>>);

impl Sink for Ear {
    fn sensors(&self) -> Vec<String> {
        vec![self.0.clone()]
    }

    fn take(&mut self, batch: &Batch) {
        // a batch holds what all sinks together asked for
        let name = |robot: u32, sensor: u32| {
            let names = &batch.directory.robots[&robot];
            format!("{}.{}", names.name, names.sensors[sensor as usize].0)
        };
        let own = batch.samples().filter(|sample| name(sample.robot, sample.sensor) == self.0);
        self.1.lock().unwrap().extend(own.map(|sample| (sample.stamp.s(), sample.values[0])));
    }
}

fn listen(sim: &mut Simulation, sensor: &str) -> Arc<Mutex<Vec<(f64, f64)>>> {
    let heard = Arc::default();
    sim.add_sink(Box::new(Ear(sensor.to_owned(), Arc::clone(&heard)))).unwrap();
    heard
}

fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

// D01: an object is a bag of properties, each constant or variable
#[test]
fn constants_cannot_be_written() {
    let mut sim = simulation("{robots: [{name: q, kind: quadrotor, at: {xyz_m: [0, 0, 2]}}]}");
    let mass = values(&sim, "q.mass_kg");
    assert!(obey(&mut sim, Action::Set { path: "q.position_m".to_owned(), values: vec![1.0, 2.0, 9.0] }).is_empty());
    check_near(vec3(&sim, "q.position_m"), [1.0, 2.0, 9.0], 0.01);
    let refused = obey(&mut sim, Action::Set { path: "q.mass_kg".to_owned(), values: vec![9.0] });
    let expected = PropertyError::Constant { path: "q.mass_kg".to_owned() };
    assert_eq!(refused, [expected.to_string()], "the error is typed and names the property");
    assert_eq!(values(&sim, "q.mass_kg"), mass);
    let shown = sim.world().properties_of("q").unwrap();
    let variable = |path: &str| shown.iter().find(|shown| shown.path == path).unwrap().variable;
    assert!(variable("q.position_m") && !variable("q.mass_kg"));
}

#[test]
fn writing_a_property_wrongly_is_refused_with_the_reason() {
    let mut sim = simulation("{robots: [{name: p, kind: point, at: {xyz_m: [0, 0, 2]}}]}");
    for (path, values, reason) in [
        ("p.positon_m", vec![0.0; 3], "did you mean \"p.position_m\"?"),
        ("r.position_m", vec![0.0; 3], "found no property \"r.position_m\""),
        ("p.position_m", vec![0.0; 2], "found 2 values for property \"p.position_m\", expected 3"),
        ("p.position_m[3]", vec![0.0], "found no property \"p.position_m[3]\""),
        ("p.position_m[1]", vec![f64::NAN], "not finite"),
    ] {
        let refused = obey(&mut sim, Action::Set { path: path.to_owned(), values });
        assert!(refused.len() == 1 && refused[0].contains(reason), "{path}: {refused:?}");
    }
}

// D02: properties can be added to any object while it lives (a command stands for the plug-in)
#[test]
fn a_property_added_at_run_time_is_shown_and_readable() {
    let mut sim = simulation("{robots: [{name: p, kind: point}]}");
    assert!(sim.world().property("p.temperature_c").is_err());
    let add = Action::AddProperty { path: "p.temperature_c".to_owned(), values: vec![21.5] };
    assert!(obey(&mut sim, add.clone()).is_empty());
    assert_eq!(values(&sim, "p.temperature_c"), [21.5]);
    let shown = sim.world().properties_of("p").unwrap();
    assert!(shown.iter().any(|shown| shown.path == "p.temperature_c" && shown.variable), "inspection shows it");
    assert!(obey(&mut sim, Action::Set { path: "p.temperature_c".to_owned(), values: vec![30.0] }).is_empty());
    assert_eq!(values(&sim, "p.temperature_c"), [30.0]);
    assert_eq!(obey(&mut sim, add).len(), 1, "it exists already");
}

// D03: names declared equal are one variable
#[test]
fn shared_names_are_one_slot() {
    let mut sim = simulation(
        "{share: [[laser.position_m, arm.position_m], [laser.angle, arm.joint.link3], [laser.pose, arm.frame.link3]], \
         robots: [{name: arm, kind: point, frames: {link3: {at: {xyz_m: [1, 0, 0]}, turn: [0, 0, 1]}}}]}",
    );
    for (name, target) in [("laser.position_m", "arm.position_m"), ("laser.angle", "arm.joint.link3")] {
        assert_eq!(sim.world().slot(name), sim.world().slot(target));
        assert!(matches!(sim.world().slot(name), Ok(Slot::Column(..))));
    }
    teleport(&mut sim, "arm", [4.0, 5.0, 6.0], 0.0);
    assert!(obey(&mut sim, Action::Set { path: "laser.angle".to_owned(), values: vec![0.5] }).is_empty());
    assert_eq!(values(&sim, "arm.joint.link3"), [0.5], "written through either name");
    assert_eq!(values(&sim, "laser.pose"), values(&sim, "arm.frame.link3"));
    check_near(vec3(&sim, "laser.pose"), [5.0, 5.0, 6.0], 1e-9);
}

// D04: a sensor object is attached by sharing the pose of a body, which knows nothing of it.
#[test]
fn an_attached_sensor_follows_the_box() {
    let mut sim = simulation(
        "{world: {ground: false}, robots: [{name: box, motion: {kind: point}}, \
         {name: mark, motion: {kind: point}, at: {xyz_m: [10, 0, 0]}}, \
         {name: eye, shares_pose_of: box, sensors: {scan: {kind: neighbours, radius_m: 100, rate_hz: 50}, pose: {kind: truth}}}]}",
    );
    for x in [1.0, 2.0, 5.0] {
        teleport(&mut sim, "box", [x, 0.0, 0.0], 0.0);
        check_near(vec3(&sim, "eye.scan"), [10.0 - x, 0.0, 0.0], 1e-9);
        check_near(vec3(&sim, "eye.pose.position_m"), [x, 0.0, 0.0], 1e-9);
        assert_eq!(sim.world().slot("eye.position_m"), sim.world().slot("box.position_m"), "one pose, no copy");
    }
}

// D04: scans start inside the box, which is not in their way
#[test]
fn scans_of_an_attached_sensor_follow_the_box_and_do_not_see_it() {
    let mut sim = simulation(
        "{world: {ground: false, obstacles: {wall: {box_size_m: [1, 20, 20], at: {xyz_m: [10.5, 0, 0]}}}}, \
         robots: [{name: box, motion: {kind: point}, parts: {hull: {box_size_m: [1, 1, 1]}}}, \
         {name: eye, shares_pose_of: box, sensors: {scan: {kind: range, rays: {count: 1}, rate_hz: 50}}}]}",
    );
    for (x, yaw, expected) in [(1.0, 0.0, 9.0), (4.0, 0.0, 6.0), (4.0, 1.0, 6.0 / 1.0_f64.cos())] {
        teleport(&mut sim, "box", [x, 0.0, 0.0], yaw);
        let scan = values(&sim, "eye.scan");
        assert!(scan.len() == 1 && (scan[0] - expected).abs() < 1e-6, "{scan:?} instead of {expected}");
    }
}

#[test]
fn an_object_attached_to_nobody_or_with_a_motion_is_refused() {
    let text = "{robots: [{name: box, kind: point}, {name: eye, shares_pose_of: boxx, sensors: {t: {kind: truth}}}, \
                {name: ear, shares_pose_of: box, motion: {kind: point}}]}";
    let error = Simulation::from_text(text, &Setup::default()).err().unwrap().rendered;
    assert!(
        error.contains("robots[1].shares_pose_of: found \"boxx\"") && error.contains("did you mean \"box\"?"),
        "{error}"
    );
    assert!(error.contains("robots[2]: found \"motion\""), "{error}");
}

// D05: any objects join in a compound with any relations
#[test]
fn a_compound_with_cyclic_relations_is_reached_by_path_and_bounded() {
    let mut sim = simulation(
        "{world: {ground: false}, robots: [{name: 'm{i}', kind: point, count: 3, at: {xyz_m: ['{2 * i}', '{i}', 0]}}], \
         compounds: {team: {members: [m0, m1, m2], relations: [[m0, observes, m1], [m1, observes, m2], [m2, observes, m0]]}, \
         all: {members: [team]}}}",
    );
    assert_eq!(sim.world().model().compounds[0].relations.len(), 3);
    assert_eq!(values(&sim, "team.m2.position_m"), [4.0, 2.0, 0.0]);
    assert_eq!(values(&sim, "all.team.m2.position_m"), [4.0, 2.0, 0.0]);
    // outlines of 0.15 m included
    assert_eq!(values(&sim, "team.bounds_m"), [-0.15, -0.15, -0.15, 4.15, 2.15, 0.15]);
    teleport(&mut sim, "m0", [-7.0, 0.0, 3.0], 0.0);
    assert_eq!(values(&sim, "all.bounds_m"), [-7.15, -0.15, -0.15, 4.15, 2.15, 3.15]);
}

#[test]
fn a_compound_of_nobody_or_inside_itself_is_refused() {
    let text = "{robots: [{name: scout, kind: point}], compounds: {team: {members: [scuot, team2]}, team2: {members: [team]}, \
                pair: {members: [scout], relations: [[scout, sees, ghost]]}}}";
    let error = Simulation::from_text(text, &Setup::default()).err().unwrap().rendered;
    assert!(
        error.contains("compounds.team.members: found \"scuot\"") && error.contains("did you mean \"scout\"?"),
        "{error}"
    );
    assert!(error.contains("compound \"team\" inside itself") && error.contains("found \"ghost\""), "{error}");
}

// D10: a robot has the variables its algorithms need and no others. Quadrotor stands for the simplified dynamics.
#[test]
fn a_motion_brings_the_properties_it_needs() {
    let names = |motion: &str| -> BTreeSet<String> {
        let sim = simulation(&format!("{{robots: [{{name: r, motion: {{kind: {motion}}}}}]}}"));
        sim.world().properties_of("r").unwrap().into_iter().map(|shown| shown.path).collect()
    };
    let (point, differential, quadrotor) = (names("point"), names("differential"), names("quadrotor"));
    for own in ["r.mass_kg", "r.inertia_x_kgm2", "r.motion.rotor_speed_radps"] {
        assert!(quadrotor.contains(own) && !point.contains(own) && !differential.contains(own), "{own}");
    }
    assert!(differential.contains("r.motion.wheel_left_radps") && !point.contains("r.motion.wheel_left_radps"));
    assert!(point.contains("r.position_m") && quadrotor.contains("r.position_m"));
}

// D11: one robot file, four motions chosen by the scenario
#[test]
fn one_robot_file_runs_with_any_motion() {
    let folder = scratch("one_robot_file");
    let robot = folder.join("body.yaml");
    let text = "shape: {sphere_radius_m: 0.3}\nsensors: {truth: {kind: truth}, imu: {kind: imu}}\n";
    std::fs::write(&robot, text).unwrap();
    let runs = ["point", "differential", "quadrotor", "fixed_wing"].map(|motion| {
        let scenario = folder.join(format!("{motion}.yaml"));
        let robot = format!("{{name: r, kind: body.yaml, at: {{xyz_m: [0, 0, 50]}}, motion: {{kind: {motion}}}}}");
        std::fs::write(&scenario, format!("{{world: {{ground: false}}, robots: [{robot}]}}")).unwrap();
        let mut sim =
            Simulation::load(scenario.to_str().unwrap(), &Setup::default()).unwrap_or_else(|error| panic!("{error}"));
        sim.run_for(0.5);
        values(&sim, "r.truth.position_m")
    });
    assert!(runs.iter().all(|position| position.len() == 3));
    assert_eq!(std::fs::read_to_string(robot).unwrap(), text, "the robot's file is as it was");
}

// D13: frames are relative to their parents
#[test]
fn a_child_frame_is_relative_to_its_parent() {
    let sim = simulation(
        "{world: {ground: false}, robots: [{name: r, kind: point, frames: {child: {parent: parent, at: {xyz_m: [1, 0, 0]}}, \
         parent: {at: {xyz_m: [1, 0, 0], yaw_deg: 90}}}}, \
         {name: turned, kind: point, at: {xyz_m: [1, 0, 0], yaw_deg: 90}, frames: {child: {at: {xyz_m: [1, 0, 0]}}}}]}",
    );
    check_near(vec3(&sim, "r.frame.child"), [1.0, 1.0, 0.0], 1e-15);
    check_near(vec3(&sim, "turned.frame.child"), [1.0, 1.0, 0.0], 1e-15);
    let q = DQuat::from_slice(&values(&sim, "r.frame.child")[3..]);
    assert!(q.abs_diff_eq(DQuat::from_rotation_z(90_f64.to_radians()), 1e-12), "{q}");
}

// M01: the base is moved from outside; direct kinematics move its parts
#[test]
fn a_base_is_where_it_is_put_and_a_pan_joint_turns_the_camera() {
    let mut sim = simulation(
        "{robots: [{name: r, motion: {kind: point}, frames: {pan: {at: {xyz_m: [0, 0, 1]}, turn: [0, 0, 1]}, \
         camera: {parent: pan, at: {xyz_m: [0.2, 0, 0]}}}, sensors: {view: {kind: truth, frame: camera}}}]}",
    );
    teleport(&mut sim, "r", [3.0, -2.0, 0.5], 0.0);
    assert_eq!(values(&sim, "r.position_m"), [3.0, -2.0, 0.5]);
    let angle = 30_f64.to_radians();
    assert!(obey(&mut sim, Action::Set { path: "r.joint.pan".to_owned(), values: vec![angle] }).is_empty());
    let camera = values(&sim, "r.frame.camera");
    check_near(vec3(&sim, "r.frame.camera"), [3.0 + 0.2 * angle.cos(), -2.0 + 0.2 * angle.sin(), 1.5], 1e-12);
    assert!(DQuat::from_slice(&camera[3..]).abs_diff_eq(DQuat::from_rotation_z(angle), 1e-12));
    check_near(vec3(&sim, "r.view.position_m"), [camera[0], camera[1], camera[2]], 1e-12);
}

// D15: functions are added to a live component and taken away again
#[test]
fn a_modifier_on_a_live_sensor_acts_from_the_next_sample_and_leaves_no_trace() {
    let text = "{world: {ground: false}, robots: [{name: 'r{i}', motion: {kind: point}, count: 3, at: {xyz_m: [5, '{i}', 0]}, \
                sensors: {pose: {kind: truth, rate_hz: 50}, odometry: {kind: odometry}}}]}";
    let (mut sim, mut untouched) = (simulation(text), simulation(text));
    let heard = listen(&mut sim, "r1.pose");
    let beside = listen(&mut sim, "r0.pose");
    for sim in [&mut sim, &mut untouched] {
        (0..3).for_each(|i| velocity(sim, &format!("r{i}"), [1.0, 0.0, 0.0, 0.3]));
        sim.run_for(1.0);
    }
    sim.set_modifiers("r1", "pose", "[{kind: saturation, max: 2, fields: [position_m]}]").unwrap();
    sim.run_for(1.0);
    sim.set_modifiers("r1", "pose", "[]").unwrap();
    sim.run_for(1.0);
    untouched.run_for(2.0);
    for &(stamp_s, x) in heard.lock().unwrap().iter() {
        assert_eq!(x == 2.0, stamp_s > 1.0 && stamp_s <= 2.0, "{x} at {stamp_s} s");
    }
    assert_eq!(heard.lock().unwrap().len(), 150, "no sample was lost");
    assert_eq!(beside.lock().unwrap().len(), 150);
    assert!(beside.lock().unwrap().iter().all(|&(_, x)| x > 4.0), "nobody else was changed");
    for path in ["r1.position_m", "r1.pose.position_m", "r1.odometry.position_m", "r0.position_m", "r2.orientation"] {
        assert_eq!(values(&sim, path), values(&untouched, path), "{path}");
    }
}

#[test]
fn modifiers_that_do_not_fit_are_refused_while_running() {
    let mut sim = simulation("{robots: [{name: r, kind: point}]}");
    for (robot, sensor, yaml, reason) in [
        ("x", "truth", "[]", "found \"x\", expected the name of a robot"),
        ("r", "gps", "[]", "found \"gps\", expected a sensor of r"),
        ("r", "truth", "[{kind: gausian_noise}]", "did you mean \"gaussian_noise\"?"),
        ("r", "truth", "[{kind: saturation, max: 1, fields: [range_m]}]", "\"range_m\""),
        ("r", "truth", "[{kind: delay", "modifiers.yaml:1"),
    ] {
        let error = sim.set_modifiers(robot, sensor, yaml).unwrap_err().rendered;
        assert!(error.contains(reason), "{error}");
    }
}

// D19: one block, many independent robots. A place of its own stands for a port until there are links.
#[test]
fn a_count_makes_independent_robots() {
    let mut sim = simulation(
        "{world: {ground: false}, robots: [{name: 'car{i}', kind: point, count: 30, at: {xyz_m: [0, '{3 * i}', 0]}, \
         driver: {kind: waypoints, points_m: [['{10 + i}', '{3 * i}', 0]], speed_mps: 8, tolerance_m: 0.05, by: strafe}, \
         sensors: {gps: {kind: gps, horizontal_noise_m: 0.5}}}]}",
    );
    sim.run_for(8.0);
    let names: Vec<String> = sim.world().robots().map(|robot| robot.name.clone()).collect();
    assert_eq!(names, (0..30).map(|i| format!("car{i}")).collect::<Vec<_>>());
    for i in 0..30 {
        check_near(vec3(&sim, &format!("car{i}.position_m")), [f64::from(10 + i), f64::from(3 * i), 0.0], 0.06);
    }
    let error = |i: u32| vec3(&sim, &format!("car{i}.gps.position_m")).x - vec3(&sim, &format!("car{i}.position_m")).x;
    let errors: BTreeSet<u64> = (0..30).map(|i| error(i).to_bits()).collect();
    assert_eq!(errors.len(), 30, "every robot draws its own random numbers");
}

// L01: full dynamics for one robot and kinematics for others in one scene. A fifth of the cost is reached by kinematics
// that tick more slowly (measured: 0.03 to 0.12 at 100 Hz), not by a differential robot that ticks as often as the
// quadrotor (0.24), and not by the motion alone at equal ticks (about 1): the rest is controller and sensors.
#[test]
fn levels_of_detail_mix_and_slower_kinematics_cost_a_fraction() {
    let mut sim = simulation(
        "{robots: [{name: q, kind: quadrotor, at: {xyz_m: [0, 0, 5]}}, \
         {name: 'k{i}', kind: differential, count: 9, motion: {rate_hz: 100}, layout: {line: {from_m: [0, 5, 0], step_m: [0, 2, 0]}}}]}",
    );
    velocity(&mut sim, "q", [1.0, 0.0, 0.0, 0.0]);
    (0..9).for_each(|i| velocity(&mut sim, &format!("k{i}"), [0.5, 0.0, 0.0, 0.0]));
    sim.run_for(3.0);
    let moved = sim.world().robots().filter(|robot| vec3(&sim, &format!("{}.position_m", robot.name)).x > 1.0);
    assert_eq!(moved.count(), 10);
    // many of each for a while, so that a share can be told from the noise of the machine
    let seconds = |robot: &str| {
        let layout = "layout: {grid: {rows: 8, spacing_m: 9, from_m: [0, 0, 5]}}";
        let text = format!("{{world: {{ground: false}}, robots: [{{name: 'r{{i}}', {robot}, count: 64, {layout}}}]}}");
        let mut sim = simulation(&text);
        let start = Instant::now();
        sim.run_for(10.0);
        start.elapsed().as_secs_f64()
    };
    let best = |robot: &str| (0..9).map(|_| seconds(robot)).fold(f64::INFINITY, f64::min);
    let dynamic = best("kind: quadrotor");
    for (name, robot) in [
        ("differential", "kind: differential, motion: {rate_hz: 100}"),
        ("point", "kind: point, motion: {rate_hz: 100}"),
    ] {
        let kinematic = best(robot);
        println!("{name} at 100 Hz costs {:.3} of a quadrotor", kinematic / dynamic);
        assert!(kinematic < dynamic / 5.0, "{name}: {kinematic} s, {dynamic} s");
    }
}

// L02: the program that drives a robot does not know its level of detail
#[test]
fn one_client_drives_every_level_of_detail() {
    let client = |sim: &mut Simulation| {
        velocity(sim, "r", [0.5, 0.0, 0.0, 0.0]);
        sim.run_for(6.0);
        velocity(sim, "r", [0.0; 4]);
        sim.run_for(3.0);
        (vec3(sim, "r.truth.position_m"), vec3(sim, "r.truth.velocity_mps"))
    };
    for level in ["kind: point", "kind: differential", "kind: quadrotor", "kind: point, motion: {accel_max_mps2: 1}"] {
        let (position, velocity) =
            client(&mut simulation(&format!("{{robots: [{{name: r, {level}, at: {{xyz_m: [0, 0, 3]}}}}]}}")));
        assert!((position.x - 3.0).abs() < 0.3 && position.y.abs() < 0.1, "{level}: {position}");
        assert!(velocity.length() < 0.05, "{level}: {velocity}");
    }
}

// L05: linear and angular velocity
#[test]
fn one_metre_a_second_for_two_seconds_is_two_metres() {
    for motion in ["{kind: differential, speed_max_mps: 2, wheel_radius_m: 0.2, wheel_gap_m: 0.6}", "{kind: point}"] {
        let mut sim = simulation(&format!("{{robots: [{{name: r, motion: {motion}}}]}}"));
        velocity(&mut sim, "r", [1.0, 0.0, 0.0, 0.0]);
        sim.run_for(2.0);
        check_near(vec3(&sim, "r.position_m"), [2.0, 0.0, 0.0], 0.1);
    }
}

// M03: v = r (ωr + ωl) / 2, ω = r (ωr − ωl) / b
#[test]
fn wheels_drive_straight_spin_and_circle() {
    let drive = |left: f64, right: f64, seconds: f64| {
        let motion = "{kind: differential, wheel_radius_m: 0.1, wheel_gap_m: 0.5, speed_max_mps: 5, turn_max_radps: 9, wheel_accel_max_radps2: 1e9}";
        let mut sim = simulation(&format!("{{robots: [{{name: r, motion: {motion}}}]}}"));
        sim.command(Action::Setpoint { robot: "r".to_owned(), mode: setpoint::DIRECT, values: [0.0; 4] });
        for (wheel, speed) in [("left", left), ("right", right)] {
            sim.command(Action::Set { path: format!("r.input.wheel_{wheel}_radps"), values: vec![speed] });
        }
        sim.run_for(seconds);
        (vec3(&sim, "r.position_m"), values(&sim, "r.angular_velocity_radps")[2])
    };
    check_near(drive(10.0, 10.0, 2.0).0, [2.0, 0.0, 0.0], 1e-6);
    let (position, turn) = drive(-5.0, 5.0, 2.0);
    assert!(position.length() < 1e-9 && (turn - 0.1 * 10.0 / 0.5).abs() < 1e-9, "{position} {turn}");
    // v = 1, ω = 0.8: half a turn of a circle of radius 1.25 m ends beside the start
    let (speed, turn) = (1.0, 0.8);
    let radius = speed / turn;
    let quarter = std::f64::consts::FRAC_PI_2 / turn;
    let (position, _) = drive(8.0, 12.0, quarter);
    check_near(position, [radius, radius, 0.0], 1e-3);
    let distance = (position - DVec3::new(0.0, radius, 0.0)).length();
    assert!((distance - radius).abs() < 1e-6, "{distance}");
}

// B09: parts move with the robot
#[test]
fn sensors_follow_a_teleported_robot() {
    let mut sim = simulation(
        "{world: {ground: false}, robots: [{name: r, kind: point, frames: {mast: {at: {xyz_m: [0, 0, 2]}}}, \
         sensors: {top: {kind: truth, frame: mast, at: {xyz_m: [0.5, 0, 0]}}, gps: {kind: gps, rate_hz: 50}}}]}",
    );
    teleport(&mut sim, "r", [10.0, 20.0, 5.0], 90_f64.to_radians());
    check_near(vec3(&sim, "r.top.position_m"), [10.0, 20.5, 7.0], 1e-9);
    check_near(vec3(&sim, "r.gps.position_m"), [10.0, 20.0, 5.0], 1e-9);
    check_near(sim.world().sensor_pose("r", "top").unwrap().position_m, [10.0, 20.5, 7.0], 1e-9);
    // contacts know the new place, too
    let ground = simulation("{robots: [{name: r, kind: point, at: {xyz_m: [0, 0, 3]}}]}");
    let mut sim = ground;
    teleport(&mut sim, "r", [0.0, 0.0, 0.1], 0.0);
    assert!(sim.world().contacts().iter().all(|event| matches!(event.with, Other::Obstacle(0))));
    assert_eq!(values(&sim, "r.contacts"), [1.0]);
}
