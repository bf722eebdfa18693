//! Services: what can be asked of robots by name, from links, scripts and events alike. Adding one is a row.
//!
//! They are the actuators of MORSE (G. Echeverria et al., *MORSE: the MOdular Robots Simulation Engine*, section III-A) at
//! all their levels: destinations and waypoints, velocities, attitudes, forces, and the inputs of a motion themselves;
//! beside them joints, lamps, keys, and what only a simulator can do.
//!
//! A robot obeys the last who commanded it: a service that commands how it moves takes it from its driver, `goto`,
//! `waypoints` and `resume` give it back.

use crate::drivers::keyboard::Key;
use crate::drivers::status;
use glam::DVec3;
use muster_core::component::{Pose, orders};
use muster_core::contact::Bond;
use muster_core::joints::{jointed, mode};
use muster_core::lanes::setpoint;
use muster_core::math;
use muster_core::model::{Cohort, DRIVER};
use muster_core::node::nearest;
use muster_core::service::{Caller, Datum, Parameter, Part, Service, View, driver_for, number_at, word_at};

const fn number(name: &'static str, doc: &'static str) -> Parameter {
    Parameter::number(name, doc)
}

const fn or(name: &'static str, value: f64, doc: &'static str) -> Parameter {
    Parameter::number_or(name, value, doc)
}

/// A service of no parameters that is done at once; rows say what is different.
const PLAIN: Service = Service {
    name: "",
    doc: "",
    parameters: &[],
    repeated: 0,
    part: Part::None,
    fits: |_, _| Ok(()),
    apply: |_| Ok(()),
    done: None,
};

