//! The worlds, objects and bodies of the library: that robots live in them, what rays and thermometers find there, that
//! the maze has one way through, and that they have the same bits on any number of threads. How worlds are written:
//! counts, layouts, objects, walls, terrain.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

use glam::DVec3;
use muster::{LoadError, Setup, Simulation, library};
use muster_core::contact::Obstacle;
use muster_core::obstacles::Obstacles;
use muster_core::shape::Shape;
use muster_scenario::text::Threads;
use muster_scenario::yaml;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const G: f64 = 9.80665;

fn simulation(text: &str) -> Simulation {
    Simulation::from_text(text, &Setup::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The library's world of this name, with these robots.
fn world(name: &str, robots: &str) -> Simulation {
    simulation(&format!("{{world: {{include: worlds/{name}.yaml}}, robots: [{robots}]}}"))
}

fn refused(text: &str) -> LoadError {
    Simulation::from_text(text, &Setup::default()).err().unwrap_or_else(|| panic!("not refused: {text}"))
}

fn obstacles(sim: &Simulation) -> &Obstacles {
    &sim.world().model().environment.obstacles
}

fn obstacle<'a>(sim: &'a Simulation, name: &str) -> &'a Obstacle {
    let names: Vec<&str> = obstacles(sim).iter().map(|obstacle| obstacle.name.as_str()).collect();
    obstacles(sim).iter().find(|obstacle| obstacle.name == name).unwrap_or_else(|| panic!("no {name} in {names:?}"))
}

fn vec3(sim: &Simulation, path: &str) -> DVec3 {
    DVec3::from_slice(&sim.world().property(path).unwrap_or_else(|error| panic!("{error}")))
}

fn number(sim: &Simulation, path: &str) -> f64 {
    sim.world().number(path).unwrap_or_else(|| panic!("no {path}"))
}

/// What a ray first meets, and at which distance.
fn seen(sim: &Simulation, from: [f64; 3], towards: [f64; 3]) -> Option<(&Obstacle, f64)> {
    let direction = DVec3::from_array(towards).normalize();
    let (number, hit) = obstacles(sim).ray(DVec3::from_array(from), direction, 1000.0)?;
    Some((&obstacles(sim)[number as usize], hit.distance_m))
}

fn has_tag(obstacle: &Obstacle, tag: &str) -> bool {
    obstacle.tags.iter().any(|own| own == tag)
}

/// Names of objects, or of obstacles that are by themselves, with a tag.
fn tagged<'a>(sim: &'a Simulation, tag: &str) -> BTreeSet<&'a str> {
    let tagged = obstacles(sim).iter().filter(|obstacle| has_tag(obstacle, tag));
    tagged.filter_map(|obstacle| obstacle.name.split('.').next()).collect()
}

/// A robot that suits a world: its kind, where it starts, what it does.
const SUITED: &[(&str, &str, &str, &str)] = &[
    ("airfield", "fixed_wing", "[0, -40, 60]", ""),
    ("airfield", "rmax", "[0, 0, 30]", ""),
    ("airfield", "car", "[0, 0, 0]", ""),
    ("arena", "differential", "[0, 0, 0]", "random_walk"),
    ("arena", "ball", "[2, 0, 3]", ""),
    ("empty", "segway", "[0, 0, 0]", ""),
    ("empty", "pallet", "[0, 0, 0.1]", ""),
    ("harbour", "boat", "[0, 5, 0.13]", ""),
    ("harbour", "submarine", "[0, 5, -3]", ""),
    ("harbour", "quadrotor", "[0, 0, 15]", ""),
    ("indoor_room", "pioneer", "[-0.5, 0.2, 0]", "random_walk"),
    ("indoor_room", "omni", "[-2.5, 1, 0]", "random_walk"),
    ("indoor_room", "quadrotor", "[-1, 0.5, 1.5]", ""),
    ("indoor_room", "ball", "[1.7, 1.2, 1.2]", ""),
    ("maze", "pioneer", "[-7.5, -7.5, 0]", "random_walk"),
    ("maze", "crate_box", "[-6.5, -7.5, 0.3]", ""),
    ("outdoor", "car", "[-40, -10, 0]", ""),
    ("outdoor", "atrv", "[5, -10, 0]", "random_walk"),
    ("outdoor", "quadrotor", "[10, 30, 20]", ""),
    ("outdoor", "fixed_wing", "[0, -100, 60]", ""),
    ("outdoor", "ball", "[-80, -80, 40]", ""),
    ("rescue", "tracked_robot", "[-20, 0, 0]", "random_walk"),
    ("rescue", "surveyor", "[0, 0, 8]", ""),
    ("rescue", "barrel", "[-4, -11, 0.5]", ""),
];

