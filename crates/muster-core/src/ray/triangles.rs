//! Triangles in a hierarchy of their own, in the frame of the solid they are the outline of.
//!
//! A ray from the origin of a fan meets a triangle if its direction has the same side of all three planes through that
//! origin and an edge. With edges as (a+b)×(b−a) neighbours get exactly opposite numbers for the edge they share, so no
//! ray slips between them (Plücker coordinates; Wald et al., Embree 2014). Single precision decides which triangle is
//! met; the distance is computed anew in double precision from its plane.

use super::fan::{Cores, Fan, GROUPS, Met, ROUNDING, least, single};
use super::scene::First;
use super::sheaf::DARK;
use super::tree::{Beam, Bounds, Stack, Tree};
use super::wide::{WIDTH, Wide, Wide3, Work, add3, cross, dot, load3, splat3, sub3};
use glam::{DVec3, Vec3};

/// Up to eight triangles as columns; unused places repeat the first.
#[derive(Clone)]
#[repr(align(32))]
struct Block {
    corners: [[[f32; WIDTH]; 3]; 3],
    /// Twice as long as the area is large.
    normal: [[f32; WIDTH]; 3],
    triangle: [u32; WIDTH],
}

/// Triangles that rays can meet.
#[derive(Clone)]
pub(crate) struct Triangles {
    tree: Tree,
    blocks: Vec<Block>,
    /// Unit normal and distance from the origin of the plane of each, in the frame of the solid.
    planes: Vec<(DVec3, f64)>,
    /// What single-precision coordinates are relative to.
    centre_m: DVec3,
    /// Of terrain: how steep it is at most, as the least cosine between a normal and z.
    steepest: Option<f64>,
}

/// What follows from the origin of rays for eight triangles: planes through it and the edges, and the triangles' own.
struct Aimed<W: Wide> {
    edges: [Wide3<W>; 3],
    normal: Wide3<W>,
    offset: W,
}

impl Triangles {
    /// Arranges triangles given by their corners.
    pub(crate) fn new(triangles: impl Iterator<Item = [DVec3; 3]>) -> Self {
        let triangles: Vec<[DVec3; 3]> = triangles.collect();
        let (low, high) = triangles
            .iter()
            .flatten()
            .fold((DVec3::splat(f64::INFINITY), DVec3::splat(f64::NEG_INFINITY)), |(low, high), &corner| {
                (low.min(corner), high.max(corner))
            });
        let centre_m = if triangles.is_empty() { DVec3::ZERO } else { 0.5 * (low + high) };
        let corners: Vec<[[f32; 3]; 3]> =
            triangles.iter().map(|corners| corners.map(|corner| single(corner - centre_m))).collect();
        let bounds = |corners: &[[f32; 3]; 3]| {
            corners.iter().fold(Bounds::EMPTY, |all, &corner| all.with(&Bounds { low: corner, high: corner }))
        };
        let boxes: Vec<Bounds> = corners.iter().map(bounds).collect();
        let mut blocks: Vec<Block> = Vec::new();
        let tree = Tree::new(&boxes, WIDTH, |items| {
            let item = |lane: usize| items[if lane < items.len() { lane } else { 0 }];
            let column =
                |corner: usize, axis: usize| std::array::from_fn(|lane| corners[item(lane) as usize][corner][axis]);
            let normal = |lane: usize| {
                let [a, b, c] = corners[item(lane) as usize].map(Vec3::from);
                (b - a).cross(c - a)
            };
            blocks.push(Block {
                corners: std::array::from_fn(|corner| std::array::from_fn(|axis| column(corner, axis))),
                normal: std::array::from_fn(|axis| std::array::from_fn(|lane| normal(lane)[axis])),
                triangle: std::array::from_fn(item),
            });
            blocks.len() as u32 - 1
        });
        let plane = |[a, b, c]: &[DVec3; 3]| {
            let normal = (b - a).cross(c - a).normalize_or_zero();
            (normal, normal.dot(*a))
        };
        Self { tree, blocks, planes: triangles.iter().map(plane).collect(), centre_m, steepest: None }
    }

    /// Arranges the triangles of terrain, which lie above each other nowhere.
    pub(crate) fn terrain(triangles: impl Iterator<Item = [DVec3; 3]>) -> Self {
        let all = Self::new(triangles);
        let steepest = all.planes.iter().map(|(normal, _)| normal.z).fold(1.0, f64::min);
        Self { steepest: Some(steepest), ..all }
    }

