//! Rays: what the beams of sensors first meet in a frozen world.
//!
//! Sensors cast [`Pattern`]s: up to 64 neighbouring rays form a fan that walks the hierarchies as one beam and is tested
//! eight rays at a time; scattered rays are cast one by one. There are two hierarchies, of what stands still (shared
//! with contacts, built once) and of the robots' parts (built once a snapshot, whatever the number of sensors), and one in
//! each mesh and terrain. Single precision finds what is met first; double precision tells where.
#![expect(clippy::needless_range_loop, reason = "lanes of several columns are walked together")]

mod fan;
mod outline;
pub(crate) mod scene;
mod sheaf;
mod tree;
mod triangles;
mod wide;

pub(crate) use outline::Outline;

use crate::component::Pose;
use crate::math;
use crate::simd::Simd;
use crate::snapshot::Snapshot;
use fan::{Cores, Directions, Fan, GROUPS, Met, RAYS};
use glam::{DMat3, DVec3, Vec3};
use scene::{Aim, First, Ray, Stand};
use sheaf::{POINTS, Shade, Sheaf};
use tree::Stack;
use triangles::Triangles;
use wide::{Fastest, Plain, WIDTH, Wide, Wide3, Work, dot, load3, splat3};

/// What was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Thing {
    /// Nothing within range.
    #[default]
    Nothing,
    /// An obstacle, by its index in the environment.
    Obstacle(u32),
    /// A part of a robot, by the robot's index in the snapshot.
    Part {
        /// The robot.
        robot: u32,
        /// The part, as an index into its blueprint's.
        part: u16,
    },
}

/// Where a ray first met something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Along the ray, m; infinite where nothing was met.
    pub distance_m: f64,
    /// Outward unit normal of the surface, in the world.
    pub normal: Vec3,
    /// What was met.
    pub thing: Thing,
    /// The triangle, of meshes and terrain.
    pub triangle: u32,
}

impl Hit {
    /// Nothing within range.
    pub const NOTHING: Self =
        Self { distance_m: f64::INFINITY, normal: Vec3::ZERO, thing: Thing::Nothing, triangle: 0 };
}

/// The limits of a cast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// What is nearer is passed through, m.
    pub min_m: f64,
    /// What is further is not met, m.
    pub max_m: f64,
    /// The robot whose parts are passed through, as an index into the snapshot.
    pub without: Option<usize>,
}

/// Directions of rays that leave one point, in the frame of a sensor, arranged once so that neighbours are cast together.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    directions: Vec<DVec3>,
    bundles: Vec<Bundle>,
    /// No two rays are near each other: all are cast one by one.
    scattered: bool,
}

/// Neighbouring rays of a pattern.
#[derive(Debug, Clone, PartialEq)]
struct Bundle {
    /// Their numbers in the pattern.
    numbers: Vec<u32>,
    directions: Box<Directions<f64>>,
    /// Middles of the directions of each group, and how far they are from it at most.
    middles: [[f64; WIDTH]; 3],
    radius: [f32; WIDTH],
}

impl Bundle {
    fn new(all: &[DVec3], numbers: Vec<u32>) -> Self {
        let mut directions = Box::new([[[0.0; WIDTH]; 3]; GROUPS]);
        for (group, columns) in directions.iter_mut().enumerate() {
            for lane in 0..WIDTH {
                let ray = (group * WIDTH + lane).min(numbers.len().saturating_sub(1));
                let direction = numbers.get(ray).map_or(DVec3::X, |&number| all[number as usize]).to_array();
                (0..3).for_each(|axis| columns[axis][lane] = direction[axis]);
            }
        }
        let (mut middles, mut radius) = ([[0.0; WIDTH]; 3], [0.0; WIDTH]);
        for (group, columns) in directions.iter().enumerate() {
            let direction = |lane: usize| DVec3::new(columns[0][lane], columns[1][lane], columns[2][lane]);
            let middle = (0..WIDTH).map(direction).sum::<DVec3>() / WIDTH as f64;
            let furthest = (0..WIDTH).map(|lane| (direction(lane) - middle).length()).fold(0.0, f64::max);
            (0..3).for_each(|axis| middles[axis][group] = middle[axis]);
            radius[group] = (furthest + fan::ROUNDING) as f32;
        }
        Self { numbers, directions, middles, radius }
    }

    fn groups(&self) -> usize {
        self.numbers.len().div_ceil(WIDTH)
    }
}

impl Pattern {
    /// Unit directions, row by row; `columns` to a row.
    pub fn new(directions: Vec<DVec3>, columns: usize) -> Self {
        Self::within(directions, columns, f64::INFINITY)
    }

