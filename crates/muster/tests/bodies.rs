//! Bodies with mass, through the whole simulator: rest, friction, rebound, stacks, limbs. Each against its closed form.

use glam::DVec3;
use muster::{Setup, Simulation};
use muster_core::command::Action;
use muster_scenario::text::Threads;

const G: f64 = 9.80665;

fn simulation(text: &str) -> Simulation {
    Simulation::from_text(text, &Setup { threads: Some(Threads::Count(1)), ..Setup::default() })
        .unwrap_or_else(|error| panic!("{error}"))
}

fn vec3(sim: &Simulation, path: &str) -> DVec3 {
    let values = sim.world().property(path).unwrap_or_else(|error| panic!("{error}"));
    DVec3::new(values[0], values[1], values[2])
}

fn values(sim: &Simulation, path: &str) -> Vec<f64> {
    sim.world().property(path).unwrap_or_else(|error| panic!("{error}"))
}

fn set(sim: &mut Simulation, path: &str, values: &[f64]) {
    sim.command(Action::Set { path: path.to_owned(), values: values.to_vec() });
}

/// A world of one body.
fn body(world: &str, robot: &str) -> Simulation {
    simulation(&format!("{{world: {{{world}}}, robots: [{{name: b, motion: {{kind: single_body}}, {robot}}}]}}"))
}

#[test]
fn a_force_of_one_newton_gives_a_kilogram_a_metre_per_second_in_a_second() {
    let mut sim = body("gravity_mps2: [0, 0, 0]", "shape: {sphere_radius_m: 0.1}, at: {xyz_m: [0, 0, 5]}");
    set(&mut sim, "b.input.force_n", &[1.0, 0.0, 0.0]);
    sim.run_for(1.0);
    assert!((vec3(&sim, "b.velocity_mps").x - 1.0).abs() < 1e-3);
    assert!((vec3(&sim, "b.position_m").x - 0.5).abs() < 1e-3);
    // a torque of 1 Nm about an axis with the inertia of a ball, 2/5 m r²
    set(&mut sim, "b.input.force_n", &[0.0; 3]);
    set(&mut sim, "b.input.torque_nm", &[0.0, 0.0, 0.001]);
    sim.run_for(1.0);
    assert!((vec3(&sim, "b.angular_velocity_radps").z - 0.001 / (0.4 * 0.01)).abs() < 1e-3);
}

#[test]
fn what_falls_on_a_plane_comes_to_rest_on_it_without_jitter() {
    for (shape, height) in [
        ("sphere_radius_m: 0.2", 0.2),
        ("box_size_m: [0.6, 0.4, 0.3]", 0.15),
        ("cylinder: {radius_m: 0.2, height_m: 0.5}", 0.25),
        ("capsule: {radius_m: 0.2, length_m: 0.5}", 0.45),
        ("cone: {radius_m: 0.3, height_m: 0.5}", 0.25),
    ] {
        let at = format!("shape: {{{shape}}}, at: {{xyz_m: [0, 0, {}]}}", height + 0.3);
        let mut sim = body("", &at);
        sim.run_for(3.0);
        let mut fastest: f64 = 0.0;
        let start = vec3(&sim, "b.position_m");
        for _ in 0..500 {
            sim.run_for(0.001);
            fastest = fastest.max(vec3(&sim, "b.velocity_mps").length());
        }
        let end = vec3(&sim, "b.position_m");
        assert!(fastest < 1e-3, "{shape}: {fastest} m/s");
        assert!((end.z - height).abs() < 1e-4, "{shape}: {end}");
        assert!((end - start).length() < 1e-5, "{shape}: {start} {end}");
        let force = vec3(&sim, "b.contact_force_n");
        assert!((force.z - G).abs() < 1e-3, "{shape}: {force}");
    }
}

/// A plane that rises towards +x by an angle, and a box on it.
fn ramp(angle_deg: f64, friction: f64) -> Simulation {
    let (sin, cos) = angle_deg.to_radians().sin_cos();
    body(
        &format!(
            "ground: false, obstacles: {{ramp: {{plane: true, at: {{rpy_deg: [0, {}, 0]}}, friction: {friction}}}}}",
            -angle_deg
        ),
        &format!(
            "shape: {{box_size_m: [0.4, 0.4, 0.2], friction: {friction}}}, \
             at: {{xyz_m: [{}, 0, {}], rpy_deg: [0, {}, 0]}}",
            -0.1 * sin,
            0.1 * cos,
            -angle_deg
        ),
    )
}

