//! Accuracy against the standard library, special values, and equal bits of scalar and vector code.
#![expect(clippy::disallowed_methods, reason = "the standard library is what accuracy is measured against")]

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI, TAU};

use glam::{DQuat, DVec3};

use super::*;
use crate::simd::Simd;

/// Dense pseudo-random samples: the generator is SplitMix64 (Steele, Lea, Flood 2014).
struct Samples(u64);

impl Samples {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Even over `low..high`.
    fn even(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 * 2.0_f64.powi(-53))
    }

    /// Even in the logarithm of the magnitude, of both signs.
    fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        let size = self.even(low.ln(), high.ln()).exp();
        if self.bits() & 1 == 1 { -size } else { size }
    }
}

/// Error of `found` in ulps of `expected`.
fn ulps(found: f64, expected: f64) -> f64 {
    if found == expected || (found.is_nan() && expected.is_nan()) {
        return 0.0;
    }
    let ulp = (expected.abs().next_up() - expected.abs()).max(f64::from_bits(1));
    (found - expected).abs() / ulp
}

const COUNT: usize = 400_000;

/// The worst error against the standard library stays within `ulps_max` plus its own half ulp (rounded up to the next
/// integer difference, as both are `f64`s).
fn check(
    name: &str,
    ulps_max: f64,
    ours: impl Fn(f64) -> f64,
    std: impl Fn(f64) -> f64,
    draw: impl Fn(&mut Samples) -> f64,
) {
    let mut samples = Samples(7);
    let (mut worst, mut at, mut off) = (0.0, 0.0, 0);
    for _ in 0..COUNT {
        let x = draw(&mut samples);
        let error = ulps(ours(x), std(x));
        off += usize::from(error > 0.0);
        if error > worst {
            (worst, at) = (error, x);
        }
    }
    println!("{name}: worst {worst} ulp at {at:e}, {:.2} % differ", 100.0 * off as f64 / COUNT as f64);
    assert!(worst <= ulps_max + 0.5, "{name}: {worst} ulp at {at:e}, found {:e}, expected {:e}", ours(at), std(at));
}

#[test]
fn sine_and_cosine_are_within_one_ulp() {
    for (low, high) in [(-0.8, 0.8), (-7.0, 7.0), (-1e3, 1e3), (-1e6, 1e6)] {
        check("sin", 1.0, sin, f64::sin, |s| s.even(low, high));
        check("cos", 1.0, cos, f64::cos, |s| s.even(low, high));
        check("tan", 2.5, tan, f64::tan, |s| s.even(low, high));
    }
    check("sin tiny", 1.0, sin, f64::sin, |s| s.magnitude(1e-300, 1.0));
    check("sinc", 1.0, sinc, |x| x.sin() / x, |s| s.magnitude(1e-9, 0.5));
    check("sinc", 2.0, sinc, |x| x.sin() / x, |s| s.magnitude(0.5, 1e3));
}

#[test]
fn sine_near_multiples_of_a_right_angle_keeps_its_digits() {
    for k in 1..600_000 {
        let x = f64::from(k) * FRAC_PI_2;
        let (s, c) = sin_cos(x);
        for (found, expected) in [(s, x.sin()), (c, x.cos())] {
            assert!(
                (found - expected).abs() <= 1e-29 + 1.5 * expected.abs() * f64::EPSILON,
                "{k} right angles: found {found:e}, expected {expected:e}"
            );
        }
    }
}

#[test]
fn sine_of_huge_arguments_is_bounded() {
    let mut samples = Samples(1);
    for _ in 0..COUNT {
        let x = samples.magnitude(1e6, 1e308);
        let (s, c) = sin_cos(x);
        assert!(s.abs() <= 1.0 && c.abs() <= 1.0, "{x:e}: {s}, {c}");
        let wrapped = wrap_angle(x);
        assert!(wrapped > -PI && wrapped <= PI, "{x:e}: {wrapped}");
    }
    assert!(sin(1e9) - 1e9_f64.sin() < 1e-6);
    assert!(sin(f64::MAX).is_finite() && cos(f64::MIN).is_finite() && wrap_angle(f64::MAX).is_finite());
}

