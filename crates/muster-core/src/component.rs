//! The traits by which robots are extended: motion, driver, sensor, modifier, wind. Built-in components have no
//! privilege over any other: the core knows none of them.
//!
//! All are immutable specifications shared by every robot of a blueprint; what changes lives in columns the core
//! owns, saves, restores and hashes. A call serves a whole chunk of robots. What a component may change is what its
//! context lends it mutably: only a motion moves a robot, only a driver commands it, and a sensor, which gets the
//! world by shared reference, can change nothing but its own sample. That is why sensors, and nothing else, may run
//! asynchronously.

use crate::actuator::Actuator;
use crate::command::Action;
use crate::contact::{Groups, Mass, Mobility, Obstacle, Part};
use crate::joints::{Frame, JointColumns};
use crate::lanes::{Column, IntColumn, LANES, Quantity};
use crate::link::LinkKind;
use crate::model::Environment;
use crate::node::{Node, Problems};
use crate::render::lens::Lens;
use crate::service::Service;
use crate::simd::Simd;
use crate::snapshot::Snapshot;
use crate::spec::Field;
use crate::time::SimTime;
use crate::world::World;
use glam::{DQuat, DVec3};
use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One kind of component: its name, its manual, and how to make one from what a user wrote.
pub struct Kind<T: ?Sized + 'static> {
    /// The word that chooses it.
    pub name: &'static str,
    /// What it is, in a sentence or two.
    pub doc: &'static str,
    /// Its parameters.
    pub fields: &'static [Field],
    /// Makes one.
    pub build: Build<T>,
}

impl<T: ?Sized + 'static> Clone for Kind<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized + 'static> Copy for Kind<T> {}

/// Makes a component from the map at a path (keys in the third argument belong to others and are passed over).
pub type Build<T> = &'static (dyn Fn(&Node, &str, &[&str], &mut Problems) -> Option<Arc<T>> + Sync);

/// Why a component does not fit a robot: what was found, and what was expected.
pub type Misfit = (String, String);

/// Every kind of component known to a program. Tables, not code, decide what exists.
#[derive(Clone, Copy)]
pub struct Registry {
    /// How robots move.
    pub motions: &'static [Kind<dyn Motion>],
    /// Who commands them.
    pub drivers: &'static [Kind<dyn Driver>],
    /// What they measure.
    pub sensors: &'static [Kind<dyn Sensor>],
    /// What happens to measurements.
    pub modifiers: &'static [Kind<dyn Modifier>],
    /// How the air moves.
    pub winds: &'static [Kind<dyn Wind>],
    /// What can be asked of robots.
    pub services: &'static [Service],
    /// Their named inputs.
    pub actuators: &'static [Kind<dyn Actuator>],
    /// How they speak to programs outside.
    pub links: &'static [&'static LinkKind],
    /// What runs beside the simulation.
    pub extensions: &'static [Kind<dyn Extension>],
    /// Where kinds come from that are in none of these tables; nowhere if there is nobody to load them.
    pub plugins: Option<&'static dyn Plugins>,
}

/// Where kinds come from that a program does not have itself.
pub trait Plugins: Sync {
    /// Loads a plug-in by the path of its file or, if it has no path, by name; the answer knows its kinds beside those
    /// known so far. An error says what was found and what was expected.
    fn load(&self, plugin: &Path) -> Result<Registry, Misfit>;

    /// Looks for a plug-in that is named like a kind; `None` if there is none.
    fn find(&self, kind: &str) -> Option<Result<Registry, Misfit>>;

    /// The plug-ins whose kinds are known, in the order of their loading.
    fn loaded(&self) -> Vec<Plugin>;
}

/// A plug-in that was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// Its name.
    pub name: String,
    /// Its version, in its own words.
    pub version: String,
    /// The file it was loaded from.
    pub path: PathBuf,
    /// Hash of that file, see [`crate::hash::digest`].
    pub digest: u128,
}

/// Moves robots: the only component that may change poses.
pub trait Motion: Send + Sync {
    /// What a driver or a user can command directly (rotor speeds, wheel speeds, surfaces).
    fn inputs(&self) -> &[Quantity];

