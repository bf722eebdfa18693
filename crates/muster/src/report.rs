//! The report of a run: what was simulated, how fast, how punctually, and the hash that proves it.

use crate::choose::Choice;
use crate::judge::Failure;
use crate::links::LinkReport;
use crate::pace::Late;
use crate::plugins::Plugin;
use crate::record::RecordOutcome;
use crate::render::Drawing;
use muster_core::component::Sense;
use muster_core::time::SimTime;
use muster_core::world::{PHASES, Realm, Window};
use serde_json::{Value, json};

/// Durations in logarithmic bins of 3 %: constant memory, no allocation, any number of values.
#[derive(Clone)]
pub struct Histogram {
    bins: Vec<u64>,
    count: u64,
    total_ns: u64,
    max_ns: u64,
}

/// Bins to a doubling.
const BINS_PER_OCTAVE: usize = 32;

impl Default for Histogram {
    fn default() -> Self {
        Self { bins: vec![0; 64 * BINS_PER_OCTAVE], count: 0, total_ns: 0, max_ns: 0 }
    }
}

impl Histogram {
    /// Adds a duration.
    pub fn add(&mut self, ns: u64) {
        self.bins[Self::bin(ns)] += 1;
        self.count += 1;
        self.total_ns += ns;
        self.max_ns = self.max_ns.max(ns);
    }

    fn bin(ns: u64) -> usize {
        let ns = ns.max(1);
        let octave = ns.ilog2() as usize;
        let within = ((ns as u128 * BINS_PER_OCTAVE as u128) >> octave) as usize - BINS_PER_OCTAVE;
        octave * BINS_PER_OCTAVE + within
    }

    /// The duration below which a share of all values lies, in µs.
    pub fn quantile_us(&self, share: f64) -> f64 {
        let rank = ((self.count as f64 * share).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (bin, &count) in self.bins.iter().enumerate() {
            seen += count;
            if seen >= rank && count > 0 {
                let octave = bin / BINS_PER_OCTAVE;
                let middle = (bin % BINS_PER_OCTAVE + BINS_PER_OCTAVE) as f64 + 0.5;
                let ns = middle / BINS_PER_OCTAVE as f64 * (octave as f64).exp2();
                return ns.min(self.max_ns as f64) / 1e3;
            }
        }
        0.0
    }

    /// The largest, in µs.
    pub fn max_us(&self) -> f64 {
        self.max_ns as f64 / 1e3
    }

    /// The sum, in ms.
    pub fn total_ms(&self) -> f64 {
        self.total_ns as f64 / 1e6
    }
}

/// What is measured while a simulation runs.
#[derive(Clone, Default)]
pub struct Meter {
    /// Whole windows, without waiting.
    pub windows: Histogram,
    /// Each phase, see [`PHASES`].
    pub phases: [Histogram; PHASES.len()],
}

impl Meter {
    /// Adds a window.
    pub fn add(&mut self, window: &Window) {
        self.windows.add(window.phases_ns.iter().sum());
        for (phase, &ns) in self.phases.iter_mut().zip(&window.phases_ns) {
            phase.add(ns);
        }
    }
}

fn plugin_json(plugin: &Plugin) -> Value {
    let (path, digest) = (plugin.path.display().to_string(), format!("{:032x}", plugin.digest));
    json!({ "name": plugin.name, "version": plugin.version, "path": path, "digest": digest })
}

/// Requested and achieved rate of the sensors of one name on one sort of robot.
#[derive(Debug, Clone, PartialEq)]
pub struct SensorRate {
    /// `kind.sensor`.
    pub name: String,
    /// How many there are.
    pub count: usize,
    /// As configured.
    pub requested_hz: f64,
    /// The least of them all.
    pub achieved_hz: f64,
}

/// An event of the scenario that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// Which event, counted from 0.
    pub event: u32,
    /// When.
    pub time: SimTime,
    /// When what is to be done is done.
    pub acts: SimTime,
    /// What the scenario waits for.
    pub on: String,
    /// The robot to which it happened.
    pub who: Option<String>,
    /// Whom or what it touched, or the zone.
    pub other: Option<String>,
    /// What was done.
    pub deeds: Vec<String>,
}

