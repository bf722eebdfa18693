//! The model: everything that does not change while a simulation runs. Blueprints say what robots of one sort are made
//! of and how their columns are laid out; the environment holds gravity, air, water, origin and obstacles.

use crate::actuator::{ActuatorSlot, Settings};
use crate::component::{Driver, Modifier, Motion, Pose, Sense, Sensor, Wind, Wire};
use crate::contact::{Bond, Mobility, Part};
use crate::daylight::Daylight;
use crate::event::Event;
use crate::joints::{Frame, JointColumns, jointed, reach_m};
use crate::lanes::{LANES, Quantity, body};
use crate::material::Material;
use crate::obstacles::Obstacles;
use crate::random;
use crate::render::{Null, Renderer};
use crate::time::{Rate, SimTime};
use crate::zone::{Fire, Zone};
use glam::DVec3;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The world around the robots.
#[derive(Clone)]
pub struct Environment {
    /// Gravity in the world frame, m/s².
    pub gravity_mps2: DVec3,
    /// Where the world's origin is on the earth.
    pub origin: Origin,
    /// Air pressure at mean sea level, Pa.
    pub sea_level_pressure_pa: f64,
    /// Air temperature at mean sea level, K.
    pub sea_level_temperature_k: f64,
    /// How the air moves.
    pub wind: Arc<dyn Wind>,
    /// The water, if there is any.
    pub water: Option<Water>,
    /// What stands in the world.
    pub obstacles: Obstacles,
    /// The date as a year and its fraction, on which the magnetic field of the earth depends.
    pub decimal_year: f64,
    /// What burns.
    pub fires: Vec<Fire>,
    /// Parts of space with a meaning.
    pub zones: Vec<Zone>,
    /// What surfaces are made of; the first is that of whatever names none.
    pub materials: Vec<Material>,
    /// What cameras see by.
    pub daylight: Daylight,
    /// Who makes pictures.
    pub renderer: Arc<dyn Renderer>,
    /// The addresses of what extensions offer, by their names; those who ask know what is there.
    pub offers: BTreeMap<String, usize>,
    /// How long a call of a plug-in may take before its robots are isolated; for ever if there is no limit.
    pub call_limit: Option<Duration>,
}

impl Environment {
    /// Nothing but standard gravity and still air, the origin at sea level where the equator meets Greenwich.
    pub fn empty() -> Self {
        Self {
            gravity_mps2: DVec3::new(0.0, 0.0, -9.80665),
            origin: Origin { latitude_deg: 0.0, longitude_deg: 0.0, altitude_m: 0.0 },
            sea_level_pressure_pa: 101_325.0,
            sea_level_temperature_k: 288.15,
            wind: Arc::new(Calm),
            water: None,
            obstacles: Obstacles::default(),
            decimal_year: 2026.0,
            fires: Vec::new(),
            zones: Vec::new(),
            materials: vec![Material::plain()],
            daylight: Daylight::NOON,
            renderer: Arc::new(Null),
            offers: BTreeMap::new(),
            call_limit: None,
        }
    }
}

/// Water everywhere below a level, with a steady current and perhaps a wave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Water {
    /// Height of the surface at rest, m.
    pub level_m: f64,
    /// Density, kg/m³.
    pub density_kgpm3: f64,
    /// Velocity of the water in the world frame, m/s.
    pub current_mps: DVec3,
    /// What runs over the surface.
    pub wave: Option<Wave>,
}

/// A regular wave of small amplitude on deep water (Airy): the surface is at `a cos(k·x - ωt)` above its level, and ω² = g k.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wave {
    /// Height of a crest above the level, m.
    pub amplitude_m: f64,
    /// Time from crest to crest at one place, s.
    pub period_s: f64,
    /// Where it runs to: the angle from east, counter-clockwise, rad.
    pub direction_rad: f64,
}

/// Still air.
pub struct Calm;

impl Wind for Calm {
    fn mean_mps(&self) -> DVec3 {
        DVec3::ZERO
    }
}

