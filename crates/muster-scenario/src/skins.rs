//! What surfaces look like and are made of, as a scenario says it.

use crate::assets::{Written, Wrong};
use crate::files::Files;
use muster_core::material::Material;
use muster_core::node::nearest;
use muster_core::skin::Skin;
use muster_core::spec;

spec! {
    /// What a surface looks like to cameras, and what it is made of to range sensors.
    pub struct SkinText {
        /// Red, green and blue as displays have them; a texture is multiplied by it.
        colour: Option<[f64; 3]>, in 0.0..=1.0;
        /// An image painted on it: PNG, JPEG, PGM or PPM. A mesh file's own coordinates count, if it has any.
        texture: Option<Written>;
        /// After how many metres along each axis the texture repeats.
        texture_size_m: f64 = 1.0, in 1e-3..=1e6;
        /// What it is made of, by name.
        material: Option<Written>;
    }
}

impl SkinText {
    /// Nothing is said.
    pub(crate) const NONE: Self = Self { colour: None, texture: None, texture_size_m: 1.0, material: None };

    /// True if it says how things look, in place of what a mesh file says.
    pub(crate) fn is_painted(&self) -> bool {
        self.colour.is_some() || self.texture.is_some()
    }

    /// What it means.
    pub(crate) fn read(&self, files: &mut Files, materials: &[Material]) -> Result<Skin, Wrong> {
        let texture = self.texture.as_ref().map(|name| files.texture(name)).transpose()?;
        let material = self.material.as_ref().map(|name| material_index(name, materials)).transpose()?;
        Ok(Skin {
            colour: self.colour.map(|rgb| rgb.map(|share| share as f32)),
            texture,
            texture_size_m: self.texture_size_m as f32,
            material: material.unwrap_or(0),
        })
    }
}

/// The number of a material by its name.
pub(crate) fn material_index(name: &Written, materials: &[Material]) -> Result<u16, Wrong> {
    let known = materials.iter().position(|material| material.name == name.text);
    known.and_then(|number| u16::try_from(number).ok()).ok_or_else(|| {
        let names = || materials.iter().map(|material| material.name.as_str());
        let hint = nearest(&name.text, names()).map(|near| format!("did you mean {near:?}?"));
        let expected = format!("a material: {}", names().collect::<Vec<_>>().join(", "));
        Wrong::new(format!("{:?}", name.text), expected).with_hint(hint).at(name)
    })
}
