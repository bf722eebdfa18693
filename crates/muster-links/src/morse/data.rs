//! What sensors say, as MORSE's components say it: the keys of their `local_data`, in their order.
//!
//! A [`Body`] is planned once for a channel and then writes samples. Kinds that MORSE has get its keys, whatever coordinates
//! modifiers gave them; whatever else there is has the names of its fields as keys. Images and clouds of points are base64, as
//! in MORSE.

use super::codec::{Json, separate, write_float, write_key, write_text};
use glam::{DQuat, DVec3};
use muster_core::joints::jointed;
use muster_core::lanes::{Quantity, Role};
use muster_core::math;
use muster_core::model::{Blueprint, SensorSlot};
use muster_core::render::lens::{Lens, LensSpec};
use muster_core::time::SimTime;
use muster_core::world::World;
use std::collections::BTreeMap;

/// Who is who among those that samples tell by number.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Names {
    /// Robots by roster number, and what they are.
    pub robots: BTreeMap<u32, (String, String)>,
    /// Obstacles by index, and what they are.
    pub obstacles: Vec<(String, String)>,
}

impl Names {
    /// Everybody in a world.
    pub fn of(world: &World) -> Self {
        let robots = world.roster().map(|(number, robot)| {
            let blueprint = &robot.cohort.blueprint;
            (number, (robot.address(), blueprint.tags.first().unwrap_or(&blueprint.kind).clone()))
        });
        let obstacles = world.model().environment.obstacles.iter();
        let obstacles = obstacles.map(|each| (each.name.clone(), each.tags.first().cloned().unwrap_or_default()));
        Self { robots: robots.collect(), obstacles: obstacles.collect() }
    }

    /// The name and sort of what a sample tells by kind (0 a robot, 1 an obstacle) and number.
    fn find(&self, kind: f64, id: f64) -> (&str, &str) {
        let found = match kind {
            0.0 => self.robots.get(&(id as u32)),
            1.0 => self.obstacles.get(id as usize),
            _ => None,
        };
        found.map_or(("", ""), |(name, sort)| (name, sort))
    }
}

/// How the samples of one channel are written.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    form: Form,
    fields: Vec<Quantity>,
    /// Numbers in a record.
    record: usize,
    /// The first numbers are latitude, longitude and altitude where MORSE has x, y, z: longitude first.
    swapped: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Form {
    Plain,
    Pose,
    OdometryRaw,
    OdometryDifferential,
    OdometryIntegrated,
    Gps,
    GpsRaw { extended: bool },
    Imu,
    Velocity,
    Attitude,
    Gyroscope,
    Accelerometer,
    Barometer,
    Airspeed,
    Magnetometer,
    RadarAltimeter,
    Thermometer,
    Clock,
    Collision,
    Battery,
    Proximity,
    SemanticCamera,
    Joints(Vec<String>),
    Laser { rays: Vec<DVec3>, range_max_m: f64, remission: bool },
    Image { lens: LensSpec, record: usize },
    Points { lens: LensSpec, rays: Vec<[f64; 2]>, at: usize, record: usize },
}

/// Tesla in the nanotesla of MORSE.
const NANO: f64 = 1e9;