// B10, B13
#[test]
fn in_every_world_robots_that_suit_it_live_for_five_seconds() {
    for name in library::names("worlds") {
        assert!(SUITED.iter().any(|(world, ..)| *world == name), "nobody lives in {name}");
    }
    for (name, kind, at, driver) in SUITED {
        let driver =
            if driver.is_empty() { String::new() } else { format!(", driver: {{kind: {driver}, speed_mps: 0.5}}") };
        let mut sim = world(name, &format!("{{name: r, kind: {kind}, at: {{xyz_m: {at}}}{driver}}}"));
        sim.run_for(5.0);
        let place = vec3(&sim, "r.position_m");
        assert_eq!(number(&sim, "r.fault_ns"), -1.0, "{kind} in {name}");
        assert!(place.is_finite() && place.length() < 300.0, "{kind} in {name}: {place}");
        let body = sim.world().find("r").unwrap().cohort.blueprint.motion_kind == "single_body";
        assert!(body || !driver.is_empty() || number(&sim, "r.contacts") == 0.0, "{kind} touches something in {name}");
        let water = sim.world().model().environment.water.is_some();
        assert!(water || place.z > -0.01, "{kind} in {name} fell through the ground: {place}");
    }
}

// B10
#[test]
fn rays_meet_every_tree_and_building_of_the_village() {
    let sim = world("outdoor", "");
    assert!(tagged(&sim, "tree").len() >= 150 && tagged(&sim, "building").len() >= 10);
    let trees = obstacles(&sim).iter().filter(|obstacle| has_tag(obstacle, "tree") && obstacle.name.ends_with("crown"));
    for tree in trees {
        let at = tree.pose.position_m;
        let (met, distance_m) = seen(&sim, [at.x, at.y, 100.0], [0.0, 0.0, -1.0]).unwrap();
        assert!(has_tag(met, "tree"), "{} is under {}", tree.name, met.name);
        assert!(100.0 - distance_m > at.z, "{}", tree.name);
    }
    // a tree of the avenue from the road: 7 m to the middle of the trunk, whose radius is 0.18 m
    let (met, distance_m) = seen(&sim, [-93.0, -10.0, 1.5], [0.0, -1.0, 0.0]).unwrap();
    assert_eq!(met.name, "avenue2.trunk");
    assert!((distance_m - 6.82).abs() < 1e-9, "{distance_m}");
    let (met, _) = seen(&sim, [-30.0, -10.0, 1.5], [0.0, -1.0, 0.0]).unwrap();
    assert!(has_tag(met, "building") || met.name.ends_with("roof"), "{}", met.name);
    let (met, distance_m) = seen(&sim, [26.0, 30.0, 3.0], [-1.0, 0.0, 0.0]).unwrap();
    assert!(met.name == "church" && (distance_m - 5.0).abs() < 1e-9, "{} {distance_m}", met.name);
}

#[test]
fn trees_stand_on_the_hills() {
    let sim = world("outdoor", "");
    let hills = obstacle(&sim, "hills");
    let trunks: Vec<&Obstacle> = obstacles(&sim).iter().filter(|one| one.name.ends_with("trunk")).collect();
    let mut raised = 0;
    for trunk in trunks.iter().filter(|trunk| trunk.name.contains("wood")) {
        let Shape::Cylinder { half_height_m, .. } = *trunk.solid.shape() else { panic!("a trunk") };
        let foot = trunk.pose.position_m - DVec3::Z * (half_height_m - 0.5);
        let above = foot + DVec3::new(1e-6, 1e-6, 1000.0);
        let ground = hills.solid.ray(&hills.pose, above, DVec3::NEG_Z, 2000.0).unwrap();
        let height_m = (above.z - ground.distance_m).max(0.0);
        assert!((foot.z - height_m).abs() < 1e-3, "{}: {} above {height_m}", trunk.name, foot.z);
        raised += usize::from(height_m > 2.0);
    }
    assert!(raised > 60, "{raised}");
}