// D17
#[test]
fn on_a_ramp_of_twenty_degrees_a_box_slides_at_0_2_and_stays_at_0_5() {
    let mut sim = ramp(20.0, 0.2);
    sim.run_for(2.0);
    let slid = vec3(&sim, "b.position_m").length();
    let expected = 0.5 * G * (20_f64.to_radians().sin() - 0.2 * 20_f64.to_radians().cos()) * 4.0;
    assert!((slid / expected - 1.0).abs() < 0.02, "{slid} {expected}");
    let mut sim = ramp(20.0, 0.5);
    sim.run_for(0.5);
    let start = vec3(&sim, "b.position_m");
    sim.run_for(10.0);
    let crept = (vec3(&sim, "b.position_m") - start).length();
    assert!(crept < 1e-4, "{crept} m in 10 s");
}

// D17
#[test]
fn a_sliding_box_stops_after_v_squared_over_two_mu_g() {
    let mut sim = body(
        "ground: false, obstacles: {floor: {plane: true, friction: 0.4}}",
        "shape: {box_size_m: [0.4, 0.4, 0.1], friction: 0.4}, at: {xyz_m: [0, 0, 0.05]}, velocity_mps: [4, 0, 0]",
    );
    sim.run_for(4.0);
    let (way, expected) = (vec3(&sim, "b.position_m").x, 16.0 / (2.0 * 0.4 * G));
    assert!((way / expected - 1.0).abs() < 0.01, "{way} {expected}");
    assert!(vec3(&sim, "b.velocity_mps").length() < 1e-6);
}

#[test]
fn a_ball_rebounds_to_the_square_of_its_restitution() {
    let mut sim = body("", "shape: {sphere_radius_m: 0.1, restitution: 0.7}, at: {xyz_m: [0, 0, 1.1]}");
    sim.run_for((2.0 / G).sqrt() + 0.01);
    let mut highest: f64 = 0.0;
    for _ in 0..700 {
        sim.run_for(0.001);
        highest = highest.max(vec3(&sim, "b.position_m").z - 0.1);
    }
    assert!((highest - 0.49).abs() < 0.01, "{highest}");
}

#[test]
fn two_balls_keep_their_momentum_and_part_by_restitution() {
    let ball = |name: &str, x: f64, v: f64, mass: f64| {
        format!(
            "{{name: {name}, motion: {{kind: single_body, mass_kg: {mass}}}, \
             shape: {{sphere_radius_m: 0.1, friction: 0, restitution: 0.8}}, at: {{xyz_m: [{x}, 0, 5]}}, \
             velocity_mps: [{v}, 0, 0]}}"
        )
    };
    let text = format!(
        "{{world: {{gravity_mps2: [0, 0, 0]}}, robots: [{}, {}]}}",
        ball("a", 0.0, 2.0, 1.0),
        ball("b", 1.0, 0.0, 3.0)
    );
    let mut sim = simulation(&text);
    sim.run_for(1.0);
    let (a, b) = (vec3(&sim, "a.velocity_mps"), vec3(&sim, "b.velocity_mps"));
    assert!((a + b * 3.0 - DVec3::X * 2.0).length() < 1e-9, "{a} {b}");
    assert!(((b - a).x - 0.8 * 2.0).abs() < 1e-6, "{a} {b}");
}

#[test]
fn nothing_passes_through_a_thin_wall_at_twenty_metres_per_second() {
    for shape in ["sphere_radius_m: 0.02", "box_size_m: [0.03, 0.03, 0.03]", "sphere_radius_m: 0.1"] {
        for wall in [
            "box_size_m: [0.004, 4, 4]",
            "mesh: {vertices_m: [[0, -2, -2], [0, 2, -2], [0, 2, 2], [0, -2, 2]], triangles: [[0, 2, 1], [0, 3, 2]]}",
        ] {
            for start in 0..10 {
                let mut sim = body(
                    &format!("gravity_mps2: [0, 0, 0], obstacles: {{wall: {{{wall}, at: {{xyz_m: [2, 0, 3]}}}}}}"),
                    &format!(
                        "shape: {{{shape}}}, at: {{xyz_m: [{}, 0.1, 3.2]}}, velocity_mps: [20, 0, 0]",
                        f64::from(start) * 0.0023
                    ),
                );
                sim.run_for(0.5);
                let end = vec3(&sim, "b.position_m");
                assert!(end.x < 2.0, "{shape} {wall} {start}: {end}");
            }
        }
    }
}

