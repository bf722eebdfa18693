//! Lenses: which ray of a camera belongs to which pixel.
//!
//! A pinhole with the distortion of D. C. Brown, *Decentering distortion of lenses* (1966), in the convention of OpenCV: a
//! point at `x = right / forward`, `y = down / forward` with `r² = x² + y²` is seen at
//!
//! - `x' = x (1 + k1 r² + k2 r⁴ + k3 r⁶) + 2 p1 x y + p2 (r² + 2 x²)`
//! - `y' = y (1 + k1 r² + k2 r⁴ + k3 r⁶) + p1 (r² + 2 y²) + 2 p2 x y`
//! - column `fx x' + cx`, row `fy y' + cy`; the middle of the first pixel of the first row is at (0, 0)
//!
//! The ray of each pixel follows by solving this once, so images are exact: nothing is resampled.

use crate::ray::Pattern;
use glam::{DMat2, DVec2, DVec3};

/// What a lens is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LensSpec {
    /// Pixels in a row.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
    /// Focal lengths along rows and columns, in pixels.
    pub focal_px: DVec2,
    /// Where the axis meets the image, in pixels.
    pub centre_px: DVec2,
    /// k1, k2, p1, p2, k3.
    pub distortion: [f64; 5],
    /// Rays to a pixel, along each side.
    pub samples: usize,
}

/// A lens with the rays of its pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct Lens {
    /// What it is like.
    pub spec: LensSpec,
    /// The rays: those of a pixel form a square of `samples` by `samples`, rows of rays from the top.
    pub rays: Pattern,
    /// The angle between neighbouring rays in the middle of the image, rad.
    pub ray_rad: f64,
}

/// Newton's method finds the root of a distortion that makes sense in a few steps.
const STEPS: usize = 50;
/// How well, in focal lengths.
const TOLERANCE: f64 = 1e-12;

impl LensSpec {
    /// A pinhole without distortion of this aperture from left to right, its axis in the middle.
    pub fn pinhole(columns: usize, rows: usize, tan_half_width: f64) -> Self {
        let focal = 0.5 * columns as f64 / tan_half_width;
        let middle = |count: usize| 0.5 * (count as f64 - 1.0);
        Self {
            columns,
            rows,
            focal_px: DVec2::splat(focal),
            centre_px: DVec2::new(middle(columns), middle(rows)),
            distortion: [0.0; 5],
            samples: 1,
        }
    }

    /// Where the lens shows a point at right and down, each divided by forward.
    pub fn distorted(&self, at: DVec2) -> DVec2 {
        let [k1, k2, p1, p2, k3] = self.distortion;
        let r2 = at.length_squared();
        let radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3));
        let (x, y) = (at.x, at.y);
        let shift = DVec2::new(2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x), p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y);
        at * radial + shift
    }

    /// The derivative of that; its columns are those of x and of y.
    fn slope(&self, at: DVec2) -> DMat2 {
        let [k1, k2, p1, p2, k3] = self.distortion;
        let (x, y, r2) = (at.x, at.y, at.length_squared());
        let radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3));
        let growth = 2.0 * (k1 + r2 * (2.0 * k2 + 3.0 * r2 * k3));
        let cross = growth * x * y + 2.0 * p1 * x + 2.0 * p2 * y;
        DMat2::from_cols(
            DVec2::new(radial + growth * x * x + 2.0 * p1 * y + 6.0 * p2 * x, cross),
            DVec2::new(cross, radial + growth * y * y + 6.0 * p1 * y + 2.0 * p2 * x),
        )
    }

    /// What is seen at a place of the image, in focal lengths from the axis; `None` where the distortion folds the image
    /// over.
    fn undistorted(&self, seen: DVec2) -> Option<DVec2> {
        // from the middle outwards: the first root on the way, not one behind a fold
        let mut at = DVec2::ZERO;
        for part in 1..=8 {
            let wanted = seen * (f64::from(part) / 8.0);
            for _ in 0..STEPS {
                let (miss, slope) = (self.distorted(at) - wanted, self.slope(at));
                if slope.determinant() <= 0.05 || !at.is_finite() {
                    return None;
                }
                let step = slope.inverse() * miss;
                at -= step;
                if step.length() < TOLERANCE {
                    break;
                }
            }
        }
        ((self.distorted(at) - seen).length() < 1e-9).then_some(at)
    }

    /// The direction in which the camera (x forward, y left, z up) sees a place of the image, in pixels.
    pub fn direction(&self, pixel: DVec2) -> Option<DVec3> {
        let seen = (pixel - self.centre_px) / self.focal_px;
        let at = if self.distortion == [0.0; 5] { seen } else { self.undistorted(seen)? };
        Some(DVec3::new(1.0, -at.x, -at.y).normalize())
    }

    /// Where a direction is seen, in pixels; `None` if it is behind.
    pub fn pixel(&self, direction: DVec3) -> Option<DVec2> {
        let at = DVec2::new(-direction.y, -direction.z) / direction.x;
        (direction.x > 0.0).then(|| self.distorted(at) * self.focal_px + self.centre_px)
    }
}

