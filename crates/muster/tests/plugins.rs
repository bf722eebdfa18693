//! Plug-ins: built here with this machine's compilers, then loaded, run and made to fail.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use muster::{Action, Setup, Simulation};
use muster_core::world::Options;
use muster_scenario::text::Threads;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Where what tests build goes.
fn built() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("plugins")
}

fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}\n{}{}", out(&output), err(&output));
    output
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Builds crates of plug-ins; all share one folder, so that what they are made with is built once.
fn cargo(manifest: &Path) {
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "--offline", "--release", "--manifest-path"]).arg(manifest);
    // what belongs to the build of this test is not meant for the plug-ins
    command.env("CARGO_TARGET_DIR", built()).env("CARGO_INCREMENTAL", "0").env_remove("RUSTFLAGS");
    succeeds(&mut command);
}

fn library(name: &str) -> PathBuf {
    built().join("release").join(format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX))
}

/// The plug-in of tests.
fn trials() -> &'static str {
    static TRIALS: OnceLock<String> = OnceLock::new();
    TRIALS.get_or_init(|| {
        cargo(&root().join("crates/muster/tests/plugins/Cargo.toml"));
        library("trials").display().to_string()
    })
}

/// The examples in Rust.
fn examples() {
    static EXAMPLES: OnceLock<()> = OnceLock::new();
    EXAMPLES.get_or_init(|| cargo(&root().join("examples/plugins/Cargo.toml")));
}

const FLAGS: [&str; 6] = ["-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra"];

/// Compiles C or C++ (by the ending) into a library of this name, in a folder of its own.
fn compiled(source: &Path, name: &str, defines: &[&str]) -> String {
    let folder = built().join("c");
    std::fs::create_dir_all(&folder).unwrap();
    let to = folder.join(format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX));
    let plain = source.extension().is_some_and(|ending| ending == "c");
    let (compiler, standard) = if plain { ("cc", "-std=c11") } else { ("c++", "-std=c++20") };
    let mut command = Command::new(compiler);
    command.arg(standard).args(FLAGS).arg("-Wno-missing-field-initializers").args(defines);
    command.arg("-I").arg(root().join("crates/muster-plugin/include")).arg("-o").arg(&to).arg(source).arg("-lm");
    succeeds(&mut command);
    to.display().to_string()
}

fn broken(name: &str, defines: &[&str]) -> String {
    compiled(&root().join("crates/muster/tests/plugins/broken.c"), name, defines)
}

/// The command, and its output and exit code.
fn muster(arguments: &[&str]) -> (String, i32) {
    muster_with(arguments, "")
}

fn muster_with(arguments: &[&str], plugin_path: &str) -> (String, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
    command.args(arguments).env_remove("MUSTER_SEED").env("MUSTER_PLUGIN_PATH", plugin_path);
    let output = command.output().unwrap();
    (format!("{}{}", out(&output), err(&output)), output.status.code().unwrap_or(-1))
}

/// A scenario file.
fn file(name: &str, text: &str) -> String {
    let folder = built().join("scenarios");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn simulation(text: &str) -> Simulation {
    simulation_on(text, 1)
}

fn simulation_on(text: &str, threads: usize) -> Simulation {
    let setup = Setup { threads: Some(Threads::Count(threads)), ..Setup::default() };
    Simulation::from_text(text, &setup).unwrap_or_else(|error| panic!("{error}"))
}

fn with_trials(rest: &str) -> String {
    format!("{{plugins: [{:?}], {rest}}}", trials())
}

fn refusal(text: &str) -> (String, bool) {
    let error = Simulation::from_text(text, &Setup::default()).err().unwrap_or_else(|| panic!("{text} was accepted"));
    (error.to_string(), error.refused)
}

fn number(sim: &Simulation, path: &str) -> f64 {
    sim.world().number(path).unwrap_or_else(|| panic!("no {path}"))
}

fn faults(sim: &mut Simulation) -> Vec<(String, String)> {
    let faults = sim.world_mut().take_faults();
    let name = |number| sim.world().robot(number).map_or_else(String::new, |robot| robot.name.clone());
    faults.iter().map(|fault| (name(fault.robot), fault.what.clone())).collect()
}

/// Runs an example and returns what it says.
fn run_example(name: &str, libraries: &[(&str, &str)]) -> String {
    let text = std::fs::read_to_string(root().join("examples/plugins").join(name)).unwrap();
    let text = libraries.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "{name} names {from}");
        text.replace(from, to)
    });
    let (said, code) = muster(&["run", &file(name, &text)]);
    assert_eq!(code, 0, "{name}:\n{said}");
    said
}

