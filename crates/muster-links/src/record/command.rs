//! Commands from outside as a recording holds them, one message `muster_msgs/msg/Command` each, in the order in which they
//! took effect. Its definition stands in the file, so any reader of ROS messages can show them.
//!
//! | `action` | `robot` | `numbers` | `words` |
//! |---|---|---|---|
//! | `setpoint` | who | mode, four numbers | |
//! | `set`, `add_property` | | values | path |
//! | `teleport` | who | position, orientation x y z w | |
//! | `delete`, `detach`, `show`, `hide` | who | | |
//! | `attach` | who | none for a weld, the point of a hitch | to whom |
//! | `call` | who | arguments that are numbers | service, `reply` or nothing, arguments that are words |
//! | `cancel` | | | the call's number |
//! | `modifiers` | who | | sensor, the modifiers as YAML |
//! | `spawn` | who | realm, pose, velocity, perhaps a hitch | key of what it is made of, perhaps who holds it |
//! | `reset` | | | |
//! | `lost` | | | what could not be written down |
//!
//! An action that a reader does not know makes the recording one that cannot be simulated again, not one that cannot be
//! read.

use crate::ros::messages::CommandRecord;
use glam::{DQuat, DVec3};
use muster_core::command::{Action, Applied, Command, Recipe};
use muster_core::component::Pose;
use muster_core::contact::Bond;
use muster_core::service::{self, Datum, Service};
use muster_core::time::SimTime;

/// What a recorded command does.
#[derive(Debug, Clone, PartialEq)]
pub enum Deed {
    /// See [`Action::Setpoint`].
    Setpoint {
        /// The robot.
        robot: String,
        /// The mode.
        mode: f64,
        /// The four numbers.
        values: [f64; 4],
    },
    /// See [`Action::Set`].
    Set {
        /// Which.
        path: String,
        /// To what.
        values: Vec<f64>,
    },
    /// See [`Action::AddProperty`].
    AddProperty {
        /// Which.
        path: String,
        /// Its value.
        values: Vec<f64>,
    },
    /// See [`Action::Teleport`].
    Teleport {
        /// The robot.
        robot: String,
        /// Where.
        pose: Pose,
    },
    /// See [`Action::Delete`].
    Delete {
        /// The robot.
        robot: String,
    },
    /// See [`Action::Attach`].
    Attach {
        /// The robot.
        robot: String,
        /// Who holds it.
        to: String,
        /// How.
        bond: Bond,
    },
    /// See [`Action::Detach`].
    Detach {
        /// The robot.
        robot: String,
    },
    /// See [`Action::Call`].
    Call {
        /// The robot.
        robot: String,
        /// The service's name.
        service: String,
        /// With what.
        arguments: Vec<Datum>,
        /// Whether the caller got an answer.
        reply: bool,
    },
    /// See [`Action::Cancel`].
    Cancel {
        /// The call's number on the link.
        sequence: u64,
    },
    /// Other modifiers for a sensor.
    Modifiers {
        /// The robot.
        robot: String,
        /// Its sensor.
        sensor: String,
        /// The modifiers, as under `modifiers:`.
        yaml: String,
    },
    /// Shows or hides a robot.
    Visible {
        /// The robot.
        robot: String,
        /// Whether it is to be seen.
        visible: bool,
    },
    /// See [`Action::Spawn`].
    Spawn(Spawned),
    /// The simulation began again.
    Reset,
    /// Something that could not be written down: from here on the recording cannot be simulated again.
    Lost(String),
}

/// A robot that came while the simulation ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Spawned {
    /// Its name.
    pub robot: String,
    /// Its realm.
    pub realm: u32,
    /// The key of the blueprint it is made of.
    pub key: String,
    /// Where it starts.
    pub pose: Pose,
    /// Initial velocity, m/s.
    pub velocity_mps: DVec3,
    /// Who holds it, and how.
    pub attached: Option<(String, Bond)>,
}

