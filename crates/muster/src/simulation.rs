//! A simulation: a world with the threads, clock and background it walks with.

use crate::choose::{Choice, Pins, choose};
use crate::library;
use crate::links::{LinkReport, Switchboard};
use crate::plugins::{self, Engines, Extensions, Plugin};
use crate::record::{Script, manifest};
use crate::render::{Drawing, Render};
use crate::sink::{Messenger, Sink};
use muster_core::command::{Action, Command, Recipe};
use muster_core::exec::{Background, Clock, Executor, Inline, Serial};
use muster_core::expression::Expression;
use muster_core::look::LookJob;
use muster_core::model::{Cohort, Model};
use muster_core::node::{Node, Problem, Value};
use muster_core::service::{self, Answer, Datum, Outcome};
use muster_core::state::State;
use muster_core::time::SimTime;
use muster_core::world::{Machine, Options, Window, World};
use muster_exec::{Pool, WaitStrategy, WallClock, Worker};
use muster_links::link::{Address, Pace, Turn, Wish};
use muster_links::protocol::{PortBase, Unopened};
use muster_links::record::command::Deed;
use muster_links::record::manifest::Manifest;
use muster_links::record::recorder::Recorder;
use muster_scenario::build::{self, Override, Scenario};
use muster_scenario::files::{Contents, Files, Paint};
use muster_scenario::links;
use muster_scenario::text::{Async, Threads};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How to load and run a scenario; everything left out comes from the scenario or its defaults.
#[derive(Default, Clone)]
pub struct Setup {
    /// Values laid over the scenario.
    pub over: Vec<Override>,
    /// The scenario is laid out once for each of these seeds, all in one world but each in a realm of its own, where it
    /// runs as if alone. If left out, there is one realm with the scenario's own seed.
    pub seeds: Vec<u64>,
    /// Directories searched for included files.
    pub search: Vec<PathBuf>,
    /// Threads.
    pub threads: Option<Threads>,
    /// What runs beside the loop.
    pub asynchronous: Option<Async>,
    /// Scheduling choices of the world.
    pub options: Options,
    /// Who makes pictures for cameras.
    pub render: Render,
    /// Set to stop waiting early.
    pub stop: Option<Arc<AtomicBool>>,
    /// Keep the contents of all files that are read, so that the run can be recorded.
    pub keep_files: bool,
    /// Files to be read in place of those on disk and in the library.
    pub held: Option<Contents>,
    /// What was chosen before for sensors that leave the choice to the machine.
    pub pins: Pins,
}

/// Why a simulation could not be made: problems with file and line.
#[derive(Debug, Clone)]
pub struct LoadError {
    /// The problems.
    pub problems: Vec<Problem>,
    /// The problems as people read them.
    pub rendered: String,
    /// A plug-in was refused.
    pub refused: bool,
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.rendered)
    }
}

impl std::error::Error for LoadError {}

impl LoadError {
    fn new(files: &Files, problems: Vec<Problem>) -> Self {
        let rendered: Vec<String> = problems.iter().map(|problem| files.render(problem, Paint::Plain)).collect();
        let refused = problems.iter().any(|problem| problem.refused);
        Self { problems, rendered: rendered.join("\n"), refused }
    }

    fn plain(expected: &str, found: impl std::fmt::Display) -> Self {
        Self::said(format!("error: found {found}, expected {expected}"))
    }

    pub(crate) fn said(rendered: String) -> Self {
        Self { problems: Vec::new(), rendered, refused: false }
    }

    pub(crate) fn refused(rendered: String) -> Self {
        Self { refused: true, ..Self::said(rendered) }
    }
}

/// Robots run serially, on a pool, or each on its own thread.
enum Threading {
    Serial(Serial),
    Pool(Pool),
}

/// A world and what it walks with.
pub struct Simulation {
    pub(crate) world: World,
    threading: Threading,
    background: Box<dyn Background<LookJob>>,
    clock: WallClock,
    pub(crate) messenger: Messenger,
    initial: State,
    sequence: u64,
    answers: Vec<Answer>,
    switchboard: Switchboard,
    asynchronous: Async,
    warnings: Vec<String>,
    choices: Vec<Choice>,
    drawing: Drawing,
    /// How it was loaded, if files were kept.
    pub(crate) manifest: Option<Manifest>,
    pub(crate) recorder: Option<Recorder>,
    /// A recording that is walked again.
    pub(crate) script: Option<Script>,
    troubles: Vec<String>,
    engines: Engines,
    /// Components end before what they may use; fields are dropped in this order.
    scenario: Scenario,
    extensions: Extensions,
}