#[test]
fn a_stack_of_ten_boxes_stands() {
    let mut sim = simulation(
        "{robots: [{name: 'b{i}', motion: {kind: single_body}, count: 10, shape: {box_size_m: [0.2, 0.2, 0.2]}, \
         layout: {line: {from_m: [0, 0, 0.1], step_m: [0, 0, 0.2]}}}]}",
    );
    sim.run_for(2.0);
    let place = |sim: &Simulation, i: usize| vec3(sim, &format!("b{i}.position_m"));
    let before: Vec<DVec3> = (0..10).map(|i| place(&sim, i)).collect();
    sim.run_for(5.0);
    for (i, before) in before.iter().enumerate() {
        let after = place(&sim, i);
        assert!((after - *before).length() < 1e-4, "{i}: {before} {after}");
        assert!((after.z - 0.1 - 0.2 * i as f64).abs() < 2e-3, "{i}: {after}");
    }
    let weight = vec3(&sim, "b0.contact_force_n").z;
    assert!((weight - G).abs() < 0.05, "what it bears from below and above: {weight}");
}

// M04
#[test]
fn a_robot_that_raises_an_arm_in_free_fall_has_its_centre_on_a_parabola() {
    let mut sim = simulation(
        "{world: {ground: false}, robots: [{name: r, motion: {kind: single_body, mass_kg: 3, \
         inertia_kgm2: [0.02, 0.03, 0.04], links: [{frame: arm, mass_kg: 1, centre_m: [0.3, 0, 0], \
         inertia_kgm2: [0.001, 0.01, 0.01]}]}, \
         frames: {arm: {at: {xyz_m: [0.1, 0, 0.2]}, turn: [0, 1, 0], rate_max_degps: 200, accel_max_degps2: 2000}}, \
         velocity_mps: [1, 0.5, 3]}]}",
    );
    let centre = |sim: &Simulation| {
        let q = sim.world().property("r.orientation").unwrap();
        let turn = glam::DQuat::from_xyzw(q[0], q[1], q[2], q[3]);
        vec3(sim, "r.position_m") + turn * vec3(sim, "r.motion.centre_m")
    };
    let start = centre(&sim);
    set(&mut sim, "r.joint_command.arm", &[-1.5]);
    for step in 1..=10 {
        sim.run_for(0.1);
        let t = 0.1 * f64::from(step);
        let expected = start + DVec3::new(1.0, 0.5, 3.0) * t - DVec3::Z * 0.5 * G * t * t;
        assert!((centre(&sim) - expected).length() < 1e-6, "{step}: {} {expected}", centre(&sim));
    }
    // composite inertia with the arm at -1.5 rad, by the parallel axis theorem
    let angle: f64 = -1.5;
    let tip = DVec3::new(0.1 + 0.3 * angle.cos(), 0.0, 0.2 - 0.3 * angle.sin());
    let c = tip / 4.0;
    let (own, other) = (c, tip - c);
    let yy = 0.03 + 3.0 * own.length_squared() + 0.01 + other.length_squared();
    let found = sim.world().property("r.motion.inertia_kgm2").unwrap()[1];
    assert!((found - yy).abs() < 1e-9, "{found} {yy}");
    assert!((vec3(&sim, "r.motion.centre_m") - c).length() < 1e-9);
}

#[test]
fn a_belt_carries_what_lies_on_it_and_groups_pass_through_each_other() {
    let mut sim = simulation(
        "{world: {ground: false, obstacles: {belt: {box_size_m: [20, 2, 1], belt_mps: [0.7, 0, 0], groups: [solid]}}}, \
         robots: [{name: crate, motion: {kind: single_body}, shape: {box_size_m: [0.3, 0.3, 0.3]}, \
         at: {xyz_m: [0, 0, 0.65]}}, {name: ghost, motion: {kind: single_body}, shape: {box_size_m: [0.3, 0.3, 0.3]}, \
         meets: [other], at: {xyz_m: [3, 0, 0.65]}}]}",
    );
    sim.run_for(3.0);
    assert!((vec3(&sim, "crate.velocity_mps") - DVec3::X * 0.7).length() < 1e-3);
    assert!(vec3(&sim, "ghost.position_m").z < -5.0);
}

