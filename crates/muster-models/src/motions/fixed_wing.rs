//! A small aircraft with a propeller, elevator, ailerons and rudder: the full nonlinear model of R. W. Beard and
//! T. W. McLain, *Small Unmanned Aircraft: Theory and Practice* (2012), chapters 3 and 4, with the parameters of an
//! Aerosonde from its appendix E, as public simulations carry them (`shalabymhd/uav-simulator`, `aerosonde.m`).
//!
//! With airspeed Va, angle of attack α and sideslip β, and q̄ = ½ρVa²:
//!
//! ```text
//! lift    q̄S (C_L(α) + C_Lq c q/2Va + C_Lδe δe),   C_L(α) = (1-σ)(C_L0 + C_Lα α) + σ 2 sgn(α) sin²α cos α
//! blend   σ = s/(s + K²),  s = 1 + K (e^Mα + e^-Mα),  K = e^Mα0      (the book's (4.10), multiplied out)
//! drag    q̄S (C_Dp + (C_L0 + C_Lα α)²/(π e AR) + C_Dq c q/2Va + C_Dδe |δe|)
//! side    q̄S (C_Yβ β + (C_Yp p + C_Yr r) b/2Va + C_Yδa δa + C_Yδr δr)
//! roll    q̄Sb (C_lβ β + (C_lp p + C_lr r) b/2Va + C_lδa δa + C_lδr δr) - Q_p δt²
//! pitch   q̄Sc (C_m0 + C_mα α + C_mq c q/2Va + C_mδe δe)
//! yaw     q̄Sb (C_nβ β + (C_np p + C_nr r) b/2Va + C_nδa δa + C_nδr δr)
//! thrust  ½ρ S_p C_p ((k_m δt)² - Va²)
//! ```
//!
//! The rate terms are multiplied out (`q̄ c/2Va = ¼ρVa c`), so nothing is divided by airspeed. At zero throttle the
//! book's propeller is a strong brake.
//!
//! The book's frames point forward, right, down; ours forward, left, up. Half a turn about x takes one to the other, so
//! velocities, rates, forces and moments just change the signs of y and z: `u = vx, v = -vy, w = -vz, p = ωx, q = -ωy,
//! r = -ωz`. Aerodynamics is computed in the book's frame, which keeps its signs: a negative elevator raises the nose,
//! a positive aileron rolls to the right, a positive rudder turns the nose to the left (C_nδr is negative). The air's
//! density is a parameter and does not change with altitude.
//!
//! Integration is by the explicit midpoint rule with the exact lag of the servos, and with rotation by the exponential
//! of the rate at mid-tick. Forces are evaluated once a tick, at its middle; those at its start, which lead there, are
//! extrapolated from the middles of the last two ticks. So the rule remains of second order, also when inputs jump. It
//! is stable for ticks up to two thirds of the shortest time constant of the aircraft, which for an Aerosonde is that
//! of roll: 14 ms at 100 m/s. The inputs are used in every setpoint mode.

use super::rigid::{self, Body};
use glam::{DMat3, DQuat, DVec3};
use muster_core::component::{Kind, Motion, Tick};
use muster_core::contact::{Mass, Mobility};
use muster_core::lanes::{Column, LANE_STEP, LANES, Quantity, body};
use muster_core::math;
use muster_core::spec::Spec;
use std::f64::consts::PI;
use std::sync::{Arc, OnceLock};

#[cfg(test)]
mod tests;
mod trim;

pub use trim::{Trim, trim};

muster_core::choice! {
    /// How an aircraft starts.
    pub enum StartFlight {
        /// In balance, if it is fast enough.
        Trimmed = "trimmed",
        /// As it was placed, with surfaces and throttle at zero.
        AsPlaced = "as_placed",
    }
}

