//! Components for tests: they write down what happens to them, and misbehave on demand.

use muster_plugin::{
    Advance, Config, Control, Driver, Extension, Field, Kind, Look, LookAt, Measure, Memory, Modifier, Motion, Offer,
    Outcome, Quantity, Reading, Sample, Sensor, Setpoint, Wanted, Window, body, plugin,
};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// What a driver remembers of a robot in a form that no column has.
struct Diary {
    robot: String,
    pages: Vec<u32>,
}

impl Memory for Diary {
    fn of(robot: &str) -> Self {
        eprintln!("trials: begun diary of {robot}");
        Self { robot: robot.to_owned(), pages: Vec::new() }
    }

    fn save(&self) -> Vec<u8> {
        self.pages.iter().flat_map(|page| page.to_le_bytes()).collect()
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.pages = bytes.chunks_exact(4).map(|page| u32::from_le_bytes([page[0], page[1], page[2], page[3]])).collect();
        Ok(())
    }
}

impl Drop for Diary {
    fn drop(&mut self) {
        eprintln!("trials: freed diary of {}", self.robot);
    }
}

/// Drives by what stands in its diary, so that what is not restored shows.
struct Diarist;

impl Driver for Diarist {
    const KIND: Kind = Kind::new("diarist", "Drives by a memory of its own.").repeatable().rate_hz(10.0);
    type Memory = Diary;

    fn configure(_: &Config<'_>) -> Result<Self, String> {
        eprintln!("trials: made diarist");
        Ok(Self)
    }

    fn step(&self, control: &mut Control<'_, Diary>) {
        let index = control.index();
        while let Some(lane) = control.next_lane() {
            let draw = control.uniforms(lane, index, 0)[0];
            let diary = control.memory(lane);
            diary.pages.push((draw * 1e6) as u32 % 7);
            let read: u32 = diary.pages.iter().sum();
            let turn = f64::from(read % 5) - 2.0;
            control.command(lane, Setpoint::velocity(0.3, 0.0, 0.0, turn));
        }
    }
}

impl Drop for Diarist {
    fn drop(&mut self) {
        eprintln!("trials: freed diarist");
    }
}

/// Fails in some way, for one robot, from some time on.
struct Troubled {
    how: String,
    robot: String,
    at_s: f64,
}

struct Name(String);

impl Memory for Name {
    fn of(robot: &str) -> Self {
        Self(robot.to_owned())
    }

    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, _: &[u8]) -> Result<(), String> {
        Ok(())
    }
}

impl Driver for Troubled {
    const KIND: Kind = Kind::new("troubled", "Fails on demand.").repeatable().fields(&[
        Field::choice("how", "In which way.", &["panic", "nan", "sleep", "hang", "fail"]),
        Field::text("robot", "For whom."),
        Field::number("at_s", "From when on.").or("0.5"),
    ]);
    type Memory = Name;

    fn configure(config: &Config<'_>) -> Result<Self, String> {
        let (how, robot) = (config.text("how").to_owned(), config.text("robot").to_owned());
        Ok(Self { how, robot, at_s: config.number("at_s") })
    }

    fn step(&self, control: &mut Control<'_, Name>) {
        while let Some(lane) = control.next_lane() {
            let due = control.time_s() >= self.at_s && control.memory(lane).0 == self.robot;
            let mut speed_mps = 0.5;
            match self.how.as_str() {
                "panic" if due => panic!("no way out"),
                "nan" if due => speed_mps = f64::NAN,
                "sleep" if due => std::thread::sleep(Duration::from_millis(30)),
                "hang" if due => std::thread::sleep(Duration::from_millis(1500)),
                "fail" if due => control.fail(lane, "lost its way"),
                _ => (),
            }
            control.command(lane, Setpoint::velocity(speed_mps, 0.0, 0.0, 0.0));
        }
    }
}

/// Counts what sensors tell it, in which order, and where the samples are.
struct Listener {
    subscriptions: usize,
}

const HEARD: usize = 0;
const ADDRESS: usize = 1;

impl Driver for Listener {
    const KIND: Kind = Kind::new("listener", "Counts samples.")
        .rate_hz(50.0)
        .fields(&[Field::text("sensors", "Whom to listen to, separated by commas.")])
        .state(&[Quantity::one("order"), Quantity::one("first")])
        .integers(&[Quantity::one("heard"), Quantity::one("address")]);
    type Memory = ();
    const LISTENS: bool = true;

