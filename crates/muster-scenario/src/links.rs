//! Links of a scenario: which channels of robots are bound to which protocols, and how these are set up. Both ways of
//! writing it end in the same bindings: `links` of a robot, and the dictionary `component_mw` of MORSE.

use crate::files::Files;
use crate::text::LinkText;
use muster_core::component::Registry;
use muster_core::link::{Binding, Channel, LinkKind};
use muster_core::model::{Blueprint, Placement};
use muster_core::node::{Node, Place, Problem, Problems, Value};
use muster_core::spec::Spec;
use std::collections::BTreeMap;

/// Links of a scenario.
#[derive(Debug, Clone, Default)]
pub struct Links {
    /// What is bound to what.
    pub bindings: Vec<Binding>,
    /// What was written for links as a whole, by kind.
    pub settings: BTreeMap<&'static str, Node>,
}

/// Keys of a binding that are not options of its link.
const OWN: [&str; 2] = ["channel", "to"];

/// What reading links needs.
pub(crate) struct Reader<'a> {
    pub(crate) registry: Registry,
    pub(crate) files: &'a Files,
}

impl Reader<'_> {
    /// The kind of link with a name.
    fn kind(&self, name: &str, place: Place, path: &str, problems: &mut Problems) -> Option<&'static LinkKind> {
        let found = self.registry.links.iter().find(|kind| kind.name == name).copied();
        if found.is_none() {
            problems.unknown(place, path, name, "a link", self.registry.links.iter().map(|kind| kind.name));
        }
        found
    }

    /// The bindings of one robot.
    pub(crate) fn of_robot(
        &self,
        (robot, blueprint): (&str, &Blueprint),
        blocks: &[Node],
        path: &str,
        problems: &mut Problems,
    ) -> Vec<Binding> {
        let numbered = blocks.iter().enumerate();
        let read = |(at, block)| self.binding((robot, blueprint), block, &format!("{path}.links[{at}]"), problems);
        numbered.flat_map(read).collect()
    }

    /// What one block of a robot's links binds: a channel, all that match a pattern, or the robot as a whole.
    fn binding(
        &self,
        (robot, blueprint): (&str, &Blueprint),
        block: &Node,
        path: &str,
        problems: &mut Problems,
    ) -> Vec<Binding> {
        let Some(text) = read_own(block, path, problems) else { return Vec::new() };
        let place_of = |key: &str| block.get(key).map_or(block.place, |node| node.place);
        let Some(kind) = self.kind(&text.to, place_of("to"), &format!("{path}.to"), problems) else {
            return Vec::new();
        };
        if !(kind.options.check)(block, path, &OWN, problems) {
            return Vec::new();
        }
        let bound = |channel: &str| Binding {
            robot: robot.to_owned(),
            channel: channel.to_owned(),
            to: kind,
            options: block.clone(),
            place: block.place,
            at: self.files.place(block.place),
        };
        let named = text.channel.as_deref().unwrap_or_default();
        let (place, path) = (place_of("channel"), format!("{path}.channel"));
        if named.contains('*') {
            let fitting = channels(blueprint)
                .filter(|(name, channel)| muster_core::node::matches(named, name) && (kind.carries)(channel).is_ok());
            let found: Vec<Binding> = fitting.map(|(name, _)| bound(name)).collect();
            if found.is_empty() {
                let expected = format!("a pattern of channels that {} carries", kind.name);
                problems.error(place, &path, format!("{named:?}"), expected);
            }
            return found;
        }
        let channel = match named {
            "" => Some(Channel::Robot(blueprint)),
            named => channels(blueprint).find(|(name, _)| *name == named).map(|(_, channel)| channel),
        };
        let Some(channel) = channel else {
            let what = format!("a channel of {robot}");
            problems.unknown(place, &path, named, &what, channels(blueprint).map(|(name, _)| name));
            return Vec::new();
        };
        match (kind.carries)(&channel) {
            Ok(()) => vec![bound(named)],
            Err((found, expected)) => {
                problems.error(place, &path, found, expected);
                Vec::new()
            }
        }
    }

    /// What is written for links as a whole.
    pub(crate) fn settings(&self, node: &Node, problems: &mut Problems) -> BTreeMap<&'static str, Node> {
        let mut settings = BTreeMap::new();
        let Some(entries) = node.entries() else {
            if node.value != Value::Null {
                problems.error(node.place, "links", node.found(), "a map of links, by kind");
            }
            return settings;
        };
        for entry in entries {
            let path = format!("links.{}", entry.key);
            let Some(kind) = self.kind(&entry.key, entry.key_place, "links", problems) else { continue };
            if (kind.settings.check)(&entry.value, &path, &[], problems) {
                settings.insert(kind.name, entry.value.clone());
            }
        }
        settings
    }

    /// The bindings of MORSE's dictionary: `component: [middleware, method, module]`, or a list of such lists.
    pub(crate) fn component_mw(&self, node: &Node, robots: &[Placement], problems: &mut Problems) -> Vec<Binding> {
        let Some(entries) = node.entries() else {
            if node.value != Value::Null {
                let expected = "a map from components to [middleware, method]";
                problems.error(node.place, "component_mw", node.found(), expected);
            }
            return Vec::new();
        };
        let mut bindings = Vec::new();
        for entry in entries {
            let path = format!("component_mw.{}", entry.key);
            let Some(owner) = self.owner(&entry.key, (entry.key_place, &path), robots, problems) else { continue };
            let several = match &entry.value.value {
                Value::List(items) if items.iter().all(|item| matches!(item.value, Value::List(_))) => items.as_slice(),
                _ => std::slice::from_ref(&entry.value),
            };
            for middleware in several {
                bindings.extend(self.hook(owner, middleware, &path, problems));
            }
        }
        bindings
    }

    /// Whose component it is: `robot.component`, or a component that only one robot has.
    fn owner<'r, 'n>(
        &self,
        name: &'n str,
        (place, path): (Place, &str),
        robots: &'r [Placement],
        problems: &mut Problems,
    ) -> Option<(&'r Placement, &'n str)> {
        let has = |robot: &Placement, component: &str| {
            channels(&robot.cohort.blueprint).any(|(channel, _)| channel == component)
        };
        if let Some((robot, component)) = name.split_once('.')
            && let Some(robot) = robots.iter().find(|each| each.name == robot)
            && has(robot, component)
        {
            return Some((robot, component));
        }
        let owners: Vec<&Placement> = robots.iter().filter(|robot| has(robot, name)).collect();
        match owners.as_slice() {
            [only] => Some((only, name)),
            [] => {
                let of = |robot: &Placement| {
                    channels(&robot.cohort.blueprint)
                        .flat_map(|(channel, _)| [channel.to_owned(), format!("{}.{channel}", robot.name)])
                        .collect::<Vec<String>>()
                };
                let all: Vec<String> = robots.iter().flat_map(of).collect();
                problems.unknown(place, path, name, "a component of a robot", all.iter().map(String::as_str));
                None
            }
            several => {
                let found = format!("{name:?}, which {} robots have", several.len());
                problems.error(place, path, found, format!("{}.{name}, for example", several[0].name));
                None
            }
        }
    }

    /// One hook: `[middleware, method, module]`.
    fn hook(
        &self,
        (robot, component): (&Placement, &str),
        node: &Node,
        path: &str,
        problems: &mut Problems,
    ) -> Vec<Binding> {
        let words: Option<Vec<&str>> = match &node.value {
            Value::List(items) => items.iter().map(Node::text).collect(),
            _ => None,
        };
        let Some([middleware, _method, module @ ..]) = words.as_deref() else {
            problems.error(node.place, path, node.found(), "[middleware, method] or [middleware, method, module]");
            return Vec::new();
        };
        let lower = middleware.to_lowercase();
        let to = match lower.as_str() {
            "yarp" | "pocolibs" => {
                let expected = "a middleware that is spoken here: its data go by socket";
                problems.warn(node.place, path, format!("{middleware:?}"), expected);
                "socket"
            }
            own => own,
        };
        if let [module] = module {
            let expected = format!("no module: {to} serialises everything itself");
            problems.warn(node.place, path, format!("{module:?}"), expected);
        }
        let mut block = Node { place: node.place, ..Node::default() };
        for (key, value) in [("channel", component), ("to", to)] {
            block.set(key, Node { place: node.place, ..Node::of(Value::Text(value.to_owned())) });
        }
        self.binding((&robot.name, &robot.cohort.blueprint), &block, path, problems)
    }
}

