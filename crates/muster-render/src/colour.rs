//! Images in colour, by rays: what each ray of a lens meets, what that is painted with, and how it is lit. Light is linear;
//! matt surfaces (Lambert) in the light of one sun, of lamps and of everything around; shadows of the sun are exact, by
//! parallel rays; lamps count where they matter.

use crate::coat::{BATCH, Colours, Finish, Spots, Standing, Wardrobe, turn};
use crate::texture::{Decoder, decoder};
use glam::{DMat3, DVec3, Vec3};
use muster_core::daylight::Daylight;
use muster_core::model::Cohort;
use muster_core::ray::{Hit, Reach, Thing, shaded};
use muster_core::render::{Film, Shot};
use muster_core::simd::Simd;
use muster_core::snapshot::{Lamp, Snapshot};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Shadow rays start this far above a surface, and by this share of the distance from which it is seen, m.
const LIFT_M: f64 = 2e-3;
const LIFT_SHARE: f64 = 1e-5;
/// What is further does not throw shadows, m.
const SHADOW_MAX_M: f64 = 1e5;
/// Illuminance of a surface that faces the sun of a clear day, lx: the light of lamps is relative to it.
pub(crate) const SUN_LX: f64 = 1e5;
/// Lamps that add less than this share of the ambient light are passed over.
pub(crate) const LAMP_SHARE: f64 = 2e-3;
/// Surfaces are seen no flatter than this, so that textures do not vanish.
const COS_MIN: f32 = 0.05;

/// Takes images.
pub(crate) struct Painter {
    simd: Simd,
    decoder: Box<Decoder>,
    wardrobe: RwLock<Wardrobe>,
    /// Films that no thread uses right now.
    idle: Mutex<Vec<Film>>,
}

/// What was met by some rays.
struct Batch {
    count: usize,
    rays: [u32; BATCH],
    hits: [Hit; BATCH],
}

/// Where these rays go and what they meet, as columns.
struct Points {
    /// Upward components of the directions.
    up: [f64; BATCH],
    at_m: [[f64; BATCH]; 3],
    /// Normals on the side that is seen.
    normal: [[f32; BATCH]; 3],
    /// Cosines between rays and normals.
    facing: [f32; BATCH],
    /// Cosines between normals and the sun; none in its shadow.
    sun: [f32; BATCH],
}

/// Looks up what things look like; neighbours are mostly the same.
struct Looks<'a> {
    world: &'a Snapshot,
    wardrobe: &'a Wardrobe,
    scene: Option<&'a [Standing]>,
    last: Thing,
    found: Option<Look<'a>>,
}

#[derive(Clone, Copy)]
struct Look<'a> {
    finish: &'a Finish,
    solid_from_world: DMat3,
    place_m: DVec3,
}

impl<'a> Looks<'a> {
    fn new(world: &'a Snapshot, wardrobe: &'a Wardrobe) -> Self {
        let scene = wardrobe.scene(&world.environment).map(|scene| &**scene);
        Self { world, wardrobe, scene, last: Thing::Nothing, found: None }
    }

    #[inline(always)]
    fn of(&mut self, thing: Thing) -> Option<Look<'a>> {
        if thing != self.last {
            (self.last, self.found) = (thing, self.find(thing));
        }
        self.found
    }

    fn find(&self, thing: Thing) -> Option<Look<'a>> {
        match thing {
            Thing::Nothing => None,
            Thing::Obstacle(number) => {
                let Standing { finish, solid_from_world, place_m } = self.scene?.get(number as usize)?;
                Some(Look { finish, solid_from_world: *solid_from_world, place_m: *place_m })
            }
            Thing::Part { robot, part } => {
                let body = self.world.bodies_of(robot as usize).iter().find(|body| body.part == part)?;
                let finish = self.wardrobe.kit(&body.cohort)?.get(usize::from(part))?;
                Some(Look { finish, solid_from_world: turn(&body.pose), place_m: body.pose.position_m })
            }
        }
    }
}

impl Painter {
    pub(crate) fn new(simd: Simd) -> Self {
        Self { simd, decoder: Box::new(decoder()), wardrobe: RwLock::default(), idle: Mutex::default() }
    }