    /// True if no ray in a direction can meet it that starts above it: terrain whose every triangle faces there. A ray
    /// that goes below terrain passes through a triangle that faces away.
    #[inline(always)]
    pub(super) fn throws_no_shadow(&self, direction: [f32; 3]) -> bool {
        let up = f64::from(direction[2]);
        self.steepest.is_some_and(|least| up > 0.0 && least > 0.0 && up * up + least * least > 1.0 + 1e-6)
    }

    /// Casts a fan at the triangles of a block. True if some ray met one.
    #[inline(always)]
    fn meet_block<W: Wide<Real = f32>>(
        &self,
        token: W::Token,
        fan: &Fan<'_>,
        (from, leaf, item): ([f32; 3], u32, u32),
        met: &mut Met,
    ) -> bool {
        let block = &self.blocks[leaf as usize];
        let aimed = Aimed::<W>::new(token, block, from);
        let (middle, reach) = around(token, splat3::<W>(token, fan.spread.low), splat3::<W>(token, fan.spread.high));
        let mut candidates = could_meet(token, &aimed.edges, &middle, &reach);
        if candidates == 0 {
            return false;
        }
        let columns = aimed.columns();
        let all_groups = (1_u32 << fan.groups) - 1;
        let (zero, min) = (W::splat(token, 0.0), W::splat(token, fan.min));
        let mut any = false;
        while candidates != 0 {
            let lane = candidates.trailing_zeros() as usize & 7;
            candidates &= candidates - 1;
            let edges = [columns.row::<W>(token, 0, lane), columns.row(token, 3, lane), columns.row(token, 6, lane)];
            let normal = columns.row::<W>(token, 9, lane);
            let offset = W::splat(token, columns.0[12][lane]);
            let mut groups = match fan.groups {
                1 => 1,
                _ => groups_within::<W>(token, fan.cores, edges, columns.row(token, 13, lane)) & all_groups,
            };
            while groups != 0 {
                let group = groups.trailing_zeros() as usize & 7;
                groups &= groups - 1;
                let direction = load3::<W>(token, &fan.directions[group]);
                let sides = sides(edges, direction);
                let least = sides[0].min(sides[1]).min(sides[2]);
                let most = sides[0].max(sides[1]).max(sides[2]);
                let inside = zero.either(zero.le(least), most.le(zero));
                if zero.bits(inside) == 0 {
                    continue;
                }
                let distance = offset / dot(direction, normal);
                let best = W::load(token, &met.distance[group]);
                let nearer = zero.both(inside, zero.both(distance.lt(best), min.le(distance)));
                if zero.bits(nearer) == 0 {
                    continue;
                }
                any = true;
                distance.where_or(nearer, best).store(&mut met.distance[group]);
                keep::<W>(token, nearer, item, &mut met.item[group]);
                keep::<W>(token, nearer, block.triangle[lane], &mut met.triangle[group]);
            }
        }
        any
    }

    /// What single-precision coordinates are relative to.
    #[inline(always)]
    pub(super) fn centre_m(&self) -> DVec3 {
        self.centre_m
    }

    /// Unit normal of a triangle's plane and its distance from the origin of the solid.
    #[inline(always)]
    pub(crate) fn plane(&self, triangle: u32) -> (DVec3, f64) {
        self.planes[triangle as usize]
    }
}

/// Casts the rays of a fan, in the frame of the solid.
pub(crate) struct CastFan<'a, 'b> {
    pub(crate) triangles: &'a Triangles,
    pub(crate) fan: &'a Fan<'b>,
    pub(crate) from_m: DVec3,
    pub(crate) item: u32,
    pub(crate) met: &'a mut Met,
    pub(crate) stack: &'a mut Stack,
}

impl<W: Wide<Real = f32>> Work<W> for CastFan<'_, '_> {
    #[inline(always)]
    fn run(self, token: W::Token) {
        let Self { triangles, fan, from_m, item, met, stack } = self;
        let from = single(from_m - triangles.centre_m);
        let limit = met.furthest::<W>(token, fan.groups);
        triangles.tree.walk::<W>(
            token,
            &fan.beam(from),
            stack,
            limit,
            #[inline(always)]
            |leaf, limit, _| match triangles.meet_block::<W>(token, fan, (from, leaf, item), met) {
                true => met.furthest::<W>(token, fan.groups),
                false => limit,
            },
        );
    }
}

