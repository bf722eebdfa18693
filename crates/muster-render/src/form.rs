//! Solids prepared for drawing: triangles in blocks of 8, blocks in clusters with bounds, clusters small in space, so that
//! what is not in a view is passed over by the cluster. Made once for each distinct solid and shared by all that look
//! alike.

use crate::tessellate::{self, Triangles};
use glam::DVec3;
use muster_core::shape::Shape;

/// How many lanes are worked on at once.
pub(crate) const LANES: usize = 8;
/// Triangles in a cluster.
const CLUSTER: usize = 64;

/// A number in each lane.
pub(crate) type Lane = [f32; LANES];

/// Eight triangles: `corners[corner][axis][lane]`, m from the middle of their level. Lanes that are left over hold a
/// triangle without area.
pub(crate) struct Block {
    pub(crate) corners: [[Lane; 3]; 3],
}

/// What is needed of a triangle that is seen.
#[derive(Clone, Copy, Default)]
pub(crate) struct Face {
    /// Unit normal on the side where the corners turn left; zero if there is no area.
    pub(crate) normal: DVec3,
    /// Distance of its plane from the middle of the level along the normal, m.
    pub(crate) offset_m: f64,
    /// Its number in the shape.
    pub(crate) number: u32,
}

/// Bounds of eight clusters: middles and half edges of boxes along the axes.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) middle: [Lane; 3],
    pub(crate) half: [Lane; 3],
}

/// A solid drawn with a certain error.
pub(crate) struct Level {
    /// What corners are counted from, in the frame of the solid, m.
    pub(crate) middle_m: DVec3,
    /// By how much it is wrong, m.
    pub(crate) error_m: f64,
    pub(crate) blocks: Vec<Block>,
    /// Eight for each block.
    pub(crate) faces: Vec<Face>,
    /// Eight clusters each; those left over are never seen.
    pub(crate) bounds: Vec<Bounds>,
}

/// A solid at all levels, from fine to coarse; a plane has none.
pub(crate) struct Form {
    pub(crate) levels: Vec<Level>,
    /// The ball around it, in its own frame, m.
    pub(crate) middle_m: DVec3,
    pub(crate) radius_m: f64,
}

impl Form {
    pub(crate) fn new(shape: &Shape) -> Self {
        let levels: Vec<Level> = tessellate::levels(shape).into_iter().map(Level::new).collect();
        let balls = levels.iter().map(|level| (level.middle_m, level.radius_m()));
        let (middle_m, radius_m) = balls.reduce(|a, b| (a.0, a.1.max(b.1 + a.0.distance(b.0)))).unwrap_or_default();
        Self { levels, middle_m, radius_m }
    }

    /// The coarsest level that is right enough for a distance.
    pub(crate) fn level(&self, distance_m: f64) -> usize {
        let enough_m = tessellate::ERROR_SHARE * distance_m;
        self.levels.iter().rposition(|level| level.error_m <= enough_m).unwrap_or(0)
    }
}

/// The blocks of a cluster.
pub(crate) fn blocks_of(cluster: usize, level: &Level) -> std::ops::Range<usize> {
    let each = CLUSTER / LANES;
    cluster * each..level.blocks.len().min((cluster + 1) * each)
}

impl Level {
    fn new(mut triangles: Triangles) -> Self {
        let finite = |corners: &[DVec3; 3]| corners.iter().all(|corner| corner.is_finite());
        let mut numbered: Vec<(u32, [DVec3; 3])> =
            (0..).zip(triangles.corners_m.drain(..)).filter(|(_, corners)| finite(corners)).collect();
        sort(&mut numbered, CLUSTER);
        let all = || numbered.iter().flat_map(|(_, corners)| corners);
        let lowest = all().fold(DVec3::INFINITY, |low, &corner| low.min(corner));
        let highest = all().fold(DVec3::NEG_INFINITY, |high, &corner| high.max(corner));
        let middle_m = if numbered.is_empty() { DVec3::ZERO } else { (lowest + highest) * 0.5 };
        let blocks = numbered.chunks(LANES).map(|chunk| block(chunk, middle_m)).collect();
        let mut faces: Vec<Face> = numbered.iter().map(|triangle| face(triangle, middle_m)).collect();
        faces.resize(faces.len().next_multiple_of(LANES), Face::default());
        let clusters: Vec<&[(u32, [DVec3; 3])]> = numbered.chunks(CLUSTER).collect();
        let bounds = clusters.chunks(LANES).map(|chunk| bounds(chunk, middle_m)).collect();
        Self { middle_m, error_m: triangles.error_m, blocks, faces, bounds }
    }

    /// How far the furthest corner is from the middle, m, with a margin for rounding.
    fn radius_m(&self) -> f64 {
        let corners = self.blocks.iter().flat_map(|block| &block.corners);
        let squares = corners.flat_map(|[x, y, z]| (0..LANES).map(move |k| x[k] * x[k] + y[k] * y[k] + z[k] * z[k]));
        f64::from(squares.fold(0.0, f32::max)).sqrt() * (1.0 + 1e-6)
    }
}