    /// Makes sure that the looks of all there is to see are prepared.
    fn learn(&self, world: &Snapshot) {
        let unknown = |wardrobe: &Wardrobe| {
            let mut last: *const Cohort = std::ptr::null();
            world.bodies.iter().position(|body| {
                let known = std::ptr::eq(last, Arc::as_ptr(&body.cohort)) || wardrobe.kit(&body.cohort).is_some();
                last = Arc::as_ptr(&body.cohort);
                !known
            })
        };
        {
            let wardrobe = self.wardrobe.read().unwrap_or_else(PoisonError::into_inner);
            if wardrobe.scene(&world.environment).is_some() && unknown(&wardrobe).is_none() {
                return;
            }
        }
        let mut wardrobe = self.wardrobe.write().unwrap_or_else(PoisonError::into_inner);
        if wardrobe.scene(&world.environment).is_none() {
            wardrobe.add_scene(&world.environment);
        }
        while let Some(at) = unknown(&wardrobe) {
            wardrobe.add_kit(&world.bodies[at].cohort);
        }
    }

    /// Takes an image and shows it.
    pub(crate) fn expose(&self, world: &Snapshot, shot: &Shot<'_>, show: &mut dyn FnMut(&Film)) {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut film = idle().pop().unwrap_or_default();
        self.learn(world);
        film.light.resize(shot.lens.rays.len(), [0.0; 3]);
        film.hits.resize(if shot.hits { shot.lens.rays.len() } else { 0 }, Hit::NOTHING);
        let wardrobe = self.wardrobe.read().unwrap_or_else(PoisonError::into_inner);
        let mut exposure = Exposure::new(self, world, shot, &wardrobe);
        let reach = Reach { min_m: shot.near_m, max_m: shot.far_m, without: shot.without };
        let mut batch = Batch { count: 0, rays: [0; BATCH], hits: [Hit::NOTHING; BATCH] };
        shot.lens.rays.cast(world, &shot.pose, reach, self.simd, |ray, hit| {
            (batch.rays[batch.count], batch.hits[batch.count]) = (ray as u32, *hit);
            batch.count += 1;
            if batch.count == BATCH {
                exposure.develop(&batch, &mut film);
                batch.count = 0;
            }
        });
        exposure.develop(&batch, &mut film);
        drop(wardrobe);
        show(&film);
        idle().push(film);
    }
}

/// An image being taken.
struct Exposure<'a> {
    painter: &'a Painter,
    world: &'a Snapshot,
    shot: &'a Shot<'a>,
    day: &'a Daylight,
    turn: DMat3,
    looks: Looks<'a>,
    /// Whether there is a sun above anything.
    sunny: bool,
}

impl<'a> Exposure<'a> {
    fn new(painter: &'a Painter, world: &'a Snapshot, shot: &'a Shot<'a>, wardrobe: &'a Wardrobe) -> Self {
        let day = &world.environment.daylight;
        let sunny = day.sun.iter().any(|&channel| channel > 0.0);
        let turn = DMat3::from_quat(shot.pose.orientation);
        Self { painter, world, shot, day, turn, looks: Looks::new(world, wardrobe), sunny }
    }

    /// Finds the light of some rays.
    fn develop(&mut self, batch: &Batch, film: &mut Film) {
        let simd = self.painter.simd;
        simd.run(
            #[inline(always)]
            || {
                let mut points = self.points(batch);
                self.shade(batch, &mut points);
                let colours = self.paint(batch, &points);
                let light = self.light(batch, &points, colours);
                for at in 0..batch.count {
                    let (ray, [red, green, blue, _]) = (batch.rays[at] as usize, light[at]);
                    film.light[ray] = match batch.hits[at].thing {
                        Thing::Nothing => self.day.sky(points.up[at] as f32),
                        _ => [red, green, blue],
                    };
                }
                if self.shot.hits {
                    for at in 0..batch.count {
                        film.hits[batch.rays[at] as usize] = batch.hits[at];
                    }
                }
            },
        );
    }

