//! Satellite navigation: position and velocity of the mount, in the world and as latitude, longitude and altitude above
//! the WGS84 ellipsoid (NIMA TR8350.2). The world is the plane tangent to the ellipsoid at its origin: east, north, up
//! are turned into earth-centred coordinates and from there into geodetic ones by B. R. Bowring's formula (1976),
//! iterated until nothing more than rounding is left. Far from the origin altitude therefore grows as the square of
//! the distance: 8 cm at 1 km.

use super::{Drift, build, mount_motion, stream};
use glam::DVec3;
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::lanes::{Column, LANES, Quantity, body};
use muster_core::math;
use muster_core::model::Origin;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Satellite navigation receiver.
    pub struct Gps {
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
    }
}

/// Satellite navigation receiver.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "gps",
    doc: "Satellite navigation: WGS84 latitude, longitude and altitude, and position and velocity in the world.",
    fields: Gps::FIELDS,
    build: build::<Gps>,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] = &[
    Quantity::one("latitude_deg"),
    Quantity::one("longitude_deg"),
    Quantity::one("altitude_m"),
    Quantity::many("position_m", 3),
    Quantity::many("velocity_mps", 3),
];

/// Where latitude, longitude and altitude begin in a sample.
pub const GEODETIC: usize = 0;
/// Where the position begins in a sample.
pub const POSITION: usize = 3;
/// Where the velocity begins in a sample.
pub const VELOCITY: usize = 6;
/// Numbers in a sample.
const FIELDS_LEN: usize = 9;

const STATE: &[Quantity] = &[Quantity::many("drift_m", 3)];

/// Measuring draws 0 to 2, so this is free for the drift at the start.
const START_DRAW: u32 = 3;

impl Sensor for Gps {
    fn fields(&self) -> &'static [Quantity] {
        FIELDS
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
}

impl Feel for Gps {
    fn state(&self) -> &'static [Quantity] {
        STATE
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        let [x, y, z, _] = stream(measure.streams[lane]).normals(0, START_DRAW);
        body::set_vec3(measure.state, 0, lane, self.drift_m() * DVec3::new(x, y, z));
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
        let (state, sample) = (measure.state.first_chunk_mut(), measure.sample.first_chunk_mut());
        let (Some(truth), Some(state), Some(sample)) = (measure.truth.first_chunk(), state, sample) else { return };
        measure.simd.run(
            #[inline(always)]
            || {
                for lane in 0..lanes {
                    let (position_m, velocity_mps) = mount_motion(truth, arm_m, lane);
                    body::set_vec3(sample, POSITION, lane, position_m);
                    body::set_vec3(sample, VELOCITY, lane, velocity_mps);
                }
                if !perfect {
                    errors.add(state, sample, streams, lanes);
                }
                plane.locate(sample, lanes);
            },
        );
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
        sample: &mut [Column; FIELDS_LEN],
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

/// Semi-major axis of the WGS84 ellipsoid, m.
const SEMI_MAJOR_M: f64 = 6_378_137.0;
/// Its flattening.
const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// Square of its first eccentricity.
const ECCENTRICITY_2: f64 = FLATTENING * (2.0 - FLATTENING);

/// The plane of east and north at a point of the earth.
#[derive(Debug, Clone, Copy)]
pub struct TangentPlane {
    origin_m: DVec3,
    east: DVec3,
    north: DVec3,
    up: DVec3,
}

impl TangentPlane {
    /// The plane at this point.
    pub fn new(origin: &Origin) -> Self {
        let (sin_lat, cos_lat) = math::sin_cos(origin.latitude_deg.to_radians());
        let (sin_lon, cos_lon) = math::sin_cos(origin.longitude_deg.to_radians());
        let up = DVec3::new(cos_lat * cos_lon, cos_lat * sin_lon, sin_lat);
        // radius of curvature in the prime vertical
        let radius_m = SEMI_MAJOR_M / (1.0 - ECCENTRICITY_2 * sin_lat * sin_lat).sqrt();
        let foot_m = radius_m * DVec3::new(up.x, up.y, (1.0 - ECCENTRICITY_2) * sin_lat);
        Self {
            origin_m: foot_m + origin.altitude_m * up,
            east: DVec3::new(-sin_lon, cos_lon, 0.0),
            north: DVec3::new(-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat),
            up,
        }
    }

    /// Fills in the geodetic positions of samples that hold positions in the world.
    #[inline(always)]
    fn locate(&self, sample: &mut [Column; FIELDS_LEN], lanes: usize) {
        for lane in 0..lanes {
            let geodetic = self.geodetic(body::vec3(sample, POSITION, lane));
            sample[GEODETIC][lane] = geodetic.latitude_deg;
            sample[GEODETIC + 1][lane] = geodetic.longitude_deg;
            sample[GEODETIC + 2][lane] = geodetic.altitude_m;
        }
    }

