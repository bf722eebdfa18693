//! The second step of range sensing: what a real sensor makes of perfect distances. Pure functions of the hits, the
//! materials, a random stream and the number of the sample; they do not know how the hits were found.
//!
//! In this order: what is not seen at all ([`hide`]); mixed pixels and crosstalk over the scan; bias, noise, loss and
//! outliers of each ray ([`spoil`]); range limits and quantisation ([`finish`]).
//!
//! - Noise of a ray of length r is normal with standard deviation `noise_m + noise_per_m r + noise_per_m2 r²`, times the
//!   material's factor. Loss and random readings are those of the beam model (S. Thrun, W. Burgard, D. Fox, *Probabilistic
//!   Robotics*, 2005, section 6.3).
//! - The light that comes back from a surface is `ρ ((1 − s) cos θ + s (n + 2)/2 cosⁿ 2θ)`, relative to a white matt surface
//!   met squarely: Lambert's law for the scattered share, B. T. Phong's lobe (1975) with the usual normalisation for the
//!   mirrored share s; as light and eye are in one place, the mirrored ray misses the eye by 2θ. What the receiver gets falls
//!   with 1/r² (B. Höfle, N. Pfeifer, *Correction of laser scanning intensity data*, ISPRS J. 62, 2007); devices
//!   that sell it as reflectivity take that out (Velodyne's VLP-16).
//! - A sensor that sees a matt surface of reflectivity ρ₀ up to r₀ sees others as long as they send back no less light:
//!   up to `r₀ √(ρ/ρ₀)` if met squarely.
//! - Mixed pixels: a beam that meets an edge reads something between the two surfaces (C. Ye, J. Borenstein,
//!   *Characterization of a 2-D laser scanner for mobile robot obstacle negotiation*, ICRA 2002).

use muster_core::material::Material;
use muster_core::math;
use muster_core::random::Stream;
use muster_core::simd::Simd;
use muster_core::{choice, spec};

choice! {
    /// How true to reality ranges are.
    pub enum Accuracy {
        /// Exact distances, whatever errors are configured.
        Perfect = "perfect",
        /// With the errors of the sensor.
        Sensor = "sensor",
        /// With those of the sensor and of the materials that rays meet.
        Material = "material",
    }
}

spec! {
    /// What a range sensor gets wrong.
    pub struct Errors {
        /// Added to every range.
        bias_m: f64 = 0.0, in -100..=100;
        /// Share of the range added to it.
        bias_per_m: f64 = 0.0, in -1..=1;
        /// Standard deviation of the noise at range 0.
        noise_m: f64 = 0.0, in 0.0..=100;
        /// Growth of the standard deviation with range.
        noise_per_m: f64 = 0.0, in 0.0..=10;
        /// Growth of the standard deviation with the square of the range.
        noise_per_m2: f64 = 0.0, in 0.0..=10;
        /// Probability that a ray is lost: it reads as if it had met nothing.
        dropout: f64 = 0.0, in 0.0..=1.0;
        /// Growth of that probability with range.
        dropout_per_m: f64 = 0.0, in 0.0..=1.0;
        /// Probability that a ray reads anything between the range limits.
        outliers: f64 = 0.0, in 0.0..=1.0;
        /// Shares of neighbouring rays of a row in what a ray reads, itself in the middle, such as [0.1, 0.8, 0.1].
        crosstalk: Vec<f64> = Vec::new(), in 0.0..=1.0;
        /// Probability that a ray beside an edge reads a range between the two surfaces.
        mixed: f64 = 0.0, in 0.0..=1.0;
        /// From so much difference of neighbouring rays there is an edge between them.
        edge_m: f64 = 0.2, in 0.0..=1000;
        /// Surfaces met at a larger angle from their normal are not seen: sound and light that are mirrored away.
        incidence_max_deg: f64 = 90.0, in 0.0..=90;
        /// A matt surface of reflectivity `seen_reflectivity` is seen up to this range, brighter ones further; none: no
        /// limit but `range_max_m`. Counts with accuracy: material.
        seen_to_m: Option<f64>, in 0.001..=1e6;
        /// The reflectivity that `seen_to_m` is given for.
        seen_reflectivity: f64 = 0.1, in 0.001..=1.0;
    }
}

