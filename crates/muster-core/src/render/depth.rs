//! The depth method: what the beams of a range sensor meet, read from depth buffers instead of cast as rays. After
//! M. Friedmann, K. Petersen and O. von Stryk, *Evaluation and Enhancement of Common Simulation Methods for Robotic Range
//! Sensors* (SIMPAR 2010), sections 3.1 and 3.3.
//!
//! The rays of a picture are even in its plane, those of a sensor seldom are. A [`DepthPlan`] knows, for each ray of a
//! sensor, the picture and the pixels to read: the nearest one as it is, or those around it, interpolated. It may draw more
//! pixels than there are rays, and wide apertures in several passes.
//!
//! **Interpolation** is bilinear in the depth buffer, which is linear in the reciprocal of the distance and therefore exact
//! on planes. Two neighbouring pixels are joined only if they show the same thing and either the same triangle, or a
//! surface that goes on: the step between them lies within those from either to its neighbour on the other side. Where a
//! ray lies between pixels that are not all joined, at edges of things and of depth, the nearest pixel is read as it is.
//!
//! **Normals** are those of the thing that is seen, at the point that is seen: of the triangle for meshes and terrain, of the
//! exact shape for others; outward, as rays tell them.
//!
//! What is nearer than the least range is in the pictures and hides what is behind it, where a ray passes through; such
//! rays are cast. Depth buffers need a near plane: what is nearer than a 3000th of the greatest range is not seen, even if
//! the least range is smaller.

use crate::component::Pose;
use crate::math;
use crate::ray::{Hit, Reach, Thing};
use crate::render::{Picture, Renderer, View, Wanted};
use crate::shape::{Shape, Solid};
use crate::snapshot::Snapshot;
use glam::{DQuat, DVec3};
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// Steps of a depth buffer near the far plane: single precision between 1/2 and 1.
const QUANTUM: f64 = 1.0 / (1 << 24) as f64;
/// The near plane is no nearer than this share of the far plane.
const NEAR_SHARE: f64 = 1.0 / 3000.0;
/// The far plane is no further, m.
const FAR_MAX_M: f64 = 1e5;
/// A pass can not be this wide.
const APERTURE_LIMIT_RAD: f64 = PI;
/// A pass should not be wider: pixels at its edges are 15 times as dense as those in its middle.
const APERTURE_ADVISED_RAD: f64 = 150.0 / 180.0 * PI;
/// Sensors are looked through in one pass up to this aperture if nobody says how many there should be.
const APERTURE_SINGLE_RAD: f64 = 100.0 / 180.0 * PI;
/// How wide each of several passes is at most.
const SECTOR_RAD: f64 = FRAC_PI_2;
/// In several passes, what is higher or lower than this is looked at by a pass straight up or down.
const POLE_RAD: f64 = 50.0 / 180.0 * PI;
/// More pixels in a pass are a mistake.
const PIXELS_MAX: usize = 1 << 24;
/// Pixels around those that are read, for interpolation to see where surfaces go on.
const MARGIN: usize = 2;

/// The distance from the plane of the camera of a point with this depth (0 at the near plane, 1 at the far plane), m:
/// z = −f n / (z̃ (f − n) − f).
pub fn distance_from_depth(depth: f64, near_m: f64, far_m: f64) -> f64 {
    -far_m * near_m / (depth * (far_m - near_m) - far_m)
}

/// The depth of a point at this distance from the plane of the camera.
pub fn depth_from_distance(distance_m: f64, near_m: f64, far_m: f64) -> f64 {
    far_m * (distance_m - near_m) / (distance_m * (far_m - near_m))
}

/// The length of a ray to a point at a distance from the plane of the camera: l = z / cos α, where α is the angle in space
/// between the ray and the viewing axis.
pub fn ray_length(distance_m: f64, cos_angle: f64) -> f64 {
    distance_m / cos_angle
}

/// The angle of ray `i` (from −n to n) of the 2n + 1 of a pinhole camera that sees up to `max_rad` on either side:
/// arctan((i/n) tan α_max).
pub fn pinhole_angle(i: i32, n: u32, max_rad: f64) -> f64 {
    math::atan(f64::from(i) / f64::from(n) * math::tan(max_rad))
}

/// What is done about rays that do not run through the middle of a pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Correction {
    /// Nothing: the nearest pixel is read as it is.
    None,
    /// The pixels around a ray are interpolated.
    #[default]
    Interpolate,
}

/// How many pictures are taken of different directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Passes {
    /// One up to 100°, else one for every 90° around the vertical axis, and one each for what is above and below 50°.
    #[default]
    Auto,
    /// This many around the vertical axis.
    Count(usize),
}

/// How a sensor is looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DepthOptions {
    /// What is done about directions.
    pub correction: Correction,
    /// How many times as many pixels as rays there are along each axis.
    pub supersample: usize,
    /// How many pictures are taken.
    pub passes: Passes,
}

impl Default for DepthOptions {
    fn default() -> Self {
        Self { correction: Correction::Interpolate, supersample: 1, passes: Passes::Auto }
    }
}

