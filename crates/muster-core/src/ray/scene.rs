//! Solids at their places in one hierarchy: what rays walk, and what contacts search.

use super::fan::{Directions, Fan, GROUPS, Met, single};
use super::outline::{Outline, box_distance, planes};
use super::tree::{Beam, Bounds, Stack, Tree};
use super::triangles::{CastFan, CastRay, keep};
use super::wide::{WIDTH, Wide, Wide3, dot, load3, splat3};
use crate::component::Pose;
use glam::{DMat3, DVec3};

/// Where a solid stands.
#[derive(Clone, Copy)]
pub(crate) struct Stand {
    /// `world_from_solid`.
    turn: DMat3,
    place_m: DVec3,
    turned: bool,
}

impl Stand {
    pub(crate) fn new(pose: &Pose) -> Self {
        let turn = DMat3::from_quat(pose.orientation);
        Self { turn, place_m: pose.position_m, turned: turn != DMat3::IDENTITY }
    }

    /// A point of the world in the frame of the solid.
    #[inline(always)]
    pub(crate) fn in_solid(&self, point_m: DVec3) -> DVec3 {
        self.direction_in_solid(point_m - self.place_m)
    }

    /// A direction of the world in the frame of the solid.
    #[inline(always)]
    pub(super) fn direction_in_solid(&self, direction: DVec3) -> DVec3 {
        if self.turned { self.turn.transpose() * direction } else { direction }
    }

    /// A direction of the solid in the world.
    #[inline(always)]
    pub(crate) fn in_world(&self, direction: DVec3) -> DVec3 {
        if self.turned { self.turn * direction } else { direction }
    }

    /// Directions of the solid in the world.
    #[inline(always)]
    pub(crate) fn directions_in_world<W: Wide>(&self, token: W::Token, direction: Wide3<W>) -> Wide3<W> {
        if !self.turned {
            return direction;
        }
        let rows = self.turn.transpose();
        [
            dot(row(token, rows.x_axis), direction),
            dot(row(token, rows.y_axis), direction),
            dot(row(token, rows.z_axis), direction),
        ]
    }

    /// Directions of the world in the frame of the solid.
    #[inline(always)]
    pub(crate) fn directions_in_solid<W: Wide>(&self, token: W::Token, direction: Wide3<W>) -> Wide3<W> {
        if !self.turned {
            return direction;
        }
        // the columns of the turn are the rows of its inverse
        [
            dot(row(token, self.turn.x_axis), direction),
            dot(row(token, self.turn.y_axis), direction),
            dot(row(token, self.turn.z_axis), direction),
        ]
    }
}

#[inline(always)]
fn row<W: Wide>(token: W::Token, row: DVec3) -> Wide3<W> {
    splat3(token, [W::real(row.x), W::real(row.y), W::real(row.z)])
}

/// From where rays are cast, and past whom.
#[derive(Clone, Copy)]
pub(crate) struct Aim {
    pub(crate) from_m: DVec3,
    pub(crate) without: Option<usize>,
}

/// Solids by number: where they stand, and their boxes in a hierarchy, in single precision around a centre.
#[derive(Clone, Default)]
pub(crate) struct Boxes {
    tree: Tree,
    stands: Vec<Stand>,
    bounds: Vec<Bounds>,
    /// Those without bounds.
    endless: Vec<u32>,
    /// The only one with bounds, if there is but one: rays need no tree to find it.
    only: Option<u32>,
    centre_m: DVec3,
    /// How many bounds were worked out so far, and how often all were arranged.
    work: (u64, u64),
}

/// The lowest and the highest corner of a box; both infinite for what has no bounds.
pub(crate) type Corners = (DVec3, DVec3);

impl Boxes {
    /// Arranges what stands still.
    pub(crate) fn fixed(solids: impl Iterator<Item = (Pose, Corners)> + Clone) -> Self {
        let mut all = Self::default();
        all.take(solids.clone());
        let has_end = |(_, (_, (low, _))): &(usize, (Pose, Corners))| low.is_finite();
        let (bounded, endless): (Vec<_>, Vec<_>) = solids.enumerate().partition(has_end);
        let bounds: Vec<Bounds> = bounded.iter().map(|(number, _)| all.bounds[*number]).collect();
        all.tree = Tree::new(&bounds, 1, |items| bounded[items[0] as usize].0 as u32);
        all.endless = endless.iter().map(|(number, _)| *number as u32).collect();
        all.only = if let [(number, _)] = bounded[..] { Some(number as u32) } else { None };
        all
    }

