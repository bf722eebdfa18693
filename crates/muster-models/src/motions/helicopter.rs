//! A helicopter with a main and a tail rotor as one rigid body, after V. Gavrilets, B. Mettler and E. Feron, *Dynamic
//! Model for a Miniature Aerobatic Helicopter* (MIT, 2003), with the inflow as a state instead of an iteration.
//!
//! Each rotor of area A, solidity σ, lift slope a and tip speed V_t, whose hub moves through the air with v_c along
//! its axis and μ V_t across it, drives air through itself with v_i:
//!
//! ```text
//! blade elements  T = ρ A V_t² (aσ/2) (θ (1/3 + μ²/2) - (v_i + v_c) / 2V_t)
//! momentum        8/3 ρR³ dv_i/dt = T - 2ρA v_i √((μV_t)² + (v_i + v_c)²)           (L. W. Carpenter, A. Fridovich 1953)
//! power           P = T (κ v_i + v_c) + ρ A V_t³ σc_d/8 (1 + 7/3 μ²),   torque Q = P/Ω
//! ```
//!
//! The disc of the main rotor stands forward by a and left by b of the body's z axis and follows as a first-order lag
//! with time constant τ, in which a stabiliser bar is lumped; the blades flap back against the motion through the air:
//!
//! ```text
//! τ da/dt = -a + forward - K (8/3 θ - 2λ) u/V_t - τ ω_y        τ db/dt = -b + left - K (8/3 θ - 2λ) v/V_t + τ ω_x
//! ```
//!
//! Thrust acts along the disc's normal at the hub, and the hub's stiffness turns the body after the disc. The tail rotor
//! pushes sideways at the end of the boom. The fuselage takes `-½ρ S_i |v| v_i`, the fin the same at the tail rotor. A
//! governor keeps the rotors' speed. Left out are ground effect, blade stall, the vortex ring, in which momentum theory
//! does not hold (descents between a half and twice the hover inflow), and the rotor's wash on the fuselage.
//!
//! Inputs, used in every setpoint mode: blade pitch of the main rotor (`collective_rad`), tilt asked of its disc
//! (`cyclic_forward_rad`, `cyclic_left_rad`), and `pedal_rad`, the tail rotor's blade pitch; more of it turns the nose
//! against the main rotor's torque: to the right if the rotor turns clockwise, seen from above.
//!
//! Integration is by the explicit midpoint rule with the exact lag of the servos and rotation by the exponential of
//! the rate at mid-tick.
//!
//! The defaults describe a Yamaha RMAX. Published: rotor diameter 3.115 m, 64 kg empty and 94 kg at most, 15.4 kW
//! (Yamaha's data sheet); for its sister R-50 a rotor time constant of 0.046 s with a bar of gain 0.368 and 0.342 s, which
//! make τ = 0.17 s, and 166 and 82.6 s⁻² of roll and pitch acceleration a rad of flapping (B. Mettler, M. Tischler,
//! T. Kanade, *System Identification of Small-Size Unmanned Helicopter Dynamics*, 1999), which with the hub's height
//! give stiffness and moments of inertia. K = 0.2 is Gavrilets'. Guesses are rotor speed (near the 850 rev/min often
//! told), chord, drag, hub height, tail rotor, fin, servos and limits.

use super::rigid::{self, Body};
use glam::DVec3;
use muster_core::component::{Kind, Motion, Tick};
use muster_core::contact::{Mass, Mobility};
use muster_core::lanes::{Column, LANE_STEP, LANES, Quantity, body};
use muster_core::math;
use muster_core::spec::{Spec, below};
use std::f64::consts::PI;
use std::sync::{Arc, OnceLock};

mod hover;
#[cfg(test)]
mod tests;

pub use hover::Hover;
pub(crate) use hover::Inverse;

muster_core::choice! {
    /// What the rotors do when a helicopter starts.
    pub enum StartBlades {
        /// They carry the robot's weight and hold its torque.
        Hover = "hover",
        /// Their blades are flat.
        Flat = "flat",
    }
}

