//! The built-in components of muster: how robots move and how the air does. Tables say what exists; a component is a
//! file and a row.
#![forbid(unsafe_code)]

pub mod motions;
pub mod winds;
