//! Dropout: each sample is lost with a probability, independently of the others.

use super::{build, stream};
use muster_core::component::{Kind, Modifier, Sample};
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Dropout.
    pub struct Dropout {
        /// Probability that a sample is lost.
        probability: f64 = 0.0, in 0.0..=1.0;
    }
}

/// Dropout.
pub const KIND: Kind<dyn Modifier> = Kind {
    name: "dropout",
    doc: "Samples are lost with a probability.",
    fields: Dropout::FIELDS,
    build: &build::<Dropout>,
};

impl Modifier for Dropout {
    fn modify(&self, sample: &mut Sample<'_>) -> bool {
        stream(sample.stream).uniforms(sample.index, 0)[0] >= self.probability
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;
    use muster_core::lanes::Quantity;

    #[test]
    fn as_many_samples_are_lost_as_the_probability_says() {
        let arriving =
            |probability: f64| run(&[&Dropout { probability }], &[Quantity::one("range_m")], &[1.0], 10_000).len();
        assert_eq!(arriving(0.0), 10_000);
        assert_eq!(arriving(1.0), 0);
        // 3000 ± 4 standard deviations of 46
        assert!((2816..=3184).contains(&arriving(0.7)), "{}", arriving(0.7));
    }
}
