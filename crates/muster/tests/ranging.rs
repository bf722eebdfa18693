//! Range sensors, materials and presets through the whole simulator.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use muster::sink::{Batch, Sink};
use muster::{Setup, Simulation, library};
use muster_core::command::Action;
use muster_scenario::text::Threads;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Arc, Mutex};

fn simulation(text: &str) -> Simulation {
    Simulation::from_text(text, &Setup::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn values(sim: &Simulation, path: &str) -> Vec<f64> {
    sim.world().property(path).unwrap_or_else(|error| panic!("{error}"))
}

/// What a robot at rest at the origin reads with one sensor after a while.
fn read(world: &str, sensor: &str) -> Vec<f64> {
    let mut sim = simulation(&format!(
        "{{world: {{{world}}}, robots: [{{name: r, motion: {{kind: point}}, sensors: {{s: {sensor}}}}}]}}"
    ));
    sim.run_for(0.5);
    values(&sim, "r.s")
}

fn problem(sensor: &str) -> String {
    let text = format!("{{robots: [{{name: r, motion: {{kind: point}}, sensors: {{s: {sensor}}}}}]}}");
    match Simulation::from_text(&text, &Setup::default()) {
        Ok(_) => panic!("{sensor} is fine"),
        Err(error) => error.to_string(),
    }
}

const WALL: &str = "ground: false, obstacles: {wall: {box_size_m: [1, 40, 10], at: {xyz_m: [3.5, 0, 0]}}}";

// S20
#[test]
fn a_laser_half_a_metre_ahead_of_its_robot_reads_half_a_metre_less() {
    let ranges = read(WALL, "{kind: range, rays: {count: 1}, at: {xyz_m: [0.5, 0, 0]}}");
    assert!((ranges[0] - 2.5).abs() < 2e-5, "{ranges:?}");
}

// R20, L10: the same scan on three levels; here everything is of a material with a bias
#[test]
fn materials_count_on_the_third_level_only() {
    let world = format!("{WALL}, materials: {{plain: {{bias_m: 0.03}}}}");
    let level = |accuracy: &str| {
        let sensor = format!("{{kind: range, rays: {{count: 1}}, accuracy: {accuracy}, errors: {{bias_m: 0.01}}}}");
        read(&world, &sensor)[0]
    };
    for (accuracy, expected) in [("perfect", 3.0), ("sensor", 3.01), ("material", 3.04)] {
        assert!((level(accuracy) - expected).abs() < 2e-5, "{accuracy}: {}", level(accuracy));
    }
}

// R26, R33: a preset for each kind of device, with the size of its samples
#[test]
fn every_preset_measures_a_wall_with_samples_of_its_size() {
    let sizes: BTreeMap<&str, usize> = [
        ("gp2y0a21", 1),
        ("hc_sr04", 1),
        ("lidar_lite", 1),
        ("lms200", 181),
        ("morse_sick", 181),
        ("tfmini", 1),
        ("tof_camera", 2 * 176 * 144),
        ("urg04lx", 683),
        ("ust10lx", 2 * 1081),
        ("vlp16", 2 * 16 * 1800),
    ]
    .into_iter()
    .collect();
    let wall = "ground: false, obstacles: {wall: {box_size_m: [1, 40, 10], at: {xyz_m: [1.1, 0, 0]}}}";
    let names: Vec<&str> = library::names("sensors").collect();
    assert_eq!(names, sizes.keys().copied().collect::<Vec<_>>());
    for name in names {
        // altimeters look down unless told otherwise
        let ranges = read(wall, &format!("{{kind: range, preset: {name}, at: {{rpy_deg: [0, 0, 0]}}}}"));
        assert_eq!(ranges.len(), sizes[name], "{name}");
        // some tell intensities behind ranges
        let record = if ["tof_camera", "ust10lx", "vlp16"].contains(&name) { 2 } else { 1 };
        let ranges = ranges.iter().step_by(record);
        let ahead = ranges.clone().copied().fold(f64::INFINITY, f64::min);
        let near = ranges.filter(|&&range_m| (0.4..0.8).contains(&range_m)).count();
        assert!(near >= 1 && ahead > 0.2 || name == "vlp16", "{name}: {ahead}");
    }
}

#[test]
fn keys_beside_a_preset_win_and_wrong_ones_are_told() {
    let ranges = read(WALL, "{preset: urg04lx, rays: {count: 5}, range_max_m: 2}");
    assert_eq!(ranges, [f64::INFINITY; 5]);
    let ranges = read(
        WALL,
        "{preset: urg04lx, rays: {kind: cone, count: 3, half_angle_deg: 1}, errors: {noise_m: 0, noise_per_m: 0}}",
    );
    assert_eq!(ranges, [3.0; 3], "other rays replace those of the preset");
    assert!(problem("{kind: range, preset: urg4lx}").contains("did you mean \"urg04lx\"?"));
    assert!(problem("{kind: imu, preset: urg04lx}").contains("a preset of kind"));
    assert!(problem("{kind: range, preset: 5}").contains("the name of a preset"));
    assert!(problem("{kind: range, sweep_s: 0.1, method: depth}").contains("method: ray"));
}

/// Stamps of the samples of each sensor.
type Stamps = BTreeMap<String, Vec<f64>>;

struct Ear(Arc<Mutex<Stamps>>);

impl Sink for Ear {
    fn sensors(&self) -> Vec<String> {
        vec!["*.*".to_owned()]
    }

    fn take(&mut self, batch: &Batch) {
        for sample in batch.samples() {
            let name = batch.directory.robots[&sample.robot].sensors[sample.sensor as usize].0.clone();
            self.0.lock().unwrap().entry(name).or_default().push(sample.stamp.s());
        }
    }
}

// R28
#[test]
fn two_lasers_of_a_robot_have_their_own_resolutions_and_rates() {
    let mut sim = simulation(&format!(
        "{{world: {{{WALL}}}, robots: [{{name: r, motion: {{kind: point}}, sensors: {{\
         fast: {{kind: range, rate_hz: 10, rays: {{count: 100}}}}, \
         wide: {{kind: range, rate_hz: 5, rays: {{kind: grid, columns: 100, rows: 100, width_deg: 90, height_deg: 90}}}}}}}}]}}"
    ));
    let stamps: Arc<Mutex<Stamps>> = Arc::default();
    sim.add_sink(Box::new(Ear(Arc::clone(&stamps)))).unwrap();
    sim.run_for(2.0);
    assert_eq!((values(&sim, "r.fast").len(), values(&sim, "r.wide").len()), (100, 10_000));
    let stamps = stamps.lock().unwrap();
    assert_eq!((stamps["fast"].len(), stamps["wide"].len()), (20, 10));
}

// R35
#[test]
fn open_space_reads_infinity() {
    assert_eq!(read("ground: false", "{kind: range, preset: morse_sick}"), [f64::INFINITY; 181]);
}

// S15: the situation of MORSE's test of its SICK, in our words: a box 2.5 m ahead fills the middle, the right is open, and
// another box stands to the left, the face of it 5.5 m aside. Our rays count from right to left (REP-103).
#[test]
fn a_sick_sees_the_boxes_of_morses_scene() {
    let world = "obstacles: {red: {box_size_m: [1, 1, 2], at: {xyz_m: [-7.5, 0, 1]}}, \
                 green: {box_size_m: [1.1, 1, 2], at: {xyz_m: [-6.35, -6, 1]}}}";
    let mut sim = simulation(&format!(
        "{{world: {{{world}}}, robots: [{{name: atrv, kind: atrv, at: {{xyz_m: [-4.5, 0, 0], yaw_deg: 180}}, \
         sensors: {{sick: {{preset: morse_sick, range_max_m: 10, at: {{xyz_m: [0, 0, 0.9]}}}}}}}}]}}"
    ));
    sim.run_for(0.5);
    let ranges = values(&sim, "atrv.sick");
    let open = |rays: std::ops::Range<usize>| ranges[rays].iter().all(|&range_m| range_m == f64::INFINITY);
    assert!(open(0..75) && open(105..150), "nothing to the right, nor between the boxes");
    let seen = |rays: std::ops::RangeInclusive<usize>| {
        rays.map(|ray| ((ray as f64 - 90.0).to_radians(), ranges[ray])).collect::<Vec<(f64, f64)>>()
    };
    for (azimuth, range_m) in seen(80..=99) {
        let (x, y) = (range_m * azimuth.cos(), range_m * azimuth.sin());
        assert!((x - 2.5).abs() < 2e-5 && (y - 2.5 * azimuth.tan()).abs() < 2e-5, "{azimuth}: {range_m}");
    }
    for (azimuth, range_m) in seen(159..=164) {
        let expected = 5.5 / azimuth.sin();
        assert!((range_m - expected).abs() < 2e-5 && (expected - 5.8).abs() < 0.15, "{azimuth}: {range_m}");
    }
}

// S14: the situation of MORSE's test of its proximity sensor, in our words
#[test]
fn proximity_finds_tagged_robots_in_any_direction() {
    let mut sim = simulation(
        "{robots: [{name: robot, kind: atrv, sensors: {\
         near: {kind: proximity, range_m: 2, tags: [catch_me], at: {xyz_m: [0, 0, 0.5]}}, \
         far: {kind: proximity, range_m: 20, tags: [catch_me]}, other: {kind: proximity, range_m: 20, tags: [catch_me_too]}}}, \
         {name: one, kind: atrv, tags: [catch_me], at: {xyz_m: [10, 1, 0]}}, \
         {name: two, kind: atrv, tags: [catch_me_too], at: {xyz_m: [10, -1, 0]}}, \
         {name: three, kind: atrv, tags: [catch_me], at: {xyz_m: [-4, 0, 0]}}]}",
    );
    let ids: BTreeMap<String, f64> =
        sim.world().roster().map(|(number, robot)| (robot.name.clone(), f64::from(number))).collect();
    let mut found = |x_m: f64, sensor: &str| {
        let mut pose = sim.world().pose("robot").unwrap();
        pose.position_m.x = x_m;
        pose.position_m.y = 0.0;
        sim.command(Action::Teleport { robot: "robot".to_owned(), pose });
        sim.run_for(0.2);
        let sample = values(&sim, &format!("robot.{sensor}"));
        let name = |id: f64| ids.iter().find(|(_, number)| **number == id).unwrap().0.clone();
        sample.chunks_exact(3).map(|record| name(record[2])).collect::<Vec<String>>()
    };
    assert!(found(0.0, "near").is_empty());
    assert!(found(8.0, "near").is_empty());
    assert_eq!(found(9.0, "near"), ["one"], "the other is as near, but has another tag");
    assert_eq!(found(-2.8, "near"), ["three"], "behind it");
    assert_eq!(found(-2.8, "far"), ["three", "one"]);
    assert_eq!(found(-2.8, "other"), ["two"]);
}

// the light of lamps, of which robots, walls and switches decide
#[test]
fn a_lamp_lights_until_it_is_switched_off_or_hidden() {
    let lux = |more: &str, switch: Option<&str>| {
        let mut sim = simulation(&format!(
            "{{world: {{ground: false}}, robots: [{{name: r, motion: {{kind: point}}, sensors: {{light: {{kind: light}}}}}}, \
             {{name: lamp, kind: lamp, at: {{xyz_m: [5, 0, 0]}}}}{more}]}}"
        ));
        if let Some(word) = switch {
            sim.call("lamp", word, &[]).unwrap();
        }
        sim.run_for(0.2);
        values(&sim, "r.light")[0]
    };
    assert!((lux("", None) - 4.0).abs() < 1e-9, "100 cd at 5 m");
    assert_eq!(lux("", Some("off")), 0.0);
    let between = ", {name: b, motion: {kind: point}, shape: {sphere_radius_m: 0.3}, at: {xyz_m: [2, 0, 0]}}";
    assert_eq!(lux(between, None), 0.0);
    assert!(lux(&between.replace("[2, 0", "[2, 1"), None) > 3.9);
}

// R34 on the command line: a table of readings gives a block to paste
#[test]
fn fit_range_prints_what_it_found() {
    let stream = muster_core::random::Stream::new(3, 3);
    let mut table = "true_m,measured_m,material,incidence_deg\n".to_owned();
    for index in 0..20_000_u64 {
        let (black, true_m) = (index % 2 == 1, 0.5 + 7.5 * stream.uniforms(index, 0)[0]);
        let [noise, ..] = stream.normals(index, 1);
        let factor = if black { 2.0 } else { 1.0 };
        let bias_m = 0.015 + if black { 0.03 } else { 0.0 };
        let read = true_m + bias_m + (0.004 + 0.002 * true_m) * factor * noise;
        let lost = black && stream.uniforms(index, 2)[0] < 0.1;
        let cell = if lost { String::new() } else { format!("{read:.6}") };
        table += &format!("{true_m:.6},{cell},{},10\n", if black { "black" } else { "" });
    }
    let path = std::env::temp_dir().join(format!("muster-fit-{}.csv", std::process::id()));
    std::fs::write(&path, table).unwrap();
    let run = |more: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_muster")).arg("fit-range").arg(&path).args(more).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = run(&["--json"]);
    assert_eq!(code, Some(0));
    let fit: serde_json::Value = serde_json::from_str(&text).unwrap();
    let check = |path: &str, expected: f64| {
        let found = fit.pointer(path).and_then(serde_json::Value::as_f64).unwrap();
        assert!((found / expected - 1.0).abs() < 0.05, "{path}: {found}, expected {expected}");
    };
    check("/errors/bias_m", 0.015);
    check("/errors/noise_m", 0.004);
    check("/errors/noise_per_m", 0.002);
    check("/materials/black/bias_m", 0.03);
    check("/materials/black/noise_factor", 2.0);
    check("/materials/black/dropout", 0.1);
    let (_, text) = run(&["--model", "urg04lx"]);
    for expected in ["preset: urg04lx", "errors: {bias_m: 0.01", "black: {bias_m: 0.0", "0.00300"] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    assert_eq!(run(&["--model", "urg5lx"]).0, Some(2));
    std::fs::remove_file(&path).unwrap();
}

/// A robot that drives at 1 m/s towards a wall while another crosses its way, scanning in sweeps.
fn sweeping(sensor: &str) -> String {
    let robot = |name: &str, (from, yaw_deg): (&str, u32), to: &str, speed_mps: u32, more: &str| {
        format!(
            "{{name: {name}, motion: {{kind: point, speed_max_mps: 20, accel_max_mps2: 1e5, rate_hz: 1000}}, at: {{xyz_m: {from}, yaw_deg: {yaw_deg}}},
             driver: {{kind: waypoints, points_m: [{to}], speed_mps: {speed_mps}}}, sensors: {{truth: {{kind: truth}}{more}}},
             shape: {{box_size_m: [0.5, 0.5, 0.5]}}}}"
        )
    };
    let scanning = robot("r", ("[-5, 0, 0]", 0), "[2, 0]", 1, &format!(", s: {sensor}"));
    let crossing = robot("o", ("[-3, -4, 0]", 90), "[-3, 50]", 10, "");
    format!("{{world: {{{WALL}}}, robots: [{scanning}, {crossing}]}}")
}

