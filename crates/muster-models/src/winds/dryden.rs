//! Gusts by the Dryden spectra of MIL-F-8785C and MIL-HDBK-1797 in their form for low altitude, on top of a mean wind.
//!
//! With W20 the wind at 20 feet (light 15, moderate 30, severe 45 knots) and the height h in feet:
//!
//! ```text
//! σ_w = 0.1 W20     σ_u = σ_v = σ_w / (0.177 + 0.000823 h)^0.4
//! L_w = h           L_u = L_v = h   / (0.177 + 0.000823 h)^1.2
//! H_u = σ_u √(2 L_u/πV) / (1 + L_u/V s)
//! H_v = σ_v √(L_v/πV) (1 + √3 L_v/V s) / (1 + L_v/V s)²        H_w alike
//! ```
//!
//! u is along the mean wind (east if there is none), v to the left of it, w up. V is a robot's speed through the mean
//! air, but not less than a floor, or gusts would stand still for a robot that hovers. Every robot flies through air of
//! its own: neighbours' gusts are independent.
//!
//! The filters are discretised through their exact transition. With a = e^-k and k = V dt/L, the first-order one is
//! `x' = a x + √(1-a²) n`. The second-order one has a second state `y' = a y + a k x + q/√(1-a²) n` with
//! `q = ½ (1 - (2k+1) a²)` and the output `(√3 x + (1-√3) y)/√2`: the part of y's noise that is independent of x's is
//! left out, which takes about k²/12 off the variance. A robot's first gust is drawn from the stationary distribution.

use glam::DVec3;
use muster_core::component::{Blow, Kind, Wind};
use muster_core::lanes::{Column, LANE_STEP, LANES, Quantity, body};
use muster_core::math;
use muster_core::random;
use muster_core::spec::Spec;
use std::sync::Arc;

muster_core::choice! {
    /// How strong the turbulence is.
    pub enum Level {
        /// 15 knots at 20 feet.
        Light = "light",
        /// 30 knots at 20 feet.
        Moderate = "moderate",
        /// 45 knots at 20 feet.
        Severe = "severe",
    }
}

muster_core::spec! {
    /// Gusts on top of a mean wind.
    pub struct DrydenSpec {
        /// Velocity of the air without gusts in the world frame (east, north, up).
        mean_mps: [f64; 3] = [0.0; 3], in -100.0..=100.0;
        /// Strength of the turbulence.
        level: Level = Level::Light;
        /// The height above ground whose turbulence blows everywhere; the standard's low altitude ends at 305 m.
        height_m: f64 = 50.0, in 3.0..=305.0;
        /// Standard deviation of gusts along, across and up, instead of that of level and height.
        intensity_mps: Option<[f64; 3]>, in 0.0..=100.0;
        /// Scale lengths of gusts along, across and up, instead of those of the height.
        length_m: Option<[f64; 3]>, in 0.1..=10000.0;
        /// The speed through the air below which gusts change no slower.
        airspeed_min_mps: f64 = 5.0, in 0.01..=100.0;
    }
}

/// The row of this kind.
pub const KIND: Kind<dyn Wind> = Kind {
    name: "dryden",
    doc: "A mean wind with gusts by the Dryden spectra for low altitude.",
    fields: <DrydenSpec as Spec>::FIELDS,
    build: &|node, path, also, problems| {
        Some(Arc::new(Dryden::new(&<DrydenSpec as Spec>::read(node, path, also, problems)?)))
    },
};

const METRES_PER_FOOT: f64 = 0.3048;
const MPS_PER_KNOT: f64 = 1852.0 / 3600.0;
const SQRT_3: f64 = 1.732_050_807_568_877_2;

const STATE: &[Quantity] = &[Quantity::one("along"), Quantity::many("across", 2), Quantity::many("up", 2)];
const COLUMNS: usize = 5;

/// A mean wind with gusts.
#[derive(Debug, Clone, Copy)]
pub struct Dryden {
    mean_mps: DVec3,
    /// Direction of u.
    along: (f64, f64),
    intensity_mps: DVec3,
    per_length: DVec3,
    airspeed_min_mps: f64,
}

