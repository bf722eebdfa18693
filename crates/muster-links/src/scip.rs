//! SCIP 2.0, the protocol of Hokuyo's laser scanners, for any planar range sensor: programs written for the real device
//! connect unmodified, over TCP, a pseudo-terminal or a serial port.
//!
//! Every connection is a device of its own, with its own state. Requests are answered on the thread of links; scans go out
//! as the sensor's samples become visible, stamped with simulated time. Nothing that comes in changes the simulation.
//!
//! A client that reads "until an empty line" takes two responses that arrive together for one, so messages keep
//! [`GAP`] of real time between them.

pub mod codec;
pub mod device;
pub mod identity;

use crate::delivery::{Batch, Sink};
use crate::endpoint::{Endpoint, Over, Wanted};
use crate::link::{Address, Desk, Link, Tally};
use crate::net::{Exchange, Limits, Peer, Session, Taken, Welcome, lock};
use crate::protocol::{Opening, PortBase, Protocol, Unopened};
use codec::{Lines, THREE_MAX};
use device::{Device, Reply, Scan};
use identity::{Fan, Identity, MAKES, Make, Port};
use muster_core::component::Misfit;
use muster_core::lanes::Quantity;
use muster_core::link::{Binding, Channel, Form, LinkKind};
use muster_core::math;
use muster_core::model::SensorSlot;
use muster_core::node::Node;
use muster_core::service::Service;
use muster_core::time::SimTime;
use muster_core::world::World;
use muster_core::{choice, spec};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The port of real devices.
const PORT: u16 = 10940;
/// Messages are this far apart.
pub const GAP: Duration = Duration::from_millis(4);
/// A device holds back no more than a few scans for a host that does not read.
const LIMITS: Limits = Limits { peers: 64, message_bytes: 1 << 16, outbox_bytes: 1 << 16 };

choice! {
    /// Which scanner a sensor says it is.
    pub enum DeviceName {
        /// The one whose rays and reach fit.
        Auto = "auto",
        /// Hokuyo URG-04LX.
        Urg04lx = "urg04lx",
        /// Hokuyo UST-10LX.
        Ust10lx = "ust10lx",
        /// Hokuyo UST-20LX.
        Ust20lx = "ust20lx",
        /// Hokuyo UTM-30LX.
        Utm30lx = "utm30lx",
        /// None of these: any fan of rays.
        Generic = "generic",
    }
}

spec! {
    /// A range sensor that speaks SCIP 2.0.
    pub struct ScipOptions {
        /// Where it listens; the next free port from 10940 on if neither this nor a line is written.
        port: Option<u16>, in 1..=65535;
        /// The address it listens at.
        host: String = "127.0.0.1".to_owned();
        /// A pseudo-terminal by this name, which programs open as they would open `/dev/ttyACM0`.
        pty: Option<String>;
        /// A serial port by its device.
        serial: Option<String>;
        /// Bits a second of the serial port.
        baud: u32 = 115200, in 50..=4000000;
        /// Which scanner it says it is.
        device: DeviceName = DeviceName::Auto;
        /// What it answers for its model, if not the device's.
        model: Option<String>;
        /// What it answers for its serial number; robot and sensor if it is not written.
        serial_number: Option<String>;
        /// The number an intensity of 1 is told as.
        intensity_scale: f64 = 1000.0, in 0.0..=100000;
    }
}

spec! {
    /// SCIP as a whole has no settings.
    pub struct ScipSettings {}
}

/// SCIP 2.0.
pub const SCIP: Protocol = Protocol {
    kind: LinkKind {
        name: "scip",
        doc: "SCIP 2.0, the protocol of Hokuyo's scanners, over TCP, pseudo-terminals and serial ports.",
        options: Form::of::<ScipOptions>(),
        settings: Form::of::<ScipSettings>(),
        carries,
    },
    open,
};

/// What a sensor measures, if a scanner could.
fn limits_of(slot: &SensorSlot) -> Result<identity::Limits, Misfit> {
    let wanted = "a range sensor with a planar fan of rays";
    let Some((directions, far_m)) = slot.sensor.rays() else {
        return Err((format!("{:?}, a {} without rays", slot.name, slot.kind), wanted.to_owned()));
    };
    let fan = Fan::of(directions).map_err(|(found, expected)| (format!("{:?} with {found}", slot.name), expected))?;
    let intensity = intensity_at(slot.sensor.fields()).is_some();
    Ok(identity::Limits { fan, near_m: slot.sensor.near_m(), far_m, rate_hz: slot.rate.hz(), intensity })
}

/// Where in a record the intensity is.
fn intensity_at(fields: &[Quantity]) -> Option<usize> {
    let at = fields.iter().position(|field| field.name == "intensity")?;
    Some(Quantity::total(&fields[..at]))
}

