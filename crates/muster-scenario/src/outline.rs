//! Outlines in scenario files: which shape a block means, and what it looks like. The same words for robots, their parts
//! and obstacles.

use crate::assets::{MeshOptions, Written, Wrong};
use crate::files::Files;
use crate::formats::{Up, image};
use crate::skins::SkinText;
use glam::DVec3;
use muster_core::expression::{Expression, ExpressionError, FUNCTIONS};
use muster_core::shape::{Heights, Mesh, Shape, Solid};
use muster_core::spec;
use std::sync::Arc;

spec! {
    /// A cylinder or cone along z.
    pub struct RoundText {
        /// Radius.
        radius_m: f64, in 1e-6..=1e6;
        /// From end to end.
        height_m: f64, in 1e-6..=1e6;
    }
}

spec! {
    /// A cylinder along z with a half ball at each end.
    pub struct CapsuleText {
        /// Radius.
        radius_m: f64, in 1e-6..=1e6;
        /// Between the centres of its ends.
        length_m: f64, in 0.0..=1e6;
    }
}

spec! {
    /// Triangles: a file, or corners and triangles.
    pub struct MeshText {
        /// A file: OBJ, STL, glTF (`.gltf`, `.glb`) or COLLADA (`.dae`).
        file: Option<Written>;
        /// Makes what the file holds so many times as large.
        scale: Option<f64>, in 1e-6..=1e6;
        /// Which axis of the file points up; by its format if none is given: y for glTF, what the file says for COLLADA, else z.
        up: Option<Up>;
        /// Corners.
        vertices_m: Vec<[f64; 3]> = Vec::new();
        /// Three corners each, counted from 0; they turn left seen from outside.
        triangles: Vec<[f64; 3]> = Vec::new();
    }
}

spec! {
    /// Terrain over a rectangle: an expression, or an image.
    pub struct TerrainText {
        /// Length along x and y.
        size_m: [f64; 2], in 1e-3..=1e6;
        /// Between two heights of an expression; 1 m if none is given.
        resolution_m: Option<f64>, in 1e-3..=1e6;
        /// Height in m as an expression of x and y in m, such as `2 * sin(x / 10) + 0.1 * y`.
        height: Option<String>;
        /// A grey image, north up: PNG or PGM, with 8 or 16 bits a pixel.
        image: Option<Written>;
        /// Heights of black and of white pixels of the image.
        height_m: Option<[f64; 2]>, in -1e5..=1e5;
    }
}

/// A `spec!` with the words for outlines in front.
macro_rules! outlined {
    (#[doc = $about:literal] pub struct $name:ident { $($rest:tt)* }) => {
        muster_core::spec! {
            #[doc = $about]
            pub struct $name {
                /// A ball: its radius.
                sphere_radius_m: Option<f64>, in 1e-6..=1e6;
                /// A box: its length, width and height.
                box_size_m: Option<[f64; 3]>, in 1e-6..=1e6;
                /// A cylinder along z.
                cylinder: Option<$crate::outline::RoundText>;
                /// A capsule along z.
                capsule: Option<$crate::outline::CapsuleText>;
                /// A cone along z, its tip up.
                cone: Option<$crate::outline::RoundText>;
                /// Triangles.
                mesh: Option<$crate::outline::MeshText>;
                /// What it looks like and is made of; in place of what a mesh file says.
                skin: $crate::skins::SkinText = $crate::skins::SkinText::NONE;
                /// Whether cameras and range sensors see it.
                visible: bool = true;
                /// Whether it touches anything; if not it is only to be seen.
                collides: bool = true;
                $($rest)*
            }
        }

        impl $name {
            /// The shapes that are written, each as what it means.
            pub(crate) fn solids(
                &self,
                files: &mut $crate::files::Files,
            ) -> Vec<Result<muster_core::shape::Solid, $crate::assets::Wrong>> {
                let words = $crate::outline::Words {
                    sphere_radius_m: self.sphere_radius_m,
                    box_size_m: self.box_size_m,
                    cylinder: self.cylinder.as_ref(),
                    capsule: self.capsule.as_ref(),
                    cone: self.cone.as_ref(),
                    mesh: self.mesh.as_ref(),
                    skin: &self.skin,
                };
                $crate::outline::solids(&words, files)
            }
        }
    };
}
pub(crate) use outlined;

