//! The small models of `examples/models`: the same sort of files other programs write, in every format that is read, made
//! of shapes whose formulas are known. `cargo xtask textures` writes them beside the textures.

use crate::pictures;
use crate::textures::{self, Image};
use std::fmt::Write;
use std::path::Path;

/// Corners of a box's faces, turning left seen from outside, those of sides from below; bit 0 is x, 1 is y, 2 is z.
const FACES: [[usize; 4]; 6] = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [3, 2, 6, 7], [1, 3, 7, 5], [2, 0, 4, 6]];
/// Texture coordinates of the corners of a face.
const UV: [[f32; 2]; 4] = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];

/// Writes all models into a folder.
pub(crate) fn write(folder: &Path) -> Result<(), String> {
    for (name, bytes) in all()? {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// All files by name.
pub(crate) fn all() -> Result<Vec<(&'static str, Vec<u8>)>, String> {
    let texture = |name: &str| {
        let found = textures::all().into_iter().find(|(known, _)| *known == name).map(|(_, image)| smaller(&image));
        pictures::rgb(&found.ok_or_else(|| format!("no texture {name}"))?)
    };
    Ok(vec![
        ("bricks.png", texture("bricks")?),
        ("block.mtl", b"newmtl bricks\nKd 1 1 1\nmap_Kd bricks.png\n\nnewmtl plaster\nKd 0.9 0.85 0.7\n".to_vec()),
        ("block.obj", block().into_bytes()),
        ("crate.glb", crate_glb(&texture("wood")?)),
        ("wedge.stl", wedge()),
        ("bench.dae", bench().into_bytes()),
        ("hills.png", pictures::grey16(HILLS, &hills())?),
        ("office.pgm", office()),
        ("office.yaml", b"image: office.pgm\nresolution: 0.1\norigin: [-3.0, -2.0, 0.0]\nnegate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n".to_vec()),
    ])
}

/// Every second pixel of every second row.
fn smaller(image: &Image) -> Image {
    let rows = image.pixels.chunks_exact(image.columns).step_by(2);
    Image { columns: image.columns / 2, pixels: rows.flat_map(|row| row.iter().step_by(2)).copied().collect() }
}

fn corner(number: usize, half: [f32; 3]) -> [f32; 3] {
    [0, 1, 2].map(|axis| if number >> axis & 1 == 1 { half[axis] } else { -half[axis] })
}

/// A box of 2 by 1 by 1 m that stands on z = 0: bricks on its sides, plaster on top and below.
fn block() -> String {
    let mut text = "# a block of 2 by 1 by 1 m that stands on z = 0\nmtllib block.mtl\n".to_owned();
    for [x, y, z] in (0..8).map(|number| corner(number, [1.0, 0.5, 0.5])) {
        _ = writeln!(text, "v {x} {y} {}", z + 0.5);
    }
    for [u, v] in UV {
        _ = writeln!(text, "vt {u} {v}");
    }
    for (number, face) in FACES.iter().enumerate() {
        match number {
            0 => text.push_str("usemtl plaster\n"),
            2 => text.push_str("usemtl bricks\n"),
            _ => (),
        }
        let corners: Vec<String> = face.iter().zip(1..).map(|(corner, uv)| format!("{}/{uv}", corner + 1)).collect();
        _ = writeln!(text, "f {}", corners.join(" "));
    }
    text
}

/// A cube of 0.8 m around its middle with a wooden texture, in the frame of glTF, on a node that is twice as large and
/// turned by a quarter.
fn crate_glb(texture: &[u8]) -> Vec<u8> {
    let mut buffer: Vec<u8> = Vec::new();
    let mut append = |bytes: Vec<u8>| {
        buffer.resize(buffer.len().next_multiple_of(4), 0);
        let view = format!("{{\"buffer\":0,\"byteOffset\":{},\"byteLength\":{}}}", buffer.len(), bytes.len());
        buffer.extend(bytes);
        view
    };
    let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let places: Vec<f32> = FACES.iter().flatten().flat_map(|&number| corner(number, [0.2; 3])).collect();
    let uv: Vec<f32> = FACES.iter().flat_map(|_| UV).flat_map(|[u, v]| [u, 1.0 - v]).collect();
    let indices = (0..6_u16).flat_map(|face| [0, 1, 2, 0, 2, 3].map(|corner| 4 * face + corner));
    let indices: Vec<u8> = indices.flat_map(u16::to_le_bytes).collect();
    let views = [append(floats(&places)), append(floats(&uv)), append(indices), append(texture.to_vec())].join(",");
    buffer.resize(buffer.len().next_multiple_of(4), 0);
    let mut text = format!(
        "{{\"asset\":{{\"version\":\"2.0\"}},\"scene\":0,\"scenes\":[{{\"nodes\":[0]}}],\
         \"nodes\":[{{\"children\":[1],\"scale\":[2,2,2]}},{{\"mesh\":0,\"rotation\":[0,0.70710678,0,0.70710678]}}],\
         \"meshes\":[{{\"primitives\":[{{\"attributes\":{{\"POSITION\":0,\"TEXCOORD_0\":1}},\"indices\":2,\"material\":0}}]}}],\
         \"materials\":[{{\"name\":\"wood\",\"pbrMetallicRoughness\":{{\"baseColorTexture\":{{\"index\":0}}}}}}],\
         \"textures\":[{{\"source\":0}}],\"images\":[{{\"bufferView\":3,\"mimeType\":\"image/png\"}}],\"accessors\":[\
         {{\"bufferView\":0,\"componentType\":5126,\"count\":24,\"type\":\"VEC3\",\"min\":[-0.2,-0.2,-0.2],\"max\":[0.2,0.2,0.2]}},\
         {{\"bufferView\":1,\"componentType\":5126,\"count\":24,\"type\":\"VEC2\"}},\
         {{\"bufferView\":2,\"componentType\":5123,\"count\":36,\"type\":\"SCALAR\"}}],\
         \"bufferViews\":[{views}],\"buffers\":[{{\"byteLength\":{}}}]}}",
        buffer.len()
    )
    .into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let word = |number: usize| (number as u32).to_le_bytes();
    let mut bytes = [b"glTF".as_slice(), &word(2), &word(28 + text.len() + buffer.len())].concat();
    for (kind, chunk) in [(b"JSON", &text), (b"BIN\0", &buffer)] {
        bytes.extend(word(chunk.len()));
        bytes.extend(kind);
        bytes.extend(chunk);
    }
    bytes
}

/// A ramp of 2 m length, 1 m width and 0.5 m height, as binary triangles in millimetres.
fn wedge() -> Vec<u8> {
    let corners: [[f32; 3]; 6] =
        [[0.0, 0.0, 0.0], [2e3, 0.0, 0.0], [2e3, 1e3, 0.0], [0.0, 1e3, 0.0], [2e3, 0.0, 500.0], [2e3, 1e3, 500.0]];
    let triangles = [[0, 3, 2], [0, 2, 1], [0, 4, 5], [0, 5, 3], [1, 2, 5], [1, 5, 4], [0, 1, 4], [3, 5, 2]];
    let mut bytes = vec![b' '; 80];
    bytes.extend((triangles.len() as u32).to_le_bytes());
    for triangle in triangles {
        bytes.extend([0; 12]);
        bytes.extend(triangle.iter().flat_map(|&number: &usize| corners[number]).flat_map(f32::to_le_bytes));
        bytes.extend([0; 2]);
    }
    bytes
}

/// A bench in centimetres, y up: a seat of 160 by 40 cm at a height of 45 cm on two feet.
fn bench() -> String {
    let (mut geometry, mut nodes) = (String::new(), String::new());
    let places: Vec<String> =
        (0..8).map(|number| corner(number, [0.5; 3])).map(|[x, y, z]| format!("{x} {y} {z}")).collect();
    // faces of one cube, which the nodes make larger
    let corners: Vec<String> = FACES.iter().flatten().map(ToString::to_string).collect();
    _ = write!(
        geometry,
        "<geometry id=\"cube\"><mesh><source id=\"places\"><float_array id=\"numbers\" count=\"24\">{}</float_array>\
         <technique_common><accessor source=\"#numbers\" count=\"8\" stride=\"3\"><param name=\"X\" type=\"float\"/>\
         <param name=\"Y\" type=\"float\"/><param name=\"Z\" type=\"float\"/></accessor></technique_common></source>\n\
         <vertices id=\"corners\"><input semantic=\"POSITION\" source=\"#places\"/></vertices>\n\
         <polylist count=\"6\" material=\"all\"><input semantic=\"VERTEX\" source=\"#corners\" offset=\"0\"/>\
         <vcount>4 4 4 4 4 4</vcount><p>{}</p></polylist></mesh></geometry>",
        places.join(" "),
        corners.join(" ")
    );
    for (at, size, paint) in
        [("0 42.5 0", "160 5 40", "wood"), ("-60 20 0", "8 40 36", "stone"), ("60 20 0", "8 40 36", "stone")]
    {
        _ = writeln!(
            nodes,
            "<node><translate>{at}</translate><scale>{size}</scale><instance_geometry url=\"#cube\"><bind_material>\
             <technique_common><instance_material symbol=\"all\" target=\"#{paint}\"/></technique_common></bind_material>\
             </instance_geometry></node>"
        );
    }
    let effect = |name: &str, colour: &str| {
        format!(
            "<effect id=\"{name}-look\"><profile_COMMON><technique sid=\"common\"><lambert><diffuse><color>{colour} 1</color>\
             </diffuse></lambert></technique></profile_COMMON></effect>\n"
        )
    };
    let material = |name: &str| format!("<material id=\"{name}\"><instance_effect url=\"#{name}-look\"/></material>\n");
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" version=\"1.4.1\">\n\
         <asset><created>2026-11-16T00:00:00Z</created><modified>2026-11-16T00:00:00Z</modified>\
         <unit name=\"centimeter\" meter=\"0.01\"/><up_axis>Y_UP</up_axis></asset>\n\
         <library_effects>{}{}</library_effects>\n<library_materials>{}{}</library_materials>\n\
         <library_geometries>{geometry}</library_geometries>\n\
         <library_visual_scenes><visual_scene id=\"scene\">\n{nodes}</visual_scene></library_visual_scenes>\n\
         <scene><instance_visual_scene url=\"#scene\"/></scene>\n</COLLADA>\n",
        effect("wood", "0.6 0.42 0.26"),
        effect("stone", "0.6 0.6 0.58"),
        material("wood"),
        material("stone")
    )
}

/// Pixels along each edge of the hills.
const HILLS: usize = 49;

/// Two paraboloids: height 1 - 4 (u² + v²) and half as high, where u and v go from -0.5 to 0.5 around each.
fn hills() -> Vec<u16> {
    let height = |x: f64, y: f64| {
        let hill = |at: [f64; 2], high: f64, wide: f64| {
            high * (1.0 - ((x - at[0]) * (x - at[0]) + (y - at[1]) * (y - at[1])) / (wide * wide)).max(0.0)
        };
        hill([-0.15, -0.1], 1.0, 0.3).max(hill([0.25, 0.2], 0.5, 0.2))
    };
    let at = |number: usize| number as f64 / (HILLS - 1) as f64 - 0.5;
    // the first row is the northernmost
    let value = |number: usize| (height(at(number % HILLS), -at(number / HILLS)) * 65_535.0 + 0.5) as u16;
    (0..HILLS * HILLS).map(value).collect()
}

/// Two rooms with doors, a pillar and what was not seen, as a robot's map: 60 by 40 cells of 0.1 m.
fn office() -> Vec<u8> {
    const COLUMNS: usize = 60;
    const ROWS: usize = 40;
    let cell = |number: usize| {
        let (x, y) = (number % COLUMNS, ROWS - 1 - number / COLUMNS);
        let outer = x == 0 || y == 0 || x == COLUMNS - 1 || y == ROWS - 1;
        let door = (x == 0 && (12..22).contains(&y)) || (x == 30 && (20..30).contains(&y));
        let pillar = (x as i32 - 45).pow(2) + (y as i32 - 20).pow(2) <= 9;
        match () {
            () if (outer || x == 30) && !door || pillar => 0,
            () if x > 50 && y > 30 => 205,
            () => 254,
        }
    };
    let mut bytes = format!("P5\n# made by cargo xtask textures\n{COLUMNS} {ROWS}\n255\n").into_bytes();
    bytes.extend((0..COLUMNS * ROWS).map(cell));
    bytes
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_files_hold_what_is_calculated() {
        for (name, bytes) in super::all().expect("models") {
            let path = crate::root().join("examples/models").join(name);
            let written = std::fs::read(&path).expect("a model");
            assert!(written.len() < 100_000, "{name}");
            // what holds an image may be compressed otherwise by another version of the encoder
            assert!(
                written == bytes || name.ends_with("png") || name.ends_with("glb"),
                "{name}: run cargo xtask textures"
            );
        }
    }
}