    /// What the motion remembers beyond the body columns.
    fn state(&self) -> &[Quantity];

    /// The speed no robot with this motion exceeds; the core enforces it and bounds contacts by it.
    fn speed_max_mps(&self) -> f64;

    /// How a robot with this motion yields to contacts.
    fn mobility(&self) -> Mobility;

    /// The motion for a robot with these frames and parts, if it depends on them; an error says what was found and what
    /// was expected.
    fn fitted(&self, frames: &[Frame], parts: &[Part]) -> Result<Option<Arc<dyn Motion>>, Misfit> {
        _ = (frames, parts);
        Ok(None)
    }

    /// The mass of a robot that is [`Mobility::Dynamic`], as it is now.
    fn mass(&self, columns: &[Column], lane: usize) -> Mass {
        _ = (columns, lane);
        Mass::INFINITE
    }

    /// How fast the surface of its parts runs over them, in the body frame: a conveyor, m/s.
    fn belt_mps(&self, columns: &[Column], lane: usize) -> DVec3 {
        _ = (columns, lane);
        DVec3::ZERO
    }

    /// Prepares inputs and state of one new robot whose pose is already set. `columns` begin with the body columns,
    /// followed by inputs and state.
    fn start(&self, columns: &mut [Column], lane: usize);

    /// Moves the first `lanes` lanes on by one tick. A plain loop over lanes, without branches on their values where
    /// it should be fast. Surplus lanes hold benign values.
    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>);

    /// Constant properties of the robot (mass, radius), for inspection.
    fn constants(&self) -> Vec<(&'static str, f64)>;

    /// False if it can turn only while it drives, like a car.
    fn turns_in_place(&self) -> bool {
        true
    }

    /// The wheels (or sprockets) whose turning an encoder can count.
    fn wheels(&self) -> &[Wheel] {
        &[]
    }

    /// Why two runs need not give the same bits, if so.
    fn unrepeatable(&self) -> Option<String> {
        None
    }
}

/// A wheel of a motion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wheel {
    /// Its name on the robot.
    pub name: Cow<'static, str>,
    /// Where its turning is stored.
    pub turning: Turning,
}

/// Where the turning of a wheel is stored: a column of the robot, counted from the first body column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turning {
    /// The angle it has turned since the start, rad; not wrapped.
    Angle(usize),
    /// Its rate, rad/s.
    Rate(usize),
}

/// What a motion is told of a tick.
pub struct Tick<'a> {
    /// Length of the tick.
    pub dt_s: f64,
    /// The end of the tick.
    pub time: SimTime,
    /// Gravity, air, origin.
    pub environment: &'a Environment,
    /// How to run kernels.
    pub simd: Simd,
    /// Where the robot's joints are among the columns; they have moved already.
    pub joints: JointColumns,
    pub(crate) near: &'a [(u8, u32)],
    pub(crate) faults: RefCell<Faults>,
}

/// Robots a component failed on, by lane, and how.
pub(crate) type Faults = Vec<(usize, String)>;

impl<'a> Tick<'a> {
    /// A tick far from every obstacle, of a robot without joints. For trying out a motion by itself.
    pub fn alone(dt_s: f64, environment: &'a Environment, simd: Simd) -> Self {
        Self {
            dt_s,
            time: SimTime::ZERO,
            environment,
            simd,
            joints: JointColumns::default(),
            near: &[],
            faults: RefCell::default(),
        }
    }

    /// Says that a robot cannot be moved; it is isolated.
    pub fn fault(&self, lane: usize, what: String) {
        self.faults.borrow_mut().push((lane, what));
    }

    /// The obstacles a robot could touch in this tick.
    pub fn near(&self, lane: usize) -> impl Iterator<Item = &Obstacle> {
        let from = self.near.partition_point(|(other, _)| usize::from(*other) < lane);
        let own = self.near[from..].iter().take_while(move |(other, _)| usize::from(*other) == lane);
        let near = own.map(|(_, obstacle)| &self.environment.obstacles[*obstacle as usize]);
        near.filter(|obstacle| obstacle.groups != Groups::NONE)
    }
}