impl std::fmt::Display for Happened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named: Vec<&str> = [&self.who, &self.other].into_iter().flatten().map(String::as_str).collect();
        let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
        let later = if self.acts > self.time { format!(" (at {:.6} s)", self.acts.s()) } else { String::new() };
        write!(f, "event {} at {:.6} s{named}: {}{later}", self.on, self.time.s(), self.deeds.join("; "))
    }
}

/// The report of a run.
#[derive(Clone)]
pub struct Report {
    /// Simulated time.
    pub sim_time_s: f64,
    /// Wall-clock time; with several seeds in one world the share of each.
    pub wall_time_s: f64,
    /// How many seeds ran in one world; windows and phases are those of the world.
    pub seeds_in_world: u32,
    /// Robots at the end.
    pub robots: usize,
    /// Ticks of all robots.
    pub ticks: u64,
    /// Windows walked.
    pub windows: u64,
    /// Threads robots ran on.
    pub threads: usize,
    /// Seed.
    pub seed: u64,
    /// Hash of the state at the end.
    pub state_hash: u128,
    /// Deadlines missed.
    pub late: Late,
    /// Durations.
    pub meter: Meter,
    /// Sensor rates.
    pub sensors: Vec<SensorRate>,
    /// Contacts that began.
    pub contacts: u64,
    /// The first of them, in words.
    pub first_contacts: Vec<String>,
    /// Robots isolated: name, time and reason.
    pub faults: Vec<String>,
    /// How often each event of the scenario happened.
    pub event_counts: Vec<u64>,
    /// The first that happened, of all events.
    pub events: Vec<Happened>,
    /// What was left to the machine to choose.
    pub choices: Vec<Choice>,
    /// The plug-ins it used.
    pub plugins: Vec<Plugin>,
    /// Who made pictures.
    pub drawing: Drawing,
    /// Sensors that the promise of equal hashes does not cover, as `robot.sensor`.
    pub unpromised: Vec<String>,
    /// What links carried.
    pub links: Vec<LinkReport>,
    /// What was recorded.
    pub recording: Option<RecordOutcome>,
    /// What links told.
    pub notes: Vec<String>,
    /// Commands refused.
    pub refusals: Vec<String>,
    /// Expectations: how many, and which failed.
    pub expected: usize,
    /// Expectations whose time did not come.
    pub unjudged: usize,
    /// Expectations that failed.
    pub failures: Vec<Failure>,
    /// Values judged, for the spread over seeds.
    pub measured: Vec<(String, f64)>,
    /// How the run ended.
    pub ended: &'static str,
    /// What ran beside the loop.
    pub asynchronous: &'static str,
}

/// Sensor rates of a realm that ran for a span.
pub fn sensor_rates(realm: Realm<'_>, span: SimTime) -> Vec<SensorRate> {
    let mut rates: Vec<SensorRate> = Vec::new();
    for robot in realm.robots() {
        for (index, slot) in robot.cohort.blueprint.sensors.iter().enumerate() {
            let name = format!("{}.{}", robot.cohort.blueprint.kind, slot.name);
            // samples of sensors that look at the world count when they become visible
            let looks = matches!(slot.sensor.sense(), Sense::World(_));
            let heard = if looks { span - slot.latency } else { span };
            let achieved_hz = realm.world().samples(robot, index) as f64 / heard.s().max(1e-9);
            match rates.iter_mut().find(|rate| rate.name == name && rate.requested_hz == slot.rate.hz()) {
                Some(rate) => {
                    rate.count += 1;
                    rate.achieved_hz = rate.achieved_hz.min(achieved_hz);
                }
                None => rates.push(SensorRate { name, count: 1, requested_hz: slot.rate.hz(), achieved_hz }),
            }
        }
    }
    rates
}

fn recording_json(recording: &RecordOutcome) -> Value {
    json!({ "file": recording.path.display().to_string(), "messages": recording.messages,
            "message_bytes": recording.payload_bytes, "file_bytes": recording.file_bytes, "dropped": recording.dropped,
            "untold_topics": recording.untold_topics, "error": recording.error })
}

fn rounded(value: f64) -> Value {
    json!((value * 1e3).round() / 1e3)
}

impl Report {
    /// True if something expected did not happen, a robot had to be isolated, or the recording is not whole.
    pub fn failed(&self) -> bool {
        let unrecorded = self.recording.as_ref().is_some_and(|recording| recording.error.is_some());
        !self.failures.is_empty() || !self.faults.is_empty() || unrecorded
    }