/// Every built-in service.
pub static SERVICES: &[Service] = &[
    Service {
        name: "attach",
        doc: "Attaches the robot, which has mass, to another where they are now: a load in a gripper.",
        parameters: &[Parameter::robot("to", "The robot that holds it.")],
        apply: |caller| {
            let to = word_at(caller.arguments(), 0).to_owned();
            caller.attach(&to, Bond::Weld)
        },
        ..PLAIN
    },
    Service {
        name: "attitude",
        doc: "Roll, pitch, turn rate and thrust, for robots whose controller holds attitudes.",
        parameters: &[
            number("roll_rad", "Roll, to the right."),
            number("pitch_rad", "Pitch, nose down."),
            number("turn_radps", "Turn rate, to the left."),
            number("thrust_n", "Thrust along the body's z axis."),
        ],
        part: Part::Motion,
        apply: |caller| {
            let values = caller.numbers();
            take_over(caller, setpoint::ATTITUDE, values)
        },
        ..PLAIN
    },
    Service {
        name: "course",
        doc: "Course, altitude and airspeed, for aircraft.",
        parameters: &[
            number("course_rad", "Course from east, counter-clockwise."),
            number("altitude_m", "Altitude above the world's origin."),
            number("airspeed_mps", "Speed through the air."),
        ],
        part: Part::Motion,
        apply: |caller| {
            let [course, altitude, airspeed] = caller.numbers();
            take_over(caller, setpoint::COURSE, [course, altitude, airspeed, 0.0])
        },
        ..PLAIN
    },
    Service {
        name: "delete",
        doc: "Removes the robot.",
        apply: |caller| {
            caller.delete();
            Ok(())
        },
        ..PLAIN
    },
    Service { name: "detach", doc: "Lets go of the robot.", apply: |caller| caller.detach(), ..PLAIN },
    Service {
        name: "goto",
        doc: "Goes to a place and is answered on arrival, for robots with the driver goto.",
        parameters: &[
            number("x_m", "Where to, east."),
            number("y_m", "Where to, north."),
            or("z_m", 0.0, "Where to, up; counts where positions are commanded."),
            Parameter::kept("tolerance_m", "The place is reached within this distance."),
            Parameter::kept("speed_mps", "Speed on the way."),
        ],
        part: Part::Motion,
        fits: |cohort, _| follows(cohort, "goto", "driver: {kind: goto}"),
        apply: |caller| {
            let place: [f64; 5] = caller.numbers();
            new_goal(caller, "goto", &place)
        },
        done: Some(arrived),
        ..PLAIN
    },
    Service {
        name: "hitch",
        doc: "Attaches the robot, which has mass, to a point of another about which both may turn: a trailer.",
        parameters: &[
            Parameter::robot("to", "The robot that holds it."),
            or("x_m", 0.0, "The point in the frame of that robot, forward."),
            or("y_m", 0.0, "To the left."),
            or("z_m", 0.0, "Up."),
        ],
        apply: |caller| {
            let to = word_at(caller.arguments(), 0).to_owned();
            let [x, y, z] = [1, 2, 3].map(|at| caller.number(at).unwrap_or(0.0));
            caller.attach(&to, Bond::Hitch(DVec3::new(x, y, z)))
        },
        ..PLAIN
    },
    Service {
        name: "inputs",
        doc: "Commands the inputs of the robot's motion themselves (rotor speeds, wheel speeds, rudders), all in order.",
        parameters: &[number("value", "The value of an input.")],
        repeated: 1,
        part: Part::Motion,
        apply: |caller| {
            let values = all_numbers(caller.arguments());
            caller.inputs(&values)?;
            take_over(caller, setpoint::DIRECT, [0.0; 4])
        },
        ..PLAIN
    },
    Service {
        name: "joint",
        doc: "Moves one joint to a position and is answered when it is there.",
        parameters: &[
            Parameter::word("joint", "The joint's frame."),
            number("position", "Where to: rad for a joint that turns, m for one that slides."),
        ],
        part: Part::Joints,
        fits: |cohort, arguments| has_joint(cohort, arguments.first().map(|_| word_at(arguments, 0))),
        apply: |caller| {
            let (joint, position) = (word_at(caller.arguments(), 0).to_owned(), caller.number(1).unwrap_or(0.0));
            to_positions(caller, &[(joint, position)])
        },
        done: Some(joints_there),
        ..PLAIN
    },
    Service {
        name: "joint_rate",
        doc: "Moves one joint at a rate, until it is told otherwise; others stand.",
        parameters: &[
            Parameter::word("joint", "The joint's frame."),
            number("rate", "How fast: rad/s for a joint that turns, m/s for one that slides."),
        ],
        part: Part::Joints,
        fits: |cohort, arguments| has_joint(cohort, arguments.first().map(|_| word_at(arguments, 0))),
        apply: |caller| {
            let (joint, rate) = (word_at(caller.arguments(), 0).to_owned(), caller.number(1).unwrap_or(0.0));
            if caller.get("joint_mode") != Some(mode::RATE) {
                for name in joints_of(caller) {
                    caller.set(&format!("joint_command.{name}"), &[0.0])?;
                }
                caller.set("joint_mode", &[mode::RATE])?;
            }
            caller.set(&format!("joint_command.{joint}"), &[rate])
        },
        ..PLAIN
    },
    Service {
        name: "joints",
        doc: "Moves all joints to positions, in the order of the robot's frames, and is answered when they are there.",
        parameters: &[number("position", "Where to: rad for a joint that turns, m for one that slides.")],
        repeated: 1,
        part: Part::Joints,
        fits: |cohort, arguments| match jointed(&cohort.blueprint.frames).count() {
            0 => Err("found no joint, expected frames that turn or slide".to_owned()),
            count if count == arguments.len() || arguments.is_empty() => Ok(()),
            count => Err(format!("found {} positions, expected {count}, one for each joint", arguments.len())),
        },
        apply: |caller| {
            let targets: Vec<(String, f64)> =
                joints_of(caller).into_iter().zip(all_numbers(caller.arguments())).collect();
            to_positions(caller, &targets)
        },
        done: Some(joints_there),
    },
    Service {
        name: "off",
        doc: "Switches the robot's light off.",
        fits: has_light,
        apply: |c| c.set("light", &[0.0]),
        ..PLAIN
    },
    Service {
        name: "on",
        doc: "Switches the robot's light on.",
        fits: has_light,
        apply: |c| c.set("light", &[1.0]),
        ..PLAIN
    },
    Service {
        name: "pan_tilt",
        doc: "Turns the joints pan and tilt and is answered when they are there, for robots that have both.",
        parameters: &[number("pan_rad", "Where to pan."), number("tilt_rad", "Where to tilt.")],
        part: Part::Joints,
        fits: |cohort, _| PAN_TILT.iter().try_for_each(|joint| has_joint(cohort, Some(joint))),
        apply: |caller| {
            let angles: [f64; 2] = caller.numbers();
            let targets: Vec<(String, f64)> = PAN_TILT.map(str::to_owned).into_iter().zip(angles).collect();
            to_positions(caller, &targets)
        },
        done: Some(joints_there),
        ..PLAIN
    },
    Service {
        name: "position",
        doc: "Position and heading, for robots whose motion or controller follows positions.",
        parameters: &[
            number("x_m", "Where to, east."),
            number("y_m", "Where to, north."),
            number("z_m", "Where to, up."),
            or("yaw_rad", 0.0, "Heading from east, counter-clockwise."),
        ],
        part: Part::Motion,
        apply: |caller| {
            let values = caller.numbers();
            take_over(caller, setpoint::POSITION, values)
        },
        ..PLAIN
    },
    Service {
        name: "press",
        doc: "Holds a key down, for robots with the driver keyboard.",
        parameters: &[Parameter::word("key", "up, down, left, right, a, d, page_up, page_down or space.")],
        fits: |cohort, arguments| has_keys(cohort, arguments, "press"),
        apply: |caller| strike(caller, "press"),
        ..PLAIN
    },
    Service {
        name: "release",
        doc: "Lets a key go up, for robots with the driver keyboard.",
        parameters: &[Parameter::word("key", "up, down, left, right, a, d, page_up, page_down or space.")],
        fits: |cohort, arguments| has_keys(cohort, arguments, "release"),
        apply: |caller| strike(caller, "release"),
        ..PLAIN
    },
    Service {
        name: "resume",
        doc: "Gives the robot back to its driver, which goes on.",
        fits: |cohort, _| match cohort.blueprint.drivers.iter().any(|slot| slot.name == DRIVER) {
            true => Ok(()),
            false => Err("found no driver, expected one that can go on".to_owned()),
        },
        apply: |caller| {
            caller.hand_back();
            caller.order(orders::RESUME, &[]).unwrap_or(Ok(()))
        },
        ..PLAIN
    },
    Service {
        name: "spawn",
        doc: "Adds a robot that is made like this one, under another name.",
        parameters: &[
            Parameter::word("name", "Its name."),
            number("x_m", "Where, east."),
            number("y_m", "Where, north."),
            or("z_m", 0.0, "Where, up."),
            or("yaw_rad", 0.0, "Heading from east, counter-clockwise."),
        ],
        apply: |caller| {
            let name = word_at(caller.arguments(), 0).to_owned();
            if name.is_empty() || name.contains(|c: char| ".[]*{}@".contains(c) || c.is_control()) {
                return Err(format!("found name {name:?}, expected one without . [ ] * {{ }} @"));
            }
            let [x, y, z, yaw] = [1, 2, 3, 4].map(|at| caller.number(at).unwrap_or(0.0));
            let pose = Pose { position_m: DVec3::new(x, y, z), orientation: math::quat_from_yaw(yaw) };
            caller.spawn(&name, pose)
        },
        ..PLAIN
    },
    Service {
        name: "steer_force",
        doc: "Steering angle, driving and braking force, for cars and robots on wheels with springs.",
        parameters: &[
            number("steer_rad", "Angle of the front wheels, to the left."),
            number("force_n", "Driving force."),
            or("brake_n", 0.0, "Braking force."),
        ],
        part: Part::Motion,
        apply: |caller| {
            let [steer, force, brake] = caller.numbers();
            take_over(caller, setpoint::STEER_FORCE, [steer, force, brake, 0.0])
        },
        ..PLAIN
    },
    Service {
        name: "stop",
        doc: "Stops as fast as the robot can, until resume or another command; a goal stays where it is. Aircraft keep \
              their course.",
        apply: |caller| caller.stop(),
        ..PLAIN
    },
    Service {
        name: "teleport",
        doc: "Puts the robot somewhere else at once, at rest; it lets go of what it holds and is let go.",
        parameters: &[
            number("x_m", "Where, east."),
            number("y_m", "Where, north."),
            number("z_m", "Where, up."),
            or("yaw_rad", 0.0, "Heading from east, counter-clockwise."),
            or("pitch_rad", 0.0, "Pitch, nose down."),
            or("roll_rad", 0.0, "Roll, to the right."),
        ],
        apply: |caller| {
            let [x, y, z, yaw, pitch, roll] = caller.numbers();
            let pose = Pose { position_m: DVec3::new(x, y, z), orientation: math::quat_from_rpy(roll, pitch, yaw) };
            caller.teleport(pose);
            Ok(())
        },
        ..PLAIN
    },
    Service {
        name: "v_omega",
        doc: "Speed forward and turn rate.",
        parameters: &[number("v_mps", "Speed forward."), number("omega_radps", "Turn rate, to the left.")],
        part: Part::Motion,
        apply: |caller| {
            let [v, omega] = caller.numbers();
            take_over(caller, setpoint::VELOCITY, [v, 0.0, 0.0, omega])
        },
        ..PLAIN
    },
    Service {
        name: "velocity",
        doc: "Velocity in the frame of the heading, and turn rate.",
        parameters: &[
            number("forward_mps", "Forward."),
            or("left_mps", 0.0, "To the left."),
            or("up_mps", 0.0, "Up."),
            or("turn_radps", 0.0, "Turn rate, to the left."),
        ],
        part: Part::Motion,
        apply: |caller| {
            let values = caller.numbers();
            take_over(caller, setpoint::VELOCITY, values)
        },
        ..PLAIN
    },
    Service {
        name: "waypoints",
        doc: "Goes from place to place and is answered at the last, for robots with the driver waypoints and room for them.",
        parameters: &[
            number("x_m", "Where to, east."),
            number("y_m", "Where to, north."),
            number("z_m", "Where to, up; counts where positions are commanded."),
        ],
        repeated: 3,
        part: Part::Motion,
        fits: |cohort, _| follows(cohort, "waypoints", "driver: {kind: waypoints, room: 8}, or more room"),
        apply: |caller| {
            let places = all_numbers(caller.arguments());
            new_goal(caller, "waypoints", &places)
        },
        done: Some(arrived),
    },
    Service {
        name: "xy_omega",
        doc: "Speed forward and to the left, and turn rate, for robots that move sideways.",
        parameters: &[
            number("x_mps", "Forward."),
            number("y_mps", "To the left."),
            number("omega_radps", "Turn rate, to the left."),
        ],
        part: Part::Motion,
        apply: |caller| {
            let [x, y, omega] = caller.numbers();
            take_over(caller, setpoint::VELOCITY, [x, y, 0.0, omega])
        },
        ..PLAIN
    },
];

