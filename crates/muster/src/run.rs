//! Running a scenario to its end: pacing, judging, progress, and a clean stop whatever happens.

use crate::judge::Judge;
use crate::pace::Pacer;
use crate::report::{Meter, Report, sensor_rates};
use crate::simulation::Simulation;
use muster_core::exec::Clock;
use muster_core::time::SimTime;
use muster_core::world::World;
use muster_core::{ContactEvent, Other};
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
}

impl Ended {
    fn word(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Timeout => "timeout",
            Self::Interrupted => "interrupted",
            Self::Late => "late",
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
    /// Something expected did not happen.
    Failed(String),
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

/// Runs a simulation.
pub fn run(
    sim: &mut Simulation,
    options: &RunOptions,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> (Report, Ended) {
    let start = sim.world().time();
    let end = start + options.span;
    let mut judge = Judge::new(sim.scenario().expect.iter(), end);
    let mut runner = Runner {
        start_ns: sim.clock().now_ns(),
        pacer: options.rtf.map(|rtf| Pacer::new(sim.clock(), start, rtf)),
        meter: Meter::default(),
        contacts: 0,
        first_contacts: Vec::new(),
        faults: Vec::new(),
        refusals: Vec::new(),
        told_ns: 0,
        told_late_ns: None,
        told_failures: 0,
        windows: 0,
    };
    let ended = loop {
        if let Some(ended) = runner.ending(sim, options, end, stop) {
            break ended;
        }
        let until = end.min(judge.next_time(sim.world().time()));
        let window = sim.walk_window(until);
        runner.windows += 1;
        runner.meter.add(&window);
        runner.note(sim, &mut judge, watcher);
        if runner.wait(sim, watcher) && options.require_rt {
            break Ended::Late;
        }
        runner.tell(sim, end, judge.failures.len(), watcher);
    };
    if ended == Ended::Finished {
        judge.finish(sim.world());
        runner.tell_failures(&judge, watcher);
    }
    sim.flush();
    let report = runner.report(sim, judge, (start, ended));
    (report, ended)
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

struct Runner {
    start_ns: u64,
    pacer: Option<Pacer>,
    meter: Meter,
    contacts: u64,
    first_contacts: Vec<String>,
    faults: Vec<String>,
    refusals: Vec<String>,
    told_ns: u64,
    told_late_ns: Option<u64>,
    told_failures: usize,
    windows: u64,
}

impl Runner {
    fn ending(&self, sim: &Simulation, options: &RunOptions, end: SimTime, stop: &AtomicBool) -> Option<Ended> {
        let wall = Duration::from_nanos(sim.clock().now_ns() - self.start_ns);
        if stop.load(Ordering::Relaxed) {
            Some(Ended::Interrupted)
        } else if options.timeout.is_some_and(|timeout| wall >= timeout) {
            Some(Ended::Timeout)
        } else if sim.world().time() >= end || options.windows.is_some_and(|windows| self.windows >= windows) {
            Some(Ended::Finished)
        } else {
            None
        }
    }

    /// Judges the window and collects what misbehaved.
    fn note(&mut self, sim: &mut Simulation, judge: &mut Judge, watcher: &mut dyn Watcher) {
        self.contacts += sim.world().contacts().len() as u64;
        let room = CONTACTS_TOLD.saturating_sub(self.first_contacts.len());
        self.first_contacts.extend(sim.world().contacts().iter().take(room).map(|event| told(sim.world(), event)));
        judge.watch(sim.world());
        self.tell_failures(judge, watcher);
        for fault in sim.world_mut().take_faults() {
            let name = sim.world().robot(fault.robot).map_or("?", |robot| robot.name.as_str());
            let text = format!("robot {name:?} was isolated at {:.6} s: {}", fault.time.s(), fault.what);
            watcher.event(Event::Fault(text.clone()));
            self.faults.push(text);
        }
        for refusal in sim.world_mut().take_refusals() {
            watcher.event(Event::Refused(refusal.clone()));
            self.refusals.push(refusal);
        }
    }

    fn tell_failures(&mut self, judge: &Judge, watcher: &mut dyn Watcher) {
        for failure in &judge.failures[self.told_failures..] {
            watcher.event(Event::Failed(failure.to_string()));
        }
        self.told_failures = judge.failures.len();
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

    fn tell(&mut self, sim: &Simulation, end: SimTime, failed: usize, watcher: &mut dyn Watcher) {
        let now_ns = sim.clock().now_ns();
        if now_ns - self.told_ns < TELL_EVERY_NS {
            return;
        }
        self.told_ns = now_ns;
        watcher.progress(&Progress {
            time: sim.world().time(),
            end,
            wall: Duration::from_nanos(now_ns - self.start_ns),
            robots: sim.world().robots().count(),
            late: self.pacer.map_or(0, |pacer| pacer.late.count),
            failed,
        });
    }

    fn report(self, sim: &Simulation, judge: Judge, (start, ended): (SimTime, Ended)) -> Report {
        let wall_ns = sim.clock().now_ns() - self.start_ns;
        let span = sim.world().time() - start;
        Report {
            sim_time_s: span.s(),
            wall_time_s: wall_ns as f64 * 1e-9,
            robots: sim.world().robots().count(),
            ticks: sim.world().robot_ticks(),
            windows: self.windows,
            threads: sim.threads(),
            seed: sim.world().realm(0).seed(),
            state_hash: sim.world().hash(),
            late: self.pacer.map_or_else(Default::default, |pacer| pacer.late),
            meter: self.meter,
            sensors: sensor_rates(sim, span),
            contacts: self.contacts,
            first_contacts: self.first_contacts,
            faults: self.faults,
            refusals: self.refusals,
            expected: judge.len(),
            unjudged: judge.unjudged(sim.world().time()),
            measured: judge.measured,
            failures: judge.failures,
            ended: ended.word(),
            asynchronous: sim.asynchronous().word(),
        }
    }
}
