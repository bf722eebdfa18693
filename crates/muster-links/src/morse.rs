//! The link `socket`: MORSE's raw sockets, as pymorse, ArduPilot's MORSE backend and MORSE's own test scripts speak them, and
//! one more port for large fleets.
//!
//! - **Service port**: requests and answers by lines, see [`codec`]; what can be asked is in `services`.
//! - **Stream ports**: one for each channel. A sensor's sends its samples as JSON lines to all who are connected, see [`data`];
//!   an actuator's takes JSON lines, of which the last before a window counts.
//! - **Fleet port**: all channels on one connection, by name, see `sessions`.
//! - **Lock-step port**: while somebody is connected, each of his messages lets one step of simulated time pass, see `sync`.
//!
//! Formats follow MORSE 1.4 (G. Echeverria et al., *Modular Open Robots Simulation Engine: MORSE*, ICRA 2011, section III-B,
//! and the clients named above). Unlike the original, requests and messages may come in pieces, and several at once.

pub mod codec;
pub mod data;
mod details;
mod hub;
mod objects;
mod services;
mod sessions;
mod sink;
mod sync;

pub use objects::set_visibility;

use crate::delivery::Sink;
use crate::link::{Address, Desk, Link, Tally, Turn};
use crate::net::{Door, Exchange, Limits, Traffic, lock};
use crate::protocol::{Opening, Protocol, Unopened};
use hub::{Channel, Direction, Hub};
use muster_core::component::Misfit;
use muster_core::link::{Binding, Channel as Bound, Form, LinkKind};
use muster_core::node::Node;
use muster_core::time::SimTime;
use muster_core::world::World;
use muster_core::{choice, spec};
use services::Clerk;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use sync::LockStep;

spec! {
    /// What may be written for one channel.
    pub struct SocketOptions {
        /// The port of its stream; the next one is taken if it is not free. Without it ports count up from `stream_port`.
        port: Option<usize>, in 1..=65535;
        /// Whether it has a stream of its own.
        stream: bool = true;
        /// Whether services can be asked of it.
        service: bool = true;
        /// The name clients know it by, after the robot's; its own if not written. It may have dots.
        name: Option<String>;
        /// The name of MORSE's class that clients are told.
        class: Option<String>;
        /// Of an actuator: in which coordinates places come.
        coordinates: Coordinates = Coordinates::World;
    }
}

choice! {
    /// Coordinates in which an actuator is told places (`x`, `y`, `z`) and angles.
    pub enum Coordinates {
        /// East, north, up, in metres.
        World = "world",
        /// North, east, down.
        Ned = "ned",
        /// The world's in feet.
        Feet = "feet",
        /// Easting, northing and altitude on the grid of the origin's zone.
        Utm = "utm",
        /// Earth-centred.
        Ecef = "ecef",
        /// Longitude, latitude and altitude.
        Geodetic = "geodetic",
    }
}

choice! {
    /// What is done if a peer in lock step is silent for too long.
    pub enum Policy {
        /// Wait on.
        Wait = "wait",
        /// Go on by one step.
        Continue = "continue",
        /// End the run.
        Stop = "stop",
    }
}

spec! {
    /// Lock step: while somebody is connected to a port, each message of his lets one step pass.
    pub struct LockStepText {
        /// The port.
        port: usize = 6000, in 1..=65535;
        /// Steps a second of simulated time.
        rate_hz: f64 = 60.0, in 0.001..=10000;
        /// How long a peer may be silent; for ever if not written.
        timeout_s: Option<f64>, in 0.0..=1e6;
        /// What is done then.
        on_timeout: Policy = Policy::Wait;
    }
}

spec! {
    /// How the link is set up.
    pub struct SocketSettings {
        /// The address it listens at; `0.0.0.0` for all of the machine.
        host: String = "127.0.0.1".to_owned();
        /// The port of services; the next nine are tried if it is taken.
        service_port: usize = 4000, in 1..=65535;
        /// The first port of streams.
        stream_port: usize = 60000, in 1..=65535;
        /// Whether every channel has a port of its own.
        streams: bool = true;
        /// One port for all channels, for large fleets; none if not written.
        fleet_port: Option<usize>, in 1..=65535;
        /// Lock step with programs outside.
        lock_step: Option<LockStepText>;
        /// Sensors told together in one message, as MORSE's compound sensors: `robot.name: [sensor, …]`, or with a port
        /// `robot.name: {sensors: [sensor, …], port: 60000}`.
        compounds: Node;
        /// The name of the environment that clients are told.
        environment: String = "empty".to_owned();
    }
}

