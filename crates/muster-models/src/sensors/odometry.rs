//! Wheel odometry: the planar pose of the body since the start, summed up from its displacements, in the `odom` frame of
//! REP-105 (it begins at the identity, is continuous, and drifts).
//!
//! Of each step between two samples the sensor knows the displacement `d` in the axes of the last heading and the turn
//! `θ`. Both get a scale error and a random error whose variance grows with what was travelled, as in S. Thrun,
//! W. Burgard and D. Fox, *Probabilistic Robotics* (2005), section 5.4:
//!
//! ```text
//! d' = (1 + s) d + k √|d| · normal       θ' = (1 + sθ) θ + √(kθ² |θ| + kd² |d|) · normal
//! ```
//!
//! Height, roll and pitch are 0. Velocity and angular velocity are in the axes of the heading. Where the sensor is
//! mounted does not matter.

use super::{build, stream};
use glam::DVec2;
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::lanes::{LANES, Quantity, body};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Wheel odometry.
    pub struct Odometry {
        /// Relative error of distances: 0.01 makes them 1 % too long.
        distance_scale_error: f64 = 0.0, in -1.0..=1.0;
        /// Relative error of turns.
        turn_scale_error: f64 = 0.0, in -1.0..=1.0;
        /// Standard deviation of the distance after one metre, m per √m.
        distance_noise_m_per_sqrt_m: f64 = 0.0, in 0.0..=10.0;
        /// Standard deviation of the heading after turning by one radian, rad per √rad.
        turn_noise_rad_per_sqrt_rad: f64 = 0.0, in 0.0..=10.0;
        /// Standard deviation of the heading after one metre, rad per √m.
        heading_noise_rad_per_sqrt_m: f64 = 0.0, in 0.0..=10.0;
    }
}

/// Wheel odometry.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "odometry",
    doc: "Wheel odometry: planar pose since the start, summed up from displacements, and the planar twist.",
    fields: Odometry::FIELDS,
    build: build::<Odometry>,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] = &[
    Quantity::many("position_m", 3),
    Quantity::many("orientation", 4),
    Quantity::many("velocity_mps", 3),
    Quantity::many("angular_velocity_radps", 3),
];

/// Where the position begins in a sample.
pub const POSITION: usize = 0;
/// Where the orientation begins in a sample.
pub const ORIENTATION: usize = 3;
/// Where the velocity begins in a sample.
pub const VELOCITY: usize = 7;
/// Where the angular velocity begins in a sample.
pub const ANGULAR_VELOCITY: usize = 10;

/// True planar pose at the last sample, then the pose summed up.
const STATE: &[Quantity] = &[
    Quantity::many("last_position_m", 2),
    Quantity::one("last_heading_rad"),
    Quantity::many("position_m", 2),
    Quantity::one("heading_rad"),
];
const LAST: usize = 0;
const SUM: usize = 3;

impl Sensor for Odometry {
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

/// A planar pose.
#[derive(Clone, Copy)]
struct Planar {
    position_m: DVec2,
    heading_rad: f64,
}

impl Planar {
    fn of_body(measure: &Measure<'_>, lane: usize) -> Self {
        let truth = measure.truth;
        Self {
            position_m: DVec2::new(truth[body::POSITION][lane], truth[body::POSITION + 1][lane]),
            heading_rad: math::yaw_from_quat(body::orientation(truth, lane)),
        }
    }

    fn of_state(measure: &Measure<'_>, first: usize, lane: usize) -> Self {
        let state = &measure.state;
        Self { position_m: DVec2::new(state[first][lane], state[first + 1][lane]), heading_rad: state[first + 2][lane] }
    }

    fn keep(self, measure: &mut Measure<'_>, first: usize, lane: usize) {
        measure.state[first][lane] = self.position_m.x;
        measure.state[first + 1][lane] = self.position_m.y;
        measure.state[first + 2][lane] = self.heading_rad;
    }

    /// The direction of the heading; rotates by [`DVec2::rotate`].
    fn forward(self) -> DVec2 {
        let (sin, cos) = math::sin_cos(self.heading_rad);
        DVec2::new(cos, sin)
    }

