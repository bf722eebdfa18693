//! Sensors that look at the world: a job holds a frozen snapshot and fills the samples of all sensors that were due at
//! that instant. With latency it may run beside the loop; its results appear at a fixed simulation time either way.

use crate::component::{LookAt, Sense};
use crate::exec::Job;
use crate::model::Cohort;
use crate::snapshot::Snapshot;
use crate::time::SimTime;
use std::sync::Arc;

/// One sensor of one robot that is due.
#[derive(Clone)]
pub(crate) struct LookItem {
    pub(crate) cohort: Arc<Cohort>,
    pub(crate) sensor: u32,
    /// The robot's position in the snapshot.
    pub(crate) dense: u32,
    pub(crate) slot: u32,
    /// The owner when it was due: a slot may pass to another robot meanwhile.
    pub(crate) key: u64,
}

/// Sensors looking at one frozen world.
#[derive(Clone)]
pub struct LookJob {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) items: Vec<LookItem>,
    /// One sample to an item; may be longer, room is kept.
    pub(crate) values: Vec<Vec<f64>>,
    pub(crate) index: u64,
    pub(crate) stamp: SimTime,
    pub(crate) visible_at: SimTime,
}

impl Job for LookJob {
    fn run(&mut self) {
        self.values.resize_with(self.items.len().max(self.values.len()), Vec::new);
        for (item, values) in self.items.iter().zip(&mut self.values) {
            look(&item.cohort, item.sensor as usize, &self.snapshot, item.dense as usize, values);
        }
    }
}

/// Fills one sample.
pub(crate) fn look(cohort: &Cohort, sensor: usize, world: &Snapshot, robot: usize, values: &mut Vec<f64>) {
    let slot = &cohort.blueprint.sensors[sensor];
    values.clear();
    if let Sense::World(look) = slot.sensor.sense() {
        look.look(&LookAt { world, robot, mount: &slot.mount }, values);
    }
}
