//! What was uploaded: everything that stands still as one soup of triangles in the world, sorted by texture and into pieces
//! that are small in space; each distinct part of robots once, at all its levels.

use super::card::{Card, Pipelines};
use super::format::{CORNER_WORDS, LOOKS_WORDS, Words, split};
use crate::coat::{Finish, Wardrobe};
use crate::tessellate;
use crate::texture::Mips;
use glam::DVec3;
use muster_core::component::Pose;
use muster_core::contact::Part;
use muster_core::math;
use muster_core::model::{Cohort, Environment};
use muster_core::shape::{Shape, Solid};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Weak};
use wgpu::util::DeviceExt;
use wgpu::{BindGroup, Buffer, BufferUsages, Extent3d};

/// Triangles of a piece, at most.
const PIECE: usize = 512;

/// A texture on the card.
pub(crate) struct Cloth {
    pub(crate) group: BindGroup,
    /// Texels along the longer side.
    side: f32,
}

/// Triangles next to each other that are drawn together.
pub(crate) struct Piece {
    /// Which block of corners they are in, and where.
    pub(crate) block: usize,
    pub(crate) corners: Range<u32>,
    pub(crate) cloth: Arc<Cloth>,
    /// The ball around them, m.
    pub(crate) middle_m: DVec3,
    pub(crate) radius_m: f64,
}

/// Corners of triangles, and their looks.
pub(crate) struct Block {
    pub(crate) corners: Buffer,
    pub(crate) looks: Buffer,
}

/// Triangles on the card.
#[derive(Default)]
pub(crate) struct Soup {
    pub(crate) blocks: Vec<Block>,
    pub(crate) pieces: Vec<Piece>,
}

/// A plane and its looks.
pub(crate) struct Ground {
    pub(crate) number: u32,
    pub(crate) cloth: Arc<Cloth>,
    pub(crate) colour: [f32; 3],
    pub(crate) per_m: f64,
    pub(crate) texels_per_m: f32,
}

/// What stands still.
pub(crate) struct Stage {
    pub(crate) soup: Soup,
    pub(crate) grounds: Vec<Ground>,
    /// The ball around everything but planes; none if there is nothing else.
    pub(crate) ball: Option<(DVec3, f64)>,
}

/// A part of robots.
pub(crate) struct Model {
    /// Tells it from others.
    pub(crate) number: usize,
    pub(crate) soup: Soup,
    /// From fine to coarse: how wrong, m, and which pieces.
    pub(crate) levels: Vec<(f64, Range<usize>)>,
    pub(crate) middle_m: DVec3,
    pub(crate) radius_m: f64,
}

impl Model {
    /// The coarsest level that is right enough for a distance.
    pub(crate) fn level(&self, distance_m: f64) -> usize {
        let enough_m = tessellate::ERROR_SHARE * distance_m;
        self.levels.iter().rposition(|level| level.0 <= enough_m).unwrap_or(0)
    }

    /// The ball around it at a pose.
    pub(crate) fn ball(&self, pose: &Pose) -> (DVec3, f64) {
        (pose.position_m + math::rotate(pose.orientation, self.middle_m), self.radius_m)
    }
}

/// The parts of a robot.
pub(crate) type Kit = Arc<[Arc<Model>]>;

/// Everything that was ever drawn and still exists. Keys are addresses, which stay taken while they are watched.
pub(crate) struct Stock {
    wardrobe: Wardrobe,
    models: Vec<(Part, Weak<Model>)>,
    next_model: usize,
    scenes: BTreeMap<usize, (Weak<Environment>, Arc<Stage>)>,
    kits: BTreeMap<usize, (Weak<Cohort>, Kit)>,
    cloths: BTreeMap<usize, (Weak<Mips>, Arc<Cloth>)>,
    white: Arc<Cloth>,
}

/// A triangle on its way to the card.
struct Triangle {
    corners_m: [DVec3; 3],
    normal: DVec3,
    /// Where its corners look.
    normals: [DVec3; 3],
    uv: [[f32; 2]; 3],
    colour: [f32; 3],
    texels_per_m: f32,
    number: u32,
    item: u32,
    /// Its texture, by its number among those of the soup.
    cloth: u32,
}

/// Triangles being gathered, and their textures.
#[derive(Default)]
struct Gathered {
    triangles: Vec<Triangle>,
    cloths: Vec<Arc<Cloth>>,
}

