//! What a view looks at, in numbers of pixels: a point at (x, y, z) before the camera is seen at column I/X and row J/X,
//! where X = x is its depth and I and J are linear in the point. Whole numbers are the middles of pixels, and only these
//! are looked through: a picture of one row sees a plane, one of a single pixel a line.

use crate::form::{Bounds, LANES, Level};
use glam::{DMat3, DVec3};
use muster_core::component::Pose;
use muster_core::render::View;

/// By how much what is seen is looked for beyond the middles of the outer pixels: far more than rounding, px.
pub(crate) const MARGIN_PX: f32 = 0.01;
/// The sides of a frustum: left, right, top, bottom, near, far.
const SIDES: usize = 6;

/// A view, prepared.
#[derive(Clone, Copy)]
pub(crate) struct Frustum {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) near_m: f64,
    pub(crate) far_m: f64,
    position_m: DVec3,
    /// `camera_from_world`.
    turn: DMat3,
    /// `i = columns_middle - columns_scale y / x`, and rows likewise with z.
    middle: [f64; 2],
    scale: [f64; 2],
    /// Inward normals and offsets of the sides in the frame of the camera; normals are of unit length.
    sides: [(DVec3, f64); SIDES],
}

/// A level of a solid as a view sees it.
#[derive(Clone, Copy)]
pub(crate) struct Placed {
    /// Rows of X, I and J: three factors and what is added.
    pub(crate) pixels: [[f32; 4]; 3],
    /// `camera_from_solid`.
    turn: DMat3,
    /// The camera, from the middle of the level and in the frame of the solid, m.
    eye_m: DVec3,
    /// Sides in the frame of the solid.
    sides: [[f32; 4]; SIDES],
}

/// The reciprocal of the depth over a plane: `at` in pixel (0, 0), so much more for each column and row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slope {
    pub(crate) at: f32,
    pub(crate) column: f32,
    pub(crate) row: f32,
}

impl Frustum {
    /// `None` if there is nothing to see: no pixels, or numbers that make no view.
    pub(crate) fn new(view: &View) -> Option<Self> {
        let (columns, rows) = (view.columns as f64, view.rows as f64);
        let sane = view.tan_half_width > 0.0 && view.tan_half_height > 0.0 && view.near_m > 0.0;
        let finite = [view.tan_half_width, view.tan_half_height, view.far_m].into_iter().all(f64::is_finite);
        let posed = view.pose.position_m.is_finite() && view.pose.orientation.is_finite();
        if !(sane && finite && posed && view.near_m < view.far_m && columns > 0.0 && rows > 0.0) {
            return None;
        }
        let middle = [columns * 0.5 - 0.5, rows * 0.5 - 0.5];
        let scale = [columns * 0.5 / view.tan_half_width, rows * 0.5 / view.tan_half_height];
        let margin = f64::from(MARGIN_PX);
        // I >= -margin X and I <= (columns - 1 + margin) X, rows likewise
        let side = |first: bool, axis: usize, count: f64| {
            let sign = if first { 1.0 } else { -1.0 };
            let limit = if first { -margin } else { count - 1.0 + margin };
            let mut normal = DVec3::ZERO;
            normal.x = sign * (middle[axis] - limit);
            normal[axis + 1] = -sign * scale[axis];
            (normal.normalize(), 0.0)
        };
        let sides = [
            side(true, 0, columns),
            side(false, 0, columns),
            side(true, 1, rows),
            side(false, 1, rows),
            (DVec3::X, -view.near_m),
            (DVec3::NEG_X, view.far_m),
        ];
        Some(Self {
            columns: view.columns,
            rows: view.rows,
            near_m: view.near_m,
            far_m: view.far_m,
            position_m: view.pose.position_m,
            turn: DMat3::from_quat(view.pose.orientation).transpose(),
            middle,
            scale,
            sides,
        })
    }