    /// Turns a vector of the world into the axes of the heading.
    fn seen(self, vector: DVec2) -> DVec2 {
        let forward = self.forward();
        DVec2::new(forward.x, -forward.y).rotate(vector)
    }
}

impl Odometry {
    /// Random errors of one step: along, across, and of the heading.
    fn noise(&self, measure: &Measure<'_>, lane: usize, distance_m: f64, turn_rad: f64) -> (DVec2, f64) {
        let normals = stream(measure.streams[lane]).normals(measure.index, 0);
        let of_distance = self.distance_noise_m_per_sqrt_m * distance_m.sqrt();
        let (of_turn, of_heading) = (self.turn_noise_rad_per_sqrt_rad, self.heading_noise_rad_per_sqrt_m);
        let variance = of_turn * of_turn * turn_rad.abs() + of_heading * of_heading * distance_m;
        (of_distance * DVec2::new(normals[0], normals[1]), variance.sqrt() * normals[2])
    }

    fn noisy(&self) -> bool {
        let noises =
            [self.distance_noise_m_per_sqrt_m, self.turn_noise_rad_per_sqrt_rad, self.heading_noise_rad_per_sqrt_m];
        noises.iter().any(|&noise| noise > 0.0)
    }
}

impl Feel for Odometry {
    fn state(&self) -> &'static [Quantity] {
        STATE
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        Planar::of_body(measure, lane).keep(measure, LAST, lane);
        Planar { position_m: DVec2::ZERO, heading_rad: 0.0 }.keep(measure, SUM, lane);
    }

