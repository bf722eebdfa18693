//! An inverted pendulum on two wheels: a body that pitches about the axle of two driven wheels, which roll without
//! slipping. With the speed v of the axle, the pitch θ (positive forwards), the turn rate ψ̇ and the sum τ and the
//! difference δ (right minus left) of the motors' torques between body and wheels,
//!
//! ```text
//! M v̇ + m l cos θ θ̈       = τ/r + m l sin θ (θ̇² + ψ̇²)
//! m l cos θ v̇ + J θ̈       = m g l sin θ − τ + C sin θ cos θ ψ̇²
//! (Z + C sin²θ) ψ̈         = δ d/2r − 2 C sin θ cos θ θ̇ ψ̇ − m l sin θ v ψ̇
//!
//! M = m + 2 (m_w + J_w/r²)     J = I_y + m l²     C = I_x + m l² − I_z     Z = I_z + J_w + (m_w + J_w/r²) d²/2
//! ```
//!
//! (m, I: mass and inertia of the body; l: its centre of mass above the axle; m_w, J_w, r, d: mass, inertia, radius and
//! distance of the wheels, which are thin discs). These are the equations of K. Pathak, J. Franch and S. Agrawal,
//! "Velocity and position control of a wheeled inverted pendulum by partial feedback linearization" (*IEEE Transactions
//! on Robotics* 21(3), 2005), solved by the midpoint rule. Bearings and motors may have viscous friction.
//!
//! The body's origin is in the middle of the axle; it moves in a plane, keeps its height and does not roll. A body that
//! has pitched to its stop lies on the ground: it pitches no further and slides to rest.
//!
//! The inputs, torques, always act: what turns setpoints into them is a controller ([`balance`](crate::drivers::balance)).
//! Wheel angles are counted against the body, as encoders on its motors do.
//!
//! Defaults are about those of a Segway RMP 200 with a load: 4.4 m/s (10 mph) and tyres of 0.48 m are its maker's; masses,
//! centre of mass, inertias, wheel gap, torques and friction are guesses.

use super::rigid;
use glam::{DQuat, DVec3};
use muster_core::component::{Kind, Motion, Tick, Turning, Wheel};
use muster_core::contact::Mobility;
use muster_core::lanes::{Column, LANE_STEP, LANES, Quantity, body};
use muster_core::math;
use muster_core::spec::Spec;
use std::borrow::Cow;
use std::sync::Arc;

muster_core::spec! {
    /// An inverted pendulum on two wheels. The defaults are about those of a Segway RMP 200.
    pub struct SegwaySpec {
        /// Mass of the body.
        body_mass_kg: f64 = 60.0, in 0.001..=1e5;
        /// Moments of inertia of the body about its centre of mass.
        body_inertia_kgm2: [f64; 3] = [4.7, 4.0, 2.3], in 1e-9..=1e6;
        /// How far the body's centre of mass is above the axle.
        centre_height_m: f64 = 0.35, in 0.001..=100.0;
        /// Mass of a wheel.
        wheel_mass_kg: f64 = 4.5, in 0.001..=1e5;
        /// Moment of inertia of a wheel about its axle, its motor's included.
        wheel_inertia_kgm2: f64 = 0.13, in 1e-9..=1e6;
        /// Radius of the wheels.
        wheel_radius_m: f64 = 0.24, in 0.001..=10.0;
        /// From wheel to wheel.
        wheel_gap_m: f64 = 0.54, in 0.001..=100.0;
        /// The greatest torque of a motor.
        torque_max_nm: f64 = 60.0, in 0.0..=1e6;
        /// Friction of a wheel against the body, by its rate.
        friction_nms: f64 = 0.1, in 0.0..=1e6;
        /// The pitch at which the body lies on the ground.
        pitch_stop_rad: f64 = 1.2, in 0.01..=1.4;
        /// The speed that no robot exceeds.
        speed_max_mps: f64 = 6.0, in 0.001..=100.0;
    }
}

/// The row of this kind.
pub const KIND: Kind<dyn Motion> = Kind {
    name: "segway",
    doc: "An inverted pendulum on two wheels, with pitch, forward and yaw dynamics; inputs are motor torques.",
    fields: <SegwaySpec as Spec>::FIELDS,
    build: &|node, path, also, problems| {
        Some(Arc::new(Segway::new(<SegwaySpec as Spec>::read(node, path, also, problems)?)))
    },
};

const INPUTS: &[Quantity] = &[Quantity::one("torque_left_nm"), Quantity::one("torque_right_nm")];
const STATE: &[Quantity] = &[Quantity::many("wheel_angle_rad", 2)];
const COMMAND: usize = body::COLUMNS;
/// How far the wheels have turned against the body.
const WHEELS: usize = COMMAND + 2;
const COLUMNS: usize = WHEELS + 2;