#[test]
fn turns_are_radians_divided_by_tau() {
    check("sin of turns", 2.5, |t| sin_cos_turns(t).0, |t| (t * TAU).sin(), |s| s.even(-0.125, 0.125));
    check("cos of turns", 2.5, |t| sin_cos_turns(t).1, |t| (t * TAU).cos(), |s| s.even(-0.125, 0.125));
    assert_eq!(sin_cos_turns(0.25), (1.0, 0.0));
    assert_eq!(sin_cos_turns(-1000.5), (0.0, -1.0));
}

#[test]
fn arcs_are_within_their_bounds() {
    check("atan", 2.0, atan, f64::atan, |s| s.even(-3.0, 3.0));
    check("atan", 2.0, atan, f64::atan, |s| s.magnitude(1e-300, 1e300));
    check("asin", 3.0, asin, f64::asin, |s| s.even(-1.0, 1.0));
    check("acos", 3.0, acos, f64::acos, |s| s.even(-1.0, 1.0));
    check("acos near 1", 3.0, acos, f64::acos, |s| 1.0 - s.magnitude(1e-16, 0.1).abs());
    let mut samples = Samples(3);
    let mut worst = 0.0_f64;
    for _ in 0..COUNT {
        let (y, x) = (samples.magnitude(1e-3, 1e3), samples.magnitude(1e-3, 1e3));
        worst = worst.max(ulps(atan2(y, x), y.atan2(x)));
    }
    println!("atan2: worst {worst} ulp");
    assert!(worst <= 2.5, "atan2: {worst} ulp");
}

#[test]
fn exponential_and_logarithm_are_within_their_bounds() {
    check("exp", 1.0, exp, f64::exp, |s| s.even(-700.0, 700.0));
    check("exp", 1.0, exp, f64::exp, |s| s.even(-1.0, 1.0));
    check("exp subnormal", 2.0, exp, f64::exp, |s| s.even(-746.0, -708.0));
    check("exp_m1", 2.5, exp_m1, f64::exp_m1, |s| s.even(-3.0, 3.0));
    check("exp_m1", 2.5, exp_m1, f64::exp_m1, |s| s.magnitude(1e-300, 700.0));
    check("tanh", 3.0, tanh, f64::tanh, |s| s.even(-5.0, 5.0));
    check("tanh", 3.0, tanh, f64::tanh, |s| s.magnitude(1e-300, 100.0));
    check("ln", 1.0, ln, f64::ln, |s| s.even(0.3, 3.0));
    check("ln near 1", 1.0, ln, f64::ln, |s| 1.0 + s.magnitude(1e-15, 0.3));
    check("ln", 1.0, ln, f64::ln, |s| s.magnitude(1e-308, 1e308).abs());
    check("ln subnormal", 1.0, ln, f64::ln, |s| f64::from_bits(s.bits() >> 12));
    let mut samples = Samples(17);
    for _ in 0..COUNT {
        let (x, y) = (samples.even(0.01, 10.0), samples.even(-10.0, 10.0));
        let error = (pow(x, y) / x.powf(y) - 1.0).abs();
        assert!(error < (1.0 + (y * x.ln()).abs()) * f64::EPSILON + 1e-16, "pow({x}, {y})");
    }
}

