//! Patches: where two parts touch or nearly do, as up to four spots with a common normal, and the impulses they carried.
//!
//! Spots come from parry3d's contact manifolds. Faces that hardly moved against each other keep their spots, as finding
//! them is most of the work of a pile at rest; everything kept is in the patch, so it is saved, restored and hashed.

use super::{Other, Placed, Touch};
use crate::component::Pose;
use crate::shape::Shape;
use glam::DVec3;
use parry3d_f64::math::Pose as ParryPose;
use parry3d_f64::query::details::{NormalConstraints, closest_points_segment_segment};
use parry3d_f64::query::{ClosestPoints, ContactManifold, DefaultQueryDispatcher, PersistentQueryDispatcher};
use parry3d_f64::shape::{PolygonalFeature, Segment, Shape as ParryShape};

/// Spots of a patch.
pub(crate) const SPOTS: usize = 4;

/// Parts closer than this are looked at: a spot that is about to touch must be known, m.
pub(crate) const MARGIN_M: f64 = 0.002;

/// Cosine of the turn up to which faces keep their spots: a tenth of a degree.
const KEPT_TURN_COS: f64 = 1.0 - 1.5e-6;

/// Square of the slide up to which faces keep their spots, m².
const KEPT_SLIDE_M2: f64 = 1e-7;

/// What touches what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PatchKey {
    pub(crate) lane: u8,
    pub(crate) with: Other,
    pub(crate) part: u16,
    pub(crate) other_part: u16,
    /// Which triangle of a mesh or of terrain.
    pub(crate) triangle: u32,
}

/// A point of contact.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Spot {
    /// On the first part, in its frame, m.
    pub(crate) on_first: DVec3,
    /// On the second part, in its frame, m.
    pub(crate) on_second: DVec3,
    /// From the second to the first along the normal; negative if they overlap, m.
    pub(crate) gap_m: f64,
    /// Which corners, edges or faces meet.
    feature: [u32; 2],
    /// Impulse along the normal and along two tangents at the last tick, Ns.
    pub(crate) impulse: [f64; 3],
}

/// Where two parts touch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Patch {
    pub(crate) key: PatchKey,
    /// Unit vector from the second towards the first, in the frame of each.
    normal_on_first: DVec3,
    normal_on_second: DVec3,
    spots: [Spot; SPOTS],
    count: u8,
    /// Chunk that keeps it, and chunk and lane of the other robot, among those that tick together; found anew at every
    /// tick.
    pub(crate) owner: u32,
    pub(crate) second: (u32, u8),
}

impl Patch {
    pub(crate) fn spots(&self) -> &[Spot] {
        &self.spots[..self.count as usize]
    }

    pub(crate) fn spots_mut(&mut self) -> &mut [Spot] {
        &mut self.spots[..self.count as usize]
    }

    /// The normal in the world, given the second part's pose.
    pub(crate) fn normal(&self, second: &Pose) -> DVec3 {
        second.orientation * self.normal_on_second
    }

    /// True if it carried a load at the last tick.
    pub(crate) fn loaded(&self) -> bool {
        self.spots().iter().any(|spot| spot.impulse[0] > 0.0)
    }

    /// The numbers that make up its state, for the hash.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let spot = |spot: &Spot| {
            let [n, t, u] = spot.impulse;
            spot.on_first.to_array().into_iter().chain(spot.on_second.to_array()).chain([n, t, u])
        };
        self.spots().iter().flat_map(spot)
    }

    /// The same, with the parts exchanged.
    fn turned(&self) -> Self {
        let mut patch = *self;
        (patch.normal_on_first, patch.normal_on_second) = (-self.normal_on_second, -self.normal_on_first);
        for spot in &mut patch.spots {
            (spot.on_first, spot.on_second) = (spot.on_second, spot.on_first);
            spot.feature.reverse();
        }
        patch
    }

    /// The patch where the parts are now, if they hardly moved against each other since it was found.
    fn kept(&self, first: &Pose, second: &Pose) -> Option<Self> {
        let normal = second.orientation * self.normal_on_second;
        if (first.orientation * self.normal_on_first).dot(normal) < KEPT_TURN_COS {
            return None;
        }
        let mut patch = *self;
        for spot in patch.spots_mut() {
            let between = first.orientation * spot.on_first + first.position_m
                - (second.orientation * spot.on_second + second.position_m);
            let gap_m = between.dot(normal);
            if (between - normal * gap_m).length_squared() > KEPT_SLIDE_M2 || gap_m > MARGIN_M {
                return None;
            }
            spot.gap_m = gap_m;
        }
        Some(patch)
    }
}

