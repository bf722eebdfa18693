//! Simple contact: spheres and boxes against each other, against static boxes and against planes, one contact a pair.
//!
//! Static obstacles act on a robot within its own tick. A pair of robots is evaluated at the ticks of the faster one
//! against the last pose of the slower; what each gets is written into its push and kick columns and taken at its next
//! tick. A pair reads nothing but its two robots, and contributions are summed in the order of the partners' ids, so
//! results do not depend on how robots were grouped.

use crate::lanes::{Column, body};
use glam::{DMat3, DQuat, DVec3};

/// The outline of a robot or an obstacle, centred on its pose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// Touches nothing.
    None,
    /// A ball.
    Sphere {
        /// Radius, m.
        radius_m: f64,
    },
    /// A box.
    Box {
        /// Half of each edge, m.
        half_m: DVec3,
    },
    /// Everything below the plane through the pose whose normal is the pose's z axis; only for obstacles.
    Plane,
}

impl Shape {
    /// Radius of the ball around the pose that holds the whole shape; infinite for a plane.
    pub fn radius_m(&self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Sphere { radius_m } => *radius_m,
            Self::Box { half_m } => half_m.length(),
            Self::Plane => f64::INFINITY,
        }
    }

    /// Radius of the largest ball around the pose inside the shape.
    pub fn inner_radius_m(&self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Sphere { radius_m } => *radius_m,
            Self::Box { half_m } => half_m.min_element(),
            Self::Plane => f64::INFINITY,
        }
    }
}

/// Something solid that never moves.
#[derive(Debug, Clone, PartialEq)]
pub struct Obstacle {
    /// Its name.
    pub name: String,
    /// Its outline.
    pub shape: Shape,
    /// Where its centre is, m.
    pub position_m: DVec3,
    /// `world_from_obstacle`.
    pub orientation: DQuat,
    /// Coefficient of friction.
    pub friction: f64,
    /// Coefficient of restitution.
    pub restitution: f64,
}

/// How a robot yields to contact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mobility {
    /// Moved by its algorithm alone: a contact only displaces it and stops it.
    Kinematic,
    /// Like kinematic, but only horizontally: it stands on its ground.
    Planar,
    /// A body with mass.
    Dynamic {
        /// Mass, kg.
        mass_kg: f64,
    },
}

impl Mobility {
    /// The share of a common displacement that a robot takes when it meets `other`.
    fn share(self, other: Self) -> f64 {
        match (self, other) {
            (Self::Dynamic { mass_kg: a }, Self::Dynamic { mass_kg: b }) => b / (a + b),
            (Self::Dynamic { .. }, _) => 1.0,
            (_, Self::Dynamic { .. }) => 0.0,
            _ => 0.5,
        }
    }
}

/// What a robot is to a contact.
#[derive(Debug, Clone, Copy)]
pub struct Solid {
    /// Its outline.
    pub shape: Shape,
    /// How it yields.
    pub mobility: Mobility,
    /// Coefficient of friction.
    pub friction: f64,
    /// Coefficient of restitution.
    pub restitution: f64,
}

/// A contact: how deep, and which way out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touch {
    /// Unit vector from the second towards the first.
    pub normal: DVec3,
    /// How far the first must move along the normal to be free, m.
    pub depth_m: f64,
}

/// Below this normal speed a contact does not bounce, so that things come to rest, m/s.
const BOUNCE_FROM_MPS: f64 = 0.05;

/// A placed shape.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    /// The outline.
    pub shape: Shape,
    /// Its centre.
    pub position_m: DVec3,
    /// `world_from_shape`.
    pub orientation: DQuat,
}

/// Whether `a` touches `b`, and how.
pub fn touch(a: &Placed, b: &Placed) -> Option<Touch> {
    match (a.shape, b.shape) {
        (Shape::None, _) | (_, Shape::None) | (Shape::Plane, Shape::Plane) => None,
        (Shape::Sphere { radius_m: ra }, Shape::Sphere { radius_m: rb }) => {
            sphere_sphere(a.position_m - b.position_m, ra + rb)
        }
        (Shape::Sphere { radius_m }, Shape::Box { half_m }) => sphere_box(a.position_m, radius_m, b, half_m),
        (Shape::Box { .. }, Shape::Sphere { .. }) | (Shape::Plane, _) => touch(b, a).map(flip),
        (Shape::Box { half_m: ha }, Shape::Box { half_m: hb }) => box_box(a, ha, b, hb),
        (Shape::Sphere { radius_m }, Shape::Plane) => plane_touch(a, b, radius_m),
        (Shape::Box { half_m }, Shape::Plane) => {
            let normal_in_a = a.orientation.conjugate() * (b.orientation * DVec3::Z);
            plane_touch(a, b, normal_in_a.abs().dot(half_m))
        }
    }
}