/// The words of a block, each perhaps absent.
pub(crate) struct Words<'a> {
    pub(crate) sphere_radius_m: Option<f64>,
    pub(crate) box_size_m: Option<[f64; 3]>,
    pub(crate) cylinder: Option<&'a RoundText>,
    pub(crate) capsule: Option<&'a CapsuleText>,
    pub(crate) cone: Option<&'a RoundText>,
    pub(crate) mesh: Option<&'a MeshText>,
    pub(crate) skin: &'a SkinText,
}

pub(crate) fn solids(words: &Words<'_>, files: &mut Files) -> Vec<Result<Solid, Wrong>> {
    let round = |text: &RoundText| (text.radius_m, 0.5 * text.height_m);
    let analytic = [
        words.sphere_radius_m.map(|radius_m| Shape::Sphere { radius_m }),
        words.box_size_m.map(|size| Shape::Box { half_m: DVec3::from(size) * 0.5 }),
        words.cylinder.map(round).map(|(radius_m, half_height_m)| Shape::Cylinder { radius_m, half_height_m }),
        words.capsule.map(|text| Shape::Capsule { radius_m: text.radius_m, half_height_m: 0.5 * text.length_m }),
        words.cone.map(round).map(|(radius_m, half_height_m)| Shape::Cone { radius_m, half_height_m }),
    ];
    let analytic = analytic.into_iter().flatten().map(solid);
    analytic.chain(words.mesh.map(|text| mesh(text, words.skin, files))).collect()
}

/// Triangles whose height is not more than this share of their length have no side to touch.
const FLAT: f64 = 1e-12;

/// A shape, ready to be asked about.
pub(crate) fn solid(shape: Shape) -> Result<Solid, Wrong> {
    Solid::new(shape).map_err(|wrong| Wrong::told(&wrong, "a shape"))
}

/// The mesh of a file, or one that is written out.
fn mesh(text: &MeshText, skin: &SkinText, files: &mut Files) -> Result<Solid, Wrong> {
    let written = !text.vertices_m.is_empty() || !text.triangles.is_empty();
    match &text.file {
        Some(_) if written => Err(Wrong::new("file beside vertices_m and triangles", "one of both")),
        Some(file) => {
            let options = MeshOptions { scale: text.scale.unwrap_or(1.0), up: text.up, bare: skin.is_painted() };
            files.mesh(file, options)
        }
        None if !written => Err(Wrong::new("a mesh of nothing", "file, or vertices_m and triangles")),
        None if text.scale.is_some() || text.up.is_some() => {
            Err(Wrong::new("scale or up beside vertices_m", "them beside a file only"))
        }
        None => written_out(text).map_err(|wrong| Wrong::told(&wrong, "a mesh")).and_then(solid),
    }
}

fn written_out(text: &MeshText) -> Result<Shape, String> {
    let corner = |value: f64| match value {
        _ if value.fract() == 0.0 && value >= 0.0 && value < text.vertices_m.len() as f64 => Ok(value as u32),
        _ => Err(format!("corner {value}, expected a whole number below {}", text.vertices_m.len())),
    };
    let triangle = |[a, b, c]: &[f64; 3]| Ok::<[u32; 3], String>([corner(*a)?, corner(*b)?, corner(*c)?]);
    let triangles: Vec<[u32; 3]> = text.triangles.iter().map(triangle).collect::<Result<_, _>>()?;
    let vertices_m: Vec<DVec3> = text.vertices_m.iter().copied().map(DVec3::from).collect();
    if triangles.is_empty() {
        return Err("no triangles, expected at least one".to_owned());
    }
    let flat = |triangle: &&[u32; 3]| {
        let [a, b, c] = triangle.map(|corner| vertices_m[corner as usize]);
        let longest = (b - a).length_squared().max((c - a).length_squared());
        (b - a).cross(c - a).length() <= FLAT * longest
    };
    if let Some([a, b, c]) = triangles.iter().find(flat) {
        return Err(format!("triangle [{a}, {b}, {c}] without area, expected three corners that are not on one line"));
    }
    Ok(Shape::Mesh(Arc::new(Mesh { vertices_m, triangles, paint: None })))
}

