//! A chunk: up to [`LANES`] robots of one cohort, their columns and their schedule, and how they live through a tick.
//!
//! Everything here is robot-local: a chunk reads the board and the environment and writes only itself, so chunks run
//! in parallel without locks. All robots of a chunk tick at the same instants.

mod sense;
mod touch;

pub(crate) use touch::{frames_of, place_of};

use touch::Room;
pub(crate) use touch::{Found, find_pair, settle};

use crate::board::Board;
use crate::component::{Blow, Control, Failure, Faults, JointCommands, Kept, Order, Pose, Readings, Sense, Tick};
use crate::contact::Other;
use crate::contact::bond::Tie;
use crate::contact::patch::{Patch, Probe};
use crate::joints::{self, FrameMotion};
use crate::lanes::{Column, IntColumn, LANE_STEP, LANES, body};
use crate::model::{Cohort, DRIVER, Environment, Light, integers};
use crate::random;
use crate::simd::Simd;
use crate::time::{SimTime, Ticker};
use glam::DVec3;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What living needs to know of the rest of the world.
pub(crate) struct Surroundings<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) board: &'a Board,
    pub(crate) simd: Simd,
    pub(crate) logic_after_physics: bool,
}

/// A component that misbehaved, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// When.
    pub time: SimTime,
    /// The robot's roster number.
    pub robot: u32,
    /// What happened.
    pub what: String,
}

/// The beginning of a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContactEvent {
    /// When.
    pub time: SimTime,
    /// The robot's roster number.
    pub robot: u32,
    /// Whom it touches.
    pub with: Other,
}

/// A sample somebody outside listens to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spoken {
    pub(crate) stamp: SimTime,
    pub(crate) robot: u32,
    pub(crate) sensor: u32,
    pub(crate) index: u64,
    pub(crate) first: u32,
    pub(crate) len: u32,
}

/// Robots of one cohort that tick together.
#[derive(Clone)]
pub(crate) struct Chunk {
    pub(crate) cohort: Arc<Cohort>,
    lanes: Lanes,
}

/// Everything of a chunk that changes. Apart from the cohort, so that living can borrow both at once: counting
/// references at every tick would make threads fight for the counter.
#[derive(Clone)]
pub(crate) struct Lanes {
    pub(crate) len: usize,
    /// How many realms there are: a robot's number in its own is its roster number divided by this.
    realms: u32,
    /// Roster number of each lane.
    pub(crate) robots: [u32; LANES],
    /// Position of each lane's robot in the order of the roster.
    pub(crate) dense: [u32; LANES],
    pub(crate) real: Vec<Column>,
    pub(crate) int: Vec<IntColumn>,
    /// End of the last tick.
    pub(crate) now: SimTime,
    pub(crate) tick: Ticker,
    /// True if the drivers of the tick under way were called.
    decided: bool,
    drivers: Vec<Ticker>,
    sensors: Vec<SensorClock>,
    driver_streams: Vec<[u64; LANES]>,
    sensor_streams: Vec<[u64; LANES]>,
    /// What drivers and sensors remember of each lane beside columns; empty where they do not.
    driver_kept: Vec<Vec<Kept>>,
    sensor_kept: Vec<Vec<Kept>>,
    wind_streams: [u64; LANES],
    /// For each driver, the board slots of each lane's subscriptions.
    pub(crate) slots: Vec<Vec<u32>>,
    /// For each sensor, the lanes somebody outside listens to.
    pub(crate) listened: Vec<u32>,
    /// Lanes whose driver is not called: somebody else commands the robot.
    pub(crate) suspended: u32,
    /// Lanes whose contacts are written down one by one.
    pub(crate) watched: u32,
    /// The contacts of those, at every tick they last.
    pub(crate) met: Vec<ContactEvent>,
    /// Obstacles that lanes could touch before the next coupling.
    pub(crate) near: Vec<(u8, u32)>,
    /// How far from its place at the last coupling a robot and its outline can get, m.
    pub(crate) reach_m: f64,
    /// True if some lane was pushed or kicked since its last tick.
    pub(crate) pushed: bool,
    /// Where robots of this chunk touch obstacles, and robots that came after them; in order of their keys.
    pub(crate) patches: Vec<Patch>,
    /// The same, being found.
    pub(crate) found: Vec<Patch>,
    /// Robots of this chunk that are attached to others.
    pub(crate) ties: Vec<Tie>,
    /// Lanes that bear a contact force.
    pressed: u32,
    /// Lanes that touched something in this tick.
    touched: u32,
    /// True between the halves of a tick.
    fresh_contacts: bool,
    probe: Probe,
    room: Room,
    /// The pose columns before the last move.
    before: Before,
    /// Lanes that were isolated.
    pub(crate) isolated: u32,
    pub(crate) faults: Vec<Fault>,
    /// Lanes the component that is being called failed on, and how.
    failed: Faults,
    pub(crate) contacts: Vec<ContactEvent>,
    pub(crate) spoken: Vec<Spoken>,
    pub(crate) spoken_values: Vec<f64>,
    fresh: Vec<Column>,
    values: Vec<f64>,
    /// Room for what is put back: columns of isolated lanes, of jointed sensors; frames of a robot.
    frozen: Vec<Column>,
    jointed: Vec<Column>,
    frames: Vec<FrameMotion>,
    pub(crate) robot_ticks: u64,
    /// Contacts felt, robot by robot and tick by tick.
    pub(crate) touches: u64,
}