// R22: rays are cast when they are due, at where everything is then
#[test]
fn a_sweep_sees_the_way_it_drove_and_what_crossed_it_meanwhile() {
    let sensor =
        "{kind: range, rays: {from_deg: -0.001, to_deg: 0.001, count: 100}, sweep_s: 0.1, rate_hz: 10, output: full}";
    let mut sim = simulation(&sweeping(sensor));
    // from its start at -4 m the other is in front of the rays from 0.375 s on, for 0.05 s
    let mut crossed = 0;
    for scan in 1..=10 {
        sim.run_for(0.1);
        let ranges: Vec<f64> = values(&sim, "r.s").chunks_exact(6).map(|record| record[0]).collect();
        let walls = ranges.windows(2).filter(|pair| pair[0] > 5.0 && pair[1] > 5.0);
        // the first sweep begins at rest
        for pair in walls.filter(|_| scan > 1) {
            assert!((pair[0] - pair[1] - 0.001).abs() < 2e-4, "scan {scan}: {pair:?}");
        }
        crossed += ranges.iter().filter(|range_m| **range_m < 3.0).count();
    }
    assert!((45..=56).contains(&crossed), "{crossed} rays of a millisecond each");
}

#[test]
fn sweeps_are_the_same_bits_beside_the_loop_and_in_it() {
    let scan = |latency_ms: u32| {
        format!(
            "{{kind: range, rays: {{from_deg: -60, to_deg: 60, count: 90}}, sweep_s: 0.05, rate_hz: 10,
              latency_ms: {latency_ms}, accuracy: sensor, errors: {{noise_m: 0.01}}}}"
        )
    };
    let read = |latency_ms: u32, threads: usize, for_s: f64| {
        let setup = Setup { threads: Some(Threads::Count(threads)), ..Setup::default() };
        let text = sweeping(&scan(latency_ms));
        let mut sim = Simulation::from_text(&text, &setup).unwrap_or_else(|error| panic!("{error}"));
        sim.run_for(for_s);
        values(&sim, "r.s")
    };
    let at_once = read(0, 1, 0.5);
    assert!(at_once.iter().any(|range_m| *range_m < 3.0), "the other robot is seen");
    assert_eq!(at_once, read(0, 2, 0.5));
    assert_eq!(at_once, read(30, 1, 0.53));
    assert_eq!(at_once, read(30, 2, 0.53));
}

