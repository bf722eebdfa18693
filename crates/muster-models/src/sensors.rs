//! What robots measure: one file for each kind, and the table of them all.
//!
//! Every sensor gives perfect data until noise is asked for, either by fields of its own where the error belongs to
//! the way it works (the random walk of a bias, the drift of a barometer) or by [modifiers](crate::modifiers). Units
//! and frames follow REP-103: SI, world east-north-up, body x forward, y left, z up.
//!
//! Random numbers come from the sensor's stream at the number of the sample, so they do not depend on what else runs.

pub mod accelerometer;
pub mod airspeed;
pub mod attitude;
pub mod barometer;
pub mod battery;
pub mod camera;
pub mod clock;
pub mod collision;
pub mod contact_force;
pub mod depth_gauge;
pub mod gps;
pub mod gyroscope;
pub mod imu;
pub mod joint_encoder;
pub mod joint_state;
pub mod light;
pub mod magnetometer;
pub mod neighbours;
pub mod odometry;
pub mod proximity;
pub mod radar_altimeter;
pub mod range;
pub mod semantic_camera;
pub mod stereo;
pub mod stereo_points;
#[cfg(test)]
pub(crate) mod testing;
pub mod thermometer;
pub mod truth;
pub mod velocity;
pub mod water_speed;
pub mod wheel_encoder;
pub mod world_state;

use glam::{DQuat, DVec3};
use muster_core::component::{Kind, Pose, Sensor};
use muster_core::lanes::{Column, body};
use muster_core::math;
use muster_core::model::Environment;
use muster_core::node::{Node, Problems};
use muster_core::random::Stream;
use muster_core::spec::Spec;
use std::sync::Arc;

/// Every built-in sensor. Adding one is a file and a row.
pub const SENSORS: &[Kind<dyn Sensor>] = &[
    accelerometer::KIND,
    airspeed::KIND,
    attitude::KIND,
    barometer::KIND,
    battery::KIND,
    camera::KIND,
    clock::KIND,
    collision::KIND,
    contact_force::KIND,
    depth_gauge::KIND,
    gps::KIND,
    gyroscope::KIND,
    imu::KIND,
    joint_encoder::KIND,
    joint_state::KIND,
    light::KIND,
    magnetometer::KIND,
    neighbours::KIND,
    odometry::KIND,
    proximity::KIND,
    radar_altimeter::KIND,
    range::KIND,
    semantic_camera::KIND,
    stereo::KIND,
    stereo_points::KIND,
    thermometer::KIND,
    truth::KIND,
    velocity::KIND,
    water_speed::KIND,
    wheel_encoder::KIND,
    world_state::KIND,
];

/// Makes a sensor whose specification is all there is to it.
fn build<S: Spec + Sensor + 'static>(
    node: &Node,
    path: &str,
    also_valid: &[&str],
    problems: &mut Problems,
) -> Option<Arc<dyn Sensor>> {
    let sensor = <S as Spec>::read(node, path, also_valid, problems)?;
    Some(Arc::new(sensor))
}

/// The numbers of the stream with this key, for sensors that draw robot by robot.
#[inline(always)]
fn stream(key: u64) -> Stream {
    Stream::new(key, 0)
}

/// Position and velocity in the world of a mount at `arm` in the body.
#[inline(always)]
fn mount_motion(truth: &[Column; body::COLUMNS], arm: DVec3, lane: usize) -> (DVec3, DVec3) {
    let world_from_body = body::orientation(truth, lane);
    let turn = body::vec3(truth, body::ANGULAR_VELOCITY, lane);
    (
        body::vec3(truth, body::POSITION, lane) + math::rotate(world_from_body, arm),
        body::vec3(truth, body::VELOCITY, lane) + math::rotate(world_from_body, turn.cross(arm)),
    )
}

/// The orientation of a mount in the world. Not normalised: the product with the identity keeps every bit.
#[inline(always)]
fn world_from_mount(truth: &[Column], mount: &Pose, lane: usize) -> DQuat {
    body::orientation(truth, lane) * mount.orientation
}

/// A first-order Gauss–Markov process: a normal number that forgets itself with a time constant,
/// `x ← x e^(−Δt/τ) + σ √(1 − e^(−2Δt/τ)) · normal`.
#[derive(Clone, Copy)]
struct Drift {
    keep: f64,
    kick: f64,
}

