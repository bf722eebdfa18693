//! Everything that stands still, in one hierarchy of bounds: contacts, sensors and rays all search it.

use crate::contact::Obstacle;
use crate::ray::Outline;
use crate::ray::scene::{Boxes, Owned, Scene, Stand};
use crate::shape::{RayHit, Shape};
use glam::DVec3;
use std::ops::Deref;

/// The obstacles of a world, by number.
#[derive(Clone, Default)]
pub struct Obstacles {
    all: Vec<Obstacle>,
    boxes: Boxes,
    /// What each is made of; [`SEVERAL`] where that differs from triangle to triangle.
    materials: Vec<u16>,
}

/// Stands for more than one material.
const SEVERAL: u16 = u16::MAX;

impl Deref for Obstacles {
    type Target = [Obstacle];

    fn deref(&self) -> &[Obstacle] {
        &self.all
    }
}

impl Obstacles {
    /// Sorts obstacles into a hierarchy.
    pub fn new(all: Vec<Obstacle>) -> Self {
        let corners = |obstacle: &Obstacle| match obstacle.solid.shape() {
            Shape::Plane => (obstacle.pose, (DVec3::NEG_INFINITY, DVec3::INFINITY)),
            _ => (obstacle.pose, obstacle.solid.corners(&obstacle.pose)),
        };
        let material = |obstacle: &Obstacle| match obstacle.solid.shape() {
            Shape::Mesh(mesh) if mesh.paint.is_some() => SEVERAL,
            _ => obstacle.skin.material,
        };
        let materials = all.iter().map(material).collect();
        Self { boxes: Boxes::fixed(all.iter().map(corners)), materials, all }
    }

    /// Numbers of the planes.
    pub fn planes(&self) -> &[u32] {
        self.boxes.endless()
    }

    /// Calls `found` with the number of every obstacle, but for planes, whose bounds have a point within `radius_m` of
    /// every axis of `centre_m`.
    pub fn near(&self, centre_m: DVec3, radius_m: f64, found: impl FnMut(u32)) {
        self.boxes.meeting(centre_m - radius_m, centre_m + radius_m, found);
    }

    /// What an obstacle is made of, unless that differs from triangle to triangle.
    #[inline(always)]
    pub(crate) fn material(&self, number: u32) -> Option<u16> {
        Some(self.materials[number as usize]).filter(|&material| material != SEVERAL)
    }

    /// What rays meet.
    #[inline(always)]
    pub(crate) fn scene<'a>(&'a self) -> Scene<'a, impl Fn(u32) -> Option<Owned<'a>> + use<'a>> {
        let solid = |number: u32| {
            let obstacle = &self.all[number as usize];
            obstacle.visible.then(|| (obstacle.solid.outline(), None))
        };
        Scene { boxes: &self.boxes, solid, mark: 0 }
    }

    /// How many bounds were worked out for it, and how often all were arranged.
    pub(crate) fn work(&self) -> (u64, u64) {
        self.boxes.work()
    }

    /// The outline of an obstacle and where it stands.
    #[inline(always)]
    pub(crate) fn standing(&self, number: u32) -> (&Outline, &Stand) {
        (self.all[number as usize].solid.outline(), self.boxes.stand(number))
    }

    /// The first visible obstacle that a ray of unit direction meets, and where; at once if it starts inside one.
    pub fn ray(&self, from_m: DVec3, direction: DVec3, range_m: f64) -> Option<(u32, RayHit)> {
        let hit = |number: u32, range_m: f64| {
            let obstacle = &self.all[number as usize];
            if !obstacle.visible {
                return None;
            }
            Some((number, obstacle.solid.ray(&obstacle.pose, from_m, direction, range_m)?))
        };
        let nearer = |best: Option<(u32, RayHit)>, found: Option<(u32, RayHit)>| match (best, found) {
            (Some(best), Some(found)) if found.1.distance_m < best.1.distance_m => Some(found),
            (best, found) => best.or(found),
        };
        let mut best = self.planes().iter().map(|&number| hit(number, range_m)).fold(None, nearer);
        let to_m = from_m + direction * best.map_or(range_m, |(_, hit): (u32, RayHit)| hit.distance_m);
        self.boxes.meeting(from_m.min(to_m), from_m.max(to_m), |leaf| {
            let range_m = best.map_or(range_m, |(_, hit)| hit.distance_m);
            best = nearer(best, hit(leaf, range_m));
        });
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::Pose;
    use crate::random::Stream;
    use crate::shape::Solid;

    #[test]
    fn a_ray_meets_what_brute_force_meets_and_near_misses_nothing() {
        let stream = Stream::new(3, 1);
        let place = |at: u64| {
            let u = stream.uniforms(at, 0);
            DVec3::new(u[0], u[1], u[2]) * 20.0
        };
        let shape = |at: u64| match at % 3 {
            0 => Shape::Sphere { radius_m: 0.7 },
            1 => Shape::Box { half_m: DVec3::new(0.5, 1.0, 0.3) },
            _ => Shape::Cylinder { radius_m: 0.4, half_height_m: 1.0 },
        };
        let mut all: Vec<Obstacle> = (0..200)
            .map(|at| {
                let solid = Solid::new(shape(at)).expect("a shape");
                Obstacle::new("", solid, Pose { position_m: place(at), ..Pose::IDENTITY })
            })
            .collect();
        all.push(Obstacle::new("", Solid::new(Shape::Plane).expect("a plane"), Pose::IDENTITY));
        let obstacles = Obstacles::new(all.clone());
        for at in 0..300 {
            let (from, towards) = (place(1000 + at), place(2000 + at) - place(3000 + at));
            let direction = towards.normalize();
            let brute = all.iter().filter_map(|obstacle| obstacle.solid.ray(&obstacle.pose, from, direction, 30.0));
            let nearest = brute.map(|hit| hit.distance_m).fold(f64::INFINITY, f64::min);
            let found = obstacles.ray(from, direction, 30.0).map_or(f64::INFINITY, |(_, hit)| hit.distance_m);
            assert_eq!(found, nearest);
            let mut near = Vec::new();
            obstacles.near(from, 1.5, |number| near.push(number));
            for (number, obstacle) in all.iter().enumerate().take(200) {
                let distance = (obstacle.solid.nearest_point(&obstacle.pose, from) - from).length();
                assert!(distance > 1.5 || near.contains(&(number as u32)), "{number} at {distance}");
            }
        }
    }
}