/// The row of this link.
pub const SOCKET: Protocol = Protocol {
    kind: LinkKind {
        name: "socket",
        doc: "MORSE's sockets: services as lines of text, samples and commands as JSON, a port for each channel or one for all.",
        options: Form::of::<SocketOptions>(),
        settings: Form::of::<SocketSettings>(),
        carries: |_: &Bound<'_>| -> Result<(), Misfit> { Ok(()) },
    },
    open,
};

/// How many more ports are tried if one is taken, as in MORSE.
const SERVICE_TRIES: u16 = 9;
const STREAM_TRIES: u16 = 1000;

/// The link.
struct Socket {
    hub: Arc<Hub>,
    clerk: Clerk,
    sync: Option<LockStep>,
    exchange: Arc<Mutex<Exchange>>,
    listeners: Vec<Listener>,
    settings: SocketSettings,
    host: IpAddr,
    next_port: u16,
    generation: u64,
}

/// Something that listens, beside the streams of channels.
struct Listener {
    what: &'static str,
    at: SocketAddr,
    traffic: Arc<Traffic>,
}

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Link>, Unopened> {
    let settings: SocketSettings =
        opening.settings().ok_or_else(|| Unopened::link("settings that cannot be read", "those of socket"))?;
    let host = host_of(&settings.host)?;
    let hub = Arc::new(Hub::new(opening.world, settings.environment.clone()));
    let mut socket = Socket {
        clerk: Clerk::new(Arc::clone(&hub)),
        sync: None,
        exchange: Arc::clone(opening.exchange),
        listeners: Vec::new(),
        host,
        next_port: port(settings.stream_port),
        generation: opening.world.generation(),
        settings,
        hub,
    };
    socket.open_ports(opening)?;
    for binding in opening.bindings {
        let channel = socket
            .channel(binding, opening.world)
            .map_err(|found| Unopened::binding(binding, found, "a sensor, an actuator or a robot that is there"))?;
        socket.stream(channel, opening)?;
    }
    for compound in compounds(&socket.settings.compounds) {
        let compound = compound?;
        let channel = Channel::compound(&compound, opening.world).map_err(|found| {
            Unopened::link(format!("compound {:?}: {found}", compound.path), "sensors of one robot")
        })?;
        socket.stream(channel, opening)?;
    }
    Ok(Box::new(socket))
}

fn host_of(host: &str) -> Result<IpAddr, Unopened> {
    match host {
        "localhost" => Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        host => host.parse().map_err(|error: std::net::AddrParseError| {
            let expected = "an address, such as 127.0.0.1 or 0.0.0.0";
            Unopened::link(format!("host {host:?} ({error})"), expected)
        }),
    }
}