#[test]
fn the_door_in_rust_is_open_while_somebody_is_near_and_closes_five_seconds_after() {
    examples();
    run_example("door.yaml", &[("./target/release/door", &library("door").display().to_string())]);
    let text = format!(
        "{{plugins: [{:?}], robots: [{{name: door, kind: sliding_door, driver: {{kind: door}}}}, \
         {{name: r, kind: point, at: {{xyz_m: [-5, 0, 0.2]}}}}]}}",
        library("door")
    );
    let mut sim = simulation(&text);
    let forward = Action::Setpoint { robot: "r".to_owned(), mode: 1.0, values: [1.0, 0.0, 0.0, 0.0] };
    sim.command(forward);
    let (mut last_near, mut closed) = (0.0, None);
    for step in 1..=2000 {
        let t = 0.01 * f64::from(step);
        sim.run_for(0.01);
        let position = sim.world().property("r.position_m").unwrap();
        let near = position.iter().map(|x| x * x).sum::<f64>() <= 4.0;
        let open = number(&sim, "door.driver.open") == 1.0;
        if near {
            last_near = t;
            assert!(open || t < 3.07, "open at {t}");
        } else if closed.is_none() && last_near > 0.0 && !open {
            closed = Some(t);
        }
    }
    // the sensor looks every 0.05 s
    assert!((closed.unwrap() - last_near - 5.0).abs() < 0.06, "{closed:?} {last_near}");
    assert_eq!(number(&sim, "r.contacts"), 0.0);
    assert!(sim.unrepeatable().is_empty(), "{:?}", sim.unrepeatable());
}

#[test]
fn the_driver_in_c_and_the_sensor_in_cpp_do_what_they_say() {
    let circle = compiled(&root().join("examples/plugins/circle/circle.c"), "circle", &[]);
    run_example("circle.yaml", &[("./circle/circle", &circle)]);
    let bearing = compiled(&root().join("examples/plugins/bearing/bearing.cpp"), "bearing", &[]);
    run_example("bearing.yaml", &[("./bearing/bearing", &bearing)]);
    // an exception becomes a message with the place of what caused it
    let text = format!(
        "{{plugins: [{bearing:?}], robots: [{{name: r, kind: differential, \
         sensors: {{b: {{kind: bearing, target: \"\"}}}}}}]}}"
    );
    let (said, _) = refusal(&text);
    assert!(said.contains("found no target, expected the name of a robot"), "{said}");
    assert!(said.contains("scenario.yaml:1"), "{said}");
}

#[test]
fn the_extension_serves_a_port_while_the_simulation_runs() {
    examples();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let text = format!(
        "{{plugins: [{:?}], extensions: {{server: {{kind: server, port: {port}}}}}, \
         robots: [{{name: rover, kind: differential}}]}}",
        library("server")
    );
    let mut sim = simulation(&text);
    let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let mut ask = |question: &str, sim: &mut Simulation| {
        writeln!(&client, "{question}").unwrap();
        let (mut answer, begun) = (String::new(), Instant::now());
        while !answer.ends_with('\n') {
            sim.run_for(0.02);
            assert!(begun.elapsed() < Duration::from_secs(20), "no answer to {question}");
            _ = reader.read_line(&mut answer);
        }
        answer.trim().to_owned()
    };
    assert_eq!(ask("robots", &mut sim), "rover");
    assert_eq!(ask("get rover.position_m", &mut sim), "0 0 0");
    assert_eq!(ask("get rover.nope", &mut sim), "error no property rover.nope");
    assert_eq!(ask("set rover.setpoint_mode 1", &mut sim), "ok");
    assert_eq!(ask("set rover.setpoint 0.5 0 0 0", &mut sim), "ok");
    assert!(ask("ask rover dance", &mut sim).starts_with("error"));
    sim.run_for(2.0);
    let x: f64 = ask("get rover.position_m", &mut sim).split(' ').next().unwrap().parse().unwrap();
    assert!(x > 0.5, "{x}");
    // a second simulation cannot have the port, and says so
    let (said, refused) = refusal(&text);
    assert!(refused && said.contains("extension \"server\"") && said.contains(&port.to_string()), "{said}");
    drop(sim);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "shut down with the simulation");
}

