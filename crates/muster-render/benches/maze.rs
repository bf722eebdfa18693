//! What a depth picture of a maze costs on one thread, for the views of a file of poses and patterns.
//! Run with `cargo bench -p muster-render --bench maze -- FOLDER [lo] [200x200] [avx2]`, where the folder holds `maze.json` (poses as position and
//! yaw; patterns as columns and rows of a pinhole of 90 degrees from left to right) and meshes `maze_lo.obj`, `maze_hi.obj`
//! of the same maze; further words choose among what is measured.

use glam::DVec3;
use muster_core::component::Pose;
use muster_core::contact::Obstacle;
use muster_core::math;
use muster_core::model::Environment;
use muster_core::obstacles::Obstacles;
use muster_core::ray::{Hit, Pattern, Reach};
use muster_core::render::depth::{DepthOptions, DepthPlan};
use muster_core::render::{Renderer, View, Wanted};
use muster_core::shape::{Mesh, Shape, Solid};
use muster_core::simd::Simd;
use muster_core::snapshot::Snapshot;
use muster_render::Cpu;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const NEAR_M: f64 = 0.02;
const FAR_M: f64 = 40.0;
const ROUNDS: usize = 100;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let Some(folder) = arguments.next() else {
        println!("no folder with maze.json given: nothing measured");
        return;
    };
    let only: Vec<String> = arguments.collect();
    let folder = Path::new(&folder);
    let text = std::fs::read_to_string(folder.join("maze.json")).expect("maze.json");
    let maze: Value = serde_json::from_str(&text).expect("JSON");
    let worlds = [
        ("shapes", shapes(&maze)),
        ("lo", mesh(&folder.join("maze_lo.obj"))),
        ("hi", mesh(&folder.join("maze_hi.obj"))),
    ];
    for simd in [Simd::detect(), Simd::Scalar] {
        for (name, world) in &worlds {
            let engine = Cpu::new(simd);
            let title = format!("{name:<7} scanner  {simd}");
            if only.iter().all(|word| title.split_whitespace().any(|part| part == word)) {
                let [by_depth, by_rays] = scan_ms(&engine, world, &views(&maze, 1, 1), simd);
                println!("{title} {by_depth:8.4} ms by depth, {by_rays:8.4} ms by rays");
            }
            for pattern in array(&maze["patterns"]) {
                let (columns, rows) = (number(&pattern[0]) as usize, number(&pattern[1]) as usize);
                let title = format!("{name:<7} {rows:>3}x{columns:<4} {simd}");
                if !only.iter().all(|word| title.split_whitespace().any(|part| part == word)) {
                    continue;
                }
                let views = views(&maze, columns, rows);
                let [plain, things] = cost_ms(&engine, world, &views);
                let mean_m = mean_m(&engine, world, &views);
                println!(
                    "{title} {plain:8.4} ms, with things {things:8.4} ms ({:+5.1} %), mean {mean_m:.4} m",
                    (things / plain - 1.0) * 100.0
                );
            }
        }
    }
}

/// What a scanner of 270 degrees and 1081 rays costs by depth, in three passes, and by rays.
fn scan_ms(engine: &Cpu, world: &Snapshot, views: &[View], simd: Simd) -> [f64; 2] {
    let step = 270.0_f64.to_radians() / 1080.0;
    let ray = |k: i32| math::rotate(math::quat_from_yaw(f64::from(k - 540) * step), DVec3::X);
    let rays: Vec<DVec3> = (0..1081).map(ray).collect();
    let plan = DepthPlan::new(&rays, rays.len(), DepthOptions::default()).expect("a plan");
    let columns = rays.len();
    let pattern = Pattern::new(rays, columns);
    let reach = Reach { min_m: 0.06, max_m: FAR_M, without: None };
    let sink = |_: usize, hit: &Hit| {
        std::hint::black_box(hit);
    };
    let mut by_depth = |view: &View| plan.measure(world, &view.pose, reach, engine, sink);
    let mut by_rays = |view: &View| pattern.cast(world, &view.pose, reach, simd, sink);
    typical_ms(views, [&mut by_depth, &mut by_rays])
}

