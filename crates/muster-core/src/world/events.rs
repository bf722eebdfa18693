//! How events are looked for and what is done when they happen, see [`crate::event`].

use super::{Realm, World};
use crate::chunk::ContactEvent;
use crate::command::{Action, Command};
use crate::contact::Other;
use crate::event::{APART, Active, Deed, Event, Firing, Memory, Trigger, fill};
use crate::expression::{Argument, EvalError, Expression};
use crate::model::Model;
use crate::node::matches;
use crate::property::{Slot, Source};
use crate::service::Datum;
use crate::time::SimTime;
use std::sync::Arc;

/// The link by which delayed deeds come: after all others of the same time.
const LINK: u32 = u32::MAX;

/// For whom events are looked for; derived from who exists.
#[derive(Default)]
pub(super) struct Lookout {
    /// For each event and realm.
    subjects: Vec<Vec<Vec<Subject>>>,
    /// Some contact is seen at its tick.
    ticks: bool,
}

/// Somebody to whom an event can happen.
struct Subject {
    /// The robot's roster number; none for the world.
    robot: Option<u32>,
    key: u64,
    condition: Option<Condition>,
}

/// An expression, and where its variables are.
struct Condition {
    expression: Expression,
    sources: Vec<(String, Source)>,
}

impl Lookout {
    /// True if a contact must be seen at the tick it begins.
    pub(super) fn watches_ticks(&self) -> bool {
        self.ticks
    }
}

impl World {
    /// Events that happened when the last window began.
    pub fn events(&self) -> &[Firing] {
        &self.fired
    }

    /// When an event is looked for next.
    pub(super) fn next_event(&self) -> SimTime {
        self.state.events.iter().map(|memory| memory.next).min().unwrap_or(SimTime::NEVER)
    }

    /// Remembers nothing of any event.
    pub(super) fn forget_events(&mut self) {
        let realms = self.state.roster.realms.len();
        self.state.events = self.model.events.iter().map(|event| Memory::new(event, realms)).collect();
    }

    /// Finds out for whom to look.
    pub(super) fn look_out(&mut self) {
        self.state.chunks.iter_mut().flatten().for_each(|chunk| chunk.watched = 0);
        let model = Arc::clone(&self.model);
        let contact = |event: &&Event| matches!(event.trigger, Trigger::Contact { .. });
        for event in model.events.iter().filter(contact) {
            let Trigger::Contact { robots, .. } = &event.trigger else { continue };
            self.watch_contacts(robots);
        }
        let realms = 0..self.state.roster.realms.len() as u32;
        let of_event =
            |event| realms.clone().map(|realm| subjects(&self.realm(realm), event)).collect::<Vec<Vec<Subject>>>();
        let subjects = model.events.iter().map(of_event).collect();
        let ticks = model.events.iter().filter(contact).any(|event| event.rate.is_none());
        self.lookout = Lookout { subjects, ticks };
    }

    /// Board slots of sensors that conditions of events read.
    pub(super) fn slots_of_events(&self) -> Vec<u32> {
        let mut slots = Vec::new();
        for of_event in &self.lookout.subjects {
            for (realm, subjects) in (0..).zip(of_event) {
                let paths = subjects.iter().filter_map(|subject| subject.condition.as_ref());
                for (path, _) in paths.flat_map(|condition| &condition.sources) {
                    if let Ok(Slot::Board(slot)) = self.realm(realm).slot(path) {
                        slots.push(slot);
                    }
                }
            }
        }
        slots
    }

    fn watch_contacts(&mut self, robots: &str) {
        let matching = self.state.roster.iter().filter(|(_, robot)| matches(robots, &robot.name));
        let places: Vec<(u32, u8)> = matching.map(|(_, robot)| (robot.chunk, robot.lane)).collect();
        for (chunk, lane) in places {
            if let Some(chunk) = self.state.chunk_mut(chunk) {
                chunk.watched |= 1 << lane;
            }
        }
    }

