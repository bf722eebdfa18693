//! Triangles to pixels.
//!
//! A pixel belongs to a triangle if the line through its middle does, by the signs of three edge functions (M. Olano and
//! T. Greer, *Triangle scan conversion using 2D homogeneous coordinates*, 1997). They are made of corners before division
//! by their depth, so triangles that reach behind the camera need no clipping, and each is the exact negative of that of
//! the neighbour at the same edge: (p + q) × (q − p) in IEEE arithmetic changes nothing but its sign when p and q are
//! exchanged. So neighbours leave no gaps, and a middle exactly on an edge belongs to one of them. Depth is kept as its
//! reciprocal, which is linear in the picture.
//!
//! Pixels lie in tiles of 8 by 8 that know their furthest depth, so what is hidden is passed over by the tile.

use crate::form::LANES;
use crate::frustum::Slope;

/// Pixels along the edge of a tile.
pub(crate) const TILE: usize = LANES;
/// Pixels of a tile, row by row.
type Tile<T> = [[T; TILE]; TILE];

/// Nothing was drawn here.
pub(crate) const NOTHING: u32 = 0;

/// A triangle in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triangle {
    /// `at + column i + row j` of each edge is not negative inside.
    pub(crate) edges: [Slope; 3],
    /// What an edge function must at least be: a middle exactly on an edge belongs to one side of it.
    pub(crate) least: [f32; 3],
    /// The reciprocal of the depth, 1/m.
    pub(crate) depth: Slope,
    /// Of its nearest point, 1/m.
    pub(crate) nearest: f32,
    /// First and last pixel that may be inside.
    pub(crate) columns: [usize; 2],
    pub(crate) rows: [usize; 2],
}

/// A corner before division: depth, and column and row times depth.
pub(crate) type Corner = [f32; 3];

/// The edge functions of three corners, positive inside; `turned` if the corners turn right as seen.
#[inline(always)]
pub(crate) fn edges(corners: &[Corner; 3], turned: bool) -> ([Slope; 3], [f32; 3]) {
    let sign = if turned { -1.0 } else { 1.0 };
    let mut slopes = [Slope { at: 0.0, column: 0.0, row: 0.0 }; 3];
    let mut least = [0.0; 3];
    for edge in 0..3 {
        let (p, q) = (&corners[edge], &corners[(edge + 1) % 3]);
        let sum = [p[0] + q[0], p[1] + q[1], p[2] + q[2]];
        let along = [(q[0] - p[0]) * sign, (q[1] - p[1]) * sign, (q[2] - p[2]) * sign];
        let at = sum[1] * along[2] - sum[2] * along[1];
        let column = sum[2] * along[0] - sum[0] * along[2];
        let row = sum[0] * along[1] - sum[1] * along[0];
        slopes[edge] = Slope { at, column, row };
        let owns = column > 0.0 || (column == 0.0 && (row > 0.0 || (row == 0.0 && at > 0.0)));
        least[edge] = if owns { 0.0 } else { f32::from_bits(1) };
    }
    (slopes, least)
}

impl Slope {
    /// The greatest value between two rows over as many columns as a tile has, from column 0 on and for each column
    /// further, up to rounding.
    #[inline(always)]
    fn greatest(&self, rows: [f32; 2]) -> (f32, f32) {
        let row = if self.row > 0.0 { rows[1] } else { rows[0] };
        let column = if self.column > 0.0 { (TILE - 1) as f32 } else { 0.0 };
        (self.at + self.row * row + self.column * column, self.column)
    }

    /// By how much a value over a picture may be rounded.
    #[inline(always)]
    fn rounding(&self, size: [f32; 2]) -> f32 {
        4e-7 * (self.at.abs() + self.column.abs() * size[0] + self.row.abs() * size[1])
    }
}

/// All bits, or none.
#[inline(always)]
fn mask(all: bool) -> u32 {
    0_u32.wrapping_sub(u32::from(all))
}