/// Reads one binding of a robot from a text, written as an item under `links:`.
pub fn bindings(
    files: &mut Files,
    robot: (&str, &Blueprint),
    text: &str,
    registry: Registry,
) -> Result<Vec<Binding>, Vec<Problem>> {
    let node = files.load_text("link.yaml", text)?;
    let mut problems = Problems::default();
    let found = Reader { registry, files }.binding(robot, &node, robot.0, &mut problems);
    if problems.any_error() { Err(problems.list().to_vec()) } else { Ok(found) }
}

/// The part of a binding that is the same for all kinds of links.
fn read_own(block: &Node, path: &str, problems: &mut Problems) -> Option<LinkText> {
    if block.entries().is_none() {
        problems.error(block.place, path, block.found(), "a map with channel, to, and the link's options");
        return None;
    }
    let mut own = Node { place: block.place, ..Node::default() };
    for key in OWN {
        if let Some(value) = block.get(key) {
            own.set(key, value.clone());
        }
    }
    <LinkText as Spec>::read(&own, path, &[], problems)
}

/// The channels of robots of a sort, by name.
pub fn channels(blueprint: &Blueprint) -> impl Iterator<Item = (&str, Channel<'_>)> + Clone {
    let sensors = blueprint.sensors.iter().map(|slot| (slot.name.as_str(), Channel::Sensor(slot)));
    sensors.chain(blueprint.actuators.iter().map(|slot| (slot.name.as_str(), Channel::Actuator(slot))))
}
