//! The frozen world: copies of all poses at one instant, for sensors and for those outside.

use super::World;
use crate::chunk::{Chunk, frames_of, place_of};
use crate::component::Sensor;
use crate::lanes::{Column, body};
use crate::look::{Glance, look_with};
use crate::model::Cohort;
use crate::simd::Simd;
use crate::snapshot::{Frozen, Lamp, Seen, Snapshot};
use crate::state::State;
use std::sync::Arc;

/// A frozen world in which sensors can be tried.
pub struct Trial {
    frozen: Arc<Frozen>,
    cohort: Arc<Cohort>,
    realm: usize,
    seen: usize,
    simd: Simd,
}

impl Trial {
    /// The world that is looked at.
    pub fn world(&self) -> &Snapshot {
        &self.frozen[self.realm]
    }

    /// Looks once with `sensor` from where the robot has the sensor of this number.
    pub fn look(&self, number: usize, sensor: &dyn Sensor, sample: &mut Vec<f64>) {
        let glance = Glance { seen: self.seen, stream: 0, index: 0, slice: 0, simd: self.simd };
        let slot = &self.cohort.blueprint.sensors[number];
        look_with(sensor, slot, &self.frozen[self.realm], glance, sample);
    }
}

/// What the hierarchies that rays and contacts search have cost so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HierarchyWork {
    /// Bounds worked out of what stands still.
    pub still: u64,
    /// Bounds worked out of parts of robots.
    pub moving: u64,
    /// How often the parts of robots were arranged.
    pub arranged: u64,
}

impl World {
    /// What hierarchies have cost so far.
    pub fn hierarchy_work(&self) -> HierarchyWork {
        let each = self.frozen.iter().flat_map(|frozen| frozen.iter()).map(Snapshot::work);
        let (moving, arranged) = each.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        HierarchyWork { still: self.environment.obstacles.work().0, moving, arranged }
    }

    /// Every robot as those of its realm see it now.
    pub(super) fn freeze_realms(&mut self) -> Arc<Frozen> {
        let mut shared = unshared(&mut self.frozen).unwrap_or_default();
        if let Some(frozen) = Arc::get_mut(&mut shared) {
            let realms = &self.state.roster.realms;
            let empty = || Snapshot::new(Arc::clone(&self.environment));
            frozen.resize_with(realms.len(), empty);
            for (snapshot, realm) in frozen.iter_mut().zip(realms) {
                snapshot.time = self.state.time;
                snapshot.robots.resize(realm.order.len(), NOBODY);
            }
            each_seen(&self.state, |at, realm, seen| {
                let members = &realms[realm as usize];
                let robot = self.state.roster.number_in_realm(seen.robot);
                frozen[realm as usize].robots[at - members.first as usize] = Seen { robot, ..seen };
            });
            if self.sees_bodies {
                self.furnish(frozen);
            }
            frozen.iter_mut().for_each(|snapshot| snapshot.index(&self.radii_m));
        }
        self.frozen.push(Arc::clone(&shared));
        shared
    }

    /// The world as sensors see it now, for trying out the sensors of a robot.
    pub fn trial(&mut self, number: u32) -> Option<Trial> {
        let robot = self.state.roster.get(number)?;
        let (cohort, realm) = (Arc::clone(&robot.cohort), robot.realm as usize);
        let dense = self.state.roster.iter().position(|(other, _)| other == number)?;
        let seen = dense - self.state.roster.realms[realm].first as usize;
        self.sees_bodies = true;
        Some(Trial { frozen: self.freeze_realms(), cohort, realm, seen, simd: self.options.simd })
    }

    /// Freezes the world as it is done for sensors that see the parts of robots: for measuring what that costs.
    pub fn freeze_now(&mut self) -> impl Drop + use<> {
        self.sees_bodies = true;
        self.freeze_realms()
    }

