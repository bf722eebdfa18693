//! The board: samples that others may read. Entries change only between windows, so while robots live any number of
//! drivers read them through shared references, without copies and without locks.

use crate::time::SimTime;

/// The place of one sensor's latest visible sample.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entry {
    /// The robot, by roster number, and the sensor's number on it.
    pub(crate) owner: (u32, u32),
    /// False when the robot is gone.
    pub(crate) alive: bool,
    pub(crate) stamp: Option<SimTime>,
    pub(crate) index: u64,
    pub(crate) values: Vec<f64>,
    /// Memory of the modifiers.
    pub(crate) memory: Vec<f64>,
    /// A fresh sample is measured here and swapped in when it is not lost.
    pub(crate) fresh: Vec<f64>,
    /// Key of the sensor's random streams.
    pub(crate) stream: u64,
    /// Position of the owner in the snapshot of its realm, and which schedule it follows; derived.
    pub(crate) seen: u32,
    pub(crate) schedule: u32,
    /// Whether it is measured at all: samples on demand are, while somebody listens or subscribes; derived.
    pub(crate) wanted: bool,
    /// Since when the sample is visible.
    pub(crate) visible_at: SimTime,
    /// How many samples were made, lost ones included.
    pub(crate) samples: u64,
    /// How the sensor panicked, until that is reported.
    pub(crate) panic: Option<String>,
}

impl Entry {
    /// True if the sample became visible at `time`.
    pub(crate) fn fresh_at(&self, time: SimTime) -> bool {
        self.visible_at == time
    }
}

/// A sample on the board.
#[derive(Debug, Clone, Copy)]
pub struct Posted<'a> {
    /// When it was measured; `None` if there is none yet.
    pub stamp: Option<SimTime>,
    /// Its numbers.
    pub values: &'a [f64],
}

/// All entries. A slot is stable while its robot lives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Board {
    pub(crate) entries: Vec<Entry>,
    pub(crate) free: Vec<u32>,
}

/// The slot of a subscription whose robot does not exist (any more).
pub(crate) const NOWHERE: u32 = u32::MAX;

impl Board {
    /// What stands in a slot; nothing for a robot that does not exist.
    #[inline(always)]
    pub(crate) fn sample(&self, slot: u32) -> Posted<'_> {
        match self.entries.get(slot as usize) {
            Some(entry) if entry.alive => Posted { stamp: entry.stamp, values: &entry.values },
            _ => Posted { stamp: None, values: &[] },
        }
    }

    pub(crate) fn add(&mut self, entry: Entry) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.entries[slot as usize] = entry;
                slot
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        }
    }

    pub(crate) fn remove(&mut self, slot: u32) {
        self.entries[slot as usize] = Entry::default();
        self.free.push(slot);
    }
}