const ENCODED: &[Wheel] = &[
    Wheel { name: Cow::Borrowed("left"), turning: Turning::Angle(WHEELS) },
    Wheel { name: Cow::Borrowed("right"), turning: Turning::Angle(WHEELS + 1) },
];

/// Friction of a body that slides on the ground.
const SLIDING: f64 = 0.6;

/// What masses and lengths come down to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plant {
    /// All that goes forward: body, wheels and their spin, kg.
    pub(crate) mass: f64,
    /// Mass of the body times the height of its centre, kg m.
    pub(crate) lever: f64,
    /// Inertia of the body about the axle, kg m².
    pub(crate) pitch: f64,
    /// Inertia about the vertical, upright, kg m².
    pub(crate) yaw: f64,
    /// What the square of the sine of the pitch adds to it, kg m².
    pub(crate) lean: f64,
    /// Radius of the wheels, m.
    pub(crate) radius: f64,
    /// From wheel to wheel, m.
    pub(crate) gap: f64,
}

/// Body and wheels, as motion and controller are told of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) body_mass_kg: f64,
    pub(crate) body_inertia_kgm2: [f64; 3],
    pub(crate) centre_height_m: f64,
    pub(crate) wheel_mass_kg: f64,
    pub(crate) wheel_inertia_kgm2: f64,
    pub(crate) wheel_radius_m: f64,
    pub(crate) wheel_gap_m: f64,
}

impl Plant {
    pub(crate) fn new(parts: &Parts) -> Self {
        let [roll, pitch, yaw] = parts.body_inertia_kgm2;
        let lever = parts.body_mass_kg * parts.centre_height_m;
        let about_axle = lever * parts.centre_height_m;
        let wheel = parts.wheel_mass_kg + parts.wheel_inertia_kgm2 / (parts.wheel_radius_m * parts.wheel_radius_m);
        Self {
            mass: parts.body_mass_kg + 2.0 * wheel,
            lever,
            pitch: pitch + about_axle,
            yaw: yaw + parts.wheel_inertia_kgm2 + 0.5 * wheel * parts.wheel_gap_m * parts.wheel_gap_m,
            lean: roll + about_axle - yaw,
            radius: parts.wheel_radius_m,
            gap: parts.wheel_gap_m,
        }
    }

    /// The rate at which a small pitch grows when nothing holds the body, 1/s.
    pub(crate) fn fall_rate(&self, gravity: f64) -> f64 {
        (self.mass * self.lever * gravity / (self.mass * self.pitch - self.lever * self.lever)).sqrt()
    }
}

/// The motion of an inverted pendulum on two wheels.
#[derive(Debug, Clone)]
struct Segway {
    spec: SegwaySpec,
    plant: Plant,
}

/// What the kernel needs of specification and tick.
#[derive(Debug, Clone, Copy)]
struct Constants {
    plant: Plant,
    gravity: f64,
    friction: f64,
    torque_max: f64,
    stop: f64,
    per_radius: f64,
    half_gap: f64,
    /// Speed and turn rate that sliding takes away in a tick.
    slide: f64,
    spin: f64,
    dt: f64,
}

impl Segway {
    fn new(spec: SegwaySpec) -> Self {
        let plant = Plant::new(&Parts {
            body_mass_kg: spec.body_mass_kg,
            body_inertia_kgm2: spec.body_inertia_kgm2,
            centre_height_m: spec.centre_height_m,
            wheel_mass_kg: spec.wheel_mass_kg,
            wheel_inertia_kgm2: spec.wheel_inertia_kgm2,
            wheel_radius_m: spec.wheel_radius_m,
            wheel_gap_m: spec.wheel_gap_m,
        });
        Self { spec, plant }
    }
}

/// What changes under forces.
#[derive(Debug, Clone, Copy)]
struct Rates {
    /// Speed of the axle.
    speed: f64,
    /// Rate of pitch.
    pitch: f64,
    /// Turn rate.
    turn: f64,
}

impl Rates {
    #[inline(always)]
    fn on(self, change: Self, dt: f64) -> Self {
        Self {
            speed: self.speed + dt * change.speed,
            pitch: self.pitch + dt * change.pitch,
            turn: self.turn + dt * change.turn,
        }
    }
}

