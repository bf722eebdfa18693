//! What rays need of a shape: where they first meet its surface, in its own frame, from outside or from inside. Written once
//! for single precision, which finds what is met, and for double precision, which tells where.

use super::triangles::Triangles;
use super::wide::{Wide, Wide3, dot, splat3, sub3};
use crate::shape::{Heights, Mesh, Shape};
use glam::DVec3;
use std::sync::Arc;

/// The surface of a shape.
#[derive(Clone)]
pub(crate) enum Outline {
    /// The plane z = 0.
    Plane,
    /// Half edges.
    Box(DVec3),
    Sphere(f64),
    /// Radius and half height.
    Cylinder(f64, f64),
    Capsule(f64, f64),
    Cone(f64, f64),
    Triangles(Arc<Triangles>),
}

impl Outline {
    /// What rays need of a shape whose numbers make sense.
    pub(crate) fn new(shape: &Shape) -> Self {
        match shape {
            Shape::Plane => Self::Plane,
            Shape::Box { half_m } => Self::Box(*half_m),
            Shape::Sphere { radius_m } => Self::Sphere(*radius_m),
            Shape::Cylinder { radius_m, half_height_m } => Self::Cylinder(*radius_m, *half_height_m),
            Shape::Capsule { radius_m, half_height_m } => Self::Capsule(*radius_m, *half_height_m),
            Shape::Cone { radius_m, half_height_m } => Self::Cone(*radius_m, *half_height_m),
            Shape::Heightfield(heights) => Self::Triangles(Arc::new(Triangles::terrain(heights.triangles()))),
            Shape::Mesh(mesh) => Self::Triangles(Arc::new(Triangles::new(mesh.faces()))),
        }
    }

    /// Distance along rays of unit direction from one point to the surface, at least `min`; infinite if they miss it.
    /// Not for triangles.
    #[inline(always)]
    pub(crate) fn distance<W: Wide>(&self, token: W::Token, from: DVec3, direction: Wide3<W>, min: W) -> W {
        let from = splat3::<W>(token, [W::real(from.x), W::real(from.y), W::real(from.z)]);
        self.distance_from(token, from, direction, min)
    }

    /// The same along rays from several points.
    #[inline(always)]
    pub(crate) fn distance_from<W: Wide>(&self, token: W::Token, from: Wide3<W>, direction: Wide3<W>, min: W) -> W {
        match *self {
            Self::Plane => beyond(token, -from[2] / direction[2], min),
            Self::Box(half) => {
                let half = splat3::<W>(token, [W::real(half.x), W::real(half.y), W::real(half.z)]);
                let one = W::constant(token, 1.0);
                let per = [one / direction[0], one / direction[1], one / direction[2]];
                box_distance(token, &planes_from(half, from), per, min)
            }
            Self::Sphere(radius) => first(token, &ball(W::constant(token, radius), from, direction), min),
            Self::Cylinder(radius, half) => {
                let round = tube(token, W::constant(token, radius), from, direction);
                let [low, high] = slab(token, W::constant(token, half), from[2], direction[2]);
                first(token, &[low.max(round[0]), high.min(round[1])], min)
            }
            Self::Capsule(radius, half) => {
                let round = tube(token, W::constant(token, radius), from, direction);
                let [low, high] = slab(token, W::constant(token, half), from[2], direction[2]);
                let middle = ordered(token, [low.max(round[0]), high.min(round[1])]);
                let up = ordered(
                    token,
                    ball(W::constant(token, radius), [from[0], from[1], from[2] - W::constant(token, half)], direction),
                );
                let down = ordered(
                    token,
                    ball(W::constant(token, radius), [from[0], from[1], from[2] + W::constant(token, half)], direction),
                );
                let span = [middle[0].min(up[0]).min(down[0]), middle[1].max(up[1]).max(down[1])];
                first(token, &span, min)
            }
            Self::Cone(radius, half) => cone(token, (radius, half), from, direction, min),
            Self::Triangles(_) => W::constant(token, f64::INFINITY),
        }
    }

