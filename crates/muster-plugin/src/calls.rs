//! What components are called with, without pointers.

use crate::abi::{
    self, LANES, MusterAdvance, MusterCall, MusterConfig, MusterControl, MusterHit, MusterLook, MusterMeasure,
    MusterReading, MusterSample, MusterValue, MusterWindow,
};
use crate::{Column, IntColumn, Memory};
use std::ffi::{CStr, CString, c_void};
use std::marker::PhantomData;

/// A text as C wants it; what follows a zero byte is left out.
pub(crate) fn c_text(text: &str) -> CString {
    let whole = text.split('\0').next().unwrap_or_default();
    CString::new(whole).unwrap_or_default()
}

/// A list that muster lends; empty if there is none.
///
/// # Safety
/// `first` points to `count` values that live and do not change as long as `'a`, or is null.
unsafe fn slice<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: as promised by the caller
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// A list that muster lends to be changed.
///
/// # Safety
/// `first` points to `count` values that nobody else uses as long as `'a`, or is null.
unsafe fn slice_mut<'a, T>(first: *mut T, count: usize) -> &'a mut [T] {
    if first.is_null() || count == 0 {
        return &mut [];
    }
    // SAFETY: as promised by the caller
    unsafe { std::slice::from_raw_parts_mut(first, count) }
}

/// Tells muster why a call fails.
pub(crate) fn fail(call: &MusterCall, lane: u32, text: &str) {
    // SAFETY: muster's table of functions is valid during a call, and so is the call
    unsafe { ((*call.host).fail)(call, lane, c_text(text).as_ptr()) }
}

fn extension_of(call: &MusterCall, name: &str) -> Option<Offer> {
    // SAFETY: muster's table of functions is valid during a call, and so is the call
    let address = unsafe { ((*call.host).extension)(call, c_text(name).as_ptr()) };
    (!address.is_null()).then_some(Offer(address))
}

fn four(call: &MusterCall, normal: bool, (stream, index, draw): (u64, u64, u32)) -> [f64; 4] {
    let mut four = [0.0; 4];
    // SAFETY: muster's table of functions is valid during a call, and there is room for four numbers
    unsafe {
        let host = &*call.host;
        let numbers = if normal { host.normals } else { host.uniforms };
        numbers(stream, index, draw, four.as_mut_ptr());
    }
    four
}

/// What a user wrote, and what the robot is made of.
pub struct Config<'a>(pub(crate) &'a MusterConfig);

/// A sensor that a driver asks for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    path: &'a str,
    kind: Option<&'a str>,
    optional: bool,
}

impl<'a> Wanted<'a> {
    /// `sensor` of the robot itself, or `robot.sensor`.
    pub fn sensor(path: &'a str) -> Self {
        Self { path, kind: None, optional: false }
    }

    /// It must be of this kind.
    pub fn of_kind(self, kind: &'a str) -> Self {
        Self { kind: Some(kind), ..self }
    }

    /// The run goes on without it.
    pub fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}

