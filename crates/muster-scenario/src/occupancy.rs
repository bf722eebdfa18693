//! Occupancy maps as ROS's `map_server` writes them: a YAML file that names an image, whose dark pixels are walls. A pixel
//! is occupied if its darkness (its brightness with `negate`) is above `occupied_thresh`, free if it is below `free_thresh`,
//! else not known. Occupied cells become few boxes.

use crate::assets::{Written, Wrong};
use crate::files::Files;
use crate::formats::image::{self, Grey};
use crate::walls::{Block, Occupied};
use crate::yaml;
use glam::DVec3;
use muster_core::component::Pose;
use muster_core::math;
use muster_core::node::{Node, Problems, Value};
use muster_core::spec;
use muster_core::spec::{Parameter, Schema, Spec};

spec! {
    /// An occupancy map (`map.yaml` and its image): what is occupied becomes walls.
    pub struct MapText {
        /// The YAML file that describes the map.
        file: Written;
        /// Height of the walls.
        height_m: f64 = 2.0, in 1e-3..=1e4;
        /// Whether what is not known counts as occupied.
        unknown_is_occupied: bool = false;
    }
}

muster_core::choice! {
    /// How pixels are read.
    pub enum Mode { Trinary = "trinary" }
}

/// `true` and `false`, also as 1 and 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flag(bool);

impl Parameter for Flag {
    fn schema(_: f64, _: f64) -> Schema {
        Schema::Either(vec![Schema::Bool, Schema::Integer { min: 0.0, max: 1.0 }])
    }

    fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
        match node.value {
            Value::Bool(value) => Some(Self(value)),
            Value::Integer(value @ 0..=1) => Some(Self(value == 1)),
            _ => {
                problems.error(node.place, path, node.found(), Self::schema(limits.0, limits.1).type_name());
                None
            }
        }
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

spec! {
    /// The description of a map; its keys are those of `map_server`.
    pub struct MapFile {
        /// The image.
        image: String;
        /// Edge of a pixel, in m.
        resolution: f64, in 1e-6..=1e6;
        /// Where the lower left corner of the image is: x and y in m, yaw in rad.
        origin: [f64; 3], in -1e9..=1e9;
        /// Bright pixels are occupied instead of dark ones.
        negate: Flag = Flag(false);
        /// What is darker than this is occupied.
        occupied_thresh: f64 = 0.65, in 0.0..=1.0;
        /// What is brighter than this is free.
        free_thresh: f64 = 0.196, in 0.0..=1.0;
        /// How pixels are read.
        mode: Mode = Mode::Trinary;
    }
}

/// Most boxes of a map.
const BLOCKS_MAX: usize = 200_000;

/// The walls of a map.
pub(crate) fn walls(text: &MapText, files: &Files) -> Result<Vec<Block>, Wrong> {
    let (found, bytes) = files.named_bytes(&text.file)?;
    let wrong = |what: String| Wrong::told(&what, "a map as map_server writes").at(&text.file);
    let of_file = |what: String, line: u32| {
        let (found_there, expected) = what.split_once(", expected ").unwrap_or((&what, "a map"));
        let found_there = found_there.strip_prefix("found ").unwrap_or(found_there);
        wrong(format!("{found_there} on line {line} of {}, expected {expected}", found.path()))
    };
    let first = |problems: &[muster_core::node::Problem]| {
        let problem = problems.first().map(|problem| (problem.to_string(), problem.place.line));
        let (what, line) = problem.unwrap_or_default();
        of_file(what, line)
    };
    let node = yaml::parse(&String::from_utf8_lossy(&bytes), 0).map_err(|problems| first(&problems))?;
    let mut problems = Problems::default();
    let map = <MapFile as Spec>::read(&node, "", &[], &mut problems).filter(|_| !problems.any_error());
    let map = map.ok_or_else(|| first(problems.list()))?;
    let image =
        files.search(&map.image, Some(&found)).map_err(|missing| wrong(missing.found + " of " + &found.path()))?;
    let pixels = files.bytes(&image).and_then(|bytes| image::brightness(&bytes));
    let pixels = pixels.map_err(|fault| Wrong::from(fault.of(&image.path())).at(&text.file))?;
    let occupied = occupied(&pixels, &map, text.unknown_is_occupied);
    let blocks = blocks(occupied, &map, text.height_m);
    if blocks.len() > BLOCKS_MAX {
        return Err(wrong(format!("walls of {} boxes, expected at most {BLOCKS_MAX}", blocks.len())));
    }
    Ok(blocks)
}

/// Cells from the lower left corner on.
fn occupied(pixels: &Grey, map: &MapFile, unknown: bool) -> Occupied {
    let solid = |brightness: &f64| {
        let share = if map.negate.0 { *brightness } else { 1.0 - brightness };
        share > map.occupied_thresh || (unknown && share >= map.free_thresh)
    };
    let filled = pixels.values.chunks_exact(pixels.columns).rev().flatten().map(solid).collect();
    Occupied { columns: pixels.columns, filled }
}

fn blocks(occupied: Occupied, map: &MapFile, height_m: f64) -> Vec<Block> {
    let [x, y, yaw] = map.origin;
    let origin = Pose { position_m: DVec3::new(x, y, 0.0), orientation: math::quat_from_yaw(yaw) };
    let block = |[columns, rows]: [std::ops::Range<usize>; 2]| {
        let corner =
            |x: usize, y: usize, z_m: f64| DVec3::new(x as f64 * map.resolution, y as f64 * map.resolution, z_m);
        let (from, to) = (corner(columns.start, rows.start, 0.0), corner(columns.end, rows.end, height_m));
        let middle = Pose { position_m: 0.5 * (from + to), ..Pose::IDENTITY };
        (0.5 * (to - from), origin.then(&middle))
    };
    occupied.few_rectangles().into_iter().map(block).collect()
}
