//! The textures of the library: small images that repeat without a seam, calculated here so that nobody's pictures are
//! needed. `cargo xtask textures` writes them; a test holds the files against what is calculated.

use crate::pictures::write_rgb;
use muster_core::math;
use muster_core::random::Stream;
use std::path::Path;

/// An image, row by row from the top.
pub(crate) struct Image {
    pub(crate) columns: usize,
    pub(crate) pixels: Vec<[u8; 3]>,
}

type Painter = fn(&Grain, f64, f64) -> [f64; 3];

/// Name, edge in pixels, and the colour at a place from 0 to 1 along each edge.
const ALL: &[(&str, usize, Painter)] = &[
    ("asphalt", 64, asphalt),
    ("bricks", 128, bricks),
    ("concrete", 64, concrete),
    ("grass", 64, grass),
    ("tiles", 128, tiles),
    ("wood", 128, wood),
];

/// Writes all textures into a folder.
pub(crate) fn write(folder: &Path) -> Result<(), String> {
    all().into_iter().try_for_each(|(name, image)| write_rgb(&folder.join(format!("{name}.png")), &image))
}

/// All textures by name.
pub(crate) fn all() -> Vec<(&'static str, Image)> {
    ALL.iter().map(|&(name, edge, painter)| (name, painted(name, edge, painter))).collect()
}

