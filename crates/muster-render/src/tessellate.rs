//! Shapes as triangles: boxes, meshes and terrain exactly, round shapes with a stated error.
//!
//! The corners of round shapes lie outside of them by as much as the middles of their triangles lie inside: a polygon of
//! n corners on a circle of radius r, with its corners at 2r / (1 + cos(π/n)), is nowhere further than r tan²(π/2n) from
//! the circle. The triangles of a ball span √2 times the angle of its polygons' edges.

use glam::DVec3;
use muster_core::math;
use muster_core::shape::{Heights, Shape};
use std::f64::consts::{FRAC_PI_2, PI, SQRT_2};

/// Errors below are not worth a triangle, m.
const ERROR_MIN_M: f64 = 1e-3;
/// What share of its radius a round shape may be wrong by, and what share of its distance.
pub(crate) const ERROR_SHARE: f64 = 1.0 / 2000.0;
/// Fewer corners are no circle.
const CORNERS_MIN: usize = 12;

/// By how much the drawn surface of a shape is at most wrong, measured along its normal and seen from a distance, m: a
/// two-thousandth of its radius or of the distance, at least a millimetre for round shapes; nothing for others.
pub(crate) fn geometry_error_m(shape: &Shape, distance_m: f64) -> f64 {
    radius_m(shape).map_or(0.0, |radius_m| finest_error_m(radius_m).max(ERROR_SHARE * distance_m))
}

/// The radius of a round shape.
fn radius_m(shape: &Shape) -> Option<f64> {
    match *shape {
        Shape::Sphere { radius_m }
        | Shape::Cylinder { radius_m, .. }
        | Shape::Capsule { radius_m, .. }
        | Shape::Cone { radius_m, .. } => Some(radius_m),
        Shape::Box { .. } | Shape::Plane | Shape::Heightfield(_) | Shape::Mesh(_) => None,
    }
}

fn finest_error_m(radius_m: f64) -> f64 {
    (ERROR_SHARE * radius_m).max(ERROR_MIN_M)
}

/// Triangles whose outside is where their corners turn left, each with its number in the shape.
#[derive(Default)]
pub(crate) struct Triangles {
    pub(crate) corners_m: Vec<[DVec3; 3]>,
    pub(crate) error_m: f64,
}

impl Triangles {
    fn triangle(&mut self, a: DVec3, b: DVec3, c: DVec3) {
        self.corners_m.push([a, b, c]);
    }

    /// Four corners that turn left.
    fn quad(&mut self, [a, b, c, d]: [DVec3; 4]) {
        self.triangle(a, b, c);
        self.triangle(a, c, d);
    }
}

/// A shape as triangles, from fine to coarse: shapes that are drawn exactly have one level, planes none.
pub(crate) fn levels(shape: &Shape) -> Vec<Triangles> {
    let Some(radius_m) = radius_m(shape) else { return exact(shape).into_iter().collect() };
    let spread = if matches!(shape, Shape::Sphere { .. } | Shape::Capsule { .. }) { SQRT_2 } else { 1.0 };
    let ratio = (finest_error_m(radius_m) / radius_m.max(f64::MIN_POSITIVE)).min(1.0);
    let wanted = spread * FRAC_PI_2 / math::atan(ratio.sqrt());
    let mut corners = (wanted / 4.0).ceil() as usize * 4;
    let mut levels = Vec::new();
    loop {
        corners = corners.max(CORNERS_MIN);
        levels.push(round(shape, corners, spread * PI / corners as f64));
        if corners == CORNERS_MIN || levels.len() == 3 {
            return levels;
        }
        corners = corners / 8 * 4;
    }
}

fn exact(shape: &Shape) -> Option<Triangles> {
    let mut triangles = Triangles::default();
    match shape {
        Shape::Box { half_m } => cuboid(&mut triangles, *half_m),
        Shape::Heightfield(heights) => terrain(&mut triangles, heights),
        Shape::Mesh(mesh) => {
            let corner = |index: u32| mesh.vertices_m.get(index as usize).copied().unwrap_or(DVec3::NAN);
            triangles.corners_m.extend(mesh.triangles.iter().map(|&[a, b, c]| [corner(a), corner(b), corner(c)]));
        }
        _ => return None,
    }
    Some(triangles)
}