#[test]
fn a_sweep_longer_than_the_time_between_scans_is_refused() {
    let told = problem("{kind: range, rays: {count: 10}, sweep_s: 0.2, rate_hz: 10}");
    assert!(told.contains("a sweep of 0.2 s at 10 Hz") && told.contains("at most 0.1 s"), "{told}");
}

// R27, R28: the method changes nothing else
#[test]
fn rays_and_depth_buffers_tell_the_same_within_the_stated_error() {
    let world = "obstacles: {a: {box_size_m: [1, 2, 3], at: {xyz_m: [4, 1, 0], yaw_deg: 20}},
        b: {sphere_radius_m: 0.8, at: {xyz_m: [3, -2, 0.4]}}, c: {cylinder: {radius_m: 0.4, height_m: 3}, at: {xyz_m: [-3, 1, 0]}}}";
    for (rays, most) in
        [("{count: 361, from_deg: -135, to_deg: 135}", 0.99), ("{kind: grid, columns: 60, rows: 40}", 0.99)]
    {
        let scan = |method: &str| {
            read(
                world,
                &format!(
                    "{{kind: range, rays: {rays}, range_max_m: 20, method: {method}, at: {{xyz_m: [0, 0, 0.3]}}}}"
                ),
            )
        };
        let (ray, depth) = (scan("ray"), scan("depth"));
        assert_eq!(ray.len(), depth.len());
        let alike = |(a, b): &(&f64, &f64)| a == b || (*a - *b).abs() < 0.01;
        let equal = ray.iter().zip(&depth).filter(alike).count();
        // the rest are at edges, where a pixel is one or the other
        assert!(equal as f64 >= most * ray.len() as f64, "{equal} of {}", ray.len());
    }
}

