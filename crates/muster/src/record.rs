//! Recording a run, and simulating it again from the recording alone.
//!
//! A recording holds every file, option, choice and command, so a run can be walked again on another machine, in another
//! directory, without its files. Hashes of the state once a simulated second prove that it is the same, or name the first
//! second and the robots that differ. See `muster_links::record` for the file.

use crate::choose::Pins;
use crate::plugins::Plugin;
use crate::render::Render;
use crate::simulation::{LoadError, Setup, Simulation};
use muster_core::command::{Action, Command};
use muster_core::model::Placement;
use muster_core::node::{Node, Value};
use muster_core::time::SimTime;
use muster_links::morse::set_visibility;
use muster_links::record::command::{Deed, Recorded, Replayed, Spawned};
use muster_links::record::manifest::Manifest;
use muster_links::record::reader::{Entry, Hashed, Recording};
use muster_links::record::recorder::Recorder;
pub use muster_links::record::recorder::{Outcome as RecordOutcome, Wants};
use muster_scenario::build::Override;
use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};

/// A value as YAML that fits on a line and is read as the same value.
fn flow(node: &Node) -> String {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Number(value) if value.is_nan() => ".nan".to_owned(),
        Value::Number(value) if value.is_infinite() => if *value > 0.0 { ".inf" } else { "-.inf" }.to_owned(),
        Value::Number(value) => format!("{value:?}"),
        Value::Text(value) => text(value),
        Value::List(list) => format!("[{}]", list.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => {
            let entries = map.iter().map(|entry| format!("{}: {}", text(&entry.key), flow(&entry.value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The option that says who made pictures.
const RENDER: &str = "render";

/// What a recording tells of how a scenario was loaded; files and choices follow when they are known.
pub(crate) fn manifest(scenario: &str, setup: &Setup) -> Manifest {
    Manifest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        scenario: scenario.to_owned(),
        set: setup.over.iter().map(|over| format!("{}={}", over.path, flow(&over.value))).collect(),
        search: setup.search.iter().map(|path| path.display().to_string()).collect(),
        options: [(RENDER.to_owned(), setup.render.name().to_owned())].into(),
        ..Manifest::default()
    }
}

/// Loads the scenario of a recording, from what the recording holds and from nothing else. Whatever does not change
/// results is taken from `setup`.
pub fn load_recorded(recording: &Recording, setup: &Setup) -> Result<Simulation, LoadError> {
    let manifest = &recording.manifest;
    let wrong = |what: String| LoadError::said(format!("error: {what}"));
    let over: Result<Vec<Override>, String> = manifest.set.iter().map(|text| Override::parse(text)).collect();
    let render = manifest.options.get(RENDER).map_or("cpu", String::as_str);
    let render =
        Render::named(render).ok_or_else(|| wrong(format!("found engine {render:?}, expected one of muster's")))?;
    let pins: Pins = manifest.choices.iter().cloned().collect();
    let setup = Setup {
        over: over.map_err(wrong)?,
        search: manifest.search.iter().map(PathBuf::from).collect(),
        seeds: Vec::new(),
        render,
        pins,
        held: Some(manifest.files.clone()),
        ..setup.clone()
    };
    let mut sim = Simulation::load(&manifest.scenario, &setup)?;
    for Plugin { name, digest, .. } in sim.plugins() {
        let (name, digest) = (name.to_string(), format!("{digest:032x}"));
        let recorded = manifest.plugins.iter().find(|(other, _)| *other == name);
        if let Some((_, recorded)) = recorded.filter(|(_, recorded)| *recorded != digest) {
            return Err(LoadError::refused(format!(
                "error: found plug-in {name:?} with digest {digest}, expected {recorded} as in the recording"
            )));
        }
    }
    sim.follow_script(Script::new(recording.entries.clone()));
    Ok(sim)
}

/// How a run that is walked again compares to the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The same bits, by so many hashes, up to this time.
    Equal {
        /// How many hashes were compared.
        hashes: usize,
        /// The time of the last.
        until: SimTime,
    },
    /// The first time at which the state was another.
    Differs(Difference),
    /// It cannot be walked again from here on.
    Stuck {
        /// When.
        time: SimTime,
        /// Why.
        why: String,
    },
}

/// Where a run differs from its recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The time of the first hash that differs.
    pub time: SimTime,
    /// The time of the last hash that does not.
    pub equal_until: Option<SimTime>,
    /// The robots that differ, in the order of their identities.
    pub robots: Vec<String>,
    /// Robots that only the recording has, and that only the run has.
    pub missing: Vec<String>,
    /// Robots that only the run has.
    pub surplus: Vec<String>,
}

/// Names told of many.
const TOLD: usize = 5;

fn told(names: &[String]) -> String {
    let first = names.iter().take(TOLD).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    if names.len() > TOLD { format!("{first} and {} more", names.len() - TOLD) } else { first }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal { hashes, until } => write!(f, "equal: {hashes} hashes, up to {:.6} s", until.s()),
            Self::Stuck { time, why } => write!(f, "cannot be simulated again from {:.6} s on: {why}", time.s()),
            Self::Differs(difference) => difference.fmt(f),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "differs at {:.6} s", self.time.s())?;
        if let Some(until) = self.equal_until {
            write!(f, " (equal until {:.6} s)", until.s())?;
        }
        let lists = [("robots", &self.robots), ("missing", &self.missing), ("surplus", &self.surplus)];
        for (what, names) in lists.iter().filter(|(_, names)| !names.is_empty()) {
            write!(f, ", {what}: {}", told(names))?;
        }
        if lists.iter().all(|(_, names)| names.is_empty()) {
            write!(f, ", every robot is equal: what events remember is another")?;
        }
        Ok(())
    }
}

/// What happened in a recording and is to happen again.
pub(crate) struct Script {
    entries: VecDeque<Entry>,
    roster: Vec<String>,
    hashes: usize,
    equal_until: Option<SimTime>,
    broken: Option<Verdict>,
    robots: Vec<(u64, u128)>,
}

impl Script {
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        Self {
            entries: entries.into(),
            roster: Vec::new(),
            hashes: 0,
            equal_until: None,
            broken: None,
            robots: Vec::new(),
        }
    }

    /// When something happens next.
    pub(crate) fn next_time(&self) -> SimTime {
        self.entries.front().map_or(SimTime::NEVER, time_of)
    }

    /// True if all happened, or nothing more can.
    pub(crate) fn done(&self) -> bool {
        self.entries.is_empty() || self.broken.is_some()
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let equal = Verdict::Equal { hashes: self.hashes, until: self.equal_until.unwrap_or(SimTime::ZERO) };
        self.broken.clone().unwrap_or(equal)
    }

    /// Compares the state with a hash of the recording.
    fn compare(&mut self, sim: &Simulation, hashed: &Hashed) {
        let world = sim.world().state().hashes_of_realm(0, &mut self.robots);
        if world == hashed.world {
            self.hashes += 1;
            self.equal_until = Some(hashed.time);
            return;
        }
        let recorded: Vec<(&String, u64)> = self.roster.iter().zip(hashed.robots.iter().copied()).collect();
        let mut keyed: Vec<(u64, &str)> =
            sim.world().realm(0).robots().map(|robot| (robot.key, robot.name.as_str())).collect();
        keyed.sort_unstable();
        let now: Vec<(&str, u64)> =
            keyed.iter().zip(&self.robots).map(|((_, name), (_, hash))| (*name, *hash as u64)).collect();
        let find = |name: &str| now.iter().find(|(other, _)| *other == name).map(|(_, hash)| *hash);
        let known = |name: &str| recorded.iter().any(|(other, _)| *other == name);
        let names = |wanted: &dyn Fn(&str, u64) -> bool| -> Vec<String> {
            recorded.iter().filter(|(name, hash)| wanted(name, *hash)).map(|(name, _)| (*name).clone()).collect()
        };
        self.broken = Some(Verdict::Differs(Difference {
            time: hashed.time,
            equal_until: self.equal_until,
            robots: names(&|name, hash| find(name).is_some_and(|other| other != hash)),
            missing: names(&|name, _| find(name).is_none()),
            surplus: now.iter().filter(|(name, _)| !known(name)).map(|(name, _)| (*name).to_owned()).collect(),
        }));
    }
}

