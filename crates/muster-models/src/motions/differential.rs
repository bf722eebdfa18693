//! A robot on two driven wheels that roll without slipping: `v = r (ω_R + ω_L)/2`, `ω = r (ω_R - ω_L)/b`.
//!
//! It moves in the plane and keeps its height. Wheels ramp to what is commanded within their acceleration, at constant
//! acceleration until they are there; the path of a tick is the arc of the tick's mean wheel speeds, taken as its chord
//! `v dt sinc(ω dt/2)` in the direction of half the turn, so a constant command is exact for any tick. Heading is read
//! from the orientation and turned by a quaternion, never kept twice, so others may set pose and heading.
//!
//! Setpoint modes: velocity (forward, and turn rate), direct (the inputs); in any other the robot stops.
//!
//! Defaults are those of a TurtleBot3 Burger (ROBOTIS e-Manual): wheels of 33 mm radius, 160 mm apart, 0.22 m/s,
//! 2.84 rad/s; the acceleration of its wheels is not given there and is a guess.

use super::planar::ramp;
use super::rigid;
use glam::{DQuat, DVec3};
use muster_core::component::{Kind, Motion, Tick, Turning, Wheel};
use muster_core::contact::Mobility;
use muster_core::lanes::{Column, LANE_STEP, LANES, Quantity, body, setpoint};
use muster_core::math;
use muster_core::spec::Spec;
use std::borrow::Cow;
use std::sync::Arc;

muster_core::spec! {
    /// A robot on two driven wheels. The defaults are those of a TurtleBot3 Burger.
    pub struct DifferentialSpec {
        /// Radius of the wheels.
        wheel_radius_m: f64 = 0.033, in 0.001..=10.0;
        /// From wheel to wheel.
        wheel_gap_m: f64 = 0.16, in 0.001..=100.0;
        /// The speed forward or backward that no robot exceeds.
        speed_max_mps: f64 = 0.22, in 0.001..=100.0;
        /// The turn rate that no robot exceeds.
        turn_max_radps: f64 = 2.84, in 0.001..=100.0;
        /// The greatest acceleration of a wheel.
        wheel_accel_max_radps2: f64 = 50.0, in 0.001..=1e9;
    }
}

/// The row of this kind.
pub const KIND: Kind<dyn Motion> = Kind {
    name: "differential",
    doc: "Two driven wheels on a plane, rolling without slip; inputs are wheel speeds.",
    fields: <DifferentialSpec as Spec>::FIELDS,
    build: &|node, path, also, problems| {
        Some(Arc::new(Differential::new(<DifferentialSpec as Spec>::read(node, path, also, problems)?)))
    },
};

const INPUTS: &[Quantity] = &[Quantity::one("wheel_left_radps"), Quantity::one("wheel_right_radps")];
const STATE: &[Quantity] = INPUTS;
const COMMAND: usize = body::COLUMNS;
const WHEELS: usize = COMMAND + 2;
const COLUMNS: usize = WHEELS + 2;

const ENCODED: &[Wheel] = &[
    Wheel { name: Cow::Borrowed("left"), turning: Turning::Rate(WHEELS) },
    Wheel { name: Cow::Borrowed("right"), turning: Turning::Rate(WHEELS + 1) },
];

/// The motion of a robot on two driven wheels.
#[derive(Debug, Clone)]
pub struct Differential {
    spec: DifferentialSpec,
}

/// What the kernel needs of specification and tick.
#[derive(Debug, Clone, Copy)]
struct Constants {
    half_radius: f64,
    per_radius: f64,
    radius_per_gap: f64,
    half_gap: f64,
    speed_max: f64,
    turn_max: f64,
    /// Greatest change of a wheel's speed in a tick.
    change_max: f64,
    dt: f64,
}

impl Differential {
    /// A robot with these parameters.
    pub fn new(spec: DifferentialSpec) -> Self {
        Self { spec }
    }
}

impl Motion for Differential {
    fn inputs(&self) -> &[Quantity] {
        INPUTS
    }

    fn state(&self) -> &[Quantity] {
        STATE
    }

    fn speed_max_mps(&self) -> f64 {
        self.spec.speed_max_mps
    }

    fn mobility(&self) -> Mobility {
        Mobility::Planar
    }

