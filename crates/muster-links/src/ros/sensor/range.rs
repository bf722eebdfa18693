//! Ranges and points.

use super::{Form, Made, Mouth, Place, Source, topic};
use crate::ros::messages::{LaserScan, PointCloud2, PointField, Range};
use glam::DVec3;
use muster_core::component::Sense;
use muster_core::lanes::Role;
use muster_core::math;
use muster_core::time::SimTime;

/// A scan, a cloud or a single range.
pub(super) fn range(source: &Source<'_>) -> Option<Made> {
    if source.find("range_m", 1) != Some(0) {
        return None;
    }
    let sensor = &source.slot.sensor;
    match sensor.rays() {
        Some((directions, reach_m)) if directions.len() > 1 => Some(match even(directions) {
            Some(fan) => Made::one::<LaserScan>("scan", scan(source, fan, directions.len(), reach_m)),
            None => Made::one::<PointCloud2>("points", cloud(source, directions)),
        }),
        // one ray is light, several that make one value are sound
        rays => {
            let radiation_type = u8::from(rays.is_some());
            let max_range = rays.map_or(f32::INFINITY, |(_, reach_m)| reach_m as f32);
            let min_range = sensor.near_m() as f32;
            let message = Range { header: source.header(), radiation_type, min_range, max_range, ..Range::default() };
            let form = Single { message };
            let topics = vec![topic::<Range>("range")];
            Some(Made { place: Place::In("range"), topics, form: Box::new(form) })
        }
    }
}

/// Points of a sensor that tells where they are.
pub(super) fn points(source: &Source<'_>) -> Option<Made> {
    let [only] = source.slot.fields() else { return None };
    let seen = matches!(source.slot.sensor.sense(), Sense::World(_));
    if only.role != Role::Body || source.find("position_m", 3).is_none() || !seen {
        return None;
    }
    let form =
        Cloud { message: empty_cloud(source, &["x", "y", "z"]), directions: Vec::new(), record: 3, also: Vec::new() };
    Some(Made::one::<PointCloud2>("points", form))
}

/// Rays in the plane of the sensor, from an angle on, evenly apart.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fan {
    first_rad: f64,
    step_rad: f64,
}

/// How well rays must be in the plane and evenly apart, rad.
const EVEN_RAD: f64 = 1e-6;

fn even(directions: &[DVec3]) -> Option<Fan> {
    let angle = |ray: &DVec3| math::atan2(ray.y, ray.x);
    let (first, last) = (directions.first()?, directions.last()?);
    let first_rad = angle(first);
    let turn = |from: &DVec3, to: &DVec3| math::wrap_angle(angle(to) - angle(from));
    // more than half a turn shows only step by step
    let whole: f64 = directions.windows(2).map(|pair| turn(&pair[0], &pair[1])).sum();
    let step_rad = whole / (directions.len() - 1) as f64;
    let placed = |(at, ray): (usize, &DVec3)| {
        ray.z.abs() < EVEN_RAD && math::wrap_angle(first_rad + step_rad * at as f64 - angle(ray)).abs() < EVEN_RAD
    };
    let fan = step_rad.abs() > EVEN_RAD && last.z.abs() < EVEN_RAD && directions.iter().enumerate().all(placed);
    fan.then_some(Fan { first_rad, step_rad })
}

fn scan(source: &Source<'_>, fan: Fan, rays: usize, reach_m: f64) -> Scan {
    let sweep_s = match source.slot.sensor.sense() {
        Sense::World(look) => look.slices().1,
        Sense::Own(_) => 0.0,
    };
    let message = LaserScan {
        header: source.header(),
        angle_min: fan.first_rad as f32,
        angle_max: (fan.first_rad + fan.step_rad * (rays - 1) as f64) as f32,
        angle_increment: fan.step_rad as f32,
        time_increment: (sweep_s / rays as f64) as f32,
        scan_time: source.slot.rate.period_s() as f32,
        range_min: source.slot.sensor.near_m() as f32,
        range_max: reach_m as f32,
        ..LaserScan::default()
    };
    let intensity = source.find("intensity", 1);
    Scan { message, record: source.record(), intensity, sweep: SimTime::from_s(sweep_s) }
}

/// A planar scan. Its stamp is that of the first ray.
struct Scan {
    message: LaserScan,
    record: usize,
    intensity: Option<usize>,
    sweep: SimTime,
}

