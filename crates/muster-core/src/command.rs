//! Commands: every change from outside. They are ordered by time, link and sequence, and take effect at the first
//! window boundary at or after their time, which they make happen.

use crate::component::Pose;
use crate::contact::Bond;
use crate::model::{Cohort, Placement};
use crate::service::{Datum, Service};
use crate::time::SimTime;
use std::sync::Arc;

/// A change from outside.
#[derive(Clone)]
pub struct Command {
    /// When it takes effect; a past time means at the next boundary.
    pub time: SimTime,
    /// Which link it came by.
    pub link: u32,
    /// Its number on that link.
    pub sequence: u64,
    /// What to do.
    pub action: Action,
}

/// A command as it took effect, for those who write down what happened.
#[derive(Clone)]
pub struct Applied {
    /// When.
    pub time: SimTime,
    /// Commands that took effect together, before events looked at the world, have the same number; it never falls.
    pub group: u64,
    /// The command, in the order in which commands took effect.
    pub command: Command,
}

impl Command {
    /// What orders commands.
    pub(crate) fn order(&self) -> (SimTime, u32, u64) {
        (self.time, self.link, self.sequence)
    }
}

/// How a robot's blueprint was changed while it ran, in words that make the same change again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipe {
    /// A sensor got other modifiers.
    Modifiers {
        /// The sensor.
        sensor: String,
        /// The modifiers, as under `modifiers:`.
        yaml: String,
    },
    /// The robot was shown or hidden.
    Visible(bool),
}

/// What a command does.
#[derive(Clone)]
pub enum Action {
    /// Gives a robot a setpoint, see [`crate::lanes::setpoint`].
    Setpoint {
        /// The robot.
        robot: String,
        /// The mode.
        mode: f64,
        /// The four numbers.
        values: [f64; 4],
    },
    /// Sets a variable or a property, `robot.path`.
    Set {
        /// Which.
        path: String,
        /// To what.
        values: Vec<f64>,
    },
    /// Adds a property to a robot at run time.
    AddProperty {
        /// `robot.name`.
        path: String,
        /// Its value.
        values: Vec<f64>,
    },
    /// Puts a robot somewhere else, at rest.
    Teleport {
        /// The robot.
        robot: String,
        /// Where.
        pose: Pose,
    },
    /// Adds a robot.
    Spawn(Box<Placement>),
    /// Removes a robot.
    Delete {
        /// The robot.
        robot: String,
    },
    /// Attaches a robot with mass to another, where they are now: a load in a gripper, a trailer on a hitch.
    Attach {
        /// The robot that is attached.
        robot: String,
        /// The robot that holds it.
        to: String,
        /// How.
        bond: Bond,
    },
    /// Lets go of a robot that is attached.
    Detach {
        /// The robot.
        robot: String,
    },
    /// Gives a robot another blueprint, carrying over every variable of the same path: modifiers on a live sensor,
    /// another level of detail.
    Retool {
        /// The robot.
        robot: String,
        /// What it is made of from now on.
        cohort: Arc<Cohort>,
        /// How to make that again, if that can be told.
        recipe: Option<Recipe>,
    },
    /// Asks a robot for a service.
    Call {
        /// The robot.
        robot: String,
        /// Which service.
        service: &'static Service,
        /// With what.
        arguments: Vec<Datum>,
        /// True if the caller gets an [`Answer`](crate::service::Answer), by link and sequence; else a call that fails
        /// is a command refused.
        reply: bool,
    },
    /// Gives up a call of the same link that has not been answered: the robot stops, the answer is that the call was
    /// preempted.
    Cancel {
        /// The call's number on the link.
        sequence: u64,
    },
}
