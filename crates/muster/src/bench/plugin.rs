//! What a batched call of a plug-in costs: the same fleet with and without a driver in C that is called at every tick.

use super::How;
use super::measure::{Line, Plan, load, measure, median, over};
use muster_core::node::{Node, Value};
use std::path::{Path, PathBuf};
use std::process::Command;

const FLEET: &str = include_str!("../../../../benches/scenarios/point.yaml");
const SOURCE: &str = include_str!("../../templates/plugin/c/driver.c");
const HEADER: &str = include_str!("../../../muster-plugin/include/muster_plugin.h");

/// The name of the plug-in and of its kind.
const NAME: &str = "bench_driver";

pub(super) fn plugin(how: &How) -> Result<Vec<Line>, String> {
    let folder = std::env::temp_dir().join(format!("muster-bench-{}", std::process::id()));
    let lines = compile(&folder).and_then(|library| compare(&library, how));
    _ = std::fs::remove_dir_all(&folder);
    lines
}

/// Compiles the driver that `muster plugin new` makes.
fn compile(folder: &Path) -> Result<PathBuf, String> {
    let (source, library) = (folder.join("driver.c"), folder.join("driver.so"));
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&source, SOURCE.replace("@name@", NAME)))
        .and_then(|()| std::fs::write(folder.join("muster_plugin.h"), HEADER));
    written.map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-O2", "-fPIC", "-shared", "-o"]).arg(&library).arg(&source);
    match compiler.status() {
        Ok(status) if status.success() => Ok(library),
        Ok(status) => Err(format!("cc: {status}")),
        Err(error) => Err(format!("found no C compiler (cc: {error}), expected one: the plug-in is built here")),
    }
}

fn compare(library: &Path, how: &How) -> Result<Vec<Line>, String> {
    let plan = Plan { warm_up_s: 0.2, batch_s: 1.0, batches: 5 }.quick(how.quick);
    let threads = how.threads.unwrap_or(1);
    let text = |word: &str| Node::of(Value::Text(word.to_owned()));
    let mut driver = Node::default();
    driver.set("kind", text(NAME));
    driver.set("rate_hz", Node::of(Value::Integer(1000)));
    let plugins = Value::List(vec![text(&library.to_string_lossy())]);
    let alone = [over("robots[0].driver", Value::Null)];
    let driven = [over("plugins", plugins), over("robots[0].driver", driver.value)];
    let (mut without, mut with) = (load(FLEET, threads, &alone)?, load(FLEET, threads, &driven)?);
    // in turns, so that whatever else the machine does meets both
    let mut rounds: Vec<_> =
        (0..if how.quick { 3 } else { 7 }).map(|_| (measure(&mut without, plan), measure(&mut with, plan))).collect();
    let cost = |(without, with): &(super::measure::Measured, super::measure::Measured)| {
        median(&with.ns_per_tick) - median(&without.ns_per_tick)
    };
    rounds.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    let middle = &rounds[rounds.len() / 2];
    let cost_ns = cost(middle);
    Ok(vec![
        middle.0.line("plugin-1000", "without a driver"),
        middle.1.line("plugin-1000", "driver in C").both("ns_per_robot_call", cost_ns, format!("{cost_ns:.2}")),
    ])
}
