//! Body sensors, places on the earth and what modifiers make of them, seen from outside through the whole simulator.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use muster::sink::{Batch, Sink};
use muster::{Setup, Simulation};
use std::sync::{Arc, Mutex};

fn simulation(text: &str) -> Simulation {
    Simulation::from_text(text, &Setup::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    Simulation::from_text(text, &Setup::default()).err().expect("a problem").rendered
}

fn values(sim: &Simulation, path: &str) -> Vec<f64> {
    sim.world().property(path).unwrap_or_else(|error| panic!("{error}"))
}

fn number(sim: &Simulation, path: &str) -> f64 {
    values(sim, path)[0]
}

/// A point that moves with a velocity and has these sensors.
fn moving(world: &str, velocity: &str, sensors: &str) -> Simulation {
    let driver = "driver: {kind: waypoints, points_m: [[1000, 1000, 0]], speed_mps: 2}";
    let motion = "motion: {kind: point, rate_hz: 1000}";
    simulation(&format!(
        "{{world: {{{world}}}, robots: [{{name: r, {motion}, {driver}, velocity_mps: {velocity}, \
         sensors: {{truth: {{kind: truth}}, {sensors}}}}}]}}"
    ))
}

// S10
#[test]
fn a_gyroscope_tells_the_angles_of_the_truth() {
    let mut sim = simulation(
        "{robots: [{name: q, kind: quadrotor, at: {xyz_m: [0, 0, 3], yaw_deg: 30}, sensors: {g: {kind: gyroscope, rate_hz: 100}},
          driver: {kind: waypoints, by: position, speed_mps: 3, points_m: [[5, 4, 6]]}}]}",
    );
    for _ in 0..30 {
        sim.run_for(0.1);
        let q = glam::DQuat::from_slice(&values(&sim, "q.truth.orientation"));
        let (roll, pitch, yaw) = muster_core::math::rpy_from_quat(q);
        assert_eq!(number(&sim, "q.g.yaw_rad"), yaw);
        assert_eq!((number(&sim, "q.g.pitch_rad"), number(&sim, "q.g.roll_rad")), (pitch, roll));
        assert_eq!(values(&sim, "q.g.angular_velocity_radps"), values(&sim, "q.truth.angular_velocity_radps"));
    }
}

// S12
#[test]
fn an_accelerometer_tells_velocity_and_acceleration_within_five_percent() {
    let mut sim = simulation(
        "{world: {ground: false}, robots: [{name: r, kind: quadrotor, controller: null, at: {xyz_m: [0, 0, 500]},
          velocity_mps: [3, 0, 10], sensors: {a: {kind: accelerometer, rate_hz: 100}}}]}",
    );
    sim.run_for(0.5);
    // rotors at rest: thrown up, it falls with g, but for a little drag; v = 10 − 9.81 t, half a period ago
    let velocity = values(&sim, "r.a.velocity_mps");
    let truth = values(&sim, "r.velocity_mps");
    assert!((velocity[0] / truth[0] - 1.0).abs() < 0.05 && (velocity[2] / truth[2] - 1.0).abs() < 0.05, "{velocity:?}");
    let acceleration = values(&sim, "r.a.acceleration_mps2")[2];
    assert!((acceleration / values(&sim, "r.acceleration_mps2")[2] - 1.0).abs() < 0.05, "{acceleration}");
    let speed = velocity.iter().map(|axis| axis * axis).sum::<f64>().sqrt();
    assert!((number(&sim, "r.a.distance_m") - 0.01 * speed).abs() < 1e-9);
}

