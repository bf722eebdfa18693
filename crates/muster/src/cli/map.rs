//! `muster map`: a world or a scenario seen from above, as a picture (SVG). What is higher is drawn later and throws a
//! longer shadow; pointing at something tells its name.

mod contours;
mod outline;
mod sheet;

use super::{FAILED, INVALID, MapArguments, OK, unloaded};
use glam::{DVec2, DVec3};
use muster::{LoadError, Simulation, library};
use muster_core::contact::Obstacle;
use muster_core::math;
use muster_core::node::{Node, nearest};
use muster_core::shape::Shape;
use muster_core::zone::Zone;
use muster_scenario::files::Files;
use outline::{Form, Outline};
use sheet::{Sheet, round_up};
use std::collections::{BTreeMap, BTreeSet};

/// How often the places of robots are noted for their trails, s.
const TRAIL_S: f64 = 0.1;

/// Colours of the kinds of robots, in turn.
const ROBOTS: [&str; 8] = ["#d1495b", "#1f77b4", "#6a4c93", "#e08e0b", "#0b8f6a", "#c2447a", "#3d5a80", "#7a5c3e"];

/// Draws what was asked for and returns the exit code.
pub(crate) fn map(arguments: &MapArguments) -> u8 {
    if let Some(error) = missing(&arguments.what) {
        eprintln!("{error}");
        return INVALID;
    }
    let (mut sim, about) = match load(arguments) {
        Ok(loaded) => loaded,
        Err(error) => return unloaded(&error),
    };
    let trails = trails(&mut sim, arguments.at.as_secs_f64());
    let name = arguments.what.rsplit('/').next().unwrap_or_default().trim_end_matches(".yaml").replace('_', " ");
    let picture = Picture::new(&sim, trails).draw(&name, &about);
    if arguments.output.as_os_str() == "-" {
        say!("{}", picture.trim_end());
        return OK;
    }
    if let Err(error) = std::fs::write(&arguments.output, picture) {
        eprintln!("error: cannot write {}: {error}", arguments.output.display());
        return FAILED;
    }
    let world = sim.world();
    let obstacles = world.model().environment.obstacles.len();
    say!("{}: {obstacles} obstacles, {} robots", arguments.output.display(), world.robots().count());
    OK
}

/// What is said of a name that is neither a file nor a world of the library.
fn missing(name: &str) -> Option<String> {
    let worlds: Vec<&str> = library::names("worlds").collect();
    if name.ends_with(".yaml") || std::path::Path::new(name).exists() || worlds.contains(&name) {
        return None;
    }
    let near = nearest(name, worlds.iter().copied());
    let hint = near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
    Some(format!(
        "error: found no file {name:?}, expected a scenario, or one of the worlds {}{hint}",
        worlds.join(", ")
    ))
}

/// A scenario, or a world without robots, and what it says about itself.
fn load(arguments: &MapArguments) -> Result<(Simulation, String), LoadError> {
    let (name, setup) = (&arguments.what, arguments.over.setup());
    let short = library::names("worlds").any(|world| world == name) && !std::path::Path::new(name).is_file();
    let file = if short { format!("worlds/{name}.yaml") } else { name.clone() };
    let node = Files::new(setup.search.clone(), library::Embedded).load(&file).unwrap_or_default();
    let is_world = |node: &Node| !["muster", "world", "robots", "run"].iter().any(|key| node.get(key).is_some());
    if node != Node::default() && is_world(&node) {
        let about = node.get("about").and_then(Node::text).unwrap_or_default().to_owned();
        return Ok((Simulation::from_text(&format!("world: {{include: {file:?}}}"), &setup)?, about));
    }
    let sim = Simulation::load(&file, &setup)?;
    let about = sim.scenario().about.clone();
    Ok((sim, about))
}

