//! Where the rays of a range sensor go, in its own frame: x forward, y left, z up. Azimuths count from x to the left,
//! elevations upwards.
//!
//! Even spacing in the image plane is what a pinhole has: column c of C looks along `y/x = tan(w/2) (1 − (2c + 1)/C)`, the
//! middle of its pixel, as a depth buffer has it (Friedmann et al. 2008, section 4). Laser scanners are even in angle. The
//! rays of a cone are a Fibonacci lattice on the cap of the sphere (Á. González, *Measurement of areas on a sphere using
//! Fibonacci and latitude–longitude lattices*, Math. Geosci. 42, 2010), with the first on the axis and the last on the rim.

use glam::DVec3;
use muster_core::math;
use muster_core::node::{Node, Problems, Value};
use muster_core::spec::{Parameter, Schema, Spec, below};
use muster_core::{choice, spec};

/// The most rays a sensor may have.
pub const RAYS_MAX: usize = 1_000_000;

spec! {
    /// Rays in the plane of x and y, even in angle, from one end to the other.
    pub struct Planar {
        /// `planar`, which is what rays are if no kind is written.
        kind: String = "planar".to_owned();
        /// Azimuth of the first ray; negative to the right.
        from_deg: f64 = -90.0, in -360..=360;
        /// Azimuth of the last ray. In a full turn the last ray is one step before the first.
        to_deg: f64 = 90.0, in -360..=360;
        /// How many rays.
        count: usize = 181, in 1..=1000000;
    }
}

choice! {
    /// How the rays of a grid are spaced.
    pub enum Projection {
        /// Evenly in the image plane, as pixels of a camera are.
        Pinhole = "pinhole",
        /// Evenly in azimuth and elevation.
        Angular = "angular",
    }
}

spec! {
    /// Rays in rows and columns about x, row by row from the top, each from left to right.
    pub struct Grid {
        /// `grid`.
        kind: String;
        /// Rays in a row.
        columns: usize = 64, in 1..=100000;
        /// Rows.
        rows: usize = 48, in 1..=100000;
        /// From the left edge of the first column to the right edge of the last.
        width_deg: f64 = 60.0, in 0.0..=360;
        /// From the top of the first row to the bottom of the last.
        height_deg: f64 = 45.0, in 0.0..=180;
        /// How they are spaced.
        projection: Projection = Projection::Pinhole;
    }
}

spec! {
    /// Rays spread evenly over a cone about x.
    pub struct Cone {
        /// `cone`.
        kind: String;
        /// From the axis to the rim.
        half_angle_deg: f64 = 15.0, in 0.0..=180;
        /// How many rays: the first on the axis, the last on the rim.
        count: usize = 64, in 1..=1000000;
    }
}

spec! {
    /// Several lasers above each other that turn together: ring by ring in the order given, each as a planar scan.
    pub struct Rings {
        /// `rings`.
        kind: String;
        /// Elevation of each ring.
        rings_deg: Vec<f64>, in -90..=90;
        /// Azimuth of the first ray of each ring.
        from_deg: f64 = -180.0, in -360..=360;
        /// Azimuth of the last ray of each ring; in a full turn one step before the first.
        to_deg: f64 = 180.0, in -360..=360;
        /// Rays of each ring.
        count: usize = 360, in 1..=1000000;
    }
}

spec! {
    /// Any rays.
    pub struct List {
        /// `list`.
        kind: String;
        /// Azimuth and elevation of each.
        directions_deg: Vec<[f64; 2]> = Vec::new(), in -360..=360;
        /// Or a vector along each, of any length.
        vectors: Vec<[f64; 3]> = Vec::new();
    }
}

/// Where rays go.
#[derive(Debug, Clone, PartialEq)]
pub enum Rays {
    /// In a plane.
    Planar(Planar),
    /// In rows and columns.
    Grid(Grid),
    /// In a cone.
    Cone(Cone),
    /// In several planes or cones about z.
    Rings(Rings),
    /// Anywhere.
    List(List),
}

impl Default for Rays {
    fn default() -> Self {
        Self::Planar(Planar { kind: "planar".to_owned(), from_deg: -90.0, to_deg: 90.0, count: 181 })
    }
}

/// Unit directions row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Directions {
    /// The directions.
    pub all: Vec<DVec3>,
    /// How many to a row; rays of one column are measured at one instant of a sweep.
    pub columns: usize,
}

const KINDS: [&str; 5] = ["planar", "grid", "cone", "rings", "list"];

