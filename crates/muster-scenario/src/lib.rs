//! Scenario text to model: files and includes, templates, layouts, typed blocks. Every problem has file and line, what
//! was found, what was expected and the nearest match, and all problems of a scenario are found at once.
//!
//! It knows no component: kinds come in through a [`muster_core::component::Registry`], library files through
//! [`files::Library`].

pub mod assets;
pub mod build;
mod events;
pub mod files;
pub mod formats;
pub mod layout;
pub mod links;
pub mod materials;
pub mod merge;
pub mod occupancy;
pub mod outline;
mod plugins;
mod robot;
pub mod scene;
pub mod schema;
pub mod skins;
mod sound;
mod start;
pub mod template;
pub mod text;
pub mod walls;
pub mod yaml;
