//! Joint state: position, rate and command of joints, as they are. For what an encoder makes of them see
//! [`joint_encoder`](super::joint_encoder).

use muster_core::component::{Feel, Fitting, Kind, Measure, Misfit, Sense, Sensor};
use muster_core::joints::{Frame, joint_numbers, jointed};
use muster_core::lanes::{LANES, Quantity};
use muster_core::spec;
use muster_core::spec::Spec;
use std::sync::Arc;

spec! {
    /// State of joints.
    pub struct JointStateSpec {
        /// The joints, by name, up to 64; all of the robot if none is named.
        joints: Vec<String> = Vec::new();
    }
}

/// State of joints.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "joint_state",
    doc: "Position, rate and command of joints, in rad or m, without error.",
    fields: JointStateSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <JointStateSpec as Spec>::read(node, path, also, problems)?;
        Some(Arc::new(JointState { spec, joints: Vec::new() }))
    },
};

/// The most joints a sensor reads.
pub(super) const MOST: usize = 64;

/// The same quantities for each number of joints.
pub(super) const fn for_each_count<const N: usize>(quantities: [Quantity; N]) -> [[Quantity; N]; MOST + 1] {
    let mut table = [quantities; MOST + 1];
    let mut count = 0;
    while count <= MOST {
        let mut at = 0;
        while at < N {
            table[count][at].len = count;
            at += 1;
        }
        count += 1;
    }
    table
}

/// The joints of these names, or all; an error says what was found and what was expected.
pub(super) fn chosen(frames: &[Frame], names: &[String]) -> Result<Vec<usize>, Misfit> {
    let joints = match names.is_empty() {
        true => (0..jointed(frames).count()).collect(),
        false => joint_numbers(frames, names.iter().map(String::as_str))?,
    };
    match joints.len() {
        0 => Err(("a robot without joints".to_owned(), "frames with turn or slide".to_owned())),
        1..=MOST => Ok(joints),
        count => Err((format!("{count} joints"), format!("at most {MOST}; name some in joints"))),
    }
}

static FIELDS: [[Quantity; 3]; MOST + 1] =
    for_each_count([Quantity::one("position"), Quantity::one("rate"), Quantity::one("command")]);

struct JointState {
    spec: JointStateSpec,
    joints: Vec<usize>,
}

impl Sensor for JointState {
    fn fields(&self) -> &'static [Quantity] {
        &FIELDS[self.joints.len()]
    }

    fn default_rate_hz(&self) -> f64 {
        50.0
    }

    fn joints(&self) -> Vec<usize> {
        self.joints.clone()
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }

    fn fitted(&self, robot: &Fitting<'_>) -> Result<Option<Arc<dyn Sensor>>, Misfit> {
        let frames = robot.frames;
        let joints = chosen(frames, &self.spec.joints)?;
        Ok(Some(Arc::new(Self { spec: self.spec.clone(), joints })))
    }
}

impl Feel for JointState {
    fn start(&self, _: &mut Measure<'_>, _: usize) {}

    fn measure(&self, measure: &mut Measure<'_>) {
        let (at, count) = (measure.joints, self.joints.len());
        for (number, &joint) in self.joints.iter().enumerate() {
            for (family, first) in [at.positions(), at.rates(), at.commands()].into_iter().enumerate() {
                let lanes = ..measure.lanes.min(LANES);
                measure.sample[family * count + number][lanes].copy_from_slice(&measure.truth[first + joint][lanes]);
            }
        }
    }
}
