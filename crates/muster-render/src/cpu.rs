//! The engine that draws on the processor: forms that may be seen are placed, their clusters sorted from near to far, and
//! triangles drawn eight at a time, each cluster only if what is drawn already does not hide it.

use crate::colour::Painter;
use crate::form::{Block, Form, LANES, Lane, blocks_of};
use crate::frustum::{Frustum, MARGIN_PX, Placed, Slope};
use crate::raster::{Canvas, Corner, TILE, Triangle, edges};
use crate::scene::{Library, ball, sees_ball};
use crate::tessellate::geometry_error_m;
use glam::DVec3;
use muster_core::component::Pose;
use muster_core::math;
use muster_core::model::Cohort;
use muster_core::ray::Thing;
use muster_core::render::{Film, Picture, Renderer, Shot, View, Wanted};
use muster_core::shape::Shape;
use muster_core::simd::Simd;
use muster_core::snapshot::Snapshot;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Draws on the processor: geometry by triangles, colours by rays.
pub struct Cpu {
    simd: Simd,
    library: RwLock<Library>,
    /// Work benches that no thread uses right now.
    idle: Mutex<Vec<Bench>>,
    painter: Painter,
}

/// A form in view.
struct Placement {
    /// The thing, as an index into the lines.
    line: u32,
    form: Arc<Form>,
    level: usize,
    placed: Placed,
}

/// A triangle in a picture.
#[derive(Clone, Copy)]
struct Drawn {
    /// The thing, as an index into the lines.
    line: u32,
    triangle: u32,
}

/// All that is needed for a picture, kept for the next one.
#[derive(Default)]
struct Bench {
    placements: Vec<Placement>,
    /// Clusters that may be seen: the placement and the cluster.
    clusters: Vec<(u32, u32)>,
    /// Their order: how near, then which.
    order: Vec<u64>,
    /// Planes that may be seen: the thing, as an index into the lines, and where.
    planes: Vec<(u32, Slope)>,
    /// What was drawn, by its number in the canvas; the first is nothing.
    drawn: Vec<Drawn>,
    /// A line of pixels of each thing that was placed; the first is nothing.
    lines: Vec<[Thing; TILE]>,
    canvas: Canvas,
    picture: Picture,
    /// Where things and triangles are while they are not asked for.
    spare: (Vec<Thing>, Vec<u32>),
}

impl Cpu {
    /// An engine for these registers.
    pub fn new(simd: Simd) -> Self {
        Self { simd, library: RwLock::default(), idle: Mutex::default(), painter: Painter::new(simd) }
    }

    /// Makes sure that all there is to see is in the library.
    fn learn(&self, world: &Snapshot) {
        let library = self.library.read().unwrap_or_else(PoisonError::into_inner);
        let known = library.scene(&world.environment).is_some();
        let first_new = |library: &Library, from: usize| {
            let cohorts = world.bodies[from..].iter().map(|body| &body.cohort);
            let mut last: Option<usize> = None;
            let mut fresh = |cohort: &Arc<Cohort>| {
                let address = Arc::as_ptr(cohort).addr();
                let known = last == Some(address) || library.kit(cohort).is_some();
                last = Some(address);
                !known
            };
            cohorts.enumerate().find(|&(_, cohort)| fresh(cohort)).map(|(at, _)| from + at)
        };
        let mut next = first_new(&library, 0);
        if known && next.is_none() {
            return;
        }
        drop(library);
        let mut library = self.library.write().unwrap_or_else(PoisonError::into_inner);
        if library.scene(&world.environment).is_none() {
            library.add_scene(&world.environment);
        }
        while let Some(at) = next {
            library.add_kit(&world.bodies[at].cohort);
            next = first_new(&library, at);
        }
    }
}

impl Default for Cpu {
    fn default() -> Self {
        Self::new(Simd::detect())
    }
}

