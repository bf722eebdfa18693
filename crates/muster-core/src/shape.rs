//! Shapes: the outlines of robots' parts and of obstacles, and the geometric questions asked of them. Answers come from
//! parry3d in double precision; the only state is in the question, so an answer never depends on an earlier one.

use crate::component::Pose;
use crate::ray::Outline;
use crate::skin::Paint;
use glam::{DMat3, DQuat, DVec3};
use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::math::Pose as ParryPose;
use parry3d_f64::query::Ray;
use parry3d_f64::shape::{
    Ball, Capsule, Cone, Cuboid, Cylinder, HalfSpace, HeightField, SharedShape, TriMesh, TriMeshFlags,
};
use parry3d_f64::utils::Array2;
use std::sync::Arc;

/// An outline, centred on its pose.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
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
    /// A cylinder along z.
    Cylinder {
        /// Radius, m.
        radius_m: f64,
        /// Half of its height, m.
        half_height_m: f64,
    },
    /// A cylinder along z with a half ball at each end.
    Capsule {
        /// Radius, m.
        radius_m: f64,
        /// Half of the distance between the centres of its ends, m.
        half_height_m: f64,
    },
    /// A cone along z, its tip up.
    Cone {
        /// Radius of the base, m.
        radius_m: f64,
        /// Half of its height, m.
        half_height_m: f64,
    },
    /// Everything below the plane through the pose whose normal is the pose's z axis; only for obstacles.
    Plane,
    /// Terrain over a rectangle; only for obstacles.
    Heightfield(Arc<Heights>),
    /// Triangles.
    Mesh(Arc<Mesh>),
}

/// Heights on a grid, row by row along x, rows along y, centred on the pose.
#[derive(Debug, Clone, PartialEq)]
pub struct Heights {
    /// Length along x and y, m.
    pub size_m: [f64; 2],
    /// Points along x.
    pub columns: usize,
    /// Heights, m.
    pub heights_m: Vec<f64>,
}

impl Heights {
    /// How many triangles there are: two for each cell, cell by cell along x, rows along y.
    pub fn triangle_count(&self) -> u32 {
        let rows = self.heights_m.len() / self.columns.max(1);
        2 * (self.columns.max(1) as u32 - 1) * (rows.max(1) as u32 - 1)
    }

    /// The corners of a triangle, which turn left as seen from above, m. The diagonal of a cell leads from its lowest x
    /// and y to its highest; of its two triangles the one at the lower y comes first.
    pub fn triangle_m(&self, number: u32) -> [DVec3; 3] {
        let rows = self.heights_m.len() / self.columns;
        let (cell, upper) = (number as usize / 2, number % 2 == 1);
        let (row, column) = (cell / (self.columns - 1), cell % (self.columns - 1));
        let point = |column: usize, row: usize| {
            let x = (column as f64 / (self.columns - 1) as f64 - 0.5) * self.size_m[0];
            let y = (row as f64 / (rows - 1) as f64 - 0.5) * self.size_m[1];
            DVec3::new(x, y, self.heights_m[row * self.columns + column])
        };
        let (low, high) = (point(column, row), point(column + 1, row + 1));
        if upper { [low, high, point(column, row + 1)] } else { [low, point(column + 1, row), high] }
    }
}

/// Triangles whose outside is where their corners turn left.
#[derive(Debug, Clone, PartialEq)]
pub struct Mesh {
    /// Corners, m.
    pub vertices_m: Vec<DVec3>,
    /// Three corners each.
    pub triangles: Vec<[u32; 3]>,
    /// What its triangles look like, if not like the solid it is the outline of.
    pub paint: Option<Paint>,
}

/// What a shape weighs at a density of 1 kg/m³.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bulk {
    /// Volume, m³.
    pub volume_m3: f64,
    /// Its centre.
    pub centre_m: DVec3,
    /// Moments of inertia about the centre for a mass of 1 kg, m².
    pub inertia_per_kg_m2: DMat3,
}

/// Where a ray meets a solid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RayHit {
    /// Along the ray, m.
    pub distance_m: f64,
    /// Outward normal there.
    pub normal: DVec3,
}

/// A shape with what is needed to ask about it quickly.
#[derive(Clone)]
pub struct Solid {
    shape: Shape,
    pub(crate) form: SharedShape,
    /// `solid_from_form`: the geometry library has its cylinders and terrain along y.
    pub(crate) turn: DQuat,
    /// What rays need of it.
    outline: Outline,
    radius_m: f64,
    inner_radius_m: f64,
    /// The convex hull of a mesh: what it is to terrain and to other meshes, as triangles have no inside.
    convex: Option<SharedShape>,
    /// Centre and half edges of the box that holds it, in its own frame; endless for a plane.
    hull: (DVec3, DVec3),
}

