//! Running a scenario to its end: pacing, judging, progress, and a clean stop whatever happens.

use crate::judge::Judge;
use crate::pace::Pacer;
use crate::record::RecordOutcome;
use crate::report::{Happened, Meter, Report, sensor_rates};
use crate::simulation::Simulation;
use muster_core::ContactEvent;
use muster_core::contact::Other;
use muster_core::event::Firing;
use muster_core::exec::Clock;
use muster_core::time::SimTime;
use muster_core::world::{Realm, World};
use muster_links::link::{Pace, Turn, Wish};
use muster_links::record::recorder::Recorder;
use muster_scenario::text::OnFault;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How to run.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions {
    /// Simulated seconds a second; `None`: as fast as possible.
    pub rtf: Option<f64>,
    /// How long to simulate.
    pub span: SimTime,
    /// How many windows at most.
    pub windows: Option<u64>,
    /// Wall-clock time after which the run is given up.
    pub timeout: Option<Duration>,
    /// Stop at the first missed deadline.
    pub require_rt: bool,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// At its end.
    Finished,
    /// Given up after its time limit.
    Timeout,
    /// Stopped from outside.
    Interrupted,
    /// A deadline was missed under `require_rt`.
    Late,
    /// A component failed under `on_fault: stop`.
    Faulty,
}

impl Ended {
    fn word(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Timeout => "timeout",
            Self::Interrupted => "interrupted",
            Self::Late => "late",
            Self::Faulty => "faulty",
        }
    }
}

/// Where a run stands.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Simulated time so far.
    pub time: SimTime,
    /// Where it ends.
    pub end: SimTime,
    /// Wall-clock time so far.
    pub wall: Duration,
    /// Robots.
    pub robots: usize,
    /// Deadlines missed.
    pub late: u64,
    /// Expectations failed.
    pub failed: usize,
}

/// Something worth telling while a run goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A deadline was missed; not every one is told, but all are counted.
    Late {
        /// Which window.
        window: u64,
        /// By how much.
        late: Duration,
        /// How many were missed so far.
        count: u64,
    },
    /// A robot was isolated.
    Fault(String),
    /// A command was refused.
    Refused(String),
    /// A link has something to tell.
    Link(String),
    /// The recording ends here, though the run goes on.
    Unrecorded(String),
    /// Something expected did not happen.
    Failed(String),
    /// An event of the scenario happened; of one that happens often only the first times are told, but all are counted.
    Happened(String),
}

/// Who watches a run.
pub trait Watcher {
    /// Called now and then.
    fn progress(&mut self, progress: &Progress);

    /// Called when something happens.
    fn event(&mut self, event: Event);
}

/// A watcher that looks away.
pub struct Unwatched;

impl Watcher for Unwatched {
    fn progress(&mut self, _: &Progress) {}

    fn event(&mut self, _: Event) {}
}

/// Progress is told this often, late windows at most this often.
const TELL_EVERY_NS: u64 = 200_000_000;
const TELL_LATE_EVERY_NS: u64 = 1_000_000_000;

/// Other links are attended at least this often while peers in lock step are waited for.
const LOCK_STEP_PATIENCE: Duration = Duration::from_millis(2);

