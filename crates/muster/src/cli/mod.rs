//! The command line: what can be asked, and which exit code answers.

mod check;
mod fit;
mod inspect;
mod list;
mod look;
mod map;
mod morse;
mod options;
mod plugin;
mod ports;
mod progress;
mod replay;
mod run;
mod seeds;

pub(crate) use options::render;
pub(crate) use progress::micros;

use clap::{Args, Parser, Subcommand};
use muster::{LoadError, plugins};
use muster_core::component::Registry;
use std::path::PathBuf;

/// All well.
pub(crate) const OK: u8 = 0;
/// A run-time failure or a failed expectation.
pub(crate) const FAILED: u8 = 1;
/// The command itself makes no sense.
pub(crate) const USAGE: u8 = 2;
/// The scenario is invalid.
pub(crate) const INVALID: u8 = 3;
/// A plug-in was refused.
pub(crate) const REFUSED: u8 = 4;
/// Real time was missed under `--require-rt`.
pub(crate) const LATE: u8 = 5;
/// The time limit passed.
pub(crate) const TIMEOUT: u8 = 124;
/// Interrupted, after a clean stop.
pub(crate) const INTERRUPTED: u8 = 130;

/// Says why there is no simulation; returns the exit code.
fn unloaded(error: &LoadError) -> u8 {
    eprintln!("{error}");
    if error.refused { REFUSED } else { INVALID }
}

/// Simulate fleets of robots: in real time or as fast as the machine allows, the same bits on every run.
#[derive(Parser)]
#[command(version, max_term_width = 110, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  muster demo                                    a built-in fleet of four kinds of robots
  muster run fleet.yaml --rtf 1                  in real time
  muster run fleet.yaml --for 60s --report r.json
  muster run fleet.yaml --seeds 1..100           pass rate and spread over a hundred seeds
  muster run fleet.yaml --set robots[0].count=50 --set run.seed=7
  muster run fleet.yaml --record run.mcap        sensors, transforms and commands, for Foxglove and ROS 2
  muster replay run.mcap --verify                the same bits again, from the recording alone
  muster check fleet.yaml                        every problem with file, line and the nearest valid name
  muster inspect fleet.yaml --at 2s scout0.position_m
  muster map rescue -o rescue.svg                a world of the library, seen from above
  muster map fleet.yaml --at 20s                 robots and the ways they came
  muster look fleet.yaml --sensor scout0.camera --at 2s --out image.png
  muster fit-range scan.csv --model urg04lx      errors of a real range sensor, to paste into a scenario
  muster ports fleet.yaml                        where programs reach its robots
  muster list sensors                            what can be written under sensors:
  muster plugin new wander --lang c              a driver of your own to start from

Exit codes: 0 ok, 1 failed expectation or isolated robot, 2 usage, 3 invalid scenario, 4 plug-in refused,
5 real time missed under --require-rt, 124 timeout, 130 interrupted after a clean stop.";

#[derive(Subcommand)]
enum Command {
    /// Run a scenario
    Run(RunArguments),
    /// Run a built-in fleet; takes the same options as `run`
    Demo(DemoArguments),
    /// Check a scenario and tell every problem with file and line
    Check(CheckArguments),
    /// Show robots, properties and schedule of a scenario, or one value by path
    Inspect(InspectArguments),
    /// Draw a world or a scenario from above
    Map(MapArguments),
    /// Show what a sensor sees: images of cameras, ranges over a map
    Look(LookArguments),
    /// Fit the error model of a range sensor to what one measured at known distances
    FitRange(FitArguments),
    /// Show every address at which programs reach the robots of a scenario
    Ports(PortsArguments),
    /// Run or convert builder scripts of the simulator MORSE
    Morse(MorseArguments),
    /// List what can be used in scenarios
    List(ListArguments),
    /// Print the JSON schema of scenario files
    Schema(SchemaArguments),
    /// Begin plug-ins: components of your own, compiled apart from muster
    #[command(subcommand)]
    Plugin(plugin::PluginCommand),
    /// Walk a recording again: prove that it gives the same bits, or play it to the scenario's links
    Replay(replay::ReplayArguments),
    /// Measure speed on this machine
    Bench(crate::bench::BenchArguments),
}

#[derive(Args)]
struct RunArguments {
    /// The scenario file
    scenario: PathBuf,
    #[command(flatten)]
    options: options::RunFlags,
}

#[derive(Args)]
struct DemoArguments {
    /// Which demo; `muster list demos` names them
    #[arg(default_value = "fleet")]
    name: String,
    #[command(flatten)]
    options: options::RunFlags,
}

#[derive(Args)]
struct CheckArguments {
    /// The scenario files
    #[arg(required = true)]
    scenarios: Vec<PathBuf>,
    #[command(flatten)]
    over: options::Overrides,
}

#[derive(Args)]
struct InspectArguments {
    /// The scenario file
    scenario: PathBuf,
    /// A robot, or a value: `scout0`, `scout0.position_m`, `scout0.imu.accel_mps2[2]`
    path: Option<String>,
    /// Simulate up to this time first
    #[arg(long, value_parser = options::duration, default_value = "0s")]
    at: std::time::Duration,
    /// For machines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    over: options::Overrides,
}

