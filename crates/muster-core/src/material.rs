//! Materials: what a surface does to the beam of a range sensor.

/// How range sensors see a surface. Values follow the sources named in `library/materials.yaml`.
#[derive(Debug, Clone, PartialEq)]
pub struct Material {
    /// Its name.
    pub name: String,
    /// Share of the light at the sensor's wavelength that comes back, from 0 to 1.
    pub reflectivity: f64,
    /// Share of what comes back that is mirrored instead of scattered, from 0 to 1.
    pub specular: f64,
    /// How many times as bright as a white matt surface it looks from where the light comes from, whatever the angle: a
    /// retroreflector; 0 for all else.
    pub retro: f64,
    /// Added to every range, m.
    pub bias_m: f64,
    /// Standard deviation of the noise is multiplied by this.
    pub noise_factor: f64,
    /// Probability that nothing comes back, whatever angle and range.
    pub dropout: f64,
    /// Growth of that probability with range, 1/m.
    pub dropout_per_m: f64,
    /// The angle of incidence from which that probability grows, evenly, to 1 at a grazing ray; rad.
    pub dropout_from_rad: f64,
}

impl Material {
    /// A grey, matt surface that adds no error: the material of whatever names none.
    pub fn plain() -> Self {
        Self {
            name: "plain".to_owned(),
            reflectivity: 0.5,
            specular: 0.0,
            retro: 0.0,
            bias_m: 0.0,
            noise_factor: 1.0,
            dropout: 0.0,
            dropout_per_m: 0.0,
            dropout_from_rad: std::f64::consts::FRAC_PI_2,
        }
    }
}
