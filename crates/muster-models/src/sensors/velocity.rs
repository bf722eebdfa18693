//! Velocity of the mount without error: linear in the axes of the world and of the mount, angular in those of the mount.
//! A Doppler log or an optical-flow estimator, with noise by modifiers.

use super::{build, mount_motion, world_from_mount};
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::lanes::{LANES, Quantity, Role, body};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Velocity sensor.
    pub struct Velocity {}
}

/// Velocity sensor.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "velocity",
    doc: "Velocity of the mount in the world and in its own axes, and its angular velocity, without error.",
    fields: Velocity::FIELDS,
    build: &build::<Velocity>,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] = &[
    Quantity::many("velocity_mps", 3).with(Role::World),
    Quantity::many("body_velocity_mps", 3).with(Role::Body),
    Quantity::many("angular_velocity_radps", 3).with(Role::Body),
];

/// Where the velocity in the world begins in a sample.
pub const VELOCITY: usize = 0;
/// Where the velocity in the axes of the mount begins in a sample.
pub const BODY_VELOCITY: usize = 3;
/// Where the angular velocity begins in a sample.
pub const ANGULAR_VELOCITY: usize = 6;

impl Sensor for Velocity {
    fn fields(&self) -> &'static [Quantity] {
        FIELDS
    }

    fn default_rate_hz(&self) -> f64 {
        60.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }
}

impl Feel for Velocity {
    fn start(&self, _: &mut Measure<'_>, _: usize) {}

    fn measure(&self, measure: &mut Measure<'_>) {
        let (mount, lanes, sample) = (*measure.mount, measure.lanes.min(LANES), &mut *measure.sample);
        let Some(truth) = measure.truth.first_chunk() else { return };
        measure.simd.run(
            #[inline(always)]
            || {
                for lane in 0..lanes {
                    let (_, velocity_mps) = mount_motion(truth, mount.position_m, lane);
                    let turn = body::vec3(truth, body::ANGULAR_VELOCITY, lane);
                    let in_mount = math::rotate_inverse(world_from_mount(truth, &mount, lane), velocity_mps);
                    body::set_vec3(sample, VELOCITY, lane, velocity_mps);
                    body::set_vec3(sample, BODY_VELOCITY, lane, in_mount);
                    body::set_vec3(sample, ANGULAR_VELOCITY, lane, math::rotate_inverse(mount.orientation, turn));
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults};
    use super::*;
    use glam::DVec3;

    #[test]
    fn a_mount_on_a_circle_moves_along_its_tangent() {
        // the body turns on the spot with 2 rad/s; a mount 0.5 m ahead moves with 1 m/s to the left
        let velocity: Velocity = defaults();
        let mut bench = Bench::new(&velocity, 60.0);
        bench.mount.position_m = DVec3::new(0.5, 0.0, 0.0);
        for lane in 0..LANES {
            body::set_orientation(&mut bench.truth, lane, math::quat_from_yaw(0.4 * lane as f64));
            body::set_vec3(&mut bench.truth, body::ANGULAR_VELOCITY, lane, DVec3::new(0.0, 0.0, 2.0));
        }
        bench.measure(&velocity);
        for lane in 0..LANES {
            let heading = 0.4 * lane as f64;
            assert!((bench.vec3(BODY_VELOCITY, lane) - DVec3::Y).length() < 1e-14);
            let left = DVec3::new(-heading.sin(), heading.cos(), 0.0);
            assert!((bench.vec3(VELOCITY, lane) - left).length() < 1e-14);
            assert_eq!(bench.vec3(ANGULAR_VELOCITY, lane), DVec3::new(0.0, 0.0, 2.0));
        }
    }
}
