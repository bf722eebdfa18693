//! From a robot's text to a cohort: motion, drivers, sensors, frames, outline. Robots with equal text share one cohort.

use crate::assets::Wrong;
use crate::files::Files;
use crate::scene::Ground;
use crate::skins::SkinText;
use crate::sound::read_sound;
use crate::text::{At, Component, DriverText, ExpectText, FrameText, MotionText, Phase, RobotText, SensorText, That};
use glam::DVec3;
use muster_core::actuator::{ActuatorSlot, Settings};
use muster_core::component::{Fitting, Kind, Misfit, Modifier, Motion, Pose, Registry, Sense, Wind};
use muster_core::contact::{Groups, Mobility, Part, Surface};
use muster_core::joints::{Frame, Joint, Servo, frame_motions};
use muster_core::lanes::Quantity;
use muster_core::material::Material;
use muster_core::math;
use muster_core::model::{Blueprint, Cohort, DriverSlot, Environment, Light, ModifierSlot, Placement, SensorSlot};
use muster_core::node::{Node, Place, Problems, Value, nearest};
use muster_core::shape::{Shape, Solid};
use muster_core::spec::{Field, Spec, below};
use muster_core::time::{Rate, SimTime};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Sensors with `phase: spread` start at one of this many instants of their period.
const SPREAD: usize = 8;

/// The pose an `at` block means.
pub(crate) fn at_pose(at: &At) -> Pose {
    let orientation = match at.rpy_deg {
        Some([roll, pitch, yaw]) => math::quat_from_rpy(roll.to_radians(), pitch.to_radians(), yaw.to_radians()),
        None => math::quat_from_yaw(at.yaw_deg.to_radians()),
    };
    Pose { position_m: DVec3::from(at.xyz_m), orientation }
}

/// The bits of the collision groups a scenario names.
#[derive(Debug, Clone, Default)]
pub(crate) struct GroupNames(Vec<String>);

/// The most groups a scenario may name.
const GROUPS_MAX: usize = 32;

impl GroupNames {
    /// What these names mean; no name means all.
    pub(crate) fn read(&mut self, of: &[String], meets: &[String]) -> Groups {
        Groups { of: self.bits(of), meets: self.bits(meets) }
    }

    fn bits(&mut self, names: &[String]) -> u32 {
        if names.is_empty() {
            return u32::MAX;
        }
        names.iter().fold(0, |bits, name| bits | 1 << self.number(name).min(GROUPS_MAX - 1))
    }

    fn number(&mut self, name: &str) -> usize {
        self.0.iter().position(|known| known == name).unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        })
    }

    /// There are no more names than bits.
    pub(crate) fn check(&self, problems: &mut Problems) {
        if self.0.len() > GROUPS_MAX {
            let found = format!("{} collision groups ({})", self.0.len(), self.0.join(", "));
            problems.error(Place::default(), "groups", found, format!("at most {GROUPS_MAX}"));
        }
    }
}

/// Where something below a block is written, as far as its keys lead there: the value, or the key of a block.
pub(crate) fn place_below(node: &Node, keys: &[&str]) -> Place {
    let mut place = node.place;
    let mut at = node;
    for key in keys {
        let Some(entry) = at.entries().and_then(|entries| entries.iter().find(|entry| entry.key == *key)) else {
            break;
        };
        at = &entry.value;
        place = if matches!(at.value, Value::Map(_)) && entry.key_place.line > 0 { entry.key_place } else { at.place };
    }
    place
}

/// What is expected of a block that must say which shape it means.
const ONE_SHAPE: &str = "exactly one of sphere_radius_m, box_size_m, cylinder, capsule, cone, mesh";

/// The one shape among those written.
pub(crate) fn only_shape(mut solids: Vec<Result<Solid, Wrong>>) -> Result<Solid, Wrong> {
    match (solids.pop(), solids.len()) {
        (Some(solid), 0) => solid,
        (None, _) => Err(Wrong::new("no shape", ONE_SHAPE)),
        (_, more) => Err(Wrong::new(format!("{} shapes", more + 1), ONE_SHAPE)),
    }
}

/// What an expectation of this kind lacks.
pub(crate) fn missing_of(text: &ExpectText) -> Option<&'static str> {
    let robots = text.robot.is_some() || text.robots.is_some();
    match text.that {
        That::Arrived | That::NoContact if !robots => Some("robot or robots"),
        That::MinDistance if !robots => Some("robots"),
        That::MinDistance if text.at_least_m.is_none() => Some("at_least_m"),
        That::Value if text.of.is_none() => Some("of"),
        That::Value if text.min.is_none() && text.max.is_none() => Some("min or max"),
        That::Holds if text.expression.is_none() => Some("expression"),
        _ => None,
    }
}

/// What robots of one cohort may differ in.
const OWN: [&str; 11] = [
    "name",
    "count",
    "layout",
    "at",
    "on_terrain",
    "overrides",
    "velocity_mps",
    "speed_mps",
    "attached",
    "about",
    "links",
];

