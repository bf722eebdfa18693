//! Drivers of plug-ins: one call for all robots of a chunk that are due, then their outputs are looked at.

use crate::fields::Given;
use crate::host::{Inside, What, reading_of};
use crate::instance::{Instance, addresses};
use muster_core::component::{Control, Driver, Fitting, Keepsake, Misfit, Pose, Subscription};
use muster_core::lanes::{Column, LANES, Quantity};
use muster_plugin::abi::{self, MusterControl};
use std::sync::Arc;

/// A driver of a plug-in.
pub(crate) struct PluginDriver {
    instance: Arc<Instance>,
    given: Given,
    subscriptions: Vec<Subscription>,
    integers: Vec<Quantity>,
    /// How many of the integers are the plug-in's own; after them, when each subscription was heard last.
    own_integers: usize,
}

impl PluginDriver {
    pub(crate) fn new(instance: Arc<Instance>, given: Given) -> Self {
        let (integers, own_integers) = (instance.kind.integers.to_vec(), Quantity::total(instance.kind.integers));
        Self { instance, given, subscriptions: Vec::new(), integers, own_integers }
    }

    /// Calls a function of the plug-in for these lanes.
    fn call(&self, control: &mut Control<'_>, due: u32, function: impl FnOnce(*mut MusterControl) -> i32) -> Called {
        let (limit, environment) = (control.environment.call_limit, control.environment);
        let remembers = self.instance.kind.table.robot_create.is_some();
        let robots = if remembers { addresses(control.kept) } else { [std::ptr::null_mut(); LANES] };
        let mut raw = MusterControl {
            call: placeholder(),
            due,
            current: abi::ALL_LANES,
            time_ns: control.time.ns() as i64,
            period_s: control.period_s,
            index: control.index,
            mode: control.mode.as_mut_ptr(),
            setpoint: control.setpoint.as_mut_ptr().cast(),
            inputs: control.inputs.as_mut_ptr().cast(),
            state: control.state.as_mut_ptr().cast(),
            integers: control.integers.as_mut_ptr().cast(),
            joint_positions: control.joints.positions.as_ptr().cast(),
            joint_commands: control.joints.commands.as_mut_ptr().cast(),
            joint_mode: control.joints.mode.first_mut().map_or(std::ptr::null_mut(), |mode| mode.as_mut_ptr()),
            streams: control.streams.as_ptr(),
            robots: if remembers { robots.as_ptr() } else { std::ptr::null() },
            input_count: control.inputs.len() as u32,
            state_count: control.state.len() as u32,
            integer_count: self.own_integers as u32,
            joint_count: control.joints.positions.len() as u32,
        };
        let inside = Inside::new(self.instance.library, What::Control(&raw const *control), Some(environment));
        raw.call = inside.call::<MusterControl>(LANES);
        let (code, slow) = self.instance.timed(limit, || function(&raw mut raw));
        if code == abi::OK && slow.is_none() && inside.faults.borrow().is_empty() {
            return Called { failed: 0, left: 0 };
        }
        let mut called = self.blame(control, due, (code, raw.current), &inside);
        if let Some(took) = slow {
            called = Called { failed: called.failed | due, left: 0 };
            each(due, |lane| control.fault(lane, self.instance.slow(took, limit)));
        }
        called
    }

    /// Says who failed, and who has not been served because of it.
    fn blame(&self, control: &mut Control<'_>, due: u32, (code, current): (i32, u32), inside: &Inside<'_>) -> Called {
        let mut failed = 0;
        let faults = inside.faults.take();
        for (lane, text) in &faults {
            let lanes = if *lane == abi::ALL_LANES { due } else { due & 1_u32.checked_shl(*lane).unwrap_or(0) };
            failed |= lanes;
            each(lanes, |lane| control.fault(lane, self.instance.told(text)));
        }
        if code == abi::OK {
            return Called { failed, left: 0 };
        }
        if faults.is_empty() {
            failed = if current < LANES as u32 { 1 << current } else { due };
            let text = self.instance.told(&format!("returned error {code}"));
            each(failed, |lane| control.fault(lane, text.clone()));
        }
        // who goes lane by lane and failed at one has not come to those after it
        let after = if current < LANES as u32 { due & !((1 << current) | ((1 << current) - 1)) } else { 0 };
        Called { failed, left: after & !failed }
    }

