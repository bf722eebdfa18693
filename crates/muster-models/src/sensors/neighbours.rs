//! Neighbours: other robots and obstacles within a radius of the mount, nearest first, as relative positions and
//! velocities. A robot counts if its centre is within the radius, an obstacle if any point of it is; its position is
//! then that of the nearest point. So `|position| − radius` is the distance to the surface for both.
//!
//! Positions and velocities are in the axes of the world, or of the mount with `axes: body`. The velocity is the
//! difference of velocities in the world; turning the axes does not add the apparent motion of a turning observer.
//! Equal distances are ordered by kind, then by id.

use super::build;
use glam::{DQuat, DVec3};
use muster_core::component::{Kind, Look, LookAt, Sense, Sensor};
use muster_core::lanes::{Quantity, Role};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;

muster_core::choice! {
    /// In which axes neighbours are given.
    pub enum Axes {
        /// East, north, up.
        World = "world",
        /// Forward, left, up of the mount.
        Body = "body",
    }
}

spec! {
    /// Sensor of neighbours.
    pub struct Neighbours {
        /// How far it sees.
        radius_m: f64 = 5.0, in 0.0..=1e6;
        /// How many it tells at most: the nearest.
        max_count: usize = 32, in 1..=10000;
        /// In which axes: world or body.
        axes: Axes = Axes::World;
        /// Whether it sees robots.
        robots: bool = true;
        /// Whether it sees obstacles.
        objects: bool = true;
    }
}

/// Sensor of neighbours.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "neighbours",
    doc: "Other robots and obstacles within a radius, nearest first: relative position and velocity, radius, kind, id.",
    fields: Neighbours::FIELDS,
    build: &build::<Neighbours>,
};

/// What a sample holds for each neighbour, in the axes of the world.
pub const FIELDS: &[Quantity] = &fields(Role::World);
const IN_BODY: &[Quantity] = &fields(Role::Body);

const fn fields(axes: Role) -> [Quantity; 5] {
    [
        Quantity::many("position_m", 3).with(axes),
        Quantity::many("velocity_mps", 3).with(axes),
        Quantity::one("radius_m"),
        Quantity::one("kind"),
        Quantity::one("id"),
    ]
}

/// Where the relative position begins in a record.
pub const POSITION: usize = 0;
/// Where the relative velocity begins in a record.
pub const VELOCITY: usize = 3;
/// Where the radius is in a record; 0 for an obstacle, whose position is a point of its surface.
pub const RADIUS: usize = 6;
/// Where the kind is in a record: [`ROBOT`] or [`OBSTACLE`].
pub const KIND_OF: usize = 7;
/// Where the id is in a record: the number in the roster, or among the obstacles.
pub const ID: usize = 8;
/// Numbers in a record.
pub const RECORD: usize = 9;

/// The kind of a robot.
pub const ROBOT: f64 = 0.0;
/// The kind of an obstacle.
pub const OBSTACLE: f64 = 1.0;

type Record = [f64; RECORD];

impl Sensor for Neighbours {
    fn fields(&self) -> &'static [Quantity] {
        match self.axes {
            Axes::World => FIELDS,
            Axes::Body => IN_BODY,
        }
    }

    fn default_rate_hz(&self) -> f64 {
        10.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::World(self)
    }
}

impl Look for Neighbours {
    fn capacity(&self, _: usize) -> usize {
        self.max_count * RECORD
    }

    fn search_radius_m(&self) -> Option<f64> {
        self.robots.then_some(self.radius_m)
    }

    fn look(&self, at: &LookAt<'_>, sample: &mut Vec<f64>) {
        let own = &at.world.robots[at.robot];
        let arm = at.mount.position_m;
        let centre_m = own.position_m + math::rotate(own.orientation, arm);
        let swing = math::rotate(own.orientation, own.angular_velocity_radps.cross(arm));
        let velocity_mps = own.velocity_mps + swing;
        sample.clear();
        if self.robots {
            at.world.robots_within(centre_m, self.radius_m, |index, other| {
                if index != at.robot {
                    let (position, velocity) = (other.position_m - centre_m, other.velocity_mps - velocity_mps);
                    self.insert(sample, record(position, velocity, [other.radius_m, ROBOT, f64::from(other.robot)]));
                }
            });
        }
        if self.objects {
            at.world.obstacles_within(centre_m, self.radius_m, |index, nearest_m| {
                self.insert(sample, record(nearest_m - centre_m, -velocity_mps, [0.0, OBSTACLE, index as f64]));
            });
        }
        if self.axes == Axes::Body {
            turn(sample, own.orientation * at.mount.orientation);
        }
    }
}

