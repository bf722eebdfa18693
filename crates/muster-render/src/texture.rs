//! Textures at several sizes, so that a pixel far away reads a mean of what it covers instead of a texel at random.

use muster_core::colour::{Encoder, linear};
use muster_core::skin::Texture;

/// A texture and its halves, quarters, eighths... down to one texel; sRGB, averaged in linear light.
pub(crate) struct Mips {
    /// Texels of large levels, as bytes.
    texels: Vec<[u8; 4]>,
    /// Linear light of those of all smaller levels, which are read most.
    lights: Vec<[f32; 4]>,
    levels: Vec<Level>,
}

/// Levels of at most so many texels are kept as light, which takes four times the room.
const LIGHT_MAX: usize = 1 << 16;

#[derive(Debug, Clone, Copy)]
struct Level {
    first: usize,
    columns: usize,
    rows: usize,
}

/// Where the four texels around a place are in a level, and how far it is from the first to the others.
#[derive(Debug, Clone, Copy)]
struct Around {
    left: u32,
    right: u32,
    above: u32,
    below: u32,
    across: f32,
    down: f32,
}

/// Linear light of every byte.
pub(crate) type Decoder = [f32; 256];

/// Prepares the table of bytes.
pub(crate) fn decoder() -> Decoder {
    std::array::from_fn(|byte| linear(byte as f64 / 255.0) as f32)
}

impl Mips {
    pub(crate) fn new(texture: &Texture) -> Self {
        let (encoder, decoder) = (Encoder::new(), decoder());
        let mut level = Level { first: 0, columns: texture.columns, rows: texture.rows() };
        let mut texels: Vec<[u8; 4]> = texture.pixels.iter().map(|&[red, green, blue]| [red, green, blue, 0]).collect();
        let mut levels = vec![level];
        while level.columns > 1 || level.rows > 1 {
            let next =
                Level { first: texels.len(), columns: (level.columns / 2).max(1), rows: (level.rows / 2).max(1) };
            for row in 0..next.rows {
                for column in 0..next.columns {
                    let (rows, columns) = (span(row, next.rows, level.rows), span(column, next.columns, level.columns));
                    texels.push(mean(&texels, &level, (rows, columns), &decoder, &encoder));
                }
            }
            levels.push(next);
            level = next;
        }
        let large = levels.iter().take_while(|level| level.columns * level.rows > LIGHT_MAX).count();
        let first_light = levels.get(large).map_or(texels.len(), |level| level.first);
        let light = |texel: &[u8; 4]| texel.map(|byte| decoder[usize::from(byte)]);
        let lights = texels[first_light..].iter().map(light).collect();
        texels.truncate(first_light);
        levels[large..].iter_mut().for_each(|level| level.first -= first_light);
        Self { texels, lights, levels }
    }

    /// Texels along each side of the texture as it is.
    pub(crate) fn size(&self) -> [f32; 2] {
        [self.levels[0].columns as f32, self.levels[0].rows as f32]
    }

    /// The level to read for a pixel that covers so many texels of the texture.
    #[inline(always)]
    pub(crate) fn level(&self, covered: f32) -> usize {
        level_of(covered).min(self.levels.len() - 1)
    }

    /// The light at a place (u to the right, v up, both from 0 to 1) of a level, between the four texels around it; the
    /// texture repeats.
    #[inline(always)]
    pub(crate) fn light(&self, [u, v]: [f32; 2], level: usize, decoder: &Decoder) -> [f32; 4] {
        let level = &self.levels[level];
        let (left, right, across) = between(u * level.columns as u32 as f32 - 0.5, level.columns as u32);
        let (above, below, down) = between((1.0 - v) * level.rows as u32 as f32 - 0.5, level.rows as u32);
        let around = Around { left, right, above, below, across, down };
        if level.columns * level.rows > LIGHT_MAX {
            return self.decoded(level, &around, decoder);
        }
        let (above, below) =
            (level.first + above as usize * level.columns, level.first + below as usize * level.columns);
        let (a, b) = (&self.lights[above + left as usize], &self.lights[above + right as usize]);
        let (c, d) = (&self.lights[below + left as usize], &self.lights[below + right as usize]);
        mixed(&mixed(a, b, across), &mixed(c, d, across), down)
    }

    /// The same of a large level.
    #[inline(never)]
    fn decoded(&self, level: &Level, around: &Around, decoder: &Decoder) -> [f32; 4] {
        let texel = |row: u32, column: u32| {
            let texel = self.texels[level.first + row as usize * level.columns + column as usize];
            texel.map(|byte| decoder[usize::from(byte)])
        };
        let (a, b) = (texel(around.above, around.left), texel(around.above, around.right));
        let (c, d) = (texel(around.below, around.left), texel(around.below, around.right));
        mixed(&mixed(&a, &b, around.across), &mixed(&c, &d, around.across), around.down)
    }
}

#[inline(always)]
fn mixed(a: &[f32; 4], b: &[f32; 4], share: f32) -> [f32; 4] {
    let mut all = [0.0; 4];
    for channel in 0..4 {
        all[channel] = a[channel] + (b[channel] - a[channel]) * share;
    }
    all
}

