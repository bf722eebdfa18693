//! The other end of a connection, and what it may cost.

use crate::link::Tally;
use crate::net::lock;
use mio::Waker;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What peers may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Peers at once.
    pub peers: usize,
    /// The longest message from a peer; one that sends more without an end is closed.
    pub message_bytes: usize,
    /// What may wait to be read by a peer: beyond this the oldest samples are dropped, and a peer that leaves so much of its
    /// answers is closed.
    pub outbox_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { peers: 256, message_bytes: 1 << 20, outbox_bytes: 8 << 20 }
    }
}

/// What happened at a listener; counted by the thread of links.
#[derive(Debug, Default)]
pub struct Traffic {
    pub(super) door: AtomicU64,
    pub(super) peers: AtomicU64,
    pub(super) peers_ever: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) closed: AtomicU64,
    pub(super) received_bytes: AtomicU64,
    pub(super) sent: AtomicU64,
    pub(super) sent_bytes: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) waited_ns: AtomicU64,
    pub(super) waited_max_ns: AtomicU64,
    /// Messages a session understood, and those it did not.
    received: AtomicU64,
    misunderstood: AtomicU64,
}

impl Traffic {
    /// True while somebody is connected.
    pub fn anybody(&self) -> bool {
        self.peers.load(Ordering::Relaxed) > 0
    }

    /// A session took a message.
    pub fn count_received(&self, understood: bool) {
        self.received.fetch_add(1, Ordering::Relaxed);
        self.misunderstood.fetch_add(u64::from(!understood), Ordering::Relaxed);
    }

    /// All of it so far.
    pub fn tally(&self) -> Tally {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Tally {
            peers: read(&self.peers),
            peers_ever: read(&self.peers_ever),
            refused: read(&self.refused),
            closed: read(&self.closed),
            received: read(&self.received),
            misunderstood: read(&self.misunderstood),
            received_bytes: read(&self.received_bytes),
            sent: read(&self.sent),
            sent_bytes: read(&self.sent_bytes),
            dropped: read(&self.dropped),
            waited: Duration::from_nanos(read(&self.waited_ns)),
            waited_max: Duration::from_nanos(read(&self.waited_max_ns)),
        }
    }
}

/// Wakes the thread of links, once however many ask.
pub(super) struct Wake {
    waker: Waker,
    asked: AtomicBool,
    resumed: AtomicBool,
    numbers: AtomicU64,
}

impl Wake {
    pub(super) fn new(waker: Waker) -> Self {
        let (asked, resumed) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { waker, asked, resumed, numbers: AtomicU64::new(1) }
    }

    pub(super) fn now(&self) {
        if !self.asked.swap(true, Ordering::AcqRel) {
            // it fails only when the thread is gone, and then nobody is left to wake
            _ = self.waker.wake();
        }
    }

    pub(super) fn resume(&self) {
        self.resumed.store(true, Ordering::Release);
        self.now();
    }

    /// Called by the thread before it looks what there is to do; true if sessions may try again.
    pub(super) fn take(&self) -> bool {
        self.asked.store(false, Ordering::Release);
        self.resumed.swap(false, Ordering::AcqRel)
    }

    pub(super) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }
}

/// A message that waits.
struct Mail {
    bytes: Arc<[u8]>,
    /// It may be dropped.
    sample: bool,
    /// It is not written sooner than this after the message before it.
    gap: Duration,
    posted: Instant,
}

#[derive(Default)]
struct Outbox {
    mail: VecDeque<Mail>,
    /// Bytes in the mail, and those of the first message that were written.
    bytes: usize,
    written: usize,
    last_sent: Option<Instant>,
    closed: bool,
    overflowed: bool,
}

/// The other end of a connection. Messages are written one by one, never two in one piece.
pub struct Peer {
    wake: Arc<Wake>,
    outbox: Mutex<Outbox>,
    pub(super) limits: Limits,
    /// The tally of its listener.
    pub traffic: Arc<Traffic>,
}

impl Peer {
    pub(super) fn new(wake: Arc<Wake>, limits: Limits, traffic: Arc<Traffic>) -> Self {
        Self { wake, outbox: Mutex::default(), limits, traffic }
    }

    /// Posts a message that must arrive: an answer.
    pub fn answer(&self, bytes: impl Into<Arc<[u8]>>) {
        self.post(bytes.into(), false, Duration::ZERO);
    }