// B10
#[test]
fn rays_meet_the_furniture_of_the_room() {
    let sim = world("indoor_room", "");
    for kind in ["table", "chair", "shelf", "sofa", "bed", "lamp"] {
        assert!(!tagged(&sim, kind).is_empty(), "no {kind}");
    }
    // down onto the table, under it from side to side, and through between its legs
    let (met, distance_m) = seen(&sim, [1.7, 1.2, 2.0], [0.0, 0.0, -1.0]).unwrap();
    assert!(met.name == "table.top" && (distance_m - 1.25).abs() < 1e-9, "{} {distance_m}", met.name);
    let (met, distance_m) = seen(&sim, [1.7, 1.59, 0.6], [1.0, 0.0, 0.0]).unwrap();
    assert!(met.name == "table.leg0" && (distance_m - 0.71).abs() < 1e-9, "{} {distance_m}", met.name);
    let (met, _) = seen(&sim, [-3.9, -2.4, 0.3], [1.0, 0.0, 0.0]).unwrap();
    assert!(has_tag(met, "sofa") || has_tag(met, "lamp"), "{}", met.name);
    // through the door to the corridor's wall
    let (met, distance_m) = seen(&sim, [-3.0, 0.0, 1.0], [-1.0, 0.0, 0.0]).unwrap();
    assert!(has_tag(met, "wall") && (distance_m - (2.6 - 0.06)).abs() < 1e-9, "{} {distance_m}", met.name);
    let (met, distance_m) = seen(&sim, [-3.0, 0.0, 2.3], [-1.0, 0.0, 0.0]).unwrap();
    assert!(met.name == "lintel" && (distance_m - 0.94).abs() < 1e-9, "{} {distance_m}", met.name);
}

// B14, S13
#[test]
fn near_the_fires_of_the_rescue_world_it_is_as_warm_as_the_law_says() {
    let places =
        [[10.2, 1.6, 2.5], [9.0, 3.0, 1.0], [-4.0, -11.0, 0.5], [-4.6, 5.6, 0.5], [-29.0, 1.0, 1.0], [0.0, 0.0, 9.0]];
    let robot = |(i, at): (usize, &[f64; 3])| {
        let sensors = "warm: {kind: thermometer, ambient_c: 20}, air: {kind: thermometer, falloff_per_m: 0.5}";
        format!("{{name: r{i}, motion: {{kind: point}}, at: {{xyz_m: {at:?}}}, sensors: {{{sensors}}}}}")
    };
    let robots: Vec<String> = places.iter().enumerate().map(robot).collect();
    let mut sim = world("rescue", &robots.join(", "));
    sim.run_for(0.2);
    let fires = [([10.2, 1.6, 0.5], 200.0, 1.0), ([-4.6, 5.6, 0.5], 150.0, 0.8), ([-2.6, -14.8, 0.8], 180.0, 0.6)];
    for (i, place) in places.into_iter().enumerate() {
        let warmth = |alpha: f64| {
            let of = |(at, hot, extent): &([f64; 3], f64, f64)| {
                let d: f64 = (0..3).map(|axis| (place[axis] - at[axis]) * (place[axis] - at[axis])).sum::<f64>().sqrt();
                hot * (-alpha * (d - extent).max(0.0)).exp()
            };
            fires.iter().map(of).sum::<f64>()
        };
        let (warm, air) =
            (number(&sim, &format!("r{i}.warm.temperature_c")), number(&sim, &format!("r{i}.air.temperature_c")));
        assert!((warm - 20.0 - warmth(0.2)).abs() < 1e-9, "{place:?}: {warm}");
        // 6.5 K colder for a kilometre of height, from 21 °C at the level of the sea
        let standard = 21.0 - 0.0065 * (150.0 + place[2]);
        assert!((air - standard - warmth(0.5)).abs() < 1e-3, "{place:?}: {air}");
    }
}

