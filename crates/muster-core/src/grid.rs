//! A uniform grid over points: who is within a radius. Rebuilt from scratch in linear time, without allocation once
//! its vectors have grown.
//!
//! Cells are hashed into a table, so the world has no bounds; points are kept in the order of their buckets, so a
//! query reads memory in runs.

use glam::DVec3;

/// Points sorted into cells.
#[derive(Debug, Clone, Default)]
pub struct Grid {
    per_m: f64,
    mask: u32,
    /// First point of each bucket, one more than there are buckets.
    starts: Vec<u32>,
    /// Original indices and positions, bucket by bucket.
    points: Vec<(DVec3, u32)>,
    buckets: Vec<u32>,
}

type Cell = [i32; 3];

impl Grid {
    /// Sorts points into cells of a given size; queries with radii up to about that size are fast.
    pub fn rebuild(&mut self, cell_m: f64, positions_m: impl Iterator<Item = DVec3> + Clone) {
        self.per_m = 1.0 / cell_m.max(1e-3);
        self.buckets.clear();
        let count = positions_m.clone().count();
        self.mask = (count.max(1) * 2).next_power_of_two() as u32 - 1;
        self.starts.clear();
        self.starts.resize(self.mask as usize + 2, 0);
        for position in positions_m.clone() {
            let bucket = self.bucket(self.cell(position));
            self.buckets.push(bucket);
            self.starts[bucket as usize + 1] += 1;
        }
        for bucket in 1..self.starts.len() {
            self.starts[bucket] += self.starts[bucket - 1];
        }
        self.points.clear();
        self.points.resize(count, (DVec3::ZERO, 0));
        // `starts` is used as the cursor of each bucket and shifted back by one afterwards
        for (index, position) in positions_m.enumerate() {
            let cursor = &mut self.starts[self.buckets[index] as usize];
            self.points[*cursor as usize] = (position, index as u32);
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
        for x in low[0]..=high[0] {
            for y in low[1]..=high[1] {
                for z in low[2]..=high[2] {
                    self.in_cell([x, y, z], centre_m, squared, &mut found);
                }
            }
        }
    }

    /// When a query covers more cells than there are points, looking at all points is cheaper.
    fn scan(&self, centre_m: DVec3, squared: f64, found: &mut impl FnMut(u32, DVec3)) {
        for &(position, index) in &self.points {
            if (position - centre_m).length_squared() <= squared {
                found(index, position);
            }
        }
    }

    #[inline(always)]
    fn in_cell(&self, cell: Cell, centre_m: DVec3, squared: f64, found: &mut impl FnMut(u32, DVec3)) {
        let bucket = self.bucket(cell) as usize;
        let range = self.starts[bucket] as usize..self.starts[bucket + 1] as usize;
        for &(position, index) in &self.points[range] {
            // another cell may share the bucket: its points belong to that cell's visit
            if (position - centre_m).length_squared() <= squared && self.cell(position) == cell {
                found(index, position);
            }
        }
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
        let mixed = (cell[0] as u32).wrapping_mul(0x9E37_79B1)
            ^ (cell[1] as u32).wrapping_mul(0x85EB_CA77)
            ^ (cell[2] as u32).wrapping_mul(0xC2B2_AE3D);
        (mixed ^ (mixed >> 15)) & self.mask
    }
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
