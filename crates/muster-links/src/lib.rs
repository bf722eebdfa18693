//! How robots speak to programs outside.

pub mod scip;
