//! World events: what happens to whom, and what is done then, without code. An event has a trigger (a contact, a zone
//! entered or left, a time, a condition that becomes true) and deeds (services asked of robots, properties set).
//!
//! Events take place at instants that do not depend on windows or threads, and windows end there:
//!
//! - a contact at the end of the tick in which it begins, so that deeds are done before the next tick; or, if the event
//!   has a rate, at the first instant of that rate's lattice at or after it. It begins anew when the two have not touched
//!   for [`APART`], as what is pushed chatters, and with a rate not before a period of it has passed;
//! - a zone and a condition at the instants of the event's rate, from 0 on: what is true at one and was not at the one
//!   before has happened;
//! - a timer exactly at its times.
//!
//! At an instant, commands from outside come first, then all triggers are looked at, then all deeds are done, in the
//! order of the events and of the robots concerned.

use crate::chunk::ContactEvent;
use crate::service::Service;
use crate::time::{Rate, SimTime};
use std::borrow::Cow;
use std::fmt;
use xxhash_rust::xxh3::Xxh3;

/// Two that touch again before they were apart for so long still touch: 100 ms.
pub const APART: SimTime = SimTime::from_ns(100_000_000);

/// Something that may happen, and what is done then.
#[derive(Debug, Clone)]
pub struct Event {
    /// What must happen, as it is written.
    pub on: String,
    /// What must happen.
    pub trigger: Trigger,
    /// What is done, in order.
    pub deeds: Vec<Deed>,
    /// It happens once only, in each realm.
    pub once: bool,
    /// How much later the deeds are done.
    pub after: SimTime,
    /// How often it is looked for; contacts without a rate are seen at the tick they begin.
    pub rate: Option<Rate>,
}

/// What must happen. Robots and others are patterns of names, in which `*` stands for any text.
#[derive(Debug, Clone, PartialEq)]
pub enum Trigger {
    /// A robot begins to touch another, or an obstacle.
    Contact {
        /// The robots.
        robots: String,
        /// Whom or what they touch.
        with: String,
    },
    /// The centre of a robot comes into a zone.
    Enter {
        /// The robots.
        robots: String,
        /// The zones.
        zones: String,
    },
    /// The centre of a robot leaves a zone.
    Leave {
        /// The robots.
        robots: String,
        /// The zones.
        zones: String,
    },
    /// A time comes.
    At(SimTime),
    /// Every multiple of a span of time, but for 0.
    Every(SimTime),
    /// An expression becomes true.
    Becomes {
        /// The robots it is looked at for, each by itself; once for the world if there are none.
        robots: Option<String>,
        /// The expression; `{who}` stands for the robot.
        condition: String,
    },
}

/// What is done when an event happens. In all texts `{who}` stands for the robot to which it happened, `{other}` for whom
/// or what it touched, or the zone. What `{other}` is told to do is not done if that is no robot.
#[derive(Debug, Clone)]
pub enum Deed {
    /// Robots are asked for a service.
    Call {
        /// The robots, as a pattern.
        robots: String,
        /// The service.
        service: &'static Service,
        /// Words, or expressions.
        arguments: Vec<String>,
    },
    /// A property of robots is set.
    Set {
        /// The robots, as a pattern.
        robots: String,
        /// The property.
        property: String,
        /// Expressions.
        values: Vec<String>,
    },
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { robots, service, arguments } if arguments.is_empty() => write!(f, "{robots}.{}", service.name),
            Self::Call { robots, service, arguments } => {
                write!(f, "{robots}.{}({})", service.name, arguments.join(", "))
            }
            Self::Set { robots, property, values } => write!(f, "{robots}.{property} = {}", values.join(", ")),
        }
    }
}

/// An event that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firing {
    /// Which event, counted from 0.
    pub event: u32,
    /// In which realm.
    pub realm: u32,
    /// When it happened: for a contact, the tick it began.
    pub time: SimTime,
    /// When its deeds are done.
    pub acts: SimTime,
    /// To which robot.
    pub who: Option<String>,
    /// Whom or what the robot touched, or the zone.
    pub other: Option<String>,
}

impl Firing {
    /// A text with `{who}` and `{other}` filled in.
    pub fn fill<'a>(&self, text: &'a str) -> Cow<'a, str> {
        fill(text, self.who.as_deref().unwrap_or_default(), self.other.as_deref().unwrap_or_default())
    }
}

