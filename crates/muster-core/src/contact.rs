//! Contact: what robots and obstacles are to each other when they touch.
//!
//! Detection (`patch`) is apart from handling: `solver` for bodies with mass, displacement for robots that are moved
//! by their algorithm alone. Static obstacles act on a robot within its own tick. A pair of robots is evaluated at the
//! ticks of the faster one; a slower one gets what it gets at its next tick. What two robots do to each other depends on
//! nothing but those they touch, directly or through others, so results do not depend on how robots were grouped.

pub(crate) mod bond;
pub(crate) mod patch;
pub(crate) mod solver;

pub use bond::Bond;

use crate::component::Pose;
use crate::lanes::{Column, body};
use crate::shape::Solid;
use crate::skin::Skin;
use glam::{DMat3, DVec3};
use patch::Probe;

/// Something solid that never moves.
#[derive(Debug, Clone, PartialEq)]
pub struct Obstacle {
    /// Its name.
    pub name: String,
    /// Its outline.
    pub solid: Solid,
    /// Where it is.
    pub pose: Pose,
    /// What its surface is like.
    pub surface: Surface,
    /// Velocity of its surface in its own frame: a conveyor, m/s.
    pub belt_mps: DVec3,
    /// Whom it meets.
    pub groups: Groups,
    /// What it is, in words that sensors look for: `tree`, `victim`.
    pub tags: Vec<String>,
    /// What its surface looks like.
    pub skin: Skin,
    /// False if cameras and range sensors do not see it.
    pub visible: bool,
}

impl Obstacle {
    /// An obstacle with the default surface.
    pub fn new(name: &str, solid: Solid, pose: Pose) -> Self {
        Self {
            name: name.to_owned(),
            solid,
            pose,
            surface: Surface::DEFAULT,
            belt_mps: DVec3::ZERO,
            groups: Groups::ALL,
            tags: Vec::new(),
            skin: Skin::default(),
            visible: true,
        }
    }
}

/// What touches others: a solid on a robot.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its name on the robot.
    pub name: String,
    /// The frame it is fixed to, as an index into the robot's frames; `None` for the body.
    pub frame: Option<usize>,
    /// `frame_from_part`.
    pub pose: Pose,
    /// Its outline.
    pub solid: Solid,
    /// What its surface is like.
    pub surface: Surface,
    /// Whom it meets.
    pub groups: Groups,
    /// What its surface looks like.
    pub skin: Skin,
    /// False if cameras and range sensors do not see it.
    pub visible: bool,
}

impl Part {
    /// False if it is only to be seen: then it touches nothing and has no mass.
    pub fn collides(&self) -> bool {
        self.groups != Groups::NONE
    }
}

/// How a surface behaves in contact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Surface {
    /// Coefficient of friction; that of a pair is the geometric mean.
    pub friction: f64,
    /// Coefficient of restitution; that of a pair is the greater.
    pub restitution: f64,
}

impl Surface {
    /// What counts if nothing is said.
    pub const DEFAULT: Self = Self { friction: 0.6, restitution: 0.0 };

    /// What counts between two surfaces.
    pub fn with(self, other: Self) -> Self {
        Self { friction: (self.friction * other.friction).sqrt(), restitution: self.restitution.max(other.restitution) }
    }
}

/// Collision groups: two meet if each is of a group the other meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groups {
    /// The groups it is of, one bit each.
    pub of: u32,
    /// The groups it meets.
    pub meets: u32,
}

impl Groups {
    /// Of all groups, meeting all.
    pub const ALL: Self = Self { of: u32::MAX, meets: u32::MAX };
    /// Of no group, meeting none: what is only to be seen.
    pub const NONE: Self = Self { of: 0, meets: 0 };

    /// Whether two meet.
    pub fn meet(self, other: Self) -> bool {
        self.of & other.meets != 0 && other.of & self.meets != 0
    }
}

/// The other side of a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Other {
    /// A robot, by roster number.
    Robot(u32),
    /// An obstacle, by its index in the environment.
    Obstacle(u32),
}

impl Other {
    /// What stands in an integer column for nobody.
    pub(crate) const NOBODY: i64 = -1;

    /// As a whole number.
    pub(crate) fn code(self) -> i64 {
        match self {
            Self::Robot(number) => 2 * i64::from(number),
            Self::Obstacle(index) => 2 * i64::from(index) + 1,
        }
    }

    /// What a whole number in a column means; `None` for nobody.
    pub fn from_code(code: i64) -> Option<Self> {
        let number = u32::try_from(code >> 1).ok()?;
        Some(if code & 1 == 0 { Self::Robot(number) } else { Self::Obstacle(number) })
    }
}

