//! A component of a plug-in, and what it remembers of robots. Both are freed once, when nobody can call them any more.

use crate::fields::{Given, c_text};
use crate::host::{Inside, What};
use crate::library::{Library, LoadedKind};
use crate::trace::trace;
use crate::watch;
use muster_core::component::{Fitting, Keepsake, Kept, Misfit, Subscription};
use muster_core::lanes::LANES;
use muster_plugin::abi::{self, MusterCall, MusterConfig};
use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A component of a plug-in.
pub(crate) struct Instance {
    pub(crate) library: &'static Library,
    pub(crate) kind: &'static LoadedKind,
    pub(crate) me: *mut c_void,
    /// Memories of robots that nobody needs now, by robot. They are freed with the component, so that whatever the plug-in
    /// still holds of them stays valid; and taken up again when a state is restored.
    shelf: Mutex<Vec<(String, *mut c_void)>>,
}

// SAFETY: the interface says that calls come from several threads, so a component may be used and freed on any
unsafe impl Send for Instance {}
// SAFETY: see above; the shelf is behind a lock
unsafe impl Sync for Instance {}

/// The words for families, by number.
pub(crate) fn family(kind: &LoadedKind) -> &'static str {
    match kind.table.family {
        abi::DRIVER => "driver",
        abi::SENSOR | abi::LOOK => "sensor",
        abi::MODIFIER => "modifier",
        abi::MOTION => "motion",
        _ => "extension",
    }
}

impl Instance {
    /// Makes a component; an error if the plug-in would not.
    pub(crate) fn new(library: &'static Library, kind: &'static LoadedKind) -> Result<Arc<Self>, Misfit> {
        if !kind.asked.swap(false, Ordering::Relaxed) {
            trace(|| format!("request {} {:?}", family(kind), kind.name));
        }
        let me = library.create(kind);
        trace(|| format!("create {} {:?}", family(kind), kind.name));
        if me.is_null() {
            let found = format!("nothing made by plug-in {:?}", library.plugin.name);
            return Err((found, format!("muster_create to make a {} {:?}", family(kind), kind.name)));
        }
        Ok(Arc::new(Self { library, kind, me, shelf: Mutex::default() }))
    }

    /// Hands over what the user wrote; attaches it first, if it is for robots. Returns the sensors it asked for.
    pub(crate) fn configure(&self, given: &Given, robot: Option<&Fitting<'_>>) -> Result<Vec<Subscription>, Misfit> {
        let alone = Fitting::frames(&[]);
        let wanted = std::cell::RefCell::default();
        let inside = Inside::new(self.library, What::Fitting(robot.unwrap_or(&alone), wanted), None);
        if let (Some(attach), Some(_)) = (self.kind.table.attach, robot) {
            let call = inside.call::<MusterCall>(0);
            // SAFETY: the component lives, and so does the call until it returns
            self.checked(unsafe { attach(self.me, &call) }, &inside)?;
        }
        if robot.is_some() {
            trace(|| format!("attach {} {:?}", family(self.kind), self.kind.name));
        }
        trace(|| format!("configure {} {:?}", family(self.kind), self.kind.name));
        if let Some(configure) = self.kind.table.configure {
            let code = given.lend(|values| {
                let call = inside.call::<MusterConfig>(0);
                let config = MusterConfig { call, values: values.as_ptr(), count: values.len() as u64 };
                // SAFETY: the component lives, and so do the call and the values until it returns
                unsafe { configure(self.me, &config) }
            });
            self.checked(code, &inside)?;
        }
        match inside.what {
            What::Fitting(_, wanted) => Ok(wanted.into_inner()),
            _ => Ok(Vec::new()),
        }
    }

    fn checked(&self, code: i32, inside: &Inside<'_>) -> Result<(), Misfit> {
        if code == abi::OK && inside.faults.borrow().is_empty() {
            return Ok(());
        }
        let found = format!("what plug-in {:?} refuses: {}", self.library.plugin.name, inside.complaint(code));
        Err((found, format!("parameters and a robot that {} {:?} can work with", family(self.kind), self.kind.name)))
    }

    /// What is told of a fault.
    pub(crate) fn told(&self, what: &str) -> String {
        format!("of plug-in {:?}: {what}", self.library.plugin.name)
    }

    /// Why two runs need not give the same bits, if so.
    pub(crate) fn unrepeatable(&self) -> Option<String> {
        let table = &self.kind.table;
        let (family, name, plugin) = (family(self.kind), self.kind.name, &self.library.plugin.name);
        if table.flags & abi::REPEATABLE == 0 {
            let declares = "does not declare that it keeps nothing beside columns and saved memory (MUSTER_REPEATABLE)";
            return Some(format!("{family} {name:?} of plug-in {plugin:?} {declares}"));
        }
        let unsaved = table.robot_create.is_some() && table.robot_save.is_none();
        unsaved.then(|| format!("{family} {name:?} of plug-in {plugin:?} remembers robots but cannot save that"))
    }

