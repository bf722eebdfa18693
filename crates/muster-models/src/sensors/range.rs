//! Range sensors: laser scanners, time-of-flight cameras, ultrasound, infrared. One description for all of them: where the
//! rays go ([`rays`]), how far they reach, what is made of them ([`aggregate`]) and what a real sensor gets wrong
//! ([`errors`]). Real devices are `preset`s, data in `library/sensors`.
//!
//! Measuring has two steps (M. Friedmann, K. Petersen, O. von Stryk, *Evaluation and enhancement of common simulation
//! methods for robotic range sensors*, SIMPAR 2010, section 3). The first finds where every ray first meets something: that
//! alone is `accuracy: perfect`. The second makes of it what the sensor would say, and does not know how the first was done.
//!
//! A sample holds one record for each ray, in the order of the rays (rows from the top, columns in the order of the scan), or
//! a single record if rays are aggregated. A ray that meets nothing reads +∞, one that meets something nearer than
//! `range_min_m` reads −∞ (REP-117). A sensor does not see the robot it is on.
//!
//! With `sweep_s` each column of rays has its own instant before the stamp, at which the sensor was elsewhere ([`sweep`]).

pub mod aggregate;
pub mod errors;
pub mod fit;
pub mod rays;
pub mod sweep;

use aggregate::{Aggregate, Lobe};
use errors::{Accuracy, Chance, Errors, Scan, Things};
use glam::DVec3;
use muster_core::component::{Kind, Look, LookAt, Sense, Sensor};
use muster_core::lanes::Quantity;
use muster_core::math;
use muster_core::node::{Node, Problems};
use muster_core::ray::{Hit, Pattern, Reach, Thing};
use muster_core::render::depth::{self, DepthOptions, DepthPlan, Passes};
use muster_core::snapshot::Snapshot;
use muster_core::spec::{Spec, below};
use muster_core::{choice, spec};
use rays::{Directions, Rays};
use std::sync::Arc;
use sweep::Sweep;

choice! {
    /// How first hits are found.
    pub enum Method {
        /// By intersecting rays with what is there.
        Ray = "ray",
        /// From the depth buffer of a picture.
        Depth = "depth",
        /// By whichever is faster.
        Auto = "auto",
    }
}

choice! {
    /// How a picture becomes rays.
    pub enum Correction {
        /// The nearest pixel.
        None = "none",
        /// Between pixels.
        Interpolate = "interpolate",
    }
}

spec! {
    /// Details of the depth method.
    pub struct Depth {
        /// How a picture becomes rays.
        correction: Correction = Correction::Interpolate;
        /// Pixels for a ray, along each side.
        supersample: usize = 1, in 1..=16;
        /// Pictures side by side; 0 for as many as the aperture needs.
        passes: usize = 0, in 0..=16;
        /// Whether pictures also tell what is seen; accuracy: material and intensities need it.
        things: bool = true;
    }
}

impl Depth {
    fn options(&self) -> DepthOptions {
        DepthOptions {
            correction: match self.correction {
                Correction::None => depth::Correction::None,
                Correction::Interpolate => depth::Correction::Interpolate,
            },
            supersample: self.supersample,
            passes: if self.passes == 0 { Passes::Auto } else { Passes::Count(self.passes) },
        }
    }
}

choice! {
    /// What a sample tells of each ray.
    pub enum Output {
        /// The range.
        Range = "range",
        /// Range and intensity.
        Intensity = "intensity",
        /// Range, intensity, time, and what was met.
        Full = "full",
    }
}

choice! {
    /// What intensities mean.
    pub enum Light {
        /// Like reflectivity: the fall with the square of the range is taken out.
        Calibrated = "calibrated",
        /// What the receiver gets, 1 for a white matt surface at 1 m.
        Received = "received",
    }
}

