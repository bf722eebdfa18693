//! Control of boats and submarines from `truth`: speed, heading and depth loops over thrust allocation.
//!
//! ```text
//! w* = k_p (p* − p), limited                                      position setpoints; velocity setpoints begin here
//! F  = (m + A)(k_v (w* − w) + ∫k_i (w* − w)) + drag at w*         along the axes; the integral holds current, wind and
//! N  = (I + J)(k_r (r* − r) + ∫k_i (r* − r)) + drag at r*         what a hull weighs or lifts in water
//! r* = k_h (heading* − heading), limited                          heading and course
//! ```
//!
//! Roll and pitch are held level where thrusters reach them. The wrench is given to thrusters by the pseudo-inverse of the
//! matrix of their forces and torques, computed once; axes no thruster reaches, or only together with a more important
//! one (the order is surge, yaw, heave, sway, pitch, roll), are left alone. Where thrusters would have to give more than they
//! can, heave and torques come first, and integrals wait.
//!
//! | setpoint   | what is done |
//! |------------|--------------|
//! | `none`     | thrusters stop |
//! | `velocity` | forward, left, up over ground and turn rate, as far as thrusters reach |
//! | `position` | to x, y, z with a heading. A vessel that cannot move sideways turns towards the place, drives there, and within `near_m` stops and takes the heading |
//! | `course`   | along a course over ground at a height (minus the depth) and a speed; without sideways thrust the nose points along it |
//! | `direct`   | inputs are left as they are |
//!
//! Attitude is no setpoint of vessels; thrusters stop.

mod allocation;

use super::as_motion::AsMotion;
use super::guidance;
use super::heading::Heading;
use crate::motions::marine::{self, MarineSpec};
use crate::sensors::truth;
use allocation::{Allocation, Shares};
use glam::{DQuat, DVec3};
use muster_core::component::{Control, Driver, Kind, Pose, Subscription};
use muster_core::lanes::{Column, LANE_STEP, LANES, Quantity, body, setpoint};
use muster_core::spec::Spec;
use muster_core::{math, spec};
use std::sync::Arc;

spec! {
    /// Parameters of the control of a vessel.
    pub struct MarineControlSpec {
        /// The vessel gains and allocation are computed for, as its motion describes it; a BlueROV2 Heavy if none.
        vessel: Option<AsMotion<MarineSpec>>;
        /// Holds the place where it starts until something else is commanded; else thrusters stop.
        hold_at_start: bool = true;
        /// Speed asked per distance from a position setpoint.
        position_gain_per_s: f64 = 0.5, in 0.0..=100.0;
        /// Acceleration asked per error of velocity.
        velocity_gain_per_s: f64 = 2.0, in 0.0..=100.0;
        /// Acceleration asked per error of velocity and time, against current, wind and buoyancy.
        integral_gain_per_s2: f64 = 1.0, in 0.0..=100.0;
        /// The greatest acceleration from the integral.
        integral_max_mps2: f64 = 2.0, in 0.0..=100.0;
        /// The greatest horizontal speed asked.
        speed_max_mps: f64 = 1.5, in 0.0..=1000.0;
        /// The greatest speed asked upwards and downwards.
        climb_max_mps: f64 = 0.5, in 0.0..=1000.0;
        /// Turn rate asked per error of heading.
        heading_gain_per_s: f64 = 0.8, in 0.0..=100.0;
        /// Turn acceleration asked per error of turn rate.
        turn_gain_per_s: f64 = 3.0, in 0.0..=100.0;
        /// Turn acceleration asked per error of turn rate and time.
        turn_integral_gain_per_s2: f64 = 1.0, in 0.0..=100.0;
        /// The greatest turn rate asked.
        turn_max_radps: f64 = 0.6, in 0.0..=20.0;
        /// Frequency of the loops that hold roll and pitch level.
        level_radps: f64 = 3.0, in 0.0..=100.0;
        /// Without sideways thrust: how near to a position is near enough to stop.
        near_m: f64 = 1.0, in 0.0..=1000.0;
        /// Name of the sensor of pose and velocity.
        pose: String = "truth".to_owned();
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "marine_control",
    doc: "Steers boats and submarines to setpoints: loops of speed, heading and depth over thrust allocation.",
    fields: MarineControlSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <MarineControlSpec as Spec>::read(node, path, also, problems)?;
        let vessel = AsMotion::or_default(spec.vessel.as_ref())?;
        let block = node.get("vessel").unwrap_or(node);
        if !marine::check(&vessel, block, &format!("{path}.vessel"), problems) {
            return None;
        }
        let allocation = Allocation::new(&vessel.thrusters);
        Some(Arc::new(MarineControl { law: Law::new(&spec, &vessel, &allocation), allocation, spec }))
    },
};

