//! What commands do to a world. A command that cannot be obeyed is refused with a reason and changes nothing.

use super::World;
use super::calls::Call;
use crate::command::{Action, Applied, Command};
use crate::component::Pose;
use crate::contact::{Bond, Mobility};
use crate::lanes::setpoint;
use crate::model::{Cohort, Placement, robot_key};
use crate::service::Part;
use crate::state::PlaceError;
use std::sync::Arc;

impl World {
    /// Writes down every command that takes effect from now on, see [`World::take_applied`].
    pub fn keep_applied(&mut self) {
        self.applied.get_or_insert_default();
    }

    /// Commands that took effect since this was last asked, in their order. Moves them to a list that is empty, whose
    /// room is used for the next.
    pub fn take_applied(&mut self, list: &mut Vec<Applied>) {
        list.clear();
        if let Some(applied) = &mut self.applied {
            std::mem::swap(applied, list);
        }
    }

    pub(super) fn note_applied(&mut self, command: &Command) {
        if let Some(applied) = &mut self.applied {
            applied.push(Applied { time: self.state.time, group: self.groups, command: command.clone() });
        }
    }

    pub(super) fn apply(&mut self, command: Command) {
        if let Err(refusal) = self.obey(command) {
            self.refused.push(refusal);
        }
    }

    /// Does what a command says; an error says why that is refused.
    pub(super) fn obey(&mut self, Command { link, sequence, action, .. }: Command) -> Result<(), String> {
        match action {
            Action::Setpoint { robot, mode, values } => self.set_setpoint(&robot, mode, values),
            Action::Set { path, values } => self.write_property(&path, &values),
            Action::AddProperty { path, values } => {
                self.add_property(&path, &values).map_err(|error| error.to_string())
            }
            Action::Teleport { robot, pose } => self.teleport(&robot, pose),
            Action::Spawn(placement) => self.spawn(&placement).map_err(|error| error.to_string()),
            Action::Delete { robot } => self.delete(&robot),
            Action::Attach { robot, to, bond } => self.attach(&robot, &to, bond),
            Action::Detach { robot } => self.detach(&robot),
            Action::Retool { robot, cohort, .. } => self.retool(&robot, &cohort),
            Action::Call { robot, service, arguments, reply } => {
                self.call(Call { robot, service, arguments, reply }, (link, sequence))
            }
            Action::Cancel { sequence } => {
                self.cancel((link, sequence));
                Ok(())
            }
        }
    }

    pub(super) fn number_of(&self, robot: &str) -> Result<u32, String> {
        let roster = &self.state.roster;
        let (realm, name) = roster.locate(robot);
        let members = roster.realms.get(realm as usize);
        let number = members.and_then(|members| members.number_of(name));
        let nearest = || crate::node::nearest(name, members?.names());
        number.ok_or_else(|| match nearest() {
            Some(name) => format!("found no robot {robot:?} (did you mean {name:?}?)"),
            None => format!("found no robot {robot:?}"),
        })
    }

    fn set_setpoint(&mut self, robot: &str, mode: f64, values: [f64; 4]) -> Result<(), String> {
        let number = self.number_of(robot)?;
        if !mode.is_finite() || values.iter().any(|value| !value.is_finite()) {
            return Err(format!("found a setpoint for {robot:?} that is not finite, expected numbers"));
        }
        if !(0..setpoint::NAMES.len()).any(|known| known as f64 == mode) {
            let names: Vec<String> =
                setpoint::NAMES.iter().enumerate().map(|(at, name)| format!("{at} {name}")).collect();
            return Err(format!("found setpoint mode {mode} for {robot:?}, expected one of {}", names.join(", ")));
        }
        self.write_setpoint(number, mode, values);
        self.preempt(number, Part::Motion);
        Ok(())
    }

    fn teleport(&mut self, robot: &str, pose: Pose) -> Result<(), String> {
        let number = self.number_of(robot)?;
        self.put(number, pose);
        Ok(())
    }

