//! Gyroscope as MORSE has it: yaw, pitch and roll of the mount in the world without any error, and the angular velocity
//! in its own axes. A strapdown gyroscope with the errors of one is the `imu`; angles with errors are `attitude`.
//!
//! Angles follow REP-103: yaw from east towards north, pitch down, roll to the right, all about right-handed axes, applied
//! in the order yaw, pitch, roll.

use super::{build, world_from_mount};
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::lanes::{LANES, Quantity, Role, body};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Gyroscope.
    pub struct Gyroscope {}
}

/// Gyroscope.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "gyroscope",
    doc: "Yaw, pitch and roll of the mount in the world, and angular velocity in its own axes, without error (MORSE).",
    fields: Gyroscope::FIELDS,
    build: &build::<Gyroscope>,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] = &[
    Quantity::one("yaw_rad").with(Role::Heading),
    Quantity::one("pitch_rad").with(Role::Flipped),
    Quantity::one("roll_rad"),
    Quantity::many("angular_velocity_radps", 3).with(Role::Body),
];

/// Where yaw, pitch and roll begin in a sample.
pub const ANGLES: usize = 0;
/// Where the angular velocity begins in a sample.
pub const ANGULAR_VELOCITY: usize = 3;

impl Sensor for Gyroscope {
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

impl Feel for Gyroscope {
    fn start(&self, _: &mut Measure<'_>, _: usize) {}

    fn measure(&self, measure: &mut Measure<'_>) {
        let (truth, mount, lanes) = (measure.truth, *measure.mount, measure.lanes.min(LANES));
        let sample = &mut *measure.sample;
        measure.simd.run(
            #[inline(always)]
            || {
                for lane in 0..lanes {
                    let (roll, pitch, yaw) = math::rpy_from_quat(world_from_mount(truth, &mount, lane));
                    let turn = body::vec3(truth, body::ANGULAR_VELOCITY, lane);
                    body::set_vec3(sample, ANGLES, lane, glam::DVec3::new(yaw, pitch, roll));
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
    fn yaw_pitch_and_roll_are_those_of_the_body() {
        let gyroscope: Gyroscope = defaults();
        let mut bench = Bench::new(&gyroscope, 60.0);
        let angles = |lane: usize| (0.15 * lane as f64 - 1.0, 0.09 * lane as f64 - 0.7, 0.4 * lane as f64 - 3.0);
        for lane in 0..LANES {
            let (roll, pitch, yaw) = angles(lane);
            body::set_orientation(&mut bench.truth, lane, math::quat_from_rpy(roll, pitch, yaw));
            body::set_vec3(&mut bench.truth, body::ANGULAR_VELOCITY, lane, DVec3::new(0.1, -0.2, yaw));
        }
        bench.measure(&gyroscope);
        for lane in 0..LANES {
            let (roll, pitch, yaw) = angles(lane);
            assert!((bench.vec3(ANGLES, lane) - DVec3::new(yaw, pitch, roll)).length() < 1e-14);
            assert_eq!(bench.vec3(ANGULAR_VELOCITY, lane), DVec3::new(0.1, -0.2, yaw));
        }
    }

    #[test]
    fn a_turned_mount_has_its_own_angles_and_axes() {
        let gyroscope: Gyroscope = defaults();
        let mut bench = Bench::new(&gyroscope, 60.0);
        bench.mount.orientation = math::quat_from_yaw(0.5);
        body::set_orientation(&mut bench.truth, 0, math::quat_from_yaw(0.2));
        body::set_vec3(&mut bench.truth, body::ANGULAR_VELOCITY, 0, DVec3::X);
        bench.measure(&gyroscope);
        assert!((bench.sample[ANGLES][0] - 0.7).abs() < 1e-15);
        let expected = DVec3::new(0.5_f64.cos(), -0.5_f64.sin(), 0.0);
        assert!((bench.vec3(ANGULAR_VELOCITY, 0) - expected).length() < 1e-15);
    }
}