/// What the rays of a scan met.
pub struct Scan<'a> {
    /// Along each ray, m; infinite where nothing was met.
    pub distance_m: &'a mut [f64],
    /// What was met, if that is known.
    pub things: Option<Things<'a>>,
    /// Rays to a row.
    pub columns: usize,
}

/// What the rays of a scan met, beside distances.
pub struct Things<'a> {
    /// Cosine of the angle of incidence.
    pub facing: &'a mut [f64],
    /// Index of the material.
    pub material: &'a mut [f64],
    /// Light that comes back, relative to a white matt surface met squarely.
    pub glow: &'a mut [f64],
}

/// Where random numbers come from.
#[derive(Clone, Copy)]
pub struct Chance {
    /// Key of the sensor's stream.
    pub stream: u64,
    /// Number of the sample.
    pub index: u64,
}

/// What random numbers are for: each has a stream of its own.
#[derive(Clone, Copy)]
enum Purpose {
    Noise,
    Loss,
    Mixing,
}

impl Chance {
    fn stream(self, purpose: Purpose) -> Stream {
        Stream::new(self.stream, purpose as u64)
    }
}

/// Exponent of the mirrored lobe: half of its peak at 4.8 degrees of incidence. A guess between satin and polished.
const GLOSS: i32 = 50;

/// Light that comes back from a material met at an angle of which the cosine is given, see the module.
pub fn glow(material: &Material, facing: f64) -> f64 {
    let twice = math::max(2.0 * facing * facing - 1.0, 0.0);
    let lobe = 0.5 * f64::from(GLOSS + 2) * power(twice, GLOSS);
    material.reflectivity * ((1.0 - material.specular) * facing + material.specular * lobe) + material.retro
}

/// `x` to a whole power by repeated squares, the same bits everywhere.
fn power(x: f64, exponent: i32) -> f64 {
    let (mut result, mut square) = (1.0, x);
    for bit in 0..31 {
        if exponent >> bit & 1 == 1 {
            result *= square;
        }
        square *= square;
    }
    result
}

/// Takes away what the sensor does not see: surfaces met at too flat an angle or, if materials count, too dark ones.
pub fn hide(errors: &Errors, accuracy: Accuracy, scan: &mut Scan<'_>) {
    let Some(things) = scan.things.as_ref().filter(|_| accuracy != Accuracy::Perfect) else { return };
    // a surface met at exactly the largest angle is seen, whatever rounding says
    let least_facing = math::cos(errors.incidence_max_deg.to_radians()) - 1e-12;
    let seen_to_m = errors.seen_to_m.filter(|_| accuracy == Accuracy::Material);
    let least_light = seen_to_m.map_or(f64::NEG_INFINITY, |to_m| errors.seen_reflectivity / (to_m * to_m));
    for ((distance_m, &facing), &glow) in scan.distance_m.iter_mut().zip(&*things.facing).zip(&*things.glow) {
        if facing < least_facing || glow < least_light * *distance_m * *distance_m {
            *distance_m = f64::INFINITY;
        }
    }
}

/// Rays that get their noise together.
const BLOCK: usize = 64;
/// Draws of four numbers for a block.
const DRAWS: usize = BLOCK / 4;

/// Adds errors to distances.
pub fn spoil(
    (errors, accuracy): (&Errors, Accuracy),
    scan: &mut Scan<'_>,
    materials: &[Material],
    limits_m: (f64, f64),
    chance: Chance,
    simd: Simd,
) {
    if accuracy == Accuracy::Perfect {
        return;
    }
    if errors.mixed > 0.0 {
        mix(errors, scan, chance);
    }
    if errors.crosstalk.len() > 1 {
        smear(&errors.crosstalk, scan);
    }
    let of_materials = scan.things.as_ref().filter(|_| accuracy == Accuracy::Material);
    let polynomial = [errors.bias_m, errors.bias_per_m, errors.noise_m, errors.noise_per_m, errors.noise_per_m2];
    if of_materials.is_some() || polynomial.iter().any(|&term| term != 0.0) {
        let noisy = polynomial[2..].iter().any(|&term| term != 0.0);
        let stream = noisy.then(|| chance.stream(Purpose::Noise));
        for (block, distance_m) in scan.distance_m.chunks_mut(BLOCK).enumerate() {
            let (mut bias_m, mut factor) = ([0.0; BLOCK], [1.0; BLOCK]);
            if let Some(things) = of_materials {
                let met = things.material[block * BLOCK..].iter().map(|&index| &materials[index as usize]);
                for ((bias_m, factor), material) in bias_m.iter_mut().zip(&mut factor).zip(met) {
                    (*bias_m, *factor) = (material.bias_m, material.noise_factor);
                }
            }
            let draw = (block * DRAWS) as u32;
            let normals = stream.map(|stream| (stream, chance.index, draw));
            simd.run(
                #[inline(always)]
                || shake(distance_m, &polynomial, (&bias_m, &factor), normals),
            );
        }
    }
    let loses = errors.dropout > 0.0 || errors.dropout_per_m > 0.0 || errors.outliers > 0.0;
    if loses || of_materials.is_some() {
        lose((errors, accuracy), scan, materials, limits_m, chance);
    }
}