/// A project for each language and family builds and runs as it is.
#[test]
fn new_projects_build_and_run_as_they_are() {
    let folder = built().join("new");
    _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let place = folder.display().to_string();
    let families = ["driver", "sensor", "look", "modifier", "motion", "extension"];
    for family in families {
        for language in ["c", "cpp", "rust"] {
            let name = format!("my_{family}_{language}");
            let (said, code) = muster(&["plugin", "new", &name, "--lang", language, "--kind", family, "--in", &place]);
            assert_eq!(code, 0, "{said}");
            let project = folder.join(&name);
            if language == "rust" {
                // all in the folder of this test; what the scenario names is put where it looks
                cargo(&project.join("Cargo.toml"));
                std::fs::create_dir_all(project.join("target/release")).unwrap();
                let to = project.join("target/release").join(library(&name).file_name().unwrap());
                std::fs::copy(library(&name), to).unwrap();
            } else {
                succeeds(Command::new("make").arg("-s").current_dir(&project));
            }
            let (said, code) = muster(&["run", &project.join("scenario.yaml").display().to_string()]);
            assert_eq!(code, 0, "{name}:\n{said}");
        }
    }
    let (said, code) = muster(&["plugin", "new", "my_driver_c", "--in", &place]);
    assert!(code == 1 && said.contains("not taken"), "{said}");
    let (said, code) = muster(&["plugin", "new", "Mine!", "--in", &place]);
    assert!(code == 2 && said.contains("small letters"), "{said}");
}

#[test]
fn what_cannot_be_used_is_refused_with_exit_code_4_and_its_place() {
    let cases: [(&str, &[&str], &str); 9] = [
        ("abi", &["-DWRONG_ABI"], "ABI mismatch"),
        ("symbol", &["-DNO_DESTROY"], "no symbol muster_destroy"),
        ("table", &["-DSMALL_TABLE"], "a table of 12 bytes"),
        ("size", &["-DNO_SIZE"], "kinds of 0 bytes"),
        ("name", &["-DBAD_NAME"], "kind \"bad name!\""),
        ("taken", &["-DTAKEN_NAME"], "driver \"waypoints\""),
        ("fallback", &["-DBAD_FALLBACK"], "fallback \"many\""),
        ("step", &["-DNO_STEP"], "kind \"broken\" with no step"),
        ("nothing", &["-DMAKES_NOTHING"], "nothing made by plug-in \"broken\""),
    ];
    for (name, defines, expected) in cases {
        let library = broken(&format!("broken_{name}"), defines);
        let driver = if name == "nothing" { "driver: {kind: broken}" } else { "about: nobody" };
        let text = format!("plugins:\n  - {library}\nrobots:\n  - {{name: r, kind: point, {driver}}}\n");
        let path = file(&format!("refused_{name}.yaml"), &text);
        for command in ["run", "check"] {
            let (said, code) = muster(&[command, &path]);
            assert_eq!(code, 4, "{name}:\n{said}");
            assert!(said.contains(expected), "{name}: {expected}\n{said}");
            assert!(said.contains(&format!("refused_{name}.yaml:")), "{said}");
        }
    }
    let path = file("no_library.yaml", "plugins: [./nowhere.so]\nrobots: [{name: r, kind: point}]\n");
    let (said, code) = muster(&["run", &path]);
    assert!(code == 4 && said.contains("nowhere.so"), "{said}");
    let path = file("no_name.yaml", "plugins: [nowhere]\nrobots: [{name: r, kind: point}]\n");
    let (said, code) = muster_with(&["run", &path], "/tmp");
    assert!(code == 4 && said.contains("MUSTER_PLUGIN_PATH (/tmp)"), "{said}");
    let text = file("text.so", "no library at all");
    let path = file("no_code.yaml", &format!("plugins: [{text}]\nrobots: [{{name: r, kind: point}}]\n"));
    let (said, code) = muster(&["run", &path]);
    assert!(code == 4 && said.contains("a shared library"), "{said}");
}

#[test]
fn parameters_of_plugins_are_read_like_those_of_built_in_kinds() {
    let library = broken("broken", &[]);
    let text =
        |driver: &str| format!("plugins: [{library}]\nrobots:\n  - name: r\n    kind: point\n    driver: {driver}\n");
    let check = |driver: &str, expected: &str, refused: bool| {
        let (said, was_refused) = refusal(&text(driver));
        assert!(said.contains(expected), "{expected}\n{said}");
        assert!(said.contains("scenario.yaml:5"), "{said}");
        assert_eq!(was_refused, refused, "{said}");
    };
    check("{kind: broken, gaim: 2}", "did you mean \"gain\"?", false);
    check("{kind: broken, gain: high}", "expected number", false);
    check("{kind: brokn}", "did you mean \"broken\"?", false);
    check("{kind: broken, gain: -1}", "found a negative gain", false);
    let mut sim = simulation(&text("{kind: broken, gain: 2}"));
    sim.run_for(0.1);
    assert!(sim.unrepeatable()[0].contains("MUSTER_REPEATABLE"), "{:?}", sim.unrepeatable());
    let plugins = sim.plugins();
    assert_eq!((plugins.len(), plugins[0].name.as_str(), plugins[0].version.as_str()), (1, "broken", "0"));
    assert_eq!(plugins[0].digest, muster_core::hash::digest(&std::fs::read(&library).unwrap()));
    let (listed, code) = muster(&["list", "drivers", "--json", "--plugin", &library]);
    assert_eq!(code, 0);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let item = listed.as_array().unwrap().iter().find(|item| item["kind"] == "broken").expect("it is listed");
    assert_eq!((&item["class"], &item["properties"][0]["default"]), (&Value::from("driver"), &Value::from("1")));
    let (schema, _) = muster(&["schema", "--plugin", &library]);
    assert!(schema.contains("\"const\": \"broken\"") && schema.contains("\"gain\""));
    let (without, _) = muster(&["schema"]);
    assert!(!without.contains("\"const\": \"broken\""));
}

