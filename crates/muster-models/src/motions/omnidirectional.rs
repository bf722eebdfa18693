//! A robot on wheels with rollers, which moves in any direction while it turns: omni wheels, whose rollers turn about
//! axes in the plane of the wheel, or mecanum wheels, whose rollers stand askew (45°).
//!
//! A wheel at (x, y) on the body that drives in direction β, with rollers whose axes at the ground stand at an angle γ
//! to that direction, holds the ground along the roller's axis `a = (cos(β+γ), sin(β+γ))` and lets it pass across. So
//! (R. Siegwart, I. Nourbakhsh and D. Scaramuzza, *Introduction to Autonomous Mobile Robots* (2011), section 3.2.3)
//!
//! ```text
//! φ̇ = (a_x (v − ω y) + a_y (u + ω x)) / (r cos γ)          v forward, u to the left
//! ```
//!
//! which for all wheels is `φ̇ = J ξ`. The motion of the body is the one that fits all wheels best by least squares,
//! `ξ = (JᵀJ)⁻¹Jᵀ φ̇`: exact where the wheels agree, as they always do under velocity setpoints.
//!
//! It moves in the plane and keeps its height. Limits of wheel speed, wheel acceleration, speed and turn rate scale all
//! wheels alike, so the direction that was commanded is kept. The path of a tick is the arc of its mean wheel speeds, so
//! a constant command is exact for any tick.
//!
//! Setpoint modes: velocity (forward, left, and turn rate), direct (the inputs); in any other the robot stops.
//!
//! Defaults are those of a KUKA youBot (its driver's configuration): mecanum wheels of 47.5 mm radius, 471 mm between
//! front and rear, 300 mm between left and right, 0.8 m/s; wheel speed and acceleration are guesses.

use super::planar::{self, Twist};
use glam::{DMat3, DVec3};
use muster_core::component::{Kind, Motion, Tick, Turning, Wheel};
use muster_core::contact::Mobility;
use muster_core::lanes::{Column, LANE_STEP, LANES, Quantity, body, setpoint};
use muster_core::math;
use muster_core::node::{Node, Problems};
use muster_core::spec::{Spec, below};
use std::borrow::Cow;
use std::sync::Arc;

muster_core::spec! {
    /// A wheel with rollers.
    pub struct RollerWheel {
        /// Where it touches the ground: forward and left of the body's origin.
        at_m: [f64; 2], in -100.0..=100.0;
        /// The direction in which it drives when it turns forward, counted from the body's forward direction.
        drive_deg: f64 = 0.0, in -360.0..=360.0;
        /// The angle from that direction to the axis of the roller on the ground: 0 for omni wheels, ±45 for mecanum.
        roller_deg: f64 = 0.0, in -80.0..=80.0;
    }
}

muster_core::spec! {
    /// A robot on wheels with rollers. The defaults are those of a KUKA youBot.
    pub struct OmnidirectionalSpec {
        /// The wheels, three to eight.
        wheels: Vec<RollerWheel> = youbot();
        /// Radius of the wheels.
        wheel_radius_m: f64 = 0.0475, in 0.001..=10.0;
        /// The greatest speed of a wheel.
        wheel_max_radps: f64 = 25.0, in 0.001..=1e6;
        /// The greatest acceleration of a wheel.
        wheel_accel_max_radps2: f64 = 50.0, in 0.001..=1e9;
        /// The speed that no robot exceeds.
        speed_max_mps: f64 = 0.8, in 0.001..=100.0;
        /// The turn rate that no robot exceeds.
        turn_max_radps: f64 = 1.5, in 0.001..=100.0;
    }
}

/// Front left, front right, rear left, rear right.
fn youbot() -> Vec<RollerWheel> {
    let at = |x: f64, y: f64, roller_deg: f64| RollerWheel { at_m: [x, y], drive_deg: 0.0, roller_deg };
    vec![at(0.2355, 0.15, -45.0), at(0.2355, -0.15, 45.0), at(-0.2355, 0.15, 45.0), at(-0.2355, -0.15, -45.0)]
}

