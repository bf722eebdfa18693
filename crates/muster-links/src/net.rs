//! Sockets and serial lines of all links, on one thread.
//!
//! A **session** parses what one peer sends and never blocks; a **peer** is the other end: anybody may post messages to it,
//! which wait in a bounded queue until the peer reads. Every peer gets its turn: one that floods is read a bounded number of
//! bytes at a time, one that sends what a session cannot take is not read until it can. A listener keeps a tally.

mod peer;
mod tty;

pub use peer::{Limits, Peer, Traffic};
pub use tty::{Serial, Tty};

use crate::net::peer::Wake;
use mio::net::{TcpListener, TcpStream};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// One peer's conversation.
pub trait Session: Send {
    /// Takes from what the peer sent and has not been taken.
    fn receive(&mut self, bytes: &[u8], peer: &Arc<Peer>) -> Taken;

    /// The peer is gone.
    fn closed(&mut self, peer: &Arc<Peer>) {
        _ = peer;
    }
}

/// What a session took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// So many bytes; the rest is not whole yet.
    Bytes(usize),
    /// So many bytes, and there is no room for more until [`Exchange::resume`].
    Full(usize),
    /// It is over: the peer is closed once what was posted is sent.
    Close,
}

/// The next line of what was sent, without its end, and how many bytes that takes. Lines end with LF, CR or CR LF.
pub fn next_line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
    let both = bytes[end] == b'\r' && bytes.get(end + 1) == Some(&b'\n');
    Some((&bytes[..end], end + 1 + usize::from(both)))
}

/// Makes a session for a peer that connected.
pub type Welcome = Box<dyn FnMut(&Arc<Peer>) -> Box<dyn Session> + Send>;

/// The thread that serves all sockets; it starts with the first of them and ends when this is dropped.
#[derive(Default)]
pub struct Exchange {
    running: Option<Running>,
}

struct Running {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    wake: Arc<Wake>,
    orders: Mutex<Vec<Order>>,
}

enum Order {
    Listen { listener: TcpListener, welcome: Welcome, limits: Limits, traffic: Arc<Traffic> },
    Serve { tty: Tty, welcome: Welcome, limits: Limits, traffic: Arc<Traffic> },
    Leave(u64),
    Stop,
}

/// Something that was opened, to be closed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Door(u64);

impl Exchange {
    fn running(&mut self) -> io::Result<&Running> {
        if self.running.is_none() {
            let poll = Poll::new()?;
            let wake = Arc::new(Wake::new(Waker::new(poll.registry(), WAKE)?));
            let shared = Arc::new(Shared { wake, orders: Mutex::default() });
            let mut server = Server::new(poll, Arc::clone(&shared));
            let thread = std::thread::Builder::new().name("links".to_owned()).spawn(move || server.serve())?;
            self.running = Some(Running { shared, thread: Some(thread) });
        }
        self.running.as_ref().ok_or_else(|| io::Error::other("no thread for links"))
    }

    /// Listens at an address; port 0 takes any that is free. Returns where, and its tally.
    pub fn listen(
        &mut self,
        address: SocketAddr,
        limits: Limits,
        welcome: Welcome,
    ) -> io::Result<(SocketAddr, Arc<Traffic>, Door)> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let (at, listener) = (listener.local_addr()?, TcpListener::from_std(listener));
        let traffic = Arc::new(Traffic::default());
        let door = self.order(|traffic| Order::Listen { listener, welcome, limits, traffic }, &traffic)?;
        Ok((at, traffic, door))
    }

    /// Serves a pseudo-terminal or a serial port: a peer that is always there.
    pub fn serve(&mut self, tty: Tty, limits: Limits, welcome: Welcome) -> io::Result<(Arc<Traffic>, Door)> {
        let traffic = Arc::new(Traffic::default());
        let door = self.order(|traffic| Order::Serve { tty, welcome, limits, traffic }, &traffic)?;
        Ok((traffic, door))
    }

    fn order(&mut self, order: impl FnOnce(Arc<Traffic>) -> Order, traffic: &Arc<Traffic>) -> io::Result<Door> {
        let running = self.running()?;
        let door = running.shared.wake.next_number();
        traffic.door.store(door, Ordering::Relaxed);
        running.shared.send(order(Arc::clone(traffic)));
        Ok(Door(door))
    }

    /// Closes what was opened, and all its peers.
    pub fn leave(&mut self, door: Door) {
        if let Some(running) = &self.running {
            running.shared.send(Order::Leave(door.0));
        }
    }

    /// Lets sessions that were [full](Taken::Full) try again.
    pub fn resume(&self) {
        if let Some(running) = &self.running {
            running.shared.wake.resume();
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some(running) = &mut self.running {
            running.shared.send(Order::Stop);
            if let Some(thread) = running.thread.take() {
                // a panic on that thread was told when it happened
                _ = thread.join();
            }
        }
    }
}

