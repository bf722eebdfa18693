//! The recorder: what the loop and the thread of messages hand over, and how it gets to the scribe without making them
//! wait.
//!
//! As fast as possible, a recorder that cannot follow makes the run wait for it. Paced, it drops samples and states, which
//! it counts, but never commands and hashes.

use super::Compression;
use super::command::{Deed, Recorded};
use super::manifest::Manifest;
use super::scribe::{Returns, Scribe};
use super::tape::Tape;
use crate::delivery::{Batch, Directory, Sink};
use crate::ros::names;
use crate::ros::sensor::{Vocabulary, speakers};
use glam::DVec3;
use muster_core::command::Applied;
use muster_core::component::Pose;
use muster_core::node::matches;
use muster_core::time::SimTime;
use muster_core::world::World;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What is recorded, and how.
#[derive(Debug, Clone, Default)]
pub struct Wants {
    /// Patterns of topics (`/scout*/imu`) or sensors (`scout*.imu`); everything if there are none. What is needed to
    /// simulate again is always recorded.
    pub only: Vec<String>,
    /// A topic is told at most once in this span of simulated time; zero for always.
    pub every: SimTime,
    /// How chunks are compressed.
    pub compression: Compression,
}

impl Wants {
    /// Whether a topic that is no sensor's is wanted.
    pub(super) fn topic(&self, topic: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|pattern| matches(pattern, topic))
    }

    /// Whether a topic of a sensor is wanted.
    pub(super) fn sensor(&self, robot: &str, sensor: &str, topic: &str) -> bool {
        let by_name = |pattern: &String| {
            let split = pattern.split_once('.').filter(|_| !pattern.starts_with('/'));
            split.is_some_and(|(robots, sensors)| matches(robots, robot) && matches(sensors, sensor))
        };
        self.topic(topic) || self.only.iter().any(by_name)
    }

    /// A pattern that nothing matches, if there is one.
    pub fn unmatched(&self, directory: &Directory) -> Option<&str> {
        let common = ["/clock", "/tf", "/tf_static"].map(str::to_owned);
        let mut topics: Vec<String> = common.to_vec();
        let mut sensors: Vec<(&str, &str)> = Vec::new();
        for robot in directory.robots.values() {
            let token = names::token(&robot.name);
            topics.extend([format!("/{token}/truth"), format!("/{token}/command")]);
            let voices = speakers(&token, &robot.cohort.blueprint, &mut Vocabulary::default());
            topics.extend(voices.into_iter().flat_map(|speaker| speaker.topics).map(|topic| topic.name));
            sensors.extend(robot.sensors.iter().map(|(sensor, _)| (robot.name.as_str(), sensor.as_str())));
        }
        let one = |pattern: &str| Self { only: vec![pattern.to_owned()], ..Self::default() };
        let matched = |pattern: &&String| {
            let alone = one(pattern);
            topics.iter().any(|topic| alone.topic(topic))
                || sensors.iter().any(|(robot, name)| alone.sensor(robot, name, ""))
        };
        self.only.iter().find(|pattern| !matched(pattern)).map(String::as_str)
    }

    /// The sensors to listen to, `robot.sensor` each.
    fn sensors(&self, directory: &Directory) -> Vec<String> {
        if self.only.is_empty() {
            let any = directory.robots.values().any(|robot| !robot.sensors.is_empty());
            return if any { vec!["*.*".to_owned()] } else { Vec::new() };
        }
        let mut list = Vec::new();
        for robot in directory.robots.values() {
            let voices = speakers(&names::token(&robot.name), &robot.cohort.blueprint, &mut Vocabulary::default());
            for (speaker, (sensor, _)) in voices.iter().zip(&robot.sensors) {
                if speaker.topics.iter().any(|topic| self.sensor(&robot.name, sensor, &topic.name)) {
                    list.push(format!("{}.{sensor}", robot.name));
                }
            }
        }
        list
    }
}

/// A sample in a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) stamp: SimTime,
    pub(super) robot: u32,
    pub(super) sensor: u32,
    pub(super) first: usize,
    pub(super) len: usize,
}

/// The samples of a window.
#[derive(Default)]
pub(super) struct Samples {
    pub(super) directory: Arc<Directory>,
    pub(super) list: Vec<Sample>,
    pub(super) values: Vec<f64>,
}

/// A robot at the end of a window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) robot: u32,
    pub(super) pose: Pose,
    pub(super) velocity_mps: DVec3,
    pub(super) angular_velocity_radps: DVec3,
    pub(super) setpoint: [f64; 5],
    /// Where its joints are in the block.
    pub(super) joints: (usize, usize),
}

/// All robots at the end of a window.
#[derive(Default)]
pub(super) struct States {
    pub(super) time: SimTime,
    pub(super) directory: Arc<Directory>,
    pub(super) rows: Vec<Row>,
    pub(super) joints: Vec<f64>,
}