#[test]
fn a_robot_that_is_moved_by_its_algorithm_pushes_a_box() {
    let mut sim = simulation(
        "{robots: [{name: pusher, kind: differential, motion: {rate_hz: 1000}, at: {xyz_m: [0, 0, 0.1]}}, \
         {name: crate, motion: {kind: single_body, mass_kg: 2}, shape: {box_size_m: [0.3, 0.3, 0.2]}, \
         at: {xyz_m: [0.5, 0, 0.1]}}]}",
    );
    let mode = muster_core::lanes::setpoint::VELOCITY;
    sim.command(Action::Setpoint { robot: "pusher".to_owned(), mode, values: [0.5, 0.0, 0.0, 0.0] });
    sim.run_for(4.0);
    let (pusher, pushed) = (vec3(&sim, "pusher.position_m").x, vec3(&sim, "crate.position_m").x);
    assert!(pushed > 1.5 && (pushed - pusher - 0.27).abs() < 0.01, "{pusher} {pushed}");
}

/// Kinetic and potential energy of all robots, which are cubes of 1 kg with edges of 0.2 m.
fn energy_j(sim: &Simulation) -> f64 {
    let inertia = 0.04 / 6.0;
    let robots: Vec<String> = sim.world().robots().map(|robot| robot.name.clone()).collect();
    let one = |name: &String| {
        let (velocity, spin) =
            (vec3(sim, &format!("{name}.velocity_mps")), vec3(sim, &format!("{name}.angular_velocity_radps")));
        let height = vec3(sim, &format!("{name}.position_m")).z;
        0.5 * velocity.length_squared() + 0.5 * inertia * spin.length_squared() + G * height
    };
    robots.iter().map(one).sum()
}

// the whole pile of a thousand is measured by `muster bench pile-1000`
#[test]
fn a_pile_ten_boxes_high_neither_moves_nor_gains_energy() {
    let mut sim = simulation(
        "{robots: [{name: 'b{i}', motion: {kind: single_body, speed_max_mps: 10}, count: 160, \
         shape: {box_size_m: [0.2, 0.2, 0.2], restitution: 0}, \
         layout: {grid: {rows: 4, layers: 10, spacing_m: 0.21, layer_spacing_m: 0.2, from_m: [0, 0, 0.1]}}}]}",
    );
    let start = energy_j(&sim);
    let places = |sim: &Simulation| (0..160).map(|i| vec3(sim, &format!("b{i}.position_m"))).collect::<Vec<DVec3>>();
    let mut most: f64 = 0.0;
    let mut run = |sim: &mut Simulation, seconds: f64| {
        for _ in 0..(seconds * 50.0) as usize {
            sim.run_for(0.02);
            most = most.max(energy_j(sim) / start - 1.0);
        }
    };
    run(&mut sim, 2.0);
    let before = places(&sim);
    run(&mut sim, 8.0);
    let moved = before.iter().zip(places(&sim)).map(|(before, after)| (*before - after).length()).fold(0.0, f64::max);
    println!("moved {moved} energy {most}");
    assert!(moved < 0.005, "{moved} m");
    assert!(most < 0.001, "{most}");
}

