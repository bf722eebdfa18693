//! Events in scenario files: what is written becomes triggers and deeds, and whom and what they name is looked up while
//! the lines are known.

use crate::build::{Scene, check_property};
use crate::text::EventText;
use muster_core::event::{Deed, Event, Trigger, fill};
use muster_core::expression::Expression;
use muster_core::model::Placement;
use muster_core::node::{Entry, Node, Place, Problems, Value, matches};
use muster_core::service::{Datum, Form, Service};
use muster_core::time::{Rate, SimTime};

/// The words a trigger may begin with.
const TRIGGERS: [&str; 5] = ["contact", "enter", "leave", "at", "every"];

/// What expressions can call beside the functions every expression knows.
const FUNCTIONS: [&str; 1] = ["distance"];

/// Reads all events of a scenario.
pub(crate) fn read_events(
    scene: &Scene<'_>,
    texts: &[(usize, EventText)],
    services: &'static [Service],
    problems: &mut Problems,
) -> Vec<Event> {
    let spawned = texts.iter().flat_map(|(_, text)| &text.r#do.0).filter_map(|deed| spawned(deed)).collect();
    let event = |(at, text): &(usize, EventText)| {
        let node = match scene.node.get("events").map(|list| &list.value) {
            Some(Value::List(items)) => items.get(*at).cloned().unwrap_or_default(),
            _ => Node::default(),
        };
        Reader { scene, services, text, path: format!("events[{at}]"), node, spawned: &spawned, problems }.event()
    };
    texts.iter().filter_map(event).collect()
}

/// Texts with commas that lack quotes, as in `{do: robot.goto(4, 2)}`, are told and put together again.
pub(crate) fn quote_commas(node: &mut Node, problems: &mut Problems) {
    let Some(mut events) = node.take("events") else { return };
    if let Value::List(items) = &mut events.value {
        for (at, item) in items.iter_mut().enumerate() {
            let Value::Map(entries) = &mut item.value else { continue };
            for key in ["on", "do"] {
                rejoin(entries, key, &format!("events[{at}].{key}"), problems);
            }
        }
    }
    node.set("events", events);
}

/// Puts together the value of a key that was cut at its commas: what followed became keys, or items of a list.
fn rejoin(entries: &mut Vec<Entry>, key: &str, path: &str, problems: &mut Problems) {
    let Some(at) = entries.iter().position(|entry| entry.key == key) else { return };
    let tell = |place: Place, cut: &str, whole: &str, problems: &mut Problems| {
        let hint = Some(format!("between braces and brackets a text with commas needs quotes: {key}: \"{whole}\""));
        problems.error_with_hint(place, path, format!("{cut:?}"), "a closing parenthesis \")\"", hint);
    };
    match &mut entries[at].value.value {
        Value::Text(text) => {
            let cut = text.clone();
            let mut whole = cut.clone();
            let rest = entries[at + 1..].iter().take_while(|entry| {
                let more = is_open(&whole) && entry.value.value == Value::Null;
                whole = if more { format!("{whole}, {}", entry.key) } else { whole.clone() };
                more
            });
            let rest = rest.count();
            if rest > 0 && !is_open(&whole) {
                tell(entries[at].value.place, &cut, &whole, problems);
                entries.drain(at + 1..=at + rest);
                entries[at].value.value = Value::Text(whole);
            }
        }
        Value::List(items) => {
            let mut first = 0;
            while first < items.len() {
                let text = |item: &Node| item.text().map_or_else(|| item.to_string(), str::to_owned);
                let cut = text(&items[first]);
                let (mut whole, mut next) = (cut.clone(), first + 1);
                while is_open(&whole) && next < items.len() {
                    whole = format!("{whole}, {}", text(&items[next]));
                    next += 1;
                }
                if next > first + 1 && !is_open(&whole) {
                    tell(items[first].place, &cut, &whole, problems);
                    items.drain(first + 1..next);
                    items[first].value = Value::Text(whole);
                }
                first += 1;
            }
        }
        _ => (),
    }
}

/// True if a text opens more parentheses than it closes.
fn is_open(text: &str) -> bool {
    text.matches('(').count() > text.matches(')').count()
}

/// The name that a deed gives to a new robot.
fn spawned(deed: &str) -> Option<String> {
    let (_, arguments) = deed.split_once(".spawn(")?;
    Some(arguments.split(',').next()?.trim().to_owned())
}

/// One event that is being read.
struct Reader<'a> {
    scene: &'a Scene<'a>,
    services: &'static [Service],
    text: &'a EventText,
    path: String,
    node: Node,
    /// Names of robots that events may add.
    spawned: &'a Vec<String>,
    problems: &'a mut Problems,
}

