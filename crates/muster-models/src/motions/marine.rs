//! A vessel on or under water in six degrees of freedom, after T. I. Fossen, *Handbook of Marine Craft Hydrodynamics and
//! Motion Control* (2011), chapters 6 and 7: Kirchhoff's equations of a rigid body with added mass, damping, buoyancy,
//! thrusters and wind. One model for boats, which float, and submarines, which do not.
//!
//! The body's origin is its centre of gravity. With mass m, inertia I, added mass A and added inertia J (diagonal, in
//! the body's axes), the velocity v through the water and the rate ω:
//!
//! ```text
//! (m + A) dv/dt = F - ω × (m + A) v                    F = weight + buoyancy + thrust - (d + e|v|) v + wind
//! (I + J) dω/dt = T - ω × (I + J) ω - v × A v          T = buoyancy + thrust - (d' + e'|ω|) ω
//! ```
//!
//! The hull is a list of boxes, each taken as four upright bars at the points of Gauss's rule, so that volume, centre of
//! buoyancy and moments of the waterplane are exact while the hull stands nearly upright, and with them draught, heave,
//! metacentric heights, roll and pitch. How much of a bar is under water follows from the depth of its middle; as each
//! point of it is lifted while under water, buoyancy keeps energy. A submarine is a hull whose volume is about its mass.
//!
//! Added mass and damping hold while half of what the vessel displaces afloat, or more, is under water, and vanish with
//! the rest of it; wind acts on the share of the hull in air; a thruster pushes as far as its disc is under water. So a
//! vessel that leaves the water falls, and in a world without water it just falls.
//!
//! A wave lifts the surface under each bar, and carries and damps the body with the water's velocity at its centre; as
//! vessels are taken to be small against waves, their diffraction and radiation are left out, as are shallow water,
//! wash, planing, rudders and fins, and the lift of a hull at an angle to its course. So nothing but damping works against
//! Munk's moment (`v × A v`): at speed a slender hull does not keep its course by itself and needs its control.
//!
//! Inputs: `thrust_n`, a force for each thruster along its direction, followed as a first-order lag. Used in every
//! setpoint mode. Integration is by the explicit midpoint rule with rotation by the exponential of the rate at mid-tick;
//! ticks have to be shorter than a tenth of the shortest period or time constant.
//!
//! The defaults are those of a BlueROV2 Heavy: mass, volume, inertia, added mass, damping and the height of the centre
//! of buoyancy from M. von Benzon, F. F. Sørensen, E. Uth, J. Jouffroy, J. Liniger and S. Pedersen, *An Open-Source
//! Benchmark Simulator: Control of a BlueROV2 Underwater Robot* (2022); thrust of its T200s at 16 V from Blue
//! Robotics' charts. Guesses are the thrusters' lag and exact places, and the drag in wind.

use super::rigid::{self, Body};
use glam::DVec3;
use muster_core::component::{Kind, Motion, Tick};
use muster_core::contact::{Mass, Mobility};
use muster_core::lanes::{Column, LANE_STEP, LANES, Quantity, body};
use muster_core::math;
use muster_core::node::{Node, Problems};
use muster_core::spec::Spec;
use std::sync::{Arc, OnceLock};

mod hull;
#[cfg(test)]
mod tests;

use hull::{Bar, Place, Surface, Under};

muster_core::spec! {
    /// A box of the hull.
    pub struct HullBox {
        /// Its length, width and height.
        size_m: [f64; 3], in 0.001..=1000.0;
        /// Its centre, from the centre of gravity.
        at_m: [f64; 3] = [0.0; 3], in -1000.0..=1000.0;
        /// The share of the box that displaces water, spread over all of it.
        fill: f64 = 1.0, in 0.000001..=1.0;
    }
}

muster_core::spec! {
    /// A thruster.
    pub struct Thruster {
        /// Where it is, from the centre of gravity.
        at_m: [f64; 3] = [0.0; 3], in -1000.0..=1000.0;
        /// Where it pushes the vessel to; of any length but 0.
        direction: [f64; 3] = [1.0, 0.0, 0.0], in -1000.0..=1000.0;
        /// The greatest thrust.
        forward_max_n: f64 = 51.5, in 0.0..=1e8;
        /// The greatest thrust against its direction.
        backward_max_n: f64 = 40.2, in 0.0..=1e8;
        /// Time constant with which thrust follows; 0 for none.
        lag_s: f64 = 0.1, in 0.0..=100.0;
        /// Radius of its disc; nearer to the surface it pushes less.
        radius_m: f64 = 0.038, in 0.001..=10.0;
    }
}

