//! The engine that draws on a graphics card, by Vulkan or OpenGL.
//!
//! It draws what the engine of the processor draws: triangles of all shapes with the same stated error, planes without an
//! end, textures at the same levels, one sun, light from everywhere, sky. Depths follow from the planes of triangles, in
//! numbers of 32 bits relative to the eye: to what the shapes are wrong by comes their rounding, 4e-7 of the longest edge
//! of a triangle. Different from there:
//!
//! - shadows of the sun come from maps, whose texels are about as large as pixels; lamps light through things
//! - lenses with distortion look up a pinhole with pixels at least as fine as their rays; lenses wider than 160° are left to
//!   the processor
//! - round things that stand still are drawn with all their triangles
//! - bits depend on the card and its driver: [`Renderer::is_deterministic`] says so
//!
//! What the card cannot hold (pictures larger than its textures) and what it fails to draw is drawn by the processor.

mod bench;
mod card;
mod easel;
mod format;
mod lens;
mod shadow;
mod stock;

use crate::Cpu;
use crate::frustum::Frustum;
use crate::tessellate::geometry_error_m;
use bench::Bench;
use card::{Card, Pipelines};
use lens::Pinhole;
use muster_core::model::Cohort;
use muster_core::render::{Film, Picture, Renderer, Shot, View, Wanted};
use muster_core::shape::{Mesh, Shape};
use muster_core::simd::Simd;
use muster_core::snapshot::Snapshot;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use stock::Stock;

pub use card::NoGpu;

/// What a depth is wrong by for each metre of the longest edge of a triangle.
const ROUNDING: f64 = 4e-7;

/// Draws on a graphics card.
pub struct Gpu {
    card: Card,
    pipelines: Pipelines,
    stock: RwLock<Stock>,
    /// Work benches that no thread uses right now.
    idle: Mutex<Vec<Bench>>,
    /// Draws what the card cannot.
    cpu: Cpu,
}

impl Gpu {
    /// Opens the best card there is; an error says what was found.
    pub fn open(simd: Simd) -> Result<Self, NoGpu> {
        let card = Card::open()?;
        let pipelines = Pipelines::new(&card.device);
        let stock = RwLock::new(Stock::new(&card, &pipelines));
        Ok(Self { card, pipelines, stock, idle: Mutex::default(), cpu: Cpu::new(simd) })
    }

    /// The name of the card, and how it is spoken to.
    pub fn card(&self) -> String {
        self.card.described()
    }

    /// False if the card is a program on the processor, which is slower than [`Cpu`].
    pub fn is_hardware(&self) -> bool {
        self.card.is_hardware()
    }

    /// Makes sure that all there is to see is on the card.
    fn learn(&self, world: &Snapshot) {
        let unknown = |stock: &Stock| {
            let mut last: *const Cohort = std::ptr::null();
            world.bodies.iter().position(|body| {
                let known = std::ptr::eq(last, Arc::as_ptr(&body.cohort)) || stock.kit(&body.cohort).is_some();
                last = Arc::as_ptr(&body.cohort);
                !known
            })
        };
        {
            let stock = self.stock.read().unwrap_or_else(PoisonError::into_inner);
            if stock.stage(&world.environment).is_some() && unknown(&stock).is_none() {
                return;
            }
        }
        let mut stock = self.stock.write().unwrap_or_else(PoisonError::into_inner);
        if stock.stage(&world.environment).is_none() {
            stock.add_stage(&world.environment, &self.card, &self.pipelines);
        }
        while let Some(at) = unknown(&stock) {
            stock.add_kit(&world.bodies[at].cohort, &self.card, &self.pipelines);
        }
    }

    fn holds(&self, columns: usize, rows: usize) -> bool {
        columns.max(rows) <= self.card.side_max as usize
    }

    /// Works at a bench with everything on the card; `None` if that fails.
    fn work(&self, world: &Snapshot, work: impl FnOnce(&mut Bench, &Stock) -> Option<()>) -> Option<()> {
        self.learn(world);
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let bench = idle().pop();
        let mut bench = bench.unwrap_or_else(|| Bench::new(&self.card, &self.pipelines));
        let stock = self.stock.read().unwrap_or_else(PoisonError::into_inner);
        let done = work(&mut bench, &stock);
        if done.is_some() {
            idle().push(bench);
        }
        done
    }
}

impl Renderer for Gpu {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn is_deterministic(&self) -> bool {
        false
    }

    fn offers(&self) -> Wanted {
        Wanted { things: true }
    }

    fn shape_error_m(&self, shape: &Shape, distance_m: f64) -> f64 {
        geometry_error_m(shape, distance_m) + ROUNDING * longest_edge_m(shape)
    }

    fn take(&self, world: &Snapshot, view: &View, wanted: Wanted, show: &mut dyn FnMut(&Picture)) {
        let frustum = Frustum::new(view).filter(|_| self.holds(view.columns, view.rows));
        let taken = frustum.and_then(|frustum| {
            self.work(world, |bench, stock| {
                bench.take((&self.card, &self.pipelines), stock, (world, view, &frustum), wanted)?;
                show(&bench.picture);
                Some(())
            })
        });
        if taken.is_none() {
            self.cpu.take(world, view, wanted, show);
        }
    }

    fn expose(&self, world: &Snapshot, shot: &Shot<'_>, show: &mut dyn FnMut(&Film)) {
        let pinhole = Pinhole::of_shot(shot).filter(|(pinhole, _)| self.holds(pinhole.columns, pinhole.rows));
        let exposed = pinhole.and_then(|(pinhole, straight)| {
            self.work(world, |bench, stock| {
                bench.expose((&self.card, &self.pipelines), stock, (world, shot, &pinhole), straight)?;
                show(&bench.film);
                Some(())
            })
        });
        if exposed.is_none() {
            self.cpu.expose(world, shot, show);
        }
    }
}

/// The longest edge among the triangles of a shape, m; round shapes are wrong by far more than rounding.
fn longest_edge_m(shape: &Shape) -> f64 {
    let of_mesh = |mesh: &Mesh| {
        let corner = |index: u32| mesh.vertices_m.get(index as usize).copied().unwrap_or_default();
        let edges = mesh.triangles.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]);
        edges.map(|(a, b)| corner(a).distance(corner(b))).fold(0.0, f64::max)
    };
    match shape {
        Shape::Box { half_m } => 2.0 * half_m.length(),
        Shape::Mesh(mesh) => of_mesh(mesh),
        Shape::Heightfield(heights) => {
            let edges = |[a, b, c]: [glam::DVec3; 3]| a.distance(b).max(b.distance(c)).max(c.distance(a));
            (0..heights.triangle_count()).map(|number| edges(heights.triangle_m(number))).fold(0.0, f64::max)
        }
        _ => 0.0,
    }
}
