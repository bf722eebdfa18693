//! Earth-centred, earth-fixed: points of the world become coordinates of the earth, x towards the equator at Greenwich
//! and z towards the north pole, by the world's origin. `position_m` becomes `ecef_m`; velocities and orientations stay
//! in the axes of the world.

use super::{build, place};
use muster_core::component::{Kind, Modifier, Sample};
use muster_core::lanes::Quantity;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Earth-centred coordinates.
    pub struct Ecef {}
}

/// Earth-centred coordinates.
pub const KIND: Kind<dyn Modifier> = Kind {
    name: "ecef",
    doc: "Positions in the world become earth-centred coordinates, ecef_m.",
    fields: Ecef::FIELDS,
    build: &build::<Ecef>,
};

const MADE: &[Quantity] = &[Quantity::many("ecef_m", 3)];

impl Modifier for Ecef {
    fn check(&self, fields: &[Quantity]) -> Result<(), String> {
        place::check(fields, MADE)
    }

    fn fields(&self, fields: &[Quantity]) -> Vec<Quantity> {
        place::fields(fields, MADE)
    }

    fn modify(&self, sample: &mut Sample<'_>) -> bool {
        place::replace(sample, |plane, point_m| plane.ecef(point_m).to_array());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run_at;
    use super::*;
    use muster_core::geodesy::Geodetic;

    #[test]
    fn east_on_the_equator_at_greenwich_is_y_and_north_is_z() {
        let origin = Geodetic { latitude_deg: 0.0, longitude_deg: 0.0, altitude_m: 100.0 };
        let fields = crate::sensors::gps::FIELDS;
        let measured = [0.0, 0.0, 0.0, 10.0, 20.0, 30.0, 1.0, 2.0, 3.0];
        let changed = run_at(&Ecef {}, origin, fields, &measured);
        assert_eq!(changed, [0.0, 0.0, 0.0, 6_378_137.0 + 130.0, 10.0, 20.0, 1.0, 2.0, 3.0]);
        assert_eq!(Ecef {}.fields(fields)[3].name, "ecef_m");
    }
}
