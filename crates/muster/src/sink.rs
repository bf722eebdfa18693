//! Delivery: samples and states go to sinks, in the loop or on the thread `async-messages`. A slow sink makes the loop wait
//! only when too much is under way.

use muster_core::exec::{Background, Inline, Job};
use muster_core::node::matches;
use muster_core::time::{Rate, SimTime, Ticker};
use muster_core::world::World;
use muster_exec::Worker;
use muster_links::delivery::Interest;
pub use muster_links::delivery::{Batch, Directory, RobotNames, Sink};
use muster_scenario::text::Async;
use std::sync::{Arc, Mutex, PoisonError};

/// A sink and what it asked for.
struct Member {
    sink: Box<dyn Sink>,
    interest: Arc<Interest>,
}

type Sinks = Arc<Mutex<Vec<Member>>>;

/// A batch on its way.
struct Message {
    batch: Batch,
    sinks: Sinks,
}

impl Job for Message {
    fn run(&mut self) {
        let mut sinks = self.sinks.lock().unwrap_or_else(PoisonError::into_inner);
        for member in sinks.iter_mut() {
            self.batch.interest = Arc::clone(&member.interest);
            member.sink.take(&self.batch);
        }
    }
}

/// How many windows may wait for delivery.
const CAPACITY: usize = 32;

/// Hands batches to sinks.
pub(crate) struct Messenger {
    sinks: Sinks,
    any: bool,
    wants_states: bool,
    wants_poses: bool,
    states: Option<(Rate, Ticker)>,
    background: Box<dyn Background<Message>>,
    asynchronous: bool,
    threaded: bool,
    #[expect(clippy::vec_box, reason = "the background takes and gives boxes")]
    spare: Vec<Box<Message>>,
    directory: (u64, Arc<Directory>),
    patterns: Vec<String>,
}

impl Messenger {
    pub(crate) fn new(states_hz: f64, asynchronous: Async) -> Self {
        let rate = Rate::from_hz(states_hz);
        Self {
            sinks: Sinks::default(),
            any: false,
            wants_states: false,
            wants_poses: false,
            states: rate.map(|rate| (rate, Ticker::after(rate, SimTime::ZERO, SimTime::ZERO))),
            background: Box::new(Inline::default()),
            asynchronous: matches!(asynchronous, Async::Messages | Async::Both),
            threaded: false,
            spare: Vec::new(),
            directory: (0, Arc::default()),
            patterns: Vec::new(),
        }
    }

    pub(crate) fn note_start(&mut self, world: &World) {
        self.directory = (world.generation(), Arc::new(Directory::of(world)));
        for member in self.sinks.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            member.interest = Arc::new(Interest::new(&*member.sink, &self.directory.1));
        }
    }

    /// Who is there now.
    pub(crate) fn directory(&mut self, world: &World) -> Arc<Directory> {
        if world.generation() != self.directory.0 {
            self.note_start(world);
        }
        Arc::clone(&self.directory.1)
    }

    /// Time or robots changed from outside: listens to who is there now, and publishes states from now on.
    pub(crate) fn rewind(&mut self, world: &mut World) {
        self.note_start(world);
        for pattern in &self.patterns {
            listen(world, pattern);
        }
        if let Some((rate, ticker)) = &mut self.states {
            *ticker = Ticker::after(*rate, SimTime::ZERO, world.time());
        }
    }

    /// Adds a sink; the first one starts the thread, if delivery is asynchronous.
    pub(crate) fn add(&mut self, sink: Box<dyn Sink>, world: &mut World) -> Result<(), String> {
        if self.asynchronous && !self.threaded {
            let worker = Worker::new("async-messages", CAPACITY);
            self.background = Box::new(worker.map_err(|error| format!("no thread for messages: {error}"))?);
            self.threaded = true;
        }
        let patterns = sink.sensors();
        if let Some(unheard) = patterns.iter().find(|pattern| !listen(world, pattern)) {
            return Err(format!("found no sensor {unheard:?}, expected robot.sensor"));
        }
        self.patterns.extend(patterns);
        if sink.states() && !self.wants_states {
            self.wants_states = true;
            self.rewind(world);
        }
        self.wants_poses |= sink.poses();
        self.any = true;
        let interest = Arc::new(Interest::new(&*sink, &self.directory.1));
        self.sinks.lock().unwrap_or_else(PoisonError::into_inner).push(Member { sink, interest });
        Ok(())
    }

    /// When the states are due next.
    pub(crate) fn next_states(&self) -> SimTime {
        match &self.states {
            Some((_, ticker)) if self.wants_states => ticker.next,
            _ => SimTime::NEVER,
        }
    }

    /// Listens to robots that come with the next window, so that their first samples are heard.
    pub(crate) fn follow(&mut self, world: &mut World) {
        if !self.any {
            return;
        }
        world.settle();
        if world.generation() != self.directory.0 {
            self.note_start(world);
            for pattern in &self.patterns {
                listen(world, pattern);
            }
        }
    }

    /// Hands out what became visible in the last window.
    pub(crate) fn deliver(&mut self, world: &mut World) {
        if !self.any {
            return;
        }
        let now = world.time();
        let due = match &mut self.states {
            Some((rate, ticker)) if self.wants_states => ticker.take_due(*rate, now).is_some(),
            _ => false,
        };
        if !due && world.heard().is_empty() {
            return;
        }
        while let Some(mut done) = self.background.finish_if_done() {
            done.batch.all_states = None;
            self.spare.push(done);
        }
        let mut message = self
            .spare
            .pop()
            .unwrap_or_else(|| Box::new(Message { batch: Batch::default(), sinks: Arc::clone(&self.sinks) }));
        message.batch.time = now;
        message.batch.states_due = due;
        message.batch.all_states = (due || self.wants_poses).then(|| world.snapshot());
        message.batch.directory = Arc::clone(&self.directory.1);
        world.swap_heard(&mut message.batch.heard);
        self.background.start(message);
    }

    /// Waits until everything is delivered.
    pub(crate) fn flush(&mut self) {
        while let Some(done) = self.background.finish() {
            self.spare.push(done);
        }
        for member in self.sinks.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            member.sink.flush();
        }
    }

    /// Sinks hear other sensors from now on: asks them again.
    pub(crate) fn refresh(&mut self, world: &mut World) {
        let patterns = self.sinks.lock().unwrap_or_else(PoisonError::into_inner);
        self.patterns = patterns.iter().flat_map(|member| member.sink.sensors()).collect();
        drop(patterns);
        self.note_start(world);
        for pattern in &self.patterns {
            listen(world, pattern);
        }
    }
}

/// Listens to every sensor that matches; false if none does.
fn listen(world: &mut World, pattern: &str) -> bool {
    let Some((robots, sensors)) = pattern.split_once('.') else { return false };
    let found: Vec<(String, String)> = world
        .robots()
        .map(|robot| (robot, robot.address()))
        .filter(|(_, address)| matches(robots, address))
        .flat_map(|(robot, address)| {
            let sensors = robot.cohort.blueprint.sensors.iter().filter(|slot| matches(sensors, &slot.name));
            sensors.map(move |slot| (address.clone(), slot.name.clone()))
        })
        .collect();
    found.iter().for_each(|(robot, sensor)| _ = world.listen(robot, sensor));
    !found.is_empty()
}
