//! The rasteriser against rays: what is drawn is what a ray through the middle of each pixel meets, within the stated error.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

use glam::{DQuat, DVec3};
use muster_core::component::Pose;
use muster_core::contact::Obstacle;
use muster_core::math;
use muster_core::model::Environment;
use muster_core::obstacles::Obstacles;
use muster_core::random::Stream;
use muster_core::ray::{Hit, Reach, Thing};
use muster_core::render::depth::{DepthOptions, DepthPlan, distance_from_depth};
use muster_core::render::{Picture, Renderer, View, Wanted};
use muster_core::shape::{Heights, Mesh, Shape, Solid};
use muster_core::simd::Simd;
use muster_core::snapshot::Snapshot;
use muster_render::Cpu;
use std::sync::Arc;

const THINGS: Wanted = Wanted { things: true };

fn world(solids: Vec<(Shape, Pose)>) -> Snapshot {
    let obstacle = |(shape, pose)| Obstacle::new("", Solid::new(shape).unwrap(), pose);
    let obstacles = Obstacles::new(solids.into_iter().map(obstacle).collect());
    Snapshot::of(Arc::new(Environment { obstacles, ..Environment::empty() }), Vec::new(), &[])
}

fn at(x: f64, y: f64, z: f64) -> Pose {
    Pose { position_m: DVec3::new(x, y, z), ..Pose::IDENTITY }
}

fn view(pose: Pose, columns: usize, rows: usize) -> View {
    let tan_half_height = rows as f64 / columns as f64;
    View { pose, columns, rows, tan_half_width: 1.0, tan_half_height, near_m: 0.1, far_m: 60.0, without: None }
}

/// All engines there are here: that of the processor, and that of a card if it was built in and there is one.
fn engines() -> Vec<Box<dyn Renderer>> {
    let mut engines: Vec<Box<dyn Renderer>> = vec![Box::new(Cpu::default())];
    #[cfg(feature = "gpu")]
    match muster_render::Gpu::open(Simd::detect()) {
        Ok(engine) => engines.push(Box::new(engine)),
        Err(error) => eprintln!("NOT checked on a graphics card: {error}"),
    }
    engines.reverse();
    engines
}

fn take(engine: &dyn Renderer, world: &Snapshot, view: &View) -> Picture {
    let mut taken = None;
    engine.take(world, view, THINGS, &mut |picture| taken = Some(picture.clone()));
    taken.unwrap()
}

/// The direction through a place in a picture, in the world and before division by its length.
fn direction(view: &View, column: f64, row: f64) -> DVec3 {
    let right = ((2.0 * column + 1.0) / view.columns as f64 - 1.0) * view.tan_half_width;
    let down = ((2.0 * row + 1.0) / view.rows as f64 - 1.0) * view.tan_half_height;
    math::rotate(view.pose.orientation, DVec3::new(1.0, -right, -down))
}

fn cast(world: &Snapshot, view: &View, column: f64, row: f64) -> Hit {
    let towards = direction(view, column, row);
    let scale = towards.length();
    let reach = Reach { min_m: view.near_m * scale, max_m: view.far_m * scale, without: view.without };
    world.cast(view.pose.position_m, towards / scale, reach)
}

