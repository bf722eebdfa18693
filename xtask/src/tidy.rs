//! Tidiness: what ARCHITECTURE.md promises and no compiler checks. Each check returns what is wrong, in words.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Everything that is wrong.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let mut problems = layers(root);
    problems.extend(map_of_folders(root));
    problems.extend(conformance(root));
    problems.extend(leftovers(root));
    problems.extend(reference(root));
    problems
}

/// Spokes depend on the hub, never on each other; the rim may depend on all.
fn layers(root: &Path) -> Vec<String> {
    const ALLOWED: &[(&str, &[&str])] = &[
        ("muster-core", &[]),
        ("muster-flight", &[]),
        ("muster-exec", &["muster-core"]),
        ("muster-loader", &["muster-core", "muster-plugin"]),
        ("muster-models", &["muster-core", "muster-flight"]),
        ("muster-plugin", &[]),
        ("muster-render", &["muster-core"]),
        ("muster-scenario", &["muster-core"]),
        ("muster-links", &["muster-core"]),
        (
            "muster",
            &[
                "muster-core",
                "muster-exec",
                "muster-links",
                "muster-loader",
                "muster-models",
                "muster-render",
                "muster-scenario",
            ],
        ),
    ];
    let mut problems = Vec::new();
    for folder in folders(&root.join("crates")) {
        let name = name_of(&folder);
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
            problems.push(format!("crate {name} has no place in the layers"));
            continue;
        };
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        for line in dependencies.lines().take_while(|line| !line.starts_with('[')) {
            let dependency = line.split([' ', '.', '=']).next().unwrap_or_default();
            if dependency.starts_with("muster") && !allowed.contains(&dependency) {
                problems.push(format!("{name} depends on {dependency}, which its layer may not"));
            }
        }
    }
    problems
}

/// Every folder stands in the map of ARCHITECTURE.md, and every folder of the map exists.
fn map_of_folders(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    let mapped: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("- `"))
        .filter_map(|line| line.split_once("/`"))
        .map(|(folder, _)| folder.to_owned())
        .collect();
    let mut real: BTreeSet<String> =
        folders(&root.join("crates")).iter().map(|folder| format!("crates/{}", name_of(folder))).collect();
    let hidden = |name: &String| name.starts_with('.') || name.starts_with("target");
    real.extend(folders(root).iter().map(|folder| name_of(folder)).filter(|name| !hidden(name) && name != "crates"));
    let missing = real.difference(&mapped).map(|folder| format!("ARCHITECTURE.md does not map {folder}/"));
    let rotten = mapped.difference(&real).map(|folder| format!("ARCHITECTURE.md maps {folder}/, which does not exist"));
    missing.chain(rotten).collect()
}

/// Every test named in docs/conformance.md exists.
fn conformance(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join("docs/conformance.md")).unwrap_or_default();
    let named = text.split('`').filter(|part| part.contains(".rs::"));
    let mut problems: Vec<String> = named.clone().filter_map(|test| missing_test(root, test)).collect();
    if named.count() < 60 {
        problems.push("docs/conformance.md names fewer than 60 tests".to_owned());
    }
    problems
}

fn missing_test(root: &Path, test: &str) -> Option<String> {
    let (file, name) = test.split_once("::")?;
    let source = fs::read_to_string(root.join("crates").join(file)).unwrap_or_default();
    let function = name.rsplit("::").next().unwrap_or(name);
    let found = source.contains(&format!("fn {function}(")) || (function == "doc" && source.contains("compile_fail"));
    (!found).then(|| format!("docs/conformance.md names {test}, which does not exist"))
}

/// The reference page says what the tables say.
fn reference(root: &Path) -> Option<String> {
    let page = fs::read_to_string(root.join("docs/reference.md")).unwrap_or_default();
    (page != crate::reference::text()).then(|| "docs/reference.md is stale: run cargo xtask reference".to_owned())
}

/// Nothing is left for later without saying where.
fn leftovers(root: &Path) -> Vec<String> {
    // split so that this file does not find itself
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:"), concat!("todo", "!(")];
    let mut problems = Vec::new();
    for file in sources(&root.join("crates")).into_iter().chain(sources(&root.join("xtask"))) {
        let text = fs::read_to_string(&file).unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) {
                problems.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    problems
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn sources(of: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(of).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && name_of(&path) != "target" {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() {
        let problems = super::check(&crate::root());
        assert!(problems.is_empty(), "{problems:#?}");
    }
}
