//! Modifiers of plug-ins.

use crate::host::{Inside, What};
use crate::instance::Instance;
use muster_core::component::{Modifier, Sample, fail};
use muster_core::lanes::Quantity;
use muster_plugin::abi::{self, MusterSample};
use std::sync::Arc;

/// A modifier of a plug-in.
pub(crate) struct PluginModifier {
    pub(crate) instance: Arc<Instance>,
}

impl Modifier for PluginModifier {
    fn memory(&self, _: &[Quantity]) -> usize {
        Quantity::total(self.instance.kind.state)
    }

    fn check(&self, fields: &[Quantity]) -> Result<(), String> {
        let has = |wanted: &&Quantity| fields.iter().any(|field| field.name == wanted.name && field.len == wanted.len);
        match self.instance.kind.sample.iter().find(|wanted| !has(wanted)) {
            None => Ok(()),
            Some(wanted) => Err(format!(
                "a sensor with field {} of {}, which modifier {:?} changes",
                wanted.name, wanted.len, self.instance.kind.name
            )),
        }
    }

    fn unrepeatable(&self) -> Option<String> {
        self.instance.unrepeatable()
    }

    fn modify(&self, sample: &mut Sample<'_>) -> bool {
        let Some(function) = self.instance.kind.table.modify else { return true };
        let limit = sample.environment.call_limit;
        let inside = Inside::new(self.instance.library, What::Sample(sample.fields), Some(sample.environment));
        let mut raw = MusterSample {
            call: inside.call::<MusterSample>(1),
            values: sample.values.as_mut_ptr(),
            count: sample.values.len() as u64,
            memory: sample.memory.as_mut_ptr(),
            memory_count: sample.memory.len() as u64,
            stream: sample.stream,
            index: sample.index,
            stamp_ns: sample.stamp.ns() as i64,
            period_s: sample.period_s,
        };
        // SAFETY: the component lives, and so does the call until it returns
        let (code, slow) = self.instance.timed(limit, || unsafe { function(self.instance.me, &raw mut raw) });
        let known = matches!(code, abi::OK | abi::LOST);
        let of_kind = |text: String| format!("{:?} {text}", self.instance.kind.name);
        if !known || !inside.faults.borrow().is_empty() {
            fail(of_kind(self.instance.told(&inside.complaint(code))));
        }
        if let Some(took) = slow {
            fail(of_kind(self.instance.slow(took, limit)));
        }
        if sample.values.iter().chain(sample.memory.iter()).any(|value| value.is_nan()) {
            fail(of_kind(self.instance.told("wrote what is no number (NaN)")));
        }
        code == abi::OK
    }
}
