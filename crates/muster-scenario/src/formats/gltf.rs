//! glTF 2.0 (Khronos, 2017), as text with buffers beside it or written in place, and as one binary file. Read are the nodes
//! of the scene with their transforms, triangles, strips and fans with positions (also quantised and sparse) and texture
//! coordinates, and of materials the base colour and its texture. Skeletons, morphs and animations are passed over, so a
//! figure stands as it was modelled. A file that requires an extension which changes geometry is refused.

use super::uri::{self, Reference};
use super::{Axes, Beside, Corner, DEPTH_MAX, Draft, Fault, Frame, VERTICES_MAX, image, outward, skin};
use glam::{DMat4, DQuat, DVec2, DVec3};
use muster_core::math;
use muster_core::skin::Texture;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most values in the JSON of a file; each takes far more room than its text.
const VALUES_MAX: usize = 1_000_000;
/// Extensions that may be required: they change looks, or are understood.
const EXTENSIONS: &[&str] =
    &["KHR_texture_transform", "KHR_mesh_quantization", "KHR_lights_punctual", "KHR_materials_"];
const TRIANGLES: usize = 4;
const STRIP: usize = 5;
const FAN: usize = 6;

pub(super) fn read(bytes: &[u8], beside: &mut dyn Beside) -> Result<(Draft, Frame), Fault> {
    let (text, binary) = if bytes.starts_with(b"glTF") { chunks(bytes)? } else { (bytes, None) };
    let json = parse(text)?;
    let version = json["asset"]["version"].as_str().unwrap_or_default();
    if !version.starts_with("2.") {
        return Err(Fault::new(format!("version {version:?}"), "version 2 of glTF").at("in asset"));
    }
    for extension in items(&json, "extensionsRequired").iter().filter_map(Value::as_str) {
        if !EXTENSIONS.iter().any(|known| extension.starts_with(known)) {
            let found = format!("required extension {extension:?}");
            return Err(Fault::new(found, "a file without it: export without compression"));
        }
    }
    let file = File { json: &json, binary };
    let mut reader =
        Reader { file, beside, buffers: BTreeMap::new(), textures: BTreeMap::new(), draft: Draft::default() };
    let mut met = vec![false; items(&json, "nodes").len()];
    for root in roots(&json)? {
        reader.node(root, DMat4::IDENTITY, DEPTH_MAX, &mut met)?;
    }
    Ok((reader.draft, Frame { axes: Axes::Gltf, unit_m: 1.0 }))
}

/// The text and the buffer of a binary file.
fn chunks(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), Fault> {
    const HEADER: usize = 12;
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if word(4) != Some(2) {
        return Err(Fault::new("another version", "version 2 of binary glTF").at_byte(4));
    }
    let chunk = |at: usize, kind: &[u8; 4]| {
        let (length, found) = (word(at)? as usize, bytes.get(at + 4..at + 8)?);
        (found == kind).then(|| bytes.get(at + 8..(at + 8).checked_add(length)?)).flatten()
    };
    let missing = || Fault::new("no whole JSON chunk", "one, within the file").at_byte(HEADER);
    let text = chunk(HEADER, b"JSON").ok_or_else(missing)?;
    Ok((text, chunk(HEADER + 8 + text.len(), b"BIN\0")))
}

fn parse(text: &[u8]) -> Result<Value, Fault> {
    let (mut values, mut quoted, mut escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' | b'[' | b'{' if !quoted => values += 1,
            _ => (),
        }
    }
    if values > VALUES_MAX {
        return Err(Fault::new(format!("{values} values"), format!("at most {VALUES_MAX}")));
    }
    serde_json::from_slice(text).map_err(|error| {
        let what = error.to_string();
        let what = what.split(" at line").next().unwrap_or_default();
        Fault::new(format!("JSON that does not go on ({what})"), "a glTF file").on_line(error.line())
    })
}

fn items<'a>(value: &'a Value, list: &str) -> &'a [Value] {
    value[list].as_array().map_or(&[], Vec::as_slice)
}

