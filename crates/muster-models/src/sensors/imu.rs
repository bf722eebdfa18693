//! Inertial measurement unit: specific force and angular velocity in the axes of its mount, by REP-145 (gravity is
//! included, so at rest it reads +g along the axis that points up).
//!
//! ```text
//! f = Rᵀ (a − g) + α × r + ω × (ω × r)      r: mount in the body, α: change of ω since the last sample over its time
//! y = f + b + n                             n: white noise of density N, standard deviation N / √Δt
//! b ← b + k √Δt · normal                    bias: a random walk of density k
//! ```
//!
//! Then the output is rounded to a multiple of the least significant bit and limited to the range. The densities are
//! those of IEEE Std 952 and of Allan deviation plots: white noise is the value of the line of slope −½ at 1 s, the
//! random walk the value of the line of slope +½ at 3 s. Biases move on 50 times a second at most: at higher rates every
//! so many samples, by as much as in the time between.
//!
//! All errors are off by default. Numbers like those of an InvenSense MPU-6000 at ±16 g and ±2000 °/s (product
//! specification 3.4; the random walks and the biases at the start are not from it, only typical of such parts after
//! a calibration):
//!
//! ```yaml
//! imu:
//!   kind: imu
//!   accel_noise_mps2_per_sqrt_hz: 0.0039
//!   accel_walk_mps3_per_sqrt_hz: 0.0002
//!   accel_bias_std_mps2: 0.5
//!   accel_max_mps2: 156.9
//!   accel_lsb_mps2: 0.004788
//!   gyro_noise_radps_per_sqrt_hz: 0.000087
//!   gyro_walk_radps2_per_sqrt_hz: 0.00002
//!   gyro_bias_std_radps: 0.02
//!   gyro_max_radps: 34.9
//!   gyro_lsb_radps: 0.001064
//! ```

use super::{build, stream};
use muster_core::component::{Feel, Kind, Measure, Pose, Sense, Sensor};
use muster_core::lanes::{Column, LANES, Quantity, Role, body};
use muster_core::math;
use muster_core::random::normals_lanes;
use muster_core::spec;
use muster_core::spec::Spec;

use glam::DVec3;

spec! {
    /// Accelerometer and gyroscope.
    pub struct Imu {
        /// Density of the accelerometer's white noise, m/s² per √Hz.
        accel_noise_mps2_per_sqrt_hz: f64 = 0.0, in 0.0..=1e3;
        /// Density of the random walk of the accelerometer's bias, m/s³ per √Hz.
        accel_walk_mps3_per_sqrt_hz: f64 = 0.0, in 0.0..=1e3;
        /// Bias of the accelerometer at the start, the same for every robot.
        accel_bias_mps2: [f64; 3] = [0.0; 3], in -1e3..=1e3;
        /// Standard deviation of a further bias at the start, different for every robot.
        accel_bias_std_mps2: f64 = 0.0, in 0.0..=1e3;
        /// Largest magnitude an axis of the accelerometer shows; 0 for no limit.
        accel_max_mps2: f64 = 0.0, in 0.0..=1e6;
        /// Least significant bit of the accelerometer; 0 for a continuous output.
        accel_lsb_mps2: f64 = 0.0, in 0.0..=1e3;
        /// Density of the gyroscope's white noise (angle random walk), rad/s per √Hz.
        gyro_noise_radps_per_sqrt_hz: f64 = 0.0, in 0.0..=1e3;
        /// Density of the random walk of the gyroscope's bias (rate random walk), rad/s² per √Hz.
        gyro_walk_radps2_per_sqrt_hz: f64 = 0.0, in 0.0..=1e3;
        /// Bias of the gyroscope at the start, the same for every robot.
        gyro_bias_radps: [f64; 3] = [0.0; 3], in -1e3..=1e3;
        /// Standard deviation of a further bias at the start, different for every robot.
        gyro_bias_std_radps: f64 = 0.0, in 0.0..=1e3;
        /// Largest magnitude an axis of the gyroscope shows; 0 for no limit.
        gyro_max_radps: f64 = 0.0, in 0.0..=1e6;
        /// Least significant bit of the gyroscope; 0 for a continuous output.
        gyro_lsb_radps: f64 = 0.0, in 0.0..=1e3;
    }
}