/// Makes cohorts, each once.
pub(crate) struct RobotBuilder {
    pub(crate) registry: Registry,
    wind: Arc<dyn Wind>,
    cohorts: BTreeMap<String, Arc<Cohort>>,
    pub(crate) groups: GroupNames,
    pub(crate) ground: Ground,
    materials: Vec<Material>,
    /// Where each cohort is written.
    places: BTreeMap<String, (Node, String)>,
}

/// A robot that is being read: its path and text, the files beside it, and the list of problems.
struct Reading<'a> {
    path: String,
    node: &'a Node,
    /// All its frames could be read: a name that is not among them is wrong.
    frames_known: bool,
    files: &'a mut Files,
    problems: &'a mut Problems,
}

impl Reading<'_> {
    fn place(&self, keys: &[&str]) -> Place {
        place_below(self.node, keys)
    }
}

/// What a part is called and looks like.
struct Outline<'a> {
    name: &'a str,
    skin: &'a SkinText,
    visible: bool,
}

impl RobotBuilder {
    pub(crate) fn new(registry: Registry, environment: &Environment, groups: GroupNames, ground: Ground) -> Self {
        let (wind, materials) = (Arc::clone(&environment.wind), environment.materials.clone());
        Self { registry, wind, groups, ground, materials, cohorts: BTreeMap::new(), places: BTreeMap::new() }
    }

    /// What was made, and every kind that was known in the end.
    pub(crate) fn into_cohorts(self) -> (BTreeMap<String, Arc<Cohort>>, Registry) {
        (self.cohorts, self.registry)
    }

    /// The cohort of robot `i` of a count.
    pub(crate) fn cohort(
        &mut self,
        node: &Node,
        text: &RobotText,
        i: usize,
        path: &str,
        (files, problems): (&mut Files, &mut Problems),
    ) -> Option<Arc<Cohort>> {
        let mut part = node.clone();
        for own in OWN {
            part.take(own);
        }
        let spread = if spreads(&part) { i % SPREAD } else { 0 };
        let key = format!("{part} phase {spread}{}", folders(text, files));
        if let Some(cohort) = self.cohorts.get(&key) {
            return Some(Arc::clone(cohort));
        }
        let reading = &mut Reading { path: path.to_owned(), node, frames_known: true, files, problems };
        let blueprint = self.blueprint(text, spread, key.clone(), reading)?;
        let cohort = Cohort::new(blueprint, &*self.wind);
        if !self.check_actuators(&cohort, reading) {
            return None;
        }
        self.places.insert(key.clone(), (part, path.to_owned()));
        self.cohorts.insert(key, Arc::clone(&cohort));
        Some(cohort)
    }

    /// Notes what is wrong with the sound part of a robot that cannot be made. `frames_known` if none of its frames is
    /// missing.
    pub(crate) fn look_through(
        &mut self,
        node: &Node,
        text: &RobotText,
        frames_known: bool,
        path: &str,
        (files, problems): (&mut Files, &mut Problems),
    ) {
        let reading = &mut Reading { path: path.to_owned(), node, frames_known, files, problems };
        self.components(text, 0, reading);
    }

    /// What a robot is made of, each as far as it could be made: one that is wrong does not hide another.
    fn components(&mut self, text: &RobotText, spread: usize, reading: &mut Reading<'_>) -> Components {
        let frames = self.frames(text, reading);
        let motion = self.motion(text, reading);
        let rate = motion.as_ref().map_or(Rate::MAX, |(_, _, rate)| *rate);
        let motion_made = motion.as_ref().map(|(_, motion, _)| Arc::clone(motion));
        let constants = motion_made.as_ref().map(|motion| motion.constants()).unwrap_or_default();
        let body = fitting(&frames, motion_made.as_deref(), &constants);
        let roles = [("driver", &text.driver), ("controller", &text.controller)];
        let drivers: Vec<Option<DriverSlot>> = roles
            .into_iter()
            .filter_map(|(role, block)| block.as_ref().map(|block| (role, &block.0)))
            .map(|(role, node)| self.driver(role, node, rate, &body, reading))
            .collect();
        let sensors: Vec<Option<SensorSlot>> = text
            .sensors
            .0
            .iter()
            .map(|(name, block)| self.sensor(name, &block.0, (rate, spread), &body, reading))
            .collect();
        let actuators = text.actuators.0.iter().map(|(name, block)| self.actuator(name, &block.0, reading)).collect();
        let parts = self.parts(text, &frames, reading);
        Components { frames, motion, drivers, sensors, actuators, parts }
    }