/// The nodes nothing hangs above in the scene that is shown, or in the file if it has no scene.
fn roots(json: &Value) -> Result<Vec<usize>, Fault> {
    if items(json, "scenes").is_empty() {
        let children = items(json, "nodes").iter().flat_map(|node| items(node, "children")).filter_map(Value::as_u64);
        let children: std::collections::BTreeSet<u64> = children.collect();
        return Ok((0..items(json, "nodes").len()).filter(|node| !children.contains(&(*node as u64))).collect());
    }
    let scene = File { json, binary: None }.item("scenes", whole(json, "scene", Some(0))?)?;
    items(scene, "nodes").iter().map(|node| as_whole(node, "a node")).collect()
}

fn as_whole(value: &Value, what: &str) -> Result<usize, Fault> {
    let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| {
        let shown: String = value.to_string().chars().take(40).collect();
        Fault::new(shown, format!("{what}: a whole number"))
    })
}

/// A whole number by its key, or what it is if it is not written.
fn whole(value: &Value, key: &str, absent: Option<usize>) -> Result<usize, Fault> {
    match (&value[key], absent) {
        (Value::Null, Some(absent)) => Ok(absent),
        (found, _) => as_whole(found, key),
    }
}

/// A list of so many numbers by its key; `None` if it is not written.
fn numbers<const N: usize>(value: &Value, key: &str) -> Result<Option<[f64; N]>, Fault> {
    let Some(list) = value.get(key) else { return Ok(None) };
    let found: Option<Vec<f64>> = list.as_array().and_then(|list| list.iter().map(Value::as_f64).collect());
    let found = found.and_then(|list| <[f64; N]>::try_from(list).ok());
    found.map(Some).ok_or_else(|| Fault::new(format!("another {key}"), format!("{key}: {N} numbers")))
}

/// How shares of light are written for displays (IEC 61966-2-1); colours of glTF are proportional to light.
fn srgb(linear: f64) -> f32 {
    let linear = linear.clamp(0.0, 1.0);
    let shown = if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * math::pow(linear, 1.0 / 2.4) - 0.055 };
    shown as f32
}

#[derive(Clone, Copy)]
struct File<'a> {
    json: &'a Value,
    binary: Option<&'a [u8]>,
}

impl<'a> File<'a> {
    fn item(&self, list: &str, at: usize) -> Result<&'a Value, Fault> {
        let all = items(self.json, list);
        all.get(at).ok_or_else(|| Fault::new(format!("{list}[{at}]"), format!("one of {} {list}", all.len())))
    }
}

struct Reader<'a> {
    file: File<'a>,
    beside: &'a mut dyn Beside,
    buffers: BTreeMap<usize, Arc<[u8]>>,
    textures: BTreeMap<usize, Arc<Texture>>,
    draft: Draft,
}

/// A buffer, which part of it, and how far apart elements are, if that is said.
type View = (Arc<[u8]>, std::ops::Range<usize>, Option<usize>);

/// How texture coordinates are found and changed.
struct Look {
    skin: Option<u16>,
    /// Which set of coordinates.
    set: usize,
    offset: DVec2,
    scale: DVec2,
    turn_rad: f64,
}

impl Look {
    /// Coordinates with v upwards.
    fn uv(&self, [u, v]: [f64; 2]) -> [f32; 2] {
        let (sin, cos) = math::sin_cos(self.turn_rad);
        let at = DVec2::new(u, v) * self.scale;
        let at = DVec2::new(cos * at.x + sin * at.y, cos * at.y - sin * at.x) + self.offset;
        [at.x as f32, (1.0 - at.y) as f32]
    }
}