fn carries(channel: &Channel<'_>) -> Result<(), Misfit> {
    match channel {
        Channel::Sensor(slot) => limits_of(slot).map(|_| ()),
        _ => Err(("what is no sensor".to_owned(), "a range sensor with a planar fan of rays".to_owned())),
    }
}

/// A bound sensor and the hosts that are connected to it.
struct Station {
    network: Arc<Identity>,
    serial: Arc<Identity>,
    /// Numbers in a record, and where the intensity is among them.
    record: (usize, Option<usize>),
    intensity_scale: f64,
    latest: Mutex<Option<Arc<Scan>>>,
    talks: Mutex<Vec<Arc<Talk>>>,
    now_ms: Arc<AtomicU64>,
}

/// A connection.
struct Talk {
    peer: Arc<Peer>,
    device: Mutex<Device>,
}

impl Talk {
    fn say(&self, reply: Reply) {
        match reply {
            Reply::Answer(bytes) => self.peer.answer_after(GAP, bytes),
            Reply::Scan(bytes) => self.peer.sample_after(GAP, bytes),
        }
    }
}

struct Conversation {
    station: Arc<Station>,
    talk: Arc<Talk>,
    lines: Lines,
}

impl Session for Conversation {
    fn receive(&mut self, bytes: &[u8], peer: &Arc<Peer>) -> Taken {
        let Self { station, talk, lines } = self;
        lines.take(bytes, |request| {
            peer.traffic.count_received(request.command.is_ok());
            let (latest, now_ms) = (lock(&station.latest).clone(), station.now_ms.load(Ordering::Relaxed));
            let mut device = lock(&talk.device);
            device.request(&request, now_ms, latest.as_deref(), &mut |reply| talk.say(reply));
        });
        Taken::Bytes(bytes.len())
    }

    fn closed(&mut self, _: &Arc<Peer>) {
        lock(&self.station.talks).retain(|talk| !Arc::ptr_eq(talk, &self.talk));
    }
}

impl Station {
    fn welcome(self: &Arc<Self>, over: Over) -> Welcome {
        let station = Arc::clone(self);
        Box::new(move |peer| {
            let identity = match over {
                Over::Tcp => &station.network,
                Over::Line => &station.serial,
            };
            let device = Mutex::new(Device::new(Arc::clone(identity)));
            let talk = Arc::new(Talk { peer: Arc::clone(peer), device });
            lock(&station.talks).push(Arc::clone(&talk));
            Box::new(Conversation { station: Arc::clone(&station), talk, lines: Lines::default() })
        })
    }

    /// A sample as a scanner writes it.
    fn scan(&self, stamp: SimTime, values: &[f64]) -> Scan {
        let (length, intensity) = self.record;
        let records = values.chunks_exact(length);
        let mut ranges_mm: Vec<u32> = records.clone().map(|record| self.network.range_mm(record[0])).collect();
        let scaled = |value: f64| math::round_nearest((value * self.intensity_scale).clamp(0.0, f64::from(THREE_MAX)));
        let mut intensities: Vec<u32> =
            intensity.map_or_else(Vec::new, |at| records.map(|record| scaled(record[at]) as u32).collect());
        if self.network.limits.fan.clockwise {
            ranges_mm.reverse();
            intensities.reverse();
        }
        Scan { time_ms: milliseconds(stamp), ranges_mm, intensities }
    }

    /// Simulated time began again.
    fn rewind(&self) {
        *lock(&self.latest) = None;
        lock(&self.talks).iter().for_each(|talk| lock(&talk.device).rewind());
    }

    fn publish(&self, stamp: SimTime, values: &[f64]) {
        let scan = Arc::new(self.scan(stamp, values));
        *lock(&self.latest) = Some(Arc::clone(&scan));
        for talk in lock(&self.talks).iter() {
            lock(&talk.device).scan(&scan, &mut |reply| talk.say(reply));
        }
    }
}

fn milliseconds(time: SimTime) -> u64 {
    time.ns() / 1_000_000
}

/// Stations by robot and sensor.
type Stations = Arc<Mutex<BTreeMap<(String, String), Arc<Station>>>>;

/// All sensors that are bound.
struct Scip {
    stations: Stations,
    open: BTreeMap<String, Vec<Endpoint>>,
    closed: Tally,
    now_ms: Arc<AtomicU64>,
    exchange: Arc<Mutex<Exchange>>,
    services: &'static [Service],
}

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Link>, Unopened> {
    let mut scip = Scip {
        stations: Stations::default(),
        open: BTreeMap::new(),
        closed: Tally::default(),
        now_ms: Arc::default(),
        exchange: Arc::clone(opening.exchange),
        services: opening.services,
    };
    for binding in opening.bindings {
        scip.start(binding, opening)?;
    }
    Ok(Box::new(scip))
}