/// Terrain, a mesh of tetrahedra and every analytic shape, placed at random around the origin.
fn scene(seed: u64) -> Snapshot {
    let stream = Stream::new(seed, 11);
    let mut solids = vec![(Shape::Plane, at(0.0, 0.0, -2.5))];
    let heights_m = (0..30 * 20).map(|k| math::sin(f64::from(k) * 0.7 + seed as f64)).collect();
    solids.push((
        Shape::Heightfield(Heights { size_m: [30.0, 24.0], columns: 30, heights_m }.into()),
        at(20.0, 3.0, -2.0),
    ));
    for index in 0..60 {
        let [a, b, c, d] = stream.uniforms(index, 0);
        let [e, f, ..] = stream.uniforms(index, 1);
        let (radius_m, half_height_m) = (0.1 + a, 0.1 + b);
        let shape = match index % 6 {
            0 => Shape::Sphere { radius_m },
            1 => Shape::Box { half_m: DVec3::new(0.1 + a, 0.1 + b, 0.1 + c) },
            2 => Shape::Cylinder { radius_m, half_height_m },
            3 => Shape::Capsule { radius_m, half_height_m },
            4 => Shape::Cone { radius_m, half_height_m },
            _ => tetrahedra(stream, index),
        };
        let position_m = DVec3::new(c * 30.0, (d - 0.5) * 30.0, e * 6.0 - 2.0);
        if position_m.length() > 3.0 {
            let orientation = math::quat_from_rpy(f * 6.0, a * 3.0, b * 6.0);
            solids.push((shape, Pose { position_m, orientation }));
        }
    }
    world(solids)
}

fn tetrahedra(stream: Stream, index: u64) -> Shape {
    let point = |k: u64| (DVec3::from_slice(&stream.uniforms(index, 10 + k as u32)[..3]) - 0.5) * 2.0;
    let vertices_m = (0..16).map(point).collect();
    let triangles = (0..4).flat_map(|k| [[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]].map(|t| t.map(|c| c + 4 * k)));
    Shape::Mesh(Mesh { vertices_m, triangles: triangles.collect(), paint: None }.into())
}

#[test]
fn depth_is_what_rays_meet_within_the_stated_error() {
    engines().iter().for_each(|engine| depth_is_what_rays_meet(&**engine));
}

fn depth_is_what_rays_meet(engine: &dyn Renderer) {
    let (mut compared, mut skipped) = (0, 0);
    for seed in 0..6 {
        let world = scene(seed);
        let orientation = math::quat_from_rpy(0.2 * seed as f64, 0.1, -0.3);
        let view = view(Pose { position_m: DVec3::new(0.0, 0.0, 0.5), orientation }, 97, 61);
        let picture = take(engine, &world, &view);
        for pixel in 0..97 * 61 {
            let (column, row) = ((pixel % 97) as f64, (pixel / 97) as f64);
            let hit = cast(&world, &view, column, row);
            // Next to an outline a pixel may show what is beside or behind: passed over is where a ray through any corner
            // of the pixel, or a little beyond, meets another thing or another side of it.
            let around =
                [(-0.6, -0.6), (0.6, -0.6), (-0.6, 0.6), (0.6, 0.6), (-0.6, 0.0), (0.6, 0.0), (0.0, -0.6), (0.0, 0.6)];
            // A card rounds corners to parts of a pixel: next to an edge between facets it may show the other one.
            let shape = match hit.thing {
                Thing::Obstacle(number) => Some(world.environment.obstacles[number as usize].solid.shape()),
                _ => None,
            };
            let faceted = matches!(shape, Some(Shape::Mesh(_) | Shape::Heightfield(_)));
            let alike = if engine.name() == "gpu" && faceted { 0.999999 } else { 0.9 };
            let same = |near: Hit| {
                near.thing == hit.thing && (near.thing == Thing::Nothing || near.normal.dot(hit.normal) > alike)
            };
            if !around.iter().all(|(x, y)| same(cast(&world, &view, column + x, row + y))) {
                skipped += 1;
                continue;
            }
            assert_eq!(picture.things[pixel], hit.thing, "pixel {column} {row} of {seed}");
            compared += 1;
            let Thing::Obstacle(number) = hit.thing else {
                assert_eq!(picture.depth[pixel], 1.0);
                continue;
            };
            let towards = direction(&view, column, row);
            let cos = towards.normalize().dot(hit.normal.as_dvec3()).abs();
            let depth = f64::from(picture.depth[pixel]);
            let length_m = distance_from_depth(depth, view.near_m, view.far_m) * towards.length();
            let shape = shape.unwrap();
            let by_shape_m = engine.shape_error_m(shape, hit.distance_m) / cos;
            let by_quantum_m = hit.distance_m * hit.distance_m / view.near_m / f64::from(1 << 24);
            // distances along the normal become a little more along a ray that meets a round shape at a slant
            let stated_m = by_shape_m * 1.1 + by_quantum_m + 1e-6 * hit.distance_m / cos;
            let error_m = (length_m - hit.distance_m).abs();
            assert!(
                error_m <= stated_m,
                "thing {number} of {seed} at {column} {row}: {error_m} of {stated_m} m, cos {cos}"
            );
        }
    }
    assert!(compared > 2 * skipped, "{compared} compared, {skipped} passed over");
}

