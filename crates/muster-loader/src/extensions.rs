//! Extensions of plug-ins.

use crate::host::{Inside, What};
use crate::instance::Instance;
use crate::trace::trace;
use muster_core::component::{Desk, Extension};
use muster_plugin::abi::{self, MusterCall, MusterWindow};
use std::cell::RefCell;
use std::sync::Arc;

/// An extension of a plug-in.
pub(crate) struct PluginExtension {
    pub(crate) instance: Arc<Instance>,
}

impl Extension for PluginExtension {
    fn init(&self) -> Result<(), String> {
        let Some(init) = self.instance.kind.table.init else { return Ok(()) };
        trace(|| format!("init extension {:?}", self.instance.kind.name));
        let inside = Inside::new(self.instance.library, What::Plain, None);
        let call = inside.call::<MusterCall>(0);
        // SAFETY: the component lives, and so does the call until it returns
        let code = unsafe { init(self.instance.me, &call) };
        if code == abi::OK && inside.faults.borrow().is_empty() {
            return Ok(());
        }
        Err(self.instance.told(&inside.complaint(code)))
    }

    fn shutdown(&self) {
        if let Some(shutdown) = self.instance.kind.table.shutdown {
            trace(|| format!("shutdown extension {:?}", self.instance.kind.name));
            // SAFETY: the component lives
            unsafe { shutdown(self.instance.me) }
        }
    }

    fn offer(&self) -> usize {
        // SAFETY: the component lives
        let offer = self.instance.kind.table.offer.map(|offer| unsafe { offer(self.instance.me) });
        offer.map_or(0, |address| address.expose_provenance())
    }

    fn window(&self, desk: &mut Desk<'_>) -> Result<(), String> {
        let Some(window) = self.instance.kind.table.window else { return Ok(()) };
        let time_ns = desk.world.time().ns() as i64;
        let mut own = Desk { world: desk.world, services: desk.services, actions: &mut *desk.actions };
        let inside = Inside::new(self.instance.library, What::Window(RefCell::new(&mut own)), None);
        let mut raw = MusterWindow { call: inside.call::<MusterWindow>(0), time_ns };
        // SAFETY: the component lives, and so does the call until it returns
        let code = unsafe { window(self.instance.me, &raw mut raw) };
        let failed = code != abi::OK || !inside.faults.borrow().is_empty();
        if failed { Err(self.instance.told(&inside.complaint(code))) } else { Ok(()) }
    }
}