/// Commands robots: writes setpoints or inputs from what sensors say.
pub trait Driver: Send + Sync {
    /// The driver's memory in real columns.
    fn state(&self) -> &[Quantity] {
        &[]
    }

    /// The driver's memory in integer columns.
    fn integers(&self) -> &[Quantity] {
        &[]
    }

    /// The rate if the scenario gives none.
    fn default_rate_hz(&self) -> f64 {
        50.0
    }

    /// The sensors it reads: by name on its own robot, or `robot.sensor` for another's.
    fn subscriptions(&self) -> Vec<Subscription> {
        Vec::new()
    }

    /// The inputs of the motion it writes, if it commands them directly.
    fn commands(&self) -> &'static [&'static str] {
        &[]
    }

    /// The driver for this robot, if it depends on what that is made of; an error says what was found and what was
    /// expected.
    fn fitted(&self, robot: &Fitting<'_>) -> Result<Option<Arc<dyn Driver>>, Misfit> {
        _ = robot;
        Ok(None)
    }

    /// What it remembers of a new robot of this name beside its columns, if anything.
    fn memory(&self, robot: &str) -> Option<Box<dyn Keepsake>> {
        _ = robot;
        None
    }

    /// Why two runs need not give the same bits, if so.
    fn unrepeatable(&self) -> Option<String> {
        None
    }

    /// True if it has robots turn in place towards where they are to go.
    fn turns_in_place(&self) -> bool {
        false
    }

    /// The speed it asks for on the way, if it has one.
    fn speed_asked_mps(&self) -> Option<f64> {
        None
    }

    /// The speed of a robot that is commanded through it, if that is less than whatever is asked for.
    fn speed_max_mps(&self) -> Option<f64> {
        None
    }

    /// Prepares the memory of one new robot that stands at `pose`.
    fn start(&self, control: &mut Control<'_>, lane: usize, home: Pose);

    /// Commands every lane of [`Control::next_lane`].
    fn control(&self, control: &mut Control<'_>);

    /// The orders it follows while it runs, such as `goto`.
    fn orders(&self) -> &'static [&'static str] {
        &[]
    }

    /// Takes an order for one robot; an error says what was found and what was expected. Only orders of
    /// [`Driver::orders`] come.
    fn order(&self, control: &mut Control<'_>, lane: usize, order: &Order<'_>) -> Result<(), String> {
        _ = (control, lane);
        Err(format!("found order {:?}, expected none", order.name))
    }
}

/// What a robot is made of, for a component that is to fit it.
#[derive(Debug, Clone, Copy)]
pub struct Fitting<'a> {
    /// Its frames.
    pub frames: &'a [Frame],
    /// The inputs of its motion.
    pub inputs: &'a [Quantity],
    /// The state of its motion.
    pub state: &'a [Quantity],
    /// Constants of its motion.
    pub constants: &'a [(&'static str, f64)],
}

impl<'a> Fitting<'a> {
    /// A robot of these frames alone.
    pub fn frames(frames: &'a [Frame]) -> Self {
        Self { frames, inputs: &[], state: &[], constants: &[] }
    }
}

/// What a component remembers of one robot beyond columns. It is saved, restored and hashed with the state.
pub trait Keepsake: Any + Send + Sync {
    /// One that remembers the same.
    fn copy(&self) -> Box<dyn Keepsake>;

    /// What it remembers as bytes, which are equal exactly if it is.
    fn save(&self, bytes: &mut Vec<u8>);
}

/// Room for a keepsake.
#[derive(Default)]
pub struct Kept(pub(crate) Option<Box<dyn Keepsake>>);

impl Clone for Kept {
    fn clone(&self) -> Self {
        Self(self.0.as_ref().map(|kept| kept.copy()))
    }
}

impl Kept {
    /// It with a keepsake.
    pub fn of(keepsake: Box<dyn Keepsake>) -> Self {
        Self(Some(keepsake))
    }

