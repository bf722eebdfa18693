//! The file: channels, chunks, and what to do when it cannot be written any more.

use super::manifest::{Manifest, media_type};
use mcap::records::MessageHeader;
use mcap::write::{Metadata, NoSeek};
use mcap::{Attachment, McapError, WriteOptions, Writer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How chunks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Not at all.
    None,
    /// Quickly.
    Lz4,
    /// Well, and quickly enough.
    #[default]
    Zstd,
}

impl Compression {
    /// Their names, in the order of the variants.
    pub const NAMES: [&'static str; 3] = ["none", "lz4", "zstd"];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::None, Self::Lz4, Self::Zstd];
        all.into_iter().zip(Self::NAMES).find(|(_, own)| *own == name).map(|(one, _)| one)
    }
}

/// Chunks of this size, before compression.
const CHUNK_BYTES: usize = 1024 * 1024;
/// What is written goes to the system in pieces of this size.
const BUFFER_BYTES: usize = 256 * 1024;
/// Numbers of channels have 16 bits.
const CHANNELS_MAX: usize = 60_000;

/// A file that knows how many bytes it was given, so that pipes will do.
struct Counted {
    file: File,
    bytes: Arc<AtomicU64>,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

type Output = NoSeek<BufWriter<Counted>>;

/// An open file.
pub(super) struct Tape {
    writer: Option<Writer<Output>>,
    /// The same file, to be cut where a chunk ends.
    file: File,
    written_bytes: Arc<AtomicU64>,
    /// So many bytes are whole chunks.
    good_bytes: u64,
    /// Bytes of messages since the last chunk.
    chunk_bytes: usize,
    channels: BTreeMap<(String, String), u16>,
    /// The number of the next message of each channel.
    sequences: Vec<u32>,
    pub(super) messages: u64,
    /// Bytes of messages, before compression.
    pub(super) payload_bytes: u64,
    /// Topics that found no channel any more.
    pub(super) untold_topics: u64,
}

fn io_error(error: McapError) -> io::Error {
    match error {
        McapError::Io(error) => error,
        other => io::Error::other(other),
    }
}

impl Tape {
    /// Creates a file and writes what the run is.
    pub(super) fn create(path: &Path, manifest: &Manifest, compression: Compression) -> io::Result<Self> {
        let file = File::create(path)?;
        let same = file.try_clone()?;
        let (method, level) = match compression {
            Compression::None => (None, 0),
            Compression::Lz4 => (Some(mcap::Compression::Lz4), 1),
            Compression::Zstd => (Some(mcap::Compression::Zstd), 1),
        };
        let options = WriteOptions::new()
            .profile("ros2")
            .library(format!("muster {}", manifest.version))
            .compression(method)
            .compression_level(level)
            .compression_threads(0)
            // chunks end where this file is flushed, so that it is known up to where it is good
            .chunk_size(None)
            // a chunk is put together in memory and written at once, so what stands in the file is whole but for its end
            .disable_seeking(true);
        let written_bytes = Arc::new(AtomicU64::new(0));
        let counted = Counted { file, bytes: Arc::clone(&written_bytes) };
        let output = NoSeek::new(BufWriter::with_capacity(BUFFER_BYTES, counted));
        let writer = options.create(output).map_err(io_error)?;
        let mut tape = Self {
            writer: Some(writer),
            file: same,
            written_bytes,
            good_bytes: 0,
            chunk_bytes: 0,
            channels: BTreeMap::new(),
            sequences: Vec::new(),
            messages: 0,
            payload_bytes: 0,
            untold_topics: 0,
        };
        tape.begin(manifest)?;
        Ok(tape)
    }

    fn begin(&mut self, manifest: &Manifest) -> io::Result<()> {
        for (name, values) in manifest.metadata() {
            self.metadata(name, values)?;
        }
        let writer = self.writer()?;
        for (path, bytes) in &manifest.files {
            writer
                .attach(&Attachment {
                    log_time: 0,
                    create_time: 0,
                    name: path.clone(),
                    media_type: media_type(path).to_owned(),
                    data: Cow::Borrowed(bytes),
                })
                .map_err(io_error)?;
        }
        self.flush()
    }

