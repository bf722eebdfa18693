//! Hover in closed form: momentum theory gives the inflow of a thrust, blade elements the pitch for it, and the power
//! the torque that the tail rotor holds.

use super::{Constants, HelicopterSpec, Rotor};

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