    fn blueprint(
        &mut self,
        text: &RobotText,
        spread: usize,
        key: String,
        reading: &mut Reading<'_>,
    ) -> Option<Blueprint> {
        let Components { frames, motion, drivers, sensors, actuators, parts } = self.components(text, spread, reading);
        let (motion_kind, motion, rate) = motion?;
        let parts = parts?;
        let (path, place) = (below(&reading.path, "motion"), reading.place(&["motion"]));
        // what is only to be seen weighs nothing
        let solid: Vec<Part> = parts.iter().filter(|part| part.collides()).cloned().collect();
        let motion = fit(motion.fitted(&frames, &solid), motion, place, &path, reading.problems)?;
        let blueprint = Blueprint {
            kind: text.kind.as_deref().map_or(motion_kind, file_stem).to_owned(),
            motion_kind,
            motion,
            rate,
            drivers: drivers.into_iter().collect::<Option<_>>()?,
            sensors: sensors.into_iter().collect::<Option<_>>()?,
            actuators: actuators.into_iter().collect::<Option<_>>()?,
            frames,
            parts,
            light: text.light.as_ref().map(|light| Light {
                on: light.on,
                intensity_cd: light.intensity_cd,
                colour: light.colour,
            }),
            tags: text.tags.clone(),
            key,
        };
        self.check(&blueprint, reading).then_some(blueprint)
    }

    fn motion(
        &mut self,
        text: &RobotText,
        reading: &mut Reading<'_>,
    ) -> Option<(&'static str, Arc<dyn muster_core::component::Motion>, Rate)> {
        let (node, path) = (&text.motion.0, below(&reading.path, "motion"));
        let also: Vec<&str> = MotionText::FIELDS.iter().map(|field| field.name).collect();
        learn(&mut self.registry, node, &path, |registry| names(registry.motions), reading.problems);
        let made = make(self.registry.motions, "a motion", node, &path, &also, reading.problems);
        let (common, whole) = common::<MotionText>(node, &path, reading.problems)?;
        let rate = rate_of(common.rate_hz, node, &path, reading.problems)?;
        let (kind, made) = made?;
        whole.then_some((kind.name, made?, rate))
    }

    fn driver(
        &mut self,
        role: &str,
        node: &Node,
        ticks: Rate,
        robot: &Fitting<'_>,
        reading: &mut Reading<'_>,
    ) -> Option<DriverSlot> {
        let path = below(&reading.path, role);
        let also: Vec<&str> = DriverText::FIELDS.iter().map(|field| field.name).collect();
        learn(&mut self.registry, node, &path, |registry| names(registry.drivers), reading.problems);
        let made = make(self.registry.drivers, "a driver", node, &path, &also, reading.problems);
        let (common, whole) = common::<DriverText>(node, &path, reading.problems)?;
        let (kind, driver) = made.and_then(|(kind, made)| Some((kind, made?)))?;
        let rate_hz = common.rate_hz.unwrap_or_else(|| driver.default_rate_hz());
        let rate = slower_than(ticks, rate_hz, node, &path, reading.problems);
        let driver = match reading.frames_known {
            true => fit(driver.fitted(robot), driver, reading.place(&[role]), &path, reading.problems)?,
            false => return None,
        };
        let rate = rate.filter(|_| whole)?;
        Some(DriverSlot { name: role.to_owned(), kind: kind.name, driver, rate })
    }

    fn sensor(
        &mut self,
        name: &str,
        node: &Node,
        (ticks, spread): (Rate, usize),
        robot: &Fitting<'_>,
        reading: &mut Reading<'_>,
    ) -> Option<SensorSlot> {
        let path = below(&below(&reading.path, "sensors"), name);
        let also: Vec<&str> = SensorText::FIELDS.iter().map(|field| field.name).collect();
        let frames = robot.frames;
        learn(&mut self.registry, node, &path, |registry| names(registry.sensors), reading.problems);
        let made = make(self.registry.sensors, "a sensor", node, &path, &also, reading.problems);
        let (common, whole) = common::<SensorText>(node, &path, reading.problems)?;
        if let Some(preset) = &common.preset {
            let expected = "presets in the block itself, not in its overrides";
            reading.problems.error(node.place, &below(&path, "preset"), format!("{preset:?}"), expected);
            return None;
        }
        let frame = frame_named(common.frame.as_deref(), &["sensors", name], frames, reading);
        let (kind, made) = made.map_or((None, None), |(kind, made)| (Some(kind), made));
        let fields = made.as_ref().map(|sensor| sensor.fields());
        let kinds = &mut self.registry;
        let modifiers = make_modifiers(kinds, &common.modifiers, fields, (node.place, &path), reading.problems);
        let (kind, sensor) = (kind?, made?);
        let rate_hz = common.rate_hz.unwrap_or_else(|| sensor.default_rate_hz());
        let rate = match sensor.sense() {
            Sense::Own(_) => slower_than(ticks, rate_hz, node, &path, reading.problems),
            Sense::World(_) => rate_of(rate_hz, node, &path, reading.problems),
        };
        if !reading.frames_known {
            return None;
        }
        let place = reading.place(&["sensors", name]);
        let sensor = fit(sensor.fitted(robot), sensor, place, &path, reading.problems)?;
        let (rate, modifiers, frame) = (rate.filter(|_| whole)?, modifiers?, frame?);
        let delays = modifiers.iter().fold(SimTime::ZERO, |sum, slot| sum + slot.modifier.delay());
        if let Sense::World(look) = sensor.sense()
            && look.slices().1 > rate.period_s()
        {
            let found = format!("a sweep of {} s at {rate_hz} Hz", look.slices().1);
            reading.problems.error(
                node.place,
                &path,
                found,
                format!("at most {} s, the time between samples", rate.period_s()),
            );
            return None;
        }
        let moved = frame.filter(|&frame| is_moved(frames, frame));
        let mut still = Vec::new();
        frame_motions(frames, |_| (0.0, 0.0), &mut still);
        let fixed = frame.filter(|_| moved.is_none()).map(|frame| still[frame].pose);
        let phase = match common.phase {
            Phase::Aligned => SimTime::ZERO,
            Phase::Spread => spread_phase(rate, ticks, spread),
        };
        Some(SensorSlot {
            name: name.to_owned(),
            kind: kind.name,
            sensor,
            rate,
            phase,
            settings: settings(kind.fields, node),
            latency: SimTime::from_s(common.latency_ms * 1e-3) + delays,
            frame: moved,
            mount: fixed.unwrap_or(Pose::IDENTITY).then(&at_pose(&common.at)),
            modifiers,
        })
    }