/// A text with names filled in.
pub fn fill<'a>(text: &'a str, who: &str, other: &str) -> Cow<'a, str> {
    match text.contains('{') {
        true => Cow::Owned(text.replace("{who}", who).replace("{other}", other)),
        false => Cow::Borrowed(text),
    }
}

/// What is known of an event.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    /// When it is looked for next; never, for contacts that are seen at their tick.
    pub(crate) next: SimTime,
    /// Which instant of its lattice that is.
    index: u64,
    /// In each realm.
    pub(crate) realms: Vec<RealmMemory>,
}

/// What is known of an event in one realm.
#[derive(Debug, Clone, Default)]
pub(crate) struct RealmMemory {
    /// How often it happened.
    pub(crate) count: u64,
    /// What is true now: who is inside, who touches whom, for whom the condition holds; in order.
    pub(crate) active: Vec<Active>,
    /// Contacts that began and have not been told.
    pub(crate) begun: Vec<ContactEvent>,
}

/// A robot, and what or whom it touches or is in, by their identities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Active {
    pub(crate) robot: u64,
    pub(crate) other: u64,
    /// For a contact: it begins anew after this time.
    pub(crate) until: SimTime,
    /// For a contact of an event with a rate: it is not told again before this time.
    pub(crate) rest: SimTime,
}

impl Memory {
    /// Nothing has happened.
    pub(crate) fn new(event: &Event, realms: usize) -> Self {
        let mut memory = Self { next: SimTime::ZERO, index: 0, realms: vec![RealmMemory::default(); realms] };
        if let Trigger::Every(_) = event.trigger {
            memory.index = 1;
        }
        memory.next = memory.instant(event);
        memory
    }

    /// The instant with the number `index`.
    fn instant(&self, event: &Event) -> SimTime {
        match (&event.trigger, event.rate) {
            (Trigger::At(time), _) if self.index == 0 => *time,
            (Trigger::At(_), _) => SimTime::NEVER,
            (Trigger::Every(period), _) => SimTime::from_ns(period.ns().saturating_mul(self.index)),
            (_, Some(rate)) => rate.time_of(self.index),
            (_, None) => SimTime::NEVER,
        }
    }

    /// True if it is looked for now; goes on to the next instant.
    pub(crate) fn take_due(&mut self, event: &Event, now: SimTime) -> bool {
        let due = self.next <= now;
        while self.next <= now {
            self.index += 1;
            self.next = self.instant(event);
        }
        due
    }

    /// What of it belongs to the hash of a realm's state.
    pub(crate) fn hash(&self, realm: u32, now: SimTime, hasher: &mut Xxh3) {
        let Some(memory) = self.realms.get(realm as usize) else { return };
        hasher.update(&memory.count.to_le_bytes());
        // those of the past wait to be forgotten
        for active in memory.active.iter().filter(|active| active.until >= now) {
            hasher.update(&active.robot.to_le_bytes());
            hasher.update(&active.other.to_le_bytes());
            if active.rest > now {
                hasher.update(&active.rest.ns().to_le_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(trigger: Trigger, rate: Option<Rate>) -> Event {
        Event { on: String::new(), trigger, deeds: Vec::new(), once: false, after: SimTime::ZERO, rate }
    }

    fn instants(event: &Event, until_ms: u64) -> Vec<u64> {
        let mut memory = Memory::new(event, 1);
        let mut found = Vec::new();
        while memory.next <= SimTime::from_ns(until_ms * 1_000_000) {
            found.push(memory.next.ns());
            assert!(memory.take_due(event, memory.next));
        }
        found
    }

    #[test]
    fn timers_and_lattices_have_their_instants_and_no_others() {
        let ms = SimTime::from_ns(1_000_000);
        assert_eq!(instants(&event(Trigger::At(ms), None), 100), [1_000_000]);
        assert_eq!(instants(&event(Trigger::Every(ms), None), 3), [1_000_000, 2_000_000, 3_000_000]);
        let zone = Trigger::Enter { robots: String::new(), zones: String::new() };
        assert_eq!(instants(&event(zone, Rate::from_hz(50.0)), 40), [0, 20_000_000, 40_000_000]);
        let contact = Trigger::Contact { robots: String::new(), with: String::new() };
        assert_eq!(instants(&event(contact, None), 1000), [0; 0]);
    }

    #[test]
    fn names_are_filled_in() {
        assert_eq!(fill("{who}.goto({other}.position_m[0], 2)", "r", "s"), "r.goto(s.position_m[0], 2)");
    }
}
