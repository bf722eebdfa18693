//! Terrain as areas above one height after another (marching squares).

use glam::DVec2;
use muster_core::shape::Heights;

/// More points along a side are thinned out: a picture does not show them.
const POINTS_MAX: usize = 100;

/// Heights at the crossings of a coarser grid.
pub(super) struct Grid {
    columns: usize,
    rows: usize,
    /// Place and height of each point, row by row.
    points: Vec<(DVec2, f64)>,
}

impl Grid {
    pub(super) fn new(heights: &Heights) -> Self {
        let rows = heights.heights_m.len() / heights.columns;
        let thinned = |count: usize| {
            let step = count.div_ceil(POINTS_MAX).max(1);
            (0..count - 1).step_by(step).chain([count - 1]).collect::<Vec<usize>>()
        };
        let (xs, ys) = (thinned(heights.columns), thinned(rows));
        let along = |number: usize, count: usize, size: f64| size * (number as f64 / (count - 1) as f64 - 0.5);
        let point = |x: usize, y: usize| {
            let place = DVec2::new(along(x, heights.columns, heights.size_m[0]), along(y, rows, heights.size_m[1]));
            (place, heights.heights_m[y * heights.columns + x])
        };
        let points = ys.iter().flat_map(|&y| xs.iter().map(move |&x| point(x, y))).collect();
        Self { columns: xs.len(), rows: ys.len(), points }
    }

    /// Polygons that together cover what is at least so high, and the lines along which it ends.
    pub(super) fn above(&self, height_m: f64) -> (Vec<Vec<DVec2>>, Vec<[DVec2; 2]>) {
        let (mut areas, mut lines) = (Vec::new(), Vec::new());
        for row in 0..self.rows - 1 {
            // neighbours that are wholly above are drawn as one
            let mut run: Option<(DVec2, DVec2)> = None;
            for column in 0..self.columns - 1 {
                let cell = self.cell(column, row);
                if cell.iter().all(|(_, height)| *height >= height_m) {
                    run = Some((run.map_or(cell[0].0, |(from, _)| from), cell[2].0));
                    continue;
                }
                areas.extend(run.take().map(rectangle));
                let corners = cut(&cell, height_m, &mut lines);
                if corners.len() > 2 {
                    areas.push(corners);
                }
            }
            areas.extend(run.map(rectangle));
        }
        (areas, lines)
    }

    /// The corners of a cell, counter-clockwise.
    fn cell(&self, column: usize, row: usize) -> [(DVec2, f64); 4] {
        let first = row * self.columns + column;
        [first, first + 1, first + self.columns + 1, first + self.columns].map(|at| self.points[at])
    }
}

fn rectangle((from, to): (DVec2, DVec2)) -> Vec<DVec2> {
    vec![from, DVec2::new(to.x, from.y), to, DVec2::new(from.x, to.y)]
}

/// The part of a cell that is at least so high; notes where it ends.
fn cut(cell: &[(DVec2, f64); 4], height_m: f64, lines: &mut Vec<[DVec2; 2]>) -> Vec<DVec2> {
    let (mut corners, mut crossings) = (Vec::new(), Vec::new());
    for at in 0..4 {
        let ((here, low), (there, high)) = (cell[at], cell[(at + 1) % 4]);
        if low >= height_m {
            corners.push(here);
        }
        if (low >= height_m) != (high >= height_m) {
            let crossing = here.lerp(there, (height_m - low) / (high - low));
            corners.push(crossing);
            crossings.push(crossing);
        }
    }
    lines.extend(crossings.chunks_exact(2).map(|pair| [pair[0], pair[1]]));
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(polygons: &[Vec<DVec2>]) -> f64 {
        let one = |corners: &Vec<DVec2>| {
            (0..corners.len()).map(|at| 0.5 * corners[at].perp_dot(corners[(at + 1) % corners.len()])).sum::<f64>()
        };
        polygons.iter().map(one).sum()
    }

    #[test]
    fn what_is_above_a_height_of_a_cone_is_a_disc() {
        let (columns, size) = (201, 10.0);
        let at = |number: usize| size * (number as f64 / 200.0 - 0.5);
        let heights_m = (0..columns * columns).map(|at_| 5.0 - at(at_ % columns).hypot(at(at_ / columns))).collect();
        let grid = Grid::new(&Heights { size_m: [size; 2], columns, heights_m });
        let (areas, lines) = grid.above(2.0);
        let around: f64 = lines.iter().map(|[a, b]| (*b - *a).length()).sum();
        let circle = std::f64::consts::PI * 3.0;
        assert!((area(&areas) / (circle * 3.0) - 1.0).abs() < 0.01, "{}", area(&areas));
        assert!((around / (2.0 * circle) - 1.0).abs() < 0.01, "{around}");
        assert!((area(&grid.above(-9.0).0) - 100.0).abs() < 1e-9 && grid.above(6.0).0.is_empty());
    }
}