    fn actuator(&self, name: &str, node: &Node, reading: &mut Reading<'_>) -> Option<ActuatorSlot> {
        let path = below(&below(&reading.path, "actuators"), name);
        let (kind, made) = make(self.registry.actuators, "an actuator", node, &path, &["kind"], reading.problems)?;
        Some(ActuatorSlot {
            name: name.to_owned(),
            kind: kind.name,
            actuator: made?,
            settings: settings(kind.fields, node),
        })
    }

    /// Every actuator comes down to a service the robot can do, and has a name that is not a sensor's.
    fn check_actuators(&self, cohort: &Cohort, reading: &mut Reading<'_>) -> bool {
        let before = reading.problems.errors();
        for slot in &cohort.blueprint.actuators {
            let (path, place) =
                (below(&below(&reading.path, "actuators"), &slot.name), reading.place(&["actuators", &slot.name]));
            let services = self.registry.services;
            let service = services.iter().find(|service| service.name == slot.actuator.service());
            let fits = service.map_or_else(
                || Err(format!("found no service {:?}, expected one that it calls", slot.actuator.service())),
                |service| (service.fits)(cohort, &[]),
            );
            if let Err(why) = fits.and_then(|()| slot.actuator.fits(cohort)) {
                let (found, expected) = why.split_once(", expected ").unwrap_or((&why, "another kind"));
                let found = format!("{} for {:?}", found.trim_start_matches("found "), slot.kind);
                reading.problems.error(place, &path, found, expected);
            }
            if cohort.blueprint.sensor(&slot.name).is_some() {
                let found = format!("{:?}, which is a sensor too", slot.name);
                reading.problems.error(place, &path, found, "a name of its own");
            }
        }
        reading.problems.errors() == before
    }

    fn frames(&self, text: &RobotText, reading: &mut Reading<'_>) -> Vec<Frame> {
        let mut frames: Vec<Frame> = Vec::new();
        let mut waiting: Vec<&(String, FrameText)> = text.frames.0.iter().collect();
        for (name, frame) in &text.frames.0 {
            check_joint(name, frame, reading);
        }
        // parents first, whatever order they are written in
        while !waiting.is_empty() {
            let before = waiting.len();
            waiting.retain(|(name, frame)| {
                let parent = frame.parent.as_ref().map(|parent| frames.iter().position(|known| known.name == *parent));
                let Some(parent) = parent.map_or(Some(None), |found| found.map(Some)) else { return true };
                let (joint, servo) = joint_of(frame);
                frames.push(Frame { name: name.clone(), parent, pose: at_pose(&frame.at), joint, servo });
                false
            });
            if waiting.len() == before {
                waiting.iter().for_each(|(name, frame)| check_parent(name, frame, &text.frames.0, reading));
                // whatever names one of those that hang in the air is not wrong for it
                reading.frames_known = false;
                break;
            }
        }
        frames
    }

    /// What a robot touches others with and is seen by: its shape, then its parts.
    fn parts(&mut self, text: &RobotText, frames: &[Frame], reading: &mut Reading<'_>) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        let before = reading.problems.errors();
        let surface = Surface { friction: text.shape.friction, restitution: text.shape.restitution };
        let body = Outline { name: "body", skin: &text.shape.skin, visible: text.shape.visible };
        let solids = text.shape.solids(reading.files);
        if !solids.is_empty() {
            let groups = self.groups_of(text.shape.collides, &text.groups, &text.meets);
            let part = self.part(body, solids, &["shape"], reading);
            parts.extend(part.map(|part| Part { surface, groups, ..part }));
        }
        for (name, part) in &text.parts.0 {
            let frame = frame_named(part.frame.as_deref(), &["parts", name], frames, reading);
            let of = part.groups.as_ref().unwrap_or(&text.groups);
            let groups = self.groups_of(part.collides, of, part.meets.as_ref().unwrap_or(&text.meets));
            let surface = Surface {
                friction: part.friction.unwrap_or(surface.friction),
                restitution: part.restitution.unwrap_or(surface.restitution),
            };
            let outline = Outline { name, skin: &part.skin, visible: part.visible };
            let solids = part.solids(reading.files);
            let made = self.part(outline, solids, &["parts", name], reading);
            let (Some(frame), Some(made)) = (frame, made) else { continue };
            parts.push(Part { frame, pose: at_pose(&part.at), surface, groups, ..made });
        }
        (reading.problems.errors() == before && reading.frames_known).then_some(parts)
    }

