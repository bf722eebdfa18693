//! What sensors say and what modifiers do to it, seen from outside through the whole simulator.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use glam::DVec3;
use muster::sink::{Batch, Sink};
use muster::{Setup, Simulation};
use muster_core::command::Action;
use muster_core::lanes::setpoint;
use muster_models::sensors::neighbours;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

fn simulation(text: &str) -> Simulation {
    Simulation::from_text(text, &Setup::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn values(sim: &Simulation, path: &str) -> Vec<f64> {
    sim.world().property(path).unwrap_or_else(|error| panic!("{error}"))
}

/// Samples by `robot.sensor`: stamp and numbers.
type Heard = BTreeMap<String, Vec<(f64, Vec<f64>)>>;

struct Ear(String, Arc<Mutex<Heard>>);

impl Sink for Ear {
    fn sensors(&self) -> Vec<String> {
        vec![self.0.clone()]
    }

    fn take(&mut self, batch: &Batch) {
        let mut all = self.1.lock().unwrap();
        for sample in batch.samples() {
            let names = &batch.directory.robots[&sample.robot];
            let name = format!("{}.{}", names.name, names.sensors[sample.sensor as usize].0);
            all.entry(name).or_default().push((sample.stamp.s(), sample.values.to_vec()));
        }
    }
}

/// Everything that sensors of a pattern say for a time.
fn hear(sim: &mut Simulation, pattern: &str, seconds: f64) -> Heard {
    let heard: Arc<Mutex<Heard>> = Arc::default();
    sim.add_sink(Box::new(Ear(pattern.to_owned(), Arc::clone(&heard)))).unwrap();
    sim.run_for(seconds);
    std::mem::take(&mut *heard.lock().unwrap())
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

fn std(numbers: &[f64]) -> f64 {
    let mean = mean(numbers);
    (numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / numbers.len() as f64).sqrt()
}

fn check_share(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "found {found}, expected {expected}");
}

/// A still robot with one sensor.
fn still(world: &str, at: &str, sensor: &str) -> Simulation {
    simulation(&format!(
        "{{world: {{{world}}}, robots: [{{name: r, motion: {{kind: point}}, at: {{xyz_m: {at}}}, sensors: {{s: {sensor}}}}}]}}"
    ))
}

fn column(heard: &Heard, sensor: &str, index: usize) -> Vec<f64> {
    heard[sensor].iter().map(|(_, values)| values[index]).collect()
}

// S01: specific force and angular velocity, with noise and bias as configured
#[test]
fn an_imu_at_rest_reads_gravity_upwards_with_its_noise() {
    let text = "{kind: imu, rate_hz: 1000, accel_noise_mps2_per_sqrt_hz: 0.01, gyro_noise_radps_per_sqrt_hz: 0.002}";
    let heard = hear(&mut still("", "[0, 0, 1]", text), "r.s", 10.0);
    for (index, expected) in [0.0, 0.0, 9.80665, 0.0, 0.0, 0.0].into_iter().enumerate() {
        let numbers = column(&heard, "r.s", index);
        assert_eq!(numbers.len(), 10_000);
        // white noise of density N has standard deviation N √rate
        let noise = if index < 3 { 0.01 } else { 0.002 } * 1000_f64.sqrt();
        check_share(std(&numbers), noise, 0.05);
        assert!((mean(&numbers) - expected).abs() < 5.0 * noise / 100.0, "{}", mean(&numbers));
    }
}

#[test]
fn the_bias_of_an_imu_walks_as_configured() {
    let text = "{kind: imu, rate_hz: 1000, accel_walk_mps3_per_sqrt_hz: 0.3, gyro_walk_radps2_per_sqrt_hz: 0.05}";
    let heard = hear(&mut still("", "[0, 0, 1]", text), "r.s", 10.0);
    for (index, density) in [(0, 0.3), (2, 0.3), (3, 0.05), (5, 0.05)] {
        let numbers = column(&heard, "r.s", index);
        let steps: Vec<f64> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
        check_share(std(&steps), density * 0.001_f64.sqrt(), 0.05);
        // and steps add up as those of a walk do: a hundred of them are ten times one
        let long: Vec<f64> = numbers.windows(101).step_by(5).map(|run| run[100] - run[0]).collect();
        check_share(std(&long), density * 0.1_f64.sqrt(), 0.4);
    }
}

// S02: who is near, as brute force finds it
#[test]
fn ten_robots_find_those_within_five_metres() {
    let mut sim = simulation(
        "{world: {ground: false}, robots: [{name: 'r{i}', kind: point, count: 10, \
         layout: {random: {from_m: [0, 0, 0], to_m: [9, 9, 2]}}, driver: {kind: random_walk, speed_mps: 1}, \
         sensors: {near: {kind: neighbours, radius_m: 5, rate_hz: 50}}}]}",
    );
    for _ in 0..20 {
        sim.run_for(0.1);
        let robots: Vec<(u32, String)> =
            sim.world().roster().map(|(number, robot)| (number, robot.name.clone())).collect();
        let position = |name: &str| sim.world().pose(name).unwrap().position_m;
        for (own, name) in &robots {
            let sample = values(&sim, &format!("{name}.near"));
            let mut found: Vec<u32> =
                sample.chunks_exact(neighbours::RECORD).map(|record| record[neighbours::ID] as u32).collect();
            found.sort_unstable();
            let near = |other: &&(u32, String)| other.0 != *own && position(&other.1).distance(position(name)) <= 5.0;
            let expected: Vec<u32> = robots.iter().filter(near).map(|(number, _)| *number).collect();
            assert_eq!(found, expected);
            for record in sample.chunks_exact(neighbours::RECORD) {
                let other = &robots.iter().find(|(number, _)| f64::from(*number) == record[neighbours::ID]).unwrap().1;
                assert!((DVec3::from_slice(record) - (position(other) - position(name))).length() < 1e-12);
            }
        }
    }
}

// S11: the values MORSE publishes for its own test
#[test]
fn gps_gives_the_published_geodetic_values() {
    let world = "ground: false, origin: {longitude_deg: 43.6, latitude_deg: 1.4333, altitude_m: 135}";
    let mut sim = still(world, "[100, 200, 50]", "{kind: gps}");
    sim.run_for(1.0);
    for (field, expected, tolerance) in
        [("latitude_deg", 1.4351, 5e-5), ("longitude_deg", 43.6009, 5e-5), ("altitude_m", 185.003, 1e-3)]
    {
        let found = values(&sim, &format!("r.s.{field}"))[0];
        assert!((found - expected).abs() < tolerance, "{field}: {found}, expected {expected}");
    }
    assert_eq!(values(&sim, "r.s.position_m"), [100.0, 200.0, 50.0]);
}

// S16: every topic at its rate for each aircraft
#[test]
fn every_sensor_of_every_aircraft_speaks_at_its_rate() {
    let mut sim = simulation(
        "{robots: [{name: 'uav{i}', kind: fixed_wing, count: 3, layout: {line: {from_m: [0, 0, 100], step_m: [0, 50, 0]}}}]}",
    );
    let heard = hear(&mut sim, "*.*", 2.0);
    for uav in 0..3 {
        for (sensor, rate_hz) in
            [("truth", 100.0), ("imu", 500.0), ("gps", 10.0), ("barometer", 50.0), ("airspeed", 50.0)]
        {
            let samples = &heard[&format!("uav{uav}.{sensor}")];
            assert_eq!(samples.len(), (2.0 * rate_hz) as usize, "{sensor}");
            for pair in samples.windows(2) {
                assert!((pair[1].0 - pair[0].0 - 1.0 / rate_hz).abs() < 1e-9, "{sensor}");
            }
        }
    }
    assert_eq!(heard.len(), 15);
}

// F01: the sensor measures, modifiers change in the order written, then the sample goes out. Modifiers of actuator
// inputs are still to come.
#[test]
fn modifiers_act_in_order_between_measurement_and_delivery() {
    let at_three = |modifiers: &str| {
        let sensor = format!("{{kind: truth, rate_hz: 100, modifiers: {modifiers}}}");
        column(&hear(&mut still("", "[3, 0, 1]", &sensor), "r.s", 10.0), "r.s", 0)
    };
    let (noise, limit) =
        ("{kind: gaussian_noise, position_std_m: 1}", "{kind: saturation, max: 2, fields: [position_m]}");
    let limited_last = at_three(&format!("[{noise}, {limit}]"));
    assert!(limited_last.iter().all(|&x| x <= 2.0) && limited_last.iter().any(|&x| x < 2.0));
    let noisy_last = at_three(&format!("[{limit}, {noise}]"));
    assert!(noisy_last.iter().any(|&x| x > 2.5), "noise comes after the limit");
    check_share(mean(&noisy_last), 2.0, 0.1);
    let rounded_last = at_three(&format!("[{noise}, {{kind: quantisation, step: 0.5, fields: [position_m]}}]"));
    assert!(rounded_last.iter().all(|x| (x * 2.0).fract() == 0.0));
}

// L03, F02: without modifiers sensors are perfect, and truth is the truth
#[test]
fn sensors_without_modifiers_have_no_error() {
    let mut sim = simulation(
        "{robots: [{name: q, kind: quadrotor, at: {xyz_m: [0, 0, 2]}, sensors: {pose: {kind: truth, rate_hz: 1000}, \
         gps: {kind: gps, rate_hz: 1000}, clean: {kind: imu, rate_hz: 1000}}}]}",
    );
    sim.command(Action::Setpoint { robot: "q".to_owned(), mode: setpoint::POSITION, values: [2.0, 1.0, 4.0, 1.0] });
    for _ in 0..100 {
        sim.run_for(0.02);
        for field in ["position_m", "orientation", "velocity_mps", "angular_velocity_radps"] {
            assert_eq!(values(&sim, &format!("q.pose.{field}")), values(&sim, &format!("q.{field}")), "{field}");
        }
        assert_eq!(values(&sim, "q.gps.position_m"), values(&sim, "q.position_m"));
        assert_eq!(values(&sim, "q.clean.angular_velocity_radps"), values(&sim, "q.angular_velocity_radps"));
    }
}

// F03: noise has its standard deviations and follows the seed
#[test]
fn gaussian_noise_has_its_deviation_and_follows_the_seed() {
    let sensor = "{kind: truth, rate_hz: 1000, modifiers: [{kind: gaussian_noise, position_std_m: 0.2, rotation_std_rad: 0.05}]}";
    let run = |seed: u32| {
        let mut sim = simulation(&format!(
            "{{run: {{seed: {seed}}}, robots: [{{name: r, motion: {{kind: point}}, at: {{xyz_m: [1, 2, 3]}}, sensors: {{s: {sensor}}}}}]}}"
        ));
        hear(&mut sim, "r.s", 10.0)
    };
    let heard = run(1);
    for axis in 0..3 {
        let (position, turn) = (column(&heard, "r.s", axis), column(&heard, "r.s", 3 + axis));
        assert_eq!(position.len(), 10_000);
        check_share(std(&position), 0.2, 0.05);
        assert!((mean(&position) - [1.0, 2.0, 3.0][axis]).abs() < 0.01);
        // half the angle, for small ones
        check_share(2.0 * std(&turn), 0.05, 0.05);
    }
    assert_eq!(run(1), heard, "the same seed gives the same noise");
    assert_ne!(run(2), heard);
}

#[test]
fn a_look_at_the_world_is_modified_and_restored_while_running() {
    let mut sim = simulation(
        "{world: {ground: false}, robots: [{name: 'r{i}', kind: point, count: 3, at: {xyz_m: ['{3 * i}', 0, 0]}, \
         sensors: {near: {kind: neighbours, radius_m: 4, rate_hz: 50}}}]}",
    );
    let heard: Arc<Mutex<Heard>> = Arc::default();
    sim.add_sink(Box::new(Ear("*.near".to_owned(), Arc::clone(&heard)))).unwrap();
    sim.run_for(1.0);
    sim.set_modifiers("r0", "near", "[{kind: saturation, max: 1, fields: [position_m]}]").unwrap();
    sim.run_for(1.0);
    sim.set_modifiers("r0", "near", "[]").unwrap();
    sim.run_for(1.0);
    let heard = heard.lock().unwrap();
    for (stamp_s, values) in &heard["r0.near"] {
        assert_eq!(values[0], if *stamp_s > 1.0 && *stamp_s <= 2.0 { 1.0 } else { 3.0 }, "{stamp_s} s");
    }
    let counts: Vec<usize> = heard.values().map(Vec::len).collect();
    assert_eq!(counts, [150; 3], "each sensor is heard once a sample");
    assert!(heard["r2.near"].iter().all(|(_, values)| values[0] == -3.0));
}

#[test]
fn a_reset_run_says_the_same_again() {
    let mut sim = simulation(
        "{robots: [{name: r, kind: point, driver: {kind: random_walk}, sensors: {gps: {kind: gps, horizontal_noise_m: 1}}}]}",
    );
    let heard: Arc<Mutex<Heard>> = Arc::default();
    sim.add_sink(Box::new(Ear("r.*".to_owned(), Arc::clone(&heard)))).unwrap();
    sim.run_for(1.0);
    let first = std::mem::take(&mut *heard.lock().unwrap());
    sim.reset();
    sim.run_for(1.0);
    assert_eq!(*heard.lock().unwrap(), first);
    assert_eq!(first["r.truth"].len(), 50);
}
