//! Rotorcraft: attitudes and thrust, and speeds of engines.

use super::{build, first};
use glam::DVec3;
use muster_core::actuator::{Actuator, Ask, Deed, Input, Offer, Told, numbers};
use muster_core::component::Kind;
use muster_core::math;
use muster_core::model::{Blueprint, Cohort};
use muster_core::service::View;
use muster_core::spec::Spec;
use muster_core::{choice, spec};

spec! {
    /// Parameters of attitude.
    pub struct Attitude {
        /// Thrust in newtons for `thrust` = 1.
        thrust_max_n: f64 = 40.0, in 0.001..=1e6;
        /// The thrust goes with the square of `thrust`.
        square: bool = false;
    }
}

spec! {
    /// Parameters of stabilized.
    pub struct Stabilized {
    }
}

choice! {
    /// Where the forward axis lies between the arms of a quadrotor.
    pub enum Arms {
        /// Along an arm: engines are rear, right, front, left.
        Plus = "plus",
        /// Between two arms: engines are front left, front right, rear right, rear left.
        Cross = "cross",
    }
}

spec! {
    /// Parameters of engines. The defaults are those of MORSE's quadrotor.
    pub struct Engines {
        /// Thrust of an engine for the square of its speed: N/(rad/s)².
        thrust_ns2: f64 = 9.169e-6, in 1e-15..=1.0;
        /// Drag torque of an engine for the square of its speed: N m/(rad/s)².
        drag_nms2: f64 = 2.4e-7, in 0.0..=1.0;
        /// From the centre to each engine.
        lever_m: f64 = 0.18, in 0.001..=10.0;
        /// Where the forward axis lies.
        arms: Arms = Arms::Plus;
    }
}

/// Attitude and thrust.
pub const ATTITUDE: Kind<dyn Actuator> = Kind {
    name: "attitude",
    doc: "Attitude and thrust from 0 to 1 in axes forward, right, down: {roll, pitch, yaw, thrust}; yaw is a rate.",
    fields: Attitude::FIELDS,
    build: &build::<Attitude>,
};

/// Attitude and height.
pub const STABILIZED: Kind<dyn Actuator> = Kind {
    name: "stabilized",
    doc: "Pitch, roll, heading and height: {theta_c, phi_c, psi_c, h_c}; set_cons, stop. Level, it stays where it is.",
    fields: Stabilized::FIELDS,
    build: &build::<Stabilized>,
};

/// Speeds of engines.
pub const ENGINES: Kind<dyn Actuator> = Kind {
    name: "engines",
    doc: "Speeds of four engines, rad/s, for the motion quadrotor: {engines}. The same force and torque act, as far as the \
          rotors can.",
    fields: Engines::FIELDS,
    build: &build::<Engines>,
};

/// A controller holds attitudes.
fn holds_attitude(cohort: &Cohort) -> Result<(), String> {
    match cohort.blueprint.drivers.iter().any(|slot| slot.name == "controller") {
        true => Ok(()),
        false => Err("found no controller, expected one that holds attitudes, such as flight_control".to_owned()),
    }
}

fn mass_kg(robot: &View<'_>) -> f64 {
    robot.blueprint().and_then(|blueprint| constant(blueprint, "mass_kg")).unwrap_or(1.0)
}

fn constant(blueprint: &Blueprint, name: &str) -> Option<f64> {
    blueprint.motion.constants().iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

impl Actuator for Attitude {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        vec![
            Input::number("roll", "Roll, to the right, rad."),
            Input::number("pitch", "Pitch, nose up, rad."),
            Input::number("yaw", "Turn rate, to the right, rad/s."),
            Input::number("thrust", "Thrust, from 0 to 1."),
        ]
    }

    fn service(&self) -> &'static str {
        "attitude"
    }

    fn fits(&self, cohort: &Cohort) -> Result<(), String> {
        holds_attitude(cohort)
    }

    fn command(&self, _: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        let [roll, pitch, turn, thrust] = first(values)?;
        let thrust = math::clamp(thrust, 0.0, 1.0);
        let share = if self.square { thrust * thrust } else { thrust };
        Ok(Ask::own("attitude", &[roll, -pitch, -turn, share * self.thrust_max_n]))
    }
}

/// Gains of MORSE's model of a stabilized quadrotor: its height is a damped oscillator of 3 rad/s.
const HEIGHT_PER_S2: f64 = 9.0;
const CLIMB_PER_S: f64 = 4.2;
const TURN_PER_S: f64 = 1.0;

impl Stabilized {
    /// Level: hold the place at that height. Tilted: that attitude, with the thrust that heads for the height.
    fn hold(robot: &View<'_>, [pitch, roll, yaw, height_m]: [f64; 4]) -> Ask {
        let pose = robot.pose();
        if pitch == 0.0 && roll == 0.0 {
            return Ask::own("position", &[pose.position_m.x, pose.position_m.y, height_m, yaw]);
        }
        let world = robot.world();
        let name = robot.robot().map(muster_core::state::Robot::address).unwrap_or_default();
        let climb_mps =
            world.property(&format!("{name}.velocity_mps")).ok().and_then(|v| v.get(2).copied()).unwrap_or(0.0);
        let gravity = -world.model().environment.gravity_mps2.z;
        let lift = gravity + HEIGHT_PER_S2 * (height_m - pose.position_m.z) - CLIMB_PER_S * climb_mps;
        let turn = TURN_PER_S * math::wrap_angle(yaw - math::yaw_from_quat(pose.orientation));
        let upright = math::max(math::cos(pitch) * math::cos(roll), 0.2);
        Ask::own("attitude", &[roll, pitch, turn, mass_kg(robot) * math::max(lift, 0.0) / upright])
    }
}

