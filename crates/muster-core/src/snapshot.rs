//! The frozen world: a consistent copy of every robot's pose at one instant. Sensors look at it, on this thread or
//! another, while nothing in it moves.

use crate::grid::Grid;
use crate::model::Environment;
use crate::shape::Shape;
use crate::time::SimTime;
use glam::{DQuat, DVec3};
use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy};
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
    obstacles: Arc<Obstacles>,
}

/// Every realm at one instant: robots see those of their own.
pub(crate) type Frozen = Vec<Snapshot>;

/// Obstacles in a hierarchy of bounds for quick search: all but planes.
pub(crate) struct Obstacles {
    hierarchy: Bvh,
    indices: Vec<u32>,
    pub(crate) planes: Vec<u32>,
}

impl Obstacles {
    pub(crate) fn new(environment: &Environment) -> Self {
        let bounded = |index: &u32| *environment.obstacles[*index as usize].solid.shape() != Shape::Plane;
        let (indices, planes): (Vec<u32>, Vec<u32>) = (0..environment.obstacles.len() as u32).partition(bounded);
        let bounds = |&index: &u32| {
            let obstacle = &environment.obstacles[index as usize];
            obstacle.solid.bounds(&obstacle.pose)
        };
        let leaves: Vec<Aabb> = indices.iter().map(bounds).collect();
        Self { hierarchy: Bvh::from_leaves(BvhBuildStrategy::Binned, &leaves), indices, planes }
    }

    /// Calls `found` with every bounded obstacle whose bounds have a point within `radius_m` of `centre_m`.
    pub(crate) fn near(&self, centre_m: DVec3, radius_m: f64, mut found: impl FnMut(u32)) {
        if !self.indices.is_empty() {
            let around = Aabb::new(centre_m - radius_m, centre_m + radius_m);
            self.hierarchy.intersect_aabb(&around).for_each(|at| found(self.indices[at as usize]));
        }
    }
}

impl Snapshot {
    pub(crate) fn new(environment: Arc<Environment>, obstacles: Arc<Obstacles>) -> Self {
        Self { time: SimTime::ZERO, robots: Vec::new(), environment, grids: Vec::new(), obstacles }
    }

    /// A world of these robots at the start of time, with the search within these radii (ascending, without repeats)
    /// prepared. For trying out a sensor by itself.
    pub fn of(environment: Arc<Environment>, robots: Vec<Seen>, radii_m: &[f64]) -> Self {
        let obstacles = Arc::new(Obstacles::new(&environment));
        let mut snapshot = Self { robots, ..Self::new(environment, obstacles) };
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
        self.obstacles.planes.iter().copied().for_each(&mut consider);
        self.obstacles.near(centre_m, radius_m, &mut consider);
    }
}