/// Finds patches. Holds room only.
#[derive(Default)]
pub(crate) struct Probe {
    manifold: ContactManifold<(), ()>,
    room: Vec<Patch>,
}

impl Clone for Probe {
    /// Room is not worth copying.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Probe {
    /// With room for any two parts.
    pub(crate) fn roomy() -> Self {
        let mut probe = Self { room: Vec::with_capacity(SPOTS), ..Self::default() };
        probe.manifold.points.reserve(4 * SPOTS);
        probe
    }

    /// The deepest overlap of two parts.
    pub(crate) fn deepest(&mut self, first: &Placed<'_>, second: &Placed<'_>) -> Option<Touch> {
        let mut found = std::mem::take(&mut self.room);
        found.clear();
        let key = PatchKey { lane: 0, with: Other::Obstacle(0), part: 0, other_part: 0, triangle: 0 };
        self.touch(key, first, second, &[], &mut found);
        let mut deepest: Option<Touch> = None;
        for patch in &found {
            for spot in patch.spots().iter().filter(|spot| spot.gap_m < 0.0) {
                if deepest.is_none_or(|deepest| -spot.gap_m > deepest.depth_m) {
                    deepest = Some(Touch { normal: patch.normal(&second.pose), depth_m: -spot.gap_m });
                }
            }
        }
        self.room = found;
        deepest
    }

    /// Adds the patches of two parts to `found`. `known` are those of the last tick, in order of their keys.
    pub(crate) fn touch(
        &mut self,
        key: PatchKey,
        first: &Placed<'_>,
        second: &Placed<'_>,
        known: &[Patch],
        found: &mut Vec<Patch>,
    ) {
        match (first.solid.shape(), second.solid.shape()) {
            (_, Shape::Plane) => self.on_plane(key, first, second, known, found),
            (_, Shape::Mesh(_) | Shape::Heightfield(_)) => self.on_triangles(key, first, second, known, found),
            (Shape::Mesh(_), _) => self.of_triangles(key, first, second, known, found),
            _ => self.of_convex(key, first, second, known, found),
        }
    }

    fn of_convex(
        &mut self,
        key: PatchKey,
        first: &Placed<'_>,
        second: &Placed<'_>,
        known: &[Patch],
        found: &mut Vec<Patch>,
    ) {
        let old = of_key(known, key);
        let faces = matches!((first.solid.shape(), second.solid.shape()), (Shape::Box { .. }, Shape::Box { .. }));
        if faces && let Some(kept) = old.and_then(|old| old.kept(&first.pose, &second.pose)) {
            found.push(kept);
            return;
        }
        if first.solid.apart(&first.pose, second.solid, &second.pose, MARGIN_M) {
            return;
        }
        let between = first.solid.form_pose(&first.pose).inverse() * second.solid.form_pose(&second.pose);
        self.ask(&between, (&*first.solid.form.0, None), (&*second.solid.form.0, None));
        self.polish(&between, &*first.solid.form.0, &*second.solid.form.0);
        self.keep(key, first, second, old, found);
    }

    /// Makes the normal of two overlapping cylinders or capsules exact. The library finds the depth to eleven digits, but
    /// the normal, at which the depth is least, only to half of them. Sides touch along the shortest line between axes.
    fn polish(&mut self, between: &ParryPose, first: &dyn ParryShape, second: &dyn ParryShape) {
        let (Some(a), Some(b)) = (axis(first), axis(second)) else { return };
        let (Some(hull_a), Some(hull_b)) = (first.as_support_map(), second.as_support_map()) else { return };
        let ClosestPoints::WithinMargin(on_a, on_b) = closest_points_segment_segment(between, &a, &b, f64::MAX) else {
            return;
        };
        let Some(normal) = (*between * on_b - on_a).try_normalize() else { return };
        let depth =
            |normal: DVec3| (hull_a.local_support_point(normal) - hull_b.support_point(between, -normal)).dot(normal);
        if depth(normal) <= depth(self.manifold.local_n1) && self.manifold.points.iter().any(|point| point.dist < 0.0) {
            self.manifold.local_n1 = normal;
            self.manifold.local_n2 = between.rotation.inverse() * -normal;
        }
    }