/// What is needed to simulate again, in the order in which it happened.
#[derive(Default)]
pub(super) struct Beat {
    pub(super) time: SimTime,
    pub(super) commands: Vec<Recorded>,
    /// The simulation begins again after these commands.
    pub(super) reset: bool,
    /// Names in the order of hashes, if they changed.
    pub(super) roster: Option<Vec<String>>,
    pub(super) hash: Option<u128>,
    pub(super) robots: Vec<(u64, u128)>,
}

/// How the run ended.
#[derive(Default)]
pub(super) struct Ending {
    pub(super) time: SimTime,
    pub(super) ended: String,
}

/// What is handed to the scribe.
pub(super) enum Item {
    Samples(Box<Samples>),
    States(Box<States>),
    Beat(Box<Beat>),
    End(Ending),
}

/// Blocks of samples and of states under way at most.
const BLOCKS: usize = 64;
/// Numbers of samples under way at most: 256 MB.
const VALUES_MAX: u64 = 32 * 1024 * 1024;
/// Items under way at most; more than there are blocks, so that there is room for what may not be dropped.
const ITEMS: usize = 4096;
/// States are told at most this often.
const STATES_EVERY: SimTime = SimTime::from_ns(10_000_000);
/// Who waits for the recorder looks this often whether it may go on.
const PATIENCE: Duration = Duration::from_millis(1);
/// Hashes are told this often.
const HASH_EVERY_NS: u64 = 1_000_000_000;

/// What those who hand over and the scribe know together.
#[derive(Default)]
pub(super) struct Shared {
    /// The run waits for the recorder.
    patient: AtomicBool,
    failed: AtomicBool,
    error: Mutex<Option<String>>,
    dropped: AtomicU64,
    queued_values: AtomicU64,
    messages: AtomicU64,
    payload_bytes: AtomicU64,
    file_bytes: AtomicU64,
    untold_topics: AtomicU64,
}

impl Shared {
    pub(super) fn failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    pub(super) fn fail(&self, error: &io::Error) {
        let mut place = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        place.get_or_insert_with(|| error.to_string());
        self.failed.store(true, Ordering::Release);
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn release(&self, values: usize) {
        self.queued_values.fetch_sub(values as u64, Ordering::AcqRel);
    }

    pub(super) fn note(&self, tape: &Tape) {
        self.messages.store(tape.messages, Ordering::Relaxed);
        self.payload_bytes.store(tape.payload_bytes, Ordering::Relaxed);
        self.file_bytes.store(tape.bytes(), Ordering::Relaxed);
        self.untold_topics.store(tape.untold_topics, Ordering::Relaxed);
    }

    fn patient(&self) -> bool {
        self.patient.load(Ordering::Relaxed) && !self.failed()
    }
}

/// What a recorder has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The file.
    pub path: PathBuf,
    /// Messages written.
    pub messages: u64,
    /// Bytes of messages, before compression.
    pub payload_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Samples and states dropped, because the file could not be written fast enough.
    pub dropped: u64,
    /// Topics left out, because a file can hold no more.
    pub untold_topics: u64,
    /// Why the file ends before the run does.
    pub error: Option<String>,
}

/// The side of the loop.
pub struct Recorder {
    path: PathBuf,
    shared: Arc<Shared>,
    now: SimTime,
    items: SyncSender<Item>,
    /// What found no room yet.
    waiting: VecDeque<Item>,
    spare_states: Receiver<Box<States>>,
    spare_beats: Receiver<Box<Beat>>,
    states_made: usize,
    ear: Option<Ear>,
    thread: Option<JoinHandle<()>>,
    generation: Option<u64>,
    next_states: SimTime,
    next_hash: SimTime,
    hashed: Option<SimTime>,
    applied: Vec<Applied>,
    told_error: bool,
}

/// The side of the thread of messages.
pub struct Ear {
    sensors: Vec<String>,
    shared: Arc<Shared>,
    items: SyncSender<Item>,
    spare: Receiver<Box<Samples>>,
    made: usize,
}