impl Shared {
    fn send(&self, order: Order) {
        lock(&self.orders).push(order);
        self.wake.now();
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const WAKE: Token = Token(0);
/// A peer is read this much before the next one's turn.
const TURN_BYTES: usize = 64 * 1024;
/// When the exchange ends, peers get this long to take what was posted.
const FAREWELL: Duration = Duration::from_millis(500);

/// What a connection runs over.
enum Wire {
    Tcp(TcpStream),
    Tty(Tty),
}

impl Wire {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(bytes),
            Self::Tty(tty) => tty.read(bytes),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Tty(tty) => tty.write(bytes),
        }
    }

    fn register(&mut self, poll: &Poll, token: Token) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Tcp(stream) => poll.registry().register(stream, token, both),
            Self::Tty(tty) => poll.registry().register(&mut SourceFd(&tty.as_raw_fd()), token, both),
        }
    }

    fn deregister(&mut self, poll: &Poll) {
        // closing the descriptor ends its registration too
        _ = match self {
            Self::Tcp(stream) => poll.registry().deregister(stream),
            Self::Tty(tty) => poll.registry().deregister(&mut SourceFd(&tty.as_raw_fd())),
        };
    }
}

/// Somebody who listens for peers.
struct Host {
    listener: TcpListener,
    welcome: Welcome,
    limits: Limits,
    traffic: Arc<Traffic>,
}

/// A connection.
struct Connection {
    wire: Wire,
    peer: Arc<Peer>,
    session: Box<dyn Session>,
    /// What was read and not yet taken.
    read: Vec<u8>,
    /// There may be more to read.
    readable: bool,
    /// The session has not been offered all of what was read.
    fresh: bool,
    /// The session has no room.
    full: bool,
    /// It is closed once everything posted was sent.
    closing: bool,
}

/// What becomes of a connection.
#[derive(PartialEq, Eq)]
enum Fate {
    Stays,
    Ends,
}

struct Server {
    poll: Poll,
    shared: Arc<Shared>,
    hosts: BTreeMap<usize, Host>,
    connections: BTreeMap<usize, Connection>,
    next: usize,
    scratch: Vec<u8>,
}

impl Server {
    fn new(poll: Poll, shared: Arc<Shared>) -> Self {
        let (hosts, connections) = (BTreeMap::new(), BTreeMap::new());
        Self { poll, shared, hosts, connections, next: 1, scratch: vec![0; TURN_BYTES] }
    }

    fn serve(&mut self) {
        let mut events = Events::with_capacity(256);
        let mut busy = false;
        let mut pause = None;
        loop {
            let patience = if busy { Some(Duration::ZERO) } else { pause };
            if let Err(error) = self.poll.poll(&mut events, patience)
                && error.kind() != io::ErrorKind::Interrupted
            {
                return;
            }
            let resumed = self.shared.wake.take();
            let orders = std::mem::take(&mut *lock(&self.shared.orders));
            for order in orders {
                if matches!(order, Order::Stop) {
                    self.farewell();
                    return;
                }
                self.obey(order);
            }
            for event in &events {
                self.note(event.token(), event.is_readable() || event.is_read_closed());
            }
            (busy, pause) = self.turn(resumed);
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Listen { mut listener, welcome, limits, traffic } => {
                let token = self.token();
                if self.poll.registry().register(&mut listener, token, Interest::READABLE).is_ok() {
                    self.hosts.insert(token.0, Host { listener, welcome, limits, traffic });
                    self.welcome(token.0);
                }
            }
            Order::Serve { tty, mut welcome, limits, traffic } => {
                self.admit(Wire::Tty(tty), &mut welcome, limits, &traffic);
            }
            Order::Leave(door) => {
                self.hosts.retain(|_, host| host.traffic.door.load(Ordering::Relaxed) != door);
                let of_it = |each: &Connection| each.peer.traffic.door.load(Ordering::Relaxed) == door;
                let gone: Vec<usize> =
                    self.connections.iter().filter(|(_, each)| of_it(each)).map(|(&token, _)| token).collect();
                gone.into_iter().for_each(|token| self.end(token));
            }
            Order::Stop => (),
        }
    }

    fn token(&mut self) -> Token {
        self.next += 1;
        Token(self.next)
    }

    /// Something happened to a listener or a connection.
    fn note(&mut self, Token(token): Token, readable: bool) {
        if self.hosts.contains_key(&token) {
            self.welcome(token);
        } else if let Some(connection) = self.connections.get_mut(&token) {
            connection.readable |= readable;
        }
    }

