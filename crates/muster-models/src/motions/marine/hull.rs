//! How much of a hull is under water, and where.

use super::HullBox;
use glam::DVec3;
use muster_core::lanes::{Column, LANES, body};
use muster_core::math;
use muster_core::model::Water;

/// An upright line of the hull that stands for the volume around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bar {
    middle: DVec3,
    half: f64,
    per_half: f64,
    pub(super) volume: f64,
}

impl Bar {
    /// Four bars at the points of Gauss's rule, which have the volume, the centre and the second moments of the box.
    pub(super) fn of_box(spec: &HullBox) -> [Self; 4] {
        let (size, at) = (DVec3::from(spec.size_m), DVec3::from(spec.at_m));
        let reach = 0.5 * (1.0_f64 / 3.0).sqrt();
        let half = 0.5 * size.z;
        let volume = 0.25 * spec.fill * size.x * size.y * size.z;
        [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)].map(|(x, y)| Self {
            middle: at + reach * DVec3::new(x * size.x, y * size.y, 0.0),
            half,
            per_half: 1.0 / half,
            volume,
        })
    }

    /// Place and volume of a part of the bar that begins at a share of its length.
    #[cfg(test)]
    pub(super) fn part(&self, from: f64, length: f64) -> (DVec3, f64) {
        let up = self.half * (2.0 * from + length - 1.0);
        (self.middle + DVec3::new(0.0, 0.0, up), length * self.volume)
    }
}

/// The surface at one time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surface {
    level: f64,
    current: DVec3,
    /// Weight of a cubic metre of water.
    pub(super) weight: f64,
    pub(super) amplitude: f64,
    /// Phase for way: wave number times direction.
    number: DVec3,
    length: f64,
    /// Phase of the time.
    phase: f64,
    /// Speed of the water at the surface, and where it moves at a crest.
    speed: f64,
    along: DVec3,
}

/// Where the surface is when there is no water.
const NOWHERE_M: f64 = -1e9;

impl Surface {
    pub(super) fn new(water: Option<&Water>, gravity_mps2: f64, time_s: f64) -> Self {
        let none = Water { level_m: NOWHERE_M, density_kgpm3: 0.0, current_mps: DVec3::ZERO, wave: None };
        let water = water.copied().unwrap_or(none);
        let still = Self {
            level: water.level_m,
            current: water.current_mps,
            weight: water.density_kgpm3 * gravity_mps2,
            amplitude: 0.0,
            number: DVec3::ZERO,
            length: 0.0,
            phase: 0.0,
            speed: 0.0,
            along: DVec3::ZERO,
        };
        let Some(wave) = water.wave.filter(|wave| wave.amplitude_m > 0.0 && gravity_mps2 > 0.0) else { return still };
        let frequency = std::f64::consts::TAU / wave.period_s;
        let length = frequency * frequency / gravity_mps2;
        let (sine, cosine) = math::sin_cos(wave.direction_rad);
        let along = DVec3::new(cosine, sine, 0.0);
        // of the time only what is left of whole periods
        let periods = time_s / wave.period_s;
        let phase = -std::f64::consts::TAU * (periods - math::floor(periods));
        let speed = wave.amplitude_m * frequency;
        Self { amplitude: wave.amplitude_m, number: length * along, length, phase, speed, along, ..still }
    }

    /// Velocity of the water at a place in the world.
    #[inline(always)]
    pub(super) fn velocity<const WAVES: bool>(&self, position: DVec3) -> DVec3 {
        if !WAVES {
            return self.current;
        }
        let (sine, cosine) = math::sin_cos(self.number.dot(position) + self.phase);
        let decay = math::exp(self.length * math::min(position.z - self.level, 0.0));
        self.current + (self.speed * decay) * (cosine * self.along + DVec3::new(0.0, 0.0, sine))
    }
}

/// Where bodies are, as far as the water is concerned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Depth of the centre below the level.
    depth: Column,
    /// The world's vertical in the body frame.
    up: [Column; 3],
    /// One over how upright bars stand.
    per_upright: Column,
    /// Phase of the wave at the centre, and for way in the body frame.
    phase: Column,
    number: [Column; 3],
    amplitude: f64,
}

