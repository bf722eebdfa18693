//! COLLADA 1.4 and 1.5 (Khronos, ISO/PAS 17506): the visual scene with its nodes' transforms, `triangles`, `polylist`,
//! `polygons`, `tristrips` and `trifans`, and of materials the diffuse colour or texture. `up_axis` and `unit` count.
//! Figures with a skeleton stand as they were modelled. Lines, curves, lights, cameras and physics are passed over.

use super::uri::{self, Reference};
use super::{Axes, Beside, Corner, DEPTH_MAX, Draft, Fault, Frame, VERTICES_MAX, outward, polygon, skin};
use glam::{DMat4, DVec3};
use muster_core::math;
use muster_core::skin::Texture;
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most elements and texts of a file.
const XML_NODES_MAX: u32 = 1_000_000;
/// Most attributes of an element: comparing their names costs the square of them.
const ATTRIBUTES_MAX: usize = 64;
/// Most instances of geometry in a scene.
const INSTANCES_MAX: usize = 100_000;
/// Most corners of one face.
const CORNERS_MAX: usize = 65_536;

type Xml<'a> = Node<'a, 'a>;

pub(super) fn read(bytes: &[u8], beside: &mut dyn Beside) -> Result<(Draft, Frame), Fault> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        Fault::new("a byte that is not UTF-8", "UTF-8 text").on_line(line)
    })?;
    check_attributes(bytes)?;
    let options = ParsingOptions { nodes_limit: XML_NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text.trim_start_matches('\u{feff}'), options).map_err(|error| {
        Fault::new(format!("XML that does not go on ({error})"), "a COLLADA file").on_line(error.pos().row as usize)
    })?;
    let root = document.root_element();
    if root.tag_name().name() != "COLLADA" {
        return Err(Fault::new(format!("<{}>", root.tag_name().name()), "<COLLADA>"));
    }
    let ids = root.descendants().filter_map(|node| Some((node.attribute("id")?, node))).collect();
    let mut reader = Reader {
        document: &document,
        ids,
        beside,
        draft: Draft::default(),
        sources: BTreeMap::new(),
        textures: BTreeMap::new(),
        instances: 0,
    };
    for scene in reader.scenes(root)? {
        for node in children(scene, "node") {
            reader.node(node, DMat4::IDENTITY, DEPTH_MAX)?;
        }
    }
    Ok((reader.draft, frame(root)?))
}

/// The parser compares every attribute of an element with every other.
fn check_attributes(bytes: &[u8]) -> Result<(), Fault> {
    let (mut within, mut count, mut line) = (false, 0, 1);
    for byte in bytes {
        match byte {
            b'<' => (within, count) = (true, 0),
            b'>' => within = false,
            b'=' if within => count += 1,
            b'\n' => line += 1,
            _ => (),
        }
        if count > ATTRIBUTES_MAX {
            let found = format!("an element of more than {ATTRIBUTES_MAX} attributes");
            return Err(Fault::new(found, "fewer").on_line(line));
        }
    }
    Ok(())
}

fn frame(root: Xml<'_>) -> Result<Frame, Fault> {
    let asset = child(root, "asset");
    let axes = match asset.and_then(|asset| child(asset, "up_axis")).and_then(|axis| axis.text()).map(str::trim) {
        None | Some("Y_UP") => Axes::YUp,
        Some("Z_UP") => Axes::AsIs,
        Some("X_UP") => Axes::XUp,
        Some(other) => return Err(Fault::new(format!("up_axis {other:?}"), "X_UP, Y_UP or Z_UP")),
    };
    let unit = asset.and_then(|asset| child(asset, "unit")).and_then(|unit| unit.attribute("meter"));
    let unit_m: f64 = unit.map_or(Some(1.0), |unit| unit.trim().parse().ok()).unwrap_or(f64::NAN);
    if !(unit_m > 0.0 && unit_m <= 1e6) {
        return Err(Fault::new(format!("a unit of {:?} m", unit.unwrap_or_default()), "more than 0, at most 1e6"));
    }
    Ok(Frame { axes, unit_m })
}

