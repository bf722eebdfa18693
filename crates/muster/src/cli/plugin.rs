//! `muster plugin new`: a project that builds and runs as it is, with everything it needs in it.

use super::{FAILED, OK, USAGE};
use clap::{Args, Subcommand, ValueEnum};
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};

#[derive(Subcommand)]
pub(crate) enum PluginCommand {
    /// Make a project to start from: it builds and runs as it is
    New(NewArguments),
    /// Print the header that plug-ins in C and C++ include
    Header,
}

#[derive(Args)]
pub(crate) struct NewArguments {
    /// Its name: also that of its folder, and of the kind that scenarios write
    name: String,
    /// The language
    #[arg(long, value_enum, default_value = "rust")]
    lang: Language,
    /// What is in it
    #[arg(long, value_enum, default_value = "driver")]
    kind: Family,
    /// Where the folder goes
    #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Language {
    Rust,
    C,
    Cpp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Family {
    /// Commands robots
    Driver,
    /// Measures the robot it is on
    Sensor,
    /// A sensor that looks at the world
    Look,
    /// Changes samples
    Modifier,
    /// Moves robots
    Motion,
    /// Runs beside the simulation
    Extension,
}

macro_rules! templates {
    ($($family:ident = $name:literal),*) => {
        /// The source of a plug-in, and the scenario that uses it.
        fn template(language: Language, family: Family) -> (&'static str, &'static str) {
            match family {$(Family::$family => (
                match language {
                    Language::Rust => include_str!(concat!("../../templates/plugin/rust/", $name, ".rs")),
                    Language::C => include_str!(concat!("../../templates/plugin/c/", $name, ".c")),
                    Language::Cpp => include_str!(concat!("../../templates/plugin/cpp/", $name, ".cpp")),
                },
                include_str!(concat!("../../templates/plugin/scenarios/", $name, ".yaml")),
            )),*}
        }
    };
}

templates!(
    Driver = "driver",
    Sensor = "sensor",
    Look = "look",
    Modifier = "modifier",
    Motion = "motion",
    Extension = "extension"
);

const HEADER: &str = include_str!("../../../muster-plugin/include/muster_plugin.h");
const README: &str = include_str!("../../templates/plugin/README.md");

/// The sources of what plug-ins in Rust are made with: a project must build without a network.
const SDK: &[(&str, &str)] = &[
    ("lib.rs", include_str!("../../../muster-plugin/src/lib.rs")),
    ("abi.rs", include_str!("../../../muster-plugin/src/abi.rs")),
    ("calls.rs", include_str!("../../../muster-plugin/src/calls.rs")),
    ("glue.rs", include_str!("../../../muster-plugin/src/glue.rs")),
    ("kinds.rs", include_str!("../../../muster-plugin/src/kinds.rs")),
];

const SDK_MANIFEST: &str = "\
[package]
name = \"muster-plugin\"
version = \"0.1.0\"
edition = \"2024\"
";

const MANIFEST: &str = "\
[package]
name = \"@name@\"
version = \"0.1.0\"
edition = \"2024\"

[lib]
crate-type = [\"cdylib\"]

[dependencies]
# a copy of what muster is built with; `muster plugin new` brings it along
muster-plugin = { path = \"muster-plugin\" }

[workspace]
";

/// Does what was asked and returns the exit code.
pub(crate) fn plugin(command: &PluginCommand) -> u8 {
    match command {
        PluginCommand::New(arguments) => new(arguments),
        PluginCommand::Header => {
            say!("{}", HEADER.trim_end());
            OK
        }
    }
}

fn new(arguments: &NewArguments) -> u8 {
    let name = &arguments.name;
    let sound = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !sound {
        eprintln!("error: found name {name:?}, expected small letters, digits and underscores, a letter first");
        return USAGE;
    }
    let folder = arguments.folder.join(name);
    if folder.exists() {
        eprintln!("error: found {}, expected a name that is not taken", folder.display());
        return FAILED;
    }
    match write(&folder, arguments) {
        Ok(()) => {
            let build = build_line(arguments.lang);
            say!("{}: {build} && muster run scenario.yaml", folder.display());
            OK
        }
        Err(error) => {
            eprintln!("error: cannot write {}: {error}", folder.display());
            FAILED
        }
    }
}

fn build_line(language: Language) -> &'static str {
    if language == Language::Rust { "cargo build --release" } else { "make" }
}

fn write(folder: &Path, arguments: &NewArguments) -> std::io::Result<()> {
    let (name, language) = (&arguments.name, arguments.lang);
    let (source, scenario) = template(language, arguments.kind);
    let (source_name, shown) = match language {
        Language::Rust => ("src/lib.rs".to_owned(), "Rust"),
        Language::C => (format!("{name}.c"), "C"),
        Language::Cpp => (format!("{name}.cpp"), "C++"),
    };
    let library = format!("{DLL_PREFIX}{name}{DLL_SUFFIX}");
    let file = match language {
        // without prefix and ending, which differ between systems
        Language::Rust => format!("./target/release/{name}"),
        _ => format!("./{name}"),
    };
    let interface = match language {
        Language::Rust => "`muster-plugin` is the crate it is made with; `cargo doc --open` shows what is in it.",
        _ => "`muster_plugin.h` is the interface, with what every function means.",
    };
    let family = arguments.kind.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let fill = |text: &str| {
        let words = [
            ("@name@", name.as_str()),
            ("@file@", &file),
            ("@lib@", &library),
            ("@kind@", &family),
            ("@language@", shown),
            ("@build@", build_line(language)),
            ("@source@", &source_name),
            ("@interface@", interface),
        ];
        words.iter().fold(text.to_owned(), |text, (mark, word)| text.replace(mark, word))
    };
    let put = |path: &str, text: &str| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        std::fs::write(path, text)
    };
    put(&source_name, &fill(source))?;
    put("scenario.yaml", &fill(scenario))?;
    put("README.md", &fill(README))?;
    match language {
        Language::Rust => {
            put("Cargo.toml", &fill(MANIFEST))?;
            put(".gitignore", "target\n")?;
            put("muster-plugin/Cargo.toml", SDK_MANIFEST)?;
            SDK.iter().try_for_each(|(file, text)| put(&format!("muster-plugin/src/{file}"), text))
        }
        Language::C => {
            put("Makefile", &fill(include_str!("../../templates/plugin/c/Makefile")))?;
            put("muster_plugin.h", HEADER)
        }
        Language::Cpp => {
            put("Makefile", &fill(include_str!("../../templates/plugin/cpp/Makefile")))?;
            put("muster_plugin.h", HEADER)
        }
    }
}
