//! An extension: counts windows, and writes the count down at the end.

use muster_plugin::{Config, Extension, Kind, Window, plugin};
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
struct Counter {
    windows: AtomicU64,
}

impl Extension for Counter {
    const KIND: Kind = Kind::new("@name@", "Counts windows.");

    fn configure(_: &Config<'_>) -> Result<Self, String> {
        Ok(Self::default())
    }

    fn init(&self) -> Result<(), String> {
        Ok(())
    }

    fn window(&self, window: &mut Window<'_>) -> Result<(), String> {
        let before = self.windows.fetch_add(1, Ordering::Relaxed);
        if before == 0 {
            eprintln!("robots: {}", window.robots().join(", "));
        }
        Ok(())
    }

    fn shutdown(&self) {
        eprintln!("{} windows", self.windows.load(Ordering::Relaxed));
    }
}

plugin! {
    name: "@name@", version: env!("CARGO_PKG_VERSION"), about: "An extension of my own.",
    kinds: [extension Counter],
}
