//! Autopilot of a small aircraft by successive loop closure, after R. W. Beard and T. W. McLain, *Small Unmanned
//! Aircraft: Theory and Practice* (2012), chapter 6, and their orbits of chapter 10:
//!
//! ```text
//! course   -> turn rate -> roll -> aileron         yaw rate -> rudder (damper)
//! altitude -> climb rate -> pitch -> elevator      airspeed -> thrust -> throttle
//! ```
//!
//! Gains follow from a frequency and a damping for each loop and from the coefficients of the aircraft at the design
//! airspeed; surfaces are scaled to the dynamic pressure that is flown. What the model tells beforehand (angle of
//! attack and elevator for speed and bank, thrust for drag and climb) is fed forward, so the integrators only hold what
//! the model does not know. They stand still while their loop is at a limit.
//!
//! | setpoint   | what is flown |
//! |------------|---------------|
//! | `none`     | the course and altitude it started with, or had when nothing was commanded any more; design airspeed |
//! | `velocity` | forward as airspeed, up as climb rate, turn rate; what is left of it is not flown sideways |
//! | `position` | towards x, y at altitude z and then around it on a circle; design airspeed |
//! | `course`   | course, altitude, airspeed |
//! | `direct`   | inputs are left as they are |
//!
//! A course is the direction of motion over ground as an angle from east, counter-clockwise, like yaw. Airspeeds are
//! flown within limits, and below the least one height is given up for speed. Pose and velocity come from a sensor of
//! kind `truth` on the body's origin, airspeed from a pitot tube; until both have measured, inputs stay as they are.
//! Inside, roll, pitch and rates are the book's: right wing down, nose up, nose to the right.

mod gains;

use super::super::motions::fixed_wing::FixedWingSpec;
use super::super::sensors::{airspeed, truth};
use gains::{GRAVITY_MPS2, Gains};
use glam::DVec3;
use muster_core::component::{Control, Driver, Kind, Pose, Reading, Subscription};
use muster_core::lanes::{Quantity, setpoint};
use muster_core::spec::Spec;
use muster_core::{math, spec};
use std::f64::consts::FRAC_PI_2;
use std::sync::Arc;

