//! Components for tests only: a driver, a motion, sensors and a modifier that write down when and where they are called,
//! check what they see, wait for each other and fail on demand. They enter by a registry of their own, as those of a
//! plug-in would.
#![expect(dead_code, unreachable_pub, reason = "each test program uses a part of it")]
#![expect(clippy::needless_range_loop, reason = "a motion is a loop over lanes")]

pub mod files;
pub mod heap;
pub mod peers;

use muster::{Setup, Simulation};
use muster_core::component::{
    Control, Driver, Feel, Kind, Look, LookAt, Measure, Modifier, Motion, Pose, Registry, Sample, Sense, Sensor,
    Subscription, Tick,
};
use muster_core::contact::Mobility;
use muster_core::exec::Clock;
use muster_core::lanes::{Column, Quantity, body, setpoint};
use muster_core::spec::Spec;
use muster_core::time::SimTime;
use muster_core::{choice, spec};
use muster_models::{actuators, drivers, modifiers, motions, sensors, services, winds};
use muster_scenario::build::{self, Override};
use muster_scenario::files::Files;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One call of a component.
#[derive(Debug, Clone)]
pub struct Event {
    pub what: &'static str,
    /// Simulation time it was told.
    pub time: SimTime,
    /// Name of the thread it ran on.
    pub thread: String,
    /// What the counting clock showed.
    pub clock: u64,
    pub began: Instant,
    pub ended: Instant,
}

/// Where the components of one test write down what happens, and meet.
#[derive(Default)]
pub struct Tape {
    events: Mutex<Vec<Event>>,
    progress_ns: Mutex<u64>,
    moved: Condvar,
    /// How often something was not as it should be.
    pub wrong: AtomicU64,
    pub calls: AtomicU64,
    /// Read by components as the time of their call.
    pub clock: AtomicU64,
}

