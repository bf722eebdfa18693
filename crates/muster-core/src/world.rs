//! The world: a model, a state, and the walk of a window. It owns no thread and no clock; it is handed both.

mod body;
mod calls;
mod commands;
mod events;
mod freeze;
mod index;
mod realm;

pub use body::BodyView;
pub use freeze::{HierarchyWork, Trial};
pub use realm::Realm;

use events::Lookout;

use crate::chunk::{ContactEvent, Fault, Spoken, Surroundings, attempt};
use crate::command::{Applied, Command};
use crate::component::{Pose, Sample};
use crate::couple::{Coupling, Solids};
use crate::event::{Active, Firing};
use crate::exec::{Background, Clock, Executor, Job};
use crate::joints::FrameMotion;
use crate::lanes::LANES;
use crate::look::{self, Glance, LookItem, LookJob};
use crate::model::{Environment, Model, robot_key};
use crate::random;
use crate::service::Answer;
use crate::simd::Simd;
use crate::snapshot::{Frozen, Snapshot};
use crate::state::{PlaceError, Robot, State};
use crate::time::{Rate, SimTime, Ticker};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The phases of a window, in the order of the walk.
pub const PHASES: [&str; 7] = ["commands", "couple", "live", "freeze", "look", "measure", "deliver"];

/// What a world is handed to walk with.
pub struct Machine<'a, E: Executor> {
    /// Runs robots beside each other.
    pub executor: &'a E,
    /// Runs sensors beside the loop.
    pub background: &'a mut dyn Background<LookJob>,
    /// Tells how long phases take.
    pub clock: &'a dyn Clock,
}

/// What a window was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its end: the time of the world now.
    pub end: SimTime,
    /// Wall-clock time of each phase, see [`PHASES`].
    pub phases_ns: [u64; PHASES.len()],
}

/// Scheduling choices; none of them changes results.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How kernels run.
    pub simd: Simd,
    /// Robots in a chunk at most.
    pub lanes: usize,
    /// Treat all robots as if they could touch.
    pub one_island: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { simd: Simd::detect(), lanes: LANES, one_island: false }
    }
}

/// Samples that became visible to listeners outside during the last window, in order of stamp, robot and sensor.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    records: Vec<Spoken>,
    values: Vec<f64>,
}

/// One such sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeardSample<'a> {
    /// When it was measured.
    pub stamp: SimTime,
    /// The robot's roster number.
    pub robot: u32,
    /// The sensor's number on the robot.
    pub sensor: u32,
    /// Which sample of the sensor it is.
    pub index: u64,
    /// Its numbers.
    pub values: &'a [f64],
}

impl Heard {
    /// The samples.
    pub fn iter(&self) -> impl Iterator<Item = HeardSample<'_>> {
        self.records.iter().map(|record| HeardSample {
            stamp: record.stamp,
            robot: record.robot,
            sensor: record.sensor,
            index: record.index,
            values: &self.values[record.first as usize..(record.first + record.len) as usize],
        })
    }

    /// True if nothing was heard.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    fn clear(&mut self) {
        self.records.clear();
        self.values.clear();
    }
}

/// When the robots of a cohort look with one of their sensors.
struct LookSchedule {
    rate: Rate,
    latency: SimTime,
    ticker: Ticker,
    items: Vec<LookItem>,
    /// In how many slices samples are looked at, over what time before their stamps, and which is next.
    slices: usize,
    span: SimTime,
    slice: usize,
    /// The sample of which a slice is due now, and which slice.
    due: Option<(u64, usize)>,
    /// Whether the sensor needs the parts of robots where they are.
    sees_bodies: bool,
    /// False while nobody listens to any of them.
    wanted: bool,
}

impl LookSchedule {
    /// When the next slice is due.
    fn next(&self) -> SimTime {
        let left = (self.slices - 1 - self.slice) as u64;
        let early = u128::from(self.span.ns()) * u128::from(left) / self.slices as u128;
        self.ticker.next - SimTime::from_ns(early as u64)
    }

