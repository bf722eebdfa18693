//! A robot on two tracks, which must slip to turn. Its kinematics are those of J. L. Martínez, A. Mandow, J. Morales,
//! S. Pedraza and A. García-Cerezo, "Approximating kinematics for tracked mobile robots" (*International Journal of
//! Robotics Research* 24(10), 2005): where the ground under each track does not slip against it, the instantaneous
//! centre of rotation of that track, stays nearly the same on one sort of ground, further out than the track itself.
//! With those centres at `y_L > 0 > y_R` to the sides of the body's origin, the line between them at `x_I` ahead of it,
//! and tracks that lose a constant share of their speed,
//!
//! ```text
//! V_i = η_i r φ̇_i       ω = (V_R − V_L) / (y_L − y_R)       v = (V_R y_L − V_L y_R) / (y_L − y_R)       u = −x_I ω
//! ```
//!
//! (v forward, u to the left). With `y_L = −y_R` half of the track gap, `x_I = 0` and `η = 1` nothing slips. A. Mandow
//! and others, "Experimental kinematics for wheeled skid-steer mobile robots" (IROS 2007), found the same to hold for
//! robots with four wheels.
//!
//! It moves in the plane and keeps its height. Sprockets ramp within their acceleration; the path of a tick is the arc
//! of its mean track speeds, so a constant command is exact for any tick.
//!
//! Setpoint modes: velocity (forward, and turn rate; with `compensated` by the kinematics above, else as if nothing
//! slipped, so that the robot turns less than it was told), direct (the inputs); in any other the robot stops.
//!
//! Defaults are about those of an iRobot PackBot: 2.6 m/s is its data sheet's 9.3 km/h; track gap, sprockets, the
//! centres of rotation at 1.5 times the gap (within what the papers found on hard ground) and the acceleration are
//! guesses.

use super::planar::{self, Twist, ramp};
use super::rigid;
use muster_core::component::{Kind, Motion, Tick, Turning, Wheel};
use muster_core::contact::Mobility;
use muster_core::lanes::{Column, LANE_STEP, LANES, Quantity, body, setpoint};
use muster_core::math;
use muster_core::spec::Spec;
use std::borrow::Cow;
use std::sync::Arc;

muster_core::spec! {
    /// A robot on two tracks. The defaults are about those of an iRobot PackBot.
    pub struct TrackedSpec {
        /// Radius of the sprockets, track included.
        sprocket_radius_m: f64 = 0.09, in 0.001..=10.0;
        /// From the middle of one track to that of the other.
        track_gap_m: f64 = 0.4, in 0.001..=100.0;
        /// How far the left track's centre of rotation is to the left of the origin.
        icr_left_m: f64 = 0.3, in 0.001..=1000.0;
        /// How far the right track's centre of rotation is to the right of the origin.
        icr_right_m: f64 = 0.3, in 0.001..=1000.0;
        /// How far the centres of rotation are ahead of the origin.
        icr_forward_m: f64 = 0.0, in -100.0..=100.0;
        /// Speed of the left track over ground divided by that of its sprocket, on a straight way.
        left_efficiency: f64 = 1.0, in 0.01..=1.0;
        /// The same of the right track.
        right_efficiency: f64 = 1.0, in 0.01..=1.0;
        /// Velocity setpoints are followed in spite of the slip; else as if there were none.
        compensated: bool = true;
        /// The speed forward or backward that no robot exceeds.
        speed_max_mps: f64 = 2.6, in 0.001..=100.0;
        /// The turn rate that no robot exceeds.
        turn_max_radps: f64 = 3.0, in 0.001..=100.0;
        /// The greatest acceleration of a sprocket.
        sprocket_accel_max_radps2: f64 = 30.0, in 0.001..=1e9;
    }
}

/// The row of this kind.
pub const KIND: Kind<dyn Motion> = Kind {
    name: "tracked",
    doc: "Two tracks that slip as they turn, by their centres of rotation; inputs are sprocket speeds.",
    fields: <TrackedSpec as Spec>::FIELDS,
    build: &|node, path, also, problems| {
        Some(Arc::new(Tracked { spec: <TrackedSpec as Spec>::read(node, path, also, problems)? }))
    },
};

const INPUTS: &[Quantity] = &[Quantity::one("track_left_radps"), Quantity::one("track_right_radps")];
const STATE: &[Quantity] = &[
    Quantity::one("track_left_radps"),
    Quantity::one("track_right_radps"),
    Quantity::one("track_left_rad"),
    Quantity::one("track_right_rad"),
];
const COMMAND: usize = body::COLUMNS;
const SPROCKETS: usize = COMMAND + 2;
/// How far the sprockets have turned.
const ANGLES: usize = SPROCKETS + 2;
const COLUMNS: usize = ANGLES + 2;

