//! `muster bench range`: scans of any scene, by rays or by depth buffers, in the form in which peers are measured: poses in
//! turn, directions prepared beforehand, distance, normal and object of every ray stored.

use super::How;
use super::measure::{Line, median};
use crate::cli::micros;
use glam::{DQuat, DVec3};
use muster::{Render, Setup, Simulation};
use muster_core::component::Pose;
use muster_core::math;
use muster_core::model::Environment;
use muster_core::ray::{Hit, Pattern, Reach};
use muster_core::render::depth::{DepthOptions, DepthPlan};
use muster_core::simd::Simd;
use muster_core::snapshot::Snapshot;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// How a scan is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Method {
    /// By rays.
    Ray,
    /// From a depth buffer.
    Depth,
}

/// What to scan, and how.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RangeArguments {
    /// range: the scene, a mesh file (OBJ, STL, glTF, COLLADA), a list of shapes like maze.json, or a world (worlds/maze.yaml
    /// if left out)
    #[arg(long, value_name = "FILE")]
    pub(crate) scene: Option<String>,
    /// range: rows x columns of the scan; those of table 3 of the range-sensor paper if left out
    #[arg(long, value_name = "200x200")]
    pub(crate) pattern: Option<String>,
    /// range: how to scan; both if left out
    #[arg(long)]
    pub(crate) method: Option<Method>,
    /// range: tell the material of each hit, too
    #[arg(long)]
    pub(crate) material: bool,
}

/// Sizes of table 3 of the range-sensor paper, rows and columns.
const SIZES: [(usize, usize); 13] = [
    (1, 1),
    (1, 3),
    (1, 10),
    (1, 30),
    (1, 100),
    (1, 300),
    (1, 1000),
    (35, 35),
    (50, 50),
    (70, 70),
    (100, 100),
    (140, 140),
    (200, 200),
];

/// The world that is scanned if no scene is named: the library's maze.
const MAZE: &str = "worlds/maze.yaml";

/// A scene to scan.
struct Scene {
    world: Snapshot,
    poses: Vec<Pose>,
    reach: Reach,
}

/// Scans a scene in every size, by every method and with every count of threads that is asked for.
pub(crate) fn range(arguments: &RangeArguments, how: &How) -> Result<Vec<Line>, String> {
    let scene = load(arguments.scene.as_deref().unwrap_or(MAZE), how.render)?;
    let sizes = match &arguments.pattern {
        Some(text) => vec![size(text)?],
        None => SIZES.to_vec(),
    };
    let methods = arguments.method.map_or_else(|| vec![Method::Ray, Method::Depth], |method| vec![method]);
    let mut lines = Vec::new();
    for &(rows, columns) in &sizes {
        for &method in &methods {
            let scan = Scan::new(method, rows, columns)?;
            let ms = |threads: usize| scan_ms(&scene, &scan, arguments.material, threads, how.quick);
            let line = |(threads, ms): (usize, f64)| {
                line(&scene, &scan, (rows, columns), (method, arguments.material), (threads, ms))
            };
            if let Some(threads) = how.threads {
                lines.push(line((threads, ms(threads))));
                continue;
            }
            let (one, two) = (ms(1), ms(2));
            let beside = two_processes_per_s(arguments, (rows, columns), method, how.quick)?;
            let (gain, beside_gain) = (2.0 * one / two, beside * one * 1e-3 / (rows * columns) as f64);
            let share = gain / beside_gain;
            lines.push(line((1, one)));
            lines.push(line((2, two)).both("gain", gain, format!("{gain:.2}")));
            let processes = Line::new("range", format!("{rows}x{columns} {}", name(method, arguments.material)))
                .value("pattern", format!("{rows}x{columns}").into())
                .value("method", name(method, arguments.material).into())
                .count("threads", 1)
                .count("processes", 2)
                .both("rays_per_s", beside, format!("{:.1} M", beside * 1e-6))
                .both("gain", beside_gain, format!("{beside_gain:.2}"));
            lines.push(processes.both("threads_per_processes", share, format!("{share:.2}")));
        }
    }
    Ok(lines)
}

/// Rays a second of two processes that do the same on one thread each, both at once: what two threads could reach.
fn two_processes_per_s(
    arguments: &RangeArguments,
    (rows, columns): (usize, usize),
    method: Method,
    quick: bool,
) -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let method = if method == Method::Ray { "ray" } else { "depth" };
    let start = || {
        let mut command = std::process::Command::new(&program);
        command.args(["bench", "range", "--threads", "1", "--json", "--method", method, "--pattern"]);
        command.arg(format!("{rows}x{columns}")).args(arguments.material.then_some("--material"));
        command.args(["--scene", arguments.scene.as_deref().unwrap_or(MAZE)]).args(quick.then_some("--quick"));
        command.stdout(std::process::Stdio::piped()).spawn().map_err(|error| error.to_string())
    };
    let rate = |child: std::process::Child| {
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        let line: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
        line["rays_per_s"].as_f64().ok_or_else(|| "no rays_per_s".to_owned())
    };
    let (first, second) = (start()?, start()?);
    Ok(rate(first)? + rate(second)?)
}

