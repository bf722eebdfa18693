//! Parameters of the error model from what a real sensor measured at known distances.
//!
//! The model is that of [`super::errors`]: a reading is `r + b₀ + b₁ r + b_m` plus normal noise of standard deviation
//! `f_m (s₀ + s₁ r + s₂ r²)`, where m is the material. Maximum likelihood, by turns: the biases by least squares with weights
//! 1/σ²; the terms of σ by Fisher scoring, kept from falling below 0; the factors of the materials from their mean squares.
//! It starts from medians, and readings further than 6σ off are counted as outliers instead. Loss is counted; with angles of
//! incidence the angle from which it grows is the likeliest on a grid of half degrees.

use super::errors::Errors;
use muster_core::math;
use std::f64::consts::FRAC_PI_2;

/// One ray of which the truth is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// True distance, m.
    pub true_m: f64,
    /// What was measured, m; `None` if the ray was lost.
    pub measured_m: Option<f64>,
    /// Which material it met.
    pub material: usize,
    /// Angle of incidence, rad, if it is known.
    pub incidence_rad: Option<f64>,
}

/// Parameters of the sensor and of materials.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Added to every range, m.
    pub bias_m: f64,
    /// Share of the range added to it.
    pub bias_per_m: f64,
    /// Standard deviation at range 0 and its growth with range and square of the range.
    pub noise: [f64; 3],
    /// Share of rays whose reading has nothing to do with the truth.
    pub outliers: f64,
    /// Share of rays lost on the material that others are compared with.
    pub dropout: f64,
    /// The material that others are compared with.
    pub reference: usize,
    /// What each material adds.
    pub materials: Vec<OfMaterial>,
    /// Root of the mean square of what is left, in standard deviations: near 1 if the model fits.
    pub residual: f64,
}

/// What a material adds to the errors of the sensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfMaterial {
    /// Rays that met it.
    pub rays: usize,
    /// Added to every range, m.
    pub bias_m: f64,
    /// The standard deviation is multiplied by this.
    pub noise_factor: f64,
    /// Share lost beside what is lost anyway.
    pub dropout: f64,
    /// The angle of incidence from which more is lost, rad; a right angle if there is none.
    pub dropout_from_rad: f64,
}

impl Fit {
    /// The error model of the sensor, other errors kept.
    pub fn errors(&self, others: Errors) -> Errors {
        let [noise_m, noise_per_m, noise_per_m2] = self.noise;
        let (outliers, dropout, dropout_per_m) = (self.outliers, self.dropout, 0.0);
        let (bias_m, bias_per_m) = (self.bias_m, self.bias_per_m);
        Errors { bias_m, bias_per_m, noise_m, noise_per_m, noise_per_m2, dropout, dropout_per_m, outliers, ..others }
    }
}

/// Readings further off than so many standard deviations are outliers.
const OUTLIER: f64 = 6.0;
/// Rounds of turns; they converge within a few.
const ROUNDS: usize = 30;
/// The fewest readings that tell anything.
const PAIRS_MIN: usize = 10;

/// A reading that is not lost.
#[derive(Clone, Copy)]
struct Reading {
    true_m: f64,
    error_m: f64,
    material: usize,
}

/// Fits the model; `materials` is how many there are, `quadratic` whether noise may grow with the square of the range. An
/// error says what was found and what was expected.
pub fn fit(pairs: &[Pair], materials: usize, quadratic: bool) -> Result<Fit, String> {
    let read = |pair: &Pair| {
        let error_m = pair.measured_m? - pair.true_m;
        Some(Reading { true_m: pair.true_m, error_m, material: pair.material })
    };
    let readings: Vec<Reading> = pairs.iter().filter_map(read).collect();
    if readings.len() < PAIRS_MIN {
        return Err(format!("found {} readings, expected at least {PAIRS_MIN}", readings.len()));
    }
    let mut rays = vec![0; materials.max(1)];
    pairs.iter().for_each(|pair| rays[pair.material] += 1);
    // what names no material is what others are compared with; else the one there is most of
    let reference = if rays[0] > 0 { 0 } else { (0..rays.len()).max_by_key(|&at| rays[at]).unwrap_or(0) };
    let mut model = Model::start(&readings, rays.len(), reference, if quadratic { 3 } else { 2 });
    for _ in 0..ROUNDS {
        let kept: Vec<Reading> = readings.iter().copied().filter(|reading| model.fits(reading)).collect();
        model.fit_bias(&kept)?;
        model.fit_noise(&kept);
        model.fit_factors(&kept);
    }
    let kept: Vec<&Reading> = readings.iter().filter(|reading| model.fits(reading)).collect();
    let square = |reading: &&Reading| (model.residual_m(reading) / model.std_m(reading)).powi(2);
    let (dropout, _) = loss(pairs, reference);
    let of_material = |at: usize| {
        let (lost, from_rad) = loss(pairs, at);
        let more = if at == reference { 0.0 } else { 1.0 - (1.0 - lost) / (1.0 - dropout).max(1e-9) };
        OfMaterial {
            rays: rays[at],
            bias_m: model.offset_m[at],
            noise_factor: model.factor[at],
            dropout: more.max(0.0),
            dropout_from_rad: from_rad,
        }
    };
    Ok(Fit {
        bias_m: model.bias[0],
        bias_per_m: model.bias[1],
        noise: model.noise,
        outliers: (readings.len() - kept.len()) as f64 / pairs.len() as f64,
        dropout,
        reference,
        materials: (0..rays.len()).map(of_material).collect(),
        residual: (kept.iter().map(square).sum::<f64>() / kept.len() as f64).sqrt(),
    })
}

