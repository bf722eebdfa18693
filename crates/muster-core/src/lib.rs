//! The hub of muster: model, state, time, schedule, the walk of a window, traits and mathematics.
//!
//! It does no I/O, reads no wall clock, owns no thread and no global, and has no unsafe code: threads and time come in
//! through the traits of [`exec`], components through those of [`component`].
#![forbid(unsafe_code)]

pub mod actuator;
pub mod board;
mod chunk;
pub mod colour;
pub mod command;
pub mod component;
pub mod contact;
mod couple;
pub mod daylight;
pub mod event;
pub mod exec;
pub mod expression;
pub mod geodesy;
pub mod grid;
pub mod hash;
pub mod joints;
pub mod lanes;
pub mod link;
pub mod look;
pub mod material;
pub mod math;
pub mod model;
pub mod node;
pub mod obstacles;
pub mod property;
pub mod random;
pub mod ray;
pub mod render;
mod roster;
pub mod service;
pub mod shape;
pub mod simd;
pub mod skin;
pub mod snapshot;
pub mod spec;
pub mod state;
pub mod time;
pub mod tree;
pub mod world;
pub mod zone;

pub use chunk::{ContactEvent, Fault};