/// Inertial measurement unit.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "imu",
    doc: "Inertial measurement unit: specific force (+g up at rest) and angular velocity in the axes of its mount.",
    fields: Imu::FIELDS,
    build: &build::<Imu>,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] =
    &[Quantity::many("accel_mps2", 3).with(Role::Body), Quantity::many("angular_velocity_radps", 3).with(Role::Body)];

/// Where the specific force begins in a sample.
pub const ACCEL: usize = 0;
/// Where the angular velocity begins in a sample.
pub const ANGULAR_VELOCITY: usize = 3;
/// Numbers in a sample.
const AXES: usize = 6;

/// Angular velocity at the last sample, then the biases in the order of the sample.
const STATE: &[Quantity] = &[
    Quantity::many("last_angular_velocity_radps", 3),
    Quantity::many("accel_bias_mps2", 3),
    Quantity::many("gyro_bias_radps", 3),
];
const BIAS: usize = 3;
const STATE_COLUMNS: usize = BIAS + AXES;

/// Measuring draws 0 to 2, so these are free for the biases at the start.
const START_DRAWS: [u32; 2] = [3, 4];

impl Sensor for Imu {
    fn fields(&self) -> &'static [Quantity] {
        FIELDS
    }

    fn default_rate_hz(&self) -> f64 {
        500.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }
}

impl Feel for Imu {
    fn state(&self) -> &'static [Quantity] {
        STATE
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        let turn = body::vec3(measure.truth, body::ANGULAR_VELOCITY, lane);
        body::set_vec3(measure.state, 0, lane, turn);
        let [accel, gyro] = START_DRAWS.map(|draw| stream(measure.streams[lane]).normals(0, draw));
        for axis in 0..3 {
            measure.state[BIAS + axis][lane] = self.accel_bias_mps2[axis] + self.accel_bias_std_mps2 * accel[axis];
            measure.state[BIAS + 3 + axis][lane] = self.gyro_bias_radps[axis] + self.gyro_bias_std_radps * gyro[axis];
        }
    }

    fn measure(&self, measure: &mut Measure<'_>) {
        let errors = self.errors(measure.period_s, measure.index);
        let outputs = [(self.accel_lsb_mps2, self.accel_max_mps2), (self.gyro_lsb_radps, self.gyro_max_radps)];
        let ideal = Ideal {
            mount: *measure.mount,
            gravity_mps2: measure.environment.gravity_mps2,
            rate_hz: 1.0 / measure.period_s,
        };
        let (streams, index, lanes) = (measure.streams, measure.index, measure.lanes.min(LANES));
        let truth = measure.truth.first_chunk();
        let (state, sample) = (measure.state.first_chunk_mut(), measure.sample.first_chunk_mut());
        let (Some(truth), Some(state), Some(sample)) = (truth, state, sample) else { return };
        measure.simd.run(
            #[inline(always)]
            || {
                ideal.measure(truth, state, sample, lanes);
                if let Some(errors) = errors {
                    errors.add(state, sample, (streams, index), lanes);
                }
                for (columns, (lsb, limit)) in sample.chunks_exact_mut(3).zip(outputs) {
                    digitise(columns, lsb, limit, lanes);
                }
            },
        );
    }
}

/// What a measurement without errors depends on.
#[derive(Clone, Copy)]
struct Ideal {
    mount: Pose,
    gravity_mps2: DVec3,
    rate_hz: f64,
}