// B14
#[test]
fn the_rescue_world_has_victims_that_can_be_seen_roads_and_buildings() {
    let sim = world("rescue", "");
    let victims = tagged(&sim, "victim");
    assert_eq!(victims.len(), 6);
    for victim in victims {
        let trunk = obstacle(&sim, &format!("{victim}.trunk"));
        let at = trunk.pose.position_m;
        let (met, _) = seen(&sim, [at.x, at.y, 50.0], [0.0, 0.0, -1.0]).unwrap();
        assert_eq!(met.name, trunk.name, "{victim} lies under {}", met.name);
        assert!(has_tag(met, "person"));
    }
    assert!(tagged(&sim, "building").len() >= 4 && tagged(&sim, "rubble").len() > 100);
    let zones = &sim.world().model().environment.zones;
    assert!(["road", "charging", "landing"].iter().all(|purpose| zones.iter().any(|zone| zone.serves(purpose))));
}

/// The maze as it is drawn, southernmost row first: true where one can go.
fn maze_rows() -> Vec<Vec<bool>> {
    let (_, text) = library::FILES.iter().find(|(name, _)| *name == "worlds/maze.yaml").unwrap();
    let node = yaml::parse(text, 0).unwrap();
    let plan = node.get("obstacles").and_then(|all| all.get("maze")).and_then(|maze| maze.get("plan")).unwrap();
    let rows = plan.get("rows").and_then(muster_core::node::Node::text).unwrap();
    rows.lines().rev().map(|row| row.bytes().map(|cell| cell != b'#').collect()).collect()
}

const CELLS: i32 = 16;

/// The cells one can go to from a cell of the maze.
fn next_cells(rows: &[Vec<bool>], [x, y]: [i32; 2]) -> impl Iterator<Item = [i32; 2]> {
    let open = move |[dx, dy]: &[i32; 2]| rows[(2 * y + 1 + dy) as usize][(2 * x + 1 + dx) as usize];
    let inside = |[x, y]: &[i32; 2]| (0..CELLS).contains(x) && (0..CELLS).contains(y);
    let ways = [[1, 0], [0, 1], [-1, 0], [0, -1]].into_iter().filter(open);
    ways.map(move |[dx, dy]| [x + dx, y + dy]).filter(inside).collect::<Vec<_>>().into_iter()
}

/// From the entrance to the exit, by breadth-first search.
fn way_through(rows: &[Vec<bool>]) -> Vec<[i32; 2]> {
    let (start, end) = ([0, 0], [CELLS - 1, CELLS - 1]);
    let mut from: BTreeMap<[i32; 2], [i32; 2]> = BTreeMap::from([(start, start)]);
    let mut waiting = VecDeque::from([start]);
    while let Some(cell) = waiting.pop_front() {
        for next in next_cells(rows, cell) {
            from.entry(next).or_insert_with(|| {
                waiting.push_back(next);
                cell
            });
        }
    }
    assert_eq!(from.len(), (CELLS * CELLS) as usize, "every cell can be reached");
    let mut way = vec![end];
    while let Some(&cell) = way.last().filter(|cell| **cell != start) {
        way.push(from[&cell]);
    }
    way.reverse();
    way
}

#[test]
fn the_maze_has_one_way_through() {
    let rows = maze_rows();
    let size = (2 * CELLS + 1) as usize;
    assert!(rows.len() == size && rows.iter().all(|row| row.len() == size));
    let way = way_through(&rows);
    assert!(way.len() > 60, "{}", way.len());
    // all cells are connected by one passage fewer than there are cells: a tree, in which there is one way to each
    let cells = (0..CELLS).flat_map(|x| (0..CELLS).map(move |y| [x, y]));
    let passages = cells.map(|cell| next_cells(&rows, cell).count()).sum::<usize>() / 2;
    assert_eq!(passages, (CELLS * CELLS - 1) as usize);
    let openings = (0..size).flat_map(|at| [rows[0][at], rows[size - 1][at], rows[at][0], rows[at][size - 1]]);
    assert_eq!(openings.filter(|open| *open).count(), 2);
    assert!(rows[1][0] && rows[size - 2][size - 1]);
}

