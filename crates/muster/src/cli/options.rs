//! Options of `run` and `demo`, and how they are laid over a scenario: command line, then environment, then file, then
//! default.

use clap::Args;
use muster::record::Wants;
use muster::{PortBase, Render, Setup};
use muster_core::node::{Node, Value};
use muster_core::simd::Simd;
use muster_core::time::SimTime;
use muster_core::world::Options;
use muster_links::record::Compression;
use muster_scenario::build::Override;
use muster_scenario::text::{Async, Rtf, Threads};
use std::path::PathBuf;
use std::time::Duration;

/// Values laid over a scenario.
#[derive(Args, Clone)]
pub(crate) struct Overrides {
    /// Lay a value over the scenario: `--set robots[0].count=20`, `--set world.wind.mean_mps=[3,0,0]`
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = Override::parse)]
    pub(crate) set: Vec<Override>,
    /// Seed of all random numbers
    #[arg(long, env = "MUSTER_SEED")]
    pub(crate) seed: Option<u64>,
    /// Directories searched for included files, separated by colons
    #[arg(long, env = "MUSTER_RESOURCE_PATH", value_name = "DIRS")]
    pub(crate) resource_path: Option<std::ffi::OsString>,
}

impl Overrides {
    /// The set-up these ask for.
    pub(crate) fn setup(&self) -> Setup {
        // a seed may come from the environment, so that what is set on the command line goes on top of it
        let seed = self.seed.map(|seed| number("run.seed", Value::Integer(seed as i64)));
        let over = seed.into_iter().chain(self.set.iter().cloned()).collect();
        let search = self.resource_path.as_ref().map(|paths| std::env::split_paths(paths).collect());
        Setup { over, search: search.unwrap_or_default(), ..Setup::default() }
    }
}

fn number(path: &str, value: Value) -> Override {
    Override { path: path.to_owned(), value: Node::of(value) }
}

/// How to run a scenario.
#[derive(Args, Clone)]
pub(crate) struct RunFlags {
    /// Real-time factor: 1 for real time, 10 for ten times as fast, `max` for as fast as possible
    #[arg(long, value_parser = rtf)]
    pub(crate) rtf: Option<Rtf>,
    /// How long to simulate: 10s, 500ms, 2min
    #[arg(long = "for", value_parser = duration, value_name = "DURATION", conflicts_with = "steps")]
    pub(crate) span: Option<Duration>,
    /// How many windows to simulate
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<u64>,
    /// Threads: a number, `auto`, or `per_robot`
    #[arg(long, value_parser = threads)]
    pub(crate) threads: Option<Threads>,
    /// Longest window: 5ms; results do not depend on it
    #[arg(long, value_parser = duration)]
    pub(crate) window: Option<Duration>,
    /// What runs beside the loop: none, messages, events or both; results do not depend on it
    #[arg(long = "async", value_parser = asynchronous, value_name = "WHAT")]
    pub(crate) asynchronous: Option<Async>,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Record the run: sensors, poses and commands as ROS 2 messages in an MCAP file, and all that `muster replay` needs
    #[arg(long, value_name = "FILE.mcap", conflicts_with = "seeds")]
    pub(crate) record: Option<PathBuf>,
    /// Record only these topics or sensors: `/scout*/imu`, `scout*.camera`, `/tf`; may be repeated, or separated by commas
    #[arg(long, value_name = "PATTERN", requires = "record", value_delimiter = ',')]
    pub(crate) record_only: Vec<String>,
    /// Record every topic at most once in this span of simulated time: 100ms
    #[arg(long, value_name = "DURATION", requires = "record", value_parser = duration)]
    pub(crate) record_every: Option<Duration>,
    /// How a recording is compressed: none, lz4 or zstd
    #[arg(long, value_name = "METHOD", requires = "record", default_value = "zstd", value_parser = compression, hide_short_help = true)]
    pub(crate) record_compression: Compression,
    /// Stop with exit code 5 at the first missed deadline; paces at --rtf 1 unless told otherwise
    #[arg(long)]
    pub(crate) require_rt: bool,
    /// Give up after this wall-clock time, with exit code 124
    #[arg(long, value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Run once for each of these seeds on all cores and sum up: 1..100 (both included), or 3,5,8; small fleets of
    /// several seeds share a world without meeting, which is faster and changes no result
    #[arg(long, value_parser = seeds)]
    pub(crate) seeds: Option<Seeds>,
    /// Who makes pictures for cameras and range sensors by depth: null (nobody), cpu, gpu (a graphics card), or auto (gpu
    /// if there is one, else cpu)
    #[arg(long, value_parser = render, default_value = "cpu")]
    pub(crate) render: Render,
    /// Which ports links take: `auto` for any that are free, or the first of a row; else those of the scenario
    #[arg(long, value_name = "PORT|auto", default_value = "as-written", value_parser = port_base, hide_default_value = true)]
    pub(crate) port_base: PortBase,
    /// Do not open the scenario's links
    #[arg(long)]
    pub(crate) no_links: bool,
    /// No progress, no table
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Write down what is asked of plug-ins outside the loop, in order
    #[arg(long)]
    pub(crate) trace: bool,
    /// For checks: treat all robots as one island; results do not depend on it
    #[arg(long, hide_short_help = true)]
    pub(crate) one_island: bool,
    /// For checks: use no wide registers; results do not depend on it
    #[arg(long, hide_short_help = true)]
    pub(crate) scalar: bool,
    #[command(flatten)]
    pub(crate) over: Overrides,
}