    /// Calls the plug-in; returns what it returns, and how long it took if that is more than the limit.
    #[inline]
    pub(crate) fn timed(&self, limit: Option<Duration>, call: impl FnOnce() -> i32) -> (i32, Option<Duration>) {
        let Some(limit) = limit else { return (call(), None) };
        let place = watch::begin(self.library, self.kind, limit);
        let code = call();
        let took = watch::end(place);
        (code, (took > limit).then_some(took))
    }

    /// What is told of a call that took too long.
    pub(crate) fn slow(&self, took: Duration, limit: Option<Duration>) -> String {
        let limit_ms = limit.unwrap_or_default().as_secs_f64() * 1e3;
        self.told(&format!(
            "a call took {:.3} ms, longer than the {limit_ms} ms of run.plugin_limit_ms",
            took.as_secs_f64() * 1e3
        ))
    }

    /// What it remembers of a robot, if it does.
    pub(crate) fn remember(self: &Arc<Self>, robot: &str) -> Option<Box<dyn Keepsake>> {
        let create = self.kind.table.robot_create?;
        trace(|| format!("remember robot {robot:?} in {} {:?}", family(self.kind), self.kind.name));
        // SAFETY: the component lives, and the name ends with zero
        let me = unsafe { create(self.me, c_text(robot).as_ptr()) };
        Some(Box::new(RobotMemory { instance: Arc::clone(self), robot: robot.to_owned(), me }))
    }

    fn take_from_shelf(&self, robot: &str) -> Option<*mut c_void> {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let at = shelf.iter().position(|(name, _)| name == robot)?;
        Some(shelf.swap_remove(at).1)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let shelf = std::mem::take(&mut *self.shelf.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(destroy) = self.kind.table.robot_destroy {
            for (_, memory) in shelf.into_iter().filter(|(_, memory)| !memory.is_null()) {
                // SAFETY: the plug-in made it, nobody uses it any more, and it was on the shelf once
                unsafe { destroy(self.me, memory) }
            }
        }
        trace(|| format!("destroy {} {:?}", family(self.kind), self.kind.name));
        // SAFETY: the plug-in made it with the same kind, and nobody else holds it
        unsafe { (self.library.destroy)(self.kind.index, self.me) }
    }
}

/// What a component remembers of one robot.
pub(crate) struct RobotMemory {
    instance: Arc<Instance>,
    robot: String,
    me: *mut c_void,
}

// SAFETY: as for a component; a robot is served by one call at a time
unsafe impl Send for RobotMemory {}
// SAFETY: what is shared is only saved, which changes nothing
unsafe impl Sync for RobotMemory {}

impl Keepsake for RobotMemory {
    fn copy(&self) -> Box<dyn Keepsake> {
        let table = &self.instance.kind.table;
        let spare = self.instance.take_from_shelf(&self.robot);
        let made = spare.or_else(|| {
            // SAFETY: the component lives, and the name ends with zero
            table.robot_create.map(|create| unsafe { create(self.instance.me, c_text(&self.robot).as_ptr()) })
        });
        let copy = Self {
            instance: Arc::clone(&self.instance),
            robot: self.robot.clone(),
            me: made.unwrap_or(std::ptr::null_mut()),
        };
        let mut bytes = Vec::new();
        self.save(&mut bytes);
        if let (Some(restore), false) = (table.robot_restore, copy.me.is_null()) {
            // SAFETY: the memory was made by this component, and there are so many bytes
            let code = unsafe { restore(self.instance.me, copy.me, bytes.as_ptr(), bytes.len() as u64) };
            if code != abi::OK {
                trace(|| format!("plug-in {:?} cannot restore {:?}", self.instance.library.plugin.name, self.robot));
            }
        }
        Box::new(copy)
    }

    fn save(&self, bytes: &mut Vec<u8>) {
        let Some(save) = self.instance.kind.table.robot_save.filter(|_| !self.me.is_null()) else { return };
        let before = bytes.len();
        loop {
            let room = (bytes.len() - before) as u64;
            // SAFETY: the memory was made by this component, and there is room for so many bytes
            let count = unsafe { save(self.instance.me, self.me, bytes.as_mut_ptr().add(before), room) };
            // a plug-in that panics says so by a count that nothing has
            if count > SAVED_MAX {
                bytes.truncate(before);
                return;
            }
            bytes.resize(before + count as usize, 0);
            if count <= room {
                return;
            }
        }
    }
}

/// No memory of a robot is longer than this when saved.
const SAVED_MAX: u64 = 1 << 32;

impl Drop for RobotMemory {
    fn drop(&mut self) {
        let mut shelf = self.instance.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.push((std::mem::take(&mut self.robot), self.me));
    }
}

/// The addresses of what is kept of each lane; null where nothing is.
#[inline]
pub(crate) fn addresses(kept: &mut [Kept]) -> [*mut c_void; LANES] {
    let mut addresses = [std::ptr::null_mut(); LANES];
    for (address, kept) in addresses.iter_mut().zip(kept) {
        if let Some(memory) = kept.get_mut::<RobotMemory>() {
            *address = memory.me;
        }
    }
    addresses
}
