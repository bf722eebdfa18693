//! What a controller knows of the vehicle it controls: the parameters of its motion, written as they stand there.

use muster_core::node::{Node, Problems};
use muster_core::spec;
use muster_core::spec::{Parameter, Schema, Spec};

spec! {
    /// What a motion has beside the parameters of its kind.
    pub struct Ticks {
        /// Ticks a second; of no meaning to a controller.
        rate_hz: Option<f64>;
    }
}

/// The block of a motion. `kind` and `rate_hz` are passed over, so a robot's file can name its motion by an anchor and
/// refer to it: `motion: &vehicle {kind: marine, …}`, `controller: {vehicle: *vehicle}`.
#[derive(Debug, Clone, PartialEq)]
pub struct AsMotion<S>(pub S);

impl<S: Spec> AsMotion<S> {
    /// The vehicle that was written, else the one whose parameters are the motion's defaults.
    pub(super) fn or_default(written: Option<&Self>) -> Option<S>
    where
        S: Clone,
    {
        let usual = || <S as Spec>::read(&Node::default(), "", &[], &mut Problems::default());
        written.map(|block| block.0.clone()).or_else(usual)
    }
}

impl<S: Spec + Parameter> Parameter for AsMotion<S> {
    fn schema(min: f64, max: f64) -> Schema {
        let as_motion = Schema::KindOf { registry: "motions", common: <Ticks as Spec>::FIELDS };
        Schema::Either(vec![<S as Parameter>::schema(min, max), as_motion])
    }

    fn read(node: &Node, path: &str, _: (f64, f64), problems: &mut Problems) -> Option<Self> {
        <S as Spec>::read(node, path, &["kind", "rate_hz"], problems).map(Self)
    }

    fn show(&self) -> String {
        Parameter::show(&self.0)
    }
}