    fn groups_of(&mut self, collides: bool, of: &[String], meets: &[String]) -> Groups {
        if collides { self.groups.read(of, meets) } else { Groups::NONE }
    }

    /// A part on the body, which `keys` lead to, if it is as it should be.
    fn part(
        &self,
        outline: Outline<'_>,
        solids: Vec<Result<Solid, Wrong>>,
        keys: &[&str],
        reading: &mut Reading<'_>,
    ) -> Option<Part> {
        let path = below(&reading.path, &keys.join("."));
        // of single shapes only meshes can be wrong in themselves
        let (shape_path, place) = match solids.len() {
            1 => (below(&path, "mesh"), reading.place(&[keys, &["mesh", "triangles"]].concat())),
            _ => (path.clone(), reading.place(keys)),
        };
        let solid = only_shape(solids).map_err(|wrong| wrong.note(place, &shape_path, reading.problems));
        let skin = outline.skin.read(reading.files, &self.materials);
        let skin = skin.map_err(|wrong| wrong.note(reading.place(keys), &below(&path, "skin"), reading.problems));
        let made = solid.and_then(|solid| Ok((solid, skin?)));
        made.ok().map(|(solid, skin)| Part {
            name: outline.name.to_owned(),
            frame: None,
            pose: Pose::IDENTITY,
            solid,
            surface: Surface::DEFAULT,
            groups: Groups::ALL,
            skin,
            visible: outline.visible,
        })
    }

    /// What no single block shows: inputs that do not exist.
    fn check(&self, blueprint: &Blueprint, reading: &mut Reading<'_>) -> bool {
        let inputs = blueprint.motion.inputs();
        let mut fits = true;
        for slot in &blueprint.drivers {
            for wanted in slot.driver.commands() {
                if !inputs.iter().any(|input| input.name == *wanted) {
                    let path = below(&reading.path, &slot.name);
                    let names: Vec<&str> = inputs.iter().map(|input| input.name).collect();
                    let found = format!("{:?}, which commands {wanted}", slot.kind);
                    let expected =
                        format!("a driver for motion {:?} (inputs: {})", blueprint.motion_kind, names.join(", "));
                    reading.problems.error(reading.place(&[&slot.name]), &path, found, expected);
                    fits = false;
                }
            }
        }
        for slot in &blueprint.sensors {
            for wanted in slot.sensor.wheels() {
                let names = blueprint.motion.wheels().iter().map(|wheel| &*wheel.name);
                if !names.clone().any(|name| name == wanted) {
                    let path = format!("{}.sensors.{}.wheels", reading.path, slot.name);
                    let what = format!("a wheel of motion {:?}", blueprint.motion_kind);
                    let place = reading.place(&["sensors", &slot.name, "wheels"]);
                    reading.problems.unknown(place, &path, wanted, &what, names);
                    fits = false;
                }
            }
        }
        check_pace(blueprint, reading);
        let fits = check_turning(blueprint, reading) && fits;
        fits && self.check_step(blueprint, reading)
    }

    /// A robot that is moved by its algorithm must not step through another.
    fn check_step(&self, blueprint: &Blueprint, reading: &mut Reading<'_>) -> bool {
        let step_m = blueprint.motion.speed_max_mps() * blueprint.rate.period_s();
        let solid = blueprint.parts.iter().filter(|part| part.collides());
        // of a mesh it is not known how thick it is
        let thickness = |part: &Part| match part.solid.shape() {
            Shape::Mesh(_) => 0.1 * part.solid.radius_m(),
            _ => part.solid.inner_radius_m(),
        };
        let thinnest_m = solid.map(thickness).fold(f64::INFINITY, f64::min);
        if blueprint.motion.mobility() == Mobility::Dynamic || step_m <= thinnest_m {
            return true;
        }
        let least_hz = blueprint.motion.speed_max_mps() / thinnest_m.max(1e-9);
        reading.problems.error_with_hint(
            reading.place(&["motion", "rate_hz"]),
            &below(&reading.path, "motion.rate_hz"),
            format!("{} Hz: up to {step_m:.3} m a tick, further than the outline is thick", blueprint.rate.hz()),
            format!("at least {:.0} Hz, or a lower speed_max_mps", least_hz.ceil()),
            Some("else robots could pass through each other".to_owned()),
        );
        false
    }

