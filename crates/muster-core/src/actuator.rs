//! Actuators: named inputs of a robot, as a robot's software knows them: `motion` takes `v` and `w`. An actuator knows no
//! middleware. It says what a message to it holds and which service of the robot that comes down to, and may be asked for
//! more under names of its own (`goto`, `stop`, `get_status`); see [`Registry`](crate::component::Registry).
//!
//! Nothing here changes a robot: what is wanted of it is a [call](Ask) like any other, stamped and recorded.

use crate::model::Cohort;
use crate::service::{Datum, View, number_at};
use std::borrow::Cow;
use std::sync::Arc;

/// A kind of named input, with its parameters.
pub trait Actuator: Send + Sync {
    /// What a message to it holds, on robots of a cohort; nothing for an actuator that is only asked.
    fn inputs(&self, cohort: &Cohort) -> Vec<Input>;

    /// The service without which it is of no use.
    fn service(&self) -> &'static str;

    /// Whether robots of a cohort can follow it, beside having its service: else what was found and what was expected.
    fn fits(&self, cohort: &Cohort) -> Result<(), String> {
        _ = cohort;
        Ok(())
    }

    /// What a message asks of the robot: as many numbers as the inputs take together.
    fn command(&self, robot: &View<'_>, values: &[f64]) -> Result<Ask, String>;

    /// What may be asked of it by name.
    fn offers(&self) -> &'static [Offer] {
        &[]
    }

    /// Answers, or says what the robot is to be asked. Only offers of [`Actuator::offers`] come, with as many arguments as
    /// they take.
    fn ask(&self, robot: &View<'_>, offer: &str, arguments: &[Told]) -> Result<Deed, String> {
        _ = (robot, arguments);
        Err(format!("found {offer:?}, expected nothing to be asked"))
    }
}

/// An actuator in its place on a robot.
#[derive(Clone)]
pub struct ActuatorSlot {
    /// Its name on the robot.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// The actuator.
    pub actuator: Arc<dyn Actuator>,
    /// Its parameters as text, in the order of its kind.
    pub settings: Settings,
}

/// The parameters of a component as a user would write them.
pub type Settings = Arc<[(&'static str, String)]>;

/// Something a message to an actuator holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: Cow<'static, str>,
    /// How many numbers it is; a list if more than one.
    pub len: usize,
    /// What it is if a message leaves it out; none if it must be there.
    pub default: Option<f64>,
    /// What it is, with the unit.
    pub doc: &'static str,
}

impl Input {
    /// A number that is 0 if it is left out.
    pub const fn number(name: &'static str, doc: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), len: 1, default: Some(0.0), doc }
    }

    /// A number that must be there.
    pub const fn needed(name: &'static str, doc: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), len: 1, default: None, doc }
    }

    /// A list of numbers that must be there.
    pub const fn list(name: &'static str, len: usize, doc: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), len, default: None, doc }
    }
}

/// Something an actuator may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Its name.
    pub name: &'static str,
    /// The arguments it takes, in order.
    pub takes: &'static [&'static str],
    /// So many of them must be there.
    pub least: usize,
    /// What it does.
    pub doc: &'static str,
}

impl Offer {
    /// Whether so many arguments are right.
    pub fn takes_so_many(&self, count: usize) -> bool {
        (self.least..=self.takes.len()).contains(&count)
    }
}

/// A value as programs outside write it.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Told {
    /// Nothing.
    #[default]
    Nothing,
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
    /// A list.
    List(Vec<Told>),
    /// Values by name.
    Map(Vec<(String, Told)>),
}

impl Told {
    /// The number it is, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value),
            Self::Flag(flag) => Some(f64::from(u8::from(*flag))),
            _ => None,
        }
    }

    /// The word it is, if it is one.
    pub fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The items of a list.
    pub fn items(&self) -> &[Told] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// The numbers of a list.
    pub fn numbers(values: impl IntoIterator<Item = f64>) -> Self {
        Self::List(values.into_iter().map(Self::Number).collect())
    }
}

impl From<&str> for Told {
    fn from(word: &str) -> Self {
        Self::Word(word.to_owned())
    }
}

/// A service to be asked of a robot.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The robot by its name in the world; the actuator's own if none.
    pub robot: Option<String>,
    /// The service.
    pub service: &'static str,
    /// With what.
    pub arguments: Vec<Datum>,
}

impl Ask {
    /// A service of the actuator's own robot, with numbers. Those at the end that are not numbers are left out.
    pub fn own(service: &'static str, numbers: &[f64]) -> Self {
        let given = numbers.iter().rposition(|number| !number.is_nan()).map_or(0, |last| last + 1);
        Self { robot: None, service, arguments: numbers[..given].iter().copied().map(Datum::Number).collect() }
    }

    /// The numbers it is asked with, for tests of actuators.
    pub fn numbers(&self) -> Vec<f64> {
        (0..self.arguments.len()).filter_map(|at| number_at(&self.arguments, at)).collect()
    }
}

/// What follows from asking an actuator.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Deed {
    /// What is asked of a robot, if anything.
    pub ask: Option<Ask>,
    /// True if whoever asked is answered when that is done, else at once.
    pub wait: bool,
    /// The answer.
    pub told: Told,
}

impl Deed {
    /// Only an answer.
    pub fn tell(told: Told) -> Self {
        Self { ask: None, wait: false, told }
    }

    /// A service to be asked, and an answer at once.
    pub fn ask(ask: Ask, told: Told) -> Self {
        Self { ask: Some(ask), wait: false, told }
    }

    /// A service to be asked, and an answer when it is done.
    pub fn wait(ask: Ask, told: Told) -> Self {
        Self { ask: Some(ask), wait: true, told }
    }
}

/// The number among arguments at a place; this one if it was left out.
pub fn number_or(arguments: &[Told], at: usize, default: f64) -> Result<f64, String> {
    match arguments.get(at) {
        None | Some(Told::Nothing) => Ok(default),
        Some(told) => told.number().ok_or_else(|| format!("found {told:?} as argument {}, expected a number", at + 1)),
    }
}

/// The first `N` numbers among arguments.
pub fn numbers<const N: usize>(arguments: &[Told], defaults: [f64; N]) -> Result<[f64; N], String> {
    let mut values = defaults;
    for (at, value) in values.iter_mut().enumerate() {
        *value = number_or(arguments, at, *value)?;
    }
    Ok(values)
}
