//! Rounding and comparing by arithmetic and selects.

/// 1.5·2⁵²: numbers of this size have a spacing of one, so adding it rounds to an integer, ties to even, which then
/// stands in the low bits of the sum.
pub(super) const ROUND: f64 = 6_755_399_441_055_744.0;

/// From 2⁵¹ on, `ROUND` no longer rounds; the rounding functions return such numbers unchanged.
const ROUND_LIMIT: f64 = 2_251_799_813_685_248.0;

/// The nearest integer, ties to even, for |x| < 2⁵¹; larger numbers, infinities and NaN are returned unchanged. Keeps
/// the sign of zero.
#[inline(always)]
pub fn round_nearest(x: f64) -> f64 {
    let rounded = ((x + ROUND) - ROUND).copysign(x);
    if x.abs() < ROUND_LIMIT { rounded } else { x }
}

/// The largest integer not above `x`, for |x| < 2⁵¹; larger numbers, infinities and NaN are returned unchanged. Keeps
/// the sign of zero.
#[inline(always)]
pub fn floor(x: f64) -> f64 {
    let rounded = round_nearest(x);
    if rounded > x { rounded - 1.0 } else { rounded }
}

/// The smaller of the two; `b` if either is NaN or both are equal (so `min(0.0, -0.0)` is `-0.0`).
#[inline(always)]
pub fn min(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The larger of the two; `b` if either is NaN or both are equal.
#[inline(always)]
pub fn max(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// `x` limited to `low..=high` (`low` not above `high`); NaN stays NaN, and a NaN limit does not limit.
#[inline(always)]
pub fn clamp(x: f64, low: f64, high: f64) -> f64 {
    let above = if x < low { low } else { x };
    if x > high { high } else { above }
}