/// A recorded command.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// When it took effect.
    pub time: SimTime,
    /// Commands of one group took effect before events looked at the world.
    pub group: u64,
    /// The link it came by.
    pub link: u32,
    /// Its number on that link.
    pub sequence: u64,
    /// What it does.
    pub deed: Deed,
}

/// A command to be posted again, or what only the whole simulation can do.
pub enum Replayed {
    /// Post this.
    Post(Command),
    /// Give a sensor these modifiers.
    Modifiers {
        /// The robot.
        robot: String,
        /// Its sensor.
        sensor: String,
        /// The modifiers.
        yaml: String,
    },
    /// Show or hide a robot.
    Visible {
        /// The robot.
        robot: String,
        /// Whether it is to be seen.
        visible: bool,
    },
    /// Add this robot.
    Spawn(Spawned),
    /// Begin again.
    Reset,
}

impl Recorded {
    /// What is written down of a command.
    pub fn of(applied: &Applied) -> Self {
        let Applied { time, group, command } = applied;
        Self { time: *time, group: *group, link: command.link, sequence: command.sequence, deed: deed(&command.action) }
    }

    /// The message.
    pub fn message(&self) -> CommandRecord {
        let mut message = CommandRecord {
            stamp: self.time.into(),
            group: self.group,
            link: self.link,
            sequence: self.sequence,
            ..CommandRecord::default()
        };
        write(&self.deed, &mut message);
        message
    }

    /// From a message; an error says what was found and what was expected.
    pub fn read(message: &CommandRecord) -> Result<Self, String> {
        Ok(Self {
            time: message.stamp.sim(),
            group: message.group,
            link: message.link,
            sequence: message.sequence,
            deed: read(message)?,
        })
    }

    /// How to do it again; an error says why that is impossible.
    pub fn replay(&self, services: &'static [Service]) -> Result<Replayed, String> {
        let action = match self.deed.clone() {
            Deed::Setpoint { robot, mode, values } => Action::Setpoint { robot, mode, values },
            Deed::Set { path, values } => Action::Set { path, values },
            Deed::AddProperty { path, values } => Action::AddProperty { path, values },
            Deed::Teleport { robot, pose } => Action::Teleport { robot, pose },
            Deed::Delete { robot } => Action::Delete { robot },
            Deed::Attach { robot, to, bond } => Action::Attach { robot, to, bond },
            Deed::Detach { robot } => Action::Detach { robot },
            Deed::Call { robot, service, arguments, reply } => {
                let service = service::find(services, &service)?;
                service.check(&arguments)?;
                Action::Call { robot, service, arguments, reply }
            }
            Deed::Cancel { sequence } => Action::Cancel { sequence },
            Deed::Modifiers { robot, sensor, yaml } => return Ok(Replayed::Modifiers { robot, sensor, yaml }),
            Deed::Visible { robot, visible } => return Ok(Replayed::Visible { robot, visible }),
            Deed::Spawn(spawned) => return Ok(Replayed::Spawn(spawned)),
            Deed::Reset => return Ok(Replayed::Reset),
            Deed::Lost(what) => return Err(what),
        };
        Ok(Replayed::Post(Command { time: self.time, link: self.link, sequence: self.sequence, action }))
    }
}

