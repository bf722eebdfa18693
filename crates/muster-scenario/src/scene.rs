//! What stands in a world: obstacles, each once or by `count` and `layout`, and objects, which are obstacles with one place
//! together. A world is the same in every run: its layouts do not depend on the run's seed.

use crate::assets::Wrong;
use crate::files::Files;
use crate::layout::{self, Layout};
use crate::occupancy;
use crate::outline::{solid, terrain};
use crate::robot::{GroupNames, at_pose, place_below};
use crate::skins::SkinText;
use crate::template::{Scope, expand};
use crate::text::{ObjectText, ObstacleText, WorldText};
use crate::walls::{along_lines, drawn};
use glam::DVec3;
use muster_core::component::Pose;
use muster_core::contact::{Groups, Obstacle, Surface};
use muster_core::material::Material;
use muster_core::node::{Node, Place, Problem, Problems, Value};
use muster_core::random;
use muster_core::shape::{Shape, Solid};
use muster_core::spec::{Parameter, Schema, below, read_field};
use std::collections::BTreeSet;

/// A map whose keys the user chooses; an entry with a `count` stands for as many.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeated<T>(pub Vec<Instance<T>>);

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance<T> {
    /// Its key, with its number if there is a count.
    pub name: String,
    /// Its text, templates expanded.
    pub text: T,
    /// Its place in the layout.
    pub place: Option<Pose>,
    /// Where it is written.
    pub written: Place,
    /// Where its outline is written.
    pub outlined: Place,
}

impl<T> Default for Repeated<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Parameter> Parameter for Repeated<T> {
    fn schema(min: f64, max: f64) -> Schema {
        Schema::MapOf(Box::new(T::schema(min, max)))
    }

    fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
        let Some(entries) = node.entries() else {
            problems.error(node.place, path, node.found(), Self::schema(limits.0, limits.1).type_name());
            return None;
        };
        let before = problems.errors();
        let all = entries.iter().flat_map(|entry| instances(&entry.key, &entry.value, path, problems));
        let all: Vec<Instance<T>> = all.collect();
        (problems.errors() == before).then_some(Self(all))
    }

    fn show(&self) -> String {
        let shown: Vec<String> = self.0.iter().map(|one| format!("{}: {}", one.name, one.text.show())).collect();
        format!("{{{}}}", shown.join(", "))
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}

const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// What one entry stands for, as far as it can be read; what is wrong with all of a count is told once.
fn instances<T: Parameter>(key: &str, node: &Node, path: &str, problems: &mut Problems) -> Vec<Instance<T>> {
    let path = &below(path, key);
    let (written, outlined) = (node.place, outline_place(node));
    if node.get("count").is_none() && node.get("layout").is_none() {
        let text = T::read(node, path, ANY, problems);
        return text
            .map(|text| Instance { name: key.to_owned(), text, place: None, written, outlined })
            .into_iter()
            .collect();
    }
    let Some((numbered, places)) = places(key, node, path, problems) else { return Vec::new() };
    let one = |(i, place): (usize, &Option<Pose>)| {
        let name = if numbered { format!("{key}{i}") } else { key.to_owned() };
        let scope = Scope::default().with_number("i", i as f64).with_number("n", places.len() as f64);
        let own = expand_own(node, &scope.with_text("name", &name));
        let own = own.map_err(|list| note(list, path, problems)).ok()?;
        let text = T::read(&own, path, ANY, problems)?;
        Some(Instance { name, text, place: *place, written, outlined })
    };
    places.iter().enumerate().map_while(one).collect()
}

/// Where the shape of a block is written, if it has one.
fn outline_place(node: &Node) -> Place {
    const INNER: [(&str, &str); 4] =
        [("terrain", "height"), ("mesh", "triangles"), ("walls", "lines_m"), ("plan", "rows")];
    let inner = INNER.iter().find(|(word, _)| node.get(word).is_some());
    inner.map_or(node.place, |(word, key)| place_below(node, &[word, key]))
}

/// A place for each of a count, and whether their names are numbered.
fn places(key: &str, node: &Node, path: &str, problems: &mut Problems) -> Option<(bool, Vec<Option<Pose>>)> {
    let count: Option<usize> = read_field(node, path, "count", (None, (0.0, 1e6)), problems)?;
    let number = count.unwrap_or(1);
    let layout: Option<Layout> = read_field(node, path, "layout", (None, ANY), problems)?;
    let Some(layout) = layout else { return Some((count.is_some(), vec![None; number])) };
    match layout::poses(&layout, number, 0, random::id_of(key)) {
        Ok(poses) => Some((count.is_some(), poses.into_iter().map(Some).collect())),
        Err(expected) => {
            let place = node.get("layout").map_or(node.place, |layout| layout.place);
            problems.error(place, &below(path, "layout"), "a layout that does not work", expected);
            None
        }
    }
}