/// How many jobs may be under way beside the loop.
const BACKGROUND_CAPACITY: usize = 64;

impl Simulation {
    /// Loads a scenario file.
    pub fn load(path: &str, setup: &Setup) -> Result<Self, LoadError> {
        Self::of(path, setup, |files, over| build::load(files, path, over, plugins::registry()))
    }

    /// Loads a scenario from a text.
    pub fn from_text(text: &str, setup: &Setup) -> Result<Self, LoadError> {
        const NAME: &str = "scenario.yaml";
        Self::of(NAME, setup, |files, over| build::load_text(files, NAME, text, over, plugins::registry()))
    }

    fn of(
        name: &str,
        setup: &Setup,
        load: impl Fn(&mut Files, &[Override]) -> Result<Scenario, Vec<Problem>>,
    ) -> Result<Self, LoadError> {
        let mut files = Files::new(setup.search.clone(), library::Embedded);
        if setup.keep_files {
            files.keep_contents();
        }
        if let Some(held) = &setup.held {
            files.hold(held.clone());
        }
        let scenario = match setup.seeds.as_slice() {
            [] => load(&mut files, &setup.over),
            seeds => joined(seeds, &setup.over, |over| load(&mut files, over)),
        };
        let scenario = scenario.map_err(|problems| LoadError::new(&files, problems))?;
        let warnings = scenario.warnings.iter().map(|problem| files.render(problem, Paint::Plain)).collect();
        let manifest = setup.keep_files.then(|| Manifest { files: files.contents(), ..manifest(name, setup) });
        Ok(Self { warnings, manifest, ..Self::new(scenario, setup)? })
    }

    /// A simulation of a scenario as it is: `over` and `seeds` are for those who load one.
    pub fn new(scenario: Scenario, setup: &Setup) -> Result<Self, LoadError> {
        let threads = setup.threads.unwrap_or(scenario.run.threads);
        let mut options = setup.options;
        if threads == Threads::PerRobot {
            options.lanes = 1;
        }
        let extensions = Extensions::start(&scenario.extensions)?;
        // if something fails from here on, components end before what they may use
        let mut scenario = scenario;
        let undrawn = |error| LoadError::said(format!("error: {error}"));
        let engine = setup.render.open(options.simd).map_err(undrawn)?;
        if let Some(model) = Arc::get_mut(&mut scenario.model) {
            model.environment.renderer = engine.renderer;
            model.environment.offers = extensions.offers();
            model.environment.call_limit = scenario.run.plugin_limit_ms.map(|ms| Duration::from_secs_f64(ms * 1e-3));
        }
        let misplaced = |error| LoadError::said(format!("error: {error}"));
        let engines = Engines::configure();
        let choices = choose(&mut scenario.model, options, &setup.pins).map_err(misplaced)?;
        let mut world = World::new(Arc::clone(&scenario.model), options).map_err(misplaced)?;
        hear_judged(&mut world, &scenario);
        let asynchronous = setup.asynchronous.unwrap_or(scenario.run.asynchronous);
        let threading = threading(threads, &scenario.model).map_err(|error| LoadError::plain("threads", error))?;
        let looks_later = scenario
            .model
            .robots
            .iter()
            .any(|robot| robot.cohort.blueprint.sensors.iter().any(|slot| slot.latency > SimTime::ZERO));
        let background: Box<dyn Background<LookJob>> = match asynchronous {
            Async::Events | Async::Both if looks_later => Box::new(
                Worker::new("async-events", BACKGROUND_CAPACITY)
                    .map_err(|error| LoadError::plain("a thread", error))?,
            ),
            _ => Box::new(Inline::default()),
        };
        let mut clock = WallClock::new(WaitStrategy::default());
        if let Some(stop) = &setup.stop {
            clock = clock.with_stop(Arc::clone(stop));
        }
        let mut simulation = Self {
            initial: world.state().clone(),
            world,
            threading,
            background,
            clock,
            messenger: Messenger::new(scenario.run.states_hz, asynchronous),
            scenario,
            sequence: 0,
            answers: Vec::new(),
            switchboard: Switchboard::default(),
            asynchronous,
            warnings: Vec::new(),
            choices,
            manifest: None,
            recorder: None,
            script: None,
            troubles: Vec::new(),
            engines,
            extensions,
            drawing: engine.drawing,
        };
        simulation.messenger.note_start(&simulation.world);
        Ok(simulation)
    }

