//! What lights a world for cameras: one sun, light from everywhere, and a sky.

use crate::colour::linear3;
use crate::math;
use glam::DVec3;

/// Light in linear units: a white matt surface that faces a sun of 1 without any other light looks white, 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Daylight {
    /// Unit vector towards the sun.
    pub towards_sun: DVec3,
    /// Red, green and blue of the sun.
    pub sun: [f32; 3],
    /// What comes from everywhere: a white surface shows this in the shadow, where it faces up; half of it where it faces
    /// down.
    pub ambient: [f32; 3],
    /// The sky straight up.
    pub zenith: [f32; 3],
    /// The sky at the horizon, and what is below if there is nothing.
    pub horizon: [f32; 3],
}

impl Daylight {
    /// The light of [`Self::NOON`] with the sun at an azimuth (clockwise from north) and elevation, of a colour as displays
    /// understand it.
    pub fn new(azimuth_rad: f64, elevation_rad: f64, colour: [f32; 3], intensity: f32) -> Self {
        let ((sin_azimuth, cos_azimuth), (up, along)) = (math::sin_cos(azimuth_rad), math::sin_cos(elevation_rad));
        Self {
            towards_sun: DVec3::new(along * sin_azimuth, along * cos_azimuth, up),
            sun: linear3(colour).map(|channel| channel * intensity),
            ..Self::NOON
        }
    }

    /// A clear day: the sun in the south-east, 50° high.
    pub const NOON: Self = Self {
        // azimuth 150°, elevation 50°
        towards_sun: DVec3::new(0.321_393_804_843_269_85, -0.556_670_399_226_419_3, 0.766_044_443_118_978),
        sun: [0.75, 0.715, 0.655],
        ambient: [0.27, 0.3, 0.35],
        zenith: [0.13, 0.26, 0.6],
        horizon: [0.55, 0.65, 0.78],
    };

    /// The light of the sky in a direction of unit length.
    #[inline(always)]
    pub fn sky(&self, up: f32) -> [f32; 3] {
        // the horizon is hazy: half way to the zenith at 14°
        let share = if up > 0.0 { up / (up + 0.25) * 1.25 } else { 0.0 };
        let mix = |channel: usize| self.horizon[channel] + (self.zenith[channel] - self.horizon[channel]) * share;
        [mix(0), mix(1), mix(2)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sun_stands_where_azimuth_and_elevation_say() {
        let light = |azimuth: f64, elevation: f64| {
            Daylight::new(azimuth.to_radians(), elevation.to_radians(), [1.0; 3], 1.0).towards_sun
        };
        assert!((light(90.0, 0.0) - DVec3::X).length() < 1e-12, "east");
        assert!((light(0.0, 0.0) - DVec3::Y).length() < 1e-12, "north");
        assert!((light(77.0, 90.0) - DVec3::Z).length() < 1e-12, "up");
        assert!((light(150.0, 50.0) - Daylight::NOON.towards_sun).length() < 1e-12);
    }

    #[test]
    fn the_sky_goes_from_the_horizon_to_the_zenith() {
        let day = Daylight::NOON;
        assert_eq!(day.sky(-0.5), day.horizon);
        assert_eq!(day.sky(0.0), day.horizon);
        for (found, expected) in day.sky(1.0).iter().zip(day.zenith) {
            assert!((found - expected).abs() < 1e-6);
        }
    }
}