impl Reader<'_> {
    fn node(&mut self, at: usize, parent: DMat4, levels: usize, met: &mut [bool]) -> Result<(), Fault> {
        let node = self.file.item("nodes", at)?;
        let place = format!("in nodes[{at}]");
        if levels == 0 {
            return Err(Fault::new("more levels of nodes", format!("at most {DEPTH_MAX}")).at(&place));
        }
        if std::mem::replace(&mut met[at], true) {
            return Err(Fault::new("a node that hangs on two others", "a tree of nodes").at(&place));
        }
        let transform = parent * transform(node).map_err(|fault| fault.at(&place))?;
        if !transform.is_finite() {
            return Err(Fault::new("a transform beyond all bounds", "finite numbers").at(&place));
        }
        if let Some(mesh) = node.get("mesh") {
            let mesh = as_whole(mesh, "mesh").map_err(|fault| fault.at(&place))?;
            for (number, primitive) in items(self.file.item("meshes", mesh)?, "primitives").iter().enumerate() {
                let place = format!("in meshes[{mesh}].primitives[{number}]");
                self.primitive(primitive, &transform).map_err(|fault| fault.at(&place))?;
            }
        }
        for child in items(node, "children") {
            self.node(as_whole(child, "children").map_err(|fault| fault.at(&place))?, transform, levels - 1, met)?;
        }
        Ok(())
    }

    fn primitive(&mut self, primitive: &Value, transform: &DMat4) -> Result<(), Fault> {
        let mode = whole(primitive, "mode", Some(TRIANGLES))?;
        let attributes = &primitive["attributes"];
        let Some(positions) = attributes.get("POSITION").filter(|_| (TRIANGLES..=FAN).contains(&mode)) else {
            return Ok(());
        };
        let positions = self.accessor::<3>(as_whole(positions, "POSITION")?)?;
        let look = self.look(primitive)?;
        let uv = match attributes.get(format!("TEXCOORD_{}", look.set)) {
            Some(uv) => self.accessor::<2>(as_whole(uv, "TEXCOORD")?)?,
            None => Vec::new(),
        };
        if !uv.is_empty() && uv.len() != positions.len() {
            return Err(Fault::new(format!("{} texture coordinates", uv.len()), format!("{}", positions.len())));
        }
        let indices: Option<Vec<[f64; 1]>> = match primitive.get("indices") {
            Some(indices) => Some(self.accessor::<1>(as_whole(indices, "indices")?)?),
            None => None,
        };
        let first = self.draft.vertices.len() as u32;
        for position in &positions {
            self.draft.vertex(transform.transform_point3(DVec3::from(*position)))?;
        }
        let count = indices.as_ref().map_or(positions.len(), Vec::len);
        let corner = |at: usize| -> Result<Corner, Fault> {
            let vertex = indices.as_ref().map_or(at, |indices| indices[at][0] as usize);
            if vertex >= positions.len() {
                return Err(Fault::new(format!("index {vertex}"), format!("less than {}", positions.len())));
            }
            Ok((first + vertex as u32, uv.get(vertex).map(|uv| look.uv(*uv))))
        };
        let step = if mode == TRIANGLES { 3 } else { 1 };
        for start in (0..count.saturating_sub(2)).step_by(step) {
            let [a, b, c] = match mode {
                FAN => [0, start + 1, start + 2],
                STRIP if start % 2 == 1 => [start + 1, start, start + 2],
                _ => [start, start + 1, start + 2],
            };
            let corners = outward([corner(a)?, corner(b)?, corner(c)?], transform);
            self.draft.triangle(corners, look.skin)?;
        }
        Ok(())
    }

    /// What a primitive looks like.
    fn look(&mut self, primitive: &Value) -> Result<Look, Fault> {
        let mut look = Look { skin: None, set: 0, offset: DVec2::ZERO, scale: DVec2::ONE, turn_rad: 0.0 };
        let Some(material) = primitive.get("material") else { return Ok(look) };
        let at = as_whole(material, "material")?;
        let surface = &self.file.item("materials", at)?["pbrMetallicRoughness"];
        let mut read = || {
            let [red, green, blue, _] = numbers::<4>(surface, "baseColorFactor")?.unwrap_or([1.0; 4]);
            let mut texture = None;
            if let Some(info) = surface.get("baseColorTexture") {
                texture = self.texture(whole(info, "index", None)?)?;
                look.set = whole(info, "texCoord", Some(0))?;
                let changed = &info["extensions"]["KHR_texture_transform"];
                look.set = whole(changed, "texCoord", Some(look.set))?;
                look.offset = numbers::<2>(changed, "offset")?.map_or(look.offset, DVec2::from);
                look.scale = numbers::<2>(changed, "scale")?.map_or(look.scale, DVec2::from);
                look.turn_rad = changed["rotation"].as_f64().unwrap_or(0.0);
            }
            look.skin = Some(self.draft.skin(skin(Some([red, green, blue].map(srgb)), texture))?);
            Ok(())
        };
        read().map_err(|fault: Fault| fault.at(&format!("in materials[{at}]")))?;
        Ok(look)
    }

    /// A texture's image; none if only an extension knows it.
    fn texture(&mut self, at: usize) -> Result<Option<Arc<Texture>>, Fault> {
        let Some(source) = self.file.item("textures", at)?.get("source") else { return Ok(None) };
        let source = as_whole(source, "source")?;
        if let Some(known) = self.textures.get(&source) {
            return Ok(Some(Arc::clone(known)));
        }
        let found = self.file.item("images", source)?;
        let place = format!("in images[{source}]");
        let decoded = |bytes: &[u8]| image::texture(bytes).map(Arc::new);
        let texture = match found.get("uri").and_then(Value::as_str) {
            Some(uri) => match uri::read(uri).map_err(|fault| fault.at(&place))? {
                Reference::Data(bytes) => decoded(&bytes),
                Reference::File(name) => self.beside.texture(&name),
            },
            None => {
                let view = whole(found, "bufferView", None).map_err(|fault| fault.at(&place))?;
                let (buffer, range, _) = self.view(view)?;
                decoded(&buffer[range])
            }
        };
        let texture = texture.map_err(|fault| fault.at(&place))?;
        self.textures.insert(source, Arc::clone(&texture));
        Ok(Some(texture))
    }

    fn buffer(&mut self, at: usize) -> Result<Arc<[u8]>, Fault> {
        if let Some(known) = self.buffers.get(&at) {
            return Ok(Arc::clone(known));
        }
        let found = self.file.item("buffers", at)?;
        let place = format!("in buffers[{at}]");
        let bytes = match (found.get("uri").and_then(Value::as_str), self.file.binary) {
            (Some(uri), _) => match uri::read(uri).map_err(|fault| fault.at(&place))? {
                Reference::Data(bytes) => bytes.into(),
                Reference::File(name) => self.beside.bytes(&name).map_err(|fault| fault.at(&place))?,
            },
            (None, Some(binary)) if at == 0 => binary.into(),
            (None, _) => return Err(Fault::new("a buffer without uri", "uri, or the binary chunk").at(&place)),
        };
        self.buffers.insert(at, Arc::clone(&bytes));
        Ok(bytes)
    }

    /// A view, within its buffer.
    fn view(&mut self, at: usize) -> Result<View, Fault> {
        let view = self.file.item("bufferViews", at)?;
        let mut read = || {
            let buffer = self.buffer(whole(view, "buffer", None)?)?;
            let (from, length) = (whole(view, "byteOffset", Some(0))?, whole(view, "byteLength", None)?);
            let stride = whole(view, "byteStride", Some(0))?;
            match from.checked_add(length) {
                Some(to) if to <= buffer.len() => Ok((buffer, from..to, Some(stride).filter(|stride| *stride > 0))),
                _ => {
                    let found = format!("{length} bytes from byte {from} on");
                    Err(Fault::new(found, format!("a part of a buffer of {}", buffer.len())))
                }
            }
        };
        read().map_err(|fault: Fault| fault.at(&format!("in bufferViews[{at}]")))
    }

    /// The elements of an accessor.
    fn accessor<const N: usize>(&mut self, at: usize) -> Result<Vec<[f64; N]>, Fault> {
        let accessor = self.file.item("accessors", at)?;
        let mut read = || {
            let wanted = ["SCALAR", "VEC2", "VEC3"][N - 1];
            if accessor["type"] != wanted {
                return Err(Fault::new(format!("type {}", accessor["type"]), format!("type {wanted:?}")));
            }
            let count = whole(accessor, "count", None)?;
            if count > 3 * VERTICES_MAX {
                return Err(Fault::new(format!("{count} elements"), format!("at most {}", 3 * VERTICES_MAX)));
            }
            let form = Form::of(accessor)?;
            let mut elements = match accessor.get("bufferView") {
                Some(view) => self.elements::<N>((view, accessor), count, form)?,
                None => vec![[0.0; N]; count],
            };
            if let Some(sparse) = accessor.get("sparse") {
                let changes = whole(sparse, "count", None)?.min(count);
                let (indices, values) = (&sparse["indices"], &sparse["values"]);
                let places = self.elements::<1>((&indices["bufferView"], indices), changes, Form::of(indices)?)?;
                let values = self.elements::<N>((&values["bufferView"], values), changes, form)?;
                for ([place], value) in places.into_iter().zip(values) {
                    let element = elements.get_mut(place as usize);
                    *element.ok_or_else(|| Fault::new(format!("index {place}"), format!("less than {count}")))? = value;
                }
            }
            Ok(elements)
        };
        read().map_err(|fault: Fault| fault.at(&format!("in accessors[{at}]")))
    }

    fn elements<const N: usize>(
        &mut self,
        (view, from): (&Value, &Value),
        count: usize,
        form: Form,
    ) -> Result<Vec<[f64; N]>, Fault> {
        let (buffer, range, stride) = self.view(as_whole(view, "bufferView")?)?;
        let from = whole(from, "byteOffset", Some(0))?;
        let size = N * form.size();
        let stride = stride.unwrap_or(size);
        let end = count.checked_sub(1).and_then(|last| last.checked_mul(stride)?.checked_add(from)?.checked_add(size));
        if end.is_some_and(|end| end > range.len()) || (end.is_none() && count > 0) {
            let found = format!("{count} elements of {size} bytes, {stride} apart, from byte {from} on");
            return Err(Fault::new(found, format!("a part of a view of {} bytes", range.len())));
        }
        let bytes = &buffer[range];
        let element = |number: usize| {
            let at = from + number * stride;
            std::array::from_fn(|part| form.value(&bytes[at + part * form.size()..]))
        };
        Ok((0..count).map(element).collect())
    }
}

