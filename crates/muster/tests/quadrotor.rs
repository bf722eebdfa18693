//! The flight control of quadrotors, closed through the whole simulator: sensors, integer inner loop, rotors.

use muster::{Setup, Simulation};
use muster_core::command::Action;
use muster_core::lanes::setpoint;
use muster_scenario::text::Threads;

fn simulation(text: &str) -> Simulation {
    let setup = Setup { threads: Some(Threads::Count(1)), ..Setup::default() };
    Simulation::from_text(text, &setup).unwrap_or_else(|error| panic!("{error}"))
}

/// One quadrotor of the library 2 m above the ground, with more keys of its own and of the world.
fn quadrotor(robot: &str, world: &str) -> Simulation {
    simulation(&format!(
        "{{world: {{{world}}}, robots: [{{name: q, kind: quadrotor, at: {{xyz_m: [0, 0, 2]}}, {robot}}}]}}"
    ))
}

fn fly(sim: &mut Simulation, mode: f64, values: [f64; 4], seconds: f64, mut see: impl FnMut(f64, &Simulation)) {
    sim.command(Action::Setpoint { robot: "q".to_owned(), mode, values });
    for step in 1..=(seconds * 100.0) as u32 {
        sim.run_for(0.01);
        see(f64::from(step) * 0.01, sim);
    }
}

fn vec3(sim: &Simulation, path: &str) -> [f64; 3] {
    let values = sim.world().property(path).unwrap_or_else(|error| panic!("{error}"));
    values.try_into().expect("three numbers")
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

#[test]
fn a_step_of_one_metre_settles_in_three_seconds_with_little_overshoot() {
    for (axis, name) in ["forward", "left", "up"].into_iter().enumerate() {
        let mut sim = quadrotor("", "");
        let mut target = [0.0, 0.0, 2.0];
        fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 2.0, 0.0], 3.0, |_, _| ());
        target[axis] += 1.0;
        let (mut settled, mut highest) = (0.0, f64::MIN);
        fly(&mut sim, setpoint::POSITION, [target[0], target[1], target[2], 0.0], 6.0, |time, sim| {
            let position = vec3(sim, "q.position_m");
            highest = f64::max(highest, position[axis] - target[axis]);
            if distance(position, target) > 0.05 {
                settled = time;
            }
        });
        println!("step {name}: settled within 5 cm after {settled:.2} s, overshoot {:.1} %", 100.0 * highest);
        assert!(settled < 3.0, "{name}: {settled} s");
        assert!(highest < 0.2, "{name}: {highest} m");
    }
}

#[test]
fn hover_holds_within_five_centimetres_for_a_minute() {
    let mut sim = quadrotor("", "");
    let mut worst = 0.0;
    fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 2.0, 0.0], 60.0, |_, sim| {
        worst = f64::max(worst, distance(vec3(sim, "q.position_m"), [0.0, 0.0, 2.0]));
    });
    println!("hover: worst error {:.1} mm", 1e3 * worst);
    assert!(worst < 0.05, "{worst} m");
}

#[test]
fn wind_does_not_push_it_off_its_place() {
    let mut sim = quadrotor("", "wind: {mean_mps: [3, 0, 0]}");
    let (mut worst, mut later) = (0.0, 0.0);
    fly(&mut sim, setpoint::POSITION, [0.0, 0.0, 2.0, 0.0], 30.0, |time, sim| {
        let error = distance(vec3(sim, "q.position_m"), [0.0, 0.0, 2.0]);
        worst = f64::max(worst, error);
        if time > 5.0 {
            later = f64::max(later, error);
        }
    });
    println!("wind of 3 m/s: worst error {:.1} mm, after 5 s {:.1} mm", 1e3 * worst, 1e3 * later);
    assert!(later < 0.1, "{later} m");
}

#[test]
#[ignore = "a measurement of speed, for release builds"]
fn time_of_a_call() {
    let seconds = |controller: &str| {
        let text = format!(
            "{{run: {{for_s: 1}}, world: {{ground: false}}, robots: [{{name: 'q{{i}}', count: 1000, shape: {{none: true}}, \
             layout: {{grid: {{rows: 32, from_m: [0, 0, 5]}}}}, motion: {{kind: quadrotor, rate_hz: 1000}}, \
             driver: {{kind: waypoints, by: position, rate_hz: 10}}, {controller} \
             sensors: {{imu: {{kind: imu, rate_hz: 500}}, truth: {{kind: truth, rate_hz: 100}}}}}}]}}"
        );
        let mut sim = simulation(&text);
        sim.run_for(0.2);
        let start = std::time::Instant::now();
        sim.run_for(1.0);
        start.elapsed().as_secs_f64()
    };
    let best = |controller: &str| (0..5).map(|_| seconds(controller)).fold(f64::INFINITY, f64::min);
    let with = best("controller: {kind: flight_control, rate_hz: 500},");
    let no_outer = best("controller: {kind: flight_control, rate_hz: 500, outer_rate_hz: 1},");
    let without = best("");
    println!("flight_control: {:.0} ns a call", (with - without) * 1e9 / 500e3);
    println!("flight_control without outer loop: {:.0} ns a call", (no_outer - without) * 1e9 / 500e3);
}
