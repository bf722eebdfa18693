//! Every scenario file of the repository, with few robots where there are many.

use muster::{Setup, Simulation};
use muster_core::node::{Node, Value};
use muster_scenario::build::Override;
use std::path::Path;

/// A scenario file.
#[derive(Debug, Clone)]
pub struct ScenarioFile {
    /// Folder and name without ending.
    pub name: String,
    pub path: String,
    /// Overrides that make it small.
    over: Vec<Override>,
}

const FOLDERS: [&str; 3] = ["examples", "library/demos", "benches/scenarios"];

/// Robots of one count at most.
const MOST: usize = 60;

/// All of them, by name.
pub fn all() -> Vec<ScenarioFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in FOLDERS {
        for entry in std::fs::read_dir(root.join(folder)).expect("a folder of scenarios").flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|ending| ending == "yaml") {
                let text = std::fs::read_to_string(&path).expect("a readable file");
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let path = path.display().to_string();
                files.push(ScenarioFile { name: format!("{folder}/{stem}"), path, over: fewer(&text) });
            }
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

/// Overrides for every count that is larger than [`MOST`].
fn fewer(text: &str) -> Vec<Override> {
    let node = muster_scenario::yaml::parse(text, 0).unwrap_or_default();
    let Some(Value::List(robots)) = node.get("robots").map(|robots| &robots.value) else { return Vec::new() };
    let large = |robot: &Node| matches!(robot.get("count").map(|count| &count.value), Some(Value::Integer(count)) if *count > MOST as i64);
    let large = robots.iter().enumerate().filter(|(_, robot)| large(robot));
    large.flat_map(|(robot, _)| Override::parse(&format!("robots[{robot}].count={MOST}"))).collect()
}

impl ScenarioFile {
    /// A simulation of it.
    pub fn load(&self, setup: &Setup) -> Simulation {
        let over = self.over.iter().chain(&setup.over).cloned().collect();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../library");
        let setup = Setup { over, search: vec![root], ..setup.clone() };
        Simulation::load(&self.path, &setup).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}
