//! Which messages the samples of a sensor become, and on which topics.
//!
//! The choice is made by what a sample holds (names of fields, rays, a lens), not by the kind of sensor, so it serves
//! sensors of plug-ins as well. Fields that modifiers renamed or turned into axes with z down fit no common message; such
//! sensors, and those for which ROS has no message, get one of their own with their fields by name (`other`): nothing is
//! untold.
//!
//! | a sample holds | message | topic below `/robot` |
//! |---|---|---|
//! | ranges of rays in a plane, evenly apart | `LaserScan` | `scan` |
//! | a single range | `Range` | `range/SENSOR` |
//! | ranges of other rays, or points | `PointCloud2` | `points` |
//! | an image | `Image` and `CameraInfo` | `camera/image_raw`, `camera/camera_info`, `camera/depth/image_raw`, … |
//! | `accel_mps2` and `angular_velocity_radps`; or `orientation` and that | `Imu` | `imu`; `attitude` |
//! | `latitude_deg`, `longitude_deg`, `altitude_m` | `NavSatFix`, and `TwistStamped` if there is a velocity | `fix`, `fix_velocity` |
//! | pose and twist since the start | `Odometry` in frame `ROBOT/odom` | `odom` |
//! | pose and twist in the world | `Odometry` in frame `world` | `truth` |
//! | pose; position alone | `PoseStamped`; `PointStamped` | `pose`; `position` |
//! | velocity in the body | `TwistStamped` | `velocity` |
//! | `position` and `rate` of joints | `JointState` | `joint_states` |
//! | `charge_percent` | `BatteryState` | `battery_state` |
//! | `magnetic_field_t`, `pressure_pa`, `temperature_c`, `illuminance_lx` | `MagneticField`, `FluidPressure`, `Temperature`, `Illuminance` | `mag`, `pressure`, `temperature`, `illuminance` |
//! | anything else | `muster_msgs/msg/KIND` | `SENSOR` |
//!
//! If several sensors of a robot would have the same topic, each has its name before it: `front/scan`, `rear/scan`; the
//! one that is named like the topic keeps it.

mod body;
mod image;
mod other;
mod range;

use super::cdr::{Field, Writer};
use super::messages::{Header, Message};
use super::names;
use muster_core::lanes::Quantity;
use muster_core::model::{Blueprint, SensorSlot};
use muster_core::time::SimTime;
use std::collections::BTreeMap;

pub use body::{odom_from_base, tells_odometry, tells_truth};
pub use image::baseline_of;

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// Its name: `/scout0/scan`.
    pub name: String,
    /// The message on it: `sensor_msgs/msg/LaserScan`.
    pub message: String,
    /// The definition of the message.
    pub schema: String,
}

/// A sensor in its place.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    /// The robot, as in topics.
    pub(crate) robot: &'a str,
    pub(crate) blueprint: &'a Blueprint,
    pub(crate) slot: &'a SensorSlot,
}

impl Source<'_> {
    /// Where a field begins in a record, if it has so many numbers and the usual axes.
    pub(crate) fn find(&self, name: &str, len: usize) -> Option<usize> {
        let mut at = 0;
        for field in self.slot.fields() {
            if field.name == name {
                return (field.len == len && !field.down).then_some(at);
            }
            at += field.len;
        }
        None
    }

    /// How many numbers a record has.
    pub(crate) fn record(&self) -> usize {
        Quantity::total(self.slot.fields())
    }

    /// A header in the sensor's frame.
    pub(crate) fn header(&self) -> Header {
        Header { frame_id: names::link(self.robot, &self.slot.name), ..Header::default() }
    }
}

/// What sends messages somewhere.
pub struct Mouth<'a> {
    /// Room for a message.
    pub writer: &'a mut Writer,
    /// Who hears: which topic of the speaker, and the message.
    pub hear: &'a mut dyn FnMut(usize, &[u8]),
}

impl Mouth<'_> {
    pub(crate) fn say(&mut self, topic: usize, message: &impl Field) {
        (self.hear)(topic, self.writer.message(message));
    }
}

