//! Rays against brute force in double precision, wide registers against arrays.

use super::*;
use crate::contact::Obstacle;
use crate::model::Environment;
use crate::obstacles::Obstacles;
use crate::random::Stream;
use crate::shape::{Heights, Mesh, Shape, Solid};
use glam::DQuat;
use std::sync::Arc;

const ALL: Reach = Reach { min_m: 0.0, max_m: 60.0, without: None };

fn vector(stream: &Stream, at: u64, draw: u32) -> DVec3 {
    let [x, y, z, _] = stream.uniforms(at, draw);
    DVec3::new(x, y, z) * 2.0 - 1.0
}

/// A closed mesh of eight triangles.
fn octahedron(radius_m: f64) -> Mesh {
    let vertices_m = [DVec3::X, DVec3::NEG_X, DVec3::Y, DVec3::NEG_Y, DVec3::Z, DVec3::NEG_Z];
    let triangles = vec![[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    Mesh { vertices_m: vertices_m.map(|corner| corner * radius_m).to_vec(), triangles, paint: None }
}

fn shape(at: u64, size: f64) -> Shape {
    let (radius_m, half_height_m) = (0.3 + size, 0.2 + 0.5 * size);
    match at % 7 {
        0 => Shape::Sphere { radius_m },
        1 => Shape::Box { half_m: DVec3::new(0.2 + size, 0.1 + 0.3 * size, half_height_m) },
        2 => Shape::Cylinder { radius_m, half_height_m },
        3 => Shape::Capsule { radius_m: 0.5 * radius_m, half_height_m },
        4 => Shape::Cone { radius_m, half_height_m },
        5 => Shape::Mesh(Arc::new(octahedron(radius_m))),
        _ => {
            let heights_m = (0..30).map(|at| 0.1 * f64::from(at * at % 7)).collect();
            Shape::Heightfield(Arc::new(Heights { size_m: [2.0 * radius_m, radius_m], columns: 6, heights_m }))
        }
    }
}

fn world(seed: u64, count: u64, upright: bool) -> Snapshot {
    let stream = Stream::new(seed, 1);
    let mut all: Vec<Obstacle> = (0..count)
        .map(|at| {
            let solid = Solid::new(shape(at + seed, stream.uniforms(at, 0)[0])).expect("a shape");
            let orientation = match upright {
                true => DQuat::IDENTITY,
                false => DQuat::from_scaled_axis(vector(&stream, at, 1) * 3.0),
            };
            Obstacle::new("", solid, Pose { position_m: vector(&stream, at, 2) * 15.0, orientation })
        })
        .collect();
    let ground = Pose { position_m: DVec3::Z * -14.0, ..Pose::IDENTITY };
    all.push(Obstacle::new("ground", Solid::new(Shape::Plane).expect("a plane"), ground));
    let environment = Environment { obstacles: Obstacles::new(all), ..Environment::empty() };
    Snapshot::of(Arc::new(environment), Vec::new(), &[])
}

/// The first surface along a ray by trying all of them in double precision.
fn brute(world: &Snapshot, from_m: DVec3, direction: DVec3, reach: Reach) -> f64 {
    let mut nearest = f64::INFINITY;
    for obstacle in world.environment.obstacles.iter() {
        let stand = Stand::new(&obstacle.pose);
        let (from, along) = (stand.in_solid(from_m), stand.in_solid(from_m + direction) - stand.in_solid(from_m));
        let faces: Vec<[DVec3; 3]> = match obstacle.solid.shape() {
            Shape::Mesh(mesh) => mesh.faces().collect(),
            Shape::Heightfield(heights) => heights.triangles().collect(),
            _ => Vec::new(),
        };
        for face in &faces {
            nearest = nearest.min(triangle(face, from, along, reach.min_m));
        }
        if faces.is_empty() {
            let along = splat3::<Plain<f64>>((), along.to_array());
            let found = obstacle.solid.outline().distance((), from, along, Plain([reach.min_m; WIDTH]));
            nearest = nearest.min(found.0[0]);
        }
    }
    if nearest < reach.max_m { nearest } else { f64::INFINITY }
}

fn triangle([a, b, c]: &[DVec3; 3], from: DVec3, along: DVec3, min: f64) -> f64 {
    let normal = (b - a).cross(c - a);
    let distance = normal.dot(a - from) / normal.dot(along);
    let at = from + along * distance;
    let inside = |a: &DVec3, b: &DVec3| (b - a).cross(at - a).dot(normal) >= 0.0;
    if distance >= min && inside(a, b) && inside(b, c) && inside(c, a) { distance } else { f64::INFINITY }
}

/// Compares with brute force; where that differs, a ray beside this one must agree: it passed an edge by a hair.
fn check(world: &Snapshot, from_m: DVec3, direction: DVec3, found_m: f64, reach: Reach) -> bool {
    let agrees = |exact: f64| exact == found_m || (exact - found_m).abs() <= 1e-5 + 1e-6 * exact.min(60.0);
    if agrees(brute(world, from_m, direction, reach)) {
        return true;
    }
    let beside = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::NEG_X, DVec3::NEG_Y, DVec3::NEG_Z];
    let near = |aside: DVec3| {
        let exact = brute(world, from_m, (direction + aside * 2e-5).normalize(), reach);
        exact == found_m || (exact - found_m).abs() <= 2e-3 * (1.0 + exact.min(60.0))
    };
    assert!(beside.into_iter().any(near), "{found_m} from {from_m} along {direction}");
    false
}

#[test]
fn scattered_rays_meet_what_brute_force_meets() {
    for seed in 0..12 {
        let (world, stream) = (world(seed, 60, seed % 3 == 0), Stream::new(seed, 2));
        let mut exact = 0;
        for at in 0..1000 {
            let (from_m, direction) = (vector(&stream, at, 0) * 16.0, vector(&stream, at, 1).normalize());
            let hit = world.cast(from_m, direction, ALL);
            exact += u32::from(check(&world, from_m, direction, hit.distance_m, ALL));
        }
        assert!(exact >= 995, "{exact}");
    }
}

#[test]
fn distances_are_those_of_double_precision() {
    let (world, stream) = (world(3, 60, false), Stream::new(3, 2));
    let differs = |at: u64| {
        let (from_m, direction) = (vector(&stream, at, 0) * 16.0, vector(&stream, at, 1).normalize());
        let (found, exact) = (world.cast(from_m, direction, ALL).distance_m, brute(&world, from_m, direction, ALL));
        found != exact && (found - exact).abs() > 1e-9
    };
    assert!((0..1000).filter(|&at| differs(at)).count() <= 5);
}

/// Directions of a pinhole camera.
fn pinhole(columns: usize, rows: usize, tan_half: f64) -> Pattern {
    let ray = |at: usize| {
        let u = (2.0 * ((at % columns) as f64 + 0.5) / columns as f64 - 1.0) * tan_half;
        let v = (2.0 * ((at / columns) as f64 + 0.5) / rows as f64 - 1.0) * tan_half * rows as f64 / columns as f64;
        DVec3::new(1.0, -u, -v).normalize()
    };
    Pattern::new((0..columns * rows).map(ray).collect(), columns)
}

/// A full turn in the plane: components of ±0.
fn turn(count: usize) -> Pattern {
    let ray = |at: usize| {
        let (sin, cos) = crate::math::sin_cos(std::f64::consts::TAU * at as f64 / count as f64);
        DVec3::new(cos, sin, if at.is_multiple_of(2) { 0.0 } else { -0.0 })
    };
    Pattern::new((0..count).map(ray).collect(), count)
}

#[test]
fn fans_meet_what_brute_force_meets_whatever_their_width() {
    let patterns =
        [pinhole(1, 1, 1.0), pinhole(10, 1, 1.0), pinhole(33, 21, 1.0), pinhole(40, 40, 0.2), turn(360), turn(7)];
    for (number, pattern) in patterns.iter().enumerate() {
        let (world, stream) = (world(number as u64, 60, number % 2 == 0), Stream::new(number as u64, 3));
        let mut exact = 0;
        for look in 0..3 {
            let orientation = DQuat::from_scaled_axis(vector(&stream, look, 1) * if look == 0 { 0.0 } else { 3.0 });
            let pose = Pose { position_m: vector(&stream, look, 0) * 14.0, orientation };
            let reach = Reach { min_m: 0.5 * look as f64, max_m: 60.0 / (1.0 + look as f64), without: None };
            let mut told = vec![0; pattern.len()];
            pattern.cast(&world, &pose, reach, Simd::detect(), |ray, hit| {
                told[ray] += 1;
                let direction = DMat3::from_quat(orientation) * pattern.directions()[ray];
                exact += usize::from(check(&world, pose.position_m, direction, hit.distance_m, reach));
            });
            assert!(told.iter().all(|&times| times == 1));
        }
        assert!(exact * 100 >= 3 * 98 * pattern.len(), "{exact} of {}", 3 * pattern.len());
    }
}

#[test]
fn registers_and_arrays_give_the_same_bits() {
    for (seed, pattern) in [pinhole(50, 30, 0.7), turn(181), pinhole(1, 1, 1.0)].iter().enumerate() {
        let (world, stream) = (world(seed as u64, 80, false), Stream::new(seed as u64, 4));
        for look in 0..5 {
            let orientation = DQuat::from_scaled_axis(vector(&stream, look, 1) * 3.0);
            let pose = Pose { position_m: vector(&stream, look, 0) * 14.0, orientation };
            let cast = |simd: Simd| {
                let mut hits = vec![Hit::NOTHING; pattern.len()];
                pattern.cast(&world, &pose, ALL, simd, |ray, hit| hits[ray] = *hit);
                hits
            };
            for (wide, plain) in cast(Simd::detect()).iter().zip(&cast(Simd::Scalar)) {
                assert_eq!(wide.distance_m.to_bits(), plain.distance_m.to_bits());
                assert_eq!((wide.thing, wide.triangle), (plain.thing, plain.triangle));
                assert_eq!(wide.normal.to_array().map(f32::to_bits), plain.normal.to_array().map(f32::to_bits));
            }
        }
    }
}

#[test]
fn no_ray_slips_between_triangles_that_share_an_edge() {
    // a curved sheet of 20,000 triangles, looked at straight and aslant, through its corners too
    let heights_m: Vec<f64> = (0..101 * 101).map(|at| 0.3 * f64::from((at * 37 % 101) as u8) / 101.0).collect();
    let sheet = Heights { size_m: [10.0, 10.0], columns: 101, heights_m };
    let solid = Solid::new(Shape::Heightfield(Arc::new(sheet))).expect("terrain");
    let environment = Environment {
        obstacles: Obstacles::new(vec![Obstacle::new("sheet", solid, Pose::IDENTITY)]),
        ..Environment::empty()
    };
    let world = Snapshot::of(Arc::new(environment), Vec::new(), &[]);
    let down = DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2);
    let pattern = pinhole(200, 200, 0.45);
    for from in [DVec3::new(0.0, 0.0, 8.0), DVec3::new(0.05, 0.05, 6.0), DVec3::new(-1.0, 0.7, 7.0)] {
        let pose = Pose { position_m: from, orientation: down };
        let mut missed = 0;
        pattern.cast(&world, &pose, ALL, Simd::detect(), |_, hit| missed += u32::from(hit.thing == Thing::Nothing));
        assert_eq!(missed, 0);
        let singly = |ray: &DVec3| world.cast(from, DMat3::from_quat(down) * *ray, ALL).thing == Thing::Nothing;
        assert_eq!(pattern.directions().iter().filter(|ray| singly(ray)).count(), 0);
    }
}