// R29
#[test]
fn auto_tries_both_ways_and_tells_which_it_took() {
    let text = "{robots: [{name: r, motion: {kind: point}, sensors: {s: {kind: range, rays: {count: 3}, method: auto},
        t: {kind: range, rays: {count: 3}, method: ray}}}]}";
    let mut sim = simulation(text);
    let [choice] = sim.choices() else { panic!("{:?}", sim.choices()) };
    assert_eq!((choice.sensor.as_str(), choice.ways.len()), ("r.s", 2));
    let least = choice.ways.iter().min_by(|a, b| a.sample_us.total_cmp(&b.sample_us)).unwrap();
    assert_eq!(choice.chosen, least.name);
    assert!(choice.to_string().contains("ray") && choice.to_string().contains("depth"));
    sim.run_for(0.5);
    assert_eq!(values(&sim, "r.s"), values(&sim, "r.t"));
}

// R10
#[test]
fn one_pass_is_warned_of_when_wide_and_refused_when_it_cannot_be() {
    let told =
        problem("{kind: range, rays: {from_deg: -95, to_deg: 95, count: 190}, method: depth, depth: {passes: 1}}");
    assert!(told.contains("a pass of") && told.contains("180"), "{told}");
    let wide =
        "{robots: [{name: r, motion: {kind: point}, sensors: {s: {kind: range, method: depth, depth: {passes: 1},
        rays: {from_deg: -80, to_deg: 80, count: 160}}}}]}";
    assert!(simulation(wide).warnings().iter().any(|warning| warning.contains("more passes")));
}

