//! What a user leaves to the machine: sensors that can measure in several ways (`method: auto`) are tried on the loaded
//! world before the run, and the quickest way is taken. What was measured and chosen goes into the report; whoever needs
//! the same bits on another machine writes the method down.

use muster_core::component::Sensor;
use muster_core::model::{Cohort, Model};
use muster_core::state::PlaceError;
use muster_core::world::{Options, World};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What was chosen for the sensors of one sort of robots.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// A robot that has it, and its name on the robot.
    pub sensor: String,
    /// How long one sample takes each way.
    pub ways: Vec<Way>,
    /// The way that was taken.
    pub chosen: &'static str,
}

/// One way to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Way {
    /// Its name.
    pub name: &'static str,
    /// Time of a sample.
    pub sample_us: f64,
}

impl Choice {
    pub(crate) fn json(&self) -> Value {
        let us: serde_json::Map<String, Value> =
            self.ways.iter().map(|way| (way.name.to_owned(), way.sample_us.into())).collect();
        json!({"sensor": self.sensor, "sample_us": us, "chosen": self.chosen})
    }
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ways: Vec<String> = self.ways.iter().map(|way| format!("{} {:.1} us", way.name, way.sample_us)).collect();
        let (all, chosen) = (ways.join(", "), self.chosen);
        write!(f, "{}: {all} a sample: {chosen} (method: {chosen} makes it so on every machine)", self.sensor)
    }
}

/// Choices made before: `robot.sensor` and the way that was taken.
pub type Pins = BTreeMap<String, String>;

/// Chooses for every sensor that leaves the choice, and puts what was chosen into the model. What is pinned is not tried.
pub(crate) fn choose(model: &mut Arc<Model>, options: Options, pins: &Pins) -> Result<Vec<Choice>, PlaceError> {
    let undecided = |cohort: &Cohort| cohort.blueprint.sensors.iter().any(|slot| !slot.sensor.ways().is_empty());
    if !model.robots.iter().any(|robot| undecided(&robot.cohort)) {
        return Ok(Vec::new());
    }
    let mut world = World::new(Arc::clone(model), options)?;
    let mut choices = Vec::new();
    let mut settled: BTreeMap<*const Cohort, Arc<Cohort>> = BTreeMap::new();
    let numbers: Vec<(u32, String, Arc<Cohort>)> =
        world.roster().map(|(number, robot)| (number, robot.name.clone(), Arc::clone(&robot.cohort))).collect();
    for (number, name, cohort) in numbers {
        if !undecided(&cohort) || settled.contains_key(&Arc::as_ptr(&cohort)) {
            continue;
        }
        let mut chosen = Arc::clone(&cohort);
        for (at, slot) in cohort.blueprint.sensors.iter().enumerate() {
            let ways = slot.sensor.ways();
            let Some(trial) = world.trial(number) else { continue };
            let timed = |(way, sensor): &(&'static str, Arc<dyn Sensor>)| Way {
                name: way,
                sample_us: sample_us(|sample| trial.look(at, &**sensor, sample)),
            };
            let sensor_name = format!("{name}.{}", slot.name);
            let pinned = pins.get(&sensor_name).and_then(|pin| ways.iter().position(|(way, _)| way == pin));
            let times: Vec<Way> = if pinned.is_some() { Vec::new() } else { ways.iter().map(timed).collect() };
            let quickest = || (0..ways.len()).min_by(|a, b| times[*a].sample_us.total_cmp(&times[*b].sample_us));
            let Some((way, sensor)) = pinned.or_else(quickest).map(|at| &ways[at]) else { continue };
            chosen = chosen.with_sensor(at, Arc::clone(sensor), &*model.environment.wind);
            choices.push(Choice { sensor: sensor_name, ways: times, chosen: way });
        }
        settled.insert(Arc::as_ptr(&cohort), chosen);
    }
    drop(world);
    if let Some(model) = Arc::get_mut(model) {
        for robot in &mut model.robots {
            if let Some(chosen) = settled.get(&Arc::as_ptr(&robot.cohort)) {
                robot.cohort = Arc::clone(chosen);
            }
        }
    }
    Ok(choices)
}

/// The least time of several tries, after one to warm up.
fn sample_us(mut look: impl FnMut(&mut Vec<f64>)) -> f64 {
    const TRIES: usize = 20;
    const ENOUGH: Duration = Duration::from_millis(50);
    let mut sample = Vec::new();
    look(&mut sample);
    let (mut least, begun) = (f64::INFINITY, Instant::now());
    for _ in 0..TRIES {
        let before = Instant::now();
        look(&mut sample);
        least = least.min(before.elapsed().as_secs_f64() * 1e6);
        if begun.elapsed() > ENOUGH {
            break;
        }
    }
    least
}
