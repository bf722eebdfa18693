//! What muster offers to plug-ins: the functions of `MusterHost`. They are safe to call with any name; what is not known is
//! answered, never a crash.

use crate::library::Library;
use crate::trace::trace;
use muster_core::command::Action;
use muster_core::component::{Control, Desk, Fitting, LookAt, Subscription};
use muster_core::joints::jointed;
use muster_core::lanes::{Quantity, body};
use muster_core::model::{Environment, robot_key};
use muster_core::random::Stream;
use muster_core::ray::Reach;
use muster_core::service::{self, Datum};
use muster_plugin::abi::{self, MusterCall, MusterHit, MusterHost, MusterReading};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Mutex, PoisonError};

/// What a call is about, behind `MusterCall::inside`. It lives on the stack of whoever calls a plug-in.
pub(crate) struct Inside<'a> {
    pub(crate) library: &'a Library,
    pub(crate) what: What<'a>,
    pub(crate) environment: Option<&'a Environment>,
    /// What the plug-in said of its failing, by lane.
    pub(crate) faults: RefCell<Vec<(u32, String)>>,
}

/// The kinds of calls that functions ask more of.
pub(crate) enum What<'a> {
    /// A component is made for robots like this; it may ask for sensors.
    Fitting(&'a Fitting<'a>, RefCell<Vec<Subscription>>),
    Control(*const Control<'a>),
    Look(&'a LookAt<'a>),
    /// A sample of these fields.
    Sample(&'a [Quantity]),
    Window(RefCell<&'a mut Desk<'a>>),
    /// Nothing more.
    Plain,
}

impl<'a> Inside<'a> {
    pub(crate) fn new(library: &'a Library, what: What<'a>, environment: Option<&'a Environment>) -> Self {
        Self { library, what, environment, faults: RefCell::default() }
    }

    /// The beginning of a call that lives no longer than this.
    pub(crate) fn call<T>(&self, lanes: usize) -> MusterCall {
        MusterCall {
            size: abi::size_of::<T>(),
            lanes: lanes as u32,
            host: &raw const HOST,
            inside: std::ptr::from_ref(self).cast(),
        }
    }

    /// What it said of its failing, or that it returned an error, in one line.
    pub(crate) fn complaint(&self, code: i32) -> String {
        let faults = self.faults.borrow();
        match faults.first() {
            Some((_, text)) => text.clone(),
            None => format!("returned error {code}"),
        }
    }
}

/// What is behind a call, if it is one of muster's.
///
/// # Safety
/// `call` is null or points to a call that muster made and that has not returned.
unsafe fn inside<'a>(call: *const MusterCall) -> Option<&'a Inside<'a>> {
    // SAFETY: as promised by the caller; what it points to lives until the call returns
    unsafe { call.as_ref()?.inside.cast::<Inside<'a>>().as_ref() }
}

/// A name that a plug-in asks for.
///
/// # Safety
/// `text` is null or points to a text that ends with zero.
unsafe fn name<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as promised by the caller
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

/// Keeps a word for the rest of the process; each word once.
pub(crate) fn kept_word(word: &str) -> &'static str {
    static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = words.get(word) {
        return known;
    }
    let kept: &'static str = Box::leak(word.to_owned().into_boxed_str());
    words.insert(kept);
    kept
}

/// The functions.
pub(crate) static HOST: MusterHost = MusterHost {
    size: abi::size_of::<MusterHost>(),
    abi: abi::ABI,
    fail,
    trace: log,
    input,
    joint,
    column,
    constant,
    subscribe,
    reading,
    extension,
    field,
    find_robot,
    cast,
    uniforms,
    normals,
    get,
    set,
    ask,
    robot_name,
};

unsafe extern "C" fn fail(call: *const MusterCall, lane: u32, text: *const c_char) {
    // SAFETY: plug-ins hand back the call they got, and a text
    if let Some(inside) = unsafe { inside(call) } {
        // SAFETY: see above
        let text = unsafe { name(text) }.unwrap_or("failed without a word").to_owned();
        inside.faults.borrow_mut().push((lane, text));
    }
}

