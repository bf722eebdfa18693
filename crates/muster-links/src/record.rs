//! Recordings: what robots measured and did, as MCAP files with messages of ROS 2, and beside that everything needed to
//! simulate the run again and to prove that it is the same: files, options, commands, hashes.
//!
//! The loop copies numbers and goes on; a thread of its own turns them into messages, compresses and writes them
//! ([`recorder`]). A file is a row of chunks, each with its checksum: whatever ends the program, what was flushed can be
//! read ([`reader`]), and a chunk is flushed at least twice a second.
//!
//! Topics of robots are told by [`crate::ros::sensor`]. Beside them there are `/clock`, `/tf`, `/tf_static`, `/ROBOT/truth`
//! for robots without a sensor for it, `/ROBOT/command`, and what `muster replay` reads: `/muster/commands`,
//! `/muster/hashes`, `/muster/roster`.

pub mod command;
mod frames;
pub mod manifest;
pub mod reader;
pub mod recorder;
mod scribe;
mod tape;

pub use tape::Compression;

/// Topics that `muster replay` reads.
pub mod topics {
    /// Every change from outside.
    pub const COMMANDS: &str = "/muster/commands";
    /// Hashes of the state.
    pub const HASHES: &str = "/muster/hashes";
    /// Who is who in the hashes.
    pub const ROSTER: &str = "/muster/roster";
}