    /// Notes what is due at a boundary; true if something is.
    fn take_due(&mut self, now: SimTime) -> bool {
        self.due = None;
        while self.next() <= now {
            self.due = Some((self.ticker.index, self.slice));
            self.slice += 1;
            if self.slice == self.slices {
                self.slice = 0;
                self.ticker.advance(self.rate);
            }
        }
        self.due = self.due.filter(|_| self.wanted);
        self.due.is_some()
    }

    /// The slice that is due if it is one that the loop looks at itself: without latency, or not the last.
    fn due_now(&self) -> Option<(u64, usize)> {
        self.due.filter(|(_, slice)| self.latency == SimTime::ZERO || slice + 1 < self.slices)
    }

    /// The sample that is due to be finished beside the loop.
    fn due_later(&self) -> Option<u64> {
        self.due.filter(|(_, slice)| self.latency > SimTime::ZERO && slice + 1 == self.slices).map(|(index, _)| index)
    }
}

/// A local sensor others read: its samples are posted at the boundaries at which they become visible.
struct Public {
    slot: u32,
    robot: u32,
    sensor: usize,
    sample: Ticker,
}

/// A simulation of one world.
pub struct World {
    model: Arc<Model>,
    environment: Arc<Environment>,
    options: Options,
    state: State,
    coupling: Coupling,
    looks: Vec<LookSchedule>,
    radii_m: Vec<f64>,
    /// Whether some sensor needs the parts of robots where they are.
    sees_bodies: bool,
    /// Room for the frames of a robot.
    frames: Vec<FrameMotion>,
    publics: Vec<Public>,
    /// Snapshots for sensors, and for those outside.
    frozen: Vec<Arc<Frozen>>,
    snapshots: Vec<Arc<Snapshot>>,
    #[expect(clippy::vec_box, reason = "the background takes and gives boxes")]
    spare_jobs: Vec<Box<LookJob>>,
    /// Boxes whose jobs moved into the state.
    #[expect(clippy::vec_box, reason = "the background takes and gives boxes")]
    husks: Vec<Box<LookJob>>,
    /// What is about to be sent off.
    #[expect(clippy::vec_box, reason = "the background takes and gives boxes")]
    packed: Vec<Box<LookJob>>,
    flying: usize,
    /// Robots and sensors somebody outside listens to, by realm, identity and name.
    ears: BTreeSet<(u32, u64, String)>,
    /// Those that look at the world: roster number, sensor, slot; derived.
    listeners: Vec<(u32, u32, u32)>,
    heard: Heard,
    faults: Vec<Fault>,
    contacts: Vec<ContactEvent>,
    refused: Vec<String>,
    answers: Vec<Answer>,
    lookout: Lookout,
    /// Events that happened, whether somebody could see them, and room to look for more.
    fired: Vec<Firing>,
    fired_shown: bool,
    met: Vec<ContactEvent>,
    active: Vec<Active>,
    stale: bool,
    live_ns: f64,
    generation: u64,
    /// Commands that took effect, if somebody wants to know, and the number of the group that takes effect next.
    applied: Option<Vec<Applied>>,
    groups: u64,
}

/// In how many pieces the work of sensors that cast rays is handed out beside the loop.
const PIECES: usize = 16;

/// Below this measured cost of a window's life, waking other threads costs more than it saves.
const PARALLEL_FROM_NS: f64 = 15_000.0;