    /// Outward normals at points of the surface. Not for triangles.
    #[inline(always)]
    pub(crate) fn normal<W: Wide>(&self, token: W::Token, at: Wide3<W>) -> Wide3<W> {
        let (zero, one) = (W::constant(token, 0.0), W::constant(token, 1.0));
        let up = [zero, zero, one];
        match *self {
            Self::Plane | Self::Triangles(_) => up,
            Self::Box(half) => {
                let inside = [
                    W::constant(token, half.x) - at[0].abs(),
                    W::constant(token, half.y) - at[1].abs(),
                    W::constant(token, half.z) - at[2].abs(),
                ];
                let along_x = zero.both(inside[0].le(inside[1]), inside[0].le(inside[2]));
                let along_z = zero.both(inside[2].lt(inside[0]), inside[2].lt(inside[1]));
                let [x, y, z] = [sign(token, at[0]), sign(token, at[1]), sign(token, at[2])];
                let y = zero.where_or(zero.either(along_x, along_z), y);
                [x.where_or(along_x, zero), y, z.where_or(along_z, zero)]
            }
            Self::Sphere(_) => unit(token, at),
            Self::Cylinder(radius, half) => {
                let across = (at[0] * at[0] + at[1] * at[1]).sqrt();
                let from_end = W::constant(token, half) - at[2].abs();
                let on_end = from_end.lt(W::constant(token, radius) - across);
                let side = unit(token, [at[0], at[1], zero]);
                [
                    zero.where_or(on_end, side[0]),
                    zero.where_or(on_end, side[1]),
                    sign(token, at[2]).where_or(on_end, zero),
                ]
            }
            Self::Capsule(_, half) => {
                let half = W::constant(token, half);
                unit(token, [at[0], at[1], at[2] - at[2].max(-half).min(half)])
            }
            Self::Cone(radius, half) => {
                let slope = radius / (2.0 * half);
                let (across, shrink) = ((at[0] * at[0] + at[1] * at[1]).sqrt(), W::constant(token, slope));
                let from_side = (shrink * (W::constant(token, half) - at[2]) - across)
                    / W::constant(token, (1.0 + slope * slope).sqrt());
                let on_base = (W::constant(token, half) + at[2]).lt(from_side);
                let round = unit(token, [at[0], at[1], zero]);
                let side = unit(token, [round[0], round[1], shrink]);
                [zero.where_or(on_base, side[0]), zero.where_or(on_base, side[1]), (-one).where_or(on_base, side[2])]
            }
        }
    }
}

/// One with the sign of a number.
#[inline(always)]
fn sign<W: Wide>(token: W::Token, value: W) -> W {
    let one = W::constant(token, 1.0);
    one.where_or(W::constant(token, 0.0).le(value), -one)
}

/// Made one long; nothing stays nothing.
#[inline(always)]
fn unit<W: Wide>(token: W::Token, vector: Wide3<W>) -> Wide3<W> {
    let per = W::constant(token, 1.0) / dot(vector, vector).sqrt().max(W::constant(token, 1e-30));
    [vector[0] * per, vector[1] * per, vector[2] * per]
}

/// The distance if it is far enough, otherwise infinite; not a number is infinite too.
#[inline(always)]
fn beyond<W: Wide>(token: W::Token, distance: W, min: W) -> W {
    distance.where_or(min.le(distance), W::constant(token, f64::INFINITY))
}

/// Where a ray first meets the ends of the span it is inside a convex shape.
#[inline(always)]
fn first<W: Wide>(token: W::Token, span: &[W; 2], min: W) -> W {
    let ahead = span[0].where_or(min.le(span[0]), beyond(token, span[1], min));
    ahead.where_or(span[0].le(span[1]), W::constant(token, f64::INFINITY))
}

/// The span, or one that nothing is in if its end is before its start.
#[inline(always)]
fn ordered<W: Wide>(token: W::Token, span: [W; 2]) -> [W; 2] {
    let is_span = span[0].le(span[1]);
    let endless = W::constant(token, f64::INFINITY);
    [span[0].where_or(is_span, endless), span[1].where_or(is_span, -endless)]
}

/// The span between two planes at ± half along an axis.
#[inline(always)]
fn slab<W: Wide>(token: W::Token, half: W, from: W, direction: W) -> [W; 2] {
    let per = W::constant(token, 1.0) / direction;
    let (a, b) = ((-half - from) * per, (half - from) * per);
    [a.min(b), a.max(b)]
}

/// How far the planes of a box are from a point, along each axis.
pub(super) type Planes<W> = [[W; 2]; 3];

/// The planes of a box in its own frame.
#[inline(always)]
pub(super) fn planes<W: Wide>(token: W::Token, half: DVec3, from: DVec3) -> Planes<W> {
    let half = splat3::<W>(token, [W::real(half.x), W::real(half.y), W::real(half.z)]);
    planes_from(half, splat3::<W>(token, [W::real(from.x), W::real(from.y), W::real(from.z)]))
}

