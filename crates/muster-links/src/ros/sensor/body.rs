//! What a robot knows of its own body and of what is around it, as numbers with names.

use super::{Form, Made, Mouth, Source, topic};
use crate::ros::messages::{
    BatteryState, FluidPressure, Header, Illuminance, Imu, JointState, MagneticField, NavSatFix, Odometry,
    PointStamped, PoseStamped, Temperature, Transform, TwistStamped,
};
use crate::ros::names;
use glam::{DQuat, DVec3};
use muster_core::component::{Pose, Sense};
use muster_core::joints::jointed;
use muster_core::lanes::Role;
use muster_core::model::SensorSlot;
use muster_core::time::SimTime;

/// Those who may know a message, in the order they are asked.
const FORMS: &[fn(&Source<'_>) -> Option<Made>] =
    &[imu, attitude, fix, motion, pose, velocity, joints, battery, magnetic, pressure, temperature, illuminance];

/// A message for numbers of the robot itself.
pub(super) fn body(source: &Source<'_>) -> Option<Made> {
    FORMS.iter().find_map(|form| form(source))
}

fn vec3(values: &[f64], at: usize) -> DVec3 {
    DVec3::new(values[at], values[at + 1], values[at + 2])
}

fn quat(values: &[f64], at: usize) -> DQuat {
    DQuat::from_xyzw(values[at], values[at + 1], values[at + 2], values[at + 3])
}

/// A form that fills a message.
struct Filled<M, F> {
    message: M,
    record: usize,
    fill: F,
}

impl<M, F> Form for Filled<M, F>
where
    M: crate::ros::messages::Message + Headed + Send,
    F: Fn(&mut M, &[f64]) + Send,
{
    fn say(&mut self, stamp: SimTime, values: &[f64], mouth: &mut Mouth<'_>) {
        if values.len() < self.record {
            return;
        }
        self.message.header().stamp = stamp.into();
        (self.fill)(&mut self.message, values);
        mouth.say(0, &self.message);
    }
}

/// A message with a header.
trait Headed {
    fn header(&mut self) -> &mut Header;
}

macro_rules! headed {
    ($($type:ty),*) => {$(
        impl Headed for $type {
            fn header(&mut self) -> &mut Header {
                &mut self.header
            }
        }
    )*};
}

headed!(BatteryState, FluidPressure, Illuminance, Imu, JointState, MagneticField, Odometry, PointStamped);
headed!(PoseStamped, Temperature, TwistStamped);

fn filled<M>(
    source: &Source<'_>,
    word: &'static str,
    message: M,
    fill: impl Fn(&mut M, &[f64]) + Send + 'static,
) -> Option<Made>
where
    M: crate::ros::messages::Message + Headed + Send + 'static,
{
    Some(Made::one::<M>(word, Filled { message, record: source.record(), fill }))
}

fn imu(source: &Source<'_>) -> Option<Made> {
    let accel = source.find("accel_mps2", 3)?;
    let gyro = source.find("angular_velocity_radps", 3)?;
    let mut message = Imu { header: source.header(), ..Imu::default() };
    message.orientation.w = 1.0;
    message.orientation_covariance[0] = -1.0;
    filled(source, "imu", message, move |message, values| {
        message.linear_acceleration = vec3(values, accel).into();
        message.angular_velocity = vec3(values, gyro).into();
    })
}

fn attitude(source: &Source<'_>) -> Option<Made> {
    let orientation = source.find("orientation", 4)?;
    let gyro = source.find("angular_velocity_radps", 3)?;
    if source.find("position_m", 3).is_some() {
        return None;
    }
    let mut message = Imu { header: source.header(), ..Imu::default() };
    message.linear_acceleration_covariance[0] = -1.0;
    filled(source, "attitude", message, move |message, values| {
        message.orientation = quat(values, orientation).into();
        message.angular_velocity = vec3(values, gyro).into();
    })
}

/// What a receiver may tell beside a fix; the message has no room for some of it, but it all means the same place.
const RECEIVED: &[&str] = &[
    "latitude_deg",
    "longitude_deg",
    "altitude_m",
    "position_m",
    "velocity_mps",
    "heading_rad",
    "speed_mps",
    "fix",
    "satellites",
    "pdop",
    "hdop",
    "vdop",
];

fn fix(source: &Source<'_>) -> Option<Made> {
    // coordinates that somebody asked for must not get lost
    if !source.slot.fields().iter().all(|field| RECEIVED.contains(&field.name)) {
        return None;
    }
    let at = [source.find("latitude_deg", 1)?, source.find("longitude_deg", 1)?, source.find("altitude_m", 1)?];
    let velocity = source.find("velocity_mps", 3).map(|at| {
        let header = Header { frame_id: names::WORLD.to_owned(), ..Header::default() };
        (at, TwistStamped { header, ..TwistStamped::default() })
    });
    let mut message = NavSatFix { header: source.header(), ..NavSatFix::default() };
    message.status.service = 1;
    let mut topics = vec![topic::<NavSatFix>("fix")];
    topics.extend(velocity.is_some().then(|| topic::<TwistStamped>("fix_velocity")));
    let form = Fix { message, at, quality: source.find("fix", 1), velocity, record: source.record() };
    Some(Made { place: super::Place::Word, topics, form: Box::new(form) })
}

/// A position by satellites, and perhaps a velocity in the axes of the world.
struct Fix {
    message: NavSatFix,
    at: [usize; 3],
    quality: Option<usize>,
    velocity: Option<(usize, TwistStamped)>,
    record: usize,
}

impl Form for Fix {
    fn say(&mut self, stamp: SimTime, values: &[f64], mouth: &mut Mouth<'_>) {
        if values.len() < self.record {
            return;
        }
        let message = &mut self.message;
        message.header.stamp = stamp.into();
        [message.latitude, message.longitude, message.altitude] = self.at.map(|at| values[at]);
        // by NMEA 0183: none, autonomous, differential, fixed and float by carrier phase
        message.status.status = match self.quality.map(|at| values[at] as i64) {
            Some(0) => -1,
            Some(2) => 1,
            Some(4 | 5) => 2,
            _ => 0,
        };
        mouth.say(0, message);
        if let Some((at, velocity)) = &mut self.velocity {
            velocity.header.stamp = stamp.into();
            velocity.twist.linear = vec3(values, *at).into();
            mouth.say(1, velocity);
        }
    }
}

/// Whether a sensor sits where the body is.
fn on_the_body(slot: &SensorSlot) -> bool {
    slot.frame.is_none() && slot.mount == Pose::IDENTITY
}

/// Where pose and twist begin in a record, if it holds these and the pose has this role.
fn motion_fields(slot: &SensorSlot, role: Role) -> Option<[usize; 4]> {
    let fields = slot.fields();
    let wanted = [("position_m", 3), ("orientation", 4), ("velocity_mps", 3), ("angular_velocity_radps", 3)];
    if fields.len() != wanted.len() || fields[0].role != role || matches!(slot.sensor.sense(), Sense::World(_)) {
        return None;
    }
    let fits =
        fields.iter().zip(wanted).all(|(field, (name, len))| field.name == name && field.len == len && !field.down);
    fits.then_some([0, 3, 7, 10])
}

/// Whether a sensor tells the pose of the body since the start, as transforms want it.
pub fn tells_odometry(slot: &SensorSlot) -> bool {
    motion_fields(slot, Role::Body).is_some()
}

/// Whether a sensor tells where the body is and how it moves.
pub fn tells_truth(slot: &SensorSlot) -> bool {
    motion_fields(slot, Role::Point).is_some() && on_the_body(slot) && slot.modifiers.is_empty()
}

/// The transform that a sample of odometry tells.
pub fn odom_from_base(values: &[f64]) -> Option<Transform> {
    let whole = values.len() >= 7;
    whole.then(|| Transform { translation: vec3(values, 0).into(), rotation: quat(values, 3).into() })
}

fn motion(source: &Source<'_>) -> Option<Made> {
    let slot = source.slot;
    let odometry = motion_fields(slot, Role::Body);
    let [position, orientation, velocity, turn] = odometry.or_else(|| motion_fields(slot, Role::Point))?;
    let child_frame_id = match odometry.is_some() || on_the_body(slot) {
        true => names::base(source.robot),
        false => names::link(source.robot, &slot.name),
    };
    let mut message = Odometry { child_frame_id, ..Odometry::default() };
    message.header.frame_id = match odometry {
        Some(_) => names::frame(source.robot, "odom"),
        None => names::WORLD.to_owned(),
    };
    let world_velocity = odometry.is_none();
    let word = if world_velocity { "truth" } else { "odom" };
    filled(source, word, message, move |message, values| {
        let rotation = quat(values, orientation);
        message.pose.pose.position = vec3(values, position).into();
        message.pose.pose.orientation = rotation.into();
        // the twist is in the frame of the child
        let velocity = vec3(values, velocity);
        let velocity = if world_velocity { rotation.inverse() * velocity } else { velocity };
        message.twist.twist.linear = velocity.into();
        message.twist.twist.angular = vec3(values, turn).into();
    })
}

fn pose(source: &Source<'_>) -> Option<Made> {
    let own = matches!(source.slot.sensor.sense(), Sense::Own(_));
    let position = source.find("position_m", 3).filter(|_| own)?;
    let header = match source.slot.fields().first()?.role {
        Role::Point => Header { frame_id: names::WORLD.to_owned(), ..Header::default() },
        _ => return None,
    };
    match (source.find("orientation", 4), source.record()) {
        (Some(orientation), 7) => {
            filled(source, "pose", PoseStamped { header, ..PoseStamped::default() }, move |message, values| {
                message.pose.position = vec3(values, position).into();
                message.pose.orientation = quat(values, orientation).into();
            })
        }
        (None, 3) => {
            filled(source, "position", PointStamped { header, ..PointStamped::default() }, move |message, values| {
                message.point = vec3(values, position).into();
            })
        }
        _ => None,
    }
}

fn velocity(source: &Source<'_>) -> Option<Made> {
    let linear = source.find("body_velocity_mps", 3)?;
    let angular = source.find("angular_velocity_radps", 3)?;
    let message = TwistStamped { header: source.header(), ..TwistStamped::default() };
    filled(source, "velocity", message, move |message, values| {
        message.twist.linear = vec3(values, linear).into();
        message.twist.angular = vec3(values, angular).into();
    })
}

fn joints(source: &Source<'_>) -> Option<Made> {
    let numbers = source.slot.sensor.joints();
    let count = numbers.len();
    let position = source.find("position", count).filter(|_| count > 0)?;
    let rate = source.find("rate", count)?;
    let all: Vec<&str> = jointed(&source.blueprint.frames).map(|frame| frame.name.as_str()).collect();
    let name = numbers.iter().filter_map(|&number| all.get(number).map(|&name| name.to_owned())).collect();
    let message = JointState { header: source.header(), name, ..JointState::default() };
    filled(source, "joint_states", message, move |message, values| {
        message.position.clear();
        message.position.extend_from_slice(&values[position..position + count]);
        message.velocity.clear();
        message.velocity.extend_from_slice(&values[rate..rate + count]);
    })
}

fn battery(source: &Source<'_>) -> Option<Made> {
    let charge = source.find("charge_percent", 1)?;
    let charging = source.find("charging", 1);
    // what is not measured is not a number, by the definition of the message
    let nan = f32::NAN;
    let message = BatteryState {
        header: source.header(),
        voltage: nan,
        temperature: nan,
        current: nan,
        charge: nan,
        capacity: nan,
        design_capacity: nan,
        present: true,
        location: source.slot.name.clone(),
        ..BatteryState::default()
    };
    filled(source, "battery_state", message, move |message, values| {
        message.percentage = (values[charge] / 100.0) as f32;
        message.power_supply_status = match charging.map(|at| values[at] > 0.0) {
            Some(true) => 1,
            Some(false) => 2,
            None => 0,
        };
    })
}

fn magnetic(source: &Source<'_>) -> Option<Made> {
    let at = source.find("magnetic_field_t", 3)?;
    let message = MagneticField { header: source.header(), ..MagneticField::default() };
    filled(source, "mag", message, move |message, values| message.magnetic_field = vec3(values, at).into())
}

fn pressure(source: &Source<'_>) -> Option<Made> {
    let at = source.find("pressure_pa", 1)?;
    let message = FluidPressure { header: source.header(), ..FluidPressure::default() };
    filled(source, "pressure", message, move |message, values| message.fluid_pressure = values[at])
}

fn temperature(source: &Source<'_>) -> Option<Made> {
    let at = source.find("temperature_c", 1)?;
    let message = Temperature { header: source.header(), ..Temperature::default() };
    filled(source, "temperature", message, move |message, values| message.temperature = values[at])
}

fn illuminance(source: &Source<'_>) -> Option<Made> {
    let at = source.find("illuminance_lx", 1)?;
    let message = Illuminance { header: source.header(), ..Illuminance::default() };
    filled(source, "illuminance", message, move |message, values| message.illuminance = values[at])
}
