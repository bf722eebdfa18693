//! Ground truth: pose and twist of the sensor's mount in the world, without any error. Software under test can use it
//! in place of estimation. On a mount at the body's origin the numbers are those of the body, bit for bit.

use super::build;
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::lanes::{LANES, Quantity, Role, body};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Ground truth.
    pub struct Truth {}
}

/// Ground truth of pose and twist.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "truth",
    doc: "Ground truth of the mount: position, orientation and velocity in the world, angular velocity in its own axes.",
    fields: Truth::FIELDS,
    build: &build::<Truth>,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] = &[
    Quantity::many("position_m", 3).with(Role::Point),
    Quantity::many("orientation", 4).with(Role::Attitude),
    Quantity::many("velocity_mps", 3).with(Role::World),
    Quantity::many("angular_velocity_radps", 3).with(Role::Body),
];

/// Where the position begins in a sample.
pub const POSITION: usize = 0;
/// Where the orientation begins in a sample.
pub const ORIENTATION: usize = 3;
/// Where the velocity begins in a sample.
pub const VELOCITY: usize = 7;
/// Where the angular velocity begins in a sample.
pub const ANGULAR_VELOCITY: usize = 10;

impl Sensor for Truth {
    fn fields(&self) -> &'static [Quantity] {
        FIELDS
    }

    fn default_rate_hz(&self) -> f64 {
        100.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }
}

impl Feel for Truth {
    fn start(&self, _: &mut Measure<'_>, _: usize) {}

    fn measure(&self, measure: &mut Measure<'_>) {
        let (truth, sample, mount) = (measure.truth, &mut *measure.sample, *measure.mount);
        let lanes = measure.lanes.min(LANES);
        measure.simd.run(
            #[inline(always)]
            || {
                for lane in 0..lanes {
                    let world_from_body = body::orientation(truth, lane);
                    let turn = body::vec3(truth, body::ANGULAR_VELOCITY, lane);
                    let arm = math::rotate(world_from_body, mount.position_m);
                    let swing = math::rotate(world_from_body, turn.cross(mount.position_m));
                    body::set_vec3(sample, POSITION, lane, body::vec3(truth, body::POSITION, lane) + arm);
                    // not normalised: the product with the identity has to keep every bit
                    let orientation = world_from_body * mount.orientation;
                    for (axis, value) in orientation.to_array().into_iter().enumerate() {
                        sample[ORIENTATION + axis][lane] = value;
                    }
                    body::set_vec3(sample, VELOCITY, lane, body::vec3(truth, body::VELOCITY, lane) + swing);
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

    fn moving() -> (Truth, Bench) {
        let truth: Truth = defaults();
        let mut bench = Bench::new(&truth, 100.0);
        for lane in 0..LANES {
            let angle = 0.3 * lane as f64;
            body::set_vec3(&mut bench.truth, body::POSITION, lane, DVec3::new(angle, -7.1, 1.0 / 3.0));
            body::set_orientation(&mut bench.truth, lane, math::quat_from_rpy(0.1 * angle, -0.2, angle));
            body::set_vec3(&mut bench.truth, body::VELOCITY, lane, DVec3::new(0.1, angle, -2.0));
            body::set_vec3(&mut bench.truth, body::ANGULAR_VELOCITY, lane, DVec3::new(0.7, -0.1, angle));
        }
        (truth, bench)
    }

    #[test]
    fn truth_at_the_body_origin_has_no_error_at_all() {
        let (truth, mut bench) = moving();
        bench.measure(&truth);
        assert_eq!(bench.sample, bench.truth[..13]);
    }

    #[test]
    fn a_mount_moves_with_the_turning_body() {
        let (truth, mut bench) = moving();
        bench.mount.position_m = DVec3::new(0.5, 0.2, -0.1);
        bench.measure(&truth);
        let before: Vec<DVec3> = (0..LANES).map(|lane| bench.vec3(POSITION, lane)).collect();
        let velocity: Vec<DVec3> = (0..LANES).map(|lane| bench.vec3(VELOCITY, lane)).collect();
        // a small step of the body along its twist moves the mount along the measured velocity
        const DT_S: f64 = 1e-6;
        for lane in 0..LANES {
            let step = body::vec3(&bench.truth, body::VELOCITY, lane) * DT_S;
            let position = body::vec3(&bench.truth, body::POSITION, lane) + step;
            body::set_vec3(&mut bench.truth, body::POSITION, lane, position);
            let turn = math::quat_exp(body::vec3(&bench.truth, body::ANGULAR_VELOCITY, lane) * DT_S);
            let orientation = body::orientation(&bench.truth, lane) * turn;
            body::set_orientation(&mut bench.truth, lane, orientation);
        }
        bench.measure(&truth);
        for lane in 0..LANES {
            let found = (bench.vec3(POSITION, lane) - before[lane]) / DT_S;
            assert!((found - velocity[lane]).length() < 1e-5, "{found} {}", velocity[lane]);
        }
    }
}
