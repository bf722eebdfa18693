//! Speed log: the velocity of the mount through the water along the mount's x axis, as an impeller or a paddle wheel
//! measures it. The water's velocity is its current; the orbits of waves are averaged out. In air a log reads 0.

use super::{build, mount_motion, stream};
use muster_core::component::{Feel, Kind, Measure, Pose, Sense, Sensor};
use muster_core::lanes::{Column, LANES, Quantity, body};
use muster_core::math;
use muster_core::model::Water;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Speed log.
    pub struct WaterSpeed {
        /// Standard deviation of the white noise of a sample.
        noise_mps: f64 = 0.0, in 0.0..=100.0;
    }
}

/// Speed log.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "water_speed",
    doc: "Speed log: velocity through the water along the mount's x axis.",
    fields: WaterSpeed::FIELDS,
    build: &build::<WaterSpeed>,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] = &[Quantity::one("water_speed_mps")];

impl Sensor for WaterSpeed {
    fn fields(&self) -> &'static [Quantity] {
        FIELDS
    }

    fn default_rate_hz(&self) -> f64 {
        10.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }
}

impl Feel for WaterSpeed {
    fn start(&self, _: &mut Measure<'_>, _: usize) {}

    fn measure(&self, measure: &mut Measure<'_>) {
        let (streams, index, lanes) = (measure.streams, measure.index, measure.lanes.min(LANES));
        let (mount, water, noise_mps) = (*measure.mount, measure.environment.water, self.noise_mps);
        let (Some(truth), Some([speed])) = (measure.truth.first_chunk(), measure.sample.first_chunk_mut()) else {
            return;
        };
        let Some(water) = water else {
            speed[..lanes].fill(0.0);
            return;
        };
        measure.simd.run(
            #[inline(always)]
            || read(truth, speed, (&mount, &water), lanes),
        );
        if noise_mps > 0.0 {
            for lane in 0..lanes {
                speed[lane] += noise_mps * stream(streams[lane]).normals(index, 0)[0];
            }
        }
    }
}

#[inline(always)]
fn read(truth: &[Column; body::COLUMNS], speed: &mut Column, (mount, water): (&Pose, &Water), lanes: usize) {
    let (mount, water) = (&{ *mount }, &{ *water });
    let forward = math::rotate(mount.orientation, glam::DVec3::X);
    for (lane, speed) in speed.iter_mut().enumerate().take(lanes) {
        let (position, velocity) = mount_motion(truth, mount.position_m, lane);
        let through = math::rotate_inverse(body::orientation(truth, lane), velocity - water.current_mps);
        *speed = if position.z < water.level_m { through.dot(forward) } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults, deviation};
    use super::*;
    use glam::DVec3;

    /// Steers north at 2 m/s over ground, against a current of 0.5 m/s.
    fn steering(log: &WaterSpeed) -> Bench {
        let mut bench = Bench::new(log, 10.0);
        let current_mps = DVec3::new(0.3, -0.5, 0.0);
        bench.environment.water = Some(Water { level_m: 0.0, density_kgpm3: 1025.0, current_mps, wave: None });
        for lane in 0..LANES {
            body::set_orientation(&mut bench.truth, lane, math::quat_from_yaw(std::f64::consts::FRAC_PI_2));
            body::set_vec3(&mut bench.truth, body::VELOCITY, lane, DVec3::new(0.0, 2.0, 0.0));
        }
        bench.mount.position_m = DVec3::new(0.0, 0.0, -0.2);
        bench
    }

    #[test]
    fn a_log_tells_the_speed_through_the_water_not_over_ground() {
        let log: WaterSpeed = defaults();
        let mut bench = steering(&log);
        bench.measure(&log);
        assert!((bench.sample[0][1] - 2.5).abs() < 1e-12, "{}", bench.sample[0][1]);
        bench.mount.position_m.z = 0.2;
        bench.measure(&log);
        assert_eq!(bench.sample[0][1], 0.0, "in air");
    }

    #[test]
    fn noise_has_its_deviation() {
        let log = WaterSpeed { noise_mps: 0.05 };
        let mut bench = steering(&log);
        let mut errors = Vec::new();
        for _ in 0..700 {
            bench.measure(&log);
            errors.extend(bench.sample[0].map(|speed| speed - 2.5));
        }
        let found = deviation(errors.into_iter());
        assert!((found / 0.05 - 1.0).abs() < 0.05, "{found}");
    }
}