/// Parameters as far as they are known.
struct Model {
    bias: [f64; 2],
    /// Bias of each material beside that.
    offset_m: Vec<f64>,
    noise: [f64; 3],
    /// How many terms of the noise are fitted.
    terms: usize,
    factor: Vec<f64>,
    reference: usize,
}

impl Model {
    /// Medians, which outliers do not move.
    fn start(readings: &[Reading], materials: usize, reference: usize, terms: usize) -> Self {
        let middle = median(readings.iter().map(|reading| reading.error_m));
        let spread = median(readings.iter().map(|reading| (reading.error_m - middle).abs()));
        // of a normal distribution, half lies within 0.6745 standard deviations
        let noise = [(spread / 0.6745).max(1e-9), 0.0, 0.0];
        let (offset_m, factor) = (vec![0.0; materials], vec![1.0; materials]);
        Self { bias: [middle, 0.0], offset_m, noise, terms, factor, reference }
    }

    fn residual_m(&self, reading: &Reading) -> f64 {
        reading.error_m - self.bias[0] - self.bias[1] * reading.true_m - self.offset_m[reading.material]
    }

    fn std_m(&self, reading: &Reading) -> f64 {
        let r = reading.true_m;
        let base = self.noise[0] + r * (self.noise[1] + r * self.noise[2]);
        (base * self.factor[reading.material]).max(1e-9)
    }

    fn fits(&self, reading: &Reading) -> bool {
        self.residual_m(reading).abs() <= OUTLIER * self.std_m(reading)
    }

    /// Weighted least squares for the line and the offsets of all materials but the reference.
    fn fit_bias(&mut self, readings: &[Reading]) -> Result<(), String> {
        let met = |at: usize| at != self.reference && readings.iter().any(|reading| reading.material == at);
        let columns: Vec<usize> = (0..self.factor.len()).filter(|&at| met(at)).collect();
        let size = 2 + columns.len();
        let mut system = System::new(size);
        for reading in readings {
            let weight = self.std_m(reading).powi(-2);
            let own = columns.iter().position(|&at| at == reading.material).map(|at| 2 + at);
            let row = [(0, 1.0), (1, reading.true_m)].into_iter().chain(own.map(|at| (at, 1.0)));
            system.add(row, reading.error_m, weight);
        }
        let Some(solution) = system.solve() else {
            return Err("found readings at one distance only, expected several distances for each material".to_owned());
        };
        self.bias = [solution[0], solution[1]];
        for (&at, &offset_m) in columns.iter().zip(&solution[2..]) {
            self.offset_m[at] = offset_m;
        }
        Ok(())
    }

    /// One step of Fisher scoring for the terms of the standard deviation: gradient `Σ x (e²/σ³ − 1/σ)`, information
    /// `Σ 2 x xᵀ/σ²`. Terms that would fall below 0 are 0.
    fn fit_noise(&mut self, readings: &[Reading]) {
        let mut active: Vec<usize> = (0..self.terms).collect();
        while !active.is_empty() {
            let mut system = System::new(active.len());
            for reading in readings {
                let (std_m, residual_m) = (self.std_m(reading), self.residual_m(reading));
                let powers = [1.0, reading.true_m, reading.true_m * reading.true_m];
                let factor = self.factor[reading.material];
                let row = active.iter().enumerate().map(|(at, &term)| (at, factor * powers[term]));
                // the step towards the σ that this residual alone would ask for
                let wanted = 0.5 * (residual_m * residual_m / std_m - std_m);
                system.add(row, wanted, 2.0 / (std_m * std_m));
            }
            let Some(step) = system.solve() else { return };
            let after: Vec<f64> = active.iter().zip(&step).map(|(&term, step)| self.noise[term] + step).collect();
            let Some(worst) =
                (0..active.len()).filter(|&at| after[at] < 0.0).min_by(|&a, &b| after[a].total_cmp(&after[b]))
            else {
                active.iter().zip(after).for_each(|(&term, value)| self.noise[term] = value);
                return;
            };
            self.noise[active.remove(worst)] = 0.0;
        }
    }