impl Tape {
    fn note(&self, what: &'static str, time: SimTime, began: Instant) {
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        let clock = self.clock.load(Ordering::Relaxed);
        let event = Event { what, time, thread, clock, began, ended: Instant::now() };
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    pub fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells those who wait how far the loop is.
    pub fn pass(&self, time: SimTime) {
        *self.progress_ns.lock().unwrap_or_else(PoisonError::into_inner) = time.ns();
        self.moved.notify_all();
    }

    /// Waits until the loop is at `time`; counts it as wrong if that does not come true.
    pub fn wait_for(&self, time: SimTime) {
        let progress = self.progress_ns.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = Duration::from_secs(5);
        let waited = self.moved.wait_timeout_while(progress, patience, |ns| *ns < time.ns());
        if waited.unwrap_or_else(PoisonError::into_inner).1.timed_out() {
            self.wrong.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn wrong(&self) -> u64 {
        self.wrong.load(Ordering::Relaxed)
    }
}

static TAPES: Mutex<BTreeMap<String, Arc<Tape>>> = Mutex::new(BTreeMap::new());

/// The tape of this name.
pub fn tape(name: &str) -> Arc<Tape> {
    let mut tapes = TAPES.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(tapes.entry(name.to_owned()).or_default())
}

/// A clock that goes on by one at each look, and shows the tape where it is.
pub struct Counting(pub Arc<Tape>);

impl Clock for Counting {
    fn now_ns(&self) -> u64 {
        self.0.clock.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn wait_until_ns(&self, _: u64) {}
}

choice! {
    /// How a component fails.
    pub enum Fails { Never = "never", Panic = "panic", PanicFirst = "panic_first", Nan = "nan" }
}

spec! {
    /// A driver that reads, counts, and moves by what it read.
    pub struct ProbeSpec {
        /// Where it writes down its calls; nowhere if empty.
        tape: String = String::new();
        /// Sensors it reads.
        reads: Vec<String> = Vec::new();
        /// Optional ones among them.
        optional: bool = false;
        /// How long a call takes.
        sleep_us: u64 = 0;
        /// How it fails.
        fails: Fails = Fails::Never;
        /// When.
        at_s: f64 = 0.0;
        /// Which robot fails: the one that started at this x.
        home_x_m: f64 = 0.0;
        /// Speed it commands.
        speed_mps: f64 = 0.2;
    }
}

struct Probe {
    spec: ProbeSpec,
    tape: Option<Arc<Tape>>,
}

const CALLS: usize = 0;
const AHEAD: usize = 1;
const NEWS: usize = 2;
const DIGEST: usize = 3;

impl Probe {
    fn read(&self, control: &mut Control<'_>, lane: usize) {
        for index in 0..self.spec.reads.len() {
            let reading = control.reading(index, lane);
            let (stamp_ns, value) = (reading.stamp.map_or(-1, |stamp| stamp.ns() as i64), reading.get(0));
            let ahead = stamp_ns > control.time.ns() as i64;
            let news = stamp_ns >= 0 && stamp_ns != control.integers[NEWS + 2 + index][lane];
            control.integers[AHEAD][lane] += i64::from(ahead);
            control.integers[NEWS][lane] += i64::from(news);
            control.integers[NEWS + 2 + index][lane] = stamp_ns;
            let digest = &mut control.integers[DIGEST][lane];
            *digest = digest.wrapping_mul(31).wrapping_add(stamp_ns).wrapping_add(value.to_bits() as i64);
        }
    }
}

impl Driver for Probe {
    fn state(&self) -> &'static [Quantity] {
        const { &[Quantity::one("home_x_m")] }
    }

    fn integers(&self) -> &'static [Quantity] {
        const {
            &[
                Quantity::one("calls"),
                Quantity::one("ahead"),
                Quantity::one("news"),
                Quantity::one("digest"),
                Quantity::many("stamps", 4),
            ]
        }
    }

    fn subscriptions(&self) -> Vec<Subscription> {
        let own = |path: &String| Subscription { path: path.clone(), kind: "", optional: self.spec.optional };
        self.spec.reads.iter().map(own).collect()
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, home: Pose) {
        control.state[0][lane] = home.position_m.x;
    }

    fn control(&self, control: &mut Control<'_>) {
        let began = Instant::now();
        let failing = self.spec.fails != Fails::Never && control.time.s() >= self.spec.at_s;
        assert!(!(failing && self.spec.fails == Fails::PanicFirst), "fails before it asks for a robot");
        while let Some(lane) = control.next_lane() {
            control.integers[CALLS][lane] += 1;
            self.read(control, lane);
            let fails = failing && control.state[0][lane] == self.spec.home_x_m;
            assert!(!(fails && self.spec.fails == Fails::Panic), "fails as told");
            let turn = (control.integers[DIGEST][lane] & 0xff) as f64 / 256.0;
            let speed = if fails { f64::NAN } else { self.spec.speed_mps };
            control.command(lane, setpoint::VELOCITY, [speed, 0.0, 0.0, turn]);
        }
        if self.spec.sleep_us > 0 {
            std::thread::sleep(Duration::from_micros(self.spec.sleep_us));
        }
        if let Some(tape) = &self.tape {
            tape.note("drive", control.time, began);
        }
    }
}

const PROBE: Kind<dyn Driver> = Kind {
    name: "probe",
    doc: "Reads, counts and fails.",
    fields: ProbeSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <ProbeSpec as Spec>::read(node, path, also, problems)?;
        let tape = (!spec.tape.is_empty()).then(|| tape(&spec.tape));
        Some(Arc::new(Probe { spec, tape }))
    },
};

spec! {
    /// A sensor that looks at the world and checks it.
    pub struct GazerSpec {
        /// Where it writes down its calls; nowhere if empty.
        tape: String = String::new();
        /// How long a call takes.
        sleep_us: u64 = 0;
        /// Waits until the loop is so much later than what it sees.
        waits_s: f64 = 0.0;
        /// Panics from then on.
        panics_from_s: f64 = 1e9;
        /// The robot that panics: the one that is there now.
        at_x_m: Option<f64>;
    }
}

struct Gazer {
    spec: GazerSpec,
    tape: Option<Arc<Tape>>,
}

impl Sensor for Gazer {
    fn fields(&self) -> &'static [Quantity] {
        const { &[Quantity::one("time_s"), Quantity::one("robots"), Quantity::one("sum_m")] }
    }

    fn default_rate_hz(&self) -> f64 {
        10.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::World(self)
    }
}

impl Look for Gazer {
    fn capacity(&self, _: usize) -> usize {
        3
    }

