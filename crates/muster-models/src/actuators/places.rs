//! Places to go to. Robots need the driver `goto`, which says when they have arrived.

use super::{build, first};
use crate::drivers::status;
use glam::DVec3;
use muster_core::actuator::{Actuator, Ask, Deed, Input, Offer, Told, numbers};
use muster_core::component::Kind;
use muster_core::model::Cohort;
use muster_core::service::{View, driver_for};
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Parameters of waypoint.
    pub struct Waypoint {
        /// Speed, where a message or call gives none.
        speed_mps: f64 = 1.0, in 0.0..=1000.0;
        /// The place is reached within this distance, where a message or call gives none.
        tolerance_m: f64 = 0.5, in 0.000001..=100000;
        /// Heights count.
        free_z: bool = false;
    }
}

spec! {
    /// Parameters of destination.
    pub struct Destination {
        /// Speed.
        speed_mps: f64 = 5.0, in 0.0..=1000.0;
        /// The place is reached within this distance.
        tolerance_m: f64 = 0.5, in 0.000001..=100000;
    }
}

spec! {
    /// Parameters of rotorcraft_waypoint.
    pub struct RotorcraftWaypoint {
        /// The place is reached within this distance, where a message or call gives none.
        tolerance_m: f64 = 0.2, in 0.000001..=100000;
    }
}

/// Places, one after the other.
pub const WAYPOINT: Kind<dyn Actuator> = Kind {
    name: "waypoint",
    doc: "A place to go to: {x, y, z, tolerance, speed}; goto, setdest, stop, resume, get_status.",
    fields: Waypoint::FIELDS,
    build: &build::<Waypoint>,
};

/// One place.
pub const DESTINATION: Kind<dyn Actuator> = Kind {
    name: "destination",
    doc: "A place to go to with the actuator's own speed and tolerance: {x, y, z}.",
    fields: Destination::FIELDS,
    build: &build::<Destination>,
};

/// Places in the air.
pub const ROTORCRAFT_WAYPOINT: Kind<dyn Actuator> = Kind {
    name: "rotorcraft_waypoint",
    doc: "A place in the air and a heading: {x, y, z, yaw, tolerance}; goto (which leaves the heading), setdest, get_status.",
    fields: RotorcraftWaypoint::FIELDS,
    build: &build::<RotorcraftWaypoint>,
};

const X: Input = Input::needed("x", "Where to, east, m.");
const Y: Input = Input::needed("y", "Where to, north, m.");
const Z: Input = Input::number("z", "Where to, up, m; counts where positions are commanded.");
const ARRIVED: &str = "Arrived";

fn tolerance() -> Input {
    Input { default: Some(f64::NAN), ..Input::number("tolerance", "The place is reached within this distance, m.") }
}

/// What a robot with the driver `goto` is doing, in MORSE's words.
fn status_of(robot: &View<'_>) -> Told {
    let word = match robot.number("driver.status").unwrap_or(0.0) as i64 {
        status::TRANSIT => "Transit",
        status::ARRIVED => ARRIVED,
        _ => "Stop",
    };
    Told::from(word)
}

fn distance_m(robot: &View<'_>, place: DVec3, flat: bool) -> f64 {
    let way = place - robot.pose().position_m;
    if flat { way.truncate().length() } else { way.length() }
}

const STATUS: Offer = Offer {
    name: "get_status",
    takes: &[],
    least: 0,
    doc: "Tells whether the robot is in Transit, Arrived or told to Stop.",
};

impl Waypoint {
    fn ask_goto(&self, [x, y, z, tolerance, speed]: [f64; 5]) -> Ask {
        let or = |value: f64, default: f64| if value.is_nan() { default } else { value };
        Ask::own("goto", &[x, y, z, or(tolerance, self.tolerance_m), or(speed, self.speed_mps)])
    }

    fn place(&self, arguments: &[Told]) -> Result<[f64; 5], String> {
        numbers(arguments, [0.0, 0.0, 0.0, self.tolerance_m, self.speed_mps])
    }
}

const PLACE: &[&str] = &["x", "y", "z", "tolerance", "speed"];

