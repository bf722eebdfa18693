//! The automated door of SwarmSimX (section 2): it opens when a robot comes within a range, and closes a while after the
//! last one was seen there. It reads a `neighbours` sensor of its own and moves two sliding leaves.

use muster_plugin::{Config, Control, Driver, Field, Kind, Quantity, Reading, Wanted, plugin};

struct Door {
    range_m: f64,
    close_after_s: f64,
    open_m: f64,
    /// Numbers of the joints.
    leaves: [usize; 2],
}

/// When somebody was seen last; negative for never.
const SEEN_S: usize = 0;
/// 1 while it is open or opening.
const OPEN: usize = 0;

/// A record of a `neighbours` sensor: position, velocity, radius, kind (0 for a robot) and number.
const RECORD: usize = 9;
const KIND_OF: usize = 7;

impl Driver for Door {
    const KIND: Kind = Kind::new("door", "Opens when a robot comes near, closes a while after the last was seen.")
        .repeatable()
        .rate_hz(100.0)
        .fields(&[
            Field::number("range_m", "Opens for whoever is nearer than this.").or("2").within(0.0, 1e6),
            Field::number("close_after_s", "Closes so long after nobody was seen there.").or("5").within(0.0, 1e6),
            Field::number("open_m", "How far a leaf slides.").or("0.9").within(0.0, 100.0),
            Field::text("near", "The neighbours sensor that says who is near.").or("near"),
            Field::text("left", "The joint of one leaf.").or("left"),
            Field::text("right", "The joint of the other leaf.").or("right"),
        ])
        .state(&[Quantity::one("seen_s")])
        .integers(&[Quantity::one("open")]);
    type Memory = ();
    const LISTENS: bool = true;

    fn configure(config: &Config<'_>) -> Result<Self, String> {
        config.subscribe(Wanted::sensor(config.text("near")).of_kind("neighbours"))?;
        Ok(Self {
            range_m: config.number("range_m"),
            close_after_s: config.number("close_after_s"),
            open_m: config.number("open_m"),
            leaves: [config.joint(config.text("left"))?, config.joint(config.text("right"))?],
        })
    }

    fn start(&self, control: &mut Control<'_, ()>, lane: usize) {
        control.state()[SEEN_S][lane] = -1.0;
    }

    /// The sensor calls; nobody polls.
    fn on_sample(&self, control: &mut Control<'_, ()>, lane: usize, reading: &Reading<'_>) {
        let near = |record: &[f64]| {
            record[KIND_OF] == 0.0 && record[..3].iter().map(|x| x * x).sum::<f64>() <= self.range_m * self.range_m
        };
        let records = reading.shared().unwrap_or_default();
        if records.chunks_exact(RECORD).any(near) {
            control.state()[SEEN_S][lane] = reading.stamp_ns.unwrap_or(0) as f64 * 1e-9;
        }
    }

    fn step(&self, control: &mut Control<'_, ()>) {
        let time_s = control.time_s();
        while let Some(lane) = control.next_lane() {
            let seen_s = control.state()[SEEN_S][lane];
            let open = seen_s >= 0.0 && time_s - seen_s < self.close_after_s;
            control.integers()[OPEN][lane] = i64::from(open);
            for leaf in self.leaves {
                control.joint_commands()[leaf][lane] = if open { self.open_m } else { 0.0 };
            }
        }
    }
}

plugin! {
    name: "door", version: env!("CARGO_PKG_VERSION"), about: "The automated door of SwarmSimX.",
    kinds: [driver Door],
}
