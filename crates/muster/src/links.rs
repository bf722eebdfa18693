//! The switchboard: opens the links of a scenario, lets them attend between windows, and takes their commands in.
//!
//! Commands of links are stamped with the simulation time of the boundary at which they were taken, the link's number (from
//! 1, in the order of the table of protocols) and a sequence number, so that a run can be repeated from a recording.

use muster_core::link::{Binding, LinkKind};
use muster_core::node::Node;
use muster_core::service::Answer;
use muster_core::time::SimTime;
use muster_core::world::World;
use muster_links::delivery::Sink;
use muster_links::link::{Address, Desk, Line, Link, Pace, Tally, Turn};
use muster_links::net::Exchange;
use muster_links::protocol::{Opening, PROTOCOLS, PortBase, Unopened};
use muster_scenario::links::Links;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Links that are open.
#[derive(Default)]
pub(crate) struct Switchboard {
    seats: Vec<Seat>,
    /// Dropped after the links, which may have last words.
    exchange: Arc<Mutex<Exchange>>,
}

/// A link at the loop's desk.
struct Seat {
    kind: &'static LinkKind,
    link: Box<dyn Link>,
    line: Line,
    answers: Vec<Answer>,
}

/// What a link carried, for the report.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkReport {
    /// The kind of link.
    pub link: &'static str,
    /// Where it could be reached.
    pub addresses: Vec<Address>,
    /// What it carried.
    pub tally: Tally,
}

impl LinkReport {
    pub(crate) fn json(&self, wall_time_s: f64) -> Value {
        let tally = &self.tally;
        let mean_us = tally.waited.as_secs_f64() * 1e6 / tally.sent.max(1) as f64;
        json!({
            "link": self.link,
            "channels": self.addresses.len(),
            "peers": tally.peers_ever,
            "refused": tally.refused,
            "closed": tally.closed,
            "received": tally.received,
            "misunderstood": tally.misunderstood,
            "received_bytes": tally.received_bytes,
            "sent": tally.sent,
            "sent_bytes": tally.sent_bytes,
            "sent_mb_per_s": tally.sent_bytes as f64 * 1e-6 / wall_time_s.max(1e-9),
            "dropped": tally.dropped,
            "latency_us": { "mean": mean_us, "max": tally.waited_max.as_secs_f64() * 1e6 },
        })
    }
}

impl Switchboard {
    /// Opens the links of a scenario; returns what samples are to be handed to.
    pub(crate) fn open(
        links: &Links,
        world: &World,
        (ports, rehearsal): (&mut PortBase, bool),
    ) -> Result<(Self, Vec<Box<dyn Sink>>), Unopened> {
        let mut board = Self::default();
        let mut sinks = Vec::new();
        for protocol in PROTOCOLS {
            let name = protocol.kind.name;
            let bindings: Vec<Binding> = links.bindings.iter().filter(|each| each.to.name == name).cloned().collect();
            if bindings.is_empty() && !links.settings.contains_key(name) {
                continue;
            }
            let nothing = Node::default();
            let mut link = (protocol.open)(&mut Opening {
                bindings: &bindings,
                settings: links.settings.get(name).unwrap_or(&nothing),
                world,
                services: crate::REGISTRY.services,
                exchange: &board.exchange,
                ports,
                rehearsal,
            })?;
            sinks.extend(link.sink());
            board.seats.push(Seat { kind: &protocol.kind, link, line: Line::default(), answers: Vec::new() });
        }
        Ok((board, sinks))
    }

    /// True if there is nobody to attend.
    pub(crate) fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    /// Keeps answers for the links that asked; returns the others.
    pub(crate) fn sort(&mut self, answers: Vec<Answer>) -> Vec<Answer> {
        let mut others = Vec::new();
        for answer in answers {
            match (answer.link as usize).checked_sub(1).and_then(|at| self.seats.get_mut(at)) {
                Some(seat) => seat.answers.push(answer),
                None => others.push(answer),
            }
        }
        others
    }

    /// Lets every link attend; what they ask for waits in their lines.
    pub(crate) fn attend(&mut self, world: &World, pace: Pace) {
        for Seat { link, line, answers, .. } in &mut self.seats {
            link.attend(&mut Desk { world, services: crate::REGISTRY.services, pace, answers, line });
            answers.clear();
        }
    }

    /// What links asked for: the number of each, and its line.
    pub(crate) fn lines(&mut self) -> impl Iterator<Item = (u32, &mut Line)> {
        (1..).zip(self.seats.iter_mut().map(|seat| &mut seat.line))
    }

    /// What people should be told.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        let told = |seat: &mut Seat| {
            let name = seat.kind.name;
            seat.link.take_notes().into_iter().map(move |note| format!("link {name}: {note}")).collect::<Vec<_>>()
        };
        self.seats.iter_mut().flat_map(told).collect()
    }

    /// When peers in lock step take their turn next.
    pub(crate) fn next_exchange(&self, now: SimTime) -> SimTime {
        self.seats.iter().map(|seat| seat.link.next_exchange(now)).min().unwrap_or(SimTime::NEVER)
    }

    /// Waits for peers in lock step, at most so long each.
    pub(crate) fn wait(&mut self, now: SimTime, at_most: Duration) -> Turn {
        for seat in &mut self.seats {
            match seat.link.wait(now, at_most) {
                Turn::Done => (),
                other => return other,
            }
        }
        Turn::Done
    }

    /// Binds a channel while it runs; links open when the scenario names them.
    pub(crate) fn bind(&mut self, binding: &Binding, world: &World) -> Result<(), String> {
        let seat = self.seats.iter_mut().find(|seat| seat.kind.name == binding.to.name);
        let name = binding.to.name;
        let closed = || format!("found link {name} closed, expected it in links of the scenario");
        seat.ok_or_else(closed)?.link.bind(binding, world)
    }

    /// Lets go of a channel; false if it was not bound.
    pub(crate) fn unbind(&mut self, path: &str, to: &str) -> bool {
        self.seats.iter_mut().filter(|seat| seat.kind.name == to).any(|seat| seat.link.unbind(path))
    }

    /// Where links can be reached.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        self.seats.iter().flat_map(|seat| seat.link.addresses()).collect()
    }

    /// What links carried.
    pub(crate) fn reports(&self) -> Vec<LinkReport> {
        let report = |seat: &Seat| LinkReport {
            link: seat.kind.name,
            addresses: seat.link.addresses(),
            tally: seat.link.tally(),
        };
        self.seats.iter().map(report).collect()
    }
}