struct MarineControl {
    spec: MarineControlSpec,
    law: Law,
    allocation: Allocation,
}

/// What the loops multiply, and their limits.
#[derive(Debug, Clone, Copy)]
struct Law {
    position_gain: f64,
    velocity_gain: f64,
    integral_gain: f64,
    integral_max: f64,
    speed_max: f64,
    climb_max: f64,
    heading_gain: f64,
    turn_gain: f64,
    turn_integral_gain: f64,
    turn_max: f64,
    /// Angular acceleration for tilt and for its rate.
    level: [f64; 2],
    near: f64,
    mass: DVec3,
    inertia: DVec3,
    linear: DVec3,
    square: DVec3,
    turn_linear: f64,
    turn_square: f64,
    sways: bool,
    /// 1 for axes along which thrusters push.
    reach: DVec3,
}

/// The most the integral of the turn rate may hold, rad/s².
const TURN_INTEGRAL_MAX: f64 = 1.0;

impl Law {
    fn new(spec: &MarineControlSpec, vessel: &MarineSpec, allocation: &Allocation) -> Self {
        let reach = DVec3::from([0, 1, 2].map(|axis| if allocation.reaches(axis) { 1.0 } else { 0.0 }));
        Self {
            position_gain: spec.position_gain_per_s,
            velocity_gain: spec.velocity_gain_per_s,
            integral_gain: spec.integral_gain_per_s2,
            integral_max: spec.integral_max_mps2,
            speed_max: spec.speed_max_mps,
            climb_max: spec.climb_max_mps,
            heading_gain: spec.heading_gain_per_s,
            turn_gain: spec.turn_gain_per_s,
            turn_integral_gain: spec.turn_integral_gain_per_s2,
            turn_max: spec.turn_max_radps,
            level: [spec.level_radps * spec.level_radps, 2.0 * spec.level_radps],
            near: spec.near_m,
            mass: DVec3::splat(vessel.mass_kg) + DVec3::from(vessel.added_mass_kg),
            inertia: DVec3::from(vessel.inertia_kgm2) + DVec3::from(vessel.added_inertia_kgm2),
            linear: vessel.drag_linear_kgps.into(),
            square: vessel.drag_square_kgpm.into(),
            turn_linear: vessel.turn_drag_linear_nms[2],
            turn_square: vessel.turn_drag_square_nms2[2],
            sways: reach.y > 0.0,
            reach,
        }
    }
}

const INTEGRAL: usize = 0;
const TURN_INTEGRAL: usize = 3;
const MEMORY: usize = 4;

/// What a call works on, apart from the columns of the world, because a loop over one block becomes vector code: the
/// truth, the order, the memory and the wrench.
type Block = [Column; WRENCH + 6];

const MODE: usize = truth::ANGULAR_VELOCITY + 3;
const ORDER: usize = MODE + 1;
const HELD: usize = ORDER + 4;
const WRENCH: usize = HELD + MEMORY;

