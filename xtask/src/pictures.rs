//! PNG files.

use crate::textures::Image;
use std::fs::File;
use std::io::{BufWriter, Cursor, Write};
use std::path::Path;

/// Writes an image with colours.
pub(crate) fn write_rgb(to: &Path, image: &Image) -> Result<(), String> {
    let file = File::create(to).map_err(|error| format!("cannot write {}: {error}", to.display()))?;
    encode(BufWriter::new(file), image.columns, image.pixels.as_flattened(), png::ColorType::Rgb, png::BitDepth::Eight)
}

/// The bytes of an image with colours.
pub(crate) fn rgb(image: &Image) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let pixels = image.pixels.as_flattened();
    encode(Cursor::new(&mut bytes), image.columns, pixels, png::ColorType::Rgb, png::BitDepth::Eight)?;
    Ok(bytes)
}

/// The bytes of an image of 16 bits of grey a pixel.
pub(crate) fn grey16(columns: usize, values: &[u16]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
    encode(Cursor::new(&mut bytes), columns, &raw, png::ColorType::Grayscale, png::BitDepth::Sixteen)?;
    Ok(bytes)
}

fn encode(
    to: impl Write,
    columns: usize,
    raw: &[u8],
    colour: png::ColorType,
    depth: png::BitDepth,
) -> Result<(), String> {
    let row = columns * colour.samples() * if depth == png::BitDepth::Sixteen { 2 } else { 1 };
    let mut encoder = png::Encoder::new(to, columns as u32, (raw.len() / row) as u32);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::Adaptive);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(raw));
    written.map_err(|error| format!("cannot write an image: {error}"))
}
