//! Runs one plain loop with the widest registers the machine has, chosen at run time and without unsafe code here: the
//! crate `pulp` holds the proof of what the processor can do and the function compiled for it.
//!
//! The choice may not change results. Loops of IEEE arithmetic and of [`math`](crate::math) keep this promise by
//! themselves, since Rust neither contracts to fused multiply-add nor reorders sums.

/// What a loop is compiled for. A byte to copy; made once and handed down.
#[derive(Debug, Clone, Copy)]
pub enum Simd {
    /// What the binary is built for, SSE2 on x86-64.
    Scalar,
    /// x86-64-v3: 256-bit registers. The token proves that the processor has them.
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
}

impl Simd {
    /// The widest this processor can do.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = pulp::x86::V3::try_new() {
            return Self::Avx2(token);
        }
        Self::Scalar
    }

    /// Runs `kernel`, compiled for these registers.
    ///
    /// Only what is inlined into the kernel is, so mark the closure `#[inline(always)]`, as well as what it calls:
    ///
    /// ```
    /// use muster_core::{math, simd::Simd};
    ///
    /// let (x, mut y) = ([0.5; 16], [0.0; 16]);
    /// Simd::detect().run(#[inline(always)] || {
    ///     for i in 0..16 {
    ///         y[i] = math::exp(x[i]);
    ///     }
    /// });
    /// assert_eq!(y[15].to_bits(), math::exp(0.5).to_bits());
    /// ```
    #[inline(always)]
    pub fn run<R>(self, kernel: impl FnOnce() -> R) -> R {
        match self {
            Self::Scalar => kernel(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => token.vectorize(kernel),
        }
    }
}

impl std::fmt::Display for Simd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
        })
    }
}