#[test]
fn normals_point_outwards_and_are_of_unit_length() {
    let (world, stream) = (world(5, 60, false), Stream::new(5, 6));
    for at in 0..2000 {
        let (from_m, direction) = (vector(&stream, at, 0) * 16.0, vector(&stream, at, 1).normalize());
        let hit = world.cast(from_m, direction, ALL);
        let Thing::Obstacle(number) = hit.thing else { continue };
        assert!((hit.normal.length() - 1.0).abs() < 1e-6);
        let obstacle = &world.environment.obstacles[number as usize];
        if obstacle.solid.bulk().is_some() {
            let at_m = from_m + direction * hit.distance_m;
            let outside = at_m + hit.normal.as_dvec3() * 1e-4;
            let nearest = obstacle.solid.nearest_point(&obstacle.pose, outside);
            assert!((outside - nearest).length() > 0.5e-4, "{:?}", obstacle.solid);
        }
    }
}

#[test]
fn a_tree_that_would_be_too_deep_is_balanced() {
    // boxes inside boxes, each half as large: the best cuts peel them off one by one
    let solid = |at: i32| Solid::new(Shape::Sphere { radius_m: 10.0 * 0.75_f64.powi(at) }).expect("a sphere");
    let place = |at: i32| DVec3::X * (20.0 * 0.75_f64.powi(at));
    let sphere = |at: i32| Obstacle::new("", solid(at), Pose { position_m: place(at), ..Pose::IDENTITY });
    let all: Vec<Obstacle> = (0..120).chain(0..120).chain(0..120).map(sphere).collect();
    let environment = Environment { obstacles: Obstacles::new(all), ..Environment::empty() };
    let world = Snapshot::of(Arc::new(environment), Vec::new(), &[]);
    for at in 0..100 {
        let from_m = DVec3::new(-5.0, 0.0, 1e-3 * f64::from(at));
        let hit = world.cast(from_m, DVec3::X, ALL);
        assert!(check(&world, from_m, DVec3::X, hit.distance_m, ALL));
    }
}