impl Actuator for Stabilized {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        vec![
            Input::number("theta_c", "Pitch, nose down, rad."),
            Input::number("phi_c", "Roll, to the right, rad."),
            Input::number("psi_c", "Heading from east, counter-clockwise, rad."),
            Input::number("h_c", "Height, m."),
        ]
    }

    fn service(&self) -> &'static str {
        "attitude"
    }

    fn fits(&self, cohort: &Cohort) -> Result<(), String> {
        holds_attitude(cohort)
    }

    fn command(&self, robot: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        Ok(Self::hold(robot, first(values)?))
    }

    fn offers(&self) -> &'static [Offer] {
        const {
            &[
                Offer {
                    name: "set_cons",
                    takes: &["phi", "theta", "psi", "h"],
                    least: 4,
                    doc: "Roll, pitch, by how much to turn, and height.",
                },
                Offer { name: "stop", takes: &[], least: 0, doc: "Stops the robot." },
            ]
        }
    }

    fn ask(&self, robot: &View<'_>, offer: &str, arguments: &[Told]) -> Result<Deed, String> {
        if offer == "stop" {
            return Ok(Deed::ask(Ask::own("stop", &[]), Told::Nothing));
        }
        let [roll, pitch, turn, height_m] = numbers(arguments, [0.0; 4])?;
        let yaw = math::yaw_from_quat(robot.pose().orientation) + turn;
        Ok(Deed::ask(Self::hold(robot, [pitch, roll, yaw, height_m]), Told::Nothing))
    }
}

impl Engines {
    /// Thrust and torque about forward, left and up of engines at these speeds.
    fn wrench(&self, speeds: [f64; 4]) -> (f64, DVec3) {
        let [first, second, third, fourth] = speeds.map(|speed| speed * speed);
        let (lift, drag) = (self.thrust_ns2, self.drag_nms2);
        let lever = lift * self.lever_m;
        let turn = drag * (second + fourth - first - third);
        let torque = match self.arms {
            Arms::Plus => DVec3::new(lever * (fourth - second), lever * (first - third), turn),
            Arms::Cross => {
                let lever = lever * std::f64::consts::FRAC_1_SQRT_2;
                DVec3::new(lever * (first + fourth - second - third), lever * (third + fourth - first - second), turn)
            }
        };
        (lift * (first + second + third + fourth), torque)
    }
}

/// Speeds of the four rotors of the motion `quadrotor` for thrust and torque, see there for their order.
fn rotor_speeds((thrust, torque): (f64, DVec3), blueprint: &Blueprint) -> [f64; 4] {
    let get = |name: &str| constant(blueprint, name).unwrap_or(1.0);
    let (arm, ratio) = (get("arm_m") * std::f64::consts::FRAC_1_SQRT_2, get("moment_ratio_m"));
    let (linear, square) = (constant(blueprint, "thrust_linear_ns").unwrap_or(0.0), get("thrust_square_ns2"));
    let share = 0.25 * DVec3::new(torque.x / arm, torque.y / arm, torque.z / math::max(ratio, 1e-9));
    let signs = [(1.0, -1.0, 1.0), (-1.0, -1.0, -1.0), (-1.0, 1.0, 1.0), (1.0, 1.0, -1.0)];
    signs.map(|(x, y, z)| {
        let force = math::max(0.25 * thrust + x * share.x + y * share.y + z * share.z, 0.0);
        ((linear * linear + 4.0 * square * force).sqrt() - linear) / (2.0 * square)
    })
}

impl Actuator for Engines {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        vec![Input::list("engines", 4, "Speeds of the engines, rad/s.")]
    }

    fn service(&self) -> &'static str {
        "inputs"
    }

    fn fits(&self, cohort: &Cohort) -> Result<(), String> {
        let blueprint = &cohort.blueprint;
        if blueprint.motion_kind != "quadrotor" {
            return Err(format!("found motion {:?}, expected quadrotor", blueprint.motion_kind));
        }
        match blueprint.drivers.iter().find(|slot| slot.name == "controller") {
            None => Ok(()),
            Some(slot) => {
                Err(format!("found controller {:?}, which commands the rotors, expected controller: null", slot.kind))
            }
        }
    }

    fn command(&self, robot: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        let blueprint = robot.blueprint().ok_or("the robot is gone")?;
        Ok(Ask::own("inputs", &rotor_speeds(self.wrench(first(values)?), blueprint)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engines(arms: Arms) -> Engines {
        Engines { thrust_ns2: 9.169e-6, drag_nms2: 2.4e-7, lever_m: 0.18, arms }
    }

    #[test]
    fn engines_push_and_turn_as_their_places_on_the_arms_say() {
        // a faster rear engine pushes the nose down, a faster right engine rolls to the left
        let (thrust, torque) = engines(Arms::Plus).wrench([500.0, 400.0, 400.0, 400.0]);
        let expected = 9.169e-6 * (250_000.0 + 3.0 * 160_000.0);
        assert!((thrust - expected).abs() < 1e-9 && torque.y > 0.0 && torque.x == 0.0 && torque.z < 0.0, "{torque}");
        let (_, torque) = engines(Arms::Plus).wrench([400.0, 500.0, 400.0, 400.0]);
        assert!(torque.x < 0.0 && torque.y == 0.0 && torque.z > 0.0, "{torque}");
        // the front left engine of a cross rolls to the right and pitches up
        let (_, torque) = engines(Arms::Cross).wrench([500.0, 400.0, 400.0, 400.0]);
        assert!(torque.x > 0.0 && torque.y < 0.0, "{torque}");
    }
}
