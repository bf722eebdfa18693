//! Attitude and heading reference: orientation as a quaternion and as angles, and angular velocity, with the errors of
//! the filter inside such a unit rather than of its parts:
//!
//! ```text
//! q' = exp(tilt normals, heading normal + drift) q      errors turn about east, north and up
//! ```
//!
//! Tilt and heading have noise of their own, as gravity fixes the one and a compass the other; the heading also drifts
//! slowly (a first-order Gauss–Markov process: iron nearby, currents). Angles are those of the erroneous quaternion.

use super::{Drift, build, stream, world_from_mount};
use glam::DVec3;
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::lanes::{LANES, Quantity, Role, body};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Attitude and heading reference.
    pub struct Attitude {
        /// Standard deviation of the white noise of the tilt about each horizontal axis.
        tilt_noise_rad: f64 = 0.0, in 0.0..=10.0;
        /// Standard deviation of the white noise of the heading.
        heading_noise_rad: f64 = 0.0, in 0.0..=10.0;
        /// Standard deviation of a slow drift of the heading.
        heading_drift_rad: f64 = 0.0, in 0.0..=10.0;
        /// Time constant of the drift.
        drift_time_s: f64 = 60.0, in 0.001..=1e9;
        /// Standard deviation of the white noise of each axis of the angular velocity.
        rate_noise_radps: f64 = 0.0, in 0.0..=1e3;
    }
}

/// Attitude and heading reference.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "attitude",
    doc: "Attitude and heading reference: orientation as quaternion and angles, angular velocity, with noise and drift.",
    fields: Attitude::FIELDS,
    build: &build::<Attitude>,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] = &[
    Quantity::many("orientation", 4).with(Role::Attitude),
    Quantity::one("roll_rad"),
    Quantity::one("pitch_rad").with(Role::Flipped),
    Quantity::one("yaw_rad").with(Role::Heading),
    Quantity::many("angular_velocity_radps", 3).with(Role::Body),
];

/// Where the orientation begins in a sample.
pub const ORIENTATION: usize = 0;
/// Where roll, pitch and yaw begin in a sample.
pub const ANGLES: usize = 4;
/// Where the angular velocity begins in a sample.
pub const ANGULAR_VELOCITY: usize = 7;

const STATE: &[Quantity] = &[Quantity::one("heading_drift_rad")];

/// Measuring draws 0 and 1, so this is free for the drift at the start.
const START_DRAW: u32 = 2;

impl Sensor for Attitude {
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

impl Attitude {
    fn perfect(&self) -> bool {
        [self.tilt_noise_rad, self.heading_noise_rad, self.heading_drift_rad, self.rate_noise_radps] == [0.0; 4]
    }

    /// Error of the orientation as a rotation vector in the world, and of the angular velocity; moves the drift on.
    fn errors(&self, measure: &mut Measure<'_>, drift: Drift, lane: usize) -> (DVec3, DVec3) {
        let numbers = stream(measure.streams[lane]);
        let [east, north, up, slow] = numbers.normals(measure.index, 0);
        let [x, y, z, _] = numbers.normals(measure.index, 1);
        let wandered = drift.step(measure.state[0][lane], slow);
        measure.state[0][lane] = wandered;
        let tilt = self.tilt_noise_rad * DVec3::new(east, north, 0.0);
        (
            tilt + DVec3::new(0.0, 0.0, self.heading_noise_rad * up + wandered),
            self.rate_noise_radps * DVec3::new(x, y, z),
        )
    }
}

impl Feel for Attitude {
    fn state(&self) -> &'static [Quantity] {
        STATE
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        measure.state[0][lane] = self.heading_drift_rad * stream(measure.streams[lane]).normals(0, START_DRAW)[0];
    }

