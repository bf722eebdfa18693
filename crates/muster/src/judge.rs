//! The judge: watches a run and tells what was expected and did not happen, with the time and the values.
//!
//! Conditions that must always hold are judged every `every_ms` of simulated time (20 ms if not said), others at the time
//! they name, contacts at the tick they begin; distances also between two instants, along straight lines. Verdicts depend
//! on simulated time alone, never on windows, and judging never changes results.

use glam::DVec3;
use muster_core::contact::Other;
use muster_core::expression::{Argument, Expression};
use muster_core::grid::Grid;
use muster_core::node::Place;
use muster_core::time::SimTime;
use muster_core::world::{Realm, World};
use muster_models::drivers::status;
use muster_scenario::build::matches;
use muster_scenario::text::{ExpectText, That};
use std::collections::BTreeMap;

/// Something expected that did not happen.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Which expectation, counted from 0.
    pub expectation: usize,
    /// The line it is written in; 0 if unknown.
    pub line: u32,
    /// When.
    pub time: SimTime,
    /// What happened instead.
    pub what: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let line = if self.line > 0 { format!(" (line {})", self.line) } else { String::new() };
        write!(f, "expect[{}] failed at {:.3} s: {}{line}", self.expectation, self.time.s(), self.what)
    }
}

/// One expectation and what is known of it.
struct Case {
    text: ExpectText,
    expression: Option<Expression>,
    /// Judged once, at this time; `None`: judged always, from `from` on.
    at: Option<SimTime>,
    from: SimTime,
    every: SimTime,
    line: u32,
    settled: bool,
    /// Where the robots were when distances were judged last, by roster number.
    before: BTreeMap<u32, DVec3>,
}

/// Watches a run.
pub struct Judge {
    cases: Vec<Case>,
    /// What failed so far.
    pub failures: Vec<Failure>,
    /// Values judged: what, and how much.
    pub measured: Vec<(String, f64)>,
    grid: Grid,
    end: SimTime,
    realm: u32,
}

