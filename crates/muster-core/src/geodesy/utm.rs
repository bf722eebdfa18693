//! Universal Transverse Mercator (NGA.SIG.0012, *The Universal Grids and the Transverse Mercator and Polar Stereographic
//! Map Projections*, 2014): zones of 6° of longitude, a scale of 0.9996 on the central meridian, 500 km added to
//! eastings and 10 000 km to northings in the south.
//!
//! The projection is Krüger's series of sixth order in the third flattening, as C. F. F. Karney gives it (*Transverse
//! Mercator with an accuracy of a few nanometers*, Journal of Geodesy 85, 2011, equations 7 to 12, 35 and 36): 5 nm
//! within 3 900 km of the central meridian.

use super::{ECCENTRICITY_2, FLATTENING, Geodetic, SEMI_MAJOR_M};
use crate::math;

/// A point of the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Utm {
    /// Zone, 1 to 60; zone 31 is that from 0° to 6° east.
    pub zone: u32,
    /// True for the grid of the northern hemisphere, false for that of the southern.
    pub north: bool,
    /// Easting, m.
    pub easting_m: f64,
    /// Northing, m.
    pub northing_m: f64,
}

/// Scale on the central meridian.
const SCALE: f64 = 0.9996;
/// Easting of the central meridian, m.
const FALSE_EASTING_M: f64 = 500_000.0;
/// Northing of the equator in the southern grid, m.
const FALSE_NORTHING_M: f64 = 10_000_000.0;

/// Third flattening and its powers.
const N: f64 = FLATTENING / (2.0 - FLATTENING);
const N2: f64 = N * N;
const N3: f64 = N2 * N;
const N4: f64 = N3 * N;
const N5: f64 = N4 * N;
const N6: f64 = N5 * N;

/// Radius of the sphere with meridians as long as the ellipsoid's, m.
const RECTIFYING_M: f64 = SEMI_MAJOR_M / (1.0 + N) * (1.0 + N2 / 4.0 + N4 / 64.0 + N6 / 256.0);

/// From the conformal sphere to the grid (Karney, equation 35).
const ALPHA: [f64; 6] = [
    N / 2.0 - 2.0 / 3.0 * N2 + 5.0 / 16.0 * N3 + 41.0 / 180.0 * N4 - 127.0 / 288.0 * N5 + 7891.0 / 37800.0 * N6,
    13.0 / 48.0 * N2 - 3.0 / 5.0 * N3 + 557.0 / 1440.0 * N4 + 281.0 / 630.0 * N5 - 1_983_433.0 / 1_935_360.0 * N6,
    61.0 / 240.0 * N3 - 103.0 / 140.0 * N4 + 15061.0 / 26880.0 * N5 + 167_603.0 / 181_440.0 * N6,
    49561.0 / 161_280.0 * N4 - 179.0 / 168.0 * N5 + 6_601_661.0 / 7_257_600.0 * N6,
    34729.0 / 80640.0 * N5 - 3_418_889.0 / 1_995_840.0 * N6,
    212_378_941.0 / 319_334_400.0 * N6,
];

/// From the grid to the conformal sphere (Karney, equation 36).
const BETA: [f64; 6] = [
    N / 2.0 - 2.0 / 3.0 * N2 + 37.0 / 96.0 * N3 - 1.0 / 360.0 * N4 - 81.0 / 512.0 * N5 + 96199.0 / 604_800.0 * N6,
    1.0 / 48.0 * N2 + 1.0 / 15.0 * N3 - 437.0 / 1440.0 * N4 + 46.0 / 105.0 * N5 - 1_118_711.0 / 3_870_720.0 * N6,
    17.0 / 480.0 * N3 - 37.0 / 840.0 * N4 - 209.0 / 4480.0 * N5 + 5569.0 / 90720.0 * N6,
    4397.0 / 161_280.0 * N4 - 11.0 / 504.0 * N5 - 830_251.0 / 7_257_600.0 * N6,
    4583.0 / 161_280.0 * N5 - 108_847.0 / 3_991_680.0 * N6,
    20_648_693.0 / 638_668_800.0 * N6,
];

impl Utm {
    /// The zone of a place, with those of south-west Norway (32 is widened) and Svalbard (32, 34 and 36 are left out).
    /// The grid is meant for latitudes from -80° to 84°; beyond, the zone is that of the longitude.
    pub fn zone_of(place: &Geodetic) -> u32 {
        let (latitude_deg, longitude_deg) = (place.latitude_deg, in_circle(place.longitude_deg));
        match latitude_deg {
            56.0..64.0 if (3.0..12.0).contains(&longitude_deg) => 32,
            72.0..84.0 if (0.0..42.0).contains(&longitude_deg) => match longitude_deg {
                ..9.0 => 31,
                ..21.0 => 33,
                ..33.0 => 35,
                _ => 37,
            },
            _ => math::floor((longitude_deg + 180.0) / 6.0) as u32 % 60 + 1,
        }
    }

