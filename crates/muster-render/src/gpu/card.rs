//! The graphics card: which there are, which is taken, and what it is asked to do.

use super::format::{self, CORNER, GROUND, LOOKS, PLACEMENT};
use std::num::NonZeroU64;
use wgpu::{
    AdapterInfo, BindGroupLayout, ColorTargetState, ColorWrites, CompareFunction, DepthStencilState, Device,
    DeviceType, PrimitiveTopology, Queue, RenderPipeline, ShaderModule, ShaderStages, TextureFormat,
};

/// Why there is no graphics card to draw with, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoGpu(pub String);

impl std::fmt::Display for NoGpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoGpu {}

/// An open card.
pub(crate) struct Card {
    pub(crate) device: Device,
    pub(crate) queue: Queue,
    pub(crate) info: AdapterInfo,
    /// Pixels along a side of a picture, at most.
    pub(crate) side_max: u32,
    /// Bytes of a buffer, at most.
    pub(crate) bytes_max: u64,
}

/// What pictures need.
const FORMATS: [TextureFormat; 5] =
    [format::DEPTH, format::IDS, format::LIGHT, format::SURFACE, TextureFormat::Rgba8UnormSrgb];

impl Card {
    /// Opens the best card there is: by Vulkan, or if that fails by OpenGL.
    pub(crate) fn open() -> Result<Self, NoGpu> {
        let mut found = Vec::new();
        for backends in [wgpu::Backends::VULKAN, wgpu::Backends::GL] {
            if let Some(card) = Self::open_by(backends, &mut found) {
                return Ok(card);
            }
        }
        let found = if found.is_empty() { "no graphics adapter".to_owned() } else { found.join("; ") };
        Err(NoGpu(format!("found {found}, expected one for Vulkan or OpenGL that can be drawn with")))
    }

    /// What is found but cannot be used is told.
    fn open_by(backends: wgpu::Backends, found: &mut Vec<String>) -> Option<Self> {
        let mut wanted = wgpu::InstanceDescriptor::new_without_display_handle();
        wanted.backends = backends;
        let instance = wgpu::Instance::new(wanted);
        let mut adapters = pollster::block_on(instance.enumerate_adapters(backends));
        adapters.sort_by_key(|adapter| rank(&adapter.get_info()));
        for adapter in adapters {
            let info = adapter.get_info();
            let name = described(&info);
            let draws = |format: &TextureFormat| {
                let usages = adapter.get_texture_format_features(*format).allowed_usages;
                usages.contains(wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC)
            };
            if let Some(format) = FORMATS.iter().find(|format| !draws(format)) {
                found.push(format!("{name}, which cannot draw {format:?}"));
                continue;
            }
            let limits = adapter.limits();
            let asked = wgpu::DeviceDescriptor { required_limits: limits.clone(), ..Default::default() };
            match pollster::block_on(adapter.request_device(&asked)) {
                Ok((device, queue)) => {
                    let (side_max, bytes_max) = (limits.max_texture_dimension_2d, limits.max_buffer_size);
                    return Some(Self { device, queue, info, side_max, bytes_max });
                }
                Err(error) => found.push(format!("{name}, which does not open: {error}")),
            }
        }
        None
    }

    /// Its name, and how it is spoken to.
    pub(crate) fn described(&self) -> String {
        described(&self.info)
    }

    /// False if it is a program on the processor.
    pub(crate) fn is_hardware(&self) -> bool {
        self.info.device_type != DeviceType::Cpu
    }
}

fn described(info: &AdapterInfo) -> String {
    let driver = if info.driver.is_empty() { String::new() } else { format!(", {} {}", info.driver, info.driver_info) };
    format!("{} ({:?}{driver})", info.name, info.backend)
}

/// Real cards first.
fn rank(info: &AdapterInfo) -> u8 {
    match info.device_type {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    }
}

/// How things are drawn.
pub(crate) struct Pipelines {
    /// Depth only, or what is seen, too.
    pub(crate) geometry: [RenderPipeline; 2],
    pub(crate) ground_geometry: [RenderPipeline; 2],
    pub(crate) film: RenderPipeline,
    pub(crate) ground_film: RenderPipeline,
    pub(crate) sky: RenderPipeline,
    pub(crate) shadow: RenderPipeline,
    pub(crate) view: BindGroupLayout,
    pub(crate) cascade: BindGroupLayout,
    pub(crate) shadows: BindGroupLayout,
    pub(crate) texture: BindGroupLayout,
}

/// Makes pipelines.
struct Maker<'a> {
    device: &'a Device,
    module: ShaderModule,
}

/// What a pipeline is made of.
struct Plan<'a> {
    groups: &'a [&'a BindGroupLayout],
    vertex: &'a str,
    buffers: &'a [wgpu::VertexBufferLayout<'a>],
    fragment: &'a str,
    targets: &'a [TextureFormat],
    /// When what is drawn is nearer than what was; nothing is written if it always is.
    nearer: CompareFunction,
}