    fn measure(&self, measure: &mut Measure<'_>) {
        let (perfect, mount) = (self.perfect(), *measure.mount);
        let drift = Drift::new(self.heading_drift_rad, self.drift_time_s, measure.period_s);
        for lane in 0..measure.lanes.min(LANES) {
            let mut orientation = world_from_mount(measure.truth, &mount, lane);
            let turn = body::vec3(measure.truth, body::ANGULAR_VELOCITY, lane);
            let mut turn = math::rotate_inverse(mount.orientation, turn);
            if !perfect {
                let (turned, rate) = self.errors(measure, drift, lane);
                orientation = math::normalize_quat(math::quat_exp(turned) * orientation);
                turn += rate;
            }
            let (roll, pitch, yaw) = math::rpy_from_quat(orientation);
            let [x, y, z, w] = orientation.to_array();
            let told = [x, y, z, w, roll, pitch, yaw, turn.x, turn.y, turn.z];
            for (column, value) in measure.sample.iter_mut().zip(told) {
                column[lane] = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults, deviation};
    use super::*;

    fn bench(attitude: &Attitude) -> Bench {
        let mut bench = Bench::new(attitude, 100.0);
        for lane in 0..LANES {
            body::set_orientation(&mut bench.truth, lane, math::quat_from_rpy(0.2, -0.3, 0.1 * lane as f64));
            body::set_vec3(&mut bench.truth, body::ANGULAR_VELOCITY, lane, DVec3::new(0.1, 0.2, -0.3));
        }
        bench.start(attitude);
        bench
    }

    #[test]
    fn without_errors_it_is_the_truth() {
        let attitude: Attitude = defaults();
        let mut bench = bench(&attitude);
        bench.measure(&attitude);
        for lane in 0..LANES {
            for axis in 0..4 {
                assert_eq!(bench.sample[ORIENTATION + axis][lane], bench.truth[body::ORIENTATION + axis][lane]);
            }
            assert!((bench.vec3(ANGLES, lane) - DVec3::new(0.2, -0.3, 0.1 * lane as f64)).length() < 1e-14);
            assert_eq!(bench.vec3(ANGULAR_VELOCITY, lane), DVec3::new(0.1, 0.2, -0.3));
        }
    }

    /// Errors of tilt, heading and rate over many samples.
    fn errors(attitude: &Attitude) -> [f64; 3] {
        let mut values: [Vec<f64>; 3] = Default::default();
        for seed in 0..20 {
            let mut bench = bench(attitude);
            bench.streams.iter_mut().for_each(|stream| *stream ^= seed << 32);
            bench.start(attitude);
            for _ in 0..30 {
                bench.measure(attitude);
                for lane in 0..LANES {
                    let found = glam::DQuat::from_array([0, 1, 2, 3].map(|axis| bench.sample[axis][lane]));
                    assert!((found.length() - 1.0).abs() < 1e-14);
                    let error = found * body::orientation(&bench.truth, lane).conjugate();
                    values[0].push(2.0 * error.x);
                    values[1].push(2.0 * error.z);
                    values[2].push(bench.sample[ANGULAR_VELOCITY][lane] - 0.1);
                }
            }
        }
        values.map(|values| deviation(values.into_iter()))
    }

    #[test]
    fn tilt_heading_and_rate_have_their_standard_deviations() {
        let white = Attitude { tilt_noise_rad: 0.01, heading_noise_rad: 0.03, rate_noise_radps: 0.2, ..defaults() };
        let [tilt, heading, rate] = errors(&white);
        assert!((tilt / 0.01 - 1.0).abs() < 0.05 && (heading / 0.03 - 1.0).abs() < 0.05, "{tilt} {heading}");
        assert!((rate / 0.2 - 1.0).abs() < 0.05, "{rate}");
        let slow = Attitude { heading_drift_rad: 0.05, drift_time_s: 0.02, ..defaults() };
        let [tilt, heading, rate] = errors(&slow);
        assert!((heading / 0.05 - 1.0).abs() < 0.06, "{heading}");
        assert!(tilt < 1e-14 && rate < 1e-15);
    }
}