impl Body {
    /// How the samples of a sensor are written.
    pub fn of(slot: &SensorSlot, blueprint: &Blueprint) -> Self {
        let fields = slot.fields().to_vec();
        // modifiers give other numbers and names, but as many in the same order
        let names: Vec<&str> = slot.sensor.fields().iter().map(|field| field.name).collect();
        let swapped =
            names.first() == Some(&"position_m") && fields.first().is_some_and(|first| first.name == "latitude_deg");
        let form = match (slot.kind, names.as_slice()) {
            ("truth", ["position_m", "orientation", ..]) => Form::Pose,
            ("odometry", ["distance_m", "travelled_m"]) => Form::OdometryRaw,
            ("odometry", ["distance_m", "displacement_m", "turn_rad"]) => Form::OdometryDifferential,
            ("odometry", ["position_m", ..]) => Form::OdometryIntegrated,
            ("gps", ["position_m"]) => Form::Gps,
            ("gps", ["latitude_deg", "longitude_deg", "altitude_m", "position_m", "velocity_mps", rest @ ..]) => {
                Form::GpsRaw { extended: rest.contains(&"heading_rad") }
            }
            ("imu", ["accel_mps2", "angular_velocity_radps"]) => Form::Imu,
            ("velocity", ["velocity_mps", "body_velocity_mps", "angular_velocity_radps"]) => Form::Velocity,
            ("attitude", ["orientation", "roll_rad", "pitch_rad", "yaw_rad", "angular_velocity_radps"]) => {
                Form::Attitude
            }
            ("gyroscope", ["yaw_rad", "pitch_rad", "roll_rad", ..]) => Form::Gyroscope,
            ("accelerometer", ["distance_m", "velocity_mps", "acceleration_mps2"]) => Form::Accelerometer,
            ("barometer", ["pressure_pa", ..]) => Form::Barometer,
            ("airspeed", ["airspeed_mps", "differential_pressure_pa"]) => Form::Airspeed,
            ("magnetometer", ["magnetic_field_t"]) => Form::Magnetometer,
            ("radar_altimeter", ["height_m", "valid"]) => Form::RadarAltimeter,
            ("thermometer", ["temperature_c"]) => Form::Thermometer,
            ("clock", _) => Form::Clock,
            ("collision", ["touching", "contacts", "last_s", "kind", "id"]) => Form::Collision,
            ("battery", ["charge_percent", "energy_j", "power_w", "charging"]) => Form::Battery,
            ("proximity", ["distance_m", "kind", "id"]) => Form::Proximity,
            ("semantic_camera", ["kind", "id", "class", "position_m", "orientation"]) => Form::SemanticCamera,
            ("joint_state", ["position", ..]) => {
                Form::Joints(jointed(&blueprint.frames).map(|frame| frame.name.clone()).collect())
            }
            ("camera", _) => camera(slot, &names),
            ("range", ["range_m", rest @ ..]) => match slot.sensor.rays() {
                Some((rays, range_max_m)) => {
                    Form::Laser { rays: rays.to_vec(), range_max_m, remission: rest.first() == Some(&"intensity") }
                }
                None => Form::Plain,
            },
            _ => Form::Plain,
        };
        Self { form, record: Quantity::total(&fields), fields, swapped }
    }

    /// The name of MORSE's class that says the same, for `details`.
    pub fn class(&self, kind: &str) -> String {
        let known = match &self.form {
            Form::Pose => "Pose",
            Form::OdometryRaw => "RawOdometry",
            Form::OdometryDifferential => "Odometry",
            Form::OdometryIntegrated => "IntegratedOdometry",
            Form::Gps => "GPS",
            Form::GpsRaw { extended: false } => "RawGPS",
            Form::GpsRaw { extended: true } => "ExtendedGPS",
            Form::Imu => "IMU",
            Form::Laser { .. } => "LaserScanner",
            Form::Image { .. } => "VideoCamera",
            Form::Points { .. } => "DepthCamera",
            Form::Joints(joints) if joints.iter().map(String::as_str).eq(["pan", "tilt"]) => "PTUPosture",
            Form::Joints(_) => "ArmaturePose",
            _ => "",
        };
        match known {
            "" => kind.split('_').map(capital).collect(),
            known => known.to_owned(),
        }
    }

    /// What a sample is, as one JSON object.
    pub fn write(&self, stamp: SimTime, values: &[f64], names: &Names, out: &mut Vec<u8>) {
        let mut map = MapWriter::open(out);
        map.float("timestamp", stamp.s());
        if values.len() < self.record && !matches!(self.form, Form::Plain | Form::Proximity | Form::SemanticCamera) {
            return map.close();
        }
        self.entries(stamp, values, names, &mut map);
        map.close();
    }