// R12, R13
#[test]
fn what_stands_is_bounded_once_and_what_moves_once_a_snapshot_whatever_the_number_of_sensors() {
    let work = |sensors: usize| {
        let sensors: Vec<String> =
            (0..sensors).map(|at| format!("s{at}: {{kind: range, rate_hz: 10, rays: {{count: 5}}}}")).collect();
        let mut sim = simulation(&format!(
            "{{world: {{obstacles: {{a: {{box_size_m: [1, 1, 1], at: {{xyz_m: [5, 0, 0.5]}}}}, \
             b: {{sphere_radius_m: 1, at: {{xyz_m: [5, 4, 1]}}}}}}}}, \
             robots: [{{name: r, kind: differential, sensors: {{{}}}}}, \
             {{name: 'm{{i}}', kind: differential, count: 3, at: {{xyz_m: [3, '{{2 * i}}', 0]}}, \
             driver: {{kind: random_walk}}}}]}}",
            sensors.join(", ")
        ));
        sim.run_for(1.0);
        let before = sim.world().hierarchy_work();
        sim.run_for(2.0);
        let after = sim.world().hierarchy_work();
        assert_eq!(after.still, before.still, "what stands still is bounded when it is built");
        assert!(before.still >= 2);
        (after.arranged - before.arranged, after.moving - before.moving)
    };
    let (arranged, bounded) = work(1);
    assert_eq!(arranged, 20, "once a snapshot");
    assert!(bounded >= 4 * arranged && bounded % arranged == 0, "all parts each time");
    assert_eq!(work(10), (arranged, bounded), "whatever the number of sensors");
}
