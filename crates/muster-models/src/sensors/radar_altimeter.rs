//! Radar altimeter: the height of the mount above what lies below it, ground or obstacle, along the vertical. Its beam is
//! wide, so that it measures straight down whatever the attitude; the first echo counts.
//!
//! Out of range the reading is the nearer end of the range and `valid` is 0. Other robots do not reflect.

use super::mount_motion;
use glam::DVec3;
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::lanes::{LANES, Quantity};
use muster_core::math;
use muster_core::node::{Node, Problems};
use muster_core::spec;
use muster_core::spec::Spec;
use std::sync::Arc;

spec! {
    /// Radar altimeter.
    pub struct RadarAltimeter {
        /// Smallest height it measures.
        range_min_m: f64 = 0.0, in 0.0..=1e6;
        /// Largest height it measures; 2500 feet by default, as low-range altimeters of aircraft have.
        range_max_m: f64 = 762.0, in 0.0..=1e6;
    }
}

/// Radar altimeter.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "radar_altimeter",
    doc: "Height above the ground or obstacle below, along the vertical, within a range.",
    fields: RadarAltimeter::FIELDS,
    build: &build_checked,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] = &[Quantity::one("height_m"), Quantity::one("valid")];

/// Where the height is in a sample.
pub const HEIGHT: usize = 0;
/// Where it is told whether there was an echo within the range, 1 or 0.
pub const VALID: usize = 1;

/// Makes one if its range is one.
fn build_checked(node: &Node, path: &str, also_valid: &[&str], problems: &mut Problems) -> Option<Arc<dyn Sensor>> {
    let altimeter = <RadarAltimeter as Spec>::read(node, path, also_valid, problems)?;
    if altimeter.range_min_m > altimeter.range_max_m {
        let found = format!("range_min_m {} above range_max_m {}", altimeter.range_min_m, altimeter.range_max_m);
        problems.error(node.place, path, found, "range_min_m not above range_max_m");
        return None;
    }
    Some(Arc::new(altimeter))
}

impl Sensor for RadarAltimeter {
    fn fields(&self) -> &'static [Quantity] {
        FIELDS
    }

    fn default_rate_hz(&self) -> f64 {
        20.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }
}

