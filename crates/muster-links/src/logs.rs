//! Logs: samples as text in files, one file a channel.
//!
//! - `csv`: a line a sample; of sensors that see several things, a line for each of them.
//! - `jsonl`: a JSON object a line.
//! - `text`: what MORSE's text publisher writes.
//!
//! Files are written by the thread of messages through buffers, which are emptied at least every second and in the end. A
//! file that cannot be written any more (a full disk) is given up: the run goes on and tells it.

mod format;

use crate::delivery::{Batch, Sink};
use crate::link::{Address, Desk, Link, Tally};
use crate::net::lock;
use crate::protocol::{Opening, Protocol, Unopened};
use format::{Format, Header};
use muster_core::link::{Binding, Channel, Form, LinkKind};
use muster_core::spec;
use muster_core::world::World;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

spec! {
    /// A log of a channel.
    pub struct LogOptions {
        /// The file; `robot_channel` and the format's ending if none is named. What it held is lost.
        file: Option<String>;
    }
}

spec! {
    /// All logs of a format.
    pub struct LogSettings {
        /// The folder of files without one; it is made if it does not exist.
        folder: String = ".".to_owned();
    }
}

const fn log(name: &'static str, doc: &'static str, open: Open) -> Protocol {
    let (options, settings) = (Form::of::<LogOptions>(), Form::of::<LogSettings>());
    Protocol { kind: LinkKind { name, doc, options, settings, carries: sensors_only }, open }
}

type Open = fn(&mut Opening<'_>) -> Result<Box<dyn Link>, Unopened>;

/// Comma-separated values.
pub const CSV: Protocol =
    log("csv", "Logs samples as comma-separated values, a file a channel.", |opening| open(opening, Format::Csv));

/// JSON lines.
pub const JSONL: Protocol =
    log("jsonl", "Logs samples as JSON objects, one a line, a file a channel.", |opening| open(opening, Format::Jsonl));

/// MORSE's text format.
pub const TEXT: Protocol = log("text", "Logs samples as MORSE's text publisher does, a file a channel.", |opening| {
    open(opening, Format::Text)
});

fn sensors_only(channel: &Channel<'_>) -> Result<(), (String, String)> {
    match channel {
        Channel::Sensor(_) => Ok(()),
        _ => Err(("what is no sensor".to_owned(), "a sensor: logs are written, not read".to_owned())),
    }
}

/// Buffers are emptied this often.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// A file that is being written.
struct Log {
    header: Header,
    /// None in a rehearsal.
    file: Option<BufWriter<File>>,
    path: PathBuf,
    count: u64,
}

#[derive(Default)]
struct Shelf {
    /// By robot, then by sensor.
    logs: BTreeMap<String, BTreeMap<String, Log>>,
    tally: Tally,
    notes: Vec<String>,
}

/// All logs of one format.
struct Logs {
    format: Format,
    settings: LogSettings,
    shelf: Arc<Mutex<Shelf>>,
}

struct LogSink {
    format: Format,
    shelf: Arc<Mutex<Shelf>>,
    flushed: Instant,
    line: String,
}

fn open(opening: &mut Opening<'_>, format: Format) -> Result<Box<dyn Link>, Unopened> {
    let settings = opening.settings().unwrap_or(LogSettings { folder: ".".to_owned() });
    let logs = Logs { format, settings, shelf: Arc::default() };
    for binding in opening.bindings {
        logs.start(binding, opening.world, opening.rehearsal)?;
    }
    Ok(Box::new(logs))
}

/// A new file that begins with a text, and its folder if need be.
fn create(path: &Path, head: &str) -> std::io::Result<BufWriter<File>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(head.as_bytes())?;
    Ok(file)
}

