//! From a tree of text to a model: reads the typed blocks, makes blueprints and places robots. Nothing is left to fail
//! at run time: subscriptions, inputs, rates and frames are checked here, where their lines are known.

use crate::files::Files;
use crate::layout;
use crate::merge::merge;
use crate::robot::{RobotBuilder, at_pose};
use crate::template::{Scope, expand};
use crate::text::{ExpectText, ObstacleText, Order, RobotText, RunText, ScenarioText, WorldText};
use glam::{DQuat, DVec3};
use muster_core::component::{Pose, Registry, Wind};
use muster_core::contact::{Obstacle, Shape};
use muster_core::math;
use muster_core::model::{Cohort, Compound, Environment, Model, Origin, Placement};
use muster_core::node::{Node, Place, Problem, Problems, Value};
use muster_core::random;
use muster_core::spec::Spec;
use muster_core::time::SimTime;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A scenario, ready to run.
pub struct Scenario {
    /// What it shows.
    pub about: String,
    /// The model.
    pub model: Arc<Model>,
    /// How it runs.
    pub run: RunText,
    /// What it is judged by, and where that is written.
    pub expect: Vec<(ExpectText, Place)>,
    /// What is questionable but runs.
    pub warnings: Vec<Problem>,
    /// Every cohort by its text, for spawning more robots of the same sort.
    pub cohorts: BTreeMap<String, Arc<Cohort>>,
}

/// Reads a scenario file with changes laid over it (command line, environment), and makes a model of it.
pub fn load(files: &mut Files, name: &str, over: &[Override], registry: Registry) -> Result<Scenario, Vec<Problem>> {
    let node = files.load(name)?;
    build(files, node, over, registry)
}

/// Reads a scenario from a text, as if it were the contents of the file `path`.
pub fn load_text(
    files: &mut Files,
    path: &str,
    text: &str,
    over: &[Override],
    registry: Registry,
) -> Result<Scenario, Vec<Problem>> {
    let node = files.load_text(path, text)?;
    build(files, node, over, registry)
}

/// A change from outside the file: `path=value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    /// Dotted path with indices: `run.seed`, `robots[0].count`, `robots.scout{i}.driver.speed_mps`.
    pub path: String,
    /// The value, as YAML.
    pub value: Node,
}

impl Override {
    /// Reads `path=value`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (path, value) = text.split_once('=').ok_or_else(|| format!("found {text:?}, expected path=value"))?;
        let mut node = crate::yaml::parse(value, 0)
            .map_err(|problems| problems.first().map_or_else(String::new, ToString::to_string))?;
        node.place = Place::default();
        Ok(Self { path: path.trim().to_owned(), value: node })
    }
}

fn build(files: &mut Files, mut node: Node, over: &[Override], registry: Registry) -> Result<Scenario, Vec<Problem>> {
    let mut problems = Problems::default();
    for change in over {
        if let Err(reason) = lay_over(&mut node, &change.path, &change.value) {
            problems.error(Place::default(), &format!("--set {}", change.path), reason, "a path of the scenario");
        }
    }
    let text = <ScenarioText as Spec>::read(&node, "", &["include"], &mut problems);
    let empty = ScenarioText::empty();
    // robots are checked even if another block is wrong, so that all problems are seen at once
    let whole = text.as_ref().unwrap_or(&empty);
    let environment = environment(&whole.world, &node, registry, &mut problems);
    let attached = attach(&mut node, &mut problems);
    let (robots, cohorts) = place_robots(files, &node, whole, &environment, registry, &mut problems);
    check_share(whole, &robots, &mut problems);
    let expect = whole.expect.iter().cloned().enumerate().map(|(at, expect)| (expect, place_of(&node, "expect", at)));
    let expect: Vec<(ExpectText, Place)> = expect.collect();
    check_expect(&expect, &robots, &mut problems);
    if problems.any_error() {
        return Err(problems.list().to_vec());
    }
    let Some(text) = text else { return Err(problems.list().to_vec()) };
    let model = Model {
        environment,
        robots,
        compounds: text
            .compounds
            .0
            .iter()
            .map(|(name, compound)| Compound {
                name: name.clone(),
                members: compound.members.clone(),
                relations: compound.relations.clone(),
            })
            .collect(),
        seed: text.run.seed,
        window: SimTime::from_s(text.run.window_ms * 1e-3),
        logic_after_physics: text.run.order == Order::Ssx,
        shared: text.share.iter().map(|[a, b]| (a.clone(), b.clone())).chain(attached).collect(),
    };
    Ok(Scenario {
        about: text.about,
        model: Arc::new(model),
        run: text.run,
        expect,
        warnings: problems.list().to_vec(),
        cohorts,
    })
}

