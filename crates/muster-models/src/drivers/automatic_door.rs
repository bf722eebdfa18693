//! Automatic door: opens when a robot comes within a range, and closes a while after the last one was seen there, as in
//! J. Lächele et al., *SwarmSimX*, section 2. It reads a `neighbours` sensor of its own, which says who is near.

use super::joint_script::target;
use crate::sensors::neighbours;
use glam::DVec3;
use muster_core::component::{Control, Driver, Fitting, Kind, Misfit, Pose, Reading, Subscription};
use muster_core::joints::{Frame, joint_numbers, jointed};
use muster_core::lanes::Quantity;
use muster_core::spec;
use muster_core::spec::Spec;
use std::sync::Arc;

spec! {
    /// A leaf of the door.
    pub struct LeafSpec {
        /// Its joint, which starts closed.
        joint: String;
        /// Where it is when open, if it turns.
        open_deg: Option<f64>;
        /// Where it is when open, if it slides.
        open_m: Option<f64>;
    }
}

spec! {
    /// Parameters of the automatic door.
    pub struct AutomaticDoorSpec {
        /// What moves.
        leaves: Vec<LeafSpec> = Vec::new();
        /// Opens for whoever is nearer than this.
        range_m: f64 = 2.0, in 0.0..=1e6;
        /// Closes this long after nobody was seen there any more.
        close_after_s: f64 = 5.0, in 0.0..=1e6;
        /// Name of the neighbours sensor that says who is near.
        near: String = "near".to_owned();
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "automatic_door",
    doc: "Opens when a robot comes within a range, closes a while after the last was seen there.",
    fields: AutomaticDoorSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <AutomaticDoorSpec as Spec>::read(node, path, also, problems)?;
        Some(Arc::new(AutomaticDoor { spec, leaves: Vec::new() }))
    },
};

/// A leaf that is moved: number of its joint, where it is closed and open.
#[derive(Debug, Clone, Copy)]
struct Leaf {
    joint: usize,
    closed: f64,
    open: f64,
}

struct AutomaticDoor {
    spec: AutomaticDoorSpec,
    leaves: Vec<Leaf>,
}

/// When somebody was seen last; negative for never.
const SEEN: usize = 0;
/// 1 while it is open or opening.
const OPEN: usize = 0;

impl AutomaticDoor {
    fn sees(&self, near: &Reading<'_>) -> bool {
        let robot = |record: &&[f64]| record[neighbours::KIND_OF] == neighbours::ROBOT;
        let place = |record: &[f64]| DVec3::from_slice(&record[neighbours::POSITION..]);
        let records = near.shared().unwrap_or_default().chunks_exact(neighbours::RECORD);
        records.filter(robot).any(|record| place(record).length() <= self.spec.range_m)
    }
}

impl Driver for AutomaticDoor {
    fn state(&self) -> &'static [Quantity] {
        const { &[Quantity::one("seen_s")] }
    }

    fn integers(&self) -> &'static [Quantity] {
        const { &[Quantity::one("open")] }
    }

    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::own(&self.spec.near, neighbours::KIND.name)]
    }

    fn fitted(&self, robot: &Fitting<'_>) -> Result<Option<Arc<dyn Driver>>, Misfit> {
        let frames = robot.frames;
        let numbers = joint_numbers(frames, self.spec.leaves.iter().map(|leaf| leaf.joint.as_str()))?;
        let joints: Vec<&Frame> = jointed(frames).collect();
        let leaf = |(leaf, joint): (&LeafSpec, usize)| -> Result<Leaf, Misfit> {
            let open = target(joints[joint], leaf.open_deg, leaf.open_m, ["open_deg", "open_m"])?;
            Ok(Leaf { joint, closed: joints[joint].servo.start, open })
        };
        let leaves = self.spec.leaves.iter().zip(numbers).map(leaf).collect::<Result<_, _>>()?;
        Ok(Some(Arc::new(Self { spec: self.spec.clone(), leaves })))
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, _: Pose) {
        control.state[SEEN][lane] = -1.0;
        control.integers[OPEN][lane] = 0;
    }

    fn control(&self, control: &mut Control<'_>) {
        while let Some(lane) = control.next_lane() {
            let near = control.reading(0, lane);
            if let Some(stamp) = near.stamp.filter(|_| self.sees(&near)) {
                control.state[SEEN][lane] = stamp.s();
            }
            let seen_s = control.state[SEEN][lane];
            let open = seen_s >= 0.0 && control.time.s() - seen_s < self.spec.close_after_s;
            if open != (control.integers[OPEN][lane] != 0) {
                control.integers[OPEN][lane] = i64::from(open);
                for leaf in &self.leaves {
                    control.joints.commands[leaf.joint][lane] = if open { leaf.open } else { leaf.closed };
                }
            }
        }
    }
}