spec! {
    /// Parameters of the autopilot. The defaults suit the Aerosonde.
    pub struct AutopilotSpec {
        /// Name of the sensor that gives position, attitude, velocity and rates.
        truth: String = "truth".to_owned();
        /// Name of the sensor that gives the airspeed.
        airspeed: String = "airspeed".to_owned();
        /// The aircraft gains are computed for, as its motion describes it; the Aerosonde if none.
        aircraft: Option<FixedWingSpec>;
        /// Airspeed gains are computed for, and that is flown if none is commanded.
        airspeed_mps: f64 = 25.0, in 1.0..=1000.0;
        /// Least airspeed that is flown; below it height is given up for speed.
        airspeed_min_mps: f64 = 16.0, in 1.0..=1000.0;
        /// Greatest airspeed that is flown.
        airspeed_max_mps: f64 = 40.0, in 1.0..=1000.0;
        /// Greatest rate of climb and descent.
        climb_max_mps: f64 = 5.0, in 0.1..=100.0;
        /// Greatest roll.
        roll_max_rad: f64 = 0.8, in 0.1..=1.4;
        /// Greatest pitch up and down.
        pitch_max_rad: f64 = 0.5, in 0.1..=1.4;
        /// Natural frequency of the roll loop.
        roll_radps: f64 = 6.0, in 0.1..=100.0;
        /// Damping of the roll loop.
        roll_damping: f64 = 1.0, in 0.1..=10.0;
        /// Gain from yaw rate to yaw acceleration.
        yaw_damper_per_s: f64 = 2.0, in 0.0..=100.0;
        /// Natural frequency of the course loop.
        course_radps: f64 = 0.25, in 0.01..=100.0;
        /// Damping of the course loop.
        course_damping: f64 = 1.5, in 0.1..=10.0;
        /// Natural frequency of the pitch loop.
        pitch_radps: f64 = 8.0, in 0.1..=100.0;
        /// Damping of the pitch loop.
        pitch_damping: f64 = 0.8, in 0.1..=10.0;
        /// Natural frequency of the altitude loop.
        altitude_radps: f64 = 0.2, in 0.01..=100.0;
        /// Damping of the altitude loop.
        altitude_damping: f64 = 1.5, in 0.1..=10.0;
        /// Natural frequency of the airspeed loop.
        airspeed_radps: f64 = 0.4, in 0.01..=100.0;
        /// Damping of the airspeed loop.
        airspeed_damping: f64 = 1.2, in 0.1..=10.0;
        /// Radius of the circle around a position.
        loiter_radius_m: f64 = 100.0, in 1.0..=100000;
        /// Circle clockwise, seen from above.
        loiter_clockwise: bool = false;
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "autopilot",
    doc: "Controller of a small aircraft: course, altitude and airspeed, circles around positions, climb and turn rates.",
    fields: AutopilotSpec::FIELDS,
    build: |node, path, also, problems| {
        let spec = <AutopilotSpec as Spec>::read(node, path, also, problems)?;
        match Gains::new(&spec) {
            Ok(gains) => Some(Arc::new(Autopilot { spec, gains })),
            Err((found, expected)) => {
                problems.error(node.place, path, found, expected);
                None
            }
        }
    },
};

struct Autopilot {
    spec: AutopilotSpec,
    gains: Gains,
}

const HELD_COURSE: usize = 0;
const HELD_ALTITUDE: usize = 1;
const TURN_TRIM: usize = 2;
const CLIMB_TRIM: usize = 3;
const THRUST_TRIM: usize = 4;
const MODE: usize = 0;

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
struct Flight {
    position_m: DVec3,
    velocity_mps: DVec3,
    course_rad: f64,
    roll_rad: f64,
    sin_roll: f64,
    cos_roll: f64,
    pitch_rad: f64,
    /// The book's p, q, r.
    rate_radps: DVec3,
    airspeed_mps: f64,
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

impl Flight {
    #[inline(always)]
    fn new(truth: &Reading<'_>, air: &Reading<'_>) -> Self {
        let velocity_mps = truth.vec3(truth::VELOCITY);
        let rate = truth.vec3(truth::ANGULAR_VELOCITY);
        let q = truth.quat(truth::ORIENTATION);
        // the world's vertical in the body frame
        let forward = 2.0 * (q.x * q.z - q.w * q.y);
        let left = 2.0 * (q.y * q.z + q.w * q.x);
        let up = 1.0 - 2.0 * (q.x * q.x + q.y * q.y);
        let across = math::max(math::hypot2(left, up), 1e-9);
        Self {
            position_m: truth.vec3(truth::POSITION),
            velocity_mps,
            course_rad: math::atan2(velocity_mps.y, velocity_mps.x),
            roll_rad: math::atan2(left, up),
            sin_roll: left / across,
            cos_roll: up / across,
            pitch_rad: math::atan2(forward, across),
            rate_radps: DVec3::new(rate.x, -rate.y, -rate.z),
            airspeed_mps: air.get(airspeed::AIRSPEED),
        }
    }
}

impl Driver for Autopilot {
    fn default_rate_hz(&self) -> f64 {
        100.0
    }

    fn state(&self) -> &'static [Quantity] {
        const {
            &[
                Quantity::one("held_course_rad"),
                Quantity::one("held_altitude_m"),
                Quantity::one("turn_trim_radps"),
                Quantity::one("climb_trim_mps"),
                Quantity::one("thrust_trim_mps2"),
            ]
        }
    }

    fn integers(&self) -> &'static [Quantity] {
        const { &[Quantity::one("mode")] }
    }

    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::own(&self.spec.truth, "truth"), Subscription::own(&self.spec.airspeed, "airspeed")]
    }

    fn commands(&self) -> &'static [&'static str] {
        const { &["elevator_rad", "aileron_rad", "rudder_rad", "throttle"] }
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, home: Pose) {
        control.state[HELD_COURSE][lane] = math::yaw_from_quat(home.orientation);
        control.state[HELD_ALTITUDE][lane] = home.position_m.z;
        for trim in [TURN_TRIM, CLIMB_TRIM, THRUST_TRIM] {
            control.state[trim][lane] = 0.0;
        }
        control.integers[MODE][lane] = setpoint::NONE as i64;
    }

    fn control(&self, control: &mut Control<'_>) {
        while let Some(lane) = control.next_lane() {
            let mode = control.mode[lane];
            let (truth, air) = (control.reading(0, lane), control.reading(1, lane));
            let blind = truth.stamp.is_none() || air.stamp.is_none();
            if blind || mode == setpoint::DIRECT {
                control.integers[MODE][lane] = mode as i64;
                continue;
            }
            let flight = Flight::new(&truth, &air);
            if control.integers[MODE][lane] != mode as i64 {
                control.integers[MODE][lane] = mode as i64;
                control.state[HELD_COURSE][lane] = flight.course_rad;
                control.state[HELD_ALTITUDE][lane] = flight.position_m.z;
            }
            let aim = self.aim(control, lane, &flight);
            let [aileron, rudder] = self.turn(control, lane, &flight, &aim);
            let [elevator, throttle] = self.climb(control, lane, &flight, &aim);
            for (column, value) in control.inputs.iter_mut().zip([elevator, aileron, rudder, throttle]) {
                column[lane] = value;
            }
        }
    }
}

