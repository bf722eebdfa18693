//! SCIP 2.0, the protocol of Hokuyo's laser scanners, for any planar range sensor.

pub mod codec;
pub mod device;
pub mod identity;