fn cuboid(out: &mut Triangles, half_m: DVec3) {
    for axis in 0..3 {
        let (u, v) = (DVec3::AXES[(axis + 1) % 3] * half_m, DVec3::AXES[(axis + 2) % 3] * half_m);
        let w = DVec3::AXES[axis] * half_m;
        out.quad([w - u - v, w + u - v, w + u + v, w - u + v]);
        out.quad([-w - u - v, -w - u + v, -w + u + v, -w + u - v]);
    }
}

fn terrain(out: &mut Triangles, heights: &Heights) {
    out.corners_m.extend((0..heights.triangle_count()).map(|number| heights.triangle_m(number)));
}

/// A shape of revolution with so many corners around, whose triangles span an angle from their middle.
fn round(shape: &Shape, corners: usize, span_rad: f64) -> Triangles {
    let mut out = Triangles::default();
    let swell = 2.0 / (1.0 + math::cos(span_rad));
    let ring = |radius_m: f64, z_m: f64| {
        move |k: usize| {
            let (sin, cos) = math::sin_cos_turns((k % corners) as f64 / corners as f64);
            DVec3::new(radius_m * swell * cos, radius_m * swell * sin, z_m)
        }
    };
    let mut band = |low: (f64, f64), high: (f64, f64)| {
        let (below, above) = (ring(low.0, low.1), ring(high.0, high.1));
        for k in 0..corners {
            match (low.0 > 0.0, high.0 > 0.0) {
                (true, true) => out.quad([below(k), below(k + 1), above(k + 1), above(k)]),
                (true, false) => out.triangle(below(k), below(k + 1), above(k)),
                (false, true) => out.triangle(below(k), above(k + 1), above(k)),
                (false, false) => {}
            }
        }
    };
    let radius = match *shape {
        Shape::Cylinder { radius_m, half_height_m } => {
            band((0.0, -half_height_m), (radius_m, -half_height_m));
            band((radius_m, -half_height_m), (radius_m, half_height_m));
            band((radius_m, half_height_m), (0.0, half_height_m));
            radius_m
        }
        Shape::Cone { radius_m, half_height_m } => {
            band((0.0, -half_height_m), (radius_m, -half_height_m));
            band((radius_m, -half_height_m), (0.0, half_height_m));
            radius_m
        }
        Shape::Sphere { radius_m } => {
            ball(&mut band, radius_m, 0.0, swell, corners);
            radius_m
        }
        Shape::Capsule { radius_m, half_height_m } => {
            ball(&mut band, radius_m, half_height_m, swell, corners);
            radius_m
        }
        _ => 0.0,
    };
    let half_tangent = math::tan(0.5 * span_rad);
    out.error_m = radius * half_tangent * half_tangent;
    out
}