impl Stock {
    pub(crate) fn new(card: &Card, pipelines: &Pipelines) -> Self {
        let white = Arc::new(cloth(card, pipelines, &[(1, 1, vec![[255; 4]])]));
        Self {
            wardrobe: Wardrobe::default(),
            models: Vec::new(),
            next_model: 0,
            scenes: BTreeMap::new(),
            kits: BTreeMap::new(),
            cloths: BTreeMap::new(),
            white,
        }
    }

    /// What stands still in an environment, if it was drawn before.
    pub(crate) fn stage(&self, environment: &Arc<Environment>) -> Option<&Arc<Stage>> {
        self.scenes.get(&Arc::as_ptr(environment).addr()).map(|(_, stage)| stage)
    }

    /// The parts of a robot, if it was drawn before.
    pub(crate) fn kit(&self, cohort: &Arc<Cohort>) -> Option<&Kit> {
        self.kits.get(&Arc::as_ptr(cohort).addr()).map(|(_, kit)| kit)
    }

    /// Uploads what stands still in an environment.
    pub(crate) fn add_stage(&mut self, environment: &Arc<Environment>, card: &Card, pipelines: &Pipelines) {
        self.scenes.retain(|_, (watched, _)| watched.strong_count() > 0);
        self.wardrobe.add_scene(environment);
        let Some(standing) = self.wardrobe.scene(environment).cloned() else { return };
        let (mut gathered, mut grounds) = (Gathered::default(), Vec::new());
        for ((number, obstacle), standing) in (0..).zip(environment.obstacles.iter()).zip(standing.iter()) {
            let (solid, finish) = (&obstacle.solid, &standing.finish);
            if matches!(solid.shape(), Shape::Plane) {
                grounds.push(self.ground(number, finish, card, pipelines));
            } else {
                let finest = tessellate::levels(solid.shape()).into_iter().next();
                let triangles = finest.map(|level| level.corners_m).unwrap_or_default();
                self.gather(&mut gathered, (solid, finish, &obstacle.pose, number), &triangles, (card, pipelines));
            }
        }
        let soup = gathered.upload(card);
        let ball = around(soup.pieces.iter().map(|piece| (piece.middle_m, piece.radius_m)));
        let stage = Arc::new(Stage { soup, grounds, ball });
        self.scenes.insert(Arc::as_ptr(environment).addr(), (Arc::downgrade(environment), stage));
    }

    /// Uploads the parts of robots of a cohort that are not there yet.
    pub(crate) fn add_kit(&mut self, cohort: &Arc<Cohort>, card: &Card, pipelines: &Pipelines) {
        self.kits.retain(|_, (watched, _)| watched.strong_count() > 0);
        self.wardrobe.add_kit(cohort);
        let Some(finishes) = self.wardrobe.kit(cohort).cloned() else { return };
        let parts = cohort.blueprint.parts.iter().zip(finishes.iter());
        let kit: Kit = parts.map(|(part, finish)| self.model(part, finish, card, pipelines)).collect();
        self.kits.insert(Arc::as_ptr(cohort).addr(), (Arc::downgrade(cohort), kit));
    }

    fn model(&mut self, part: &Part, finish: &Finish, card: &Card, pipelines: &Pipelines) -> Arc<Model> {
        let known = self.models.iter().find(|(known, _)| alike(known, part)).and_then(|(_, model)| model.upgrade());
        if let Some(known) = known {
            return known;
        }
        self.models.retain(|(_, model)| model.strong_count() > 0);
        let (mut soup, mut levels) = (Soup::default(), Vec::new());
        for level in tessellate::levels(part.solid.shape()) {
            let mut gathered = Gathered::default();
            let here = (&part.solid, finish, &Pose::IDENTITY, 0);
            self.gather(&mut gathered, here, &level.corners_m, (card, pipelines));
            let (first, mut more) = (soup.pieces.len(), gathered.upload(card));
            more.pieces.iter_mut().for_each(|piece| piece.block += soup.blocks.len());
            soup.blocks.append(&mut more.blocks);
            soup.pieces.append(&mut more.pieces);
            levels.push((level.error_m, first..soup.pieces.len()));
        }
        let ball = around(soup.pieces.iter().map(|piece| (piece.middle_m, piece.radius_m)));
        let (middle_m, radius_m) = ball.unwrap_or_default();
        let model = Arc::new(Model { number: self.next_model, soup, levels, middle_m, radius_m });
        self.next_model += 1;
        self.models.push((part.clone(), Arc::downgrade(&model)));
        model
    }