/// Runs a simulation; the report is that of its first realm, which is the only one unless seeds were joined.
pub fn run(
    sim: &mut Simulation,
    options: &RunOptions,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> (Report, Ended) {
    let (mut reports, ended) = run_realms(sim, options, stop, watcher);
    (reports.swap_remove(0), ended)
}

/// Runs a simulation of several realms; each is judged and reported as if it were alone.
pub fn run_realms(
    sim: &mut Simulation,
    options: &RunOptions,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> (Vec<Report>, Ended) {
    let mut runner = Runner::new(sim, options);
    let ended = runner.run(sim, options, stop, watcher);
    let accounts = std::mem::take(&mut runner.accounts);
    let reports = accounts.into_iter().zip(0..).map(|(account, realm)| runner.report(sim, (realm, account), ended));
    (reports.collect(), ended)
}

/// A simulation and how to run it, or why there is none.
pub type Loaded<E> = Result<(Simulation, RunOptions), E>;

/// Runs a scenario with each of these seeds, all in one world, and returns their reports in this order. `load` makes the
/// simulation of some of them, see [`Setup::seeds`](crate::Setup::seeds).
pub fn run_seeds<E>(
    seeds: &[u64],
    load: &dyn Fn(&[u64]) -> Loaded<E>,
    stop: &AtomicBool,
) -> Result<Vec<(Report, Ended)>, E> {
    let (mut sim, options) = load(seeds)?;
    let (reports, ended) = run_realms(&mut sim, &options, stop, &mut Unwatched);
    if seeds.len() > 1 && reports.iter().any(|report| !report.faults.is_empty()) {
        // a component that serves several robots at once fails for all of them, whatever seed they belong to
        let alone = seeds.chunks(1).map(|seed| run_seeds(seed, load, stop)).collect::<Result<Vec<_>, E>>()?;
        return Ok(alone.into_iter().flatten().collect());
    }
    Ok(reports.into_iter().map(|report| (report, ended)).collect())
}

/// The report tells this many contacts.
const CONTACTS_TOLD: usize = 100;

/// A contact in words.
pub(crate) fn told(world: &World, event: &ContactEvent) -> String {
    let name = |number: u32| world.robot(number).map_or("a robot that is gone", |robot| robot.name.as_str());
    let other = match event.with {
        Other::Robot(number) => name(number),
        Other::Obstacle(index) => &world.model().environment.obstacles[index as usize].name,
    };
    format!("{} touched {other} at {:.6} s", name(event.robot), event.time.s())
}

/// The report tells this many events, the log the first times each of them happens.
const EVENTS_TOLD: usize = 1000;
const EVENT_LOGGED: u64 = 10;

/// An event in words.
fn happened(world: &World, firing: &Firing) -> Happened {
    let event = &world.model().events[firing.event as usize];
    Happened {
        event: firing.event,
        time: firing.time,
        acts: firing.acts,
        on: event.on.clone(),
        who: firing.who.clone(),
        other: firing.other.clone(),
        deeds: event.deeds.iter().map(|deed| firing.fill(&deed.to_string()).into_owned()).collect(),
    }
}

/// What is known of a run in one realm.
struct Account {
    judge: Judge,
    contacts: u64,
    first_contacts: Vec<String>,
    faults: Vec<String>,
    told_failures: usize,
    /// How often each event happened, and the first of all.
    event_counts: Vec<u64>,
    events: Vec<Happened>,
}

impl Account {
    fn new(sim: &Simulation, realm: u32, end: SimTime) -> Self {
        Self {
            judge: Judge::new(sim.scenario().expect.iter(), end).in_realm(realm),
            contacts: 0,
            first_contacts: Vec::new(),
            faults: Vec::new(),
            told_failures: 0,
            event_counts: vec![0; sim.scenario().model.events.len()],
            events: Vec::new(),
        }
    }

    /// Counts events, and tells the first times of each.
    fn note_events(&mut self, realm: u32, world: &World, watcher: &mut dyn Watcher) {
        for firing in world.events().iter().filter(|firing| firing.realm == realm) {
            let count = &mut self.event_counts[firing.event as usize];
            *count += 1;
            let (logged, told) = (*count <= EVENT_LOGGED, self.events.len() < EVENTS_TOLD);
            if !logged && !told {
                continue;
            }
            let happened = happened(world, firing);
            if logged {
                let silence = if *count == EVENT_LOGGED { " (not told again)" } else { "" };
                watcher.event(Event::Happened(format!("{happened}{silence}")));
            }
            if told {
                self.events.push(happened);
            }
        }
    }

    /// Counts contacts and judges the window.
    fn note(&mut self, realm: Realm<'_>) {
        for event in realm.contacts() {
            self.contacts += 1;
            if self.first_contacts.len() < CONTACTS_TOLD {
                self.first_contacts.push(told(realm.world(), event));
            }
        }
        self.judge.watch(realm.world());
    }

    fn tell_failures(&mut self, watcher: &mut dyn Watcher) {
        for failure in &self.judge.failures[self.told_failures..] {
            watcher.event(Event::Failed(failure.to_string()));
        }
        self.told_failures = self.judge.failures.len();
    }
}

struct Runner {
    start: SimTime,
    end: SimTime,
    start_ns: u64,
    pacer: Option<Pacer>,
    meter: Meter,
    /// One for each realm.
    accounts: Vec<Account>,
    refusals: Vec<String>,
    /// What links told.
    notes: Vec<String>,
    rtf: Option<f64>,
    told_ns: u64,
    told_late_ns: Option<u64>,
    windows: u64,
    wall_ns: u64,
    recording: Option<RecordOutcome>,
}

impl Runner {
    fn new(sim: &Simulation, options: &RunOptions) -> Self {
        let start = sim.world().time();
        let end = start + options.span;
        Self {
            start,
            end,
            start_ns: sim.clock().now_ns(),
            pacer: options.rtf.map(|rtf| Pacer::new(sim.clock(), start, rtf)),
            meter: Meter::default(),
            accounts: (0..sim.world().realms()).map(|realm| Account::new(sim, realm, end)).collect(),
            refusals: Vec::new(),
            notes: Vec::new(),
            rtf: options.rtf,
            told_ns: 0,
            told_late_ns: None,
            windows: 0,
            wall_ns: 0,
            recording: None,
        }
    }

    fn run(
        &mut self,
        sim: &mut Simulation,
        options: &RunOptions,
        stop: &AtomicBool,
        watcher: &mut dyn Watcher,
    ) -> Ended {
        self.pace_recorder(sim);
        let ended = loop {
            if let Some(ended) = self.ending(sim, options, stop).or_else(|| self.attend(sim, watcher)) {
                break ended;
            }
            match self.take_turns(sim, watcher) {
                Ok(true) => (),
                Ok(false) => continue,
                Err(ended) => break ended,
            }
            let now = sim.world().time();
            let exchange = sim.next_exchange();
            let exchange = if exchange > now { exchange } else { SimTime::NEVER };
            let window = sim.walk_window(self.end.min(self.next_judged(now)).min(exchange));
            self.windows += 1;
            self.meter.add(&window);
            self.note(sim, watcher);
            if self.faulty(sim) {
                break Ended::Faulty;
            }
            if self.wait(sim, watcher) && options.require_rt {
                break Ended::Late;
            }
            self.tell(sim, watcher);
        };
        if ended == Ended::Finished {
            for account in &mut self.accounts {
                account.judge.finish(sim.world());
                account.tell_failures(watcher);
            }
        }
        sim.flush();
        self.wall_ns = sim.clock().now_ns() - self.start_ns;
        self.recording = sim.end_recording(ended.word());
        ended
    }

    /// Lets links take in what came from outside; tells whether one of them ended the run.
    fn attend(&mut self, sim: &mut Simulation, watcher: &mut dyn Watcher) -> Option<Ended> {
        let wall_s = (sim.clock().now_ns() - self.start_ns) as f64 * 1e-9;
        let late = self.pacer.map_or(0, |pacer| pacer.late.count);
        let (wishes, notes) = sim.attend(Pace { rtf: self.rtf, wall_s, late });
        for note in notes {
            watcher.event(Event::Link(note.clone()));
            self.notes.push(note);
        }
        for wish in wishes {
            match wish {
                Wish::Quit => return Some(Ended::Finished),
                Wish::Reset => {
                    sim.reset();
                    let (realms, end) = (sim.world().realms(), self.end);
                    self.accounts = (0..realms).map(|realm| Account::new(sim, realm, end)).collect();
                    self.pace(sim);
                }
                Wish::Rtf(rtf) => {
                    self.rtf = rtf;
                    self.pace(sim);
                }
                // all others were granted by the simulation
                _ => (),
            }
        }
        None
    }

    /// Paces from now on; what was late stays counted.
    fn pace(&mut self, sim: &Simulation) {
        let late = self.pacer.map_or_else(Default::default, |pacer| pacer.late);
        let now = sim.world().time();
        self.pacer = self.rtf.map(|rtf| Pacer::new(sim.clock(), now, rtf).after(late));
        self.pace_recorder(sim);
    }

    /// A run as fast as possible waits for its recorder; one that is paced does not.
    fn pace_recorder(&self, sim: &Simulation) {
        if let Some(recorder) = sim.recorder() {
            recorder.wait_for_it(self.rtf.is_none());
        }
    }

    /// Waits a little for peers in lock step if it is their turn: true if the window may begin, false to ask again.
    fn take_turns(&mut self, sim: &mut Simulation, watcher: &mut dyn Watcher) -> Result<bool, Ended> {
        if sim.next_exchange() > sim.world().time() {
            return Ok(true);
        }
        match sim.wait_for_peers(LOCK_STEP_PATIENCE) {
            Turn::Done => {
                // time that peers took is not the loop's lateness
                if self.pacer.is_some_and(|pacer| pacer.deadline_ns(sim.world().time()) < sim.clock().now_ns()) {
                    self.pace(sim);
                }
                Ok(true)
            }
            Turn::Waiting => Ok(false),
            Turn::Stop(why) => {
                watcher.event(Event::Fault(why.clone()));
                self.accounts[0].faults.push(why);
                Err(Ended::Finished)
            }
        }
    }

    /// The next time at which something must be judged in some realm.
    fn next_judged(&self, now: SimTime) -> SimTime {
        self.accounts.iter().map(|account| account.judge.next_time(now)).min().unwrap_or(SimTime::NEVER)
    }

    fn ending(&self, sim: &Simulation, options: &RunOptions, stop: &AtomicBool) -> Option<Ended> {
        let wall = Duration::from_nanos(sim.clock().now_ns() - self.start_ns);
        if stop.load(Ordering::Relaxed) {
            Some(Ended::Interrupted)
        } else if options.timeout.is_some_and(|timeout| wall >= timeout) {
            Some(Ended::Timeout)
        } else if sim.replayed()
            || sim.world().time() >= self.end
            || options.windows.is_some_and(|windows| self.windows >= windows)
        {
            Some(Ended::Finished)
        } else {
            None
        }
    }

    /// Judges the window and collects what misbehaved.
    fn note(&mut self, sim: &mut Simulation, watcher: &mut dyn Watcher) {
        for (realm, account) in (0..).zip(&mut self.accounts) {
            account.note_events(realm, sim.world(), watcher);
            account.note(sim.world().realm(realm));
            account.tell_failures(watcher);
        }
        for fault in sim.world_mut().take_faults() {
            let robot = sim.world().robot(fault.robot);
            let name = robot.map_or("?", |robot| robot.name.as_str());
            let text = format!("robot {name:?} was isolated at {:.6} s: {}", fault.time.s(), fault.what);
            watcher.event(Event::Fault(text.clone()));
            self.accounts[robot.map_or(0, |robot| robot.realm as usize)].faults.push(text);
        }
        if let Some(error) = sim.recorder_mut().and_then(Recorder::take_error) {
            watcher.event(Event::Unrecorded(error));
        }
        for trouble in sim.take_troubles() {
            watcher.event(Event::Fault(trouble.clone()));
            self.accounts[0].faults.push(trouble);
        }
        for refusal in sim.world_mut().take_refusals() {
            watcher.event(Event::Refused(refusal.clone()));
            self.refusals.push(refusal);
        }
    }

    /// True if the run is to stop because something failed.
    fn faulty(&self, sim: &Simulation) -> bool {
        let failed = self.accounts.iter().any(|account| !account.faults.is_empty());
        failed && sim.scenario().run.on_fault == OnFault::Stop
    }

    /// Waits for the window's end; true if it was missed.
    fn wait(&mut self, sim: &Simulation, watcher: &mut dyn Watcher) -> bool {
        let Some(pacer) = &mut self.pacer else { return false };
        let window = self.windows;
        let Some(late_ns) = pacer.wait(sim.clock(), sim.world().time(), window, &|| sim.wake()) else { return false };
        let now_ns = sim.clock().now_ns();
        if self.told_late_ns.is_none_or(|told| now_ns - told >= TELL_LATE_EVERY_NS) {
            self.told_late_ns = Some(now_ns);
            watcher.event(Event::Late { window, late: Duration::from_nanos(late_ns), count: pacer.late.count });
        }
        true
    }

    fn tell(&mut self, sim: &Simulation, watcher: &mut dyn Watcher) {
        let now_ns = sim.clock().now_ns();
        if now_ns - self.told_ns < TELL_EVERY_NS {
            return;
        }
        self.told_ns = now_ns;
        watcher.progress(&Progress {
            time: sim.world().time(),
            end: self.end,
            wall: Duration::from_nanos(now_ns - self.start_ns),
            robots: sim.world().robots().count(),
            late: self.pacer.map_or(0, |pacer| pacer.late.count),
            failed: self.accounts.iter().map(|account| account.judge.failures.len()).sum(),
        });
    }

    /// The report of one realm.
    fn report(&self, sim: &Simulation, (realm, account): (u32, Account), ended: Ended) -> Report {
        let (realms, here) = (sim.world().realms(), sim.world().realm(realm));
        let span = sim.world().time() - self.start;
        Report {
            sim_time_s: span.s(),
            wall_time_s: self.wall_ns as f64 * 1e-9 / f64::from(realms),
            seeds_in_world: realms,
            robots: here.robots().count(),
            // realms of one scenario tick alike
            ticks: sim.world().robot_ticks() / u64::from(realms),
            windows: self.windows,
            threads: sim.threads(),
            seed: here.seed(),
            state_hash: here.hash(),
            late: self.pacer.map_or_else(Default::default, |pacer| pacer.late),
            meter: self.meter.clone(),
            sensors: sensor_rates(here, span),
            contacts: account.contacts,
            first_contacts: account.first_contacts,
            faults: account.faults,
            event_counts: account.event_counts,
            events: account.events,
            choices: sim.choices().to_vec(),
            drawing: sim.drawing().clone(),
            unpromised: sim.drawing().unpromised(here),
            links: sim.link_reports(),
            notes: self.notes.clone(),
            plugins: sim.plugins(),
            refusals: self.refusals.clone(),
            expected: account.judge.len(),
            unjudged: account.judge.unjudged(sim.world().time()),
            measured: account.judge.measured,
            failures: account.judge.failures,
            ended: ended.word(),
            asynchronous: sim.asynchronous().word(),
            recording: self.recording.clone(),
        }
    }
}
