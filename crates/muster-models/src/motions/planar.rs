//! What motions on a plane share: ramps to what is commanded, and the arc of a tick. All of it is inlined into the
//! motions' kernels and has no branches.

use super::rigid;
use glam::{DQuat, DVec3};
use muster_core::lanes::{Column, body};
use muster_core::math;

/// How a robot moves in its plane, in the axes of its heading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Twist {
    /// Forward, m/s.
    pub(crate) forward: f64,
    /// To the left, m/s.
    pub(crate) left: f64,
    /// Turn rate, rad/s.
    pub(crate) turn: f64,
}

/// A quantity at the end of a tick and its mean over the tick.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ramp {
    pub(crate) last: f64,
    pub(crate) mean: f64,
}

/// Goes from `first` to `target` at a constant rate, by no more than `change_max` in a tick.
#[inline(always)]
pub(crate) fn ramp(first: f64, target: f64, change_max: f64) -> Ramp {
    let gap = target - first;
    let change = rigid::bound(gap, -change_max, change_max);
    // what arrives within the tick is on its way only for this share of it
    let share = gap.abs() / change_max;
    let share = math::min(share, 1.0);
    let last = if gap == change { target } else { first + change };
    Ramp { last, mean: last - 0.5 * share * change }
}

/// Moves one robot along the arc of a tick's mean twist, taken as its chord, which is `sinc` of half the turn shorter
/// and points in the direction of half the turn: exact for a constant twist and any tick. The robot is left with the
/// twist of the end of the tick. Heading is read from the orientation and turned by a quaternion, never kept twice.
#[inline(always)]
pub(crate) fn drive(columns: &mut [Column], lane: usize, (mean, last): (Twist, Twist), dt: f64) {
    let half_turn = 0.5 * dt * mean.turn;
    let (sine, cosine) = math::sin_cos(half_turn);
    let chord = dt * math::sinc(half_turn);
    let before = body::orientation(columns, lane);
    let after = rigid::renormalize(rigid::product(DQuat::from_xyzw(0.0, 0.0, sine, cosine), before));
    let (east, north) = rigid::heading(before);
    let (east_mid, north_mid) = (east * cosine - north * sine, north * cosine + east * sine);
    let (east_last, north_last) = rigid::heading(after);

    columns[body::POSITION][lane] += chord * (mean.forward * east_mid - mean.left * north_mid);
    columns[body::POSITION + 1][lane] += chord * (mean.forward * north_mid + mean.left * east_mid);
    body::set_orientation(columns, lane, after);
    let velocity = DVec3::new(
        last.forward * east_last - last.left * north_last,
        last.forward * north_last + last.left * east_last,
        0.0,
    );
    body::set_vec3(columns, body::VELOCITY, lane, velocity);
    body::set_vec3(columns, body::ANGULAR_VELOCITY, lane, DVec3::new(0.0, 0.0, last.turn));
}

/// Speed forward of a robot that is about to start.
pub(crate) fn forward_speed(columns: &[Column], lane: usize) -> f64 {
    math::rotate_inverse(body::orientation(columns, lane), body::vec3(columns, body::VELOCITY, lane)).x
}