    fn ground(&mut self, number: u32, finish: &Finish, card: &Card, pipelines: &Pipelines) -> Ground {
        let dressed = finish.dressed(0, [DVec3::ZERO; 3], DVec3::Z);
        let cloth = self.cloth(dressed.texture, card, pipelines);
        let texels_per_m = dressed.per_m * cloth.side;
        Ground { number, colour: dressed.colour, per_m: f64::from(dressed.per_m), texels_per_m, cloth }
    }

    /// Adds the triangles of a solid with its looks at a pose, numbered so.
    fn gather(
        &mut self,
        gathered: &mut Gathered,
        (solid, finish, pose, item): (&Solid, &Finish, &Pose, u32),
        triangles: &[[DVec3; 3]],
        (card, pipelines): (&Card, &Pipelines),
    ) {
        let place = |point: DVec3| pose.position_m + math::rotate(pose.orientation, point);
        for (number, &corners_m) in (0..).zip(triangles) {
            let [a, b, c] = corners_m;
            let normal = (b - a).cross(c - a).normalize_or_zero();
            if !normal.is_finite() || normal == DVec3::ZERO {
                continue;
            }
            let dressed = finish.dressed(number, corners_m, normal);
            let cloth = self.cloth(dressed.texture, card, pipelines);
            let known = gathered.cloths.iter().rposition(|known| Arc::ptr_eq(known, &cloth));
            let texels_per_m = dressed.per_m * cloth.side;
            let cloth = known.unwrap_or_else(|| {
                gathered.cloths.push(cloth);
                gathered.cloths.len() - 1
            });
            // a little inside of the triangle it is clear on which side of an edge a corner is meant to be
            let middle = (a + b + c) / 3.0;
            let looks =
                |corner: DVec3| math::rotate(pose.orientation, solid.normal_at(corner.lerp(middle, 1e-3), number));
            let placed = corners_m.map(place);
            // how often a texture repeats before a triangle does not matter, and small numbers are finer
            let whole = dressed.uv[0].map(f64::floor);
            gathered.triangles.push(Triangle {
                corners_m: placed,
                normal: (placed[1] - placed[0]).cross(placed[2] - placed[0]).normalize_or_zero(),
                normals: corners_m.map(looks),
                uv: dressed.uv.map(|[u, v]| [(u - whole[0]) as f32, (v - whole[1]) as f32]),
                colour: dressed.colour,
                texels_per_m,
                number,
                item,
                cloth: cloth as u32,
            });
        }
    }

    fn cloth(&mut self, texture: Option<&Arc<Mips>>, card: &Card, pipelines: &Pipelines) -> Arc<Cloth> {
        let Some(mips) = texture else { return Arc::clone(&self.white) };
        let key = Arc::as_ptr(mips).addr();
        if let Some((_, known)) = self.cloths.get(&key) {
            return Arc::clone(known);
        }
        self.cloths.retain(|_, (watched, _)| watched.strong_count() > 0);
        // what the card cannot hold is left out: the finest levels
        let holds = |&(columns, rows, _): &(usize, usize, _)| columns.max(rows) <= card.side_max as usize;
        let levels: Vec<(usize, usize, Vec<[u8; 4]>)> = mips.levels().filter(holds).collect();
        let made = Arc::new(cloth(card, pipelines, &levels));
        self.cloths.insert(key, (Arc::downgrade(mips), Arc::clone(&made)));
        made
    }
}

/// True of parts that look alike. Triangles and texels are not compared: whoever shares them shares them by reference.
fn alike(a: &Part, b: &Part) -> bool {
    let texture = |part: &Part| part.skin.texture.as_ref().map(|texture| Arc::as_ptr(texture).addr());
    let skins =
        texture(a) == texture(b) && a.skin.colour == b.skin.colour && a.skin.texture_size_m == b.skin.texture_size_m;
    skins && crate::scene::same(a.solid.shape(), b.solid.shape())
}

/// A ball around balls.
pub(crate) fn around(balls: impl Iterator<Item = (DVec3, f64)> + Clone) -> Option<(DVec3, f64)> {
    let low = balls.clone().fold(DVec3::INFINITY, |low, (at, radius)| low.min(at - radius));
    let high = balls.clone().fold(DVec3::NEG_INFINITY, |high, (at, radius)| high.max(at + radius));
    let middle = (low + high) * 0.5;
    let radius = balls.map(|(at, radius)| at.distance(middle) + radius).fold(f64::NEG_INFINITY, f64::max);
    radius.is_finite().then_some((middle, radius))
}