fn compression(text: &str) -> Result<Compression, String> {
    Compression::named(text).ok_or_else(|| format!("found {text:?}, expected one of {}", Compression::NAMES.join(", ")))
}

/// Which ports links take.
pub(crate) fn port_base(text: &str) -> Result<PortBase, String> {
    if text == "as-written" { Ok(PortBase::AsWritten) } else { text.parse() }
}

/// A list of seeds.
#[derive(Debug, Clone)]
pub(crate) struct Seeds(pub(crate) Vec<u64>);

impl RunFlags {
    /// What is to be recorded.
    pub(crate) fn wants(&self) -> Wants {
        Wants {
            only: self.record_only.clone(),
            every: SimTime::from_ns(self.record_every.map_or(0, |every| every.as_nanos() as u64)),
            compression: self.record_compression,
        }
    }

    /// The set-up these ask for.
    pub(crate) fn setup(&self) -> Setup {
        let mut setup = self.over.setup();
        if let Some(window) = self.window {
            setup.over.push(number("run.window_ms", Value::Number(window.as_secs_f64() * 1e3)));
        }
        setup.keep_files = self.record.is_some();
        setup.threads = self.threads;
        setup.asynchronous = self.asynchronous;
        setup.render = self.render;
        setup.options = Options {
            one_island: self.one_island,
            simd: if self.scalar { Simd::Scalar } else { Simd::detect() },
            ..Options::default()
        };
        setup
    }
}

/// Reads a duration with its unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic() || c == 'µ').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit.trim() {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        other => return Err(format!("found unit {other:?}, expected ns, us, ms, s, min or h")),
    };
    let Ok(value) = number.trim().parse::<f64>() else {
        return Err(format!("found {text:?}, expected for example 10s or 500ms"));
    };
    let seconds = value * scale;
    Duration::try_from_secs_f64(seconds).map_err(|error| format!("found {text:?}: {error}"))
}

/// Reads the name of an engine that makes pictures.
pub(crate) fn render(text: &str) -> Result<Render, String> {
    Render::named(text).ok_or_else(|| format!("found {text:?}, expected one of {}", Render::NAMES.join(", ")))
}

pub(crate) fn rtf(text: &str) -> Result<Rtf, String> {
    match (text, text.parse::<f64>()) {
        ("max", _) => Ok(Rtf::Max),
        (_, Ok(factor)) if factor > 0.0 && factor.is_finite() => Ok(Rtf::Factor(factor)),
        _ => Err(format!("found {text:?}, expected a number above 0, or max")),
    }
}

pub(crate) fn threads(text: &str) -> Result<Threads, String> {
    match (text, text.parse::<usize>()) {
        ("auto", _) => Ok(Threads::Auto),
        ("per_robot", _) => Ok(Threads::PerRobot),
        (_, Ok(count @ 1..=1024)) => Ok(Threads::Count(count)),
        _ => Err(format!("found {text:?}, expected 1 to 1024, auto or per_robot")),
    }
}

pub(crate) fn asynchronous(text: &str) -> Result<Async, String> {
    Async::from_word(text).ok_or_else(|| format!("found {text:?}, expected one of {}", Async::WORDS.join(", ")))
}

/// The most seeds one command runs.
const SEEDS_MAX: u64 = 1_000_000;

fn seeds(text: &str) -> Result<Seeds, String> {
    let wrong = || format!("found {text:?}, expected for example 1..100 or 3,5,8");
    let parse = |part: &str| part.trim().parse::<u64>().ok();
    let Some((first, last)) = text.split_once("..") else {
        return text.split(',').map(parse).collect::<Option<_>>().map(Seeds).ok_or_else(wrong);
    };
    match (parse(first), parse(last.trim_start_matches('='))) {
        (Some(first), Some(last)) if first <= last && last - first < SEEDS_MAX => Ok(Seeds((first..=last).collect())),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        for (text, expected_ms) in
            [("10s", 10_000), ("500ms", 500), ("2min", 120_000), ("1.5", 1500), ("1h", 3_600_000)]
        {
            assert_eq!(duration(text).unwrap().as_millis(), expected_ms, "{text}");
        }
        for text in ["", "s", "10 parsecs", "-3s", "nan", "1e400s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seeds_are_a_range_with_both_ends_or_a_list() {
        assert_eq!(seeds("1..3").unwrap().0, [1, 2, 3]);
        assert_eq!(seeds("7,5").unwrap().0, [7, 5]);
        assert!(seeds("3..1").is_err() && seeds("x").is_err() && seeds("0..99999999999").is_err());
    }
}
