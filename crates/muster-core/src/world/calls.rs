//! Calls of services: how they are begun, answered, preempted and cancelled, and what services may do to a world.

use super::World;
use crate::chunk::Surroundings;
use crate::component::{Order, Pose, orders};
use crate::lanes::{body, setpoint};
use crate::model::Placement;
use crate::service::{Answer, Caller, Datum, Outcome, Part, Pending, Service, View};
use crate::state::State;
use glam::DVec3;
use std::sync::Arc;

/// A call of a service.
pub(super) struct Call {
    pub(super) robot: String,
    pub(super) service: &'static Service,
    pub(super) arguments: Vec<Datum>,
    pub(super) reply: bool,
}

impl World {
    /// Answers to calls, since this was last asked, in the order in which they were known.
    pub fn take_answers(&mut self) -> Vec<Answer> {
        std::mem::take(&mut self.answers)
    }

    /// Asks a robot for a service; an error says why that was refused, if nobody waits for an answer.
    pub(super) fn call(&mut self, call: Call, (link, sequence): (u32, u64)) -> Result<(), String> {
        let begun = self.begin(&call);
        if !call.reply {
            return begun.map(|_| ());
        }
        match begun {
            Err(why) => self.answer(link, sequence, Outcome::Failed(why)),
            Ok(Some(robot)) => {
                let Call { service, arguments, .. } = call;
                self.state.calls.push(Pending { link, sequence, robot, service, arguments });
            }
            Ok(None) => self.answer(link, sequence, Outcome::Succeeded),
        }
        Ok(())
    }

    /// Begins what was asked for; returns the robot if it takes time.
    fn begin(&mut self, call: &Call) -> Result<Option<(u32, u64)>, String> {
        let Call { robot, service, arguments, .. } = call;
        let number = self.number_of(robot)?;
        service.check(arguments)?;
        let Some(found) = self.state.roster.get(number) else { return Err(format!("found no robot {robot:?}")) };
        let (key, cohort) = (found.key, Arc::clone(&found.cohort));
        if self.state.isolated(found) {
            return Err(format!("found robot {robot:?} isolated, expected one that is well"));
        }
        (service.fits)(&cohort, arguments).map_err(|why| format!("{robot}.{}: {why}", service.name))?;
        let mut caller = Caller { world: self, number, service, arguments, address: robot.clone(), cohort };
        (service.apply)(&mut caller).map_err(|why| format!("{robot}.{}: {why}", service.name))?;
        self.preempt(number, service.part);
        Ok(service.done.is_some().then_some((number, key)))
    }

    /// Calls that want this part of a robot give way to another.
    pub(super) fn preempt(&mut self, robot: u32, part: Part) {
        let wants = |call: &Pending| call.robot.0 == robot && call.service.part == part && part != Part::None;
        while let Some(at) = self.state.calls.iter().position(wants) {
            let Pending { link, sequence, .. } = self.state.calls.remove(at);
            self.answer(link, sequence, Outcome::Preempted);
        }
    }

    /// Gives up a call.
    pub(super) fn cancel(&mut self, (link, sequence): (u32, u64)) {
        let meant = |call: &Pending| (call.link, call.sequence) == (link, sequence);
        let Some(at) = self.state.calls.iter().position(meant) else { return };
        let Pending { robot: (number, key), service, .. } = self.state.calls.remove(at);
        self.answer(link, sequence, Outcome::Preempted);
        let robot = self.state.roster.get(number).filter(|robot| robot.key == key);
        let Some((address, cohort)) = robot.map(|robot| (robot.address(), Arc::clone(&robot.cohort))) else { return };
        let mut caller = Caller { world: self, number, service, arguments: &[], address, cohort };
        match service.part {
            Part::Motion => {
                let stopped = caller.stop();
                self.refused.extend(stopped.err());
            }
            Part::Joints => caller.hold_joints(),
            Part::None => (),
        }
    }

    fn answer(&mut self, link: u32, sequence: u64, outcome: Outcome) {
        self.answers.push(Answer { link, sequence, time: self.state.time, outcome });
    }

    /// Answers calls that are done, or cannot be.
    pub(super) fn answer_calls(&mut self) {
        let mut at = 0;
        while at < self.state.calls.len() {
            match self.outcome(&self.state.calls[at]) {
                None => at += 1,
                Some(outcome) => {
                    let Pending { link, sequence, .. } = self.state.calls.remove(at);
                    self.answer(link, sequence, outcome);
                }
            }
        }
    }

