//! What a scenario says of plug-ins and extensions: which files to load before anything else is read, and what runs
//! beside the simulation.

use crate::files::{Files, Found};
use crate::robot::{learn, make, names, place_below};
use crate::text::ScenarioText;
use muster_core::component::{Extension, Registry};
use muster_core::node::{Node, Problems, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Loads the plug-ins a scenario names, each once; from then on their kinds are known.
pub(crate) fn load_plugins(files: &Files, node: &Node, registry: &mut Registry, problems: &mut Problems) {
    let Some(Value::List(plugins)) = node.get("plugins").map(|list| &list.value) else { return };
    for (at, plugin) in plugins.iter().enumerate() {
        let Some(written) = plugin.text() else { continue };
        let path = format!("plugins[{at}]");
        let Some(loader) = registry.plugins else {
            problems.refuse(plugin.place, &path, format!("{written:?}"), "no plug-ins: nobody here can load any");
            continue;
        };
        match loader.load(&beside(written, files.file_at(plugin.place).as_ref())) {
            Ok(more) => *registry = more,
            Err((found, expected)) => problems.refuse(plugin.place, &path, found, expected),
        }
    }
}

/// A path is relative to the file it is written in; a name has no path.
fn beside(written: &str, file: Option<&Found>) -> PathBuf {
    let path = Path::new(written);
    match file {
        Some(Found::Disk(file)) if path.is_relative() && path.components().count() > 1 => {
            // the folder of a file without one is written, as a name alone would be looked for elsewhere
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            folder.join(path)
        }
        _ => path.to_owned(),
    }
}

/// Makes what runs beside the simulation, in the order written.
pub(crate) fn make_extensions(
    node: &Node,
    text: &ScenarioText,
    registry: &mut Registry,
    problems: &mut Problems,
) -> Vec<(String, Arc<dyn Extension>)> {
    let mut made = Vec::new();
    for (name, block) in &text.extensions.0 {
        let path = format!("extensions.{name}");
        let mut own = block.0.clone();
        if own.place.line == 0 {
            own.place = place_below(node, &["extensions", name]);
        }
        learn(registry, &own, &path, |registry| names(registry.extensions), problems);
        let extension = make(registry.extensions, "an extension", &own, &path, &["kind"], problems);
        made.extend(extension.and_then(|(_, made)| made).map(|made| (name.clone(), made)));
    }
    made
}