#[test]
fn a_robot_that_knows_the_way_goes_through_the_maze_without_touching_a_wall() {
    let place = |[x, y]: &[i32; 2]| format!("[{}, {}]", f64::from(*x) - 7.5, f64::from(*y) - 7.5);
    let way: Vec<String> = way_through(&maze_rows()).iter().map(place).collect();
    let driver = format!(
        "{{kind: waypoints, speed_mps: 0.8, turn_max_radps: 2.5, tolerance_m: 0.12, points_m: [{}, [8.5, 7.5]]}}",
        way.join(", ")
    );
    let mut sim =
        world("maze", &format!("{{name: r, kind: pioneer, at: {{xyz_m: [-8.5, -7.5, 0]}}, driver: {driver}}}"));
    for _ in 0..220 {
        sim.run_for(1.0);
        if number(&sim, "r.driver.status") == 1.0 {
            break;
        }
    }
    assert_eq!((number(&sim, "r.driver.status"), number(&sim, "r.contacts")), (1.0, 0.0));
    assert!((vec3(&sim, "r.position_m") - DVec3::new(8.5, 7.5, 0.0)).length() < 0.2);
    // whoever goes straight ahead meets a wall
    let mut sim = world(
        "maze",
        "{name: r, kind: pioneer, at: {xyz_m: [-8.5, -7.5, 0]}, driver: {kind: waypoints, points_m: [[8, -7.5]]}}",
    );
    sim.run_for(10.0);
    assert!(number(&sim, "r.contacts") > 0.0 && vec3(&sim, "r.position_m").x < -6.0);
}

// D17: balls of the rules come back to between 1.35 and 1.55 m from 2 m
#[test]
fn the_ball_of_the_library_bounces_as_the_rules_of_football_demand() {
    let mut sim = simulation("{robots: [{name: b, kind: ball, at: {xyz_m: [0, 0, 2.11]}}]}");
    sim.run_for((4.0 / G).sqrt() + 0.05);
    let mut highest: f64 = 0.0;
    for _ in 0..600 {
        sim.run_for(0.001);
        highest = highest.max(vec3(&sim, "b.position_m").z - 0.11);
    }
    assert!((1.35..1.55).contains(&highest), "{highest}");
}

// D17: a = g sin θ / (1 + I / (m r²))
#[test]
fn the_barrel_of_the_library_rolls_down_a_ramp_as_its_inertia_says() {
    let angle: f64 = 5.0_f64.to_radians();
    let foot = DVec3::new(-angle.sin(), 0.0, angle.cos()) * 0.2925;
    let mut sim = simulation(&format!(
        "{{world: {{ground: false, obstacles: {{ramp: {{plane: true, at: {{rpy_deg: [0, -5, 0]}}}}}}}}, \
         robots: [{{name: b, kind: barrel, at: {{xyz_m: [{}, 0, {}], rpy_deg: [90, 0, 0]}}}}]}}",
        foot.x, foot.z
    ));
    sim.run_for(2.0);
    let rolled = (vec3(&sim, "b.position_m") - foot).length();
    let expected = 0.5 * G * angle.sin() / (1.0 + 1.35 / (18.0 * 0.2925 * 0.2925)) * 4.0;
    assert!((rolled / expected - 1.0).abs() < 0.02, "{rolled} {expected}");
}

// D17: half a metre a second, pushed; then it stops after v²/(2 µ g)
#[test]
fn the_crate_of_the_library_is_pushed_and_slides_on_by_its_friction() {
    let mut sim =
        simulation("{robots: [{name: c, kind: crate_box, at: {xyz_m: [0, 0, 0.25]}, velocity_mps: [2, 0, 0]}]}");
    sim.run_for(2.0);
    // the ground has 0.6, the crate 0.5
    let expected = 4.0 / (2.0 * (0.6_f64 * 0.5).sqrt() * G);
    let slid = vec3(&sim, "c.position_m").x;
    assert!((slid / expected - 1.0).abs() < 0.02, "{slid} {expected}");
    assert!(vec3(&sim, "c.velocity_mps").length() < 1e-6);
}