spec! {
    /// A range sensor.
    pub struct RangeSpec {
        /// Where the rays go.
        rays: Rays = Rays::default();
        /// What is nearer reads as minus infinity.
        range_min_m: f64 = 0.0, in 0.0..=1e6;
        /// What is further is not seen.
        range_max_m: f64 = 30.0, in 0.001..=1e6;
        /// Ranges are multiples of this; 0 for any.
        resolution_m: f64 = 0.0, in 0.0..=1000;
        /// How first hits are found; `depth` by the engine that `--render` names.
        method: Method = Method::Ray;
        /// Details of the depth method.
        depth: Depth = Depth { correction: Correction::Interpolate, supersample: 1, passes: 0, things: true };
        /// How true to reality ranges are.
        accuracy: Accuracy = Accuracy::Sensor;
        /// What the sensor gets wrong.
        errors: Option<Errors>;
        /// How rays become one value.
        aggregate: Aggregate = Aggregate::None;
        /// The beam of aggregate: weighted.
        lobe: Lobe = Lobe { width_deg: 15.0, threshold: 0.05, pulse_m: 0.05 };
        /// What a sample tells of each ray.
        output: Output = Output::Range;
        /// What intensities mean.
        intensity: Light = Light::Calibrated;
        /// How long a scan takes, column by column, up to its stamp; 0 if all rays are cast at once.
        sweep_s: f64 = 0.0, in 0.0..=1000;
    }
}

/// A range sensor.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "range",
    doc: "Ranges along rays: laser scanners, time-of-flight cameras, ultrasound, infrared; real devices by preset.",
    fields: RangeSpec::FIELDS,
    build: &build,
};

/// What a sample tells of each ray with `output: range`.
pub const RANGE: &[Quantity] = &[Quantity::one("range_m")];
/// What a sample tells of each ray with `output: intensity`.
pub const INTENSITY: &[Quantity] = &[Quantity::one("range_m"), Quantity::one("intensity")];
/// What a sample tells of each ray with `output: full`: the time relative to the stamp; kind and id as in
/// [`super::neighbours`], -1 for nothing; the material's index.
pub const FULL: &[Quantity] = &[
    Quantity::one("range_m"),
    Quantity::one("intensity"),
    Quantity::one("time_s"),
    Quantity::one("kind"),
    Quantity::one("id"),
    Quantity::one("material"),
];

/// Kind, id and material of nothing.
pub const NOTHING: f64 = -1.0;

/// A range sensor that is ready to measure.
#[derive(Debug)]
pub struct Range {
    spec: RangeSpec,
    errors: Errors,
    caster: Caster,
    columns: usize,
    /// How much of the beam goes along each ray, for aggregate: weighted.
    weights: Vec<f64>,
    /// Whether anything but distances is needed of what rays meet.
    things: bool,
}

/// The first step: how first hits are found. Whatever is here tells each ray's number and its hit, and nothing after it
/// depends on which it is.
#[derive(Debug)]
enum Caster {
    /// All rays at once.
    Rays(Pattern),
    /// Column by column, each from where the sensor is then.
    Sweep(Sweep, Vec<DVec3>),
    /// From depth buffers; the directions beside.
    Depth(DepthPlan, Vec<DVec3>),
}

fn build(node: &Node, path: &str, also: &[&str], problems: &mut Problems) -> Option<Arc<dyn Sensor>> {
    let spec = <RangeSpec as Spec>::read(node, path, also, problems)?;
    let before = problems.list().len();
    check(&spec, node, path, problems);
    if problems.list().len() > before {
        return None;
    }
    let place = node.get("depth").map_or(node.place, |value| value.place);
    let range = match Range::new(spec) {
        Ok(range) => range,
        Err(wrong) => {
            let (found, expected) = wrong.split_once(", expected ").unwrap_or((&wrong, "rays that can be drawn"));
            problems.error(place, &below(path, "depth"), found, expected);
            return None;
        }
    };
    if let Caster::Depth(plan, _) = &range.caster
        && let Some(warning) = plan.warning()
    {
        problems.warn(place, &below(path, "depth.passes"), warning, "at most 150° a pass");
    }
    Some(Arc::new(range))
}

