//! A quadrotor as one rigid body under an identified map from rotor speeds to force and torque.
//!
//! Rotor `i` at speed Ωᵢ pulls along body z with `Fᵢ = c₁ Ωᵢ + c₂ Ωᵢ²` and drags the body about z with `± k_m Fᵢ`,
//! against its own sense of rotation. Its speed follows the command as a first-order lag with one time constant for
//! speeding up and one for slowing down. The air takes `-c_d ΣΩᵢ v_⊥` (v_⊥: velocity through the air across the rotor
//! axes) and `-k |v| v`. Left out are the rolling moment of the rotors, their gyroscopic torque and ground effect.
//!
//! X configuration, body frame forward, left, up; rotors numbered clockwise from the front left, seen from above:
//!
//! ```text
//!            x, forward
//!   0 (cw)     |     1 (ccw)        rotor | turns | more speed gives roll, pitch, yaw torque
//!          \   |   /                   0  |  cw   |   +   -   +
//!            \ | /                     1  |  ccw  |   -   -   -
//!   y, left ---+                       2  |  cw   |   -   +   +
//!            /   \                     3  |  ccw  |   +   +   -
//!   3 (ccw)          2 (cw)
//! ```
//!
//! The inputs are used in every setpoint mode. Integration is by the explicit midpoint rule with the exact lag of the
//! rotors, and with rotation by the exponential of the rate at mid-tick; constant acceleration is exact.
//!
//! Model and defaults (AscTec Hummingbird): F. Furrer, M. Burri, M. Achtelik and R. Siegwart, *RotorS, a modular Gazebo
//! MAV simulator framework* (2016). The quadratic drag of the body is not among what they identified; its default is
//! ½ρ c_w A of a body of 0.016 m² with c_w = 1.

use super::rigid::{self, Body};
use glam::DVec3;
use muster_core::component::{Kind, Motion, Tick};
use muster_core::contact::{Mass, Mobility};
use muster_core::lanes::{Column, LANE_STEP, LANES, Quantity, body};
use muster_core::math;
use muster_core::spec::Spec;
use std::sync::{Arc, OnceLock};

muster_core::choice! {
    /// What the rotors do when a robot starts.
    pub enum StartRotors {
        /// They carry the robot's weight.
        Hover = "hover",
        /// They stand.
        Rest = "rest",
    }
}

muster_core::spec! {
    /// A quadrotor. The defaults are those of an AscTec Hummingbird.
    pub struct QuadrotorSpec {
        /// Mass.
        mass_kg: f64 = 0.716, in 0.001..=1000.0;
        /// Moments of inertia about the body's axes, which are its principal axes.
        inertia_kgm2: [f64; 3] = [0.007, 0.007, 0.012], in 1e-9..=1e4;
        /// From the centre to each rotor's axis.
        arm_m: f64 = 0.17, in 0.0..=10.0;
        /// Thrust of a rotor for its speed, the linear part: N/(rad/s).
        thrust_linear_ns: f64 = 0.0, in 0.0..=1.0;
        /// Thrust of a rotor for its speed, the quadratic part: N/(rad/s)².
        thrust_square_ns2: f64 = 8.54858e-6, in 1e-15..=1.0;
        /// Drag torque of a rotor divided by its thrust.
        moment_ratio_m: f64 = 0.016, in 0.0..=1.0;
        /// Time constant of rotors that speed up; 0 for none.
        rotor_up_s: f64 = 0.0125, in 0.0..=10.0;
        /// Time constant of rotors that slow down; 0 for none.
        rotor_down_s: f64 = 0.025, in 0.0..=10.0;
        /// The speed no rotor exceeds.
        rotor_max_radps: f64 = 838.0, in 1.0..=1e5;
        /// Drag of a rotor for its speed and the velocity across its axis: N/(rad/s · m/s).
        rotor_drag_kg: f64 = 8.06428e-5, in 0.0..=1.0;
        /// Drag of the body for the square of its velocity through the air: N/(m/s)².
        body_drag_kgpm: f64 = 0.01, in 0.0..=100.0;
        /// What the rotors do when a robot starts: carry its weight under standard gravity, or stand.
        start_rotors: StartRotors = StartRotors::Hover;
        /// The speed no robot exceeds.
        speed_max_mps: f64 = 20.0, in 0.1..=1000.0;
    }
}

