//! What can be written in a scenario, and what is said when it is wrong.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use glam::DVec3;
use muster::{LoadError, Setup, Simulation, library};
use muster_core::node::{Node, Value};
use muster_core::time::SimTime;
use muster_scenario::build::Override;
use muster_scenario::{schema, yaml};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

fn simulation(text: &str) -> Simulation {
    Simulation::from_text(text, &Setup::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> LoadError {
    match Simulation::from_text(text, &Setup::default()) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error,
    }
}

/// That a text is refused with each of these in the message.
fn check_refused(text: &str, parts: &[&str]) {
    let error = refused(text).rendered;
    parts.iter().for_each(|part| assert!(error.contains(part), "no {part:?} in:\n{error}"));
}

fn load(path: &Path) -> Simulation {
    Simulation::load(path.to_str().unwrap(), &Setup::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn position(sim: &Simulation, robot: &str) -> DVec3 {
    sim.world().pose(robot).unwrap_or_else(|| panic!("no robot {robot}")).position_m
}

fn number(sim: &Simulation, path: &str) -> f64 {
    sim.world().property(path).unwrap_or_else(|error| panic!("{error}"))[0]
}

/// A folder of files for one test.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    files.iter().for_each(|(file, text)| std::fs::write(folder.join(file), text).unwrap());
    folder
}

#[test]
fn every_problem_is_told_at_once_with_place_found_expected_and_nearest() {
    let text = "\
world: {gravty_mps2: [0, 0, -9], wind: {gusts: {kind: drydn}}}
run: {for_s: -3, sed: 4}
robots:
  - {name: a, kind: quadrotr}
  - name: b
    motion: {kind: pont}
  - name: c
    kind: point
    driver: {kind: waypoints, speed: 1, points_m: [[1]]}
    sensors: {gps: {kind: gps, modifiers: [{kind: saturation, min: 3, max: 2}]}}
  - {name: 'd{j}', kind: point}
expect:
  - {that: arived, robot: c}
";
    let error = refused(text);
    let expected: &[(u32, &str, Option<&str>)] = &[
        (1, "world: found \"gravty_mps2\", expected a key: about, gravity_mps2", Some("gravity_mps2")),
        (1, "world.wind.gusts: found \"drydn\", expected a wind", Some("dryden")),
        (2, "run: found \"sed\", expected a key", Some("seed")),
        (2, "run.for_s: found -3, expected number from 0", None),
        (4, "robots[0].kind: found no file \"robots/quadrotr.yaml\"", Some("quadrotor")),
        (6, "robots[1].motion.kind: found \"pont\", expected a motion", Some("point")),
        (9, "robots[2].driver: found \"speed\", expected a key", Some("speed_mps")),
        (9, "robots[2].driver.points_m[0]: found 1 coordinates, expected x, y or x, y, z", None),
        (10, "robots[2].sensors.gps.modifiers[0]: found min 3 above max 2, expected min not above max", None),
        (11, "found \"j\" in \"d{j}\", expected a variable: i, n", None),
        (13, "expect[0].that: found \"arived\", expected one of: arrived", Some("arrived")),
    ];
    for &(line, message, nearest) in expected {
        let found = error.problems.iter().find(|problem| problem.to_string().contains(message));
        let found = found.unwrap_or_else(|| panic!("no {message:?} in:\n{error}"));
        assert_eq!(found.place.line, line, "{found}");
        if let Some(nearest) = nearest {
            assert!(found.to_string().contains(&format!("did you mean {nearest:?}?")), "{found}");
        }
    }
    assert_eq!(error.problems.len(), expected.len(), "{error}");
    assert!(
        error.rendered.contains("scenario.yaml:6:20: error: ") && error.rendered.contains("    motion: {kind: pont}")
    );
}

#[test]
fn bad_yaml_is_refused_at_its_line() {
    for (text, line) in
        [("robots: [", 1), ("a: 1\n  b: 2\n", 2), ("run: {for_s: 1}\nrun: {for_s: 2}\n", 2), ("\tx: 1", 1)]
    {
        let error = refused(text);
        assert_eq!(error.problems[0].place.line, line, "{error}");
    }
    check_refused("[1, 2]", &["found a list of 2", "expected map with"]);
    check_refused("muster: 2", &["muster: found 2, expected whole number: 1"]);
}

#[test]
fn a_tab_is_told_where_it_is() {
    for (text, line, column) in [
        ("world:\n\tground: true\n", 2, 1),
        ("robots:\n  - name: a\n\t  kind: point\n", 3, 1),
        ("robots:\n  - name: a\n    kind: point\n\tat: {xyz_m: [0, 0, 0]}\nrun: {}\n", 4, 1),
        ("world:\r\n  ground:\ttrue\r\n", 2, 10),
    ] {
        let error = refused(text);
        let place = error.problems[0].place;
        assert_eq!((place.line, place.column), (line, column), "{error}");
        assert!(error.rendered.contains("found a tab, expected spaces"), "{error}");
    }
}

#[test]
fn a_file_with_nothing_in_it_is_refused() {
    for text in ["", "# nothing yet\n", "{}"] {
        check_refused(text, &["1:1: error: found nothing to run, expected a scenario with robots or a world"]);
    }
}

/// Lines and messages of all problems of a text.
fn all_problems(text: &str) -> Vec<(u32, String)> {
    refused(text).problems.iter().map(|problem| (problem.place.line, problem.to_string())).collect()
}

/// That these are all the problems of a text, in any order: their lines, and how their messages begin.
fn check_all(text: &str, expected: &[(u32, &str)]) {
    let mut found = all_problems(text);
    for (line, message) in expected {
        let at = found.iter().position(|(at, text)| at == line && text.starts_with(message));
        let at = at.unwrap_or_else(|| panic!("no {message:?} on line {line} in:\n{found:#?}"));
        found.remove(at);
    }
    assert!(found.is_empty(), "not expected: {found:#?}");
}

#[test]
fn mistakes_at_several_levels_of_a_robot_do_not_hide_each_other() {
    let text = "\
robots:
  - name: a
    motion: {kind: point, rate_hz: 0, speed_max_mps: -3}
    driver: {kind: waypoints, speed_mps: -1}
    sensors:
      gps: {kind: gps, rate_hz: 0, modifiers: [{kind: gaussian_noise, position_std_m: -1}, {kind: quantisatoin}]}
      t: {kind: truth, frame: mast}
    frames: {arm: {}}
    parts:
      hull: {sphere_radius_m: 0.2, box_size_m: [1, 1, 1], friction: 20}
      fin: {frame: amr, sphere_radius_m: 0.1}
  - name: b
    kind: quadrotr
    sensors: {gps: {kind: gpss}, x: {radius_m: 3}}
    driver: {kind: waypoints, speed: 1}
";
    check_all(
        text,
        &[
            (3, "robots[0].motion.rate_hz: found 0, expected number from"),
            (3, "robots[0].motion.speed_max_mps: found -3"),
            (4, "robots[0].driver.speed_mps: found -1"),
            (6, "robots[0].sensors.gps.rate_hz: found 0"),
            (6, "robots[0].sensors.gps.modifiers[0].position_std_m: found -1"),
            (6, "robots[0].sensors.gps.modifiers[1].kind: found \"quantisatoin\""),
            (7, "robots[0].sensors.t.frame: found \"mast\", expected a frame of the robot: arm"),
            (10, "robots[0].parts.hull.friction: found 20"),
            (10, "robots[0].parts.hull: found 2 shapes, expected exactly one of sphere_radius_m"),
            (
                11,
                "robots[0].parts.fin.frame: found \"amr\", expected a frame of the robot: arm (did you mean \"arm\"?)",
            ),
            (13, "robots[1].kind: found no file \"robots/quadrotr.yaml\""),
            (14, "robots[1].sensors.gps.kind: found \"gpss\""),
            (15, "robots[1].driver: found \"speed\", expected a key"),
        ],
    );
}

#[test]
fn an_include_that_fails_hides_nothing_and_nothing_is_missed_because_of_it() {
    let text = "\
world: {include: worlds/nowhere.yaml, gravty_mps2: [0, 0, -9]}
robots:
  - {name: a, include: nofile.yaml, sensors: {gps: {kind: gpss}}}
  - name: b
    kind: point
    sensors: {pose: {include: nosensor.yaml}, t: {kind: truth, rate_hz: -5}}
    driver: {kind: waypoints, pose: pose}
events:
  - {on: 'enter(b, porch)', do: b.stopp}
  - {on: 'enter(b, porch)'}
  - {on: at(2), do: b.stop}
";
    check_all(
        text,
        &[
            (1, "found no file \"worlds/nowhere.yaml\""),
            (1, "world: found \"gravty_mps2\""),
            (3, "found no file \"nofile.yaml\""),
            (3, "robots[0].sensors.gps.kind: found \"gpss\""),
            (6, "found no file \"nosensor.yaml\""),
            (6, "robots[1].sensors.t.rate_hz: found -5"),
            (9, "events[0].do[0]: found \"stopp\""),
            (10, "events[1]: found no do"),
            (11, "events[2].on: found \"2\", expected a time with its unit"),
        ],
    );
}

#[test]
fn what_is_wrong_with_frames_and_outlines_is_told_at_its_line() {
    let text = "\
robots:
  - name: a
    motion: {kind: point}
    frames:
      arm: {parent: amr}
      arm2: {parent: arm}
      x: {parent: y}
      y: {parent: z}
      z: {parent: y}
      both: {turn: [0, 0, 1], slide: [0, 0, 0]}
      back: {turn: [0, 0, 1], range_deg: [20, -20]}
    parts:
      fin:
        frame: arm
        mesh:
          vertices_m: [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
          triangles: [[0, 1, 9]]
  - name: b
    shape: {sphere_radius_m: 0.1}
    parts: {p: {frame: arm, sphere_radius_m: 1}}
    motion:
      kind: point
  - name: c
    shape: {mesh: {vertices_m: [[0, 0, 0], [1, 0, 0], [0, 1, 0]], triangles: [[0, 1, 2]]}}
    at: {xyz_m: [0, 0, 3]}
    motion: {kind: single_body}
";
    check_all(
        text,
        &[
            (5, "robots[0].frames.arm.parent: found \"amr\", expected another frame, or none for the body: arm2"),
            (
                8,
                "robots[0].frames.y.parent: found y → z → y, expected frames that do not hang on each other in a circle",
            ),
            (9, "robots[0].frames.z.parent: found z → y → z"),
            (10, "robots[0].frames.both.slide: found slide beside turn"),
            (10, "robots[0].frames.both.slide: found an axis of length 0"),
            (11, "robots[0].frames.back.range_deg: found from 20 to -20"),
            (17, "robots[0].parts.fin.mesh: found corner 9, expected a whole number below 3"),
            (20, "robots[1].parts.p.frame: found \"arm\", expected a frame of the robot (there is none)"),
            (26, "robots[2].motion: found "),
        ],
    );
}

#[test]
fn terrain_and_meshes_that_are_wrong_are_told_at_their_line_in_our_words() {
    let text = "\
world:
  obstacles:
    hills: {terrain: {size_m: [10, 10], height: 2 * sin(x}}
    slope:
      terrain:
        size_m: [10, 10]
        height: tan(x)
    pole: {terrain: {size_m: [10, 10], height: 1 / (x - x)}}
    flat: {mesh: {vertices_m: [[0, 0, 0], [1, 0, 0], [2, 0, 0]], triangles: [[0, 0, 1]]}}
    line: {mesh: {vertices_m: [[0, 0, 0], [1, 0, 0], [2, 0, 0]], triangles: [[0, 1, 2]]}}
    none:
      mesh:
        vertices_m: [[0, 0, 0]]
        triangles: []
";
    check_all(
        text,
        &[
            (3, "world.obstacles.hills: found the end in height \"2 * sin(x\", expected an operator, \",\" or \")\""),
            (7, "world.obstacles.slope: found function \"tan\" in height \"tan(x)\", expected one of abs"),
            (8, "world.obstacles.pole: found a height of "),
            (9, "world.obstacles.flat: found triangle [0, 0, 1] without area, expected three corners"),
            (10, "world.obstacles.line: found triangle [0, 1, 2] without area"),
            (14, "world.obstacles.none: found no triangles, expected at least one"),
        ],
    );
}

#[test]
fn steered_vehicles_are_not_driven_as_if_they_turned_in_place() {
    let wheel = "{name: a, at_m: [1, 0, -0.5], radius_m: 0.3, mass_kg: 5, steered: true}";
    let body = format!("motion: {{kind: single_body, wheels: [{wheel}]}}, shape: {{box_size_m: [1, 1, 1]}}");
    for (robot, motion) in [("kind: car", "ackermann"), (&*body, "single_body")] {
        for driver in ["waypoints", "goto, by: velocity"] {
            let text = format!(
                "{{robots: [{{name: c, {robot}, at: {{xyz_m: [0, 0, 3]}}, sensors: {{truth: {{kind: truth}}}}, \
                 driver: {{kind: {driver}}}}}]}}"
            );
            let expected = format!("expected by: pursuit for motion {motion:?}, which turns only while it drives");
            check_refused(&text, &["robots[0].driver.by: found velocity, which turns in place", &expected]);
            simulation(&text.replace(", by: velocity", "").replace("driver: {", "driver: {by: pursuit, "));
        }
    }
}

/// The warnings of a scenario that loads.
fn warnings(text: &str) -> Vec<String> {
    simulation(text).warnings().to_vec()
}

#[test]
fn a_speed_beyond_what_legs_can_do_is_questionable() {
    let text = |speed: f64| {
        format!(
            "{{robots: [{{name: dog, kind: quadruped, at: {{xyz_m: [0, 0, 0.322]}}, \
             driver: {{kind: waypoints, points_m: [[9, 0]], speed_mps: {speed}}}}}]}}"
        )
    };
    assert_eq!(warnings(&text(0.6)), [""; 0]);
    let told = warnings(&text(2.0));
    let expected =
        "robots[0].driver.speed_mps: found 2 m/s, expected at most 0.600 m/s, which is what controller \"gait\" can do";
    assert!(told.len() == 1 && told[0].contains(expected), "{told:?}");
    // without a limit of its own it is the reach of the legs: 2 sqrt((0.999 * 0.4)² - 0.3²) m in 0.75 * 0.5 s
    let told = warnings(&text(2.0).replace("kind: quadruped", "kind: quadruped, controller: {speed_max_mps: null}"));
    assert!(told.len() == 1 && told[0].contains("expected at most 1.408 m/s"), "{told:?}");
}

#[test]
fn robots_that_start_inside_of_something_are_told() {
    let text = |robots: &str| {
        format!("{{world: {{obstacles: {{wall: {{box_size_m: [1, 9, 9], groups: [walls]}}}}}}, robots: [{robots}]}}")
    };
    let ball = |name: &str, x: f64, more: &str| {
        format!(
            "{{name: {name}, motion: {{kind: point}}, shape: {{sphere_radius_m: 0.5}}, at: {{xyz_m: [{x}, 0, 2]}}{more}}}"
        )
    };
    let told = |robots: &[String], expected: &[&str]| {
        let found = warnings(&text(&robots.join(", ")));
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        let fits = found.iter().zip(expected).all(|(found, expected)| found.contains(expected));
        assert!(fits, "{found:#?}");
    };
    told(&[ball("a", 0.9, "")], &["a.at: found its part \"body\" inside of obstacle \"wall\" by 0.100 m"]);
    told(&[ball("a", 0.999, "")], &[]);
    told(&[ball("a", 0.9, ", meets: [trees]")], &[]);
    told(
        &[ball("a", 5.0, ""), ball("b", 5.7, "")],
        &["b.at: found its part \"body\" inside of robot \"a\" by 0.300 m"],
    );
    let heavy = ball("b", 5.7, ", attached: {to: a}").replace("kind: point", "kind: single_body");
    told(&[ball("a", 5.0, ""), heavy], &[]);
    let low = |kind: &str| {
        format!("{{name: a, motion: {{kind: {kind}}}, shape: {{sphere_radius_m: 0.5}}, at: {{xyz_m: [9, 0, 0.3]}}}}")
    };
    told(&[low("point")], &["inside of obstacle \"ground\" by 0.200 m"]);
    told(&[low("differential")], &[]);
    // a part on a frame that is turned at the start
    let arm = "{name: a, motion: {kind: point}, at: {xyz_m: [2.5, 0, 2]}, frames: {arm: {turn: [0, 0, 1], start_deg: 180}}, \
               parts: {hand: {frame: arm, sphere_radius_m: 0.2, at: {xyz_m: [1.9, 0, 0]}}}}";
    told(&[arm.to_owned()], &["a.at: found its part \"hand\" inside of obstacle \"wall\" by 0.100 m"]);
    // of many only some
    let many = "{name: 'p{i}', motion: {kind: point}, shape: {sphere_radius_m: 0.5}, count: 30, \
                layout: {line: {from_m: [9, 0, 3], step_m: [0.9, 0, 0]}}}";
    let found = warnings(&text(many));
    assert!(found.len() == 11 && found[10].contains("found 19 more that start in something"), "{found:#?}");
}

#[test]
fn robots_stand_on_terrain_by_layout_and_place() {
    let text = |world: &str, robot: &str| {
        format!(
            "{{world: {{{world}}}, robots: [{{name: 'r{{i}}', motion: {{kind: point}}, on_terrain: true, {robot}}}]}}"
        )
    };
    let hill = "obstacles: {hill: {terrain: {size_m: [40, 40], height: '0.3 * max(x, 0)'}, at: {xyz_m: [0, 0, 1]}}}";
    let sim = simulation(&text(
        hill,
        "count: 3, layout: {line: {from_m: [0, 5, 0.5], step_m: [4, 0, 0]}}, at: {xyz_m: [0, 0, 2]}",
    ));
    for (robot, height_m) in [("r0", 3.5), ("r1", 4.7), ("r2", 5.9)] {
        assert!((position(&sim, robot).z - height_m).abs() < 1e-6, "{robot} at {}", position(&sim, robot));
    }
    let sim = simulation(&text("", "at: {xyz_m: [0, 0, 2]}"));
    assert_eq!(position(&sim, "r0").z, 2.0);
    let nothing = text("ground: false", "at: {xyz_m: [3, 4, 2]}");
    check_refused(&nothing, &["robots[0].on_terrain: found nothing below (3, 4), expected terrain or a plane"]);
}

#[test]
fn what_does_not_fit_together_is_refused() {
    check_refused(
        "{robots: [{name: d, kind: differential, controller: {kind: flight_control}}]}",
        &[
            "robots[0].controller: found \"flight_control\", which commands rotor_speed_radps",
            "motion \"differential\"",
            "wheel_left_radps",
        ],
    );
    check_refused(
        "{robots: [{name: p, motion: {kind: point}, driver: {kind: waypoints, pose: gps1}, sensors: {gps: {kind: gps}}}]}",
        &["robots[0].driver: found no sensor \"gps1\"", "which driver \"waypoints\" reads", "did you mean \"gps\"?"],
    );
    check_refused(
        "{robots: [{name: q, kind: quadrotor, sensors: {imu: {kind: gps}}}]}",
        &["found sensor \"imu\" of kind \"gps\", expected a sensor \"imu\" of kind \"imu\""],
    );
    check_refused(
        "{robots: [{name: p, motion: {kind: point, rate_hz: 10, speed_max_mps: 10}, shape: {sphere_radius_m: 0.1}}]}",
        &[
            "robots[0].motion.rate_hz: found 10 Hz: up to 1.000 m a tick, further than the outline is thick",
            "at least 100 Hz",
        ],
    );
    check_refused(
        "{robots: [{name: p, motion: {kind: point, rate_hz: 100}, sensors: {t: {kind: truth, rate_hz: 200}}}]}",
        &["robots[0].sensors.t.rate_hz: found 200 Hz, expected at most the robot's 100 ticks a second"],
    );
    check_refused(
        "{robots: [{name: p, kind: point, sensors: {t: {kind: truth, frame: mast}}}, {name: p, kind: point}]}",
        &["robots[0].sensors.t.frame: found \"mast\", expected a frame"],
    );
    check_refused("{robots: [{name: p, kind: point}, {name: p, kind: point}]}", &["found a second robot \"p\""]);
    check_refused(
        "{robots: [{name: p}]}",
        &["robots[0]: found no motion, expected motion: map with kind: one of motions"],
    );
}

#[test]
fn what_is_expected_is_checked_before_the_run() {
    check_refused(
        "{robots: [{name: car, kind: point, sensors: {t: {kind: truth}}, frames: {mast: {}}}], \
         expect: [{that: value, of: 'car.position_m[3]', min: 0}, {that: value, of: 'car.t[10]', min: 0}, \
         {that: value, of: 'car.frame.mast[6]', min: 0}, {that: value, of: 'car.frame.mast[7]', min: 0}]}",
        &[
            "expect[0]: found [3] of car.position_m, expected an index from [0] to [2]",
            "expect[3]: found [7] of car.frame.mast, expected an index from [0] to [6]",
        ],
    );
    check_refused(
        "{robots: [{name: car, kind: point}], expect: [{that: arrived, robot: cra}, {that: value, of: car.positon_m, min: 0}, \
         {that: holds, expression: 'car.velocity_mps[0] >'}, {that: min_distance, robots: '*'}, \
         {that: holds, expression: 'car.speed_max > 1'}]}",
        &[
            "expect[0]: found \"cra\", expected a robot: car (did you mean \"car\"?)",
            "expect[1]: found \"positon_m\", expected a property of car",
            "did you mean \"position_m\"?",
            "expect[2]: found the end in \"car.velocity_mps[0] >\"",
            "expect[3]: found no at_least_m, expected at_least_m for that: min_distance",
            "expect[4]: found \"speed_max\"",
        ],
    );
    let sim = simulation(
        "{run: {for_s: 1}, robots: [{name: p, kind: point, at: {xyz_m: [0, 0, 1]}}], expect: [{that: value, of: p.contacts, max: 0, at_s: 5}]}",
    );
    assert!(sim.warnings()[0].contains("warning: expect[0].at_s: found 5 s, expected at most run.for_s, 1 s"));
}

// B07: a scene refers to files, and shows what is changed there
#[test]
fn an_edited_file_changes_every_scene_that_includes_it() {
    let scene = |x: f64| {
        format!(
            "{{robots: [{{name: r, kind: point, at: {{xyz_m: [{x}, 0, 1]}}, sensors: {{laser: {{include: laser.yaml}}}}}}]}}"
        )
    };
    let dir = folder(
        "edited_file",
        &[("laser.yaml", "kind: neighbours\nradius_m: 3\n"), ("a.yaml", &scene(1.0)), ("b.yaml", &scene(2.0))],
    );
    let rates = || {
        ["a.yaml", "b.yaml"].map(|file| {
            load(&dir.join(file)).scenario().model.robots[0].cohort.blueprint.sensor("laser").unwrap().rate.hz()
        })
    };
    assert_eq!(rates(), [10.0, 10.0]);
    std::fs::write(dir.join("laser.yaml"), "kind: neighbours\nradius_m: 3\nrate_hz: 25\n").unwrap();
    assert_eq!(rates(), [25.0, 25.0]);
}

// B08: a robot is a file; a scene changes its parts and duplicates it under another name
#[test]
fn a_scene_overrides_parts_of_a_robot_file_and_duplicates_it() {
    let robot = "motion: {kind: point}\nsensors:\n  laser: {kind: neighbours, radius_m: 2, rate_hz: 50}\n  pose: {kind: truth}\n";
    let scene = "{world: {ground: false}, robots: [{name: a, kind: robot.yaml, sensors: {laser: {radius_m: 9}}}, \
                 {name: b, kind: robot.yaml, at: {xyz_m: [5, 0, 0]}}]}";
    let dir = folder("robot_file", &[("robot.yaml", robot), ("scene.yaml", scene)]);
    let mut sim = load(&dir.join("scene.yaml"));
    sim.run_for(0.1);
    assert_eq!(number(&sim, "a.laser"), 5.0, "a sees b, 5 m ahead");
    assert!(sim.world().property("b.laser").unwrap().is_empty(), "b still looks 2 m far");
    assert_eq!(position(&sim, "b").x, 5.0);
    assert_eq!(std::fs::read_to_string(dir.join("robot.yaml")).unwrap(), robot);
}

// B06: a new robot from the library's parts in a few lines
#[test]
fn a_robot_of_one_base_three_sensors_and_a_driver_takes_under_twenty_lines() {
    let text = "\
robots:
  - name: surveyor
    motion: {kind: differential, wheel_radius_m: 0.15, wheel_gap_m: 0.5, speed_max_mps: 1.5}
    shape: {sphere_radius_m: 0.3}
    sensors:
      pose: {kind: truth, rate_hz: 50}
      gps: {kind: gps, modifiers: [{kind: gaussian_noise, position_std_m: 0.5}]}
      near: {kind: neighbours, radius_m: 8}
    driver: {kind: waypoints, pose: pose, points_m: [[3, 0], [3, 3]]}
expect:
  - {that: arrived, robot: surveyor, within_s: 10}
";
    assert!(text.lines().count() <= 20);
    let mut sim = simulation(text);
    sim.run_for(10.0);
    assert!((position(&sim, "surveyor") - DVec3::new(3.0, 3.0, 0.0)).length() < 0.3);
    assert!(sim.world().property("surveyor.gps.position_m").is_ok());
}

// B12: the world's settings stand in the world's file. The world frame is east, north, up; it cannot be chosen.
#[test]
fn a_world_file_sets_origin_gravity_and_air() {
    let world = "ground: false\ngravity_mps2: [0, 0, -1.62]\norigin: {latitude_deg: 43.6, longitude_deg: 1.48, altitude_m: 150}\n\
                 sea_level_pressure_pa: 100000\nwind: {mean_mps: [3, 0, 0]}\n";
    let scene = "{world: {include: moon.yaml}, robots: [{name: r, motion: {kind: point}, \
                 sensors: {imu: {kind: imu}, gps: {kind: gps}, air: {kind: airspeed}}}]}";
    let dir = folder("world_file", &[("moon.yaml", world), ("scene.yaml", scene)]);
    let mut sim = load(&dir.join("scene.yaml"));
    sim.run_for(1.0);
    assert_eq!(sim.world().property("r.imu.accel_mps2").unwrap(), [0.0, 0.0, 1.62]);
    assert!((number(&sim, "r.gps.latitude_deg") - 43.6).abs() < 1e-9);
    assert!((number(&sim, "r.gps.altitude_m") - 150.0).abs() < 1e-6);
    assert_eq!(sim.world().property("r.wind_mps").unwrap(), [3.0, 0.0, 0.0]);
}

#[test]
fn there_are_worlds_for_robots_of_the_air_the_ground_and_the_sea() {
    for (world, robot, at) in [
        ("airfield", "rmax", "[0, 0, 30]"),
        ("airfield", "quadrotor", "[0, 0, 30]"),
        ("airfield", "fixed_wing", "[0, 0, 60]"),
        ("arena", "differential", "[0, 0, 0]"),
        ("harbour", "boat", "[0, 5, 0.13]"),
        ("harbour", "submarine", "[0, 5, -3]"),
    ] {
        let place = format!("at: {{xyz_m: {at}}}");
        let mut sim = simulation(&format!(
            "{{world: {{include: worlds/{world}.yaml}}, robots: [{{name: r, kind: {robot}, {place}}}]}}"
        ));
        let before = position(&sim, "r").z;
        sim.run_for(5.0);
        assert!((position(&sim, "r").z - before).abs() < 2.0, "{robot} in {world}: {}", position(&sim, "r"));
        assert_eq!(number(&sim, "r.contacts"), 0.0, "{robot} in {world}");
    }
}

#[test]
fn includes_nest_merge_and_are_refused_in_circles() {
    let dir = folder(
        "includes",
        &[
            ("base.yaml", "run: {for_s: 3, seed: 5}\nrobots: [{name: r, kind: point}]\n"),
            ("top.yaml", "include: base.yaml\nrun: {seed: 6}\n"),
            ("circle.yaml", "include: ring.yaml\n"),
            ("ring.yaml", "include: circle.yaml\n"),
            ("lost.yaml", "include: bsae.yaml\n"),
        ],
    );
    let sim = load(&dir.join("top.yaml"));
    assert_eq!((sim.scenario().run.for_s, sim.scenario().run.seed), (3.0, 6));
    let error =
        |file: &str| Simulation::load(dir.join(file).to_str().unwrap(), &Setup::default()).err().unwrap().rendered;
    assert!(error("circle.yaml").contains("files that do not include themselves"), "{}", error("circle.yaml"));
    let lost = error("lost.yaml");
    assert!(
        lost.contains("lost.yaml:1:10: error: found no file \"bsae.yaml\"")
            && lost.contains("did you mean \"base.yaml\"?"),
        "{lost}"
    );
}

#[test]
fn one_robot_of_a_count_can_differ() {
    let text = "{world: {ground: false}, robots: [{name: 's{i}', kind: point, count: 4, layout: {line: {step_m: [2, 0, 0]}}, \
                driver: {kind: random_walk, speed_mps: 1}, \
                overrides: {s1: {driver: {speed_mps: 3}}, 2: {at: {xyz_m: [0, 5, 0]}, sensors: {gps: {kind: gps}}}}}]}";
    let mut sim = simulation(text);
    let places: Vec<[f64; 3]> = (0..4).map(|i| position(&sim, &format!("s{i}")).to_array()).collect();
    assert_eq!(places, [[0.0; 3], [2.0, 0.0, 0.0], [4.0, 5.0, 0.0], [6.0, 0.0, 0.0]]);
    sim.run_for(0.2);
    let speeds: Vec<f64> = (0..4)
        .map(|i| DVec3::from_slice(&sim.world().property(&format!("s{i}.velocity_mps")).unwrap()).length())
        .collect();
    assert!(
        (speeds[1] - 3.0).abs() < 1e-9 && (speeds[0] - 1.0).abs() < 1e-9 && (speeds[3] - 1.0).abs() < 1e-9,
        "{speeds:?}"
    );
    assert!(
        sim.world().property("s2.gps.latitude_deg").is_ok() && sim.world().property("s1.gps.latitude_deg").is_err()
    );
}

#[test]
fn overrides_of_nobody_or_with_wrong_values_are_refused() {
    let text = |overrides: &str| {
        format!(
            "{{robots: [{{name: 's{{i}}', kind: point, count: 3, layout: {{line: {{}}}}, overrides: {overrides}}}]}}"
        )
    };
    check_refused(
        &text("{s9: {speed_mps: 1}}"),
        &["robots[0].overrides: found \"s9\", expected a robot of this block", "s0, s1, s2"],
    );
    check_refused(&text("{3: {speed_mps: 1}}"), &["by a number below 3"]);
    check_refused(&text("{s1: {speed_mps: fast}}"), &["robots[0].speed_mps: found \"fast\", expected number"]);
    check_refused(&text("{s1: {speed: 1}}"), &["found \"speed\"", "did you mean \"speed_mps\"?"]);
    check_refused(
        &text("{s1: {kind: quadrotor}}"),
        &["found \"kind\", expected a key that one robot can have for itself"],
    );
}

#[test]
fn every_layout_places_its_count() {
    let place = |layout: &str| -> Vec<DVec3> {
        let text = format!(
            "{{world: {{ground: false}}, robots: [{{name: 'r{{i}}', kind: point, count: 12, layout: {layout}}}]}}"
        );
        let sim = simulation(&text);
        (0..12).map(|i| position(&sim, &format!("r{i}"))).collect()
    };
    let grid = place("{grid: {rows: 3, spacing_m: 2, from_m: [1, 0, 5]}}");
    assert_eq!(
        (grid[0], grid[3], grid[11]),
        (DVec3::new(1.0, 0.0, 5.0), DVec3::new(7.0, 0.0, 5.0), DVec3::new(7.0, 4.0, 5.0))
    );
    let layers = place("{grid: {rows: 2, layers: 2, spacing_m: 1}}");
    assert_eq!(layers[11], DVec3::new(2.0, 1.0, 1.0));
    assert_eq!(place("{line: {from_m: [1, 1, 1], step_m: [0, 0, 2]}}")[4], DVec3::new(1.0, 1.0, 9.0));
    let circle = place("{circle: {radius_m: 4, center_m: [1, 2, 3]}}");
    assert!(circle.iter().all(|p| (p.distance(DVec3::new(1.0, 2.0, 3.0)) - 4.0).abs() < 1e-12 && p.z == 3.0));
    let sphere = place("{sphere: {radius_m: 4, center_m: [1, 2, 3]}}");
    assert!(sphere.iter().all(|p| (p.distance(DVec3::new(1.0, 2.0, 3.0)) - 4.0).abs() < 1e-12));
    let random = place("{random: {from_m: [0, 0, 0], to_m: [6, 6, 0], min_distance_m: 1}}");
    let apart = |(i, p): (usize, &DVec3)| random[..i].iter().all(|q| p.distance(*q) >= 1.0);
    assert!(random.iter().enumerate().all(apart));
    check_refused(
        "{robots: [{name: 'r{i}', kind: point, count: 2}]}",
        &["a count of 2 without a layout", "for example layout"],
    );
    check_refused(
        "{robots: [{name: 'r{i}', kind: point, count: 2, layout: {}}]}",
        &["exactly one of grid, line, circle, sphere, random"],
    );
    check_refused(
        "{robots: [{name: 'r{i}', kind: point, count: 99, layout: {random: {from_m: [0, 0, 0], to_m: [1, 1, 0]}}}]}",
        &["robots[0].layout", "room for 99 0.5 m apart"],
    );
}

#[test]
fn templates_reach_every_key_of_a_robot() {
    let sim = simulation(
        "{world: {ground: false}, robots: [{name: 'r{i}', kind: point, count: 3, at: {xyz_m: ['{i * 2}', '{n}', 0], yaw_deg: '{90 * i}'}, \
         speed_mps: '{i}', motion: {kind: point, speed_max_mps: '{10 + i}'}, shape: {sphere_radius_m: '{0.1 * (i + 1)}'}, \
         sensors: {gps: {kind: gps, rate_hz: '{5 * (i + 1)}'}}}]}",
    );
    let robots: Vec<_> = sim.scenario().model.robots.iter().collect();
    assert_eq!(robots[2].pose.position_m, DVec3::new(4.0, 3.0, 0.0));
    assert!((robots[1].velocity_mps - DVec3::Y).length() < 1e-12, "ahead, along its heading");
    assert_eq!(number(&sim, "r2.speed_max_mps"), 12.0);
    let blueprint = |i: usize| &robots[i].cohort.blueprint;
    assert_eq!([0, 1, 2].map(|i| blueprint(i).sensor("gps").unwrap().rate.hz()), [5.0, 10.0, 15.0]);
    assert!((blueprint(2).radius_m() - 0.3).abs() < 1e-12);
    check_refused(
        "{robots: [{name: 'r{i}', kind: point, count: 2, at: {xyz_m: ['{k}', 0, 0]}}]}",
        &["found \"k\" in \"{k}\", expected a variable: i, n, name"],
    );
}

#[test]
fn zero_robots_and_one_robot_run() {
    for (text, robots) in [
        ("{robots: []}", 0),
        ("{robots: [{name: r, kind: point, count: 0}]}", 0),
        ("{robots: [{name: r, kind: point}]}", 1),
    ] {
        let mut sim = simulation(text);
        sim.run_for(1.0);
        assert_eq!(sim.world().robots().count(), robots, "{text}");
        assert_eq!(sim.world().time(), SimTime::from_s(1.0));
    }
}

#[test]
fn values_laid_over_reach_any_depth_and_are_refused_without_a_false_place() {
    let text = "{robots: [{name: r, kind: point, driver: {kind: random_walk}}]}";
    let setup = |over: &[&str]| Setup {
        over: over.iter().map(|text| Override::parse(text).unwrap()).collect(),
        ..Setup::default()
    };
    let over =
        setup(&["robots.r.driver={kind: waypoints, points_m: [[1, 0]]}", "world.gravity_mps2=[0,0,-1]", "run.seed=9"]);
    let sim = Simulation::from_text(text, &over).unwrap_or_else(|error| panic!("{error}"));
    let model = &sim.scenario().model;
    assert_eq!((model.robots[0].cohort.blueprint.drivers[0].kind, model.seeds[0]), ("waypoints", 9));
    assert_eq!(model.environment.gravity_mps2.z, -1.0);
    let error = Simulation::from_text(text, &setup(&["robots[0].driver={kind: waypoint}"])).err().unwrap();
    assert_eq!(error.problems[0].place.line, 0, "it stands in no file:\n{error}");
    assert!(error.rendered.starts_with("error: robots[0].driver.kind: found \"waypoint\""), "{error}");
}

/// Whether a value fits a schema, for the words `muster schema` uses.
fn fits(value: &Node, schema: &Json) -> bool {
    let typed = match (&value.value, schema.get("type")) {
        (_, None) => true,
        (found, Some(Json::Array(types))) => types.iter().any(|name| is_type(found, name)),
        (found, Some(name)) => is_type(found, name),
    };
    let chosen = |words: &[Json]| value.text().is_some_and(|text| words.iter().any(|word| word == text));
    let any =
        schema.get("anyOf").and_then(Json::as_array).is_none_or(|forms| forms.iter().any(|form| fits(value, form)));
    let within =
        |bound: &str, holds: fn(f64, f64) -> bool| match (number_of(value), schema.get(bound).and_then(Json::as_f64)) {
            (Some(number), Some(bound)) => holds(number, bound),
            _ => true,
        };
    let inside = match &value.value {
        Value::Map(entries) => entries.iter().all(|entry| {
            let own = schema.get("properties").and_then(|properties| properties.get(&entry.key));
            match own.or(schema.get("additionalProperties")) {
                Some(Json::Bool(allowed)) => *allowed,
                Some(form) => fits(&entry.value, form),
                None => true,
            }
        }),
        Value::List(items) => schema.get("items").is_none_or(|form| items.iter().all(|item| fits(item, form))),
        _ => true,
    };
    let words = schema.get("enum").and_then(Json::as_array).is_none_or(|words| chosen(words));
    let constant = schema.get("const").is_none_or(|word| chosen(std::slice::from_ref(word)));
    typed && any && inside && words && constant && within("minimum", |a, b| a >= b) && within("maximum", |a, b| a <= b)
}

fn number_of(node: &Node) -> Option<f64> {
    match node.value {
        Value::Integer(value) => Some(value as f64),
        Value::Number(value) => Some(value),
        _ => None,
    }
}

fn is_type(value: &Value, name: &Json) -> bool {
    match name.as_str() {
        Some("object") => matches!(value, Value::Map(_)),
        Some("array") => matches!(value, Value::List(_)),
        Some("string") => matches!(value, Value::Text(_)),
        Some("boolean") => matches!(value, Value::Bool(_)),
        Some("integer") => matches!(value, Value::Integer(_)),
        Some("number") => matches!(value, Value::Integer(_) | Value::Number(_)),
        _ => false,
    }
}

#[test]
fn examples_and_demos_fit_the_schema_and_mistakes_do_not() {
    let schema = schema::schema(muster::REGISTRY);
    let examples = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples")).unwrap();
    let examples = examples
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    let texts: Vec<String> = examples.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let demos =
        library::FILES.iter().filter(|(name, _)| name.starts_with("demos/")).map(|(_, text)| (*text).to_owned());
    let vessel = "{kind: marine, rate_hz: 100, mass_kg: 14}";
    let anchored =
        format!("{{robots: [{{name: r, motion: &v {vessel}, controller: {{kind: marine_control, vessel: *v}}}}]}}");
    for text in texts.into_iter().chain(demos).chain([anchored]) {
        assert!(fits(&yaml::parse(&text, 0).unwrap(), &schema), "{text}");
    }
    let world = &schema["properties"]["world"];
    let object = &world["properties"]["objects"]["additionalProperties"];
    for (name, text) in library::FILES {
        let form = if name.starts_with("worlds/") || *name == "materials.yaml" { world } else { object };
        let other = ["demos/", "mounts/", "robots/", "sensors/"].iter().any(|folder| name.starts_with(folder));
        assert!(other || fits(&yaml::parse(text, 0).unwrap(), form), "{name}");
    }
    for text in [
        "{wrold: {}}",
        "{run: {for_s: -1}}",
        "{world: {gravity_mps2: 9.8}}",
        "{world: {objects: {t: {kind: table, obstacle: {}}}}}",
        "{world: {obstacles: {t: {count: -1}}}}",
        "{robots: [{name: r, motion: {kind: submarine}}]}",
        "{robots: [{name: r, driver: {kind: waypoints, points: []}}]}",
        "{robots: [{name: r, sensors: {imu: {kind: imu, modifiers: [{kind: delay, delays_ms: 3}]}}}]}",
        "{expect: [{that: arives}]}",
    ] {
        assert!(!fits(&yaml::parse(text, 0).unwrap(), &schema), "{text}");
    }
}
