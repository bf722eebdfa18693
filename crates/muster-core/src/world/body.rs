//! A robot's body as it is, for those outside who look between two windows.

use super::World;
use crate::chunk::Chunk;
use crate::component::Pose;
use crate::lanes::body;
use glam::DVec3;

/// The columns of one robot.
#[derive(Clone, Copy)]
pub struct BodyView<'w> {
    chunk: &'w Chunk,
    lane: usize,
}

impl World {
    /// The body of the robot of this roster number.
    pub fn body(&self, number: u32) -> Option<BodyView<'_>> {
        self.state.place_of(number).map(|(chunk, lane)| BodyView { chunk, lane })
    }
}

impl BodyView<'_> {
    /// Where it is.
    pub fn pose(&self) -> Pose {
        Pose {
            position_m: body::vec3(&self.chunk.real, body::POSITION, self.lane),
            orientation: body::orientation(&self.chunk.real, self.lane),
        }
    }

    /// Velocity in the world frame, m/s.
    pub fn velocity_mps(&self) -> DVec3 {
        body::vec3(&self.chunk.real, body::VELOCITY, self.lane)
    }

    /// Angular velocity in the body frame, rad/s.
    pub fn angular_velocity_radps(&self) -> DVec3 {
        body::vec3(&self.chunk.real, body::ANGULAR_VELOCITY, self.lane)
    }

    /// The mode of the setpoint, and its four numbers, see [`crate::lanes::setpoint`].
    pub fn setpoint(&self) -> [f64; 5] {
        std::array::from_fn(|at| self.chunk.real[body::SETPOINT_MODE + at][self.lane])
    }

    /// Positions of its joints in their order, rad or m.
    pub fn joints(&self) -> impl Iterator<Item = f64> {
        let at = self.chunk.cohort.layout.joints;
        self.chunk.real[at.positions()..at.positions() + at.count].iter().map(|column| column[self.lane])
    }
}
