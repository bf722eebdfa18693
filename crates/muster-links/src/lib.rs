//! How robots speak to programs outside.

pub mod controller;
pub mod scip;
