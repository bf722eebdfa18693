//! Rotations as unit quaternions, by the conventions of REP-103: right-handed, x forward, y left, z up; roll, pitch and
//! yaw about the fixed axes x, y, z in this order, which is yaw, pitch, roll about the moving ones. All angles in
//! radians.

use glam::{DQuat, DVec3};

use super::trigonometry::{atan2, hypot2, sin_cos, sinc, wrap_angle};

/// Below this cosine of pitch, roll and yaw turn about the same axis as far as `f64` can tell.
const GIMBAL_LOCK_COS: f64 = 1e-7;

/// The rotation by `yaw` about z.
#[inline(always)]
pub fn quat_from_yaw(yaw: f64) -> DQuat {
    let (s, c) = sin_cos(0.5 * yaw);
    DQuat::from_xyzw(0.0, 0.0, s, c)
}

/// The rotation by `roll` about x, then `pitch` about y, then `yaw` about z, axes fixed.
#[inline(always)]
pub fn quat_from_rpy(roll: f64, pitch: f64, yaw: f64) -> DQuat {
    let (sr, cr) = sin_cos(0.5 * roll);
    let (sp, cp) = sin_cos(0.5 * pitch);
    let (sy, cy) = sin_cos(0.5 * yaw);
    DQuat::from_xyzw(
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )
}

/// Roll, pitch and yaw of a unit quaternion: roll and yaw from -π to π, pitch from -π/2 to π/2. With pitch at ±π/2
/// only the sum or difference of the others is defined; roll is 0 then.
#[inline(always)]
pub fn rpy_from_quat(q: DQuat) -> (f64, f64, f64) {
    let sin_pitch = 2.0 * (q.w * q.y - q.z * q.x);
    let (roll_y, roll_x) = (2.0 * (q.w * q.x + q.y * q.z), 1.0 - 2.0 * (q.x * q.x + q.y * q.y));
    let cos_pitch = hypot2(roll_y, roll_x);
    let locked = cos_pitch < GIMBAL_LOCK_COS;
    let roll = if locked { 0.0 } else { atan2(roll_y, roll_x) };
    let yaw = if locked { wrap_angle(2.0 * atan2(q.z, q.w)) } else { yaw_from_quat(q) };
    (roll, atan2(sin_pitch, cos_pitch), yaw)
}

/// The yaw of a unit quaternion: the direction of its x axis seen from above, from -π to π.
#[inline(always)]
pub fn yaw_from_quat(q: DQuat) -> f64 {
    atan2(2.0 * (q.w * q.z + q.x * q.y), 1.0 - 2.0 * (q.y * q.y + q.z * q.z))
}

/// The rotation by `angle` about `axis`, which is of unit length.
#[inline(always)]
pub fn quat_from_axis_angle(axis: DVec3, angle: f64) -> DQuat {
    let (s, c) = sin_cos(0.5 * angle);
    DQuat::from_xyzw(axis.x * s, axis.y * s, axis.z * s, c)
}

/// The rotation about the direction of `rotation_vector` by its length; the identity for zero, without division by it.
#[inline(always)]
pub fn quat_exp(rotation_vector: DVec3) -> DQuat {
    let half = 0.5 * rotation_vector;
    let angle = (half.x * half.x + half.y * half.y + half.z * half.z).sqrt();
    let ratio = sinc(angle);
    DQuat::from_xyzw(half.x * ratio, half.y * ratio, half.z * ratio, sin_cos(angle).1)
}

/// `v` turned by the unit quaternion `q`: `a_from_b` takes a vector in b to the same one in a.
#[inline(always)]
pub fn rotate(q: DQuat, v: DVec3) -> DVec3 {
    let axis = DVec3::new(q.x, q.y, q.z);
    let twice = 2.0 * axis.cross(v);
    v + q.w * twice + axis.cross(twice)
}

/// `v` turned back by the unit quaternion `q`: `a_from_b` takes a vector in a to the same one in b.
#[inline(always)]
pub fn rotate_inverse(q: DQuat, v: DVec3) -> DVec3 {
    rotate(DQuat::from_xyzw(-q.x, -q.y, -q.z, q.w), v)
}

/// `q` scaled to unit length; the identity for zero, NaN stays NaN.
#[inline(always)]
pub fn normalize_quat(q: DQuat) -> DQuat {
    let square = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
    let scale = 1.0 / square.sqrt();
    let zero = square == 0.0;
    let scale = if zero { 0.0 } else { scale };
    DQuat::from_xyzw(q.x * scale, q.y * scale, q.z * scale, if zero { 1.0 } else { q.w * scale })
}
