//! Pictures and images, from what is seen to what came back from the card.

use super::card::{Card, Pipelines};
use super::easel::{Easel, Rows, half};
use super::format::{self, LAMPS, Lighting, PLACEMENT_WORDS, PLANES, VIEW_BYTES, Words};
use super::lens::Pinhole;
use super::shadow::{self, Beam, Maps, uniform};
use super::stock::{Cloth, Model, Soup, Stage, Stock, around};
use crate::colour::{LAMP_SHARE, SUN_LX};
use crate::frustum::Frustum;
use crate::scene::sees_ball;
use glam::{DMat3, DVec3, Vec3};
use muster_core::component::Pose;
use muster_core::math;
use muster_core::ray::{Hit, Thing};
use muster_core::render::{Film, Picture, Shot, View, Wanted};
use muster_core::shape::Shape;
use muster_core::snapshot::{Lamp, Snapshot};
use std::ops::Range;
use std::sync::Arc;
use wgpu::{BindGroup, Buffer, BufferUsages, CommandEncoder, RenderPass};

/// Easels that are kept for pictures of the same size.
const EASELS: usize = 8;

/// Pieces that are drawn so many times, at placements next to each other.
struct Run {
    /// A part of robots; what stands still if none.
    model: Option<Arc<Model>>,
    pieces: Range<usize>,
    placements: Range<u32>,
}

/// All that is needed for a picture, kept for the next one.
pub(crate) struct Bench {
    easels: Vec<Easel>,
    maps: Option<Maps>,
    uniforms: Buffer,
    view: BindGroup,
    placements: Buffer,
    grounds: Buffer,
    words: Words,
    ground_words: Words,
    /// Parts in view: model, level, and the number of the body.
    bodies: Vec<(usize, usize, usize)>,
    pub(crate) picture: Picture,
    pub(crate) film: Film,
}

/// Where someone looks from, at what.
struct Sight<'a> {
    world: &'a Snapshot,
    stock: &'a Stock,
    stage: &'a Stage,
    eye_m: DVec3,
}