    /// Notes which contacts began in the window that ended now.
    pub(super) fn note_contacts(&mut self) {
        if self.model.events.is_empty() {
            return;
        }
        let mut met = std::mem::take(&mut self.met);
        self.state.chunks.iter_mut().flatten().for_each(|chunk| met.append(&mut chunk.met));
        met.sort_unstable();
        let model = Arc::clone(&self.model);
        for touch in &met {
            for (number, event) in model.events.iter().enumerate() {
                if let Trigger::Contact { robots, with } = &event.trigger {
                    self.note_contact((number, event), touch, (robots, with));
                }
            }
        }
        met.clear();
        self.met = met;
    }

    fn note_contact(&mut self, (number, event): (usize, &Event), touch: &ContactEvent, (robots, with): (&str, &str)) {
        let Some(robot) = self.state.roster.get(touch.robot).filter(|robot| matches(robots, &robot.name)) else {
            return;
        };
        let (name, other) = match touch.with {
            Other::Robot(number) => match self.state.roster.get(number) {
                Some(other) => (&other.name, other.key),
                None => return,
            },
            // identities of robots are random: none is so large
            Other::Obstacle(index) => (&self.environment.obstacles[index as usize].name, u64::MAX - u64::from(index)),
        };
        if !matches(with, name) {
            return;
        }
        let until = touch.time + robot.cohort.contact_pause().max(APART);
        // with a rate it is not told again before a period has passed
        let rest = event.rate.map_or(SimTime::ZERO, |rate| touch.time + rate.period());
        let (active, realm) = (Active { robot: robot.key, other, until, rest }, robot.realm as usize);
        let memory = &mut self.state.events[number].realms[realm];
        let at = memory.active.binary_search_by_key(&(active.robot, other), |known| (known.robot, known.other));
        let begins = match at {
            Ok(at) => {
                let known = &mut memory.active[at];
                let begins = known.until < touch.time && known.rest <= touch.time;
                known.until = until;
                known.rest = if begins { rest } else { known.rest };
                begins
            }
            Err(_) => {
                memory.active.retain(|known| known.until >= touch.time || known.rest > touch.time);
                let at = memory.active.partition_point(|known| *known < active);
                memory.active.insert(at, active);
                true
            }
        };
        if begins {
            memory.begun.push(*touch);
        }
    }

    /// Looks for every event that is due, then does what is to be done.
    pub(super) fn react(&mut self) {
        if self.model.events.is_empty() {
            return;
        }
        let (now, model) = (self.state.time, Arc::clone(&self.model));
        let first = self.fired.len();
        for (number, event) in model.events.iter().enumerate() {
            let at_ticks = matches!(event.trigger, Trigger::Contact { .. }) && event.rate.is_none();
            if self.state.events[number].take_due(event, now) || at_ticks {
                for realm in 0..self.state.roster.realms.len() as u32 {
                    self.look_for((number, event), realm);
                }
            }
        }
        for at in first..self.fired.len() {
            let firing = self.fired[at].clone();
            self.carry_out(&model, &firing);
        }
        if self.stale {
            self.reindex();
        }
    }

    /// Looks for an event in one realm.
    fn look_for(&mut self, (number, event): (usize, &Event), realm: u32) {
        match &event.trigger {
            Trigger::At(_) | Trigger::Every(_) => self.fire((number, event), realm, (self.state.time, None, None)),
            Trigger::Contact { .. } => {
                let mut begun = std::mem::take(&mut self.state.events[number].realms[realm as usize].begun);
                for touch in begun.drain(..) {
                    let names = (touch.time, self.name_of(touch.robot), self.other_of(touch.with));
                    self.fire((number, event), realm, names);
                }
                self.state.events[number].realms[realm as usize].begun = begun;
            }
            Trigger::Enter { zones, .. } | Trigger::Leave { zones, .. } => {
                self.look_at_zones((number, event), realm, zones);
            }
            Trigger::Becomes { .. } => self.look_at_condition((number, event), realm),
        }
    }

