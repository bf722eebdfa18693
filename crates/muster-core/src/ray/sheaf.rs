//! Rays of one direction from several points, as shadows need them: whether anything is in the way, not what.

use super::fan::{Directions, GROUPS, single};
use super::outline::Outline;
use super::scene::{Owned, Scene};
use super::tree::{Beam, Bounds, Stack};
use super::triangles::{ShadeRays, all_dark};
use super::wide::{WIDTH, Wide, Work, load3, splat3};
use crate::snapshot::Snapshot;
use glam::DVec3;

/// Most rays in a sheaf. Measured over a village from the air: points that neighbouring pixels see lie far apart there, so
/// larger sheaves meet too much, and smaller ones share too little.
pub(super) const POINTS: usize = 4 * WIDTH;

/// Origins of parallel rays as columns, and which of them are dark.
pub(crate) struct Sheaf {
    pub(super) groups: usize,
    /// What origins are relative to.
    pub(super) base_m: DVec3,
    pub(super) from: Directions<f32>,
    pub(super) bounds: Bounds,
    pub(super) direction: DVec3,
    pub(super) max: f32,
    /// A bit for each ray that meets something, group by group.
    pub(super) dark: [u32; GROUPS],
}

/// All rays of a group meet something.
pub(super) const DARK: u32 = (1 << WIDTH) - 1;
/// Bounds are wider than single precision rounds, m.
const ROUNDING_M: f32 = 1e-4;

impl Sheaf {
    pub(super) fn new(from_m: &[DVec3], direction: DVec3, max_m: f64) -> Self {
        let base_m = from_m.first().copied().unwrap_or_default();
        let groups = from_m.len().div_ceil(WIDTH);
        let mut from = [[[0.0; WIDTH]; 3]; GROUPS];
        let mut bounds = Bounds::EMPTY;
        for at in 0..groups * WIDTH {
            let point = single(from_m[at.min(from_m.len() - 1)] - base_m);
            (0..3).for_each(|axis| from[at / WIDTH][axis][at % WIDTH] = point[axis]);
            bounds = bounds.with(&Bounds { low: point, high: point });
        }
        Self { groups, base_m, from, bounds, direction, max: max_m as f32, dark: [0; GROUPS] }
    }

    /// How far it is still of interest what is met: not at all once all rays met something.
    #[inline(always)]
    fn limit(&self) -> f32 {
        if all_dark(&self.dark[..self.groups]) { f32::NEG_INFINITY } else { self.max }
    }

    fn bits(&self) -> u64 {
        (0..self.groups).fold(0, |bits, group| bits | u64::from(self.dark[group]) << (group * WIDTH))
    }
}

/// Finds which of up to 64 rays meet something.
pub(super) struct Shade<'a> {
    pub(super) world: &'a Snapshot,
    pub(super) sheaf: Sheaf,
    pub(super) bits: &'a mut u64,
}

impl<W: Wide<Real = f32>> Work<W> for Shade<'_> {
    #[inline(always)]
    fn run(self, token: W::Token) {
        let Self { world, mut sheaf, bits } = self;
        let mut stack = Stack::NEW;
        world.environment.obstacles.scene().shade::<W>(token, &mut sheaf, &mut stack);
        world.moving().shade::<W>(token, &mut sheaf, &mut stack);
        *bits = sheaf.bits();
    }
}

impl<'a, F: Fn(u32) -> Option<Owned<'a>>> Scene<'a, F> {
    /// Marks rays that meet something.
    #[inline(always)]
    fn shade<W: Wide<Real = f32>>(&self, token: W::Token, sheaf: &mut Sheaf, stack: &mut Stack) {
        for &number in self.boxes.endless() {
            self.darken::<W>(token, sheaf, number, stack);
        }
        let (tree, centre_m) = self.boxes.tree();
        if tree.is_empty() {
            return;
        }
        let (shift, direction) = (single(sheaf.base_m - centre_m), single(sheaf.direction));
        let mut from = sheaf.bounds;
        for axis in 0..3 {
            from.low[axis] += shift[axis] - ROUNDING_M;
            from.high[axis] += shift[axis] + ROUNDING_M;
        }
        let beam = Beam::new(&from, &Bounds { low: direction, high: direction }, 0.0);
        let limit = sheaf.limit();
        tree.walk::<W>(
            token,
            &beam,
            stack,
            limit,
            #[inline(always)]
            |leaf, limit, stack| match self.darken::<W>(token, sheaf, leaf, stack) {
                true => sheaf.limit(),
                false => limit,
            },
        );
    }

    /// Marks rays that meet one solid. True if there may be any.
    #[inline(always)]
    fn darken<W: Wide<Real = f32>>(&self, token: W::Token, sheaf: &mut Sheaf, number: u32, stack: &mut Stack) -> bool {
        let Some((outline, _)) = (self.solid)(number) else { return false };
        let stand = self.boxes.stand(number);
        let direction = single(stand.direction_in_solid(sheaf.direction));
        let base_m = stand.in_solid(sheaf.base_m);
        if let Outline::Triangles(triangles) = outline {
            if triangles.throws_no_shadow(direction) {
                return false;
            }
            let shift = splat3::<W>(token, single(base_m - triangles.centre_m()));
            let mut own: Directions<f32> = [[[0.0; WIDTH]; 3]; GROUPS];
            for group in 0..sheaf.groups {
                let from = stand.directions_in_solid(token, load3::<W>(token, &sheaf.from[group]));
                for axis in 0..3 {
                    (from[axis] + shift[axis]).store(&mut own[group][axis]);
                }
            }
            let (from, max, dark) = (&own[..sheaf.groups], sheaf.max, &mut sheaf.dark);
            W::apart(token, ShadeRays { triangles, from, direction, max, dark, stack });
            return true;
        }
        let (shift, towards) = (splat3::<W>(token, single(base_m)), splat3::<W>(token, direction));
        let (zero, max, mut any) = (W::splat(token, 0.0), W::splat(token, sheaf.max), false);
        for group in 0..sheaf.groups {
            if sheaf.dark[group] == DARK {
                continue;
            }
            let from = stand.directions_in_solid(token, load3::<W>(token, &sheaf.from[group]));
            let from = [from[0] + shift[0], from[1] + shift[1], from[2] + shift[2]];
            let met = zero.bits(outline.distance_from(token, from, towards, zero).le(max));
            sheaf.dark[group] |= met;
            any |= met != 0;
        }
        any
    }
}