fn vertices(card: &Card, bytes: usize) -> Buffer {
    card.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("placements"),
        size: bytes.next_power_of_two() as u64,
        usage: BufferUsages::VERTEX | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// Sends words to a buffer, which grows if need be.
fn send(card: &Card, buffer: &mut Buffer, words: &Words) {
    if words.bytes().len() as u64 > buffer.size() {
        *buffer = vertices(card, words.bytes().len());
    }
    card.queue.write_buffer(buffer, 0, words.bytes());
}

impl Bench {
    pub(crate) fn new(card: &Card, pipelines: &Pipelines) -> Self {
        let uniforms = uniform(card, VIEW_BYTES);
        let entries = [wgpu::BindGroupEntry { binding: 0, resource: uniforms.as_entire_binding() }];
        let layout = &pipelines.view;
        let view = card.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries });
        Self {
            easels: Vec::new(),
            maps: None,
            uniforms,
            view,
            placements: vertices(card, 4096),
            grounds: vertices(card, 4096),
            words: Words::default(),
            ground_words: Words::default(),
            bodies: Vec::new(),
            picture: Picture::default(),
            film: Film::default(),
        }
    }

    /// Takes out an easel of this size.
    fn easel(&mut self, card: &Card, (columns, rows): (usize, usize), formats: &[wgpu::TextureFormat]) -> Easel {
        match self.easels.iter().position(|easel| easel.fits(columns, rows, formats.len())) {
            Some(at) => self.easels.remove(at),
            None => Easel::new(card, columns, rows, formats),
        }
    }

    fn put_back(&mut self, easel: Easel) {
        if self.easels.len() == EASELS {
            self.easels.remove(0);
        }
        self.easels.push(easel);
    }

    /// Places what stands still, alone at the first place.
    fn begin(&mut self, sight: &Sight<'_>) {
        self.words.clear();
        format::placement(&mut self.words, &Pose::IDENTITY, sight.eye_m, 1);
    }

    /// Finds what a test says may be seen, by the ball around it, without the parts of a robot.
    fn find(&mut self, sight: &Sight<'_>, without: Option<usize>, seen: impl Fn((DVec3, f64)) -> bool) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (number, piece) in sight.stage.soup.pieces.iter().enumerate() {
            if !seen((piece.middle_m, piece.radius_m)) {
                continue;
            }
            match runs.last_mut().filter(|run| run.pieces.end == number) {
                Some(run) => run.pieces.end += 1,
                None => runs.push(Run { model: None, pieces: number..number + 1, placements: 0..1 }),
            }
        }
        self.bodies.clear();
        let bodies = &sight.world.bodies;
        let model = |body: usize| sight.stock.kit(&bodies[body].cohort).map(|kit| &kit[usize::from(bodies[body].part)]);
        for (number, body) in bodies.iter().enumerate().filter(|(_, body)| Some(body.robot as usize) != without) {
            let Some(model) = model(number).filter(|model| !model.levels.is_empty()) else { continue };
            let ball = model.ball(&body.pose);
            if seen(ball) {
                let level = model.level((ball.0.distance(sight.eye_m) - ball.1).max(0.0));
                self.bodies.push((model.number, level, number));
            }
        }
        self.bodies.sort_unstable();
        let obstacles = sight.world.environment.obstacles.len();
        for alike in self.bodies.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let Some(model) = model(alike[0].2) else { continue };
            let first = (self.words.bytes().len() / (4 * PLACEMENT_WORDS)) as u32;
            for &(_, _, body) in alike {
                let id = (1 + obstacles + body) as u32;
                format::placement(&mut self.words, &bodies[body].pose, sight.eye_m, id);
            }
            let pieces = model.levels[alike[0].1].1.clone();
            runs.push(Run { model: Some(Arc::clone(model)), pieces, placements: first..first + alike.len() as u32 });
        }
        runs
    }

    /// Places planes.
    fn lay(&mut self, sight: &Sight<'_>) {
        self.ground_words.clear();
        for ground in &sight.stage.grounds {
            let pose = &sight.world.environment.obstacles[ground.number as usize].pose;
            let plane_from_world = DMat3::from_quat(pose.orientation).transpose();
            let eye_m = plane_from_world * (sight.eye_m - pose.position_m);
            let size_m = 1.0 / ground.per_m;
            let modulo = |along_m: f64| along_m - (along_m * ground.per_m).floor() * size_m;
            let words = &mut self.ground_words;
            words.row(plane_from_world.row(0), modulo(eye_m.x));
            words.row(plane_from_world.row(1), modulo(eye_m.y));
            words.row(plane_from_world.row(2), eye_m.z);
            words.floats(&ground.colour);
            words.floats(&[ground.texels_per_m, ground.per_m as f32]);
            words.number(1 + ground.number);
        }
    }

    /// Draws runs; with looks, each piece with its texture.
    fn draw(&self, pass: &mut RenderPass<'_>, sight: &Sight<'_>, runs: &[Run], looks: bool) {
        let stride = 4 * PLACEMENT_WORDS as u64;
        for run in runs {
            let soup = run.model.as_ref().map_or(&sight.stage.soup, |model| &model.soup);
            let bytes = u64::from(run.placements.start) * stride..u64::from(run.placements.end) * stride;
            pass.set_vertex_buffer(1, self.placements.slice(bytes));
            for (block, corners, cloth) in strips(soup, run.pieces.clone(), looks) {
                pass.set_vertex_buffer(0, soup.blocks[block].corners.slice(..));
                if looks {
                    pass.set_vertex_buffer(2, soup.blocks[block].looks.slice(..));
                    pass.set_bind_group(2, &cloth.group, &[]);
                }
                pass.draw(corners, 0..run.placements.len() as u32);
            }
        }
    }

    /// Takes a picture.
    pub(crate) fn take(
        &mut self,
        (card, pipelines): (&Card, &Pipelines),
        stock: &Stock,
        (world, view, frustum): (&Snapshot, &View, &Frustum),
        wanted: Wanted,
    ) -> Option<()> {
        let stage = stock.stage(&world.environment)?;
        let pinhole = Pinhole::of_view(view);
        let sight = Sight { world, stock, stage, eye_m: view.pose.position_m };
        let sides = frustum.sides_in_world();
        self.begin(&sight);
        let runs = self.find(&sight, view.without, |ball| sees_ball(&sides, ball));
        send(card, &mut self.placements, &self.words);
        self.lay(&sight);
        send(card, &mut self.grounds, &self.ground_words);
        format::view(&mut self.words, &pinhole, [view.near_m, view.far_m], 0.0, &Lighting::default());
        card.queue.write_buffer(&self.uniforms, 0, self.words.bytes());
        let formats = &[format::DEPTH, format::IDS][..1 + usize::from(wanted.things)];
        let easel = self.easel(card, (view.columns, view.rows), formats);
        let mut encoder = card.device.create_command_encoder(&Default::default());
        {
            let mut pass = easel.begin(&mut encoder);
            pass.set_bind_group(0, &self.view, &[]);
            pass.set_pipeline(&pipelines.geometry[usize::from(wanted.things)]);
            self.draw(&mut pass, &sight, &runs, false);
            if !stage.grounds.is_empty() {
                pass.set_pipeline(&pipelines.ground_geometry[usize::from(wanted.things)]);
                pass.set_vertex_buffer(0, self.grounds.slice(..));
                pass.draw(0..3, 0..stage.grounds.len() as u32);
            }
        }
        let picture = &mut self.picture;
        let done = easel.develop(card, encoder, |sheets| read_picture(picture, world, view, sheets));
        self.put_back(easel);
        done
    }

    /// Takes an image; each ray is a pixel if it is straight.
    pub(crate) fn expose(
        &mut self,
        (card, pipelines): (&Card, &Pipelines),
        stock: &Stock,
        (world, shot, pinhole): (&Snapshot, &Shot<'_>, &Pinhole),
        straight: bool,
    ) -> Option<()> {
        let stage = stock.stage(&world.environment)?;
        let sight = Sight { world, stock, stage, eye_m: pinhole.pose.position_m };
        let sides = Frustum::new(&pinhole.around(shot.without))?.sides_in_world();
        self.begin(&sight);
        let runs = self.find(&sight, shot.without, |ball| sees_ball(&sides, ball));
        let side = shadow::side(pinhole, card);
        let beams = self.beams(&sight, pinhole, side);
        let towards_sun = world.environment.daylight.towards_sun;
        let shades: Vec<Vec<Run>> = beams
            .iter()
            .map(|beam| {
                self.find(&sight, None, |(at_m, radius_m)| beam.meets(towards_sun, (at_m - sight.eye_m, radius_m)))
            })
            .collect();
        send(card, &mut self.placements, &self.words);
        self.lay(&sight);
        send(card, &mut self.grounds, &self.ground_words);
        let lighting = lighting(&sight, &beams);
        format::view(&mut self.words, pinhole, [shot.near_m, shot.far_m], shot.lens.ray_rad, &lighting);
        card.queue.write_buffer(&self.uniforms, 0, self.words.bytes());
        let maps = self.maps.take().filter(|maps| maps.side == side);
        let maps = maps.unwrap_or_else(|| Maps::new(card, pipelines, side));
        maps.point(card, &beams, &mut self.words);
        let easel = self.easel(card, (pinhole.columns, pinhole.rows), &[format::LIGHT, format::SURFACE, format::IDS]);
        let mut encoder = card.device.create_command_encoder(&Default::default());
        for (number, runs) in shades.iter().enumerate() {
            self.shade(&mut encoder, pipelines, &sight, (&maps, number), runs);
        }
        self.paint(&mut encoder, pipelines, &sight, (&easel, &maps), &runs);
        let mut film = std::mem::take(&mut self.film);
        let done = easel.develop(card, encoder, |sheets| {
            let reader = Reader::new(world, shot, pinhole, sheets);
            if straight { reader.read(&mut film) } else { reader.look_up(&mut film) }
        });
        self.film = film;
        self.maps = Some(maps);
        self.put_back(easel);
        done
    }

    /// Where shadows have to be looked for.
    fn beams(&self, sight: &Sight<'_>, pinhole: &Pinhole, side: usize) -> Vec<Beam> {
        let day = &sight.world.environment.daylight;
        let sunny = day.sun.iter().any(|&channel| channel > 0.0);
        let robots = sight.world.robots.iter().map(|robot| (robot.position_m, robot.radius_m));
        let ball = around(sight.stage.ball.into_iter().chain(robots)).filter(|_| sunny);
        let from_eye = |(middle_m, radius_m): (DVec3, f64)| (middle_m - sight.eye_m, radius_m);
        ball.map_or_else(Vec::new, |ball| shadow::beams(pinhole, day.towards_sun, from_eye(ball), side))
    }

    /// Draws a map of shadows.
    fn shade(
        &self,
        encoder: &mut CommandEncoder,
        pipelines: &Pipelines,
        sight: &Sight<'_>,
        (maps, number): (&Maps, usize),
        runs: &[Run],
    ) {
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("shadows"),
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &maps.layers[number],
                depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(1.0), store: wgpu::StoreOp::Store }),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        pass.set_pipeline(&pipelines.shadow);
        pass.set_bind_group(0, &maps.cascades[number].1, &[]);
        self.draw(&mut pass, sight, runs, false);
    }

    /// Draws an image.
    fn paint(
        &self,
        encoder: &mut CommandEncoder,
        pipelines: &Pipelines,
        sight: &Sight<'_>,
        (easel, maps): (&Easel, &Maps),
        runs: &[Run],
    ) {
        let mut pass = easel.begin(encoder);
        pass.set_bind_group(0, &self.view, &[]);
        pass.set_pipeline(&pipelines.sky);
        pass.draw(0..3, 0..1);
        pass.set_bind_group(1, &maps.group, &[]);
        pass.set_pipeline(&pipelines.film);
        self.draw(&mut pass, sight, runs, true);
        pass.set_pipeline(&pipelines.ground_film);
        pass.set_vertex_buffer(0, self.grounds.slice(..));
        for (number, ground) in (0..).zip(&sight.stage.grounds) {
            let stride = 4 * format::GROUND_WORDS as u64;
            pass.set_vertex_buffer(0, self.grounds.slice(number * stride..(number + 1) * stride));
            pass.set_bind_group(2, &ground.cloth.group, &[]);
            pass.draw(0..3, 0..1);
        }
    }
}

