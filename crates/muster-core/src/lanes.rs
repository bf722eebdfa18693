//! Lanes and columns: how the state of robots of one blueprint is stored.
//!
//! Up to [`LANES`] robots share a chunk; each quantity of theirs is a [`Column`] with one number a robot. A motion
//! kernel is a plain loop over the lanes of a column block, which the compiler turns into SIMD. The first columns of
//! every robot are the same ([`body`]), so sensors, contacts and snapshots need not know the motion.

/// Robots in a chunk. A scheduling choice: results do not depend on it.
pub const LANES: usize = 16;

/// Lanes are computed in steps of this many, so that no SIMD register is left half empty; surplus lanes are benign.
pub const LANE_STEP: usize = 4;

/// One quantity of all robots of a chunk.
pub type Column = [f64; LANES];

/// One integer of all robots of a chunk.
pub type IntColumn = [i64; LANES];

/// A named quantity that takes `len` columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    /// Its name, with the unit.
    pub name: &'static str,
    /// How many numbers it has.
    pub len: usize,
}

impl Quantity {
    /// A quantity of one number.
    pub const fn one(name: &'static str) -> Self {
        Self { name, len: 1 }
    }

    /// A quantity of several numbers.
    pub const fn many(name: &'static str, len: usize) -> Self {
        Self { name, len }
    }

    /// How many columns these quantities take together.
    pub fn total(quantities: &[Self]) -> usize {
        quantities.iter().map(|quantity| quantity.len).sum()
    }
}

/// The columns every robot has, whatever its motion. World frame is ENU; the body frame has x forward, y left, z up.
pub mod body {
    use super::{Column, Quantity};
    use glam::{DQuat, DVec3};

    /// Position of the body in the world, m.
    pub const POSITION: usize = 0;
    /// Orientation `world_from_body` as x, y, z, w.
    pub const ORIENTATION: usize = 3;
    /// Velocity in the world frame, m/s.
    pub const VELOCITY: usize = 7;
    /// Angular velocity in the body frame, rad/s.
    pub const ANGULAR_VELOCITY: usize = 10;
    /// Mean acceleration over the last tick in the world frame, contacts included, m/s².
    pub const ACCELERATION: usize = 13;
    /// Velocity of the air at the robot in the world frame, m/s.
    pub const WIND: usize = 16;
    /// Displacement that others' contacts ask for, taken at the next tick, m.
    pub const PUSH: usize = 19;
    /// Change of velocity that others' contacts ask for, taken at the next tick, m/s.
    pub const KICK: usize = 22;
    /// What kind of setpoint stands in [`SETPOINT`], see [`super::setpoint`].
    pub const SETPOINT_MODE: usize = 25;
    /// The setpoint: four numbers whose meaning the mode tells.
    pub const SETPOINT: usize = 26;
    /// How many columns these are.
    pub const COLUMNS: usize = 30;

    /// Their names.
    pub const QUANTITIES: &[Quantity] = &[
        Quantity::many("position_m", 3),
        Quantity::many("orientation", 4),
        Quantity::many("velocity_mps", 3),
        Quantity::many("angular_velocity_radps", 3),
        Quantity::many("acceleration_mps2", 3),
        Quantity::many("wind_mps", 3),
        Quantity::many("contact_push_m", 3),
        Quantity::many("contact_kick_mps", 3),
        Quantity::one("setpoint_mode"),
        Quantity::many("setpoint", 4),
    ];

    /// Three columns of one lane as a vector.
    #[inline(always)]
    pub fn vec3(columns: &[Column], first: usize, lane: usize) -> DVec3 {
        DVec3::new(columns[first][lane], columns[first + 1][lane], columns[first + 2][lane])
    }

    /// Sets three columns of one lane.
    #[inline(always)]
    pub fn set_vec3(columns: &mut [Column], first: usize, lane: usize, value: DVec3) {
        columns[first][lane] = value.x;
        columns[first + 1][lane] = value.y;
        columns[first + 2][lane] = value.z;
    }

    /// The orientation of one lane.
    #[inline(always)]
    pub fn orientation(columns: &[Column], lane: usize) -> DQuat {
        DQuat::from_xyzw(
            columns[ORIENTATION][lane],
            columns[ORIENTATION + 1][lane],
            columns[ORIENTATION + 2][lane],
            columns[ORIENTATION + 3][lane],
        )
    }

    /// Sets the orientation of one lane.
    #[inline(always)]
    pub fn set_orientation(columns: &mut [Column], lane: usize, value: DQuat) {
        columns[ORIENTATION][lane] = value.x;
        columns[ORIENTATION + 1][lane] = value.y;
        columns[ORIENTATION + 2][lane] = value.z;
        columns[ORIENTATION + 3][lane] = value.w;
    }
}

/// The modes of a setpoint: the command interface that does not change with a robot's level of detail.
pub mod setpoint {
    /// Nothing is commanded: a robot stands, or falls.
    pub const NONE: f64 = 0.0;
    /// Velocity forward, left and up in m/s in the frame of the robot's heading, and turn rate in rad/s.
    pub const VELOCITY: f64 = 1.0;
    /// Position x, y, z in m in the world, and heading in rad.
    pub const POSITION: f64 = 2.0;
    /// Course in rad, altitude in m, airspeed in m/s, and nothing.
    pub const COURSE: f64 = 3.0;
    /// The robot's inputs are commanded directly.
    pub const DIRECT: f64 = 4.0;
    /// Roll and pitch in rad, turn rate in rad/s, and thrust in N.
    pub const ATTITUDE: f64 = 5.0;

    /// Their names, in the order of the numbers.
    pub const NAMES: [&str; 6] = ["none", "velocity", "position", "course", "direct", "attitude"];
}