    fn entries(&self, stamp: SimTime, values: &[f64], names: &Names, map: &mut MapWriter<'_>) {
        match &self.form {
            Form::Plain => self.plain(values, map),
            Form::Clock => (),
            Form::Pose => {
                self.place(values, map);
                map.angles(["yaw", "pitch", "roll"], quat(values, 3));
            }
            Form::OdometryRaw => map.float("dS", values[0]),
            Form::OdometryDifferential => {
                map.floats_by_name(["dx", "dy", "dz"], &values[1..]);
                map.floats_by_name(["dyaw", "dpitch", "droll"], &[values[4], 0.0, 0.0]);
            }
            Form::OdometryIntegrated => {
                map.floats_by_name(["x", "y", "z"], values);
                map.angles(["yaw", "pitch", "roll"], quat(values, 3));
                map.floats_by_name(["vx", "vy", "vz"], &values[7..]);
                map.floats_by_name(["wz", "wy", "wx"], &[values[12], values[11], values[10]]);
            }
            Form::Gps => self.place(values, map),
            Form::GpsRaw { extended } => {
                map.floats_by_name(["longitude", "latitude", "altitude"], &[values[1], values[0], values[2]]);
                map.list("velocity", &values[6..9]);
                if *extended {
                    gps_sentence(stamp, values[9], map);
                }
            }
            Form::Imu => {
                map.list("angular_velocity", &values[3..6]);
                map.list("linear_acceleration", &values[..3]);
                map.list("magnetic_field", values.get(6..9).unwrap_or(&[0.0; 3]));
            }
            Form::Velocity => {
                map.list("linear_velocity", &values[3..6]);
                map.list("angular_velocity", &values[6..9]);
                map.list("world_linear_velocity", &values[..3]);
            }
            Form::Attitude => {
                let mut rotation = map.map("rotation");
                rotation.floats_by_name(["yaw", "pitch", "roll"], &[values[6], values[5], values[4]]);
                rotation.close();
                map.list("angular_velocity", &values[7..10]);
            }
            Form::Gyroscope => map.floats_by_name(["yaw", "pitch", "roll"], values),
            Form::Accelerometer => {
                map.float("distance", values[0]);
                map.list("velocity", &values[1..4]);
                map.list("acceleration", &values[4..7]);
            }
            Form::Barometer => map.float("pressure", values[0]),
            Form::Airspeed => map.float("diff_pressure", values[1]),
            Form::Magnetometer => {
                map.floats_by_name(["x", "y", "z"], &[values[0] * NANO, values[1] * NANO, values[2] * NANO])
            }
            Form::RadarAltimeter => map.float("z", if values[1] > 0.0 { values[0] } else { f64::INFINITY }),
            Form::Thermometer => map.float("temperature", values[0]),
            _ => self.things(values, names, map),
        }
    }

    /// What tells of others, joints, ranges and images.
    fn things(&self, values: &[f64], names: &Names, map: &mut MapWriter<'_>) {
        match &self.form {
            Form::Collision => {
                let touching = values[0] != 0.0;
                map.bool("collision", touching);
                map.text("objects", if touching { names.find(values[3], values[4]).0 } else { "" });
            }
            Form::Battery => {
                map.float("charge", values[0]);
                let status = match (values[3] != 0.0, values[0]) {
                    (true, 100.0..) => "Charged",
                    (true, _) => "Charging",
                    (false, _) => "Discharging",
                };
                map.text("status", status);
            }
            Form::Proximity => {
                for key in ["near_objects", "near_robots"] {
                    let mut near = map.map(key);
                    for record in values.chunks_exact(3) {
                        near.float(names.find(record[1], record[2]).0, record[0]);
                    }
                    near.close();
                }
            }
            Form::SemanticCamera => semantic(values, names, map),
            Form::Joints(joints) => {
                for (joint, value) in joints.iter().zip(values) {
                    map.float(joint, *value);
                }
            }
            Form::Laser { rays, range_max_m, remission } => {
                let reached = |range: f64| if range.is_finite() && range > 0.0 { Some(range) } else { None };
                let ranges = || values.chunks_exact(self.record).map(|record| reached(record[0]));
                map.key("point_list");
                write_points(rays.iter().zip(ranges()), map.out);
                map.key("range_list");
                write_list(ranges().map(|range| range.unwrap_or(*range_max_m)), map.out);
                if *remission {
                    map.key("remission_list");
                    write_list(values.chunks_exact(self.record).map(|record| record[1]), map.out);
                }
            }
            Form::Image { lens, record } => image(values, lens, *record, map),
            Form::Points { lens, rays, at, record } => points(values, (lens, rays), (*at, *record), map),
            _ => (),
        }
    }

    fn place(&self, values: &[f64], map: &mut MapWriter<'_>) {
        match self.swapped {
            true => map.floats_by_name(["x", "y", "z"], &[values[1], values[0], values[2]]),
            false => map.floats_by_name(["x", "y", "z"], values),
        }
    }

