//! Cameras: images in colour, of depth, of objects by number and of classes, each alone or several at once.
//!
//! The lens is a pinhole, perhaps with the distortion of Brown and Conrady in the convention of OpenCV, see
//! [`muster_core::render::lens`]; every pixel is the mean of `samples`² rays. The engine of the run (`--render`) finds the
//! light of each ray; what happens to it on its way to a number is in [`develop`].
//!
//! A sample holds a record for each pixel, row by row from the top, with what `output` names in this order: the colour as
//! 0xRRGGBB (sRGB); the depth along the axis or the ray, infinite where nothing is seen; the object, 0 for nothing, n + 1 for
//! obstacle n, -(n + 1) for robot n; the class, counted from 1 in `classes`, 0 for none of them. Depths, objects and classes
//! are those of the ray nearest to the middle of the pixel. A camera does not see the robot it is on, but its shadow.
//!
//! Images are made only while somebody listens. Without an engine (`--render null`) there are none in colour.

pub mod develop;

use develop::{Darkroom, Exposure};
use glam::DVec2;
use muster_core::component::{Kind, Look, LookAt, Sense, Sensor};
use muster_core::lanes::Quantity;
use muster_core::math;
use muster_core::node::{Node, Problems};
use muster_core::ray::{Hit, Reach, Thing};
use muster_core::render::Shot;
use muster_core::render::lens::{Lens, LensSpec};
use muster_core::snapshot::Snapshot;
use muster_core::spec::{Spec, below};
use muster_core::{choice, spec};
use std::sync::{Arc, Mutex, PoisonError};

choice! {
    /// What a pixel tells.
    pub enum Output {
        /// The colour.
        Colour = "colour",
        /// How far away.
        Depth = "depth",
        /// Which object.
        Ids = "ids",
        /// What class of objects.
        Classes = "classes",
    }
}

choice! {
    /// Along what depth is measured.
    pub enum Along {
        /// The axis of the camera: distance from its plane.
        Axis = "axis",
        /// The ray of the pixel.
        Ray = "ray",
    }
}

spec! {
    /// How a lens bends straight lines: coefficients of Brown and Conrady as in OpenCV.
    pub struct Distortion {
        /// Radial, with the square of the distance from the axis.
        k1: f64 = 0.0, in -10..=10;
        /// Radial, with the fourth power.
        k2: f64 = 0.0, in -10..=10;
        /// Tangential, down.
        p1: f64 = 0.0, in -1..=1;
        /// Tangential, to the right.
        p2: f64 = 0.0, in -1..=1;
        /// Radial, with the sixth power.
        k3: f64 = 0.0, in -10..=10;
    }
}

spec! {
    /// A camera.
    pub struct CameraSpec {
        /// Pixels in a row.
        columns: usize = 320, in 1..=8192;
        /// Rows.
        rows: usize = 240, in 1..=8192;
        /// Aperture from left to right, without distortion; focal lengths win.
        width_deg: f64 = 60.0, in 0.01..=170;
        /// Focal length in pixels of a row; from width_deg if left out.
        fx_px: Option<f64>, in 0.1..=1e6;
        /// Focal length in pixels of a column; fx_px if left out.
        fy_px: Option<f64>, in 0.1..=1e6;
        /// Column where the axis meets the image, 0 in the middle of the first; the middle if left out.
        cx_px: Option<f64>, in -1e5..=1e5;
        /// Row where the axis meets the image; the middle if left out.
        cy_px: Option<f64>, in -1e5..=1e5;
        /// How the lens bends straight lines.
        distortion: Distortion = Distortion { k1: 0.0, k2: 0.0, p1: 0.0, p2: 0.0, k3: 0.0 };
        /// Rays to a pixel along each side: 2 or 3 smooth edges.
        samples: usize = 1, in 1..=8;
        /// What is nearer along a ray is passed through.
        near_m: f64 = 0.01, in 0.0..=1000;
        /// What is further along a ray is not seen.
        far_m: f64 = 5000.0, in 0.001..=1e5;
        /// What pixels tell.
        output: Vec<Output> = vec![Output::Colour];
        /// Along what depth is measured.
        depth: Along = Along::Axis;
        /// Words among tags of obstacles and robots (or kinds of robots) that output: classes tells by their number here.
        classes: Vec<String> = Vec::new();
        /// Standard deviation of a Gaussian blur, in pixels.
        blur_px: f64 = 0.0, in 0.0..=100;
        /// From light to numbers.
        exposure: Exposure = Exposure { gain: 1.0, full_well: 0.0, read_noise: 0.0, vignetting: 0.0 };
    }
}