impl Parameter for Rays {
    fn schema(_: f64, _: f64) -> Schema {
        let pair = Schema::List { of: Box::new(Schema::Number { min: -360.0, max: 360.0 }), length: Some(2) };
        let blocks = [Planar::FIELDS, Grid::FIELDS, Cone::FIELDS, Rings::FIELDS, List::FIELDS];
        let blocks = blocks.into_iter().map(Schema::Block);
        Schema::Either(blocks.chain([Schema::List { of: Box::new(pair), length: None }]).collect())
    }

    fn read(node: &Node, path: &str, _: (f64, f64), problems: &mut Problems) -> Option<Self> {
        if let Value::List(_) = node.value {
            let directions_deg = Parameter::read(node, path, (-360.0, 360.0), problems)?;
            let list = List { kind: "list".to_owned(), directions_deg, vectors: Vec::new() };
            return checked(Self::List(list), node, path, problems);
        }
        let kind = node.get("kind");
        let read = match kind.map_or(Some("planar"), Node::text) {
            Some("planar") => Self::Planar(<Planar as Spec>::read(node, path, &[], problems)?),
            Some("grid") => Self::Grid(<Grid as Spec>::read(node, path, &[], problems)?),
            Some("cone") => Self::Cone(<Cone as Spec>::read(node, path, &[], problems)?),
            Some("rings") => Self::Rings(<Rings as Spec>::read(node, path, &[], problems)?),
            Some("list") => Self::List(<List as Spec>::read(node, path, &[], problems)?),
            other => {
                let place = kind.map_or(node.place, |kind| kind.place);
                let found = other.unwrap_or_default();
                problems.unknown(place, &below(path, "kind"), found, "a kind of rays", KINDS.into_iter());
                return None;
            }
        };
        checked(read, node, path, problems)
    }

    fn show(&self) -> String {
        match self {
            Self::Planar(rays) => rays.show(),
            Self::Grid(rays) => rays.show(),
            Self::Cone(rays) => rays.show(),
            Self::Rings(rays) => rays.show(),
            Self::List(rays) => rays.show(),
        }
    }
}

/// The rays, if limits that depend on several keys are kept.
fn checked(rays: Rays, node: &Node, path: &str, problems: &mut Problems) -> Option<Rays> {
    let span = |from: f64, to: f64| {
        let wide = (to - from).abs() > 360.0 + 1e-9;
        wide.then(|| (format!("{} degrees from end to end", (to - from).abs()), "at most 360".to_owned()))
    };
    let wrong = match &rays {
        Rays::Planar(planar) => span(planar.from_deg, planar.to_deg),
        Rays::Rings(rings) if rings.rings_deg.is_empty() => Some(("no ring".to_owned(), "rings_deg".to_owned())),
        Rays::Rings(rings) => span(rings.from_deg, rings.to_deg),
        Rays::Grid(grid) => {
            let pinhole = grid.projection == Projection::Pinhole;
            let wide = pinhole && (grid.width_deg >= 180.0 || grid.height_deg >= 180.0);
            let found = || format!("a pinhole of {} by {} degrees", grid.width_deg, grid.height_deg);
            wide.then(|| (found(), "less than 180 degrees, or projection: angular".to_owned()))
        }
        Rays::List(list) => {
            let (pairs, vectors) = (list.directions_deg.len(), list.vectors.len());
            let one = (pairs == 0) != (vectors == 0);
            let null = list.vectors.iter().any(|&vector| DVec3::from(vector).try_normalize().is_none());
            let found = if one { "a vector without direction".to_owned() } else { format!("{}", pairs + vectors) };
            (!one || null).then(|| (found, "directions_deg, or vectors that are not zero".to_owned()))
        }
        Rays::Cone(_) => None,
    };
    let many = rays.count() > RAYS_MAX;
    let wrong = wrong.or_else(|| many.then(|| (format!("{} rays", rays.count()), format!("at most {RAYS_MAX}"))));
    match wrong {
        Some((found, expected)) => {
            problems.error(node.place, path, found, expected);
            None
        }
        None => Some(rays),
    }
}

impl Rays {
    /// How many there are.
    pub fn count(&self) -> usize {
        match self {
            Self::Planar(planar) => planar.count,
            Self::Grid(grid) => grid.columns * grid.rows,
            Self::Cone(cone) => cone.count,
            Self::Rings(rings) => rings.rings_deg.len() * rings.count,
            Self::List(list) => list.directions_deg.len() + list.vectors.len(),
        }
    }