/// The row of this kind.
pub const KIND: Kind<dyn Motion> = Kind {
    name: "quadrotor",
    doc: "A rigid body under four rotors, with rotor lag and drag; inputs are rotor speeds.",
    fields: <QuadrotorSpec as Spec>::FIELDS,
    build: &|node, path, also, problems| {
        Some(Arc::new(Quadrotor::new(<QuadrotorSpec as Spec>::read(node, path, also, problems)?)))
    },
};

/// Standard gravity, for the speed at which rotors start.
const GRAVITY_MPS2: f64 = 9.80665;

const INPUTS: &[Quantity] = &[Quantity::many("rotor_speed_radps", 4)];
const STATE: &[Quantity] = &[Quantity::many("rotor_speed_radps", 4)];
const COMMAND: usize = body::COLUMNS;
const ROTORS: usize = COMMAND + 4;
const COLUMNS: usize = ROTORS + 4;

/// The motion of a quadrotor.
#[derive(Debug, Clone)]
pub struct Quadrotor {
    spec: QuadrotorSpec,
    constants: Constants,
    keeps: OnceLock<Keeps>,
}

/// What the kernel needs of the specification. Forces are divided by mass throughout, and torques by inertia.
#[derive(Debug, Clone, Copy)]
struct Constants {
    thrust_linear: f64,
    thrust_square: f64,
    /// Angular acceleration for a difference of thrusts.
    leverage: DVec3,
    /// Angular acceleration for products of rates, in Euler's equations about principal axes.
    coupling: DVec3,
    rotor_max: f64,
    rotor_drag: f64,
    body_drag: f64,
}

/// What the kernel needs of the tick.
#[derive(Debug, Clone, Copy)]
struct Step {
    dt: f64,
    gravity: DVec3,
    /// What is left of a rotor's deviation from its command after half a tick.
    keep_up: f64,
    keep_down: f64,
}

/// What is left of deviations of rotors from their commands after half a tick, for ticks of one length.
#[derive(Debug, Clone, Copy)]
struct Keeps {
    dt: f64,
    up: f64,
    down: f64,
}

/// What the rotors do to the body, divided by mass and inertia.
#[derive(Debug, Clone, Copy)]
struct Wrench {
    thrust: f64,
    torque: DVec3,
    /// Drag for the velocity across the rotors' axes.
    drag: f64,
}

impl Quadrotor {
    /// A quadrotor with these parameters.
    pub fn new(spec: QuadrotorSpec) -> Self {
        let (per_mass, inertia) = (1.0 / spec.mass_kg, DVec3::from(spec.inertia_kgm2));
        let lever_m = spec.arm_m * std::f64::consts::FRAC_1_SQRT_2;
        let constants = Constants {
            thrust_linear: spec.thrust_linear_ns * per_mass,
            thrust_square: spec.thrust_square_ns2 * per_mass,
            leverage: DVec3::new(lever_m, lever_m, spec.moment_ratio_m) * spec.mass_kg / inertia,
            coupling: DVec3::new(inertia.y - inertia.z, inertia.z - inertia.x, inertia.x - inertia.y) / inertia,
            rotor_max: spec.rotor_max_radps,
            rotor_drag: spec.rotor_drag_kg * per_mass,
            body_drag: spec.body_drag_kgpm * per_mass,
        };
        Self { spec, constants, keeps: OnceLock::new() }
    }