/// How a robot yields to contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mobility {
    /// Moved by its algorithm alone: a contact only displaces it and stops it.
    Kinematic,
    /// Like kinematic, but only horizontally: it stands on its ground.
    Planar,
    /// A body with mass, see [`crate::component::Motion::mass`].
    Dynamic,
    /// Moved by its algorithm, and by nothing else: a door, a lift.
    Fixed,
}

/// The mass of a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mass {
    /// 1/kg; 0 for what no contact moves.
    pub per_kg: f64,
    /// Reciprocal of the inertia about the centre of mass in the body frame, 1/(kg m²).
    pub per_inertia: DMat3,
    /// Centre of mass in the body frame, m.
    pub centre_m: DVec3,
    /// How the centre of mass moves in the body frame, m/s.
    pub centre_mps: DVec3,
}

impl Mass {
    /// What no contact moves.
    pub const INFINITE: Self =
        Self { per_kg: 0.0, per_inertia: DMat3::ZERO, centre_m: DVec3::ZERO, centre_mps: DVec3::ZERO };

    /// A body whose centre of mass is its origin, with principal moments of inertia.
    pub fn new(mass_kg: f64, inertia_kgm2: DVec3) -> Self {
        Self { per_kg: mass_kg.recip(), per_inertia: DMat3::from_diagonal(inertia_kgm2.recip()), ..Self::INFINITE }
    }
}

/// A solid somewhere.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    /// Its outline.
    pub solid: &'a Solid,
    /// Where it is.
    pub pose: Pose,
}

/// A contact: how deep, and which way out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touch {
    /// Unit vector from the second towards the first.
    pub normal: DVec3,
    /// How far the first must move along the normal to be free, m.
    pub depth_m: f64,
}

/// Whether two solids overlap, and how. For trying out shapes; the simulation keeps what it finds.
pub fn touch(first: &Placed<'_>, second: &Placed<'_>) -> Option<Touch> {
    Probe::default().deepest(first, second)
}

/// Displaces and stops a robot that overlaps something immovable. `velocity_mps` is that of the other's surface.
pub(crate) fn nudge(columns: &mut [Column], lane: usize, mobility: Mobility, touch: &Touch, velocity_mps: DVec3) {
    let touch = level(*touch, mobility);
    let position_m = body::vec3(columns, body::POSITION, lane) + touch.normal * touch.depth_m;
    let velocity = body::vec3(columns, body::VELOCITY, lane);
    let approach = (velocity_mps - velocity).dot(touch.normal).max(0.0);
    body::set_vec3(columns, body::POSITION, lane, position_m);
    body::set_vec3(columns, body::VELOCITY, lane, velocity + touch.normal * approach);
}

/// What two robots that are moved by their algorithms do to each other: displacement and change of velocity of the
/// first; the second gets the opposite. `None` if neither yields.
pub(crate) fn nudge_both(mobility: [Mobility; 2], touch: &Touch, relative_mps: DVec3) -> [(DVec3, DVec3); 2] {
    let touch = level(level(*touch, mobility[0]), mobility[1]);
    let push = touch.normal * touch.depth_m;
    let kick = touch.normal * (-relative_mps.dot(touch.normal)).max(0.0);
    let shares = match mobility.map(|mobility| mobility == Mobility::Fixed) {
        [true, true] => [0.0, 0.0],
        [true, false] => [0.0, 1.0],
        [false, true] => [1.0, 0.0],
        [false, false] => [0.5, 0.5],
    };
    [(push * shares[0], kick * shares[0]), (-push * shares[1], -kick * shares[1])]
}