    /// A place in its own zone and hemisphere.
    pub fn from_geodetic(place: &Geodetic) -> Self {
        Self::in_zone(place, Self::zone_of(place), place.latitude_deg >= 0.0)
    }

    /// A place in the grid of a given zone and hemisphere, within which coordinates have no jumps.
    pub fn in_zone(place: &Geodetic, zone: u32, north: bool) -> Self {
        let (sin_lat, cos_lat) = math::sin_cos(place.latitude_deg.to_radians());
        let from_meridian_deg = in_circle(place.longitude_deg - central_meridian_deg(zone));
        let (sin_lon, cos_lon) = math::sin_cos(from_meridian_deg.to_radians());
        let conformal = conformal(sin_lat / cos_lat);
        let along = math::atan2(conformal, cos_lon);
        let across = math::asinh(sin_lon / math::hypot2(conformal, cos_lon));
        let (more_along, more_across) = series(&ALPHA, along, across);
        let scale_m = SCALE * RECTIFYING_M;
        Self {
            zone,
            north,
            easting_m: FALSE_EASTING_M + scale_m * (across + more_across),
            northing_m: false_northing_m(north) + scale_m * (along + more_along),
        }
    }

    /// The place of a point of the grid, at an altitude.
    pub fn geodetic(&self, altitude_m: f64) -> Geodetic {
        let scale_m = SCALE * RECTIFYING_M;
        let along = (self.northing_m - false_northing_m(self.north)) / scale_m;
        let across = (self.easting_m - FALSE_EASTING_M) / scale_m;
        let (less_along, less_across) = series(&BETA, along, across);
        let (along, across) = (along - less_along, across - less_across);
        let (sin, cos) = math::sin_cos(along);
        let sinh = math::sinh(across);
        let latitude = geographic(sin / math::hypot2(sinh, cos));
        Geodetic {
            latitude_deg: math::atan(latitude).to_degrees(),
            longitude_deg: in_circle(math::atan2(sinh, cos).to_degrees() + central_meridian_deg(self.zone)),
            altitude_m,
        }
    }
}

fn false_northing_m(north: bool) -> f64 {
    if north { 0.0 } else { FALSE_NORTHING_M }
}

fn central_meridian_deg(zone: u32) -> f64 {
    f64::from(zone) * 6.0 - 183.0
}

/// The same longitude in -180°..180°.
fn in_circle(longitude_deg: f64) -> f64 {
    longitude_deg - 360.0 * math::floor((longitude_deg + 180.0) / 360.0)
}

/// Tangent of the conformal latitude, from that of the geographic latitude (Karney, equations 7 to 9).
fn conformal(tangent: f64) -> f64 {
    let eccentricity = ECCENTRICITY_2.sqrt();
    let secant = math::hypot2(1.0, tangent);
    let sigma = math::sinh(eccentricity * math::atanh(eccentricity * tangent / secant));
    tangent * math::hypot2(1.0, sigma) - sigma * secant
}

/// Tangent of the geographic latitude, from that of the conformal latitude, by Newton's method (Karney, equations 19 to
/// 21). Two rounds are enough for `f64`, the third costs nothing that matters.
fn geographic(conformal_tangent: f64) -> f64 {
    const ROUNDS: usize = 3;
    let mut tangent = conformal_tangent;
    for _ in 0..ROUNDS {
        let found = conformal(tangent);
        let step = (conformal_tangent - found) / math::hypot2(1.0, found);
        let curvature =
            (1.0 + (1.0 - ECCENTRICITY_2) * tangent * tangent) / ((1.0 - ECCENTRICITY_2) * math::hypot2(1.0, tangent));
        tangent += step * curvature;
    }
    tangent
}

/// Σ cⱼ sin(2j ξ) cosh(2j η) and Σ cⱼ cos(2j ξ) sinh(2j η).
fn series(coefficients: &[f64; 6], along: f64, across: f64) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    for (order, coefficient) in coefficients.iter().enumerate() {
        let twice = 2.0 * (order + 1) as f64;
        let (sin, cos) = math::sin_cos(twice * along);
        sums.0 += coefficient * sin * math::cosh(twice * across);
        sums.1 += coefficient * cos * math::sinh(twice * across);
    }
    sums
}
