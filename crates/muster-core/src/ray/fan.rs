//! Rays that leave one point, up to 64 of them in groups of eight, and what they have met so far.

use super::tree::{Beam, Bounds};
use super::wide::{WIDTH, Wide, load3};
use glam::DVec3;

/// Most groups in a fan: a lane for each.
pub(crate) const GROUPS: usize = WIDTH;
/// Most rays in a fan.
pub(crate) const RAYS: usize = GROUPS * WIDTH;

/// Widens what unit directions lie within by more than single precision rounds.
pub(crate) const ROUNDING: f64 = 1e-6;

/// Directions of a fan as columns, in groups. Lanes beyond the last ray repeat it.
pub(crate) type Directions<T> = [[[T; WIDTH]; 3]; GROUPS];

/// Balls around the directions of each group of a fan, as columns, so that what meets only some groups is found at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cores {
    pub(crate) middle: [[f32; WIDTH]; 3],
    pub(crate) radius: [f32; WIDTH],
}

impl Cores {
    pub(crate) const NONE: Self = Self { middle: [[0.0; WIDTH]; 3], radius: [0.0; WIDTH] };
}

/// Rays from one point in the frame of what they are cast at.
pub(crate) struct Fan<'a> {
    pub(crate) groups: usize,
    pub(crate) directions: &'a Directions<f32>,
    pub(crate) cores: &'a Cores,
    /// Bounds of the directions.
    pub(crate) spread: Bounds,
    pub(crate) min: f32,
}

impl<'a> Fan<'a> {
    #[inline(always)]
    pub(crate) fn new<W: Wide<Real = f32>>(
        token: W::Token,
        (directions, cores): (&'a Directions<f32>, &'a Cores),
        groups: usize,
        min: f32,
    ) -> Self {
        let (mut low, mut high) = (load3::<W>(token, &directions[0]), load3::<W>(token, &directions[0]));
        for group in &directions[1..groups] {
            let here = load3::<W>(token, group);
            for axis in 0..3 {
                (low[axis], high[axis]) = (low[axis].min(here[axis]), high[axis].max(here[axis]));
            }
        }
        let mut spread = Bounds::EMPTY;
        for axis in 0..3 {
            (spread.low[axis], spread.high[axis]) = (least(low[axis]), -least(-high[axis]));
        }
        Self { groups, directions, cores, spread, min }
    }

    /// The beam around all rays, if they leave from this point.
    #[inline(always)]
    pub(crate) fn beam(&self, from: [f32; 3]) -> Beam {
        Beam::new(&Bounds { low: from, high: from }, &self.spread, self.min)
    }
}

/// What the rays of a fan have met: distance, item, triangle.
pub(crate) struct Met {
    /// Reciprocals of the directions, once something needs them.
    per: Directions<f32>,
    has_per: bool,
    pub(crate) distance: [[f32; WIDTH]; GROUPS],
    /// Bits of numbers.
    pub(crate) item: [[f32; WIDTH]; GROUPS],
    pub(crate) triangle: [[f32; WIDTH]; GROUPS],
}

/// The item of a ray that met nothing.
pub(crate) const NOTHING: u32 = u32::MAX;

impl Met {
    pub(crate) const NEW: Self = Self {
        per: [[[0.0; WIDTH]; 3]; GROUPS],
        has_per: false,
        distance: [[0.0; WIDTH]; GROUPS],
        item: [[0.0; WIDTH]; GROUPS],
        triangle: [[0.0; WIDTH]; GROUPS],
    };

    /// The reciprocals of a fan's directions, worked out once whatever the number of boxes that need them.
    #[inline(always)]
    pub(crate) fn prepare_per<W: Wide<Real = f32>>(&mut self, token: W::Token, fan: &Fan<'_>) {
        if !self.has_per {
            self.has_per = true;
            let one = W::splat(token, 1.0);
            for group in 0..fan.groups {
                for axis in 0..3 {
                    (one / W::load(token, &fan.directions[group][axis])).store(&mut self.per[group][axis]);
                }
            }
        }
    }

    /// Those of one group, once they are prepared.
    #[inline(always)]
    pub(crate) fn per(&self, group: usize) -> &[[f32; WIDTH]; 3] {
        &self.per[group]
    }

    /// Forgets everything.
    #[inline(always)]
    pub(crate) fn clear(&mut self, limit: f32, groups: usize) {
        self.has_per = false;
        for group in 0..groups {
            self.distance[group] = [limit; WIDTH];
            self.item[group] = [f32::from_bits(NOTHING); WIDTH];
        }
    }

    /// Beyond this nothing is of interest to any ray.
    #[inline(always)]
    pub(crate) fn furthest<W: Wide<Real = f32>>(&self, token: W::Token, groups: usize) -> f32 {
        let mut all = W::load(token, &self.distance[0]);
        for group in &self.distance[1..groups] {
            all = all.max(W::load(token, group));
        }
        -least(-all)
    }
}

/// The least of eight numbers.
#[inline(always)]
pub(super) fn least<W: Wide<Real = f32>>(all: W) -> f32 {
    let mut lanes = [0.0; WIDTH];
    all.store(&mut lanes);
    // in pairs, as a chain of seven would have to wait for each
    for half in [4, 2, 1] {
        for lane in 0..half {
            lanes[lane] = if lanes[lane] < lanes[lane + half] { lanes[lane] } else { lanes[lane + half] };
        }
    }
    lanes[0]
}

/// In single precision.
#[inline(always)]
pub(crate) fn single(value: DVec3) -> [f32; 3] {
    value.as_vec3().to_array()
}