    /// The same for rays that are never longer: short ones stay together however they spread.
    pub fn within(directions: Vec<DVec3>, columns: usize, range_max_m: f64) -> Self {
        let columns = columns.clamp(1, directions.len().max(1));
        let rows = directions.len().div_ceil(columns);
        let (height, width) = tile(&directions, columns, rows, range_max_m);
        let mut bundles = Vec::new();
        for row in (0..rows).step_by(height) {
            for column in (0..columns).step_by(width) {
                let mut numbers = Vec::new();
                // groups of eight are compact too
                let (across, down) = if height == 1 { (width.min(WIDTH), 1) } else { (WIDTH / 2, 2) };
                for at in 0..height * width {
                    let (group, lane) = (at / WIDTH, at % WIDTH);
                    let column = column + group % (width / across) * across + lane % across;
                    let row = row + group / (width / across) * down + lane / across;
                    let number = row * columns + column;
                    if column < columns && number < directions.len() {
                        numbers.push(number as u32);
                    }
                }
                bundles.push(Bundle::new(&directions, numbers));
            }
        }
        let scattered = bundles.iter().all(|bundle| bundle.numbers.len() <= SCATTERED);
        Self { directions, bundles, scattered }
    }

    /// How many rays there are.
    pub fn len(&self) -> usize {
        self.directions.len()
    }

    /// True if there is no ray.
    pub fn is_empty(&self) -> bool {
        self.directions.is_empty()
    }

    /// The directions in the frame of the sensor, in the order they were given.
    pub fn directions(&self) -> &[DVec3] {
        &self.directions
    }

    /// Casts all rays from a sensor at a pose; `each` is told the number of a ray and what it met, each once, in any order.
    pub fn cast(&self, world: &Snapshot, from: &Pose, reach: Reach, simd: Simd, mut each: impl FnMut(usize, &Hit)) {
        let turn = DMat3::from_quat(from.orientation);
        if self.scattered {
            let rays = self.directions.iter().map(|direction| turn * *direction).enumerate();
            let told = &mut |number: usize, hit: &Hit| each(number, hit);
            return on_registers(simd, CastScattered { world, from_m: from.position_m, rays, reach, told });
        }
        let mut room = Room::NEW;
        for bundle in &self.bundles {
            let told = &mut |first: usize, hits: &[Hit; WIDTH]| {
                let numbers = &bundle.numbers[first..];
                numbers.iter().zip(hits).for_each(|(&number, hit)| each(number as usize, hit));
            };
            let work = CastBundle { world, bundle, from_m: from.position_m, turn, reach, room: &mut room, told };
            on_registers(simd, work);
        }
    }
}

/// Which of up to 64 points are in the shadow of something, looking from them in a direction of unit length as far as
/// `max_m`: a bit for each, the first the lowest. Neighbours should lie close to each other.
pub fn shaded(world: &Snapshot, from_m: &[DVec3], direction: DVec3, max_m: f64, simd: Simd) -> u64 {
    let mut all = 0;
    for (at, some) in from_m.chunks(POINTS).take(64 / POINTS).enumerate() {
        let mut bits = 0;
        on_registers(simd, Shade { world, sheaf: Sheaf::new(some, direction, max_m), bits: &mut bits });
        all |= (bits & u64::MAX >> (64 - some.len())) << (at * POINTS);
    }
    all
}

/// Bundles of so few rays are cast ray by ray.
const SCATTERED: usize = 2;

/// How many rows and columns of a pattern are cast together: as many as a fan holds, but no more than stay close. Measured
/// on mazes of 10,000 and 100,000 triangles: wide fans meet too much, small ones share too little.
fn tile(directions: &[DVec3], columns: usize, rows: usize, range_max_m: f64) -> (usize, usize) {
    const CLOSE_RAD: f64 = 0.2;
    // rays of less than this all pass the same things
    const SHORT_M: f64 = 1.0;
    if range_max_m <= SHORT_M {
        return if rows == 1 { (1, RAYS) } else { (RAYS / WIDTH, WIDTH) };
    }
    let gap = |to: usize| match (directions.first(), directions.get(to)) {
        (Some(&from), Some(&to)) => (to - from).length(),
        _ => 0.0,
    };
    let fitting = |gap: f64, least: usize, most: usize| {
        let fitting = (CLOSE_RAD / gap.max(1e-9)) as usize;
        fitting.clamp(1, most).next_power_of_two().clamp(least, most)
    };
    if gap(1).max(if rows > 1 { gap(columns) } else { 0.0 }) > 0.3 * CLOSE_RAD {
        return (1, SCATTERED);
    }
    match rows {
        1 => (1, fitting(gap(1), WIDTH, RAYS)),
        _ => {
            let height = fitting(gap(columns), 2, RAYS / WIDTH);
            (height, fitting(gap(1), WIDTH / 2, RAYS / height))
        }
    }
}