impl Autopilot {
    #[inline(always)]
    fn aim(&self, control: &mut Control<'_>, lane: usize, flight: &Flight) -> Aim {
        let wanted: [f64; 4] = std::array::from_fn(|index| control.setpoint[index][lane]);
        let mode = control.mode[lane];
        let held = Aim {
            course_rad: control.state[HELD_COURSE][lane],
            turn_radps: 0.0,
            altitude_m: control.state[HELD_ALTITUDE][lane],
            climb_mps: 0.0,
            airspeed_mps: self.spec.airspeed_mps,
        };
        if mode == setpoint::COURSE {
            let [course_rad, altitude_m, airspeed_mps, _] = wanted;
            Aim { course_rad, altitude_m, airspeed_mps, ..held }
        } else if mode == setpoint::POSITION {
            self.orbit(wanted, flight, held)
        } else if mode == setpoint::VELOCITY {
            let [airspeed_mps, _, climb_mps, turn_radps] = wanted;
            let climb_mps = math::clamp(climb_mps, -self.spec.climb_max_mps, self.spec.climb_max_mps);
            let course_ahead = math::wrap_angle(held.course_rad + turn_radps * control.period_s - flight.course_rad);
            let altitude_ahead = held.altitude_m + climb_mps * control.period_s - flight.position_m.z;
            let course_rad = flight.course_rad + math::clamp(course_ahead, -LEAD_MAX_RAD, LEAD_MAX_RAD);
            let altitude_m = flight.position_m.z + math::clamp(altitude_ahead, -LEAD_MAX_M, LEAD_MAX_M);
            control.state[HELD_COURSE][lane] = course_rad;
            control.state[HELD_ALTITUDE][lane] = altitude_m;
            Aim { course_rad, turn_radps, altitude_m, climb_mps, airspeed_mps }
        } else {
            held
        }
    }

    /// The book's orbit (10.13): from afar straight to the centre, on the circle along it. Its change is fed forward.
    #[inline(always)]
    fn orbit(&self, [x, y, altitude_m, _]: [f64; 4], flight: &Flight, held: Aim) -> Aim {
        let radius = self.spec.loiter_radius_m;
        let (dx, dy) = (flight.position_m.x - x, flight.position_m.y - y);
        let (vx, vy) = (flight.velocity_mps.x, flight.velocity_mps.y);
        let distance = math::max(math::hypot2(dx, dy), 0.01 * radius);
        let out = ORBIT_GAIN * (distance / radius - 1.0);
        let sense = if self.spec.loiter_clockwise { -1.0 } else { 1.0 };
        let around = (dx * vy - dy * vx) / (distance * distance);
        let outwards = (dx * vx + dy * vy) / distance;
        Aim {
            course_rad: math::atan2(dy, dx) + sense * (FRAC_PI_2 + math::atan(out)),
            turn_radps: around + sense * (ORBIT_GAIN / radius) * outwards / (1.0 + out * out),
            altitude_m,
            ..held
        }
    }

