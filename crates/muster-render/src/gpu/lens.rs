//! What a card draws through: a pinhole whose axis may lie beside the middle of the picture. Lenses without distortion are
//! pinholes themselves, ray by pixel; of others a pinhole sees all that they see, finely enough to be looked up.

use glam::{DVec2, DVec3};
use muster_core::component::Pose;
use muster_core::render::{Shot, View};

/// Rays further from the axis than this are not seen through a pinhole: 1/x of their unit vectors.
const STRETCH_MAX: f64 = 6.0;
/// How many pixels there are to a ray of a lens with distortion, along each side, if there is one ray to a pixel; more rays
/// to a pixel are fine enough.
const FINER: f64 = 1.5;
/// More pixels than this are not drawn for one.
const PIXELS_MAX: f64 = 8e6;

/// A view of a card: a point at (x, y, z) before it is seen at `offset - scale y / x` across, from -1 on the left to 1, and
/// `offset + scale z / x` up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pinhole {
    pub(crate) pose: Pose,
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) scale: [f64; 2],
    pub(crate) offset: [f64; 2],
    pub(crate) near_m: f64,
    pub(crate) far_m: f64,
}

impl Pinhole {
    /// Of a view; which numbers make one is known already.
    pub(crate) fn of_view(view: &View) -> Self {
        Self {
            pose: view.pose,
            columns: view.columns,
            rows: view.rows,
            scale: [1.0 / view.tan_half_width, 1.0 / view.tan_half_height],
            offset: [0.0; 2],
            near_m: view.near_m,
            far_m: view.far_m,
        }
    }

    /// Of a shot, and whether each ray is a pixel; `None` if it is too wide, or its numbers make no image.
    pub(crate) fn of_shot(shot: &Shot<'_>) -> Option<(Self, bool)> {
        let spec = &shot.lens.spec;
        let rays = shot.lens.rays.directions();
        let posed = shot.pose.position_m.is_finite() && shot.pose.orientation.is_finite();
        let sane = posed && shot.near_m < shot.far_m && !rays.is_empty();
        if !sane || rays.iter().any(|ray| ray.x * STRETCH_MAX < 1.0) {
            return None;
        }
        let stretch = rays.iter().map(|ray| 1.0 / ray.x).fold(1.0, f64::max);
        let far_m = shot.far_m.min(1e5);
        let near_m = (shot.near_m / stretch).max(1e-6 * far_m);
        let (columns, rows) = (spec.columns * spec.samples, spec.rows * spec.samples);
        let pinhole = |columns: usize, rows: usize, scale: DVec2, offset: DVec2| Self {
            pose: shot.pose,
            columns,
            rows,
            scale: scale.to_array(),
            offset: offset.to_array(),
            near_m,
            far_m,
        };
        if spec.distortion == [0.0; 5] {
            let size = DVec2::new(spec.columns as f64, spec.rows as f64);
            let middle = 2.0 * (spec.centre_px + 0.5) / size - 1.0;
            let offset = DVec2::new(middle.x, -middle.y);
            return Some((pinhole(columns, rows, 2.0 * spec.focal_px / size, offset), true));
        }
        let places = || rays.iter().map(|ray| DVec2::new(-ray.y, ray.z) / ray.x);
        let (low, high) = (places().fold(DVec2::INFINITY, DVec2::min), places().fold(DVec2::NEG_INFINITY, DVec2::max));
        // a margin of two pixels on each side
        let finer = if spec.samples > 1 { 1.0 } else { FINER };
        let area = (high - low).element_product();
        let pitch = (shot.lens.ray_rad / finer).max((area / PIXELS_MAX).sqrt());
        let size = ((high - low) / pitch).ceil() + 4.0;
        let scale = 2.0 / (size * pitch);
        let offset = -0.5 * (low + high) * scale;
        Some((pinhole(size.x as usize, size.y as usize, scale, offset), false))
    }

    /// A view that sees all of it.
    pub(crate) fn around(&self, without: Option<usize>) -> View {
        let tan_half = [0, 1].map(|axis| (1.0 + self.offset[axis].abs()) / self.scale[axis]);
        View {
            pose: self.pose,
            columns: self.columns,
            rows: self.rows,
            tan_half_width: tan_half[0],
            tan_half_height: tan_half[1],
            near_m: self.near_m,
            far_m: self.far_m,
            without,
        }
    }

    /// The direction of the middle of a pixel in the frame of the camera, one metre along its axis.
    pub(crate) fn direction(&self, column: usize, row: usize) -> DVec3 {
        let right = (2 * column + 1) as f64 / self.columns as f64 - 1.0;
        let up = 1.0 - (2 * row + 1) as f64 / self.rows as f64;
        DVec3::new(1.0, -(right - self.offset[0]) / self.scale[0], (up - self.offset[1]) / self.scale[1])
    }

    /// Where a direction before the camera is seen, in columns and rows; whole numbers are the middles of pixels.
    pub(crate) fn pixel(&self, direction: DVec3) -> [f64; 2] {
        let right = self.offset[0] - self.scale[0] * direction.y / direction.x;
        let up = self.offset[1] + self.scale[1] * direction.z / direction.x;
        [0.5 * (right + 1.0) * self.columns as f64 - 0.5, 0.5 * (1.0 - up) * self.rows as f64 - 0.5]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_core::render::lens::{Lens, LensSpec};

    fn shot(lens: &Lens) -> Shot<'_> {
        Shot { pose: Pose::IDENTITY, lens, near_m: 0.05, far_m: 100.0, without: None, hits: true }
    }

    #[test]
    fn rays_of_a_lens_without_distortion_are_those_of_the_pixels() {
        let spec = LensSpec {
            focal_px: DVec2::new(41.0, 43.0),
            centre_px: DVec2::new(30.0, 25.5),
            samples: 2,
            ..LensSpec::pinhole(64, 48, 0.8)
        };
        let lens = Lens::new(spec).unwrap();
        let (pinhole, straight) = Pinhole::of_shot(&shot(&lens)).unwrap();
        assert!(straight && pinhole.columns * pinhole.rows == lens.rays.len());
        for (number, &ray) in lens.rays.directions().iter().enumerate() {
            let direction = pinhole.direction(number % 128, number / 128);
            assert!((direction.normalize() - ray).length() < 1e-12, "{direction} instead of {ray}");
            let [column, row] = pinhole.pixel(ray);
            assert!((column - (number % 128) as f64).abs() < 1e-9 && (row - (number / 128) as f64).abs() < 1e-9);
        }
    }

    #[test]
    fn a_lens_with_distortion_is_within_a_finer_pinhole() {
        let spec = LensSpec { distortion: [-0.28, 0.07, 1e-3, -8e-4, 0.0], ..LensSpec::pinhole(64, 48, 0.8) };
        let lens = Lens::new(spec).unwrap();
        let (pinhole, straight) = Pinhole::of_shot(&shot(&lens)).unwrap();
        assert!(!straight);
        for &ray in lens.rays.directions() {
            let [column, row] = pinhole.pixel(ray);
            assert!(column >= 1.0 && column < pinhole.columns as f64 - 2.0, "{column} of {}", pinhole.columns);
            assert!(row >= 1.0 && row < pinhole.rows as f64 - 2.0, "{row} of {}", pinhole.rows);
        }
        let pitch = 2.0 / (pinhole.scale[0] * pinhole.columns as f64);
        assert!((lens.ray_rad / pitch - 1.5).abs() < 1e-9);
    }
}
