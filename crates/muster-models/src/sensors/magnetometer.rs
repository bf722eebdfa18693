//! Magnetometer: the magnetic field of the earth in the axes of its mount, by the [World Magnetic Model](wmm) at the
//! place and date of the world, bent by what the robot is made of:
//!
//! ```text
//! y = S Rᵀ B + b + n      S: soft iron, b: hard iron, n: white noise
//! ```
//!
//! S and b are those of M. Kok and T. B. Schön (*Magnetometer Calibration Using Inertial Sensors*, IEEE Sensors Journal
//! 16, 2016) and of most compass calibrations; S is symmetric if iron alone is to blame, and has the gains of the axes
//! and their angles in it too. Disturbances of buildings and currents are not modelled.

pub mod wmm;

use super::{build, mount_motion, stream, world_from_mount};
use glam::{DMat3, DVec3};
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::geodesy::TangentPlane;
use muster_core::lanes::{LANES, Quantity, Role, body};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;
use wmm::MagneticField;

spec! {
    /// Magnetometer.
    pub struct Magnetometer {
        /// Standard deviation of the white noise of each axis.
        noise_t: f64 = 0.0, in 0.0..=1.0;
        /// Field of magnetised parts of the robot, in the axes of the sensor, the same for every robot.
        hard_iron_t: [f64; 3] = [0.0; 3], in -1.0..=1.0;
        /// Standard deviation of a further hard-iron field, different for every robot.
        hard_iron_std_t: f64 = 0.0, in 0.0..=1.0;
        /// Matrix by which soft iron bends the field, row by row.
        soft_iron: [f64; 9] = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], in -10.0..=10.0;
    }
}

/// Magnetometer.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "magnetometer",
    doc: "Magnetic field of the earth (World Magnetic Model 2025) in the axes of the mount, with soft and hard iron.",
    fields: Magnetometer::FIELDS,
    build: &build::<Magnetometer>,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] = &[Quantity::many("magnetic_field_t", 3).with(Role::Body)];

const STATE: &[Quantity] = &[Quantity::many("hard_iron_t", 3)];

/// Measuring draws 0, so this is free for the hard iron at the start.
const START_DRAW: u32 = 1;

impl Sensor for Magnetometer {
    fn fields(&self) -> &'static [Quantity] {
        FIELDS
    }

    fn default_rate_hz(&self) -> f64 {
        50.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }
}

