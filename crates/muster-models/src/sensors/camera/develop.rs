//! What becomes of the light that falls on a camera: means of the rays of each pixel, vignetting, blur, noise, gain, and
//! bytes as displays understand them. All but the last in linear light.
//!
//! Noise follows the EMVA standard 1288 for industrial cameras: light frees electrons, whose number has the variance of a
//! Poisson distribution (here normal, which it is from some ten electrons on), and reading them adds noise of its own.

use muster_core::colour::Encoder;
use muster_core::math;
use muster_core::random::Stream;
use muster_core::render::Film;
use muster_core::render::lens::Lens;
use muster_core::simd::Simd;
use muster_core::spec;
use std::sync::{Mutex, PoisonError};

spec! {
    /// From light to numbers.
    pub struct Exposure {
        /// By how much light is multiplied; 1 shows a white wall in the sun of a clear day as white.
        gain: f64 = 1.0, in 0.0..=1e6;
        /// Electrons in a pixel and channel at white with gain 1: their number is noise; 0 for none.
        full_well: f64 = 0.0, in 0.0..=1e9;
        /// Standard deviation of the noise of reading, in electrons; needs full_well.
        read_noise: f64 = 0.0, in 0.0..=1e6;
        /// How much of the natural vignetting (cos⁴ of the angle from the axis) there is.
        vignetting: f64 = 0.0, in 0.0..=1.0;
    }
}

type Light = [f32; 3];

/// Develops films of one lens.
#[derive(Debug)]
pub struct Darkroom {
    encoder: Encoder,
    exposure: Exposure,
    /// Half of a symmetric Gaussian from its middle on; empty for none.
    kernel: Vec<f32>,
    /// What share of the light pixels get; empty if all get all.
    vignette: Vec<f32>,
    /// Room to work in that no thread uses right now.
    idle: Mutex<Vec<[Vec<Light>; 2]>>,
}

impl Darkroom {
    pub(super) fn new(lens: &Lens, exposure: &Exposure, blur_px: f64) -> Self {
        let share = |pixel: usize| {
            let cos = lens.rays.directions()[lens.middle_ray(pixel)].x;
            (1.0 - exposure.vignetting * (1.0 - cos * cos * cos * cos)) as f32
        };
        let pixels = if exposure.vignetting > 0.0 { lens.spec.columns * lens.spec.rows } else { 0 };
        Self {
            encoder: Encoder::new(),
            exposure: exposure.clone(),
            kernel: kernel(blur_px),
            vignette: (0..pixels).map(share).collect(),
            idle: Mutex::default(),
        }
    }

    /// Makes an image of a film; `put` is told the number of each pixel and its colour.
    pub fn develop(
        &self,
        film: &Film,
        lens: &Lens,
        (stream, index): (u64, u64),
        simd: Simd,
        mut put: impl FnMut(usize, u32),
    ) {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut room = idle().pop().unwrap_or_default();
        simd.run(
            #[inline(always)]
            || {
                let light = self.prepare(film, lens, &mut room);
                let (gain, noisy) = (self.exposure.gain as f32, self.exposure.full_well > 0.0);
                let stream = Stream::from_key(stream);
                for (pixel, &light) in light.iter().enumerate() {
                    let light = if noisy { self.noisy(light, &stream.normals(index, pixel as u32)) } else { light };
                    let red = u32::from(self.encoder.byte(light[0] * gain));
                    let green = u32::from(self.encoder.byte(light[1] * gain));
                    let blue = u32::from(self.encoder.byte(light[2] * gain));
                    put(pixel, red << 16 | green << 8 | blue);
                }
            },
        );
        idle().push(room);
    }

    /// The light of a pixel with the noise of electrons.
    #[inline(always)]
    fn noisy(&self, mut light: Light, normals: &[f64; 4]) -> Light {
        let full_well = self.exposure.full_well;
        let read2 = self.exposure.read_noise * self.exposure.read_noise;
        for channel in 0..3 {
            let electrons = f64::from(light[channel]) * full_well;
            light[channel] += (normals[channel] * (electrons + read2).sqrt() / full_well) as f32;
        }
        light
    }

    /// The light of each pixel before noise.
    #[inline(always)]
    fn prepare<'a>(&self, film: &'a Film, lens: &Lens, [light, other]: &'a mut [Vec<Light>; 2]) -> &'a [Light] {
        if lens.spec.samples == 1 && self.vignette.is_empty() && self.kernel.is_empty() {
            return &film.light;
        }
        average(film, lens, light);
        for (light, share) in light.iter_mut().zip(&self.vignette) {
            light.iter_mut().for_each(|channel| *channel *= share);
        }
        if !self.kernel.is_empty() {
            // along rows into columns, twice: then pixels are in their places again
            other.resize(light.len(), [0.0; 3]);
            blur_across(&self.kernel, light, other, lens.spec.columns);
            blur_across(&self.kernel, other, light, lens.spec.rows);
        }
        light
    }
}

/// The mean of the rays of each pixel.
#[inline(always)]
fn average(film: &Film, lens: &Lens, light: &mut Vec<Light>) {
    let (samples, columns) = (lens.spec.samples, lens.spec.columns);
    let share = 1.0 / (samples * samples) as f32;
    light.clear();
    light.resize(columns * lens.spec.rows, [0.0; 3]);
    for (row, rays) in film.light.chunks_exact(columns * samples).enumerate() {
        let pixels = &mut light[row / samples * columns..][..columns];
        for (pixel, rays) in pixels.iter_mut().zip(rays.chunks_exact(samples)) {
            for ray in rays {
                (0..3).for_each(|channel| pixel[channel] += ray[channel] * share);
            }
        }
    }
}

/// Half of a Gaussian from its middle on, its sum with its mirror image 1.
fn kernel(sigma_px: f64) -> Vec<f32> {
    if sigma_px <= 0.0 {
        return Vec::new();
    }
    let reach = (4.0 * sigma_px).ceil() as usize;
    let weight = |at: usize| math::exp(-0.5 * (at as f64 / sigma_px) * (at as f64 / sigma_px));
    let sum = 2.0 * (0..=reach).map(weight).sum::<f64>() - weight(0);
    (0..=reach).map(|at| (weight(at) / sum) as f32).collect()
}

/// Blurs along rows and writes rows as columns. What is beyond the edge is like the edge.
#[inline(always)]
fn blur_across(kernel: &[f32], from: &[Light], to: &mut [Light], columns: usize) {
    let rows = from.len() / columns;
    for (row, line) in from.chunks_exact(columns).enumerate() {
        for column in 0..columns {
            let mut sum = line[column].map(|channel| channel * kernel[0]);
            for (reach, &weight) in kernel.iter().enumerate().skip(1) {
                let (left, right) = (line[column.saturating_sub(reach)], line[(column + reach).min(columns - 1)]);
                (0..3).for_each(|channel| sum[channel] += weight * (left[channel] + right[channel]));
            }
            to[column * rows + row] = sum;
        }
    }
}