impl Config<'_> {
    fn value(&self, name: &str) -> &MusterValue {
        // SAFETY: muster lends so many values during the call, each with a name that ends with zero
        let values = unsafe { slice(self.0.values, self.0.count as usize) };
        let found = values.iter().find(|value| {
            // SAFETY: see above
            unsafe { CStr::from_ptr(value.name) }.to_bytes() == name.as_bytes()
        });
        match found {
            Some(value) => value,
            None => panic!("found no field {name:?}, expected one of the kind's own"),
        }
    }

    /// The number written for a field. Panics if the kind has no such field.
    pub fn number(&self, name: &str) -> f64 {
        self.value(name).number
    }

    /// The whole number written for a field.
    pub fn integer(&self, name: &str) -> i64 {
        self.value(name).integer
    }

    /// What is written for a field that is true or false.
    pub fn boolean(&self, name: &str) -> bool {
        self.value(name).integer != 0
    }

    /// The text or the word written for a field.
    pub fn text(&self, name: &str) -> &str {
        let text = self.value(name).text;
        if text.is_null() {
            return "";
        }
        // SAFETY: muster lends a text that ends with zero, during the call
        unsafe { CStr::from_ptr(text) }.to_str().unwrap_or_default()
    }

    /// The list of numbers written for a field.
    pub fn numbers(&self, name: &str) -> &[f64] {
        let value = self.value(name);
        // SAFETY: muster lends so many numbers during the call
        unsafe { slice(value.numbers, value.count as usize) }
    }

    fn place(&self, which: &str, code: i32, name: &str) -> Result<usize, String> {
        usize::try_from(code).map_err(|_| format!("found {which} {name:?}, expected one of the robot's"))
    }

    /// Which input of the motion has this name.
    pub fn input(&self, name: &str) -> Result<usize, String> {
        let call = &self.0.call;
        // SAFETY: muster's table of functions is valid during a call, and so is the call
        self.place("input", unsafe { ((*call.host).input)(call, c_text(name).as_ptr()) }, name)
    }

    /// Which joint of the robot has this name.
    pub fn joint(&self, name: &str) -> Result<usize, String> {
        let call = &self.0.call;
        // SAFETY: muster's table of functions is valid during a call, and so is the call
        self.place("joint", unsafe { ((*call.host).joint)(call, c_text(name).as_ptr()) }, name)
    }

    /// Which column of what a sensor sees has this name: `position_m`, `input.X`, `motion.X`.
    pub fn column(&self, name: &str) -> Result<usize, String> {
        let call = &self.0.call;
        // SAFETY: muster's table of functions is valid during a call, and so is the call
        self.place("column", unsafe { ((*call.host).column)(call, c_text(name).as_ptr()) }, name)
    }

    /// A constant of the robot's motion, such as `mass_kg`.
    pub fn constant(&self, name: &str) -> Result<f64, String> {
        let (call, mut value) = (&self.0.call, 0.0);
        // SAFETY: muster's table of functions is valid during a call, and so are the call and the room for a number
        let code = unsafe { ((*call.host).constant)(call, c_text(name).as_ptr(), &mut value) };
        self.place("constant", code, name).map(|_| value)
    }

    /// Asks for a sensor; returns the number of the subscription.
    pub fn subscribe(&self, wanted: Wanted<'_>) -> Result<usize, String> {
        let call = &self.0.call;
        let kind = wanted.kind.map(c_text);
        let kind = kind.as_ref().map_or(std::ptr::null(), |kind| kind.as_ptr());
        let path = c_text(wanted.path);
        // SAFETY: muster's table of functions is valid during a call, and so are the call and the texts
        let code = unsafe { ((*call.host).subscribe)(call, path.as_ptr(), kind, u32::from(wanted.optional)) };
        usize::try_from(code).map_err(|_| "sensors are for drivers to subscribe to".to_owned())
    }
}

/// A setpoint: what a robot is to do, whatever moves it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setpoint {
    mode: f64,
    values: [f64; 4],
}

impl Setpoint {
    /// Nothing: a robot stands, or falls.
    pub const fn none() -> Self {
        Self { mode: 0.0, values: [0.0; 4] }
    }

    /// Velocity in the frame of the robot's heading, m/s, and turn rate, rad/s.
    pub const fn velocity(forward_mps: f64, left_mps: f64, up_mps: f64, turn_radps: f64) -> Self {
        Self { mode: 1.0, values: [forward_mps, left_mps, up_mps, turn_radps] }
    }

    /// Position in the world, m, and heading, rad.
    pub const fn position(position_m: [f64; 3], heading_rad: f64) -> Self {
        Self { mode: 2.0, values: [position_m[0], position_m[1], position_m[2], heading_rad] }
    }

    /// Course, rad, altitude, m, and airspeed, m/s.
    pub const fn course(course_rad: f64, altitude_m: f64, airspeed_mps: f64) -> Self {
        Self { mode: 3.0, values: [course_rad, altitude_m, airspeed_mps, 0.0] }
    }

    /// Roll and pitch, rad, turn rate, rad/s, and thrust, N.
    pub const fn attitude(roll_rad: f64, pitch_rad: f64, turn_radps: f64, thrust_n: f64) -> Self {
        Self { mode: 5.0, values: [roll_rad, pitch_rad, turn_radps, thrust_n] }
    }
}