    /// Arranges what moves anew; all of it has bounds.
    pub(crate) fn renew(&mut self, solids: impl Iterator<Item = (Pose, Corners)> + Clone) {
        self.take(solids);
        self.tree.rebuild(&self.bounds);
        self.only = (self.bounds.len() == 1).then_some(0);
    }

    fn take(&mut self, solids: impl Iterator<Item = (Pose, Corners)> + Clone) {
        let ends = solids.clone().map(|(_, corners)| corners).filter(|(low, _)| low.is_finite());
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let (low, high) = ends.fold(start, |all, one| (all.0.min(one.0), all.1.max(one.1)));
        let middle = 0.5 * (low + high);
        self.centre_m = if middle.is_finite() { middle } else { DVec3::ZERO };
        self.bounds.clear();
        self.stands.clear();
        for (pose, (low, high)) in solids {
            self.bounds.push(outward(low - self.centre_m, high - self.centre_m));
            self.stands.push(Stand::new(&pose));
        }
        self.work = (self.work.0 + self.bounds.len() as u64, self.work.1 + 1);
    }

    /// How many bounds were worked out so far, and how often all were arranged.
    pub(crate) fn work(&self) -> (u64, u64) {
        self.work
    }

    /// Numbers of those without bounds.
    pub(crate) fn endless(&self) -> &[u32] {
        &self.endless
    }

    /// The boxes of all others, and what they are relative to.
    #[inline(always)]
    pub(super) fn tree(&self) -> (&Tree, DVec3) {
        (&self.tree, self.centre_m)
    }

    /// Where a solid stands.
    #[inline(always)]
    pub(crate) fn stand(&self, number: u32) -> &Stand {
        &self.stands[number as usize]
    }

    /// Calls `found` with every solid whose box meets a box.
    pub(crate) fn meeting(&self, low_m: DVec3, high_m: DVec3, found: impl FnMut(u32)) {
        self.tree.meeting(&outward(low_m - self.centre_m, high_m - self.centre_m), found);
    }
}

/// A box in single precision that holds one in double precision.
fn outward(low: DVec3, high: DVec3) -> Bounds {
    Bounds {
        low: low.to_array().map(|value| (value as f32).next_down().next_down()),
        high: high.to_array().map(|value| (value as f32).next_up().next_up()),
    }
}

/// Solids that rays can meet: where they are, and what they are by number, unless they are not seen.
pub(crate) struct Scene<'a, F> {
    pub(crate) boxes: &'a Boxes,
    pub(crate) solid: F,
    /// Added to the numbers, so that they tell scenes apart.
    pub(crate) mark: u32,
}

/// The outline of a solid, and the robot it is a part of.
pub(crate) type Owned<'a> = (&'a Outline, Option<usize>);

