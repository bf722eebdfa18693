//! Wavefront OBJ, with the colours (`Kd`) and textures (`map_Kd`) of its MTL files. Polygons become triangles; normals,
//! groups, smoothing, curves, lines and points are passed over. Lines may go on after a `\`.

use super::{Beside, Corner, Draft, Fault, Frame, skin, uri};
use glam::DVec3;
use muster_core::skin::Skin;
use std::collections::BTreeMap;

/// Most corners of a face.
const CORNERS_MAX: usize = 65_536;

pub(super) fn read(bytes: &[u8], beside: &mut dyn Beside) -> Result<(Draft, Frame), Fault> {
    let mut reader = Reader { beside, draft: Draft::default(), uv: Vec::new(), materials: BTreeMap::new(), skin: None };
    for_each_line(bytes, |line| reader.line(line))?;
    Ok((reader.draft, Frame::OURS))
}

struct Reader<'a> {
    beside: &'a mut dyn Beside,
    draft: Draft,
    uv: Vec<[f32; 2]>,
    materials: BTreeMap<String, Skin>,
    /// The skin of faces from here on.
    skin: Option<u16>,
}

/// Calls `each` with every logical line; what is wrong gets the number of the line it starts on.
fn for_each_line(bytes: &[u8], mut each: impl FnMut(&str) -> Result<(), Fault>) -> Result<(), Fault> {
    let (mut pending, mut first) = (String::new(), 0);
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = String::from_utf8_lossy(line);
        let line = line.trim();
        if pending.is_empty() {
            first = number + 1;
        }
        if let Some(begun) = line.strip_suffix('\\') {
            pending.push_str(begun);
            pending.push(' ');
            continue;
        }
        let whole = if pending.is_empty() { line } else { &*format!("{pending}{line}") };
        each(whole).map_err(|fault| fault.on_line(first))?;
        pending.clear();
    }
    if pending.is_empty() { Ok(()) } else { each(&pending).map_err(|fault| fault.on_line(first)) }
}

/// The first word of a line, and the rest.
fn parted(line: &str) -> (&str, &str) {
    let line = line.split('#').next().unwrap_or_default().trim();
    line.split_once(char::is_whitespace).map_or((line, ""), |(word, rest)| (word, rest.trim()))
}

fn numbers<const N: usize>(rest: &str) -> Result<[f64; N], Fault> {
    let mut found = [0.0; N];
    let mut words = rest.split_ascii_whitespace();
    for number in &mut found {
        let word = words.next().unwrap_or_default();
        *number = word.parse().map_err(|_ignored: std::num::ParseFloatError| {
            let shown: String = rest.chars().take(60).collect();
            Fault::new(format!("{shown:?}"), format!("{N} numbers"))
        })?;
    }
    Ok(found)
}

impl Reader<'_> {
    fn line(&mut self, line: &str) -> Result<(), Fault> {
        let (word, rest) = parted(line);
        match word {
            "v" => {
                let at = numbers::<3>(rest)?;
                self.draft.vertex(DVec3::from(at))?;
            }
            "vt" => {
                let [u] = numbers::<1>(rest)?;
                // the second is 0 if it is not written
                let v = numbers::<2>(rest).map_or(0.0, |[_, v]| v);
                self.uv.push([u as f32, v as f32]);
            }
            "f" => self.face(rest)?,
            "usemtl" => {
                let known = self.materials.get(rest).cloned();
                let Some(known) = known else {
                    let names: Vec<&str> = self.materials.keys().map(String::as_str).take(20).collect();
                    let expected = format!("a material of its mtllib ({})", names.join(", "));
                    return Err(Fault::new(format!("material {rest:?}"), expected));
                };
                // a texture is multiplied by the colour, which programs write although they show the texture alone
                let colour = known.colour.filter(|_| known.texture.is_none());
                self.skin = Some(self.draft.skin(Skin { colour, ..known })?);
            }
            "mtllib" => self.library(rest)?,
            _ => (),
        }
        Ok(())
    }

    fn face(&mut self, rest: &str) -> Result<(), Fault> {
        let mut corners: Vec<Corner> = Vec::new();
        for word in rest.split_ascii_whitespace() {
            if corners.len() == CORNERS_MAX {
                return Err(Fault::new("a face of more corners", format!("at most {CORNERS_MAX}")));
            }
            let mut parts = word.split('/');
            let vertex = index(parts.next().unwrap_or_default(), self.draft.vertices.len(), word)?;
            let uv = match parts.next().unwrap_or_default() {
                "" => None,
                text => Some(self.uv[index(text, self.uv.len(), word)?]),
            };
            corners.push((vertex as u32, uv));
        }
        self.draft.polygon(&corners, self.skin)
    }

    /// Reads the materials of a file. A library that is not there takes colours away and nothing else, but is told.
    fn library(&mut self, rest: &str) -> Result<(), Fault> {
        let name = uri::file(rest)?;
        let bytes = self.beside.bytes(&name)?;
        let mut current: Option<String> = None;
        let (beside, materials) = (&mut *self.beside, &mut self.materials);
        let read = for_each_line(&bytes, |line| {
            let (word, rest) = parted(line);
            let known = current.as_ref().and_then(|name| materials.get_mut(name));
            match (word, known) {
                ("newmtl", _) => {
                    current = Some(rest.to_owned());
                    materials.insert(rest.to_owned(), skin(None, None));
                }
                ("Kd", Some(known)) if !rest.starts_with(|first: char| first.is_alphabetic()) => {
                    let [red] = numbers::<1>(rest)?;
                    let rgb = if rest.split_ascii_whitespace().count() == 1 { [red; 3] } else { numbers::<3>(rest)? };
                    known.colour = Some(rgb.map(|share| share.clamp(0.0, 1.0) as f32));
                }
                ("map_Kd", Some(known)) => {
                    known.texture = Some(beside.texture(&uri::file(map_name(rest))?)?);
                }
                _ => (),
            }
            Ok(())
        });
        read.map_err(|fault| if fault.place.contains(" of ") { fault } else { fault.of(&name) })
    }
}

