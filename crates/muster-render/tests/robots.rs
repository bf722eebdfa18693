//! Robots in pictures: seen where they are, by name, but for the one that looks; and pictures of them allocate nothing.
//!
//! One test, since allocations are counted for the whole process.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

#[path = "../../muster/tests/common/heap.rs"]
#[expect(dead_code, unreachable_pub, reason = "shared with tests that also count what is alive")]
mod heap;

use glam::DVec3;
use heap::{CountingAllocator, allocations};
use muster_core::component::{Motion, Pose, Tick};
use muster_core::contact::{Groups, Mobility, Obstacle, Part, Surface};
use muster_core::lanes::{Column, Quantity};
use muster_core::model::{Blueprint, Calm, Cohort, Environment};
use muster_core::obstacles::Obstacles;
use muster_core::ray::{Reach, Thing};
use muster_core::render::depth::{DepthOptions, DepthPlan, distance_from_depth};
use muster_core::render::{Renderer, View, Wanted};
use muster_core::shape::{Shape, Solid};
use muster_core::skin::Skin;
use muster_core::snapshot::{Body, Snapshot};
use muster_core::time::Rate;
use muster_render::Cpu;
use std::sync::Arc;

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

/// Never moves.
struct Still;

impl Motion for Still {
    fn inputs(&self) -> &[Quantity] {
        &[]
    }

    fn state(&self) -> &[Quantity] {
        &[]
    }

    fn speed_max_mps(&self) -> f64 {
        0.0
    }

    fn mobility(&self) -> Mobility {
        Mobility::Fixed
    }

    fn start(&self, _: &mut [Column], _: usize) {}

    fn advance(&self, _: &mut [Column], _: usize, _: &Tick<'_>) {}

    fn constants(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

fn cohort() -> Arc<Cohort> {
    let part = |name: &str, shape, height_m| Part {
        name: name.to_owned(),
        frame: None,
        pose: Pose { position_m: DVec3::Z * height_m, ..Pose::IDENTITY },
        solid: Solid::new(shape).unwrap(),
        surface: Surface::DEFAULT,
        groups: Groups::ALL,
        skin: Skin::default(),
        visible: true,
    };
    let blueprint = Blueprint {
        kind: String::new(),
        motion_kind: "",
        motion: Arc::new(Still),
        rate: Rate::from_hz(100.0).unwrap(),
        drivers: Vec::new(),
        sensors: Vec::new(),
        actuators: Vec::new(),
        tags: Vec::new(),
        frames: Vec::new(),
        parts: vec![
            part("body", Shape::Box { half_m: DVec3::new(0.2, 0.2, 0.1) }, 0.0),
            part("head", Shape::Sphere { radius_m: 0.15 }, 0.4),
        ],
        light: None,
        key: String::new(),
    };
    Cohort::new(blueprint, &Calm)
}

/// Robots in a row ahead, three metres from each other, with a wall behind the last.
fn world(robots: u32) -> Snapshot {
    let wall = Solid::new(Shape::Box { half_m: DVec3::new(0.1, 50.0, 50.0) }).unwrap();
    let behind = Pose { position_m: DVec3::X * 40.0, ..Pose::IDENTITY };
    let obstacles = Obstacles::new(vec![Obstacle::new("wall", wall, behind)]);
    let environment = Arc::new(Environment { obstacles, ..Environment::empty() });
    let mut world = Snapshot::of(environment, Vec::new(), &[]);
    let cohort = cohort();
    for robot in 0..robots {
        for (part, of) in (0..).zip(&cohort.blueprint.parts) {
            let stands = Pose { position_m: DVec3::new(3.0 * f64::from(robot), 0.0, 0.0), ..Pose::IDENTITY };
            world.bodies.push(Body { robot, part, cohort: Arc::clone(&cohort), pose: stands.then(&of.pose) });
        }
    }
    world
}

#[test]
fn robots_are_seen_by_others_and_pictures_allocate_nothing() {
    let engine = Cpu::default();
    let view = |without, columns| View {
        pose: Pose::IDENTITY,
        columns,
        rows: 41,
        tan_half_width: 0.5,
        tan_half_height: 0.5,
        near_m: 0.1,
        far_m: 60.0,
        without,
    };
    let wanted = Wanted { things: true };
    let mut worlds = [world(3), world(10)];
    for world in &worlds {
        engine.take(world, &view(Some(0), 41), wanted, &mut |picture| {
            let middle = 20 * 41 + 20;
            assert_eq!(picture.things[middle], Thing::Part { robot: 1, part: 0 });
            let distance_m = distance_from_depth(f64::from(picture.depth[middle]), 0.1, 60.0);
            assert!((distance_m - 2.8).abs() < 1e-5, "{distance_m}");
            // tan 0.4 / 3 above the middle is the middle of the head
            let head = (20 - (41.0 * 0.4 / 3.0_f64).round() as usize) * 41 + 20;
            assert_eq!(picture.things[head], Thing::Part { robot: 1, part: 1 });
            assert!(!picture.things.iter().any(|thing| matches!(thing, Thing::Part { robot: 0, .. })));
            assert_eq!(picture.things[0], Thing::Obstacle(0));
        });
    }
    engine.take(&worlds[0], &view(None, 41), wanted, &mut |picture| {
        // from inside, its far side is seen
        assert_eq!(picture.things[20 * 41 + 20], Thing::Part { robot: 0, part: 0 });
    });

    let rays: Vec<DVec3> = (-90..90).map(|k| DVec3::new(1.0, f64::from(k) / 90.0, 0.01).normalize()).collect();
    let plan = DepthPlan::new(&rays, 180, DepthOptions::default()).unwrap();
    let reach = Reach { min_m: 0.1, max_m: 30.0, without: Some(0) };
    let mut shoot = |shift_m: f64| {
        let mut sum_m = 0.0;
        for world in &mut worlds {
            world.bodies.iter_mut().for_each(|body| body.pose.position_m.y = shift_m);
            for columns in [1, 41, 200] {
                for wanted in [wanted, Wanted::default()] {
                    engine.take(world, &view(Some(0), columns), wanted, &mut |picture| {
                        sum_m += f64::from(picture.depth[0]);
                    });
                }
            }
            plan.measure(world, &Pose::IDENTITY, reach, &engine, |_, hit| sum_m += hit.distance_m.min(30.0));
        }
        sum_m
    };
    let first = shoot(0.0);
    assert_ne!(first, shoot(0.3), "they moved");
    let before = allocations();
    for _ in 0..5 {
        assert_eq!(first, shoot(0.0));
    }
    assert_eq!(allocations() - before, 0);
}
