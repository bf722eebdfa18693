//! Chores of the repository.
//!
//! - `cargo xtask test`: everything CI checks: format, lints, docs, tidiness, all tests
//! - `cargo xtask tidy`: layers, map of folders, conformance table, leftovers
//! - `cargo xtask reference`: docs/reference.md, from the same tables that read scenarios
//! - `cargo xtask references`: tables of other programs' values, against those programs (needs Python and a network)
//! - `cargo xtask picture`: the picture in the README, from a run of the demo
//! - `cargo xtask textures`: the textures of the library and the models of the examples

mod graphics;
mod models;
mod picture;
mod pictures;
mod reference;
mod references;
mod textures;
mod tidy;

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).as_deref() {
        Some("test") => test(),
        Some("tidy") => report(tidy::check(&root())),
        Some("references") => references::check(&root()),
        Some("reference") => reference::write(&root().join("docs/reference.md")),
        Some("picture") => picture::draw(&root().join("docs/fleet.svg")),
        Some("textures") => textures::write(&root().join("library/textures"))
            .and_then(|()| models::write(&root().join("examples/models"))),
        _ => Err("found no chore, expected one of test, tidy, reference, references, picture, textures".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn report(problems: Vec<String>) -> Result<(), String> {
    if problems.is_empty() { Ok(()) } else { Err(format!("not tidy:\n  {}", problems.join("\n  "))) }
}

/// A name, the arguments of cargo, and variables set for it.
type Step = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

/// What CI checks, cheapest first.
fn test() -> Result<(), String> {
    let steps: [Step; 4] = [
        ("format", &["fmt", "--all", "--check"], &[]),
        ("lints", &["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"], &[]),
        ("docs", &["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")]),
        ("tests", &["test", "--workspace", "--features", "muster/gpu"], &[]),
    ];
    report(tidy::check(&root()))?;
    references::check(&root())?;
    graphics::prepare();
    for (name, arguments, variables) in steps {
        let start = Instant::now();
        eprintln!("== {name}: cargo {}", arguments.join(" "));
        let mut command = Command::new(env!("CARGO"));
        command.args(arguments).current_dir(root()).envs(variables.iter().copied());
        let status = command.status().map_err(|error| format!("cannot run cargo: {error}"))?;
        if !status.success() {
            return Err(format!("{name} failed"));
        }
        eprintln!("== {name}: {:.0} s", start.elapsed().as_secs_f64());
    }
    graphics::check(&root())
}
