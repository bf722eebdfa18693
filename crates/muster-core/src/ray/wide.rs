//! Eight numbers at once. Kernels are written once over [`Wide`] and run on plain arrays or on AVX registers, with the same
//! bits: every operation is one IEEE operation on each lane, and comparisons treat what is not a number alike.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// Numbers in a register.
pub(crate) const WIDTH: usize = 8;

/// Eight numbers.
pub(crate) trait Wide:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Proof that the processor can do it.
    type Token: Copy;
    /// Eight truths.
    type Mask: Copy;
    /// One of the numbers.
    type Real: Copy;

    fn splat(token: Self::Token, value: Self::Real) -> Self;
    fn load(token: Self::Token, values: &[Self::Real; WIDTH]) -> Self;
    fn store(self, values: &mut [Self::Real; WIDTH]);
    /// A number for constants.
    fn real(value: f64) -> Self::Real;
    /// The smaller; the second if one is not a number.
    fn min(self, other: Self) -> Self;
    /// The larger; the second if one is not a number.
    fn max(self, other: Self) -> Self;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    fn lt(self, other: Self) -> Self::Mask;
    fn le(self, other: Self) -> Self::Mask;
    fn both(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    fn either(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Lane by lane `self` where true, otherwise `other`.
    fn where_or(self, mask: Self::Mask, other: Self) -> Self;
    /// A bit a lane.
    fn bits(self, mask: Self::Mask) -> u32;

    /// Runs work in a function of its own. What is merely inlined is compiled over and over, and what is called through a
    /// closure is compiled without the registers it is meant for.
    fn apart(token: Self::Token, work: impl Work<Self>);

    /// A constant.
    #[inline(always)]
    fn constant(token: Self::Token, value: f64) -> Self {
        Self::splat(token, Self::real(value))
    }
}

/// Work on registers of a kind.
pub(crate) trait Work<W: Wide> {
    /// Does it. Must be inlined.
    fn run(self, token: W::Token);
}

/// Three of them.
pub(crate) type Wide3<W> = [W; 3];

#[inline(always)]
pub(crate) fn dot<W: Wide>(a: Wide3<W>, b: Wide3<W>) -> W {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
pub(crate) fn cross<W: Wide>(a: Wide3<W>, b: Wide3<W>) -> Wide3<W> {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[inline(always)]
pub(crate) fn sub3<W: Wide>(a: Wide3<W>, b: Wide3<W>) -> Wide3<W> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
pub(crate) fn add3<W: Wide>(a: Wide3<W>, b: Wide3<W>) -> Wide3<W> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

#[inline(always)]
pub(crate) fn splat3<W: Wide>(token: W::Token, values: [W::Real; 3]) -> Wide3<W> {
    [W::splat(token, values[0]), W::splat(token, values[1]), W::splat(token, values[2])]
}

#[inline(always)]
pub(crate) fn load3<W: Wide>(token: W::Token, columns: &[[W::Real; WIDTH]; 3]) -> Wide3<W> {
    [W::load(token, &columns[0]), W::load(token, &columns[1]), W::load(token, &columns[2])]
}

/// Eight numbers in an array.
#[derive(Clone, Copy)]
pub(crate) struct Plain<T>(pub(crate) [T; WIDTH]);

macro_rules! plain {
    ($real:ty) => {
        impl Add for Plain<$real> {
            type Output = Self;
            #[inline(always)]
            fn add(mut self, other: Self) -> Self {
                for lane in 0..WIDTH {
                    self.0[lane] += other.0[lane];
                }
                self
            }
        }

        impl Sub for Plain<$real> {
            type Output = Self;
            #[inline(always)]
            fn sub(mut self, other: Self) -> Self {
                for lane in 0..WIDTH {
                    self.0[lane] -= other.0[lane];
                }
                self
            }
        }

        impl Mul for Plain<$real> {
            type Output = Self;
            #[inline(always)]
            fn mul(mut self, other: Self) -> Self {
                for lane in 0..WIDTH {
                    self.0[lane] *= other.0[lane];
                }
                self
            }
        }

        impl Div for Plain<$real> {
            type Output = Self;
            #[inline(always)]
            fn div(mut self, other: Self) -> Self {
                for lane in 0..WIDTH {
                    self.0[lane] /= other.0[lane];
                }
                self
            }
        }

        impl Neg for Plain<$real> {
            type Output = Self;
            #[inline(always)]
            fn neg(mut self) -> Self {
                for lane in 0..WIDTH {
                    self.0[lane] = -self.0[lane];
                }
                self
            }
        }

        impl Wide for Plain<$real> {
            type Token = ();
            type Mask = [bool; WIDTH];
            type Real = $real;

            #[inline(never)]
            fn apart((): (), work: impl Work<Self>) {
                work.run(());
            }

            #[inline(always)]
            fn splat((): (), value: $real) -> Self {
                Self([value; WIDTH])
            }

            #[inline(always)]
            fn load((): (), values: &[$real; WIDTH]) -> Self {
                Self(*values)
            }

            #[inline(always)]
            fn store(self, values: &mut [$real; WIDTH]) {
                *values = self.0;
            }

            #[inline(always)]
            fn real(value: f64) -> $real {
                value as $real
            }

            #[inline(always)]
            fn min(mut self, other: Self) -> Self {
                for lane in 0..WIDTH {
                    self.0[lane] = if self.0[lane] < other.0[lane] { self.0[lane] } else { other.0[lane] };
                }
                self
            }

            #[inline(always)]
            fn max(mut self, other: Self) -> Self {
                for lane in 0..WIDTH {
                    self.0[lane] = if self.0[lane] > other.0[lane] { self.0[lane] } else { other.0[lane] };
                }
                self
            }

            #[inline(always)]
            fn abs(mut self) -> Self {
                for lane in 0..WIDTH {
                    self.0[lane] = self.0[lane].abs();
                }
                self
            }

            #[inline(always)]
            fn sqrt(mut self) -> Self {
                for lane in 0..WIDTH {
                    self.0[lane] = self.0[lane].sqrt();
                }
                self
            }

            #[inline(always)]
            fn lt(self, other: Self) -> [bool; WIDTH] {
                let mut mask = [false; WIDTH];
                for lane in 0..WIDTH {
                    mask[lane] = self.0[lane] < other.0[lane];
                }
                mask
            }

            #[inline(always)]
            fn le(self, other: Self) -> [bool; WIDTH] {
                let mut mask = [false; WIDTH];
                for lane in 0..WIDTH {
                    mask[lane] = self.0[lane] <= other.0[lane];
                }
                mask
            }

            #[inline(always)]
            fn both(self, a: [bool; WIDTH], b: [bool; WIDTH]) -> [bool; WIDTH] {
                let mut mask = [false; WIDTH];
                for lane in 0..WIDTH {
                    mask[lane] = a[lane] & b[lane];
                }
                mask
            }

            #[inline(always)]
            fn either(self, a: [bool; WIDTH], b: [bool; WIDTH]) -> [bool; WIDTH] {
                let mut mask = [false; WIDTH];
                for lane in 0..WIDTH {
                    mask[lane] = a[lane] | b[lane];
                }
                mask
            }

            #[inline(always)]
            fn where_or(mut self, mask: [bool; WIDTH], other: Self) -> Self {
                for lane in 0..WIDTH {
                    self.0[lane] = if mask[lane] { self.0[lane] } else { other.0[lane] };
                }
                self
            }

            #[inline(always)]
            fn bits(self, mask: [bool; WIDTH]) -> u32 {
                let mut bits = 0;
                for lane in 0..WIDTH {
                    bits |= u32::from(mask[lane]) << lane;
                }
                bits
            }
        }
    };
}

plain!(f32);
plain!(f64);

/// The widest registers that may be there.
#[cfg(target_arch = "x86_64")]
pub(crate) type Fastest = avx::Avx;
/// The widest registers that may be there.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type Fastest = Plain<f32>;

/// Eight numbers in an AVX register.
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx {
    use super::{Add, Div, Mul, Neg, Sub, WIDTH, Wide, Work};
    use pulp::x86::V3;
    use std::arch::x86_64::{__m256, _CMP_LE_OQ, _CMP_LT_OQ};

    /// Eight numbers in an AVX register, with the proof that there is one.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx(V3, __m256);

    impl Add for Avx {
        type Output = Self;
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            Self(self.0, self.0.avx._mm256_add_ps(self.1, other.1))
        }
    }

    impl Sub for Avx {
        type Output = Self;
        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            Self(self.0, self.0.avx._mm256_sub_ps(self.1, other.1))
        }
    }

    impl Mul for Avx {
        type Output = Self;
        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            Self(self.0, self.0.avx._mm256_mul_ps(self.1, other.1))
        }
    }

    impl Div for Avx {
        type Output = Self;
        #[inline(always)]
        fn div(self, other: Self) -> Self {
            Self(self.0, self.0.avx._mm256_div_ps(self.1, other.1))
        }
    }

    impl Neg for Avx {
        type Output = Self;
        #[inline(always)]
        fn neg(self) -> Self {
            Self(self.0, self.0.avx._mm256_xor_ps(self.1, self.0.avx._mm256_set1_ps(-0.0)))
        }
    }

    impl Wide for Avx {
        type Token = V3;
        type Mask = __m256;
        type Real = f32;

        #[inline(always)]
        fn apart(token: V3, work: impl Work<Self>) {
            struct Apart<T>(V3, T);
            impl<T: Work<Avx>> pulp::NullaryFnOnce for Apart<T> {
                type Output = ();
                #[inline(always)]
                fn call(self) {
                    self.1.run(self.0);
                }
            }
            token.vectorize(Apart(token, work));
        }

        #[inline(always)]
        fn splat(token: V3, value: f32) -> Self {
            Self(token, token.avx._mm256_set1_ps(value))
        }

        #[inline(always)]
        fn load(token: V3, values: &[f32; WIDTH]) -> Self {
            Self(token, pulp::cast(*values))
        }

        #[inline(always)]
        fn store(self, values: &mut [f32; WIDTH]) {
            *values = pulp::cast(self.1);
        }

        #[inline(always)]
        fn real(value: f64) -> f32 {
            value as f32
        }

        #[inline(always)]
        fn min(self, other: Self) -> Self {
            Self(self.0, self.0.avx._mm256_min_ps(self.1, other.1))
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            Self(self.0, self.0.avx._mm256_max_ps(self.1, other.1))
        }

        #[inline(always)]
        fn abs(self) -> Self {
            Self(self.0, self.0.avx._mm256_andnot_ps(self.0.avx._mm256_set1_ps(-0.0), self.1))
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            Self(self.0, self.0.avx._mm256_sqrt_ps(self.1))
        }

        #[inline(always)]
        fn lt(self, other: Self) -> __m256 {
            self.0.avx._mm256_cmp_ps::<_CMP_LT_OQ>(self.1, other.1)
        }

        #[inline(always)]
        fn le(self, other: Self) -> __m256 {
            self.0.avx._mm256_cmp_ps::<_CMP_LE_OQ>(self.1, other.1)
        }

        #[inline(always)]
        fn both(self, a: __m256, b: __m256) -> __m256 {
            self.0.avx._mm256_and_ps(a, b)
        }

        #[inline(always)]
        fn either(self, a: __m256, b: __m256) -> __m256 {
            self.0.avx._mm256_or_ps(a, b)
        }

        #[inline(always)]
        fn where_or(self, mask: __m256, other: Self) -> Self {
            Self(self.0, self.0.avx._mm256_blendv_ps(other.1, self.1, mask))
        }

        #[inline(always)]
        fn bits(self, mask: __m256) -> u32 {
            self.0.avx._mm256_movemask_ps(mask) as u32
        }
    }
}
