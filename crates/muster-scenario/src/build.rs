//! From a tree of text to a model: reads the typed blocks, makes blueprints and places robots. Nothing is left to fail
//! at run time: subscriptions, inputs, rates and frames are checked here, where their lines are known.

use crate::assets::Wrong;
use crate::events::{quote_commas, read_events};
use crate::files::{Files, Loaded, UNFINISHED};
use crate::layout;
use crate::links::{Links, Reader};
use crate::materials;
use crate::merge::merge;
use crate::plugins::{load_plugins, make_extensions};
use crate::robot::{GroupNames, RobotBuilder, at_pose, make_modifiers, only_shape, place_below};
use crate::scene::{self, Ground};
use crate::skins::SkinText;
use crate::sound::read_sound;
use crate::start::check_starts;
use crate::template::{Scope, expand};
use crate::text::{
    AttachedText, Component, CompoundText, ExpectText, HeldText, Order, RobotText, RunText, ScenarioText, SunText,
    That, WaterText, WorldText,
};
use glam::DVec3;
use muster_core::colour::linear3;
use muster_core::component::{Extension, Pose, Registry, Sense, Wind};
use muster_core::contact::{Bond, Mobility};
use muster_core::daylight::Daylight;
use muster_core::expression::Expression;
use muster_core::lanes::Quantity;
use muster_core::link::Binding;
use muster_core::math;
use muster_core::model::{Calm, Cohort, Compound, Environment, Model, ModifierSlot, Origin, Placement, Water, Wave};
pub use muster_core::node::matches;
use muster_core::node::{Node, Place, Problem, Problems, Value};
use muster_core::obstacles::Obstacles;
use muster_core::random;
use muster_core::spec::{Parameter, Spec};
use muster_core::time::SimTime;
use muster_core::zone::{Fire, Zone};
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
    /// How programs outside reach robots.
    pub links: Links,
    /// What runs beside it, by name, in the order of its coming.
    pub extensions: Vec<(String, Arc<dyn Extension>)>,
    /// Every kind that was known, those of its plug-ins included.
    pub registry: Registry,
}

/// Reads a scenario file with changes laid over it (command line, environment), and makes a model of it.
pub fn load(files: &mut Files, name: &str, over: &[Override], registry: Registry) -> Result<Scenario, Vec<Problem>> {
    let loaded = files.load_partly(name);
    build(files, loaded, over, registry)
}

/// Reads a scenario from a text, as if it were the contents of the file `path`.
pub fn load_text(
    files: &mut Files,
    path: &str,
    text: &str,
    over: &[Override],
    registry: Registry,
) -> Result<Scenario, Vec<Problem>> {
    let loaded = files.load_text_partly(path, text);
    build(files, loaded, over, registry)
}

/// Reads modifiers from a text, written as under `modifiers:`, for a sensor with these fields.
pub fn modifiers(
    files: &mut Files,
    sensor: &str,
    text: &str,
    fields: &[Quantity],
    mut registry: Registry,
) -> Result<Vec<ModifierSlot>, Vec<Problem>> {
    let node = files.load_text("modifiers.yaml", text)?;
    let mut problems = Problems::default();
    let path = format!("{sensor}.modifiers");
    let limits = (f64::NEG_INFINITY, f64::INFINITY);
    let made = <Vec<Component> as Parameter>::read(&node, &path, limits, &mut problems)
        .and_then(|blocks| make_modifiers(&mut registry, &blocks, Some(fields), (node.place, sensor), &mut problems));
    made.ok_or_else(|| problems.list().to_vec())
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
        forget_places(&mut node);
        Ok(Self { path: path.trim().to_owned(), value: node })
    }
}

/// What comes from a command line stands in no file.
fn forget_places(node: &mut Node) {
    node.place = Place::default();
    match &mut node.value {
        Value::List(list) => list.iter_mut().for_each(forget_places),
        Value::Map(map) => {
            for entry in map {
                entry.key_place = Place::default();
                forget_places(&mut entry.value);
            }
        }
        _ => (),
    }
}

