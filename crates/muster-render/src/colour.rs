//! Images in colour, by rays: what each ray of a lens meets, what that is painted with, and how it is lit. Light is linear;
//! matt surfaces (Lambert) in the light of one sun, of lamps and of everything around; shadows of the sun are exact, by
//! parallel rays; lamps count where they matter.

use crate::coat::{Finish, Spot, Standing, Wardrobe, turn};
use crate::texture::{Decoder, decoder};
use glam::{DMat3, DVec3, Vec3};
use muster_core::daylight::Daylight;
use muster_core::model::Cohort;
use muster_core::ray::{Hit, Reach, Thing, shaded};
use muster_core::render::{Film, Shot};
use muster_core::simd::Simd;
use muster_core::snapshot::{Lamp, Snapshot};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Rays that are shaded together.
const BATCH: usize = 64;
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
        film.hits.resize(shot.lens.rays.len(), Hit::NOTHING);
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
        let directions = self.shot.lens.rays.directions();
        let mut points = [DVec3::ZERO; BATCH];
        let mut normals = [Vec3::ZERO; BATCH];
        let mut facing = [0.0_f32; BATCH];
        let (mut lit, mut lit_of, mut count) = ([DVec3::ZERO; BATCH], [0_u8; BATCH], 0);
        let towards_sun = self.day.towards_sun.as_vec3();
        for at in 0..batch.count {
            let hit = &batch.hits[at];
            if hit.thing == Thing::Nothing {
                continue;
            }
            let direction = self.turn * directions[batch.rays[at] as usize];
            let along = direction.as_vec3().dot(hit.normal);
            // of what is seen from inside, the inside is lit
            normals[at] = if along > 0.0 { -hit.normal } else { hit.normal };
            facing[at] = along.abs();
            points[at] = self.shot.pose.position_m + direction * hit.distance_m;
            if self.sunny && normals[at].dot(towards_sun) > 0.0 {
                let lift_m = LIFT_M + LIFT_SHARE * hit.distance_m;
                lit[count] = points[at] + normals[at].as_dvec3() * lift_m;
                lit_of[count] = at as u8;
                count += 1;
            }
        }
        let dark = match count {
            0 => 0,
            _ => shaded(self.world, &lit[..count], self.day.towards_sun, SHADOW_MAX_M, self.painter.simd),
        };
        let mut sun = [0.0_f32; BATCH];
        for (bit, &at) in lit_of[..count].iter().enumerate() {
            let shine = normals[usize::from(at)].dot(towards_sun);
            sun[usize::from(at)] = if dark >> bit & 1 == 1 { 0.0 } else { shine };
        }
        for at in 0..batch.count {
            let (ray, hit) = (batch.rays[at] as usize, &batch.hits[at]);
            film.hits[ray] = *hit;
            film.light[ray] = match hit.thing {
                Thing::Nothing => {
                    let up = self.turn.row(2).dot(directions[ray]);
                    self.day.sky(up as f32)
                }
                _ => self.surface(hit, (points[at], normals[at]), facing[at], sun[at]),
            };
        }
    }

    /// The light that a surface sends to the camera.
    #[inline(always)]
    fn surface(&mut self, hit: &Hit, (at_m, normal): (DVec3, Vec3), facing: f32, sun: f32) -> [f32; 3] {
        let Some(look) = self.looks.of(hit.thing) else { return [0.0; 3] };
        let colour = if look.finish.is_plain() {
            look.finish.plain_colour()
        } else {
            // between what a pixel covers across and along the slope
            let stretch = (1.0 / facing.max(COS_MIN)).sqrt();
            let spot = Spot {
                at_m: look.solid_from_world * (at_m - look.place_m),
                normal: look.solid_from_world * hit.normal.as_dvec3(),
                triangle: hit.triangle,
                covered_m: (hit.distance_m * self.shot.lens.ray_rad) as f32 * stretch,
            };
            look.finish.colour(&spot, &self.painter.decoder)
        };
        let around = 0.75 + 0.25 * normal.z;
        let mut light = [0, 1, 2].map(|channel| self.day.sun[channel] * sun + self.day.ambient[channel] * around);
        for lamp in &self.world.lamps {
            self.add_lamp(lamp, (at_m, normal), &mut light);
        }
        [light[0] * colour[0], light[1] * colour[1], light[2] * colour[2]]
    }

    /// Adds the light of a lamp, if it matters and nothing is in its way.
    fn add_lamp(&self, lamp: &Lamp, (at_m, normal): (DVec3, Vec3), light: &mut [f32; 3]) {
        let way = self.world.robots[lamp.robot as usize].position_m - at_m;
        let distance2 = way.length_squared().max(1e-4);
        let brightest = self.day.ambient.iter().copied().fold(1e-5, f32::max);
        let most = lamp.intensity_cd / distance2 / SUN_LX;
        if most < LAMP_SHARE * f64::from(brightest) {
            return;
        }
        let distance_m = distance2.sqrt();
        let towards = way / distance_m;
        let shine = f64::from(normal.dot(towards.as_vec3()));
        if shine <= 0.0 {
            return;
        }
        let reach = Reach { min_m: LIFT_M, max_m: distance_m, without: Some(lamp.robot as usize) };
        if self.world.cast(at_m + normal.as_dvec3() * LIFT_M, towards, reach).thing == Thing::Nothing {
            for (light, colour) in light.iter_mut().zip(lamp.colour) {
                *light += (most * shine * colour) as f32;
            }
        }
    }
}