/// Brings triangles that are close to each other together: halves along the longest axis, each a whole number of clusters,
/// then of blocks.
fn sort(triangles: &mut [(u32, [DVec3; 3])], whole: usize) {
    let whole = if triangles.len() <= whole { LANES } else { whole };
    if triangles.len() <= whole {
        return;
    }
    let middle = |corners: &[DVec3; 3]| corners[0] + corners[1] + corners[2];
    let middles = || triangles.iter().map(|(_, corners)| middle(corners));
    let spread = middles().fold(DVec3::NEG_INFINITY, DVec3::max) - middles().fold(DVec3::INFINITY, DVec3::min);
    let axis = spread.max_position();
    let half = (triangles.len() / 2).next_multiple_of(whole);
    triangles
        .select_nth_unstable_by(half, |a, b| middle(&a.1)[axis].total_cmp(&middle(&b.1)[axis]).then(a.0.cmp(&b.0)));
    let (low, high) = triangles.split_at_mut(half);
    sort(low, whole);
    sort(high, whole);
}

fn block(triangles: &[(u32, [DVec3; 3])], middle_m: DVec3) -> Block {
    let mut corners = [[[0.0; LANES]; 3]; 3];
    for (lane, (_, triangle)) in triangles.iter().enumerate() {
        for (corner, &point) in triangle.iter().enumerate() {
            for axis in 0..3 {
                corners[corner][axis][lane] = (point - middle_m)[axis] as f32;
            }
        }
    }
    Block { corners }
}

fn face(&(number, [a, b, c]): &(u32, [DVec3; 3]), middle_m: DVec3) -> Face {
    let normal = (b - a).cross(c - a).normalize_or_zero();
    Face { normal, offset_m: normal.dot(a - middle_m), number }
}

fn bounds(clusters: &[&[(u32, [DVec3; 3])]], middle_m: DVec3) -> Bounds {
    // clusters left over are infinitely far away in every direction: no half-space holds them
    let mut bounds = Bounds { middle: [[0.0; LANES]; 3], half: [[f32::NEG_INFINITY; LANES]; 3] };
    for (lane, cluster) in clusters.iter().enumerate() {
        let corners = || cluster.iter().flat_map(|(_, corners)| corners).map(|&corner| corner - middle_m);
        let lowest = corners().fold(DVec3::INFINITY, DVec3::min);
        let highest = corners().fold(DVec3::NEG_INFINITY, DVec3::max);
        let (middle, half) = ((lowest + highest) * 0.5, (highest - lowest) * 0.5);
        for axis in 0..3 {
            bounds.middle[axis][lane] = middle[axis] as f32;
            // rounding of the middle and of the corners is inside
            bounds.half[axis][lane] = (half[axis] + 2e-7 * (middle[axis].abs() + half[axis])) as f32;
        }
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_core::math;

    fn terrain() -> Shape {
        let heights_m = (0..40 * 30).map(|k| math::sin(f64::from(k) * 0.37)).collect();
        Shape::Heightfield(muster_core::shape::Heights { size_m: [40.0, 30.0], columns: 40, heights_m }.into())
    }

    fn clusters(level: &Level) -> usize {
        level.blocks.len().div_ceil(CLUSTER / LANES)
    }

    #[test]
    fn every_triangle_is_in_one_cluster_and_within_its_bounds() {
        for shape in [terrain(), Shape::Sphere { radius_m: 0.7 }, Shape::Box { half_m: DVec3::ONE }] {
            let wanted = tessellate::levels(&shape)[0].corners_m.len();
            let form = Form::new(&shape);
            let level = &form.levels[0];
            let mut seen = vec![0; wanted];
            for cluster in 0..clusters(level) {
                let bounds = &level.bounds[cluster / LANES];
                for block in blocks_of(cluster, level) {
                    for lane in 0..LANES {
                        let face = level.faces[block * LANES + lane];
                        if face.normal == DVec3::ZERO {
                            continue;
                        }
                        seen[face.number as usize] += 1;
                        for corner in &level.blocks[block].corners {
                            for axis in 0..3 {
                                let off = (corner[axis][lane] - bounds.middle[axis][cluster % LANES]).abs();
                                assert!(off <= bounds.half[axis][cluster % LANES]);
                            }
                        }
                    }
                }
            }
            assert!(seen.iter().all(|&times| times == 1));
            assert!(clusters(level) <= wanted.div_ceil(CLUSTER));
        }
    }

    #[test]
    fn clusters_are_small() {
        let form = Form::new(&terrain());
        let level = &form.levels[0];
        let half = |cluster: usize| {
            DVec3::from([0, 1, 2].map(|axis| f64::from(level.bounds[cluster / LANES].half[axis][cluster % LANES])))
        };
        let areas_m2 = (0..clusters(level)).map(|cluster| 4.0 * half(cluster).x * half(cluster).y);
        // 64 triangles of half a square metre each; boxes overlap a little at their seams
        let mean_m2 = areas_m2.sum::<f64>() / clusters(level) as f64;
        assert!(mean_m2 < 2.0 * 32.0, "{mean_m2}");
    }

    #[test]
    fn far_things_are_drawn_coarsely() {
        let form = Form::new(&Shape::Sphere { radius_m: 0.3 });
        assert_eq!(form.level(1.0), 0);
        assert!(form.level(100.0) > 0);
        for distance_m in [0.5, 5.0, 20.0, 80.0, 1000.0] {
            let error_m = form.levels[form.level(distance_m)].error_m;
            assert!(error_m <= tessellate::geometry_error_m(&Shape::Sphere { radius_m: 0.3 }, distance_m));
        }
    }
}
