//! Measuring one simulation: warm up, save, then batches from the saved state.

use muster::report::Histogram;
use muster::{Setup, Simulation};
use muster_core::node::{Node, Value as NodeValue};
use muster_core::time::SimTime;
use muster_core::world::PHASES;
use muster_scenario::build::Override;
use serde_json::{Map, Value, json};
use std::time::Instant;

/// One line of results.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) variant: String,
    values: Map<String, Value>,
    /// Columns for people: name and text.
    shown: Vec<(String, String)>,
}

impl Line {
    pub(crate) fn new(name: &'static str, variant: impl Into<String>) -> Self {
        Self { name, variant: variant.into(), values: Map::new(), shown: Vec::new() }
    }

    /// Adds a value for machines.
    pub(crate) fn value(mut self, key: &str, value: Value) -> Self {
        self.values.insert(key.to_owned(), value);
        self
    }

    /// Adds a value for machines and people.
    pub(crate) fn both(mut self, key: &str, value: f64, text: String) -> Self {
        self.shown.push((key.to_owned(), text));
        self.value(key, json!((value * 1e4).round() / 1e4))
    }

    /// Adds a count for machines and people.
    pub(crate) fn count(mut self, key: &str, value: usize) -> Self {
        self.shown.push((key.to_owned(), value.to_string()));
        self.value(key, json!(value))
    }

    /// Adds a column for people.
    pub(crate) fn shown(mut self, key: &str, text: String) -> Self {
        self.shown.push((key.to_owned(), text));
        self
    }

    pub(crate) fn columns(&self) -> Vec<(String, String)> {
        self.shown.clone()
    }

    pub(crate) fn json(&self) -> Value {
        let mut all = Map::new();
        all.insert("name".to_owned(), json!(self.name));
        all.insert("variant".to_owned(), json!(self.variant));
        all.extend(self.values.clone());
        Value::Object(all)
    }
}

/// How to measure a simulation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) warm_up_s: f64,
    pub(crate) batch_s: f64,
    pub(crate) batches: usize,
}

impl Plan {
    /// A shorter plan for a quick look.
    pub(crate) fn quick(self, quick: bool) -> Self {
        if quick { Self { warm_up_s: self.warm_up_s * 0.3, batch_s: self.batch_s * 0.3, batches: 3 } } else { self }
    }
}

/// What was measured.
pub(crate) struct Measured {
    pub(crate) robots: usize,
    pub(crate) threads: usize,
    /// Nanoseconds a robot-tick, batch by batch, ascending.
    pub(crate) ns_per_tick: Vec<f64>,
    pub(crate) rtf: Vec<f64>,
    pub(crate) windows: Histogram,
    pub(crate) phases: Vec<Histogram>,
    pub(crate) touches_per_robot: f64,
    pub(crate) coupling: (usize, usize),
}

/// A value laid over a scenario.
pub(crate) fn over(path: &str, value: NodeValue) -> Override {
    Override { path: path.to_owned(), value: Node::of(value) }
}

/// Loads a scenario of the benchmarks.
pub(crate) fn load(text: &str, threads: usize, overrides: &[Override]) -> Result<Simulation, String> {
    let setup = Setup { threads: Some(super::threads(threads)), over: overrides.to_vec(), ..Setup::default() };
    Simulation::from_text(text, &setup).map_err(|error| error.to_string())
}

/// Measures a simulation by a plan.
pub(crate) fn measure(sim: &mut Simulation, plan: Plan) -> Measured {
    sim.run_for(plan.warm_up_s);
    let saved = sim.save();
    let mut measured = Measured {
        robots: sim.world().robots().count(),
        threads: sim.threads(),
        ns_per_tick: Vec::new(),
        rtf: Vec::new(),
        windows: Histogram::default(),
        phases: vec![Histogram::default(); PHASES.len()],
        touches_per_robot: 0.0,
        coupling: (0, 0),
    };
    for _ in 0..plan.batches {
        sim.restore(&saved);
        let (ticks, touches) = (sim.world().robot_ticks(), sim.world().touches());
        let end = sim.world().time() + SimTime::from_s(plan.batch_s);
        let start = Instant::now();
        while sim.world().time() < end {
            let began = Instant::now();
            let window = sim.walk_window(end);
            measured.windows.add(began.elapsed().as_nanos() as u64);
            for (phase, ns) in measured.phases.iter_mut().zip(window.phases_ns) {
                phase.add(ns);
            }
        }
        let wall = start.elapsed().as_secs_f64();
        let ticks = (sim.world().robot_ticks() - ticks) as f64;
        measured.ns_per_tick.push(wall * 1e9 / ticks);
        measured.rtf.push(plan.batch_s / wall);
        measured.touches_per_robot = (sim.world().touches() - touches) as f64 / ticks;
        measured.coupling = sim.world().coupling();
    }
    measured.ns_per_tick.sort_by(f64::total_cmp);
    measured.rtf.sort_by(f64::total_cmp);
    measured
}

/// The middle of ascending values.
pub(crate) fn median(values: &[f64]) -> f64 {
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Each phase: its share, its durations, and its part of the cost of a robot-tick.
pub(crate) fn phases(phases: &[Histogram], ns_per_tick: f64) -> Value {
    let total: f64 = phases.iter().map(Histogram::total_ms).sum();
    let each = PHASES.iter().zip(phases).map(|(name, phase)| {
        let share = phase.total_ms() / total.max(1e-12);
        let value = json!({ "share": (share * 1e4).round() / 1e4, "p50_us": phase.quantile_us(0.5),
                            "p99_us": phase.quantile_us(0.99), "ns_per_robot_tick": share * ns_per_tick });
        ((*name).to_owned(), value)
    });
    Value::Object(each.collect())
}

impl Measured {
    /// The line of this measurement.
    pub(crate) fn line(&self, name: &'static str, variant: &str) -> Line {
        let (ns, rtf) = (median(&self.ns_per_tick), median(&self.rtf));
        let spread = |values: &[f64]| json!([values.first(), values.last()]);
        let total: f64 = self.phases.iter().map(Histogram::total_ms).sum();
        let shares: Vec<String> = PHASES
            .iter()
            .zip(&self.phases)
            .map(|(name, phase)| (name, 100.0 * phase.total_ms() / total.max(1e-12)))
            .filter(|(_, share)| *share >= 1.0)
            .map(|(name, share)| format!("{name} {share:.0} %"))
            .collect();
        let (p50, p99) = (self.windows.quantile_us(0.5), self.windows.quantile_us(0.99));
        Line::new(name, variant)
            .count("threads", self.threads)
            .count("robots", self.robots)
            .both("rtf", rtf, format!("{rtf:.2}"))
            .both("ns_per_robot_tick", ns, format!("{ns:.1}"))
            .value("ns_per_robot_tick_spread", spread(&self.ns_per_tick))
            .value("rtf_spread", spread(&self.rtf))
            .value("window_us", json!({ "p50": p50, "p99": p99, "max": self.windows.max_us() }))
            .value("phases", phases(&self.phases, ns))
            .value("contacts_per_robot", json!((self.touches_per_robot * 1e4).round() / 1e4))
            .value("coupled_pairs", json!(self.coupling.0))
            .value("islands", json!(self.coupling.1))
            .shown("window p50", crate::cli::micros(p50))
            .shown("window p99", crate::cli::micros(p99))
            .shown("phases", shares.join(", "))
    }
}