    fn look_at_zones(&mut self, (number, event): (usize, &Event), realm: u32, zones: &str) {
        let environment = Arc::clone(&self.environment);
        let leaves = matches!(event.trigger, Trigger::Leave { .. });
        let before = std::mem::take(&mut self.state.events[number].realms[realm as usize].active);
        let (mut inside, mut changed) = (std::mem::take(&mut self.active), Vec::new());
        for subject in &self.lookout.subjects[number][realm as usize] {
            let Some((robot, pose)) = subject.robot.and_then(|robot| Some((robot, self.state.pose(robot)?))) else {
                continue;
            };
            for (at, zone) in environment.zones.iter().enumerate().filter(|(_, zone)| matches(zones, &zone.name)) {
                let active =
                    Active { robot: subject.key, other: at as u64, until: SimTime::NEVER, rest: SimTime::ZERO };
                let (is, was) = (zone.contains(pose.position_m), before.binary_search(&active).is_ok());
                if is {
                    inside.push(active);
                }
                if is != was && was == leaves {
                    changed.push((robot, at));
                }
            }
        }
        inside.sort_unstable();
        self.keep_active(number, realm, inside, before);
        for (robot, zone) in changed {
            let names = (self.state.time, self.name_of(robot), Some(environment.zones[zone].name.clone()));
            self.fire((number, event), realm, names);
        }
    }

    fn look_at_condition(&mut self, (number, event): (usize, &Event), realm: u32) {
        let before = std::mem::take(&mut self.state.events[number].realms[realm as usize].active);
        let (mut holds, mut begun) = (std::mem::take(&mut self.active), Vec::new());
        let here = self.realm(realm);
        for subject in &self.lookout.subjects[number][realm as usize] {
            let Some(condition) = &subject.condition else { continue };
            let value = condition.value(&here);
            if value.is_ok_and(|value| value != 0.0 && !value.is_nan()) {
                let active = Active { robot: subject.key, other: 0, until: SimTime::NEVER, rest: SimTime::ZERO };
                holds.push(active);
                if before.binary_search(&active).is_err() {
                    begun.push(subject.robot);
                }
            }
        }
        holds.sort_unstable();
        self.keep_active(number, realm, holds, before);
        for robot in begun {
            let names = (self.state.time, robot.and_then(|robot| self.name_of(robot)), None);
            self.fire((number, event), realm, names);
        }
    }

    fn keep_active(&mut self, event: usize, realm: u32, now: Vec<Active>, mut before: Vec<Active>) {
        self.state.events[event].realms[realm as usize].active = now;
        before.clear();
        self.active = before;
    }

    fn name_of(&self, robot: u32) -> Option<String> {
        Some(self.state.roster.get(robot)?.name.clone())
    }

    fn other_of(&self, other: Other) -> Option<String> {
        match other {
            Other::Robot(number) => self.name_of(number),
            Other::Obstacle(index) => Some(self.environment.obstacles[index as usize].name.clone()),
        }
    }

    fn fire(
        &mut self,
        (number, event): (usize, &Event),
        realm: u32,
        (time, who, other): (SimTime, Option<String>, Option<String>),
    ) {
        let memory = &mut self.state.events[number].realms[realm as usize];
        if event.once && memory.count > 0 {
            return;
        }
        memory.count += 1;
        let acts = self.state.time + event.after;
        self.fired.push(Firing { event: number as u32, realm, time, acts, who, other });
    }

    /// Does what is to be done when an event happens, now or later.
    fn carry_out(&mut self, model: &Model, firing: &Firing) {
        let event = &model.events[firing.event as usize];
        let time = firing.acts;
        for (at, deed) in event.deeds.iter().enumerate() {
            let refused = |why: String| format!("events[{}].do[{at}], {deed}: {why}", firing.event);
            let actions = match self.actions(deed, firing) {
                Ok(actions) => actions,
                Err(why) => {
                    self.refused.push(refused(why));
                    continue;
                }
            };
            for action in actions {
                let command = Command { time, link: LINK, sequence: 0, action };
                if event.after > SimTime::ZERO {
                    // those of equal order stay in the order in which they come
                    self.post(command);
                } else if let Err(why) = self.obey(command) {
                    self.refused.push(refused(why));
                }
            }
        }
    }