/// Templates expanded, but for obstacles that have a count of their own: there `{i}` is theirs.
fn expand_own(node: &Node, scope: &Scope) -> Result<Node, Vec<Problem>> {
    let mut node = node.clone();
    let inner = node.take("obstacles");
    let mut node = expand(node, scope)?;
    if let Some(mut inner) = inner {
        if let Value::Map(entries) = &mut inner.value {
            for entry in entries.iter_mut().filter(|entry| entry.value.get("count").is_none()) {
                entry.value = expand(std::mem::take(&mut entry.value), scope)?;
            }
        }
        node.set("obstacles", inner);
    }
    Ok(node)
}

fn note(list: Vec<Problem>, path: &str, problems: &mut Problems) {
    for problem in list {
        problems.error_with_hint(problem.place, path, problem.found, problem.expected, problem.hint);
    }
}

/// Everything solid of a world, and whether that is whole.
pub(crate) fn obstacles(
    (world, whole): (&WorldText, bool),
    groups: &mut GroupNames,
    materials: &[Material],
    files: &mut Files,
    problems: &mut Problems,
) -> Vec<Obstacle> {
    let mut scene = Scene { all: Vec::new(), names: BTreeSet::new(), whole, groups, materials, files, problems };
    if world.ground {
        scene.ground(&world.ground_skin);
    }
    // what others stand on comes first
    let (high, low): (Vec<_>, Vec<_>) = world.obstacles.0.iter().partition(|obstacle| obstacle.text.on_terrain);
    for obstacle in low.into_iter().chain(high) {
        scene.obstacle(obstacle, "world.obstacles", None);
    }
    for object in &world.objects.0 {
        scene.object(object);
    }
    scene.all
}

/// Obstacles as far as they are placed.
struct Scene<'a> {
    all: Vec<Obstacle>,
    names: BTreeSet<String>,
    /// Nothing is missing because of another problem.
    whole: bool,
    groups: &'a mut GroupNames,
    materials: &'a [Material],
    files: &'a mut Files,
    problems: &'a mut Problems,
}

impl Scene<'_> {
    fn ground(&mut self, skin: &SkinText) {
        match skin.read(self.files, self.materials).and_then(|skin| Ok((skin, solid(Shape::Plane)?))) {
            Ok((skin, solid)) => self.all.push(Obstacle { skin, ..Obstacle::new("ground", solid, Pose::IDENTITY) }),
            Err(wrong) => wrong.note(Place::default(), "world.ground_skin", self.problems),
        }
    }

    fn object(&mut self, object: &Instance<ObjectText>) {
        let path = format!("world.objects.{}", object.name);
        if object.text.obstacles.0.is_empty() && object.text.kind.is_none() {
            self.problems.error(object.written, &path, "an object of nothing", "kind, or obstacles");
        }
        let own = layout::placed(object.place, at_pose(&object.text.at));
        let pose = self.lifted(own, object.text.on_terrain, (object.written, &path));
        for obstacle in &object.text.obstacles.0 {
            self.obstacle(obstacle, &path, Some((object, pose)));
        }
    }

    /// Adds an obstacle of the world, or of an object at a pose.
    fn obstacle(&mut self, obstacle: &Instance<ObstacleText>, path: &str, of: Option<(&Instance<ObjectText>, Pose)>) {
        let (text, path) = (&obstacle.text, format!("{path}.{}", obstacle.name));
        let read =
            solids(text, self.files).and_then(|solids| Ok((solids, text.skin.read(self.files, self.materials)?)));
        let (solids, skin) = match read {
            Ok(read) => read,
            Err(wrong) => return wrong.note(obstacle.outlined, &path, self.problems),
        };
        let groups = if text.collides { self.groups.read(&text.groups, &[]) } else { Groups::NONE };
        let own = layout::placed(obstacle.place, at_pose(&text.at));
        let pose = of.map_or(own, |(_, pose)| pose.then(&own));
        let pose = self.lifted(pose, text.on_terrain, (obstacle.written, &path));
        let name = of.map_or_else(|| obstacle.name.clone(), |(object, _)| format!("{}.{}", object.name, obstacle.name));
        let of_object = of.map_or(&[] as &[String], |(object, _)| &object.text.tags);
        let several = solids.len() > 1;
        for (number, (solid, part)) in solids.into_iter().enumerate() {
            let name = if several { format!("{name}.{number}") } else { name.clone() };
            if !self.names.insert(name.clone()) {
                let found = format!("a second obstacle {name:?}");
                self.problems.error(obstacle.written, &path, found, "a name that is not taken");
            }
            self.all.push(Obstacle {
                name,
                solid,
                pose: pose.then(&part),
                surface: Surface { friction: text.friction, restitution: text.restitution },
                belt_mps: DVec3::from(text.belt_mps),
                groups,
                tags: of_object.iter().chain(&text.tags).cloned().collect(),
                skin: skin.clone(),
                visible: text.visible,
            });
        }
    }

    /// The pose with its height counted from the terrain below, if it is told so.
    fn lifted(&mut self, pose: Pose, on_terrain: bool, at: (Place, &str)) -> Pose {
        match on_terrain {
            true => lifted(&self.all, self.whole, pose, at, self.problems),
            false => pose,
        }
    }
}