    /// Walks one window, at most until `until`.
    pub fn walk_window(&mut self, until: SimTime) -> Window {
        self.engines.start();
        self.act_by_script();
        self.messenger.follow(&mut self.world);
        let until = until.min(self.messenger.next_states()).min(self.next_scripted());
        let Self { world, threading, background, clock, .. } = self;
        let background = &mut **background;
        let mut window = match threading {
            Threading::Serial(executor) => world.walk_window(until, &mut Machine { executor, background, clock }),
            Threading::Pool(executor) => world.walk_window(until, &mut Machine { executor, background, clock }),
        };
        let before_ns = self.clock.now_ns();
        self.tap();
        self.messenger.deliver(&mut self.world);
        // the last phase is delivery, and this is part of it
        if let Some(deliver_ns) = window.phases_ns.last_mut() {
            *deliver_ns += self.clock.now_ns().saturating_sub(before_ns);
        }
        if !self.extensions.is_empty() {
            self.serve_extensions();
        }
        self.act_by_script();
        window
    }

    /// When a recording that is walked again goes on.
    fn next_scripted(&self) -> SimTime {
        self.script.as_ref().filter(|script| !script.done()).map_or(SimTime::NEVER, Script::next_time)
    }

    /// Lets extensions look at the world and ask for changes.
    fn serve_extensions(&mut self) {
        let services = self.scenario.registry.services;
        for action in self.extensions.window(&self.world, services, &mut self.troubles) {
            // a recording goes its way, and holds what they asked for then
            if self.script.is_none() {
                self.command(action);
            }
        }
    }

    /// What went wrong with extensions since this was last asked.
    pub fn take_troubles(&mut self) -> Vec<String> {
        std::mem::take(&mut self.troubles)
    }

    /// The plug-ins it uses, in the order of their loading, with the digests of their files.
    pub fn plugins(&self) -> Vec<Plugin> {
        self.scenario.registry.plugins.map(|plugins| plugins.loaded()).unwrap_or_default()
    }

    /// Why two runs need not give the same bits: components that do not promise it. Empty if all do.
    pub fn unrepeatable(&self) -> Vec<String> {
        let mut reasons: Vec<String> = Vec::new();
        let living = self.world.robots().map(|robot| &robot.cohort);
        for cohort in self.scenario.cohorts.values().chain(living) {
            let blueprint = &cohort.blueprint;
            reasons.extend(blueprint.motion.unrepeatable());
            reasons.extend(blueprint.drivers.iter().filter_map(|slot| slot.driver.unrepeatable()));
            for slot in &blueprint.sensors {
                reasons.extend(slot.sensor.unrepeatable());
                reasons.extend(slot.modifiers.iter().filter_map(|modifier| modifier.modifier.unrepeatable()));
            }
        }
        reasons.sort();
        reasons.dedup();
        reasons
    }

    /// Walks windows for a span of simulated time, as fast as possible.
    pub fn run_for(&mut self, seconds: f64) {
        self.run_until(self.world.time() + SimTime::from_s(seconds));
    }

    /// Walks windows until a point in simulated time, as fast as possible.
    pub fn run_until(&mut self, end: SimTime) {
        while self.world.time() < end {
            self.walk_window(end);
        }
        self.messenger.flush();
    }

    /// Asks for a change; it takes effect at the next window.
    pub fn command(&mut self, action: Action) {
        self.sequence += 1;
        self.post(0, self.sequence, action);
    }

    /// Every change from outside comes by here.
    fn post(&mut self, link: u32, sequence: u64, action: Action) {
        self.world.post(Command { time: self.world.time(), link, sequence, action });
    }

