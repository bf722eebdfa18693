//! Control of a helicopter in two loops from `truth`. Guidance, shared with `flight_control`, turns a setpoint into a specific
//! force; the inner loop turns its direction into an attitude and its length into blade pitch.
//!
//! **Tilt.** A tilt φ with rate ω answers the disc's tilt d, which answers the cyclic u after the lag τ of the disc:
//! `φ' = ω, ω' = M d, τ d' = u - d - τ ω`, with `M = (hub stiffness + weight · hub height) / inertia`. The disc is not
//! measured, but estimated by the same lag. With `u = d + τ (ω + c)` what is left is three integrators, and
//!
//! ```text
//! M c = k0 (φ* - φ) + ki ∫(φ* - φ) - k1 ω - k2 M (d - d_balance)
//! s⁴ + k2 s³ + k1 s² + k0 s + ki = (s² + 2ζΩ s + Ω²)(s + Ω)(s + Ω/4)
//! ```
//!
//! so the gains follow from a frequency Ω and a damping ζ. The integral holds what the model leaves out: flapping back in
//! forward flight, wind, a centre of gravity that is off.
//!
//! **Lift and turn.** Momentum theory gives the inflow, blade elements the pitch for the thrust that is asked at the
//! velocity that is flown. The power that goes with it tells the torque that the tail rotor has to hold, beside the turn
//! acceleration asked by a loop of proportion and integral of its own frequency; what it pushes sideways is held by leaning.
//!
//! Setpoints: none puts the blades flat; velocity, position and attitude as in [`setpoint`]; course is flown as a
//! velocity over ground with the nose along it; direct leaves the inputs alone.

use super::as_motion::AsMotion;
use super::guidance::{self, Fix, GRAVITY_MPS2, Guidance, LIFT_MIN};
use super::heading::Heading;
use crate::motions::helicopter::{HelicopterSpec, Hover, Inverse, StartBlades};
use crate::sensors::truth;
use glam::DVec3;
use muster_core::component::{Control, Driver, Kind, Pose, Subscription};
use muster_core::lanes::{Column, LANE_STEP, LANES, Quantity, body, setpoint};
use muster_core::spec::Spec;
use muster_core::{math, spec};
use std::sync::Arc;

spec! {
    /// Parameters of the control of a helicopter.
    pub struct HelicopterControlSpec {
        /// The helicopter gains are computed for, as its motion describes it; a Yamaha RMAX if none.
        helicopter: Option<AsMotion<HelicopterSpec>>;
        /// Holds the place where it starts until something else is commanded; else the blades are flat.
        hold_at_start: bool = true;
        /// Frequency of the loops of roll and pitch.
        attitude_radps: f64 = 6.0, in 0.1..=100.0;
        /// Damping of the loops of roll and pitch.
        attitude_damping: f64 = 0.9, in 0.1..=10.0;
        /// Frequency of the loop of the turn rate.
        turn_radps: f64 = 5.0, in 0.1..=100.0;
        /// Damping of the loop of the turn rate.
        turn_damping: f64 = 1.0, in 0.1..=10.0;
        /// The greatest turn rate.
        turn_max_radps: f64 = 1.0, in 0.0..=20.0;
        /// Turn rate asked per error of heading.
        heading_gain_per_s: f64 = 1.0, in 0.0..=100.0;
        /// Speed asked per distance from a position setpoint.
        position_gain_per_s: f64 = 0.35, in 0.0..=100.0;
        /// Acceleration asked per error of velocity.
        velocity_gain_per_s: f64 = 0.9, in 0.0..=100.0;
        /// Acceleration asked per error of velocity and time, against wind and errors of the model.
        integral_gain_per_s2: f64 = 0.1, in 0.0..=100.0;
        /// The greatest acceleration from the integral.
        integral_max_mps2: f64 = 3.0, in 0.0..=100.0;
        /// The greatest horizontal speed asked.
        speed_max_mps: f64 = 10.0, in 0.0..=1000.0;
        /// The greatest speed asked upwards and downwards.
        climb_max_mps: f64 = 3.0, in 0.0..=1000.0;
        /// The greatest tilt asked.
        tilt_max_deg: f64 = 20.0, in 0.0..=60.0;
        /// Name of the sensor of pose and velocity.
        pose: String = "truth".to_owned();
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "helicopter_control",
    doc: "Flies a helicopter to setpoints: guidance over loops of attitude and turn rate, gains from its parameters.",
    fields: HelicopterControlSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <HelicopterControlSpec as Spec>::read(node, path, also, problems)?;
        let helicopter = AsMotion::or_default(spec.helicopter.as_ref())?;
        if helicopter.rotor_chord_m * helicopter.tail_chord_m == 0.0 {
            problems.error(node.place, path, "a rotor without blades", "rotor_chord_m and tail_chord_m above 0");
            return None;
        }
        Some(Arc::new(HelicopterControl { law: Law::new(&spec, &helicopter), spec }))
    },
};

