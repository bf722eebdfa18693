//! The frozen world: a consistent copy of every robot's pose at one instant. Sensors look at it, on this thread or
//! another, while nothing in it moves.

use crate::component::Pose;
use crate::contact::Part;
use crate::grid::Grid;
use crate::model::{Cohort, Environment};
use crate::ray::scene::{Boxes, Owned, Scene, Stand};
use crate::ray::{self, Hit, Outline, Reach, Thing};
use crate::shape::{Shape, Solid};
use crate::simd::Simd;
use crate::skin::Skin;
use crate::time::SimTime;
use glam::{DQuat, DVec3};
use std::sync::Arc;

/// One robot as others see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Its identity, see [`crate::model::robot_key`].
    pub key: u64,
    /// Its number in the roster; in what sensors see, that of its realm.
    pub robot: u32,
    /// Position, m.
    pub position_m: DVec3,
    /// `world_from_body`.
    pub orientation: DQuat,
    /// Velocity in the world frame, m/s.
    pub velocity_mps: DVec3,
    /// Angular velocity in the body frame, rad/s.
    pub angular_velocity_radps: DVec3,
    /// Radius of the ball that holds it, m.
    pub radius_m: f64,
}

/// A part of a robot where it is.
#[derive(Clone)]
pub struct Body {
    /// The robot, as an index into the snapshot.
    pub robot: u32,
    /// The part, as an index into the cohort's.
    pub part: u16,
    /// What the robot is made of.
    pub cohort: Arc<Cohort>,
    /// `world_from_part`.
    pub pose: Pose,
}

impl Body {
    /// The part.
    pub fn part(&self) -> &Part {
        &self.cohort.blueprint.parts[usize::from(self.part)]
    }
}

/// A lamp that is on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lamp {
    /// The robot it is on, as an index into the snapshot.
    pub robot: u32,
    /// Luminous intensity, cd.
    pub intensity_cd: f64,
    /// Red, green and blue, each from 0 to 1.
    pub colour: [f64; 3],
}

/// Every robot at one instant, in the order of the roster.
#[derive(Clone)]
pub struct Snapshot {
    /// The instant.
    pub time: SimTime,
    /// The robots.
    pub robots: Vec<Seen>,
    /// What stands still.
    pub environment: Arc<Environment>,
    /// Visible parts of the robots, in their order; only if a sensor of the world [needs them](crate::component::Look::sees_bodies).
    pub bodies: Vec<Body>,
    /// Lamps that are on, in the order of the robots; only if a sensor needs bodies.
    pub lamps: Vec<Lamp>,
    /// Poses of the robots' frames on their bodies.
    frames: Vec<Pose>,
    /// Where the bodies and the frames of each robot begin.
    firsts: Vec<(u32, u32)>,
    grids: Vec<(f64, Grid)>,
    boxes: Boxes,
    simd: Simd,
}

/// Every realm at one instant: robots see those of their own.
pub(crate) type Frozen = Vec<Snapshot>;

/// Marks numbers of bodies among those of obstacles.
const BODY: u32 = 1 << 31;

impl Snapshot {
    pub(crate) fn new(environment: Arc<Environment>) -> Self {
        Self {
            time: SimTime::ZERO,
            robots: Vec::new(),
            environment,
            bodies: Vec::new(),
            lamps: Vec::new(),
            frames: Vec::new(),
            firsts: Vec::new(),
            grids: Vec::new(),
            boxes: Boxes::default(),
            simd: Simd::detect(),
        }
    }

    /// A world of these robots at the start of time, with the search within these radii (ascending, without repeats)
    /// prepared. For trying out a sensor by itself.
    pub fn of(environment: Arc<Environment>, robots: Vec<Seen>, radii_m: &[f64]) -> Self {
        let mut snapshot = Self { robots, ..Self::new(environment) };
        snapshot.index(radii_m);
        snapshot
    }