impl Ideal {
    #[inline(always)]
    fn measure(
        self,
        truth: &[Column; body::COLUMNS],
        state: &mut [Column; STATE_COLUMNS],
        sample: &mut [Column; AXES],
        lanes: usize,
    ) {
        for lane in 0..lanes {
            let acceleration = body::vec3(truth, body::ACCELERATION, lane);
            let force = math::rotate_inverse(body::orientation(truth, lane), acceleration - self.gravity_mps2);
            body::set_vec3(sample, ACCEL, lane, force);
            body::set_vec3(sample, ANGULAR_VELOCITY, lane, body::vec3(truth, body::ANGULAR_VELOCITY, lane));
        }
        if self.mount != Pose::IDENTITY {
            self.move_to_mount(state, sample, lanes);
        }
        for axis in 0..3 {
            state[axis][..lanes].copy_from_slice(&truth[body::ANGULAR_VELOCITY + axis][..lanes]);
        }
    }

    /// From what the middle of the body feels to what the mount does.
    #[inline(always)]
    fn move_to_mount(self, state: &[Column; STATE_COLUMNS], sample: &mut [Column; AXES], lanes: usize) {
        let arm = self.mount.position_m;
        for lane in 0..lanes {
            let (force, turn) = (body::vec3(sample, ACCEL, lane), body::vec3(sample, ANGULAR_VELOCITY, lane));
            let turn_up = (turn - body::vec3(state, 0, lane)) * self.rate_hz;
            let force = force + turn_up.cross(arm) + turn.cross(turn.cross(arm));
            body::set_vec3(sample, ACCEL, lane, math::rotate_inverse(self.mount.orientation, force));
            body::set_vec3(sample, ANGULAR_VELOCITY, lane, math::rotate_inverse(self.mount.orientation, turn));
        }
    }
}

/// Standard deviations for one sample, accelerometer and gyroscope.
#[derive(Clone, Copy)]
struct Errors {
    white: [f64; 2],
    /// `None` if biases do not move at this sample.
    walk: Option<[f64; 2]>,
}

/// The time between two moves of the biases, if samples are nearer together.
const WALK_PERIOD_S: f64 = 0.02;

impl Imu {
    /// The errors of a sample; `None` if there are none, not even a bias.
    fn errors(&self, period_s: f64, index: u64) -> Option<Errors> {
        let every = math::max(1.0, math::round_nearest(WALK_PERIOD_S / period_s));
        let (root, walk_root) = (period_s.sqrt(), (every * period_s).sqrt());
        let white = [self.accel_noise_mps2_per_sqrt_hz / root, self.gyro_noise_radps_per_sqrt_hz / root];
        let walk = [self.accel_walk_mps3_per_sqrt_hz * walk_root, self.gyro_walk_radps2_per_sqrt_hz * walk_root];
        let biases = [self.accel_bias_mps2, self.gyro_bias_radps];
        let stds = [self.accel_bias_std_mps2, self.gyro_bias_std_radps];
        let any = white.iter().chain(&walk).chain(biases.iter().flatten()).chain(&stds).any(|&error| error != 0.0);
        let walks = walk != [0.0; 2] && index.is_multiple_of(every as u64);
        any.then_some(Errors { white, walk: walks.then_some(walk) })
    }
}

impl Errors {
    /// Moves the biases on and adds them and the white noise to the sample. Six normals are for the white noise and
    /// six for the walk, so three draws if both are needed.
    #[inline(always)]
    fn add(
        self,
        state: &mut [Column; STATE_COLUMNS],
        sample: &mut [Column; AXES],
        (streams, index): (&[u64; LANES], u64),
        lanes: usize,
    ) {
        let (mut first, mut second) = ([[0.0; LANES]; 4], [[0.0; LANES]; 2]);
        if self.white != [0.0; 2] {
            normals_lanes(streams, index, 0, &mut first, lanes);
            normals_lanes(streams, index, 1, &mut second, lanes);
        }
        if let Some(walk) = self.walk {
            let (mut both, mut third) = ([[0.0; LANES]; 4], [[0.0; LANES]; 4]);
            normals_lanes(streams, index, 1, &mut both, lanes);
            normals_lanes(streams, index, 2, &mut third, lanes);
            for (axis, steps) in both[2..].iter().chain(&third).enumerate() {
                for lane in 0..lanes {
                    state[BIAS + axis][lane] += walk[axis / 3] * steps[lane];
                }
            }
        }
        for (axis, noise) in first.iter().chain(&second).enumerate() {
            for lane in 0..lanes {
                sample[axis][lane] += state[BIAS + axis][lane] + self.white[axis / 3] * noise[lane];
            }
        }
    }
}