    /// What is kept, if it is of this type.
    #[inline]
    pub fn get_mut<T: Keepsake>(&mut self) -> Option<&mut T> {
        let any: &mut dyn Any = &mut **self.0.as_mut()?;
        any.downcast_mut()
    }
}

/// Why a component gives up, without the noise of a panic.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

/// Gives up: the robot served is isolated, and this is what is told. For components whose calls serve one robot and have no
/// other way to say so.
pub fn fail(what: String) -> ! {
    std::panic::resume_unwind(Box::new(Failure(what)))
}

/// What a driver is asked to do while it runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Order<'a> {
    /// What.
    pub name: &'a str,
    /// With what numbers; what was left out is not a number.
    pub numbers: &'a [f64],
}

/// Orders that have the same meaning for every driver that follows them.
pub mod orders {
    /// Hold the robot where it is, until [`RESUME`].
    pub const STOP: &str = "stop";
    /// Go on.
    pub const RESUME: &str = "resume";
    /// Somebody else commands the robot from now on, until [`RESUME`] or a new goal.
    pub const YIELD: &str = "yield";
}

/// A sensor a driver wants to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// `sensor` of the same robot, or `robot.sensor`.
    pub path: String,
    /// The kind it must be; empty for any.
    pub kind: &'static str,
    /// The run goes on without it if it does not exist.
    pub optional: bool,
}

impl Subscription {
    /// A sensor of the robot itself that must exist and be of a kind.
    pub fn own(path: &str, kind: &'static str) -> Self {
        Self { path: path.to_owned(), kind, optional: false }
    }
}

/// Position and orientation in the world.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// Position, m.
    pub position_m: DVec3,
    /// `world_from_this`.
    pub orientation: DQuat,
}

impl Pose {
    /// The origin.
    pub const IDENTITY: Self = Self { position_m: DVec3::ZERO, orientation: DQuat::IDENTITY };

    /// The pose in the parent's parent of something at `child` in this frame.
    pub fn then(&self, child: &Pose) -> Pose {
        Pose {
            position_m: self.position_m + self.orientation * child.position_m,
            orientation: (self.orientation * child.orientation).normalize(),
        }
    }
}

/// What a driver sees and may change, for a whole chunk of robots.
pub struct Control<'a> {
    /// Now.
    pub time: SimTime,
    /// Time between two calls.
    pub period_s: f64,
    /// Which call this is, counted from the start of the simulation.
    pub index: u64,
    /// Kind of the setpoint, see [`crate::lanes::setpoint`].
    pub mode: &'a mut Column,
    /// The setpoint.
    pub setpoint: &'a mut [Column],
    /// The motion's inputs.
    pub inputs: &'a mut [Column],
    /// Commands of the robot's joints, in the order of its frames, and whether they are positions or rates.
    pub joints: JointCommands<'a>,
    /// The driver's real memory.
    pub state: &'a mut [Column],
    /// The driver's integer memory.
    pub integers: &'a mut [IntColumn],
    /// Keys of the robots' random streams for this driver.
    pub streams: [u64; LANES],
    /// How to run kernels.
    pub simd: Simd,
    /// What is around the robots. A driver reads from it what belongs to the machine, such as what extensions offer; what
    /// it knows of the world comes from sensors.
    pub environment: &'a Environment,
    /// What it remembers beside columns, see [`Driver::memory`]; empty if nothing.
    pub kept: &'a mut [Kept],
    pub(crate) due: u32,
    pub(crate) current: usize,
    pub(crate) readings: Readings<'a>,
    pub(crate) faults: &'a mut Faults,
}

/// What a driver wants of joints.
pub struct JointCommands<'a> {
    /// Where joints are, rad or m.
    pub positions: &'a [Column],
    /// What each is to do, see [`crate::joints::mode`].
    pub commands: &'a mut [Column],
    /// Whether the commands are positions or rates; empty without joints.
    pub mode: &'a mut [Column],
}