impl std::fmt::Debug for Solid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.shape.fmt(f)
    }
}

impl PartialEq for Solid {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape
    }
}

/// Turns y to z.
const UPRIGHT: DQuat = DQuat::from_xyzw(std::f64::consts::FRAC_1_SQRT_2, 0.0, 0.0, std::f64::consts::FRAC_1_SQRT_2);

impl Solid {
    /// Prepares a shape. Fails if a mesh or terrain has too few points or points to what it does not have.
    pub fn new(shape: Shape) -> Result<Self, String> {
        let (form, turn) = match &shape {
            Shape::Sphere { radius_m } => (SharedShape::new(Ball::new(*radius_m)), DQuat::IDENTITY),
            Shape::Box { half_m } => (SharedShape::new(Cuboid::new(*half_m)), DQuat::IDENTITY),
            Shape::Cylinder { radius_m, half_height_m } => {
                (SharedShape::new(Cylinder::new(*half_height_m, *radius_m)), UPRIGHT)
            }
            Shape::Capsule { radius_m, half_height_m } => {
                (SharedShape::new(Capsule::new_z(*half_height_m, *radius_m)), DQuat::IDENTITY)
            }
            Shape::Cone { radius_m, half_height_m } => {
                (SharedShape::new(Cone::new(*half_height_m, *radius_m)), UPRIGHT)
            }
            Shape::Plane => (SharedShape::new(HalfSpace::new(DVec3::Z)), DQuat::IDENTITY),
            Shape::Heightfield(heights) => (SharedShape::new(heightfield(heights)?), UPRIGHT),
            Shape::Mesh(mesh) => (SharedShape::new(trimesh(mesh)?), DQuat::IDENTITY),
        };
        let (radius_m, inner_radius_m) = radii(&shape);
        let bounds = form.compute_aabb(&ParryPose { rotation: turn, translation: DVec3::ZERO });
        let hull = match shape {
            Shape::Plane => (DVec3::ZERO, DVec3::INFINITY),
            _ => (bounds.center(), bounds.half_extents()),
        };
        let convex = match &shape {
            Shape::Mesh(mesh) => SharedShape::convex_hull(&mesh.vertices_m),
            _ => None,
        };
        Ok(Self { outline: Outline::new(&shape), shape, form, turn, radius_m, inner_radius_m, convex, hull })
    }

    /// What it is.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Centre and half edges of the box that holds it, in its own frame; endless for a plane.
    pub fn hull_m(&self) -> (DVec3, DVec3) {
        self.hull
    }

    /// Radius of the ball around the pose that holds the whole shape; infinite for a plane.
    pub fn radius_m(&self) -> f64 {
        self.radius_m
    }

    /// Radius of the largest ball around the pose inside the shape; 0 for what has no inside.
    pub fn inner_radius_m(&self) -> f64 {
        self.inner_radius_m
    }

    /// What rays need of it.
    pub(crate) fn outline(&self) -> &Outline {
        &self.outline
    }

    /// What it is to triangles.
    pub(crate) fn convex_form(&self) -> &SharedShape {
        self.convex.as_ref().unwrap_or(&self.form)
    }

    pub(crate) fn form_pose(&self, pose: &Pose) -> ParryPose {
        ParryPose { rotation: pose.orientation * self.turn, translation: pose.position_m }
    }

    pub(crate) fn bounds(&self, pose: &Pose) -> Aabb {
        self.form.compute_aabb(&self.form_pose(pose))
    }

    /// The middle of the box around it; the place itself for a plane.
    pub fn middle(&self, pose: &Pose) -> DVec3 {
        pose.position_m + pose.orientation * self.hull.0
    }

    /// The lowest and the highest corner of the box around it.
    pub(crate) fn corners(&self, pose: &Pose) -> (DVec3, DVec3) {
        let bounds = self.bounds(pose);
        (bounds.mins, bounds.maxs)
    }