fn build(
    files: &mut Files,
    loaded: Loaded,
    over: &[Override],
    mut registry: Registry,
) -> Result<Scenario, Vec<Problem>> {
    let Loaded { node, mut problems } = loaded;
    // without an included file nobody knows which names there would be
    let included = !problems.any_error();
    let Some(mut node) = node else { return Err(problems.list().to_vec()) };
    drop_unfinished(&mut node);
    if included && over.is_empty() && node.entries().is_some_and(<[_]>::is_empty) {
        let hint = Some("muster demo shows what one can do".to_owned());
        problems.error_with_hint(node.place, "", "nothing to run", "a scenario with robots or a world", hint);
    }
    lay_all_over(&mut node, over, &mut problems);
    with_objects(files, &mut node, &mut problems);
    materials::with_library(files, &mut node, &mut problems);
    quote_commas(&mut node, &mut problems);
    let read = |node: &Node, problems: &mut Problems| <ScenarioText as Spec>::read(node, "", &["include"], problems);
    let Some((text, _)) = read_sound(&node, "", &[], &mut problems, read) else {
        return Err(problems.list().to_vec());
    };
    let whole = &text;
    load_plugins(files, &node, &mut registry, &mut problems);
    let extensions = make_extensions(&node, whole, &mut registry, &mut problems);
    let mut groups = GroupNames::default();
    let mut environment = environment(&whole.world, &node, registry, files, &mut problems);
    let materials = &environment.materials;
    let solids = scene::obstacles((&whole.world, included), &mut groups, materials, files, &mut problems);
    environment.obstacles = Obstacles::new(solids);
    let ground = Ground::new(&environment.obstacles, included);
    let builder = RobotBuilder::new(registry, &environment, groups, ground);
    let before = problems.errors();
    let attached = attach(&mut node, &mut problems);
    let (robots, (cohorts, registry), places, bindings) = place_robots(files, &node, whole, builder, &mut problems);
    // a robot that could not be made is not missed a second time by those who name it
    let complete = included && problems.errors() == before;
    if complete {
        check_share(whole, &node, &robots, &mut problems);
        check_compounds(whole, &node, &robots, &mut problems);
        check_attached(&robots, &places, &mut problems);
        check_starts(&robots, &environment.obstacles, &places, &mut problems);
    }
    let links = links(whole, bindings, complete.then_some(&robots), &Reader { registry, files }, &mut problems);
    let expect = readable::<ExpectText>(&node, "expect");
    check_expect(&expect, &node, whole, complete.then_some(&robots), &mut problems);
    let robots_known = complete.then_some(&robots);
    let scene = Scene { node: &node, text: whole, robots: robots_known, included, environment: &environment };
    let events = read_events(&scene, &readable(&node, "events"), registry.services, &mut problems);
    if problems.any_error() {
        return Err(problems.list().to_vec());
    }
    let expect = expect.into_iter().map(|(at, text)| (text, place_of(&node, "expect", at))).collect();
    let model = Model {
        environment,
        robots,
        compounds: compounds(&text),
        seeds: vec![text.run.seed],
        window: SimTime::from_s(text.run.window_ms * 1e-3),
        logic_after_physics: text.run.order == Order::Ssx,
        shared: text.share.iter().map(|[a, b]| (a.clone(), b.clone())).chain(attached).collect(),
        events,
    };
    Ok(Scenario {
        about: text.about,
        model: Arc::new(model),
        run: text.run,
        expect,
        warnings: problems.list().to_vec(),
        cohorts,
        links,
        extensions,
        registry,
    })
}

fn compounds(text: &ScenarioText) -> Vec<Compound> {
    let compound = |(name, compound): &(String, CompoundText)| Compound {
        name: name.clone(),
        members: compound.members.clone(),
        relations: compound.relations.clone(),
    };
    text.compounds.0.iter().map(compound).collect()
}

/// All bindings and settings; those of MORSE's dictionary only if all robots are known.
fn links(
    text: &ScenarioText,
    mut bindings: Vec<Binding>,
    robots: Option<&Vec<Placement>>,
    reader: &Reader<'_>,
    problems: &mut Problems,
) -> Links {
    let settings = reader.settings(&text.links, problems);
    if let Some(robots) = robots {
        bindings.extend(reader.component_mw(&text.component_mw, robots, problems));
    }
    Links { bindings, settings }
}

/// Takes out what nobody knows because an include failed. Robots that lack something keep a mark.
fn drop_unfinished(node: &mut Node) {
    let mut robots = node.take("robots");
    drop_below(node);
    if let Some(Value::List(robots)) = robots.as_mut().map(|robots| &mut robots.value) {
        for robot in robots {
            if drop_below(robot) {
                robot.set(UNFINISHED, Node::default());
            }
        }
    }
    if let Some(robots) = robots {
        node.set("robots", robots);
    }
}

/// Takes every block out of a block whose includes failed, but for a world: that is judged by what is written beside.
fn drop_below(node: &mut Node) -> bool {
    let unfinished = |node: &Node| node.get(UNFINISHED).is_some();
    let mut dropped = node.take(UNFINISHED).is_some();
    match &mut node.value {
        Value::List(items) => {
            let before = items.len();
            items.retain(|item| !unfinished(item));
            dropped |= items.len() < before;
            items.iter_mut().for_each(|item| dropped |= drop_below(item));
        }
        Value::Map(entries) => {
            let before = entries.len();
            entries.retain(|entry| entry.key == "world" || !unfinished(&entry.value));
            dropped |= entries.len() < before;
            entries.iter_mut().for_each(|entry| dropped |= drop_below(&mut entry.value));
        }
        _ => (),
    }
    dropped
}

/// A scenario that is being read.
pub(crate) struct Scene<'a> {
    pub(crate) node: &'a Node,
    pub(crate) text: &'a ScenarioText,
    /// Its robots, if all could be made.
    pub(crate) robots: Option<&'a Vec<Placement>>,
    /// No file is missing: obstacles and zones that are not there are wrong.
    pub(crate) included: bool,
    pub(crate) environment: &'a Environment,
}

/// Those items of a list that can be read, with their numbers; what is wrong with the others has been told.
fn readable<T: Spec>(node: &Node, list: &str) -> Vec<(usize, T)> {
    let Some(Value::List(items)) = node.get(list).map(|list| &list.value) else { return Vec::new() };
    let read = |item: &Node| <T as Spec>::read(item, "", &[], &mut Problems::default());
    items.iter().enumerate().filter_map(|(at, item)| Some((at, read(item)?))).collect()
}