muster_core::spec! {
    /// A vessel. The defaults are those of a BlueROV2 Heavy.
    pub struct MarineSpec {
        /// Mass.
        mass_kg: f64 = 13.5, in 0.001..=1e9;
        /// Moments of inertia about the body's axes, which are its principal axes.
        inertia_kgm2: [f64; 3] = [0.26, 0.23, 0.37], in 1e-9..=1e12;
        /// Boxes that displace water.
        hull: Vec<HullBox> = bluerov_hull();
        /// Added mass along the body's axes.
        added_mass_kg: [f64; 3] = [6.3567, 7.1206, 18.6863], in 0.0..=1e9;
        /// Added moments of inertia about the body's axes.
        added_inertia_kgm2: [f64; 3] = [0.1858, 0.1348, 0.2215], in 0.0..=1e12;
        /// Drag along the body's axes for the velocity through the water: N/(m/s).
        drag_linear_kgps: [f64; 3] = [13.7, 0.0, 33.0], in 0.0..=1e9;
        /// Drag along the body's axes for the square of the velocity through the water: N/(m/s)².
        drag_square_kgpm: [f64; 3] = [141.0, 217.0, 190.0], in 0.0..=1e9;
        /// Damping about the body's axes for the rate: N m/(rad/s).
        turn_drag_linear_nms: [f64; 3] = [0.0, 0.8, 0.0], in 0.0..=1e12;
        /// Damping about the body's axes for the square of the rate: N m/(rad/s)².
        turn_drag_square_nms2: [f64; 3] = [1.192, 0.47, 1.5], in 0.0..=1e12;
        /// Drag of the whole hull in air along the body's axes: area times drag coefficient.
        wind_area_m2: [f64; 3] = [0.15, 0.12, 0.26], in 0.0..=1e5;
        /// Thrusters, in the order of the inputs.
        thrusters: Vec<Thruster> = bluerov_thrusters();
        /// The speed no robot exceeds.
        speed_max_mps: f64 = 10.0, in 0.1..=1000.0;
    }
}

/// 13.4 l in the outline of the frame, with their centre 1 cm above that of gravity.
fn bluerov_hull() -> Vec<HullBox> {
    let size_m: [f64; 3] = [0.457, 0.575, 0.254];
    vec![HullBox { size_m, at_m: [0.0, 0.0, 0.01], fill: 0.0134 / (size_m[0] * size_m[1] * size_m[2]) }]
}

/// Four level thrusters at the corners, turned by 45°, and four upright ones.
fn bluerov_thrusters() -> Vec<Thruster> {
    let thruster = |at_m: [f64; 3], direction: [f64; 3]| Thruster {
        at_m,
        direction,
        forward_max_n: 51.5,
        backward_max_n: 40.2,
        lag_s: 0.1,
        radius_m: 0.038,
    };
    let (x, y) = (0.156, 0.111);
    let level = [(x, -y, 1.0), (x, y, -1.0), (-x, -y, -1.0), (-x, y, 1.0)];
    let (x, y) = (0.12, 0.218);
    let upright = [(x, -y), (x, y), (-x, -y), (-x, y)];
    let level = level.into_iter().map(|(x, y, left)| thruster([x, y, 0.0], [1.0, left, 0.0]));
    level.chain(upright.into_iter().map(|(x, y)| thruster([x, y, 0.0], [0.0, 0.0, 1.0]))).collect()
}

/// The row of this kind.
pub const KIND: Kind<dyn Motion> = Kind {
    name: "marine",
    doc: "A boat or submarine: rigid body with added mass, damping, buoyancy of boxes and thrusters; inputs are thrusts.",
    fields: <MarineSpec as Spec>::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <MarineSpec as Spec>::read(node, path, also, problems)?;
        check(&spec, node, path, problems).then(|| -> Arc<dyn Motion> { Arc::new(Marine::new(spec)) })
    },
};

/// As many as any vessel has.
const THRUSTERS_MAX: usize = 64;