impl Scip {
    fn start(&mut self, binding: &Binding, opening: &mut Opening<'_>) -> Result<(), Unopened> {
        let refuse = |(found, expected): Misfit| Unopened::binding(binding, found, expected);
        let options: ScipOptions =
            binding.options().ok_or_else(|| refuse(("other options".to_owned(), "those of scip".to_owned())))?;
        let robot = opening.world.find(&binding.robot);
        let slot =
            robot.and_then(|robot| robot.cohort.blueprint.sensors.iter().find(|slot| slot.name == binding.channel));
        let slot = slot.ok_or_else(|| refuse((binding.path(), "a sensor that exists".to_owned())))?;
        let limits = limits_of(slot).map_err(refuse)?;
        let station = Arc::new(self.station(binding, &options, limits, slot.sensor.fields()).map_err(refuse)?);
        let wanted = Wanted {
            host: options.host,
            port: options.port,
            usual_port: PORT,
            pty: options.pty,
            serial: options.serial.map(|device| (device, options.baud)),
        };
        let endpoints = wanted.open(opening, Some(binding), LIMITS, |over| station.welcome(over))?;
        self.open.insert(binding.path(), endpoints);
        lock(&self.stations).insert((binding.robot.clone(), binding.channel.clone()), station);
        Ok(())
    }

    fn station(
        &self,
        binding: &Binding,
        options: &ScipOptions,
        limits: identity::Limits,
        fields: &[Quantity],
    ) -> Result<Station, Misfit> {
        let make: Option<&'static Make> = MAKES.iter().find(|make| make.name == options.device.word());
        let serial = options.serial_number.clone().unwrap_or_else(|| binding.path());
        let identity = |port| -> Result<Arc<Identity>, Misfit> {
            let mut identity = Identity::new(make, limits, &serial, port)?;
            identity.model = options.model.clone().unwrap_or(identity.model);
            Ok(Arc::new(identity))
        };
        Ok(Station {
            network: identity(Port::Network)?,
            serial: identity(Port::Serial)?,
            record: (Quantity::total(fields), intensity_at(fields)),
            intensity_scale: options.intensity_scale,
            latest: Mutex::default(),
            talks: Mutex::default(),
            now_ms: Arc::clone(&self.now_ms),
        })
    }
}

impl Link for Scip {
    fn sink(&mut self) -> Option<Box<dyn Sink>> {
        Some(Box::new(ScipSink { stations: Arc::clone(&self.stations) }))
    }

    fn attend(&mut self, desk: &mut Desk<'_>) {
        let now_ms = milliseconds(desk.world.time());
        let before_ms = self.now_ms.swap(now_ms, Ordering::Relaxed);
        if now_ms < before_ms {
            lock(&self.stations).values().for_each(|station| station.rewind());
        }
    }

    fn bind(&mut self, binding: &Binding, world: &World) -> Result<(), String> {
        if self.open.contains_key(&binding.path()) {
            return Err(format!("found {} bound already, expected a channel that is not", binding.path()));
        }
        let exchange = Arc::clone(&self.exchange);
        let mut opening = Opening {
            bindings: std::slice::from_ref(binding),
            settings: &Node::default(),
            world,
            services: self.services,
            exchange: &exchange,
            ports: &mut PortBase::AsWritten,
            rehearsal: false,
        };
        self.start(binding, &mut opening).map_err(|unopened| unopened.to_string())
    }

    fn unbind(&mut self, path: &str) -> bool {
        let Some(endpoints) = self.open.remove(path) else { return false };
        for endpoint in endpoints {
            endpoint.close(&self.exchange);
            self.closed = self.closed.plus(&endpoint.tally());
        }
        lock(&self.stations).retain(|(robot, sensor), _| format!("{robot}.{sensor}") != path);
        true
    }

    fn addresses(&self) -> Vec<Address> {
        let all = self.open.iter().flat_map(|(path, endpoints)| endpoints.iter().map(move |each| (path, each)));
        let address = |(path, endpoint): (&String, &Endpoint)| Address {
            link: SCIP.kind.name,
            channel: path.clone(),
            direction: "in, out",
            at: endpoint.at.clone(),
        };
        all.map(address).collect()
    }

    fn tally(&self) -> Tally {
        self.open.values().flatten().fold(self.closed, |sum, endpoint| sum.plus(&endpoint.tally()))
    }
}

struct ScipSink {
    stations: Stations,
}

impl Sink for ScipSink {
    fn sensors(&self) -> Vec<String> {
        lock(&self.stations).keys().map(|(robot, sensor)| format!("{robot}.{sensor}")).collect()
    }

    fn take(&mut self, batch: &Batch) {
        let stations = lock(&self.stations);
        for sample in batch.samples() {
            let names = batch.directory.robots.get(&sample.robot);
            let Some((names, (sensor, _))) =
                names.and_then(|names| Some((names, names.sensors.get(sample.sensor as usize)?)))
            else {
                continue;
            };
            if let Some(station) = stations.get(&(names.name.clone(), sensor.clone())) {
                station.publish(sample.stamp, sample.values);
            }
        }
    }
}
