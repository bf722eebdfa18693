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
    grid_of_obstacles: Arc<Obstacles>,
}

/// Every realm at one instant: robots see those of their own.
pub(crate) type Frozen = Vec<Snapshot>;

/// Obstacles sorted for quick search: all but planes, by their bounding balls.
#[derive(Debug, Default)]
pub(crate) struct Obstacles {
    grid: Grid,
    indices: Vec<u32>,
    largest_radius_m: f64,
    pub(crate) planes: Vec<u32>,
}

impl Obstacles {
    pub(crate) fn new(environment: &Environment) -> Self {
        let bounded = |index: &usize| environment.obstacles[*index].shape.radius_m().is_finite();
        let (indices, planes): (Vec<usize>, Vec<usize>) = (0..environment.obstacles.len()).partition(bounded);
        let radius = |&index: &usize| environment.obstacles[index].shape.radius_m();
        let largest_radius_m = indices.iter().map(radius).fold(0.0, f64::max);
        let mut grid = Grid::default();
        grid.rebuild(largest_radius_m.max(1.0), indices.iter().map(|&index| environment.obstacles[index].position_m));
        let narrow = |list: Vec<usize>| list.into_iter().map(|index| index as u32).collect();
        Self { grid, indices: narrow(indices), largest_radius_m, planes: narrow(planes) }
    }

    /// Calls `found` with every bounded obstacle that has a point within `radius_m` of `centre_m`.
    pub(crate) fn near(&self, environment: &Environment, centre_m: DVec3, radius_m: f64, mut found: impl FnMut(u32)) {
        if self.indices.is_empty() {
            return;
        }
        self.grid.within(centre_m, radius_m + self.largest_radius_m, |at, _| {
            let index = self.indices[at as usize];
            let nearest = nearest_point(&environment.obstacles[index as usize], centre_m);
            if (nearest - centre_m).length_squared() <= radius_m * radius_m {
                found(index);
            }
        });
    }
}

impl Snapshot {
    pub(crate) fn new(environment: Arc<Environment>, grid_of_obstacles: Arc<Obstacles>) -> Self {
        Self { time: SimTime::ZERO, robots: Vec::new(), environment, grids: Vec::new(), grid_of_obstacles }
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
    /// planes first, then in the order of the obstacles' cells.
    pub fn obstacles_within(&self, centre_m: DVec3, radius_m: f64, mut found: impl FnMut(usize, DVec3)) {
        let mut consider = |index: u32| {
            let nearest = nearest_point(&self.environment.obstacles[index as usize], centre_m);
            if (nearest - centre_m).length_squared() <= radius_m * radius_m {
                found(index as usize, nearest);
            }
        };
        self.grid_of_obstacles.planes.iter().copied().for_each(&mut consider);
        self.grid_of_obstacles.near(&self.environment, centre_m, radius_m, &mut consider);
    }
}

/// The point of an obstacle that is nearest to a point (the point itself if it is inside).
fn nearest_point(obstacle: &crate::contact::Obstacle, point_m: DVec3) -> DVec3 {
    use crate::contact::Shape;
    let local = obstacle.orientation.conjugate() * (point_m - obstacle.position_m);
    let nearest = match obstacle.shape {
        Shape::None => local,
        Shape::Sphere { radius_m } => local.clamp_length_max(radius_m),
        Shape::Box { half_m } => local.clamp(-half_m, half_m),
        Shape::Plane => DVec3::new(local.x, local.y, local.z.min(0.0)),
    };
    obstacle.position_m + obstacle.orientation * nearest
}
