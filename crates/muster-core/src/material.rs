//! Materials: what a surface does to the beam of a range sensor.

/// How range sensors see a surface. Values follow the sources named in `library/materials`.
#[derive(Debug, Clone, PartialEq)]
pub struct Material {
    /// Its name.
    pub name: String,
    /// Share of the light at the sensor's wavelength that comes back, from 0 to 1.
    pub reflectivity: f64,
    /// Share of what comes back that is mirrored instead of scattered, from 0 to 1.
    pub specular: f64,
    /// Added to every range, m.
    pub bias_m: f64,
    /// Standard deviation of the noise is multiplied by this.
    pub noise_factor: f64,
}

impl Material {
    /// A grey, matt surface that adds no error: the material of whatever names none.
    pub fn plain() -> Self {
        Self { name: "plain".to_owned(), reflectivity: 0.5, specular: 0.0, bias_m: 0.0, noise_factor: 1.0 }
    }
}
