//! Motions of plug-ins.

use crate::drivers::each;
use crate::host::{Inside, What};
use crate::instance::Instance;
use muster_core::component::{Misfit, Motion, Tick};
use muster_core::contact::Mobility;
use muster_core::lanes::{Column, LANES, Quantity, body};
use muster_core::model::Environment;
use muster_plugin::abi::{self, MusterAdvance};
use std::sync::{Arc, Mutex, PoisonError};

/// A motion of a plug-in.
pub(crate) struct PluginMotion {
    instance: Arc<Instance>,
    speed_max_mps: f64,
    constants: Vec<(&'static str, f64)>,
    /// Why a robot could not be started; told at the next tick.
    unstarted: Mutex<Option<String>>,
}

impl PluginMotion {
    /// A motion that was configured; an error if it has no speed bound.
    pub(crate) fn new(instance: Arc<Instance>, constants: Vec<(&'static str, f64)>) -> Result<Self, Misfit> {
        let bound = instance.kind.table.speed_max_mps;
        // SAFETY: the component lives
        let speed_max_mps = bound.map_or(f64::NAN, |bound| unsafe { bound(instance.me) });
        if !(speed_max_mps.is_finite() && speed_max_mps >= 0.0) {
            let found =
                format!("a greatest speed of {speed_max_mps} m/s from plug-in {:?}", instance.library.plugin.name);
            return Err((found, "a number of at least 0".to_owned()));
        }
        Ok(Self { instance, speed_max_mps, constants, unstarted: Mutex::default() })
    }

    fn raw(&self, inside: &Inside<'_>, columns: &mut [Column], lanes: usize, gravity_mps2: &[f64; 3]) -> MusterAdvance {
        MusterAdvance {
            call: inside.call::<MusterAdvance>(lanes),
            time_ns: 0,
            dt_s: 0.0,
            columns: columns.as_mut_ptr().cast(),
            gravity_mps2: gravity_mps2.as_ptr(),
            column_count: columns.len() as u32,
            inputs: body::COLUMNS as u32,
            state: (body::COLUMNS + Quantity::total(self.instance.kind.inputs)) as u32,
            reserved: 0,
        }
    }

    fn blame(&self, tick: &Tick<'_>, lanes: u32, text: &str) {
        each(lanes, |lane| tick.fault(lane, self.instance.told(text)));
    }
}

/// The columns that say where a robot is and how it moves.
const MOVED: usize = body::ACCELERATION;

impl Motion for PluginMotion {
    fn inputs(&self) -> &[Quantity] {
        self.instance.kind.inputs
    }

    fn state(&self) -> &[Quantity] {
        self.instance.kind.state
    }

    fn speed_max_mps(&self) -> f64 {
        self.speed_max_mps
    }

    fn mobility(&self) -> Mobility {
        match self.instance.kind.table.flags {
            flags if flags & abi::FIXED != 0 => Mobility::Fixed,
            flags if flags & abi::PLANAR != 0 => Mobility::Planar,
            _ => Mobility::Kinematic,
        }
    }

    fn start(&self, columns: &mut [Column], lane: usize) {
        let Some(start) = self.instance.kind.table.start_motion else { return };
        let inside = Inside::new(self.instance.library, What::Plain, None);
        let gravity_mps2 = Environment::empty().gravity_mps2.to_array();
        let mut raw = self.raw(&inside, columns, LANES, &gravity_mps2);
        // SAFETY: the component lives, and so does the call until it returns
        let code = unsafe { start(self.instance.me, &raw mut raw, lane as u32) };
        if code != abi::OK || !inside.faults.borrow().is_empty() {
            *self.unstarted.lock().unwrap_or_else(PoisonError::into_inner) = Some(inside.complaint(code));
        }
    }

    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>) {
        let Some(function) = self.instance.kind.table.advance else { return };
        let all = ((1_u64 << lanes) - 1) as u32;
        if let Some(text) = &*self.unstarted.lock().unwrap_or_else(PoisonError::into_inner) {
            return self.blame(tick, all, &format!("could not start: {text}"));
        }
        let limit = tick.environment.call_limit;
        let inside = Inside::new(self.instance.library, What::Plain, Some(tick.environment));
        let gravity_mps2 = tick.environment.gravity_mps2.to_array();
        let mut raw = MusterAdvance {
            time_ns: tick.time.ns() as i64,
            dt_s: tick.dt_s,
            ..self.raw(&inside, columns, lanes, &gravity_mps2)
        };
        // SAFETY: the component lives, and so does the call until it returns
        let (code, slow) = self.instance.timed(limit, || unsafe { function(self.instance.me, &raw mut raw) });
        let faults = inside.faults.take();
        for (lane, text) in &faults {
            let lanes = if *lane == abi::ALL_LANES { all } else { all & 1_u32.checked_shl(*lane).unwrap_or(0) };
            self.blame(tick, lanes, text);
        }
        if code != abi::OK && faults.is_empty() {
            self.blame(tick, all, &format!("returned error {code}"));
        }
        if let Some(took) = slow {
            each(all, |lane| tick.fault(lane, self.instance.slow(took, limit)));
        }
        each(all, |lane| {
            if columns[..MOVED].iter().any(|column| !column[lane].is_finite()) {
                self.blame(tick, 1 << lane, "moved it to what is no number (NaN or infinite)");
            }
        });
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        self.constants.clone()
    }

    fn unrepeatable(&self) -> Option<String> {
        self.instance.unrepeatable()
    }
}