/// Where a driver's subscribed samples are.
pub(crate) struct Readings<'a> {
    pub(crate) wires: &'a [Wire],
    pub(crate) columns: &'a [Column],
    /// Where `columns` begins among all columns of the chunk.
    pub(crate) first_column: usize,
    pub(crate) integers: &'a [IntColumn],
    pub(crate) first_integer: usize,
    pub(crate) board: &'a crate::board::Board,
    /// Board entries of each lane's subscriptions, `wires.len()` to a lane.
    pub(crate) slots: &'a [u32],
}

/// Where one subscription leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// Columns of the same chunk: first value column, count, stamp column.
    Own { first: usize, len: usize, stamp: usize },
    /// An entry of the board, by each lane's slot.
    Board,
    /// An optional sensor that does not exist.
    Absent,
}

/// A sample a driver reads.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// When it was measured; `None` if there is none yet.
    pub stamp: Option<SimTime>,
    values: Values<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Values<'a> {
    Lane(&'a [Column], usize),
    Slice(&'a [f64]),
}

impl Reading<'_> {
    /// One number of the sample; 0 where there is none.
    #[inline(always)]
    pub fn get(&self, index: usize) -> f64 {
        match self.values {
            Values::Lane(columns, lane) => columns.get(index).map_or(0.0, |column| column[lane]),
            Values::Slice(values) => values.get(index).copied().unwrap_or(0.0),
        }
    }

    /// Three numbers of the sample from `first` on.
    #[inline(always)]
    pub fn vec3(&self, first: usize) -> DVec3 {
        DVec3::new(self.get(first), self.get(first + 1), self.get(first + 2))
    }

    /// Four numbers of the sample from `first` on as a quaternion x, y, z, w.
    #[inline(always)]
    pub fn quat(&self, first: usize) -> DQuat {
        DQuat::from_xyzw(self.get(first), self.get(first + 1), self.get(first + 2), self.get(first + 3))
    }

    /// The values without copying, each so many numbers after the one before, and how many there are.
    pub fn strided(&self) -> (&[f64], usize, usize) {
        match self.values {
            Values::Lane(columns, lane) if !columns.is_empty() => {
                (&columns.as_flattened()[lane..], LANES, columns.len())
            }
            Values::Lane(..) => (&[], 1, 0),
            Values::Slice(values) => (values, 1, values.len()),
        }
    }

    /// The values as one slice, without copying, if the sample comes from the board (another robot's sensor, or one
    /// that looks at the world).
    pub fn shared(&self) -> Option<&[f64]> {
        match self.values {
            Values::Slice(values) => Some(values),
            Values::Lane(..) => None,
        }
    }
}

impl Control<'_> {
    /// The next lane to command, or `None`. Use as `while let Some(lane) = control.next_lane()`; the core knows from
    /// it whom to blame for a panic.
    #[inline(always)]
    pub fn next_lane(&mut self) -> Option<usize> {
        if self.due == 0 {
            return None;
        }
        self.current = self.due.trailing_zeros() as usize;
        self.due &= self.due - 1;
        Some(self.current)
    }

    /// The lanes that are to be commanded and were not asked for yet, one bit each.
    pub fn due(&self) -> u32 {
        self.due
    }

    /// How many subscriptions the driver has.
    pub fn subscriptions(&self) -> usize {
        self.readings.wires.len()
    }

    /// Says that a robot cannot be driven; it is isolated.
    pub fn fault(&mut self, lane: usize, what: String) {
        self.faults.push((lane, what));
    }

    /// What the `index`-th subscription of a lane reads now.
    #[inline(always)]
    pub fn reading(&self, index: usize, lane: usize) -> Reading<'_> {
        let readings = &self.readings;
        match readings.wires[index] {
            Wire::Own { first, len, stamp } => {
                let stamp_ns = readings.integers[stamp - readings.first_integer][lane];
                let from = first - readings.first_column;
                Reading {
                    stamp: u64::try_from(stamp_ns).ok().map(SimTime::from_ns),
                    values: Values::Lane(&readings.columns[from..from + len], lane),
                }
            }
            Wire::Board => {
                let sample = readings.board.sample(readings.slots[lane * readings.wires.len() + index]);
                Reading { stamp: sample.stamp, values: Values::Slice(sample.values) }
            }
            Wire::Absent => Reading { stamp: None, values: Values::Slice(&[]) },
        }
    }

    /// The columns of an own, robot-local sensor, for drivers that run as kernels over lanes.
    pub fn own_columns(&self, index: usize) -> Option<&[Column]> {
        match self.readings.wires[index] {
            Wire::Own { first, len, .. } => {
                let from = first - self.readings.first_column;
                Some(&self.readings.columns[from..from + len])
            }
            _ => None,
        }
    }

    /// Commands a setpoint.
    #[inline(always)]
    pub fn command(&mut self, lane: usize, mode: f64, values: [f64; 4]) {
        self.mode[lane] = mode;
        for (column, value) in self.setpoint.iter_mut().zip(values) {
            column[lane] = value;
        }
    }
}

