//! `muster inspect`: robots, properties and schedule of a scenario, or one value by path.

use super::{FAILED, InspectArguments, OK, unloaded};
use comfy_table::{Table, presets};
use muster::Simulation;
use muster_core::actuator::ActuatorSlot;
use muster_core::component::{Pose, Sense};
use muster_core::lanes::Quantity;
use muster_core::model::{Bank, SensorSlot};
use muster_core::property::{PropertyError, Shown, Slot};
use muster_core::state::Robot;
use muster_core::tree::{Node, Tree};
use serde_json::{Value, json};

/// Shows what was asked for and returns the exit code.
pub(crate) fn inspect(arguments: &InspectArguments) -> u8 {
    let setup = arguments.over.setup();
    let mut sim = match Simulation::load(&arguments.scenario.to_string_lossy(), &setup) {
        Ok(sim) => sim,
        Err(error) => return unloaded(&error),
    };
    if let Some(path) = &arguments.path {
        listen(&mut sim, path);
    }
    sim.run_for(arguments.at.as_secs_f64());
    match &arguments.path {
        None => overview(&sim, arguments.json),
        Some(path) if sim.world().robots().any(|robot| robot.name == *path) => robot(&sim, path, arguments.json),
        Some(path) => return value(&sim, path, arguments.json),
    }
    OK
}

/// Has a robot that is asked about make the samples it makes only while somebody listens.
fn listen(sim: &mut Simulation, path: &str) {
    let name = path.split('.').next().unwrap_or_default();
    let Some(robot) = sim.world().find(name) else { return };
    let sensors = robot.cohort.blueprint.sensors.iter().filter(|slot| slot.on_demand());
    let sensors: Vec<String> = sensors.map(|slot| slot.name.clone()).collect();
    sensors.iter().for_each(|sensor| _ = sim.world_mut().listen(name, sensor));
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    table.set_header(header.to_vec());
    table
}

fn overview(sim: &Simulation, as_json: bool) {
    let robots: Vec<&Robot> = sim.world().robots().collect();
    if as_json {
        let list: Vec<Value> = robots.iter().map(|robot| robot_json(sim, robot)).collect();
        say!("{:#}", json!({ "time_s": sim.world().time().s(), "robots": list }));
        return;
    }
    let mut rows = table(&["robot", "kind", "motion", "driver", "sensors", "position m"]);
    const SHOWN: usize = 40;
    for robot in robots.iter().take(SHOWN) {
        let blueprint = &robot.cohort.blueprint;
        let drivers: Vec<String> =
            blueprint.drivers.iter().map(|slot| format!("{} {:.0} Hz", slot.kind, slot.rate.hz())).collect();
        let sensors: Vec<String> =
            blueprint.sensors.iter().map(|slot| format!("{} {:.0} Hz", slot.name, slot.rate.hz())).collect();
        let position = sim.world().pose(&robot.name).map(|pose| pose.position_m).unwrap_or_default();
        rows.add_row(vec![
            robot.name.clone(),
            blueprint.kind.clone(),
            format!("{} {:.0} Hz", blueprint.motion_kind, blueprint.rate.hz()),
            drivers.join("\n"),
            sensors.join("\n"),
            format!("{:.3} {:.3} {:.3}", position.x, position.y, position.z),
        ]);
    }
    say!("{rows}");
    if robots.len() > SHOWN {
        say!("and {} more robots (--json shows all)", robots.len() - SHOWN);
    }
    for compound in &sim.world().model().compounds {
        say!("compound {}: {}", compound.name, compound.members.join(", "));
    }
    say!("time {}, state hash {:032x}", sim.world().time(), sim.world().hash());
}

fn robot_json(sim: &Simulation, robot: &Robot) -> Value {
    let blueprint = &robot.cohort.blueprint;
    let sensors: Vec<Value> = blueprint
        .sensors
        .iter()
        .map(|slot| {
            let pose = sim.world().sensor_pose(&robot.name, &slot.name);
            let frame = slot.frame.map(|frame| blueprint.frames[frame].name.as_str());
            let modifiers: Vec<&str> = slot.modifiers.iter().map(|modifier| modifier.kind).collect();
            json!({ "name": slot.name, "kind": slot.kind, "rate_hz": slot.rate.hz(), "phase_s": slot.phase.s(),
                    "latency_s": slot.latency.s(), "modifiers": modifiers, "robot": robot.name, "frame": frame,
                    "relative_pose": pose_json(&slot.mount), "world_pose": pose.as_ref().map(pose_json),
                    "data": sample_json(sim, &robot.name, slot) })
        })
        .collect();
    let actuators: Vec<Value> = blueprint.actuators.iter().map(|slot| actuator_json(robot, slot)).collect();
    let properties = sim.world().properties_of(&robot.name).unwrap_or_default();
    let properties: serde_json::Map<String, Value> = properties
        .into_iter()
        .map(|shown| (shown.path[robot.name.len() + 1..].to_owned(), shown_json(&shown)))
        .collect();
    json!({ "name": robot.name, "kind": blueprint.kind, "motion": blueprint.motion_kind,
            "rate_hz": blueprint.rate.hz(), "sensors": sensors, "actuators": actuators, "properties": properties,
            "tree": tree_json(&Tree::of(&blueprint.frames, &blueprint.parts)) })
}