    fn start(&self, columns: &mut [Column], lane: usize) {
        let Some(columns) = columns.first_chunk_mut::<COLUMNS>() else { return };
        let velocity = body::vec3(columns, body::VELOCITY, lane);
        let forward = math::rotate_inverse(body::orientation(columns, lane), velocity).x;
        let wheel_radps =
            math::clamp(forward, -self.spec.speed_max_mps, self.spec.speed_max_mps) / self.spec.wheel_radius_m;
        for wheel in 0..2 {
            columns[COMMAND + wheel][lane] = 0.0;
            columns[WHEELS + wheel][lane] = wheel_radps;
        }
    }

    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>) {
        let Some(columns) = columns.first_chunk_mut() else { return };
        let spec = &self.spec;
        let constants = Constants {
            half_radius: 0.5 * spec.wheel_radius_m,
            per_radius: 1.0 / spec.wheel_radius_m,
            radius_per_gap: spec.wheel_radius_m / spec.wheel_gap_m,
            half_gap: 0.5 * spec.wheel_gap_m,
            speed_max: spec.speed_max_mps,
            turn_max: spec.turn_max_radps,
            change_max: spec.wheel_accel_max_radps2 * tick.dt_s,
            dt: tick.dt_s,
        };
        let lanes = lanes.next_multiple_of(LANE_STEP).min(LANES);
        tick.simd.run(
            #[inline(always)]
            || kernel(columns, lanes, &constants),
        );
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        let spec = &self.spec;
        vec![
            ("wheel_radius_m", spec.wheel_radius_m),
            ("wheel_gap_m", spec.wheel_gap_m),
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
        let left = ramp(columns[WHEELS][lane], left_target, constants.change_max);
        let right = ramp(columns[WHEELS + 1][lane], right_target, constants.change_max);
        columns[WHEELS][lane] = left.last;
        columns[WHEELS + 1][lane] = right.last;

        let (speed, turn) = twist(left.mean, right.mean, constants);
        let (speed_last, turn_last) = twist(left.last, right.last, constants);
        let half_turn = 0.5 * constants.dt * turn;
        let (sine, cosine) = math::sin_cos(half_turn);
        let chord = constants.dt * speed * math::sinc(half_turn);
        let before = body::orientation(columns, lane);
        let after = rigid::renormalize(rigid::product(DQuat::from_xyzw(0.0, 0.0, sine, cosine), before));
        let (east, north) = rigid::heading(before);
        let (east_last, north_last) = rigid::heading(after);

        columns[body::POSITION][lane] += chord * (east * cosine - north * sine);
        columns[body::POSITION + 1][lane] += chord * (north * cosine + east * sine);
        body::set_orientation(columns, lane, after);
        let velocity = DVec3::new(speed_last * east_last, speed_last * north_last, 0.0);
        body::set_vec3(columns, body::VELOCITY, lane, velocity);
        body::set_vec3(columns, body::ANGULAR_VELOCITY, lane, DVec3::new(0.0, 0.0, turn_last));
    }
}

/// The wheel speeds that are commanded, within the limits of speed and turn rate.
#[inline(always)]
fn targets(columns: &[Column; COLUMNS], lane: usize, constants: &Constants) -> (f64, f64) {
    let mode = columns[body::SETPOINT_MODE][lane];
    let (by_velocity, by_wheels) = (mode == setpoint::VELOCITY, mode == setpoint::DIRECT);
    let (speed_direct, turn_direct) = twist(columns[COMMAND][lane], columns[COMMAND + 1][lane], constants);
    let speed = if by_wheels { speed_direct } else { 0.0 };
    let turn = if by_wheels { turn_direct } else { 0.0 };
    let speed = if by_velocity { columns[body::SETPOINT][lane] } else { speed };
    let turn = if by_velocity { columns[body::SETPOINT + 3][lane] } else { turn };
    let speed = rigid::bound(speed, -constants.speed_max, constants.speed_max);
    let turn = rigid::bound(turn, -constants.turn_max, constants.turn_max);
    let outer = turn * constants.half_gap;
    ((speed - outer) * constants.per_radius, (speed + outer) * constants.per_radius)
}

