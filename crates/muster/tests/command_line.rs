//! The `muster` command as people and scripts use it: what it prints, and which exit code it gives.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A scenario file of its own for each test.
fn file(name: &str, text: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("command_line");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join(name), text).unwrap();
    path.join(name).to_str().unwrap().to_owned()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
    command.args(arguments).env_remove("MUSTER_SEED").env_remove("MUSTER_RESOURCE_PATH");
    command
}

fn muster(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs, checks the exit code, and returns both outputs.
fn check(arguments: &[&str], code: i32) -> String {
    let output = muster(arguments);
    let text = format!("{}{}", out(&output), err(&output));
    assert_eq!(output.status.code(), Some(code), "muster {}\n{text}", arguments.join(" "));
    text
}

fn report(path: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

const CAR: &str = "\
run: {for_s: 3}
world: {ground: false}
robots:
  - name: car
    kind: point
    driver: {kind: waypoints, points_m: [[1, 0, 0]], speed_mps: 2, tolerance_m: 0.05, by: strafe}
";

#[test]
fn a_run_prints_a_summary_and_writes_a_report() {
    let (scenario, json) = (file("ok.yaml", CAR), file("ok.json", ""));
    let text = check(&["run", &scenario, "--report", &json, "--threads", "1"], 0);
    for part in ["3.000 s in ", "real-time factor", "1 on 1 thread", "state hash", "deliver", "point.truth"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let report = report(&json);
    for key in [
        "sim_time_s",
        "wall_time_s",
        "rtf",
        "robots",
        "ticks",
        "windows",
        "threads",
        "seed",
        "state_hash",
        "late",
        "window_us",
        "phases",
        "sensors",
        "memory_peak_mb",
        "machine",
        "version",
    ] {
        assert!(!report[key].is_null(), "no {key}");
    }
    assert_eq!(
        (report["sim_time_s"].as_f64(), report["ticks"].as_u64(), report["windows"].as_u64()),
        (Some(3.0), Some(3000), Some(150))
    );
    assert_eq!(report["state_hash"].as_str().unwrap().len(), 32);
    assert_eq!(check(&["run", &scenario, "--quiet"], 0), "");
}

#[test]
fn command_line_beats_environment_beats_file_beats_default() {
    let json = file("seed.json", "");
    let (written, silent) = (file("seed.yaml", "run: {for_s: 0.1, seed: 5}"), file("noseed.yaml", "run: {for_s: 0.1}"));
    let seed = |scenario: &str, environment: Option<&str>, arguments: &[&str]| {
        let mut command = command(&["run", scenario, "--quiet", "--report", &json]);
        command.args(arguments).envs(environment.map(|seed| ("MUSTER_SEED", seed)));
        assert!(command.status().unwrap().success());
        report(&json)["seed"].as_u64().unwrap()
    };
    assert_eq!(seed(&silent, None, &[]), 1);
    assert_eq!(seed(&written, None, &[]), 5);
    assert_eq!(seed(&written, Some("6"), &[]), 6);
    assert_eq!(seed(&written, Some("6"), &["--seed", "7"]), 7);
    assert_eq!(seed(&written, Some("6"), &["--set", "run.seed=8"]), 8);
}

#[test]
fn every_kind_of_expectation_passes_and_fails() {
    let pair = "  - {name: other, kind: point, at: {xyz_m: [1, 1, 0]}}\n";
    for (name, holds, fails, message) in [
        (
            "arrived",
            "{that: arrived, robot: car, within_s: 2.5}",
            "{that: arrived, robot: car, within_s: 0.2}",
            "failed at 0.200 s: car not arrived; car is at [0.2",
        ),
        (
            "min_distance",
            "{that: min_distance, robots: '*', at_least_m: 0.9}",
            "{that: min_distance, robots: '*', at_least_m: 1.2}",
            "car and other came within 1.1",
        ),
        (
            "value",
            "{that: value, of: 'car.position_m[0]', min: 0.9, max: 1.1}",
            "{that: value, of: 'car.position_m[0]', max: 0.25, at_s: 0.3}",
            "failed at 0.300 s: car.position_m[0] is 0.3",
        ),
        (
            "holds",
            "{that: holds, expression: 'distance(car, other) > 0.9 and time_s < 9', from_s: 0}",
            "{that: holds, expression: 'car.position_m[0] < 0.5', from_s: 0.1}",
            "car.position_m[0] < 0.5 does not hold (car.position_m[0] = 0.5",
        ),
    ] {
        let text = |expectation: &str| format!("{CAR}{pair}expect: [{expectation}]\n");
        let held = check(&["run", &file(&format!("{name}_holds.yaml"), &text(holds))], 0);
        assert!(held.contains("1 of 1 hold"), "{held}");
        let failed = check(&["run", &file(&format!("{name}_fails.yaml"), &text(fails))], 1);
        assert!(failed.contains("error: expect[0] failed at ") && failed.contains(message), "{failed}");
        assert!(failed.contains("0 of 1 hold"), "{failed}");
    }
}

#[test]
fn a_contact_fails_the_run_at_its_time() {
    let wall = |x: f64| {
        let text = CAR.replace(
            "ground: false",
            &format!("ground: false, obstacles: {{wall: {{box_size_m: [0.2, 5, 5], at: {{xyz_m: [{x}, 0, 0]}}}}}}"),
        );
        format!("{text}expect: [{{that: no_contact, robots: '*'}}]\n")
    };
    check(&["run", &file("far_wall.yaml", &wall(3.0))], 0);
    let text = check(&["run", &file("near_wall.yaml", &wall(0.65))], 1);
    // the wall's face is at 0.55 m and the outline 0.15 m ahead: touched after 0.4 m, where 1 - e^(-1.5 t) = 0.4
    assert!(text.contains("expect[0] failed at 0.35") && text.contains("car touched wall (line "), "{text}");
}

#[test]
fn expectations_beyond_the_end_are_told_and_those_at_the_end_are_judged_after_steps() {
    let scenario = file(
        "late.yaml",
        &format!(
            "{CAR}expect:\n  - {{that: arrived, robot: car, within_s: 2}}\n  - {{that: value, of: 'car.position_m[0]', min: 5}}\n"
        ),
    );
    let text = check(&["run", &scenario, "--steps", "5"], 1);
    assert!(text.contains("expect[1] failed at 0.100 s") && text.contains("in 5 windows"), "{text}");
    assert!(text.contains("0 of 2 hold, 1 not judged"), "{text}");
}

#[test]
fn usage_errors_are_two_and_invalid_scenarios_three() {
    let scenario = file("valid.yaml", CAR);
    for arguments in [
        &["run"][..],
        &["fly"],
        &["run", &scenario, "--sede", "3"],
        &["run", &scenario, "--for", "3parsecs"],
        &["run", &scenario, "--for", "1s", "--steps", "3"],
        &["run", &scenario, "--rtf", "-1"],
        &["run", &scenario, "--seeds", "9..1"],
        &["run", &scenario, "--set", "nothing"],
        &["list", "submarines"],
        &["demo", "nothing"],
    ] {
        let text = check(arguments, 2);
        assert!(text.contains("error: "), "{text}");
    }
    let bad = file("invalid.yaml", "robots: [{name: r, kind: quadrotr}]\n");
    for arguments in [&["run", &bad][..], &["check", &bad], &["inspect", &bad], &["run", &bad, "--seeds", "1..3"]] {
        let text = check(arguments, 3);
        assert!(text.contains("invalid.yaml:1:26: error: ") && text.contains("did you mean \"quadrotor\"?"), "{text}");
    }
    let text = check(&["run", "no_such_file.yaml"], 3);
    assert!(text.contains("found no file \"no_such_file.yaml\""), "{text}");
}

#[test]
fn a_missed_deadline_is_exit_code_five_where_real_time_is_required() {
    // a second of simulated time a microsecond cannot be kept by any machine
    let scenario = file("hurry.yaml", CAR);
    let text = check(&["run", &scenario, "--require-rt", "--rtf", "1000000"], 5);
    assert!(text.contains("missed its deadline by") && text.contains("(late)"), "{text}");
    check(&["run", &scenario, "--rtf", "1000000", "--quiet"], 0);
}

#[test]
fn a_time_limit_is_exit_code_124() {
    let (scenario, json) = (file("slow.yaml", CAR), file("slow.json", ""));
    check(&["run", &scenario, "--rtf", "1", "--for", "1h", "--timeout", "200ms", "--quiet", "--report", &json], 124);
    let report = report(&json);
    assert_eq!(report["ended"], "timeout");
    assert!(report["wall_time_s"].as_f64().unwrap() < 1.0);
}

#[test]
fn an_interrupt_stops_cleanly_with_exit_code_130_and_a_report() {
    let (scenario, json) = (file("endless.yaml", CAR), file("endless.json", ""));
    let arguments = ["run", &scenario, "--rtf", "1", "--for", "1h", "--report", &json];
    let child = command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(400));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", err(&output));
    assert!(out(&output).contains("(interrupted)"), "the summary is still printed");
    let report = report(&json);
    assert_eq!(report["ended"], "interrupted");
    assert!(report["sim_time_s"].as_f64().unwrap() > 0.05);
}

#[test]
fn seeds_sum_up_and_judge_every_run() {
    let text = |least: f64| {
        format!(
            "run: {{for_s: 1}}\nrobots: [{{name: r, kind: point, at: {{xyz_m: [0, 0, 1]}}, driver: {{kind: random_walk, speed_mps: 1}}}}]\n\
             expect: [{{that: value, of: 'r.position_m[0]', min: {least}}}]\n"
        )
    };
    let json = file("seeds.json", "");
    let all = check(&["run", &file("all_seeds.yaml", &text(-2.0)), "--seeds", "1..20", "--report", &json], 0);
    assert!(all.contains("20 of 20 seeds passed (100.0 %)") && all.contains("r.position_m[0]"), "{all}");
    let reports = report(&json);
    let seeds: Vec<u64> = reports.as_array().unwrap().iter().map(|report| report["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, (1..=20).collect::<Vec<u64>>());
    let ends: BTreeSet<&str> =
        reports.as_array().unwrap().iter().map(|report| report["state_hash"].as_str().unwrap()).collect();
    assert_eq!(ends.len(), 20, "every seed is another run");
    let some = check(&["run", &file("some_seeds.yaml", &text(0.9)), "--seeds", "1..20"], 1);
    assert!(some.contains("expect[0] failed at 1.000 s: r.position_m[0] is") && !some.contains("20 of 20"), "{some}");
}

#[test]
fn a_seed_among_many_is_the_run_it_is_alone() {
    let text = "{run: {for_s: 2}, robots: [{name: 'r{i}', kind: point, count: 5, \
                layout: {random: {from_m: [0, 0, 1], to_m: [2, 2, 1], min_distance_m: 0.6}}, \
                driver: {kind: random_walk, speed_mps: 2}}], expect: [{that: min_distance, robots: '*', at_least_m: 5}]}";
    let (scenario, many, one) = (file("packed.yaml", text), file("packed.json", ""), file("alone.json", ""));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let seeds = format!("1..{}", 4 * cores * 3);
    check(&["run", &scenario, "--seeds", &seeds, "--report", &many], 1);
    let reports = report(&many);
    for seed in [1, 2, 12] {
        check(&["run", &scenario, "--seed", &seed.to_string(), "--report", &one, "--quiet"], 1);
        let (found, alone) = (&reports[seed - 1], report(&one));
        assert_eq!((&found["seeds_in_world"], &alone["seeds_in_world"]), (&3.into(), &1.into()));
        for key in ["seed", "state_hash", "robots", "ticks", "contacts", "first_contacts", "failures", "sim_time_s"] {
            assert_eq!(found[key], alone[key], "{key} of seed {seed}");
        }
    }
    check(&["run", &scenario, "--seeds", &seeds, "--steps", "3", "--report", &many], 1);
    assert_eq!(report(&many)[0]["seeds_in_world"], 1, "windows that are counted are those of one seed");
}

#[test]
fn a_report_that_cannot_be_written_is_told() {
    let scenario = file("unwritable.yaml", CAR);
    let text = check(&["run", &scenario, "--report", "/no/such/folder/report.json"], 1);
    assert!(
        text.contains("error: cannot write report /no/such/folder/report.json: No such file or directory"),
        "{text}"
    );
    assert!(!text.contains("state hash"), "it is told before the run");
    let text = check(&["run", &scenario, "--quiet", "--report", "/dev/full"], 1);
    assert!(text.contains("error: cannot write report /dev/full: No space left on device"), "{text}");
}

#[test]
fn check_tells_all_problems_and_what_is_worth_knowing() {
    let good = file(
        "good.yaml",
        "robots: [{name: 'r{i}', kind: point, count: 2, layout: {line: {}}, sensors: {near: {kind: neighbours}}}]\n",
    );
    let text = check(&["check", &good], 0);
    assert!(
        text.contains("good.yaml: ok, 2 robots of 1 sort")
            && text.contains("note: the loop waits for sensors that look at the world with latency 0")
            && text.contains("point.near"),
        "{text}"
    );
    let bad = file("bad.yaml", "run: {sed: 1}\nrobots: [{name: r, kind: point, driver: {kind: way}}]\n");
    let text = check(&["check", &good, &bad], 3);
    assert!(
        text.contains("bad.yaml:1:7: error: ") && text.contains("bad.yaml:2:") && text.contains("bad.yaml: 2 errors"),
        "{text}"
    );
}

// D14: a mounted sensor shows where it is, whose it is, and its data by field
#[test]
fn inspect_shows_a_mounted_sensor() {
    let scenario = file(
        "mounted.yaml",
        "world: {ground: false}\nrobots: [{name: r, kind: point, at: {xyz_m: [1, 0, 0], yaw_deg: 90}, \
         sensors: {gps: {kind: gps, at: {xyz_m: [2, 0, 0.5]}}}}]\n",
    );
    let shown: Value = serde_json::from_str(&check(&["inspect", &scenario, "--json", "--at", "1s"], 0)).unwrap();
    let robot = &shown["robots"][0];
    let gps = robot["sensors"].as_array().unwrap().iter().find(|sensor| sensor["name"] == "gps").unwrap();
    assert_eq!((gps["robot"].as_str(), gps["kind"].as_str()), (Some("r"), Some("gps")));
    let numbers =
        |value: &Value| -> Vec<f64> { value.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect() };
    assert_eq!(numbers(&gps["relative_pose"]["position_m"]), [2.0, 0.0, 0.5]);
    let world = numbers(&gps["world_pose"]["position_m"]);
    let expected = [1.0, 2.0, 0.5];
    assert!(world.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{world:?}");
    let keys: BTreeSet<&str> = gps["data"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, muster_models::sensors::gps::FIELDS.iter().map(|field| field.name).collect());
    assert_eq!(numbers(&gps["data"]["position_m"]), world);
}

// D06: a robot is a tree of six kinds of blocks
#[test]
fn inspect_shows_the_tree_of_a_robot() {
    let scenario = file("tree.yaml", "robots: [{name: door, kind: sliding_door}, {name: mast, kind: pan_tilt}]\n");
    let shown = check(&["inspect", &scenario, "door"], 0);
    let tree: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("base")).collect();
    assert_eq!(tree[..2], ["base", "fork"], "{shown}");
    assert!(tree[2].starts_with("  variable translation along 0 1 0, 0.000000 to 0.900000 m: left, left.friction 0.6"));
    assert!(tree[3].starts_with("variable translation along -0 -1 -0") || tree[3].contains("along 0 -1 0"), "{shown}");
    let shown: Value = serde_json::from_str(&check(&["inspect", &scenario, "mast", "--json"], 0)).unwrap();
    let blocks: Vec<&str> =
        shown["tree"].as_array().unwrap().iter().map(|node| node["block"].as_str().unwrap()).collect();
    let kinds =
        ["base", "fixed translation", "variable rotation", "fixed translation", "variable rotation", "fixed tr"];
    assert!(blocks.len() == 6 && blocks.iter().zip(kinds).all(|(block, kind)| block.starts_with(kind)), "{blocks:?}");
}

#[test]
fn inspect_gives_any_value_at_any_time() {
    let scenario = file("values.yaml", CAR);
    let value = |arguments: &[&str]| check(&[&["inspect", &scenario][..], arguments].concat(), 0);
    assert_eq!(value(&["car.position_m"]).trim(), "0 0 0");
    let x: f64 = value(&["--at", "0.5s", "car.position_m[0]"]).trim().parse().unwrap();
    assert!(x > 0.45 && x < 0.6, "{x}");
    assert_eq!(value(&["car.speed_max_mps", "--json"]).trim(), "[10.0]");
    let table = value(&["car"]);
    assert!(table.contains("car.truth.position_m") && table.contains("constant"), "{table}");
    assert!(value(&[]).contains("waypoints 50 Hz"));
    let text = check(&["inspect", &scenario, "cra"], 1);
    assert!(text.contains("error: found no property \"cra\" (did you mean \"car\"?)"), "{text}");
    let text = check(&["inspect", &scenario, "submarine"], 1);
    assert!(text.contains("robots: car"), "{text}");
    let text = check(&["inspect", &scenario, "car.zzz"], 1);
    assert!(text.contains("properties of car: ") && text.contains("car.position_m"), "{text}");
    let text = check(&["inspect", &scenario, "car.positon_m"], 1);
    assert!(text.contains("error: found no property \"car.positon_m\" (did you mean \"car.position_m\"?)"), "{text}");
}

// D16: every component tells its kind, class and properties
#[test]
fn list_shows_every_service_with_its_arguments() {
    let items: Value = serde_json::from_str(&check(&["list", "services", "--json"], 0)).unwrap();
    let items = items.as_array().unwrap();
    assert_eq!(items.len(), muster::REGISTRY.services.len());
    let goto = items.iter().find(|item| item["service"] == "goto").unwrap();
    assert_eq!(goto["usage"], "goto(x_m, y_m, z_m = 0, tolerance_m = as it was, speed_mps = as it was)");
    assert_eq!((&goto["takes_time"], &goto["parameters"][2]["default"]), (&Value::from(true), &Value::from(0.0)));
    let text = check(&["list", "services"], 0);
    assert!(text.contains("xy_omega") && text.contains("turn_radps = 0  Turn rate, to the left."), "{text}");
}

#[test]
fn events_are_logged_and_reported() {
    let scenario =
        file("events.yaml", "{robots: [{name: r, kind: point}], events: [{on: at(0.5 s), do: 'r.v_omega(1, 0)'}]}");
    let json = file("events.json", "");
    let text = check(&["run", &scenario, "--for", "1s", "--report", &json], 0);
    assert!(text.contains("event at(0.5 s) at 0.500000 s: r.v_omega(1, 0)\n"), "{text}");
    let report = report(&json);
    assert_eq!((&report["event_counts"][0], &report["events"][0]["time_s"]), (&Value::from(1), &Value::from(0.5)));
    assert!(!check(&["run", &scenario, "--for", "1s", "--quiet"], 0).contains("event at"));
    let text = check(
        &["check", &file("wrong.yaml", "robots: [{name: r, kind: point}]\nevents:\n  - {on: at(1 s), do: r.stopp}\n")],
        3,
    );
    assert!(text.contains("wrong.yaml:3") && text.contains("did you mean \"stop\"?"), "{text}");
}

#[test]
fn list_shows_every_component_with_its_properties() {
    let items: Value = serde_json::from_str(&check(&["list", "components", "--json"], 0)).unwrap();
    let items = items.as_array().unwrap();
    let registry = muster::REGISTRY;
    let kinds = registry.motions.len()
        + registry.drivers.len()
        + registry.sensors.len()
        + registry.modifiers.len()
        + registry.winds.len()
        + registry.actuators.len();
    assert_eq!(items.len(), kinds);
    for item in items {
        assert!(
            item["kind"].is_string() && item["class"].is_string() && !item["doc"].as_str().unwrap().is_empty(),
            "{item}"
        );
        for property in item["properties"].as_array().unwrap() {
            assert!(property["name"].is_string() && property["type"].is_string(), "{property}");
            assert!(property.get("default").is_some() && property.get("value").is_some(), "{property}");
        }
    }
    let everything = check(&["list"], 0);
    for part in ["robots:", "quadrotor", "worlds:", "arena", "demos:", "A fleet of 72 robots", "gaussian_noise"] {
        assert!(everything.contains(part), "no {part:?} in\n{everything}");
    }
}

#[test]
fn schema_is_json_of_the_scenario() {
    let schema: Value = serde_json::from_str(&check(&["schema"], 0)).unwrap();
    assert_eq!(schema["title"], "muster scenario");
    assert!(schema["properties"]["robots"]["items"]["properties"]["motion"]["anyOf"].is_array());
}

#[test]
fn the_demo_runs_without_anything_else() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let output = command(&["demo", "--for", "1s"]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", err(&output));
    assert!(out(&output).contains("1.000 s in ") && out(&output).contains("2 of 2 hold"), "{}", out(&output));
    assert!(err(&output).contains("A fleet of 72 robots"));
}

/// The elements of a picture by name, how many of each; fails if a tag is not closed or an attribute not quoted.
fn elements(svg: &str) -> std::collections::BTreeMap<&str, usize> {
    let (mut open, mut found) = (Vec::new(), std::collections::BTreeMap::new());
    let mut parts = svg.trim().split('<');
    assert_eq!(parts.next(), Some(""), "it begins with an element");
    for part in parts {
        let (tag, text) = part.split_once('>').unwrap_or_else(|| panic!("a tag without end: <{part}"));
        assert!(!text.contains('>') && text.split('&').skip(1).all(|rest| rest.contains(';')), "{text}");
        assert!(!open.is_empty() || text.trim().is_empty(), "text outside: {text}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic()), "{tag}");
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name), "{part}"),
            (false, true) => (),
            (false, false) => open.push(name),
        }
        if !tag.starts_with('/') {
            assert!(tag.matches('\'').count() == 2 * tag.matches('=').count() && !tag.contains("NaN"), "{tag}");
            *found.entry(name).or_default() += 1;
        }
    }
    assert!(open.is_empty(), "{open:?}");
    found
}

#[test]
fn a_map_is_sound_and_shows_every_obstacle_zone_fire_and_robot() {
    for world in muster::library::names("worlds") {
        let svg = out(&muster(&["map", world, "-o", "-"]));
        elements(&svg);
        let text = format!("world: {{include: worlds/{world}.yaml}}");
        let sim = muster::Simulation::from_text(&text, &muster::Setup::default()).unwrap();
        let environment = &sim.world().model().environment;
        for obstacle in environment.obstacles.iter() {
            let title = format!("<title>{}", obstacle.name);
            let shown = svg.match_indices(&title).any(|(at, _)| svg[at + title.len()..].starts_with([' ', ',', '<']));
            assert!(shown, "{world} without {}", obstacle.name);
        }
        for zone in &environment.zones {
            assert!(svg.contains(&format!("<title>{} (", zone.name)), "{world} without {}", zone.name);
        }
        for fire in &environment.fires {
            assert!(svg.contains(&format!("<title>{}, ", fire.name)), "{world} without {}", fire.name);
        }
    }
}

#[test]
fn a_map_of_a_scenario_shows_robots_and_the_ways_they_came() {
    let text = format!("{CAR}  - {{name: '<a&b>', kind: boat, at: {{xyz_m: [0, 3, 0]}}}}\n");
    let (scenario, svg) = (file("mapped.yaml", &text), file("mapped.svg", ""));
    assert!(check(&["map", &scenario, "-o", &svg, "--at", "0.5s"], 0).contains("mapped.svg: 0 obstacles, 2 robots"));
    let picture = std::fs::read_to_string(&svg).unwrap();
    let counts = elements(&picture);
    // a trail of six places for each robot, and both names beside them, whatever is in them
    assert_eq!(counts.get("polyline"), Some(&2), "{picture}");
    assert!(picture.contains(">car</text>") && picture.contains(">&lt;a&amp;b&gt;</text>"), "{picture}");
    // a world file of one's own, nothing at all, and what is no world
    let own = file("own_world.yaml", "obstacles: {ramp: {plane: true, at: {rpy_deg: [0, 9, 0]}}}\n");
    assert!(out(&muster(&["map", &own, "-o", "-"])).contains("<title>ramp</title>"));
    elements(&out(&muster(&["map", &file("nothing.yaml", "world: {ground: false}\n"), "-o", "-"])));
    let told = check(&["map", "aren", "-o", "-"], 3);
    assert!(
        told.contains("found no file \"aren\", expected a scenario, or one of the worlds airfield, arena, "),
        "{told}"
    );
    assert!(told.contains("(did you mean \"arena\"?)"), "{told}");
    assert!(check(&["map", "atlantis.yaml", "-o", "-"], 3).contains("no file \"atlantis.yaml\""));
    check(&["map", &own, "-o", "/nowhere/map.svg"], 1);
}

#[test]
fn look_writes_what_a_camera_or_a_scanner_sees_as_png() {
    let scenario = file(
        "look.yaml",
        "{world: {include: worlds/indoor_room.yaml}, robots: [{name: r, kind: point, sensors: {\
         camera: {kind: camera, columns: 32, rows: 24, output: [colour, depth, ids]}, \
         scan: {kind: range, preset: urg04lx, at: {xyz_m: [0, 0, 0.4]}}, sonar: {kind: range, preset: hc_sr04}, imu: {kind: imu}}}]}",
    );
    let size = |path: &str| {
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n", "{path}");
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        (number(16), number(20), bytes[24], bytes[25])
    };
    let image = scenario.replace("look.yaml", "image.png");
    let text = check(&["look", &scenario, "--sensor", "r.camera", "--at", "1s", "--out", &image], 0);
    assert!(text.contains("r.camera at 1.000000 s"), "{text}");
    // columns, rows, bits, and 2 for colours, 0 for grey
    assert_eq!(size(&image.replace(".png", "-colour.png")), (32, 24, 8, 2));
    assert_eq!(size(&image.replace(".png", "-depth_m.png")), (32, 24, 16, 0));
    assert_eq!(size(&image.replace(".png", "-id.png")), (32, 24, 8, 2));
    check(&["look", &scenario, "--sensor", "r.scan", "--out", &image], 0);
    assert_eq!(size(&image), (900, 900, 8, 2));
    for (sensor, expected) in [
        ("r.camra", "did you mean \"camera\"?"),
        ("q.camera", "found no robot \"q\""),
        ("camera", "expected robot.sensor"),
        ("r.imu", "which is of kind imu, expected a camera"),
        ("r.sonar", "a range sensor that tells each ray"),
    ] {
        let text = check(&["look", &scenario, "--sensor", sensor, "--out", &image], 2);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn any_engine_of_pictures_gives_the_same_run() {
    const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/cameras.yaml");
    let hash = |render: &str| {
        let path = file("render.json", "");
        check(&["run", EXAMPLE, "--for", "1s", "-q", "--render", render, "--report", &path], 0);
        report(&path)["state_hash"].clone()
    };
    assert_eq!(hash("null"), hash("cpu"));
    assert_eq!(hash("auto"), hash("cpu"));
    assert!(check(&["run", EXAMPLE, "--render", "laser"], 2).contains("expected one of null, cpu, gpu, auto"));
}

#[test]
#[cfg(not(feature = "gpu"))]
fn a_program_built_without_graphics_cards_says_so() {
    const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/cameras.yaml");
    assert!(check(&["run", EXAMPLE, "--render", "gpu"], 3).contains("built without graphics cards"));
    let path = file("without-card.json", "");
    check(&["run", EXAMPLE, "--for", "0.1s", "-q", "--render", "auto", "--report", &path], 0);
    let told = &report(&path)["render"];
    assert_eq!(told["engine"], "cpu");
    assert!(told["why"].as_str().unwrap().contains("--features gpu"), "{told}");
}

/// A wall with its face at 5 m and a camera that measures depth.
const EYE: &str = "\
run: {for_s: 0.5}
world: {ground: false, obstacles: {wall: {box_size_m: [1, 9, 9], at: {xyz_m: [5.5, 0, 0]}}}}
robots:
  - name: eye
    motion: {kind: point}
    sensors: {c: {kind: camera, columns: 8, rows: 6, output: [depth], rate_hz: 10}}
";

#[test]
fn what_cannot_be_printed_or_written_is_a_failure() {
    // a line that did not fit on the disk was lost with exit code 0, and so was a small picture in an unflushed buffer
    let scenario = file("eye.yaml", EYE);
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    for arguments in [&["schema"][..], &["list", "sensors"], &["check", &scenario]] {
        let output = command(arguments).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(err(&output).contains("cannot write to the standard output"), "{}", err(&output));
    }
    let text = check(&["look", &scenario, "--sensor", "eye.c", "--at", "0.1s", "--out", "/dev/full"], 1);
    assert!(text.contains("cannot write /dev/full"), "{text}");
}

#[test]
fn a_run_can_be_judged_by_what_a_camera_sees() {
    // cameras speak only when somebody listens, and the judge did not
    let expect = "expect: [{that: value, of: \"eye.c[0]\", min: 4.9, max: 5.1}]\n";
    check(&["run", &file("judged.yaml", &format!("{EYE}{expect}")), "-q"], 0);
    let unknown = check(&["check", &file("unknown.yaml", &format!("{EYE}{}", expect.replace("eye.", "eyee.")))], 3);
    assert!(unknown.contains("found \"eyee\", expected a robot: eye (did you mean \"eye\"?)"), "{unknown}");
}

// B17
#[test]
fn the_maze_is_scanned_if_no_scene_is_named() {
    let scan = |method: &str| {
        let text = muster(&[
            "bench",
            "range",
            "--pattern",
            "20x20",
            "--method",
            method,
            "--threads",
            "1",
            "--quick",
            "--json",
        ]);
        let line: Value = serde_json::from_str(&out(&text)).unwrap();
        assert_eq!((&line["pattern"], &line["method"]), (&Value::from("20x20"), &Value::from(method)));
        line["mean_range_m"].as_f64().unwrap()
    };
    let (ray_m, depth_m) = (scan("ray"), scan("depth"));
    // cells are a metre wide, and above the walls there is nothing
    assert!((0.5..40.0).contains(&ray_m) && (ray_m - depth_m).abs() < 0.05 * ray_m, "{ray_m} m and {depth_m} m");
}
