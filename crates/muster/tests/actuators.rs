//! Actuators: each does by its messages and by what is asked of it what its row says, through services of the robot; and a
//! robot that cannot follow one is refused with the line and the nearest name.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

use glam::DVec3;
use muster::{Outcome, Setup, Simulation};
use muster_core::actuator::{Ask, Deed, Told};
use muster_core::math;
use muster_core::service::View;
use muster_scenario::text::Threads;

fn load(text: &str) -> Result<Simulation, String> {
    let setup = Setup { threads: Some(Threads::Count(1)), ..Setup::default() };
    Simulation::from_text(text, &setup).map_err(|error| error.to_string())
}

fn robot(text: &str) -> Simulation {
    load(&format!("{{robots: [{{name: r, {text}}}]}}")).unwrap_or_else(|error| panic!("{error}"))
}

/// What somebody does with the only actuator of robot `r`.
fn with<T>(sim: &Simulation, act: impl Fn(&dyn muster_core::actuator::Actuator, &View<'_>) -> T) -> T {
    let (number, robot) = sim.world().roster().find(|(_, robot)| robot.name == "r").unwrap();
    act(&*robot.cohort.blueprint.actuators[0].actuator, &View::of(sim.world(), number))
}

fn post(sim: &mut Simulation, ask: Ask) -> u64 {
    sim.call(ask.robot.as_deref().unwrap_or("r"), ask.service, &ask.arguments).unwrap_or_else(|error| panic!("{error}"))
}

/// Sends a message.
fn send(sim: &mut Simulation, values: &[f64]) -> u64 {
    let ask = with(sim, |actuator, view| actuator.command(view, values)).unwrap();
    post(sim, ask)
}

fn deed(sim: &Simulation, offer: &str, arguments: &[Told]) -> Result<Deed, String> {
    with(sim, |actuator, view| actuator.ask(view, offer, arguments))
}

/// Asks the actuator; what it told, and the call that follows.
fn ask(sim: &mut Simulation, offer: &str, arguments: &[Told]) -> (Told, Option<u64>) {
    let deed = deed(sim, offer, arguments).unwrap_or_else(|error| panic!("{error}"));
    let call = deed.ask.map(|ask| post(sim, ask));
    (deed.told, call)
}

fn place(sim: &Simulation) -> DVec3 {
    sim.world().pose("r").unwrap().position_m
}

fn number(value: f64) -> Told {
    Told::Number(value)
}

#[test]
fn a_speed_of_one_for_two_seconds_is_two_metres() {
    let mut sim = robot("kind: atrv, actuators: {motion: {kind: v_omega}}");
    send(&mut sim, &[1.0, 0.0]);
    sim.run_for(2.0);
    // accelerating at 1.9 m/s² costs about a quarter of a metre
    assert!((place(&sim).x - 2.0).abs() < 0.3, "{}", place(&sim));
    ask(&mut sim, "stop", &[]);
    sim.run_for(2.0);
    let stood = place(&sim);
    ask(&mut sim, "set_speed", &[number(0.0), number(0.5)]);
    sim.run_for(1.0);
    assert!((place(&sim) - stood).length() < 0.01);
    assert!((math::yaw_from_quat(sim.world().pose("r").unwrap().orientation) - 0.5).abs() < 0.1);
}

#[test]
fn waypoints_are_gone_to_and_told_about() {
    let mut sim = robot("kind: atrv, driver: {kind: goto}, actuators: {w: {kind: waypoint, tolerance_m: 0.2}}");
    assert_eq!(ask(&mut sim, "get_status", &[]).0, Told::from("Arrived"));
    let place_of = |x: f64, y: f64| [number(x), number(y), number(0.0)];
    assert_eq!(ask(&mut sim, "setdest", &place_of(0.1, 0.0)), (Told::Flag(false), None));
    let (told, _) = ask(&mut sim, "setdest", &place_of(4.0, 0.0));
    assert_eq!(told, Told::Flag(true));
    sim.run_for(1.0);
    assert_eq!(ask(&mut sim, "get_status", &[]).0, Told::from("Transit"));
    sim.take_answers();
    let (told, call) = ask(&mut sim, "goto", &place_of(3.0, 0.0));
    assert_eq!(told, Told::from("Arrived"));
    let (told, _) = ask(&mut sim, "stop", &[]);
    assert_eq!(told, Told::from("Stop"));
    sim.run_for(2.0);
    assert_eq!(ask(&mut sim, "get_status", &[]).0, Told::from("Stop"));
    assert!(sim.take_answers().iter().all(|(number, _)| Some(*number) != call), "a goal that is kept is not reached");
    ask(&mut sim, "resume", &[]);
    sim.run_for(6.0);
    assert!(sim.take_answers().contains(&(call.unwrap(), Outcome::Succeeded)));
    assert!((place(&sim).x - 3.0).abs() <= 0.25, "{}", place(&sim));
    // a message is another goal, with its own tolerance
    send(&mut sim, &[3.0, 2.0, 0.0, 0.1, 1.5]);
    sim.run_for(6.0);
    assert!((place(&sim) - DVec3::new(3.0, 2.0, place(&sim).z)).length() < 0.2, "{}", place(&sim));
}

#[test]
fn engines_carry_a_quadrotor_by_the_same_force_as_in_morse() {
    let text = "kind: quadrotor, controller: null, sensors: null, at: {xyz_m: [0, 0, 5]}, motion: {mass_kg: 0.6}, \
                actuators: {motion: {kind: engines}}";
    let mut sim = robot(text);
    let hover = (0.6_f64 * 9.80665 / 4.0 / 9.169e-6).sqrt();
    send(&mut sim, &[hover; 4]);
    sim.run_for(1.0);
    // the rotors of the motion need some time to settle from where they started
    assert!((place(&sim) - DVec3::new(0.0, 0.0, 5.0)).length() < 0.02, "{}", place(&sim));
    // a tenth more force lifts by half of a tenth of gravity in a second
    let mut sim = robot(text);
    send(&mut sim, &[hover * 1.1_f64.sqrt(); 4]);
    sim.run_for(1.0);
    let risen = place(&sim).z - 5.0;
    assert!((risen - 0.5 * 0.1 * 9.80665).abs() < 0.05, "{risen}");
}

#[test]
fn attitudes_are_held_in_axes_forward_right_down() {
    let mut sim =
        robot("kind: quadrotor, at: {xyz_m: [0, 0, 5]}, actuators: {motion: {kind: attitude, thrust_max_n: 14.0}}");
    // nose up 0.1 rad, just enough thrust
    send(&mut sim, &[0.0, 0.1, 0.0, 0.716 * 9.80665 / 14.0]);
    sim.run_for(1.0);
    let (_, pitch, _) = math::rpy_from_quat(sim.world().pose("r").unwrap().orientation);
    assert!((pitch + 0.1).abs() < 0.02, "{pitch}");
    assert!(place(&sim).x < -0.2, "nose up flies backwards");
}

#[test]
fn forces_push_and_teleports_put() {
    let mut sim = load(
        "{world: {ground: false, gravity_mps2: [0, 0, 0]}, robots: [{name: r, kind: crate_box, \
         at: {yaw_deg: 90}, actuators: {motion: {kind: force_torque, robot_frame: true}}}]}",
    )
    .unwrap();
    let mass = sim.world().number("r.motion.mass_kg").or_else(|| sim.world().number("r.mass_kg")).unwrap();
    send(&mut sim, &[mass, 0.0, 0.0, 0.0, 0.0, 0.0]);
    sim.run_for(1.0);
    // forward is north: half of 1 m/s² in a second, less some drag
    assert!((place(&sim) - DVec3::new(0.0, 0.5, 0.0)).length() < 0.05, "{}", place(&sim));

    let mut sim = robot("kind: point, actuators: {motion: {kind: teleport}}");
    send(&mut sim, &[1.0, 2.0, 3.0, 0.5, 0.0, 0.0]);
    sim.walk_window(sim.world().time());
    ask(&mut sim, "translate", &[number(1.0)]);
    sim.walk_window(sim.world().time());
    ask(&mut sim, "rotate", &[number(0.0), number(0.0), number(0.25)]);
    sim.walk_window(sim.world().time());
    assert!((place(&sim) - DVec3::new(2.0, 2.0, 3.0)).length() < 1e-12);
    let yaw = math::yaw_from_quat(sim.world().pose("r").unwrap().orientation);
    assert!((yaw - 0.75).abs() < 1e-12, "{yaw}");
}

#[test]
fn joints_turn_by_name_and_units_look_at_points() {
    let mut sim = robot("kind: pan_tilt, actuators: {ptu: {kind: pan_tilt}}");
    let (_, call) = ask(&mut sim, "look_at_point", &[number(0.0), number(4.0), number(1.5)]);
    sim.run_for(3.0);
    assert_eq!(sim.take_answers(), [(call.unwrap(), Outcome::Succeeded)]);
    let told = ask(&mut sim, "get_pan_tilt", &[]).0;
    let [pan, tilt] = told.items() else { panic!("{told:?}") };
    // the axis of tilt is 1.591 m up, so it looks down a little
    assert!((pan.number().unwrap() - std::f64::consts::FRAC_PI_2).abs() < 1e-3, "{pan:?}");
    assert!((tilt.number().unwrap() - math::atan2(0.091, 4.0)).abs() < 1e-3, "{tilt:?}");

    let mut sim = robot("kind: pan_tilt, actuators: {arm: {kind: joints}}");
    assert_eq!(ask(&mut sim, "get_joints", &[]).0, Told::List(vec![Told::from("pan"), Told::from("tilt")]));
    let rotation = Told::numbers([0.0, 0.0, 0.3]);
    let (_, call) = ask(&mut sim, "rotate", &[Told::from("pan"), rotation]);
    sim.run_for(2.0);
    assert_eq!(sim.take_answers(), [(call.unwrap(), Outcome::Succeeded)]);
    assert!((sim.world().number("r.joint.pan").unwrap() - 0.3).abs() < 1e-3);
    assert!(deed(&sim, "rotate", &[Told::from("pam"), number(0.1)]).unwrap_err().contains("did you mean \"pan\"?"));
}

#[test]
fn grippers_take_the_nearest_thing_before_them() {
    let mut sim = load(
        "{robots: [{name: r, kind: differential, actuators: {grip: {kind: gripper, distance_m: 1, angle_deg: 120}}}, \
         {name: near, kind: crate_box, at: {xyz_m: [0.7, 0, 0.5]}, tags: [graspable]}, \
         {name: behind, kind: crate_box, at: {xyz_m: [-0.7, 0, 0.5]}, tags: [graspable]}]}",
    )
    .unwrap();
    let (told, call) = ask(&mut sim, "grab", &[]);
    assert_eq!(told, Told::from("near"));
    sim.walk_window(sim.world().time());
    assert_eq!(sim.take_answers(), [(call.unwrap(), Outcome::Succeeded)]);
    let (told, call) = ask(&mut sim, "release", &[]);
    assert_eq!(told, Told::Flag(true));
    sim.walk_window(sim.world().time());
    assert_eq!(sim.take_answers(), [(call.unwrap(), Outcome::Succeeded)]);
}

#[test]
fn lamps_are_switched() {
    let mut sim = robot("kind: lamp, actuators: {lamp: {kind: light}}");
    let lit = |sim: &Simulation| sim.world().number("r.light").unwrap();
    let before = lit(&sim);
    ask(&mut sim, "toggle", &[]);
    sim.walk_window(sim.world().time());
    assert_eq!(lit(&sim), 1.0 - before);
    send(&mut sim, &[1.0]);
    sim.walk_window(sim.world().time());
    assert_eq!(lit(&sim), 1.0);
}

#[test]
fn robots_that_cannot_follow_an_actuator_are_refused_with_line_and_nearest_name() {
    let wrong = |actuators: &str| {
        let text = format!("robots:\n  - name: r\n    kind: atrv\n    actuators:\n      {actuators}\n");
        load(&text).err().unwrap()
    };
    let message = wrong("motion: {kind: v_omge}");
    assert!(message.contains(":5:") && message.contains("did you mean \"v_omega\"?"), "{message}");
    let message = wrong("motion: {kind: waypoint}");
    assert!(message.contains(":5:") && message.contains("driver: {kind: goto}"), "{message}");
    let message = wrong("motion: {kind: engines}");
    assert!(message.contains("expected quadrotor"), "{message}");
    let message = wrong("gps: {kind: v_omega}");
    assert!(message.contains("a sensor too"), "{message}");
    let message = wrong("lamp: {kind: light}");
    assert!(message.contains("found no light") || message.contains("no light"), "{message}");
}
