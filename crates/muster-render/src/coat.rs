//! What surfaces look like, prepared once: colours in linear light, textures at several sizes, and where on a texture a
//! point of a solid lies.

use crate::texture::{Decoder, Mips};
use glam::{DMat3, DVec3};
use muster_core::colour::linear3;
use muster_core::component::Pose;
use muster_core::contact::Part;
use muster_core::math;
use muster_core::model::{Cohort, Environment};
use muster_core::shape::{Mesh, Shape};
use muster_core::skin::{Paint, Skin, Texture};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Weak};

/// Colour of what has none, linear: obstacles, and parts of robots.
const OBSTACLE: [f32; 3] = [0.36, 0.35, 0.33];
const ROBOT: [f32; 3] = [0.62, 0.17, 0.05];

/// A skin, ready to be drawn.
#[derive(Clone)]
struct Coat {
    colour: [f32; 4],
    texture: Option<Arc<Mips>>,
    /// Textures a metre, where the shape has no coordinates of its own.
    per_m: f64,
}

/// How a texture lies on a solid without coordinates.
#[derive(Clone, Copy, PartialEq)]
enum Lie {
    /// On each side as seen from outside, upright; its middle is that of the side.
    Around,
    /// As seen from above.
    Flat,
}

/// Where a triangle lies on its texture: coordinates of a point are dot products with these, and the offsets.
#[derive(Clone, Copy)]
struct Chart {
    along: [[f32; 3]; 2],
    offset: [f32; 2],
    /// Length of the longer of both, 1/m.
    per_m: f32,
}

/// What the triangles of a mesh look like.
struct Painted {
    coats: Vec<Coat>,
    skin_of: Vec<u16>,
    charts: Vec<Chart>,
}

/// What a solid looks like.
#[derive(Clone)]
pub(crate) struct Finish {
    own: Coat,
    lie: Lie,
    painted: Option<Arc<Painted>>,
}

/// Points that are painted together.
pub(crate) const BATCH: usize = 64;

/// Points of surfaces, as columns.
pub(crate) struct Spots {
    /// In the frame of the solid, m.
    pub(crate) at_m: [[f64; BATCH]; 3],
    /// Outward normals there, in that frame.
    pub(crate) normal: [[f64; BATCH]; 3],
    pub(crate) triangle: [u32; BATCH],
    /// How much of the surface a pixel covers, along a side, m.
    pub(crate) covered_m: [f32; BATCH],
}

impl Spots {
    pub(crate) const NONE: Self =
        Self { at_m: [[0.0; BATCH]; 3], normal: [[0.0; BATCH]; 3], triangle: [0; BATCH], covered_m: [0.0; BATCH] };
}

/// What white light becomes at some points: red, green, blue, and a place for even steps.
pub(crate) type Colours = [[f32; 4]; BATCH];

impl Finish {
    /// Paints some of the points, all of this solid.
    #[inline(always)]
    pub(crate) fn paint(&self, spots: &Spots, some: Range<usize>, decoder: &Decoder, colours: &mut Colours) {
        let Some(painted) = &self.painted else { return self.own.paint(self.lie, spots, some, decoder, colours) };
        for at in some {
            let triangle = spots.triangle[at] as usize;
            let skin = painted.skin_of.get(triangle).copied().unwrap_or(0);
            let coat = painted.coats.get(usize::from(skin)).unwrap_or(&self.own);
            match (painted.charts.get(triangle), &coat.texture) {
                (Some(chart), Some(texture)) => {
                    let light = chart.light(texture, spots, at, decoder);
                    coat.put(light, at, colours);
                }
                _ => coat.paint(self.lie, spots, at..at + 1, decoder, colours),
            }
        }
    }

    /// True if it is needed where on the solid a point lies.
    pub(crate) fn is_plain(&self) -> bool {
        self.painted.is_none() && self.own.texture.is_none()
    }

    /// Paints some points where [`Finish::is_plain`].
    #[inline(always)]
    pub(crate) fn paint_plain(&self, some: Range<usize>, colours: &mut Colours) {
        colours[some].fill(self.own.colour);
    }
}

impl Coat {
    /// Light of a texture, in this colour.
    #[inline(always)]
    fn put(&self, light: [f32; 4], at: usize, colours: &mut Colours) {
        for channel in 0..4 {
            colours[at][channel] = light[channel] * self.colour[channel];
        }
    }