/// Speed forward and turn rate.
#[inline(always)]
fn twist(left: f64, right: f64, constants: &Constants) -> (f64, f64) {
    (constants.half_radius * (right + left), constants.radius_per_gap * (right - left))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flock, build, check_same_bits};
    use super::*;
    use muster_core::node::Value;
    use std::f64::consts::PI;

    /// A robot whose wheels need no time to change speed.
    fn nimble() -> Flock {
        let parameters = [("wheel_accel_max_radps2", 1e9), ("speed_max_mps", 2.0), ("turn_max_radps", 5.0)];
        Flock::new(build(&KIND, &parameters.map(|(key, value)| (key, Value::Number(value)))), DVec3::ZERO)
    }

    fn command(flock: &mut Flock, speed: f64, turn: f64) {
        flock.set(body::SETPOINT_MODE, &[setpoint::VELOCITY, speed, 0.0, 0.0, turn]);
    }

    fn yaw(flock: &Flock) -> f64 {
        math::yaw_from_quat(flock.orientation())
    }

    #[test]
    fn straight_ahead_is_speed_times_time() {
        let mut flock = nimble();
        flock.set_vec3(body::POSITION, DVec3::new(0.0, 0.0, 0.7));
        command(&mut flock, 1.5, 0.0);
        flock.run(0.1, 20);
        assert!((flock.vec3(body::POSITION) - DVec3::new(3.0, 0.0, 0.7)).length() < 1e-7);
        assert!((flock.vec3(body::VELOCITY) - DVec3::new(1.5, 0.0, 0.0)).length() < 1e-12);
    }

    #[test]
    fn opposite_wheels_spin_in_place() {
        let mut flock = nimble();
        flock.set(body::SETPOINT_MODE, &[setpoint::DIRECT]);
        flock.set(COMMAND, &[-3.0, 3.0]);
        flock.run(0.1, 10);
        assert!((yaw(&flock) - 6.0 * 0.033 / 0.16).abs() < 1e-7, "{}", yaw(&flock));
        assert!(flock.vec3(body::POSITION).length() < 1e-12);
        assert!((flock.vec3(body::ANGULAR_VELOCITY).z - 6.0 * 0.033 / 0.16).abs() < 1e-12);
    }

    #[test]
    fn a_constant_command_drives_a_circle_exactly_for_any_tick() {
        for (dt_s, ticks) in [(0.1, 7), (0.01, 70), (0.7, 1)] {
            let mut flock = nimble();
            command(&mut flock, 1.0, 2.0);
            flock.run(dt_s, ticks);
            let (sine, cosine) = math::sin_cos(1.4);
            let expected = 0.5 * DVec3::new(sine, 1.0 - cosine, 0.0);
            let error = (flock.vec3(body::POSITION) - expected).length();
            assert!(error < 1e-6 * expected.length(), "{error}");
            assert!((yaw(&flock) - 1.4).abs() < 1e-6);
        }
    }

    #[test]
    fn wheels_ramp_at_constant_acceleration_for_any_tick() {
        for (dt_s, ticks) in [(0.01, 100), (0.5, 2), (1.0, 1)] {
            let parameters = [("wheel_accel_max_radps2", Value::Number(10.0)), ("speed_max_mps", Value::Number(1.0))];
            let mut flock = Flock::new(build(&KIND, &parameters), DVec3::ZERO);
            command(&mut flock, 0.033 * 4.0, 0.0);
            flock.run(dt_s, ticks);
            // 0.4 s of acceleration to 4 rad/s, then 0.6 s at it
            let expected = 0.033 * (0.5 * 10.0 * 0.16 + 4.0 * 0.6);
            assert!((flock.vec3(body::POSITION).x - expected).abs() < 1e-12, "{}", flock.vec3(body::POSITION));
        }
    }

    #[test]
    fn commands_are_limited_and_none_stops() {
        let mut flock = nimble();
        command(&mut flock, 9.0, -9.0);
        flock.run(0.1, 1);
        assert!((flock.vec3(body::VELOCITY).length() - 2.0).abs() < 1e-12);
        assert!((flock.vec3(body::ANGULAR_VELOCITY).z + 5.0).abs() < 1e-12);
        flock.set(body::SETPOINT_MODE, &[setpoint::NONE]);
        flock.run(0.1, 1);
        assert_eq!(flock.vec3(body::VELOCITY).length(), 0.0);
    }

    #[test]
    fn pose_set_by_others_is_where_the_robot_drives_on_from() {
        let mut flock = nimble();
        command(&mut flock, 1.0, 0.0);
        flock.run(0.1, 1);
        flock.set_vec3(body::POSITION, DVec3::new(5.0, 5.0, 0.0));
        for lane in 0..LANES {
            body::set_orientation(&mut flock.columns, lane, math::quat_from_yaw(0.5 * PI));
        }
        flock.run(0.1, 10);
        assert!((flock.vec3(body::POSITION) - DVec3::new(5.0, 6.0, 0.0)).length() < 1e-9);
    }

    #[test]
    fn registers_of_all_widths_give_the_same_bits() {
        for mode in [setpoint::NONE, setpoint::VELOCITY, setpoint::DIRECT] {
            check_same_bits(&build(&KIND, &[]), mode, &[(-9.0, 9.0); 2], 0.1);
        }
    }
}