/// The schedule of a robot-local sensor.
#[derive(Debug, Clone, Copy)]
struct SensorClock {
    ticker: Ticker,
    /// When the oldest sample under way becomes visible.
    next_visible: SimTime,
    samples: u64,
    /// True after it panicked.
    broken: bool,
}

/// The pose columns before a move: to bound it, to measure acceleration, to undo it.
type Before = [Column; body::ANGULAR_VELOCITY];

/// Which stream of a robot drives the gusts around it.
const WIND_STREAM: u64 = 0x0077_696e_6400;

impl std::ops::Deref for Chunk {
    type Target = Lanes;

    fn deref(&self) -> &Lanes {
        &self.lanes
    }
}

impl std::ops::DerefMut for Chunk {
    fn deref_mut(&mut self) -> &mut Lanes {
        &mut self.lanes
    }
}

impl Chunk {
    /// A chunk in a world of so many realms.
    pub(crate) fn new(cohort: Arc<Cohort>, now: SimTime, realms: u32) -> Self {
        Self { lanes: Lanes::new(&cohort, now, realms), cohort }
    }

    /// Adds a robot; `key` is its identity mixed with the seed.
    pub(crate) fn add(&mut self, robot: u32, key: u64, start: &Start) -> usize {
        self.lanes.add(&self.cohort, robot, key, start)
    }

    /// Starts drivers and sensors of a robot whose subscriptions are wired.
    pub(crate) fn start(&mut self, lane: usize, (name, home): (&str, Pose), around: &Surroundings<'_>) {
        self.lanes.remember(&self.cohort, lane, name);
        self.lanes.start(&self.cohort, lane, home, around);
    }

    /// Takes what drivers and sensors remember of a robot beside columns, with the name of each.
    pub(crate) fn take_kept(&mut self, lane: usize) -> Vec<(String, Kept)> {
        let names = component_names(&self.cohort);
        let lanes = self.lanes.driver_kept.iter_mut().chain(&mut self.lanes.sensor_kept);
        names.zip(lanes).filter_map(|(name, kept)| Some((name, std::mem::take(kept.get_mut(lane)?)))).collect()
    }

    /// Gives it back to components of the same name that keep anything at all.
    pub(crate) fn give_kept(&mut self, lane: usize, kept: Vec<(String, Kept)>) {
        let names: Vec<String> = component_names(&self.cohort).collect();
        for (name, keepsake) in kept {
            let Some(at) = names.iter().position(|known| *known == name) else { continue };
            let lanes = self.lanes.driver_kept.iter_mut().chain(&mut self.lanes.sensor_kept).nth(at);
            if let Some(room) = lanes.and_then(|lanes| lanes.get_mut(lane)) {
                *room = keepsake;
            }
        }
    }