impl Dryden {
    /// The wind with these parameters.
    pub fn new(spec: &DrydenSpec) -> Self {
        let height_ft = spec.height_m / METRES_PER_FOOT;
        let knots = match spec.level {
            Level::Light => 15.0,
            Level::Moderate => 30.0,
            Level::Severe => 45.0,
        };
        let up_mps = 0.1 * knots * MPS_PER_KNOT;
        let shape = 0.177 + 0.000_823 * height_ft;
        let across_mps = up_mps / math::pow(shape, 0.4);
        let across_m = spec.height_m / math::pow(shape, 1.2);
        let mean_mps = DVec3::from(spec.mean_mps);
        let speed = math::hypot2(mean_mps.x, mean_mps.y);
        Self {
            mean_mps,
            along: if speed > 0.0 { (mean_mps.x / speed, mean_mps.y / speed) } else { (1.0, 0.0) },
            intensity_mps: spec.intensity_mps.unwrap_or([across_mps, across_mps, up_mps]).into(),
            per_length: 1.0 / DVec3::from(spec.length_m.unwrap_or([across_m, across_m, spec.height_m])),
            airspeed_min_mps: spec.airspeed_min_mps,
        }
    }
}

impl Wind for Dryden {
    fn mean_mps(&self) -> DVec3 {
        self.mean_mps
    }

    fn state(&self) -> &'static [Quantity] {
        STATE
    }

    fn blow(&self, blow: &mut Blow<'_>) {
        let (Some(state), Some(body)) = (blow.state.first_chunk_mut(), blow.body.first_chunk_mut()) else { return };
        let lanes = blow.lanes.next_multiple_of(LANE_STEP).min(LANES);
        let (wind, dt_s, index) = (*self, blow.dt_s, blow.index);
        blow.simd.run(
            #[inline(always)]
            || {
                let mut noise = [[0.0; LANES]; 4];
                random::normals_lanes(blow.streams, index, 0, &mut noise, lanes);
                kernel((state, body), lanes, &noise, (&wind, dt_s));
            },
        );
    }
}

#[inline(always)]
fn kernel(
    (state, body): (&mut [Column; COLUMNS], &mut [Column; body::COLUMNS]),
    lanes: usize,
    noise: &[Column; 4],
    (wind, dt_s): (&Dryden, f64),
) {
    for lane in 0..lanes.min(LANES) {
        let through_air = body::vec3(body, body::VELOCITY, lane) - wind.mean_mps;
        let airspeed = math::max(through_air.dot(through_air).sqrt(), wind.airspeed_min_mps);
        let way = airspeed * dt_s;
        let (u, _) = filter([state[0][lane], 0.0], way * wind.per_length.x, noise[0][lane]);
        let (v, v_out) = filter([state[1][lane], state[2][lane]], way * wind.per_length.y, noise[1][lane]);
        let (w, w_out) = filter([state[3][lane], state[4][lane]], way * wind.per_length.z, noise[2][lane]);
        state[0][lane] = u[0];
        state[1][lane] = v[0];
        state[2][lane] = v[1];
        state[3][lane] = w[0];
        state[4][lane] = w[1];
        let (along, across) = (wind.intensity_mps.x * u[0], wind.intensity_mps.y * v_out);
        let (east, north) = wind.along;
        let gust =
            DVec3::new(along * east - across * north, along * north + across * east, wind.intensity_mps.z * w_out);
        body::set_vec3(body, body::WIND, lane, wind.mean_mps + gust);
    }
}

