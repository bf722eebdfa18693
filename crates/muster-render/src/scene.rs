//! Which forms there are in a world, remembered from picture to picture.

use crate::form::{Form, LANES};
use crate::frustum::Frustum;
use glam::DVec3;
use muster_core::component::Pose;
use muster_core::math;
use muster_core::model::{Cohort, Environment};
use muster_core::shape::Shape;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// Balls around eight obstacles.
#[derive(Clone, Copy)]
struct Balls {
    middle_m: [[f64; LANES]; 3],
    radius_m: [f64; LANES],
}

/// What stands still.
pub(crate) struct Scene {
    pub(crate) forms: Vec<Arc<Form>>,
    balls: Vec<Balls>,
}

/// The parts of a robot.
pub(crate) type Kit = Arc<[Arc<Form>]>;

/// Everything that was ever drawn and still exists. Keys are addresses, which stay taken while they are watched.
#[derive(Default)]
pub(crate) struct Library {
    shapes: Vec<(Shape, Weak<Form>)>,
    scenes: BTreeMap<usize, (Weak<Environment>, Arc<Scene>)>,
    kits: BTreeMap<usize, (Weak<Cohort>, Kit)>,
}

impl Library {
    /// What stands still in an environment, if it was drawn before.
    pub(crate) fn scene(&self, environment: &Arc<Environment>) -> Option<&Arc<Scene>> {
        self.scenes.get(&Arc::as_ptr(environment).addr()).map(|(_, scene)| scene)
    }

    /// The parts of a robot, if it was drawn before.
    pub(crate) fn kit(&self, cohort: &Arc<Cohort>) -> Option<&Kit> {
        self.kits.get(&Arc::as_ptr(cohort).addr()).map(|(_, kit)| kit)
    }

    /// Prepares what stands still in an environment.
    pub(crate) fn add_scene(&mut self, environment: &Arc<Environment>) {
        self.scenes.retain(|_, (watched, _)| watched.strong_count() > 0);
        let forms: Vec<Arc<Form>> =
            environment.obstacles.iter().map(|obstacle| self.form(obstacle.solid.shape())).collect();
        let poses = environment.obstacles.iter().map(|obstacle| &obstacle.pose);
        let placed: Vec<(DVec3, f64)> = forms.iter().zip(poses).map(|(form, pose)| ball(form, pose)).collect();
        let scene = Scene { forms, balls: placed.chunks(LANES).map(Balls::new).collect() };
        let watched = (Arc::downgrade(environment), Arc::new(scene));
        self.scenes.insert(Arc::as_ptr(environment).addr(), watched);
    }

    /// Prepares the parts of robots of a cohort.
    pub(crate) fn add_kit(&mut self, cohort: &Arc<Cohort>) {
        self.kits.retain(|_, (watched, _)| watched.strong_count() > 0);
        let kit = cohort.blueprint.parts.iter().map(|part| self.form(part.solid.shape())).collect();
        self.kits.insert(Arc::as_ptr(cohort).addr(), (Arc::downgrade(cohort), kit));
    }

    fn form(&mut self, shape: &Shape) -> Arc<Form> {
        let known = self.shapes.iter().find(|(known, _)| same(known, shape)).and_then(|(_, form)| form.upgrade());
        known.unwrap_or_else(|| {
            self.shapes.retain(|(_, form)| form.strong_count() > 0);
            let form = Arc::new(Form::new(shape));
            self.shapes.push((shape.clone(), Arc::downgrade(&form)));
            form
        })
    }
}

/// True of shapes that are drawn alike. Triangles are not compared: whoever shares them shares them by reference.
pub(crate) fn same(a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (Shape::Mesh(a), Shape::Mesh(b)) => Arc::ptr_eq(a, b),
        (Shape::Heightfield(a), Shape::Heightfield(b)) => Arc::ptr_eq(a, b),
        (Shape::Mesh(_) | Shape::Heightfield(_), _) | (_, Shape::Mesh(_) | Shape::Heightfield(_)) => false,
        (a, b) => a == b,
    }
}

/// The ball around a form at a pose.
pub(crate) fn ball(form: &Form, pose: &Pose) -> (DVec3, f64) {
    (pose.position_m + math::rotate(pose.orientation, form.middle_m), form.radius_m)
}

/// True if a ball may be seen.
#[inline(always)]
pub(crate) fn sees_ball(sides: &[(DVec3, f64); 6], (middle_m, radius_m): (DVec3, f64)) -> bool {
    sides.iter().all(|(normal, offset)| normal.dot(middle_m) + offset >= -radius_m)
}

impl Balls {
    fn new(some: &[(DVec3, f64)]) -> Self {
        // places left over are empty: no half-space holds a ball of negative infinite radius
        let mut balls = Self { middle_m: [[0.0; LANES]; 3], radius_m: [f64::NEG_INFINITY; LANES] };
        for (lane, (middle_m, radius_m)) in some.iter().enumerate() {
            for axis in 0..3 {
                balls.middle_m[axis][lane] = middle_m[axis];
            }
            balls.radius_m[lane] = *radius_m;
        }
        balls
    }
}

impl Scene {
    /// Calls `found` with the number of every obstacle that may be seen, planes excepted.
    #[inline(always)]
    pub(crate) fn seen(&self, frustum: &Frustum, mut found: impl FnMut(usize)) {
        let sides = frustum.sides_in_world();
        for (first, balls) in self.balls.iter().enumerate() {
            let mut seen = [true; LANES];
            for (normal, offset) in &sides {
                for lane in 0..LANES {
                    let [x, y, z] = [balls.middle_m[0][lane], balls.middle_m[1][lane], balls.middle_m[2][lane]];
                    let inside = normal.x * x + normal.y * y + normal.z * z + offset;
                    seen[lane] &= inside >= -balls.radius_m[lane];
                }
            }
            for lane in 0..LANES {
                let number = first * LANES + lane;
                if seen[lane] && !self.forms[number].levels.is_empty() {
                    found(number);
                }
            }
        }
    }
}