/// A sample that somebody reads. It is not copied.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// Which subscription it is of.
    pub subscription: usize,
    /// When it was measured, ns; `None` if there is none yet.
    pub stamp_ns: Option<i64>,
    values: &'a [f64],
    stride: usize,
    count: usize,
}

impl<'a> Reading<'a> {
    /// What muster says of a sample.
    ///
    /// # Safety
    /// The values it points to live as long as `'a`.
    pub(crate) unsafe fn of(raw: &MusterReading) -> Self {
        let (count, stride) = (raw.count as usize, (raw.stride as usize).max(1));
        let span = if count == 0 { 0 } else { (count - 1) * stride + 1 };
        Self {
            subscription: raw.subscription as usize,
            stamp_ns: (raw.stamp_ns >= 0).then_some(raw.stamp_ns),
            // SAFETY: as promised by the caller
            values: unsafe { slice(raw.values, span) },
            stride,
            count,
        }
    }

    /// How many numbers it has.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One of its numbers; 0 where there is none.
    pub fn get(&self, index: usize) -> f64 {
        self.values.get(index * self.stride).copied().filter(|_| index < self.count).unwrap_or(0.0)
    }

    /// All of them, if they stand side by side: samples of other robots, and of sensors that look at the world.
    pub fn shared(&self) -> Option<&'a [f64]> {
        (self.stride == 1).then_some(self.values)
    }
}

/// What an extension offers: an address that means something to those who ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer(pub(crate) *mut c_void);

impl Offer {
    /// Nothing.
    pub const fn nothing() -> Self {
        Self(std::ptr::null_mut())
    }

    /// Something that lives as long as the library, which is never unloaded.
    pub fn of<T: Sync>(value: &'static T) -> Self {
        Self(std::ptr::from_ref(value).cast_mut().cast())
    }

    /// The address.
    pub fn address(self) -> *mut c_void {
        self.0
    }
}

/// What a driver sees and may change.
pub struct Control<'a, M: Memory> {
    pub(crate) raw: &'a mut MusterControl,
    left: u32,
    memory: PhantomData<M>,
}

impl<'a, M: Memory> Control<'a, M> {
    pub(crate) fn new(raw: &'a mut MusterControl) -> Self {
        Self { left: raw.due, raw, memory: PhantomData }
    }

    /// The next lane to command; whoever fails from here on fails for it.
    #[inline]
    pub fn next_lane(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        self.raw.current = self.left.trailing_zeros();
        self.left &= self.left - 1;
        Some(self.raw.current as usize)
    }

    /// All lanes that are to be commanded, one bit each, for those who command all at once.
    pub fn due(&self) -> u32 {
        self.raw.due
    }

    /// Now, ns.
    pub fn time_ns(&self) -> i64 {
        self.raw.time_ns
    }

    /// Now, s.
    pub fn time_s(&self) -> f64 {
        self.raw.time_ns as f64 * 1e-9
    }

    /// Time between two calls.
    pub fn period_s(&self) -> f64 {
        self.raw.period_s
    }

    /// Which call this is, counted from the start of the simulation.
    pub fn index(&self) -> u64 {
        self.raw.index
    }

    /// Commands a setpoint.
    #[inline]
    pub fn command(&mut self, lane: usize, setpoint: Setpoint) {
        self.modes()[lane] = setpoint.mode;
        self.setpoints().iter_mut().zip(setpoint.values).for_each(|(column, value)| column[lane] = value);
    }

    /// The kinds of the setpoints.
    #[inline]
    pub fn modes(&mut self) -> &mut Column {
        // SAFETY: muster lends one column during the call, and the borrow of self keeps others off
        unsafe { &mut *self.raw.mode.cast() }
    }

    /// The setpoints: four columns.
    #[inline]
    pub fn setpoints(&mut self) -> &mut [Column] {
        // SAFETY: muster lends four columns during the call, and the borrow of self keeps others off
        unsafe { slice_mut(self.raw.setpoint.cast(), 4) }
    }

    /// Inputs of the motion.
    #[inline]
    pub fn inputs(&mut self) -> &mut [Column] {
        // SAFETY: muster lends so many columns during the call, and the borrow of self keeps others off
        unsafe { slice_mut(self.raw.inputs.cast(), self.raw.input_count as usize) }
    }