    /// Where rays meet surfaces; what is met by none comes to nothing.
    #[inline(always)]
    fn points(&self, batch: &Batch) -> Points {
        let directions = self.shot.lens.rays.directions();
        let (mut along, mut distance_m) = ([[0.0_f64; BATCH]; 3], [0.0_f64; BATCH]);
        let mut normal = [[0.0_f32; BATCH]; 3];
        for at in 0..batch.count {
            let (direction, hit) = (directions[batch.rays[at] as usize], &batch.hits[at]);
            (along[0][at], along[1][at], along[2][at]) = (direction.x, direction.y, direction.z);
            distance_m[at] = hit.distance_m;
            (normal[0][at], normal[1][at], normal[2][at]) = (hit.normal.x, hit.normal.y, hit.normal.z);
        }
        let (x_axis, y_axis, z_axis) = (self.turn.x_axis, self.turn.y_axis, self.turn.z_axis);
        let (from_m, sun) = (self.shot.pose.position_m, self.day.towards_sun.as_vec3());
        let none = [[0.0; BATCH]; 3];
        let mut points = Points { up: [0.0; BATCH], at_m: none, normal, facing: [0.0; BATCH], sun: [0.0; BATCH] };
        for at in 0..BATCH {
            let (x, y, z) = (along[0][at], along[1][at], along[2][at]);
            let right = x_axis.x * x + y_axis.x * y + z_axis.x * z;
            let ahead = x_axis.y * x + y_axis.y * y + z_axis.y * z;
            let up = x_axis.z * x + y_axis.z * y + z_axis.z * z;
            points.up[at] = up;
            points.at_m[0][at] = from_m.x + right * distance_m[at];
            points.at_m[1][at] = from_m.y + ahead * distance_m[at];
            points.at_m[2][at] = from_m.z + up * distance_m[at];
            let (nx, ny, nz) = (normal[0][at], normal[1][at], normal[2][at]);
            let along = right as f32 * nx + ahead as f32 * ny + up as f32 * nz;
            // of what is seen from inside, the inside is lit
            let side = if along > 0.0 { -1.0 } else { 1.0 };
            let (nx, ny, nz) = (nx * side, ny * side, nz * side);
            (points.normal[0][at], points.normal[1][at], points.normal[2][at]) = (nx, ny, nz);
            points.facing[at] = along.abs();
            points.sun[at] = nx * sun.x + ny * sun.y + nz * sun.z;
        }
        points
    }

    /// Takes the sun from what is in the shadow.
    #[inline(always)]
    fn shade(&self, batch: &Batch, points: &mut Points) {
        let (mut lit, mut lit_of, mut count) = ([DVec3::ZERO; BATCH], [0_u8; BATCH], 0);
        for at in 0..batch.count {
            let hit = &batch.hits[at];
            if !(self.sunny && hit.thing != Thing::Nothing && points.sun[at] > 0.0) {
                points.sun[at] = 0.0;
                continue;
            }
            let lift_m = LIFT_M + LIFT_SHARE * hit.distance_m;
            let lifted = |axis: usize| points.at_m[axis][at] + f64::from(points.normal[axis][at]) * lift_m;
            lit[count] = DVec3::new(lifted(0), lifted(1), lifted(2));
            lit_of[count] = at as u8;
            count += 1;
        }
        if count == 0 {
            return;
        }
        let mut dark = shaded(self.world, &lit[..count], self.day.towards_sun, SHADOW_MAX_M, self.painter.simd);
        while dark != 0 {
            points.sun[usize::from(lit_of[dark.trailing_zeros() as usize & 63]) % BATCH] = 0.0;
            dark &= dark - 1;
        }
    }

    /// The colours of surfaces: neighbours mostly are of the same thing.
    #[inline(always)]
    fn paint(&mut self, batch: &Batch, points: &Points) -> Colours {
        let (mut spots, mut colours) = (Spots::NONE, [[0.0; 4]; BATCH]);
        let mut first = 0;
        while first < batch.count {
            let thing = batch.hits[first].thing;
            let mut end = first + 1;
            while end < batch.count && batch.hits[end].thing == thing {
                end += 1;
            }
            match self.looks.of(thing) {
                None => {}
                Some(look) if look.finish.is_plain() => look.finish.paint_plain(first..end, &mut colours),
                Some(look) => {
                    self.spot(batch, points, (first, end.min(BATCH)), &look, &mut spots);
                    look.finish.paint(&spots, first..end.min(BATCH), &self.painter.decoder, &mut colours);
                }
            }
            first = end;
        }
        colours
    }