    /// Makes room for the bodies and frames of robots of these cohorts.
    pub(crate) fn lay_out<'a>(&mut self, cohorts: impl Iterator<Item = &'a Arc<Cohort>>) {
        self.firsts.clear();
        let (mut next, mut frames) = (0, 0);
        for (robot, cohort) in cohorts.enumerate() {
            self.firsts.push((next as u32, frames as u32));
            frames += cohort.blueprint.frames.len();
            for part in (0..cohort.blueprint.parts.len()).filter(|&part| cohort.blueprint.parts[part].visible) {
                let (robot, part) = (robot as u32, part as u16);
                match self.bodies.get_mut(next) {
                    Some(body) if Arc::ptr_eq(&body.cohort, cohort) => (body.robot, body.part) = (robot, part),
                    Some(body) => *body = Body { robot, part, cohort: Arc::clone(cohort), pose: Pose::IDENTITY },
                    None => {
                        self.bodies.push(Body { robot, part, cohort: Arc::clone(cohort), pose: Pose::IDENTITY });
                    }
                }
                next += 1;
            }
        }
        self.bodies.truncate(next);
        self.frames.resize(frames, Pose::IDENTITY);
    }

    /// The bodies and frames of a robot.
    pub(crate) fn furniture(&mut self, robot: usize, cohort: &Cohort) -> (&mut [Body], &mut [Pose]) {
        let (body, frame) = self.firsts[robot];
        let end = self.firsts.get(robot + 1).map_or(self.bodies.len(), |next| next.0 as usize);
        let frames = frame as usize..frame as usize + cohort.blueprint.frames.len();
        (&mut self.bodies[body as usize..end], &mut self.frames[frames])
    }

    /// The visible parts of a robot; none if no sensor needs bodies.
    pub fn bodies_of(&self, robot: usize) -> &[Body] {
        let Some(&(first, _)) = self.firsts.get(robot) else { return &[] };
        let end = self.firsts.get(robot + 1).map_or(self.bodies.len(), |next| next.0 as usize);
        &self.bodies[first as usize..end]
    }

    /// Where a frame of a robot is on its body.
    pub(crate) fn frame_pose(&self, robot: usize, frame: usize) -> Pose {
        self.firsts.get(robot).map_or(Pose::IDENTITY, |first| self.frames[first.1 as usize + frame])
    }

    /// What a ray of unit direction first meets.
    pub fn cast(&self, from_m: DVec3, direction: DVec3, reach: Reach) -> Hit {
        ray::cast_one(self, from_m, direction, reach, self.simd)
    }

    /// The material of what a ray met, as an index into the environment's; that of nothing is the first.
    #[inline(always)]
    pub fn material(&self, hit: &Hit) -> u16 {
        let material = match hit.thing {
            Thing::Nothing => 0,
            Thing::Obstacle(index) => {
                self.environment.obstacles.material(index).unwrap_or_else(|| self.material_of_part(hit))
            }
            Thing::Part { .. } => self.material_of_part(hit),
        };
        if usize::from(material) < self.environment.materials.len() { material } else { 0 }
    }

    /// The material of a part of a robot, or of a mesh that has several.
    fn material_of_part(&self, hit: &Hit) -> u16 {
        let own = |skin: &Skin, solid: &Solid| {
            let painted = match solid.shape() {
                Shape::Mesh(mesh) => mesh.paint.as_ref().and_then(|paint| paint.skin(hit.triangle as usize)),
                _ => None,
            };
            painted.map(|skin| skin.material).filter(|&material| material > 0).unwrap_or(skin.material)
        };
        match hit.thing {
            Thing::Nothing => 0,
            Thing::Obstacle(index) => {
                let obstacle = &self.environment.obstacles[index as usize];
                own(&obstacle.skin, &obstacle.solid)
            }
            Thing::Part { robot, part } => self.bodies_of(robot as usize).first().map_or(0, |body| {
                let part = &body.cohort.blueprint.parts[usize::from(part)];
                own(&part.skin, &part.solid)
            }),
        }
    }

    /// The parts of robots that rays meet.
    #[inline(always)]
    pub(crate) fn moving<'a>(&'a self) -> Scene<'a, impl Fn(u32) -> Option<Owned<'a>> + use<'a>> {
        let solid = |number: u32| {
            let body = &self.bodies[number as usize];
            Some((body.part().solid.outline(), Some(body.robot as usize)))
        };
        Scene { boxes: &self.boxes, solid, mark: BODY }
    }

    /// The solid of a number that a cast found, where it stands, and what it is.
    #[inline(always)]
    pub(crate) fn solid(&self, number: u32) -> (&Outline, &Stand, Thing) {
        if number & BODY == 0 {
            let (outline, stand) = self.environment.obstacles.standing(number);
            return (outline, stand, Thing::Obstacle(number));
        }
        let number = number & !BODY;
        let body = &self.bodies[number as usize];
        let thing = Thing::Part { robot: body.robot, part: body.part };
        (body.part().solid.outline(), self.boxes.stand(number), thing)
    }

    /// Arranges the bodies so that rays find them.
    pub(crate) fn arrange(&mut self) {
        self.boxes.renew(self.bodies.iter().map(|body| (body.pose, body.part().solid.corners(&body.pose))));
    }

    /// How many bounds of bodies were worked out, and how often all were arranged.
    pub(crate) fn work(&self) -> (u64, u64) {
        self.boxes.work()
    }

    /// Prepares the search within these radii (ascending, without repeats).
    pub(crate) fn index(&mut self, radii_m: &[f64]) {
        self.grids.resize_with(radii_m.len(), Default::default);
        for ((radius_m, grid), &wanted) in self.grids.iter_mut().zip(radii_m) {
            *radius_m = wanted;
            grid.rebuild(wanted, self.robots.iter().map(|robot| robot.position_m));
        }
    }

    /// Calls `found` with every robot whose centre is within `radius_m` of a point.
    pub fn robots_within(&self, centre_m: DVec3, radius_m: f64, mut found: impl FnMut(usize, &Seen)) {
        match self.grids.iter().find(|(cell_m, _)| *cell_m >= radius_m).or(self.grids.last()) {
            Some((_, grid)) => grid.within(centre_m, radius_m, |index, _| {
                found(index as usize, &self.robots[index as usize]);
            }),
            None => self.robots.iter().enumerate().for_each(|(index, robot)| {
                if (robot.position_m - centre_m).length_squared() <= radius_m * radius_m {
                    found(index, robot);
                }
            }),
        }
    }

    /// Calls `found(index, nearest point)` with every obstacle that has a point within `radius_m` of `centre_m`,
    /// planes first.
    pub fn obstacles_within(&self, centre_m: DVec3, radius_m: f64, mut found: impl FnMut(usize, DVec3)) {
        let mut consider = |index: u32| {
            let obstacle = &self.environment.obstacles[index as usize];
            let nearest = obstacle.solid.nearest_point(&obstacle.pose, centre_m);
            if (nearest - centre_m).length_squared() <= radius_m * radius_m {
                found(index as usize, nearest);
            }
        };
        let obstacles = &self.environment.obstacles;
        obstacles.planes().iter().copied().for_each(&mut consider);
        obstacles.near(centre_m, radius_m, &mut consider);
    }
}
