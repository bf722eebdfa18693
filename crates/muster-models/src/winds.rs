//! How the air moves.

use muster_core::component::{Kind, Wind};

pub mod constant;
pub mod dryden;

/// Every built-in wind.
pub const WINDS: &[Kind<dyn Wind>] = &[constant::KIND, dryden::KIND];
