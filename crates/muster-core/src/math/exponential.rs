//! Exponential, logarithm and what follows from them.

use std::f64::consts::LOG2_E;

use super::rounding::ROUND;

// ln 2 in parts of 32 and 53 bits: products of the first with exponents are exact.
const LN_2_A: f64 = f64::from_bits(0x3FE6_2E42_FF00_0000);
const LN_2_B: f64 = f64::from_bits(0xBDC7_1843_2A1B_0E26);

/// `(e^r - 1 - r) / r²` for |r| ≤ ln(2)/2; error of `e^r - 1` 2⁻⁵⁹. Two chains of half the length.
#[inline(always)]
fn exponential_rest(r: f64) -> f64 {
    let z = r * r;
    let even = polynomial!(z;
        0.5,
        0.04166666666666666,
        0.0013888888888892487,
        2.4801587302393253e-5,
        2.7557298307983354e-7,
        2.090560162581867e-9);
    let odd = polynomial!(z;
        0.1666666666666667,
        0.00833333333332605,
        0.00019841269875112678,
        2.7557255030872054e-6,
        2.510537026049078e-8);
    even + r * odd
}

/// `2 atanh(s) = 2 s + s z R(z)` with z = s² and s ≤ (√2 - 1)/(√2 + 1): this is R; error of the sum 2⁻⁵⁷.
#[inline(always)]
fn area_tangent_rest(z: f64) -> f64 {
    polynomial!(z;
        0.666666666666667,
        0.3999999999989938,
        0.28571428626031065,
        0.2222221112572281,
        0.18182889786191042,
        0.15331699633543858,
        0.14616721179861816)
}

/// `x = n ln 2 + r`: the integer n (two's complement), `e^r - 1 - r`, and r.
#[inline(always)]
fn split(x: f64) -> (u64, f64, f64) {
    let shifted = x * LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN_2_A) - n * LN_2_B;
    (shifted.to_bits().wrapping_sub(ROUND.to_bits()), r * r * exponential_rest(r), r)
}

/// `e^x`, within 1 ulp (2 ulp where the result is subnormal); 0 below -746, infinity above 709.78.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let x = if x > 710.0 { 710.0 } else { x };
    let x = if x < -746.0 { -746.0 } else { x };
    let (n, rest, r) = split(x);
    // 2ⁿ in two factors, as n may be beyond the exponents of normal numbers
    let biased = n.wrapping_add(2 * 1024);
    let half = biased >> 1;
    let first = f64::from_bits(half.wrapping_sub(1) << 52);
    let second = f64::from_bits(biased.wrapping_sub(half).wrapping_sub(1) << 52);
    (1.0 + (r + rest)) * first * second
}

/// `e^x - 1`, within 2.5 ulp also near zero; keeps the sign of zero.
#[inline(always)]
pub fn exp_m1(x: f64) -> f64 {
    let bounded = if x > 710.0 { 710.0 } else { x };
    let bounded = if bounded < -40.0 { -40.0 } else { bounded };
    let (n, rest, r) = split(bounded);
    // half of 2ⁿ (e^r - 1) + (2ⁿ - 1): the half keeps the largest n in range
    let scale = f64::from_bits(n.wrapping_add(1022) << 52);
    let value = 2.0 * (scale * (r + rest) + (scale - 0.5));
    if x == 0.0 { x } else { value }
}

/// `ln x + offset · ln 2` for positive normal x, offset an integer.
///
/// x = 2ᵏ m with m in [√½, √2), f = m - 1, s = f/(2 + f), so ln m = 2 atanh s. As 2s = f - s f, and
/// s f = f²/2 - s f²/2, the sum starts with f, which is exact (the arrangement of Sun's fdlibm).
#[inline(always)]
fn ln_scaled(x: f64, offset: f64) -> f64 {
    const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const ONE: u64 = 1.0_f64.to_bits();
    const FRACTION: u64 = (1 << 52) - 1;
    const TWO_52: f64 = (1_u64 << 52) as f64;

    let shifted = x.to_bits().wrapping_add(ONE - SQRT_HALF);
    let k = f64::from_bits((shifted >> 52) | TWO_52.to_bits()) - (TWO_52 + 1023.0) + offset;
    let f = f64::from_bits((shifted & FRACTION) + SQRT_HALF) - 1.0;

    let s = f / (2.0 + f);
    let z = s * s;
    let half_square = 0.5 * f * f;
    let bent = s * (half_square + z * area_tangent_rest(z)) + k * LN_2_B;
    k * LN_2_A - ((half_square - bent) - f)
}