/// Two half balls, apart by a cylinder; each of a quarter as many bands as there are corners around.
fn ball(band: &mut impl FnMut((f64, f64), (f64, f64)), radius_m: f64, apart_m: f64, swell: f64, corners: usize) {
    let bands = corners / 4;
    let point = |step: usize| {
        let (sin, cos) = math::sin_cos_turns(0.25 * step as f64 / bands as f64);
        (if step == bands { 0.0 } else { radius_m * cos }, radius_m * swell * sin + apart_m)
    };
    let mirrored = |step: usize| (point(step).0, -point(step).1);
    for step in (0..bands).rev() {
        band(mirrored(step + 1), mirrored(step));
    }
    if apart_m > 0.0 {
        band(mirrored(0), point(0));
    }
    for step in 0..bands {
        band(point(step), point(step + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_core::component::Pose;
    use muster_core::shape::Solid;

    /// Points of a triangle: its corners, the middles of its edges, its own middle.
    fn points([a, b, c]: [DVec3; 3]) -> [DVec3; 7] {
        [a, b, c, (a + b) / 2.0, (b + c) / 2.0, (c + a) / 2.0, (a + b + c) / 3.0]
    }

    fn to_surface_m(shape: &Shape, point: DVec3) -> f64 {
        let radial = math::hypot2(point.x, point.y);
        match *shape {
            Shape::Sphere { radius_m } => (point.length() - radius_m).abs(),
            Shape::Capsule { radius_m, half_height_m } => {
                let axis = DVec3::new(0.0, 0.0, point.z.clamp(-half_height_m, half_height_m));
                ((point - axis).length() - radius_m).abs()
            }
            Shape::Cylinder { radius_m, half_height_m } => {
                (radial - radius_m).abs().min((point.z.abs() - half_height_m).abs())
            }
            Shape::Cone { radius_m, half_height_m } => {
                let there = radius_m * (half_height_m - point.z) / (2.0 * half_height_m);
                (radial - there).abs().min((point.z + half_height_m).abs())
            }
            _ => f64::NAN,
        }
    }

    #[test]
    fn round_shapes_are_no_more_wrong_than_stated() {
        for size_m in [0.0005, 0.02, 0.3, 1.0, 4.0, 30.0] {
            for shape in [
                Shape::Sphere { radius_m: size_m },
                Shape::Capsule { radius_m: size_m, half_height_m: 0.7 },
                Shape::Cylinder { radius_m: size_m, half_height_m: 0.7 },
                Shape::Cone { radius_m: size_m, half_height_m: 0.7 },
            ] {
                let levels = levels(&shape);
                let stated_m = geometry_error_m(&shape, 0.0);
                assert!(levels[0].error_m <= stated_m, "{shape:?}: {} > {stated_m}", levels[0].error_m);
                for level in &levels {
                    let points = level.corners_m.iter().flat_map(|&corners| points(corners));
                    let worst_m = points.map(|point| to_surface_m(&shape, point)).fold(0.0, f64::max);
                    let bound_m = level.error_m * (1.0 + 1e-6);
                    assert!(worst_m <= bound_m, "{shape:?}: {worst_m} > {bound_m}, {}", level.corners_m.len());
                }
                assert!(levels[0].corners_m.len() <= 12_000, "{} triangles", levels[0].corners_m.len());
            }
        }
    }

    #[test]
    fn triangles_of_closed_shapes_close_and_turn_left_outside() {
        for shape in [
            Shape::Box { half_m: DVec3::new(0.2, 0.5, 0.9) },
            Shape::Sphere { radius_m: 0.3 },
            Shape::Capsule { radius_m: 0.3, half_height_m: 0.7 },
            Shape::Cylinder { radius_m: 0.3, half_height_m: 0.7 },
            Shape::Cone { radius_m: 0.3, half_height_m: 0.7 },
        ] {
            for level in levels(&shape) {
                // the divergence theorem: the volume from the outside, and no resulting area
                let area: DVec3 = level.corners_m.iter().map(|&[a, b, c]| (b - a).cross(c - a)).sum();
                assert!(area.length() < 1e-12, "{shape:?} is open: {area}");
                let volume_m3 = level.corners_m.iter().map(|&[a, b, c]| a.dot(b.cross(c))).sum::<f64>() / 6.0;
                let exact_m3 = Solid::new(shape.clone()).unwrap().bulk().unwrap().volume_m3;
                assert!((volume_m3 / exact_m3 - 1.0).abs() < 0.08, "{shape:?}: {volume_m3} instead of {exact_m3}");
            }
        }
    }

    #[test]
    fn triangles_of_terrain_are_those_rays_meet() {
        let heights_m: Vec<f64> = (0..20).map(|k| math::sin(f64::from(k) * 1.7)).collect();
        let shape = Shape::Heightfield(Heights { size_m: [4.0, 3.0], columns: 5, heights_m }.into());
        let solid = Solid::new(shape.clone()).unwrap();
        for &corners in &levels(&shape)[0].corners_m {
            let inside = corners[0] * 0.5 + corners[1] * 0.3 + corners[2] * 0.2;
            let hit = solid.ray(&Pose::IDENTITY, inside + DVec3::Z * 5.0, DVec3::NEG_Z, 10.0).unwrap();
            assert!((hit.distance_m - 5.0).abs() < 1e-12, "{} at {inside}", hit.distance_m);
            let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize();
            assert!(normal.distance(hit.normal) < 1e-12, "{normal} instead of {}", hit.normal);
        }
    }
}