    /// True if two solids at these poses are further apart than a margin along some axis of the boxes that hold them.
    /// Cheap, and never true of solids that touch; false says nothing.
    pub(crate) fn apart(&self, pose: &Pose, other: &Self, other_pose: &Pose, margin_m: f64) -> bool {
        let (a, b) = (DMat3::from_quat(pose.orientation), DMat3::from_quat(other_pose.orientation));
        let between = other_pose.position_m + b * other.hull.0 - (pose.position_m + a * self.hull.0);
        let turn = a.transpose() * b;
        let spread = DMat3::from_cols(turn.x_axis.abs(), turn.y_axis.abs(), turn.z_axis.abs());
        let (own, others) = (self.hull.1 + margin_m, other.hull.1 + margin_m);
        let along_own = (a.transpose() * between).abs().cmpgt(own + spread * other.hull.1);
        let along_others = (b.transpose() * between).abs().cmpgt(others + spread.transpose() * self.hull.1);
        (along_own | along_others).any()
    }

    /// The point of the solid at a pose that is nearest to a point: the point itself if it is inside.
    pub fn nearest_point(&self, pose: &Pose, point_m: DVec3) -> DVec3 {
        self.form.project_point(&self.form_pose(pose), point_m, true).point
    }

    /// Where a ray of unit direction first meets the solid at a pose.
    pub fn ray(&self, pose: &Pose, from_m: DVec3, direction: DVec3, range_m: f64) -> Option<RayHit> {
        let ray = Ray::new(from_m, direction);
        let hit = self.form.cast_ray_and_get_normal(&self.form_pose(pose), &ray, range_m, true)?;
        Some(RayHit { distance_m: hit.time_of_impact, normal: hit.normal })
    }

    /// The outward normal where a point on the surface is, in the frame of the solid; of meshes and terrain, that of a
    /// triangle. The point may be a little off the surface.
    pub fn normal_at(&self, point_m: DVec3, triangle: u32) -> DVec3 {
        let flat = |[a, b, c]: [DVec3; 3]| (b - a).cross(c - a).normalize_or(DVec3::Z);
        let radial = DVec3::new(point_m.x, point_m.y, 0.0);
        let end = if point_m.z < 0.0 { DVec3::NEG_Z } else { DVec3::Z };
        match &self.shape {
            Shape::Sphere { .. } => point_m.normalize_or(DVec3::Z),
            Shape::Box { half_m } => {
                let beyond = point_m.abs() - half_m;
                let axis = DVec3::AXES[beyond.max_position()];
                if point_m.dot(axis) < 0.0 { -axis } else { axis }
            }
            Shape::Cylinder { radius_m, half_height_m } => {
                let is_end = point_m.z.abs() - half_height_m > radial.length() - radius_m;
                if is_end { end } else { radial.normalize_or(end) }
            }
            Shape::Capsule { half_height_m, .. } => {
                let along = point_m.z.clamp(-half_height_m, *half_height_m);
                (point_m - DVec3::Z * along).normalize_or(end)
            }
            Shape::Cone { radius_m, half_height_m } => {
                let out = radial.normalize_or(DVec3::X);
                let side = (out * (2.0 * half_height_m) + DVec3::Z * *radius_m).normalize_or(DVec3::Z);
                let beyond = (point_m - DVec3::Z * *half_height_m).dot(side);
                if -point_m.z - half_height_m > beyond { DVec3::NEG_Z } else { side }
            }
            Shape::Plane => DVec3::Z,
            Shape::Heightfield(heights) if triangle < heights.triangle_count() => flat(heights.triangle_m(triangle)),
            Shape::Heightfield(_) => DVec3::Z,
            Shape::Mesh(mesh) => mesh
                .triangles
                .get(triangle as usize)
                .map_or(DVec3::Z, |corners| flat(corners.map(|corner| mesh.vertices_m[corner as usize]))),
        }
    }

    /// What it weighs; `None` for planes, terrain and meshes that are not closed.
    pub fn bulk(&self) -> Option<Bulk> {
        if matches!(self.shape, Shape::Plane | Shape::Heightfield(_)) {
            return None;
        }
        let properties = self.form.mass_properties(1.0);
        let volume_m3 = properties.mass();
        if !(volume_m3.is_finite() && volume_m3 > 0.0) {
            return None;
        }
        let turn = DMat3::from_quat(self.turn);
        let inertia = turn * properties.reconstruct_inertia_matrix() * turn.transpose();
        Some(Bulk {
            volume_m3,
            centre_m: self.turn * properties.local_com,
            inertia_per_kg_m2: inertia * volume_m3.recip(),
        })
    }
}