/// The next states of the filters of first and second order, and the output of the latter, for a standard deviation of
/// 1. A first state of zero, as at the start, has no past.
#[inline(always)]
fn filter([x, y]: [f64; 2], k: f64, noise: f64) -> ([f64; 2], f64) {
    let past = math::exp(-k);
    let a = if x == 0.0 { 0.0 } else { past };
    let variance = 1.0 - a * a;
    let spread = variance.sqrt();
    let shared = 0.5 * (variance - 2.0 * k * a * a);
    let x_next = a * x + spread * noise;
    let y_next = a * (y + k * x) + shared / spread * noise;
    ([x_next, y_next], (SQRT_3 * x_next + (1.0 - SQRT_3) * y_next) * std::f64::consts::FRAC_1_SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_core::node::{Node, Problems};
    use muster_core::random::Stream;
    use muster_core::simd::Simd;

    const DT_S: f64 = 0.05;

    fn spec() -> DrydenSpec {
        <DrydenSpec as Spec>::read(&Node::default(), "", &[], &mut Problems::default()).expect("defaults are valid")
    }

    /// The winds of all lanes for robots that fly at 20 m/s, tick by tick.
    fn blow(wind: &Dryden, ticks: u64, simd: Simd) -> Vec<[Column; 3]> {
        let mut state = [[0.0; LANES]; COLUMNS];
        let mut columns = vec![[0.0; LANES]; body::COLUMNS];
        columns[body::VELOCITY] = [20.0; LANES];
        let streams = std::array::from_fn(|lane| Stream::new(5, lane as u64).key());
        (0..ticks)
            .map(|index| {
                wind.blow(&mut Blow {
                    state: &mut state,
                    body: &mut columns,
                    lanes: LANES,
                    dt_s: DT_S,
                    index,
                    streams: &streams,
                    simd,
                });
                [columns[body::WIND], columns[body::WIND + 1], columns[body::WIND + 2]]
            })
            .collect()
    }

    /// Mean of the products of two samples `lag` ticks apart, over all lanes.
    fn correlation(winds: &[[Column; 3]], component: usize, lag: usize) -> f64 {
        let product = |pair: (&[Column; 3], &[Column; 3])| -> f64 {
            pair.0[component].iter().zip(&pair.1[component]).map(|(a, b)| a * b).sum::<f64>() / LANES as f64
        };
        winds.iter().zip(&winds[lag..]).map(product).sum::<f64>() / (winds.len() - lag) as f64
    }

    #[test]
    fn light_turbulence_at_50_metres_has_the_intensities_and_lengths_of_the_standard() {
        let wind = Dryden::new(&spec());
        // the rounded table of Beard and McLain (2012) has 1.06 and 0.7 m/s, 200 and 50 m
        assert!((wind.intensity_mps.z - 0.1 * 15.0 * 0.514_444).abs() < 1e-5);
        assert!((wind.intensity_mps.x / wind.intensity_mps.z - 1.06 / 0.7).abs() < 0.1, "{wind:?}");
        assert!((1.0 / wind.per_length.x - 200.0).abs() < 5.0 && (1.0 / wind.per_length.z - 50.0).abs() < 1e-9);
    }

    #[test]
    fn gusts_have_the_standard_deviation_and_the_autocorrelation_of_their_spectra() {
        let wind = Dryden::new(&spec());
        let winds = blow(&wind, 200_000, Simd::detect());
        // at a lag of L/V the autocorrelation is 1/e along, and half of that across and up
        let inverse_e = math::exp(-1.0);
        for (component, at_length) in [inverse_e, 0.5 * inverse_e, 0.5 * inverse_e].into_iter().enumerate() {
            let variance = correlation(&winds, component, 0);
            let ratio = variance.sqrt() / wind.intensity_mps[component];
            let lag = (1.0 / wind.per_length[component] / 20.0 / DT_S).round() as usize;
            let correlated = correlation(&winds, component, lag) / variance;
            println!("component {component}: σ {ratio} of what it should be, R(L/V) = {correlated} for {at_length}");
            assert!((ratio - 1.0).abs() < 0.03, "{component}: {ratio}");
            assert!((correlated - at_length).abs() < 0.03, "{component}: {correlated}");
        }
    }

    #[test]
    fn the_first_gust_is_as_strong_as_any() {
        let wind = Dryden::new(&spec());
        let first: f64 = (0..100)
            .map(|seed| {
                let (state, _) = filter([0.0; 2], 1e-4, Stream::new(seed, 0).normals(0, 0)[0]);
                state[0] * state[0]
            })
            .sum();
        assert!((50.0..150.0).contains(&first), "{first}");
        assert!(blow(&wind, 1, Simd::detect())[0][2].iter().any(|gust| gust.abs() > 0.1));
    }

    #[test]
    fn gusts_are_around_the_mean_and_along_it() {
        let spec = DrydenSpec { mean_mps: [0.0, 6.0, 0.0], intensity_mps: Some([1.0, 0.0, 0.0]), ..spec() };
        let winds = blow(&Dryden::new(&spec), 20_000, Simd::detect());
        assert!(winds.iter().all(|wind| wind[0].iter().all(|x| x.abs() < 1e-12)));
        let mean = winds.iter().flat_map(|wind| wind[1]).sum::<f64>() / (LANES * winds.len()) as f64;
        assert!((mean - 6.0).abs() < 0.1, "{mean}");
    }

    #[test]
    fn registers_of_all_widths_give_the_same_bits() {
        let wind = Dryden::new(&spec());
        let [narrow, wide] = [Simd::Scalar, Simd::detect()].map(|simd| blow(&wind, 1000, simd));
        let bits =
            |winds: &[[Column; 3]]| -> Vec<u64> { winds.iter().flatten().flatten().map(|x| x.to_bits()).collect() };
        assert_eq!(bits(&narrow), bits(&wide));
    }
}