fn actuator_json(robot: &Robot, slot: &ActuatorSlot) -> Value {
    let inputs: Vec<Value> = slot
        .actuator
        .inputs(&robot.cohort)
        .iter()
        .map(|input| {
            let default = input.default.filter(|value| value.is_finite());
            json!({ "name": input.name, "numbers": input.len, "default": default, "doc": input.doc })
        })
        .collect();
    let offers: Vec<Value> = slot
        .actuator
        .offers()
        .iter()
        .map(|offer| json!({ "name": offer.name, "takes": offer.takes, "doc": offer.doc }))
        .collect();
    let settings: serde_json::Map<String, Value> =
        slot.settings.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    json!({ "name": slot.name, "kind": slot.kind, "service": slot.actuator.service(), "inputs": inputs,
            "offers": offers, "settings": settings })
}

fn tree_json(tree: &Tree) -> Value {
    let node = |node: &Node| {
        let constants: serde_json::Map<String, Value> =
            node.constants.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        json!({ "block": node.block.to_string(), "parent": node.parent, "frame": node.name, "constants": constants })
    };
    tree.nodes().iter().map(node).collect()
}

fn pose_json(pose: &Pose) -> Value {
    json!({ "position_m": pose.position_m.to_array(), "orientation": pose.orientation.to_array() })
}

/// The last sample of a sensor by field; for each thing seen, if it looks at the world.
fn sample_json(sim: &Simulation, robot: &str, slot: &SensorSlot) -> Value {
    let fields = slot.fields();
    let by_field = |values: &[f64]| -> Value {
        let mut rest = values;
        let numbers = fields.iter().map(|field| {
            let (own, after) = rest.split_at(field.len.min(rest.len()));
            rest = after;
            (field.name.to_owned(), numbers_json(own))
        });
        Value::Object(numbers.collect())
    };
    let values = |path: &str| sim.world().property(path).unwrap_or_default();
    match slot.sensor.sense() {
        Sense::Own(_) => {
            let paths = fields.iter().map(|field| format!("{robot}.{}.{}", slot.name, field.name));
            by_field(&paths.flat_map(|path| values(&path)).collect::<Vec<f64>>())
        }
        Sense::World(_) => {
            let seen = values(&format!("{robot}.{}", slot.name));
            seen.chunks_exact(Quantity::total(fields).max(1)).map(by_field).collect()
        }
    }
}

fn shown_json(shown: &Shown) -> Value {
    numbers_json(&shown.values)
}

fn numbers_json(values: &[f64]) -> Value {
    match values {
        [one] => json!(one),
        many => json!(many),
    }
}

fn robot(sim: &Simulation, name: &str, as_json: bool) {
    if as_json {
        let found = sim.world().robots().find(|robot| robot.name == name);
        say!("{:#}", found.map_or(Value::Null, |robot| robot_json(sim, robot)));
        return;
    }
    let mut rows = table(&["property", "value", ""]);
    for shown in sim.world().properties_of(name).unwrap_or_default() {
        let whole = matches!(shown.slot, Slot::Column(_, Bank::Integer, _));
        let number = |value: &f64| match value.abs() {
            _ if whole => value.to_string(),
            small if small > 0.0 && small < 1e-3 => format!("{value:.3e}"),
            _ => format!("{value:.6}"),
        };
        let values: Vec<String> = shown.values.iter().take(12).map(number).collect();
        let more = if shown.values.len() > 12 { " …" } else { "" };
        let sort = match shown.slot {
            Slot::Column(..) | Slot::Extra(_) => "",
            Slot::Constant => "constant",
            Slot::Board(_) => "sample",
            Slot::Computed => "frame",
        };
        rows.add_row(vec![shown.path, format!("{}{more}", values.join(" ")), sort.to_owned()]);
    }
    say!("{rows}");
    let Some(robot) = sim.world().robots().find(|robot| robot.name == name) else { return };
    let blueprint = &robot.cohort.blueprint;
    for slot in &blueprint.actuators {
        let inputs = slot.actuator.inputs(&robot.cohort);
        let inputs: Vec<&str> = inputs.iter().map(|input| &*input.name).collect();
        let offers: Vec<&str> = slot.actuator.offers().iter().map(|offer| offer.name).collect();
        say!("actuator {} ({}): {{{}}} {}", slot.name, slot.kind, inputs.join(", "), offers.join(", "));
    }
    if !blueprint.frames.is_empty() {
        say!("{}", Tree::of(&blueprint.frames, &blueprint.parts).to_string().trim_end());
    }
}

fn value(sim: &Simulation, path: &str, as_json: bool) -> u8 {
    match sim.world().property(path) {
        Ok(values) if as_json => say!("{}", json!(values)),
        Ok(values) => say!("{}", values.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")),
        Err(error) => {
            eprintln!("error: {error}");
            if let PropertyError::Unknown { nearest: None, .. } = error {
                eprintln!("{}", candidates(sim, path));
            }
            return FAILED;
        }
    }
    OK
}

/// What there is instead of a path that is near to nothing.
fn candidates(sim: &Simulation, path: &str) -> String {
    const SHOWN: usize = 20;
    let robot = path.split('.').next().unwrap_or_default();
    let (what, names): (String, Vec<String>) = match sim.world().properties_of(robot) {
        Ok(all) => (format!("properties of {robot}"), all.into_iter().map(|shown| shown.path).collect()),
        Err(_) => ("robots".to_owned(), sim.world().robots().map(|robot| robot.name.clone()).collect()),
    };
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    match names.as_slice() {
        [] => "there are no robots".to_owned(),
        names => format!("{what}: {}{more}", names[..names.len().min(SHOWN)].join(", ")),
    }
}
