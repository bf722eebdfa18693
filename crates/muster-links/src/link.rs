//! What a link is, and what the loop lets it do.
//!
//! The loop stamps everything a link asks for with simulation time, the link's number and a sequence number: every change
//! from outside is a command that can be recorded and replayed.

use crate::delivery::Sink;
use muster_core::command::Action;
use muster_core::link::Binding;
use muster_core::service::{self, Answer, Datum, Service};
use muster_core::time::SimTime;
use muster_core::world::World;
use std::fmt;
use std::time::Duration;

/// A protocol that serves its bindings.
pub trait Link: Send {
    /// What the thread of messages hands samples to; asked for once. Its [`Sink::sensors`] are asked for again when
    /// bindings changed.
    fn sink(&mut self) -> Option<Box<dyn Sink>> {
        None
    }

    /// Between two windows, on the thread of the loop: reads what it needs of the world and posts what came in. It must
    /// not wait for anything.
    fn attend(&mut self, desk: &mut Desk<'_>);

    /// The next time at or after which its peers take turns with the loop; never, but for links in lock step.
    fn next_exchange(&self, now: SimTime) -> SimTime {
        _ = now;
        SimTime::NEVER
    }

    /// Waits for the peers whose turn it is, at an exchange, at most so long; for links in lock step.
    fn wait(&mut self, now: SimTime, at_most: Duration) -> Turn {
        _ = (now, at_most);
        Turn::Done
    }

    /// Binds one more channel while it runs.
    fn bind(&mut self, binding: &Binding, world: &World) -> Result<(), String> {
        _ = world;
        Err(format!("found a binding of {} while running, expected one from the start", binding.path()))
    }

    /// Lets go of a channel, `robot.channel`; false if it was not bound.
    fn unbind(&mut self, path: &str) -> bool {
        _ = path;
        false
    }

    /// Where it can be reached.
    fn addresses(&self) -> Vec<Address>;

    /// What it carried so far.
    fn tally(&self) -> Tally;

    /// What people should be told, since this was last asked: a file that cannot be written, a peer that was closed.
    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// How waiting for peers in lock step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// The loop may go on.
    Done,
    /// Not yet: ask again.
    Waiting,
    /// A peer was silent for too long and the scenario wants the run to stop, with what is to be told.
    Stop(String),
}

/// Where a channel can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The link's kind.
    pub link: &'static str,
    /// The channel, or what the port is for.
    pub channel: String,
    /// `in`, `out`, or `in, out`.
    pub direction: &'static str,
    /// Host and port, or a path.
    pub at: String,
}

/// What a link carried.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    /// Peers that are connected.
    pub peers: u64,
    /// Peers that ever were.
    pub peers_ever: u64,
    /// Peers turned away, because there were too many.
    pub refused: u64,
    /// Peers closed because they broke a limit or did not read.
    pub closed: u64,
    /// Messages taken in.
    pub received: u64,
    /// Messages that could not be understood.
    pub misunderstood: u64,
    /// Bytes taken in.
    pub received_bytes: u64,
    /// Messages sent.
    pub sent: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Messages dropped, because a peer was slow.
    pub dropped: u64,
    /// Sum of the times messages waited to be sent.
    pub waited: Duration,
    /// The longest of them.
    pub waited_max: Duration,
}

impl Tally {
    /// Both together.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            peers: self.peers + other.peers,
            peers_ever: self.peers_ever + other.peers_ever,
            refused: self.refused + other.refused,
            closed: self.closed + other.closed,
            received: self.received + other.received,
            misunderstood: self.misunderstood + other.misunderstood,
            received_bytes: self.received_bytes + other.received_bytes,
            sent: self.sent + other.sent,
            sent_bytes: self.sent_bytes + other.sent_bytes,
            dropped: self.dropped + other.dropped,
            waited: self.waited + other.waited,
            waited_max: self.waited_max.max(other.waited_max),
        }
    }
}

