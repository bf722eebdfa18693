//! Generic controllers: programs outside read and set any property of robots and call their services, over TCP, a
//! pseudo-terminal or a serial port, without code here (M. Friedmann, K. Petersen and O. von Stryk, *MuRoSimF*, section 2.3).
//!
//! There are two ways to speak. A conversation in [`text`] asks for properties by name; it needs no configuration. A
//! [`program`] is for software that has a protocol already: the scenario says which numbers of an incoming line are which
//! values, and what a line that goes out looks like.
//!
//! What comes in is obeyed at the next boundary between windows. Streams end windows at their rates, which changes no
//! results.

pub mod caller;
pub mod program;
pub mod template;
pub mod text;

use crate::endpoint::{Endpoint, Wanted};
use crate::link::{Address, Desk, Link, Tally};
use crate::net::{Exchange, Limits, Welcome, lock};
use crate::protocol::{Opening, PortBase, Protocol, Unopened};
use caller::{Caller, Listener, Role};
use muster_core::component::Misfit;
use muster_core::link::{Binding, Channel, Form, LinkKind};
use muster_core::node::{Node, Value};
use muster_core::service::Service;
use muster_core::spec;
use muster_core::time::{Rate, SimTime};
use muster_core::world::World;
use program::{Library, Program};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use template::Template;

/// The first port that is tried if none is written.
const PORT: u16 = 7000;
/// What peers may use up.
const LIMITS: Limits = Limits { peers: 256, message_bytes: text::LINE_MAX, outbox_bytes: 1 << 20 };

spec! {
    /// A controller of a robot. Without `sets`, `accepts`, `gets` and `sends` it is a conversation in text.
    pub struct ControllerOptions {
        /// Where it listens; the next free port from 7000 on if neither this nor a line is written.
        port: Option<u16>, in 1..=65535;
        /// The address it listens at.
        host: String = "127.0.0.1".to_owned();
        /// A pseudo-terminal by this name.
        pty: Option<String>;
        /// A serial port by its device.
        serial: Option<String>;
        /// Bits a second of the serial port.
        baud: u32 = 115200, in 50..=4000000;
        /// What the numbers of an incoming line are, in order: properties, or parameters of services.
        sets: Vec<String> = Vec::new();
        /// The same as a template, `J <joint_command.a:deg> <joint_command.b:deg>`.
        accepts: Option<String>;
        /// What the numbers of a line that goes out are, in order.
        gets: Vec<String> = Vec::new();
        /// The same as a template.
        sends: Option<String>;
        /// How often lines go out; without it, one after the window in which an incoming line was obeyed.
        rate_hz: Option<f64>, in 0.001..=10000;
    }
}

spec! {
    /// A conversation in text about all robots.
    pub struct ControllerSettings {
        /// Where it listens; the next free port from 7000 on if neither this nor a line is written.
        port: Option<u16>, in 1..=65535;
        /// The address it listens at.
        host: String = "127.0.0.1".to_owned();
        /// A pseudo-terminal by this name.
        pty: Option<String>;
        /// A serial port by its device.
        serial: Option<String>;
        /// Bits a second of the serial port.
        baud: u32 = 115200, in 50..=4000000;
    }
}

/// Generic controllers.
pub const CONTROLLER: Protocol = Protocol {
    kind: LinkKind {
        name: "controller",
        doc: "Any property read and set and services called in lines of text, over TCP, pseudo-terminals and serial ports.",
        options: Form::of::<ControllerOptions>(),
        settings: Form::of::<ControllerSettings>(),
        carries,
    },
    open,
};

fn carries(channel: &Channel<'_>) -> Result<(), Misfit> {
    match channel {
        Channel::Robot(_) => Ok(()),
        _ => {
            Err(("a channel".to_owned(), "the robot as a whole: sensors are named in gets, inputs in sets".to_owned()))
        }
    }
}

/// People who connected and whom the loop has not met.
type Arrivals = Arc<Mutex<Vec<Caller>>>;

/// All controllers.
struct Controllers {
    /// By robot; the world's own under an empty name.
    open: BTreeMap<String, Vec<Endpoint>>,
    closed: Tally,
    arrivals: Arrivals,
    callers: Vec<Caller>,
    time: SimTime,
    notes: Vec<String>,
    exchange: Arc<Mutex<Exchange>>,
    services: &'static [Service],
}

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Link>, Unopened> {
    let mut controllers = Controllers {
        open: BTreeMap::new(),
        closed: Tally::default(),
        arrivals: Arrivals::default(),
        callers: Vec::new(),
        time: SimTime::ZERO,
        notes: Vec::new(),
        exchange: Arc::clone(opening.exchange),
        services: opening.services,
    };
    for binding in opening.bindings {
        controllers.start(binding, opening)?;
    }
    if let (Some(settings), false) = (opening.settings::<ControllerSettings>(), opening.settings.value == Value::Null) {
        let wanted = Wanted {
            host: settings.host,
            port: settings.port,
            usual_port: PORT,
            pty: settings.pty,
            serial: settings.serial.map(|device| (device, settings.baud)),
        };
        let role = Arc::new(Role::default());
        let endpoints = wanted.open(opening, None, LIMITS, |_| controllers.welcome(&role))?;
        controllers.open.insert(String::new(), endpoints);
    }
    Ok(Box::new(controllers))
}

