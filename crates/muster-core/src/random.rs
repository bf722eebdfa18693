//! Random numbers from counters: a number is a pure function of (seed, component, index, draw), so it does not depend
//! on threads, on the order of execution, or on who else draws. The index is the tick or the number of the sample, the
//! draw numbers what one component needs at one index.
//!
//! The generator is Philox4x32-10 of J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, *Parallel random numbers:
//! as easy as 1, 2, 3* (SC 2011): a 128-bit counter, enciphered in ten rounds with a 64-bit key, gives 128 random bits.
//! Key: seed and component, mixed. Counter, from low to high: index (64 bits), draw (32), spare (32, zero). Normal
//! numbers follow G. E. P. Box and M. E. Muller (1958).
//!
//! Nothing here may keep state, ask the system for entropy, or be used for secrets.

use crate::math;

const MULTIPLIER_0: u64 = 0xD251_1F53;
const MULTIPLIER_1: u64 = 0xCD9E_8D57;
const WEYL_0: u32 = 0x9E37_79B9;
const WEYL_1: u32 = 0xBB67_AE85;
const LOW_32: u64 = 0xFFFF_FFFF;

/// The random numbers of one component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// The stream of `component` (see [`id_of`] and [`combine`]) in runs with `seed`.
    pub fn new(seed: u64, component: u64) -> Self {
        Self { key: combine(seed, component) }
    }

    /// What tells this stream from others, for [`normals_lanes`].
    pub fn key(self) -> u64 {
        self.key
    }

    /// 128 random bits.
    #[inline(always)]
    pub fn bits(self, index: u64, draw: u32) -> [u32; 4] {
        philox(self.key, index, draw).map(|word| word as u32)
    }

    /// Four numbers even over the open interval (0, 1), multiples of 2⁻³² plus 2⁻³³.
    #[inline(always)]
    pub fn uniforms(self, index: u64, draw: u32) -> [f64; 4] {
        philox(self.key, index, draw).map(uniform)
    }

    /// Four independent numbers of the normal distribution with mean 0 and variance 1; none is beyond ±6.77.
    #[inline(always)]
    pub fn normals(self, index: u64, draw: u32) -> [f64; 4] {
        normals(self.key, index, draw)
    }
}

/// The [`Stream::normals`] of the first `n` lanes: `out[k][lane]` is the k-th normal of the stream with `keys[lane]` at
/// `index[lane]`, with the same bits. The other lanes of `out` are left alone.
#[inline(always)]
pub fn normals_lanes<const L: usize>(keys: &[u64; L], index: &[u64; L], draw: u32, out: &mut [[f64; L]; 4], n: usize) {
    let [first, second, third, fourth] = out;
    for lane in 0..n.min(L) {
        let [a, b, c, d] = normals(keys[lane], index[lane], draw);
        first[lane] = a;
        second[lane] = b;
        third[lane] = c;
        fourth[lane] = d;
    }
}

/// A stable number for the name of a component: FNV-1a (Fowler, Noll, Vo; 64 bits) over its bytes, then mixed, as
/// FNV alone leaves similar names with similar high bits. Distinct for all practical sets of names.
pub fn id_of(text: &str) -> u64 {
    let hash = text
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3));
    mix(hash)
}

/// One number from two, each bit depending on all bits of both; the order matters. Nests for longer paths:
/// `combine(combine(robot, sensor), axis)`.
#[inline(always)]
pub fn combine(a: u64, b: u64) -> u64 {
    mix(mix(a).wrapping_add(0x9E37_79B9_7F4A_7C15) ^ b)
}

