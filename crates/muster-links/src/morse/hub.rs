//! What the loop, the thread of messages and the thread of sockets share of the link: channels, who is connected to them, and
//! what came in.

use super::codec::{Json, Request};
use super::data::{Body, Names};
use super::{CompoundText, Coordinates, SocketOptions, port};
use crate::link::Tally;
use crate::net::{Door, Peer, Traffic, lock};
use muster_core::actuator::ActuatorSlot;
use muster_core::link::Binding;
use muster_core::model::SensorSlot;
use muster_core::node::matches;
use muster_core::state::Robot;
use muster_core::world::World;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Where the data of a channel go, seen from the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Commands.
    In,
    /// Samples.
    Out,
    /// None: the robot as a whole.
    Neither,
}

/// What a channel is.
pub(crate) enum Sort {
    Sensor { name: String, body: Body },
    Actuator { name: String },
    Compound { sensors: Vec<(String, Body)> },
    Robot,
}

/// A channel that is bound.
pub(crate) struct Channel {
    /// The name clients know it by.
    pub(crate) path: String,
    /// The name of its binding.
    pub(crate) bound: String,
    /// The name of MORSE's class, if one was written.
    pub(crate) class: Option<String>,
    pub(crate) coordinates: Coordinates,
    pub(crate) robot: String,
    pub(crate) sort: Sort,
    pub(crate) port: Option<u16>,
    pub(crate) stream: Option<Stream>,
    wants_stream: bool,
    pub(crate) service: bool,
    /// Components that were deactivated say and do nothing.
    pub(crate) active: bool,
    /// Who is connected to its stream.
    pub(crate) peers: Vec<Arc<Peer>>,
}

/// A port of a channel.
pub(crate) struct Stream {
    pub(crate) at: SocketAddr,
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) door: Door,
}

fn sensor<'a>(robot: &'a Robot, name: &str) -> Option<&'a SensorSlot> {
    robot.cohort.blueprint.sensor(name)
}

/// An actuator of a robot by name.
pub(crate) fn actuator<'a>(robot: &'a Robot, name: &str) -> Option<&'a ActuatorSlot> {
    robot.cohort.blueprint.actuators.iter().find(|slot| slot.name == name)
}

impl Channel {
    fn new(path: String, robot: &str, sort: Sort) -> Self {
        Self {
            bound: path.clone(),
            path,
            class: None,
            coordinates: Coordinates::World,
            robot: robot.to_owned(),
            sort,
            port: None,
            stream: None,
            wants_stream: true,
            service: true,
            active: true,
            peers: Vec::new(),
        }
    }

    /// What a binding binds; an error says what was found instead.
    pub(crate) fn of(binding: &Binding, options: &SocketOptions, world: &World) -> Result<Self, String> {
        let robot = world.find(&binding.robot).ok_or_else(|| format!("no robot {:?}", binding.robot))?;
        let name = &binding.channel;
        let sort = if name.is_empty() {
            Sort::Robot
        } else if let Some(slot) = sensor(robot, name) {
            Sort::Sensor { name: name.clone(), body: Body::of(slot, &robot.cohort.blueprint) }
        } else if actuator(robot, name).is_some() {
            Sort::Actuator { name: name.clone() }
        } else {
            return Err(format!("no channel {name:?} of {}", binding.robot));
        };
        let path = options.name.as_ref().map_or_else(|| binding.path(), |name| format!("{}.{name}", binding.robot));
        Ok(Self {
            path,
            class: options.class.clone(),
            coordinates: options.coordinates,
            port: options.port.map(port),
            wants_stream: options.stream,
            service: options.service,
            ..Self::new(binding.path(), &binding.robot, sort)
        })
    }

    /// Several sensors of a robot as one.
    pub(crate) fn compound(text: &CompoundText, world: &World) -> Result<Self, String> {
        let (owner, _) = text.path.split_once('.').ok_or("a name without a robot")?;
        let robot = world.find(owner).ok_or_else(|| format!("no robot {owner:?}"))?;
        let member = |name: &String| {
            // MORSE names members by their full names
            let name = name.strip_prefix(&format!("{owner}.")).unwrap_or(name);
            let slot = sensor(robot, name).ok_or_else(|| format!("no sensor {name:?} of {owner}"))?;
            Ok((slot.name.clone(), Body::of(slot, &robot.cohort.blueprint)))
        };
        let sensors = text.sensors.iter().map(member).collect::<Result<Vec<_>, String>>()?;
        Ok(Self { port: text.port, ..Self::new(text.path.clone(), owner, Sort::Compound { sensors }) })
    }