/// How the run goes, by the wall clock; for information only.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// Simulated seconds a second that are asked for; `None`: as fast as possible.
    pub rtf: Option<f64>,
    /// Wall-clock seconds since the start.
    pub wall_s: f64,
    /// Deadlines missed.
    pub late: u64,
}

/// What a link wants of the run, beside commands.
#[derive(Clone)]
pub enum Wish {
    /// End it, as if its time were up.
    Quit,
    /// Begin again.
    Reset,
    /// Another pace: simulated seconds a second, or as fast as possible.
    Rtf(Option<f64>),
    /// Bind a channel to a link: what would stand in `links` of the robot, as YAML.
    Bind {
        /// The robot.
        robot: String,
        /// The binding.
        yaml: String,
    },
    /// Let go of a channel, `robot.channel`, on links of a kind.
    Unbind {
        /// The channel.
        path: String,
        /// The kind of link.
        to: String,
    },
    /// Other modifiers for a sensor, as under `modifiers:`.
    Modifiers {
        /// The robot.
        robot: String,
        /// Its sensor.
        sensor: String,
        /// The list.
        yaml: String,
    },
}

impl fmt::Debug for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quit => f.write_str("quit"),
            Self::Reset => f.write_str("reset"),
            Self::Rtf(rtf) => write!(f, "rtf {rtf:?}"),
            Self::Bind { robot, yaml } => write!(f, "bind {robot} {yaml}"),
            Self::Unbind { path, to } => write!(f, "unbind {path} from {to}"),
            Self::Modifiers { robot, sensor, yaml } => write!(f, "modifiers of {robot}.{sensor}: {yaml}"),
        }
    }
}

/// What a link asked for and the loop has not yet taken.
#[derive(Default)]
pub struct Line {
    /// The number of the last thing asked for.
    pub sequence: u64,
    /// Actions with their numbers.
    pub posted: Vec<(u64, Action)>,
    /// Wishes.
    pub wishes: Vec<Wish>,
}

/// What the loop lets a link do between two windows.
pub struct Desk<'a> {
    /// The world as it is.
    pub world: &'a World,
    /// What can be asked of robots.
    pub services: &'static [Service],
    /// How the run goes.
    pub pace: Pace,
    /// Answers to calls of this link since it last attended.
    pub answers: &'a [Answer],
    /// What it asks for.
    pub line: &'a mut Line,
}

impl Desk<'_> {
    /// Asks for a change, which takes effect with the next window; returns its number.
    pub fn post(&mut self, action: Action) -> u64 {
        self.line.sequence += 1;
        self.line.posted.push((self.line.sequence, action));
        self.line.sequence
    }

    /// Asks a robot for a service; the answer comes under the number returned. An error says what was found and what was
    /// expected; whether the robot can do it is part of the answer.
    pub fn call(&mut self, robot: &str, service: &str, arguments: &[Datum]) -> Result<u64, String> {
        let (robot, service, arguments) = self.checked(robot, service, arguments)?;
        Ok(self.post(Action::Call { robot, service, arguments, reply: true }))
    }

    /// Asks a robot for a service without waiting for an answer: a stream of commands.
    pub fn command(&mut self, robot: &str, service: &str, arguments: &[Datum]) -> Result<(), String> {
        let (robot, service, arguments) = self.checked(robot, service, arguments)?;
        self.post(Action::Call { robot, service, arguments, reply: false });
        Ok(())
    }

    fn checked(
        &self,
        robot: &str,
        service: &str,
        arguments: &[Datum],
    ) -> Result<(String, &'static Service, Vec<Datum>), String> {
        let service = service::find(self.services, service)?;
        service.check(arguments)?;
        Ok((robot.to_owned(), service, arguments.to_vec()))
    }

    /// Gives up a call.
    pub fn cancel(&mut self, call: u64) {
        self.post(Action::Cancel { sequence: call });
    }

    /// Wants something of the run.
    pub fn wish(&mut self, wish: Wish) {
        self.line.wishes.push(wish);
    }
}