/// Where the world's origin is on the earth.
pub use crate::geodesy::Geodetic as Origin;

/// A driver in its place on a robot.
#[derive(Clone)]
pub struct DriverSlot {
    /// Its role, `driver` or `controller`.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// The driver.
    pub driver: Arc<dyn Driver>,
    /// How often it is called.
    pub rate: Rate,
}

/// A sensor in its place on a robot.
#[derive(Clone)]
pub struct SensorSlot {
    /// Its name on the robot.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// The sensor.
    pub sensor: Arc<dyn Sensor>,
    /// How often it measures.
    pub rate: Rate,
    /// By how much its lattice is shifted.
    pub phase: SimTime,
    /// How long a sample takes to become visible, modifiers' delays included.
    pub latency: SimTime,
    /// The frame it sits on, if joints move that; `None` for the body and for frames fixed to it.
    pub frame: Option<usize>,
    /// `frame_from_sensor`, or `body_from_sensor` without a frame.
    pub mount: Pose,
    /// What happens to its samples, in order.
    pub modifiers: Vec<ModifierSlot>,
    /// Its parameters as text, in the order of its kind.
    pub settings: Settings,
}

impl SensorSlot {
    /// Exchanges the modifiers, and their delays in the latency.
    pub fn set_modifiers(&mut self, modifiers: Vec<ModifierSlot>) {
        let delay = |slots: &[ModifierSlot]| slots.iter().fold(SimTime::ZERO, |sum, slot| sum + slot.modifier.delay());
        self.latency = self.latency - delay(&self.modifiers) + delay(&modifiers);
        self.modifiers = modifiers;
    }

    /// True if samples are made only while somebody wants them. They are then no part of the state's hash.
    pub fn on_demand(&self) -> bool {
        matches!(self.sensor.sense(), Sense::World(look) if look.on_demand())
    }

    /// What its samples hold after all modifiers.
    pub fn fields(&self) -> &[Quantity] {
        self.modifiers.last().map_or(self.sensor.fields(), |last| &last.fields)
    }

    /// Every modifier with the fields it gets.
    pub(crate) fn stages(&self) -> impl Iterator<Item = (&ModifierSlot, &[Quantity])> {
        let before = std::iter::once(self.sensor.fields()).chain(self.modifiers.iter().map(|slot| &*slot.fields));
        self.modifiers.iter().zip(before)
    }

    /// How many numbers its modifiers remember.
    pub(crate) fn memory(&self) -> usize {
        self.stages().map(|(slot, fields)| slot.modifier.memory(fields)).sum()
    }
}

/// A modifier in its place on a sensor.
#[derive(Clone)]
pub struct ModifierSlot {
    /// Its kind.
    pub kind: &'static str,
    /// The modifier.
    pub modifier: Arc<dyn Modifier>,
    /// What samples hold after it.
    pub fields: Vec<Quantity>,
}

/// What robots of one sort are made of.
#[derive(Clone)]
pub struct Blueprint {
    /// The library entry it came from, for inspection.
    pub kind: String,
    /// The kind of motion.
    pub motion_kind: &'static str,
    /// The motion.
    pub motion: Arc<dyn Motion>,
    /// Ticks a second.
    pub rate: Rate,
    /// Drivers in the order they are called: from the one that decides to the one that acts.
    pub drivers: Vec<DriverSlot>,
    /// Sensors by name.
    pub sensors: Vec<SensorSlot>,
    /// Named inputs.
    pub actuators: Vec<ActuatorSlot>,
    /// Frames, parents first.
    pub frames: Vec<Frame>,
    /// What touches others; nothing, if empty.
    pub parts: Vec<Part>,
    /// Its lamp.
    pub light: Option<Light>,
    /// What it is, in words that sensors look for.
    pub tags: Vec<String>,
    /// Text that is equal exactly for robots that may share a cohort.
    pub key: String,
}

/// One named range of columns of a robot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// `position_m`, `imu.accel_mps2`, `controller.state.integral`.
    pub path: String,
    /// Which bank it is in.
    pub bank: Bank,
    /// First column.
    pub first: usize,
    /// Number of columns.
    pub len: usize,
}

