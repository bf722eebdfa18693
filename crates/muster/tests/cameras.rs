//! Cameras: what images show, who gets them, and that looking changes nothing. OpenCV reads them in `vision/vision.py`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

use glam::{DVec2, DVec3};
use muster::{Render, Setup, Simulation};
use muster_core::colour::linear;
use muster_core::math;
use muster_core::simd::Simd;
use muster_core::world::Options;
use muster_scenario::text::{Async, Threads};
use std::collections::BTreeMap;
use std::path::PathBuf;

fn with(text: &str, setup: &Setup) -> Simulation {
    Simulation::from_text(text, setup).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn simulation(text: &str) -> Simulation {
    with(text, &Setup::default())
}

type Heard = BTreeMap<(String, u64), Vec<f64>>;

/// Runs and collects what the cameras of these robots say, by robot and nanosecond.
fn hear(sim: &mut Simulation, robots: &[&str], for_s: f64) -> Heard {
    for robot in robots {
        assert!(sim.world_mut().listen(robot, "camera"));
    }
    let (mut heard, end) = (Heard::new(), sim.world().time().s() + for_s);
    while sim.world().time().s() < end - 1e-9 {
        sim.walk_window(muster_core::time::SimTime::from_s(end));
        for sample in sim.world().heard().iter() {
            let name = sim.world().robot(sample.robot).unwrap().name.clone();
            heard.insert((name, sample.stamp.ns()), sample.values.to_vec());
        }
    }
    heard
}

/// The first image of a still scene.
fn image(text: &str) -> Vec<f64> {
    let mut sim = simulation(text);
    hear(&mut sim, &["eye"], 0.3).into_values().next().unwrap()
}

fn channels(packed: f64) -> [f64; 3] {
    let packed = packed as u32;
    [16, 8, 0].map(|shift| linear(f64::from(packed >> shift & 0xFF) / 255.0))
}

/// A robot that is nothing but a camera at a place.
fn eye(camera: &str, at: &str) -> String {
    format!("{{name: eye, motion: {{kind: fixture}}, at: {at}, sensors: {{camera: {{kind: camera, {camera}}}}}}}")
}

/// Two walkers with cameras among walls, and a camera over them.
const FLEET: &str = "
world: {include: worlds/arena.yaml}
run: {seed: 3}
robots:
  - {name: eye, motion: {kind: fixture}, at: {xyz_m: [-7, -1, 4], rpy_deg: [0, 30, 5]}, sensors: {camera: {kind: camera, columns: 48, rows: 32, rate_hz: 10}}}
  - name: walker{i}
    kind: differential
    count: 2
    layout: {line: {from_m: [0, 0, 0], step_m: [1.5, 0, 0]}}
    driver: {kind: random_walk, speed_mps: 0.8}
    sensors:
      near: {kind: neighbours, rate_hz: 10, latency_ms: 30}
      camera: {kind: camera, columns: 40, rows: 30, rate_hz: 20, latency_ms: 35, at: {xyz_m: [0.1, 0, 0.4]}, exposure: {full_well: 2000}}
";

#[test]
fn looking_changes_nothing_and_nobody_looks_in_vain() {
    let run = |robots: &[&str], setup: Setup| {
        let mut sim = with(FLEET, &setup);
        let hashes: Vec<u128> = (0..8)
            .map(|_| {
                hear(&mut sim, robots, 0.25);
                sim.world().hash()
            })
            .collect();
        let count = |name: &str| {
            let robot = sim.world().find(name).unwrap();
            let camera = robot.cohort.blueprint.sensors.iter().position(|slot| slot.name == "camera").unwrap();
            sim.world().samples(robot, camera)
        };
        (hashes, [count("eye"), count("walker0"), count("walker1")])
    };
    let (unseen, none) = run(&[], Setup::default());
    assert_eq!(none, [0, 0, 0], "nobody listens");
    let (seen, some) = run(&["eye", "walker1"], Setup::default());
    assert_eq!((&seen, some[0], some[1]), (&unseen, 20, 0));
    assert_eq!(some[2], 39, "samples whose latency has passed");
    for render in [Render::Null, Render::Cpu] {
        let (hashes, _) = run(&["eye", "walker0", "walker1"], Setup { render, ..Setup::default() });
        assert_eq!(hashes, unseen, "{render:?}");
    }
}

#[test]
fn images_do_not_depend_on_when_one_began_to_listen() {
    let mut early = simulation(FLEET);
    let all = hear(&mut early, &["walker0", "walker1"], 1.5);
    let mut late = simulation(FLEET);
    late.run_for(0.7);
    let some = hear(&mut late, &["walker0", "walker1"], 0.8);
    assert!(some.len() >= 28, "{}", some.len());
    for (when, image) in &some {
        assert!(all[when] == *image, "{when:?}");
    }
}

#[test]
fn a_driver_or_an_event_that_reads_a_camera_gets_images() {
    let text = format!(
        "{FLEET}events:\n  - {{on: \"walker1.camera[100] > 1\", do: walker0.stop}}\nexpect: [{{that: no_contact, robots: eye}}]"
    );
    let mut sim = simulation(&text);
    sim.run_for(0.5);
    let seen = |name: &str| !sim.world().property(&format!("{name}.camera")).unwrap().is_empty();
    assert!(seen("walker1") && !seen("walker0") && !seen("eye"));
}

#[test]
fn images_are_the_same_bits_beside_the_loop_on_any_threads_and_registers() {
    let robots = ["eye", "walker0", "walker1"];
    let run = |threads: usize, asynchronous: Async, simd: Simd| {
        let options = Options { simd, ..Options::default() };
        let setup = Setup {
            threads: Some(Threads::Count(threads)),
            asynchronous: Some(asynchronous),
            options,
            ..Setup::default()
        };
        hear(&mut with(FLEET, &setup), &robots, 1.0)
    };
    let base = run(1, Async::None, Simd::detect());
    assert!(base.len() > 45, "{}", base.len());
    for (threads, asynchronous, simd) in [
        (2, Async::None, Simd::detect()),
        (2, Async::Both, Simd::detect()),
        (3, Async::Events, Simd::Scalar),
        (1, Async::None, Simd::Scalar),
    ] {
        assert!(run(threads, asynchronous, simd) == base, "{threads} threads, {asynchronous:?}, {simd}");
    }
}

#[test]
fn a_global_view_and_two_on_board_show_different_images() {
    let mut sim = simulation(FLEET);
    let heard = hear(&mut sim, &["eye", "walker0", "walker1"], 0.3);
    let first = |name: &str| heard.iter().find(|((robot, _), _)| robot == name).unwrap().1;
    let images = [first("eye"), first("walker0"), first("walker1")];
    for (image, pixels) in images.iter().zip([48 * 32, 40 * 30, 40 * 30]) {
        assert_eq!(image.len(), pixels);
        let mut colours: Vec<u32> = image.iter().map(|&colour| colour as u32).collect();
        colours.sort_unstable();
        colours.dedup();
        assert!(colours.len() > 10, "{} colours", colours.len());
    }
    assert!(images[1] != images[2]);
}

/// A folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("muster-cameras-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Four fields: red, green / blue, yellow.
const FIELDS: &str = "P3 2 2 255\n255 0 0  0 255 0\n0 0 255  255 255 0\n";
const RED: [f64; 3] = [1.0, 0.0, 0.0];
const GREEN: [f64; 3] = [0.0, 1.0, 0.0];
const BLUE: [f64; 3] = [0.0, 0.0, 1.0];
const YELLOW: [f64; 3] = [1.0, 1.0, 0.0];

/// Light without shadows that shows colours as they are.
const EVEN: &str =
    "ground: false, ambient: 1.1, sun: {intensity: 0}, sky: {zenith: [0.001, 0.001, 0.001], horizon: [0, 0, 0]}";

/// What stands 3 m ahead, as the camera shows it: the colours of the middles of its quarters, rows from the top.
fn quarters(obstacle: &str) -> [[f64; 3]; 4] {
    let camera = "columns: 40, rows: 40, width_deg: 30";
    let robot = eye(camera, "{xyz_m: [0, 0, 0]}");
    let image = image(&format!("{{world: {{{EVEN}, obstacles: {{it: {{{obstacle}}}}}}}, robots: [{robot}]}}"));
    [(14, 14), (14, 25), (25, 14), (25, 25)]
        .map(|(row, column)| channels(image[row * 40 + column]).map(|channel| if channel > 0.5 { 1.0 } else { 0.0 }))
}

#[test]
fn textures_are_upright_and_not_mirrored_on_every_side_of_a_box() {
    let folder = folder("box");
    std::fs::write(folder.join("fields.ppm"), FIELDS).unwrap();
    let skin = format!("skin: {{texture: {}/fields.ppm, texture_size_m: 1}}", folder.display());
    for yaw_deg in [0, 90, 180, 270] {
        let shape = format!("box_size_m: [1, 1, 1], at: {{xyz_m: [3, 0, 0], yaw_deg: {yaw_deg}}}, {skin}");
        assert_eq!(quarters(&shape), [RED, GREEN, BLUE, YELLOW], "turned by {yaw_deg}");
    }
    // from above, north is up; the camera looks down with north up when it rolls left and then pitches down
    let top = format!("box_size_m: [1, 1, 1], at: {{xyz_m: [3, 0, 0], rpy_deg: [0, -90, 0]}}, {skin}");
    assert_eq!(quarters(&top), [GREEN, YELLOW, RED, BLUE], "its top towards us, its x up");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_mesh_shows_its_texture_by_its_own_coordinates() {
    let folder = folder("mesh");
    std::fs::write(folder.join("fields.ppm"), FIELDS).unwrap();
    // a square that looks back along x: right as one sees it is -y
    let square = "mtllib it.mtl\nusemtl it\nv 0 0.5 -0.5\nv 0 -0.5 -0.5\nv 0 -0.5 0.5\nv 0 0.5 0.5\n\
                  vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3 4/4\n";
    std::fs::write(folder.join("it.obj"), square).unwrap();
    std::fs::write(folder.join("it.mtl"), "newmtl it\nKd 1 1 1\nmap_Kd fields.ppm\n").unwrap();
    let mesh = format!("mesh: {{file: {}/it.obj}}, at: {{xyz_m: [3, 0, 0]}}", folder.display());
    assert_eq!(quarters(&mesh), [RED, GREEN, BLUE, YELLOW]);
    // half of the coordinates: the lower left quarter of the image fills it
    std::fs::write(folder.join("it.obj"), square.replace("vt 1 0\nvt 1 1\nvt 0 1", "vt 0.5 0\nvt 0.5 0.5\nvt 0 0.5"))
        .unwrap();
    assert_eq!(quarters(&mesh)[2], BLUE);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn light_follows_the_cosine_and_shadows_fall_where_the_sun_is_hidden() {
    // the camera looks down at a white floor; a plate 2 m above it is out of view, and its shadow is in it
    let robot = eye("columns: 41, rows: 41, width_deg: 60", "{xyz_m: [0, 0, 3], rpy_deg: [0, 90, 0]}");
    let sun = |elevation_deg: f64| {
        format!("sun: {{azimuth_deg: 90, elevation_deg: {elevation_deg}, intensity: 0.6, colour: [1, 1, 1]}}")
    };
    let scene = |elevation_deg: f64, plate: &str| {
        format!(
            "{{world: {{ambient: 0.2, sky: {{zenith: [1, 1, 1]}}, {}, ground_skin: {{colour: [1, 1, 1]}}, obstacles: {{{plate}}}}}, \
             robots: [{robot}]}}",
            sun(elevation_deg)
        )
    };
    for elevation_deg in [90.0_f64, 60.0, 30.0, -20.0] {
        let lit = image(&scene(elevation_deg, ""));
        let expected = 0.2 + 0.6 * elevation_deg.to_radians().sin().max(0.0);
        for pixel in [0, 20 * 41 + 20, 41 * 41 - 1] {
            let found = channels(lit[pixel])[1];
            assert!((found / expected - 1.0).abs() < 0.02, "{found} instead of {expected} at {elevation_deg}°");
        }
    }
    // at 45° in the east a plate at 2 m, centred 2 m to the east, shades 1 m around the origin
    let plate = "plate: {box_size_m: [2, 2, 0.02], at: {xyz_m: [2, 0, 2]}, visible: true}";
    let shaded = image(&scene(45.0, plate));
    let lit = 0.2 + 0.6 * 45.0_f64.to_radians().sin();
    let mut dark = 0;
    for row in 0..41 {
        for column in 0..41 {
            // up in the image is east, left is north; pixels are 2 m tan 30° * 3 / 41 wide
            let step_m = 6.0 * 30.0_f64.to_radians().tan() / 41.0;
            let (east, north) = ((20.0 - f64::from(row)) * step_m, (20.0 - f64::from(column)) * step_m);
            let found = channels(shaded[(row * 41 + column) as usize])[1];
            let edge = (east.abs() - 1.0).abs() < 0.08 || (north.abs() - 1.0).abs() < 0.08;
            // the plate itself hides what is behind it
            if edge || east > 0.95 {
                continue;
            }
            let in_shadow = east.abs() < 1.0 && north.abs() < 1.0;
            let expected = if in_shadow { 0.2 } else { lit };
            assert!((found / expected - 1.0).abs() < 0.02, "{found} instead of {expected} at {east}, {north}");
            dark += usize::from(in_shadow);
        }
    }
    assert!(dark > 200, "{dark} pixels in the shadow");
}

#[test]
fn lamps_light_what_is_near_by_the_square_of_the_distance() {
    // night: a lamp of 1000 cd, 2 m over a white floor, is 250 lx below it; a sun of 1 is 100,000 lx
    let robot =
        eye("columns: 21, rows: 21, width_deg: 40, exposure: {gain: 200}", "{xyz_m: [0, 0, 3], rpy_deg: [0, 90, 0]}");
    let lamp = "{name: lamp, motion: {kind: fixture}, at: {xyz_m: [0, 0, 2]}, light: {intensity_cd: 1000}}";
    let world = "ambient: 0, sun: {intensity: 0}, sky: {zenith: [0, 0, 0], horizon: [0, 0, 0]}, ground_skin: {colour: [1, 1, 1]}";
    let image = image(&format!("{{world: {{{world}}}, robots: [{robot}, {lamp}]}}"));
    let half_m = 3.0 * 20.0_f64.to_radians().tan();
    for column in [10, 4, 0] {
        let aside_m = f64::from(10 - column) * 2.0 * half_m / 21.0;
        let distance_m = (4.0 + aside_m * aside_m).sqrt();
        let expected = 200.0 * 1000.0 / (distance_m * distance_m) * (2.0 / distance_m) / 1e5;
        let found = channels(image[(10 * 21 + column) as usize])[0];
        assert!((found / expected - 1.0).abs() < 0.03, "{found} instead of {expected}");
    }
}

#[test]
fn a_stereo_pair_sees_points_as_far_apart_as_their_distance_says() {
    for distance_m in [2.0, 5.0, 12.0] {
        let ball = format!(
            "ball: {{sphere_radius_m: {}, at: {{xyz_m: [{distance_m}, 0.1, 0.05]}}, skin: {{colour: [1, 1, 1]}}}}",
            0.02 * distance_m
        );
        let camera = "camera: {kind: stereo, baseline_m: 0.2, camera: {columns: 320, rows: 240, width_deg: 60}}";
        let mut sim = simulation(&format!(
            "{{world: {{{EVEN}, obstacles: {{{ball}}}}}, robots: [{{name: eye, motion: {{kind: fixture}}, at: {{xyz_m: [0, 0, 0]}}, sensors: {{{camera}}}}}]}}"
        ));
        let heard = hear(&mut sim, &["eye"], 0.3).into_values().next().unwrap();
        let middle = |side: usize| {
            let lit = heard.iter().skip(side).step_by(2).enumerate().filter(|(_, colour)| channels(**colour)[0] > 0.5);
            let columns: Vec<f64> = lit.map(|(pixel, _)| (pixel % 320) as f64).collect();
            columns.iter().sum::<f64>() / columns.len() as f64
        };
        let expected = 160.0 / 30.0_f64.to_radians().tan() * 0.2 / distance_m;
        let disparity = middle(0) - middle(1);
        assert!((disparity - expected).abs() < 1.0, "{disparity} px instead of {expected} px at {distance_m} m");
    }
}

#[test]
fn what_is_only_to_be_seen_moves_with_its_robot() {
    // a ball that touches nothing, 0.5 m ahead of the body and 0.3 m above it, passes through a wall
    let text = "
world: {obstacles: {wall: {box_size_m: [0.1, 1, 0.2], at: {xyz_m: [0.9, 0, 0.9]}, visible: false}}}
robots:
  - {name: eye, motion: {kind: fixture}, at: {xyz_m: [0, 0, 6], rpy_deg: [0, 90, 0]}, sensors: {camera: {kind: camera, columns: 160, rows: 160, width_deg: 60, output: [ids, depth], rate_hz: 10}}}
  - name: rover
    motion: {kind: differential}
    at: {yaw_deg: 20}
    shape: {box_size_m: [0.3, 0.2, 0.1]}
    parts: {flag: {sphere_radius_m: 0.1, at: {xyz_m: [0.5, 0, 0.8]}, collides: false}}
    driver: {kind: random_walk, speed_mps: 0.5}
";
    let mut sim = simulation(text);
    let focal = 80.0 / 30.0_f64.to_radians().tan();
    let mut poses = Vec::new();
    for _ in 0..20 {
        let heard = hear(&mut sim, &["eye"], 0.1);
        let pose = sim.world().pose("rover").unwrap();
        let image = heard.values().next_back().unwrap();
        // of the rover the ball is what is nearest to the camera
        let ball = image.chunks_exact(2).enumerate().filter(|(_, record)| record[1] < 0.0 && record[0] < 5.4);
        let pixels: Vec<DVec2> =
            ball.map(|(pixel, _)| DVec2::new((pixel % 160) as f64, (pixel / 160) as f64)).collect();
        let seen = pixels.iter().sum::<DVec2>() / pixels.len() as f64;
        let at_m = pose.position_m + math::rotate(pose.orientation, DVec3::new(0.5, 0.0, 0.8));
        let expected = DVec2::new(79.5 - focal * at_m.y / (6.0 - at_m.z), 79.5 - focal * at_m.x / (6.0 - at_m.z));
        assert!((seen - expected).length() < 1.0, "{seen} instead of {expected}");
        poses.push(pose.position_m);
    }
    assert!(poses[0].distance(poses[19]) > 0.3, "the rover moved");
    assert_eq!(sim.world().touches(), 0);
}

#[test]
fn a_camera_on_a_pan_tilt_unit_looks_where_it_is_turned() {
    let text = "
world: {obstacles: {mark: {sphere_radius_m: 0.3, at: {xyz_m: [0, 5, 1.5]}}}}
robots:
  - {name: eye, kind: pan_tilt, sensors: {camera: {kind: camera, frame: view, columns: 32, rows: 24, output: [ids], rate_hz: 10}}}
";
    let mut sim = simulation(text);
    let sees = |heard: &Heard| heard.values().next_back().unwrap().contains(&2.0);
    assert!(!sees(&hear(&mut sim, &["eye"], 0.3)), "it looks east");
    let pan = muster::Action::Set { path: "eye.joint_command.pan".to_owned(), values: vec![90.0_f64.to_radians()] };
    sim.command(pan);
    assert!(sees(&hear(&mut sim, &["eye"], 6.0)), "it looks north");
}

#[test]
fn a_known_scene_gives_the_same_image_everywhere() {
    let robot = eye(
        "columns: 64, rows: 48, samples: 2, distortion: {k1: -0.2, k2: 0.03, p1: 0.001}, blur_px: 0.7, exposure: {full_well: 5000}",
        "{xyz_m: [-6, -9, 2.2], rpy_deg: [0, 5, 60]}",
    );
    let image = image(&format!("{{world: {{include: worlds/rescue.yaml}}, robots: [{robot}]}}"));
    let hash = image
        .iter()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, &colour| (hash ^ colour as u64).wrapping_mul(0x0000_0100_0000_01B3));
    assert_eq!(format!("{hash:016x}"), "a57b5b92414f8073");
}
