//! The state: everything that changes. It can be cloned (saved), put back (restored) and hashed; nothing in it depends
//! on threads, windows or wall-clock time.

use crate::board::{Board, Entry, NOWHERE};
use crate::chunk::{Chunk, Start, Surroundings};
use crate::command::Command;
use crate::component::{Kept, Pose, Sense};
use crate::contact::Other;
use crate::contact::bond::{Bond, Tie};
use crate::event::Memory;
use crate::lanes::{LANES, body};
use crate::look::{LookItem, LookJob};
use crate::model::{Bank, Cohort, Model, Placement};
use crate::random;
pub use crate::roster::Robot;
use crate::roster::Roster;
use crate::service::Pending;
use crate::time::SimTime;
use glam::DVec3;
use std::sync::Arc;

/// Everything that changes in a simulation.
#[derive(Clone)]
pub struct State {
    pub(crate) time: SimTime,
    pub(crate) roster: Roster,
    pub(crate) chunks: Vec<Option<Box<Chunk>>>,
    pub(crate) free_chunks: Vec<u32>,
    pub(crate) board: Board,
    /// Results of sensors that look at the world, on their way.
    pub(crate) under_way: Vec<LookJob>,
    /// Commands that wait for their time, ordered.
    pub(crate) commands: Vec<Command>,
    /// Calls that have not been answered.
    pub(crate) calls: Vec<Pending>,
    /// What is known of every event.
    pub(crate) events: Vec<Memory>,
    pub(crate) robot_ticks: u64,
    pub(crate) windows: u64,
    /// Robots in a chunk at most; a scheduling choice.
    pub(crate) lanes_used: usize,
}

/// Why a robot could not be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceError {
    /// The name is taken.
    NameTaken(String),
    /// The model has no such realm.
    NoSuchRealm {
        /// The robot.
        robot: String,
        /// The realm it wants.
        realm: u32,
    },
    /// The robot to be attached to does not exist.
    NoSuchRobot(String),
    /// A driver subscribes to a sensor that does not exist.
    NoSuchSensor {
        /// The robot.
        robot: String,
        /// The path it wants.
        path: String,
    },
}

impl std::fmt::Display for PlaceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NameTaken(name) => write!(f, "found a second robot {name:?}, expected unique names"),
            Self::NoSuchRealm { robot, realm } => {
                write!(f, "found robot {robot:?} in realm {realm}, expected a realm of the model")
            }
            Self::NoSuchRobot(name) => write!(f, "found no robot {name:?}, expected one to be attached to"),
            Self::NoSuchSensor { robot, path } => {
                write!(f, "driver of {robot:?} reads {path:?}, expected an existing robot.sensor")
            }
        }
    }
}

impl std::error::Error for PlaceError {}

impl State {
    /// What earlier slices left of the samples of these sensors.
    pub(crate) fn copy_begun(&self, items: &[LookItem], values: &mut Vec<Vec<f64>>) {
        values.resize_with(items.len().max(values.len()), Vec::new);
        for (item, values) in items.iter().zip(values) {
            let slot = self.roster.get(item.robot).map(|robot| robot.slots[item.sensor as usize]);
            if let Some(entry) = slot.and_then(|slot| self.board.entries.get(slot as usize)) {
                values.clone_from(&entry.fresh);
            }
        }
    }

    /// A state without robots, with one realm for each seed.
    pub(crate) fn new(lanes_used: usize, seeds: &[u64]) -> Self {
        Self {
            time: SimTime::ZERO,
            roster: Roster::new(seeds),
            chunks: Vec::new(),
            free_chunks: Vec::new(),
            board: Board::default(),
            under_way: Vec::new(),
            commands: Vec::new(),
            calls: Vec::new(),
            events: Vec::new(),
            robot_ticks: 0,
            windows: 0,
            lanes_used: lanes_used.clamp(1, LANES),
        }
    }

    pub(crate) fn chunk(&self, index: u32) -> Option<&Chunk> {
        self.chunks.get(index as usize)?.as_deref()
    }