/// The two banks of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bank {
    /// Real numbers.
    Real,
    /// Integers.
    Integer,
}

/// The role of the driver that decides what a robot does, as against `controller`.
pub const DRIVER: &str = "driver";

/// A lamp on a robot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Light {
    /// Whether it is on at the start.
    pub on: bool,
    /// Luminous intensity when it is on, cd.
    pub intensity_cd: f64,
    /// Red, green and blue, each from 0 to 1.
    pub colour: [f64; 3],
}

impl Light {
    /// What a robot with a light has beside other robots.
    const QUANTITIES: &[Quantity] =
        &[Quantity::one("light"), Quantity::one("light_intensity_cd"), Quantity::many("light_colour", 3)];

    /// These, at the start.
    pub(crate) fn values(&self) -> [f64; 5] {
        let [red, green, blue] = self.colour;
        [f64::from(u8::from(self.on)), self.intensity_cd, red, green, blue]
    }
}

/// Columns of a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DriverColumns {
    pub(crate) state: (usize, usize),
    pub(crate) integers: (usize, usize),
    pub(crate) wires: Vec<Wire>,
    /// Board paths of wires that lead to the board, as `robot.sensor`; a leading dot means the same robot.
    pub(crate) board_paths: Vec<String>,
}

/// Columns of a robot-local sensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SensorColumns {
    pub(crate) state: (usize, usize),
    pub(crate) memory: (usize, usize),
    pub(crate) sample: (usize, usize),
    /// Samples under way, `ring` times the sample's columns.
    pub(crate) ring: (usize, usize),
    pub(crate) ring_len: usize,
    pub(crate) stamp: usize,
    /// Stamps of samples under way.
    pub(crate) ring_stamps: usize,
    /// True if joints move the frame it sits on.
    pub(crate) jointed: bool,
    /// False for a sensor that looks at the world: its samples live on the board.
    pub(crate) local: bool,
}

/// Integer columns every robot has.
pub mod integers {
    /// How many contacts began.
    pub const CONTACTS: usize = 0;
    /// End of the last tick with a contact, ns; -1 for never.
    pub const LAST_CONTACT: usize = 1;
    /// When the robot was isolated, ns; -1 while it is well.
    pub const FAULT: usize = 2;
    /// How many these are.
    pub const COLUMNS: usize = 3;
}

/// Where everything of a blueprint's robots is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// Every variable by path.
    pub variables: Vec<Variable>,
    /// Number of real columns.
    pub reals: usize,
    /// Number of integer columns.
    pub integers: usize,
    /// Body, inputs and state of the motion: `0..state_end`.
    pub(crate) state_end: usize,
    /// The same and joints: what a motion gets.
    pub(crate) motion_end: usize,
    pub(crate) inputs: (usize, usize),
    /// Where joints are.
    pub joints: JointColumns,
    /// Integer column of whom a robot touched last, if a sensor wants to know.
    pub(crate) touched: Option<usize>,
    pub(crate) wind: (usize, usize),
    pub(crate) light: (usize, usize),
    pub(crate) drivers_first: usize,
    pub(crate) sensors_first: usize,
    pub(crate) sensors_first_integer: usize,
    pub(crate) drivers: Vec<DriverColumns>,
    pub(crate) sensors: Vec<SensorColumns>,
}

/// Lays columns out one after another and remembers their names.
#[derive(Default)]
struct LayoutBuilder {
    variables: Vec<Variable>,
    reals: usize,
    integers: usize,
}

impl LayoutBuilder {
    fn real(&mut self, prefix: &str, quantities: &[Quantity]) -> (usize, usize) {
        let first = self.reals;
        for quantity in quantities {
            let path = format!("{prefix}{}", quantity.name);
            self.variables.push(Variable { path, bank: Bank::Real, first: self.reals, len: quantity.len });
            self.reals += quantity.len;
        }
        (first, self.reals)
    }