const ENCODED: &[Wheel] = &[
    Wheel { name: Cow::Borrowed("left"), turning: Turning::Angle(ANGLES) },
    Wheel { name: Cow::Borrowed("right"), turning: Turning::Angle(ANGLES + 1) },
];

/// The motion of a robot on two tracks.
#[derive(Debug, Clone)]
struct Tracked {
    spec: TrackedSpec,
}

/// What the kernel needs of specification and tick.
#[derive(Debug, Clone, Copy)]
struct Constants {
    /// Speed over ground of a track by a radian a second of its sprocket.
    left: f64,
    right: f64,
    per_left: f64,
    per_right: f64,
    icr_left: f64,
    icr_right: f64,
    per_width: f64,
    forward: f64,
    /// Sprocket speeds by a metre a second forward and by a radian a second of turn, for velocity setpoints.
    ahead_left: f64,
    ahead_right: f64,
    around_left: f64,
    around_right: f64,
    speed_max: f64,
    turn_max: f64,
    /// Greatest change of a sprocket's speed in a tick.
    change_max: f64,
    dt: f64,
}

impl Tracked {
    fn constants_of(&self, dt: f64) -> Constants {
        let spec = &self.spec;
        let (left, right) =
            (spec.left_efficiency * spec.sprocket_radius_m, spec.right_efficiency * spec.sprocket_radius_m);
        let (per_left, per_right) = (1.0 / left, 1.0 / right);
        let (nominal, half_gap) = (1.0 / spec.sprocket_radius_m, 0.5 * spec.track_gap_m);
        let [ahead_left, ahead_right] = if spec.compensated { [per_left, per_right] } else { [nominal; 2] };
        let (aside_left, aside_right) =
            if spec.compensated { (spec.icr_left_m, spec.icr_right_m) } else { (half_gap, half_gap) };
        Constants {
            left,
            right,
            per_left,
            per_right,
            icr_left: spec.icr_left_m,
            icr_right: spec.icr_right_m,
            per_width: 1.0 / (spec.icr_left_m + spec.icr_right_m),
            forward: spec.icr_forward_m,
            ahead_left,
            ahead_right,
            around_left: -aside_left * ahead_left,
            around_right: aside_right * ahead_right,
            speed_max: spec.speed_max_mps,
            turn_max: spec.turn_max_radps,
            change_max: spec.sprocket_accel_max_radps2 * dt,
            dt,
        }
    }
}

impl Motion for Tracked {
    fn inputs(&self) -> &'static [Quantity] {
        INPUTS
    }

    fn state(&self) -> &'static [Quantity] {
        STATE
    }

    fn speed_max_mps(&self) -> f64 {
        math::hypot2(self.spec.speed_max_mps, self.spec.turn_max_radps * self.spec.icr_forward_m)
    }

    fn mobility(&self) -> Mobility {
        Mobility::Planar
    }

    fn start(&self, columns: &mut [Column], lane: usize) {
        let Some(columns) = columns.first_chunk_mut::<COLUMNS>() else { return };
        let limit = self.spec.speed_max_mps;
        let forward = math::clamp(planar::forward_speed(columns, lane), -limit, limit);
        columns[COMMAND..].iter_mut().for_each(|column| column[lane] = 0.0);
        let constants = self.constants_of(0.0);
        columns[SPROCKETS][lane] = forward / constants.left;
        columns[SPROCKETS + 1][lane] = forward / constants.right;
    }

    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>) {
        let Some(columns) = columns.first_chunk_mut() else { return };
        let constants = self.constants_of(tick.dt_s);
        let lanes = lanes.next_multiple_of(LANE_STEP).min(LANES);
        tick.simd.run(
            #[inline(always)]
            || kernel(columns, lanes, &constants),
        );
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        let spec = &self.spec;
        vec![
            ("sprocket_radius_m", spec.sprocket_radius_m),
            ("track_gap_m", spec.track_gap_m),
            ("speed_max_mps", spec.speed_max_mps),
            ("turn_max_radps", spec.turn_max_radps),
        ]
    }

    fn wheels(&self) -> &[Wheel] {
        ENCODED
    }
}

#[inline(always)]
fn kernel(columns: &mut [Column; COLUMNS], lanes: usize, constants: &Constants) {
    for lane in 0..lanes.min(LANES) {
        let (left_target, right_target) = targets(columns, lane, constants);
        let left = ramp(columns[SPROCKETS][lane], left_target, constants.change_max);
        let right = ramp(columns[SPROCKETS + 1][lane], right_target, constants.change_max);
        columns[SPROCKETS][lane] = left.last;
        columns[SPROCKETS + 1][lane] = right.last;
        columns[ANGLES][lane] += constants.dt * left.mean;
        columns[ANGLES + 1][lane] += constants.dt * right.mean;
        let mean = twist(left.mean, right.mean, constants);
        let last = twist(left.last, right.last, constants);
        planar::drive(columns, lane, (mean, last), constants.dt);
    }
}

