//! A base moved from outside: it does what it is told, within limits of speed, turn rate and acceleration, and has no
//! memory beyond its body, so it is the cheapest robot there is.
//!
//! Setpoint modes: velocity (forward, left and up in the frame of the heading, and turn rate; a constant command gives
//! an exact arc for any tick), position (x, y, z and heading in the world; goes there in a straight line and brakes in
//! time, or jumps); in any other the robot stops.

use super::rigid::{self, Body};
use glam::{DQuat, DVec3};
use muster_core::component::{Kind, Motion, Tick};
use muster_core::contact::Mobility;
use muster_core::lanes::{Column, LANE_STEP, LANES, Quantity, body, setpoint};
use muster_core::math;
use muster_core::spec::Spec;
use std::sync::Arc;

muster_core::spec! {
    /// A base moved from outside.
    pub struct PointSpec {
        /// The speed no robot exceeds.
        speed_max_mps: f64 = 10.0, in 0.001..=1000.0;
        /// The turn rate no robot exceeds.
        turn_max_radps: f64 = 10.0, in 0.001..=1000.0;
        /// The greatest acceleration; none if not written.
        accel_max_mps2: Option<f64>, in 0.001..=1e9;
        /// Jumps to commanded positions instead of going there.
        jump: bool = false;
    }
}

/// The row of this kind.
pub const KIND: Kind<dyn Motion> = Kind {
    name: "point",
    doc: "Moves as told, by velocity or position, without forces.",
    fields: <PointSpec as Spec>::FIELDS,
    build: &|node, path, also, problems| {
        Some(Arc::new(Point::new(<PointSpec as Spec>::read(node, path, also, problems)?)))
    },
};

/// Stands for no limit of acceleration.
const ACCEL_UNLIMITED_MPS2: f64 = 1e12;

const COLUMNS: usize = body::COLUMNS;

/// The motion of a base moved from outside.
#[derive(Debug, Clone)]
pub struct Point {
    spec: PointSpec,
}

/// What a kernel needs of specification and tick.
#[derive(Debug, Clone, Copy)]
struct Constants {
    speed_max: f64,
    turn_max: f64,
    accel_max: f64,
    dt: f64,
    per_dt: f64,
    /// 0 where no velocity stays after a tick.
    keep_velocity: f64,
}

/// What one robot does in a tick.
#[derive(Debug, Clone, Copy)]
struct Move {
    step: DVec3,
    velocity: DVec3,
    turn: f64,
}

impl Point {
    /// A base with these parameters.
    pub fn new(spec: PointSpec) -> Self {
        Self { spec }
    }
}

impl Motion for Point {
    fn inputs(&self) -> &[Quantity] {
        &[]
    }

    fn state(&self) -> &[Quantity] {
        &[]
    }

    fn speed_max_mps(&self) -> f64 {
        self.spec.speed_max_mps
    }

    fn mobility(&self) -> Mobility {
        Mobility::Kinematic
    }

    fn start(&self, _columns: &mut [Column], _lane: usize) {}

    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>) {
        let Some(columns) = columns.first_chunk_mut() else { return };
        let constants = Constants {
            speed_max: self.spec.speed_max_mps,
            turn_max: self.spec.turn_max_radps,
            accel_max: self.spec.accel_max_mps2.unwrap_or(ACCEL_UNLIMITED_MPS2),
            dt: tick.dt_s,
            per_dt: 1.0 / tick.dt_s,
            keep_velocity: 1.0,
        };
        let unlimited = Constants {
            speed_max: f64::INFINITY,
            turn_max: f64::INFINITY,
            accel_max: ACCEL_UNLIMITED_MPS2,
            keep_velocity: 0.0,
            ..constants
        };
        let approach_by = if self.spec.jump { unlimited } else { constants };
        let goes_there =
            |columns: &[Column; COLUMNS], lane: usize| columns[body::SETPOINT_MODE][lane] == setpoint::POSITION;
        let count = (0..lanes.min(LANES)).filter(|lane| goes_there(columns, *lane)).count();
        let rounded = lanes.next_multiple_of(LANE_STEP).min(LANES);
        // a chunk is mostly of one mind, and a loop with both ways in it is not vectorised
        match count {
            0 => tick.simd.run(
                #[inline(always)]
                || drive_all(columns, rounded, &constants),
            ),
            count if count == lanes => tick.simd.run(
                #[inline(always)]
                || approach_all(columns, rounded, &approach_by),
            ),
            _ => (0..lanes.min(LANES)).for_each(|lane| match goes_there(columns, lane) {
                false => drive_one(columns, lane, &constants),
                true => approach_one(columns, lane, &approach_by),
            }),
        }
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        vec![("speed_max_mps", self.spec.speed_max_mps), ("turn_max_radps", self.spec.turn_max_radps)]
    }
}