impl Renderer for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn offers(&self) -> Wanted {
        Wanted { things: true }
    }

    fn shape_error_m(&self, shape: &Shape, distance_m: f64) -> f64 {
        geometry_error_m(shape, distance_m)
    }

    fn take(&self, world: &Snapshot, view: &View, wanted: Wanted, show: &mut dyn FnMut(&Picture)) {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bench = idle().pop().unwrap_or_default();
        self.learn(world);
        bench.clear();
        if let Some(frustum) = Frustum::new(view) {
            bench.place(&self.library.read().unwrap_or_else(PoisonError::into_inner), world, view, &frustum, self.simd);
            self.simd.run(
                #[inline(always)]
                || match wanted.things {
                    true => bench.draw::<true>(&frustum),
                    false => bench.draw::<false>(&frustum),
                },
            );
        } else {
            bench.empty(view, wanted);
        }
        show(&bench.picture);
        // what is in view may be gone before the next picture
        bench.placements.clear();
        idle().push(bench);
    }

    fn expose(&self, world: &Snapshot, shot: &Shot<'_>, show: &mut dyn FnMut(&Film)) {
        self.painter.expose(world, shot, show);
    }
}

impl Bench {
    /// The picture of a view that shows nothing.
    fn empty(&mut self, view: &View, wanted: Wanted) {
        let pixels = view.columns * view.rows;
        self.make_room(pixels, wanted.things);
        self.picture.depth.fill(1.0);
        self.picture.things.fill(Thing::Nothing);
        self.picture.triangles.fill(0);
    }

    /// Gives the picture its size. What is in it stays, as every pixel is about to be written.
    fn make_room(&mut self, pixels: usize, things: bool) {
        let picture = &mut self.picture;
        if picture.things.is_empty() == things {
            std::mem::swap(&mut picture.things, &mut self.spare.0);
            std::mem::swap(&mut picture.triangles, &mut self.spare.1);
        }
        picture.depth.resize(pixels, 1.0);
        if things {
            picture.things.resize(pixels, Thing::Nothing);
            picture.triangles.resize(pixels, 0);
        }
    }

    fn clear(&mut self) {
        self.placements.clear();
        self.clusters.clear();
        self.order.clear();
        self.planes.clear();
        self.drawn.clear();
        self.drawn.push(Drawn { line: 0, triangle: 0 });
        self.lines.clear();
        self.lines.push([Thing::Nothing; TILE]);
    }

    /// Finds what may be seen.
    fn place(&mut self, library: &Library, world: &Snapshot, view: &View, frustum: &Frustum, simd: Simd) {
        let obstacles = &world.environment.obstacles;
        for &number in obstacles.planes() {
            let pose = &obstacles[number as usize].pose;
            let normal = math::rotate(pose.orientation, DVec3::Z);
            if let Some(slope) = frustum.slope_in_world(normal, pose.position_m) {
                self.planes.push((self.lines.len() as u32, slope));
                self.lines.push([Thing::Obstacle(number); TILE]);
            }
        }
        if let Some(scene) = library.scene(&world.environment) {
            simd.run(
                #[inline(always)]
                || {
                    scene.seen(frustum, |number| {
                        self.add(
                            frustum,
                            Thing::Obstacle(number as u32),
                            &scene.forms[number],
                            &obstacles[number].pose,
                        );
                    });
                },
            );
        }
        let sides = frustum.sides_in_world();
        let mut last = None;
        for body in world.bodies.iter().filter(|body| Some(body.robot as usize) != view.without) {
            let address = Arc::as_ptr(&body.cohort).addr();
            let kit = match last {
                Some((known, kit)) if known == address => kit,
                _ => match library.kit(&body.cohort) {
                    Some(kit) => kit,
                    None => continue,
                },
            };
            last = Some((address, kit));
            let form = &kit[usize::from(body.part)];
            if !form.levels.is_empty() && sees_ball(&sides, ball(form, &body.pose)) {
                self.add(frustum, Thing::Part { robot: body.robot, part: body.part }, form, &body.pose);
            }
        }
    }