#[test]
fn obstacles_of_a_count_have_numbers_places_and_texts_of_their_own() {
    let sim = simulation(
        "{world: {obstacles: {post: {count: 3, layout: {line: {from_m: [1, 0, 0], step_m: [2, 0, 0]}}, \
         at: {xyz_m: [0, '{i}', 0.5]}, sphere_radius_m: '{0.1 + 0.1 * i}', tags: ['post', '{name}']}, \
         single: {box_size_m: [1, 1, 1]}, turned: {layout: {circle: {radius_m: 5, facing: inward}}, box_size_m: [1, 1, 1]}}}}",
    );
    for (i, radius) in [0.1, 0.2, 0.1 + 0.1 * 2.0].into_iter().enumerate() {
        let post = obstacle(&sim, &format!("post{i}"));
        assert_eq!(post.pose.position_m, DVec3::new(1.0 + 2.0 * i as f64, i as f64, 0.5));
        assert_eq!(*post.solid.shape(), Shape::Sphere { radius_m: radius });
        assert_eq!(post.tags, ["post".to_owned(), format!("post{i}")]);
    }
    assert_eq!(obstacle(&sim, "single").pose.position_m, DVec3::ZERO);
    assert_eq!(obstacle(&sim, "turned").pose.position_m.x, 5.0);
}

#[test]
fn objects_carry_their_obstacles_and_can_be_changed_in_part() {
    let sim = simulation(
        "{world: {objects: {\
           desk: {kind: table, at: {xyz_m: [10, 0, 0], yaw_deg: 90}, tags: [desk], obstacles: {leg: null, top: {friction: 1}}}, \
           pair: {count: 2, layout: {line: {from_m: [0, 5, 0], step_m: [0, 2, 0]}}, tags: [own], \
             obstacles: {a: {sphere_radius_m: '{1 + i}'}, b: {count: 2, tags: [b], box_size_m: [1, 1, 1], at: {xyz_m: ['{i}', 0, 3]}}}}}}}",
    );
    let (top, pair) = (obstacle(&sim, "desk.top"), obstacle(&sim, "pair1.b1"));
    assert_eq!((top.surface.friction, top.tags.as_slice()), (1.0, ["desk".to_owned()].as_slice()));
    let ahead = top.pose.orientation * DVec3::X;
    assert!(
        (top.pose.position_m - DVec3::new(10.0, 0.0, 0.73)).length() < 1e-12 && (ahead - DVec3::Y).length() < 1e-12
    );
    assert!(!obstacles(&sim).iter().any(|obstacle| obstacle.name.contains("leg")));
    // an inner count counts for itself, what has none is counted by the object
    assert_eq!(pair.pose.position_m, DVec3::new(1.0, 7.0, 3.0));
    assert_eq!(pair.tags, ["own", "b"]);
    assert_eq!(*obstacle(&sim, "pair1.a").solid.shape(), Shape::Sphere { radius_m: 2.0 });
}

#[test]
fn a_world_is_the_same_whatever_the_seed_of_the_run() {
    let places = |text: &str, seed: u64| -> Vec<DVec3> {
        let setup = Setup {
            over: vec![muster_scenario::build::Override::parse(&format!("run.seed={seed}")).unwrap()],
            ..Setup::default()
        };
        let sim = Simulation::from_text(text, &setup).unwrap();
        obstacles(&sim).iter().map(|obstacle| obstacle.pose.position_m).collect()
    };
    let forest = |seed: &str| {
        format!(
            "{{world: {{objects: {{t: {{kind: tree, count: 30, layout: {{random: {{from_m: [0, 0, 0], to_m: [60, 60, 0], \
             min_distance_m: 5{seed}}}}}}}}}}}}}"
        )
    };
    let trees = places(&forest(""), 1);
    assert_eq!(trees, places(&forest(""), 2));
    assert_ne!(trees, places(&forest(", seed: 9"), 1));
    let trunks: Vec<&DVec3> = trees.iter().filter(|place| (place.z - 1.5).abs() < 1e-9).collect();
    assert_eq!(trunks.len(), 30);
    for (i, a) in trunks.iter().enumerate() {
        assert!(trunks[..i].iter().all(|b| (**a - **b).length() >= 5.0));
    }
}