#[inline(always)]
fn drive_all(columns: &mut [Column; COLUMNS], lanes: usize, constants: &Constants) {
    for lane in 0..lanes.min(LANES) {
        drive_one(columns, lane, constants);
    }
}

#[inline(always)]
fn approach_all(columns: &mut [Column; COLUMNS], lanes: usize, constants: &Constants) {
    for lane in 0..lanes.min(LANES) {
        approach_one(columns, lane, constants);
    }
}

/// Moves a robot that is not commanded to a position.
#[inline(always)]
fn drive_one(columns: &mut [Column; COLUMNS], lane: usize, constants: &Constants) {
    // standing is moving with a velocity of zero
    let moving = columns[body::SETPOINT_MODE][lane] == setpoint::VELOCITY;
    let wanted = select3(moving, body::vec3(columns, body::SETPOINT, lane), DVec3::ZERO);
    let turn = limit(select(moving, columns[body::SETPOINT + 3][lane], 0.0), constants.turn_max);
    let now = Body::load(columns, lane);
    now.moved(&drive(wanted, turn, &now, constants), constants).store(columns, lane);
}

/// Moves a robot that is commanded to a position.
#[inline(always)]
fn approach_one(columns: &mut [Column; COLUMNS], lane: usize, constants: &Constants) {
    let now = Body::load(columns, lane);
    let (east, north) = rigid::heading(now.orientation);
    let off = math::wrap_angle(columns[body::SETPOINT + 3][lane] - math::atan2(north, east));
    let turn = limit(off * constants.per_dt, constants.turn_max);
    let way = body::vec3(columns, body::SETPOINT, lane) - now.position;
    now.moved(&approach(way, turn, now.velocity, constants), constants).store(columns, lane);
}

impl Body {
    #[inline(always)]
    fn moved(&self, moved: &Move, constants: &Constants) -> Self {
        let (sine, cosine) = math::sin_cos(0.5 * constants.dt * moved.turn);
        let turned = rigid::product(DQuat::from_xyzw(0.0, 0.0, sine, cosine), self.orientation);
        Self {
            position: self.position + moved.step,
            orientation: rigid::renormalize(turned),
            velocity: moved.velocity * constants.keep_velocity,
            rate: DVec3::new(0.0, 0.0, moved.turn * constants.keep_velocity),
        }
    }
}

/// Moves with a velocity in the frame of the heading, which turns meanwhile.
#[inline(always)]
fn drive(wanted: DVec3, turn: f64, now: &Body, constants: &Constants) -> Move {
    let (east, north) = rigid::heading(now.orientation);
    let world = now.velocity;
    let velocity = DVec3::new(world.x * east + world.y * north, world.y * east - world.x * north, world.z);
    let gap = shorten(wanted, constants.speed_max) - velocity;
    let change_max = constants.accel_max * constants.dt;
    let change = shorten(gap, change_max);
    // a robot that arrives at its velocity within the tick accelerates only for this share of it
    let share = math::min(gap.dot(gap).sqrt() / change_max, 1.0);
    let last = velocity + change;
    let mean = last - change * (0.5 * share);

    let half_turn = 0.5 * constants.dt * turn;
    let (sine, cosine) = math::sin_cos(half_turn);
    let chord = constants.dt * math::sinc(half_turn);
    // the heading in the middle of the turn, and at its end
    let (east_mid, north_mid) = (east * cosine - north * sine, north * cosine + east * sine);
    let (east_last, north_last) = (east_mid * cosine - north_mid * sine, north_mid * cosine + east_mid * sine);
    let step_east = chord * (mean.x * east_mid - mean.y * north_mid);
    let step_north = chord * (mean.x * north_mid + mean.y * east_mid);
    let last_east = last.x * east_last - last.y * north_last;
    let last_north = last.x * north_last + last.y * east_last;
    Move {
        step: DVec3::new(step_east, step_north, constants.dt * mean.z),
        velocity: DVec3::new(last_east, last_north, last.z),
        turn,
    }
}