/// Corners that can be drawn at once: of pieces next to each other, and of one texture if that matters.
fn strips(soup: &Soup, pieces: Range<usize>, textured: bool) -> impl Iterator<Item = (usize, Range<u32>, &Arc<Cloth>)> {
    let pieces = &soup.pieces[pieces];
    let joined = pieces.chunk_by(move |a, b| a.block == b.block && (!textured || Arc::ptr_eq(&a.cloth, &b.cloth)));
    joined.map(|some| {
        let corners = some[0].corners.start..some[some.len() - 1].corners.end;
        (some[0].block, corners, &some[0].cloth)
    })
}

/// What lights an image.
fn lighting(sight: &Sight<'_>, beams: &[Beam]) -> Lighting {
    let environment = &sight.world.environment;
    let day = &environment.daylight;
    let brightest = f64::from(day.ambient.iter().copied().fold(1e-5, f32::max));
    let away = |lamp: &Lamp| sight.world.robots[lamp.robot as usize].position_m - sight.eye_m;
    let mut lamps: Vec<&Lamp> = sight.world.lamps.iter().collect();
    // those that are bright from here, if there are too many
    let nearness = |lamp: &Lamp| lamp.intensity_cd / away(lamp).length_squared().max(1e-4);
    lamps.sort_by(|a, b| nearness(b).total_cmp(&nearness(a)));
    lamps.retain(|lamp| lamp.intensity_cd / SUN_LX / 1e-4 > LAMP_SHARE * brightest);
    let lamp = |lamp: &&Lamp| (away(lamp), lamp.colour.map(|colour| (colour * lamp.intensity_cd / SUN_LX) as f32));
    let plane = |ground: &super::stock::Ground| {
        let pose = &environment.obstacles[ground.number as usize].pose;
        let normal = math::rotate(pose.orientation, DVec3::Z);
        (normal, normal.dot(pose.position_m - sight.eye_m))
    };
    Lighting {
        towards_sun: day.towards_sun,
        sun: day.sun,
        ambient: day.ambient,
        zenith: day.zenith,
        horizon: day.horizon,
        cascades: beams.iter().map(|beam| beam.cascade).collect(),
        lamps: lamps.iter().take(LAMPS).map(lamp).collect(),
        planes: sight.stage.grounds.iter().take(PLANES).map(plane).collect(),
    }
}