    /// Asks a robot for a service by name; it begins with the next window. The answer comes with
    /// [`Simulation::take_answers`], under the number returned. An error says that there is no such service, or what it
    /// needs; whether the robot can do it is part of the answer.
    pub fn call(&mut self, robot: &str, service: &str, arguments: &[Datum]) -> Result<u64, String> {
        let service = service::find(self.scenario.registry.services, service)?;
        service.check(arguments)?;
        let (robot, arguments) = (robot.to_owned(), arguments.to_vec());
        self.command(Action::Call { robot, service, arguments, reply: true });
        Ok(self.sequence)
    }

    /// Gives up a call that has not been answered: the robot stops.
    pub fn cancel(&mut self, call: u64) {
        self.command(Action::Cancel { sequence: call });
    }

    /// Answers to calls since this was last asked: the number of each call, and how it ended.
    pub fn take_answers(&mut self) -> Vec<(u64, Outcome)> {
        self.sort_answers();
        std::mem::take(&mut self.answers).into_iter().map(|answer| (answer.sequence, answer.outcome)).collect()
    }

    /// Gives a live sensor other modifiers from the next window on: `yaml` is written as under `modifiers:`, an empty
    /// list takes them all away.
    pub fn set_modifiers(&mut self, robot: &str, sensor: &str, yaml: &str) -> Result<(), LoadError> {
        let action = self.retooling(robot, sensor, yaml)?;
        self.command(action);
        Ok(())
    }

    /// The command that gives a sensor other modifiers.
    pub(crate) fn retooling(&mut self, robot: &str, sensor: &str, yaml: &str) -> Result<Action, LoadError> {
        let found = self.world.find(robot);
        let found = found.ok_or_else(|| LoadError::plain("the name of a robot", format!("{robot:?}")))?;
        let mut blueprint = found.cohort.blueprint.clone();
        let slot = blueprint.sensors.iter_mut().find(|slot| slot.name == sensor);
        let slot = slot.ok_or_else(|| LoadError::plain(&format!("a sensor of {robot}"), format!("{sensor:?}")))?;
        let mut files = Files::new(Vec::new(), library::Embedded);
        let modifiers = build::modifiers(&mut files, sensor, yaml, slot.sensor.fields(), self.scenario.registry)
            .map_err(|problems| LoadError::new(&files, problems))?;
        slot.set_modifiers(modifiers);
        let mark = format!(" modifiers of {sensor}: ");
        let unmarked = blueprint.key.split(&mark).next().unwrap_or_default();
        blueprint.key = format!("{unmarked}{mark}{}", yaml.trim());
        // robots with equal modifiers stay together
        let wind = &self.world.model().environment.wind;
        let cohorts = &mut self.scenario.cohorts;
        let cohort = cohorts.entry(blueprint.key.clone()).or_insert_with(|| Cohort::new(blueprint, &**wind));
        let cohort = Arc::clone(cohort);
        let recipe = Some(Recipe::Modifiers { sensor: sensor.to_owned(), yaml: yaml.to_owned() });
        Ok(Action::Retool { robot: robot.to_owned(), cohort, recipe })
    }

    /// Adds somebody who gets samples and states.
    pub fn add_sink(&mut self, sink: Box<dyn Sink>) -> Result<(), String> {
        self.messenger.add(sink, &mut self.world)
    }

    /// Opens the links of the scenario: from now on programs outside can reach robots. `ports` says which ports are taken.
    pub fn open_links(&mut self, ports: PortBase) -> Result<(), LoadError> {
        let mut ports = ports;
        let unopened = |error: Unopened| LoadError::said(error.to_string());
        let opened = Switchboard::open(&self.scenario.links, &self.world, (&mut ports, false));
        let (switchboard, sinks) = opened.map_err(unopened)?;
        self.switchboard = switchboard;
        for sink in sinks {
            self.add_sink(sink).map_err(|error| LoadError::said(format!("error: {error}")))?;
        }
        Ok(())
    }

    /// Where the links of the scenario would be reached, without opening any.
    pub fn planned_addresses(&self, ports: PortBase) -> Result<Vec<Address>, LoadError> {
        let mut ports = ports;
        let planned = Switchboard::open(&self.scenario.links, &self.world, (&mut ports, true));
        let unopened = |error: Unopened| LoadError::said(error.to_string());
        planned.map(|(board, _)| board.addresses()).map_err(unopened)
    }

    /// Where links can be reached.
    pub fn addresses(&self) -> Vec<Address> {
        self.switchboard.addresses()
    }

