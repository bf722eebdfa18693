//! Samples on their way out: each is written once, however many hear it.

use super::codec::{separate, write_float, write_key};
use super::hub::{Board, Channel, Hub, Sort};
use crate::delivery::{Batch, Directory, Sink};
use crate::net::{Peer, lock};
use muster_core::time::SimTime;
use muster_core::world::HeardSample;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) struct SocketSink {
    hub: Arc<Hub>,
    /// Channels by robot and sensor, as of this version of the board and this directory.
    routes: BTreeMap<(u32, u32), Vec<Route>>,
    known: (u64, Arc<Directory>),
    /// What each compound sensor last said: the body of each member, without a time.
    compounds: BTreeMap<usize, Compound>,
    body: Vec<u8>,
    line: Vec<u8>,
}

/// Where a sample goes.
#[derive(Clone)]
struct Route {
    channel: usize,
    /// Its number among the members of a compound.
    member: Option<usize>,
    /// Whoever hears it on the fleet port.
    fleet: Vec<usize>,
}

#[derive(Default)]
struct Compound {
    members: Vec<(String, Vec<u8>)>,
    stamp: SimTime,
    news: bool,
    fleet: Vec<usize>,
}

impl SocketSink {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            routes: BTreeMap::new(),
            known: (u64::MAX, Arc::default()),
            compounds: BTreeMap::new(),
            body: Vec::new(),
            line: Vec::new(),
        }
    }

    /// Finds out again which sample goes where.
    fn plan(&mut self, board: &Board, directory: &Arc<Directory>) {
        self.known = (board.version, Arc::clone(directory));
        self.routes.clear();
        let numbers: BTreeMap<&str, u32> =
            directory.robots.iter().map(|(number, names)| (names.name.as_str(), *number)).collect();
        for (&number, channel) in &board.channels {
            let Some(&robot) = numbers.get(channel.robot.as_str()) else { continue };
            let Some(names) = directory.robots.get(&robot) else { continue };
            let hears = |(at, listener): (usize, &super::hub::Listener)| listener.hears(&channel.path).then_some(at);
            let fleet: Vec<usize> = board.fleet.iter().enumerate().filter_map(hears).collect();
            let mut lead = |sensor: &str, member: Option<usize>| {
                let Some(at) = names.sensors.iter().position(|(name, _)| name == sensor) else { return };
                let route = Route { channel: number, member, fleet: fleet.clone() };
                self.routes.entry((robot, at as u32)).or_default().push(route);
            };
            match &channel.sort {
                Sort::Sensor { name, .. } => lead(name, None),
                Sort::Compound { sensors } => {
                    sensors.iter().enumerate().for_each(|(at, (name, _))| lead(name, Some(at)));
                    let compound = self.compounds.entry(number).or_default();
                    compound.members.resize_with(sensors.len(), Default::default);
                    for ((path, _), (name, _)) in compound.members.iter_mut().zip(sensors) {
                        *path = format!("{}.{name}", channel.robot);
                    }
                    compound.fleet = fleet;
                }
                Sort::Actuator { .. } | Sort::Robot => (),
            }
        }
    }

    fn say(&mut self, sample: &HeardSample<'_>, board: &Board, fleet: &mut [Vec<u8>]) {
        let Some(routes) = self.routes.get(&(sample.robot, sample.sensor)) else { return };
        for route in routes {
            let Some(channel) = board.channels.get(&route.channel).filter(|channel| channel.active) else { continue };
            match (&channel.sort, route.member) {
                (Sort::Sensor { body, .. }, _) => {
                    if channel.peers.is_empty() && route.fleet.is_empty() {
                        continue;
                    }
                    self.body.clear();
                    body.write(sample.stamp, sample.values, &board.names, &mut self.body);
                    deliver((channel, &route.fleet), &self.body, &mut self.line, fleet);
                }
                (Sort::Compound { sensors }, Some(member)) => {
                    let Some(compound) = self.compounds.get_mut(&route.channel) else { continue };
                    let (Some((_, body)), Some((_, text))) = (sensors.get(member), compound.members.get_mut(member))
                    else {
                        continue;
                    };
                    text.clear();
                    body.write(sample.stamp, sample.values, &board.names, text);
                    compound.stamp = compound.stamp.max(sample.stamp);
                    compound.news = true;
                }
                _ => (),
            }
        }
    }

    /// Compound sensors of which a member said something say all of it, once they have heard of every member.
    fn say_compounds(&mut self, board: &Board, fleet: &mut [Vec<u8>]) {
        for (number, compound) in &mut self.compounds {
            let news = std::mem::take(&mut compound.news);
            let complete = compound.members.iter().all(|(_, text)| !text.is_empty());
            let Some(channel) = board.channels.get(number).filter(|channel| channel.active) else { continue };
            if !news || !complete || (channel.peers.is_empty() && compound.fleet.is_empty()) {
                continue;
            }
            self.body.clear();
            self.body.push(b'{');
            write_key("timestamp", &mut self.body);
            write_float(compound.stamp.s(), &mut self.body);
            for (path, text) in &compound.members {
                separate(1, &mut self.body);
                write_key(path, &mut self.body);
                self.body.extend_from_slice(text);
            }
            self.body.push(b'}');
            deliver((channel, &compound.fleet), &self.body, &mut self.line, fleet);
        }
    }
}

/// Hands the body of a sample to those who hear its channel: at once by its stream, and gathered on the fleet port.
fn deliver((channel, listeners): (&Channel, &[usize]), body: &[u8], line: &mut Vec<u8>, fleet: &mut [Vec<u8>]) {
    if !channel.peers.is_empty() {
        line.clear();
        line.extend_from_slice(body);
        line.push(b'\n');
        let shared: Arc<[u8]> = Arc::from(line.as_slice());
        channel.peers.iter().for_each(|peer| peer.sample(Arc::clone(&shared)));
    }
    for at in listeners {
        let Some(text) = fleet.get_mut(*at) else { continue };
        text.push(b'{');
        write_key("channel", text);
        super::codec::write_text(&channel.path, text);
        separate(1, text);
        write_key("data", text);
        text.extend_from_slice(body);
        text.extend_from_slice(b"}\n");
    }
}

impl Sink for SocketSink {
    fn sensors(&self) -> Vec<String> {
        self.hub.patterns()
    }

    fn take(&mut self, batch: &Batch) {
        let hub = Arc::clone(&self.hub);
        let board = lock(&hub.board);
        if self.known.0 != board.version || !Arc::ptr_eq(&self.known.1, &batch.directory) {
            self.plan(&board, &batch.directory);
        }
        let mut fleet: Vec<Vec<u8>> = vec![Vec::new(); board.fleet.len()];
        for sample in batch.samples() {
            self.say(&sample, &board, &mut fleet);
        }
        self.say_compounds(&board, &mut fleet);
        let gathered: Vec<(Arc<Peer>, Vec<u8>)> =
            board.fleet.iter().map(|listener| Arc::clone(&listener.peer)).zip(fleet).collect();
        drop(board);
        for (peer, text) in gathered.into_iter().filter(|(_, text)| !text.is_empty()) {
            peer.sample(text);
        }
    }
}
