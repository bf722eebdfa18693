//! A controller without code: what the numbers of its lines are in the world. Names are looked up once, when it is opened.
//!
//! A name of a line that comes in is a property of the robot (`joint_command.wrist`, `driver.speed_mps`) or a parameter of one
//! of its services (`v_omega.v_mps`, `teleport.x_m`), which is then called with every line. A name of a line that goes out is a
//! property of the robot, a sensor's sample among them (`scan`, `scan[12]`, `imu.accel_mps2`), of another one
//! (`other.position_m`), or `time_s`.

use super::template::Template;
use crate::link::Desk;
use muster_core::command::Action;
use muster_core::component::Misfit;
use muster_core::node::nearest;
use muster_core::property::PropertyError;
use muster_core::service::{Datum, Form, Parameter, Service};
use muster_core::world::World;

/// The simulated time among the names of lines that go out.
const TIME: &str = "time_s";

/// What a controller takes in and gives out.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// What is done with lines that come in, and what these are.
    pub accepts: Option<(Vec<Deed>, Template)>,
    /// Where the numbers of lines that go out come from, and what these are.
    pub sends: Option<(Vec<Source>, Template)>,
}

/// What is done with numbers of a line.
#[derive(Debug, Clone)]
pub enum Deed {
    /// Sets a property to a value of the line.
    Set(String, usize),
    /// Calls a service with values of the line.
    Call(&'static Service, Vec<Argument>),
}

/// An argument of a service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument {
    /// A value of the line.
    Value(usize),
    /// Always this.
    Always(f64),
}

/// Where a number comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The simulated time.
    Time,
    /// A property by its full name.
    Property(String),
}

/// Where names are looked up.
pub struct Library<'a> {
    /// The world.
    pub world: &'a World,
    /// What can be asked of robots.
    pub services: &'static [Service],
    /// The robot they belong to.
    pub robot: &'a str,
}

impl Library<'_> {
    /// What is done with the values of a template.
    pub fn deeds(&self, template: &Template) -> Result<Vec<Deed>, Misfit> {
        let mut deeds = Vec::new();
        let mut called: Vec<&str> = Vec::new();
        for (at, slot) in template.slots.iter().enumerate() {
            let service = slot.name.split_once('.').and_then(|(name, _)| self.service(name));
            match service {
                None => deeds.push(Deed::Set(self.settable(&slot.name)?, at)),
                Some(service) if called.contains(&service.name) => (),
                Some(service) => {
                    called.push(service.name);
                    deeds.push(Deed::Call(service, self.arguments(service, template)?));
                }
            }
        }
        Ok(deeds)
    }

    /// The service of a name, if no property of the robot begins with it.
    fn service(&self, name: &str) -> Option<&'static Service> {
        let service = self.services.iter().find(|service| service.name == name)?;
        let robot = self.world.find(self.robot)?;
        let prefix = format!("{name}.");
        let taken = robot.cohort.layout.variables.iter().any(|variable| variable.path.starts_with(&prefix));
        (!taken).then_some(service)
    }

    /// The full name of a property that can be set to one number.
    fn settable(&self, name: &str) -> Result<String, Misfit> {
        let path = format!("{}.{name}", self.robot);
        let expected = "a property that can be set, or a parameter of a service";
        let values = self.world.property(&path).map_err(|error| (told(&error), expected.to_owned()))?;
        if values.len() != 1 {
            return Err((format!("{name:?}, which has {} values", values.len()), format!("one of them: {name}[0]")));
        }
        writable(self.world, &path).map_err(|found| (found, expected.to_owned()))?;
        Ok(path)
    }

    /// Which values of a template a service is called with.
    fn arguments(&self, service: &'static Service, template: &Template) -> Result<Vec<Argument>, Misfit> {
        let robot = self.world.find(self.robot);
        if let Some(Err(why)) = robot.map(|robot| (service.fits)(&robot.cohort, &[])) {
            return Err((format!("{}: {why}", service.name), format!("a service that {} can do", self.robot)));
        }
        let named: Vec<(usize, &str)> = template
            .slots
            .iter()
            .enumerate()
            .filter_map(|(at, slot)| Some((at, slot.name.strip_prefix(service.name)?.strip_prefix('.')?)))
            .collect();
        let known = |name: &str| service.parameters.iter().any(|parameter| parameter.name == name);
        if let Some((_, wrong)) = named.iter().find(|(_, name)| !known(name)) {
            let near = nearest(wrong, service.parameters.iter().map(|parameter| parameter.name));
            let hint = near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
            return Err((format!("no parameter {wrong:?}{hint}"), service.usage()));
        }
        let mut arguments = Vec::new();
        let last =
            named.iter().filter_map(|(_, name)| service.parameters.iter().position(|each| each.name == *name)).max();
        for parameter in service.parameters.iter().take(last.map_or(0, |last| last + 1).max(needed(service))) {
            let mut own = named.iter().filter(|(_, name)| *name == parameter.name).map(|(at, _)| *at);
            arguments.push(match (own.next(), parameter.form) {
                (_, Form::Word | Form::Robot) => {
                    return Err((format!("{}, which takes a word", service.name), "a service of numbers".to_owned()));
                }
                (Some(at), _) => Argument::Value(at),
                (None, Form::NumberOr(value)) => Argument::Always(value),
                (None, _) => {
                    let found = format!("no number for {}", parameter.name);
                    return Err((
                        found,
                        format!("all of {}; <{}.{}=0> is a constant", service.usage(), service.name, parameter.name),
                    ));
                }
            });
            let more: Vec<usize> = own.collect();
            if !more.is_empty() && service.repeated != 1 {
                return Err((format!("{}.{} twice", service.name, parameter.name), "each number once".to_owned()));
            }
            arguments.extend(more.into_iter().map(Argument::Value));
        }
        let count = service.check_count(arguments.len());
        count.map_err(|found| (found, service.usage()))?;
        Ok(arguments)
    }

    /// Where the values of a template come from.
    pub fn sources(&self, template: &Template) -> Result<Vec<Source>, Misfit> {
        let source = |name: &str| {
            if name == TIME {
                return Ok(Source::Time);
            }
            let path = resolved(self.world, Some(self.robot), name);
            let found = self.world.property(&path);
            found.map(|_| Source::Property(path)).map_err(|error| (told(&error), "a property, or time_s".to_owned()))
        };
        template.slots.iter().map(|slot| source(&slot.name)).collect()
    }
}

