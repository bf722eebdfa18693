//! Gains of the autopilot from the coefficients of the aircraft at the design airspeed.
//!
//! The book's transfer functions, with Γ of its (3.13):
//!
//! ```text
//! roll   p' = -a_φ1 p + B [δa δr]      a_φ1 = -¼ρVa S b² (Γ3 C_lp + Γ4 C_np)
//! yaw    r' = ... + B [δa δr]          B = ½ρVa² S b [Γ3 Γ4; Γ4 Γ8] [C_lδa C_lδr; C_nδa C_nδr]
//! pitch  q' = -a_θ1 q - a_θ2 α + a_θ3 δe,   ω² = a_θ2 + a_θ3 k_p,   2ζω = a_θ1 + a_θ3 k_d
//! ```
//!
//! Roll is the aileron's. Yaw is the rudder's, with an aileron that takes back what the rudder rolls: the Aerosonde's
//! rolls it far more than it yaws it, and the damper alone would shake the roll loop.

use super::AutopilotSpec;
use crate::motions::fixed_wing::{FixedWingSpec, gamma, trim};
use muster_core::math;
use muster_core::node::{Node, Problems};
use muster_core::spec::Spec;

/// Standard gravity.
pub(super) const GRAVITY_MPS2: f64 = 9.80665;

/// Thin air is made up for to a quarter and to four times the surfaces at the design airspeed.
const THINNESS: (f64, f64) = (0.25, 4.0);

/// What is multiplied in flight. Pairs of loops are for the error and for its integral or rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gains {
    pub(super) course: [f64; 2],
    pub(super) altitude: [f64; 2],
    pub(super) airspeed: [f64; 2],
    /// Roll acceleration for error and rate.
    pub(super) roll: [f64; 2],
    /// Yaw acceleration for rate.
    pub(super) yaw: f64,
    /// Aileron for roll and yaw acceleration.
    pub(super) aileron: [f64; 2],
    /// Rudder for roll and yaw acceleration.
    pub(super) rudder: [f64; 2],
    /// Elevator for pitch error and rate.
    pub(super) pitch: [f64; 2],
    /// Angle of attack of level flight: the part that grows with load and with thin air, and what is taken off.
    pub(super) alpha: [f64; 2],
    /// Elevator in balance: constant and for angle of attack.
    pub(super) elevator: [f64; 2],
    /// Horizontal acceleration at the greatest roll.
    pub(super) turn_acceleration: f64,
    pub(super) surface_max: f64,
    /// Square of the jet's speed for acceleration, and for drag as part of the square of the airspeed.
    pub(super) jet_mass: f64,
    pub(super) jet_drag: f64,
    pub(super) per_jet: f64,
    airspeed_square: f64,
}

/// What was found and what is expected instead.
type Unfit = (String, String);

impl Gains {
    pub(super) fn new(spec: &AutopilotSpec) -> Result<Self, Unfit> {
        let aerosonde = || <FixedWingSpec as Spec>::read(&Node::default(), "", &[], &mut Problems::default());
        let aircraft = spec.aircraft.clone().or_else(aerosonde);
        let aircraft = aircraft.ok_or_else(|| unfit("no aircraft", "an aircraft"))?;
        if !(spec.airspeed_min_mps < spec.airspeed_mps && spec.airspeed_mps <= spec.airspeed_max_mps) {
            let found = format!("airspeeds {} < {} <= {}", spec.airspeed_min_mps, spec.airspeed_mps, spec.airspeed_max_mps);
            return Err((found, "airspeed_min_mps < airspeed_mps <= airspeed_max_mps".to_owned()));
        }
        let airspeed = spec.airspeed_mps;
        let balance = trim(&aircraft, airspeed, 0.0).ok_or_else(|| {
            unfit(&format!("airspeed_mps {airspeed}"), "an airspeed at which the aircraft flies level")
        })?;
        let [roll, aileron, rudder] = lateral(spec, &aircraft)?;
        let pitch = longitudinal(spec, &aircraft)?;
        // lift for angle of attack with the elevator that balances it
        let elevator = [-aircraft.c_m_0 / aircraft.c_m_elevator, -aircraft.c_m_alpha / aircraft.c_m_elevator];
        let lift_0 = aircraft.c_l_0 + aircraft.c_l_elevator * elevator[0];
        let lift_alpha = aircraft.c_l_alpha + aircraft.c_l_elevator * elevator[1];
        let without_lift = -lift_0 / lift_alpha;
        let disc = 0.5 * aircraft.air_density_kgpm3 * aircraft.propeller_area_m2 * aircraft.c_prop;
        let jet = balance.throttle * aircraft.motor_mps / airspeed;
        Ok(Self {
            course: second_order(spec.course_radps, spec.course_damping),
            altitude: second_order(spec.altitude_radps, spec.altitude_damping),
            airspeed: second_order(spec.airspeed_radps, spec.airspeed_damping),
            roll,
            yaw: spec.yaw_damper_per_s,
            aileron,
            rudder,
            pitch,
            alpha: [balance.alpha_rad - without_lift, -without_lift],
            elevator,
            turn_acceleration: GRAVITY_MPS2 * math::tan(spec.roll_max_rad),
            surface_max: aircraft.surface_max_rad,
            jet_mass: aircraft.mass_kg / disc,
            jet_drag: jet * jet - 1.0,
            per_jet: 1.0 / aircraft.motor_mps,
            airspeed_square: airspeed * airspeed,
        })
    }

    /// How much more surface an acceleration needs than at the design airspeed.
    #[inline(always)]
    pub(super) fn thinness(&self, airspeed_mps: f64) -> f64 {
        let forward = math::max(airspeed_mps, 1.0);
        math::clamp(self.airspeed_square / (forward * forward), THINNESS.0, THINNESS.1)
    }
}