    /// All ticks of a motion are of one length as a rule, so exponentials are computed once.
    fn keeps(&self, dt: f64) -> Keeps {
        let after = |time_s: f64| math::exp(-0.5 * dt / time_s);
        let new = || Keeps { dt, up: after(self.spec.rotor_up_s), down: after(self.spec.rotor_down_s) };
        let kept = *self.keeps.get_or_init(new);
        if kept.dt == dt { kept } else { new() }
    }

    /// The rotor speed that carries the weight under this gravity, not above the rotors' limit.
    pub fn hover_radps(&self, gravity_mps2: f64) -> f64 {
        let (linear, square) = (self.spec.thrust_linear_ns, self.spec.thrust_square_ns2);
        let thrust = 0.25 * self.spec.mass_kg * gravity_mps2;
        let speed = 2.0 * thrust / (linear + (linear * linear + 4.0 * square * thrust).sqrt());
        speed.min(self.spec.rotor_max_radps)
    }
}

impl Motion for Quadrotor {
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
        Mobility::Dynamic
    }

    fn mass(&self, _columns: &[Column], _lane: usize) -> Mass {
        Mass::new(self.spec.mass_kg, DVec3::from(self.spec.inertia_kgm2))
    }

    fn start(&self, columns: &mut [Column], lane: usize) {
        let speed = match self.spec.start_rotors {
            StartRotors::Hover => self.hover_radps(GRAVITY_MPS2),
            StartRotors::Rest => 0.0,
        };
        for column in columns.iter_mut().skip(COMMAND).take(COLUMNS - COMMAND) {
            column[lane] = speed;
        }
    }

    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>) {
        let Some(columns) = columns.first_chunk_mut() else { return };
        let keeps = self.keeps(tick.dt_s);
        let step =
            Step { dt: tick.dt_s, gravity: tick.environment.gravity_mps2, keep_up: keeps.up, keep_down: keeps.down };
        let lanes = lanes.next_multiple_of(LANE_STEP).min(LANES);
        let constants = &self.constants;
        tick.simd.run(
            #[inline(always)]
            || kernel(columns, lanes, constants, &step),
        );
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        let spec = &self.spec;
        vec![
            ("mass_kg", spec.mass_kg),
            ("inertia_x_kgm2", spec.inertia_kgm2[0]),
            ("inertia_y_kgm2", spec.inertia_kgm2[1]),
            ("inertia_z_kgm2", spec.inertia_kgm2[2]),
            ("arm_m", spec.arm_m),
            ("thrust_linear_ns", spec.thrust_linear_ns),
            ("thrust_square_ns2", spec.thrust_square_ns2),
            ("moment_ratio_m", spec.moment_ratio_m),
            ("rotor_max_radps", spec.rotor_max_radps),
            ("hover_radps", self.hover_radps(GRAVITY_MPS2)),
        ]
    }
}

#[inline(always)]
fn kernel(columns: &mut [Column; COLUMNS], lanes: usize, constants: &Constants, step: &Step) {
    // copies, as a choice between two numbers behind a reference becomes a choice of addresses, lane by lane
    let (constants, step) = (&{ *constants }, &{ *step });
    for lane in 0..lanes.min(LANES) {
        let body_now = Body::load(columns, lane);
        let wind = body::vec3(columns, body::WIND, lane);
        // written out, as a call of `map` on arrays is not inlined, and then nothing is vectorised
        let r0 = Rotor::follow(columns[ROTORS][lane], columns[COMMAND][lane], constants, step);
        let r1 = Rotor::follow(columns[ROTORS + 1][lane], columns[COMMAND + 1][lane], constants, step);
        let r2 = Rotor::follow(columns[ROTORS + 2][lane], columns[COMMAND + 2][lane], constants, step);
        let r3 = Rotor::follow(columns[ROTORS + 3][lane], columns[COMMAND + 3][lane], constants, step);
        let wrench = wrench([r0.mid, r1.mid, r2.mid, r3.mid], constants);
        fly(&body_now, wind, &wrench, (constants, step)).store(columns, lane);
        columns[ROTORS][lane] = r0.last;
        columns[ROTORS + 1][lane] = r1.last;
        columns[ROTORS + 2][lane] = r2.last;
        columns[ROTORS + 3][lane] = r3.last;
    }
}

