//! The roster: who exists, by name and by number, realm by realm. Robots of different realms never meet, and each realm
//! counts, names and orders its robots as if it were alone: what happens in one is, bit by bit, what would happen in a
//! world of its own.

use crate::board::NOWHERE;
use crate::component::Pose;
use crate::model::{Cohort, Placement};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A robot in the roster.
#[derive(Clone)]
pub struct Robot {
    /// Its name, unique in its realm.
    pub name: String,
    /// The realm it lives in.
    pub realm: u32,
    /// Its identity in its realm: name and spawn number.
    pub key: u64,
    /// What it is made of.
    pub cohort: Arc<Cohort>,
    /// Where it started.
    pub home: Pose,
    /// Properties added at run time.
    pub extra: BTreeMap<String, Vec<f64>>,
    pub(crate) chunk: u32,
    pub(crate) lane: u8,
    /// Board slot of each sensor; [`NOWHERE`] for local sensors nobody else reads.
    pub(crate) slots: Vec<u32>,
}

impl Robot {
    pub(crate) fn new(placement: &Placement, key: u64, chunk: u32) -> Self {
        Self {
            name: placement.name.clone(),
            realm: placement.realm,
            key,
            cohort: Arc::clone(&placement.cohort),
            home: placement.pose,
            extra: BTreeMap::new(),
            chunk,
            lane: 0,
            slots: Vec::new(),
        }
    }

    /// Its name as a world of several realms knows it: `name@realm`; in realm 0 the name alone.
    pub fn address(&self) -> String {
        match self.realm {
            0 => self.name.clone(),
            realm => format!("{}@{realm}", self.name),
        }
    }

    /// The board slots it has.
    pub(crate) fn posted(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().copied().filter(|&slot| slot != NOWHERE)
    }
}

/// The robots that can meet each other.
#[derive(Clone, Default)]
pub(crate) struct Members {
    /// Seed of their random streams.
    pub(crate) seed: u64,
    /// Living robots in the order of their coming.
    pub(crate) order: Vec<u32>,
    /// How many robots were spawned after the start.
    pub(crate) spawned: u64,
    /// Position of the first of them among the robots of all realms; derived.
    pub(crate) first: u32,
    by_name: BTreeMap<String, u32>,
    /// How many numbers were given out, and which of them are free again; counted as if there were no other realm.
    numbers: u32,
    free: Vec<u32>,
}

impl Members {
    /// The number of the robot of this name.
    pub(crate) fn number_of(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// The names of all robots.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Positions among the robots of all realms.
    pub(crate) fn range(&self) -> Range<usize> {
        self.first as usize..self.first as usize + self.order.len()
    }
}

/// Who exists.
#[derive(Clone)]
pub(crate) struct Roster {
    pub(crate) robots: Vec<Option<Robot>>,
    pub(crate) realms: Vec<Members>,
}

impl Roster {
    pub(crate) fn new(seeds: &[u64]) -> Self {
        let realm = |&seed: &u64| Members { seed, ..Members::default() };
        Self { robots: Vec::new(), realms: seeds.iter().map(realm).collect() }
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Robot> {
        self.robots.get(number as usize)?.as_ref()
    }

    /// How many robots live.
    pub(crate) fn len(&self) -> usize {
        self.realms.iter().map(|realm| realm.order.len()).sum()
    }

    /// The numbers of all living robots, realm by realm.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.realms.iter().flat_map(|realm| realm.order.iter().copied())
    }

    /// All living robots, realm by realm.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Robot)> {
        self.numbers().filter_map(|number| Some((number, self.get(number)?)))
    }

    /// The realm and the name that an address means, see [`Robot::address`].
    pub(crate) fn locate<'a>(&self, address: &'a str) -> (u32, &'a str) {
        let split = || {
            let (name, realm) = address.rsplit_once('@')?;
            let realm = realm.parse().ok().filter(|&realm| (realm as usize) < self.realms.len())?;
            Some((realm, name))
        };
        match self.realms.as_slice() {
            // a name may look like an address
            [] | [_] => (0, address),
            [first, ..] if first.by_name.contains_key(address) => (0, address),
            _ => split().unwrap_or((0, address)),
        }
    }

    pub(crate) fn find(&self, address: &str) -> Option<(u32, &Robot)> {
        let (realm, name) = self.locate(address);
        self.find_in(realm, name)
    }

    pub(crate) fn find_in(&self, realm: u32, name: &str) -> Option<(u32, &Robot)> {
        let number = self.realms.get(realm as usize)?.number_of(name)?;
        Some((number, self.get(number)?))
    }

    /// The robots a robot can meet.
    pub(crate) fn realm_of(&self, robot: &Robot) -> &Members {
        &self.realms[robot.realm as usize]
    }

    /// What a robot's number would be if its realm were alone.
    pub(crate) fn number_in_realm(&self, number: u32) -> u32 {
        number / self.realms.len() as u32
    }

    pub(crate) fn add(&mut self, robot: Robot) -> u32 {
        let (count, at) = (self.realms.len() as u32, robot.realm);
        let realm = &mut self.realms[at as usize];
        let own = realm.free.pop().unwrap_or_else(|| {
            realm.numbers += 1;
            realm.numbers - 1
        });
        // numbers of realms alternate, so that in each they are ordered as if it were alone
        let number = own * count + at;
        realm.by_name.insert(robot.name.clone(), number);
        realm.order.push(number);
        let room = self.robots.len().max(number as usize + 1);
        self.robots.resize_with(room, || None);
        self.robots[number as usize] = Some(robot);
        number
    }

    pub(crate) fn remove(&mut self, number: u32) -> Option<Robot> {
        let robot = self.robots.get_mut(number as usize)?.take()?;
        let own = self.number_in_realm(number);
        let realm = &mut self.realms[robot.realm as usize];
        realm.by_name.remove(&robot.name);
        realm.order.retain(|&other| other != number);
        realm.free.push(own);
        Some(robot)
    }

    /// Notes where the robots of each realm begin among all.
    pub(crate) fn note_ranges(&mut self) {
        let mut first = 0;
        for realm in &mut self.realms {
            realm.first = first;
            first += realm.order.len() as u32;
        }
    }
}