    pub(crate) fn chunk_mut(&mut self, index: u32) -> Option<&mut Chunk> {
        self.chunks.get_mut(index as usize)?.as_deref_mut()
    }

    /// The chunk and lane of a robot.
    pub(crate) fn place_of(&self, number: u32) -> Option<(&Chunk, usize)> {
        let robot = self.roster.get(number)?;
        Some((self.chunk(robot.chunk)?, robot.lane as usize))
    }

    /// The chunk and lane of a robot, to be changed.
    pub(crate) fn place_of_mut(&mut self, number: u32) -> Option<(&mut Chunk, usize)> {
        let robot = self.roster.get(number)?;
        let (chunk, lane) = (robot.chunk, robot.lane as usize);
        Some((self.chunk_mut(chunk)?, lane))
    }

    /// Adds a robot without starting its drivers: subscriptions are wired when all robots are there.
    pub(crate) fn add(&mut self, placement: &Placement, key: u64, model: &Model) -> Result<u32, PlaceError> {
        let (name, realm) = (&placement.name, placement.realm);
        let Some(members) = self.roster.realms.get(realm as usize) else {
            return Err(PlaceError::NoSuchRealm { robot: name.clone(), realm });
        };
        if members.number_of(name).is_some() {
            return Err(PlaceError::NameTaken(name.clone()));
        }
        let stream_key = random::combine(members.seed, key);
        let robots = members.order.len() + 1;
        let chunk = self.chunk_with_room(&placement.cohort);
        let number = self.roster.add(Robot::new(placement, key, chunk));
        let wind_mps = model.environment.wind.mean_mps();
        let start = Start { pose: placement.pose, velocity_mps: placement.velocity_mps, wind_mps };
        let lane = match self.chunk_mut(chunk) {
            Some(chunk) => chunk.add(number, stream_key, &start),
            None => 0,
        };
        let slots = (0..placement.cohort.blueprint.sensors.len())
            .map(|sensor| self.board_slot(&placement.cohort, number, sensor, stream_key, robots))
            .collect();
        if let Some(Some(robot)) = self.roster.robots.get_mut(number as usize) {
            robot.lane = lane as u8;
            robot.slots = slots;
        }
        Ok(number)
    }

    /// Board entries exist for sensors that look at the world; local ones get theirs when somebody else reads them.
    fn board_slot(&mut self, cohort: &Cohort, robot: u32, sensor: usize, key: u64, robots: usize) -> u32 {
        match cohort.blueprint.sensors[sensor].sensor.sense() {
            Sense::Own(_) => NOWHERE,
            // room for what may never be wanted is made when it is
            Sense::World(look) if look.on_demand() => self.post(cohort, robot, sensor, key, 0),
            Sense::World(look) => self.post(cohort, robot, sensor, key, look.capacity(robots)),
        }
    }

    fn post(&mut self, cohort: &Cohort, robot: u32, sensor: usize, key: u64, capacity: usize) -> u32 {
        let slot = &cohort.blueprint.sensors[sensor];
        let memory = slot.memory();
        self.board.add(Entry {
            owner: (robot, sensor as u32),
            alive: true,
            stamp: None,
            index: 0,
            values: Vec::with_capacity(capacity),
            memory: vec![0.0; memory],
            fresh: Vec::with_capacity(capacity),
            stream: random::combine(key, random::id_of(&slot.name)),
            seen: 0,
            schedule: u32::MAX,
            wanted: false,
            visible_at: SimTime::NEVER,
            samples: 0,
            panic: None,
        })
    }

    fn chunk_with_room(&mut self, cohort: &Arc<Cohort>) -> u32 {
        let fits = |chunk: &Chunk| Arc::ptr_eq(&chunk.cohort, cohort) && chunk.len < self.lanes_used;
        // the youngest chunk of a cohort is the one with room, unless robots were deleted
        let found = self.chunks.iter().rposition(|chunk| chunk.as_deref().is_some_and(fits));
        if let Some(index) = found {
            return index as u32;
        }
        let chunk = Some(Box::new(Chunk::new(Arc::clone(cohort), self.time, self.roster.realms.len() as u32)));
        match self.free_chunks.pop() {
            Some(index) => {
                self.chunks[index as usize] = chunk;
                index
            }
            None => {
                self.chunks.push(chunk);
                self.chunks.len() as u32 - 1
            }
        }
    }

