//! The built-in components: how robots move, who drives them, what they measure, what happens to their measurements and
//! how the air moves; and what can be asked of robots. One file for each kind and one table for each sort; they use nothing
//! that components of others could not use as well.
#![forbid(unsafe_code)]

pub mod actuators;
pub mod drivers;
pub mod modifiers;
pub mod motions;
pub mod sensors;
pub mod services;
pub mod winds;

use muster_core::component::Registry;

/// Every built-in component; links come from elsewhere.
pub const REGISTRY: Registry = Registry {
    motions: motions::MOTIONS,
    drivers: drivers::DRIVERS,
    sensors: sensors::SENSORS,
    modifiers: modifiers::MODIFIERS,
    winds: winds::WINDS,
    services: services::SERVICES,
    actuators: actuators::ACTUATORS,
    links: &[],
    extensions: &[],
    plugins: None,
};