const PAN_TILT: [&str; 2] = ["pan", "tilt"];

/// A joint is there within this, rad or m: 0.3° (0.005 rad) is what pan-tilt units are asked for.
const JOINT_TOLERANCE: f64 = 0.001;

/// Commands a setpoint in place of the robot's driver.
fn take_over(caller: &mut Caller<'_>, mode: f64, values: [f64; 4]) -> Result<(), String> {
    caller.take_over()?;
    caller.setpoint(mode, values);
    Ok(())
}

/// Gives the robot back to its driver with somewhere to go.
fn new_goal(caller: &mut Caller<'_>, order: &str, numbers: &[f64]) -> Result<(), String> {
    caller.order(order, numbers).unwrap_or_else(|| Err("found no driver that follows it".to_owned()))?;
    caller.hand_back();
    Ok(())
}

fn arrived(view: &View<'_>) -> bool {
    view.number("driver.status") == Some(status::ARRIVED as f64)
}

fn follows(cohort: &Cohort, order: &str, expected: &str) -> Result<(), String> {
    match driver_for(&cohort.blueprint, order) {
        Some(_) => Ok(()),
        None => Err(format!("found no driver that follows {order}, expected {expected}")),
    }
}

fn has_light(cohort: &Cohort, _: &[Datum]) -> Result<(), String> {
    match cohort.blueprint.light {
        Some(_) => Ok(()),
        None => Err("found no light, expected light: {…} on the robot".to_owned()),
    }
}