    /// What drivers and sensors remember beside columns.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &[Kept]> {
        self.lanes.driver_kept.iter().chain(&self.lanes.sensor_kept).map(Vec::as_slice)
    }

    /// All ticks that end at or before `end`, for robots that can touch no other.
    pub(crate) fn live_until(&mut self, end: SimTime, around: &Surroundings<'_>) {
        while self.lanes.tick.next <= end {
            self.begin_tick(around);
            settle(&mut [&mut *self], around.environment);
            self.end_tick(around);
        }
        self.decide_before(end, around);
    }

    /// Calls the drivers of a tick that began before `end` and ends after it: what becomes visible at `end` or later is
    /// not for them, wherever windows end.
    pub(crate) fn decide_before(&mut self, end: SimTime, around: &Surroundings<'_>) {
        if self.lanes.now < end {
            self.lanes.decide(&self.cohort, around);
        }
    }

    /// The first half of a tick: control, act, move.
    pub(crate) fn begin_tick(&mut self, around: &Surroundings<'_>) {
        self.lanes.begin_tick(&self.cohort, around);
    }

    /// The second half of a tick, when contacts have acted: feel.
    pub(crate) fn end_tick(&mut self, around: &Surroundings<'_>) {
        self.lanes.end_tick(&self.cohort, around);
    }

    /// Makes samples visible whose latency has passed by `now`.
    pub(crate) fn promote(&mut self, now: SimTime) {
        self.lanes.promote(&self.cohort, now);
    }

    /// Looks again for pushes to take and samples to make visible: a robot with some of its own came.
    pub(crate) fn expect_carried(&mut self) {
        self.lanes.pushed = true;
        self.lanes.sensors.iter_mut().for_each(|clock| clock.next_visible = SimTime::ZERO);
    }

    /// Makes room for so many contacts, so that none has to be made while ticks run.
    pub(crate) fn make_room_for(&mut self, contacts: usize) {
        for list in [&mut self.lanes.found, &mut self.lanes.patches] {
            list.reserve(contacts.saturating_sub(list.len()));
        }
        self.lanes.room.make_ready();
    }

    /// Takes a robot out of the simulation.
    pub(crate) fn isolate(&mut self, lane: usize, time: SimTime, what: String) {
        if self.lanes.isolated & (1 << lane) == 0 {
            self.lanes.isolate(&self.cohort, lane, time, what);
        }
    }

    /// Gives an order to a driver of a robot; an error says why it cannot be followed.
    pub(crate) fn order(
        &mut self,
        (lane, driver): (usize, usize),
        order: &Order<'_>,
        around: &Surroundings<'_>,
    ) -> Result<(), String> {
        let slot = &self.cohort.blueprint.drivers[driver];
        let (mut outcome, now) = (Ok(()), self.lanes.now);
        let mut control = self.lanes.control(&self.cohort, driver, 0, 0, around);
        let panic = attempt(|| outcome = slot.driver.order(&mut control, lane, order));
        let faults = std::mem::take(control.faults);
        if let Some(fault) = panic.or_else(|| faults.into_iter().next().map(|(_, what)| what)) {
            let what = format!("{} {:?} {fault}", slot.name, slot.kind);
            self.isolate(lane, now, what.clone());
            return Err(what);
        }
        outcome
    }

    /// Counts a contact of a robot.
    pub(crate) fn note_contact(&mut self, lane: usize, time: SimTime, with: Other) {
        self.lanes.note_contact(&self.cohort, lane, time, with);
    }
}

/// How a robot starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub(crate) pose: Pose,
    pub(crate) velocity_mps: DVec3,
    pub(crate) wind_mps: DVec3,
}

impl Lanes {
    fn new(cohort: &Cohort, now: SimTime, realms: u32) -> Self {
        let (layout, blueprint) = (&cohort.layout, &cohort.blueprint);
        let mut real = vec![[0.0; LANES]; layout.reals];
        real[body::ORIENTATION + 3] = [1.0; LANES];
        let drivers = blueprint.drivers.len();
        let sensors = blueprint.sensors.len();
        let most_fields = layout.sensors.iter().map(|columns| columns.sample.1 - columns.sample.0).max();
        let mut lanes = Self {
            len: 0,
            realms,
            robots: [u32::MAX; LANES],
            dense: [u32::MAX; LANES],
            real,
            int: vec![[0; LANES]; layout.integers],
            now,
            tick: Ticker::after(blueprint.rate, SimTime::ZERO, now),
            decided: false,
            drivers: Vec::new(),
            sensors: Vec::new(),
            driver_streams: vec![[0; LANES]; drivers],
            sensor_streams: vec![[0; LANES]; sensors],
            driver_kept: vec![Vec::new(); drivers],
            sensor_kept: vec![Vec::new(); sensors],
            wind_streams: [0; LANES],
            slots: layout.drivers.iter().map(|columns| vec![u32::MAX; columns.wires.len() * LANES]).collect(),
            listened: vec![0; sensors],
            suspended: 0,
            watched: 0,
            met: Vec::new(),
            near: Vec::new(),
            reach_m: 0.0,
            pushed: false,
            patches: Vec::new(),
            found: Vec::new(),
            ties: Vec::new(),
            pressed: 0,
            touched: 0,
            probe: Probe::default(),
            fresh_contacts: false,
            room: Room::default(),
            before: [[0.0; LANES]; body::ANGULAR_VELOCITY],
            isolated: 0,
            faults: Vec::new(),
            failed: Vec::new(),
            contacts: Vec::with_capacity(LANES),
            spoken: Vec::new(),
            spoken_values: Vec::new(),
            fresh: vec![[0.0; LANES]; most_fields.unwrap_or(0)],
            values: vec![0.0; most_fields.unwrap_or(0)],
            frozen: Vec::new(),
            jointed: Vec::new(),
            frames: Vec::new(),
            robot_ticks: 0,
            touches: 0,
        };
        for lane in 0..LANES {
            blueprint.motion.start(&mut lanes.real[..layout.motion_end], lane);
        }
        lanes.schedule(cohort, now);
        lanes
    }