/// The least number in a tile.
#[inline(always)]
fn least_of(tile: &Tile<f32>) -> f32 {
    let mut least = tile[0];
    for line in tile {
        for lane in 0..TILE {
            least[lane] = if line[lane] < least[lane] { line[lane] } else { least[lane] };
        }
    }
    for half in [4, 2, 1] {
        for lane in 0..half {
            least[lane] = if least[lane + half] < least[lane] { least[lane + half] } else { least[lane] };
        }
    }
    least[0]
}

/// What is drawn on.
#[derive(Default)]
pub(crate) struct Canvas {
    columns: usize,
    rows: usize,
    /// Tiles in a row of tiles.
    across: usize,
    /// Reciprocal depths, 1/m.
    depths: Vec<Tile<f32>>,
    /// What was drawn last.
    ids: Vec<Tile<u32>>,
    /// The least reciprocal depth in each tile, in lanes; beyond the edge of the picture all is hidden.
    furthest: Vec<[f32; LANES]>,
    /// How many of these there are to a row of tiles.
    groups: usize,
    /// Nothing nearer is drawn, 1/m.
    limit: f32,
}

impl Canvas {
    /// Wipes the canvas: nothing beyond the far plane will be drawn, nor before the near plane.
    #[inline(always)]
    pub(crate) fn wipe(&mut self, columns: usize, rows: usize, near_m: f64, far_m: f64, things: bool) {
        let (across, down) = (columns.div_ceil(TILE), rows.div_ceil(TILE));
        (self.columns, self.rows, self.across) = (columns, rows, across);
        self.limit = (1.0 / near_m) as f32;
        let far = (1.0 / far_m) as f32;
        self.depths.clear();
        self.depths.resize(across * down, [[far; TILE]; TILE]);
        self.groups = across.div_ceil(LANES);
        self.furthest.clear();
        self.furthest.resize(self.groups * down, [far; LANES]);
        for row in (0..down).filter(|_| !across.is_multiple_of(LANES)) {
            self.furthest[(row + 1) * self.groups - 1][across % LANES..].fill(f32::INFINITY);
        }
        if things {
            self.ids.clear();
            self.ids.resize(across * down, [[NOTHING; TILE]; TILE]);
        }
        // pixels beyond the edges of the picture are infinitely near, so nothing is drawn there
        for row in (0..down).filter(|_| !columns.is_multiple_of(TILE)) {
            for line in &mut self.depths[row * across + across - 1] {
                line[columns % TILE..].fill(f32::INFINITY);
            }
        }
        for tile in self.depths.iter_mut().skip((down - 1) * across).filter(|_| !rows.is_multiple_of(TILE)) {
            tile[rows % TILE..].fill([f32::INFINITY; TILE]);
        }
    }

    /// True if nothing this near could be seen anywhere in a rectangle of pixels.
    #[inline(always)]
    pub(crate) fn hides(&self, columns: [usize; 2], rows: [usize; 2], nearest: f32) -> bool {
        for row in rows[0] / TILE..=rows[1] / TILE {
            let tiles = &self.furthest[row * self.groups..][..self.groups].as_flattened();
            if tiles[columns[0] / TILE..=columns[1] / TILE].iter().any(|&furthest| furthest < nearest) {
                return false;
            }
        }
        true
    }

