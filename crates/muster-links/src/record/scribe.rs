//! The scribe turns what the loop handed over into messages, on a thread of its own.

use super::frames;
use super::manifest::names::END;
use super::recorder::{Beat, Ending, Item, Row, Samples, Shared, States, Wants};
use super::tape::Tape;
use super::topics;
use crate::delivery::{Directory, RobotNames};
use crate::ros::cdr::Writer;
use crate::ros::messages::{Clock, Hashes, Message, Odometry, Roster, Setpoint, TfMessage, TransformStamped};
use crate::ros::names;
use crate::ros::sensor::{self, Mouth, Speaker, Topic, Vocabulary, speakers};
use muster_core::lanes::setpoint;
use muster_core::time::SimTime;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

/// A chunk is flushed at least this often, so that no more is lost when the program is killed.
const FLUSH_EVERY: Duration = Duration::from_millis(500);

/// A topic as long as it has not been asked for, then its channel if it is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Unknown,
    Unwanted,
    At(u16),
}

impl Channel {
    fn new(wanted: bool) -> Self {
        if wanted { Self::Unknown } else { Self::Unwanted }
    }

    /// The channel in the file, opened when it is first needed.
    fn number(
        &mut self,
        tape: &mut Tape,
        topic: &str,
        message: &str,
        schema: impl FnOnce() -> String,
    ) -> io::Result<Option<u16>> {
        if *self == Self::Unknown {
            *self = tape.channel(topic, message, &schema())?.map_or(Self::Unwanted, Self::At);
        }
        Ok(match self {
            Self::At(number) => Some(*number),
            _ => None,
        })
    }

    /// Tells a message on a topic.
    fn tell<M: Message>(&mut self, desk: &mut Desk, topic: &str, time_ns: u64, message: &M) -> io::Result<()> {
        match self.number(&mut desk.tape, topic, M::NAME, M::schema)? {
            Some(number) => desk.tape.write(number, time_ns, desk.writer.message(message)),
            None => Ok(()),
        }
    }
}

/// The file, and room for a message.
struct Desk {
    tape: Tape,
    writer: Writer,
}

/// When a topic is told next.
#[derive(Debug, Clone, Copy, Default)]
struct Thinning {
    last: Option<u64>,
}

impl Thinning {
    /// Whether something with this stamp is told, if a topic is told at most once in every span.
    fn passes(&mut self, stamp: SimTime, every: SimTime) -> bool {
        if every == SimTime::ZERO {
            return true;
        }
        let cell = Some(stamp.ns() / every.ns());
        let passes = self.last != cell;
        self.last = cell;
        passes
    }
}

/// One sensor of a robot.
struct Voice {
    speaker: Speaker,
    topics: Vec<Topic>,
    channels: Vec<Channel>,
    thinning: Thinning,
    latency: SimTime,
    /// Whether its samples are transforms of the body.
    odometry: bool,
}

/// One robot.
struct Player {
    names: Arc<Directory>,
    number: u32,
    token: String,
    voices: Vec<Voice>,
    truth: (Channel, String),
    command: (Channel, String),
    odometry: Box<Odometry>,
    setpoint: Setpoint,
    /// The last command told.
    told: Option<[f64; 5]>,
    moving: Vec<TransformStamped>,
    /// The transform of odometry.
    odom: TfMessage,
}

impl Player {
    fn names(&self) -> Option<&RobotNames> {
        self.names.robots.get(&self.number)
    }
}

/// Topics of the whole world.
struct Common {
    clock: Channel,
    tf: Channel,
    tf_static: Channel,
    commands: Channel,
    roster: Channel,
    hashes: Channel,
}

/// Writes what it is handed.
pub(super) struct Scribe {
    desk: Desk,
    wants: Wants,
    shared: Arc<Shared>,
    directory: Arc<Directory>,
    players: BTreeMap<u32, Player>,
    vocabulary: Vocabulary,
    common: Common,
    tf: TfMessage,
    hashes: Hashes,
    states_thinning: Thinning,
    /// Added to simulated time, so that the time of the file never goes back when the simulation begins again.
    base_ns: u64,
    now_ns: u64,
    flushed: Instant,
    dirty: bool,
}