/// Notes what does not fit together.
fn check(spec: &RangeSpec, node: &Node, path: &str, problems: &mut Problems) {
    let mut wrong = |key: &str, found: String, expected: &str| {
        let place = node.get(key).map_or(node.place, |value| value.place);
        problems.error(place, &below(path, key), found, expected);
    };
    if spec.range_min_m >= spec.range_max_m {
        wrong("range_min_m", format!("{} m", spec.range_min_m), "less than range_max_m");
    }
    if spec.sweep_s > 0.0 && spec.aggregate != Aggregate::None {
        wrong("sweep_s", "a sweep with aggregate".to_owned(), "one of the two: a single value has one instant");
    }
    if spec.method == Method::Depth {
        if spec.sweep_s > 0.0 {
            let expected = "no sweep_s, or method: ray: a depth buffer shows one instant from one place";
            wrong("method", "depth with sweep_s".to_owned(), expected);
        }
        if spec.accuracy == Accuracy::Material && !spec.depth.things {
            let expected = "depth.things: true, or method: ray: material errors need to know what is met";
            wrong("accuracy", "material with depth.things: false".to_owned(), expected);
        }
        if spec.output != Output::Range && !spec.depth.things {
            let found = format!("{} with depth.things: false", spec.output.word());
            wrong("output", found, "output: range, depth.things: true, or method: ray");
        }
    }
    if let Some(errors) = &spec.errors {
        let (taps, sum) = (errors.crosstalk.len(), errors.crosstalk.iter().sum::<f64>());
        if taps > 0 && (taps.is_multiple_of(2) || taps > errors::CROSSTALK_MAX || (sum - 1.0).abs() > 1e-6) {
            let found = format!("crosstalk of {taps} shares, together {sum}");
            wrong("errors", found, "an odd number of shares, at most 15, together 1");
        }
    }
    const WEIGHTED_MAX: usize = 2000;
    if spec.aggregate == Aggregate::Weighted && spec.rays.count() > WEIGHTED_MAX {
        wrong("rays", format!("{} rays with aggregate: weighted", spec.rays.count()), "at most 2000");
    }
}

impl Sensor for Range {
    fn fields(&self) -> &'static [Quantity] {
        match self.spec.output {
            Output::Range => RANGE,
            Output::Intensity => INTENSITY,
            Output::Full => FULL,
        }
    }

    fn default_rate_hz(&self) -> f64 {
        10.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::World(self)
    }

    fn rays(&self) -> Option<(&[DVec3], f64)> {
        let directions = match &self.caster {
            Caster::Rays(pattern) => pattern.directions(),
            Caster::Sweep(_, directions) | Caster::Depth(_, directions) => directions,
        };
        (self.spec.aggregate == Aggregate::None).then_some((directions, self.spec.range_max_m))
    }

    fn near_m(&self) -> f64 {
        self.spec.range_min_m
    }

    fn ways(&self) -> Vec<(&'static str, Arc<dyn Sensor>)> {
        let by = |method: Method| -> Option<(&'static str, Arc<dyn Sensor>)> {
            let spec = RangeSpec { method, ..self.spec.clone() };
            Some((method.word(), Arc::new(Self::new(spec).ok()?)))
        };
        // a sweep has no choice, and rays that cannot be drawn have none either
        match self.spec.method {
            Method::Auto if self.spec.sweep_s == 0.0 => {
                let (Some(ray), Some(depth)) = (by(Method::Ray), by(Method::Depth)) else { return Vec::new() };
                vec![ray, depth]
            }
            _ => Vec::new(),
        }
    }
}

/// Numbers kept for each ray while a scan with things is made: distance, facing, material, glow, kind, id.
const PLANES: usize = 6;

impl Look for Range {
    fn capacity(&self, _: usize) -> usize {
        let rays = self.spec.rays.count();
        if self.things { rays * (PLANES + self.fields().len()) } else { rays }
    }

    fn sees_bodies(&self) -> bool {
        true
    }

    fn needs_pictures(&self) -> bool {
        matches!(self.caster, Caster::Depth(..))
    }

    fn slices(&self) -> (usize, f64) {
        (self.parts(), self.spec.sweep_s)
    }

    fn look(&self, at: &LookAt<'_>, sample: &mut Vec<f64>) {
        // the sample is also the place where it is worked out: nothing is allocated
        if sample.len() != self.capacity(0) {
            self.begin(sample);
        }
        if self.things { self.measure_things(at, sample) } else { self.measure_ranges(at, sample) }
    }
}

