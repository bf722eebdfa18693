//! Lamps, keys, and the end of a robot.

use super::build;
use muster_core::actuator::{Actuator, Ask, Deed, Input, Offer, Told};
use muster_core::component::Kind;
use muster_core::model::Cohort;
use muster_core::service::{Datum, View};
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Parameters of light.
    pub struct Light {
    }
}

spec! {
    /// Parameters of keyboard.
    pub struct Keyboard {
    }
}

spec! {
    /// Parameters of destroyer.
    pub struct Destroyer {
    }
}

/// A lamp.
pub const LIGHT: Kind<dyn Actuator> =
    Kind { name: "light", doc: "The robot's lamp: {emit}; toggle.", fields: Light::FIELDS, build: &build::<Light> };

/// Keys.
pub const KEYBOARD: Kind<dyn Actuator> = Kind {
    name: "keyboard",
    doc: "Keys of a robot with the driver keyboard: press, release.",
    fields: Keyboard::FIELDS,
    build: &build::<Keyboard>,
};

/// The end of the robot.
pub const DESTROYER: Kind<dyn Actuator> = Kind {
    name: "destroyer",
    doc: "Removes the robot: destroy.",
    fields: Destroyer::FIELDS,
    build: &build::<Destroyer>,
};

fn switch(on: bool) -> Ask {
    Ask::own(if on { "on" } else { "off" }, &[])
}

impl Actuator for Light {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        vec![Input::needed("emit", "Whether it is on.")]
    }

    fn service(&self) -> &'static str {
        "on"
    }

    fn command(&self, _: &View<'_>, values: &[f64]) -> Result<Ask, String> {
        Ok(switch(values.first().is_some_and(|emit| *emit != 0.0)))
    }

    fn offers(&self) -> &'static [Offer] {
        const { &[Offer { name: "toggle", takes: &["emit"], least: 0, doc: "Switches it on or off, or to the other." }] }
    }

    fn ask(&self, robot: &View<'_>, _: &str, arguments: &[Told]) -> Result<Deed, String> {
        let lit = robot.number("light").unwrap_or(0.0) != 0.0;
        let on = arguments.first().and_then(Told::number).map_or(!lit, |emit| emit != 0.0);
        Ok(Deed::ask(switch(on), Told::Nothing))
    }
}

const KEY: &[&str] = &["key"];

impl Actuator for Keyboard {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        Vec::new()
    }

    fn service(&self) -> &'static str {
        "press"
    }

    fn command(&self, _: &View<'_>, _: &[f64]) -> Result<Ask, String> {
        Err("found a message, expected press or release to be asked".to_owned())
    }

    fn offers(&self) -> &'static [Offer] {
        const {
            &[
                Offer { name: "press", takes: KEY, least: 1, doc: "Holds a key down." },
                Offer { name: "release", takes: KEY, least: 1, doc: "Lets a key go up." },
            ]
        }
    }

    fn ask(&self, _: &View<'_>, offer: &str, arguments: &[Told]) -> Result<Deed, String> {
        let key = arguments.first().and_then(Told::word).unwrap_or_default();
        let service = if offer == "press" { "press" } else { "release" };
        Ok(Deed::ask(Ask { robot: None, service, arguments: vec![Datum::from(key)] }, Told::Nothing))
    }
}

impl Actuator for Destroyer {
    fn inputs(&self, _: &Cohort) -> Vec<Input> {
        Vec::new()
    }

    fn service(&self) -> &'static str {
        "delete"
    }

    fn command(&self, _: &View<'_>, _: &[f64]) -> Result<Ask, String> {
        Err("found a message, expected destroy to be asked".to_owned())
    }

    fn offers(&self) -> &'static [Offer] {
        const { &[Offer { name: "destroy", takes: &[], least: 0, doc: "Removes the robot." }] }
    }

    fn ask(&self, _: &View<'_>, _: &str, _: &[Told]) -> Result<Deed, String> {
        Ok(Deed::ask(Ask::own("delete", &[]), Told::Nothing))
    }
}
