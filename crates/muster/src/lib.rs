//! muster: a real-time simulator for fleets of robots. This crate assembles the core, the built-in components, threads
//! and clocks into a [`Simulation`], judges expectations, and holds the command line.
//!
//! ```
//! use muster::{Action, Setup, Simulation, setpoint};
//! use muster::sink::{Batch, Sink};
//!
//! struct Printer;
//!
//! impl Sink for Printer {
//!     fn sensors(&self) -> Vec<String> {
//!         vec!["rover.truth".to_owned()]
//!     }
//!
//!     fn take(&mut self, batch: &Batch) {
//!         for sample in batch.samples() {
//!             println!("{} {:?}", sample.stamp, &sample.values[..3]);
//!         }
//!     }
//! }
//!
//! let text = "{robots: [{name: rover, kind: differential}]}";
//! let mut sim = Simulation::from_text(text, &Setup::default())?;
//! sim.add_sink(Box::new(Printer))?;
//! // forward, left, up in m/s and turn rate in rad/s
//! let forward = [0.5, 0.0, 0.0, 0.0];
//! sim.command(Action::Setpoint { robot: "rover".to_owned(), mode: setpoint::VELOCITY, values: forward });
//! sim.run_for(2.0);
//! let position = sim.world().property("rover.position_m")?;
//! assert!(position[0] > 0.9);
//! assert!(sim.world_mut().take_refusals().is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod choose;
pub mod judge;
pub mod library;
pub mod links;
pub mod pace;
pub mod plugins;
pub mod record;
pub mod render;
pub mod report;
pub mod run;
mod simulation;
pub mod sink;

use muster_core::component::Registry;

/// Every built-in component and link.
pub const REGISTRY: Registry = Registry { links: &muster_links::protocol::KINDS, ..muster_models::REGISTRY };

pub use muster_core::command::Action;
pub use muster_core::component::Pose;
pub use muster_core::lanes::setpoint;
pub use muster_core::service::{Datum, Outcome};
pub use muster_core::time::SimTime;
pub use muster_links::protocol::PortBase;
pub use render::Render;
pub use simulation::{LoadError, Setup, Simulation};