#[test]
fn a_box_three_metres_ahead_is_at_3_000_m() {
    let world = world(vec![(Shape::Box { half_m: DVec3::ONE }, at(4.0, 0.0, 0.0))]);
    for (columns, rows) in [(1, 1), (35, 35), (201, 101), (1001, 1)] {
        let view = view(Pose::IDENTITY, columns, rows);
        let picture = take(&Cpu::default(), &world, &view);
        let middle = rows / 2 * columns + columns / 2;
        let distance_m = distance_from_depth(f64::from(picture.depth[middle]), view.near_m, view.far_m);
        assert!((distance_m - 3.0).abs() < 1e-5, "{distance_m}");
        assert_eq!(picture.things[middle], Thing::Obstacle(0));
    }
}

#[test]
fn a_flat_wall_is_flat() {
    let orientation = math::quat_from_yaw(0.4);
    let world = world(vec![
        (Shape::Box { half_m: DVec3::new(0.5, 200.0, 200.0) }, at(5.5, 0.0, 0.0)),
        (Shape::Plane, Pose { position_m: DVec3::new(70.0, 0.0, 0.0), orientation: DQuat::IDENTITY }),
    ]);
    let view = view(Pose { orientation, ..Pose::IDENTITY }, 120, 90);
    let picture = take(&Cpu::default(), &world, &view);
    for (pixel, &depth) in picture.depth.iter().enumerate() {
        let towards = direction(&view, (pixel % 120) as f64, (pixel / 120) as f64);
        let length_m = distance_from_depth(f64::from(depth), view.near_m, view.far_m) * towards.length();
        let ahead_m = length_m * towards.normalize().x;
        let quantum_m = length_m * length_m / view.near_m / f64::from(1 << 24);
        assert!((ahead_m - 5.0).abs() < 1e-5 + 2.0 * quantum_m, "{ahead_m}");
    }
}

#[test]
fn a_thousand_things_keep_their_names() {
    let place = |k: u32| at(10.0, (f64::from(k % 40) - 19.5) * 0.4, (f64::from(k / 40) - 12.0) * 0.4);
    let cube = Shape::Box { half_m: DVec3::splat(0.15) };
    let world = world((0..1000).map(|k| (cube.clone(), place(k))).collect());
    let view = view(Pose::IDENTITY, 800, 800);
    let picture = take(&Cpu::default(), &world, &view);
    for k in 0..1000 {
        let towards = place(k).position_m / 10.0;
        let column = ((-towards.y + 1.0) * 400.0 - 0.5).round() as usize;
        let row = ((-towards.z + 1.0) * 400.0 - 0.5).round() as usize;
        assert_eq!(picture.things[row * 800 + column], Thing::Obstacle(k));
    }
    let known = picture.things.iter().filter(|thing| matches!(thing, Thing::Obstacle(k) if *k < 1000)).count();
    assert_eq!(known, picture.depth.iter().filter(|&&depth| depth < 1.0).count());
}