#[test]
fn what_is_wrong_with_a_world_is_told_where_it_is_written() {
    let check = |text: &str, parts: &[&str]| {
        let error = refused(text);
        assert!(parts.iter().all(|part| error.rendered.contains(part)), "{error}");
        assert!(error.problems.len() == 1, "{error}");
    };
    check("world: {objects: {t: {kind: tabel}}}", &["world.objects.t.kind", "did you mean \"table\"?", ":1:29"]);
    check("world: {objects: {t: {at: {xyz_m: [0, 0, 0]}}}}", &["an object of nothing", "kind, or obstacles"]);
    check("world: {obstacles: {t: {count: 50, box_size_m: [1, 1]}}}", &["world.obstacles.t.box_size_m"]);
    check("world: {obstacles: {t: {count: 2, box_size_m: [1, 1, '{j}']}}}", &["\"j\"", "a variable: i, n, name"]);
    check(
        "world: {obstacles: {t: {count: 9, sphere_radius_m: 1, layout: {random: {from_m: [0, 0, 0], to_m: [1, 1, 0], min_distance_m: 2}}}}}",
        &["a layout that does not work", "room for 9"],
    );
    check("world: {ground: false, obstacles: {t: {on_terrain: true, sphere_radius_m: 1}}}", &["nothing below (0, 0)"]);
    check("world: {obstacles: {t: {plan: {rows: '#?#'}}}}", &["'?' in a plan"]);
    check("world: {obstacles: {t: {plan: {rows: '#'}, plane: true}}}", &["2 shapes", "exactly one of"]);
    check(
        "world: {obstacles: {t0: {sphere_radius_m: 1}, t: {count: 1, sphere_radius_m: 1}}}",
        &["scenario.yaml:1:", "a second obstacle \"t0\"", "a name that is not taken"],
    );
}

/// The hash after a while, in this many threads.
fn hash(text: &str, threads: usize) -> u128 {
    let setup = Setup { threads: Some(Threads::Count(threads)), ..Setup::default() };
    let mut sim = Simulation::from_text(text, &setup).unwrap_or_else(|error| panic!("{error}\n{text}"));
    sim.run_for(0.31);
    sim.world().hash()
}

fn check_threads(what: &str, text: &str) {
    let base = hash(text, 1);
    for threads in [2, 8] {
        assert_eq!(hash(text, threads), base, "{what} on {threads} threads");
    }
}

#[test]
fn every_robot_of_the_library_has_one_hash_on_any_number_of_threads() {
    for kind in library::names("robots") {
        let (name, z, spacing) = match kind {
            "boat" => ("harbour", 0.13, 3.0),
            "submarine" => ("harbour", -3.0, 2.0),
            "fixed_wing" | "quadrotor" | "rmax" | "surveyor" => ("airfield", 30.0, 5.0),
            "ball" | "barrel" | "crate_box" | "pallet" => ("arena", 1.0, 0.45),
            "humanoid" | "offroad" | "quadruped" => ("empty", 0.65, 5.0),
            _ => ("empty", 0.0, 5.0),
        };
        let driver = match kind {
            "lamp" => "light: {on: true}",
            "ball" | "barrel" | "crate_box" | "pallet" => "velocity_mps: [0.5, 0, 0]",
            "fixed_wing" => "driver: {kind: waypoints, by: course, speed_mps: 25, points_m: [[100, 0, 40]]}",
            _ => "driver: {kind: random_walk, speed_mps: 0.5}",
        };
        let robots = format!(
            "{{name: 'r{{i}}', kind: {kind}, count: 20, {driver}, \
             layout: {{grid: {{rows: 4, spacing_m: {spacing}, from_m: [-8, -4, {z}]}}}}}}"
        );
        check_threads(kind, &format!("{{world: {{include: worlds/{name}.yaml}}, robots: [{robots}]}}"));
    }
}

#[test]
fn every_world_of_the_library_has_one_hash_on_any_number_of_threads() {
    for name in library::names("worlds") {
        let suited = SUITED.iter().filter(|(world, ..)| *world == name);
        let mut robots: Vec<String> = suited
            .enumerate()
            .map(|(i, (_, kind, at, _))| format!("{{name: r{i}, kind: {kind}, at: {{xyz_m: {at}}}}}"))
            .collect();
        // a hail of balls meets whatever stands there
        robots.push(
            "{name: 'ball{i}', kind: ball, count: 40, velocity_mps: [0, 0, -8], \
             layout: {random: {from_m: [-9, -9, 1.2], to_m: [9, 9, 3], min_distance_m: 0.3}}}"
                .to_owned(),
        );
        check_threads(name, &format!("{{world: {{include: worlds/{name}.yaml}}, robots: [{}]}}", robots.join(", ")));
    }
}