    /// Paints points as the texture lies on a solid without coordinates.
    #[inline(always)]
    fn paint(&self, lie: Lie, spots: &Spots, some: Range<usize>, decoder: &Decoder, colours: &mut Colours) {
        let Some(texture) = &self.texture else { return colours[some].fill(self.colour) };
        let size = texture.size();
        let size = size[0].max(size[1]);
        let (mut place, mut covered) = ([[0.0_f32; BATCH]; 2], [0.0_f32; BATCH]);
        let [x, y, z] = &spots.at_m;
        let [nx, ny, nz] = &spots.normal;
        for at in some.clone() {
            let (mut right, mut up) = (x[at], y[at]);
            if lie == Lie::Around {
                let (along_x, along_y, along_z) = (nx[at].abs(), ny[at].abs(), nz[at].abs());
                let on_x = (along_x >= along_y) & (along_x >= along_z);
                let on_y = !on_x & (along_y >= along_z);
                let on_z = if nz[at] < 0.0 { -x[at] } else { x[at] };
                right = if on_y { if ny[at] > 0.0 { -x[at] } else { x[at] } } else { on_z };
                right = if on_x { if nx[at] > 0.0 { y[at] } else { -y[at] } } else { right };
                up = if on_x | on_y { z[at] } else { y[at] };
            }
            place[0][at] = fraction(0.5 + right * self.per_m);
            place[1][at] = fraction(0.5 + up * self.per_m);
            covered[at] = spots.covered_m[at] * self.per_m as f32 * size;
        }
        for at in some {
            let light = texture.light([place[0][at], place[1][at]], texture.level(covered[at]), decoder);
            self.put(light, at, colours);
        }
    }
}

/// The part of a number after the point, counted from the whole number below.
#[inline(always)]
fn fraction(value: f64) -> f32 {
    let part = (value - math::floor(value)) as f32;
    if part < 1.0 - f32::EPSILON { part } else { 1.0 - f32::EPSILON }
}

impl Chart {
    /// The light of a texture where it lies on one of the points.
    #[inline(always)]
    fn light(&self, texture: &Mips, spots: &Spots, at: usize, decoder: &Decoder) -> [f32; 4] {
        let [x, y, z] = [spots.at_m[0][at] as f32, spots.at_m[1][at] as f32, spots.at_m[2][at] as f32];
        let mut place = [0.0; 2];
        for axis in 0..2 {
            let along = self.along[axis];
            place[axis] = fraction(f64::from(along[0] * x + along[1] * y + along[2] * z + self.offset[axis]));
        }
        let size = texture.size();
        let covered = spots.covered_m[at] * self.per_m * size[0].max(size[1]);
        texture.light(place, texture.level(covered), decoder)
    }

    /// Of a triangle with these corners and coordinates.
    fn new([a, b, c]: [DVec3; 3], uv: [[f32; 2]; 3]) -> Self {
        let (e1, e2) = (b - a, c - a);
        let normal = e1.cross(e2);
        let area2 = normal.length_squared().max(f64::MIN_POSITIVE);
        let axis = |axis: usize| {
            let [u, v, w] = uv.map(|corner| f64::from(corner[axis]));
            let along = ((v - u) * e2.cross(normal) + (w - u) * normal.cross(e1)) / area2;
            (along, u - along.dot(a))
        };
        let (along_u, offset_u) = axis(0);
        let (along_v, offset_v) = axis(1);
        Self {
            along: [along_u.as_vec3().to_array(), along_v.as_vec3().to_array()],
            offset: [offset_u as f32, offset_v as f32],
            per_m: along_u.length().max(along_v.length()) as f32,
        }
    }
}

/// A triangle of a solid with all that its looks need.
#[cfg(feature = "gpu")]
pub(crate) struct Dressed<'a> {
    pub(crate) colour: [f32; 3],
    pub(crate) texture: Option<&'a Arc<Mips>>,
    /// Where on the texture its corners lie: to the right and up.
    pub(crate) uv: [[f64; 2]; 3],
    /// Textures a metre.
    pub(crate) per_m: f32,
}