#[test]
fn hyperbolic_functions_are_within_their_bounds() {
    check("ln_1p", 3.0, ln_1p, f64::ln_1p, |s| s.even(-0.99, 3.0));
    check("ln_1p", 3.0, ln_1p, f64::ln_1p, |s| s.magnitude(1e-300, 1e300).abs());
    check("sinh", 4.0, sinh, f64::sinh, |s| s.even(-5.0, 5.0));
    check("sinh", 4.0, sinh, f64::sinh, |s| s.magnitude(1e-300, 700.0));
    check("cosh", 2.0, cosh, f64::cosh, |s| s.even(-21.0, 21.0));
    check("cosh", 4.0, cosh, f64::cosh, |s| s.even(-700.0, 700.0));
    check("asinh", 4.0, asinh, f64::asinh, |s| s.magnitude(1e-300, 1e150));
    // the standard library's loses its digits near -1
    let odd = |x: f64| x.abs().atanh().copysign(x);
    check("atanh", 4.0, atanh, odd, |s| s.even(-1.0, 1.0));
    check("atanh", 4.0, atanh, odd, |s| s.magnitude(1e-300, 1.0));
    for f in [ln_1p, sinh, asinh, atanh] {
        assert!(f(-0.0) == 0.0 && f(-0.0).is_sign_negative());
    }
    assert_eq!((ln_1p(-1.0), atanh(1.0), cosh(0.0)), (f64::NEG_INFINITY, f64::INFINITY, 1.0));
    assert_eq!((sinh(-800.0), cosh(800.0), ln_1p(f64::INFINITY)), (f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY));
    assert!(ln_1p(-1.1).is_nan() && atanh(1.1).is_nan());
}

#[test]
fn special_values_of_trigonometry() {
    let same = |found: f64, expected: f64| {
        assert!(found.to_bits() == expected.to_bits(), "found {found:?}, expected {expected:?}");
    };
    for (y, x) in [(0.0, 1.0), (0.0, 0.0), (0.0, -0.0), (0.0, -1.0), (1.0, 0.0), (1.0, -0.0), (1.0, 1.0), (1.0, -1.0)] {
        same(atan2(y, x), y.atan2(x));
        same(atan2(-y, x), (-y).atan2(x));
    }
    let inf = f64::INFINITY;
    for (y, x) in [(inf, inf), (inf, -inf), (inf, 1.0), (1.0, -inf)] {
        same(atan2(y, x), y.atan2(x));
        same(atan2(-y, x), (-y).atan2(x));
    }
    same(atan(inf), FRAC_PI_2);
    same(atan(-1.0), -FRAC_PI_4);
    same(asin(1.0), FRAC_PI_2);
    same(asin(-1.0), -FRAC_PI_2);
    same(acos(1.0), 0.0);
    same(acos(-1.0), PI);
    same(acos(-0.0), FRAC_PI_2);
    for zero in [0.0, -0.0] {
        for f in [sin, tan, atan, asin, exp_m1, tanh, round_nearest, floor, wrap_angle] {
            same(f(zero), zero);
        }
        same(cos(zero), 1.0);
        same(sinc(zero), 1.0);
    }
    assert!(asin(1.1).is_nan() && acos(-1.1).is_nan() && sin(inf).is_nan() && wrap_angle(-inf).is_nan());
}

#[test]
fn special_values_of_exponentials() {
    assert_eq!(exp(0.0), 1.0);
    assert_eq!(exp(-0.0), 1.0);
    assert_eq!(exp(f64::NEG_INFINITY), 0.0);
    assert_eq!(exp(f64::INFINITY), f64::INFINITY);
    assert_eq!(exp(709.8), f64::INFINITY);
    assert!(exp(709.78).is_finite());
    assert_eq!(exp_m1(f64::INFINITY), f64::INFINITY);
    assert_eq!(exp_m1(-1e9), -1.0);
    assert_eq!(ln(1.0).to_bits(), 0);
    assert_eq!(ln(0.0), f64::NEG_INFINITY);
    assert_eq!(ln(-0.0), f64::NEG_INFINITY);
    assert_eq!(ln(f64::INFINITY), f64::INFINITY);
    assert!(ln(-1.0).is_nan() && ln(f64::NEG_INFINITY).is_nan());
    assert_eq!((pow(0.0, 0.0), pow(0.0, 2.0), pow(7.0, 0.0)), (1.0, 0.0, 1.0));
    assert!(pow(-1.0, 2.0).is_nan() && pow(f64::NAN, 0.0).is_nan() && pow(1.0, f64::NAN).is_nan());
    assert_eq!((tanh(f64::INFINITY), tanh(-1e9)), (1.0, -1.0));
}