/// The most heights a terrain may have.
const HEIGHTS_MAX: f64 = 4e6;

/// The heights of a terrain.
pub(crate) fn terrain(text: &TerrainText, files: &Files) -> Result<Solid, Wrong> {
    let shape = match (&text.height, &text.image) {
        (Some(height), None) if text.height_m.is_none() => {
            evaluated(text, height).map_err(|wrong| Wrong::told(&wrong, "a shape"))?
        }
        (None, Some(image)) if text.resolution_m.is_none() => pictured(text, image, files)?,
        (Some(_), None) => return Err(Wrong::new("height_m beside height", "it beside an image only")),
        (None, Some(_)) => return Err(Wrong::new("resolution_m beside image", "none: an image has its pixels")),
        (Some(_), Some(_)) => return Err(Wrong::new("height and image", "one of both")),
        (None, None) => return Err(Wrong::new("terrain without heights", "height or image")),
    };
    solid(shape)
}

/// Heights by the pixels of an image, from edge to edge.
fn pictured(text: &TerrainText, name: &Written, files: &Files) -> Result<Shape, Wrong> {
    let Some([low_m, high_m]) = text.height_m else {
        return Err(Wrong::new("image without height_m", "height_m: heights of black and of white").at(name));
    };
    let (found, bytes) = files.named_bytes(name)?;
    let grey = image::grey(&bytes).map_err(|fault| Wrong::from(fault.of(&found.path())).at(name))?;
    let (columns, rows) = (grey.columns, grey.rows());
    if columns < 2 || rows < 2 || (columns * rows) as f64 > HEIGHTS_MAX {
        let expected = format!("at least 2 by 2 and at most {HEIGHTS_MAX} together");
        return Err(Wrong::new(format!("{columns} by {rows} pixels of {}", found.path()), expected).at(name));
    }
    // the first row of an image is the northernmost
    let from_south = grey.values.chunks_exact(columns).rev().flatten();
    let heights_m = from_south.map(|value| low_m + (high_m - low_m) * value).collect();
    Ok(Shape::Heightfield(Arc::new(Heights { size_m: text.size_m, columns, heights_m })))
}

/// Heights by an expression.
fn evaluated(text: &TerrainText, written: &str) -> Result<Shape, String> {
    let resolution_m = text.resolution_m.unwrap_or(1.0);
    let wrong = |error: ExpressionError| format!("{} in height {written:?}, expected {}", error.found, error.expected);
    let height = Expression::parse(written).map_err(wrong)?;
    if let Some(unknown) = height.variables().into_iter().find(|name| !["x", "y"].contains(name)) {
        return Err(format!("{unknown:?} in height {written:?}, expected x and y only"));
    }
    if let Some(unknown) = height.functions().first() {
        let names: Vec<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
        return Err(format!("function {unknown:?} in height {written:?}, expected one of {}", names.join(", ")));
    }
    let [columns, rows] = text.size_m.map(|size| (size / resolution_m).ceil() + 1.0);
    if columns * rows > HEIGHTS_MAX || columns < 2.0 || rows < 2.0 {
        return Err(format!(
            "{columns} by {rows} heights, expected at least 2 by 2 and at most {HEIGHTS_MAX} together"
        ));
    }
    let (columns, rows) = (columns as usize, rows as usize);
    let at = |number: usize, count: usize, size: f64| size * (number as f64 / (count - 1) as f64 - 0.5);
    let mut heights_m = Vec::with_capacity(columns * rows);
    for row in 0..rows {
        for column in 0..columns {
            let (x, y) = (at(column, columns, text.size_m[0]), at(row, rows, text.size_m[1]));
            let value = height.eval(&mut |name| Some(if name == "x" { x } else { y }), &mut |_, _| None);
            heights_m.push(finite(value.map_err(|error| error.to_string())?)?);
        }
    }
    Ok(Shape::Heightfield(Arc::new(Heights { size_m: text.size_m, columns, heights_m })))
}

fn finite(height_m: f64) -> Result<f64, String> {
    if height_m.is_finite() {
        return Ok(height_m);
    }
    Err(format!("a height of {height_m}, expected an expression that is finite everywhere on the terrain"))
}