impl Recorder {
    /// Begins a recording of a world as it is now.
    pub fn start(
        path: &Path,
        manifest: &Manifest,
        wants: Wants,
        world: &mut World,
        directory: &Arc<Directory>,
    ) -> io::Result<Self> {
        let tape = Tape::create(path, manifest, wants.compression)?;
        let shared = Arc::new(Shared::default());
        shared.patient.store(true, Ordering::Relaxed);
        let (items, received) = sync_channel(ITEMS);
        let (samples, spare) = sync_channel(BLOCKS);
        let (states, spare_states) = sync_channel(BLOCKS);
        let (beats, spare_beats) = sync_channel(BLOCKS);
        let scribe = Scribe::new(tape, wants.clone(), Arc::clone(&shared));
        let returns = Returns { samples, states, beats };
        let work = move || scribe.work(&received, &returns);
        let thread = std::thread::Builder::new().name("recorder".to_owned()).spawn(work)?;
        let sensors = wants.sensors(directory);
        let ear = Ear { sensors, shared: Arc::clone(&shared), items: items.clone(), spare, made: 0 };
        world.keep_applied();
        let mut recorder = Self {
            path: path.to_owned(),
            shared,
            now: world.time(),
            items,
            waiting: VecDeque::new(),
            spare_states,
            spare_beats,
            states_made: 0,
            ear: Some(ear),
            thread: Some(thread),
            generation: None,
            next_states: SimTime::ZERO,
            next_hash: SimTime::ZERO,
            hashed: None,
            applied: Vec::new(),
            told_error: false,
        };
        recorder.tap(world, directory);
        Ok(recorder)
    }

    /// What hears samples; asked for once. `None` if no sensor is wanted.
    pub fn ear(&mut self) -> Option<Box<dyn Sink>> {
        self.ear.take().filter(|ear| !ear.sensors.is_empty()).map(|ear| Box::new(ear) as Box<dyn Sink>)
    }

    /// Whether the run waits for the recorder, or samples are dropped when it cannot follow.
    pub fn wait_for_it(&self, wait: bool) {
        self.shared.patient.store(wait, Ordering::Relaxed);
    }

    /// Writes down what happened in a window: commands that took effect, and, when due, states and hashes. Called on the
    /// thread of the loop; allocates nothing unless robots came or went, or commands did.
    pub fn tap(&mut self, world: &mut World, directory: &Arc<Directory>) {
        if self.shared.failed() {
            return;
        }
        let now = world.time();
        self.now = now;
        world.take_applied(&mut self.applied);
        let hash_due = now >= self.next_hash && self.hashed != Some(now);
        if !self.applied.is_empty() || hash_due {
            let commands: Vec<Recorded> = self.applied.iter().map(Recorded::of).collect();
            self.beat(world, commands, hash_due);
        }
        if now >= self.next_states {
            self.next_states = SimTime::from_ns((now.ns() / STATES_EVERY.ns() + 1) * STATES_EVERY.ns());
            self.states(world, directory);
        }
        self.send_waiting();
    }

    fn beat(&mut self, world: &World, commands: Vec<Recorded>, hash_due: bool) {
        let mut beat = self.spare_beats.try_recv().unwrap_or_default();
        (beat.time, beat.commands, beat.reset, beat.roster, beat.hash) = (world.time(), commands, false, None, None);
        if hash_due {
            self.next_hash = SimTime::from_ns((beat.time.ns() / HASH_EVERY_NS + 1) * HASH_EVERY_NS);
            self.hashed = Some(beat.time);
            beat.hash = Some(world.state().hashes_of_realm(0, &mut beat.robots));
            if self.generation != Some(world.generation()) {
                self.generation = Some(world.generation());
                let mut keyed: Vec<(u64, &str)> =
                    world.realm(0).robots().map(|robot| (robot.key, robot.name.as_str())).collect();
                keyed.sort_unstable();
                beat.roster = Some(keyed.into_iter().map(|(_, name)| name.to_owned()).collect());
            }
        }
        self.send(Item::Beat(beat));
    }

    /// The simulation begins again from its start.
    pub fn note_reset(&mut self, world: &mut World) {
        self.note_break(world, Deed::Reset);
    }

    /// Something happened that is no command, after what happened before it.
    pub fn note_break(&mut self, world: &mut World, deed: Deed) {
        world.take_applied(&mut self.applied);
        let mut commands: Vec<Recorded> = self.applied.iter().map(Recorded::of).collect();
        let reset = deed == Deed::Reset;
        let (time, group) = (world.time(), commands.last().map_or(0, |last| last.group + 1));
        commands.push(Recorded { time, group, link: 0, sequence: 0, deed });
        self.send(Item::Beat(Box::new(Beat { time, commands, reset, ..Beat::default() })));
        (self.next_states, self.next_hash, self.hashed) = (SimTime::ZERO, SimTime::ZERO, None);
        self.generation = None;
    }

