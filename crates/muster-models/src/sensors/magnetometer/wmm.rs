//! The magnetic field of the earth by the World Magnetic Model 2025 of NOAA NCEI and the British Geological Survey
//! (*The US/UK World Magnetic Model for 2025-2030*, doi:10.25923/prbc-s316; coefficients of 13 November 2024, in the
//! public domain), valid from 2025 to 2030 and from 1 km below to 850 km above the ellipsoid. The field on the spot differs
//! from it by some 100 nT, most of it from rocks that no model of this degree can hold.
//!
//! The field is the gradient of the potential
//!
//! ```text
//! V = a Σₙ Σₘ (a/r)ⁿ⁺¹ (g cos mλ + h sin mλ) Pₙₘ(sin φ)      B = −∇V,   n ≤ 12, Schmidt semi-normalised Pₙₘ
//! ```
//!
//! summed in Cartesian coordinates by L. E. Cunningham's recursion (Celestial Mechanics 2, 1970; O. Montenbruck and
//! E. Gill, *Satellite Orbits*, section 3.2.4): no trigonometry, and no singularity at the poles.

use glam::DVec3;
use muster_core::lanes::{Column, body};

/// Radius of the sphere the coefficients refer to, m.
const RADIUS_M: f64 = 6_371_200.0;
/// The year the coefficients refer to.
const EPOCH_YEAR: f64 = 2025.0;
const DEGREE: usize = 12;

/// g and h in nT and their change in nT a year, for m from 0 to n, for n from 1 on.
const COEFFICIENTS: [(f64, f64, f64, f64); 90] = [
    // degree 1
    (-29351.8, 0.0, 12.0, 0.0),
    (-1410.8, 4545.4, 9.7, -21.5),
    // degree 2
    (-2556.6, 0.0, -11.6, 0.0),
    (2951.1, -3133.6, -5.2, -27.7),
    (1649.3, -815.1, -8.0, -12.1),
    // degree 3
    (1361.0, 0.0, -1.3, 0.0),
    (-2404.1, -56.6, -4.2, 4.0),
    (1243.8, 237.5, 0.4, -0.3),
    (453.6, -549.5, -15.6, -4.1),
    // degree 4
    (895.0, 0.0, -1.6, 0.0),
    (799.5, 278.6, -2.4, -1.1),
    (55.7, -133.9, -6.0, 4.1),
    (-281.1, 212.0, 5.6, 1.6),
    (12.1, -375.6, -7.0, -4.4),
    // degree 5
    (-233.2, 0.0, 0.6, 0.0),
    (368.9, 45.4, 1.4, -0.5),
    (187.2, 220.2, 0.0, 2.2),
    (-138.7, -122.9, 0.6, 0.4),
    (-142.0, 43.0, 2.2, 1.7),
    (20.9, 106.1, 0.9, 1.9),
    // degree 6
    (64.4, 0.0, -0.2, 0.0),
    (63.8, -18.4, -0.4, 0.3),
    (76.9, 16.8, 0.9, -1.6),
    (-115.7, 48.8, 1.2, -0.4),
    (-40.9, -59.8, -0.9, 0.9),
    (14.9, 10.9, 0.3, 0.7),
    (-60.7, 72.7, 0.9, 0.9),
    // degree 7
    (79.5, 0.0, 0.0, 0.0),
    (-77.0, -48.9, -0.1, 0.6),
    (-8.8, -14.4, -0.1, 0.5),
    (59.3, -1.0, 0.5, -0.8),
    (15.8, 23.4, -0.1, 0.0),
    (2.5, -7.4, -0.8, -1.0),
    (-11.1, -25.1, -0.8, 0.6),
    (14.2, -2.3, 0.8, -0.2),
    // degree 8
    (23.2, 0.0, -0.1, 0.0),
    (10.8, 7.1, 0.2, -0.2),
    (-17.5, -12.6, 0.0, 0.5),
    (2.0, 11.4, 0.5, -0.4),
    (-21.7, -9.7, -0.1, 0.4),
    (16.9, 12.7, 0.3, -0.5),
    (15.0, 0.7, 0.2, -0.6),
    (-16.8, -5.2, 0.0, 0.3),
    (0.9, 3.9, 0.2, 0.2),
    // degree 9
    (4.6, 0.0, 0.0, 0.0),
    (7.8, -24.8, -0.1, -0.3),
    (3.0, 12.2, 0.1, 0.3),
    (-0.2, 8.3, 0.3, -0.3),
    (-2.5, -3.3, -0.3, 0.3),
    (-13.1, -5.2, 0.0, 0.2),
    (2.4, 7.2, 0.3, -0.1),
    (8.6, -0.6, -0.1, -0.2),
    (-8.7, 0.8, 0.1, 0.4),
    (-12.9, 10.0, -0.1, 0.1),
    // degree 10
    (-1.3, 0.0, 0.1, 0.0),
    (-6.4, 3.3, 0.0, 0.0),
    (0.2, 0.0, 0.1, 0.0),
    (2.0, 2.4, 0.1, -0.2),
    (-1.0, 5.3, 0.0, 0.1),
    (-0.6, -9.1, -0.3, -0.1),
    (-0.9, 0.4, 0.0, 0.1),
    (1.5, -4.2, -0.1, 0.0),
    (0.9, -3.8, -0.1, -0.1),
    (-2.7, 0.9, 0.0, 0.2),
    (-3.9, -9.1, 0.0, 0.0),
    // degree 11
    (2.9, 0.0, 0.0, 0.0),
    (-1.5, 0.0, 0.0, 0.0),
    (-2.5, 2.9, 0.0, 0.1),
    (2.4, -0.6, 0.0, 0.0),
    (-0.6, 0.2, 0.0, 0.1),
    (-0.1, 0.5, -0.1, 0.0),
    (-0.6, -0.3, 0.0, 0.0),
    (-0.1, -1.2, 0.0, 0.1),
    (1.1, -1.7, -0.1, 0.0),
    (-1.0, -2.9, -0.1, 0.0),
    (-0.2, -1.8, -0.1, 0.0),
    (2.6, -2.3, -0.1, 0.0),
    // degree 12
    (-2.0, 0.0, 0.0, 0.0),
    (-0.2, -1.3, 0.0, 0.0),
    (0.3, 0.7, 0.0, 0.0),
    (1.2, 1.0, 0.0, -0.1),
    (-1.3, -1.4, 0.0, 0.1),
    (0.6, 0.0, 0.0, 0.0),
    (0.6, 0.6, 0.1, 0.0),
    (0.5, -0.1, 0.0, 0.0),
    (-0.1, 0.8, 0.0, 0.0),
    (-0.4, 0.1, 0.0, 0.0),
    (-0.2, -1.0, -0.1, 0.0),
    (-1.3, 0.1, 0.0, 0.0),
    (-0.7, 0.2, -0.1, -0.1),
];

