//! Services: what can be asked of a robot by name, whoever asks: a link, a script, an event of the scenario. A service is
//! a row of a table (name, parameters with units, manual, what it does), so that all of them can be listed, checked before
//! they are called and called alike; see [`Registry`](crate::component::Registry).
//!
//! A call takes effect at a boundary like any other command. It is answered at once, or, if it takes time (going
//! somewhere), when it is done; a later call that wants the same part of the robot preempts it.

use crate::component::{Pose, orders};
use crate::contact::Bond;
use crate::lanes::setpoint;
use crate::model::{Blueprint, Cohort, DRIVER};
use crate::node::nearest;
use crate::state::Robot;
use crate::time::SimTime;
use crate::world::World;
use std::fmt;
use std::sync::Arc;

/// Something robots can be asked to do.
pub struct Service {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a sentence or two.
    pub doc: &'static str,
    /// What it needs to know.
    pub parameters: &'static [Parameter],
    /// So many of the last parameters may be repeated, all together, any number of times; 0 for none.
    pub repeated: usize,
    /// The part of the robot it commands.
    pub part: Part,
    /// Whether robots of a cohort can do it with these arguments, or at all if there are none, so that this is known
    /// before anybody asks: else what was found and what was expected.
    pub fits: fn(&Cohort, &[Datum]) -> Result<(), String>,
    /// Does it, or begins to.
    pub apply: fn(&mut Caller<'_>) -> Result<(), String>,
    /// For a service that takes time: whether it is done.
    pub done: Option<fn(&View<'_>) -> bool>,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The part of a robot that a service commands: a call preempts earlier ones that want the same part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// None that could be wanted twice.
    None,
    /// How it moves.
    Motion,
    /// Its joints.
    Joints,
}

/// Something a service needs to know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its name, with the unit.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// What it may be.
    pub form: Form,
}

/// What an argument may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Form {
    /// A word.
    Word,
    /// The name of a robot.
    Robot,
    /// A number.
    Number,
    /// A number; this one if left out.
    NumberOr(f64),
    /// A number; as it was before if left out.
    NumberOrKept,
}

impl Form {
    /// True for what is no number.
    pub fn is_word(self) -> bool {
        matches!(self, Self::Word | Self::Robot)
    }
}

impl Parameter {
    /// A number that must be given.
    pub const fn number(name: &'static str, doc: &'static str) -> Self {
        Self { name, doc, form: Form::Number }
    }

    /// A number that may be left out.
    pub const fn number_or(name: &'static str, value: f64, doc: &'static str) -> Self {
        Self { name, doc, form: Form::NumberOr(value) }
    }

    /// A number that may be left out and then stays as it is.
    pub const fn kept(name: &'static str, doc: &'static str) -> Self {
        Self { name, doc, form: Form::NumberOrKept }
    }

    /// A word.
    pub const fn word(name: &'static str, doc: &'static str) -> Self {
        Self { name, doc, form: Form::Word }
    }

    /// The name of a robot.
    pub const fn robot(name: &'static str, doc: &'static str) -> Self {
        Self { name, doc, form: Form::Robot }
    }

    fn needed(&self) -> bool {
        matches!(self.form, Form::Word | Form::Robot | Form::Number)
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form {
            Form::Word | Form::Robot | Form::Number => f.write_str(self.name),
            Form::NumberOr(value) => write!(f, "{} = {value}", self.name),
            Form::NumberOrKept => write!(f, "{} = as it was", self.name),
        }
    }
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Datum {
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
}

impl From<f64> for Datum {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Datum {
    fn from(value: &str) -> Self {
        Self::Word(value.to_owned())
    }
}

impl Service {
    /// The parameter that the argument with this number is for.
    pub fn parameter(&self, at: usize) -> Option<&'static Parameter> {
        let count = self.parameters.len();
        match at.checked_sub(count) {
            None => self.parameters.get(at),
            Some(_) if self.repeated == 0 => None,
            Some(more) => self.parameters.get(count - self.repeated + more % self.repeated),
        }
    }