impl ScenarioText {
    fn empty() -> Self {
        let mut none = Problems::default();
        match <Self as Spec>::read(&Node::default(), "", &[], &mut none) {
            Some(text) => text,
            None => unreachable!("every field of a scenario has a default"),
        }
    }
}

/// Objects that share the pose of a robot become sensors of that robot, under their own names; returns which names
/// mean which variables. Nothing is copied: there is one pose, and the sensors need not know.
fn attach(node: &mut Node, problems: &mut Problems) -> Vec<(String, String)> {
    let Some(mut robots) = node.take("robots") else { return Vec::new() };
    let mut shared = Vec::new();
    if let Value::List(items) = &mut robots.value {
        let (objects, mut bodies): (Vec<Node>, Vec<Node>) =
            std::mem::take(items).into_iter().partition(|item| item.get("shares_pose_of").is_some());
        for object in objects {
            let text = |key: &str| object.get(key).and_then(Node::text).unwrap_or_default().to_owned();
            let (name, host) = (text("name"), text("shares_pose_of"));
            let names: Vec<String> =
                bodies.iter().filter_map(|body| Some(body.get("name")?.text()?.to_owned())).collect();
            let Some(body) = bodies.iter_mut().find(|body| body.get("name").and_then(Node::text) == Some(&host)) else {
                problems.unknown(
                    object.place,
                    &name,
                    &host,
                    "a robot to share the pose of",
                    names.iter().map(String::as_str),
                );
                continue;
            };
            let mut sensors = body.take("sensors").unwrap_or_default();
            for entry in object.get("sensors").and_then(Node::entries).unwrap_or_default() {
                sensors.set(&format!("{name}.{}", entry.key), entry.value.clone());
                shared.push((format!("{name}.{}", entry.key), format!("{host}.{name}.{}", entry.key)));
            }
            body.set("sensors", sensors);
            for variable in ["position_m", "orientation", "velocity_mps", "angular_velocity_radps"] {
                shared.push((format!("{name}.{variable}"), format!("{host}.{variable}")));
            }
        }
        *items = bodies;
    }
    node.set("robots", robots);
    shared
}

fn place_of(node: &Node, list: &str, at: usize) -> Place {
    match node.get(list).map(|list| &list.value) {
        Some(Value::List(items)) => items.get(at).map_or(Place::default(), |item| item.place),
        _ => Place::default(),
    }
}

/// Sets the value at a dotted path; lists are entered by `[index]` or by the `name` of an item.
fn lay_over(node: &mut Node, path: &str, value: &Node) -> Result<(), String> {
    let normal = path.replace('[', ".[");
    let mut at = node;
    for part in normal.split('.') {
        at = enter(at, part).ok_or_else(|| format!("no {part:?} in {path:?}"))?;
    }
    *at = value.clone();
    Ok(())
}

fn enter<'a>(node: &'a mut Node, part: &str) -> Option<&'a mut Node> {
    if part.is_empty() || matches!(node.value, Value::Bool(_) | Value::Integer(_) | Value::Number(_) | Value::Text(_)) {
        return None;
    }
    if !matches!(node.value, Value::List(_)) && node.get(part).is_none() {
        node.set(part, Node::default());
    }
    match &mut node.value {
        Value::List(items) => {
            let index = part.trim_start_matches('[').trim_end_matches(']').parse::<usize>().ok();
            let found = items.iter().position(|item| item.get("name").and_then(Node::text) == Some(part));
            items.get_mut(index.or(found)?)
        }
        Value::Map(entries) => entries.iter_mut().find(|entry| entry.key == part).map(|entry| &mut entry.value),
        _ => None,
    }
}

