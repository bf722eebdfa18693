//! Guidance of what hangs under one thrust: from setpoints of velocity, position and course to the specific force that
//! leads there, within limits of tilt and lift, and to a turn rate.
//!
//! ```text
//! v* = k_p (p* − p), limited                 position setpoints; velocity setpoints begin here
//! a  = k_v (v* − v) + b,   ḃ = k_i (v* − v)  b: against wind and errors of the model; held while a is limited
//! f  = a + g ẑ                               limited in tilt, the thrust's axis lies along it
//! ```

use super::heading::Heading;
use glam::{DQuat, DVec3};
use muster_core::lanes::setpoint;
use muster_core::math;

/// The gravity guidance reckons with; the integral makes up for another.
pub(super) const GRAVITY_MPS2: f64 = 9.80665;

/// The vertical specific force is held above this share of gravity, so that there is always thrust to tilt.
pub(super) const LIFT_MIN: f64 = 0.3 * GRAVITY_MPS2;

/// Gains and limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Guidance {
    pub(super) position_gain: f64,
    pub(super) velocity_gain: f64,
    /// Gain times period.
    pub(super) integral_step: f64,
    pub(super) integral_max: f64,
    pub(super) heading_gain: f64,
    pub(super) speed_max: f64,
    pub(super) climb_max: f64,
    pub(super) tilt_max_tan: f64,
    /// At least [`LIFT_MIN`].
    pub(super) lift_max: f64,
}

/// Where a vehicle is and how it moves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fix {
    pub(super) position: DVec3,
    pub(super) velocity: DVec3,
    pub(super) heading: Heading,
}

/// What leads to the setpoint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lead {
    /// Specific force in the world.
    pub(super) force: DVec3,
    pub(super) turn_rate: f64,
    /// The integral after this call.
    pub(super) integral: DVec3,
}

impl Guidance {
    /// What leads from a fix to the setpoint, given the integral so far.
    #[inline(always)]
    pub(super) fn lead(self, mode: f64, setpoint: [f64; 4], fix: &Fix, summed: DVec3) -> Lead {
        let (aim, turn_rate) = self.wanted(mode, setpoint, fix.position, fix.heading);
        let error = aim - fix.velocity;
        let acceleration = self.velocity_gain * error + summed;
        let force = self.within_tilt(acceleration + DVec3::new(0.0, 0.0, GRAVITY_MPS2));
        // what is limited does not answer, so its error must not be summed up
        let level_free = (force.x == acceleration.x) & (force.y == acceleration.y);
        let lift_free = force.z == acceleration.z + GRAVITY_MPS2;
        let level_step = if level_free { self.integral_step } else { 0.0 };
        let lift_step = if lift_free { self.integral_step } else { 0.0 };
        let limit = |value: f64| math::clamp(value, -self.integral_max, self.integral_max);
        let integral = DVec3::new(
            limit(summed.x + level_step * error.x),
            limit(summed.y + level_step * error.y),
            limit(summed.z + lift_step * error.z),
        );
        Lead { force, turn_rate, integral }
    }

    /// The velocity in the world and the turn rate that a setpoint asks for.
    #[inline(always)]
    fn wanted(self, mode: f64, [a, b, c, d]: [f64; 4], position: DVec3, heading: Heading) -> (DVec3, f64) {
        // all three in every lane, then a choice
        let (at_position, on_course) = (mode == setpoint::POSITION, mode == setpoint::COURSE);
        let direction = math::sin_cos(if on_course { a } else { d });
        let turn = self.heading_gain * heading.turn_to(direction);
        let turn_rate = if at_position | on_course { turn } else { d };
        let there = self.position_gain * (DVec3::new(a, b, c) - position);
        let climb = self.position_gain * (b - position.z);
        let along = DVec3::new(c * direction.1, c * direction.0, climb);
        let moving = heading.in_world(DVec3::new(a, b, c));
        let velocity = if on_course { along } else { moving };
        let velocity = if at_position { there } else { velocity };
        let speed = math::hypot2(velocity.x, velocity.y);
        let share = if speed > self.speed_max { self.speed_max / speed } else { 1.0 };
        let climb = math::clamp(velocity.z, -self.climb_max, self.climb_max);
        (DVec3::new(share * velocity.x, share * velocity.y, climb), turn_rate)
    }

    /// The nearest specific force that the rotors can give and whose tilt is allowed; height comes first.
    #[inline(always)]
    fn within_tilt(self, force: DVec3) -> DVec3 {
        let lift = math::clamp(force.z, LIFT_MIN, self.lift_max);
        let (side, side_max) = (math::hypot2(force.x, force.y), lift * self.tilt_max_tan);
        let share = if side > side_max { side_max / side } else { 1.0 };
        DVec3::new(share * force.x, share * force.y, lift)
    }
}

/// Roll and pitch of the attitude whose z axis lies along a vector of the world.
#[inline(always)]
pub(super) fn tilt_along(vector: DVec3, heading: Heading) -> [f64; 2] {
    let DVec3 { x: forward, y: left, z: lift } = heading.of_world(vector);
    [-math::atan2(left, math::hypot2(forward, lift)), math::atan2(forward, lift)]
}

/// The body's z axis in the world.
#[inline(always)]
pub(super) fn up(orientation: DQuat) -> DVec3 {
    math::rotate(orientation, DVec3::Z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tilt_along_the_own_axis_is_roll_and_pitch() {
        let q = math::quat_from_rpy(0.3, -0.2, 2.0);
        let [roll, pitch] = tilt_along(up(q), Heading::of(q));
        assert!((roll - 0.3).abs() < 1e-14 && (pitch + 0.2).abs() < 1e-14, "{roll} {pitch}");
    }
}