/// Where empty blocks go back to.
pub(super) struct Returns {
    pub(super) samples: SyncSender<Box<Samples>>,
    pub(super) states: SyncSender<Box<States>>,
    pub(super) beats: SyncSender<Box<Beat>>,
}

impl Scribe {
    pub(super) fn new(tape: Tape, wants: Wants, shared: Arc<Shared>) -> Self {
        let channel = |topic: &str| Channel::new(wants.topic(topic));
        Self {
            common: Common {
                clock: channel("/clock"),
                tf: channel("/tf"),
                tf_static: channel("/tf_static"),
                commands: Channel::Unknown,
                roster: Channel::Unknown,
                hashes: Channel::Unknown,
            },
            desk: Desk { tape, writer: Writer::default() },
            wants,
            shared,
            directory: Arc::default(),
            players: BTreeMap::new(),
            vocabulary: Vocabulary::default(),
            tf: TfMessage::default(),
            hashes: Hashes::default(),
            states_thinning: Thinning::default(),
            base_ns: 0,
            now_ns: 0,
            flushed: Instant::now(),
            dirty: false,
        }
    }

    /// Works until the end is told. When the file cannot be written any more it says so and lets everything pass.
    pub(super) fn work(mut self, items: &Receiver<Item>, returns: &Returns) {
        loop {
            let item = match items.recv_timeout(FLUSH_EVERY) {
                Ok(item) => Some(item),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Item::End(Ending::default())),
            };
            let ends = matches!(item, Some(Item::End(_)));
            if !self.shared.failed() {
                let outcome = item.as_ref().map_or(Ok(()), |item| self.take(item)).and_then(|()| self.flush_in_time());
                if let Err(error) = outcome {
                    self.desk.tape.give_up();
                    self.shared.fail(&error);
                }
                self.shared.note(&self.desk.tape);
            }
            match item {
                Some(Item::Samples(block)) => {
                    self.shared.release(block.values.len());
                    _ = returns.samples.try_send(block);
                }
                Some(Item::States(block)) => _ = returns.states.try_send(block),
                Some(Item::Beat(block)) => _ = returns.beats.try_send(block),
                _ => (),
            }
            if ends {
                return;
            }
        }
    }

    fn flush_in_time(&mut self) -> io::Result<()> {
        if self.dirty && self.flushed.elapsed() >= FLUSH_EVERY {
            self.desk.tape.flush()?;
            (self.flushed, self.dirty) = (Instant::now(), false);
        }
        Ok(())
    }

    fn take(&mut self, item: &Item) -> io::Result<()> {
        self.dirty = true;
        match item {
            Item::Samples(samples) => self.samples(samples),
            Item::States(states) => self.states(states),
            Item::Beat(beat) => self.beat(beat),
            Item::End(ending) => self.end(ending),
        }
    }

    fn end(&mut self, ending: &Ending) -> io::Result<()> {
        self.dirty = false;
        let values = BTreeMap::from([
            ("ended".to_owned(), ending.ended.clone()),
            ("time_ns".to_owned(), ending.time.ns().to_string()),
            ("dropped_samples".to_owned(), self.shared.dropped().to_string()),
            ("untold_topics".to_owned(), self.desk.tape.untold_topics.to_string()),
        ]);
        self.desk.tape.metadata(END, values)?;
        self.desk.tape.finish()
    }

    /// What is needed to simulate again: commands, who is who, hashes.
    fn beat(&mut self, beat: &Beat) -> io::Result<()> {
        let Self { common, desk, base_ns, .. } = self;
        for command in &beat.commands {
            let time_ns = *base_ns + command.time.ns();
            common.commands.tell(desk, topics::COMMANDS, time_ns, &command.message())?;
        }
        if beat.reset {
            *base_ns = self.now_ns;
            self.states_thinning = Thinning::default();
            self.players.values_mut().for_each(|player| player.told = None);
        }
        let time_ns = *base_ns + beat.time.ns();
        if let Some(names) = &beat.roster {
            let roster = Roster { stamp: beat.time.into(), robots: names.clone() };
            common.roster.tell(desk, topics::ROSTER, time_ns, &roster)?;
        }
        if let Some(world) = beat.hash {
            let hashes = &mut self.hashes;
            hashes.stamp = beat.time.into();
            hashes.world = world.to_le_bytes();
            hashes.robots.clear();
            hashes.robots.extend(beat.robots.iter().map(|(_, hash)| *hash as u64));
            common.hashes.tell(desk, topics::HASHES, time_ns, hashes)?;
        }
        self.now_ns = time_ns;
        Ok(())
    }

    /// Gets to know who is there.
    fn meet(&mut self, directory: &Arc<Directory>) -> io::Result<()> {
        if Arc::ptr_eq(directory, &self.directory) {
            return Ok(());
        }
        self.directory = Arc::clone(directory);
        let mut old = std::mem::take(&mut self.players);
        let mut fixed = Vec::new();
        for (&number, robot) in &directory.robots {
            let same = |player: &Player| {
                let names = player.names();
                names.is_some_and(|known| known.name == robot.name && Arc::ptr_eq(&known.cohort, &robot.cohort))
            };
            let player = match old.remove(&number).filter(same) {
                Some(player) => player,
                None => {
                    let player = self.player(number, directory, robot);
                    let odom = player.voices.iter().any(|voice| voice.odometry);
                    fixed.extend(frames::fixed(&player.token, robot, odom));
                    player
                }
            };
            self.players.insert(number, player);
        }
        if fixed.is_empty() {
            return Ok(());
        }
        let message = TfMessage { transforms: fixed };
        self.common.tf_static.tell(&mut self.desk, "/tf_static", self.now_ns, &message)
    }

    fn player(&mut self, number: u32, directory: &Arc<Directory>, robot: &RobotNames) -> Player {
        let mut token = names::token(&robot.name);
        while self.players.values().any(|player| player.token == token) {
            token.push('_');
        }
        let voices = self.voices(&token, robot);
        let told = |voice: &Voice| voice.channels.contains(&Channel::Unknown);
        let slots = &robot.cohort.blueprint.sensors;
        let truth_told = voices.iter().zip(slots).any(|(voice, slot)| told(voice) && sensor::tells_truth(slot));
        let odom_told = voices.iter().any(|voice| voice.odometry);
        let base = names::base(&token);
        let mut odometry = Odometry { child_frame_id: base.clone(), ..Odometry::default() };
        names::WORLD.clone_into(&mut odometry.header.frame_id);
        let mut setpoint = Setpoint::default();
        setpoint.header.frame_id.clone_from(&base);
        let mut odom = TransformStamped { child_frame_id: base, ..TransformStamped::default() };
        odom.header.frame_id = names::frame(&token, "odom");
        let (truth, command) = (format!("/{token}/truth"), format!("/{token}/command"));
        Player {
            names: Arc::clone(directory),
            number,
            truth: (Channel::new(!truth_told && self.wants.topic(&truth)), truth),
            command: (Channel::new(robot.cohort.blueprint.active() && self.wants.topic(&command)), command),
            moving: frames::moving(&token, robot, odom_told),
            odom: TfMessage { transforms: vec![odom] },
            token,
            voices,
            odometry: Box::new(odometry),
            setpoint,
            told: None,
        }
    }

    fn voices(&mut self, token: &str, robot: &RobotNames) -> Vec<Voice> {
        let blueprint = &robot.cohort.blueprint;
        let mut odometry_told = false;
        let all = speakers(token, blueprint, &mut self.vocabulary).into_iter().zip(&blueprint.sensors);
        all.map(|(mut speaker, slot)| {
            let topics = std::mem::take(&mut speaker.topics);
            let wanted = |topic: &Topic| self.wants.sensor(&robot.name, &slot.name, &topic.name);
            let channels: Vec<Channel> = topics.iter().map(|topic| Channel::new(wanted(topic))).collect();
            let told = channels.contains(&Channel::Unknown);
            let odometry = told && !odometry_told && sensor::tells_odometry(slot);
            odometry_told |= odometry;
            Voice { speaker, topics, channels, thinning: Thinning::default(), latency: slot.latency, odometry }
        })
        .collect()
    }

    fn samples(&mut self, samples: &Samples) -> io::Result<()> {
        self.meet(&samples.directory)?;
        for sample in &samples.list {
            let Some(player) = self.players.get_mut(&sample.robot) else { continue };
            let Some(voice) = player.voices.get_mut(sample.sensor as usize) else { continue };
            if !voice.thinning.passes(sample.stamp, self.wants.every) {
                continue;
            }
            let values = &samples.values[sample.first..sample.first + sample.len];
            let time_ns = self.base_ns + (sample.stamp + voice.latency).ns();
            voice.tell(&mut self.desk, sample.stamp, time_ns, values)?;
            if let Some(transform) = sensor::odom_from_base(values).filter(|_| voice.odometry) {
                let stamped = &mut player.odom.transforms[0];
                (stamped.header.stamp, stamped.transform) = (sample.stamp.into(), transform);
                self.common.tf.tell(&mut self.desk, "/tf", time_ns, &player.odom)?;
            }
        }
        Ok(())
    }

    /// Where all robots are and what they are told, at the end of a window.
    fn states(&mut self, states: &States) -> io::Result<()> {
        self.meet(&states.directory)?;
        if !self.states_thinning.passes(states.time, self.wants.every) {
            return Ok(());
        }
        let Self { desk, common, players, tf, base_ns, .. } = self;
        let (stamp, time_ns) = (states.time.into(), *base_ns + states.time.ns());
        common.clock.tell(desk, "/clock", time_ns, &Clock { clock: stamp })?;
        let mut count = 0;
        for row in &states.rows {
            let Some(player) = players.get_mut(&row.robot) else { continue };
            let joints = &states.joints[row.joints.0..row.joints.1];
            player.move_to(row, joints, states.time);
            for moved in &player.moving {
                match tf.transforms.get_mut(count) {
                    Some(place) => place.clone_from(moved),
                    None => tf.transforms.push(moved.clone()),
                }
                count += 1;
            }
            player.tell_truth(desk, row, states.time, time_ns)?;
            player.tell_command(desk, row, states.time, time_ns)?;
        }
        tf.transforms.truncate(count);
        common.tf.tell(desk, "/tf", time_ns, tf)?;
        self.now_ns = time_ns;
        Ok(())
    }
}