/// Rounds to multiples of `lsb` and limits to ±`limit`, where these are not 0.
#[inline(always)]
fn digitise(columns: &mut [Column], lsb: f64, limit: f64, lanes: usize) {
    let per_lsb = 1.0 / lsb;
    for column in columns {
        if lsb > 0.0 {
            for value in &mut column[..lanes] {
                *value = math::round_nearest(*value * per_lsb) * lsb;
            }
        }
        if limit > 0.0 {
            for value in &mut column[..lanes] {
                *value = math::clamp(*value, -limit, limit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults, deviation};
    use super::*;
    use muster_core::simd::Simd;

    fn noisy() -> Imu {
        Imu {
            accel_noise_mps2_per_sqrt_hz: 0.0039,
            accel_walk_mps3_per_sqrt_hz: 0.0002,
            accel_bias_std_mps2: 0.5,
            accel_max_mps2: 156.9,
            accel_lsb_mps2: 0.004788,
            gyro_noise_radps_per_sqrt_hz: 0.000087,
            gyro_walk_radps2_per_sqrt_hz: 0.00002,
            gyro_bias_std_radps: 0.02,
            gyro_max_radps: 34.9,
            gyro_lsb_radps: 0.001064,
            ..defaults()
        }
    }

    /// `count` samples of one robot after another, one axis.
    fn record(imu: &Imu, bench: &mut Bench, axis: usize, count: usize) -> Vec<Vec<f64>> {
        bench.start(imu);
        let mut records = vec![Vec::new(); LANES];
        for _ in 0..count {
            bench.measure(imu);
            for (record, value) in records.iter_mut().zip(bench.sample[axis]) {
                record.push(value);
            }
        }
        records
    }

    #[test]
    fn at_rest_it_reads_g_upwards_and_nothing_else() {
        let imu: Imu = defaults();
        let mut bench = Bench::new(&imu, 500.0);
        bench.start(&imu);
        for _ in 0..100 {
            bench.measure(&imu);
        }
        assert_eq!(bench.vec3(ACCEL, 3), DVec3::new(0.0, 0.0, 9.81));
        assert_eq!(bench.vec3(ANGULAR_VELOCITY, 3), DVec3::ZERO);
        // rolled to its left side, up is along the body's right side
        body::set_orientation(&mut bench.truth, 3, math::quat_from_rpy(-std::f64::consts::FRAC_PI_2, 0.0, 0.0));
        bench.measure(&imu);
        assert!((bench.vec3(ACCEL, 3) - DVec3::new(0.0, -9.81, 0.0)).length() < 1e-14, "{}", bench.vec3(ACCEL, 3));
    }

    #[test]
    fn in_free_fall_it_reads_nothing() {
        let imu: Imu = defaults();
        let mut bench = Bench::new(&imu, 500.0);
        bench.truth[body::ACCELERATION + 2] = [-9.81; LANES];
        bench.start(&imu);
        bench.measure(&imu);
        assert_eq!(bench.vec3(ACCEL, 0), DVec3::ZERO);
    }

    #[test]
    fn a_lever_arm_adds_centripetal_and_tangential_acceleration() {
        let imu: Imu = defaults();
        let mut bench = Bench::new(&imu, 100.0);
        bench.mount.position_m = DVec3::new(0.3, 0.0, 0.0);
        bench.truth[body::ANGULAR_VELOCITY + 2] = [4.0; LANES];
        bench.start(&imu);
        bench.measure(&imu);
        // ω² r towards the axis
        assert!((bench.vec3(ACCEL, 5) - DVec3::new(-4.8, 0.0, 9.81)).length() < 1e-14);
        // 0.1 rad/s faster in 0.01 s: α r along y
        bench.truth[body::ANGULAR_VELOCITY + 2] = [4.1; LANES];
        bench.measure(&imu);
        assert!((bench.vec3(ACCEL, 5) - DVec3::new(-4.1 * 4.1 * 0.3, 3.0, 9.81)).length() < 1e-12);
    }

    #[test]
    fn a_turned_mount_turns_both_readings() {
        let imu: Imu = defaults();
        let mut bench = Bench::new(&imu, 100.0);
        bench.mount.orientation = math::quat_from_rpy(std::f64::consts::PI, 0.0, 0.0);
        bench.truth[body::ANGULAR_VELOCITY + 2] = [2.0; LANES];
        bench.start(&imu);
        bench.measure(&imu);
        assert!((bench.vec3(ACCEL, 0) - DVec3::new(0.0, 0.0, -9.81)).length() < 1e-14);
        assert!((bench.vec3(ANGULAR_VELOCITY, 0) - DVec3::new(0.0, 0.0, -2.0)).length() < 1e-14);
    }

    #[test]
    fn white_noise_has_density_times_root_of_rate() {
        let imu = Imu { accel_noise_mps2_per_sqrt_hz: 0.01, gyro_noise_radps_per_sqrt_hz: 0.002, ..defaults() };
        for rate_hz in [100.0, 400.0_f64] {
            for axis in 0..AXES {
                let mut bench = Bench::new(&imu, rate_hz);
                let records = record(&imu, &mut bench, axis, 1000);
                let perfect = if axis == 2 { 9.81 } else { 0.0 };
                let values = || records.iter().flatten().map(|value| value - perfect);
                let expected = rate_hz.sqrt() * if axis < 3 { 0.01 } else { 0.002 };
                let (mean, std) = (values().sum::<f64>() / 16_000.0, deviation(values()));
                assert!((std / expected - 1.0).abs() < 0.05, "axis {axis}: {std}, expected {expected}");
                assert!(mean.abs() < 4.0 * expected / 16_000_f64.sqrt(), "axis {axis}: {mean}");
            }
        }
    }

    #[test]
    fn bias_walks_with_the_root_of_time_whatever_the_rate() {
        for (rate_hz, axis, expected) in [(50.0, 1, 0.03), (200.0, 1, 0.03), (500.0, 1, 0.03), (50.0, 5, 0.004)] {
            let imu = Imu { accel_walk_mps3_per_sqrt_hz: 0.03, gyro_walk_radps2_per_sqrt_hz: 0.004, ..defaults() };
            for seconds in [4.0, 16.0_f64] {
                let ends = (0..200).flat_map(|seed| {
                    let mut bench = Bench::new(&imu, rate_hz);
                    bench.streams.iter_mut().for_each(|stream| *stream ^= seed << 32);
                    let records = record(&imu, &mut bench, axis, (seconds * rate_hz) as usize);
                    records.into_iter().map(|record| record[record.len() - 1])
                });
                let std = deviation(ends);
                let expected = expected * seconds.sqrt();
                assert!((std / expected - 1.0).abs() < 0.05, "{rate_hz} Hz, {seconds} s: {std}, expected {expected}");
            }
        }
    }

    #[test]
    fn a_bias_at_the_start_is_the_given_one_plus_each_robots_own() {
        let imu = Imu { accel_bias_mps2: [0.1, 0.2, 0.3], gyro_bias_std_radps: 0.5, ..defaults() };
        let mut bench = Bench::new(&imu, 100.0);
        let records = record(&imu, &mut bench, 3, 2);
        assert!((bench.vec3(ACCEL, 7) - DVec3::new(0.1, 0.2, 10.11)).length() < 1e-14);
        assert!(records.iter().all(|record| record[0] == record[1]), "constant without a walk");
        assert!(records.windows(2).all(|pair| pair[0][0] != pair[1][0]), "different for every robot");
    }

    #[test]
    fn output_stays_within_range_on_multiples_of_the_lsb() {
        let imu = Imu { accel_max_mps2: 8.0, gyro_lsb_radps: 0.25, gyro_max_radps: 2.0, ..defaults() };
        let mut bench = Bench::new(&imu, 100.0);
        bench.truth[body::ANGULAR_VELOCITY] = std::array::from_fn(|lane| 0.3 * lane as f64 - 2.4);
        bench.start(&imu);
        bench.measure(&imu);
        assert_eq!(bench.sample[ACCEL + 2], [8.0; LANES]);
        let expected = [-2.0, -2.0, -1.75, -1.5, -1.25, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.25, 1.5, 1.75, 2.0];
        assert_eq!(bench.sample[ANGULAR_VELOCITY], expected);
    }

    /// Overlapping Allan deviation at a cluster of `m` samples, averaged over the records (IEEE Std 952, annex C).
    fn allan_deviation(records: &[Vec<f64>], m: usize) -> f64 {
        let variance = records.iter().map(|record| {
            let sums: Vec<f64> = std::iter::once(0.0)
                .chain(record.iter().scan(0.0, |sum, value| {
                    *sum += value;
                    Some(*sum)
                }))
                .collect();
            let terms = sums.len() - 2 * m;
            let differences = (0..terms).map(|k| (sums[k + 2 * m] - 2.0 * sums[k + m] + sums[k]) / m as f64);
            differences.map(|difference| difference * difference).sum::<f64>() / (2.0 * terms as f64)
        });
        (variance.sum::<f64>() / records.len() as f64).sqrt()
    }

    #[test]
    fn allan_deviation_shows_the_specified_angle_and_rate_random_walk() {
        const RATE_HZ: f64 = 100.0;
        let (noise, walk) = (2e-3, 2e-4);
        let imu = Imu { gyro_noise_radps_per_sqrt_hz: noise, gyro_walk_radps2_per_sqrt_hz: walk, ..defaults() };
        let mut bench = Bench::new(&imu, RATE_HZ);
        let records = record(&imu, &mut bench, ANGULAR_VELOCITY + 1, (20.0 * 60.0 * RATE_HZ) as usize);
        let at = |tau_s: f64| allan_deviation(&records, (tau_s * RATE_HZ) as usize);
        let check = |name: &str, found: f64, expected: f64, tolerance: f64| {
            assert!((found / expected - 1.0).abs() < tolerance, "{name}: {found}, expected {expected}");
        };
        check("angle random walk at 1 s", at(1.0), noise, 0.05);
        check("slope of -1/2", at(0.1) / at(1.0), 10.0_f64.sqrt(), 0.05);
        check("rate random walk at 120 s", at(120.0), walk * (120.0_f64 / 3.0).sqrt(), 0.15);
        check("slope of +1/2", at(160.0) / at(80.0), 2.0_f64.sqrt(), 0.15);
    }

    #[test]
    fn every_register_width_gives_the_same_bits() {
        let imu = noisy();
        let [narrow, wide] = [Simd::Scalar, Simd::detect()].map(|simd| {
            let mut bench = Bench::new(&imu, 500.0);
            bench.simd = simd;
            bench.mount.position_m = DVec3::new(0.1, -0.2, 0.3);
            bench.mount.orientation = math::quat_from_rpy(0.1, 0.2, 0.3);
            bench.start(&imu);
            let mut bits = Vec::new();
            for step in 0..200 {
                for lane in 0..LANES {
                    let angle = 0.01 * (step * lane) as f64;
                    body::set_orientation(&mut bench.truth, lane, math::quat_from_rpy(angle, 0.3, -angle));
                    body::set_vec3(&mut bench.truth, body::ANGULAR_VELOCITY, lane, DVec3::new(angle, 1.0, -0.4));
                    body::set_vec3(&mut bench.truth, body::ACCELERATION, lane, DVec3::new(1.0, angle, 2.0));
                }
                bench.measure(&imu);
                bits.extend(bench.sample.iter().chain(&bench.state).flatten().map(|value| value.to_bits()));
            }
            bits
        });
        assert!(narrow == wide);
    }
}