/// Where a ray is in a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reading {
    ray: u32,
    /// The pixel at its upper left, or itself.
    column: u32,
    row: u32,
    /// How far it is from there to the next column and row, from 0 to 1.
    share: [f64; 2],
    /// Cosine of the angle between the ray and the viewing axis.
    cos: f64,
    /// The same of the nearest pixel.
    cos_nearest: f64,
}

/// A picture to take.
#[derive(Debug, Clone, PartialEq)]
struct Pass {
    /// `sensor_from_view`.
    orientation: DQuat,
    columns: usize,
    rows: usize,
    tan_half: [f64; 2],
    /// Cosine of the greatest angle between the viewing axis and a ray.
    cos_least: f64,
    readings: Vec<Reading>,
}

/// The pictures to take for the rays of a sensor, and where in them each ray is.
#[derive(Debug, Clone, PartialEq)]
pub struct DepthPlan {
    directions: Vec<DVec3>,
    correction: Correction,
    passes: Vec<Pass>,
    warning: Option<String>,
}

impl DepthPlan {
    /// Plans for unit directions in the frame of a sensor (x forward, y left, z up), row by row with `columns` in a row; all
    /// in one row if they have no order. Fails if a pass would be 180° wide or have too many pixels.
    pub fn new(directions: &[DVec3], columns: usize, options: DepthOptions) -> Result<Self, String> {
        let mut plan =
            Self { directions: directions.to_vec(), correction: options.correction, passes: Vec::new(), warning: None };
        for rays in split(directions, options.passes) {
            let frame = orientation(directions, &rays);
            let aperture_rad = 2.0 * half_aperture(directions, &rays, frame);
            let degrees = aperture_rad.to_degrees();
            if aperture_rad >= APERTURE_LIMIT_RAD - 1e-9 {
                return Err(format!("a pass of {degrees:.0}°, expected well below 180°: more passes are needed"));
            }
            if aperture_rad > APERTURE_ADVISED_RAD {
                plan.warning = Some(format!("a pass of {degrees:.0}° is drawn unevenly: more passes are better"));
            }
            plan.passes.push(pass(directions, columns, &rays, frame, options)?);
        }
        Ok(plan)
    }

    /// What is not wrong, but could be better.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// How many pictures are taken.
    pub fn passes(&self) -> usize {
        self.passes.len()
    }

    /// How many pixels are drawn in all.
    pub fn pixels(&self) -> usize {
        self.passes.iter().map(|pass| pass.columns * pass.rows).sum()
    }

    /// The mean and the greatest angle between a ray and the middle of the pixel nearest to it, rad.
    pub fn direction_error_rad(&self) -> (f64, f64) {
        let (mut sum, mut greatest, mut count) = (0.0, 0.0, 0);
        for pass in &self.passes {
            for reading in &pass.readings {
                let wanted = self.directions[reading.ray as usize];
                let got = math::rotate(pass.orientation, pass.direction(pass.nearest(reading)));
                // the angle by its sine, as these are small
                let error = math::asin(wanted.cross(got).length().min(1.0));
                sum += error;
                greatest = f64::max(greatest, error);
                count += 1;
            }
        }
        (sum / f64::from(count.max(1)), greatest)
    }

    /// By how much a length is wrong at most where a flat surface is met, far from its edges, m: `incidence_rad` is the
    /// angle between ray and normal. To this comes how wrong an engine [draws a shape](Renderer::shape_error_m), divided by
    /// the cosine of the incidence; for surfaces with a radius r, interpolated, the eighth of the square of a pixel's
    /// width there over r. The parts: directions, unless interpolated; steps of the depth buffer; rounding in the engine.
    pub fn error_m(&self, distance_m: f64, incidence_rad: f64, reach: Reach) -> f64 {
        let near_m = self.passes.iter().map(|pass| pass.near_m(reach)).fold(f64::INFINITY, f64::min);
        let far_m = far_m(reach);
        let off_rad = match self.correction {
            Correction::None => self.direction_error_rad().1,
            Correction::Interpolate => 0.0,
        };
        let cos = math::cos(incidence_rad);
        let grazing = math::cos((incidence_rad + off_rad).min(FRAC_PI_2));
        let by_direction = if off_rad > 0.0 { distance_m * (cos / grazing - 1.0).abs() } else { 0.0 };
        let by_quantum = QUANTUM * distance_m * distance_m * (far_m - near_m) / (far_m * near_m);
        by_direction + by_quantum + 16.0 * QUANTUM * distance_m / cos
    }

    /// Takes the pictures from a sensor at a pose; `each` is told the number of a ray and what it met, each once, in any
    /// order, as [`Pattern::cast`](crate::ray::Pattern::cast) does. With an engine that makes no pictures nothing is met.
    pub fn measure(
        &self,
        world: &Snapshot,
        from: &Pose,
        reach: Reach,
        renderer: &dyn Renderer,
        mut each: impl FnMut(usize, &Hit),
    ) {
        for pass in &self.passes {
            let view = pass.view(from, reach);
            let mut shown = false;
            renderer.take(world, &view, Wanted { things: true }, &mut |picture| {
                shown = true;
                let mut reader = Reader { world, picture, view: &view, correction: self.correction, last: None };
                for reading in &pass.readings {
                    let direction = math::rotate(from.orientation, self.directions[reading.ray as usize]);
                    each(reading.ray as usize, &reader.hit(pass, reading, direction, reach));
                }
            });
            if !shown {
                pass.readings.iter().for_each(|reading| each(reading.ray as usize, &Hit::NOTHING));
            }
        }
    }
}

