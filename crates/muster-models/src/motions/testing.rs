//! What the tests of motions share.

use glam::{DQuat, DVec3};
use muster_core::component::{Kind, Motion, Tick};
use muster_core::lanes::{Column, LANES, Quantity, body};
use muster_core::math;
use muster_core::model::{Environment, Water};
use muster_core::node::{Node, Problems, Value};
use muster_core::random::Stream;
use muster_core::simd::Simd;
use muster_core::time::SimTime;
use std::sync::Arc;

/// Standard gravity, m/s².
pub(crate) const GRAVITY: f64 = 9.80665;

/// One chunk of robots of one motion in an empty world.
pub(crate) struct Flock {
    pub(crate) motion: Arc<dyn Motion>,
    pub(crate) columns: Vec<Column>,
    pub(crate) environment: Environment,
    pub(crate) simd: Simd,
    /// The end of the last tick.
    pub(crate) time_s: f64,
}

/// The motion of a kind with these parameters.
pub(crate) fn build(kind: &Kind<dyn Motion>, parameters: &[(&str, Value)]) -> Arc<dyn Motion> {
    let mut node = Node::default();
    for (key, value) in parameters {
        node.set(key, Node::of(value.clone()));
    }
    let mut problems = Problems::default();
    let motion = (kind.build)(&node, "motion", &[], &mut problems);
    motion.unwrap_or_else(|| panic!("{:?}", problems.list()))
}

impl Flock {
    /// Robots at the origin, looking east, all moving with this velocity.
    pub(crate) fn new(motion: Arc<dyn Motion>, velocity_mps: DVec3) -> Self {
        let count = body::COLUMNS + Quantity::total(motion.inputs()) + Quantity::total(motion.state());
        let mut columns = vec![[0.0; LANES]; count];
        for lane in 0..LANES {
            body::set_orientation(&mut columns, lane, DQuat::IDENTITY);
            body::set_vec3(&mut columns, body::VELOCITY, lane, velocity_mps);
            motion.start(&mut columns, lane);
        }
        let environment = Environment { gravity_mps2: DVec3::new(0.0, 0.0, -GRAVITY), ..Environment::empty() };
        Self { motion, columns, environment, simd: Simd::detect(), time_s: 0.0 }
    }

    pub(crate) fn run(&mut self, dt_s: f64, ticks: usize) {
        for _ in 0..ticks {
            self.time_s += dt_s;
            let time = SimTime::from_s(self.time_s);
            let mut tick = Tick::alone(dt_s, &self.environment, self.simd);
            tick.time = time;
            self.motion.advance(&mut self.columns, LANES, &tick);
        }
    }

    pub(crate) fn vec3(&self, first: usize) -> DVec3 {
        body::vec3(&self.columns, first, 0)
    }

    pub(crate) fn set_vec3(&mut self, first: usize, value: DVec3) {
        for lane in 0..LANES {
            body::set_vec3(&mut self.columns, first, lane, value);
        }
    }

    pub(crate) fn orientation(&self) -> DQuat {
        body::orientation(&self.columns, 0)
    }

    pub(crate) fn yaw(&self) -> f64 {
        math::yaw_from_quat(self.orientation())
    }

    /// Sets columns of all lanes from `first` on.
    pub(crate) fn set(&mut self, first: usize, values: &[f64]) {
        for (column, value) in self.columns[first..].iter_mut().zip(values) {
            *column = [*value; LANES];
        }
    }
}

/// Scalar and wide registers give the same bits over 1000 ticks from different states in every lane. `inputs` are the
/// limits between which inputs are drawn, `speed_mps` the scale of velocities.
pub(crate) fn check_same_bits(motion: &Arc<dyn Motion>, mode: f64, inputs: &[(f64, f64)], speed_mps: f64) {
    check_same_bits_in(None, motion, mode, (inputs, speed_mps));
}

/// The same in a world with water.
pub(crate) fn check_same_bits_in(
    water: Option<Water>,
    motion: &Arc<dyn Motion>,
    mode: f64,
    (inputs, speed_mps): (&[(f64, f64)], f64),
) {
    let mut flocks = [Simd::Scalar, Simd::detect()].map(|simd| {
        let mut flock = Flock::new(motion.clone(), DVec3::new(speed_mps, 0.0, 0.0));
        flock.simd = simd;
        flock.environment.water = water;
        for lane in 0..LANES {
            let stream = Stream::new(1, lane as u64);
            let of = |draw| stream.normals(0, draw);
            let [a, b, c, _] = of(0);
            body::set_vec3(&mut flock.columns, body::POSITION, lane, 10.0 * DVec3::new(a, b, c));
            body::set_orientation(&mut flock.columns, lane, math::quat_from_rpy(0.2 * b, 0.1 * c, a));
            let [a, b, c, _] = of(1);
            let velocity = speed_mps * DVec3::new(1.0 + 0.2 * a, 0.2 * b, 0.1 * c);
            body::set_vec3(&mut flock.columns, body::VELOCITY, lane, velocity);
            let [a, b, c, d] = of(2);
            body::set_vec3(&mut flock.columns, body::ANGULAR_VELOCITY, lane, 0.3 * DVec3::new(a, b, c));
            body::set_vec3(&mut flock.columns, body::WIND, lane, DVec3::new(b, c, d));
            flock.columns[body::SETPOINT_MODE][lane] = mode;
            for (column, value) in flock.columns[body::SETPOINT..].iter_mut().zip(of(3)) {
                column[lane] = value;
            }
            for (index, (low, high)) in inputs.iter().enumerate() {
                let [share, ..] = stream.uniforms(1, index as u32);
                flock.columns[body::COLUMNS + index][lane] = low + share * (high - low);
            }
        }
        flock
    });
    for _ in 0..1000 {
        flocks.iter_mut().for_each(|flock| flock.run(0.004, 1));
        let [narrow, wide] = flocks
            .each_ref()
            .map(|flock| flock.columns.iter().flatten().map(|value| value.to_bits()).collect::<Vec<u64>>());
        assert_eq!(narrow, wide);
    }
    assert!(flocks[0].columns.iter().flatten().all(|value| value.is_finite()));
}