    /// Every sensor a driver reads exists and is of the right kind.
    pub(crate) fn check_subscriptions(&self, robots: &[Placement], problems: &mut Problems) {
        let by_name: BTreeMap<&str, &Placement> = robots.iter().map(|robot| (robot.name.as_str(), robot)).collect();
        for cohort in self.cohorts.values() {
            let (node, path) = self.places.get(&cohort.blueprint.key).cloned().unwrap_or_default();
            for slot in &cohort.blueprint.drivers {
                for wanted in slot.driver.subscriptions() {
                    let (owner, sensor) = match wanted.path.split_once('.') {
                        Some((robot, sensor)) => (by_name.get(robot).map(|placed| &placed.cohort.blueprint), sensor),
                        None => (Some(&cohort.blueprint), wanted.path.as_str()),
                    };
                    let found = owner.and_then(|blueprint| blueprint.sensor(sensor));
                    let fits = found.is_some_and(|found| wanted.kind.is_empty() || found.kind == wanted.kind);
                    if fits || (found.is_none() && wanted.optional) {
                        continue;
                    }
                    let path = below(&path, &slot.name);
                    let what = match found {
                        Some(found) => format!("sensor {:?} of kind {:?}", wanted.path, found.kind),
                        None => format!("no sensor {:?}", wanted.path),
                    };
                    let of_kind =
                        if wanted.kind.is_empty() { String::new() } else { format!(" of kind {:?}", wanted.kind) };
                    let expected = format!("a sensor {:?}{of_kind}, which driver {:?} reads", wanted.path, slot.kind);
                    let names = owner.iter().flat_map(|owner| owner.sensors.iter().map(|slot| slot.name.as_str()));
                    let near = nearest(sensor, names).filter(|_| found.is_none());
                    let hint = near.map(|near| format!("did you mean {near:?}?"));
                    problems.error_with_hint(place_below(&node, &[&slot.name]), &path, what, expected, hint);
                }
            }
        }
    }
}

/// A driver that turns robots in place is not for those that turn only while they drive.
fn check_turning(blueprint: &Blueprint, reading: &mut Reading<'_>) -> bool {
    let slot = blueprint.drivers.iter().find(|slot| slot.driver.turns_in_place());
    let Some(slot) = slot.filter(|_| !blueprint.motion.turns_in_place()) else { return true };
    let path = format!("{}.{}.by", reading.path, slot.name);
    let expected = format!("by: pursuit for motion {:?}, which turns only while it drives", blueprint.motion_kind);
    let hint = Some("and turn_radius_m, the tightest turn it can drive".to_owned());
    let place = reading.place(&[&slot.name, "by"]);
    reading.problems.error_with_hint(place, &path, "velocity, which turns in place", expected, hint);
    false
}

/// Warns of a driver that asks for more speed than the controller below it can give.
fn check_pace(blueprint: &Blueprint, reading: &mut Reading<'_>) {
    let slots = || blueprint.drivers.iter();
    let Some((slot, most_mps)) = slots().find_map(|slot| Some((slot, slot.driver.speed_max_mps()?))) else { return };
    let asking = slots().find_map(|slot| Some((slot, slot.driver.speed_asked_mps()?)));
    if let Some((asking, asked_mps)) = asking.filter(|(_, asked_mps)| *asked_mps > most_mps) {
        let path = format!("{}.{}.speed_mps", reading.path, asking.name);
        let expected = format!("at most {most_mps:.3} m/s, which is what {} {:?} can do", slot.name, slot.kind);
        let place = reading.place(&[&asking.name, "speed_mps"]);
        reading.problems.warn(place, &path, format!("{asked_mps} m/s"), expected);
    }
}

/// What a robot is made of, as far as it could be made.
struct Components {
    frames: Vec<Frame>,
    motion: Option<(&'static str, Arc<dyn muster_core::component::Motion>, Rate)>,
    drivers: Vec<Option<DriverSlot>>,
    sensors: Vec<Option<SensorSlot>>,
    actuators: Vec<Option<ActuatorSlot>>,
    parts: Option<Vec<Part>>,
}

/// What a robot of these frames and this motion is made of.
fn fitting<'a>(
    frames: &'a [Frame],
    motion: Option<&'a dyn Motion>,
    constants: &'a [(&'static str, f64)],
) -> Fitting<'a> {
    match motion {
        Some(motion) => Fitting { frames, inputs: motion.inputs(), state: motion.state(), constants },
        None => Fitting::frames(frames),
    }
}

/// The frame that a block names, which `keys` lead to; the body if it names none.
fn frame_named(
    name: Option<&str>,
    keys: &[&str],
    frames: &[Frame],
    reading: &mut Reading<'_>,
) -> Option<Option<usize>> {
    let Some(name) = name else { return Some(None) };
    let found = frames.iter().position(|frame| frame.name == name);
    if found.is_none() && reading.frames_known {
        let names = frames.iter().map(|frame| frame.name.as_str());
        let path = below(&below(&reading.path, &keys.join(".")), "frame");
        let place = reading.place(&[keys, &["frame"]].concat());
        reading.problems.unknown(place, &path, name, "a frame of the robot", names);
    }
    found.map(Some)
}