/// Runs work on the widest registers there are.
fn on_registers(simd: Simd, work: impl Work<Plain<f32>> + Work<Fastest>) {
    match simd {
        Simd::Scalar => Plain::apart((), work),
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2(token) => Fastest::apart(token, work),
    }
}

/// Room to work in, kept from bundle to bundle.
struct Room {
    exact: Directions<f64>,
    directions: Directions<f32>,
    cores: Cores,
    met: Met,
    stack: Stack,
}

impl Room {
    const NEW: Self = Self {
        exact: [[[0.0; WIDTH]; 3]; GROUPS],
        directions: [[[0.0; WIDTH]; 3]; GROUPS],
        cores: Cores::NONE,
        met: Met::NEW,
        stack: Stack::NEW,
    };
}

/// Casts some rays of a pattern.
struct CastBundle<'a> {
    world: &'a Snapshot,
    bundle: &'a Bundle,
    from_m: DVec3,
    turn: DMat3,
    reach: Reach,
    room: &'a mut Room,
    /// Told of eight rays at a time: the first of them, and what they met.
    told: &'a mut dyn FnMut(usize, &[Hit; WIDTH]),
}

impl<W: Wide<Real = f32>> Work<W> for CastBundle<'_> {
    #[inline(always)]
    fn run(self, token: W::Token) {
        let Self { world, bundle, from_m, turn, reach, room, told } = self;
        let Room { exact, directions, cores, met, stack } = room;
        let groups = bundle.groups();
        for group in 0..groups {
            let turned = turned(turn, load3::<Plain<f64>>((), &bundle.directions[group]));
            for axis in 0..3 {
                exact[group][axis] = turned[axis].0;
                for lane in 0..WIDTH {
                    directions[group][axis][lane] = turned[axis].0[lane] as f32;
                }
            }
        }
        let middles = turned(turn, load3::<Plain<f64>>((), &bundle.middles));
        for axis in 0..3 {
            for lane in 0..WIDTH {
                cores.middle[axis][lane] = middles[axis].0[lane] as f32;
            }
        }
        cores.radius = bundle.radius;
        let fan = Fan::new::<W>(token, (directions, cores), groups, reach.min_m as f32);
        met.clear(reach.max_m as f32, groups);
        let aim = Aim { from_m, without: reach.without };
        let (still, moving) = (world.environment.obstacles.scene(), world.moving());
        still.cast_endless::<W>(token, &fan, &aim, (met, stack));
        still.cast::<W>(token, &fan, &aim, (met, stack));
        moving.cast::<W>(token, &fan, &aim, (met, stack));
        let mut teller = Teller::new(world, from_m, reach);
        for group in 0..groups {
            told(group * WIDTH, &teller.tell(met, group, &exact[group]));
        }
    }
}

/// Directions in the world of those in a frame.
#[inline(always)]
fn turned(turn: DMat3, directions: Wide3<Plain<f64>>) -> Wide3<Plain<f64>> {
    let rows = turn.transpose();
    [
        dot(splat3((), rows.x_axis.to_array()), directions),
        dot(splat3((), rows.y_axis.to_array()), directions),
        dot(splat3((), rows.z_axis.to_array()), directions),
    ]
}

/// Works out in double precision what rays from one point met. Neighbours mostly meet the same: what follows from that is
/// kept from one to the next.
struct Teller<'a> {
    world: &'a Snapshot,
    from_m: DVec3,
    reach: Reach,
    /// The triangle met last, by item and number; its normal, and its distance from the origin along that.
    face: (u32, u32),
    normal: DVec3,
    height_m: f64,
}

impl<'a> Teller<'a> {
    #[inline(always)]
    fn new(world: &'a Snapshot, from_m: DVec3, reach: Reach) -> Self {
        Self { world, from_m, reach, face: (fan::NOTHING, 0), normal: DVec3::Z, height_m: 0.0 }
    }