/// The sprocket speeds that are commanded, within the limits of speed and turn rate over ground.
#[inline(always)]
fn targets(columns: &[Column; COLUMNS], lane: usize, constants: &Constants) -> (f64, f64) {
    let mode = columns[body::SETPOINT_MODE][lane];
    let (by_velocity, by_tracks) = (mode == setpoint::VELOCITY, mode == setpoint::DIRECT);
    let (speed, turn) = (columns[body::SETPOINT][lane], columns[body::SETPOINT + 3][lane]);
    let left = if by_tracks { columns[COMMAND][lane] } else { 0.0 };
    let right = if by_tracks { columns[COMMAND + 1][lane] } else { 0.0 };
    let asked_left = constants.ahead_left * speed + constants.around_left * turn;
    let asked_right = constants.ahead_right * speed + constants.around_right * turn;
    let left = if by_velocity { asked_left } else { left };
    let right = if by_velocity { asked_right } else { right };
    let asked = twist(left, right, constants);
    let speed = rigid::bound(asked.forward, -constants.speed_max, constants.speed_max);
    let turn = rigid::bound(asked.turn, -constants.turn_max, constants.turn_max);
    let left = (speed - turn * constants.icr_left) * constants.per_left;
    let right = (speed + turn * constants.icr_right) * constants.per_right;
    (left, right)
}

/// The motion of the origin that these sprocket speeds make.
#[inline(always)]
fn twist(left: f64, right: f64, constants: &Constants) -> Twist {
    let (left, right) = (constants.left * left, constants.right * right);
    let turn = constants.per_width * (right - left);
    let forward = constants.per_width * (right * constants.icr_left + left * constants.icr_right);
    Twist { forward, left: -constants.forward * turn, turn }
}

#[cfg(test)]
mod tests {
    use super::super::differential;
    use super::super::testing::{Flock, build, check_same_bits};
    use super::*;
    use glam::DVec3;
    use muster_core::node::Value;

    /// A robot whose tracks need no time to change speed, with these parameters.
    fn nimble(parameters: &[(&str, f64)]) -> Flock {
        let quick = [("sprocket_accel_max_radps2", 1e9), ("turn_max_radps", 10.0), ("speed_max_mps", 10.0)];
        let given: Vec<(&str, Value)> =
            quick.iter().chain(parameters).map(|(key, value)| (*key, Value::Number(*value))).collect();
        Flock::new(build(&KIND, &given), DVec3::ZERO)
    }

    const SLIPPING: [(&str, f64); 6] = [
        ("sprocket_radius_m", 0.1),
        ("icr_left_m", 0.5),
        ("icr_right_m", 0.3),
        ("icr_forward_m", 0.2),
        ("left_efficiency", 0.9),
        ("right_efficiency", 0.8),
    ];

    fn tracks(flock: &mut Flock, left: f64, right: f64) {
        flock.set(body::SETPOINT_MODE, &[setpoint::DIRECT]);
        flock.set(COMMAND, &[left, right]);
    }

    #[test]
    fn a_robot_turns_about_the_centres_of_rotation_for_any_tick() {
        // V_L = 0.9 · 0.1 · 10 = 0.9 m/s, V_R = 0.8 · 0.1 · 20 = 1.6 m/s
        let turn = (1.6 - 0.9) / 0.8;
        let forward = (1.6 * 0.5 + 0.9 * 0.3) / 0.8;
        // the centre of the circle: on the line of the centres of rotation, where nothing moves
        let centre = DVec3::new(0.2, forward / turn, 0.0);
        for (dt_s, ticks) in [(0.001, 1500), (0.05, 30), (1.5, 1)] {
            let mut flock = nimble(&SLIPPING);
            tracks(&mut flock, 10.0, 20.0);
            flock.run(dt_s, ticks);
            let (sine, cosine) = math::sin_cos(1.5 * turn);
            let from_centre =
                DVec3::new(-centre.x * cosine + centre.y * sine, -centre.x * sine - centre.y * cosine, 0.0);
            let error = (flock.vec3(body::POSITION) - centre - from_centre).length();
            assert!(error < 1e-7, "{error} m off in ticks of {dt_s} s");
            assert!((flock.yaw() - 1.5 * turn).abs() < 1e-7);
            let velocity = math::rotate_inverse(flock.orientation(), flock.vec3(body::VELOCITY));
            assert!((velocity - DVec3::new(forward, -0.2 * turn, 0.0)).length() < 1e-12, "{velocity}");
        }
    }

