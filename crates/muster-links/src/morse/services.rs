//! What can be asked on the service port: of the simulation, of time, of communication, of robots and of their components.
//!
//! A request is answered at once or, if it takes time, when it is done; meanwhile others are served. What it changes is a
//! command or a wish like those of any other link.

use super::codec::{Json, Request, Status, answer};
use super::hub::{Board, Channel, Hub, Incoming, Sort, Waiting, actuator};
use super::{Coordinates, details, objects};
use crate::link::{Desk, Wish};
use crate::net::{Peer, Traffic, lock};
use glam::DVec3;
use muster_core::actuator::{Actuator, Ask, Deed, Input, Told};
use muster_core::geodesy::{Geodetic, TangentPlane, Utm, ecef_from_geodetic};
use muster_core::service::{Answer, Datum, Form, Outcome, Parameter, Service, View};
use muster_core::time::SimTime;
use muster_core::world::World;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Something that can be asked of the simulation as a whole: its name, and how many arguments it takes, from and to.
type Row = (&'static str, usize, usize);

/// What `simulation` offers.
const SIMULATION: &[Row] = &[
    ("activate", 1, 1),
    ("deactivate", 1, 1),
    ("details", 0, 0),
    ("get_all_stream_ports", 0, 0),
    ("get_scene_objects", 0, 0),
    ("get_stream_port", 1, 1),
    ("list_robots", 0, 0),
    ("list_streams", 0, 0),
    ("quit", 0, 0),
    ("reset", 0, 0),
    ("reset_objects", 0, 0),
    ("restore_dynamics", 0, 0),
    ("set_log_level", 2, 2),
    ("set_object_position", 2, 3),
    ("set_object_visibility", 2, 3),
    ("suspend_dynamics", 0, 0),
    ("terminate", 0, 0),
];

/// What `time` offers.
const TIME: &[Row] = &[("mode", 0, 0), ("now", 0, 0), ("set_time_scale", 1, 1), ("sleep", 1, 1), ("statistics", 0, 0)];

/// What `communication` offers.
const COMMUNICATION: &[Row] = &[("distance_and_view", 2, 2)];

/// What every component offers.
pub(super) const COMPONENT: &[Row] = &[("get_configurations", 0, 0), ("get_properties", 0, 0), ("set_property", 2, 2)];

/// What sensors offer beside that.
pub(super) const SENSOR: &[Row] = &[("get_local_data", 0, 0)];
pub(super) const CAMERA: &[Row] = &[("capture", 1, 1)];
pub(super) const JOINTS: &[Row] = &[("get_joint", 1, 1), ("get_joints", 0, 0), ("get_state", 0, 0)];

/// What MORSE calls whoever serves requests.
const MANAGER: &str = "Socket service manager";

/// Whether so many arguments are right; else what clients of MORSE are told. They look for some of these words.
fn check_count(service: &str, count: usize, (least, most): (usize, usize)) -> Result<(), String> {
    if (least..=most).contains(&count) {
        return Ok(());
    }
    let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
    Err(match count {
        0 => format!("{MANAGER}: parameters expected for service {service}! found none, expected {expected}"),
        count => format!("{MANAGER}: wrong # of parameters for service {service}. found {count}, expected {expected}"),
    })
}

fn unknown(service: &str) -> String {
    format!("The request {service} has not been registered in {MANAGER}")
}

fn find(rows: &[Row], service: &str, count: usize) -> Result<(), String> {
    let row = rows.iter().find(|(name, ..)| *name == service).ok_or_else(|| unknown(service))?;
    check_count(service, count, (row.1, row.2))
}

/// Whoever waits for an answer.
struct Caller {
    peer: Arc<Peer>,
    id: String,
    /// What he is told if it succeeds.
    told: Json,
}

impl Caller {
    fn answer(&self, status: &Status) {
        self.peer.answer(answer(&self.id, status));
    }

    fn is(&self, peer: &Arc<Peer>, id: &str) -> bool {
        Arc::ptr_eq(&self.peer, peer) && self.id == id
    }
}

/// How a request goes on.
enum Reply {
    Now(Json),
    /// When the call with this number is done.
    Call(u64, Json),
    /// At this time.
    At(SimTime),
    /// When a sensor of a robot has made so many samples; never if none is said.
    Samples {
        robot: String,
        sensor: String,
        count: Option<u64>,
    },
}

impl From<Json> for Reply {
    fn from(json: Json) -> Self {
        Self::Now(json)
    }
}

/// Serves requests and messages between two windows.
pub(super) struct Clerk {
    hub: Arc<Hub>,
    calls: BTreeMap<u64, Caller>,
    alarms: Vec<(SimTime, Caller)>,
    captures: Vec<(String, String, Option<u64>, Caller)>,
    /// Messages for actuators that were deactivated: the last counts when they are activated again.
    held: BTreeMap<usize, (Json, Arc<Traffic>)>,
    complained: BTreeSet<usize>,
    notes: Vec<String>,
    steps: Steps,
}

/// Wall-clock time between windows: number, mean, and sum of squares of deviations (Welford).
#[derive(Default)]
struct Steps {
    last_s: Option<f64>,
    count: f64,
    mean_s: f64,
    squares: f64,
}

impl Steps {
    fn note(&mut self, wall_s: f64) {
        if let Some(last_s) = self.last_s.replace(wall_s) {
            let step_s = wall_s - last_s;
            self.count += 1.0;
            let from_mean = step_s - self.mean_s;
            self.mean_s += from_mean / self.count;
            self.squares += from_mean * (step_s - self.mean_s);
        }
    }

    fn variance(&self) -> f64 {
        if self.count > 1.0 { self.squares / (self.count - 1.0) } else { 0.0 }
    }
}

impl Clerk {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            calls: BTreeMap::new(),
            alarms: Vec::new(),
            captures: Vec::new(),
            held: BTreeMap::new(),
            complained: BTreeSet::new(),
            notes: Vec::new(),
            steps: Steps::default(),
        }
    }

    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// When somebody wakes up next.
    pub(super) fn next_alarm(&self, now: SimTime) -> SimTime {
        let ahead = self.alarms.iter().map(|(at, _)| *at).filter(|at| *at > now);
        ahead.min().unwrap_or(SimTime::NEVER)
    }

    /// Between two windows.
    pub(super) fn attend(&mut self, desk: &mut Desk<'_>) {
        self.steps.note(desk.pace.wall_s);
        for answer in desk.answers {
            self.finish(answer);
        }
        for incoming in self.hub.take() {
            match incoming {
                Incoming::Request(waiting) => {
                    waiting.quota.fetch_sub(1, Ordering::Relaxed);
                    self.serve(waiting, desk);
                }
                Incoming::Message { channel, json, traffic } => self.command(channel, json, &traffic, desk),
            }
        }
        let now = desk.world.time();
        self.alarms.retain(|(at, caller)| {
            if *at <= now {
                caller.answer(&Status::Success(Json::Null));
            }
            *at > now
        });
        self.captures.retain(|(robot, sensor, count, caller)| {
            let made = samples_made(desk.world, robot, sensor);
            let done = count.is_some_and(|count| made.is_none_or(|made| made >= count));
            if done {
                caller.answer(&Status::Success(Json::Null));
            }
            !done
        });
    }

    fn finish(&mut self, answer: &Answer) {
        let Some(caller) = self.calls.remove(&answer.sequence) else { return };
        caller.answer(&match &answer.outcome {
            Outcome::Succeeded => Status::Success(caller.told.clone()),
            Outcome::Preempted => Status::Preempted,
            Outcome::Failed(why) => Status::Failed(why.clone()),
        });
    }

    fn serve(&mut self, waiting: Waiting, desk: &mut Desk<'_>) {
        let Waiting { peer, request, .. } = waiting;
        let (id, reply) = match request {
            Request::Malformed { id, why } => (id, Err(why)),
            Request::Cancel { id } => return self.cancel(&peer, &id, desk),
            Request::Call { id, component, service, arguments } => {
                let reply = self.call((&component, &service), &arguments, desk);
                (id, reply)
            }
        };
        let mut caller = Caller { peer, id, told: Json::Null };
        match reply {
            Ok(Reply::Now(told)) => caller.answer(&Status::Success(told)),
            Ok(Reply::Call(number, told)) => {
                caller.told = told;
                self.calls.insert(number, caller);
            }
            Ok(Reply::At(at)) => self.alarms.push((at, caller)),
            Ok(Reply::Samples { robot, sensor, count }) => self.captures.push((robot, sensor, count, caller)),
            Err(why) => caller.answer(&Status::Failed(why)),
        }
    }

    /// Gives up a request; one that is done or was never made is no matter.
    fn cancel(&mut self, peer: &Arc<Peer>, id: &str, desk: &mut Desk<'_>) {
        for (number, _) in self.calls.iter().filter(|(_, caller)| caller.is(peer, id)) {
            desk.cancel(*number);
        }
        let give_up = |caller: &Caller| {
            let his = caller.is(peer, id);
            if his {
                caller.answer(&Status::Preempted);
            }
            !his
        };
        self.alarms.retain(|(_, caller)| give_up(caller));
        self.captures.retain(|(.., caller)| give_up(caller));
    }

    fn call(
        &mut self,
        (component, service): (&str, &str),
        arguments: &[Json],
        desk: &mut Desk<'_>,
    ) -> Result<Reply, String> {
        match component {
            "simulation" => self.simulation(service, arguments, desk),
            "time" => self.time(service, arguments, desk),
            "communication" => {
                find(COMMUNICATION, service, arguments.len())?;
                let name = |at: usize| arguments[at].text().unwrap_or_default();
                objects::distance_and_view(desk.world, name(0), name(1)).map(Reply::Now)
            }
            component => self.component((component, service), arguments, desk),
        }
    }

    fn simulation(&mut self, service: &str, arguments: &[Json], desk: &mut Desk<'_>) -> Result<Reply, String> {
        find(SIMULATION, service, arguments.len())?;
        let name = arguments.first().and_then(Json::text).unwrap_or_default();
        let done = |text: &str| Ok(Reply::Now(Json::from(text)));
        match service {
            "details" => Ok(details::details(&lock(&self.hub.board), desk, &self.hub.environment).into()),
            "list_robots" => {
                let names = desk.world.robots().map(|robot| Json::Text(robot.address()));
                Ok(Json::List(names.collect()).into())
            }
            "list_streams" | "get_stream_port" | "get_all_stream_ports" => self.ports(service, name),
            "get_scene_objects" => Ok(objects::scene(desk.world).into()),
            "activate" | "deactivate" => self.activate(name, service == "activate", desk),
            "set_object_position" => {
                desk.post(objects::set_position(desk.world, name, &arguments[1..])?);
                Ok(Json::Null.into())
            }
            "set_object_visibility" => {
                let visible = arguments[1].number().is_some_and(|flag| flag != 0.0);
                desk.post(objects::set_visibility(desk.world, name, visible)?);
                Ok(Json::Bool(visible).into())
            }
            "reset_objects" => {
                objects::restore(desk.world).into_iter().for_each(|action| _ = desk.post(action));
                done("Objects restored to initial position")
            }
            "reset" => {
                self.give_up_all();
                desk.wish(Wish::Reset);
                done("Simulation restarted")
            }
            "quit" | "terminate" => {
                desk.wish(Wish::Quit);
                Ok(Json::Null.into())
            }
            "set_log_level" => Ok(Json::Null.into()),
            _ => {
                Err("found no way to suspend dynamics, expected simulated time to pass: use the lock-step port"
                    .to_owned())
            }
        }
    }

    /// Time begins anew, so nothing that waits for it can be answered otherwise.
    fn give_up_all(&mut self) {
        let calls = std::mem::take(&mut self.calls).into_values();
        let alarms = std::mem::take(&mut self.alarms).into_iter().map(|(_, caller)| caller);
        let captures = std::mem::take(&mut self.captures).into_iter().map(|(.., caller)| caller);
        calls.chain(alarms).chain(captures).for_each(|caller| caller.answer(&Status::Preempted));
    }

    fn ports(&self, service: &str, name: &str) -> Result<Reply, String> {
        let streams = self.hub.streams();
        let port = |at: &std::net::SocketAddr| Json::Int(i64::from(at.port()));
        Ok(Reply::Now(match service {
            "list_streams" => Json::List(streams.iter().map(|(path, ..)| Json::Text(path.clone())).collect()),
            "get_all_stream_ports" => Json::map(streams.iter().map(|(path, _, at)| (path.clone(), port(at)))),
            _ => {
                let found = streams.iter().find(|(path, ..)| path == name);
                port(&found.ok_or_else(|| format!("Stream unavailable for component {name}"))?.2)
            }
        }))
    }

    fn activate(&mut self, name: &str, active: bool, desk: &mut Desk<'_>) -> Result<Reply, String> {
        let mut board = lock(&self.hub.board);
        let found = board.channels.iter_mut().find(|(_, channel)| channel.path == name);
        let word = if active { "activate" } else { "deactivate" };
        let Some((&number, channel)) = found else {
            return Err(format!("Component '{name}' not found. Can't {word}"));
        };
        channel.active = active;
        drop(board);
        if let Some((json, traffic)) = self.held.remove(&number).filter(|_| active) {
            self.command(number, json, &traffic, desk);
        }
        Ok(Json::Null.into())
    }

    fn time(&mut self, service: &str, arguments: &[Json], desk: &mut Desk<'_>) -> Result<Reply, String> {
        find(TIME, service, arguments.len())?;
        let now = desk.world.time();
        let number = || {
            let number = arguments.first().and_then(Json::number).filter(|number| number.is_finite() && *number >= 0.0);
            number.ok_or_else(|| format!("{MANAGER}: wrong parameter type for service {service}. expected a number"))
        };
        Ok(match service {
            "now" => Json::Float(now.s()).into(),
            "mode" => Json::from("Fixed Simulation Step").into(),
            "sleep" => Reply::At(now + SimTime::from_s(number()?.min(1e9))),
            "set_time_scale" => {
                let scale = number()?;
                if scale <= 0.0 {
                    return Err(format!("found time scale {scale}, expected more than 0"));
                }
                desk.wish(Wish::Rtf(Some(scale)));
                Json::Bool(true).into()
            }
            _ => Json::map([
                ("mean_time", Json::Float(self.steps.mean_s)),
                ("variance_time", Json::Float(self.steps.variance())),
                ("diff_real_time", Json::Float(now.s() - desk.pace.wall_s)),
            ])
            .into(),
        })
    }

    fn component(
        &mut self,
        (path, service): (&str, &str),
        arguments: &[Json],
        desk: &mut Desk<'_>,
    ) -> Result<Reply, String> {
        if let Some((number, robot)) = desk.world.roster().find(|(_, robot)| robot.address() == path) {
            let offered = desk.services.iter().find(|known| known.name == service && known.offered_by(&robot.cohort));
            return match offered {
                Some(known) => ask_robot((path, known), arguments, desk),
                None => details::of_robot(service, &View::of(desk.world, number)).map(Reply::Now),
            };
        }
        let hub = Arc::clone(&self.hub);
        let board = lock(&hub.board);
        let channel = board.channels.values().find(|channel| channel.path == path && channel.service);
        let channel = channel.ok_or_else(|| unknown(service))?;
        if service == "set_property" {
            find(COMPONENT, service, arguments.len())?;
            return details::set_property(channel, arguments, desk).map(Reply::Now);
        }
        let gone = || format!("found no robot {:?}", channel.robot);
        let (number, _) = desk.world.roster().find(|(_, robot)| robot.address() == channel.robot).ok_or_else(gone)?;
        let robot = View::of(desk.world, number);
        match &channel.sort {
            Sort::Sensor { name, .. } => self.sensor((channel, name, service), arguments, (&robot, &board)),
            Sort::Actuator { name } => {
                let slot = robot.robot().and_then(|robot| actuator(robot, name)).ok_or_else(gone)?;
                let told: Vec<Told> = arguments.iter().map(Told::from).collect();
                let Some(offer) = slot.actuator.offers().iter().find(|offer| offer.name == service) else {
                    return details::of_actuator((channel, service), &robot).map(Reply::Now);
                };
                check_count(service, arguments.len(), (offer.least, offer.takes.len()))?;
                let deed = slot.actuator.ask(&robot, service, &told)?;
                act(deed, &channel.robot, desk)
            }
            Sort::Compound { .. } | Sort::Robot => Err(unknown(service)),
        }
    }

    fn sensor(
        &self,
        (channel, name, service): (&Channel, &str, &str),
        arguments: &[Json],
        (robot, board): (&View<'_>, &Board),
    ) -> Result<Reply, String> {
        let rows: Vec<Row> = details::sensor_rows(channel).concat();
        find(&rows, service, arguments.len())?;
        match service {
            "capture" => {
                let made = samples_made(robot.world(), &channel.robot, name).unwrap_or(0);
                let wanted = arguments[0].number().unwrap_or(0.0);
                let count = (wanted > 0.0).then(|| made + wanted as u64);
                Ok(Reply::Samples { robot: channel.robot.clone(), sensor: name.to_owned(), count })
            }
            _ => details::of_sensor((channel, name, service), arguments, (robot, board)).map(Reply::Now),
        }
    }

    /// A message for an actuator.
    fn command(&mut self, number: usize, json: Json, traffic: &Arc<Traffic>, desk: &mut Desk<'_>) {
        let hub = Arc::clone(&self.hub);
        let board = lock(&hub.board);
        let Some(channel) = board.channels.get(&number) else { return };
        if !channel.active {
            self.held.insert(number, (json, Arc::clone(traffic)));
            return;
        }
        if let Err(why) = obey(channel, &json, desk) {
            traffic.count_received(false);
            if self.complained.insert(number) {
                self.notes
                    .push(format!("a message to {} could not be followed, and perhaps more: {why}", channel.path));
            }
        }
    }
}