#[inline(always)]
fn planes_from<W: Wide>(half: Wide3<W>, from: Wide3<W>) -> Planes<W> {
    let plane = |axis: usize| [-half[axis] - from[axis], half[axis] - from[axis]];
    [plane(0), plane(1), plane(2)]
}

/// Where rays first meet a box, by the reciprocals of their directions.
#[inline(always)]
pub(super) fn box_distance<W: Wide>(token: W::Token, planes: &Planes<W>, per: Wide3<W>, min: W) -> W {
    let endless = W::constant(token, f64::INFINITY);
    let mut span = [-endless, endless];
    for axis in 0..3 {
        let (a, b) = (planes[axis][0] * per[axis], planes[axis][1] * per[axis]);
        span = [a.min(b).max(span[0]), a.max(b).min(span[1])];
    }
    first(token, &span, min)
}

/// The span inside a ball around the origin; not a number if there is none.
#[inline(always)]
fn ball<W: Wide>(radius: W, from: Wide3<W>, direction: Wide3<W>) -> [W; 2] {
    let along = dot(from, direction);
    // from the nearest point of the ray: differences of squares of large distances would lose all digits
    let aside = sub3(from, [direction[0] * along, direction[1] * along, direction[2] * along]);
    let half = (radius * radius - dot(aside, aside)).sqrt();
    [-along - half, half - along]
}

/// The span inside an endless tube along z.
#[inline(always)]
fn tube<W: Wide>(token: W::Token, radius: W, from: Wide3<W>, direction: Wide3<W>) -> [W; 2] {
    let (endless, tiny) = (W::constant(token, f64::INFINITY), W::constant(token, 1e-12));
    let across = direction[0] * direction[0] + direction[1] * direction[1];
    let along = from[0] * direction[0] + from[1] * direction[1];
    let aside = from[0] * direction[1] - from[1] * direction[0];
    let half = (across * radius * radius - aside * aside).sqrt();
    let within = (from[0] * from[0] + from[1] * from[1]).le(radius * radius);
    let parallel = across.le(tiny);
    let stays = endless.where_or(within, -endless);
    [(-stays).where_or(parallel, (-along - half) / across), stays.where_or(parallel, (half - along) / across)]
}

/// A cone is met at its side, twice at most, or at its base.
#[inline(always)]
fn cone<W: Wide>(token: W::Token, (radius, half): (f64, f64), from: Wide3<W>, direction: Wide3<W>, min: W) -> W {
    let slope = radius / (2.0 * half);
    let (zero, endless, steep) =
        (W::constant(token, 0.0), W::constant(token, f64::INFINITY), W::constant(token, slope * slope));
    // below the tip
    let down = W::constant(token, half) - from[2];
    let across = direction[0] * direction[0] + direction[1] * direction[1];
    let a = across - steep * direction[2] * direction[2];
    let b = from[0] * direction[0] + from[1] * direction[1] + steep * down * direction[2];
    let c = from[0] * from[0] + from[1] * from[1] - steep * down * down;
    let root = (b * b - a * c).sqrt();
    // both roots without cancellation
    let sum = -(b + root.where_or(zero.le(b), -root));
    let (one, other) = (c / sum, sum / a);
    let height = W::constant(token, 2.0 * half);
    let (one_down, other_down) = (down - one * direction[2], down - other * direction[2]);
    let on_one = zero.both(zero.le(one_down), one_down.le(height));
    let on_other = zero.both(zero.le(other_down), other_down.le(height));
    let base = (W::constant(token, -half) - from[2]) / direction[2];
    let (x, y) = (from[0] + base * direction[0], from[1] + base * direction[1]);
    let on_base = (x * x + y * y).le(W::constant(token, radius * radius));
    let one = beyond(token, one, min).where_or(on_one, endless);
    let other = beyond(token, other, min).where_or(on_other, endless);
    beyond(token, base, min).where_or(on_base, endless).min(one).min(other)
}

impl Heights {
    /// The corners of its triangles, in the frame of the solid: two to a cell, split as the contact library does.
    pub(crate) fn triangles(&self) -> impl Iterator<Item = [DVec3; 3]> {
        (0..self.triangle_count()).map(|number| self.triangle_m(number))
    }
}

impl Mesh {
    /// The corners of its triangles.
    pub(crate) fn faces(&self) -> impl Iterator<Item = [DVec3; 3]> {
        self.triangles.iter().map(|corners| corners.map(|corner| self.vertices_m[corner as usize]))
    }
}
