//! One connection of a controller: what came in and waits for the loop, and what the loop does about it.

use super::program::{Program, resolved, writable};
use super::template::{Template, shortened};
use super::text::{self, Request, Verb};
use crate::link::Desk;
use crate::net::{Peer, Session, Taken, lock, next_line};
use muster_core::command::Action;
use muster_core::property::{PropertyError, Shown};
use muster_core::service::{Answer, Datum};
use muster_core::time::{Rate, SimTime, Ticker};
use muster_core::world::World;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Requests of one peer that may wait for a boundary; one that sends more is not read until then.
pub const INBOX: usize = 256;
/// The most streams of one peer.
const STREAMS_MAX: usize = 64;

/// What came in and waits.
#[derive(Debug, Default)]
pub struct Inbox {
    waiting: VecDeque<Said>,
    /// Something more was there.
    full: bool,
    /// The first line that was not understood, and why.
    puzzle: Option<String>,
    puzzled: bool,
}

impl Inbox {
    /// The first line that was not understood, once.
    pub fn take_puzzle(&mut self) -> Option<String> {
        self.puzzle.take()
    }
}

/// What a peer said.
#[derive(Debug)]
enum Said {
    Request(Request),
    /// The values of a line of a program.
    Values(Vec<f64>),
}

/// Reads lines of a peer; [`Caller`] obeys them.
pub struct Listener {
    /// The template of lines, if it is no conversation in text.
    pub template: Option<Template>,
    /// Where they go.
    pub inbox: Arc<Mutex<Inbox>>,
}

impl Session for Listener {
    fn receive(&mut self, bytes: &[u8], peer: &Arc<Peer>) -> Taken {
        let mut inbox = lock(&self.inbox);
        let mut taken = 0;
        while let Some((line, used)) = next_line(&bytes[taken..]) {
            if inbox.waiting.len() >= INBOX {
                inbox.full = true;
                return Taken::Full(taken);
            }
            taken += used;
            let line = String::from_utf8_lossy(line);
            if line.trim().is_empty() {
                continue;
            }
            match &self.template {
                None => {
                    let Some(request) = Request::parse(&line) else { continue };
                    peer.traffic.count_received(request.verb.is_ok());
                    inbox.waiting.push_back(Said::Request(request));
                }
                Some(template) => {
                    let mut values = Vec::new();
                    let read = template.read(&line, &mut values);
                    peer.traffic.count_received(read.is_ok());
                    match read {
                        Ok(()) => inbox.waiting.push_back(Said::Values(values)),
                        Err(why) if !inbox.puzzled => {
                            inbox.puzzled = true;
                            inbox.puzzle = Some(format!("line {:?}: {why}", shortened(&line)));
                        }
                        Err(_) => (),
                    }
                }
            }
        }
        Taken::Bytes(taken)
    }
}

/// What a connection belongs to.
#[derive(Debug, Default)]
pub struct Role {
    /// The robot, if it is one's own.
    pub robot: Option<String>,
    /// Lines without code; none for a conversation in text.
    pub program: Option<Program>,
    /// How often lines go out; without it, one for each that came in.
    pub rate: Option<Rate>,
}

/// Values that go out again and again.
#[derive(Debug)]
struct Stream {
    number: u64,
    tag: String,
    rate: Rate,
    ticker: Ticker,
    paths: Vec<String>,
}

/// A connection, on the side of the loop.
pub struct Caller {
    role: Arc<Role>,
    /// The other end.
    pub peer: Arc<Peer>,
    /// What it said.
    pub inbox: Arc<Mutex<Inbox>>,
    streams: Vec<Stream>,
    streams_ever: u64,
    /// Calls that have not ended, and their tags.
    calls: Vec<(u64, String)>,
    /// Lines to be answered after the next window, and when they came.
    owed: (usize, SimTime),
    ticker: Option<Ticker>,
}

impl Caller {
    /// Somebody who connected.
    pub fn new(role: &Arc<Role>, peer: &Arc<Peer>) -> Self {
        Self {
            role: Arc::clone(role),
            peer: Arc::clone(peer),
            inbox: Arc::default(),
            streams: Vec::new(),
            streams_ever: 0,
            calls: Vec::new(),
            owed: (0, SimTime::ZERO),
            ticker: None,
        }
    }