muster_core::spec! {
    /// A small aircraft. The defaults are those of an Aerosonde.
    pub struct FixedWingSpec {
        /// Mass.
        mass_kg: f64 = 13.5, in 0.01..=1e5;
        /// Moments of inertia about the body's axes.
        inertia_kgm2: [f64; 3] = [0.8244, 1.135, 1.759], in 1e-6..=1e6;
        /// Product of inertia J_xz in the book's sense.
        inertia_xz_kgm2: f64 = 0.1204, in -1e6..=1e6;
        /// Area of the wing.
        wing_area_m2: f64 = 0.55, in 1e-4..=1e3;
        /// Span of the wing.
        wing_span_m: f64 = 2.8956, in 0.01..=100.0;
        /// Mean chord of the wing.
        wing_chord_m: f64 = 0.18994, in 0.001..=100.0;
        /// Oswald's efficiency of the wing.
        oswald: f64 = 0.9, in 0.1..=1.0;
        /// Density of the air.
        air_density_kgpm3: f64 = 1.2682, in 0.01..=10.0;
        /// Area of the propeller.
        propeller_area_m2: f64 = 0.2027, in 1e-5..=100.0;
        /// Efficiency of the propeller.
        c_prop: f64 = 1.0, in 0.01..=10.0;
        /// Speed of the propeller's jet at full throttle.
        motor_mps: f64 = 80.0, in 1.0..=1000.0;
        /// Torque of the motor on the body at full throttle.
        motor_torque_nm: f64 = 0.0, in 0.0..=1000.0;
        /// Lift at zero angle of attack.
        c_l_0: f64 = 0.28, in -10.0..=10.0;
        /// Lift for angle of attack.
        c_l_alpha: f64 = 3.45, in 0.1..=20.0;
        /// Lift for pitch rate.
        c_l_q: f64 = 0.0, in -100.0..=100.0;
        /// Lift for elevator.
        c_l_elevator: f64 = -0.36, in -10.0..=10.0;
        /// Drag that does not depend on lift.
        c_d_p: f64 = 0.0437, in 0.0..=10.0;
        /// Drag for pitch rate.
        c_d_q: f64 = 0.0, in -100.0..=100.0;
        /// Drag for elevator.
        c_d_elevator: f64 = 0.0, in 0.0..=10.0;
        /// Pitching moment at zero angle of attack.
        c_m_0: f64 = -0.02338, in -10.0..=10.0;
        /// Pitching moment for angle of attack.
        c_m_alpha: f64 = -0.38, in -20.0..=20.0;
        /// Pitching moment for pitch rate.
        c_m_q: f64 = -3.6, in -100.0..=100.0;
        /// Pitching moment for elevator.
        c_m_elevator: f64 = -0.5, in -20.0..=20.0;
        /// Angle of attack at which the wing stalls.
        stall_rad: f64 = 0.4712, in 0.05..=1.5;
        /// How sharply the wing stalls.
        stall_sharpness: f64 = 50.0, in 1.0..=100.0;
        /// Side force for sideslip, roll rate, yaw rate, aileron and rudder.
        c_y: [f64; 5] = [-0.98, 0.0, 0.0, 0.0, -0.17], in -100.0..=100.0;
        /// Rolling moment for sideslip, roll rate, yaw rate, aileron and rudder.
        c_roll: [f64; 5] = [-0.12, -0.26, 0.14, 0.08, 0.105], in -100.0..=100.0;
        /// Yawing moment for sideslip, roll rate, yaw rate, aileron and rudder.
        c_yaw: [f64; 5] = [0.25, 0.022, -0.35, 0.06, -0.032], in -100.0..=100.0;
        /// Greatest deflection of elevator, aileron and rudder.
        surface_max_rad: f64 = std::f64::consts::FRAC_PI_4, in 0.01..=1.5;
        /// Time constant of the servos of elevator, aileron and rudder; 0 for none.
        servo_s: f64 = 0.0, in 0.0..=10.0;
        /// Time constant of the motor; 0 for none.
        motor_s: f64 = 0.0, in 0.0..=10.0;
        /// How an aircraft starts: balanced at its speed and climb with wings level, or just as placed.
        start: StartFlight = StartFlight::Trimmed;
        /// The speed from which on an aircraft starts trimmed.
        start_trimmed_mps: f64 = 15.0, in 0.1..=1000.0;
        /// The speed no robot exceeds.
        speed_max_mps: f64 = 100.0, in 1.0..=1000.0;
    }
}

/// The row of this kind.
pub const KIND: Kind<dyn Motion> = Kind {
    name: "fixed_wing",
    doc: "A small aircraft with stall, sideslip and products of inertia; inputs are surfaces and throttle.",
    fields: <FixedWingSpec as Spec>::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <FixedWingSpec as Spec>::read(node, path, also, problems)?;
        let [x, _, z] = spec.inertia_kgm2;
        if spec.inertia_xz_kgm2 * spec.inertia_xz_kgm2 >= x * z {
            let below = (x * z).sqrt();
            let found = format!("inertia_xz_kgm2 {}", spec.inertia_xz_kgm2);
            problems.error(node.place, path, found, format!("less than {below} with these moments of inertia"));
            return None;
        }
        Some(Arc::new(FixedWing::new(spec)))
    },
};

