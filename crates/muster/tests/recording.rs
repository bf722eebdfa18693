//! Recordings: what is in them, that they can be simulated again from themselves alone, and what is left of them when
//! something goes wrong.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod common;

use common::files::all;
use common::heap::{CountingAllocator, allocations_here};
use glam::DVec3;
use muster::record::{Verdict, Wants, load_recorded, open};
use muster::{Action, Datum, Setup, Simulation};
use muster_core::component::Pose;
use muster_core::contact::Bond;
use muster_core::lanes::setpoint;
use muster_core::model::Placement;
use muster_core::time::SimTime;
use muster_links::record::command::Deed;
use muster_links::record::reader::{Entry, Recording};
use muster_links::record::topics;
use muster_scenario::text::{Async, Threads};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

/// A folder of its own for each test, empty.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("recording").join(name);
    _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn muster(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
    command.args(arguments).env_remove("MUSTER_SEED").env_remove("MUSTER_RESOURCE_PATH");
    command
}

fn ran(mut command: Command, code: i32) -> Output {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{command:?}\n{}{text}", String::from_utf8_lossy(&output.stdout));
    output
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const FLEET: &str = "\
run: {for_s: 3.5, seed: 4}
world: {include: room.yaml}
robots:
  - name: r{i}
    kind: ./walker.yaml
    count: 5
    layout: {line: {step_m: [2, 0, 0], from_m: [-4, 0, 1]}}
";
const WALKER: &str = "\
kind: point
driver: {kind: random_walk, rate_hz: 30, speed_mps: 1}
sensors:
  truth: {kind: truth, rate_hz: 100}
  gps: {kind: gps, rate_hz: 10, latency_ms: 15, horizontal_noise_m: 0.3}
  scan: {kind: range, rate_hz: 10, method: auto, range_max_m: 12, rays: {kind: planar, from_deg: -90, to_deg: 90, count: 31}}
";
const ROOM: &str = "obstacles: {hut: {box_size_m: [1, 1, 2], at: {xyz_m: [3, 3, 1]}}}\n";

fn fleet(name: &str) -> (PathBuf, PathBuf) {
    let here = folder(name);
    std::fs::create_dir_all(here.join("in")).unwrap();
    for (file, text) in [("fleet.yaml", FLEET), ("walker.yaml", WALKER), ("room.yaml", ROOM)] {
        std::fs::write(here.join("in").join(file), text).unwrap();
    }
    (here.join("in/fleet.yaml"), here.join("out.mcap"))
}

/// Loads so that it can be recorded.
fn loaded(text: &str) -> Simulation {
    let setup = Setup { keep_files: true, threads: Some(Threads::Count(2)), ..Setup::default() };
    Simulation::from_text(text, &setup).unwrap()
}

/// Walks a recording again.
fn replayed(recording: &Recording) -> Verdict {
    let setup = Setup { threads: Some(Threads::Count(1)), asynchronous: Some(Async::None), ..Setup::default() };
    let mut sim = load_recorded(recording, &setup).unwrap();
    while !sim.replayed() {
        sim.walk_window(SimTime::NEVER);
    }
    sim.verdict().unwrap()
}

fn proven(verdict: &Verdict) -> usize {
    match verdict {
        Verdict::Equal { hashes, .. } => *hashes,
        other => panic!("{other}"),
    }
}

#[test]
fn a_run_is_proven_from_its_recording_alone() {
    let (scenario, out) = fleet("alone");
    let run = ["run", text(&scenario), "--record", text(&out), "--set", "robots[0].count=4", "--seed", "9", "-q"];
    ran(muster(&run), 0);
    std::fs::remove_dir_all(scenario.parent().unwrap()).unwrap();
    let elsewhere = out.with_file_name("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let mut verify = muster(&["replay", "../out.mcap", "--verify", "--threads", "1", "--async", "none"]);
    verify.current_dir(&elsewhere);
    let said = String::from_utf8(ran(verify, 0).stdout).unwrap();
    // at 0, 1, 2, 3 and 3.5 s
    assert!(said.contains("equal: 5 hashes, up to 3.500000 s"), "{said}");
    let recording = open(&out).unwrap();
    assert!(recording.whole());
    assert_eq!(recording.manifest.seed, 9);
    assert_eq!(recording.manifest.set, ["run.seed=9", "robots[0].count=4"]);
    let names: Vec<&str> =
        recording.manifest.files.iter().map(|(name, _)| name.rsplit(['/', ':']).next().unwrap()).collect();
    for name in ["fleet.yaml", "walker.yaml", "room.yaml", "point.yaml", "materials.yaml"] {
        assert!(names.contains(&name), "no {name} in {names:?}");
    }
    // what was left to the machine is pinned
    assert_eq!(recording.manifest.choices.len(), 1, "{:?}", recording.manifest.choices);
    let other = if recording.manifest.choices[0].1 == "ray" { "depth" } else { "ray" };
    let mut turned = recording.clone();
    turned.manifest.choices[0].1 = other.to_owned();
    let chosen = |recording: &Recording| {
        let sim = load_recorded(recording, &Setup::default()).unwrap();
        sim.choices().iter().map(|choice| choice.chosen.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(chosen(&recording), [recording.manifest.choices[0].1.clone()]);
    assert_eq!(chosen(&turned), [other]);
}

#[test]
fn every_robot_has_truth_and_command_and_truth_is_told_a_hundred_times_a_second() {
    let out = folder("topics").join("out.mcap");
    let mut sim = loaded(
        "{run: {for_s: 2}, robots: [{name: 'fixedwing_{i}', kind: fixed_wing, count: 2, at: {xyz_m: [0, 0, 100]}, layout: {line: {step_m: [0, 9, 0]}}}]}",
    );
    sim.record(&out, Wants::default()).unwrap();
    sim.run_for(2.0);
    let outcome = sim.end_recording("finished").unwrap();
    assert_eq!((outcome.error, outcome.dropped), (None, 0));
    let counts = open(&out).unwrap().counts;
    for robot in ["fixedwing_0", "fixedwing_1"] {
        let truth = counts[&format!("/{robot}/truth")];
        assert!((200..=201).contains(&truth), "{truth}");
        assert!(counts[&format!("/{robot}/command")] > 0);
    }
    for topic in ["/clock", "/tf", "/tf_static", topics::HASHES, topics::ROSTER] {
        assert!(counts.contains_key(topic), "no {topic} in {counts:?}");
    }
}

#[test]
fn sensors_have_the_topics_people_expect() {
    let out = folder("names").join("out.mcap");
    let scene = "\
robots:
  - name: rover-1
    kind: differential
    sensors:
      front: {kind: range}
      rear: {kind: range, at: {yaw_deg: 180}}
      sonar: {kind: range, aggregate: minimum, rays: {kind: cone, half_angle_deg: 10, count: 9}}
      velodyne: {kind: range, preset: vlp16, rays: {kind: rings, rings_deg: [-1, 1], count: 36}}
      imu: {kind: imu}
      receiver: {kind: gps}
      map: {kind: gps, modifiers: [{kind: utm}]}
      compass: {kind: magnetometer}
      cell: {kind: battery}
      bumper: {kind: collision}
      eye: {kind: camera, columns: 8, rows: 6, output: [colour, depth]}
";
    let mut sim = loaded(scene);
    sim.record(&out, Wants::default()).unwrap();
    sim.run_for(1.0);
    sim.end_recording("finished").unwrap();
    let counts = open(&out).unwrap().counts;
    let own: Vec<&str> = counts.keys().filter_map(|topic| topic.strip_prefix("/rover_1/")).collect();
    let expected = [
        "battery_state",
        "bumper",
        "camera/camera_info",
        "camera/depth/camera_info",
        "camera/depth/image_raw",
        "camera/image_raw",
        "command",
        "fix",
        "fix_velocity",
        "front/scan",
        "imu",
        "mag",
        "map",
        "odom",
        "points",
        "range/sonar",
        "rear/scan",
        "truth",
    ];
    assert_eq!(own, expected);
    assert_eq!(counts["/rover_1/front/scan"], 10);
}

/// A second of windows after warming up, until one costs the loop no allocation: the blocks that go round are made when
/// they are first needed, which depends on how fast the recorder is.
#[test]
fn recording_makes_the_loop_allocate_nothing() {
    let out = folder("heap").join("out.mcap");
    let mut sim = loaded(&FLEET.replace("world: {include: room.yaml}\n", "").replace("./walker.yaml", "quadrotor"));
    sim.record(&out, Wants::default()).unwrap();
    sim.run_for(3.0);
    let mut second = || {
        let (before, end) = (allocations_here(), sim.world().time() + SimTime::from_s(1.0));
        while sim.world().time() < end {
            sim.walk_window(end);
        }
        allocations_here() - before
    };
    let seconds: Vec<u64> = (0..20).map(|_| second()).collect();
    assert!(seconds.contains(&0), "{seconds:?}");
    assert!(seconds.iter().sum::<u64>() < 500, "{seconds:?}");
    assert_eq!(sim.end_recording("finished").unwrap().error, None);
}

#[test]
fn every_scenario_of_the_repository_is_recorded_and_proven() {
    let here = folder("examples");
    for file in all() {
        let setup = Setup { keep_files: true, threads: Some(Threads::Count(2)), ..Setup::default() };
        let mut sim = file.load(&setup);
        let out = here.join("out.mcap");
        // pictures take their time, and are no part of the state
        let cameras = |robot: &muster_core::state::Robot| {
            robot.cohort.blueprint.sensors.iter().any(|slot| slot.sensor.image().is_some())
        };
        let only = if sim.world().robots().any(cameras) { vec!["/tf".to_owned()] } else { Vec::new() };
        sim.record(&out, Wants { only, ..Wants::default() }).unwrap();
        sim.run_for(0.3);
        let outcome = sim.end_recording("finished").unwrap();
        assert_eq!(outcome.error, None, "{}", file.name);
        let recording = open(&out).unwrap();
        assert!(recording.whole(), "{}: {:?}", file.name, recording.damage);
        assert_eq!(proven(&replayed(&recording)), 2, "{}", file.name);
    }
}

const MANY: &str = "\
run: {seed: 3}
robots:
  - {name: a, kind: point, at: {xyz_m: [0, 0, 1]}, sensors: {gps: {kind: gps, rate_hz: 20}}}
  - {name: b, kind: point, at: {xyz_m: [5, 0, 1]}}
  - {name: rover, kind: differential, at: {xyz_m: [0, 5, 0.12]}, driver: {kind: goto}}
  - {name: box, kind: crate_box, at: {xyz_m: [9, 9, 0.5]}}
  - {name: truck, kind: crate_box, at: {xyz_m: [9, 11, 0.5]}}
events:
  - {on: 'a.position_m[0] > 1', do: 'b.v_omega(0, 1)'}
";

/// A run in which everything that can be asked for is asked for.
fn busy(out: &Path) -> Recording {
    let mut sim = loaded(MANY);
    sim.record(out, Wants::default()).unwrap();
    let own = |name: &str| name.to_owned();
    sim.command(Action::Setpoint { robot: own("a"), mode: setpoint::VELOCITY, values: [0.5, 0.1, 0.0, 0.2] });
    sim.run_for(1.2);
    let goal = sim.call("rover", "goto", &[Datum::Number(3.0), Datum::Number(6.0)]).unwrap();
    sim.command(Action::Set { path: own("a.position_m[2]"), values: vec![2.0] });
    sim.command(Action::AddProperty { path: own("a.tag"), values: vec![1.0, 2.0] });
    sim.set_modifiers("a", "gps", "[{kind: gaussian_noise, std: 0.3}]").unwrap();
    sim.run_for(0.45);
    sim.cancel(goal);
    sim.command(Action::Teleport {
        robot: own("b"),
        pose: Pose { position_m: DVec3::new(1.0, 2.0, 1.0), ..Pose::IDENTITY },
    });
    sim.command(Action::Attach { robot: own("box"), to: own("truck"), bond: Bond::Weld });
    let cohort = Arc::clone(&sim.world().find("b").unwrap().cohort);
    let pose = Pose { position_m: DVec3::new(-3.0, 0.0, 1.0), ..Pose::IDENTITY };
    let placement = Placement { name: own("late"), realm: 0, cohort, pose, velocity_mps: DVec3::X, attached: None };
    sim.command(Action::Spawn(Box::new(placement)));
    sim.run_for(0.8);
    sim.command(Action::Detach { robot: own("box") });
    sim.command(Action::Delete { robot: own("b") });
    // two at one time, the later one by a smaller link, after the first took effect
    let post = |sim: &mut Simulation, link: u32, values: [f64; 4]| {
        let (time, action) =
            (sim.world().time(), Action::Setpoint { robot: own("a"), mode: setpoint::VELOCITY, values });
        sim.world_mut().post(muster_core::command::Command { time, link, sequence: 1, action });
    };
    post(&mut sim, 9, [1.0, 0.0, 0.0, 0.0]);
    sim.world_mut().settle();
    post(&mut sim, 2, [-1.0, 0.0, 0.0, 0.0]);
    sim.run_for(1.1);
    sim.reset();
    sim.command(Action::Setpoint { robot: own("a"), mode: setpoint::VELOCITY, values: [0.0, 1.0, 0.0, 0.0] });
    sim.run_for(2.3);
    assert_eq!(sim.world_mut().take_refusals(), Vec::<String>::new());
    let outcome = sim.end_recording("finished").unwrap();
    assert_eq!(outcome.error, None);
    open(out).unwrap()
}

#[test]
fn every_command_is_replayed_as_it_took_effect() {
    let recording = busy(&folder("busy").join("out.mcap"));
    let actions = recording.entries.iter().filter(|entry| matches!(entry, Entry::Command(_))).count();
    assert_eq!(actions, 15, "{:?}", recording.entries);
    // 0, 1, 2 and 3 s, then after the reset 0, 1, 2 and 2.3 s
    assert_eq!(proven(&replayed(&recording)), 8);
}

#[test]
fn a_changed_command_is_found_with_its_second_and_robot() {
    let recording = busy(&folder("changed").join("out.mcap"));
    let mut changed = recording.clone();
    for entry in &mut changed.entries {
        if let Entry::Command(command) = entry
            && let Deed::Call { arguments, .. } = &mut command.deed
        {
            arguments[0] = Datum::Number(3.1);
        }
    }
    let Verdict::Differs(difference) = replayed(&changed) else { panic!("not found") };
    // it came at 1.2 s
    assert_eq!((difference.time.s(), difference.equal_until.map(SimTime::s)), (2.0, Some(1.0)));
    assert_eq!(difference.robots, ["rover"]);
    assert_eq!(difference.to_string(), "differs at 2.000000 s (equal until 1.000000 s), robots: \"rover\"");
    // a command that is gone is found as well
    let mut lost = recording.clone();
    lost.entries
        .retain(|entry| !matches!(entry, Entry::Command(command) if matches!(command.deed, Deed::Delete { .. })));
    let Verdict::Differs(difference) = replayed(&lost) else { panic!("not found") };
    assert_eq!((difference.time.s(), difference.surplus), (3.0, vec!["b".to_owned()]));
    // and another start at once
    let mut reseeded = recording.clone();
    reseeded.manifest.set = vec!["robots[0].at={xyz_m: [0.5, 0, 1]}".to_owned()];
    let Verdict::Differs(difference) = replayed(&reseeded) else { panic!("not found") };
    assert_eq!((difference.time, difference.robots), (SimTime::ZERO, vec!["a".to_owned()]));
}

#[test]
fn what_a_program_alone_can_do_stops_the_proof_and_says_why() {
    let out = folder("stuck").join("out.mcap");
    let mut sim = loaded(MANY);
    sim.record(&out, Wants::default()).unwrap();
    sim.run_for(0.5);
    let saved = sim.save();
    sim.run_for(0.5);
    sim.restore(&saved);
    sim.run_for(1.0);
    sim.end_recording("finished").unwrap();
    let Verdict::Stuck { time, why } = replayed(&open(&out).unwrap()) else { panic!("not noticed") };
    assert_eq!((time.s(), why.as_str()), (1.0, "a program restored a saved state"));
}

#[test]
fn only_what_is_asked_for_is_recorded_as_often_as_asked_for() {
    let (scenario, out) = fleet("only");
    let wanted = "/tf,r1.gps,/r2/truth";
    let flags = ["--record-only", wanted, "--record-every", "500ms", "--for", "2s", "-q"];
    ran(muster(&[&["run", text(&scenario), "--record", text(&out)], &flags[..]].concat()), 0);
    let recording = open(&out).unwrap();
    let told: Vec<(&str, u64)> = recording
        .counts
        .iter()
        .map(|(topic, count)| (topic.as_str(), *count))
        .filter(|(topic, _)| !topic.starts_with("/muster/"))
        .collect();
    // at 0, 0.5, 1, 1.5 and 2 s; a fix is visible 15 ms later, and a truth is measured from the first tick on
    let names: Vec<&str> = told.iter().map(|(topic, _)| *topic).collect();
    assert_eq!(names, ["/r1/fix", "/r1/fix_velocity", "/r2/truth", "/tf"]);
    assert!(told.iter().all(|(_, count)| (4..=5).contains(count)), "{told:?}");
    assert!(proven(&replayed(&recording)) >= 3);
    let output = ran(muster(&["run", text(&scenario), "--record", text(&out), "--record-only", "/r1/fux"]), 1);
    assert!(String::from_utf8_lossy(&output.stderr).contains("found nothing like \"/r1/fux\" to record"));
    ran(muster(&["run", text(&scenario), "--record-only", "/tf"]), 2);
    ran(muster(&["run", text(&scenario), "--record", text(&out), "--seeds", "1..2"]), 2);
}

/// A run in real time that is under way for so long.
fn under_way(scenario: &Path, out: &Path, seconds: f64) -> Child {
    let mut run = muster(&["run", text(scenario), "--rtf", "1", "--for", "60s", "--record", text(out), "-q"]);
    let child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    // loading takes its time on a busy machine
    while !out.exists() && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs_f64(seconds));
    child
}

#[test]
fn a_killed_run_leaves_a_recording_that_is_proven_up_to_its_end() {
    let (scenario, out) = fleet("killed");
    let mut child = under_way(&scenario, &out, 3.2);
    child.kill().unwrap();
    child.wait().unwrap();
    let recording = open(&out).unwrap();
    assert!(!recording.whole() && recording.damage.is_none(), "{:?}", recording.damage);
    assert!(recording.last_hash().unwrap() >= SimTime::from_s(1.0), "{:?}", recording.last_hash());
    let output = ran(muster(&["replay", text(&out), "--verify"]), 0);
    assert!(String::from_utf8_lossy(&output.stdout).contains("equal: "));
    assert!(String::from_utf8_lossy(&output.stderr).contains("was cut off"));
}

#[test]
fn an_interrupted_run_leaves_a_whole_recording() {
    let (scenario, out) = fleet("interrupted");
    let child = under_way(&scenario, &out, 1.3);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let recording = open(&out).unwrap();
    assert_eq!(recording.end.as_ref().unwrap()["ended"], "interrupted");
    assert!(recording.whole());
    ran(muster(&["replay", text(&out), "--verify"]), 0);
}

#[test]
fn a_full_disk_ends_the_recording_but_not_the_run() {
    let (scenario, out) = fleet("full");
    let report = out.with_file_name("report.json");
    // files of at most 5000 blocks of 512 or 1024 bytes; the signal that comes with it is ignored
    let muster = env!("CARGO_BIN_EXE_muster");
    let script = format!(
        "ulimit -f 5000; trap '' XFSZ; exec {muster} run {} --for 20s --record {} --report {} --record-compression none",
        text(&scenario),
        text(&out),
        text(&report)
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).env_remove("MUSTER_SEED");
    let output = ran(shell, 1);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("error: the recording ends here, the run goes on"), "{told}");
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
    assert_eq!((report["ended"].as_str(), report["sim_time_s"].as_f64()), (Some("finished"), Some(20.0)));
    assert!(report["recording"]["error"].as_str().unwrap().contains("too large"), "{}", report["recording"]);
    let recording = open(&out).unwrap();
    assert!(!recording.whole() && recording.damage.is_none(), "{:?}", recording.damage);
    assert!(recording.counts.values().sum::<u64>() > 100);
    assert!(proven(&replayed(&recording)) >= 1);
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_the_run() {
    let (scenario, out) = fleet("unwritable");
    let missing = out.with_file_name("missing").join("out.mcap");
    for path in [missing.as_path(), Path::new("/dev/full")]
        .into_iter()
        .filter(|path| *path != Path::new("/dev/full") || path.exists())
    {
        let output = ran(muster(&["run", text(&scenario), "--record", text(path)]), 1);
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write"));
    }
}

/// A pipe that is read only when it is told to.
#[cfg(unix)]
#[test]
fn a_stalled_file_never_stalls_a_paced_run_and_holds_up_one_that_is_not() {
    let (scenario, out) = fleet("stalled");
    let pipe = out.with_file_name("pipe.mcap");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let report = out.with_file_name("report.json");
    let run = |pace: &str, silent: Duration| {
        // enough for all buffers to run over
        let count = ["--set", "robots[0].count=60", "--set", "robots[0].sensors.scan.rays.count=2000"];
        let flags = ["--rtf", pace, "--for", "3s", "--report", text(&report), "--record-compression", "none", "-q"];
        let mut child = muster(&[&["run", text(&scenario), "--record", text(&pipe)], &flags[..], &count[..]].concat())
            .spawn()
            .unwrap();
        let mut reader = std::fs::File::open(&pipe).unwrap();
        std::thread::sleep(silent);
        let going = child.try_wait().unwrap().is_none();
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
        (Recording::read(&bytes[..], bytes.len() as u64).unwrap(), report, going)
    };
    let (recording, paced, _) = run("1", Duration::from_secs(6));
    assert!(paced["recording"]["dropped"].as_u64().unwrap() > 0, "{}", paced["recording"]);
    // it took its three seconds, whoever read or did not
    assert!(paced["wall_time_s"].as_f64().unwrap() < 5.0, "{}", paced["wall_time_s"]);
    // but no hash and no command is missing
    assert_eq!(proven(&replayed(&recording)), 4);
    let (recording, free, _) = run("max", Duration::from_secs(1));
    assert_eq!(free["recording"]["dropped"].as_u64(), Some(0));
    assert_eq!(proven(&replayed(&recording)), 4);
}

#[test]
fn a_recording_is_played_back_to_those_who_listen() {
    let (scenario, out) = fleet("played");
    ran(muster(&["run", text(&scenario), "--record", text(&out), "--for", "1s", "-q"]), 0);
    std::fs::remove_dir_all(scenario.parent().unwrap()).unwrap();
    let recording = open(&out).unwrap();
    // whoever listens gets the samples of the run, and what they ask for is not heard
    struct Count(Arc<std::sync::atomic::AtomicU64>);
    impl muster::sink::Sink for Count {
        fn sensors(&self) -> Vec<String> {
            vec!["r0.truth".to_owned()]
        }
        fn take(&mut self, batch: &muster::sink::Batch) {
            self.0.fetch_add(batch.samples().count() as u64, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let mut sim = load_recorded(&recording, &Setup::default()).unwrap();
    let heard = Arc::new(std::sync::atomic::AtomicU64::new(0));
    sim.add_sink(Box::new(Count(Arc::clone(&heard)))).unwrap();
    while !sim.replayed() {
        sim.walk_window(SimTime::NEVER);
    }
    sim.flush();
    assert_eq!(heard.load(std::sync::atomic::Ordering::Relaxed), recording.counts["/r0/truth"]);
    let begun = Instant::now();
    ran(muster(&["replay", text(&out), "--rtf", "2", "-q"]), 0);
    assert!(begun.elapsed() >= Duration::from_millis(500));
}

#[test]
fn a_hundred_runs_give_one_verdict_and_one_hash() {
    let text = "{run: {for_s: 2}, robots: [{name: r, kind: differential, driver: {kind: waypoints, points_m: [[1, 0]], speed_mps: 0.8}}, \
                {name: w, kind: point, at: {xyz_m: [4, 4, 1]}, driver: {kind: random_walk}}]}";
    let out = folder("hundred").join("out.mcap");
    let mut first = loaded(text);
    first.record(&out, Wants::default()).unwrap();
    first.run_for(2.0);
    first.end_recording("finished").unwrap();
    let hash = first.world().hash();
    for run in 0..100 {
        let threads = Some(Threads::Count(1 + run % 2));
        let mut sim = Simulation::from_text(text, &Setup { threads, ..Setup::default() }).unwrap();
        sim.run_for(2.0);
        assert_eq!(sim.world().hash(), hash, "run {run}");
    }
    assert_eq!(proven(&replayed(&open(&out).unwrap())), 3);
}

#[test]
fn what_is_no_recording_is_refused() {
    let here = folder("foreign");
    let path = here.join("x.mcap");
    for bytes in [&b""[..], b"muster: 1\n", b"\x89MCAP0\r\n", &[0x89; 100]] {
        std::fs::write(&path, bytes).unwrap();
        let output = ran(muster(&["replay", text(&path), "--verify"]), 3);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("expected a recording of muster"), "{told}");
    }
    let output = ran(muster(&["replay", text(&here.join("none.mcap"))]), 3);
    assert!(String::from_utf8_lossy(&output.stderr).contains("none.mcap"));
}

/// Whatever byte is changed or wherever the file ends: it is read or refused, and what is proven is what was recorded.
#[test]
fn changed_and_cut_files_are_noticed() {
    let out = folder("bytes").join("out.mcap");
    let mut sim = loaded("{robots: [{name: r, kind: point, driver: {kind: random_walk}}]}");
    sim.record(&out, Wants { only: vec!["/clock".to_owned()], ..Wants::default() }).unwrap();
    sim.run_for(3.0);
    sim.end_recording("finished").unwrap();
    let bytes = std::fs::read(&out).unwrap();
    let whole = open(&out).unwrap();
    let read = |bytes: &[u8]| Recording::read(bytes, bytes.len() as u64);
    for at in (0..bytes.len()).step_by(bytes.len() / 300) {
        if let Ok(cut) = read(&bytes[..at]) {
            assert!(cut.entries.len() <= whole.entries.len());
            assert!(!cut.whole() || cut.entries == whole.entries, "cut at {at}");
        }
        let mut changed = bytes.clone();
        changed[at] ^= 0x41;
        if let Ok(changed) = read(&changed) {
            let same = changed.entries == whole.entries && changed.manifest == whole.manifest;
            assert!(same || !changed.whole() || changed.damage.is_some(), "changed at {at}");
        }
    }
}