    /// Tells the plug-in of samples that came since it was last called.
    fn notify(&self, control: &mut Control<'_>, due: u32) -> u32 {
        let Some(on_sample) = self.instance.kind.table.on_sample else { return 0 };
        let mut failed = 0;
        each(due, |lane| {
            for number in 0..self.subscriptions.len() {
                let reading = reading_of(control, number, lane);
                let heard = &mut control.integers[self.own_integers + number][lane];
                if reading.stamp_ns < 0 || reading.stamp_ns == *heard || failed & (1 << lane) != 0 {
                    continue;
                }
                *heard = reading.stamp_ns;
                // SAFETY: the component lives, and so do the call and the sample until it returns
                let call = |raw| unsafe { on_sample(self.instance.me, raw, lane as u32, &reading) };
                failed |= self.call(control, 1 << lane, call).failed;
            }
        });
        failed
    }

    /// Isolates robots that were commanded what is no number.
    fn check(&self, control: &mut Control<'_>, lanes: u32) {
        let lists: [&[Column]; 4] = [control.setpoint, control.inputs, control.state, control.joints.commands];
        let mut signs = suspects(std::slice::from_ref(control.mode));
        for list in lists {
            let more = suspects(list);
            signs.iter_mut().zip(more).for_each(|(sign, more)| *sign += more);
        }
        if signs.iter().all(|&sign| sign == 0.0) {
            return;
        }
        each(lanes, |lane| {
            if signs[lane] != 0.0 {
                let what = "wrote what is no number (NaN or infinite) to setpoint, inputs, joints or state";
                control.fault(lane, self.instance.told(what));
            }
        });
    }
}

/// 0 where all numbers of a lane are finite.
#[inline]
fn suspects(columns: &[Column]) -> Column {
    let mut signs = [0.0; LANES];
    for column in columns {
        for lane in 0..LANES {
            // 0 times a finite number is 0; times NaN or infinity it is NaN
            signs[lane] += column[lane] * 0.0;
        }
    }
    signs
}

/// How a call went: who failed, and who is still to be served.
struct Called {
    failed: u32,
    left: u32,
}

/// Stands where the beginning of a call comes as soon as it is known where the rest is.
pub(crate) fn placeholder() -> abi::MusterCall {
    abi::MusterCall { size: 0, lanes: 0, host: std::ptr::null(), inside: std::ptr::null() }
}

/// Every lane of a set.
pub(crate) fn each(mut lanes: u32, mut serve: impl FnMut(usize)) {
    while lanes != 0 {
        serve(lanes.trailing_zeros() as usize % LANES);
        lanes &= lanes - 1;
    }
}

impl Driver for PluginDriver {
    fn state(&self) -> &[Quantity] {
        self.instance.kind.state
    }

    fn integers(&self) -> &[Quantity] {
        &self.integers
    }

    fn default_rate_hz(&self) -> f64 {
        match self.instance.kind.table.rate_hz {
            rate if rate > 0.0 => rate,
            _ => 50.0,
        }
    }

    fn subscriptions(&self) -> Vec<Subscription> {
        self.subscriptions.clone()
    }

    fn fitted(&self, robot: &Fitting<'_>) -> Result<Option<Arc<dyn Driver>>, Misfit> {
        let subscriptions = self.instance.configure(&self.given, Some(robot))?;
        let mut integers = self.integers.clone();
        if self.instance.kind.table.on_sample.is_some() && !subscriptions.is_empty() {
            integers.push(Quantity::many("heard_ns", subscriptions.len()));
        }
        let (instance, given) = (Arc::clone(&self.instance), self.given.clone());
        Ok(Some(Arc::new(Self { instance, given, subscriptions, integers, own_integers: self.own_integers })))
    }

    fn memory(&self, robot: &str) -> Option<Box<dyn Keepsake>> {
        self.instance.remember(robot)
    }

    fn unrepeatable(&self) -> Option<String> {
        self.instance.unrepeatable()
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, _: Pose) {
        let table = &self.instance.kind.table;
        control.integers[self.own_integers..].iter_mut().for_each(|heard| heard[lane] = -1);
        if table.robot_create.is_some() && addresses(control.kept)[lane].is_null() {
            return control.fault(lane, self.instance.told("made no memory of the robot"));
        }
        if let Some(start) = table.start_driver {
            // SAFETY: the component lives, and so does the call until it returns
            self.call(control, 1 << lane, |raw| unsafe { start(self.instance.me, raw, lane as u32) });
        }
    }

    fn control(&self, control: &mut Control<'_>) {
        let due = control.due();
        let mut failed = self.notify(control, due);
        let Some(step) = self.instance.kind.table.step else { return };
        let mut left = due & !failed;
        while left != 0 {
            // SAFETY: the component lives, and so does the call until it returns
            let called = self.call(control, left, |raw| unsafe { step(self.instance.me, raw) });
            failed |= called.failed;
            left = called.left;
        }
        self.check(control, due & !failed);
    }
}