    /// What the driver remembers.
    #[inline]
    pub fn state(&mut self) -> &mut [Column] {
        // SAFETY: muster lends so many columns during the call, and the borrow of self keeps others off
        unsafe { slice_mut(self.raw.state.cast(), self.raw.state_count as usize) }
    }

    /// What the driver remembers in integers.
    #[inline]
    pub fn integers(&mut self) -> &mut [IntColumn] {
        // SAFETY: muster lends so many columns during the call, and the borrow of self keeps others off
        unsafe { slice_mut(self.raw.integers.cast(), self.raw.integer_count as usize) }
    }

    /// Where joints are, rad or m.
    pub fn joint_positions(&self) -> &[Column] {
        // SAFETY: muster lends so many columns during the call
        unsafe { slice(self.raw.joint_positions.cast(), self.raw.joint_count as usize) }
    }

    /// Where joints are to go.
    pub fn joint_commands(&mut self) -> &mut [Column] {
        // SAFETY: muster lends so many columns during the call, and the borrow of self keeps others off
        unsafe { slice_mut(self.raw.joint_commands.cast(), self.raw.joint_count as usize) }
    }

    /// What a subscription reads now.
    pub fn reading(&self, subscription: usize, lane: usize) -> Reading<'_> {
        let mut raw = MusterReading {
            size: abi::size_of::<MusterReading>(),
            subscription: subscription as u32,
            stamp_ns: -1,
            values: std::ptr::null(),
            count: 0,
            stride: 1,
        };
        let call = &self.raw.call;
        // SAFETY: muster's table of functions is valid during a call; the values live until the call returns
        unsafe {
            ((*call.host).reading)(call, subscription as u32, lane as u32, &mut raw);
            Reading::of(&raw)
        }
    }

    /// What the driver remembers of one robot beyond columns.
    pub fn memory(&mut self, lane: usize) -> &mut M {
        assert!(!self.raw.robots.is_null(), "this kind keeps nothing of robots beyond columns");
        // SAFETY: muster lends one pointer a lane, null or to what `robot_create` of this very type made; it serves a robot
        // by one call at a time, and the borrow of self keeps others off
        match unsafe { (*self.raw.robots.add(lane % LANES)).cast::<M>().as_mut() } {
            Some(memory) => memory,
            None => panic!("found lane {lane}, expected one with a robot"),
        }
    }

    /// What an extension offers; `None` if there is none of this name.
    pub fn extension(&self, name: &str) -> Option<Offer> {
        extension_of(&self.raw.call, name)
    }

    /// Four random numbers from 0 to 1, the same for the same robot, index and draw.
    pub fn uniforms(&self, lane: usize, index: u64, draw: u32) -> [f64; 4] {
        four(&self.raw.call, false, (self.stream(lane), index, draw))
    }

    /// Four random numbers of a normal distribution.
    pub fn normals(&self, lane: usize, index: u64, draw: u32) -> [f64; 4] {
        four(&self.raw.call, true, (self.stream(lane), index, draw))
    }

    fn stream(&self, lane: usize) -> u64 {
        // SAFETY: muster lends one key a lane
        unsafe { *self.raw.streams.add(lane % LANES) }
    }

    /// Gives up on one robot, which is isolated.
    pub fn fail(&self, lane: usize, why: &str) {
        fail(&self.raw.call, lane as u32, why);
    }
}

/// What a sensor sees of the robots it is on, and the samples it fills.
pub struct Measure<'a, M: Memory> {
    pub(crate) raw: &'a mut MusterMeasure,
    memory: PhantomData<M>,
}

impl<'a, M: Memory> Measure<'a, M> {
    pub(crate) fn new(raw: &'a mut MusterMeasure) -> Self {
        Self { raw, memory: PhantomData }
    }

    /// How many lanes there are.
    pub fn lanes(&self) -> usize {
        self.raw.call.lanes as usize
    }

    /// Now, ns.
    pub fn time_ns(&self) -> i64 {
        self.raw.time_ns
    }

