//! Rays: what the beams of sensors first meet in a frozen world.

use crate::component::Pose;
use crate::math;
use crate::simd::Simd;
use crate::snapshot::Snapshot;
use glam::{DVec3, Vec3};

/// What was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Thing {
    /// Nothing within range.
    #[default]
    Nothing,
    /// An obstacle, by its index in the environment.
    Obstacle(u32),
    /// A part of a robot, by the robot's index in the snapshot.
    Part {
        /// The robot.
        robot: u32,
        /// The part, as an index into its blueprint's.
        part: u16,
    },
}

/// Where a ray first met something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Along the ray, m; infinite where nothing was met.
    pub distance_m: f64,
    /// Outward unit normal of the surface, in the world.
    pub normal: Vec3,
    /// What was met.
    pub thing: Thing,
    /// The triangle, of meshes and terrain.
    pub triangle: u32,
}

impl Hit {
    /// Nothing within range.
    pub const NOTHING: Self =
        Self { distance_m: f64::INFINITY, normal: Vec3::ZERO, thing: Thing::Nothing, triangle: 0 };
}

/// The limits of a cast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// What is nearer is passed through, m.
    pub min_m: f64,
    /// What is further is not met, m.
    pub max_m: f64,
    /// The robot whose parts are passed through, as an index into the snapshot.
    pub without: Option<usize>,
}

/// Directions of rays that leave one point, in the frame of a sensor, arranged once so that neighbours are cast together.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    directions: Vec<DVec3>,
}

impl Pattern {
    /// Unit directions, row by row; `columns` to a row.
    pub fn new(directions: Vec<DVec3>, columns: usize) -> Self {
        _ = columns;
        Self { directions }
    }

    /// How many rays there are.
    pub fn len(&self) -> usize {
        self.directions.len()
    }

    /// True if there is no ray.
    pub fn is_empty(&self) -> bool {
        self.directions.is_empty()
    }

    /// The directions in the frame of the sensor, in the order they were given.
    pub fn directions(&self) -> &[DVec3] {
        &self.directions
    }

    /// Casts all rays from a sensor at a pose; `each` is told the number of a ray and what it met, each once, in any order.
    pub fn cast(&self, world: &Snapshot, from: &Pose, reach: Reach, simd: Simd, mut each: impl FnMut(usize, &Hit)) {
        _ = simd;
        for (number, &direction) in self.directions.iter().enumerate() {
            each(number, &world.cast(from.position_m, math::rotate(from.orientation, direction), reach));
        }
    }
}