impl Logs {
    fn start(&self, binding: &Binding, world: &World, rehearsal: bool) -> Result<(), Unopened> {
        let refuse = |found: String, expected: &str| Unopened::binding(binding, found, expected);
        let options: Option<LogOptions> = binding.options();
        let named = options.and_then(|options| options.file);
        let own = || format!("{}_{}.{}", binding.robot, binding.channel, self.format.ending());
        let name = named.unwrap_or_else(own);
        let path = PathBuf::from(&self.settings.folder).join(name);
        let header = Header::of(world, &binding.robot, &binding.channel)
            .ok_or_else(|| refuse(binding.path(), "a sensor that exists"))?;
        let unwritable =
            |error: std::io::Error| refuse(format!("{}: {error}", path.display()), "a file that can be written");
        let mut shelf = lock(&self.shelf);
        if shelf.all().any(|log| log.path == path) {
            return Err(refuse(format!("{}, which is written already", path.display()), "a file of its own"));
        }
        let file = match rehearsal {
            true => None,
            false => Some(create(&path, &self.format.head(&header)).map_err(unwritable)?),
        };
        let log = Log { header, file, path, count: 0 };
        shelf.logs.entry(binding.robot.clone()).or_default().insert(binding.channel.clone(), log);
        Ok(())
    }
}

impl Link for Logs {
    fn sink(&mut self) -> Option<Box<dyn Sink>> {
        let (shelf, format) = (Arc::clone(&self.shelf), self.format);
        Some(Box::new(LogSink { format, shelf, flushed: Instant::now(), line: String::new() }))
    }

    fn attend(&mut self, _: &mut Desk<'_>) {}

    fn bind(&mut self, binding: &Binding, world: &World) -> Result<(), String> {
        self.start(binding, world, false).map_err(|unopened| unopened.to_string())
    }

    fn unbind(&mut self, path: &str) -> bool {
        let Some((robot, channel)) = path.split_once('.') else { return false };
        // what is left in its buffer is written when it is dropped
        lock(&self.shelf).logs.get_mut(robot).is_some_and(|logs| logs.remove(channel).is_some())
    }

    fn addresses(&self) -> Vec<Address> {
        let at = |log: &Log| Address {
            link: self.format.name(),
            channel: format!("{}.{}", log.header.robot, log.header.channel),
            direction: "out",
            at: log.path.display().to_string(),
        };
        lock(&self.shelf).all().map(at).collect()
    }

    fn tally(&self) -> Tally {
        lock(&self.shelf).tally
    }

    fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut lock(&self.shelf).notes)
    }
}

impl Sink for LogSink {
    fn sensors(&self) -> Vec<String> {
        lock(&self.shelf).all().map(|log| format!("{}.{}", log.header.robot, log.header.channel)).collect()
    }

    fn poses(&self) -> bool {
        self.format == Format::Text
    }

    fn take(&mut self, batch: &Batch) {
        let mut guard = lock(&self.shelf);
        let shelf = &mut *guard;
        for sample in batch.samples() {
            let Some(names) = batch.directory.robots.get(&sample.robot) else { continue };
            let Some((sensor, _)) = names.sensors.get(sample.sensor as usize) else { continue };
            let Some(logs) = shelf.logs.get_mut(&names.name) else { continue };
            let Some(log) = logs.get_mut(sensor) else { continue };
            self.line.clear();
            let pose = batch.pose_of(sample.robot);
            self.format.write(&mut self.line, &log.header, &sample, (log.count, pose));
            let Some(file) = &mut log.file else { continue };
            if let Err(error) = file.write_all(self.line.as_bytes()) {
                shelf.notes.push(format!("{}: {error}; it is written no more", log.path.display()));
                logs.remove(sensor);
                continue;
            }
            log.count += 1;
            shelf.tally.sent += 1;
            shelf.tally.sent_bytes += self.line.len() as u64;
        }
        if self.flushed.elapsed() >= FLUSH_EVERY {
            self.flushed = Instant::now();
            shelf.flush();
        }
    }

    fn flush(&mut self) {
        lock(&self.shelf).flush();
    }
}

impl Shelf {
    fn flush(&mut self) {
        let notes = &mut self.notes;
        let mut written = |log: &mut Log| match log.file.as_mut().map_or(Ok(()), Write::flush) {
            Ok(()) => true,
            Err(error) => {
                notes.push(format!("{}: {error}; it is written no more", log.path.display()));
                false
            }
        };
        self.logs.values_mut().for_each(|logs| logs.retain(|_, log| written(log)));
    }

    fn all(&self) -> impl Iterator<Item = &Log> {
        self.logs.values().flat_map(BTreeMap::values)
    }
}
