//! Wheel odometry at the three levels of MORSE, for motion in the plane:
//!
//! | `level` | a sample holds |
//! |---|---|
//! | `raw` | the distance travelled since the last sample and since the start, as a mileage counter knows it |
//! | `differential` | the distance, and displacement and turn since the last sample, in the axes of the heading then |
//! | `integrated` | the pose since the start, summed up, in the `odom` frame of REP-105 (it begins at the identity, is continuous, and drifts), and the twist |
//!
//! Of each step between two samples the sensor knows the displacement `d` in the axes of the last heading and the turn
//! `θ`. Both get a scale error and a random error whose variance grows with what was travelled, as in S. Thrun,
//! W. Burgard and D. Fox, *Probabilistic Robotics* (2005), section 5.4:
//!
//! ```text
//! d' = (1 + s) d + k √|d| · normal       θ' = (1 + sθ) θ + √(kθ² |θ| + kd² |d|) · normal
//! ```
//!
//! Distances are those of the chord between two samples. Height, roll and pitch are 0. Velocity and angular velocity are
//! in the axes of the heading. Where the sensor is mounted does not matter. Errors are statistical: the sensor sees how
//! the body moved, not how its wheels turned, so a robot whose wheels spin on the spot measures no motion.

use super::{build, stream};
use glam::DVec2;
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::lanes::{LANES, Quantity, Role, body};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;

muster_core::choice! {
    /// How much odometry tells.
    pub enum Level {
        /// Distances.
        Raw = "raw",
        /// Displacement and turn since the last sample.
        Differential = "differential",
        /// Pose since the start, and twist.
        Integrated = "integrated",
    }
}