fn flip(touch: Touch) -> Touch {
    Touch { normal: -touch.normal, ..touch }
}

fn sphere_sphere(b_to_a: DVec3, reach_m: f64) -> Option<Touch> {
    let squared = b_to_a.length_squared();
    if squared >= reach_m * reach_m {
        return None;
    }
    let distance = squared.sqrt();
    let normal = if distance > 1e-12 { b_to_a / distance } else { DVec3::X };
    Some(Touch { normal, depth_m: reach_m - distance })
}

fn plane_touch(a: &Placed, plane: &Placed, extent_m: f64) -> Option<Touch> {
    let normal = plane.orientation * DVec3::Z;
    let depth_m = extent_m - normal.dot(a.position_m - plane.position_m);
    (depth_m > 0.0).then_some(Touch { normal, depth_m })
}

fn sphere_box(centre: DVec3, radius_m: f64, b: &Placed, half_m: DVec3) -> Option<Touch> {
    let local = b.orientation.conjugate() * (centre - b.position_m);
    let nearest = local.clamp(-half_m, half_m);
    let outside = local - nearest;
    let squared = outside.length_squared();
    if squared >= radius_m * radius_m {
        return None;
    }
    if squared > 1e-24 {
        let distance = squared.sqrt();
        return Some(Touch { normal: b.orientation * (outside / distance), depth_m: radius_m - distance });
    }
    // the centre is inside: the nearest face is the way out
    let gaps = half_m - local.abs();
    let axis = if gaps.x <= gaps.y && gaps.x <= gaps.z {
        DVec3::X
    } else if gaps.y <= gaps.z {
        DVec3::Y
    } else {
        DVec3::Z
    };
    let side = if local.dot(axis) < 0.0 { -axis } else { axis };
    Some(Touch { normal: b.orientation * side, depth_m: radius_m + gaps.dot(axis) })
}

/// Separating axes of two boxes (Gottschalk, Lin and Manocha 1996): the axis of least overlap is the way out.
fn box_box(a: &Placed, half_a: DVec3, b: &Placed, half_b: DVec3) -> Option<Touch> {
    let (axes_a, axes_b) = (DMat3::from_quat(a.orientation), DMat3::from_quat(b.orientation));
    let between = a.position_m - b.position_m;
    let mut best: Option<Touch> = None;
    let mut consider = |axis: DVec3| -> bool {
        let squared = axis.length_squared();
        if squared < 1e-12 {
            return true;
        }
        let axis = axis / squared.sqrt();
        let extent = |axes: &DMat3, half: DVec3| (axes.transpose() * axis).abs().dot(half);
        let distance = between.dot(axis);
        let depth_m = extent(&axes_a, half_a) + extent(&axes_b, half_b) - distance.abs();
        if depth_m <= 0.0 {
            return false;
        }
        if best.is_none_or(|found| depth_m < found.depth_m - 1e-12) {
            best = Some(Touch { normal: if distance < 0.0 { -axis } else { axis }, depth_m });
        }
        true
    };
    let faces = [axes_a.x_axis, axes_a.y_axis, axes_a.z_axis, axes_b.x_axis, axes_b.y_axis, axes_b.z_axis];
    let edges = (0..9).map(|pair| faces[pair / 3].cross(faces[3 + pair % 3]));
    faces.into_iter().chain(edges).all(&mut consider).then_some(())?;
    best
}