const DEFAULT_RATE_HZ: f64 = 100.0;

struct HelicopterControl {
    spec: HelicopterControlSpec,
    law: Law,
}

/// What the loops multiply, and their limits.
#[derive(Debug, Clone, Copy)]
struct Law {
    guidance: Guidance,
    /// Gains for the integral, the error, the rate and the disc.
    tilt: [f64; 4],
    /// Angular acceleration for tilt of the disc: roll, pitch.
    per_disc: [f64; 2],
    flap: f64,
    cyclic_max: f64,
    turn: [f64; 2],
    turn_max: f64,
    mass: f64,
    /// How far to the left the disc leans when the motion starts.
    lean_at_start: f64,
    inverse: Inverse,
}

/// The greatest lift divided by weight, so that the engine is not asked for more than it has.
const LIFT_MAX: f64 = 1.4;

/// The most an integral of tilt may hold, rad s.
const TILT_INTEGRAL_MAX: f64 = 0.2;

/// The most the integral of the turn rate may hold, rad/s².
const TURN_INTEGRAL_MAX: f64 = 3.0;

const VELOCITY_INTEGRAL: usize = 0;
const TILT_INTEGRAL: usize = 3;
const TURN_INTEGRAL: usize = 5;
const DISC: usize = 6;
const MEMORY: usize = 8;

/// What a call works on, apart from the columns of the world, because a loop over one block becomes vector code: the
/// truth, the order, the memory and the inputs.
type Block = [Column; INPUTS + 4];

const MODE: usize = truth::ANGULAR_VELOCITY + 3;
const ORDER: usize = MODE + 1;
const HELD: usize = ORDER + 4;
const INPUTS: usize = HELD + MEMORY;

impl Law {
    fn new(spec: &HelicopterControlSpec, helicopter: &HelicopterSpec) -> Self {
        let guidance = Guidance {
            position_gain: spec.position_gain_per_s,
            velocity_gain: spec.velocity_gain_per_s,
            integral_step: spec.integral_gain_per_s2,
            integral_max: spec.integral_max_mps2,
            heading_gain: spec.heading_gain_per_s,
            speed_max: spec.speed_max_mps,
            climb_max: spec.climb_max_mps,
            tilt_max_tan: math::tan(spec.tilt_max_deg.to_radians()),
            lift_max: math::max(LIFT_MAX * GRAVITY_MPS2, LIFT_MIN),
        };
        let (w, z) = (spec.attitude_radps, spec.attitude_damping);
        // (s² + A s + B)(s² + C s + D), the second factor with roots at Ω and Ω/4
        let (a, b, c, d) = (2.0 * z * w, w * w, 1.25 * w, 0.25 * w * w);
        let hover = Hover::new(helicopter, GRAVITY_MPS2);
        let lever = helicopter.hub_stiffness_nm + hover.thrust_n * helicopter.hub_height_m;
        Self {
            guidance,
            tilt: [b * d, a * d + b * c, b + a * c + d, a + c],
            per_disc: [lever / helicopter.inertia_kgm2[0], lever / helicopter.inertia_kgm2[1]],
            flap: helicopter.flap_s,
            cyclic_max: helicopter.cyclic_max_rad,
            turn: [spec.turn_radps * spec.turn_radps, 2.0 * spec.turn_damping * spec.turn_radps],
            turn_max: spec.turn_max_radps,
            mass: helicopter.mass_kg,
            lean_at_start: if helicopter.start == StartBlades::Hover { hover.disc_left_rad } else { 0.0 },
            inverse: Inverse::new(helicopter),
        }
    }
}