#[test]
fn a_load_follows_its_holder_and_falls_when_let_go() {
    let mut sim = simulation(
        "{robots: [{name: crane, kind: point, at: {xyz_m: [0, 0, 2]}}, {name: load, motion: {kind: single_body}, \
         shape: {box_size_m: [0.2, 0.2, 0.2]}, at: {xyz_m: [0, 0, 1.8]}}]}",
    );
    let bond = muster_core::contact::Bond::Weld;
    sim.command(Action::Attach { robot: "load".to_owned(), to: "crane".to_owned(), bond });
    let mode = muster_core::lanes::setpoint::VELOCITY;
    sim.command(Action::Setpoint { robot: "crane".to_owned(), mode, values: [1.0, 0.0, 0.0, 0.5] });
    for _ in 0..200 {
        sim.run_for(0.01);
        let (crane, load) = (vec3(&sim, "crane.position_m"), vec3(&sim, "load.position_m"));
        assert!((load - crane + DVec3::Z * 0.2).length() < 2e-3, "{crane} {load}");
    }
    let turn = |name: &str| values(&sim, &format!("{name}.orientation"));
    assert!(turn("crane").iter().zip(turn("load")).all(|(a, b)| (a - b).abs() < 2e-3), "it turns along");
    sim.command(Action::Detach { robot: "load".to_owned() });
    sim.run_for(2.0);
    assert!((vec3(&sim, "load.position_m").z - 0.1).abs() < 1e-3);
    sim.command(Action::Detach { robot: "load".to_owned() });
    sim.command(Action::Attach { robot: "crane".to_owned(), to: "load".to_owned(), bond });
    sim.run_for(0.1);
    assert_eq!(sim.world_mut().take_refusals().len(), 2, "nothing to let go, and no mass to be held");
}

#[test]
fn a_trailer_follows_on_its_hitch() {
    let mut sim = simulation(
        "{robots: [{name: car, kind: offroad, at: {xyz_m: [0, 0, 0.6]}}, {name: trailer, motion: {kind: single_body, \
         mass_kg: 80, inertia_kgm2: [10, 20, 25], wheels: [{name: l, at_m: [-0.2, 0.5, -0.3], driven: false}, \
         {name: r, at_m: [-0.2, -0.5, -0.3], driven: false}]}, shape: {box_size_m: [1, 0.8, 0.3]}, \
         at: {xyz_m: [-2.2, 0, 0.55]}, attached: {to: car, hitch_m: [-1.2, 0, -0.1]}}]}",
    );
    let mode = muster_core::lanes::setpoint::VELOCITY;
    sim.command(Action::Setpoint { robot: "car".to_owned(), mode, values: [3.0, 0.0, 0.0, 0.3] });
    sim.command(Action::Setpoint {
        robot: "trailer".to_owned(),
        mode: muster_core::lanes::setpoint::DIRECT,
        values: [0.0; 4],
    });
    let point = |sim: &Simulation, name: &str, at: DVec3| {
        let q = values(sim, &format!("{name}.orientation"));
        vec3(sim, &format!("{name}.position_m")) + glam::DQuat::from_xyzw(q[0], q[1], q[2], q[3]) * at
    };
    for _ in 0..100 {
        sim.run_for(0.1);
        let gap = point(&sim, "car", DVec3::new(-1.2, 0.0, -0.1)) - point(&sim, "trailer", DVec3::new(1.0, 0.0, -0.05));
        assert!(gap.length() < 0.02, "{gap}");
    }
    let (car, trailer) = (vec3(&sim, "car.velocity_mps"), vec3(&sim, "trailer.velocity_mps"));
    assert!((car.length() - 3.0).abs() < 0.3 && trailer.length() > 2.0, "{car} {trailer}");
    assert!(values(&sim, "trailer.contacts")[0] == 0.0);
}

// M06
#[test]
fn legs_and_wheels_go_two_metres_without_falling() {
    for (kind, z, speed) in [("quadruped", 0.322, 0.4), ("humanoid", 0.412, 0.2), ("offroad", 0.6, 1.0)] {
        let mut sim = simulation(&format!("{{robots: [{{name: r, kind: {kind}, at: {{xyz_m: [0, 0, {z}]}}}}]}}"));
        let mode = muster_core::lanes::setpoint::VELOCITY;
        sim.command(Action::Setpoint { robot: "r".to_owned(), mode, values: [speed, 0.0, 0.0, 0.0] });
        let mut seconds = 0.0;
        while vec3(&sim, "r.position_m").x < 2.0 {
            sim.run_for(0.1);
            seconds += 0.1;
            let q = values(&sim, "r.orientation");
            let upright = 1.0 - 2.0 * (q[0] * q[0] + q[1] * q[1]);
            assert!(upright > 0.98, "{kind} leans after {seconds} s");
            assert!(seconds < 3.0 * 2.0 / speed, "{kind} is at {} after {seconds} s", vec3(&sim, "r.position_m"));
        }
        assert!(vec3(&sim, "r.position_m").y.abs() < 0.2, "{kind} walks straight");
    }
}

