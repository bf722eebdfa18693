//! Random walk: drives on at a constant speed and turns to a new random rate now and then. Robots that stand against a
//! wall or each other turn away sooner or later, since every choice is fresh.

use muster_core::component::{Control, Driver, Kind, Pose};
use muster_core::lanes::{Quantity, setpoint};
use muster_core::random::Stream;
use muster_core::spec;
use muster_core::spec::Spec;
use std::sync::Arc;

spec! {
    /// Parameters of a random walk.
    pub struct RandomWalkSpec {
        /// Speed forward.
        speed_mps: f64 = 0.5, in 0.0..=1000.0;
        /// Largest turn rate.
        turn_max_radps: f64 = 1.0, in 0.0..=100.0;
        /// Mean time between two choices.
        hold_s: f64 = 2.0, in 0.001..=1000000;
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "random_walk",
    doc: "Drives on at a constant speed and turns to a new random rate now and then.",
    fields: RandomWalkSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <RandomWalkSpec as Spec>::read(node, path, also, problems)?;
        Some(Arc::new(RandomWalk { spec }))
    },
};

struct RandomWalk {
    spec: RandomWalkSpec,
}

const TURN_RATE: usize = 0;

impl Driver for RandomWalk {
    fn state(&self) -> &'static [Quantity] {
        const { &[Quantity::one("turn_rate_radps")] }
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, _: Pose) {
        control.state[TURN_RATE][lane] = 0.0;
    }

    fn control(&self, control: &mut Control<'_>) {
        let change = control.period_s / self.spec.hold_s;
        while let Some(lane) = control.next_lane() {
            let [chance, turn, ..] = Stream::from_key(control.streams[lane]).uniforms(control.index, 0);
            if chance < change || control.index == 0 {
                control.state[TURN_RATE][lane] = (2.0 * turn - 1.0) * self.spec.turn_max_radps;
            }
            let turn_rate = control.state[TURN_RATE][lane];
            control.command(lane, setpoint::VELOCITY, [self.spec.speed_mps, 0.0, 0.0, turn_rate]);
        }
    }
}
