//! A uniform grid over points: who is within a radius. Rebuilt from scratch in linear time, without allocation once
//! its vectors have grown.
//!
//! Cells are hashed into a table, so the world has no bounds; points are kept in the order of their buckets, so a
//! query reads memory in runs. Neighbouring cells along x share a block of consecutive buckets, so a row of cells is one
//! run or two.

use glam::DVec3;

/// Points sorted into cells.
#[derive(Debug, Clone, Default)]
pub struct Grid {
    per_m: f64,
    /// One less than the number of blocks of buckets.
    mask: u32,
    /// First point of each bucket, one more than there are buckets.
    starts: Vec<u32>,
    /// The points, bucket by bucket.
    points: Vec<Point>,
    buckets: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Point {
    position_m: DVec3,
    /// Its number among those the grid was made of.
    index: u32,
    /// See [`tag`].
    tag: u32,
}

type Cell = [i32; 3];

/// Cells along x that have consecutive buckets: a block begins where x is a multiple.
const BLOCK: i32 = 8;

/// Points found before they are told: many enough that a query with some neighbours tells them at once.
const FOUND: usize = 32;

impl Grid {
    /// Sorts points into cells of a given size; queries with radii up to about that size are fast.
    pub fn rebuild(&mut self, cell_m: f64, positions_m: impl Iterator<Item = DVec3> + Clone) {
        self.per_m = 1.0 / cell_m.max(1e-3);
        self.buckets.clear();
        let count = positions_m.clone().count();
        let buckets = (count.max(1) * 2).next_power_of_two().max(BLOCK as usize);
        self.mask = buckets as u32 / BLOCK as u32 - 1;
        self.starts.clear();
        self.starts.resize(buckets + 1, 0);
        for position in positions_m.clone() {
            let bucket = self.bucket(self.cell(position));
            self.buckets.push(bucket);
            self.starts[bucket as usize + 1] += 1;
        }
        for bucket in 1..self.starts.len() {
            self.starts[bucket] += self.starts[bucket - 1];
        }
        self.points.clear();
        self.points.resize(count, Point { position_m: DVec3::ZERO, index: 0, tag: 0 });
        // `starts` is used as the cursor of each bucket and shifted back by one afterwards
        for (index, position_m) in positions_m.enumerate() {
            let tag = tag(self.cell(position_m));
            let cursor = &mut self.starts[self.buckets[index] as usize];
            self.points[*cursor as usize] = Point { position_m, index: index as u32, tag };
            *cursor += 1;
        }
        self.starts.rotate_right(1);
        self.starts[0] = 0;
    }

    /// Calls `found(index, position)` for every point within `radius_m` of `centre_m`, itself included.
    #[inline]
    pub fn within(&self, centre_m: DVec3, radius_m: f64, mut found: impl FnMut(u32, DVec3)) {
        let (low, high) = (self.cell(centre_m - radius_m), self.cell(centre_m + radius_m));
        let squared = radius_m * radius_m;
        let cells = (0..3).map(|axis| u64::from(high[axis].abs_diff(low[axis])) + 1).product::<u64>();
        if cells > self.points.len() as u64 {
            self.scan(centre_m, squared, &mut found);
            return;
        }
        let mut near = Near { places: [0; FOUND], count: 0 };
        for y in low[1]..=high[1] {
            for z in low[2]..=high[2] {
                let mut x = low[0];
                while x <= high[0] {
                    let last = (x | (BLOCK - 1)).min(high[0]);
                    self.in_row([x, y, z], last, (centre_m, squared), &mut near, &mut found);
                    if last == i32::MAX {
                        break;
                    }
                    x = last + 1;
                }
            }
        }
        self.tell(&mut near, &mut found);
    }

    /// When a query covers more cells than there are points, looking at all points is cheaper.
    fn scan(&self, centre_m: DVec3, squared: f64, found: &mut impl FnMut(u32, DVec3)) {
        for point in &self.points {
            if (point.position_m - centre_m).length_squared() <= squared {
                found(point.index, point.position_m);
            }
        }
    }

