//! `muster bench`: how fast this machine simulates, case by case. A case warms up to a typical state, saves it, and
//! restores it before each batch, so that every batch does the same work; medians are reported with their spread.
//!
//! Cases that muster loses would stay in the table.

mod cases;
mod measure;
mod pile;
mod plugin;
mod range;
#[cfg(feature = "rapier")]
mod rapier;
mod record;
mod special;

use crate::cli::{FAILED, OK, USAGE};
use comfy_table::{Cell, CellAlignment, Table, presets};
use measure::Line;
use muster_scenario::text::Threads;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct BenchArguments {
    /// The case; all the timed cases if left out
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(CASES.iter().map(|case| case.name)))]
    name: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    /// Threads; cases measure 1 and 2 if left out
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Measure less, for a quick look
    #[arg(long)]
    quick: bool,
    /// range, cameras-100: who makes pictures: cpu, gpu or auto
    #[arg(long, value_parser = crate::cli::render, default_value = "cpu")]
    render: muster::Render,
    #[command(flatten)]
    range: range::RangeArguments,
}

/// How to measure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    /// Threads asked for.
    pub(crate) threads: Option<usize>,
    /// Measure less.
    pub(crate) quick: bool,
    /// Who makes pictures.
    pub(crate) render: muster::Render,
}

impl How {
    /// The thread counts to measure.
    fn thread_counts(&self) -> Vec<usize> {
        self.threads.map_or_else(|| vec![1, 2], |threads| vec![threads])
    }
}

/// One case.
struct Case {
    name: &'static str,
    /// Named by `muster bench` without a name.
    timed: bool,
    measure: fn(&How) -> Result<Vec<Line>, String>,
}

/// The case that has arguments of its own.
const RANGE: &str = "range";

const CASES: &[Case] = &[
    Case { name: "atrv-15", timed: true, measure: cases::atrv },
    Case { name: "fixed-wing-100", timed: true, measure: cases::fixed_wing },
    Case { name: "quadrotor-10000", timed: true, measure: cases::quadrotor },
    Case { name: "quadrotor-dynamics", timed: true, measure: cases::quadrotor_dynamics },
    Case { name: "differential-10000", timed: true, measure: cases::differential },
    Case { name: "vehicles-1000", timed: true, measure: special::vehicles },
    Case { name: "pile-1000", timed: true, measure: pile::pile },
    Case { name: "plugin-1000", timed: false, measure: plugin::plugin },
    Case { name: "cameras-100", timed: true, measure: special::cameras },
    Case { name: "scanners-1000", timed: true, measure: cases::scanners },
    Case { name: "proximity-10000", timed: true, measure: cases::proximity },
    Case { name: "hierarchy-10000", timed: true, measure: special::hierarchy },
    Case { name: RANGE, timed: false, measure: |_| Ok(Vec::new()) },
    Case { name: "lockstep-1", timed: true, measure: cases::lockstep },
    Case { name: "growth", timed: true, measure: cases::growth },
    Case { name: "worlds-1000", timed: true, measure: special::worlds },
    Case { name: "cold-start", timed: true, measure: special::cold_start },
    Case { name: "wait", timed: false, measure: special::wait },
    Case { name: "async", timed: false, measure: special::asynchronous },
    Case { name: "record", timed: false, measure: record::record },
    Case { name: "fork-join", timed: false, measure: special::fork_join },
];

/// Measures and returns the exit code.
pub(crate) fn bench(arguments: &BenchArguments) -> u8 {
    if arguments.threads.is_some_and(|threads| !(1..=1024).contains(&threads)) {
        eprintln!("error: found {:?} threads, expected 1 to 1024", arguments.threads);
        return USAGE;
    }
    let how = How { threads: arguments.threads, quick: arguments.quick, render: arguments.render };
    let wanted = |case: &&Case| arguments.name.as_deref().map_or(case.timed, |name| name == case.name);
    for case in CASES.iter().filter(wanted) {
        let lines = match case.name {
            RANGE => range::range(&arguments.range, &how),
            _ => (case.measure)(&how),
        };
        match lines {
            Ok(lines) if arguments.json => lines.iter().for_each(|line| say!("{}", line.json())),
            Ok(lines) => say!("{}\n", table(case.name, &lines)),
            Err(error) => {
                eprintln!("error: bench {}: {error}", case.name);
                return FAILED;
            }
        }
    }
    if !arguments.json {
        let machine = muster_exec::machine();
        say!("{} ({} cores, {}), {}", machine.cpu, machine.cores, machine.simd, machine.os);
    }
    OK
}

/// One row a line, one column for each value that some line has.
fn table(name: &str, lines: &[Line]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    let mut names: Vec<String> = Vec::new();
    for (name, _) in lines.iter().flat_map(Line::columns) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    table.set_header(std::iter::once(name).chain(names.iter().map(String::as_str)));
    for line in lines {
        let columns = line.columns();
        let text =
            |name: &String| columns.iter().find(|(other, _)| other == name).map_or("", |(_, text)| text.as_str());
        let cells = names.iter().map(|name| Cell::new(text(name)).set_alignment(CellAlignment::Right));
        table.add_row(std::iter::once(Cell::new(&line.variant)).chain(cells));
    }
    table
}

/// The threads of a simulation.
fn threads(count: usize) -> Threads {
    Threads::Count(count)
}