/// Waves `(a/r)ⁿ⁺¹ Pₙₘ(sin φ)` times cos mλ and sin mλ whose sum the field is: m ≤ n ≤ 13, as the gradient of one of
/// degree n is made of those of degree n + 1.
const WAVES: usize = (DEGREE + 2) * (DEGREE + 3) / 2;

/// The model on one date.
#[derive(Debug, Clone)]
pub struct MagneticField {
    /// By m, then by n.
    waves: [Wave; WAVES],
}

/// How a wave follows from the two of lower degree, and what it adds to the field.
#[derive(Debug, Clone, Copy, Default)]
struct Wave {
    rise: f64,
    fall: f64,
    /// What the cosine adds, T.
    cos: DVec3,
    /// What the sine adds, T.
    sin: DVec3,
}

impl MagneticField {
    /// The model on a date given as a year and its fraction.
    pub fn new(decimal_year: f64) -> Self {
        let terms = terms(decimal_year - EPOCH_YEAR);
        let term = |n: usize, m: usize| if n >= 1 && m <= n { terms[n][m] } else { (0.0, 0.0) };
        let mut waves = [Wave::default(); WAVES];
        let mut at = 0;
        for m in 0..DEGREE + 2 {
            for n in m..DEGREE + 2 {
                let wave = &mut waves[at];
                at += 1;
                if n > m {
                    wave.rise = (2 * n - 1) as f64 / (n - m) as f64;
                    wave.fall = (n + m - 1) as f64 / (n - m) as f64;
                }
                // the three terms of one degree less whose gradient has this wave in it (Montenbruck and Gill,
                // equation 3.33, with the sign of the field)
                if n == 0 {
                    continue;
                }
                let lower = if m > 0 { term(n - 1, m - 1) } else { (0.0, 0.0) };
                let lower_weight = if m == 1 { 1.0 } else { 0.5 };
                let higher = term(n - 1, m + 1);
                let higher_weight = 0.5 * ((n as f64 - m as f64) * (n as f64 - m as f64 - 1.0));
                let same = term(n - 1, m);
                let same_weight = n as f64 - m as f64;
                wave.cos = DVec3::new(
                    lower_weight * lower.0 - higher_weight * higher.0,
                    -lower_weight * lower.1 - higher_weight * higher.1,
                    same_weight * same.0,
                );
                wave.sin = DVec3::new(
                    lower_weight * lower.1 - higher_weight * higher.1,
                    lower_weight * lower.0 + higher_weight * higher.0,
                    same_weight * same.1,
                );
            }
        }
        Self { waves }
    }