impl Form for Scan {
    fn say(&mut self, stamp: SimTime, values: &[f64], mouth: &mut Mouth<'_>) {
        let begun = stamp.ns().saturating_sub(self.sweep.ns());
        self.message.header.stamp = SimTime::from_ns(begun).into();
        let records = || values.chunks_exact(self.record);
        self.message.ranges.clear();
        self.message.ranges.extend(records().map(|record| record[0] as f32));
        self.message.intensities.clear();
        if let Some(at) = self.intensity {
            self.message.intensities.extend(records().map(|record| record[at] as f32));
        }
        mouth.say(0, &self.message);
    }
}

/// A single range.
struct Single {
    message: Range,
}

impl Form for Single {
    fn say(&mut self, stamp: SimTime, values: &[f64], mouth: &mut Mouth<'_>) {
        let Some(&range_m) = values.first() else { return };
        self.message.header.stamp = stamp.into();
        self.message.range = range_m as f32;
        mouth.say(0, &self.message);
    }
}

/// The type of 32-bit floats in a cloud.
const FLOAT32: u8 = 7;

fn empty_cloud(source: &Source<'_>, names: &[&str]) -> PointCloud2 {
    let field = |(at, name): (usize, &&str)| PointField {
        name: (*name).to_owned(),
        offset: 4 * at as u32,
        datatype: FLOAT32,
        count: 1,
    };
    PointCloud2 {
        header: source.header(),
        height: 1,
        fields: names.iter().enumerate().map(field).collect(),
        point_step: 4 * names.len() as u32,
        ..PointCloud2::default()
    }
}

fn cloud(source: &Source<'_>, directions: &[DVec3]) -> Cloud {
    // what a record holds beside the range, by the names people look for
    let also =
        [("intensity", "intensity"), ("time_s", "time"), ("kind", "kind"), ("id", "id"), ("material", "material")];
    let also: Vec<(usize, &str)> =
        also.iter().filter_map(|(field, name)| Some((source.find(field, 1)?, *name))).collect();
    let names: Vec<&str> = ["x", "y", "z"].into_iter().chain(also.iter().map(|(_, name)| *name)).collect();
    Cloud {
        message: empty_cloud(source, &names),
        directions: directions.to_vec(),
        record: source.record(),
        also: also.iter().map(|(at, _)| *at).collect(),
    }
}

/// Points: given, or where rays end. A ray that met nothing is a point that is not a number.
struct Cloud {
    message: PointCloud2,
    directions: Vec<DVec3>,
    record: usize,
    also: Vec<usize>,
}

impl Form for Cloud {
    fn say(&mut self, stamp: SimTime, values: &[f64], mouth: &mut Mouth<'_>) {
        let Self { message, directions, record, also } = self;
        message.header.stamp = stamp.into();
        message.data.clear();
        for (at, record) in values.chunks_exact(*record).enumerate() {
            let point = match directions.get(at) {
                Some(direction) if record[0].is_finite() => (*direction * record[0]).to_array(),
                Some(_) => [f64::NAN; 3],
                None if directions.is_empty() => [record[0], record[1], record[2]],
                None => break,
            };
            for value in point.into_iter().chain(also.iter().map(|&at| record[at])) {
                message.data.extend_from_slice(&(value as f32).to_le_bytes());
            }
        }
        message.row_step = message.data.len() as u32;
        message.width = message.row_step / message.point_step;
        message.is_dense = directions.is_empty();
        mouth.say(0, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rays(degrees: impl Iterator<Item = f64>) -> Vec<DVec3> {
        degrees.map(|angle| DVec3::new(angle.to_radians().cos(), angle.to_radians().sin(), 0.0)).collect()
    }

    #[test]
    fn a_fan_is_a_scan_whichever_way_it_turns_and_anything_else_is_a_cloud() {
        let fan = even(&rays((0..271).map(|at| f64::from(at) - 135.0))).unwrap();
        assert!(
            (fan.first_rad + 135_f64.to_radians()).abs() < 1e-12 && (fan.step_rad - 1_f64.to_radians()).abs() < 1e-12
        );
        let back = even(&rays((0..181).map(|at| 90.0 - f64::from(at)))).unwrap();
        assert!((back.step_rad + 1_f64.to_radians()).abs() < 1e-12);
        let whole = even(&rays((0..360).map(f64::from))).unwrap();
        assert!((whole.step_rad - 1_f64.to_radians()).abs() < 1e-9);
        assert_eq!(even(&rays([0.0, 1.0, 3.0].into_iter())), None);
        assert_eq!(even(&[DVec3::X, DVec3::new(0.6, 0.0, 0.8)]), None);
        assert_eq!(even(&[DVec3::X, DVec3::X]), None);
    }
}