/// The number of what an index means: from 1 on, or from the end on if it is negative.
fn index(text: &str, count: usize, word: &str) -> Result<usize, Fault> {
    let value: i64 = text.parse().unwrap_or(0);
    let at = if value < 0 { count as i64 + value } else { value - 1 };
    let found = usize::try_from(at).ok().filter(|at| *at < count);
    found.ok_or_else(|| {
        Fault::new(format!("corner {word:?}"), format!("numbers from 1 to {count}, or from -1 to -{count}"))
    })
}

/// The name of a texture, after its options.
fn map_name(rest: &str) -> &str {
    let mut rest = rest.trim();
    while rest.starts_with('-') {
        let (option, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let most = match option {
            "-o" | "-s" | "-t" => 3,
            "-mm" => 2,
            _ => 1,
        };
        rest = after.trim_start();
        for taken in 0..most {
            let Some((word, after)) = rest.split_once(char::is_whitespace) else { break };
            // only the first of several numbers must be there
            if taken > 0 && word.parse::<f64>().is_err() {
                break;
            }
            rest = after.trim_start();
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::super::testing::{BoxMesh, Folder, check_cast, check_damaged, png_rgb};
    use super::super::{Alone, Format, Up};
    use super::*;
    use proptest::prelude::*;

    fn folder() -> Folder {
        let mtl =
            "newmtl red\nKd 1 0.5 0\n\nnewmtl bricks # painted\nKd 0.8 0.8 0.8\nmap_Kd -s 2 2 1 -clamp on wall 1.png\n";
        Folder::of(&[("box.mtl", mtl.as_bytes()), ("wall 1.png", &png_rgb(2, &[[1, 2, 3]; 4]))])
    }

    #[test]
    fn a_box_has_its_faces_colours_and_texture() {
        let solid = BoxMesh::new(DVec3::new(1.0, 2.0, 0.5));
        let mesh = Format::Obj.read(&solid.obj(), None, &mut folder()).unwrap();
        assert_eq!((mesh.vertices_m.len(), mesh.triangles.len()), (8, 12));
        check_cast(&mesh, solid.half);
        let paint = mesh.paint.as_ref().unwrap();
        assert_eq!(paint.skins.len(), 2);
        assert_eq!(paint.skin(0).unwrap().colour, Some([1.0, 0.5, 0.0]));
        let bricks = paint.skin(11).unwrap();
        assert_eq!(bricks.texture.as_ref().unwrap().pixels, [[1, 2, 3]; 4]);
        assert_eq!(paint.corners_uv[10], [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]);
        let turned = Format::Obj.read(&solid.obj(), Some(Up::Y), &mut folder()).unwrap();
        check_cast(&turned, DVec3::new(1.0, 0.5, 2.0));
    }

    #[test]
    fn corners_count_from_the_end_and_lines_go_on() {
        let text = b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf -4 -3 \\\n -2 -1 # a square\ns off\nl 1 2\n";
        let mesh = Format::Obj.read(text, None, &mut Alone).unwrap();
        assert_eq!((mesh.triangles, mesh.paint), (vec![[0, 1, 2], [0, 2, 3]], None));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let fault = |text: &str| Format::Obj.read(text.as_bytes(), None, &mut folder()).unwrap_err().to_string();
        assert_eq!(fault("v 0 0 0\nv 1 0 x\n"), "found \"1 0 x\" on line 2, expected 3 numbers");
        assert_eq!(
            fault("v 0 0 0\nf 1 2 3"),
            "found corner \"2\" on line 2, expected numbers from 1 to 1, or from -1 to -1"
        );
        assert_eq!(fault("f 1 1"), "found corner \"1\" on line 1, expected numbers from 1 to 0, or from -1 to -0");
        assert_eq!(
            fault("mtllib box.mtl\nusemtl blue"),
            "found material \"blue\" on line 2, expected a material of its mtllib (bricks, red)"
        );
        assert_eq!(
            fault("mtllib none.mtl"),
            "found no file \"none.mtl\" on line 1, expected one of box.mtl, wall 1.png"
        );
        assert_eq!(
            fault("mtllib ../../../etc/passwd").split(" on ").next().unwrap(),
            "found no file \"../../../etc/passwd\""
        );
        assert!(fault("mtllib /etc/passwd").contains("the name of a file beside it"));
        assert_eq!(fault("v 1 2 3\n"), "found no triangles, expected at least one");
        assert!(fault("v 1 2 1e300\n").contains("at most 1e9"));
        let mut broken = Folder::of(&[("box.mtl", b"newmtl a\nKd 1 2 three\n")]);
        let fault = Format::Obj.read(b"mtllib box.mtl", None, &mut broken).unwrap_err().to_string();
        assert_eq!(fault, "found \"1 2 three\" on line 2 of box.mtl, expected 3 numbers");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "([vf]|vt|usemtl|mtllib|f|v)( -?[0-9]{1,3}(/[0-9])?| [a-z.]{1,4}){0,5}(\\\\|\n|\n#)(.|\n){0,80}") {
            super::super::testing::check_bytes(Format::Obj, text.as_bytes());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            super::super::testing::check_bytes(Format::Obj, &bytes);
        }

        #[test]
        fn damaged_files_are_read_or_refused(at: usize, byte: u8, cut: usize) {
            check_damaged(Format::Obj, BoxMesh::new(DVec3::ONE).obj(), (at, byte), cut);
        }
    }
}
