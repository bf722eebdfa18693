//! Joint script: moves joints to positions at times, once or again and again. A door that is opened, a lift that goes up
//! and down, a camera that looks around. Between two moves of a joint others may command it.

use muster_core::component::{Control, Driver, Fitting, Kind, Misfit, Pose};
use muster_core::joints::{Frame, Joint, joint_numbers, jointed};
use muster_core::lanes::Quantity;
use muster_core::spec;
use muster_core::spec::Spec;
use muster_core::time::SimTime;
use std::sync::Arc;

spec! {
    /// A joint is told to go somewhere.
    pub struct MoveSpec {
        /// When.
        at_s: f64, in 0.0..=1e9;
        /// Which joint.
        joint: String;
        /// Where to, if it turns.
        to_deg: Option<f64>;
        /// Where to, if it slides.
        to_m: Option<f64>;
    }
}

impl MoveSpec {
    /// Where to, rad or m; an error says what was found and what was expected.
    pub(super) fn target(&self, frame: &Frame) -> Result<f64, Misfit> {
        target(frame, self.to_deg, self.to_m, ["to_deg", "to_m"])
    }
}

/// A place of a joint, rad or m, written in degrees for one that turns and in metres for one that slides.
pub(super) fn target(frame: &Frame, deg: Option<f64>, m: Option<f64>, keys: [&str; 2]) -> Result<f64, Misfit> {
    let turns = matches!(frame.joint, Joint::Turn(_));
    match (turns, deg, m) {
        (true, Some(deg), None) => Ok(deg.to_radians()),
        (false, None, Some(m)) => Ok(m),
        (_, deg, m) => {
            let [first, second] = keys;
            let found = match (deg.is_some(), m.is_some()) {
                (true, true) => format!("{first} and {second} for joint {:?}", frame.name),
                (true, false) => format!("{first} for joint {:?}", frame.name),
                (false, true) => format!("{second} for joint {:?}", frame.name),
                (false, false) => format!("joint {:?} without a place", frame.name),
            };
            let expected = if turns { format!("{first}, as it turns") } else { format!("{second}, as it slides") };
            Err((found, expected))
        }
    }
}

spec! {
    /// Parameters of the joint script.
    pub struct JointScriptSpec {
        /// What moves when.
        moves: Vec<MoveSpec> = Vec::new();
        /// Begins again after this time; never if none is given.
        repeat_s: Option<f64>, in 0.001..=1e9;
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "joint_script",
    doc: "Moves joints to places at times: doors, lifts, cameras that look around.",
    fields: JointScriptSpec::FIELDS,
    build: &|node, path, also, problems| {
        let mut spec = <JointScriptSpec as Spec>::read(node, path, also, problems)?;
        spec.moves.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        Some(Arc::new(JointScript { spec, moves: Vec::new() }))
    },
};

struct JointScript {
    spec: JointScriptSpec,
    /// Number of the joint, and where it goes, of every move.
    moves: Vec<(usize, f64)>,
}

/// How many moves were made.
const MADE: usize = 0;

impl JointScript {
    /// When a move is made, counted over all rounds.
    fn time_of(&self, number: usize) -> Option<SimTime> {
        let (count, round) = (self.moves.len(), number.checked_div(self.moves.len())?);
        match (round, self.spec.repeat_s) {
            (0, _) => Some(SimTime::from_s(self.spec.moves[number].at_s)),
            (_, Some(repeat_s)) => {
                Some(SimTime::from_s(self.spec.moves[number % count].at_s + round as f64 * repeat_s))
            }
            (_, None) => None,
        }
    }
}

impl Driver for JointScript {
    fn integers(&self) -> &'static [Quantity] {
        const { &[Quantity::one("made")] }
    }

    fn fitted(&self, robot: &Fitting<'_>) -> Result<Option<Arc<dyn Driver>>, Misfit> {
        let frames = robot.frames;
        let numbers = joint_numbers(frames, self.spec.moves.iter().map(|step| step.joint.as_str()))?;
        let joints: Vec<&Frame> = jointed(frames).collect();
        let place = |(step, joint): (&MoveSpec, usize)| step.target(joints[joint]).map(|place| (joint, place));
        let moves = self.spec.moves.iter().zip(numbers).map(place).collect::<Result<_, _>>()?;
        Ok(Some(Arc::new(Self { spec: self.spec.clone(), moves })))
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, _: Pose) {
        control.integers[MADE][lane] = 0;
    }

    fn control(&self, control: &mut Control<'_>) {
        while let Some(lane) = control.next_lane() {
            let mut made = control.integers[MADE][lane].max(0) as usize;
            while self.time_of(made).is_some_and(|time| time <= control.time) {
                let (joint, place) = self.moves[made % self.moves.len()];
                control.joints.commands[joint][lane] = place;
                made += 1;
            }
            control.integers[MADE][lane] = made as i64;
        }
    }
}