    /// Time between two samples.
    pub fn period_s(&self) -> f64 {
        self.raw.period_s
    }

    /// Which sample this is.
    pub fn index(&self) -> u64 {
        self.raw.index
    }

    /// The robot as it is: body columns (see [`crate::body`]), inputs and state of its motion.
    pub fn truth(&self) -> &[Column] {
        // SAFETY: muster lends so many columns during the call
        unsafe { slice(self.raw.truth.cast(), self.raw.truth_count as usize) }
    }

    /// What the sensor remembers.
    pub fn state(&mut self) -> &mut [Column] {
        // SAFETY: muster lends so many columns during the call, and the borrow of self keeps others off
        unsafe { slice_mut(self.raw.state.cast(), self.raw.state_count as usize) }
    }

    /// The sample, to be filled.
    pub fn sample(&mut self) -> &mut [Column] {
        // SAFETY: muster lends so many columns during the call, and the borrow of self keeps others off
        unsafe { slice_mut(self.raw.sample.cast(), self.raw.sample_count as usize) }
    }

    /// Where the sensor sits on the body: position, m, and a quaternion x, y, z, w.
    pub fn mount(&self) -> [f64; 7] {
        // SAFETY: muster lends seven numbers during the call
        unsafe { *self.raw.mount.cast() }
    }

    /// Gravity in the world, m/s².
    pub fn gravity_mps2(&self) -> [f64; 3] {
        // SAFETY: muster lends three numbers during the call
        unsafe { *self.raw.gravity_mps2.cast() }
    }

    /// What the sensor remembers of one robot beyond columns; nothing in lanes without a robot.
    pub fn memory(&mut self, lane: usize) -> Option<&mut M> {
        if self.raw.robots.is_null() {
            return None;
        }
        // SAFETY: muster lends one pointer a lane, null or to what `robot_create` of this very type made; it serves a robot
        // by one call at a time, and the borrow of self keeps others off
        unsafe { (*self.raw.robots.add(lane % LANES)).cast::<M>().as_mut() }
    }

    /// Four random numbers of a normal distribution, the same for the same robot, index and draw.
    pub fn normals(&self, lane: usize, index: u64, draw: u32) -> [f64; 4] {
        // SAFETY: muster lends one key a lane
        let stream = unsafe { *self.raw.streams.add(lane % LANES) };
        four(&self.raw.call, true, (stream, index, draw))
    }

    /// What an extension offers; `None` if there is none of this name.
    pub fn extension(&self, name: &str) -> Option<Offer> {
        extension_of(&self.raw.call, name)
    }

    /// Gives up on one robot, which is isolated.
    pub fn fail(&self, lane: usize, why: &str) {
        fail(&self.raw.call, lane as u32, why);
    }
}

/// What a ray met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Along the ray, m.
    pub distance_m: f64,
    /// Normal of the surface in the world.
    pub normal: [f64; 3],
}

/// The world as a sensor sees it, and the sample it fills.
pub struct LookAt<'a> {
    pub(crate) raw: &'a mut MusterLook,
}

