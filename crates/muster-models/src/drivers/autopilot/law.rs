//! The loops themselves: from what is sensed, ordered and remembered to inputs and what is remembered next. Without
//! branches, as it runs for many aircraft at once.

use super::gains::{GRAVITY_MPS2, Gains};
use glam::{DQuat, DVec3};
use muster_core::lanes::setpoint;
use muster_core::math;
use std::f64::consts::FRAC_PI_2;

/// Most an integrator may hold: a disturbance the model does not know, not a manoeuvre.
const TURN_TRIM_MAX_RADPS: f64 = 0.1;
const CLIMB_TRIM_MAX_MPS: f64 = 3.0;
const THRUST_TRIM_MAX_MPS2: f64 = 2.0;

/// Greatest acceleration that is asked of the motor beyond what climb and drag need.
const ACCELERATION_MAX_MPS2: f64 = 3.0;

/// How far ahead of the aircraft what it follows at a rate may run.
const LEAD_MAX_RAD: f64 = 0.3;
const LEAD_MAX_M: f64 = 5.0;

/// Full climb is allowed only this part of the design airspeed above the least one.
const CLIMB_ROOM: f64 = 0.12;

/// How sharply an aircraft turns onto its circle.
const ORBIT_GAIN: f64 = 2.0;

/// What the sensors say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flight {
    position_m: DVec3,
    velocity_mps: DVec3,
    /// Horizontal speed.
    ground_mps: f64,
    course_rad: f64,
    roll_rad: f64,
    sin_roll: f64,
    cos_roll: f64,
    pitch_rad: f64,
    /// The book's p, q, r.
    rate_radps: DVec3,
    airspeed_mps: f64,
}

/// What is ordered: a setpoint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    pub(super) mode: f64,
    pub(super) values: [f64; 4],
}

/// What is remembered: what is held, and the integrators.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory {
    pub(super) course_rad: f64,
    pub(super) altitude_m: f64,
    pub(super) turn_trim_radps: f64,
    pub(super) climb_trim_mps: f64,
    pub(super) thrust_trim_mps2: f64,
}

/// What is to be flown.
#[derive(Debug, Clone, Copy)]
struct Aim {
    course_rad: f64,
    /// How fast the course changes.
    turn_radps: f64,
    altitude_m: f64,
    /// How fast the altitude changes.
    climb_mps: f64,
    airspeed_mps: f64,
}

impl Aim {
    /// Number by number, or it would become a branch.
    #[inline(always)]
    fn unless(self, condition: bool, other: Self) -> Self {
        Self {
            course_rad: if condition { other.course_rad } else { self.course_rad },
            turn_radps: if condition { other.turn_radps } else { self.turn_radps },
            altitude_m: if condition { other.altitude_m } else { self.altitude_m },
            climb_mps: if condition { other.climb_mps } else { self.climb_mps },
            airspeed_mps: if condition { other.airspeed_mps } else { self.airspeed_mps },
        }
    }
}

impl Flight {
    #[inline(always)]
    pub(super) fn new(position_m: DVec3, q: DQuat, velocity_mps: DVec3, rate: DVec3, airspeed_mps: f64) -> Self {
        // the world's vertical in the body frame
        let forward = 2.0 * (q.x * q.z - q.w * q.y);
        let left = 2.0 * (q.y * q.z + q.w * q.x);
        let up = 1.0 - 2.0 * (q.x * q.x + q.y * q.y);
        let across = math::max(math::hypot2(left, up), 1e-9);
        let per_across = 1.0 / across;
        Self {
            position_m,
            velocity_mps,
            ground_mps: math::hypot2(velocity_mps.x, velocity_mps.y),
            course_rad: math::atan2(velocity_mps.y, velocity_mps.x),
            roll_rad: math::atan2(left, up),
            sin_roll: left * per_across,
            cos_roll: up * per_across,
            pitch_rad: math::atan2(forward, across),
            rate_radps: DVec3::new(rate.x, -rate.y, -rate.z),
            airspeed_mps,
        }
    }
}