/// Tells why a frame hangs on nothing: there is no such parent, or it hangs on itself by way of others. One that hangs
/// on such a frame is not told again.
fn check_parent(name: &str, frame: &FrameText, all: &[(String, FrameText)], reading: &mut Reading<'_>) {
    let parent_of =
        |name: &str| all.iter().find(|(known, _)| known == name).and_then(|(_, frame)| frame.parent.as_deref());
    let parent = frame.parent.as_deref().unwrap_or_default();
    let path = format!("{}.frames.{name}.parent", reading.path);
    let place = reading.place(&["frames", name, "parent"]);
    if !all.iter().any(|(known, _)| known == parent) {
        let names = all.iter().map(|(known, _)| known.as_str()).filter(|known| *known != name);
        return reading.problems.unknown(place, &path, parent, "another frame, or none for the body", names);
    }
    let chain: Vec<&str> = std::iter::successors(Some(parent), |name| parent_of(name)).take(all.len()).collect();
    if let Some(end) = chain.iter().position(|above| *above == name) {
        let found = format!("{name} → {}", chain[..=end].join(" → "));
        reading.problems.error(place, &path, found, "frames that do not hang on each other in a circle");
    }
}

/// A joint turns or slides, about an axis, between limits.
fn check_joint(name: &str, frame: &FrameText, reading: &mut Reading<'_>) {
    let mut problem = |key: &str, found: String, expected: &str| {
        let path = format!("{}.frames.{name}.{key}", reading.path);
        reading.problems.error(reading.place(&["frames", name, key]), &path, found, expected);
    };
    if frame.turn.is_some() && frame.slide.is_some() {
        problem("slide", "slide beside turn".to_owned(), "one of turn and slide; two joints are two frames");
    }
    for (key, axis) in [("turn", frame.turn), ("slide", frame.slide)] {
        if axis == Some([0.0; 3]) {
            problem(key, "an axis of length 0".to_owned(), "an axis, such as [0, 0, 1]");
        }
    }
    for (key, range) in [("range_deg", frame.range_deg), ("range_m", frame.range_m)] {
        if let Some([from, to]) = range.filter(|[from, to]| from > to) {
            problem(key, format!("from {from} to {to}"), "the lower limit first");
        }
    }
}

/// A file's name without folder and ending.
fn file_stem(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path).trim_end_matches(".yaml")
}

/// Where the files are named that a robot needs: equal names in different folders are different files.
fn folders(text: &RobotText, files: &Files) -> String {
    let parts = text.parts.0.iter().map(|(_, part)| (&part.mesh, &part.skin));
    let named = std::iter::once((&text.shape.mesh, &text.shape.skin)).chain(parts).flat_map(|(mesh, skin)| {
        [mesh.as_ref().and_then(|mesh| mesh.file.as_ref()), skin.texture.as_ref()].into_iter().flatten()
    });
    let folder = |path: String| path.rsplit_once('/').map(|(folder, _)| format!(" in {folder}")).unwrap_or_default();
    named.filter_map(|name| files.file_at(name.place)).map(|file| folder(file.path())).collect()
}

fn spreads(node: &Node) -> bool {
    let sensors = node.get("sensors").and_then(Node::entries).unwrap_or_default();
    sensors.iter().any(|entry| entry.value.get("phase").and_then(Node::text) == Some(Phase::Spread.word()))
}

/// The phase of bucket `spread`, on the lattice of the robot's ticks.
fn spread_phase(rate: Rate, ticks: Rate, spread: usize) -> SimTime {
    let raw = SimTime::from_ns(rate.period().ns() * spread as u64 / SPREAD as u64);
    ticks.time_of(ticks.first_at_or_after(raw))
}

/// The modifiers of a sensor with these fields, in the order written. If the fields are unknown, so is whether they fit.
pub(crate) fn make_modifiers(
    registry: &mut Registry,
    blocks: &[Component],
    fields: Option<&[Quantity]>,
    (place, path): (Place, &str),
    problems: &mut Problems,
) -> Option<Vec<ModifierSlot>> {
    let known = fields.is_some();
    let mut fields = fields.unwrap_or_default().to_vec();
    let made: Vec<Option<ModifierSlot>> = blocks
        .iter()
        .enumerate()
        .map(|(at, block)| {
            let path = format!("{path}.modifiers[{at}]");
            learn(registry, &block.0, &path, |registry| names(registry.modifiers), problems);
            let kinds: &'static [Kind<dyn Modifier>] = registry.modifiers;
            let (kind, made) = make(kinds, "a modifier", &block.0, &path, &["kind"], problems)?;
            let modifier = made?;
            if !known {
                return None;
            }
            if let Err(expected) = modifier.check(&fields) {
                let place = if block.0.place.line > 0 { block.0.place } else { place };
                let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
                problems.error(place, &path, format!("a sensor with fields {}", names.join(", ")), expected);
                return None;
            }
            // the next one gets what this one makes of them
            fields = modifier.fields(&fields);
            Some(ModifierSlot { kind: kind.name, modifier, fields: fields.clone() })
        })
        .collect();
    made.into_iter().collect()
}

/// True if a joint lies between a frame and the body.
fn is_moved(frames: &[Frame], at: usize) -> bool {
    frames[at].joint != Joint::Fixed || frames[at].parent.is_some_and(|parent| is_moved(frames, parent))
}