    /// The field in tesla at points in earth-centred coordinates and in their axes, of the first `lanes` lanes.
    #[inline(always)]
    pub fn at(&self, ecef_m: &[Column; 3], field: &mut [Column; 3], lanes: usize) {
        let mut run = Run::default();
        for lane in 0..lanes {
            let place_m = body::vec3(ecef_m, 0, lane);
            let scale = RADIUS_M / place_m.length_squared();
            let scaled = place_m * scale;
            (run.x[lane], run.y[lane], run.z[lane]) = (scaled.x, scaled.y, scaled.z);
            run.ratio[lane] = RADIUS_M * scale;
            run.diagonal[0][lane] = run.ratio[lane].sqrt();
        }
        let mut waves = self.waves.iter();
        for m in 0..DEGREE + 2 {
            if m > 0 {
                run.turn((2 * m - 1) as f64, lanes);
            }
            run.wave = run.diagonal;
            run.older = Default::default();
            for (wave, first) in waves.by_ref().take(DEGREE + 2 - m).zip(0..) {
                if first > 0 {
                    run.rise(wave, lanes);
                }
                run.add(wave, lanes);
            }
        }
        *field = run.field;
    }
}

/// The lanes of a summation: position over the square of its length, and cosine and sine of the waves at hand.
#[derive(Default)]
struct Run {
    x: Column,
    y: Column,
    z: Column,
    ratio: Column,
    /// The wave with n = m.
    diagonal: [Column; 2],
    wave: [Column; 2],
    older: [Column; 2],
    field: [Column; 3],
}

impl Run {
    /// From the wave (m − 1, m − 1) to (m, m).
    #[inline(always)]
    fn turn(&mut self, odd: f64, lanes: usize) {
        for lane in 0..lanes {
            let (cos, sin) = (self.diagonal[0][lane], self.diagonal[1][lane]);
            self.diagonal[0][lane] = odd * (self.x[lane] * cos - self.y[lane] * sin);
            self.diagonal[1][lane] = odd * (self.x[lane] * sin + self.y[lane] * cos);
        }
    }

    /// From the waves (n − 1, m) and (n − 2, m) to (n, m).
    #[inline(always)]
    fn rise(&mut self, wave: &Wave, lanes: usize) {
        for (new, older) in self.wave.iter_mut().zip(&mut self.older) {
            for lane in 0..lanes {
                let value = wave.rise * self.z[lane] * new[lane] - wave.fall * self.ratio[lane] * older[lane];
                older[lane] = new[lane];
                new[lane] = value;
            }
        }
    }

    #[inline(always)]
    fn add(&mut self, wave: &Wave, lanes: usize) {
        let ([x, y, z], [cos, sin]) = (&mut self.field, &self.wave);
        for lane in 0..lanes {
            x[lane] += wave.cos.x * cos[lane] + wave.sin.x * sin[lane];
            y[lane] += wave.cos.y * cos[lane] + wave.sin.y * sin[lane];
            z[lane] += wave.cos.z * cos[lane] + wave.sin.z * sin[lane];
        }
    }
}