/// What a method is called in results.
fn name(method: Method, material: bool) -> &'static str {
    match (method, material) {
        (Method::Ray, false) => "ray",
        (Method::Ray, true) => "ray+material",
        (Method::Depth, false) => "depth",
        (Method::Depth, true) => "depth+material",
    }
}

fn size(text: &str) -> Result<(usize, usize), String> {
    let wrong = || format!("found pattern {text:?}, expected rows x columns such as 1x1000, at most 1000000 rays");
    let (rows, columns) = text.split_once('x').ok_or_else(wrong)?;
    match (rows.parse(), columns.parse()) {
        (Ok(rows), Ok(columns)) if (1..=1_000_000_usize).contains(&(rows * columns)) => Ok((rows, columns)),
        _ => Err(wrong()),
    }
}

fn line(
    scene: &Scene,
    scan: &Scan,
    (rows, columns): (usize, usize),
    (method, material): (Method, bool),
    (threads, ms): (usize, f64),
) -> Line {
    let name = name(method, material);
    let rays_per_s = (rows * columns * threads) as f64 / (ms * 1e-3);
    Line::new("range", format!("{rows}x{columns} {name}"))
        .value("pattern", format!("{rows}x{columns}").into())
        .value("method", name.into())
        .count("threads", threads)
        .both("rays_per_s", rays_per_s, format!("{:.1} M", rays_per_s * 1e-6))
        .value("ms_per_scan", ms.into())
        .shown("a scan", micros(ms * 1e3))
        .both("mean_range_m", mean_range_m(scene, scan), format!("{:.4}", mean_range_m(scene, scan)))
}

/// The rays of one size, ready to be cast one way.
enum Scan {
    Ray(Pattern),
    Depth(DepthPlan, usize),
}

impl Scan {
    /// Rays of a pinhole of 90°, as maze.json describes them.
    fn new(method: Method, rows: usize, columns: usize) -> Result<Self, String> {
        let direction = |at: usize| {
            let u = 2.0 * ((at % columns) as f64 + 0.5) / columns as f64 - 1.0;
            let v = (2.0 * ((at / columns) as f64 + 0.5) / rows as f64 - 1.0) * rows as f64 / columns as f64;
            DVec3::new(1.0, -u, -v).normalize()
        };
        let directions: Vec<DVec3> = (0..rows * columns).map(direction).collect();
        Ok(match method {
            Method::Ray => Self::Ray(Pattern::new(directions, columns)),
            Method::Depth => {
                Self::Depth(DepthPlan::new(&directions, columns, DepthOptions::default())?, rows * columns)
            }
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Ray(pattern) => pattern.len(),
            Self::Depth(_, rays) => *rays,
        }
    }

    fn cast(&self, scene: &Scene, pose: &Pose, simd: Simd, each: impl FnMut(usize, &Hit)) {
        match self {
            Self::Ray(pattern) => pattern.cast(&scene.world, pose, scene.reach, simd, each),
            Self::Depth(plan, _) => {
                plan.measure(&scene.world, pose, scene.reach, &*scene.world.environment.renderer, each);
            }
        }
    }
}

/// Milliseconds of a scan, the median of several batches; on several threads each scans on its own.
fn scan_ms(scene: &Scene, scan: &Scan, material: bool, threads: usize, quick: bool) -> f64 {
    let alone = || batches_ms(scene, scan, material, quick);
    if threads == 1 {
        return alone();
    }
    let each: Vec<f64> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(alone)).collect();
        started.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    // rates add up
    threads as f64 / each.iter().map(|ms| ms.recip()).sum::<f64>()
}

fn batches_ms(scene: &Scene, scan: &Scan, material: bool, quick: bool) -> f64 {
    let (batches, batch_s) = if quick { (3, 0.02) } else { (9, 0.1) };
    let simd = Simd::detect();
    let mut hits = vec![Hit::NOTHING; scan.len()];
    let mut materials = vec![0_u16; scan.len()];
    let mut one = |pose: &Pose| match material {
        false => scan.cast(scene, pose, simd, |ray, hit| hits[ray] = *hit),
        true => scan.cast(scene, pose, simd, |ray, hit| {
            hits[ray] = *hit;
            materials[ray] = scene.world.material(hit);
        }),
    };
    let mut batch_ms = |count: usize| {
        let begun = Instant::now();
        scene.poses.iter().cycle().take(count).for_each(&mut one);
        begun.elapsed().as_secs_f64() * 1e3
    };
    let mut count = scene.poses.len();
    let mut ms = batch_ms(count);
    while ms < 20.0 {
        count *= 4;
        ms = batch_ms(count);
    }
    let rounds = ((count as f64 * batch_s * 1e3 / ms) as usize / scene.poses.len()).max(1) * scene.poses.len();
    let mut all: Vec<f64> = (0..batches).map(|_| batch_ms(rounds) / rounds as f64).collect();
    all.sort_by(f64::total_cmp);
    median(&all)
}

