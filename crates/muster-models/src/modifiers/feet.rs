//! Feet: lengths, speeds and accelerations in metres become international feet (0.3048 m exactly). Fields are renamed, as
//! their names hold the unit: `altitude_m` becomes `altitude_ft`, `velocity_mps` becomes `velocity_ftps`.

use super::build;
use super::{check_fields, for_each_field};
use muster_core::component::{Kind, Modifier, Sample};
use muster_core::lanes::{Quantity, Role};
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Feet.
    pub struct Feet {
        /// Which fields; all in metres if none is named.
        fields: Vec<String> = Vec::new();
    }
}

/// Feet.
pub const KIND: Kind<dyn Modifier> = Kind {
    name: "feet",
    doc: "Metres become feet, also in speeds and accelerations; fields are renamed from _m to _ft.",
    fields: Feet::FIELDS,
    build: &build::<Feet>,
};

const METRES_PER_FOOT: f64 = 0.3048;

/// Fields in metres, and what they are called in feet. Names are constants, so that samples carry no text of their own;
/// a test knows if a sensor of this crate has a field that is missing here.
const NAMES: &[(&str, &str)] = &[
    ("accel_mps2", "accel_ftps2"),
    ("acceleration_mps2", "acceleration_ftps2"),
    ("airspeed_mps", "airspeed_ftps"),
    ("altitude_m", "altitude_ft"),
    ("body_velocity_mps", "body_velocity_ftps"),
    ("depth_m", "depth_ft"),
    ("displacement_m", "displacement_ft"),
    ("distance_m", "distance_ft"),
    ("ecef_m", "ecef_ft"),
    ("height_m", "height_ft"),
    ("position_m", "position_ft"),
    ("radius_m", "radius_ft"),
    ("range_m", "range_ft"),
    ("speed_mps", "speed_ftps"),
    ("travelled_m", "travelled_ft"),
    ("utm_m", "utm_ft"),
    ("velocity_mps", "velocity_ftps"),
    ("water_speed_mps", "water_speed_ftps"),
];

impl Feet {
    /// The name in feet of a field that is changed.
    fn renamed(&self, field: &Quantity) -> Option<&'static str> {
        let chosen = self.fields.is_empty() || self.fields.iter().any(|name| name == field.name);
        NAMES.iter().find(|(metres, _)| chosen && *metres == field.name).map(|(_, feet)| *feet)
    }
}

impl Modifier for Feet {
    fn check(&self, fields: &[Quantity]) -> Result<(), String> {
        check_fields(&self.fields, fields)?;
        let changed = fields.iter().filter(|field| self.renamed(field).is_some()).count();
        if changed == 0 || changed < self.fields.len() {
            let known: Vec<&str> = NAMES.iter().map(|(metres, _)| *metres).collect();
            return Err(format!("a field in metres: one of {}", known.join(", ")));
        }
        Ok(())
    }

    fn fields(&self, fields: &[Quantity]) -> Vec<Quantity> {
        let renamed = |field: &Quantity| match self.renamed(field) {
            // a point of the world is one in metres
            Some(name) if field.role == Role::Point => field.named(name).with(Role::World),
            Some(name) => field.named(name),
            None => *field,
        };
        fields.iter().map(renamed).collect()
    }

    fn modify(&self, sample: &mut Sample<'_>) -> bool {
        for_each_field(sample.values, sample.fields, |field, numbers| {
            if self.renamed(field).is_some() {
                numbers.iter_mut().for_each(|number| *number /= METRES_PER_FOOT);
            }
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{defaults, run, sensor};
    use super::*;

    #[test]
    fn thirty_thousand_feet_are_9144_metres() {
        let feet: Feet = defaults();
        let fields = crate::sensors::barometer::FIELDS;
        let changed = run(&[&feet], fields, &[30_090.0, 9144.0], 1).remove(0);
        assert_eq!(changed[0], 30_090.0, "pressure has no length in it");
        assert!((changed[1] - 30_000.0).abs() < 1e-11);
        let names: Vec<&str> = feet.fields(fields).iter().map(|field| field.name).collect();
        assert_eq!(names, ["pressure_pa", "altitude_ft"]);
    }

    #[test]
    fn only_the_fields_named_change() {
        let feet = Feet { fields: vec!["altitude_m".to_owned()] };
        let fields = crate::sensors::gps::FIELDS;
        let changed = run(&[&feet], fields, &[47.0, 8.0, 0.3048, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 1).remove(0);
        assert_eq!(changed, [47.0, 8.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn what_is_not_in_metres_is_refused() {
        let feet: Feet = defaults();
        assert!(feet.check(crate::sensors::thermometer::FIELDS).is_err());
        let named = Feet { fields: vec!["pressure_pa".to_owned()] };
        assert!(named.check(crate::sensors::barometer::FIELDS).is_err());
    }

    #[test]
    fn every_field_in_metres_of_every_sensor_has_a_name_in_feet() {
        let feet: Feet = defaults();
        for kind in crate::sensors::SENSORS {
            for field in sensor(kind).fields() {
                let metric = ["_m", "_mps", "_mps2"].iter().any(|unit| field.name.ends_with(unit));
                assert_eq!(feet.renamed(field).is_some(), metric, "{} of {}", field.name, kind.name);
            }
        }
    }
}