spec! {
    /// Wheel odometry.
    pub struct Odometry {
        /// How much it tells: raw, differential or integrated.
        level: Level = Level::Integrated;
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
    doc: "Wheel odometry at three levels: distances; displacement and turn; or the planar pose since the start, summed up from displacements, and the planar twist.",
    fields: Odometry::FIELDS,
    build: &build::<Odometry>,
};

/// What a sample of level `integrated` holds.
pub const FIELDS: &[Quantity] = &[
    Quantity::many("position_m", 3).with(Role::Body),
    Quantity::many("orientation", 4).with(Role::Turn),
    Quantity::many("velocity_mps", 3).with(Role::Body),
    Quantity::many("angular_velocity_radps", 3).with(Role::Body),
];

/// What a sample of level `raw` holds: since the last sample, and since the start.
pub const RAW: &[Quantity] = &[Quantity::one("distance_m"), Quantity::one("travelled_m")];

/// What a sample of level `differential` holds, since the last sample.
pub const DIFFERENTIAL: &[Quantity] = &[
    Quantity::one("distance_m"),
    Quantity::many("displacement_m", 3).with(Role::Body),
    Quantity::one("turn_rad").with(Role::Flipped),
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
/// The same, then the distance summed up.
const RAW_STATE: &[Quantity] =
    &[Quantity::many("last_position_m", 2), Quantity::one("last_heading_rad"), Quantity::one("travelled_m")];
const LAST: usize = 0;
const SUM: usize = 3;

impl Sensor for Odometry {
    fn fields(&self) -> &'static [Quantity] {
        match self.level {
            Level::Raw => RAW,
            Level::Differential => DIFFERENTIAL,
            Level::Integrated => FIELDS,
        }
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
        match self.level {
            Level::Raw => RAW_STATE,
            Level::Differential => const { STATE.split_at(2).0 },
            Level::Integrated => STATE,
        }
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        Planar::of_body(measure, lane).keep(measure, LAST, lane);
        measure.state[SUM..].iter_mut().for_each(|column| column[lane] = 0.0);
    }

    fn measure(&self, measure: &mut Measure<'_>) {
        let noisy = self.noisy();
        for lane in 0..measure.lanes.min(LANES) {
            let (last, now) = (Planar::of_state(measure, LAST, lane), Planar::of_body(measure, lane));
            let moved = last.seen(now.position_m - last.position_m);
            let turned = math::wrap_angle(now.heading_rad - last.heading_rad);
            let (slip, twist) =
                if noisy { self.noise(measure, lane, moved.length(), turned) } else { (DVec2::ZERO, 0.0) };
            now.keep(measure, LAST, lane);
            let step = Step {
                moved: (1.0 + self.distance_scale_error) * moved + slip,
                turned: (1.0 + self.turn_scale_error) * turned,
                slip,
                twist,
            };
            match self.level {
                Level::Raw => step.tell_distance(measure, lane),
                Level::Differential => step.tell_displacement(measure, lane),
                Level::Integrated => self.tell_pose(&step, now, measure, lane),
            }
        }
    }
}

/// What odometry believes of the motion between two samples, in the axes of the heading before it.
struct Step {
    moved: DVec2,
    /// Without the random error, which is added last.
    turned: f64,
    /// Random errors of both.
    slip: DVec2,
    twist: f64,
}

impl Step {
    fn tell_distance(&self, measure: &mut Measure<'_>, lane: usize) {
        let distance_m = self.moved.length();
        measure.state[SUM][lane] += distance_m;
        measure.sample[0][lane] = distance_m;
        measure.sample[1][lane] = measure.state[SUM][lane];
    }

    fn tell_displacement(&self, measure: &mut Measure<'_>, lane: usize) {
        measure.sample[0][lane] = self.moved.length();
        body::set_vec3(measure.sample, 1, lane, self.moved.extend(0.0));
        measure.sample[4][lane] = self.turned + self.twist;
    }
}

impl Odometry {
    fn tell_pose(&self, step: &Step, now: Planar, measure: &mut Measure<'_>, lane: usize) {
        let rate_hz = 1.0 / measure.period_s;
        let (longer, wider) = (1.0 + self.distance_scale_error, 1.0 + self.turn_scale_error);
        let sum = Planar::of_state(measure, SUM, lane);
        let sum = Planar {
            position_m: sum.position_m + sum.forward().rotate(step.moved),
            heading_rad: math::wrap_angle(sum.heading_rad + step.turned + step.twist),
        };
        let velocity = DVec2::new(measure.truth[body::VELOCITY][lane], measure.truth[body::VELOCITY + 1][lane]);
        let velocity = longer * now.seen(velocity) + step.slip * rate_hz;
        let rate = body::vec3(measure.truth, body::ANGULAR_VELOCITY, lane);
        let rate = wider * math::rotate(body::orientation(measure.truth, lane), rate).z + step.twist * rate_hz;
        sum.keep(measure, SUM, lane);
        body::set_vec3(measure.sample, POSITION, lane, sum.position_m.extend(0.0));
        for (axis, value) in math::quat_from_yaw(sum.heading_rad).to_array().into_iter().enumerate() {
            measure.sample[ORIENTATION + axis][lane] = value;
        }
        body::set_vec3(measure.sample, VELOCITY, lane, velocity.extend(0.0));
        body::set_vec3(measure.sample, ANGULAR_VELOCITY, lane, glam::DVec3::new(0.0, 0.0, rate));
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

    #[test]
    fn the_distance_travelled_is_the_length_of_the_path() {
        let odometry = Odometry { level: Level::Raw, ..defaults() };
        let mut bench = Bench::new(&odometry, 50.0);
        drive(&odometry, &mut bench, 0.5, 5000);
        // 100 s at 1 m/s; chords of 0.01 rad are shorter than arcs by 4 parts in a million
        assert!((bench.sample[1][3] / 100.0 - 1.0).abs() < 5e-6, "{}", bench.sample[1][3]);
        assert!((bench.sample[0][3] / 0.02 - 1.0).abs() < 5e-6);
    }

    #[test]
    fn displacements_and_turns_sum_up_to_the_pose() {
        let level = Level::Differential;
        let differential = Odometry { level, turn_scale_error: 0.01, distance_noise_m_per_sqrt_m: 0.02, ..defaults() };
        let integrated = Odometry { level: Level::Integrated, ..differential.clone() };
        let (mut steps, mut whole) = (Bench::new(&differential, 50.0), Bench::new(&integrated, 50.0));
        let mut pose = Planar { position_m: DVec2::ZERO, heading_rad: 0.0 };
        for step in 0..300 {
            for (odometry, bench) in [(&differential, &mut steps), (&integrated, &mut whole)] {
                let heading = 0.013 * f64::from(step);
                let place = DVec3::new((0.1 * f64::from(step)).sin(), 0.02 * f64::from(step), 0.0);
                for lane in 0..LANES {
                    body::set_vec3(&mut bench.truth, body::POSITION, lane, place);
                    body::set_orientation(&mut bench.truth, lane, math::quat_from_yaw(heading));
                }
                if step == 0 {
                    bench.start(odometry);
                }
                bench.measure(odometry);
            }
            let moved = steps.vec3(1, 2);
            assert!((moved.length() - steps.sample[0][2]).abs() < 1e-15);
            pose.position_m += pose.forward().rotate(moved.truncate());
            pose.heading_rad += steps.sample[4][2];
        }
        assert!((whole.vec3(POSITION, 2).truncate() - pose.position_m).length() < 1e-12);
        let heading = 2.0 * whole.sample[ORIENTATION + 2][2].asin();
        assert!(math::wrap_angle(heading - pose.heading_rad).abs() < 1e-12);
    }
}
