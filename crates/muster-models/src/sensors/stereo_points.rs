//! What a stereo camera and the matching of its images would give, without images: points of the surfaces that are seen,
//! with the error of stereo vision. A disparity d = f B / Z is measured with a noise of σ pixels, so depth has a standard
//! deviation of Z² σ / (f B), and what is so far away that its disparity is less than `disparity_min_px` is not seen.
//!
//! A sample holds a record for each point that is seen: its position in the frame of the camera (x forward, y left, z up).

use glam::DVec3;
use muster_core::component::{Kind, Look, LookAt, Sense, Sensor};
use muster_core::lanes::{Quantity, Role};
use muster_core::math;
use muster_core::node::{Node, Problems};
use muster_core::random::Stream;
use muster_core::ray::Reach;
use muster_core::render::lens::{Lens, LensSpec};
use muster_core::spec;
use muster_core::spec::Spec;
use std::sync::Arc;

spec! {
    /// Points as stereo vision finds them.
    pub struct StereoPointsSpec {
        /// Points in a row.
        columns: usize = 80, in 1..=4096;
        /// Rows.
        rows: usize = 60, in 1..=4096;
        /// Aperture from left to right.
        width_deg: f64 = 60.0, in 0.01..=170;
        /// How far apart both cameras are.
        baseline_m: f64 = 0.12, in 0.0001..=100;
        /// Pixels in a row of the images that would be matched: with the aperture they make the focal length.
        image_columns: usize = 640, in 1..=100000;
        /// Standard deviation of the measured disparity, in pixels of these images.
        disparity_noise_px: f64 = 0.25, in 0.0..=100;
        /// What has less disparity is not seen.
        disparity_min_px: f64 = 1.0, in 0.001..=1000;
        /// What is nearer is passed through.
        near_m: f64 = 0.1, in 0.0..=1000;
    }
}

/// Points as stereo vision finds them.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "stereo_points",
    doc: "Points of the scene as stereo vision finds them, from geometry: depth noise grows with the square of depth.",
    fields: StereoPointsSpec::FIELDS,
    build: &build,
};

/// What a sample holds for each point.
pub const FIELDS: &[Quantity] = &[Quantity::many("position_m", 3).with(Role::Body)];

/// Ready to measure.
#[derive(Debug)]
pub struct StereoPoints {
    spec: StereoPointsSpec,
    lens: Lens,
    /// Focal length times baseline, in pixels and metres.
    reach_px_m: f64,
}

fn build(node: &Node, path: &str, also: &[&str], problems: &mut Problems) -> Option<Arc<dyn Sensor>> {
    match StereoPoints::new(<StereoPointsSpec as Spec>::read(node, path, also, problems)?) {
        Ok(sensor) => Some(Arc::new(sensor)),
        Err(found) => {
            problems.error(node.place, path, found, "a lens that makes sense");
            None
        }
    }
}

impl StereoPoints {
    /// Prepares a sensor.
    pub fn new(spec: StereoPointsSpec) -> Result<Self, String> {
        let tan_half = math::tan(0.5 * spec.width_deg.to_radians());
        let lens = Lens::new(LensSpec::pinhole(spec.columns, spec.rows, tan_half))?;
        let focal_px = 0.5 * spec.image_columns as f64 / tan_half;
        Ok(Self { reach_px_m: focal_px * spec.baseline_m, spec, lens })
    }
}

impl Sensor for StereoPoints {
    fn fields(&self) -> &'static [Quantity] {
        FIELDS
    }

    fn default_rate_hz(&self) -> f64 {
        10.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::World(self)
    }
}

impl Look for StereoPoints {
    fn capacity(&self, _: usize) -> usize {
        3 * self.lens.rays.len()
    }

    fn sees_bodies(&self) -> bool {
        true
    }

    fn on_demand(&self) -> bool {
        true
    }

    fn look(&self, at: &LookAt<'_>, sample: &mut Vec<f64>) {
        // points are told in any order, so they are put in their places first and gathered then
        sample.clear();
        sample.resize(self.capacity(0), f64::NAN);
        let stream = Stream::from_key(at.stream);
        let furthest_m = self.reach_px_m / self.spec.disparity_min_px;
        let directions = self.lens.rays.directions();
        let cos_least = directions.first().map_or(1.0, |corner| corner.x);
        let reach = Reach { min_m: self.spec.near_m, max_m: furthest_m / cos_least, without: Some(at.robot) };
        self.lens.rays.cast(at.world, &at.pose(), reach, at.simd, |ray, hit| {
            let depth_m = hit.distance_m * directions[ray].x;
            let noise_px = match self.spec.disparity_noise_px {
                0.0 => 0.0,
                sigma_px => sigma_px * stream.normals(at.index, ray as u32)[0],
            };
            let disparity_px = self.reach_px_m / depth_m + noise_px;
            if depth_m.is_finite() && disparity_px >= self.spec.disparity_min_px {
                let point_m: DVec3 = directions[ray] * (self.reach_px_m / disparity_px / directions[ray].x);
                sample[3 * ray..3 * ray + 3].copy_from_slice(&point_m.to_array());
            }
        });
        let mut kept = 0;
        for ray in 0..directions.len() {
            if !sample[3 * ray].is_nan() {
                sample.copy_within(3 * ray..3 * ray + 3, kept);
                kept += 3;
            }
        }
        sample.truncate(kept);
    }
}

#[cfg(test)]
mod tests;
