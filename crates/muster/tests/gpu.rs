//! The engine for graphics cards against that of the processor, on worlds of the library. Where there is no card the tests
//! say so and pass; `cargo xtask test` installs a driver that is a program (Mesa's lavapipe), so that there is one.
#![cfg(feature = "gpu")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

use glam::{DVec2, DVec3};
use muster::{Render, Setup, Simulation};
use muster_core::colour::Encoder;
use muster_core::component::Pose;
use muster_core::math;
use muster_core::ray::{Hit, Thing};
use muster_core::render::depth::distance_from_depth;
use muster_core::render::lens::{Lens, LensSpec};
use muster_core::render::{Film, Picture, Renderer, Shot, View, Wanted};
use muster_core::shape::Shape;
use muster_core::simd::Simd;
use muster_core::snapshot::Snapshot;
use muster_render::{Cpu, Gpu};
use std::process::Command;
use std::sync::OnceLock;

/// The card, if there is one.
fn card() -> Option<&'static Gpu> {
    static CARD: OnceLock<Option<Gpu>> = OnceLock::new();
    let open = || match Gpu::open(Simd::detect()) {
        Ok(card) => {
            eprintln!("on {}", card.card());
            Some(card)
        }
        Err(error) => {
            eprintln!("NOT checked on a graphics card: {error}");
            None
        }
    };
    CARD.get_or_init(open).as_ref()
}

/// A world with robots in it, frozen.
fn frozen<T>(text: &str, look: impl FnOnce(&Snapshot) -> T) -> T {
    let mut sim = Simulation::from_text(text, &Setup::default()).unwrap();
    sim.run_for(0.2);
    let number = sim.world().roster().next().unwrap().0;
    let world = sim.world_mut();
    let trial = world.trial(number).unwrap();
    look(trial.world())
}

/// A world of the library with a robot that looks, two that drive and one that flies.
fn library(world: &str) -> String {
    format!(
        "world: {{include: worlds/{world}.yaml}}
robots:
  - {{name: eye, motion: {{kind: fixture}}, at: {{xyz_m: [0, 0, 3]}}, sensors: {{camera: {{kind: camera}}}}}}
  - {{name: rover, kind: differential, at: {{xyz_m: [1.5, 0.5, 0]}}}}
  - {{name: mate, kind: differential, at: {{xyz_m: [0.5, 1.5, 0], yaw_deg: 40}}}}
  - {{name: drone, kind: quadrotor, at: {{xyz_m: [0.5, -1, 2.5]}}}}
"
    )
}

fn pose(x: f64, y: f64, z: f64, down_deg: f64, yaw_deg: f64) -> Pose {
    let orientation = math::quat_from_rpy(0.03, down_deg.to_radians(), yaw_deg.to_radians());
    Pose { position_m: DVec3::new(x, y, z), orientation }
}

fn taken(engine: &dyn Renderer, world: &Snapshot, view: &View) -> Picture {
    let mut taken = None;
    engine.take(world, view, Wanted { things: true }, &mut |picture| taken = Some(picture.clone()));
    taken.unwrap()
}

fn exposed(engine: &dyn Renderer, world: &Snapshot, shot: &Shot<'_>) -> Film {
    let mut taken = None;
    engine.expose(world, shot, &mut |film| taken = Some(film.clone()));
    taken.unwrap()
}

fn shape(world: &Snapshot, thing: Thing) -> Option<Shape> {
    match thing {
        Thing::Nothing => None,
        Thing::Obstacle(number) => Some(world.environment.obstacles[number as usize].solid.shape().clone()),
        Thing::Part { robot, part } => {
            let body = world.bodies_of(robot as usize).iter().find(|body| body.part == part)?;
            Some(body.part().solid.shape().clone())
        }
    }
}

/// What was found in a comparison of pictures.
#[derive(Debug, Default)]
struct Found {
    pixels: usize,
    other_thing: usize,
    /// The greatest share of the stated error.
    worst: f64,
    compared: usize,
}