/// A camera.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "camera",
    doc: "Images: colour, depth, objects, classes; pinhole with lens distortion, blur, noise. Made while somebody listens.",
    fields: CameraSpec::FIELDS,
    build: &build,
};

const COLOUR: Quantity = Quantity::one("colour");
const DEPTH: Quantity = Quantity::one("depth_m");
const OBJECT: Quantity = Quantity::one("id");
const CLASS: Quantity = Quantity::one("class");

/// Every choice of outputs, as bits: colour, depth, ids, classes.
const RECORDS: [&[Quantity]; 16] = [
    &[],
    &[COLOUR],
    &[DEPTH],
    &[COLOUR, DEPTH],
    &[OBJECT],
    &[COLOUR, OBJECT],
    &[DEPTH, OBJECT],
    &[COLOUR, DEPTH, OBJECT],
    &[CLASS],
    &[COLOUR, CLASS],
    &[DEPTH, CLASS],
    &[COLOUR, DEPTH, CLASS],
    &[OBJECT, CLASS],
    &[COLOUR, OBJECT, CLASS],
    &[DEPTH, OBJECT, CLASS],
    &[COLOUR, DEPTH, OBJECT, CLASS],
];

/// A camera that is ready to take images.
#[derive(Debug)]
pub struct Camera {
    spec: CameraSpec,
    lens: Lens,
    darkroom: Darkroom,
    /// What pixels tell, as bits of [`RECORDS`].
    outputs: usize,
    /// What rays met, while no engine is asked for colours.
    spare: Mutex<Vec<Vec<Hit>>>,
}

fn build(node: &Node, path: &str, also: &[&str], problems: &mut Problems) -> Option<Arc<dyn Sensor>> {
    let spec = <CameraSpec as Spec>::read(node, path, also, problems)?;
    Some(Arc::new(made(spec, node, path, problems)?))
}

/// A camera of a specification that may not make sense.
pub(super) fn made(spec: CameraSpec, node: &Node, path: &str, problems: &mut Problems) -> Option<Camera> {
    let mut wrong = |key: &str, found: String, expected: &str| {
        let place = node.get(key).map_or(node.place, |value| value.place);
        problems.error(place, &below(path, key), found, expected);
    };
    if spec.near_m >= spec.far_m {
        wrong("near_m", format!("{} m", spec.near_m), "less than far_m");
        return None;
    }
    if spec.output.is_empty() {
        wrong("output", "nothing".to_owned(), "a list of colour, depth, ids, classes");
        return None;
    }
    if spec.output.contains(&Output::Classes) && spec.classes.is_empty() {
        wrong("output", "classes without a list of them".to_owned(), "classes: with words among tags");
        return None;
    }
    let pixels = spec.columns * spec.rows * spec.samples * spec.samples;
    if pixels > RAYS_MAX {
        wrong("columns", format!("{pixels} rays"), "at most 67 million");
        return None;
    }
    match Camera::new(spec) {
        Ok(camera) => Some(camera),
        Err(found) => {
            wrong("distortion", found, "coefficients that keep neighbours apart in the whole image");
            None
        }
    }
}

/// More rays are a mistake.
const RAYS_MAX: usize = 1 << 26;

impl Camera {
    /// Prepares a camera; an error says where its distortion makes no sense.
    pub fn new(spec: CameraSpec) -> Result<Self, String> {
        let lens = Lens::new(lens_spec(&spec))?;
        let darkroom = Darkroom::new(&lens, &spec.exposure, spec.blur_px);
        let bit = |output: &Output| match output {
            Output::Colour => 1,
            Output::Depth => 2,
            Output::Ids => 4,
            Output::Classes => 8,
        };
        let outputs = spec.output.iter().map(bit).fold(0, |all, bit| all | bit);
        Ok(Self { spec, lens, darkroom, outputs, spare: Mutex::default() })
    }

    /// The lens.
    pub fn lens(&self) -> &Lens {
        &self.lens
    }

    /// What becomes of light.
    pub(super) fn darkroom(&self) -> &Darkroom {
        &self.darkroom
    }

    pub(super) fn shot<'a>(&'a self, at: &LookAt<'_>) -> Shot<'a> {
        Shot {
            pose: at.pose(),
            lens: &self.lens,
            near_m: self.spec.near_m,
            far_m: self.spec.far_m,
            without: Some(at.robot),
            hits: self.fields().len() > 1,
        }
    }

    fn has(&self, output: Output) -> bool {
        self.spec.output.contains(&output)
    }

