//! A car: two driven rear wheels, two front wheels steered so that all four roll without slipping about one centre on
//! the line of the rear axle (Ackermann's geometry). The motion is that of the bicycle in its middle, at the rear axle:
//!
//! ```text
//! κ = tan δ / L          ω = κ v          tan δ_left = L κ / (1 − κ w/2)          tan δ_right = L κ / (1 + κ w/2)
//! ```
//!
//! with wheelbase L, track w and the bicycle's steering angle δ. See R. Rajamani, *Vehicle Dynamics and Control*
//! (2012), sections 2.2 and 2.4. It moves in the plane and keeps its height. Steering angle and speed ramp at constant
//! rates; the path of a tick is the arc of the tick's mean speed and steering, so a constant command is exact for any
//! tick. A car that is to go the other way brakes first, and stands at the end of the tick in which it stops.
//!
//! Setpoint modes: velocity (forward, and turn rate: the steering angle is that of the commanded path, `ω/v`, whatever
//! the speed is now, so a car that still accelerates is on that path already; a turn rate without a speed turns the
//! wheels to their stop), steer_force, direct (the inputs); in any other the car brakes and keeps its steering.
//!
//! Under forces the speed obeys `m dv/dt = F − ½ ρ (c_d A) v |v| − (F_brake + c_r m g) sign v`; brakes and rolling
//! resistance hold a car that stands. Forces are limited to what the limits of acceleration and braking allow.
//!
//! Defaults are those of a compact car. Rolling resistance and drag area are typical of such cars (Bosch *Automotive
//! Handbook*, "Motor-vehicle dynamics"); the other numbers are round guesses for the class, not of one model.

use super::planar::{self, Ramp, Twist};
use super::rigid;
use muster_core::component::{Kind, Motion, Tick, Turning, Wheel};
use muster_core::contact::Mobility;
use muster_core::lanes::{Column, LANE_STEP, LANES, Quantity, body, setpoint};
use muster_core::math;
use muster_core::node::{Node, Problems};
use muster_core::spec::{Spec, below};
use std::borrow::Cow;
use std::sync::Arc;

muster_core::spec! {
    /// A car. The defaults are those of a compact car.
    pub struct AckermannSpec {
        /// From the rear to the front axle.
        wheelbase_m: f64 = 2.6, in 0.001..=100.0;
        /// From the left to the right wheels.
        track_m: f64 = 1.5, in 0.001..=100.0;
        /// Radius of the wheels.
        wheel_radius_m: f64 = 0.31, in 0.001..=10.0;
        /// How far the rear axle is behind the body's origin; half of the wheelbase if not written.
        rear_axle_m: Option<f64>, in 0.0..=100.0;
        /// The greatest steering angle, of a wheel in the middle between the front wheels.
        steering_max_rad: f64 = 0.6, in 0.001..=1.5;
        /// The greatest rate of the steering angle.
        steering_rate_max_radps: f64 = 0.8, in 0.001..=1e6;
        /// The speed forward that no car exceeds.
        speed_max_mps: f64 = 20.0, in 0.001..=200.0;
        /// The speed backward that no car exceeds.
        reverse_max_mps: f64 = 5.0, in 0.001..=200.0;
        /// The greatest acceleration.
        accel_max_mps2: f64 = 3.0, in 0.001..=1e6;
        /// The greatest deceleration.
        brake_max_mps2: f64 = 8.0, in 0.001..=1e6;
        /// Mass, for setpoints of force.
        mass_kg: f64 = 1300.0, in 0.001..=1e6;
        /// Rolling resistance divided by weight, for setpoints of force.
        rolling_resistance: f64 = 0.012, in 0.0..=1.0;
        /// Drag coefficient times frontal area, for setpoints of force.
        drag_area_m2: f64 = 0.65, in 0.0..=100.0;
    }
}

/// The row of this kind.
pub const KIND: Kind<dyn Motion> = Kind {
    name: "ackermann",
    doc: "A car with Ackermann steering, rolling without slip; inputs are steering angle and speed.",
    fields: <AckermannSpec as Spec>::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <AckermannSpec as Spec>::read(node, path, also, problems)?;
        check(&spec, node, path, problems)?;
        Some(Arc::new(Ackermann::new(spec)))
    },
};