/// The far plane, m.
fn far_m(reach: Reach) -> f64 {
    reach.max_m.min(FAR_MAX_M)
}

/// Elevation and azimuth, rad.
fn angles(direction: DVec3) -> (f64, f64) {
    (math::atan2(direction.z, math::hypot2(direction.x, direction.y)), math::atan2(direction.y, direction.x))
}

/// The middle of some directions, if they have one.
fn axis(directions: &[DVec3], rays: &[u32]) -> Option<DVec3> {
    let sum: DVec3 = rays.iter().map(|&ray| directions[ray as usize]).sum();
    (sum.length() > 1e-6 * rays.len() as f64).then(|| sum.normalize())
}

/// Which rays go into which pass.
fn split(directions: &[DVec3], passes: Passes) -> Vec<Vec<u32>> {
    let all: Vec<u32> = (0..directions.len() as u32).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let single = match passes {
        Passes::Count(count) => count <= 1,
        Passes::Auto => axis(directions, &all).is_some_and(|axis| {
            let least = all.iter().map(|&ray| directions[ray as usize].dot(axis)).fold(1.0, f64::min);
            least >= math::cos(0.5 * APERTURE_SINGLE_RAD)
        }),
    };
    if single {
        return vec![all];
    }
    let elevation = |ray: &u32| angles(directions[*ray as usize]).0;
    let (poles, belt): (Vec<u32>, Vec<u32>) = all.into_iter().partition(|ray| elevation(ray).abs() > POLE_RAD);
    let (above, below): (Vec<u32>, Vec<u32>) = poles.into_iter().partition(|ray| elevation(ray) > 0.0);
    let mut split = sectors(directions, belt, passes);
    split.extend([above, below]);
    split.retain(|rays| !rays.is_empty());
    split
}

/// Splits rays by azimuth into equal sectors, from one side of the greatest gap between them to the other.
fn sectors(directions: &[DVec3], rays: Vec<u32>, passes: Passes) -> Vec<Vec<u32>> {
    let mut azimuths: Vec<f64> = rays.iter().map(|&ray| angles(directions[ray as usize]).1).collect();
    azimuths.sort_by(f64::total_cmp);
    let (Some(&first), Some(&last)) = (azimuths.first(), azimuths.last()) else { return Vec::new() };
    let steps = azimuths.windows(2).map(|pair| (pair[1] - pair[0], pair[1]));
    let (gap, begin) = steps.fold((first + TAU - last, first), |best, step| if step.0 > best.0 { step } else { best });
    let range = (TAU - gap).max(1e-9);
    let count = match passes {
        Passes::Auto => (range / SECTOR_RAD - 1e-6).ceil().max(1.0) as usize,
        Passes::Count(count) => count.max(1),
    };
    let mut split = vec![Vec::new(); count];
    for ray in rays {
        let along = angles(directions[ray as usize]).1 - begin;
        let along = if along < -1e-12 { along + TAU } else { along.max(0.0) };
        split[((along / range * count as f64) as usize).min(count - 1)].push(ray);
    }
    split
}

/// `sensor_from_view` of a pass for some rays: level from left to right, towards their middle.
fn orientation(directions: &[DVec3], rays: &[u32]) -> DQuat {
    let (elevation, azimuth) = angles(axis(directions, rays).unwrap_or(DVec3::X));
    math::quat_from_rpy(0.0, -elevation, azimuth)
}

/// The greatest angle between rays and the viewing axis.
fn half_aperture(directions: &[DVec3], rays: &[u32], orientation: DQuat) -> f64 {
    let forward = math::rotate(orientation, DVec3::X);
    let least = rays.iter().map(|&ray| directions[ray as usize].dot(forward)).fold(1.0, f64::min);
    math::acos(least.max(-1.0))
}

/// How many columns and rows of rays there are in a pass.
fn counts(columns: usize, all: usize, rays: &[u32], extent: [f64; 2]) -> [usize; 2] {
    let columns = columns.clamp(1, all.max(1)) as u32;
    if columns as usize == all && extent[0] > 0.0 && extent[1] > 0.0 {
        // no order: pixels as wide as high
        let across = (rays.len() as f64 * extent[0] / extent[1]).sqrt().ceil().clamp(1.0, rays.len() as f64);
        return [across as usize, (rays.len() as f64 / across).ceil() as usize];
    }
    let (mut most, mut rows) = (0, 0);
    for row in rays.chunk_by(|a, b| a / columns == b / columns) {
        most = most.max(row.len());
        rows += 1;
    }
    [most, rows]
}