    /// Puts tickers to where they would stand had the chunk been there from the beginning, so that it does not matter
    /// whether a robot joins other robots or is the first.
    fn schedule(&mut self, cohort: &Cohort, now: SimTime) {
        let blueprint = &cohort.blueprint;
        self.tick = Ticker::after(blueprint.rate, SimTime::ZERO, now);
        let ended = self.tick.index - 1;
        self.now = blueprint.rate.time_of(ended);
        self.decided = self.now < now;
        let driver = |slot: &crate::model::DriverSlot| match (self.decided, ended) {
            (true, _) => Ticker::after(slot.rate, SimTime::ZERO, self.now),
            (false, 0) => Ticker::at_or_after(slot.rate, SimTime::ZERO, self.now),
            (false, _) => Ticker::after(slot.rate, SimTime::ZERO, blueprint.rate.time_of(ended - 1)),
        };
        self.drivers = blueprint.drivers.iter().map(driver).collect();
        let sensor = |slot: &crate::model::SensorSlot| SensorClock {
            ticker: Ticker::after(slot.rate, slot.phase, self.now),
            next_visible: SimTime::NEVER,
            samples: 0,
            broken: false,
        };
        self.sensors = blueprint.sensors.iter().map(sensor).collect();
    }

    fn add(&mut self, cohort: &Cohort, robot: u32, key: u64, start: &Start) -> usize {
        let lane = self.len;
        self.len += 1;
        self.robots[lane] = robot;
        let (layout, blueprint) = (&cohort.layout, &cohort.blueprint);
        self.real.iter_mut().for_each(|column| column[lane] = 0.0);
        self.int.iter_mut().for_each(|column| column[lane] = 0);
        self.int[integers::LAST_CONTACT][lane] = -1;
        self.int[integers::FAULT][lane] = -1;
        if let Some(touched) = layout.touched {
            self.int[touched][lane] = Other::NOBODY;
        }
        self.isolated &= !(1 << lane);
        self.suspended &= !(1 << lane);
        self.watched &= !(1 << lane);
        body::set_vec3(&mut self.real, body::POSITION, lane, start.pose.position_m);
        body::set_orientation(&mut self.real, lane, start.pose.orientation);
        body::set_vec3(&mut self.real, body::VELOCITY, lane, start.velocity_mps);
        body::set_vec3(&mut self.real, body::WIND, lane, start.wind_mps);
        self.wind_streams[lane] = random::combine(key, WIND_STREAM);
        for (index, slot) in blueprint.drivers.iter().enumerate() {
            self.driver_streams[index][lane] = random::combine(key, random::id_of(&slot.name));
        }
        for (index, slot) in blueprint.sensors.iter().enumerate() {
            self.sensor_streams[index][lane] = random::combine(key, random::id_of(&slot.name));
            let columns = &layout.sensors[index];
            if columns.local {
                self.int[columns.stamp][lane] = -1;
                let ring = columns.ring_stamps..columns.ring_stamps + columns.ring_len;
                self.int[ring].iter_mut().for_each(|column| column[lane] = -1);
            }
            self.listened[index] &= !(1 << lane);
        }
        for (joint, frame) in joints::jointed(&blueprint.frames).enumerate() {
            self.real[layout.joints.positions() + joint][lane] = frame.servo.start;
            self.real[layout.joints.commands() + joint][lane] = frame.servo.start;
        }
        let light = blueprint.light.iter().flat_map(Light::values);
        self.real[layout.light.0..].iter_mut().zip(light).for_each(|(column, value)| column[lane] = value);
        blueprint.motion.start(&mut self.real[..layout.motion_end], lane);
        lane
    }

    /// Lets drivers and sensors of a new robot make what they remember of it beside columns.
    fn remember(&mut self, cohort: &Cohort, lane: usize, name: &str) {
        let drivers = cohort.blueprint.drivers.iter().map(|slot| slot.driver.memory(name));
        let sensors = cohort.blueprint.sensors.iter().map(|slot| match slot.sensor.sense() {
            Sense::Own(feel) => feel.memory(name),
            Sense::World(_) => None,
        });
        let rooms = self.driver_kept.iter_mut().chain(&mut self.sensor_kept);
        for (room, keepsake) in rooms.zip(drivers.chain(sensors)) {
            if let Some(keepsake) = keepsake {
                room.resize_with(LANES, Kept::default);
                room[lane] = Kept::of(keepsake);
            }
        }
    }

    fn start(&mut self, cohort: &Cohort, lane: usize, home: Pose, around: &Surroundings<'_>) {
        for index in 0..cohort.blueprint.drivers.len() {
            let slot = &cohort.blueprint.drivers[index];
            let mut control = self.control(cohort, index, 0, 0, around);
            slot.driver.start(&mut control, lane, home);
            self.blame(cohort, self.now, |what| format!("{} {:?} {what}", slot.name, slot.kind));
        }
        for index in 0..cohort.blueprint.sensors.len() {
            let slot = &cohort.blueprint.sensors[index];
            if let Sense::Own(feel) = slot.sensor.sense() {
                let mut fresh = std::mem::take(&mut self.fresh);
                feel.start(&mut self.measure(cohort, index, 0, &mut fresh, around), lane);
                self.fresh = fresh;
                self.blame(cohort, self.now, |what| format!("sensor {:?} {what}", slot.name));
            }
        }
        self.pad();
    }

