//! Properties: every number of every robot by name. Variables are columns and can be written; constants belong to the
//! blueprint and cannot; further properties can be added while a simulation runs; two names can mean one variable.

use crate::component::{Pose, Sense};
use crate::joints::frame_motions;
use crate::lanes::body;
use crate::model::{Bank, Variable};
use crate::node::nearest;
use crate::roster::{Members, Robot};
use crate::world::{Realm, World};
use glam::DVec3;
use std::fmt;

/// Why a property could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PropertyError {
    /// There is no such robot or property.
    Unknown {
        /// What was asked for.
        path: String,
        /// The nearest that exists.
        nearest: Option<String>,
    },
    /// It is constant.
    Constant {
        /// Which.
        path: String,
    },
    /// It has another number of values.
    Length {
        /// Which.
        path: String,
        /// How many were given.
        found: usize,
        /// How many it has.
        expected: usize,
    },
    /// It exists already.
    Exists {
        /// Which.
        path: String,
    },
    /// A value is not finite.
    NotFinite {
        /// Which.
        path: String,
    },
}

impl fmt::Display for PropertyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { path, nearest: Some(name) } => {
                write!(f, "found no property {path:?} (did you mean {name:?}?)")
            }
            Self::Unknown { path, nearest: None } => {
                write!(f, "found no property {path:?}, expected robot.property")
            }
            Self::Constant { path } => write!(f, "property {path:?} is constant, expected a variable"),
            Self::Length { path, found, expected } => {
                write!(f, "found {found} values for property {path:?}, expected {expected}")
            }
            Self::Exists { path } => write!(f, "found property {path:?} already, expected a new name"),
            Self::NotFinite { path } => write!(f, "found a value for {path:?} that is not finite, expected numbers"),
        }
    }
}

impl std::error::Error for PropertyError {}

/// A property as inspection shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// `robot.path`.
    pub path: String,
    /// Its values.
    pub values: Vec<f64>,
    /// True if it can be written.
    pub variable: bool,
    /// What stands behind it: equal for two names of one variable.
    pub slot: Slot,
}

/// What stands behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// A column of a robot, by roster number.
    Column(u32, Bank, usize),
    /// A sample on the board.
    Board(u32),
    /// A constant of a blueprint.
    Constant,
    /// A property added at run time to a robot, by roster number.
    Extra(u32),
    /// Computed from others: a frame's pose.
    Computed,
}

/// Where a number is, found once and read often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A column of a robot, by roster number.
    Column(u32, Bank, usize),
    /// Wherever its path leads.
    Path,
}

/// A path split into robot, property and perhaps one index.
struct Split<'a> {
    robot: &'a str,
    property: &'a str,
    index: Option<usize>,
}

fn split(path: &str) -> Option<Split<'_>> {
    let (robot, rest) = path.split_once('.')?;
    match rest.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        Some((property, index)) => Some(Split { robot, property, index: Some(index.parse().ok()?) }),
        None => Some(Split { robot, property: rest, index: None }),
    }
}

impl World {
    /// The values of a property: `robot.position_m`, `robot.position_m[2]`, `robot.imu.accel_mps2`,
    /// `robot.frame.camera`, `robot.mass_kg`; with several realms `robot@realm.position_m`.
    pub fn property(&self, path: &str) -> Result<Vec<f64>, PropertyError> {
        let (realm, path) = self.locate(path);
        realm.property(&path)
    }

    /// One number of a property; the first if it has several.
    pub fn number(&self, path: &str) -> Option<f64> {
        self.property(path).ok()?.first().copied()
    }

    /// What stands behind a name.
    pub fn slot(&self, path: &str) -> Result<Slot, PropertyError> {
        let (realm, path) = self.locate(path);
        realm.slot(&path)
    }

    /// Every property of a robot.
    pub fn properties_of(&self, address: &str) -> Result<Vec<Shown>, PropertyError> {
        let (realm, name) = self.locate(address);
        realm.properties_of(&name)
    }

    /// The corners of the box that holds all robots of a compound, outlines included.
    pub fn compound_bounds(&self, address: &str) -> Option<(DVec3, DVec3)> {
        let (realm, name) = self.locate(address);
        realm.compound_bounds(&name)
    }