/// Chunks of robots of which one misbehaves.
fn troubled(how: &str) -> String {
    with_trials(&format!(
        "run: {{for_s: 2}}, robots: [{{name: \"r{{i}}\", kind: point, count: 20, \
         layout: {{grid: {{rows: 4, spacing_m: 5}}}}, driver: {{kind: troubled, how: {how}, robot: r7, at_s: 0.5}}}}]"
    ))
}

#[test]
fn a_driver_that_fails_is_named_and_only_its_robot_is_isolated() {
    for (how, expected) in [
        ("panic", "driver \"troubled\" of plug-in \"trials\": panicked: no way out"),
        ("nan", "driver \"troubled\" of plug-in \"trials\": wrote what is no number"),
        ("fail", "driver \"troubled\" of plug-in \"trials\": lost its way"),
    ] {
        let mut sim = simulation(&troubled(how));
        sim.run_for(2.0);
        let faults = faults(&mut sim);
        assert_eq!(faults.len(), 1, "{how}: {faults:?}");
        assert!(faults[0].0 == "r7" && faults[0].1.starts_with(expected), "{faults:?}");
        let moved = |robot: &str| sim.world().property(&format!("{robot}.velocity_mps")).unwrap()[0];
        assert_eq!((moved("r7"), moved("r6"), moved("r8"), moved("r19")), (0.0, 0.5, 0.5, 0.5), "{how}");
    }
    let library = broken("broken_fails", &["-DFAILS"]);
    let text = format!("{{plugins: [{library:?}], robots: [{{name: r, kind: point, driver: {{kind: broken}}}}]}}");
    let mut sim = simulation(&text);
    sim.run_for(0.1);
    assert!(faults(&mut sim)[0].1.contains("returned error 17"));
}

#[test]
fn a_call_that_takes_too_long_is_told_and_its_robots_are_isolated() {
    let slow = troubled("sleep").replacen("for_s: 2", "for_s: 2, plugin_limit_ms: 20", 1);
    let mut sim = simulation(&slow);
    sim.run_for(1.0);
    let faults = faults(&mut sim);
    // a call serves a chunk: all robots of it go, those of the other stay
    assert!(faults.iter().any(|(robot, _)| robot == "r7") && faults.len() == 16, "{faults:?}");
    assert!(faults[0].1.contains("longer than the 20 ms of run.plugin_limit_ms"), "{faults:?}");
    assert_eq!(sim.world().property("r19.velocity_mps").unwrap()[0], 0.5);
    let hung = troubled("hang").replacen("for_s: 2", "for_s: 0.6, plugin_limit_ms: 20", 1);
    let (said, code) = muster(&["run", &file("hangs.yaml", &hung)]);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("warning: driver \"troubled\" of plug-in \"trials\" has not returned from a call for 1."),
        "{said}"
    );
}

#[test]
fn the_run_goes_on_or_stops_as_the_scenario_says() {
    let on = file("goes_on.yaml", &troubled("panic"));
    let (said, code) = muster(&["run", &on]);
    assert!(code == 1 && said.contains("robot \"r7\" was isolated") && said.contains("no way out"), "{said}");
    assert!(!said.contains("stopped at"), "{said}");
    let stops = troubled("panic").replacen("for_s: 2", "for_s: 2, on_fault: stop", 1);
    let (said, code) = muster(&["run", &file("stops.yaml", &stops)]);
    assert!(code == 1 && said.contains("stopped at 0.5"), "{said}");
}