/// How many parameters of a service must be given.
fn needed(service: &Service) -> usize {
    let must = |parameter: &Parameter| !matches!(parameter.form, Form::NumberOr(_) | Form::NumberOrKept);
    service.parameters.iter().rposition(must).map_or(0, |last| last + 1)
}

/// The full name of a property: of the robot if it has such a one.
pub fn resolved(world: &World, robot: Option<&str>, name: &str) -> String {
    match robot.map(|robot| format!("{robot}.{name}")) {
        Some(own) if world.property(&own).is_ok() || world.property(name).is_err() => own,
        _ => name.to_owned(),
    }
}

/// What is wrong with a name, without "found".
fn told(error: &PropertyError) -> String {
    let text = error.to_string();
    let text = text.split(", expected").next().unwrap_or_default();
    text.strip_prefix("found ").unwrap_or(text).to_owned()
}

/// Whether a property can be set; else what was found.
pub fn writable(world: &World, path: &str) -> Result<(), String> {
    use muster_core::property::Slot;
    match world.slot(path.split('[').next().unwrap_or(path)) {
        Ok(Slot::Column(..) | Slot::Extra(_)) => Ok(()),
        Ok(_) => Err(format!("{path:?}, which cannot be set")),
        Err(error) => Err(told(&error)),
    }
}

impl Program {
    /// Does what a line says. What a robot refuses is told in the report of the run.
    pub fn obey(&self, robot: &str, values: &[f64], desk: &mut Desk<'_>) {
        let deeds = self.accepts.as_ref().map_or(&[][..], |(deeds, _)| deeds);
        for deed in deeds {
            match deed {
                Deed::Set(path, at) => _ = desk.post(Action::Set { path: path.clone(), values: vec![values[*at]] }),
                Deed::Call(service, arguments) => {
                    let datum = |argument: &Argument| match argument {
                        Argument::Value(at) => Datum::Number(values[*at]),
                        Argument::Always(value) => Datum::Number(*value),
                    };
                    let arguments = arguments.iter().map(datum).collect();
                    desk.post(Action::Call { robot: robot.to_owned(), service, arguments, reply: false });
                }
            }
        }
    }

    /// Writes a line with the values of now.
    pub fn report(&self, world: &World, line: &mut String) {
        let Some((sources, template)) = &self.sends else { return };
        let value = |source: &Source| match source {
            Source::Time => vec![world.time().s()],
            // a robot that is gone has none
            Source::Property(path) => world.property(path).unwrap_or_default(),
        };
        let values: Vec<Vec<f64>> = sources.iter().map(value).collect();
        template.write(|slot| &values[slot], line);
    }
}
