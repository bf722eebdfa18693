//! From traits to the functions and tables muster sees. Panics end here.

use crate::abi::{
    self, MusterAdvance, MusterCall, MusterConfig, MusterControl, MusterField, MusterKind, MusterLook, MusterMeasure,
    MusterPlugin, MusterQuantity, MusterReading, MusterSample, MusterWindow,
};
use crate::calls::{Advance, Config, Control, LookAt, Measure, Outcome, Reading, Sample, Window, c_text, fail};
use crate::kinds::{Field, Kind, Quantity};
use crate::{Driver, Extension, Look, Memory, Modifier, Motion, Sensor};
use std::any::Any;
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// A component that is being made: empty until it is configured.
type Holder<T> = OnceLock<T>;

/// One kind of a plug-in.
pub struct Entry {
    kind: Kind,
    family: u32,
    /// Sets the functions of its family.
    fill: fn(&mut MusterKind),
    create: fn() -> *mut c_void,
    destroy: unsafe fn(*mut c_void),
}

fn create_holder<T>() -> *mut c_void {
    Box::into_raw(Box::<Holder<T>>::default()).cast()
}

/// # Safety
/// `me` was made by [`create_holder`] of the same type and is not used any more.
unsafe fn destroy_holder<T>(me: *mut c_void) {
    // SAFETY: as promised by the caller
    let holder: Box<Holder<T>> = unsafe { Box::from_raw(me.cast()) };
    // what a component does at its end is its own business, but a panic must not reach muster
    _ = catch_unwind(AssertUnwindSafe(|| drop(holder)));
}

