//! Actuators: named inputs of robots, as the software of a robot knows them. Adding one is a type and a row.
//!
//! Names, fields and what may be asked are those of MORSE's actuators (G. Echeverria et al., *MORSE: the MOdular Robots
//! Simulation Engine*, section III-A, and its user manual), so that programs written for them find here what they expect.
//! What an actuator wants of its robot is always one of the [services](crate::services).

pub mod devices;
pub mod flight;
pub mod forces;
pub mod limbs;
pub mod places;
pub mod poses;
pub mod velocities;

use muster_core::actuator::Actuator;
use muster_core::component::Kind;
use muster_core::node::{Node, Problems};
use muster_core::spec::Spec;
use std::sync::Arc;

/// Every built-in actuator.
pub const ACTUATORS: &[Kind<dyn Actuator>] = &[
    flight::ATTITUDE,
    places::DESTINATION,
    devices::DESTROYER,
    flight::ENGINES,
    forces::FORCE_TORQUE,
    limbs::GRIPPER,
    limbs::JOINTS,
    devices::KEYBOARD,
    devices::LIGHT,
    poses::ORIENTATION,
    limbs::PAN_TILT,
    places::ROTORCRAFT_WAYPOINT,
    flight::STABILIZED,
    forces::STEER_FORCE,
    poses::TELEPORT,
    velocities::V_OMEGA,
    velocities::VELOCITY,
    places::WAYPOINT,
    velocities::XY_OMEGA,
];

/// Makes an actuator whose specification is all there is to it.
fn build<A: Spec + Actuator + 'static>(
    node: &Node,
    path: &str,
    also_valid: &[&str],
    problems: &mut Problems,
) -> Option<Arc<dyn Actuator>> {
    let actuator = <A as Spec>::read(node, path, also_valid, problems)?;
    Some(Arc::new(actuator))
}

/// The first `N` of the numbers of a message.
fn first<const N: usize>(values: &[f64]) -> Result<[f64; N], String> {
    let found = values.first_chunk::<N>().copied();
    found.ok_or_else(|| format!("found {} numbers, expected {N}", values.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::SERVICES;

    #[test]
    fn actuators_are_in_order_of_their_names_and_documented() {
        assert!(ACTUATORS.is_sorted_by_key(|kind| kind.name));
        for kind in ACTUATORS {
            assert!(kind.doc.ends_with('.'), "{}", kind.name);
            let mut problems = Problems::default();
            let made = (kind.build)(&muster_core::node::Node::default(), "", &["kind"], &mut problems);
            let made = made.unwrap_or_else(|| panic!("{} has no defaults: {problems:?}", kind.name));
            assert!(SERVICES.iter().any(|service| service.name == made.service()), "{}", kind.name);
            for offer in made.offers() {
                assert!(offer.doc.ends_with('.'), "{}.{}", kind.name, offer.name);
                assert!(offer.least <= offer.takes.len());
            }
        }
    }
}
