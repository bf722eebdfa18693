//! What goes to the card and comes back, byte by byte.

use super::lens::Pinhole;
use glam::{DMat3, DVec3};
use muster_core::component::Pose;
use wgpu::{TextureFormat, VertexBufferLayout, VertexStepMode, vertex_attr_array};

/// Depth along the viewing axis, m.
pub(crate) const DEPTH: TextureFormat = TextureFormat::R32Float;
/// The thing and its triangle.
pub(crate) const IDS: TextureFormat = TextureFormat::Rg32Uint;
/// Red, green and blue.
pub(crate) const LIGHT: TextureFormat = TextureFormat::Rgba16Float;
/// Normal and depth along the viewing axis.
pub(crate) const SURFACE: TextureFormat = TextureFormat::Rgba32Float;
/// What the card compares.
pub(crate) const NEARNESS: TextureFormat = TextureFormat::Depth32Float;

/// Words of a corner: see `Corner` in the program.
pub(crate) const CORNER_WORDS: usize = 11;
/// Words of its looks.
pub(crate) const LOOKS_WORDS: usize = 9;
/// Words of a placement.
pub(crate) const PLACEMENT_WORDS: usize = 16;
/// Words of a plane.
pub(crate) const GROUND_WORDS: usize = 18;
/// How many maps of shadows there are at most.
pub(crate) const CASCADES: usize = 4;
/// How many lamps an image is lit by at most.
pub(crate) const LAMPS: usize = 32;
/// How many planes may throw a shadow.
pub(crate) const PLANES: usize = 8;
/// Bytes of a cascade, and of everything about a view.
pub(crate) const CASCADE_BYTES: usize = 64;
pub(crate) const VIEW_BYTES: usize = 16 * (3 + 3 + 5 + 4 * CASCADES + 2 * LAMPS + PLANES);

/// Corners of triangles.
pub(crate) const CORNER: VertexBufferLayout<'static> = VertexBufferLayout {
    array_stride: 4 * CORNER_WORDS as u64,
    step_mode: VertexStepMode::Vertex,
    attributes: &vertex_attr_array![0 => Float32x3, 1 => Float32x3, 2 => Float32x3, 3 => Uint32x2],
};
/// What they look like.
pub(crate) const LOOKS: VertexBufferLayout<'static> = VertexBufferLayout {
    array_stride: 4 * LOOKS_WORDS as u64,
    step_mode: VertexStepMode::Vertex,
    attributes: &vertex_attr_array![9 => Float32x3, 10 => Float32x2, 11 => Float32x4],
};
/// Where a solid is.
pub(crate) const PLACEMENT: VertexBufferLayout<'static> = VertexBufferLayout {
    array_stride: 4 * PLACEMENT_WORDS as u64,
    step_mode: VertexStepMode::Instance,
    attributes: &vertex_attr_array![4 => Float32x4, 5 => Float32x4, 6 => Float32x4, 7 => Float32x3, 8 => Uint32],
};
/// A plane.
pub(crate) const GROUND: VertexBufferLayout<'static> = VertexBufferLayout {
    array_stride: 4 * GROUND_WORDS as u64,
    step_mode: VertexStepMode::Instance,
    attributes: &vertex_attr_array![0 => Float32x4, 1 => Float32x4, 2 => Float32x4, 3 => Float32x4, 4 => Float32, 5 => Uint32],
};

/// Words on their way to the card.
#[derive(Default)]
pub(crate) struct Words(Vec<u8>);

impl Words {
    pub(crate) fn with_capacity(words: usize) -> Self {
        Self(Vec::with_capacity(4 * words))
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn number(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_ne_bytes());
    }

    pub(crate) fn float(&mut self, value: f32) {
        self.0.extend_from_slice(&value.to_ne_bytes());
    }

    pub(crate) fn floats(&mut self, values: &[f32]) {
        values.iter().for_each(|&value| self.float(value));
    }

    pub(crate) fn vector(&mut self, value: DVec3) {
        self.floats(&value.as_vec3().to_array());
    }