impl<'a, F: Fn(u32) -> Option<Owned<'a>>> Scene<'a, F> {
    /// Casts the rays of a fan.
    #[inline(always)]
    pub(crate) fn cast<W: Wide<Real = f32>>(
        &self,
        token: W::Token,
        fan: &Fan<'_>,
        aim: &Aim,
        (met, stack): (&mut Met, &mut Stack),
    ) {
        if self.boxes.tree.is_empty() {
            return;
        }
        let beam = fan.beam(single(aim.from_m - self.boxes.centre_m));
        let limit = met.furthest::<W>(token, fan.groups);
        self.boxes.tree.walk::<W>(
            token,
            &beam,
            stack,
            limit,
            #[inline(always)]
            |leaf, limit, stack| match self.meet::<W>(token, fan, aim, leaf, (met, stack)) {
                true => met.furthest::<W>(token, fan.groups),
                false => limit,
            },
        );
    }

    /// Casts a fan at what has no bounds.
    #[inline(always)]
    pub(crate) fn cast_endless<W: Wide<Real = f32>>(
        &self,
        token: W::Token,
        fan: &Fan<'_>,
        aim: &Aim,
        (met, stack): (&mut Met, &mut Stack),
    ) {
        for &number in &self.boxes.endless {
            self.meet::<W>(token, fan, aim, number, (met, stack));
        }
    }

    /// Casts a fan at one solid. True if some ray may have met it.
    #[inline(always)]
    fn meet<W: Wide<Real = f32>>(
        &self,
        token: W::Token,
        fan: &Fan<'_>,
        aim: &Aim,
        number: u32,
        (met, stack): (&mut Met, &mut Stack),
    ) -> bool {
        #[cfg(test)]
        tried();
        let Some((outline, robot)) = (self.solid)(number) else { return false };
        if robot.is_some() && robot == aim.without {
            return false;
        }
        let (stand, item) = (self.boxes.stand(number), self.mark | number);
        let from_m = stand.in_solid(aim.from_m);
        if let Outline::Triangles(triangles) = outline {
            if stand.turned {
                let mut own: Directions<f32> = [[[0.0; WIDTH]; 3]; GROUPS];
                for group in 0..fan.groups {
                    let turned = stand.directions_in_solid(token, load3::<W>(token, &fan.directions[group]));
                    for axis in 0..3 {
                        turned[axis].store(&mut own[group][axis]);
                    }
                }
                let mut cores = *fan.cores;
                let middle = stand.directions_in_solid(token, load3::<W>(token, &fan.cores.middle));
                (0..3).for_each(|axis| middle[axis].store(&mut cores.middle[axis]));
                let fan = &Fan::new::<W>(token, (&own, &cores), fan.groups, fan.min);
                W::apart(token, CastFan { triangles, fan, from_m, item, met, stack });
            } else {
                W::apart(token, CastFan { triangles, fan, from_m, item, met, stack });
            }
            return true;
        }
        let (min, mut any) = (W::splat(token, fan.min), false);
        let plain_box = match outline {
            Outline::Box(half_m) if !stand.turned => {
                met.prepare_per::<W>(token, fan);
                Some(planes::<W>(token, *half_m, from_m))
            }
            _ => None,
        };
        for group in 0..fan.groups {
            let distance = if let Some(planes) = &plain_box {
                box_distance(token, planes, load3::<W>(token, met.per(group)), min)
            } else {
                let direction = stand.directions_in_solid(token, load3::<W>(token, &fan.directions[group]));
                outline.distance(token, from_m, direction, min)
            };
            let best = W::load(token, &met.distance[group]);
            let nearer = distance.lt(best);
            if best.bits(nearer) == 0 {
                continue;
            }
            any = true;
            distance.where_or(nearer, best).store(&mut met.distance[group]);
            keep::<W>(token, nearer, item, &mut met.item[group]);
        }
        any
    }

    /// Casts one ray.
    #[inline(always)]
    pub(crate) fn cast_one<W: Wide<Real = f32>>(
        &self,
        token: W::Token,
        ray: &Ray,
        aim: &Aim,
        (first, stack): (&mut First, &mut Stack),
    ) {
        for &number in &self.boxes.endless {
            self.meet_one::<W>(token, ray, aim, number, (first, stack));
        }
        if self.boxes.tree.is_empty() {
            return;
        }
        if let Some(number) = self.boxes.only {
            return self.meet_one::<W>(token, ray, aim, number, (first, stack));
        }
        let (from, one) = (single(aim.from_m - self.boxes.centre_m), single(ray.direction));
        let beam = Beam::ray(from, one, ray.min);
        self.boxes.tree.walk::<W>(
            token,
            &beam,
            stack,
            first.distance,
            #[inline(always)]
            |leaf, _, stack| {
                self.meet_one::<W>(token, ray, aim, leaf, (first, stack));
                first.distance
            },
        );
    }

    #[inline(always)]
    fn meet_one<W: Wide<Real = f32>>(
        &self,
        token: W::Token,
        ray: &Ray,
        aim: &Aim,
        number: u32,
        (first, stack): (&mut First, &mut Stack),
    ) {
        #[cfg(test)]
        tried();
        let Some((outline, robot)) = (self.solid)(number) else { return };
        if robot.is_some() && robot == aim.without {
            return;
        }
        let (stand, item) = (self.boxes.stand(number), self.mark | number);
        let from_m = stand.in_solid(aim.from_m);
        let direction = single(stand.direction_in_solid(ray.direction));
        if let Outline::Triangles(triangles) = outline {
            W::apart(token, CastRay { triangles, from_m, direction, min: ray.min, item, first, stack });
        } else {
            let mut distances = [0.0; WIDTH];
            let direction = splat3::<W>(token, direction);
            outline.distance(token, from_m, direction, W::splat(token, ray.min)).store(&mut distances);
            if distances[0] < first.distance {
                *first = First { distance: distances[0], item, triangle: 0 };
            }
        }
    }
}

#[cfg(test)]
thread_local! {
    /// How often rays or fans were tried on a solid.
    pub(super) static TRIED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts that a ray or a fan is tried on a solid.
#[cfg(test)]
fn tried() {
    TRIED.with(|tried| tried.set(tried.get() + 1));
}

/// A single ray in the world.
pub(crate) struct Ray {
    pub(crate) direction: DVec3,
    pub(crate) min: f32,
}

/// What a single ray has met so far.
#[derive(Clone, Copy)]
pub(crate) struct First {
    pub(crate) distance: f32,
    pub(crate) item: u32,
    pub(crate) triangle: u32,
}