muster_core::spec! {
    /// A helicopter. The defaults are those of a Yamaha RMAX.
    pub struct HelicopterSpec {
        /// Mass.
        mass_kg: f64 = 80.0, in 0.01..=1e7;
        /// Moments of inertia about the body's axes, which are its principal axes.
        inertia_kgm2: [f64; 3] = [3.0, 6.0, 6.0], in 1e-6..=1e9;
        /// Density of the air.
        air_density_kgpm3: f64 = 1.225, in 0.01..=10.0;
        /// Radius of the main rotor.
        rotor_radius_m: f64 = 1.5575, in 0.01..=50.0;
        /// Chord of the main rotor's blades.
        rotor_chord_m: f64 = 0.12, in 0.0..=10.0;
        /// Number of the main rotor's blades.
        rotor_blades: u32 = 2, in 1..=20;
        /// Speed of the main rotor.
        rotor_speed_radps: f64 = 89.0, in 1.0..=1000.0;
        /// The main rotor turns clockwise, seen from above.
        rotor_clockwise: bool = true;
        /// Lift slope of the main rotor's blades, 1/rad.
        rotor_lift_slope: f64 = 5.5, in 0.1..=10.0;
        /// Drag coefficient of all blades.
        blade_drag: f64 = 0.012, in 0.0..=1.0;
        /// Induced power of a rotor divided by that of an ideal one.
        induced_factor: f64 = 1.15, in 1.0..=3.0;
        /// Height of the main rotor's hub above the centre of gravity.
        hub_height_m: f64 = 0.4, in -10.0..=10.0;
        /// Moment by which the hub turns the body after the disc, N m/rad.
        hub_stiffness_nm: f64 = 182.0, in 0.0..=1e7;
        /// Time constant of the disc, stabiliser bar included.
        flap_s: f64 = 0.17, in 0.001..=10.0;
        /// How much of the flapping back that theory tells for bare blades happens.
        flap_back: f64 = 0.2, in 0.0..=2.0;
        /// Radius of the tail rotor.
        tail_radius_m: f64 = 0.27, in 0.01..=10.0;
        /// Chord of the tail rotor's blades.
        tail_chord_m: f64 = 0.06, in 0.0..=10.0;
        /// Number of the tail rotor's blades.
        tail_blades: u32 = 2, in 1..=20;
        /// Speed of the tail rotor.
        tail_speed_radps: f64 = 545.0, in 1.0..=10000.0;
        /// Lift slope of the tail rotor's blades, 1/rad.
        tail_lift_slope: f64 = 5.0, in 0.1..=10.0;
        /// From the centre of gravity back to the tail rotor.
        tail_arm_m: f64 = 1.83, in 0.01..=50.0;
        /// Height of the tail rotor above the centre of gravity.
        tail_height_m: f64 = 0.1, in -10.0..=10.0;
        /// Drag of the fuselage along its axes: area times drag coefficient.
        drag_area_m2: [f64; 3] = [0.35, 0.9, 0.8], in 0.0..=1000.0;
        /// Side drag of the fin at the tail rotor: area times drag coefficient.
        fin_area_m2: f64 = 0.1, in 0.0..=100.0;
        /// Least and greatest blade pitch of the main rotor.
        collective_rad: [f64; 2] = [-0.05, 0.25], in -1.0..=1.0;
        /// Greatest tilt asked of the disc.
        cyclic_max_rad: f64 = 0.2, in 0.0..=1.0;
        /// Least and greatest blade pitch of the tail rotor.
        pedal_rad: [f64; 2] = [-0.2, 0.4], in -1.0..=1.0;
        /// Time constant of the servos; 0 for none.
        servo_s: f64 = 0.03, in 0.0..=10.0;
        /// What the rotors do when a robot starts: carry it under standard gravity, or nothing.
        start: StartBlades = StartBlades::Hover;
        /// The speed no robot exceeds.
        speed_max_mps: f64 = 50.0, in 0.1..=1000.0;
    }
}

