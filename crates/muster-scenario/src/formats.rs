//! Readers of other programs' files: meshes (OBJ, STL, glTF, COLLADA) and images (PNG, JPEG, PGM, PPM). Pure functions of
//! bytes: they open no file themselves, never panic, and what they make is bounded by the limits below, because such files
//! come from anywhere.
//!
//! Frames. Ours is x forward, y left, z up, in metres. A file is turned into it, never mirrored:
//! - glTF is y up, z forward, x left, in metres: (x, y, z) becomes (z, x, y).
//! - COLLADA says which axis is up and how long its unit is. Y up becomes z up by a quarter turn about x: (x, y, z) becomes
//!   (x, -z, y); x up by (x, y, z) to (-y, -z, x), which is what its specification calls the same picture.
//! - OBJ and STL say neither: they are taken as they are, z up and in metres, or with `up: y` turned as COLLADA is.

mod collada;
mod gltf;
pub mod image;
mod obj;
mod polygon;
mod stl;
#[cfg(test)]
mod testing;
mod uri;

use glam::{DMat3, DMat4, DVec3};
use muster_core::shape::Mesh;
use muster_core::skin::{Paint, Skin, Texture};
use std::fmt;
use std::sync::Arc;

/// Most bytes of a file.
pub const BYTES_MAX: usize = 128 * 1024 * 1024;
/// Most corners of a mesh.
pub const VERTICES_MAX: usize = 4_000_000;
/// Most triangles of a mesh.
pub const TRIANGLES_MAX: usize = 4_000_000;
/// Most different skins of a mesh; the index of a triangle that has none is beyond them.
pub const SKINS_MAX: usize = 4096;
/// Most levels of nodes inside each other.
pub const DEPTH_MAX: usize = 64;
/// Furthest from the origin a corner may be, in the file's unit and in metres.
pub const FAR_MAX: f64 = 1e9;

/// The index of a skin for triangles that look like the solid they are the outline of.
const NO_SKIN: u16 = u16::MAX;

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
    /// Where in the file: `on line 7`; empty if it is the file as a whole.
    pub place: String,
}

impl Fault {
    /// A fault of the whole file, as long as no place is given.
    pub fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { found: found.into(), expected: expected.into(), place: String::new() }
    }

    /// The same fault on a line, counted from 1.
    fn on_line(self, line: usize) -> Self {
        self.at(&format!("on line {line}"))
    }

    /// The same fault at a byte, counted from 0.
    fn at_byte(self, byte: usize) -> Self {
        self.at(&format!("at byte {byte}"))
    }

    /// The same fault somewhere, unless it already knows better.
    fn at(mut self, place: &str) -> Self {
        if self.place.is_empty() {
            self.place = place.to_owned();
        }
        self
    }

    /// The same fault in a file that another one names.
    pub fn of(mut self, file: &str) -> Self {
        let place = std::mem::take(&mut self.place);
        self.place = if place.is_empty() { format!("in {file}") } else { format!("{place} of {file}") };
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.place.is_empty() { String::new() } else { format!(" {}", self.place) };
        write!(f, "found {}{place}, expected {}", self.found, self.expected)
    }
}

/// The files that lie beside the one that is read.
pub trait Beside {
    /// The bytes of a file, by its name relative to the one that is read.
    fn bytes(&mut self, name: &str) -> Result<Arc<[u8]>, Fault>;

    /// The image in a file.
    fn texture(&mut self, name: &str) -> Result<Arc<Texture>, Fault> {
        let bytes = self.bytes(name)?;
        image::texture(&bytes).map(Arc::new).map_err(|fault| fault.of(name))
    }
}

/// A file that has nothing beside it.
pub struct Alone;

impl Beside for Alone {
    fn bytes(&mut self, name: &str) -> Result<Arc<[u8]>, Fault> {
        Err(Fault::new(format!("a reference to {name:?}"), "a file that needs no other"))
    }
}

muster_core::choice! {
    /// Which axis of a mesh file points up.
    pub enum Up { Z = "z", Y = "y" }
}

/// A kind of mesh file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Wavefront OBJ with MTL materials.
    Obj,
    /// Stereolithography, as text or binary.
    Stl,
    /// glTF 2.0, as text or binary.
    Gltf,
    /// COLLADA 1.4 and 1.5.
    Collada,
}

impl Format {
    /// The endings of file names.
    pub const ENDINGS: &[(&str, Self)] =
        &[("obj", Self::Obj), ("stl", Self::Stl), ("gltf", Self::Gltf), ("glb", Self::Gltf), ("dae", Self::Collada)];

