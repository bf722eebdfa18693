//! Airspeed by a pitot tube: the motion of the mount relative to the air along the mount's x axis, and its dynamic
//! pressure `q = ½ ρ u²` with the density of the standard atmosphere at the mount. Both carry the sign of the flow: from
//! behind they are negative. What is measured is the pressure, so its noise makes the airspeed poor at low speed.

use super::{Air, build, mount_motion, stream};
use muster_core::component::{Feel, Kind, Measure, Pose, Sense, Sensor};
use muster_core::lanes::{Column, LANES, Quantity, body};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Pitot tube.
    pub struct Airspeed {
        /// Standard deviation of the white noise of a sample's differential pressure.
        noise_pa: f64 = 0.0, in 0.0..=1e5;
        /// Standard deviation of a constant offset of the differential pressure, different for every robot.
        bias_std_pa: f64 = 0.0, in 0.0..=1e5;
    }
}

/// Pitot tube.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "airspeed",
    doc: "Pitot tube: true airspeed along the mount's x axis and its dynamic pressure.",
    fields: Airspeed::FIELDS,
    build: &build::<Airspeed>,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] = &[Quantity::one("airspeed_mps"), Quantity::one("differential_pressure_pa")];

/// Where the airspeed is in a sample.
pub const AIRSPEED: usize = 0;
/// Where the differential pressure is in a sample.
pub const DIFFERENTIAL_PRESSURE: usize = 1;

const STATE: &[Quantity] = &[Quantity::one("bias_pa")];

/// Measuring draws 0, so this is free for the bias at the start.
const START_DRAW: u32 = 1;

impl Sensor for Airspeed {
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

impl Feel for Airspeed {
    fn state(&self) -> &'static [Quantity] {
        STATE
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        measure.state[0][lane] = self.bias_std_pa * stream(measure.streams[lane]).normals(0, START_DRAW)[0];
    }

    fn measure(&self, measure: &mut Measure<'_>) {
        let kernel = Kernel {
            air: Air::new(measure.environment),
            noise_pa: self.noise_pa,
            perfect: self.noise_pa == 0.0 && self.bias_std_pa == 0.0,
            origin_m: measure.environment.origin.altitude_m,
            mount: *measure.mount,
        };
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
    noise_pa: f64,
    perfect: bool,
    /// Altitude of the world's origin.
    origin_m: f64,
    mount: Pose,
}

impl Kernel {
    #[inline(always)]
    fn measure(
        self,
        truth: &[Column; body::COLUMNS],
        [bias]: &[Column; 1],
        [airspeed, pressure]: &mut [Column; 2],
        (streams, index): (&[u64; LANES], u64),
        lanes: usize,
    ) {
        let mut half_density = [0.0; LANES];
        for lane in 0..lanes {
            let (position_m, velocity_mps) = mount_motion(truth, self.mount.position_m, lane);
            let flow = velocity_mps - body::vec3(truth, body::WIND, lane);
            let in_body = math::rotate_inverse(body::orientation(truth, lane), flow);
            airspeed[lane] = math::rotate_inverse(self.mount.orientation, in_body).x;
            half_density[lane] = 0.5 * self.air.density_kgpm3(self.origin_m + position_m.z);
            pressure[lane] = half_density[lane] * airspeed[lane] * airspeed[lane].abs();
        }
        if self.perfect {
            return;
        }
        for lane in 0..lanes {
            let [white, ..] = stream(streams[lane]).normals(index, 0);
            let measured = pressure[lane] + bias[lane] + self.noise_pa * white;
            airspeed[lane] = (measured.abs() / half_density[lane]).sqrt().copysign(measured);
            pressure[lane] = measured;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults, deviation};
    use super::*;
    use glam::DVec3;

    /// Flies north at 20 m/s, nose north, with 5 m/s of wind from the north.
    fn flying(airspeed: &Airspeed) -> Bench {
        let mut bench = Bench::new(airspeed, 50.0);
        for lane in 0..LANES {
            body::set_orientation(&mut bench.truth, lane, math::quat_from_yaw(std::f64::consts::FRAC_PI_2));
            body::set_vec3(&mut bench.truth, body::VELOCITY, lane, DVec3::new(0.0, 20.0, 0.0));
            body::set_vec3(&mut bench.truth, body::WIND, lane, DVec3::new(3.0, -5.0, 0.0));
        }
        bench.start(airspeed);
        bench
    }

    #[test]
    fn headwind_adds_to_the_speed_over_ground() {
        let airspeed: Airspeed = defaults();
        let mut bench = flying(&airspeed);
        bench.measure(&airspeed);
        assert!((bench.sample[AIRSPEED][0] - 25.0).abs() < 1e-12);
        assert!((bench.sample[DIFFERENTIAL_PRESSURE][0] - 0.5 * 1.225 * 625.0).abs() < 1e-2);
    }

    #[test]
    fn noise_of_pressure_is_noise_of_airspeed() {
        let airspeed = Airspeed { noise_pa: 10.0, ..defaults() };
        let mut bench = flying(&airspeed);
        let (mut speeds, mut pressures) = (Vec::new(), Vec::new());
        for _ in 0..700 {
            bench.measure(&airspeed);
            speeds.extend(bench.sample[AIRSPEED].map(|speed| speed - 25.0));
            pressures.extend(bench.sample[DIFFERENTIAL_PRESSURE].map(|pressure| pressure - 0.5 * 1.225 * 625.0));
        }
        let (speed, pressure) = (deviation(speeds.into_iter()), deviation(pressures.into_iter()));
        assert!((pressure / 10.0 - 1.0).abs() < 0.05, "{pressure}");
        // dq = ρ u du
        assert!((speed / (10.0 / (1.225 * 25.0)) - 1.0).abs() < 0.06, "{speed}");
    }
}
