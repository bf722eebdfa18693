//! Sine, cosine, arc tangent and what follows from them.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, PI, TAU};

use super::rounding::ROUND;

// π/2 in parts of 33, 33 and 53 bits: products of the first two with integers below 2²⁰ are exact, and the rest is
// below 2⁻¹²².
const PIO2_A: f64 = f64::from_bits(0x3FF9_21FB_5440_0000);
const PIO2_B: f64 = f64::from_bits(0x3DD0_B461_1A60_0000);
const PIO2_C: f64 = f64::from_bits(0x3BA3_198A_2E03_7073);

/// π/4 beyond its `f64`. That `f64` ends in three zero bits, so its multiples up to 4 are exact.
const FRAC_PI_4_TAIL: f64 = 3.061616997868383e-17;

/// A remainder of an argument in range is at most π/4 and some rounding.
const REMAINDER_MAX: f64 = 0.8;

/// `(1 - sin(r)/r) / z` with z = r² ≤ (π/4)²; error of the sine 2⁻⁵⁵.
#[inline(always)]
fn sine_deficit(z: f64) -> f64 {
    polynomial!(z;
        0.16666666666666666,
        -0.008333333333330946,
        0.0001984126983675497,
        -2.755731610068303e-6,
        2.5051131455427946e-8,
        -1.591810123027412e-10)
}

/// `(cos(r) - 1 + z/2) / z²` with z = r² ≤ (π/4)²; error of the cosine 2⁻⁶⁰.
#[inline(always)]
fn cosine_rest(z: f64) -> f64 {
    polynomial!(z;
        0.041666666666666664,
        -0.0013888888888887395,
        2.4801587298763433e-5,
        -2.7557317270560326e-7,
        2.0876146024689747e-9,
        -1.1382614868556325e-11)
}

/// `(1 - atan(u)/u) / z` with z = u² ≤ 1/4; error of the arc tangent 2⁻⁵⁷. Two chains of half the length.
#[inline(always)]
fn arc_deficit(z: f64) -> f64 {
    let w = z * z;
    let even = polynomial!(w;
        0.3333333333333333,
        0.1428571428559874,
        0.09090908618865388,
        0.06666435144143137,
        0.052400641544110685,
        0.03806224794996687,
        0.009211063504627926);
    let odd = polynomial!(w;
        -0.19999999999999485,
        -0.11111111100881761,
        -0.07692294677482635,
        -0.05879573107799684,
        -0.04627870086418654,
        -0.024999689507521367);
    even + z * odd
}

/// Sine and cosine of the angle `remainder - excess`, turned by as many right angles as the low bits of `quadrant`
/// say.
#[inline(always)]
fn sin_cos_in_quadrant(quadrant: u64, remainder: f64, excess: f64) -> (f64, f64) {
    let z = remainder * remainder;
    let sine = remainder - (remainder * (z * sine_deficit(z)) + excess);

    // the rounding error of 1 - z/2 is carried along
    let half = 0.5 * z;
    let near = 1.0 - half;
    let cosine = near + (((1.0 - near) - half) + (z * z * cosine_rest(z) + remainder * excess));

    let odd = quadrant & 1 == 1;
    let (s, c) = if odd { (cosine, sine) } else { (sine, cosine) };
    let s_sign = (quadrant & 2) << 62;
    let c_sign = (quadrant.wrapping_add(1) & 2) << 62;
    (f64::from_bits(s.to_bits() ^ s_sign), f64::from_bits(c.to_bits() ^ c_sign))
}

/// Sine and cosine of `x` in radians, within 1 ulp for |x| ≤ 10⁶ (within 10⁻²⁹ where the exact value is smaller than
/// 10⁻¹³ and |x| > 1).
///
/// Beyond, the absolute error grows like |x|·10⁻¹⁶; the results of all finite arguments stay within -1 and 1. NaN and
/// infinities give NaN.
#[inline(always)]
pub fn sin_cos(x: f64) -> (f64, f64) {
    let shifted = x * FRAC_2_PI + ROUND;
    let n = shifted - ROUND;
    // the remainder as the difference of two numbers, then rounded to one and its excess
    let near = x - n * PIO2_A;
    let part = n * PIO2_B;
    let high = near - part;
    let low = n * PIO2_C - ((near - high) - part);
    let remainder = high - low;
    let excess = (remainder - high) + low;
    // only huge arguments get here with a remainder out of range
    let lost = remainder.abs() > REMAINDER_MAX;
    let remainder = if lost { 0.0 } else { remainder };
    let excess = if lost { 0.0 } else { excess };
    sin_cos_in_quadrant(shifted.to_bits(), remainder, excess)
}

/// Sine and cosine of `turns` full turns (2π `turns` radians), within 1 ulp (2 ulp for the smaller one of the two) for
/// |turns| < 2⁴⁸. Cheaper than [`sin_cos`], as turns reduce exactly.
#[inline(always)]
pub fn sin_cos_turns(turns: f64) -> (f64, f64) {
    let quarters = 4.0 * turns;
    let shifted = quarters + ROUND;
    let remainder = (quarters - (shifted - ROUND)) * FRAC_PI_2;
    sin_cos_in_quadrant(shifted.to_bits(), remainder, 0.0)
}

