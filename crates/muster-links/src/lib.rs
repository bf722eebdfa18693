//! Links to other software: one folder a protocol. Codecs are pure functions over bytes.

#![forbid(unsafe_code)]

pub mod delivery;
pub mod record;
pub mod ros;