    /// The format of a file, by its name.
    pub fn of(name: &str) -> Result<Self, Fault> {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
        let known = Self::ENDINGS.iter().find(|(known, _)| *known == ending);
        known.map(|(_, format)| *format).ok_or_else(|| {
            let endings: Vec<String> = Self::ENDINGS.iter().map(|(ending, _)| format!(".{ending}")).collect();
            Fault::new(format!("{name:?}"), format!("a mesh whose name ends in {}", endings.join(", ")))
        })
    }

    /// Reads a mesh. `up` overrides what the format or the file says.
    pub fn read(self, bytes: &[u8], up: Option<Up>, beside: &mut dyn Beside) -> Result<Mesh, Fault> {
        let (draft, frame) = match self {
            Self::Obj => obj::read(bytes, beside),
            Self::Stl => stl::read(bytes),
            Self::Gltf => gltf::read(bytes, beside),
            Self::Collada => collada::read(bytes, beside),
        }?;
        let axes = match (up, self) {
            (None, _) => frame.axes,
            (Some(Up::Z), _) => Axes::AsIs,
            (Some(Up::Y), Self::Gltf) => Axes::Gltf,
            (Some(Up::Y), _) => Axes::YUp,
        };
        draft.finish(axes.turn() * frame.unit_m)
    }
}

/// The frame of a file.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Frame {
    axes: Axes,
    unit_m: f64,
}

impl Frame {
    const OURS: Self = Self { axes: Axes::AsIs, unit_m: 1.0 };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Axes {
    AsIs,
    Gltf,
    YUp,
    XUp,
}

impl Axes {
    /// `ours_from_file`.
    fn turn(self) -> DMat3 {
        let (x, y, z) = (DVec3::X, DVec3::Y, DVec3::Z);
        match self {
            Self::AsIs => DMat3::IDENTITY,
            Self::Gltf => DMat3::from_cols(y, z, x),
            Self::YUp => DMat3::from_cols(x, z, -y),
            Self::XUp => DMat3::from_cols(z, -x, -y),
        }
    }
}

/// A corner of a polygon: its vertex, and its texture coordinates if it has some.
type Corner = (u32, Option<[f32; 2]>);

/// A mesh that is being read.
#[derive(Debug, Default)]
struct Draft {
    vertices: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    skins: Vec<Skin>,
    skin_of: Vec<u16>,
    /// As long as the triangles, or empty up to the first one that has any.
    corners_uv: Vec<[[f32; 2]; 3]>,
    /// Triangles that were left out: they count, else a small file could ask for endless work.
    left_out: usize,
}

impl Draft {
    /// Adds a vertex.
    fn vertex(&mut self, at: DVec3) -> Result<u32, Fault> {
        if !at.is_finite() || at.abs().max_element() > FAR_MAX {
            let expected = format!("coordinates of at most {FAR_MAX:e}");
            return Err(Fault::new(format!("a corner at ({}, {}, {})", at.x, at.y, at.z), expected));
        }
        if self.vertices.len() == VERTICES_MAX {
            return Err(Fault::new("more corners", format!("at most {VERTICES_MAX}")));
        }
        self.vertices.push(at);
        Ok((self.vertices.len() - 1) as u32)
    }