    /// Adds a form and its clusters that may be seen.
    #[inline(always)]
    fn add(&mut self, frustum: &Frustum, thing: Thing, form: &Arc<Form>, pose: &Pose) {
        let (middle_m, radius_m) = ball(form, pose);
        let number = form.level((frustum.distance_m(middle_m) - radius_m).max(0.0));
        let level = &form.levels[number];
        let placed = frustum.place(pose, level);
        let placement = self.placements.len() as u32;
        let mut any = false;
        for (first, bounds) in level.bounds.iter().enumerate() {
            let (seen, nearest) = placed.sees(bounds);
            for lane in (0..LANES).filter(|&lane| seen[lane]) {
                // the bits of numbers that are not negative are in their order
                let key = nearest[lane].max(0.0).to_bits();
                self.order.push(u64::from(key) << 32 | self.clusters.len() as u64);
                self.clusters.push((placement, (first * LANES + lane) as u32));
                any = true;
            }
        }
        if any {
            let line = self.lines.len() as u32;
            self.lines.push([thing; TILE]);
            self.placements.push(Placement { line, form: Arc::clone(form), level: number, placed });
        }
    }

    /// Draws what was placed.
    #[inline(always)]
    fn draw<const THINGS: bool>(&mut self, frustum: &Frustum) {
        let Self { canvas, drawn, .. } = self;
        canvas.wipe(frustum.columns, frustum.rows, frustum.near_m, frustum.far_m, THINGS);
        self.order.sort_unstable();
        for &key in &self.order {
            let (placement, cluster) = self.clusters[(key & 0xFFFF_FFFF) as usize];
            let placement = &self.placements[placement as usize];
            let nearest_m = f32::from_bits((key >> 32) as u32);
            draw_cluster::<THINGS>(canvas, drawn, frustum, placement, cluster as usize, nearest_m);
        }
        for &(line, depth) in &self.planes {
            let everywhere = Slope { at: 1.0, column: 0.0, row: 0.0 };
            let triangle = Triangle {
                edges: [everywhere; 3],
                least: [0.0; 3],
                depth,
                nearest: f32::INFINITY,
                columns: [0, frustum.columns - 1],
                rows: [0, frustum.rows - 1],
            };
            canvas.draw::<THINGS>(&triangle, drawn.len() as u32);
            drawn.push(Drawn { line, triangle: 0 });
        }
        self.make_room(frustum.columns * frustum.rows, THINGS);
        self.develop::<THINGS>(frustum);
    }

    /// Makes the picture of what was drawn.
    #[inline(always)]
    fn develop<const THINGS: bool>(&mut self, frustum: &Frustum) {
        let Self { canvas, drawn, lines, picture, .. } = self;
        canvas.write_depths(frustum.near_m, frustum.far_m, &mut picture.depth);
        if THINGS {
            canvas.write_ids(
                (&mut picture.things, &mut picture.triangles),
                #[inline(always)]
                |things, triangles, ids| {
                    // most often one triangle is seen in all pixels of a line
                    if alike(ids) {
                        let found = drawn[ids[0] as usize];
                        *things = lines[found.line as usize];
                        *triangles = [found.triangle; TILE];
                    } else {
                        for lane in 0..TILE {
                            let found = drawn[ids[lane] as usize];
                            things[lane] = lines[found.line as usize][0];
                            triangles[lane] = found.triangle;
                        }
                    }
                },
            );
        }
    }
}

/// True if the same was drawn everywhere in a line of pixels.
#[inline(always)]
fn alike(ids: &[u32; TILE]) -> bool {
    let mut differ = 0;
    for lane in 1..TILE {
        differ |= ids[lane] ^ ids[0];
    }
    differ == 0
}

/// Draws the triangles of a cluster, unless they are hidden.
#[inline(always)]
fn draw_cluster<const THINGS: bool>(
    canvas: &mut Canvas,
    drawn: &mut Vec<Drawn>,
    frustum: &Frustum,
    placement: &Placement,
    cluster: usize,
    nearest_m: f32,
) {
    let level = &placement.form.levels[placement.level];
    let placed = &placement.placed;
    let near_m = frustum.near_m as f32;
    if nearest_m > near_m {
        let bounds = &level.bounds[cluster / LANES];
        let Some((columns, rows)) = box_in_pixels(frustum, placed, bounds, cluster % LANES) else { return };
        if canvas.hides(columns, rows, 1.0 / (nearest_m * (1.0 - 1e-5))) {
            return;
        }
    }
    for block in blocks_of(cluster, level) {
        let shadow = Shadow::new(frustum, placed, &level.blocks[block]);
        for lane in 0..LANES {
            if shadow.first[0][lane] > shadow.last[0][lane] || shadow.first[1][lane] > shadow.last[1][lane] {
                continue;
            }
            let face = &level.faces[block * LANES + lane];
            let Some(triangle) = shadow.triangle(frustum, placed, (face.normal, face.offset_m), lane) else { continue };
            if canvas.hides(triangle.columns, triangle.rows, triangle.nearest) {
                continue;
            }
            canvas.draw::<THINGS>(&triangle, drawn.len() as u32);
            if THINGS {
                drawn.push(Drawn { line: placement.line, triangle: face.number });
            }
        }
    }
}

