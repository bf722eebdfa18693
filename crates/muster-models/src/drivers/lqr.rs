//! Linear-quadratic control of small systems with one input: gains from a model, instead of gains tuned by hand.
//!
//! A continuous model `ẋ = A x + b u` is sampled at a period; the feedback `u = −k·x` is the one that minimises the sum
//! of `q·x² + r u²` over all samples. It follows from the fixed point of the Riccati difference equation
//!
//! ```text
//! k = bᵀP A / (r + bᵀP b)          P ← diag q + AᵀP (A − b k)
//! ```
//!
//! (B. Anderson and J. Moore, *Optimal Control: Linear Quadratic Methods* (1990), section 2.4), which is iterated.

/// A square matrix, row by row.
pub(super) type Matrix<const N: usize> = [[f64; N]; N];

fn product<const N: usize>(a: &Matrix<N>, b: &Matrix<N>) -> Matrix<N> {
    std::array::from_fn(|row| std::array::from_fn(|column| (0..N).map(|at| a[row][at] * b[at][column]).sum()))
}

fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Terms of the exponential series; enough for a period as long as the fastest time of the model.
const TERMS: u32 = 30;

/// The model sampled at a period, with the input held: `exp(A h)` and `∫ exp(A t) dt b`.
pub(super) fn sampled<const N: usize>(a: &Matrix<N>, b: &[f64; N], period_s: f64) -> (Matrix<N>, [f64; N]) {
    let mut term: Matrix<N> = std::array::from_fn(|row| std::array::from_fn(|column| f64::from(row == column)));
    let (mut power, mut integral) = ([[0.0; N]; N], [[0.0; N]; N]);
    for order in 1..=TERMS {
        for (row, values) in term.iter().enumerate() {
            for (column, value) in values.iter().enumerate() {
                power[row][column] += value;
                integral[row][column] += value * period_s / f64::from(order);
            }
        }
        term = product(&term, a);
        term.iter_mut().flatten().for_each(|value| *value *= period_s / f64::from(order));
    }
    (power, std::array::from_fn(|row| dot(&integral[row], b)))
}

/// Iterations after which the gains are taken as they are.
const ITERATIONS: usize = 200_000;

/// Relative change of the gains at which they count as settled.
const SETTLED: f64 = 1e-12;

/// The gains for a sampled model, weights of the states and a weight of the input.
pub(super) fn gains<const N: usize>((a, b): (&Matrix<N>, &[f64; N]), weights: &[f64; N], effort: f64) -> [f64; N] {
    let mut cost: Matrix<N> =
        std::array::from_fn(|row| std::array::from_fn(|column| if row == column { weights[row] } else { 0.0 }));
    let mut gains = [0.0; N];
    for _ in 0..ITERATIONS {
        let ahead = product(&cost, a);
        let pushed: [f64; N] = std::array::from_fn(|row| dot(&cost[row], b));
        let per = 1.0 / (effort + dot(&pushed, b));
        let next: [f64; N] =
            std::array::from_fn(|column| per * (0..N).map(|row| b[row] * ahead[row][column]).sum::<f64>());
        let closed: Matrix<N> =
            std::array::from_fn(|row| std::array::from_fn(|column| ahead[row][column] - pushed[row] * next[column]));
        for (row, weight) in weights.iter().enumerate() {
            for column in 0..N {
                let back: f64 = (0..N).map(|at| a[at][row] * closed[at][column]).sum();
                cost[row][column] = back + if row == column { *weight } else { 0.0 };
            }
        }
        let change = next.iter().zip(&gains).map(|(next, gain)| (next - gain).abs()).fold(0.0, f64::max);
        let size = next.iter().map(|gain| gain.abs()).fold(0.0, f64::max);
        gains = next;
        if change <= SETTLED * size {
            break;
        }
    }
    gains
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_is_exact_for_an_oscillator_and_an_integrator() {
        let (a, b) = sampled(&[[0.0, 1.0], [-4.0, 0.0]], &[0.0, 1.0], 0.3);
        let (sine, cosine) = (0.6_f64.sin(), 0.6_f64.cos());
        for (found, expected) in [
            (a[0][0], cosine),
            (a[0][1], 0.5 * sine),
            (a[1][0], -2.0 * sine),
            (a[1][1], cosine),
            (b[0], 0.25 * (1.0 - cosine)),
            (b[1], 0.5 * sine),
        ] {
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
        assert_eq!(sampled(&[[0.0, 1.0], [0.0, 0.0]], &[0.0, 2.0], 0.5).1, [0.25, 1.0]);
    }

    #[test]
    fn gains_of_one_state_solve_the_quadratic_equation() {
        let (a, b, q, r) = (1.2, 0.3, 2.0, 0.5);
        let [gain] = gains((&[[a]], &[b]), &[q], r);
        // b² P² + (r (1 − a²) − b² q) P − q r = 0
        let half = 0.5 * (r * (1.0 - a * a) - b * b * q);
        let p = (-half + (half * half + b * b * q * r).sqrt()) / (b * b);
        assert!((gain - b * p * a / (r + b * b * p)).abs() < 1e-10, "{gain}");
    }

    #[test]
    fn a_fast_sampled_double_integrator_has_the_gains_of_the_continuous_one() {
        // minimising x² + u² of ẍ = u: k = [1, √2]
        let period_s = 1e-3;
        let (a, b) = sampled(&[[0.0, 1.0], [0.0, 0.0]], &[0.0, 1.0], period_s);
        let found = gains((&a, &b), &[1.0, 0.0], 1.0);
        assert!((found[0] - 1.0).abs() < 2e-3 && (found[1] - 2.0_f64.sqrt()).abs() < 2e-3, "{found:?}");
    }
}