    fn configure(config: &Config<'_>) -> Result<Self, String> {
        let mut subscriptions = 0;
        for sensor in config.text("sensors").split(',') {
            subscriptions = config.subscribe(Wanted::sensor(sensor.trim()))? + 1;
        }
        Ok(Self { subscriptions })
    }

    fn on_sample(&self, control: &mut Control<'_, ()>, lane: usize, reading: &Reading<'_>) {
        control.integers()[HEARD][lane] += 1;
        control.integers()[ADDRESS][lane] = reading.shared().map_or(0, |values| values.as_ptr() as i64);
        let state = control.state();
        state[0][lane] = (state[0][lane] * 10.0 + (reading.subscription + 1) as f64) % 1e9;
        if state[1][lane] == 0.0 {
            state[1][lane] = reading.stamp_ns.unwrap_or(-1) as f64 * 1e-9;
        }
    }

    fn step(&self, control: &mut Control<'_, ()>) {
        while let Some(lane) = control.next_lane() {
            assert!((0..self.subscriptions).all(|number| control.reading(number, lane).len() < 1 << 20));
        }
    }
}

/// Asks for what there is not.
struct Asker {
    answers: i64,
}

impl Driver for Asker {
    const KIND: Kind = Kind::new("asker", "Asks for things by name.").repeatable().integers(&[Quantity::one("answers")]);
    type Memory = ();

    fn configure(config: &Config<'_>) -> Result<Self, String> {
        let wrong = [config.input("nope").is_err(), config.joint("nope").is_err(), config.constant("nope").is_err()];
        let right = [config.input("wheel_left_radps") == Ok(0), config.constant("wheel_radius_m").is_ok()];
        let answers = wrong.into_iter().chain(right).filter(|answer| *answer).count() as i64;
        Ok(Self { answers })
    }

    fn step(&self, control: &mut Control<'_, ()>) {
        while let Some(lane) = control.next_lane() {
            let nobody = control.extension("nope").is_none();
            let somebody = control.extension("counter").is_some();
            let nothing = control.reading(99, lane).is_empty();
            let all = self.answers + i64::from(nobody) + i64::from(nothing);
            control.integers()[0][lane] = all + 10 * i64::from(somebody);
        }
    }
}

/// Keeps a number where nobody saves it.
struct Forgetful(AtomicI64);

impl Driver for Forgetful {
    const KIND: Kind = Kind::new("forgetful", "Keeps what it does not save.");
    type Memory = ();

    fn configure(_: &Config<'_>) -> Result<Self, String> {
        Ok(Self(AtomicI64::new(0)))
    }

    fn step(&self, control: &mut Control<'_, ()>) {
        self.0.fetch_add(i64::from(control.due().count_ones()), Ordering::Relaxed);
    }
}

/// Drives joints: a controller from a library.
struct Waver {
    joint: usize,
}

impl Driver for Waver {
    const KIND: Kind = Kind::new("waver", "Moves a joint to and fro.")
        .repeatable()
        .rate_hz(100.0)
        .fields(&[Field::text("joint", "Which.")])
        .state(&[Quantity::one("seen")]);
    type Memory = ();

    fn configure(config: &Config<'_>) -> Result<Self, String> {
        Ok(Self { joint: config.joint(config.text("joint"))? })
    }

    fn step(&self, control: &mut Control<'_, ()>) {
        let target = if control.time_s() < 1.0 { 0.5 } else { 0.25 };
        while let Some(lane) = control.next_lane() {
            control.state()[0][lane] = control.joint_positions()[self.joint][lane];
            control.joint_commands()[self.joint][lane] = target;
        }
    }
}

/// Measures nothing but numbers that are none, after a while.
struct Blind {
    at_s: f64,
}

impl Sensor for Blind {
    const KIND: Kind = Kind::new("blind", "Measures what is no number.")
        .repeatable()
        .fields(&[Field::number("at_s", "From when on.").or("0.5")])
        .sample(&[Quantity::one("height_m")]);
    type Memory = ();

    fn configure(config: &Config<'_>) -> Result<Self, String> {
        config.column("position_m")?;
        if config.column("motion.nope").is_ok() {
            return Err("found a column that does not exist".to_owned());
        }
        Ok(Self { at_s: config.number("at_s") })
    }

    fn measure(&self, measure: &mut Measure<'_, ()>) {
        let late = measure.time_ns() as f64 * 1e-9 >= self.at_s;
        for lane in 0..measure.lanes() {
            let [x, z] = [0, 2].map(|axis| measure.truth()[body::POSITION + axis][lane]);
            // only those at x = 3 m are blinded
            measure.sample()[0][lane] = if late && x == 3.0 { f64::NAN } else { z };
        }
    }
}