impl Neighbours {
    /// Puts a record in its place among those found so far, which are in order, if it is among the nearest. The
    /// sample itself holds them, so nothing is allocated.
    fn insert(&self, sample: &mut Vec<f64>, new: Record) {
        let (found, _) = sample.as_chunks::<RECORD>();
        let place = found.iter().rposition(|record| order(record) <= order(&new)).map_or(0, |last| last + 1);
        if found.len() == self.max_count {
            if place == self.max_count {
                return;
            }
            sample.truncate((self.max_count - 1) * RECORD);
        }
        let (start, end) = (place * RECORD, sample.len());
        sample.extend_from_slice(&new);
        if start < end {
            sample.copy_within(start..end, start + RECORD);
            sample[start..start + RECORD].copy_from_slice(&new);
        }
    }
}

#[inline(always)]
fn record(position_m: DVec3, velocity_mps: DVec3, [radius_m, kind, id]: [f64; 3]) -> Record {
    let (p, v) = (position_m, velocity_mps);
    [p.x, p.y, p.z, v.x, v.y, v.z, radius_m, kind, id]
}

/// What records are ordered by: square of the distance, kind, id.
#[inline(always)]
fn order(record: &Record) -> (f64, f64, f64) {
    let [x, y, z, ..] = *record;
    (x * x + y * y + z * z, record[KIND_OF], record[ID])
}

