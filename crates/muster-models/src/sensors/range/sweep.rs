//! Rays of a sweep that takes time: where the sensor was when each was due.
//!
//! A snapshot shows the world at one instant, and the sensor then. Inside the span around it the robot is taken to keep its
//! velocity and angular velocity as it feels them itself (a constant twist), so that a robot that drives and turns goes
//! along a circle: `x(t) = x + R J(ωt) v t` with `J(φ) = 1 + (1 − cos|φ|)/|φ|² [φ] + (|φ| − sin|φ|)/|φ|³ [φ]²` (R. M. Murray,
//! Z. Li, S. S. Sastry, *A Mathematical Introduction to Robotic Manipulation*, 1994, chapter 2).

use muster_core::component::Pose;
use muster_core::math;
use muster_core::snapshot::Seen;
use std::ops::Range;

/// Where a sensor with this mount is in the world, so much later (or, if negative, earlier) than the robot was seen.
pub fn pose_at(seen: &Seen, mount: &Pose, offset_s: f64) -> Pose {
    let turn = seen.angular_velocity_radps * offset_s;
    let angle = turn.length();
    let along = math::rotate_inverse(seen.orientation, seen.velocity_mps) * offset_s;
    // both have limits at 0, near which the quotients have no digits left
    let (once, twice) = if angle < 1e-4 {
        (0.5, 1.0 / 6.0)
    } else {
        let (sine, cosine) = math::sin_cos(angle);
        ((1.0 - cosine) / (angle * angle), (angle - sine) / (angle * angle * angle))
    };
    let across = turn.cross(along);
    let way = along + once * across + twice * turn.cross(across);
    let body = Pose {
        position_m: seen.position_m + math::rotate(seen.orientation, way),
        orientation: seen.orientation * math::quat_exp(turn),
    };
    body.then(mount)
}

/// When the columns of a scan are measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sweep {
    /// From the first column of a scan to the first of the next, if sweeps follow each other without pause.
    pub sweep_s: f64,
    /// How many columns there are.
    pub columns: usize,
}

/// Parts of a sweep last at most this long: the world moves on between them.
const SLICE_S: f64 = 0.005;

impl Sweep {
    /// How much earlier than the stamp of the scan a column is measured; the last at the stamp.
    pub fn offset_s(self, column: usize) -> f64 {
        -self.sweep_s * (self.columns - 1 - column) as f64 / self.columns as f64
    }

    /// In how many parts the sweep is cast.
    pub fn slices(self) -> usize {
        ((self.sweep_s / SLICE_S).ceil() as usize).clamp(1, self.columns)
    }

    /// The columns of a part.
    pub fn slice(self, slice: usize) -> Range<usize> {
        let from = |slice: usize| self.columns * slice / self.slices();
        from(slice)..from(slice + 1)
    }
}

/// What the columns of a part need: where the sensor is when each is due, if the robot is seen `seen_s` after (or, if
/// negative, before) the stamp of the scan.
pub fn poses<'a>(
    sweep: Sweep,
    slice: usize,
    (seen, seen_s): (&'a Seen, f64),
    mount: &'a Pose,
) -> impl Iterator<Item = (usize, Pose)> + 'a {
    sweep.slice(slice).map(move |column| (column, pose_at(seen, mount, sweep.offset_s(column) - seen_s)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{DQuat, DVec3};

    fn seen(yaw_rad: f64, speed_mps: f64, turn_radps: DVec3) -> Seen {
        let orientation = math::quat_from_yaw(yaw_rad);
        Seen {
            key: 0,
            robot: 0,
            position_m: DVec3::new(3.0, -2.0, 0.5),
            orientation,
            velocity_mps: orientation * DVec3::X * speed_mps,
            angular_velocity_radps: turn_radps,
            radius_m: 0.3,
        }
    }

    #[test]
    fn a_robot_that_drives_and_turns_comes_along_a_circle() {
        let (speed, turn) = (1.5, 0.8);
        let robot = seen(0.4, speed, DVec3::Z * turn);
        let radius = speed / turn;
        let centre = robot.position_m + DVec3::new(-(0.4_f64.sin()), 0.4_f64.cos(), 0.0) * radius;
        let mount = Pose { position_m: DVec3::new(0.2, 0.1, 0.3), orientation: math::quat_from_yaw(0.7) };
        for offset_s in [-2.0, -0.1, -1e-6, 0.0, 0.05, 1.0] {
            let yaw = 0.4 + turn * offset_s;
            let position = centre + DVec3::new(yaw.sin(), -yaw.cos(), 0.0) * radius;
            let expected = Pose { position_m: position, orientation: math::quat_from_yaw(yaw) }.then(&mount);
            let found = pose_at(&robot, &mount, offset_s);
            assert!((found.position_m - expected.position_m).length() < 1e-9, "{offset_s}: {}", found.position_m);
            assert!(found.orientation.angle_between(expected.orientation).abs() < 1e-7);
        }
    }

    #[test]
    fn a_robot_that_flies_straight_comes_along_a_line_and_a_resting_one_stays() {
        let robot = seen(1.0, 10.0, DVec3::ZERO);
        let found = pose_at(&robot, &Pose::IDENTITY, -0.1);
        let expected = robot.position_m - robot.velocity_mps * 0.1;
        assert!((found.position_m - expected).length() < 1e-14 && found.orientation == robot.orientation.normalize());
        let still = seen(1.0, 0.0, DVec3::ZERO);
        assert_eq!(pose_at(&still, &Pose::IDENTITY, -5.0).position_m, still.position_m);
    }

    #[test]
    fn a_screw_about_any_axis_is_integrated_exactly() {
        let (turn, count) = (DVec3::new(0.3, -0.5, 0.9), 200_000);
        let robot = seen(0.2, 2.0, turn);
        let body_velocity = robot.orientation.inverse() * robot.velocity_mps;
        let (mut position, mut orientation, dt) = (robot.position_m, robot.orientation, 1.0 / f64::from(count));
        for _ in 0..count {
            let middle: DQuat = orientation * DQuat::from_scaled_axis(turn * 0.5 * dt);
            position += middle * body_velocity * dt;
            orientation = (orientation * DQuat::from_scaled_axis(turn * dt)).normalize();
        }
        let found = pose_at(&robot, &Pose::IDENTITY, 1.0);
        assert!((found.position_m - position).length() < 1e-8, "{} {position}", found.position_m);
    }

    #[test]
    fn the_parts_of_a_sweep_are_all_of_it_and_none_is_long() {
        let sweep = Sweep { sweep_s: 0.1, columns: 683 };
        assert_eq!(sweep.slices(), 20);
        let all: Vec<usize> = (0..20).flat_map(|slice| sweep.slice(slice)).collect();
        assert_eq!(all, (0..683).collect::<Vec<usize>>());
        assert_eq!(sweep.offset_s(682), 0.0);
        assert!((sweep.offset_s(0) + 0.1 * 682.0 / 683.0).abs() < 1e-15);
        for slice in 0..20 {
            let columns = sweep.slice(slice);
            assert!(sweep.offset_s(columns.end - 1) - sweep.offset_s(columns.start) <= SLICE_S);
        }
        assert_eq!(Sweep { sweep_s: 0.1, columns: 3 }.slices(), 3, "no part without rays");
    }
}