    /// Answers what came in and sends what is due; true if more waits to be read.
    pub fn attend(&mut self, desk: &mut Desk<'_>) -> bool {
        self.send_due(desk.world);
        self.tell_ends(desk.answers);
        let (said, full) = {
            let mut inbox = lock(&self.inbox);
            (std::mem::take(&mut inbox.waiting), std::mem::take(&mut inbox.full))
        };
        for each in said {
            match each {
                Said::Values(values) => self.obey(&values, desk),
                Said::Request(request) => {
                    let mut line = String::new();
                    match request.verb.clone().and_then(|verb| self.answer(&request.tag, verb, desk, &mut line)) {
                        Ok(()) => (),
                        Err(what) => text::error(&request.tag, &what, &mut line),
                    }
                    self.peer.answer(line.into_bytes());
                }
            }
        }
        full
    }

    /// When it is to get something next.
    pub fn next_due(&self) -> SimTime {
        let streams = self.streams.iter().map(|stream| stream.ticker.next);
        streams.chain(self.ticker.map(|ticker| ticker.next)).min().unwrap_or(SimTime::NEVER)
    }

    /// Time was set back.
    pub fn rewind(&mut self, now: SimTime) {
        for stream in &mut self.streams {
            stream.ticker = Ticker::after(stream.rate, SimTime::ZERO, now);
        }
        self.ticker = None;
        self.owed.1 = self.owed.1.min(now);
    }

    fn send_due(&mut self, world: &World) {
        let now = world.time();
        if let (Some(program), Some(rate)) = (&self.role.program, self.role.rate) {
            let ticker = self.ticker.get_or_insert_with(|| Ticker::at_or_after(rate, SimTime::ZERO, now));
            if ticker.take_due(rate, now).is_some() {
                let mut line = String::new();
                program.report(world, &mut line);
                self.peer.sample(line.into_bytes());
            }
        }
        if let (Some(program), true) = (&self.role.program, self.owed.0 > 0 && now > self.owed.1) {
            let mut line = String::new();
            program.report(world, &mut line);
            let line: Arc<[u8]> = line.into_bytes().into();
            for _ in 0..std::mem::take(&mut self.owed.0) {
                self.peer.answer(Arc::clone(&line));
            }
        }
        for stream in &mut self.streams {
            if stream.ticker.take_due(stream.rate, now).is_some() {
                let mut line = String::new();
                text::data(&stream.tag, stream.number, now.s(), &mut line);
                for path in &stream.paths {
                    // of a robot that is gone
                    text::put_values(&world.property(path).unwrap_or_else(|_| vec![f64::NAN]), &mut line);
                }
                line.push('\n');
                self.peer.sample(line.into_bytes());
            }
        }
    }

    fn tell_ends(&mut self, answers: &[Answer]) {
        for answer in answers {
            if let Some(at) = self.calls.iter().position(|(call, _)| *call == answer.sequence) {
                let (_, tag) = self.calls.remove(at);
                let mut line = String::new();
                text::ended(&tag, answer, &mut line);
                self.peer.answer(line.into_bytes());
            }
        }
    }

    fn obey(&mut self, values: &[f64], desk: &mut Desk<'_>) {
        let (Some(program), Some(robot)) = (&self.role.program, &self.role.robot) else { return };
        program.obey(robot, values, desk);
        if self.role.rate.is_none() && program.sends.is_some() {
            self.owed = (self.owed.0 + 1, desk.world.time());
        }
    }