// E12
#[test]
fn of_a_thousand_bodies_only_neighbours_are_looked_at() {
    let mut sim = simulation(
        "{robots: [{name: 'b{i}', motion: {kind: single_body, speed_max_mps: 10}, count: 1000, \
         shape: {box_size_m: [0.4, 0.4, 0.4]}, \
         layout: {random: {from_m: [-50, -50, 0.2], to_m: [50, 50, 0.2], min_distance_m: 0.7}}}]}",
    );
    sim.run_for(0.02);
    let (pairs, _) = sim.world().coupling();
    assert!(pairs < 1000 * 1000 / 20, "{pairs} pairs");
}

// E13
#[test]
fn what_a_robot_collides_with_is_chosen_apart_from_how_it_moves() {
    // a wedge of a metre whose tip is at z = 0.5; its box is a metre wide everywhere
    let wedge = "mesh: {vertices_m: [[-0.5, -0.5, -0.5], [0.5, -0.5, -0.5], [0.5, 0.5, -0.5], [-0.5, 0.5, -0.5], \
                 [0, 0, 0.5]], triangles: [[0, 2, 1], [0, 3, 2], [0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]}";
    let furthest = |shape: &str| {
        let mut sim = body(
            "obstacles: {beam: {box_size_m: [0.2, 4, 0.2], at: {xyz_m: [1, 0, 1.02]}}}",
            &format!(
                "shape: {{{shape}, friction: 0, restitution: 0}}, at: {{xyz_m: [0, 0, 0.5]}}, velocity_mps: [2, 0, 0]"
            ),
        );
        let further = |x: f64, _| {
            sim.run_for(0.01);
            x.max(vec3(&sim, "b.position_m").x)
        };
        (0..100).fold(0.0, further)
    };
    let (by_box, by_mesh) = (furthest("box_size_m: [1, 1, 1]"), furthest(wedge));
    assert!(by_box < 0.5, "the edge of the box meets the beam: {by_box}");
    assert!((by_mesh - 0.86).abs() < 0.02, "the mesh goes below it until its tip does: {by_mesh}");
}

#[test]
fn a_robot_that_is_put_elsewhere_lets_go_and_nobody_is_torn_along() {
    let mut sim = simulation(
        "{robots: [{name: a, motion: {kind: single_body}, shape: {box_size_m: [0.5, 0.5, 0.5]}, at: {xyz_m: [0, 0, 0.25]}}, \
         {name: b, motion: {kind: single_body}, shape: {box_size_m: [0.5, 0.5, 0.5]}, at: {xyz_m: [0.6, 0, 0.25]}, \
         attached: {to: a}}]}",
    );
    sim.run_for(0.1);
    let pose = muster_core::component::Pose {
        position_m: DVec3::new(20.0, 5.0, 0.25),
        ..muster_core::component::Pose::IDENTITY
    };
    sim.command(Action::Teleport { robot: "a".to_owned(), pose });
    sim.run_for(0.5);
    assert!((vec3(&sim, "b.position_m") - DVec3::new(0.6, 0.0, 0.25)).length() < 1e-2);
    assert!((vec3(&sim, "a.position_m") - pose.position_m).length() < 1e-2);
}

#[test]
fn wrong_attachments_are_told_with_their_line() {
    let refusal = |attached: &str| {
        let text = format!(
            "robots:\n  - {{name: a, motion: {{kind: single_body}}, shape: {{sphere_radius_m: 1}}, attached: {{to: b}}}}\n  - {attached}\n"
        );
        let setup = Setup::default();
        Simulation::from_text(&text, &setup).err().map(|error| error.to_string()).expect("refused")
    };
    let body = "motion: {kind: single_body}, shape: {sphere_radius_m: 1}";
    for (second, line, words) in [
        (format!("{{name: b, {body}, attached: {{to: a}}}}"), ":2:", "attached to itself by way of \"b\""),
        (format!("{{name: bb, {body}}}"), ":2:", "expected another robot: bb"),
        ("{name: b, kind: point, attached: {to: a}}".to_owned(), ":3:", "which has no mass"),
    ] {
        let refusal = refusal(&second);
        assert!(refusal.contains(line) && refusal.contains(words), "{refusal}");
    }
}