/// What the limits of single fields do not show.
pub(crate) fn check(spec: &MarineSpec, node: &Node, path: &str, problems: &mut Problems) -> bool {
    let place = node.get("thrusters").map_or(node.place, |thrusters| thrusters.place);
    let count = spec.thrusters.len();
    if count > THRUSTERS_MAX {
        let path = format!("{path}.thrusters");
        problems.error(place, &path, format!("{count} thrusters"), format!("at most {THRUSTERS_MAX}"));
    }
    let idle = spec.thrusters.iter().position(|thruster| DVec3::from(thruster.direction).length() < 1e-9);
    if let Some(at) = idle {
        let path = format!("{path}.thrusters[{at}].direction");
        problems.error(place, &path, "[0, 0, 0]", "a direction");
    }
    count <= THRUSTERS_MAX && idle.is_none()
}

const INPUT: usize = body::COLUMNS;

/// Density of the air around what is above water.
const AIR_KGPM3: f64 = 1.225;

/// The motion of a vessel.
#[derive(Debug, Clone)]
pub struct Marine {
    spec: MarineSpec,
    columns: [Quantity; 1],
    constants: Constants,
    bars: Vec<Bar>,
    volume: f64,
    thrusters: Vec<Push>,
    /// What is left of deviations of thrusts from their commands after half a tick, for ticks of one length.
    keeps: OnceLock<(f64, Vec<f64>)>,
}

/// What the kernel needs of the specification.
#[derive(Debug, Clone, Copy)]
struct Constants {
    mass: f64,
    inertia: DVec3,
    added_mass: DVec3,
    added_inertia: DVec3,
    linear: DVec3,
    square: DVec3,
    turn_linear: DVec3,
    turn_square: DVec3,
    /// ½ρ of the air times area.
    wind: DVec3,
    per_volume: f64,
}

/// What the kernel needs of a thruster: force and torque of one newton.
#[derive(Debug, Clone, Copy)]
struct Push {
    at: DVec3,
    force: DVec3,
    torque: DVec3,
    low: f64,
    high: f64,
    lag: f64,
    per_diameter: f64,
}

/// What the kernel needs of the tick.
#[derive(Debug, Clone, Copy)]
struct Step {
    dt: f64,
    gravity: DVec3,
    /// The surface at the start and in the middle of the tick.
    surfaces: [Surface; 2],
    /// One over half of what the vessel displaces afloat.
    per_half_afloat: f64,
}

impl Push {
    fn new(spec: &Thruster) -> Self {
        let (at, force) = (DVec3::from(spec.at_m), DVec3::from(spec.direction).normalize());
        Self {
            at,
            force,
            torque: at.cross(force),
            low: -spec.backward_max_n,
            high: spec.forward_max_n,
            lag: spec.lag_s,
            per_diameter: 0.5 / spec.radius_m,
        }
    }

    /// What is left of a deviation from the command after half a tick.
    fn keep(&self, dt: f64) -> f64 {
        math::exp(-0.5 * dt / self.lag)
    }
}

impl Marine {
    /// A vessel with these parameters.
    pub fn new(spec: MarineSpec) -> Self {
        let bars: Vec<Bar> = spec.hull.iter().flat_map(Bar::of_box).collect();
        let volume: f64 = bars.iter().map(|bar| bar.volume).sum();
        let constants = Constants {
            mass: spec.mass_kg,
            inertia: spec.inertia_kgm2.into(),
            added_mass: spec.added_mass_kg.into(),
            added_inertia: spec.added_inertia_kgm2.into(),
            linear: spec.drag_linear_kgps.into(),
            square: spec.drag_square_kgpm.into(),
            turn_linear: spec.turn_drag_linear_nms.into(),
            turn_square: spec.turn_drag_square_nms2.into(),
            wind: 0.5 * AIR_KGPM3 * DVec3::from(spec.wind_area_m2),
            per_volume: if volume > 0.0 { 1.0 / volume } else { 0.0 },
        };
        let thrusters: Vec<Push> = spec.thrusters.iter().map(Push::new).collect();
        let columns = [Quantity::many("thrust_n", thrusters.len())];
        Self { spec, columns, constants, bars, volume, thrusters, keeps: OnceLock::new() }
    }