/// The speed of a rotor in the middle and at the end of a tick.
#[derive(Debug, Clone, Copy)]
struct Rotor {
    mid: f64,
    last: f64,
}

impl Rotor {
    #[inline(always)]
    fn follow(first: f64, command: f64, constants: &Constants, step: &Step) -> Self {
        let command = rigid::bound(command, 0.0, constants.rotor_max);
        let keep = if command > first { step.keep_up } else { step.keep_down };
        let gap = (first - command) * keep;
        Self { mid: command + gap, last: command + gap * keep }
    }
}

#[inline(always)]
fn thrust(speed: f64, constants: &Constants) -> f64 {
    speed * (constants.thrust_linear + constants.thrust_square * speed)
}

#[inline(always)]
fn wrench(speeds: [f64; 4], constants: &Constants) -> Wrench {
    let f0 = thrust(speeds[0], constants);
    let f1 = thrust(speeds[1], constants);
    let f2 = thrust(speeds[2], constants);
    let f3 = thrust(speeds[3], constants);
    let (left, right) = (f0 - f1, f3 - f2);
    let torque = constants.leverage * DVec3::new(left + right, (f2 + f3) - (f0 + f1), left - right);
    let speed_sum = (speeds[0] + speeds[1]) + (speeds[2] + speeds[3]);
    Wrench { thrust: (f0 + f1) + (f2 + f3), torque, drag: constants.rotor_drag * speed_sum }
}

#[inline(always)]
fn angular_acceleration(rate: DVec3, wrench: &Wrench, constants: &Constants) -> DVec3 {
    wrench.torque + constants.coupling * DVec3::new(rate.y * rate.z, rate.z * rate.x, rate.x * rate.y)
}

/// Acceleration by gravity, thrust and drag in the world frame, `up` being the axis of the rotors.
#[inline(always)]
fn acceleration(through_air: DVec3, up: DVec3, wrench: &Wrench, (constants, step): (&Constants, &Step)) -> DVec3 {
    let body_drag = constants.body_drag * through_air.dot(through_air).sqrt();
    // rotor drag acts across the rotors' axis: what it would take along the axis is given back
    let along = wrench.thrust + wrench.drag * up.dot(through_air);
    step.gravity + (up * along - through_air * (body_drag + wrench.drag))
}