/// The centre of the tightest turn lies outside of the car, or the inner wheel would have to roll backwards.
fn check(spec: &AckermannSpec, node: &Node, path: &str, problems: &mut Problems) -> Option<()> {
    let largest = math::atan2(spec.wheelbase_m, 0.5 * spec.track_m);
    if spec.steering_max_rad < largest {
        return Some(());
    }
    let place = node.get("steering_max_rad").map_or(node.place, |value| value.place);
    let expected = format!("less than {largest:.3} rad for this wheelbase and track");
    problems.error(place, &below(path, "steering_max_rad"), spec.steering_max_rad.to_string(), expected);
    None
}

const INPUTS: &[Quantity] = &[Quantity::one("steering_rad"), Quantity::one("speed_mps")];
const STATE: &[Quantity] = &[
    Quantity::one("steering_rad"),
    Quantity::one("speed_mps"),
    Quantity::many("front_steering_rad", 2),
    Quantity::many("wheel_angle_rad", 4),
];
const COMMAND: usize = body::COLUMNS;
const STEERING: usize = COMMAND + 2;
const SPEED: usize = STEERING + 1;
/// Angles of the left and the right front wheel.
const FRONT: usize = SPEED + 1;
/// How far the wheels have turned: rear left, rear right, front left, front right.
const WHEELS: usize = FRONT + 2;
const COLUMNS: usize = WHEELS + 4;

const ENCODED: &[Wheel] = &[
    Wheel { name: Cow::Borrowed("rear_left"), turning: Turning::Angle(WHEELS) },
    Wheel { name: Cow::Borrowed("rear_right"), turning: Turning::Angle(WHEELS + 1) },
    Wheel { name: Cow::Borrowed("front_left"), turning: Turning::Angle(WHEELS + 2) },
    Wheel { name: Cow::Borrowed("front_right"), turning: Turning::Angle(WHEELS + 3) },
];

/// Specific gas constant of dry air, J/(kg K).
const GAS_JPKGK: f64 = 287.052_87;

/// The motion of a car.
#[derive(Debug, Clone)]
pub struct Ackermann {
    spec: AckermannSpec,
    rear_axle_m: f64,
}

/// What the kernel needs of specification and tick.
#[derive(Debug, Clone, Copy)]
struct Constants {
    wheelbase: f64,
    per_wheelbase: f64,
    half_track: f64,
    per_radius: f64,
    rear_axle: f64,
    steering_max: f64,
    /// Greatest change of the steering angle in a tick.
    steering_change: f64,
    speed_max: f64,
    reverse_max: f64,
    /// Greatest gain and loss of speed in a tick.
    gain_max: f64,
    loss_max: f64,
    /// Change of speed in a tick by a newton.
    per_force: f64,
    /// Loss of speed in a tick by rolling.
    rolling: f64,
    /// Change of speed in a tick by drag, over the square of the speed.
    drag: f64,
    dt: f64,
}

impl Ackermann {
    /// A car with these parameters.
    pub fn new(spec: AckermannSpec) -> Self {
        let rear_axle_m = spec.rear_axle_m.unwrap_or(0.5 * spec.wheelbase_m);
        Self { spec, rear_axle_m }
    }

    fn turn_max_per_m(&self) -> f64 {
        math::tan(self.spec.steering_max_rad) / self.spec.wheelbase_m
    }

    fn constants_of(&self, tick: &Tick<'_>) -> Constants {
        let (spec, air) = (&self.spec, tick.environment);
        let density = air.sea_level_pressure_pa / (GAS_JPKGK * air.sea_level_temperature_k);
        let per_force = tick.dt_s / spec.mass_kg;
        Constants {
            wheelbase: spec.wheelbase_m,
            per_wheelbase: 1.0 / spec.wheelbase_m,
            half_track: 0.5 * spec.track_m,
            per_radius: 1.0 / spec.wheel_radius_m,
            rear_axle: self.rear_axle_m,
            steering_max: spec.steering_max_rad,
            steering_change: spec.steering_rate_max_radps * tick.dt_s,
            speed_max: spec.speed_max_mps,
            reverse_max: spec.reverse_max_mps,
            gain_max: spec.accel_max_mps2 * tick.dt_s,
            loss_max: spec.brake_max_mps2 * tick.dt_s,
            per_force,
            rolling: spec.rolling_resistance * air.gravity_mps2.length() * tick.dt_s,
            drag: 0.5 * density * spec.drag_area_m2 * per_force,
            dt: tick.dt_s,
        }
    }
}

impl Motion for Ackermann {
    fn turns_in_place(&self) -> bool {
        false
    }