    fn step(&self, tick: &Tick<'_>) -> Step {
        let (environment, end_s) = (tick.environment, tick.time.s());
        let gravity = environment.gravity_mps2;
        let surface = |time_s: f64| Surface::new(environment.water.as_ref(), -gravity.z, time_s);
        let density = environment.water.map_or(1.0, |water| water.density_kgpm3);
        let afloat = math::min(self.volume, self.spec.mass_kg / density);
        Step {
            dt: tick.dt_s,
            gravity,
            surfaces: [surface(end_s - tick.dt_s), surface(end_s - 0.5 * tick.dt_s)],
            per_half_afloat: if afloat > 0.0 { 2.0 / afloat } else { 0.0 },
        }
    }
}

impl Motion for Marine {
    fn inputs(&self) -> &[Quantity] {
        &self.columns
    }

    fn state(&self) -> &[Quantity] {
        &self.columns
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
        columns.iter_mut().skip(INPUT).take(2 * self.thrusters.len()).for_each(|column| column[lane] = 0.0);
    }

    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>) {
        let step = self.step(tick);
        let lanes = lanes.next_multiple_of(LANE_STEP).min(LANES);
        let kept =
            self.keeps.get_or_init(|| (tick.dt_s, self.thrusters.iter().map(|push| push.keep(tick.dt_s)).collect()));
        let Some((body, rest)) = columns.split_first_chunk_mut::<{ body::COLUMNS }>() else { return };
        let (inputs, thrusts) = rest.split_at_mut(self.thrusters.len());
        let waves = step.surfaces[0].amplitude != 0.0;
        tick.simd.run(
            #[inline(always)]
            || {
                let mut pushed = [[0.0; LANES]; 6];
                let place = Place::new(body, lanes, &step.surfaces[0]);
                for (index, push) in self.thrusters.iter().enumerate() {
                    let keep = if kept.0 == tick.dt_s { kept.1[index] } else { push.keep(tick.dt_s) };
                    thrust(push, keep, (&inputs[index], &mut thrusts[index]), (&place, &mut pushed), lanes);
                }
                if waves {
                    kernel::<true>(body, lanes, (&self.constants, &self.bars), &step, (&place, &pushed));
                } else {
                    kernel::<false>(body, lanes, (&self.constants, &self.bars), &step, (&place, &pushed));
                }
            },
        );
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        let spec = &self.spec;
        vec![
            ("mass_kg", spec.mass_kg),
            ("inertia_x_kgm2", spec.inertia_kgm2[0]),
            ("inertia_y_kgm2", spec.inertia_kgm2[1]),
            ("inertia_z_kgm2", spec.inertia_kgm2[2]),
            ("volume_m3", self.volume),
            ("thrusters", spec.thrusters.len() as f64),
        ]
    }
}

/// Moves the thrusts of one thruster on by a tick and adds what they do to the bodies, as they are at its middle.
#[inline(always)]
fn thrust(
    push: &Push,
    keep: f64,
    (command, thrust): (&Column, &mut Column),
    (place, pushed): (&Place, &mut [Column; 6]),
    lanes: usize,
) {
    let push = &{ *push };
    for lane in 0..lanes.min(LANES) {
        let command = rigid::bound(command[lane], push.low, push.high);
        let gap = (thrust[lane] - command) * keep;
        thrust[lane] = command + gap * keep;
        let under = rigid::bound(0.5 + place.depth(push.at, lane) * push.per_diameter, 0.0, 1.0);
        let force = under * (command + gap);
        pushed[0][lane] += force * push.force.x;
        pushed[1][lane] += force * push.force.y;
        pushed[2][lane] += force * push.force.z;
        pushed[3][lane] += force * push.torque.x;
        pushed[4][lane] += force * push.torque.y;
        pushed[5][lane] += force * push.torque.z;
    }
}

