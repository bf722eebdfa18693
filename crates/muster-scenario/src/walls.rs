//! Walls: along lines, or drawn as text. Either way they become few boxes, upright on z = 0.

use glam::DVec3;
use muster_core::component::Pose;
use muster_core::math;
use muster_core::spec;

spec! {
    /// Walls along lines.
    pub struct WallsText {
        /// The lines, each from corner to corner.
        lines_m: Vec<Vec<[f64; 2]>>;
        /// Thickness; lines run through the middle.
        thickness_m: f64 = 0.1, in 1e-3..=1e3;
        /// Height.
        height_m: f64 = 2.5, in 1e-3..=1e4;
    }
}

spec! {
    /// Walls drawn as text, the place being that of the middle of the drawing.
    pub struct PlanText {
        /// The drawing, north up: `#` for walls, dots and blanks for what is free.
        rows: String;
        /// Width of columns and rows; several repeat in turn: `[0.1, 1]` has thin walls between wide cells.
        cell_m: Vec<f64> = vec![1.0], in 1e-3..=1e4;
        /// Height.
        height_m: f64 = 1.0, in 1e-3..=1e4;
    }
}

/// A box: half of each edge, and where it is.
pub(crate) type Block = (DVec3, Pose);

/// The boxes of walls along lines: one from each corner to the next, overlapping at corners.
pub(crate) fn along_lines(text: &WallsText) -> Result<Vec<Block>, String> {
    let half = DVec3::new(0.5 * text.thickness_m, 0.5 * text.thickness_m, 0.5 * text.height_m);
    let between = |ends: &[[f64; 2]]| {
        let [from, to] = [ends[0], ends[1]].map(|[x, y]| DVec3::new(x, y, half.z));
        let way = to - from;
        let orientation = math::quat_from_yaw(math::atan2(way.y, way.x));
        (half + DVec3::X * 0.5 * way.length(), Pose { position_m: 0.5 * (from + to), orientation })
    };
    if let Some(short) = text.lines_m.iter().position(|line| line.len() < 2) {
        return Err(format!("line {short} of walls with fewer than two corners"));
    }
    Ok(text.lines_m.iter().flat_map(|line| line.windows(2).map(between)).collect())
}

/// The boxes of a drawing.
pub(crate) fn drawn(text: &PlanText) -> Result<Vec<Block>, String> {
    let rows: Vec<&str> = text.rows.lines().map(str::trim_end).collect();
    if let Some(other) = rows.iter().flat_map(|row| row.chars()).find(|c| !"#. ".contains(*c)) {
        return Err(format!("{other:?} in a plan, expected '#', '.' and blanks"));
    }
    let columns = rows.iter().map(|row| row.len()).max().unwrap_or_default();
    let filled = rows.iter().rev().flat_map(|row| (0..columns).map(|x| row.as_bytes().get(x) == Some(&b'#')));
    let occupied = Occupied { columns, filled: filled.collect() };
    let (x_m, y_m) = (edges_m(columns, &text.cell_m)?, edges_m(rows.len(), &text.cell_m)?);
    let block = |[x, y]: [std::ops::Range<usize>; 2]| {
        let (from, to) =
            (DVec3::new(x_m[x.start], y_m[y.start], 0.0), DVec3::new(x_m[x.end], y_m[y.end], text.height_m));
        (0.5 * (to - from), Pose { position_m: 0.5 * (from + to), ..Pose::IDENTITY })
    };
    Ok(occupied.rectangles().into_iter().map(block).collect())
}

/// Where cells begin and end, the middle of all at 0.
fn edges_m(count: usize, widths_m: &[f64]) -> Result<Vec<f64>, String> {
    if widths_m.is_empty() {
        return Err("no cell_m, expected at least one width".to_owned());
    }
    let mut edges = vec![0.0];
    edges.extend(widths_m.iter().cycle().take(count).scan(0.0, |sum, width| {
        *sum += width;
        Some(*sum)
    }));
    let middle = 0.5 * edges[count];
    edges.iter_mut().for_each(|edge| *edge -= middle);
    Ok(edges)
}

/// Which cells of a grid are solid, row by row.
#[derive(Clone)]
pub(crate) struct Occupied {
    pub(crate) columns: usize,
    pub(crate) filled: Vec<bool>,
}

/// Ranges of columns and rows.
pub(crate) type Cells = [std::ops::Range<usize>; 2];

impl Occupied {
    /// Few rectangles of columns and rows that cover exactly what is solid: each as long as it can be, then as high.
    fn rectangles(mut self) -> Vec<Cells> {
        let (mut found, mut first) = (Vec::new(), 0);
        while let Some(ahead) = self.filled[first..].iter().position(|&filled| filled) {
            first += ahead;
            let (left, bottom) = (first % self.columns, first / self.columns);
            let length = self.filled[first..(bottom + 1) * self.columns].iter().take_while(|&&filled| filled).count();
            let above = self.filled[first..].chunks(self.columns);
            let height =
                above.take_while(|row| row.len() >= length && row[..length].iter().all(|&filled| filled)).count();
            for row in 0..height {
                self.filled[first + row * self.columns..][..length].fill(false);
            }
            found.push([left..left + length, bottom..bottom + height]);
        }
        found
    }

    /// The same with fewer rectangles where that is possible: the fewest of three ways, which make each rectangle as long,
    /// as high, or as large as it can be.
    pub(crate) fn few_rectangles(self) -> Vec<Cells> {
        let swapped =
            |cells: Vec<Cells>| cells.into_iter().map(|[rows, columns]| [columns, rows]).collect::<Vec<Cells>>();
        let ways = [self.clone().rectangles(), swapped(self.transposed().rectangles()), self.large_rectangles()];
        ways.into_iter().min_by_key(Vec::len).unwrap_or_default()
    }