    fn inputs(&self) -> &'static [Quantity] {
        INPUTS
    }

    fn state(&self) -> &'static [Quantity] {
        STATE
    }

    /// Of the body's origin, which is not on the rear axle and so moves sideways in turns.
    fn speed_max_mps(&self) -> f64 {
        let swing = self.turn_max_per_m() * self.rear_axle_m;
        math::max(self.spec.speed_max_mps, self.spec.reverse_max_mps) * math::hypot2(1.0, swing)
    }

    fn mobility(&self) -> Mobility {
        Mobility::Planar
    }

    fn start(&self, columns: &mut [Column], lane: usize) {
        let Some(columns) = columns.first_chunk_mut::<COLUMNS>() else { return };
        let forward = planar::forward_speed(columns, lane);
        columns[COMMAND..].iter_mut().for_each(|column| column[lane] = 0.0);
        columns[SPEED][lane] = math::clamp(forward, -self.spec.reverse_max_mps, self.spec.speed_max_mps);
    }

    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>) {
        let Some(columns) = columns.first_chunk_mut() else { return };
        let constants = self.constants_of(tick);
        let lanes = lanes.next_multiple_of(LANE_STEP).min(LANES);
        tick.simd.run(
            #[inline(always)]
            || kernel(columns, lanes, &constants),
        );
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        let spec = &self.spec;
        vec![
            ("wheelbase_m", spec.wheelbase_m),
            ("track_m", spec.track_m),
            ("wheel_radius_m", spec.wheel_radius_m),
            ("rear_axle_m", self.rear_axle_m),
            ("speed_max_mps", spec.speed_max_mps),
            ("steering_max_rad", spec.steering_max_rad),
            ("turn_radius_min_m", 1.0 / self.turn_max_per_m()),
            ("mass_kg", spec.mass_kg),
        ]
    }

    fn wheels(&self) -> &[Wheel] {
        ENCODED
    }
}

#[inline(always)]
fn kernel(columns: &mut [Column; COLUMNS], lanes: usize, constants: &Constants) {
    for lane in 0..lanes.min(LANES) {
        let mode = columns[body::SETPOINT_MODE][lane];
        let steering = steer(columns, lane, mode, constants);
        let (ramped, forced) = (pace(columns, lane, mode, constants), push(columns, lane, constants));
        let by_force = mode == setpoint::STEER_FORCE;
        let speed = Ramp {
            last: if by_force { forced.last } else { ramped.last },
            mean: if by_force { forced.mean } else { ramped.mean },
        };
        columns[STEERING][lane] = steering.last;
        columns[SPEED][lane] = speed.last;

        let curve = math::tan(steering.mean) * constants.per_wheelbase;
        let curve_last = math::tan(steering.last) * constants.per_wheelbase;
        roll(columns, lane, (speed.mean, curve), constants);
        columns[FRONT][lane] = wheel_angle(curve_last, constants.half_track, constants);
        columns[FRONT + 1][lane] = wheel_angle(curve_last, -constants.half_track, constants);
        let mean = twist(speed.mean, curve, constants);
        let last = twist(speed.last, curve_last, constants);
        planar::drive(columns, lane, (mean, last), constants.dt);
    }
}

/// The steering angle in this tick.
#[inline(always)]
fn steer(columns: &[Column; COLUMNS], lane: usize, mode: f64, constants: &Constants) -> Ramp {
    let now = columns[STEERING][lane];
    let (speed, turn) = (columns[body::SETPOINT][lane], columns[body::SETPOINT + 3][lane]);
    let path = math::atan2(constants.wheelbase * (turn * 1.0_f64.copysign(speed)), speed.abs());
    let target = if mode == setpoint::VELOCITY { path } else { now };
    let target = if mode == setpoint::STEER_FORCE { speed } else { target };
    let target = if mode == setpoint::DIRECT { columns[COMMAND][lane] } else { target };
    let target = rigid::bound(target, -constants.steering_max, constants.steering_max);
    planar::ramp(now, target, constants.steering_change)
}

/// The speed in this tick, if a speed is commanded or none.
#[inline(always)]
fn pace(columns: &[Column; COLUMNS], lane: usize, mode: f64, constants: &Constants) -> Ramp {
    let now = columns[SPEED][lane];
    let target = if mode == setpoint::VELOCITY { columns[body::SETPOINT][lane] } else { 0.0 };
    let target = if mode == setpoint::DIRECT { columns[COMMAND + 1][lane] } else { target };
    let target = rigid::bound(target, -constants.reverse_max, constants.speed_max);
    let target = if target * now < 0.0 { 0.0 } else { target };
    let slower = target.abs() < now.abs();
    planar::ramp(now, target, if slower { constants.loss_max } else { constants.gain_max })
}