    fn answer(&mut self, tag: &str, verb: Verb, desk: &mut Desk<'_>, line: &mut String) -> Result<(), String> {
        let robot = self.role.robot.as_deref();
        let world = desk.world;
        match verb {
            Verb::Get(paths) => {
                let mut values = Vec::new();
                for path in paths {
                    values.extend(read(world, robot, &path)?);
                }
                text::ok(tag, &values, line);
            }
            Verb::Set(path, values) => {
                let path = resolved(world, robot, &path);
                let (has, found) = (world.property(&path).map_err(|error| error.to_string())?.len(), values.len());
                if has != found {
                    return Err(PropertyError::Length { path, found, expected: has }.to_string());
                }
                writable(world, &path).map_err(|found| format!("found {found}, expected a variable"))?;
                desk.post(Action::Set { path, values });
                text::ok(tag, &[], line);
            }
            Verb::Stream(rate_hz, paths) => self.stream(tag, rate_hz, paths, desk.world, line)?,
            Verb::Stop(None) => {
                self.streams.clear();
                text::ok(tag, &[], line);
            }
            Verb::Stop(Some(number)) => {
                let before = self.streams.len();
                self.streams.retain(|stream| stream.number != number);
                if self.streams.len() == before {
                    return Err(format!("found no stream {number}, expected one that runs"));
                }
                text::ok(tag, &[], line);
            }
            Verb::Call(path, arguments) => self.call(tag, &path, &arguments, desk, line)?,
            Verb::Cancel(call) => {
                if !self.calls.iter().any(|(own, _)| *own == call) {
                    return Err(format!("found no call {call}, expected one that has not ended"));
                }
                desk.cancel(call);
                text::ok(tag, &[], line);
            }
            Verb::List(None) => {
                let names: Vec<String> = world.robots().map(|robot| robot.address()).collect();
                text::ok_words(tag, names.iter().map(String::as_str), line);
            }
            Verb::List(Some(name)) => {
                let shown = world.properties_of(&name).map_err(|error| error.to_string())?;
                let words: Vec<String> = shown.iter().map(|each| listed(each, &name)).collect();
                text::ok_words(tag, words.iter().map(String::as_str), line);
            }
            Verb::Services(name) => {
                let found = world.find(&name).ok_or_else(|| unknown_robot(world, &name))?;
                let offered = desk.services.iter().filter(|service| service.offered_by(&found.cohort));
                text::ok_words(tag, offered.map(|service| service.name), line);
            }
            Verb::Time => text::ok(tag, &[world.time().s()], line),
            Verb::Help => text::ok_words(tag, [text::VERBS.map(|(_, usage)| usage).join("; ").as_str()], line),
        }
        Ok(())
    }

    fn stream(
        &mut self,
        tag: &str,
        rate_hz: f64,
        paths: Vec<String>,
        world: &World,
        line: &mut String,
    ) -> Result<(), String> {
        if self.streams.len() >= STREAMS_MAX {
            return Err(format!("found {STREAMS_MAX} streams, expected no more"));
        }
        let rate = Rate::from_hz(rate_hz).ok_or_else(|| format!("found {rate_hz} Hz, expected a rate"))?;
        let paths: Vec<String> = paths.iter().map(|path| resolved(world, self.role.robot.as_deref(), path)).collect();
        for path in &paths {
            world.property(path).map_err(|error| error.to_string())?;
        }
        self.streams_ever += 1;
        let (number, tag) = (self.streams_ever, tag.to_owned());
        text::ok(&tag, &[number as f64], line);
        let ticker = Ticker::after(rate, SimTime::ZERO, world.time());
        self.streams.push(Stream { number, tag, rate, ticker, paths });
        Ok(())
    }

    fn call(
        &mut self,
        tag: &str,
        path: &str,
        arguments: &[Datum],
        desk: &mut Desk<'_>,
        line: &mut String,
    ) -> Result<(), String> {
        if self.calls.len() >= INBOX {
            return Err(format!("found {INBOX} calls that have not ended, expected no more"));
        }
        let own = self.role.robot.clone();
        let (robot, service) = match (path.rsplit_once('.'), own) {
            (Some((robot, service)), _) => (robot.to_owned(), service),
            (None, Some(robot)) => (robot, path),
            (None, None) => return Err(format!("found {path:?}, expected robot.service")),
        };
        if desk.world.find(&robot).is_none() {
            return Err(unknown_robot(desk.world, &robot));
        }
        let call = desk.call(&robot, service, arguments)?;
        self.calls.push((call, tag.to_owned()));
        text::ok(tag, &[call as f64], line);
        Ok(())
    }
}

fn read(world: &World, robot: Option<&str>, path: &str) -> Result<Vec<f64>, String> {
    world.property(&resolved(world, robot, path)).map_err(|error| error.to_string())
}

/// A property as `list` tells it: how many values it has if not one, and `!` if it cannot be set.
fn listed(shown: &Shown, robot: &str) -> String {
    let name = shown.path.strip_prefix(robot).and_then(|rest| rest.strip_prefix('.')).unwrap_or(&shown.path);
    let count = if shown.values.len() == 1 { String::new() } else { format!("[{}]", shown.values.len()) };
    let mark = if shown.variable { "" } else { "!" };
    format!("{name}{count}{mark}")
}

fn unknown_robot(world: &World, name: &str) -> String {
    let names: Vec<String> = world.robots().map(|robot| robot.address()).collect();
    let near = muster_core::node::nearest(name, names.iter().map(String::as_str));
    let hint = near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
    format!("found no robot {:?}{hint}", shortened(name))
}
