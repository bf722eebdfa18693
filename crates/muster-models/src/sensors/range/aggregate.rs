//! One value from many rays, for sensors with a wide beam: ultrasound and infrared.
//!
//! `minimum` is the nearest of what the rays met. `weighted` asks for an echo: each ray weighs as much as the beam is strong
//! in its direction (a Gaussian lobe, one at half its width), and the reading is the nearest distance from which at least a
//! given share of the whole beam comes back within the length of the pulse. So what is small and off the axis is not heard.

use super::errors::Scan;
use glam::DVec3;
use muster_core::math;
use muster_core::{choice, spec};

choice! {
    /// How rays become one value.
    pub enum Aggregate {
        /// Each ray is a value.
        None = "none",
        /// The nearest.
        Minimum = "minimum",
        /// The nearest from which enough of the beam comes back.
        Weighted = "weighted",
    }
}

spec! {
    /// The beam of a sensor with `aggregate: weighted`.
    pub struct Lobe {
        /// Full width of the beam where it has half its strength.
        width_deg: f64 = 15.0, in 0.01..=360;
        /// Share of the beam that must come back.
        threshold: f64 = 0.05, in 0.0..=1.0;
        /// How much further than the nearest the rest of an echo may be: half the length of the pulse.
        pulse_m: f64 = 0.05, in 0.0..=100;
    }
}

impl Lobe {
    /// How much of the beam goes along each direction; together 1.
    pub fn weights(&self, directions: &[DVec3]) -> Vec<f64> {
        let half_rad = 0.5 * self.width_deg.to_radians();
        let weight = |direction: &DVec3| {
            let share = math::acos(math::clamp(direction.x, -1.0, 1.0)) / half_rad;
            math::exp(-std::f64::consts::LN_2 * share * share)
        };
        let all: Vec<f64> = directions.iter().map(weight).collect();
        let sum: f64 = all.iter().sum();
        all.iter().map(|weight| weight / sum).collect()
    }

    /// The ray whose distance is read, if any. With `by_light` an echo is as strong as what comes back from a surface.
    pub fn heard(&self, weights: &[f64], scan: &Scan<'_>, by_light: bool) -> Option<usize> {
        let light = scan.things.as_ref().filter(|_| by_light).map(|things| &*things.glow);
        let echo = |from_m: f64| {
            let within = |distance_m: f64| distance_m >= from_m && distance_m <= from_m + self.pulse_m;
            let rays = scan.distance_m.iter().enumerate().filter(|&(_, &distance_m)| within(distance_m));
            rays.map(|(ray, _)| weights[ray] * light.map_or(1.0, |light| math::min(light[ray], 1.0))).sum::<f64>()
        };
        let heard = |ray: &usize| {
            let distance_m = scan.distance_m[*ray];
            distance_m < f64::INFINITY && echo(distance_m) >= self.threshold
        };
        nearest(scan, (0..scan.distance_m.len()).filter(heard))
    }
}

/// The ray that met the nearest, if any met something.
pub fn nearest(scan: &Scan<'_>, rays: impl Iterator<Item = usize>) -> Option<usize> {
    let met = rays.filter(|&ray| scan.distance_m[ray] < f64::INFINITY);
    met.min_by(|&a, &b| scan.distance_m[a].total_cmp(&scan.distance_m[b]))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::defaults;
    use super::super::rays::{Cone, Rays};
    use super::*;

    /// A wall at 3 m, and something at 2 m within a small angle of a direction.
    fn scene(directions: &[DVec3], at_deg: f64, radius_deg: f64) -> Vec<f64> {
        let at = DVec3::new(at_deg.to_radians().cos(), at_deg.to_radians().sin(), 0.0);
        let near = |direction: &DVec3| direction.dot(at) > radius_deg.to_radians().cos();
        directions.iter().map(|direction| if near(direction) { 2.0 } else { 3.0 / direction.x }).collect()
    }

    // R25
    #[test]
    fn what_is_small_and_off_the_axis_is_not_heard() {
        let directions = Rays::Cone(Cone { kind: String::new(), half_angle_deg: 30.0, count: 600 }).directions().all;
        let lobe: Lobe = defaults();
        let weights = lobe.weights(&directions);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let read = |at_deg, radius_deg| {
            let mut distance_m = scene(&directions, at_deg, radius_deg);
            let columns = distance_m.len();
            let scan = Scan { distance_m: &mut distance_m, things: None, columns };
            let heard = lobe.heard(&weights, &scan, false).map(|ray| scan.distance_m[ray]);
            (heard.unwrap(), nearest(&scan, 0..columns).map(|ray| scan.distance_m[ray]).unwrap())
        };
        assert_eq!(read(0.0, 3.0), (2.0, 2.0), "on the axis it is heard");
        let (heard, minimum) = read(20.0, 3.0);
        assert!(minimum == 2.0 && (heard - 3.0).abs() < 0.02, "far off the axis only the wall is: {heard}");
        assert_eq!(read(20.0, 20.0), (2.0, 2.0), "but something large is");
    }

    #[test]
    fn the_lobe_has_half_its_strength_at_half_its_width() {
        let lobe = Lobe { width_deg: 20.0, ..defaults() };
        let along = |angle_deg: f64| DVec3::new(angle_deg.to_radians().cos(), angle_deg.to_radians().sin(), 0.0);
        let weights = lobe.weights(&[along(0.0), along(10.0), along(20.0)]);
        assert!((weights[1] / weights[0] - 0.5).abs() < 1e-12);
        assert!((weights[2] / weights[0] - 0.0625).abs() < 1e-12);
    }
}
