//! What robots and components are, as clients are told.

use super::codec::{Json, parse};
use super::hub::{Board, Channel, Direction, Sort, actuator};
use super::services::{CAMERA, COMPONENT, JOINTS, SENSOR};
use crate::link::Desk;
use muster_core::actuator::Settings;
use muster_core::command::Action;
use muster_core::component::Pose;
use muster_core::joints::jointed;
use muster_core::model::Blueprint;
use muster_core::service::View;
use muster_core::world::World;

/// What MORSE calls the two halves of its socket middleware.
const SERVICES: &str = "morse.middleware.socket_request_manager.SocketRequestManager";
const STREAMS: &str = "morse.middleware.socket_datastream.SocketDatastreamManager";

type Rows = &'static [(&'static str, usize, usize)];

/// What can be asked of a sensor.
pub(super) fn sensor_rows(channel: &Channel) -> [Rows; 4] {
    let class = class(channel);
    let camera = ["VideoCamera", "DepthCamera"].contains(&class.as_str());
    let joints = ["PTUPosture", "ArmaturePose"].contains(&class.as_str());
    [COMPONENT, SENSOR, if camera { CAMERA } else { &[] }, if joints { JOINTS } else { &[] }]
}

/// The name of MORSE's class for a component.
fn class(channel: &Channel) -> String {
    match &channel.sort {
        Sort::Sensor { body, name } => body.class(name),
        Sort::Compound { .. } => "CompoundSensor".to_owned(),
        Sort::Actuator { .. } | Sort::Robot => String::new(),
    }
}

fn actuator_class(kind: &str) -> &str {
    match kind {
        "v_omega" => "MotionVW",
        "xy_omega" => "MotionXYW",
        "waypoint" => "Waypoint",
        "destination" => "Destination",
        "rotorcraft_waypoint" => "RotorcraftWaypoint",
        "velocity" => "RotorcraftVelocity",
        "attitude" => "RotorcraftAttitude",
        "stabilized" => "StabilizedQuadrotor",
        "engines" => "QuadrotorDynamicControl",
        "teleport" => "Teleport",
        "orientation" => "Orientation",
        "steer_force" => "SteerForce",
        "force_torque" => "ForceTorque",
        "pan_tilt" => "PTU",
        "joints" => "Armature",
        "gripper" => "Gripper",
        "light" => "Light",
        "keyboard" => "Keyboard",
        other => other,
    }
}

/// Names of MORSE's classes for robots of the library.
fn robot_class(kind: &str) -> &str {
    match kind {
        "atrv" => "ATRV",
        "pioneer" => "Pioneer3DX",
        "quadrotor" => "QuadrotorDynamic",
        "segway" => "SegwayRMP400",
        "rmax" => "RMax",
        "submarine" => "Submarine",
        "human" => "Human",
        other => other,
    }
}

fn texts<'a>(names: impl IntoIterator<Item = &'a str>) -> Json {
    Json::List(names.into_iter().map(Json::from).collect())
}

/// Everything there is: robots, their components, what can be asked of them and where their data go.
pub(super) fn details(board: &Board, desk: &Desk<'_>, environment: &str) -> Json {
    let robots = desk.world.robots().map(|robot| {
        let address = robot.address();
        let channels = board.channels.values().filter(|channel| channel.robot == address);
        let components: Vec<(String, Json)> = channels
            .filter(|channel| !matches!(channel.sort, Sort::Robot))
            .map(|channel| (channel.path.clone(), component(channel, &robot.cohort.blueprint, desk.world)))
            .collect();
        let whole = board.channels.values().find(|each| each.robot == address && matches!(each.sort, Sort::Robot));
        let class = whole.and_then(|channel| channel.class.as_deref());
        let offered = desk.services.iter().filter(|service| service.offered_by(&robot.cohort));
        let services = offered.map(|service| service.name).chain(COMPONENT.iter().map(|row| row.0));
        Json::map([
            ("name", Json::Text(address)),
            ("type", Json::from(class.unwrap_or_else(|| robot_class(&robot.cohort.blueprint.kind)))),
            ("components", Json::Map(components)),
            ("services", texts(services)),
            ("services_interfaces", texts([SERVICES])),
        ])
    });
    Json::map([("robots", Json::List(robots.collect())), ("environment", Json::from(environment))])
}

fn component(channel: &Channel, blueprint: &Blueprint, world: &World) -> Json {
    let mut entries = Vec::new();
    let offers: Vec<&str> = match &channel.sort {
        Sort::Actuator { name } => {
            let robot = world.find(&channel.robot);
            let slot = robot.and_then(|robot| actuator(robot, name));
            let kind = slot.map_or("", |slot| actuator_class(slot.kind));
            entries.push(("type", Json::from(kind)));
            let offers = slot.map(|slot| slot.actuator.offers().iter().map(|offer| offer.name)).into_iter().flatten();
            offers.chain(COMPONENT.iter().map(|row| row.0)).collect()
        }
        Sort::Sensor { name, body } => {
            let kind = blueprint.sensor(name).map_or("", |slot| slot.kind);
            entries.push(("type", Json::Text(body.class(kind))));
            sensor_rows(channel).concat().iter().map(|row| row.0).collect()
        }
        Sort::Compound { .. } | Sort::Robot => {
            entries.push(("type", Json::Text(class(channel))));
            Vec::new()
        }
    };
    if let Some(class) = &channel.class {
        entries[0].1 = Json::Text(class.clone());
    }
    if channel.service && !offers.is_empty() {
        entries.push(("services", texts(offers)));
        entries.push(("service_interfaces", texts([SERVICES])));
    }
    if channel.stream.is_some() {
        let direction = if channel.direction() == Direction::In { "IN" } else { "OUT" };
        entries.push(("stream_interfaces", Json::List(vec![texts([STREAMS, direction])])));
    }
    Json::map(entries)
}