/// The row of this kind.
pub const KIND: Kind<dyn Motion> = Kind {
    name: "helicopter",
    doc: "A rigid body under a main and a tail rotor with inflow and flapping; inputs are blade pitches and disc tilt.",
    fields: <HelicopterSpec as Spec>::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <HelicopterSpec as Spec>::read(node, path, also, problems)?;
        for (name, [least, most]) in [("collective_rad", spec.collective_rad), ("pedal_rad", spec.pedal_rad)] {
            if least > most {
                let place = node.get(name).map_or(node.place, |limits| limits.place);
                problems.error(place, &below(path, name), format!("[{least}, {most}]"), "the least, then the greatest");
                return None;
            }
        }
        Some(Arc::new(Helicopter::new(spec)))
    },
};

/// Standard gravity, for how a helicopter starts.
const GRAVITY_MPS2: f64 = 9.80665;

const INPUTS: &[Quantity] = &[
    Quantity::one("collective_rad"),
    Quantity::one("cyclic_forward_rad"),
    Quantity::one("cyclic_left_rad"),
    Quantity::one("pedal_rad"),
];
const STATE: &[Quantity] = &[
    Quantity::one("collective_rad"),
    Quantity::one("cyclic_forward_rad"),
    Quantity::one("cyclic_left_rad"),
    Quantity::one("pedal_rad"),
    Quantity::one("inflow_mps"),
    Quantity::one("tail_inflow_mps"),
    Quantity::one("disc_forward_rad"),
    Quantity::one("disc_left_rad"),
    Quantity::one("rotor_power_w"),
];
const COMMAND: usize = body::COLUMNS;
const ACTUAL: usize = COMMAND + 4;
const INFLOW: usize = ACTUAL + 4;
const DISC: usize = INFLOW + 2;
const POWER: usize = DISC + 2;
const COLUMNS: usize = POWER + 1;

/// The motion of a helicopter.
#[derive(Debug, Clone)]
pub struct Helicopter {
    spec: HelicopterSpec,
    constants: Constants,
    keep: OnceLock<(f64, f64)>,
}

/// What the kernel needs of a rotor.
#[derive(Debug, Clone, Copy)]
struct Rotor {
    /// ρ A V_t² aσ/2.
    lift: f64,
    per_tip: f64,
    /// 2ρA.
    twice_flow: f64,
    /// One over the mass of air that moves with the rotor.
    per_air: f64,
    /// Power of profile drag in hover.
    profile: f64,
}

/// What the kernel needs of the specification.
#[derive(Debug, Clone, Copy)]
struct Constants {
    per_mass: f64,
    per_inertia: DVec3,
    /// Angular acceleration for products of rates, in Euler's equations about principal axes.
    coupling: DVec3,
    main: Rotor,
    tail: Rotor,
    induced: f64,
    /// Torque on the body for the main rotor's power.
    reaction: f64,
    /// 1 if the tail rotor pushes left, -1 if right.
    tail_side: f64,
    hub_height: f64,
    hub_stiffness: f64,
    per_flap: f64,
    flap_back: f64,
    tail_arm: f64,
    tail_height: f64,
    /// ½ρ times area.
    drag: DVec3,
    fin: f64,
    collective: (f64, f64),
    cyclic_max: f64,
    pedal: (f64, f64),
}

/// What the kernel needs of the tick.
#[derive(Debug, Clone, Copy)]
struct Step {
    dt: f64,
    gravity: DVec3,
    /// What is left of a servo's deviation from its command after half a tick.
    keep: f64,
}

impl Rotor {
    fn new(density: f64, radius: f64, tip: f64, solidity: f64, (slope, drag): (f64, f64)) -> Self {
        let area = PI * radius * radius;
        Self {
            lift: 0.5 * density * area * tip * tip * slope * solidity,
            per_tip: 1.0 / tip,
            twice_flow: 2.0 * density * area,
            per_air: 3.0 / (8.0 * density * radius * radius * radius),
            profile: 0.125 * density * area * tip * tip * tip * solidity * drag,
        }
    }
}

