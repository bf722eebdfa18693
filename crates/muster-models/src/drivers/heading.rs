//! The frame of a robot's heading: x where the nose points over ground, y left, z up. Setpoints of velocity are in it.

use glam::{DQuat, DVec3};
use muster_core::math;

/// Where the nose points, over ground.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heading {
    sin: f64,
    cos: f64,
}

impl Heading {
    #[inline(always)]
    pub(super) fn of(orientation: DQuat) -> Self {
        let DQuat { x, y, z, w } = orientation;
        let (along, across) = (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z));
        let length = math::hypot2(along, across);
        // a nose straight up or down has no heading; east is as good as any
        if length > 1e-9 { Self { sin: across / length, cos: along / length } } else { Self { sin: 0.0, cos: 1.0 } }
    }

    /// The turn from here to a heading given by its sine and cosine, within ±π.
    #[inline(always)]
    pub(super) fn turn_to(self, (sin, cos): (f64, f64)) -> f64 {
        math::atan2(self.cos * sin - self.sin * cos, self.cos * cos + self.sin * sin)
    }

    /// A vector of this frame in the world.
    #[inline(always)]
    pub(super) fn in_world(self, v: DVec3) -> DVec3 {
        DVec3::new(self.cos * v.x - self.sin * v.y, self.sin * v.x + self.cos * v.y, v.z)
    }

    /// A vector of the world in this frame.
    #[inline(always)]
    pub(super) fn of_world(self, v: DVec3) -> DVec3 {
        DVec3::new(self.cos * v.x + self.sin * v.y, self.cos * v.y - self.sin * v.x, v.z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heading_of_a_tilted_body_is_its_yaw() {
        for (roll, pitch, yaw) in [(0.0, 0.0, 2.0), (0.5, -0.4, -1.0), (-0.9, 0.7, 3.0)] {
            let heading = Heading::of(math::quat_from_rpy(roll, pitch, yaw));
            let forward = heading.in_world(DVec3::X);
            assert!((forward - DVec3::new(math::cos(yaw), math::sin(yaw), 0.0)).length() < 1e-12, "{forward}");
            let v = DVec3::new(1.0, -2.0, 3.0);
            assert!((heading.of_world(heading.in_world(v)) - v).length() < 1e-12);
            assert!((heading.turn_to(math::sin_cos(yaw + 0.3)) - 0.3).abs() < 1e-12);
        }
    }
}
