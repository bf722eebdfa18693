//! Sensors of plug-ins: those that know the robot they are on, and those that look at the world.

use crate::drivers::{each, placeholder};
use crate::fields::Given;
use crate::host::{Inside, What};
use crate::instance::{Instance, addresses};
use muster_core::component::{Feel, Fitting, Keepsake, Look, LookAt, Measure, Misfit, Pose, Sense, Sensor, fail};
use muster_core::lanes::{LANES, Quantity};
use muster_core::snapshot::Seen;
use muster_plugin::abi::{self, MusterLook, MusterMeasure};
use std::sync::Arc;

/// A sensor of a plug-in, of either sort.
pub(crate) struct PluginSensor {
    instance: Arc<Instance>,
    given: Given,
}

impl PluginSensor {
    pub(crate) fn new(instance: Arc<Instance>, given: Given) -> Self {
        Self { instance, given }
    }

    fn looks(&self) -> bool {
        self.instance.kind.table.family == abi::LOOK
    }

    /// Calls a function of the plug-in for lanes of a chunk; says whom it failed on.
    fn call(&self, measure: &mut Measure<'_>, lanes: u32, function: impl FnOnce(*mut MusterMeasure) -> i32) -> u32 {
        let limit = measure.environment.call_limit;
        let remembers = self.instance.kind.table.robot_create.is_some();
        let robots = if remembers { addresses(measure.kept) } else { [std::ptr::null_mut(); LANES] };
        let mount = numbers_of(measure.mount);
        let gravity_mps2 = measure.environment.gravity_mps2.to_array();
        let inside = Inside::new(self.instance.library, What::Plain, Some(measure.environment));
        let mut raw = MusterMeasure {
            call: inside.call::<MusterMeasure>(measure.lanes),
            time_ns: measure.time.ns() as i64,
            period_s: measure.period_s,
            index: measure.index,
            truth: measure.truth.as_ptr().cast(),
            state: measure.state.as_mut_ptr().cast(),
            sample: measure.sample.as_mut_ptr().cast(),
            mount: mount.as_ptr(),
            gravity_mps2: gravity_mps2.as_ptr(),
            streams: measure.streams.as_ptr(),
            robots: if remembers { robots.as_ptr() } else { std::ptr::null() },
            truth_count: measure.truth.len() as u32,
            state_count: measure.state.len() as u32,
            sample_count: measure.sample.len() as u32,
            reserved: 0,
        };
        let (code, slow) = self.instance.timed(limit, || function(&raw mut raw));
        let mut failed = 0;
        let mut blame = |lanes: u32, text: String| {
            failed |= lanes;
            each(lanes, |lane| measure.faults.push((lane, text.clone())));
        };
        let faults = inside.faults.take();
        for (lane, text) in &faults {
            let of = if *lane == abi::ALL_LANES { lanes } else { lanes & 1_u32.checked_shl(*lane).unwrap_or(0) };
            blame(of, self.instance.told(text));
        }
        if code != abi::OK && faults.is_empty() {
            blame(lanes, self.instance.told(&format!("returned error {code}")));
        }
        if let Some(took) = slow {
            blame(lanes, self.instance.slow(took, limit));
        }
        failed
    }
}

/// A pose as plug-ins get it.
fn numbers_of(pose: &Pose) -> [f64; 7] {
    let ([x, y, z], [qx, qy, qz, qw]) = (pose.position_m.to_array(), pose.orientation.to_array());
    [x, y, z, qx, qy, qz, qw]
}

impl Sensor for PluginSensor {
    fn fields(&self) -> &'static [Quantity] {
        self.instance.kind.sample
    }

    fn default_rate_hz(&self) -> f64 {
        match self.instance.kind.table.rate_hz {
            rate if rate > 0.0 => rate,
            _ => 50.0,
        }
    }

    fn sense(&self) -> Sense<'_> {
        if self.looks() { Sense::World(self) } else { Sense::Own(self) }
    }

    fn fitted(&self, robot: &Fitting<'_>) -> Result<Option<Arc<dyn Sensor>>, Misfit> {
        self.instance.configure(&self.given, Some(robot)).map(|_| None)
    }

    fn unrepeatable(&self) -> Option<String> {
        self.instance.unrepeatable()
    }
}

