//! The built-in components: what robots measure and what happens to their measurements, one file for each kind and one
//! table for each sort. They use nothing that components of others could not use as well.

pub mod modifiers;
pub mod sensors;