    /// The corners and ends that are below a plane.
    fn on_plane(
        &mut self,
        key: PatchKey,
        first: &Placed<'_>,
        plane: &Placed<'_>,
        known: &[Patch],
        found: &mut Vec<Patch>,
    ) {
        let normal = plane.pose.orientation * DVec3::Z;
        let height_m = normal.dot(first.pose.position_m - plane.pose.position_m);
        if height_m > first.solid.radius_m() + MARGIN_M {
            return;
        }
        let (out_of_first, into_plane) = (first.pose.orientation.inverse(), plane.pose.orientation.inverse());
        let mut chosen = Reduction::default();
        let mut consider = |at: DVec3, feature: u32| {
            let gap_m = normal.dot(at - plane.pose.position_m);
            if gap_m <= MARGIN_M {
                chosen.add(Spot {
                    on_first: out_of_first * (at - first.pose.position_m),
                    on_second: into_plane * (at - normal * gap_m - plane.pose.position_m),
                    gap_m,
                    feature: [feature, 0],
                    impulse: [0.0; 3],
                });
            }
        };
        let form = first.solid.form_pose(&first.pose);
        let down = form.rotation.inverse() * -normal;
        let placed = |point: DVec3| form.rotation * point + form.translation;
        match (first.solid.shape(), first.solid.form.as_polygonal_feature_map()) {
            (Shape::Sphere { radius_m }, _) => consider(placed(down * *radius_m), 0),
            (Shape::Mesh(mesh), _) => {
                (0..).zip(&mesh.vertices_m).for_each(|(index, corner)| consider(placed(*corner), index));
            }
            (_, Some((map, border_m))) => {
                let mut feature = PolygonalFeature::default();
                map.local_support_feature(down, &mut feature);
                for (vertex, id) in feature.vertices.iter().zip(&feature.vids).take(feature.num_vertices) {
                    consider(placed(*vertex + down * border_m), id.0);
                }
            }
            _ => {}
        }
        let (mut spots, count) = chosen.reduce();
        add(key, normal, (&first.pose, &plane.pose), &mut spots[..count], of_key(known, key), found);
    }

    /// Every triangle of the second part that is near the first, of which a mesh is its convex hull here.
    fn on_triangles(
        &mut self,
        key: PatchKey,
        first: &Placed<'_>,
        second: &Placed<'_>,
        known: &[Patch],
        found: &mut Vec<Patch>,
    ) {
        let between = second.solid.form_pose(&second.pose).inverse() * first.solid.form_pose(&first.pose);
        let solid = first.solid.convex_form();
        let bounds = {
            use parry3d_f64::bounding_volume::BoundingVolume;
            solid.compute_aabb(&between).loosened(MARGIN_M)
        };
        let (inverse, form) = (between.inverse(), &second.solid.form);
        let begin = found.len();
        if let Some(terrain) = form.as_heightfield() {
            terrain.map_elements_in_local_aabb(&bounds, &mut |triangle, part| {
                let constraints = terrain.triangle_normal_constraints(triangle);
                let constraints = constraints.as_ref().map(|normals| normals as &dyn NormalConstraints);
                self.ask(&inverse, (&*solid.0, None), (part, constraints));
                let key = PatchKey { triangle, ..key };
                self.keep(key, first, second, of_key(known, key), found);
            });
        } else if let Some(mesh) = form.as_trimesh() {
            for triangle in mesh.bvh().intersect_aabb(&bounds) {
                let constraints = mesh.triangle_normal_constraints(triangle);
                let constraints = constraints.as_ref().map(|normals| normals as &dyn NormalConstraints);
                self.ask(&inverse, (&*solid.0, None), (&mesh.triangle(triangle), constraints));
                let key = PatchKey { triangle, ..key };
                self.keep(key, first, second, of_key(known, key), found);
            }
        }
        found[begin..].sort_unstable_by_key(|patch| patch.key);
    }

    /// A mesh against something convex: the same, seen from the other side.
    fn of_triangles(
        &mut self,
        key: PatchKey,
        first: &Placed<'_>,
        second: &Placed<'_>,
        known: &[Patch],
        found: &mut Vec<Patch>,
    ) {
        let begin = found.len();
        let from = known.partition_point(|patch| patch.key < PatchKey { triangle: 0, ..key });
        let until = known.partition_point(|patch| patch.key <= PatchKey { triangle: u32::MAX, ..key });
        let turned: Vec<Patch> = known[from..until].iter().map(Patch::turned).collect();
        self.on_triangles(key, second, first, &turned, found);
        found[begin..].iter_mut().for_each(|patch| *patch = patch.turned());
    }

    /// Fills the manifold, without regard to what was in it.
    fn ask(
        &mut self,
        between: &ParryPose,
        first: (&dyn ParryShape, Option<&dyn NormalConstraints>),
        second: (&dyn ParryShape, Option<&dyn NormalConstraints>),
    ) {
        self.manifold.points.clear();
        (self.manifold.local_n1, self.manifold.local_n2) = (DVec3::ZERO, DVec3::ZERO);
        // no pair of these shapes is unknown to the library; if one were, there would be no spots
        _ = DefaultQueryDispatcher.contact_manifold_convex_convex(
            between,
            first.0,
            second.0,
            first.1,
            second.1,
            MARGIN_M,
            &mut self.manifold,
        );
    }

