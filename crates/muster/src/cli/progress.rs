//! What people see while a run goes on: one live line on a terminal, a plain log elsewhere, a table at the end.

use comfy_table::{Cell, CellAlignment, Table, presets};
use muster::report::Report;
use muster::run::{Event, Progress, Watcher};
use muster_core::time::SimTime;
use muster_core::world::PHASES;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Watches a run for people.
pub(crate) struct People {
    terminal: bool,
    line_shown: bool,
    logged: Option<Instant>,
    quiet: bool,
}

/// Where the output is no terminal, progress is logged this often.
const LOG_EVERY: Duration = Duration::from_secs(5);

impl People {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { terminal: std::io::stderr().is_terminal(), line_shown: false, logged: None, quiet }
    }

    /// Removes the live line, so that other output starts clean.
    pub(crate) fn clear(&mut self) {
        if self.line_shown {
            eprint!("\r\x1b[2K");
            self.line_shown = false;
        }
    }

    fn say(&mut self, text: &str) {
        self.clear();
        eprintln!("{text}");
    }
}

impl Watcher for People {
    fn progress(&mut self, progress: &Progress) {
        if self.quiet {
            return;
        }
        let rtf = progress.time.s() / progress.wall.as_secs_f64().max(1e-9);
        let failed = if progress.failed > 0 { format!("  {} failed", progress.failed) } else { String::new() };
        // a run of so many windows has no end that is known before
        let end = if progress.end < SimTime::NEVER { format!(" / {:.0}", progress.end.s()) } else { String::new() };
        let line = format!(
            "{:8.2}{end} s simulated  x{:<7.2} {}  {} late{failed}",
            progress.time.s(),
            rtf,
            counted(progress.robots, "robot"),
            progress.late,
        );
        if self.terminal {
            let share = progress.time.s() / progress.end.s().max(1e-9);
            let filled = (share * 20.0) as usize;
            eprint!("\r\x1b[2K[{}{}] {line}", "#".repeat(filled.min(20)), "-".repeat(20 - filled.min(20)));
            _ = std::io::stderr().flush();
            self.line_shown = true;
        } else if self.logged.is_none_or(|at| at.elapsed() >= LOG_EVERY) {
            self.logged = Some(Instant::now());
            eprintln!("{}", line.trim_start());
        }
    }

    fn event(&mut self, event: Event) {
        let text = match event {
            Event::Late { window, late, count } => format!(
                "warning: window {window} missed its deadline by {:.3} ms ({count} missed so far; told once a second)",
                late.as_secs_f64() * 1e3
            ),
            Event::Fault(text) => format!("error: {text}"),
            Event::Refused(text) => format!("warning: command refused: {text}"),
            Event::Link(text) => format!("warning: {text}"),
            Event::Failed(text) => format!("error: {text}"),
            Event::Unrecorded(text) => format!("error: the recording ends here, the run goes on: {text}"),
            Event::Happened(_) if self.quiet => return,
            Event::Happened(text) => text,
        };
        self.say(&text);
    }
}

/// Prints the summary of a run.
pub(crate) fn summary(report: &Report) {
    let windows = &report.meter.windows;
    let mut table = plain_table();
    let mut row = |name: &str, value: String| _ = table.add_row(vec![Cell::new(name), Cell::new(value)]);
    row("simulated", format!("{:.3} s in {:.3} s ({})", report.sim_time_s, report.wall_time_s, report.ended));
    row("real-time factor", format!("{:.2}", report.rtf()));
    row("robots", format!("{} on {}", report.robots, counted(report.threads, "thread")));
    row("robot ticks", format!("{} in {} windows", grouped(report.ticks), grouped(report.windows)));
    let (p50, p99) = (windows.quantile_us(0.5), windows.quantile_us(0.99));
    row("window", format!("p50 {}, p99 {}, max {}", micros(p50), micros(p99), micros(windows.max_us())));
    row("late windows", format!("{} (worst {})", report.late.count, micros(report.late.worst_ns as f64 / 1e3)));
    row("contacts", grouped(report.contacts));
    let happened: u64 = report.event_counts.iter().sum();
    if happened > 0 {
        row("events", grouped(happened));
    }
    if !report.faults.is_empty() {
        row("isolated robots", report.faults.len().to_string());
    }
    if report.expected > 0 {
        let held = report.expected - report.failures.len() - report.unjudged;
        let waiting = match report.unjudged {
            0 => String::new(),
            count => format!(", {count} not judged: the run ended before their time"),
        };
        row("expectations", format!("{held} of {} hold{waiting}", report.expected));
    }
    if let Some(recording) = &report.recording {
        let (messages, mb) = (grouped(recording.messages), |bytes: u64| bytes as f64 * 1e-6);
        let (raw, stored) = (mb(recording.payload_bytes), mb(recording.file_bytes));
        row("recorded", format!("{messages} messages, {raw:.1} MB in {stored:.1} MB, {} dropped", recording.dropped));
        if recording.untold_topics > 0 {
            row(
                "topics left out",
                format!("{} (a file has no room for more; see --record-only)", recording.untold_topics),
            );
        }
        if let Some(error) = &recording.error {
            row("recording ended", error.clone());
        }
    }
    row("seed", report.seed.to_string());
    row("state hash", format!("{:032x}", report.state_hash));
    say!("{table}");
    say!("{}", phase_table(report));
    if !report.sensors.is_empty() {
        say!("{}", sensor_table(report));
    }
}

fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    table
}

fn right(value: String) -> Cell {
    Cell::new(value).set_alignment(CellAlignment::Right)
}

fn phase_table(report: &Report) -> Table {
    let total: f64 = report.meter.phases.iter().map(muster::report::Histogram::total_ms).sum();
    let mut table = plain_table();
    table.set_header(vec!["phase", "share", "p50", "p99"]);
    for (name, phase) in PHASES.iter().zip(&report.meter.phases) {
        let share = 100.0 * phase.total_ms() / total.max(1e-12);
        table.add_row(vec![
            Cell::new(name),
            right(format!("{share:.1} %")),
            right(micros(phase.quantile_us(0.5))),
            right(micros(phase.quantile_us(0.99))),
        ]);
    }
    table
}

fn sensor_table(report: &Report) -> Table {
    let mut table = plain_table();
    table.set_header(vec!["sensor", "count", "requested", "achieved"]);
    for rate in &report.sensors {
        table.add_row(vec![
            Cell::new(&rate.name),
            right(rate.count.to_string()),
            right(format!("{:.3} Hz", rate.requested_hz)),
            right(format!("{:.3} Hz", rate.achieved_hz)),
        ]);
    }
    table
}

/// A number of things, in the singular or the plural.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// A duration in the unit that reads best.
pub(crate) fn micros(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{:.2} s", us / 1e6),
        us if us >= 1e3 => format!("{:.2} ms", us / 1e3),
        us => format!("{us:.2} µs"),
    }
}

/// A number with its digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_durations_have_fitting_units() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.5, 1500.0, 2e6].map(micros), ["0.50 µs", "1.50 ms", "2.00 s"]);
    }
}
