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

/// The part of the angle of attack of stall that is flown.
const STALL_MARGIN: f64 = 0.8;

/// What is multiplied in flight, and its limits. Pairs of loops are for the error and for its integral or rate.
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
    /// Rudder for yaw acceleration.
    pub(super) rudder: f64,
    /// Elevator for pitch error and rate.
    pub(super) pitch: [f64; 2],
    /// Angle of attack of level flight: the part that grows with load and with thin air, and what is taken off.
    pub(super) alpha: [f64; 2],
    /// Elevator in balance: constant and for angle of attack.
    pub(super) elevator: [f64; 2],
    /// Square of the jet's speed for acceleration, and for the square of the airspeed in level flight.
    pub(super) jet_mass: f64,
    pub(super) jet_level: f64,
    pub(super) per_jet: f64,
    pub(super) airspeed_mps: f64,
    pub(super) airspeed_min_mps: f64,
    pub(super) airspeed_max_mps: f64,
    pub(super) climb_max_mps: f64,
    pub(super) pitch_max_rad: f64,
    /// Greatest angle of attack that is flown.
    pub(super) alpha_max_rad: f64,
    /// Horizontal acceleration at the greatest roll.
    pub(super) across_max_mps2: f64,
    pub(super) surface_max_rad: f64,
    pub(super) orbit_m: f64,
    pub(super) per_orbit_m: f64,
    /// 1 to circle counter-clockwise, -1 clockwise.
    pub(super) orbit_sense: f64,
}

/// What was found and what is expected instead.
type Unfit = (String, String);

impl Gains {
    pub(super) fn new(spec: &AutopilotSpec) -> Result<Self, Unfit> {
        let aerosonde = || <FixedWingSpec as Spec>::read(&Node::default(), "", &[], &mut Problems::default());
        let aircraft = spec.aircraft.clone().or_else(aerosonde);
        let aircraft = aircraft.ok_or_else(|| unfit("no aircraft", "an aircraft"))?;
        if !(spec.airspeed_min_mps < spec.airspeed_mps && spec.airspeed_mps <= spec.airspeed_max_mps) {
            let found =
                format!("airspeeds {} < {} <= {}", spec.airspeed_min_mps, spec.airspeed_mps, spec.airspeed_max_mps);
            return Err((found, "airspeed_min_mps < airspeed_mps <= airspeed_max_mps".to_owned()));
        }
        let airspeed = spec.airspeed_mps;
        let balance = trim(&aircraft, airspeed, 0.0).ok_or_else(|| {
            unfit(&format!("airspeed_mps {airspeed}"), "an airspeed at which the aircraft flies level")
        })?;
        let (aileron, rudder) = lateral(spec, &aircraft)?;
        let pitch = longitudinal(spec, &aircraft)?;
        // lift for angle of attack with the elevator that balances it
        let elevator = [-aircraft.c_m_0 / aircraft.c_m_elevator, -aircraft.c_m_alpha / aircraft.c_m_elevator];
        let lift_0 = aircraft.c_l_0 + aircraft.c_l_elevator * elevator[0];
        let lift_alpha = aircraft.c_l_alpha + aircraft.c_l_elevator * elevator[1];
        let disc = 0.5 * aircraft.air_density_kgpm3 * aircraft.propeller_area_m2 * aircraft.c_prop;
        let jet = balance.throttle * aircraft.motor_mps / airspeed;
        Ok(Self {
            course: second_order(spec.course_radps, spec.course_damping),
            altitude: second_order(spec.altitude_radps, spec.altitude_damping),
            airspeed: second_order(spec.airspeed_radps, spec.airspeed_damping),
            roll: roll(spec, &aircraft),
            yaw: spec.yaw_damper_per_s,
            aileron,
            rudder,
            pitch,
            alpha: [balance.alpha_rad + lift_0 / lift_alpha, lift_0 / lift_alpha],
            elevator,
            jet_mass: aircraft.mass_kg / disc,
            jet_level: jet * jet,
            per_jet: 1.0 / aircraft.motor_mps,
            airspeed_mps: airspeed,
            airspeed_min_mps: spec.airspeed_min_mps,
            airspeed_max_mps: spec.airspeed_max_mps,
            climb_max_mps: spec.climb_max_mps,
            pitch_max_rad: spec.pitch_max_rad,
            alpha_max_rad: STALL_MARGIN * aircraft.stall_rad,
            across_max_mps2: GRAVITY_MPS2 * math::tan(spec.roll_max_rad),
            surface_max_rad: aircraft.surface_max_rad,
            orbit_m: spec.loiter_radius_m,
            per_orbit_m: 1.0 / spec.loiter_radius_m,
            orbit_sense: if spec.loiter_clockwise { -1.0 } else { 1.0 },
        })
    }