/// Casts one ray, in the frame of the solid.
pub(crate) struct CastRay<'a> {
    pub(crate) triangles: &'a Triangles,
    pub(crate) from_m: DVec3,
    pub(crate) direction: [f32; 3],
    pub(crate) min: f32,
    pub(crate) item: u32,
    pub(crate) first: &'a mut First,
    pub(crate) stack: &'a mut Stack,
}

impl<W: Wide<Real = f32>> Work<W> for CastRay<'_> {
    #[inline(always)]
    fn run(self, token: W::Token) {
        let Self { triangles, from_m, direction, min, item, first, stack } = self;
        let from = single(from_m - triangles.centre_m);
        let beam = Beam::ray(from, direction, min);
        let (direction, origin) = (splat3::<W>(token, direction), splat3::<W>(token, from));
        let (zero, one, min) = (W::splat(token, 0.0), W::splat(token, 1.0), W::splat(token, min));
        triangles.tree.walk::<W>(
            token,
            &beam,
            stack,
            first.distance,
            #[inline(always)]
            |leaf, limit, _| {
                let block = &triangles.blocks[leaf as usize];
                // after Möller and Trumbore, with the normal at hand; triangles are a little larger than they are, so that
                // no ray slips between neighbours
                let a = block.corner::<W>(token, 0, origin);
                let (b, c) = (block.corner::<W>(token, 1, origin), block.corner::<W>(token, 2, origin));
                let normal = load3::<W>(token, &block.normal);
                let (facing, across) = (dot(normal, direction), cross(a, direction));
                // all is multiplied by what it would have to be divided by: most blocks are missed
                let (share, sign) = (facing.abs(), one.where_or(zero.le(facing), -one));
                let (u, v) = (dot(across, sub3(c, a)) * sign, dot(across, sub3(a, b)) * sign);
                let edge = share * W::splat(token, -EDGE);
                let inside = zero.both(zero.both(edge.le(u), edge.le(v)), (u + v).le(share - edge));
                let height = dot(normal, a) * sign;
                let near = zero.both(height.lt(share * W::splat(token, limit)), (share * min).le(height));
                let mut nearer = zero.bits(zero.both(inside, near));
                if nearer != 0 {
                    let mut distances = [0.0; WIDTH];
                    (height / share).store(&mut distances);
                    while nearer != 0 {
                        let lane = nearer.trailing_zeros() as usize & 7;
                        nearer &= nearer - 1;
                        if distances[lane] < first.distance {
                            *first = First { distance: distances[lane], item, triangle: block.triangle[lane] };
                        }
                    }
                }
                first.distance
            },
        );
    }
}

/// Marks parallel rays that meet a triangle, in the frame of the solid.
pub(super) struct ShadeRays<'a> {
    pub(super) triangles: &'a Triangles,
    /// Where they start from the centre of the triangles, as columns, in groups.
    pub(super) from: &'a [[[f32; WIDTH]; 3]],
    pub(super) direction: [f32; 3],
    pub(super) max: f32,
    pub(super) dark: &'a mut [u32; GROUPS],
    pub(super) stack: &'a mut Stack,
}

impl<W: Wide<Real = f32>> Work<W> for ShadeRays<'_> {
    #[inline(always)]
    fn run(self, token: W::Token) {
        let Self { triangles, from, direction, max, dark, stack } = self;
        let (mut low, mut high) = (load3::<W>(token, &from[0]), load3::<W>(token, &from[0]));
        for group in &from[1..] {
            let here = load3::<W>(token, group);
            for axis in 0..3 {
                (low[axis], high[axis]) = (low[axis].min(here[axis]), high[axis].max(here[axis]));
            }
        }
        let mut bounds = Bounds::EMPTY;
        for axis in 0..3 {
            (bounds.low[axis], bounds.high[axis]) = (least(low[axis]), -least(-high[axis]));
        }
        let beam = Beam::new(&bounds, &Bounds { low: direction, high: direction }, 0.0);
        let around = around(token, splat3::<W>(token, bounds.low), splat3::<W>(token, bounds.high));
        let towards = splat3::<W>(token, direction);
        triangles.tree.walk::<W>(
            token,
            &beam,
            stack,
            max,
            #[inline(always)]
            |leaf, limit, _| {
                let across = Across::<W>::new(token, &triangles.blocks[leaf as usize], towards);
                match across.shade(token, (&around.0, &around.1), from, max, dark) {
                    true if all_dark(&dark[..from.len()]) => f32::NEG_INFINITY,
                    _ => limit,
                }
            },
        );
    }
}

/// A vector times a number.
#[inline(always)]
fn scaled<W: Wide>(vector: Wide3<W>, by: W) -> Wide3<W> {
    [vector[0] * by, vector[1] * by, vector[2] * by]
}