    fn reals_named(&mut self, path: String, len: usize) -> (usize, usize) {
        let first = self.reals;
        if len > 0 {
            self.variables.push(Variable { path, bank: Bank::Real, first, len });
        }
        self.reals += len;
        (first, self.reals)
    }

    fn integer(&mut self, path: String, len: usize) -> usize {
        let first = self.integers;
        self.variables.push(Variable { path, bank: Bank::Integer, first, len });
        self.integers += len;
        first
    }
}

impl Layout {
    /// The layout of a blueprint in a given wind.
    pub fn new(blueprint: &Blueprint, wind: &dyn Wind) -> Self {
        let mut columns = LayoutBuilder::default();
        columns.real("", body::QUANTITIES);
        for name in ["contacts", "last_contact_ns", "fault_ns"] {
            columns.integer(name.to_owned(), 1);
        }
        let asked = blueprint.sensors.iter().any(|slot| slot.sensor.feels_contacts());
        let touched = asked.then(|| columns.integer("last_touched".to_owned(), 1));
        let inputs = columns.real("input.", blueprint.motion.inputs());
        let (_, state_end) = columns.real("motion.", blueprint.motion.state());
        let joints = joint_columns(&mut columns, &blueprint.frames);
        let motion_end = columns.reals;
        let wind = columns.real("gust.", wind.state());
        let light = columns.real("", if blueprint.light.is_some() { Light::QUANTITIES } else { &[] });
        let drivers_first = columns.reals;
        let mut drivers: Vec<DriverColumns> = Vec::new();
        for slot in &blueprint.drivers {
            let state = columns.real(&format!("{}.", slot.name), slot.driver.state());
            let first = columns.integers;
            for quantity in slot.driver.integers() {
                columns.integer(format!("{}.{}", slot.name, quantity.name), quantity.len);
            }
            let integers = (first, columns.integers);
            drivers.push(DriverColumns { state, integers, wires: Vec::new(), board_paths: Vec::new() });
        }
        let (sensors_first, sensors_first_integer) = (columns.reals, columns.integers);
        let sensors: Vec<SensorColumns> =
            blueprint.sensors.iter().map(|slot| sensor_columns(&mut columns, slot)).collect();
        let mut layout = Self {
            variables: columns.variables,
            reals: columns.reals,
            integers: columns.integers,
            state_end,
            motion_end,
            inputs,
            joints,
            touched,
            wind,
            light,
            drivers_first,
            sensors_first,
            sensors_first_integer,
            drivers,
            sensors,
        };
        layout.wire(blueprint);
        layout
    }

    fn wire(&mut self, blueprint: &Blueprint) {
        for (slot, columns) in blueprint.drivers.iter().zip(&mut self.drivers) {
            for subscription in slot.driver.subscriptions() {
                let (wire, path) = wire(&subscription.path, blueprint, &self.sensors);
                columns.wires.push(wire);
                columns.board_paths.push(path);
            }
        }
    }

    /// The variable of this path.
    pub fn variable(&self, path: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.path == path)
    }
}

/// Where a subscription leads, and its path on the board if it leads there.
fn wire(path: &str, blueprint: &Blueprint, sensors: &[SensorColumns]) -> (Wire, String) {
    if path.contains('.') {
        return (Wire::Board, path.to_owned());
    }
    match blueprint.sensors.iter().position(|sensor| sensor.name == path) {
        None => (Wire::Absent, String::new()),
        Some(index) if sensors[index].local => {
            let (first, end) = sensors[index].sample;
            (Wire::Own { first, len: end - first, stamp: sensors[index].stamp }, String::new())
        }
        Some(_) => (Wire::Board, format!(".{path}")),
    }
}

fn joint_columns(columns: &mut LayoutBuilder, frames: &[Frame]) -> JointColumns {
    let (first, count) = (columns.reals, jointed(frames).count());
    for family in ["joint", "joint_rate", "joint_command"] {
        for frame in jointed(frames) {
            columns.reals_named(format!("{family}.{}", frame.name), 1);
        }
    }
    if count > 0 {
        columns.reals_named("joint_mode".to_owned(), 1);
    }
    JointColumns { first, count }
}

