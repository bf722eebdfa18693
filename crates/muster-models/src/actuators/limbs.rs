//! Joints: pan-tilt units, arms, grippers.

use super::{build, first};
use glam::DVec3;
use muster_core::actuator::{Actuator, Ask, Deed, Input, Offer, Told, numbers};
use muster_core::component::{Kind, Pose};
use muster_core::joints::{Frame, Joint, frame_motions, jointed};
use muster_core::math;
use muster_core::model::Cohort;
use muster_core::node::nearest;
use muster_core::service::{Datum, View};
use muster_core::spec;
use muster_core::spec::Spec;
use std::borrow::Cow;

spec! {
    /// Parameters of pan_tilt.
    pub struct PanTilt {
    }
}

spec! {
    /// Parameters of joints.
    pub struct Joints {
    }
}

spec! {
    /// Parameters of gripper.
    pub struct Gripper {
        /// How far it reaches.
        distance_m: f64 = 0.5, in 0.001..=1000.0;
        /// Full angle about the forward axis within which it reaches.
        angle_deg: f64 = 60.0, in 0.001..=360.0;
        /// What it takes: robots with mass and this tag.
        tag: String = "graspable".to_owned();
    }
}

/// A pan-tilt unit.
pub const PAN_TILT: Kind<dyn Actuator> = Kind {
    name: "pan_tilt",
    doc: "Angles of the joints pan and tilt: {pan, tilt}; set_pan_tilt, get_pan_tilt, look_at_point, look_at_object.",
    fields: PanTilt::FIELDS,
    build: &build::<PanTilt>,
};

/// All joints.
pub const JOINTS: Kind<dyn Actuator> = Kind {
    name: "joints",
    doc: "Positions of all joints by name, rad or m; set_rotation, set_rotations, rotate, rotate_joints, set_translation, \
          translate, get_joints, get_dofs, get_IK_limits.",
    fields: Joints::FIELDS,
    build: &build::<Joints>,
};

/// A gripper.
pub const GRIPPER: Kind<dyn Actuator> = Kind {
    name: "gripper",
    doc: "Takes hold of the nearest thing before the robot and lets go of it: grab, release.",
    fields: Gripper::FIELDS,
    build: &build::<Gripper>,
};

impl PanTilt {
    /// The angles at which the unit looks at a point of the world.
    fn towards(robot: &View<'_>, point: DVec3) -> Result<[f64; 2], String> {
        let blueprint = robot.blueprint().ok_or("the robot is gone")?;
        let mut frames = Vec::new();
        frame_motions(&blueprint.frames, |_| (0.0, 0.0), &mut frames);
        let at = |name: &str| blueprint.frames.iter().position(|frame| frame.name == name);
        let tilt = at("tilt").and_then(|tilt| frames.get(tilt)).map_or(Pose::IDENTITY, |motion| motion.pose);
        let here = robot.pose();
        let way = math::rotate_inverse(here.orientation, point - here.position_m) - tilt.position_m;
        Ok([math::atan2(way.y, way.x), -math::atan2(way.z, math::hypot2(way.x, way.y))])
    }

    fn deed(angles: [f64; 2]) -> Deed {
        Deed::wait(Ask::own("pan_tilt", &angles), Told::Nothing)
    }
}

impl Actuator for PanTilt {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        vec![Input::number("pan", "Where to pan, rad."), Input::number("tilt", "Where to tilt, rad.")]
    }

    fn service(&self) -> &'static str {
        "pan_tilt"
    }

    fn command(&self, _: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        Ok(Ask::own("pan_tilt", &first::<2>(values)?))
    }

    fn offers(&self) -> &'static [Offer] {
        const {
            &[
                Offer {
                    name: "set_pan_tilt",
                    takes: &["pan", "tilt"],
                    least: 2,
                    doc: "Turns, and answers when it is there.",
                },
                Offer { name: "get_pan_tilt", takes: &[], least: 0, doc: "Tells the angles." },
                Offer {
                    name: "look_at_point",
                    takes: &["x", "y", "z"],
                    least: 3,
                    doc: "Turns towards a point of the world.",
                },
                Offer { name: "look_at_object", takes: &["object"], least: 1, doc: "Turns towards a robot." },
            ]
        }
    }

    fn ask(&self, robot: &View<'_>, offer: &str, arguments: &[Told]) -> Result<Deed, String> {
        match offer {
            "set_pan_tilt" => Ok(Self::deed(numbers(arguments, [0.0; 2])?)),
            "get_pan_tilt" => {
                let angle = |joint: &str| robot.number(&format!("joint.{joint}")).unwrap_or(0.0);
                Ok(Deed::tell(Told::numbers([angle("pan"), angle("tilt")])))
            }
            "look_at_point" => {
                let [x, y, z] = numbers(arguments, [0.0; 3])?;
                Ok(Self::deed(Self::towards(robot, DVec3::new(x, y, z))?))
            }
            _ => {
                let name = arguments.first().and_then(Told::word).unwrap_or_default();
                let pose = robot.world().pose(name).ok_or_else(|| format!("found no robot {name:?}"))?;
                Ok(Self::deed(Self::towards(robot, pose.position_m)?))
            }
        }
    }
}