    fn states(&mut self, world: &World, directory: &Arc<Directory>) {
        let Some(mut block) = self.states_block() else {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let States { time, rows, joints, .. } = &mut *block;
        *time = world.time();
        rows.clear();
        joints.clear();
        for (number, _) in world.roster() {
            let Some(body) = world.body(number) else { continue };
            let first = joints.len();
            joints.extend(body.joints());
            rows.push(Row {
                robot: number,
                pose: body.pose(),
                velocity_mps: body.velocity_mps(),
                angular_velocity_radps: body.angular_velocity_radps(),
                setpoint: body.setpoint(),
                joints: (first, joints.len()),
            });
        }
        if !Arc::ptr_eq(&block.directory, directory) {
            block.directory = Arc::clone(directory);
        }
        self.send(Item::States(block));
    }

    fn states_block(&mut self) -> Option<Box<States>> {
        match self.spare_states.try_recv() {
            Ok(block) => Some(block),
            Err(_) if self.states_made < BLOCKS => {
                self.states_made += 1;
                Some(Box::default())
            }
            Err(_) if self.shared.patient() => self.spare_states.recv().ok(),
            Err(_) => None,
        }
    }

    fn send(&mut self, item: Item) {
        self.waiting.push_back(item);
        self.send_waiting();
    }

    fn send_waiting(&mut self) {
        while let Some(item) = self.waiting.pop_front() {
            if let Err(TrySendError::Full(item)) = self.items.try_send(item) {
                self.waiting.push_front(item);
                return;
            }
        }
    }

    /// Sends everything, however long that takes.
    fn send_all(&mut self) {
        while let Some(item) = self.waiting.pop_front() {
            if self.items.send(item).is_err() {
                return;
            }
        }
    }

    /// Why the file ends before the run does; told once.
    pub fn take_error(&mut self) -> Option<String> {
        if self.told_error || !self.shared.failed() {
            return None;
        }
        self.told_error = true;
        self.outcome().error
    }

    /// What was done so far.
    pub fn outcome(&self) -> Outcome {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let error = self.shared.error.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Outcome {
            path: self.path.clone(),
            messages: count(&self.shared.messages),
            payload_bytes: count(&self.shared.payload_bytes),
            file_bytes: count(&self.shared.file_bytes),
            dropped: self.shared.dropped(),
            untold_topics: count(&self.shared.untold_topics),
            error,
        }
    }

    /// Ends the recording with the state as it is, and waits until all is written.
    pub fn finish(&mut self, world: &mut World, ended: &str) -> Outcome {
        if let Some(thread) = self.thread.take() {
            if !self.shared.failed() {
                world.take_applied(&mut self.applied);
                let commands: Vec<Recorded> = self.applied.iter().map(Recorded::of).collect();
                let hash_due = self.hashed != Some(world.time());
                self.beat(world, commands, hash_due);
            }
            self.waiting.push_back(Item::End(Ending { time: world.time(), ended: ended.to_owned() }));
            self.send_all();
            if thread.join().is_err() {
                self.shared.fail(&io::Error::other("the thread that writes panicked"));
            }
        }
        self.outcome()
    }
}

impl Drop for Recorder {
    /// Whoever forgets to end a recording has a whole file as well.
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.waiting.push_back(Item::End(Ending { time: self.now, ended: "dropped".to_owned() }));
            self.send_all();
            _ = thread.join();
        }
    }
}

impl Sink for Ear {
    fn sensors(&self) -> Vec<String> {
        self.sensors.clone()
    }

    fn take(&mut self, batch: &Batch) {
        if self.shared.failed() {
            return;
        }
        let Some(mut block) = self.block() else {
            self.shared.dropped.fetch_add(batch.samples().count() as u64, Ordering::Relaxed);
            return;
        };
        let Samples { directory, list, values } = &mut *block;
        if !Arc::ptr_eq(directory, &batch.directory) {
            *directory = Arc::clone(&batch.directory);
        }
        list.clear();
        values.clear();
        for sample in batch.samples() {
            let (first, len) = (values.len(), sample.values.len());
            values.extend_from_slice(sample.values);
            list.push(Sample { stamp: sample.stamp, robot: sample.robot, sensor: sample.sensor, first, len });
        }
        self.send(block);
    }
}

impl Ear {
    /// An empty block; waits for one if the run waits for the recorder.
    fn block(&mut self) -> Option<Box<Samples>> {
        loop {
            let crowded = self.shared.queued_values.load(Ordering::Acquire) > VALUES_MAX;
            if !crowded {
                if let Ok(block) = self.spare.try_recv() {
                    return Some(block);
                }
                if self.made < BLOCKS {
                    self.made += 1;
                    return Some(Box::default());
                }
            }
            if !self.shared.patient() {
                return None;
            }
            if crowded {
                std::thread::sleep(PATIENCE);
            } else if let Ok(block) = self.spare.recv_timeout(PATIENCE) {
                return Some(block);
            }
        }
    }

    fn send(&mut self, block: Box<Samples>) {
        let count = block.values.len();
        self.shared.queued_values.fetch_add(count as u64, Ordering::AcqRel);
        let sent = match self.items.try_send(Item::Samples(block)) {
            Err(TrySendError::Full(item)) if self.shared.patient() => self.items.send(item).is_ok(),
            outcome => outcome.is_ok(),
        };
        if !sent {
            self.made -= 1;
            self.shared.release(count);
        }
    }
}