impl World {
    /// A world at the beginning of its time.
    pub fn new(model: Arc<Model>, options: Options) -> Result<Self, PlaceError> {
        let environment = Arc::new(model.environment.clone());
        let mut world = Self {
            environment,
            options,
            state: State::new(options.lanes, &model.seeds),
            coupling: Coupling::default(),
            looks: Vec::new(),
            radii_m: Vec::new(),
            sees_bodies: false,
            frames: Vec::new(),
            publics: Vec::new(),
            frozen: Vec::new(),
            snapshots: Vec::new(),
            spare_jobs: Vec::new(),
            husks: Vec::new(),
            packed: Vec::new(),
            flying: 0,
            ears: BTreeSet::new(),
            listeners: Vec::new(),
            heard: Heard::default(),
            faults: Vec::new(),
            contacts: Vec::new(),
            refused: Vec::new(),
            answers: Vec::new(),
            lookout: Lookout::default(),
            fired: Vec::new(),
            fired_shown: false,
            met: Vec::new(),
            active: Vec::new(),
            stale: true,
            live_ns: 0.0,
            generation: 0,
            applied: None,
            groups: 0,
            model: Arc::clone(&model),
        };
        world.forget_events();
        let numbers = model
            .robots
            .iter()
            .map(|placement| world.state.add(placement, robot_key(&placement.name, 0), &model))
            .collect::<Result<Vec<u32>, PlaceError>>()?;
        for &number in &numbers {
            world.state.wire(number)?;
        }
        for (&number, placement) in numbers.iter().zip(&model.robots) {
            world.start(number);
            if let Some((holder, bond)) = &placement.attached {
                world.hold(number, placement.realm, holder, *bond)?;
            }
        }
        world.reindex();
        Ok(world)
    }

    /// Walks one window: until the next instant at which robots could influence each other or the outside world reads
    /// or writes, but not past `until`. Cannot fail: what misbehaves is isolated and reported.
    pub fn walk_window<E: Executor>(&mut self, until: SimTime, machine: &mut Machine<'_, E>) -> Window {
        let mut watch = Watch::new(machine.clock);
        self.settle();
        self.fired_shown = true;
        watch.lap();
        let end = self.boundary(until);
        if end == self.state.time {
            // paused: commands take effect, nothing lives
            return Window { end, phases_ns: watch.laps_ns };
        }
        let end = self.couple(end, machine.executor);
        watch.lap();
        let live_ns = self.live(end, machine.executor, &mut watch);
        let frozen = self.freeze(end);
        watch.lap();
        self.look(frozen.as_ref(), machine);
        watch.lap();
        self.measure(machine);
        watch.lap();
        self.deliver();
        watch.lap();
        self.note_cost(live_ns);
        self.state.windows += 1;
        Window { end, phases_ns: watch.laps_ns }
    }

    /// Applies every command whose time has come, and lets events happen, as the next window would do first.
    pub fn settle(&mut self) {
        if std::mem::take(&mut self.fired_shown) {
            self.fired.clear();
        }
        self.take_commands();
        self.react();
    }

    fn take_commands(&mut self) {
        self.heard.clear();
        self.contacts.clear();
        while self.state.commands.first().is_some_and(|command| command.time <= self.state.time) {
            let command = self.state.commands.remove(0);
            self.note_applied(&command);
            self.apply(command);
        }
        self.groups += 1;
        if self.stale {
            self.reindex();
        }
    }

    /// The end of the window that begins now.
    fn boundary(&self, until: SimTime) -> SimTime {
        let (now, window) = (self.state.time, self.model.window.ns().max(1));
        let lattice = SimTime::from_ns((now.ns() / window + 1) * window);
        let command = self.state.commands.first().map(|command| command.time);
        let looks = self.looks.iter().filter(|look| look.wanted).map(LookSchedule::next);
        let posts = self.publics.iter().map(|public| self.post_time(public));
        let visible = self.state.under_way.iter().map(|job| job.visible_at);
        let times = command.into_iter().chain([self.next_event()]).chain(looks).chain(posts).chain(visible);
        times.filter(|&time| time > now).fold(lattice.min(until.max(now)), SimTime::min)
    }