    /// Makes a patch of the manifold, whose points are in the frames of the library's forms.
    fn keep(
        &mut self,
        key: PatchKey,
        first: &Placed<'_>,
        second: &Placed<'_>,
        old: Option<&Patch>,
        found: &mut Vec<Patch>,
    ) {
        let normal = -(first.pose.orientation * (first.solid.turn * self.manifold.local_n1));
        let mut chosen = Reduction::default();
        for point in self.manifold.points.iter().filter(|point| point.dist <= MARGIN_M) {
            chosen.add(Spot {
                on_first: first.solid.turn * point.local_p1,
                on_second: second.solid.turn * point.local_p2,
                gap_m: point.dist,
                feature: [point.fid1.0, point.fid2.0],
                impulse: [0.0; 3],
            });
        }
        let (mut spots, count) = chosen.reduce();
        add(key, normal, (&first.pose, &second.pose), &mut spots[..count], old, found);
    }
}

/// The axis of what is round about one.
fn axis(form: &dyn ParryShape) -> Option<Segment> {
    let cylinder =
        form.as_cylinder().map(|round| Segment::new(DVec3::Y * -round.half_height, DVec3::Y * round.half_height));
    cylinder.or_else(|| form.as_capsule().map(|capsule| capsule.segment))
}

fn of_key(known: &[Patch], key: PatchKey) -> Option<&Patch> {
    known.binary_search_by_key(&key, |patch| patch.key).ok().map(|at| &known[at])
}

/// Adds a patch of these spots, if there are any, with the impulses of the same spots at the last tick.
fn add(
    key: PatchKey,
    normal: DVec3,
    (first, second): (&Pose, &Pose),
    spots: &mut [Spot],
    old: Option<&Patch>,
    found: &mut Vec<Patch>,
) {
    if spots.is_empty() {
        return;
    }
    let mut patch = Patch {
        key,
        normal_on_first: first.orientation.inverse() * normal,
        normal_on_second: second.orientation.inverse() * normal,
        spots: [Spot::default(); SPOTS],
        count: spots.len() as u8,
        owner: 0,
        second: (0, 0),
    };
    for (spot, kept) in spots.iter_mut().zip(&mut patch.spots) {
        let same = old.and_then(|old| old.spots().iter().find(|other| other.feature == spot.feature));
        spot.impulse = same.map_or([0.0; 3], |same| same.impulse);
        *kept = *spot;
    }
    found.push(patch);
}

/// Candidates for the spots of a patch.
struct Reduction {
    spots: [Spot; 4 * SPOTS],
    count: usize,
}

impl Default for Reduction {
    fn default() -> Self {
        Self { spots: [Spot::default(); 4 * SPOTS], count: 0 }
    }
}

impl Reduction {
    fn add(&mut self, spot: Spot) {
        if self.count == self.spots.len() {
            let (best, count) = self.reduce();
            self.spots[..count].copy_from_slice(&best[..count]);
            self.count = count;
        }
        self.spots[self.count] = spot;
        self.count += 1;
    }

    /// The deepest spot, the one furthest from it, and those furthest to each side of the line between them: they hold
    /// a body as well as all of them.
    fn reduce(&self) -> ([Spot; SPOTS], usize) {
        let all = &self.spots[..self.count];
        let mut best = [Spot::default(); SPOTS];
        if self.count <= SPOTS {
            best[..self.count].copy_from_slice(all);
            return (best, self.count);
        }
        let most = |score: &dyn Fn(&Spot) -> f64| {
            (1..all.len()).fold(0, |most, at| if score(&all[at]) > score(&all[most]) { at } else { most })
        };
        let deepest = all[most(&|spot| -spot.gap_m)];
        let far = all[most(&|spot| (spot.on_first - deepest.on_first).length_squared())];
        let line = far.on_first - deepest.on_first;
        let side =
            all.iter().map(|spot| line.cross(spot.on_first - deepest.on_first)).fold(DVec3::ZERO, |widest, area| {
                if area.length_squared() > widest.length_squared() { area } else { widest }
            });
        let left = all[most(&|spot| line.cross(spot.on_first - deepest.on_first).dot(side))];
        let right = all[most(&|spot| -line.cross(spot.on_first - deepest.on_first).dot(side))];
        best = [deepest, far, left, right];
        (best, SPOTS)
    }
}
