//! Proximity: who is within a distance, in any direction and through walls, nearest first. It is told by tags whom to look
//! for: `tags` of robots and of obstacles. Like MORSE's sensor of this name, which tells the distances of tagged objects.
//!
//! The distance of a robot is that of its origin, that of an obstacle the distance of its nearest point. Robots have tags as
//! far as they have a shape. Equal distances are ordered by kind, then by id.

use super::build;
use super::neighbours::{OBSTACLE, ROBOT};
use glam::DVec3;
use muster_core::component::{Kind, Look, LookAt, Sense, Sensor};
use muster_core::lanes::Quantity;
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Sensor of what is near.
    pub struct Proximity {
        /// How far it reaches.
        range_m: f64 = 100.0, in 0.0..=1e6;
        /// Whom it looks for: all that have one of these tags; everybody if there is none.
        tags: Vec<String> = Vec::new();
        /// How many it tells at most: the nearest.
        max_count: usize = 64, in 1..=10000;
        /// Whether it finds robots.
        robots: bool = true;
        /// Whether it finds obstacles.
        objects: bool = true;
    }
}

/// Sensor of what is near.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "proximity",
    doc: "Tagged robots and obstacles within a distance in any direction, nearest first: distance, kind, id.",
    fields: Proximity::FIELDS,
    build: &build::<Proximity>,
};

/// What a sample tells of each.
pub const FIELDS: &[Quantity] = &[Quantity::one("distance_m"), Quantity::one("kind"), Quantity::one("id")];
/// Numbers in a record.
pub const RECORD: usize = 3;

type Record = [f64; RECORD];

impl Sensor for Proximity {
    fn fields(&self) -> &'static [Quantity] {
        FIELDS
    }

    fn default_rate_hz(&self) -> f64 {
        10.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::World(self)
    }
}

impl Look for Proximity {
    fn capacity(&self, _: usize) -> usize {
        self.max_count * RECORD
    }

    fn search_radius_m(&self) -> Option<f64> {
        self.robots.then_some(self.range_m)
    }

    fn sees_bodies(&self) -> bool {
        // robots tell their tags by their parts
        self.robots && !self.tags.is_empty()
    }

    fn look(&self, at: &LookAt<'_>, sample: &mut Vec<f64>) {
        let own = &at.world.robots[at.robot];
        let centre_m = own.position_m + math::rotate(own.orientation, at.mount.position_m);
        sample.clear();
        if self.robots {
            at.world.robots_within(centre_m, self.range_m, |index, other| {
                let body = at.world.bodies_of(index).first();
                let wanted = self.wants(body.map_or(&[], |body| &body.cohort.blueprint.tags));
                if index != at.robot && wanted {
                    let distance_m = other.position_m.distance(centre_m);
                    self.insert(sample, [distance_m, ROBOT, f64::from(other.robot)]);
                }
            });
        }
        if self.objects {
            at.world.obstacles_within(centre_m, self.range_m, |index, nearest_m: DVec3| {
                if self.wants(&at.world.environment.obstacles[index].tags) {
                    self.insert(sample, [nearest_m.distance(centre_m), OBSTACLE, index as f64]);
                }
            });
        }
    }
}

impl Proximity {
    fn wants(&self, tags: &[String]) -> bool {
        self.tags.is_empty() || tags.iter().any(|tag| self.tags.contains(tag))
    }

    /// Puts a record in its place among those found so far, which are in order, if it is among the nearest.
    fn insert(&self, sample: &mut Vec<f64>, new: Record) {
        let (found, _) = sample.as_chunks::<RECORD>();
        let place = found.partition_point(|record| record <= &new);
        if place == self.max_count {
            return;
        }
        sample.truncate((self.max_count - 1) * RECORD);
        let (start, end) = (place * RECORD, sample.len());
        sample.extend_from_slice(&new);
        if start < end {
            sample.copy_within(start..end, start + RECORD);
            sample[start..start + RECORD].copy_from_slice(&new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{defaults, environment, glance};
    use super::*;
    use muster_core::component::Pose;
    use muster_core::contact::Obstacle;
    use muster_core::obstacles::Obstacles;
    use muster_core::shape::{Shape, Solid};
    use muster_core::snapshot::{Seen, Snapshot};
    use std::sync::Arc;

    fn world() -> Snapshot {
        let mut environment = environment();
        let ball = |x_m: f64, tag: &str| {
            let solid = Solid::new(Shape::Sphere { radius_m: 0.5 }).expect("a ball");
            let pose = Pose { position_m: DVec3::new(x_m, 0.0, 0.0), ..Pose::IDENTITY };
            Obstacle { tags: vec![tag.to_owned()], ..Obstacle::new("", solid, pose) }
        };
        environment.obstacles = Obstacles::new(vec![ball(3.0, "victim"), ball(-2.0, "tree"), ball(6.0, "victim")]);
        let robot = |robot: u32, y_m: f64| Seen {
            key: 0,
            robot,
            position_m: DVec3::new(0.0, y_m, 0.0),
            orientation: math::quat_from_yaw(1.0),
            velocity_mps: DVec3::ZERO,
            angular_velocity_radps: DVec3::ZERO,
            radius_m: 0.2,
        };
        Snapshot::of(Arc::new(environment), vec![robot(10, 0.0), robot(11, 1.0), robot(12, -4.0)], &[5.0])
    }

    fn look(sensor: &Proximity) -> Vec<f64> {
        let mut sample = Vec::with_capacity(sensor.capacity(3));
        sensor.look(&glance(&world(), 0, &Pose::IDENTITY), &mut sample);
        sample
    }

    #[test]
    fn all_within_range_are_told_nearest_first() {
        let sensor = Proximity { range_m: 5.0, ..defaults() };
        let expected = [1.0, ROBOT, 11.0, 1.5, OBSTACLE, 1.0, 2.5, OBSTACLE, 0.0, 4.0, ROBOT, 12.0];
        for (found, expected) in look(&sensor).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12);
        }
        assert_eq!(look(&sensor).len(), 12);
        assert_eq!(
            look(&Proximity { max_count: 2, ..sensor })[..],
            look(&Proximity { range_m: 5.0, ..defaults() })[..6]
        );
    }

    #[test]
    fn only_those_with_a_tag_are_told() {
        let sensor = Proximity { range_m: 10.0, tags: vec!["victim".to_owned()], ..defaults() };
        let found = look(&sensor);
        assert_eq!(found.chunks(3).map(|record| record[2]).collect::<Vec<f64>>(), [0.0, 2.0]);
        assert!((found[0] - 2.5).abs() < 1e-12 && (found[3] - 5.5).abs() < 1e-12);
    }
}