#[derive(Args)]
struct MapArguments {
    /// A scenario file, a world file, or a world of the library; `muster list worlds` names those
    what: String,
    /// Where the picture goes; `-` prints it
    #[arg(short, long, value_name = "FILE", default_value = "map.svg")]
    output: PathBuf,
    /// Simulate up to this time first, and draw the robots' trails
    #[arg(long, value_parser = options::duration, default_value = "0s")]
    at: std::time::Duration,
    #[command(flatten)]
    over: options::Overrides,
}

#[derive(Args)]
struct FitArguments {
    /// Table with columns true_m, measured_m (empty, nan or inf if the ray was lost) and perhaps material, incidence_deg
    scan: PathBuf,
    /// Show the errors of this preset beside those found; `muster list presets` names them
    #[arg(long, value_name = "PRESET")]
    model: Option<String>,
    /// Noise may also grow with the square of the range
    #[arg(long)]
    quadratic: bool,
    /// For machines
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct LookArguments {
    /// The scenario file
    scenario: PathBuf,
    /// Whose eyes: `robot.sensor`
    #[arg(long, value_name = "ROBOT.SENSOR")]
    sensor: String,
    /// Simulate up to this time first
    #[arg(long, value_parser = options::duration, default_value = "0s")]
    at: std::time::Duration,
    /// Where the picture goes (PNG); further images of the sensor get their names after a dash
    #[arg(short, long, value_name = "FILE", default_value = "look.png")]
    out: PathBuf,
    /// Who makes pictures: cpu, gpu (a graphics card), or auto (gpu if there is one, else cpu)
    #[arg(long, value_parser = options::render, default_value = "cpu")]
    render: muster::Render,
    #[command(flatten)]
    over: options::Overrides,
}

#[derive(Args)]
struct PortsArguments {
    /// The scenario file
    scenario: PathBuf,
    /// Which ports to take: `auto` for any that are free, or the first of a row; else those of the scenario
    #[arg(long, value_name = "PORT|auto", default_value = "as-written", value_parser = options::port_base, hide_default_value = true)]
    port_base: muster::PortBase,
    /// For machines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    over: options::Overrides,
}

#[derive(Args)]
struct MorseArguments {
    #[command(subcommand)]
    what: MorseCommand,
}

#[derive(Subcommand)]
enum MorseCommand {
    /// Simulate what a builder script describes; its services and streams are where MORSE has them
    Run {
        /// The builder script
        script: PathBuf,
        #[command(flatten)]
        options: Box<options::RunFlags>,
    },
    /// Print the scenario that a builder script describes
    Convert {
        /// The builder script
        script: PathBuf,
        /// What the script gets as its own arguments
        #[arg(trailing_var_arg = true)]
        arguments: Vec<String>,
    },
}

#[derive(Args)]
struct ListArguments {
    /// What to list; everything if left out
    #[arg(value_parser = list::FAMILIES)]
    what: Option<String>,
    /// For machines: with every property, its type and default
    #[arg(long)]
    json: bool,
    /// With the kinds of these plug-ins, each a path or a name
    #[arg(long, value_name = "PLUGIN")]
    plugin: Vec<String>,
}

#[derive(Args)]
struct SchemaArguments {
    /// With the kinds of these plug-ins, each a path or a name
    #[arg(long, value_name = "PLUGIN")]
    plugin: Vec<String>,
}

/// Does something with the kinds of these plug-ins beside those built in.
fn with_plugins(plugins: &[String], work: impl FnOnce(Registry) -> u8) -> u8 {
    match plugins::registry_with(plugins.iter().map(String::as_str)) {
        Ok(kinds) => work(kinds),
        Err(error) => {
            eprintln!("error: {error}");
            REFUSED
        }
    }
}

/// Does what was asked and returns the exit code.
pub(crate) fn dispatch(arguments: Arguments) -> u8 {
    match arguments.command {
        Command::Run(run) => run::run(run::Source::File(run.scenario), &run.options),
        Command::Demo(demo) => run::run(run::Source::Demo(demo.name), &demo.options),
        Command::Check(check) => check::check(&check.scenarios, &check.over),
        Command::Inspect(inspect) => inspect::inspect(&inspect),
        Command::Map(what) => map::map(&what),
        Command::Look(look) => look::look(&look),
        Command::FitRange(what) => fit::fit_range(&what),
        Command::Ports(what) => ports::ports(&what),
        Command::Morse(what) => morse::morse(&what.what),
        Command::List(list) => with_plugins(&list.plugin, |kinds| list::list(kinds, list.what.as_deref(), list.json)),
        Command::Schema(schema) => with_plugins(&schema.plugin, |kinds| {
            say!("{:#}", muster_scenario::schema::schema(kinds));
            OK
        }),
        Command::Plugin(command) => plugin::plugin(&command),
        Command::Replay(what) => replay::replay(&what),
        Command::Bench(bench) => crate::bench::bench(&bench),
    }
}