    /// The names of the fields as keys; a list of maps if samples hold several records.
    fn plain(&self, values: &[f64], map: &mut MapWriter<'_>) {
        let several = self.record > 0 && values.len() != self.record;
        if !several {
            return self.plain_record(values, map);
        }
        map.key("records");
        map.out.push(b'[');
        for (at, record) in values.chunks_exact(self.record.max(1)).enumerate() {
            separate(at, map.out);
            let mut inner = MapWriter::open(map.out);
            self.plain_record(record, &mut inner);
            inner.close();
        }
        map.out.push(b']');
    }

    fn plain_record(&self, values: &[f64], map: &mut MapWriter<'_>) {
        let mut from = 0;
        for field in &self.fields {
            let part = &values[from.min(values.len())..(from + field.len).min(values.len())];
            from += field.len;
            match (field.role, part) {
                (Role::Attitude | Role::Turn, [x, y, z, w]) => {
                    let mut inner = map.map(field.name);
                    inner.floats_by_name(["x", "y", "z", "w"], &[*x, *y, *z, *w]);
                    inner.close();
                }
                (_, [value]) if field.len == 1 => map.float(field.name, *value),
                (_, part) => map.list(field.name, part),
            }
        }
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

fn quat(values: &[f64], at: usize) -> DQuat {
    DQuat::from_xyzw(values[at], values[at + 1], values[at + 2], values[at + 3])
}

/// What a camera gives: images, or points if it measures depths.
fn camera(slot: &SensorSlot, names: &[&str]) -> Form {
    let Some(lens) = slot.sensor.image() else { return Form::Plain };
    let record = names.len();
    match (names.iter().position(|name| *name == "colour"), names.iter().position(|name| name.starts_with("depth"))) {
        (Some(0), _) => Form::Image { lens: lens.spec, record },
        (_, Some(at)) => Form::Points { lens: lens.spec, rays: slopes(lens), at, record },
        _ => Form::Plain,
    }
}

/// Right and down for each pixel, each divided by forward.
fn slopes(lens: &Lens) -> Vec<[f64; 2]> {
    let LensSpec { columns, rows, focal_px, centre_px, .. } = lens.spec;
    let pixels = (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row)));
    pixels
        .map(|(column, row)| [(column as f64 - centre_px.x) / focal_px.x, (row as f64 - centre_px.y) / focal_px.y])
        .collect()
}

/// Date, time of day and heading, as the sentences of receivers have them. Simulations begin with the epoch of Unix.
fn gps_sentence(stamp: SimTime, heading_rad: f64, map: &mut MapWriter<'_>) {
    let seconds = stamp.s() as i64;
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, date) = civil(day);
    map.text("date", &format!("{date:02}{month:02}{:02}", year.rem_euclid(100)));
    map.text("time", &format!("{:02}{:02}{:02}", second / 3600, second / 60 % 60, second % 60));
    // from east counter-clockwise to from north clockwise
    let heading = math::wrap_angle(std::f64::consts::FRAC_PI_2 - heading_rad).to_degrees();
    map.float("heading", if heading < 0.0 { heading + 360.0 } else { heading });
}

/// Year, month and day of a day counted from 1 January 1970 (H. Hinnant, *chrono-compatible low-level date algorithms*).
fn civil(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, date)
}

fn semantic(values: &[f64], names: &Names, map: &mut MapWriter<'_>) {
    map.key("visible_objects");
    map.out.push(b'[');
    for (at, record) in values.chunks_exact(10).enumerate() {
        separate(at, map.out);
        let (name, sort) = names.find(record[0], record[1]);
        let mut object = MapWriter::open(map.out);
        object.text("name", name);
        object.text("description", "");
        object.text("type", sort);
        object.list("position", &record[3..6]);
        let mut orientation = object.map("orientation");
        orientation.floats_by_name(["x", "y", "z", "w"], &record[6..10]);
        orientation.close();
        object.close();
    }
    map.out.push(b']');
}

fn write_list(values: impl Iterator<Item = f64>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, value) in values.enumerate() {
        separate(at, out);
        write_float(value, out);
    }
    out.push(b']');
}