    pub(crate) fn direction(&self) -> Direction {
        match self.sort {
            Sort::Sensor { .. } | Sort::Compound { .. } => Direction::Out,
            Sort::Actuator { .. } => Direction::In,
            Sort::Robot => Direction::Neither,
        }
    }

    pub(crate) fn wants_stream(&self) -> bool {
        self.wants_stream && self.direction() != Direction::Neither
    }

    /// The sensors it hears.
    fn patterns(&self) -> Vec<String> {
        let of = |name: &String| format!("{}.{name}", self.robot);
        match &self.sort {
            Sort::Sensor { name, .. } => vec![of(name)],
            Sort::Compound { sensors } => sensors.iter().map(|(name, _)| of(name)).collect(),
            Sort::Actuator { .. } | Sort::Robot => Vec::new(),
        }
    }

    /// Its robot may be made of other things now.
    fn refresh(&mut self, world: &World) {
        let Some(robot) = world.find(&self.robot) else { return };
        let blueprint = &robot.cohort.blueprint;
        let renew = |name: &str, body: &mut Body| {
            if let Some(slot) = sensor(robot, name) {
                *body = Body::of(slot, blueprint);
            }
        };
        match &mut self.sort {
            Sort::Sensor { name, body } => renew(name, body),
            Sort::Compound { sensors } => sensors.iter_mut().for_each(|(name, body)| renew(name, body)),
            Sort::Actuator { .. } | Sort::Robot => (),
        }
    }
}

/// Who is connected to the fleet port, and what he hears.
pub(crate) struct Listener {
    pub(crate) peer: Arc<Peer>,
    /// Patterns of channels.
    pub(crate) patterns: Vec<String>,
}

impl Listener {
    pub(crate) fn hears(&self, path: &str) -> bool {
        self.patterns.iter().any(|pattern| matches(pattern, path))
    }
}

/// Channels and those who hear them.
#[derive(Default)]
pub(crate) struct Board {
    /// By number; those that were let go are gone.
    pub(crate) channels: BTreeMap<usize, Channel>,
    pub(crate) fleet: Vec<Listener>,
    /// Counts changes of what sensors are heard.
    pub(crate) version: u64,
    pub(crate) names: Arc<Names>,
    /// What channels that were let go had carried.
    past: Tally,
}

/// A request that waits for the loop.
pub(crate) struct Waiting {
    pub(crate) peer: Arc<Peer>,
    pub(crate) request: Request,
    /// How many requests of the same peer wait.
    pub(crate) quota: Arc<AtomicUsize>,
}

/// Something that came in.
pub(crate) enum Incoming {
    Request(Waiting),
    /// A message for an actuator, with whom to tell what is wrong with it.
    Message {
        channel: usize,
        json: Json,
        traffic: Arc<Traffic>,
    },
}

/// What came in and waits for the loop, in order. Of messages for one actuator only the last is kept.
#[derive(Default)]
struct Inbox {
    next: u64,
    requests: Vec<(u64, Waiting)>,
    messages: BTreeMap<usize, (u64, Json, Arc<Traffic>)>,
}

/// Everything that is shared.
pub(crate) struct Hub {
    pub(crate) board: Mutex<Board>,
    inbox: Mutex<Inbox>,
    next_channel: AtomicUsize,
    full: AtomicBool,
    pub(crate) environment: String,
}

/// Requests of one peer that may wait for the loop.
pub(crate) const QUOTA: usize = 64;

impl Hub {
    pub(crate) fn new(world: &World, environment: String) -> Self {
        let board = Board { names: Arc::new(Names::of(world)), ..Board::default() };
        Self {
            board: Mutex::new(board),
            inbox: Mutex::default(),
            next_channel: AtomicUsize::new(0),
            full: AtomicBool::new(false),
            environment,
        }
    }

