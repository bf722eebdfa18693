//! A loaded library: its symbols and tables, checked once.

use crate::fields::{FieldText, fields_of};
use crate::host::HOST;
use crate::trace::trace;
use muster_core::component::{Misfit, Plugin};
use muster_core::hash::digest;
use muster_core::lanes::Quantity;
use muster_core::spec::Field;
use muster_plugin::abi::{self, MusterField, MusterHost, MusterKind, MusterPlugin, MusterQuantity};
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

type CreateFn = unsafe extern "C" fn(u32, *const MusterHost) -> *mut c_void;
type DestroyFn = unsafe extern "C" fn(u32, *mut c_void);

/// A library that was loaded and found sound.
pub(crate) struct Library {
    pub(crate) plugin: Plugin,
    pub(crate) create: CreateFn,
    pub(crate) destroy: DestroyFn,
    /// Its kinds, in the order of its table.
    pub(crate) kinds: Vec<LoadedKind>,
    /// Keeps the library in the process.
    _code: libloading::Library,
}

/// One kind of a library.
pub(crate) struct LoadedKind {
    pub(crate) index: u32,
    /// A copy of its table; what an older plug-in does not have is zero.
    pub(crate) table: MusterKind,
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) fields: &'static [Field],
    pub(crate) texts: &'static [FieldText],
    pub(crate) state: &'static [Quantity],
    pub(crate) integers: &'static [Quantity],
    pub(crate) sample: &'static [Quantity],
    pub(crate) inputs: &'static [Quantity],
    /// True between the search for a kind and its making.
    pub(crate) asked: AtomicBool,
}

// SAFETY: tables are read, never written, and the functions in them may be called from any thread
unsafe impl Send for LoadedKind {}
// SAFETY: see above
unsafe impl Sync for LoadedKind {}

/// Every library of the process.
static LIBRARIES: Mutex<Vec<&'static Library>> = Mutex::new(Vec::new());

/// No plug-in has more kinds, fields or quantities than this; one that claims so is broken.
const MANY: u64 = 4096;

/// Loads a file, or finds that it is loaded already. An error says what was found and what was expected.
pub(crate) fn open(path: &Path) -> Result<&'static Library, Misfit> {
    let shown = path.display();
    let unreadable =
        |error: std::io::Error| (format!("plug-in {shown} ({error})"), "a file that can be read".to_owned());
    let whole = path.canonicalize().map_err(unreadable)?;
    let mut libraries = LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = libraries.iter().find(|library| library.plugin.path == whole) {
        return Ok(known);
    }
    let bytes = std::fs::read(&whole).map_err(unreadable)?;
    trace(|| format!("open {shown}"));
    // SAFETY: loading runs the library's own initialisers; whoever names a plug-in trusts it with the process
    let code = unsafe { libloading::Library::new(&whole) };
    let code = code.map_err(|error| (format!("plug-in {shown} ({error})"), "a shared library".to_owned()))?;
    let library = read(code, &whole, digest(&bytes))
        .map_err(|(found, expected)| (format!("plug-in {shown} with {found}"), expected))?;
    let library: &'static Library = Box::leak(Box::new(library));
    libraries.push(library);
    Ok(library)
}

/// A function of a library.
fn symbol<T: Copy>(code: &libloading::Library, name: &str) -> Result<T, Misfit> {
    // SAFETY: the types of the symbols are those of the header; the library stays in the process
    let found = unsafe { code.get::<T>(name.as_bytes()) }.map(|found| *found);
    found.map_err(|_| (format!("no symbol {name}"), "muster_plugin, muster_create and muster_destroy".to_owned()))
}

