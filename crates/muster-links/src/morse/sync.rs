//! Lock step: while somebody is connected, each of his messages lets one step of simulated time pass. Several who are
//! connected must all have sent one. Lines count each by itself; what comes without an end of line counts as one message, as in
//! MORSE, whatever it is.

use super::{LockStepText, Policy};
use crate::link::Turn;
use crate::net::{Peer, Session, Taken, Welcome, lock};
use muster_core::time::{Rate, SimTime};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Who is connected, and how many messages of each wait.
#[derive(Default)]
struct Gate {
    peers: Mutex<Vec<(Arc<Peer>, u64)>>,
    changed: Condvar,
}

/// Messages of a peer that may wait: a flood is no more than that.
const WAITING_MAX: u64 = 1_000_000;

struct Trigger {
    gate: Arc<Gate>,
}

impl Session for Trigger {
    fn receive(&mut self, bytes: &[u8], peer: &Arc<Peer>) -> Taken {
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        // what comes after the last end of line is the beginning of a line if there were lines, else a message
        let (count, taken) = match (lines, bytes.iter().rposition(|byte| *byte == b'\n')) {
            (1.., Some(last)) => (lines, last + 1),
            _ => (u64::from(!bytes.is_empty()), bytes.len()),
        };
        if count > 0 {
            peer.traffic.count_received(true);
            let mut peers = lock(&self.gate.peers);
            if let Some((_, waiting)) = peers.iter_mut().find(|(known, _)| Arc::ptr_eq(known, peer)) {
                *waiting = (*waiting + count).min(WAITING_MAX);
            }
            self.gate.changed.notify_all();
        }
        Taken::Bytes(taken)
    }

    fn closed(&mut self, peer: &Arc<Peer>) {
        lock(&self.gate.peers).retain(|(known, _)| !Arc::ptr_eq(known, peer));
        self.gate.changed.notify_all();
    }
}

/// Steps that wait for peers.
pub(super) struct LockStep {
    gate: Arc<Gate>,
    rate: Rate,
    timeout: Option<Duration>,
    policy: Policy,
    /// Until when the simulation may run; nothing while nobody is connected.
    granted: Option<SimTime>,
    /// Since when it has been waiting.
    since: Option<Instant>,
}

impl LockStep {
    pub(super) fn new(text: &LockStepText) -> Self {
        Self {
            gate: Arc::default(),
            rate: Rate::from_hz(text.rate_hz).unwrap_or(Rate::MAX),
            timeout: text.timeout_s.map(Duration::from_secs_f64),
            policy: text.on_timeout,
            granted: None,
            since: None,
        }
    }

    pub(super) fn welcome(&self) -> Welcome {
        let gate = Arc::clone(&self.gate);
        Box::new(move |peer| {
            lock(&gate.peers).push((Arc::clone(peer), 0));
            Box::new(Trigger { gate: Arc::clone(&gate) })
        })
    }

    /// Between two windows: whether somebody came or all are gone. Time stands still at a step, not between two.
    pub(super) fn look(&mut self, now: SimTime) {
        let anybody = !lock(&self.gate.peers).is_empty();
        match (anybody, self.granted) {
            (true, None) => self.granted = Some(self.rate.time_of(self.rate.first_at_or_after(now))),
            (false, _) => {
                self.granted = None;
                self.since = None;
            }
            _ => (),
        }
    }

    /// When peers are waited for.
    pub(super) fn next(&self, now: SimTime) -> SimTime {
        self.granted.map_or(SimTime::NEVER, |granted| granted.max(now))
    }

    /// Waits for every peer, and takes a message of each.
    pub(super) fn wait(&mut self, now: SimTime, at_most: Duration) -> Turn {
        if self.granted.is_none_or(|granted| granted > now) {
            return Turn::Done;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        let peers = lock(&self.gate.peers);
        let silent = |peers: &mut Vec<(Arc<Peer>, u64)>| peers.iter().any(|(_, waiting)| *waiting == 0);
        let waited = self.gate.changed.wait_timeout_while(peers, at_most, silent);
        let (mut peers, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if silent(&mut peers) {
            let late = self.timeout.is_some_and(|timeout| since.elapsed() >= timeout);
            match self.policy {
                _ if !late => return Turn::Waiting,
                Policy::Wait => return Turn::Waiting,
                Policy::Stop => {
                    let waited_s = since.elapsed().as_secs_f64();
                    return Turn::Stop(format!("a peer in lock step was silent for {waited_s:.1} s at {now}"));
                }
                Policy::Continue => (),
            }
        }
        peers.iter_mut().for_each(|(_, waiting)| *waiting = waiting.saturating_sub(1));
        let anybody = !peers.is_empty();
        drop(peers);
        self.since = None;
        let next = self.rate.time_of(self.rate.first_at_or_after(SimTime::from_ns(now.ns() + 1)));
        self.granted = anybody.then_some(next);
        Turn::Done
    }
}