/// Measures. Gets the world by shared reference: a sensor cannot write forces, so it may run asynchronously.
///
/// ```compile_fail
/// use muster_core::component::{Look, LookAt, Measure};
/// fn push_the_robot(measure: &mut Measure<'_>) {
///     measure.truth[0][0] = 1.0; // cannot assign: the truth is behind a shared reference
/// }
/// ```
pub trait Sensor: Send + Sync {
    /// What a sample holds. For a sensor that looks at the world these are repeated for each thing it sees.
    fn fields(&self) -> &'static [Quantity];

    /// The rate if the scenario gives none.
    fn default_rate_hz(&self) -> f64;

    /// How this sensor works.
    fn sense(&self) -> Sense<'_>;

    /// The wheels of the robot's motion that it reads, by name.
    fn wheels(&self) -> &[String] {
        &[]
    }

    /// The sensor for this robot, if it depends on what that is made of; an error says what was found and what was
    /// expected.
    fn fitted(&self, robot: &Fitting<'_>) -> Result<Option<Arc<dyn Sensor>>, Misfit> {
        _ = robot;
        Ok(None)
    }

    /// Why two runs need not give the same bits, if so.
    fn unrepeatable(&self) -> Option<String> {
        None
    }

    /// The lens of a camera: its samples are images, a record for each pixel, row by row from the top.
    fn image(&self) -> Option<&Lens> {
        None
    }

    /// Directions in the frame of a range sensor, one for each record of a sample, which begins with the range, and how far
    /// they reach, m.
    fn rays(&self) -> Option<(&[DVec3], f64)> {
        None
    }

    /// The joints it reads, as numbers among the robot's joints, for those who name what it tells.
    fn joints(&self) -> Vec<usize> {
        Vec::new()
    }

    /// How far the second image of a stereo camera is taken to the right of the first, m.
    fn baseline_m(&self) -> f64 {
        0.0
    }

    /// What is nearer than this a sensor with [`rays`](Sensor::rays) does not measure, m.
    fn near_m(&self) -> f64 {
        0.0
    }

    /// Several ways to measure the same, each by its name, if the user left it to the machine: whoever runs the simulation
    /// tries them on the loaded world and takes the quickest.
    fn ways(&self) -> Vec<(&'static str, Arc<dyn Sensor>)> {
        Vec::new()
    }

    /// True if it tells whom the robot touched: only then is that remembered, see [`Contacts::with`].
    fn feels_contacts(&self) -> bool {
        false
    }
}

