//! Saturation: numbers are limited to a range.

use super::{check_fields, chosen, for_each_field};
use muster_core::component::{Kind, Modifier, Sample};
use muster_core::lanes::Quantity;
use muster_core::math;
use muster_core::node::{Node, Problems};
use muster_core::spec;
use muster_core::spec::Spec;
use std::sync::Arc;

spec! {
    /// Saturation.
    pub struct Saturation {
        /// Smallest number of the fields chosen, in their own unit.
        min: Option<f64>;
        /// Largest number of the fields chosen, in their own unit.
        max: Option<f64>;
        /// To which fields `min` and `max` apply; all measurements if none is named.
        fields: Vec<String> = Vec::new();
        /// Largest magnitude of each axis of `accel_mps2`.
        accel_max_mps2: Option<f64>, in 0.0..=1e9;
        /// Largest magnitude of each axis of `angular_velocity_radps`.
        gyro_max_radps: Option<f64>, in 0.0..=1e9;
    }
}

/// Saturation.
pub const KIND: Kind<dyn Modifier> =
    Kind { name: "saturation", doc: "Numbers are limited to a range.", fields: Saturation::FIELDS, build: &build };

/// Makes one if its range is one.
fn build(node: &Node, path: &str, also_valid: &[&str], problems: &mut Problems) -> Option<Arc<dyn Modifier>> {
    let saturation = <Saturation as Spec>::read(node, path, also_valid, problems)?;
    match (saturation.min, saturation.max) {
        (Some(min), Some(max)) if min > max => {
            problems.error(node.place, path, format!("min {min} above max {max}"), "min not above max");
            None
        }
        _ => Some(Arc::new(saturation)),
    }
}

impl Saturation {
    fn range_of(&self, field: &Quantity) -> (f64, f64) {
        let own = match field.name {
            "accel_mps2" => self.accel_max_mps2,
            "angular_velocity_radps" => self.gyro_max_radps,
            _ => None,
        };
        let (low, high) = own.map_or((f64::NEG_INFINITY, f64::INFINITY), |limit| (-limit, limit));
        match chosen(&self.fields, field) {
            true => (low.max(self.min.unwrap_or(low)), high.min(self.max.unwrap_or(high))),
            false => (low, high),
        }
    }
}

impl Modifier for Saturation {
    fn check(&self, fields: &[Quantity]) -> Result<(), String> {
        check_fields(&self.fields, fields)?;
        let wanted = [(self.accel_max_mps2, "accel_mps2"), (self.gyro_max_radps, "angular_velocity_radps")];
        let names: Vec<String> =
            wanted.iter().filter(|(limit, _)| limit.is_some()).map(|(_, name)| (*name).to_owned()).collect();
        check_fields(&names, fields)
    }

    fn modify(&self, sample: &mut Sample<'_>) -> bool {
        for_each_field(sample.values, sample.fields, |field, numbers| {
            let (low, high) = self.range_of(field);
            for number in numbers {
                *number = math::clamp(*number, low, high);
            }
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{defaults, run};
    use super::*;
    use muster_core::node::Value;

    const IMU: &[Quantity] = crate::sensors::imu::FIELDS;

    #[test]
    fn numbers_beyond_the_range_become_its_ends() {
        let limit = |limit: Saturation| run(&[&limit], IMU, &[50.0, -60.0, 9.81, 3.0, -4.0, 0.5], 1)[0].clone();
        let accel = Saturation { accel_max_mps2: Some(40.0), ..defaults() };
        assert_eq!(limit(accel), [40.0, -40.0, 9.81, 3.0, -4.0, 0.5]);
        let all = Saturation { min: Some(-1.0), max: Some(2.0), ..defaults() };
        assert_eq!(limit(all), [2.0, -1.0, 2.0, 2.0, -1.0, 0.5]);
        let fields = vec!["angular_velocity_radps".to_owned()];
        let named = Saturation { max: Some(2.0), fields, ..defaults() };
        assert_eq!(limit(named), [50.0, -60.0, 9.81, 2.0, -4.0, 0.5]);
        assert_eq!(limit(defaults()), [50.0, -60.0, 9.81, 3.0, -4.0, 0.5]);
    }

    #[test]
    fn a_range_that_is_none_is_refused() {
        let mut node = Node::default();
        node.set("min", Node::of(Value::Integer(2)));
        node.set("max", Node::of(Value::Integer(1)));
        let mut problems = Problems::default();
        assert!(build(&node, "", &[], &mut problems).is_none());
        assert_eq!(problems.list()[0].to_string(), "found min 2 above max 1, expected min not above max");
    }

    #[test]
    fn a_limit_for_a_field_the_sensor_lacks_is_told() {
        let accel = Saturation { accel_max_mps2: Some(40.0), ..defaults() };
        assert_eq!(accel.check(IMU), Ok(()));
        assert!(accel.check(&[Quantity::one("range_m")]).is_err());
    }
}