/// Objects that share the pose of a robot become sensors of that robot, under their own names; returns which names
/// mean which variables. Nothing is copied: there is one pose, and the sensors need not know.
fn attach(node: &mut Node, problems: &mut Problems) -> Vec<(String, String)> {
    let Some(mut robots) = node.take("robots") else { return Vec::new() };
    let mut shared = Vec::new();
    if let Value::List(items) = &mut robots.value {
        for at in 0..items.len() {
            if !is_attached(&items[at]) {
                continue;
            }
            let object = items[at].clone();
            let path = format!("robots[{at}]");
            let Some(text) = <AttachedText as Spec>::read(&object, &path, &["about"], problems) else { continue };
            let name_of = |item: &Node| item.get("name").and_then(Node::text).map(str::to_owned);
            let bodies = items.iter_mut().filter(|item| !is_attached(item));
            let names: Vec<String> = bodies.filter_map(|body| name_of(body)).collect();
            let host = text.shares_pose_of;
            let Some(body) = items.iter_mut().find(|item| !is_attached(item) && name_of(item).as_ref() == Some(&host))
            else {
                let place = object.get("shares_pose_of").map_or(object.place, |node| node.place);
                let path = format!("{path}.shares_pose_of");
                problems.unknown(place, &path, &host, "the name of a robot", names.iter().map(String::as_str));
                continue;
            };
            let mut sensors = body.take("sensors").unwrap_or_default();
            for (key, block) in text.sensors.0 {
                let own = format!("{}.{key}", text.name);
                sensors.set(&own, block.0);
                shared.push((own.clone(), format!("{host}.{own}")));
            }
            body.set("sensors", sensors);
            for variable in ["position_m", "orientation", "velocity_mps", "angular_velocity_radps"] {
                shared.push((format!("{}.{variable}", text.name), format!("{host}.{variable}")));
            }
        }
    }
    node.set("robots", robots);
    shared
}

/// True for the text of a sensor object that has no pose of its own.
fn is_attached(robot: &Node) -> bool {
    robot.get("shares_pose_of").is_some()
}

fn place_of(node: &Node, list: &str, at: usize) -> Place {
    match node.get(list).map(|list| &list.value) {
        Some(Value::List(items)) => items.get(at).map_or(Place::default(), |item| item.place),
        _ => Place::default(),
    }
}