/// True if every ray of all groups met something.
#[inline(always)]
pub(super) fn all_dark(dark: &[u32]) -> bool {
    let mut all = DARK;
    for group in dark {
        all &= group;
    }
    all == DARK
}

/// What follows from the direction of parallel rays for eight triangles: barycentric coordinates and the distance of a ray
/// are offsets minus dot products with its origin (Möller and Trumbore, written out).
struct Across<W: Wide> {
    along: [Wide3<W>; 3],
    offset: Wide3<W>,
}

impl<W: Wide<Real = f32>> Across<W> {
    #[inline(always)]
    fn new(token: W::Token, block: &Block, direction: Wide3<W>) -> Self {
        let (a, b) = (load3::<W>(token, &block.corners[0]), load3::<W>(token, &block.corners[1]));
        let (c, normal) = (load3::<W>(token, &block.corners[2]), load3::<W>(token, &block.normal));
        let per = W::splat(token, 1.0) / dot(normal, direction);
        let (u, v) = (cross(direction, sub3(c, a)), cross(direction, sub3(a, b)));
        let along = [scaled(u, per), scaled(v, per), scaled(normal, per)];
        Self { along, offset: [dot(a, along[0]), dot(a, along[1]), dot(a, along[2])] }
    }

    /// Marks rays that meet a triangle; true if there are any.
    #[inline(always)]
    fn shade(
        &self,
        token: W::Token,
        (middle, reach): (&Wide3<W>, &Wide3<W>),
        from: &[[[f32; WIDTH]; 3]],
        max: f32,
        dark: &mut [u32; GROUPS],
    ) -> bool {
        let (zero, edge, whole) = (W::splat(token, 0.0), W::splat(token, -EDGE), W::splat(token, 1.0 + EDGE));
        // what some ray within the bounds could have at least and at most
        let (u, v) = (span(self.along[0], *middle, *reach), span(self.along[1], *middle, *reach));
        let distance = span(self.along[2], *middle, *reach);
        let [u_from, v_from, distance_from] = self.offset;
        let inside = zero.both(edge.le(u_from - u.0), edge.le(v_from - v.0));
        let inside = zero.both(inside, (u_from - u.1 + (v_from - v.1)).le(whole));
        let mut candidates = zero.bits(zero.both(inside, zero.le(distance_from - distance.0)));
        if candidates == 0 {
            return false;
        }
        let mut columns = Columns([[0.0; WIDTH]; 16]);
        for at in 0..3 {
            for axis in 0..3 {
                self.along[at][axis].store(&mut columns.0[3 * at + axis]);
            }
            self.offset[at].store(&mut columns.0[9 + at]);
        }
        let (max, mut any) = (W::splat(token, max), false);
        while candidates != 0 {
            let lane = candidates.trailing_zeros() as usize & 7;
            candidates &= candidates - 1;
            let (u_along, v_along) = (columns.row::<W>(token, 0, lane), columns.row::<W>(token, 3, lane));
            let (t_along, from_all) = (columns.row::<W>(token, 6, lane), columns.row::<W>(token, 9, lane));
            for group in 0..from.len() {
                if dark[group] == DARK {
                    continue;
                }
                let from = load3::<W>(token, &from[group]);
                let (u, v) = (from_all[0] - dot(from, u_along), from_all[1] - dot(from, v_along));
                let distance = from_all[2] - dot(from, t_along);
                let inside = zero.both(zero.both(edge.le(u), edge.le(v)), (u + v).le(whole));
                let met = zero.bits(zero.both(inside, zero.both(zero.le(distance), distance.le(max))));
                dark[group] |= met;
                any |= met != 0;
            }
        }
        any
    }
}

/// The same as columns: three numbers for each edge and for the normal, the offset, and how long each edge's are.
struct Columns([[f32; WIDTH]; 16]);

impl Columns {
    #[inline(always)]
    fn row<W: Wide<Real = f32>>(&self, token: W::Token, first: usize, lane: usize) -> Wide3<W> {
        splat3::<W>(token, [self.0[first][lane], self.0[first + 1][lane], self.0[first + 2][lane]])
    }
}

impl Block {
    /// One corner of all triangles as seen from a point.
    #[inline(always)]
    fn corner<W: Wide<Real = f32>>(&self, token: W::Token, corner: usize, from: Wide3<W>) -> Wide3<W> {
        sub3(load3::<W>(token, &self.corners[corner]), from)
    }
}

