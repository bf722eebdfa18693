//! muster: a real-time simulator for fleets of robots. This crate assembles the core, the built-in components, threads
//! and clocks into a [`Simulation`], judges expectations, and holds the command line.
//!
//! ```
//! let mut sim = muster::Simulation::from_text(
//!     "{robots: [{name: r, kind: point, driver: {kind: random_walk}}]}",
//!     &muster::Setup::default(),
//! )?;
//! sim.run_for(1.0);
//! assert!(sim.world().number("r.velocity_mps").is_some());
//! # Ok::<(), muster::LoadError>(())
//! ```

pub mod judge;
pub mod library;
pub mod pace;
pub mod report;
pub mod run;
mod simulation;
pub mod sink;

pub use simulation::{LoadError, Setup, Simulation};