/// Natural logarithm, within 1 ulp, subnormal numbers included; -∞ at zero, NaN below, ∞ at ∞.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    const TWO_54: f64 = (1_u64 << 54) as f64;
    let tiny = x < f64::MIN_POSITIVE;
    let value = ln_scaled(if tiny { x * TWO_54 } else { x }, if tiny { -54.0 } else { 0.0 });
    let value = if x < f64::INFINITY { value } else { x };
    let value = if x == 0.0 { f64::NEG_INFINITY } else { value };
    if x < 0.0 { f64::NAN } else { value }
}

/// `x` to the power `y` as `e^(y ln x)`, for x ≥ 0: the relative error is at most (1 + |y ln x|)·2⁻⁵², so some units in
/// the last place for the formulas of atmosphere and drag it is meant for. 1 for y = 0, NaN for x < 0 and if either is NaN.
#[inline(always)]
pub fn pow(x: f64, y: f64) -> f64 {
    let value = exp(y * ln(x));
    if (y == 0.0) & !x.is_nan() { 1.0 } else { value }
}

/// Hyperbolic tangent, within 3 ulp; keeps the sign of zero.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    let size = x.abs();
    let size = if size > 20.0 { 20.0 } else { size };
    let grown = exp_m1(2.0 * size);
    (grown / (grown + 2.0)).copysign(x)
}

/// `ln(1 + x)`, within 3 ulp also near zero; -∞ at -1, NaN below, keeps the sign of zero.
///
/// The rounding of `1 + x` is undone by the factor `x / ((1 + x) - 1)` (W. Kahan; see Higham, *Accuracy and Stability of
/// Numerical Algorithms*, section 1.14.1).
#[inline(always)]
pub fn ln_1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    let kept = sum - 1.0;
    let quotient = x / if kept == 0.0 { 1.0 } else { kept };
    let value = ln(sum) * quotient;
    let value = if kept == 0.0 { x } else { value };
    if x == f64::INFINITY { x } else { value }
}

/// Hyperbolic sine, within 4 ulp; keeps the sign of zero, infinite above 710.4.
#[inline(always)]
pub fn sinh(x: f64) -> f64 {
    let size = x.abs();
    let grown = exp_m1(size);
    let near = 0.5 * (grown + grown / (grown + 1.0));
    // beyond, e^-x is lost anyway, and half of e^x may be in range where e^x is not
    let half = exp(0.5 * size);
    let far = 0.5 * half * half;
    (if size < 22.0 { near } else { far }).copysign(x)
}

/// Hyperbolic cosine, within 2 ulp below 22 and 4 beyond; infinite above 710.4.
#[inline(always)]
pub fn cosh(x: f64) -> f64 {
    let size = x.abs();
    let grown = exp(size);
    let half = exp(0.5 * size);
    if size < 22.0 { 0.5 * (grown + 1.0 / grown) } else { 0.5 * half * half }
}

/// Inverse of [`sinh`], within 4 ulp for |x| < 10¹⁵⁰; keeps the sign of zero.
#[inline(always)]
pub fn asinh(x: f64) -> f64 {
    let size = x.abs();
    let square = size * size;
    ln_1p(size + square / (1.0 + (1.0 + square).sqrt())).copysign(x)
}

/// Inverse of [`tanh`], within 4 ulp; infinite at ±1, NaN beyond, keeps the sign of zero.
#[inline(always)]
pub fn atanh(x: f64) -> f64 {
    let size = x.abs();
    (0.5 * ln_1p(2.0 * size / (1.0 - size))).copysign(x)
}