impl Feel for PluginSensor {
    fn state(&self) -> &'static [Quantity] {
        self.instance.kind.state
    }

    fn memory(&self, robot: &str) -> Option<Box<dyn Keepsake>> {
        self.instance.remember(robot)
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        let table = &self.instance.kind.table;
        if table.robot_create.is_some() && addresses(measure.kept)[lane].is_null() {
            return measure.faults.push((lane, self.instance.told("made no memory of the robot")));
        }
        if let Some(start) = table.start_sensor {
            // SAFETY: the component lives, and so does the call until it returns
            self.call(measure, 1 << lane, |raw| unsafe { start(self.instance.me, raw, lane as u32) });
        }
    }

    fn measure(&self, measure: &mut Measure<'_>) {
        let Some(function) = self.instance.kind.table.measure else { return };
        let lanes = ((1_u64 << measure.lanes) - 1) as u32;
        // SAFETY: the component lives, and so does the call until it returns
        let failed = self.call(measure, lanes, |raw| unsafe { function(self.instance.me, raw) });
        each(lanes & !failed, |lane| {
            if measure.sample.iter().any(|column| column[lane].is_nan()) {
                measure.faults.push((lane, self.instance.told("measured what is no number (NaN)")));
            }
        });
    }
}

impl Look for PluginSensor {
    fn capacity(&self, robots: usize) -> usize {
        match self.instance.kind.table.capacity {
            // SAFETY: the component lives
            Some(capacity) => unsafe { capacity(self.instance.me, robots as u64) }.min(CAPACITY_MAX) as usize,
            None => Quantity::total(self.instance.kind.sample),
        }
    }

    fn sees_bodies(&self) -> bool {
        self.instance.kind.table.flags & abi::SEES_BODIES != 0
    }

    fn look(&self, at: &LookAt<'_>, sample: &mut Vec<f64>) {
        let Some(function) = self.instance.kind.table.look else { return };
        let robots = &at.world.robots;
        let limit = at.world.environment.call_limit;
        let capacity = self.capacity(robots.len());
        sample.clear();
        sample.resize(capacity, 0.0);
        let pose = numbers_of(&at.pose());
        let first = robots.as_ptr();
        let inside = Inside::new(self.instance.library, What::Look(at), Some(&at.world.environment));
        let mut raw = MusterLook {
            call: placeholder(),
            time_ns: at.world.time.ns() as i64,
            period_s: at.period_s,
            index: at.index,
            stream: at.stream,
            robot: at.robot as u64,
            robots: robots.len() as u64,
            stride: size_of::<Seen>() as u64,
            // numbers of the first robot; those of others follow at equal distances
            positions_m: first.wrapping_byte_add(std::mem::offset_of!(Seen, position_m)).cast(),
            orientations: first.wrapping_byte_add(std::mem::offset_of!(Seen, orientation)).cast(),
            velocities_mps: first.wrapping_byte_add(std::mem::offset_of!(Seen, velocity_mps)).cast(),
            pose: pose.as_ptr(),
            sample: sample.as_mut_ptr(),
            capacity: capacity as u64,
            count: 0,
        };
        raw.call = inside.call::<MusterLook>(1);
        // SAFETY: the component lives, and so does the call until it returns
        let (code, slow) = self.instance.timed(limit, || unsafe { function(self.instance.me, &raw mut raw) });
        if code != abi::OK || !inside.faults.borrow().is_empty() {
            fail(self.instance.told(&inside.complaint(code)));
        }
        if let Some(took) = slow {
            fail(self.instance.slow(took, limit));
        }
        sample.truncate(raw.count as usize);
        if sample.iter().any(|value| value.is_nan()) {
            fail(self.instance.told("saw what is no number (NaN)"));
        }
    }
}

/// No sample of a plug-in has more numbers than this.
const CAPACITY_MAX: u64 = 1 << 28;