#[test]
fn shadows_of_parallel_rays_are_those_of_single_rays_and_of_brute_force() {
    for (seed, upright) in [(1, false), (2, true), (3, false)] {
        let world = world(seed, 150, upright);
        let stream = Stream::new(seed, 9);
        let (mut dark, mut odd) = (0, 0);
        for at in 0..60 {
            let direction = vector(&stream, at, 0).normalize();
            let middle = vector(&stream, at, 1) * 12.0;
            let count = 1 + (at as usize * 7) % 64;
            let from_m: Vec<DVec3> =
                (0..count as u64).map(|k| middle + vector(&stream, at * 64 + k, 2) * 2.0).collect();
            let bits = shaded(&world, &from_m, direction, 40.0, Simd::detect());
            assert_eq!(bits, shaded(&world, &from_m, direction, 40.0, Simd::Scalar), "on any registers");
            for (k, &from_m) in from_m.iter().enumerate() {
                let reach = Reach { max_m: 40.0, ..ALL };
                let expected = brute(&world, from_m, direction, reach) < 40.0;
                // from below, terrain that faces the light everywhere lets it through
                if f64::from(world.cast(from_m, direction, reach).normal.z) * direction.z > 0.0 {
                    continue;
                }
                dark += u32::from(expected);
                odd += u32::from(expected != (bits >> k & 1 == 1));
            }
            assert_eq!(bits & !(u64::MAX >> (64 - count)), 0);
        }
        // rays that touch an edge may go either way
        assert!(dark > 300 && odd <= 1, "{odd} of {dark} differ");
    }
}

