//! Where robots, obstacles or objects of a `count` stand: grid, line, circle, sphere, or random without overlap. Pure
//! functions of the layout, the count and the seed.

use glam::{DQuat, DVec3};
use muster_core::component::Pose;
use muster_core::math;
use muster_core::random::Stream;
use muster_core::spec;

spec! {
    /// Rows and columns, row by row.
    pub struct Grid {
        /// Number of rows; columns follow from the count.
        rows: usize, in 1..=1000000;
        /// Number of layers stacked upwards.
        layers: usize = 1, in 1..=1000000;
        /// Distance between neighbours.
        spacing_m: f64 = 2.0, in 0.0..=1e6;
        /// Distance between layers; that between neighbours if none is given.
        layer_spacing_m: Option<f64>, in 0.0..=1e6;
        /// Where the first robot stands.
        from_m: [f64; 3] = [0.0; 3];
        /// Heading of all.
        yaw_deg: f64 = 0.0;
    }
}

spec! {
    /// Along a line.
    pub struct Line {
        /// Where the first robot stands.
        from_m: [f64; 3] = [0.0; 3];
        /// From each robot to the next.
        step_m: [f64; 3] = [2.0, 0.0, 0.0];
        /// Heading of all.
        yaw_deg: f64 = 0.0;
    }
}

spec! {
    /// Around a circle, evenly.
    pub struct Circle {
        /// Radius.
        radius_m: f64 = 5.0, in 0.0..=1e6;
        /// Centre.
        center_m: [f64; 3] = [0.0; 3];
        /// Where robots look.
        facing: Facing = Facing::Along;
    }
}

muster_core::choice! {
    /// Heading on a circle.
    pub enum Facing { Along = "along", Inward = "inward", Outward = "outward", East = "east" }
}

spec! {
    /// Over a sphere, evenly (Fibonacci lattice).
    pub struct Sphere {
        /// Radius.
        radius_m: f64 = 5.0, in 0.0..=1e6;
        /// Centre.
        center_m: [f64; 3] = [0.0, 0.0, 10.0];
    }
}

spec! {
    /// At random in a box, no two nearer than a distance.
    pub struct Random {
        /// One corner of the box.
        from_m: [f64; 3];
        /// The opposite corner.
        to_m: [f64; 3];
        /// Least distance between two robots.
        min_distance_m: f64 = 0.5, in 0.0..=1e6;
        /// Random headings instead of all to the east.
        random_yaw: bool = true;
        /// Seed of the places; if none is given that of the run, and 0 in a world, which is the same in every run.
        seed: Option<u64>;
    }
}

spec! {
    /// Where the robots of a `count` stand: exactly one of these.
    pub struct Layout {
        /// Rows and columns.
        grid: Option<Grid>;
        /// Along a line.
        line: Option<Line>;
        /// Around a circle.
        circle: Option<Circle>;
        /// Over a sphere.
        sphere: Option<Sphere>;
        /// At random without overlap.
        random: Option<Random>;
    }
}

/// How often a random place is tried before the layout counts as too dense.
const TRIES: u64 = 10_000;

/// The poses of `count` robots, or what is wrong with the layout.
pub fn poses(layout: &Layout, count: usize, seed: u64, stream: u64) -> Result<Vec<Pose>, String> {
    let chosen = [
        layout.grid.as_ref().map(|grid| Ok(on_grid(grid, count))),
        layout.line.as_ref().map(|line| Ok(on_line(line, count))),
        layout.circle.as_ref().map(|circle| Ok(on_circle(circle, count))),
        layout.sphere.as_ref().map(|sphere| Ok(on_sphere(sphere, count))),
        layout.random.as_ref().map(|random| at_random(random, count, Stream::new(random.seed.unwrap_or(seed), stream))),
    ];
    let mut chosen: Vec<_> = chosen.into_iter().flatten().collect();
    match (chosen.pop(), chosen.is_empty()) {
        (Some(poses), true) => poses,
        _ => Err("exactly one of grid, line, circle, sphere, random".to_owned()),
    }
}

/// Where something stands whose own place is relative to one of a layout.
pub(crate) fn placed(place: Option<Pose>, own: Pose) -> Pose {
    match place {
        None => own,
        Some(place) => Pose {
            position_m: place.position_m + own.position_m,
            orientation: math::normalize_quat(place.orientation * own.orientation),
        },
    }
}

fn facing(position_m: DVec3, yaw_rad: f64) -> Pose {
    Pose { position_m, orientation: math::quat_from_yaw(yaw_rad) }
}

fn on_grid(grid: &Grid, count: usize) -> Vec<Pose> {
    let columns = count.div_ceil(grid.rows * grid.layers).max(1);
    let at = |i: usize| {
        let (layer, rest) = (i / (grid.rows * columns), i % (grid.rows * columns));
        let cell = DVec3::new((rest % columns) as f64, (rest / columns) as f64, layer as f64);
        let spacing_m = DVec3::splat(grid.spacing_m).with_z(grid.layer_spacing_m.unwrap_or(grid.spacing_m));
        facing(DVec3::from(grid.from_m) + cell * spacing_m, grid.yaw_deg.to_radians())
    };
    (0..count).map(at).collect()
}

