//! A base moved from outside: it does what it is told, within limits of speed, turn rate and acceleration, and has no
//! memory beyond its body, so it is the cheapest robot there is.
//!
//! Setpoint modes: velocity (forward, left and up in the frame of the heading, and turn rate; a constant command gives
//! an exact arc for any tick), position (x, y, z and heading in the world; goes there in a straight line and brakes in
//! time, or jumps); in any other the robot stops.

use super::rigid;
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
    build: |node, path, also, problems| {
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

/// What the kernel needs of specification and tick.
#[derive(Debug, Clone, Copy)]
struct Constants {
    speed_max: f64,
    turn_max: f64,
    accel_max: f64,
    jump: bool,
    dt: f64,
    per_dt: f64,
}

/// What one robot does in a tick.
#[derive(Debug, Clone, Copy)]
struct Move {
    step: DVec3,
    velocity: DVec3,
}

impl Point {
    /// A base with these parameters.
    pub fn new(spec: PointSpec) -> Self {
        Self { spec }
    }
}

impl Motion for Point {
    fn inputs(&self) -> &'static [Quantity] {
        &[]
    }

    fn state(&self) -> &'static [Quantity] {
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
            jump: self.spec.jump,
            dt: tick.dt_s,
            per_dt: 1.0 / tick.dt_s,
        };
        let lanes = lanes.next_multiple_of(LANE_STEP).min(LANES);
        tick.simd.run(
            #[inline(always)]
            || kernel(columns, lanes, &constants),
        );
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        vec![("speed_max_mps", self.spec.speed_max_mps), ("turn_max_radps", self.spec.turn_max_radps)]
    }
}

#[inline(always)]
fn kernel(columns: &mut [Column; COLUMNS], lanes: usize, constants: &Constants) {
    for lane in 0..lanes.min(LANES) {
        let mode = columns[body::SETPOINT_MODE][lane];
        let (by_velocity, by_position) = (mode == setpoint::VELOCITY, mode == setpoint::POSITION);
        let command = body::vec3(columns, body::SETPOINT, lane);
        let turn_command = columns[body::SETPOINT + 3][lane];
        let position = body::vec3(columns, body::POSITION, lane);
        let velocity = body::vec3(columns, body::VELOCITY, lane);
        let before = body::orientation(columns, lane);
        let (east, north) = heading(before);

        let misled = math::wrap_angle(turn_command - math::atan2(north, east)) * constants.per_dt;
        let turn_towards = if constants.jump { misled } else { limit(misled, constants.turn_max) };
        let turn = if by_velocity { limit(turn_command, constants.turn_max) } else { 0.0 };
        let turn = if by_position { turn_towards } else { turn };
        let half_turn = 0.5 * constants.dt * turn;
        let (sine, cosine) = math::sin_cos(half_turn);

        // standing is moving with a velocity of zero
        let wanted = select(by_velocity, command, DVec3::ZERO);
        let along = drive(wanted, velocity, ((east, north), (sine, cosine), math::sinc(half_turn)), constants);
        let towards = approach(command - position, velocity, constants);
        let after = rigid::renormalize(rigid::product(DQuat::from_xyzw(0.0, 0.0, sine, cosine), before));
        body::set_vec3(columns, body::POSITION, lane, position + select(by_position, towards.step, along.step));
        body::set_vec3(columns, body::VELOCITY, lane, select(by_position, towards.velocity, along.velocity));
        body::set_orientation(columns, lane, after);
        body::set_vec3(columns, body::ANGULAR_VELOCITY, lane, DVec3::new(0.0, 0.0, turn));
    }
}

/// Moves with a velocity in the frame of the heading, which turns meanwhile.
#[inline(always)]
fn drive(
    wanted: DVec3,
    velocity: DVec3,
    ((east, north), (sine, cosine), ratio): ((f64, f64), (f64, f64), f64),
    constants: &Constants,
) -> Move {
    let now = DVec3::new(velocity.x * east + velocity.y * north, velocity.y * east - velocity.x * north, velocity.z);
    let gap = shorten(wanted, constants.speed_max) - now;
    let change_max = constants.accel_max * constants.dt;
    let size = gap.dot(gap).sqrt();
    // a robot that arrives at its velocity within the tick accelerates only for this share of it
    let share = math::min(size / change_max, 1.0);
    let change = gap * (if size > change_max { change_max / size } else { 1.0 });
    let last = now + change;
    let mean = last - change * (0.5 * share);
    // the heading in the middle of the turn, and at its end
    let (east_mid, north_mid) = (east * cosine - north * sine, north * cosine + east * sine);
    let (east_last, north_last) = (east_mid * cosine - north_mid * sine, north_mid * cosine + east_mid * sine);
    let chord = constants.dt * ratio;
    Move {
        step: DVec3::new(
            chord * (mean.x * east_mid - mean.y * north_mid),
            chord * (mean.x * north_mid + mean.y * east_mid),
            constants.dt * mean.z,
        ),
        velocity: DVec3::new(
            last.x * east_last - last.y * north_last,
            last.x * north_last + last.y * east_last,
            last.z,
        ),
    }
}

/// Moves towards a place that lies `way` off.
#[inline(always)]
fn approach(way: DVec3, velocity: DVec3, constants: &Constants) -> Move {
    let distance = way.dot(way).sqrt();
    // the speed v from which ticks of constant braking end at the place: v²/2a + v dt/2 = distance
    let brake = 0.5 * constants.accel_max * constants.dt;
    let braked =
        2.0 * constants.accel_max * distance / (brake + (brake * brake + 2.0 * constants.accel_max * distance).sqrt());
    let arriving = distance * constants.per_dt;
    let speed = math::min(math::min(braked, arriving), constants.speed_max);
    let wanted = way * (if distance > 0.0 { speed / distance } else { 0.0 });
    let gap = wanted - velocity;
    let change_max = constants.accel_max * constants.dt;
    let last = velocity + shorten(gap, change_max);
    // a last step is the way itself: rounded, it would miss the place by some bits
    let there = constants.jump | ((speed >= arriving) & (gap.dot(gap) <= change_max * change_max));
    Move { step: select(there, way, constants.dt * last), velocity: select(constants.jump, DVec3::ZERO, last) }
}

/// `v`, not longer than `length_max`.
#[inline(always)]
fn shorten(v: DVec3, length_max: f64) -> DVec3 {
    let length = v.dot(v).sqrt();
    v * (if length > length_max { length_max / length } else { 1.0 })
}

#[inline(always)]
fn limit(x: f64, size_max: f64) -> f64 {
    rigid::bound(x, -size_max, size_max)
}

#[inline(always)]
fn select(first: bool, a: DVec3, b: DVec3) -> DVec3 {
    DVec3::new(if first { a.x } else { b.x }, if first { a.y } else { b.y }, if first { a.z } else { b.z })
}

/// Where the body's x axis points in the plane.
#[inline(always)]
fn heading(q: DQuat) -> (f64, f64) {
    (1.0 - 2.0 * (q.y * q.y + q.z * q.z), 2.0 * (q.x * q.y + q.w * q.z))
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
    fn registers_of_all_widths_give_the_same_bits() {
        for mode in [setpoint::NONE, setpoint::VELOCITY, setpoint::POSITION] {
            check_same_bits(&build(&KIND, &[("accel_max_mps2", Value::Number(1.0))]), mode, &[], 1.0);
        }
    }
}
