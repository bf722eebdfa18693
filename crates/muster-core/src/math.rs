//! The one source of mathematics: every transcendental function of the simulation comes from here, because those of
//! the platform's library differ between systems and versions and are calls that no loop can be vectorised across.
//!
//! The functions are pure `f64` arithmetic without branches, loops, tables or fused multiply-add, and always inlined.
//! So a plain loop `for i in 0..n { y[i] = math::exp(x[i]) }` becomes vector code, and scalar, SSE2 and AVX2 builds of
//! it give the same bits: IEEE 754 fixes the result of `+ - * / sqrt` and of the selects, and Rust never contracts or
//! reorders them. (Only sign and payload of a NaN are left open.) See [`Simd`](crate::simd::Simd) for running one loop
//! with the widest registers of the machine.
//!
//! This module may not call `sin`, `exp`, `floor`, `mul_add`… of `f64`, nor glam's trigonometry.
//!
//! Methods: argument reduction after W. J. Cody and W. Waite, *Software Manual for the Elementary Functions* (1980),
//! rounding by adding and subtracting 1.5·2⁵², and polynomials interpolated at Chebyshev nodes in 70-digit
//! arithmetic, then rounded to `f64` (the interval and the error stand beside each). Errors are in ulps of the result,
//! against the exact value; the tests compare with the standard library on dense random samples.

/// `c0 + x (c1 + x (c2 + …))`, written out.
macro_rules! polynomial {
    ($x:expr; $c:expr) => { $c };
    ($x:expr; $c:expr, $($rest:expr),+ $(,)?) => { $c + $x * polynomial!($x; $($rest),+) };
}

mod exponential;
mod rotation;
mod rounding;
#[cfg(test)]
mod tests;
mod trigonometry;

pub use exponential::{asinh, atanh, cosh, exp, exp_m1, ln, ln_1p, pow, sinh, tanh};
pub use rotation::{
    normalize_quat, quat_exp, quat_from_axis_angle, quat_from_rpy, quat_from_yaw, rotate, rotate_inverse,
    rpy_from_quat, yaw_from_quat,
};
pub use rounding::{clamp, floor, max, min, round_nearest};
pub use trigonometry::{acos, asin, atan, atan2, cos, hypot2, sin, sin_cos, sin_cos_turns, sinc, tan, wrap_angle};