impl Constants {
    fn new(spec: &HelicopterSpec) -> Self {
        let (density, inertia) = (spec.air_density_kgpm3, DVec3::from(spec.inertia_kgm2));
        let solidity = |blades: u32, chord: f64, radius: f64| f64::from(blades) * chord / (PI * radius);
        let main = Rotor::new(
            density,
            spec.rotor_radius_m,
            spec.rotor_speed_radps * spec.rotor_radius_m,
            solidity(spec.rotor_blades, spec.rotor_chord_m, spec.rotor_radius_m),
            (spec.rotor_lift_slope, spec.blade_drag),
        );
        let tail = Rotor::new(
            density,
            spec.tail_radius_m,
            spec.tail_speed_radps * spec.tail_radius_m,
            solidity(spec.tail_blades, spec.tail_chord_m, spec.tail_radius_m),
            (spec.tail_lift_slope, spec.blade_drag),
        );
        let side = if spec.rotor_clockwise { 1.0 } else { -1.0 };
        Self {
            per_mass: 1.0 / spec.mass_kg,
            per_inertia: 1.0 / inertia,
            coupling: DVec3::new(inertia.y - inertia.z, inertia.z - inertia.x, inertia.x - inertia.y) / inertia,
            main,
            tail,
            induced: spec.induced_factor,
            reaction: side / spec.rotor_speed_radps,
            tail_side: side,
            hub_height: spec.hub_height_m,
            hub_stiffness: spec.hub_stiffness_nm,
            per_flap: 1.0 / spec.flap_s,
            flap_back: spec.flap_back,
            tail_arm: spec.tail_arm_m,
            tail_height: spec.tail_height_m,
            drag: 0.5 * density * DVec3::from(spec.drag_area_m2),
            fin: 0.5 * density * spec.fin_area_m2,
            collective: (spec.collective_rad[0], spec.collective_rad[1]),
            cyclic_max: spec.cyclic_max_rad,
            pedal: (spec.pedal_rad[0], spec.pedal_rad[1]),
        }
    }
}

impl Helicopter {
    /// A helicopter with these parameters.
    pub fn new(spec: HelicopterSpec) -> Self {
        let constants = Constants::new(&spec);
        Self { spec, constants, keep: OnceLock::new() }
    }

    /// All ticks of a motion are of one length as a rule, so the exponential is computed once.
    fn keep(&self, dt: f64) -> f64 {
        let new = || (dt, math::exp(-0.5 * dt / self.spec.servo_s));
        let kept = *self.keep.get_or_init(new);
        if kept.0 == dt { kept.1 } else { new().1 }
    }
}

impl Motion for Helicopter {
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
        let Some(columns) = columns.first_chunk_mut::<COLUMNS>() else { return };
        columns[COMMAND..].iter_mut().for_each(|column| column[lane] = 0.0);
        if self.spec.start == StartBlades::Flat {
            return;
        }
        let hover = Hover::new(&self.spec, GRAVITY_MPS2);
        let controls = [hover.collective_rad, 0.0, hover.disc_left_rad, hover.pedal_rad];
        for (index, value) in controls.into_iter().enumerate() {
            columns[COMMAND + index][lane] = value;
            columns[ACTUAL + index][lane] = value;
        }
        columns[INFLOW][lane] = hover.inflow_mps;
        columns[INFLOW + 1][lane] = hover.tail_inflow_mps;
        columns[DISC + 1][lane] = hover.disc_left_rad;
        columns[POWER][lane] = hover.power_w;
    }

    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>) {
        let Some(columns) = columns.first_chunk_mut() else { return };
        let step = Step { dt: tick.dt_s, gravity: tick.environment.gravity_mps2, keep: self.keep(tick.dt_s) };
        let lanes = lanes.next_multiple_of(LANE_STEP).min(LANES);
        let constants = &self.constants;
        tick.simd.run(
            #[inline(always)]
            || kernel(columns, lanes, constants, &step),
        );
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        let (spec, hover) = (&self.spec, Hover::new(&self.spec, GRAVITY_MPS2));
        vec![
            ("mass_kg", spec.mass_kg),
            ("inertia_x_kgm2", spec.inertia_kgm2[0]),
            ("inertia_y_kgm2", spec.inertia_kgm2[1]),
            ("inertia_z_kgm2", spec.inertia_kgm2[2]),
            ("rotor_radius_m", spec.rotor_radius_m),
            ("rotor_speed_radps", spec.rotor_speed_radps),
            ("hover_collective_rad", hover.collective_rad),
            ("hover_power_w", hover.power_w),
        ]
    }
}