    /// Every robot of every realm as it is now.
    pub fn snapshot(&mut self) -> Arc<Snapshot> {
        let empty = || Arc::new(Snapshot::new(Arc::clone(&self.environment)));
        let mut shared = unshared(&mut self.snapshots).unwrap_or_else(empty);
        if let Some(snapshot) = Arc::get_mut(&mut shared) {
            snapshot.time = self.state.time;
            snapshot.robots.resize(self.state.roster.len(), NOBODY);
            each_seen(&self.state, |at, _, seen| snapshot.robots[at] = seen);
        }
        self.snapshots.push(Arc::clone(&shared));
        shared
    }

    /// Puts parts and frames of all robots where they are. They stand in the order of the robots, whatever chunks these
    /// live in; room and what did not change are kept.
    fn furnish(&mut self, frozen: &mut Frozen) {
        for (snapshot, realm) in frozen.iter_mut().zip(&self.state.roster.realms) {
            snapshot.lamps.clear();
            snapshot.lay_out(realm.order.iter().filter_map(|&number| Some(&self.state.roster.get(number)?.cohort)));
        }
        let mut frames = std::mem::take(&mut self.frames);
        for chunk in self.state.chunks.iter().flatten() {
            for lane in 0..chunk.len {
                let Some(robot) = self.state.roster.get(chunk.robots[lane]) else { continue };
                let realm = &self.state.roster.realms[robot.realm as usize];
                let (snapshot, seen) = (&mut frozen[robot.realm as usize], chunk.dense[lane] - realm.first);
                if !chunk.cohort.blueprint.frames.is_empty() {
                    frames_of(&chunk.cohort, &chunk.real, lane, &mut frames);
                }
                if let [on, intensity_cd, red, green, blue] = lights(chunk)
                    && on[lane] != 0.0
                {
                    let colour = [red[lane], green[lane], blue[lane]];
                    snapshot.lamps.push(Lamp { robot: seen, intensity_cd: intensity_cd[lane], colour });
                }
                let (bodies, places) = snapshot.furniture(seen as usize, &chunk.cohort);
                for body in bodies {
                    body.pose =
                        place_of(&chunk.real, lane, &chunk.cohort.blueprint.parts[usize::from(body.part)], &frames);
                }
                places.iter_mut().zip(&frames).for_each(|(place, frame)| *place = frame.pose);
            }
        }
        self.frames = frames;
        frozen.iter_mut().for_each(Snapshot::arrange);
        // chunks are in no order of the robots
        frozen.iter_mut().for_each(|snapshot| snapshot.lamps.sort_unstable_by_key(|lamp| lamp.robot));
    }
}

/// The columns of the robots' lamps, if they have any.
fn lights(chunk: &Chunk) -> &[Column] {
    let (first, end) = chunk.cohort.layout.light;
    &chunk.real[first..end]
}

/// Takes one that nobody else holds.
fn unshared<T>(pool: &mut Vec<Arc<T>>) -> Option<Arc<T>> {
    let free = pool.iter().position(|shared| Arc::strong_count(shared) == 1)?;
    Some(pool.swap_remove(free))
}

/// Holds a place in a snapshot until it is filled.
const NOBODY: Seen = Seen {
    key: 0,
    robot: u32::MAX,
    position_m: glam::DVec3::ZERO,
    orientation: glam::DQuat::IDENTITY,
    velocity_mps: glam::DVec3::ZERO,
    angular_velocity_radps: glam::DVec3::ZERO,
    radius_m: 0.0,
};

/// Tells of every robot its position among all, its realm, and how it is seen.
fn each_seen(state: &State, mut tell: impl FnMut(usize, u32, Seen)) {
    for chunk in state.chunks.iter().flatten() {
        let radius_m = chunk.cohort.radius_m;
        for lane in 0..chunk.len {
            let number = chunk.robots[lane];
            let Some(robot) = state.roster.get(number) else { continue };
            let seen = Seen {
                key: robot.key,
                robot: number,
                position_m: body::vec3(&chunk.real, body::POSITION, lane),
                orientation: body::orientation(&chunk.real, lane),
                velocity_mps: body::vec3(&chunk.real, body::VELOCITY, lane),
                angular_velocity_radps: body::vec3(&chunk.real, body::ANGULAR_VELOCITY, lane),
                radius_m,
            };
            tell(chunk.dense[lane] as usize, robot.realm, seen);
        }
    }
}
