//! The hub of muster: model, state, time, schedule, the walk of a window, traits and mathematics.
//!
//! It does no I/O, reads no wall clock, owns no thread and no global, and has no unsafe code: threads and time come in
//! through the traits of [`exec`], components through those of [`component`].
#![forbid(unsafe_code)]

pub mod board;
mod chunk;
pub mod component;
pub mod contact;
pub mod exec;
pub mod grid;
pub mod lanes;
pub mod math;
pub mod random;
pub mod simd;
pub mod snapshot;
pub mod spec;
pub mod time;
