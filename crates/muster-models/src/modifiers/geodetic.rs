//! Geodetic: points of the world become WGS84 latitude, longitude and altitude above the ellipsoid, by the world's
//! origin. `position_m` becomes `latitude_deg`, `longitude_deg` and `altitude_m`; velocities and orientations stay in the
//! axes of the world.

use super::{build, place};
use muster_core::component::{Kind, Modifier, Sample};
use muster_core::lanes::Quantity;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Geodetic coordinates.
    pub struct Geodetic {}
}

/// Geodetic coordinates.
pub const KIND: Kind<dyn Modifier> = Kind {
    name: "geodetic",
    doc: "Positions in the world become WGS84 latitude_deg, longitude_deg and altitude_m.",
    fields: Geodetic::FIELDS,
    build: &build::<Geodetic>,
};

const MADE: &[Quantity] = &[Quantity::one("latitude_deg"), Quantity::one("longitude_deg"), Quantity::one("altitude_m")];

impl Modifier for Geodetic {
    fn check(&self, fields: &[Quantity]) -> Result<(), String> {
        place::check(fields, MADE)
    }

    fn fields(&self, fields: &[Quantity]) -> Vec<Quantity> {
        place::fields(fields, MADE)
    }

    fn modify(&self, sample: &mut Sample<'_>) -> bool {
        place::replace(sample, |plane, point_m| {
            let place = plane.geodetic(point_m);
            [place.latitude_deg, place.longitude_deg, place.altitude_m]
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run_at;
    use super::*;

    const TOULOUSE: muster_core::geodesy::Geodetic =
        muster_core::geodesy::Geodetic { latitude_deg: 43.6, longitude_deg: 1.4333, altitude_m: 135.0 };

    #[test]
    fn a_position_is_told_as_the_receiver_tells_it() {
        // pyproj 3.7.2: topocentric at 43.6° N, 1.4333° E, 135 m; the velocity stays
        let fields = crate::sensors::truth::FIELDS;
        let measured = [100.0, 200.0, 50.0, 0.0, 0.0, 0.0, 1.0, 7.0, 8.0, 9.0, 0.0, 0.0, 0.0];
        let changed = run_at(&Geodetic {}, TOULOUSE, fields, &measured);
        assert!((changed[0] - 43.601_800_048_856).abs() < 1e-9, "{changed:?}");
        assert!((changed[1] - 1.434_538_497_356).abs() < 1e-9, "{changed:?}");
        assert!((changed[2] - 185.003_924).abs() < 1e-5, "{changed:?}");
        assert_eq!(changed[3..], measured[3..]);
        let names: Vec<&str> = Geodetic {}.fields(fields).iter().map(|field| field.name).collect();
        assert_eq!(names[..4], ["latitude_deg", "longitude_deg", "altitude_m", "orientation"]);
    }

    #[test]
    fn sensors_without_points_of_the_world_are_refused() {
        let geodetic = Geodetic {};
        assert_eq!(geodetic.check(crate::sensors::truth::FIELDS), Ok(()));
        for fields in [
            crate::sensors::imu::FIELDS,
            crate::sensors::odometry::FIELDS,
            crate::sensors::neighbours::FIELDS,
            crate::sensors::gps::FIELDS,
        ] {
            assert!(geodetic.check(fields).is_err(), "{fields:?}");
        }
        // what was turned or changed already is a point no more
        let ned = super::super::ned::Ned { direction: super::super::ned::Direction::ToNed };
        assert!(geodetic.check(&ned.fields(crate::sensors::truth::FIELDS)).is_err());
        assert!(geodetic.check(&geodetic.fields(crate::sensors::truth::FIELDS)).is_err());
    }
}
