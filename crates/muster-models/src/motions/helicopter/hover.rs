//! Hover in closed form: momentum theory gives the inflow of a thrust, blade elements the pitch for it, and the power
//! the torque that the tail rotor holds.

use super::{Constants, GRAVITY_MPS2, HelicopterSpec, Rotor};
use glam::DVec3;
use muster_core::math;

/// The balance of a helicopter in hover over still air. The disc leans by what the tail rotor's height asks for; that the
/// body leans with it is left out, which for an RMAX is 0.2 % of thrust.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hover {
    /// Thrust of the main rotor.
    pub thrust_n: f64,
    /// Blade pitch of the main rotor.
    pub collective_rad: f64,
    /// Speed of the air through the main rotor.
    pub inflow_mps: f64,
    /// Power of the main rotor.
    pub power_w: f64,
    /// Blade pitch of the tail rotor.
    pub pedal_rad: f64,
    /// Speed of the air through the tail rotor.
    pub tail_inflow_mps: f64,
    /// How far the disc leans to the left.
    pub disc_left_rad: f64,
}

impl Rotor {
    /// Inflow and blade pitch that give a thrust while the hub rests in the air; the pitch is 0 without blades.
    pub(super) fn balance(&self, thrust_n: f64) -> (f64, f64) {
        let inflow = (thrust_n.abs() / self.twice_flow).sqrt().copysign(thrust_n);
        let pitch = 3.0 * (thrust_n / self.lift + 0.5 * self.per_tip * inflow);
        (inflow, if self.lift > 0.0 { pitch } else { 0.0 })
    }
}

impl Hover {
    /// The balance under this gravity.
    pub fn new(spec: &HelicopterSpec, gravity_mps2: f64) -> Self {
        let constants = Constants::new(spec);
        let thrust_n = spec.mass_kg * gravity_mps2;
        let (inflow_mps, collective_rad) = constants.main.balance(thrust_n);
        let power_w = constants.induced * thrust_n * inflow_mps + constants.main.profile;
        let push_n = power_w / (spec.rotor_speed_radps * spec.tail_arm_m);
        let (tail_inflow_mps, pedal_rad) = constants.tail.balance(push_n);
        let lever = spec.hub_stiffness_nm + thrust_n * spec.hub_height_m;
        let lean = -constants.tail_side * push_n * spec.tail_height_m / lever;
        let disc_left_rad = if lever > 0.0 { lean } else { 0.0 };
        Self { thrust_n, collective_rad, inflow_mps, power_w, pedal_rad, tail_inflow_mps, disc_left_rad }
    }
}

/// The model turned around: blade pitches for the thrust and the turn acceleration that are asked, with inflow and
/// torque as they are in balance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inverse {
    constants: Constants,
    inertia_z: f64,
    speed: f64,
    /// How far to the left the disc leans for a push of the tail rotor to the left, so that it does not roll the body.
    lean_per_push: f64,
    /// Thrust in hover.
    thrust: f64,
}

/// What gives a thrust.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lift {
    pub(crate) pitch_rad: f64,
    pub(crate) power_w: f64,
}

impl Inverse {
    pub(crate) fn new(spec: &HelicopterSpec) -> Self {
        let hover = Hover::new(spec, GRAVITY_MPS2);
        let lever = spec.hub_stiffness_nm + hover.thrust_n * spec.hub_height_m;
        let lean_per_push = if lever > 0.0 { -spec.tail_height_m / lever } else { 0.0 };
        Self {
            constants: Constants::new(spec),
            inertia_z: spec.inertia_kgm2[2],
            speed: spec.rotor_speed_radps,
            lean_per_push,
            thrust: hover.thrust_n,
        }
    }

    /// Blade pitch and power of the main rotor for a thrust, at a velocity through the air in the body's frame.
    #[inline(always)]
    pub(crate) fn lift(&self, thrust_n: f64, v: DVec3) -> Lift {
        let main = &self.constants.main;
        let across_square = v.x * v.x + v.y * v.y;
        let advance = across_square * (main.per_tip * main.per_tip);
        let inflow = inflow(thrust_n / main.twice_flow, across_square, v.z);
        let pitch = (thrust_n / main.lift + 0.5 * main.per_tip * (inflow + v.z)) / (1.0 / 3.0 + 0.5 * advance);
        let power = thrust_n * (self.constants.induced * inflow + v.z) + main.profile * (1.0 + (7.0 / 3.0) * advance);
        let (low, high) = self.constants.collective;
        Lift { pitch_rad: math::clamp(pitch, low, high), power_w: math::max(power, 0.0) }
    }

    /// While the tail rotor holds the torque of a power: how far the disc leans to the left, and the acceleration of
    /// the body to the left by both.
    #[inline(always)]
    pub(crate) fn lean(&self, power_w: f64) -> (f64, f64) {
        let push = self.constants.tail_side * power_w / (self.speed * self.constants.tail_arm);
        let lean = self.lean_per_push * push;
        (lean, (push + lean * self.thrust) * self.constants.per_mass)
    }

    /// Blade pitch of the tail rotor that holds the torque of a power and gives a turn acceleration besides, at a
    /// sideways speed and rates of the body.
    #[inline(always)]
    pub(crate) fn pedal_rad(&self, power_w: f64, spin: f64, (sideways_mps, rate): (f64, DVec3)) -> f64 {
        let constants = &self.constants;
        let side = constants.tail_side;
        let push = (power_w / self.speed - side * self.inertia_z * spin) / constants.tail_arm;
        let along = side * (sideways_mps - rate.z * constants.tail_arm - rate.x * constants.tail_height);
        let inflow = (push.abs() / constants.tail.twice_flow).sqrt().copysign(push);
        let pitch = 3.0 * (push / constants.tail.lift + 0.5 * constants.tail.per_tip * (inflow + along));
        math::clamp(pitch, constants.pedal.0, constants.pedal.1)
    }
}

/// Inflow of momentum theory, given the square of that in hover: exact in level flight and to first order in climb.
#[inline(always)]
fn inflow(hover_square: f64, across_square: f64, along: f64) -> f64 {
    let half = 0.5 * across_square;
    let level = math::max((half * half + hover_square * hover_square).sqrt() - half, 0.0).sqrt();
    let through = level + along;
    // in a descent as fast as the inflow there would be no flow at all
    let flow_square = math::max(across_square + through * through, 0.1 * hover_square + 1e-9);
    0.5 * (level + hover_square / flow_square.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflow_is_that_of_momentum_theory_in_level_flight_and_slow_climbs() {
        for (across, along) in [(0.0, 0.0), (10.0, 0.0), (30.0, 0.0), (0.0, 0.5), (5.0, -0.5), (8.0, 1.0)] {
            let found = inflow(42.0, across * across, along);
            let thrust = found * f64::hypot(across, found + along);
            assert!(
                (thrust / 42.0 - 1.0).abs() < if along == 0.0 { 1e-12 } else { 0.03 },
                "{across} {along}: {thrust}"
            );
        }
    }
}