const INPUTS: &[Quantity] = &[
    Quantity::one("elevator_rad"),
    Quantity::one("aileron_rad"),
    Quantity::one("rudder_rad"),
    Quantity::one("throttle"),
];
const STATE: &[Quantity] = &[
    Quantity::one("elevator_rad"),
    Quantity::one("aileron_rad"),
    Quantity::one("rudder_rad"),
    Quantity::one("throttle"),
    Quantity::many("loads_of_last_tick", 6),
    Quantity::many("loads_of_tick_before", 6),
];
const COMMAND: usize = body::COLUMNS;
const ACTUAL: usize = COMMAND + 4;
const LAST: usize = ACTUAL + 4;
const BEFORE: usize = LAST + 6;
const COLUMNS: usize = BEFORE + 6;

/// The motion of a small aircraft.
#[derive(Debug, Clone)]
pub struct FixedWing {
    spec: FixedWingSpec,
    constants: Constants,
    keeps: OnceLock<Keeps>,
}

/// Coefficients of a lateral force or moment, dimensions included: per q̄ and per ¼ρVa.
#[derive(Debug, Clone, Copy)]
struct Lateral {
    sideslip: f64,
    roll_rate: f64,
    yaw_rate: f64,
    aileron: f64,
    rudder: f64,
}

/// What the kernel needs of the specification, areas and lengths multiplied in.
#[derive(Debug, Clone, Copy)]
struct Constants {
    per_mass: f64,
    half_density: f64,
    lift_0: f64,
    lift_alpha: f64,
    lift_q: f64,
    lift_elevator: f64,
    plate: f64,
    drag_p: f64,
    drag_lift: f64,
    drag_q: f64,
    drag_elevator: f64,
    pitch_0: f64,
    pitch_alpha: f64,
    pitch_q: f64,
    pitch_elevator: f64,
    stall_sharpness: f64,
    stall_scale: f64,
    side: Lateral,
    roll: Lateral,
    yaw: Lateral,
    thrust: f64,
    jet: f64,
    motor_torque: f64,
    surface_max: f64,
    /// Γ1 to Γ8 of the book's (3.13), with 1/Jy after them.
    gamma: [f64; 9],
}

/// What the kernel needs of the tick.
#[derive(Debug, Clone, Copy)]
struct Step {
    dt: f64,
    gravity: DVec3,
    /// What is left of a deviation from the command after half a tick.
    keep_surface: f64,
    keep_motor: f64,
}

/// What is left of deviations of servos and motor from their commands after half a tick, for ticks of one length.
#[derive(Debug, Clone, Copy)]
struct Keeps {
    dt: f64,
    surface: f64,
    motor: f64,
}

/// Deflections and throttle.
#[derive(Debug, Clone, Copy)]
struct Controls {
    elevator: f64,
    aileron: f64,
    rudder: f64,
    throttle: f64,
}

impl Constants {
    fn new(spec: &FixedWingSpec) -> Self {
        let (area, span, chord) = (spec.wing_area_m2, spec.wing_span_m, spec.wing_chord_m);
        let lateral = |c: [f64; 5], scale: f64| Lateral {
            sideslip: c[0] * scale,
            roll_rate: c[1] * scale * span,
            yaw_rate: c[2] * scale * span,
            aileron: c[3] * scale,
            rudder: c[4] * scale,
        };
        let thrust = spec.propeller_area_m2 * spec.c_prop;
        Self {
            per_mass: 1.0 / spec.mass_kg,
            half_density: 0.5 * spec.air_density_kgpm3,
            lift_0: spec.c_l_0,
            lift_alpha: spec.c_l_alpha,
            lift_q: spec.c_l_q * area * chord,
            lift_elevator: spec.c_l_elevator * area,
            plate: area,
            drag_p: spec.c_d_p * area,
            drag_lift: area / (PI * spec.oswald * span * span / area),
            drag_q: spec.c_d_q * area * chord,
            drag_elevator: spec.c_d_elevator * area,
            pitch_0: spec.c_m_0 * area * chord,
            pitch_alpha: spec.c_m_alpha * area * chord,
            pitch_q: spec.c_m_q * area * chord * chord,
            pitch_elevator: spec.c_m_elevator * area * chord,
            stall_sharpness: spec.stall_sharpness,
            stall_scale: math::exp(spec.stall_sharpness * spec.stall_rad),
            side: lateral(spec.c_y, area),
            roll: lateral(spec.c_roll, area * span),
            yaw: lateral(spec.c_yaw, area * span),
            thrust,
            jet: spec.motor_mps,
            motor_torque: spec.motor_torque_nm,
            surface_max: spec.surface_max_rad,
            gamma: gamma(spec),
        }
    }
}