fn heightfield(heights: &Heights) -> Result<HeightField, String> {
    let Heights { size_m: [length_m, width_m], columns, heights_m } = heights;
    let rows = heights_m.len() / (*columns).max(1);
    if *columns < 2 || rows < 2 || rows * columns != heights_m.len() {
        return Err(format!("{} heights in rows of {columns}, expected at least 2 rows of 2", heights_m.len()));
    }
    // the library's z axis is our -y, so its first row is our last
    let mut grid = Array2::repeat(rows, *columns, 0.0);
    for row in 0..rows {
        for column in 0..*columns {
            grid[(rows - 1 - row, column)] = heights_m[row * columns + column];
        }
    }
    Ok(HeightField::with_flags(
        grid,
        DVec3::new(*length_m, 1.0, *width_m),
        parry3d_f64::shape::HeightFieldFlags::FIX_INTERNAL_EDGES,
    ))
}

fn trimesh(mesh: &Mesh) -> Result<TriMesh, String> {
    if let Some(wrong) = mesh.triangles.iter().flatten().find(|&&corner| corner as usize >= mesh.vertices_m.len()) {
        return Err(format!("corner {wrong}, expected less than {}", mesh.vertices_m.len()));
    }
    TriMesh::with_flags(mesh.vertices_m.clone(), mesh.triangles.clone(), TriMeshFlags::FIX_INTERNAL_EDGES)
        .map_err(|error| error.to_string())
}

fn radii(shape: &Shape) -> (f64, f64) {
    match shape {
        Shape::Sphere { radius_m } => (*radius_m, *radius_m),
        Shape::Box { half_m } => (half_m.length(), half_m.min_element()),
        Shape::Cylinder { radius_m, half_height_m } => {
            ((radius_m * radius_m + half_height_m * half_height_m).sqrt(), radius_m.min(*half_height_m))
        }
        Shape::Capsule { radius_m, half_height_m } => (radius_m + half_height_m, *radius_m),
        Shape::Cone { radius_m, half_height_m } => {
            let slope = (radius_m * radius_m + 4.0 * half_height_m * half_height_m).sqrt();
            let to_side = half_height_m * radius_m / slope;
            ((radius_m * radius_m + half_height_m * half_height_m).sqrt(), to_side.min(*half_height_m))
        }
        Shape::Plane => (f64::INFINITY, f64::INFINITY),
        Shape::Heightfield(heights) => {
            let [x, y] = heights.size_m.map(|size| 0.5 * size);
            let z = heights.heights_m.iter().fold(0.0, |highest: f64, height| highest.max(height.abs()));
            (DVec3::new(x, y, z).length(), 0.0)
        }
        Shape::Mesh(mesh) => {
            (mesh.vertices_m.iter().fold(0.0, |furthest, corner| f64::max(furthest, corner.length())), 0.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn normals_are_those_that_rays_meet() {
        let heights_m = (0..12).map(|k| f64::from(k * k % 7) * 0.2).collect();
        let shapes = [
            Shape::Sphere { radius_m: 0.7 },
            Shape::Box { half_m: DVec3::new(0.5, 1.0, 0.3) },
            Shape::Cylinder { radius_m: 0.4, half_height_m: 1.0 },
            Shape::Capsule { radius_m: 0.4, half_height_m: 0.6 },
            Shape::Cone { radius_m: 0.6, half_height_m: 0.8 },
            Shape::Heightfield(Heights { size_m: [2.0, 1.5], columns: 4, heights_m }.into()),
        ];
        let stream = Stream::new(8, 8);
        for shape in shapes {
            let solid = Solid::new(shape).unwrap();
            let mut met = 0;
            for at in 0..500 {
                let from = DVec3::from_slice(&stream.normals(at, 0)[..3]).normalize() * 5.0;
                let to = DVec3::from_slice(&stream.uniforms(at, 1)[..3]) - 0.5;
                let direction = (to - from).normalize();
                let Some(hit) = solid.ray(&Pose::IDENTITY, from, direction, 20.0) else { continue };
                let point_m = from + direction * hit.distance_m;
                let found = match solid.shape() {
                    // rays do not tell which triangle they met
                    Shape::Heightfield(heights) => (0..heights.triangle_count())
                        .map(|number| solid.normal_at(point_m, number))
                        .map(|normal| if normal.dot(direction) > 0.0 { -normal } else { normal })
                        .min_by(|a, b| a.distance(hit.normal).total_cmp(&b.distance(hit.normal)))
                        .unwrap(),
                    _ => solid.normal_at(point_m, 0),
                };
                // rays meet cylinders and cones by an iteration that stops early
                assert!(found.distance(hit.normal) < 1e-3, "{solid:?} at {point_m}: {found}, not {}", hit.normal);
                met += 1;
            }
            assert!(met > 100, "{solid:?} was met {met} times");
        }
    }
}
