//! A stereo camera: two images of one lens, the right one taken a baseline to the right of the left one, which is at the
//! mount. A point at a distance Z along the axis is seen d = f B / Z pixels further left in the right image.
//!
//! A sample holds a record for each pixel, row by row from the top: the colours of the left and of the right image.

use super::camera::{Camera, CameraSpec, Output, made};
use glam::DVec3;
use muster_core::component::{Kind, Look, LookAt, Pose, Sense, Sensor};
use muster_core::lanes::Quantity;
use muster_core::node::{Node, Problems};
use muster_core::random::combine;
use muster_core::render::Shot;
use muster_core::render::lens::Lens;
use muster_core::spec;
use muster_core::spec::{Spec, below};
use std::sync::Arc;

spec! {
    /// A stereo camera.
    pub struct StereoSpec {
        /// How far apart both cameras are.
        baseline_m: f64 = 0.12, in 0.0001..=100;
        /// What each of them is like: the keys of a camera.
        camera: Option<CameraSpec>;
    }
}

/// A stereo camera.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "stereo",
    doc: "Two images in colour of one lens, a baseline apart: left and right. Made while somebody listens.",
    fields: StereoSpec::FIELDS,
    build: &build,
};

/// What a sample holds for each pixel.
pub const FIELDS: &[Quantity] = &[Quantity::one("left"), Quantity::one("right")];

/// A stereo camera that is ready to take images.
#[derive(Debug)]
pub struct Stereo {
    baseline_m: f64,
    camera: Camera,
}

fn build(node: &Node, path: &str, also: &[&str], problems: &mut Problems) -> Option<Arc<dyn Sensor>> {
    let spec = <StereoSpec as Spec>::read(node, path, also, problems)?;
    let path = below(path, "camera");
    let own = node.get("camera").cloned().unwrap_or_default();
    let camera = match spec.camera {
        Some(camera) => camera,
        None => <CameraSpec as Spec>::read(&own, &path, &[], problems)?,
    };
    if camera.output != [Output::Colour] {
        let place = own.get("output").map_or(own.place, |value| value.place);
        problems.error(place, &below(&path, "output"), "other outputs than colour", "colour, or a camera beside it");
        return None;
    }
    Some(Arc::new(Stereo { baseline_m: spec.baseline_m, camera: made(camera, &own, &path, problems)? }))
}

impl Sensor for Stereo {
    fn fields(&self) -> &'static [Quantity] {
        FIELDS
    }

    fn default_rate_hz(&self) -> f64 {
        10.0
    }

    fn baseline_m(&self) -> f64 {
        self.baseline_m
    }

    fn sense(&self) -> Sense<'_> {
        Sense::World(self)
    }

    fn image(&self) -> Option<&Lens> {
        Some(self.camera.lens())
    }
}

impl Look for Stereo {
    fn capacity(&self, _: usize) -> usize {
        let lens = self.camera.lens().spec;
        FIELDS.len() * lens.columns * lens.rows
    }

    fn sees_bodies(&self) -> bool {
        true
    }

    fn on_demand(&self) -> bool {
        true
    }

    fn look(&self, at: &LookAt<'_>, sample: &mut Vec<f64>) {
        sample.clear();
        let left = self.camera.shot(at);
        let aside = Pose { position_m: DVec3::NEG_Y * self.baseline_m, ..Pose::IDENTITY };
        let right = Shot { pose: left.pose.then(&aside), ..left };
        let (darkroom, lens) = (self.camera.darkroom(), self.camera.lens());
        for (side, shot) in [left, right].iter().enumerate() {
            let noise = (combine(at.stream, side as u64), at.index);
            at.world.environment.renderer.expose(at.world, shot, &mut |film| {
                sample.resize(self.capacity(0), 0.0);
                darkroom.develop(film, lens, noise, at.simd, |pixel, colour| {
                    sample[FIELDS.len() * pixel + side] = f64::from(colour);
                });
            });
        }
    }
}