impl Range {
    /// Fails if the rays cannot be drawn as the depth method is told to.
    fn new(spec: RangeSpec) -> Result<Self, String> {
        let Directions { all, columns } = spec.rays.directions();
        let errors = spec.errors.clone().unwrap_or_else(no_errors);
        let weights = match spec.aggregate {
            Aggregate::Weighted => spec.lobe.weights(&all),
            _ => Vec::new(),
        };
        let slants = spec.accuracy != Accuracy::Perfect && errors.incidence_max_deg < 90.0;
        let things = spec.output != Output::Range || spec.accuracy == Accuracy::Material || slants;
        let caster = if spec.sweep_s > 0.0 {
            Caster::Sweep(Sweep { sweep_s: spec.sweep_s, columns }, all)
        } else if spec.method == Method::Depth {
            Caster::Depth(DepthPlan::new(&all, columns, spec.depth.options())?, all)
        } else {
            Caster::Rays(Pattern::within(all, columns, spec.range_max_m))
        };
        Ok(Self { spec, errors, caster, columns, weights, things })
    }

    /// Makes a sample ready for its rays: none has met anything yet.
    fn begin(&self, sample: &mut Vec<f64>) {
        const NOT_MET: [f64; PLANES] = [f64::INFINITY, 1.0, 0.0, 0.0, NOTHING, NOTHING];
        sample.clear();
        sample.resize(self.capacity(0), f64::INFINITY);
        if self.things && self.parts() > 1 {
            let rays = self.spec.rays.count();
            sample.chunks_exact_mut(rays).zip(NOT_MET).for_each(|(plane, value)| plane.fill(value));
        }
    }

    /// In how many parts a scan is cast.
    fn parts(&self) -> usize {
        match &self.caster {
            Caster::Rays(_) | Caster::Depth(..) => 1,
            Caster::Sweep(sweep, _) => sweep.slices(),
        }
    }

    /// The first step, for the part of the scan that is due: tells of each ray its number, its direction in the world and
    /// what it met.
    fn cast(&self, at: &LookAt<'_>, mut each: impl FnMut(usize, DVec3, &Hit)) {
        let reach = Reach { min_m: 0.0, max_m: self.spec.range_max_m, without: Some(at.robot) };
        match &self.caster {
            Caster::Rays(pattern) => {
                let pose = at.pose();
                let directions = pattern.directions();
                pattern.cast(at.world, &pose, reach, at.simd, |ray, hit| {
                    each(ray, math::rotate(pose.orientation, directions[ray]), hit);
                });
            }
            Caster::Depth(plan, directions) => {
                let (pose, renderer) = (at.pose(), &*at.world.environment.renderer);
                plan.measure(at.world, &pose, reach, renderer, |ray, hit| {
                    each(ray, math::rotate(pose.orientation, directions[ray]), hit);
                });
            }
            Caster::Sweep(sweep, directions) => {
                let seen = (&at.world.robots[at.robot], -at.ahead_s);
                for (column, pose) in sweep::poses(*sweep, at.slice, seen, at.mount) {
                    for ray in (column..directions.len()).step_by(sweep.columns) {
                        let direction = math::rotate(pose.orientation, directions[ray]);
                        each(ray, direction, &at.world.cast(pose.position_m, direction, reach));
                    }
                }
            }
        }
    }

    /// Whether the scan is complete with this part.
    fn completes(&self, at: &LookAt<'_>) -> bool {
        at.slice + 1 == self.parts()
    }

    fn limits_m(&self) -> (f64, f64) {
        (self.spec.range_min_m, self.spec.range_max_m)
    }

    /// A scan of which nothing but distances counts.
    fn measure_ranges(&self, at: &LookAt<'_>, sample: &mut Vec<f64>) {
        self.cast(at, |ray, _, hit| sample[ray] = hit.distance_m);
        if !self.completes(at) {
            return;
        }
        if self.spec.aggregate != Aggregate::None {
            let chosen = self.chosen(&Scan { distance_m: &mut *sample, things: None, columns: self.columns });
            sample[0] = chosen.map_or(f64::INFINITY, |ray| sample[ray]);
            sample.truncate(1);
        }
        self.second_step(&mut Scan { distance_m: sample, things: None, columns: self.columns }, at);
    }