unsafe extern "C" fn log(call: *const MusterCall, text: *const c_char) {
    // SAFETY: plug-ins hand back the call they got, and a text
    if let (Some(inside), Some(text)) = unsafe { (inside(call), name(text)) } {
        trace(|| format!("plug-in {:?}: {text}", inside.library.plugin.name));
    }
}

/// What a component that is being made asks of its robots.
unsafe fn fitting<'a>(call: *const MusterCall) -> Option<&'a Fitting<'a>> {
    // SAFETY: plug-ins hand back the call they got
    match unsafe { inside(call) }?.what {
        What::Fitting(robot, _) => Some(robot),
        _ => None,
    }
}

/// Which column a quantity begins at.
fn offset(quantities: &[Quantity], name: &str) -> Option<usize> {
    let at = quantities.iter().position(|quantity| quantity.name == name)?;
    Some(Quantity::total(&quantities[..at]))
}

fn index(found: Option<usize>) -> i32 {
    found.and_then(|at| i32::try_from(at).ok()).unwrap_or(abi::UNKNOWN)
}

unsafe extern "C" fn input(call: *const MusterCall, text: *const c_char) -> i32 {
    // SAFETY: plug-ins hand back the call they got, and a name
    let (Some(robot), Some(name)) = (unsafe { (fitting(call), name(text)) }) else { return abi::NOT_NOW };
    index(offset(robot.inputs, name))
}

unsafe extern "C" fn joint(call: *const MusterCall, text: *const c_char) -> i32 {
    // SAFETY: plug-ins hand back the call they got, and a name
    let (Some(robot), Some(name)) = (unsafe { (fitting(call), name(text)) }) else { return abi::NOT_NOW };
    index(jointed(robot.frames).position(|frame| frame.name == name))
}

unsafe extern "C" fn column(call: *const MusterCall, text: *const c_char) -> i32 {
    // SAFETY: plug-ins hand back the call they got, and a name
    let (Some(robot), Some(name)) = (unsafe { (fitting(call), name(text)) }) else { return abi::NOT_NOW };
    let inputs = body::COLUMNS + Quantity::total(robot.inputs);
    let own = name.strip_prefix("input.").and_then(|own| Some(body::COLUMNS + offset(robot.inputs, own)?));
    let state = || name.strip_prefix("motion.").and_then(|own| Some(inputs + offset(robot.state, own)?));
    index(offset(body::QUANTITIES, name).or(own).or_else(state))
}

unsafe extern "C" fn constant(call: *const MusterCall, text: *const c_char, value: *mut f64) -> i32 {
    // SAFETY: plug-ins hand back the call they got, and a name
    let (Some(robot), Some(name)) = (unsafe { (fitting(call), name(text)) }) else { return abi::NOT_NOW };
    let Some((_, found)) = robot.constants.iter().find(|(known, _)| *known == name) else { return abi::UNKNOWN };
    if !value.is_null() {
        // SAFETY: plug-ins give room for a number
        unsafe { *value = *found };
    }
    abi::OK
}

unsafe extern "C" fn subscribe(
    call: *const MusterCall,
    sensor: *const c_char,
    kind: *const c_char,
    optional: u32,
) -> i32 {
    // SAFETY: plug-ins hand back the call they got, and names
    let (inside, path, kind) = unsafe { (inside(call), name(sensor), name(kind)) };
    let (Some(Inside { what: What::Fitting(_, wanted), library, .. }), Some(path)) = (inside, path) else {
        return abi::NOT_NOW;
    };
    let mut wanted = wanted.borrow_mut();
    trace(|| format!("plug-in {:?} registers with sensor {path:?}", library.plugin.name));
    let kind = kind.map_or("", kept_word);
    wanted.push(Subscription { path: path.to_owned(), kind, optional: optional != 0 });
    index(Some(wanted.len() - 1))
}

