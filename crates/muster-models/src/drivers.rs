//! Drivers: who decides what a robot does. Adding one is a file and a row.
//!
//! A driver reads sensors and writes a setpoint, the command interface that does not change with a robot's level of
//! detail; a controller turns setpoints into the inputs of one motion. Both are drivers, called in that order.

mod as_motion;
pub mod automatic_door;
pub mod autopilot;
pub mod balance;
pub mod flight_control;
pub mod follow;
pub mod formation;
pub mod gait;
pub mod goto;
mod guidance;
mod heading;
pub mod helicopter_control;
pub mod joint_script;
pub mod keyboard;
mod lqr;
pub mod marine_control;
mod pilot;
pub mod random_walk;
pub mod waypoints;

use muster_core::component::{Driver, Kind};

/// Every built-in driver.
pub const DRIVERS: &[Kind<dyn Driver>] = &[
    automatic_door::KIND,
    autopilot::KIND,
    balance::KIND,
    flight_control::KIND,
    follow::KIND,
    formation::KIND,
    gait::KIND,
    goto::KIND,
    helicopter_control::KIND,
    joint_script::KIND,
    keyboard::KIND,
    marine_control::KIND,
    random_walk::KIND,
    waypoints::KIND,
];

/// What the integer `status` of a driver means.
pub mod status {
    /// On the way.
    pub const TRANSIT: i64 = 0;
    /// At the last place.
    pub const ARRIVED: i64 = 1;
    /// Told to stop.
    pub const STOPPED: i64 = 2;
    /// Put aside: somebody else commands the robot.
    pub const PREEMPTED: i64 = 3;

    /// Their names.
    pub const NAMES: [&str; 4] = ["transit", "arrived", "stopped", "preempted"];
}