/// Lays changes from outside over a scenario.
fn lay_all_over(node: &mut Node, over: &[Override], problems: &mut Problems) {
    for change in over {
        if let Err(reason) = lay_over(node, &change.path, &change.value) {
            problems.error(Place::default(), &format!("--set {}", change.path), reason, "a path of the scenario");
        }
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

/// Everything around the robots but what is solid.
fn environment(
    world: &WorldText,
    node: &Node,
    registry: Registry,
    files: &mut Files,
    problems: &mut Problems,
) -> Environment {
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
        water: world.water.as_ref().map(water),
        decimal_year: world.decimal_year,
        fires: world
            .fires
            .0
            .iter()
            .map(|(name, text)| Fire {
                name: name.clone(),
                position_m: at_pose(&text.at).position_m,
                temperature_k: text.temperature_k,
                extent_m: text.extent_m,
            })
            .collect(),
        zones: zones(world, node, files, problems),
        materials: materials::all(&world.materials),
        daylight: daylight(world),
        ..Environment::empty()
    }
}

/// What cameras see by. Light from everywhere is half white, half of the sky.
fn daylight(world: &WorldText) -> Daylight {
    let single = |colour: [f64; 3]| colour.map(|channel| channel as f32);
    let SunText { azimuth_deg, elevation_deg, colour, intensity } = world.sun;
    let (zenith, horizon) = (linear3(single(world.sky.zenith)), linear3(single(world.sky.horizon)));
    let brightest = zenith.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    let intensity = if elevation_deg > 0.0 { intensity } else { 0.0 };
    Daylight {
        zenith,
        horizon,
        ambient: zenith.map(|channel| world.ambient as f32 * (0.75 + 0.25 * channel / brightest)),
        ..Daylight::new(azimuth_deg.to_radians(), elevation_deg.to_radians(), single(colour), intensity as f32)
    }
}

fn water(text: &WaterText) -> Water {
    Water {
        level_m: text.level_m,
        density_kgpm3: text.density_kgpm3,
        current_mps: DVec3::from(text.current_mps),
        wave: text.waves.as_ref().map(|wave| Wave {
            amplitude_m: wave.amplitude_m,
            period_s: wave.period_s,
            direction_rad: wave.direction_deg.to_radians(),
        }),
    }
}

/// Where something of the world is written.
fn place_in_world(node: &Node, list: &str, name: &str) -> Place {
    let found = node.get("world").and_then(|world| world.get(list)).and_then(|all| all.get(name));
    found.map_or(Place::default(), |node| node.place)
}

fn zones(world: &WorldText, node: &Node, files: &mut Files, problems: &mut Problems) -> Vec<Zone> {
    let mut zones = Vec::new();
    for (name, text) in &world.zones.0 {
        let seen = text.skin != SkinText::NONE || !text.visible || !text.collides;
        let nothing =
            Err(Wrong::new("skin, visible or collides of a zone", "none: a zone is neither seen nor touched"));
        match if seen { nothing } else { only_shape(text.solids(files)) } {
            Ok(solid) => {
                zones.push(Zone { name: name.clone(), solid, pose: at_pose(&text.at), purposes: text.purposes.clone() })
            }
            Err(wrong) => {
                wrong.note(place_in_world(node, "zones", name), &format!("world.zones.{name}"), problems);
            }
        }
    }
    zones
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

/// Robots, their cohorts and every kind that was known, where each robot is written, and their links.
type Placed = (Vec<Placement>, (BTreeMap<String, Arc<Cohort>>, Registry), BTreeMap<String, Place>, Vec<Binding>);

fn place_robots(
    files: &mut Files,
    node: &Node,
    text: &ScenarioText,
    mut builder: RobotBuilder,
    problems: &mut Problems,
) -> Placed {
    let nodes = match node.get("robots").map(|robots| &robots.value) {
        Some(Value::List(nodes)) => nodes.as_slice(),
        _ => &[],
    };
    let mut robots: Vec<Placement> = Vec::new();
    let mut names: BTreeMap<String, Place> = BTreeMap::new();
    let mut bindings: Vec<Binding> = Vec::new();
    for (at, robot) in nodes.iter().enumerate().filter(|(_, robot)| !is_attached(robot)) {
        let path = format!("robots[{at}]");
        let Some(whole) = based_on(files, "robots", robot, (&path, KIND_CHAIN_MAX), problems) else {
            look_through(&own_part(robot), (&path, false), &mut builder, (files, problems));
            continue;
        };
        if robot.get(UNFINISHED).is_some() {
            look_through(&own_part(&whole), (&path, false), &mut builder, (files, problems));
            continue;
        }
        let Some(whole) = with_presets(files, whole, &path, problems) else { continue };
        let before = problems.errors();
        let Some(first) = look_through(&whole, (&path, true), &mut builder, (files, problems)) else { continue };
        if !overrides_fit(&first.overrides, &path, problems) {
            continue;
        }
        let places = (&mut builder, &mut names, &mut robots, &mut bindings, &mut *files);
        let own_names = place_block(&whole, &first, &path, places, text.run.seed, problems);
        if problems.errors() == before {
            check_overrides(&first.overrides, &own_names, &path, problems);
        }
    }
    builder.check_subscriptions(&robots, problems);
    builder.groups.check(problems);
    (robots, builder.into_cohorts(), names, bindings)
}

type Places<'a> = (
    &'a mut RobotBuilder,
    &'a mut BTreeMap<String, Place>,
    &'a mut Vec<Placement>,
    &'a mut Vec<Binding>,
    &'a mut Files,
);

/// Places the robots of one block until one has a problem; returns their names.
fn place_block(
    whole: &Node,
    first: &RobotText,
    path: &str,
    (builder, names, robots, bindings, files): Places<'_>,
    seed: u64,
    problems: &mut Problems,
) -> Vec<String> {
    let from = robots.len();
    for (i, place) in robot_places(first, whole, path, seed, problems).into_iter().enumerate() {
        let Some((name, own)) = instance(whole, first, i, path, problems) else { break };
        if let Some(before) = names.insert(name.clone(), whole.place) {
            let expected = format!("a name that is not taken (line {})", before.line);
            let hint = Some("write {i} into the name of a count".to_owned());
            problems.error_with_hint(whole.place, path, format!("a second robot {name:?}"), expected, hint);
            break;
        }
        let before = problems.errors();
        let read = own.as_ref().map(|own| read_robot(own, path, problems));
        let Some(text) = read.as_ref().map_or(Some(first), Option::as_ref) else { break };
        let node = own.as_ref().unwrap_or(whole);
        let Some(cohort) = builder.cohort(node, text, i, path, (files, problems)) else { break };
        let mut placed = placement(name, cohort, place, text);
        if text.on_terrain {
            let at = (place_below(node, &["on_terrain"]), format!("{path}.on_terrain"));
            placed.pose = builder.ground.lifted(placed.pose, (at.0, &at.1), problems);
        }
        let blocks: Vec<Node> = text.links.iter().map(|block| block.0.clone()).collect();
        let reader = Reader { registry: builder.registry, files };
        bindings.extend(reader.of_robot((&placed.name, &placed.cohort.blueprint), &blocks, path, problems));
        robots.push(placed);
        if problems.errors() > before {
            break;
        }
    }
    robots[from..].iter().map(|robot| robot.name.clone()).collect()
}

fn read_robot(node: &Node, path: &str, problems: &mut Problems) -> Option<RobotText> {
    <RobotText as Spec>::read(node, path, &["include", "about"], problems)
}

/// A block as its first robot reads it, if it can be read; else notes what is wrong with all of it. `known` if nothing is
/// missing because of another problem.
fn look_through(
    whole: &Node,
    (path, known): (&str, bool),
    builder: &mut RobotBuilder,
    (files, problems): (&mut Files, &mut Problems),
) -> Option<RobotText> {
    let node = first_of(whole, path, problems)?;
    let stand_ins = [("name", Value::Text("robot".to_owned())), ("motion", motionless())];
    let stand_ins = stand_ins.map(|(key, value)| (key, Node::of(value)));
    let read = |node: &Node, problems: &mut Problems| read_robot(node, path, problems);
    let (text, rest) = read_sound(&node, path, &stand_ins, problems, read)?;
    if rest.is_none() && known {
        return Some(text);
    }
    let rest = rest.unwrap_or_else(|| node.clone());
    let frames_known =
        known && rest.get("frames").map(ToString::to_string) == node.get("frames").map(ToString::to_string);
    builder.look_through(&rest, &text, frames_known, path, (files, problems));
    None
}

/// What stands in for a motion that could not be read.
fn motionless() -> Value {
    let mut motion = Node::default();
    motion.set("kind", Node::of(Value::Text("point".to_owned())));
    motion.value
}

/// Those blocks of a robot whose `kind` is missing that say by themselves what they mean.
fn own_part(robot: &Node) -> Node {
    let has_kind = |node: &Node| node.get("kind").and_then(Node::text).is_some();
    let mut own = robot.clone();
    for part in ["kind", "parts", "frames", "shape", "overrides", UNFINISHED] {
        own.take(part);
    }
    for component in ["motion", "driver", "controller"] {
        if own.get(component).is_some_and(|node| !has_kind(node)) {
            own.take(component);
        }
    }
    if own.get("motion").is_none() {
        own.set("motion", Node::of(motionless()));
    }
    if let Some(mut sensors) = own.take("sensors") {
        if let Value::Map(entries) = &mut sensors.value {
            entries.retain(|entry| has_kind(&entry.value));
        }
        own.set("sensors", sensors);
    }
    own
}

/// The text of a block for its first robot, templates expanded; name and overrides stay as written.
fn first_of(whole: &Node, path: &str, problems: &mut Problems) -> Option<Node> {
    if !varies(whole) {
        return Some(whole.clone());
    }
    let count = match whole.get("count").map(|count| &count.value) {
        Some(Value::Integer(count)) => *count as f64,
        _ => 1.0,
    };
    let mut node = whole.clone();
    let overrides = node.take("overrides");
    let written = node.get("name").cloned();
    let name = written.clone().and_then(|name| expand(name, &scope(0, count)).ok()).map(as_text).unwrap_or_default();
    let expanded = expand(node, &scope(0, count).with_text("name", &name));
    let mut node = expanded.map_err(|list| note(list, path, problems)).ok()?;
    for (key, value) in [("name", written), ("overrides", overrides)] {
        if let Some(value) = value {
            node.set(key, value);
        }
    }
    Some(node)
}

/// True if overrides say nothing that only the whole block can.
fn overrides_fit(overrides: &Node, path: &str, problems: &mut Problems) -> bool {
    let before = problems.errors();
    let path = format!("{path}.overrides");
    let Some(entries) = overrides.entries() else {
        problems.error(overrides.place, &path, overrides.found(), "a map of robots, by name or number");
        return false;
    };
    for entry in entries {
        for own in entry.value.entries().unwrap_or_default() {
            if ["name", "kind", "count", "layout", "overrides"].contains(&own.key.as_str()) {
                let path = format!("{path}.{}", entry.key);
                let expected = "a key that one robot can have for itself";
                problems.error(own.key_place, &path, format!("{:?}", own.key), expected);
            }
        }
    }
    problems.errors() == before
}

/// Every override is meant for a robot that exists.
fn check_overrides(overrides: &Node, names: &[String], path: &str, problems: &mut Problems) {
    for entry in overrides.entries().unwrap_or_default() {
        let number = entry.key.parse::<usize>().is_ok_and(|number| number < names.len());
        if !number && !names.contains(&entry.key) {
            let what = format!("a robot of this block, by name or by a number below {}", names.len());
            let names = names.iter().map(String::as_str);
            problems.unknown(entry.key_place, &format!("{path}.overrides"), &entry.key, &what, names);
        }
    }
}

/// The texts of the world's objects laid over the files their `kind`s name.
fn with_objects(files: &mut Files, node: &mut Node, problems: &mut Problems) {
    let Some(mut world) = node.take("world") else { return };
    if let Some(mut objects) = world.take("objects") {
        if let Value::Map(entries) = &mut objects.value {
            for entry in entries {
                let path = format!("world.objects.{}", entry.key);
                if let Some(whole) = based_on(files, "objects", &entry.value, (&path, KIND_CHAIN_MAX), problems) {
                    entry.value = whole;
                }
            }
        }
        world.set("objects", objects);
    }
    node.set("world", world);
}

/// The keys of a shape of which one must be written.
const OUTLINES: [&str; 7] = ["sphere_radius_m", "box_size_m", "cylinder", "capsule", "cone", "mesh", "none"];

/// How many files of robots or objects may build on each other.
const KIND_CHAIN_MAX: usize = 16;

/// The text of a robot or object laid over the library file its `kind` names; that file may name a kind of its own.
fn based_on(
    files: &mut Files,
    folder: &str,
    own: &Node,
    (path, left): (&str, usize),
    problems: &mut Problems,
) -> Option<Node> {
    let Some(kind) = own.get("kind") else { return Some(own.clone()) };
    let Some(name) = kind.text() else { return Some(own.clone()) };
    let short = !name.ends_with(".yaml");
    let file = if short { format!("{folder}/{name}.yaml") } else { name.to_owned() };
    match files.load_from(&file, kind.place) {
        Ok(base) if left == 0 => {
            let expected = format!("at most {KIND_CHAIN_MAX} files that build on each other");
            problems.error(base.get("kind").map_or(kind.place, |kind| kind.place), path, "more", expected);
            None
        }
        Ok(base) => {
            let mut base = based_on(files, folder, &base, (path, left - 1), problems)?;
            // what it is called is its own business, and one outline replaces another
            base.take("kind");
            let outlined = own.get("shape").is_some_and(|over| OUTLINES.iter().any(|key| over.get(key).is_some()));
            if let Some(mut shape) = base.take("shape") {
                if outlined {
                    OUTLINES.iter().for_each(|key| _ = shape.take(key));
                }
                base.set("shape", shape);
            }
            Some(merge(base, own.clone()))
        }
        Err(found) => {
            for problem in found {
                let place = if problem.place.line == 0 { kind.place } else { problem.place };
                // the folder and the ending were not written by the user
                let hint = problem.hint.map(|hint| {
                    if short { hint.replace(&format!("{folder}/"), "").replace(".yaml", "") } else { hint }
                });
                problems.error_with_hint(place, &format!("{path}.kind"), problem.found, problem.expected, hint);
            }
            None
        }
    }
}

/// A robot with its sensors laid over the files their `preset`s name.
fn with_presets(files: &mut Files, mut robot: Node, path: &str, problems: &mut Problems) -> Option<Node> {
    let preset = |sensor: &Node| sensor.get("preset").is_some();
    let sensors = robot.get("sensors").and_then(Node::entries).unwrap_or_default();
    if !sensors.iter().any(|entry| preset(&entry.value)) {
        return Some(robot);
    }
    let mut sensors = robot.take("sensors")?;
    if let Value::Map(entries) = &mut sensors.value {
        for entry in entries.iter_mut().filter(|entry| preset(&entry.value)) {
            let path = format!("{path}.sensors.{}", entry.key);
            entry.value = over_preset(files, std::mem::take(&mut entry.value), (&path, KIND_CHAIN_MAX), problems)?;
        }
    }
    robot.set("sensors", sensors);
    Some(robot)
}

/// The text of a sensor laid over its preset, which may have one itself; both must be of one kind.
fn over_preset(files: &mut Files, mut own: Node, (path, left): (&str, usize), problems: &mut Problems) -> Option<Node> {
    let Some(preset) = own.take("preset") else { return Some(own) };
    let path_of_preset = format!("{path}.preset");
    let Some(name) = preset.text().filter(|_| left > 0) else {
        let expected = format!("the name of a preset, at most {KIND_CHAIN_MAX} of which build on each other");
        problems.error(preset.place, &path_of_preset, preset.found(), expected);
        return None;
    };
    let short = !name.ends_with(".yaml");
    let file = if short { format!("sensors/{name}.yaml") } else { name.to_owned() };
    match files.load_from(&file, preset.place) {
        Ok(base) => {
            let mut base = over_preset(files, base, (path, left - 1), problems)?;
            base.take("about");
            if let (Some(kind), Some(other)) = (own.get("kind"), base.get("kind"))
                && kind.value != other.value
            {
                let found = format!("a preset of kind {}", other);
                problems.error(preset.place, &path_of_preset, found, format!("one of kind {kind}"));
                return None;
            }
            Some(merge(base, own))
        }
        Err(found) => {
            for problem in found {
                let place = if problem.place.line == 0 { preset.place } else { problem.place };
                let hint = problem.hint.map(|hint| match short {
                    true => hint.replace("sensors/", "").replace(".yaml", ""),
                    false => hint,
                });
                problems.error_with_hint(place, &path_of_preset, problem.found, problem.expected, hint);
            }
            None
        }
    }
}

/// The places of a layout, or none for robots that stand where `at` says.
fn robot_places(text: &RobotText, node: &Node, path: &str, seed: u64, problems: &mut Problems) -> Vec<Option<Pose>> {
    let Some(layout) = &text.layout else {
        if text.count > 1 && !has_template(node.get("at")) {
            let hint = Some("for example layout: {grid: {rows: 4, spacing_m: 3}}".to_owned());
            let found = format!("a count of {} without a layout", text.count);
            problems.error_with_hint(node.place, path, found, "a layout, or {i} in at", hint);
        }
        return vec![None; text.count];
    };
    match layout::poses(layout, text.count, seed, random::id_of(&text.name)) {
        Ok(poses) => poses.into_iter().map(Some).collect(),
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

/// True if robots of a block have texts of their own, by templates elsewhere than in the name.
fn varies(node: &Node) -> bool {
    let written = node.entries().unwrap_or_default().iter();
    written
        .filter(|entry| entry.key != "name" && entry.key != "overrides")
        .any(|entry| has_template(Some(&entry.value)))
}

/// What the templates of robot `i` of `count` may name.
fn scope(i: usize, count: f64) -> Scope {
    Scope::default().with_number("i", i as f64).with_number("n", count)
}

fn as_text(node: Node) -> String {
    match node.value {
        Value::Text(text) => text,
        _ => node.to_string(),
    }
}

fn note(list: Vec<Problem>, path: &str, problems: &mut Problems) {
    for problem in list {
        problems.error_with_hint(problem.place, path, problem.found, problem.expected, problem.hint);
    }
}

/// The name of robot `i`, and its own text if it differs from the others'.
fn instance(
    node: &Node,
    text: &RobotText,
    i: usize,
    path: &str,
    problems: &mut Problems,
) -> Option<(String, Option<Node>)> {
    let scope = scope(i, text.count as f64);
    let expanded = expand(node.get("name")?.clone(), &scope);
    let name = as_text(expanded.map_err(|list| note(list, path, problems)).ok()?);
    if name.is_empty() || name.contains(|c: char| ".[]*{}".contains(c) || c.is_control()) {
        let place = node.get("name").map_or(node.place, |name| name.place);
        let expected = "a name without . [ ] * { } and control characters, which paths and patterns use";
        problems.error(place, &format!("{path}.name"), format!("{name:?}"), expected);
        return None;
    }
    let overrides = text.overrides.get(&name).or_else(|| text.overrides.get(&i.to_string()));
    if overrides.is_none() && !varies(node) {
        return Some((name, None));
    }
    let mut own = node.clone();
    own.take("overrides");
    if let Some(overrides) = overrides {
        own = merge(own, overrides.clone());
    }
    let own = expand(own, &scope.with_text("name", &name));
    Some((name, Some(own.map_err(|list| note(list, path, problems)).ok()?)))
}

fn placement(name: String, cohort: Arc<Cohort>, place: Option<Pose>, text: &RobotText) -> Placement {
    let pose = layout::placed(place, at_pose(&text.at));
    let ahead = math::rotate(pose.orientation, DVec3::X) * text.speed_mps;
    let bond = |held: &HeldText| held.hitch_m.map_or(Bond::Weld, |at_m| Bond::Hitch(DVec3::from(at_m)));
    let attached = text.attached.as_ref().map(|held| (held.to.clone(), bond(held)));
    Placement { name, realm: 0, cohort, pose, velocity_mps: DVec3::from(text.velocity_mps) + ahead, attached }
}

/// Robots that are attached have mass, those that hold them exist, and nobody holds itself, by others or directly.
fn check_attached(robots: &[Placement], places: &BTreeMap<String, Place>, problems: &mut Problems) {
    let holder = |name: &str| robots.iter().find(|robot| robot.name == name)?.attached.as_ref().map(|held| &held.0);
    for robot in robots {
        let Some((to, _)) = &robot.attached else { continue };
        let (place, path) = (places.get(&robot.name).copied().unwrap_or_default(), format!("{}.attached", robot.name));
        if !robots.iter().any(|other| other.name == *to) {
            let others = robots.iter().map(|other| other.name.as_str()).filter(|name| *name != robot.name);
            problems.unknown(place, &path, to, "another robot", others);
        } else if std::iter::successors(Some(to), |name| holder(name))
            .take(robots.len())
            .any(|name| *name == robot.name)
        {
            let expected = "robots that do not hold each other in a circle";
            problems.error(place, &path, format!("{:?} attached to itself by way of {to:?}", robot.name), expected);
        }
        if robot.cohort.blueprint.motion.mobility() != Mobility::Dynamic {
            let found = format!("a robot with motion {:?}, which has no mass", robot.cohort.blueprint.motion_kind);
            problems.error(place, &path, found, "a robot with mass, such as one with motion single_body");
        }
    }
}

/// The first name of a shared pair is new, the second means a variable or a frame.
fn check_share(text: &ScenarioText, node: &Node, robots: &[Placement], problems: &mut Problems) {
    let robot_of = |path: &str| {
        let (robot, rest) = path.split_once('.')?;
        Some((&robots.iter().find(|placed| placed.name == robot)?.cohort, rest.to_owned()))
    };
    for (at, [name, target]) in text.share.iter().enumerate() {
        let (place, path) = (place_of(node, "share", at), format!("share[{at}]"));
        let known = robot_of(target).is_some_and(|(cohort, rest)| {
            let frame = |name: &str| cohort.blueprint.frames.iter().any(|frame| frame.name == name);
            cohort.layout.variable(&rest).is_some() || rest.strip_prefix("frame.").is_some_and(frame)
        });
        if !known {
            problems.error(place, &path, format!("{target:?}"), "robot.variable or robot.frame.name of a robot");
        }
        if robot_of(name).is_some_and(|(cohort, rest)| cohort.layout.variable(&rest).is_some()) {
            problems.error(place, &path, format!("{name:?}, which the robot has itself"), "a name that is not taken");
        }
    }
}

/// Members of compounds exist and no compound is inside itself; relations are among members.
fn check_compounds(text: &ScenarioText, node: &Node, robots: &[Placement], problems: &mut Problems) {
    let compounds = &text.compounds.0;
    let members = |name: &str| compounds.iter().find(|(other, _)| other == name).map(|(_, compound)| &compound.members);
    let names =
        || robots.iter().map(|robot| robot.name.as_str()).chain(compounds.iter().map(|(name, _)| name.as_str()));
    for (name, compound) in compounds {
        let place = node.get("compounds").and_then(|all| all.get(name)).map_or(Place::default(), |node| node.place);
        let path = format!("compounds.{name}");
        for member in compound.members.iter().filter(|member| !names().any(|known| known == *member)) {
            problems.unknown(place, &format!("{path}.members"), member, "a robot or a compound", names());
        }
        for word in compound.relations.iter().flat_map(|[subject, _, object]| [subject, object]) {
            if !compound.members.contains(word) {
                let valid = compound.members.iter().map(String::as_str);
                problems.unknown(place, &format!("{path}.relations"), word, "a member", valid);
            }
        }
        let mut inside: Vec<&String> = compound.members.iter().collect();
        let mut at = 0;
        while let Some(&next) = inside.get(at) {
            inside.extend(
                members(next).into_iter().flatten().filter(|member| !inside.contains(member)).collect::<Vec<_>>(),
            );
            at += 1;
        }
        if inside.contains(&name) {
            problems.error(place, &path, format!("compound {name:?} inside itself"), "members that do not contain it");
        }
        if robots.iter().any(|robot| robot.name == *name) {
            problems.error(place, &path, format!("compound {name:?}, a robot's name"), "a name that is not taken");
        }
    }
}

fn check_expect(
    expect: &[(usize, ExpectText)],
    node: &Node,
    whole: &ScenarioText,
    robots: Option<&Vec<Placement>>,
    problems: &mut Problems,
) {
    for (at, text) in expect {
        let (path, place) = (format!("expect[{at}]"), &place_of(node, "expect", *at));
        let pattern = text.robots.as_ref().or(text.robot.as_ref());
        if let (Some(pattern), Some(robots)) = (pattern, robots)
            && !robots.iter().any(|robot| matches(pattern, &robot.name))
        {
            let names = robots.iter().map(|robot| robot.name.as_str());
            problems.unknown(*place, &path, pattern, "a robot", names);
        }
        if let (That::Arrived, Some(pattern), Some(robots)) = (text.that, pattern, robots) {
            let tells = |robot: &&Placement| robot.cohort.layout.variable("driver.status").is_some();
            let silent = robots.iter().filter(|robot| matches(pattern, &robot.name)).find(|robot| !tells(robot));
            if let Some(robot) = silent {
                let expected = "a driver that tells when it has arrived, for example waypoints";
                problems.error(*place, &path, format!("robot {:?} without one", robot.name), expected);
            }
        }
        if let Some(missing) = crate::robot::missing_of(text) {
            problems.error(*place, &path, format!("no {missing}"), format!("{missing} for that: {}", text.that.word()));
        }
        for (key, time_s) in [("within_s", text.within_s), ("at_s", text.at_s), ("from_s", text.from_s)] {
            if let Some(time_s) = time_s.filter(|&time_s| time_s > whole.run.for_s) {
                let expected = format!("at most run.for_s, {} s: the run ends before it is judged", whole.run.for_s);
                problems.warn(*place, &format!("{path}.{key}"), format!("{time_s} s"), expected);
            }
        }
        match text.expression.as_deref().map(Expression::parse) {
            Some(Ok(parsed)) => {
                for variable in parsed.variables() {
                    check_owner(variable, (*place, &path), whole, robots, problems);
                    check_property(variable, (*place, &path), whole, robots, problems);
                }
            }
            Some(Err(error)) => {
                let text = text.expression.as_deref().unwrap_or_default();
                problems.error(*place, &path, format!("{} in {text:?}", error.found), error.expected);
            }
            None => (),
        }
        if let Some(of) = &text.of {
            check_owner(of, (*place, &path), whole, robots, problems);
            check_property(of, (*place, &path), whole, robots, problems);
        }
    }
}

/// The robot whose property is judged exists, or may come: a compound, an object that shares a pose, one that is spawned.
fn check_owner(
    property: &str,
    (place, path): (Place, &str),
    whole: &ScenarioText,
    robots: Option<&Vec<Placement>>,
    problems: &mut Problems,
) {
    let (Some((name, _)), Some(robots)) = (property.split_once('.'), robots) else { return };
    let spawns = whole.events.iter().flat_map(|event| &event.r#do.0).any(|deed| deed.contains(".spawn("));
    let compounds = whole.compounds.0.iter().map(|(known, _)| known.as_str());
    let shared = whole.share.iter().filter_map(|[known, _]| known.split('.').next());
    let attached = whole.robots.iter().filter(|robot| is_attached(robot)).filter_map(|robot| robot.get("name")?.text());
    let names = robots.iter().map(|robot| robot.name.as_str()).chain(compounds).chain(shared).chain(attached);
    if !spawns && !name.contains('@') && !names.clone().any(|known| known == name) {
        problems.unknown(place, path, name, "a robot", names);
    }
}

/// A property that is judged exists, as far as it belongs to a robot of the scenario under its own name.
pub(crate) fn check_property(
    property: &str,
    (place, path): (Place, &str),
    whole: &ScenarioText,
    robots: Option<&Vec<Placement>>,
    problems: &mut Problems,
) {
    let Some((name, rest)) = property.split_once('.') else { return };
    let other = |known: &str| known == name || known.split('.').next() == Some(name);
    if whole.compounds.0.iter().any(|(known, _)| other(known)) || whole.share.iter().any(|[known, _]| other(known)) {
        return;
    }
    let (rest, index) = indexed(rest);
    let Some(robot) = robots.and_then(|robots| robots.iter().find(|robot| robot.name == name)) else { return };
    let (blueprint, layout) = (&robot.cohort.blueprint, &robot.cohort.layout);
    let constants = blueprint.motion.constants();
    let frames: Vec<String> = blueprint.frames.iter().map(|frame| format!("frame.{}", frame.name)).collect();
    let valid = layout.variables.iter().map(|variable| variable.path.as_str());
    let valid = valid.chain(constants.iter().map(|(name, _)| *name));
    let valid = valid.chain(blueprint.sensors.iter().map(|slot| slot.name.as_str()));
    let valid = valid.chain(frames.iter().map(String::as_str));
    if !valid.clone().any(|known| known == rest) {
        problems.unknown(place, path, rest, &format!("a property of {name}"), valid);
    } else if let (Some(index), Some(length)) = (index, length_of(&robot.cohort, rest))
        && index >= length
    {
        problems.error(place, path, format!("[{index}] of {name}.{rest}"), below_length(length));
    }
}

/// A property without its index, and the index.
pub(crate) fn indexed(property: &str) -> (&str, Option<usize>) {
    let index = property.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    match index.and_then(|(name, index)| Some((name, index.parse().ok()?))) {
        Some((name, index)) => (name, Some(index)),
        None => (property, None),
    }
}

/// What is expected of an index.
pub(crate) fn below_length(length: usize) -> String {
    match length {
        1 => "no index, or [0]: it is one number".to_owned(),
        _ => format!("an index from [0] to [{}]", length - 1),
    }
}

/// How many numbers a property has; unknown for what a sensor sees in the world.
fn length_of(cohort: &Cohort, property: &str) -> Option<usize> {
    let blueprint = &cohort.blueprint;
    if let Some(variable) = cohort.layout.variable(property) {
        return Some(variable.len);
    }
    if blueprint.motion.constants().iter().any(|(name, _)| *name == property) {
        return Some(1);
    }
    if property.starts_with("frame.") {
        return Some(POSE_LENGTH);
    }
    let slot = blueprint.sensor(property)?;
    matches!(slot.sensor.sense(), Sense::Own(_)).then(|| Quantity::total(slot.fields()))
}

/// Numbers of a pose: position and orientation.
const POSE_LENGTH: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;

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