    /// Isolates the robots that the component just called failed on; says which lanes these are.
    fn blame(&mut self, cohort: &Cohort, time: SimTime, text: impl Fn(&str) -> String) -> u32 {
        let mut blamed = 0;
        for (lane, what) in std::mem::take(&mut self.failed) {
            if lane < self.len && self.isolated & (1 << lane) == 0 {
                self.isolate(cohort, lane, time, text(&what));
                blamed |= 1 << lane;
            }
        }
        blamed
    }

    /// Gives surplus lanes the state of the first, so that they stay benign.
    fn pad(&mut self) {
        let (from, until) = (self.len.max(1), LANES);
        for column in &mut self.real {
            let first = column[0];
            column[from..until].fill(first);
        }
    }

    /// Removes a lane; the last robot moves into it. Returns the roster number of the robot that moved.
    pub(crate) fn remove(&mut self, lane: usize) -> Option<u32> {
        let last = self.len - 1;
        self.len = last;
        let moved = (lane != last).then_some(self.robots[last]);
        self.real.iter_mut().for_each(|column| column[lane] = column[last]);
        self.int.iter_mut().for_each(|column| column[lane] = column[last]);
        self.robots[lane] = self.robots[last];
        self.dense[lane] = self.dense[last];
        self.wind_streams[lane] = self.wind_streams[last];
        self.driver_streams.iter_mut().for_each(|streams| streams[lane] = streams[last]);
        self.sensor_streams.iter_mut().for_each(|streams| streams[lane] = streams[last]);
        for kept in self.driver_kept.iter_mut().chain(&mut self.sensor_kept).filter(|kept| !kept.is_empty()) {
            let moved = std::mem::take(&mut kept[last]);
            if lane != last {
                kept[lane] = moved;
            }
        }
        for slots in &mut self.slots {
            let wires = slots.len() / LANES;
            slots.copy_within(last * wires..(last + 1) * wires, lane * wires);
        }
        self.patches.retain(|patch| usize::from(patch.key.lane) != lane);
        self.patches.iter_mut().filter(|patch| usize::from(patch.key.lane) == last).for_each(|patch| {
            patch.key.lane = lane as u8;
        });
        self.patches.sort_unstable_by_key(|patch| patch.key);
        self.ties.retain(|tie| usize::from(tie.lane) != lane);
        self.ties.iter_mut().filter(|tie| usize::from(tie.lane) == last).for_each(|tie| tie.lane = lane as u8);
        let move_bit = |bits: &mut u32| *bits = (*bits & !(1 << lane | 1 << last)) | (((*bits >> last) & 1) << lane);
        if lane != last {
            move_bit(&mut self.isolated);
            move_bit(&mut self.pressed);
            move_bit(&mut self.suspended);
            move_bit(&mut self.watched);
            self.listened.iter_mut().for_each(move_bit);
        } else {
            self.isolated &= !(1 << last);
            self.pressed &= !(1 << last);
            self.suspended &= !(1 << last);
            self.watched &= !(1 << last);
            self.listened.iter_mut().for_each(|bits| *bits &= !(1 << last));
        }
        moved
    }

    /// Control, act, move; finds out what is touched.
    fn begin_tick(&mut self, cohort: &Cohort, around: &Surroundings<'_>) {
        if self.len > 0 {
            self.decide(cohort, around);
            self.advance(cohort, around);
            self.meet_obstacles(cohort, around.environment);
            // before others meet them: how far robots can get in a tick is what coupling counts on
            self.hold_to_bounds(cohort);
        }
        self.now = self.tick.next;
        self.decided = false;
        self.tick.advance(cohort.blueprint.rate);
    }

    /// Holds those who touched something to their bounds; feel.
    fn end_tick(&mut self, cohort: &Cohort, around: &Surroundings<'_>) {
        if self.len > 0 {
            self.hold_to_bounds(cohort);
            self.promote(cohort, self.now);
            self.feel(cohort, around);
        }
        self.robot_ticks += self.len as u64;
    }

    /// Holds those who touched something to their speed bound.
    fn hold_to_bounds(&mut self, cohort: &Cohort) {
        let bounds = (cohort.blueprint.motion.speed_max_mps(), cohort.blueprint.rate.period_s());
        for lane in (0..self.len).filter(|lane| self.touched & (1 << lane) != 0) {
            slow_down(&mut self.real, &self.before, lane, bounds);
        }
        self.touched = 0;
    }