/// A planar robot can only be pushed along its ground.
fn level(touch: Touch, mobility: Mobility) -> Touch {
    if mobility != Mobility::Planar {
        return touch;
    }
    let flat = DVec3::new(touch.normal.x, touch.normal.y, 0.0);
    let length = flat.length();
    if length < 1e-9 { Touch { normal: DVec3::X, ..touch } } else { Touch { normal: flat / length, ..touch } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math;
    use crate::random::Stream;
    use crate::shape::{Heights, Mesh, Shape};
    use glam::DQuat;
    use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2};
    use std::sync::Arc;

    const BALL: Shape = Shape::Sphere { radius_m: 0.5 };
    const CUBE: Shape = Shape::Box { half_m: DVec3::ONE };
    const CYLINDER: Shape = Shape::Cylinder { radius_m: 0.4, half_height_m: 1.0 };
    const CAPSULE: Shape = Shape::Capsule { radius_m: 0.4, half_height_m: 1.0 };
    const CONE: Shape = Shape::Cone { radius_m: 0.5, half_height_m: 1.0 };

    fn at(x: f64, y: f64, z: f64) -> Pose {
        Pose { position_m: DVec3::new(x, y, z), ..Pose::IDENTITY }
    }

    fn turned(pose: Pose, axis: DVec3, angle_rad: f64) -> Pose {
        Pose { orientation: math::quat_from_axis_angle(axis, angle_rad), ..pose }
    }

    /// The first at a pose against the second at the origin, and both moved anywhere together, and exchanged.
    fn check(first: &Shape, pose: Pose, second: &Shape, expected: Option<(DVec3, f64)>) {
        let solids = [first, second].map(|shape| Solid::new(shape.clone()).expect("a shape"));
        for round in 0..20 {
            let stream = Stream::new(5, round);
            let [u, v] = [stream.normals(0, 0), stream.normals(1, 0)];
            let moved = match round {
                0 => Pose::IDENTITY,
                _ => Pose {
                    position_m: DVec3::new(v[0], v[1], v[2]),
                    orientation: DQuat::from_xyzw(u[0], u[1], u[2], u[3]).normalize(),
                },
            };
            let a = Placed { solid: &solids[0], pose: moved.then(&pose) };
            let b = Placed { solid: &solids[1], pose: moved };
            let found = [touch(&a, &b), touch(&b, &a).map(|back| Touch { normal: -back.normal, ..back })];
            // planes and terrain are obstacles only, and obstacles are always second
            let only_second = matches!(second, Shape::Plane | Shape::Heightfield(_));
            for found in if only_second { &found[..1] } else { &found[..] } {
                match (found, expected) {
                    (None, None) => {}
                    (Some(found), Some((normal, depth_m))) => {
                        let normal = moved.orientation * normal;
                        let near = (found.normal - normal).length() < 1e-6 && (found.depth_m - depth_m).abs() < 1e-6;
                        assert!(near, "{first:?} {second:?}: {found:?}, expected {normal} {depth_m}");
                    }
                    other => panic!("{first:?} {second:?} {other:?}"),
                }
            }
        }
    }

    #[test]
    fn depth_and_normal_equal_the_closed_form_for_all_pairs() {
        let (x, y, z) = (DVec3::X, DVec3::Y, DVec3::Z);
        check(&BALL, at(0.8, 0.0, 0.0), &BALL, Some((x, 0.2)));
        check(&BALL, at(1.01, 0.0, 0.0), &BALL, None);
        check(&BALL, at(0.3, 1.4, 0.2), &CUBE, Some((y, 0.1)));
        check(&BALL, at(0.9, 0.0, 0.0), &CUBE, Some((x, 0.6)));
        let edge = DVec3::new(FRAC_1_SQRT_2, FRAC_1_SQRT_2, 0.0);
        check(&BALL, at(1.2, 1.2, 0.0), &CUBE, Some((edge, 0.5 - 0.08_f64.sqrt())));
        check(&BALL, at(0.8, 0.0, 0.3), &CYLINDER, Some((x, 0.1)));
        check(&BALL, at(0.1, 0.0, 1.4), &CYLINDER, Some((z, 0.1)));
        let rim = DVec3::new(FRAC_1_SQRT_2, 0.0, FRAC_1_SQRT_2);
        check(&BALL, at(0.7, 0.0, 1.3), &CYLINDER, Some((rim, 0.5 - 0.18_f64.sqrt())));
        check(&BALL, at(0.8, 0.0, 0.3), &CAPSULE, Some((x, 0.1)));
        check(&BALL, at(0.0, 0.0, 1.8), &CAPSULE, Some((z, 0.1)));
        check(&CUBE, at(1.9, 0.3, 0.0), &CUBE, Some((x, 0.1)));
        let corner_on = turned(at(2.3, 0.0, 0.0), z, 0.5 * FRAC_PI_2);
        check(&CUBE, corner_on, &CUBE, Some((x, 1.0 + 2.0_f64.sqrt() - 2.3)));
        check(&CUBE, at(1.35, 0.0, 0.2), &CYLINDER, Some((x, 0.05)));
        check(&CUBE, at(0.1, 0.0, 1.95), &CYLINDER, Some((z, 0.05)));
        check(&CUBE, at(1.35, 0.0, 0.2), &CAPSULE, Some((x, 0.05)));
        check(&CYLINDER, at(0.75, 0.0, 0.2), &CYLINDER, Some((x, 0.05)));
        check(&CYLINDER, turned(at(0.75, 0.0, 0.1), x, FRAC_PI_2), &CYLINDER, Some((x, 0.05)));
        check(&CYLINDER, at(0.1, 0.0, 1.95), &CYLINDER, Some((z, 0.05)));
        check(&CYLINDER, at(0.75, 0.0, 0.1), &CAPSULE, Some((x, 0.05)));
        check(&CAPSULE, at(0.75, 0.0, 0.1), &CAPSULE, Some((x, 0.05)));
        check(&CAPSULE, turned(at(0.75, 0.0, 0.1), x, FRAC_PI_2), &CAPSULE, Some((x, 0.05)));
        let tilt: f64 = 0.3;
        let (sin, cos) = (math::sin(tilt), math::cos(tilt));
        check(&BALL, at(3.0, 2.0, 0.3), &Shape::Plane, Some((z, 0.2)));
        check(&CUBE, turned(at(0.0, 0.0, 1.1), x, tilt), &Shape::Plane, Some((z, cos + sin - 1.1)));
        check(&CYLINDER, turned(at(0.0, 0.0, 1.0), x, tilt), &Shape::Plane, Some((z, cos + 0.4 * sin - 1.0)));
        check(&CYLINDER, turned(at(0.0, 0.0, 0.3), x, FRAC_PI_2), &Shape::Plane, Some((z, 0.1)));
        check(&CAPSULE, turned(at(0.0, 0.0, 1.3), x, tilt), &Shape::Plane, Some((z, cos + 0.4 - 1.3)));
        check(&CONE, at(0.0, 0.0, 0.9), &Shape::Plane, Some((z, 0.1)));
        check(&CYLINDER, at(0.0, 0.0, 1.1), &Shape::Plane, None);
    }

    #[test]
    fn terrain_and_meshes_hold_what_stands_on_them() {
        let flat = Heights { size_m: [10.0, 6.0], columns: 6, heights_m: vec![0.0; 24] };
        // a slope of one in five along x, seen from outside
        let slope = Heights { heights_m: (0..24).map(|at| 0.4 * f64::from(at % 6)).collect(), ..flat.clone() };
        let up = DVec3::new(-0.2, 0.0, 1.0).normalize();
        let quad = Mesh {
            vertices_m: [[-5.0, -3.0, 0.0], [5.0, -3.0, 0.0], [5.0, 3.0, 0.0], [-5.0, 3.0, 0.0]]
                .map(DVec3::from)
                .to_vec(),
            triangles: vec![[0, 1, 2], [0, 2, 3]],
            paint: None,
        };
        for (shape, pose) in [(BALL, at(0.7, 0.6, 0.4)), (CUBE, at(0.7, 0.6, 0.9)), (CYLINDER, at(0.7, 0.6, 0.9))] {
            check(&shape, pose, &Shape::Heightfield(Arc::new(flat.clone())), Some((DVec3::Z, 0.1)));
            check(&shape, pose, &Shape::Mesh(Arc::new(quad.clone())), Some((DVec3::Z, 0.1)));
        }
        // a mesh on terrain or on a mesh is its convex hull
        let corner = |at: u32| DVec3::new(f64::from(at & 1), f64::from(at >> 1 & 1), f64::from(at >> 2)) * 2.0 - 1.0;
        let faces = [[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4], [2, 6, 3], [3, 6, 7], [0, 4, 2]];
        let faces = faces.into_iter().chain([[2, 4, 6], [1, 3, 5], [3, 7, 5]]).collect();
        let cube =
            Shape::Mesh(Arc::new(Mesh { vertices_m: (0..8).map(corner).collect(), triangles: faces, paint: None }));
        check(&cube, at(0.7, 0.6, 0.9), &Shape::Heightfield(Arc::new(flat.clone())), Some((DVec3::Z, 0.1)));
        check(&cube, at(0.7, 0.6, 0.9), &Shape::Plane, Some((DVec3::Z, 0.1)));
        // the slope's surface is at 1 m in its middle
        let on_slope = DVec3::new(0.5, 0.5, 1.1) + up * 0.4;
        let slope = Shape::Heightfield(Arc::new(slope));
        check(&BALL, Pose { position_m: on_slope, ..Pose::IDENTITY }, &slope, Some((up, 0.1)));
    }

    #[test]
    fn groups_meet_if_each_is_of_a_group_the_other_meets() {
        let (ghost, solid) = (Groups { of: 1, meets: 2 }, Groups { of: 2, meets: u32::MAX });
        assert!(ghost.meet(solid) && solid.meet(ghost) && solid.meet(solid) && Groups::ALL.meet(solid));
        assert!(!ghost.meet(ghost));
    }
}
