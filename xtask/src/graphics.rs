//! A graphics card for tests: where there is none, a driver that is a program on the processor (Mesa's lavapipe) is installed.
//! Where that fails, tests of the engine for cards say that they did not check anything.

use crate::references;
use std::path::Path;
use std::process::Command;

/// Where Vulkan looks for drivers.
const DRIVERS: [&str; 3] = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];
const PACKAGE: &str = "mesa-vulkan-drivers";

/// True if Vulkan has a driver.
fn present() -> bool {
    DRIVERS.iter().any(|folder| std::fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some()))
}

/// Makes sure that there is a driver, if that can be done.
pub(crate) fn prepare() {
    if present() {
        return;
    }
    let apt = |arguments: &[&str]| {
        references::run(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let install = || apt(&["install", "--yes", "--quiet", "--no-install-recommends", PACKAGE]);
    // lists of packages may be missing or old
    let installed = install().or_else(|_| apt(&["update", "--quiet"]).and_then(|()| install()));
    if let Err(reason) = installed {
        eprintln!("== graphics: {PACKAGE} is not installed, tests on a card may NOT run: {reason}");
    }
}

/// Reads images that a card made, with the program that the tests left behind.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    if !present() {
        eprintln!("== graphics: images of a card NOT checked: there is no driver");
        return Ok(());
    }
    references::vision(root, "gpu")
}