fn sensor_columns(columns: &mut LayoutBuilder, slot: &SensorSlot) -> SensorColumns {
    let name = &slot.name;
    let fields = slot.fields();
    let Sense::Own(feel) = slot.sensor.sense() else {
        let here = (columns.reals, columns.reals);
        return SensorColumns {
            state: here,
            memory: here,
            sample: here,
            ring: here,
            ring_len: 0,
            stamp: 0,
            ring_stamps: 0,
            jointed: false,
            local: false,
        };
    };
    let state = columns.real(&format!("{name}.state."), feel.state());
    let memory = columns.reals_named(format!("{name}.modifiers"), slot.memory());
    let sample = columns.real(&format!("{name}."), fields);
    let ring_len = match slot.latency.ns() {
        0 => 0,
        latency => (latency / slot.rate.period().ns().max(1) + 2) as usize,
    };
    let ring = columns.reals_named(format!("{name}.under_way"), ring_len * Quantity::total(fields));
    let stamp = columns.integer(format!("{name}.stamp_ns"), 1);
    let ring_stamps = if ring_len > 0 { columns.integer(format!("{name}.under_way_ns"), ring_len) } else { 0 };
    SensorColumns {
        state,
        memory,
        sample,
        ring,
        ring_len,
        stamp,
        ring_stamps,
        jointed: slot.frame.is_some(),
        local: true,
    }
}

impl Blueprint {
    /// Radius of the ball around the body that holds all parts, however joints are moved, m.
    pub fn radius_m(&self) -> f64 {
        let reach =
            |part: &Part| part.pose.position_m.length() + part.solid.radius_m() + reach_m(&self.frames, part.frame);
        self.parts.iter().map(reach).fold(0.0, f64::max)
    }

    /// The sensor of this name.
    pub fn sensor(&self, name: &str) -> Option<&SensorSlot> {
        self.sensors.iter().find(|sensor| sensor.name == name)
    }

    /// True if robots of this blueprint are planar.
    pub fn planar(&self) -> bool {
        self.motion.mobility() == Mobility::Planar
    }

    /// True if there is something others can touch.
    pub fn touches(&self) -> bool {
        self.parts.iter().any(Part::collides)
    }

    /// True if there is a driver or a sensor, so that the robot is active.
    pub fn active(&self) -> bool {
        !self.drivers.is_empty() || !self.sensors.is_empty()
    }
}

/// A blueprint with its layout.
pub struct Cohort {
    /// What its robots are made of.
    pub blueprint: Blueprint,
    /// Where their state is stored.
    pub layout: Layout,
    /// Radius of the ball around the body that holds all parts, m.
    pub radius_m: f64,
    /// A robot that moves by more in a tick could leap through something, m.
    pub(crate) leap_m: f64,
    /// True if some part sits on a frame.
    pub(crate) framed: bool,
}

impl Cohort {
    /// A robot that touched nothing for so long touches anew.
    pub(crate) fn contact_pause(&self) -> SimTime {
        SimTime::from_ns(2 * self.blueprint.rate.period().ns() + 1)
    }

    /// The same robots with another sensor in the place of one that measures the same.
    pub fn with_sensor(&self, at: usize, sensor: Arc<dyn Sensor>, wind: &dyn Wind) -> Arc<Self> {
        let mut blueprint = self.blueprint.clone();
        blueprint.sensors[at].sensor = sensor;
        Self::new(blueprint, wind)
    }

    /// A cohort of robots of this blueprint in a given wind.
    pub fn new(blueprint: Blueprint, wind: &dyn Wind) -> Arc<Self> {
        let layout = Layout::new(&blueprint, wind);
        // a mesh has no thickness that is known
        let thickness = |part: &Part| part.solid.inner_radius_m().max(0.1 * part.solid.radius_m());
        let thinnest =
            blueprint.parts.iter().filter(|part| part.collides()).map(thickness).fold(f64::INFINITY, f64::min);
        let framed = blueprint.parts.iter().any(|part| part.frame.is_some());
        Arc::new(Self { radius_m: blueprint.radius_m(), leap_m: 0.5 * thinnest, framed, blueprint, layout })
    }
}