fn unfit(found: &str, expected: &str) -> Unfit {
    (found.to_owned(), expected.to_owned())
}

/// Gains for error and integral by which an integrating plant has this frequency and damping.
fn second_order(frequency_radps: f64, damping: f64) -> [f64; 2] {
    [2.0 * damping * frequency_radps, frequency_radps * frequency_radps]
}

/// Gains of the roll loop, and aileron and rudder for roll and yaw acceleration.
fn lateral(spec: &AutopilotSpec, aircraft: &FixedWingSpec) -> Result<[[f64; 2]; 3], Unfit> {
    let [_, _, g3, g4, _, _, _, g8, _] = gamma(aircraft);
    let (airspeed, span) = (spec.airspeed_mps, aircraft.wing_span_m);
    let moment = 0.5 * aircraft.air_density_kgpm3 * airspeed * airspeed * aircraft.wing_area_m2 * span;
    let rolling = |which: usize| moment * (g3 * aircraft.c_roll[which] + g4 * aircraft.c_yaw[which]);
    let yawing = |which: usize| moment * (g4 * aircraft.c_roll[which] + g8 * aircraft.c_yaw[which]);
    let own_damping = -rolling(1) * span / (2.0 * airspeed);
    let roll = [
        spec.roll_radps * spec.roll_radps,
        2.0 * spec.roll_damping * spec.roll_radps - own_damping,
    ];
    let [roll_aileron, roll_rudder, yaw_aileron, yaw_rudder] = [rolling(3), rolling(4), yawing(3), yawing(4)];
    let determinant = roll_aileron * yaw_rudder - roll_rudder * yaw_aileron;
    if determinant.abs() > 1e-3 * roll_aileron * roll_aileron {
        Ok([roll, [1.0 / roll_aileron, -roll_rudder / determinant], [0.0, roll_aileron / determinant]])
    } else if roll_aileron != 0.0 {
        // no rudder to speak of: nothing damps yaw
        Ok([roll, [1.0 / roll_aileron, 0.0], [0.0, 0.0]])
    } else {
        Err(unfit("an aircraft whose ailerons do not roll it", "a rolling moment for aileron in c_roll"))
    }
}

/// Elevator for pitch error and rate.
fn longitudinal(spec: &AutopilotSpec, aircraft: &FixedWingSpec) -> Result<[f64; 2], Unfit> {
    let (airspeed, chord) = (spec.airspeed_mps, aircraft.wing_chord_m);
    let pressure = 0.5 * aircraft.air_density_kgpm3 * airspeed * airspeed;
    let per_coefficient = pressure * aircraft.wing_area_m2 * chord / aircraft.inertia_kgm2[1];
    let own_damping = -per_coefficient * aircraft.c_m_q * chord / (2.0 * airspeed);
    let own_stiffness = -per_coefficient * aircraft.c_m_alpha;
    let stiffness = spec.pitch_radps * spec.pitch_radps;
    let authority = per_coefficient * aircraft.c_m_elevator;
    if authority == 0.0 {
        return Err(unfit("an aircraft whose elevator does not pitch it", "c_m_elevator other than 0"));
    }
    if stiffness <= own_stiffness {
        let found = format!("pitch_radps {}", spec.pitch_radps);
        return Err((found, format!("more than {:.2}, the aircraft's own", own_stiffness.sqrt())));
    }
    Ok([
        (stiffness - own_stiffness) / authority,
        (2.0 * spec.pitch_damping * spec.pitch_radps - own_damping) / authority,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> AutopilotSpec {
        <AutopilotSpec as Spec>::read(&Node::default(), "", &[], &mut Problems::default()).expect("defaults")
    }

    #[test]
    fn gains_of_the_aerosonde_are_those_of_the_formulas() {
        let gains = Gains::new(&spec()).expect("the Aerosonde flies");
        // a_θ1 0.499, a_θ2 13.86, a_θ3 -18.24 at 25 m/s, by hand
        assert!((gains.pitch[0] - (64.0 - 13.86) / -18.24).abs() < 0.01, "{:?}", gains.pitch);
        assert!((gains.pitch[1] - (12.8 - 0.499) / -18.24).abs() < 0.01, "{:?}", gains.pitch);
        // a_φ1 11.57
        assert!((gains.roll[1] - (12.0 - 11.57)).abs() < 0.05, "{:?}", gains.roll);
        // a_φ2 65.0; rudder and aileron together yaw without rolling: 65.0 and 79.5 rad/s² a rad of roll
        assert!((gains.aileron[0] * 65.0 - 1.0).abs() < 0.01, "{:?}", gains.aileron);
        assert!((gains.aileron[1] * 65.0 + gains.rudder[1] * 79.5).abs() < 0.02, "{:?} {:?}", gains.aileron, gains.rudder);
        assert!((gains.aileron[1] * 25.9 - gains.rudder[1] * 6.0 - 1.0).abs() < 0.05, "{gains:?}");
    }

    #[test]
    fn an_aircraft_that_cannot_be_flown_is_refused_with_the_reason() {
        let mut slow = spec();
        (slow.airspeed_min_mps, slow.airspeed_mps) = (4.0, 5.0);
        assert!(Gains::new(&slow).unwrap_err().1.contains("flies level"));
        let mut soft = spec();
        soft.pitch_radps = 3.0;
        assert!(Gains::new(&soft).unwrap_err().1.contains("more than 3.72"));
        let mut wrong = spec();
        wrong.airspeed_max_mps = 20.0;
        assert!(Gains::new(&wrong).unwrap_err().1.contains("airspeed_min_mps <"));
    }
}