/// Sine of `x` in radians; see [`sin_cos`].
#[inline(always)]
pub fn sin(x: f64) -> f64 {
    sin_cos(x).0
}

/// Cosine of `x` in radians; see [`sin_cos`].
#[inline(always)]
pub fn cos(x: f64) -> f64 {
    sin_cos(x).1
}

/// Tangent of `x` in radians, within 2.5 ulp in the range of [`sin_cos`].
#[inline(always)]
pub fn tan(x: f64) -> f64 {
    let (s, c) = sin_cos(x);
    s / c
}

/// `sin(x)/x`, 1 at zero: within 1 ulp for |x| ≤ 0.5, 2 ulp in the range of [`sin_cos`].
#[inline(always)]
pub fn sinc(x: f64) -> f64 {
    let z = x * x;
    let small = 1.0 - z * sine_deficit(z);
    let large = sin(x) / x;
    if x.abs() <= 0.5 { small } else { large }
}

/// The angle in `0..=π` whose tangent is `y/x`, with x negated when `x_negative`; `y` and `x` not negative.
#[inline(always)]
fn upper_angle(y: f64, x: f64, x_negative: bool) -> f64 {
    // fold into the octant below the diagonal, then turn by -π/4 what lies nearer to the diagonal than to the axis
    let steep = y > x;
    let (long, short) = if steep { (y, x) } else { (x, y) };
    let diagonal = short > 0.5 * long;
    let (numerator, denominator) = if diagonal { (short - long, short + long) } else { (short, long) };
    let denominator = if denominator == 0.0 { 1.0 } else { denominator };
    let folded = numerator / denominator;

    // unfold: the angle is octants · π/4 + atan(u)
    let octants = if diagonal { 1.0 } else { 0.0 };
    let octants = if steep { 2.0 - octants } else { octants };
    let octants = if x_negative { 4.0 - octants } else { octants };
    let u = if steep != x_negative { -folded } else { folded };

    let z = u * u;
    let base = octants * FRAC_PI_4;
    let high = base + u;
    let low = (base - high) + u;
    high + (low + (octants * FRAC_PI_4_TAIL - u * (z * arc_deficit(z))))
}

/// Arc tangent in radians, within 2 ulp.
#[inline(always)]
pub fn atan(x: f64) -> f64 {
    let steep = x.abs();
    let steep = if steep > MAGNITUDE_MAX { MAGNITUDE_MAX } else { steep };
    upper_angle(steep, 1.0, false).copysign(x)
}

/// Magnitudes above count as this, so that infinities have a quotient.
const MAGNITUDE_MAX: f64 = 1e300;

/// The angle of the point (x, y) in radians, from -π to π, within 2 ulp; all quadrants, with the sign of `y` also when
/// it is zero: `atan2(±0, +0)` is ±0 and `atan2(±0, -0)` is ±π. Coordinates beyond 10³⁰⁰ count as 10³⁰⁰, so
/// `atan2(∞, ∞)` is π/4. NaN if either is NaN.
#[inline(always)]
pub fn atan2(y: f64, x: f64) -> f64 {
    let (up, along) = (y.abs(), x.abs());
    let up = if up > MAGNITUDE_MAX { MAGNITUDE_MAX } else { up };
    let along = if along > MAGNITUDE_MAX { MAGNITUDE_MAX } else { along };
    upper_angle(up, along, x.to_bits() >> 63 == 1).copysign(y)
}

/// Arc sine in radians, within 3 ulp; NaN outside of -1..=1.
#[inline(always)]
pub fn asin(x: f64) -> f64 {
    upper_angle(x.abs(), ((1.0 - x) * (1.0 + x)).sqrt(), false).copysign(x)
}

/// Arc cosine in radians, within 3 ulp; NaN outside of -1..=1.
#[inline(always)]
pub fn acos(x: f64) -> f64 {
    upper_angle(((1.0 - x) * (1.0 + x)).sqrt(), x.abs(), x < 0.0)
}

/// `sqrt(x² + y²)`, within 1 ulp while the squares neither overflow nor underflow.
#[inline(always)]
pub fn hypot2(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

/// The equivalent angle in (-π, π]: unchanged if it is there already, otherwise within 10⁻¹⁵ rad for |x| ≤ 10⁶. Beyond,
/// the error grows like |x|·10⁻¹⁶, but the result stays in the interval. NaN and infinities give NaN.
#[inline(always)]
pub fn wrap_angle(rad: f64) -> f64 {
    let n = (rad * (0.5 * std::f64::consts::FRAC_1_PI) + ROUND) - ROUND;
    let near = ((rad - n * (4.0 * PIO2_A)) - n * (4.0 * PIO2_B)) - n * (4.0 * PIO2_C);
    let lowered = if near > PI { near - TAU } else { near };
    let raised = if near <= -PI { near + TAU } else { lowered };
    let bounded = if raised.abs() > PI { PI } else { raised };
    let inside = if rad.abs() <= PI { rad } else { bounded };
    if inside == -PI { PI } else { inside }
}
