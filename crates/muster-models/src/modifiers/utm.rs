//! Universal Transverse Mercator: points of the world become easting, northing and altitude above the ellipsoid, by the
//! world's origin. `position_m` becomes `utm_m`; velocities and orientations stay in the axes of the world, which differ
//! from those of the grid by the convergence of meridians (up to some 3°, none on the central meridian).
//!
//! All points are told in one zone, that of the origin unless another is given, so that nothing jumps where robots
//! cross a border of zones or the equator.

use super::{build, place};
use muster_core::component::{Kind, Modifier, Sample};
use muster_core::geodesy;
use muster_core::lanes::Quantity;
use muster_core::spec;
use muster_core::spec::Spec;

muster_core::choice! {
    /// A half of the earth.
    pub enum Hemisphere { North = "north", South = "south" }
}

spec! {
    /// Universal Transverse Mercator.
    pub struct Utm {
        /// Zone; that of the world's origin if none is given.
        zone: Option<u32>, in 1..=60;
        /// Hemisphere; that of the world's origin if none is given.
        hemisphere: Option<Hemisphere>;
    }
}

/// Universal Transverse Mercator.
pub const KIND: Kind<dyn Modifier> = Kind {
    name: "utm",
    doc: "Positions in the world become UTM easting, northing and altitude, utm_m, in the zone of the world's origin.",
    fields: Utm::FIELDS,
    build: &build::<Utm>,
};

const MADE: &[Quantity] = &[Quantity::many("utm_m", 3)];

impl Modifier for Utm {
    fn check(&self, fields: &[Quantity]) -> Result<(), String> {
        place::check(fields, MADE)
    }

    fn fields(&self, fields: &[Quantity]) -> Vec<Quantity> {
        place::fields(fields, MADE)
    }

    fn modify(&self, sample: &mut Sample<'_>) -> bool {
        let origin = &sample.environment.origin;
        let zone = self.zone.unwrap_or_else(|| geodesy::Utm::zone_of(origin));
        let north = self.hemisphere.map_or(origin.latitude_deg >= 0.0, |half| half == Hemisphere::North);
        place::replace(sample, |plane, point_m| {
            let place = plane.geodetic(point_m);
            let grid = geodesy::Utm::in_zone(&place, zone, north);
            [grid.easting_m, grid.northing_m, place.altitude_m]
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{defaults, run_at};
    use super::*;
    use muster_core::geodesy::Geodetic;

    #[test]
    fn a_position_has_the_grid_coordinates_of_proj() {
        // pyproj 3.7.2: topocentric at the origin, then +proj=utm +zone=32 and +zone=31 +south
        let zurich = Geodetic { latitude_deg: 47.3977, longitude_deg: 8.5456, altitude_m: 488.0 };
        let fields = crate::sensors::truth::FIELDS;
        let measured = [1000.0, -2500.0, 120.0, 0.0, 0.0, 0.0, 1.0, 7.0, 8.0, 9.0, 0.0, 0.0, 0.0];
        let check = |utm: Utm, expected: [f64; 3]| {
            let changed = run_at(&utm, zurich, fields, &measured);
            for (changed, expected) in changed.iter().zip(expected) {
                assert!((changed - expected).abs() < 0.01, "{changed}, expected {expected}");
            }
            assert_eq!(changed[3..], measured[3..]);
        };
        check(defaults(), [466_696.101_5, 5_246_956.105_9, 608.5688]);
        check(Utm { zone: Some(31), hemisphere: Some(Hemisphere::South) }, [919_591.726_8, 15_261_861.295_1, 608.5688]);
        assert_eq!(defaults::<Utm>().fields(fields)[0].name, "utm_m");
    }
}