fn deed(action: &Action) -> Deed {
    match action.clone() {
        Action::Setpoint { robot, mode, values } => Deed::Setpoint { robot, mode, values },
        Action::Set { path, values } => Deed::Set { path, values },
        Action::AddProperty { path, values } => Deed::AddProperty { path, values },
        Action::Teleport { robot, pose } => Deed::Teleport { robot, pose },
        Action::Delete { robot } => Deed::Delete { robot },
        Action::Attach { robot, to, bond } => Deed::Attach { robot, to, bond },
        Action::Detach { robot } => Deed::Detach { robot },
        Action::Call { robot, service, arguments, reply } => {
            Deed::Call { robot, service: service.name.to_owned(), arguments, reply }
        }
        Action::Cancel { sequence } => Deed::Cancel { sequence },
        Action::Retool { robot, recipe: Some(Recipe::Modifiers { sensor, yaml }), .. } => {
            Deed::Modifiers { robot, sensor, yaml }
        }
        Action::Retool { robot, recipe: Some(Recipe::Visible(visible)), .. } => Deed::Visible { robot, visible },
        Action::Retool { robot, recipe: None, .. } => {
            Deed::Lost(format!("robot {robot:?} was given another blueprint by a program"))
        }
        Action::Spawn(placement) => Deed::Spawn(Spawned {
            robot: placement.name,
            realm: placement.realm,
            key: placement.cohort.blueprint.key.clone(),
            pose: placement.pose,
            velocity_mps: placement.velocity_mps,
            attached: placement.attached,
        }),
    }
}

fn pose_numbers(pose: &Pose) -> impl Iterator<Item = f64> {
    pose.position_m.to_array().into_iter().chain(pose.orientation.to_array())
}

fn bond_numbers(bond: &Bond) -> Vec<f64> {
    match bond {
        Bond::Weld => Vec::new(),
        Bond::Hitch(at_m) => at_m.to_array().to_vec(),
    }
}

fn write(deed: &Deed, message: &mut CommandRecord) {
    let mut put = |action: &str, robot: &str, numbers: Vec<f64>, words: Vec<String>| {
        message.action = action.to_owned();
        message.robot = robot.to_owned();
        (message.numbers, message.words) = (numbers, words);
    };
    match deed {
        Deed::Setpoint { robot, mode, values } => {
            put("setpoint", robot, [*mode].iter().chain(values).copied().collect(), Vec::new());
        }
        Deed::Set { path, values } => put("set", "", values.clone(), vec![path.clone()]),
        Deed::AddProperty { path, values } => put("add_property", "", values.clone(), vec![path.clone()]),
        Deed::Teleport { robot, pose } => put("teleport", robot, pose_numbers(pose).collect(), Vec::new()),
        Deed::Delete { robot } => put("delete", robot, Vec::new(), Vec::new()),
        Deed::Attach { robot, to, bond } => put("attach", robot, bond_numbers(bond), vec![to.clone()]),
        Deed::Detach { robot } => put("detach", robot, Vec::new(), Vec::new()),
        Deed::Call { robot, service, arguments, reply } => {
            let mut words = vec![service.clone(), if *reply { "reply" } else { "" }.to_owned()];
            let mut numbers = Vec::new();
            let mut order = String::new();
            for argument in arguments {
                match argument {
                    Datum::Number(value) => numbers.push(*value),
                    Datum::Word(word) => words.push(word.clone()),
                }
                order.push(if matches!(argument, Datum::Number(_)) { 'n' } else { 'w' });
            }
            put("call", robot, numbers, words);
            message.order = order;
        }
        Deed::Cancel { sequence } => put("cancel", "", Vec::new(), vec![sequence.to_string()]),
        Deed::Modifiers { robot, sensor, yaml } => {
            put("modifiers", robot, Vec::new(), vec![sensor.clone(), yaml.clone()]);
        }
        Deed::Visible { robot, visible } => {
            put(if *visible { "show" } else { "hide" }, robot, Vec::new(), Vec::new());
        }
        Deed::Spawn(spawned) => {
            let mut numbers = vec![f64::from(spawned.realm)];
            numbers.extend(pose_numbers(&spawned.pose).chain(spawned.velocity_mps.to_array()));
            let mut words = vec![spawned.key.clone()];
            if let Some((holder, bond)) = &spawned.attached {
                numbers.extend(bond_numbers(bond));
                words.push(holder.clone());
            }
            put("spawn", &spawned.robot, numbers, words);
        }
        Deed::Reset => put("reset", "", Vec::new(), Vec::new()),
        Deed::Lost(what) => put("lost", "", Vec::new(), vec![what.clone()]),
    }
}