#[test]
fn sensors_modifiers_and_motions_that_fail_isolate_their_robots() {
    let check = |robots: &str, expected: &str, isolated: &[&str]| {
        let mut sim = simulation(&with_trials(&format!("robots: [{robots}]")));
        sim.run_for(3.0);
        let faults = faults(&mut sim);
        let names: Vec<&str> = faults.iter().map(|(robot, _)| robot.as_str()).collect();
        assert_eq!(names, isolated, "{faults:?}");
        assert!(faults[0].1.contains(expected), "{expected}: {faults:?}");
    };
    let three = |rest: &str| {
        format!("{{name: \"r{{i}}\", kind: point, count: 3, at: {{xyz_m: [\"{{3 * i}}\", 0, 0.2]}}, {rest}}}")
    };
    let told = "of plug-in \"trials\": ";
    check(&three("sensors: {s: {kind: blind}}"), &format!("sensor \"s\" {told}measured what is no number"), &["r1"]);
    check(&three("sensors: {s: {kind: startled}}"), &format!("{told}panicked: saw something"), &["r1"]);
    check(
        "{name: a, kind: point, at: {xyz_m: [-2, 0, 0.2]}, sensors: {t: {kind: truth, modifiers: [{kind: picky}]}}}, \
         {name: b, kind: point, sensors: {t: {kind: truth, modifiers: [{kind: picky}]}}}",
        &format!("{told}panicked: too far to the west"),
        &["a"],
    );
    check(
        "{name: a, motion: {kind: wild, rate_hz: 100}}, \
         {name: b, motion: {kind: wild, rate_hz: 100}, at: {xyz_m: [-9, 3, 0]}}",
        &format!("motion \"wild\" {told}moved it to what is no number"),
        &["a"],
    );
}

#[test]
fn a_motion_and_a_modifier_of_a_plugin_work_beside_built_in_ones() {
    let mut sim = simulation(&with_trials(
        "robots: [{name: a, motion: {kind: wild, rate_hz: 100}, \
         sensors: {t: {kind: truth, rate_hz: 10, modifiers: [{kind: picky}]}}}]",
    ));
    sim.run_for(1.0);
    assert!((number(&sim, "a.position_m[0]") - 2.0).abs() < 1e-9);
    assert!((number(&sim, "a.motion.come_m") - 2.0).abs() < 1e-9, "state of a motion is a property");
    // sample 10 is even and lost; sample 9 stands
    assert!((number(&sim, "a.t.stamp_ns") - 0.9e9).abs() < 1.0);
    // while it runs a modifier of a plug-in comes and goes
    sim.set_modifiers("a", "t", "[]").unwrap();
    sim.run_for(1.0);
    assert!((number(&sim, "a.t.stamp_ns") - 2e9).abs() < 1.0);
    sim.set_modifiers("a", "t", "[{kind: picky}]").unwrap();
    sim.run_for(1.0);
    assert!((number(&sim, "a.t.stamp_ns") - 2.9e9).abs() < 1.0);
    let wrong =
        with_trials("robots: [{name: a, kind: point, sensors: {c: {kind: clock, modifiers: [{kind: picky}]}}}]");
    assert!(refusal(&wrong).0.contains("field position_m of 3"), "{}", refusal(&wrong).0);
}

#[test]
fn a_controller_of_a_library_gets_joints_and_writes_their_targets() {
    let text = |joint: &str| {
        with_trials(&format!("robots: [{{name: d, kind: sliding_door, driver: {{kind: waver, joint: {joint}}}}}]"))
    };
    let mut sim = simulation(&text("right"));
    sim.run_for(1.0);
    assert!((number(&sim, "d.joint.right") - 0.5).abs() < 0.1 && number(&sim, "d.joint.left").abs() < 1e-9);
    sim.run_for(2.0);
    assert!((number(&sim, "d.joint.right") - 0.25).abs() < 1e-6);
    assert!((number(&sim, "d.driver.seen") - 0.25).abs() < 1e-6, "what it was told");
    assert!(refusal(&text("middle")).0.contains("found joint \"middle\""), "{}", refusal(&text("middle")).0);
}

#[test]
fn sensors_call_every_listener_once_a_sample_in_the_order_of_registration() {
    let mut sim = simulation(&with_trials(
        "robots: [{name: a, kind: point, sensors: {x: {kind: truth, rate_hz: 10}, y: {kind: world_state, rate_hz: 10}}, \
           driver: {kind: listener, sensors: \"x, y, x\"}}, \
         {name: b, kind: point, at: {xyz_m: [5, 0, 0]}, driver: {kind: listener, sensors: \"a.x\"}}]",
    ));
    sim.run_for(1.05);
    assert_eq!(number(&sim, "a.driver.heard"), 30.0, "three callbacks at 10 Hz for a second");
    assert_eq!(number(&sim, "a.driver.order"), 123_123_123.0);
    assert_eq!(number(&sim, "b.driver.heard"), 10.0, "of another robot, without any link");
    for robot in ["a", "b"] {
        assert!(
            (number(&sim, &format!("{robot}.driver.first")) - 0.1).abs() < 1e-9,
            "{robot}: from the first sample on"
        );
    }
    assert!(!sim.unrepeatable().is_empty(), "it does not say that it may be repeated");
    let (said, _) = refusal(&with_trials("robots: [{name: a, kind: point, driver: {kind: listener, sensors: nose}}]"));
    assert!(said.contains("no sensor \"nose\"") && said.contains("which driver \"listener\" reads"), "{said}");
}

