//! What surfaces look like, to cameras and to range sensors: colour, texture, material. Data only; whoever draws or measures
//! decides what to make of it.

use std::sync::Arc;

/// What the surface of a solid is like.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Skin {
    /// Red, green and blue from 0 to 1, as displays understand them (sRGB); up to whoever draws it if none. A texture is
    /// multiplied by it.
    pub colour: Option<[f32; 3]>,
    /// What is painted on it.
    pub texture: Option<Arc<Texture>>,
    /// How often the texture repeats where a shape has no texture coordinates of its own: after so many metres along each
    /// axis of the shape, m.
    pub texture_size_m: f32,
    /// Its material, as an index into [`crate::model::Environment::materials`].
    pub material: u16,
}

impl Skin {
    /// What it looks like from afar: its colour, and the mean of its texture.
    pub fn mean_colour(&self) -> Option<[f32; 3]> {
        let texture = self.texture.as_ref().map(|texture| texture.mean());
        match (self.colour, texture) {
            (Some(colour), Some(mean)) => Some([0, 1, 2].map(|channel| colour[channel] * mean[channel])),
            (colour, texture) => colour.or(texture),
        }
    }
}

/// An image, row by row from the top.
#[derive(Debug, Clone, PartialEq)]
pub struct Texture {
    /// Pixels in a row.
    pub columns: usize,
    /// Red, green and blue of each pixel, sRGB.
    pub pixels: Vec<[u8; 3]>,
}

impl Texture {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.pixels.len() / self.columns.max(1)
    }

    /// The mean of all pixels, from 0 to 1.
    pub fn mean(&self) -> [f32; 3] {
        let full = 255.0 * self.pixels.len().max(1) as f64;
        let sum = |channel: usize| self.pixels.iter().map(|pixel| u64::from(pixel[channel])).sum::<u64>();
        [0, 1, 2].map(|channel| (sum(channel) as f64 / full) as f32)
    }
}

/// Skins of the triangles of a mesh.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Paint {
    /// What it is painted with; materials here count from 0 for the solid's own.
    pub skins: Vec<Skin>,
    /// The skin of each triangle, beyond the skins for that of the solid; empty if all have the first.
    pub skin_of: Vec<u16>,
    /// Texture coordinates of the three corners of each triangle, v upwards; empty if there are none.
    pub corners_uv: Vec<[[f32; 2]; 3]>,
}

impl Paint {
    /// The skin of a triangle; none if it looks like the solid.
    pub fn skin(&self, triangle: usize) -> Option<&Skin> {
        self.skins.get(usize::from(self.skin_of.get(triangle).copied().unwrap_or(0)))
    }
}