fn painted(name: &str, edge: usize, painter: Painter) -> Image {
    let grain = Grain(Stream::new(1, muster_core::random::id_of(name)));
    let at = |number: usize| (number as f64 + 0.5) / edge as f64;
    let byte = |share: f64| (share.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
    let pixel = |number: usize| painter(&grain, at(number % edge), at(number / edge)).map(byte);
    Image { columns: edge, pixels: (0..edge * edge).map(pixel).collect() }
}

/// Noise that repeats.
struct Grain(Stream);

impl Grain {
    /// A number from 0 to 1 for a cell of a grid.
    fn cell(&self, x: i64, y: i64, layer: u64) -> f64 {
        self.0.uniforms((y as u64) << 32 | x as u64, layer as u32)[0]
    }

    /// Smooth noise from 0 to 1 of so many cells along each edge.
    fn smooth(&self, u: f64, v: f64, cells: [i64; 2], layer: u64) -> f64 {
        let (x, y) = (u * cells[0] as f64, v * cells[1] as f64);
        let (left, top) = (x.floor(), y.floor());
        let ease = |t: f64| t * t * (3.0 - 2.0 * t);
        let (right, down) = (ease(x - left), ease(y - top));
        let at = |dx: i64, dy: i64| {
            self.cell((left as i64 + dx).rem_euclid(cells[0]), (top as i64 + dy).rem_euclid(cells[1]), layer)
        };
        let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
        mix(mix(at(0, 0), at(1, 0), right), mix(at(0, 1), at(1, 1), right), down)
    }
}

fn shade([red, green, blue]: [f64; 3], by: f64) -> [f64; 3] {
    [red * by, green * by, blue * by]
}

/// Speckles of stone in tar.
fn asphalt(grain: &Grain, u: f64, v: f64) -> [f64; 3] {
    let coarse = grain.smooth(u, v, [8, 8], 0);
    let stone = grain.smooth(u, v, [32, 32], 1);
    let light = if stone > 0.72 { 0.52 } else { 0.28 + 0.08 * coarse };
    shade([1.0, 1.0, 1.03], light + 0.05 * grain.smooth(u, v, [64, 64], 2))
}

/// Eight courses of four bricks, each of its own shade, with mortar between.
fn bricks(grain: &Grain, u: f64, v: f64) -> [f64; 3] {
    const COURSES: f64 = 8.0;
    const LONG: f64 = 4.0;
    let course = (v * COURSES).floor();
    let along = (u + 0.5 * (course % 2.0) / LONG).rem_euclid(1.0) * LONG;
    let (x, y) = (along.fract(), (v * COURSES).fract());
    let rough = grain.smooth(u, v, [32, 32], 1);
    if !(0.04..0.96).contains(&x) || !(0.08..0.92).contains(&y) {
        return shade([0.78, 0.76, 0.72], 0.9 + 0.12 * rough);
    }
    let own = grain.cell(along as i64, course as i64, 0);
    shade([0.66, 0.3, 0.22], 0.75 + 0.35 * own + 0.15 * (rough - 0.5))
}

/// Grey with clouds and pores.
fn concrete(grain: &Grain, u: f64, v: f64) -> [f64; 3] {
    let clouds = 0.6 * grain.smooth(u, v, [4, 4], 0) + 0.4 * grain.smooth(u, v, [12, 12], 1);
    let pore = if grain.smooth(u, v, [32, 32], 2) > 0.85 { 0.72 } else { 1.0 };
    shade([0.66, 0.65, 0.62], (0.85 + 0.3 * clouds) * pore)
}

/// Blades of many greens.
fn grass(grain: &Grain, u: f64, v: f64) -> [f64; 3] {
    let tuft = grain.smooth(u, v, [6, 6], 0);
    let blade = grain.smooth(u, v, [64, 24], 1);
    let dry = grain.smooth(u, v, [10, 10], 2);
    shade([0.36 + 0.16 * dry, 0.55, 0.2], 0.6 + 0.35 * tuft + 0.4 * (blade - 0.4))
}

/// Four by four slabs with joints.
fn tiles(grain: &Grain, u: f64, v: f64) -> [f64; 3] {
    let (x, y) = (u * 4.0, v * 4.0);
    let joint = |part: f64| !(0.03..0.97).contains(&part.fract());
    if joint(x) || joint(y) {
        return [0.5, 0.48, 0.46];
    }
    let own = grain.cell(x as i64, y as i64, 0);
    let vein = grain.smooth(u, v, [24, 16], 1);
    shade([0.86, 0.82, 0.76], 0.86 + 0.14 * own + 0.08 * (vein - 0.5))
}

/// Four boards along u, with grain.
fn wood(grain: &Grain, u: f64, v: f64) -> [f64; 3] {
    let board = (v * 4.0).floor();
    let within = (v * 4.0).fract();
    if !(0.02..0.98).contains(&within) {
        return [0.25, 0.16, 0.1];
    }
    let bend = grain.smooth(u, v, [3, 8], 0);
    let rings = 0.5 + 0.5 * math::sin(std::f64::consts::TAU * (5.0 * within + 2.0 * bend + 0.37 * board));
    let fibre = grain.smooth(u, v, [8, 64], 1);
    let own = grain.cell(0, board as i64, 2);
    shade([0.66, 0.47, 0.3], 0.72 + 0.16 * own + 0.16 * rings + 0.14 * (fibre - 0.5))
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_scenario::formats::image;

    #[test]
    fn the_files_hold_what_is_calculated() {
        for (name, image) in all() {
            let path = crate::root().join(format!("library/textures/{name}.png"));
            let bytes = std::fs::read(&path).expect("a texture");
            assert!(bytes.len() < 65_536, "{name}: {} bytes", bytes.len());
            let read = image::texture(&bytes).expect("an image");
            assert_eq!((read.columns, read.pixels), (image.columns, image.pixels), "run cargo xtask textures");
        }
    }

    #[test]
    fn textures_repeat_without_a_seam() {
        let step = |a: [u8; 3], b: [u8; 3]| a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(b))).sum::<u64>();
        for (name, image) in all() {
            let (edge, at) = (image.columns, |x: usize, y: usize| image.pixels[y * image.columns + x]);
            let column = |x: usize| (0..edge).map(|y| step(at(x, y), at((x + 1) % edge, y))).sum::<u64>();
            let row = |y: usize| (0..edge).map(|x| step(at(x, y), at(x, (y + 1) % edge))).sum::<u64>();
            let most = |of: &dyn Fn(usize) -> u64| (0..edge - 1).map(of).max().unwrap_or(0);
            assert!(column(edge - 1) <= most(&column) && row(edge - 1) <= most(&row), "{name}");
        }
    }
}