fn environment(world: &WorldText, node: &Node, registry: Registry, problems: &mut Problems) -> Environment {
    let mut obstacles: Vec<Obstacle> = Vec::new();
    if world.ground {
        obstacles.push(Obstacle {
            name: "ground".to_owned(),
            shape: Shape::Plane,
            position_m: DVec3::ZERO,
            orientation: DQuat::IDENTITY,
            friction: 0.6,
            restitution: 0.2,
        });
    }
    for (name, text) in &world.obstacles.0 {
        let place = node.get("world").and_then(|world| world.get("obstacles")).and_then(|all| all.get(name));
        let place = place.map_or(Place::default(), |node| node.place);
        if let Some(shape) = obstacle_shape(name, text, place, problems) {
            let pose = at_pose(&text.at);
            obstacles.push(Obstacle {
                name: name.clone(),
                shape,
                position_m: pose.position_m,
                orientation: pose.orientation,
                friction: text.friction,
                restitution: text.restitution,
            });
        }
    }
    Environment {
        gravity_mps2: DVec3::from(world.gravity_mps2),
        origin: Origin {
            latitude_deg: world.origin.latitude_deg,
            longitude_deg: world.origin.longitude_deg,
            altitude_m: world.origin.altitude_m,
        },
        sea_level_pressure_pa: world.sea_level_pressure_pa,
        sea_level_temperature_k: world.sea_level_temperature_c + 273.15,
        wind: wind(world, registry, problems).unwrap_or_else(|| Arc::new(Calm)),
        obstacles,
    }
}

fn obstacle_shape(name: &str, text: &ObstacleText, place: Place, problems: &mut Problems) -> Option<Shape> {
    let shapes = [
        text.box_size_m.map(|size| Shape::Box { half_m: DVec3::from(size) * 0.5 }),
        text.sphere_radius_m.map(|radius_m| Shape::Sphere { radius_m }),
        text.plane.then_some(Shape::Plane),
    ];
    let chosen: Vec<Shape> = shapes.into_iter().flatten().collect();
    if chosen.len() != 1 {
        let path = format!("world.obstacles.{name}");
        let expected = "exactly one of box_size_m, sphere_radius_m, plane: true";
        problems.error(place, &path, format!("{} shapes", chosen.len()), expected);
    }
    chosen.first().copied()
}

/// Still air.
struct Calm;

impl Wind for Calm {
    fn mean_mps(&self) -> DVec3 {
        DVec3::ZERO
    }
}

fn wind(world: &WorldText, registry: Registry, problems: &mut Problems) -> Option<Arc<dyn Wind>> {
    let mean = Node::of(Value::List(world.wind.mean_mps.iter().map(|&v| Node::of(Value::Number(v))).collect()));
    let mut node = match &world.wind.gusts {
        Some(gusts) => gusts.0.clone(),
        None => {
            let mut node = Node::default();
            node.set("kind", Node::of(Value::Text("constant".to_owned())));
            node
        }
    };
    node.set("mean_mps", mean);
    let (kind, place) = (node.get("kind")?.text()?.to_owned(), node.get("kind")?.place);
    let path = "world.wind.gusts";
    match registry.winds.iter().find(|known| known.name == kind) {
        Some(known) => (known.build)(&node, path, &["kind"], problems),
        None => {
            problems.unknown(place, path, &kind, "a wind", registry.winds.iter().map(|known| known.name));
            None
        }
    }
}

type Placed = (Vec<Placement>, BTreeMap<String, Arc<Cohort>>);

