//! Delay: samples become visible later than they were measured. Their stamps stay those of the measurement.

use super::build;
use muster_core::component::{Kind, Modifier, Sample};
use muster_core::spec;
use muster_core::spec::Spec;
use muster_core::time::SimTime;

spec! {
    /// Delay.
    pub struct Delay {
        /// How much later samples become visible.
        delay_ms: f64 = 0.0, in 0.0..=1e7;
    }
}

/// Delay.
pub const KIND: Kind<dyn Modifier> = Kind {
    name: "delay",
    doc: "Samples become visible later than they were measured.",
    fields: Delay::FIELDS,
    build: &build::<Delay>,
};

impl Modifier for Delay {
    fn delay(&self) -> SimTime {
        SimTime::from_s(self.delay_ms * 1e-3)
    }

    fn modify(&self, _: &mut Sample<'_>) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_whole_nanoseconds() {
        assert_eq!(Delay { delay_ms: 20.0 }.delay(), SimTime::from_ns(20_000_000));
        assert_eq!(Delay { delay_ms: 0.1 }.delay(), SimTime::from_ns(100_000));
    }
}