#[test]
fn nan_in_gives_nan_out() {
    for (name, f) in FUNCTIONS {
        assert!(f(f64::NAN).is_nan(), "{name}");
    }
    assert!(atan2(f64::NAN, 1.0).is_nan() && atan2(1.0, f64::NAN).is_nan() && atan2(f64::NAN, 0.0).is_nan());
    assert!(hypot2(f64::NAN, 1.0).is_nan() && clamp(f64::NAN, 0.0, 1.0).is_nan());
    assert_eq!((min(f64::NAN, 1.0), max(f64::NAN, 1.0)), (1.0, 1.0));
    assert!(normalize_quat(DQuat::from_xyzw(f64::NAN, 0.0, 0.0, 1.0)).w.is_nan());
}

#[test]
fn rounding_agrees_with_the_standard_library() {
    let mut samples = Samples(5);
    for _ in 0..COUNT {
        for x in [samples.magnitude(1e-3, 2e15), samples.even(-9.0, 9.0), (samples.bits() >> 58) as f64 * 0.5 - 16.0] {
            assert_eq!(round_nearest(x).to_bits(), x.round_ties_even().to_bits(), "round {x}");
            assert_eq!(floor(x).to_bits(), x.floor().to_bits(), "floor {x}");
            assert_eq!(clamp(x, -2.0, 3.0), x.clamp(-2.0, 3.0));
            assert_eq!((min(x, 1.0), max(x, 1.0)), (x.min(1.0), x.max(1.0)));
        }
    }
}

#[test]
fn wrapped_angles_are_equivalent_and_in_the_interval() {
    let mut samples = Samples(9);
    for _ in 0..COUNT {
        let x = samples.magnitude(1e-3, 1e6);
        let wrapped = wrap_angle(x);
        assert!(wrapped > -PI && wrapped <= PI, "{x}: {wrapped}");
        assert!((wrapped.sin() - x.sin()).abs() < 1e-15 && (wrapped.cos() - x.cos()).abs() < 1e-15, "{x}: {wrapped}");
        assert_eq!(wrap_angle(wrapped).to_bits(), wrapped.to_bits());
    }
    assert_eq!((wrap_angle(PI), wrap_angle(-PI)), (PI, PI));
    assert!(wrap_angle(PI + 1e-15) < -3.0 && wrap_angle(-PI - 1e-15) > 3.0);
}

#[test]
fn rotations_agree_with_glam() {
    let mut samples = Samples(11);
    for _ in 0..10_000 {
        let mut angle = || samples.even(-PI, PI);
        let (roll, pitch, yaw) = (angle(), 0.49 * angle(), angle());
        let q = quat_from_rpy(roll, pitch, yaw);
        let chain = DQuat::from_rotation_z(yaw) * DQuat::from_rotation_y(pitch) * DQuat::from_rotation_x(roll);
        assert!(q.abs_diff_eq(chain, 1e-15));
        let (r, p, y) = rpy_from_quat(q);
        assert!((r - roll).abs() < 1e-13 && (p - pitch).abs() < 1e-13 && (y - yaw).abs() < 1e-13);
        assert!((yaw_from_quat(quat_from_yaw(yaw)) - yaw).abs() < 1e-15);

        let v = DVec3::new(angle(), angle(), angle());
        assert!(rotate(q, v).abs_diff_eq(chain * v, 1e-14));
        assert!(rotate_inverse(q, rotate(q, v)).abs_diff_eq(v, 1e-14));
        assert!(quat_exp(v).abs_diff_eq(DQuat::from_scaled_axis(v), 1e-15));
        assert!(quat_from_axis_angle(v.normalize(), v.length()).abs_diff_eq(quat_exp(v), 1e-15));
        assert!((normalize_quat(q * 3.0).length() - 1.0).abs() < 1e-15);
    }
    assert_eq!(quat_exp(DVec3::ZERO), DQuat::IDENTITY);
    assert_eq!(normalize_quat(DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0)), DQuat::IDENTITY);
}