    /// Calls the drivers that are due at the start of the tick, once.
    fn decide(&mut self, cohort: &Cohort, around: &Surroundings<'_>) {
        let wait = around.logic_after_physics && self.now == SimTime::ZERO;
        if !(self.decided || wait) {
            self.drive(cohort, self.now, around);
        }
        self.decided = true;
    }

    fn lanes(&self) -> usize {
        self.len.next_multiple_of(LANE_STEP)
    }

    /// Calls every driver that is due.
    fn drive(&mut self, cohort: &Cohort, now: SimTime, around: &Surroundings<'_>) {
        for index in 0..cohort.blueprint.drivers.len() {
            let slot = &cohort.blueprint.drivers[index];
            let Some(call) = self.drivers[index].take_due(slot.rate, now) else { continue };
            let let_go = if self.suspended != 0 && slot.name == DRIVER { self.suspended } else { 0 };
            let mut due = ((1_u32 << self.len) - 1) & !self.isolated & !let_go;
            while due != 0 {
                let mut control = self.control(cohort, index, due, call, around);
                let outcome = attempt(|| slot.driver.control(&mut control));
                let (lane, left) = (control.current, control.due & !(1 << control.current));
                due = match outcome {
                    None => 0,
                    Some(panic) => {
                        self.isolate(cohort, lane, now, format!("{} {:?} {panic}", slot.name, slot.kind));
                        left
                    }
                };
            }
            self.blame(cohort, now, |what| format!("{} {:?} {what}", slot.name, slot.kind));
        }
    }