/// Moves towards a place that lies `way` off.
#[inline(always)]
fn approach(way: DVec3, turn: f64, velocity: DVec3, constants: &Constants) -> Move {
    let distance = way.dot(way).sqrt();
    // the speed v from which ticks of constant braking end at the place: v²/2a + v dt/2 = distance
    let brake = 0.5 * constants.accel_max * constants.dt;
    let braked =
        2.0 * constants.accel_max * distance / (brake + (brake * brake + 2.0 * constants.accel_max * distance).sqrt());
    let arriving = distance * constants.per_dt;
    let speed = math::min(math::min(braked, arriving), constants.speed_max);
    let wanted = way * (speed / math::max(distance, f64::MIN_POSITIVE));
    let gap = wanted - velocity;
    let change_max = constants.accel_max * constants.dt;
    let last = velocity + shorten(gap, change_max);
    // a last step is the way itself: rounded, it would miss the place by some bits
    let there = (speed >= arriving) & (gap.dot(gap) <= change_max * change_max);
    Move { step: select3(there, way, constants.dt * last), velocity: last, turn }
}

/// `v`, not longer than `length_max`.
#[inline(always)]
fn shorten(v: DVec3, length_max: f64) -> DVec3 {
    let length = v.dot(v).sqrt();
    // a quotient within a condition would be a branch; at length zero it is infinite, and the minimum 1
    v * math::min(length_max / length, 1.0)
}

#[inline(always)]
fn limit(x: f64, size_max: f64) -> f64 {
    rigid::bound(x, -size_max, size_max)
}

#[inline(always)]
fn select(first: bool, a: f64, b: f64) -> f64 {
    if first { a } else { b }
}