impl Place {
    #[inline(always)]
    pub(super) fn new<const N: usize>(columns: &[Column; N], lanes: usize, surface: &Surface) -> Self {
        let zero = [0.0; LANES];
        let mut place = Self {
            depth: zero,
            up: [zero; 3],
            per_upright: zero,
            phase: zero,
            number: [zero; 3],
            amplitude: surface.amplitude,
        };
        for lane in 0..lanes.min(LANES) {
            let position = body::vec3(columns, body::POSITION, lane);
            let q = body::orientation(columns, lane);
            place.depth[lane] = surface.level - position.z;
            place.up[0][lane] = 2.0 * (q.x * q.z - q.w * q.y);
            place.up[1][lane] = 2.0 * (q.y * q.z + q.w * q.x);
            place.up[2][lane] = 1.0 - 2.0 * (q.x * q.x + q.y * q.y);
            place.per_upright[lane] = 1.0 / math::max(place.up[2][lane].abs(), UPRIGHT_MIN);
        }
        if surface.amplitude != 0.0 {
            for lane in 0..lanes.min(LANES) {
                let position = body::vec3(columns, body::POSITION, lane);
                place.phase[lane] = surface.number.dot(position) + surface.phase;
                let number = math::rotate_inverse(body::orientation(columns, lane), surface.number);
                body::set_vec3(&mut place.number, 0, lane, number);
            }
        }
        place
    }

    #[inline(always)]
    pub(super) fn up(&self, lane: usize) -> DVec3 {
        body::vec3(&self.up, 0, lane)
    }

    /// Depth below the level of a place on the body.
    #[inline(always)]
    pub(super) fn depth(&self, at: DVec3, lane: usize) -> f64 {
        self.depth[lane] - self.up(lane).dot(at)
    }

    /// Depth below the surface of a place on the body.
    #[inline(always)]
    fn depth_in_waves<const WAVES: bool>(&self, at: DVec3, lane: usize) -> f64 {
        let still = self.depth(at, lane);
        if !WAVES {
            return still;
        }
        still + self.amplitude * math::cos(self.phase[lane] + body::vec3(&self.number, 0, lane).dot(at))
    }
}

/// The volume under water, and its first moments about the centre of gravity.
#[derive(Debug, Clone, Copy)]
pub(super) struct Under {
    volume: Column,
    moments: [Column; 3],
}

/// A bar that lies flatter than this is taken as one that does not, as else it would dive all at once.
const UPRIGHT_MIN: f64 = 0.05;

impl Under {
    #[inline(always)]
    pub(super) fn new<const WAVES: bool>(bars: &[Bar], place: &Place, lanes: usize) -> Self {
        let zero = [0.0; LANES];
        let mut under = Self { volume: zero, moments: [zero; 3] };
        for bar in bars {
            let bar = &{ *bar };
            for lane in 0..lanes.min(LANES) {
                let depth = place.depth_in_waves::<WAVES>(bar.middle, lane);
                let reach = 0.5 * depth * (bar.per_half * place.per_upright[lane]);
                let share = math::max(0.0, math::min(1.0, 0.5 + reach));
                let volume = share * bar.volume;
                // the wet part of an upright bar is its lower one
                let off = ((1.0 - share) * bar.half).copysign(place.up[2][lane]);
                under.volume[lane] += volume;
                under.moments[0][lane] += volume * bar.middle.x;
                under.moments[1][lane] += volume * bar.middle.y;
                under.moments[2][lane] += volume * (bar.middle.z - off);
            }
        }
        under
    }

    #[inline(always)]
    pub(super) fn volume(&self, lane: usize) -> f64 {
        self.volume[lane]
    }

    #[inline(always)]
    pub(super) fn arm(&self, lane: usize) -> DVec3 {
        body::vec3(&self.moments, 0, lane)
    }
}