    /// A scan of which it counts what was met.
    fn measure_things(&self, at: &LookAt<'_>, sample: &mut Vec<f64>) {
        let rays = self.spec.rays.count();
        let materials = &at.world.environment.materials;
        let mut planes = sample.chunks_exact_mut(rays);
        let [Some(distance_m), Some(facing), Some(material), Some(glow), Some(kind), Some(id)] =
            std::array::from_fn(|_| planes.next())
        else {
            return;
        };
        self.cast(at, |ray, direction, hit| {
            distance_m[ray] = hit.distance_m;
            facing[ray] = if hit.thing == Thing::Nothing { 1.0 } else { -hit.normal.as_dvec3().dot(direction) };
            material[ray] = f64::from(at.world.material(hit));
            glow[ray] = errors::glow(&materials[material[ray] as usize], math::clamp(facing[ray], 0.0, 1.0));
            [kind[ray], id[ray]] = name_of(at.world, hit);
        });
        if !self.completes(at) {
            return;
        }
        let things = Things { facing: &mut *facing, material: &mut *material, glow: &mut *glow };
        let mut scan = Scan { distance_m: &mut *distance_m, things: Some(things), columns: self.columns };
        errors::hide(&self.errors, self.spec.accuracy, &mut scan);
        let chosen = self.chosen(&scan);
        let mut count = rays;
        if self.spec.aggregate != Aggregate::None {
            count = 1;
            for plane in [&mut *distance_m, facing, material, glow, kind, id] {
                plane[0] = plane[chosen.unwrap_or(0)];
            }
            if chosen.is_none() {
                distance_m[0] = f64::INFINITY;
            }
        }
        let things =
            Things { facing: &mut facing[..count], material: &mut material[..count], glow: &mut glow[..count] };
        let mut scan = Scan { distance_m: &mut distance_m[..count], things: Some(things), columns: self.columns };
        self.second_step(&mut scan, at);
        self.tell(sample, rays, count);
    }

    /// The ray that a sensor of one value reads.
    fn chosen(&self, scan: &Scan<'_>) -> Option<usize> {
        match self.spec.aggregate {
            Aggregate::None => None,
            Aggregate::Minimum => aggregate::nearest(scan, 0..scan.distance_m.len()),
            Aggregate::Weighted => self.spec.lobe.heard(&self.weights, scan, self.spec.accuracy == Accuracy::Material),
        }
    }

    /// The second step: what the sensor makes of what its rays met.
    fn second_step(&self, scan: &mut Scan<'_>, at: &LookAt<'_>) {
        let chance = Chance { stream: at.stream, index: at.index };
        let (errors, materials) = ((&self.errors, self.spec.accuracy), &at.world.environment.materials);
        errors::spoil(errors, scan, materials, self.limits_m(), chance, at.simd);
        errors::finish(scan.distance_m, self.limits_m(), self.spec.resolution_m, at.simd);
    }

    /// Records from the planes of a scan, in their place.
    fn tell(&self, sample: &mut Vec<f64>, rays: usize, count: usize) {
        let width = self.fields().len();
        let (planes, records) = sample.split_at_mut(rays * PLANES);
        for (ray, record) in records.chunks_exact_mut(width).take(count).enumerate() {
            let plane = |number: usize| planes[number * rays + ray];
            let range_m = plane(0);
            let light = match self.spec.intensity {
                Light::Calibrated => plane(3),
                Light::Received => plane(3) / (range_m * range_m),
            };
            let met = range_m.is_finite();
            let or_nothing = |value: f64| if met { value } else { NOTHING };
            let light = if met { light } else { 0.0 };
            let time_s = match &self.caster {
                Caster::Rays(_) | Caster::Depth(..) => 0.0,
                Caster::Sweep(sweep, _) => sweep.offset_s(ray % sweep.columns),
            };
            let all = [range_m, light, time_s, or_nothing(plane(4)), or_nothing(plane(5)), or_nothing(plane(2))];
            record.copy_from_slice(&all[..width]);
        }
        sample.copy_within(rays * PLANES..rays * PLANES + count * width, 0);
        sample.truncate(count * width);
    }
}

/// No errors at all.
fn no_errors() -> Errors {
    let none = <Errors as Spec>::read(&Node::default(), "", &[], &mut Problems::default());
    none.unwrap_or_else(|| unreachable!("every error has a default"))
}

/// Kind and id of what a ray met, as sensors of neighbours have them.
pub(crate) fn name_of(world: &Snapshot, hit: &Hit) -> [f64; 2] {
    match hit.thing {
        Thing::Nothing => [NOTHING; 2],
        Thing::Obstacle(index) => [super::neighbours::OBSTACLE, f64::from(index)],
        Thing::Part { robot, .. } => [super::neighbours::ROBOT, f64::from(world.robots[robot as usize].robot)],
    }
}

#[cfg(test)]
mod tests;