fn compare(gpu: &Gpu, world: &Snapshot, view: &View, found: &mut Found) {
    let engine = Cpu::default();
    let (card, cpu) = (taken(gpu, world, view), taken(&engine, world, view));
    // shapes of things, and by how much more the card draws them wrong
    let mut shapes: Vec<(Thing, Shape, f64)> = Vec::new();
    for pixel in 0..card.depth.len() {
        found.pixels += 1;
        if card.things[pixel] != cpu.things[pixel] {
            found.other_thing += 1;
            continue;
        }
        let thing = card.things[pixel];
        if !shapes.iter().any(|(known, ..)| *known == thing)
            && let Some(shape) = shape(world, thing)
        {
            let more_m = gpu.shape_error_m(&shape, 0.0) - engine.shape_error_m(&shape, 0.0);
            shapes.push((thing, shape, more_m));
        }
        let Some((_, shape, more_m)) = shapes.iter().find(|(known, ..)| *known == thing) else {
            assert_eq!((card.depth[pixel], cpu.depth[pixel]), (1.0, 1.0));
            continue;
        };
        let numbered = matches!(shape, Shape::Mesh(_) | Shape::Heightfield(_));
        if numbered && card.triangles[pixel] != cpu.triangles[pixel] {
            continue;
        }
        let [a, b] = [&card, &cpu].map(|p| distance_from_depth(f64::from(p.depth[pixel]), view.near_m, view.far_m));
        // both are wrong by as much as they state, along the normal of the surface; how far that is along the ray is told
        // by the neighbours of the pixel
        let (column, row) = (pixel % view.columns, pixel / view.columns);
        if column == 0 || row == 0 || column + 1 == view.columns || row + 1 == view.rows {
            continue;
        }
        let around = [pixel - 1, pixel + 1, pixel - view.columns, pixel + view.columns];
        if around.iter().any(|&near| cpu.things[near] != cpu.things[pixel]) {
            continue;
        }
        let reciprocal = |p: usize| 1.0 / distance_from_depth(f64::from(cpu.depth[p]), view.near_m, view.far_m);
        let bend = |p: usize, q: usize| (reciprocal(p) + reciprocal(q) - 2.0 * reciprocal(pixel)).abs() * b;
        // over an edge of a thing one of its sides may be seen or the other
        if bend(around[0], around[1]) > 1e-3 || bend(around[2], around[3]) > 1e-3 {
            continue;
        }
        let pitch = 2.0 * view.tan_half_width / view.columns as f64;
        let slope = |p: usize, q: usize| (reciprocal(p) - reciprocal(q)).abs() * b / (2.0 * pitch);
        let slant = 1.0 + slope(around[0], around[1]) + slope(around[2], around[3]);
        let by_shape_m = (2.0 * engine.shape_error_m(shape, b) + more_m) * 1.1 * slant * 1.5;
        let quantum_m = 2.0 * b * b / view.near_m / f64::from(1 << 24);
        let stated_m = by_shape_m + quantum_m + 2e-6 * b * slant * 1.5;
        found.compared += 1;
        found.worst = found.worst.max((a - b).abs() / stated_m);
    }
}

#[test]
fn depth_is_that_of_the_processor_within_the_stated_error() {
    let Some(gpu) = card() else { return };
    for (world, height_m) in [("maze", 0.4), ("rescue", 1.7), ("indoor_room", 1.2), ("outdoor", 30.0)] {
        let mut found = Found::default();
        frozen(&library(world), |world| {
            for turn in 0..6 {
                let pose = pose(0.4, 0.6, height_m, 4.0, 60.0 * f64::from(turn) + 7.0);
                let view = View {
                    pose,
                    columns: 200,
                    rows: 200,
                    tan_half_width: 1.0,
                    tan_half_height: 1.0,
                    near_m: 0.05,
                    far_m: 500.0,
                    without: Some(0),
                };
                compare(gpu, world, &view, &mut found);
            }
        });
        let edges = found.other_thing as f64 / found.pixels as f64;
        eprintln!("{world}: {found:?}, {:.3} % show another thing", 100.0 * edges);
        assert!(edges < 0.01, "{world}: {edges}");
        assert!(found.worst <= 1.0, "{world}: {} of the stated error", found.worst);
        assert!(found.compared * 2 > found.pixels / 4, "{world}: {found:?}");
    }
}