fn place_robots(
    files: &mut Files,
    node: &Node,
    text: &ScenarioText,
    environment: &Environment,
    registry: Registry,
    problems: &mut Problems,
) -> Placed {
    let nodes = match node.get("robots").map(|robots| &robots.value) {
        Some(Value::List(nodes)) => nodes.as_slice(),
        _ => &[],
    };
    let mut builder = RobotBuilder::new(registry, Arc::clone(&environment.wind));
    let mut robots: Vec<Placement> = Vec::new();
    let mut names: BTreeMap<String, Place> = BTreeMap::new();
    for (at, robot) in nodes.iter().enumerate() {
        let path = format!("robots[{at}]");
        let Some(whole) = with_library(files, robot, &path, problems) else { continue };
        let Some(first) = <RobotText as Spec>::read(&whole, &path, &["include", "about"], problems) else { continue };
        let poses = robot_poses(&first, &whole, &path, text.run.seed, problems);
        for (i, pose) in poses.into_iter().enumerate() {
            let Some((name, own)) = instance(&whole, &first, i, &path, problems) else { break };
            if let Some(before) = names.insert(name.clone(), whole.place) {
                let expected = format!("a name that is not taken (line {})", before.line);
                let hint = Some("write {i} into the name of a count".to_owned());
                problems.error_with_hint(whole.place, &path, format!("a second robot {name:?}"), expected, hint);
                break;
            }
            let before = problems.list().len();
            let Some(cohort) = builder.cohort(own.as_ref().unwrap_or(&whole), &first, i, &path, problems) else {
                break;
            };
            robots.push(placement(name, cohort, pose, own.as_ref(), &first));
            if problems.list().len() > before {
                break;
            }
        }
    }
    builder.check_subscriptions(&robots, problems);
    (robots, builder.into_cohorts())
}

/// A robot's text laid over the library file its `kind` names.
fn with_library(files: &mut Files, robot: &Node, path: &str, problems: &mut Problems) -> Option<Node> {
    let Some(kind) = robot.get("kind") else { return Some(robot.clone()) };
    let Some(name) = kind.text() else { return Some(robot.clone()) };
    let file = if name.ends_with(".yaml") { name.to_owned() } else { format!("robots/{name}.yaml") };
    match files.load_from(&file, kind.place) {
        Ok(base) => Some(merge(base, robot.clone())),
        Err(found) => {
            for problem in found {
                let place = if problem.place.line == 0 { kind.place } else { problem.place };
                let path = format!("{path}.kind");
                problems.error_with_hint(place, &path, problem.found, problem.expected, problem.hint);
            }
            None
        }
    }
}

fn robot_poses(text: &RobotText, node: &Node, path: &str, seed: u64, problems: &mut Problems) -> Vec<Pose> {
    let own = at_pose(&text.at);
    let Some(layout) = &text.layout else {
        if text.count > 1 && !has_template(node.get("at")) {
            let hint = Some("for example layout: {grid: {rows: 4, spacing_m: 3}}".to_owned());
            let found = format!("a count of {} without a layout", text.count);
            problems.error_with_hint(node.place, path, found, "a layout, or {i} in at", hint);
        }
        return vec![own; text.count];
    };
    match layout::poses(layout, text.count, seed, random::id_of(&text.name)) {
        Ok(poses) => poses
            .into_iter()
            .map(|pose| Pose {
                position_m: pose.position_m + own.position_m,
                orientation: math::normalize_quat(pose.orientation * own.orientation),
            })
            .collect(),
        Err(expected) => {
            let place = node.get("layout").map_or(node.place, |layout| layout.place);
            problems.error(place, &format!("{path}.layout"), "a layout that does not work", expected);
            Vec::new()
        }
    }
}

/// True if somewhere below there is text with a template.
pub(crate) fn has_template(node: Option<&Node>) -> bool {
    node.is_some_and(|node| match &node.value {
        Value::Text(text) => text.contains('{'),
        Value::List(list) => list.iter().any(|item| has_template(Some(item))),
        Value::Map(map) => map.iter().any(|entry| has_template(Some(&entry.value))),
        _ => false,
    })
}