fn pass(
    directions: &[DVec3],
    columns: usize,
    rays: &[u32],
    orientation: DQuat,
    options: DepthOptions,
) -> Result<Pass, String> {
    // to the right and down in the plane one metre before the camera
    let place = |ray: u32| {
        let local = math::rotate_inverse(orientation, directions[ray as usize]);
        ([-local.y / local.x, -local.z / local.x], local.x)
    };
    let mut extent = [0.0_f64; 2];
    for &ray in rays {
        let (at, _) = place(ray);
        extent = [extent[0].max(at[0].abs()), extent[1].max(at[1].abs())];
    }
    let extent = extent.map(|extent| if extent < 1e-9 { 0.0 } else { extent });
    let wanted = counts(columns, directions.len(), rays, extent);
    let margin = if options.correction == Correction::Interpolate { MARGIN } else { 0 };
    let (mut size, mut pitch) = ([1; 2], [0.0; 2]);
    for axis in 0..2 {
        if extent[axis] > 0.0 {
            let steps = (wanted[axis].max(2) - 1) * options.supersample.max(1);
            size[axis] = steps + 1 + 2 * margin;
            pitch[axis] = 2.0 * extent[axis] / steps as f64;
        }
    }
    if size[0].saturating_mul(size[1]) > PIXELS_MAX {
        return Err(format!("a pass of {} by {} pixels, expected fewer", size[0], size[1]));
    }
    // pixels of a single row are as high as wide; a single pixel is a thousandth wide
    let either = pitch[0].max(pitch[1]);
    let pitch = pitch.map(|pitch| {
        if pitch > 0.0 {
            pitch
        } else if either > 0.0 {
            either
        } else {
            1e-3
        }
    });
    let tan_half = [0.5 * pitch[0] * size[0] as f64, 0.5 * pitch[1] * size[1] as f64];
    let mut pass = Pass {
        orientation,
        columns: size[0],
        rows: size[1],
        tan_half,
        cos_least: math::cos(half_aperture(directions, rays, orientation)),
        readings: Vec::with_capacity(rays.len()),
    };
    for &ray in rays {
        let (at, cos) = place(ray);
        let mut reading = Reading { ray, column: 0, row: 0, share: [0.0; 2], cos, cos_nearest: cos };
        for axis in 0..2 {
            // rays that run through the middle of a pixel are read there, whatever is around it
            let along = at[axis] / pitch[axis] + 0.5 * size[axis] as f64 - 0.5;
            let along = if (along - along.round()).abs() < 1e-6 { along.round() } else { along };
            let along = along.clamp(0.0, size[axis] as f64 - 1.0);
            *[&mut reading.column, &mut reading.row][axis] = along as u32;
            reading.share[axis] = along - f64::from(along as u32);
        }
        reading.cos_nearest = pass.direction(pass.nearest(&reading)).x;
        pass.readings.push(reading);
    }
    Ok(pass)
}

impl Pass {
    fn near_m(&self, reach: Reach) -> f64 {
        (reach.min_m * self.cos_least).max(NEAR_SHARE * far_m(reach))
    }

    fn view(&self, from: &Pose, reach: Reach) -> View {
        View {
            pose: from.then(&Pose { position_m: DVec3::ZERO, orientation: self.orientation }),
            columns: self.columns,
            rows: self.rows,
            tan_half_width: self.tan_half[0],
            tan_half_height: self.tan_half[1],
            near_m: self.near_m(reach),
            far_m: far_m(reach),
            without: reach.without,
        }
    }

    /// The pixel whose middle is nearest to a ray.
    fn nearest(&self, reading: &Reading) -> [usize; 2] {
        let next = reading.share.map(|share| usize::from(share > 0.5));
        [reading.column as usize + next[0], reading.row as usize + next[1]]
    }

    /// The direction of the middle of a pixel in the frame of the view.
    fn direction(&self, [column, row]: [usize; 2]) -> DVec3 {
        let right = ((2 * column + 1) as f64 / self.columns as f64 - 1.0) * self.tan_half[0];
        let down = ((2 * row + 1) as f64 / self.rows as f64 - 1.0) * self.tan_half[1];
        DVec3::new(1.0, -right, -down).normalize()
    }
}

/// Reads a picture.
struct Reader<'a> {
    world: &'a Snapshot,
    picture: &'a Picture,
    view: &'a View,
    correction: Correction,
    /// What was seen last, as neighbours most often see the same.
    last: Option<Seen<'a>>,
}

/// A thing in a picture.
struct Seen<'a> {
    thing: Thing,
    solid: &'a Solid,
    pose: &'a Pose,
    /// A triangle and its normal in the world.
    flat: Option<(u32, DVec3)>,
}

impl<'a> Reader<'a> {
    fn hit(&mut self, pass: &Pass, reading: &Reading, direction: DVec3, reach: Reach) -> Hit {
        let [column, row] = pass.nearest(reading);
        let pixel = row * self.view.columns + column;
        let thing = self.picture.things[pixel];
        if thing == Thing::Nothing {
            return Hit::NOTHING;
        }
        let between = match self.correction {
            Correction::None => None,
            Correction::Interpolate => self.interpolated(reading),
        };
        let (depth, cos) =
            between.map_or((f64::from(self.picture.depth[pixel]), reading.cos_nearest), |depth| (depth, reading.cos));
        let distance_m = ray_length(distance_from_depth(depth, self.view.near_m, self.view.far_m), cos);
        if distance_m < reach.min_m {
            return self.world.cast(self.view.pose.position_m, direction, reach);
        }
        if distance_m > reach.max_m {
            return Hit::NOTHING;
        }
        let point_m = self.view.pose.position_m + direction * distance_m;
        self.describe(thing, self.picture.triangles[pixel], point_m, distance_m)
    }