    fn look(&self, at: &LookAt<'_>, sample: &mut Vec<f64>) {
        let (began, world) = (Instant::now(), at.world);
        let here = world.robots[at.robot].position_m.x;
        let panics = world.time.s() >= self.spec.panics_from_s && self.spec.at_x_m.is_none_or(|x| x == here);
        assert!(!panics, "sees nothing");
        let sum: f64 = world.robots.iter().map(|robot| robot.position_m.x + robot.position_m.y).sum();
        sample.extend([world.time.s(), world.robots.len() as f64, sum]);
        if self.spec.sleep_us > 0 {
            std::thread::sleep(Duration::from_micros(self.spec.sleep_us));
        }
        let Some(tape) = &self.tape else { return };
        if self.spec.waits_s > 0.0 {
            tape.wait_for(world.time + SimTime::from_s(self.spec.waits_s));
        }
        tape.note("look", world.time, began);
    }
}

const GAZER: Kind<dyn Sensor> = Kind {
    name: "gazer",
    doc: "Looks at the world.",
    fields: GazerSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <GazerSpec as Spec>::read(node, path, also, problems)?;
        let tape = (!spec.tape.is_empty()).then(|| tape(&spec.tape));
        Some(Arc::new(Gazer { spec, tape }))
    },
};

spec! {
    /// A sensor that looks at robots of motion `timed` and checks that all it sees belongs to one instant.
    pub struct CheckerSpec {
        /// Where it counts.
        tape: String;
    }
}

struct Checker(Arc<Tape>);

impl Sensor for Checker {
    fn fields(&self) -> &'static [Quantity] {
        const { &[Quantity::one("time_s")] }
    }

    fn default_rate_hz(&self) -> f64 {
        1000.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::World(self)
    }
}

impl Look for Checker {
    fn capacity(&self, _: usize) -> usize {
        1
    }

    fn look(&self, at: &LookAt<'_>, sample: &mut Vec<f64>) {
        let time_s = at.world.time.s();
        let others = [at.robot, 0, at.world.robots.len() - 1, (at.robot * 7 + 3) % at.world.robots.len()];
        let torn = others.into_iter().any(|other| {
            let seen = &at.world.robots[other];
            let (p, v) = (seen.position_m, seen.velocity_mps);
            [p.x, p.y, p.z, v.x] != [time_s, 0.5 * time_s, 0.25 * time_s, time_s / (1.0 + time_s)]
        });
        self.0.calls.fetch_add(1, Ordering::Relaxed);
        self.0.wrong.fetch_add(u64::from(torn), Ordering::Relaxed);
        sample.push(time_s);
    }
}

const CHECKER: Kind<dyn Sensor> = Kind {
    name: "checker",
    doc: "Checks that all it sees belongs to one instant.",
    fields: CheckerSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <CheckerSpec as Spec>::read(node, path, also, problems)?;
        Some(Arc::new(Checker(tape(&spec.tape))))
    },
};

spec! {
    /// A sensor of the robot's own state.
    pub struct FeelerSpec {
        /// Where it writes down its calls; nowhere if empty.
        tape: String = String::new();
        /// Panics from then on.
        panics_from_s: f64 = 1e9;
        /// Panics as soon as a robot is beyond this x.
        panics_from_x_m: f64 = 1e9;
    }
}

struct Feeler {
    spec: FeelerSpec,
    tape: Option<Arc<Tape>>,
}

impl Sensor for Feeler {
    fn fields(&self) -> &'static [Quantity] {
        const { &[Quantity::one("time_s"), Quantity::one("x_m"), Quantity::one("count")] }
    }

    fn default_rate_hz(&self) -> f64 {
        100.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }
}

impl Feel for Feeler {
    fn state(&self) -> &'static [Quantity] {
        const { &[Quantity::one("count")] }
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        measure.state[0][lane] = 0.0;
    }

    fn measure(&self, measure: &mut Measure<'_>) {
        assert!(measure.time.s() < self.spec.panics_from_s, "feels nothing");
        let east = |&x: &f64| x < self.spec.panics_from_x_m;
        assert!(measure.truth[body::POSITION][..measure.lanes].iter().all(east), "feels too far east");
        for lane in 0..measure.lanes {
            measure.state[0][lane] += 1.0;
            measure.sample[0][lane] = measure.time.s();
            measure.sample[1][lane] = measure.truth[body::POSITION][lane];
            measure.sample[2][lane] = measure.state[0][lane];
        }
        if let Some(tape) = &self.tape {
            tape.note("feel", measure.time, Instant::now());
        }
    }
}