/// How a number is stored.
#[derive(Clone, Copy)]
struct Form {
    code: usize,
    /// Whole numbers stand for shares of the greatest.
    normalized: bool,
}

impl Form {
    fn of(accessor: &Value) -> Result<Self, Fault> {
        let code = whole(accessor, "componentType", None)?;
        if !matches!(code, 5120..=5123 | 5125 | 5126) {
            return Err(Fault::new(format!("componentType {code}"), "5120, 5121, 5122, 5123, 5125 or 5126"));
        }
        Ok(Self { code, normalized: accessor["normalized"] == true })
    }

    fn size(self) -> usize {
        match self.code {
            5120 | 5121 => 1,
            5122 | 5123 => 2,
            _ => 4,
        }
    }

    /// The number at the start of some bytes, of which there are enough.
    fn value(self, bytes: &[u8]) -> f64 {
        let (value, greatest) = match self.code {
            5120 => (f64::from(bytes[0] as i8), 127.0),
            5121 => (f64::from(bytes[0]), 255.0),
            5122 => (f64::from(i16::from_le_bytes([bytes[0], bytes[1]])), 32_767.0),
            5123 => (f64::from(u16::from_le_bytes([bytes[0], bytes[1]])), 65_535.0),
            5125 => (f64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])), 4_294_967_295.0),
            _ => return f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
        };
        if self.normalized { (value / greatest).max(-1.0) } else { value }
    }
}

