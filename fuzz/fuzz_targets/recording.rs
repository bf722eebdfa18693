//! Any bytes as a recording: reading must not panic, hang or fill the memory. What was read of commands can be written
//! and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use muster_links::record::command::Recorded;
use muster_links::record::reader::{Entry, Recording};

fuzz_target!(|bytes: &[u8]| {
    let Ok(recording) = Recording::read(bytes, bytes.len() as u64) else { return };
    for entry in &recording.entries {
        if let Entry::Command(command) = entry {
            assert!(Recorded::read(&command.message()).is_ok());
            _ = command.replay(&[]);
        }
    }
});
