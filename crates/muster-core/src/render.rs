//! Pictures of the frozen world, by an engine that the rim chooses: none, the processor, or a graphics card. The core knows
//! what a picture is, not how one is made.

pub mod depth;
pub mod lens;

use crate::component::Pose;
use crate::ray::{Hit, Thing};
use crate::shape::Shape;
use crate::snapshot::Snapshot;
use lens::Lens;

/// From where, and through what pinhole, a picture is taken: x forward, y left, z up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// `world_from_camera`.
    pub pose: Pose,
    /// Pixels in a row.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
    /// Tangent of half the aperture from left to right.
    pub tan_half_width: f64,
    /// Tangent of half the aperture from top to bottom.
    pub tan_half_height: f64,
    /// What is nearer along the viewing axis is cut off, m.
    pub near_m: f64,
    /// What is further along the viewing axis is cut off, m.
    pub far_m: f64,
    /// The robot that takes it, which is not in it.
    pub without: Option<usize>,
}

/// What can be in a picture, pixel by pixel, row by row from the top; empty if it was not asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Picture {
    /// Depth as a depth buffer has it: 0 at the near plane, 1 at the far plane, hyperbolic between.
    pub depth: Vec<f32>,
    /// What is seen.
    pub things: Vec<Thing>,
    /// Which of its triangles: for meshes and terrain by their number, for others by that of a triangle they were drawn
    /// with. There with the things.
    pub triangles: Vec<u32>,
}

/// From where, and through what lens, an image is taken.
#[derive(Debug, Clone, Copy)]
pub struct Shot<'a> {
    /// `world_from_camera`: x forward, y left, z up.
    pub pose: Pose,
    /// The lens.
    pub lens: &'a Lens,
    /// What is nearer along a ray is passed through, m.
    pub near_m: f64,
    /// What is further along a ray is not seen, m.
    pub far_m: f64,
    /// The robot that takes it, which is not in it.
    pub without: Option<usize>,
    /// Whether it is asked what the rays met, beside the light.
    pub hits: bool,
}

/// What a lens saw, ray by ray, row by row from the top.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Film {
    /// Red, green and blue as linear light: 1 is white in the sun of a clear day.
    pub light: Vec<[f32; 3]>,
    /// What the rays met; empty if it was not asked for.
    pub hits: Vec<Hit>,
}

/// What is asked of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted {
    /// What is seen where, beside its depth.
    pub things: bool,
}

/// Makes pictures.
pub trait Renderer: Send + Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// False if it makes no pictures at all.
    fn draws(&self) -> bool {
        true
    }

    /// False if the bits of its pictures depend on the machine: whatever is made of them is outside of the promise of equal
    /// hashes.
    fn is_deterministic(&self) -> bool {
        true
    }

    /// What its pictures can have beside depth. What else is asked for stays empty.
    fn offers(&self) -> Wanted;

    /// By how much the surface of a shape is drawn wrong at most, measured along its normal and seen from a distance, m.
    fn shape_error_m(&self, _shape: &Shape, _distance_m: f64) -> f64 {
        0.0
    }

    /// Takes a picture and shows it. It belongs to the engine, which keeps room for the next one.
    fn take(&self, world: &Snapshot, view: &View, wanted: Wanted, show: &mut dyn FnMut(&Picture));

    /// Takes an image in colour and shows it; an engine without colours shows none. It belongs to the engine, too.
    fn expose(&self, world: &Snapshot, shot: &Shot<'_>, show: &mut dyn FnMut(&Film)) {
        _ = (world, shot, show);
    }
}

/// The engine that makes no pictures: for runs whose images nobody wants.
#[derive(Debug, Clone, Copy, Default)]
pub struct Null;

impl Renderer for Null {
    fn name(&self) -> &'static str {
        "null"
    }

    fn draws(&self) -> bool {
        false
    }

    fn offers(&self) -> Wanted {
        Wanted::default()
    }

    fn take(&self, _: &Snapshot, _: &View, _: Wanted, _: &mut dyn FnMut(&Picture)) {}
}
