//! Images: PNG, JPEG, and Netpbm's PGM and PPM. JPEG is decoded without processor-specific code, so that a texture has the
//! same bits everywhere. What is transparent is painted as if it were not.

use super::Fault;
use muster_core::skin::Texture;
use std::io::Cursor;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Most pixels of an image.
pub const PIXELS_MAX: usize = 4096 * 4096;
/// What a decoder may allocate for itself besides the pixels, in bytes.
const WORK_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Brightness, row by row from the top.
#[derive(Debug, Clone, PartialEq)]
pub struct Grey {
    /// Pixels in a row.
    pub columns: usize,
    /// How bright each is, from 0 to 1.
    pub values: Vec<f64>,
}

impl Grey {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.values.len() / self.columns.max(1)
    }
}

/// A decoded image without transparency.
struct Raster {
    columns: usize,
    /// 1 or 3.
    channels: usize,
    /// What is brightest.
    max: u16,
    samples: Vec<u16>,
}

/// An image to be painted on something.
pub fn texture(bytes: &[u8]) -> Result<Texture, Fault> {
    let raster = decode(bytes)?;
    let max = u32::from(raster.max);
    let byte = |sample: u16| ((u32::from(sample.min(raster.max)) * 255 + max / 2) / max) as u8;
    let pixel = |samples: &[u16]| match samples {
        [r, g, b] => [*r, *g, *b].map(byte),
        _ => [byte(samples[0]); 3],
    };
    Ok(Texture { columns: raster.columns, pixels: raster.samples.chunks_exact(raster.channels).map(pixel).collect() })
}

/// An image of grey values, such as heights.
pub fn grey(bytes: &[u8]) -> Result<Grey, Fault> {
    let raster = decode(bytes)?;
    if raster.channels != 1 {
        return Err(Fault::new("an image with colours", "a grey one, with 8 or 16 bits a pixel"));
    }
    Ok(brightness_of(&raster))
}

/// How bright each pixel is: the mean of its channels.
pub fn brightness(bytes: &[u8]) -> Result<Grey, Fault> {
    decode(bytes).map(|raster| brightness_of(&raster))
}

fn brightness_of(raster: &Raster) -> Grey {
    let full = f64::from(raster.max) * raster.channels as f64;
    let value = |samples: &[u16]| samples.iter().map(|sample| f64::from(*sample)).sum::<f64>() / full;
    Grey { columns: raster.columns, values: raster.samples.chunks_exact(raster.channels).map(value).collect() }
}

fn decode(bytes: &[u8]) -> Result<Raster, Fault> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => png(bytes),
        [0xff, 0xd8, ..] => jpeg(bytes),
        [b'P', b'2' | b'3' | b'5' | b'6', ..] => netpbm(bytes),
        _ => {
            let start: Vec<String> = bytes.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            let found = if start.is_empty() { "no bytes".to_owned() } else { format!("bytes {}", start.join(" ")) };
            Err(Fault::new(found, "an image: PNG, JPEG, PGM or PPM").at_byte(0))
        }
    }
}

/// That an image is not too large, before room is made for it.
fn check_size(columns: usize, rows: usize) -> Result<(), Fault> {
    match columns.checked_mul(rows) {
        Some(1..=PIXELS_MAX) => Ok(()),
        _ => Err(Fault::new(format!("{columns} by {rows} pixels"), format!("at least one and at most {PIXELS_MAX}"))),
    }
}