fn mean_range_m(scene: &Scene, scan: &Scan) -> f64 {
    let mut sum = 0.0;
    for pose in &scene.poses {
        scan.cast(scene, pose, Simd::detect(), |_, hit| sum += hit.distance_m.min(scene.reach.max_m));
    }
    sum / (scene.poses.len() * scan.len()) as f64
}

fn load(path: &str, render: Render) -> Result<Scene, String> {
    if path.ends_with(".yaml") {
        return load_world(path, render);
    }
    let described = path.ends_with(".json");
    let beside = Path::new(path).with_file_name("maze.json");
    let description = match described {
        true => Some(read_json(Path::new(path))?),
        false if beside.is_file() => Some(read_json(&beside)?),
        false => None,
    };
    let obstacles = match &description {
        Some(description) if described => shapes(description).ok_or_else(|| format!("{path}: not a list of shapes"))?,
        _ => format!("scene: {{mesh: {{file: {path:?}}}}}"),
    };
    let text = format!("{{world: {{ground: {described}, obstacles: {{{obstacles}}}}}, robots: []}}");
    let sim = Simulation::from_text(&text, &Setup { render, ..Setup::default() }).map_err(|error| error.to_string())?;
    let environment: Environment = sim.scenario().model.environment.clone();
    let world = Snapshot::of(Arc::new(environment), Vec::new(), &[]);
    let (poses, max_m) = description.as_ref().and_then(views).unwrap_or_else(|| (around(&world), 40.0));
    Ok(Scene { world, poses, reach: Reach { min_m: 0.0, max_m, without: None } })
}

/// A world of the library or a file, seen from places half a metre off whole numbers: in the maze, middles of cells.
fn load_world(path: &str, render: Render) -> Result<Scene, String> {
    let text = format!("{{world: {{include: {path:?}}}, robots: []}}");
    let sim = Simulation::from_text(&text, &Setup { render, ..Setup::default() }).map_err(|error| error.to_string())?;
    let world = Snapshot::of(Arc::new(sim.scenario().model.environment.clone()), Vec::new(), &[]);
    let pose = |at: u32| {
        let place = |step: u32| 4.0 * f64::from(step) - 5.5;
        let orientation = math::quat_from_yaw(std::f64::consts::TAU * f64::from(at) / 16.0);
        Pose { position_m: DVec3::new(place(at % 4), place(at / 4), 0.5), orientation }
    };
    let reach = Reach { min_m: 0.0, max_m: 40.0, without: None };
    Ok(Scene { world, poses: (0..16).map(pose).collect(), reach })
}

fn read_json(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// The shapes of a description as obstacles of a scenario.
fn shapes(description: &Value) -> Option<String> {
    let all = |key: &str| description[key].as_array();
    let mut obstacles = Vec::new();
    for (at, one) in all("boxes")?.iter().enumerate() {
        let size: Option<Vec<f64>> = one["half"].as_array()?.iter().map(|half| Some(2.0 * half.as_f64()?)).collect();
        obstacles.push(format!("b{at}: {{box_size_m: {:?}, at: {{xyz_m: {}}}}}", size?, one["center"]));
    }
    for (at, one) in all("spheres")?.iter().enumerate() {
        obstacles.push(format!("s{at}: {{sphere_radius_m: {}, at: {{xyz_m: {}}}}}", one["radius"], one["center"]));
    }
    for (at, one) in all("cylinders")?.iter().enumerate() {
        let height_m = 2.0 * one["half_height"].as_f64()?;
        let cylinder = format!("cylinder: {{radius_m: {}, height_m: {height_m}}}", one["radius"]);
        obstacles.push(format!("c{at}: {{{cylinder}, at: {{xyz_m: {}}}}}", one["center"]));
    }
    Some(obstacles.join(", "))
}

/// Poses and range of a description.
fn views(description: &Value) -> Option<(Vec<Pose>, f64)> {
    let pose = |value: &Value| {
        let [x, y, z] = [0, 1, 2].map(|axis| value["position"][axis].as_f64());
        let position_m = DVec3::new(x?, y?, z?);
        Some(Pose { position_m, orientation: math::quat_from_yaw(value["yaw"].as_f64()?) })
    };
    let poses: Option<Vec<Pose>> = description["poses"].as_array()?.iter().map(pose).collect();
    Some((poses?, description["max_range"].as_f64()?))
}

/// Views all around from the middle of the scene.
fn around(world: &Snapshot) -> Vec<Pose> {
    let middle =
        world.environment.obstacles.first().map_or(DVec3::ZERO, |obstacle| obstacle.solid.middle(&obstacle.pose));
    let pose = |at: u32| {
        let orientation: DQuat = math::quat_from_yaw(std::f64::consts::TAU * f64::from(at) / 16.0);
        Pose { position_m: middle, orientation }
    };
    (0..16).map(pose).collect()
}