    /// Where points are on one solid.
    #[inline(always)]
    fn spot(&self, batch: &Batch, points: &Points, (first, end): (usize, usize), look: &Look<'_>, spots: &mut Spots) {
        let (x_axis, y_axis, z_axis) =
            (look.solid_from_world.x_axis, look.solid_from_world.y_axis, look.solid_from_world.z_axis);
        let place_m = look.place_m;
        let mut covered_m = [0.0; BATCH];
        for at in first..end {
            let hit = &batch.hits[at];
            spots.triangle[at] = hit.triangle;
            covered_m[at] = (hit.distance_m * self.shot.lens.ray_rad) as f32;
            (spots.normal[0][at], spots.normal[1][at], spots.normal[2][at]) =
                (f64::from(hit.normal.x), f64::from(hit.normal.y), f64::from(hit.normal.z));
        }
        for at in first..end {
            let (x, y) = (points.at_m[0][at] - place_m.x, points.at_m[1][at] - place_m.y);
            let z = points.at_m[2][at] - place_m.z;
            spots.at_m[0][at] = x_axis.x * x + y_axis.x * y + z_axis.x * z;
            spots.at_m[1][at] = x_axis.y * x + y_axis.y * y + z_axis.y * z;
            spots.at_m[2][at] = x_axis.z * x + y_axis.z * y + z_axis.z * z;
            let (x, y, z) = (spots.normal[0][at], spots.normal[1][at], spots.normal[2][at]);
            spots.normal[0][at] = x_axis.x * x + y_axis.x * y + z_axis.x * z;
            spots.normal[1][at] = x_axis.y * x + y_axis.y * y + z_axis.y * z;
            spots.normal[2][at] = x_axis.z * x + y_axis.z * y + z_axis.z * z;
            // between what a pixel covers across and along the slope
            let facing = if points.facing[at] > COS_MIN { points.facing[at] } else { COS_MIN };
            spots.covered_m[at] = covered_m[at] * (1.0 / facing).sqrt();
        }
    }

    /// The light that surfaces send to the camera.
    #[inline(always)]
    fn light(&self, batch: &Batch, points: &Points, mut colours: Colours) -> Colours {
        let ([red, green, blue], [r, g, b]) = (self.day.sun, self.day.ambient);
        let (sun, ambient) = ([red, green, blue, 0.0], [r, g, b, 0.0]);
        let mut lamps = [[0.0; 4]; BATCH];
        for lamp in &self.world.lamps {
            self.add_lamp(lamp, batch, points, &mut lamps);
        }
        for at in 0..BATCH {
            let around = 0.75 + 0.25 * points.normal[2][at];
            for channel in 0..4 {
                let light = sun[channel] * points.sun[at] + ambient[channel] * around + lamps[at][channel];
                colours[at][channel] *= light;
            }
        }
        colours
    }

    /// Adds the light of a lamp.
    fn add_lamp(&self, lamp: &Lamp, batch: &Batch, points: &Points, lamps: &mut Colours) {
        for at in (0..batch.count).filter(|&at| batch.hits[at].thing != Thing::Nothing) {
            let place = |axis: usize| (points.at_m[axis][at], points.normal[axis][at]);
            let [(x, nx), (y, ny), (z, nz)] = [place(0), place(1), place(2)];
            if let Some(added) = self.lamp_light(lamp, (DVec3::new(x, y, z), Vec3::new(nx, ny, nz))) {
                (0..3).for_each(|channel| lamps[at][channel] += added[channel]);
            }
        }
    }

    /// The light of a lamp, if it matters and nothing is in its way.
    fn lamp_light(&self, lamp: &Lamp, (at_m, normal): (DVec3, Vec3)) -> Option<[f32; 3]> {
        let way = self.world.robots[lamp.robot as usize].position_m - at_m;
        let distance2 = way.length_squared().max(1e-4);
        let brightest = self.day.ambient.iter().copied().fold(1e-5, f32::max);
        let most = lamp.intensity_cd / distance2 / SUN_LX;
        if most < LAMP_SHARE * f64::from(brightest) {
            return None;
        }
        let distance_m = distance2.sqrt();
        let towards = way / distance_m;
        let shine = f64::from(normal.dot(towards.as_vec3()));
        if shine <= 0.0 {
            return None;
        }
        let reach = Reach { min_m: LIFT_M, max_m: distance_m, without: Some(lamp.robot as usize) };
        let hit = self.world.cast(at_m + normal.as_dvec3() * LIFT_M, towards, reach);
        (hit.thing == Thing::Nothing).then(|| lamp.colour.map(|colour| (most * shine * colour) as f32))
    }
}