    /// Whether so many arguments are right; else what was found and what was expected.
    pub fn check_count(&self, count: usize) -> Result<(), String> {
        let (all, least) = (self.parameters.len(), self.parameters.iter().filter(|each| each.needed()).count());
        let whole = self.repeated > 0 && count > all && (count - all).is_multiple_of(self.repeated);
        if whole || (least..=all).contains(&count) {
            return Ok(());
        }
        let found = match count {
            0 => "no argument".to_owned(),
            1 => "1 argument".to_owned(),
            count => format!("{count} arguments"),
        };
        Err(format!("found {found} for {}, expected {}", self.name, self.usage()))
    }

    /// Whether these are arguments for it; else what was found and what was expected.
    pub fn check(&self, arguments: &[Datum]) -> Result<(), String> {
        self.check_count(arguments.len())?;
        for (at, argument) in arguments.iter().enumerate() {
            let Some(parameter) = self.parameter(at) else { continue };
            let wrong = |found: String, what| {
                Err(format!("found {found} for {} of {}, expected {what}", parameter.name, self.name))
            };
            match (argument, parameter.form) {
                (Datum::Word(_), form) if form.is_word() => (),
                (Datum::Number(value), form) if !form.is_word() && value.is_finite() => (),
                (Datum::Number(value), Form::Word | Form::Robot) => return wrong(value.to_string(), "a word"),
                (Datum::Number(value), _) => return wrong(value.to_string(), "a finite number"),
                (Datum::Word(word), _) => return wrong(format!("{word:?}"), "a number"),
            }
        }
        Ok(())
    }

    /// True if robots of a cohort can do it with some arguments.
    pub fn offered_by(&self, cohort: &Cohort) -> bool {
        (self.fits)(cohort, &[]).is_ok()
    }

    /// How it is called: `goto(x_m, y_m, z_m = 0)`.
    pub fn usage(&self) -> String {
        let names: Vec<String> = self.parameters.iter().map(ToString::to_string).collect();
        let more = if self.repeated > 0 { ", …" } else { "" };
        format!("{}({}{more})", self.name, names.join(", "))
    }
}

/// The service of this name; else what was found, and the nearest there is.
pub fn find(services: &'static [Service], name: &str) -> Result<&'static Service, String> {
    services.iter().find(|service| service.name == name).ok_or_else(|| {
        let near = nearest(name, services.iter().map(|service| service.name));
        let hint = near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
        format!("found no service {name:?}{hint}")
    })
}

/// The number of the driver that follows an order, if there is one.
pub fn driver_for(blueprint: &Blueprint, order: &str) -> Option<usize> {
    blueprint.drivers.iter().position(|slot| slot.driver.orders().contains(&order))
}

/// What a service sees of the robot it was asked of.
pub struct View<'w> {
    pub(crate) world: &'w World,
    pub(crate) number: u32,
    pub(crate) arguments: &'w [Datum],
}

/// What a service sees and may change.
pub struct Caller<'w> {
    pub(crate) world: &'w mut World,
    pub(crate) number: u32,
    pub(crate) service: &'static Service,
    pub(crate) arguments: &'w [Datum],
    /// The robot by its name in the world.
    pub(crate) address: String,
    pub(crate) cohort: Arc<Cohort>,
}

impl<'w> View<'w> {
    /// A robot by its roster number, to be looked at.
    pub fn of(world: &'w World, number: u32) -> Self {
        Self { world, number, arguments: &[] }
    }

    /// The world it is in.
    pub fn world(&self) -> &'w World {
        self.world
    }

    /// The robot, if it is still there.
    pub fn robot(&self) -> Option<&'w Robot> {
        self.world.robot(self.number)
    }

    /// Where the robot is.
    pub fn pose(&self) -> Pose {
        self.world.state().pose(self.number).unwrap_or(Pose::IDENTITY)
    }

    /// One number of a property of the robot.
    pub fn number(&self, property: &str) -> Option<f64> {
        self.world.number(&format!("{}.{property}", self.world.robot(self.number)?.address()))
    }

    /// The robot's blueprint.
    pub fn blueprint(&self) -> Option<&Blueprint> {
        Some(&self.world.robot(self.number)?.cohort.blueprint)
    }

    /// What it was called with.
    pub fn arguments(&self) -> &[Datum] {
        self.arguments
    }
}