/// Lets an obstacle act on one robot at the end of its move; true if they touch.
pub fn meet_obstacle(columns: &mut [Column], lane: usize, solid: &Solid, obstacle: &Obstacle) -> bool {
    if matches!((solid.mobility, obstacle.shape), (Mobility::Planar, Shape::Plane)) {
        return false;
    }
    let mut position_m = body::vec3(columns, body::POSITION, lane);
    let robot = Placed { shape: solid.shape, position_m, orientation: body::orientation(columns, lane) };
    let other = Placed { shape: obstacle.shape, position_m: obstacle.position_m, orientation: obstacle.orientation };
    let Some(touch) = touch(&robot, &other) else { return false };
    let touch = level(touch, solid.mobility);
    let velocity = body::vec3(columns, body::VELOCITY, lane);
    let friction = (solid.friction * obstacle.friction).sqrt();
    let restitution = solid.restitution.max(obstacle.restitution);
    let change = velocity_change(velocity, touch.normal, friction, restitution, solid.mobility);
    position_m += touch.normal * touch.depth_m;
    body::set_vec3(columns, body::POSITION, lane, position_m);
    body::set_vec3(columns, body::VELOCITY, lane, velocity + change);
    true
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

/// The change of relative velocity by an impulse along the normal with Coulomb friction.
fn velocity_change(relative: DVec3, normal: DVec3, friction: f64, restitution: f64, mobility: Mobility) -> DVec3 {
    let approach = -relative.dot(normal);
    if approach <= 0.0 {
        return DVec3::ZERO;
    }
    if !matches!(mobility, Mobility::Dynamic { .. }) {
        return normal * approach;
    }
    let bounce = if approach > BOUNCE_FROM_MPS { 1.0 + restitution } else { 1.0 };
    let along = relative + normal * approach;
    let slip = along.length();
    let brake = if slip > 1e-12 { along * (-(friction * bounce * approach).min(slip) / slip) } else { DVec3::ZERO };
    normal * (bounce * approach) + brake
}

/// What the two robots of a pair get from their contact.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PairContact {
    /// Displacement and change of velocity of the first.
    pub first: (DVec3, DVec3),
    /// Displacement and change of velocity of the second.
    pub second: (DVec3, DVec3),
}

/// A robot of a pair.
#[derive(Clone, Copy)]
pub struct Partner<'a> {
    /// Its columns.
    pub columns: &'a [Column],
    /// Its lane.
    pub lane: usize,
    /// What it is to a contact.
    pub solid: &'a Solid,
}

impl Partner<'_> {
    fn placed(&self) -> Placed {
        Placed {
            shape: self.solid.shape,
            position_m: body::vec3(self.columns, body::POSITION, self.lane),
            orientation: body::orientation(self.columns, self.lane),
        }
    }
}