fn png(bytes: &[u8]) -> Result<Raster, Fault> {
    let wrong = |error: png::DecodingError| Fault::new(format!("a damaged PNG image ({error})"), "a whole one");
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: WORK_BYTES_MAX });
    decoder.set_transformations(png::Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let (width, height) = decoder.read_header_info().map_err(wrong)?.size();
    check_size(width as usize, height as usize)?;
    let mut reader = decoder.read_info().map_err(wrong)?;
    let size = reader.output_buffer_size().filter(|size| *size <= 8 * PIXELS_MAX);
    let Some(size) = size else { return Err(Fault::new("a PNG image of more bytes", "fewer")) };
    let mut buffer = vec![0; size];
    let info = reader.next_frame(&mut buffer).map_err(wrong)?;
    let (channels, alpha) = match info.color_type {
        png::ColorType::Grayscale => (1, 0),
        png::ColorType::GrayscaleAlpha => (1, 1),
        png::ColorType::Rgb => (3, 0),
        png::ColorType::Rgba => (3, 1),
        png::ColorType::Indexed => return Err(Fault::new("a PNG image with a palette only", "colours")),
    };
    let samples: Vec<u16> = match info.bit_depth {
        png::BitDepth::Sixteen => buffer.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect(),
        _ => buffer.iter().map(|byte| u16::from(*byte)).collect(),
    };
    let max = if info.bit_depth == png::BitDepth::Sixteen { u16::MAX } else { 255 };
    let opaque = samples.chunks_exact(channels + alpha).flat_map(|pixel| &pixel[..channels]).copied();
    let samples = if alpha == 0 { samples } else { opaque.collect() };
    Ok(Raster { columns: info.width as usize, channels, max, samples })
}

fn jpeg(bytes: &[u8]) -> Result<Raster, Fault> {
    let wrong = |error| Fault::new(format!("a damaged JPEG image ({error:?})"), "a whole one");
    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB).set_strict_mode(true);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(wrong)?;
    let (columns, rows) = decoder.info().map_or((0, 0), |info| (usize::from(info.width), usize::from(info.height)));
    check_size(columns, rows)?;
    let samples: Vec<u16> = decoder.decode().map_err(wrong)?.into_iter().map(u16::from).collect();
    if samples.len() != columns * rows * 3 {
        return Err(Fault::new("a JPEG image of another size than it says", "as many pixels"));
    }
    Ok(Raster { columns, channels: 3, max: 255, samples })
}

/// Netpbm: a letter, width, height and the greatest value as text, then values as text or bytes.
fn netpbm(bytes: &[u8]) -> Result<Raster, Fault> {
    let mut text = Numbers { bytes, at: 2 };
    let (columns, rows) = (text.next("a width")?, text.next("a height")?);
    let max = text.next("the greatest value")?;
    check_size(columns, rows)?;
    let max = u16::try_from(max).ok().filter(|max| *max > 0);
    let max = max.ok_or_else(|| Fault::new("another greatest value", "1 to 65535").at_byte(text.at))?;
    let channels = if matches!(bytes[1], b'3' | b'6') { 3 } else { 1 };
    let count = columns * rows * channels;
    let samples = if matches!(bytes[1], b'2' | b'3') {
        // as text each value takes two bytes, so that no more room is made than the file is long
        if bytes.len() - text.at < count {
            return Err(short(bytes.len() - text.at, count));
        }
        (0..count).map(|_| Ok((text.next("a value")? as u16).min(max))).collect::<Result<_, Fault>>()?
    } else {
        let width = if max > 255 { 2 } else { 1 };
        let rest = bytes.get(text.at + 1..).unwrap_or_default();
        let Some(raw) = rest.get(..count * width) else { return Err(short(rest.len(), count * width)) };
        let sample = |raw: &[u8]| raw.iter().fold(0, |value: u16, byte| value << 8 | u16::from(*byte)).min(max);
        raw.chunks_exact(width).map(sample).collect()
    };
    Ok(Raster { columns, channels, max, samples })
}

fn short(found: usize, expected: usize) -> Fault {
    Fault::new(format!("{found} bytes of pixels"), format!("at least {expected}"))
}