impl Driver for HelicopterControl {
    fn default_rate_hz(&self) -> f64 {
        DEFAULT_RATE_HZ
    }

    fn state(&self) -> &'static [Quantity] {
        const {
            &[
                Quantity::many("integral_mps2", 3),
                Quantity::many("tilt_integral_rads", 2),
                Quantity::one("turn_integral_radps2"),
                Quantity::many("disc_rad", 2),
            ]
        }
    }

    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::own(&self.spec.pose, truth::KIND.name)]
    }

    fn commands(&self) -> &'static [&'static str] {
        &["collective_rad", "cyclic_forward_rad", "cyclic_left_rad", "pedal_rad"]
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, home: Pose) {
        control.state.iter_mut().for_each(|column| column[lane] = 0.0);
        control.state[DISC][lane] = -self.law.lean_at_start;
        if self.spec.hold_at_start {
            let (place, yaw) = (home.position_m, math::yaw_from_quat(home.orientation));
            control.command(lane, setpoint::POSITION, [place.x, place.y, place.z, yaw]);
        }
    }

    fn control(&self, control: &mut Control<'_>) {
        let mut block: Block = [[0.0; LANES]; INPUTS + 4];
        let flown = gather(control, &mut block);
        let (law, period_s) = (self.law.every(control.period_s), control.period_s);
        let keep = math::exp(-period_s / self.law.flap);
        let lanes = (u32::BITS - flown.leading_zeros()).next_multiple_of(LANE_STEP as u32) as usize;
        control.simd.run(
            #[inline(always)]
            || kernel(&mut block, lanes, &law, (period_s, keep)),
        );
        for lane in (0..LANES).filter(|lane| flown & (1 << lane) != 0) {
            for (column, fresh) in control.state.iter_mut().zip(&block[HELD..INPUTS]) {
                column[lane] = fresh[lane];
            }
            for (column, fresh) in control.inputs.iter_mut().zip(&block[INPUTS..]) {
                column[lane] = fresh[lane];
            }
        }
    }
}

/// Collects what is sensed, ordered and remembered in all lanes that are flown, and tells which these are. Lanes without
/// a setpoint get flat blades and forget.
fn gather(control: &mut Control<'_>, block: &mut Block) -> u32 {
    let mut flown = 0;
    while let Some(lane) = control.next_lane() {
        let mode = control.mode[lane];
        if mode == setpoint::NONE {
            control.inputs.iter_mut().for_each(|column| column[lane] = 0.0);
            control.state.iter_mut().for_each(|column| column[lane] = 0.0);
            continue;
        }
        let truth = control.reading(0, lane);
        if mode == setpoint::DIRECT || truth.stamp.is_none() {
            continue;
        }
        flown |= 1 << lane;
        for (index, column) in block[..MODE].iter_mut().enumerate() {
            column[lane] = truth.get(index);
        }
        block[MODE][lane] = mode;
        for (column, value) in block[ORDER..HELD].iter_mut().zip(&*control.setpoint) {
            column[lane] = value[lane];
        }
        for (column, value) in block[HELD..INPUTS].iter_mut().zip(&*control.state) {
            column[lane] = value[lane];
        }
    }
    flown
}