    fn fit_factors(&mut self, readings: &[Reading]) {
        for at in (0..self.factor.len()).filter(|&at| at != self.reference) {
            let own = readings.iter().filter(|reading| reading.material == at);
            let square = |reading: &Reading| (self.residual_m(reading) / self.std_m(reading)).powi(2);
            let (sum, count) = own.fold((0.0, 0.0), |(sum, count), reading| (sum + square(reading), count + 1.0));
            if count > 1.0 {
                self.factor[at] *= (sum / count).sqrt();
            }
        }
    }
}

/// Share of a material's rays that is lost, and the angle of incidence from which it grows to 1.
fn loss(pairs: &[Pair], material: usize) -> (f64, f64) {
    let own: Vec<&Pair> = pairs.iter().filter(|pair| pair.material == material).collect();
    let share = |rays: &[&&Pair]| {
        let lost = rays.iter().filter(|pair| pair.measured_m.is_none()).count();
        lost as f64 / rays.len().max(1) as f64
    };
    let all: Vec<&&Pair> = own.iter().collect();
    let constant = (share(&all), FRAC_PI_2);
    let likelihood = |(always, from_rad): (f64, f64)| {
        let one = |pair: &&&Pair| {
            let over = (pair.incidence_rad.unwrap_or(0.0) - from_rad) / (FRAC_PI_2 - from_rad).max(1e-9);
            let lost = always + (1.0 - always) * over.clamp(0.0, 1.0);
            let seen = if pair.measured_m.is_none() { lost } else { 1.0 - lost };
            math::ln(seen.max(1e-9))
        };
        all.iter().map(one).sum::<f64>()
    };
    let candidates = (0..180).map(|half_deg| (f64::from(half_deg) * 0.5).to_radians());
    let with_angle = candidates.map(|from_rad| {
        let below = |pair: &&&&Pair| pair.incidence_rad.is_some_and(|angle| angle < from_rad);
        let steep: Vec<&&Pair> = all.iter().filter(below).copied().collect();
        (share(&steep), from_rad)
    });
    let best = with_angle.map(|model| (likelihood(model), model)).max_by(|a, b| a.0.total_cmp(&b.0));
    // one more parameter must earn more than chance gives (Akaike: 1; here 4)
    best.filter(|(found, _)| *found > likelihood(constant) + 4.0).map_or(constant, |(_, model)| model)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

/// Normal equations of a least-squares problem.
struct System {
    size: usize,
    matrix: Vec<f64>,
    right: Vec<f64>,
}

impl System {
    fn new(size: usize) -> Self {
        Self { size, matrix: vec![0.0; size * size], right: vec![0.0; size] }
    }

    /// Adds an equation, given by its coefficients that are not 0.
    fn add(&mut self, row: impl Iterator<Item = (usize, f64)> + Clone, value: f64, weight: f64) {
        for (a, x) in row.clone() {
            self.right[a] += weight * x * value;
            for (b, y) in row.clone() {
                self.matrix[a * self.size + b] += weight * x * y;
            }
        }
    }

    /// Gaussian elimination with pivots; `None` if there is no single solution.
    fn solve(mut self) -> Option<Vec<f64>> {
        let size = self.size;
        let scale: Vec<f64> = (0..size).map(|at| self.matrix[at * size + at]).collect();
        for (column, &scale) in scale.iter().enumerate() {
            let largest = |row: &usize| self.matrix[row * size + column].abs();
            let pivot = (column..size).max_by(|a, b| largest(a).total_cmp(&largest(b)))?;
            if largest(&pivot) <= 1e-10 * scale {
                return None;
            }
            for at in 0..size {
                self.matrix.swap(column * size + at, pivot * size + at);
            }
            self.right.swap(column, pivot);
            for row in column + 1..size {
                let factor = self.matrix[row * size + column] / self.matrix[column * size + column];
                for at in column..size {
                    self.matrix[row * size + at] -= factor * self.matrix[column * size + at];
                }
                self.right[row] -= factor * self.right[column];
            }
        }
        for row in (0..size).rev() {
            let known: f64 = (row + 1..size).map(|at| self.matrix[row * size + at] * self.right[at]).sum();
            self.right[row] = (self.right[row] - known) / self.matrix[row * size + row];
        }
        Some(self.right)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::defaults;
    use super::super::errors::{Accuracy, Chance, Scan, Things, glow, spoil};
    use super::*;
    use muster_core::material::Material;
    use muster_core::random::Stream;
    use muster_core::simd::Simd;

    /// What the sensor's own error model makes of known distances, angles and materials.
    fn recorded(errors: &Errors, materials: &[Material], count: usize) -> Vec<Pair> {
        let draw = |index: usize| Stream::new(9, 9).uniforms(index as u64, 0);
        let true_m: Vec<f64> = (0..count).map(|at| 0.2 + 9.8 * draw(at)[0]).collect();
        let incidence: Vec<f64> = (0..count).map(|at| FRAC_PI_2 * draw(at)[1]).collect();
        let mut facing: Vec<f64> = incidence.iter().map(|&angle| math::cos(angle)).collect();
        let mut material: Vec<f64> = (0..count).map(|at| (at % materials.len()) as f64).collect();
        let mut light: Vec<f64> = (0..count).map(|at| glow(&materials[material[at] as usize], facing[at])).collect();
        let mut distance_m = true_m.clone();
        let things = Things { facing: &mut facing, material: &mut material, glow: &mut light };
        let mut scan = Scan { distance_m: &mut distance_m, things: Some(things), columns: count };
        let chance = Chance { stream: 11, index: 0 };
        spoil((errors, Accuracy::Material), &mut scan, materials, (0.0, 20.0), chance, Simd::detect());
        (0..count)
            .map(|at| Pair {
                true_m: true_m[at],
                measured_m: (distance_m[at] < f64::INFINITY).then_some(distance_m[at]),
                material: material[at] as usize,
                incidence_rad: Some(incidence[at]),
            })
            .collect()
    }

    fn check(name: &str, found: f64, expected: f64) {
        println!("{name}: {found:.5}, expected {expected} ({:+.2} %)", (found / expected - 1.0) * 100.0);
        assert!((found / expected - 1.0).abs() < 0.05, "{name}: {found}, expected {expected}");
    }

    // R34
    #[test]
    fn parameters_of_synthetic_errors_are_found_within_five_percent() {
        let errors = Errors {
            bias_m: 0.02,
            bias_per_m: 0.004,
            noise_m: 0.01,
            noise_per_m: 0.003,
            dropout: 0.05,
            outliers: 0.02,
            ..defaults()
        };
        let black = Material {
            bias_m: 0.03,
            noise_factor: 1.8,
            dropout: 0.2,
            dropout_from_rad: 50.0_f64.to_radians(),
            ..Material::plain()
        };
        let fit = fit(&recorded(&errors, &[Material::plain(), black], 60_000), 2, false).expect("a fit");
        check("bias_m", fit.bias_m, 0.02);
        check("bias_per_m", fit.bias_per_m, 0.004);
        check("noise_m", fit.noise[0], 0.01);
        check("noise_per_m", fit.noise[1], 0.003);
        check("dropout", fit.dropout, 0.05);
        check("bias of black", fit.materials[1].bias_m, 0.03);
        check("noise factor of black", fit.materials[1].noise_factor, 1.8);
        check("dropout of black", fit.materials[1].dropout, 0.2);
        check("angle of black", fit.materials[1].dropout_from_rad.to_degrees(), 50.0);
        assert!((fit.outliers - 0.02).abs() < 0.003, "{}", fit.outliers);
        assert!((fit.residual - 1.0).abs() < 0.02, "{}", fit.residual);
        assert_eq!(fit.materials[0].dropout_from_rad, FRAC_PI_2);
    }

    #[test]
    fn noise_with_a_square_is_found_and_terms_do_not_fall_below_zero() {
        let errors = Errors { noise_per_m2: 0.002, ..defaults() };
        let found = fit(&recorded(&errors, &[Material::plain()], 40_000), 1, true).expect("a fit");
        check("noise_per_m2", found.noise[2], 0.002);
        assert!(found.noise.iter().all(|&term| term >= 0.0));
        let at_5_m = found.noise[0] + 5.0 * found.noise[1] + 25.0 * found.noise[2];
        check("standard deviation at 5 m", at_5_m, 0.05);
    }

    #[test]
    fn too_little_to_go_by_is_told() {
        let pair = |true_m| Pair { true_m, measured_m: Some(1.0), material: 0, incidence_rad: None };
        assert!(fit(&[pair(1.0); 5], 1, false).unwrap_err().contains("found 5 readings"));
        assert!(fit(&[pair(1.0); 50], 1, false).unwrap_err().contains("one distance only"));
    }
}