    /// Aileron and rudder.
    #[inline(always)]
    fn turn(&self, control: &mut Control<'_>, lane: usize, flight: &Flight, aim: &Aim) -> [f64; 2] {
        let gains = &self.gains;
        let ground = math::hypot2(flight.velocity_mps.x, flight.velocity_mps.y);
        // in a strong headwind the course hardly is a direction any more
        let ground = math::max(ground, 0.3 * self.spec.airspeed_mps);
        let error = math::wrap_angle(aim.course_rad - flight.course_rad);
        let limit = gains.turn_acceleration / ground;
        let wanted = aim.turn_radps + gains.course[0] * error + control.state[TURN_TRIM][lane];
        let turn = math::clamp(wanted, -limit, limit);
        let gained = if turn == wanted { gains.course[1] * error * control.period_s } else { 0.0 };
        integrate(&mut control.state[TURN_TRIM][lane], gained, TURN_TRIM_MAX_RADPS);

        let roll = -math::atan(turn * ground / GRAVITY_MPS2);
        let roll_acceleration = gains.roll[0] * (roll - flight.roll_rad) - gains.roll[1] * flight.rate_radps.x;
        let speed = math::max(flight.airspeed_mps, self.spec.airspeed_min_mps);
        let coordinated = GRAVITY_MPS2 * flight.sin_roll / speed;
        let yaw_acceleration = gains.yaw * (coordinated - flight.rate_radps.z);
        let thin = gains.thinness(flight.airspeed_mps);
        let surface = |[for_roll, for_yaw]: [f64; 2]| {
            let surface = thin * (for_roll * roll_acceleration + for_yaw * yaw_acceleration);
            math::clamp(surface, -gains.surface_max, gains.surface_max)
        };
        [surface(gains.aileron), surface(gains.rudder)]
    }

    /// Elevator and throttle.
    #[inline(always)]
    fn climb(&self, control: &mut Control<'_>, lane: usize, flight: &Flight, aim: &Aim) -> [f64; 2] {
        let (spec, gains) = (&self.spec, &self.gains);
        let speed = math::max(flight.airspeed_mps, spec.airspeed_min_mps);
        let error = aim.altitude_m - flight.position_m.z;
        let room = (flight.airspeed_mps - spec.airspeed_min_mps) / (CLIMB_ROOM * spec.airspeed_mps);
        let most = spec.climb_max_mps * math::clamp(room, -1.0, 1.0);
        let wanted = aim.climb_mps + gains.altitude[0] * error + control.state[CLIMB_TRIM][lane];
        let climb = math::clamp(wanted, -spec.climb_max_mps, most);
        let gained = if climb == wanted { gains.altitude[1] * error * control.period_s } else { 0.0 };
        integrate(&mut control.state[CLIMB_TRIM][lane], gained, CLIMB_TRIM_MAX_MPS);

        let slow = spec.airspeed_mps / speed;
        let alpha = gains.alpha[0] * slow * slow / math::max(flight.cos_roll, 0.5) - gains.alpha[1];
        let pitch = math::clamp(alpha + climb / speed, -spec.pitch_max_rad, spec.pitch_max_rad);
        let pitch_rate = flight.rate_radps.y * flight.cos_roll - flight.rate_radps.z * flight.sin_roll;
        let correction = gains.pitch[0] * (pitch - flight.pitch_rad) - gains.pitch[1] * pitch_rate;
        let elevator = gains.elevator[0] + gains.elevator[1] * alpha + gains.thinness(flight.airspeed_mps) * correction;
        [
            math::clamp(elevator, -gains.surface_max, gains.surface_max),
            self.throttle(control, lane, flight, aim.airspeed_mps),
        ]
    }

    #[inline(always)]
    fn throttle(&self, control: &mut Control<'_>, lane: usize, flight: &Flight, airspeed_mps: f64) -> f64 {
        let (spec, gains) = (&self.spec, &self.gains);
        let now = flight.airspeed_mps;
        let error = math::clamp(airspeed_mps, spec.airspeed_min_mps, spec.airspeed_max_mps) - now;
        let wanted = gains.airspeed[0] * error;
        let acceleration = math::clamp(wanted, -ACCELERATION_MAX_MPS2, ACCELERATION_MAX_MPS2);
        let uphill = GRAVITY_MPS2 * flight.velocity_mps.z / math::max(now, spec.airspeed_min_mps);
        let needed = acceleration + uphill + control.state[THRUST_TRIM][lane];
        let jet_square = gains.jet_mass * needed + (1.0 + gains.jet_drag) * now * now;
        let throttle = math::max(jet_square, 0.0).sqrt() * gains.per_jet;
        let limited = math::clamp(throttle, 0.0, 1.0);
        let free = acceleration == wanted && limited > 0.0 && limited < 1.0;
        let gained = if free { gains.airspeed[1] * error * control.period_s } else { 0.0 };
        integrate(&mut control.state[THRUST_TRIM][lane], gained, THRUST_TRIM_MAX_MPS2);
        limited
    }
}

#[inline(always)]
fn integrate(integral: &mut f64, gained: f64, most: f64) {
    *integral = math::clamp(*integral + gained, -most, most);
}
