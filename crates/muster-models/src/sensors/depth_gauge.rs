//! Depth gauge: the pressure at the mount, `p = p_air + ρ g d` at the depth d below the water's level at rest, and the
//! depth that belongs to the measured pressure. Waves are not felt. Above water the depth is 0 and the pressure that of
//! the air, by the International Standard Atmosphere.

use super::{Air, build, mount_motion, stream};
use glam::DVec3;
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::lanes::{Column, LANES, Quantity, body};
use muster_core::math;
use muster_core::model::Environment;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Depth gauge.
    pub struct DepthGauge {
        /// Standard deviation of the white noise of a sample's pressure.
        noise_pa: f64 = 0.0, in 0.0..=1e7;
        /// Standard deviation of a constant offset of the pressure, different for every robot.
        bias_std_pa: f64 = 0.0, in 0.0..=1e7;
    }
}

/// Depth gauge.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "depth_gauge",
    doc: "Depth gauge: pressure of water and air at the mount, and the depth below the water's level that belongs to it.",
    fields: DepthGauge::FIELDS,
    build: &build::<DepthGauge>,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] = &[Quantity::one("pressure_pa"), Quantity::one("depth_m")];

/// Where the pressure is in a sample.
pub const PRESSURE: usize = 0;
/// Where the depth is in a sample.
pub const DEPTH: usize = 1;

const STATE: &[Quantity] = &[Quantity::one("bias_pa")];

/// Measuring draws 0, so this is free for the bias at the start.
const START_DRAW: u32 = 1;

impl Sensor for DepthGauge {
    fn fields(&self) -> &'static [Quantity] {
        FIELDS
    }

    fn default_rate_hz(&self) -> f64 {
        20.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }
}

impl Feel for DepthGauge {
    fn state(&self) -> &'static [Quantity] {
        STATE
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        measure.state[0][lane] = self.bias_std_pa * stream(measure.streams[lane]).normals(0, START_DRAW)[0];
    }

    fn measure(&self, measure: &mut Measure<'_>) {
        let kernel = Kernel::new(self, measure.environment, measure.mount.position_m);
        let (streams, index, lanes) = (measure.streams, measure.index, measure.lanes.min(LANES));
        let (state, sample) = (measure.state.first_chunk(), measure.sample.first_chunk_mut());
        let (Some(truth), Some(state), Some(sample)) = (measure.truth.first_chunk(), state, sample) else { return };
        measure.simd.run(
            #[inline(always)]
            || kernel.measure(truth, state, sample, (streams, index), lanes),
        );
    }
}

/// What a measurement depends on.
#[derive(Clone, Copy)]
struct Kernel {
    air: Air,
    /// Height of the surface in the world; far below everything without water.
    level_m: f64,
    /// Pressure for depth, Pa/m.
    weight: f64,
    per_weight: f64,
    noise_pa: f64,
    perfect: bool,
    /// Altitude of the world's origin.
    origin_m: f64,
    arm_m: DVec3,
}

impl Kernel {
    fn new(gauge: &DepthGauge, environment: &Environment, arm_m: DVec3) -> Self {
        let gravity = -environment.gravity_mps2.z;
        let weight = environment.water.map_or(0.0, |water| water.density_kgpm3 * gravity);
        Self {
            air: Air::new(environment),
            level_m: environment.water.map_or(f64::NEG_INFINITY, |water| water.level_m),
            weight,
            per_weight: if weight > 0.0 { 1.0 / weight } else { 0.0 },
            noise_pa: gauge.noise_pa,
            perfect: gauge.noise_pa == 0.0 && gauge.bias_std_pa == 0.0,
            origin_m: environment.origin.altitude_m,
            arm_m,
        }
    }

    #[inline(always)]
    fn measure(
        self,
        truth: &[Column; body::COLUMNS],
        [bias]: &[Column; 1],
        [pressure, depth]: &mut [Column; 2],
        (streams, index): (&[u64; LANES], u64),
        lanes: usize,
    ) {
        for lane in 0..lanes {
            let height = mount_motion(truth, self.arm_m, lane).0.z;
            let below = math::max(self.level_m - height, 0.0);
            depth[lane] = below;
            pressure[lane] =
                self.air.pressure_pa(self.origin_m + math::max(height, self.level_m)) + self.weight * below;
        }
        if self.perfect {
            return;
        }
        for lane in 0..lanes {
            let [white, ..] = stream(streams[lane]).normals(index, 0);
            let error = bias[lane] + self.noise_pa * white;
            pressure[lane] += error;
            depth[lane] += error * self.per_weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults, deviation};
    use super::*;
    use muster_core::model::Water;

    fn dived(gauge: &DepthGauge, height_m: f64) -> Bench {
        let mut bench = Bench::new(gauge, 20.0);
        let water = Water { level_m: 2.0, density_kgpm3: 1025.0, current_mps: DVec3::ZERO, wave: None };
        bench.environment.water = Some(water);
        bench.truth[body::POSITION + 2] = [height_m; LANES];
        bench.start(gauge);
        bench
    }

    #[test]
    fn pressure_grows_by_the_weight_of_the_water_above() {
        let gauge: DepthGauge = defaults();
        let mut bench = dived(&gauge, -8.0);
        bench.measure(&gauge);
        assert_eq!(bench.sample[DEPTH][3], 10.0);
        let air = Air::new(&bench.environment).pressure_pa(2.0);
        assert!((bench.sample[PRESSURE][3] - air - 1025.0 * 9.81 * 10.0).abs() < 1e-6, "{}", bench.sample[PRESSURE][3]);
    }

    #[test]
    fn in_air_there_is_no_depth_and_the_pressure_of_a_barometer() {
        let gauge: DepthGauge = defaults();
        for water in [true, false] {
            let mut bench = dived(&gauge, 100.0);
            bench.environment.water = bench.environment.water.filter(|_| water);
            bench.measure(&gauge);
            assert_eq!(bench.sample[DEPTH][0], 0.0);
            assert_eq!(bench.sample[PRESSURE][0], Air::new(&bench.environment).pressure_pa(100.0));
        }
    }

    #[test]
    fn noise_of_pressure_is_noise_of_depth() {
        let gauge = DepthGauge { noise_pa: 1005.5, ..defaults() };
        let mut bench = dived(&gauge, -8.0);
        let mut depths = Vec::new();
        for _ in 0..700 {
            bench.measure(&gauge);
            depths.extend(bench.sample[DEPTH].map(|depth| depth - 10.0));
        }
        // 10 055 Pa are a metre
        let found = deviation(depths.into_iter());
        assert!((found / 0.1 - 1.0).abs() < 0.05, "{found}");
    }
}