fn time_of(entry: &Entry) -> SimTime {
    match entry {
        Entry::Command(Recorded { time, .. }) | Entry::Unknown { time, .. } => *time,
        Entry::Hashes(hashed) => hashed.time,
        // belongs to the hash behind it
        Entry::Roster(_) => SimTime::ZERO,
    }
}

impl Simulation {
    pub(crate) fn follow_script(&mut self, script: Script) {
        self.script = Some(script);
    }

    /// How a recording that is walked again compares so far; `None` if none is.
    pub fn verdict(&self) -> Option<Verdict> {
        self.script.as_ref().map(Script::verdict)
    }

    /// True if a recording is walked again and has come to its end.
    pub fn replayed(&self) -> bool {
        self.script.as_ref().is_some_and(Script::done)
    }

    /// Does what the recording says for now. At one time commands take effect in the groups in which they did.
    pub(crate) fn act_by_script(&mut self) {
        let Some(mut script) = self.script.take() else { return };
        let mut group = None;
        while !script.done() && script.next_time() <= self.world.time() {
            let Some(entry) = script.entries.pop_front() else { break };
            let next = match &entry {
                Entry::Command(command) => Some(command.group),
                _ => None,
            };
            if group.is_some() && next != group {
                self.world.settle();
            }
            group = next;
            let outcome = match entry {
                Entry::Roster(names) => {
                    script.roster = names;
                    Ok(())
                }
                Entry::Hashes(hashed) => {
                    script.compare(self, &hashed);
                    Ok(())
                }
                Entry::Unknown { why, .. } => Err(why),
                Entry::Command(command) => self.redo(&command),
            };
            if let Err(why) = outcome {
                script.broken = Some(Verdict::Stuck { time: self.world.time(), why });
            }
        }
        if group.is_some() {
            self.world.settle();
        }
        self.script = Some(script);
    }