fn samples_made(world: &World, robot: &str, sensor: &str) -> Option<u64> {
    let robot = world.find(robot)?;
    let at = robot.cohort.blueprint.sensors.iter().position(|slot| slot.name == sensor)?;
    Some(world.samples(robot, at))
}

/// Asks a robot for one of its services as it is.
fn ask_robot(
    (robot, service): (&str, &'static Service),
    arguments: &[Json],
    desk: &mut Desk<'_>,
) -> Result<Reply, String> {
    let needed = |parameter: &&Parameter| matches!(parameter.form, Form::Word | Form::Robot | Form::Number);
    let least = service.parameters.iter().filter(needed).count();
    let most = if service.repeated > 0 { usize::MAX } else { service.parameters.len() };
    check_count(service.name, arguments.len(), (least, most))?;
    let datum = |json: &Json| match json {
        Json::Text(word) => Ok(Datum::Word(word.clone())),
        other => other
            .number()
            .map(Datum::Number)
            .ok_or_else(|| format!("found {}, expected a number or a word", other.to_text())),
    };
    let arguments = arguments.iter().map(datum).collect::<Result<Vec<_>, String>>()?;
    Ok(Reply::Call(desk.call(robot, service.name, &arguments)?, Json::Null))
}

/// Does what an actuator was asked for.
fn act(deed: Deed, robot: &str, desk: &mut Desk<'_>) -> Result<Reply, String> {
    let told = Json::from(&deed.told);
    let Some(Ask { robot: other, service, arguments }) = deed.ask else { return Ok(Reply::Now(told)) };
    let robot = other.as_deref().unwrap_or(robot);
    if deed.wait {
        return Ok(Reply::Call(desk.call(robot, service, &arguments)?, told));
    }
    desk.command(robot, service, &arguments)?;
    Ok(Reply::Now(told))
}

/// Does what a message to an actuator says.
fn obey(channel: &Channel, json: &Json, desk: &mut Desk<'_>) -> Result<(), String> {
    let Sort::Actuator { name } = &channel.sort else { return Err("found no actuator".to_owned()) };
    let number = desk.world.roster().find(|(_, robot)| robot.address() == channel.robot).map(|(number, _)| number);
    let robot = View::of(desk.world, number.ok_or("the robot is gone")?);
    let owner = robot.robot().ok_or("the robot is gone")?;
    let slot = actuator(owner, name).ok_or("the actuator is gone")?;
    let mut json = json.clone();
    to_world(channel.coordinates, &mut json, &desk.world.model().environment.origin);
    let values = values_of(&slot.actuator.inputs(&owner.cohort), &json)?;
    let Ask { robot: other, service, arguments } = Actuator::command(&*slot.actuator, &robot, &values)?;
    desk.command(other.as_deref().unwrap_or(&channel.robot), service, &arguments)
}

/// Turns places and angles of a message into those of the world.
fn to_world(coordinates: Coordinates, json: &mut Json, origin: &Geodetic) {
    let Json::Map(entries) = json else { return };
    let at = |key: &str| entries.iter().position(|(name, value)| name == key && value.number().is_some());
    let places = [at("x"), at("y"), at("z")];
    let (yaw, pitch) = (at("yaw"), at("pitch"));
    let get = |entries: &[(String, Json)], at: Option<usize>| at.and_then(|at| entries[at].1.number()).unwrap_or(0.0);
    let [x, y, z] = places.map(|place| get(entries, place));
    let plane = TangentPlane::new(origin);
    let of_earth = |place: Geodetic| plane.position_m(ecef_from_geodetic(&place)).to_array();
    let world = match coordinates {
        Coordinates::World => return,
        Coordinates::Ned => [y, x, -z],
        Coordinates::Feet => [x, y, z].map(|feet| feet * METRES_IN_A_FOOT),
        Coordinates::Ecef => plane.position_m(DVec3::new(x, y, z)).to_array(),
        Coordinates::Geodetic => of_earth(Geodetic { latitude_deg: y, longitude_deg: x, altitude_m: z }),
        Coordinates::Utm => {
            let zone = Utm::from_geodetic(origin);
            of_earth(Utm { easting_m: x, northing_m: y, ..zone }.geodetic(z))
        }
    };
    for (place, value) in places.into_iter().zip(world) {
        if let Some(at) = place {
            entries[at].1 = Json::Float(value);
        }
    }
    if coordinates == Coordinates::Ned {
        for (place, value) in [(yaw, std::f64::consts::FRAC_PI_2 - get(entries, yaw)), (pitch, -get(entries, pitch))] {
            if let Some(at) = place {
                entries[at].1 = Json::Float(value);
            }
        }
    }
}

const METRES_IN_A_FOOT: f64 = 0.3048;

/// The numbers of a message.
fn values_of(inputs: &[Input], json: &Json) -> Result<Vec<f64>, String> {
    let Json::Map(_) = json else { return Err(format!("found {}, expected a map", json.to_text())) };
    let mut values = Vec::new();
    for input in inputs {
        let wrong = |found: &str| format!("found {found} for {:?}, expected {} of numbers", input.name, input.len);
        match (json.get(&input.name), input.len) {
            (None | Some(Json::Null), 1) => values.push(input.default.ok_or_else(|| wrong("nothing"))?),
            (Some(told), 1) => values.push(told.number().ok_or_else(|| wrong(&told.to_text()))?),
            (Some(told), len) => {
                let items = told.items().filter(|items| items.len() == len).ok_or_else(|| wrong(&told.to_text()))?;
                let numbers = items.iter().map(Json::number).collect::<Option<Vec<f64>>>();
                values.extend(numbers.ok_or_else(|| wrong(&told.to_text()))?);
            }
            (None, _) => return Err(wrong("nothing")),
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_in_order() {
        for rows in [SIMULATION, TIME, COMMUNICATION, COMPONENT, SENSOR, CAMERA, JOINTS] {
            assert!(rows.is_sorted_by_key(|(name, ..)| *name));
        }
    }

    #[test]
    fn wrong_numbers_of_arguments_are_told_in_the_words_clients_look_for() {
        let told = |count: usize| check_count("goto", count, (3, 5)).err().unwrap_or_default();
        assert!(told(0).contains("parameters expected for service goto"));
        assert!(told(2).contains("wrong # of parameters for service goto"));
        assert!(told(6).contains("wrong # of parameters for service goto"));
        assert_eq!(told(3), "");
    }

    #[test]
    fn messages_have_all_that_is_needed_and_the_rest_by_default() {
        let inputs = [Input::needed("x", ""), Input::number("w", ""), Input::list("engines", 2, "")];
        let read = |text: &str| values_of(&inputs, &super::super::codec::parse(text.as_bytes()).unwrap_or(Json::Null));
        assert_eq!(read(r#"{"x": 1, "engines": [1500f, 2.5]}"#), Ok(vec![1.0, 0.0, 1500.0, 2.5]));
        assert!(read(r#"{"engines": [1, 2]}"#).is_err());
        assert!(read(r#"{"x": 1, "engines": [1]}"#).is_err());
        assert!(read(r#"{"x": "fast", "engines": [1, 2]}"#).is_err());
        assert!(read("[1, 2]").is_err());
    }
}
