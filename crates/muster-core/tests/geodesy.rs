//! Geodesy against PROJ: `data/geodesy.csv` holds places in four coordinate systems, computed by pyproj with
//! `data/geodesy.py`; `cargo xtask references` checks that PROJ still says so. The table is rounded to 0.1 mm, the demand
//! is 1 cm, and 1 mm is kept.

use glam::DVec3;
use muster_core::geodesy::{Geodetic, TangentPlane, Utm, ecef_from_geodetic, geodetic_from_ecef};
use muster_core::math;

const TABLE: &str = include_str!("data/geodesy.csv");
const TOLERANCE_M: f64 = 1e-3;

/// One row of the table.
struct Row {
    place: Geodetic,
    ecef_m: DVec3,
    origin: Geodetic,
    position_m: DVec3,
    utm: Utm,
}

fn rows() -> Vec<Row> {
    let row = |line: &str| {
        let n: Vec<f64> = line.split(',').map(|number| number.parse().expect("a number")).collect();
        let place = |at: usize| Geodetic { latitude_deg: n[at], longitude_deg: n[at + 1], altitude_m: n[at + 2] };
        Row {
            place: place(0),
            ecef_m: DVec3::from_slice(&n[3..]),
            origin: place(6),
            position_m: DVec3::from_slice(&n[9..]),
            utm: Utm { zone: n[12] as u32, north: n[13] == 1.0, easting_m: n[14], northing_m: n[15] },
        }
    };
    TABLE.lines().skip(1).map(row).collect()
}

/// Distance of two places, m.
fn distance_m(a: &Geodetic, b: &Geodetic) -> f64 {
    (ecef_from_geodetic(a) - ecef_from_geodetic(b)).length()
}

/// The largest of some errors stays below the tolerance.
fn check(what: &str, errors_m: impl Iterator<Item = f64>) {
    let (mut worst, mut count) = (0.0, 0);
    for error in errors_m {
        worst = f64::max(worst, error);
        count += 1;
    }
    println!("{what}: worst of {count} {worst:.2e} m");
    assert!(count >= 200 && worst < TOLERANCE_M, "{what}: {worst} m of {count} places");
}

#[test]
fn earth_centred_coordinates_are_those_of_proj() {
    check("to ECEF", rows().iter().map(|row| (ecef_from_geodetic(&row.place) - row.ecef_m).length()));
    check("from ECEF", rows().iter().map(|row| distance_m(&geodetic_from_ecef(row.ecef_m), &row.place)));
    let altitude = |row: &Row| (geodetic_from_ecef(row.ecef_m).altitude_m - row.place.altitude_m).abs();
    check("altitude", rows().iter().map(altitude));
}

#[test]
fn the_plane_of_the_world_is_that_of_proj() {
    let plane = |row: &Row| TangentPlane::new(&row.origin);
    let to_world = |row: &Row| (plane(row).position_m(row.ecef_m) - row.position_m).length();
    check("to the world", rows().iter().map(to_world));
    check("to ECEF", rows().iter().map(|row| (plane(row).ecef(row.position_m) - row.ecef_m).length()));
    check("to geodetic", rows().iter().map(|row| distance_m(&plane(row).geodetic(row.position_m), &row.place)));
}

#[test]
fn the_universal_grid_is_that_of_proj() {
    for row in rows() {
        let found = Utm::from_geodetic(&row.place);
        assert_eq!((found.zone, found.north), (row.utm.zone, row.utm.north), "{:?}", row.place);
    }
    let to_grid = |row: &Row| {
        let found = Utm::from_geodetic(&row.place);
        math::hypot2(found.easting_m - row.utm.easting_m, found.northing_m - row.utm.northing_m)
    };
    check("to UTM", rows().iter().map(to_grid));
    let from_grid = |row: &Row| distance_m(&row.utm.geodetic(row.place.altitude_m), &row.place);
    check("from UTM", rows().iter().map(from_grid));
}

#[test]
fn there_and_back_is_the_same_place() {
    for row in rows() {
        let (utm, plane) = (Utm::from_geodetic(&row.place), TangentPlane::new(&row.origin));
        let back = utm.geodetic(row.place.altitude_m);
        assert!(distance_m(&back, &row.place) < 1e-8, "{:?}: {back:?}", row.place);
        let back_m = plane.position_m(plane.ecef(row.position_m));
        assert!((back_m - row.position_m).length() < 1e-8, "{back_m}");
    }
}

#[test]
fn a_grid_goes_on_beyond_its_zone_and_hemisphere() {
    // 0.5° west of zone 32 and 0.1° south of the equator, in the grid of zone 32 north
    let place = Geodetic { latitude_deg: -0.1, longitude_deg: 5.5, altitude_m: 0.0 };
    let inside = Utm::in_zone(&place, 32, true);
    let border = Utm::in_zone(&Geodetic { longitude_deg: 6.0, ..place }, 32, true);
    assert!(inside.northing_m < 0.0 && inside.easting_m < border.easting_m);
    // a degree of longitude at the equator is 111.32 km
    assert!((border.easting_m - inside.easting_m - 55_660.0).abs() < 100.0, "{inside:?} {border:?}");
    assert!(distance_m(&inside.geodetic(0.0), &place) < 1e-8);
}