/// Runs for a while and notes where robots are on the way.
fn trails(sim: &mut Simulation, for_s: f64) -> Vec<Vec<DVec2>> {
    let here = |sim: &Simulation, trails: &mut Vec<Vec<DVec2>>| {
        let poses = sim.world().robots().filter_map(|robot| sim.world().pose(&robot.name));
        for (trail, pose) in trails.iter_mut().zip(poses) {
            trail.push(pose.position_m.truncate());
        }
    };
    let mut trails = vec![Vec::new(); sim.world().robots().count()];
    here(sim, &mut trails);
    let steps = (for_s / TRAIL_S).ceil();
    for _ in 0..steps as usize {
        sim.run_for(for_s / steps);
        here(sim, &mut trails);
    }
    trails
}

/// What is drawn.
struct Picture<'a> {
    sim: &'a Simulation,
    /// Obstacles that have an end, lowest top first.
    solids: Vec<(&'a Obstacle, Outline)>,
    zones: Vec<(&'a Zone, Form)>,
    trails: Vec<Vec<DVec2>>,
    /// Height of what all stands on, m.
    floor_m: f64,
}

impl<'a> Picture<'a> {
    fn new(sim: &'a Simulation, trails: Vec<Vec<DVec2>>) -> Self {
        let environment = &sim.world().model().environment;
        let obstacles = &environment.obstacles;
        let outlined = |obstacle: &'a Obstacle| Some((obstacle, Outline::new(&obstacle.solid, &obstacle.pose)?));
        let mut solids: Vec<(&Obstacle, Outline)> = obstacles.iter().filter_map(outlined).collect();
        solids.sort_by(|a, b| a.1.top_m.total_cmp(&b.1.top_m));
        let planes = obstacles.planes().iter().map(|&number| obstacles[number as usize].pose.position_m.z);
        let lowest = solids.iter().map(|(_, outline)| outline.bottom_m).reduce(f64::min).unwrap_or(0.0);
        let water = environment.water.map(|water| water.level_m);
        let floor_m = planes.chain(water).reduce(f64::max).unwrap_or(lowest);
        // of a ball that is mostly in the ground one sees the smaller circle that looks out
        for (obstacle, outline) in &mut solids {
            let depth_m = floor_m - obstacle.pose.position_m.z;
            if let (Shape::Sphere { radius_m }, Form::Round(_, seen_m)) = (obstacle.solid.shape(), &mut outline.form)
                && (0.0..*radius_m).contains(&depth_m)
            {
                *seen_m = (radius_m * radius_m - depth_m * depth_m).sqrt();
            }
        }
        Self {
            sim,
            solids,
            zones: environment.zones.iter().filter_map(|zone| Some((zone, zone_form(zone)?))).collect(),
            trails,
            floor_m,
        }
    }

    /// What must be on the sheet, with a margin.
    fn bounds(&self) -> (DVec2, DVec2) {
        let environment = &self.sim.world().model().environment;
        let solids = self.solids.iter().map(|(_, outline)| outline.form.bounds());
        let zones = self.zones.iter().map(|(_, form)| form.bounds());
        let fires = environment.fires.iter().map(|fire| fire.position_m.truncate());
        let robots = self.sim.world().robots().zip(&self.trails).flat_map(|(robot, trail)| {
            trail.iter().map(|place| (*place - robot.cohort.radius_m, *place + robot.cohort.radius_m))
        });
        let corners = solids.chain(zones).chain(robots).flat_map(|(least, most)| [least, most]);
        let (least, most) = outline::bounds(corners.chain(fires));
        if least.x > most.x {
            return (DVec2::splat(-5.0), DVec2::splat(5.0));
        }
        let margin = (0.03 * (most - least).max_element()).max(0.5);
        (least - margin, most + margin)
    }

    fn draw(&self, title: &str, about: &str) -> String {
        let (least, most) = self.bounds();
        let mut sheet = Sheet::new(least, most);
        sheet.add("<g clip-path='url(#map)'>");
        let water_m = self.sim.world().model().environment.water.map(|water| water.level_m);
        self.planes(&mut sheet, water_m);
        let shown = |outline: &Outline| water_m.is_none_or(|level_m| outline.top_m > level_m);
        if let Some(level_m) = water_m {
            self.terrain(&mut sheet, f64::NEG_INFINITY, level_m);
            self.obstacles(&mut sheet, |outline| !shown(outline));
            sheet.cover("fill='#4f93bf' fill-opacity='0.55'", "water");
        }
        self.terrain(&mut sheet, water_m.unwrap_or(self.floor_m), f64::INFINITY);
        self.zones(&mut sheet);
        sheet.add("</g>");
        sheet.grid();
        sheet.add("<g clip-path='url(#map)'>");
        self.obstacles(&mut sheet, shown);
        self.fires(&mut sheet);
        self.robots(&mut sheet);
        self.labels(&mut sheet);
        sheet.add("</g>");
        self.legend(&mut sheet);
        sheet.finish(title, about)
    }

    fn planes(&self, sheet: &mut Sheet, water_m: Option<f64>) {
        let obstacles = &self.sim.world().model().environment.obstacles;
        sheet.cover("fill='#fbfbfa'", "");
        for &number in obstacles.planes() {
            let plane = &obstacles[number as usize];
            let deep = water_m.is_some_and(|level_m| plane.pose.position_m.z < level_m);
            let fill = plane
                .skin
                .colour
                .map(|rgb| rgb.map(f64::from))
                .map_or_else(|| if deep { "#cfc8b2" } else { "#efece4" }.to_owned(), hex);
            sheet.cover(&format!("fill='{fill}'"), &plane.name);
        }
    }

    /// Areas of terrain above one height after another.
    fn terrain(&self, sheet: &mut Sheet, from_m: f64, to_m: f64) {
        for (obstacle, outline) in &self.solids {
            let Shape::Heightfield(heights) = obstacle.solid.shape() else { continue };
            let low_m = from_m.max(outline.bottom_m);
            let grid = contours::Grid::new(heights);
            let step_m = round_up((outline.top_m - low_m) / 8.0);
            let world = |place: &mut DVec2| {
                let turned = math::rotate(obstacle.pose.orientation, place.extend(0.0));
                *place = (obstacle.pose.position_m + turned).truncate();
            };
            sheet.add(format_args!("<g><title>{}</title>", sheet::escaped(&obstacle.name)));
            for level in 0..10 {
                let height_m = low_m + step_m * f64::from(level);
                let (mut areas, mut lines) = grid.above(height_m - obstacle.pose.position_m.z);
                if areas.is_empty() || height_m > to_m {
                    break;
                }
                areas.iter_mut().flatten().chain(lines.iter_mut().flatten()).for_each(world);
                let share = f64::from(level) / 8.0;
                let fill = hex(mixed([0.87, 0.89, 0.77], [0.72, 0.6, 0.42], share));
                sheet.areas(
                    &areas,
                    &format!(
                        "fill='{}'",
                        obstacle.skin.colour.map(|rgb| rgb.map(f64::from)).map_or(fill, |own| hex(mixed(
                            own,
                            [1.0; 3],
                            0.5 - 0.4 * share
                        )))
                    ),
                );
                sheet.lines(&lines, "stroke='#7d6a48' stroke-opacity='0.45' stroke-width='0.7'");
            }
            sheet.add("</g>");
        }
    }

    fn obstacles(&self, sheet: &mut Sheet, shown: impl Fn(&Outline) -> bool) {
        let highest_m = self.solids.last().map_or(1.0, |(_, outline)| outline.top_m - self.floor_m).max(1e-6);
        let drawn = |(obstacle, outline): &&(&Obstacle, Outline)| !is_terrain(obstacle) && shown(outline);
        sheet.add("<g opacity='0.2'>");
        for (_, outline) in self.solids.iter().filter(drawn) {
            sheet.shadow(outline, self.floor_below_m(outline));
        }
        sheet.add("</g>");
        for (obstacle, outline) in self.solids.iter().filter(drawn) {
            let share = ((outline.top_m - self.floor_m).max(0.0) / highest_m).sqrt();
            let fill = obstacle
                .skin
                .mean_colour()
                .map(|rgb| rgb.map(f64::from))
                .unwrap_or_else(|| mixed([0.76, 0.79, 0.82], [0.36, 0.42, 0.5], share));
            let edge = hex(mixed(fill, [0.05, 0.07, 0.1], 0.4));
            let tags =
                if obstacle.tags.is_empty() { String::new() } else { format!(" ({})", obstacle.tags.join(", ")) };
            let title = format!("{}{tags}, up to {:.2} m", obstacle.name, outline.top_m);
            sheet.outline(&outline.form, &format!("fill='{}' stroke='{edge}' stroke-width='0.6'", hex(fill)), &title);
            self.relief(sheet, obstacle, outline, fill);
        }
    }

    /// Height of the terrain below the middle of an outline, or of what all stands on, m.
    fn floor_below_m(&self, outline: &Outline) -> f64 {
        const SKY_M: f64 = 1e5;
        let (least, most) = outline.form.bounds();
        let above = (0.5 * (least + most)).extend(SKY_M);
        let terrain = self.solids.iter().filter(|(obstacle, _)| is_terrain(obstacle));
        let height =
            terrain.filter_map(|(terrain, _)| terrain.solid.ray(&terrain.pose, above, DVec3::NEG_Z, 2.0 * SKY_M));
        height.map(|hit| SKY_M - hit.distance_m).fold(self.floor_m, f64::max)
    }

    /// What makes roofs look like roofs, and balls and cones round.
    fn relief(&self, sheet: &mut Sheet, obstacle: &Obstacle, outline: &Outline, fill: [f64; 3]) {
        match (obstacle.solid.shape(), &outline.form) {
            (Shape::Mesh(mesh), _) => {
                for (corners, light) in outline::lit_triangles(mesh, &obstacle.pose) {
                    let shade = hex(mixed([0.05, 0.07, 0.1], fill, 0.45 + 0.55 * light));
                    let style = format!("fill='{shade}' stroke='{shade}' stroke-width='0.4'");
                    sheet.outline(&Form::Polygon(corners.to_vec()), &style, "");
                }
            }
            (Shape::Sphere { .. } | Shape::Cone { .. }, Form::Round(centre, radius_m)) => {
                let lit = Form::Round(*centre + DVec2::new(-0.22, 0.22) * *radius_m, 0.55 * radius_m);
                sheet.outline(&lit, "fill='#ffffff' fill-opacity='0.16'", "");
            }
            _ => (),
        }
    }

    fn zones(&self, sheet: &mut Sheet) {
        for (zone, form) in &self.zones {
            let title = format!("{} ({})", zone.name, zone.purposes.join(", "));
            sheet.outline(form, zone_style(zone), &title);
        }
    }

    fn fires(&self, sheet: &mut Sheet) {
        sheet.add(
            "<radialGradient id='fire'><stop offset='0' stop-color='#ffd23f'/><stop offset='0.35' stop-color='#f26a1b'/>\
             <stop offset='1' stop-color='#d7263d' stop-opacity='0'/></radialGradient>",
        );
        for fire in &self.sim.world().model().environment.fires {
            let radius_m = (1.6 * fire.extent_m).max(9.0 / sheet.px_per_m());
            let title = format!("{}, {} K hotter than the air", fire.name, fire.temperature_k);
            sheet.outline(&Form::Round(fire.position_m.truncate(), radius_m), "fill='url(#fire)'", &title);
        }
    }

    /// Colours of the kinds of robots, and how many there are of each.
    fn kinds(&self) -> BTreeMap<&str, (&'static str, usize)> {
        let mut kinds: BTreeMap<&str, (&'static str, usize)> = BTreeMap::new();
        for robot in self.sim.world().robots() {
            let next = ROBOTS[kinds.len() % ROBOTS.len()];
            kinds.entry(&robot.cohort.blueprint.kind).or_insert((next, 0)).1 += 1;
        }
        kinds
    }

    fn robots(&self, sheet: &mut Sheet) {
        let (world, kinds) = (self.sim.world(), self.kinds());
        let colour = |kind: &str| kinds.get(kind).map_or(ROBOTS[0], |(colour, _)| colour);
        for (robot, trail) in world.robots().zip(&self.trails) {
            let style =
                format!("stroke='{}' stroke-opacity='0.55' stroke-width='1.6'", colour(&robot.cohort.blueprint.kind));
            sheet.trail(trail, &style);
        }
        for robot in world.robots() {
            let Some(pose) = world.pose(&robot.name) else { continue };
            let colour = colour(&robot.cohort.blueprint.kind);
            let centre = pose.position_m.truncate();
            let style = format!("fill='{colour}' stroke='#ffffff' stroke-width='0.8'");
            // what would be too small to see is drawn as a dot
            let least_m = 5.0 / sheet.px_per_m();
            let large = robot.cohort.radius_m > least_m;
            if !large {
                sheet.outline(&Form::Round(centre, least_m), &style, &robot.name);
            }
            for part in robot.cohort.blueprint.parts.iter().filter(|part| large && part.frame.is_none()) {
                if let Some(outline) = Outline::new(&part.solid, &pose.then(&part.pose)) {
                    sheet.outline(&outline.form, &style, &robot.name);
                }
            }
            let ahead = math::rotate(pose.orientation, DVec3::X).truncate() * robot.cohort.radius_m.max(least_m);
            sheet
                .lines(&[[centre, centre + ahead * 1.5]], "stroke='#ffffff' stroke-width='3.2' stroke-linecap='round'");
            let line = format!("stroke='{colour}' stroke-width='1.8' stroke-linecap='round'");
            sheet.lines(&[[centre, centre + ahead * 1.5]], &line);
        }
    }

    /// Names of robots and fires beside them, of zones and large obstacles in them.
    fn labels(&self, sheet: &mut Sheet) {
        let (world, environment) = (self.sim.world(), &self.sim.world().model().environment);
        for robot in world.robots() {
            let Some(pose) = world.pose(&robot.name) else { continue };
            let beside = robot.cohort.radius_m.max(5.0 / sheet.px_per_m()) + 4.0 / sheet.px_per_m();
            let at = sheet.px(pose.position_m.truncate() + DVec2::new(beside, 0.0)) + DVec2::new(0.0, 4.0);
            sheet.label(at, &robot.name, "fill='#1c2430' font-weight='bold'");
        }
        for fire in &environment.fires {
            let at = sheet.px(fire.position_m.truncate()) + DVec2::new(12.0, 4.0);
            sheet.label(at, &fire.name, "fill='#a11d2e'");
        }
        for (zone, form) in &self.zones {
            let (least, most) = form.bounds();
            let at = sheet.px(0.5 * (least + most)) + DVec2::new(0.0, 4.0);
            sheet.label(at, &zone.name, "fill='#2f6b45' text-anchor='middle'");
        }
        self.label_obstacles(sheet);
    }

    /// Names of obstacles that have room for them, unless there are many of a sort or something is above.
    fn label_obstacles(&self, sheet: &mut Sheet) {
        const MANY: usize = 4;
        let obstacles = &self.sim.world().model().environment.obstacles;
        let sort = |name: &'a str| name.trim_end_matches(|c: char| c.is_ascii_digit());
        let mut sorts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (obstacle, _) in &self.solids {
            sorts.entry(sort(whole(obstacle))).or_default().insert(whole(obstacle));
        }
        let mut labelled: BTreeSet<&str> = BTreeSet::new();
        for (obstacle, outline) in self.solids.iter().rev().filter(|(obstacle, _)| !is_terrain(obstacle)) {
            let ((least, most), name) = (outline.form.bounds(), whole(obstacle));
            let (size, middle) = ((most - least) * sheet.px_per_m(), 0.5 * (least + most));
            let fits = size.y > 16.0 && size.x > 6.4 * name.chars().count() as f64 + 6.0;
            let many = sorts.get(sort(name)).is_some_and(|names| names.len() > MANY);
            let seen = obstacles.ray(middle.extend(outline.top_m + 1e4), DVec3::NEG_Z, 2e4);
            let on_top = seen.is_some_and(|(number, _)| whole(&obstacles[number as usize]) == name);
            if fits && !many && on_top && labelled.insert(name) {
                sheet.label(sheet.px(middle) + DVec2::new(0.0, 4.0), name, "fill='#3b4450' text-anchor='middle'");
            }
        }
    }

    fn legend(&self, sheet: &mut Sheet) {
        let kinds = self.kinds();
        if !kinds.is_empty() {
            sheet.legend_heading("Robots");
        }
        for (kind, (colour, count)) in kinds {
            sheet.legend(&format!("fill='{colour}'"), &counted(kind, count));
        }
        let environment = &self.sim.world().model().environment;
        let mut tags: BTreeMap<&str, (BTreeSet<&str>, [f64; 3])> = BTreeMap::new();
        for (obstacle, _) in &self.solids {
            for tag in &obstacle.tags {
                let (names, colour) = tags.entry(tag).or_insert((BTreeSet::new(), [0.6, 0.64, 0.7]));
                names.insert(whole(obstacle));
                *colour = obstacle.skin.mean_colour().map(|rgb| rgb.map(f64::from)).unwrap_or(*colour);
            }
        }
        if !self.solids.is_empty() || environment.water.is_some() {
            sheet.legend_heading("World");
        }
        for (tag, (names, colour)) in tags {
            sheet.legend(
                &format!("fill='{}' stroke='#2a323d' stroke-width='0.5'", hex(colour)),
                &counted(tag, names.len()),
            );
        }
        let untagged = self.solids.iter().filter(|(obstacle, _)| obstacle.tags.is_empty()).count();
        if untagged > 0 {
            sheet.legend("fill='#9aa3ad'", &counted("obstacle", untagged));
        }
        if environment.water.is_some() {
            sheet.legend("fill='#8fb6cf'", "water");
        }
        if !environment.fires.is_empty() {
            sheet.legend("fill='url(#fire)'", &counted("fire", environment.fires.len()));
        }
        let mut purposes: BTreeMap<&str, (&Zone, usize)> = BTreeMap::new();
        for zone in &environment.zones {
            let purpose = zone.purposes.first().map_or("zone", String::as_str);
            purposes.entry(purpose).or_insert((zone, 0)).1 += 1;
        }
        if !purposes.is_empty() {
            sheet.legend_heading("Zones");
        }
        for (purpose, (zone, count)) in purposes {
            sheet.legend(zone_style(zone), &counted(purpose, count));
        }
    }
}

/// The name of what an obstacle is a part of: `table` of `table.top`.
fn whole(obstacle: &Obstacle) -> &str {
    obstacle.name.split('.').next().unwrap_or_default()
}

fn is_terrain(obstacle: &Obstacle) -> bool {
    matches!(obstacle.solid.shape(), Shape::Heightfield(_))
}

fn counted(what: &str, count: usize) -> String {
    if count == 1 { what.to_owned() } else { format!("{what} × {count}") }
}

fn zone_style(zone: &Zone) -> &'static str {
    match () {
        () if zone.serves("road") || zone.serves("runway") => "fill='#c9c7c4'",
        () if zone.serves("charging") => "fill='#57b877' fill-opacity='0.35' stroke='#2f8f55' stroke-dasharray='5 3'",
        () => "fill='#6f9bd1' fill-opacity='0.16' stroke='#5a83b5' stroke-dasharray='5 3'",
    }
}

fn zone_form(zone: &Zone) -> Option<Form> {
    Outline::new(&zone.solid, &zone.pose).map(|outline| outline.form)
}

fn mixed(from: [f64; 3], to: [f64; 3], share: f64) -> [f64; 3] {
    std::array::from_fn(|channel| from[channel] + (to[channel] - from[channel]) * share.clamp(0.0, 1.0))
}

fn hex(colour: [f64; 3]) -> String {
    let byte = |value: f64| (value.clamp(0.0, 1.0) * 255.0).round() as u8;
    format!("#{:02x}{:02x}{:02x}", byte(colour[0]), byte(colour[1]), byte(colour[2]))
}