    /// Takes all who wait at a listener.
    fn welcome(&mut self, token: usize) {
        let Some(mut host) = self.hosts.remove(&token) else { return };
        while let Ok((stream, _)) = host.listener.accept() {
            if host.traffic.peers.load(Ordering::Relaxed) >= host.limits.peers as u64 {
                host.traffic.refused.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            // without it small messages would wait for each other; a socket that refuses works all the same
            _ = stream.set_nodelay(true);
            let (limits, traffic) = (host.limits, Arc::clone(&host.traffic));
            self.admit(Wire::Tcp(stream), &mut host.welcome, limits, &traffic);
        }
        self.hosts.insert(token, host);
    }

    fn admit(&mut self, mut wire: Wire, welcome: &mut Welcome, limits: Limits, traffic: &Arc<Traffic>) {
        let token = self.token();
        if wire.register(&self.poll, token).is_err() {
            traffic.refused.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let peer = Arc::new(Peer::new(Arc::clone(&self.shared.wake), limits, Arc::clone(traffic)));
        traffic.peers.fetch_add(1, Ordering::Relaxed);
        traffic.peers_ever.fetch_add(1, Ordering::Relaxed);
        let session = welcome(&peer);
        let connection = Connection {
            wire,
            peer,
            session,
            read: Vec::new(),
            readable: true,
            fresh: false,
            full: false,
            closing: false,
        };
        self.connections.insert(token.0, connection);
    }

    fn end(&mut self, token: usize) {
        let Some(mut connection) = self.connections.remove(&token) else { return };
        connection.wire.deregister(&self.poll);
        connection.peer.close();
        connection.peer.traffic.peers.fetch_sub(1, Ordering::Relaxed);
        connection.session.closed(&connection.peer);
    }

    /// A turn for everybody: reads and writes a bounded amount. Tells whether somebody has more to read, and how long to
    /// wait for what may not be sent yet.
    fn turn(&mut self, resumed: bool) -> (bool, Option<Duration>) {
        let (mut busy, mut pause, mut gone) = (false, None::<Duration>, Vec::new());
        let now = Instant::now();
        for (&token, connection) in &mut self.connections {
            if resumed && connection.full {
                (connection.full, connection.fresh) = (false, true);
            }
            let fate = connection.turn(&mut self.scratch, now);
            if fate == Fate::Ends {
                gone.push(token);
                continue;
            }
            busy |= connection.readable && !connection.full;
            if let Some(wait) = connection.peer.next_due(now) {
                pause = Some(pause.map_or(wait, |pause| pause.min(wait)));
            }
        }
        gone.into_iter().for_each(|token| self.end(token));
        (busy, pause)
    }

    /// The last words to everybody.
    fn farewell(&mut self) {
        let until = Instant::now() + FAREWELL;
        let mut pending = true;
        while pending && Instant::now() < until {
            pending = false;
            for connection in self.connections.values_mut() {
                let sent = connection.write(Instant::now());
                pending |= sent.is_ok() && connection.peer.has_mail();
            }
            if pending {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let all: Vec<usize> = self.connections.keys().copied().collect();
        all.into_iter().for_each(|token| self.end(token));
    }
}

impl Connection {
    fn turn(&mut self, scratch: &mut [u8], now: Instant) -> Fate {
        if self.peer.overflowed() {
            self.peer.traffic.closed.fetch_add(1, Ordering::Relaxed);
            return Fate::Ends;
        }
        if !self.closing && !self.full && (self.readable || self.fresh) && self.hear(scratch) == Fate::Ends {
            return Fate::Ends;
        }
        match self.write(now) {
            Err(_) => Fate::Ends,
            Ok(()) if self.closing && !self.peer.has_mail() => Fate::Ends,
            Ok(()) => Fate::Stays,
        }
    }

    /// Reads a bounded amount and lets the session take it.
    fn hear(&mut self, scratch: &mut [u8]) -> Fate {
        if self.readable {
            match self.wire.read(scratch) {
                Ok(0) => {
                    self.readable = false;
                    self.closing = true;
                }
                Ok(count) => {
                    self.peer.traffic.received_bytes.fetch_add(count as u64, Ordering::Relaxed);
                    self.read.extend_from_slice(&scratch[..count]);
                    self.fresh = true;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(_) => return Fate::Ends,
            }
        }
        if !std::mem::take(&mut self.fresh) {
            return Fate::Stays;
        }
        let taken = match self.session.receive(&self.read, &self.peer) {
            Taken::Bytes(taken) => taken,
            Taken::Full(taken) => {
                self.full = true;
                taken
            }
            Taken::Close => {
                self.closing = true;
                self.read.len()
            }
        };
        self.read.drain(..taken.min(self.read.len()));
        if self.read.len() > self.peer.limits.message_bytes && !self.full {
            self.peer.traffic.closed.fetch_add(1, Ordering::Relaxed);
            return Fate::Ends;
        }
        Fate::Stays
    }

    /// Writes what may be written now.
    fn write(&mut self, now: Instant) -> io::Result<()> {
        let Self { wire, peer, .. } = self;
        peer.write_with(now, |bytes| wire.write(bytes))
    }
}

#[cfg(test)]
mod tests;