impl Driver for MarineControl {
    fn state(&self) -> &'static [Quantity] {
        const { &[Quantity::many("integral_mps2", 3), Quantity::one("turn_integral_radps2")] }
    }

    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::own(&self.spec.pose, truth::KIND.name)]
    }

    fn commands(&self) -> &'static [&'static str] {
        &["thrust_n"]
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, home: Pose) {
        control.state.iter_mut().for_each(|column| column[lane] = 0.0);
        if self.spec.hold_at_start {
            let (place, yaw) = (home.position_m, math::yaw_from_quat(home.orientation));
            control.command(lane, setpoint::POSITION, [place.x, place.y, place.z, yaw]);
        }
    }

    fn control(&self, control: &mut Control<'_>) {
        let mut block: Block = [[0.0; LANES]; WRENCH + 6];
        let steered = gather(control, &mut block);
        let lanes = (u32::BITS - steered.leading_zeros()).next_multiple_of(LANE_STEP as u32) as usize;
        let (law, period_s) = (&self.law, control.period_s);
        let inputs = &mut *control.inputs;
        control.simd.run(
            #[inline(always)]
            || {
                wrench(&mut block, lanes, law);
                let Some(wrench) = block[WRENCH..].first_chunk() else { return };
                let shares = self.allocation.shares(wrench, lanes);
                self.allocation.give(wrench, (&shares, steered), inputs, lanes);
                remember(&mut block, lanes, &shares, (law, period_s));
            },
        );
        for lane in (0..LANES).filter(|lane| steered & (1 << lane) != 0) {
            for (column, fresh) in control.state.iter_mut().zip(&block[HELD..WRENCH]) {
                column[lane] = fresh[lane];
            }
        }
    }
}

/// Collects what is sensed, ordered and remembered in all lanes that are steered, and tells which these are. In lanes
/// without a setpoint thrusters stop, and they forget.
fn gather(control: &mut Control<'_>, block: &mut Block) -> u32 {
    let mut steered = 0;
    while let Some(lane) = control.next_lane() {
        let mode = control.mode[lane];
        if mode == setpoint::DIRECT {
            continue;
        }
        let served = mode == setpoint::VELOCITY || mode == setpoint::POSITION || mode == setpoint::COURSE;
        if !served {
            control.inputs.iter_mut().for_each(|column| column[lane] = 0.0);
            control.state.iter_mut().for_each(|column| column[lane] = 0.0);
            continue;
        }
        let truth = control.reading(0, lane);
        if truth.stamp.is_none() {
            continue;
        }
        steered |= 1 << lane;
        for (index, column) in block[..MODE].iter_mut().enumerate() {
            column[lane] = truth.get(index);
        }
        block[MODE][lane] = mode;
        for (column, value) in block[ORDER..HELD].iter_mut().zip(&*control.setpoint) {
            column[lane] = value[lane];
        }
        for (column, value) in block[HELD..WRENCH].iter_mut().zip(&*control.state) {
            column[lane] = value[lane];
        }
    }
    steered
}

/// What is to be done: velocity in the frame of the heading, and turn rate.
#[derive(Debug, Clone, Copy)]
struct Aim {
    velocity: DVec3,
    turn: f64,
}

/// The aim of one lane, and the errors from it.
#[inline(always)]
fn errors(block: &Block, lane: usize, law: &Law, heading: Heading) -> (Aim, DVec3, f64) {
    let order = [block[ORDER][lane], block[ORDER + 1][lane], block[ORDER + 2][lane], block[ORDER + 3][lane]];
    let position = body::vec3(block, truth::POSITION, lane);
    let aim = law.aim(block[MODE][lane], order, position, heading);
    let velocity = heading.of_world(body::vec3(block, truth::VELOCITY, lane));
    let error = law.reach * (aim.velocity - velocity);
    (aim, error, aim.turn - block[truth::ANGULAR_VELOCITY + 2][lane])
}

/// The wrench asked in all lanes.
#[inline(always)]
fn wrench(block: &mut Block, lanes: usize, law: &Law) {
    for lane in 0..lanes.min(LANES) {
        let orientation: DQuat = body::orientation(block, lane);
        let heading = Heading::of(orientation);
        let (aim, error, turn_error) = errors(block, lane, law, heading);
        let rate = body::vec3(block, truth::ANGULAR_VELOCITY, lane);

        let acceleration = law.velocity_gain * error + body::vec3(block, HELD + INTEGRAL, lane);
        let along = math::rotate_inverse(orientation, heading.in_world(acceleration));
        let through = math::rotate_inverse(orientation, heading.in_world(aim.velocity));
        let size = DVec3::new(through.x.abs(), through.y.abs(), through.z.abs());
        let force = law.mass * along + (law.linear + law.square * size) * through;

        let spin = law.turn_gain * turn_error + block[HELD + TURN_INTEGRAL][lane];
        let [roll, pitch] = guidance::tilt_along(guidance::up(orientation), heading);
        let level = DVec3::new(
            -(law.level[0] * roll) - law.level[1] * rate.x,
            -(law.level[0] * pitch) - law.level[1] * rate.y,
            spin,
        );
        let held = DVec3::new(0.0, 0.0, (law.turn_linear + law.turn_square * aim.turn.abs()) * aim.turn);
        body::set_vec3(block, WRENCH, lane, force);
        body::set_vec3(block, WRENCH + 3, lane, law.inertia * level + held);
    }
}

