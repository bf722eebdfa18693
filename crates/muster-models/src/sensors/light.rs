//! Light: illuminance at the mount by the lamps of robots. A lamp shines with its intensity in all directions from the
//! origin of its robot, so that at distance d under the angle θ from the axis of the sensor (its x) it makes `I cos θ / d²`,
//! nothing from behind. What stands between hides it; the robot the sensor is on does neither hide nor shine.

use super::build;
use muster_core::component::{Kind, Look, LookAt, Sense, Sensor};
use muster_core::lanes::Quantity;
use muster_core::math;
use muster_core::ray::{Reach, Thing};
use muster_core::snapshot::Lamp;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Sensor of light.
    pub struct LightSensor {
        /// Light it does not see by lamps: daylight.
        ambient_lx: f64 = 0.0, in 0.0..=1e6;
        /// Whether the angle counts; without, it sees all around as a ball does.
        cosine: bool = true;
        /// Lamps further away are not seen.
        range_max_m: f64 = 1000.0, in 0.0..=1e6;
    }
}

/// Sensor of light.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "light",
    doc: "Illuminance by robots' lamps at the mount, with distance, angle and shadows; and its colour.",
    fields: LightSensor::FIELDS,
    build: &build::<LightSensor>,
};

/// What a sample holds: lux, and how much of it there is of red, green and blue.
pub const FIELDS: &[Quantity] = &[Quantity::one("illuminance_lx"), Quantity::many("colour_lx", 3)];

impl Sensor for LightSensor {
    fn fields(&self) -> &'static [Quantity] {
        FIELDS
    }

    fn default_rate_hz(&self) -> f64 {
        20.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::World(self)
    }
}

impl Look for LightSensor {
    fn capacity(&self, _: usize) -> usize {
        4
    }

    fn sees_bodies(&self) -> bool {
        true
    }

    fn look(&self, at: &LookAt<'_>, sample: &mut Vec<f64>) {
        let (mut all, mut colour) = (self.ambient_lx, [self.ambient_lx; 3]);
        for lamp in at.world.lamps.iter().filter(|lamp| lamp.robot as usize != at.robot) {
            let shines = self.shines_lx(at, lamp);
            all += shines;
            for (sum, share) in colour.iter_mut().zip(lamp.colour) {
                *sum += shines * share;
            }
        }
        sample.clear();
        sample.extend([all, colour[0], colour[1], colour[2]]);
    }
}

impl LightSensor {
    /// What one lamp adds, lx.
    fn shines_lx(&self, at: &LookAt<'_>, lamp: &Lamp) -> f64 {
        let pose = at.pose();
        let way = at.world.robots[lamp.robot as usize].position_m - pose.position_m;
        let distance_m = way.length();
        if distance_m > self.range_max_m || distance_m < 1e-6 {
            return 0.0;
        }
        let direction = way / distance_m;
        let ahead = math::rotate_inverse(pose.orientation, direction).x;
        let facing = if self.cosine { math::max(ahead, 0.0) } else { 1.0 };
        if facing == 0.0 {
            return 0.0;
        }
        let reach = Reach { min_m: 0.0, max_m: distance_m, without: Some(at.robot) };
        let reached = match at.world.cast(pose.position_m, direction, reach).thing {
            Thing::Nothing => true,
            Thing::Part { robot, .. } => robot == lamp.robot,
            Thing::Obstacle(_) => false,
        };
        if reached { lamp.intensity_cd * facing / (distance_m * distance_m) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{defaults, environment, glance};
    use super::*;
    use glam::DVec3;
    use muster_core::component::Pose;
    use muster_core::contact::Obstacle;
    use muster_core::obstacles::Obstacles;
    use muster_core::shape::{Shape, Solid};
    use muster_core::snapshot::{Seen, Snapshot};
    use std::sync::Arc;

    /// Lamps of 100 cd at some places, and perhaps a wall at x = 1.
    fn world(places: &[[f64; 3]], wall: bool) -> Snapshot {
        let mut environment = environment();
        let solid = Solid::new(Shape::Box { half_m: DVec3::new(0.1, 1.0, 1.0) }).expect("a wall");
        let wall = wall.then(|| Obstacle::new("", solid, Pose { position_m: DVec3::X, ..Pose::IDENTITY }));
        environment.obstacles = Obstacles::new(wall.into_iter().collect());
        let seen = |position_m: DVec3| Seen {
            key: 0,
            robot: 0,
            position_m,
            orientation: math::quat_from_yaw(0.0),
            velocity_mps: DVec3::ZERO,
            angular_velocity_radps: DVec3::ZERO,
            radius_m: 0.0,
        };
        let robots = std::iter::once(DVec3::ZERO).chain(places.iter().copied().map(DVec3::from)).map(seen);
        let mut world = Snapshot::of(Arc::new(environment), robots.collect(), &[]);
        let lamp = |robot: u32| Lamp { robot, intensity_cd: 100.0, colour: [1.0, 0.5, 0.0] };
        world.lamps = (0..=places.len() as u32).map(lamp).collect();
        world
    }

    fn read(sensor: &LightSensor, world: &Snapshot, mount: &Pose) -> Vec<f64> {
        let mut sample = Vec::new();
        sensor.look(&glance(world, 0, mount), &mut sample);
        sample
    }

    #[test]
    fn illuminance_follows_distance_and_angle_and_adds_up() {
        let sensor: LightSensor = defaults();
        let check = |places: &[[f64; 3]], expected: f64| {
            let found = read(&sensor, &world(places, false), &Pose::IDENTITY);
            assert!((found[0] - expected).abs() < 1e-9, "{places:?}: {found:?}, expected {expected}");
            assert!((found[2] - 0.5 * expected).abs() < 1e-9, "the share of green");
        };
        check(&[[2.0, 0.0, 0.0]], 25.0);
        check(&[[4.0, 0.0, 0.0]], 6.25);
        // 60 degrees aside at 2 m
        check(&[[1.0, 3.0_f64.sqrt(), 0.0]], 12.5);
        check(&[[-2.0, 0.0, 0.0]], 0.0);
        check(&[[2.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 1.0, -1.0]], 31.25);
        let turned = Pose { orientation: math::quat_from_yaw(std::f64::consts::PI), ..Pose::IDENTITY };
        assert!((read(&sensor, &world(&[[-2.0, 0.0, 0.0]], false), &turned)[0] - 25.0).abs() < 1e-9);
        let ball = LightSensor { cosine: false, ambient_lx: 10.0, ..defaults() };
        assert_eq!(read(&ball, &world(&[[-2.0, 0.0, 0.0]], false), &Pose::IDENTITY)[0], 35.0);
    }

    #[test]
    fn a_wall_between_makes_a_shadow() {
        let sensor: LightSensor = defaults();
        assert_eq!(read(&sensor, &world(&[[2.0, 0.0, 0.0]], true), &Pose::IDENTITY), [0.0; 4]);
        assert!(read(&sensor, &world(&[[2.0, 4.0, 0.0]], true), &Pose::IDENTITY)[0] > 0.0, "not beside it");
    }
}