/// Whether there is this joint, or any.
fn has_joint(cohort: &Cohort, joint: Option<&str>) -> Result<(), String> {
    let names = || jointed(&cohort.blueprint.frames).map(|frame| frame.name.as_str());
    let known: Vec<&str> = names().collect();
    let Some(joint) = joint else {
        return if known.is_empty() {
            Err("found no joint, expected frames that turn or slide".to_owned())
        } else {
            Ok(())
        };
    };
    if known.contains(&joint) {
        return Ok(());
    }
    let hint = nearest(joint, names()).map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
    Err(match known.as_slice() {
        [] => format!("found no joint {joint:?}, expected a frame that turns or slides"),
        known => format!("found no joint {joint:?}, expected one of {}{hint}", known.join(", ")),
    })
}

fn has_keys(cohort: &Cohort, arguments: &[Datum], order: &str) -> Result<(), String> {
    follows(cohort, order, "driver: {kind: keyboard}")?;
    if arguments.is_empty() {
        return Ok(());
    }
    let word = word_at(arguments, 0);
    match Key::from_word(word) {
        Some(_) => Ok(()),
        None => Err(format!("found key {word:?}, expected one of {}", Key::WORDS.join(", "))),
    }
}

fn strike(caller: &mut Caller<'_>, order: &str) -> Result<(), String> {
    let bit = Key::from_word(word_at(caller.arguments(), 0)).map_or(0, Key::bit);
    caller.order(order, &[bit as f64]).unwrap_or(Ok(()))
}

