//! Kinds of plug-ins beside those built in. A registry that knows plug-ins is made once for each set of them and kept.

use crate::PATH_VARIABLE;
use crate::drivers::PluginDriver;
use crate::extensions::PluginExtension;
use crate::fields::{Given, read};
use crate::instance::{Instance, family};
use crate::library::{Library, LoadedKind, open};
use crate::modifiers::PluginModifier;
use crate::motions::PluginMotion;
use crate::sensors::PluginSensor;
use crate::trace::trace;
use muster_core::component::{Driver, Extension, Kind, Misfit, Modifier, Motion, Plugin, Plugins, Registry, Sensor};
use muster_core::node::{Node, Problems};
use muster_plugin::abi;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A registry that can load plug-ins. Call it once for each base and keep what it returns.
pub fn registry(base: Registry) -> Registry {
    Set::kept(base, Vec::new(), base)
}

/// A set of plug-ins whose kinds a registry knows.
struct Set {
    /// The kinds without any plug-in.
    base: Registry,
    libraries: Vec<&'static Library>,
    /// The registry that knows this set.
    own: OnceLock<Registry>,
    /// What comes of one plug-in more.
    known: Mutex<BTreeMap<PathBuf, Registry>>,
}

impl Plugins for Set {
    fn load(&self, plugin: &Path) -> Result<Registry, Misfit> {
        let is_name = plugin.components().count() == 1 && plugin.extension().is_none() && !plugin.is_absolute();
        let path = match plugin.to_str().filter(|_| is_name) {
            Some(name) => search(name).ok_or_else(|| not_found(name))?,
            None => whole(plugin),
        };
        self.with(open(&path)?)
    }

    fn find(&self, kind: &str) -> Option<Result<Registry, Misfit>> {
        let path = search(kind)?;
        if self.libraries.iter().any(|library| path.canonicalize().is_ok_and(|path| library.plugin.path == path)) {
            return None;
        }
        trace(|| format!("request {kind:?}"));
        let found = open(&path).and_then(|library| {
            library
                .kinds
                .iter()
                .filter(|own| own.name == kind)
                .for_each(|own| own.asked.store(true, Ordering::Relaxed));
            self.with(library)
        });
        Some(found)
    }

    fn loaded(&self) -> Vec<Plugin> {
        self.libraries.iter().map(|library| library.plugin.clone()).collect()
    }
}

/// The folders in which plug-ins are looked for by name.
fn folders() -> Vec<PathBuf> {
    std::env::var_os(PATH_VARIABLE).map(|paths| std::env::split_paths(&paths).collect()).unwrap_or_default()
}

/// The file at a path that may be without the prefix and the ending that differ between systems.
fn whole(path: &Path) -> PathBuf {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let dressed = path.with_file_name(format!("{DLL_PREFIX}{name}{DLL_SUFFIX}"));
    if path.is_file() || !dressed.is_file() { path.to_owned() } else { dressed }
}

/// The file of a plug-in by name, in the first folder that has one.
fn search(name: &str) -> Option<PathBuf> {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    let plain = name.replace('-', "_");
    if plain.is_empty() || plain.contains(['/', '\\']) {
        return None;
    }
    let names = [format!("{DLL_PREFIX}{plain}{DLL_SUFFIX}"), format!("{plain}{DLL_SUFFIX}")];
    let files = folders().into_iter().flat_map(|folder| names.clone().map(|name| folder.join(name)));
    files.into_iter().find(|file| file.is_file())
}

fn not_found(name: &str) -> Misfit {
    let folders: Vec<String> = folders().iter().map(|folder| folder.display().to_string()).collect();
    let looked = if folders.is_empty() { "which is not set".to_owned() } else { folders.join(", ") };
    let file = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    (format!("plug-in {name:?}"), format!("{file} in a folder of {PATH_VARIABLE} ({looked}), or the path of a file"))
}

impl Set {
    /// Keeps a set for the rest of the process; returns the registry that knows it.
    fn kept(base: Registry, libraries: Vec<&'static Library>, tables: Registry) -> Registry {
        let set = Self { base, libraries, own: OnceLock::new(), known: Mutex::default() };
        let set: &'static Self = Box::leak(Box::new(set));
        *set.own.get_or_init(|| Registry { plugins: Some(set), ..tables })
    }

