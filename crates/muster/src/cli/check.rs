//! `muster check`: every problem of a scenario, with file and line.

use super::options::Overrides;
use super::progress::counted;
use super::{INVALID, OK, REFUSED};
use muster::{library, plugins};
use muster_core::node::Problem;
use muster_core::time::SimTime;
use muster_core::world::{Options, World};
use muster_scenario::build::{self, Scenario};
use muster_scenario::files::{Files, Paint};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

/// Checks scenarios and returns the exit code.
pub(crate) fn check(scenarios: &[PathBuf], over: &Overrides) -> u8 {
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let paint = if colour { Paint::Coloured } else { Paint::Plain };
    let mut code = OK;
    for path in scenarios {
        let setup = over.setup();
        let mut files = Files::new(setup.search, library::Embedded);
        let loaded = build::load(&mut files, &path.to_string_lossy(), &setup.over, plugins::registry());
        let problems: &[Problem] = match &loaded {
            Ok(scenario) => &scenario.warnings,
            Err(problems) => problems,
        };
        for problem in problems {
            say!("{}", files.render(problem, paint));
        }
        match loaded {
            Ok(scenario) => code = code.max(conclude(path, &scenario)),
            Err(problems) => {
                let errors = problems.iter().filter(|problem| !problem.warning).count();
                say!("{}: {}", path.display(), counted(errors, "error"));
                let refused = problems.iter().any(|problem| problem.refused);
                code = code.max(if refused { REFUSED } else { INVALID });
            }
        }
    }
    code
}

fn conclude(path: &std::path::Path, scenario: &Scenario) -> u8 {
    if let Err(error) = World::new(Arc::clone(&scenario.model), Options::default()) {
        say!("{}: error: {error}", path.display());
        return INVALID;
    }
    for note in notes(scenario) {
        say!("{}: note: {note}", path.display());
    }
    let (robots, sorts) = (scenario.model.robots.len(), scenario.cohorts.len());
    say!("{}: ok, {} of {}", path.display(), counted(robots, "robot"), counted(sorts, "sort"));
    OK
}

/// What is right but worth knowing.
fn notes(scenario: &Scenario) -> Vec<String> {
    let mut waited_for = BTreeSet::new();
    for cohort in scenario.cohorts.values() {
        for slot in &cohort.blueprint.sensors {
            let looks = matches!(slot.sensor.sense(), muster_core::component::Sense::World(_));
            if looks && slot.latency == SimTime::ZERO {
                waited_for.insert(format!("{}.{}", cohort.blueprint.kind, slot.name));
            }
        }
    }
    let names: Vec<&str> = waited_for.iter().map(String::as_str).collect();
    let note = format!(
        "the loop waits for sensors that look at the world with latency 0; with latency_ms they can run beside it: {}",
        names.join(", ")
    );
    if names.is_empty() { Vec::new() } else { vec![note] }
}
