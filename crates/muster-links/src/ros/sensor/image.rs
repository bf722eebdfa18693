//! Images.

use super::{Form, Made, Mouth, Place, Source, topic};
use crate::ros::messages::{CameraInfo, Header, Image};
use crate::ros::names;
use muster_core::model::SensorSlot;
use muster_core::render::lens::LensSpec;
use muster_core::time::SimTime;

/// What a record of an image may hold: the field, the topic, and how its pixels are written.
const LAYERS: &[(&str, &str, &str, Pixel)] = &[
    ("colour", "image_raw", "camera_info", Pixel::Rgb8),
    ("left", "left/image_raw", "left/camera_info", Pixel::Rgb8),
    ("right", "right/image_raw", "right/camera_info", Pixel::Rgb8),
    ("depth_m", "depth/image_raw", "depth/camera_info", Pixel::Float),
    ("id", "objects/image_raw", "objects/camera_info", Pixel::Integer),
    ("class", "classes/image_raw", "classes/camera_info", Pixel::Integer),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pixel {
    Rgb8,
    Float,
    Integer,
}

impl Pixel {
    fn encoding(self) -> (&'static str, u32) {
        match self {
            Self::Rgb8 => ("rgb8", 3),
            Self::Float => ("32FC1", 4),
            Self::Integer => ("32SC1", 4),
        }
    }

    fn put(self, value: f64, data: &mut Vec<u8>) {
        match self {
            Self::Rgb8 => {
                let [_, red, green, blue] = (value as u32).to_be_bytes();
                data.extend_from_slice(&[red, green, blue]);
            }
            Self::Float => data.extend_from_slice(&(value as f32).to_le_bytes()),
            Self::Integer => data.extend_from_slice(&(value as i32).to_le_bytes()),
        }
    }
}

/// How far the second image of a stereo camera is to the right of the first, m; 0 for other sensors.
pub fn baseline_of(slot: &SensorSlot) -> f64 {
    slot.sensor.baseline_m()
}

/// Images of a sensor with a lens.
pub(super) fn image(source: &Source<'_>) -> Option<Made> {
    let lens = &source.slot.sensor.image()?.spec;
    let mut at = 0;
    let (mut layers, mut topics) = (Vec::new(), Vec::new());
    for field in source.slot.fields() {
        let (_, image, info, pixel) = LAYERS.iter().find(|(name, ..)| *name == field.name && field.len == 1)?;
        let baseline_m = if field.name == "right" { baseline_of(source.slot) } else { 0.0 };
        let frame = match field.name {
            "right" => names::optical(source.robot, &format!("{}_right", source.slot.name)),
            _ => names::optical(source.robot, &source.slot.name),
        };
        layers.push(Layer::new(at, *pixel, lens, &frame, baseline_m));
        topics.extend([topic::<Image>(image), topic::<CameraInfo>(info)]);
        at += field.len;
    }
    let form = Images { layers, record: source.record() };
    Some(Made { place: Place::Folder("camera"), topics, form: Box::new(form) })
}

/// One image of a sample.
struct Layer {
    at: usize,
    pixel: Pixel,
    image: Image,
    info: CameraInfo,
}

impl Layer {
    fn new(at: usize, pixel: Pixel, lens: &LensSpec, frame: &str, baseline_m: f64) -> Self {
        let header = Header { frame_id: frame.to_owned(), ..Header::default() };
        let (width, height, (encoding, bytes)) = (lens.columns as u32, lens.rows as u32, pixel.encoding());
        let image = Image {
            header: header.clone(),
            height,
            width,
            encoding: encoding.to_owned(),
            step: bytes * width,
            ..Image::default()
        };
        let (f, c) = (lens.focal_px, lens.centre_px);
        let info = CameraInfo {
            header,
            height,
            width,
            distortion_model: "plumb_bob".to_owned(),
            d: lens.distortion.to_vec(),
            k: [f.x, 0.0, c.x, 0.0, f.y, c.y, 0.0, 0.0, 1.0],
            r: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            p: [f.x, 0.0, c.x, -f.x * baseline_m, 0.0, f.y, c.y, 0.0, 0.0, 0.0, 1.0, 0.0],
            ..CameraInfo::default()
        };
        Self { at, pixel, image, info }
    }
}

struct Images {
    layers: Vec<Layer>,
    record: usize,
}

impl Form for Images {
    fn say(&mut self, stamp: SimTime, values: &[f64], mouth: &mut Mouth<'_>) {
        for (number, layer) in self.layers.iter_mut().enumerate() {
            let pixels = (layer.image.width * layer.image.height) as usize;
            // without an engine there is no image in colour
            if values.len() != pixels * self.record {
                return;
            }
            layer.image.header.stamp = stamp.into();
            layer.info.header.stamp = stamp.into();
            layer.image.data.clear();
            for record in values.chunks_exact(self.record) {
                layer.pixel.put(record[layer.at], &mut layer.image.data);
            }
            mouth.say(2 * number, &layer.image);
            mouth.say(2 * number + 1, &layer.info);
        }
    }
}