/// A port of a setting, whose range is checked.
fn port(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// Sensors told together.
pub(crate) struct CompoundText {
    pub(crate) path: String,
    pub(crate) sensors: Vec<String>,
    pub(crate) port: Option<u16>,
}

fn compounds(node: &Node) -> Vec<Result<CompoundText, Unopened>> {
    let expected = "robot.name: [sensor, …]";
    let wrong = |key: &str| Unopened::link(format!("compound {key:?}"), expected);
    let read = |entry: &muster_core::node::Entry| {
        let sensors = entry.value.get("sensors").unwrap_or(&entry.value);
        let muster_core::node::Value::List(items) = &sensors.value else { return Err(wrong(&entry.key)) };
        let sensors = items.iter().map(|item| item.text().map(str::to_owned)).collect::<Option<Vec<String>>>();
        let port = match entry.value.get("port").map(|node| &node.value) {
            Some(muster_core::node::Value::Integer(number)) => u16::try_from(*number).ok(),
            _ => None,
        };
        let sensors = sensors.ok_or_else(|| wrong(&entry.key))?;
        Ok(CompoundText { path: entry.key.clone(), sensors, port })
    };
    node.entries().unwrap_or_default().iter().map(read).collect()
}

impl Socket {
    /// The ports that belong to no channel.
    fn open_ports(&mut self, opening: &mut Opening<'_>) -> Result<(), Unopened> {
        let (host, hub) = (self.host, Arc::clone(&self.hub));
        let welcome = || sessions::service(&hub);
        let service_port = port(self.settings.service_port);
        let (at, traffic, _) = opening.listen(host, service_port, SERVICE_TRIES, (Limits::default(), welcome))?;
        self.listeners.push(Listener { what: "services", at, traffic });
        if let Some(fleet) = self.settings.fleet_port {
            let welcome = || sessions::fleet(&hub);
            let (at, traffic, _) = opening.listen(host, port(fleet), 0, (Limits::default(), welcome))?;
            self.listeners.push(Listener { what: "fleet", at, traffic });
        }
        if let Some(text) = self.settings.lock_step.clone() {
            let step = LockStep::new(&text);
            let welcome = || step.welcome();
            let (at, traffic, _) = opening.listen(host, port(text.port), 0, (Limits::default(), welcome))?;
            self.listeners.push(Listener { what: "lock step", at, traffic });
            self.sync = Some(step);
        }
        Ok(())
    }

    /// What a binding binds; an error says what was found instead.
    fn channel(&self, binding: &Binding, world: &World) -> Result<Channel, String> {
        let options: SocketOptions = binding.options().ok_or("options that cannot be read")?;
        Channel::of(binding, &options, world)
    }

    /// Opens the stream of a channel, if it has one, and takes it in.
    fn stream(&mut self, mut channel: Channel, opening: &mut Opening<'_>) -> Result<(), Unopened> {
        if self.settings.streams && channel.wants_stream() {
            let hub = Arc::clone(&self.hub);
            let (number, direction) = (self.hub.next_channel(), channel.direction());
            let welcome = || sessions::stream(&hub, number, direction);
            let first = channel.port.unwrap_or(self.next_port);
            let (at, traffic, door) = opening.listen(self.host, first, STREAM_TRIES, (Limits::default(), welcome))?;
            self.opened(&mut channel, (at, traffic, door));
        }
        self.hub.add(channel);
        Ok(())
    }

    fn opened(&mut self, channel: &mut Channel, (at, traffic, door): (SocketAddr, Arc<Traffic>, Door)) {
        if channel.port.is_none() {
            self.next_port = at.port().saturating_add(1);
        }
        channel.stream = Some(hub::Stream { at, traffic, door });
    }
}

impl Link for Socket {
    fn sink(&mut self) -> Option<Box<dyn Sink>> {
        Some(Box::new(sink::SocketSink::new(Arc::clone(&self.hub))))
    }

    fn attend(&mut self, desk: &mut Desk<'_>) {
        if desk.world.generation() != self.generation {
            self.generation = desk.world.generation();
            self.hub.refresh(desk.world);
        }
        self.clerk.attend(desk);
        if self.hub.take_full() {
            lock(&self.exchange).resume();
        }
        if let Some(step) = &mut self.sync {
            step.look(desk.world.time());
        }
    }

    fn next_exchange(&self, now: SimTime) -> SimTime {
        let step = self.sync.as_ref().map_or(SimTime::NEVER, |step| step.next(now));
        step.min(self.clerk.next_alarm(now))
    }

    fn wait(&mut self, now: SimTime, at_most: Duration) -> Turn {
        match &mut self.sync {
            Some(step) => step.wait(now, at_most),
            None => Turn::Done,
        }
    }

    fn bind(&mut self, binding: &Binding, world: &World) -> Result<(), String> {
        let mut channel = self.channel(binding, world)?;
        if self.hub.has(&channel.bound) {
            return Err(format!("found {} bound already, expected another channel", channel.path));
        }
        if self.settings.streams && channel.wants_stream() {
            let (number, direction) = (self.hub.next_channel(), channel.direction());
            let first = channel.port.unwrap_or(self.next_port);
            let mut last = String::new();
            for port in first..=first.saturating_add(STREAM_TRIES) {
                let welcome = sessions::stream(&self.hub, number, direction);
                let opened = lock(&self.exchange).listen(SocketAddr::new(self.host, port), Limits::default(), welcome);
                match opened {
                    Ok(open) => {
                        self.opened(&mut channel, open);
                        break;
                    }
                    Err(error) => last = error.to_string(),
                }
            }
            if channel.stream.is_none() {
                return Err(format!("found no port that is free ({last}), expected one from {first} on"));
            }
        }
        self.hub.add(channel);
        Ok(())
    }

    fn unbind(&mut self, path: &str) -> bool {
        let Some(stream) = self.hub.remove(path) else { return false };
        if let Some(stream) = stream {
            lock(&self.exchange).leave(stream.door);
        }
        true
    }

    fn addresses(&self) -> Vec<Address> {
        let own = self.listeners.iter().map(|listener| Address {
            link: "socket",
            channel: listener.what.to_owned(),
            direction: "in, out",
            at: listener.at.to_string(),
        });
        let streams = self.hub.streams().into_iter().map(|(path, direction, at)| Address {
            link: "socket",
            channel: path,
            direction: if direction == Direction::In { "in" } else { "out" },
            at: at.to_string(),
        });
        own.chain(streams).collect()
    }

    fn tally(&self) -> Tally {
        let own = self.listeners.iter().map(|listener| listener.traffic.tally());
        own.fold(self.hub.tally(), |sum, each| sum.plus(&each))
    }

    fn take_notes(&mut self) -> Vec<String> {
        self.clerk.take_notes()
    }
}
