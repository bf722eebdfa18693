//! Reading a recording. Files come from anywhere: lengths are checked against what is there, and nothing makes more room
//! than a limit. A file that was cut off is read up to its last whole chunk.

use super::command::Recorded;
use super::manifest::{Manifest, names::END};
use super::topics;
use crate::ros::cdr::Reader;
use crate::ros::messages::{CommandRecord, Hashes, Message, Roster};
use mcap::records::{Record, op};
use mcap::sans_io::linear_reader::{LinearReadEvent, LinearReader, LinearReaderOptions};
use muster_core::time::SimTime;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// Longest record, and longest chunk before and after compression.
const RECORD_BYTES_MAX: usize = 256 * 1024 * 1024;
/// All attachments together.
const FILES_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// Everything that is kept of messages.
const KEPT_BYTES_MAX: usize = 2 * 1024 * 1024 * 1024;

/// What happened, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// A command took effect.
    Command(Recorded),
    /// A command that cannot be understood, and why.
    Unknown {
        /// When.
        time: SimTime,
        /// Why.
        why: String,
    },
    /// From here on hashes of robots are in this order.
    Roster(Vec<String>),
    /// The state.
    Hashes(Hashed),
}

/// Hashes of the state at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hashed {
    /// When.
    pub time: SimTime,
    /// Of the whole world.
    pub world: u128,
    /// The lower halves of those of the robots.
    pub robots: Vec<u64>,
}

/// A recording as far as it can be read.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// What the run was.
    pub manifest: Manifest,
    /// What happened.
    pub entries: Vec<Entry>,
    /// How many messages there are on each topic.
    pub counts: BTreeMap<String, u64>,
    /// What was written at the end; none if the file was cut off.
    pub end: Option<BTreeMap<String, String>>,
    /// Why the file could not be read to its end, if it is more than being cut off.
    pub damage: Option<String>,
}

/// Why there is nothing to read at all.
#[derive(Debug)]
pub enum ReadError {
    /// The file cannot be read.
    Io(io::Error),
    /// It is no recording of muster.
    Foreign(String),
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Foreign(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for ReadError {}

/// What is known while a file is read.
#[derive(Default)]
struct Reading {
    recording: Recording,
    /// Topics of channels, and how many messages they had.
    channels: BTreeMap<u16, (String, u64)>,
    files_bytes: usize,
    kept_bytes: usize,
    known: bool,
    finished: bool,
}

impl Recording {
    /// Opens a file and reads it to its end, as far as it goes.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let file = std::fs::File::open(path).map_err(ReadError::Io)?;
        let length = file.metadata().map_err(ReadError::Io)?.len();
        Self::read(io::BufReader::with_capacity(1 << 20, file), length)
    }

    /// Reads a recording of so many bytes.
    pub fn read(mut from: impl Read, length: u64) -> Result<Self, ReadError> {
        let options = LinearReaderOptions::default()
            .with_skip_end_magic(true)
            .with_prevalidate_chunk_crcs(true)
            .with_validate_data_section_crc(true)
            .with_record_length_limit(RECORD_BYTES_MAX);
        let mut reader = LinearReader::new_with_options(options);
        let (mut reading, mut left) = (Reading::default(), length);
        while let Some(event) = reader.next_event() {
            match event {
                Ok(LinearReadEvent::ReadRequest(need)) if need as u64 > left.max(1) => break,
                Ok(LinearReadEvent::ReadRequest(need)) => {
                    let got = from.read(reader.insert(need)).map_err(ReadError::Io)?;
                    reader.notify_read(got);
                    left = left.saturating_sub(got as u64);
                    if got == 0 {
                        break;
                    }
                }
                Ok(LinearReadEvent::Record { opcode, data }) => {
                    if let Err(damage) = reading.record(opcode, data) {
                        reading.recording.damage = Some(damage);
                        break;
                    }
                }
                Err(error) => {
                    reading.recording.damage = Some(format!("after {} bytes: {error}", length - left));
                    break;
                }
            }
        }
        reading.finish(length)
    }

    /// The time of the last hash, up to which the recording can be proven.
    pub fn last_hash(&self) -> Option<SimTime> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Hashes(hashed) => Some(hashed.time),
            _ => None,
        })
    }

    /// True if the file has its end.
    pub fn whole(&self) -> bool {
        self.end.is_some() && self.damage.is_none()
    }
}