/// Whom an event happens to, and who or what else is concerned, as patterns.
#[derive(Clone, Copy, Default)]
struct Concerned<'a> {
    who: Option<&'a str>,
    other: Option<&'a str>,
}

/// `name(first, second)`, split at the outermost commas; nothing if a text is not a call as a whole.
fn call(text: &str) -> Option<(&str, Vec<&str>)> {
    let (name, rest) = text.split_once('(')?;
    let inner = rest.trim_end().strip_suffix(')')?;
    let (mut depth, mut from, mut parts) = (0_i32, 0, Vec::new());
    for (at, character) in inner.char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(inner[from..at].trim());
                from = at + 1;
            }
            _ => (),
        }
        if depth < 0 {
            return None;
        }
    }
    let last = inner[from..].trim();
    if !(parts.is_empty() && last.is_empty()) {
        parts.push(last);
    }
    Some((name.trim(), parts))
}

/// A span of time with its unit.
fn duration(text: &str) -> Option<SimTime> {
    let split = text.find(|c: char| c.is_alphabetic() && c != 'e')?;
    let (number, unit) = text.split_at(split);
    let scale_ns = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    let ns = number.trim().parse::<f64>().ok()? * scale_ns;
    (ns.is_finite() && (0.0..9e18).contains(&ns)).then(|| SimTime::from_ns(ns.round() as u64))
}