/// The thing of a number in a picture.
fn thing(world: &Snapshot, id: u32) -> Thing {
    let obstacles = world.environment.obstacles.len();
    match (id as usize).checked_sub(1) {
        None => Thing::Nothing,
        Some(number) if number < obstacles => Thing::Obstacle(number as u32),
        Some(number) => world
            .bodies
            .get(number - obstacles)
            .map_or(Thing::Nothing, |body| Thing::Part { robot: body.robot, part: body.part }),
    }
}

fn read_picture(picture: &mut Picture, world: &Snapshot, view: &View, sheets: &[Rows<'_>]) {
    let (near_m, far_m) = (view.near_m, view.far_m);
    // far (z - near) / (z (far - near)); where nothing was drawn there is no depth
    let (all, share) = (far_m / (far_m - near_m), far_m * near_m / (far_m - near_m));
    let depth = |bits: u32| {
        let depth_m = f64::from(f32::from_bits(bits));
        if depth_m > 0.0 { (all - share / depth_m).clamp(0.0, 1.0) as f32 } else { 1.0 }
    };
    picture.depth.clear();
    picture.depth.extend(sheets[0].words().map(depth));
    picture.things.clear();
    picture.triangles.clear();
    let Some(ids) = sheets.get(1) else { return };
    let (mut ids, mut last) = (ids.words(), (0, Thing::Nothing));
    while let (Some(id), Some(triangle)) = (ids.next(), ids.next()) {
        if id != last.0 {
            last = (id, thing(world, id));
        }
        picture.things.push(last.1);
        picture.triangles.push(triangle);
    }
}

/// Reads an image.
struct Reader<'a> {
    world: &'a Snapshot,
    shot: &'a Shot<'a>,
    pinhole: &'a Pinhole,
    light: Vec<[f32; 3]>,
    /// Normal and depth.
    surface: Vec<[f32; 4]>,
    ids: Vec<[u32; 2]>,
    /// The last thing, and whether its triangles have numbers.
    last: (u32, Thing, bool),
}