/// Whether two robots touch, and what each gets from it.
pub fn meet(a: Partner<'_>, b: Partner<'_>) -> Option<PairContact> {
    if let (Shape::Sphere { radius_m: ra }, Shape::Sphere { radius_m: rb }) = (a.solid.shape, b.solid.shape) {
        // the common case without building both poses
        let between = body::vec3(a.columns, body::POSITION, a.lane) - body::vec3(b.columns, body::POSITION, b.lane);
        if between.length_squared() >= (ra + rb) * (ra + rb) {
            return None;
        }
    }
    let touch = touch(&a.placed(), &b.placed())?;
    let (mobile_a, mobile_b) = (a.solid.mobility, b.solid.mobility);
    let touch = level(level(touch, mobile_a), mobile_b);
    let relative = body::vec3(a.columns, body::VELOCITY, a.lane) - body::vec3(b.columns, body::VELOCITY, b.lane);
    let friction = (a.solid.friction * b.solid.friction).sqrt();
    let restitution = a.solid.restitution.max(b.solid.restitution);
    let both_dynamic = if matches!(mobile_a, Mobility::Dynamic { .. }) { mobile_a } else { mobile_b };
    let change = velocity_change(relative, touch.normal, friction, restitution, both_dynamic);
    let (share_a, share_b) = (mobile_a.share(mobile_b), mobile_b.share(mobile_a));
    let push = touch.normal * touch.depth_m;
    Some(PairContact { first: (push * share_a, change * share_a), second: (-push * share_b, -change * share_b) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(shape: Shape, position_m: DVec3, orientation: DQuat) -> Placed {
        Placed { shape, position_m, orientation }
    }

    const BALL: Shape = Shape::Sphere { radius_m: 0.5 };

    fn crate_box(x: f64, y: f64, z: f64) -> Shape {
        Shape::Box { half_m: DVec3::new(x, y, z) }
    }

    fn check(a: Placed, b: Placed, expected: Option<(DVec3, f64)>) {
        let found = touch(&a, &b);
        match (found, expected) {
            (None, None) => {}
            (Some(found), Some((normal, depth))) => {
                assert!((found.normal - normal).length() < 1e-9, "{found:?} {normal}");
                assert!((found.depth_m - depth).abs() < 1e-9, "{found:?} {depth}");
                let back = touch(&b, &a).expect("contact is symmetric");
                assert!((back.normal + normal).length() < 1e-9 && (back.depth_m - depth).abs() < 1e-9);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn depth_and_normal_equal_the_closed_form_for_all_pairs() {
        let at = |x, y, z| DVec3::new(x, y, z);
        let id = DQuat::IDENTITY;
        // sin and cos of 22.5 degrees: a turn by 45 degrees about z
        let turned = DQuat::from_xyzw(0.0, 0.0, 0.382_683_432_365_089_8, 0.923_879_532_511_286_7);
        check(placed(BALL, at(0.8, 0.0, 0.0), id), placed(BALL, at(0.0, 0.0, 0.0), id), Some((DVec3::X, 0.2)));
        check(placed(BALL, at(1.0, 0.0, 0.0), id), placed(BALL, at(0.0, 0.0, 0.0), id), None);
        check(placed(BALL, at(0.0, 0.0, 0.3), id), placed(Shape::Plane, at(5.0, 5.0, 0.0), id), Some((DVec3::Z, 0.2)));
        check(
            placed(BALL, at(0.0, 1.4, 0.0), id),
            placed(crate_box(1.0, 1.0, 1.0), DVec3::ZERO, id),
            Some((DVec3::Y, 0.1)),
        );
        check(
            placed(BALL, at(0.9, 0.0, 0.0), id),
            placed(crate_box(1.0, 1.0, 1.0), DVec3::ZERO, id),
            Some((DVec3::X, 0.6)),
        );
        let corner = at(1.2, 1.2, 0.0);
        let expected = 0.5 - 0.08_f64.sqrt();
        check(
            placed(BALL, corner, id),
            placed(crate_box(1.0, 1.0, 1.0), DVec3::ZERO, id),
            Some((at(0.5_f64.sqrt(), 0.5_f64.sqrt(), 0.0), expected)),
        );
        check(
            placed(crate_box(1.0, 1.0, 1.0), at(0.0, 0.0, 0.9), id),
            placed(Shape::Plane, DVec3::ZERO, id),
            Some((DVec3::Z, 0.1)),
        );
        check(
            placed(crate_box(1.0, 1.0, 1.0), at(1.9, 0.3, 0.0), id),
            placed(crate_box(1.0, 1.0, 1.0), DVec3::ZERO, id),
            Some((DVec3::X, 0.1)),
        );
        // a box turned by 45 degrees reaches sqrt(2) along x
        check(
            placed(crate_box(1.0, 1.0, 1.0), at(2.3, 0.0, 0.0), turned),
            placed(crate_box(1.0, 1.0, 1.0), DVec3::ZERO, id),
            Some((DVec3::X, 1.0 + 2.0_f64.sqrt() - 2.3)),
        );
        check(
            placed(crate_box(1.0, 1.0, 1.0), at(2.5, 0.0, 0.0), turned),
            placed(crate_box(1.0, 1.0, 1.0), DVec3::ZERO, id),
            None,
        );
    }

    #[test]
    fn two_dynamic_robots_keep_their_momentum_and_rebound_by_restitution() {
        let solid =
            |mass_kg| Solid { shape: BALL, mobility: Mobility::Dynamic { mass_kg }, friction: 0.0, restitution: 0.8 };
        let (a, b) = (solid(1.0), solid(3.0));
        let mut columns = vec![[0.0; crate::lanes::LANES]; body::COLUMNS];
        columns[body::ORIENTATION + 3] = [1.0; crate::lanes::LANES];
        body::set_vec3(&mut columns, body::POSITION, 0, DVec3::new(0.9, 0.0, 0.0));
        body::set_vec3(&mut columns, body::VELOCITY, 0, DVec3::new(-2.0, 0.0, 0.0));
        let contact =
            meet(Partner { columns: &columns, lane: 0, solid: &a }, Partner { columns: &columns, lane: 1, solid: &b })
                .expect("they overlap");
        let (va, vb) = (DVec3::new(-2.0, 0.0, 0.0) + contact.first.1, contact.second.1);
        assert!((va * 1.0 + vb * 3.0 - DVec3::new(-2.0, 0.0, 0.0)).length() < 1e-12, "momentum");
        assert!(((va - vb).x - 0.8 * 2.0).abs() < 1e-12, "relative speed after is e times that before");
    }
}
