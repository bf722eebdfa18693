//! Shadows of the sun: maps of how far it shines, one for each part of the view from near to far, each as fine as the
//! pixels that look at it.

use super::card::{Card, Pipelines};
use super::format::{self, CASCADE_BYTES, CASCADES, Cascade, Words};
use super::lens::Pinhole;
use glam::DVec3;
use muster_core::math;
use wgpu::{BindGroup, Buffer, BufferUsages, Extent3d, TextureUsages, TextureView};

/// Texels along a side of a map, and how many there are to a pixel.
const SIDE_LEAST: usize = 256;
const SIDE_MOST: usize = 4096;
const FINER: usize = 3;
/// Nearer than this share of what is seen the maps are not made finer.
const NEAREST_SHARE: f64 = 1.0 / 2000.0;
const NEAREST_M: f64 = 0.1;
/// How long the shadow of a thing is at most, in heights of it.
const LENGTH_MOST: f64 = 5.0;

/// What a map shows, beside how it is written: everything within `radius_m` of the line from `middle_m` (from the eye, with
/// axes of the world) towards the sun.
pub(crate) struct Beam {
    pub(crate) cascade: Cascade,
    pub(crate) middle_m: DVec3,
    pub(crate) radius_m: f64,
}

impl Beam {
    /// True if something within a ball (from the eye) may throw a shadow into it.
    pub(crate) fn meets(&self, towards_sun: DVec3, (at_m, radius_m): (DVec3, f64)) -> bool {
        let off = at_m - self.middle_m;
        let along = off.dot(towards_sun);
        let across = (off - towards_sun * along).length();
        across <= self.radius_m + radius_m && along >= -(self.radius_m + radius_m)
    }
}

/// How fine maps have to be for a picture.
pub(crate) fn side(pinhole: &Pinhole, card: &Card) -> usize {
    let wanted = (FINER * pinhole.columns.max(pinhole.rows)).next_power_of_two();
    wanted.clamp(SIDE_LEAST, SIDE_MOST).min(card.side_max as usize)
}

/// The parts of a view in which there are shadows of what is inside of a ball (from the eye).
pub(crate) fn beams(pinhole: &Pinhole, towards_sun: DVec3, ball: (DVec3, f64), side: usize) -> Vec<Beam> {
    let length = (1.0 / towards_sun.z.max(1e-9)).clamp(1.0, LENGTH_MOST);
    let far_m = pinhole.far_m.min(ball.0.length() + ball.1 * (1.0 + length));
    let near_m = pinhole.near_m.max(NEAREST_M).max(NEAREST_SHARE * far_m).min(0.5 * far_m);
    let across = towards_sun.any_orthonormal_vector();
    let along = towards_sun.cross(across);
    let end = |part: usize| near_m * math::exp(math::ln(far_m / near_m) * part as f64 / CASCADES as f64);
    let beam = |part: usize| {
        let begin = if part == 0 { pinhole.near_m } else { end(part - 1) };
        let depth_m = end(part + 1);
        let corners = [begin, depth_m].into_iter().flat_map(|depth_m| {
            let corner = move |(right, up): (f64, f64)| {
                let across = (right - pinhole.offset[0]) / pinhole.scale[0];
                let upward = (up - pinhole.offset[1]) / pinhole.scale[1];
                math::rotate(pinhole.pose.orientation, DVec3::new(1.0, -across, upward) * depth_m)
            };
            [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)].map(corner)
        });
        let corners: Vec<DVec3> = corners.collect();
        let middle_m = corners.iter().sum::<DVec3>() / corners.len() as f64;
        // filters read a texel beyond
        let radius_m = corners.iter().map(|corner| corner.distance(middle_m)).fold(0.0, f64::max) * 1.01;
        let before_m = ((ball.0 - middle_m).dot(towards_sun) + ball.1).max(radius_m);
        let range_m = before_m + radius_m;
        let row = |axis: DVec3, scale: f64, offset: f64| (axis * scale, offset - axis.dot(middle_m) * scale);
        let rows = [
            row(across, 1.0 / radius_m, 0.0),
            row(along, 1.0 / radius_m, 0.0),
            row(-towards_sun, 1.0 / range_m, before_m / range_m),
        ];
        Beam { cascade: Cascade { rows, depth_m, texel_m: 2.0 * radius_m / side as f64 }, middle_m, radius_m }
    };
    (0..CASCADES).map(beam).collect()
}

/// Maps of one size.
pub(crate) struct Maps {
    pub(crate) side: usize,
    pub(crate) layers: Vec<TextureView>,
    /// What images read.
    pub(crate) group: BindGroup,
    /// What each layer is drawn with.
    pub(crate) cascades: Vec<(Buffer, BindGroup)>,
}

impl Maps {
    pub(crate) fn new(card: &Card, pipelines: &Pipelines, side: usize) -> Self {
        let texture = card.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("shadows"),
            size: Extent3d { width: side as u32, height: side as u32, depth_or_array_layers: CASCADES as u32 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: format::NEARNESS,
            usage: TextureUsages::RENDER_ATTACHMENT | TextureUsages::TEXTURE_BINDING,
            view_formats: &[],
        });
        let whole = texture.create_view(&wgpu::TextureViewDescriptor {
            dimension: Some(wgpu::TextureViewDimension::D2Array),
            ..Default::default()
        });
        let layer = |layer: u32| {
            texture.create_view(&wgpu::TextureViewDescriptor {
                dimension: Some(wgpu::TextureViewDimension::D2),
                base_array_layer: layer,
                array_layer_count: Some(1),
                ..Default::default()
            })
        };
        let sampler = card.device.create_sampler(&wgpu::SamplerDescriptor {
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            compare: Some(wgpu::CompareFunction::LessEqual),
            ..Default::default()
        });
        let group = card.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("shadows"),
            layout: &pipelines.shadows,
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&whole) },
                wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::Sampler(&sampler) },
            ],
        });
        let cascade = |_| {
            let buffer = uniform(card, CASCADE_BYTES);
            let entries = [wgpu::BindGroupEntry { binding: 1, resource: buffer.as_entire_binding() }];
            let layout = &pipelines.cascade;
            let described = wgpu::BindGroupDescriptor { label: Some("cascade"), layout, entries: &entries };
            let group = card.device.create_bind_group(&described);
            (buffer, group)
        };
        let layers = (0..CASCADES as u32).map(layer).collect();
        Self { side, layers, group, cascades: (0..CASCADES).map(cascade).collect() }
    }

    /// Sends where the beams are.
    pub(crate) fn point(&self, card: &Card, beams: &[Beam], words: &mut Words) {
        for (beam, (buffer, _)) in beams.iter().zip(&self.cascades) {
            words.clear();
            beam.cascade.write(words);
            card.queue.write_buffer(buffer, 0, words.bytes());
        }
    }
}

/// A buffer of uniforms.
pub(crate) fn uniform(card: &Card, bytes: usize) -> Buffer {
    card.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("uniforms"),
        size: bytes as u64,
        usage: BufferUsages::UNIFORM | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}