#[test]
fn fifty_robots_read_one_scan_at_one_address() {
    let text = |robots: usize| {
        with_trials(&format!(
            "robots: [{{name: a, kind: point, sensors: {{scan: {{kind: range, rate_hz: 10, \
             rays: {{from_deg: -180, to_deg: 180, count: 140000}}}}}}}}, \
             {{name: \"b{{i}}\", kind: point, count: {robots}, layout: {{grid: {{rows: 5, spacing_m: 3, from_m: [5, 5, 0]}}}}, \
             driver: {{kind: listener, sensors: \"a.scan\"}}}}]"
        ))
    };
    let mut sim = simulation(&text(50));
    sim.run_for(0.55);
    let values = sim.world().property("a.scan").unwrap().len();
    assert!(values * 8 >= 1 << 20, "a scan of at least 1 MB: {values} numbers");
    let addresses: Vec<f64> = (0..50).map(|i| number(&sim, &format!("b{i}.driver.address"))).collect();
    assert!(addresses[0] != 0.0 && addresses.iter().all(|address| *address == addresses[0]), "{addresses:?}");
    assert_eq!(number(&sim, "b49.driver.heard"), 5.0);
}

#[test]
fn unknown_names_give_an_answer_and_extensions_are_found_by_name() {
    let robots = "robots: [{name: a, kind: differential, driver: {kind: asker}}]";
    let mut sim = simulation(&with_trials(robots));
    sim.run_for(0.1);
    assert_eq!(number(&sim, "a.driver.answers"), 7.0, "no extension of any name");
    let mut sim = simulation(&with_trials(&format!("extensions: {{counter: {{kind: counter}}}}, {robots}")));
    sim.run_for(0.2);
    assert_eq!(number(&sim, "a.driver.answers"), 17.0, "and one of the name asked for");
    assert!(sim.take_troubles().is_empty());
    assert!((number(&sim, "a.setpoint[0]") - 0.25).abs() < 1e-12, "set by the extension");
    let failing = with_trials(&format!("extensions: {{counter: {{kind: counter, fail: true}}}}, {robots}"));
    let (said, refused) = refusal(&failing);
    assert!(refused && said.contains("extension \"counter\" of plug-in \"trials\": has no ink"), "{said}");
    let (said, _) = refusal(&with_trials(&format!("extensions: {{c: {{kind: countr}}}}, {robots}")));
    assert!(said.contains("did you mean \"counter\"?"), "{said}");
}

/// Robots whose drivers remember more than columns hold.
fn diarists() -> String {
    with_trials(
        "run: {seed: 5}, robots: [{name: \"r{i}\", kind: differential, count: 40, \
         layout: {grid: {rows: 8, spacing_m: 4}}, driver: {kind: diarist}}]",
    )
}

#[test]
fn the_same_bits_on_any_number_of_threads_with_a_plugin() {
    let hash = |threads: usize, options: Options| {
        let setup = Setup { threads: Some(Threads::Count(threads)), options, ..Setup::default() };
        let mut sim = Simulation::from_text(&diarists(), &setup).unwrap();
        sim.run_for(5.0);
        assert!(sim.unrepeatable().is_empty(), "{:?}", sim.unrepeatable());
        sim.world().hash()
    };
    let one = hash(1, Options::default());
    for threads in [2, 8] {
        assert_eq!(hash(threads, Options::default()), one, "{threads} threads");
    }
    assert_eq!(hash(1, Options { lanes: 3, ..Options::default() }), one, "in chunks of three");
}

#[test]
fn memories_of_plugins_are_saved_restored_and_hashed() {
    let mut sim = simulation(&diarists());
    let start = sim.world().hash();
    sim.run_for(2.0);
    let (saved, at_save) = (sim.save(), sim.world().hash());
    assert_eq!(saved.hash(), at_save, "a saved state has the hash it was saved with");
    sim.run_for(2.0);
    let end = sim.world().hash();
    assert_eq!(saved.hash(), at_save, "whatever happens meanwhile");
    sim.restore(&saved);
    assert_eq!(sim.world().hash(), at_save);
    sim.run_for(2.0);
    assert_eq!(sim.world().hash(), end, "the same way from the same memory");
    sim.reset();
    assert_eq!(sim.world().hash(), start);
    sim.run_for(4.0);
    assert_eq!(sim.world().hash(), end);
    // one page more in one diary is another state: nothing else of a robot that is suspended changes
    let mut other = simulation(&diarists().replacen("seed: 5", "seed: 6", 1));
    other.run_for(4.0);
    assert_ne!(other.world().hash(), end);
}

