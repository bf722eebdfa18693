//! What a solid looks like from above: its outline on the ground, and the heights between which it stands.

use glam::{DVec2, DVec3};
use muster_core::component::Pose;
use muster_core::math;
use muster_core::shape::{Mesh, Shape, Solid};

/// Corners of a circle drawn as a polygon.
const CORNERS: usize = 32;

/// A solid seen from above.
pub(super) struct Outline {
    pub(super) form: Form,
    /// Height of its lowest and its highest point, m.
    pub(super) bottom_m: f64,
    pub(super) top_m: f64,
}

/// The form of an outline.
pub(super) enum Form {
    /// A circle.
    Round(DVec2, f64),
    /// A polygon that has no dents.
    Polygon(Vec<DVec2>),
}

impl Outline {
    /// The outline of a solid at a pose; none for what has no end.
    pub(super) fn new(solid: &Solid, pose: &Pose) -> Option<Self> {
        let points = points(solid.shape(), pose)?;
        let heights = points.iter().map(|point| point.z);
        let upright = math::rotate(pose.orientation, DVec3::Z).z.abs() > 1.0 - 1e-9;
        let form = match *solid.shape() {
            Shape::Sphere { radius_m } => Form::Round(pose.position_m.truncate(), radius_m),
            Shape::Cylinder { radius_m, .. } | Shape::Capsule { radius_m, .. } | Shape::Cone { radius_m, .. }
                if upright =>
            {
                Form::Round(pose.position_m.truncate(), radius_m)
            }
            _ => Form::Polygon(hull(points.iter().map(|point| point.truncate()).collect())),
        };
        Some(Self {
            form,
            bottom_m: heights.clone().fold(f64::INFINITY, f64::min),
            top_m: heights.fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

impl Form {
    /// Its least and greatest corner.
    pub(super) fn bounds(&self) -> (DVec2, DVec2) {
        match self {
            Self::Round(centre, radius_m) => (*centre - *radius_m, *centre + *radius_m),
            Self::Polygon(corners) => bounds(corners.iter().copied()),
        }
    }
}

/// The least and the greatest corner of what holds all points.
pub(super) fn bounds(points: impl Iterator<Item = DVec2>) -> (DVec2, DVec2) {
    let nothing = (DVec2::splat(f64::INFINITY), DVec2::splat(f64::NEG_INFINITY));
    points.fold(nothing, |(least, most), point| (least.min(point), most.max(point)))
}

/// Points of the world whose hull is the solid, seen from above.
fn points(shape: &Shape, pose: &Pose) -> Option<Vec<DVec3>> {
    let world = |point: DVec3| pose.position_m + math::rotate(pose.orientation, point);
    let rim = |radius_m: f64, z: f64| (0..CORNERS).map(move |corner| (on_circle(corner) * radius_m).extend(z));
    // a ball is round in the axes of the world, however it is turned
    let ball = |centre: DVec3, radius_m: f64| {
        rim(radius_m, 0.0).chain([DVec3::Z * radius_m, DVec3::NEG_Z * radius_m]).map(move |point| centre + point)
    };
    Some(match shape {
        Shape::Sphere { radius_m } => ball(pose.position_m, *radius_m).collect(),
        Shape::Box { half_m } => {
            let sign = |corner: usize, axis: usize| if corner >> axis & 1 == 0 { -1.0 } else { 1.0 };
            let corner = |corner| *half_m * DVec3::new(sign(corner, 0), sign(corner, 1), sign(corner, 2));
            (0..8).map(corner).map(world).collect()
        }
        Shape::Cylinder { radius_m, half_height_m } => {
            rim(*radius_m, *half_height_m).chain(rim(*radius_m, -half_height_m)).map(world).collect()
        }
        Shape::Cone { radius_m, half_height_m } => {
            rim(*radius_m, -half_height_m).chain([DVec3::Z * *half_height_m]).map(world).collect()
        }
        Shape::Capsule { radius_m, half_height_m } => {
            let end = |z: f64| ball(world(DVec3::Z * z), *radius_m);
            end(*half_height_m).chain(end(-half_height_m)).collect()
        }
        Shape::Mesh(mesh) => mesh.vertices_m.iter().copied().map(world).collect(),
        Shape::Heightfield(heights) => {
            let [x, y] = heights.size_m.map(|size| 0.5 * size);
            let (low, high) = heights
                .heights_m
                .iter()
                .fold((0.0, 0.0), |(low, high): (f64, f64), &height| (low.min(height), high.max(height)));
            let corners =
                [DVec3::new(-x, -y, low), DVec3::new(x, -y, low), DVec3::new(x, y, high), DVec3::new(-x, y, high)];
            corners.into_iter().map(world).collect()
        }
        Shape::Plane => return None,
    })
}

fn on_circle(corner: usize) -> DVec2 {
    let (sin, cos) = math::sin_cos(std::f64::consts::TAU * corner as f64 / CORNERS as f64);
    DVec2::new(cos, sin)
}

/// The triangles of a mesh that look up, lowest first, and how much light from the north-west each has, from 0 to 1.
pub(super) fn lit_triangles(mesh: &Mesh, pose: &Pose) -> Vec<([DVec2; 3], f64)> {
    let world = |corner: u32| pose.position_m + math::rotate(pose.orientation, mesh.vertices_m[corner as usize]);
    let mut lit: Vec<(f64, [DVec2; 3], f64)> = Vec::new();
    for triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(world);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        if normal.z > 1e-6 {
            let light = normal.dot(DVec3::new(-1.0, 1.0, 1.5).normalize());
            lit.push((a.z + b.z + c.z, [a, b, c].map(|corner| corner.truncate()), light.max(0.0)));
        }
    }
    lit.sort_by(|a, b| a.0.total_cmp(&b.0));
    lit.into_iter().map(|(_, corners, light)| (corners, light)).collect()
}

/// The convex hull, counter-clockwise (Andrew's monotone chain).
pub(super) fn hull(mut points: Vec<DVec2>) -> Vec<DVec2> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    points.dedup();
    let half = |points: &mut dyn Iterator<Item = DVec2>| {
        let mut chain: Vec<DVec2> = Vec::new();
        for point in points {
            while let [.., a, b] = chain[..]
                && (b - a).perp_dot(point - b) <= 0.0
            {
                chain.pop();
            }
            chain.push(point);
        }
        chain.pop();
        chain
    };
    let mut around = half(&mut points.iter().copied());
    around.extend(half(&mut points.iter().rev().copied()));
    around
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(shape: Shape, rpy_deg: [f64; 3]) -> Outline {
        let [roll, pitch, yaw] = rpy_deg.map(f64::to_radians);
        let pose = Pose { position_m: DVec3::new(5.0, 0.0, 1.0), orientation: math::quat_from_rpy(roll, pitch, yaw) };
        Outline::new(&Solid::new(shape).unwrap(), &pose).unwrap()
    }

    fn check(shape: Shape, rpy_deg: [f64; 3], half: [f64; 2], heights: [f64; 2]) {
        let found = outline(shape, rpy_deg);
        let (least, most) = found.form.bounds();
        let expected = DVec2::from_array(half);
        assert!((0.5 * (most - least) - expected).length() < 0.01, "{least} {most}");
        assert!((found.bottom_m - heights[0]).abs() < 0.01 && (found.top_m - heights[1]).abs() < 0.01);
    }

    #[test]
    fn an_outline_is_what_one_sees_from_above() {
        check(Shape::Sphere { radius_m: 0.5 }, [0.0; 3], [0.5, 0.5], [0.5, 1.5]);
        let half_m = DVec3::new(1.0, 0.5, 0.2);
        check(Shape::Box { half_m }, [0.0; 3], [1.0, 0.5], [0.8, 1.2]);
        check(Shape::Box { half_m }, [0.0, 90.0, 0.0], [0.2, 0.5], [0.0, 2.0]);
        let round = Shape::Cylinder { radius_m: 0.5, half_height_m: 2.0 };
        check(round.clone(), [0.0; 3], [0.5, 0.5], [-1.0, 3.0]);
        check(round, [0.0, 90.0, 90.0], [0.5, 2.0], [0.5, 1.5]);
        check(Shape::Capsule { radius_m: 0.5, half_height_m: 1.0 }, [0.0, 90.0, 0.0], [1.5, 0.5], [0.5, 1.5]);
        check(Shape::Cone { radius_m: 0.5, half_height_m: 1.0 }, [180.0, 0.0, 0.0], [0.5, 0.5], [0.0, 2.0]);
    }

    #[test]
    fn a_hull_has_the_outer_corners_only() {
        let points = [[0.0, 0.0], [2.0, 0.0], [1.0, 0.5], [2.0, 2.0], [0.0, 2.0], [1.0, 2.0]].map(DVec2::from_array);
        let expected = [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]].map(DVec2::from_array);
        assert_eq!(hull(points.to_vec()), expected);
    }
}