/// A robot to be placed.
#[derive(Clone)]
pub struct Placement {
    /// Its name, unique among living robots of its realm.
    pub name: String,
    /// The realm it lives in; 0 in a world of one.
    pub realm: u32,
    /// What it is made of.
    pub cohort: Arc<Cohort>,
    /// Where it starts.
    pub pose: Pose,
    /// Initial velocity in the world frame, m/s.
    pub velocity_mps: DVec3,
    /// The robot it is attached to from the start, and how.
    pub attached: Option<(String, Bond)>,
}

/// A named group of robots (or of groups) with relations among them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Compound {
    /// Its name.
    pub name: String,
    /// Names of its members.
    pub members: Vec<String>,
    /// Relations: subject, verb, object. They may form cycles.
    pub relations: Vec<[String; 3]>,
}

/// Everything that does not change while a simulation runs.
pub struct Model {
    /// Gravity, air, obstacles.
    pub environment: Environment,
    /// Robots at the start, in order.
    pub robots: Vec<Placement>,
    /// Named groups.
    pub compounds: Vec<Compound>,
    /// The realms: for each the seed of its random streams. Robots of different realms never meet.
    pub seeds: Vec<u64>,
    /// Longest window.
    pub window: SimTime,
    /// Drivers first act after the first tick, as in SwarmSimX, instead of before it.
    pub logic_after_physics: bool,
    /// Pairs of variables that are one: `robot.variable` each.
    pub shared: Vec<(String, String)>,
    /// What happens when.
    pub events: Vec<Event>,
}

impl Model {
    /// One model in which each of these lives in a realm of its own, with the same bits as alone. They must come from
    /// one scenario and may differ in seeds and placements; what is around the robots is that of the first.
    pub fn join(models: &[Arc<Self>]) -> Option<Self> {
        let first = models.first()?;
        let mut cohorts: BTreeMap<&str, &Arc<Cohort>> = BTreeMap::new();
        let (mut robots, mut seeds) = (Vec::new(), Vec::new());
        for model in models {
            for robot in &model.robots {
                // robots that are made alike share chunks, whatever model they come from
                let cohort = *cohorts.entry(&robot.cohort.blueprint.key).or_insert(&robot.cohort);
                let realm = robot.realm + seeds.len() as u32;
                robots.push(Placement { realm, cohort: Arc::clone(cohort), ..robot.clone() });
            }
            seeds.extend_from_slice(&model.seeds);
        }
        Some(Self {
            environment: first.environment.clone(),
            robots,
            compounds: first.compounds.clone(),
            seeds,
            window: first.window,
            logic_after_physics: first.logic_after_physics,
            shared: first.shared.clone(),
            events: first.events.clone(),
        })
    }

    /// How many models like this one are best joined, at most `most`: so many that chunks are full, and no more.
    pub fn best_joined(&self, most: usize) -> usize {
        let mut counts: BTreeMap<*const Cohort, usize> = BTreeMap::new();
        for robot in &self.robots {
            *counts.entry(Arc::as_ptr(&robot.cohort)).or_default() += 1;
        }
        let lanes_each = |models: usize| {
            let lanes: usize = counts.values().map(|count| (count * models).next_multiple_of(LANES)).sum();
            lanes as f64 / models as f64
        };
        let enough = JOINED_ENOUGH.div_ceil(self.robots.len().max(1));
        let fewer = |a: &usize, b: &usize| lanes_each(*a).total_cmp(&lanes_each(*b));
        (1..=most.min(enough).max(1)).min_by(fewer).unwrap_or(1)
    }
}

/// A world of so many robots gains nothing from more.
const JOINED_ENOUGH: usize = 256;

/// A robot's identity: its name and which robot of this name it is. Keys its random streams.
pub fn robot_key(name: &str, spawn_number: u64) -> u64 {
    random::combine(random::id_of(name), spawn_number)
}