fn joints_of<'a>(robot: &View<'a>) -> Vec<&'a Frame> {
    robot.robot().map_or_else(Vec::new, |robot| jointed(&robot.cohort.blueprint.frames).collect())
}

fn axis(frame: &Frame) -> DVec3 {
    match frame.joint {
        Joint::Turn(axis) | Joint::Slide(axis) => axis,
        Joint::Fixed => DVec3::Z,
    }
}

/// How far along its axis a joint is to go: a number, or a vector of which the part along the axis counts.
fn along(frame: &Frame, told: &Told) -> Result<f64, String> {
    let wrong = || format!("found {told:?} for joint {:?}, expected a number or three", frame.name);
    match told.items() {
        [] => told.number().ok_or_else(wrong),
        [x, y, z] => {
            let numbers = [x.number().ok_or_else(wrong)?, y.number().ok_or_else(wrong)?, z.number().ok_or_else(wrong)?];
            Ok(DVec3::from(numbers).dot(axis(frame)))
        }
        _ => Err(wrong()),
    }
}

fn joint<'a>(robot: &View<'a>, name: &str) -> Result<&'a Frame, String> {
    let joints = joints_of(robot);
    joints.iter().find(|frame| frame.name == name).copied().ok_or_else(|| {
        let near = nearest(name, joints.iter().map(|frame| frame.name.as_str()));
        let hint = near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
        format!("found no joint {name:?}{hint}")
    })
}

impl Joints {
    fn one(robot: &View<'_>, arguments: &[Told]) -> Result<Ask, String> {
        let name = arguments.first().and_then(Told::word).unwrap_or_default();
        let frame = joint(robot, name)?;
        let to = along(frame, arguments.get(1).unwrap_or(&Told::Nothing))?;
        Ok(Ask { robot: None, service: "joint", arguments: vec![Datum::from(name), Datum::Number(to)] })
    }

    /// All joints, those that are not named where they are told to be already.
    fn several(robot: &View<'_>, told: &Told) -> Result<Ask, String> {
        let joints = joints_of(robot);
        let mut targets: Vec<f64> =
            joints.iter().map(|frame| robot.number(&format!("joint.{}", frame.name)).unwrap_or(0.0)).collect();
        match told {
            Told::Map(entries) => {
                for (name, value) in entries {
                    let frame = joint(robot, name)?;
                    let at = joints.iter().position(|known| known.name == *name).unwrap_or(0);
                    targets[at] = along(frame, value)?;
                }
            }
            Told::List(items) => {
                for ((target, frame), value) in targets.iter_mut().zip(&joints).zip(items) {
                    *target = along(frame, value)?;
                }
            }
            other => return Err(format!("found {other:?}, expected positions by joint, or a list of them")),
        }
        Ok(Ask::own("joints", &targets))
    }
}

impl Actuator for Joints {
    fn inputs(&self, cohort: &Cohort) -> Vec<Input> {
        let input = |frame: &Frame| Input {
            name: Cow::Owned(frame.name.clone()),
            len: 1,
            default: None,
            doc: "Where the joint is to go, rad or m.",
        };
        jointed(&cohort.blueprint.frames).map(input).collect()
    }