    /// The geodetic position of a point given in east, north, up.
    #[inline(always)]
    pub fn geodetic(&self, position_m: DVec3) -> Origin {
        let earth_m = self.origin_m + position_m.x * self.east + position_m.y * self.north + position_m.z * self.up;
        geodetic_from_earth(earth_m)
    }
}

/// Latitude, longitude and altitude of a point in earth-centred coordinates, by Bowring's iteration of the parametric
/// latitude. Three rounds leave less than 10⁻⁹ m from the depth of the oceans to the orbits of satellites.
#[inline(always)]
fn geodetic_from_earth(earth_m: DVec3) -> Origin {
    const ROUNDS: usize = 3;
    let axis_m = math::hypot2(earth_m.x, earth_m.y);
    let semi_minor_m = SEMI_MAJOR_M * (1.0 - FLATTENING);
    let second_eccentricity_2 = ECCENTRICITY_2 / (1.0 - ECCENTRICITY_2);
    let mut parametric = (earth_m.z, axis_m * (1.0 - FLATTENING));
    let mut latitude = (0.0, 1.0);
    for _ in 0..ROUNDS {
        let length = math::hypot2(parametric.0, parametric.1);
        let (sin, cos) = (parametric.0 / length, parametric.1 / length);
        latitude = (
            earth_m.z + second_eccentricity_2 * semi_minor_m * sin * sin * sin,
            axis_m - ECCENTRICITY_2 * SEMI_MAJOR_M * cos * cos * cos,
        );
        parametric = ((1.0 - FLATTENING) * latitude.0, latitude.1);
    }
    let length = math::hypot2(latitude.0, latitude.1);
    let (sin, cos) = (latitude.0 / length, latitude.1 / length);
    // this form of the altitude has no pole, neither at the equator nor at the poles
    let altitude_m = axis_m * cos + earth_m.z * sin - SEMI_MAJOR_M * (1.0 - ECCENTRICITY_2 * sin * sin).sqrt();
    Origin {
        latitude_deg: math::atan2(latitude.0, latitude.1).to_degrees(),
        longitude_deg: math::atan2(earth_m.y, earth_m.x).to_degrees(),
        altitude_m,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults, deviation};
    use super::*;

    #[test]
    fn geodetic_positions_agree_with_proj_to_the_millimetre() {
        // origin (latitude, longitude, altitude), east-north-up, result; computed once with pyproj 3.7.2 (PROJ 9.5.1):
        // +proj=pipeline +step +inv +proj=topocentric +ellps=WGS84 … +step +inv +proj=cart +ellps=WGS84
        let check = |origin: [f64; 3], position_m: [f64; 3], expected: [f64; 3]| {
            let [latitude_deg, longitude_deg, altitude_m] = origin;
            let plane = TangentPlane::new(&Origin { latitude_deg, longitude_deg, altitude_m });
            let found = plane.geodetic(DVec3::from_array(position_m));
            let metres_per_degree = 111_320.0;
            let cos = expected[0].to_radians().cos();
            let errors_m = [
                (found.latitude_deg - expected[0]) * metres_per_degree,
                (found.longitude_deg - expected[1]) * metres_per_degree * cos,
                found.altitude_m - expected[2],
            ];
            assert!(errors_m.iter().all(|error| error.abs() < 1e-3), "{found:?}, expected {expected:?}");
        };
        check([1.4333, 43.6, 135.0], [100.0, 200.0, 50.0], [1.435108674584, 43.600898569196, 185.003941]);
        let zurich = [47.3977, 8.5456, 488.0];
        check(zurich, [1000.0, -2500.0, 120.0], [47.375214995578, 8.558839929252, 608.568773]);
        check(zurich, [-60000.0, 45000.0, 3000.0], [47.799420744300, 7.745149397033, 3928.382175]);
        check([-33.8688, 151.2093, 20.0], [12.5, -7.25, 3.0], [-33.868865362102, 151.209435095935, 23.000016]);
        check([89.999, -120.0, 0.0], [300.0, 400.0, 10.0], [89.996274852236, 13.861242913121, 10.019532]);
        check([0.0, 180.0, 0.0], [500.0, 0.0, 0.0], [0.0, -179.995508423589, 0.019598]);
        check([-77.85, 166.67, 30.0], [-5000.0, 8000.0, -20.0], [-77.778262829791, 166.458508059466, 16.956095]);
    }

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
}
