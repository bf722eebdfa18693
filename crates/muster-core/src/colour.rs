//! Colours: what displays understand (sRGB, IEC 61966-2-1) and what adds up (linear light).

use crate::math;

/// The linear light of a value from 0 to 1 as displays understand it.
pub fn linear(shown: f64) -> f64 {
    if shown <= 0.040_45 { shown / 12.92 } else { math::pow((shown + 0.055) / 1.055, 2.4) }
}

/// The linear light of red, green and blue.
pub fn linear3(shown: [f32; 3]) -> [f32; 3] {
    [0, 1, 2].map(|channel| linear(f64::from(shown[channel])) as f32)
}

/// Turns linear light into bytes as displays understand them, each to the nearest.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoder {
    /// Light from which on the next byte is nearer.
    limits: Vec<f32>,
    /// The byte to start from, by light.
    starts: Vec<u8>,
}

/// Steps of light in the table of starts: bytes are at least 1/3295 of white apart, so no step holds two limits.
const STEPS: usize = 4096;

impl Encoder {
    /// Prepares the tables.
    pub fn new() -> Self {
        let mut limits: Vec<f32> = (0..255).map(|byte| linear((f64::from(byte) + 0.5) / 255.0) as f32).collect();
        // nothing comes after the last
        limits.push(f32::INFINITY);
        let start = |step: usize| limits.partition_point(|&limit| limit <= step as f32 / STEPS as f32);
        let starts = (0..=STEPS).map(|step| start(step) as u8).collect();
        Self { limits, starts }
    }

    /// The byte of a light; what is too bright is 255, and what is not a number is 0.
    #[inline(always)]
    pub fn byte(&self, light: f32) -> u8 {
        let light = if light > 0.0 { light } else { 0.0 };
        let light = if light < 1.0 { light } else { 1.0 };
        let byte = self.starts[(light * STEPS as f32) as usize];
        byte + u8::from(light >= self.limits[usize::from(byte)])
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_light_and_bytes_again() {
        let encoder = Encoder::new();
        for byte in 0..=255_u8 {
            assert_eq!(encoder.byte(linear(f64::from(byte) / 255.0) as f32), byte);
        }
        assert_eq!([-1.0, f32::NAN, 7.0, f32::INFINITY].map(|light| encoder.byte(light)), [0, 0, 255, 255]);
    }

    #[test]
    fn bytes_are_the_nearest_of_the_formula() {
        let encoder = Encoder::new();
        for step in 0..=100_000 {
            let light = f64::from(step) / 1e5;
            let shown =
                if light <= 0.003_130_8 { 12.92 * light } else { 1.055 * crate::math::pow(light, 1.0 / 2.4) - 0.055 };
            let byte = f64::from(encoder.byte(light as f32));
            assert!((byte - shown * 255.0).abs() < 0.501, "{byte} for {shown}");
        }
    }

    #[test]
    fn middle_grey_is_a_fifth_of_the_light() {
        assert!((linear(118.0 / 255.0) - 0.181).abs() < 1e-3);
        assert_eq!(linear3([0.0, 1.0, 0.0]), [0.0, 1.0, 0.0]);
    }
}