    fn measure(&self, measure: &mut Measure<'_>) {
        let (noisy, rate_hz) = (self.noisy(), 1.0 / measure.period_s);
        let (longer, wider) = (1.0 + self.distance_scale_error, 1.0 + self.turn_scale_error);
        for lane in 0..measure.lanes.min(LANES) {
            let (last, now) = (Planar::of_state(measure, LAST, lane), Planar::of_body(measure, lane));
            let sum = Planar::of_state(measure, SUM, lane);
            let moved = last.seen(now.position_m - last.position_m);
            let turned = math::wrap_angle(now.heading_rad - last.heading_rad);
            let (slip, twist) =
                if noisy { self.noise(measure, lane, moved.length(), turned) } else { (DVec2::ZERO, 0.0) };
            let sum = Planar {
                position_m: sum.position_m + sum.forward().rotate(longer * moved + slip),
                heading_rad: math::wrap_angle(sum.heading_rad + wider * turned + twist),
            };
            let velocity = DVec2::new(measure.truth[body::VELOCITY][lane], measure.truth[body::VELOCITY + 1][lane]);
            let velocity = longer * now.seen(velocity) + slip * rate_hz;
            let rate = body::vec3(measure.truth, body::ANGULAR_VELOCITY, lane);
            let rate = wider * math::rotate(body::orientation(measure.truth, lane), rate).z + twist * rate_hz;
            now.keep(measure, LAST, lane);
            sum.keep(measure, SUM, lane);
            body::set_vec3(measure.sample, POSITION, lane, sum.position_m.extend(0.0));
            for (axis, value) in math::quat_from_yaw(sum.heading_rad).to_array().into_iter().enumerate() {
                measure.sample[ORIENTATION + axis][lane] = value;
            }
            body::set_vec3(measure.sample, VELOCITY, lane, velocity.extend(0.0));
            body::set_vec3(measure.sample, ANGULAR_VELOCITY, lane, glam::DVec3::new(0.0, 0.0, rate));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults, deviation};
    use super::*;
    use glam::DVec3;

    /// Drives every robot along an arc for `steps` of 0.02 s at 1 m/s from (5, −2) with heading 0.7.
    fn drive(odometry: &Odometry, bench: &mut Bench, turn_radps: f64, steps: usize) {
        for step in 0..=steps {
            let heading = 0.7 + turn_radps * 0.02 * step as f64;
            let offset = if turn_radps == 0.0 {
                0.02 * step as f64 * DVec2::new(0.7_f64.cos(), 0.7_f64.sin())
            } else {
                DVec2::new(heading.sin() - 0.7_f64.sin(), 0.7_f64.cos() - heading.cos()) / turn_radps
            };
            let velocity = DVec3::new(heading.cos(), heading.sin(), 0.0);
            for lane in 0..LANES {
                let position = DVec3::new(5.0, -2.0, 0.0) + offset.extend(0.0);
                body::set_vec3(&mut bench.truth, body::POSITION, lane, position);
                body::set_orientation(&mut bench.truth, lane, math::quat_from_yaw(heading));
                body::set_vec3(&mut bench.truth, body::VELOCITY, lane, velocity);
                body::set_vec3(&mut bench.truth, body::ANGULAR_VELOCITY, lane, DVec3::new(0.0, 0.0, turn_radps));
            }
            if step == 0 {
                bench.start(odometry);
            }
            bench.measure(odometry);
        }
    }

    #[test]
    fn without_errors_it_is_the_pose_since_the_start() {
        let odometry: Odometry = defaults();
        let mut bench = Bench::new(&odometry, 50.0);
        drive(&odometry, &mut bench, 0.5, 5000);
        // seen from the start: an arc of 50 rad with radius 2 m
        let expected = DVec3::new(2.0 * 50.0_f64.sin(), 2.0 * (1.0 - 50.0_f64.cos()), 0.0);
        assert!((bench.vec3(POSITION, 1) - expected).length() < 1e-11, "{}", bench.vec3(POSITION, 1));
        assert!((bench.vec3(VELOCITY, 1) - DVec3::X).length() < 1e-12);
        assert!((bench.vec3(ANGULAR_VELOCITY, 1) - 0.5 * DVec3::Z).length() < 1e-12);
        let heading = 2.0 * math::atan2(bench.sample[ORIENTATION + 2][1], bench.sample[ORIENTATION + 3][1]);
        assert!(math::wrap_angle(heading - 50.0).abs() < 1e-11);
    }

    #[test]
    fn scale_errors_stretch_distance_and_speed() {
        let odometry = Odometry { distance_scale_error: 0.02, ..defaults() };
        let mut bench = Bench::new(&odometry, 50.0);
        drive(&odometry, &mut bench, 0.0, 500);
        assert!((bench.vec3(POSITION, 0) - DVec3::new(10.2, 0.0, 0.0)).length() < 1e-12);
        assert!((bench.vec3(VELOCITY, 0) - DVec3::new(1.02, 0.0, 0.0)).length() < 1e-12);
    }

    #[test]
    fn random_errors_grow_with_the_root_of_what_was_travelled() {
        let ends = |odometry: Odometry, turn_radps: f64, value: fn(&Bench, usize) -> f64| {
            let ends = (0..80).flat_map(|seed| {
                let mut bench = Bench::new(&odometry, 50.0);
                bench.streams.iter_mut().for_each(|stream| *stream ^= seed << 32);
                drive(&odometry, &mut bench, turn_radps, 200);
                (0..LANES).map(|lane| value(&bench, lane)).collect::<Vec<f64>>()
            });
            deviation(ends)
        };
        let along = Odometry { distance_noise_m_per_sqrt_m: 0.05, ..defaults() };
        let std = ends(along, 0.0, |bench, lane| bench.sample[POSITION][lane] - 4.0);
        assert!((std / 0.1 - 1.0).abs() < 0.06, "{std}");
        let veer = Odometry { heading_noise_rad_per_sqrt_m: 0.03, ..defaults() };
        let std = ends(veer, 0.0, |bench, lane| 2.0 * bench.sample[ORIENTATION + 2][lane].asin());
        assert!((std / 0.06 - 1.0).abs() < 0.06, "{std}");
        let turn = Odometry { turn_noise_rad_per_sqrt_rad: 0.05, ..defaults() };
        let std = ends(turn, 0.25, |bench, lane| 2.0 * bench.sample[ORIENTATION + 2][lane].asin() - 1.0);
        assert!((std / 0.05 - 1.0).abs() < 0.06, "{std}");
    }
}