    fn control<'a>(
        &'a mut self,
        cohort: &'a Cohort,
        index: usize,
        due: u32,
        call: u64,
        around: &Surroundings<'a>,
    ) -> Control<'a> {
        let layout = &cohort.layout;
        let columns = &layout.drivers[index];
        let (front, sensors) = self.real.split_at_mut(layout.sensors_first);
        let (front, state) = front.split_at_mut(columns.state.0);
        let (front, jointed) = front.split_at_mut(layout.joints.first);
        let (positions, commands) = jointed.split_at_mut(2 * layout.joints.count);
        let (commands, mode) = commands.split_at_mut(layout.joints.count);
        let joints = JointCommands {
            positions: &positions[..layout.joints.count],
            commands,
            mode: &mut mode[..layout.joints.count.min(1)],
        };
        let (body_columns, inputs) = front.split_at_mut(body::COLUMNS);
        let (mode, setpoint) = body_columns[body::SETPOINT_MODE..].split_at_mut(1);
        let (driver_integers, sensor_integers) = self.int.split_at_mut(layout.sensors_first_integer);
        Control {
            time: self.now,
            period_s: cohort.blueprint.drivers[index].rate.period_s(),
            index: call,
            mode: &mut mode[0],
            setpoint,
            inputs: &mut inputs[..layout.inputs.1 - layout.inputs.0],
            joints,
            state: &mut state[..columns.state.1 - columns.state.0],
            integers: &mut driver_integers[columns.integers.0..columns.integers.1],
            streams: self.driver_streams[index],
            simd: around.simd,
            environment: around.environment,
            kept: &mut self.driver_kept[index],
            faults: &mut self.failed,
            due,
            // whoever panics before asking for a lane fails on the first
            current: due.trailing_zeros() as usize % LANES,
            readings: Readings {
                wires: &columns.wires,
                columns: sensors,
                first_column: layout.sensors_first,
                integers: sensor_integers,
                first_integer: layout.sensors_first_integer,
                board: around.board,
                slots: &self.slots[index],
            },
        }
    }

    /// Moves all lanes on by one tick: what others' contacts asked for, wind, motion, obstacles, bounds.
    fn advance(&mut self, cohort: &Cohort, around: &Surroundings<'_>) {
        let lanes = self.lanes();
        let dt_s = cohort.blueprint.rate.period_s();
        let Some(&before) = self.real.first_chunk::<{ body::ANGULAR_VELOCITY }>() else { return };
        self.before = before;
        let frozen = self.keep_isolated(cohort);
        if self.pushed {
            take_pushes(&mut self.real);
            self.pushed = false;
        }
        self.blow(cohort, lanes, dt_s, around);
        let columns = &mut self.real[..cohort.layout.motion_end];
        if cohort.layout.joints.count > 0 {
            joints::advance(&cohort.blueprint.frames, columns, cohort.layout.joints, lanes, dt_s);
        }
        let tick = Tick {
            dt_s,
            time: self.tick.next,
            environment: around.environment,
            simd: around.simd,
            joints: cohort.layout.joints,
            near: &self.near,
            faults: RefCell::new(std::mem::take(&mut self.failed)),
        };
        if frozen.count_ones() as usize == self.len {
            // nobody left to move
        } else if let Some(panic) = attempt(|| cohort.blueprint.motion.advance(columns, lanes, &tick)) {
            self.isolate_all(cohort, self.tick.next, &format!("motion {:?} {panic}", cohort.blueprint.motion_kind));
        } else {
            self.failed = tick.faults.into_inner();
            if !self.failed.is_empty() {
                // before it is known whether what they were moved to makes any sense
                self.put_back(cohort, &before);
            }
        }
        // first the bound, so that no motion leaps past an obstacle; then obstacles, which may push beyond it
        self.guard(cohort, &before, dt_s, around.simd);
        self.restore_isolated(frozen);
    }

    /// Puts robots that could not be moved back to where they were, and isolates them.
    fn put_back(&mut self, cohort: &Cohort, before: &Before) {
        for (lane, _) in &self.failed {
            for (column, old) in self.real.iter_mut().zip(before) {
                column[*lane] = old[*lane];
            }
        }
        let kind = cohort.blueprint.motion_kind;
        self.blame(cohort, self.tick.next, |what| format!("motion {kind:?} {what}"));
    }

    fn blow(&mut self, cohort: &Cohort, lanes: usize, dt_s: f64, around: &Surroundings<'_>) {
        let (first, end) = cohort.layout.wind;
        if first == end {
            return;
        }
        let (front, state) = self.real.split_at_mut(first);
        around.environment.wind.blow(&mut Blow {
            state: &mut state[..end - first],
            body: &mut front[..body::COLUMNS],
            lanes,
            dt_s,
            index: self.tick.index,
            streams: &self.wind_streams,
            simd: around.simd,
        });
    }

    /// Counts a contact if it is a new one: the robot touched nothing for two ticks.
    fn note_contact(&mut self, cohort: &Cohort, lane: usize, time: SimTime, with: Other) {
        self.touches += 1;
        if self.watched & (1 << lane) != 0 {
            self.met.push(ContactEvent { time, robot: self.robots[lane], with });
        }
        let last = &mut self.int[integers::LAST_CONTACT][lane];
        let pause = cohort.contact_pause().ns() as i64;
        let now = time.ns() as i64;
        let begins = *last < 0 || now - *last > pause;
        *last = now;
        if let Some(touched) = cohort.layout.touched {
            let with = match with {
                Other::Robot(number) => Other::Robot(number / self.realms),
                Other::Obstacle(index) => Other::Obstacle(index),
            };
            self.int[touched][lane] = with.code();
        }
        if begins {
            self.int[integers::CONTACTS][lane] += 1;
            self.contacts.push(ContactEvent { time, robot: self.robots[lane], with });
        }
    }

    /// Measures acceleration, enforces the speed bound, and isolates robots whose state is no longer finite.
    fn guard(&mut self, cohort: &Cohort, before: &Before, dt_s: f64, simd: Simd) {
        let speed_max_mps = cohort.blueprint.motion.speed_max_mps();
        let mut suspects: Column = [0.0; LANES];
        let lanes = self.lanes();
        if let Some(columns) = self.real.first_chunk_mut::<{ body::COLUMNS }>() {
            simd.run(
                #[inline(always)]
                || watch(columns, before, lanes, (speed_max_mps, dt_s), &mut suspects),
            );
        }
        if suspects[..self.len].iter().all(|&sign| sign == 0.0) {
            return;
        }
        for lane in (0..self.len).filter(|&lane| suspects[lane] != 0.0) {
            if suspects[lane] > 0.0 {
                slow_down(&mut self.real, before, lane, (speed_max_mps, dt_s));
            } else if self.isolated & (1 << lane) == 0 {
                for (column, old) in self.real.iter_mut().zip(before) {
                    column[lane] = old[lane];
                }
                let what = "its state is no longer finite (NaN or infinite)".to_owned();
                self.isolate(cohort, lane, self.tick.next, what);
            }
        }
    }

    /// Takes a robot out of the simulation: it stays where it is, at rest, and is driven no more.
    fn isolate(&mut self, cohort: &Cohort, lane: usize, time: SimTime, what: String) {
        self.isolated |= 1 << lane;
        self.int[integers::FAULT][lane] = time.ns() as i64;
        for column in &mut self.real[body::VELOCITY..body::SETPOINT + 4] {
            column[lane] = 0.0;
        }
        let layout = &cohort.layout;
        for column in &mut self.real[body::COLUMNS..layout.state_end] {
            column[lane] = 0.0;
        }
        for column in &mut self.real[layout.joints.rates()..layout.joints.commands()] {
            column[lane] = 0.0;
        }
        self.faults.push(Fault { time, robot: self.robots[lane], what });
    }

    /// Takes all robots out of the simulation: what serves a chunk at once fails for all of it.
    fn isolate_all(&mut self, cohort: &Cohort, time: SimTime, what: &str) {
        for lane in (0..self.len).filter(|lane| self.isolated & (1 << lane) == 0).collect::<Vec<_>>() {
            self.isolate(cohort, lane, time, what.to_owned());
        }
    }

    /// Keeps the columns of isolated lanes, to be put back after a move; says which lanes these are.
    fn keep_isolated(&mut self, cohort: &Cohort) -> u32 {
        if self.isolated != 0 {
            self.frozen.clear();
            self.frozen.extend_from_slice(&self.real[..cohort.layout.motion_end]);
        }
        self.isolated
    }

    fn restore_isolated(&mut self, frozen: u32) {
        for lane in (0..self.len).filter(|lane| frozen & (1 << lane) != 0) {
            for (column, old) in self.real.iter_mut().zip(&self.frozen) {
                column[lane] = old[lane];
            }
            for column in &mut self.real[body::VELOCITY..body::SETPOINT_MODE] {
                column[lane] = 0.0;
            }
        }
    }
}