    /// The sides in the world: inward unit normals and offsets.
    pub(crate) fn sides_in_world(&self) -> [(DVec3, f64); SIDES] {
        self.sides.map(|(normal, offset)| {
            let normal = self.turn.transpose() * normal;
            (normal, offset - normal.dot(self.position_m))
        })
    }

    /// How far a point of the world is away, m.
    pub(crate) fn distance_m(&self, point_m: DVec3) -> f64 {
        point_m.distance(self.position_m)
    }

    /// How a level of a solid at a pose is seen.
    pub(crate) fn place(&self, pose: &Pose, level: &Level) -> Placed {
        let world_from_solid = DMat3::from_quat(pose.orientation);
        let turn = self.turn * world_from_solid;
        let eye_m = world_from_solid.transpose() * (self.position_m - pose.position_m) - level.middle_m;
        let back = turn.transpose();
        let row = |factors: DVec3| {
            let local = back * factors;
            [local.x as f32, local.y as f32, local.z as f32, -local.dot(eye_m) as f32]
        };
        let pixels = [
            row(DVec3::X),
            row(DVec3::new(self.middle[0], -self.scale[0], 0.0)),
            row(DVec3::new(self.middle[1], 0.0, -self.scale[1])),
        ];
        let sides = self.sides.map(|(normal, offset)| {
            let [x, y, z, at] = row(normal);
            [x, y, z, at + offset as f32]
        });
        Placed { pixels, turn, eye_m, sides }
    }

    /// The slope of a plane with a unit normal in the frame of the camera that is so far before it along the normal.
    fn slope(&self, normal: DVec3, offset_m: f64) -> Option<Slope> {
        let along = normal / offset_m;
        let column = -along.y / self.scale[0];
        let row = -along.z / self.scale[1];
        let at = along.x - column * self.middle[0] - row * self.middle[1];
        let slope = Slope { at: at as f32, column: column as f32, row: row as f32 };
        (slope.at.is_finite() && slope.column.is_finite() && slope.row.is_finite()).then_some(slope)
    }

    /// The slope of a plane in the world, through a point.
    pub(crate) fn slope_in_world(&self, normal: DVec3, point_m: DVec3) -> Option<Slope> {
        self.slope(self.turn * normal, normal.dot(point_m - self.position_m))
    }
}

impl Placed {
    /// The slope of a face, and whether its corners turn right as the camera sees it.
    #[inline(always)]
    pub(crate) fn slope(&self, frustum: &Frustum, normal: DVec3, offset_m: f64) -> Option<(Slope, bool)> {
        let before_m = offset_m - normal.dot(self.eye_m);
        Some((frustum.slope(self.turn * normal, before_m)?, before_m < 0.0))
    }

    /// Which of eight clusters may be seen, and how near they are at least, m.
    #[inline(always)]
    pub(crate) fn sees(&self, bounds: &Bounds) -> ([bool; LANES], [f32; LANES]) {
        let mut seen = [true; LANES];
        for side in &self.sides {
            let [x, y, z] = [0, 1, 2].map(|axis| side[axis].abs());
            for lane in 0..LANES {
                let [mx, my, mz] = [bounds.middle[0][lane], bounds.middle[1][lane], bounds.middle[2][lane]];
                let [hx, hy, hz] = [bounds.half[0][lane], bounds.half[1][lane], bounds.half[2][lane]];
                let middle = side[0] * mx + side[1] * my + side[2] * mz + side[3];
                let reach = x * hx + y * hy + z * hz;
                // rounding never hides anything
                seen[lane] &= middle + reach >= -1e-6 * (side[3].abs() + middle.abs() + reach);
            }
        }
        let mut nearest = [0.0; LANES];
        let [x, y, z, at] = self.pixels[0];
        for lane in 0..LANES {
            let middle = x * bounds.middle[0][lane] + y * bounds.middle[1][lane] + z * bounds.middle[2][lane] + at;
            nearest[lane] = middle
                - (x.abs() * bounds.half[0][lane] + y.abs() * bounds.half[1][lane] + z.abs() * bounds.half[2][lane]);
        }
        (seen, nearest)
    }
}