impl Motion for Segway {
    fn inputs(&self) -> &'static [Quantity] {
        INPUTS
    }

    fn state(&self) -> &'static [Quantity] {
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
        columns[COMMAND..].iter_mut().for_each(|column| column[lane] = 0.0);
    }

    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>) {
        let Some(columns) = columns.first_chunk_mut() else { return };
        let (spec, gravity) = (&self.spec, -tick.environment.gravity_mps2.z);
        let slide = SLIDING * gravity.abs() * tick.dt_s;
        let constants = Constants {
            plant: self.plant,
            gravity,
            friction: spec.friction_nms,
            torque_max: spec.torque_max_nm,
            stop: spec.pitch_stop_rad,
            per_radius: 1.0 / spec.wheel_radius_m,
            half_gap: 0.5 * spec.wheel_gap_m,
            slide,
            spin: slide / spec.wheel_gap_m,
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
            ("body_mass_kg", spec.body_mass_kg),
            ("centre_height_m", spec.centre_height_m),
            ("wheel_radius_m", spec.wheel_radius_m),
            ("wheel_gap_m", spec.wheel_gap_m),
            ("torque_max_nm", spec.torque_max_nm),
            ("speed_max_mps", spec.speed_max_mps),
        ]
    }

    fn wheels(&self) -> &[Wheel] {
        ENCODED
    }
}

#[inline(always)]
fn kernel(columns: &mut [Column; COLUMNS], lanes: usize, constants: &Constants) {
    let dt = constants.dt;
    for lane in 0..lanes.min(LANES) {
        let before = body::orientation(columns, lane);
        let (east, north) = rigid::heading(before);
        let level = math::hypot2(east, north);
        let (east, north) = (east / level, north / level);
        let sine = 2.0 * (before.w * before.y - before.x * before.z);
        let pitch = math::atan2(sine, level);
        let turning = body::vec3(columns, body::ANGULAR_VELOCITY, lane);
        let now = Rates {
            speed: columns[body::VELOCITY][lane] * east + columns[body::VELOCITY + 1][lane] * north,
            pitch: turning.y,
            turn: turning.z * level - turning.x * sine,
        };
        let torques = torques(columns, lane, constants);

        let first = accelerations(pitch, now, torques, constants);
        let middle = now.on(first, 0.5 * dt);
        let change = accelerations(pitch + 0.5 * dt * now.pitch, middle, torques, constants);
        let (pitch_last, last) = settle(pitch + dt * middle.pitch, now, now.on(change, dt), constants);

        let turned = dt * middle.turn;
        let tilted = pitch_last - pitch;
        let (turn_sine, turn_cosine) = math::sin_cos(0.5 * turned);
        let (tilt_sine, tilt_cosine) = math::sin_cos(0.5 * tilted);
        let after = rigid::product(DQuat::from_xyzw(0.0, 0.0, turn_sine, turn_cosine), before);
        let after = rigid::renormalize(rigid::product(after, DQuat::from_xyzw(0.0, tilt_sine, 0.0, tilt_cosine)));
        let (east_mid, north_mid) = (east * turn_cosine - north * turn_sine, north * turn_cosine + east * turn_sine);
        let (east_last, north_last) =
            (east_mid * turn_cosine - north_mid * turn_sine, north_mid * turn_cosine + east_mid * turn_sine);
        let chord = dt * middle.speed * math::sinc(0.5 * turned);
        columns[body::POSITION][lane] += chord * east_mid;
        columns[body::POSITION + 1][lane] += chord * north_mid;
        body::set_orientation(columns, lane, after);
        let velocity = DVec3::new(last.speed * east_last, last.speed * north_last, 0.0);
        body::set_vec3(columns, body::VELOCITY, lane, velocity);
        let (sine, cosine) = math::sin_cos(pitch_last);
        let turning = DVec3::new(-last.turn * sine, last.pitch, last.turn * cosine);
        body::set_vec3(columns, body::ANGULAR_VELOCITY, lane, turning);
        let (rolled, aside) = (dt * middle.speed, turned * constants.half_gap);
        columns[WHEELS][lane] += (rolled - aside) * constants.per_radius - tilted;
        columns[WHEELS + 1][lane] += (rolled + aside) * constants.per_radius - tilted;
    }
}

/// Sum and difference (right minus left) of the motors' torques, within their limit.
#[inline(always)]
fn torques(columns: &[Column; COLUMNS], lane: usize, constants: &Constants) -> (f64, f64) {
    let left = rigid::bound(columns[COMMAND][lane], -constants.torque_max, constants.torque_max);
    let right = rigid::bound(columns[COMMAND + 1][lane], -constants.torque_max, constants.torque_max);
    (left + right, right - left)
}

