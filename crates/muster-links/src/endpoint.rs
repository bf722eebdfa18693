//! Where one channel can be reached: over TCP, a pseudo-terminal, a serial port, or several of them at once.

use crate::link::Tally;
use crate::net::{Door, Exchange, Limits, Serial, Traffic, Tty, Welcome, lock};
use crate::protocol::{Opening, Unopened};
use muster_core::link::Binding;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What was written for a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The address to listen at.
    pub host: String,
    /// The port, if one was written.
    pub port: Option<u16>,
    /// The first port that is tried if neither port nor line was written.
    pub usual_port: u16,
    /// A pseudo-terminal.
    pub pty: Option<String>,
    /// A serial port and its speed.
    pub serial: Option<(String, u32)>,
}

/// What kind of connection an endpoint takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// TCP.
    Tcp,
    /// A pseudo-terminal or a serial port.
    Line,
}

/// Something that is open.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Host and port, or a path.
    pub at: String,
    traffic: Arc<Traffic>,
    door: Door,
}

/// How many ports after the usual one are tried.
const TRIES: u16 = 999;

impl Wanted {
    /// Opens everything that was written; the usual port if nothing was.
    pub fn open(
        &self,
        opening: &mut Opening<'_>,
        binding: Option<&Binding>,
        limits: Limits,
        welcome: impl Fn(Over) -> Welcome,
    ) -> Result<Vec<Endpoint>, Unopened> {
        let blamed = |unopened: Unopened| Unopened { at: binding.map(|binding| binding.at.clone()), ..unopened };
        let mut open = Vec::new();
        if self.port.is_some() || (self.pty.is_none() && self.serial.is_none()) {
            let host: IpAddr = self.host.parse().map_err(|_: std::net::AddrParseError| {
                blamed(Unopened::link(format!("host {:?}", self.host), "an address such as 127.0.0.1"))
            })?;
            let (port, tries) = self.port.map_or((self.usual_port, TRIES), |port| (port, 0));
            let (at, traffic, door) =
                opening.listen(host, port, tries, (limits, || welcome(Over::Tcp))).map_err(blamed)?;
            open.push(Endpoint { at: at.to_string(), traffic, door });
        }
        let pty = self.pty.as_ref().map(|link| {
            (link.clone(), Box::new(|| Tty::pseudo(Some(Path::new(link)))) as Box<dyn Fn() -> std::io::Result<Tty>>)
        });
        let serial = self.serial.as_ref().map(|(device, baud)| {
            let port = Serial { device: PathBuf::from(device), baud: *baud };
            (device.clone(), Box::new(move || Tty::serial(&port)) as Box<dyn Fn() -> std::io::Result<Tty>>)
        });
        for (at, line) in pty.into_iter().chain(serial) {
            let (traffic, door) = if opening.rehearsal {
                Default::default()
            } else {
                let unopened = |error| blamed(Unopened::link(format!("{at}: {error}"), "a line that can be opened"));
                opening.serve(line().map_err(unopened)?, limits, welcome(Over::Line)).map_err(blamed)?
            };
            open.push(Endpoint { at, traffic, door });
        }
        Ok(open)
    }
}

impl Endpoint {
    /// What went through it.
    pub fn tally(&self) -> Tally {
        self.traffic.tally()
    }

    /// Closes it.
    pub fn close(&self, exchange: &std::sync::Mutex<Exchange>) {
        lock(exchange).leave(self.door);
    }
}