    /// Simulated seconds a second.
    pub fn rtf(&self) -> f64 {
        self.sim_time_s / self.wall_time_s.max(1e-12)
    }

    /// The report as JSON.
    pub fn json(&self) -> Value {
        let windows = &self.meter.windows;
        let phases: serde_json::Map<String, Value> = PHASES
            .iter()
            .zip(&self.meter.phases)
            .map(|(name, phase)| {
                let value = json!({
                    "total_ms": rounded(phase.total_ms()),
                    "p50_us": rounded(phase.quantile_us(0.5)),
                    "p99_us": rounded(phase.quantile_us(0.99)),
                });
                ((*name).to_owned(), value)
            })
            .collect();
        let sensors: Vec<Value> = self
            .sensors
            .iter()
            .map(|rate| {
                json!({ "name": rate.name, "count": rate.count, "requested_hz": rate.requested_hz,
                        "achieved_hz": rounded(rate.achieved_hz) })
            })
            .collect();
        let event = |each: &Happened| {
            json!({ "event": each.event, "time_s": (each.time.s() * 1e9).round() / 1e9, "on": each.on, "who": each.who,
                    "other": each.other, "do": each.deeds, "acts_s": (each.acts.s() * 1e9).round() / 1e9 })
        };
        let events: Vec<Value> = self.events.iter().map(event).collect();
        let machine = muster_exec::machine();
        json!({
            "sim_time_s": (self.sim_time_s * 1e9).round() / 1e9,
            "wall_time_s": (self.wall_time_s * 1e9).round() / 1e9,
            "rtf": rounded(self.rtf()),
            "robots": self.robots,
            "ticks": self.ticks,
            "windows": self.windows,
            "threads": self.threads,
            "async": self.asynchronous,
            "seed": self.seed,
            "seeds_in_world": self.seeds_in_world,
            "state_hash": format!("{:032x}", self.state_hash),
            "late": { "count": self.late.count, "worst_ms": rounded(self.late.worst_ns as f64 / 1e6),
                      "first_window": self.late.first_window },
            "window_us": { "p50": rounded(windows.quantile_us(0.5)), "p95": rounded(windows.quantile_us(0.95)),
                           "p99": rounded(windows.quantile_us(0.99)), "max": rounded(windows.max_us()) },
            "phases": phases,
            "sensors": sensors,
            "contacts": self.contacts,
            "first_contacts": self.first_contacts,
            "faults": self.faults,
            "events": events,
            "event_counts": self.event_counts,
            "plugins": self.plugins.iter().map(plugin_json).collect::<Vec<Value>>(),
            "choices": self.choices.iter().map(Choice::json).collect::<Vec<Value>>(),
            "recording": self.recording.as_ref().map(recording_json),
            "render": self.drawing.json(&self.unpromised),
            "links": self.links.iter().map(|link| link.json(self.wall_time_s)).collect::<Vec<Value>>(),
            "notes": self.notes,
            "refused_commands": self.refusals,
            "expected": self.expected,
            "unjudged": self.unjudged,
            "failures": self.failures.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "measured": self.measured.iter().cloned().collect::<std::collections::BTreeMap<String, f64>>(),
            "ended": self.ended,
            "memory_peak_mb": muster_exec::peak_memory_mb(),
            "machine": { "cpu": machine.cpu, "cores": machine.cores, "os": machine.os, "simd": machine.simd,
                         "memory_mb": machine.memory_mb },
            "version": env!("CARGO_PKG_VERSION"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_within_three_percent() {
        let mut histogram = Histogram::default();
        (1..=10_000).for_each(|us| histogram.add(us * 1000));
        for (share, expected) in [(0.5, 5000.0), (0.95, 9500.0), (0.99, 9900.0)] {
            let found = histogram.quantile_us(share);
            assert!((found / expected - 1.0).abs() < 0.032, "{share}: {found}");
        }
        assert_eq!(histogram.max_us(), 10_000.0);
    }

    #[test]
    fn any_duration_has_a_bin() {
        let mut histogram = Histogram::default();
        [0, 1, 2, 3, u64::MAX / 2, u64::MAX].iter().for_each(|&ns| histogram.bins[Histogram::bin(ns)] += 1);
        assert_eq!(histogram.bins.iter().sum::<u64>(), 6);
    }
}