impl Actuator for Waypoint {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        let speed = Input { default: Some(f64::NAN), ..Input::number("speed", "Speed on the way, m/s.") };
        vec![X, Y, Z, tolerance(), speed]
    }

    fn service(&self) -> &'static str {
        "goto"
    }

    fn command(&self, _: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        Ok(self.ask_goto(first(values)?))
    }

    fn offers(&self) -> &'static [Offer] {
        const {
            &[
                Offer { name: "goto", takes: PLACE, least: 3, doc: "Goes to a place and answers on arrival." },
                Offer {
                    name: "setdest",
                    takes: PLACE,
                    least: 3,
                    doc: "Goes to a place and answers at once whether it is not there yet.",
                },
                Offer { name: "stop", takes: &[], least: 0, doc: "Stops, but keeps where it was to go." },
                Offer { name: "resume", takes: &[], least: 0, doc: "Goes on where it was to go." },
                STATUS,
            ]
        }
    }

    fn ask(&self, robot: &View<'_>, offer: &str, arguments: &[Told]) -> Result<Deed, String> {
        Ok(match offer {
            "goto" => Deed::wait(self.ask_goto(self.place(arguments)?), Told::from(ARRIVED)),
            "setdest" => {
                let place = self.place(arguments)?;
                let [x, y, z, tolerance_m, _] = place;
                if distance_m(robot, DVec3::new(x, y, z), !self.free_z) <= tolerance_m {
                    return Ok(Deed::tell(Told::Flag(false)));
                }
                Deed::ask(self.ask_goto(place), Told::Flag(true))
            }
            "stop" => Deed::ask(Ask::own("stop", &[]), Told::from("Stop")),
            "resume" => Deed::ask(Ask::own("resume", &[]), Told::from("Transit")),
            _ => Deed::tell(status_of(robot)),
        })
    }
}

impl Actuator for Destination {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        vec![X, Y, Z]
    }

    fn service(&self) -> &'static str {
        "goto"
    }

    fn command(&self, _: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        let [x, y, z] = first(values)?;
        Ok(Ask::own("goto", &[x, y, z, self.tolerance_m, self.speed_mps]))
    }
}

impl Actuator for RotorcraftWaypoint {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        vec![X, Y, Z, Input::number("yaw", "Heading from east, counter-clockwise, rad."), tolerance()]
    }

    fn service(&self) -> &'static str {
        "position"
    }

    fn command(&self, _: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        Ok(Ask::own("position", &first::<4>(values)?))
    }

    fn offers(&self) -> &'static [Offer] {
        const TAKES: &[&str] = &["x", "y", "z", "yaw", "tolerance"];
        const {
            &[
                Offer {
                    name: "goto",
                    takes: TAKES,
                    least: 4,
                    doc: "Goes to a place and answers on arrival, for robots with the driver goto.",
                },
                Offer {
                    name: "setdest",
                    takes: TAKES,
                    least: 4,
                    doc: "Goes to a place with a heading and answers at once whether it is not there yet.",
                },
                STATUS,
            ]
        }
    }

    fn ask(&self, robot: &View<'_>, offer: &str, arguments: &[Told]) -> Result<Deed, String> {
        let [x, y, z, yaw, tolerance_m] = numbers(arguments, [0.0, 0.0, 0.0, 0.0, self.tolerance_m])?;
        let driven = robot.blueprint().is_some_and(|blueprint| driver_for(blueprint, "goto").is_some());
        Ok(match offer {
            "goto" if !driven => {
                return Err("found no driver that follows goto, expected driver: {kind: goto}".to_owned());
            }
            "goto" => Deed::wait(Ask::own("goto", &[x, y, z, tolerance_m]), Told::from(ARRIVED)),
            "setdest" if distance_m(robot, DVec3::new(x, y, z), false) <= tolerance_m => Deed::tell(Told::Flag(false)),
            "setdest" => Deed::ask(Ask::own("position", &[x, y, z, yaw]), Told::Flag(true)),
            _ => Deed::tell(status_of(robot)),
        })
    }
}