    /// Draws a triangle. Numbers are above 0 and ascend from triangle to triangle.
    #[inline(always)]
    pub(crate) fn draw<const THINGS: bool>(&mut self, triangle: &Triangle, id: u32) {
        let size = [self.columns as f32, self.rows as f32];
        let slack = triangle.edges.map(|edge| edge.rounding(size));
        let [first, last] = triangle.columns.map(|column| column / TILE);
        for down in triangle.rows[0] / TILE..=triangle.rows[1] / TILE {
            let rows = [triangle.rows[0].max(down * TILE), triangle.rows[1].min(down * TILE + TILE - 1)];
            let y = [rows[0] as f32, rows[1] as f32];
            for group in first / LANES..=last / LANES {
                let open = self.open(triangle, &slack, down * self.groups + group, y);
                for lane in 0..LANES {
                    let across = group * LANES + lane;
                    if open[lane] && (first..=last).contains(&across) {
                        let from = [(across * TILE) as f32, y[0]];
                        let rows = [rows[0] % TILE, rows[1] % TILE];
                        let drawn = self.fill::<THINGS>(down * self.across + across, triangle, from, rows, id);
                        if let Some(furthest) = drawn {
                            self.furthest[down * self.groups + group][lane] = furthest;
                        }
                    }
                }
            }
        }
    }

    /// In which of eight tiles a triangle may be seen, between two rows.
    #[inline(always)]
    fn open(&self, triangle: &Triangle, slack: &[f32; 3], group: usize, y: [f32; 2]) -> [bool; LANES] {
        let furthest = &self.furthest[group];
        let begin = ((group % self.groups) * LANES * TILE) as f32;
        let (mut x, mut open) = ([0.0; LANES], [true; LANES]);
        for lane in 0..LANES {
            x[lane] = begin + (lane * TILE) as f32;
            open[lane] = (triangle.nearest > furthest[lane]) & (self.limit > furthest[lane]);
        }
        for (edge, slack) in triangle.edges.iter().zip(slack) {
            let (at, column) = edge.greatest(y);
            for lane in 0..LANES {
                open[lane] &= at + column * x[lane] >= -slack;
            }
        }
        let (at, column) = triangle.depth.greatest(y);
        let slack = triangle.depth.rounding([self.columns as f32, self.rows as f32]);
        for lane in 0..LANES {
            open[lane] &= at + column * x[lane] + slack > furthest[lane];
        }
        open
    }

    /// Draws the part of a triangle within some rows of a tile and tells the new furthest depth, if any changed; from this column and row of the picture on.
    #[inline(always)]
    fn fill<const THINGS: bool>(
        &mut self,
        tile: usize,
        triangle: &Triangle,
        from: [f32; 2],
        rows: [usize; 2],
        id: u32,
    ) -> Option<f32> {
        let Triangle { edges: [a, b, c], least, depth, .. } = triangle;
        let mut columns = [0.0; TILE];
        for lane in 0..TILE {
            columns[lane] = from[0] + lane as f32;
        }
        let limit = self.limit;
        let depths = &mut self.depths[tile];
        let mut drawn = [0_u32; TILE];
        let mut y = from[1];
        for row in rows[0]..=rows[1] {
            let (at_a, at_b, at_c) = (a.at + a.row * y, b.at + b.row * y, c.at + c.row * y);
            let at_depth = depth.at + depth.row * y;
            // What was drawn later has a higher number, as what is nearer has a greater reciprocal depth: both are kept by
            // taking the greater, which is faster than writing here and there.
            let (old, mut candidates) = (depths[row], [0_u32; TILE]);
            for lane in 0..TILE {
                let x = columns[lane];
                let inside = (at_a + a.column * x >= least[0])
                    & (at_b + b.column * x >= least[1])
                    & (at_c + c.column * x >= least[2]);
                let here = at_depth + depth.column * x;
                let candidate = f32::from_bits(here.to_bits() & mask(inside & (here <= limit)));
                let nearer = candidate > old[lane];
                depths[row][lane] = if nearer { candidate } else { old[lane] };
                candidates[lane] = id & mask(nearer);
                drawn[lane] |= candidates[lane];
            }
            if THINGS {
                let old = self.ids[tile][row];
                for lane in 0..TILE {
                    self.ids[tile][row][lane] = if candidates[lane] > old[lane] { candidates[lane] } else { old[lane] };
                }
            }
            y += 1.0;
        }
        (drawn != [0; TILE]).then(|| least_of(depths))
    }