/// `parent_from_node`.
fn transform(node: &Value) -> Result<DMat4, Fault> {
    if let Some(matrix) = numbers::<16>(node, "matrix")? {
        return Ok(DMat4::from_cols_array(&matrix));
    }
    let translation = numbers::<3>(node, "translation")?.map_or(DVec3::ZERO, DVec3::from);
    let scale = numbers::<3>(node, "scale")?.map_or(DVec3::ONE, DVec3::from);
    let rotation = numbers::<4>(node, "rotation")?.map_or(DQuat::IDENTITY, DQuat::from_array);
    if !(rotation.length_squared() > 1e-12 && rotation.is_finite()) {
        return Err(Fault::new("another rotation", "rotation: a quaternion"));
    }
    Ok(DMat4::from_scale_rotation_translation(scale, math::normalize_quat(rotation), translation))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{BoxMesh, Folder, check_bytes, check_cast, check_damaged, png_rgb};
    use super::super::{Alone, Format, Up};
    use super::*;
    use muster_core::shape::Mesh;
    use proptest::prelude::*;
    use serde_json::json;

    const HALF: DVec3 = DVec3::new(1.0, 2.0, 0.5);
    const PIXELS: [[u8; 3]; 4] = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]];

    /// Turned, moved, and mirrored.
    fn placed() -> DMat4 {
        let turn = math::quat_from_axis_angle(DVec3::new(0.6, 0.0, 0.8), 0.7);
        DMat4::from_scale_rotation_translation(DVec3::new(2.0, -1.0, 0.5), turn, DVec3::new(3.0, -4.0, 5.0))
    }

    /// The box in the frame of glTF on a node of a node, with an image in the buffer, and the buffer.
    fn written(uri: Option<&str>) -> (Value, Vec<u8>) {
        let solid = BoxMesh::new(HALF);
        let inverse = placed().inverse();
        let mut bytes = Vec::new();
        for at in (0..8).map(|corner| solid.corner(corner)) {
            let local = inverse.transform_point3(DVec3::new(at.y, at.z, at.x));
            bytes.extend(local.to_array().iter().flat_map(|part| (*part as f32).to_le_bytes()));
        }
        for corner in 0..8_u8 {
            // the v of an image counts downwards
            bytes.extend([(corner & 1) * 255, (corner >> 1 & 1) * 255]);
        }
        // a transform that mirrors turns the order of corners round
        let corners = solid.triangles().flat_map(|[a, b, c]| [a, c, b]);
        bytes.extend(corners.flat_map(|corner| (corner as u16).to_le_bytes()));
        let image = png_rgb(2, &PIXELS);
        let views = [(0, 96), (96, 16), (112, 72), (184, image.len())];
        bytes.extend(&image);
        let views: Vec<Value> =
            views.iter().map(|(from, length)| json!({"buffer": 0, "byteOffset": from, "byteLength": length})).collect();
        let buffer = match uri {
            Some(uri) => json!({"byteLength": bytes.len(), "uri": uri}),
            None => json!({"byteLength": bytes.len()}),
        };
        let (scale, turn, at) = placed().to_scale_rotation_translation();
        let json = json!({
            "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
            "nodes": [
                {"translation": at.to_array(), "children": [1]},
                {"rotation": turn.to_array(), "scale": scale.to_array(), "mesh": 0},
            ],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0}]}],
            "materials": [{"pbrMetallicRoughness": {"baseColorFactor": [1, 0.5, 0, 1], "baseColorTexture": {"index": 0}}}],
            "textures": [{"source": 0}], "images": [{"bufferView": 3, "mimeType": "image/png"}],
            "accessors": [
                {"bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3"},
                {"bufferView": 1, "componentType": 5121, "normalized": true, "count": 8, "type": "VEC2"},
                {"bufferView": 2, "componentType": 5123, "count": 36, "type": "SCALAR"},
            ],
            "bufferViews": views, "buffers": [buffer],
        });
        (json, bytes)
    }

    fn binary() -> Vec<u8> {
        let (json, mut buffer) = written(None);
        let mut text = json.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        buffer.resize(buffer.len().next_multiple_of(4), 0);
        let mut bytes = b"glTF".to_vec();
        bytes.extend(2_u32.to_le_bytes());
        bytes.extend((28 + text.len() as u32 + buffer.len() as u32).to_le_bytes());
        for (kind, chunk) in [(b"JSON", &text), (b"BIN\0", &buffer)] {
            bytes.extend((chunk.len() as u32).to_le_bytes());
            bytes.extend(kind);
            bytes.extend(chunk);
        }
        bytes
    }

    fn check(mesh: &Mesh) {
        assert_eq!((mesh.vertices_m.len(), mesh.triangles.len()), (8, 12));
        let near = |at: &DVec3| (at.abs() - HALF).length() < 1e-6;
        assert!(mesh.vertices_m.iter().all(near), "{:?}", mesh.vertices_m);
        let exact = Mesh { vertices_m: mesh.vertices_m.iter().map(|at| HALF.copysign(*at)).collect(), ..mesh.clone() };
        check_cast(&exact, HALF);
        let paint = mesh.paint.as_ref().unwrap();
        let skin = paint.skin(7).unwrap();
        // half of the light is 0.735 for a display
        let [red, green, blue] = skin.colour.unwrap();
        assert!(red == 1.0 && blue == 0.0 && (green - 0.735_357).abs() < 1e-6, "{green}");
        assert_eq!(skin.texture.as_ref().unwrap().pixels, PIXELS);
        for (triangle, uv) in mesh.triangles.iter().zip(&paint.corners_uv) {
            for (corner, [u, v]) in triangle.iter().zip(uv) {
                let at = mesh.vertices_m[*corner as usize];
                assert_eq!((*u > 0.5, *v < 0.5), (at.x > 0.0, at.y > 0.0));
            }
        }
    }

    #[test]
    fn a_box_is_the_same_as_text_as_data_and_as_binary() {
        let (json, buffer) = written(Some("a%20box.bin"));
        check(
            &Format::Gltf.read(json.to_string().as_bytes(), None, &mut Folder::of(&[("a box.bin", &buffer)])).unwrap(),
        );
        let (json, _) = written(Some(&format!("data:application/octet-stream;base64,{}", base64(&buffer))));
        check(&Format::Gltf.read(json.to_string().as_bytes(), None, &mut Alone).unwrap());
        check(&Format::Gltf.read(&binary(), None, &mut Alone).unwrap());
        check(&Format::Gltf.read(&binary(), Some(Up::Y), &mut Alone).unwrap());
        let as_it_is = Format::Gltf.read(&binary(), Some(Up::Z), &mut Alone).unwrap();
        assert!((as_it_is.vertices_m[0].abs() - DVec3::new(HALF.y, HALF.z, HALF.x)).length() < 1e-6);
    }

    fn base64(bytes: &[u8]) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let three = |chunk: &[u8]| {
            let bits = chunk.iter().chain([&0; 2]).take(3).fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
            let letter =
                |at: usize| if at > chunk.len() { '=' } else { char::from(LETTERS[bits >> (18 - 6 * at) & 63]) };
            (0..4).map(letter).collect::<String>()
        };
        bytes.chunks(3).map(three).collect()
    }

    #[test]
    fn strips_fans_and_sparse_accessors_are_read() {
        let mut bytes: Vec<u8> = Vec::new();
        for at in [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0_f32]] {
            bytes.extend([at[0], at[1], 0.0].iter().flat_map(|part| part.to_le_bytes()));
        }
        bytes.extend([3_u8, 0, 0, 0]);
        bytes.extend([2.0, 2.0, 0.0_f32].iter().flat_map(|part| part.to_le_bytes()));
        let file = |mode: usize| {
            json!({
                "asset": {"version": "2.0"}, "nodes": [{"mesh": 0}],
                "meshes": [{"primitives": [{"mode": mode, "attributes": {"POSITION": 0}}]}],
                "accessors": [{"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "sparse": {
                    "count": 1, "indices": {"bufferView": 1, "componentType": 5121}, "values": {"bufferView": 2}}}],
                "bufferViews": [{"buffer": 0, "byteLength": 48}, {"buffer": 0, "byteOffset": 48, "byteLength": 1},
                    {"buffer": 0, "byteOffset": 52, "byteLength": 12}],
                "buffers": [{"uri": "a.bin"}],
            })
        };
        let read = |mode| {
            let mut folder = Folder::of(&[("a.bin", &bytes)]);
            Format::Gltf.read(file(mode).to_string().as_bytes(), Some(Up::Z), &mut folder).unwrap()
        };
        let corners = |mesh: &Mesh| -> Vec<[f64; 2]> {
            mesh.triangles.iter().flatten().map(|at| mesh.vertices_m[*at as usize].truncate().to_array()).collect()
        };
        let (a, b, c, d) = ([0.0; 2], [1.0, 0.0], [0.0, 1.0], [2.0; 2]);
        assert_eq!(corners(&read(STRIP)), [a, b, c, c, b, d]);
        assert_eq!(corners(&read(FAN)), [a, b, c, a, c, d]);
        assert_eq!(corners(&read(TRIANGLES)), [a, b, c]);
    }

    #[test]
    fn texture_transforms_turn_scale_and_move() {
        let look =
            Look { skin: None, set: 0, offset: DVec2::new(0.5, 0.0), scale: DVec2::new(2.0, 1.0), turn_rad: 0.0 };
        assert_eq!(look.uv([0.25, 0.25]), [1.0, 0.75]);
        let turned = Look { turn_rad: std::f64::consts::FRAC_PI_2, ..look };
        let [u, v] = turned.uv([0.25, 0.25]);
        assert!((u - 0.75).abs() < 1e-6 && (v - 1.5).abs() < 1e-6, "{u} {v}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let fault = |change: &dyn Fn(&mut Value)| {
            let (mut json, buffer) = written(Some("a.bin"));
            change(&mut json);
            let mut folder = Folder::of(&[("a.bin", &buffer)]);
            Format::Gltf.read(json.to_string().as_bytes(), None, &mut folder).unwrap_err().to_string()
        };
        assert_eq!(
            fault(&|json| json["asset"]["version"] = json!("1.0")),
            "found version \"1.0\" in asset, expected version 2 of glTF"
        );
        assert_eq!(
            fault(&|json| json["nodes"][1]["children"] = json!([0])),
            "found a node that hangs on two others in nodes[0], expected a tree of nodes"
        );
        assert_eq!(
            fault(&|json| json["accessors"][0]["count"] = json!(9)),
            "found 9 elements of 12 bytes, 12 apart, from byte 0 on in accessors[0], expected a part of a view of 96 bytes"
        );
        assert_eq!(
            fault(&|json| json["accessors"][0]["type"] = json!("VEC4")),
            "found type \"VEC4\" in accessors[0], expected type \"VEC3\""
        );
        assert!(fault(&|json| json["accessors"][0]["count"] = json!(u64::MAX)).contains("at most 12000000"));
        assert!(fault(&|json| json["bufferViews"][0]["byteOffset"] = json!(u64::MAX)).contains("in bufferViews[0]"));
        assert!(
            fault(&|json| json["nodes"][1]["mesh"] = json!(7)).contains("found meshes[7], expected one of 1 meshes")
        );
        assert!(fault(&|json| json["extensionsRequired"] = json!(["KHR_draco_mesh_compression"])).contains("draco"));
        assert!(fault(&|json| json["buffers"][0]["uri"] = json!("http://x/y.bin")).contains("in buffers[0]"));
        assert!(fault(&|json| json["nodes"][0]["rotation"] = json!([0, 0, 0, 0])).contains("a quaternion"));
        let text = Format::Gltf.read(b"{\n\"asset\": }", None, &mut Alone).unwrap_err().to_string();
        assert!(text.contains("on line 2"), "{text}");
        assert!(Format::Gltf.read(b"glTF\x02\0\0\0", None, &mut Alone).unwrap_err().to_string().contains("at byte 12"));
        let many = format!("[{}]", "0,".repeat(VALUES_MAX));
        assert!(Format::Gltf.read(many.as_bytes(), None, &mut Alone).unwrap_err().to_string().contains("values"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(kind in 0..3_usize, mut bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let starts: [&[u8]; 3] = [b"", b"glTF\x02\0\0\0\0\x01\0\0\x20\0\0\0JSON", b"{\"asset\":{\"version\":\"2.0\"},"];
            bytes.splice(0..0, starts[kind].iter().copied());
            check_bytes(Format::Gltf, &bytes);
        }

        #[test]
        fn damaged_files_are_read_or_refused(at: usize, byte: u8, cut: usize) {
            check_damaged(Format::Gltf, binary(), (at, byte), cut);
        }

        #[test]
        fn other_numbers_are_read_or_refused(key in 0..12_usize, number in prop_oneof![0..20_u64, any::<u64>()]) {
            let (mut json, _) = written(Some("a.bin"));
            let paths = [
                "/accessors/0/count", "/accessors/0/bufferView", "/accessors/0/componentType", "/accessors/0/byteOffset",
                "/accessors/2/count", "/accessors/2/componentType", "/bufferViews/0/byteLength", "/bufferViews/0/byteStride",
                "/bufferViews/2/byteOffset", "/nodes/1/mesh", "/meshes/0/primitives/0/mode", "/meshes/0/primitives/0/material",
            ];
            let (parent, last) = paths[key].rsplit_once('/').unwrap();
            json.pointer_mut(parent).unwrap()[last] = json!(number);
            check_bytes(Format::Gltf, json.to_string().as_bytes());
        }
    }
}