macro_rules! entries {
    ($($(#[$doc:meta])* $name:ident: $family:ident = $trait:ident via $fill:ident;)*) => {
        impl Entry {$(
            $(#[$doc])*
            pub const fn $name<T: $trait>() -> Self {
                Self {
                    kind: T::KIND,
                    family: abi::$family,
                    fill: $fill::<T>,
                    create: create_holder::<T>,
                    destroy: destroy_holder::<T>,
                }
            }
        )*}
    };
}

entries! {
    /// A driver.
    driver: DRIVER = Driver via fill_driver;
    /// A sensor on a robot.
    sensor: SENSOR = Sensor via fill_sensor;
    /// A sensor that looks at the world.
    look: LOOK = Look via fill_look;
    /// A modifier.
    modifier: MODIFIER = Modifier via fill_modifier;
    /// A motion.
    motion: MOTION = Motion via fill_motion;
    /// An extension.
    extension: EXTENSION = Extension via fill_extension;
}

/// The tables of a plug-in. They live as long as the process, as the library does.
pub struct Table(&'static MusterPlugin);

// SAFETY: the tables are made once and never change
unsafe impl Send for Table {}
// SAFETY: see above
unsafe impl Sync for Table {}

fn kept_text(text: &str) -> *const c_char {
    c_text(text).into_raw()
}

fn kept<T>(items: Vec<T>) -> *const T {
    Box::leak(items.into_boxed_slice()).as_ptr()
}

fn quantities(list: &[Quantity]) -> *const MusterQuantity {
    let size = abi::size_of::<MusterQuantity>();
    kept(list.iter().map(|one| MusterQuantity { size, count: one.count, name: kept_text(one.name) }).collect())
}

fn field(field: &Field) -> MusterField {
    let words = field.words.iter().map(|word| kept_text(word)).chain([std::ptr::null()]).collect();
    MusterField {
        size: abi::size_of::<MusterField>(),
        r#type: field.form,
        name: kept_text(field.name),
        doc: kept_text(field.doc),
        fallback: field.fallback.map_or(std::ptr::null(), kept_text),
        min: field.limits.0,
        max: field.limits.1,
        words: kept(words),
        count: field.count,
    }
}

impl Table {
    /// The tables of these kinds; name, version and purpose of the plug-in.
    pub fn new([name, version, about]: [&str; 3], entries: &[Entry]) -> Self {
        let kinds: Vec<MusterKind> = entries.iter().map(Entry::table).collect();
        let plugin = MusterPlugin {
            size: abi::size_of::<MusterPlugin>(),
            abi: abi::ABI,
            name: kept_text(name),
            version: kept_text(version),
            about: kept_text(about),
            kind_count: kinds.len() as u64,
            kinds: kept(kinds),
        };
        Self(Box::leak(Box::new(plugin)))
    }

    /// What muster gets.
    pub fn plugin(&self) -> *const MusterPlugin {
        self.0
    }
}

impl Entry {
    fn table(&self) -> MusterKind {
        let kind = &self.kind;
        // SAFETY: every member may be zero: numbers, null pointers, no functions
        let mut table: MusterKind = unsafe { std::mem::zeroed() };
        table.size = abi::size_of::<MusterKind>();
        table.family = self.family;
        (table.name, table.doc) = (kept_text(kind.name), kept_text(kind.doc));
        (table.fields, table.field_count) = (kept(kind.fields.iter().map(field).collect()), kind.fields.len() as u32);
        (table.state, table.state_count) = (quantities(kind.state), kind.state.len() as u32);
        (table.integers, table.integer_count) = (quantities(kind.integers), kind.integers.len() as u32);
        (table.sample, table.sample_count) = (quantities(kind.sample), kind.sample.len() as u32);
        (table.inputs, table.input_count) = (quantities(kind.inputs), kind.inputs.len() as u32);
        (table.flags, table.rate_hz) = (kind.flags, kind.rate_hz);
        (self.fill)(&mut table);
        table
    }
}

/// Makes a component of a kind, for `muster_create`; null if there is no such kind.
pub fn create(entries: &[Entry], kind: u32) -> *mut c_void {
    entries.get(kind as usize).map_or(std::ptr::null_mut(), |entry| (entry.create)())
}

/// Frees a component of a kind, for `muster_destroy`.
pub fn destroy(entries: &[Entry], kind: u32, me: *mut c_void) {
    if let Some(entry) = entries.get(kind as usize).filter(|_| !me.is_null()) {
        // SAFETY: muster frees what `create` of this kind made, once, and does not use it any more
        unsafe { (entry.destroy)(me) }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panicked: {}", text.unwrap_or_else(|| "without a message".to_owned()))
}

/// Does what a component wants done; tells muster of a panic, and for which lane.
fn guarded(call: &MusterCall, lane: impl FnOnce() -> u32, work: impl FnOnce() -> i32) -> i32 {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(code) => code,
        Err(panic) => {
            fail(call, lane(), &panic_text(&*panic));
            abi::FAILED
        }
    }
}

/// The component behind `me`.
///
/// # Safety
/// `me` is a [`Holder`] of this type that was configured, and lives as long as `'a`.
unsafe fn component<'a, T>(me: *mut c_void) -> &'a T {
    // SAFETY: as promised by the caller
    match unsafe { (*me.cast::<Holder<T>>()).get() } {
        Some(made) => made,
        None => panic!("called before it was configured"),
    }
}

macro_rules! configure {
    ($name:ident for $trait:ident) => {
        unsafe extern "C" fn $name<T: $trait>(me: *mut c_void, config: *const MusterConfig) -> i32 {
            // SAFETY: muster calls with what `muster_create` made and with a configuration, both valid during the call
            let (holder, config) = unsafe { (&*me.cast::<Holder<T>>(), &*config) };
            guarded(
                &config.call,
                || abi::ALL_LANES,
                || match T::configure(&Config(config)) {
                    Ok(made) => holder.set(made).map_or(abi::NOT_NOW, |()| abi::OK),
                    Err(why) => {
                        fail(&config.call, abi::ALL_LANES, &why);
                        abi::FAILED
                    }
                },
            )
        }
    };
}

configure!(configure_driver for Driver);
configure!(configure_sensor for Sensor);
configure!(configure_look for Look);
configure!(configure_modifier for Modifier);
configure!(configure_motion for Motion);
configure!(configure_extension for Extension);

/// Memories of robots of this type.
fn fill_memory<M: Memory>(table: &mut MusterKind) {
    unsafe extern "C" fn create<M: Memory>(_: *mut c_void, robot: *const c_char) -> *mut c_void {
        // SAFETY: muster lends a name that ends with zero
        let robot = unsafe { CStr::from_ptr(robot) }.to_string_lossy();
        let made = catch_unwind(|| Box::into_raw(Box::new(M::of(&robot))).cast());
        made.unwrap_or(std::ptr::null_mut())
    }
    unsafe extern "C" fn destroy<M: Memory>(_: *mut c_void, robot: *mut c_void) {
        // SAFETY: muster frees what `create` made, once
        let memory: Box<M> = unsafe { Box::from_raw(robot.cast()) };
        _ = catch_unwind(AssertUnwindSafe(|| drop(memory)));
    }
    unsafe extern "C" fn save<M: Memory>(_: *mut c_void, robot: *const c_void, bytes: *mut u8, capacity: u64) -> u64 {
        // SAFETY: muster lends what `create` made, which nobody changes meanwhile
        let memory = unsafe { &*robot.cast::<M>() };
        let Ok(saved) = catch_unwind(AssertUnwindSafe(|| memory.save())) else { return u64::MAX };
        if saved.len() as u64 <= capacity && !saved.is_empty() {
            // SAFETY: there is room for `capacity` bytes
            unsafe { std::ptr::copy_nonoverlapping(saved.as_ptr(), bytes, saved.len()) };
        }
        saved.len() as u64
    }
    unsafe extern "C" fn restore<M: Memory>(_: *mut c_void, robot: *mut c_void, bytes: *const u8, count: u64) -> i32 {
        // SAFETY: muster lends what `create` made, which nobody else uses meanwhile, and so many bytes
        let (memory, bytes) = unsafe {
            let bytes = if count == 0 { &[] } else { std::slice::from_raw_parts(bytes, count as usize) };
            (&mut *robot.cast::<M>(), bytes)
        };
        match catch_unwind(AssertUnwindSafe(|| memory.restore(bytes))) {
            Ok(Ok(())) => abi::OK,
            _ => abi::FAILED,
        }
    }
    if M::KEPT {
        table.robot_create = Some(create::<M>);
        table.robot_destroy = Some(destroy::<M>);
        table.robot_save = Some(save::<M>);
        table.robot_restore = Some(restore::<M>);
    }
}

fn fill_driver<T: Driver>(table: &mut MusterKind) {
    unsafe extern "C" fn start<T: Driver>(me: *mut c_void, control: *mut MusterControl, lane: u32) -> i32 {
        // SAFETY: muster calls with a configured component and a call, both valid until it returns
        let (me, control, call) = unsafe { (component::<T>(me), &mut *control, (*control).call) };
        guarded(
            &call,
            || lane,
            || {
                me.start(&mut Control::new(control), lane as usize);
                abi::OK
            },
        )
    }
    unsafe extern "C" fn step<T: Driver>(me: *mut c_void, control: *mut MusterControl) -> i32 {
        // SAFETY: muster calls with a configured component and a call, both valid until it returns
        let (me, call) = unsafe { (component::<T>(me), (*control).call) };
        // SAFETY: the component is done with the call when the lane is asked for
        guarded(
            &call,
            || unsafe { (*control).current },
            || {
                // SAFETY: see above
                me.step(&mut Control::new(unsafe { &mut *control }));
                abi::OK
            },
        )
    }
    unsafe extern "C" fn on_sample<T: Driver>(
        me: *mut c_void,
        control: *mut MusterControl,
        lane: u32,
        reading: *const MusterReading,
    ) -> i32 {
        // SAFETY: muster calls with a configured component, a call and a sample, all valid until it returns
        let (me, control, call) = unsafe { (component::<T>(me), &mut *control, (*control).call) };
        guarded(
            &call,
            || lane,
            || {
                // SAFETY: see above
                let reading = unsafe { Reading::of(&*reading) };
                me.on_sample(&mut Control::new(control), lane as usize, &reading);
                abi::OK
            },
        )
    }
    table.configure = Some(configure_driver::<T>);
    table.start_driver = Some(start::<T>);
    table.step = Some(step::<T>);
    table.on_sample = T::LISTENS.then_some(on_sample::<T>);
    fill_memory::<T::Memory>(table);
}

fn fill_sensor<T: Sensor>(table: &mut MusterKind) {
    unsafe extern "C" fn start<T: Sensor>(me: *mut c_void, measure: *mut MusterMeasure, lane: u32) -> i32 {
        // SAFETY: muster calls with a configured component and a call, both valid until it returns
        let (me, measure, call) = unsafe { (component::<T>(me), &mut *measure, (*measure).call) };
        guarded(
            &call,
            || lane,
            || {
                me.start(&mut Measure::new(measure), lane as usize);
                abi::OK
            },
        )
    }
    unsafe extern "C" fn measure<T: Sensor>(me: *mut c_void, measure: *mut MusterMeasure) -> i32 {
        // SAFETY: muster calls with a configured component and a call, both valid until it returns
        let (me, measure, call) = unsafe { (component::<T>(me), &mut *measure, (*measure).call) };
        guarded(
            &call,
            || abi::ALL_LANES,
            || {
                me.measure(&mut Measure::new(measure));
                abi::OK
            },
        )
    }
    table.configure = Some(configure_sensor::<T>);
    table.start_sensor = Some(start::<T>);
    table.measure = Some(measure::<T>);
    fill_memory::<T::Memory>(table);
}

fn fill_look<T: Look>(table: &mut MusterKind) {
    unsafe extern "C" fn capacity<T: Look>(me: *mut c_void, robots: u64) -> u64 {
        let record: usize = T::KIND.sample.iter().map(|quantity| quantity.count as usize).sum();
        // SAFETY: muster calls with a configured component
        let records = catch_unwind(AssertUnwindSafe(|| unsafe { component::<T>(me) }.records(robots as usize)));
        (records.unwrap_or(0) * record) as u64
    }
    unsafe extern "C" fn look<T: Look>(me: *mut c_void, look: *mut MusterLook) -> i32 {
        // SAFETY: muster calls with a configured component and a call, both valid until it returns
        let (me, raw, call) = unsafe { (component::<T>(me), &mut *look, (*look).call) };
        guarded(
            &call,
            || abi::ALL_LANES,
            || {
                me.look(&mut LookAt { raw });
                abi::OK
            },
        )
    }
    table.configure = Some(configure_look::<T>);
    table.capacity = Some(capacity::<T>);
    table.look = Some(look::<T>);
}

fn fill_modifier<T: Modifier>(table: &mut MusterKind) {
    unsafe extern "C" fn modify<T: Modifier>(me: *mut c_void, sample: *mut MusterSample) -> i32 {
        // SAFETY: muster calls with a configured component and a call, both valid until it returns
        let (me, raw, call) = unsafe { (component::<T>(me), &mut *sample, (*sample).call) };
        guarded(
            &call,
            || abi::ALL_LANES,
            || match me.modify(&mut Sample { raw }) {
                Outcome::Kept => abi::OK,
                Outcome::Lost => abi::LOST,
            },
        )
    }
    table.configure = Some(configure_modifier::<T>);
    table.modify = Some(modify::<T>);
}

fn fill_motion<T: Motion>(table: &mut MusterKind) {
    unsafe extern "C" fn speed_max<T: Motion>(me: *mut c_void) -> f64 {
        // SAFETY: muster calls with a configured component
        catch_unwind(AssertUnwindSafe(|| unsafe { component::<T>(me) }.speed_max_mps())).unwrap_or(f64::NAN)
    }
    unsafe extern "C" fn start<T: Motion>(me: *mut c_void, advance: *mut MusterAdvance, lane: u32) -> i32 {
        // SAFETY: muster calls with a configured component and a call, both valid until it returns
        let (me, raw, call) = unsafe { (component::<T>(me), &mut *advance, (*advance).call) };
        guarded(
            &call,
            || lane,
            || {
                me.start(&mut Advance { raw }, lane as usize);
                abi::OK
            },
        )
    }
    unsafe extern "C" fn advance<T: Motion>(me: *mut c_void, advance: *mut MusterAdvance) -> i32 {
        // SAFETY: muster calls with a configured component and a call, both valid until it returns
        let (me, raw, call) = unsafe { (component::<T>(me), &mut *advance, (*advance).call) };
        guarded(
            &call,
            || abi::ALL_LANES,
            || {
                me.advance(&mut Advance { raw });
                abi::OK
            },
        )
    }
    table.configure = Some(configure_motion::<T>);
    table.speed_max_mps = Some(speed_max::<T>);
    table.start_motion = Some(start::<T>);
    table.advance = Some(advance::<T>);
}

fn fill_extension<T: Extension>(table: &mut MusterKind) {
    unsafe extern "C" fn init<T: Extension>(me: *mut c_void, call: *const MusterCall) -> i32 {
        // SAFETY: muster calls with a configured component and a call, both valid until it returns
        let (me, call) = unsafe { (component::<T>(me), &*call) };
        guarded(call, || abi::ALL_LANES, || me.init().map_or_else(|why| told(call, &why), |()| abi::OK))
    }
    unsafe extern "C" fn shutdown<T: Extension>(me: *mut c_void) {
        // SAFETY: muster calls with a configured component
        _ = catch_unwind(AssertUnwindSafe(|| unsafe { component::<T>(me) }.shutdown()));
    }
    unsafe extern "C" fn offer<T: Extension>(me: *mut c_void) -> *mut c_void {
        // SAFETY: muster calls with a configured component
        let offer = catch_unwind(AssertUnwindSafe(|| unsafe { component::<T>(me) }.offer()));
        offer.map_or(std::ptr::null_mut(), |offer| offer.0)
    }
    unsafe extern "C" fn window<T: Extension>(me: *mut c_void, window: *mut MusterWindow) -> i32 {
        // SAFETY: muster calls with a configured component and a call, both valid until it returns
        let (me, raw, call) = unsafe { (component::<T>(me), &mut *window, (*window).call) };
        guarded(
            &call,
            || abi::ALL_LANES,
            || me.window(&mut Window { raw }).map_or_else(|why| told(&call, &why), |()| abi::OK),
        )
    }
    table.configure = Some(configure_extension::<T>);
    table.init = Some(init::<T>);
    table.shutdown = Some(shutdown::<T>);
    table.offer = Some(offer::<T>);
    table.window = Some(window::<T>);
}

/// Tells muster why something fails.
fn told(call: &MusterCall, why: &str) -> i32 {
    fail(call, abi::ALL_LANES, why);
    abi::FAILED
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Driver for Nothing {
        const KIND: Kind =
            Kind::new("nothing", "Does nothing.").fields(&[Field::choice("word", "A word.", &["a", "b"]).or("a")]);
        type Memory = ();

        fn configure(_: &Config<'_>) -> Result<Self, String> {
            Ok(Self)
        }

        fn step(&self, _: &mut Control<'_, ()>) {}
    }

    #[test]
    fn tables_say_what_kinds_say() {
        let entries = [Entry::driver::<Nothing>()];
        let table = Table::new(["a plug-in", "1", "for tests\0and nothing else"], &entries);
        let text = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_str().expect("text").to_owned();
        let plugin = unsafe { &*table.plugin() };
        let kind = unsafe { &*plugin.kinds };
        assert_eq!((text(plugin.name).as_str(), text(plugin.about).as_str()), ("a plug-in", "for tests"));
        assert_eq!(
            (text(kind.name).as_str(), kind.field_count, kind.size),
            ("nothing", 1, abi::size_of::<MusterKind>())
        );
        let field = unsafe { &*kind.fields };
        let words: Vec<String> = (0..2).map(|at| text(unsafe { *field.words.add(at) })).collect();
        assert_eq!((words, text(field.fallback)), (vec!["a".to_owned(), "b".to_owned()], "a".to_owned()));
        assert!(kind.on_sample.is_none() && kind.robot_create.is_none() && kind.step.is_some());
    }

    #[test]
    fn what_is_made_is_freed_and_unknown_kinds_make_nothing() {
        let entries = [Entry::driver::<Nothing>()];
        assert!(create(&entries, 1).is_null());
        let made = create(&entries, 0);
        assert!(!made.is_null());
        destroy(&entries, 0, made);
    }
}