/// Which pixels the box of a cluster before the near plane may cover; `None` if no middle of any.
#[inline(always)]
fn box_in_pixels(
    frustum: &Frustum,
    placed: &Placed,
    bounds: &crate::form::Bounds,
    which: usize,
) -> Option<([usize; 2], [usize; 2])> {
    let mut corners = [[0.0; LANES]; 3];
    for lane in 0..LANES {
        for axis in 0..3 {
            let half = bounds.half[axis][which];
            corners[axis][lane] = bounds.middle[axis][which] + if lane >> axis & 1 == 1 { half } else { -half };
        }
    }
    let [depth, column, row] = project(&placed.pixels, &corners);
    let mut range = [[f32::INFINITY, f32::NEG_INFINITY]; 2];
    for lane in 0..LANES {
        let scale = 1.0 / depth[lane];
        for (range, along) in range.iter_mut().zip([column[lane] * scale, row[lane] * scale]) {
            range[0] = if along < range[0] { along } else { range[0] };
            range[1] = if along > range[1] { along } else { range[1] };
        }
    }
    let whole = |[low, high]: [f32; 2], count: usize| {
        let (first, last) = (first_pixel(low, count as f32), last_pixel(high, count as f32));
        (first <= last).then_some([first as usize, last as usize])
    };
    Some((whole(range[0], frustum.columns)?, whole(range[1], frustum.rows)?))
}

/// Depth, column and row (both times depth) of eight points.
#[inline(always)]
fn project(pixels: &[[f32; 4]; 3], [x, y, z]: &[Lane; 3]) -> [Lane; 3] {
    let mut out = [[0.0; LANES]; 3];
    for (out, factors) in out.iter_mut().zip(pixels) {
        for lane in 0..LANES {
            out[lane] = factors[0] * x[lane] + factors[1] * y[lane] + factors[2] * z[lane] + factors[3];
        }
    }
    out
}

/// The first pixel of `count` whose middle is not before a place; `count` if there is none.
#[inline(always)]
fn first_pixel(at: f32, count: f32) -> i32 {
    let at = at - MARGIN_PX;
    let at = if at > 0.0 { at } else { 0.0 };
    let at = if at < count { at } else { count };
    count as i32 - (count - at) as i32
}

/// The last pixel of `count` whose middle is not behind a place; -1 if there is none.
#[inline(always)]
fn last_pixel(at: f32, count: f32) -> i32 {
    let at = at + (1.0 + MARGIN_PX);
    let at = if at > 0.0 { at } else { 0.0 };
    (if at < count { at } else { count }) as i32 - 1
}

/// Eight triangles in the picture.
struct Shadow {
    /// Depth, column and row of each corner, the latter times depth.
    corners: [[Lane; 3]; 3],
    /// First and last column and row whose middle may be inside; none if the first is behind the last.
    first: [[i32; LANES]; 2],
    last: [[i32; LANES]; 2],
    /// The reciprocal of the least depth of a corner; infinite for those that reach before the near plane.
    nearest: Lane,
}

