//! Scenario text to model, with file and line in every error.

pub mod files;
pub mod merge;
pub mod template;
pub mod yaml;
