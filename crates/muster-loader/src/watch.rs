//! Watches calls that have a time limit and do not return: nobody can stop them, but somebody can say which they are.

use crate::instance::family;
use crate::library::{Library, LoadedKind};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// A call that is under way.
struct Watched {
    library: &'static Library,
    kind: &'static LoadedKind,
    since: Instant,
    patience: Duration,
}

/// Calls under way, each in a place of its own; `None` where there is none.
static CALLS: Mutex<Vec<Option<Watched>>> = Mutex::new(Vec::new());

/// How often it is looked for calls that hang, and how long none is told before.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(1);

fn calls() -> MutexGuard<'static, Vec<Option<Watched>>> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches a call from now on; returns its place.
pub(crate) fn begin(library: &'static Library, kind: &'static LoadedKind, limit: Duration) -> usize {
    static WATCHER: Once = Once::new();
    WATCHER.call_once(|| {
        // without it nobody is told, which is no reason to fail
        _ = std::thread::Builder::new().name("plugin-watch".to_owned()).spawn(watch);
    });
    let watched = Some(Watched { library, kind, since: Instant::now(), patience: PATIENCE.max(limit * 10) });
    let mut calls = calls();
    match calls.iter().position(Option::is_none) {
        Some(place) => {
            calls[place] = watched;
            place
        }
        None => {
            calls.push(watched);
            calls.len() - 1
        }
    }
}

/// The call has returned; says how long it took.
pub(crate) fn end(place: usize) -> Duration {
    calls()[place].take().map_or(Duration::ZERO, |watched| watched.since.elapsed())
}

fn watch() {
    loop {
        std::thread::sleep(LOOK_EVERY);
        for watched in calls().iter_mut().flatten() {
            let waited = watched.since.elapsed();
            if waited > watched.patience {
                let (family, kind, plugin) = (family(watched.kind), watched.kind.name, &watched.library.plugin.name);
                let waited_s = waited.as_secs_f64();
                eprintln!(
                    "warning: {family} {kind:?} of plug-in {plugin:?} has not returned from a call for {waited_s:.1} s"
                );
                // told again when it has waited ten times as long
                watched.patience *= 10;
            }
        }
    }
}
