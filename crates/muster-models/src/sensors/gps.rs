//! Satellite navigation: where the mount is and how fast, by what a receiver would say.
//!
//! | `level` | a sample holds |
//! |---|---|
//! | `position` | the position in the world alone, as a receiver with a local map gives it |
//! | `geodetic` | WGS84 latitude, longitude and altitude above the ellipsoid, position and velocity in the world |
//! | `extended` | all that, and course and speed over ground, kind of fix, satellites in use and dilution of precision |
//!
//! The world is the plane tangent to the ellipsoid at its origin, see [`muster_core::geodesy`].
//!
//! Satellites and dilution are those of the nominal constellation over an open sky, see [`constellation`]: how good the
//! geometry is at this place and time. They do not change the noise, which is what the parameters say. The course is
//! that of the measured velocity, and stays when the receiver is slower than 0.1 m/s.

pub mod constellation;

use super::{Drift, build, mount_motion, stream};
use constellation::Sky;
use glam::DVec3;
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::geodesy::TangentPlane;
use muster_core::lanes::{Column, LANES, Quantity, Role, body};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;

muster_core::choice! {
    /// How much a receiver tells.
    pub enum Level {
        /// The position in the world.
        Position = "position",
        /// Geodetic position, and position and velocity in the world.
        Geodetic = "geodetic",
        /// All that, and how good it is.
        Extended = "extended",
    }
}

muster_core::choice! {
    /// How a receiver gets its position.
    pub enum Fix {
        /// From the satellites alone.
        Autonomous = "autonomous",
        /// With corrections of pseudoranges.
        Differential = "differential",
        /// With carrier phases, ambiguities resolved.
        RtkFixed = "rtk_fixed",
        /// With carrier phases, ambiguities not resolved.
        RtkFloat = "rtk_float",
    }
}

impl Fix {
    /// The number NMEA 0183 (sentence GGA) gives to it.
    fn quality(self) -> f64 {
        match self {
            Self::Autonomous => 1.0,
            Self::Differential => 2.0,
            Self::RtkFixed => 4.0,
            Self::RtkFloat => 5.0,
        }
    }
}

spec! {
    /// Satellite navigation receiver.
    pub struct Gps {
        /// How much it tells: position, geodetic or extended.
        level: Level = Level::Geodetic;
        /// Standard deviation of the white noise of east and north, each.
        horizontal_noise_m: f64 = 0.0, in 0.0..=1e6;
        /// Standard deviation of the white noise of up.
        vertical_noise_m: f64 = 0.0, in 0.0..=1e6;
        /// Standard deviation of a slow drift of east and north, each.
        horizontal_drift_m: f64 = 0.0, in 0.0..=1e6;
        /// Standard deviation of a slow drift of up.
        vertical_drift_m: f64 = 0.0, in 0.0..=1e6;
        /// Time constant of the drift.
        drift_time_s: f64 = 600.0, in 0.001..=1e9;
        /// Standard deviation of the white noise of each axis of velocity.
        velocity_noise_mps: f64 = 0.0, in 0.0..=1e6;
        /// Extended: which fix it tells while four satellites are in view.
        fix: Fix = Fix::Autonomous;
        /// Extended: elevation below which satellites are not used.
        mask_deg: f64 = 5.0, in 0.0..=90.0;
    }
}

/// Satellite navigation receiver.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "gps",
    doc: "Satellite navigation at three levels: position; WGS84 latitude, longitude, altitude with position and velocity; or these with course, fix, satellites and dilution of precision.",
    fields: Gps::FIELDS,
    build: &build::<Gps>,
};

/// What a sample of level `geodetic` holds.
pub const FIELDS: &[Quantity] = EXTENDED.split_at(5).0;

/// What a sample of level `extended` holds.
pub const EXTENDED: &[Quantity] = &[
    Quantity::one("latitude_deg"),
    Quantity::one("longitude_deg"),
    Quantity::one("altitude_m"),
    Quantity::many("position_m", 3).with(Role::Point),
    Quantity::many("velocity_mps", 3).with(Role::World),
    Quantity::one("heading_rad").with(Role::Heading),
    Quantity::one("speed_mps"),
    Quantity::one("fix"),
    Quantity::one("satellites"),
    Quantity::one("pdop"),
    Quantity::one("hdop"),
    Quantity::one("vdop"),
];

