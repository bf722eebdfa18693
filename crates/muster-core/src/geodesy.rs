//! Places on the earth: geodetic coordinates on the WGS84 ellipsoid (NIMA TR8350.2), earth-centred ones, the plane
//! tangent to the ellipsoid at a point (east, north, up: the world of a simulation), and the grid of the Universal
//! Transverse Mercator projection ([`Utm`]). Every part of muster that speaks of latitudes does so through here.
//!
//! The world is flat, the earth is not: at a distance d from the origin the plane is d²/2R above the ellipsoid, 8 cm at
//! 1 km and 8 m at 10 km.
//!
//! From earth-centred to geodetic coordinates by B. R. Bowring's iteration of the parametric latitude (*Transformation
//! from spatial to geographical coordinates*, Survey Review 23, 1976). All is checked against PROJ by
//! `tests/geodesy.rs`.

mod utm;

pub use utm::Utm;

use crate::math;
use glam::DVec3;

/// A place on the earth, relative to the WGS84 ellipsoid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geodetic {
    /// Latitude, degrees north.
    pub latitude_deg: f64,
    /// Longitude, degrees east.
    pub longitude_deg: f64,
    /// Altitude above the ellipsoid, m.
    pub altitude_m: f64,
}

/// Semi-major axis of the WGS84 ellipsoid, m.
pub const SEMI_MAJOR_M: f64 = 6_378_137.0;
/// Its flattening.
pub const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// Square of its eccentricity.
pub const ECCENTRICITY_2: f64 = FLATTENING * (2.0 - FLATTENING);

/// The plane of east and north at a point of the earth.
#[derive(Debug, Clone, Copy)]
pub struct TangentPlane {
    origin_m: DVec3,
    east: DVec3,
    north: DVec3,
    up: DVec3,
}

impl TangentPlane {
    /// The plane at this point.
    #[inline(always)]
    pub fn new(origin: &Geodetic) -> Self {
        let (sin_lat, cos_lat) = math::sin_cos(origin.latitude_deg.to_radians());
        let (sin_lon, cos_lon) = math::sin_cos(origin.longitude_deg.to_radians());
        let up = DVec3::new(cos_lat * cos_lon, cos_lat * sin_lon, sin_lat);
        // radius of curvature in the prime vertical
        let radius_m = SEMI_MAJOR_M / (1.0 - ECCENTRICITY_2 * sin_lat * sin_lat).sqrt();
        let foot_m = radius_m * DVec3::new(up.x, up.y, (1.0 - ECCENTRICITY_2) * sin_lat);
        Self {
            origin_m: foot_m + origin.altitude_m * up,
            east: DVec3::new(-sin_lon, cos_lon, 0.0),
            north: DVec3::new(-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat),
            up,
        }
    }

    /// A vector given in east, north, up, in the axes of the earth.
    #[inline(always)]
    pub fn earth_axes(&self, vector: DVec3) -> DVec3 {
        vector.x * self.east + vector.y * self.north + vector.z * self.up
    }

    /// A vector given in the axes of the earth, in east, north, up.
    #[inline(always)]
    pub fn world_axes(&self, vector: DVec3) -> DVec3 {
        DVec3::new(vector.dot(self.east), vector.dot(self.north), vector.dot(self.up))
    }

    /// Earth-centred coordinates of a point given in east, north, up.
    #[inline(always)]
    pub fn ecef(&self, position_m: DVec3) -> DVec3 {
        self.origin_m + position_m.x * self.east + position_m.y * self.north + position_m.z * self.up
    }

    /// East, north, up of a point given in earth-centred coordinates.
    #[inline(always)]
    pub fn position_m(&self, ecef_m: DVec3) -> DVec3 {
        self.world_axes(ecef_m - self.origin_m)
    }

    /// The geodetic position of a point given in east, north, up.
    #[inline(always)]
    pub fn geodetic(&self, position_m: DVec3) -> Geodetic {
        geodetic_from_ecef(self.ecef(position_m))
    }
}

/// Earth-centred, earth-fixed coordinates: x towards the equator at Greenwich, z towards the north pole, m.
pub fn ecef_from_geodetic(place: &Geodetic) -> DVec3 {
    TangentPlane::new(place).origin_m
}

/// Latitude, longitude and altitude of a point in earth-centred coordinates. Three rounds leave less than 10⁻⁹ m from
/// the depth of the oceans to the orbits of satellites.
#[inline(always)]
pub fn geodetic_from_ecef(ecef_m: DVec3) -> Geodetic {
    const ROUNDS: usize = 3;
    let axis_m = math::hypot2(ecef_m.x, ecef_m.y);
    let semi_minor_m = SEMI_MAJOR_M * (1.0 - FLATTENING);
    let second_eccentricity_2 = ECCENTRICITY_2 / (1.0 - ECCENTRICITY_2);
    let mut parametric = (ecef_m.z, axis_m * (1.0 - FLATTENING));
    let mut latitude = (0.0, 1.0);
    for _ in 0..ROUNDS {
        let length = math::hypot2(parametric.0, parametric.1);
        let (sin, cos) = (parametric.0 / length, parametric.1 / length);
        latitude = (
            ecef_m.z + second_eccentricity_2 * semi_minor_m * sin * sin * sin,
            axis_m - ECCENTRICITY_2 * SEMI_MAJOR_M * cos * cos * cos,
        );
        parametric = ((1.0 - FLATTENING) * latitude.0, latitude.1);
    }
    let length = math::hypot2(latitude.0, latitude.1);
    let (sin, cos) = (latitude.0 / length, latitude.1 / length);
    // this form of the altitude has no pole, neither at the equator nor at the poles
    let altitude_m = axis_m * cos + ecef_m.z * sin - SEMI_MAJOR_M * (1.0 - ECCENTRICITY_2 * sin * sin).sqrt();
    Geodetic {
        latitude_deg: math::atan2(latitude.0, latitude.1).to_degrees(),
        longitude_deg: math::atan2(ecef_m.y, ecef_m.x).to_degrees(),
        altitude_m,
    }
}
