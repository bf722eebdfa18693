//! Forces: engine and steering of a car, force and torque on a body.

use super::{build, first};
use glam::DVec3;
use muster_core::actuator::{Actuator, Ask, Input};
use muster_core::component::Kind;
use muster_core::lanes::Quantity;
use muster_core::math;
use muster_core::model::Cohort;
use muster_core::service::View;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Parameters of steer_force.
    pub struct SteerForce {
        /// A negative force drives forward, as on MORSE's vehicles.
        negative_forward: bool = false;
    }
}

spec! {
    /// Parameters of force_torque.
    pub struct ForceTorque {
        /// Forces and torques are in the frame of the robot as it is when a message comes; else in that of the world.
        robot_frame: bool = false;
    }
}

/// Steering and force.
pub const STEER_FORCE: Kind<dyn Actuator> = Kind {
    name: "steer_force",
    doc: "Steering angle, driving and braking force, for cars and robots on wheels with springs: {steer, force, brake}.",
    fields: SteerForce::FIELDS,
    build: &build::<SteerForce>,
};

/// Force and torque.
pub const FORCE_TORQUE: Kind<dyn Actuator> = Kind {
    name: "force_torque",
    doc: "Force and torque on a robot whose motion takes them (single_body): {force, torque}.",
    fields: ForceTorque::FIELDS,
    build: &build::<ForceTorque>,
};

impl Actuator for SteerForce {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        vec![
            Input::number("steer", "Angle of the front wheels, to the left, rad."),
            Input::number("force", "Driving force, N."),
            Input::number("brake", "Braking force, N."),
        ]
    }

    fn service(&self) -> &'static str {
        "steer_force"
    }

    fn command(&self, _: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        let [steer, force, brake] = first(values)?;
        let force = if self.negative_forward { -force } else { force };
        Ok(Ask::own("steer_force", &[steer, force, brake]))
    }
}

const NAMES: [&str; 2] = ["force_n", "torque_nm"];

impl Actuator for ForceTorque {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        vec![
            Input::list("force", 3, "Force along x, y and z, N."),
            Input::list("torque", 3, "Torque about x, y and z, N m."),
        ]
    }

    fn service(&self) -> &'static str {
        "inputs"
    }

    fn fits(&self, cohort: &Cohort) -> Result<(), String> {
        let blueprint = &cohort.blueprint;
        let inputs = blueprint.motion.inputs();
        match inputs.iter().take(2).map(|input| input.name).eq(NAMES) {
            true => Ok(()),
            false => Err(format!(
                "found motion {:?}, expected one that takes force and torque, such as single_body",
                blueprint.motion_kind
            )),
        }
    }

    fn command(&self, robot: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        let values: [f64; 6] = first(values)?;
        let wanted = |from: usize| DVec3::new(values[from], values[from + 1], values[from + 2]);
        // the motion takes force in the frame of the world, and torque in that of the body
        let orientation = robot.pose().orientation;
        let (force, torque) = match self.robot_frame {
            true => (math::rotate(orientation, wanted(0)), wanted(3)),
            false => (wanted(0), math::rotate_inverse(orientation, wanted(3))),
        };
        let total = robot.blueprint().map_or(6, |blueprint| Quantity::total(blueprint.motion.inputs()));
        let mut inputs = vec![0.0; total.max(6)];
        inputs[..3].copy_from_slice(&force.to_array());
        inputs[3..6].copy_from_slice(&torque.to_array());
        Ok(Ask::own("inputs", &inputs))
    }
}