/// Where latitude, longitude and altitude begin in a sample.
pub const GEODETIC: usize = 0;
/// Where the position begins in a sample.
pub const POSITION: usize = 3;
/// Where the velocity begins in a sample.
pub const VELOCITY: usize = 6;
/// Where the course over ground is in a sample of level `extended`.
pub const HEADING: usize = 9;
/// Where the speed over ground is in a sample of level `extended`.
pub const SPEED: usize = 10;
/// Where the kind of fix is in a sample of level `extended`, by NMEA 0183: 0 none, 1 autonomous, 2 differential, 4 and 5
/// by carrier phase, fixed and float.
pub const FIX: usize = 11;
/// Where the number of satellites is in a sample of level `extended`.
pub const SATELLITES: usize = 12;
/// Where the dilution of precision of position, horizontal and vertical begins in a sample of level `extended`.
pub const DILUTION: usize = 13;
/// Numbers in a sample of level `geodetic`.
const GEODETIC_LEN: usize = 9;

/// The course is kept by level `extended` alone.
const STATE: &[Quantity] = &[Quantity::many("drift_m", 3), Quantity::one("heading_rad")];
const STATE_HEADING: usize = 3;

/// Measuring draws 0 to 2, so this is free for the drift at the start.
const START_DRAW: u32 = 3;

/// Below this speed over ground the course stays as it was, m/s.
const COURSE_FROM_MPS: f64 = 0.1;

impl Sensor for Gps {
    fn fields(&self) -> &'static [Quantity] {
        match self.level {
            Level::Position => const { EXTENDED.split_at(3).1.split_at(1).0 },
            Level::Geodetic => FIELDS,
            Level::Extended => EXTENDED,
        }
    }

    fn default_rate_hz(&self) -> f64 {
        5.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }
}

impl Gps {
    fn noise_m(&self) -> DVec3 {
        DVec3::new(self.horizontal_noise_m, self.horizontal_noise_m, self.vertical_noise_m)
    }

    fn drift_m(&self) -> DVec3 {
        DVec3::new(self.horizontal_drift_m, self.horizontal_drift_m, self.vertical_drift_m)
    }

    /// Fills in what a sample of level `extended` has beyond one of level `geodetic`.
    fn extend(&self, measure: &mut Measure<'_>, plane: &TangentPlane, lanes: usize) {
        let sky = Sky::at(measure.time.s(), self.mask_deg);
        for lane in 0..lanes {
            let velocity_mps = body::vec3(measure.sample, VELOCITY, lane);
            let speed_mps = math::hypot2(velocity_mps.x, velocity_mps.y);
            let heading = &mut measure.state[STATE_HEADING][lane];
            if speed_mps >= COURSE_FROM_MPS {
                *heading = math::atan2(velocity_mps.y, velocity_mps.x);
            }
            let view = sky.seen_from(plane, body::vec3(measure.sample, POSITION, lane));
            let fix = if view.satellites >= constellation::LEAST { self.fix.quality() } else { 0.0 };
            let told = [*heading, speed_mps, fix, f64::from(view.satellites), view.pdop, view.hdop, view.vdop];
            for (column, value) in measure.sample[HEADING..].iter_mut().zip(told) {
                column[lane] = value;
            }
        }
    }
}