/// Where rays ended, in the frame of the sensor; the origin for those that met nothing.
fn write_points<'a>(rays: impl Iterator<Item = (&'a DVec3, Option<f64>)>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, (ray, range)) in rays.enumerate() {
        separate(at, out);
        let point = range.map_or(DVec3::ZERO, |range| *ray * range);
        write_list(point.to_array().into_iter(), out);
    }
    out.push(b']');
}

fn size(lens: &LensSpec, map: &mut MapWriter<'_>) {
    map.int("height", lens.rows as i64);
    map.int("width", lens.columns as i64);
}

fn intrinsic(lens: &LensSpec, map: &mut MapWriter<'_>) {
    let (focal, centre) = (lens.focal_px, lens.centre_px);
    map.key("intrinsic_matrix");
    let rows = [[focal.x, 0.0, centre.x], [0.0, focal.y, centre.y], [0.0, 0.0, 1.0]];
    Json::List(rows.into_iter().map(Json::floats).collect()).write(map.out);
}

/// Colours as red, green, blue and full opacity, a byte each.
fn image(values: &[f64], lens: &LensSpec, record: usize, map: &mut MapWriter<'_>) {
    size(lens, map);
    map.key("image");
    let pixels = values.chunks_exact(record.max(1)).flat_map(|pixel| {
        let [_, red, green, blue] = (pixel[0] as u32).to_be_bytes();
        [red, green, blue, 255]
    });
    map.out.push(b'"');
    write_base64(pixels, map.out);
    map.out.push(b'"');
    intrinsic(lens, map);
}

/// Points in the frame of the image (right, down, forward) as single-precision numbers, without pixels that saw nothing.
fn points(
    values: &[f64],
    (lens, rays): (&LensSpec, &[[f64; 2]]),
    (at, record): (usize, usize),
    map: &mut MapWriter<'_>,
) {
    size(lens, map);
    map.key("points");
    let depths = values.chunks_exact(record.max(1)).map(|pixel| pixel[at]);
    let seen = depths.zip(rays).filter(|(depth, _)| depth.is_finite());
    let bytes = seen.flat_map(|(depth, [right, down])| {
        [right * depth, down * depth, depth].into_iter().flat_map(|value| (value as f32).to_le_bytes())
    });
    map.out.push(b'"');
    write_base64(bytes, map.out);
    map.out.push(b'"');
    intrinsic(lens, map);
}

/// Bytes in base64 (RFC 4648).
pub fn write_base64(bytes: impl Iterator<Item = u8>, out: &mut Vec<u8>) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letter = |bits: u32| LETTERS[(bits & 63) as usize];
    let mut bytes = bytes.fuse();
    while let Some(first) = bytes.next() {
        let (second, third) = (bytes.next(), bytes.next());
        let bits = u32::from_be_bytes([0, first, second.unwrap_or(0), third.unwrap_or(0)]);
        out.extend_from_slice(&[
            letter(bits >> 18),
            letter(bits >> 12),
            if second.is_some() { letter(bits >> 6) } else { b'=' },
            if third.is_some() { letter(bits) } else { b'=' },
        ]);
    }
}

/// Writes a map entry by entry.
struct MapWriter<'a> {
    out: &'a mut Vec<u8>,
    count: usize,
}