/// The row of this kind.
pub const KIND: Kind<dyn Motion> = Kind {
    name: "omnidirectional",
    doc: "Omni or mecanum wheels: any direction while turning; inputs are wheel speeds.",
    fields: <OmnidirectionalSpec as Spec>::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <OmnidirectionalSpec as Spec>::read(node, path, also, problems)?;
        Some(Arc::new(Omnidirectional::new(spec, node, path, problems)?))
    },
};

/// The fewest and the most wheels.
const WHEELS_MIN: usize = 3;
const WHEELS_MAX: usize = 8;
const NAMES: [&str; WHEELS_MAX] = ["wheel0", "wheel1", "wheel2", "wheel3", "wheel4", "wheel5", "wheel6", "wheel7"];

/// Inputs and state for each number of wheels.
static INPUTS: [[Quantity; 1]; WHEELS_MAX + 1] = {
    let mut table = [[Quantity::one("wheel_radps")]; WHEELS_MAX + 1];
    let mut count = 0;
    while count <= WHEELS_MAX {
        table[count][0].len = count;
        count += 1;
    }
    table
};
static STATE: [[Quantity; 2]; WHEELS_MAX + 1] = {
    let mut table = [[Quantity::one("wheel_radps"), Quantity::one("wheel_angle_rad")]; WHEELS_MAX + 1];
    let mut count = 0;
    while count <= WHEELS_MAX {
        table[count][0].len = count;
        table[count][1].len = count;
        count += 1;
    }
    table
};

/// The motion of a robot on wheels with rollers.
#[derive(Debug, Clone)]
struct Omnidirectional {
    spec: OmnidirectionalSpec,
    /// Rows of J: the speed of each wheel by speed forward, speed to the left and turn rate.
    wheels_from_twist: Vec<DVec3>,
    /// Columns of J's left inverse: the twist by each wheel's speed.
    twist_from_wheels: Vec<DVec3>,
    encoded: Vec<Wheel>,
}

/// What the kernel needs of specification and tick.
#[derive(Debug, Clone, Copy)]
struct Constants<'a> {
    wheels_from_twist: &'a [DVec3],
    twist_from_wheels: &'a [DVec3],
    wheel_max: f64,
    speed_max: f64,
    turn_max: f64,
    /// Greatest change of a wheel's speed in a tick.
    change_max: f64,
    dt: f64,
}

/// How fast a wheel turns when the body moves along each axis.
fn row_of(wheel: &RollerWheel, radius_m: f64) -> DVec3 {
    let roller = wheel.roller_deg.to_radians();
    let (sine, cosine) = math::sin_cos(wheel.drive_deg.to_radians() + roller);
    let [x, y] = wheel.at_m;
    DVec3::new(cosine, sine, x * sine - y * cosine) / (radius_m * math::cos(roller))
}

/// Below this the wheels leave a direction undriven: the determinant of JᵀJ over the cube of its mean diagonal, with
/// turns counted by the distance of the wheels.
const SINGULAR: f64 = 1e-9;