/// Blade pitches and what is asked of the disc.
#[derive(Debug, Clone, Copy)]
struct Controls {
    collective: f64,
    forward: f64,
    left: f64,
    pedal: f64,
}

/// What the rotors remember.
#[derive(Debug, Clone, Copy)]
struct Rotors {
    inflow: f64,
    tail_inflow: f64,
    forward: f64,
    left: f64,
}

/// How all of it changes: accelerations of the body in its own frame, and those of the rotors.
#[derive(Debug, Clone, Copy)]
struct Rates {
    acceleration: DVec3,
    spin: DVec3,
    rotors: Rotors,
    power: f64,
}

impl Rotors {
    #[inline(always)]
    fn load(columns: &[Column; COLUMNS], lane: usize) -> Self {
        Self {
            inflow: columns[INFLOW][lane],
            tail_inflow: columns[INFLOW + 1][lane],
            forward: columns[DISC][lane],
            left: columns[DISC + 1][lane],
        }
    }

    #[inline(always)]
    fn store(&self, columns: &mut [Column; COLUMNS], lane: usize) {
        columns[INFLOW][lane] = self.inflow;
        columns[INFLOW + 1][lane] = self.tail_inflow;
        columns[DISC][lane] = self.forward;
        columns[DISC + 1][lane] = self.left;
    }

    #[inline(always)]
    fn after(&self, time: f64, rates: &Self) -> Self {
        Self {
            inflow: self.inflow + time * rates.inflow,
            tail_inflow: self.tail_inflow + time * rates.tail_inflow,
            forward: self.forward + time * rates.forward,
            left: self.left + time * rates.left,
        }
    }
}

#[inline(always)]
fn kernel(columns: &mut [Column; COLUMNS], lanes: usize, constants: &Constants, step: &Step) {
    // copies, as a choice between two numbers behind a reference becomes a choice of addresses, lane by lane
    let (constants, step) = (&{ *constants }, &{ *step });
    for lane in 0..lanes.min(LANES) {
        let now = Body::load(columns, lane);
        let wind = body::vec3(columns, body::WIND, lane);
        let follow = |index: usize, low: f64, high: f64| {
            let command = rigid::bound(columns[COMMAND + index][lane], low, high);
            let gap = (columns[ACTUAL + index][lane] - command) * step.keep;
            [command + gap, command + gap * step.keep]
        };
        let collective = follow(0, constants.collective.0, constants.collective.1);
        let forward = follow(1, -constants.cyclic_max, constants.cyclic_max);
        let left = follow(2, -constants.cyclic_max, constants.cyclic_max);
        let pedal = follow(3, constants.pedal.0, constants.pedal.1);
        let controls = Controls { collective: collective[0], forward: forward[0], left: left[0], pedal: pedal[0] };
        let rotors = Rotors::load(columns, lane);
        let (next, rotors, power) = fly((&now, &rotors), wind, &controls, (constants, step));
        next.store(columns, lane);
        rotors.store(columns, lane);
        columns[ACTUAL][lane] = collective[1];
        columns[ACTUAL + 1][lane] = forward[1];
        columns[ACTUAL + 2][lane] = left[1];
        columns[ACTUAL + 3][lane] = pedal[1];
        columns[POWER][lane] = power;
    }
}