    fn transposed(&self) -> Self {
        let rows = self.filled.len() / self.columns.max(1);
        let filled =
            (0..self.columns).flat_map(|x| (0..rows).map(move |y| self.filled[y * self.columns + x])).collect();
        Self { columns: rows, filled }
    }

    /// From each lower left corner that is left over, the rectangle of the largest area.
    fn large_rectangles(mut self) -> Vec<Cells> {
        let (mut found, mut first) = (Vec::new(), 0);
        while let Some(ahead) = self.filled[first..].iter().position(|&filled| filled) {
            first += ahead;
            let (left, bottom) = (first % self.columns, first / self.columns);
            let (mut narrowest, mut best) = (self.columns - left, (0, 0));
            for (above, row) in self.filled[bottom * self.columns..].chunks_exact(self.columns).enumerate() {
                narrowest = row[left..left + narrowest].iter().take_while(|&&filled| filled).count();
                if narrowest == 0 {
                    break;
                }
                if narrowest * (above + 1) > best.0 * best.1 {
                    best = (narrowest, above + 1);
                }
            }
            let (length, height) = best;
            for row in 0..height {
                self.filled[first + row * self.columns..][..length].fill(false);
            }
            found.push([left..left + length, bottom..bottom + height]);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "###.\n#..\n#.##\n";

    fn plan(rows: &str, cell_m: &[f64]) -> PlanText {
        PlanText { rows: rows.to_owned(), cell_m: cell_m.to_vec(), height_m: 2.0 }
    }

    /// West, south, east and north of each box.
    fn sides(blocks: &[Block]) -> Vec<[f64; 4]> {
        let side = |(half, pose): &Block| {
            let (from, to) = (pose.position_m - *half, pose.position_m + *half);
            assert_eq!((from.z, to.z), (0.0, 2.0));
            [from.x, from.y, to.x, to.y]
        };
        blocks.iter().map(side).collect()
    }

    #[test]
    fn a_drawing_is_covered_once_by_few_boxes_north_up() {
        let blocks = drawn(&plan(PLAN, &[1.0])).unwrap();
        let expected = [[-2.0, -1.5, -1.0, 1.5], [0.0, -1.5, 2.0, -0.5], [-1.0, 0.5, 1.0, 1.5]];
        assert_eq!(sides(&blocks), expected);
    }

    fn check(blocks: &[Block], expected: &[[f64; 4]]) {
        let found = sides(blocks);
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
        assert!(found.iter().flatten().zip(expected.iter().flatten()).all(near), "{found:?} {expected:?}");
        assert_eq!(found.len(), expected.len());
    }

    #[test]
    fn few_rectangles_cover_what_is_solid_once_and_are_few() {
        let grid = |rows: &[&str]| Occupied {
            columns: rows[0].len(),
            filled: rows.iter().flat_map(|row| row.bytes().map(|cell| cell == b'#')).collect(),
        };
        let check = |rows: &[&str], most: usize| {
            let occupied = grid(rows);
            let found = occupied.clone().few_rectangles();
            assert!(found.len() <= most, "{found:?}");
            let mut times = vec![0; occupied.filled.len()];
            for [columns, rows] in found {
                rows.for_each(|row| columns.clone().for_each(|column| times[row * occupied.columns + column] += 1));
            }
            assert!(times.iter().zip(&occupied.filled).all(|(times, filled)| *times == u8::from(*filled)), "{times:?}");
        };
        check(&["#.#.#", "#.#.#", "#.#.#", "#####"], 4);
        check(&["#####", ".#...", "#####"], 3);
        check(&["##..", "###.", "###.", "##.."], 3);
        check(&["....", "...."], 0);
    }

    #[test]
    fn widths_repeat_in_turn() {
        let blocks = drawn(&plan("#.#\n#..\n###", &[0.2, 1.0])).unwrap();
        check(&blocks, &[[-0.7, -0.7, 0.7, -0.5], [-0.7, -0.5, -0.5, 0.7], [0.5, 0.5, 0.7, 0.7]]);
    }

    #[test]
    fn walls_along_lines_close_their_corners() {
        let lines_m = vec![vec![[0.0, 0.0], [4.0, 0.0], [4.0, 3.0]]];
        let blocks = along_lines(&WallsText { lines_m, thickness_m: 0.2, height_m: 2.0 }).unwrap();
        check(&blocks[..1], &[[-0.1, -0.1, 4.1, 0.1]]);
        let (half, pose) = blocks[1];
        let ahead = math::rotate(pose.orientation, DVec3::X);
        assert!((half - DVec3::new(1.6, 0.1, 1.0)).length() < 1e-12 && (ahead - DVec3::Y).length() < 1e-12);
        assert!((pose.position_m - DVec3::new(4.0, 1.5, 1.0)).length() < 1e-12);
    }

    #[test]
    fn what_cannot_be_a_wall_is_refused() {
        assert!(drawn(&plan("#x#", &[1.0])).unwrap_err().contains("'x'"));
        assert!(drawn(&plan("#", &[])).is_err());
        assert!(drawn(&plan("", &[1.0])).unwrap().is_empty());
        assert!(along_lines(&WallsText { lines_m: vec![vec![[0.0; 2]]], thickness_m: 1.0, height_m: 1.0 }).is_err());
    }
}