unsafe extern "C" fn reading(call: *const MusterCall, number: u32, lane: u32, into: *mut MusterReading) -> i32 {
    // SAFETY: plug-ins hand back the call they got
    let Some(Inside { what: What::Control(control), .. }) = (unsafe { inside(call) }) else { return abi::NOT_NOW };
    // SAFETY: the control lives until the call returns; what is read of it is not lent to the plug-in to be changed
    let control = unsafe { &**control };
    if number as usize >= control.subscriptions() || lane as usize >= abi::LANES || into.is_null() {
        return abi::UNKNOWN;
    }
    let filled = reading_of(control, number as usize, lane as usize);
    // SAFETY: plug-ins give room for a reading that begins with its size
    unsafe {
        if (*into).size < abi::size_of::<MusterReading>() {
            return abi::FAILED;
        }
        *into = filled;
    }
    abi::OK
}

/// A reading as plug-ins get it: a pointer to where the numbers are.
#[inline]
pub(crate) fn reading_of(control: &Control<'_>, number: usize, lane: usize) -> MusterReading {
    let reading = control.reading(number, lane);
    let (values, stride, count) = reading.strided();
    MusterReading {
        size: abi::size_of::<MusterReading>(),
        subscription: number as u32,
        stamp_ns: reading.stamp.map_or(-1, |stamp| stamp.ns() as i64),
        values: values.as_ptr(),
        count: count as u64,
        stride: stride as u64,
    }
}

unsafe extern "C" fn extension(call: *const MusterCall, text: *const c_char) -> *mut c_void {
    // SAFETY: plug-ins hand back the call they got, and a name
    let (inside, name) = unsafe { (inside(call), name(text)) };
    let offers = inside.and_then(|inside| inside.environment).map(|environment| &environment.offers);
    let address = offers.zip(name).and_then(|(offers, name)| offers.get(name)).copied().unwrap_or(0);
    std::ptr::with_exposed_provenance_mut(address)
}

unsafe extern "C" fn field(call: *const MusterCall, text: *const c_char) -> i32 {
    // SAFETY: plug-ins hand back the call they got, and a name
    let (inside, name) = unsafe { (inside(call), name(text)) };
    let (Some(Inside { what: What::Sample(fields), .. }), Some(name)) = (inside, name) else { return abi::NOT_NOW };
    index(offset(fields, name))
}

unsafe extern "C" fn find_robot(call: *const MusterCall, text: *const c_char) -> i64 {
    // SAFETY: plug-ins hand back the call they got, and a name
    let (inside, name) = unsafe { (inside(call), name(text)) };
    let (Some(Inside { what: What::Look(at), .. }), Some(name)) = (inside, name) else {
        return i64::from(abi::NOT_NOW);
    };
    let key = robot_key(name, 0);
    at.world.robots.iter().position(|seen| seen.key == key).map_or(i64::from(abi::UNKNOWN), |at| at as i64)
}

unsafe extern "C" fn cast(
    call: *const MusterCall,
    from_m: *const f64,
    direction: *const f64,
    max_m: f64,
    into: *mut MusterHit,
) -> i32 {
    // SAFETY: plug-ins hand back the call they got
    let Some(Inside { what: What::Look(at), .. }) = (unsafe { inside(call) }) else { return abi::NOT_NOW };
    if from_m.is_null() || direction.is_null() || into.is_null() {
        return abi::FAILED;
    }
    // SAFETY: plug-ins give three numbers each
    let (from_m, direction) = unsafe { (vector(from_m), vector(direction)) };
    let hit = at.world.cast(from_m, direction, Reach { min_m: 0.0, max_m, without: Some(at.robot) });
    // SAFETY: plug-ins give room for a hit that begins with its size
    unsafe {
        if (*into).size < abi::size_of::<MusterHit>() {
            return abi::FAILED;
        }
        ((*into).distance_m, (*into).normal) = (hit.distance_m, hit.normal.as_dvec3().to_array());
    }
    abi::OK
}

/// # Safety
/// `first` points to three numbers.
unsafe fn vector(first: *const f64) -> glam::DVec3 {
    // SAFETY: as promised by the caller
    glam::DVec3::from_array(unsafe { *first.cast() })
}

unsafe extern "C" fn uniforms(stream: u64, index: u64, draw: u32, four: *mut f64) {
    // SAFETY: plug-ins give room for four numbers
    unsafe { four.cast::<[f64; 4]>().write(Stream::from_key(stream).uniforms(index, draw)) }
}