impl Feel for Gps {
    fn state(&self) -> &'static [Quantity] {
        match self.level {
            Level::Position | Level::Geodetic => const { STATE.split_at(1).0 },
            Level::Extended => STATE,
        }
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        let [x, y, z, _] = stream(measure.streams[lane]).normals(0, START_DRAW);
        body::set_vec3(measure.state, 0, lane, self.drift_m() * DVec3::new(x, y, z));
        if self.level == Level::Extended {
            let orientation = body::orientation(measure.truth, lane);
            measure.state[STATE_HEADING][lane] = math::yaw_from_quat(orientation);
        }
    }

    fn measure(&self, measure: &mut Measure<'_>) {
        let errors = Errors {
            drift: Drift::new(1.0, self.drift_time_s, measure.period_s),
            drift_m: self.drift_m(),
            noise_m: self.noise_m(),
            velocity_noise_mps: self.velocity_noise_mps,
        };
        let perfect = self.noise_m() == DVec3::ZERO && self.drift_m() == DVec3::ZERO && self.velocity_noise_mps == 0.0;
        let plane = TangentPlane::new(&measure.environment.origin);
        let (arm_m, lanes) = (measure.mount.position_m, measure.lanes.min(LANES));
        let streams = (measure.streams, measure.index);
        let (truth, drift) = (measure.truth.first_chunk(), measure.state.first_chunk_mut());
        let (Some(truth), Some(drift)) = (truth, drift) else { return };
        let mut told = [[0.0; LANES]; GEODETIC_LEN];
        measure.simd.run(
            #[inline(always)]
            || {
                for lane in 0..lanes {
                    let (position_m, velocity_mps) = mount_motion(truth, arm_m, lane);
                    body::set_vec3(&mut told, POSITION, lane, position_m);
                    body::set_vec3(&mut told, VELOCITY, lane, velocity_mps);
                }
                if !perfect {
                    errors.add(drift, &mut told, streams, lanes);
                }
                if self.level != Level::Position {
                    locate(&plane, &mut told, lanes);
                }
            },
        );
        match self.level {
            Level::Position => measure.sample.copy_from_slice(&told[POSITION..VELOCITY]),
            Level::Geodetic => measure.sample.copy_from_slice(&told),
            Level::Extended => {
                measure.sample[..GEODETIC_LEN].copy_from_slice(&told);
                self.extend(measure, &plane, lanes);
            }
        }
    }
}

/// Fills in the geodetic positions of samples that hold positions in the world.
#[inline(always)]
fn locate(plane: &TangentPlane, sample: &mut [Column; GEODETIC_LEN], lanes: usize) {
    for lane in 0..lanes {
        let geodetic = plane.geodetic(body::vec3(sample, POSITION, lane));
        sample[GEODETIC][lane] = geodetic.latitude_deg;
        sample[GEODETIC + 1][lane] = geodetic.longitude_deg;
        sample[GEODETIC + 2][lane] = geodetic.altitude_m;
    }
}

/// Errors of one sample.
#[derive(Clone, Copy)]
struct Errors {
    drift: Drift,
    drift_m: DVec3,
    noise_m: DVec3,
    velocity_noise_mps: f64,
}