impl Lens {
    /// Finds the rays of all pixels. An error says where the distortion has none.
    pub fn new(spec: LensSpec) -> Result<Self, String> {
        let (columns, rows) = (spec.columns * spec.samples, spec.rows * spec.samples);
        let place = |count: usize| (count as f64 + 0.5) / spec.samples as f64 - 0.5;
        let mut directions = Vec::with_capacity(columns * rows);
        for row in 0..rows {
            for column in 0..columns {
                let pixel = DVec2::new(place(column), place(row));
                let fold = || format!("a distortion that folds over at column {:.0}, row {:.0}", pixel.x, pixel.y);
                directions.push(spec.direction(pixel).ok_or_else(fold)?);
            }
        }
        let ray_rad = 1.0 / (spec.focal_px.min_element() * spec.samples as f64);
        Ok(Self { rays: Pattern::new(directions, columns), spec, ray_rad })
    }

    /// The number of the ray of a pixel that is nearest to its middle.
    #[inline(always)]
    pub fn middle_ray(&self, pixel: usize) -> usize {
        let LensSpec { columns, samples, .. } = self.spec;
        let (row, column) = (pixel / columns * samples + samples / 2, pixel % columns * samples + samples / 2);
        row * columns * samples + column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lens(distortion: [f64; 5]) -> LensSpec {
        LensSpec { distortion, ..LensSpec::pinhole(64, 48, 0.8) }
    }

    #[test]
    fn a_pinhole_looks_along_its_axis_in_its_middle_and_left_is_left() {
        let lens = Lens::new(lens([0.0; 5])).unwrap();
        let rays = lens.rays.directions();
        assert!((rays.iter().sum::<DVec3>().normalize() - DVec3::X).length() < 1e-12);
        assert!(rays[0].y > 0.0 && rays[0].z > 0.0, "the first pixel is left and up");
        assert!(rays[63].y < 0.0 && rays[63].z > 0.0);
        // outer edges of the outer pixels span the aperture
        let edge = lens.spec.direction(DVec2::new(-0.5, 23.5)).unwrap();
        assert!((edge.y / edge.x - 0.8).abs() < 1e-12);
    }

    #[test]
    fn rays_of_distorted_pixels_are_seen_at_these_pixels() {
        for distortion in
            [[-0.28, 0.07, 1e-3, -8e-4, 0.0], [0.12, -0.04, -2e-3, 1e-3, 0.01], [-0.1, 0.0, 0.0, 0.0, 0.0]]
        {
            let lens = Lens::new(lens(distortion)).unwrap();
            for (number, &ray) in lens.rays.directions().iter().enumerate() {
                let seen = lens.spec.pixel(ray).unwrap();
                let expected = DVec2::new((number % 64) as f64, (number / 64) as f64);
                assert!((seen - expected).length() < 1e-7, "{seen} instead of {expected}");
            }
        }
    }

    #[test]
    fn slopes_are_those_of_differences() {
        let lens = lens([-0.28, 0.07, 1e-3, -8e-4, 0.02]);
        let (at, step) = (DVec2::new(0.3, -0.5), 1e-6);
        for axis in [DVec2::X, DVec2::Y] {
            let difference = (lens.distorted(at + axis * step) - lens.distorted(at - axis * step)) / (2.0 * step);
            assert!((lens.slope(at) * axis - difference).length() < 1e-8);
        }
    }

    #[test]
    fn a_distortion_that_folds_over_is_told() {
        let error = Lens::new(lens([-1.5, 0.0, 0.0, 0.0, 0.0])).unwrap_err();
        assert!(error.contains("folds over at column 0, row 0"), "{error}");
    }

    #[test]
    fn samples_of_a_pixel_lie_around_its_middle() {
        let lens = Lens::new(LensSpec { samples: 3, ..LensSpec::pinhole(4, 3, 0.5) }).unwrap();
        assert_eq!(lens.rays.len(), 12 * 9);
        for pixel in 0..12 {
            let middle = lens.spec.direction(DVec2::new((pixel % 4) as f64, (pixel / 4) as f64)).unwrap();
            assert!((lens.rays.directions()[lens.middle_ray(pixel)] - middle).length() < 1e-12);
        }
    }
}
