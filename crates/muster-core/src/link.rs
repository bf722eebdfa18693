//! Links, as far as scenarios speak of them: a **binding** ties a channel of a robot (a sensor, an actuator, or the robot as
//! a whole) to a protocol. The core knows their names and what may be written for them; sockets are the business of others.

use crate::actuator::ActuatorSlot;
use crate::component::Misfit;
use crate::model::{Blueprint, SensorSlot};
use crate::node::{Node, Place, Problems};
use crate::spec::{Field, Spec};

/// One kind of link: a row in a table.
pub struct LinkKind {
    /// The word that chooses it.
    pub name: &'static str,
    /// What it is, in a sentence or two.
    pub doc: &'static str,
    /// What may be written for one binding.
    pub options: Form,
    /// What may be written for the link as a whole.
    pub settings: Form,
    /// Whether it can carry a channel; else what was found and what was expected.
    pub carries: fn(&Channel<'_>) -> Result<(), Misfit>,
}

/// A block a user may write, and whether one is right.
#[derive(Clone, Copy)]
pub struct Form {
    /// Its fields.
    pub fields: &'static [Field],
    /// Reads the block at a path (keys in the third argument belong to others); true if nothing is wrong.
    pub check: fn(&Node, &str, &[&str], &mut Problems) -> bool,
}

impl Form {
    /// The form of a specification.
    pub const fn of<T: Spec>() -> Self {
        Self { fields: T::FIELDS, check: |node, path, also, problems| T::read(node, path, also, problems).is_some() }
    }
}

/// Something of a robot that can be bound.
#[derive(Clone, Copy)]
pub enum Channel<'a> {
    /// The samples of a sensor.
    Sensor(&'a SensorSlot),
    /// Commands for an actuator.
    Actuator(&'a ActuatorSlot),
    /// The robot as a whole: its properties and services.
    Robot(&'a Blueprint),
}

/// A channel bound to a link.
#[derive(Clone)]
pub struct Binding {
    /// The robot's name.
    pub robot: String,
    /// The channel's name on the robot; empty for the robot as a whole.
    pub channel: String,
    /// The kind of link.
    pub to: &'static LinkKind,
    /// What was written for it, checked by the kind's form of options.
    pub options: Node,
    /// Where it is written.
    pub place: Place,
    /// The same in words: `file:line:column`.
    pub at: String,
}

impl Binding {
    /// Reads the options by the specification they were checked with.
    pub fn options<T: Spec>(&self) -> Option<T> {
        T::read(&self.options, "", &["channel", "to"], &mut Problems::default())
    }

    /// The channel's full name: `robot.channel`, or the robot's.
    pub fn path(&self) -> String {
        match self.channel.as_str() {
            "" => self.robot.clone(),
            channel => format!("{}.{channel}", self.robot),
        }
    }
}

impl std::fmt::Debug for Binding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {}", self.path(), self.to.name)
    }
}