const FEELER: Kind<dyn Sensor> = Kind {
    name: "feeler",
    doc: "Feels where the robot is.",
    fields: FeelerSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <FeelerSpec as Spec>::read(node, path, also, problems)?;
        let tape = (!spec.tape.is_empty()).then(|| tape(&spec.tape));
        Some(Arc::new(Feeler { spec, tape }))
    },
};

spec! {
    /// A modifier that panics at a sample.
    pub struct BreakerSpec {
        /// At which sample.
        sample: u64 = 3;
    }
}

struct Breaker(BreakerSpec);

impl Modifier for Breaker {
    fn modify(&self, sample: &mut Sample<'_>) -> bool {
        assert!(sample.index != self.0.sample, "broke");
        true
    }
}

const BREAKER: Kind<dyn Modifier> = Kind {
    name: "breaker",
    doc: "Panics at a sample.",
    fields: BreakerSpec::FIELDS,
    build: &|node, path, also, problems| {
        Some(Arc::new(Breaker(<BreakerSpec as Spec>::read(node, path, also, problems)?)))
    },
};

spec! {
    /// A motion whose every number follows from the time.
    pub struct TimedSpec {
        /// Where it writes down its ticks; nowhere if empty.
        tape: String = String::new();
        /// Panics from then on.
        panics_from_s: f64 = 1e9;
    }
}

struct Timed {
    spec: TimedSpec,
    tape: Option<Arc<Tape>>,
}

impl Motion for Timed {
    fn inputs(&self) -> &[Quantity] {
        &[]
    }

    fn state(&self) -> &[Quantity] {
        const { &[Quantity::one("ticks")] }
    }

    fn speed_max_mps(&self) -> f64 {
        10.0
    }

    fn mobility(&self) -> Mobility {
        Mobility::Kinematic
    }

    fn start(&self, _: &mut [Column], _: usize) {}

    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>) {
        let time_s = tick.time.s();
        assert!(time_s < self.spec.panics_from_s, "moves no more");
        for lane in 0..lanes {
            columns[body::POSITION][lane] = time_s;
            columns[body::POSITION + 1][lane] = 0.5 * time_s;
            columns[body::POSITION + 2][lane] = 0.25 * time_s;
            columns[body::VELOCITY][lane] = time_s / (1.0 + time_s);
            columns[body::COLUMNS][lane] += 1.0;
        }
        if let Some(tape) = &self.tape {
            tape.note("move", tick.time, Instant::now());
        }
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        vec![("mass_kg", 1.0)]
    }
}

const TIMED: Kind<dyn Motion> = Kind {
    name: "timed",
    doc: "Every number follows from the time.",
    fields: TimedSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <TimedSpec as Spec>::read(node, path, also, problems)?;
        let tape = (!spec.tape.is_empty()).then(|| tape(&spec.tape));
        Some(Arc::new(Timed { spec, tape }))
    },
};

spec! {
    /// A pendulum of one metre that starts level, by Euler's method: its energy drifts with the step.
    pub struct PendulumSpec {
        /// Its length.
        length_m: f64 = 1.0;
    }
}

struct Pendulum(PendulumSpec);

const ANGLE: usize = body::COLUMNS;
const SPIN: usize = body::COLUMNS + 1;

impl Motion for Pendulum {
    fn inputs(&self) -> &[Quantity] {
        &[]
    }