    /// Writes depths as depth buffers have them: 1 − f n (1/z − 1/f) / (f − n) for depth z, near plane n and far plane f.
    #[inline(always)]
    pub(crate) fn write_depths(&self, near_m: f64, far_m: f64, to: &mut [f32]) {
        let (nothing, factor) = ((1.0 / far_m) as f32, (far_m * near_m / (far_m - near_m)) as f32);
        let convert = |depth: f32| {
            let depth = 1.0 - (depth - nothing) * factor;
            if depth > 0.0 { depth } else { 0.0 }
        };
        for (row, to) in to.chunks_exact_mut(self.columns).enumerate() {
            let tiles = &self.depths[row / TILE * self.across..][..self.across];
            let (whole, rest) = to.as_chunks_mut::<TILE>();
            for (to, tile) in whole.iter_mut().zip(tiles) {
                for lane in 0..TILE {
                    to[lane] = convert(tile[row % TILE][lane]);
                }
            }
            for (to, &depth) in rest.iter_mut().zip(tiles.last().map_or(&[] as &[f32], |tile| &tile[row % TILE])) {
                *to = convert(depth);
            }
        }
    }

    /// Calls `write` with every line of pixels of two pictures and what was drawn there.
    #[inline(always)]
    pub(crate) fn write_ids<A: Copy + Default, B: Copy + Default>(
        &self,
        (first, second): (&mut [A], &mut [B]),
        mut write: impl FnMut(&mut [A; TILE], &mut [B; TILE], &[u32; TILE]),
    ) {
        let rows = first.chunks_exact_mut(self.columns).zip(second.chunks_exact_mut(self.columns));
        for (row, (first, second)) in rows.enumerate() {
            let tiles = &self.ids[row / TILE * self.across..][..self.across];
            let ((first, first_rest), (second, second_rest)) = (first.as_chunks_mut(), second.as_chunks_mut());
            for ((first, second), tile) in first.iter_mut().zip(second).zip(tiles) {
                write(first, second, &tile[row % TILE]);
            }
            if let (false, Some(tile)) = (first_rest.is_empty(), tiles.last()) {
                let (mut a, mut b) = ([A::default(); TILE], [B::default(); TILE]);
                write(&mut a, &mut b, &tile[row % TILE]);
                first_rest.copy_from_slice(&a[..first_rest.len()]);
                second_rest.copy_from_slice(&b[..second_rest.len()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_core::random::Stream;

    const SIZE: usize = 40;

    /// A triangle of corners anywhere, before or behind the camera, at a depth of 1 m everywhere; `None` if it has no area.
    fn triangle(corners: [Corner; 3]) -> Option<Triangle> {
        let [a, b, c] = corners.map(|corner| corner.map(f64::from));
        let determinant = a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0])
            + a[2] * (b[0] * c[1] - b[1] * c[0]);
        let (edges, least) = edges(&corners, determinant < 0.0);
        let depth = Slope { at: 1.0, column: 0.0, row: 0.0 };
        let whole = [0, SIZE - 1];
        (determinant != 0.0).then_some(Triangle { edges, least, depth, nearest: 1.0, columns: whole, rows: whole })
    }

    /// How many of some triangles each pixel belongs to.
    fn coverage(triangles: impl Iterator<Item = [Corner; 3]>) -> Vec<u32> {
        let mut counts = vec![0; SIZE * SIZE];
        for triangle in triangles.filter_map(triangle) {
            let mut canvas = Canvas::default();
            canvas.wipe(SIZE, SIZE, 0.1, 10.0, true);
            canvas.draw::<true>(&triangle, 1);
            let mut ids = vec![0; SIZE * SIZE];
            canvas.write_ids((&mut ids, &mut [(); SIZE * SIZE]), |to, _, from| *to = *from);
            counts.iter_mut().zip(ids).for_each(|(count, id)| *count += id);
        }
        counts
    }

    /// Points of a grid around a picture, moved a little, in a plane that is not square to the view; every other grid
    /// stays exactly on the middles of pixels.
    fn point(stream: Stream, column: usize, row: usize, exact: bool) -> Corner {
        let [a, b, ..] = stream.uniforms((row * 100 + column) as u64, 0);
        let shift = if exact { [0.0; 2] } else { [a as f32 * 3.0, b as f32 * 3.0] };
        let at = [column as f32 * 6.0 - 10.0 + shift[0], row as f32 * 6.0 - 10.0 + shift[1]];
        let depth = if exact { 1.0 } else { 1.0 + 0.01 * at[0] + 0.003 * at[1] };
        [depth, at[0] * depth, at[1] * depth]
    }

    #[test]
    fn neighbours_leave_no_gaps_and_share_no_pixels() {
        for seed in 0..12 {
            let stream = Stream::new(seed, 3);
            let cells = (0..10).flat_map(|row| (0..10).map(move |column| (column, row)));
            let triangles = cells.flat_map(|(column, row)| {
                let corner = |across: usize, down: usize| point(stream, column + across, row + down, seed % 2 == 0);
                let [a, b, c, d] = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
                // corners turn left in one and right in the other
                [[a, b, c], [a, d, c]]
            });
            assert!(coverage(triangles).iter().all(|&count| count == 1), "seed {seed}");
        }
    }

    #[test]
    fn a_fan_around_the_middle_of_a_pixel_covers_it_once() {
        let rim = [[-90.0, -80.0], [70.0, -95.0], [130.0, 20.0], [60.0, 140.0], [-70.0, 90.0]];
        let corner = |[column, row]: [f32; 2]| [2.0, 2.0 * column, 2.0 * row];
        let triangles = (0..5).map(|k| [corner([17.0, 23.0]), corner(rim[k]), corner(rim[(k + 1) % 5])]);
        assert!(coverage(triangles).iter().all(|&count| count == 1));
    }

    #[test]
    fn triangles_around_the_camera_cover_every_direction_once() {
        // the faces of a tetrahedron around the camera, which is the mean of its corners; some are behind it
        let corners: [Corner; 4] = [[-1.0, 3.0, -9.0], [-1.0, -70.0, 50.0], [1.5, 90.0, -10.0], [0.5, -23.0, -31.0]];
        let faces = [[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]];
        let counts = coverage(faces.into_iter().map(|face| face.map(|corner| corners[corner])));
        assert!(counts.iter().all(|&count| count == 1));
    }

    #[test]
    fn tiles_know_their_furthest_depth() {
        let mut canvas = Canvas::default();
        canvas.wipe(13, 11, 0.1, 10.0, false);
        let everywhere = Slope { at: 1.0, column: 0.0, row: 0.0 };
        let depth = Slope { at: 0.5, column: 0.03, row: 0.02 };
        let wall =
            Triangle { edges: [everywhere; 3], least: [0.0; 3], depth, nearest: 2.0, columns: [0, 12], rows: [0, 10] };
        assert!(!canvas.hides([0, 12], [0, 10], 0.11), "nothing hides nothing");
        canvas.draw::<false>(&wall, 1);
        for (tile, (column, row)) in [(0.0, 0.0), (8.0, 0.0), (0.0, 8.0), (8.0, 8.0)].into_iter().enumerate() {
            let furthest = canvas.furthest[tile / 2][tile % 2];
            let wanted = 0.5 + 0.03 * column + 0.02 * row;
            assert!((furthest - wanted).abs() < 1e-6, "{furthest} instead of {wanted}");
        }
        assert!(canvas.hides([0, 12], [0, 10], 0.49) && !canvas.hides([0, 12], [0, 10], 0.6));
        assert!(canvas.hides([8, 12], [8, 10], 0.89));
    }
}
