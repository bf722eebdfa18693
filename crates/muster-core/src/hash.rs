//! The state hash: 128 bits over everything that must be equal when two runs are equal, robot by robot in the order of
//! their identities. Covers columns (motion, drivers, sensors, modifiers, queues), contacts, visible samples on the board,
//! properties added at run time, what events remember, and time. Not covered: results in flight, samples made on demand
//! (which exist only while somebody listens), storage slots, wall clock, counters of drops.

use crate::board::NOWHERE;
use crate::contact::Other;
use crate::roster::Robot;
use crate::state::State;
use xxhash_rust::xxh3::Xxh3;

/// The hash of some bytes, such as those of a file.
pub fn digest(bytes: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128(bytes)
}

impl State {
    /// The hash of the whole world: that of its realm, or the combination of those of its realms.
    pub fn hash(&self) -> u128 {
        let realms = 0..self.roster.realms.len() as u32;
        if realms.len() == 1 {
            return self.hash_of_realm(0);
        }
        let mut hasher = Xxh3::new();
        realms.for_each(|realm| hasher.update(&self.hash_of_realm(realm).to_le_bytes()));
        hasher.digest128()
    }

    /// The hash of one realm: the combination of its robots' hashes and the time. That of a world with this realm alone
    /// is the same.
    pub fn hash_of_realm(&self, realm: u32) -> u128 {
        self.hashes_of_realm(realm, &mut Vec::new())
    }

    /// The same, and beside it the identity and hash of each robot, in the order of their identities.
    pub fn hashes_of_realm(&self, realm: u32, robots: &mut Vec<(u64, u128)>) -> u128 {
        let numbers = self.roster.realms.get(realm as usize).map_or(&[][..], |members| &members.order);
        robots.clear();
        let living = numbers.iter().filter_map(|&number| self.roster.get(number));
        robots.extend(living.map(|robot| (robot.key, self.robot_hash(robot))));
        robots.sort_unstable();
        let mut hasher = Xxh3::new();
        hasher.update(&self.time.ns().to_le_bytes());
        for (key, hash) in robots.iter() {
            hasher.update(&key.to_le_bytes());
            hasher.update(&hash.to_le_bytes());
        }
        self.events.iter().for_each(|memory| memory.hash(realm, self.time, &mut hasher));
        hasher.digest128()
    }

    /// The hash of one robot, by address.
    pub fn hash_of(&self, name: &str) -> Option<u128> {
        self.roster.find(name).map(|(_, robot)| self.robot_hash(robot))
    }

    fn robot_hash(&self, robot: &Robot) -> u128 {
        let mut hasher = Xxh3::new();
        hasher.update(robot.name.as_bytes());
        if let Some(chunk) = self.chunk(robot.chunk) {
            let lane = robot.lane as usize;
            chunk.real.iter().for_each(|column| hasher.update(&column[lane].to_bits().to_le_bytes()));
            chunk.int.iter().for_each(|column| hasher.update(&column[lane].to_le_bytes()));
            if chunk.suspended & (1 << lane) != 0 {
                hasher.update(b"suspended");
            }
            let mut bytes = Vec::new();
            for kept in chunk.kept().filter_map(|kept| kept.get(lane)?.0.as_ref()) {
                bytes.clear();
                kept.save(&mut bytes);
                hasher.update(&(bytes.len() as u64).to_le_bytes());
                hasher.update(&bytes);
            }
        }
        hasher.update(&self.contacts_hash(robot).to_le_bytes());
        let sensors = robot.cohort.blueprint.sensors.iter();
        for (&slot, _) in robot.slots.iter().zip(sensors).filter(|(_, sensor)| !sensor.on_demand()) {
            if slot == NOWHERE {
                continue;
            }
            let entry = &self.board.entries[slot as usize];
            hasher.update(&entry.stamp.map_or(u64::MAX, |stamp| stamp.ns()).to_le_bytes());
            for value in entry.values.iter().chain(&entry.memory) {
                hasher.update(&value.to_bits().to_le_bytes());
            }
        }
        for (name, values) in &robot.extra {
            hasher.update(name.as_bytes());
            values.iter().for_each(|value| hasher.update(&value.to_bits().to_le_bytes()));
        }
        hasher.digest128()
    }

    /// The contacts and bonds a robot keeps, whatever order they are stored in.
    fn contacts_hash(&self, robot: &Robot) -> u64 {
        let Some(chunk) = self.chunk(robot.chunk) else { return 0 };
        let key_of = |number: u32| self.roster.get(number).map_or(0, |other| other.key);
        let ties = chunk.ties.iter().filter(|tie| tie.lane == robot.lane).fold(0_u64, |sum, tie| {
            let mut hasher = Xxh3::new();
            hasher.update(&key_of(tie.to).to_le_bytes());
            tie.numbers().for_each(|number| hasher.update(&number.to_bits().to_le_bytes()));
            sum.wrapping_add(hasher.digest())
        });
        let own = chunk.patches.iter().filter(|patch| patch.key.lane == robot.lane);
        own.fold(ties, |sum, patch| {
            let with = match patch.key.with {
                Other::Robot(number) => key_of(number),
                Other::Obstacle(index) => u64::from(index),
            };
            let mut hasher = Xxh3::new();
            hasher.update(&with.to_le_bytes());
            patch.numbers().for_each(|number| hasher.update(&number.to_bits().to_le_bytes()));
            sum.wrapping_add(hasher.digest())
        })
    }
}
