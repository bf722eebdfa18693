//! Which satellites are above the horizon, and how well they are spread: the nominal 24 slots of the Global Positioning
//! System (*GPS Standard Positioning Service Performance Standard*, 2001, table 3-1 and section ), on circular
//! orbits over a turning earth. The simulation begins at the epoch of the table. More satellites fly today, so counts
//! are low and dilutions high rather than the other way round.
//!
//! The dilution of precision is the factor from the error of a range to that of the position: with the unit vectors to
//! the satellites and 1 for the clock as the rows of H, the square roots of sums of the diagonal of (Hᵀ H)⁻¹.

use glam::{DMat4, DVec3, DVec4};
use muster_core::geodesy::TangentPlane;
use muster_core::math;

/// Fewest satellites that give a position.
pub const LEAST: u32 = 4;

/// The dilution that is told when there is no position, as receivers do.
pub const NO_DILUTION: f64 = 99.99;

/// Right ascension of the ascending node of each plane, degrees.
const NODES_DEG: [f64; 6] = [272.847, 332.847, 32.847, 92.847, 152.847, 212.847];
/// Argument of latitude of the four satellites of each plane at the epoch, degrees.
const LATITUDES_DEG: [[f64; 4]; 6] = [
    [268.126, 161.786, 11.676, 41.806],
    [80.956, 173.336, 309.976, 204.376],
    [111.876, 11.796, 339.666, 241.556],
    [135.226, 265.446, 35.156, 167.356],
    [197.046, 302.596, 66.066, 333.686],
    [238.886, 345.226, 105.206, 135.346],
];
/// Hour angle of Greenwich at the epoch: 18 h 36 min 14.4 s.
const GREENWICH_DEG: f64 = (18.0 + 36.0 / 60.0 + 14.4 / 3600.0) * 15.0;
const INCLINATION_DEG: f64 = 55.0;
const RADIUS_M: f64 = 26_559_700.0;
/// Gravitational constant of the earth (WGS84), m³/s².
const GRAVITATION_M3PS2: f64 = 3.986_004_418e14;
/// Turn of the earth (WGS84), rad/s.
const EARTH_TURN_RADPS: f64 = 7.292_115e-5;

const SATELLITES: usize = 24;

/// All satellites at one time.
#[derive(Debug, Clone)]
pub struct Sky {
    ecef_m: [DVec3; SATELLITES],
    sin_mask: f64,
}

/// What is seen from one place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// How many satellites are above the mask.
    pub satellites: u32,
    /// Dilution of precision of the position.
    pub pdop: f64,
    /// Its horizontal part.
    pub hdop: f64,
    /// Its vertical part.
    pub vdop: f64,
}

impl Sky {
    /// The satellites a time after the epoch, seen above an elevation.
    pub fn at(time_s: f64, mask_deg: f64) -> Self {
        let motion_radps = (GRAVITATION_M3PS2 / (RADIUS_M * RADIUS_M * RADIUS_M)).sqrt();
        let (sin_inclination, cos_inclination) = math::sin_cos(INCLINATION_DEG.to_radians());
        let mut ecef_m = [DVec3::ZERO; SATELLITES];
        for (slot, place) in ecef_m.iter_mut().enumerate() {
            let node = (NODES_DEG[slot / 4] - GREENWICH_DEG).to_radians() - EARTH_TURN_RADPS * time_s;
            let latitude = LATITUDES_DEG[slot / 4][slot % 4].to_radians() + motion_radps * time_s;
            let ((sin_node, cos_node), (sin, cos)) = (math::sin_cos(node), math::sin_cos(latitude));
            let across = sin * cos_inclination;
            *place = RADIUS_M
                * DVec3::new(
                    cos * cos_node - across * sin_node,
                    cos * sin_node + across * cos_node,
                    sin * sin_inclination,
                );
        }
        Self { ecef_m, sin_mask: math::sin(mask_deg.to_radians()) }
    }