/// What things stand on.
pub(crate) struct Ground {
    bearing: Vec<Obstacle>,
    /// Nothing is missing because of another problem.
    whole: bool,
}

impl Ground {
    /// What of these obstacles bears others.
    pub(crate) fn new(obstacles: &[Obstacle], whole: bool) -> Self {
        Self { bearing: obstacles.iter().filter(bears).cloned().collect(), whole }
    }

    /// The pose with its height counted from what is below.
    pub(crate) fn lifted(&self, pose: Pose, at: (Place, &str), problems: &mut Problems) -> Pose {
        lifted(&self.bearing, self.whole, pose, at, problems)
    }
}

fn bears(obstacle: &&Obstacle) -> bool {
    matches!(obstacle.solid.shape(), Shape::Plane | Shape::Heightfield(_))
}

fn lifted(all: &[Obstacle], whole: bool, pose: Pose, (written, path): (Place, &str), problems: &mut Problems) -> Pose {
    let height_m = height_m(all, pose.position_m);
    if height_m.is_none() && whole {
        let found = format!("nothing below ({}, {})", pose.position_m.x, pose.position_m.y);
        problems.error(written, path, found, "terrain or a plane, with on_terrain");
    }
    Pose { position_m: pose.position_m + DVec3::Z * height_m.unwrap_or(0.0), ..pose }
}

/// Height of the highest terrain or plane at a place.
fn height_m(all: &[Obstacle], at_m: DVec3) -> Option<f64> {
    // a ray along an edge between two triangles may pass between them
    const ASIDE_M: [f64; 2] = [0.0, 1e-6];
    let height = |obstacle: &Obstacle| {
        ASIDE_M.iter().find_map(|aside| {
            let above = DVec3::new(at_m.x + aside, at_m.y + aside, SKY_M);
            let hit = obstacle.solid.ray(&obstacle.pose, above, DVec3::NEG_Z, 2.0 * SKY_M)?;
            Some(SKY_M - hit.distance_m)
        })
    };
    all.iter().filter(bears).filter_map(height).reduce(f64::max)
}

/// Above all terrain.
const SKY_M: f64 = 1e5;

/// The solids of an obstacle and their places on it.
fn solids(text: &ObstacleText, files: &mut Files) -> Result<Vec<(Solid, Pose)>, Wrong> {
    let mut alone = text.solids(files);
    alone.extend(text.plane.then(|| solid(Shape::Plane)));
    alone.extend(text.terrain.as_ref().map(|text| terrain(text, files)));
    let written = |wrong: String| Wrong::told(&wrong, "a shape");
    let walls = [
        text.walls.as_ref().map(|walls| along_lines(walls).map_err(written)),
        text.plan.as_ref().map(|plan| drawn(plan).map_err(written)),
        text.map.as_ref().map(|map| occupancy::walls(map, files)),
    ];
    let block = |(half_m, pose)| Ok((solid(Shape::Box { half_m })?, pose));
    let walls = walls.into_iter().flatten().map(|walls| walls?.into_iter().map(block).collect());
    let alone = alone.into_iter().map(|solid| Ok(vec![(solid?, Pose::IDENTITY)]));
    let mut made: Vec<Result<Vec<(Solid, Pose)>, Wrong>> = alone.chain(walls).collect();
    let words = "sphere_radius_m, box_size_m, cylinder, capsule, cone, mesh, terrain, walls, plan, map, plane: true";
    match (made.pop(), made.len()) {
        (Some(made), 0) => made,
        (None, _) => Err(Wrong::new("no shape", format!("one of {words}"))),
        (_, more) => Err(Wrong::new(format!("{} shapes", more + 1), format!("exactly one of {words}"))),
    }
}
