//! Bonds: one robot attached to another, as a load in a gripper or a trailer on a hitch. Solved together with contacts;
//! robots that are bonded do not touch each other otherwise.

use super::solver::Joined;
use crate::component::Pose;
use glam::{DQuat, DVec3};

/// How two robots are held together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bond {
    /// In place and direction.
    Weld,
    /// At a point in the frame of the robot that holds: both may turn about it, m.
    Hitch(DVec3),
}

/// A bond in its place: kept with the robot that is attached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tie {
    pub(crate) lane: u8,
    /// Roster number of the robot that holds.
    pub(crate) to: u32,
    /// Where they are held together, in the frame of the attached and of the one that holds, m.
    pub(crate) anchors: [DVec3; 2],
    /// `holder_from_attached`, if they do not turn against each other.
    pub(crate) turn: Option<DQuat>,
    /// Impulses at the last tick: three along the axes of the world, three about them, Ns and Nms.
    pub(crate) impulses: [f64; 6],
    /// Chunk and lane of the one that holds, among those that tick together.
    pub(crate) second: (u32, u8),
}

impl Tie {
    pub(crate) fn new(lane: u8, to: u32, bond: Bond, attached: &Pose, holder: &Pose) -> Self {
        let into = |pose: &Pose, point: DVec3| pose.orientation.inverse() * (point - pose.position_m);
        let (point, turn) = match bond {
            Bond::Weld => (attached.position_m, Some(holder.orientation.inverse() * attached.orientation)),
            Bond::Hitch(at_m) => (holder.position_m + holder.orientation * at_m, None),
        };
        Self {
            lane,
            to,
            anchors: [into(attached, point), into(holder, point)],
            turn,
            impulses: [0.0; 6],
            second: (0, 0),
        }
    }

    /// How far the anchors and directions of the two are apart: a vector in the world, and a small turn about the
    /// world's axes.
    pub(crate) fn joined(&self, attached: &Pose, holder: &Pose) -> Joined {
        let at = |pose: &Pose, anchor: DVec3| pose.position_m + pose.orientation * anchor;
        let points = [at(attached, self.anchors[0]), at(holder, self.anchors[1])];
        let turned = self.turn.map(|turn| {
            let off = attached.orientation * (holder.orientation * turn).inverse();
            let sign = 2.0_f64.copysign(off.w);
            DVec3::new(off.x, off.y, off.z) * sign
        });
        Joined { points, turned, impulses: self.impulses }
    }

    /// The numbers that make up its state, for the hash.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let turn = self.turn.map_or([0.0; 4], |turn| turn.to_array());
        self.anchors.iter().flat_map(|anchor| anchor.to_array()).chain(turn).chain(self.impulses)
    }
}