#[test]
fn gimbal_lock_keeps_the_rotation() {
    for pitch in [FRAC_PI_2, -FRAC_PI_2] {
        let q = quat_from_rpy(0.3, pitch, 1.1);
        let (r, p, y) = rpy_from_quat(q);
        assert_eq!(r, 0.0);
        assert!(quat_from_rpy(r, p, y).dot(q).abs() > 1.0 - 1e-14);
    }
}

type Function = fn(f64) -> f64;

/// The functions of one argument.
const FUNCTIONS: [(&str, Function); 24] = [
    ("sin", sin),
    ("cos", cos),
    ("sin of turns", |x| sin_cos_turns(x).0),
    ("cos of turns", |x| sin_cos_turns(x).1),
    ("tan", tan),
    ("atan", atan),
    ("asin", asin),
    ("acos", acos),
    ("exp", exp),
    ("exp_m1", exp_m1),
    ("ln", ln),
    ("ln_1p", ln_1p),
    ("sinh", sinh),
    ("cosh", cosh),
    ("tanh", tanh),
    ("asinh", asinh),
    ("atanh", atanh),
    ("wrap_angle", wrap_angle),
    ("round_nearest", round_nearest),
    ("floor", floor),
    ("sinc", sinc),
    ("pow", |x| pow(x, 5.2559)),
    ("atan2", |x| atan2(x, 1.5)),
    ("clamp", |x| clamp(x, -1.0, 2.0)),
];

/// Fills `$out` from `$x` with `$f` in one loop, so that it is inlined and vectorised.
macro_rules! columns {
    ($x:expr; $($f:expr),+ $(,)?) => {{
        let x: &[f64; 16] = $x;
        [$({
            let mut y = [0.0; 16];
            for i in 0..16 {
                y[i] = $f(x[i]);
            }
            y
        }),+]
    }};
}

#[inline(always)]
fn all_functions(x: &[f64; 16]) -> [[f64; 16]; 27] {
    columns!(x; sin, cos, tan, sinc, atan, asin, acos, exp, exp_m1, ln, ln_1p, sinh, cosh, tanh, asinh, atanh,
        wrap_angle, round_nearest, floor,
        |x| pow(x, 5.2559), |x| atan2(x, 0.7), |x| atan2(0.7, x), |x| hypot2(x, 3.0), |x| clamp(x, -1.0, 2.0),
        |x| min(x, 1.0) + max(2.0, x), |x| sin_cos_turns(x).0, |x| sin_cos_turns(x).1)
}

#[test]
fn scalar_and_vector_code_give_the_same_bits() {
    let wide = Simd::detect();
    println!("{wide}");
    let specials = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX, 5e-324, PI, -PI, 0.5];
    let mut samples = Samples(13);
    for round in 0..20_000 {
        let x: [f64; 16] = std::array::from_fn(|i| match (round, i % 4) {
            (0, _) => specials[i % specials.len()],
            (_, 0) => samples.even(-1.0, 1.0),
            (_, 1) => samples.magnitude(1e-300, 1e300),
            (_, 2) => samples.even(-1e6, 1e6),
            _ => samples.even(-800.0, 800.0),
        });
        let narrow = Simd::Scalar.run(
            #[inline(always)]
            || all_functions(&x),
        );
        let wide = wide.run(
            #[inline(always)]
            || all_functions(&x),
        );
        for (f, (a, b)) in narrow.iter().zip(&wide).enumerate() {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                assert!(a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()), "function {f} of {:e}", x[i]);
            }
        }
        // one number at a time, through function pointers, so not in a vector
        for (x, (sine, exponential)) in x.iter().zip(narrow[0].iter().zip(&narrow[7])) {
            let [sin, exp] = std::hint::black_box([sin as fn(f64) -> f64, exp]);
            assert!(sin(*x).to_bits() == sine.to_bits() || x.is_infinite() || x.is_nan());
            assert!(exp(*x).to_bits() == exponential.to_bits() || x.is_nan());
        }
    }
}
