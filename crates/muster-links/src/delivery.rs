//! Delivery: what the loop hands to those outside after each window. A sink gets shared references and cannot change the
//! simulation.

use muster_core::component::Pose;
use muster_core::lanes::Quantity;
use muster_core::model::Cohort;
use muster_core::node::matches;
use muster_core::snapshot::Snapshot;
use muster_core::time::SimTime;
use muster_core::world::{Heard, HeardSample, World};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Somebody outside who gets samples and states.
pub trait Sink: Send {
    /// Patterns `robot.sensor` of the sensors it hears; `*` matches any text.
    fn sensors(&self) -> Vec<String> {
        Vec::new()
    }

    /// True if it gets the states of all robots, at the scenario's `states_hz`.
    fn states(&self) -> bool {
        false
    }

    /// True if it needs to know where robots are at the end of every window with samples.
    fn poses(&self) -> bool {
        false
    }

    /// Nothing more comes for now: what is still held back goes out.
    fn flush(&mut self) {}

    /// Takes what became visible during a window.
    fn take(&mut self, batch: &Batch);
}

/// What became visible during a window.
#[derive(Default)]
pub struct Batch {
    /// End of the window.
    pub time: SimTime,
    /// Who is who.
    pub directory: Arc<Directory>,
    /// What was heard, by whoever asked.
    pub heard: Heard,
    /// The states of all robots, if they are due or somebody needs poses.
    pub all_states: Option<Arc<Snapshot>>,
    /// The states are due.
    pub states_due: bool,
    /// What the sink that reads this asked for.
    pub interest: Arc<Interest>,
}

impl Batch {
    /// The samples the sink asked for, in order of stamp, robot and sensor.
    pub fn samples(&self) -> impl Iterator<Item = HeardSample<'_>> {
        self.heard.iter().filter(|sample| self.interest.hears(sample.robot, sample.sensor))
    }

    /// Where a robot is at the end of the window, by roster number, for sinks that need poses.
    pub fn pose_of(&self, robot: u32) -> Option<Pose> {
        let body = self.all_states.as_deref()?.robots.iter().find(|body| body.robot == robot)?;
        Some(Pose { position_m: body.position_m, orientation: body.orientation })
    }

    /// The states of all robots, if the sink asked for them and they are due.
    pub fn states(&self) -> Option<&Snapshot> {
        self.all_states.as_deref().filter(|_| self.states_due && self.interest.states)
    }
}

/// What one sink asked for: sensors by robot and number, ascending.
#[derive(Debug, Default)]
pub struct Interest {
    sensors: Vec<(u32, u32)>,
    states: bool,
}

impl Interest {
    /// What a sink asks for among those who are there.
    pub fn new(sink: &dyn Sink, directory: &Directory) -> Self {
        let patterns = sink.sensors();
        let wanted = |robot: &str, sensor: &str| {
            let split = patterns.iter().filter_map(|pattern| pattern.split_once('.'));
            split.into_iter().any(|(robots, sensors)| matches(robots, robot) && matches(sensors, sensor))
        };
        let sensors = directory.robots.iter().flat_map(|(&number, names)| {
            let sensors = names.sensors.iter().enumerate().filter(|(_, (sensor, _))| wanted(&names.name, sensor));
            sensors.map(move |(sensor, _)| (number, sensor as u32))
        });
        Self { sensors: sensors.collect(), states: sink.states() }
    }

    fn hears(&self, robot: u32, sensor: u32) -> bool {
        self.sensors.binary_search(&(robot, sensor)).is_ok()
    }
}

/// Names of robots by roster number, and of their sensors.
#[derive(Debug, Default)]
pub struct Directory {
    /// By roster number.
    pub robots: BTreeMap<u32, RobotNames>,
}

/// Names on a robot, and what it is made of.
pub struct RobotNames {
    /// The robot's address: its name, with `@realm` if there are several realms.
    pub name: String,
    /// Its sensors and what their samples hold.
    pub sensors: Vec<(String, Vec<Quantity>)>,
    /// What it is made of.
    pub cohort: Arc<Cohort>,
    /// Where it started.
    pub home: Pose,
}

impl std::fmt::Debug for RobotNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RobotNames").field("name", &self.name).field("sensors", &self.sensors).finish_non_exhaustive()
    }
}

impl Directory {
    /// Who is there.
    pub fn of(world: &World) -> Self {
        let robots = world.roster().map(|(number, robot)| {
            let sensors = robot.cohort.blueprint.sensors.iter();
            let sensors = sensors.map(|slot| (slot.name.clone(), slot.fields().to_vec())).collect();
            let cohort = Arc::clone(&robot.cohort);
            (number, RobotNames { name: robot.address(), sensors, cohort, home: robot.home })
        });
        Self { robots: robots.collect() }
    }
}