impl Shadow {
    #[inline(always)]
    fn new(frustum: &Frustum, placed: &Placed, block: &Block) -> Self {
        let near_m = frustum.near_m as f32;
        let [a, b, c] = &block.corners;
        let corners = [project(&placed.pixels, a), project(&placed.pixels, b), project(&placed.pixels, c)];
        let least = |a: f32, b: f32| if a < b { a } else { b };
        let greatest = |a: f32, b: f32| if a > b { a } else { b };
        let (mut nearest, mut furthest, mut scales) = ([0.0; LANES], [0.0; LANES], [[0.0; LANES]; 3]);
        for lane in 0..LANES {
            let [a, b, c] = [corners[0][0][lane], corners[1][0][lane], corners[2][0][lane]];
            nearest[lane] = least(least(a, b), c);
            furthest[lane] = greatest(greatest(a, b), c);
            for (scale, depth) in scales.iter_mut().zip([a, b, c]) {
                scale[lane] = 1.0 / depth;
            }
        }
        let (mut first, mut last) = ([[0; LANES]; 2], [[0; LANES]; 2]);
        for axis in 0..2 {
            let count = [frustum.columns, frustum.rows][axis] as f32;
            for lane in 0..LANES {
                let at = |corner: usize| corners[corner][axis + 1][lane] * scales[corner][lane];
                let (a, b, c) = (at(0), at(1), at(2));
                let whole = nearest[lane] >= near_m;
                let low = if whole { least(least(a, b), c) } else { 0.0 };
                let high = if whole { greatest(greatest(a, b), c) } else { count };
                first[axis][lane] = first_pixel(low, count);
                let before = last_pixel(high, count);
                last[axis][lane] = if furthest[lane] >= near_m { before } else { -1 };
            }
        }
        for lane in 0..LANES {
            nearest[lane] = if nearest[lane] >= near_m { 1.0 / nearest[lane] } else { f32::INFINITY };
        }
        Self { corners, first, last, nearest }
    }

    /// A triangle to be drawn; `None` if it has no area as seen.
    #[inline(always)]
    fn triangle(&self, frustum: &Frustum, placed: &Placed, face: (DVec3, f64), lane: usize) -> Option<Triangle> {
        let (depth, turned) = placed.slope(frustum, face.0, face.1)?;
        let corners: [Corner; 3] = self.corners.map(|corner| [corner[0][lane], corner[1][lane], corner[2][lane]]);
        let (edges, least) = edges(&corners, turned);
        let [mut columns, mut rows] =
            [0, 1].map(|axis| [self.first[axis][lane] as usize, self.last[axis][lane] as usize]);
        if self.nearest[lane] == f32::INFINITY {
            [columns, rows] = clipped(frustum, &corners)?;
        }
        let nearest = self.nearest[lane] * (1.0 + 1e-5);
        Some(Triangle { edges, least, depth, nearest, columns, rows })
    }
}

/// Which pixels a triangle that reaches before the near plane may cover: those of its part behind it.
#[inline(always)]
fn clipped(frustum: &Frustum, corners: &[Corner; 3]) -> Option<[[usize; 2]; 2]> {
    let near_m = frustum.near_m as f32;
    let mut range = [[f32::INFINITY, f32::NEG_INFINITY]; 2];
    let mut include = |[depth, column, row]: Corner| {
        for (range, along) in range.iter_mut().zip([column / depth, row / depth]) {
            *range = [range[0].min(along), range[1].max(along)];
        }
    };
    for corner in 0..3 {
        let (p, q) = (corners[corner], corners[(corner + 1) % 3]);
        if p[0] >= near_m {
            include(p);
        }
        if (p[0] >= near_m) != (q[0] >= near_m) {
            let share = (near_m - p[0]) / (q[0] - p[0]);
            include([near_m, p[1] + (q[1] - p[1]) * share, p[2] + (q[2] - p[2]) * share]);
        }
    }
    let counts = [frustum.columns as f32, frustum.rows as f32];
    let mut pixels = [[0; 2]; 2];
    for axis in 0..2 {
        // the crossing is rounded, which counts for large triangles
        let margin = 1e-5 * (range[axis][1] - range[axis][0]);
        let first = first_pixel(range[axis][0] - margin, counts[axis]);
        let last = last_pixel(range[axis][1] + margin, counts[axis]);
        if first > last {
            return None;
        }
        pixels[axis] = [first as usize, last as usize];
    }
    Some(pixels)
}