    fn pixel(&self, column: isize, row: isize) -> usize {
        let column = column.clamp(0, self.view.columns as isize - 1);
        row.clamp(0, self.view.rows as isize - 1) as usize * self.view.columns + column as usize
    }

    /// The depth between pixels, if they are all joined.
    fn interpolated(&self, reading: &Reading) -> Option<f64> {
        let [right, down] = reading.share;
        let (column, row) = (reading.column as isize, reading.row as isize);
        let pixel = |across: isize, along: isize| self.pixel(column + across, row + along);
        let (wide, high) = (isize::from(right > 0.0), isize::from(down > 0.0));
        let joined_across = |along: isize| self.joined([-1, 0, 1, 2].map(|step| pixel(step, along)));
        let joined_along = |across: isize| self.joined([-1, 0, 1, 2].map(|step| pixel(across, step)));
        let joined = (wide == 0 || (0..=high).all(joined_across)) && (high == 0 || (0..=wide).all(joined_along));
        let depth = |across: isize, along: isize| f64::from(self.picture.depth[pixel(across, along)]);
        joined.then(|| {
            let upper = depth(0, 0) + right * (depth(wide, 0) - depth(0, 0));
            let lower = depth(0, high) + right * (depth(wide, high) - depth(0, high));
            upper + down * (lower - upper)
        })
    }

    /// True if the second and third of four pixels in a line show one surface.
    fn joined(&self, line: [usize; 4]) -> bool {
        let Picture { depth, things, triangles, .. } = self.picture;
        let [before, a, b, after] = line;
        if things[a] != things[b] || things[a] == Thing::Nothing {
            return false;
        }
        if triangles[a] == triangles[b] {
            return true;
        }
        let step = |from: usize, to: usize| f64::from(depth[to]) - f64::from(depth[from]);
        let steps = [(before, a), (b, after)].map(|(from, to)| (things[from] == things[to]).then(|| step(from, to)));
        let (low, high) = match steps {
            [Some(one), Some(other)] => (one.min(other), one.max(other)),
            [Some(one), None] | [None, Some(one)] => (one, one),
            [None, None] => return false,
        };
        (low - 4.0 * QUANTUM..=high + 4.0 * QUANTUM).contains(&step(a, b))
    }

    fn describe(&mut self, thing: Thing, triangle: u32, point_m: DVec3, distance_m: f64) -> Hit {
        if self.last.as_ref().is_none_or(|seen| seen.thing != thing) {
            self.last = find(self.world, thing);
        }
        let Some(seen) = &mut self.last else { return Hit::NOTHING };
        let shape = seen.solid.shape();
        let numbered = matches!(shape, Shape::Mesh(_) | Shape::Heightfield(_));
        let normal = match seen.flat {
            Some((known, normal)) if known == triangle => normal,
            _ => {
                let local = math::rotate_inverse(seen.pose.orientation, point_m - seen.pose.position_m);
                let normal = math::rotate(seen.pose.orientation, seen.solid.normal_at(local, triangle));
                seen.flat = numbered.then_some((triangle, normal));
                normal
            }
        };
        Hit { distance_m, normal: normal.as_vec3(), thing, triangle: if numbered { triangle } else { 0 } }
    }
}

