//! A thousand boxes in a pile of ten by ten by ten: how fast, how still, and beside another engine.

use super::How;
use super::measure::{Line, Plan, load, measure};
use glam::DVec3;
use muster::Simulation;

const PILE: &str = include_str!("../../../../benches/scenarios/pile-1000.yaml");

/// Gaps between the columns of boxes, m, and what they are called. Without gaps boxes touch on all sides.
const GAPS: [(f64, &str); 2] = [(0.01, "1 cm between columns"), (0.0, "no gaps")];

/// Edge of a box, m.
const EDGE_M: f64 = 0.2;

pub(super) fn pile(how: &How) -> Result<Vec<Line>, String> {
    let plan = Plan { warm_up_s: 1.0, batch_s: 0.2, batches: 3 }.quick(how.quick);
    let mut lines = Vec::new();
    for (gap_m, variant) in GAPS {
        let text = PILE.replace("spacing_m: 0.21", &format!("spacing_m: {}", EDGE_M + gap_m));
        for threads in how.thread_counts() {
            let measured = measure(&mut load(&text, threads, &[])?, plan);
            let contacts = format!("{:.2}", measured.touches_per_robot);
            lines.push(measured.line("pile-1000", variant).shown("contacts a robot", contacts));
        }
        #[cfg(feature = "rapier")]
        lines.push(super::rapier::pile(EDGE_M + gap_m, plan, variant));
    }
    if !how.quick {
        lines.push(stillness(how.threads.unwrap_or(2))?);
    }
    Ok(lines)
}

/// How far any box moves from 2 s to 10 s, and by how much energy ever exceeds its start.
fn stillness(threads: usize) -> Result<Line, String> {
    let mut sim = load(PILE, threads, &[])?;
    let start = energy_j(&sim);
    let mut most: f64 = 0.0;
    let mut run = |sim: &mut Simulation, seconds: f64| {
        for _ in 0..(seconds * 10.0) as usize {
            sim.run_for(0.1);
            most = most.max(energy_j(sim) / start - 1.0);
        }
    };
    run(&mut sim, 2.0);
    let before = places(&sim);
    run(&mut sim, 8.0);
    let moved_m = before.iter().zip(places(&sim)).map(|(a, b)| (*a - b).length()).fold(0.0, f64::max);
    Ok(Line::new("pile-1000", "from 2 s to 10 s")
        .count("threads", threads)
        .count("robots", before.len())
        .both("moved_mm", moved_m * 1e3, format!("{:.3}", moved_m * 1e3))
        .both("energy_gain", most, format!("{:.4} %", most * 100.0)))
}

fn places(sim: &Simulation) -> Vec<DVec3> {
    sim.world().robots().filter_map(|robot| sim.world().pose(&robot.name)).map(|pose| pose.position_m).collect()
}

/// Kinetic and potential energy of boxes of 1 kg.
fn energy_j(sim: &Simulation) -> f64 {
    let world = sim.world();
    let squared = |name: &str, property: &str| {
        let values = world.property(&format!("{name}.{property}")).unwrap_or_default();
        values.iter().map(|value| value * value).sum::<f64>()
    };
    let one = |name: &str| {
        let height_m = world.pose(name).map_or(0.0, |pose| pose.position_m.z);
        let turning = EDGE_M * EDGE_M / 6.0 * squared(name, "angular_velocity_radps");
        0.5 * (squared(name, "velocity_mps") + turning) + 9.80665 * height_m
    };
    world.robots().map(|robot| one(&robot.name)).sum()
}
