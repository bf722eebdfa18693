//! Contact force: the force of all contacts on the robot over its last tick, in the axes of the world and of the sensor's
//! mount. At rest on the ground it is the weight, upwards. Only bodies with mass (`single_body`) bear forces; robots that
//! are moved by their algorithm alone feel none.

use super::{build, world_from_mount};
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::lanes::{LANES, Quantity, Role, body};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Sensor of contact forces.
    pub struct ContactForce {}
}

/// Sensor of contact forces.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "contact_force",
    doc: "Force of all contacts on a body with mass over its last tick, in the axes of the world and of the mount.",
    fields: ContactForce::FIELDS,
    build: &build::<ContactForce>,
};

impl Sensor for ContactForce {
    fn fields(&self) -> &'static [Quantity] {
        const { &[Quantity::many("force_n", 3).with(Role::World), Quantity::many("body_force_n", 3).with(Role::Body)] }
    }

    fn default_rate_hz(&self) -> f64 {
        100.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }
}

impl Feel for ContactForce {
    fn start(&self, _: &mut Measure<'_>, _: usize) {}

    fn measure(&self, measure: &mut Measure<'_>) {
        for lane in 0..measure.lanes.min(LANES) {
            let force_n = body::vec3(measure.truth, body::CONTACT_FORCE, lane);
            let turn = world_from_mount(measure.truth, measure.mount, lane);
            body::set_vec3(measure.sample, 0, lane, force_n);
            body::set_vec3(measure.sample, 3, lane, math::rotate_inverse(turn, force_n));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::*;
    use glam::DVec3;

    #[test]
    fn a_force_in_the_axes_of_a_turned_mount_is_turned_back() {
        let sensor = ContactForce {};
        let mut bench = Bench::new(&sensor, 100.0);
        let turn = math::quat_from_rpy(0.3, -0.2, 1.0);
        bench.mount.orientation = math::quat_from_yaw(0.5);
        for lane in 0..LANES {
            body::set_orientation(&mut bench.truth, lane, turn);
            body::set_vec3(&mut bench.truth, body::CONTACT_FORCE, lane, DVec3::new(3.0, -4.0, 12.0));
        }
        bench.measure(&sensor);
        let (world, mounted) = (bench.vec3(0, 2), bench.vec3(3, 2));
        assert_eq!(world, DVec3::new(3.0, -4.0, 12.0));
        assert!((turn * (math::quat_from_yaw(0.5) * mounted) - world).length() < 1e-12 && mounted != world);
    }
}