fn cloth(card: &Card, pipelines: &Pipelines, levels: &[(usize, usize, Vec<[u8; 4]>)]) -> Cloth {
    let (columns, rows) = levels.first().map_or((1, 1), |level| (level.0, level.1));
    let bytes: Vec<u8> = levels.iter().flat_map(|level| level.2.as_flattened()).copied().collect();
    let texture = card.device.create_texture_with_data(
        &card.queue,
        &wgpu::TextureDescriptor {
            label: Some("texture"),
            size: Extent3d { width: columns as u32, height: rows as u32, depth_or_array_layers: 1 },
            mip_level_count: levels.len().max(1) as u32,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Rgba8UnormSrgb,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        },
        wgpu::util::TextureDataOrder::LayerMajor,
        &bytes,
    );
    let sampler = card.device.create_sampler(&wgpu::SamplerDescriptor {
        address_mode_u: wgpu::AddressMode::Repeat,
        address_mode_v: wgpu::AddressMode::Repeat,
        mag_filter: wgpu::FilterMode::Linear,
        min_filter: wgpu::FilterMode::Linear,
        mipmap_filter: wgpu::MipmapFilterMode::Nearest,
        ..Default::default()
    });
    let view = texture.create_view(&Default::default());
    let group = card.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipelines.texture,
        entries: &[
            wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&view) },
            wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::Sampler(&sampler) },
        ],
    });
    Cloth { group, side: columns.max(rows) as f32 }
}

impl Gathered {
    /// Sorts triangles by texture and space, and uploads them.
    fn upload(mut self, card: &Card) -> Soup {
        let mut soup = Soup::default();
        self.triangles.sort_by_key(|triangle| triangle.cloth);
        for alike in self.triangles.chunk_by_mut(|a, b| a.cloth == b.cloth) {
            sort(alike);
        }
        let block = (card.bytes_max / (12 * CORNER_WORDS as u64)).clamp(1, 1 << 20) as usize;
        for (number, triangles) in self.triangles.chunks(block).enumerate() {
            let mut first = 0;
            for alike in triangles.chunk_by(|a, b| a.cloth == b.cloth) {
                for some in alike.chunks(PIECE) {
                    let corners = || some.iter().flat_map(|triangle| triangle.corners_m);
                    let ball = around(some.iter().flat_map(|triangle| triangle.corners_m).map(|corner| (corner, 0.0)));
                    let (middle_m, _) = ball.unwrap_or_default();
                    let radius_m = corners().map(|corner| corner.distance(middle_m)).fold(0.0, f64::max);
                    let last = first + 3 * some.len() as u32;
                    let cloth = Arc::clone(&self.cloths[some[0].cloth as usize]);
                    soup.pieces.push(Piece { block: number, corners: first..last, cloth, middle_m, radius_m });
                    first = last;
                }
            }
            soup.blocks.push(uploaded(card, triangles));
        }
        soup
    }
}

fn uploaded(card: &Card, triangles: &[Triangle]) -> Block {
    let mut corners = Words::with_capacity(3 * CORNER_WORDS * triangles.len());
    let mut looks = Words::with_capacity(3 * LOOKS_WORDS * triangles.len());
    for triangle in triangles {
        for corner in 0..3 {
            let (high, low) = split(triangle.corners_m[corner]);
            [high, low, triangle.normal].into_iter().for_each(|vector| corners.vector(vector));
            corners.number(triangle.number);
            corners.number(triangle.item);
            looks.vector(triangle.normals[corner]);
            looks.floats(&triangle.uv[corner]);
            looks.floats(&triangle.colour);
            looks.float(triangle.texels_per_m);
        }
    }
    let buffer = |words: &Words| {
        let usage = BufferUsages::VERTEX;
        let contents = words.bytes();
        card.device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: Some("triangles"), contents, usage })
    };
    Block { corners: buffer(&corners), looks: buffer(&looks) }
}

/// Brings triangles that are close to each other together: halves along the longest axis, each a whole number of pieces.
fn sort(triangles: &mut [Triangle]) {
    if triangles.len() <= PIECE {
        return;
    }
    let middle = |triangle: &Triangle| triangle.corners_m.iter().sum::<DVec3>();
    let middles = || triangles.iter().map(middle);
    let spread = middles().fold(DVec3::NEG_INFINITY, DVec3::max) - middles().fold(DVec3::INFINITY, DVec3::min);
    let axis = spread.max_position();
    let half = (triangles.len() / 2).next_multiple_of(PIECE);
    triangles.select_nth_unstable_by(half, |a, b| {
        middle(a)[axis].total_cmp(&middle(b)[axis]).then((a.item, a.number).cmp(&(b.item, b.number)))
    });
    let (low, high) = triangles.split_at_mut(half);
    sort(low);
    sort(high);
}