impl Omnidirectional {
    fn new(spec: OmnidirectionalSpec, node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let count = spec.wheels.len();
        let place = node.get("wheels").map_or(node.place, |wheels| wheels.place);
        let mut refuse = |found: String, expected: &str| {
            problems.error(place, &below(path, "wheels"), found, expected);
            None
        };
        if !(WHEELS_MIN..=WHEELS_MAX).contains(&count) {
            return refuse(format!("{count} wheels"), "three to eight wheels");
        }
        let rows: Vec<DVec3> = spec.wheels.iter().map(|wheel| row_of(wheel, spec.wheel_radius_m)).collect();
        let arm = spec.wheels.iter().map(|wheel| math::hypot2(wheel.at_m[0], wheel.at_m[1])).fold(0.0, f64::max);
        // turns as the speed they give the outermost wheel, so that sizes do not matter
        let scaled = |row: &DVec3| DVec3::new(row.x, row.y, row.z / math::max(arm, 1e-9));
        let normal = |rows: &mut dyn Iterator<Item = DVec3>| {
            rows.fold(DMat3::ZERO, |sum, row| sum + DMat3::from_cols(row * row.x, row * row.y, row * row.z))
        };
        let measure = normal(&mut rows.iter().map(scaled));
        let mean = (measure.x_axis.x + measure.y_axis.y + measure.z_axis.z) / 3.0;
        if measure.determinant() < SINGULAR * mean * mean * mean {
            return refuse("wheels that leave a direction undriven".to_owned(), "wheels that drive in all directions");
        }
        let inverse = normal(&mut rows.iter().copied()).inverse();
        let encoded = NAMES.iter().take(count).enumerate();
        let first = body::COLUMNS + 2 * count;
        let encoded = encoded
            .map(|(at, name)| Wheel { name: Cow::Borrowed(name), turning: Turning::Angle(first + at) })
            .collect();
        let twist_from_wheels = rows.iter().map(|row| inverse * *row).collect();
        Some(Self { spec, wheels_from_twist: rows, twist_from_wheels, encoded })
    }

    fn count(&self) -> usize {
        self.encoded.len()
    }
}

impl Motion for Omnidirectional {
    fn inputs(&self) -> &'static [Quantity] {
        &INPUTS[self.count()]
    }

    fn state(&self) -> &'static [Quantity] {
        &STATE[self.count()]
    }

    fn speed_max_mps(&self) -> f64 {
        self.spec.speed_max_mps
    }

    fn mobility(&self) -> Mobility {
        Mobility::Planar
    }

    fn start(&self, columns: &mut [Column], lane: usize) {
        let velocity =
            math::rotate_inverse(body::orientation(columns, lane), body::vec3(columns, body::VELOCITY, lane));
        let twist = DVec3::new(velocity.x, velocity.y, 0.0).clamp_length_max(self.spec.speed_max_mps);
        let (_, columns) = columns.split_at_mut(body::COLUMNS);
        columns.iter_mut().for_each(|column| column[lane] = 0.0);
        for (column, row) in columns[self.count()..].iter_mut().zip(&self.wheels_from_twist) {
            column[lane] = row.dot(twist);
        }
    }

    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>) {
        let Some((body, rest)) = columns.split_first_chunk_mut() else { return };
        let (command, state) = rest.split_at_mut(self.count());
        let (speeds, angles) = state.split_at_mut(self.count());
        let constants = Constants {
            wheels_from_twist: &self.wheels_from_twist,
            twist_from_wheels: &self.twist_from_wheels,
            wheel_max: self.spec.wheel_max_radps,
            speed_max: self.spec.speed_max_mps,
            turn_max: self.spec.turn_max_radps,
            change_max: self.spec.wheel_accel_max_radps2 * tick.dt_s,
            dt: tick.dt_s,
        };
        let lanes = lanes.next_multiple_of(LANE_STEP).min(LANES);
        tick.simd.run(
            #[inline(always)]
            || kernel(body, (command, speeds, angles), lanes, &constants),
        );
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        let spec = &self.spec;
        vec![
            ("wheel_radius_m", spec.wheel_radius_m),
            ("wheel_max_radps", spec.wheel_max_radps),
            ("speed_max_mps", spec.speed_max_mps),
            ("turn_max_radps", spec.turn_max_radps),
        ]
    }

    fn wheels(&self) -> &[Wheel] {
        &self.encoded
    }
}

/// Commands, speeds and angles of the wheels.
type Wheels<'a> = (&'a [Column], &'a mut [Column], &'a mut [Column]);