/// The template of a list or of a text, if one of them was written.
fn template(list: &[String], text: Option<&String>, names: [&str; 2]) -> Result<Option<Template>, Misfit> {
    match (list, text) {
        ([], None) => Ok(None),
        ([], Some(text)) => Template::parse(text).map(Some),
        (list, None) => Template::list(list).map(Some),
        _ => Err((format!("{} and {}", names[0], names[1]), "one of them".to_owned())),
    }
}

/// What a binding's options mean in the world.
fn role(binding: &Binding, options: &ControllerOptions, library: &Library<'_>) -> Result<Role, Misfit> {
    let accepts = template(&options.sets, options.accepts.as_ref(), ["sets", "accepts"])?;
    let sends = template(&options.gets, options.sends.as_ref(), ["gets", "sends"])?;
    let coded = accepts.is_some() || sends.is_some();
    if let (Some(rate_hz), None) = (options.rate_hz, &sends) {
        return Err((format!("rate_hz: {rate_hz} with nothing to send"), "gets or sends".to_owned()));
    }
    let accepts = match accepts {
        Some(template) => Some((library.deeds(&template)?, template)),
        None => None,
    };
    let sends = match sends {
        Some(template) => Some((library.sources(&template)?, template)),
        None => None,
    };
    Ok(Role {
        robot: Some(binding.robot.clone()),
        program: coded.then_some(Program { accepts, sends }),
        rate: options.rate_hz.and_then(Rate::from_hz),
    })
}

impl Controllers {
    fn start(&mut self, binding: &Binding, opening: &mut Opening<'_>) -> Result<(), Unopened> {
        let refuse = |(found, expected): Misfit| Unopened::binding(binding, found, expected);
        let options: ControllerOptions =
            binding.options().ok_or_else(|| refuse(("other options".to_owned(), "those of controller".to_owned())))?;
        let library = Library { world: opening.world, services: opening.services, robot: &binding.robot };
        let role = Arc::new(role(binding, &options, &library).map_err(refuse)?);
        let wanted = Wanted {
            host: options.host,
            port: options.port,
            usual_port: PORT,
            pty: options.pty,
            serial: options.serial.map(|device| (device, options.baud)),
        };
        let endpoints = wanted.open(opening, Some(binding), LIMITS, |_| self.welcome(&role))?;
        self.open.entry(binding.robot.clone()).or_default().extend(endpoints);
        Ok(())
    }

    fn welcome(&self, role: &Arc<Role>) -> Welcome {
        let (role, arrivals) = (Arc::clone(role), Arc::clone(&self.arrivals));
        Box::new(move |peer| {
            let caller = Caller::new(&role, peer);
            let accepts =
                role.program.as_ref().map(|program| program.accepts.as_ref().map(|(_, template)| template.clone()));
            // a program that only sends takes no line to be right
            let template = accepts.map(|accepts| accepts.unwrap_or_else(Template::nothing));
            let listener = Listener { template, inbox: Arc::clone(&caller.inbox) };
            lock(&arrivals).push(caller);
            Box::new(listener)
        })
    }
}

impl Link for Controllers {
    fn attend(&mut self, desk: &mut Desk<'_>) {
        let now = desk.world.time();
        self.callers.append(&mut lock(&self.arrivals));
        self.callers.retain(|caller| caller.peer.is_open());
        if now < self.time {
            self.callers.iter_mut().for_each(|caller| caller.rewind(now));
        }
        self.time = now;
        let mut resume = false;
        for caller in &mut self.callers {
            resume |= caller.attend(desk);
            self.notes.extend(lock(&caller.inbox).take_puzzle());
        }
        if resume {
            lock(&self.exchange).resume();
        }
    }

    fn next_exchange(&self, now: SimTime) -> SimTime {
        let due = self.callers.iter().map(Caller::next_due).min().unwrap_or(SimTime::NEVER);
        // what is due now was sent when this last attended, or is due to those who just came
        if due > now { due } else { SimTime::NEVER }
    }

    fn bind(&mut self, binding: &Binding, world: &World) -> Result<(), String> {
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
        let Some(endpoints) = self.open.remove(path).filter(|_| !path.is_empty()) else { return false };
        for endpoint in endpoints {
            endpoint.close(&self.exchange);
            self.closed = self.closed.plus(&endpoint.tally());
        }
        true
    }

    fn addresses(&self) -> Vec<Address> {
        let all = self.open.iter().flat_map(|(robot, endpoints)| endpoints.iter().map(move |each| (robot, each)));
        let address = |(robot, endpoint): (&String, &Endpoint)| Address {
            link: CONTROLLER.kind.name,
            channel: if robot.is_empty() { "all robots".to_owned() } else { robot.clone() },
            direction: "in, out",
            at: endpoint.at.clone(),
        };
        all.map(address).collect()
    }

    fn tally(&self) -> Tally {
        self.open.values().flatten().fold(self.closed, |sum, endpoint| sum.plus(&endpoint.tally()))
    }

    fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}
