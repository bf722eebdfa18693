//! The table of protocols. Adding one is a folder with its codec and its link, and a row here.

use crate::link::Link;
use crate::net::{Door, Exchange, Limits, Traffic, Tty, Welcome, lock};
use crate::{controller, logs, morse, scip};
use muster_core::link::{Binding, LinkKind};
use muster_core::node::{Node, Problems};
use muster_core::service::Service;
use muster_core::spec::Spec;
use muster_core::world::World;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

/// A protocol: what may be written for it, and how to open it.
pub struct Protocol {
    /// What scenarios may say.
    pub kind: LinkKind,
    /// Opens it for all its bindings.
    pub open: fn(&mut Opening<'_>) -> Result<Box<dyn Link>, Unopened>,
}

/// Every protocol.
pub static PROTOCOLS: &[Protocol] =
    &[controller::CONTROLLER, logs::CSV, logs::JSONL, scip::SCIP, morse::SOCKET, logs::TEXT];

/// What scenarios may say of each.
pub static KINDS: [&LinkKind; PROTOCOLS.len()] = {
    let mut kinds = [&PROTOCOLS[0].kind; PROTOCOLS.len()];
    let mut at = 0;
    while at < kinds.len() {
        kinds[at] = &PROTOCOLS[at].kind;
        at += 1;
    }
    kinds
};

/// Why a link could not be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unopened {
    /// Where the binding is written, if one is to blame.
    pub at: Option<String>,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
}

impl Unopened {
    /// A binding that cannot be served.
    pub fn binding(binding: &Binding, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { at: Some(binding.at.clone()), found: found.into(), expected: expected.into() }
    }

    /// A link that cannot be served.
    pub fn link(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { at: None, found: found.into(), expected: expected.into() }
    }
}

impl std::fmt::Display for Unopened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = self.at.as_ref().map_or_else(String::new, |at| format!("{at}: "));
        write!(f, "{at}error: found {}, expected {}", self.found, self.expected)
    }
}

/// Which ports are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PortBase {
    /// Those that are written.
    #[default]
    AsWritten,
    /// Any that are free, so that several simulations run on one machine.
    Auto,
    /// From this one on, in order.
    From(u16),
}

impl std::str::FromStr for PortBase {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("auto", _) => Ok(Self::Auto),
            (_, Ok(base @ 1..)) => Ok(Self::From(base)),
            _ => Err(format!("found {text:?}, expected auto or a port from 1 to 65535")),
        }
    }
}

/// What a protocol gets to be opened with.
pub struct Opening<'a> {
    /// What is bound to it.
    pub bindings: &'a [Binding],
    /// What was written for it as a whole.
    pub settings: &'a Node,
    /// The world at the start.
    pub world: &'a World,
    /// What can be asked of robots.
    pub services: &'static [Service],
    /// The sockets of all links; links keep a share of it.
    pub exchange: &'a Arc<Mutex<Exchange>>,
    /// Which ports are taken.
    pub ports: &'a mut PortBase,
    /// Nothing is opened or written: only addresses are wanted.
    pub rehearsal: bool,
}

impl Opening<'_> {
    /// The settings, as they were checked.
    pub fn settings<T: Spec>(&self) -> Option<T> {
        T::read(self.settings, "", &[], &mut Problems::default())
    }

    /// Listens at a port of a host, or at one of the next `tries` if it is taken.
    pub fn listen(
        &mut self,
        host: IpAddr,
        port: u16,
        tries: u16,
        (limits, mut welcome): (Limits, impl FnMut() -> Welcome),
    ) -> Result<(SocketAddr, Arc<Traffic>, Door), Unopened> {
        let (first, tries) = match *self.ports {
            PortBase::AsWritten => (port, tries),
            PortBase::Auto => (0, 0),
            PortBase::From(base) => (base, u16::MAX - base),
        };
        if self.rehearsal {
            return Ok((SocketAddr::new(host, first), Arc::default(), Door::default()));
        }
        let mut last = None;
        for port in first..=first.saturating_add(tries) {
            match lock(self.exchange).listen(SocketAddr::new(host, port), limits, welcome()) {
                Ok(open) => {
                    if let PortBase::From(base) = self.ports {
                        *base = port.saturating_add(1);
                    }
                    return Ok(open);
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = Some(error),
                Err(error) => return Err(Unopened::link(format!("{host}:{port}: {error}"), "an address to listen at")),
            }
        }
        let why = last.map_or_else(String::new, |error| format!(" ({error})"));
        let found = format!("port {port} of {host} taken{why}");
        Err(Unopened::link(found, "one that is free; --port-base auto takes any"))
    }

    /// Serves a pseudo-terminal or serial port.
    pub fn serve(&mut self, tty: Tty, limits: Limits, welcome: Welcome) -> Result<(Arc<Traffic>, Door), Unopened> {
        if self.rehearsal {
            return Ok((Arc::default(), Door::default()));
        }
        let name = tty.path().display().to_string();
        let served = lock(self.exchange).serve(tty, limits, welcome);
        served.map_err(|error| Unopened::link(format!("{name}: {error}"), "a line to serve"))
    }
}