/// The number among arguments at a place.
pub fn number_at(arguments: &[Datum], at: usize) -> Option<f64> {
    match arguments.get(at) {
        Some(Datum::Number(value)) => Some(*value),
        _ => None,
    }
}

/// The word among arguments at a place.
pub fn word_at(arguments: &[Datum], at: usize) -> &str {
    match arguments.get(at) {
        Some(Datum::Word(word)) => word,
        _ => "",
    }
}

impl Caller<'_> {
    /// The number given at a place, else its default; none if it is to stay as it is.
    pub fn number(&self, at: usize) -> Option<f64> {
        number_at(self.arguments, at).or_else(|| match self.service.parameter(at)?.form {
            Form::NumberOr(value) => Some(value),
            _ => None,
        })
    }

    /// The first `N` numbers, with defaults; not a number where one is to stay as it is.
    pub fn numbers<const N: usize>(&self) -> [f64; N] {
        std::array::from_fn(|at| self.number(at).unwrap_or(f64::NAN))
    }

    /// What it was called with.
    pub fn arguments(&self) -> &[Datum] {
        self.arguments
    }

    /// The robot's blueprint.
    pub fn blueprint(&self) -> &Blueprint {
        &self.cohort.blueprint
    }

    /// Where the robot is.
    pub fn pose(&self) -> Pose {
        self.world.state().pose(self.number).unwrap_or(Pose::IDENTITY)
    }

    /// One number of a property of the robot.
    pub fn get(&self, property: &str) -> Option<f64> {
        self.world.number(&format!("{}.{property}", self.address))
    }

    /// Sets a property of the robot.
    pub fn set(&mut self, property: &str, values: &[f64]) -> Result<(), String> {
        self.world.write_property(&format!("{}.{property}", self.address), values)
    }

    /// Commands a setpoint, see [`setpoint`].
    pub fn setpoint(&mut self, mode: f64, values: [f64; 4]) {
        self.world.write_setpoint(self.number, mode, values);
    }

    /// What kind of setpoint stands.
    pub fn setpoint_mode(&self) -> f64 {
        self.get("setpoint_mode").unwrap_or(setpoint::NONE)
    }

    /// Commands the inputs of the robot's motion, all of them.
    pub fn inputs(&mut self, values: &[f64]) -> Result<(), String> {
        let expected = self.cohort.blueprint.motion.inputs();
        let total = crate::lanes::Quantity::total(expected);
        if values.len() != total {
            let names: Vec<&str> = expected.iter().map(|input| input.name).collect();
            return Err(format!("found {} inputs, expected {total} ({})", values.len(), names.join(", ")));
        }
        self.world.write_inputs(self.number, values);
        Ok(())
    }

    /// Takes the robot from its driver, which is told: it commands the robot no more, until [`Caller::hand_back`].
    pub fn take_over(&mut self) -> Result<(), String> {
        if !self.suspends(true) {
            return Ok(());
        }
        self.order(orders::YIELD, &[]).unwrap_or(Ok(()))
    }

    /// Gives the robot back to its driver, which is not told.
    pub fn hand_back(&mut self) {
        self.suspends(false);
    }

    /// Lets the driver be called or not; true if there is one.
    fn suspends(&mut self, suspended: bool) -> bool {
        let driven = self.cohort.blueprint.drivers.iter().any(|slot| slot.name == DRIVER);
        if driven {
            self.world.suspend(self.number, suspended);
        }
        driven
    }

    /// Gives an order to the driver that follows such orders; none if there is none.
    pub fn order(&mut self, name: &str, numbers: &[f64]) -> Option<Result<(), String>> {
        let driver = driver_for(&self.cohort.blueprint, name)?;
        Some(self.world.order(self.number, driver, &crate::component::Order { name, numbers }))
    }

    /// Puts the robot somewhere else, at rest.
    pub fn teleport(&mut self, pose: Pose) {
        self.world.put(self.number, pose);
    }

    /// Attaches the robot to another, where they are now.
    pub fn attach(&mut self, to: &str, bond: Bond) -> Result<(), String> {
        self.world.attach_to(self.number, to, bond)
    }

    /// Lets go of the robot if it is attached.
    pub fn detach(&mut self) -> Result<(), String> {
        self.world.let_go(self.number)
    }

    /// Removes the robot.
    pub fn delete(&mut self) {
        self.world.remove(self.number);
    }

    /// Adds a robot that is made like this one.
    pub fn spawn(&mut self, name: &str, pose: Pose) -> Result<(), String> {
        self.world.spawn_like(self.number, name, pose)
    }
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Succeeded,
    /// Another call wanted the same part of the robot, or it was cancelled.
    Preempted,
    /// It could not be done, and why.
    Failed(String),
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The link the call came by.
    pub link: u32,
    /// Its number on that link.
    pub sequence: u64,
    /// The end of the window in which this was known.
    pub time: SimTime,
    /// How it ended.
    pub outcome: Outcome,
}