#[test]
fn robots_keep_their_memories_when_others_go_and_when_they_are_retooled() {
    let run = |retool: bool| {
        let text =
            diarists().replace("driver: {kind: diarist}", "driver: {kind: diarist}, sensors: {t: {kind: truth}}");
        let mut sim = simulation(&text);
        sim.run_for(1.0);
        if retool {
            sim.set_modifiers("r5", "t", "[{kind: dropout, probability: 0.5}]").unwrap();
            sim.run_for(0.02);
            sim.set_modifiers("r5", "t", "[]").unwrap();
            sim.run_for(0.98);
        } else {
            sim.run_for(1.0);
        }
        sim.command(Action::Delete { robot: "r3".to_owned() });
        sim.run_for(1.0);
        ["r5", "r4", "r15", "r39"].map(|robot| sim.world().property(&format!("{robot}.position_m")).unwrap())
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn what_keeps_state_that_is_not_saved_is_named() {
    let mut sim = simulation(&with_trials("robots: [{name: a, kind: point, driver: {kind: forgetful}}]"));
    sim.run_for(0.1);
    let reasons = sim.unrepeatable();
    assert!(reasons.len() == 1 && reasons[0].contains("driver \"forgetful\" of plug-in \"trials\""), "{reasons:?}");
    assert!(simulation("{robots: [{name: a, kind: quadrotor}]}").unrepeatable().is_empty(), "built-in ones promise it");
}

/// The trace, without the times.
fn traced(path: &str, plugin_path: &str) -> Vec<String> {
    let (said, code) = muster_with(&["run", path, "--trace", "-q"], plugin_path);
    assert_eq!(code, 0, "{said}");
    said.lines().filter(|line| line.starts_with("trace: ") || line.starts_with("trials: ")).map(str::to_owned).collect()
}

#[test]
fn a_driver_is_made_in_the_order_of_the_paper() {
    let folder = Path::new(&broken("broken", &[])).parent().unwrap().display().to_string();
    // by the name of the kind alone: the library is found when a robot asks for it
    let path = file("sequence.yaml", "run: {for_s: 0.1}\nrobots: [{name: r, kind: point, driver: {kind: broken}}]\n");
    let trace = traced(&path, &folder);
    let words: Vec<&str> = trace.iter().filter_map(|line| line.split(' ').nth(1)).collect();
    let made: Vec<&str> = words.into_iter().filter(|word| *word != "plug-in").collect();
    let expected = ["request", "open", "create", "attach", "configure", "configure", "start", "stop", "destroy"];
    assert_eq!(made, expected, "{trace:#?}");
    assert!(trace[5..].iter().any(|line| line == "trace: configure engines"), "{trace:#?}");
}

#[test]
fn extensions_begin_before_engines_and_end_after_them_and_all_is_freed_once() {
    let text = with_trials(
        "run: {for_s: 1}, extensions: {first: {kind: counter}, second: {kind: counter}}, \
         events: [{on: at(0.5 s), do: r1.delete}], \
         robots: [{name: \"r{i}\", kind: point, count: 3, layout: {grid: {rows: 1, spacing_m: 3}}, driver: {kind: diarist}}]",
    );
    let trace = traced(&file("order.yaml", &text), "");
    let at = |wanted: &str| {
        let places: Vec<usize> = (0..trace.len()).filter(|&at| trace[at].contains(wanted)).collect();
        assert!(!places.is_empty(), "{wanted}: {trace:#?}");
        places
    };
    let order = [
        at("create extension")[0],
        at("init extension")[0],
        at("init extension")[1],
        at("configure engines")[0],
        at("begun diary of r0")[0],
        at("start engines")[0],
        at("stop engines")[0],
        at("freed diarist")[0],
        at("shutdown extension")[0],
        at("shutdown extension")[1],
        at("destroy extension")[0],
    ];
    assert!(order.is_sorted(), "{order:?} {trace:#?}");
    // the robot that went at 0.5 s is remembered until the end, and freed once like all others
    for robot in ["r0", "r1", "r2"] {
        let begun = at(&format!("begun diary of {robot}")).len();
        let freed = at(&format!("freed diary of {robot}"));
        assert_eq!((begun, begun), (freed.len(), freed.len().max(1)), "{robot} {trace:#?}");
        assert!(
            freed.iter().all(|&freed| freed > at("stop engines")[0] && freed < at("freed diarist")[0]),
            "{trace:#?}"
        );
    }
    assert_eq!((at("made diarist").len(), at("freed diarist").len()), (1, 1), "{trace:#?}");
    assert_eq!(at("create driver").len(), at("destroy driver").len());
}

#[test]
fn plugins_register_their_callbacks_before_the_first_step_and_none_without_plugins() {
    let text = with_trials(
        "run: {for_s: 0.2}, robots: [{name: a, kind: point, sensors: {x: {kind: truth}}, \
         driver: {kind: listener, sensors: \"x, x\"}}, {name: b, kind: point, driver: {kind: listener, sensors: \"a.x\"}}]",
    );
    let trace = traced(&file("callbacks.yaml", &text), "");
    let start = trace.iter().position(|line| line.contains("start engines")).unwrap();
    let registered = |lines: &[String]| lines.iter().filter(|line| line.contains("registers with sensor")).count();
    assert_eq!((registered(&trace[..start]), registered(&trace[start..])), (3, 0), "{trace:#?}");
    let trace = traced(&file("alone.yaml", "{run: {for_s: 0.2}, robots: [{name: a, kind: point}]}"), "");
    assert_eq!(trace, ["trace: configure engines", "trace: start engines", "trace: stop engines"]);
}

#[test]
fn robots_of_several_seeds_share_a_plugin_without_meeting() {
    let alone = |seed: u64| {
        let mut sim = simulation(&diarists().replacen("seed: 5", &format!("seed: {seed}"), 1));
        sim.run_for(2.0);
        sim.world().hash()
    };
    let setup = Setup { seeds: vec![5, 6], ..Setup::default() };
    let mut sim = Simulation::from_text(&diarists(), &setup).unwrap();
    sim.run_for(2.0);
    assert_eq!([0, 1].map(|realm| sim.world().realm(realm).hash()), [alone(5), alone(6)]);
}

#[test]
fn the_report_names_plugins_with_their_digests() {
    let report = built().join("report.json").display().to_string();
    let path = file("report.yaml", &with_trials("run: {for_s: 0.1}, robots: [{name: a, kind: point}]"));
    assert_eq!(muster(&["run", &path, "-q", "--report", &report]).1, 0);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    let plugin = &report["plugins"][0];
    assert_eq!((&plugin["name"], &plugin["version"]), (&Value::from("trials"), &Value::from("1.2.3")));
    assert_eq!(plugin["digest"].as_str().unwrap().len(), 32);
}

#[test]
fn everything_placed_is_listed_and_has_any_parts_or_none() {
    let text = "\
robots:
  - {name: thinker, motion: {kind: fixture, rate_hz: 10}, driver: {kind: joint_script}}
  - {name: sign, motion: {kind: fixture, rate_hz: 10}, shape: {box_size_m: [1, 0.1, 1], collides: false}, at: {xyz_m: [0, 2, 1]}}
  - {name: stone, motion: {kind: fixture, rate_hz: 10}, shape: {box_size_m: [1, 1, 1]}, at: {xyz_m: [0, 4, 0.5]}}
  - name: watcher
    motion: {kind: fixture, rate_hz: 10}
    at: {xyz_m: [0, 6, 1]}
    sensors: {a: {kind: truth, rate_hz: 10}, b: {kind: clock, rate_hz: 10}, c: {kind: world_state, rate_hz: 10}}
  - {name: marker, motion: {kind: fixture, rate_hz: 10}, at: {xyz_m: [0, 8, 0]}}
";
    let path = file("placed.yaml", text);
    let (said, code) = muster(&["inspect", &path, "--json"]);
    assert_eq!(code, 0, "{said}");
    for name in ["thinker", "sign", "stone", "watcher", "marker"] {
        assert!(said.contains(&format!("\"{name}\"")), "{name}: {said}");
    }
    let mut sim = simulation(text);
    sim.run_for(1.0);
    // a sensor of the simulator's own variables, and one of the global state
    assert_eq!(number(&sim, "watcher.b.stamp_ns"), 1e9);
    let seen = sim.world().property("watcher.c").unwrap();
    assert!([2.0, 4.0, 6.0, 8.0].iter().all(|y| seen.contains(y)), "{seen:?}");
    let (said, _) = refusal("{robots: [{name: torn, kind: point, driver: [{kind: random_walk}, {kind: waypoints}]}]}");
    assert!(said.contains("robots[0].driver") && said.contains("a list of 2"), "{said}");
}