/// One tick under the rotors' forces at its middle. The state at the middle need only be known to first order, so these
/// forces also lead there.
#[inline(always)]
fn fly(now: &Body, wind: DVec3, wrench: &Wrench, (constants, step): (&Constants, &Step)) -> Body {
    let half = 0.5 * step.dt;
    let rate_mid = now.rate + half * angular_acceleration(now.rate, wrench, constants);
    let rate = now.rate + step.dt * angular_acceleration(rate_mid, wrench, constants);
    let turn = rigid::small_turn((0.5 * half) * rate_mid);
    let orientation_mid = rigid::product(now.orientation, turn);
    let orientation = rigid::turned_twice(now.orientation, orientation_mid, turn);

    // the way to the middle starts from the first orientation, so that it need not wait for the turn
    let (up, up_mid) = (rigid::up(now.orientation), rigid::up(orientation_mid));
    let through_air = now.velocity - wind;
    let through_air_mid = through_air + half * acceleration(through_air, up, wrench, (constants, step));
    let velocity = now.velocity + step.dt * acceleration(through_air_mid, up_mid, wrench, (constants, step));
    let position = now.position + half * (now.velocity + velocity);
    Body { position, orientation, velocity, rate }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flock, GRAVITY, build, check_same_bits};
    use super::*;
    use muster_core::lanes::setpoint;
    use muster_core::node::{Node, Value};

    fn number(value: f64) -> Value {
        Value::Number(value)
    }

    fn flock(parameters: &[(&str, Value)]) -> Flock {
        Flock::new(build(&KIND, parameters), DVec3::ZERO)
    }

    fn vacuum() -> Vec<(&'static str, Value)> {
        vec![
            ("rotor_drag_kg", number(0.0)),
            ("body_drag_kgpm", number(0.0)),
            ("start_rotors", Value::Text("rest".into())),
        ]
    }

    #[test]
    fn a_body_without_thrust_and_drag_falls_by_half_g_t_squared() {
        let mut flock = flock(&vacuum());
        flock.set_vec3(body::VELOCITY, DVec3::new(3.0, -1.0, 2.0));
        flock.run(0.01, 300);
        let expected = DVec3::new(9.0, -3.0, 6.0 - 0.5 * GRAVITY * 9.0);
        assert!((flock.vec3(body::POSITION) - expected).length() < 1e-9, "{}", flock.vec3(body::POSITION));
    }

    #[test]
    fn rotors_at_hover_speed_hold_the_altitude() {
        for linear in [0.0, 1e-3] {
            let mut flock = flock(&[("thrust_linear_ns", number(linear))]);
            flock.run(0.001, 1000);
            assert!(flock.vec3(body::POSITION).length() < 1e-12, "{}", flock.vec3(body::POSITION));
            assert_eq!(flock.vec3(body::ANGULAR_VELOCITY), DVec3::ZERO);
        }
    }

    #[test]
    fn terminal_velocity_balances_weight_and_quadratic_drag() {
        let mut flock = flock(&[("start_rotors", Value::Text("rest".into()))]);
        flock.run(0.01, 10_000);
        let expected = -(0.716 * GRAVITY / 0.01_f64).sqrt();
        assert!((flock.vec3(body::VELOCITY).z / expected - 1.0).abs() < 1e-9, "{}", flock.vec3(body::VELOCITY));
    }

    #[test]
    fn the_fall_under_quadratic_drag_follows_the_hyperbolic_tangent() {
        let mut flock = flock(&[("start_rotors", Value::Text("rest".into()))]);
        flock.run(0.01, 200);
        let terminal = (0.716 * GRAVITY / 0.01_f64).sqrt();
        let expected = -terminal * math::tanh(GRAVITY * 2.0 / terminal);
        assert!((flock.vec3(body::VELOCITY).z / expected - 1.0).abs() < 1e-5);
    }

    #[test]
    fn wind_carries_a_hovering_body_along() {
        let mut flock = flock(&[]);
        flock.set_vec3(body::WIND, DVec3::new(4.0, -3.0, 0.0));
        flock.run(0.01, 20_000);
        assert!((flock.vec3(body::VELOCITY) - DVec3::new(4.0, -3.0, 0.0)).length() < 1e-6);
    }

    #[test]
    fn rotor_drag_slows_across_the_axes_exponentially() {
        let mut flock = flock(&[("body_drag_kgpm", number(0.0))]);
        flock.set_vec3(body::VELOCITY, DVec3::new(2.0, 0.0, 1.0));
        let hover = flock.columns[ROTORS][0];
        flock.run(0.001, 1000);
        let expected = 2.0 * math::exp(-4.0 * hover * 8.06428e-5 / 0.716);
        let velocity = flock.vec3(body::VELOCITY);
        assert!((velocity.x - expected).abs() < 1e-8 && (velocity.z - 1.0).abs() < 1e-9, "{velocity}");
    }

    #[test]
    fn rotors_follow_commands_by_one_minus_exp_with_two_time_constants() {
        let mut flock = flock(&vacuum());
        flock.set(COMMAND, &[800.0, 800.0, 800.0, 1e6]);
        flock.run(0.001, 10);
        let expected = 800.0 * (1.0 - math::exp(-0.01 / 0.0125));
        assert!((flock.columns[ROTORS][0] - expected).abs() < 1e-10);
        assert!((flock.columns[ROTORS + 3][0] - expected / 800.0 * 838.0).abs() < 1e-10, "the limit is commanded");
        let fast = flock.columns[ROTORS][0];
        flock.set(COMMAND, &[0.0; 4]);
        flock.run(0.001, 10);
        assert!((flock.columns[ROTORS][0] - fast * math::exp(-0.01 / 0.025)).abs() < 1e-10);
    }

    #[test]
    fn each_rotor_turns_the_body_as_the_table_says() {
        let table = [[1.0, -1.0, 1.0], [-1.0, -1.0, -1.0], [-1.0, 1.0, 1.0], [1.0, 1.0, -1.0]];
        for (rotor, signs) in table.iter().enumerate() {
            let mut flock = flock(&[]);
            flock.columns[COMMAND + rotor] = [500.0; LANES];
            flock.run(0.001, 20);
            let rate = flock.vec3(body::ANGULAR_VELOCITY).to_array();
            assert!(rate.iter().zip(signs).all(|(rate, sign)| rate * sign > 1e-3), "{rotor}: {rate:?}");
        }
    }

    #[test]
    fn torque_free_rotation_keeps_energy_and_angular_momentum() {
        let inertia = DVec3::new(0.007, 0.011, 0.016);
        let list = inertia.to_array().map(|moment| Node::of(number(moment)));
        let mut parameters = vacuum();
        parameters.push(("inertia_kgm2", Value::List(list.into())));
        let mut flock = flock(&parameters);
        // near the middle axis, where rotation is unstable
        flock.set_vec3(body::ANGULAR_VELOCITY, DVec3::new(0.1, 3.0, 0.1));
        let measure = |flock: &Flock| {
            let rate = flock.vec3(body::ANGULAR_VELOCITY);
            (0.5 * rate.dot(inertia * rate), math::rotate(flock.orientation(), inertia * rate))
        };
        let (energy, momentum) = measure(&flock);
        flock.run(0.001, 10_000);
        let (energy_after, momentum_after) = measure(&flock);
        let energy_error = (energy_after / energy - 1.0).abs();
        let momentum_error = (momentum_after - momentum).length() / momentum.length();
        println!("energy {energy_error:e}, angular momentum {momentum_error:e}");
        assert!(energy_error < 1e-6, "{energy_error:e}");
        assert!(momentum_error < 1e-6, "{momentum_error:e}");
        assert!((flock.orientation().length() - 1.0).abs() < 1e-14);
    }

    /// Where a manoeuvre with uneven rotors ends, integrated in `ticks` ticks.
    fn manoeuvre(ticks: usize) -> DVec3 {
        let mut flock = flock(&[]);
        flock.set_vec3(body::WIND, DVec3::new(3.0, 1.0, 0.0));
        flock.set(COMMAND, &[470.0, 460.0, 480.0, 455.0]);
        flock.run(0.8 / ticks as f64, ticks);
        flock.vec3(body::POSITION)
    }

    #[test]
    fn the_integrator_is_of_second_order() {
        let exact = manoeuvre(1 << 14);
        let errors: Vec<f64> = [6, 7, 8, 9].map(|power| (manoeuvre(1 << power) - exact).length()).into();
        let slope = (errors[0] / errors[3]).log2() / 3.0;
        println!("errors {errors:?}, order {slope}");
        assert!((1.9..2.3).contains(&slope), "{slope} {errors:?}");
    }

    #[test]
    fn registers_of_all_widths_give_the_same_bits() {
        let motion = build(&KIND, &[("thrust_linear_ns", number(1e-4))]);
        check_same_bits(&motion, setpoint::NONE, &[(440.0, 470.0); 4], 3.0);
    }
}