fn joint_of(frame: &FrameText) -> (Joint, Servo) {
    let axis = |axis: [f64; 3]| DVec3::from(axis).normalize_or(DVec3::Z);
    let free = Servo::FREE;
    match (frame.turn, frame.slide) {
        (Some(turn), _) => {
            let [lower, upper] = frame.range_deg.map_or([free.lower, free.upper], |range| range.map(f64::to_radians));
            let servo = Servo {
                start: frame.start_deg.to_radians(),
                lower,
                upper,
                rate_max: frame.rate_max_degps.map_or(free.rate_max, f64::to_radians),
                accel_max: frame.accel_max_degps2.map_or(free.accel_max, f64::to_radians),
            };
            (Joint::Turn(axis(turn)), servo)
        }
        (None, Some(slide)) => {
            let [lower, upper] = frame.range_m.unwrap_or([free.lower, free.upper]);
            let servo = Servo {
                start: frame.start_m,
                lower,
                upper,
                rate_max: frame.rate_max_mps.unwrap_or(free.rate_max),
                accel_max: frame.accel_max_mps2.unwrap_or(free.accel_max),
            };
            (Joint::Slide(axis(slide)), servo)
        }
        (None, None) => (Joint::Fixed, free),
    }
}

/// A component as it fits its robot: what it was fitted to, or itself.
fn fit<T: ?Sized>(
    fitted: Result<Option<Arc<T>>, Misfit>,
    made: Arc<T>,
    place: Place,
    path: &str,
    problems: &mut Problems,
) -> Option<Arc<T>> {
    match fitted {
        Ok(fitted) => Some(fitted.unwrap_or(made)),
        Err((found, expected)) => {
            problems.error(place, path, found, expected);
            None
        }
    }
}

/// The parameters of a kind as they are: as written, or the default.
fn settings(fields: &'static [Field], node: &Node) -> Settings {
    let shown = |field: &'static Field| match node.get(field.name) {
        Some(written) => (field.name, written.to_string()),
        None => (field.name, (field.default)().unwrap_or_default()),
    };
    fields.iter().map(shown).collect()
}

/// The names of these kinds.
pub(crate) fn names<T: ?Sized + 'static>(kinds: &'static [Kind<T>]) -> Vec<&'static str> {
    kinds.iter().map(|kind| kind.name).collect()
}

/// Looks for a plug-in with the kind a block names, if that is not known.
pub(crate) fn learn(
    registry: &mut Registry,
    node: &Node,
    path: &str,
    known: impl Fn(&Registry) -> Vec<&'static str>,
    problems: &mut Problems,
) {
    let Some(kind) = node.get("kind") else { return };
    let Some(name) = kind.text().filter(|name| !known(registry).contains(name)) else { return };
    match registry.plugins.and_then(|plugins| plugins.find(name)) {
        Some(Ok(more)) => *registry = more,
        Some(Err((found, expected))) => problems.refuse(kind.place, &below(path, "kind"), found, expected),
        None => (),
    }
}

type Made<T> = (&'static Kind<T>, Option<Arc<T>>);

/// Finds the kind a block names and lets it read the block.
pub(crate) fn make<T: ?Sized + 'static>(
    kinds: &'static [Kind<T>],
    what: &str,
    node: &Node,
    path: &str,
    also: &[&str],
    problems: &mut Problems,
) -> Option<Made<T>> {
    let kind_node = node.get("kind")?;
    let name = kind_node.text()?;
    match kinds.iter().find(|kind| kind.name == name) {
        Some(kind) => Some((kind, (kind.build)(node, path, also, problems))),
        None => {
            let path = below(path, "kind");
            problems.unknown(kind_node.place, &path, name, what, kinds.iter().map(|kind| kind.name));
            None
        }
    }
}

/// Reads the fields every component of a family has, passing over those of its kind, as far as they are sound; and
/// whether all are.
fn common<T: Spec>(node: &Node, path: &str, problems: &mut Problems) -> Option<(T, bool)> {
    let mut own = node.clone();
    // unknown keys were noted when the kind read its own
    if let Value::Map(entries) = &mut own.value {
        entries.retain(|entry| T::FIELDS.iter().any(|field| field.name == entry.key));
    }
    let read = |node: &Node, problems: &mut Problems| T::read(node, path, &[], problems);
    read_sound(&own, path, &[], problems, read).map(|(common, rest)| (common, rest.is_none()))
}

fn rate_of(hz: f64, node: &Node, path: &str, problems: &mut Problems) -> Option<Rate> {
    let rate = Rate::from_hz(hz);
    if rate.is_none() {
        let place = node.get("rate_hz").map_or(node.place, |rate| rate.place);
        let expected = format!("more than 0 and at most {} Hz", Rate::MAX_HZ);
        problems.error(place, &below(path, "rate_hz"), format!("{hz}"), expected);
    }
    rate
}

fn slower_than(ticks: Rate, hz: f64, node: &Node, path: &str, problems: &mut Problems) -> Option<Rate> {
    let rate = rate_of(hz, node, path, problems)?;
    if rate.hz() <= ticks.hz() {
        return Some(rate);
    }
    let place = node.get("rate_hz").map_or(node.place, |rate| rate.place);
    let expected = format!("at most the robot's {} ticks a second (motion.rate_hz)", ticks.hz());
    problems.error(place, &below(path, "rate_hz"), format!("{hz} Hz"), expected);
    None
}