    /// Finds out who could touch whom before `end`. Returns where the window ends: no later than the first tick at which
    /// a contact could begin that is an event.
    fn couple<E: Executor>(&mut self, end: SimTime, executor: &E) -> SimTime {
        let solids = Solids { environment: &self.environment, one_island: self.options.one_island };
        self.coupling.renew(&mut self.state, end, &solids, executor);
        match self.lookout.watches_ticks() {
            true => end.min(self.coupling.next_watched(&self.state.chunks)),
            false => end,
        }
    }

    /// Lets every robot live until `end`.
    fn live<E: Executor>(&mut self, end: SimTime, executor: &E, watch: &mut Watch<'_>) -> u64 {
        let State { chunks, board, .. } = &mut self.state;
        let around = Surroundings {
            environment: &self.environment,
            board,
            simd: self.options.simd,
            logic_after_physics: self.model.logic_after_physics,
        };
        let pays = uses_threads(executor, self.live_ns);
        self.coupling.live(chunks, end, &around, pays.then_some(executor));
        for chunk in self.state.chunks.iter_mut().flatten() {
            chunk.promote(end);
        }
        self.state.time = end;
        watch.lap()
    }

    /// A frozen copy of the world, if a sensor is due to look at it.
    fn freeze(&mut self, end: SimTime) -> Option<Arc<Frozen>> {
        let mut any = false;
        for look in &mut self.looks {
            any |= look.take_due(end);
        }
        any.then(|| self.freeze_realms())
    }

    /// Sensors that are due look: those without latency at once, on all threads; others in the background.
    fn look<E: Executor>(&mut self, frozen: Option<&Arc<Frozen>>, machine: &mut Machine<'_, E>) {
        let Some(frozen) = frozen else { return };
        if self.looks.iter().any(|look| look.due_now().is_some()) {
            self.look_now(frozen, machine.executor);
        }
        for at in 0..self.looks.len() {
            if let Some(index) = self.looks[at].due_later() {
                self.take_off(at, index, frozen);
                self.depart(machine);
            }
        }
    }

    fn look_now<E: Executor>(&mut self, frozen: &Frozen, executor: &E) {
        let (looks, stamp, any_panic) = (&self.looks, self.state.time, AtomicBool::new(false));
        let simd = self.options.simd;
        let mut entries = std::mem::take(&mut self.state.board.entries);
        let state = &self.state;
        executor.for_each_mut(&mut entries, &|_, entry| {
            let Some(schedule) = looks.get(entry.schedule as usize).filter(|_| entry.wanted) else { return };
            let Some((index, slice)) = schedule.due_now() else { return };
            let Some(robot) = state.roster.get(entry.owner.0).filter(|robot| !state.isolated(robot)) else { return };
            entry.panic = attempt(|| {
                let (sensor, world) = (entry.owner.1 as usize, &frozen[robot.realm as usize]);
                let glance = Glance { seen: entry.seen as usize, stream: entry.stream, index, slice, simd };
                look::look(&robot.cohort, sensor, world, glance, &mut entry.fresh);
                if slice + 1 == schedule.slices {
                    post(entry, robot, (index, stamp), &world.environment);
                }
            });
            any_panic.fetch_or(entry.panic.is_some(), Ordering::Relaxed);
        });
        self.state.board.entries = entries;
        if any_panic.into_inner() {
            self.report_panics();
        }
    }

    /// Isolates the robots of sensors that panicked.
    fn report_panics(&mut self) {
        let panicked = |entry: &mut crate::board::Entry| entry.panic.take().map(|panic| (entry.owner, panic));
        let panics: Vec<((u32, u32), String)> = self.state.board.entries.iter_mut().filter_map(panicked).collect();
        for ((number, sensor), panic) in panics {
            self.isolate(number, sensor as usize, &panic);
        }
    }

    fn isolate(&mut self, number: u32, sensor: usize, panic: &str) {
        let Some(robot) = self.state.roster.get(number) else { return };
        let what = format!("sensor {:?} {panic}", robot.cohort.blueprint.sensors[sensor].name);
        let now = self.state.time;
        if let Some((chunk, lane)) = self.state.place_of_mut(number) {
            chunk.isolate(lane, now, what);
        }
    }