    /// Collects points of the cells from `first` up to `last` along x, all in one block.
    #[inline(always)]
    fn in_row(
        &self,
        first: Cell,
        last: i32,
        (centre_m, squared): (DVec3, f64),
        near: &mut Near,
        found: &mut impl FnMut(u32, DVec3),
    ) {
        let bucket = self.bucket(first) as usize;
        let end = bucket + (last - first[0]) as usize;
        let (from, until) = (self.starts[bucket] as usize, self.starts[end + 1] as usize);
        let block = tag(first) / BLOCK as u32;
        for (place, point) in (from as u32..).zip(&self.points[from..until]) {
            // another block may share the buckets: its points belong to that block's visit
            let here = point.tag / BLOCK as u32 == block;
            let hit = here & ((point.position_m - centre_m).length_squared() <= squared);
            // no branch on what is near, as nobody could predict it
            near.places[near.count] = place;
            near.count += usize::from(hit);
            if near.count == FOUND {
                self.tell(near, found);
            }
        }
    }

    #[inline(always)]
    fn tell(&self, near: &mut Near, found: &mut impl FnMut(u32, DVec3)) {
        for &place in &near.places[..near.count] {
            let point = &self.points[place as usize];
            found(point.index, point.position_m);
        }
        near.count = 0;
    }

    #[inline(always)]
    fn cell(&self, position_m: DVec3) -> Cell {
        // cells are centred on the origin, so that robots on the ground plane share one layer
        let scaled = position_m * self.per_m + 0.5;
        // `as` saturates, so far away and non-finite points still get a cell
        [floor_i32(scaled.x), floor_i32(scaled.y), floor_i32(scaled.z)]
    }

    #[inline(always)]
    fn bucket(&self, cell: Cell) -> u32 {
        let mixed = (cell[0].div_euclid(BLOCK) as u32).wrapping_mul(0x9E37_79B1)
            ^ (cell[1] as u32).wrapping_mul(0x85EB_CA77)
            ^ (cell[2] as u32).wrapping_mul(0xC2B2_AE3D);
        ((mixed ^ (mixed >> 15)) & self.mask) * BLOCK as u32 + (cell[0] & (BLOCK - 1)) as u32
    }
}

/// Places of points that are near, not yet told.
struct Near {
    places: [u32; FOUND],
    count: usize,
}

/// Ten bits of each coordinate of a cell, those of x lowest. Cells of one query that are searched differ in it, as a
/// query over more than 2¹⁰ cells in each direction looks at all points instead; and what is a multiple of that away is
/// not near.
#[inline(always)]
fn tag(cell: Cell) -> u32 {
    let low = |coordinate: i32| coordinate as u32 & 0x3FF;
    low(cell[0]) | low(cell[1]) << 10 | low(cell[2]) << 20
}

#[inline(always)]
fn floor_i32(x: f64) -> i32 {
    let truncated = x as i32;
    truncated.saturating_sub(i32::from(x < f64::from(truncated)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn a_query_finds_exactly_what_brute_force_finds() {
        let stream = Stream::new(7, 1);
        let points: Vec<DVec3> = (0..500)
            .map(|i| {
                let u = stream.uniforms(i, 0);
                DVec3::new(u[0] * 40.0 - 20.0, u[1] * 40.0 - 20.0, u[2] * 5.0 - 2.5)
            })
            .collect();
        let mut grid = Grid::default();
        for (cell, radius) in [(5.0, 5.0), (1.0, 4.0), (3.0, 0.5), (2.0, 1000.0)] {
            grid.rebuild(cell, points.iter().copied());
            for &centre in points.iter().step_by(37) {
                let mut found = Vec::new();
                grid.within(centre, radius, |index, _| found.push(index as usize));
                found.sort_unstable();
                let expected: Vec<usize> =
                    (0..points.len()).filter(|&i| (points[i] - centre).length_squared() <= radius * radius).collect();
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn points_without_a_place_do_no_harm() {
        let mut grid = Grid::default();
        grid.rebuild(1.0, [DVec3::NAN, DVec3::splat(1e300), DVec3::ZERO].into_iter());
        let mut found = Vec::new();
        grid.within(DVec3::ZERO, 1.0, |index, _| found.push(index));
        assert_eq!(found, [2]);
    }
}