/// Bias and noise of a block: plain loops over rays, infinite ones kept.
#[inline(always)]
fn shake(
    distance_m: &mut [f64],
    polynomial: &[f64; 5],
    (bias_m, factor): (&[f64; BLOCK], &[f64; BLOCK]),
    normals: Option<(Stream, u64, u32)>,
) {
    let mut noise = [[0.0; DRAWS]; 4];
    if let Some((stream, index, first)) = normals {
        let [a, b, c, d] = &mut noise;
        for draw in 0..distance_m.len().min(DRAWS) {
            [a[draw], b[draw], c[draw], d[draw]] = stream.normals(index, first + draw as u32);
        }
    }
    let noise = noise.as_flattened();
    let [bias_0, bias_1, noise_0, noise_1, noise_2] = *polynomial;
    for ray in 0..distance_m.len().min(BLOCK) {
        let found = distance_m[ray];
        let r = if found < f64::INFINITY { found } else { 0.0 };
        let std = (noise_0 + r * (noise_1 + r * noise_2)) * factor[ray];
        let read = r + (bias_0 + bias_1 * r + bias_m[ray]) + std * noise[ray];
        distance_m[ray] = if found < f64::INFINITY { read } else { found };
    }
}

/// Lost rays and random readings.
fn lose(
    (errors, accuracy): (&Errors, Accuracy),
    scan: &mut Scan<'_>,
    materials: &[Material],
    (min_m, max_m): (f64, f64),
    chance: Chance,
) {
    let stream = chance.stream(Purpose::Loss);
    let mut drawn = (usize::MAX, [0.0; 4]);
    for (ray, distance_m) in scan.distance_m.iter_mut().enumerate() {
        let mut lost = 0.0;
        if *distance_m < f64::INFINITY {
            lost = errors.dropout + errors.dropout_per_m * *distance_m;
            if let (Accuracy::Material, Some(things)) = (accuracy, &scan.things) {
                let material = &materials[things.material[ray] as usize];
                lost += (1.0 - lost) * dropout(material, things.facing[ray], *distance_m);
            }
        }
        if lost <= 0.0 && errors.outliers <= 0.0 {
            continue;
        }
        // two numbers for a ray: whether it is lost or astray, and where it strays to
        if drawn.0 != ray / 2 {
            drawn = (ray / 2, stream.uniforms(chance.index, (ray / 2) as u32));
        }
        let (fate, place) = (drawn.1[ray % 2 * 2], drawn.1[ray % 2 * 2 + 1]);
        if fate < lost {
            *distance_m = f64::INFINITY;
        }
        if fate > 1.0 - errors.outliers {
            *distance_m = min_m + (max_m - min_m) * place;
        }
    }
}

/// Probability that nothing comes back from a material.
fn dropout(material: &Material, facing: f64, distance_m: f64) -> f64 {
    let flat_rad = std::f64::consts::FRAC_PI_2;
    let always = math::clamp(material.dropout + material.dropout_per_m * distance_m, 0.0, 1.0);
    if material.dropout_from_rad >= flat_rad {
        return always;
    }
    let incidence_rad = math::acos(math::clamp(facing, 0.0, 1.0));
    let share = (incidence_rad - material.dropout_from_rad) / (flat_rad - material.dropout_from_rad);
    always + (1.0 - always) * math::clamp(share, 0.0, 1.0)
}

/// The most rays that may share in what one ray reads.
pub const CROSSTALK_MAX: usize = 15;