// S17
#[test]
fn odometry_sums_up_to_the_path_at_every_level() {
    let mut sim = simulation(
        "{robots: [{name: r, kind: differential, at: {xyz_m: [2, 3, 0], yaw_deg: 90},
          driver: {kind: waypoints, speed_mps: 0.5, points_m: [[2, 6], [5, 6]]},
          sensors: {odometry: {kind: odometry, distance_noise_m_per_sqrt_m: 0, turn_noise_rad_per_sqrt_rad: 0},
                    raw: {kind: odometry, level: raw}, steps: {kind: odometry, level: differential}}}]}",
    );
    let (mut last, mut path) = (values(&sim, "r.position_m"), 0.0);
    for _ in 0..1000 {
        sim.run_for(0.02);
        let now = values(&sim, "r.position_m");
        let step = (now[0] - last[0]).hypot(now[1] - last[1]);
        assert!((number(&sim, "r.raw.distance_m") - step).abs() < 1e-12);
        assert!(
            (number(&sim, "r.steps.displacement_m[0]").hypot(number(&sim, "r.steps.displacement_m[1]")) - step).abs()
                < 1e-12
        );
        (last, path) = (now, path + step);
    }
    assert!(path > 5.0 && (number(&sim, "r.raw.travelled_m") - path).abs() < 1e-9);
    // seen from the start, where it looked north: forward is north, left is west
    let found = values(&sim, "r.odometry.position_m");
    assert!((found[0] - (last[1] - 3.0)).abs() < 1e-9 && (found[1] + (last[0] - 2.0)).abs() < 1e-9, "{found:?}");
}

// S13 and the objects of the world
#[test]
fn fires_warm_and_zones_charge_as_the_world_file_says() {
    let mut sim = simulation(
        "{world: {fires: {barrel: {at: {xyz_m: [10, 0, 0]}}, far: {at: {xyz_m: [0, 1000, 0]}, temperature_k: 1000}},
                  zones: {dock: {cylinder: {radius_m: 1, height_m: 2}, purposes: [rest, charging]}}},
          robots: [{name: r, motion: {kind: point}, sensors: {t: {kind: thermometer, ambient_c: 20},
                    b: {kind: battery, capacity_wh: 10, start_percent: 20, idle_power_w: 10, charge_power_w: 370}}},
                   {name: s, motion: {kind: point}, at: {xyz_m: [0, 1.1, 0]}, sensors: {b: {kind: battery, capacity_wh: 10}}}]}",
    );
    sim.run_for(10.0);
    assert!((number(&sim, "r.t.temperature_c") - 47.067).abs() < 1e-3);
    assert!((number(&sim, "r.b.charge_percent") - 30.0).abs() < 1e-9 && number(&sim, "r.b.charging") == 1.0);
    assert!(number(&sim, "s.b.charge_percent") < 100.0 && number(&sim, "s.b.charging") == 0.0);
    let zones = &sim.world().model().environment.zones;
    assert!(zones[0].name == "dock" && zones[0].serves("rest") && zones[0].contains(glam::DVec3::new(0.9, 0.0, 0.9)));
}

