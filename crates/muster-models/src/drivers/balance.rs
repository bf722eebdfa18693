//! Balance: keeps a two-wheeled pendulum (motion [`segway`](crate::motions::segway)) upright and drives it.
//!
//! The gains are those of linear-quadratic control (`lqr.rs`) of the model linearised about standing upright,
//! with pitch θ, its rate, speed and the integral of the error of speed as states and the sum of both motors' torques
//! as input:
//!
//! ```text
//! θ̈ = (M m g l θ − (M + m l/r) τ)/D     v̇ = (−(m l)² g θ + (J/r + m l) τ)/D     D = M J − (m l)²
//! ```
//!
//! Weights are natural units of the robot itself, so no number is tuned for one robot: angles count by 1 rad, rates by
//! the rate λ at which it falls, speeds by g/λ, the integral by g/λ² and torques by m g l.
//!
//! What is commanded goes through the model first: the linearised model, controlled without the integral, follows the
//! commanded speed, which grows within an acceleration; the robot follows the model. So the integral holds against
//! friction and errors of the model, and does not overshoot what no pendulum could do at once. Turning is controlled
//! with turn rate and the integral of its error as states.
//!
//! Pose and velocity come from `truth`. Setpoints: velocity (forward, and turn rate); direct leaves the inputs alone; in
//! any other mode the robot stands. A robot that has pitched too far switches its motors off.
//!
//! Masses and lengths must be those of the motion; the defaults are those of its defaults.

use super::lqr;
use crate::motions::segway::{Parts, Plant, pitch_of};
use crate::sensors::truth;
use muster_core::component::{Control, Driver, Kind, Pose, Subscription};
use muster_core::lanes::{Quantity, setpoint};
use muster_core::math;
use muster_core::node::{Node, Value};
use muster_core::spec;
use muster_core::spec::Spec;
use std::sync::Arc;

spec! {
    /// Parameters of the balancing controller.
    pub struct BalanceSpec {
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
        /// Gravity the gains are made for.
        gravity_mps2: f64 = 9.80665, in 0.001..=1000.0;
        /// The greatest acceleration asked.
        accel_max_mps2: f64 = 1.0, in 0.001..=1000.0;
        /// The greatest acceleration of the turn rate asked.
        turn_accel_max_radps2: f64 = 3.0, in 0.001..=1000.0;
        /// The greatest speed asked.
        speed_max_mps: f64 = 4.4, in 0.0..=100.0;
        /// The greatest turn rate asked.
        turn_max_radps: f64 = 2.0, in 0.0..=100.0;
        /// Pitch beyond which the motors are off.
        pitch_off_rad: f64 = 0.8, in 0.01..=1.5;
        /// Name of the sensor of pose and velocity.
        pose: String = "truth".to_owned();
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "balance",
    doc: "Keeps a two-wheeled pendulum upright and drives it to velocity setpoints, by linear-quadratic control.",
    fields: BalanceSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <BalanceSpec as Spec>::read(node, path, also, problems)?;
        Some(Arc::new(Balance::new(spec, rate_of(node))))
    },
};

const DEFAULT_RATE_HZ: f64 = 200.0;

/// The driver's `rate_hz`, on which the gains depend; whether it is one is for whoever reads it for the schedule to say.
fn rate_of(node: &Node) -> f64 {
    let rate_hz = match node.get("rate_hz").map(|rate| &rate.value) {
        Some(&Value::Number(hz)) => hz,
        Some(&Value::Integer(hz)) => hz as f64,
        _ => DEFAULT_RATE_HZ,
    };
    math::clamp(rate_hz, 1.0, 1e6)
}

struct Balance {
    spec: BalanceSpec,
    plant: Plant,
    /// Gains on pitch, pitch rate and speed of the model.
    lead: [f64; 3],
    /// Gains on the errors of pitch, pitch rate and speed, and on the integral of the last.
    upright: [f64; 4],
    /// Gains on the error of the turn rate and its integral.
    around: [f64; 2],
    /// The model, sampled.
    model: (lqr::Matrix<3>, [f64; 3]),
    /// The integral of the error of speed stays within this.
    integral_max_m: f64,
}

const ASKED: usize = 0;
/// Pitch, pitch rate and speed of the model.
const MODEL: usize = 1;
const SPEED_INTEGRAL: usize = 4;
const TURN: usize = 5;
const TURN_INTEGRAL: usize = 6;
const MEMORY: usize = 7;

/// What the motion's parameters come down to, as far as a controller needs them.
fn plant_of(spec: &BalanceSpec) -> Plant {
    Plant::new(&Parts {
        body_mass_kg: spec.body_mass_kg,
        body_inertia_kgm2: spec.body_inertia_kgm2,
        centre_height_m: spec.centre_height_m,
        wheel_mass_kg: spec.wheel_mass_kg,
        wheel_inertia_kgm2: spec.wheel_inertia_kgm2,
        wheel_radius_m: spec.wheel_radius_m,
        wheel_gap_m: spec.wheel_gap_m,
    })
}