/// g and h in tesla some years after the epoch, for Legendre functions without normalisation.
fn terms(years: f64) -> [[(f64, f64); DEGREE + 1]; DEGREE + 1] {
    let mut terms = [[(0.0, 0.0); DEGREE + 1]; DEGREE + 1];
    let mut coefficients = COEFFICIENTS.iter();
    for (n, row) in terms.iter_mut().enumerate().skip(1) {
        // √((2 − δ₀ₘ) (n − m)! / (n + m)!), from one m to the next
        let mut square = 1.0;
        for (m, (term, (g, h, g_change, h_change))) in row.iter_mut().zip(coefficients.by_ref().take(n + 1)).enumerate()
        {
            if m > 0 {
                let twice = if m == 1 { 2.0 } else { 1.0 };
                square *= twice / ((n + m) * (n - m + 1)) as f64;
            }
            let scale_t = 1e-9 * square.sqrt();
            *term = (scale_t * (g + years * g_change), scale_t * (h + years * h_change));
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_core::geodesy::{Geodetic, TangentPlane};
    use muster_core::lanes::LANES;

    fn at(field: &MagneticField, ecef_m: DVec3) -> DVec3 {
        let (mut points, mut found) = ([[0.0; LANES]; 3], [[0.0; LANES]; 3]);
        body::set_vec3(&mut points, 0, 1, ecef_m);
        body::set_vec3(&mut points, 0, 0, DVec3::X * 7e6);
        field.at(&points, &mut found, 2);
        body::vec3(&found, 0, 1)
    }

    /// North, east and down in nT.
    fn field_nt(year: f64, altitude_km: f64, latitude_deg: f64, longitude_deg: f64) -> [f64; 3] {
        let place = Geodetic { latitude_deg, longitude_deg, altitude_m: 1000.0 * altitude_km };
        let plane = TangentPlane::new(&place);
        let field = plane.world_axes(at(&MagneticField::new(year), plane.ecef(DVec3::ZERO))) * 1e9;
        [field.y, field.x, -field.z]
    }

    #[test]
    fn the_field_has_the_test_values_published_with_the_model() {
        // WMM2025_TEST_VALUES of NOAA NCEI: year, km above the ellipsoid, latitude, longitude, north, east, down in nT
        let published = [
            [2025.0, 0.0, 80.0, 0.0, 6521.6, 145.9, 54791.5],
            [2025.0, 0.0, 0.0, 120.0, 39677.8, -109.6, -10580.2],
            [2025.0, 0.0, -80.0, 240.0, 6117.5, 15751.9, -52022.5],
            [2025.0, 100.0, 80.0, 0.0, 6216.0, 92.4, 52598.8],
            [2025.0, 100.0, 0.0, 120.0, 37688.6, -96.2, -10152.1],
            [2025.0, 100.0, -80.0, 240.0, 5907.6, 14780.3, -49540.7],
            [2027.5, 0.0, 80.0, 0.0, 6500.8, 294.5, 54869.4],
            [2027.5, 0.0, 0.0, 120.0, 39701.6, -167.4, -10381.8],
            [2027.5, 0.0, -80.0, 240.0, 6200.7, 15730.3, -51783.7],
            [2027.5, 100.0, 80.0, 0.0, 6196.7, 233.8, 52670.5],
            [2027.5, 100.0, 0.0, 120.0, 37711.5, -148.7, -9969.8],
            [2027.5, 100.0, -80.0, 240.0, 5984.0, 14760.1, -49317.7],
        ];
        for [year, altitude_km, latitude, longitude, north, east, down] in published {
            let found = field_nt(year, altitude_km, latitude, longitude);
            for (found, expected) in found.into_iter().zip([north, east, down]) {
                // they are rounded to 0.1 nT
                assert!((found - expected).abs() < 0.0501, "{found}, expected {expected}");
            }
        }
    }

    #[test]
    fn the_field_is_the_same_from_all_sides_of_a_pole() {
        let field = MagneticField::new(2026.0);
        let at = |x: f64, y: f64| at(&field, DVec3::new(x, y, 6_356_752.0));
        for (x, y) in [(1e-3, 0.0), (0.0, 1e-3), (-1e-3, 0.0), (0.0, -1e-3)] {
            assert!((at(x, y) - at(0.0, 0.0)).length() < 1e-12, "{}", at(x, y));
        }
    }
}