impl<'a> Reader<'a> {
    fn new(world: &'a Snapshot, shot: &'a Shot<'a>, pinhole: &'a Pinhole, sheets: &[Rows<'_>]) -> Self {
        let pairs: Vec<u32> = sheets[0].words().collect();
        let light = |pair: &[u32]| [pair[0] as u16, (pair[0] >> 16) as u16, pair[1] as u16].map(half);
        let floats: Vec<f32> = sheets[1].words().map(f32::from_bits).collect();
        let ids: Vec<u32> = sheets[2].words().collect();
        Self {
            world,
            shot,
            pinhole,
            light: pairs.chunks_exact(2).map(light).collect(),
            surface: floats.as_chunks::<4>().0.to_vec(),
            ids: ids.as_chunks::<2>().0.to_vec(),
            last: (0, Thing::Nothing, false),
        }
    }

    /// Each ray is a pixel.
    fn read(mut self, film: &mut Film) {
        film.hits.clear();
        for (pixel, ray) in self.shot.lens.rays.directions().iter().enumerate() {
            let depth_m = f64::from(self.surface[pixel][3]);
            film.hits.push(self.hit(pixel, depth_m / ray.x));
        }
        film.light = self.light;
    }

    /// Each ray is somewhere between pixels.
    fn look_up(mut self, film: &mut Film) {
        film.hits.clear();
        film.light.clear();
        let turn = DMat3::from_quat(self.shot.pose.orientation);
        let columns = self.pinhole.columns;
        for &ray in self.shot.lens.rays.directions() {
            let [across, down] = self.pinhole.pixel(ray);
            let (column, row) = (across.floor(), down.floor());
            let (right, below) = ((across - column) as f32, (down - row) as f32);
            let corner = row as usize * columns + column as usize;
            let [a, b, c, d] = [0, 1, columns, columns + 1].map(|step| Vec3::from(self.light[corner + step]));
            film.light.push(a.lerp(b, right).lerp(c.lerp(d, right), below).to_array());
            let (column, row) = (across.round() as usize, down.round() as usize);
            let pixel = row * columns + column;
            let [x, y, z, depth_m] = self.surface[pixel].map(f64::from);
            // along the surface that the nearest pixel sees
            let (normal, seen) = (DVec3::new(x, y, z), turn * self.pinhole.direction(column, row));
            let distance_m = depth_m * normal.dot(seen) / normal.dot(turn * ray);
            let plain_m = depth_m / ray.x;
            let near = (distance_m - plain_m).abs() < 0.05 * plain_m;
            film.hits.push(self.hit(pixel, if near { distance_m } else { plain_m }));
        }
    }

    fn hit(&mut self, pixel: usize, distance_m: f64) -> Hit {
        let [id, triangle] = self.ids[pixel];
        if id == 0 {
            return Hit::NOTHING;
        }
        if id != self.last.0 {
            let thing = thing(self.world, id);
            self.last = (id, thing, self.is_numbered(thing));
        }
        let [x, y, z, _] = self.surface[pixel];
        let (_, thing, numbered) = self.last;
        Hit { distance_m, normal: Vec3::new(x, y, z), thing, triangle: if numbered { triangle } else { 0 } }
    }

    /// True of things whose triangles are those of their shape.
    fn is_numbered(&self, thing: Thing) -> bool {
        let shape = match thing {
            Thing::Nothing => return false,
            Thing::Obstacle(number) => self.world.environment.obstacles[number as usize].solid.shape(),
            Thing::Part { robot, part } => {
                let body = self.world.bodies_of(robot as usize).iter().find(|body| body.part == part);
                match body {
                    Some(body) => body.part().solid.shape(),
                    None => return false,
                }
            }
        };
        matches!(shape, Shape::Mesh(_) | Shape::Heightfield(_))
    }
}
