//! One realm of a world: what a world of its own would show, by the same names.

use super::World;
use crate::chunk::ContactEvent;
use crate::component::Pose;
use crate::roster::{Members, Robot};
use crate::time::SimTime;
use std::borrow::Cow;

/// Robots that can meet each other, and nobody else.
#[derive(Clone, Copy)]
pub struct Realm<'w> {
    pub(crate) world: &'w World,
    pub(crate) number: u32,
}

impl World {
    /// How many realms there are; one unless models were joined.
    pub fn realms(&self) -> u32 {
        self.state.roster.realms.len() as u32
    }

    /// A realm by its number; without robots if there is none.
    pub fn realm(&self, number: u32) -> Realm<'_> {
        Realm { world: self, number }
    }

    /// The realm a path leads to, and the path there: `scout0@3.position_m` is `scout0.position_m` in realm 3.
    pub(crate) fn locate<'a>(&self, path: &'a str) -> (Realm<'_>, Cow<'a, str>) {
        let (address, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
        match self.state.roster.locate(address) {
            (realm, name) if name.len() == address.len() => (self.realm(realm), Cow::Borrowed(path)),
            (realm, name) => (self.realm(realm), Cow::Owned(format!("{name}{rest}"))),
        }
    }
}

impl<'w> Realm<'w> {
    /// The world it is part of.
    pub fn world(&self) -> &'w World {
        self.world
    }

    /// Simulation time.
    pub fn time(&self) -> SimTime {
        self.world.state.time
    }

    /// Seed of its random streams.
    pub fn seed(&self) -> u64 {
        self.members().map_or(0, |members| members.seed)
    }

    /// Living robots in the order of their coming.
    pub fn robots(&self) -> impl Iterator<Item = &'w Robot> + use<'w> {
        self.roster().map(|(_, robot)| robot)
    }

    /// Living robots with their roster numbers in the world.
    pub fn roster(&self) -> impl Iterator<Item = (u32, &'w Robot)> + use<'w> {
        let roster = &self.world.state.roster;
        let numbers = self.members().map_or(&[][..], |members| &members.order);
        numbers.iter().filter_map(|&number| Some((number, roster.get(number)?)))
    }

    /// The pose of a robot.
    pub fn pose(&self, name: &str) -> Option<Pose> {
        self.world.state.pose(self.find(name)?.0)
    }

    /// Contacts that began during the last window.
    pub fn contacts(&self) -> impl Iterator<Item = &'w ContactEvent> + use<'w> {
        let (world, number) = (self.world, self.number);
        let here = move |event: &&ContactEvent| world.robot(event.robot).is_some_and(|robot| robot.realm == number);
        world.contacts.iter().filter(here)
    }

    /// The hash of its state: that of a world with this realm alone is the same.
    pub fn hash(&self) -> u128 {
        self.world.state.hash_of_realm(self.number)
    }

    pub(crate) fn find(&self, name: &str) -> Option<(u32, &'w Robot)> {
        self.world.state.roster.find_in(self.number, name)
    }

    pub(crate) fn members(&self) -> Option<&'w Members> {
        self.world.state.roster.realms.get(self.number as usize)
    }
}