/// Whole numbers between blanks and comments.
struct Numbers<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Numbers<'_> {
    fn next(&mut self, what: &str) -> Result<usize, Fault> {
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'#' => self.at += self.bytes[self.at..].iter().take_while(|byte| **byte != b'\n').count(),
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => break,
            }
        }
        let start = self.at;
        self.at += self.bytes[start..].iter().take(9).take_while(|byte| byte.is_ascii_digit()).count();
        let digits = std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or_default();
        digits.parse().ok().ok_or_else(|| Fault::new("something else", what).at_byte(start))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{png_grey16, png_rgb};
    use super::*;
    use proptest::prelude::*;

    /// Two by two pixels: red, green, blue, white.
    const FOUR: [[u8; 3]; 4] = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255; 3]];

    #[test]
    fn pixels_of_a_png_arrive_row_by_row_from_the_top() {
        assert_eq!(texture(&png_rgb(2, &FOUR)).unwrap(), Texture { columns: 2, pixels: FOUR.to_vec() });
    }

    #[test]
    fn sixteen_bits_keep_their_resolution() {
        let image = grey(&png_grey16(3, &[0, 1, 32768, 65534, 65535, 7])).unwrap();
        assert_eq!((image.columns, image.rows()), (3, 2));
        assert_eq!(image.values, [0, 1, 32768, 65534, 65535, 7].map(|value| f64::from(value) / 65535.0));
    }

    #[test]
    fn netpbm_in_all_four_forms() {
        let grey_text = grey(b"P2 # a comment\n3 1\n# another\n4\n0 2 4\n").unwrap();
        assert_eq!(grey_text.values, [0.0, 0.5, 1.0]);
        assert_eq!(grey(b"P5 3 1 4 \x00\x02\x04").unwrap(), grey_text);
        assert_eq!(grey(b"P5\n1 2\n1000\n\x00\x00\x03\xe8").unwrap().values, [0.0, 1.0]);
        assert_eq!(texture(b"P3 2 1 255 255 0 0 1 2 3").unwrap().pixels, [[255, 0, 0], [1, 2, 3]]);
        assert_eq!(texture(b"P6 1 1 255\n\x05\x06\x07").unwrap().pixels, [[5, 6, 7]]);
        assert_eq!(brightness(b"P6 1 1 255\n\x00\x33\x66").unwrap().values, [0.2]);
    }

    #[test]
    fn a_jpeg_has_about_the_colours_it_was_made_from() {
        let image = texture(super::super::testing::JPEG).unwrap();
        assert_eq!((image.columns, image.rows()), (16, 8));
        let near = |pixel: [u8; 3], wanted: [u8; 3]| pixel.iter().zip(wanted).all(|(a, b)| a.abs_diff(b) < 12);
        assert!(near(image.pixels[0], [200, 40, 40]), "{:?}", image.pixels[0]);
        assert!(near(image.pixels[15], [40, 60, 200]), "{:?}", image.pixels[15]);
    }

    #[test]
    fn what_is_no_image_is_told() {
        let fault = |bytes: &[u8]| texture(bytes).unwrap_err().to_string();
        assert_eq!(fault(b"GIF89a"), "found bytes 47 49 46 38 at byte 0, expected an image: PNG, JPEG, PGM or PPM");
        assert_eq!(fault(b"P5 2 2 255\n\x00"), "found 1 bytes of pixels, expected at least 4");
        assert!(fault(b"P5 99999 99999 255\n").contains("99999 by 99999 pixels"));
        assert!(fault(b"P5 x").contains("a width"));
        assert!(grey(&png_rgb(2, &FOUR)).unwrap_err().to_string().contains("with colours"));
        let mut cut = png_rgb(2, &FOUR);
        cut.truncate(50);
        assert!(fault(&cut).contains("damaged PNG"));
        let mut huge = png_rgb(2, &FOUR);
        huge[16..20].copy_from_slice(&60_000_u32.to_be_bytes());
        assert!(texture(&huge).is_err());
    }

    fn damaged(mut bytes: Vec<u8>, (at, byte): (usize, u8), cut: usize) {
        let length = bytes.len();
        bytes[at % length] = byte;
        bytes.truncate(1 + cut % length);
        if let Ok(image) = texture(&bytes) {
            assert_eq!(image.pixels.len(), image.columns * image.rows());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_image_or_refused(kind in 0..6_usize, mut bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let starts: [&[u8]; 6] = [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"P2 ", b"P5 3 3 255\n", b"P6 2 1 9\n"];
            bytes.splice(0..0, starts[kind].iter().copied());
            _ = texture(&bytes).is_ok();
        }

        #[test]
        fn damaged_images_are_read_or_refused(at: usize, byte: u8, cut: usize, kind in 0..3) {
            damaged(match kind {
                0 => png_rgb(2, &FOUR),
                1 => super::super::testing::JPEG.to_vec(),
                _ => b"P5\n3 2\n255\nabcdef".to_vec(),
            }, (at, byte), cut);
        }
    }
}