#[inline(always)]
fn accelerations(pitch: f64, rates: Rates, (sum, difference): (f64, f64), constants: &Constants) -> Rates {
    let plant = &constants.plant;
    let (sine, cosine) = math::sin_cos(pitch);
    let sum = sum - 2.0 * constants.friction * (rates.speed * constants.per_radius - rates.pitch);
    let difference = difference - 2.0 * constants.friction * rates.turn * constants.half_gap * constants.per_radius;
    let turn_square = rates.turn * rates.turn;
    let lever = plant.lever * cosine;
    let forward = sum * constants.per_radius + plant.lever * sine * (rates.pitch * rates.pitch + turn_square);
    let over = plant.lever * constants.gravity * sine - sum + plant.lean * sine * cosine * turn_square;
    let per = 1.0 / (plant.mass * plant.pitch - lever * lever);
    let drag = (2.0 * plant.lean * cosine * rates.pitch + plant.lever * rates.speed) * sine * rates.turn;
    let around = difference * constants.half_gap * constants.per_radius - drag;
    Rates {
        speed: (plant.pitch * forward - lever * over) * per,
        pitch: (plant.mass * over - lever * forward) * per,
        turn: around / (plant.yaw + plant.lean * sine * sine),
    }
}

/// What becomes of a robot that has pitched to its stop.
#[inline(always)]
fn settle(pitch: f64, now: Rates, free: Rates, constants: &Constants) -> (f64, Rates) {
    let bounded = rigid::bound(pitch, -constants.stop, constants.stop);
    let lies = pitch != bounded;
    let slower = |rate: f64, by: f64| math::max(rate.abs() - by, 0.0).copysign(rate);
    let (slid, spun) = (slower(now.speed, constants.slide), slower(now.turn, constants.spin));
    let last = Rates {
        speed: if lies { slid } else { free.speed },
        pitch: if lies { 0.0 } else { free.pitch },
        turn: if lies { spun } else { free.turn },
    };
    (bounded, last)
}