/// A call that has not been answered.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) link: u32,
    pub(crate) sequence: u64,
    /// The robot's roster number and identity.
    pub(crate) robot: (u32, u64),
    pub(crate) service: &'static Service,
    pub(crate) arguments: Vec<Datum>,
}

#[cfg(test)]
mod tests {
    use super::*;

    static SERVICES: [Service; 2] = [
        Service {
            name: "goto",
            doc: "",
            parameters: &[
                Parameter::number("x_m", ""),
                Parameter::number_or("z_m", 0.0, ""),
                Parameter::kept("speed_mps", ""),
            ],
            repeated: 0,
            part: Part::Motion,
            fits: |_, _| Ok(()),
            apply: |_| Ok(()),
            done: None,
        },
        Service {
            name: "route",
            doc: "",
            parameters: &[Parameter::word("how", ""), Parameter::number("x_m", ""), Parameter::number("y_m", "")],
            repeated: 2,
            part: Part::Motion,
            fits: |_, _| Ok(()),
            apply: |_| Ok(()),
            done: None,
        },
    ];

    fn checked(name: &str, arguments: &[Datum]) -> String {
        let service = find(&SERVICES, name);
        service.and_then(|service| service.check(arguments)).err().unwrap_or_default()
    }

    #[test]
    fn arguments_are_checked_in_number_and_form() {
        let usage = "expected goto(x_m, z_m = 0, speed_mps = as it was)";
        assert_eq!(checked("goto", &[1.0.into()]), "");
        assert_eq!(checked("goto", &[]), format!("found no argument for goto, {usage}"));
        assert_eq!(checked("goto", &[1.0; 4].map(Datum::from)), format!("found 4 arguments for goto, {usage}"));
        assert_eq!(checked("goto", &["there".into()]), "found \"there\" for x_m of goto, expected a number");
        assert_eq!(checked("goto", &[f64::NAN.into()]), "found NaN for x_m of goto, expected a finite number");
        assert_eq!(checked("gto", &[]), "found no service \"gto\" (did you mean \"goto\"?)");
    }

    #[test]
    fn the_last_parameters_are_repeated_together() {
        let route = |count: usize| {
            let mut arguments = vec![Datum::from("fast")];
            arguments.extend((0..count).map(|at| Datum::from(at as f64)));
            checked("route", &arguments)
        };
        assert_eq!([route(2), route(4), route(6)], ["", "", ""]);
        assert!(route(0).starts_with("found 1 argument") && route(3).ends_with("route(how, x_m, y_m, …)"));
        assert_eq!(
            checked("route", &[2.0.into(), 1.0.into(), 1.0.into()]),
            "found 2 for how of route, expected a word"
        );
        assert_eq!(SERVICES[1].parameter(5).map(|parameter| parameter.name), Some("x_m"));
    }
}