    fn redo(&mut self, recorded: &Recorded) -> Result<(), String> {
        let action = match recorded.replay(self.scenario().registry.services)? {
            Replayed::Post(command) => {
                self.world.post(command);
                return Ok(());
            }
            Replayed::Reset => {
                self.reset();
                return Ok(());
            }
            Replayed::Modifiers { robot, sensor, yaml } => {
                self.retooling(&robot, &sensor, &yaml).map_err(|error| error.to_string())?
            }
            Replayed::Visible { robot, visible } => set_visibility(&self.world, &robot, visible)?,
            Replayed::Spawn(spawned) => self.spawning(spawned)?,
        };
        let Recorded { time, link, sequence, .. } = *recorded;
        self.world.post(Command { time, link, sequence, action });
        Ok(())
    }

    fn spawning(&self, spawned: Spawned) -> Result<Action, String> {
        let Spawned { robot, realm, key, pose, velocity_mps, attached } = spawned;
        let known = self.scenario().cohorts.get(&key).cloned();
        let alive =
            || self.world.robots().map(|robot| &robot.cohort).find(|cohort| cohort.blueprint.key == key).cloned();
        let cohort = known.or_else(alive);
        let cohort = cohort.ok_or_else(|| format!("robot {robot:?} was made by a program, not by the scenario"))?;
        Ok(Action::Spawn(Box::new(Placement { name: robot, realm, cohort, pose, velocity_mps, attached })))
    }

    /// Records the run from now on. The scenario must have been loaded with [`Setup::keep_files`], and nothing must have
    /// happened yet.
    pub fn record(&mut self, path: &Path, wants: Wants) -> Result<(), String> {
        let Some(mut manifest) = self.manifest.clone() else {
            return Err("found a scenario whose files were not kept, expected Setup::keep_files".to_owned());
        };
        if self.world.realms() > 1 || self.world.time() > SimTime::ZERO {
            return Err("found a run of several seeds or one that has begun, expected one at its start".to_owned());
        }
        manifest.seed = self.world.realm(0).seed();
        manifest.choices =
            self.choices().iter().map(|choice| (choice.sensor.clone(), choice.chosen.to_owned())).collect();
        let digest = |plugin: Plugin| (plugin.name.to_string(), format!("{:032x}", plugin.digest));
        manifest.plugins = self.plugins().into_iter().map(digest).collect();
        let unwritable = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
        let directory = self.messenger.directory(&self.world);
        if let Some(pattern) = wants.unmatched(&directory) {
            return Err(format!(
                "found nothing like {pattern:?} to record, expected a topic (/robot/scan) or robot.sensor"
            ));
        }
        let mut recorder = Recorder::start(path, &manifest, wants, &mut self.world, &directory).map_err(unwritable)?;
        if let Some(ear) = recorder.ear() {
            self.add_sink(ear)?;
        }
        self.recorder = Some(recorder);
        Ok(())
    }

    /// The recorder, if there is one.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// The recorder, to be asked what went wrong.
    pub fn recorder_mut(&mut self) -> Option<&mut Recorder> {
        self.recorder.as_mut()
    }

    /// Ends a recording, and waits until all is written.
    pub fn end_recording(&mut self, ended: &str) -> Option<RecordOutcome> {
        self.flush();
        let mut recorder = self.recorder.take()?;
        Some(recorder.finish(&mut self.world, ended))
    }

    pub(crate) fn tap(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            let directory = self.messenger.directory(&self.world);
            recorder.tap(&mut self.world, &directory);
        }
    }

    /// Tells the recorder that the state is about to be another, not by commands.
    pub(crate) fn note_break(&mut self, deed: Deed) {
        if let Some(recorder) = &mut self.recorder {
            self.messenger.flush();
            recorder.note_break(&mut self.world, deed);
        }
    }
}

/// Reads a recording; an error is for people.
pub fn open(path: &Path) -> Result<Recording, String> {
    Recording::open(path).map_err(|error| format!("error: {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_laid_over_a_scenario_are_read_as_they_were_written() {
        for text in
            ["1", "1.5", "1e300", "-0.1", "true", "null", "[1, [2, x]]", "{a b: {c: \"x\\ny: #\"}}", ".inf", "'5'"]
        {
            let first = Override::parse(&format!("a.b={text}")).unwrap();
            let again = Override::parse(&format!("a.b={}", flow(&first.value))).unwrap();
            assert_eq!(flow(&again.value), flow(&first.value), "{text}");
            assert_eq!(
                std::mem::discriminant(&again.value.value),
                std::mem::discriminant(&first.value.value),
                "{text}"
            );
        }
    }
}
