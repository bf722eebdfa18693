//! Places of the world that mean something without being solid: zones, which robots can be inside of, and fires, which
//! warm the air around them. Like obstacles they stand in the [`Environment`](crate::model::Environment) and never move.

use crate::component::Pose;
use crate::math;
use glam::DVec3;

/// A part of space with a name and purposes.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone {
    /// Its name.
    pub name: String,
    /// Its extent around its pose.
    pub shape: ZoneShape,
    /// `world_from_zone`: where its centre is.
    pub pose: Pose,
    /// What it is for, in words that components look for: `charging`.
    pub purposes: Vec<String>,
}

/// The extent of a zone, its surface included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ZoneShape {
    /// A box.
    Box {
        /// Half of each edge, m.
        half_m: DVec3,
    },
    /// A ball.
    Sphere {
        /// Radius, m.
        radius_m: f64,
    },
    /// A cylinder about the z axis.
    Cylinder {
        /// Radius, m.
        radius_m: f64,
        /// Half of the height, m.
        half_height_m: f64,
    },
}

impl Zone {
    /// True if a point of the world is inside.
    pub fn contains(&self, point_m: DVec3) -> bool {
        let local = math::rotate_inverse(self.pose.orientation, point_m - self.pose.position_m);
        match self.shape {
            ZoneShape::Box { half_m } => local.abs().cmple(half_m).all(),
            ZoneShape::Sphere { radius_m } => local.length_squared() <= radius_m * radius_m,
            ZoneShape::Cylinder { radius_m, half_height_m } => {
                local.x * local.x + local.y * local.y <= radius_m * radius_m && local.z.abs() <= half_height_m
            }
        }
    }

    /// True if it is for this purpose.
    pub fn serves(&self, purpose: &str) -> bool {
        self.purposes.iter().any(|own| own == purpose)
    }
}

/// Something that burns.
#[derive(Debug, Clone, PartialEq)]
pub struct Fire {
    /// Its name.
    pub name: String,
    /// Its centre, m.
    pub position_m: DVec3,
    /// How much hotter than the air around it is at its edge, K.
    pub temperature_k: f64,
    /// Radius within which it burns, m.
    pub extent_m: f64,
}

impl Fire {
    /// Distance of a point of the world from the edge of the fire, m; 0 inside.
    #[inline(always)]
    pub fn distance_m(&self, point_m: DVec3) -> f64 {
        math::max((point_m - self.position_m).length() - self.extent_m, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(shape: ZoneShape) -> Zone {
        let pose = Pose { position_m: DVec3::new(10.0, 0.0, 1.0), orientation: math::quat_from_yaw(0.5) };
        Zone { name: "dock".to_owned(), shape, pose, purposes: vec!["charging".to_owned()] }
    }

    /// Points given in the axes of the zone, and whether they are inside.
    fn check(shape: ZoneShape, points: &[([f64; 3], bool)]) {
        let zone = zone(shape);
        for (point, inside) in points {
            let point_m = zone.pose.position_m + math::rotate(zone.pose.orientation, DVec3::from_array(*point));
            assert_eq!(zone.contains(point_m), *inside, "{shape:?} {point:?}");
        }
    }

    #[test]
    fn a_zone_contains_what_its_turned_shape_does() {
        let shape = ZoneShape::Box { half_m: DVec3::new(2.0, 1.0, 0.5) };
        check(shape, &[([0.0; 3], true), ([1.99, -0.99, 0.49], true), ([2.01, 0.0, 0.0], false)]);
        check(shape, &[([0.0, 1.01, 0.0], false), ([0.0, 0.0, -0.51], false)]);
        let shape = ZoneShape::Sphere { radius_m: 1.5 };
        check(shape, &[([1.0, 1.0, 0.4], true), ([1.0, 1.0, 0.6], false)]);
        let shape = ZoneShape::Cylinder { radius_m: 1.5, half_height_m: 0.2 };
        check(shape, &[([1.0, 1.1, 0.19], true), ([1.1, 1.1, 0.0], false), ([0.0, 0.0, 0.21], false)]);
    }

    #[test]
    fn a_zone_serves_its_purposes_only() {
        let zone = zone(ZoneShape::Sphere { radius_m: 1.0 });
        assert!(zone.serves("charging") && !zone.serves("charg"));
    }

    #[test]
    fn distance_from_a_fire_is_that_from_its_edge() {
        let fire = Fire { name: String::new(), position_m: DVec3::X, temperature_k: 200.0, extent_m: 0.5 };
        assert_eq!(fire.distance_m(DVec3::new(4.0, 4.0, 0.0)), 4.5);
        assert_eq!(fire.distance_m(DVec3::new(1.0, 0.3, 0.0)), 0.0);
    }
}
