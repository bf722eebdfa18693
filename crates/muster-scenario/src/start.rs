//! Where robots start: what already is inside of something is told, as it will be thrown out of it.

use muster_core::component::Pose;
use muster_core::contact::{Groups, Mobility, Part, Placed, touch};
use muster_core::grid::Grid;
use muster_core::joints::{frame_motions, jointed};
use muster_core::model::Placement;
use muster_core::node::{Place, Problems};
use muster_core::obstacles::Obstacles;
use muster_core::shape::Solid;
use std::collections::BTreeMap;

/// Deeper than this counts; bodies at rest are in the ground by less.
const DEPTH_M: f64 = 0.002;

/// So many robots are told of, then only how many more there are.
const TOLD: usize = 10;

/// A part of a robot in the world.
struct Outline<'a> {
    name: &'a str,
    solid: &'a Solid,
    groups: Groups,
    pose: Pose,
}

/// Warns of robots that start inside of an obstacle or of another robot.
pub(crate) fn check_starts(
    robots: &[Placement],
    obstacles: &Obstacles,
    places: &BTreeMap<String, Place>,
    problems: &mut Problems,
) {
    let neighbours = Neighbours::new(robots);
    let mut more = 0;
    for (number, robot) in robots.iter().enumerate() {
        if robot.cohort.blueprint.parts.is_empty() {
            continue;
        }
        let parts = outlines(robot);
        let deepest = in_obstacle(robot, &parts, obstacles).or_else(|| in_robot(number, &parts, robots, &neighbours));
        let Some((depth_m, found)) = deepest else { continue };
        if problems.list().iter().filter(|problem| problem.expected == FREE).count() == TOLD {
            more += 1;
            continue;
        }
        let place = places.get(&robot.name).copied().unwrap_or_default();
        problems.warn(place, &format!("{}.at", robot.name), format!("its {found} by {depth_m:.3} m"), FREE);
    }
    if more > 0 {
        problems.warn(Place::default(), "robots", format!("{more} more that start in something"), FREE);
    }
}

/// What is expected of a start.
const FREE: &str = "a start where it overlaps nothing: it is pushed out at once";

/// Where the parts of a robot are at the start.
fn outlines<'a>(robot: &'a Placement) -> Vec<Outline<'a>> {
    let blueprint = &robot.cohort.blueprint;
    let starts: Vec<f64> = jointed(&blueprint.frames).map(|frame| frame.servo.start).collect();
    let mut frames = Vec::new();
    frame_motions(&blueprint.frames, |joint| (starts[joint], 0.0), &mut frames);
    let outline = |part: &'a Part| {
        let on_body = part.frame.map_or(part.pose, |frame| frames[frame].pose.then(&part.pose));
        Outline { name: &part.name, solid: &part.solid, groups: part.groups, pose: robot.pose.then(&on_body) }
    };
    blueprint.parts.iter().map(outline).collect()
}

/// The deepest overlap with an obstacle, and what is in what.
fn in_obstacle(robot: &Placement, parts: &[Outline<'_>], obstacles: &Obstacles) -> Option<(f64, String)> {
    let mobility = robot.cohort.blueprint.motion.mobility();
    if mobility == Mobility::Fixed {
        return None;
    }
    let mut near = Vec::new();
    // robots that only move along their ground are not held up by it
    if mobility != Mobility::Planar {
        near.extend_from_slice(obstacles.planes());
    }
    obstacles.near(robot.pose.position_m, robot.cohort.radius_m, |number| near.push(number));
    let mut deepest: Option<(f64, String)> = None;
    for obstacle in near.into_iter().map(|number| &obstacles[number as usize]) {
        let other = Placed { solid: &obstacle.solid, pose: obstacle.pose };
        for part in parts.iter().filter(|part| part.groups.meet(obstacle.groups)) {
            if let Some(depth_m) = depth_m(part, &other, deepest.as_ref()) {
                deepest = Some((depth_m, format!("part {:?} inside of obstacle {:?}", part.name, obstacle.name)));
            }
        }
    }
    deepest
}

/// The deepest overlap with a robot that comes before it, and what is in what.
fn in_robot(
    number: usize,
    parts: &[Outline<'_>],
    robots: &[Placement],
    neighbours: &Neighbours,
) -> Option<(f64, String)> {
    let robot = &robots[number];
    let holds = |a: &Placement, b: &Placement| a.attached.as_ref().is_some_and(|(to, _)| *to == b.name);
    let fixed = |robot: &Placement| robot.cohort.blueprint.motion.mobility() == Mobility::Fixed;
    let mut near = Vec::new();
    let reach_m = robot.cohort.radius_m + neighbours.radius_max_m;
    neighbours.grid.within(robot.pose.position_m, reach_m, |other, _| near.push(other as usize));
    near.sort_unstable();
    let mut deepest: Option<(f64, String)> = None;
    for other in near.into_iter().filter(|other| *other < number).map(|other| &robots[other]) {
        let reach_m = robot.cohort.radius_m + other.cohort.radius_m;
        let apart = (robot.pose.position_m - other.pose.position_m).length() > reach_m;
        if apart || holds(robot, other) || holds(other, robot) || (fixed(robot) && fixed(other)) {
            continue;
        }
        for theirs in outlines(other) {
            let placed = Placed { solid: theirs.solid, pose: theirs.pose };
            for part in parts.iter().filter(|part| part.groups.meet(theirs.groups)) {
                if let Some(depth_m) = depth_m(part, &placed, deepest.as_ref()) {
                    deepest = Some((depth_m, format!("part {:?} inside of robot {:?}", part.name, other.name)));
                }
            }
        }
    }
    deepest
}

/// How deep a part is in something, if that counts and is deeper than what was found before.
fn depth_m(part: &Outline<'_>, other: &Placed<'_>, before: Option<&(f64, String)>) -> Option<f64> {
    let found = touch(&Placed { solid: part.solid, pose: part.pose }, other)?;
    (found.depth_m > before.map_or(DEPTH_M, |(depth_m, _)| *depth_m)).then_some(found.depth_m)
}

/// Who is near whom.
struct Neighbours {
    grid: Grid,
    radius_max_m: f64,
}

impl Neighbours {
    fn new(robots: &[Placement]) -> Self {
        let radius_max_m = robots.iter().map(|robot| robot.cohort.radius_m).fold(0.0, f64::max);
        let mut grid = Grid::default();
        grid.rebuild(2.0 * radius_max_m.max(0.1), robots.iter().map(|robot| robot.pose.position_m));
        Self { grid, radius_max_m }
    }
}