    /// The number of the channel that is added next.
    pub(crate) fn next_channel(&self) -> usize {
        self.next_channel.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, channel: Channel) {
        let number = self.next_channel.fetch_add(1, Ordering::Relaxed);
        let mut board = lock(&self.board);
        board.channels.insert(number, channel);
        board.version += 1;
    }

    pub(crate) fn has(&self, bound: &str) -> bool {
        lock(&self.board).channels.values().any(|channel| channel.bound == bound)
    }

    /// Lets go of a channel; the stream it had.
    pub(crate) fn remove(&self, bound: &str) -> Option<Option<Stream>> {
        let mut board = lock(&self.board);
        let number = board.channels.iter().find(|(_, channel)| channel.bound == bound).map(|(number, _)| *number)?;
        let channel = board.channels.remove(&number)?;
        board.version += 1;
        if let Some(stream) = &channel.stream {
            board.past = board.past.plus(&stream.traffic.tally());
        }
        Some(channel.stream)
    }

    /// Robots are others, or made of other things.
    pub(crate) fn refresh(&self, world: &World) {
        let mut board = lock(&self.board);
        board.names = Arc::new(Names::of(world));
        board.version += 1;
        board.channels.values_mut().for_each(|channel| channel.refresh(world));
    }

    /// Patterns of all sensors that are heard.
    pub(crate) fn patterns(&self) -> Vec<String> {
        lock(&self.board).channels.values().flat_map(Channel::patterns).collect()
    }

    pub(crate) fn streams(&self) -> Vec<(String, Direction, SocketAddr)> {
        let board = lock(&self.board);
        let of = |channel: &Channel| Some((channel.path.clone(), channel.direction(), channel.stream.as_ref()?.at));
        board.channels.values().filter_map(of).collect()
    }

    pub(crate) fn tally(&self) -> Tally {
        let board = lock(&self.board);
        let streams = board.channels.values().filter_map(|channel| channel.stream.as_ref());
        streams.fold(board.past, |sum, stream| sum.plus(&stream.traffic.tally()))
    }

    /// Hands a request to the loop; false if too many of its peer wait.
    pub(crate) fn ask(&self, waiting: Waiting) -> bool {
        if waiting.quota.load(Ordering::Relaxed) >= QUOTA {
            self.full.store(true, Ordering::Relaxed);
            return false;
        }
        waiting.quota.fetch_add(1, Ordering::Relaxed);
        let mut inbox = lock(&self.inbox);
        inbox.next += 1;
        let at = inbox.next;
        inbox.requests.push((at, waiting));
        true
    }

    /// Hands a message for an actuator to the loop, instead of an earlier one.
    pub(crate) fn command(&self, channel: usize, json: Json, traffic: &Arc<Traffic>) {
        let mut inbox = lock(&self.inbox);
        inbox.next += 1;
        let at = inbox.next;
        inbox.messages.insert(channel, (at, json, Arc::clone(traffic)));
    }

    /// The number of the actuator with this path.
    pub(crate) fn actuator(&self, path: &str) -> Option<usize> {
        let board = lock(&self.board);
        let found = board.channels.iter().find(|(_, channel)| channel.path == path);
        found.filter(|(_, channel)| channel.direction() == Direction::In).map(|(number, _)| *number)
    }

    /// What came in since this was last asked, in order.
    pub(crate) fn take(&self) -> Vec<Incoming> {
        let mut inbox = lock(&self.inbox);
        let requests = std::mem::take(&mut inbox.requests);
        let messages = std::mem::take(&mut inbox.messages);
        drop(inbox);
        let mut all: Vec<(u64, Incoming)> =
            requests.into_iter().map(|(at, each)| (at, Incoming::Request(each))).collect();
        all.extend(
            messages
                .into_iter()
                .map(|(channel, (at, json, traffic))| (at, Incoming::Message { channel, json, traffic })),
        );
        all.sort_by_key(|(at, _)| *at);
        all.into_iter().map(|(_, incoming)| incoming).collect()
    }

    /// True if a session had no room since this was last asked.
    pub(crate) fn take_full(&self) -> bool {
        self.full.swap(false, Ordering::Relaxed)
    }
}