impl Maker<'_> {
    fn pipeline(&self, plan: &Plan<'_>) -> RenderPipeline {
        let groups: Vec<Option<&BindGroupLayout>> = plan.groups.iter().copied().map(Some).collect();
        let layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(plan.vertex),
            bind_group_layouts: &groups,
            immediate_size: 0,
        });
        let buffers: Vec<Option<wgpu::VertexBufferLayout<'_>>> = plan.buffers.iter().cloned().map(Some).collect();
        let target = |&format| Some(ColorTargetState { format, blend: None, write_mask: ColorWrites::ALL });
        let targets: Vec<Option<ColorTargetState>> = plan.targets.iter().map(target).collect();
        let fragment = wgpu::FragmentState {
            module: &self.module,
            entry_point: Some(plan.fragment),
            compilation_options: Default::default(),
            targets: &targets,
        };
        self.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some(plan.vertex),
            layout: Some(&layout),
            vertex: wgpu::VertexState {
                module: &self.module,
                entry_point: Some(plan.vertex),
                compilation_options: Default::default(),
                buffers: &buffers,
            },
            primitive: wgpu::PrimitiveState { topology: PrimitiveTopology::TriangleList, ..Default::default() },
            depth_stencil: Some(DepthStencilState {
                format: format::NEARNESS,
                depth_write_enabled: Some(plan.nearer != CompareFunction::Always),
                depth_compare: Some(plan.nearer),
                stencil: Default::default(),
                bias: Default::default(),
            }),
            multisample: Default::default(),
            fragment: (!plan.targets.is_empty()).then_some(fragment),
            multiview_mask: None,
            cache: None,
        })
    }
}

fn uniform(device: &Device, binding: u32, size: usize) -> BindGroupLayout {
    let ty = wgpu::BindingType::Buffer {
        ty: wgpu::BufferBindingType::Uniform,
        has_dynamic_offset: false,
        min_binding_size: NonZeroU64::new(size as u64),
    };
    let visibility = ShaderStages::VERTEX_FRAGMENT;
    let entries = [wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None }];
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries })
}

/// A texture and how it is read.
fn sampled(device: &Device, depth: bool) -> BindGroupLayout {
    let texture = wgpu::BindingType::Texture {
        sample_type: match depth {
            true => wgpu::TextureSampleType::Depth,
            false => wgpu::TextureSampleType::Float { filterable: true },
        },
        view_dimension: if depth { wgpu::TextureViewDimension::D2Array } else { wgpu::TextureViewDimension::D2 },
        multisampled: false,
    };
    let kind = if depth { wgpu::SamplerBindingType::Comparison } else { wgpu::SamplerBindingType::Filtering };
    let entry =
        |binding, ty| wgpu::BindGroupLayoutEntry { binding, visibility: ShaderStages::FRAGMENT, ty, count: None };
    let entries = [entry(0, texture), entry(1, wgpu::BindingType::Sampler(kind))];
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries })
}

impl Pipelines {
    pub(crate) fn new(device: &Device) -> Self {
        let module = device.create_shader_module(wgpu::include_wgsl!("draw.wgsl"));
        let maker = Maker { device, module };
        let view = uniform(device, 0, format::VIEW_BYTES);
        let cascade = uniform(device, 1, format::CASCADE_BYTES);
        let (shadows, texture) = (sampled(device, true), sampled(device, false));
        let solid = [CORNER, PLACEMENT];
        let nearer = CompareFunction::Greater;
        let seen = [format::DEPTH, format::IDS];
        let colours = [format::LIGHT, format::SURFACE, format::IDS];
        let geometry =
            Plan { groups: &[&view], vertex: "place", buffers: &solid, fragment: "geometry", targets: &seen, nearer };
        let ground = Plan { vertex: "place_ground", buffers: &[GROUND], fragment: "ground_geometry", ..geometry };
        let both = |plan: &Plan<'_>| {
            [&seen[..1], &seen[..]].map(|targets| maker.pipeline(&Plan { targets, buffers: plan.buffers, ..*plan }))
        };
        let film = Plan {
            groups: &[&view, &shadows, &texture],
            vertex: "place_looks",
            buffers: &[CORNER, PLACEMENT, LOOKS],
            fragment: "film",
            targets: &colours,
            nearer,
        };
        let ground_film = Plan { vertex: "place_ground", buffers: &[GROUND], fragment: "ground_film", ..film };
        let sky = Plan {
            groups: &[&view],
            vertex: "place_sky",
            buffers: &[],
            fragment: "sky",
            targets: &colours,
            nearer: CompareFunction::Always,
        };
        let shadow = Plan {
            groups: &[&cascade],
            vertex: "cast_shadow",
            buffers: &solid,
            fragment: "",
            targets: &[],
            nearer: CompareFunction::Less,
        };
        Self {
            geometry: both(&geometry),
            ground_geometry: both(&ground),
            film: maker.pipeline(&film),
            ground_film: maker.pipeline(&ground_film),
            sky: maker.pipeline(&sky),
            shadow: maker.pipeline(&shadow),
            view,
            cascade,
            shadows,
            texture,
        }
    }
}