/// The two ways of measuring.
pub enum Sense<'a> {
    /// From the robot's own state, tick by tick.
    Own(&'a dyn Feel),
    /// From a frozen view of the whole world.
    World(&'a dyn Look),
}

/// A sensor that needs only the robot it is on.
pub trait Feel: Send + Sync {
    /// What the sensor remembers (biases, integrals).
    fn state(&self) -> &'static [Quantity] {
        &[]
    }

    /// What it remembers of a new robot of this name beside its columns, if anything.
    fn memory(&self, robot: &str) -> Option<Box<dyn Keepsake>> {
        _ = robot;
        None
    }

    /// Prepares the memory of one new robot.
    fn start(&self, measure: &mut Measure<'_>, lane: usize);

    /// Measures the first [`Measure::lanes`] lanes.
    fn measure(&self, measure: &mut Measure<'_>);
}

/// What a robot-local sensor sees and may change.
pub struct Measure<'a> {
    /// The robot as it is: body columns, inputs and state of its motion.
    pub truth: &'a [Column],
    /// The sensor's memory.
    pub state: &'a mut [Column],
    /// The sample to fill, in the order of [`Sensor::fields`].
    pub sample: &'a mut [Column],
    /// How many lanes to measure.
    pub lanes: usize,
    /// Keys of the sensor's random streams.
    pub streams: &'a [u64; LANES],
    /// Which sample this is, counted on the sensor's lattice from the start of the simulation.
    pub index: u64,
    /// Time between two samples.
    pub period_s: f64,
    /// Now.
    pub time: SimTime,
    /// Where the sensor sits: `body_from_sensor`.
    pub mount: &'a Pose,
    /// The wheels of the robot's motion.
    pub wheels: &'a [Wheel],
    /// Gravity, air, origin.
    pub environment: &'a Environment,
    /// How to run kernels.
    pub simd: Simd,
    /// Where the robot's joints are in the truth.
    pub joints: JointColumns,
    /// What it touched.
    pub contacts: Contacts<'a>,
    /// What it remembers beside columns, see [`Feel::memory`]; empty if nothing.
    pub kept: &'a mut [Kept],
    /// Lanes that could not be measured, and why: these robots are isolated.
    pub faults: &'a mut Vec<(usize, String)>,
}

/// What robots touched.
#[derive(Debug, Clone, Copy)]
pub struct Contacts<'a> {
    /// How many contacts began.
    pub begun: &'a IntColumn,
    /// End of the last tick with a contact, ns; -1 for never.
    pub last_ns: &'a IntColumn,
    /// Whom they touched last, see [`crate::contact::Other::from_code`]; `None` if no sensor of the robot
    /// [feels contacts](Sensor::feels_contacts).
    pub with: Option<&'a IntColumn>,
}

/// A sensor that looks at the world.
pub trait Look: Send + Sync {
    /// How many numbers a sample may hold, given the number of robots; room is made once.
    fn capacity(&self, robots: usize) -> usize;

    /// The radius within which it needs other robots found quickly, if it needs that.
    fn search_radius_m(&self) -> Option<f64> {
        None
    }

    /// True if it casts rays or takes pictures, so that it needs the parts of robots where they are.
    fn sees_bodies(&self) -> bool {
        false
    }

    /// True if it measures by pictures, so that it needs an engine that makes some.
    fn needs_pictures(&self) -> bool {
        false
    }

    /// True if samples are made only while somebody listens: images. What a sensor says may then not depend on earlier
    /// samples.
    fn on_demand(&self) -> bool {
        false
    }

    /// A sample that takes its time, such as the sweep of a scanner, is looked at in so many slices, evenly over so many
    /// seconds before its stamp (no more than the time between two samples).
    fn slices(&self) -> (usize, f64) {
        (1, 0.0)
    }

    /// Fills the sample, or with [`LookAt::slice`] as much of it as is due. What earlier slices left is still in it; a robot
    /// that came in the middle of a sweep has missed some.
    fn look(&self, at: &LookAt<'_>, sample: &mut Vec<f64>);
}

/// What a sensor that looks at the world sees.
pub struct LookAt<'a> {
    /// The frozen world.
    pub world: &'a Snapshot,
    /// The robot it is on, as an index into the snapshot.
    pub robot: usize,
    /// Where the sensor sits: `body_from_sensor`.
    pub mount: &'a Pose,
    /// Key of the sensor's random streams.
    pub stream: u64,
    /// Which sample this is, counted on the sensor's lattice from the start of the simulation.
    pub index: u64,
    /// Time between two samples.
    pub period_s: f64,
    /// Which slice of the sample is due, see [`Look::slices`].
    pub slice: usize,
    /// From now until the sample's stamp.
    pub ahead_s: f64,
    /// How to run kernels.
    pub simd: Simd,
}