/// Replaces each range by the weighted mean of its neighbours in the row. Neighbours that met nothing, or are beyond the
/// ends of the row, leave their share to the others; a ray that met nothing itself still meets nothing.
fn smear(kernel: &[f64], scan: &mut Scan<'_>) {
    let half = kernel.len() / 2;
    for row in scan.distance_m.chunks_mut(scan.columns) {
        // ranges as they were, of rays that are overwritten already
        let mut before = [f64::INFINITY; CROSSTALK_MAX];
        for ray in 0..row.len() {
            let own = row[ray];
            let (mut sum, mut weight) = (0.0, 0.0);
            for (tap, &share) in kernel.iter().enumerate() {
                let distance_m = match tap.checked_sub(half) {
                    None => before[half - tap - 1],
                    Some(ahead) => row.get(ray + ahead).copied().unwrap_or(f64::INFINITY),
                };
                if distance_m < f64::INFINITY {
                    sum += share * distance_m;
                    weight += share;
                }
            }
            before.copy_within(..CROSSTALK_MAX - 1, 1);
            before[0] = own;
            if own < f64::INFINITY && weight > 0.0 {
                row[ray] = sum / weight;
            }
        }
    }
}

/// Mixed pixels: a ray beside a further surface may read anything up to that.
fn mix(errors: &Errors, scan: &mut Scan<'_>, chance: Chance) {
    let stream = chance.stream(Purpose::Mixing);
    for (row, distances_m) in scan.distance_m.chunks_mut(scan.columns).enumerate() {
        let mut before = f64::INFINITY;
        for ray in 0..distances_m.len() {
            let own = distances_m[ray];
            let after = distances_m.get(ray + 1).copied().unwrap_or(f64::INFINITY);
            let beyond = |other: f64| other < f64::INFINITY && other - own > errors.edge_m;
            let further = if beyond(before) { before } else { after };
            before = own;
            if beyond(further) {
                let [mixes, share, ..] = stream.uniforms(chance.index, (row * scan.columns + ray) as u32);
                if mixes < errors.mixed {
                    distances_m[ray] = own + share * (further - own);
                }
            }
        }
    }
}

