//! What motions share: the body columns of one lane as one value, and rotations. All of it
//! is inlined into the motions' kernels and has no branches.

use glam::{DQuat, DVec3};
use muster_core::lanes::{Column, body};
use muster_core::math;

/// Pose and motion of one body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Body {
    /// In the world, m.
    pub(crate) position: DVec3,
    /// `world_from_body`.
    pub(crate) orientation: DQuat,
    /// In the world frame, m/s.
    pub(crate) velocity: DVec3,
    /// In the body frame, rad/s.
    pub(crate) rate: DVec3,
}

impl Body {
    #[inline(always)]
    pub(crate) fn load(columns: &[Column], lane: usize) -> Self {
        Self {
            position: body::vec3(columns, body::POSITION, lane),
            orientation: body::orientation(columns, lane),
            velocity: body::vec3(columns, body::VELOCITY, lane),
            rate: body::vec3(columns, body::ANGULAR_VELOCITY, lane),
        }
    }

    #[inline(always)]
    pub(crate) fn store(&self, columns: &mut [Column], lane: usize) {
        body::set_vec3(columns, body::POSITION, lane, self.position);
        body::set_orientation(columns, lane, self.orientation);
        body::set_vec3(columns, body::VELOCITY, lane, self.velocity);
        body::set_vec3(columns, body::ANGULAR_VELOCITY, lane, self.rate);
    }
}

/// The rotation `a_from_c` of `a_from_b` and `b_from_c`.
#[inline(always)]
pub(crate) fn product(a: DQuat, b: DQuat) -> DQuat {
    DQuat::from_xyzw(
        a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
        a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
        a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
    )
}

/// `q`, which is of unit length but for rounding, brought back to it: one step of Newton's method for 1/√, so no root
/// and no quotient.
#[inline(always)]
pub(crate) fn renormalize(q: DQuat) -> DQuat {
    let scale = 1.5 - 0.5 * (q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    DQuat::from_xyzw(q.x * scale, q.y * scale, q.z * scale, q.w * scale)
}

/// The body's z axis in the world.
#[inline(always)]
pub(crate) fn up(q: DQuat) -> DVec3 {
    DVec3::new(2.0 * (q.x * q.z + q.w * q.y), 2.0 * (q.y * q.z - q.w * q.x), 1.0 - 2.0 * (q.x * q.x + q.y * q.y))
}

/// Where the body's x axis points in the plane.
#[inline(always)]
pub(crate) fn heading(q: DQuat) -> (f64, f64) {
    (1.0 - 2.0 * (q.y * q.y + q.z * q.z), 2.0 * (q.x * q.y + q.w * q.z))
}

/// [`math::clamp`] in the order of operands that is one instruction for each limit; NaN stays NaN.
#[inline(always)]
pub(crate) fn bound(x: f64, low: f64, high: f64) -> f64 {
    math::max(low, math::min(high, x))
}

/// No component of the vector of a [`small_turn`] is greater.
const SMALL_TURN_MAX: f64 = 0.3;

/// The rotation by twice the vector, each component of which is limited to 0.3 rad, as no integrator follows a body that
/// turns further in half a tick. A polynomial in the square of the angle, so neither root nor quotient nor reduction: of
/// unit length within 1e-8 at the limit and to the last bits for vectors below 0.05.
#[inline(always)]
pub(crate) fn small_turn(half_vector: DVec3) -> DQuat {
    let x = bound(half_vector.x, -SMALL_TURN_MAX, SMALL_TURN_MAX);
    let y = bound(half_vector.y, -SMALL_TURN_MAX, SMALL_TURN_MAX);
    let z = bound(half_vector.z, -SMALL_TURN_MAX, SMALL_TURN_MAX);
    let square = x * x + y * y + z * z;
    // series of sin(a)/a and cos(a) in a², in pairs, as the loop waits for this chain
    let fourth = square * square;
    let sine = (1.0 - square * (1.0 / 6.0)) + fourth * (1.0 / 120.0 - square * (1.0 / 5040.0));
    let late = (1.0 / 24.0 - square * (1.0 / 720.0)) + fourth * (1.0 / 40_320.0);
    let cosine = (1.0 - 0.5 * square) + fourth * late;
    DQuat::from_xyzw(x * sine, y * sine, z * sine, cosine)
}

/// `start` turned twice by a unit `turn` in its own frame, when `middle` is `start` turned once: as a unit quaternion
/// solves e² = 2 e.w e - 1, this is cheaper than a product.
#[inline(always)]
pub(crate) fn turned_twice(start: DQuat, middle: DQuat, turn: DQuat) -> DQuat {
    let twice = turn.w + turn.w;
    renormalize(DQuat::from_xyzw(
        twice * middle.x - start.x,
        twice * middle.y - start.y,
        twice * middle.z - start.z,
        twice * middle.w - start.w,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_axes_agree_with_the_rotations_of_vectors() {
        let (a, b) = (math::quat_from_rpy(0.3, -0.8, 2.0), math::quat_from_rpy(-1.3, 0.4, 0.7));
        let v = DVec3::new(1.0, -2.0, 0.5);
        assert!((math::rotate(product(a, b), v) - math::rotate(a, math::rotate(b, v))).length() < 1e-14);
        assert!((up(a) - math::rotate(a, DVec3::Z)).length() < 1e-14);
    }

    #[test]
    fn a_quaternion_that_is_off_by_rounding_comes_back_to_unit_length() {
        let q = math::quat_from_rpy(0.3, -0.8, 2.0) * 1.000_001;
        assert!((renormalize(q).length_squared() - 1.0).abs() < 1e-11);
    }

    #[test]
    fn a_small_turn_is_the_exponential_and_a_large_one_is_limited() {
        for (vector, error) in
            [(DVec3::ZERO, 0.0), (DVec3::new(0.01, -0.02, 0.03), 1e-16), (DVec3::new(0.3, -0.3, 0.3), 1e-7)]
        {
            let (found, expected) = (small_turn(vector), math::quat_exp(2.0 * vector));
            assert!((found - expected).length() <= error, "{vector}: {found} {expected}");
        }
        assert_eq!(small_turn(DVec3::new(1e9, 0.0, 0.0)), small_turn(DVec3::new(0.3, 0.0, 0.0)));
    }

    #[test]
    fn turning_twice_is_the_product_with_both_turns() {
        let (start, turn) = (math::quat_from_rpy(0.3, -0.8, 2.0), small_turn(DVec3::new(0.01, -0.02, 0.03)));
        let middle = product(start, turn);
        assert!((turned_twice(start, middle, turn) - product(middle, turn)).length() < 1e-15);
    }
}