impl LookAt<'_> {
    /// `world_from_sensor`.
    pub fn pose(&self) -> Pose {
        let body = &self.world.robots[self.robot];
        Pose { position_m: body.position_m, orientation: body.orientation }.then(self.mount)
    }
}

/// Changes samples between measurement and delivery.
pub trait Modifier: Send + Sync {
    /// How many numbers it remembers, for a sample of the given fields.
    fn memory(&self, fields: &[Quantity]) -> usize {
        _ = fields;
        0
    }

    /// Whether it can serve a sensor with these fields; if not, what it expects.
    fn check(&self, fields: &[Quantity]) -> Result<(), String> {
        _ = fields;
        Ok(())
    }

    /// What samples hold after it, given what they held before: a modifier that changes units or coordinates renames
    /// fields. As many numbers as before, in the same order.
    fn fields(&self, fields: &[Quantity]) -> Vec<Quantity> {
        fields.to_vec()
    }

    /// How much later samples become visible.
    fn delay(&self) -> SimTime {
        SimTime::ZERO
    }

    /// Changes a sample. Returns false if the sample is lost.
    fn modify(&self, sample: &mut Sample<'_>) -> bool;

    /// Why two runs need not give the same bits, if so.
    fn unrepeatable(&self) -> Option<String> {
        None
    }
}

/// Runs beside the simulation: a bridge to other programs, or what several components share. It is there before the first
/// robot and goes after the last; the first that came is the last to go.
pub trait Extension: Send + Sync {
    /// Begins, before anything else of the simulation does; an error says why it cannot.
    fn init(&self) -> Result<(), String>;

    /// Ends, after everything else has.
    fn shutdown(&self);

    /// The address of what it offers to components that ask for it by name; 0 for nothing.
    fn offer(&self) -> usize {
        0
    }

    /// Called between windows; an error is told and ends its calls.
    fn window(&self, desk: &mut Desk<'_>) -> Result<(), String> {
        _ = desk;
        Ok(())
    }
}

/// What an extension sees between windows, and what it asks for.
pub struct Desk<'a> {
    /// The world.
    pub world: &'a World,
    /// What can be asked of robots.
    pub services: &'static [Service],
    /// What is to be done, as commands from outside.
    pub actions: &'a mut Vec<Action>,
}

/// A sample on its way through the modifiers.
pub struct Sample<'a> {
    /// The numbers; fields repeat if a world sensor saw several things.
    pub values: &'a mut [f64],
    /// What they mean.
    pub fields: &'a [Quantity],
    /// The modifier's memory.
    pub memory: &'a mut [f64],
    /// Key of the random stream of this modifier.
    pub stream: u64,
    /// Which sample this is.
    pub index: u64,
    /// Time between two samples.
    pub period_s: f64,
    /// When it was measured.
    pub stamp: SimTime,
    /// Gravity, air, origin.
    pub environment: &'a Environment,
}

/// Moves the air.
pub trait Wind: Send + Sync {
    /// The wind without gusts in the world frame, m/s.
    fn mean_mps(&self) -> DVec3;

    /// What gusts remember for each robot; empty if there are none.
    fn state(&self) -> &'static [Quantity] {
        &[]
    }

    /// Sets the wind columns of the first `lanes` robots for the next tick. Called only if there is a state.
    fn blow(&self, blow: &mut Blow<'_>) {
        _ = blow;
    }
}

/// What a gust sees and may change.
pub struct Blow<'a> {
    /// The gusts' memory.
    pub state: &'a mut [Column],
    /// Body columns; only [`crate::lanes::body::WIND`] may be written.
    pub body: &'a mut [Column],
    /// How many lanes to serve.
    pub lanes: usize,
    /// Length of the tick.
    pub dt_s: f64,
    /// Which tick this is.
    pub index: u64,
    /// Keys of the robots' random streams for the wind.
    pub streams: &'a [u64; LANES],
    /// How to run kernels.
    pub simd: Simd,
}