/// A parameter as a program reads it.
fn value(text: &str) -> Json {
    parse(text.as_bytes()).unwrap_or_else(|_| Json::Text(text.trim_matches('"').to_owned()))
}

/// What a component has: its parameters as `[value, type, documentation, name]`.
fn properties(settings: &Settings) -> Json {
    let property = |(name, text): &(&'static str, String)| {
        let value = value(text);
        let sort = match &value {
            Json::Bool(_) => "bool",
            Json::Int(_) => "int",
            Json::Float(_) => "float",
            Json::List(_) => "list",
            Json::Map(_) => "dict",
            Json::Text(_) | Json::Null => "string",
        };
        (*name, Json::List(vec![value, Json::from(sort), Json::from(""), Json::from(*name)]))
    };
    Json::map([("properties", Json::map(settings.iter().map(property)))])
}

/// The same as values only, and where the component sits on its robot.
fn configurations(settings: &Settings, mount: &Pose) -> Json {
    let matrix = glam::DMat3::from_quat(mount.orientation).transpose();
    let rows = [matrix.x_axis, matrix.y_axis, matrix.z_axis].map(|row| Json::floats(row.to_array()));
    let place = Json::map([
        ("rotation", Json::List(rows.to_vec())),
        ("translation", Json::floats(mount.position_m.to_array())),
    ]);
    let values = settings.iter().map(|(name, text)| (*name, value(text)));
    Json::map([("configurations", Json::map(values.chain([("object_to_robot", place)])))])
}

/// What every robot can be asked.
pub(super) fn of_robot(service: &str, robot: &View<'_>) -> Result<Json, String> {
    let blueprint = robot.blueprint().ok_or("the robot is gone")?;
    let constants = || blueprint.motion.constants().into_iter().map(|(name, value)| (name, Json::Float(value)));
    match service {
        "get_properties" => {
            let property = |(name, value): (&'static str, Json)| {
                (name, Json::List(vec![value, Json::from("float"), Json::from(""), Json::from(name)]))
            };
            Ok(Json::map([("properties", Json::map(constants().map(property)))]))
        }
        "get_configurations" => Ok(Json::map([("configurations", Json::map(constants()))])),
        _ => Err(format!("The request {service} has not been registered in Socket service manager")),
    }
}

/// What every actuator can be asked.
pub(super) fn of_actuator((channel, service): (&Channel, &str), robot: &View<'_>) -> Result<Json, String> {
    let Sort::Actuator { name } = &channel.sort else { return Err("found no actuator".to_owned()) };
    let slot = robot.robot().and_then(|robot| actuator(robot, name)).ok_or("the actuator is gone")?;
    match service {
        "get_properties" => Ok(properties(&slot.settings)),
        "get_configurations" => Ok(configurations(&slot.settings, &Pose::IDENTITY)),
        _ => Err(format!("The request {service} has not been registered in Socket service manager")),
    }
}

/// What sensors can be asked.
pub(super) fn of_sensor(
    (channel, name, service): (&Channel, &str, &str),
    arguments: &[Json],
    (robot, board): (&View<'_>, &Board),
) -> Result<Json, String> {
    let blueprint = robot.blueprint().ok_or("the robot is gone")?;
    let slot = blueprint.sensor(name).ok_or("the sensor is gone")?;
    let joint = |name: &str| robot.number(&format!("joint.{name}")).map(Json::Float);
    match service {
        "get_properties" => Ok(properties(&slot.settings)),
        "get_configurations" => Ok(configurations(&slot.settings, &slot.mount)),
        "get_local_data" => {
            let Sort::Sensor { body, .. } = &channel.sort else { return Err("found no sensor".to_owned()) };
            let world = robot.world();
            let values = world.property(&channel.bound).map_err(|error| error.to_string())?;
            let mut text = Vec::new();
            body.write(world.time(), &values, &board.names, &mut text);
            parse(&text)
        }
        "get_joints" => {
            Ok(Json::List(jointed(&blueprint.frames).map(|frame| Json::Text(frame.name.clone())).collect()))
        }
        "get_state" => Ok(Json::map(
            jointed(&blueprint.frames).filter_map(|frame| Some((frame.name.clone(), joint(&frame.name)?))),
        )),
        "get_joint" => {
            let name = arguments.first().and_then(Json::text).unwrap_or_default();
            joint(name).ok_or_else(|| format!("found no joint {name:?}"))
        }
        _ => Err(format!("The request {service} has not been registered in Socket service manager")),
    }
}

/// Sets a property of the component, of its robot's driver, or of its robot.
pub(super) fn set_property(channel: &Channel, arguments: &[Json], desk: &mut Desk<'_>) -> Result<Json, String> {
    let name = arguments.first().and_then(Json::text).unwrap_or_default();
    let paths = [
        format!("{}.{name}", channel.bound),
        format!("{}.driver.{name}", channel.robot),
        format!("{}.{name}", channel.robot),
    ];
    let path = paths.into_iter().find(|path| desk.world.property(path).is_ok());
    let values = arguments.get(1).and_then(|value| match value.items() {
        Some(items) => items.iter().map(Json::number).collect::<Option<Vec<f64>>>(),
        None => value.number().map(|number| vec![number]),
    });
    let (Some(path), Some(values)) = (path, values) else {
        return Err(format!("Property {name} does not exist for object {}, or cannot be set to that", channel.path));
    };
    desk.post(Action::Set { path, values });
    Ok(Json::Null)
}
