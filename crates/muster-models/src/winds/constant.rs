//! Air that moves everywhere and always the same, or not at all. It may not gust: it has no state, so the core sets
//! the wind columns once and never calls it again.

use glam::DVec3;
use muster_core::component::{Kind, Wind};
use muster_core::spec::Spec;
use std::sync::Arc;

muster_core::spec! {
    /// A constant wind.
    pub struct ConstantSpec {
        /// Velocity of the air in the world frame (east, north, up).
        mean_mps: [f64; 3] = [0.0; 3], in -100.0..=100.0;
    }
}

/// The row of this kind.
pub const KIND: Kind<dyn Wind> = Kind {
    name: "constant",
    doc: "The same wind everywhere and always.",
    fields: <ConstantSpec as Spec>::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <ConstantSpec as Spec>::read(node, path, also, problems)?;
        Some(Arc::new(Constant { mean_mps: spec.mean_mps.into() }))
    },
};

/// Air that moves everywhere the same.
#[derive(Debug, Clone, Copy)]
pub struct Constant {
    mean_mps: DVec3,
}

impl Constant {
    /// No wind.
    pub const CALM: Self = Self { mean_mps: DVec3::ZERO };

    /// This wind.
    pub fn new(mean_mps: DVec3) -> Self {
        Self { mean_mps }
    }
}

impl Wind for Constant {
    fn mean_mps(&self) -> DVec3 {
        self.mean_mps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_core::node::{Node, Problems};

    #[test]
    fn without_parameters_the_air_is_calm() {
        let mut problems = Problems::default();
        let wind = (KIND.build)(&Node::default(), "wind", &[], &mut problems).expect("defaults are valid");
        assert_eq!((wind.mean_mps(), wind.state().len()), (Constant::CALM.mean_mps(), 0));
    }
}
