//! Barometer: the pressure of the air at the mount by the International Standard Atmosphere,
//! `p = p₀ (1 − L h / T₀)^(g M / R L)` with the environment's values at sea level, and the altitude above sea level
//! that belongs to the measured pressure. Valid in the troposphere, up to 11 km.
//!
//! Errors are errors of pressure, and the altitude has what follows from them: near sea level 12 Pa are one metre.

use super::{Air, Drift, build, mount_motion, stream};
use glam::DVec3;
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::lanes::{Column, LANES, Quantity, body};
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Barometer.
    pub struct Barometer {
        /// Standard deviation of the white noise of a sample.
        noise_pa: f64 = 0.0, in 0.0..=1e5;
        /// Standard deviation of a slow drift (weather, temperature).
        drift_pa: f64 = 0.0, in 0.0..=1e5;
        /// Time constant of the drift.
        drift_time_s: f64 = 600.0, in 0.001..=1e9;
    }
}

/// Barometer.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "barometer",
    doc: "Barometer: air pressure by the standard atmosphere, and the altitude above sea level that belongs to it.",
    fields: Barometer::FIELDS,
    build: &build::<Barometer>,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] = &[Quantity::one("pressure_pa"), Quantity::one("altitude_m")];

/// Where the pressure is in a sample.
pub const PRESSURE: usize = 0;
/// Where the altitude is in a sample.
pub const ALTITUDE: usize = 1;

const STATE: &[Quantity] = &[Quantity::one("drift_pa")];

/// Measuring draws 0, so this is free for the drift at the start.
const START_DRAW: u32 = 1;

impl Sensor for Barometer {
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

impl Feel for Barometer {
    fn state(&self) -> &'static [Quantity] {
        STATE
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        measure.state[0][lane] = self.drift_pa * stream(measure.streams[lane]).normals(0, START_DRAW)[0];
    }

    fn measure(&self, measure: &mut Measure<'_>) {
        let kernel = Kernel {
            air: Air::new(measure.environment),
            drift: Drift::new(self.drift_pa, self.drift_time_s, measure.period_s),
            noise_pa: self.noise_pa,
            perfect: self.noise_pa == 0.0 && self.drift_pa == 0.0,
            origin_m: measure.environment.origin.altitude_m,
            arm_m: measure.mount.position_m,
        };
        let (streams, index, lanes) = (measure.streams, measure.index, measure.lanes.min(LANES));
        let (state, sample) = (measure.state.first_chunk_mut(), measure.sample.first_chunk_mut());
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
    drift: Drift,
    noise_pa: f64,
    perfect: bool,
    /// Altitude of the world's origin.
    origin_m: f64,
    arm_m: DVec3,
}

impl Kernel {
    #[inline(always)]
    fn measure(
        self,
        truth: &[Column; body::COLUMNS],
        [drift]: &mut [Column; 1],
        [pressure, altitude]: &mut [Column; 2],
        (streams, index): (&[u64; LANES], u64),
        lanes: usize,
    ) {
        for lane in 0..lanes {
            altitude[lane] = self.origin_m + mount_motion(truth, self.arm_m, lane).0.z;
            pressure[lane] = self.air.pressure_pa(altitude[lane]);
        }
        if self.perfect {
            return;
        }
        for lane in 0..lanes {
            let [slow, white, ..] = stream(streams[lane]).normals(index, 0);
            drift[lane] = self.drift.step(drift[lane], slow);
            pressure[lane] = pressure[lane] + drift[lane] + self.noise_pa * white;
            altitude[lane] = self.air.altitude_m(pressure[lane]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults, deviation};
    use super::*;

    #[test]
    fn pressure_falls_as_in_the_standard_atmosphere_and_altitude_is_true() {
        let barometer: Barometer = defaults();
        let mut bench = Bench::new(&barometer, 50.0);
        bench.environment.origin.altitude_m = 400.0;
        bench.truth[body::POSITION + 2] = [600.0; LANES];
        bench.start(&barometer);
        bench.measure(&barometer);
        assert!((bench.sample[PRESSURE][2] - 89_874.6).abs() < 0.1, "{}", bench.sample[PRESSURE][2]);
        assert_eq!(bench.sample[ALTITUDE][2], 1000.0);
    }

    #[test]
    fn noise_of_pressure_is_noise_of_altitude() {
        let barometer = Barometer { noise_pa: 12.0, ..defaults() };
        let mut bench = Bench::new(&barometer, 50.0);
        bench.start(&barometer);
        let (mut pressures, mut altitudes) = (Vec::new(), Vec::new());
        for _ in 0..700 {
            bench.measure(&barometer);
            pressures.extend(bench.sample[PRESSURE].map(|pressure| pressure - 101_325.0));
            altitudes.extend(bench.sample[ALTITUDE]);
        }
        let (pressure, altitude) = (deviation(pressures.into_iter()), deviation(altitudes.into_iter()));
        assert!((pressure / 12.0 - 1.0).abs() < 0.05, "{pressure}");
        assert!((altitude - 1.0).abs() < 0.05, "{altitude}");
    }
}