    /// Where a sensor of a robot is in the world.
    pub fn sensor_pose(&self, address: &str, sensor: &str) -> Option<Pose> {
        let (realm, name) = self.locate(address);
        realm.sensor_pose(&name, sensor)
    }

    /// Writes a variable.
    pub(crate) fn set_property(&mut self, path: &str, values: &[f64]) -> Result<(), PropertyError> {
        if values.iter().any(|value| !value.is_finite()) {
            return Err(PropertyError::NotFinite { path: path.to_owned() });
        }
        let (realm, local) = self.locate(path);
        let unknown = || realm.unknown(&local);
        let resolved = realm.resolve(&local);
        let split = split(&resolved).ok_or_else(unknown)?;
        let shown = realm.show(split.robot, split.property).ok_or_else(unknown)?;
        let (first, expected) = match split.index {
            Some(index) if index < shown.values.len() => (index, 1),
            Some(_) => return Err(unknown()),
            None => (0, shown.values.len()),
        };
        if values.len() != expected {
            return Err(PropertyError::Length { path: path.to_owned(), found: values.len(), expected });
        }
        match shown.slot {
            Slot::Column(robot, bank, column) => self.write(robot, bank, column + first, values),
            Slot::Extra(robot) => {
                let robot = self.state_mut().roster.robots[robot as usize].as_mut();
                if let Some(extra) = robot.and_then(|robot| robot.extra.get_mut(split.property)) {
                    extra[first..first + values.len()].copy_from_slice(values);
                }
            }
            _ => return Err(PropertyError::Constant { path: path.to_owned() }),
        }
        Ok(())
    }

    fn write(&mut self, robot: u32, bank: Bank, first: usize, values: &[f64]) {
        if let Some((chunk, lane)) = self.state_mut().place_of_mut(robot) {
            chunk.expect_carried();
            let joints = chunk.cohort.layout.joints;
            for (offset, &value) in values.iter().enumerate() {
                match bank {
                    Bank::Real => chunk.real[first + offset][lane] = value,
                    Bank::Integer => chunk.int[first + offset][lane] = value as i64,
                }
            }
            // a joint that is put somewhere stays there
            if bank == Bank::Real && (joints.positions()..joints.rates()).contains(&first) {
                chunk.real[first + 2 * joints.count][lane] = values[0];
            }
        }
    }

    /// Adds a property to a robot.
    pub(crate) fn add_property(&mut self, path: &str, values: &[f64]) -> Result<(), PropertyError> {
        if self.property(path).is_ok() {
            return Err(PropertyError::Exists { path: path.to_owned() });
        }
        let (realm, local) = self.locate(path);
        let place = local.split_once('.').and_then(|(robot, name)| Some((realm.find(robot)?.0, name)));
        let Some((number, name)) = place else { return Err(realm.unknown(&local)) };
        let name = name.to_owned();
        if let Some(robot) = self.state_mut().roster.robots[number as usize].as_mut() {
            robot.extra.insert(name, values.to_vec());
        }
        Ok(())
    }
}