#[cfg(feature = "gpu")]
impl Finish {
    /// What a triangle of the solid looks like, by its number, corners and outward normal.
    pub(crate) fn dressed(&self, number: u32, corners_m: [DVec3; 3], normal: DVec3) -> Dressed<'_> {
        let painted = self.painted.as_deref();
        let skin = painted.map(|painted| painted.skin_of.get(number as usize).copied().unwrap_or(0));
        let coat = painted.zip(skin).and_then(|(painted, skin)| painted.coats.get(usize::from(skin)));
        let coat = coat.unwrap_or(&self.own);
        let chart = painted.and_then(|painted| painted.charts.get(number as usize)).filter(|_| coat.texture.is_some());
        let (uv, per_m) = match chart {
            Some(chart) => (corners_m.map(|corner| [0, 1].map(|axis| chart.place(axis, corner))), chart.per_m),
            None => (corners_m.map(|corner| coat.place(self.lie, corner, normal)), coat.per_m as f32),
        };
        let [red, green, blue, ..] = coat.colour;
        Dressed { colour: [red, green, blue], texture: coat.texture.as_ref(), uv, per_m }
    }
}

#[cfg(feature = "gpu")]
impl Chart {
    /// Where on the texture a point lies along an axis of it.
    fn place(&self, axis: usize, at_m: DVec3) -> f64 {
        let along = self.along[axis].map(f64::from);
        DVec3::from(along).dot(at_m) + f64::from(self.offset[axis])
    }
}

#[cfg(feature = "gpu")]
impl Coat {
    /// Where on the texture a point of a surface with this normal lies: to the right and up.
    fn place(&self, lie: Lie, at_m: DVec3, normal: DVec3) -> [f64; 2] {
        let [x, y, z] = at_m.to_array();
        let away = normal.abs();
        let (right, up) = match lie {
            Lie::Around if away.x >= away.y && away.x >= away.z => (if normal.x > 0.0 { y } else { -y }, z),
            Lie::Around if away.y >= away.z => (if normal.y > 0.0 { -x } else { x }, z),
            Lie::Around if normal.z < 0.0 => (-x, y),
            _ => (x, y),
        };
        [0.5 + right * self.per_m, 0.5 + up * self.per_m]
    }
}

/// Obstacles and where they stand.
pub(crate) struct Standing {
    pub(crate) finish: Finish,
    pub(crate) solid_from_world: DMat3,
    pub(crate) place_m: DVec3,
}

/// The finishes of everything that was ever drawn and still exists. Keys are addresses, which stay taken while they are
/// watched.
#[derive(Default)]
pub(crate) struct Wardrobe {
    textures: BTreeMap<usize, (Weak<Texture>, Arc<Mips>)>,
    meshes: BTreeMap<usize, (Weak<Mesh>, Arc<Painted>)>,
    scenes: BTreeMap<usize, (Weak<Environment>, Arc<[Standing]>)>,
    kits: BTreeMap<usize, (Weak<Cohort>, Arc<[Finish]>)>,
}

impl Wardrobe {
    /// The obstacles of an environment, if they were drawn before.
    pub(crate) fn scene(&self, environment: &Arc<Environment>) -> Option<&Arc<[Standing]>> {
        self.scenes.get(&Arc::as_ptr(environment).addr()).map(|(_, scene)| scene)
    }

    /// The parts of robots of a cohort, if they were drawn before.
    pub(crate) fn kit(&self, cohort: &Arc<Cohort>) -> Option<&Arc<[Finish]>> {
        self.kits.get(&Arc::as_ptr(cohort).addr()).map(|(_, kit)| kit)
    }

    /// Prepares the obstacles of an environment.
    pub(crate) fn add_scene(&mut self, environment: &Arc<Environment>) {
        self.scenes.retain(|_, (watched, _)| watched.strong_count() > 0);
        let standing = |obstacle: &muster_core::contact::Obstacle| Standing {
            finish: self.finish(&obstacle.skin, obstacle.solid.shape(), OBSTACLE),
            solid_from_world: turn(&obstacle.pose),
            place_m: obstacle.pose.position_m,
        };
        let scene = environment.obstacles.iter().map(standing).collect();
        self.scenes.insert(Arc::as_ptr(environment).addr(), (Arc::downgrade(environment), scene));
    }