#[inline(always)]
fn select3(first: bool, a: DVec3, b: DVec3) -> DVec3 {
    DVec3::new(select(first, a.x, b.x), select(first, a.y, b.y), select(first, a.z, b.z))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flock, build, check_same_bits};
    use super::*;
    use muster_core::node::Value;

    fn flock(parameters: &[(&str, Value)]) -> Flock {
        Flock::new(build(&KIND, parameters), DVec3::ZERO)
    }

    #[test]
    fn one_metre_a_second_for_two_seconds_is_two_metres() {
        let mut flock = flock(&[]);
        flock.set(body::SETPOINT_MODE, &[setpoint::VELOCITY, 1.0]);
        flock.run(0.01, 200);
        assert!((flock.vec3(body::POSITION) - DVec3::new(2.0, 0.0, 0.0)).length() < 1e-9);
    }

    #[test]
    fn a_turning_velocity_is_an_exact_arc_for_any_tick() {
        for (dt_s, ticks) in [(0.1, 10), (1.0, 1)] {
            let mut flock = flock(&[]);
            flock.set(body::SETPOINT_MODE, &[setpoint::VELOCITY, 0.0, 1.0, 0.5, 2.0]);
            flock.run(dt_s, ticks);
            let (sine, cosine) = math::sin_cos(2.0);
            let expected = DVec3::new(0.5 * (cosine - 1.0), 0.5 * sine, 0.5);
            assert!((flock.vec3(body::POSITION) - expected).length() < 1e-9, "{}", flock.vec3(body::POSITION));
            let velocity = DVec3::new(-sine, cosine, 0.5);
            assert!((flock.vec3(body::VELOCITY) - velocity).length() < 1e-9);
            assert!((math::yaw_from_quat(flock.orientation()) - 2.0).abs() < 1e-12);
        }
    }

    #[test]
    fn acceleration_is_limited_exactly_for_any_tick() {
        for (dt_s, ticks) in [(0.01, 100), (1.0, 1)] {
            let mut flock = flock(&[("accel_max_mps2", Value::Number(4.0))]);
            flock.set(body::SETPOINT_MODE, &[setpoint::VELOCITY, 2.0]);
            flock.run(dt_s, ticks);
            // half a second to 2 m/s, then half a second at it
            assert!((flock.vec3(body::POSITION).x - 1.5).abs() < 1e-9, "{}", flock.vec3(body::POSITION));
        }
    }

    #[test]
    fn a_position_is_reached_at_the_greatest_speed_and_held_to_the_bit() {
        let mut flock = flock(&[("speed_max_mps", Value::Number(2.0))]);
        flock.set(body::SETPOINT_MODE, &[setpoint::POSITION, 3.0, 0.0, 4.0, 1.0]);
        flock.run(0.01, 200);
        assert!((flock.vec3(body::POSITION).length() - 4.0).abs() < 1e-9);
        flock.run(0.01, 55);
        assert_eq!(flock.vec3(body::POSITION), DVec3::new(3.0, 0.0, 4.0));
        assert_eq!(flock.vec3(body::VELOCITY).length(), 0.0);
        assert!((math::yaw_from_quat(flock.orientation()) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_limited_acceleration_brakes_in_time() {
        let parameters = [("speed_max_mps", Value::Number(5.0)), ("accel_max_mps2", Value::Number(2.0))];
        let mut flock = flock(&parameters);
        flock.set(body::SETPOINT_MODE, &[setpoint::POSITION, 10.0]);
        let mut farthest: f64 = 0.0;
        // up for half the way, down for the other half: 2 √(10 m / 2 m/s²) = 4.47 s, and some ticks
        for _ in 0..460 {
            flock.run(0.01, 1);
            farthest = farthest.max(flock.vec3(body::POSITION).x);
        }
        assert!(farthest < 10.0 + 1e-3, "{farthest}");
        assert!((flock.vec3(body::POSITION).x - 10.0).abs() < 1e-3, "{}", flock.vec3(body::POSITION));
    }

    #[test]
    fn a_jump_takes_one_tick_and_leaves_no_velocity() {
        let mut flock = flock(&[("jump", Value::Bool(true))]);
        flock.set(body::SETPOINT_MODE, &[setpoint::POSITION, 1e3, -1e3, 5.0, -2.0]);
        flock.run(0.01, 1);
        assert_eq!(flock.vec3(body::POSITION), DVec3::new(1e3, -1e3, 5.0));
        assert_eq!(flock.vec3(body::VELOCITY), DVec3::ZERO);
        assert!((math::yaw_from_quat(flock.orientation()) + 2.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_commanded_stands() {
        let mut flock = flock(&[]);
        flock.set_vec3(body::VELOCITY, DVec3::X);
        flock.run(0.01, 10);
        assert_eq!(flock.vec3(body::VELOCITY), DVec3::ZERO);
        assert!(flock.vec3(body::POSITION).length() < 1e-9);
    }

    #[test]
    fn robots_of_one_chunk_may_have_different_modes() {
        let run = |modes: [f64; 2]| {
            let mut flock = flock(&[]);
            flock.set(body::SETPOINT, &[0.5, 0.25, 0.0, 0.3]);
            flock.columns[body::SETPOINT_MODE] = std::array::from_fn(|lane| modes[lane % 2]);
            flock.run(0.01, 10);
            [0, 1].map(|lane| body::vec3(&flock.columns, body::POSITION, lane))
        };
        let [velocity, position] = [setpoint::VELOCITY, setpoint::POSITION].map(|mode| run([mode; 2])[0]);
        assert_eq!(run([setpoint::VELOCITY, setpoint::POSITION]), [velocity, position]);
    }

    #[test]
    fn registers_of_all_widths_give_the_same_bits() {
        for mode in [setpoint::NONE, setpoint::VELOCITY, setpoint::POSITION] {
            check_same_bits(&build(&KIND, &[("accel_max_mps2", Value::Number(1.0))]), mode, &[], 1.0);
        }
    }
}
