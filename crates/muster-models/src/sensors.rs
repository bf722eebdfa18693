//! What robots measure: one file for each kind, and the table of them all.
//!
//! Every sensor gives perfect data until noise is asked for, either by fields of its own where the error belongs to
//! the way it works (the random walk of a bias, the drift of a barometer) or by [modifiers](crate::modifiers). Units
//! and frames follow REP-103: SI, world east-north-up, body x forward, y left, z up.
//!
//! Random numbers come from the sensor's stream at the number of the sample, so they do not depend on what else runs.

pub mod imu;
#[cfg(test)]
mod testing;
pub mod truth;

use muster_core::component::{Kind, Sensor};
use muster_core::node::{Node, Problems};
use muster_core::random::Stream;
use muster_core::spec::Spec;
use std::sync::Arc;

/// Every built-in sensor. Adding one is a file and a row.
pub const SENSORS: &[Kind<dyn Sensor>] = &[imu::KIND, truth::KIND];

/// Makes a sensor whose specification is all there is to it.
fn build<S: Spec + Sensor + 'static>(
    node: &Node,
    path: &str,
    also_valid: &[&str],
    problems: &mut Problems,
) -> Option<Arc<dyn Sensor>> {
    let sensor = <S as Spec>::read(node, path, also_valid, problems)?;
    Some(Arc::new(sensor))
}

/// The numbers of the stream with this key, for sensors that draw robot by robot.
#[inline(always)]
fn stream(key: u64) -> Stream {
    Stream::new(key, 0)
}