    /// Prepares the parts of robots of a cohort.
    pub(crate) fn add_kit(&mut self, cohort: &Arc<Cohort>) {
        self.kits.retain(|_, (watched, _)| watched.strong_count() > 0);
        let finish = |part: &Part| self.finish(&part.skin, part.solid.shape(), ROBOT);
        let kit = cohort.blueprint.parts.iter().map(finish).collect();
        self.kits.insert(Arc::as_ptr(cohort).addr(), (Arc::downgrade(cohort), kit));
    }

    fn finish(&mut self, skin: &Skin, shape: &Shape, colour: [f32; 3]) -> Finish {
        let painted = match shape {
            Shape::Mesh(mesh) => mesh.paint.as_ref().map(|paint| self.painted(mesh, paint, colour)),
            _ => None,
        };
        let lie = if matches!(shape, Shape::Heightfield(_) | Shape::Plane) { Lie::Flat } else { Lie::Around };
        Finish { own: self.coat(skin, colour), lie, painted }
    }

    fn coat(&mut self, skin: &Skin, colour: [f32; 3]) -> Coat {
        let texture = skin.texture.as_ref().filter(|texture| !texture.pixels.is_empty());
        let texture = texture.map(|texture| self.mips(texture));
        let untold = if texture.is_some() { [1.0; 3] } else { colour };
        Coat {
            colour: {
                let [red, green, blue] = skin.colour.map_or(untold, linear3);
                [red, green, blue, 0.0]
            },
            texture,
            per_m: if skin.texture_size_m > 0.0 { 1.0 / f64::from(skin.texture_size_m) } else { 1.0 },
        }
    }

    fn mips(&mut self, texture: &Arc<Texture>) -> Arc<Mips> {
        self.textures.retain(|_, (watched, _)| watched.strong_count() > 0);
        let key = Arc::as_ptr(texture).addr();
        let made = || (Arc::downgrade(texture), Arc::new(Mips::new(texture)));
        Arc::clone(&self.textures.entry(key).or_insert_with(made).1)
    }

    fn painted(&mut self, mesh: &Arc<Mesh>, paint: &Paint, colour: [f32; 3]) -> Arc<Painted> {
        self.meshes.retain(|_, (watched, _)| watched.strong_count() > 0);
        let key = Arc::as_ptr(mesh).addr();
        if let Some((_, painted)) = self.meshes.get(&key) {
            return Arc::clone(painted);
        }
        let coats = paint.skins.iter().map(|skin| self.coat(skin, colour)).collect();
        let corners = mesh.triangles.iter().map(|corners| corners.map(|corner| mesh.vertices_m[corner as usize]));
        let charts = corners.zip(&paint.corners_uv).map(|(corners, &uv)| Chart::new(corners, uv)).collect();
        let painted = Arc::new(Painted { coats, skin_of: paint.skin_of.clone(), charts });
        self.meshes.insert(key, (Arc::downgrade(mesh), Arc::clone(&painted)));
        painted
    }
}

/// Turns directions of the world into those of a solid.
pub(crate) fn turn(pose: &Pose) -> DMat3 {
    DMat3::from_quat(pose.orientation).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_finds_the_coordinates_of_corners_and_of_points_between() {
        let corners = [DVec3::new(1.0, 2.0, 0.5), DVec3::new(3.0, 2.5, 1.0), DVec3::new(0.5, 4.0, -1.0)];
        let uv = [[0.1, 0.2], [0.9, 0.3], [0.4, 0.8]];
        let chart = Chart::new(corners, uv);
        let found = |at: DVec3, axis: usize| {
            let along = chart.along[axis];
            let at = at.as_vec3();
            along[0] * at.x + along[1] * at.y + along[2] * at.z + chart.offset[axis]
        };
        for axis in 0..2 {
            for (&corner, uv) in corners.iter().zip(uv) {
                assert!((found(corner, axis) - uv[axis]).abs() < 1e-5);
            }
            let middle = (corners[0] + corners[1] + corners[2]) / 3.0;
            let mean = (uv[0][axis] + uv[1][axis] + uv[2][axis]) / 3.0;
            assert!((found(middle, axis) - mean).abs() < 1e-5);
        }
    }

    #[test]
    fn fractions_count_from_below() {
        assert_eq!([0.25, 1.25, -0.75, -3.0, 7.0].map(fraction), [0.25, 0.25, 0.25, 0.0, 0.0]);
        assert!(fraction(-1e-20) < 1.0);
    }
}