    fn state(&self) -> &'static [Quantity] {
        const { &[Quantity::one("angle_rad"), Quantity::one("spin_radps"), Quantity::one("energy_jpkg")] }
    }

    fn speed_max_mps(&self) -> f64 {
        100.0
    }

    fn mobility(&self) -> Mobility {
        Mobility::Kinematic
    }

    fn start(&self, columns: &mut [Column], lane: usize) {
        columns[ANGLE][lane] = std::f64::consts::FRAC_PI_2;
    }

    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>) {
        let (gravity, length) = (-tick.environment.gravity_mps2.z, self.0.length_m);
        for lane in 0..lanes {
            let (angle, spin) = (columns[ANGLE][lane], columns[SPIN][lane]);
            columns[ANGLE][lane] = angle + spin * tick.dt_s;
            columns[SPIN][lane] = spin - gravity / length * muster_core::math::sin(angle) * tick.dt_s;
            let (angle, spin) = (columns[ANGLE][lane], columns[SPIN][lane]);
            columns[SPIN + 1][lane] =
                0.5 * length * length * spin * spin - gravity * length * muster_core::math::cos(angle);
        }
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

const PENDULUM: Kind<dyn Motion> = Kind {
    name: "pendulum",
    doc: "A pendulum.",
    fields: PendulumSpec::FIELDS,
    build: &|node, path, also, problems| {
        Some(Arc::new(Pendulum(<PendulumSpec as Spec>::read(node, path, also, problems)?)))
    },
};

/// Built-in kinds and those of this file.
pub const REGISTRY: Registry = Registry {
    motions: &[
        TIMED,
        PENDULUM,
        motions::quadrotor::KIND,
        motions::fixed_wing::KIND,
        motions::differential::KIND,
        motions::point::KIND,
    ],
    drivers: &[
        PROBE,
        drivers::autopilot::KIND,
        drivers::flight_control::KIND,
        drivers::random_walk::KIND,
        drivers::waypoints::KIND,
    ],
    sensors: &[
        GAZER,
        CHECKER,
        FEELER,
        sensors::airspeed::KIND,
        sensors::barometer::KIND,
        sensors::clock::KIND,
        sensors::gps::KIND,
        sensors::imu::KIND,
        sensors::neighbours::KIND,
        sensors::odometry::KIND,
        sensors::truth::KIND,
        sensors::world_state::KIND,
    ],
    modifiers: &[BREAKER, modifiers::delay::KIND, modifiers::dropout::KIND, modifiers::gaussian_noise::KIND],
    winds: winds::WINDS,
    services: services::SERVICES,
    actuators: actuators::ACTUATORS,
    links: &muster_links::protocol::KINDS,
    extensions: &[],
    plugins: None,
};

/// A simulation of a text that may use the kinds of this file.
pub fn simulation(text: &str, setup: &Setup) -> Simulation {
    let mut files = Files::new(Vec::new(), muster::library::Embedded);
    let scenario = build::load_text(&mut files, "test.yaml", text, &setup.over, REGISTRY);
    let scenario = scenario.unwrap_or_else(|problems| {
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("{}", texts.join("\n"))
    });
    Simulation::new(scenario, setup).unwrap_or_else(|error| panic!("{error}"))
}

/// A set-up with one thread and values laid over the scenario.
pub fn serial(over: &[&str]) -> Setup {
    let over = over.iter().map(|text| Override::parse(text).unwrap_or_else(|error| panic!("{error}")));
    let threads = Some(muster_scenario::text::Threads::Count(1));
    Setup { over: over.collect(), threads, ..Setup::default() }
}

/// One integer of a robot.
pub fn count(sim: &Simulation, path: &str) -> i64 {
    sim.world().number(path).unwrap_or_else(|| panic!("no {path}")) as i64
}

/// Runs with other windows, threads, chunks and asynchrony, and checks that nothing differs.
pub fn check_everywhere(text: &str, seconds: f64) -> u128 {
    check_with(text, &|sim| sim.run_for(seconds))
}

/// The same, for a run with events of its own.
pub fn check_with(text: &str, run: &dyn Fn(&mut Simulation)) -> u128 {
    use muster_scenario::text::{Async, Threads};
    let hash = |setup: &Setup| {
        let mut sim = simulation(text, setup);
        run(&mut sim);
        sim.world().hash()
    };
    let base = hash(&serial(&[]));
    for window in ["run.window_ms=1", "run.window_ms=5", "run.window_ms=7.3", "run.window_ms=500"] {
        assert_eq!(hash(&serial(&[window])), base, "{window}");
    }
    for asynchronous in [Async::None, Async::Both] {
        let setup = Setup { asynchronous: Some(asynchronous), ..serial(&[]) };
        assert_eq!(hash(&setup), base, "{asynchronous:?}");
    }
    for lanes in [1, 3] {
        let mut setup = serial(&[]);
        setup.options.lanes = lanes;
        assert_eq!(hash(&setup), base, "{lanes} robots in a chunk");
    }
    let mut island = serial(&[]);
    island.options.one_island = true;
    assert_eq!(hash(&island), base, "one island");
    assert_eq!(hash(&Setup { threads: Some(Threads::Count(2)), ..serial(&[]) }), base, "two threads");
    base
}