/// The name of robot `i`, and its own text if it differs from the others'.
fn instance(
    node: &Node,
    text: &RobotText,
    i: usize,
    path: &str,
    problems: &mut Problems,
) -> Option<(String, Option<Node>)> {
    let scope = Scope::default().with_number("i", i as f64).with_number("n", text.count as f64);
    let mut note = |list: Vec<Problem>| {
        for problem in list {
            problems.error_with_hint(problem.place, path, problem.found, problem.expected, problem.hint);
        }
    };
    let name_node = node.get("name")?.clone();
    let name = match expand(name_node, &scope) {
        Ok(Node { value: Value::Text(name), .. }) => name,
        Ok(other) => other.to_string(),
        Err(list) => {
            note(list);
            return None;
        }
    };
    let overrides = text.overrides.get(&name).or_else(|| text.overrides.get(&i.to_string()));
    let rest_has_template = node
        .entries()?
        .iter()
        .any(|entry| entry.key != "name" && entry.key != "overrides" && has_template(Some(&entry.value)));
    if overrides.is_none() && !rest_has_template {
        return Some((name, None));
    }
    let mut own = node.clone();
    own.take("overrides");
    if let Some(overrides) = overrides {
        own = merge(own, overrides.clone());
    }
    let scope = scope.with_text("name", &name);
    match expand(own, &scope) {
        Ok(own) => Some((name, Some(own))),
        Err(list) => {
            note(list);
            None
        }
    }
}

fn placement(name: String, cohort: Arc<Cohort>, pose: Pose, own: Option<&Node>, first: &RobotText) -> Placement {
    let mut silent = Problems::default();
    let own = own.and_then(|node| <RobotText as Spec>::read(node, "", &["include", "about"], &mut silent));
    let text = own.as_ref().unwrap_or(first);
    let moved = own.as_ref().filter(|own| own.at != first.at);
    let pose = match moved {
        Some(own) if first.layout.is_none() => at_pose(&own.at),
        _ => pose,
    };
    let ahead = math::rotate(pose.orientation, DVec3::X) * text.speed_mps;
    Placement { name, cohort, pose, velocity_mps: DVec3::from(text.velocity_mps) + ahead }
}

fn check_share(text: &ScenarioText, robots: &[Placement], problems: &mut Problems) {
    for [_, target] in &text.share {
        let known = target.split_once('.').is_some_and(|(robot, path)| {
            robots.iter().any(|placed| placed.name == robot && placed.cohort.layout.variable(path).is_some())
        });
        if !known {
            problems.error(Place::default(), "share", format!("{target:?}"), "robot.variable of an existing robot");
        }
    }
}

fn check_expect(expect: &[(ExpectText, Place)], robots: &[Placement], problems: &mut Problems) {
    for (at, (text, place)) in expect.iter().enumerate() {
        let path = format!("expect[{at}]");
        let pattern = text.robots.as_ref().or(text.robot.as_ref());
        if let Some(pattern) = pattern
            && !robots.iter().any(|robot| matches(pattern, &robot.name))
        {
            let names = robots.iter().map(|robot| robot.name.as_str());
            problems.unknown(*place, &path, pattern, "a robot", names);
        }
        if let Some(missing) = crate::robot::missing_of(text) {
            problems.error(*place, &path, format!("no {missing}"), format!("{missing} for that: {}", text.that.word()));
        }
        if let Some(expression) = &text.expression
            && let Err(error) = muster_core::expression::Expression::parse(expression)
        {
            problems.error(*place, &path, format!("{} in {expression:?}", error.found), error.expected);
        }
    }
}

/// True if `name` matches a pattern in which `*` stands for any text.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name
            .strip_prefix(head)
            .is_some_and(|rest| (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches(tail, &rest[at..]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_text() {
        for (pattern, name, expected) in [
            ("scout*", "scout12", true),
            ("*", "", true),
            ("s*t*2", "scout12", true),
            ("scout", "scout1", false),
            ("a*", "b", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_value_laid_over_replaces_or_adds() {
        let mut node = crate::yaml::parse("{run: {seed: 1}, robots: [{name: a}, {name: b}]}", 0).unwrap();
        lay_over(&mut node, "run.seed", &Node::of(Value::Integer(7))).unwrap();
        lay_over(&mut node, "robots[1].count", &Node::of(Value::Integer(3))).unwrap();
        lay_over(&mut node, "robots.a.count", &Node::of(Value::Integer(2))).unwrap();
        assert_eq!(node.to_string(), "{run: {seed: 7}, robots: [{name: \"a\", count: 2}, {name: \"b\", count: 3}]}");
        assert!(lay_over(&mut node, "robots[5].count", &Node::default()).is_err());
    }
}