impl Drift {
    fn new(std: f64, time_s: f64, period_s: f64) -> Self {
        let steps = period_s / time_s;
        Self { keep: math::exp(-steps), kick: std * (-math::exp_m1(-2.0 * steps)).sqrt() }
    }

    #[inline(always)]
    fn step(self, value: f64, normal: f64) -> f64 {
        self.keep * value + self.kick * normal
    }
}

/// The troposphere of the International Standard Atmosphere (ISO 2533) with the environment's values at sea level.
/// Altitudes are taken as geopotential, which at 1000 m differs from the geometric one by 0.16 m.
#[derive(Clone, Copy)]
struct Air {
    pressure_pa: f64,
    temperature_k: f64,
}

/// Temperature gradient, K/m.
const LAPSE_KPM: f64 = 0.0065;
/// Specific gas constant of dry air, J/(kg K).
const GAS_JPKGK: f64 = 287.052_87;
/// g M / (R L), the exponent of pressure.
const EXPONENT: f64 = 9.806_65 / (GAS_JPKGK * LAPSE_KPM);

impl Air {
    fn new(environment: &Environment) -> Self {
        Self { pressure_pa: environment.sea_level_pressure_pa, temperature_k: environment.sea_level_temperature_k }
    }

    /// Temperature over that at sea level; kept above zero far beyond the troposphere.
    #[inline(always)]
    fn ratio(self, altitude_m: f64) -> f64 {
        math::max(1.0 - LAPSE_KPM * altitude_m / self.temperature_k, 0.1)
    }

    /// Temperature.
    #[inline(always)]
    fn temperature_k(self, altitude_m: f64) -> f64 {
        self.temperature_k * self.ratio(altitude_m)
    }

    #[inline(always)]
    fn pressure_pa(self, altitude_m: f64) -> f64 {
        self.pressure_pa * math::pow(self.ratio(altitude_m), EXPONENT)
    }

    /// The altitude at which the pressure is this.
    #[inline(always)]
    fn altitude_m(self, pressure_pa: f64) -> f64 {
        let ratio = math::pow(math::max(pressure_pa, 1.0) / self.pressure_pa, 1.0 / EXPONENT);
        (1.0 - ratio) * self.temperature_k / LAPSE_KPM
    }

    #[inline(always)]
    fn density_kgpm3(self, altitude_m: f64) -> f64 {
        self.pressure_pa(altitude_m) / (GAS_JPKGK * self.temperature_k * self.ratio(altitude_m))
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{defaults, deviation};
    use super::*;

    #[test]
    fn air_is_that_of_the_standard_atmosphere() {
        let air = Air::new(&testing::environment());
        // ISO 2533, table 1: altitude, pressure, density
        for (altitude_m, pressure_pa, density) in
            [(0.0, 101_325.0, 1.225), (1000.0, 89_874.6, 1.111_64), (5000.0, 54_019.9, 0.736_116)]
        {
            assert!((air.pressure_pa(altitude_m) / pressure_pa - 1.0).abs() < 2e-6);
            assert!((air.density_kgpm3(altitude_m) / density - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn drift_keeps_its_standard_deviation_and_forgets_with_its_time() {
        let (drift, stream) = (Drift::new(2.0, 5.0, 0.5), stream(3));
        let mut value = 2.0 * stream.normals(0, 1)[0];
        let values: Vec<f64> = (0..200_000)
            .map(|index| {
                value = drift.step(value, stream.normals(index, 0)[0]);
                value
            })
            .collect();
        let std = deviation(values.iter().copied());
        assert!((std / 2.0 - 1.0).abs() < 0.03, "{std}");
        let products: f64 = values.windows(11).map(|window| window[0] * window[10]).sum();
        let correlation = products / (values.len() as f64 * std * std);
        assert!((correlation - (-1.0_f64).exp()).abs() < 0.03, "{correlation}");
    }

    #[test]
    fn every_kind_is_made_from_nothing_and_its_name_is_its_own() {
        for (index, kind) in SENSORS.iter().enumerate() {
            let mut problems = Problems::default();
            let sensor = (kind.build)(&Node::default(), "", &[], &mut problems).expect(kind.name);
            assert!(sensor.default_rate_hz() > 0.0 && !sensor.fields().is_empty());
            assert!(SENSORS[..index].iter().all(|other| other.name < kind.name), "{} is out of order", kind.name);
        }
        let imu: imu::Imu = defaults();
        assert_eq!(imu.accel_max_mps2, 0.0);
    }
}