    /// Packs what the sensors of a schedule need: in several pieces if they cast rays, so that several threads can help.
    fn take_off(&mut self, at: usize, index: u64, frozen: &Arc<Frozen>) {
        let schedule = &self.looks[at];
        let (stamp, visible_at, simd) = (self.state.time, self.state.time + schedule.latency, self.options.simd);
        let fresh = |items: Vec<LookItem>, values| LookJob {
            frozen: Arc::clone(frozen),
            items,
            values,
            panics: Vec::new(),
            index,
            stamp,
            slice: schedule.slices - 1,
            visible_at,
            simd,
        };
        // a job that held these sensors before has room for them
        let held = |job: &LookJob| match (job.items.first(), schedule.items.first()) {
            (Some(a), Some(b)) => a.sensor == b.sensor && Arc::ptr_eq(&a.cohort, &b.cohort),
            _ => false,
        };
        let pieces = if schedule.sees_bodies { PIECES } else { 1 };
        let size = schedule.items.len().div_ceil(pieces).max(1);
        let wanted = |item: &&LookItem| {
            self.state.roster.get(item.robot).is_some_and(|robot| {
                let entry = self.state.board.entries.get(robot.slots[item.sensor as usize] as usize);
                entry.is_some_and(|entry| entry.wanted) && !self.state.isolated(robot)
            })
        };
        let mut left = schedule.items.iter().filter(wanted).cloned().peekable();
        while left.peek().is_some() {
            let spare = self.spare_jobs.iter().position(|job| held(job)).map(|at| self.spare_jobs.swap_remove(at));
            let mut job = spare.or_else(|| self.husks.pop()).unwrap_or_else(|| Box::new(fresh(Vec::new(), Vec::new())));
            let (mut items, mut values) = (std::mem::take(&mut job.items), std::mem::take(&mut job.values));
            items.clear();
            items.extend(left.by_ref().take(size));
            if schedule.slices > 1 {
                self.state.copy_begun(&items, &mut values);
            }
            *job = fresh(items, values);
            self.packed.push(job);
        }
    }

    /// Sends off what was packed: beside the loop, or, if nobody is there, at once on all threads.
    fn depart<E: Executor>(&mut self, machine: &mut Machine<'_, E>) {
        if !machine.background.is_beside() {
            machine.executor.for_each_mut(&mut self.packed, &|_, job| job.run());
            for mut job in self.packed.drain(..) {
                let stand_in = job.placeholder();
                self.state.under_way.push(std::mem::replace(&mut *job, stand_in));
                self.husks.push(job);
            }
            return;
        }
        for job in self.packed.drain(..) {
            // what is under way is known by its time; the result itself stays with the background until it is due
            self.state.under_way.push(job.placeholder());
            machine.background.start(job);
            self.flying += 1;
        }
    }

    /// Posts results whose time has come, waiting for them if need be, and local samples that others read.
    fn measure<E: Executor>(&mut self, machine: &mut Machine<'_, E>) {
        let now = self.state.time;
        let due = self.state.under_way.iter().rposition(|job| job.visible_at <= now).map_or(0, |last| last + 1);
        self.land(due, machine.background);
        let mut at = 0;
        while at < self.state.under_way.len() {
            if self.state.under_way[at].visible_at <= now {
                let job = self.state.under_way.remove(at);
                self.report_panics_of(&job);
                self.post_job(&job);
                self.recycle(job);
            } else {
                at += 1;
            }
        }
        for at in 0..self.publics.len() {
            self.post_local(at);
        }
    }

    /// Takes back the first `count` results under way, as far as they are in the background, waiting for them if need
    /// be. It works through them in this order, so nobody waits for a result that is not wanted yet.
    fn land(&mut self, count: usize, background: &mut dyn Background<LookJob>) {
        let (first, count) = (self.state.under_way.len() - self.flying, count.min(self.state.under_way.len()));
        let places = self.state.under_way.get_mut(first..count).unwrap_or_default();
        background.help(places.len());
        for place in places {
            if let Some(mut job) = background.finish() {
                std::mem::swap(place, &mut job);
                self.husks.push(job);
            }
            self.flying -= 1;
        }
    }

