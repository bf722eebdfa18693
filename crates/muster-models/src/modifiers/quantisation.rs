//! Quantisation: numbers are rounded to levels, either multiples of a step or the 2ⁿ levels of an n-bit converter over
//! a range, ends included, to which they are limited.

use super::{check_fields, chosen, for_each_field};
use muster_core::component::{Kind, Modifier, Sample};
use muster_core::lanes::Quantity;
use muster_core::math;
use muster_core::node::{Node, Problems};
use muster_core::spec;
use muster_core::spec::Spec;
use std::sync::Arc;

spec! {
    /// Quantisation.
    pub struct Quantisation {
        /// Distance of two levels, in the unit of the fields; or use `bits`.
        step: Option<f64>, in 1e-300..=1e300;
        /// Bits of a converter from `min` to `max`.
        bits: Option<u32>, in 1..=48;
        /// Lowest level of the converter.
        min: Option<f64>;
        /// Highest level of the converter.
        max: Option<f64>;
        /// To which fields it applies; all measurements if none is named.
        fields: Vec<String> = Vec::new();
    }
}

/// Quantisation.
pub const KIND: Kind<dyn Modifier> = Kind {
    name: "quantisation",
    doc: "Numbers are rounded to multiples of a step, or to the levels of a converter with so many bits over a range.",
    fields: Quantisation::FIELDS,
    build: &build,
};

/// Makes one if it says what the levels are.
fn build(node: &Node, path: &str, also_valid: &[&str], problems: &mut Problems) -> Option<Arc<dyn Modifier>> {
    let spec = <Quantisation as Spec>::read(node, path, also_valid, problems)?;
    match spec.levels() {
        Some(levels) => Some(Arc::new(Quantise { levels, fields: spec.fields })),
        None => {
            problems.error(node.place, path, node.found(), "either step, or bits with min below max");
            None
        }
    }
}

/// Where the levels are.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Levels {
    step: f64,
    min: f64,
    max: f64,
    /// A level.
    zero: f64,
}

impl Quantisation {
    fn levels(&self) -> Option<Levels> {
        match (self.step, self.bits, self.min, self.max) {
            (Some(step), None, None, None) => {
                Some(Levels { step, min: f64::NEG_INFINITY, max: f64::INFINITY, zero: 0.0 })
            }
            (None, Some(bits), Some(min), Some(max)) if min < max => {
                Some(Levels { step: (max - min) / ((1_u64 << bits) - 1) as f64, min, max, zero: min })
            }
            _ => None,
        }
    }
}

/// Rounds fields to levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantise {
    levels: Levels,
    fields: Vec<String>,
}

impl Modifier for Quantise {
    fn check(&self, fields: &[Quantity]) -> Result<(), String> {
        check_fields(&self.fields, fields)
    }

    fn modify(&self, sample: &mut Sample<'_>) -> bool {
        let Levels { step, min, max, zero } = self.levels;
        for_each_field(sample.values, sample.fields, |field, numbers| {
            if chosen(&self.fields, field) {
                for number in numbers {
                    let level = zero + math::round_nearest((*number - zero) / step) * step;
                    *number = math::clamp(level, min, max);
                }
            }
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;
    use muster_core::node::Value;

    fn made(pairs: &[(&str, Value)]) -> Option<Arc<dyn Modifier>> {
        let mut node = Node::default();
        pairs.iter().for_each(|(key, value)| node.set(key, Node::of(value.clone())));
        build(&node, "", &[], &mut Problems::default())
    }

    fn rounded(pairs: &[(&str, Value)], values: &[f64]) -> Vec<f64> {
        let modifier = made(pairs).expect("valid");
        run(&[&*modifier], &[Quantity::many("range_m", values.len())], values, 1).remove(0)
    }

    #[test]
    fn a_step_rounds_to_its_multiples() {
        let step = [("step", Value::Number(0.5))];
        assert_eq!(rounded(&step, &[0.2, 0.3, -1.9, 7.26]), [0.0, 0.5, -2.0, 7.5]);
    }

    #[test]
    fn bits_divide_a_range_and_limit_to_it() {
        let bits = [("bits", Value::Integer(2)), ("min", Value::Integer(-1)), ("max", Value::Integer(2))];
        assert_eq!(rounded(&bits, &[-9.0, -0.6, -0.2, 0.9, 1.6, 9.0]), [-1.0, -1.0, 0.0, 1.0, 2.0, 2.0]);
    }

    #[test]
    fn ten_bits_over_two_g_have_1024_levels_and_clip() {
        const G_MPS2: f64 = 9.806_65;
        let (min, max) = (Value::Number(-2.0 * G_MPS2), Value::Number(2.0 * G_MPS2));
        let converter = [("bits", Value::Integer(10)), ("min", min), ("max", max)];
        // from −3 g to 3 g, evenly
        let sweep: Vec<f64> = (0..=60_000).map(|step| (f64::from(step) / 10_000.0 - 3.0) * G_MPS2).collect();
        let mut levels = rounded(&converter, &sweep);
        let half_step = 0.5 * 4.0 * G_MPS2 / 1023.0;
        for (level, value) in levels.iter().zip(&sweep).filter(|(_, value)| value.abs() <= 2.0 * G_MPS2) {
            assert!((level - value).abs() <= half_step + 1e-12, "{value} became {level}");
        }
        levels.dedup();
        assert_eq!(levels.len(), 1024);
        assert_eq!((levels[0], levels[1023]), (-2.0 * G_MPS2, 2.0 * G_MPS2));
    }

    #[test]
    fn a_specification_without_levels_is_refused() {
        let (step, bits) = (("step", Value::Number(0.5)), ("bits", Value::Integer(2)));
        let (min, max) = (("min", Value::Integer(1)), ("max", Value::Integer(0)));
        assert!(made(&[]).is_none());
        assert!(made(&[step, bits.clone()]).is_none());
        assert!(made(std::slice::from_ref(&bits)).is_none());
        assert!(made(&[bits, min, max]).is_none());
    }
}