impl Voice {
    /// Tells a sample on those of its topics that are wanted.
    fn tell(&mut self, desk: &mut Desk, stamp: SimTime, time_ns: u64, values: &[f64]) -> io::Result<()> {
        let Self { speaker, topics, channels, .. } = self;
        let Desk { tape, writer } = desk;
        let mut outcome = Ok(());
        let mut hear = |at: usize, data: &[u8]| {
            let topic = &topics[at];
            let told = channels[at].number(tape, &topic.name, &topic.message, || topic.schema.clone());
            let told = told.and_then(|number| number.map_or(Ok(()), |number| tape.write(number, time_ns, data)));
            if outcome.is_ok() {
                outcome = told;
            }
        };
        speaker.say(stamp, values, &mut Mouth { writer, hear: &mut hear });
        outcome
    }
}

impl Player {
    fn move_to(&mut self, row: &Row, joints: &[f64], time: SimTime) {
        let Some((body, frames)) = self.moving.split_first_mut() else { return };
        body.transform = row.pose.into();
        if let Some(robot) = self.names.robots.get(&self.number).filter(|_| !frames.is_empty()) {
            frames::place_joints(robot, joints, frames);
        }
        self.moving.iter_mut().for_each(|transform| transform.header.stamp = time.into());
    }

    fn tell_truth(&mut self, desk: &mut Desk, row: &Row, time: SimTime, time_ns: u64) -> io::Result<()> {
        let message = &mut *self.odometry;
        message.header.stamp = time.into();
        message.pose.pose = row.pose.into();
        message.twist.twist.linear = (row.pose.orientation.inverse() * row.velocity_mps).into();
        message.twist.twist.angular = row.angular_velocity_radps.into();
        let (channel, topic) = &mut self.truth;
        channel.tell(desk, topic, time_ns, message)
    }

    /// Tells a command when it is another than the last.
    fn tell_command(&mut self, desk: &mut Desk, row: &Row, time: SimTime, time_ns: u64) -> io::Result<()> {
        if self.told == Some(row.setpoint) {
            return Ok(());
        }
        self.told = Some(row.setpoint);
        let [mode, values @ ..] = row.setpoint;
        let name = setpoint::NAMES.get(mode as usize).copied().unwrap_or("other");
        name.clone_into(&mut self.setpoint.mode);
        self.setpoint.values = values;
        self.setpoint.header.stamp = time.into();
        let (channel, topic) = &mut self.command;
        channel.tell(desk, topic, time_ns, &self.setpoint)
    }
}