impl<'a> MapWriter<'a> {
    fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, count: 0 }
    }

    fn close(self) {
        self.out.push(b'}');
    }

    fn key(&mut self, key: &str) {
        separate(self.count, self.out);
        self.count += 1;
        write_key(key, self.out);
    }

    fn float(&mut self, key: &str, value: f64) {
        self.key(key);
        write_float(value, self.out);
    }

    fn int(&mut self, key: &str, value: i64) {
        self.key(key);
        Json::Int(value).write(self.out);
    }

    fn bool(&mut self, key: &str, value: bool) {
        self.key(key);
        Json::Bool(value).write(self.out);
    }

    fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        write_text(value, self.out);
    }

    fn list(&mut self, key: &str, values: &[f64]) {
        self.key(key);
        write_list(values.iter().copied(), self.out);
    }

    fn map(&mut self, key: &str) -> MapWriter<'_> {
        self.key(key);
        MapWriter::open(self.out)
    }

    fn floats_by_name<const N: usize>(&mut self, names: [&str; N], values: &[f64]) {
        for (name, value) in names.into_iter().zip(values) {
            self.float(name, *value);
        }
    }

    /// The angles of a rotation: yaw, pitch, roll.
    fn angles(&mut self, names: [&str; 3], rotation: DQuat) {
        let (roll, pitch, yaw) = math::rpy_from_quat(rotation);
        self.floats_by_name(names, &[yaw, pitch, roll]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (bytes, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut out = Vec::new();
            write_base64(bytes.bytes(), &mut out);
            assert_eq!(out, expected.as_bytes());
        }
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_773), (2026, 11, 16));
    }

    fn written(form: Form, fields: &[Quantity], values: &[f64]) -> String {
        let body = Body { form, fields: fields.to_vec(), record: Quantity::total(fields), swapped: false };
        let names = Names {
            robots: [(3, ("bob".to_owned(), "rover".to_owned()))].into(),
            obstacles: vec![("wall".to_owned(), "house".to_owned())],
        };
        let mut out = Vec::new();
        body.write(SimTime::from_s(1.5), values, &names, &mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn poses_have_the_keys_of_morse_in_its_order() {
        let fields = [Quantity::many("position_m", 3), Quantity::many("orientation", 4)];
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let text = written(Form::Pose, &fields, &[1.0, 2.0, 0.1, 0.0, 0.0, half, half]);
        assert!(
            text.starts_with(r#"{"timestamp": 1.5, "x": 1.0, "y": 2.0, "z": 0.1, "yaw": 1.57079632679489"#),
            "{text}"
        );
        assert!(text.ends_with(r#", "pitch": 0.0, "roll": 0.0}"#), "{text}");
    }

    #[test]
    fn whoever_is_told_by_number_is_named() {
        let near = [Quantity::one("distance_m"), Quantity::one("kind"), Quantity::one("id")];
        let text = written(Form::Proximity, &near, &[1.0, 0.0, 3.0, 2.5, 1.0, 0.0]);
        let expected = r#"{"timestamp": 1.5, "near_objects": {"bob": 1.0, "wall": 2.5}, "near_robots": {"bob": 1.0, "wall": 2.5}}"#;
        assert_eq!(text, expected);
        let seen = [
            Quantity::one("kind"),
            Quantity::one("id"),
            Quantity::one("class"),
            Quantity::many("position_m", 3),
            Quantity::many("orientation", 4),
        ];
        let text = written(Form::SemanticCamera, &seen, &[1.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]);
        assert!(
            text.contains(r#""name": "wall", "description": "", "type": "house", "position": [1.0, 2.0, 3.0], "#),
            "{text}"
        );
    }

    #[test]
    fn ranges_without_an_end_are_at_the_origin_and_as_long_as_the_sensor_reaches() {
        let laser = Form::Laser { rays: vec![DVec3::X, DVec3::Y], range_max_m: 30.0, remission: false };
        let text = written(laser, &[Quantity::one("range_m")], &[2.0, f64::INFINITY]);
        let expected =
            r#"{"timestamp": 1.5, "point_list": [[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]], "range_list": [2.0, 30.0]}"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn images_are_rows_of_red_green_blue_and_opacity_with_their_matrix() {
        let lens = LensSpec::pinhole(2, 1, 1.0);
        let text = written(
            Form::Image { lens, record: 1 },
            &[Quantity::one("colour")],
            &[f64::from(0x01_02_03), f64::from(0xff_00_80)],
        );
        let expected = r#"{"timestamp": 1.5, "height": 1, "width": 2, "image": "AQID//8AgP8=", "intrinsic_matrix": [[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]}"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn anything_else_has_the_names_of_its_fields() {
        let fields = [
            Quantity::one("depth_m"),
            Quantity::many("force_n", 3),
            Quantity::many("orientation", 4).with(Role::Attitude),
        ];
        let text = written(Form::Plain, &fields, &[1.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]);
        let expected = r#"{"timestamp": 1.5, "depth_m": 1.0, "force_n": [1.0, 2.0, 3.0], "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}}"#;
        assert_eq!(text, expected);
        let text = written(Form::Plain, &[Quantity::one("id")], &[1.0, 2.0]);
        assert_eq!(text, r#"{"timestamp": 1.5, "records": [{"id": 1.0}, {"id": 2.0}]}"#);
    }
}