/// Moves the integrals on, except where thrusters are at their limits.
#[inline(always)]
fn remember(block: &mut Block, lanes: usize, shares: &Shares, (law, period_s): (&Law, f64)) {
    for lane in 0..lanes.min(LANES) {
        let heading = Heading::of(body::orientation(block, lane));
        let (_, error, turn_error) = errors(block, lane, law, heading);
        let steer_s = if shares.steer[lane] < 1.0 { 0.0 } else { period_s };
        let drive_s = if shares.drive[lane] < 1.0 { 0.0 } else { steer_s };
        let limit = |value: f64, most: f64| math::clamp(value, -most, most);
        let sum = body::vec3(block, HELD + INTEGRAL, lane)
            + law.integral_gain * DVec3::new(drive_s, drive_s, steer_s) * error;
        let most = law.integral_max;
        let sum = DVec3::new(limit(sum.x, most), limit(sum.y, most), limit(sum.z, most));
        body::set_vec3(block, HELD + INTEGRAL, lane, sum);
        let turn = block[HELD + TURN_INTEGRAL][lane] + law.turn_integral_gain * steer_s * turn_error;
        block[HELD + TURN_INTEGRAL][lane] = limit(turn, TURN_INTEGRAL_MAX);
    }
}

impl Law {
    #[inline(always)]
    fn aim(&self, mode: f64, [a, b, c, d]: [f64; 4], position: DVec3, heading: Heading) -> Aim {
        // all three in every lane, then a choice
        let (at_position, on_course) = (mode == setpoint::POSITION, mode == setpoint::COURSE);
        let direction = math::sin_cos(if on_course { a } else { d });
        let turn = self.heading_gain * heading.turn_to(direction);
        let way = heading.of_world(DVec3::new(a, b, c) - position);
        let course = heading.of_world(DVec3::new(c * direction.1, c * direction.0, 0.0));
        let (there, there_turn) = if self.sways { (self.position_gain * way, turn) } else { self.towards(way, turn) };
        // what cannot move sideways drives as far as it looks along the course
        let left = if self.sways { course.y } else { 0.0 };
        let along = DVec3::new(if self.sways { course.x } else { math::max(course.x, 0.0) }, left, 0.0);
        let along = along + DVec3::new(0.0, 0.0, self.position_gain * (b - position.z));

        let moving = DVec3::new(a, b, c);
        let velocity = if on_course { along } else { moving };
        let velocity = if at_position { there } else { velocity };
        let turn = if at_position { there_turn } else { turn };
        let turn = if at_position | on_course { turn } else { d };
        let speed = math::hypot2(velocity.x, velocity.y);
        let share = if speed > self.speed_max { self.speed_max / speed } else { 1.0 };
        let climb = math::clamp(velocity.z, -self.climb_max, self.climb_max);
        Aim {
            velocity: self.reach * DVec3::new(share * velocity.x, share * velocity.y, climb),
            turn: math::clamp(turn, -self.turn_max, self.turn_max),
        }
    }

    /// How a vessel that cannot move sideways gets to a place on its way: it turns there, and drives as far as it looks
    /// there; near it, it turns as asked.
    #[inline(always)]
    fn towards(&self, way: DVec3, turn: f64) -> (DVec3, f64) {
        let distance = math::hypot2(way.x, way.y);
        let far = distance > self.near;
        let ahead = math::max(way.x, 0.0) / math::max(distance, 1e-9);
        let speed = if far { self.position_gain * distance * ahead * ahead } else { 0.0 };
        let bearing = self.heading_gain * math::atan2(way.y, way.x);
        (DVec3::new(speed, 0.0, self.position_gain * way.z), if far { bearing } else { turn })
    }
}