/// Makes messages of samples; keeps them to fill them anew.
pub(crate) trait Form: Send {
    fn say(&mut self, stamp: SimTime, values: &[f64], mouth: &mut Mouth<'_>);
}

/// Where the topics of a form are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// `word`, or `sensor/word` if there are several.
    Word,
    /// `folder/word`, or `sensor/word` if there are several.
    Folder(&'static str),
    /// `folder/sensor`.
    In(&'static str),
    /// `sensor`.
    Own,
}

/// A form, its place, and words and messages of its topics.
pub(crate) struct Made {
    pub(crate) place: Place,
    pub(crate) topics: Vec<(&'static str, String, String)>,
    pub(crate) form: Box<dyn Form>,
}

impl Made {
    pub(crate) fn one<M: Message>(word: &'static str, form: impl Form + 'static) -> Self {
        Self { place: Place::Word, topics: vec![topic::<M>(word)], form: Box::new(form) }
    }
}

pub(crate) fn topic<M: Message>(word: &'static str) -> (&'static str, String, String) {
    (word, M::NAME.to_owned(), M::schema())
}

/// Those who may know a message for a sensor, in the order they are asked.
const FORMS: &[fn(&Source<'_>) -> Option<Made>] = &[image::image, range::range, range::points, body::body];

/// Says the samples of one sensor.
pub struct Speaker {
    /// Where.
    pub topics: Vec<Topic>,
    form: Box<dyn Form>,
}

impl Speaker {
    /// Says a sample.
    pub fn say(&mut self, stamp: SimTime, values: &[f64], mouth: &mut Mouth<'_>) {
        self.form.say(stamp, values, mouth);
    }
}

/// Names of messages that were made up, and what they hold, so that one name means one thing.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary {
    own: BTreeMap<String, String>,
}

impl Vocabulary {
    /// A name for a definition: the word asked for, or, if that means something else already, the word and a number.
    pub(crate) fn name(&mut self, word: &str, definition: &str) -> String {
        for number in 1.. {
            let name = if number == 1 { word.to_owned() } else { format!("{word}{number}") };
            match self.own.get(&name) {
                Some(known) if known != definition => (),
                Some(_) => return name,
                None => {
                    self.own.insert(name.clone(), definition.to_owned());
                    return name;
                }
            }
        }
        word.to_owned()
    }
}

/// Speakers for every sensor of a robot, in their order.
pub fn speakers(robot: &str, blueprint: &Blueprint, vocabulary: &mut Vocabulary) -> Vec<Speaker> {
    let robot = &names::token(robot);
    let mut make = |slot| {
        let source = Source { robot, blueprint, slot };
        FORMS.iter().find_map(|form| form(&source)).unwrap_or_else(|| other::other(&source, vocabulary))
    };
    let made: Vec<Made> = blueprint.sensors.iter().map(&mut make).collect();
    let sort = |made: &Made| (made.place.clone(), made.topics[0].0);
    let crowd: Vec<usize> =
        made.iter().map(|one| made.iter().filter(|other| sort(other) == sort(one)).count()).collect();
    let mut taken: Vec<String> = Vec::new();
    let all = made.into_iter().zip(&blueprint.sensors).zip(crowd);
    all.map(|((made, slot), crowd)| {
        let topics = made.topics.into_iter().map(|(word, message, schema)| {
            let mut name = format!("/{robot}/{}", path(&made.place, word, &names::token(&slot.name), crowd == 1));
            while taken.contains(&name) {
                name.push('_');
            }
            taken.push(name.clone());
            Topic { name, message, schema }
        });
        Speaker { topics: topics.collect(), form: made.form }
    })
    .collect()
}

fn path(place: &Place, word: &str, sensor: &str, alone: bool) -> String {
    match place {
        Place::Word if alone || sensor == word => word.to_owned(),
        Place::Word => format!("{sensor}/{word}"),
        Place::Folder(folder) if alone => format!("{folder}/{word}"),
        Place::Folder(_) => format!("{sensor}/{word}"),
        Place::In(folder) => format!("{folder}/{sensor}"),
        Place::Own => sensor.to_owned(),
    }
}