    /// What links carried so far.
    pub fn link_reports(&self) -> Vec<LinkReport> {
        self.switchboard.reports()
    }

    /// Lets links take in what came from outside, between two windows. Returns what they want of the run itself, and what
    /// people should be told.
    pub fn attend(&mut self, pace: Pace) -> (Vec<Wish>, Vec<String>) {
        if self.switchboard.is_empty() {
            return (Vec::new(), Vec::new());
        }
        self.sort_answers();
        self.switchboard.attend(&self.world, pace);
        let mut taken = Vec::new();
        let mut wishes = Vec::new();
        for (link, line) in self.switchboard.lines() {
            taken.extend(line.posted.drain(..).map(|(sequence, action)| (link, sequence, action)));
            wishes.append(&mut line.wishes);
        }
        if self.script.is_some() {
            // a recording goes its way, whoever listens
            return (Vec::new(), self.switchboard.take_notes());
        }
        for (link, sequence, action) in taken {
            self.post(link, sequence, action);
        }
        let mut notes = self.switchboard.take_notes();
        wishes.retain(|wish| match self.grant(wish) {
            Some(Ok(())) => false,
            Some(Err(why)) => {
                notes.push(why);
                false
            }
            None => true,
        });
        (wishes, notes)
    }

    /// Does what a link wants, if that is not for the run to do.
    fn grant(&mut self, wish: &Wish) -> Option<Result<(), String>> {
        Some(match wish {
            Wish::Quit | Wish::Reset | Wish::Rtf(_) => return None,
            Wish::Modifiers { robot, sensor, yaml } => {
                self.set_modifiers(robot, sensor, yaml).map_err(|error| error.to_string())
            }
            Wish::Bind { robot, yaml } => self.bind(robot, yaml).map_err(|error| error.to_string()),
            Wish::Unbind { path, to } => match self.unbind(path, to) {
                true => Ok(()),
                false => Err(format!("found {path:?} not bound to {to}, expected a channel that is")),
            },
        })
    }

    /// Binds a channel of a robot to a link that is open: `yaml` is written as one item under `links:`.
    pub fn bind(&mut self, robot: &str, yaml: &str) -> Result<(), LoadError> {
        let mut files = Files::new(Vec::new(), library::Embedded);
        let model = self.world.find(robot).map(|found| Arc::clone(&found.cohort));
        let cohort = model.ok_or_else(|| LoadError::plain("the name of a robot", format!("{robot:?}")))?;
        let bindings = links::bindings(&mut files, (robot, &cohort.blueprint), yaml, self.scenario.registry)
            .map_err(|problems| LoadError::new(&files, problems))?;
        for binding in &bindings {
            let bound = self.switchboard.bind(binding, &self.world);
            bound.map_err(|why| LoadError::said(format!("error: {why}")))?;
        }
        self.messenger.refresh(&mut self.world);
        Ok(())
    }

    /// Lets go of a channel, `robot.channel`, on links of a kind; false if it was not bound.
    pub fn unbind(&mut self, path: &str, to: &str) -> bool {
        let unbound = self.switchboard.unbind(path, to);
        self.messenger.refresh(&mut self.world);
        unbound
    }

    /// When peers in lock step take their turn next.
    pub fn next_exchange(&self) -> SimTime {
        self.switchboard.next_exchange(self.world.time())
    }

    /// Waits for peers in lock step whose turn it is, at most so long.
    pub fn wait_for_peers(&mut self, at_most: Duration) -> Turn {
        self.switchboard.wait(self.world.time(), at_most)
    }

    fn sort_answers(&mut self) {
        let answers = self.world.take_answers();
        if !answers.is_empty() {
            self.answers.extend(self.switchboard.sort(answers));
        }
    }

    /// A copy of the state at this boundary.
    pub fn save(&mut self) -> State {
        self.world.save(&mut *self.background)
    }

    /// Goes back to a saved state.
    pub fn restore(&mut self, state: &State) {
        self.note_break(Deed::Lost("a program restored a saved state".to_owned()));
        self.world.restore(state, &mut *self.background);
        self.messenger.rewind(&mut self.world);
        self.tap();
    }

