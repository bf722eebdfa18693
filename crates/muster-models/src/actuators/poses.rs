//! Poses put in place at once: what only a simulator can do.

use super::{build, first};
use muster_core::actuator::{Actuator, Ask, Deed, Input, Offer, Told, numbers};
use muster_core::component::Kind;
use muster_core::math;
use muster_core::model::Cohort;
use muster_core::service::View;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Parameters of teleport.
    pub struct Teleport {
    }
}

spec! {
    /// Parameters of orientation.
    pub struct Orientation {
    }
}

/// Puts the robot somewhere else.
pub const TELEPORT: Kind<dyn Actuator> = Kind {
    name: "teleport",
    doc: "Puts the robot somewhere else at once: {x, y, z, yaw, pitch, roll}; translate, rotate.",
    fields: Teleport::FIELDS,
    build: &build::<Teleport>,
};

/// Turns the robot where it is.
pub const ORIENTATION: Kind<dyn Actuator> = Kind {
    name: "orientation",
    doc: "Turns the robot where it is, at once: {yaw, pitch, roll}.",
    fields: Orientation::FIELDS,
    build: &build::<Orientation>,
};

/// The pose of a robot as teleport takes it: x, y, z, yaw, pitch, roll.
fn here(robot: &View<'_>) -> [f64; 6] {
    let pose = robot.pose();
    let (roll, pitch, yaw) = math::rpy_from_quat(pose.orientation);
    [pose.position_m.x, pose.position_m.y, pose.position_m.z, yaw, pitch, roll]
}

fn angles() -> [Input; 3] {
    [
        Input::number("yaw", "Heading from east, counter-clockwise, rad."),
        Input::number("pitch", "Pitch, nose down, rad."),
        Input::number("roll", "Roll, to the right, rad."),
    ]
}

impl Actuator for Teleport {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        let place = [
            Input::needed("x", "Where, east, m."),
            Input::needed("y", "Where, north, m."),
            Input::needed("z", "Where, up, m."),
        ];
        place.into_iter().chain(angles()).collect()
    }

    fn service(&self) -> &'static str {
        "teleport"
    }

    fn command(&self, _: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        Ok(Ask::own("teleport", &first::<6>(values)?))
    }

    fn offers(&self) -> &'static [Offer] {
        const {
            &[
                Offer {
                    name: "translate",
                    takes: &["x", "y", "z"],
                    least: 1,
                    doc: "Moves the robot on by so much, m.",
                },
                Offer {
                    name: "rotate",
                    takes: &["roll", "pitch", "yaw"],
                    least: 1,
                    doc: "Turns the robot on by so much, rad.",
                },
            ]
        }
    }

    fn ask(&self, robot: &View<'_>, offer: &str, arguments: &[Told]) -> Result<Deed, String> {
        let more: [f64; 3] = numbers(arguments, [0.0; 3])?;
        let mut pose = here(robot);
        match offer {
            "translate" => pose[..3].iter_mut().zip(more).for_each(|(value, more)| *value += more),
            // roll comes last in the pose, and first here
            _ => pose[3..].iter_mut().rev().zip(more).for_each(|(value, more)| *value += more),
        }
        Ok(Deed::ask(Ask::own("teleport", &pose), Told::Nothing))
    }
}

impl Actuator for Orientation {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        angles().to_vec()
    }

    fn service(&self) -> &'static str {
        "teleport"
    }

    fn command(&self, robot: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        let [yaw, pitch, roll] = first(values)?;
        let [x, y, z, ..] = here(robot);
        Ok(Ask::own("teleport", &[x, y, z, yaw, pitch, roll]))
    }
}