/// Elevator, aileron, rudder and throttle, and the memory after them.
#[inline(always)]
pub(super) fn fly(
    flight: &Flight,
    order: &Order,
    memory: &Memory,
    (gains, period_s): (&Gains, f64),
) -> ([f64; 4], Memory) {
    let aim = aim(flight, order, memory, (gains, period_s));
    let ([aileron, rudder], turn_trim_radps) = turn(flight, &aim, memory.turn_trim_radps, (gains, period_s));
    let (elevator, climb_trim_mps) = climb(flight, &aim, memory.climb_trim_mps, (gains, period_s));
    let (throttle, thrust_trim_mps2) = throttle(flight, &aim, memory.thrust_trim_mps2, (gains, period_s));
    let follows = order.mode == setpoint::VELOCITY;
    let after = Memory {
        course_rad: if follows { aim.course_rad } else { memory.course_rad },
        altitude_m: if follows { aim.altitude_m } else { memory.altitude_m },
        turn_trim_radps,
        climb_trim_mps,
        thrust_trim_mps2,
    };
    ([elevator, aileron, rudder, throttle], after)
}

#[inline(always)]
fn aim(flight: &Flight, order: &Order, memory: &Memory, (gains, period_s): (&Gains, f64)) -> Aim {
    let held = Aim {
        course_rad: memory.course_rad,
        turn_radps: 0.0,
        altitude_m: memory.altitude_m,
        climb_mps: 0.0,
        airspeed_mps: gains.airspeed_mps,
    };
    let [course_rad, altitude_m, airspeed_mps, _] = order.values;
    let along = Aim { course_rad, altitude_m, airspeed_mps, ..held };
    let around = orbit(flight, order.values, held, gains);
    let rates = follow(flight, order.values, held, (gains, period_s));
    let aim = held.unless(order.mode == setpoint::COURSE, along);
    let aim = aim.unless(order.mode == setpoint::POSITION, around);
    aim.unless(order.mode == setpoint::VELOCITY, rates)
}

/// Moves what is held at the rates asked for, but not further ahead than the aircraft can follow.
#[inline(always)]
fn follow(flight: &Flight, wanted: [f64; 4], held: Aim, (gains, period_s): (&Gains, f64)) -> Aim {
    let [airspeed_mps, _, climb_mps, turn_radps] = wanted;
    let climb_mps = math::clamp(climb_mps, -gains.climb_max_mps, gains.climb_max_mps);
    let course_ahead = math::wrap_angle(held.course_rad + turn_radps * period_s - flight.course_rad);
    let altitude_ahead = held.altitude_m + climb_mps * period_s - flight.position_m.z;
    Aim {
        course_rad: flight.course_rad + math::clamp(course_ahead, -LEAD_MAX_RAD, LEAD_MAX_RAD),
        turn_radps,
        altitude_m: flight.position_m.z + math::clamp(altitude_ahead, -LEAD_MAX_M, LEAD_MAX_M),
        climb_mps,
        airspeed_mps,
    }
}

/// The book's orbit (10.13): from afar straight to the centre, on the circle along it. Its change is fed forward.
#[inline(always)]
fn orbit(flight: &Flight, [x, y, altitude_m, _]: [f64; 4], held: Aim, gains: &Gains) -> Aim {
    let (dx, dy) = (flight.position_m.x - x, flight.position_m.y - y);
    let (vx, vy) = (flight.velocity_mps.x, flight.velocity_mps.y);
    let distance = math::max(math::hypot2(dx, dy), 0.01 * gains.orbit_m);
    let per_distance = 1.0 / distance;
    let out = ORBIT_GAIN * (distance * gains.per_orbit_m - 1.0);
    let around = (dx * vy - dy * vx) * per_distance;
    let outwards = (dx * vx + dy * vy) * per_distance;
    let onto = ORBIT_GAIN * gains.per_orbit_m * outwards / (1.0 + out * out);
    Aim {
        course_rad: math::atan2(dy, dx) + gains.orbit_sense * (FRAC_PI_2 + math::atan(out)),
        turn_radps: around * per_distance + gains.orbit_sense * onto,
        altitude_m,
        ..held
    }
}

