//! Plug-ins as a simulation has them: kinds beside those built in, and extensions that begin before everything else and
//! end after it.

use crate::simulation::LoadError;
use muster_core::command::Action;
use muster_core::component::{Desk, Extension, Registry};
use muster_core::service::Service;
use muster_core::world::World;
use muster_loader::trace;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

pub use muster_core::component::Plugin;
pub use muster_loader::{PATH_VARIABLE, trace_on};

/// Every built-in component and link, and whatever plug-ins are asked for.
pub fn registry() -> Registry {
    static KINDS: OnceLock<Registry> = OnceLock::new();
    *KINDS.get_or_init(|| muster_loader::registry(crate::REGISTRY))
}

/// The same with these plug-ins, each a path or a name; an error says which cannot be used, and why.
pub fn registry_with<'a>(plugins: impl Iterator<Item = &'a str>) -> Result<Registry, String> {
    let mut kinds = registry();
    for plugin in plugins {
        if let Some(loader) = kinds.plugins {
            let loaded = loader.load(Path::new(plugin));
            kinds = loaded.map_err(|(found, expected)| format!("found {found}, expected {expected}"))?;
        }
    }
    Ok(kinds)
}

/// Tells the trace log that the world stops, when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Engines {
    started: bool,
}

impl Engines {
    pub(crate) fn configure() -> Self {
        trace(|| "configure engines".to_owned());
        Self::default()
    }

    #[inline]
    pub(crate) fn start(&mut self) {
        if !std::mem::replace(&mut self.started, true) {
            trace(|| "start engines".to_owned());
        }
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        trace(|| "stop engines".to_owned());
    }
}

/// Extensions that have begun. When dropped they end, the last that came first.
#[derive(Default)]
pub(crate) struct Extensions {
    running: Vec<Running>,
    actions: Vec<Action>,
}

struct Running {
    name: String,
    extension: Arc<dyn Extension>,
    /// It failed and is not called any more.
    silent: bool,
}

impl Extensions {
    /// Begins all, in order; if one cannot, those that have begun end.
    pub(crate) fn start(list: &[(String, Arc<dyn Extension>)]) -> Result<Self, LoadError> {
        let mut extensions = Self::default();
        for (name, extension) in list {
            extension.init().map_err(|what| LoadError::refused(format!("error: extension {name:?} {what}")))?;
            let (name, extension) = (name.clone(), Arc::clone(extension));
            extensions.running.push(Running { name, extension, silent: false });
        }
        Ok(extensions)
    }

    /// What they offer, by name.
    pub(crate) fn offers(&self) -> BTreeMap<String, usize> {
        self.running.iter().map(|running| (running.name.clone(), running.extension.offer())).collect()
    }

    /// Calls all between two windows; hands what they ask for to `act` and what went wrong to `troubles`.
    pub(crate) fn window(
        &mut self,
        world: &World,
        services: &'static [Service],
        troubles: &mut Vec<String>,
    ) -> Vec<Action> {
        for running in self.running.iter_mut().filter(|running| !running.silent) {
            let mut desk = Desk { world, services, actions: &mut self.actions };
            if let Err(what) = running.extension.window(&mut desk) {
                running.silent = true;
                troubles.push(format!("extension {:?} is not called any more: {what}", running.name));
            }
        }
        std::mem::take(&mut self.actions)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }
}

impl Drop for Extensions {
    fn drop(&mut self) {
        while let Some(running) = self.running.pop() {
            running.extension.shutdown();
        }
    }
}