fn wrong(message: &CommandRecord) -> String {
    let (numbers, words) = (message.numbers.len(), message.words.len());
    format!("found command {:?} with {numbers} numbers and {words} words, expected what muster writes", message.action)
}

fn pose(numbers: &[f64]) -> Option<Pose> {
    let [x, y, z, i, j, k, w] = numbers else { return None };
    Some(Pose { position_m: DVec3::new(*x, *y, *z), orientation: DQuat::from_xyzw(*i, *j, *k, *w) })
}

fn bond(numbers: &[f64]) -> Option<Bond> {
    match numbers {
        [] => Some(Bond::Weld),
        [x, y, z] => Some(Bond::Hitch(DVec3::new(*x, *y, *z))),
        _ => None,
    }
}

fn read(message: &CommandRecord) -> Result<Deed, String> {
    let robot = message.robot.clone();
    let (numbers, words) = (message.numbers.as_slice(), message.words.as_slice());
    let deed = match (message.action.as_str(), numbers, words) {
        ("setpoint", [mode, a, b, c, d], []) => Some(Deed::Setpoint { robot, mode: *mode, values: [*a, *b, *c, *d] }),
        ("set", values, [path]) => Some(Deed::Set { path: path.clone(), values: values.to_vec() }),
        ("add_property", values, [path]) => Some(Deed::AddProperty { path: path.clone(), values: values.to_vec() }),
        ("teleport", numbers, []) => pose(numbers).map(|pose| Deed::Teleport { robot, pose }),
        ("delete", [], []) => Some(Deed::Delete { robot }),
        ("attach", numbers, [to]) => bond(numbers).map(|bond| Deed::Attach { robot, to: to.clone(), bond }),
        ("detach", [], []) => Some(Deed::Detach { robot }),
        ("call", numbers, [service, reply, words @ ..]) => {
            let (service, reply) = (service.clone(), reply == "reply");
            arguments(&message.order, numbers, words).map(|arguments| Deed::Call { robot, service, arguments, reply })
        }
        ("cancel", [], [number]) => number.parse().ok().map(|sequence| Deed::Cancel { sequence }),
        ("modifiers", [], [sensor, yaml]) => {
            Some(Deed::Modifiers { robot, sensor: sensor.clone(), yaml: yaml.clone() })
        }
        ("show" | "hide", [], []) => Some(Deed::Visible { robot, visible: message.action == "show" }),
        ("spawn", numbers, words) => spawned(robot, numbers, words).map(Deed::Spawn),
        ("reset", [], []) => Some(Deed::Reset),
        ("lost", [], [what]) => Some(Deed::Lost(what.clone())),
        _ => None,
    };
    deed.ok_or_else(|| wrong(message))
}

fn arguments(order: &str, numbers: &[f64], words: &[String]) -> Option<Vec<Datum>> {
    if order.len() != numbers.len() + words.len() {
        return None;
    }
    let (mut numbers, mut words) = (numbers.iter(), words.iter());
    let next = |form| match form {
        'n' => numbers.next().copied().map(Datum::Number),
        'w' => words.next().cloned().map(Datum::Word),
        _ => None,
    };
    order.chars().map(next).collect()
}

