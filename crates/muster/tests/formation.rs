//! Formations by artificial potentials, of quadrotors with all their sensors and loops and of simple points.

use muster::{Setup, Simulation};
use muster_scenario::text::Threads;

fn simulation(text: &str, threads: usize) -> Simulation {
    let setup = Setup { threads: Some(Threads::Count(threads)), ..Setup::default() };
    Simulation::from_text(text, &setup).unwrap_or_else(|error| panic!("{error}"))
}

fn positions(sim: &Simulation) -> Vec<[f64; 3]> {
    let world = sim.world();
    world.robots().map(|robot| world.pose(&robot.name).expect("a living robot").position_m.to_array()).collect()
}

fn distance(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

fn least_distance(sim: &Simulation) -> f64 {
    let places = positions(sim);
    let pairs = places.iter().enumerate().flat_map(|(at, a)| places[..at].iter().map(move |b| distance(a, b)));
    pairs.fold(f64::INFINITY, f64::min)
}

fn worst(sim: &Simulation, variable: &str) -> f64 {
    let number = |robot: &str| sim.world().number(&format!("{robot}.{variable}")).expect("a number");
    sim.world().robots().map(|robot| number(&robot.name)).fold(0.0, f64::max)
}

/// Seventy quadrotors that start on the ground's grid, or on a small sphere, and shall form a sphere of 5 m.
fn seventy(layout: &str) -> String {
    format!(
        "{{robots: [{{name: 'q{{i}}', kind: quadrotor, count: 70, layout: {layout}, \
         driver: {{kind: formation, rate_hz: 50, shape: sphere, sphere_radius_m: 5, center_m: [0, 0, 8], radius_m: 3}}, \
         sensors: {{neighbours: {{kind: neighbours, rate_hz: 50, radius_m: 4}}}}}}]}}"
    )
}

#[test]
fn seventy_quadrotors_form_a_sphere_without_contact() {
    for layout in
        ["{sphere: {radius_m: 3, center_m: [0, 0, 8]}}", "{grid: {rows: 7, spacing_m: 1.5, from_m: [-6.75, -4.5, 1]}}"]
    {
        let mut sim = simulation(&seventy(layout), 2);
        let (mut least, mut formed_s) = (f64::INFINITY, 0.0);
        for step in 1..=300 {
            sim.run_for(0.1);
            least = least.min(least_distance(&sim));
            if worst(&sim, "driver.formation_error_m") > 0.5 {
                formed_s = f64::from(step) * 0.1;
            }
        }
        let error = worst(&sim, "driver.formation_error_m");
        let spread = least_distance(&sim);
        println!(
            "{layout}: formed after {formed_s:.1} s, error {error:.3} m, least distance {least:.2} m, in the end {spread:.2} m"
        );
        assert_eq!(worst(&sim, "contacts"), 0.0);
        assert!(error < 0.5 && formed_s < 30.0, "{error} m, {formed_s} s");
        assert!(spread > 1.2, "they are spread over the sphere: {spread} m");
    }
}

#[test]
fn a_formation_flies_around_a_pillar() {
    let text = "{world: {obstacles: {pillar: {box_size_m: [1, 1, 12], at: {xyz_m: [8, 0.1, 6]}}}}, \
         robots: [{name: 'q{i}', kind: quadrotor, count: 9, layout: {grid: {rows: 3, spacing_m: 2, from_m: [-2, -2, 5]}}, \
         driver: {kind: formation, rate_hz: 50, drift_mps: [0.8, 0, 0], radius_m: 3}, \
         sensors: {neighbours: {kind: neighbours, rate_hz: 50, radius_m: 4}}}]}";
    let mut sim = simulation(text, 2);
    let (mut error, mut least) = (0.0, f64::INFINITY);
    for _ in 0..250 {
        sim.run_for(0.1);
        error = f64::max(error, worst(&sim, "driver.formation_error_m"));
        least = least.min(least_distance(&sim));
    }
    let last = worst(&sim, "driver.formation_error_m");
    println!("pillar: greatest error {error:.2} m, in the end {last:.3} m, least distance {least:.2} m");
    assert_eq!(worst(&sim, "contacts"), 0.0);
    assert!(error > 0.5, "the pillar stands in the way");
    assert!(last < 0.2, "{last}");
    assert!(positions(&sim).iter().all(|place| place[0] > 12.0), "all have passed");
}

#[test]
fn two_who_change_places_pass_each_other_and_a_wall_straight_ahead_is_flown_around() {
    // a place 12 m ahead: 13 times as far from the centre as home
    let text = |kind: &str, flat: bool| {
        let driver = format!(
            "driver: {{kind: formation, rate_hz: 50, scale: 13, flat: {flat}, radius_m: 3, body_radius_m: 0.25"
        );
        let rest =
            "sensors: {neighbours: {kind: neighbours, rate_hz: 50, radius_m: 4}, truth: {kind: truth, rate_hz: 100}}";
        format!(
            "{{world: {{obstacles: {{wall: {{box_size_m: [0.5, 2, 10], at: {{xyz_m: [0, 5, 5]}}}}}}}}, robots: [\
             {{name: a, kind: {kind}, at: {{xyz_m: [-6, 0, 2]}}, {driver}, center_m: [-7, 0, 2]}}, {rest}}},\
             {{name: b, kind: {kind}, at: {{xyz_m: [6, 0, 2], yaw_deg: 180}}, {driver}, center_m: [7, 0, 2]}}, {rest}}},\
             {{name: c, kind: {kind}, at: {{xyz_m: [-6, 5, 2]}}, {driver}, center_m: [-7, 5, 2]}}, {rest}}}]}}"
        )
    };
    for (kind, flat) in [("quadrotor", false), ("point", false), ("point", true)] {
        let mut sim = simulation(&text(kind, flat), 1);
        sim.run_for(25.0);
        assert_eq!(worst(&sim, "contacts"), 0.0, "{kind}");
        let error = worst(&sim, "driver.formation_error_m");
        assert!(error < 0.2, "{kind} {flat}: {error} m, {:?}", positions(&sim));
        assert_eq!(worst(&sim, "driver.status"), 1.0);
    }
}

#[test]
fn the_hash_is_equal_for_any_threads() {
    let text = seventy("{sphere: {radius_m: 2.5, center_m: [0, 0, 8]}}");
    let hash = |threads: usize| {
        let mut sim = simulation(&text, threads);
        sim.run_for(3.0);
        sim.world().hash()
    };
    assert_eq!(hash(1), hash(2));
}

#[test]
fn a_clearance_beyond_the_influence_is_refused() {
    let text = "{robots: [{name: q, kind: quadrotor, driver: {kind: formation, radius_m: 1, clearance_m: 2}}]}";
    let error = Simulation::from_text(text, &Setup::default()).err().expect("refused").rendered;
    assert!(error.contains("driver.clearance_m") && error.contains("less than radius_m, 1"), "{error}");
}
