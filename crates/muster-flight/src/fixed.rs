//! Fixed-point arithmetic: a number in Qn is an integer that counts 2⁻ⁿ. Products are formed in 64 bits, shifted
//! back, and rounded down; nothing here divides by a variable.

/// One, in Q30.
pub(crate) const ONE_Q30: i32 = 1 << 30;

/// A value that the caller knows to fit.
#[inline(always)]
pub(crate) fn narrow(value: i64) -> i32 {
    debug_assert!(value as i32 as i64 == value, "{value} does not fit");
    value as i32
}

/// The product `a b / 2^shift`; the caller knows that it fits.
#[inline(always)]
pub(crate) fn mul(a: i32, b: i32, shift: u32) -> i32 {
    narrow((i64::from(a) * i64::from(b)) >> shift)
}

/// The product `a b / 2^shift`, held within `±limit`.
#[inline(always)]
pub(crate) fn mul_within(a: i32, b: i32, shift: u32, limit: i32) -> i32 {
    within((i64::from(a) * i64::from(b)) >> shift, limit)
}

/// `value` held within `±limit`, for a `limit` of zero or more.
#[inline(always)]
pub(crate) fn within(value: i64, limit: i32) -> i32 {
    let limit = i64::from(limit);
    value.min(limit).max(-limit) as i32
}

/// `value` held within `±limit`, for a `limit` of zero or more.
#[inline(always)]
pub(crate) fn hold(value: i32, limit: i32) -> i32 {
    value.min(limit).max(-limit)
}

/// The square of a vector's length, at full width. Components must be below 2³⁰·√2, so that the sum fits.
#[inline]
pub(crate) fn length_squared(a: [i32; 3]) -> i64 {
    i64::from(a[0]) * i64::from(a[0]) + i64::from(a[1]) * i64::from(a[1]) + i64::from(a[2]) * i64::from(a[2])
}

/// The x and y components of the cross product `a × b`, divided by `2^shift`.
#[inline]
pub(crate) fn cross_xy(a: [i32; 3], b: [i32; 3], shift: u32) -> [i32; 2] {
    let part =
        |i: usize, j: usize| narrow((i64::from(a[i]) * i64::from(b[j]) - i64::from(a[j]) * i64::from(b[i])) >> shift);
    [part(1, 2), part(2, 0)]
}

/// The cross product `a × b`, divided by `2^shift`.
#[inline]
pub(crate) fn cross(a: [i32; 3], b: [i32; 3], shift: u32) -> [i32; 3] {
    let [x, y] = cross_xy(a, b, shift);
    [x, y, narrow((i64::from(a[0]) * i64::from(b[1]) - i64::from(a[1]) * i64::from(b[0])) >> shift)]
}

/// The high word of a product, `a b / 2³²`: it always fits, and is one instruction on a Cortex-M4.
#[inline(always)]
pub(crate) fn mul_high(a: i32, b: i32) -> i32 {
    ((i64::from(a) * i64::from(b)) >> 32) as i32
}

/// Sine and cosine in Q30 of an angle in Q30 rad within ±π/3; the error is below 1e-5.
#[inline(always)]
pub(crate) fn sin_cos_q30(angle: i32) -> (i32, i32) {
    // x - x³(a - b x²) and 1 - x²(c - x²(d - e x²)): near the Taylor series, with the greatest error on ±π/3 made
    // least. Each high product with the square, in Q30, lowers the format by two bits.
    const A_Q33: i32 = 1_430_598_238; // 0.166544
    const B_Q35: i32 = 275_304_066; // 0.00801240
    const C_Q31: i32 = 1_073_729_435; // 0.499994
    const D_Q33: i32 = 357_638_186; // 0.0416346
    const E_Q35: i32 = 45_964_450; // 0.00133774
    let square = mul(angle, angle, 30);
    let sin = mul_high(square, A_Q33 - mul_high(square, B_Q35));
    let cos = mul_high(square, C_Q31 - mul_high(square, D_Q33 - mul_high(square, E_Q35)));
    (angle - (mul_high(angle, sin) << 1), ONE_Q30 - (cos << 1))
}

/// `√(i 2²⁴)` in Q8 for the top byte `i`, from 64, of a number whose leading one is in its top two bits. The unused
/// first quarter spares the look-up its bounds check.
const ROOTS_Q8: [u32; 257] = {
    let mut table = [0; 257];
    let mut index = 64;
    while index < table.len() {
        table[index] = ((index as u64) << 40).isqrt() as u32;
        index += 1;
    }
    table
};

/// The integer square root, rounded down, without division: a table, interpolated to 17 bits, and one correction.
#[inline]
pub(crate) fn isqrt(value: u32) -> u32 {
    let shift = (value | 1).leading_zeros() & !1;
    let mantissa = (value | 1) << shift;
    let index = (mantissa >> 24) as usize;
    let (below, above) = (ROOTS_Q8[index], ROOTS_Q8[index + 1]);
    let part = (u64::from(above - below) * u64::from(mantissa & 0xFF_FFFF)) >> 24;
    // The chord lies below the root by 1/4 at most; lifted by 0.3 it can only be too large, by one at most.
    let root = (below + part as u32 + 77) >> (8 + shift / 2);
    root - u32::from(u64::from(root) * u64::from(root) > u64::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isqrt_is_exact_around_every_square() {
        for root in 0..=u32::from(u16::MAX) {
            assert_eq!(isqrt(root * root), root);
            assert_eq!(isqrt(root * root + root), root, "{root}");
            assert_eq!(isqrt(root * root + 2 * root), root, "just below the next square of {root}");
        }
    }

    #[test]
    fn isqrt_agrees_with_the_standard_library() {
        for value in (0..=u32::MAX).step_by(997).chain(0..70_000) {
            assert_eq!(isqrt(value), value.isqrt(), "{value}");
        }
    }

    #[test]
    fn sine_and_cosine_keep_their_known_values() {
        let check = |angle: i32, sin: i32, cos: i32| {
            let found = sin_cos_q30(angle);
            // 1e-5 in Q30.
            assert!(found.0.abs_diff(sin) < 10_737 && found.1.abs_diff(cos) < 10_737, "{angle}: {found:?}");
        };
        check(0, 0, ONE_Q30);
        check(562_209_905, 536_870_912, 929_887_697); // π/6: 1/2, √3/2
        check(-562_209_905, -536_870_912, 929_887_697);
        check(1_124_419_809, 929_887_697, 536_870_912); // π/3: √3/2, 1/2
    }
}