/// Turns records from the axes of the world into those of the mount.
fn turn(sample: &mut [f64], world_from_mount: DQuat) {
    let (records, _) = sample.as_chunks_mut::<RECORD>();
    for record in records {
        for first in [POSITION, VELOCITY] {
            let vector = DVec3::new(record[first], record[first + 1], record[first + 2]);
            record[first..first + 3].copy_from_slice(&math::rotate_inverse(world_from_mount, vector).to_array());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream;
    use super::super::testing::{defaults, environment};
    use super::*;
    use muster_core::component::Pose;
    use muster_core::contact::Obstacle;
    use muster_core::obstacles::Obstacles;
    use muster_core::shape::{Shape, Solid};
    use muster_core::snapshot::{Seen, Snapshot};
    use std::sync::Arc;

    /// Robots and balls evenly in a box with edges of `size_m` (a tenth of it high), over a plane.
    fn world(robots: u32, balls: u32, size_m: f64, radius_m: f64) -> Snapshot {
        let place = |index: u32, draw: u32| {
            let u = stream(9).uniforms(u64::from(index), draw);
            DVec3::new(u[0] * size_m, u[1] * size_m, u[2] * size_m * 0.1)
        };
        let seen = |robot: u32| Seen {
            key: u64::from(robot),
            robot: robot + 100,
            position_m: place(robot, 0),
            orientation: math::quat_from_yaw(f64::from(robot)),
            velocity_mps: place(robot, 1),
            angular_velocity_radps: DVec3::new(0.0, 0.0, 0.5),
            radius_m: 0.25,
        };
        let obstacle = |shape: Shape, position_m: DVec3| {
            Obstacle::new("", Solid::new(shape).expect("a shape"), Pose { position_m, ..Pose::IDENTITY })
        };
        let mut environment = environment();
        environment.obstacles = Obstacles::new(
            (0..balls)
                .map(|ball| obstacle(Shape::Sphere { radius_m: 0.5 }, place(ball, 2)))
                .chain((balls > 0).then(|| obstacle(Shape::Plane, DVec3::ZERO)))
                .collect(),
        );
        Snapshot::of(Arc::new(environment), (0..robots).map(seen).collect(), &[radius_m])
    }

    fn look(sensor: &Neighbours, world: &Snapshot, robot: usize, mount: &Pose) -> Vec<f64> {
        let mut sample = Vec::with_capacity(sensor.capacity(world.robots.len()));
        sensor.look(&super::super::testing::glance(world, robot, mount), &mut sample);
        assert!(sample.capacity() == sensor.capacity(world.robots.len()), "room was enough");
        sample
    }

    fn brute_force(sensor: &Neighbours, world: &Snapshot, robot: usize) -> Vec<f64> {
        let own = &world.robots[robot];
        let others = world.robots.iter().filter(|other| other.robot != own.robot).map(|other| {
            let (position, velocity) = (other.position_m - own.position_m, other.velocity_mps - own.velocity_mps);
            record(position, velocity, [0.25, ROBOT, f64::from(other.robot)])
        });
        let obstacles = world.environment.obstacles.iter().enumerate().map(|(index, obstacle)| {
            let to_centre: DVec3 = obstacle.pose.position_m - own.position_m;
            let position = match obstacle.solid.shape() {
                Shape::Plane => DVec3::new(0.0, 0.0, to_centre.z.min(0.0)),
                _ => to_centre * (1.0 - 0.5 / to_centre.length()).max(0.0),
            };
            record(position, -own.velocity_mps, [0.0, OBSTACLE, index as f64])
        });
        let mut all: Vec<Record> =
            others.filter(|_| sensor.robots).chain(obstacles.filter(|_| sensor.objects)).collect();
        all.retain(|record| order(record).0 <= sensor.radius_m * sensor.radius_m);
        all.sort_by(|a, b| order(a).partial_cmp(&order(b)).expect("numbers"));
        all.truncate(sensor.max_count);
        all.as_flattened().to_vec()
    }

    fn check_equal(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
        }
    }

    #[test]
    fn neighbours_are_those_of_brute_force() {
        let world = world(300, 60, 40.0, 5.0);
        let kinds: [Neighbours; 5] = [
            defaults(),
            Neighbours { radius_m: 12.0, max_count: 7, ..defaults() },
            Neighbours { objects: false, ..defaults() },
            Neighbours { robots: false, radius_m: 8.0, ..defaults() },
            Neighbours { radius_m: 1000.0, max_count: 1000, ..defaults() },
        ];
        for sensor in kinds {
            for robot in (0..300).step_by(7) {
                check_equal(&look(&sensor, &world, robot, &Pose::IDENTITY), &brute_force(&sensor, &world, robot));
            }
        }
    }

    #[test]
    fn ten_robots_see_each_other_within_five_metres() {
        let world = world(10, 0, 10.0, 5.0);
        let sensor: Neighbours = defaults();
        for robot in 0..10 {
            let found = look(&sensor, &world, robot, &Pose::IDENTITY);
            let ids: Vec<u32> = found.chunks_exact(RECORD).map(|record| record[ID] as u32).collect();
            let own = world.robots[robot].position_m;
            let mut expected: Vec<&Seen> = world
                .robots
                .iter()
                .filter(|other| other.robot != world.robots[robot].robot && other.position_m.distance(own) <= 5.0)
                .collect();
            expected.sort_by(|a, b| a.position_m.distance(own).total_cmp(&b.position_m.distance(own)));
            assert_eq!(ids, expected.iter().map(|other| other.robot).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn equal_distances_are_ordered_by_id() {
        let mut world = world(5, 0, 1.0, 5.0);
        for (robot, position_m) in world.robots.iter_mut().zip([DVec3::ZERO, DVec3::X, DVec3::Y, -DVec3::X, -DVec3::Y])
        {
            robot.position_m = position_m;
        }
        let world = Snapshot::of(world.environment.clone(), world.robots.iter().rev().copied().collect(), &[5.0]);
        let sensor: Neighbours = defaults();
        let ids: Vec<f64> =
            look(&sensor, &world, 4, &Pose::IDENTITY).chunks_exact(RECORD).map(|record| record[ID]).collect();
        assert_eq!(ids, [101.0, 102.0, 103.0, 104.0]);
    }

    #[test]
    fn body_axes_turn_with_the_mount() {
        let world = world(50, 0, 10.0, 5.0);
        let in_world: Neighbours = defaults();
        let in_body = Neighbours { axes: Axes::Body, ..defaults() };
        let mount = Pose { position_m: DVec3::new(0.2, 0.1, 0.0), orientation: math::quat_from_yaw(0.4) };
        let (fixed, turned) = (look(&in_world, &world, 3, &mount), look(&in_body, &world, 3, &mount));
        let world_from_mount = world.robots[3].orientation * mount.orientation;
        for (fixed, turned) in fixed.chunks_exact(3).zip(turned.chunks_exact(3)).step_by(3) {
            let back = math::rotate(world_from_mount, DVec3::from_slice(turned));
            assert!((back - DVec3::from_slice(fixed)).length() < 1e-14);
        }
    }
}
