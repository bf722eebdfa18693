//! Conversations with single peers: they parse what comes and hand it to the loop.
//!
//! On the fleet port both sides send lines of JSON. A peer says `{"subscribe": ["*.pose"]}` and `{"unsubscribe": ["*.pose"]}`
//! with patterns of channels, and hears `{"channel": "r0.pose", "data": {…}}` for every sample from then on; it commands with
//! `{"channel": "r0.motion", "data": {"v": 1.0, "w": 0.0}}`. What is wrong with a line is told with `{"error": "…"}`.

use super::codec::{Json, Request, parse};
use super::hub::{Direction, Hub, Listener, Waiting};
use crate::net::{Peer, Session, Taken, Welcome, lock, next_line};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// Conversations of the service port.
pub(super) fn service(hub: &Arc<Hub>) -> Welcome {
    let hub = Arc::clone(hub);
    Box::new(move |_| Box::new(Service { hub: Arc::clone(&hub), quota: Arc::default() }))
}

/// Conversations of a stream.
pub(super) fn stream(hub: &Arc<Hub>, channel: usize, direction: Direction) -> Welcome {
    let hub = Arc::clone(hub);
    Box::new(move |peer| match direction {
        Direction::In => Box::new(Commands { hub: Arc::clone(&hub), channel }),
        _ => {
            if let Some(channel) = lock(&hub.board).channels.get_mut(&channel) {
                channel.peers.push(Arc::clone(peer));
            }
            Box::new(Samples { hub: Arc::clone(&hub), channel })
        }
    })
}

/// Conversations of the fleet port.
pub(super) fn fleet(hub: &Arc<Hub>) -> Welcome {
    let hub = Arc::clone(hub);
    Box::new(move |peer| {
        lock(&hub.board).fleet.push(Listener { peer: Arc::clone(peer), patterns: Vec::new() });
        Box::new(Fleet { hub: Arc::clone(&hub) })
    })
}

struct Service {
    hub: Arc<Hub>,
    quota: Arc<AtomicUsize>,
}

impl Session for Service {
    fn receive(&mut self, bytes: &[u8], peer: &Arc<Peer>) -> Taken {
        let mut taken = 0;
        while let Some((line, count)) = next_line(&bytes[taken..]) {
            if let Some(request) = Request::parse(line) {
                let understood = !matches!(request, Request::Malformed { .. });
                let waiting = Waiting { peer: Arc::clone(peer), request, quota: Arc::clone(&self.quota) };
                if !self.hub.ask(waiting) {
                    return Taken::Full(taken);
                }
                peer.traffic.count_received(understood);
            }
            taken += count;
        }
        Taken::Bytes(taken)
    }
}

/// The last whole line that is not blank, and how many bytes all whole lines take.
fn last_line(bytes: &[u8]) -> (Option<&[u8]>, usize) {
    let (mut last, mut taken) = (None, 0);
    while let Some((line, count)) = next_line(&bytes[taken..]) {
        taken += count;
        last = Some(line).filter(|line| !line.trim_ascii().is_empty()).or(last);
    }
    (last, taken)
}

struct Commands {
    hub: Arc<Hub>,
    channel: usize,
}

impl Session for Commands {
    fn receive(&mut self, bytes: &[u8], peer: &Arc<Peer>) -> Taken {
        let (last, taken) = last_line(bytes);
        if let Some(line) = last {
            let read = parse(line);
            peer.traffic.count_received(read.is_ok());
            if let Ok(json) = read {
                self.hub.command(self.channel, json, &peer.traffic);
            }
        }
        Taken::Bytes(taken)
    }
}

struct Samples {
    hub: Arc<Hub>,
    channel: usize,
}

impl Session for Samples {
    fn receive(&mut self, bytes: &[u8], _: &Arc<Peer>) -> Taken {
        // whoever speaks to a sensor is not heard
        Taken::Bytes(bytes.len())
    }

    fn closed(&mut self, peer: &Arc<Peer>) {
        if let Some(channel) = lock(&self.hub.board).channels.get_mut(&self.channel) {
            channel.peers.retain(|known| !Arc::ptr_eq(known, peer));
        }
    }
}

struct Fleet {
    hub: Arc<Hub>,
}

impl Fleet {
    fn take(&self, line: &[u8], peer: &Arc<Peer>) -> Result<(), String> {
        let Json::Map(entries) = parse(line)? else { return Err("found no map, expected channel and data".to_owned()) };
        let json = Json::Map(entries);
        for (key, adds) in [("subscribe", true), ("unsubscribe", false)] {
            let Some(patterns) = json.get(key) else { continue };
            let patterns: Option<Vec<&str>> = patterns
                .items()
                .map_or_else(|| patterns.text().map(|one| vec![one]), |all| all.iter().map(Json::text).collect());
            let patterns = patterns.ok_or_else(|| format!("found {key} without patterns, expected a list of texts"))?;
            self.subscribe(peer, &patterns, adds);
        }
        let Some(channel) = json.get("channel") else { return Ok(()) };
        let path = channel.text().unwrap_or_default();
        let number = self.hub.actuator(path).ok_or_else(|| format!("found no actuator {path:?}"))?;
        let data = json.get("data").ok_or("found no data, expected a map")?;
        self.hub.command(number, data.clone(), &peer.traffic);
        Ok(())
    }

    fn subscribe(&self, peer: &Arc<Peer>, patterns: &[&str], adds: bool) {
        /// More patterns than this help nobody.
        const PATTERNS_MAX: usize = 10_000;
        let mut board = lock(&self.hub.board);
        let Some(listener) = board.fleet.iter_mut().find(|listener| Arc::ptr_eq(&listener.peer, peer)) else { return };
        let known = &mut listener.patterns;
        match adds {
            true => {
                for pattern in patterns {
                    if known.len() < PATTERNS_MAX && !known.iter().any(|each| each == pattern) {
                        known.push((*pattern).to_owned());
                    }
                }
            }
            false => known.retain(|each| !patterns.contains(&each.as_str())),
        }
        board.version += 1;
    }
}

impl Session for Fleet {
    fn receive(&mut self, bytes: &[u8], peer: &Arc<Peer>) -> Taken {
        let mut taken = 0;
        while let Some((line, count)) = next_line(&bytes[taken..]) {
            taken += count;
            if line.trim_ascii().is_empty() {
                continue;
            }
            let done = self.take(line, peer);
            peer.traffic.count_received(done.is_ok());
            if let Err(why) = done {
                let mut error = Json::map([("error", Json::Text(why))]).to_text();
                error.push('\n');
                // a flood of mistakes must not become a flood of answers
                peer.sample(error.into_bytes());
            }
        }
        Taken::Bytes(taken)
    }

    fn closed(&mut self, peer: &Arc<Peer>) {
        let mut board = lock(&self.hub.board);
        board.fleet.retain(|listener| !Arc::ptr_eq(&listener.peer, peer));
        board.version += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_lines_the_last_whole_one_counts() {
        assert_eq!(last_line(b"{\"v\": 1}\n{\"v\": 2}\n{\"v"), (Some(&b"{\"v\": 2}"[..]), 18));
        assert_eq!(last_line(b"{\"v\""), (None, 0));
        assert_eq!(last_line(b"a\n\n"), (Some(&b"a"[..]), 3));
    }
}