    /// Forgets the contacts and bonds others have with a robot.
    fn part_from(&mut self, number: u32) {
        for chunk in self.chunks.iter_mut().flatten() {
            chunk.patches.retain(|patch| patch.key.with != Other::Robot(number));
            chunk.ties.retain(|tie| tie.to != number);
        }
    }

    /// Removes a robot and everything of it.
    pub(crate) fn remove(&mut self, number: u32) -> Option<Robot> {
        let robot = self.roster.remove(number)?;
        self.part_from(number);
        let moved = self.chunk_mut(robot.chunk)?.remove(robot.lane as usize);
        if let Some(Some(moved)) = moved.map(|number| self.roster.robots[number as usize].as_mut()) {
            moved.lane = robot.lane;
        }
        self.drop_if_empty(robot.chunk);
        robot.posted().for_each(|slot| self.board.remove(slot));
        Some(robot)
    }

    /// The board slot of `robot.sensor` in the realm of robot `own`, made if the sensor is local and was not read by
    /// others so far.
    pub(crate) fn published(&mut self, path: &str, own: u32) -> Option<u32> {
        let (name, sensor_name) = path.split_once('.')?;
        let realm = self.roster.realm_of(self.roster.get(own)?);
        let (number, seed) = (if name.is_empty() { own } else { realm.number_of(name)? }, realm.seed);
        let robot = self.roster.get(number)?;
        let sensor = robot.cohort.blueprint.sensors.iter().position(|slot| slot.name == sensor_name)?;
        if robot.slots[sensor] != NOWHERE {
            return Some(robot.slots[sensor]);
        }
        let (cohort, key) = (Arc::clone(&robot.cohort), random::combine(seed, robot.key));
        let capacity = crate::lanes::Quantity::total(cohort.blueprint.sensors[sensor].fields());
        let slot = self.post(&cohort, number, sensor, key, capacity);
        self.roster.robots[number as usize].as_mut()?.slots[sensor] = slot;
        Some(slot)
    }