#[inline(always)]
fn kernel(
    body: &mut [Column; body::COLUMNS],
    (command, speeds, angles): Wheels<'_>,
    lanes: usize,
    constants: &Constants<'_>,
) {
    let lanes = lanes.min(LANES);
    let mut targets: [Column; WHEELS_MAX] = [[0.0; LANES]; WHEELS_MAX];
    aim(body, command, &mut targets, (lanes, constants));
    let (mut last, mut mean) = ([[0.0; LANES]; 3], [[0.0; LANES]; 3]);
    let (mut share, mut scale): (Column, Column) = ([0.0; LANES], [0.0; LANES]);
    for (target, speed) in targets.iter().zip(&*speeds) {
        for lane in 0..lanes {
            share[lane] = math::max(share[lane], (target[lane] - speed[lane]).abs());
        }
    }
    for lane in 0..lanes {
        // all wheels arrive together: the one with the longest way sets the pace
        let way = share[lane] / constants.change_max;
        scale[lane] = 1.0 / math::max(way, 1.0);
        share[lane] = math::min(way, 1.0);
    }
    for (at, (speed, angle)) in speeds.iter_mut().zip(angles).enumerate() {
        let by = constants.twist_from_wheels[at];
        for lane in 0..lanes {
            let gap = targets[at][lane] - speed[lane];
            let arrives = scale[lane] == 1.0;
            let end = if arrives { targets[at][lane] } else { speed[lane] + scale[lane] * gap };
            let middle = end - 0.5 * share[lane] * (end - speed[lane]);
            speed[lane] = end;
            angle[lane] += constants.dt * middle;
            for (axis, by) in [by.x, by.y, by.z].into_iter().enumerate() {
                last[axis][lane] += by * end;
                mean[axis][lane] += by * middle;
            }
        }
    }
    for lane in 0..lanes {
        let of = |twist: &[Column; 3]| Twist { forward: twist[0][lane], left: twist[1][lane], turn: twist[2][lane] };
        planar::drive(body, lane, (of(&mean), of(&last)), constants.dt);
    }
}

