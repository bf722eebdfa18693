//! What a recording says of the run it is of: everything needed to simulate it again. Stands at the start of the file, as
//! metadata and attachments.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The format of recordings, told in their metadata; readers refuse those of a later one.
pub const FORMAT: u32 = 1;

/// Names of metadata records.
pub(crate) mod names {
    pub(crate) const RUN: &str = "muster";
    pub(crate) const SET: &str = "muster.set";
    pub(crate) const SEARCH: &str = "muster.search";
    pub(crate) const CHOICES: &str = "muster.choices";
    pub(crate) const PLUGINS: &str = "muster.plugins";
    pub(crate) const END: &str = "muster.end";
}

/// Before the names of attachments that are files of the built-in library.
pub const LIBRARY: &str = "library:";

/// Everything that makes a run what it is, but for the commands that come while it runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Manifest {
    /// Version of muster.
    pub version: String,
    /// The name under which the scenario was loaded.
    pub scenario: String,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Values laid over the scenario, `path=value` each.
    pub set: Vec<String>,
    /// Directories that were searched for files.
    pub search: Vec<String>,
    /// Other options that change results, by name.
    pub options: BTreeMap<String, String>,
    /// What was left to the machine to choose, and what it chose: `robot.sensor`, way.
    pub choices: Vec<(String, String)>,
    /// Plug-ins and the digests of their files.
    pub plugins: Vec<(String, String)>,
    /// Every file that was read, by the path under which it was found.
    pub files: Vec<(String, Arc<[u8]>)>,
}

/// A list as a map that keeps its order.
fn numbered(list: &[String]) -> BTreeMap<String, String> {
    list.iter().enumerate().map(|(at, text)| (format!("{at:06}"), text.clone())).collect()
}

fn pairs(list: &[(String, String)]) -> BTreeMap<String, String> {
    list.iter().cloned().collect()
}

impl Manifest {
    /// The metadata records, by name.
    pub(crate) fn metadata(&self) -> Vec<(&'static str, BTreeMap<String, String>)> {
        let mut run = self.options.clone();
        run.extend(
            [
                ("format", FORMAT.to_string()),
                ("version", self.version.clone()),
                ("scenario", self.scenario.clone()),
                ("seed", self.seed.to_string()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        vec![
            (names::RUN, run),
            (names::SET, numbered(&self.set)),
            (names::SEARCH, numbered(&self.search)),
            (names::CHOICES, pairs(&self.choices)),
            (names::PLUGINS, pairs(&self.plugins)),
        ]
    }

    /// Takes in a metadata record; an error says what was found and what was expected.
    pub(crate) fn note(&mut self, name: &str, mut values: BTreeMap<String, String>) -> Result<(), String> {
        match name {
            names::RUN => {
                let format = values.remove("format").unwrap_or_default();
                if format.parse() != Ok(FORMAT) {
                    return Err(format!("found a recording of format {format:?}, expected {FORMAT}"));
                }
                self.version = values.remove("version").unwrap_or_default();
                self.scenario = values.remove("scenario").unwrap_or_default();
                let seed = values.remove("seed").unwrap_or_default();
                self.seed =
                    seed.parse().map_err(|error| format!("found seed {seed:?} ({error}), expected a whole number"))?;
                self.options = values;
            }
            names::SET => self.set = values.into_values().collect(),
            names::SEARCH => self.search = values.into_values().collect(),
            names::CHOICES => self.choices = values.into_iter().collect(),
            names::PLUGINS => self.plugins = values.into_iter().collect(),
            _ => (),
        }
        Ok(())
    }
}

/// The kind of a file, as attachments tell it.
pub(crate) fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("yaml" | "yml") => "application/yaml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("obj") => "model/obj",
        Some("stl") => "model/stl",
        Some("gltf") => "model/gltf+json",
        Some("glb") => "model/gltf-binary",
        Some("dae") => "model/vnd.collada+xml",
        Some("py") => "text/x-python",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let manifest = Manifest {
            version: "1.2.3".to_owned(),
            scenario: "a/b.yaml".to_owned(),
            seed: u64::MAX,
            set: (0..12).map(|at| format!("robots[0].count={at}")).collect(),
            search: vec!["z".to_owned(), "a".to_owned()],
            options: BTreeMap::from([("render".to_owned(), "cpu".to_owned())]),
            choices: vec![("a.scan".to_owned(), "ray".to_owned())],
            plugins: vec![("door".to_owned(), "00ff".to_owned())],
            files: Vec::new(),
        };
        let mut read = Manifest::default();
        manifest.metadata().into_iter().for_each(|(name, values)| read.note(name, values).unwrap());
        assert_eq!(read, manifest);
        let late = BTreeMap::from([("format".to_owned(), "99".to_owned())]);
        assert!(read.note("muster", late).unwrap_err().contains("format \"99\""));
    }
}
