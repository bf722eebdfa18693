//! The hub of muster: model, state, time, schedule, the walk of a window, traits and mathematics.

pub mod exec;
pub mod expression;
pub mod node;
