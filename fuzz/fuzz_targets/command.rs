//! Any bytes as a recorded command, or as one of the larger messages: they are read or refused, and what was read is
//! written and read again as the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use muster_links::record::command::Recorded;
use muster_links::ros::cdr::{HEADER, Reader, Writer};
use muster_links::ros::messages::{CommandRecord, Hashes, LaserScan, Message, Odometry, PointCloud2, TfMessage};

fn round<M: Message>(bytes: &[u8]) -> Option<M> {
    let message: M = Reader::message(bytes).ok()?;
    let mut writer = Writer::default();
    let first = writer.message(&message).to_vec();
    let again: M = Reader::message(&first).expect("what was written is read");
    assert_eq!(writer.message(&again), first);
    Some(message)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let bytes = [&HEADER, rest].concat();
    match first % 6 {
        0 => _ = round::<LaserScan>(&bytes),
        1 => _ = round::<TfMessage>(&bytes),
        2 => _ = round::<Odometry>(&bytes),
        3 => _ = round::<PointCloud2>(&bytes),
        4 => _ = round::<Hashes>(&bytes),
        _ => {
            if let Some(message) = round::<CommandRecord>(&bytes)
                && let Ok(recorded) = Recorded::read(&message)
            {
                assert!(Recorded::read(&recorded.message()).is_ok());
                _ = recorded.replay(&[]);
            }
        }
    }
});
