//! What is drawn on: textures of one size, and the buffer they are read back through.

use super::card::Card;
use super::format;
use wgpu::{
    Buffer, BufferUsages, CommandEncoder, Extent3d, RenderPass, Texture, TextureFormat, TextureUsages, TextureView,
};

/// Rows of a buffer begin at multiples of this.
const ROW_BYTES: usize = wgpu::COPY_BYTES_PER_ROW_ALIGNMENT as usize;

struct Sheet {
    texture: Texture,
    view: TextureView,
    /// Bytes of a pixel.
    pixel: usize,
    /// Where it begins in the buffer.
    offset: usize,
    /// Bytes from row to row there.
    row: usize,
}

/// Textures of one size.
pub(crate) struct Easel {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    sheets: Vec<Sheet>,
    nearness: TextureView,
    readback: Buffer,
}

fn texture(card: &Card, columns: usize, rows: usize, format: TextureFormat) -> Texture {
    card.device.create_texture(&wgpu::TextureDescriptor {
        label: Some("picture"),
        size: Extent3d { width: columns as u32, height: rows as u32, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: match format {
            format::NEARNESS => TextureUsages::RENDER_ATTACHMENT,
            _ => TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC,
        },
        view_formats: &[],
    })
}

impl Easel {
    pub(crate) fn new(card: &Card, columns: usize, rows: usize, formats: &[TextureFormat]) -> Self {
        let mut offset = 0;
        let sheet = |&format: &TextureFormat| {
            let texture = texture(card, columns, rows, format);
            let pixel = format.block_copy_size(None).unwrap_or(4) as usize;
            let row = (columns * pixel).next_multiple_of(ROW_BYTES);
            let sheet = Sheet { view: texture.create_view(&Default::default()), texture, pixel, offset, row };
            offset += row * rows;
            sheet
        };
        let sheets = formats.iter().map(sheet).collect();
        let readback = card.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("readback"),
            size: offset as u64,
            usage: BufferUsages::MAP_READ | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let nearness = texture(card, columns, rows, format::NEARNESS).create_view(&Default::default());
        Self { columns, rows, sheets, nearness, readback }
    }

    /// True if it is of this size and has so many sheets.
    pub(crate) fn fits(&self, columns: usize, rows: usize, sheets: usize) -> bool {
        (self.columns, self.rows, self.sheets.len()) == (columns, rows, sheets)
    }

    /// Begins to draw on clean sheets.
    pub(crate) fn begin<'a>(&self, encoder: &'a mut CommandEncoder) -> RenderPass<'a> {
        let clear =
            wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT), store: wgpu::StoreOp::Store };
        let views = self.sheets.iter().map(|sheet| &sheet.view);
        let attached = views.map(|view| wgpu::RenderPassColorAttachment {
            view,
            depth_slice: None,
            resolve_target: None,
            ops: clear,
        });
        let attachments: Vec<_> = attached.map(Some).collect();
        let nearness = wgpu::Operations { load: wgpu::LoadOp::Clear(0.0), store: wgpu::StoreOp::Discard };
        let pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("picture"),
            color_attachments: &attachments,
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &self.nearness,
                depth_ops: Some(nearness),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        pass.forget_lifetime()
    }

    /// Does what was recorded, waits for it, and calls `read` with the bytes of each sheet; `None` if the card failed.
    pub(crate) fn develop<T>(
        &self,
        card: &Card,
        mut encoder: CommandEncoder,
        read: impl FnOnce(&[Rows<'_>]) -> T,
    ) -> Option<T> {
        for sheet in &self.sheets {
            let layout = wgpu::TexelCopyBufferLayout {
                offset: sheet.offset as u64,
                bytes_per_row: Some(sheet.row as u32),
                rows_per_image: None,
            };
            let to = wgpu::TexelCopyBufferInfo { buffer: &self.readback, layout };
            encoder.copy_texture_to_buffer(sheet.texture.as_image_copy(), to, sheet.texture.size());
        }
        let submitted = card.queue.submit([encoder.finish()]);
        self.readback.map_async(wgpu::MapMode::Read, .., |_| {});
        card.device.poll(wgpu::PollType::Wait { submission_index: Some(submitted), timeout: None }).ok()?;
        let read = {
            let mapped = self.readback.get_mapped_range(..).ok()?;
            let rows = |sheet: &Sheet| Rows {
                bytes: &mapped[sheet.offset..sheet.offset + sheet.row * self.rows],
                row: sheet.row,
                width: sheet.pixel * self.columns,
            };
            let sheets: Vec<Rows<'_>> = self.sheets.iter().map(rows).collect();
            read(&sheets)
        };
        self.readback.unmap();
        Some(read)
    }
}

/// The bytes of a sheet.
pub(crate) struct Rows<'a> {
    bytes: &'a [u8],
    /// From row to row.
    row: usize,
    /// Of a row.
    width: usize,
}

impl Rows<'_> {
    /// Words of all pixels, row by row.
    pub(crate) fn words(&self) -> impl Iterator<Item = u32> {
        let rows = self.bytes.chunks_exact(self.row).map(|row| &row[..self.width]);
        rows.flat_map(|row| row.chunks_exact(4).map(word))
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// A number of 16 bits that is not negative, as the card writes light.
pub(crate) fn half(bits: u16) -> f32 {
    // the exponents of both sorts of numbers differ by 112
    f32::from_bits(u32::from(bits & 0x7fff) << 13) * f32::from_bits((127 + 112) << 23)
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn numbers_of_16_bits_are_what_they_stand_for() {
        let known = [(0, 0.0), (0x3c00, 1.0), (0x3555, 0.333_251_95), (0x7bff, 65504.0), (0x0001, 5.960_464_5e-8)];
        for (bits, value) in known {
            assert_eq!(half(bits), value);
        }
    }
}