    /// Their directions.
    pub fn directions(&self) -> Directions {
        match self {
            Self::Planar(planar) => {
                let all = azimuths(planar.from_deg, planar.to_deg, planar.count).map(|azimuth| along(azimuth, 0.0));
                Directions { all: all.collect(), columns: planar.count }
            }
            Self::Grid(grid) => Directions { all: grid.directions(), columns: grid.columns },
            Self::Cone(cone) => Directions { all: cone.directions(), columns: cone.count },
            Self::Rings(rings) => {
                let ring = |&elevation: &f64| {
                    let azimuths = azimuths(rings.from_deg, rings.to_deg, rings.count);
                    azimuths.map(move |azimuth| along(azimuth, elevation))
                };
                Directions { all: rings.rings_deg.iter().flat_map(ring).collect(), columns: rings.count }
            }
            Self::List(list) => {
                let pairs = list.directions_deg.iter().map(|&[azimuth, elevation]| along(azimuth, elevation));
                let vectors = list.vectors.iter().map(|&vector| DVec3::from(vector).normalize_or(DVec3::X));
                Directions { all: pairs.chain(vectors).collect(), columns: self.count() }
            }
        }
    }
}

impl Grid {
    fn directions(&self) -> Vec<DVec3> {
        // from 1 at the first to -1 at the last, at the middles of pixels
        let share = |at: usize, of: usize| 1.0 - (2 * at + 1) as f64 / of as f64;
        let half = |degrees: f64| 0.5 * degrees.to_radians();
        let one = |row: usize, column: usize| {
            let (across, up) = (share(column, self.columns), share(row, self.rows));
            match self.projection {
                Projection::Pinhole => {
                    let tangent = |degrees: f64| math::tan(half(degrees));
                    DVec3::new(1.0, across * tangent(self.width_deg), up * tangent(self.height_deg)).normalize()
                }
                Projection::Angular => along(0.5 * across * self.width_deg, 0.5 * up * self.height_deg),
            }
        };
        (0..self.rows).flat_map(|row| (0..self.columns).map(move |column| one(row, column))).collect()
    }
}

impl Cone {
    fn directions(&self) -> Vec<DVec3> {
        // of a turn: so that no two rays have nearly one azimuth
        const GOLDEN: f64 = 0.381_966_011_250_105_1;
        let depth = 1.0 - math::cos(self.half_angle_deg.to_radians());
        let last = (self.count - 1).max(1) as f64;
        let one = |number: usize| {
            let x = 1.0 - depth * number as f64 / last;
            let radius = math::max(1.0 - x * x, 0.0).sqrt();
            let (sine, cosine) = math::sin_cos_turns(GOLDEN * number as f64);
            DVec3::new(x, radius * cosine, radius * sine)
        };
        (0..self.count).map(one).collect()
    }
}

/// Evenly from one azimuth to another, both included unless they are the same; one in the middle if it is alone.
fn azimuths(from_deg: f64, to_deg: f64, count: usize) -> impl Iterator<Item = f64> {
    let span = to_deg - from_deg;
    let turn = span.abs() > 360.0 - 1e-9;
    let steps = if turn { count } else { (count - 1).max(1) };
    let first = if count == 1 && !turn { from_deg + 0.5 * span } else { from_deg };
    (0..count).map(move |number| first + span * number as f64 / steps as f64)
}