/// The speed in this tick, if forces are commanded.
#[inline(always)]
fn push(columns: &[Column; COLUMNS], lane: usize, constants: &Constants) -> Ramp {
    let now = columns[SPEED][lane];
    let drive =
        rigid::bound(columns[body::SETPOINT + 1][lane] * constants.per_force, -constants.gain_max, constants.gain_max);
    let brake = rigid::bound(columns[body::SETPOINT + 2][lane] * constants.per_force, 0.0, constants.loss_max);
    let hold = brake + constants.rolling;
    let gain = drive - constants.drag * now * now.abs();
    let free = now + gain;
    // brakes and rolling take speed away, but do not drive the other way
    let last = math::max(free.abs() - hold, 0.0).copysign(free);
    let last = rigid::bound(last, -constants.reverse_max, constants.speed_max);
    let heading = if now == 0.0 { free } else { now };
    // what stops within the tick moves only for a share of it
    let whole = (gain - hold.copysign(heading)).abs();
    let change = last - now;
    let share = math::min(change.abs() / math::max(whole, f64::MIN_POSITIVE), 1.0);
    Ramp { last, mean: last - 0.5 * share * change }
}

/// The steering angle of the front wheel that is `aside` to the left of the middle.
#[inline(always)]
fn wheel_angle(curve: f64, aside: f64, constants: &Constants) -> f64 {
    math::atan(constants.wheelbase * curve / (1.0 - curve * aside))
}

/// Turns the wheels by what they roll in a tick.
#[inline(always)]
fn roll(columns: &mut [Column; COLUMNS], lane: usize, (speed, curve): (f64, f64), constants: &Constants) {
    let turned = constants.dt * constants.per_radius * speed;
    let (left, right) = (1.0 - curve * constants.half_track, 1.0 + curve * constants.half_track);
    let across = curve * constants.wheelbase;
    columns[WHEELS][lane] += turned * left;
    columns[WHEELS + 1][lane] += turned * right;
    columns[WHEELS + 2][lane] += turned * math::hypot2(left, across);
    columns[WHEELS + 3][lane] += turned * math::hypot2(right, across);
}