/// Γ1 to Γ8 of the book's (3.13), and 1/Jy.
pub(crate) fn gamma(spec: &FixedWingSpec) -> [f64; 9] {
    let ([jx, jy, jz], jxz) = (spec.inertia_kgm2, spec.inertia_xz_kgm2);
    let per = 1.0 / (jx * jz - jxz * jxz);
    [
        jxz * (jx - jy + jz) * per,
        (jz * (jz - jy) + jxz * jxz) * per,
        jz * per,
        jxz * per,
        (jz - jx) / jy,
        jxz / jy,
        ((jx - jy) * jx + jxz * jxz) * per,
        jx * per,
        1.0 / jy,
    ]
}

impl FixedWing {
    /// An aircraft with these parameters.
    pub fn new(spec: FixedWingSpec) -> Self {
        let constants = Constants::new(&spec);
        Self { spec, constants, keeps: OnceLock::new() }
    }

    /// All ticks of a motion are of one length as a rule, so exponentials are computed once.
    fn keeps(&self, dt: f64) -> Keeps {
        let after = |time_s: f64| math::exp(-0.5 * dt / time_s);
        let new = || Keeps { dt, surface: after(self.spec.servo_s), motor: after(self.spec.motor_s) };
        let kept = *self.keeps.get_or_init(new);
        if kept.dt == dt { kept } else { new() }
    }
}

impl Motion for FixedWing {
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
        let ([x, y, z], xz) = (self.spec.inertia_kgm2, self.spec.inertia_xz_kgm2);
        // the book's axes point right and down, so that its product changes sign twice
        let inertia = DMat3::from_cols_array(&[x, 0.0, xz, 0.0, y, 0.0, xz, 0.0, z]);
        Mass { per_kg: self.spec.mass_kg.recip(), per_inertia: inertia.inverse(), ..Mass::INFINITE }
    }

    fn start(&self, columns: &mut [Column], lane: usize) {
        let Some(columns) = columns.first_chunk_mut::<COLUMNS>() else { return };
        let velocity = body::vec3(columns, body::VELOCITY, lane);
        let speed = velocity.length();
        let trimmed = if self.spec.start == StartFlight::Trimmed && speed >= self.spec.start_trimmed_mps {
            trim(&self.spec, speed, math::asin(math::clamp(velocity.z / speed, -1.0, 1.0)))
        } else {
            None
        };
        let controls = trimmed.map_or([0.0; 4], |trim| [trim.elevator_rad, 0.0, 0.0, trim.throttle]);
        for (index, value) in controls.into_iter().enumerate() {
            columns[COMMAND + index][lane] = value;
            columns[ACTUAL + index][lane] = value;
        }
        if let Some(trim) = trimmed {
            let yaw = math::yaw_from_quat(body::orientation(columns, lane));
            body::set_orientation(columns, lane, math::quat_from_rpy(0.0, -trim.pitch_rad, yaw));
        }
        let [elevator, aileron, rudder, throttle] = controls;
        let through_air = math::rotate_inverse(body::orientation(columns, lane), velocity);
        let rate = body::vec3(columns, body::ANGULAR_VELOCITY, lane);
        let loads = loads(through_air, rate, &Controls { elevator, aileron, rudder, throttle }, &self.constants);
        loads.store(columns, LAST, lane);
        loads.store(columns, BEFORE, lane);
    }

    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>) {
        let Some(columns) = columns.first_chunk_mut() else { return };
        let keeps = self.keeps(tick.dt_s);
        let step = Step {
            dt: tick.dt_s,
            gravity: tick.environment.gravity_mps2,
            keep_surface: keeps.surface,
            keep_motor: keeps.motor,
        };
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
            ("wing_area_m2", spec.wing_area_m2),
            ("wing_span_m", spec.wing_span_m),
            ("wing_chord_m", spec.wing_chord_m),
            ("air_density_kgpm3", spec.air_density_kgpm3),
            ("surface_max_rad", spec.surface_max_rad),
        ]
    }
}

