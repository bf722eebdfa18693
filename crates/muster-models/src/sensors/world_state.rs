//! World state: pose and velocity of every robot, the observer included, in the order of the roster. For monitors,
//! recorders and omniscient software; no robot has such a sensor in reality.

use super::build;
use muster_core::component::{Kind, Look, LookAt, Sense, Sensor};
use muster_core::lanes::{Quantity, Role};
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Pose and velocity of every robot.
    pub struct WorldState {}
}

/// Pose and velocity of every robot.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "world_state",
    doc: "Ground truth of every robot in the world: id, position, orientation and velocity.",
    fields: WorldState::FIELDS,
    build: &build::<WorldState>,
};

/// What a sample holds for each robot.
pub const FIELDS: &[Quantity] = &[
    Quantity::one("id"),
    Quantity::many("position_m", 3).with(Role::Point),
    Quantity::many("orientation", 4).with(Role::Attitude),
    Quantity::many("velocity_mps", 3).with(Role::World),
];

/// Where the number in the roster is in a record.
pub const ID: usize = 0;
/// Where the position begins in a record.
pub const POSITION: usize = 1;
/// Where the orientation begins in a record.
pub const ORIENTATION: usize = 4;
/// Where the velocity begins in a record.
pub const VELOCITY: usize = 8;
/// Numbers in a record.
pub const RECORD: usize = 11;

impl Sensor for WorldState {
    fn fields(&self) -> &'static [Quantity] {
        FIELDS
    }

    fn default_rate_hz(&self) -> f64 {
        10.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::World(self)
    }
}

impl Look for WorldState {
    fn capacity(&self, robots: usize) -> usize {
        robots * RECORD
    }

    fn look(&self, at: &LookAt<'_>, sample: &mut Vec<f64>) {
        sample.clear();
        for robot in &at.world.robots {
            sample.push(f64::from(robot.robot));
            sample.extend_from_slice(&robot.position_m.to_array());
            sample.extend_from_slice(&robot.orientation.to_array());
            sample.extend_from_slice(&robot.velocity_mps.to_array());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{defaults, environment};
    use super::*;
    use glam::{DQuat, DVec3};
    use muster_core::component::Pose;
    use muster_core::snapshot::{Seen, Snapshot};
    use std::sync::Arc;

    #[test]
    fn every_robot_is_told_as_it_is() {
        let seen = |robot: u32| Seen {
            key: 0,
            robot,
            position_m: DVec3::new(f64::from(robot), 0.1, -3.0),
            orientation: DQuat::from_xyzw(0.0, 0.6, 0.0, 0.8),
            velocity_mps: DVec3::new(1.0, 2.0, f64::from(robot)),
            angular_velocity_radps: DVec3::ZERO,
            radius_m: 1.0,
        };
        let world = Snapshot::of(Arc::new(environment()), vec![seen(4), seen(9)], &[]);
        let sensor: WorldState = defaults();
        let mut sample = Vec::new();
        sensor.look(&super::super::testing::glance(&world, 0, &Pose::IDENTITY), &mut sample);
        assert_eq!(sample.len(), sensor.capacity(2));
        assert_eq!(sample[RECORD..], [9.0, 9.0, 0.1, -3.0, 0.0, 0.6, 0.0, 0.8, 1.0, 2.0, 9.0]);
    }
}