/// Peak signal-to-noise ratio of images as displays show them, dB.
fn psnr_db(a: &Film, b: &Film) -> f64 {
    let encoder = Encoder::new();
    let bytes = |film: &Film| -> Vec<f64> {
        film.light.iter().flatten().map(|&light| f64::from(encoder.byte(light))).collect()
    };
    let (a, b) = (bytes(a), bytes(b));
    let mean = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / a.len() as f64;
    10.0 * math::ln(255.0 * 255.0 / mean.max(1e-9)) / math::ln(10.0)
}

fn same_film(gpu: &Gpu, world: &Snapshot, shot: &Shot<'_>, least_db: f64, most_other: f64) {
    let (card, cpu) = (exposed(gpu, world, shot), exposed(&Cpu::default(), world, shot));
    let rays = cpu.hits.len();
    let other = card.hits.iter().zip(&cpu.hits).filter(|(a, b)| a.thing != b.thing).count() as f64 / rays as f64;
    let near = |(a, b): &(&Hit, &Hit)| {
        let off_m = (a.distance_m - b.distance_m).abs();
        a.thing == b.thing
            && (a.thing == Thing::Nothing || (off_m < 2e-3 * b.distance_m && a.normal.dot(b.normal) > 0.99))
    };
    let near = card.hits.iter().zip(&cpu.hits).filter(near).count() as f64 / rays as f64;
    let db = psnr_db(&card, &cpu);
    eprintln!(
        "{db:.1} dB, {:.2} % of rays meet another thing, {:.2} % the same within 0.2 %",
        100.0 * other,
        100.0 * near
    );
    assert!(db >= least_db, "{db:.1} dB instead of {least_db}");
    assert!(other < most_other && near > 0.97, "{other} and {near}");
}

#[test]
fn images_are_those_of_the_processor() {
    let Some(gpu) = card() else { return };
    for (world, x, y, z, down_deg, yaw_deg) in [
        ("rescue", -2.0, -22.0, 2.2, 6.0, 85.0),
        ("rescue", -17.0, -24.0, 12.0, 24.0, 52.0),
        ("indoor_room", -3.4, -2.4, 1.5, 6.0, 35.0),
        ("maze", 0.4, 0.6, 1.5, 20.0, 30.0),
        ("outdoor", 0.0, 0.0, 60.0, 15.0, 30.0),
    ] {
        let lens = Lens::new(LensSpec::pinhole(320, 240, 0.64)).unwrap();
        eprint!("{world}: ");
        frozen(&library(world), |world| {
            let shot = Shot {
                pose: pose(x, y, z, down_deg, yaw_deg),
                lens: &lens,
                near_m: 0.05,
                far_m: 2000.0,
                without: Some(0),
                hits: true,
            };
            same_film(gpu, world, &shot, 30.0, 0.01);
        });
    }
}

#[test]
fn lenses_beside_the_middle_with_samples_and_with_distortion_see_the_same() {
    let Some(gpu) = card() else { return };
    let straight = LensSpec {
        centre_px: DVec2::new(150.0, 128.0),
        focal_px: DVec2::new(210.0, 222.0),
        samples: 2,
        ..LensSpec::pinhole(320, 240, 0.64)
    };
    let curved = LensSpec { distortion: [-0.25, 0.06, 1e-3, -1e-3, 0.0], ..LensSpec::pinhole(320, 240, 0.77) };
    for (spec, least_db, most_other) in [(straight, 30.0, 0.01), (curved, 26.0, 0.02)] {
        let lens = Lens::new(spec).unwrap();
        frozen(&library("rescue"), |world| {
            let pose = pose(-2.0, -22.0, 2.2, 6.0, 85.0);
            let shot = Shot { pose, lens: &lens, near_m: 0.05, far_m: 2000.0, without: Some(0), hits: true };
            same_film(gpu, world, &shot, least_db, most_other);
        });
    }
}

