//! Places of the world that mean something without being solid: zones, which robots can be inside of, and fires, which
//! warm the air around them. Like obstacles they stand in the [`Environment`](crate::model::Environment) and never move.

use crate::component::Pose;
use crate::math;
use crate::shape::{Mesh, Shape, Solid};
use glam::DVec3;
use std::f64::consts::PI;

/// A part of space with a name and purposes.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone {
    /// Its name.
    pub name: String,
    /// Its extent around its pose.
    pub solid: Solid,
    /// `world_from_zone`: where its centre is.
    pub pose: Pose,
    /// What it is for, in words that components look for: `charging`.
    pub purposes: Vec<String>,
}

impl Zone {
    /// True if a point of the world is inside, or on the surface.
    pub fn contains(&self, point_m: DVec3) -> bool {
        let local = math::rotate_inverse(self.pose.orientation, point_m - self.pose.position_m);
        contains(self.solid.shape(), local)
    }

    /// True if it is for this purpose.
    pub fn serves(&self, purpose: &str) -> bool {
        self.purposes.iter().any(|own| own == purpose)
    }
}

/// True if a point in the frame of a shape is inside, or on its surface.
fn contains(shape: &Shape, point: DVec3) -> bool {
    let within = |radius_m: f64| point.x * point.x + point.y * point.y <= radius_m * radius_m;
    match shape {
        Shape::Box { half_m } => point.abs().cmple(*half_m).all(),
        Shape::Sphere { radius_m } => point.length_squared() <= radius_m * radius_m,
        Shape::Cylinder { radius_m, half_height_m } => within(*radius_m) && point.z.abs() <= *half_height_m,
        Shape::Capsule { radius_m, half_height_m } => {
            let on_axis = DVec3::Z * math::clamp(point.z, -half_height_m, *half_height_m);
            (point - on_axis).length_squared() <= radius_m * radius_m
        }
        Shape::Cone { radius_m, half_height_m } => {
            let below_tip = half_height_m - point.z;
            (0.0..=2.0 * half_height_m).contains(&below_tip) && within(radius_m * below_tip / (2.0 * half_height_m))
        }
        Shape::Plane => point.z <= 0.0,
        // a surface without an inside
        Shape::Heightfield(_) => false,
        Shape::Mesh(mesh) => winding(mesh, point) > 0.5,
    }
}

/// How often the triangles of a mesh go around a point: 1 inside of a closed mesh, 0 outside, near these for one with
/// small holes. The sum of the solid angles by A. van Oosterom and J. Strackee, *The solid angle of a plane triangle*, IEEE
/// Trans. Biomed. Eng. 30(2), 1983.
fn winding(mesh: &Mesh, point: DVec3) -> f64 {
    let half_angle = |triangle: &[u32; 3]| {
        let [a, b, c] = triangle.map(|corner| mesh.vertices_m[corner as usize] - point);
        let (along, beside, far) = (a.length(), b.length(), c.length());
        let flat = along * beside * far + a.dot(b) * far + b.dot(c) * along + c.dot(a) * beside;
        math::atan2(a.dot(b.cross(c)), flat)
    };
    mesh.triangles.iter().map(half_angle).sum::<f64>() / (2.0 * PI)
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

    fn zone(shape: Shape) -> Zone {
        let pose = Pose { position_m: DVec3::new(10.0, 0.0, 1.0), orientation: math::quat_from_yaw(0.5) };
        let solid = Solid::new(shape).expect("a shape");
        Zone { name: "dock".to_owned(), solid, pose, purposes: vec!["charging".to_owned()] }
    }

    /// Points given in the axes of the zone, and whether they are inside.
    fn check(shape: &Shape, points: &[([f64; 3], bool)]) {
        let zone = zone(shape.clone());
        for (point, inside) in points {
            let point_m = zone.pose.position_m + math::rotate(zone.pose.orientation, DVec3::from_array(*point));
            assert_eq!(zone.contains(point_m), *inside, "{shape:?} {point:?}");
        }
    }

    #[test]
    fn a_zone_contains_what_its_turned_shape_does() {
        let shape = Shape::Box { half_m: DVec3::new(2.0, 1.0, 0.5) };
        check(&shape, &[([0.0; 3], true), ([1.99, -0.99, 0.49], true), ([2.01, 0.0, 0.0], false)]);
        check(&shape, &[([0.0, 1.01, 0.0], false), ([0.0, 0.0, -0.51], false)]);
        let shape = Shape::Sphere { radius_m: 1.5 };
        check(&shape, &[([1.0, 1.0, 0.4], true), ([1.0, 1.0, 0.6], false)]);
        let shape = Shape::Cylinder { radius_m: 1.5, half_height_m: 0.2 };
        check(&shape, &[([1.0, 1.1, 0.19], true), ([1.1, 1.1, 0.0], false), ([0.0, 0.0, 0.21], false)]);
        let shape = Shape::Capsule { radius_m: 1.0, half_height_m: 2.0 };
        check(&shape, &[([0.9, 0.0, 1.9], true), ([0.0, 0.0, 2.9], true), ([0.8, 0.0, 2.8], false)]);
        let shape = Shape::Cone { radius_m: 1.0, half_height_m: 1.0 };
        check(&shape, &[([0.9, 0.0, -0.99], true), ([0.0, 0.4, 0.1], true), ([0.0, 0.5, 0.1], false)]);
        check(&shape, &[([0.0, 0.0, 1.01], false), ([0.0, 0.0, -1.01], false)]);
        check(&Shape::Plane, &[([7.0, 0.0, -0.01], true), ([7.0, 0.0, 0.01], false)]);
    }

    #[test]
    fn a_mesh_contains_what_is_on_the_inner_side_of_all_its_faces() {
        let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(DVec3::from_array);
        let triangles = vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let shape = Shape::Mesh(std::sync::Arc::new(Mesh { vertices_m: corners.to_vec(), triangles, paint: None }));
        // the tetrahedron x, y, z >= 0 and x + y + z <= 1
        for at in 0..1000 {
            let u = crate::random::Stream::new(1, 2).uniforms(at, 0);
            let point = [u[0] * 1.4 - 0.2, u[1] * 1.4 - 0.2, u[2] * 1.4 - 0.2];
            let inside = point.iter().all(|&x| x > 0.0) && point.iter().sum::<f64>() < 1.0;
            check(&shape, &[(point, inside)]);
        }
    }

    #[test]
    fn a_zone_serves_its_purposes_only() {
        let zone = zone(Shape::Sphere { radius_m: 1.0 });
        assert!(zone.serves("charging") && !zone.serves("charg"));
    }

    #[test]
    fn distance_from_a_fire_is_that_from_its_edge() {
        let fire = Fire { name: String::new(), position_m: DVec3::X, temperature_k: 200.0, extent_m: 0.5 };
        assert_eq!(fire.distance_m(DVec3::new(4.0, 4.0, 0.0)), 4.5);
        assert_eq!(fire.distance_m(DVec3::new(1.0, 0.3, 0.0)), 0.0);
    }
}