    #[inline(always)]
    fn tell(&mut self, met: &Met, group: usize, directions: &[[f64; WIDTH]; 3]) -> [Hit; WIDTH] {
        let mut hits = [Hit::NOTHING; WIDTH];
        let (items, faces, rough) = (&met.item[group], &met.triangle[group], &met.distance[group]);
        let mut held = fan::NOTHING;
        let (mut distances, mut normals) = ([0.0; WIDTH], [[0.0; WIDTH]; 3]);
        for lane in 0..WIDTH {
            let item = items[lane].to_bits();
            if item == fan::NOTHING {
                continue;
            }
            let (outline, stand, thing) = self.world.solid(item);
            if let Outline::Triangles(triangles) = outline {
                let direction = DVec3::new(directions[0][lane], directions[1][lane], directions[2][lane]);
                let face = (item, faces[lane].to_bits());
                hits[lane] = self.on_triangle((triangles, stand, thing), face, direction, rough[lane]);
                continue;
            }
            if held != item {
                held = item;
                let mut same = 0;
                for lane in 0..WIDTH {
                    same |= u32::from(items[lane].to_bits() == item) << lane;
                }
                (distances, normals) = self.on_outline((outline, stand), load3((), directions), (same, rough));
            }
            let normal = Vec3::new(normals[0][lane], normals[1][lane], normals[2][lane]);
            hits[lane] = Hit { distance_m: distances[lane], normal, thing, triangle: 0 };
        }
        hits
    }

    /// What a single ray met.
    #[inline(always)]
    fn tell_one(&mut self, first: &First, direction: DVec3) -> Hit {
        if first.item == fan::NOTHING {
            return Hit::NOTHING;
        }
        let (outline, stand, thing) = self.world.solid(first.item);
        if let Outline::Triangles(triangles) = outline {
            let face = (first.item, first.triangle);
            return self.on_triangle((triangles, stand, thing), face, direction, first.distance);
        }
        let directions = splat3((), direction.to_array());
        let (distances, normals) = self.on_outline((outline, stand), directions, (1, &[first.distance; WIDTH]));
        let normal = Vec3::new(normals[0][0], normals[1][0], normals[2][0]);
        Hit { distance_m: distances[0], normal, thing, triangle: 0 }
    }

    /// Distances and normals as if all eight rays met this solid; some do.
    #[inline(always)]
    fn on_outline(
        &self,
        (outline, stand): (&Outline, &Stand),
        directions: Wide3<Plain<f64>>,
        (some, rough): (u32, &[f32; WIDTH]),
    ) -> ([f64; WIDTH], [[f32; WIDTH]; 3]) {
        let from_m = stand.in_solid(self.from_m);
        let own = stand.directions_in_solid((), directions);
        let side = match outline {
            Outline::Box(half_m) => box_sides(*half_m, from_m, own, (some, rough)),
            _ => None,
        };
        let (exact, side) = match side {
            Some((exact, side)) => (exact, Some(side)),
            None => (outline.distance((), from_m, own, Plain([self.reach.min_m; WIDTH])), None),
        };
        let mut distances = exact.0;
        for lane in 0..WIDTH {
            distances[lane] = sound(distances[lane], rough[lane], self.reach);
        }
        let normal = side.unwrap_or_else(
            #[inline(always)]
            || {
                let (way, from) = (Plain(distances), splat3::<Plain<f64>>((), from_m.to_array()));
                outline.normal((), [from[0] + own[0] * way, from[1] + own[1] * way, from[2] + own[2] * way])
            },
        );
        let normal = stand.directions_in_world((), normal);
        let mut normals = [[0.0; WIDTH]; 3];
        for axis in 0..3 {
            for lane in 0..WIDTH {
                normals[axis][lane] = normal[axis].0[lane] as f32;
            }
        }
        (distances, normals)
    }

    /// Keeps a triangle's plane at hand.
    #[inline(always)]
    fn face(&mut self, triangles: &Triangles, stand: &Stand, face: (u32, u32)) {
        if self.face != face {
            self.face = face;
            let (normal, offset) = triangles.plane(face.1);
            self.normal = stand.in_world(normal);
            self.height_m = offset - normal.dot(stand.in_solid(self.from_m));
        }
    }

    #[inline(always)]
    fn on_triangle(
        &mut self,
        (triangles, stand, thing): (&Triangles, &Stand, Thing),
        face: (u32, u32),
        direction: DVec3,
        rough: f32,
    ) -> Hit {
        self.face(triangles, stand, face);
        let distance_m = sound(self.height_m / self.normal.dot(direction), rough, self.reach);
        Hit { distance_m, normal: self.normal.as_vec3(), thing, triangle: face.1 }
    }
}