#[test]
fn zones_and_fires_that_are_wrong_are_told() {
    let text = refused("{world: {fires: {a: {at: {xyz_m: [0, 0]}, heat: 3}}}}");
    for part in ["world.fires.a: found \"heat\", expected a key", "world.fires.a.at.xyz_m: found"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let text = refused(
        "{world: {zones: {b: {purposes: [charging]}, c: {sphere_radius_m: 1, box_size_m: [1, 1, 1]}, \
         d: {mesh: {vertices_m: [[0, 0, 0]], triangles: [[0, 0, 7]]}}}}}",
    );
    for part in [
        "world.zones.b: found no shape, expected exactly one of sphere_radius_m",
        "world.zones.c: found 2 shapes",
        "world.zones.d: found corner 7",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

// F04, F05 and the like: what a user reads, and under which name
#[test]
fn modifiers_of_coordinates_rename_what_they_change() {
    let mut sim = moving(
        "origin: {latitude_deg: 47.3977, longitude_deg: 8.5456, altitude_m: 488}",
        "[0, 0, 0]",
        "utm: {kind: truth, modifiers: [{kind: utm}]}, ned: {kind: truth, modifiers: [{kind: ned}]}, \
         feet: {kind: truth, modifiers: [{kind: ned}, {kind: feet}]}, gps: {kind: gps, rate_hz: 100, modifiers: [{kind: ecef}]}, \
         back: {kind: truth, modifiers: [{kind: ned}, {kind: ned, direction: to_enu}]}",
    );
    sim.run_for(5.0);
    let position = values(&sim, "r.truth.position_m");
    assert!(position[0] > 1.0);
    assert_eq!(values(&sim, "r.ned.position_m"), [position[1], position[0], -position[2]]);
    assert_eq!(values(&sim, "r.back.position_m"), position);
    let feet = values(&sim, "r.feet.position_ft");
    assert!((feet[0] * 0.3048 - position[1]).abs() < 1e-12 && (feet[1] * 0.3048 - position[0]).abs() < 1e-12);
    let gps: Vec<f64> =
        ["latitude_deg", "longitude_deg", "altitude_m"].map(|field| number(&sim, &format!("r.gps.{field}"))).to_vec();
    let place = muster_core::geodesy::Geodetic { latitude_deg: gps[0], longitude_deg: gps[1], altitude_m: gps[2] };
    let grid = muster_core::geodesy::Utm::from_geodetic(&place);
    let utm = values(&sim, "r.utm.utm_m");
    assert!((utm[0] - grid.easting_m).abs() < 1e-6 && (utm[1] - grid.northing_m).abs() < 1e-6);
    let ecef = muster_core::geodesy::ecef_from_geodetic(&place).to_array();
    assert!(values(&sim, "r.gps.ecef_m").iter().zip(ecef).all(|(found, expected)| (found - expected).abs() < 1e-6));
    assert!(sim.world().property("r.utm.position_m").is_err(), "the old name is gone");
}

struct Names(Arc<Mutex<Vec<String>>>);

impl Sink for Names {
    fn sensors(&self) -> Vec<String> {
        vec!["*.*".to_owned()]
    }

    fn take(&mut self, batch: &Batch) {
        for sample in batch.samples() {
            let (sensor, fields) = &batch.directory.robots[&sample.robot].sensors[sample.sensor as usize];
            let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
            assert_eq!(sample.values.len(), fields.iter().map(|field| field.len).sum::<usize>());
            *self.0.lock().unwrap() = vec![sensor.clone(), names.join(" ")];
        }
    }
}

#[test]
fn listeners_get_the_names_after_all_modifiers_also_when_they_change_at_run_time() {
    let mut sim = simulation(
        "{robots: [{name: r, motion: {kind: point}, sensors: {s: {kind: gps, rate_hz: 100, level: position, modifiers: [{kind: utm}]}}}]}",
    );
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    sim.add_sink(Box::new(Names(Arc::clone(&heard)))).unwrap();
    sim.run_for(0.1);
    assert_eq!(*heard.lock().unwrap(), ["s", "utm_m"]);
    sim.set_modifiers("r", "s", "[{kind: geodetic}, {kind: feet}]").unwrap_or_else(|error| panic!("{error}"));
    sim.run_for(0.1);
    assert_eq!(*heard.lock().unwrap(), ["s", "latitude_deg longitude_deg altitude_ft"]);
    assert!(number(&sim, "r.s.altitude_ft") > 1600.0);
    let error = sim.set_modifiers("r", "s", "[{kind: geodetic}, {kind: utm}]").expect_err("no point is left").rendered;
    assert!(error.contains("a sensor with fields latitude_deg, longitude_deg, altitude_m"), "{error}");
}

#[test]
fn looks_at_the_world_are_told_in_other_coordinates_too() {
    let mut sim = simulation(
        "{robots: [{name: 'r{i}', count: 3, motion: {kind: point}, layout: {line: {from_m: [1, 2, 3], step_m: [10, 0, 0]}}},
                   {name: eye, motion: {kind: point}, sensors: {w: {kind: world_state, modifiers: [{kind: ned}]}}}]}",
    );
    sim.run_for(1.0);
    let seen = values(&sim, "eye.w");
    assert_eq!(seen.len(), 4 * 11);
    assert_eq!(seen[11 + 1..11 + 4], [2.0, 11.0, -3.0]);
}

// F06: a modifier of the user's own
#[test]
fn an_expression_is_a_modifier_of_the_users_own() {
    let sensors = "drift: {kind: truth, rate_hz: 100, modifiers: [{kind: expression, \
                   state: {drift_m: drift_m + 0.5 * period_s}, \
                   set: {'position_m[2]': value + drift_m, 'velocity_mps': value * 2}}, {kind: feet}]}";
    let mut sim = moving("", "[0, 0, 0]", sensors);
    sim.run_for(4.0);
    // half a metre a second over four seconds
    assert!((number(&sim, "r.drift.position_ft[2]") * 0.3048 - 2.0).abs() < 1e-9);
    let velocity = values(&sim, "r.velocity_mps");
    assert!((number(&sim, "r.drift.velocity_ftps[0]") * 0.3048 - 2.0 * velocity[0]).abs() < 1e-9);
    assert!(velocity[0] > 1.0);
}

#[test]
fn modifiers_that_do_not_fit_are_refused_with_what_would() {
    let with = |sensor: &str, modifiers: &str| {
        refused(&format!(
            "{{robots: [{{name: r, motion: {{kind: point}}, sensors: {{s: {{kind: {sensor}, modifiers: [{modifiers}]}}}}}}]}}"
        ))
    };
    let text = with("barometer", "{kind: ned}");
    assert!(
        text.contains("robots[0].sensors.s.modifiers[0]: found a sensor with fields pressure_pa, altitude_m"),
        "{text}"
    );
    assert!(text.contains("expected a field in the axes east, north, up"), "{text}");
    assert!(with("odometry", "{kind: utm}").contains("a point of the world"));
    assert!(with("truth", "{kind: ned}, {kind: geodetic}").contains("modifiers[1]"));
    assert!(with("gps", "{kind: geodetic}").contains("no latitude_deg of its own"));
    assert!(with("imu", "{kind: expression, set: {accel_mps2: sin(tme_s)}}").contains("instead of \"tme_s\""));
    assert!(with("imu", "{kind: expression, set: {accel_mps2: '1 +'}}").contains("set.accel_mps2: found the end"));
    assert!(with("truth", "{kind: utm, zone: 61}").contains("whole number from 1 to 60"));
}

// S04
#[test]
fn ten_bits_over_two_g_clip_what_a_body_feels() {
    let imu = "{kind: imu, rate_hz: 1000, modifiers: [{kind: quantisation, bits: 10, min: -19.6133, max: 19.6133, fields: [accel_mps2]}]}";
    let level = 4.0 * 9.80665 / 1023.0;
    for (gravity, expected) in [(-5.0, 5.0), (-30.0, 19.6133), (25.0, -19.6133)] {
        let mut sim = simulation(&format!(
            "{{world: {{gravity_mps2: [0, 0, {gravity}]}}, robots: [{{name: r, motion: {{kind: point}}, sensors: {{s: {imu}}}}}]}}"
        ));
        sim.run_for(0.1);
        let found = values(&sim, "r.s.accel_mps2")[2];
        assert!((found - expected).abs() <= 0.5 * level + 1e-12, "{found}, expected {expected}");
        let steps = (found + 19.6133) / level;
        assert!((steps - steps.round()).abs() < 1e-9 && (0.0..=1023.0).contains(&steps.round()));
    }
}

// B12: the date belongs to the world, and is kept within what the magnetic model holds for
#[test]
fn a_compass_turns_with_the_date_of_the_world() {
    let east_of_north = |year: f64| {
        let mut sim = moving(
            &format!("decimal_year: {year}, origin: {{latitude_deg: 80, longitude_deg: 0, altitude_m: 0}}"),
            "[0, 0, 0]",
            "m: {kind: magnetometer}",
        );
        sim.run_for(0.02);
        let (field, q) = (values(&sim, "r.m.magnetic_field_t"), values(&sim, "r.orientation"));
        let field = glam::DQuat::from_slice(&q) * glam::DVec3::from_slice(&field);
        field.x.atan2(field.y).to_degrees()
    };
    // published with the model: 1.28° at 2025.0, 2.59° at 2027.5
    assert!((east_of_north(2025.0) - 1.28).abs() < 0.006 && (east_of_north(2027.5) - 2.59).abs() < 0.006);
    assert!(refused("{world: {decimal_year: 2031}}").contains("number from 2025 to 2030"));
}
