//! Random numbers from counters: a number is a pure function of (seed, component, index, draw), so it does not depend
//! on threads, on the order of execution, or on who else draws. The index is the tick or the number of the sample, the
//! draw numbers what one component needs at one index.
//!
//! The generator is Philox4x32-10 of J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, *Parallel random numbers:
//! as easy as 1, 2, 3* (SC 2011): a 128-bit counter, enciphered in ten rounds with a 64-bit key, gives 128 random bits.
//! Key: seed and component, mixed. Counter, from low to high: index (64 bits), draw (32), spare (32, zero). Normal
//! numbers follow G. E. P. Box and M. E. Muller (1958), with logarithm, sine and cosine to 10 digits.
//!
//! Nothing here may keep state, ask the system for entropy, or be used for secrets.

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

    /// The stream with this key, as components receive it.
    #[inline(always)]
    pub fn from_key(key: u64) -> Self {
        Self { key }
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

/// The first `K` of the [`Stream::normals`] of the first `n` lanes: `out[k][lane]` is the k-th normal of the stream with
/// `keys[lane]` at `index`, with the same bits. The other lanes of `out` are left alone.
#[inline(always)]
pub fn normals_lanes<const L: usize, const K: usize>(
    keys: &[u64; L],
    index: u64,
    draw: u32,
    out: &mut [[f64; L]; K],
    n: usize,
) {
    for lane in 0..n.min(L) {
        let normals = normals(keys[lane], index, draw);
        for k in 0..K.min(4) {
            out[k][lane] = normals[k];
        }
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

/// Philox4x32-10 on four words below 2³²; the low half of `key` is its first word. Between rounds only the low halves of
/// words and keys mean anything: the widening product takes no more, so nothing needs to be masked.
#[inline(always)]
fn philox_words(counter: [u64; 4], key: u64) -> [u64; 4] {
    #[inline(always)]
    fn round(x: [u64; 4], key_0: u64, key_1: u64) -> [u64; 4] {
        let (p0, p1) = (MULTIPLIER_0 * (x[0] & LOW_32), MULTIPLIER_1 * (x[2] & LOW_32));
        [(p1 >> 32) ^ x[1] ^ key_0, p1, (p0 >> 32) ^ x[3] ^ key_1, p0]
    }

    let mut x = counter;
    for i in 0..10 {
        // the key of round i, written without a chain, so that the ten rounds unroll
        let (weyl_0, weyl_1) = (u64::from(WEYL_0.wrapping_mul(i)), u64::from(WEYL_1.wrapping_mul(i)));
        x = round(x, key.wrapping_add(weyl_0), (key >> 32).wrapping_add(weyl_1));
    }
    x.map(|word| word & LOW_32)
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
    let [a, b, c, d] = philox(key, index, draw);
    let (first, second) = box_muller(a, b);
    let (third, fourth) = box_muller(c, d);
    [first, second, third, fourth]
}

/// Two independent normals from two independent words: of the second, 30 bits are an angle between ±45°, and the other
/// two tell which of the four quarters of the circle it lies in, by a reflection and a change of signs.
#[inline(always)]
fn box_muller(a: u64, b: u64) -> (f64, f64) {
    const TWO_51: f64 = (1_u64 << 51) as f64;
    const TWO_30: f64 = (1_u64 << 30) as f64;
    const ANGLE: u64 = 0x7FFF_FFFE;
    // bits 1 to 30, as the last bit of numbers from 2⁵¹ on counts one half
    let angle = f64::from_bits((b & ANGLE) | TWO_51.to_bits()) - (TWO_51 + (0.5 * TWO_30 - 0.5));
    let (sine, cosine) = sin_cos_quarter(angle * (1.0 / TWO_30));
    let radius = minus_two_ln(uniform(a)).sqrt();
    let radius = f64::from_bits(radius.to_bits() ^ (b << 63));
    let reflected = ((b << 32) as i64) < 0;
    if reflected { (radius * sine, radius * cosine) } else { (radius * cosine, radius * sine) }
}

/// Sine and cosine of `x` quarters of a turn, |x| ≤ ½; relative errors 2⁻³⁷ and 2⁻³³. (Interpolated like the polynomials
/// of [`math`](crate::math); angles have 30 bits.)
#[inline(always)]
fn sin_cos_quarter(x: f64) -> (f64, f64) {
    let z = x * x;
    let sine = 1.5707963267881
        + z * (-0.6459640961467954
            + z * (0.07969258272563062 + z * (-0.004681266256726245 + z * 0.00015820630355647733)));
    let cosine = 0.9999999999524894
        + z * (-1.2337005406331623 + z * (0.2536692036551135 + z * (-0.02086006950026408 + z * 0.0009036280663802505)));
    (x * sine, cosine)
}

/// `-2 ln x` for positive normal x, relative error 2⁻³⁷: x = 2ᵏ m with m in [√½, √2), s = (m - 1)/(m + 1), and
/// ln m = 2 atanh s = 2 s + ⅔ s³ + …
#[inline(always)]
fn minus_two_ln(x: f64) -> f64 {
    const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const ONE: u64 = 1.0_f64.to_bits();
    const FRACTION: u64 = (1 << 52) - 1;
    const TWO_52: f64 = (1_u64 << 52) as f64;

    let shifted = x.to_bits().wrapping_add(ONE - SQRT_HALF);
    let k = f64::from_bits((shifted >> 52) | TWO_52.to_bits()) - (TWO_52 + 1023.0);
    let m = f64::from_bits((shifted & FRACTION) + SQRT_HALF);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let series = -4.000000000016719
        + z * (-1.3333333049497504 + z * (-0.8000076934475038 + z * (-0.5707010207563262 + z * -0.4723271819829197)));
    k * (-2.0 * std::f64::consts::LN_2) + s * series
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::math;
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
    fn logarithm_sine_and_cosine_have_ten_digits() {
        let stream = Stream::new(2, 1);
        for index in 0..50_000 {
            for u in stream.uniforms(index, 0).into_iter().chain([2.0_f64.powi(-33), 0.5, 1.0 - 2.0_f64.powi(-33)]) {
                assert!((minus_two_ln(u) / (-2.0 * math::ln(u)) - 1.0).abs() < 1e-11, "{u}");
                let ((s, c), x) = (sin_cos_quarter(u - 0.5), (u - 0.5) * std::f64::consts::FRAC_PI_2);
                assert!((s - math::sin(x)).abs() < 1e-10 && (c - math::cos(x)).abs() < 1e-10, "{u}");
            }
        }
    }

    #[test]
    fn the_two_normals_of_a_pair_point_evenly_in_all_directions() {
        let stream = Stream::new(4, id_of("directions"));
        let mut bins = [0_u32; 64];
        for index in 0..160_000 {
            let [a, b, c, d] = stream.normals(index, 0);
            for turn in [math::atan2(b, a), math::atan2(d, c)].map(|angle| angle / std::f64::consts::TAU + 0.5) {
                bins[(turn * 64.0) as usize % 64] += 1;
            }
        }
        // χ² with 63 degrees of freedom is below 104 with probability 0.999
        let chi_square: f64 = bins.iter().map(|&bin| (f64::from(bin) - 5e3).powi(2) / 5e3).sum();
        assert!(chi_square < 104.0, "{chi_square}");
    }

    #[test]
    fn lanes_give_the_bits_of_streams_on_every_register_width() {
        let streams: [Stream; 16] = std::array::from_fn(|lane| Stream::new(3, lane as u64));
        let keys = streams.map(Stream::key);
        for round in 0..2_000_u64 {
            let index = round.wrapping_mul(0x1_2345_6789);
            let (draw, n) = (round as u32 % 5, 16 - (round % 4) as usize);
            let [narrow, wide] = [Simd::Scalar, Simd::detect()].map(|simd| {
                let mut out = [[f64::MAX; 16]; 4];
                simd.run(
                    #[inline(always)]
                    || normals_lanes(&keys, index, draw, &mut out, n),
                );
                out
            });
            for lane in 0..16 {
                let alone = if lane < n { streams[lane].normals(index, draw) } else { [f64::MAX; 4] };
                for k in 0..4 {
                    assert_eq!(narrow[k][lane].to_bits(), alone[k].to_bits());
                    assert_eq!(wide[k][lane].to_bits(), alone[k].to_bits());
                }
            }
        }
    }
}
