//! Loads plug-ins: shared libraries with components of others, made with `muster_plugin.h` or the `muster-plugin` crate.
//! Each of their kinds becomes a [`Kind`](muster_core::component::Kind) beside those built in, and a component of it
//! implements the same traits; the core knows no difference.
//!
//! Libraries are never unloaded: code that was called once may be called until the process ends, and their tables are
//! read once and kept. Components are freed when the last who use them are gone, each once; what they remember of robots
//! is freed just before, even if the robots are gone for long.
#![expect(unsafe_code, reason = "calling what others compiled is unsafe by nature; every block says what it relies on")]

mod drivers;
mod extensions;
mod fields;
mod host;
mod instance;
mod library;
mod modifiers;
mod motions;
mod registry;
mod sensors;
mod trace;
mod watch;

pub use registry::registry;
pub use trace::{trace, trace_on};

/// Where plug-ins are looked for by name: folders, separated as in `PATH`.
pub const PATH_VARIABLE: &str = "MUSTER_PLUGIN_PATH";