    /// This set and one library more.
    fn with(&self, library: &'static Library) -> Result<Registry, Misfit> {
        let path = &library.plugin.path;
        if self.libraries.iter().any(|known| std::ptr::eq(*known, library)) {
            return Ok(self.own.get().copied().unwrap_or(self.base));
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(registry) = known.get(path) {
            return Ok(*registry);
        }
        let registry = self.joined(&[self.libraries.as_slice(), &[library]].concat())?;
        known.insert(path.clone(), registry);
        Ok(registry)
    }

    /// A registry with the kinds of these libraries.
    fn joined(&self, libraries: &[&'static Library]) -> Result<Registry, Misfit> {
        let mut tables = Tables {
            motions: self.base.motions.to_vec(),
            drivers: self.base.drivers.to_vec(),
            sensors: self.base.sensors.to_vec(),
            modifiers: self.base.modifiers.to_vec(),
            extensions: self.base.extensions.to_vec(),
        };
        for library in libraries {
            for kind in &library.kinds {
                tables.add(library, kind)?;
            }
        }
        let tables = Registry {
            motions: tables.motions.leak(),
            drivers: tables.drivers.leak(),
            sensors: tables.sensors.leak(),
            modifiers: tables.modifiers.leak(),
            extensions: tables.extensions.leak(),
            ..self.base
        };
        Ok(Self::kept(self.base, libraries.to_vec(), tables))
    }
}

/// The tables of a registry that is being made.
struct Tables {
    motions: Vec<Kind<dyn Motion>>,
    drivers: Vec<Kind<dyn Driver>>,
    sensors: Vec<Kind<dyn Sensor>>,
    modifiers: Vec<Kind<dyn Modifier>>,
    extensions: Vec<Kind<dyn Extension>>,
}

impl Tables {
    fn add(&mut self, library: &'static Library, kind: &'static LoadedKind) -> Result<(), Misfit> {
        let source = (library, kind);
        match kind.table.family {
            abi::DRIVER => add(&mut self.drivers, source, |instance, given| {
                Ok(Arc::new(PluginDriver::new(instance, given)) as Arc<dyn Driver>)
            }),
            abi::SENSOR | abi::LOOK => add(&mut self.sensors, source, |instance, given| {
                Ok(Arc::new(PluginSensor::new(instance, given)) as Arc<dyn Sensor>)
            }),
            abi::MODIFIER => add(&mut self.modifiers, source, |instance, given| {
                instance.configure(&given, None)?;
                Ok(Arc::new(PluginModifier { instance }) as Arc<dyn Modifier>)
            }),
            abi::MOTION => add(&mut self.motions, source, |instance, given| {
                instance.configure(&given, None)?;
                let constants = given.numbers(instance.kind.fields);
                Ok(Arc::new(PluginMotion::new(instance, constants)?) as Arc<dyn Motion>)
            }),
            _ => add(&mut self.extensions, source, |instance, given| {
                instance.configure(&given, None)?;
                Ok(Arc::new(PluginExtension { instance }) as Arc<dyn Extension>)
            }),
        }
    }
}

/// Adds a row to a table.
fn add<T: ?Sized + 'static>(
    kinds: &mut Vec<Kind<T>>,
    (library, kind): (&'static Library, &'static LoadedKind),
    make: impl Fn(Arc<Instance>, Given) -> Result<Arc<T>, Misfit> + Sync + 'static,
) -> Result<(), Misfit> {
    if kinds.iter().any(|known| known.name == kind.name) {
        let found = format!("{} {:?} of plug-in {}", family(kind), kind.name, library.plugin.path.display());
        return Err((found, "a name that no other kind has".to_owned()));
    }
    let build = move |node: &Node, path: &str, also: &[&str], problems: &mut Problems| {
        let given = read((kind.fields, kind.texts), node, path, also, problems)?;
        let made = Instance::new(library, kind).and_then(|instance| make(instance, given));
        made.map_err(|(found, expected)| problems.refuse(node.place, path, found, expected)).ok()
    };
    kinds.push(Kind { name: kind.name, doc: kind.doc, fields: kind.fields, build: Box::leak(Box::new(build)) });
    Ok(())
}