impl Feel for Magnetometer {
    fn state(&self) -> &'static [Quantity] {
        STATE
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        let [x, y, z, _] = stream(measure.streams[lane]).normals(0, START_DRAW);
        let own = DVec3::from(self.hard_iron_t) + self.hard_iron_std_t * DVec3::new(x, y, z);
        body::set_vec3(measure.state, 0, lane, own);
    }

    fn measure(&self, measure: &mut Measure<'_>) {
        let field = MagneticField::new(measure.environment.decimal_year);
        let plane = TangentPlane::new(&measure.environment.origin);
        // rows of the matrix are columns of its transpose
        let soft_iron = DMat3::from_cols_array(&self.soft_iron).transpose();
        let Some(truth) = measure.truth.first_chunk() else { return };
        let (mount, lanes) = (*measure.mount, measure.lanes.min(LANES));
        let (mut points_m, mut fields_t) = ([[0.0; LANES]; 3], [[0.0; LANES]; 3]);
        measure.simd.run(
            #[inline(always)]
            || {
                for lane in 0..lanes {
                    let (position_m, _) = mount_motion(truth, mount.position_m, lane);
                    body::set_vec3(&mut points_m, 0, lane, plane.ecef(position_m));
                }
                field.at(&points_m, &mut fields_t, lanes);
            },
        );
        for lane in 0..lanes {
            let in_world = plane.world_axes(body::vec3(&fields_t, 0, lane));
            let in_mount = math::rotate_inverse(world_from_mount(truth, &mount, lane), in_world);
            let mut measured = soft_iron * in_mount + body::vec3(measure.state, 0, lane);
            if self.noise_t > 0.0 {
                let [x, y, z, _] = stream(measure.streams[lane]).normals(measure.index, 0);
                measured += self.noise_t * DVec3::new(x, y, z);
            }
            body::set_vec3(measure.sample, 0, lane, measured);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults, deviation};
    use super::*;
    use muster_core::geodesy::Geodetic;

    /// The place of a test value published with the model: 80° north on the meridian of Greenwich.
    fn bench(magnetometer: &Magnetometer) -> Bench {
        let mut bench = Bench::new(magnetometer, 50.0);
        bench.environment.origin = Geodetic { latitude_deg: 80.0, longitude_deg: 0.0, altitude_m: 0.0 };
        bench.environment.decimal_year = 2025.0;
        bench
    }

    #[test]
    fn the_compass_points_to_magnetic_north_in_the_axes_of_the_mount() {
        let magnetometer: Magnetometer = defaults();
        let mut bench = bench(&magnetometer);
        for lane in 0..LANES {
            body::set_orientation(&mut bench.truth, lane, math::quat_from_rpy(0.3, -0.2, 0.4 * lane as f64));
        }
        bench.mount.orientation = math::quat_from_rpy(0.0, 0.5, 1.0);
        bench.start(&magnetometer);
        bench.measure(&magnetometer);
        // published: 6521.6 nT north, 145.9 nT east, 54791.5 nT down
        let published = DVec3::new(145.9e-9, 6521.6e-9, -54_791.5e-9);
        for lane in 0..LANES {
            let world_from_mount = body::orientation(&bench.truth, lane) * bench.mount.orientation;
            let found = math::rotate(world_from_mount, bench.vec3(0, lane));
            assert!((found - published).length() < 0.1e-9, "{found}");
        }
    }

    #[test]
    fn soft_and_hard_iron_bend_and_shift_the_sphere() {
        let soft_iron = [1.1, 0.02, 0.0, 0.02, 0.9, 0.0, 0.0, 0.0, 1.0];
        let magnetometer = Magnetometer { soft_iron, hard_iron_t: [1e-6, -2e-6, 3e-6], ..defaults() };
        let mut bench = bench(&magnetometer);
        bench.start(&magnetometer);
        bench.measure(&magnetometer);
        // east 145.9 nT, north 6521.6 nT, up −54791.5 nT by the matrix, and the field of the robot
        let expected =
            DVec3::new(1.1 * 145.9 + 0.02 * 6521.6 + 1000.0, 0.02 * 145.9 + 0.9 * 6521.6 - 2000.0, -54_791.5 + 3000.0);
        assert!((bench.vec3(0, 2) * 1e9 - expected).length() < 0.2, "{}", bench.vec3(0, 2) * 1e9);
    }

    #[test]
    fn noise_and_the_iron_of_each_robot_have_their_deviations() {
        let noisy = Magnetometer { noise_t: 2e-7, ..defaults() };
        let mut bench = bench(&noisy);
        bench.start(&noisy);
        let mut values = Vec::new();
        for _ in 0..300 {
            bench.measure(&noisy);
            values.extend(bench.sample[0].map(|east_t| east_t - 145.9e-9));
        }
        let std = deviation(values.into_iter());
        assert!((std / 2e-7 - 1.0).abs() < 0.05, "{std}");
        let worn = Magnetometer { hard_iron_std_t: 5e-6, ..defaults() };
        let values = (0..100).flat_map(|seed| {
            let mut bench = Bench::new(&worn, 50.0);
            bench.streams.iter_mut().for_each(|stream| *stream ^= seed << 32);
            bench.start(&worn);
            bench.state[1]
        });
        let std = deviation(values);
        assert!((std / 5e-6 - 1.0).abs() < 0.06, "{std}");
    }
}