fn all_numbers(arguments: &[Datum]) -> Vec<f64> {
    (0..arguments.len()).filter_map(|at| number_at(arguments, at)).collect()
}

fn joints_of(caller: &Caller<'_>) -> Vec<String> {
    jointed(&caller.blueprint().frames).map(|frame| frame.name.clone()).collect()
}

/// Commands positions of some joints; others that were moved at a rate stay where they are.
fn to_positions(caller: &mut Caller<'_>, targets: &[(String, f64)]) -> Result<(), String> {
    if caller.get("joint_mode") != Some(mode::POSITION) {
        caller.hold_joints();
    }
    targets.iter().try_for_each(|(joint, position)| caller.set(&format!("joint_command.{joint}"), &[*position]))
}

/// Whether all joints are where they are told to be, as far as their limits let them.
fn joints_there(view: &View<'_>) -> bool {
    let there = |frame: &muster_core::joints::Frame| {
        let at = |family: &str| view.number(&format!("{family}.{}", frame.name)).unwrap_or(0.0);
        let target = math::clamp(at("joint_command"), frame.servo.lower, frame.servo.upper);
        (at("joint") - target).abs() <= JOINT_TOLERANCE
    };
    view.blueprint().is_some_and(|blueprint| jointed(&blueprint.frames).all(there))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_in_order_of_their_names_and_documented() {
        assert!(SERVICES.is_sorted_by_key(|service| service.name));
        for service in SERVICES {
            assert!(service.doc.ends_with('.'), "{}", service.name);
            assert!(service.repeated <= service.parameters.len());
            for parameter in service.parameters {
                assert!(!parameter.doc.is_empty(), "{}.{}", service.name, parameter.name);
            }
        }
    }
}