#[test]
fn pictures_have_the_same_bits_on_all_registers_and_threads() {
    let (wide, narrow) = (Cpu::default(), Cpu::new(Simd::Scalar));
    for seed in 0..4 {
        let world = scene(seed);
        for (columns, rows) in [(200, 150), (1000, 1), (1, 1), (33, 35), (7, 90)] {
            let view = view(at(0.0, 0.0, 0.3), columns, rows);
            let picture = take(&wide, &world, &view);
            let bits = |picture: &Picture| picture.depth.iter().map(|depth| depth.to_bits()).collect::<Vec<_>>();
            let same = |other: &Picture| {
                assert_eq!(bits(&picture), bits(other));
                assert_eq!((&picture.things, &picture.triangles), (&other.things, &other.triangles));
            };
            same(&take(&narrow, &world, &view));
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| take(&wide, &world, &view))).collect();
                threads.into_iter().for_each(|thread| same(&thread.join().unwrap()));
            });
            let mut alone = None;
            wide.take(&world, &view, Wanted::default(), &mut |picture| alone = Some(picture.clone()));
            let alone = alone.unwrap();
            assert_eq!(bits(&alone), bits(&picture), "depth is the same without things");
            assert!(alone.things.is_empty() && alone.triangles.is_empty());
        }
    }
}

#[test]
fn odd_triangles_are_drawn_right_or_not_at_all() {
    let triangle = |corners: [[f64; 3]; 3]| corners.map(DVec3::from);
    let odd = [
        triangle([[3.0, 0.0, 0.0]; 3]),
        triangle([[3.0, -1.0, 0.0], [3.0, 0.0, 0.0], [3.0, 1.0, 0.0]]),
        triangle([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, -1.0, 0.0]]),
        triangle([[-3.0, -1.0, -1.0], [-3.0, 1.0, -1.0], [-3.0, 0.0, 1.0]]),
        triangle([[f64::MIN_POSITIVE, 0.0, 0.0], [1e-30, 1e-30, 0.0], [0.0, 1e-30, 1e-30]]),
    ];
    let mesh = |triangles: &[[DVec3; 3]]| {
        let numbers = (0..triangles.len() as u32).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect();
        Shape::Mesh(Mesh { vertices_m: triangles.concat(), triangles: numbers, paint: None }.into())
    };
    let view = view(Pose::IDENTITY, 64, 64);
    let picture = take(&Cpu::default(), &world(vec![(mesh(&odd), Pose::IDENTITY)]), &view);
    assert!(picture.depth.iter().all(|&depth| depth == 1.0), "nothing to see");
    // from far behind the camera to far before it, a thousand kilometres wide: a floor, seen below the horizon
    let floor = triangle([[-9e5, -9e5, -1.0], [9e5, 0.0, -1.0], [-9e5, 9e5, -1.0]]);
    let picture = take(&Cpu::default(), &world(vec![(mesh(&[floor]), Pose::IDENTITY)]), &view);
    for (pixel, &depth) in picture.depth.iter().enumerate() {
        assert!((0.0..=1.0).contains(&depth), "{depth}");
        let towards = direction(&view, (pixel % 64) as f64, (pixel / 64) as f64);
        let wanted_m = if towards.z < 0.0 { (-1.0 / towards.z).min(view.far_m) } else { view.far_m };
        let distance_m = distance_from_depth(f64::from(depth), view.near_m, view.far_m);
        assert!((distance_m / wanted_m - 1.0).abs() < 1e-4, "{distance_m} instead of {wanted_m}");
    }
}

#[test]
fn from_inside_a_closed_shell_no_gap_is_seen() {
    let ball = Shape::Sphere { radius_m: 7.0 };
    let heights_m = (0..60 * 60).map(|k| math::sin(f64::from(k) * 0.3)).collect();
    let ground = Shape::Heightfield(Heights { size_m: [90.0, 90.0], columns: 60, heights_m }.into());
    for (shape, pose, down) in [(ball, at(0.3, 0.2, 0.1), 0.0), (ground, at(0.0, 0.0, -4.0), 1.2)] {
        let world = world(vec![(shape, pose)]);
        for turn in 0..12 {
            let orientation = math::quat_from_rpy(0.1, down + 0.02 * f64::from(turn), 0.5 * f64::from(turn));
            let view = view(Pose { orientation, ..Pose::IDENTITY }, 211, 187);
            let picture = take(&Cpu::default(), &world, &view);
            let gaps = picture.things.iter().filter(|&&thing| thing == Thing::Nothing).count();
            assert_eq!(gaps, 0, "turn {turn}");
        }
    }
}

