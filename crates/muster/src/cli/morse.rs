//! `muster morse`: builder scripts of MORSE. The script is executed by the machine's Python with a package `morse` of our own,
//! which takes down what it describes and prints it as a scenario.

use super::run::{self, Source};
use super::{FAILED, INVALID, MorseCommand, OK};
use std::path::Path;
use std::process::{Command, Stdio};

/// The package the script sees.
const SHIM: &str = include_str!("../../../../python/morse_shim.py");

/// Runs or converts a script and returns the exit code.
pub(crate) fn morse(what: &MorseCommand) -> u8 {
    match what {
        MorseCommand::Convert { script, arguments } => match convert(script, arguments) {
            Ok(text) => {
                print!("{text}");
                OK
            }
            Err(code) => code,
        },
        MorseCommand::Run { script, options } => {
            let text = match convert(script, &[]) {
                Ok(text) => text,
                Err(code) => return code,
            };
            // MORSE's own tests wait for these words
            say!("PID: {}", std::process::id());
            let code = run::run(Source::Text(text), options);
            say!("[ENDING] EXITING SIMULATION");
            code
        }
    }
}

/// The scenario a script describes; else the exit code, after why was told.
fn convert(script: &Path, arguments: &[String]) -> Result<String, u8> {
    let python = std::env::var_os("MUSTER_PYTHON").unwrap_or_else(|| "python3".into());
    let output = Command::new(&python).args(["-c", SHIM]).arg(script).args(arguments).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| {
        let python = python.to_string_lossy();
        eprintln!("error: cannot run {python}: {error}; builder scripts are Python (MUSTER_PYTHON names another)");
        FAILED
    })?;
    if !output.status.success() {
        return Err(INVALID);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