    #[test]
    fn the_ground_stands_still_under_each_track_at_its_centre_of_rotation() {
        let mut flock = nimble(&SLIPPING);
        tracks(&mut flock, -7.0, 12.0);
        flock.run(0.001, 1);
        let velocity = math::rotate_inverse(flock.orientation(), flock.vec3(body::VELOCITY));
        let turn = flock.vec3(body::ANGULAR_VELOCITY);
        for (y, tread) in [(0.5, 0.9 * 0.1 * -7.0), (-0.3, 0.8 * 0.1 * 12.0)] {
            let over_ground = velocity + turn.cross(DVec3::new(0.2, y, 0.0)) - DVec3::new(tread, 0.0, 0.0);
            assert!(over_ground.length() < 1e-12, "{over_ground}");
        }
    }

    #[test]
    fn without_slip_it_is_a_differential_robot() {
        let mut tracked =
            nimble(&[("sprocket_radius_m", 0.033), ("track_gap_m", 0.16), ("icr_left_m", 0.08), ("icr_right_m", 0.08)]);
        let quick = [("wheel_accel_max_radps2", 1e9), ("turn_max_radps", 10.0), ("speed_max_mps", 10.0)];
        let wheels = build(&differential::KIND, &quick.map(|(key, value)| (key, Value::Number(value))));
        let mut wheels = Flock::new(wheels, DVec3::ZERO);
        for flock in [&mut tracked, &mut wheels] {
            tracks(flock, 20.0, 31.0);
            flock.run(0.01, 500);
        }
        assert!((tracked.vec3(body::POSITION) - wheels.vec3(body::POSITION)).length() < 1e-9);
        assert!((tracked.orientation() - wheels.orientation()).length() < 1e-9);
    }

    #[test]
    fn velocity_setpoints_are_followed_if_the_slip_is_known() {
        let mut flock = nimble(&SLIPPING);
        flock.set(body::SETPOINT_MODE, &[setpoint::VELOCITY, 1.5, 0.0, 0.0, -0.8]);
        flock.run(0.01, 1);
        let velocity = math::rotate_inverse(flock.orientation(), flock.vec3(body::VELOCITY));
        assert!((velocity - DVec3::new(1.5, 0.16, 0.0)).length() < 1e-12, "{velocity}");
        assert!((flock.vec3(body::ANGULAR_VELOCITY).z + 0.8).abs() < 1e-12);
    }

    #[test]
    fn a_robot_that_does_not_know_its_slip_turns_less_than_told() {
        let given = [("compensated", Value::Bool(false)), ("sprocket_accel_max_radps2", Value::Number(1e9))];
        let mut flock = Flock::new(build(&KIND, &given), DVec3::ZERO);
        flock.set(body::SETPOINT_MODE, &[setpoint::VELOCITY, 0.5, 0.0, 0.0, 0.9]);
        flock.run(0.01, 1);
        // by the track gap over the distance of the centres of rotation
        assert!((flock.vec3(body::ANGULAR_VELOCITY).z - 0.9 * 0.4 / 0.6).abs() < 1e-12);
    }

    #[test]
    fn sprockets_turn_on_where_the_tracks_slip() {
        let mut flock = nimble(&SLIPPING);
        tracks(&mut flock, 10.0, 20.0);
        flock.run(0.01, 100);
        assert!((flock.columns[ANGLES][0] - 10.0).abs() < 1e-6 && (flock.columns[ANGLES + 1][0] - 20.0).abs() < 1e-6);
    }

    #[test]
    fn commands_are_limited_and_none_stops() {
        let mut flock = nimble(&[("icr_forward_m", 0.5)]);
        flock.set(body::SETPOINT_MODE, &[setpoint::VELOCITY, 1e3, 0.0, 0.0, -1e3]);
        flock.run(0.001, 1);
        assert!((flock.vec3(body::ANGULAR_VELOCITY).z + 10.0).abs() < 1e-9);
        let speed = flock.vec3(body::VELOCITY).length();
        assert!((speed - 125.0_f64.sqrt()).abs() < 1e-9 && speed <= flock.motion.speed_max_mps() + 1e-9, "{speed}");
        flock.set(body::SETPOINT_MODE, &[setpoint::NONE]);
        flock.run(0.001, 1);
        assert_eq!(flock.vec3(body::VELOCITY).length(), 0.0);
    }

    #[test]
    fn registers_of_all_widths_give_the_same_bits() {
        for mode in [setpoint::NONE, setpoint::VELOCITY, setpoint::DIRECT] {
            check_same_bits(&build(&KIND, &[]), mode, &[(-9.0, 9.0); 2], 0.1);
        }
    }
}