    /// Fills in what rays met, pixel by pixel.
    fn tell(&self, world: &Snapshot, hits: &[Hit], sample: &mut [f64]) {
        let record = self.fields().len();
        let first = usize::from(self.has(Output::Colour));
        let (depth, ids, classes) = (self.has(Output::Depth), self.has(Output::Ids), self.has(Output::Classes));
        let mut last = (Thing::Nothing, 0.0);
        for (pixel, record) in sample.chunks_exact_mut(record).enumerate() {
            let ray = self.lens.middle_ray(pixel);
            let (hit, mut at) = (&hits[ray], first);
            let mut put = |value: f64| {
                record[at] = value;
                at += 1;
            };
            if depth {
                let share = match self.spec.depth {
                    Along::Axis => self.lens.rays.directions()[ray].x,
                    Along::Ray => 1.0,
                };
                put(hit.distance_m * share);
            }
            if ids {
                put(object(world, hit.thing));
            }
            if classes {
                if last.0 != hit.thing {
                    last = (hit.thing, class(world, hit.thing, &self.spec.classes));
                }
                put(last.1);
            }
        }
    }
}

fn lens_spec(spec: &CameraSpec) -> LensSpec {
    let plain = LensSpec::pinhole(spec.columns, spec.rows, math::tan(0.5 * spec.width_deg.to_radians()));
    let fx = spec.fx_px.unwrap_or(plain.focal_px.x);
    let Distortion { k1, k2, p1, p2, k3 } = spec.distortion;
    LensSpec {
        focal_px: DVec2::new(fx, spec.fy_px.unwrap_or(fx)),
        centre_px: DVec2::new(spec.cx_px.unwrap_or(plain.centre_px.x), spec.cy_px.unwrap_or(plain.centre_px.y)),
        distortion: [k1, k2, p1, p2, k3],
        samples: spec.samples,
        ..plain
    }
}

/// The number of an object.
fn object(world: &Snapshot, thing: Thing) -> f64 {
    match thing {
        Thing::Nothing => 0.0,
        Thing::Obstacle(number) => f64::from(number) + 1.0,
        Thing::Part { robot, .. } => -f64::from(world.robots[robot as usize].robot) - 1.0,
    }
}

/// The class of an object: the first that is one of its tags, or the kind of a robot; counted from 1.
pub(super) fn class(world: &Snapshot, thing: Thing, classes: &[String]) -> f64 {
    let found = match thing {
        Thing::Nothing => None,
        Thing::Obstacle(number) => {
            let tags = &world.environment.obstacles[number as usize].tags;
            classes.iter().position(|class| tags.contains(class))
        }
        Thing::Part { robot, .. } => world.bodies_of(robot as usize).first().and_then(|body| {
            let blueprint = &body.cohort.blueprint;
            classes.iter().position(|class| blueprint.tags.contains(class) || blueprint.kind == *class)
        }),
    };
    found.map_or(0.0, |at| at as f64 + 1.0)
}

impl Sensor for Camera {
    fn fields(&self) -> &'static [Quantity] {
        RECORDS[self.outputs]
    }

    fn default_rate_hz(&self) -> f64 {
        10.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::World(self)
    }

    fn image(&self) -> Option<&Lens> {
        Some(&self.lens)
    }
}

impl Look for Camera {
    fn capacity(&self, _: usize) -> usize {
        self.spec.columns * self.spec.rows * self.fields().len()
    }

    fn sees_bodies(&self) -> bool {
        true
    }

    fn on_demand(&self) -> bool {
        true
    }

    fn look(&self, at: &LookAt<'_>, sample: &mut Vec<f64>) {
        sample.clear();
        let shot = self.shot(at);
        let record = self.fields().len();
        if self.has(Output::Colour) {
            at.world.environment.renderer.expose(at.world, &shot, &mut |film| {
                sample.resize(self.capacity(0), 0.0);
                self.darkroom.develop(film, &self.lens, (at.stream, at.index), at.simd, |pixel, colour| {
                    sample[pixel * record] = f64::from(colour);
                });
                if record > 1 {
                    self.tell(at.world, &film.hits, sample);
                }
            });
            return;
        }
        let idle = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let mut hits = idle().pop().unwrap_or_default();
        hits.resize(self.lens.rays.len(), Hit::NOTHING);
        let reach = Reach { min_m: shot.near_m, max_m: shot.far_m, without: shot.without };
        self.lens.rays.cast(at.world, &shot.pose, reach, at.simd, |ray, hit| hits[ray] = *hit);
        sample.resize(self.capacity(0), 0.0);
        self.tell(at.world, &hits, sample);
        idle().push(hits);
    }
}

#[cfg(test)]
mod tests;