    fn service(&self) -> &'static str {
        "joints"
    }

    fn command(&self, _: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        Ok(Ask::own("joints", values))
    }

    fn offers(&self) -> &'static [Offer] {
        const ONE: &[&str] = &["joint", "value", "speed"];
        const ALL: &[&str] = &["joints", "speed"];
        const {
            &[
                Offer { name: "set_rotation", takes: ONE, least: 2, doc: "Sends one joint to an angle." },
                Offer {
                    name: "set_rotations",
                    takes: ALL,
                    least: 1,
                    doc: "Sends all joints to angles, in their order.",
                },
                Offer { name: "rotate", takes: ONE, least: 2, doc: "Turns one joint, and answers when it is there." },
                Offer {
                    name: "rotate_joints",
                    takes: ALL,
                    least: 1,
                    doc: "Turns joints by name, and answers when they are there.",
                },
                Offer { name: "set_translation", takes: ONE, least: 2, doc: "Sends one joint to a place." },
                Offer {
                    name: "set_translations",
                    takes: ALL,
                    least: 1,
                    doc: "Sends all joints to places, in their order.",
                },
                Offer {
                    name: "translate",
                    takes: ONE,
                    least: 2,
                    doc: "Slides one joint, and answers when it is there.",
                },
                Offer {
                    name: "translate_joints",
                    takes: ALL,
                    least: 1,
                    doc: "Slides joints by name, and answers when they are there.",
                },
                Offer { name: "get_joints", takes: &[], least: 0, doc: "Tells the names of the joints." },
                Offer { name: "get_dofs", takes: &[], least: 0, doc: "Tells the axis of each joint." },
                Offer {
                    name: "get_IK_limits",
                    takes: &["joint"],
                    least: 1,
                    doc: "Tells how far a joint goes, from and to.",
                },
            ]
        }
    }

    fn ask(&self, robot: &View<'_>, offer: &str, arguments: &[Told]) -> Result<Deed, String> {
        let told = arguments.first().unwrap_or(&Told::Nothing);
        Ok(match offer {
            "set_rotation" | "set_translation" => Deed::ask(Self::one(robot, arguments)?, Told::Nothing),
            "rotate" | "translate" => Deed::wait(Self::one(robot, arguments)?, Told::Nothing),
            "set_rotations" | "set_translations" => Deed::ask(Self::several(robot, told)?, Told::Nothing),
            "rotate_joints" | "translate_joints" => Deed::wait(Self::several(robot, told)?, Told::Nothing),
            "get_joints" => {
                Deed::tell(Told::List(joints_of(robot).iter().map(|frame| Told::from(frame.name.as_str())).collect()))
            }
            "get_dofs" => {
                let letters = |frame: &Frame| {
                    let parts = axis(frame).to_array().into_iter().zip(["x", "y", "z"]);
                    Told::List(
                        parts.filter(|(part, _)| part.abs() > 0.5).map(|(_, letter)| Told::from(letter)).collect(),
                    )
                };
                let all = joints_of(robot).into_iter().map(|frame| (frame.name.clone(), letters(frame)));
                Deed::tell(Told::Map(all.collect()))
            }
            _ => {
                let frame = joint(robot, told.word().unwrap_or_default())?;
                Deed::tell(Told::numbers([frame.servo.lower, frame.servo.upper]))
            }
        })
    }
}

impl Gripper {
    /// The nearest thing it can take, by its address.
    fn nearest(&self, robot: &View<'_>) -> Option<String> {
        let own = robot.robot()?;
        let here = robot.pose();
        let world = robot.world();
        let within = math::cos(0.5 * self.angle_deg.to_radians());
        let others = world.robots().filter(|other| other.realm == own.realm && other.name != own.name);
        let graspable = others.filter(|other| other.cohort.blueprint.tags.contains(&self.tag));
        let reached = graspable.filter_map(|other| {
            let way = world.pose(&other.address())?.position_m - here.position_m;
            let forward = math::rotate_inverse(here.orientation, way).x;
            let distance = way.length();
            (distance <= self.distance_m && forward >= within * distance).then(|| (distance, other.address()))
        });
        reached.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, address)| address)
    }
}

impl Actuator for Gripper {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        Vec::new()
    }

    fn service(&self) -> &'static str {
        "attach"
    }

    fn command(&self, _: &View<'_>, _: &[f64]) -> Result<Ask, String> {
        Err("found a message, expected grab or release to be asked".to_owned())
    }

    fn offers(&self) -> &'static [Offer] {
        const {
            &[
                Offer { name: "grab", takes: &[], least: 0, doc: "Takes hold of the nearest thing; tells its name." },
                Offer {
                    name: "release",
                    takes: &[],
                    least: 0,
                    doc: "Lets go of what it holds; tells whether it held anything.",
                },
            ]
        }
    }

    fn ask(&self, robot: &View<'_>, offer: &str, _: &[Told]) -> Result<Deed, String> {
        let Some(thing) = self.nearest(robot) else { return Ok(Deed::tell(Told::Flag(false))) };
        let own = robot.robot().map(|robot| robot.name.clone()).unwrap_or_default();
        Ok(match offer {
            "grab" => {
                let ask = Ask { robot: Some(thing.clone()), service: "attach", arguments: vec![Datum::Word(own)] };
                Deed::wait(ask, Told::Word(thing))
            }
            _ => Deed::wait(Ask { robot: Some(thing), service: "detach", arguments: Vec::new() }, Told::Flag(true)),
        })
    }
}