fn read(code: libloading::Library, path: &Path, digest: u128) -> Result<Library, Misfit> {
    let describe: unsafe extern "C" fn() -> *const MusterPlugin = symbol(&code, "muster_plugin")?;
    let create: CreateFn = symbol(&code, "muster_create")?;
    let destroy: DestroyFn = symbol(&code, "muster_destroy")?;
    // SAFETY: this function has no arguments in any version of the interface
    let table = unsafe { describe() };
    if table.is_null() {
        return Err(("no table".to_owned(), "muster_plugin to return one".to_owned()));
    }
    // SAFETY: the first two members are size and version in every version of the interface
    let (size, version) = unsafe { ((*table).size, (*table).abi) };
    check_version(size, version)?;
    // SAFETY: the table is at least as long as checked
    let table = unsafe { &*table };
    let plugin = Plugin {
        name: text(table.name, "the plug-in's name")?.to_owned(),
        version: text(table.version, "the plug-in's version")?.to_owned(),
        path: path.to_owned(),
        digest,
    };
    let tables = list::<MusterKind>(table.kinds, table.kind_count, "kinds")?;
    let kinds = tables.into_iter().zip(0..).map(|(table, index)| read_kind(table, index)).collect::<Result<_, _>>()?;
    trace(|| format!("plug-in {:?} {} has {} kinds", plugin.name, plugin.version, table.kind_count));
    Ok(Library { plugin, create, destroy, kinds, _code: code })
}

fn check_version(size: u32, version: u32) -> Result<(), Misfit> {
    let (major, minor) = (version >> 16, version & 0xffff);
    if major != abi::MAJOR {
        let found = format!("version {major}.{minor} of the interface (ABI mismatch)");
        return Err((found, format!("version {}.{}: build it against this muster's header", abi::MAJOR, abi::MINOR)));
    }
    if size < abi::size_of::<MusterPlugin>() {
        return Err((format!("a table of {size} bytes"), format!("at least {}", abi::size_of::<MusterPlugin>())));
    }
    Ok(())
}

/// A text of a table.
pub(crate) fn text(from: *const c_char, what: &str) -> Result<&'static str, Misfit> {
    let wrong = |found: &str| (format!("{what} that is {found}"), "a text in UTF-8".to_owned());
    if from.is_null() {
        return Err(wrong("missing"));
    }
    // SAFETY: texts of tables end with zero and live as long as the library, which is never unloaded
    unsafe { CStr::from_ptr(from) }.to_str().map_err(|_| wrong("no UTF-8"))
}

/// A struct of the interface that begins with its size, and all of whose members may be zero.
pub(crate) trait Grows: Copy {
    /// How long it was in version 1.0: no plug-in has a shorter one.
    const FIRST: usize;
}

impl Grows for MusterKind {
    const FIRST: usize = 312;
}

impl Grows for MusterField {
    const FIRST: usize = 64;
}

impl Grows for MusterQuantity {
    const FIRST: usize = 16;
}

/// Copies a list of structs, each as long as the first says; members that are not there are zero.
pub(crate) fn list<T: Grows>(first: *const T, count: u64, what: &str) -> Result<Vec<T>, Misfit> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if first.is_null() || count > MANY {
        return Err((format!("{count} {what} at {first:?}"), format!("a list of at most {MANY}")));
    }
    // SAFETY: every struct of the interface begins with its size
    let size = unsafe { *first.cast::<u32>() } as usize;
    if size < T::FIRST || !size.is_multiple_of(align_of::<T>()) || size > 64 * size_of::<T>() {
        return Err((format!("{what} of {size} bytes"), format!("at least {}: set the member size", T::FIRST)));
    }
    let at = |index: usize| {
        // SAFETY: the plug-in says that there are so many structs of so many bytes, one after another; what the plug-in
        // does not have stays zero, which every member may be
        unsafe {
            let mut made: T = std::mem::zeroed();
            let from = first.cast::<u8>().add(index * size);
            std::ptr::copy_nonoverlapping(from, (&raw mut made).cast::<u8>(), size.min(size_of::<T>()));
            made
        }
    };
    Ok((0..count as usize).map(at).collect())
}

