//! Steady straight flight: the angle of attack, elevator and throttle at which forces and moments balance.
//!
//! With wings level and no rates the pitching moment gives the elevator as a function of α, the force across the body's
//! x axis an equation for α alone, and the force along it the thrust.

use super::{Constants, FixedWingSpec, lift_of_alpha};
use muster_core::math;

/// Standard gravity.
const GRAVITY_MPS2: f64 = 9.80665;

/// The balance of steady straight flight, in the book's signs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trim {
    /// Angle of attack.
    pub alpha_rad: f64,
    /// Pitch, nose up positive: angle of attack plus climb angle.
    pub pitch_rad: f64,
    /// Elevator.
    pub elevator_rad: f64,
    /// Throttle, from 0 to 1.
    pub throttle: f64,
}

/// The balance at this airspeed and climb angle under standard gravity, without wind; `None` if there is none below
/// stall within the limits of elevator and throttle.
pub fn trim(spec: &FixedWingSpec, airspeed_mps: f64, climb_rad: f64) -> Option<Trim> {
    let constants = Constants::new(spec);
    let weight = spec.mass_kg * GRAVITY_MPS2;
    let dynamic = constants.half_density * airspeed_mps * airspeed_mps;
    let elevator_of = |alpha: f64| -(constants.pitch_0 + constants.pitch_alpha * alpha) / constants.pitch_elevator;
    let forces = |alpha: f64| {
        let sin_cos = math::sin_cos(alpha);
        let linear = constants.lift_0 + constants.lift_alpha * alpha;
        let lift =
            constants.plate * lift_of_alpha(alpha, sin_cos, &constants) + constants.lift_elevator * elevator_of(alpha);
        let drag = constants.drag_p
            + constants.drag_lift * linear * linear
            + constants.drag_elevator * elevator_of(alpha).abs();
        (lift * dynamic, drag * dynamic, sin_cos)
    };
    // what lifts the aircraft across its x axis beyond what it weighs there
    let excess = |alpha: f64| {
        let (lift, drag, (sine, cosine)) = forces(alpha);
        lift * cosine + drag * sine - weight * math::cos(alpha + climb_rad)
    };
    let alpha = bisect(excess, -0.5 * spec.stall_rad, spec.stall_rad)?;
    let (lift, drag, (sine, cosine)) = forces(alpha);
    let thrust = weight * math::sin(alpha + climb_rad) + drag * cosine - lift * sine;
    let jet_square = thrust / (constants.half_density * constants.thrust) + airspeed_mps * airspeed_mps;
    let throttle = jet_square.max(0.0).sqrt() / constants.jet;
    let trim = Trim { alpha_rad: alpha, pitch_rad: alpha + climb_rad, elevator_rad: elevator_of(alpha), throttle };
    let possible = jet_square >= 0.0 && throttle <= 1.0 && trim.elevator_rad.abs() <= spec.surface_max_rad;
    possible.then_some(trim)
}

/// The root of an increasing function between two arguments.
fn bisect(function: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> Option<f64> {
    // the negation also refuses NaN
    if !(function(low) <= 0.0 && function(high) >= 0.0) {
        return None;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if function(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(0.5 * (low + high))
}
