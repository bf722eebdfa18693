//! What other programs say: tables that tests compare with were made by scripts beside them, and this checks that the
//! programs still say the same; the tests themselves need nothing but the committed tables. Other scripts read what muster
//! makes, such as images, with the programs people use for that. Without Python or a network the check is passed over,
//! loudly.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders with a `requirements.txt`, and the scripts there that take `--check`.
const SCRIPTS: &[(&str, &str)] = &[
    ("crates/muster-core/tests/data", "geodesy.py"),
    ("crates/muster-core/tests/data", "kinematics.py"),
    ("crates/muster/tests/bags", "bags.py"),
    ("crates/muster/tests/devices", "scanner.py"),
    ("crates/muster/tests/vision", "vision.py"),
    ("crates/muster/tests/morse", "morse.py"),
];

/// The script that reads images, among those.
const VISION: (&str, &str) = ("crates/muster/tests/vision", "vision.py");

/// Runs every script with `--check` in an environment of its own.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    // with the features of the tests, so that it is built once
    run(Command::new(env!("CARGO")).args(["build", "--quiet", "-p", "muster", "--features", "gpu"]).current_dir(root))?;
    for script in SCRIPTS {
        check_one(root, script, "cpu")?;
    }
    Ok(())
}

/// Reads images that one engine made.
pub(crate) fn vision(root: &Path, engine: &str) -> Result<(), String> {
    check_one(root, &VISION, engine)
}

fn check_one(root: &Path, (folder, script): &(&str, &str), engine: &str) -> Result<(), String> {
    let folder = root.join(folder);
    let python = match environment(root, &folder.join("requirements.txt")) {
        Ok(python) => python,
        Err(reason) => {
            eprintln!("== references: {script} NOT checked: {reason}");
            return Ok(());
        }
    };
    let mut command = Command::new(python);
    let muster = target(root).join("debug").join(format!("muster{}", std::env::consts::EXE_SUFFIX));
    command.arg(folder.join(script)).arg("--check").env("MUSTER", muster).env("MUSTER_RENDER", engine);
    if !command.status().map_err(|error| format!("cannot run {script}: {error}"))?.success() {
        return Err(format!("{script}: a committed table, or what muster makes, is not as it should be"));
    }
    Ok(())
}

/// The folder of build results.
fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// A Python with these requirements, below the folder of build results.
fn environment(root: &Path, requirements: &Path) -> Result<PathBuf, String> {
    let home = target(root).join("references");
    let python = home.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
    }
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
        .arg(requirements))?;
    Ok(python)
}

/// Runs a command; an error is the last line it said.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(text.lines().last().map_or_else(|| format!("{command:?} failed"), str::to_owned))
}