fn child<'a>(of: Xml<'a>, name: &str) -> Option<Xml<'a>> {
    of.children().find(|node| node.tag_name().name() == name)
}

fn children<'a>(of: Xml<'a>, name: &'static str) -> impl Iterator<Item = Xml<'a>> {
    of.children().filter(move |node| node.tag_name().name() == name)
}

/// The element at the end of a path of names.
fn below<'a>(of: Xml<'a>, path: &[&str]) -> Option<Xml<'a>> {
    path.iter().try_fold(of, |node, name| child(node, name))
}

/// Where numbers of geometry come from: rows of so many, each with so many that count.
struct Source {
    values: Vec<f64>,
    offset: usize,
    stride: usize,
    count: usize,
}

impl Source {
    /// The first numbers of a row; 0 where there are fewer.
    fn row<const N: usize>(&self, at: usize) -> Option<[f64; N]> {
        let from = (at < self.count).then(|| self.offset + at * self.stride)?;
        Some(std::array::from_fn(|part| match part < self.stride {
            true => self.values.get(from + part).copied().unwrap_or(0.0),
            false => 0.0,
        }))
    }
}

struct Reader<'a> {
    document: &'a Document<'a>,
    ids: BTreeMap<&'a str, Xml<'a>>,
    beside: &'a mut dyn Beside,
    draft: Draft,
    sources: BTreeMap<usize, Arc<Source>>,
    textures: BTreeMap<String, Arc<Texture>>,
    instances: usize,
}

/// The corners of faces of one element.
struct Faces {
    positions: Arc<Source>,
    position_offset: usize,
    uv: Option<(Arc<Source>, usize)>,
    /// Numbers to a corner.
    width: usize,
    /// The vertex of each position that was used.
    vertices: BTreeMap<usize, u32>,
}

impl<'a> Reader<'a> {
    /// A fault where an element is written, unless it already knows better.
    fn fault(&self, at: Xml<'_>, found: impl Into<String>, expected: impl Into<String>) -> Fault {
        self.place(at, Fault::new(found, expected))
    }

    fn place(&self, at: Xml<'_>, fault: Fault) -> Fault {
        fault.on_line(self.document.text_pos_at(at.range().start).row as usize)
    }