/// Moves what contacts asked for into position and velocity.
fn take_pushes(columns: &mut [Column]) {
    let asked = [(body::POSITION, body::PUSH), (body::VELOCITY, body::KICK), (body::ANGULAR_VELOCITY, body::TWIST)];
    for (target, source) in asked {
        for axis in 0..3 {
            let asked = std::mem::replace(&mut columns[source + axis], [0.0; LANES]);
            columns[target + axis].iter_mut().zip(asked).for_each(|(value, change)| *value += change);
        }
    }
}

/// Sets the acceleration and marks lanes: 0 is well, positive is too fast, NaN is not finite.
#[inline(always)]
fn watch(
    columns: &mut [Column; body::COLUMNS],
    before: &Before,
    lanes: usize,
    (speed_max_mps, dt_s): (f64, f64),
    suspects: &mut Column,
) {
    let (fast_from, far_from) = (speed_max_mps * speed_max_mps, speed_max_mps * dt_s * speed_max_mps * dt_s);
    let per_s = 1.0 / dt_s;
    for lane in 0..lanes.min(LANES) {
        let at = |first: usize| DVec3::new(columns[first][lane], columns[first + 1][lane], columns[first + 2][lane]);
        let was = |first: usize| DVec3::new(before[first][lane], before[first + 1][lane], before[first + 2][lane]);
        let (position, velocity) = (at(body::POSITION), at(body::VELOCITY));
        let step = position - was(body::POSITION);
        let (far, fast) = (step.dot(step), velocity.dot(velocity));
        let acceleration = (velocity - was(body::VELOCITY)) * per_s;
        let turn = columns[3][lane] + columns[4][lane] + columns[5][lane] + columns[6][lane];
        let spin = columns[10][lane] + columns[11][lane] + columns[12][lane];
        columns[body::ACCELERATION][lane] = acceleration.x;
        columns[body::ACCELERATION + 1][lane] = acceleration.y;
        columns[body::ACCELERATION + 2][lane] = acceleration.z;
        let beyond = if far > far_from { 1.0 } else { 0.0 } + if fast > fast_from { 1.0 } else { 0.0 };
        // 0 times a finite sum is 0; times NaN or infinity it is NaN
        suspects[lane] = beyond + (far + fast + turn + spin) * 0.0;
    }
}

/// Holds one robot to its speed bound, in velocity and in displacement whatever caused it.
fn slow_down(columns: &mut [Column], before: &Before, lane: usize, (speed_max_mps, dt_s): (f64, f64)) {
    let old = body::vec3(before, body::POSITION, lane);
    let step = body::vec3(columns, body::POSITION, lane) - old;
    let velocity = body::vec3(columns, body::VELOCITY, lane).clamp_length_max(speed_max_mps);
    let acceleration = (velocity - body::vec3(before, body::VELOCITY, lane)) / dt_s;
    body::set_vec3(columns, body::POSITION, lane, old + step.clamp_length_max(speed_max_mps * dt_s));
    body::set_vec3(columns, body::VELOCITY, lane, velocity);
    body::set_vec3(columns, body::ACCELERATION, lane, acceleration);
}

/// Does what a component wants done; says how it panicked, if it did.
pub(crate) fn attempt(work: impl FnOnce()) -> Option<String> {
    catch_unwind(AssertUnwindSafe(work)).err().map(|panic| match panic.downcast::<Failure>() {
        Ok(failure) => failure.0,
        Err(panic) => format!("panicked: {}", panic_text(&*panic)),
    })
}

/// The names of a robot's drivers and sensors that may remember something beside columns.
fn component_names(cohort: &Cohort) -> impl Iterator<Item = String> {
    let drivers = cohort.blueprint.drivers.iter().map(|slot| format!("{} {}", slot.name, slot.kind));
    let sensors = cohort.blueprint.sensors.iter().map(|slot| format!("sensor {} {}", slot.name, slot.kind));
    drivers.chain(sensors)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".to_owned())
}