/// The wheel speeds that are commanded, all scaled alike to be within the limits.
#[inline(always)]
fn aim(
    body: &[Column; body::COLUMNS],
    command: &[Column],
    targets: &mut [Column; WHEELS_MAX],
    (lanes, constants): (usize, &Constants<'_>),
) {
    let (mut twist, mut most): ([Column; 3], Column) = ([[0.0; LANES]; 3], [0.0; LANES]);
    for (at, (row, by)) in constants.wheels_from_twist.iter().zip(constants.twist_from_wheels).enumerate() {
        for lane in 0..lanes {
            let mode = body[body::SETPOINT_MODE][lane];
            let (forward, left) = (body[body::SETPOINT][lane], body[body::SETPOINT + 1][lane]);
            let asked = row.x * forward + row.y * left + row.z * body[body::SETPOINT + 3][lane];
            let target = if mode == setpoint::DIRECT { command[at][lane] } else { 0.0 };
            let target = if mode == setpoint::VELOCITY { asked } else { target };
            targets[at][lane] = target;
            most[lane] = math::max(most[lane], target.abs());
            twist[0][lane] += by.x * target;
            twist[1][lane] += by.y * target;
            twist[2][lane] += by.z * target;
        }
    }
    for lane in 0..lanes {
        let speed = math::hypot2(twist[0][lane], twist[1][lane]);
        // a quotient of zero is infinite, and the minimum 1
        let scale = math::min(constants.wheel_max / most[lane], constants.speed_max / speed);
        let scale = math::min(scale, constants.turn_max / twist[2][lane].abs());
        most[lane] = math::min(scale, 1.0);
    }
    for target in targets.iter_mut().take(constants.wheels_from_twist.len()) {
        for lane in 0..lanes {
            target[lane] *= most[lane];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flock, build, check_same_bits};
    use super::*;
    use muster_core::node::Value;

    fn wheel(x: f64, y: f64, drive_deg: f64) -> Node {
        let mut node = Node::default();
        node.set("at_m", Node::of(Value::List([x, y].map(|value| Node::of(Value::Number(value))).to_vec())));
        node.set("drive_deg", Node::of(Value::Number(drive_deg)));
        node
    }

    /// Three omni wheels at 0.2 m around the origin, each driving along the circle.
    fn three() -> (&'static str, Value) {
        let wheels = [60.0_f64, 180.0, 300.0].map(|deg| {
            let (sine, cosine) = math::sin_cos(deg.to_radians());
            wheel(0.2 * cosine, 0.2 * sine, deg + 90.0 - 360.0)
        });
        ("wheels", Value::List(wheels.to_vec()))
    }

    /// A robot whose wheels need no time to change speed, with these parameters.
    fn nimble(parameters: &[(&'static str, Value)]) -> Flock {
        let quick = [
            ("wheel_accel_max_radps2", 1e9),
            ("wheel_max_radps", 1e6),
            ("speed_max_mps", 10.0),
            ("turn_max_radps", 10.0),
        ];
        let mut given = quick.map(|(key, value)| (key, Value::Number(value))).to_vec();
        given.extend_from_slice(parameters);
        Flock::new(build(&KIND, &given), DVec3::ZERO)
    }

    fn command(flock: &mut Flock, forward: f64, left: f64, turn: f64) {
        flock.set(body::SETPOINT_MODE, &[setpoint::VELOCITY, forward, left, 0.0, turn]);
    }

    fn wheels(flock: &Flock, count: usize) -> Vec<f64> {
        flock.columns[body::COLUMNS + count..][..count].iter().map(|column| column[0]).collect()
    }

    #[test]
    fn mecanum_wheels_turn_as_the_textbook_says() {
        let mut flock = nimble(&[]);
        let (v, u, w) = (0.5, -0.2, 0.7);
        command(&mut flock, v, u, w);
        flock.run(0.01, 1);
        let (arm, r) = (0.2355 + 0.15, 0.0475);
        let expected = [v - u - arm * w, v + u + arm * w, v + u - arm * w, v - u + arm * w].map(|speed| speed / r);
        for (found, expected) in wheels(&flock, 4).into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn a_pure_strafe_goes_straight_to_the_side() {
        for shape in [vec![], vec![three()]] {
            let mut flock = nimble(&shape);
            command(&mut flock, 0.0, 0.5, 0.0);
            flock.run(0.1, 20);
            assert!((flock.vec3(body::POSITION) - DVec3::new(0.0, 1.0, 0.0)).length() < 1e-7);
            assert!(flock.yaw().abs() < 1e-12);
        }
    }

    #[test]
    fn wheel_speeds_and_motion_are_inverse_to_each_other() {
        for (shape, count) in [(vec![], 4), (vec![three()], 3)] {
            let mut flock = nimble(&shape);
            command(&mut flock, 0.3, -0.4, 0.6);
            flock.run(0.01, 1);
            let speeds = wheels(&flock, count);
            let mut other = nimble(&shape);
            other.set(body::SETPOINT_MODE, &[setpoint::DIRECT]);
            other.set(body::COLUMNS, &speeds);
            other.run(0.01, 1);
            let velocity = math::rotate_inverse(other.orientation(), other.vec3(body::VELOCITY));
            assert!((velocity - DVec3::new(0.3, -0.4, 0.0)).length() < 1e-9, "{velocity}");
            assert!((other.vec3(body::ANGULAR_VELOCITY).z - 0.6).abs() < 1e-9);
        }
    }

    #[test]
    fn wheels_that_disagree_move_the_body_by_least_squares() {
        let mut flock = nimble(&[]);
        flock.set(body::SETPOINT_MODE, &[setpoint::DIRECT]);
        // diagonal wheels against each other: no motion of the body explains any of it
        flock.set(body::COLUMNS, &[1.0, 1.0, -1.0, -1.0]);
        flock.run(0.01, 10);
        assert!(flock.vec3(body::POSITION).length() < 1e-12 && flock.yaw().abs() < 1e-12);
    }

    #[test]
    fn a_constant_command_is_an_exact_arc_for_any_tick() {
        for (dt_s, ticks) in [(0.7, 1), (0.1, 7), (0.001, 700)] {
            let mut flock = nimble(&[three()]);
            command(&mut flock, 0.8, 0.3, 2.0);
            flock.run(dt_s, ticks);
            let (sine, cosine) = math::sin_cos(1.4);
            let expected = 0.5 * DVec3::new(0.8 * sine - 0.3 * (1.0 - cosine), 0.8 * (1.0 - cosine) + 0.3 * sine, 0.0);
            let error = (flock.vec3(body::POSITION) - expected).length();
            assert!(error < 1e-6, "{error} m off in ticks of {dt_s} s");
            assert!((flock.yaw() - 1.4).abs() < 1e-6);
        }
    }

    #[test]
    fn every_limit_keeps_the_direction() {
        let limits = [("wheel_max_radps", 3.0), ("speed_max_mps", 0.05), ("turn_max_radps", 0.01)];
        for (key, value) in limits {
            let mut flock = nimble(&[(key, Value::Number(value))]);
            command(&mut flock, 0.6, -0.9, 0.5);
            flock.run(0.01, 1);
            let velocity = math::rotate_inverse(flock.orientation(), flock.vec3(body::VELOCITY));
            let turn = flock.vec3(body::ANGULAR_VELOCITY).z;
            let share = turn / 0.5;
            assert!((velocity - share * DVec3::new(0.6, -0.9, 0.0)).length() < 1e-9, "{key}: {velocity}");
            let most = wheels(&flock, 4).into_iter().map(f64::abs).fold(0.0, f64::max);
            let reached = [most, velocity.length(), turn][limits.iter().position(|limit| limit.0 == key).expect("one")];
            assert!((reached / value - 1.0).abs() < 1e-9, "{key}: {reached}");
        }
    }

    #[test]
    fn wheels_accelerate_together_and_exactly_for_any_tick() {
        for (dt_s, ticks) in [(0.01, 100), (0.5, 2), (1.0, 1)] {
            let mut flock = nimble(&[("wheel_accel_max_radps2", Value::Number(10.0))]);
            command(&mut flock, 0.0475 * 4.0, 0.0, 0.0);
            flock.run(dt_s, ticks);
            // 0.4 s of acceleration to 4 rad/s, then 0.6 s at it
            let turned = 0.5 * 10.0 * 0.16 + 4.0 * 0.6;
            let found = flock.vec3(body::POSITION).x;
            assert!((found - 0.0475 * turned).abs() < 1e-9, "{found}");
            assert!((flock.columns[body::COLUMNS + 8][0] - turned).abs() < 1e-9);
        }
    }

    #[test]
    fn wheels_that_leave_a_direction_undriven_are_refused() {
        for (wheels, words) in [
            (vec![wheel(1.0, 0.0, 0.0), wheel(-1.0, 0.5, 0.0), wheel(-1.0, -0.5, 0.0)], "undriven"),
            (vec![wheel(1.0, 0.0, 0.0), wheel(0.0, 1.0, 90.0)], "2 wheels"),
        ] {
            let mut node = Node::default();
            node.set("wheels", Node::of(Value::List(wheels)));
            let mut problems = Problems::default();
            assert!((KIND.build)(&node, "motion", &[], &mut problems).is_none());
            let text = problems.list()[0].to_string();
            assert!(text.contains("motion.wheels") && text.contains(words), "{text}");
        }
    }

    #[test]
    fn registers_of_all_widths_give_the_same_bits() {
        for mode in [setpoint::NONE, setpoint::VELOCITY, setpoint::DIRECT] {
            check_same_bits(&build(&KIND, &[]), mode, &[(-9.0, 9.0); 4], 0.1);
            check_same_bits(&build(&KIND, &[three()]), mode, &[(-9.0, 9.0); 3], 0.1);
        }
    }
}