fn on_line(line: &Line, count: usize) -> Vec<Pose> {
    let at = |i: usize| DVec3::from(line.from_m) + DVec3::from(line.step_m) * i as f64;
    (0..count).map(|i| facing(at(i), line.yaw_deg.to_radians())).collect()
}

fn on_circle(circle: &Circle, count: usize) -> Vec<Pose> {
    let quarter = std::f64::consts::FRAC_PI_2;
    let at = |i: usize| {
        let angle = 4.0 * quarter * i as f64 / count as f64;
        let (sin, cos) = math::sin_cos(angle);
        let yaw = match circle.facing {
            Facing::Along => angle + quarter,
            Facing::Inward => angle + 2.0 * quarter,
            Facing::Outward => angle,
            Facing::East => 0.0,
        };
        facing(DVec3::from(circle.center_m) + DVec3::new(cos, sin, 0.0) * circle.radius_m, math::wrap_angle(yaw))
    };
    (0..count).map(at).collect()
}

/// Evenly spread points on a sphere: equal steps in height, golden angle in azimuth.
pub fn sphere_point(i: usize, count: usize) -> DVec3 {
    let golden = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let z = 1.0 - (2.0 * i as f64 + 1.0) / count as f64;
    let (sin, cos) = math::sin_cos(golden * i as f64);
    let ring = (1.0 - z * z).max(0.0).sqrt();
    DVec3::new(ring * cos, ring * sin, z)
}

fn on_sphere(sphere: &Sphere, count: usize) -> Vec<Pose> {
    let centre = DVec3::from(sphere.center_m);
    let at = |i| Pose { position_m: centre + sphere_point(i, count) * sphere.radius_m, orientation: DQuat::IDENTITY };
    (0..count).map(at).collect()
}

fn at_random(random: &Random, count: usize, stream: Stream) -> Result<Vec<Pose>, String> {
    let (from, to) = (DVec3::from(random.from_m), DVec3::from(random.to_m));
    let cell_m = random.min_distance_m.max(1e-3);
    let mut taken: std::collections::HashMap<[i64; 3], DVec3> = std::collections::HashMap::new();
    // at most one robot fits into a cell whose diagonal is the least distance
    let cell_of = |p: DVec3| (p / (cell_m / 3.0_f64.sqrt())).to_array().map(|x| x.floor() as i64);
    let mut poses = Vec::with_capacity(count);
    let mut draw = 0;
    while poses.len() < count {
        let place = (0..TRIES).find_map(|_| {
            draw += 1;
            let u = stream.uniforms(draw, 0);
            let p = from + (to - from) * DVec3::new(u[0], u[1], u[2]);
            let cell = cell_of(p);
            let near = (-2..=2).flat_map(|x| (-2..=2).flat_map(move |y| (-2..=2).map(move |z| [x, y, z])));
            let free = random.min_distance_m == 0.0
                || near
                    .map(|d| [cell[0] + d[0], cell[1] + d[1], cell[2] + d[2]])
                    .all(|other| taken.get(&other).is_none_or(|q| (p - *q).length() >= random.min_distance_m));
            free.then_some((p, u[3]))
        });
        let Some((p, turn)) = place else {
            return Err(format!(
                "room for {count} {} m apart (only {} found a place)",
                random.min_distance_m,
                poses.len()
            ));
        };
        taken.insert(cell_of(p), p);
        let yaw = if random.random_yaw { math::wrap_angle(turn * std::f64::consts::TAU) } else { 0.0 };
        poses.push(facing(p, yaw));
    }
    Ok(poses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_robots_keep_their_distance_and_follow_the_seed() {
        let layout =
            Random { from_m: [0.0; 3], to_m: [10.0, 10.0, 0.0], min_distance_m: 0.7, random_yaw: true, seed: None };
        let stream = |seed| Stream::new(seed, 1);
        let a = at_random(&layout, 80, stream(1)).unwrap();
        for (i, p) in a.iter().enumerate() {
            assert!(a[..i].iter().all(|q| (p.position_m - q.position_m).length() >= 0.7));
        }
        assert_eq!(a, at_random(&layout, 80, stream(1)).unwrap());
        assert_ne!(a, at_random(&layout, 80, stream(2)).unwrap());
        assert!(at_random(&layout, 10_000, stream(1)).is_err());
    }

    #[test]
    fn a_sphere_is_covered_evenly() {
        let poses = on_sphere(&Sphere { radius_m: 5.0, center_m: [0.0; 3] }, 70);
        let nearest = |i: usize| {
            (0..70)
                .filter(|&j| j != i)
                .map(|j| (poses[i].position_m - poses[j].position_m).length())
                .fold(f64::INFINITY, f64::min)
        };
        let distances: Vec<f64> = (0..70).map(nearest).collect();
        let (low, high) =
            (distances.iter().copied().fold(9.0, f64::min), distances.iter().copied().fold(0.0, f64::max));
        assert!(low > 1.0 && high < 2.5, "{low} {high}");
    }

    #[test]
    fn exactly_one_form_is_chosen() {
        let none = Layout { grid: None, line: None, circle: None, sphere: None, random: None };
        assert!(poses(&none, 3, 0, 0).is_err());
    }
}
