//! The formats of logs: pure functions from samples to text.

use muster_core::component::{Pose, Sense};
use muster_core::lanes::{Quantity, Role};
use muster_core::math::rpy_from_quat;
use muster_core::world::{HeardSample, World};
use std::fmt::Write;

/// How a log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    Jsonl,
    Text,
}

/// What is known of a channel before its first sample.
#[derive(Debug, Clone)]
pub(super) struct Header {
    pub(super) robot: String,
    pub(super) channel: String,
    /// What a record holds.
    pub(super) fields: Vec<Quantity>,
    /// A sample may hold several records, or none.
    pub(super) several: bool,
    /// `body_from_sensor`, and where the robot is.
    pub(super) mount: Pose,
    pub(super) start: Pose,
}

impl Header {
    pub(super) fn of(world: &World, robot: &str, channel: &str) -> Option<Self> {
        let found = world.find(robot)?;
        let slot = found.cohort.blueprint.sensors.iter().find(|slot| slot.name == channel)?;
        Some(Self {
            robot: robot.to_owned(),
            channel: channel.to_owned(),
            fields: slot.fields().to_vec(),
            several: matches!(slot.sensor.sense(), Sense::World(_)),
            mount: slot.mount,
            start: world.pose(robot).unwrap_or(Pose::IDENTITY),
        })
    }

    /// The name of every number of a record.
    fn names(&self) -> Vec<String> {
        self.fields.iter().flat_map(numbers_of).collect()
    }
}

/// The names of the numbers of a quantity: with the letters of axes where these are meant.
fn numbers_of(quantity: &Quantity) -> Vec<String> {
    let letters = |letters: &[&str]| letters.iter().map(|letter| format!("{}.{letter}", quantity.name)).collect();
    match (quantity.len, quantity.role) {
        (1, _) => vec![quantity.name.to_owned()],
        (3, Role::Plain) => (0..3).map(|at| format!("{}.{at}", quantity.name)).collect(),
        (3, _) => letters(&["x", "y", "z"]),
        (4, Role::Plain) => (0..4).map(|at| format!("{}.{at}", quantity.name)).collect(),
        (4, _) => letters(&["x", "y", "z", "w"]),
        (count, _) => (0..count).map(|at| format!("{}.{at}", quantity.name)).collect(),
    }
}

/// A number as JSON: what is no number is null.
fn json(line: &mut String, value: f64) {
    // writing to a string cannot fail
    _ = if value.is_finite() { write!(line, "{value}") } else { line.write_str("null") };
}

/// The stamp in seconds, as near as a number can be.
fn seconds(sample: &HeardSample<'_>) -> f64 {
    sample.stamp.ns() as f64 / 1e9
}

impl Format {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Text => "text",
        }
    }

    pub(super) fn ending(self) -> &'static str {
        match self {
            Self::Text => "txt",
            other => other.name(),
        }
    }

    /// What a file begins with.
    pub(super) fn head(self, header: &Header) -> String {
        match self {
            Self::Csv => {
                let record = if header.several { ",record" } else { "" };
                format!("stamp_s{record},{}\n", header.names().join(","))
            }
            Self::Jsonl => String::new(),
            Self::Text => {
                let (local, global) = (header.mount.position_m, header.start.then(&header.mount).position_m);
                format!(
                    "ROBOT {} || SENSOR {0}.{}\n(distance, globalVector(3), localVector(3))\n({:.6}, Vector(({:.6}, \
                     {:.6}, {:.6})), Vector(({:.6}, {:.6}, {:.6})))\n\n",
                    header.robot,
                    header.channel,
                    local.length(),
                    global.x,
                    global.y,
                    global.z,
                    local.x,
                    local.y,
                    local.z
                )
            }
        }
    }

    /// Adds a sample; `count` came before it, and the robot is at `pose`.
    pub(super) fn write(
        self,
        line: &mut String,
        header: &Header,
        sample: &HeardSample<'_>,
        (count, pose): (u64, Option<Pose>),
    ) {
        match self {
            Self::Csv => csv(line, header, sample),
            Self::Jsonl => jsonl(line, header, sample),
            Self::Text => text(line, header, sample, (count, pose.unwrap_or(header.start))),
        }
    }
}

fn csv(line: &mut String, header: &Header, sample: &HeardSample<'_>) {
    let width = Quantity::total(&header.fields).max(1);
    for (at, record) in sample.values.chunks(width).enumerate() {
        // writing to a string cannot fail
        _ = write!(line, "{}", seconds(sample));
        if header.several {
            _ = write!(line, ",{at}");
        }
        for value in record {
            _ = write!(line, ",{value}");
        }
        line.push('\n');
    }
}

fn jsonl(line: &mut String, header: &Header, sample: &HeardSample<'_>) {
    let width = Quantity::total(&header.fields).max(1);
    _ = write!(line, "{{\"stamp_s\":{},\"channel\":\"{}.{}\"", seconds(sample), header.robot, header.channel);
    let mut first = 0;
    for quantity in &header.fields {
        _ = write!(line, ",\"{}\":", quantity.name);
        let (from, to) = (first, first + quantity.len);
        let mut records = sample.values.chunks_exact(width).map(|record| &record[from..to]);
        if header.several {
            list(line, records, quantities);
        } else {
            quantities(line, records.next_back().unwrap_or_default());
        }
        first = to;
    }
    line.push_str("}\n");
}

fn quantities(line: &mut String, numbers: &[f64]) {
    match numbers {
        [one] => json(line, *one),
        several => list(line, several.iter().copied(), json),
    }
}

fn list<T>(line: &mut String, items: impl Iterator<Item = T>, each: impl Fn(&mut String, T)) {
    line.push('[');
    for (at, item) in items.enumerate() {
        if at > 0 {
            line.push(',');
        }
        each(line, item);
    }
    line.push(']');
}

fn text(line: &mut String, header: &Header, sample: &HeardSample<'_>, (count, pose): (u64, Pose)) {
    let (at, (roll, pitch, yaw)) = (pose.position_m, rpy_from_quat(pose.orientation));
    _ = writeln!(
        line,
        "==> Data at X,Y,Z: [{:.6} {:.6} {:.6}]yaw,pitch,roll: [{yaw:.6} {pitch:.6} {roll:.6}] | index {count} | time {:.2}",
        at.x,
        at.y,
        at.z,
        seconds(sample)
    );
    _ = writeln!(line, "\ttimestamp = {:.6}", seconds(sample));
    let width = Quantity::total(&header.fields).max(1);
    let mut first = 0;
    for quantity in &header.fields {
        let mut records = sample.values.chunks_exact(width).map(|record| &record[first..first + quantity.len]);
        _ = write!(line, "\t{} = ", quantity.name);
        if header.several {
            python_list(line, records, python);
        } else {
            match records.next_back().unwrap_or_default() {
                [one] => _ = write!(line, "{one:.6}"),
                several => python(line, several),
            }
        }
        line.push('\n');
        first += quantity.len;
    }
}

/// Numbers as Python's `repr` writes them.
fn python(line: &mut String, numbers: &[f64]) {
    match numbers {
        [one] => _ = write!(line, "{one:?}"),
        several => python_list(line, several.iter(), |line, value| _ = write!(line, "{value:?}")),
    }
}

fn python_list<T>(line: &mut String, items: impl Iterator<Item = T>, each: impl Fn(&mut String, T)) {
    line.push('[');
    for (at, item) in items.enumerate() {
        if at > 0 {
            line.push_str(", ");
        }
        each(line, item);
    }
    line.push(']');
}