impl Balance {
    fn new(spec: BalanceSpec, rate_hz: f64) -> Self {
        let plant = plant_of(&spec);
        let (period_s, gravity) = (1.0 / rate_hz, spec.gravity_mps2);
        let fall = plant.fall_rate(gravity);
        let (mass, lever, pitch, radius) = (plant.mass, plant.lever, plant.pitch, plant.radius);
        let per = 1.0 / (mass * pitch - lever * lever);
        let tip = per * mass * lever * gravity;
        let drift = -per * lever * lever * gravity;
        let [by_pitch, by_speed] = [-per * (mass + lever / radius), per * (pitch / radius + lever)];
        let (speed, weight) = (gravity / fall, lever * gravity);
        let square = |x: f64| x * x;
        let weights = [1.0, 1.0 / square(fall), 1.0 / square(speed), square(fall / speed)];
        let effort = 1.0 / square(weight);
        let a = [[0.0, 1.0, 0.0, 0.0], [tip, 0.0, 0.0, 0.0], [drift, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
        let (sampled_a, sampled_b) = lqr::sampled(&a, &[0.0, by_pitch, by_speed, 0.0], period_s);
        let upright = lqr::gains((&sampled_a, &sampled_b), &weights, effort);
        let a = [[0.0, 1.0, 0.0], [tip, 0.0, 0.0], [drift, 0.0, 0.0]];
        let model = lqr::sampled(&a, &[0.0, by_pitch, by_speed], period_s);
        let lead = lqr::gains((&model.0, &model.1), &[weights[0], weights[1], weights[2]], effort);

        let by_torque = 0.5 * plant.gap / (radius * plant.yaw);
        let (sampled_a, sampled_b) = lqr::sampled(&[[0.0, 0.0], [1.0, 0.0]], &[by_torque, 0.0], period_s);
        let around = lqr::gains((&sampled_a, &sampled_b), &[1.0, square(fall)], square(by_torque / fall));
        Self { spec, plant, lead, upright, around, model, integral_max_m: speed / fall }
    }

    /// Sum and difference of the torques for what is sensed and wanted; moves the memory on.
    fn torques(&self, memory: &mut Memory, sensed: &Sensed, wanted: (f64, f64), period_s: f64) -> (f64, f64) {
        let spec = &self.spec;
        let [pitch, rate, speed] = [memory[MODEL], memory[MODEL + 1], memory[MODEL + 2]];
        let errors = [sensed.pitch - pitch, sensed.pitch_rate - rate, sensed.speed - speed, memory[SPEED_INTEGRAL]];
        let model_torque = self.move_model(memory, wanted.0, spec.accel_max_mps2 * period_s);
        let sum = model_torque - self.upright.iter().zip(errors).map(|(gain, error)| gain * error).sum::<f64>();

        let step = spec.turn_accel_max_radps2 * period_s;
        let change = math::clamp(wanted.1 - memory[TURN], -step, step);
        memory[TURN] += change;
        let spin = sensed.turn - memory[TURN];
        let ahead = change / period_s * self.plant.yaw * 2.0 * self.plant.radius / self.plant.gap;
        let difference = ahead - self.around[0] * spin - self.around[1] * memory[TURN_INTEGRAL];
        let limit = self.integral_max_m;
        memory[SPEED_INTEGRAL] = math::clamp(memory[SPEED_INTEGRAL] + period_s * errors[2], -limit, limit);
        memory[TURN_INTEGRAL] = math::clamp(memory[TURN_INTEGRAL] + period_s * spin, -1.0, 1.0);
        (sum, difference)
    }

    /// Moves the model on by a period; the torque that does so.
    fn move_model(&self, memory: &mut Memory, speed: f64, step: f64) -> f64 {
        memory[ASKED] += math::clamp(speed - memory[ASKED], -step, step);
        let state = [memory[MODEL], memory[MODEL + 1], memory[MODEL + 2]];
        let torque = -self.lead[0] * state[0] - self.lead[1] * state[1] - self.lead[2] * (state[2] - memory[ASKED]);
        for (value, (row, by)) in memory[MODEL..].iter_mut().zip(self.model.0.iter().zip(self.model.1)) {
            *value = row[0] * state[0] + row[1] * state[1] + row[2] * state[2] + by * torque;
        }
        torque
    }
}

/// What the law remembers of a robot.
type Memory = [f64; MEMORY];

/// What the law reads of a robot.
struct Sensed {
    pitch: f64,
    pitch_rate: f64,
    speed: f64,
    turn: f64,
}

impl Driver for Balance {
    fn state(&self) -> &'static [Quantity] {
        const {
            &[
                Quantity::one("asked_mps"),
                Quantity::one("model_pitch_rad"),
                Quantity::one("model_pitch_rate_radps"),
                Quantity::one("model_speed_mps"),
                Quantity::one("speed_integral_m"),
                Quantity::one("turn_radps"),
                Quantity::one("turn_integral_rad"),
            ]
        }
    }

    fn default_rate_hz(&self) -> f64 {
        DEFAULT_RATE_HZ
    }

    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::own(&self.spec.pose, "truth")]
    }

    fn commands(&self) -> &'static [&'static str] {
        const { &["torque_left_nm", "torque_right_nm"] }
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, _: Pose) {
        control.state.iter_mut().for_each(|column| column[lane] = 0.0);
    }

    fn control(&self, control: &mut Control<'_>) {
        let limits = (self.spec.speed_max_mps, self.spec.turn_max_radps);
        while let Some(lane) = control.next_lane() {
            let mode = control.mode[lane];
            if mode == setpoint::DIRECT {
                continue;
            }
            let reading = control.reading(0, lane);
            let orientation = reading.quat(truth::ORIENTATION);
            let turning = reading.vec3(truth::ANGULAR_VELOCITY);
            let velocity = reading.vec3(truth::VELOCITY);
            let heading = super::heading::Heading::of(orientation);
            let sensed = Sensed {
                pitch: pitch_of(orientation),
                pitch_rate: turning.y,
                speed: heading.of_world(velocity).x,
                turn: math::rotate(orientation, turning).z,
            };
            let on = reading.stamp.is_some() && sensed.pitch.abs() < self.spec.pitch_off_rad;
            let driven = mode == setpoint::VELOCITY;
            let speed = if driven { math::clamp(control.setpoint[0][lane], -limits.0, limits.0) } else { 0.0 };
            let turn = if driven { math::clamp(control.setpoint[3][lane], -limits.1, limits.1) } else { 0.0 };
            let mut memory = std::array::from_fn(|at| control.state[at][lane]);
            let (sum, difference) = match on {
                true => self.torques(&mut memory, &sensed, (speed, turn), control.period_s),
                false => {
                    memory = [0.0; MEMORY];
                    (0.0, 0.0)
                }
            };
            for (column, value) in control.state.iter_mut().zip(memory) {
                column[lane] = value;
            }
            control.inputs[0][lane] = 0.5 * (sum - difference);
            control.inputs[1][lane] = 0.5 * (sum + difference);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motions::segway;
    use muster_core::node::Problems;

    fn balance(scale: f64, rate_hz: f64) -> Balance {
        let mut spec =
            <BalanceSpec as Spec>::read(&Node::default(), "", &[], &mut Problems::default()).expect("defaults");
        // a robot of this size in the same material: masses by the cube, inertias by the fifth power
        let cube = scale * scale * scale;
        spec.body_mass_kg *= cube;
        spec.wheel_mass_kg *= cube;
        spec.body_inertia_kgm2 = spec.body_inertia_kgm2.map(|inertia| inertia * cube * scale * scale);
        spec.wheel_inertia_kgm2 *= cube * scale * scale;
        for length in [&mut spec.centre_height_m, &mut spec.wheel_radius_m, &mut spec.wheel_gap_m] {
            *length *= scale;
        }
        Balance::new(spec, rate_hz)
    }

    #[test]
    fn defaults_are_those_of_the_motion() {
        let mut common = 0;
        for field in segway::KIND.fields {
            if let Some(own) = KIND.fields.iter().find(|own| own.name == field.name && own.name != "speed_max_mps") {
                assert_eq!((own.default)(), (field.default)(), "{}", field.name);
                common += 1;
            }
        }
        assert_eq!(common, 7);
    }

    /// Gravity tips a robot of any size by the same torque relative to its weight and length: gains follow.
    #[test]
    fn gains_of_a_robot_twice_the_size_follow_from_the_laws_of_similarity() {
        let (small, large) = (balance(1.0, 400.0), balance(2.0, 400.0 / 2.0_f64.sqrt()));
        // torque by angle, by rate, by speed, by distance: mass times length, and times the root of length for time
        let expected = [16.0, 16.0 * 2.0_f64.sqrt(), 16.0 / 2.0_f64.sqrt(), 8.0];
        for ((small, large), expected) in small.upright.iter().zip(large.upright).zip(expected) {
            assert!((large / small / expected - 1.0).abs() < 1e-6, "{large} {small} {expected}");
        }
    }

    #[test]
    fn any_size_and_rate_is_stable_when_linearised() {
        for (scale, rate_hz) in [(0.1, 500.0), (1.0, 200.0), (1.0, 50.0), (3.0, 20.0)] {
            let balance = balance(scale, rate_hz);
            let (plant, gravity) = (&balance.plant, 9.80665);
            let per = 1.0 / (plant.mass * plant.pitch - plant.lever * plant.lever);
            let mut x = [0.05, 0.0, 0.0, 0.0];
            // by Euler's method, with the torque held for a period of 100 steps
            let dt = 0.01 / rate_hz;
            for _ in 0..(30.0 * rate_hz) as usize {
                let torque = -balance.upright.iter().zip(x).map(|(gain, x)| gain * x).sum::<f64>();
                for _ in 0..100 {
                    let tip = plant.lever * gravity * x[0] - torque;
                    let rate = per * (plant.mass * tip - plant.lever * torque / plant.radius);
                    let speed = per * (plant.pitch * torque / plant.radius - plant.lever * tip);
                    x = [x[0] + dt * x[1], x[1] + dt * rate, x[2] + dt * speed, x[3] + dt * x[2]];
                }
            }
            assert!(x.iter().all(|x| x.abs() < 1e-3), "{scale} {rate_hz}: {x:?}");
        }
    }
}