impl Judge {
    /// Watches for these expectations in a run that ends at `end`.
    pub fn new<'a>(expectations: impl Iterator<Item = &'a (ExpectText, Place)>, end: SimTime) -> Self {
        let case = |(text, place): &(ExpectText, Place)| {
            let time = |seconds: Option<f64>| seconds.map(SimTime::from_s);
            let at = match text.that {
                That::Arrived => Some(time(text.within_s).unwrap_or(end)),
                That::Value => Some(time(text.at_s).unwrap_or(end)),
                That::Holds if text.from_s.is_none() => Some(time(text.at_s).unwrap_or(end)),
                _ => None,
            };
            Case {
                expression: text.expression.as_deref().and_then(|text| Expression::parse(text).ok()),
                at,
                from: time(text.from_s).unwrap_or_default(),
                every: SimTime::from_s(text.every_ms * 1e-3),
                line: place.line,
                settled: false,
                before: BTreeMap::new(),
                text: text.clone(),
            }
        };
        Self {
            cases: expectations.map(case).collect(),
            failures: Vec::new(),
            measured: Vec::new(),
            grid: Grid::default(),
            end,
            realm: 0,
        }
    }

    /// Watches another realm than the first.
    pub fn in_realm(self, realm: u32) -> Self {
        Self { realm, ..self }
    }

    /// The next time at which something must be judged.
    pub fn next_time(&self, now: SimTime) -> SimTime {
        let next = |case: &Case| SimTime::from_ns((now.ns() / case.every.ns() + 1) * case.every.ns());
        let time = |case: &Case| match (case.settled, case.at, case.text.that) {
            (true, ..) => None,
            (false, Some(at), That::Arrived) => Some(next(case).min(at)).filter(|&at| at > now),
            (false, Some(at), _) => Some(at).filter(|&at| at > now),
            (false, None, That::NoContact) => None,
            (false, None, _) => Some(next(case)),
        };
        self.cases.iter().filter_map(time).min().unwrap_or(SimTime::NEVER)
    }

    /// Judges what is judged at the end, in a run that ended now instead of at a time known before.
    pub fn finish(&mut self, world: &World) {
        for case in self.cases.iter_mut().filter(|case| case.at == Some(self.end)) {
            case.at = Some(world.time());
        }
        self.watch(world);
    }

    /// How many expectations were not judged, because the run ended before their time.
    pub fn unjudged(&self, now: SimTime) -> usize {
        let waits = |case: &&Case| !case.settled && (case.at.is_some() || case.from > now);
        self.cases.iter().filter(waits).count()
    }

    /// How many expectations there are.
    pub fn len(&self) -> usize {
        self.cases.len()
    }

    /// True if nothing is expected.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// Judges the window that ended now.
    pub fn watch(&mut self, world: &World) {
        let (now, realm) = (world.time(), &world.realm(self.realm));
        for number in 0..self.cases.len() {
            let case = &mut self.cases[number];
            let on_time = now.ns().is_multiple_of(case.every.ns()) || case.at == Some(now);
            if case.settled || (!on_time && case.text.that != That::NoContact) {
                continue;
            }
            let verdict = match (case.text.that, case.at) {
                (That::NoContact, _) => contact(realm, &case.text),
                (That::Arrived, Some(at)) => match not_arrived(realm, &case.text) {
                    None => {
                        self.measured.push((format!("{} arrived after_s", pattern(&case.text)), now.s()));
                        self.cases[number].settled = true;
                        None
                    }
                    Some(who) if now >= at => Some((now, who)),
                    Some(_) => None,
                },
                (_, Some(at)) if now < at => None,
                (That::Value, _) => {
                    let path = case.text.of.as_deref().unwrap_or_default();
                    self.measured.extend(realm.number(path).map(|value| (path.to_owned(), value)));
                    value(realm, &case.text).map(|what| (now, what))
                }
                (That::MinDistance, _) => {
                    too_near(realm, &case.text, &mut case.before, &mut self.grid).map(|what| (now, what))
                }
                (That::Holds, _) if now >= case.from => {
                    case.expression.as_ref().and_then(|expression| untrue(realm, expression)).map(|what| (now, what))
                }
                _ => None,
            };
            let once = self.cases[number].at.is_some_and(|at| now >= at);
            self.cases[number].settled |= once || verdict.is_some();
            let line = self.cases[number].line;
            self.failures.extend(verdict.map(|(time, what)| Failure { expectation: number, line, time, what }));
        }
    }
}

fn pattern(text: &ExpectText) -> &str {
    text.robots.as_deref().or(text.robot.as_deref()).unwrap_or("*")
}

fn not_arrived(realm: &Realm<'_>, text: &ExpectText) -> Option<String> {
    let robots = realm.robots().filter(|robot| matches(pattern(text), &robot.name));
    let waiting: Vec<&str> = robots
        .filter(|robot| realm.number(&format!("{}.driver.status", robot.name)) != Some(status::ARRIVED as f64))
        .map(|robot| robot.name.as_str())
        .collect();
    let position = |name: &str| realm.property(&format!("{name}.position_m")).unwrap_or_default();
    match waiting.as_slice() {
        [] => None,
        [first, rest @ ..] => {
            let others = match rest.len() {
                0 => String::new(),
                1..=9 => format!(", {}", rest.join(", ")),
                more => format!(", {} and {} more", rest[..9].join(", "), more - 9),
            };
            Some(format!("{first}{others} not arrived; {first} is at {:.3?} m", position(first)))
        }
    }
}

fn contact(realm: &Realm<'_>, text: &ExpectText) -> Option<(SimTime, String)> {
    let world = realm.world();
    let name = |number: u32| world.robot(number).map_or("a robot that is gone", |robot| robot.name.as_str());
    let event = realm.contacts().find(|event| matches(pattern(text), name(event.robot)))?;
    let other = match event.with {
        Other::Robot(number) => name(number).to_owned(),
        Other::Obstacle(index) => world.model().environment.obstacles[index as usize].name.clone(),
    };
    Some((event.time, format!("{} touched {other}", name(event.robot))))
}