    fn outcome(&self, call: &Pending) -> Option<Outcome> {
        let robot = self.state.roster.get(call.robot.0).filter(|robot| robot.key == call.robot.1);
        let Some(robot) = robot else { return Some(Outcome::Failed("the robot is gone".to_owned())) };
        if self.state.isolated(robot) {
            return Some(Outcome::Failed("the robot was isolated".to_owned()));
        }
        let view = View { world: self, number: call.robot.0, arguments: &call.arguments };
        call.service.done.is_some_and(|done| done(&view)).then_some(Outcome::Succeeded)
    }

    pub(crate) fn write_property(&mut self, path: &str, values: &[f64]) -> Result<(), String> {
        self.coupling.invalidate();
        self.set_property(path, values).map_err(|error| error.to_string())
    }

    pub(crate) fn write_setpoint(&mut self, number: u32, mode: f64, values: [f64; 4]) {
        let Some((chunk, lane)) = self.state.place_of_mut(number) else { return };
        chunk.real[body::SETPOINT_MODE][lane] = mode;
        for (offset, value) in values.into_iter().enumerate() {
            chunk.real[body::SETPOINT + offset][lane] = value;
        }
    }

    pub(crate) fn write_inputs(&mut self, number: u32, values: &[f64]) {
        let Some((chunk, lane)) = self.state.place_of_mut(number) else { return };
        let first = chunk.cohort.layout.inputs.0;
        for (offset, &value) in values.iter().enumerate() {
            chunk.real[first + offset][lane] = value;
        }
    }

    /// Lets a robot's driver be called, or not.
    pub(crate) fn suspend(&mut self, number: u32, suspended: bool) {
        if let Some((chunk, lane)) = self.state.place_of_mut(number) {
            chunk.suspended = (chunk.suspended & !(1 << lane)) | (u32::from(suspended) << lane);
        }
    }

    /// True if a robot's driver is not called.
    pub(crate) fn suspended(&self, number: u32) -> bool {
        self.state.place_of(number).is_some_and(|(chunk, lane)| chunk.suspended & (1 << lane) != 0)
    }

    pub(crate) fn order(&mut self, number: u32, driver: usize, order: &Order<'_>) -> Result<(), String> {
        let Some(robot) = self.state.roster.get(number) else { return Err("the robot is gone".to_owned()) };
        let (index, lane) = (robot.chunk as usize, usize::from(robot.lane));
        let State { chunks, board, .. } = &mut self.state;
        let around = Surroundings {
            environment: &self.environment,
            board,
            simd: self.options.simd,
            logic_after_physics: self.model.logic_after_physics,
        };
        match chunks.get_mut(index) {
            Some(Some(chunk)) => chunk.order((lane, driver), order, &around),
            _ => Err("the robot is gone".to_owned()),
        }
    }

    pub(crate) fn put(&mut self, number: u32, pose: Pose) {
        self.state.teleport(number, pose);
        self.coupling.invalidate();
    }

    pub(crate) fn remove(&mut self, number: u32) {
        self.state.remove(number);
        self.stale = true;
    }

    pub(crate) fn spawn_like(&mut self, number: u32, name: &str, pose: Pose) -> Result<(), String> {
        let Some(robot) = self.state.roster.get(number) else { return Err("the robot is gone".to_owned()) };
        let (realm, cohort) = (robot.realm, Arc::clone(&robot.cohort));
        let placement =
            Placement { name: name.to_owned(), realm, cohort, pose, velocity_mps: DVec3::ZERO, attached: None };
        self.spawn(&placement).map_err(|error| error.to_string())
    }

    fn hold_joints(&mut self, number: u32) {
        let Some((chunk, lane)) = self.state.place_of_mut(number) else { return };
        let joints = chunk.cohort.layout.joints;
        for joint in 0..joints.count {
            chunk.real[joints.commands() + joint][lane] = chunk.real[joints.positions() + joint][lane];
        }
        if joints.count > 0 {
            chunk.real[joints.mode()][lane] = crate::joints::mode::POSITION;
        }
    }
}

impl Caller<'_> {
    /// Brings the robot to rest as fast as it can: by its driver, if that follows such orders, else by a velocity of zero
    /// while its driver is not called. Aircraft that fly a course keep to it, as they cannot stop.
    pub fn stop(&mut self) -> Result<(), String> {
        // a driver that was put aside knows nothing of where the robot is now
        if !self.world.suspended(self.number)
            && let Some(done) = self.order(orders::STOP, &[])
        {
            return done;
        }
        self.take_over()?;
        if self.setpoint_mode() != setpoint::COURSE {
            self.setpoint(setpoint::VELOCITY, [0.0; 4]);
        }
        Ok(())
    }

    /// Keeps all joints where they are.
    pub fn hold_joints(&mut self) {
        self.world.hold_joints(self.number);
    }
}
