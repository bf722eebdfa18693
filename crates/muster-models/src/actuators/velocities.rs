//! Velocities: forward and turning, sideways too, and in space.

use super::{build, first};
use muster_core::actuator::{Actuator, Ask, Deed, Input, Offer, Told, numbers};
use muster_core::component::Kind;
use muster_core::model::Cohort;
use muster_core::service::View;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Parameters of v_omega.
    pub struct VOmega {
    }
}

spec! {
    /// Parameters of xy_omega.
    pub struct XyOmega {
    }
}

spec! {
    /// Parameters of velocity.
    pub struct Velocity {
    }
}

/// Speed forward and turn rate.
pub const V_OMEGA: Kind<dyn Actuator> = Kind {
    name: "v_omega",
    doc: "Speed forward and turn rate: {v, w}; set_speed, stop.",
    fields: VOmega::FIELDS,
    build: &build::<VOmega>,
};

/// Speeds forward and to the left, and turn rate.
pub const XY_OMEGA: Kind<dyn Actuator> = Kind {
    name: "xy_omega",
    doc: "Speed forward and to the left, and turn rate, for robots that move sideways: {x, y, w}; stop.",
    fields: XyOmega::FIELDS,
    build: &build::<XyOmega>,
};

/// A velocity in space.
pub const VELOCITY: Kind<dyn Actuator> = Kind {
    name: "velocity",
    doc: "Velocity in the frame of the heading, and turn rate, for aircraft: {vx, vy, vz, vyaw}; setvel, stop.",
    fields: Velocity::FIELDS,
    build: &build::<Velocity>,
};

const STOP: Offer = Offer { name: "stop", takes: &[], least: 0, doc: "Stops the robot." };

fn stop() -> Deed {
    Deed::ask(Ask::own("stop", &[]), Told::Nothing)
}

const TURN: Input = Input::number("w", "Turn rate, to the left, rad/s.");

impl Actuator for VOmega {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        vec![Input::number("v", "Speed forward, m/s."), TURN]
    }

    fn service(&self) -> &'static str {
        "v_omega"
    }

    fn command(&self, _: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        Ok(Ask::own("v_omega", &first::<2>(values)?))
    }

    fn offers(&self) -> &'static [Offer] {
        const { &[Offer { name: "set_speed", takes: &["v", "w"], least: 2, doc: "Sets speed and turn rate." }, STOP] }
    }

    fn ask(&self, _: &View<'_>, offer: &str, arguments: &[Told]) -> Result<Deed, String> {
        match offer {
            "set_speed" => Ok(Deed::ask(Ask::own("v_omega", &numbers::<2>(arguments, [0.0; 2])?), Told::Nothing)),
            _ => Ok(stop()),
        }
    }
}

impl Actuator for XyOmega {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        vec![Input::number("x", "Speed forward, m/s."), Input::number("y", "Speed to the left, m/s."), TURN]
    }

    fn service(&self) -> &'static str {
        "xy_omega"
    }

    fn command(&self, _: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        Ok(Ask::own("xy_omega", &first::<3>(values)?))
    }

    fn offers(&self) -> &'static [Offer] {
        const { &[STOP] }
    }

    fn ask(&self, _: &View<'_>, _: &str, _: &[Told]) -> Result<Deed, String> {
        Ok(stop())
    }
}

impl Actuator for Velocity {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        vec![
            Input::number("vx", "Forward, m/s."),
            Input::number("vy", "To the left, m/s."),
            Input::number("vz", "Up, m/s."),
            Input::number("vyaw", "Turn rate, to the left, rad/s."),
        ]
    }

    fn service(&self) -> &'static str {
        "velocity"
    }

    fn command(&self, _: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        Ok(Ask::own("velocity", &first::<4>(values)?))
    }

    fn offers(&self) -> &'static [Offer] {
        const {
            &[
                Offer {
                    name: "setvel",
                    takes: &["vx", "vy", "vz", "vyaw", "tolerance"],
                    least: 4,
                    doc: "Sets the velocity; the tolerance has no meaning here.",
                },
                STOP,
            ]
        }
    }

    fn ask(&self, _: &View<'_>, offer: &str, arguments: &[Told]) -> Result<Deed, String> {
        match offer {
            "setvel" => Ok(Deed::ask(Ask::own("velocity", &numbers::<4>(arguments, [0.0; 4])?), Told::Nothing)),
            _ => Ok(stop()),
        }
    }
}