impl Reading {
    fn finish(self, length: u64) -> Result<Recording, ReadError> {
        let mut recording = self.recording;
        if !self.known {
            let why =
                recording.damage.unwrap_or_else(|| format!("{length} bytes without what muster writes at the start"));
            return Err(ReadError::Foreign(format!("found {why}, expected a recording of muster (--record)")));
        }
        if !self.finished {
            recording.end = None;
        }
        for (topic, count) in self.channels.into_values() {
            *recording.counts.entry(topic).or_default() += count;
        }
        Ok(recording)
    }

    /// Takes a record in; an error says what is wrong with it.
    fn record(&mut self, opcode: u8, data: &[u8]) -> Result<(), String> {
        // indexes are for those who seek
        if !matches!(opcode, op::CHANNEL | op::MESSAGE | op::ATTACHMENT | op::METADATA | op::DATA_END) || self.finished
        {
            return Ok(());
        }
        let record = mcap::parse_record(opcode, data).map_err(|error| error.to_string())?;
        match record {
            Record::Channel(channel) => {
                self.channels.entry(channel.id).or_insert((channel.topic, 0));
            }
            Record::Message { header, data } => {
                let Some((topic, count)) = self.channels.get_mut(&header.channel_id) else {
                    return Err(format!(
                        "found a message of channel {}, expected one that was told before",
                        header.channel_id
                    ));
                };
                *count += 1;
                if topic.starts_with("/muster/") {
                    let topic = topic.clone();
                    self.message(&topic, &data)?;
                }
            }
            Record::Metadata(metadata) => {
                self.known |= metadata.name == super::manifest::names::RUN;
                if metadata.name == END {
                    self.recording.end = Some(metadata.metadata);
                } else {
                    self.recording.manifest.note(&metadata.name, metadata.metadata)?;
                }
            }
            Record::Attachment { header, data, .. } => {
                self.files_bytes += data.len();
                if self.files_bytes > FILES_BYTES_MAX {
                    return Err(format!("found more than {FILES_BYTES_MAX} bytes of files, expected fewer"));
                }
                self.recording.manifest.files.push((header.name, Arc::from(&*data)));
            }
            Record::DataEnd(_) => self.finished = true,
            _ => (),
        }
        Ok(())
    }

    fn message(&mut self, topic: &str, data: &[u8]) -> Result<(), String> {
        self.kept_bytes += data.len() + size_of::<Entry>();
        if self.kept_bytes > KEPT_BYTES_MAX {
            return Err(format!("found more than {KEPT_BYTES_MAX} bytes of commands and hashes, expected fewer"));
        }
        let entry = match topic {
            topics::COMMANDS => {
                let message: CommandRecord = read(data)?;
                Recorded::read(&message)
                    .map_or_else(|why| Entry::Unknown { time: message.stamp.sim(), why }, Entry::Command)
            }
            topics::ROSTER => Entry::Roster(read::<Roster>(data)?.robots),
            topics::HASHES => {
                let Hashes { stamp, world, robots } = read(data)?;
                Entry::Hashes(Hashed { time: stamp.sim(), world: u128::from_le_bytes(world), robots })
            }
            _ => return Ok(()),
        };
        self.recording.entries.push(entry);
        Ok(())
    }
}

fn read<M: Message>(data: &[u8]) -> Result<M, String> {
    Reader::message(data).map_err(|error| format!("{}: {error}", M::NAME))
}