impl LookAt<'_> {
    /// Now, ns.
    pub fn time_ns(&self) -> i64 {
        self.raw.time_ns
    }

    /// Which sample this is.
    pub fn index(&self) -> u64 {
        self.raw.index
    }

    /// The robot it is on, by number.
    pub fn own(&self) -> usize {
        self.raw.robot as usize
    }

    /// How many robots there are.
    pub fn robots(&self) -> usize {
        self.raw.robots as usize
    }

    /// The robot of this name, by number.
    pub fn find(&self, name: &str) -> Option<usize> {
        // SAFETY: muster's table of functions is valid during a call, and so is the call
        let found = unsafe { ((*self.raw.call.host).find_robot)(&self.raw.call, c_text(name).as_ptr()) };
        usize::try_from(found).ok()
    }

    /// Numbers of one robot in the frozen world.
    fn vector<const N: usize>(&self, first: *const f64, robot: usize) -> [f64; N] {
        assert!(robot < self.robots(), "found robot {robot}, expected one of {}", self.robots());
        // SAFETY: muster lends that many vectors, each so many bytes after the one before, during the call
        unsafe { *first.byte_add(robot * self.raw.stride as usize).cast() }
    }

    /// Where a robot is, m.
    pub fn position_m(&self, robot: usize) -> [f64; 3] {
        self.vector(self.raw.positions_m, robot)
    }

    /// How a robot is turned: `world_from_body` as x, y, z, w.
    pub fn orientation(&self, robot: usize) -> [f64; 4] {
        self.vector(self.raw.orientations, robot)
    }

    /// How fast a robot is in the world, m/s.
    pub fn velocity_mps(&self, robot: usize) -> [f64; 3] {
        self.vector(self.raw.velocities_mps, robot)
    }

    /// Where the sensor is in the world: position, m, and a quaternion x, y, z, w.
    pub fn pose(&self) -> [f64; 7] {
        // SAFETY: muster lends seven numbers during the call
        unsafe { *self.raw.pose.cast() }
    }

    /// What a ray of unit direction first meets, the robot itself left out. The kind must see bodies.
    pub fn cast(&self, from_m: [f64; 3], direction: [f64; 3], max_m: f64) -> Option<Hit> {
        let mut hit =
            MusterHit { size: abi::size_of::<MusterHit>(), reserved: 0, distance_m: f64::INFINITY, normal: [0.0; 3] };
        let call = &self.raw.call;
        // SAFETY: muster's table of functions is valid during a call; all it points to is here
        unsafe { ((*call.host).cast)(call, from_m.as_ptr(), direction.as_ptr(), max_m, &mut hit) };
        hit.distance_m.is_finite().then_some(Hit { distance_m: hit.distance_m, normal: hit.normal })
    }

    /// Adds a number to the sample; what does not fit is lost.
    pub fn push(&mut self, value: f64) {
        // SAFETY: muster lends room for so many numbers during the call, and the borrow of self keeps others off
        let room = unsafe { slice_mut(self.raw.sample, self.raw.capacity as usize) };
        if let Some(place) = room.get_mut(self.raw.count as usize) {
            *place = value;
            self.raw.count += 1;
        }
    }

    /// Four random numbers of a normal distribution, the same for the same sensor, index and draw.
    pub fn normals(&self, index: u64, draw: u32) -> [f64; 4] {
        four(&self.raw.call, true, (self.raw.stream, index, draw))
    }

    /// What an extension offers; `None` if there is none of this name.
    pub fn extension(&self, name: &str) -> Option<Offer> {
        extension_of(&self.raw.call, name)
    }
}

/// What becomes of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on.
    Kept,
    /// Nobody sees it.
    Lost,
}

/// A sample on its way to those who read it.
pub struct Sample<'a> {
    pub(crate) raw: &'a mut MusterSample,
}

impl Sample<'_> {
    /// The numbers.
    pub fn values(&mut self) -> &mut [f64] {
        // SAFETY: muster lends so many numbers during the call, and the borrow of self keeps others off
        unsafe { slice_mut(self.raw.values, self.raw.count as usize) }
    }

    /// What the modifier remembers.
    pub fn memory(&mut self) -> &mut [f64] {
        // SAFETY: muster lends so many numbers during the call, and the borrow of self keeps others off
        unsafe { slice_mut(self.raw.memory, self.raw.memory_count as usize) }
    }

    /// Which number a field begins at.
    pub fn field(&self, name: &str) -> Option<usize> {
        // SAFETY: muster's table of functions is valid during a call, and so is the call
        let found = unsafe { ((*self.raw.call.host).field)(&self.raw.call, c_text(name).as_ptr()) };
        usize::try_from(found).ok()
    }

    /// Which sample this is.
    pub fn index(&self) -> u64 {
        self.raw.index
    }

    /// When it was measured, ns.
    pub fn stamp_ns(&self) -> i64 {
        self.raw.stamp_ns
    }

    /// Time between two samples.
    pub fn period_s(&self) -> f64 {
        self.raw.period_s
    }

    /// Four random numbers of a normal distribution, the same for the same sensor, index and draw.
    pub fn normals(&self, index: u64, draw: u32) -> [f64; 4] {
        four(&self.raw.call, true, (self.raw.stream, index, draw))
    }
}