/// The level whose texels are about as large as what a pixel covers: the nearest power of two.
#[inline(always)]
fn level_of(covered: f32) -> usize {
    // the exponent of a number is the floor of its logarithm
    let exponent = ((covered * std::f32::consts::SQRT_2).to_bits() >> 23) & 0xff;
    exponent.saturating_sub(127) as usize
}

/// The two texels around a place along one side, which may lie outside by half a texel, and how far it is from the first
/// to the second.
#[inline(always)]
fn between(place: f32, count: u32) -> (u32, u32, f32) {
    let shifted = if place < 0.0 { place + count as f32 } else { place };
    let first = (shifted as i32 as u32).min(count - 1);
    let second = if first + 1 == count { 0 } else { first + 1 };
    (first, second, shifted - first as f32)
}

#[cfg(feature = "gpu")]
impl Mips {
    /// The levels from fine to coarse: columns, rows, and texels in sRGB.
    pub(crate) fn levels(&self) -> impl Iterator<Item = (usize, usize, Vec<[u8; 4]>)> {
        let encoder = Encoder::new();
        self.levels.iter().map(move |level| {
            let texels = level.first..level.first + level.columns * level.rows;
            let bytes = match level.columns * level.rows > LIGHT_MAX {
                true => self.texels[texels].to_vec(),
                false => self.lights[texels].iter().map(|light| light.map(|light| encoder.byte(light))).collect(),
            };
            (level.columns, level.rows, bytes)
        })
    }
}

/// Which texels one of a smaller level covers along one side.
fn span(at: usize, count: usize, of: usize) -> std::ops::Range<usize> {
    at * of / count..(at + 1) * of / count
}

fn mean(
    texels: &[[u8; 4]],
    level: &Level,
    (rows, columns): (std::ops::Range<usize>, std::ops::Range<usize>),
    decoder: &Decoder,
    encoder: &Encoder,
) -> [u8; 4] {
    let mut sum = [0.0_f32; 3];
    for row in rows.clone() {
        for column in columns.clone() {
            let texel = texels[level.first + row * level.columns + column];
            (0..3).for_each(|channel| sum[channel] += decoder[usize::from(texel[channel])]);
        }
    }
    let count = (rows.len() * columns.len()) as f32;
    let byte = |channel: usize| encoder.byte(sum[channel] / count);
    [byte(0), byte(1), byte(2), 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(columns: usize, rows: usize) -> Texture {
        let pixels =
            (0..columns * rows).map(|at| [if (at % columns + at / columns).is_multiple_of(2) { 255 } else { 0 }; 3]);
        Texture { columns, pixels: pixels.collect() }
    }

    #[test]
    fn texels_are_found_in_their_places_upright() {
        let pixels = vec![[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]];
        let mips = Mips::new(&Texture { columns: 2, pixels });
        let light = |u, v| {
            let [red, green, blue, _] = mips.light([u, v], 0, &decoder());
            [red, green, blue]
        };
        assert_eq!(light(0.25, 0.75), [1.0, 0.0, 0.0], "the first texel is left and up");
        assert_eq!(light(0.75, 0.75), [0.0, 1.0, 0.0]);
        assert_eq!(light(0.25, 0.25), [0.0, 0.0, 1.0]);
        // between neighbours, and around the edge
        assert_eq!(light(0.5, 0.75), [0.5, 0.5, 0.0]);
        assert_eq!(light(0.0, 0.75), [0.5, 0.5, 0.0]);
        assert_eq!(light(0.999_999_9, 0.75)[2], 0.0);
    }

    #[test]
    fn a_board_from_afar_is_the_mean_of_its_light() {
        for (columns, rows) in [(64, 64), (48, 20), (7, 5), (1, 9)] {
            let mips = Mips::new(&board(columns, rows));
            let white = (columns * rows).div_ceil(2) as f32 / (columns * rows) as f32;
            let far = mips.light([0.3, 0.6], mips.level(1e6), &decoder())[0];
            assert!((far - white).abs() < 0.1, "{far} instead of {white}");
        }
        // half of the light, not half of the byte
        let mips = Mips::new(&board(64, 64));
        assert!((mips.light([0.3, 0.6], mips.level(4.0), &decoder())[0] - 0.5).abs() < 4e-3);
    }

    #[test]
    fn large_levels_are_read_like_small_ones() {
        // what repeats looks the same however large the texture is that holds it
        let (small, large) = (Mips::new(&board(256, 256)), Mips::new(&board(512, 256)));
        assert!(small.texels.is_empty() && !large.texels.is_empty());
        for (u, v) in [(0.1, 0.7), (0.503, 0.031), (0.999, 0.4)] {
            for level in 0..3 {
                let halves = (small.light([u, v], level, &decoder()), large.light([0.5 * u, v], level, &decoder()));
                (0..3).for_each(|channel| assert!((halves.0[channel] - halves.1[channel]).abs() < 1e-4));
            }
        }
    }

    #[test]
    fn a_pixel_reads_the_level_of_the_texels_it_covers() {
        assert_eq!([0.0, 0.3, 1.0, 1.4].map(level_of), [0, 0, 0, 0]);
        assert_eq!([1.5, 2.0, 2.8].map(level_of), [1, 1, 1]);
        assert_eq!([2.9, 4.0, 5.6, 1024.0].map(level_of), [2, 2, 2, 10]);
    }
}