impl Errors {
    /// Moves the drift on and adds it and the white noise to the sample.
    #[inline(always)]
    fn add(
        self,
        state: &mut [Column; 3],
        sample: &mut [Column; GEODETIC_LEN],
        (streams, index): (&[u64; LANES], u64),
        lanes: usize,
    ) {
        for (lane, &key) in streams.iter().enumerate().take(lanes) {
            let stream = stream(key);
            let normals = |draw: u32| {
                let [x, y, z, _] = stream.normals(index, draw);
                DVec3::new(x, y, z)
            };
            let (white, slow, fast) = (normals(0), normals(1), normals(2));
            let (before, kicks) = (body::vec3(state, 0, lane), self.drift_m * slow);
            let wandered = DVec3::new(
                self.drift.step(before.x, kicks.x),
                self.drift.step(before.y, kicks.y),
                self.drift.step(before.z, kicks.z),
            );
            body::set_vec3(state, 0, lane, wandered);
            let position_m = body::vec3(sample, POSITION, lane) + (wandered + self.noise_m * white);
            let velocity_mps = body::vec3(sample, VELOCITY, lane) + self.velocity_noise_mps * fast;
            body::set_vec3(sample, POSITION, lane, position_m);
            body::set_vec3(sample, VELOCITY, lane, velocity_mps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults, deviation};
    use super::*;
    use muster_core::geodesy::Geodetic;
    use muster_core::model::Origin;

    #[test]
    fn a_sample_has_the_values_published_with_morse() {
        let gps: Gps = defaults();
        let mut bench = Bench::new(&gps, 5.0);
        bench.environment.origin = Origin { latitude_deg: 1.4333, longitude_deg: 43.6, altitude_m: 135.0 };
        body::set_vec3(&mut bench.truth, body::POSITION, 4, DVec3::new(100.0, 200.0, 50.0));
        body::set_vec3(&mut bench.truth, body::VELOCITY, 4, DVec3::new(1.0, 2.0, 3.0));
        bench.start(&gps);
        bench.measure(&gps);
        let sample: Vec<f64> = bench.sample.iter().map(|column| column[4]).collect();
        assert!((sample[0] - 1.4351).abs() < 5e-5 && (sample[1] - 43.6009).abs() < 5e-5, "{sample:?}");
        assert!((sample[2] - 185.003).abs() < 1e-3, "{sample:?}");
        assert_eq!(sample[3..], [100.0, 200.0, 50.0, 1.0, 2.0, 3.0]);
    }

    #[test]
    fn errors_have_their_standard_deviations() {
        let check = |gps: Gps, expected: [f64; 6]| {
            let mut values: [Vec<f64>; 6] = Default::default();
            for seed in 0..20 {
                let mut bench = Bench::new(&gps, 5.0);
                bench.streams.iter_mut().for_each(|stream| *stream ^= seed << 32);
                bench.start(&gps);
                for _ in 0..50 {
                    bench.measure(&gps);
                    for (values, column) in values.iter_mut().zip(&bench.sample[POSITION..]) {
                        values.extend(column);
                    }
                }
            }
            for (values, expected) in values.into_iter().zip(expected) {
                let std = deviation(values.into_iter());
                assert!((std - expected).abs() <= 0.05 * expected, "{std}, expected {expected}");
            }
        };
        let white = Gps { horizontal_noise_m: 1.5, vertical_noise_m: 3.0, velocity_noise_mps: 0.1, ..defaults() };
        check(white, [1.5, 1.5, 3.0, 0.1, 0.1, 0.1]);
        let slow = Gps { horizontal_drift_m: 1.5, vertical_drift_m: 3.0, drift_time_s: 0.5, ..defaults() };
        check(slow, [1.5, 1.5, 3.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn levels_tell_the_same_place_in_more_and_more_words() {
        let at = |level: Level| {
            let gps = Gps { level, horizontal_noise_m: 2.0, vertical_noise_m: 3.0, ..defaults() };
            let mut bench = Bench::new(&gps, 5.0);
            bench.environment.origin = Geodetic { latitude_deg: 43.6, longitude_deg: 1.4333, altitude_m: 135.0 };
            body::set_vec3(&mut bench.truth, body::POSITION, 1, DVec3::new(100.0, 200.0, 50.0));
            body::set_vec3(&mut bench.truth, body::VELOCITY, 1, DVec3::new(-3.0, 4.0, 1.0));
            bench.start(&gps);
            bench.measure(&gps);
            // a receiver that stands keeps its course
            body::set_vec3(&mut bench.truth, body::VELOCITY, 1, DVec3::ZERO);
            bench.measure(&gps);
            bench.sample.iter().map(|column| column[1]).collect::<Vec<f64>>()
        };
        let (position, geodetic, extended) = (at(Level::Position), at(Level::Geodetic), at(Level::Extended));
        assert_eq!(position, geodetic[POSITION..VELOCITY]);
        assert_eq!(geodetic, extended[..HEADING]);
        assert!((extended[HEADING] - 4.0_f64.atan2(-3.0)).abs() < 1e-12, "{extended:?}");
        assert_eq!((extended[SPEED], extended[FIX]), (0.0, 1.0));
        assert!(extended[SATELLITES] >= 4.0 && extended[SATELLITES] <= 14.0, "{extended:?}");
        let [pdop, hdop, vdop] = [0, 1, 2].map(|which| extended[DILUTION + which]);
        assert!((pdop - hdop.hypot(vdop)).abs() < 1e-12 && hdop > 0.5 && pdop < 6.0, "{extended:?}");
    }

    #[test]
    fn without_satellites_there_is_no_fix() {
        let gps = Gps { level: Level::Extended, mask_deg: 90.0, fix: Fix::RtkFixed, ..defaults() };
        let mut bench = Bench::new(&gps, 5.0);
        bench.start(&gps);
        bench.measure(&gps);
        assert_eq!((bench.sample[FIX][0], bench.sample[SATELLITES][0]), (0.0, 0.0));
        assert!(bench.sample[DILUTION][0] == constellation::NO_DILUTION);
    }
}