/// One call for all lanes.
#[inline(always)]
fn kernel(block: &mut Block, lanes: usize, law: &Law, times: (f64, f64)) {
    for lane in 0..lanes.min(LANES) {
        let orientation = body::orientation(block, lane);
        let heading = Heading::of(orientation);
        let velocity = body::vec3(block, truth::VELOCITY, lane);
        let rate = body::vec3(block, truth::ANGULAR_VELOCITY, lane);
        let order = [block[ORDER][lane], block[ORDER + 1][lane], block[ORDER + 2][lane], block[ORDER + 3][lane]];
        let fix = Fix { position: body::vec3(block, truth::POSITION, lane), velocity, heading };
        let summed = body::vec3(block, HELD + VELOCITY_INTEGRAL, lane);
        let lead = law.guidance.lead(block[MODE][lane], order, &fix, summed);
        let up = guidance::up(orientation);
        let by_attitude = block[MODE][lane] == setpoint::ATTITUDE;
        let either = |ordered: f64, found: f64| if by_attitude { ordered } else { found };
        let integral = DVec3::new(
            either(summed.x, lead.integral.x),
            either(summed.y, lead.integral.y),
            either(summed.z, lead.integral.z),
        );
        body::set_vec3(block, HELD + VELOCITY_INTEGRAL, lane, integral);

        let through_air = math::rotate_inverse(orientation, velocity);
        let thrust = math::max(0.0, either(order[3], law.mass * lead.force.dot(up)));
        let lift = law.inverse.lift(thrust, through_air);
        // what the tail rotor pushes anyway is not the main rotor's to give
        let (lean, aside) = law.inverse.lean(lift.power_w);
        let aside = aside * math::rotate(orientation, DVec3::Y);
        let wanted = guidance::tilt_along(lead.force - aside, heading);
        let found = guidance::tilt_along(up, heading);
        let (memory, disc) = (HELD + TILT_INTEGRAL, HELD + DISC);
        let roll =
            Tilt { error: either(order[0], wanted[0]) - found[0], rate: rate.x, disc: block[disc][lane], lean: -lean };
        let (right, sum) = law.tilt(&roll, 0, block[memory][lane], times.0);
        block[memory][lane] = sum;
        block[disc][lane] = roll.follow(right, law.flap, times.1);
        let pitch = Tilt {
            error: either(order[1], wanted[1]) - found[1],
            rate: rate.y,
            disc: block[disc + 1][lane],
            lean: 0.0,
        };
        let (forward, sum) = law.tilt(&pitch, 1, block[memory + 1][lane], times.0);
        block[memory + 1][lane] = sum;
        block[disc + 1][lane] = pitch.follow(forward, law.flap, times.1);

        let turn = math::clamp(either(order[2], lead.turn_rate), -law.turn_max, law.turn_max);
        let (spin, sum) = law.turn(turn - rate.z, block[HELD + TURN_INTEGRAL][lane], times.0);
        block[HELD + TURN_INTEGRAL][lane] = sum;
        block[INPUTS][lane] = lift.pitch_rad;
        block[INPUTS + 1][lane] = forward;
        block[INPUTS + 2][lane] = -right;
        block[INPUTS + 3][lane] = law.inverse.pedal_rad(lift.power_w, spin, (through_air.y, rate));
    }
}

/// A tilt towards an axis: how far from what is wanted, how fast, where the disc is thought to stand, and where it stands
/// when all is in balance.
#[derive(Debug, Clone, Copy)]
struct Tilt {
    error: f64,
    rate: f64,
    disc: f64,
    lean: f64,
}

impl Tilt {
    /// Where the disc is thought to stand a period later.
    #[inline(always)]
    fn follow(&self, cyclic: f64, flap: f64, keep: f64) -> f64 {
        let target = cyclic - flap * self.rate;
        target + (self.disc - target) * keep
    }
}

impl Law {
    /// The law for calls with this period.
    fn every(&self, period_s: f64) -> Self {
        let integral_step = self.guidance.integral_step * period_s;
        Self { guidance: Guidance { integral_step, ..self.guidance }, ..*self }
    }

    /// The disc's tilt to ask for, and the integral after it.
    #[inline(always)]
    fn tilt(&self, tilt: &Tilt, axis: usize, sum: f64, period_s: f64) -> (f64, f64) {
        let [integral, error, rate, disc] = self.tilt;
        let per_disc = self.per_disc[axis];
        let asked = error * tilt.error + integral * sum - rate * tilt.rate - disc * per_disc * (tilt.disc - tilt.lean);
        let cyclic = tilt.disc + self.flap * (tilt.rate + asked / per_disc);
        let limited = math::clamp(cyclic, -self.cyclic_max, self.cyclic_max);
        let gained = if limited == cyclic { tilt.error * period_s } else { 0.0 };
        (limited, math::clamp(sum + gained, -TILT_INTEGRAL_MAX, TILT_INTEGRAL_MAX))
    }

    /// The turn acceleration to ask for, and the integral after it.
    #[inline(always)]
    fn turn(&self, error: f64, sum: f64, period_s: f64) -> (f64, f64) {
        let sum = math::clamp(sum + self.turn[0] * error * period_s, -TURN_INTEGRAL_MAX, TURN_INTEGRAL_MAX);
        (self.turn[1] * error + sum, sum)
    }
}