/// Writes the bits of a number to some lanes.
#[inline(always)]
pub(super) fn keep<W: Wide<Real = f32>>(token: W::Token, lanes: W::Mask, number: u32, column: &mut [f32; WIDTH]) {
    let old = W::load(token, column);
    W::splat(token, f32::from_bits(number)).where_or(lanes, old).store(column);
}

/// On which sides of three planes through the origin directions are.
#[inline(always)]
fn sides<W: Wide>(planes: [Wide3<W>; 3], direction: Wide3<W>) -> Wide3<W> {
    [dot(direction, planes[0]), dot(direction, planes[1]), dot(direction, planes[2])]
}

/// Middle and half width of what lies between bounds.
#[inline(always)]
fn around<W: Wide>(token: W::Token, low: Wide3<W>, high: Wide3<W>) -> (Wide3<W>, Wide3<W>) {
    let (half, more) = (W::constant(token, 0.5), W::constant(token, ROUNDING));
    let sum = add3(low, high);
    let gap = sub3(high, low);
    ([sum[0] * half, sum[1] * half, sum[2] * half], [gap[0] * half + more, gap[1] * half + more, gap[2] * half + more])
}

/// Where some direction within reach of a middle could be on the same side of all three planes.
#[inline(always)]
fn could_meet<W: Wide<Real = f32>>(
    token: W::Token,
    planes: &[Wide3<W>; 3],
    middle: &Wide3<W>,
    reach: &Wide3<W>,
) -> u32 {
    let zero = W::splat(token, 0.0);
    let (a, b) = (span(planes[0], *middle, *reach), span(planes[1], *middle, *reach));
    let c = span(planes[2], *middle, *reach);
    let least_high = a.1.min(b.1).min(c.1);
    let most_low = a.0.max(b.0).max(c.0);
    zero.bits(zero.either(zero.le(least_high), most_low.le(zero)))
}

/// Groups of a fan of which some ray could be on the same side of all three planes.
#[inline(always)]
fn groups_within<W: Wide<Real = f32>>(token: W::Token, cores: &Cores, planes: [Wide3<W>; 3], lengths: Wide3<W>) -> u32 {
    let (zero, radius) = (W::splat(token, 0.0), W::load(token, &cores.radius));
    let sides = sides(planes, load3::<W>(token, &cores.middle));
    let reach = scaled(lengths, radius);
    let least_high = (sides[0] + reach[0]).min(sides[1] + reach[1]).min(sides[2] + reach[2]);
    let most_low = (sides[0] - reach[0]).max(sides[1] - reach[1]).max(sides[2] - reach[2]);
    zero.bits(zero.either(zero.le(least_high), most_low.le(zero)))
}

/// Between what numbers the side of a plane is for directions within reach of a centre.
#[inline(always)]
fn span<W: Wide>(plane: Wide3<W>, centre: Wide3<W>, reach: Wide3<W>) -> (W, W) {
    let (middle, span) = (dot(plane, centre), dot([plane[0].abs(), plane[1].abs(), plane[2].abs()], reach));
    (middle - span, middle + span)
}

impl<W: Wide<Real = f32>> Aimed<W> {
    #[inline(always)]
    fn new(token: W::Token, block: &Block, from: [f32; 3]) -> Self {
        let from = splat3::<W>(token, from);
        let (a, b) = (block.corner::<W>(token, 0, from), block.corner::<W>(token, 1, from));
        let c = block.corner::<W>(token, 2, from);
        let (ab, bc, ca) = (sub3(b, a), sub3(c, b), sub3(a, c));
        let edges = [cross(add3(a, b), ab), cross(add3(b, c), bc), cross(add3(c, a), ca)];
        let normal = load3::<W>(token, &block.normal);
        Self { edges, normal, offset: dot(normal, a) }
    }

    #[inline(always)]
    fn columns(&self) -> Columns {
        let mut columns = [[0.0; WIDTH]; 16];
        for axis in 0..3 {
            self.edges[0][axis].store(&mut columns[axis]);
            self.edges[1][axis].store(&mut columns[3 + axis]);
            self.edges[2][axis].store(&mut columns[6 + axis]);
            self.normal[axis].store(&mut columns[9 + axis]);
        }
        self.offset.store(&mut columns[12]);
        for edge in 0..3 {
            dot(self.edges[edge], self.edges[edge]).sqrt().store(&mut columns[13 + edge]);
        }
        Columns(columns)
    }
}

/// By what share of their size triangles are larger for single rays.
const EDGE: f32 = 3e-5;