/// One tick with the controls as they are at its middle, and the main rotor's power there.
#[inline(always)]
fn fly(
    (now, rotors): (&Body, &Rotors),
    wind: DVec3,
    controls: &Controls,
    (constants, step): (&Constants, &Step),
) -> (Body, Rotors, f64) {
    let half = 0.5 * step.dt;
    let through_air = math::rotate_inverse(now.orientation, now.velocity - wind);
    let first = rates(through_air, now.rate, rotors, controls, constants);
    let velocity_mid = now.velocity + half * (step.gravity + math::rotate(now.orientation, first.acceleration));
    let rate_mid = now.rate + half * first.spin;
    let rotors_mid = rotors.after(half, &first.rotors);
    let turn = rigid::small_turn((0.5 * half) * rate_mid);
    let orientation_mid = rigid::product(now.orientation, turn);

    let through_air = math::rotate_inverse(orientation_mid, velocity_mid - wind);
    let middle = rates(through_air, rate_mid, &rotors_mid, controls, constants);
    let velocity = now.velocity + step.dt * (step.gravity + math::rotate(orientation_mid, middle.acceleration));
    let next = Body {
        position: now.position + half * (now.velocity + velocity),
        orientation: rigid::turned_twice(now.orientation, orientation_mid, turn),
        velocity,
        rate: now.rate + step.dt * middle.spin,
    };
    (next, rotors.after(step.dt, &middle.rotors), middle.power)
}

/// Thrust of a rotor and how its inflow changes, for the velocity of its hub along the axis and the square of that
/// across it.
#[inline(always)]
fn thrust(rotor: &Rotor, pitch: f64, inflow: f64, (along, across_square): (f64, f64)) -> (f64, f64) {
    let through = inflow + along;
    let advance = across_square * (rotor.per_tip * rotor.per_tip);
    let thrust = rotor.lift * (pitch * (1.0 / 3.0 + 0.5 * advance) - 0.5 * rotor.per_tip * through);
    let flow = rotor.twice_flow * inflow * (across_square + through * through).sqrt();
    (thrust, (thrust - flow) * rotor.per_air)
}

#[inline(always)]
fn rates(v: DVec3, rate: DVec3, rotors: &Rotors, controls: &Controls, constants: &Constants) -> Rates {
    let main = &constants.main;
    let across_square = v.x * v.x + v.y * v.y;
    let (lift, inflow) = thrust(main, controls.collective, rotors.inflow, (v.z, across_square));
    let advance = across_square * (main.per_tip * main.per_tip);
    let power = lift * (constants.induced * rotors.inflow + v.z) + main.profile * (1.0 + (7.0 / 3.0) * advance);
    let ratio = (rotors.inflow + v.z) * main.per_tip;
    let back = constants.flap_back * ((8.0 / 3.0) * controls.collective - 2.0 * ratio) * main.per_tip;
    let (a, b) = (rotors.forward, rotors.left);
    let forward = constants.per_flap * (controls.forward - a - back * v.x) - rate.y;
    let left = constants.per_flap * (controls.left - b - back * v.y) + rate.x;

    // the tail rotor's axis points to the side it pushes to
    let tail_y = v.y - rate.z * constants.tail_arm - rate.x * constants.tail_height;
    let tail_z = v.z + rate.y * constants.tail_arm;
    let tail_motion = (constants.tail_side * tail_y, v.x * v.x + tail_z * tail_z);
    let (push, tail_inflow) = thrust(&constants.tail, controls.pedal, rotors.tail_inflow, tail_motion);
    let fin = constants.fin * tail_y * (v.x * v.x + tail_y * tail_y).sqrt();
    let side = constants.tail_side * push - fin;

    let speed = (across_square + v.z * v.z).sqrt();
    // the disc's normal, of unit length to second order
    let upright = 1.0 - 0.5 * (a * a + b * b);
    let force = DVec3::new(lift * a, lift * b + side, lift * upright) - constants.drag * v * speed;
    let lever = constants.hub_stiffness + lift * constants.hub_height;
    let torque = DVec3::new(
        -(lever * b) - constants.tail_height * side,
        lever * a,
        constants.reaction * power - constants.tail_arm * side,
    );
    let gyration = constants.coupling * DVec3::new(rate.y * rate.z, rate.z * rate.x, rate.x * rate.y);
    Rates {
        acceleration: force * constants.per_mass,
        spin: torque * constants.per_inertia + gyration,
        rotors: Rotors { inflow, tail_inflow, forward, left },
        power,
    }
}