impl Realm<'_> {
    /// The values of a property: `robot.position_m`, `robot.position_m[2]`, `robot.imu.accel_mps2`,
    /// `robot.frame.camera`, `robot.mass_kg`.
    pub fn property(&self, path: &str) -> Result<Vec<f64>, PropertyError> {
        let unknown = || self.unknown(path);
        if let Some((low, high)) = path.strip_suffix(".bounds_m").and_then(|name| self.compound_bounds(name)) {
            return Ok(vec![low.x, low.y, low.z, high.x, high.y, high.z]);
        }
        let resolved = self.resolve(path);
        let split = split(&resolved).ok_or_else(unknown)?;
        let shown = self.show(split.robot, split.property).ok_or_else(unknown)?;
        match split.index {
            None => Ok(shown.values),
            Some(index) => shown.values.get(index).map(|&value| vec![value]).ok_or_else(unknown),
        }
    }

    /// One number of a property; the first if it has several.
    pub fn number(&self, path: &str) -> Option<f64> {
        self.property(path).ok()?.first().copied()
    }

    /// Where the number behind a name is.
    pub(crate) fn source(&self, path: &str) -> Source {
        let resolved = self.resolve(path);
        let split = split(&resolved);
        let shown = split.as_ref().and_then(|split| self.show(split.robot, split.property));
        let at = split.and_then(|split| split.index).unwrap_or(0);
        match shown {
            Some(Shown { slot: Slot::Column(robot, bank, first), values, .. }) if at < values.len() => {
                Source::Column(robot, bank, first + at)
            }
            _ => Source::Path,
        }
    }

    /// The number at a source.
    pub(crate) fn read(&self, path: &str, source: &Source) -> Option<f64> {
        let Source::Column(robot, bank, column) = *source else { return self.number(path) };
        let (chunk, lane) = self.world.state().place_of(robot)?;
        Some(match bank {
            Bank::Real => chunk.real[column][lane],
            Bank::Integer => chunk.int[column][lane] as f64,
        })
    }

    /// What stands behind a name.
    pub fn slot(&self, path: &str) -> Result<Slot, PropertyError> {
        let resolved = self.resolve(path);
        let found = split(&resolved).and_then(|split| self.show(split.robot, split.property));
        found.map(|shown| shown.slot).ok_or_else(|| self.unknown(path))
    }

    /// Every property of a robot.
    pub fn properties_of(&self, robot: &str) -> Result<Vec<Shown>, PropertyError> {
        let (_, found) = self.find(robot).ok_or_else(|| self.unknown(robot))?;
        let blueprint = &found.cohort.blueprint;
        let constants = blueprint.motion.constants().into_iter().map(|(name, _)| name.to_owned());
        let variables = found.cohort.layout.variables.iter().map(|variable| variable.path.clone());
        let samples = blueprint
            .sensors
            .iter()
            .filter(|slot| matches!(slot.sensor.sense(), Sense::World(_)))
            .map(|slot| slot.name.clone());
        let frames = blueprint.frames.iter().map(|frame| format!("frame.{}", frame.name));
        let names = constants.chain(variables).chain(samples).chain(frames).chain(found.extra.keys().cloned());
        Ok(names.filter_map(|name| self.show(robot, &name)).collect())
    }

    /// Follows names that are declared equal to others.
    fn resolve(&self, path: &str) -> String {
        let path = self.inside(path);
        let whole =
            |part: &str| path == part || path.strip_prefix(part).is_some_and(|rest| rest.starts_with(['[', '.']));
        match self.world.model().shared.iter().find(|(name, _)| whole(name)) {
            Some((name, target)) => format!("{target}{}", &path[name.len()..]),
            None => path.to_owned(),
        }
    }

    /// A path without the compounds it goes through: `team.scout0.position_m` is `scout0.position_m`.
    fn inside<'a>(&self, path: &'a str) -> &'a str {
        let compound = |name: &str| self.world.model().compounds.iter().find(|compound| compound.name == name);
        let mut rest = path;
        while let Some((head, tail)) = rest.split_once('.')
            && let Some(compound) = compound(head)
            && compound.members.iter().any(|member| tail.split('.').next() == Some(member))
        {
            rest = tail;
        }
        rest
    }

    /// The corners of the box that holds all robots of a compound, outlines included.
    pub fn compound_bounds(&self, name: &str) -> Option<(DVec3, DVec3)> {
        let compound = self.world.model().compounds.iter().find(|compound| compound.name == name)?;
        let member = |member: &String| match self.find(member) {
            Some((number, robot)) => {
                let position_m = self.world.state().pose(number)?.position_m;
                let radius_m = robot.cohort.radius_m;
                Some((position_m - radius_m, position_m + radius_m))
            }
            None if member == name => None,
            None => self.compound_bounds(member),
        };
        let boxes = compound.members.iter().filter_map(member);
        boxes.reduce(|(low, high), (other_low, other_high)| (low.min(other_low), high.max(other_high)))
    }

    fn show(&self, robot_name: &str, property: &str) -> Option<Shown> {
        let (number, robot) = self.find(robot_name)?;
        let (chunk, lane) = self.world.state().place_of(number)?;
        let path = format!("{}.{property}", robot.address());
        let shown = |values, variable, slot| Some(Shown { path: path.clone(), values, variable, slot });
        if let Some(Variable { bank, first, len, .. }) = robot.cohort.layout.variable(property) {
            let columns = *first..first + len;
            let values = match bank {
                Bank::Real => chunk.real[columns].iter().map(|column| column[lane]).collect(),
                Bank::Integer => chunk.int[columns].iter().map(|column| column[lane] as f64).collect(),
            };
            return shown(values, true, Slot::Column(number, *bank, *first));
        }
        if let Some(values) = robot.extra.get(property) {
            return shown(values.clone(), true, Slot::Extra(number));
        }
        let constants = robot.cohort.blueprint.motion.constants();
        if let Some((_, value)) = constants.iter().find(|(name, _)| *name == property) {
            return shown(vec![*value], false, Slot::Constant);
        }
        if let Some(frame) = property.strip_prefix("frame.") {
            let pose = self.frame_pose(number, robot, frame)?;
            let q = pose.orientation;
            let p = pose.position_m;
            return shown(vec![p.x, p.y, p.z, q.x, q.y, q.z, q.w], false, Slot::Computed);
        }
        let sensor = robot.cohort.blueprint.sensors.iter().position(|slot| slot.name == property)?;
        let columns = &robot.cohort.layout.sensors[sensor];
        if columns.local {
            let sample = &chunk.real[columns.sample.0..columns.sample.1];
            let values = sample.iter().map(|column| column[lane]).collect();
            return shown(values, false, Slot::Column(number, Bank::Real, columns.sample.0));
        }
        let slot = *robot.slots.get(sensor)?;
        let posted = self.world.state().board.sample(slot);
        shown(posted.values.to_vec(), false, Slot::Board(slot))
    }

    /// Where a sensor of a robot is in the world.
    pub fn sensor_pose(&self, robot: &str, sensor: &str) -> Option<Pose> {
        let (number, found) = self.find(robot)?;
        let slot = found.cohort.blueprint.sensor(sensor)?;
        let carrier = match slot.frame {
            Some(frame) => self.frame_pose(number, found, &found.cohort.blueprint.frames[frame].name)?,
            None => self.world.state().pose(number)?,
        };
        Some(carrier.then(&slot.mount))
    }

    /// The pose of a frame of a robot in the world.
    fn frame_pose(&self, number: u32, robot: &Robot, name: &str) -> Option<Pose> {
        let frames = &robot.cohort.blueprint.frames;
        let at = frames.iter().position(|frame| frame.name == name)?;
        let (chunk, lane) = self.world.state().place_of(number)?;
        let body_pose = Pose {
            position_m: body::vec3(&chunk.real, body::POSITION, lane),
            orientation: body::orientation(&chunk.real, lane),
        };
        let mut motions = Vec::new();
        let first = robot.cohort.layout.joints.positions();
        frame_motions(frames, |joint| (chunk.real[first + joint][lane], 0.0), &mut motions);
        Some(body_pose.then(&motions[at].pose))
    }

    fn unknown(&self, path: &str) -> PropertyError {
        let resolved = self.resolve(path);
        let robot = resolved.split(['.', '[']).next().unwrap_or_default();
        let names = self.members().into_iter().flat_map(Members::names);
        let near = match self.find(robot) {
            None => nearest(robot, names).map(str::to_owned),
            Some((_, found)) => {
                let property = resolved.split_once('.').map_or("", |(_, property)| property);
                let blueprint = &found.cohort.blueprint;
                let constants = blueprint.motion.constants();
                let frames: Vec<String> =
                    blueprint.frames.iter().map(|frame| format!("frame.{}", frame.name)).collect();
                let valid = found.cohort.layout.variables.iter().map(|variable| variable.path.as_str());
                let valid =
                    valid.chain(constants.iter().map(|(name, _)| *name)).chain(frames.iter().map(String::as_str));
                let valid = valid.chain(blueprint.sensors.iter().map(|slot| slot.name.as_str()));
                nearest(property, valid).map(|name| format!("{robot}.{name}"))
            }
        };
        PropertyError::Unknown { path: path.to_owned(), nearest: near }
    }
}
