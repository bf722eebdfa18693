//! Materials: those of the library, and what a world adds to them or changes in them.

use crate::files::Files;
use crate::merge::merge;
use crate::text::Named;
use muster_core::material::Material;
use muster_core::node::{Node, Problems};
use muster_core::spec;

/// The file of the library in which materials stand.
const LIBRARY: &str = "materials.yaml";

spec! {
    /// How range sensors see a surface. Keys that are not written are those of plain, or of the library's material.
    pub struct MaterialText {
        /// What it is, and where its values come from.
        about: String = String::new();
        /// Share of near infrared light (905 nm) that comes back.
        reflectivity: f64 = 0.5, in 0.0..=1.0;
        /// Share of what comes back that is mirrored instead of scattered.
        specular: f64 = 0.0, in 0.0..=1.0;
        /// How many times as bright as white paper it looks from where the light comes from: retroreflectors.
        retro: f64 = 0.0, in 0.0..=1e6;
        /// Added to every range.
        bias_m: f64 = 0.0, in -10..=10;
        /// Standard deviation of the noise is multiplied by this.
        noise_factor: f64 = 1.0, in 0.0..=1000;
        /// Probability that nothing comes back, whatever angle and range.
        dropout: f64 = 0.0, in 0.0..=1.0;
        /// Growth of that probability with range.
        dropout_per_m: f64 = 0.0, in 0.0..=1.0;
        /// The angle of incidence from which it grows, to 1 at a grazing ray.
        dropout_from_deg: f64 = 90.0, in 0.0..=90;
    }
}

/// Lays the materials of a world over those of the library.
pub(crate) fn with_library(files: &mut Files, scenario: &mut Node, problems: &mut Problems) {
    let Some(library) = files.load_built_in(LIBRARY).filter(|_| scenario.entries().is_some()) else { return };
    let library = match library {
        Ok(library) => library.get("materials").cloned().unwrap_or_default(),
        Err(wrong) => {
            for problem in wrong {
                problems.error_with_hint(problem.place, LIBRARY, problem.found, problem.expected, problem.hint);
            }
            return;
        }
    };
    let mut world = scenario.take("world").unwrap_or_default();
    if world.entries().is_some() {
        let own = world.take("materials").unwrap_or_default();
        world.set("materials", merge(library, own));
    }
    scenario.set("world", world);
}

/// All materials, plain first.
pub(crate) fn all(texts: &Named<MaterialText>) -> Vec<Material> {
    let made = |(name, text): &(String, MaterialText)| material(name, text);
    let (first, others): (Vec<_>, Vec<_>) = texts.0.iter().partition(|(name, _)| name == "plain");
    let first = first.first().map_or_else(Material::plain, |plain| made(plain));
    std::iter::once(first).chain(others.into_iter().map(made)).collect()
}

/// The number of a material among all, by its name.
pub fn number(materials: &[Material], name: &str) -> Option<u16> {
    materials.iter().position(|material| material.name == name).and_then(|at| u16::try_from(at).ok())
}

fn material(name: &str, text: &MaterialText) -> Material {
    Material {
        name: name.to_owned(),
        reflectivity: text.reflectivity,
        specular: text.specular,
        retro: text.retro,
        bias_m: text.bias_m,
        noise_factor: text.noise_factor,
        dropout: text.dropout,
        dropout_per_m: text.dropout_per_m,
        dropout_from_rad: text.dropout_from_deg.to_radians(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_core::spec::Parameter;

    const BUILT_IN: &[(&str, &str)] =
        &[("materials.yaml", "materials: {brick: {reflectivity: 0.3, bias_m: 0.01}, glass: {specular: 0.9}}")];

    fn read(scenario: &str) -> Result<Vec<Material>, String> {
        let mut files = Files::new(Vec::new(), BUILT_IN);
        let mut node = files.load_text("main.yaml", scenario).unwrap();
        let mut problems = Problems::default();
        with_library(&mut files, &mut node, &mut problems);
        let texts = node.get("world").and_then(|world| world.get("materials")).unwrap();
        let named = <Named<MaterialText> as Parameter>::read(texts, "world.materials", (0.0, 0.0), &mut problems);
        let wrong = problems.list().first().map(ToString::to_string);
        wrong.map_or_else(|| Ok(all(&named.unwrap())), Err)
    }

    #[test]
    fn a_world_adds_materials_and_overrides_keys_of_the_librarys() {
        let all = read("world: {materials: {brick: {bias_m: 0.02}, mud: {reflectivity: 0.1}}}").unwrap();
        let names: Vec<&str> = all.iter().map(|material| material.name.as_str()).collect();
        assert_eq!(names, ["plain", "brick", "glass", "mud"]);
        assert_eq!((all[1].reflectivity, all[1].bias_m), (0.3, 0.02));
        assert_eq!((number(&all, "mud"), number(&all, "gold")), (Some(3), None));
        assert_eq!(all[0], Material::plain());
    }

    #[test]
    fn plain_is_first_whatever_is_said_of_it() {
        let all = read("world: {materials: {plain: {bias_m: 0.5}}}").unwrap();
        assert_eq!((all[0].name.as_str(), all[0].bias_m, all.len()), ("plain", 0.5, 3));
        assert_eq!(read("muster: 1").unwrap().len(), 3, "a scenario without a world has those of the library");
    }

    #[test]
    fn what_is_wrong_is_told() {
        assert!(
            read("world: {materials: {mud: {reflectivty: 1}}}").unwrap_err().contains("did you mean \"reflectivity\"?")
        );
        assert!(read("world: {materials: {mud: {reflectivity: 2}}}").unwrap_err().contains("from 0 to 1"));
    }
}