    /// What a receiver sees at a place of the world.
    pub fn seen_from(&self, plane: &TangentPlane, position_m: DVec3) -> View {
        let receiver_m = plane.ecef(position_m);
        let mut satellites = 0;
        let mut normal = DMat4::ZERO;
        for &satellite_m in &self.ecef_m {
            let line = satellite_m - receiver_m;
            let direction = plane.world_axes(line / line.length());
            if direction.z >= self.sin_mask {
                satellites += 1;
                let row = direction.extend(1.0);
                normal += DMat4::from_cols(row.x * row, row.y * row, row.z * row, row.w * row);
            }
        }
        let inverse = normal.inverse();
        let diagonal = DVec4::new(inverse.x_axis.x, inverse.y_axis.y, inverse.z_axis.z, inverse.w_axis.w);
        if satellites < LEAST || !diagonal.is_finite() || diagonal.min_element() < 0.0 {
            return View { satellites, pdop: NO_DILUTION, hdop: NO_DILUTION, vdop: NO_DILUTION };
        }
        let root = |variance: f64| math::min(variance.sqrt(), NO_DILUTION);
        View {
            satellites,
            pdop: root(diagonal.x + diagonal.y + diagonal.z),
            hdop: root(diagonal.x + diagonal.y),
            vdop: root(diagonal.z),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_core::geodesy::Geodetic;

    /// Views over a day from places spread evenly over the earth.
    fn views() -> Vec<View> {
        let mut views = Vec::new();
        for step in 0..96 {
            let sky = Sky::at(f64::from(step) * 900.0, 5.0);
            for place in 0..200 {
                // a spiral from pole to pole (Fibonacci lattice)
                let sin_latitude = (2.0 * f64::from(place) + 1.0) / 200.0 - 1.0;
                let longitude_deg = (f64::from(place) * 137.507_764) % 360.0;
                let latitude_deg = sin_latitude.asin().to_degrees();
                let plane = TangentPlane::new(&Geodetic { latitude_deg, longitude_deg, altitude_m: 0.0 });
                views.push(sky.seen_from(&plane, DVec3::ZERO));
            }
        }
        views
    }

    #[test]
    fn as_many_satellites_are_seen_as_the_cap_of_sky_holds_on_average() {
        let mean = views().iter().map(|view| f64::from(view.satellites)).sum::<f64>() / views().len() as f64;
        // the cap within 71.2° of the satellite: acos(R cos 5° / r) − 5°
        let cap = (6_371_000.0 * 5.0_f64.to_radians().cos() / RADIUS_M).acos() - 5.0_f64.to_radians();
        let expected = 24.0 * (1.0 - cap.cos()) / 2.0;
        assert!((mean / expected - 1.0).abs() < 0.01, "{mean}, expected {expected}");
    }

    #[test]
    fn dilution_is_six_or_less_as_often_as_the_standard_demands() {
        // the performance standard: position dilution of 6 or less, 98 % on average over the globe and a day
        let views = views();
        let good = views.iter().filter(|view| view.pdop <= 6.0).count() as f64 / views.len() as f64;
        assert!(good >= 0.98, "{good}");
        assert!(views.iter().all(|view| view.satellites >= 4 && view.satellites <= 14));
    }

    #[test]
    fn tracks_over_ground_repeat_after_a_sidereal_day() {
        let (first, later) = (Sky::at(0.0, 5.0), Sky::at(86_164.09, 5.0));
        for (a, b) in first.ecef_m.iter().zip(&later.ecef_m) {
            // a real satellite of this radius goes round in 5 s more, as the earth is flattened; of two orbits that is 39 km
            assert!((*a - *b).length() < 4e4, "{a} {b}");
            assert!((a.length() - RADIUS_M).abs() < 1e-3);
        }
    }

    #[test]
    fn dilution_of_four_satellites_is_that_of_their_geometry() {
        // one at the zenith and three evenly around the horizon: HᵀH is diagonal but for the zenith, so that
        // east and north have 2/3 each, and up 4/3
        let place = Geodetic { latitude_deg: 90.0, longitude_deg: 0.0, altitude_m: 0.0 };
        let plane = TangentPlane::new(&place);
        let far_m = 1e12;
        let mut ecef_m = [-far_m * DVec3::Z; SATELLITES];
        ecef_m[0] = far_m * DVec3::Z;
        for (third, satellite) in ecef_m[1..4].iter_mut().enumerate() {
            let (sin, cos) = (third as f64 * 120.0_f64.to_radians()).sin_cos();
            *satellite = far_m * DVec3::new(cos, sin, 1e-4);
        }
        let view = Sky { ecef_m, sin_mask: 0.0 }.seen_from(&plane, DVec3::ZERO);
        assert_eq!(view.satellites, 4);
        assert!((view.hdop - (4.0_f64 / 3.0).sqrt()).abs() < 1e-3, "{view:?}");
        assert!((view.vdop - (4.0_f64 / 3.0).sqrt()).abs() < 1e-3, "{view:?}");
    }
}