/// Distances to the sides of a box that rays meet, and these sides' normals, where single precision leaves no doubt which
/// sides they are: the same as by all six planes, for one division. `None` if some ray comes near an edge.
#[inline(always)]
fn box_sides(
    half_m: DVec3,
    from_m: DVec3,
    directions: Wide3<Plain<f64>>,
    (some, rough): (u32, &[f32; WIDTH]),
) -> Option<(Plain<f64>, Wide3<Plain<f64>>)> {
    const NEAR_M: f64 = 1e-3;
    const NEAR_SHARE: f64 = 1e-6;
    let [x, y, z] = [directions[0].0, directions[1].0, directions[2].0];
    let (mut distances, mut normals) = ([0.0; WIDTH], [[0.0; WIDTH]; 3]);
    let mut doubt = [false; WIDTH];
    for lane in 0..WIDTH {
        let way = f64::from(rough[lane]);
        let (at_x, at_y, at_z) = (from_m.x + x[lane] * way, from_m.y + y[lane] * way, from_m.z + z[lane] * way);
        let inside_x = half_m.x - at_x.abs();
        let inside_y = half_m.y - at_y.abs();
        let inside_z = half_m.z - at_z.abs();
        let on_x = (inside_x <= inside_y) & (inside_x <= inside_z);
        let on_y = !on_x & (inside_y <= inside_z);
        // the two other axes decide whether it could be another side
        let y_or_x = if on_x { inside_y } else { inside_x };
        let z_or_y = if on_x | on_y { inside_z } else { inside_y };
        let least = if on_x {
            inside_x
        } else if on_y {
            inside_y
        } else {
            inside_z
        };
        let near = NEAR_M + NEAR_SHARE * way;
        doubt[lane] = !((y_or_x > near) & (z_or_y > near) & (least.abs() < near));
        let at = if on_x {
            at_x
        } else if on_y {
            at_y
        } else {
            at_z
        };
        let half = if on_x {
            half_m.x
        } else if on_y {
            half_m.y
        } else {
            half_m.z
        };
        let from = if on_x {
            from_m.x
        } else if on_y {
            from_m.y
        } else {
            from_m.z
        };
        let along = if on_x {
            x[lane]
        } else if on_y {
            y[lane]
        } else {
            z[lane]
        };
        let sign = if at >= 0.0 { 1.0 } else { -1.0 };
        distances[lane] = (half * sign - from) * (1.0 / along);
        normals[0][lane] = if on_x { sign } else { 0.0 };
        normals[1][lane] = if on_y { sign } else { 0.0 };
        normals[2][lane] = if on_x | on_y { 0.0 } else { sign };
    }
    let mut doubtful = 0;
    for lane in 0..WIDTH {
        doubtful |= u32::from(doubt[lane]) << lane;
    }
    (doubtful & some == 0).then_some((Plain(distances), load3((), &normals)))
}

/// The exact distance, unless a ray grazes something so that only single precision met it.
#[inline(always)]
fn sound(exact_m: f64, rough_m: f32, reach: Reach) -> f64 {
    let rough_m = f64::from(rough_m);
    let sound = (exact_m - rough_m).abs() <= 1e-3 * rough_m + 1e-3;
    let distance_m = if sound { exact_m } else { rough_m };
    math::min(math::max(distance_m, reach.min_m), reach.max_m)
}

/// Casts one ray of unit direction.
pub(crate) fn cast_one(world: &Snapshot, from_m: DVec3, direction: DVec3, reach: Reach, simd: Simd) -> Hit {
    let mut met = Hit::NOTHING;
    let told = &mut |_: usize, hit: &Hit| met = *hit;
    on_registers(simd, CastScattered { world, from_m, rays: std::iter::once((0, direction)), reach, told });
    met
}

/// Casts rays that leave one point, one by one.
struct CastScattered<'a, I> {
    world: &'a Snapshot,
    from_m: DVec3,
    rays: I,
    reach: Reach,
    told: &'a mut dyn FnMut(usize, &Hit),
}

impl<W: Wide<Real = f32>, I: Iterator<Item = (usize, DVec3)>> Work<W> for CastScattered<'_, I> {
    #[inline(always)]
    fn run(self, token: W::Token) {
        let Self { world, from_m, rays, reach, told } = self;
        let aim = Aim { from_m, without: reach.without };
        let mut stack = Stack::NEW;
        for (number, direction) in rays {
            let ray = Ray { direction, min: reach.min_m as f32 };
            let mut first = First { distance: reach.max_m as f32, item: fan::NOTHING, triangle: 0 };
            world.environment.obstacles.scene().cast_one::<W>(token, &ray, &aim, (&mut first, &mut stack));
            world.moving().cast_one::<W>(token, &ray, &aim, (&mut first, &mut stack));
            told(number, &Teller::new(world, from_m, reach).tell_one(&first, direction));
        }
    }
}

#[cfg(test)]
mod tests;
