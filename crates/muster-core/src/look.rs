//! Sensors that look at the world: a job holds a frozen snapshot and fills the samples of all sensors that were due at
//! that instant. With latency it may run beside the loop; its results appear at a fixed simulation time either way.

use crate::chunk::attempt;
use crate::component::{LookAt, Sense, Sensor};
use crate::exec::Job;
use crate::model::{Cohort, SensorSlot};
use crate::simd::Simd;
use crate::snapshot::{Frozen, Snapshot};
use crate::state::Robot;
use crate::time::SimTime;
use std::sync::Arc;

/// One sensor of one robot that is due.
#[derive(Clone)]
pub(crate) struct LookItem {
    pub(crate) cohort: Arc<Cohort>,
    pub(crate) sensor: u32,
    /// The robot's realm, and its position in the snapshot of that.
    pub(crate) realm: u32,
    pub(crate) seen: u32,
    /// The robot by roster number, which may pass to another robot meanwhile, and by identity.
    pub(crate) robot: u32,
    pub(crate) key: u64,
    /// Key of the sensor's random streams.
    pub(crate) stream: u64,
}

impl LookItem {
    /// The number of the sensor on the robot now: it may have been retooled meanwhile.
    pub(crate) fn sensor_on(&self, robot: &Robot) -> Option<usize> {
        if Arc::ptr_eq(&self.cohort, &robot.cohort) {
            return Some(self.sensor as usize);
        }
        let name = &self.cohort.blueprint.sensors[self.sensor as usize].name;
        let looks = |slot: &SensorSlot| slot.name == *name && matches!(slot.sensor.sense(), Sense::World(_));
        robot.cohort.blueprint.sensors.iter().position(looks)
    }
}

/// Sensors looking at one frozen world.
#[derive(Clone)]
pub struct LookJob {
    pub(crate) frozen: Arc<Frozen>,
    pub(crate) items: Vec<LookItem>,
    /// One sample to an item; may be longer, room is kept.
    pub(crate) values: Vec<Vec<f64>>,
    /// Items whose sensor panicked, and how.
    pub(crate) panics: Vec<(usize, String)>,
    pub(crate) index: u64,
    pub(crate) stamp: SimTime,
    /// The last slice of the samples: what comes before it is in the values already.
    pub(crate) slice: usize,
    pub(crate) visible_at: SimTime,
    pub(crate) simd: Simd,
}

impl LookJob {
    /// What stands for it while it is under way.
    pub(crate) fn placeholder(&self) -> Self {
        Self { items: Vec::new(), values: Vec::new(), panics: Vec::new(), frozen: Arc::clone(&self.frozen), ..*self }
    }
}

impl Job for LookJob {
    fn run(&mut self) {
        self.values.resize_with(self.items.len().max(self.values.len()), Vec::new);
        for (at, (item, values)) in self.items.iter().zip(&mut self.values).enumerate() {
            let world = &self.frozen[item.realm as usize];
            let glance = Glance {
                seen: item.seen as usize,
                stream: item.stream,
                index: self.index,
                slice: self.slice,
                simd: self.simd,
            };
            let looked = || look(&item.cohort, item.sensor as usize, world, glance, values);
            self.panics.extend(attempt(looked).map(|panic| (at, panic)));
        }
    }
}

/// Who looks, and for which time.
#[derive(Clone, Copy)]
pub(crate) struct Glance {
    /// The robot's position in the snapshot.
    pub(crate) seen: usize,
    pub(crate) stream: u64,
    pub(crate) index: u64,
    pub(crate) slice: usize,
    pub(crate) simd: Simd,
}

/// Fills one sample.
pub(crate) fn look(cohort: &Cohort, sensor: usize, world: &Snapshot, glance: Glance, values: &mut Vec<f64>) {
    let slot = &cohort.blueprint.sensors[sensor];
    look_with(&*slot.sensor, slot, world, glance, values);
}

/// The same with a sensor in the place of another.
pub(crate) fn look_with(
    sensor: &dyn Sensor,
    slot: &SensorSlot,
    world: &Snapshot,
    glance: Glance,
    values: &mut Vec<f64>,
) {
    if glance.slice == 0 {
        values.clear();
    }
    if let Sense::World(look) = sensor.sense() {
        values.reserve(look.capacity(world.robots.len()));
        let Glance { seen: robot, stream, index, slice, simd } = glance;
        let (slices, span_s) = look.slices();
        let ahead_s = span_s * (slices - 1).saturating_sub(slice) as f64 / slices as f64;
        let mount = match slot.frame {
            Some(frame) => world.frame_pose(robot, frame).then(&slot.mount),
            None => slot.mount,
        };
        let period_s = slot.rate.period_s();
        look.look(&LookAt { world, robot, mount: &mount, stream, index, period_s, slice, ahead_s, simd }, values);
    }
}