    fn recycle(&mut self, job: LookJob) {
        let spare = match self.husks.pop() {
            Some(mut husk) => {
                *husk = job;
                husk
            }
            // its own went off with another job, or it comes from a saved state
            None => Box::new(job),
        };
        self.spare_jobs.push(spare);
    }

    fn post_job(&mut self, job: &LookJob) {
        for (item, values) in job.items.iter().zip(&job.values) {
            let Some(robot) = self.state.roster.get(item.robot).filter(|robot| robot.key == item.key) else { continue };
            let Some(sensor) = item.sensor_on(robot).filter(|_| !self.state.isolated(robot)) else { continue };
            let Some(entry) = self.state.board.entries.get_mut(robot.slots[sensor] as usize) else { continue };
            entry.fresh.clear();
            entry.fresh.extend_from_slice(values);
            let (sample, environment) = ((job.index, job.stamp), &self.environment);
            if let Some(panic) = attempt(|| post(entry, robot, sample, environment)) {
                self.isolate(item.robot, sensor, &panic);
            }
        }
    }

    /// Isolates the robots of sensors that panicked beside the loop; nothing of what they were to see is posted.
    fn report_panics_of(&mut self, job: &LookJob) {
        for (at, panic) in &job.panics {
            let item = &job.items[*at];
            let robot = self.state.roster.get(item.robot).filter(|robot| robot.key == item.key);
            if let Some(sensor) = robot.and_then(|robot| item.sensor_on(robot)) {
                self.isolate(item.robot, sensor, panic);
            }
        }
    }

    /// When the next sample of a local sensor that others read becomes visible to them.
    fn post_time(&self, public: &Public) -> SimTime {
        let Some(robot) = self.state.roster.get(public.robot) else { return SimTime::NEVER };
        let (blueprint, sensor) = (&robot.cohort.blueprint, &robot.cohort.blueprint.sensors[public.sensor]);
        let tick = blueprint.rate.first_at_or_after(public.sample.next);
        blueprint.rate.time_of(tick) + sensor.latency
    }

    fn post_local(&mut self, at: usize) {
        let now = self.state.time;
        while self.post_time(&self.publics[at]) <= now {
            let public = &mut self.publics[at];
            let Some(robot) = self.state.roster.get(public.robot) else { return };
            public.sample.advance(robot.cohort.blueprint.sensors[public.sensor].rate);
        }
        let public = &self.publics[at];
        let Some((chunk, lane)) = self.state.place_of(public.robot) else { return };
        let columns = &chunk.cohort.layout.sensors[public.sensor];
        let stamp = u64::try_from(chunk.int[columns.stamp][lane]).ok().map(SimTime::from_ns);
        let entry = &self.state.board.entries[public.slot as usize];
        if stamp == entry.stamp {
            return;
        }
        let mut values = std::mem::take(&mut self.state.board.entries[public.slot as usize].values);
        if let Some((chunk, lane)) = self.state.place_of(self.publics[at].robot) {
            let columns = &chunk.cohort.layout.sensors[self.publics[at].sensor];
            values.clear();
            values.extend(chunk.real[columns.sample.0..columns.sample.1].iter().map(|column| column[lane]));
        }
        let entry = &mut self.state.board.entries[self.publics[at].slot as usize];
        (entry.values, entry.stamp) = (values, stamp);
    }