// R15
#[test]
fn fans_try_less_than_half_of_what_their_rays_would_and_meet_the_same() {
    let stream = Stream::new(15, 1);
    let solid = |at: u64| Solid::new(shape(7 * at + at % 5, 0.6 * stream.uniforms(at, 0)[0])).expect("a shape");
    let place = |at: u64| Pose { position_m: vector(&stream, at, 2) * 12.0, ..Pose::IDENTITY };
    let all = (0..500).map(|at| Obstacle::new("", solid(at), place(at))).collect();
    let environment = Environment { obstacles: Obstacles::new(all), ..Environment::empty() };
    let world = Snapshot::of(Arc::new(environment), Vec::new(), &[]);
    let (pattern, reach) = (pinhole(64, 48, 0.6), Reach { max_m: 80.0, ..ALL });
    let tried = || scene::TRIED.with(|tried| tried.replace(0));
    let (mut together, mut alone, mut met) = (0, 0, 0);
    for look in 0..4 {
        let from =
            Pose { position_m: vector(&stream, look, 5) * 10.0, orientation: DQuat::from_rotation_z(look as f64) };
        let mut hits = vec![Hit::NOTHING; pattern.len()];
        tried();
        pattern.cast(&world, &from, reach, Simd::detect(), |ray, hit| hits[ray] = *hit);
        together += tried();
        let turn = DMat3::from_quat(from.orientation);
        for (ray, hit) in hits.iter().enumerate() {
            assert_eq!(*hit, world.cast(from.position_m, turn * pattern.directions()[ray], reach), "ray {ray}");
        }
        alone += tried();
        met += hits.iter().filter(|hit| hit.thing != Thing::Nothing).count();
    }
    assert!(met > 500, "{met}");
    assert!(2 * together <= alone, "{together} tries together, {alone} alone");
}

#[test]
fn sides_of_boxes_are_told_as_by_all_six_planes() {
    let half_m = DVec3::new(1.0, 0.4, 2.0);
    let outline = Outline::Box(half_m);
    let stream = Stream::new(16, 1);
    let mut clear = 0;
    for at in 0..2000 {
        // from outside and from inside
        let from_m = vector(&stream, at, 0) * if at % 3 == 0 { 0.39 } else { 6.0 };
        let aim = vector(&stream, at, 1) * half_m;
        let own = splat3::<Plain<f64>>((), (aim - from_m).normalize().to_array());
        let exact = outline.distance((), from_m, own, Plain([0.0; WIDTH])).0[0];
        if !exact.is_finite() {
            continue;
        }
        let Some((distance, normal)) = box_sides(half_m, from_m, own, (1, &[exact as f32; WIDTH])) else { continue };
        clear += 1;
        assert_eq!(distance.0[0].to_bits(), exact.to_bits());
        let from = splat3::<Plain<f64>>((), from_m.to_array());
        let met = [0, 1, 2].map(|axis| from[axis] + own[axis] * Plain([exact; WIDTH]));
        let expected = outline.normal((), met);
        (0..3).for_each(|axis| assert_eq!(normal[axis].0[0], expected[axis].0[0]));
    }
    assert!(clear > 1900, "{clear}");
}