    /// Goes back to the beginning.
    pub fn reset(&mut self) {
        self.note_break(Deed::Reset);
        self.world.restore(&self.initial, &mut *self.background);
        self.messenger.rewind(&mut self.world);
        self.tap();
    }

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The world, to listen, ask and post commands.
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// The scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Who makes pictures.
    pub fn drawing(&self) -> &Drawing {
        &self.drawing
    }

    /// What was left to the machine to choose, and what it chose.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// What is questionable in the scenario but runs, as people read it.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The clock of this run.
    pub fn clock(&self) -> &WallClock {
        &self.clock
    }

    /// What runs beside the loop.
    pub fn asynchronous(&self) -> Async {
        self.asynchronous
    }

    /// How many threads robots run on.
    pub fn threads(&self) -> usize {
        match &self.threading {
            Threading::Serial(executor) => executor.threads(),
            Threading::Pool(executor) => executor.threads(),
        }
    }

    /// Wakes the threads robots run on, if the next window will use them: a sleeping thread starts late, and often on
    /// the core of the one that woke it.
    pub fn wake(&self) {
        const NOTHING: usize = 64;
        if let Threading::Pool(pool) = &self.threading
            && self.world.uses_threads(pool)
        {
            pool.for_each_mut(&mut [(); NOTHING], &|_, ()| ());
        }
    }

    /// Hands out what is still to be delivered, and waits for it.
    pub fn flush(&mut self) {
        self.messenger.flush();
    }
}

/// Listens to sensors that speak only when somebody listens, such as cameras, if the run is judged by what they say.
fn hear_judged(world: &mut World, scenario: &Scenario) {
    let expressions =
        scenario.expect.iter().filter_map(|(text, _)| Expression::parse(text.expression.as_deref()?).ok());
    let judged: Vec<String> = expressions
        .flat_map(|expression| expression.variables().into_iter().map(str::to_owned).collect::<Vec<_>>())
        .chain(scenario.expect.iter().filter_map(|(text, _)| text.of.clone()))
        .collect();
    for path in judged {
        let Some((robot, rest)) = path.split_once('.') else { continue };
        let Some(found) = world.find(robot) else { continue };
        let meant =
            |name: &str| rest.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']));
        let sensors = found.cohort.blueprint.sensors.iter().filter(|slot| slot.on_demand() && meant(&slot.name));
        let names: Vec<String> = sensors.map(|slot| slot.name.clone()).collect();
        names.iter().for_each(|name| _ = world.listen(robot, name));
    }
}

/// A scenario once for each seed, joined.
fn joined(
    seeds: &[u64],
    over: &[Override],
    mut load: impl FnMut(&[Override]) -> Result<Scenario, Vec<Problem>>,
) -> Result<Scenario, Vec<Problem>> {
    let seeded = |&seed: &u64| {
        let seed = Override { path: "run.seed".to_owned(), value: Node::of(Value::Integer(seed as i64)) };
        load(&[over, &[seed]].concat())
    };
    let mut scenarios: Vec<Scenario> = seeds.iter().map(seeded).collect::<Result<_, _>>()?;
    let models: Vec<Arc<Model>> = scenarios.iter().map(|scenario| Arc::clone(&scenario.model)).collect();
    let mut first = scenarios.swap_remove(0);
    if let Some(model) = Model::join(&models) {
        first.model = Arc::new(model);
    }
    Ok(first)
}

/// Threads that were woken for a window look out for it this long before they sleep again.
const LOOK_OUT: Duration = Duration::from_micros(200);

fn pool(threads: usize) -> std::io::Result<Pool> {
    let pool = Pool::new(threads)?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    pool.spin_for(if threads <= cores { LOOK_OUT } else { Duration::ZERO });
    Ok(pool)
}

fn threading(threads: Threads, model: &Model) -> std::io::Result<Threading> {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(match threads {
        Threads::Count(1) => Threading::Serial(Serial),
        Threads::Count(count) => Threading::Pool(pool(count)?),
        Threads::Auto => Threading::Pool(pool(cores())?),
        Threads::PerRobot => {
            let active = model.robots.iter().filter(|robot| robot.cohort.blueprint.active());
            let names: Vec<String> = active.map(|robot| robot.name.clone()).collect();
            if names.is_empty() { Threading::Serial(Serial) } else { Threading::Pool(Pool::per_item(names)?) }
        }
    })
}
