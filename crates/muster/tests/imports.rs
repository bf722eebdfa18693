//! What other programs made: meshes, textures, height images and occupancy maps in scenarios. Rays stand for cameras here:
//! they meet an imported mesh where they meet the shape it was made from.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

use glam::DVec3;
use muster::{LoadError, Setup, Simulation};
use muster_core::component::Pose;
use muster_core::contact::Obstacle;
use muster_core::math;
use muster_core::random::Stream;
use muster_core::ray::{Reach, Thing};
use muster_core::shape::{Mesh, Shape, Solid};
use muster_core::snapshot::Snapshot;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/imports.yaml");
const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/models");

fn example() -> Simulation {
    Simulation::load(EXAMPLE, &Setup::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn models() -> Setup {
    Setup { search: vec![PathBuf::from(MODELS)], ..Setup::default() }
}

fn with(world: &str) -> Simulation {
    let text = format!("{{world: {{{world}}}}}");
    Simulation::from_text(&text, &models()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn refused(world: &str) -> LoadError {
    let text = format!("{{world: {{{world}}}}}");
    Simulation::from_text(&text, &models()).err().unwrap_or_else(|| panic!("not refused: {text}"))
}

fn obstacle<'a>(sim: &'a Simulation, name: &str) -> &'a Obstacle {
    let all = &sim.world().model().environment.obstacles;
    all.iter().find(|obstacle| obstacle.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn mesh(obstacle: &Obstacle) -> &Mesh {
    match obstacle.solid.shape() {
        Shape::Mesh(mesh) => mesh,
        other => panic!("{other:?}"),
    }
}

/// The world as sensors see it.
fn frozen(sim: &Simulation) -> Snapshot {
    Snapshot::of(Arc::new(sim.world().model().environment.clone()), Vec::new(), &[])
}

/// Random rays from around a place towards it: origin and direction.
fn rays(at: DVec3, spread_m: f64, count: u64) -> impl Iterator<Item = (DVec3, DVec3)> {
    let stream = Stream::new(11, 2);
    (0..count).map(move |number| {
        let (u, w) = (stream.uniforms(number, 0), stream.uniforms(number, 1));
        let from = at + DVec3::new(u[0] - 0.5, u[1] - 0.5, 0.05 + 0.45 * u[2]).normalize() * 3.0 * spread_m;
        let to = at + (DVec3::new(w[0], w[1], w[2]) - 0.5) * spread_m;
        (from, (to - from).normalize())
    })
}

const FAR: Reach = Reach { min_m: 0.0, max_m: 100.0, without: None };

/// Rays that meet an obstacle first meet it where they meet these shapes.
fn check_rays(sim: &Simulation, name: &str, shapes: &[(Shape, Pose)], spread_m: f64, tolerance_m: f64) {
    let world = frozen(sim);
    let at = obstacle(sim, name).pose;
    let solids: Vec<(Solid, Pose)> =
        shapes.iter().map(|(shape, pose)| (Solid::new(shape.clone()).unwrap(), at.then(pose))).collect();
    let mut met = 0;
    for (from, direction) in rays(at.then(&shapes[0].1).position_m, spread_m, 2000) {
        let hit = world.cast(from, direction, FAR);
        let Thing::Obstacle(number) = hit.thing else { continue };
        if world.environment.obstacles[number as usize].name != name {
            continue;
        }
        let nearest = solids.iter().filter_map(|(solid, pose)| solid.ray(pose, from, direction, 100.0));
        let nearest = nearest.map(|hit| hit.distance_m).fold(f64::INFINITY, f64::min);
        assert!((hit.distance_m - nearest).abs() < tolerance_m, "{name}: {} and {nearest}", hit.distance_m);
        met += 1;
    }
    assert!(met > 400, "{name}: {met}");
}

fn boxed(size: [f64; 3], at: [f64; 3]) -> (Shape, Pose) {
    let half_m = DVec3::from(size) * 0.5;
    (Shape::Box { half_m }, Pose { position_m: DVec3::from(at), ..Pose::IDENTITY })
}

// D09, B11
#[test]
fn rays_meet_imported_meshes_where_they_meet_the_shapes_they_were_made_from() {
    let sim = example();
    check_rays(&sim, "block", &[boxed([2.0, 1.0, 1.0], [0.0, 0.0, 0.5])], 2.0, 1e-6);
    for number in 0..3 {
        check_rays(&sim, &format!("crate{number}"), &[boxed([0.8; 3], [0.0; 3])], 0.8, 1e-6);
    }
    // y up, in centimetres: the seat is 1.6 m along x
    let bench = [
        boxed([1.6, 0.4, 0.05], [0.0, 0.0, 0.425]),
        boxed([0.08, 0.36, 0.4], [-0.6, 0.0, 0.2]),
        boxed([0.08, 0.36, 0.4], [0.6, 0.0, 0.2]),
    ];
    check_rays(&sim, "bench", &bench, 1.5, 1e-6);
    // the ramp: from above, its height is a quarter of the way along
    let world = frozen(&sim);
    for along in 1..20 {
        let x = 0.1 * f64::from(along);
        let hit = world.cast(DVec3::new(-9.0 + x, 0.437, 5.0), DVec3::NEG_Z, FAR);
        assert!((5.0 - hit.distance_m - 0.25 * x).abs() < 1e-6, "{x}: {}", hit.distance_m);
    }
}

// D09
#[test]
fn texture_coordinates_and_pixels_of_files_arrive() {
    let sim = example();
    let bricks = |at: f64, v: f64| {
        // the image beside the block, by its own coordinates: v upwards
        let paint = mesh(obstacle(&sim, "block")).paint.clone().unwrap();
        let texture = paint.skins.iter().find_map(|skin| skin.texture.clone()).unwrap();
        let (column, row) = ((at * 64.0) as usize, ((1.0 - v) * 64.0) as usize);
        texture.pixels[row * texture.columns + column]
    };
    // mortar is grey, bricks are red
    let [red, _, blue] = bricks(0.5, 0.06);
    assert!(red > blue + 60, "{red} {blue}");
    let block = mesh(obstacle(&sim, "block"));
    let paint = block.paint.as_ref().unwrap();
    assert_eq!((paint.skins.len(), paint.corners_uv.len()), (2, 12));
    assert_eq!(paint.skin(0).unwrap().colour, Some([0.9, 0.85, 0.7]));
    assert!(paint.skin(4).unwrap().texture.is_some());
    // u grows along the lower edge of a side, v upwards
    for (triangle, uv) in block.triangles[4..].iter().zip(&paint.corners_uv[4..8]) {
        for (corner, [_, v]) in triangle.iter().zip(uv) {
            assert_eq!(block.vertices_m[*corner as usize].z, f64::from(*v), "{triangle:?} {uv:?}");
        }
    }
    let crates = mesh(obstacle(&sim, "crate0"));
    let wood = crates.paint.as_ref().unwrap().skin(0).unwrap();
    assert_eq!((wood.colour, wood.texture.as_ref().unwrap().columns), (Some([1.0; 3]), 64));
    // one file is read once, whoever uses it
    let other = mesh(obstacle(&sim, "crate2"));
    assert!(std::ptr::eq(crates, other));
    // a skin of one's own takes the place of the file's, whose coordinates stay
    let own = with("obstacles: {a: {mesh: {file: block.obj}, skin: {colour: [1, 0, 0]}}}");
    let paint = mesh(obstacle(&own, "a")).paint.as_ref().unwrap();
    assert!(paint.skins.is_empty() && paint.corners_uv.len() == 12 && paint.skin(0).is_none());
}

#[test]
fn a_height_image_is_terrain_from_edge_to_edge() {
    let sim =
        with("ground: false, obstacles: {hill: {terrain: {image: hills.png, size_m: [24, 12], height_m: [-1, 3]}}}");
    let world = frozen(&sim);
    // at its pixels, the larger hill is a paraboloid around (-0.15, -0.1) of the edges with radius 0.3
    for (column, row) in [(17, 20), (16, 19), (20, 22), (12, 25), (40, 33), (2, 2)] {
        let [x, y] = [column, row].map(|number| f64::from(number) / 48.0 - 0.5);
        let hill = |at: [f64; 2], high: f64, wide: f64| {
            (high * (1.0 - ((x - at[0]).powi(2) + (y - at[1]).powi(2)) / (wide * wide))).max(0.0)
        };
        let expected_m = -1.0 + 4.0 * hill([-0.15, -0.1], 1.0, 0.3).max(hill([0.25, 0.2], 0.5, 0.2));
        let aside = DVec3::new(1e-7, 2e-7, 0.0);
        let hit = world.cast(DVec3::new(24.0 * x, 12.0 * y, 50.0) + aside, DVec3::NEG_Z, FAR);
        let height_m = 50.0 - hit.distance_m;
        // half a step of 16 bits over 4 m, and what a millionth of a metre aside can make
        assert!((height_m - expected_m).abs() < 4.0 / 65_535.0 * 0.5 + 1e-5, "{column} {row}: {height_m} {expected_m}");
    }
}

#[test]
fn an_occupancy_map_is_solid_exactly_where_it_is_occupied() {
    let at = "at: {xyz_m: [3, 1, 0], yaw_deg: 20}";
    let sim =
        with(&format!("ground: false, obstacles: {{office: {{map: {{file: office.yaml, height_m: 2.2}}, {at}}}}}"));
    let world = frozen(&sim);
    let image = std::fs::read(format!("{MODELS}/office.pgm")).unwrap();
    let pixels = &image[image.len() - 60 * 40..];
    let place = Pose { position_m: DVec3::new(3.0, 1.0, 0.0), orientation: math::quat_from_yaw(20_f64.to_radians()) };
    for (number, pixel) in pixels.iter().enumerate() {
        let (x, y) = (number % 60, 39 - number / 60);
        // a little aside of the middle, so that no ray runs along the edge between two boxes
        let cell = DVec3::new(-3.0 + 0.1 * (x as f64 + 0.47), -2.0 + 0.1 * (y as f64 + 0.52), 10.0);
        let from = place.position_m + math::rotate(place.orientation, cell);
        let hit = world.cast(from, DVec3::NEG_Z, FAR);
        let solid = *pixel == 0;
        assert_eq!(hit.thing != Thing::Nothing, solid, "{x} {y}");
        assert!(!solid || (hit.distance_m - 7.8).abs() < 1e-9);
    }
    let boxes = world.environment.obstacles.len();
    // four outer walls and one inner, two of them with a door, and a round pillar of seven rows
    assert!(boxes <= 12, "{boxes}");
}

/// Writes a map into a folder of its own and reads it.
fn map(name: &str, columns: usize, pixels: &[u8], keys: &str) -> Result<Simulation, LoadError> {
    let folder = std::env::temp_dir().join(format!("muster-maps-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut image = format!("P5 {columns} {} 255\n", pixels.len() / columns).into_bytes();
    image.extend(pixels);
    std::fs::write(folder.join("m.pgm"), image).unwrap();
    std::fs::write(folder.join("m.yaml"), format!("image: m.pgm\nresolution: 0.5\norigin: [1, 2, 0.3]\n{keys}"))
        .unwrap();
    let setup = Setup { search: vec![folder], ..Setup::default() };
    Simulation::from_text("{world: {ground: false, obstacles: {m: {map: {file: m.yaml}}}}}", &setup)
}

#[test]
fn random_maps_are_covered_once_and_follow_their_keys() {
    let stream = Stream::new(4, 4);
    for number in 0..12_u64 {
        let (columns, rows) = (3 + number as usize % 7, 4 + number as usize % 5);
        let value = |cell: usize| match (stream.uniforms(number, cell as u32)[0] * 3.0) as u32 {
            0 => 0,
            1 => 205,
            _ => 254,
        };
        let pixels: Vec<u8> = (0..columns * rows).map(value).collect();
        let negate = number % 2 == 1;
        let keys = format!("negate: {}\noccupied_thresh: 0.65\nfree_thresh: 0.196\nmode: trinary\n", u8::from(negate));
        let sim = map(&format!("random{number}"), columns, &pixels, &keys).unwrap_or_else(|error| panic!("{error}"));
        let boxes = &sim.world().model().environment.obstacles;
        let origin = Pose { position_m: DVec3::new(1.0, 2.0, 0.0), orientation: math::quat_from_yaw(0.3) };
        let mut occupied = 0;
        for (cell, pixel) in pixels.iter().enumerate() {
            let (x, y) = (cell % columns, rows - 1 - cell / columns);
            let middle = DVec3::new(0.5 * (x as f64 + 0.5), 0.5 * (y as f64 + 0.5), 1.0);
            let middle = origin.position_m + math::rotate(origin.orientation, middle);
            let inside = |one: &&Obstacle| (one.solid.nearest_point(&one.pose, middle) - middle).length() < 1e-9;
            let solid = if negate { *pixel > 200 } else { *pixel == 0 };
            occupied += usize::from(solid);
            assert_eq!(boxes.iter().filter(inside).count(), usize::from(solid), "{number}: {x} {y}");
        }
        assert!(boxes.len() <= occupied);
        let area: f64 = boxes
            .iter()
            .map(|one| match one.solid.shape() {
                Shape::Box { half_m } => 4.0 * half_m.x * half_m.y,
                other => panic!("{other:?}"),
            })
            .sum();
        assert!((area - 0.25 * occupied as f64).abs() < 1e-9);
    }
}

#[test]
fn what_is_wrong_with_a_map_is_told_with_its_line() {
    let fault = |name: &str, keys: &str| map(name, 2, &[0; 4], keys).err().unwrap().to_string();
    let text = fault("mode", "mode: scale\n");
    assert!(text.contains("found \"scale\"") && text.contains("on line 4 of") && text.contains("trinary"), "{text}");
    let text = fault("key", "resolutoin: 2\n");
    assert!(text.contains("resolution") && text.contains("scenario.yaml:1:"), "{text}");
    let text = fault("yaml", "negate: [\n");
    assert!(text.contains("m.yaml"), "{text}");
}

#[test]
fn wrong_files_are_told_with_the_line_that_names_them_and_the_place_inside() {
    let fault = |world: &str| refused(world).to_string();
    let text = fault("obstacles: {a: {mesh: {file: blok.obj}}}");
    assert!(text.contains("no file \"blok.obj\"") && text.contains("did you mean \"block.obj\"?"), "{text}");
    assert!(text.contains("scenario.yaml:1:"), "{text}");
    let text = fault("obstacles: {a: {mesh: {file: office.yaml}}}");
    assert!(text.contains("expected a mesh whose name ends in .obj, .stl, .gltf, .glb, .dae"), "{text}");
    let text = fault("obstacles: {a: {box_size_m: [1, 1, 1], skin: {texture: block.obj}}}");
    assert!(text.contains("bytes 23 20 61 20 at byte 0 of") && text.contains("an image: PNG"), "{text}");
    let text = fault("obstacles: {a: {box_size_m: [1, 1, 1], skin: {material: plian}}}");
    assert!(text.contains("\"plian\"") && text.contains("did you mean \"plain\"?"), "{text}");
    let text = fault("ground_skin: {texture: textures/gras.png}");
    assert!(text.contains("did you mean \"textures/grass.png\"?"), "{text}");
}

#[test]
fn exactly_one_form_of_a_mesh_and_of_terrain_is_written() {
    for (written, told) in [
        ("mesh: {file: block.obj, vertices_m: [[0, 0, 0]], triangles: [[0, 0, 0]]}", "one of both"),
        ("mesh: {}", "file, or vertices_m and triangles"),
        (
            "mesh: {vertices_m: [[0, 0, 0], [1, 0, 0], [0, 1, 0]], triangles: [[0, 1, 2]], scale: 2}",
            "beside a file only",
        ),
        ("terrain: {size_m: [2, 2], height: x, image: hills.png}", "one of both"),
        ("terrain: {size_m: [2, 2]}", "height or image"),
        ("terrain: {size_m: [2, 2], image: hills.png}", "heights of black and of white"),
        ("terrain: {size_m: [2, 2], image: hills.png, height_m: [0, 1], resolution_m: 1}", "an image has its pixels"),
        ("terrain: {size_m: [2, 2], height: x, height_m: [0, 1]}", "beside an image only"),
        ("terrain: {size_m: [2, 2], image: bricks.png, height_m: [0, 1]}", "a grey one, with 8 or 16 bits a pixel"),
    ] {
        let text = refused(&format!("obstacles: {{a: {{{written}}}}}")).to_string();
        assert!(text.contains(told), "{written}\n{text}");
    }
}

#[test]
fn files_are_found_beside_the_file_that_names_them() {
    let root = std::env::temp_dir().join(format!("muster-beside-{}", std::process::id()));
    for (folder, size) in [("a", 1.0), ("b", 2.0)] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
        let obj = format!("v 0 0 0\nv {size} 0 0\nv 0 {size} 0\nv 0 0 {size}\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n");
        std::fs::write(root.join(folder).join("t.obj"), obj).unwrap();
        let robot = "kind: point\nshape: {mesh: {file: t.obj}}\nmotion: {kind: point, rate_hz: 1000}\n";
        std::fs::write(root.join(folder).join("robot.yaml"), robot).unwrap();
    }
    let text = "robots: [{name: a, kind: a/robot.yaml}, {name: b, kind: b/robot.yaml, at: {xyz_m: [9, 0, 0]}}]";
    std::fs::write(root.join("main.yaml"), text).unwrap();
    let path = root.join("main.yaml").display().to_string();
    let loaded = Simulation::load(&path, &Setup::default());
    let radius = |sim: &Simulation, name: &str| sim.world().find(name).unwrap().cohort.radius_m;
    let sim = loaded.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((radius(&sim, "a"), radius(&sim, "b")), (1.0, 2.0));
}

/// The maze of 16 by 16 cells whose walls are boxes, written as other programs do.
fn maze(boxes: &[([f64; 3], [f64; 3])]) -> String {
    let mut text = String::new();
    for (number, (centre, half)) in boxes.iter().enumerate() {
        for corner in 0..8 {
            let at =
                [0, 1, 2].map(|axis| centre[axis] + if corner >> axis & 1 == 1 { half[axis] } else { -half[axis] });
            _ = writeln!(text, "v {} {} {}", at[0], at[1], at[2]);
        }
        for face in [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [1, 3, 7, 5], [0, 4, 6, 2]] {
            let [a, b, c, d] = face.map(|corner: usize| 8 * number + corner + 1);
            _ = writeln!(text, "f {a} {b} {c} {d}");
        }
    }
    text
}

#[test]
fn a_maze_of_boxes_and_the_same_maze_as_triangles_are_one_to_rays() {
    let stream = Stream::new(8, 8);
    let wall = |number: u64| {
        let u = stream.uniforms(number, 0);
        let along = u[2] > 0.5;
        let half = if along { [1.05, 0.05, 1.0] } else { [0.05, 1.05, 1.0] };
        ([(u[0] * 14.0).floor() * 2.0 - 13.0, (u[1] * 14.0).floor() * 2.0 - 13.0, 1.0], half)
    };
    let boxes: Vec<_> = (0..120).map(wall).collect();
    let folder = std::env::temp_dir().join(format!("muster-maze-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("maze.obj"), maze(&boxes)).unwrap();
    let mut text = "world:\n  obstacles:\n".to_owned();
    for (number, (centre, half)) in boxes.iter().enumerate() {
        let size = half.map(|half| 2.0 * half);
        _ = writeln!(text, "    w{number}: {{box_size_m: {size:?}, at: {{xyz_m: {centre:?}}}}}");
    }
    let setup = Setup { search: vec![folder], ..Setup::default() };
    let analytic = frozen(&Simulation::from_text(&text, &setup).unwrap());
    let triangles = "{world: {obstacles: {maze: {mesh: {file: maze.obj}}}}}";
    let triangles = frozen(&Simulation::from_text(triangles, &setup).unwrap());
    let mut walls = 0;
    for number in 0..500 {
        let u = stream.uniforms(number, 7);
        let from = DVec3::new(28.0 * u[0] - 14.0, 28.0 * u[1] - 14.0, 0.3 + u[2]);
        if boxes.iter().any(|(at, half)| (0..3).all(|axis| (from[axis] - at[axis]).abs() < half[axis] + 1e-3)) {
            continue;
        }
        let direction = DVec3::new(u[3] - 0.5, stream.uniforms(number, 8)[0] - 0.5, 0.05 * (u[2] - 0.5)).normalize();
        let [a, b] = [&analytic, &triangles].map(|world| world.cast(from, direction, FAR));
        assert!((a.distance_m - b.distance_m).abs() < 1e-9 || a.distance_m == b.distance_m, "{a:?} {b:?}");
        walls += usize::from(a.distance_m < 30.0);
    }
    assert!(walls > 300, "{walls}");
}

#[test]
fn what_is_not_visible_stops_robots_but_no_rays() {
    let robot = "{name: r, kind: differential, driver: {kind: waypoints, points_m: [[3, 0]], speed_mps: 0.5}}";
    let run = |keys: &str| {
        let text = format!(
            "{{world: {{obstacles: {{wall: {{box_size_m: [0.2, 4, 1], at: {{xyz_m: [1.5, 0, 0.5]}}{keys}}}}}}}, robots: [{robot}]}}"
        );
        let mut sim = Simulation::from_text(&text, &Setup::default()).unwrap_or_else(|error| panic!("{error}"));
        sim.run_for(10.0);
        let seen = frozen(&sim).cast(DVec3::new(0.0, 0.0, 0.3), DVec3::X, FAR).distance_m;
        (sim.world().number("r.position_m[0]").unwrap(), sim.world().number("r.contacts").unwrap(), seen)
    };
    let (x, contacts, seen) = run("");
    assert!(x < 1.4 && contacts > 0.0 && (seen - 1.4).abs() < 1e-9);
    let (x, contacts, seen) = run(", visible: false");
    assert!(x < 1.4 && contacts > 0.0 && seen == f64::INFINITY, "{x} {contacts} {seen}");
    let (x, contacts, seen) = run(", collides: false");
    assert!(x > 2.8 && contacts == 0.0 && (seen - 1.4).abs() < 1e-9, "{x} {contacts} {seen}");
}

#[test]
fn a_part_that_does_not_collide_changes_nothing_but_looks() {
    let robot = |parts: &str| {
        let text = format!(
            "{{world: {{obstacles: {{wall: {{box_size_m: [0.2, 4, 1], at: {{xyz_m: [2, 0, 0.5]}}}}}}}}, robots: [\
             {{name: r, kind: crate_box, at: {{xyz_m: [0, 0, 1.2], rpy_deg: [10, 20, 30]}}, velocity_mps: [1, 0, 0]{parts}}}]}}"
        );
        let mut sim = Simulation::from_text(&text, &Setup::default()).unwrap_or_else(|error| panic!("{error}"));
        sim.run_for(3.0);
        let cohort = Arc::clone(&sim.world().find("r").unwrap().cohort);
        (sim.world().property("r.position_m").unwrap(), sim.world().property("r.orientation").unwrap(), cohort)
    };
    let (place, turn, _) = robot("");
    let mast = ", parts: {mast: {cylinder: {radius_m: 0.05, height_m: 6}, collides: false, skin: {colour: [1, 0, 0]}}}";
    let (place_with, turn_with, cohort) = robot(mast);
    assert_eq!((place, turn), (place_with, turn_with));
    let mast = cohort.blueprint.parts.iter().find(|part| part.name == "mast").unwrap();
    assert!(!mast.collides() && mast.visible && mast.skin.colour == Some([1.0, 0.0, 0.0]));
}

#[test]
fn the_village_has_more_than_ten_thousand_textured_triangles() {
    let sim = with("include: worlds/outdoor.yaml");
    let textured = |obstacle: &&Obstacle| obstacle.skin.texture.is_some();
    let count = |obstacle: &Obstacle| match obstacle.solid.shape() {
        Shape::Heightfield(heights) => 2 * (heights.columns - 1) * (heights.heights_m.len() / heights.columns - 1),
        Shape::Mesh(mesh) => mesh.triangles.len(),
        Shape::Box { .. } => 12,
        _ => 0,
    };
    let triangles: usize = sim.world().model().environment.obstacles.iter().filter(textured).map(count).sum();
    assert!(triangles >= 10_000, "{triangles}");
    for world in ["indoor_room", "rescue", "harbour", "maze"] {
        let sim = with(&format!("include: worlds/{world}.yaml"));
        let all = &sim.world().model().environment.obstacles;
        assert!(all.iter().filter(textured).count() >= 2, "{world}");
    }
}
