//! The frozen world: a consistent copy of every robot's pose at one instant. Sensors look at it, on this thread or
//! another, while nothing in it moves.

use crate::grid::Grid;
use crate::model::Environment;
use crate::time::SimTime;
use glam::{DQuat, DVec3};
use std::sync::Arc;

/// One robot as others see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Its identity, see [`crate::model::robot_key`].
    pub key: u64,
    /// Its number in the roster; in what sensors see, that of its realm.
    pub robot: u32,
    /// Position, m.
    pub position_m: DVec3,
    /// `world_from_body`.
    pub orientation: DQuat,
    /// Velocity in the world frame, m/s.
    pub velocity_mps: DVec3,
    /// Angular velocity in the body frame, rad/s.
    pub angular_velocity_radps: DVec3,
    /// Radius of the ball that holds it, m.
    pub radius_m: f64,
}

/// Every robot at one instant, in the order of the roster.
#[derive(Clone)]
pub struct Snapshot {
    /// The instant.
    pub time: SimTime,
    /// The robots.
    pub robots: Vec<Seen>,
    /// What stands still.
    pub environment: Arc<Environment>,
    grids: Vec<(f64, Grid)>,
}

/// Every realm at one instant: robots see those of their own.
pub(crate) type Frozen = Vec<Snapshot>;

impl Snapshot {
    pub(crate) fn new(environment: Arc<Environment>) -> Self {
        Self { time: SimTime::ZERO, robots: Vec::new(), environment, grids: Vec::new() }
    }

    /// A world of these robots at the start of time, with the search within these radii (ascending, without repeats)
    /// prepared. For trying out a sensor by itself.
    pub fn of(environment: Arc<Environment>, robots: Vec<Seen>, radii_m: &[f64]) -> Self {
        let mut snapshot = Self { robots, ..Self::new(environment) };
        snapshot.index(radii_m);
        snapshot
    }

    /// Prepares the search within these radii (ascending, without repeats).
    pub(crate) fn index(&mut self, radii_m: &[f64]) {
        self.grids.resize_with(radii_m.len(), Default::default);
        for ((radius_m, grid), &wanted) in self.grids.iter_mut().zip(radii_m) {
            *radius_m = wanted;
            grid.rebuild(wanted, self.robots.iter().map(|robot| robot.position_m));
        }
    }

    /// Calls `found` with every robot whose centre is within `radius_m` of a point.
    pub fn robots_within(&self, centre_m: DVec3, radius_m: f64, mut found: impl FnMut(usize, &Seen)) {
        match self.grids.iter().find(|(cell_m, _)| *cell_m >= radius_m).or(self.grids.last()) {
            Some((_, grid)) => grid.within(centre_m, radius_m, |index, _| {
                found(index as usize, &self.robots[index as usize]);
            }),
            None => self.robots.iter().enumerate().for_each(|(index, robot)| {
                if (robot.position_m - centre_m).length_squared() <= radius_m * radius_m {
                    found(index, robot);
                }
            }),
        }
    }

    /// Calls `found(index, nearest point)` with every obstacle that has a point within `radius_m` of `centre_m`,
    /// planes first.
    pub fn obstacles_within(&self, centre_m: DVec3, radius_m: f64, mut found: impl FnMut(usize, DVec3)) {
        let mut consider = |index: u32| {
            let obstacle = &self.environment.obstacles[index as usize];
            let nearest = obstacle.solid.nearest_point(&obstacle.pose, centre_m);
            if (nearest - centre_m).length_squared() <= radius_m * radius_m {
                found(index as usize, nearest);
            }
        };
        let obstacles = &self.environment.obstacles;
        obstacles.planes().iter().copied().for_each(&mut consider);
        obstacles.near(centre_m, radius_m, &mut consider);
    }
}
