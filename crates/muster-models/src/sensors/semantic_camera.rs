//! A camera that lists what it sees instead of showing it: tagged obstacles and robots in its field of view of which at
//! least one point is not hidden, nearest first. Like MORSE's sensor of this name.
//!
//! Points of an object that are looked at: the middle of the box that holds it (of each part of a robot), the middles of
//! its sides and its corners, those of sides and corners a little inside. An object counts as seen if the ray towards one
//! of these points lies in the image and first meets the object itself. What is not hidden only between these points is
//! missed.
//!
//! A sample holds a record for each object: kind and id as in [`super::neighbours`]; its class, counted from 1 in `tags`, 0
//! if none of them was asked for; its position and orientation, in the frame of the camera (x forward, y left, z up), or
//! with `axes: world` in the world, as in MORSE.

use super::camera::class;
use super::neighbours::{Axes, OBSTACLE, ROBOT};
use glam::{DQuat, DVec3};
use muster_core::component::{Kind, Look, LookAt, Pose, Sense, Sensor};
use muster_core::lanes::{Quantity, Role};
use muster_core::math;
use muster_core::ray::{Reach, Thing};
use muster_core::shape::{Shape, Solid};
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Camera that lists what it sees.
    pub struct SemanticCamera {
        /// Aperture from left to right.
        width_deg: f64 = 60.0, in 0.01..=179;
        /// Aperture from top to bottom.
        height_deg: f64 = 47.0, in 0.01..=179;
        /// What is nearer is passed through.
        near_m: f64 = 0.1, in 0.0..=1000;
        /// What is further is not seen.
        far_m: f64 = 100.0, in 0.001..=1e5;
        /// What it looks for: obstacles with one of these tags, robots with one or of such a kind; all robots and everything
        /// that has tags if there is none.
        tags: Vec<String> = Vec::new();
        /// Whether it sees robots.
        robots: bool = true;
        /// Whether it sees obstacles.
        objects: bool = true;
        /// How many it tells at most: the nearest.
        max_count: usize = 64, in 1..=10000;
        /// In which axes: world or body.
        axes: Axes = Axes::Body;
    }
}

/// Camera that lists what it sees.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "semantic_camera",
    doc: "Tagged obstacles and robots in the field of view that are not hidden, nearest first, with their poses.",
    fields: SemanticCamera::FIELDS,
    build: &super::build::<SemanticCamera>,
};

/// What a sample holds for each object, in the frame of the camera.
pub const FIELDS: &[Quantity] = &fields(Role::Body, Role::Turn);
const IN_WORLD: &[Quantity] = &fields(Role::Point, Role::Attitude);

const fn fields(position: Role, orientation: Role) -> [Quantity; 5] {
    [
        Quantity::one("kind"),
        Quantity::one("id"),
        Quantity::one("class"),
        Quantity::many("position_m", 3).with(position),
        Quantity::many("orientation", 4).with(orientation),
    ]
}

/// Numbers in a record.
pub const RECORD: usize = 10;
/// Where the position begins in a record.
pub const POSITION: usize = 3;

/// Sides and corners are looked at this share of the way from the middle.
const INSIDE: f64 = 0.98;

/// A look at the world.
struct Sight<'a> {
    camera: &'a SemanticCamera,
    at: &'a LookAt<'a>,
    pose: Pose,
    tan_half: [f64; 2],
}

impl Sensor for SemanticCamera {
    fn fields(&self) -> &'static [Quantity] {
        match self.axes {
            Axes::World => IN_WORLD,
            Axes::Body => FIELDS,
        }
    }

    fn default_rate_hz(&self) -> f64 {
        10.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::World(self)
    }
}

impl Look for SemanticCamera {
    fn capacity(&self, _: usize) -> usize {
        (self.max_count + 1) * RECORD
    }

    fn sees_bodies(&self) -> bool {
        true
    }

    fn look(&self, at: &LookAt<'_>, sample: &mut Vec<f64>) {
        sample.clear();
        let tan_half = [self.width_deg, self.height_deg].map(|angle| math::tan(0.5 * angle.to_radians()));
        let sight = Sight { camera: self, at, pose: at.pose(), tan_half };
        if self.objects {
            for (number, obstacle) in at.world.environment.obstacles.iter().enumerate() {
                let thing = Thing::Obstacle(number as u32);
                let bounded = !matches!(obstacle.solid.shape(), Shape::Plane);
                if bounded && !obstacle.tags.is_empty() && sight.sees(thing, &obstacle.solid, &obstacle.pose) {
                    self.insert(sample, sight.record([OBSTACLE, number as f64], thing, &obstacle.pose));
                }
            }
        }
        if self.robots {
            for (index, robot) in at.world.robots.iter().enumerate().filter(|&(index, _)| index != at.robot) {
                let bodies = at.world.bodies_of(index);
                let thing = |part: u16| Thing::Part { robot: index as u32, part };
                if bodies.iter().any(|body| sight.sees(thing(body.part), &body.part().solid, &body.pose)) {
                    let pose = Pose { position_m: robot.position_m, orientation: robot.orientation };
                    self.insert(sample, sight.record([ROBOT, f64::from(robot.robot)], thing(0), &pose));
                }
            }
        }
        if self.axes == Axes::World {
            let (records, _) = sample.as_chunks_mut::<RECORD>();
            records.iter_mut().for_each(|record| to_world(record, &sight.pose));
        }
    }
}