/// The finaliser of SplitMix64 (variant 13 of D. Stafford's): a bijection in which every bit of the argument flips half
/// of the result.
#[inline(always)]
fn mix(a: u64) -> u64 {
    let a = (a ^ (a >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let a = (a ^ (a >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    a ^ (a >> 31)
}

/// Philox4x32-10 with a spare counter word of zero. The words stay in 64-bit lanes, where the widening product is one
/// vector instruction.
#[inline(always)]
fn philox(key: u64, index: u64, draw: u32) -> [u64; 4] {
    philox_words([index & LOW_32, index >> 32, u64::from(draw), 0], key)
}

/// Philox4x32-10 on four words below 2³²; the low half of `key` is its first word.
#[inline(always)]
fn philox_words(counter: [u64; 4], key: u64) -> [u64; 4] {
    #[inline(always)]
    fn round(x: [u64; 4], key_0: u64, key_1: u64) -> [u64; 4] {
        let (p0, p1) = (MULTIPLIER_0 * x[0], MULTIPLIER_1 * x[2]);
        [(p1 >> 32) ^ x[1] ^ key_0, p1 & LOW_32, (p0 >> 32) ^ x[3] ^ key_1, p0 & LOW_32]
    }

    let (key_0, key_1) = (key & LOW_32, key >> 32);
    // the key of round i, written without a chain, so that the ten rounds unroll
    let key_at = |i: u32| {
        let (weyl_0, weyl_1) = (u64::from(WEYL_0.wrapping_mul(i)), u64::from(WEYL_1.wrapping_mul(i)));
        ((key_0 + weyl_0) & LOW_32, (key_1 + weyl_1) & LOW_32)
    };
    let mut x = counter;
    for i in 0..10 {
        let (key_0, key_1) = key_at(i);
        x = round(x, key_0, key_1);
    }
    x
}

/// `(word + ½) 2⁻³²` for a word below 2³²: exact, and neither 0 nor 1.
#[inline(always)]
fn uniform(word: u64) -> f64 {
    const TWO_52: f64 = (1_u64 << 52) as f64;
    const SCALE: f64 = 1.0 / (1_u64 << 32) as f64;
    (f64::from_bits(word | TWO_52.to_bits()) - (TWO_52 - 0.5)) * SCALE
}

/// Two pairs of normals from the four words.
#[inline(always)]
fn normals(key: u64, index: u64, draw: u32) -> [f64; 4] {
    let [a, b, c, d] = philox(key, index, draw).map(uniform);
    let (first, second) = box_muller(a, b);
    let (third, fourth) = box_muller(c, d);
    [first, second, third, fourth]
}

/// Two independent normals from two independent uniforms.
#[inline(always)]
fn box_muller(a: f64, b: f64) -> (f64, f64) {
    let radius = (-2.0 * math::ln_normal(a)).sqrt();
    let (s, c) = math::sin_cos_turns(b);
    (radius * c, radius * s)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::simd::Simd;

    /// The known answers of the authors' library Random123 (`tests/kat_vectors`).
    #[test]
    fn philox_gives_the_published_answers() {
        let check = |counter: [u64; 4], key: u64, expected: [u64; 4]| assert_eq!(philox_words(counter, key), expected);
        check([0; 4], 0, [0x6627_E8D5, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8]);
        check([LOW_32; 4], u64::MAX, [0x408F_276D, 0x41C8_3B0E, 0xA20B_C7C6, 0x6D54_51FD]);
        check(
            [0x243F_6A88, 0x85A3_08D3, 0x1319_8A2E, 0x0370_7344],
            0x299F_31D0_A409_3822,
            [0xD16C_FE09, 0x94FD_CCEB, 0x5001_E420, 0x2412_6EA1],
        );
        let stream = Stream { key: 0 };
        assert_eq!(stream.bits(0, 0), [0x6627_E8D5, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8]);
    }

    #[test]
    fn uniforms_are_open_and_even() {
        assert_eq!((uniform(0), uniform(LOW_32)), (2.0_f64.powi(-33), 1.0 - 2.0_f64.powi(-33)));
        let stream = Stream::new(1, id_of("uniforms"));
        let mut bins = [0_u32; 100];
        for index in 0..250_000 {
            for u in stream.uniforms(index, 0) {
                bins[(u * 100.0) as usize] += 1;
            }
        }
        // χ² with 99 degrees of freedom is below 149 with probability 0.999
        let chi_square: f64 = bins.iter().map(|&bin| (f64::from(bin) - 1e4).powi(2) / 1e4).sum();
        assert!(chi_square < 149.0, "{chi_square}");
    }

    #[test]
    fn normals_have_the_moments_and_tails_of_the_normal_distribution() {
        let stream = Stream::new(7, id_of("scout0/imu"));
        let values: Vec<f64> = (0..1_000_000).flat_map(|index| stream.normals(index, 3)).collect();
        let count = values.len() as f64;
        let moment = |power: i32| values.iter().map(|x| x.powi(power)).sum::<f64>() / count;
        let beyond = |sigma: f64| values.iter().filter(|x| x.abs() > sigma).count() as f64 / count;
        // expected value and standard error of each estimate
        let check = |name: &str, found: f64, expected: f64, error: f64| {
            println!("{name}: {found} (expected {expected} ± {error})");
            assert!((found - expected).abs() < 4.0 * error, "{name}: {found}, expected {expected} ± {error}");
        };
        let of_moment = |variance: f64| (variance / count).sqrt();
        check("mean", moment(1), 0.0, of_moment(1.0));
        check("variance", moment(2), 1.0, of_moment(2.0));
        check("third moment", moment(3), 0.0, of_moment(15.0));
        check("kurtosis", moment(4), 3.0, of_moment(96.0));
        for (sigma, p) in [(1.0, 0.317_310_5), (2.0, 0.045_500_26), (3.0, 2.699_796e-3), (4.0, 6.334_248e-5)] {
            check("tail", beyond(sigma), p, (p / count).sqrt());
        }
        assert!(values.iter().all(|x| x.abs() < 6.77));
    }

    /// The correlation of `a` and `b` over many indices stays within four standard errors of 0.
    fn check_uncorrelated(name: &str, a: impl Fn(u64) -> f64, b: impl Fn(u64) -> f64) {
        const COUNT: u64 = 200_000;
        let correlation = (0..COUNT).map(|index| a(index) * b(index)).sum::<f64>() / COUNT as f64;
        assert!(correlation.abs() < 4.0 / (COUNT as f64).sqrt(), "{name}: {correlation}");
    }

    #[test]
    fn streams_indices_draws_and_outputs_are_independent() {
        let one = Stream::new(7, 1);
        let first = |stream: Stream| move |index| stream.normals(index, 0)[0];
        check_uncorrelated("component", first(one), first(Stream::new(7, 2)));
        check_uncorrelated("seed", first(one), first(Stream::new(8, 1)));
        check_uncorrelated("swapped", first(one), first(Stream::new(1, 7)));
        check_uncorrelated("index", first(one), move |index| one.normals(index + 1, 0)[0]);
        check_uncorrelated("high index", first(one), move |index| one.normals(index | 1 << 40, 0)[0]);
        check_uncorrelated("draw", first(one), move |index| one.normals(index, 1)[0]);
        for other in 1..4 {
            check_uncorrelated("output", first(one), move |index| one.normals(index, 0)[other]);
            let square = move |k: usize| move |index| one.normals(index, 0)[k].powi(2) - 1.0;
            check_uncorrelated("half the product of squares", |i| 0.5 * square(0)(i), square(other));
        }
    }

    #[test]
    fn names_and_pairs_have_distinct_numbers() {
        let mut seen = BTreeSet::new();
        for i in 0..100_000_u64 {
            assert!(seen.insert(id_of(&format!("scout{i}/imu"))));
            assert!(seen.insert(combine(i, 7)) && seen.insert(combine(1 << 40, i)));
        }
        assert_ne!(combine(1, 2), combine(2, 1));
        // recordings and goldens depend on these
        assert_eq!(id_of(""), 0xF52A_15E9_A9B5_E89B);
        assert_eq!(id_of("scout0"), 0xA1D5_ED9F_D62C_1D3E);
        assert_eq!(combine(1, 2), 0xF36F_78EE_23D3_031C);
    }

    #[test]
    fn one_bit_of_a_name_changes_half_of_its_number() {
        let flips: u32 = (0..1000).map(|i| (id_of(&format!("a{i}")) ^ id_of(&format!("c{i}"))).count_ones()).sum();
        assert!((31_000..33_000).contains(&flips), "{flips}");
    }

    #[test]
    fn lanes_give_the_bits_of_streams_on_every_register_width() {
        let streams: [Stream; 16] = std::array::from_fn(|lane| Stream::new(3, lane as u64));
        let keys = streams.map(Stream::key);
        for round in 0..2_000_u64 {
            let index: [u64; 16] = std::array::from_fn(|lane| round.wrapping_mul(0x1_2345_6789) + lane as u64);
            let (draw, n) = (round as u32 % 5, 16 - (round % 4) as usize);
            let [narrow, wide] = [Simd::Scalar, Simd::detect()].map(|simd| {
                let mut out = [[f64::MAX; 16]; 4];
                simd.run(
                    #[inline(always)]
                    || normals_lanes(&keys, &index, draw, &mut out, n),
                );
                out
            });
            for lane in 0..16 {
                let alone = if lane < n { streams[lane].normals(index[lane], draw) } else { [f64::MAX; 4] };
                for k in 0..4 {
                    assert_eq!(narrow[k][lane].to_bits(), alone[k].to_bits());
                    assert_eq!(wide[k][lane].to_bits(), alone[k].to_bits());
                }
            }
        }
    }
}
