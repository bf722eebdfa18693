//! Stereolithography files (3D Systems, 1989): triangles without colours, as text or as 50 bytes each. Corners at the same
//! place become one, so that edges are shared again. Normals are ignored: the order of corners says where outside is.

use super::{Draft, Fault, Frame, TRIANGLES_MAX};
use glam::DVec3;
use std::collections::HashMap;

/// A binary file has a header of 80 bytes and a number before its triangles.
const HEADER: usize = 84;
const TRIANGLE: usize = 50;

pub(super) fn read(bytes: &[u8]) -> Result<(Draft, Frame), Fault> {
    let mut corners = Corners::default();
    // binary files may start with the word that text starts with, so their length decides
    match binary_count(bytes) {
        Some(count) if bytes.len() == HEADER + count * TRIANGLE => binary(&bytes[HEADER..], &mut corners)?,
        _ if starts_as_text(bytes) => text(bytes, &mut corners)?,
        Some(count) => {
            let found = format!("{} bytes with {count} triangles", bytes.len());
            return Err(Fault::new(found, format!("{} bytes", HEADER + count * TRIANGLE)).at_byte(80));
        }
        None => return Err(Fault::new(format!("{} bytes", bytes.len()), format!("at least {HEADER}, or text"))),
    }
    Ok((corners.draft, Frame::OURS))
}

fn starts_as_text(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"solid"))
}

fn binary_count(bytes: &[u8]) -> Option<usize> {
    let count = bytes.get(80..HEADER)?;
    Some(u32::from_le_bytes(count.try_into().ok()?) as usize)
}

/// Vertices by their place.
#[derive(Default)]
struct Corners {
    draft: Draft,
    known: HashMap<[u64; 3], u32>,
}

impl Corners {
    fn vertex(&mut self, at: DVec3) -> Result<u32, Fault> {
        // adding 0 makes -0 and 0 one place
        let key = at.to_array().map(|part| (part + 0.0).to_bits());
        match self.known.get(&key) {
            Some(&known) => Ok(known),
            None => {
                let number = self.draft.vertex(at)?;
                self.known.insert(key, number);
                Ok(number)
            }
        }
    }

    fn triangle(&mut self, corners: [u32; 3]) -> Result<(), Fault> {
        self.draft.triangle(corners.map(|corner| (corner, None)), None)
    }
}

fn binary(bytes: &[u8], corners: &mut Corners) -> Result<(), Fault> {
    if bytes.len() / TRIANGLE > TRIANGLES_MAX {
        let found = format!("{} triangles", bytes.len() / TRIANGLE);
        return Err(Fault::new(found, format!("at most {TRIANGLES_MAX}")).at_byte(80));
    }
    for (number, triangle) in bytes.chunks_exact(TRIANGLE).enumerate() {
        let float = |at: usize| f64::from(f32::from_le_bytes([0, 1, 2, 3].map(|byte| triangle[at + byte])));
        let vertex = |at: usize| DVec3::new(float(at), float(at + 4), float(at + 8));
        let mut one = || {
            let triangle = [corners.vertex(vertex(12))?, corners.vertex(vertex(24))?, corners.vertex(vertex(36))?];
            corners.triangle(triangle)
        };
        one().map_err(|fault| fault.at_byte(HEADER + number * TRIANGLE))?;
    }
    Ok(())
}

fn text(bytes: &[u8], corners: &mut Corners) -> Result<(), Fault> {
    let mut open: Vec<u32> = Vec::new();
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = String::from_utf8_lossy(line);
        let mut words = line.split_ascii_whitespace();
        let word = words.next().unwrap_or_default().to_ascii_lowercase();
        let one = || match word.as_str() {
            "vertex" => {
                let parts: Vec<f64> = words.map_while(|word| word.parse().ok()).collect();
                let &[x, y, z] = parts.as_slice() else {
                    return Err(Fault::new(format!("{:?}", line.trim()), "vertex and three numbers"));
                };
                open.push(corners.vertex(DVec3::new(x, y, z))?);
                Ok(())
            }
            "endloop" => {
                let &[a, b, c] = open.as_slice() else {
                    return Err(Fault::new(format!("a loop of {} corners", open.len()), "3"));
                };
                open.clear();
                corners.triangle([a, b, c])
            }
            "" | "solid" | "facet" | "outer" | "endfacet" | "endsolid" | "color" => Ok(()),
            _ => {
                let shown: String = line.trim().chars().take(40).collect();
                Err(Fault::new(format!("{shown:?}"), "solid, facet, outer loop, vertex, endloop, endfacet or endsolid"))
            }
        };
        one().map_err(|fault| fault.on_line(number + 1))?;
    }
    if !open.is_empty() {
        return Err(Fault::new("the end within a loop", "endloop"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{BoxMesh, check_bytes, check_cast};
    use super::super::{Alone, Format, Up};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_and_binary_give_the_box_they_were_made_from() {
        let solid = BoxMesh::new(DVec3::new(1.0, 2.0, 0.5));
        for bytes in [solid.stl_text(), solid.stl_binary()] {
            let mesh = Format::Stl.read(&bytes, None, &mut Alone).unwrap();
            assert_eq!((mesh.vertices_m.len(), mesh.triangles.len(), &mesh.paint), (8, 12, &None));
            check_cast(&mesh, solid.half);
            let turned = Format::Stl.read(&bytes, Some(Up::Y), &mut Alone).unwrap();
            check_cast(&turned, DVec3::new(1.0, 0.5, 2.0));
        }
    }

    #[test]
    fn a_binary_file_may_start_like_text() {
        let mut bytes = BoxMesh::new(DVec3::ONE).stl_binary();
        bytes[..5].copy_from_slice(b"solid");
        assert_eq!(Format::Stl.read(&bytes, None, &mut Alone).unwrap().triangles.len(), 12);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_or_byte() {
        let fault = |bytes: &[u8]| Format::Stl.read(bytes, None, &mut Alone).unwrap_err().to_string();
        assert_eq!(
            fault(b"solid x\nfacet\nouter loop\nvertex 1 2 zwei\n"),
            "found \"vertex 1 2 zwei\" on line 4, expected vertex and three numbers"
        );
        assert_eq!(
            fault(b"solid x\nouter loop\nvertex 1 2 3\nendloop"),
            "found a loop of 1 corners on line 4, expected 3"
        );
        let mut short = BoxMesh::new(DVec3::ONE).stl_binary();
        short.pop();
        assert_eq!(fault(&short), "found 683 bytes with 12 triangles at byte 80, expected 684 bytes");
        assert!(fault(b"").contains("0 bytes"));
        let mut far = BoxMesh::new(DVec3::ONE).stl_binary();
        far[84 + 50 + 12..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
        assert!(fault(&far).contains("NaN") && fault(&far).contains("at byte 134"), "{}", fault(&far));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            check_bytes(Format::Stl, &bytes);
        }

        #[test]
        fn damaged_files_are_read_or_refused(at in 0..2000_usize, byte: u8, cut in 0..2000_usize, binary: bool) {
            let solid = BoxMesh::new(DVec3::ONE);
            let bytes = if binary { solid.stl_binary() } else { solid.stl_text() };
            super::super::testing::check_damaged(Format::Stl, bytes, (at, byte), cut);
        }
    }
}