/// Rounds to the resolution, if there is one, and applies the limits: beyond the greatest range there is nothing (+∞),
/// below the least it is too near to be measured (−∞), as REP-117 asks.
pub fn finish(distance_m: &mut [f64], (min_m, max_m): (f64, f64), resolution_m: f64, simd: Simd) {
    let per_m = 1.0 / resolution_m;
    simd.run(
        #[inline(always)]
        || {
            for distance_m in distance_m {
                let read = *distance_m;
                let rounded = if resolution_m > 0.0 { math::round_nearest(read * per_m) * resolution_m } else { read };
                let near = if read < min_m { f64::NEG_INFINITY } else { rounded };
                *distance_m = if read > max_m { f64::INFINITY } else { near };
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{defaults, deviation};
    use super::*;

    const LIMITS: (f64, f64) = (0.0, 100.0);

    fn plain(distance_m: &mut [f64]) -> Scan<'_> {
        let columns = distance_m.len();
        Scan { distance_m, things: None, columns }
    }

    fn spoiled(errors: &Errors, true_m: f64, rays: usize, simd: Simd) -> Vec<f64> {
        let mut distance_m = vec![true_m; rays];
        let chance = Chance { stream: 7, index: 3 };
        spoil((errors, Accuracy::Sensor), &mut plain(&mut distance_m), &[], LIMITS, chance, simd);
        distance_m
    }

    // R19
    #[test]
    fn noise_of_a_hundredth_of_the_length_has_that_deviation_at_every_length() {
        let errors = Errors { noise_per_m: 0.01, ..defaults() };
        for true_m in [1.0, 5.0, 10.0] {
            let read = spoiled(&errors, true_m, 20_000, Simd::detect());
            let std = deviation(read.iter().map(|read_m| read_m - true_m));
            let mean = read.iter().sum::<f64>() / 20_000.0;
            assert!((std / (0.01 * true_m) - 1.0).abs() < 0.02, "{std}");
            assert!((mean - true_m).abs() < 4.0 * std / 20_000_f64.sqrt(), "{mean}");
        }
    }

    #[test]
    fn deviation_and_bias_are_polynomials_of_the_length() {
        let (noise_m, noise_per_m, noise_per_m2) = (0.01, 0.002, 0.0005);
        let errors = Errors { bias_m: 0.03, bias_per_m: 0.01, noise_m, noise_per_m, noise_per_m2, ..defaults() };
        for true_m in [0.5, 4.0, 20.0_f64] {
            let read = spoiled(&errors, true_m, 20_000, Simd::detect());
            let expected = noise_m + noise_per_m * true_m + noise_per_m2 * true_m * true_m;
            let bias_m = 0.03 + 0.01 * true_m;
            let std = deviation(read.iter().map(|read_m| read_m - true_m - bias_m));
            assert!((std / expected - 1.0).abs() < 0.02, "{std}, expected {expected}");
        }
    }

    #[test]
    fn every_number_of_rays_and_register_width_gives_the_same_bits() {
        let errors = Errors { bias_m: 0.1, noise_m: 0.02, noise_per_m: 0.01, ..defaults() };
        let long = spoiled(&errors, 3.0, 1000, Simd::Scalar);
        for rays in [1, 4, 63, 64, 65, 180, 1000] {
            let [narrow, wide] = [Simd::Scalar, Simd::detect()].map(|simd| spoiled(&errors, 3.0, rays, simd));
            let bits = |all: &[f64]| all.iter().map(|one| one.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&narrow), bits(&wide));
            // whole blocks of a shorter scan are those of a longer one
            let whole = rays / BLOCK * BLOCK;
            assert_eq!(bits(&narrow[..whole]), bits(&long[..whole]));
        }
        assert!((1..1000).all(|ray| long[ray] != long[ray - 1]), "each ray has its own");
    }

    #[test]
    fn rays_that_met_nothing_stay_so() {
        let errors = Errors { bias_m: 1.0, noise_per_m: 0.1, crosstalk: vec![0.2, 0.6, 0.2], ..defaults() };
        assert!(spoiled(&errors, f64::INFINITY, 100, Simd::detect()).iter().all(|&read_m| read_m == f64::INFINITY));
    }

    // R21
    #[test]
    fn crosstalk_smears_a_step_by_its_kernel() {
        let mut distance_m = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0];
        smear(&[0.1, 0.8, 0.1], &mut plain(&mut distance_m));
        for (found, expected) in distance_m.iter().zip([1.0, 1.0, 1.1, 1.9, 2.0, 2.0]) {
            assert!((found - expected).abs() < 1e-15, "{distance_m:?}");
        }
        // rows do not touch each other, and what met nothing has no share
        let mut distance_m = [1.0, 2.0, 3.0, f64::INFINITY, 5.0, 5.0];
        smear(&[0.25, 0.5, 0.25], &mut Scan { distance_m: &mut distance_m, things: None, columns: 3 });
        for (found, expected) in distance_m.iter().zip([4.0 / 3.0, 2.0, 8.0 / 3.0, f64::INFINITY, 5.0, 5.0]) {
            assert!(found == &expected || (found - expected).abs() < 1e-15, "{distance_m:?}");
        }
    }

    #[test]
    fn a_kernel_of_five_reaches_two_rays_far() {
        let mut distance_m = [0.0, 0.0, 0.0, 10.0, 0.0, 0.0, 0.0];
        smear(&[0.1, 0.2, 0.4, 0.2, 0.1], &mut plain(&mut distance_m));
        for (found, expected) in distance_m[1..6].iter().zip([1.0 / 0.9, 2.0, 4.0, 2.0, 1.0 / 0.9]) {
            assert!((found - expected).abs() < 1e-14, "{distance_m:?}");
        }
    }

    #[test]
    fn rays_are_lost_and_go_astray_as_often_as_configured() {
        let errors = Errors { dropout: 0.1, dropout_per_m: 0.02, outliers: 0.05, ..defaults() };
        let read = spoiled(&errors, 5.0, 100_000, Simd::detect());
        let share = |count: usize| count as f64 / 100_000.0;
        let lost = share(read.iter().filter(|&&read_m| read_m == f64::INFINITY).count());
        let astray: Vec<f64> = read.iter().copied().filter(|&m| m != 5.0 && m < f64::INFINITY).collect();
        assert!((lost - 0.2).abs() < 0.004, "{lost}");
        assert!((share(astray.len()) - 0.05).abs() < 0.003);
        let mean = astray.iter().sum::<f64>() / astray.len() as f64;
        assert!((mean - 50.0).abs() < 2.0, "evenly between the limits: {mean}");
    }

    #[test]
    fn mixed_pixels_lie_between_the_two_surfaces_of_an_edge() {
        let errors = Errors { mixed: 0.5, edge_m: 0.5, ..defaults() };
        let mut mixed = Vec::new();
        for index in 0..10_000 {
            let mut distance_m = [1.0, 1.0, 3.0, 3.0, f64::INFINITY];
            mix(&errors, &mut plain(&mut distance_m), Chance { stream: 5, index });
            assert_eq!((distance_m[0], distance_m[2], distance_m[3]), (1.0, 3.0, 3.0), "only the near side of an edge");
            mixed.extend((distance_m[1] != 1.0).then_some(distance_m[1]));
        }
        assert!(mixed.len().abs_diff(5000) < 200 && mixed.iter().all(|m| (1.0..3.0).contains(m)), "{}", mixed.len());
    }

    #[test]
    fn glow_follows_lambert_and_mirrors_shine_only_squarely() {
        let matt = Material { reflectivity: 0.8, ..Material::plain() };
        for angle_deg in [0.0, 30.0, 60.0, 89.0_f64] {
            let facing = angle_deg.to_radians().cos();
            assert!((glow(&matt, facing) - 0.8 * facing).abs() < 1e-15);
        }
        let mirror = Material { reflectivity: 0.9, specular: 1.0, ..Material::plain() };
        assert!((glow(&mirror, 1.0) - 0.9 * 26.0).abs() < 1e-12, "(n + 2)/2 with n = 50");
        let half = glow(&mirror, 4.76_f64.to_radians().cos()) / glow(&mirror, 1.0);
        assert!((half - 0.5).abs() < 0.01, "{half}");
        assert!(glow(&mirror, 30.0_f64.to_radians().cos()) < 1e-10);
        assert_eq!(glow(&Material { retro: 100.0, reflectivity: 0.0, ..Material::plain() }, 0.5), 100.0);
    }

    #[test]
    fn a_surface_is_seen_as_far_as_the_root_of_its_reflectivity_says() {
        let errors = Errors { seen_to_m: Some(4.0), seen_reflectivity: 0.1, incidence_max_deg: 80.0, ..defaults() };
        for (reflectivity, seen_to_m) in [(0.1, 4.0), (0.4, 8.0), (0.9, 12.0)] {
            let material = Material { reflectivity, ..Material::plain() };
            for (share, seen) in [(0.999, true), (1.001, false)] {
                let true_m = seen_to_m * share;
                let (mut distance_m, mut facing, mut index) = ([true_m], [1.0], [0.0]);
                let mut light = [glow(&material, 1.0)];
                let things = Things { facing: &mut facing, material: &mut index, glow: &mut light };
                let mut scan = Scan { distance_m: &mut distance_m, things: Some(things), columns: 1 };
                hide(&errors, Accuracy::Sensor, &mut scan);
                assert_eq!(scan.distance_m[0], true_m, "materials do not count for accuracy: sensor");
                hide(&errors, Accuracy::Material, &mut scan);
                assert_eq!(scan.distance_m[0] < f64::INFINITY, seen, "{reflectivity} at {true_m} m");
            }
        }
    }

    #[test]
    fn loss_by_material_grows_with_angle_and_range() {
        let material = Material {
            dropout: 0.1,
            dropout_per_m: 0.01,
            dropout_from_rad: 60.0_f64.to_radians(),
            ..Material::plain()
        };
        let at = |angle_deg: f64, distance_m| dropout(&material, angle_deg.to_radians().cos(), distance_m);
        assert!((at(0.0, 10.0) - 0.2).abs() < 1e-12);
        assert!((at(60.0, 0.0) - 0.1).abs() < 1e-12);
        assert!((at(75.0, 0.0) - 0.55).abs() < 1e-12, "half way to grazing");
        assert!((at(90.0, 0.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn limits_are_infinities_and_ranges_are_rounded() {
        let mut distance_m = [0.01, 0.06, 1.2344, 4.0949, 4.2, f64::INFINITY];
        finish(&mut distance_m, (0.02, 4.095), 0.001, Simd::detect());
        assert_eq!(distance_m, [f64::NEG_INFINITY, 0.06, 1.234, 4.095, f64::INFINITY, f64::INFINITY]);
        let mut distance_m = [0.123_456, 200.0];
        finish(&mut distance_m, (0.0, 150.0), 0.0, Simd::detect());
        assert_eq!(distance_m, [0.123_456, f64::INFINITY], "without a resolution nothing is rounded");
    }
}