impl Reader<'_> {
    fn event(mut self) -> Option<Event> {
        let (place, path) = (self.place("on"), format!("{}.on", self.path));
        let trigger = self.trigger(place, &path);
        let rate = match (&trigger, self.text.rate_hz) {
            (Some(Trigger::At(_) | Trigger::Every(_)), None) | (Some(Trigger::Contact { .. }), None) => None,
            (Some(Trigger::At(_) | Trigger::Every(_)), Some(_)) => {
                let path = format!("{}.rate_hz", self.path);
                self.problems.error(self.place("rate_hz"), &path, "a rate for a timer", "none: it has its own times");
                None
            }
            (_, rate_hz) => Rate::from_hz(rate_hz.unwrap_or(self.scene.text.run.events_hz)),
        };
        let concerned = match &trigger {
            Some(Trigger::Contact { robots, with }) => Concerned { who: Some(robots), other: Some(with) },
            Some(Trigger::Enter { robots, zones } | Trigger::Leave { robots, zones }) => {
                Concerned { who: Some(robots), other: Some(zones) }
            }
            Some(Trigger::Becomes { robots, .. }) => Concerned { who: robots.as_deref(), other: None },
            // what is done is read even if it is unknown when
            None => Concerned { who: Some("*"), other: Some("*") },
            _ => Concerned::default(),
        };
        let deeds: Vec<Option<Deed>> = (0..self.text.r#do.0.len()).map(|at| self.deed(at, concerned)).collect();
        let deeds = deeds.into_iter().collect::<Option<Vec<Deed>>>()?;
        let (on, once) = (self.text.on.trim().to_owned(), self.text.once);
        Some(Event { on, trigger: trigger?, deeds, once, after: SimTime::from_s(self.text.after_s), rate })
    }

    fn place(&self, key: &str) -> Place {
        self.node.get(key).map_or(self.node.place, |node| node.place)
    }

    fn trigger(&mut self, place: Place, path: &str) -> Option<Trigger> {
        let text = self.text.on.trim();
        let found = call(text).filter(|(name, _)| TRIGGERS.contains(name));
        let Some((name, arguments)) = found else { return self.condition(place, path) };
        if self.text.who.is_some() {
            let path = format!("{}.who", self.path);
            self.problems.error(self.place("who"), &path, format!("who for {name}(…)"), "who for an expression only");
        }
        match (name, arguments.as_slice()) {
            ("contact", [robots]) => self.contact(robots, "*", place, path),
            ("contact", [robots, with]) => self.contact(robots, with, place, path),
            ("enter" | "leave", [robots, zones]) => {
                let known = self.robots_exist(robots, place, path);
                let known = self.zones_exist(zones, place, path) && known;
                let (robots, zones) = ((*robots).to_owned(), (*zones).to_owned());
                known.then_some(match name {
                    "enter" => Trigger::Enter { robots, zones },
                    _ => Trigger::Leave { robots, zones },
                })
            }
            ("at", [time]) => self.timer(time, place, path).map(Trigger::At),
            ("every", [period]) => match self.timer(period, place, path)? {
                SimTime::ZERO => {
                    self.problems.error(place, path, format!("{text:?}"), "a span of time above 0");
                    None
                }
                period => Some(Trigger::Every(period)),
            },
            _ => {
                let expected = match name {
                    "contact" => "contact(ROBOTS) or contact(ROBOTS, WHOM)",
                    "enter" => "enter(ROBOTS, ZONES)",
                    "leave" => "leave(ROBOTS, ZONES)",
                    "at" => "at(TIME), such as at(2 s)",
                    _ => "every(TIME), such as every(500 ms)",
                };
                self.problems.error(place, path, format!("{text:?}"), expected);
                None
            }
        }
    }

    fn timer(&mut self, text: &str, place: Place, path: &str) -> Option<SimTime> {
        let time = duration(text);
        if time.is_none() {
            self.problems.error(place, path, format!("{text:?}"), "a time with its unit, such as 2 s or 500 ms");
        }
        time
    }

    fn contact(&mut self, robots: &str, with: &str, place: Place, path: &str) -> Option<Trigger> {
        // one that is wrong does not hide the other
        let mut known = self.robots_exist(robots, place, path);
        if let Some(all) = self.scene.robots.filter(|_| self.scene.included) {
            let obstacles = self.scene.environment.obstacles.iter().map(|obstacle| obstacle.name.as_str());
            let names = obstacles.chain(all.iter().map(|robot| robot.name.as_str()));
            let names = names.chain(self.spawned.iter().map(String::as_str));
            if !names.clone().any(|name| matches(with, name)) {
                self.problems.unknown(place, path, with, "an obstacle or a robot", names);
                known = false;
            }
            let mut touching = all.iter().filter(|robot| matches(robots, &robot.name));
            if touching.clone().next().is_some() && touching.all(|robot| !robot.cohort.blueprint.touches()) {
                let expected = "a shape or parts: what has no outline touches nothing";
                self.problems.warn(place, path, format!("robots {robots:?} without an outline"), expected);
            }
        }
        known.then(|| Trigger::Contact { robots: robots.to_owned(), with: with.to_owned() })
    }

    /// True if a pattern means some robot, now or later.
    fn robots_exist(&mut self, pattern: &str, place: Place, path: &str) -> bool {
        let Some(robots) = self.scene.robots else { return true };
        let spawned = self.spawned.iter().map(String::as_str);
        let names = robots.iter().map(|robot| robot.name.as_str()).chain(spawned);
        let known = names.clone().any(|name| matches(pattern, name));
        if !known {
            self.problems.unknown(place, path, pattern, "a robot", names);
        }
        known
    }

    fn zones_exist(&mut self, pattern: &str, place: Place, path: &str) -> bool {
        let names = self.scene.environment.zones.iter().map(|zone| zone.name.as_str());
        let known = !self.scene.included || names.clone().any(|name| matches(pattern, name));
        if !known {
            self.problems.unknown(place, path, pattern, "a zone of world.zones", names);
        }
        known
    }

    fn condition(&mut self, place: Place, path: &str) -> Option<Trigger> {
        let (text, who) = (self.text.on.trim(), self.text.who.as_deref());
        if let Some(who) = who
            && !self.robots_exist(who, self.place("who"), &format!("{}.who", self.path))
        {
            return None;
        }
        let concerned = Concerned { who, other: None };
        self.expression(text, concerned, place, path)
            .then(|| Trigger::Becomes { robots: who.map(str::to_owned), condition: text.to_owned() })
    }

    /// The robots that a pattern with `{who}` or `{other}` may mean.
    fn meant(&self, pattern: &str, concerned: Concerned<'_>) -> Vec<&Placement> {
        let filled = fill(pattern, concerned.who.unwrap_or_default(), concerned.other.unwrap_or_default());
        self.scene.robots.into_iter().flatten().filter(|robot| matches(&filled, &robot.name)).collect()
    }

    /// True if names that stand for somebody do so in this event.
    fn names_stand(&mut self, text: &str, concerned: Concerned<'_>, place: Place, path: &str) -> bool {
        let empty = |name: &&str| match *name {
            "{who}" => concerned.who.is_none(),
            _ => concerned.other.is_none(),
        };
        let wrong = ["{who}", "{other}"].into_iter().filter(|name| text.contains(name)).find(empty);
        if let Some(name) = wrong {
            let expected = "a robot's name: this event happens to nobody";
            self.problems.error(place, path, format!("{name} in {text:?}"), expected);
        }
        wrong.is_none()
    }

    /// True if a text is an expression over things that exist.
    fn expression(&mut self, text: &str, concerned: Concerned<'_>, place: Place, path: &str) -> bool {
        if !self.names_stand(text, concerned, place, path) {
            return false;
        }
        let before = self.problems.errors();
        let whos: Vec<String> = match (text.contains("{who}"), concerned.who) {
            (true, Some(who)) => self.meant(who, concerned).iter().map(|robot| robot.name.clone()).collect(),
            _ => vec![String::new()],
        };
        for who in whos {
            // the other may be anybody; its properties are looked up when it is known
            let filled = fill(text, &who, "other");
            match Expression::parse(&filled) {
                Ok(parsed) => self.variables(&parsed, place, path),
                Err(error) => self.problems.error(place, path, format!("{} in {text:?}", error.found), error.expected),
            }
            if self.problems.errors() > before {
                return false;
            }
        }
        true
    }

    fn variables(&mut self, parsed: &Expression, place: Place, path: &str) {
        if let Some(name) = parsed.functions().into_iter().find(|name| !FUNCTIONS.contains(name)) {
            let known = TRIGGERS.into_iter().chain(FUNCTIONS);
            return self.problems.unknown(place, path, name, "a trigger or an expression with", known);
        }
        let Some(robots) = self.scene.robots else { return };
        for variable in parsed.variables().into_iter().filter(|variable| *variable != "time_s") {
            let name = variable.split(['.', '[']).next().unwrap_or_default();
            let compounds = self.scene.text.compounds.0.iter().map(|(name, _)| name.as_str());
            let shared = self.scene.text.share.iter().filter_map(|[name, _]| name.split('.').next());
            let other = compounds.chain(shared).chain(self.spawned.iter().map(String::as_str)).chain(["other"]);
            let names = robots.iter().map(|robot| robot.name.as_str()).chain(other);
            if !names.clone().any(|known| known == name) {
                self.problems.unknown(place, path, name, "a robot", names.filter(|name| *name != "other"));
                continue;
            }
            check_property(variable, (place, path), self.scene.text, Some(robots), self.problems);
        }
    }

    /// One thing that is done.
    fn deed(&mut self, at: usize, concerned: Concerned<'_>) -> Option<Deed> {
        let node = self.node.get("do").map_or(&self.node, |node| node);
        let place = match &node.value {
            Value::List(items) => items.get(at).map_or(node.place, |item| item.place),
            _ => node.place,
        };
        let path = format!("{}.do[{at}]", self.path);
        let text = self.text.r#do.0[at].trim();
        let Some((robots, rest)) = text.split_once('.').filter(|(robots, _)| !robots.contains(['(', '='])) else {
            let expected = "ROBOT.SERVICE or ROBOT.PROPERTY = VALUE, such as robot.stop";
            self.problems.error(place, &path, format!("{text:?}"), expected);
            return None;
        };
        let robots = robots.trim();
        if !self.names_stand(robots, concerned, place, &path) || !self.target_exists(robots, concerned, place, &path) {
            return None;
        }
        match rest.split_once('=').filter(|(left, _)| !left.contains('(')) {
            Some((property, values)) => self.assignment(robots, property.trim(), values, concerned, (place, &path)),
            None => self.call(robots, rest.trim(), concerned, (place, &path)),
        }
    }

    /// True if somebody can be told to do something, now or later.
    fn target_exists(&mut self, robots: &str, concerned: Concerned<'_>, place: Place, path: &str) -> bool {
        let (who, other) = (concerned.who.unwrap_or_default(), concerned.other.unwrap_or_default());
        self.robots_exist(&fill(robots, who, other), place, path)
    }

    fn assignment(
        &mut self,
        robots: &str,
        property: &str,
        values: &str,
        concerned: Concerned<'_>,
        (place, path): (Place, &str),
    ) -> Option<Deed> {
        let name = property.split('[').next().unwrap_or_default();
        let listed = format!("({values})");
        let (_, values) = call(&listed)?;
        let wrong = self.meant(robots, concerned).into_iter().find_map(|robot| {
            let variables = &robot.cohort.layout.variables;
            let known = variables.iter().any(|variable| variable.path == name);
            (!known).then(|| (robot.name.clone(), variables.clone()))
        });
        if let Some((robot, variables)) = wrong {
            let names = variables.iter().map(|variable| variable.path.as_str());
            self.problems.unknown(place, path, name, &format!("a variable of {robot}"), names);
            return None;
        }
        if !self.lengths_fit(robots, property, values.len(), concerned, (place, path)) {
            return None;
        }
        let sound = values.iter().all(|value| self.expression(value, concerned, place, path));
        let values = values.into_iter().map(str::to_owned).collect();
        sound.then(|| Deed::Set { robots: robots.to_owned(), property: property.to_owned(), values })
    }

    /// True if a property has as many values as it is given.
    fn lengths_fit(
        &mut self,
        robots: &str,
        property: &str,
        given: usize,
        concerned: Concerned<'_>,
        (place, path): (Place, &str),
    ) -> bool {
        let (name, index) = crate::build::indexed(property);
        let lengths = |robot: &&Placement| robot.cohort.layout.variable(name).map(|variable| variable.len);
        let Some(length) = self.meant(robots, concerned).iter().find_map(lengths) else { return true };
        let wrong = match index {
            Some(index) if index >= length => {
                Some((format!("[{index}] of {name}"), crate::build::below_length(length)))
            }
            Some(_) if given != 1 => Some((format!("{given} values for {property}"), "one value".to_owned())),
            None if given != length => Some((format!("{given} values for {name}"), format!("{length} of them"))),
            _ => None,
        };
        let fits = wrong.is_none();
        if let Some((found, expected)) = wrong {
            self.problems.error(place, path, found, expected);
        }
        fits
    }

    fn call(
        &mut self,
        robots: &str,
        text: &str,
        concerned: Concerned<'_>,
        (place, path): (Place, &str),
    ) -> Option<Deed> {
        if text.contains('(') && call(text).is_none() {
            let expected = if is_open(text) { "a closing parenthesis \")\" at the end" } else { "SERVICE(ARGUMENTS)" };
            self.problems.error(place, path, format!("{text:?}"), expected);
            return None;
        }
        let (name, arguments) = call(text).unwrap_or((text, Vec::new()));
        let Some(service) = self.services.iter().find(|service| service.name == name) else {
            let names = self.services.iter().map(|service| service.name);
            self.problems.unknown(place, path, name, "a service, or a property and =", names);
            return None;
        };
        if service.check_count(arguments.len()).is_err() {
            self.problems.error(place, path, format!("{text:?}"), service.usage());
            return None;
        }
        let form = |at: usize| service.parameter(at).map(|parameter| parameter.form);
        let word = |at: usize| form(at).is_some_and(Form::is_word);
        let mut sound = true;
        for (at, argument) in arguments.iter().enumerate() {
            sound &= match form(at) {
                Some(Form::Word) => self.names_stand(argument, concerned, place, path),
                Some(Form::Robot) => {
                    self.names_stand(argument, concerned, place, path)
                        && self.target_exists(argument, concerned, place, path)
                }
                _ => self.expression(argument, concerned, place, path),
            };
        }
        if !sound {
            return None;
        }
        // numbers are known when it happens; whether robots can do it, now
        let datum = |(at, text): (usize, &&str)| match word(at) {
            true => Datum::Word(fill(text, concerned.who.unwrap_or_default(), "").into_owned()),
            false => Datum::Number(0.0),
        };
        let data: Vec<Datum> = arguments.iter().enumerate().map(datum).collect();
        let misfit = self
            .meant(robots, concerned)
            .into_iter()
            .find_map(|robot| (service.fits)(&robot.cohort, &data).err().map(|why| (robot.name.clone(), why)));
        if let Some((robot, why)) = misfit {
            let (found, expected) = why.split_once(", expected ").unwrap_or((&why, "a robot that can do it"));
            let found = format!("{} on {robot}", found.trim_start_matches("found "));
            self.problems.error(place, path, found, expected);
            return None;
        }
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        Some(Deed::Call { robots: robots.to_owned(), service, arguments })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_split_at_its_outermost_commas() {
        assert_eq!(call("goto(4, max(1, 2), a.b[0])"), Some(("goto", vec!["4", "max(1, 2)", "a.b[0]"])));
        assert_eq!(call("stop()"), Some(("stop", vec![])));
        assert_eq!(call("stop"), None);
        assert_eq!(call("distance(a, b) < 2"), None);
        assert_eq!(call("f(1) + g(2)"), None, "two calls are not one");
    }

    #[test]
    fn durations_have_units() {
        for (text, ns) in
            [("2 s", 2_000_000_000), ("500ms", 500_000_000), ("1.5 min", 90_000_000_000), ("1e3 ns", 1000)]
        {
            assert_eq!(duration(text), Some(SimTime::from_ns(ns)), "{text}");
        }
        for text in ["2", "-1 s", "s", "2 parsecs", ""] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