fn quantities(first: *const MusterQuantity, count: u32, what: &str) -> Result<&'static [Quantity], Misfit> {
    let list = list(first, u64::from(count), what)?;
    let made: Result<Vec<Quantity>, Misfit> = list
        .iter()
        .map(|quantity| match quantity.count {
            1..=4096 => Ok(Quantity::many(text(quantity.name, what)?, quantity.count as usize)),
            count => Err((format!("{what} of {count} columns"), "1 to 4096".to_owned())),
        })
        .collect();
    Ok(Box::leak(made?.into_boxed_slice()))
}

fn read_kind(table: MusterKind, index: u32) -> Result<LoadedKind, Misfit> {
    let name = text(table.name, "a kind's name")?;
    let sound = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !sound {
        return Err((format!("kind {name:?}"), "a name of letters, digits and underscores".to_owned()));
    }
    let of_kind = |(found, expected): Misfit| (format!("kind {name:?} with {found}"), expected);
    check_functions(&table).map_err(of_kind)?;
    let (fields, texts) =
        fields_of(&list(table.fields, u64::from(table.field_count), "fields").map_err(of_kind)?).map_err(of_kind)?;
    let kind = LoadedKind {
        index,
        table,
        name,
        doc: text(table.doc, "a doc").map_err(of_kind)?,
        fields,
        texts,
        state: quantities(table.state, table.state_count, "state").map_err(of_kind)?,
        integers: quantities(table.integers, table.integer_count, "integers").map_err(of_kind)?,
        sample: quantities(table.sample, table.sample_count, "sample").map_err(of_kind)?,
        inputs: quantities(table.inputs, table.input_count, "inputs").map_err(of_kind)?,
        asked: AtomicBool::new(false),
    };
    if table.family == abi::MODIFIER && Quantity::total(kind.state) > MODIFIER_MEMORY {
        let found = format!("a memory of {} numbers", Quantity::total(kind.state));
        return Err(of_kind((found, format!("at most {MODIFIER_MEMORY} for a modifier"))));
    }
    if matches!(table.family, abi::SENSOR | abi::LOOK) && kind.sample.is_empty() {
        return Err(of_kind(("no sample".to_owned(), "what a sample of the sensor holds".to_owned())));
    }
    Ok(kind)
}

/// The most numbers a modifier may remember, as in the core.
const MODIFIER_MEMORY: usize = 16;

/// The functions that every component of a family must have.
fn check_functions(table: &MusterKind) -> Result<(), Misfit> {
    let missing = |what: &str| Err((format!("no {what}"), format!("the function {what}")));
    let needed: &[(&str, bool)] = match table.family {
        abi::DRIVER => &[("step", table.step.is_some())],
        abi::SENSOR => &[("measure", table.measure.is_some())],
        abi::LOOK => &[("look", table.look.is_some())],
        abi::MODIFIER => &[("modify", table.modify.is_some())],
        abi::MOTION => &[("advance", table.advance.is_some()), ("speed_max_mps", table.speed_max_mps.is_some())],
        abi::EXTENSION => &[("init", table.init.is_some()), ("shutdown", table.shutdown.is_some())],
        family => return Err((format!("family {family}"), "one of those of the header".to_owned())),
    };
    if let Some((what, _)) = needed.iter().find(|(_, there)| !there) {
        return missing(what);
    }
    let pairs = [
        ("robot_destroy", table.robot_create.is_some(), table.robot_destroy.is_some()),
        ("robot_create", table.robot_destroy.is_some(), table.robot_create.is_some()),
        ("robot_restore", table.robot_save.is_some(), table.robot_restore.is_some()),
        ("robot_save", table.robot_restore.is_some(), table.robot_save.is_some()),
    ];
    match pairs.iter().find(|(_, one, other)| *one && !other) {
        Some((what, ..)) => missing(what),
        None => Ok(()),
    }
}

impl Library {
    /// Makes a component; null if the plug-in would not.
    pub(crate) fn create(&self, kind: &LoadedKind) -> *mut c_void {
        // SAFETY: the plug-in has such a kind, and the table of functions lives as long as the process
        unsafe { (self.create)(kind.index, &raw const HOST) }
    }
}