    /// Collects what listeners outside get, in an order that does not depend on threads.
    fn deliver(&mut self) {
        for chunk in self.state.chunks.iter_mut().flatten() {
            if !chunk.spoken.is_empty() {
                let base = self.heard.values.len() as u32;
                self.heard.values.append(&mut chunk.spoken_values);
                let shifted = chunk.spoken.drain(..).map(|spoken| Spoken { first: spoken.first + base, ..spoken });
                self.heard.records.extend(shifted);
            }
            self.contacts.append(&mut chunk.contacts);
            self.faults.append(&mut chunk.faults);
        }
        self.note_contacts();
        self.answer_calls();
        for &(robot, sensor, slot) in &self.listeners {
            let entry = &self.state.board.entries[slot as usize];
            if let Some(stamp) = entry.stamp.filter(|_| entry.alive && entry.fresh_at(self.state.time)) {
                let (first, len) = (self.heard.values.len() as u32, entry.values.len() as u32);
                self.heard.values.extend_from_slice(&entry.values);
                self.heard.records.push(Spoken { stamp, robot, sensor, index: entry.index, first, len });
            }
        }
        self.heard.records.sort_unstable_by_key(|record| (record.stamp, record.robot, record.sensor));
        self.contacts.sort_unstable();
        self.faults.sort_by_key(|fault| (fault.time, fault.robot));
    }

    /// Remembers what a window's life costs, to decide whether threads pay.
    fn note_cost(&mut self, live_ns: u64) {
        self.live_ns += (live_ns as f64 - self.live_ns) * 0.1;
    }

    /// Asks for a command to take effect at its time.
    pub fn post(&mut self, command: Command) {
        let at = self.state.commands.partition_point(|other| other.order() <= command.order());
        self.state.commands.insert(at, command);
    }

    /// Hears a sensor from now on: its samples appear in [`World::heard`]. False if there is no such sensor.
    pub fn listen(&mut self, robot: &str, sensor: &str) -> bool {
        let Some((number, found)) = self.state.roster.find(robot) else { return false };
        let ear = (found.realm, found.key, sensor.to_owned());
        let new = !self.ears.contains(&ear);
        if new && !self.hear(number, sensor) {
            return false;
        }
        if new {
            self.ears.insert(ear);
            self.note_demand();
        }
        true
    }

    /// What became visible to listeners during the last window.
    pub fn heard(&self) -> &Heard {
        &self.heard
    }

    /// Exchanges what was heard for another buffer, so that it can be delivered without copying.
    pub fn swap_heard(&mut self, other: &mut Heard) {
        std::mem::swap(&mut self.heard, other);
    }

    /// Counts the changes of who exists.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Contacts that began during the last window.
    pub fn contacts(&self) -> &[ContactEvent] {
        &self.contacts
    }

