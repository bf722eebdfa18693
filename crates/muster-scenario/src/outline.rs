//! Outlines in scenario files: which shape a block means. The same words for robots, their parts and obstacles.

use glam::DVec3;
use muster_core::expression::{Expression, ExpressionError, FUNCTIONS};
use muster_core::shape::{Heights, Mesh, Shape};
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
    /// Triangles.
    pub struct MeshText {
        /// Corners.
        vertices_m: Vec<[f64; 3]>;
        /// Three corners each, counted from 0; they turn left seen from outside.
        triangles: Vec<[f64; 3]>;
    }
}

spec! {
    /// Terrain over a rectangle.
    pub struct TerrainText {
        /// Length along x and y.
        size_m: [f64; 2], in 1e-3..=1e6;
        /// Between two heights.
        resolution_m: f64 = 1.0, in 1e-3..=1e6;
        /// Height in m as an expression of x and y in m, such as `2 * sin(x / 10) + 0.1 * y`.
        height: String;
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
                $($rest)*
            }
        }

        impl $name {
            /// The shapes that are written, each as what it means.
            pub(crate) fn shapes(&self) -> Vec<Result<muster_core::shape::Shape, String>> {
                $crate::outline::shapes(&$crate::outline::Words {
                    sphere_radius_m: self.sphere_radius_m,
                    box_size_m: self.box_size_m,
                    cylinder: self.cylinder.as_ref(),
                    capsule: self.capsule.as_ref(),
                    cone: self.cone.as_ref(),
                    mesh: self.mesh.as_ref(),
                })
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
}

pub(crate) fn shapes(words: &Words<'_>) -> Vec<Result<Shape, String>> {
    let round = |text: &RoundText| (text.radius_m, 0.5 * text.height_m);
    let all = [
        words.sphere_radius_m.map(|radius_m| Ok(Shape::Sphere { radius_m })),
        words.box_size_m.map(|size| Ok(Shape::Box { half_m: DVec3::from(size) * 0.5 })),
        words.cylinder.map(round).map(|(radius_m, half_height_m)| Ok(Shape::Cylinder { radius_m, half_height_m })),
        words.capsule.map(|text| Ok(Shape::Capsule { radius_m: text.radius_m, half_height_m: 0.5 * text.length_m })),
        words.cone.map(round).map(|(radius_m, half_height_m)| Ok(Shape::Cone { radius_m, half_height_m })),
        words.mesh.map(mesh),
    ];
    all.into_iter().flatten().collect()
}

/// Triangles whose height is not more than this share of their length have no side to touch.
const FLAT: f64 = 1e-12;

fn mesh(text: &MeshText) -> Result<Shape, String> {
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

/// Evaluates the heights of a terrain.
pub(crate) fn terrain(text: &TerrainText) -> Result<Shape, String> {
    let written = &text.height;
    let wrong = |error: ExpressionError| format!("{} in height {written:?}, expected {}", error.found, error.expected);
    let height = Expression::parse(written).map_err(wrong)?;
    if let Some(unknown) = height.variables().into_iter().find(|name| !["x", "y"].contains(name)) {
        return Err(format!("{unknown:?} in height {written:?}, expected x and y only"));
    }
    if let Some(unknown) = height.functions().first() {
        let names: Vec<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
        return Err(format!("function {unknown:?} in height {written:?}, expected one of {}", names.join(", ")));
    }
    let [columns, rows] = text.size_m.map(|size| (size / text.resolution_m).ceil() + 1.0);
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