/// A tick of a motion.
pub struct Advance<'a> {
    pub(crate) raw: &'a mut MusterAdvance,
}

impl Advance<'_> {
    /// How many lanes to move.
    pub fn lanes(&self) -> usize {
        self.raw.call.lanes as usize
    }

    /// Length of the tick.
    pub fn dt_s(&self) -> f64 {
        self.raw.dt_s
    }

    /// The end of the tick, ns.
    pub fn time_ns(&self) -> i64 {
        self.raw.time_ns
    }

    /// Gravity in the world, m/s².
    pub fn gravity_mps2(&self) -> [f64; 3] {
        // SAFETY: muster lends three numbers during the call
        unsafe { *self.raw.gravity_mps2.cast() }
    }

    /// Body columns (see [`crate::body`]), inputs, state.
    pub fn columns(&mut self) -> &mut [Column] {
        // SAFETY: muster lends so many columns during the call, and the borrow of self keeps others off
        unsafe { slice_mut(self.raw.columns.cast(), self.raw.column_count as usize) }
    }

    /// Where the motion's inputs and its state begin among the columns.
    pub fn firsts(&self) -> (usize, usize) {
        (self.raw.inputs as usize, self.raw.state as usize)
    }

    /// Gives up on one robot, which is isolated.
    pub fn fail(&self, lane: usize, why: &str) {
        fail(&self.raw.call, lane as u32, why);
    }
}

/// The time between two windows.
pub struct Window<'a> {
    pub(crate) raw: &'a mut MusterWindow,
}

impl Window<'_> {
    /// Now, ns.
    pub fn time_ns(&self) -> i64 {
        self.raw.time_ns
    }

    /// The names of all robots.
    pub fn robots(&self) -> Vec<String> {
        let call = &self.raw.call;
        let mut names = Vec::new();
        let mut room = vec![0_u8; 256];
        loop {
            // SAFETY: muster's table of functions is valid during a call, and there is room for so many bytes
            let length = unsafe {
                ((*call.host).robot_name)(call, names.len() as u64, room.as_mut_ptr().cast(), room.len() as u64)
            };
            let Ok(length) = usize::try_from(length) else { return names };
            if length < room.len() {
                names.push(String::from_utf8_lossy(&room[..length]).into_owned());
            } else {
                room.resize(length + 1, 0);
            }
        }
    }

    /// A property by its path, `robot.name`; `None` if there is none.
    pub fn get(&self, property: &str) -> Option<Vec<f64>> {
        let (call, path) = (&self.raw.call, c_text(property));
        let mut values = vec![0.0; 16];
        loop {
            // SAFETY: muster's table of functions is valid during a call, and there is room for so many numbers
            let count = unsafe { ((*call.host).get)(call, path.as_ptr(), values.as_mut_ptr(), values.len() as u64) };
            let count = usize::try_from(count).ok()?;
            if count <= values.len() {
                values.truncate(count);
                return Some(values);
            }
            values.resize(count, 0.0);
        }
    }

    /// Sets a property from the next window on.
    pub fn set(&mut self, property: &str, values: &[f64]) -> Result<(), String> {
        let (call, path) = (&self.raw.call, c_text(property));
        // SAFETY: muster's table of functions is valid during a call, and so are the numbers
        match unsafe { ((*call.host).set)(call, path.as_ptr(), values.as_ptr(), values.len() as u64) } {
            abi::OK => Ok(()),
            _ => Err(format!("found {property:?}, expected a property of a robot")),
        }
    }

    /// Asks a robot for a service with these numbers, from the next window on.
    pub fn ask(&mut self, robot: &str, service: &str, numbers: &[f64]) -> Result<(), String> {
        let (call, name, word) = (&self.raw.call, c_text(robot), c_text(service));
        let (first, count) = (numbers.as_ptr(), numbers.len() as u64);
        // SAFETY: muster's table of functions is valid during a call, and so are the texts and numbers
        match unsafe { ((*call.host).ask)(call, name.as_ptr(), word.as_ptr(), first, count) } {
            abi::OK => Ok(()),
            _ => Err(format!("found service {service:?} of {robot:?}, expected one that takes these numbers")),
        }
    }
}