    /// Posts an answer that is written no sooner than so long after the message before it.
    pub fn answer_after(&self, gap: Duration, bytes: impl Into<Arc<[u8]>>) {
        self.post(bytes.into(), false, gap);
    }

    /// Posts a message that is dropped if the peer is too slow: a sample.
    pub fn sample(&self, bytes: impl Into<Arc<[u8]>>) {
        self.post(bytes.into(), true, Duration::ZERO);
    }

    /// Posts a sample that is written no sooner than so long after the message before it.
    pub fn sample_after(&self, gap: Duration, bytes: impl Into<Arc<[u8]>>) {
        self.post(bytes.into(), true, gap);
    }

    fn post(&self, bytes: Arc<[u8]>, sample: bool, gap: Duration) {
        let mut outbox = lock(&self.outbox);
        if outbox.closed {
            return;
        }
        outbox.bytes += bytes.len();
        outbox.mail.push_back(Mail { bytes, sample, gap, posted: Instant::now() });
        let dropped = outbox.make_room(self.limits.outbox_bytes);
        drop(outbox);
        if dropped > 0 {
            self.traffic.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
        self.wake.now();
    }

    /// False once the connection is closed.
    pub fn is_open(&self) -> bool {
        !lock(&self.outbox).closed
    }

    /// True while something waits to be read by it.
    pub fn has_mail(&self) -> bool {
        !lock(&self.outbox).mail.is_empty()
    }

    /// How much waits to be read by it.
    pub fn waiting_bytes(&self) -> usize {
        lock(&self.outbox).bytes
    }

    pub(super) fn overflowed(&self) -> bool {
        lock(&self.outbox).overflowed
    }

    pub(super) fn close(&self) {
        let mut outbox = lock(&self.outbox);
        outbox.closed = true;
        outbox.mail.clear();
        outbox.bytes = 0;
    }

    /// How long until the next message may be written, if it must wait.
    pub(super) fn next_due(&self, now: Instant) -> Option<Duration> {
        lock(&self.outbox).due_in(now).filter(|wait| !wait.is_zero())
    }

    /// Writes what may be written now, each message on its own.
    pub(super) fn write_with(&self, now: Instant, mut write: impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<()> {
        let mut outbox = lock(&self.outbox);
        while outbox.due_in(now).is_some_and(|wait| wait.is_zero()) {
            let written = outbox.written;
            let Some(first) = outbox.mail.front() else { break };
            match write(&first.bytes[written..]) {
                Ok(count) if written + count < first.bytes.len() && count > 0 => outbox.written += count,
                Ok(0) if !first.bytes.is_empty() => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => self.count(&outbox.take_first()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn count(&self, sent: &Option<Mail>) {
        let Some(mail) = sent else { return };
        let waited = u64::try_from(mail.posted.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.traffic.sent.fetch_add(1, Ordering::Relaxed);
        self.traffic.sent_bytes.fetch_add(mail.bytes.len() as u64, Ordering::Relaxed);
        self.traffic.waited_ns.fetch_add(waited, Ordering::Relaxed);
        self.traffic.waited_max_ns.fetch_max(waited, Ordering::Relaxed);
    }
}

impl Outbox {
    /// Drops the oldest samples until the rest is within a limit; returns how many.
    fn make_room(&mut self, most_bytes: usize) -> u64 {
        let mut dropped = 0;
        // the first may be half written, the last has just come
        let mut at = usize::from(self.written > 0);
        while self.bytes > most_bytes && at + 1 < self.mail.len() {
            if self.mail[at].sample {
                self.bytes -= self.mail[at].bytes.len();
                self.mail.remove(at);
                dropped += 1;
            } else {
                at += 1;
            }
        }
        self.overflowed |= self.bytes > most_bytes && self.mail.len() > 1;
        dropped
    }

    /// How long until the first message may be written; none without a message.
    fn due_in(&self, now: Instant) -> Option<Duration> {
        let first = self.mail.front()?;
        let due = self.last_sent.filter(|_| self.written == 0).map_or(now, |sent| sent + first.gap);
        Some(due.saturating_duration_since(now))
    }

    fn take_first(&mut self) -> Option<Mail> {
        let mail = self.mail.pop_front()?;
        self.bytes -= mail.bytes.len();
        self.written = 0;
        self.last_sent = Some(Instant::now());
        Some(mail)
    }
}