/// Sees nothing but its own end.
struct Startled;

impl Look for Startled {
    const KIND: Kind = Kind::new("startled", "Panics when a robot is near.").repeatable().sample(&[Quantity::one("x")]);

    fn configure(_: &Config<'_>) -> Result<Self, String> {
        Ok(Self)
    }

    fn look(&self, at: &mut LookAt<'_>) {
        let own = at.position_m(at.own());
        assert!(own[0] != 3.0 || at.index() < 3, "saw something");
        at.push(own[0]);
    }
}

/// Loses every second sample, and fails on those below -1.
struct Picky;

impl Modifier for Picky {
    const KIND: Kind = Kind::new("picky", "Loses every second sample.").repeatable().sample(&[Quantity::many("position_m", 3)]);

    fn configure(_: &Config<'_>) -> Result<Self, String> {
        Ok(Self)
    }

    fn modify(&self, sample: &mut Sample<'_>) -> Outcome {
        let field = sample.field("position_m").unwrap_or(usize::MAX);
        assert!(sample.field("nope").is_none());
        assert!(sample.values()[field] > -1.0, "too far to the west");
        if sample.index() % 2 == 0 { Outcome::Lost } else { Outcome::Kept }
    }
}

/// Moves robots east until they are lost.
struct Wild;

impl Motion for Wild {
    const KIND: Kind = Kind::new("wild", "Moves east, and from x = 5 m on to nowhere.")
        .repeatable()
        .inputs(&[Quantity::one("speed_mps")])
        .state(&[Quantity::one("come_m")]);

    fn configure(_: &Config<'_>) -> Result<Self, String> {
        Ok(Self)
    }

    fn speed_max_mps(&self) -> f64 {
        10.0
    }

    fn start(&self, advance: &mut Advance<'_>, lane: usize) {
        let (inputs, _) = advance.firsts();
        advance.columns()[inputs][lane] = 2.0;
    }

    fn advance(&self, advance: &mut Advance<'_>) {
        let (lanes, dt_s, (inputs, state)) = (advance.lanes(), advance.dt_s(), advance.firsts());
        let columns = advance.columns();
        for lane in 0..lanes {
            let speed_mps = columns[inputs][lane];
            columns[body::VELOCITY][lane] = speed_mps;
            columns[body::POSITION][lane] += speed_mps * dt_s;
            columns[state][lane] += speed_mps * dt_s;
            if columns[body::POSITION][lane] > 5.0 {
                columns[body::POSITION][lane] = f64::NAN;
            }
        }
    }
}

static OFFERED: AtomicI64 = AtomicI64::new(42);

/// Something beside the simulation that others ask for.
struct Counter {
    fail: bool,
    windows: AtomicI64,
}

impl Extension for Counter {
    const KIND: Kind = Kind::new("counter", "Counts windows.")
        .fields(&[Field::boolean("fail", "It cannot begin.").or("false")]);

    fn configure(config: &Config<'_>) -> Result<Self, String> {
        Ok(Self { fail: config.boolean("fail"), windows: AtomicI64::new(0) })
    }

    fn init(&self) -> Result<(), String> {
        if self.fail { Err("has no ink".to_owned()) } else { Ok(()) }
    }

    fn shutdown(&self) {
        eprintln!("trials: {} windows", self.windows.load(Ordering::Relaxed));
    }

    fn offer(&self) -> Offer {
        Offer::of(&OFFERED)
    }

    fn window(&self, window: &mut Window<'_>) -> Result<(), String> {
        if self.windows.fetch_add(1, Ordering::Relaxed) == 3 {
            let unknown = window.get("nobody.position_m").is_none()
                && window.set("nobody.position_m", &[1.0]).is_err()
                && window.ask("nobody", "goto", &[1.0, 2.0]).is_err()
                && window.ask(&window.robots()[0], "fly_to_the_moon", &[]).is_err();
            if !unknown {
                return Err("found what does not exist".to_owned());
            }
            let first = window.robots()[0].clone();
            window.set(&format!("{first}.setpoint"), &[0.25, 0.0, 0.0, 0.0])?;
        }
        Ok(())
    }
}

plugin! {
    name: "trials", version: env!("CARGO_PKG_VERSION"), about: "For tests.",
    kinds: [
        driver Diarist, driver Troubled, driver Listener, driver Asker, driver Forgetful, driver Waver,
        sensor Blind, look Startled, modifier Picky, motion Wild, extension Counter,
    ],
}