#[inline(always)]
fn kernel(columns: &mut [Column; COLUMNS], lanes: usize, constants: &Constants, step: &Step) {
    // copies, as a choice between two numbers behind a reference becomes a choice of addresses, lane by lane
    let (constants, step) = (&{ *constants }, &{ *step });
    let (low, high) = (-constants.surface_max, constants.surface_max);
    for lane in 0..lanes.min(LANES) {
        let now = Body::load(columns, lane);
        let wind = body::vec3(columns, body::WIND, lane);
        let elevator = lag(columns[ACTUAL][lane], rigid::bound(columns[COMMAND][lane], low, high), step.keep_surface);
        let aileron =
            lag(columns[ACTUAL + 1][lane], rigid::bound(columns[COMMAND + 1][lane], low, high), step.keep_surface);
        let rudder =
            lag(columns[ACTUAL + 2][lane], rigid::bound(columns[COMMAND + 2][lane], low, high), step.keep_surface);
        let throttle =
            lag(columns[ACTUAL + 3][lane], rigid::bound(columns[COMMAND + 3][lane], 0.0, 1.0), step.keep_motor);
        let mid = Controls { elevator: elevator[0], aileron: aileron[0], rudder: rudder[0], throttle: throttle[0] };
        let (last, before) = (Loads::load(columns, LAST, lane), Loads::load(columns, BEFORE, lane));
        let (next, loads) = fly(&now, wind, &mid, last.ahead(&before), (constants, step));
        next.store(columns, lane);
        last.store(columns, BEFORE, lane);
        loads.store(columns, LAST, lane);
        columns[ACTUAL][lane] = elevator[1];
        columns[ACTUAL + 1][lane] = aileron[1];
        columns[ACTUAL + 2][lane] = rudder[1];
        columns[ACTUAL + 3][lane] = throttle[1];
    }
}

/// The position of a servo in the middle and at the end of a tick.
#[inline(always)]
fn lag(first: f64, command: f64, keep: f64) -> [f64; 2] {
    let gap = (first - command) * keep;
    [command + gap, command + gap * keep]
}

/// Force divided by mass in the body frame, and the rate of change of the body's rates.
#[derive(Debug, Clone, Copy)]
struct Loads {
    acceleration: DVec3,
    spin: DVec3,
}

impl Loads {
    #[inline(always)]
    fn load(columns: &[Column], first: usize, lane: usize) -> Self {
        Self { acceleration: body::vec3(columns, first, lane), spin: body::vec3(columns, first + 3, lane) }
    }

    #[inline(always)]
    fn store(&self, columns: &mut [Column], first: usize, lane: usize) {
        body::set_vec3(columns, first, lane, self.acceleration);
        body::set_vec3(columns, first + 3, lane, self.spin);
    }

    /// The loads at the start of a tick, given those at the middles of the last tick and of the one before.
    #[inline(always)]
    fn ahead(&self, before: &Self) -> Self {
        Self {
            acceleration: self.acceleration + 0.5 * (self.acceleration - before.acceleration),
            spin: self.spin + 0.5 * (self.spin - before.spin),
        }
    }
}

/// One tick with surfaces and throttle as they are at its middle, and the loads there. The state at the middle need only
/// be known to first order, so `first`, the loads at the start, lead there.
#[inline(always)]
fn fly(
    now: &Body,
    wind: DVec3,
    controls: &Controls,
    first: Loads,
    (constants, step): (&Constants, &Step),
) -> (Body, Loads) {
    let half = 0.5 * step.dt;
    let rate_mid = now.rate + half * first.spin;
    let velocity_mid = now.velocity + half * (step.gravity + math::rotate(now.orientation, first.acceleration));
    let turn = rigid::small_turn((0.5 * half) * rate_mid);
    let orientation_mid: DQuat = rigid::product(now.orientation, turn);

    let through_air = math::rotate_inverse(orientation_mid, velocity_mid - wind);
    let loads = loads(through_air, rate_mid, controls, constants);
    let velocity = now.velocity + step.dt * (step.gravity + math::rotate(orientation_mid, loads.acceleration));
    let next = Body {
        position: now.position + half * (now.velocity + velocity),
        orientation: rigid::turned_twice(now.orientation, orientation_mid, turn),
        velocity,
        rate: now.rate + step.dt * loads.spin,
    };
    (next, loads)
}

