//! The cases that measure one world.

use super::How;
use super::measure::{Line, Plan, load, measure, median, over};
use muster_core::node::Value;
use muster_scenario::build::Override;

const ATRV: &str = include_str!("../../../../benches/scenarios/atrv-15.yaml");
const FIXED_WING: &str = include_str!("../../../../benches/scenarios/fixed-wing-100.yaml");
const QUADROTOR: &str = include_str!("../../../../benches/scenarios/quadrotor-10000.yaml");
const QUADROTOR_DYNAMICS: &str = include_str!("../../../../benches/scenarios/quadrotor-dynamics.yaml");
const DIFFERENTIAL: &str = include_str!("../../../../benches/scenarios/differential-10000.yaml");
const SCANNERS: &str = include_str!("../../../../benches/scenarios/scanners-1000.yaml");
const PROXIMITY: &str = include_str!("../../../../benches/scenarios/proximity-10000.yaml");
const LOCKSTEP: &str = include_str!("../../../../benches/scenarios/lockstep-1.yaml");
const POINT: &str = include_str!("../../../../benches/scenarios/point.yaml");

type Lines = Result<Vec<Line>, String>;

/// A fleet without sensors and without the drivers that read them: motion and contacts alone.
fn sensors_off() -> Vec<Override> {
    ["sensors", "driver", "controller"].map(|key| over(&format!("robots[0].{key}"), Value::Null)).to_vec()
}

fn count(robots: usize) -> Override {
    over("robots[0].count", Value::Integer(robots as i64))
}

/// Measures a scenario as it is and with sensors off, for each thread count.
fn with_and_without(name: &'static str, text: &str, plan: Plan, how: &How) -> Lines {
    let mut lines = Vec::new();
    for threads in how.thread_counts() {
        for (variant, overrides) in [("full", Vec::new()), ("sensors off", sensors_off())] {
            let mut sim = load(text, threads, &overrides)?;
            lines.push(measure(&mut sim, plan.quick(how.quick)).line(name, variant));
        }
    }
    Ok(lines)
}

pub(super) fn atrv(how: &How) -> Lines {
    with_and_without("atrv-15", ATRV, Plan { warm_up_s: 10.0, batch_s: 200.0, batches: 7 }, how)
}

pub(super) fn fixed_wing(how: &How) -> Lines {
    with_and_without("fixed-wing-100", FIXED_WING, Plan { warm_up_s: 10.0, batch_s: 20.0, batches: 7 }, how)
}

pub(super) fn quadrotor(how: &How) -> Lines {
    let plan = Plan { warm_up_s: 1.0, batch_s: 2.0, batches: 3 }.quick(how.quick);
    let mut lines = Vec::new();
    for threads in how.threads.map_or_else(|| vec![2], |threads| vec![threads]) {
        for robots in [10_000, 5_000] {
            let mut sim = load(QUADROTOR, threads, &[count(robots)])?;
            lines.push(measure(&mut sim, plan).line("quadrotor-10000", "full"));
        }
        let mut overrides = sensors_off();
        overrides.push(count(10_000));
        let mut sim = load(QUADROTOR, threads, &overrides)?;
        lines.push(measure(&mut sim, plan).line("quadrotor-10000", "sensors off"));
    }
    Ok(lines)
}

pub(super) fn quadrotor_dynamics(how: &How) -> Lines {
    let plan = Plan { warm_up_s: 0.2, batch_s: 1.0, batches: 7 }.quick(how.quick);
    let mut sim = load(QUADROTOR_DYNAMICS, how.threads.unwrap_or(1), &[])?;
    Ok(vec![measure(&mut sim, plan).line("quadrotor-dynamics", "body, motors, drag")])
}

pub(super) fn differential(how: &How) -> Lines {
    let plan = Plan { warm_up_s: 20.0, batch_s: 20.0, batches: 5 }.quick(how.quick);
    let mut lines = Vec::new();
    for threads in how.thread_counts() {
        let mut sim = load(DIFFERENTIAL, threads, &[])?;
        let measured = measure(&mut sim, plan);
        let contacts = format!("{:.2}", measured.touches_per_robot);
        lines.push(measured.line("differential-10000", "full").shown("contacts a robot", contacts));
        let mut sim = load(DIFFERENTIAL, threads, &sensors_off())?;
        let measured = measure(&mut sim, plan);
        let contacts = format!("{:.2}", measured.touches_per_robot);
        lines.push(measured.line("differential-10000", "driver off").shown("contacts a robot", contacts));
    }
    Ok(lines)
}

pub(super) fn scanners(how: &How) -> Lines {
    with_and_without("scanners-1000", SCANNERS, Plan { warm_up_s: 5.0, batch_s: 5.0, batches: 5 }, how)
}

pub(super) fn proximity(how: &How) -> Lines {
    with_and_without("proximity-10000", PROXIMITY, Plan { warm_up_s: 20.0, batch_s: 10.0, batches: 5 }, how)
}

pub(super) fn lockstep(how: &How) -> Lines {
    let plan = Plan { warm_up_s: 1.0, batch_s: 5.0, batches: 7 }.quick(how.quick);
    let mut lines = Vec::new();
    for (variant, overrides) in [("full", Vec::new()), ("sensors off", sensors_off())] {
        let mut sim = load(LOCKSTEP, how.threads.unwrap_or(2), &overrides)?;
        lines.push(measure(&mut sim, plan).line("lockstep-1", variant));
    }
    Ok(lines)
}

pub(super) fn growth(how: &How) -> Lines {
    let sizes: &[usize] = if how.quick { &[1_000, 10_000] } else { &[100, 1_000, 10_000, 100_000] };
    let mut lines = Vec::new();
    for (variant, text) in [("point", POINT), ("quadrotor dynamics", QUADROTOR_DYNAMICS)] {
        let mut base_ns = None;
        for &robots in sizes {
            let before = resident_kb();
            let mut sim = load(text, how.threads.unwrap_or(1), &[count(robots)])?;
            let grown = resident_kb().saturating_sub(before) as f64;
            let batch_s = (2e4 / robots as f64).clamp(0.1, 5.0);
            let plan = Plan { warm_up_s: 0.1, batch_s, batches: 5 }.quick(how.quick);
            let measured = measure(&mut sim, plan);
            let ns = median(&measured.ns_per_tick);
            if robots == 1_000 {
                base_ns = Some(ns);
            }
            let kb = grown / robots as f64;
            let line = measured.line("growth", variant).both("kb_per_robot", kb, format!("{kb:.2}"));
            let ratio = base_ns.map_or(1.0, |base| ns / base);
            lines.push(line.both("times_1000", ratio, format!("{ratio:.2}")));
        }
    }
    Ok(lines)
}

/// Memory this process holds now, kB; 0 where that is not known.
fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}