    /// Adds a skin, once.
    fn skin(&mut self, skin: Skin) -> Result<u16, Fault> {
        let same = |known: &Skin| {
            let texture = match (&known.texture, &skin.texture) {
                (None, None) => true,
                (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                _ => false,
            };
            texture && known.colour == skin.colour
        };
        if let Some(known) = self.skins.iter().position(same) {
            return Ok(known as u16);
        }
        if self.skins.len() == SKINS_MAX {
            return Err(Fault::new("more materials", format!("at most {SKINS_MAX}")));
        }
        self.skins.push(skin);
        Ok((self.skins.len() - 1) as u16)
    }

    /// Adds a polygon, cut into triangles.
    fn polygon(&mut self, corners: &[Corner], skin: Option<u16>) -> Result<(), Fault> {
        let place = |corner: &Corner| self.vertices.get(corner.0 as usize).copied();
        let Some(places) = corners.iter().map(place).collect::<Option<Vec<DVec3>>>() else {
            return Err(Fault::new("a corner that is not there", format!("fewer than {}", self.vertices.len())));
        };
        for triangle in polygon::triangles(&places)? {
            self.triangle(triangle.map(|at| corners[at]), skin)?;
        }
        Ok(())
    }

    /// Adds a triangle of vertices that exist; one whose corners are not three is left out.
    fn triangle(&mut self, corners: [Corner; 3], skin: Option<u16>) -> Result<(), Fault> {
        let [a, b, c] = corners.map(|(vertex, _)| vertex);
        if self.triangles.len() + self.left_out == TRIANGLES_MAX {
            return Err(Fault::new("more triangles", format!("at most {TRIANGLES_MAX}")));
        }
        if a == b || b == c || c == a {
            self.left_out += 1;
            return Ok(());
        }
        let uv = corners.map(|(_, uv)| uv.filter(|uv| uv.iter().all(|part| part.is_finite())));
        if !self.corners_uv.is_empty() || uv.iter().any(Option::is_some) {
            self.corners_uv.resize(self.triangles.len(), [[0.0; 2]; 3]);
            self.corners_uv.push(uv.map(Option::unwrap_or_default));
        }
        self.triangles.push([a, b, c]);
        self.skin_of.push(skin.unwrap_or(NO_SKIN));
        Ok(())
    }

    /// The mesh in our frame, with the vertices its triangles have and no others.
    fn finish(self, ours_from_file: DMat3) -> Result<Mesh, Fault> {
        if self.triangles.is_empty() {
            return Err(Fault::new("no triangles", "at least one"));
        }
        const UNUSED: u32 = u32::MAX;
        let mut number = vec![UNUSED; self.vertices.len()];
        let mut vertices_m = Vec::new();
        let mut triangles = self.triangles;
        for corner in triangles.iter_mut().flatten() {
            let at = *corner as usize;
            if number[at] == UNUSED {
                number[at] = vertices_m.len() as u32;
                vertices_m.push(ours_from_file * self.vertices[at]);
            }
            *corner = number[at];
        }
        if let Some(far) = vertices_m.iter().find(|at| at.abs().max_element() > FAR_MAX) {
            return Err(Fault::new(format!("a corner at {far} m"), format!("at most {FAR_MAX:e} m from the origin")));
        }
        let painted = !self.skins.is_empty() || !self.corners_uv.is_empty();
        let skin_of = if self.skins.is_empty() { Vec::new() } else { self.skin_of };
        let paint = painted.then_some(Paint { skins: self.skins, skin_of, corners_uv: self.corners_uv });
        Ok(Mesh { vertices_m, triangles, paint })
    }
}

/// Corners of triangles in the order seen from outside: a transform that mirrors turns them round.
fn outward(corners: [Corner; 3], transform: &DMat4) -> [Corner; 3] {
    let [a, b, c] = corners;
    if transform.determinant() < 0.0 { [a, c, b] } else { corners }
}

/// A skin of a colour and a texture.
fn skin(colour: Option<[f32; 3]>, texture: Option<Arc<Texture>>) -> Skin {
    Skin { colour, texture, texture_size_m: 1.0, material: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_turned_and_never_mirrored() {
        for axes in [Axes::AsIs, Axes::Gltf, Axes::YUp, Axes::XUp] {
            assert_eq!(axes.turn().determinant(), 1.0, "{axes:?}");
        }
        let at = DVec3::new(1.0, 2.0, 3.0);
        assert_eq!(Axes::Gltf.turn() * at, DVec3::new(3.0, 1.0, 2.0));
        assert_eq!(Axes::YUp.turn() * at, DVec3::new(1.0, -3.0, 2.0));
        assert_eq!(Axes::XUp.turn() * at, DVec3::new(-2.0, -3.0, 1.0));
    }

    #[test]
    fn the_format_follows_the_ending_whatever_its_case() {
        assert_eq!(Format::of("models/House.GLB").unwrap(), Format::Gltf);
        let fault = Format::of("house.fbx").unwrap_err();
        assert_eq!(
            fault.to_string(),
            "found \"house.fbx\", expected a mesh whose name ends in .obj, .stl, .gltf, .glb, .dae"
        );
    }

    #[test]
    fn vertices_without_triangles_are_dropped_and_missing_coordinates_are_zero() {
        let mut draft = Draft::default();
        let corners: Vec<u32> =
            (0..5).map(|x| draft.vertex(DVec3::new(f64::from(x), f64::from(x * x), 0.0)).unwrap()).collect();
        draft.triangle([(corners[1], None), (corners[2], None), (corners[4], None)], None).unwrap();
        draft.triangle([(corners[1], Some([0.5; 2])), (corners[2], None), (corners[3], None)], None).unwrap();
        let mesh = draft.finish(DMat3::IDENTITY * 2.0).unwrap();
        assert_eq!(mesh.vertices_m.len(), 4);
        assert_eq!(mesh.vertices_m[mesh.triangles[0][2] as usize], DVec3::new(8.0, 32.0, 0.0));
        let paint = mesh.paint.unwrap();
        assert_eq!(paint.corners_uv, [[[0.0; 2]; 3], [[0.5; 2], [0.0; 2], [0.0; 2]]]);
        assert!(paint.skin(0).is_none());
    }
}