    /// How much more surface an acceleration needs than at the design airspeed.
    #[inline(always)]
    pub(super) fn thinness(&self, airspeed_mps: f64) -> f64 {
        let slow = self.airspeed_mps / math::max(airspeed_mps, 1.0);
        math::clamp(slow * slow, THINNESS.0, THINNESS.1)
    }
}

fn unfit(found: &str, expected: &str) -> Unfit {
    (found.to_owned(), expected.to_owned())
}

/// Gains for error and integral by which an integrating plant has this frequency and damping.
fn second_order(frequency_radps: f64, damping: f64) -> [f64; 2] {
    [2.0 * damping * frequency_radps, frequency_radps * frequency_radps]
}

/// Roll and yaw acceleration for the coefficient of this place in `c_roll` and `c_yaw`.
fn acceleration(spec: &AutopilotSpec, aircraft: &FixedWingSpec, which: usize) -> [f64; 2] {
    let [_, _, g3, g4, _, _, _, g8, _] = gamma(aircraft);
    let pressure = 0.5 * aircraft.air_density_kgpm3 * spec.airspeed_mps * spec.airspeed_mps;
    let moment = pressure * aircraft.wing_area_m2 * aircraft.wing_span_m;
    let (rolling, yawing) = (moment * aircraft.c_roll[which], moment * aircraft.c_yaw[which]);
    [g3 * rolling + g4 * yawing, g4 * rolling + g8 * yawing]
}

/// Roll acceleration for error and rate.
fn roll(spec: &AutopilotSpec, aircraft: &FixedWingSpec) -> [f64; 2] {
    let [for_roll_rate, _] = acceleration(spec, aircraft, 1);
    let own_damping = -for_roll_rate * aircraft.wing_span_m / (2.0 * spec.airspeed_mps);
    [spec.roll_radps * spec.roll_radps, 2.0 * spec.roll_damping * spec.roll_radps - own_damping]
}

/// Aileron for roll and yaw acceleration, and rudder for yaw acceleration.
fn lateral(spec: &AutopilotSpec, aircraft: &FixedWingSpec) -> Result<([f64; 2], f64), Unfit> {
    let [roll_aileron, yaw_aileron] = acceleration(spec, aircraft, 3);
    let [roll_rudder, yaw_rudder] = acceleration(spec, aircraft, 4);
    if roll_aileron == 0.0 {
        return Err(unfit("an aircraft whose ailerons do not roll it", "a rolling moment for aileron in c_roll"));
    }
    let determinant = roll_aileron * yaw_rudder - roll_rudder * yaw_aileron;
    // without a rudder to speak of nothing damps yaw
    let per = if determinant.abs() > 1e-3 * roll_aileron * roll_aileron { 1.0 / determinant } else { 0.0 };
    Ok(([1.0 / roll_aileron, -roll_rudder * per], roll_aileron * per))
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
        assert!((gains.aileron[1] * 65.0 + gains.rudder * 79.5).abs() < 0.02, "{:?} {:?}", gains.aileron, gains.rudder);
        assert!((gains.aileron[1] * 25.9 - gains.rudder * 6.0 - 1.0).abs() < 0.05, "{gains:?}");
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
