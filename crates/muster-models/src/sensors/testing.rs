//! A robot-local sensor on a chunk of robots, for tests of one kind.

use glam::DVec3;
use muster_core::component::{Contacts, Feel, LookAt, Measure, Pose, Sense, Sensor, Wheel};
use muster_core::joints::JointColumns;
use muster_core::lanes::{Column, IntColumn, LANES, Quantity, body};
use muster_core::model::Environment;
use muster_core::node::{Node, Problems};
use muster_core::random::combine;
use muster_core::simd::Simd;
use muster_core::snapshot::Snapshot;
use muster_core::spec::Spec;
use muster_core::time::SimTime;

/// The specification with every field at its default.
pub(crate) fn defaults<S: Spec>() -> S {
    <S as Spec>::read(&Node::default(), "", &[], &mut Problems::default()).expect("every field has a default")
}

/// Standard gravity and air, the origin at sea level where the equator meets Greenwich.
pub(crate) fn environment() -> Environment {
    Environment { gravity_mps2: DVec3::new(0.0, 0.0, -9.81), ..Environment::empty() }
}

/// A chunk of robots at rest at the origin, and all that a measurement needs.
pub(crate) struct Bench {
    pub(crate) truth: Vec<Column>,
    pub(crate) state: Vec<Column>,
    pub(crate) sample: Vec<Column>,
    pub(crate) streams: [u64; LANES],
    pub(crate) index: u64,
    pub(crate) period_s: f64,
    pub(crate) mount: Pose,
    pub(crate) wheels: Vec<Wheel>,
    pub(crate) environment: Environment,
    pub(crate) simd: Simd,
    pub(crate) joints: JointColumns,
    /// How many contacts began, when the last was, and with whom.
    pub(crate) contacts: [IntColumn; 3],
}

impl Bench {
    pub(crate) fn new(sensor: &dyn Sensor, rate_hz: f64) -> Self {
        let mut truth = vec![[0.0; LANES]; body::COLUMNS];
        truth[body::ORIENTATION + 3] = [1.0; LANES];
        Self {
            truth,
            state: vec![[0.0; LANES]; Quantity::total(feel(sensor).state())],
            sample: vec![[0.0; LANES]; Quantity::total(sensor.fields())],
            streams: std::array::from_fn(|lane| combine(42, lane as u64)),
            index: 0,
            period_s: 1.0 / rate_hz,
            mount: Pose::IDENTITY,
            wheels: Vec::new(),
            environment: environment(),
            simd: Simd::detect(),
            joints: JointColumns::default(),
            contacts: [[0; LANES], [-1; LANES], [-1; LANES]],
        }
    }

    fn with<R>(&mut self, call: impl FnOnce(&mut Measure<'_>) -> R) -> R {
        call(&mut Measure {
            joints: self.joints,
            contacts: Contacts { begun: &self.contacts[0], last_ns: &self.contacts[1], with: Some(&self.contacts[2]) },
            truth: &self.truth,
            state: &mut self.state,
            sample: &mut self.sample,
            lanes: LANES,
            streams: &self.streams,
            index: self.index,
            period_s: self.period_s,
            time: SimTime::from_s(self.index as f64 * self.period_s),
            mount: &self.mount,
            wheels: &self.wheels,
            environment: &self.environment,
            simd: self.simd,
            kept: &mut [],
            faults: &mut Vec::new(),
        })
    }

    pub(crate) fn start(&mut self, sensor: &dyn Sensor) {
        let feel = feel(sensor);
        self.with(|measure| (0..LANES).for_each(|lane| feel.start(measure, lane)));
    }

    pub(crate) fn measure(&mut self, sensor: &dyn Sensor) {
        let feel = feel(sensor);
        self.with(|measure| feel.measure(measure));
        self.index += 1;
    }

    /// Three numbers of the sample of one robot.
    pub(crate) fn vec3(&self, first: usize, lane: usize) -> DVec3 {
        body::vec3(&self.sample, first, lane)
    }
}

fn feel(sensor: &dyn Sensor) -> &dyn Feel {
    match sensor.sense() {
        Sense::Own(feel) => feel,
        Sense::World(_) => panic!("looks at the world"),
    }
}

/// Standard deviation about zero.
pub(crate) fn deviation(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value * value, count + 1.0));
    (sum / count).sqrt()
}

/// A first look at a world.
pub(crate) fn glance<'a>(world: &'a Snapshot, robot: usize, mount: &'a Pose) -> LookAt<'a> {
    LookAt { world, robot, mount, stream: 5, index: 0, period_s: 0.1, slice: 0, ahead_s: 0.0, simd: Simd::detect() }
}