/// Aileron and rudder, and the trim after them.
#[inline(always)]
fn turn(flight: &Flight, aim: &Aim, trim: f64, (gains, period_s): (&Gains, f64)) -> ([f64; 2], f64) {
    // in a strong headwind the course hardly is a direction any more
    let ground = math::max(flight.ground_mps, 0.3 * gains.airspeed_mps);
    let error = math::wrap_angle(aim.course_rad - flight.course_rad);
    let wanted = ground * (aim.turn_radps + gains.course[0] * error + trim);
    let across = math::clamp(wanted, -gains.across_max_mps2, gains.across_max_mps2);
    let gained = if across == wanted { gains.course[1] * error * period_s } else { 0.0 };

    let roll = -math::atan(across * (1.0 / GRAVITY_MPS2));
    let roll_acceleration = gains.roll[0] * (roll - flight.roll_rad) - gains.roll[1] * flight.rate_radps.x;
    let speed = math::max(flight.airspeed_mps, gains.airspeed_min_mps);
    let coordinated = GRAVITY_MPS2 * flight.sin_roll / speed;
    let yaw_acceleration = gains.yaw * (coordinated - flight.rate_radps.z);
    let thin = gains.thinness(flight.airspeed_mps);
    let aileron = thin * (gains.aileron[0] * roll_acceleration + gains.aileron[1] * yaw_acceleration);
    let rudder = thin * gains.rudder * yaw_acceleration;
    let surfaces = [
        math::clamp(aileron, -gains.surface_max_rad, gains.surface_max_rad),
        math::clamp(rudder, -gains.surface_max_rad, gains.surface_max_rad),
    ];
    (surfaces, math::clamp(trim + gained, -TURN_TRIM_MAX_RADPS, TURN_TRIM_MAX_RADPS))
}

/// Elevator, and the trim after it.
#[inline(always)]
fn climb(flight: &Flight, aim: &Aim, trim: f64, (gains, period_s): (&Gains, f64)) -> (f64, f64) {
    let error = aim.altitude_m - flight.position_m.z;
    let room = (flight.airspeed_mps - gains.airspeed_min_mps) / (CLIMB_ROOM * gains.airspeed_mps);
    let most = gains.climb_max_mps * math::clamp(room, -1.0, 1.0);
    let wanted = aim.climb_mps + gains.altitude[0] * error + trim;
    let climb = math::clamp(wanted, -gains.climb_max_mps, most);
    let gained = if climb == wanted { gains.altitude[1] * error * period_s } else { 0.0 };

    let per_speed = 1.0 / math::max(flight.airspeed_mps, gains.airspeed_min_mps);
    let slow = gains.airspeed_mps * per_speed;
    let alpha = gains.alpha[0] * slow * slow / math::max(flight.cos_roll, 0.5) - gains.alpha[1];
    let pitch = math::clamp(alpha + climb * per_speed, -gains.pitch_max_rad, gains.pitch_max_rad);
    // an aircraft that falls gets its nose down into the flow, or it would stay stalled
    let path = math::atan2(flight.velocity_mps.z, flight.ground_mps);
    let pitch = math::min(pitch, path + gains.alpha_max_rad);
    let pitch_rate = flight.rate_radps.y * flight.cos_roll - flight.rate_radps.z * flight.sin_roll;
    let correction = gains.pitch[0] * (pitch - flight.pitch_rad) - gains.pitch[1] * pitch_rate;
    let elevator = gains.elevator[0] + gains.elevator[1] * alpha + gains.thinness(flight.airspeed_mps) * correction;
    (
        math::clamp(elevator, -gains.surface_max_rad, gains.surface_max_rad),
        math::clamp(trim + gained, -CLIMB_TRIM_MAX_MPS, CLIMB_TRIM_MAX_MPS),
    )
}

/// Throttle, and the trim after it.
#[inline(always)]
fn throttle(flight: &Flight, aim: &Aim, trim: f64, (gains, period_s): (&Gains, f64)) -> (f64, f64) {
    let now = flight.airspeed_mps;
    let error = math::clamp(aim.airspeed_mps, gains.airspeed_min_mps, gains.airspeed_max_mps) - now;
    let wanted = gains.airspeed[0] * error;
    let acceleration = math::clamp(wanted, -ACCELERATION_MAX_MPS2, ACCELERATION_MAX_MPS2);
    // in a fall faster than any that is flown gravity is no help
    let climb = math::clamp(flight.velocity_mps.z, -gains.climb_max_mps, gains.climb_max_mps);
    let uphill = GRAVITY_MPS2 * climb / math::max(now, gains.airspeed_min_mps);
    let jet_square = gains.jet_mass * (acceleration + uphill + trim) + gains.jet_level * now * now;
    let free = math::max(jet_square, 0.0).sqrt() * gains.per_jet;
    let throttle = math::min(free, 1.0);
    let limited = acceleration != wanted || throttle != free || jet_square <= 0.0;
    let gained = if limited { 0.0 } else { gains.airspeed[1] * error * period_s };
    (throttle, math::clamp(trim + gained, -THRUST_TRIM_MAX_MPS2, THRUST_TRIM_MAX_MPS2))
}
