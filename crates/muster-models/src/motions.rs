//! How robots move. Each motion is one plain loop over the lanes of a chunk, compiled for the registers of the machine
//! with the same bits on all of them.

use muster_core::component::{Kind, Motion};

pub mod ackermann;
pub mod biped_kinematic;
pub mod differential;
pub mod fixed_wing;
pub mod fixture;
pub mod helicopter;
pub mod marine;
pub mod omnidirectional;
mod planar;
pub mod point;
pub mod quadrotor;
mod rigid;
pub mod segway;
pub mod single_body;
#[cfg(test)]
mod testing;
pub mod tracked;

/// Every built-in motion.
pub const MOTIONS: &[Kind<dyn Motion>] = &[
    quadrotor::KIND,
    fixed_wing::KIND,
    helicopter::KIND,
    marine::KIND,
    differential::KIND,
    ackermann::KIND,
    tracked::KIND,
    omnidirectional::KIND,
    segway::KIND,
    single_body::KIND,
    biped_kinematic::KIND,
    fixture::KIND,
    point::KIND,
];
