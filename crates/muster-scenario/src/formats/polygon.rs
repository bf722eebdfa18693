//! Polygons as triangles. Convex ones become fans; others lose one ear after another (Meisters, *Polygons have ears*, 1975)
//! in the plane of their Newell normal.

use super::Fault;
use glam::{DVec2, DVec3};

/// Most corners of a polygon that is not convex: its ears cost the cube of them.
pub(super) const EARS_MAX: usize = 256;

/// Three corners of each triangle, turning as the polygon does.
pub(super) fn triangles(corners: &[DVec3]) -> Result<Vec<[usize; 3]>, Fault> {
    if corners.len() < 3 {
        return Err(Fault::new(format!("a face of {} corners", corners.len()), "at least 3"));
    }
    let flat = flattened(corners);
    if corners.len() == 3 || is_convex(&flat) {
        return Ok((1..corners.len() - 1).map(|at| [0, at, at + 1]).collect());
    }
    if corners.len() > EARS_MAX {
        let found = format!("a face of {} corners that is not convex", corners.len());
        return Err(Fault::new(found, format!("at most {EARS_MAX} corners")));
    }
    Ok(without_ears(&flat))
}

/// The polygon seen against its normal, so that it turns left.
fn flattened(corners: &[DVec3]) -> Vec<DVec2> {
    let next = corners.iter().cycle().skip(1);
    let normal =
        corners.iter().zip(next).fold(DVec3::ZERO, |sum, (a, b)| sum + (*a - corners[0]).cross(*b - corners[0]));
    let size = normal.abs();
    let drop = |at: &DVec3| {
        if size.z >= size.x && size.z >= size.y {
            DVec2::new(at.x, at.y * normal.z.signum())
        } else if size.y >= size.x {
            DVec2::new(at.z, at.x * normal.y.signum())
        } else {
            DVec2::new(at.y, at.z * normal.x.signum())
        }
    };
    corners.iter().map(drop).collect()
}

fn turn(a: DVec2, b: DVec2, c: DVec2) -> f64 {
    (b - a).perp_dot(c - a)
}

/// True if it never turns right, and not round more than once: then it is left of each of its sides.
fn is_convex(flat: &[DVec2]) -> bool {
    let count = flat.len();
    let turns_left = (0..count).all(|at| turn(flat[at], flat[(at + 1) % count], flat[(at + 2) % count]) >= 0.0);
    turns_left && (1..count - 1).all(|at| turn(flat[0], flat[at], flat[at + 1]) >= 0.0)
}

fn without_ears(flat: &[DVec2]) -> Vec<[usize; 3]> {
    let mut left: Vec<usize> = (0..flat.len()).collect();
    let mut found = Vec::with_capacity(flat.len() - 2);
    while left.len() > 3 {
        let count = left.len();
        let around = |at: usize| [left[(at + count - 1) % count], left[at], left[(at + 1) % count]];
        let is_ear = |&at: &usize| {
            let [a, b, c] = around(at);
            let inside = |&other: &usize| {
                let point = flat[other];
                ![a, b, c].contains(&other)
                    && turn(flat[a], flat[b], point) >= 0.0
                    && turn(flat[b], flat[c], point) >= 0.0
                    && turn(flat[c], flat[a], point) >= 0.0
            };
            turn(flat[a], flat[b], flat[c]) > 0.0 && !left.iter().any(inside)
        };
        // a polygon that crosses itself may have no ear: something is cut off it all the same
        let at = (0..count).find(is_ear).unwrap_or(1);
        found.push(around(at));
        left.remove(at);
    }
    found.push([left[0], left[1], left[2]]);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(corners: &[DVec3], triangle: [usize; 3]) -> DVec3 {
        let [a, b, c] = triangle.map(|at| corners[at]);
        (b - a).cross(c - a) * 0.5
    }

    /// Triangles all turn as the polygon does, and their areas sum up to its own.
    fn check(corners: &[DVec3], expected: DVec3) {
        let found = triangles(corners).unwrap();
        assert_eq!(found.len(), corners.len() - 2);
        let sum: DVec3 = found.iter().map(|&triangle| area(corners, triangle)).sum();
        assert!((sum - expected).length() < 1e-12, "{sum}");
        assert!(found.iter().all(|&triangle| area(corners, triangle).dot(expected) > 0.0), "{found:?}");
    }

    #[test]
    fn triangles_cover_a_polygon_that_is_not_convex_once() {
        let l = [[0, 0], [3, 0], [3, 1], [1, 1], [1, 4], [0, 4]];
        let flat: Vec<DVec3> = l.iter().map(|[x, y]| DVec3::new(f64::from(*x), f64::from(*y), 2.0)).collect();
        check(&flat, DVec3::Z * 6.0);
        let upright: Vec<DVec3> = flat.iter().map(|at| DVec3::new(at.z, at.x, at.y)).collect();
        check(&upright, DVec3::X * 6.0);
        let other: Vec<DVec3> = flat.iter().rev().map(|at| DVec3::new(at.y, at.z, at.x)).collect();
        check(&other, DVec3::NEG_Y * 6.0);
    }

    #[test]
    fn a_convex_polygon_is_a_fan() {
        let square = [DVec3::ZERO, DVec3::X, DVec3::new(1.0, 1.0, 0.0), DVec3::Y];
        assert_eq!(triangles(&square).unwrap(), [[0, 1, 2], [0, 2, 3]]);
    }

    #[test]
    fn too_few_corners_are_refused_and_degenerate_ones_are_not() {
        assert!(triangles(&[DVec3::ZERO, DVec3::X]).is_err());
        assert_eq!(triangles(&[DVec3::ZERO; 5]).unwrap().len(), 3);
        let cross = [DVec3::ZERO, DVec3::new(2.0, 2.0, 0.0), DVec3::X * 2.0, DVec3::Y * 2.0, DVec3::new(3.0, 1.0, 0.0)];
        assert_eq!(triangles(&cross).unwrap().len(), 3);
    }
}