#[inline(always)]
fn kernel<const WAVES: bool>(
    columns: &mut [Column; body::COLUMNS],
    lanes: usize,
    (constants, bars): (&Constants, &[Bar]),
    step: &Step,
    (place, pushed): (&Place, &[Column; 6]),
) {
    // copies, as a choice between two numbers behind a reference becomes a choice of addresses, lane by lane
    let (constants, step) = (&{ *constants }, &{ *step });
    let half = 0.5 * step.dt;
    let mut middle = [[0.0; LANES]; body::ACCELERATION];
    let under = Under::new::<WAVES>(bars, place, lanes);
    for lane in 0..lanes.min(LANES) {
        let now = Body::load(columns, lane);
        let wind = body::vec3(columns, body::WIND, lane);
        let outside = Outside { wind, water: step.surfaces[0].velocity::<WAVES>(now.position), gravity: step.gravity };
        let wrench = Wrench::new(pushed, &under, place, (step.surfaces[0].weight, lane));
        let rates = rates(&now, &outside, &wrench, (constants, step.per_half_afloat));
        let velocity = now.velocity + half * rates.acceleration;
        let rate = now.rate + half * rates.spin;
        let turn = rigid::small_turn((0.5 * half) * rate);
        let orientation = rigid::product(now.orientation, turn);
        let position = now.position + half * now.velocity;
        Body { position, orientation, velocity, rate }.store(&mut middle, lane);
    }
    let place = Place::new(&middle, lanes, &step.surfaces[1]);
    let under = Under::new::<WAVES>(bars, &place, lanes);
    for lane in 0..lanes.min(LANES) {
        let (now, mid) = (Body::load(columns, lane), Body::load(&middle, lane));
        let wind = body::vec3(columns, body::WIND, lane);
        let outside = Outside { wind, water: step.surfaces[1].velocity::<WAVES>(mid.position), gravity: step.gravity };
        let wrench = Wrench::new(pushed, &under, &place, (step.surfaces[1].weight, lane));
        let rates = rates(&mid, &outside, &wrench, (constants, step.per_half_afloat));
        let velocity = now.velocity + step.dt * rates.acceleration;
        let turn = rigid::small_turn((0.5 * half) * mid.rate);
        let next = Body {
            position: now.position + half * (now.velocity + velocity),
            orientation: rigid::turned_twice(now.orientation, mid.orientation, turn),
            velocity,
            rate: now.rate + step.dt * rates.spin,
        };
        next.store(columns, lane);
    }
}

/// What is around a body, in the world frame.
#[derive(Debug, Clone, Copy)]
struct Outside {
    wind: DVec3,
    water: DVec3,
    gravity: DVec3,
}

/// What thrusters and buoyancy do to a body, in its frame, and how much of it is under water.
#[derive(Debug, Clone, Copy)]
struct Wrench {
    force: DVec3,
    torque: DVec3,
    volume: f64,
}

impl Wrench {
    /// `weight` is that of a cubic metre of water.
    #[inline(always)]
    fn new(pushed: &[Column; 6], under: &Under, place: &Place, (weight, lane): (f64, usize)) -> Self {
        let (up, arm) = (place.up(lane), under.arm(lane));
        let volume = under.volume(lane);
        Self {
            force: body::vec3(pushed, 0, lane) + up * (weight * volume),
            torque: body::vec3(pushed, 3, lane) + (weight * arm).cross(up),
            volume,
        }
    }
}

/// Acceleration in the world frame and the rate of change of the body's rates.
#[derive(Debug, Clone, Copy)]
struct Rates {
    acceleration: DVec3,
    spin: DVec3,
}

#[inline(always)]
fn absolute(v: DVec3) -> DVec3 {
    DVec3::new(v.x.abs(), v.y.abs(), v.z.abs())
}

#[inline(always)]
fn rates(now: &Body, outside: &Outside, wrench: &Wrench, (constants, per_half_afloat): (&Constants, f64)) -> Rates {
    let wet = rigid::bound(wrench.volume * per_half_afloat, 0.0, 1.0);
    let dry = 1.0 - wrench.volume * constants.per_volume;
    let v = math::rotate_inverse(now.orientation, now.velocity - outside.water);
    let air = math::rotate_inverse(now.orientation, now.velocity - outside.wind);
    let rate = now.rate;

    let mass = DVec3::splat(constants.mass) + wet * constants.added_mass;
    let weight = constants.mass * math::rotate_inverse(now.orientation, outside.gravity);
    let drag = wet * (constants.linear + constants.square * absolute(v)) * v;
    let blown = constants.wind * air * (dry * air.dot(air).sqrt());
    let force = wrench.force + weight - drag - blown;
    let along = (force - rate.cross(mass * v)) / mass;

    let inertia = constants.inertia + wet * constants.added_inertia;
    let damping = wet * (constants.turn_linear + constants.turn_square * absolute(rate)) * rate;
    let munk = v.cross(wet * constants.added_mass * v);
    let torque = wrench.torque - damping - munk - rate.cross(inertia * rate);
    // the water's own velocity is steady in the world
    Rates { acceleration: math::rotate(now.orientation, along + rate.cross(v)), spin: torque / inertia }
}