    /// What a deed means for every robot it is meant for.
    fn actions(&self, deed: &Deed, firing: &Firing) -> Result<Vec<Action>, String> {
        let realm = self.realm(firing.realm);
        let (Deed::Call { robots, .. } | Deed::Set { robots, .. }) = deed;
        let pattern = firing.fill(robots);
        let number = |text: &String| {
            let text = firing.fill(text);
            let parsed = Expression::parse(&text).map_err(|error| format!("{text:?}, {error}"))?;
            realm.value(&parsed).map_err(|error| error.to_string())
        };
        let addresses: Vec<String> =
            realm.robots().filter(|robot| matches(&pattern, &robot.name)).map(|robot| robot.address()).collect();
        // an obstacle that was touched does nothing
        if addresses.is_empty() && !pattern.contains('*') && !robots.contains("{other}") {
            return Err(format!("found no robot {pattern:?}"));
        }
        match deed {
            Deed::Set { property, values, .. } => {
                let values: Vec<f64> = values.iter().map(number).collect::<Result<_, String>>()?;
                let action = |address| Action::Set { path: format!("{address}.{property}"), values: values.clone() };
                Ok(addresses.into_iter().map(action).collect())
            }
            Deed::Call { service, arguments, .. } => {
                let word = |at: usize| service.parameter(at).is_some_and(|parameter| parameter.form.is_word());
                let datum = |(at, text): (usize, &String)| match word(at) {
                    true => Ok(Datum::Word(firing.fill(text).into_owned())),
                    false => number(text).map(Datum::Number),
                };
                let arguments: Vec<Datum> = arguments.iter().enumerate().map(datum).collect::<Result<_, String>>()?;
                let action = |robot| Action::Call { robot, service, arguments: arguments.clone(), reply: false };
                Ok(addresses.into_iter().map(action).collect())
            }
        }
    }
}

/// Everybody in a realm to whom an event can happen.
fn subjects(realm: &Realm<'_>, event: &Event) -> Vec<Subject> {
    let condition = |text: &str, who: &str| {
        let expression = Expression::parse(&fill(text, who, "")).ok()?;
        let source = |path: &&str| ((*path).to_owned(), realm.source(path));
        let sources = expression.variables().iter().map(source).collect();
        Some(Condition { expression, sources })
    };
    let matching = |pattern: &str, text: Option<&str>| -> Vec<Subject> {
        let robots = realm.roster().filter(|(_, robot)| matches(pattern, &robot.name));
        robots
            .map(|(number, robot)| Subject {
                robot: Some(number),
                key: robot.key,
                condition: text.and_then(|text| condition(text, &robot.name)),
            })
            .collect()
    };
    match &event.trigger {
        Trigger::Enter { robots, .. } | Trigger::Leave { robots, .. } => matching(robots, None),
        Trigger::Becomes { robots: Some(robots), condition: text } => matching(robots, Some(text)),
        Trigger::Becomes { robots: None, condition: text } => {
            vec![Subject { robot: None, key: 0, condition: condition(text, "") }]
        }
        Trigger::Contact { .. } | Trigger::At(_) | Trigger::Every(_) => Vec::new(),
    }
}

impl Condition {
    fn value(&self, realm: &Realm<'_>) -> Result<f64, EvalError> {
        let source = |path: &str| self.sources.iter().find(|(known, _)| known == path).map(|(_, source)| source);
        realm.value_by(&self.expression, &mut |path| realm.read(path, source(path)?))
    }
}

impl Realm<'_> {
    /// The value of an expression over properties of this realm, `time_s` and `distance(a, b)` between two robots.
    pub fn value(&self, expression: &Expression) -> Result<f64, EvalError> {
        self.value_by(expression, &mut |path| self.number(path))
    }

    fn value_by(&self, expression: &Expression, lookup: &mut dyn FnMut(&str) -> Option<f64>) -> Result<f64, EvalError> {
        expression.eval(
            &mut |path| match path {
                "time_s" => Some(self.time().s()),
                _ => lookup(path),
            },
            &mut |name, arguments| match (name, arguments) {
                ("distance", [Argument::Path(a), Argument::Path(b)]) => {
                    Some((self.pose(a)?.position_m - self.pose(b)?.position_m).length())
                }
                _ => None,
            },
        )
    }
}
