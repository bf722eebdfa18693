//! What happens to measurements between sensor and software: one file for each kind, and the table of them all.
//!
//! Modifiers act in the order written, so noise before saturation stays within the range and noise after it does not.
//! With none, samples arrive as the sensor made them. Random numbers come from the modifier's own stream at the number
//! of the sample.
//!
//! A modifier that changes units or coordinates renames the fields it changes (`position_m` becomes `utm_m`, `altitude_m`
//! becomes `altitude_ft`): under the new names they are read by path, listened to and modified further. One that turns
//! axes does not, as names do not tell axes. Drivers of the robot read the numbers of a sample by their places and know
//! nothing of names; what a driver reads should stay as the sensor made it, but for errors.

pub mod delay;
pub mod dropout;
pub mod ecef;
pub mod expression;
pub mod feet;
pub mod gaussian_noise;
pub mod geodetic;
pub mod ned;
mod place;
pub mod quantisation;
pub mod saturation;
pub mod utm;

use muster_core::component::{Kind, Modifier};
use muster_core::lanes::Quantity;
use muster_core::node::{Node, Problems};
use muster_core::random::Stream;
use muster_core::spec::Spec;
use std::sync::Arc;

/// Every built-in modifier. Adding one is a file and a row.
pub const MODIFIERS: &[Kind<dyn Modifier>] = &[
    delay::KIND,
    dropout::KIND,
    ecef::KIND,
    expression::KIND,
    feet::KIND,
    gaussian_noise::KIND,
    geodetic::KIND,
    ned::KIND,
    quantisation::KIND,
    saturation::KIND,
    utm::KIND,
];

/// The field that is a quaternion: not four numbers of their own.
const ORIENTATION: &str = "orientation";

/// Fields that are names, not measurements.
const LABELS: [&str; 2] = ["id", "kind"];

/// Makes a modifier whose specification is all there is to it.
fn build<M: Spec + Modifier + 'static>(
    node: &Node,
    path: &str,
    also_valid: &[&str],
    problems: &mut Problems,
) -> Option<Arc<dyn Modifier>> {
    let modifier = <M as Spec>::read(node, path, also_valid, problems)?;
    Some(Arc::new(modifier))
}

/// The numbers of the stream with this key.
fn stream(key: u64) -> Stream {
    Stream::new(key, 0)
}

/// Whether a field is among those named; with none named, whether it is a measurement of plain numbers.
fn chosen(names: &[String], field: &Quantity) -> bool {
    match names {
        [] => field.name != ORIENTATION && !LABELS.contains(&field.name),
        names => names.iter().any(|name| name == field.name),
    }
}

/// Calls `change` with each field of a sample and its numbers, again for each thing a sensor of the world saw.
fn for_each_field(values: &mut [f64], fields: &[Quantity], mut change: impl FnMut(&Quantity, &mut [f64])) {
    let record = Quantity::total(fields).max(1);
    for record in values.chunks_exact_mut(record) {
        let mut rest = record;
        for field in fields {
            let (numbers, after) = rest.split_at_mut(field.len);
            change(field, numbers);
            rest = after;
        }
    }
}