    /// Three numbers and a fourth.
    pub(crate) fn row(&mut self, value: DVec3, fourth: f64) {
        self.vector(value);
        self.float(fourth as f32);
    }

    pub(crate) fn zeros(&mut self, words: usize) {
        self.0.resize(self.0.len() + 4 * words, 0);
    }
}

/// The nearest number of the card's to each of a point's, and what is left.
pub(crate) fn split(point: DVec3) -> (DVec3, DVec3) {
    let high = point.as_vec3().as_dvec3();
    (high, point - high)
}

/// Adds a placement: a solid at a pose, seen from an eye; its things are numbered from `first`.
pub(crate) fn placement(words: &mut Words, pose: &Pose, eye_m: DVec3, first: u32) {
    let world_from_solid = DMat3::from_quat(pose.orientation);
    let (high, low) = split(world_from_solid.transpose() * (eye_m - pose.position_m));
    for axis in 0..3 {
        words.row(world_from_solid.row(axis), high[axis]);
    }
    words.vector(low);
    words.number(first);
}

/// A map of shadows.
#[derive(Clone, Copy)]
pub(crate) struct Cascade {
    /// Rows from the eye's frame to the map, and what is added.
    pub(crate) rows: [(DVec3, f64); 3],
    /// Depth up to which it serves, m.
    pub(crate) depth_m: f64,
    /// Width of a texel, m.
    pub(crate) texel_m: f64,
}

impl Cascade {
    pub(crate) fn write(&self, words: &mut Words) {
        self.rows.iter().for_each(|&(row, offset)| words.row(row, offset));
        words.floats(&[self.depth_m as f32, self.texel_m as f32, 0.0, 0.0]);
    }
}

/// What lights an image.
#[derive(Default)]
pub(crate) struct Lighting {
    pub(crate) towards_sun: DVec3,
    pub(crate) sun: [f32; 3],
    pub(crate) ambient: [f32; 3],
    pub(crate) zenith: [f32; 3],
    pub(crate) horizon: [f32; 3],
    pub(crate) cascades: Vec<Cascade>,
    /// From the eye, m, and how much light at one metre.
    pub(crate) lamps: Vec<(DVec3, [f32; 3])>,
    /// Normals of planes, and their distance from the eye along these, m.
    pub(crate) planes: Vec<(DVec3, f64)>,
}

/// Writes all about a view: see `View` in the program. `reach_m` is along rays, `ray_rad` between them.
pub(crate) fn view(words: &mut Words, pinhole: &Pinhole, reach_m: [f64; 2], ray_rad: f64, lighting: &Lighting) {
    words.clear();
    let turn = DMat3::from_quat(pinhole.pose.orientation).transpose();
    (0..3).for_each(|axis| words.row(turn.row(axis), 0.0));
    let of = |pair: [f64; 2]| pair.map(|value| value as f32);
    words.floats(&of(pinhole.scale));
    words.floats(&of(pinhole.offset));
    words.floats(&[pinhole.columns as f32, pinhole.rows as f32, pinhole.near_m as f32, pinhole.far_m as f32]);
    words.floats(&of(reach_m));
    words.floats(&[ray_rad as f32, lighting.cascades.len() as f32]);
    let colour = |words: &mut Words, rgb: [f32; 3], fourth: usize| {
        words.floats(&rgb);
        words.float(fourth as f32);
    };
    words.row(lighting.towards_sun, 0.0);
    colour(words, lighting.sun, lighting.lamps.len());
    colour(words, lighting.ambient, lighting.planes.len());
    colour(words, lighting.zenith, 0);
    colour(words, lighting.horizon, 0);
    lighting.cascades.iter().for_each(|cascade| cascade.write(words));
    words.zeros(16 * (CASCADES - lighting.cascades.len()));
    for &(at_m, light) in &lighting.lamps {
        words.row(at_m, 0.0);
        colour(words, light, 0);
    }
    words.zeros(8 * (LAMPS - lighting.lamps.len()));
    lighting.planes.iter().for_each(|&(normal, offset_m)| words.row(normal, offset_m));
    words.zeros(4 * (PLANES - lighting.planes.len()));
}