const SCANNER: &str = "
world: {include: worlds/maze.yaml}
robots:
  - name: rover
    kind: differential
    at: {xyz_m: [0.5, 0.5, 0]}
    sensors:
      scan: {kind: range, method: depth, rate_hz: 10, at: {xyz_m: [0, 0, 0.4]}}
      rays: {kind: range, method: ray, rate_hz: 10, at: {xyz_m: [0, 0, 0.4]}}
";

#[test]
fn the_report_says_what_the_hash_promise_does_not_cover() {
    if card().is_none() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("muster-gpu-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (scenario, report) = (folder.join("scanner.yaml"), folder.join("report.json"));
    std::fs::write(&scenario, SCANNER).unwrap();
    let run = |render: &str, hidden: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
        command.arg("run").arg(&scenario).args(["--for", "0.3s", "-q", "--render", render, "--report"]).arg(&report);
        if hidden {
            // drivers are found by lists of files, which can be replaced
            command.env("VK_DRIVER_FILES", "/nowhere").env("VK_ICD_FILENAMES", "/nowhere");
            command.env("__EGL_VENDOR_LIBRARY_FILENAMES", "/nowhere").env("LD_LIBRARY_PATH", "/nowhere");
        }
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let report = std::fs::read_to_string(&report).unwrap_or_default();
        (output.status.code(), text, serde_json::from_str::<serde_json::Value>(&report).unwrap_or_default())
    };
    let (code, text, told) = run("gpu", false);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(told["render"]["engine"], "gpu");
    assert_eq!(told["render"]["deterministic"], false);
    assert_eq!(told["render"]["outside_hash_promise"], serde_json::json!(["rover.scan"]));
    assert!(text.contains("rover.scan") && text.contains(told["render"]["adapter"].as_str().unwrap()), "{text}");
    let (_, _, told) = run("cpu", false);
    assert_eq!(told["render"]["outside_hash_promise"], serde_json::json!([]));
    assert_eq!(told["render"]["engine"], "cpu");
    let (code, text, _) = run("gpu", true);
    assert!(code == Some(3) && text.contains("found no graphics adapter"), "{text}");
    let (code, text, told) = run("auto", true);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(told["render"]["engine"], "cpu");
    assert!(told["render"]["why"].as_str().unwrap().contains("no graphics adapter"), "{told}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn scanners_by_a_card_measure_what_rays_do() {
    if card().is_none() {
        return;
    }
    let mut sim = Simulation::from_text(SCANNER, &Setup { render: Render::Gpu, ..Setup::default() }).unwrap();
    sim.run_for(0.35);
    let [scan, rays] = ["scan", "rays"].map(|name| sim.world().property(&format!("rover.{name}")).unwrap());
    assert_eq!(scan.len(), rays.len());
    let same = scan.iter().zip(&rays).filter(|(a, b)| (*a - *b).abs() < 5e-3 * b.abs().max(1.0)).count();
    assert!(same * 100 >= 97 * rays.len(), "{same} of {}", rays.len());
}

#[test]
fn runs_are_the_same_whoever_draws() {
    if card().is_none() {
        return;
    }
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/cameras.yaml");
    let hash = |render: Render| {
        let mut sim = Simulation::load(example, &Setup { render, ..Setup::default() }).unwrap();
        for name in ["overview", "rover", "scout"] {
            assert!(sim.world_mut().listen(name, "camera"), "{name}");
        }
        sim.run_for(0.4);
        assert_eq!(sim.drawing().engine, Render::NAMES[render as usize]);
        let images = sim.world().property("rover.camera").map_or(0, |image| image.len());
        (sim.world().hash(), images)
    };
    let (cpu, pixels) = hash(Render::Cpu);
    assert!(pixels > 0);
    assert_eq!(hash(Render::Gpu), (cpu, pixels));
    assert_eq!(hash(Render::Null).0, cpu);
}