    /// Components that misbehaved, since this was last asked.
    pub fn take_faults(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.faults)
    }

    /// Commands that could not be obeyed, and why, since this was last asked.
    pub fn take_refusals(&mut self) -> Vec<String> {
        std::mem::take(&mut self.refused)
    }

    /// A copy of the state at this boundary, results under way included.
    pub fn save(&mut self, background: &mut dyn Background<LookJob>) -> State {
        self.land(usize::MAX, background);
        self.state.clone()
    }

    /// Goes back to a saved state.
    pub fn restore(&mut self, state: &State, background: &mut dyn Background<LookJob>) {
        self.land(usize::MAX, background);
        self.state.clone_from(state);
        self.heard.clear();
        self.contacts.clear();
        self.faults.clear();
        self.fired.clear();
        self.answers.clear();
        self.reindex();
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The state.
    pub fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    /// Simulation time.
    pub fn time(&self) -> SimTime {
        self.state.time
    }

    /// Hash of the state.
    pub fn hash(&self) -> u128 {
        self.state.hash()
    }

    /// Living robots, realm by realm in the order of their coming.
    pub fn robots(&self) -> impl Iterator<Item = &Robot> {
        self.state.roster.iter().map(|(_, robot)| robot)
    }

    /// Living robots with their roster numbers.
    pub fn roster(&self) -> impl Iterator<Item = (u32, &Robot)> {
        self.state.roster.iter()
    }

    /// The robot of this roster number.
    pub fn robot(&self, number: u32) -> Option<&Robot> {
        self.state.roster.get(number)
    }

    /// The robot of this address, see [`Robot::address`].
    pub fn find(&self, address: &str) -> Option<&Robot> {
        self.state.roster.find(address).map(|(_, robot)| robot)
    }

    /// The pose of a robot.
    pub fn pose(&self, address: &str) -> Option<Pose> {
        self.state.pose(self.state.roster.find(address)?.0)
    }

    /// Ticks of all robots so far.
    pub fn robot_ticks(&self) -> u64 {
        let living: u64 = self.state.chunks.iter().flatten().map(|chunk| chunk.robot_ticks).sum();
        self.state.robot_ticks + living
    }

    /// Contacts felt by robots so far, counted at every tick they last.
    pub fn touches(&self) -> u64 {
        self.state.chunks.iter().flatten().map(|chunk| chunk.touches).sum()
    }

    /// Whether the next window will run on the threads of this executor, as far as its cost is known.
    pub fn uses_threads<E: Executor>(&self, executor: &E) -> bool {
        uses_threads(executor, self.live_ns)
    }

    /// Windows so far.
    pub fn windows(&self) -> u64 {
        self.state.windows
    }

    /// How many pairs could touch, and in how many islands robots live, as of the last coupling.
    pub fn coupling(&self) -> (usize, usize) {
        (self.coupling.pairs(), self.coupling.islands())
    }

    /// How many samples a sensor has made so far.
    pub fn samples(&self, robot: &Robot, sensor: usize) -> u64 {
        match robot.slots[sensor] {
            slot if slot != crate::board::NOWHERE && !robot.cohort.layout.sensors[sensor].local => {
                self.state.board.entries[slot as usize].samples
            }
            _ => self.state.chunk(robot.chunk).map_or(0, |chunk| chunk.samples(sensor)),
        }
    }
}

fn uses_threads<E: Executor>(executor: &E, live_ns: f64) -> bool {
    executor.always_spread() || (executor.threads() > 1 && live_ns > PARALLEL_FROM_NS)
}

/// Sends a fresh sample through the modifiers and posts it unless it is lost.
fn post(
    entry: &mut crate::board::Entry,
    robot: &Robot,
    (index, stamp): (u64, SimTime),
    environment: &crate::model::Environment,
) {
    let slot = &robot.cohort.blueprint.sensors[entry.owner.1 as usize];
    let mut first = 0;
    let mut kept = true;
    for (number, (modifier, fields)) in slot.stages().enumerate() {
        let count = modifier.modifier.memory(fields);
        kept &= modifier.modifier.modify(&mut Sample {
            values: &mut entry.fresh,
            fields,
            memory: &mut entry.memory[first..first + count],
            stream: random::combine(entry.stream, number as u64 + 1),
            index,
            period_s: slot.rate.period_s(),
            stamp,
            environment,
        });
        first += count;
    }
    entry.samples += 1;
    if kept {
        std::mem::swap(&mut entry.values, &mut entry.fresh);
        (entry.stamp, entry.index, entry.visible_at) = (Some(stamp), index, stamp + slot.latency);
    }
}

/// Times the phases of a window.
struct Watch<'a> {
    clock: &'a dyn Clock,
    last_ns: u64,
    lap: usize,
    laps_ns: [u64; PHASES.len()],
}

impl<'a> Watch<'a> {
    fn new(clock: &'a dyn Clock) -> Self {
        Self { clock, last_ns: clock.now_ns(), lap: 0, laps_ns: [0; PHASES.len()] }
    }

    fn lap(&mut self) -> u64 {
        let now_ns = self.clock.now_ns();
        let lap_ns = now_ns.saturating_sub(self.last_ns);
        self.laps_ns[self.lap] = lap_ns;
        self.last_ns = now_ns;
        self.lap += 1;
        lap_ns
    }
}
