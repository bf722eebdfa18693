//! Joint encoders: which mark of its disc (or scale) a joint is nearest to, the position of that mark, and the rate that
//! follows from the marks between two samples, as a microcontroller would compute it. The zero of an encoder is that of
//! its joint. So a position is wrong by at most half a mark.

use super::joint_state::{MOST, chosen, for_each_count};
use muster_core::component::{Feel, Fitting, Kind, Measure, Misfit, Sense, Sensor};
use muster_core::joints::{Joint, jointed};
use muster_core::lanes::{LANES, Quantity};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;
use std::f64::consts::TAU;
use std::sync::Arc;

spec! {
    /// Joint encoders.
    pub struct JointEncoderSpec {
        /// The joints, by name, up to 64; all of the robot if none is named.
        joints: Vec<String> = Vec::new();
        /// Marks in one turn of a turning joint, gears included.
        ticks_per_turn: f64 = 4096.0, in 1.0..=1e12;
        /// Marks on a metre of a sliding joint.
        ticks_per_m: f64 = 100000.0, in 1.0..=1e12;
    }
}

/// Joint encoders.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "joint_encoder",
    doc: "Joint encoders: nearest mark of each joint, its position in rad or m, and the rate by the last two marks.",
    fields: JointEncoderSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <JointEncoderSpec as Spec>::read(node, path, also, problems)?;
        Some(Arc::new(JointEncoder { spec, joints: Vec::new() }))
    },
};

static FIELDS: [[Quantity; 3]; MOST + 1] =
    for_each_count([Quantity::one("ticks"), Quantity::one("position"), Quantity::one("rate")]);

/// Marks at the last sample.
static STATE: [[Quantity; 1]; MOST + 1] = for_each_count([Quantity::one("last_ticks")]);

struct JointEncoder {
    spec: JointEncoderSpec,
    /// Number and marks per rad or m of each joint.
    joints: Vec<(usize, f64)>,
}

impl Sensor for JointEncoder {
    fn fields(&self) -> &'static [Quantity] {
        &FIELDS[self.joints.len()]
    }

    fn default_rate_hz(&self) -> f64 {
        100.0
    }

    fn joints(&self) -> Vec<usize> {
        self.joints.iter().map(|(number, _)| *number).collect()
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }

    fn fitted(&self, robot: &Fitting<'_>) -> Result<Option<Arc<dyn Sensor>>, Misfit> {
        let frames = robot.frames;
        let per_unit: Vec<f64> = jointed(frames)
            .map(|frame| match frame.joint {
                Joint::Slide(_) => self.spec.ticks_per_m,
                Joint::Turn(_) | Joint::Fixed => self.spec.ticks_per_turn / TAU,
            })
            .collect();
        let joints = chosen(frames, &self.spec.joints)?.into_iter().map(|joint| (joint, per_unit[joint]));
        Ok(Some(Arc::new(Self { spec: self.spec.clone(), joints: joints.collect() })))
    }
}

fn nearest_tick(position: f64, per_unit: f64) -> f64 {
    math::floor(position * per_unit + 0.5)
}

impl Feel for JointEncoder {
    fn state(&self) -> &'static [Quantity] {
        &STATE[self.joints.len()]
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        for (number, &(joint, per_unit)) in self.joints.iter().enumerate() {
            let position = measure.truth[measure.joints.positions() + joint][lane];
            measure.state[number][lane] = nearest_tick(position, per_unit);
        }
    }

    fn measure(&self, measure: &mut Measure<'_>) {
        let count = self.joints.len();
        for (number, &(joint, per_unit)) in self.joints.iter().enumerate() {
            let positions = &measure.truth[measure.joints.positions() + joint];
            for (lane, &position) in positions[..measure.lanes.min(LANES)].iter().enumerate() {
                let ticks = nearest_tick(position, per_unit);
                let passed = ticks - measure.state[number][lane];
                measure.state[number][lane] = ticks;
                measure.sample[number][lane] = ticks;
                measure.sample[count + number][lane] = ticks / per_unit;
                measure.sample[2 * count + number][lane] = passed / (per_unit * measure.period_s);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::*;
    use glam::DVec3;
    use muster_core::component::Pose;
    use muster_core::joints::{Frame, JointColumns, Servo};
    use muster_core::lanes::body;
    use muster_core::node::{Node, Problems, Value};

    fn frame(name: &str, joint: Joint) -> Frame {
        Frame { name: name.to_owned(), parent: None, pose: Pose::IDENTITY, joint, servo: Servo::FREE }
    }

    fn build(joints: &[&str]) -> Arc<dyn Sensor> {
        let mut node = Node::default();
        let names = joints.iter().map(|&name| Node::of(Value::Text(name.to_owned())));
        node.set("joints", Node::of(Value::List(names.collect())));
        node.set("ticks_per_turn", Node::of(Value::Number(360.0)));
        node.set("ticks_per_m", Node::of(Value::Number(1000.0)));
        (KIND.build)(&node, "encoder", &[], &mut Problems::default()).expect("an encoder")
    }

    fn arm() -> [Frame; 3] {
        [
            frame("pan", Joint::Turn(DVec3::Z)),
            frame("tray", Joint::Fixed),
            Frame { parent: Some(0), ..frame("rail", Joint::Slide(DVec3::X)) },
        ]
    }

    // S03
    #[test]
    fn an_encoder_is_the_joint_rounded_to_its_marks() {
        let sensor = build(&[]).fitted(&Fitting::frames(&arm())).expect("fits").expect("a sensor");
        let mut bench = Bench::new(&*sensor, 100.0);
        bench.truth.extend([[0.0; LANES]; 7]);
        bench.joints = JointColumns { first: body::COLUMNS, count: 2 };
        bench.start(&*sensor);
        for step in 0..1000 {
            let (pan, rail) = (-3.0 + 0.006 * f64::from(step), 0.0007 * f64::from(step));
            bench.truth[body::COLUMNS] = [pan; LANES];
            bench.truth[body::COLUMNS + 1] = [rail; LANES];
            bench.measure(&*sensor);
            let expected = [(pan.to_degrees()).round(), (rail * 1000.0).round()];
            let [pan_ticks, rail_ticks, pan_rad, rail_m] = [0, 1, 2, 3].map(|field| bench.sample[field][2]);
            assert_eq!([pan_ticks, rail_ticks], expected);
            assert!((pan_rad - pan).abs() <= 0.5_f64.to_radians() + 1e-12 && (rail_m - rail).abs() <= 0.000_5 + 1e-12);
        }
        // 0.6 rad/s and 0.07 m/s, each known to one mark in a period
        let rates = [bench.sample[4][2], bench.sample[5][2]];
        assert!((rates[0] - 0.6).abs() <= 1_f64.to_radians() * 100.0 && (rates[1] - 0.07).abs() <= 0.1, "{rates:?}");
    }

    #[test]
    fn joints_are_chosen_by_name_and_unknown_ones_are_refused() {
        let sensor = build(&["rail"]).fitted(&Fitting::frames(&arm())).expect("fits").expect("a sensor");
        assert_eq!(Quantity::total(sensor.fields()), 3);
        let (found, expected) =
            build(&["tray"]).fitted(&Fitting::frames(&arm())).err().expect("a fixed frame is no joint");
        assert_eq!((found.as_str(), expected.as_str()), ("joint \"tray\"", "one of the robot's joints: pan, rail"));
        assert!(build(&[]).fitted(&Fitting::frames(&[])).is_err(), "a robot without joints");
    }
}