impl Feel for RadarAltimeter {
    fn start(&self, _: &mut Measure<'_>, _: usize) {}

    fn measure(&self, measure: &mut Measure<'_>) {
        let Some(truth) = measure.truth.first_chunk() else { return };
        for lane in 0..measure.lanes.min(LANES) {
            let (from_m, _) = mount_motion(truth, measure.mount.position_m, lane);
            // a little further, so that what is just out of range is out of range and not nothing
            let echo = measure.environment.obstacles.ray(from_m, DVec3::NEG_Z, self.range_max_m + 1.0);
            let height_m = echo.map_or(f64::INFINITY, |(_, hit)| hit.distance_m);
            let valid = height_m >= self.range_min_m && height_m <= self.range_max_m;
            measure.sample[HEIGHT][lane] = math::clamp(height_m, self.range_min_m, self.range_max_m);
            measure.sample[VALID][lane] = if valid { 1.0 } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults};
    use super::*;
    use muster_core::component::Pose;
    use muster_core::contact::Obstacle;
    use muster_core::lanes::body;
    use muster_core::obstacles::Obstacles;
    use muster_core::shape::{Shape, Solid};

    fn obstacle(shape: Shape, position_m: DVec3, rpy_rad: [f64; 3]) -> Obstacle {
        let orientation = math::quat_from_rpy(rpy_rad[0], rpy_rad[1], rpy_rad[2]);
        Obstacle::new("", Solid::new(shape).expect("a shape"), Pose { position_m, orientation })
    }

    /// Height and validity at some places over these obstacles.
    fn check(altimeter: &RadarAltimeter, obstacles: Vec<Obstacle>, places: &[([f64; 3], f64, bool)]) {
        let mut bench = Bench::new(altimeter, 20.0);
        bench.environment.obstacles = Obstacles::new(obstacles);
        for (lane, (place, ..)) in places.iter().enumerate() {
            body::set_vec3(&mut bench.truth, body::POSITION, lane, DVec3::from_array(*place));
            // the attitude does not matter
            body::set_orientation(&mut bench.truth, lane, math::quat_from_rpy(0.3, 0.4, lane as f64));
        }
        bench.measure(altimeter);
        for (lane, &(place, height_m, valid)) in places.iter().enumerate() {
            let found = (bench.sample[HEIGHT][lane], bench.sample[VALID][lane]);
            assert!((found.0 - height_m).abs() < 1e-12, "{place:?}: {found:?}, expected {height_m}");
            assert_eq!(found.1, f64::from(u8::from(valid)), "{place:?}");
        }
    }

    #[test]
    fn the_height_is_that_above_the_highest_thing_below() {
        let ground = obstacle(Shape::Plane, DVec3::ZERO, [0.0; 3]);
        let house =
            obstacle(Shape::Box { half_m: DVec3::new(2.0, 1.0, 3.0) }, DVec3::new(10.0, 0.0, 3.0), [0.0, 0.0, 0.8]);
        let ball = obstacle(Shape::Sphere { radius_m: 2.0 }, DVec3::new(-10.0, 0.0, 1.0), [0.0; 3]);
        let places = [
            ([0.0, 0.0, 50.0], 50.0, true),
            ([10.0, 0.5, 50.0], 44.0, true),
            // below its top: inside; beside it: the ground
            ([10.0, 0.5, 4.0], 0.0, true),
            ([10.0, 3.0, 50.0], 50.0, true),
            ([-10.0, 0.0, 50.0], 47.0, true),
            // 1.2 m beside its middle the ball is 1.6 m high over its centre
            ([-10.0, 1.2, 50.0], 47.4, true),
            ([0.0, 0.0, -1.0], 0.0, true),
        ];
        check(&defaults(), vec![ground, house, ball], &places);
    }

    #[test]
    fn slopes_and_tilted_boxes_are_met_where_the_vertical_meets_them() {
        // a plane that falls by 30° towards +x: at x = 2 it is 2 tan 30° lower
        let slope = obstacle(Shape::Plane, DVec3::ZERO, [0.0, 30.0_f64.to_radians(), 0.0]);
        let lower = 2.0 * 30.0_f64.to_radians().tan();
        check(&defaults(), vec![slope], &[([2.0, 0.0, 5.0], 5.0 + lower, true)]);
        // a cube on its edge: its ridge is √2 half edges above its centre
        let half_m = DVec3::ONE;
        let ridge = obstacle(Shape::Box { half_m }, DVec3::ZERO, [45.0_f64.to_radians(), 0.0, 0.0]);
        let top = 2.0_f64.sqrt();
        check(&defaults(), vec![ridge], &[([0.5, 0.0, 5.0], 5.0 - top, true), ([0.0, 0.4, 5.0], 5.4 - top, true)]);
    }

    #[test]
    fn out_of_range_it_tells_the_end_of_the_range_and_that() {
        let altimeter = RadarAltimeter { range_min_m: 1.0, range_max_m: 100.0 };
        let ground = obstacle(Shape::Plane, DVec3::ZERO, [0.0; 3]);
        let places = [([0.0, 0.0, 0.5], 1.0, false), ([0.0, 0.0, 100.5], 100.0, false), ([0.0, 0.0, 99.0], 99.0, true)];
        check(&altimeter, vec![ground], &places);
        check(&altimeter, Vec::new(), &[([0.0, 0.0, 10.0], 100.0, false)]);
    }

    #[test]
    fn a_range_that_is_none_is_refused() {
        let mut node = Node::default();
        node.set("range_min_m", Node::of(muster_core::node::Value::Integer(800)));
        let mut problems = Problems::default();
        assert!(build_checked(&node, "", &[], &mut problems).is_none());
        assert!(problems.list()[0].to_string().contains("range_min_m 800 above range_max_m 762"));
    }
}