/// Pitch of a body, for tests and controllers.
#[inline(always)]
pub(crate) fn pitch_of(orientation: DQuat) -> f64 {
    let (east, north) = rigid::heading(orientation);
    math::atan2(2.0 * (orientation.w * orientation.y - orientation.x * orientation.z), math::hypot2(east, north))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flock, GRAVITY, build, check_same_bits};
    use super::*;
    use muster_core::node::{Node, Problems, Value};

    fn spec() -> SegwaySpec {
        let mut node = Node::default();
        node.set("friction_nms", Node::of(Value::Number(0.0)));
        <SegwaySpec as Spec>::read(&node, "", &[], &mut Problems::default()).expect("every field has a default")
    }

    /// A robot without friction that is pitched.
    fn pitched(pitch: f64) -> Flock {
        let mut flock = Flock::new(build(&KIND, &[("friction_nms", Value::Number(0.0))]), DVec3::ZERO);
        for lane in 0..LANES {
            body::set_orientation(&mut flock.columns, lane, math::quat_from_rpy(0.0, pitch, 0.0));
        }
        flock
    }

    fn pitch(flock: &Flock) -> f64 {
        pitch_of(flock.orientation())
    }

    /// The rate of growth of the linearised pendulum, derived anew: with no force and no torque on the axle,
    /// eliminating v̇ from both equations leaves (J − (m l)²/M) θ̈ = m g l θ.
    fn growth() -> f64 {
        let spec = spec();
        let lever = 60.0 * 0.35;
        let mass = 60.0 + 2.0 * (spec.wheel_mass_kg + 0.13 / (0.24 * 0.24));
        (lever * GRAVITY / (4.0 + 60.0 * 0.35 * 0.35 - lever * lever / mass)).sqrt()
    }

    #[test]
    fn a_small_pitch_grows_at_the_rate_of_the_linearised_pendulum() {
        let mut flock = pitched(1e-5);
        let rate = growth();
        assert!((Segway::new(spec()).plant.fall_rate(GRAVITY) - rate).abs() < 1e-12);
        for step in 1..=10 {
            flock.run(0.001, 100);
            let grown = 0.1 * f64::from(step) * rate;
            let expected = 1e-5 * 0.5 * (math::exp(grown) + math::exp(-grown));
            assert!((pitch(&flock) / expected - 1.0).abs() < 1e-4, "{} {expected}", pitch(&flock));
        }
    }

    #[test]
    fn hanging_it_swings_with_the_period_of_the_pendulum() {
        let mut flock = pitched(0.01);
        flock.environment.gravity_mps2.z = GRAVITY;
        let mut crossings = Vec::new();
        let mut before = pitch(&flock);
        for tick in 1..10_000 {
            flock.run(0.001, 1);
            let after = pitch(&flock);
            if before > 0.0 && after <= 0.0 {
                crossings.push(f64::from(tick) * 0.001 - 0.001 * after / (after - before));
            }
            before = after;
        }
        let period = (crossings[crossings.len() - 1] - crossings[0]) / (crossings.len() - 1) as f64;
        let expected = std::f64::consts::TAU / growth();
        assert!((period / expected - 1.0).abs() < 1e-4, "{period} s, expected {expected} s");
    }

    #[test]
    fn energy_is_kept_where_no_torque_acts() {
        let mut flock = pitched(0.2);
        flock.set_vec3(body::VELOCITY, DVec3::new(1.0, 0.0, 0.0));
        let turn = math::rotate_inverse(flock.orientation(), DVec3::new(0.0, 0.0, 2.0));
        flock.set_vec3(body::ANGULAR_VELOCITY, turn);
        let plant = Segway::new(spec()).plant;
        let energy = |flock: &Flock| {
            let (sine, cosine) = math::sin_cos(pitch(flock));
            let turning = flock.vec3(body::ANGULAR_VELOCITY);
            let (speed, rate) = (flock.vec3(body::VELOCITY).length(), turning.y);
            let turn = math::rotate(flock.orientation(), turning).z;
            0.5 * plant.mass * speed * speed
                + plant.lever * cosine * speed * rate
                + 0.5 * plant.pitch * rate * rate
                + 0.5 * (plant.yaw + plant.lean * sine * sine) * turn * turn
                + plant.lever * GRAVITY * cosine
        };
        let before = energy(&flock);
        flock.run(0.001, 300);
        assert!(pitch(&flock) > 0.4, "it fell: {}", pitch(&flock));
        assert!((energy(&flock) / before - 1.0).abs() < 1e-5, "{} J of {before} J", energy(&flock) - before);
    }

    #[test]
    fn torques_of_opposite_sign_turn_it_and_nothing_else() {
        let mut flock = pitched(0.0);
        flock.set(COMMAND, &[-2.0, 2.0]);
        flock.run(0.001, 1000);
        // wheels: mass and spin at half the gap, and about the vertical; body about its z axis
        let wheel = 4.5 + 0.13 / (0.24 * 0.24);
        let inertia = 2.3 + 0.13 + 2.0 * wheel * 0.27 * 0.27;
        let expected = 4.0 * 0.27 / 0.24 / inertia;
        assert!((flock.vec3(body::ANGULAR_VELOCITY).z / expected - 1.0).abs() < 1e-9);
        assert!((flock.yaw() / (0.5 * expected) - 1.0).abs() < 1e-9);
        assert!(flock.vec3(body::POSITION).length() < 1e-12 && pitch(&flock).abs() < 1e-12);
    }

    #[test]
    fn a_torque_drives_the_axle_and_tips_the_body_back() {
        let mut flock = pitched(0.0);
        flock.set(COMMAND, &[0.5, 0.5]);
        flock.run(1e-4, 1);
        let plant = Segway::new(spec()).plant;
        let (force, torque) = (1.0 / 0.24, -1.0);
        // both equations hold for what the tick did
        let (speed, rate) = (flock.vec3(body::VELOCITY).x * 1e4, flock.vec3(body::ANGULAR_VELOCITY).y * 1e4);
        assert!((plant.mass * speed + plant.lever * rate - force).abs() < 1e-6);
        assert!((plant.lever * speed + plant.pitch * rate - torque).abs() < 1e-6);
        assert!(speed > 0.0 && rate < 0.0);
    }

    #[test]
    fn wheels_are_counted_against_the_body() {
        let mut flock = pitched(0.1);
        flock.run(0.001, 400);
        let rolled = flock.vec3(body::POSITION).x / 0.24;
        for wheel in 0..2 {
            assert!((flock.columns[WHEELS + wheel][0] - (rolled - (pitch(&flock) - 0.1))).abs() < 1e-9);
        }
    }

    #[test]
    fn a_fallen_robot_comes_to_rest() {
        let mut flock = pitched(0.1);
        flock.set_vec3(body::VELOCITY, DVec3::new(2.0, 0.0, 0.0));
        flock.run(0.001, 5000);
        assert!((pitch(&flock).abs() - 1.2).abs() < 1e-9, "{}", pitch(&flock));
        assert_eq!(flock.vec3(body::VELOCITY).length(), 0.0);
    }

    #[test]
    fn registers_of_all_widths_give_the_same_bits() {
        check_same_bits(&build(&KIND, &[]), muster_core::lanes::setpoint::DIRECT, &[(-9.0, 9.0); 2], 0.5);
    }
}