/// The unit vector with this azimuth and elevation.
fn along(azimuth_deg: f64, elevation_deg: f64) -> DVec3 {
    let (sine, cosine) = math::sin_cos_turns(azimuth_deg / 360.0);
    let (up, level) = math::sin_cos_turns(elevation_deg / 360.0);
    DVec3::new(level * cosine, level * sine, up)
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_core::node::Entry;

    fn check(found: DVec3, expected: [f64; 3]) {
        assert!((found - DVec3::from(expected)).length() < 1e-15, "{found}, expected {expected:?}");
    }

    #[test]
    fn a_planar_scan_goes_from_right_to_left_with_both_ends() {
        let Directions { all, columns } = Rays::default().directions();
        assert_eq!((all.len(), columns), (181, 181));
        check(all[0], [0.0, -1.0, 0.0]);
        check(all[90], [1.0, 0.0, 0.0]);
        check(all[180], [0.0, 1.0, 0.0]);
    }

    #[test]
    fn a_full_turn_has_no_ray_twice() {
        let planar = |from_deg, to_deg, count| Rays::Planar(Planar { kind: String::new(), from_deg, to_deg, count });
        let all = planar(0.0, 360.0, 4).directions().all;
        for (found, expected) in all.into_iter().zip([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]) {
            check(found, expected);
        }
        check(planar(-30.0, 90.0, 1).directions().all[0], [3.0_f64.sqrt() / 2.0, 0.5, 0.0]);
    }

    #[test]
    fn a_pinhole_is_even_in_the_image_plane_and_an_angular_grid_in_angle() {
        let grid = |projection| {
            let kind = String::new();
            Rays::Grid(Grid { kind, columns: 4, rows: 2, width_deg: 90.0, height_deg: 60.0, projection })
        };
        let pinhole = grid(Projection::Pinhole).directions();
        assert_eq!((pinhole.all.len(), pinhole.columns), (8, 4));
        let tangents: Vec<f64> = pinhole.all[..4].iter().map(|ray| ray.y / ray.x).collect();
        for (found, expected) in tangents.iter().zip([0.75, 0.25, -0.25, -0.75]) {
            assert!((found - expected).abs() < 1e-15);
        }
        assert!((pinhole.all[0].z / pinhole.all[0].x - 0.5 / 3.0_f64.sqrt()).abs() < 1e-15, "the upper row is first");
        for (ray, expected) in grid(Projection::Angular).directions().all.iter().zip([33.75, 11.25, -11.25, -33.75]) {
            assert!((math::atan2(ray.y, ray.x).to_degrees() - expected).abs() < 1e-13);
            assert!((math::asin(ray.z).to_degrees() - 15.0).abs() < 1e-13);
        }
    }

    #[test]
    fn the_rays_of_a_cone_have_equal_shares_of_the_cap() {
        let cone = Cone { kind: String::new(), half_angle_deg: 30.0, count: 4000 };
        let all = cone.directions();
        check(all[0], [1.0, 0.0, 0.0]);
        assert!((math::acos(all[3999].x).to_degrees() - 30.0).abs() < 1e-6, "the last is on the rim");
        assert!(all.iter().all(|ray| (ray.length() - 1.0).abs() < 1e-14));
        // of the cap of 30 degrees, that of 20 degrees has (1 - cos 20)/(1 - cos 30)
        let inner = all.iter().filter(|ray| math::acos(ray.x).to_degrees() < 20.0).count() as f64 / 4000.0;
        assert!((inner - 0.06031 / 0.13397).abs() < 0.002, "{inner}");
        let left = all.iter().filter(|ray| ray.y > 0.0).count();
        assert!(left.abs_diff(2000) < 20, "{left}");
    }

    #[test]
    fn rings_are_scans_above_each_other() {
        let rings_deg = vec![-15.0, 15.0];
        let rings = Rings { kind: String::new(), rings_deg, from_deg: 0.0, to_deg: 360.0, count: 90 };
        let Directions { all, columns } = Rays::Rings(rings).directions();
        assert_eq!((all.len(), columns), (180, 90));
        assert!((math::asin(all[0].z).to_degrees() + 15.0).abs() < 1e-13);
        assert!((math::asin(all[90].z).to_degrees() - 15.0).abs() < 1e-13);
    }

    #[test]
    fn what_does_not_fit_together_is_told() {
        let read = |pairs: &[(&str, Value)]| {
            let entries = pairs.iter().map(|(key, value)| Entry {
                key: (*key).to_owned(),
                key_place: Default::default(),
                value: Node::of(value.clone()),
            });
            let mut problems = Problems::default();
            let node = Node::of(Value::Map(entries.collect()));
            assert!(<Rays as Parameter>::read(&node, "rays", (0.0, 0.0), &mut problems).is_none());
            problems.list()[0].to_string()
        };
        let (word, number) = (|text: &str| Value::Text(text.to_owned()), Value::Integer);
        assert!(read(&[("kind", word("plana"))]).contains("did you mean \"planar\"?"));
        assert!(read(&[("from_deg", number(-200)), ("to_deg", number(200))]).contains("at most 360"));
        assert!(read(&[("kind", word("grid")), ("width_deg", number(180))]).contains("less than 180 degrees"));
        assert!(read(&[("kind", word("list"))]).contains("directions_deg"));
        let grid = [("kind", word("grid")), ("columns", number(2000)), ("rows", number(2000))];
        assert!(read(&grid).contains("at most 1000000"));
    }
}