/// Lift for the angle of attack per q̄S: the linear law, and beyond stall that of a flat plate.
#[inline(always)]
fn lift_of_alpha(alpha: f64, (sine, cosine): (f64, f64), constants: &Constants) -> f64 {
    // even in α, and with both sides multiplied by d = e^-M|α| there is one quotient and no overflow
    let d = math::exp(-constants.stall_sharpness * alpha.abs());
    let scale = constants.stall_scale;
    let s_d = d + scale * (d * d + 1.0);
    let blend = s_d / (s_d + scale * scale * d);
    let linear = constants.lift_0 + constants.lift_alpha * alpha;
    let plate = 2.0 * sine * sine.abs() * cosine;
    linear + blend * (plate - linear)
}

#[inline(always)]
fn lateral(c: &Lateral, [dynamic, quarter]: [f64; 2], [beta, p, r]: [f64; 3], controls: &Controls) -> f64 {
    dynamic * (c.sideslip * beta + c.aileron * controls.aileron + c.rudder * controls.rudder)
        + quarter * (c.roll_rate * p + c.yaw_rate * r)
}

#[inline(always)]
fn loads(through_air: DVec3, rate: DVec3, controls: &Controls, constants: &Constants) -> Loads {
    // the book's frame: forward, right, down
    let (u, v, w) = (through_air.x, -through_air.y, -through_air.z);
    let (p, q, r) = (rate.x, -rate.y, -rate.z);
    let square_in_plane = u * u + w * w;
    let in_plane = square_in_plane.sqrt();
    let square = square_in_plane + v * v;
    let airspeed = square.sqrt();
    // without airspeed there is no direction, and no force that asks for it
    let per_in_plane = 1.0 / math::max(in_plane, 1e-9);
    let (sine, cosine) = (w * per_in_plane, u * per_in_plane);
    let alpha = math::atan2(w, u);
    let beta = math::atan2(v, in_plane);

    let dynamic = constants.half_density * square;
    let quarter = 0.5 * constants.half_density * airspeed;
    let linear = constants.lift_0 + constants.lift_alpha * alpha;
    let lift = dynamic
        * (constants.plate * lift_of_alpha(alpha, (sine, cosine), constants)
            + constants.lift_elevator * controls.elevator)
        + quarter * constants.lift_q * q;
    let drag = dynamic
        * (constants.drag_p
            + constants.drag_lift * (linear * linear)
            + constants.drag_elevator * controls.elevator.abs())
        + quarter * constants.drag_q * q;
    let jet = constants.jet * controls.throttle;
    let thrust = constants.half_density * constants.thrust * (jet * jet - square);

    let pressures = [dynamic, quarter];
    let fx = sine * lift - cosine * drag + thrust;
    let fy = lateral(&constants.side, pressures, [beta, p, r], controls);
    let fz = -(sine * drag) - cosine * lift;
    let roll = lateral(&constants.roll, pressures, [beta, p, r], controls)
        - constants.motor_torque * (controls.throttle * controls.throttle);
    let pitch = dynamic
        * (constants.pitch_0 + constants.pitch_alpha * alpha + constants.pitch_elevator * controls.elevator)
        + quarter * constants.pitch_q * q;
    let yaw = lateral(&constants.yaw, pressures, [beta, p, r], controls);

    let [g1, g2, g3, g4, g5, g6, g7, g8, per_jy] = constants.gamma;
    let p_dot = g1 * (p * q) - g2 * (q * r) + g3 * roll + g4 * yaw;
    let q_dot = g5 * (p * r) - g6 * (p * p - r * r) + per_jy * pitch;
    let r_dot = g7 * (p * q) - g1 * (q * r) + g4 * roll + g8 * yaw;
    Loads { acceleration: DVec3::new(fx, -fy, -fz) * constants.per_mass, spin: DVec3::new(p_dot, -q_dot, -r_dot) }
}
