//! Objects of the scene: robots, which can be put elsewhere and hidden, and what never moves.

use super::codec::Json;
use glam::DVec3;
use muster_core::command::{Action, Recipe};
use muster_core::component::Pose;
use muster_core::math;
use muster_core::model::Cohort;
use muster_core::state::Robot;
use muster_core::world::World;

/// `[children, position, orientation]`.
fn object(children: Vec<(String, Json)>, pose: &Pose) -> Json {
    let turn = pose.orientation;
    Json::List(vec![
        Json::Map(children),
        Json::floats(pose.position_m.to_array()),
        Json::floats([turn.x, turn.y, turn.z, turn.w]),
    ])
}

/// Everything by name, with where it is; components of robots are their children.
pub(super) fn scene(world: &World) -> Json {
    let robots = world.robots().map(|robot| {
        let address = robot.address();
        let pose = world.pose(&address).unwrap_or(Pose::IDENTITY);
        let sensors = robot.cohort.blueprint.sensors.iter().map(|slot| {
            let place = world.sensor_pose(&address, &slot.name).unwrap_or(pose);
            (format!("{address}.{}", slot.name), object(Vec::new(), &place))
        });
        (address.clone(), object(sensors.collect(), &pose))
    });
    let obstacles = world.model().environment.obstacles.iter();
    let obstacles = obstacles.map(|each| (each.name.clone(), object(Vec::new(), &each.pose)));
    Json::map(robots.chain(obstacles))
}

fn robot<'w>(world: &'w World, name: &str) -> Result<&'w Robot, String> {
    world.find(name).ok_or_else(|| {
        let fixed = world.model().environment.obstacles.iter().any(|each| each.name == name);
        match fixed {
            true => format!("Object '{name}' is part of the world and never changes; robots do."),
            false => format!("Object '{name}' does not appear in the scene."),
        }
    })
}

fn triple(json: &Json) -> Option<[f64; 3]> {
    let numbers: Vec<f64> = json.items()?.iter().map(Json::number).collect::<Option<_>>()?;
    <[f64; 3]>::try_from(numbers).ok().filter(|numbers| numbers.iter().all(|number| number.is_finite()))
}

/// Puts a robot somewhere else: `[x, y, z]` and perhaps `[roll, pitch, yaw]`.
pub(super) fn set_position(world: &World, name: &str, arguments: &[Json]) -> Result<Action, String> {
    let robot = robot(world, name)?.address();
    let wrong = |what: &str| format!("found {what} that is no list of three numbers");
    let position = arguments.first().and_then(triple).ok_or_else(|| wrong("a position"))?;
    let orientation = match arguments.get(1) {
        None | Some(Json::Null) => world.pose(&robot).unwrap_or(Pose::IDENTITY).orientation,
        Some(angles) => {
            let [roll, pitch, yaw] = triple(angles).ok_or_else(|| wrong("an orientation"))?;
            math::quat_from_rpy(roll, pitch, yaw)
        }
    };
    Ok(Action::Teleport { robot, pose: Pose { position_m: DVec3::from(position), orientation } })
}

/// Marks robots that are hidden among those that are made alike.
const HIDDEN: &str = " hidden";

/// Shows or hides a robot; contacts stay.
pub fn set_visibility(world: &World, name: &str, visible: bool) -> Result<Action, String> {
    let robot = robot(world, name)?;
    let mut blueprint = robot.cohort.blueprint.clone();
    blueprint.parts.iter_mut().for_each(|part| part.visible = visible);
    blueprint.key = blueprint.key.trim_end_matches(HIDDEN).to_owned() + if visible { "" } else { HIDDEN };
    let cohort = Cohort::new(blueprint, &*world.model().environment.wind);
    Ok(Action::Retool { robot: robot.address(), cohort, recipe: Some(Recipe::Visible(visible)) })
}

/// Puts every robot back where it started, at rest.
pub(super) fn restore(world: &World) -> Vec<Action> {
    world.robots().map(|robot| Action::Teleport { robot: robot.address(), pose: robot.home }).collect()
}

/// What is so near to the origin of a robot does not hide it.
const GRAZE_M: f64 = 0.01;

/// How far two robots are from each other, and whether nothing stands between them.
pub(super) fn distance_and_view(world: &World, one: &str, other: &str) -> Result<Json, String> {
    let place = |name: &str| {
        world.pose(name).map(|pose| pose.position_m).ok_or_else(|| format!("{name} does not exist in the simulation "))
    };
    let (from, to) = (place(one)?, place(other)?);
    let distance = from.distance(to);
    let direction = (to - from).normalize_or(DVec3::X);
    // who stands on the ground is not hidden by it
    let (begin, range) = (from + direction * GRAZE_M, (distance - 2.0 * GRAZE_M).max(0.0));
    let wall = world.model().environment.obstacles.ray(begin, direction, range).is_some();
    let between = world.robots().filter(|robot| robot.address() != one && robot.address() != other).any(|robot| {
        let pose = world.pose(&robot.address()).unwrap_or(Pose::IDENTITY);
        let parts = robot.cohort.blueprint.parts.iter().filter(|part| part.frame.is_none());
        let mut hits = parts.filter_map(|part| part.solid.ray(&pose.then(&part.pose), from, direction, distance));
        hits.next().is_some()
    });
    Ok(Json::List(vec![Json::Float(distance), Json::Bool(!wall && !between)]))
}