impl SemanticCamera {
    /// Puts a record in its place among those found so far, which are in order, if it is among the nearest.
    fn insert(&self, sample: &mut Vec<f64>, new: [f64; RECORD]) {
        let (found, _) = sample.as_chunks::<RECORD>();
        let place = found.iter().rposition(|record| order(record) <= order(&new)).map_or(0, |last| last + 1);
        let start = place * RECORD;
        sample.extend_from_slice(&new);
        sample[start..].rotate_right(RECORD);
        sample.truncate(self.max_count * RECORD);
    }
}

/// What records are ordered by: square of the distance, kind, id.
fn order(record: &[f64; RECORD]) -> (f64, f64, f64) {
    let [kind, id, _, x, y, z, ..] = *record;
    (x * x + y * y + z * z, kind, id)
}

/// Turns a record from the frame of the camera into that of the world.
fn to_world(record: &mut [f64; RECORD], pose: &Pose) {
    let [.., x, y, z, i, j, k, w] = *record;
    let seen = Pose { position_m: DVec3::new(x, y, z), orientation: DQuat::from_xyzw(i, j, k, w) };
    write_pose(record, &pose.then(&seen));
}

fn write_pose(record: &mut [f64; RECORD], pose: &Pose) {
    record[POSITION..POSITION + 3].copy_from_slice(&pose.position_m.to_array());
    record[POSITION + 3..].copy_from_slice(&pose.orientation.to_array());
}

impl Sight<'_> {
    /// The record of an object at a pose in the world.
    fn record(&self, [kind, id]: [f64; 2], thing: Thing, pose: &Pose) -> [f64; RECORD] {
        let mut record = [0.0; RECORD];
        record[..3].copy_from_slice(&[kind, id, class(self.at.world, thing, &self.camera.tags)]);
        let position_m = math::rotate_inverse(self.pose.orientation, pose.position_m - self.pose.position_m);
        let orientation = (self.pose.orientation.conjugate() * pose.orientation).normalize();
        write_pose(&mut record, &Pose { position_m, orientation });
        record
    }

    /// True if some point of a solid is in view and not hidden.
    fn sees(&self, thing: Thing, solid: &Solid, pose: &Pose) -> bool {
        let camera = self.camera;
        let middle_m = self.pose.position_m.distance(pose.position_m);
        if middle_m - solid.radius_m() > camera.far_m
            || (!camera.tags.is_empty() && class(self.at.world, thing, &camera.tags) == 0.0)
        {
            return false;
        }
        let (centre_m, half_m) = solid.hull_m();
        (0..27).any(|step| {
            // the middle comes first, then sides, edges left out, then corners
            let step = (step + 13) % 27;
            let side = DVec3::new(f64::from(step % 3), f64::from(step / 3 % 3), f64::from(step / 9)) - 1.0;
            let sides = side.abs().element_sum();
            sides != 2.0
                && self.sees_point(
                    thing,
                    pose.position_m + math::rotate(pose.orientation, centre_m + side * half_m * INSIDE),
                )
        })
    }

    /// True if a point is in view and a ray towards it first meets the thing it belongs to.
    fn sees_point(&self, thing: Thing, point_m: DVec3) -> bool {
        let way_m = point_m - self.pose.position_m;
        let seen = math::rotate_inverse(self.pose.orientation, way_m);
        let inside =
            seen.x > 0.0 && seen.y.abs() <= self.tan_half[0] * seen.x && seen.z.abs() <= self.tan_half[1] * seen.x;
        if !inside {
            return false;
        }
        let camera = self.camera;
        let reach = Reach { min_m: camera.near_m, max_m: camera.far_m, without: Some(self.at.robot) };
        let met = self.at.world.cast(self.pose.position_m, way_m.normalize(), reach).thing;
        match (met, thing) {
            (Thing::Part { robot, .. }, Thing::Part { robot: own, .. }) => robot == own,
            _ => met == thing,
        }
    }
}

#[cfg(test)]
mod tests;