/// A robot on its straight way from one judged instant to the next.
struct Way<'a> {
    name: &'a str,
    from_m: DVec3,
    to_m: DVec3,
}

impl Way<'_> {
    /// The least distance to another on the way.
    fn nearest_m(&self, other: &Way<'_>) -> f64 {
        let (start, end) = (self.from_m - other.from_m, self.to_m - other.to_m);
        let change = end - start;
        let when = (-start.dot(change) / change.length_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        (start + change * when).length()
    }
}

fn too_near(
    realm: &Realm<'_>,
    text: &ExpectText,
    before: &mut BTreeMap<u32, DVec3>,
    grid: &mut Grid,
) -> Option<String> {
    let least = text.at_least_m?;
    let mut longest_m = 0.0_f64;
    let mut ways: Vec<Way<'_>> = Vec::new();
    for (number, robot) in realm.roster().filter(|(_, robot)| matches(pattern(text), &robot.name)) {
        let to_m = realm.pose(&robot.name)?.position_m;
        let from_m = before.insert(number, to_m).unwrap_or(to_m);
        longest_m = longest_m.max((to_m - from_m).length());
        ways.push(Way { name: &robot.name, from_m, to_m });
    }
    // two robots that were nearer on the way are at most their ways further apart now
    let reach_m = least + 2.0 * longest_m;
    grid.rebuild(reach_m.max(0.1), ways.iter().map(|way| way.to_m));
    let mut worst: Option<(f64, u32, usize)> = None;
    for (index, way) in ways.iter().enumerate() {
        grid.within(way.to_m, reach_m, |other, _| {
            if (other as usize) < index {
                let distance = way.nearest_m(&ways[other as usize]);
                if distance < least && worst.is_none_or(|(old, ..)| distance < old) {
                    worst = Some((distance, other, index));
                }
            }
        });
    }
    worst.map(|(distance, a, b)| {
        let (a, b) = (ways[a as usize].name, ways[b].name);
        format!("{a} and {b} came within {distance:.3} m, expected at least {least} m")
    })
}

fn value(realm: &Realm<'_>, text: &ExpectText) -> Option<String> {
    let path = text.of.as_deref()?;
    let (min, max) = (text.min.unwrap_or(f64::NEG_INFINITY), text.max.unwrap_or(f64::INFINITY));
    match realm.property(path) {
        Err(error) => Some(error.to_string()),
        Ok(values) => {
            let wrong = values.iter().find(|value| !(**value >= min && **value <= max))?;
            let expected = match (text.min, text.max) {
                (Some(min), None) => format!("at least {min}"),
                (None, Some(max)) => format!("at most {max}"),
                _ => format!("{min} to {max}"),
            };
            Some(format!("{path} is {wrong}, expected {expected}"))
        }
    }
}

/// Why an expression does not hold, or `None` if it does.
fn untrue(realm: &Realm<'_>, expression: &Expression) -> Option<String> {
    let mut shown: Vec<String> = Vec::new();
    let outcome = expression.eval(
        &mut |path| match path {
            "time_s" => Some(realm.time().s()),
            _ => realm.number(path),
        },
        &mut |name, arguments| match (name, arguments) {
            ("distance", [Argument::Path(a), Argument::Path(b)]) => {
                let distance = (realm.pose(a)?.position_m - realm.pose(b)?.position_m).length();
                shown.push(format!("distance({a}, {b}) = {distance:.4}"));
                Some(distance)
            }
            _ => None,
        },
    );
    match outcome {
        Ok(value) if value != 0.0 && !value.is_nan() => None,
        Err(error) => Some(format!("{expression} has no value: {error}")),
        Ok(_) => {
            let values = expression.variables().into_iter().filter_map(|path| {
                Some(format!("{path} = {}", if path == "time_s" { realm.time().s() } else { realm.number(path)? }))
            });
            shown.extend(values);
            Some(format!("{expression} does not hold ({})", shown.join(", ")))
        }
    }
}