unsafe extern "C" fn normals(stream: u64, index: u64, draw: u32, four: *mut f64) {
    // SAFETY: plug-ins give room for four numbers
    unsafe { four.cast::<[f64; 4]>().write(Stream::from_key(stream).normals(index, draw)) }
}

/// The desk of an extension between windows.
unsafe fn desk<'a>(call: *const MusterCall) -> Option<&'a RefCell<&'a mut Desk<'a>>> {
    // SAFETY: plug-ins hand back the call they got
    match &unsafe { inside(call) }?.what {
        What::Window(desk) => Some(desk),
        _ => None,
    }
}

unsafe extern "C" fn get(call: *const MusterCall, property: *const c_char, values: *mut f64, capacity: u64) -> i64 {
    // SAFETY: plug-ins hand back the call they got, and a name
    let (Some(desk), Some(path)) = (unsafe { (desk(call), name(property)) }) else { return i64::from(abi::NOT_NOW) };
    let Ok(found) = desk.borrow().world.property(path) else { return i64::from(abi::UNKNOWN) };
    let count = found.len().min(capacity as usize);
    if !values.is_null() && count > 0 {
        // SAFETY: plug-ins give room for so many numbers
        unsafe { std::ptr::copy_nonoverlapping(found.as_ptr(), values, count) };
    }
    found.len() as i64
}

/// Numbers that a plug-in hands over.
///
/// # Safety
/// `first` is null or points to `count` numbers.
unsafe fn numbers(first: *const f64, count: u64) -> Vec<f64> {
    if first.is_null() || count == 0 {
        return Vec::new();
    }
    // SAFETY: as promised by the caller
    unsafe { std::slice::from_raw_parts(first, count as usize) }.to_vec()
}

unsafe extern "C" fn set(call: *const MusterCall, property: *const c_char, values: *const f64, count: u64) -> i32 {
    // SAFETY: plug-ins hand back the call they got, and a name
    let (Some(desk), Some(path)) = (unsafe { (desk(call), name(property)) }) else { return abi::NOT_NOW };
    let mut desk = desk.borrow_mut();
    if desk.world.property(path).is_err() {
        return abi::UNKNOWN;
    }
    // SAFETY: plug-ins give so many numbers
    let values = unsafe { numbers(values, count) };
    desk.actions.push(Action::Set { path: path.to_owned(), values });
    abi::OK
}

unsafe extern "C" fn ask(
    call: *const MusterCall,
    robot: *const c_char,
    word: *const c_char,
    values: *const f64,
    count: u64,
) -> i32 {
    // SAFETY: plug-ins hand back the call they got, and names
    let (desk, robot, word) = unsafe { (desk(call), name(robot), name(word)) };
    let (Some(desk), Some(robot), Some(word)) = (desk, robot, word) else { return abi::NOT_NOW };
    let mut desk = desk.borrow_mut();
    let Ok(service) = service::find(desk.services, word) else { return abi::UNKNOWN };
    // SAFETY: plug-ins give so many numbers
    let arguments: Vec<Datum> = unsafe { numbers(values, count) }.into_iter().map(Datum::Number).collect();
    if desk.world.find(robot).is_none() {
        return abi::UNKNOWN;
    }
    if service.check(&arguments).is_err() {
        return abi::FAILED;
    }
    desk.actions.push(Action::Call { robot: robot.to_owned(), service, arguments, reply: false });
    abi::OK
}

unsafe extern "C" fn robot_name(call: *const MusterCall, robot: u64, into: *mut c_char, capacity: u64) -> i64 {
    // SAFETY: plug-ins hand back the call they got
    let Some(desk) = (unsafe { desk(call) }) else { return i64::from(abi::NOT_NOW) };
    let desk = desk.borrow();
    let Some(robot) = desk.world.robots().nth(robot as usize) else { return i64::from(abi::UNKNOWN) };
    let address = robot.address();
    if !into.is_null() && (address.len() as u64) < capacity {
        // SAFETY: plug-ins give room for so many bytes, of which the last ends the text
        unsafe {
            std::ptr::copy_nonoverlapping(address.as_ptr().cast(), into, address.len());
            into.add(address.len()).write(0);
        }
    }
    address.len() as i64
}