/// The mean over all views, each a low percentile of many calls, as other processes disturb the rest; in turns.
fn typical_ms(views: &[View], mut calls: [&mut dyn FnMut(&View); 2]) -> [f64; 2] {
    let mut sums_ms = [0.0; 2];
    for view in views {
        let mut times_ms = [const { Vec::new() }; 2];
        for _ in 0..ROUNDS {
            for (call, times_ms) in calls.iter_mut().zip(&mut times_ms) {
                let begin = Instant::now();
                call(view);
                times_ms.push(begin.elapsed().as_secs_f64() * 1e3);
            }
        }
        for (sum_ms, mut times_ms) in sums_ms.iter_mut().zip(times_ms) {
            times_ms.sort_by(f64::total_cmp);
            *sum_ms += times_ms[ROUNDS / 5] / views.len() as f64;
        }
    }
    sums_ms
}

fn views(maze: &Value, columns: usize, rows: usize) -> Vec<View> {
    let poses = array(&maze["poses"]).iter().map(|pose| Pose {
        position_m: vector(&pose["position"]),
        orientation: math::quat_from_yaw(number(&pose["yaw"])),
    });
    let tan_half_height = rows as f64 / columns as f64;
    let view = |pose| View {
        pose,
        columns,
        rows,
        tan_half_width: 1.0,
        tan_half_height,
        near_m: NEAR_M,
        far_m: FAR_M,
        without: None,
    };
    poses.map(view).collect()
}

/// What pictures cost without and with things.
fn cost_ms(engine: &Cpu, world: &Snapshot, views: &[View]) -> [f64; 2] {
    let take = |view: &View, things: bool| {
        engine.take(world, view, Wanted { things }, &mut |picture| {
            std::hint::black_box(picture);
        });
    };
    typical_ms(views, [&mut |view| take(view, false), &mut |view| take(view, true)])
}

/// The mean length of all rays, to compare with other programs.
fn mean_m(engine: &Cpu, world: &Snapshot, views: &[View]) -> f64 {
    let (mut sum_m, mut count) = (0.0, 0);
    for view in views {
        engine.take(world, view, Wanted::default(), &mut |picture| {
            for (pixel, &depth) in picture.depth.iter().enumerate() {
                let u = (2 * (pixel % view.columns) + 1) as f64 / view.columns as f64 - 1.0;
                let v = ((2 * (pixel / view.columns) + 1) as f64 / view.rows as f64 - 1.0) * view.tan_half_height;
                let z = -FAR_M * NEAR_M / (f64::from(depth) * (FAR_M - NEAR_M) - FAR_M);
                sum_m += z * (1.0 + u * u + v * v).sqrt();
                count += 1;
            }
        });
    }
    sum_m / f64::from(count)
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn vector(value: &Value) -> DVec3 {
    DVec3::new(number(&value[0]), number(&value[1]), number(&value[2]))
}

fn world(solids: Vec<(Shape, DVec3)>) -> Snapshot {
    let obstacle = |(shape, position_m)| {
        let solid = Solid::new(shape).expect("a shape");
        Obstacle::new("", solid, Pose { position_m, ..Pose::IDENTITY })
    };
    let obstacles = Obstacles::new(solids.into_iter().map(obstacle).collect());
    Snapshot::of(Arc::new(Environment { obstacles, ..Environment::empty() }), Vec::new(), &[])
}

fn shapes(maze: &Value) -> Snapshot {
    let mut solids = vec![(Shape::Plane, DVec3::ZERO)];
    let boxes = array(&maze["boxes"]).iter();
    solids.extend(boxes.map(|each| (Shape::Box { half_m: vector(&each["half"]) }, vector(&each["center"]))));
    let balls = array(&maze["spheres"]).iter();
    solids.extend(balls.map(|each| (Shape::Sphere { radius_m: number(&each["radius"]) }, vector(&each["center"]))));
    solids.extend(array(&maze["cylinders"]).iter().map(|each| {
        let (radius_m, half_height_m) = (number(&each["radius"]), number(&each["half_height"]));
        (Shape::Cylinder { radius_m, half_height_m }, vector(&each["center"]))
    }));
    world(solids)
}

fn mesh(file: &Path) -> Snapshot {
    let text = std::fs::read_to_string(file).expect("an OBJ file");
    let words = || text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let of = |kind: &'static str| words().filter(move |words| words.first() == Some(&kind));
    let vertices_m = of("v").map(|words| DVec3::from([1, 2, 3].map(|at: usize| words[at].parse().expect("a number"))));
    let triangles = of("f").map(|words| [1, 2, 3].map(|at: usize| words[at].parse::<u32>().expect("a number") - 1));
    let mesh = Mesh { vertices_m: vertices_m.collect(), triangles: triangles.collect(), paint: None };
    world(vec![(Shape::Mesh(mesh.into()), DVec3::ZERO)])
}