#[test]
fn views_that_make_no_sense_are_empty() {
    let world = scene(1);
    let sane = view(Pose::IDENTITY, 20, 10);
    for view in [
        View { near_m: 0.0, ..sane },
        View { far_m: f64::INFINITY, ..sane },
        View { tan_half_width: f64::NAN, ..sane },
        View { pose: at(f64::NAN, 0.0, 0.0), ..sane },
        View { columns: 0, ..sane },
    ] {
        let picture = take(&Cpu::default(), &world, &view);
        assert_eq!(picture.depth.len(), view.columns * view.rows);
        assert!(picture.depth.iter().all(|&depth| depth == 1.0));
    }
}

#[test]
fn a_scanner_by_depth_is_a_scanner_by_rays() {
    engines().iter().for_each(|engine| scanner_is_by_rays(&**engine));
}

fn scanner_is_by_rays(engine: &dyn Renderer) {
    let step = 270.0_f64.to_radians() / 1080.0;
    let rays: Vec<DVec3> =
        (0..1081).map(|k| math::rotate(math::quat_from_yaw((f64::from(k) - 540.0) * step), DVec3::X)).collect();
    let plan = DepthPlan::new(&rays, 1081, DepthOptions::default()).unwrap();
    assert_eq!(plan.passes(), 3);
    let reach = Reach { min_m: 0.06, max_m: 30.0, without: None };
    let (mut compared, mut skipped) = (0, 0);
    for seed in 0..8 {
        let world = scene(seed);
        let from = Pose { position_m: DVec3::Z * 0.5, orientation: math::quat_from_rpy(0.2, 0.25, 0.4 * seed as f64) };
        let mut hits = vec![Hit::NOTHING; rays.len()];
        plan.measure(&world, &from, reach, engine, |ray, hit| hits[ray] = *hit);
        let towards: Vec<DVec3> = rays.iter().map(|&ray| math::rotate(from.orientation, ray)).collect();
        let truth: Vec<Hit> = towards.iter().map(|&ray| world.cast(from.position_m, ray, reach)).collect();
        for ray in 2..rays.len() - 2 {
            let (got, wanted) = (&hits[ray], &truth[ray]);
            let Thing::Obstacle(number) = wanted.thing else { continue };
            let shape = world.environment.obstacles[number as usize].solid.shape();
            // passed over: where rays beside this one meet another thing or another side of it, or graze it
            let (alike, radius_m) = match *shape {
                Shape::Sphere { radius_m }
                | Shape::Cylinder { radius_m, .. }
                | Shape::Capsule { radius_m, .. }
                | Shape::Cone { radius_m, .. } => (0.9, radius_m),
                _ => (0.999999, f64::INFINITY),
            };
            let smooth = |near: &Hit| near.thing == wanted.thing && near.normal.dot(wanted.normal) > alike;
            let cos = towards[ray].dot(wanted.normal.as_dvec3()).abs();
            if !truth[ray - 2..=ray + 2].iter().all(smooth) || cos < 0.2 {
                skipped += 1;
                continue;
            }
            compared += 1;
            assert_eq!(got.thing, wanted.thing);
            assert!(got.normal.dot(wanted.normal) > 0.97, "{got:?} {wanted:?}");
            let width_m = 1.3 * step * wanted.distance_m / cos;
            let stated_m = plan.error_m(wanted.distance_m, math::acos(cos), reach)
                + 1.1 * engine.shape_error_m(shape, wanted.distance_m) / cos
                + width_m * width_m / (8.0 * radius_m * cos);
            let error_m = (got.distance_m - wanted.distance_m).abs();
            assert!(error_m <= stated_m, "ray {ray} of {seed}: {error_m} of {stated_m} m, {got:?}, {wanted:?}");
        }
    }
    assert!(compared > 2000 && 2 * compared > 3 * skipped, "{compared} compared, {skipped} passed over");
}