/// The motion of the body's origin on a path of this curvature at the rear axle.
#[inline(always)]
fn twist(speed: f64, curve: f64, constants: &Constants) -> Twist {
    let turn = speed * curve;
    Twist { forward: speed, left: turn * constants.rear_axle, turn }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flock, GRAVITY, build, check_same_bits};
    use super::*;
    use glam::DVec3;
    use muster_core::node::Value;

    /// A car of 2.5 m wheelbase with its origin on the rear axle, with these parameters changed.
    fn car(parameters: &[(&str, f64)]) -> Flock {
        let base = [("wheelbase_m", 2.5), ("track_m", 1.5), ("wheel_radius_m", 0.3), ("rear_axle_m", 0.0)];
        let given: Vec<(&str, Value)> =
            base.iter().chain(parameters).map(|(key, value)| (*key, Value::Number(*value))).collect();
        Flock::new(build(&KIND, &given), DVec3::ZERO)
    }

    /// A car that needs no time to change speed and steering.
    fn nimble() -> Flock {
        car(&[("accel_max_mps2", 1e6), ("brake_max_mps2", 1e6), ("steering_rate_max_radps", 1e6)])
    }

    fn direct(flock: &mut Flock, steering: f64, speed: f64) {
        flock.set(body::SETPOINT_MODE, &[setpoint::DIRECT]);
        flock.set(COMMAND, &[steering, speed]);
    }

    /// A car that drives on as it does already.
    fn rolling(steering: f64, speed: f64, parameters: &[(&str, f64)]) -> Flock {
        let mut flock = car(parameters);
        flock.set(STEERING, &[steering, speed]);
        direct(&mut flock, steering, speed);
        flock
    }

    fn force(flock: &mut Flock, drive: f64, brake: f64) {
        flock.set(body::SETPOINT_MODE, &[setpoint::STEER_FORCE, 0.0, drive, brake, 0.0]);
    }

    fn speed(flock: &Flock) -> f64 {
        flock.columns[SPEED][0]
    }

    #[test]
    fn the_turning_radius_is_wheelbase_over_tangent_for_any_tick() {
        for (dt_s, ticks) in [(0.01, 200), (0.1, 20), (2.0, 1)] {
            for (steering, speed) in [(0.3, 2.0), (-0.5, 2.0), (0.3, -2.0)] {
                let mut flock = rolling(steering, speed, &[]);
                flock.run(dt_s, ticks);
                let radius = 2.5 / math::tan(steering);
                let (sine, cosine) = math::sin_cos(speed * 2.0 / radius);
                let expected = DVec3::new(radius * sine, radius * (1.0 - cosine), 0.0);
                let error = (flock.vec3(body::POSITION) - expected).length();
                assert!(error < 1e-9, "{dt_s} s: {error} m off at {steering} rad, {speed} m/s");
                assert!((flock.yaw() - speed * 2.0 / radius).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn front_wheels_point_about_the_centre_of_the_turn() {
        let mut flock = nimble();
        direct(&mut flock, 0.4, 1.0);
        flock.run(0.1, 2);
        let cotangent = |column: usize| 1.0 / math::tan(flock.columns[column][0]);
        // Ackermann's condition: the cotangents of outer and inner wheel differ by track over wheelbase
        assert!((cotangent(FRONT + 1) - cotangent(FRONT) - 1.5 / 2.5).abs() < 1e-12);
        assert!(flock.columns[FRONT][0] > 0.4 && flock.columns[FRONT + 1][0] < 0.4);
    }

    #[test]
    fn wheels_roll_what_they_travel() {
        let mut flock = rolling(0.4, 2.0, &[]);
        flock.run(0.01, 300);
        // each wheel runs on a circle about the common centre
        let (radius, turned) = (2.5 / math::tan(0.4), 6.0 * math::tan(0.4) / 2.5);
        for (wheel, circle) in [
            (0, radius - 0.75),
            (1, radius + 0.75),
            (2, math::hypot2(radius - 0.75, 2.5)),
            (3, math::hypot2(radius + 0.75, 2.5)),
        ] {
            let expected = circle * turned / 0.3;
            assert!((flock.columns[WHEELS + wheel][0] - expected).abs() < 1e-9, "wheel {wheel}");
        }
    }

    #[test]
    fn an_origin_ahead_of_the_axle_swings_with_the_car() {
        // the centre of the turn is 4 m to the left of the axle
        let mut flock = rolling(math::atan2(2.5, 4.0), 2.0, &[("rear_axle_m", 1.0)]);
        flock.run(0.05, 40);
        let velocity = math::rotate_inverse(flock.orientation(), flock.vec3(body::VELOCITY));
        assert!((velocity - DVec3::new(2.0, 0.5, 0.0)).length() < 1e-9);
        assert!(velocity.length() < flock.motion.speed_max_mps());
        let from_centre = flock.vec3(body::POSITION) - DVec3::new(-1.0, 4.0, 0.0);
        assert!((from_centre.length() - math::hypot2(1.0, 4.0)).abs() < 1e-9, "{from_centre}");
    }

    #[test]
    fn velocity_setpoints_give_speed_and_turn_rate_within_the_limits() {
        let mut flock = nimble();
        flock.set(body::SETPOINT_MODE, &[setpoint::VELOCITY, 3.0, 0.0, 0.0, -0.4]);
        flock.run(0.01, 2);
        assert!((speed(&flock) - 3.0).abs() < 1e-12);
        assert!((flock.vec3(body::ANGULAR_VELOCITY).z + 0.4).abs() < 1e-12);
        // backwards the same turn rate needs the other steering
        flock.set(body::SETPOINT_MODE, &[setpoint::VELOCITY, -3.0, 0.0, 0.0, -0.4]);
        flock.run(0.01, 3);
        assert!((flock.vec3(body::ANGULAR_VELOCITY).z + 0.4).abs() < 1e-12);
        flock.set(body::SETPOINT_MODE, &[setpoint::VELOCITY, 100.0, 0.0, 0.0, 1e3]);
        flock.run(0.01, 3);
        assert_eq!((speed(&flock), flock.columns[STEERING][0]), (20.0, 0.6));
        flock.set(body::SETPOINT_MODE, &[setpoint::VELOCITY, -100.0, 0.0, 0.0, 0.0]);
        flock.run(0.01, 3);
        assert_eq!((speed(&flock), flock.columns[STEERING][0]), (-5.0, 0.0));
        flock.set(body::SETPOINT_MODE, &[setpoint::NONE]);
        flock.run(0.01, 1);
        assert_eq!(flock.vec3(body::VELOCITY).length(), 0.0);
    }

    #[test]
    fn steering_takes_its_time() {
        let mut flock = car(&[("steering_rate_max_radps", 0.5)]);
        direct(&mut flock, 0.4, 0.0);
        flock.run(0.01, 40);
        assert!((flock.columns[STEERING][0] - 0.2).abs() < 1e-12);
        flock.run(0.01, 60);
        assert_eq!(flock.columns[STEERING][0], 0.4);
    }

    #[test]
    fn stopping_takes_the_square_of_speed_over_twice_the_deceleration_for_any_tick() {
        for dt_s in [0.001, 0.01, 0.3] {
            for by_force in [false, true] {
                let mut flock = car(&[
                    ("brake_max_mps2", 4.0),
                    ("rolling_resistance", 0.0),
                    ("drag_area_m2", 0.0),
                    ("mass_kg", 1000.0),
                ]);
                flock.set(SPEED, &[10.0]);
                match by_force {
                    true => force(&mut flock, 0.0, 1e9),
                    false => direct(&mut flock, 0.0, 0.0),
                }
                flock.run(dt_s, (3.0 / dt_s) as usize);
                let found = flock.vec3(body::POSITION).x;
                assert!((found - 10.0 * 10.0 / (2.0 * 4.0)).abs() < 1e-9, "{found} m in ticks of {dt_s} s");
                assert_eq!(speed(&flock), 0.0);
            }
        }
    }

    #[test]
    fn a_force_accelerates_the_mass() {
        let mut flock = car(&[("rolling_resistance", 0.0), ("drag_area_m2", 0.0), ("mass_kg", 1000.0)]);
        force(&mut flock, 2000.0, 0.0);
        flock.run(0.001, 3000);
        assert!((speed(&flock) - 6.0).abs() < 1e-9, "{}", speed(&flock));
        assert!((flock.vec3(body::POSITION).x - 9.0).abs() < 1e-9);
        // more than the limit of 3 m/s² is not to be had
        force(&mut flock, 1e6, 0.0);
        flock.run(0.001, 1000);
        assert!((speed(&flock) - 9.0).abs() < 1e-9);
    }

    #[test]
    fn drag_and_rolling_set_the_final_speed_and_hold_a_standing_car() {
        let mut flock = car(&[("mass_kg", 1000.0), ("rolling_resistance", 0.01), ("drag_area_m2", 6.0)]);
        force(&mut flock, 0.99 * 0.01 * 1000.0 * GRAVITY, 0.0);
        flock.run(0.01, 100);
        assert_eq!(speed(&flock), 0.0);
        let density = 101_325.0 / (287.052_87 * 288.15);
        let wanted = 15.0_f64;
        force(&mut flock, 0.5 * density * 6.0 * wanted * wanted + 0.01 * 1000.0 * GRAVITY, 0.0);
        flock.run(0.01, 20_000);
        assert!((speed(&flock) - wanted).abs() < 1e-6, "{}", speed(&flock));
        // without drag it rolls out by v²/2 c_r g
        let mut flock = car(&[("rolling_resistance", 0.02), ("drag_area_m2", 0.0)]);
        flock.set(SPEED, &[5.0]);
        force(&mut flock, 0.0, 0.0);
        flock.run(0.01, 4000);
        let expected = 25.0 / (2.0 * 0.02 * GRAVITY);
        assert!((flock.vec3(body::POSITION).x - expected).abs() < 1e-9);
    }

    #[test]
    fn wheels_that_would_have_to_roll_backwards_are_refused() {
        let mut node = Node::default();
        node.set("steering_max_rad", Node::of(Value::Number(1.4)));
        node.set("track_m", Node::of(Value::Number(2.0)));
        let mut problems = Problems::default();
        assert!((KIND.build)(&node, "motion", &[], &mut problems).is_none());
        let text = problems.list()[0].to_string();
        assert!(text.contains("motion.steering_max_rad") && text.contains("1.204"), "{text}");
    }

    #[test]
    fn registers_of_all_widths_give_the_same_bits() {
        for mode in [setpoint::NONE, setpoint::VELOCITY, setpoint::DIRECT, setpoint::STEER_FORCE] {
            check_same_bits(&build(&KIND, &[]), mode, &[(-0.6, 0.6), (-9.0, 9.0)], 1.0);
        }
    }
}