    pub(super) fn spawn(&mut self, placement: &Placement) -> Result<(), PlaceError> {
        let spawned = self.state.roster.realms.get(placement.realm as usize).map_or(0, |realm| realm.spawned) + 1;
        let number = self.state.add(placement, robot_key(&placement.name, spawned), &self.model)?;
        self.state.roster.realms[placement.realm as usize].spawned = spawned;
        self.stale = true;
        if let Err(error) = self.state.wire(number) {
            self.state.remove(number);
            return Err(error);
        }
        self.start(number);
        match &placement.attached {
            Some((holder, bond)) => self.hold(number, placement.realm, holder, *bond),
            None => Ok(()),
        }
    }

    fn delete(&mut self, robot: &str) -> Result<(), String> {
        let number = self.number_of(robot)?;
        self.remove(number);
        Ok(())
    }

    fn attach(&mut self, robot: &str, to: &str, bond: Bond) -> Result<(), String> {
        let (number, holder) = (self.number_of(robot)?, self.number_of(to)?);
        self.tie(number, holder, bond)
    }

    /// Attaches a robot to another of its realm, by name.
    pub(crate) fn attach_to(&mut self, number: u32, to: &str, bond: Bond) -> Result<(), String> {
        let realm = self.state.roster.get(number).map_or(0, |robot| robot.realm);
        let holder = self.state.roster.find_in(realm, to).map(|(holder, _)| holder);
        self.tie(number, holder.ok_or_else(|| format!("found no robot {to:?}, expected one to be attached to"))?, bond)
    }

    fn tie(&mut self, number: u32, holder: u32, bond: Bond) -> Result<(), String> {
        let (Some(robot), Some(other)) = (self.state.roster.get(number), self.state.roster.get(holder)) else {
            return Err("the robot is gone".to_owned());
        };
        let (name, to) = (&robot.name, &other.name);
        if number == holder || robot.realm != other.realm {
            return Err(format!("found {name:?} attached to {to:?}, expected another robot of the same world"));
        }
        if robot.cohort.blueprint.motion.mobility() != Mobility::Dynamic {
            return Err(format!("found {name:?}, which has no mass, expected a robot with mass to attach to {to:?}"));
        }
        self.state.attach(number, holder, bond);
        self.coupling.invalidate();
        Ok(())
    }

    /// Attaches a robot to another of its realm, as its placement says.
    pub(super) fn hold(&mut self, number: u32, realm: u32, holder: &str, bond: Bond) -> Result<(), PlaceError> {
        let found = self.state.roster.find_in(realm, holder).map(|(number, _)| number);
        match found.and_then(|holder| self.state.attach(number, holder, bond)) {
            Some(()) => Ok(()),
            None => Err(PlaceError::NoSuchRobot(holder.to_owned())),
        }
    }

    fn detach(&mut self, robot: &str) -> Result<(), String> {
        self.let_go(self.number_of(robot)?)
    }

    /// Lets go of a robot that is attached.
    pub(crate) fn let_go(&mut self, number: u32) -> Result<(), String> {
        self.coupling.invalidate();
        let name = self.state.roster.get(number).map_or_else(String::new, |robot| robot.name.clone());
        match self.state.detach(number) {
            true => Ok(()),
            false => Err(format!("found {name:?} free, expected a robot that is attached")),
        }
    }

    fn retool(&mut self, robot: &str, cohort: &Arc<Cohort>) -> Result<(), String> {
        let number = self.number_of(robot)?;
        self.stale = true;
        let kept = self.state.take_kept(number);
        let carried = self.state.retool(number, cohort);
        self.state.wire(number).map_err(|error| error.to_string())?;
        // what is new starts where the robot is; what was there goes on as it was
        self.start(number);
        if let Some(carried) = carried {
            self.state.carry(number, &carried);
        }
        self.state.give_kept(number, kept);
        Ok(())
    }
}