fn spawned(robot: String, numbers: &[f64], words: &[String]) -> Option<Spawned> {
    let (start, rest) = numbers.split_at_checked(11)?;
    let realm = start[0];
    if !(0.0..=f64::from(u32::MAX)).contains(&realm) || realm.fract() != 0.0 {
        return None;
    }
    let attached = match words {
        [_] if rest.is_empty() => None,
        [_, holder] => Some((holder.clone(), bond(rest)?)),
        _ => return None,
    };
    Some(Spawned {
        robot,
        realm: realm as u32,
        key: words[0].clone(),
        pose: pose(&start[1..8])?,
        velocity_mps: DVec3::new(start[8], start[9], start[10]),
        attached,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::cdr::{Reader, Writer};
    use proptest::prelude::*;

    fn numbers() -> impl Strategy<Value = f64> {
        prop_oneof![any::<f64>().prop_filter("equal to itself", |value| !value.is_nan()), Just(0.0), Just(-0.0)]
    }

    fn poses() -> impl Strategy<Value = Pose> {
        prop::array::uniform7(numbers()).prop_map(|n| Pose {
            position_m: DVec3::new(n[0], n[1], n[2]),
            orientation: DQuat::from_xyzw(n[3], n[4], n[5], n[6]),
        })
    }

    fn bonds() -> impl Strategy<Value = Bond> {
        let hitch = prop::array::uniform3(numbers()).prop_map(|at| Bond::Hitch(DVec3::from_array(at)));
        prop_oneof![Just(Bond::Weld), hitch]
    }

    fn deeds() -> impl Strategy<Value = Deed> {
        let word = || ".{0,12}";
        let values = || prop::collection::vec(numbers(), 0..6);
        let datum = prop_oneof![numbers().prop_map(Datum::Number), word().prop_map(Datum::Word)];
        let placed = (word(), any::<u32>(), word(), poses(), prop::array::uniform3(numbers()));
        prop_oneof![
            (word(), numbers(), prop::array::uniform4(numbers())).prop_map(|(robot, mode, values)| Deed::Setpoint {
                robot,
                mode,
                values
            }),
            (word(), values()).prop_map(|(path, values)| Deed::Set { path, values }),
            (word(), values()).prop_map(|(path, values)| Deed::AddProperty { path, values }),
            (word(), poses()).prop_map(|(robot, pose)| Deed::Teleport { robot, pose }),
            word().prop_map(|robot| Deed::Delete { robot }),
            (word(), word(), bonds()).prop_map(|(robot, to, bond)| Deed::Attach { robot, to, bond }),
            word().prop_map(|robot| Deed::Detach { robot }),
            (word(), word(), prop::collection::vec(datum, 0..6), any::<bool>())
                .prop_map(|(robot, service, arguments, reply)| Deed::Call { robot, service, arguments, reply }),
            any::<u64>().prop_map(|sequence| Deed::Cancel { sequence }),
            (word(), word(), word()).prop_map(|(robot, sensor, yaml)| Deed::Modifiers { robot, sensor, yaml }),
            (placed, prop::option::of((word(), bonds()))).prop_map(
                |((robot, realm, key, pose, velocity), attached)| {
                    let velocity_mps = DVec3::from_array(velocity);
                    Deed::Spawn(Spawned { robot, realm, key, pose, velocity_mps, attached })
                }
            ),
            (word(), any::<bool>()).prop_map(|(robot, visible)| Deed::Visible { robot, visible }),
            Just(Deed::Reset),
            word().prop_map(Deed::Lost),
        ]
    }

    proptest! {
        #[test]
        fn commands_are_read_as_they_were_written(
            deed in deeds(), ns in 0..u64::from(u32::MAX) * 1_000_000, group: u64, link: u32, sequence: u64,
        ) {
            let recorded = Recorded { time: SimTime::from_ns(ns), group, link, sequence, deed };
            let mut writer = Writer::default();
            let message: CommandRecord = Reader::message(writer.message(&recorded.message())).unwrap();
            prop_assert_eq!(Recorded::read(&message).unwrap(), recorded);
        }

        #[test]
        fn any_message_is_read_or_refused(
            action in "set|call|spawn|attach|teleport|cancel|modifiers|.{0,6}",
            numbers in prop::collection::vec(any::<f64>(), 0..16),
            words in prop::collection::vec(".{0,6}", 0..4),
            order in "[nw]{0,6}|.{0,4}",
        ) {
            let message = CommandRecord { action, numbers, words, order, ..CommandRecord::default() };
            _ = Recorded::read(&message);
        }
    }
}
