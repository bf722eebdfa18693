//! How robots move. Each motion is one plain loop over the lanes of a chunk, compiled for the registers of the machine
//! with the same bits on all of them.

use muster_core::component::{Kind, Motion};

pub mod differential;
pub mod fixed_wing;
pub mod helicopter;
pub mod marine;
pub mod point;
pub mod quadrotor;
mod rigid;
#[cfg(test)]
mod testing;

/// Every built-in motion.
pub const MOTIONS: &[Kind<dyn Motion>] =
    &[quadrotor::KIND, fixed_wing::KIND, helicopter::KIND, marine::KIND, differential::KIND, point::KIND];