/// Where a thing is, and what.
fn find(world: &Snapshot, thing: Thing) -> Option<Seen<'_>> {
    let (solid, pose) = match thing {
        Thing::Nothing => return None,
        Thing::Obstacle(number) => {
            let obstacle = world.environment.obstacles.get(number as usize)?;
            (&obstacle.solid, &obstacle.pose)
        }
        Thing::Part { robot, part } => {
            let found = world.bodies.binary_search_by_key(&(robot, part), |body| (body.robot, body.part)).ok()?;
            (&world.bodies[found].part().solid, &world.bodies[found].pose)
        }
    };
    Some(Seen { thing, solid, pose, flat: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::Obstacle;
    use crate::model::Environment;
    use crate::obstacles::Obstacles;
    use crate::random::Stream;
    use std::sync::Arc;

    const REACH: Reach = Reach { min_m: 0.1, max_m: 30.0, without: None };

    /// The slowest engine: a ray for every pixel.
    struct Cast;

    impl Renderer for Cast {
        fn name(&self) -> &'static str {
            "cast"
        }

        fn offers(&self) -> Wanted {
            Wanted { things: true }
        }

        fn take(&self, world: &Snapshot, view: &View, _: Wanted, show: &mut dyn FnMut(&Picture)) {
            let mut picture = Picture::default();
            for row in 0..view.rows {
                for column in 0..view.columns {
                    let right = ((2 * column + 1) as f64 / view.columns as f64 - 1.0) * view.tan_half_width;
                    let down = ((2 * row + 1) as f64 / view.rows as f64 - 1.0) * view.tan_half_height;
                    let local = DVec3::new(1.0, -right, -down);
                    let (scale, direction) = (local.length(), math::rotate(view.pose.orientation, local.normalize()));
                    let reach = Reach { min_m: view.near_m * scale, max_m: view.far_m * scale, without: view.without };
                    let hit = world.cast(view.pose.position_m, direction, reach);
                    let z = (hit.distance_m / scale).min(view.far_m);
                    picture.depth.push(depth_from_distance(z, view.near_m, view.far_m) as f32);
                    picture.things.push(hit.thing);
                    // as if all planes were different
                    picture.triangles.push((row * view.columns + column) as u32);
                }
            }
            show(&picture);
        }
    }

    fn world(solids: Vec<(Shape, Pose)>) -> Snapshot {
        let obstacle = |(shape, pose)| Obstacle::new("", Solid::new(shape).unwrap(), pose);
        let obstacles = Obstacles::new(solids.into_iter().map(obstacle).collect());
        Snapshot::of(Arc::new(Environment { obstacles, ..Environment::empty() }), Vec::new(), &[])
    }

    fn at(x: f64, y: f64, z: f64) -> Pose {
        Pose { position_m: DVec3::new(x, y, z), ..Pose::IDENTITY }
    }

    fn block(half: [f64; 3], pose: Pose) -> (Shape, Pose) {
        (Shape::Box { half_m: DVec3::from(half) }, pose)
    }

    /// Rays in a plane, even in angle.
    fn fan(count: usize, aperture_deg: f64) -> Vec<DVec3> {
        let step = aperture_deg.to_radians() / (count.max(2) - 1) as f64;
        let ray = |k: usize| math::rotate(math::quat_from_yaw((k as f64 - 0.5 * (count - 1) as f64) * step), DVec3::X);
        (0..count).map(ray).collect()
    }

    fn options(correction: Correction, supersample: usize, passes: Passes) -> DepthOptions {
        DepthOptions { correction, supersample, passes }
    }

    fn measure(plan: &DepthPlan, world: &Snapshot, from: &Pose, reach: Reach) -> Vec<Hit> {
        let mut hits = vec![None; plan.directions.len()];
        plan.measure(world, from, reach, &Cast, |ray, hit| {
            assert!(hits[ray].replace(*hit).is_none(), "ray {ray} is told twice");
        });
        hits.into_iter().map(|hit| hit.expect("every ray is told")).collect()
    }

    fn cast(plan: &DepthPlan, world: &Snapshot, from: &Pose, reach: Reach) -> Vec<Hit> {
        let towards = |&direction: &DVec3| math::rotate(from.orientation, direction);
        plan.directions.iter().map(|ray| world.cast(from.position_m, towards(ray), reach)).collect()
    }

    #[test]
    fn depth_and_distance_are_each_others_inverse() {
        let stream = Stream::new(1, 1);
        assert_eq!(distance_from_depth(0.0, 0.1, 30.0), 0.1);
        assert!((distance_from_depth(1.0, 0.1, 30.0) / 30.0 - 1.0).abs() < 1e-12);
        for index in 0..100 {
            let [a, b, c, _] = stream.uniforms(index, 0);
            let (near_m, far_m) = (0.01 + b, 2.0 + 100.0 * c);
            let depth = (a as f32).min(1.0);
            let distance_m = distance_from_depth(f64::from(depth), near_m, far_m);
            let again = depth_from_distance(distance_m, near_m, far_m) as f32;
            assert!((again / depth - 1.0).abs() < 1e-6, "{depth} became {again}");
        }
    }

    #[test]
    fn rays_of_a_pinhole_are_even_in_their_plane_and_uneven_in_angle() {
        let (n, max_rad) = (50, std::f64::consts::FRAC_PI_4);
        for i in -50..=50 {
            let tangent = math::tan(pinhole_angle(i, n, max_rad));
            assert!((tangent - f64::from(i) / 50.0 * math::tan(max_rad)).abs() < 1e-12);
        }
        let first = pinhole_angle(1, n, max_rad) - pinhole_angle(0, n, max_rad);
        let last = pinhole_angle(50, n, max_rad) - pinhole_angle(49, n, max_rad);
        assert!((last / first - 0.505).abs() < 0.01, "cos² 45° between the middle and the edge: {}", last / first);
        // a plan reads exactly these, without any correction
        let rays: Vec<DVec3> =
            (-50..=50).map(|i| math::rotate(math::quat_from_yaw(pinhole_angle(i, n, max_rad)), DVec3::X)).collect();
        let plan = DepthPlan::new(&rays, 101, options(Correction::None, 1, Passes::Auto)).unwrap();
        assert_eq!((plan.passes(), plan.pixels()), (1, 101));
        assert!(plan.direction_error_rad().1 < 1e-12);
    }

    #[test]
    fn on_a_flat_wall_all_lengths_times_cosines_are_equal() {
        let world = world(vec![block([0.5, 100.0, 100.0], at(3.5, 0.0, 0.0))]);
        let grid: Vec<DVec3> = (0..35 * 21)
            .map(|k| {
                let (right, down) = (f64::from(k % 35 - 17) / 17.0, f64::from(k / 35 - 10) / 17.0);
                DVec3::new(1.0, -right, -down).normalize()
            })
            .collect();
        let plan = DepthPlan::new(&grid, 35, options(Correction::None, 1, Passes::Auto)).unwrap();
        assert_eq!(plan.pixels(), 35 * 21);
        for (hit, ray) in measure(&plan, &world, &Pose::IDENTITY, REACH).iter().zip(&grid) {
            assert!((hit.distance_m * ray.x - 3.0).abs() < 2e-5, "{}", hit.distance_m * ray.x);
            assert_eq!((hit.normal, hit.thing), (glam::Vec3::NEG_X, Thing::Obstacle(0)));
        }
    }

    #[test]
    fn interpolation_beats_none_on_a_slanted_wall_and_is_exact_to_the_quantum() {
        let pose = Pose { position_m: DVec3::new(6.0, 0.0, 0.0), orientation: math::quat_from_yaw(0.9) };
        let world = world(vec![block([0.1, 100.0, 100.0], pose)]);
        let rays = fan(61, 60.0);
        let worst = |correction| {
            let plan = DepthPlan::new(&rays, 61, options(correction, 1, Passes::Auto)).unwrap();
            let truth = cast(&plan, &world, &Pose::IDENTITY, REACH);
            let pairs = measure(&plan, &world, &Pose::IDENTITY, REACH).into_iter().zip(truth).zip(&rays);
            pairs.fold((0.0_f64, 0.0_f64), |worst, ((got, wanted), &ray)| {
                let error_m = (got.distance_m - wanted.distance_m).abs();
                let incidence_rad = math::acos(-got.normal.as_dvec3().dot(ray));
                let stated_m = plan.error_m(wanted.distance_m, incidence_rad, REACH);
                (worst.0.max(error_m), worst.1.max(error_m / stated_m))
            })
        };
        let (none, interpolated) = (worst(Correction::None), worst(Correction::Interpolate));
        assert!(interpolated.0 < 1e-3 && none.0 > 0.02, "{} and {} m", interpolated.0, none.0);
        assert!(none.1 <= 1.0 && interpolated.1 <= 1.0, "stated errors hold: {none:?} {interpolated:?}");
    }

    #[test]
    fn four_times_the_pixels_quarter_the_error_of_directions() {
        let rays = fan(90, 89.0);
        let mean = |supersample| {
            let options = options(Correction::None, supersample, Passes::Auto);
            DepthPlan::new(&rays, 90, options).unwrap().direction_error_rad().0
        };
        assert!(mean(4) < 0.5 * mean(1), "{} and {} rad", mean(4), mean(1));
        assert!(mean(4) < 0.3 * mean(1), "{} and {} rad", mean(4), mean(1));
    }

    #[test]
    fn a_scanner_of_270_degrees_has_no_seams() {
        let room = [at(5.0, 0.0, 0.0), at(-5.0, 0.0, 0.0), at(0.0, 4.0, 0.0), at(0.0, -4.0, 0.0)];
        let walls = [[0.1, 9.0, 2.0], [0.1, 9.0, 2.0], [9.0, 0.1, 2.0], [9.0, 0.1, 2.0]];
        let world = world(walls.into_iter().zip(room).map(|(half, pose)| block(half, pose)).collect());
        let rays = fan(1081, 270.0);
        let plan = DepthPlan::new(&rays, 1081, DepthOptions::default()).unwrap();
        assert_eq!(plan.passes(), 3);
        assert_eq!(plan.warning(), None);
        let from = Pose { position_m: DVec3::new(0.7, -0.4, 0.1), orientation: math::quat_from_yaw(0.3) };
        let truth = cast(&plan, &world, &from, REACH);
        let (mut compared, mut edges) = (0, 0);
        for (ray, (got, wanted)) in measure(&plan, &world, &from, REACH).iter().zip(&truth).enumerate() {
            let around = truth[ray.saturating_sub(3)..(ray + 4).min(truth.len())].iter();
            if { around }.any(|other| other.thing != wanted.thing) {
                edges += 1;
                continue;
            }
            compared += 1;
            assert_eq!((got.thing, got.normal), (wanted.thing, wanted.normal));
            let incidence = math::acos(-got.normal.as_dvec3().dot(math::rotate(from.orientation, rays[ray])));
            let stated_m = plan.error_m(wanted.distance_m, incidence, REACH);
            let error_m = (got.distance_m - wanted.distance_m).abs();
            assert!(error_m <= stated_m && stated_m < 1e-4, "ray {ray}: {error_m} of {stated_m} m");
        }
        assert!(compared > 1000 && edges <= 24, "{compared} compared, {edges} at corners");
    }

    #[test]
    fn a_pass_of_170_degrees_warns_and_one_of_180_is_refused() {
        let plan = |aperture_deg, passes| {
            DepthPlan::new(&fan(181, aperture_deg), 181, options(Correction::Interpolate, 1, passes))
        };
        assert!(plan(140.0, Passes::Count(1)).unwrap().warning().is_none());
        let warned = plan(170.0, Passes::Count(1)).unwrap();
        assert!(warned.warning().unwrap().contains("170°"), "{:?}", warned.warning());
        assert!(plan(180.0, Passes::Count(1)).unwrap_err().contains("180°"));
        assert!(plan(270.0, Passes::Count(1)).is_err());
        assert_eq!(plan(180.0, Passes::Auto).unwrap().passes(), 2);
        assert_eq!(plan(360.0, Passes::Auto).unwrap().passes(), 4);
        assert_eq!(plan(359.0, Passes::Count(6)).unwrap().passes(), 6);
        let huge = DepthPlan::new(&fan(9000, 80.0), 9000, options(Correction::None, 1 << 30, Passes::Auto));
        assert!(huge.unwrap_err().contains("pixels"));
    }

    #[test]
    fn interpolation_does_not_smear_over_edges() {
        // one thing before another, and a step within one thing
        let step = Shape::Mesh(
            crate::shape::Mesh {
                vertices_m: [(2.0, -9.0), (2.0, 0.0), (4.0, 0.0), (4.0, 9.0)]
                    .into_iter()
                    .flat_map(|(x, y)| [DVec3::new(x, y, -9.0), DVec3::new(x, y, 9.0)])
                    .collect(),
                triangles: vec![[0, 2, 3], [0, 3, 1], [4, 6, 7], [4, 7, 5]],
                paint: None,
            }
            .into(),
        );
        let scenes = [
            vec![block([0.1, 3.0, 3.0], at(2.1, -3.0, 0.0)), block([0.1, 9.0, 9.0], at(4.1, 0.0, 0.0))],
            vec![(step, Pose::IDENTITY)],
        ];
        for scene in scenes {
            let world = world(scene);
            let rays = fan(57, 80.0);
            let plan = DepthPlan::new(&rays, 57, DepthOptions::default()).unwrap();
            for (hit, ray) in measure(&plan, &world, &Pose::IDENTITY, REACH).iter().zip(&rays) {
                let z = hit.distance_m * ray.x;
                // the two pixels at the step are read as they are, in their own direction
                let off = (z - 2.0).abs().min((z - 4.0).abs());
                assert!(off < 0.1, "{z}");
            }
        }
    }

    #[test]
    fn rays_in_all_directions_are_each_told_once_and_right() {
        let shell = [(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0), (2, 1.0), (2, -1.0)];
        let side = |(axis, sign): (usize, f64)| {
            let mut half = DVec3::splat(9.0);
            half[axis] = 0.5;
            (Shape::Box { half_m: half }, Pose { position_m: DVec3::AXES[axis] * sign * 4.0, ..Pose::IDENTITY })
        };
        let world = world(shell.into_iter().map(side).collect());
        let stream = Stream::new(5, 7);
        let rays: Vec<DVec3> = (0..1000).map(|k| DVec3::from_slice(&stream.normals(k, 0)[..3]).normalize()).collect();
        let plan = DepthPlan::new(&rays, 1000, options(Correction::Interpolate, 2, Passes::Auto)).unwrap();
        assert_eq!(plan.passes(), 6);
        let truth = cast(&plan, &world, &at(0.3, 0.2, -0.5), REACH);
        let hits = measure(&plan, &world, &at(0.3, 0.2, -0.5), REACH);
        let right = hits.iter().zip(&truth).filter(|(got, wanted)| {
            got.thing == wanted.thing && (got.distance_m - wanted.distance_m).abs() < 1e-3 * wanted.distance_m
        });
        let right = right.count();
        assert!(right > 900, "{right} of 1000 are right; the others lie at the edges of the room");
        for (got, wanted) in hits.iter().zip(&truth) {
            assert!((got.distance_m / wanted.distance_m - 1.0).abs() < 0.15, "{got:?} {wanted:?}");
        }
    }

    #[test]
    fn what_is_nearer_than_the_least_range_is_passed_through() {
        let world = world(vec![block([0.01, 0.2, 0.2], at(0.3, 0.0, 0.0)), block([0.5, 9.0, 9.0], at(3.5, 0.0, 0.0))]);
        let plan = DepthPlan::new(&fan(9, 20.0), 9, DepthOptions::default()).unwrap();
        let reach = Reach { min_m: 0.5, ..REACH };
        let (hits, truth) =
            (measure(&plan, &world, &Pose::IDENTITY, reach), cast(&plan, &world, &Pose::IDENTITY, reach));
        for (got, wanted) in hits.iter().zip(&truth) {
            assert!((got.distance_m - wanted.distance_m).abs() < 1e-4, "{got:?} {wanted:?}");
            assert_eq!(got.thing, Thing::Obstacle(1));
        }
        let short = Reach { max_m: 2.0, ..reach };
        assert!(measure(&plan, &world, &Pose::IDENTITY, short).iter().all(|hit| *hit == Hit::NOTHING));
    }

    #[test]
    fn an_engine_without_pictures_meets_nothing() {
        let world = world(vec![block([0.5, 9.0, 9.0], at(3.5, 0.0, 0.0))]);
        let plan = DepthPlan::new(&fan(9, 20.0), 9, DepthOptions::default()).unwrap();
        let mut told = 0;
        plan.measure(&world, &Pose::IDENTITY, REACH, &crate::render::Null, |_, hit| {
            told += 1;
            assert_eq!(*hit, Hit::NOTHING);
        });
        assert_eq!(told, 9);
        assert_eq!(DepthPlan::new(&[], 0, DepthOptions::default()).unwrap().passes(), 0);
        let one = DepthPlan::new(&[DVec3::Z], 1, DepthOptions::default()).unwrap();
        assert_eq!((one.passes(), one.pixels()), (1, 1));
    }
}