    /// The element a reference such as `#wall` means.
    fn target(&self, from: Xml<'_>, reference: &str) -> Result<Xml<'a>, Fault> {
        let id = reference.trim().trim_start_matches('#');
        self.ids
            .get(id)
            .copied()
            .ok_or_else(|| self.fault(from, format!("a reference to {id:?}"), "the id of an element"))
    }

    fn url(&self, from: Xml<'a>, attribute: &str) -> Result<Xml<'a>, Fault> {
        let reference = from.attribute(attribute);
        let reference =
            reference.ok_or_else(|| self.fault(from, format!("no {attribute}"), format!("{attribute}=\"#…\"")))?;
        self.target(from, reference)
    }

    /// The scenes that are shown: the one that is named, or all.
    fn scenes(&self, root: Xml<'a>) -> Result<Vec<Xml<'a>>, Fault> {
        if let Some(instance) = below(root, &["scene", "instance_visual_scene"]) {
            return Ok(vec![self.url(instance, "url")?]);
        }
        Ok(children(root, "library_visual_scenes").flat_map(|all| children(all, "visual_scene")).collect())
    }

    fn node(&mut self, node: Xml<'a>, parent: DMat4, levels: usize) -> Result<(), Fault> {
        if levels == 0 {
            return Err(self.fault(node, "more levels of nodes", format!("at most {DEPTH_MAX}")));
        }
        let mut transform = parent;
        for part in node.children().filter(Node::is_element) {
            match part.tag_name().name() {
                "matrix" | "translate" | "rotate" | "scale" => transform *= self.transform(part)?,
                "skew" | "lookat" => return Err(self.fault(part, format!("<{}>", part.tag_name().name()), "a matrix")),
                "node" => self.node(part, transform, levels - 1)?,
                "instance_node" => {
                    self.count(part)?;
                    self.node(self.url(part, "url")?, transform, levels - 1)?;
                }
                "instance_geometry" => self.instance(part, self.url(part, "url")?, &transform)?,
                "instance_controller" => {
                    // a figure as it was modelled: the geometry its skin is of
                    let controller = self.url(part, "url")?;
                    let Some(figure) = child(controller, "skin") else { continue };
                    let bind = child(figure, "bind_shape_matrix").map(|bind| self.transform(bind)).transpose()?;
                    let transform = transform * bind.unwrap_or(DMat4::IDENTITY);
                    self.instance(part, self.url(figure, "source")?, &transform)?;
                }
                _ => (),
            }
        }
        Ok(())
    }

    /// Small files may ask for many copies of copies.
    fn count(&mut self, at: Xml<'_>) -> Result<(), Fault> {
        self.instances += 1;
        if self.instances > INSTANCES_MAX {
            return Err(self.fault(at, "more instances", format!("at most {INSTANCES_MAX}")));
        }
        Ok(())
    }

    fn transform(&self, part: Xml<'_>) -> Result<DMat4, Fault> {
        let name = part.tag_name().name();
        let numbers = self.numbers(part, 16)?;
        let made = match (name, numbers.as_slice()) {
            ("matrix" | "bind_shape_matrix", rows) if rows.len() == 16 => DMat4::from_cols_slice(rows).transpose(),
            ("translate", &[x, y, z]) => DMat4::from_translation(DVec3::new(x, y, z)),
            ("scale", &[x, y, z]) => DMat4::from_scale(DVec3::new(x, y, z)),
            ("rotate", &[x, y, z, degrees]) => match DVec3::new(x, y, z).try_normalize() {
                Some(axis) => DMat4::from_quat(math::quat_from_axis_angle(axis, degrees.to_radians())),
                None => DMat4::IDENTITY,
            },
            _ => {
                let expected = format!(
                    "{} for <{name}>",
                    [3, 4, 16][usize::from(name == "rotate") + 2 * usize::from(name.ends_with("matrix"))]
                );
                return Err(self.fault(part, format!("{} numbers", numbers.len()), expected));
            }
        };
        if made.is_finite() {
            Ok(made)
        } else {
            Err(self.fault(part, "a transform beyond all bounds", "finite numbers"))
        }
    }

    /// The numbers of an element, at most so many.
    fn numbers(&self, of: Xml<'_>, most: usize) -> Result<Vec<f64>, Fault> {
        let mut numbers = Vec::new();
        for word in of.text().unwrap_or_default().split_ascii_whitespace() {
            if numbers.len() == most {
                return Err(self.fault(of, "more numbers", format!("at most {most}")));
            }
            match word.parse() {
                Ok(number) => numbers.push(number),
                Err(_) => return Err(self.fault(of, format!("{word:?}"), "a number")),
            }
        }
        Ok(numbers)
    }

    fn instance(&mut self, instance: Xml<'a>, geometry: Xml<'a>, transform: &DMat4) -> Result<(), Fault> {
        self.count(instance)?;
        if !transform.is_finite() {
            return Err(self.fault(instance, "a transform beyond all bounds", "finite numbers"));
        }
        let Some(mesh) = child(geometry, "mesh") else { return Ok(()) };
        let mut bound: BTreeMap<&str, Xml<'a>> = BTreeMap::new();
        if let Some(technique) = below(instance, &["bind_material", "technique_common"]) {
            for material in children(technique, "instance_material") {
                bound.insert(material.attribute("symbol").unwrap_or_default(), self.url(material, "target")?);
            }
        }
        for faces in mesh.children().filter(Node::is_element) {
            let name = faces.tag_name().name();
            if !["triangles", "polylist", "polygons", "tristrips", "trifans"].contains(&name) {
                continue;
            }
            let skin = match faces.attribute("material").and_then(|symbol| bound.get(symbol)) {
                Some(material) => self.material(*material)?,
                None => None,
            };
            let corners = self.inputs(mesh, faces)?;
            let read = self.faces(faces, name, corners, skin, transform);
            read.map_err(|fault| self.place(faces, fault))?;
        }
        Ok(())
    }

    fn inputs(&mut self, mesh: Xml<'a>, faces: Xml<'a>) -> Result<Faces, Fault> {
        let (mut positions, mut uv, mut width) = (None, None, 0);
        for input in children(faces, "input") {
            let offset: usize =
                input.attribute("offset").map_or(Some(0), |offset| offset.trim().parse().ok()).unwrap_or(usize::MAX);
            if offset > 64 {
                return Err(self.fault(input, "another offset", "a whole number of at most 64"));
            }
            width = width.max(offset + 1);
            match input.attribute("semantic") {
                Some("VERTEX") => {
                    let vertices = self.url(input, "source")?;
                    let place =
                        children(vertices, "input").find(|input| input.attribute("semantic") == Some("POSITION"));
                    let place = place.ok_or_else(|| self.fault(vertices, "no POSITION", "an input of positions"))?;
                    positions = Some((self.source(self.url(place, "source")?)?, offset));
                }
                Some("TEXCOORD") if uv.is_none() => uv = Some((self.source(self.url(input, "source")?)?, offset)),
                _ => (),
            }
        }
        let (positions, position_offset) = positions
            .ok_or_else(|| self.fault(if width > 0 { faces } else { mesh }, "no VERTEX", "an input of vertices"))?;
        Ok(Faces { positions, position_offset, uv, width, vertices: BTreeMap::new() })
    }

    fn source(&mut self, source: Xml<'a>) -> Result<Arc<Source>, Fault> {
        let key = source.range().start;
        if let Some(known) = self.sources.get(&key) {
            return Ok(Arc::clone(known));
        }
        let array = child(source, "float_array").ok_or_else(|| self.fault(source, "no float_array", "one"))?;
        let values = self.numbers(array, 4 * VERTICES_MAX)?;
        let accessor = below(source, &["technique_common", "accessor"]);
        let number = |name: &str, absent: usize| {
            let text = accessor.and_then(|accessor| accessor.attribute(name));
            text.map_or(Some(absent), |text| text.trim().parse().ok())
        };
        let (stride, offset) = (number("stride", 1), number("offset", 0));
        let (Some(stride @ 1..=64), Some(offset)) = (stride, offset) else {
            return Err(self.fault(accessor.unwrap_or(source), "another stride or offset", "whole numbers"));
        };
        let count = values.len().saturating_sub(offset) / stride;
        let read = Arc::new(Source { values, offset, stride, count });
        self.sources.insert(key, Arc::clone(&read));
        Ok(read)
    }

    fn faces(
        &mut self,
        faces: Xml<'a>,
        name: &str,
        mut corners: Faces,
        skin: Option<u16>,
        transform: &DMat4,
    ) -> Result<(), Fault> {
        let sizes = match child(faces, "vcount") {
            Some(counts) if name == "polylist" => self.numbers(counts, VERTICES_MAX)?,
            _ => Vec::new(),
        };
        // polygons with holes are told, not filled
        if let Some(holes) = child(faces, "ph") {
            return Err(self.fault(holes, "a polygon with holes", "polygons without, or triangles"));
        }
        for list in children(faces, "p") {
            let numbers = self.numbers(list, 16 * VERTICES_MAX)?;
            let total = numbers.len() / corners.width;
            let mut left = numbers.chunks_exact(corners.width);
            let mut next = |count: usize, draft: &mut Draft| -> Result<Vec<Corner>, Fault> {
                if count > CORNERS_MAX {
                    return Err(Fault::new(format!("a face of {count} corners"), format!("at most {CORNERS_MAX}")));
                }
                let taken: Vec<&[f64]> = left.by_ref().take(count).collect();
                if taken.len() < count {
                    return Err(Fault::new(format!("{} corners", taken.len()), format!("{count} more")));
                }
                taken.into_iter().map(|indices| corners.corner(indices, draft, transform)).collect()
            };
            match name {
                "triangles" => {
                    for _ in 0..total / 3 {
                        let face = next(3, &mut self.draft)?;
                        self.polygon(&face, &[[0, 1, 2]], skin, transform)?;
                    }
                }
                "polylist" => {
                    for size in &sizes {
                        let face = next(*size as usize, &mut self.draft)?;
                        self.face(&face, skin, transform)?;
                    }
                }
                "polygons" => {
                    let face = next(total, &mut self.draft)?;
                    self.face(&face, skin, transform)?;
                }
                _ => {
                    let strip = name == "tristrips";
                    let mut before: Vec<Corner> = Vec::new();
                    for number in 0..total {
                        before.extend(next(1, &mut self.draft)?);
                        if let &[a, b, c] = before.as_slice() {
                            let flip = strip && number % 2 == 1;
                            self.polygon(&[a, b, c], &[if flip { [1, 0, 2] } else { [0, 1, 2] }], skin, transform)?;
                            before.remove(usize::from(!strip));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds a face of any number of corners.
    fn face(&mut self, face: &[Corner], skin: Option<u16>, transform: &DMat4) -> Result<(), Fault> {
        let places: Vec<DVec3> = face.iter().map(|(vertex, _)| self.draft.vertices[*vertex as usize]).collect();
        self.polygon(face, &polygon::triangles(&places)?, skin, transform)
    }

    fn polygon(
        &mut self,
        face: &[Corner],
        triangles: &[[usize; 3]],
        skin: Option<u16>,
        transform: &DMat4,
    ) -> Result<(), Fault> {
        for triangle in triangles {
            self.draft.triangle(outward(triangle.map(|at| face[at]), transform), skin)?;
        }
        Ok(())
    }

    /// The skin a material means.
    fn material(&mut self, material: Xml<'a>) -> Result<Option<u16>, Fault> {
        let Some(instance) = child(material, "instance_effect") else { return Ok(None) };
        let effect = self.url(instance, "url")?;
        let Some(profile) = child(effect, "profile_COMMON") else { return Ok(None) };
        let shading = child(profile, "technique").and_then(|technique| {
            technique
                .children()
                .find(|node| ["phong", "blinn", "lambert", "constant"].contains(&node.tag_name().name()))
        });
        let Some(shading) = shading else { return Ok(None) };
        let diffuse = child(shading, "diffuse").or_else(|| child(shading, "emission"));
        let Some(diffuse) = diffuse else { return Ok(None) };
        if let Some(texture) = child(diffuse, "texture") {
            let texture = self.texture(effect, profile, texture)?;
            return self.draft.skin(skin(None, Some(texture))).map(Some);
        }
        let Some(colour) = child(diffuse, "color") else { return Ok(None) };
        let numbers = self.numbers(colour, 4)?;
        let &[red, green, blue, ..] = numbers.as_slice() else {
            return Err(self.fault(colour, format!("{} numbers", numbers.len()), "red, green, blue and alpha"));
        };
        let rgb = [red, green, blue].map(|share| share.clamp(0.0, 1.0) as f32);
        self.draft.skin(skin(Some(rgb), None)).map(Some)
    }

    /// From a texture by its sampler and surface to the image, or straight to the image as some programs write.
    fn texture(&mut self, effect: Xml<'a>, profile: Xml<'a>, texture: Xml<'a>) -> Result<Arc<Texture>, Fault> {
        let name = texture.attribute("texture").unwrap_or_default();
        let parameter = |sid: &str| {
            let mut all = children(profile, "newparam").chain(children(effect, "newparam"));
            all.find(|node| node.attribute("sid") == Some(sid))
        };
        let mut image = name.to_owned();
        if let Some(sampler) = parameter(name).and_then(|found| child(found, "sampler2D")) {
            if let Some(instance) = child(sampler, "instance_image") {
                image = instance.attribute("url").unwrap_or_default().to_owned();
            } else {
                let source = child(sampler, "source").and_then(|source| source.text()).unwrap_or_default().trim();
                let surface = parameter(source).and_then(|found| below(found, &["surface", "init_from"]));
                image = surface.and_then(|from| from.text()).unwrap_or(source).to_owned();
            }
        }
        let element = self.target(texture, &image)?;
        let from = child(element, "init_from");
        let from = from.map(|from| child(from, "ref").unwrap_or(from)).and_then(|from| from.text()).unwrap_or_default();
        if let Some(known) = self.textures.get(from) {
            return Ok(Arc::clone(known));
        }
        let read = match uri::read(from) {
            Ok(Reference::File(name)) => self.beside.texture(&name),
            Ok(Reference::Data(bytes)) => super::image::texture(&bytes).map(Arc::new),
            Err(fault) => Err(fault),
        };
        let read = read.map_err(|fault| self.place(element, fault))?;
        self.textures.insert(from.to_owned(), Arc::clone(&read));
        Ok(read)
    }
}

impl Faces {
    fn corner(&mut self, indices: &[f64], draft: &mut Draft, transform: &DMat4) -> Result<Corner, Fault> {
        let index = |offset: usize| indices[offset] as usize;
        let missing =
            |at: usize, source: &Source| Fault::new(format!("index {at}"), format!("less than {}", source.count));
        let at = index(self.position_offset);
        let vertex = match self.vertices.get(&at) {
            Some(known) => *known,
            None => {
                let place = self.positions.row::<3>(at).ok_or_else(|| missing(at, &self.positions))?;
                let vertex = draft.vertex(transform.transform_point3(DVec3::from(place)))?;
                self.vertices.insert(at, vertex);
                vertex
            }
        };
        let uv = match &self.uv {
            Some((source, offset)) => {
                let [u, v] = source.row::<2>(index(*offset)).ok_or_else(|| missing(index(*offset), source))?;
                Some([u as f32, v as f32])
            }
            None => None,
        };
        Ok((vertex, uv))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{BoxMesh, Folder, check_bytes, check_cast, check_damaged, png_rgb};
    use super::super::{Alone, Format, Up};
    use super::*;
    use muster_core::shape::Mesh;
    use proptest::prelude::*;

    const HALF: DVec3 = DVec3::new(1.0, 2.0, 0.5);

    /// The box in the frame of a file, on a node of a node; its last face has bricks, the others are red.
    fn written(axis: &str, from_ours: impl Fn(DVec3) -> DVec3, unit_m: f64) -> String {
        let solid = BoxMesh::new(HALF);
        let turn = DMat4::from_quat(math::quat_from_axis_angle(DVec3::Z, 30_f64.to_radians()));
        let node =
            DMat4::from_translation(DVec3::new(100.0, 2.0, 3.0)) * turn * DMat4::from_scale(DVec3::new(2.0, 4.0, -1.0));
        let inner = DMat4::from_translation(DVec3::new(0.0, 0.0, 7.0));
        let local = |corner| (node * inner).inverse().transform_point3(from_ours(solid.corner(corner)) / unit_m);
        let places: Vec<String> = (0..8).map(local).map(|at| format!("{} {} {}", at.x, at.y, at.z)).collect();
        // a transform that mirrors turns the order of corners round
        let corners: Vec<[usize; 3]> = solid.triangles().map(|[a, b, c]| [a, c, b]).collect();
        let quads: Vec<String> = corners[..10]
            .chunks(2)
            .map(|pair| format!("{} {} {} {}", pair[0][0], pair[1][1], pair[1][2], pair[0][2]))
            .collect();
        // corner, normal, texture: the uv of a corner is its number's
        let last: Vec<String> =
            corners[10..].iter().flatten().map(|corner| format!("{corner} 0 {}", corner % 4)).collect();
        format!(
            r##"<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="u" meter="{unit_m}"/><up_axis>{axis}</up_axis></asset>
  <library_images><image id="wall-image"><init_from>textures/wall%201.png</init_from></image></library_images>
  <library_effects>
    <effect id="red-fx"><profile_COMMON><technique sid="common"><lambert>
      <diffuse><color>1 0.5 0 1</color></diffuse></lambert></technique></profile_COMMON></effect>
    <effect id="wall-fx"><profile_COMMON>
      <newparam sid="wall-surface"><surface type="2D"><init_from>wall-image</init_from></surface></newparam>
      <newparam sid="wall-sampler"><sampler2D><source>wall-surface</source></sampler2D></newparam>
      <technique sid="common"><phong><diffuse><texture texture="wall-sampler" texcoord="UV"/></diffuse></phong></technique>
    </profile_COMMON></effect>
  </library_effects>
  <library_materials>
    <material id="red-material"><instance_effect url="#red-fx"/></material>
    <material id="wall-material"><instance_effect url="#wall-fx"/></material>
  </library_materials>
  <library_geometries><geometry id="box"><mesh>
    <source id="places"><float_array id="f" count="24">{places}</float_array>
      <technique_common><accessor source="#f" count="8" stride="3"/></technique_common></source>
    <source id="uv"><float_array id="g" count="8">0 0 1 0 0 1 1 1</float_array>
      <technique_common><accessor source="#g" count="4" stride="2"/></technique_common></source>
    <vertices id="corners"><input semantic="POSITION" source="#places"/></vertices>
    <polylist material="a" count="5"><input semantic="VERTEX" source="#corners" offset="0"/>
      <vcount>4 4 4 4 4</vcount><p>{quads}</p></polylist>
    <triangles material="b" count="2"><input semantic="VERTEX" source="#corners" offset="0"/>
      <input semantic="NORMAL" source="#places" offset="1"/><input semantic="TEXCOORD" source="#uv" offset="2" set="0"/>
      <p>{last}</p></triangles>
  </mesh></geometry></library_geometries>
  <library_nodes><node id="inner"><translate>0 0 7</translate><instance_geometry url="#box"><bind_material><technique_common>
    <instance_material symbol="a" target="#red-material"/><instance_material symbol="b" target="#wall-material"/>
  </technique_common></bind_material></instance_geometry></node></library_nodes>
  <library_visual_scenes><visual_scene id="scene"><node>
    <matrix>1 0 0 100  0 1 0 2  0 0 1 3  0 0 0 1</matrix><rotate>0 0 1 30</rotate><scale>2 4 -1</scale>
    <instance_node url="#inner"/>
  </node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#scene"/></scene>
</COLLADA>
"##,
            places = places.join(" "),
            quads = quads.join(" "),
            last = last.join(" ")
        )
    }

    fn ours() -> String {
        written("Z_UP", |at| at, 0.0254)
    }

    fn folder() -> Folder {
        Folder::of(&[("textures/wall 1.png", &png_rgb(2, &[[1, 2, 3]; 4]))])
    }

    fn check(mesh: &Mesh) {
        assert_eq!(mesh.triangles.len(), 12);
        assert!(mesh.vertices_m.iter().all(|at| (at.abs() - HALF).length() < 1e-9), "{:?}", mesh.vertices_m);
        let exact = Mesh { vertices_m: mesh.vertices_m.iter().map(|at| HALF.copysign(*at)).collect(), ..mesh.clone() };
        check_cast(&exact, HALF);
        let paint = mesh.paint.as_ref().unwrap();
        assert_eq!(paint.skin(9).unwrap().colour, Some([1.0, 0.5, 0.0]));
        assert_eq!(paint.skin(10).unwrap().texture.as_ref().unwrap().pixels, [[1, 2, 3]; 4]);
        for (triangle, uv) in mesh.triangles[10..].iter().zip(&paint.corners_uv[10..]) {
            for (corner, [u, v]) in triangle.iter().zip(uv) {
                let at = mesh.vertices_m[*corner as usize];
                assert_eq!((*u == 1.0, *v == 1.0), (at.x > 0.0, at.y > 0.0));
            }
        }
    }

    #[test]
    fn a_box_is_the_same_whatever_axis_is_up_and_however_long_the_unit_is() {
        let read = |text: String| Format::Collada.read(text.as_bytes(), None, &mut folder()).unwrap();
        check(&read(ours()));
        check(&read(written("Y_UP", |at| DVec3::new(at.x, at.z, -at.y), 0.01)));
        check(&read(written("X_UP", |at| DVec3::new(at.z, -at.x, -at.y), 1.0)));
        let mesh = Format::Collada.read(written("Y_UP", |at| at, 1.0).as_bytes(), Some(Up::Z), &mut folder()).unwrap();
        check(&mesh);
    }

    #[test]
    fn strips_fans_and_polygons_are_read() {
        let with = |faces: &str| {
            let text = format!(
                r##"<COLLADA><asset><up_axis>Z_UP</up_axis></asset><geometry id="g"><mesh>
                <source id="s"><float_array>0 0 0 1 0 0 0 1 0 1 1 0</float_array>
                <technique_common><accessor stride="3"/></technique_common></source>
                <vertices id="v"><input semantic="POSITION" source="#s"/></vertices>{faces}</mesh></geometry>
                <library_visual_scenes><visual_scene><node><instance_geometry url="#g"/></node></visual_scene>
                </library_visual_scenes></COLLADA>"##
            );
            let mesh = Format::Collada.read(text.as_bytes(), None, &mut Alone).unwrap();
            let area = |triangle: &[u32; 3]| {
                let [a, b, c] = triangle.map(|at| mesh.vertices_m[at as usize]);
                (b - a).cross(c - a).z * 0.5
            };
            mesh.triangles.iter().map(area).collect::<Vec<f64>>()
        };
        let input = r##"<input semantic="VERTEX" source="#v" offset="0"/>"##;
        assert_eq!(with(&format!("<tristrips>{input}<p>0 1 2 3</p></tristrips>")), [0.5, 0.5]);
        assert_eq!(with(&format!("<trifans>{input}<p>0 1 3 2</p></trifans>")), [0.5, 0.5]);
        assert_eq!(with(&format!("<polygons>{input}<p>0 1 3 2</p></polygons>")), [0.5, 0.5]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let fault = |from: &str, to: &str| {
            let text = ours();
            assert!(text.contains(from), "{from}");
            let text = text.replacen(from, to, 1);
            Format::Collada.read(text.as_bytes(), None, &mut folder()).unwrap_err().to_string()
        };
        assert_eq!(
            fault("url=\"#box\"", "url=\"#bix\""),
            "found a reference to \"bix\" on line 30, expected the id of an element"
        );
        assert_eq!(fault("Z_UP", "W_UP"), "found up_axis \"W_UP\", expected X_UP, Y_UP or Z_UP");
        assert_eq!(fault("<vcount>4 4", "<vcount>4 9"), "found 3 corners on line 24, expected 4 more");
        assert_eq!(fault("<scale>2 4 -1", "<scale>2 4"), "found 2 numbers on line 34, expected 3 for <scale>");
        assert_eq!(
            fault("<float_array id=\"f\" count=\"24\">", "<float_array id=\"f\">x "),
            "found \"x\" on line 19, expected a number"
        );
        assert!(fault("</COLLADA>", "").contains("on line"));
        assert!(fault("wall%201.png", "none.png").contains("no file \"textures/none.png\" on line 4"));
        assert!(fault("<instance_node url=\"#inner\"/>", "<instance_node url=\"#scene\"/>").contains("at most 64"));
        assert!(fault("<scale>2 4 -1", "<scale>2 4 1e400").contains("finite"));
        let dtd = Format::Collada.read(b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", None, &mut Alone);
        assert!(dtd.is_err());
        let many = format!("<COLLADA {}/>", (0..100).map(|at| format!("a{at}='' ")).collect::<String>());
        assert!(
            Format::Collada.read(many.as_bytes(), None, &mut Alone).unwrap_err().to_string().contains("attributes")
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            check_bytes(Format::Collada, &bytes);
        }

        #[test]
        fn damaged_files_are_read_or_refused(at: usize, byte: u8, cut: usize) {
            check_damaged(Format::Collada, ours().replace("textures/wall%201.png", "a.bin").into_bytes(), (at, byte), cut);
        }

        #[test]
        fn damaged_geometry_is_read_or_refused(at: usize, byte in "[0-9 .e<>#-]") {
            let text = ours().replace("<texture texture=\"wall-sampler\" texcoord=\"UV\"/>", "");
            let from = text.find("<library_geometries>").unwrap();
            let at = from + at % (text.len() - from);
            let mut bytes = text.into_bytes();
            bytes[at] = byte.as_bytes()[0];
            check_bytes(Format::Collada, &bytes);
        }
    }
}