    fn writer(&mut self) -> io::Result<&mut Writer<Output>> {
        self.writer.as_mut().ok_or_else(|| io::Error::other("the file is closed"))
    }

    /// Writes a metadata record.
    pub(super) fn metadata(&mut self, name: &str, metadata: BTreeMap<String, String>) -> io::Result<()> {
        self.writer()?.write_metadata(&Metadata { name: name.to_owned(), metadata }).map_err(io_error)
    }

    /// The channel of a topic; `None` if there are too many.
    pub(super) fn channel(&mut self, topic: &str, message: &str, schema: &str) -> io::Result<Option<u16>> {
        let key = (topic.to_owned(), message.to_owned());
        if let Some(&known) = self.channels.get(&key) {
            return Ok(Some(known));
        }
        if self.channels.len() >= CHANNELS_MAX {
            self.untold_topics += 1;
            return Ok(None);
        }
        let writer = self.writer()?;
        let schema = writer.add_schema(message, "ros2msg", schema.as_bytes()).map_err(io_error)?;
        let qos = [("offered_qos_profiles".to_owned(), qos(topic))];
        let channel = writer.add_channel(schema, topic, "cdr", &BTreeMap::from(qos)).map_err(io_error)?;
        self.channels.insert(key, channel);
        if self.sequences.len() <= usize::from(channel) {
            self.sequences.resize(usize::from(channel) + 1, 0);
        }
        Ok(Some(channel))
    }

    /// Writes a message.
    pub(super) fn write(&mut self, channel: u16, log_time: u64, data: &[u8]) -> io::Result<()> {
        let sequence = self.sequences[usize::from(channel)];
        self.sequences[usize::from(channel)] = sequence.wrapping_add(1);
        self.messages += 1;
        self.payload_bytes += data.len() as u64;
        let header = MessageHeader { channel_id: channel, sequence, log_time, publish_time: log_time };
        self.writer()?.write_to_known_channel(&header, data).map_err(io_error)?;
        self.chunk_bytes += data.len();
        if self.chunk_bytes >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    /// Ends the chunk and hands it to the system: from here on it survives the end of this program.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.writer()?.flush().map_err(io_error)?;
        self.chunk_bytes = 0;
        self.good_bytes = self.written_bytes.load(Ordering::Relaxed);
        Ok(())
    }

    /// Bytes in the file, up to the last whole chunk.
    pub(super) fn bytes(&self) -> u64 {
        self.good_bytes
    }

    /// Writes index and summary.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.writer()?.finish().map_err(io_error)?;
        if let Some(writer) = self.writer.take() {
            writer.into_inner().into_inner().flush()?;
        }
        self.good_bytes = self.written_bytes.load(Ordering::Relaxed);
        Ok(())
    }

    /// Gives up: cuts off what is half written, so that the file ends with a whole chunk.
    pub(super) fn give_up(&mut self) {
        if let Some(writer) = self.writer.take() {
            // dropping it would write what is buffered, and fail again
            drop(writer.into_inner().into_inner().into_parts());
        }
        // what cannot be cut stays as it is: its end cannot be read, all before it can
        _ = self.file.set_len(self.good_bytes);
    }
}

/// What players of recordings offer to those who subscribe: static transforms wait for whoever comes late.
fn qos(topic: &str) -> String {
    let durability = if topic == "/tf_static" { 1 } else { 2 };
    let forever = "\n    sec: 9223372036\n    nsec: 854775807";
    format!(
        "- history: 1\n  depth: 10\n  reliability: 1\n  durability: {durability}\n  deadline:{forever}\n  \
         lifespan:{forever}\n  liveliness: 1\n  liveliness_lease_duration:{forever}\n  \
         avoid_ros_namespace_conventions: false\n"
    )
}