    /// Wires the subscriptions of a robot's drivers.
    pub(crate) fn wire(&mut self, number: u32) -> Result<(), PlaceError> {
        let Some(robot) = self.roster.get(number) else { return Ok(()) };
        let (cohort, name, lane) = (Arc::clone(&robot.cohort), robot.name.clone(), robot.lane as usize);
        let chunk = robot.chunk;
        for (driver, columns) in cohort.layout.drivers.iter().enumerate() {
            let subscriptions = cohort.blueprint.drivers[driver].driver.subscriptions();
            for (wire, path) in columns.board_paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
                let slot = match self.published(path, number) {
                    Some(slot) => slot,
                    None if subscriptions[wire].optional => NOWHERE,
                    None => return Err(PlaceError::NoSuchSensor { robot: name, path: path.clone() }),
                };
                if let Some(chunk) = self.chunk_mut(chunk) {
                    let at = lane * columns.wires.len() + wire;
                    chunk.slots[driver][at] = slot;
                }
            }
        }
        Ok(())
    }

    /// Wires the subscriptions of a robot anew; those to robots or sensors that are gone lead nowhere.
    pub(crate) fn rewire(&mut self, number: u32) {
        let Some(robot) = self.roster.get(number) else { return };
        let (cohort, lane, chunk) = (Arc::clone(&robot.cohort), robot.lane as usize, robot.chunk);
        for (driver, columns) in cohort.layout.drivers.iter().enumerate() {
            for (wire, path) in columns.board_paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
                let slot = self.published(path, number).unwrap_or(NOWHERE);
                if let Some(chunk) = self.chunk_mut(chunk) {
                    chunk.slots[driver][lane * columns.wires.len() + wire] = slot;
                }
            }
        }
    }

    /// True if a robot was taken out of the simulation.
    pub(crate) fn isolated(&self, robot: &Robot) -> bool {
        self.chunk(robot.chunk).is_some_and(|chunk| chunk.isolated & (1 << robot.lane) != 0)
    }

    /// Takes what drivers and sensors remember of a robot beside columns.
    pub(crate) fn take_kept(&mut self, number: u32) -> Vec<(String, Kept)> {
        self.place_of_mut(number).map(|(chunk, lane)| chunk.take_kept(lane)).unwrap_or_default()
    }

    /// Gives it back.
    pub(crate) fn give_kept(&mut self, number: u32, kept: Vec<(String, Kept)>) {
        if let Some((chunk, lane)) = self.place_of_mut(number) {
            chunk.give_kept(lane, kept);
        }
    }

    /// Moves a robot to a chunk of another cohort, with every variable both cohorts have; returns all it had.
    pub(crate) fn retool(&mut self, number: u32, cohort: &Arc<Cohort>) -> Option<Carried> {
        let (old, lane) = self.place_of(number)?;
        let carried: Carried = old
            .cohort
            .layout
            .variables
            .iter()
            .map(|variable| {
                let columns = variable.first..variable.first + variable.len;
                match variable.bank {
                    Bank::Real => {
                        (variable.clone(), old.real[columns].iter().map(|column| column[lane]).collect(), Vec::new())
                    }
                    Bank::Integer => {
                        (variable.clone(), Vec::new(), old.int[columns].iter().map(|column| column[lane]).collect())
                    }
                }
            })
            .collect();
        let suspended = old.suspended & (1 << lane) != 0;
        let robot = self.roster.get(number)?.clone();
        self.part_from(number);
        let moved = self.chunk_mut(robot.chunk)?.remove(lane);
        if let Some(Some(moved)) = moved.map(|moved| self.roster.robots[moved as usize].as_mut()) {
            moved.lane = robot.lane;
        }
        self.drop_if_empty(robot.chunk);
        let chunk = self.chunk_with_room(cohort);
        let key = random::combine(self.roster.realm_of(&robot).seed, robot.key);
        let start = Start { pose: robot.home, velocity_mps: DVec3::ZERO, wind_mps: DVec3::ZERO };
        let chunk_now = self.chunk_mut(chunk)?;
        let lane = chunk_now.add(number, key, &start);
        chunk_now.suspended |= u32::from(suspended) << lane;
        self.repost(number, &robot, cohort, key);
        let robot = self.roster.robots[number as usize].as_mut()?;
        (robot.cohort, robot.chunk, robot.lane) = (Arc::clone(cohort), chunk, lane as u8);
        self.carry(number, &carried);
        Some(carried)
    }

    /// Gives a robot the values it had, as far as it still has these variables.
    pub(crate) fn carry(&mut self, number: u32, carried: &Carried) {
        let Some((chunk, lane)) = self.place_of_mut(number) else { return };
        let cohort = Arc::clone(&chunk.cohort);
        for (variable, reals, integers) in carried {
            let Some(target) = cohort.layout.variable(&variable.path).filter(|target| target.len == variable.len)
            else {
                continue;
            };
            reals.iter().enumerate().for_each(|(offset, &value)| chunk.real[target.first + offset][lane] = value);
            integers.iter().enumerate().for_each(|(offset, &value)| chunk.int[target.first + offset][lane] = value);
        }
        chunk.expect_carried();
    }

    /// Gives a robot board entries for its new sensors; those it keeps go on where they were.
    fn repost(&mut self, number: u32, old: &Robot, cohort: &Arc<Cohort>, key: u64) {
        let robots = self.roster.realm_of(old).order.len();
        let kept = |name: &str| old.cohort.blueprint.sensors.iter().position(|slot| slot.name == name);
        let mut slots = Vec::new();
        for (sensor, slot) in cohort.blueprint.sensors.iter().enumerate() {
            let fresh = self.board_slot(cohort, number, sensor, key, robots);
            let before = kept(&slot.name).and_then(|before| self.board.entries.get(old.slots[before] as usize));
            if let (Some(entry), true) = (before.cloned(), fresh != NOWHERE) {
                let target = &mut self.board.entries[fresh as usize];
                (target.values, target.stamp, target.samples) = (entry.values, entry.stamp, entry.samples);
            }
            slots.push(fresh);
        }
        old.posted().for_each(|slot| self.board.remove(slot));
        if let Some(robot) = self.roster.robots[number as usize].as_mut() {
            robot.slots = slots;
        }
    }

    fn drop_if_empty(&mut self, index: u32) {
        if let Some(chunk) = self.chunk(index)
            && chunk.len == 0
        {
            self.robot_ticks += chunk.robot_ticks;
            self.chunks[index as usize] = None;
            self.free_chunks.push(index);
        }
    }

    /// Starts drivers and sensors of a wired robot.
    pub(crate) fn start(&mut self, number: u32, around: &Around<'_>) {
        let Some(robot) = self.roster.get(number) else { return };
        let (name, home, index, lane) = (robot.name.clone(), robot.home, robot.chunk, robot.lane as usize);
        let surroundings = Surroundings {
            environment: around.environment,
            board: &self.board,
            simd: around.simd,
            logic_after_physics: around.logic_after_physics,
        };
        if let Some(Some(chunk)) = self.chunks.get_mut(index as usize) {
            chunk.start(lane, (&name, home), &surroundings);
        }
    }

    /// The pose of a robot.
    pub(crate) fn pose(&self, number: u32) -> Option<Pose> {
        let (chunk, lane) = self.place_of(number)?;
        Some(Pose {
            position_m: body::vec3(&chunk.real, body::POSITION, lane),
            orientation: body::orientation(&chunk.real, lane),
        })
    }

    /// Attaches a robot to another, where they are now.
    pub(crate) fn attach(&mut self, attached: u32, holder: u32, bond: Bond) -> Option<()> {
        let (pose, holder_pose) = (self.pose(attached)?, self.pose(holder)?);
        let (chunk, lane) = self.place_of_mut(attached)?;
        chunk.ties.retain(|tie| usize::from(tie.lane) != lane);
        chunk.ties.push(Tie::new(lane as u8, holder, bond, &pose, &holder_pose));
        Some(())
    }

    /// Lets go of a robot; false if it was not attached.
    pub(crate) fn detach(&mut self, attached: u32) -> bool {
        let Some((chunk, lane)) = self.place_of_mut(attached) else { return false };
        let before = chunk.ties.len();
        chunk.ties.retain(|tie| usize::from(tie.lane) != lane);
        chunk.ties.len() < before
    }

    /// Puts a robot at another place, at rest. It lets go of what it holds and is let go.
    pub(crate) fn teleport(&mut self, number: u32, pose: Pose) -> Option<()> {
        self.detach(number);
        self.chunks.iter_mut().flatten().for_each(|chunk| chunk.ties.retain(|tie| tie.to != number));
        let (chunk, lane) = self.place_of_mut(number)?;
        body::set_vec3(&mut chunk.real, body::POSITION, lane, pose.position_m);
        body::set_orientation(&mut chunk.real, lane, pose.orientation);
        body::set_vec3(&mut chunk.real, body::VELOCITY, lane, DVec3::ZERO);
        body::set_vec3(&mut chunk.real, body::ANGULAR_VELOCITY, lane, DVec3::ZERO);
        Some(())
    }

    /// Simulation time.
    pub fn time(&self) -> SimTime {
        self.time
    }
}

/// What starting a robot needs to know of the world.
pub(crate) struct Around<'a> {
    pub(crate) environment: &'a crate::model::Environment,
    pub(crate) simd: crate::simd::Simd,
    pub(crate) logic_after_physics: bool,
}

/// Variables with their values, real or integer.
type Carried = Vec<(crate::model::Variable, Vec<f64>, Vec<i64>)>;