/// That every field named exists among a sensor's.
fn check_fields(names: &[String], fields: &[Quantity]) -> Result<(), String> {
    match names.iter().find(|&name| fields.iter().all(|field| field.name != name)) {
        None => Ok(()),
        Some(unknown) => Err(format!("a field {unknown:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::gaussian_noise::GaussianNoise;
    use super::saturation::Saturation;
    use super::testing::{defaults, run};
    use super::*;

    #[test]
    fn the_order_of_modifiers_matters() {
        let noise = GaussianNoise { std: 1.0, ..defaults() };
        let limit = Saturation { max: Some(2.0), ..defaults() };
        let largest = |modifiers: &[&dyn Modifier]| {
            run(modifiers, &[Quantity::one("range_m")], &[3.0], 1000).into_iter().flatten().fold(0.0, f64::max)
        };
        assert_eq!(largest(&[&noise, &limit]), 2.0);
        assert!(largest(&[&limit, &noise]) > 3.0);
    }

    #[test]
    fn unknown_fields_are_told() {
        let fields = [Quantity::many("accel_mps2", 3), Quantity::one("time_s")];
        let names = |name: &str| vec![name.to_owned()];
        assert_eq!(check_fields(&names("time_s"), &fields), Ok(()));
        let problem = check_fields(&names("times_s"), &fields);
        assert_eq!(problem, Err("a field \"times_s\"".to_owned()));
    }
}

#[cfg(test)]
mod testing {
    use super::*;
    use crate::sensors::testing::environment;
    use muster_core::component::{Sample, Sensor};
    use muster_core::geodesy::Geodetic;
    use muster_core::model::Environment;
    use muster_core::time::SimTime;

    /// The specification with every field at its default.
    pub(super) fn defaults<S: Spec>() -> S {
        <S as Spec>::read(&Node::default(), "", &[], &mut Problems::default()).expect("every field has a default")
    }

    /// The sensor of a kind with every field at its default.
    pub(super) fn sensor(kind: &Kind<dyn Sensor>) -> Arc<dyn Sensor> {
        (kind.build)(&Node::default(), "", &[], &mut Problems::default()).expect("every field has a default")
    }

    /// A modifier and its memory.
    pub(super) struct Chain<'a> {
        modifier: &'a dyn Modifier,
        fields: &'a [Quantity],
        memory: Vec<f64>,
        environment: Environment,
        stream: u64,
    }

    impl<'a> Chain<'a> {
        pub(super) fn new(modifier: &'a dyn Modifier, fields: &'a [Quantity], stream: u64) -> Self {
            let memory = vec![0.0; modifier.memory(fields)];
            Self { modifier, fields, memory, environment: environment(), stream }
        }

        /// A sample after the modifier, unless it is lost.
        fn next(&mut self, measurement: &[f64], index: u64) -> Option<Vec<f64>> {
            let mut values = measurement.to_vec();
            let arrives = self.modifier.modify(&mut Sample {
                values: &mut values,
                fields: self.fields,
                memory: &mut self.memory,
                stream: self.stream,
                index,
                period_s: 0.01,
                stamp: SimTime::from_s(0.01 * index as f64),
                environment: &self.environment,
            });
            arrives.then_some(values)
        }

        /// The last of `count` samples of the same measurement.
        pub(super) fn run(&mut self, measurement: &[f64], count: u64) -> Vec<f64> {
            (0..count).filter_map(|index| self.next(measurement, index)).last().expect("a sample")
        }
    }

    /// One sample after a modifier in a world with this origin.
    pub(super) fn run_at(
        modifier: &dyn Modifier,
        origin: Geodetic,
        fields: &[Quantity],
        measurement: &[f64],
    ) -> Vec<f64> {
        let mut chain = Chain::new(modifier, fields, 5);
        chain.environment.origin = origin;
        chain.run(measurement, 1)
    }

    /// `count` samples of the same measurement after these modifiers; lost ones are left out.
    pub(super) fn run(
        modifiers: &[&dyn Modifier],
        fields: &[Quantity],
        measurement: &[f64],
        count: u64,
    ) -> Vec<Vec<f64>> {
        run_with_key(modifiers, fields, measurement, count, 5)
    }

    pub(super) fn run_with_key(
        modifiers: &[&dyn Modifier],
        fields: &[Quantity],
        measurement: &[f64],
        count: u64,
        key: u64,
    ) -> Vec<Vec<f64>> {
        let mut stages = vec![fields.to_vec()];
        for modifier in modifiers {
            stages.push(modifier.fields(stages.last().expect("the first")));
        }
        let stages = modifiers.iter().zip(&stages).enumerate();
        let mut chains: Vec<Chain<'_>> =
            stages.map(|(place, (modifier, fields))| Chain::new(*modifier, fields, key + place as u64)).collect();
        let mut through =
            |index: u64| chains.iter_mut().try_fold(measurement.to_vec(), |values, chain| chain.next(&values, index));
        (0..count).filter_map(&mut through).collect()
    }
}
