//! Ranges over a map: the scene seen from above, and the rays of a scan in its plane.

use glam::{DVec2, DVec3};
use muster_core::component::Pose;
use muster_core::math;
use muster_core::ray::{Reach, Thing};
use muster_core::snapshot::Snapshot;

/// The longer side, px.
const SIDE: usize = 900;
/// Of scans with more rays only the points that were met are drawn.
const LINES_MAX: usize = 2000;
/// The scene is seen from this far above the sensor, m: from below most ceilings.
const ABOVE_M: f64 = 2.0;
/// Metres seen around what rays reach, as a share.
const MARGIN: f64 = 0.06;

const GREEN: [f64; 3] = [30.0, 170.0, 50.0];
const RED: [f64; 3] = [215.0, 40.0, 30.0];
const BLUE: [f64; 3] = [30.0, 60.0, 200.0];

/// Pixels, row by row from the top.
pub(super) struct Image {
    pub(super) columns: usize,
    pub(super) pixels: Vec<[u8; 3]>,
}

/// A map with north up, in the making.
struct Map {
    image: Image,
    /// The world at the middle, and pixels a metre.
    middle_m: DVec2,
    px_per_m: f64,
}

/// Draws ranges along rays of a sensor.
pub(super) fn plot(world: &Snapshot, pose: &Pose, (rays, ranges): (&[DVec3], &[f64]), reach_m: f64) -> Image {
    let from_m = pose.position_m;
    let ends: Vec<(DVec3, f64)> =
        rays.iter().zip(ranges).map(|(&ray, &range_m)| (math::rotate(pose.orientation, ray), range_m)).collect();
    let met = ends.iter().filter(|(_, range_m)| range_m.is_finite()).map(|(_, range_m)| *range_m);
    // beyond the furthest hit there is nothing to see
    let seen_m = (met.fold(0.0, f64::max) * 1.25).clamp(0.5_f64.min(reach_m), reach_m);
    let mut map = Map::new(world, from_m, seen_m * (1.0 + MARGIN));
    let lines = ends.len() <= LINES_MAX;
    for &(ray, range_m) in ends.iter().filter(|_| lines) {
        let touch_m = if range_m.is_finite() { range_m } else { seen_m };
        if range_m.is_finite() {
            map.line((from_m + ray * touch_m).truncate(), (from_m + ray * seen_m).truncate(), RED, 0.4);
        }
        if range_m > 0.0 {
            map.line(from_m.truncate(), (from_m + ray * touch_m.min(seen_m)).truncate(), GREEN, 0.6);
        }
    }
    for &(ray, range_m) in ends.iter().filter(|(_, range_m)| range_m.is_finite()) {
        map.dot((from_m + ray * range_m).truncate(), 1.6, if lines { RED } else { GREEN });
    }
    map.dot(from_m.truncate(), 4.0, BLUE);
    map.image
}

impl Map {
    /// The scene from above.
    fn new(world: &Snapshot, from_m: DVec3, half_m: f64) -> Self {
        let px_per_m = SIDE as f64 / (2.0 * half_m);
        let mut pixels = Vec::with_capacity(SIDE * SIDE);
        let reach = Reach { min_m: 0.0, max_m: 1e4, without: None };
        for row in 0..SIDE {
            for column in 0..SIDE {
                let right = (column as f64 + 0.5) / px_per_m - half_m;
                let up = half_m - (row as f64 + 0.5) / px_per_m;
                let above_m = from_m + DVec3::new(right, up, ABOVE_M);
                pixels.push(ground(world, above_m, from_m.z, reach));
            }
        }
        Self { image: Image { columns: SIDE, pixels }, middle_m: from_m.truncate(), px_per_m }
    }

    fn place(&self, at_m: DVec2) -> DVec2 {
        let off = (at_m - self.middle_m) * self.px_per_m;
        DVec2::new(off.x, -off.y) + 0.5 * SIDE as f64
    }

    /// Lays a colour over a pixel.
    fn mark(&mut self, at: DVec2, colour: [f64; 3], share: f64) {
        let inside = |value: f64| (0.0..SIDE as f64).contains(&value);
        if inside(at.x) && inside(at.y) {
            let pixel = &mut self.image.pixels[at.y as usize * SIDE + at.x as usize];
            for (channel, colour) in pixel.iter_mut().zip(colour) {
                *channel = (f64::from(*channel) * (1.0 - share) + colour * share) as u8;
            }
        }
    }

    fn line(&mut self, from_m: DVec2, to_m: DVec2, colour: [f64; 3], share: f64) {
        let (from, to) = (self.place(from_m), self.place(to_m));
        let steps = (to - from).abs().max_element().ceil().clamp(1.0, 4.0 * SIDE as f64);
        for step in 0..steps as usize {
            self.mark(from + (to - from) * (step as f64 / steps), colour, share);
        }
    }

    fn dot(&mut self, at_m: DVec2, radius: f64, colour: [f64; 3]) {
        let (at, reach) = (self.place(at_m), radius.ceil() as i32);
        for down in -reach..=reach {
            for right in -reach..=reach {
                let off = DVec2::new(f64::from(right), f64::from(down));
                if off.length() <= radius {
                    self.mark(at + off, colour, 1.0);
                }
            }
        }
    }
}

/// What one sees looking straight down: what is at the height of the sensor or above is dark.
fn ground(world: &Snapshot, above_m: DVec3, sensor_m: f64, reach: Reach) -> [u8; 3] {
    let hit = world.cast(above_m, DVec3::NEG_Z, reach);
    let shade = 0.55 + 0.45 * f64::from(hit.normal.z.max(0.0));
    let light = match hit.thing {
        Thing::Nothing => return [255; 3],
        Thing::Part { .. } => return [70, 90, 150].map(|channel| (f64::from(channel) * shade) as u8),
        Thing::Obstacle(_) if above_m.z - hit.distance_m >= sensor_m => 110.0,
        Thing::Obstacle(_) => 232.0,
    };
    [(light * shade) as u8; 3]
}
