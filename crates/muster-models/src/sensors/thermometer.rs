//! Thermometer: the temperature of the air at the mount, which rises near fires as in MORSE,
//!
//! ```text
//! T = T₀ + Σ Tf e^(−α d)      Tf: how much hotter a fire is than the air, d: distance from its edge
//! ```
//!
//! T₀ is the temperature of the International Standard Atmosphere at the altitude of the mount, from the world's
//! `sea_level_temperature_c`, unless `ambient_c` is given. The law is a convenience for search-and-rescue scenarios, not a
//! model of heat; it has no wind and no walls.

use super::{Air, build, mount_motion};
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::lanes::{LANES, Quantity};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Thermometer.
    pub struct Thermometer {
        /// Temperature far from fires; that of the standard atmosphere if none is given.
        ambient_c: Option<f64>, in -273.15..=1000.0;
        /// How fast the warmth of a fire falls off: by e after 1/α metres.
        falloff_per_m: f64 = 0.2, in 0.0..=1e3;
    }
}

/// Thermometer.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "thermometer",
    doc: "Temperature of the air, which rises near fires of the world.",
    fields: Thermometer::FIELDS,
    build: &build::<Thermometer>,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] = &[Quantity::one("temperature_c")];

/// The freezing point of water, K.
const ZERO_CELSIUS_K: f64 = 273.15;

impl Sensor for Thermometer {
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

impl Feel for Thermometer {
    fn start(&self, _: &mut Measure<'_>, _: usize) {}

    fn measure(&self, measure: &mut Measure<'_>) {
        let (air, environment) = (Air::new(measure.environment), measure.environment);
        let Some(truth) = measure.truth.first_chunk() else { return };
        for lane in 0..measure.lanes.min(LANES) {
            let (position_m, _) = mount_motion(truth, measure.mount.position_m, lane);
            let standard_c = || air.temperature_k(environment.origin.altitude_m + position_m.z) - ZERO_CELSIUS_K;
            let mut temperature_c = self.ambient_c.unwrap_or_else(standard_c);
            for fire in &environment.fires {
                temperature_c += fire.temperature_k * math::exp(-self.falloff_per_m * fire.distance_m(position_m));
            }
            measure.sample[0][lane] = temperature_c;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults};
    use super::*;
    use glam::DVec3;
    use muster_core::lanes::body;
    use muster_core::zone::Fire;

    fn fire(position_m: DVec3, extent_m: f64) -> Fire {
        Fire { name: String::new(), position_m, temperature_k: 200.0, extent_m }
    }

    /// The temperature at 10 m east of the origin.
    fn measured(thermometer: &Thermometer, fires: Vec<Fire>) -> f64 {
        let mut bench = Bench::new(thermometer, 10.0);
        bench.environment.fires = fires;
        body::set_vec3(&mut bench.truth, body::POSITION, 5, DVec3::new(10.0, 0.0, 0.0));
        bench.measure(thermometer);
        bench.sample[0][5]
    }

    #[test]
    fn a_fire_of_200_degrees_warms_by_27_at_ten_metres() {
        let thermometer = Thermometer { ambient_c: Some(20.0), ..defaults() };
        // 200 e^(−0.2 · 10) = 27.067
        assert!((measured(&thermometer, vec![fire(DVec3::ZERO, 0.0)]) - 47.067).abs() < 1e-3);
        // two of them, one of which reaches to 5 m
        let fires = vec![fire(DVec3::ZERO, 0.0), fire(DVec3::new(10.0, 10.0, 0.0), 5.0)];
        let expected = 20.0 + 200.0 * ((-2.0_f64).exp() + (-1.0_f64).exp());
        assert!((measured(&thermometer, fires) - expected).abs() < 1e-12);
        assert!((measured(&thermometer, vec![fire(DVec3::new(10.0, 1.0, 0.0), 2.0)]) - 220.0).abs() < 1e-12);
    }

    #[test]
    fn the_air_is_that_of_the_standard_atmosphere() {
        let thermometer: Thermometer = defaults();
        let mut bench = Bench::new(&thermometer, 10.0);
        bench.environment.origin.altitude_m = 400.0;
        bench.truth[body::POSITION + 2] = [1600.0; LANES];
        bench.measure(&thermometer);
        // ISO 2533, table 1: 2.0 °C at 2000 m
        assert!((bench.sample[0][0] - 2.0).abs() < 1e-9, "{}", bench.sample[0][0]);
    }
}
