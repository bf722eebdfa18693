//! What tests of the readers share: a box written in every format, files beside a file, and what any bytes must pass.

use super::{Beside, Fault, Format};
use glam::DVec3;
use muster_core::component::Pose;
use muster_core::shape::{Mesh, Shape, Solid};
use std::fmt::Write;
use std::io::Cursor;
use std::sync::Arc;

/// A JPEG image of 16 by 8 pixels, its left half reddish, its right half blueish.
pub(super) const JPEG: &[u8] = include_bytes!("testing/halves.jpg");

/// Files by name.
pub(super) struct Folder(Vec<(String, Arc<[u8]>)>);

impl Folder {
    pub(super) fn of(files: &[(&str, &[u8])]) -> Self {
        Self(files.iter().map(|(name, bytes)| ((*name).to_owned(), Arc::from(*bytes))).collect())
    }
}

impl Beside for Folder {
    fn bytes(&mut self, name: &str) -> Result<Arc<[u8]>, Fault> {
        let found = self.0.iter().find(|(known, _)| known == name).map(|(_, bytes)| Arc::clone(bytes));
        found.ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
            Fault::new(format!("no file {name:?}"), format!("one of {}", names.join(", ")))
        })
    }
}

fn png(columns: u32, rows: usize, colour: png::ColorType, depth: png::BitDepth, bytes: &[u8]) -> Vec<u8> {
    let mut written = Vec::new();
    let mut encoder = png::Encoder::new(Cursor::new(&mut written), columns, rows as u32);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    encoder.write_header().unwrap().write_image_data(bytes).unwrap();
    written
}

pub(super) fn png_rgb(columns: u32, pixels: &[[u8; 3]]) -> Vec<u8> {
    let rows = pixels.len() / columns as usize;
    png(columns, rows, png::ColorType::Rgb, png::BitDepth::Eight, pixels.as_flattened())
}

pub(super) fn png_grey16(columns: u32, values: &[u16]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
    png(columns, values.len() / columns as usize, png::ColorType::Grayscale, png::BitDepth::Sixteen, &bytes)
}

/// A box around the origin.
pub(super) struct BoxMesh {
    pub(super) half: DVec3,
}

/// Corners of the faces, turning left seen from outside; bit 0 is x, 1 is y, 2 is z.
const FACES: [[usize; 4]; 6] = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [1, 3, 7, 5], [0, 4, 6, 2]];

impl BoxMesh {
    pub(super) fn new(half: DVec3) -> Self {
        Self { half }
    }

    pub(super) fn corner(&self, number: usize) -> DVec3 {
        let sign = |bit: usize| if number >> bit & 1 == 1 { 1.0 } else { -1.0 };
        self.half * DVec3::new(sign(0), sign(1), sign(2))
    }

    pub(super) fn triangles(&self) -> impl Iterator<Item = [usize; 3]> {
        FACES.into_iter().flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]])
    }

    pub(super) fn stl_text(&self) -> Vec<u8> {
        let mut text = "solid box\n".to_owned();
        for triangle in self.triangles() {
            text.push_str("  facet normal 0 0 0\n    outer loop\n");
            for at in triangle.map(|corner| self.corner(corner)) {
                writeln!(text, "      vertex {} {} {:e}", at.x, at.y, at.z).unwrap();
            }
            text.push_str("    endloop\n  endfacet\n");
        }
        (text + "endsolid box\n").into_bytes()
    }

    pub(super) fn stl_binary(&self) -> Vec<u8> {
        let mut bytes = vec![b' '; 80];
        bytes.extend(12_u32.to_le_bytes());
        for triangle in self.triangles() {
            bytes.extend([0; 12]);
            for at in triangle.map(|corner| self.corner(corner)) {
                bytes.extend(at.to_array().iter().flat_map(|part| (*part as f32).to_le_bytes()));
            }
            bytes.extend([0; 2]);
        }
        bytes
    }

    /// The first five faces are red, the last has bricks from corner to corner.
    pub(super) fn obj(&self) -> Vec<u8> {
        let mut text = "# a box\nmtllib box.mtl\no box\n".to_owned();
        for at in (0..8).map(|corner| self.corner(corner)) {
            writeln!(text, "v {} {} {}", at.x, at.y, at.z).unwrap();
        }
        text.push_str("vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvn 0 0 1\nusemtl red\n");
        for (number, face) in FACES.iter().enumerate() {
            if number == 5 {
                text.push_str("usemtl bricks\n");
            }
            let corner = |(at, corner): (usize, &usize)| {
                if number == 5 { format!("{}/{}/1", corner + 1, at + 1) } else { format!("{}//1", corner + 1) }
            };
            let corners: Vec<String> = face.iter().enumerate().map(corner).collect();
            writeln!(text, "f {}", corners.join(" ")).unwrap();
        }
        text.into_bytes()
    }
}

/// Rays at a mesh hit where they hit a box of these half edges.
pub(super) fn check_cast(mesh: &Mesh, half_m: DVec3) {
    let mesh = Solid::new(Shape::Mesh(Arc::new(mesh.clone()))).unwrap();
    let solid = Solid::new(Shape::Box { half_m }).unwrap();
    let stream = muster_core::random::Stream::new(5, 1);
    let mut hits = 0;
    for number in 0..200 {
        let u = stream.uniforms(number, 0);
        let from = DVec3::new(u[0] - 0.5, u[1] - 0.5, u[2] - 0.5).normalize() * 10.0;
        let aside = stream.uniforms(number, 1);
        let to = half_m * 1.2 * (DVec3::new(aside[0], aside[1], aside[2]) * 2.0 - 1.0);
        let direction = (to - from).normalize();
        let [a, b] = [&mesh, &solid].map(|solid| solid.ray(&Pose::IDENTITY, from, direction, 100.0));
        match (a, b) {
            (Some(a), Some(b)) => {
                assert!((a.distance_m - b.distance_m).abs() < 1e-9, "{a:?} {b:?}");
                // the outside is outside
                assert!(a.normal.dot(b.normal) > 1.0 - 1e-9, "{a:?} {b:?}");
                hits += 1;
            }
            (None, None) => (),
            _ => panic!("{a:?} {b:?} from {from} along {direction}"),
        }
    }
    assert!(hits > 80, "{hits}");
}

/// A mesh that was read from any bytes is sound.
pub(super) fn check_bytes(format: Format, bytes: &[u8]) {
    let mut folder = Folder::of(&[("box.mtl", b"newmtl red\nKd 1 0 0\nnewmtl bricks\n"), ("a.bin", &[0; 64])]);
    if let Ok(mesh) = format.read(bytes, None, &mut folder) {
        let corners = mesh.vertices_m.len();
        assert!(mesh.triangles.iter().flatten().all(|corner| (*corner as usize) < corners));
        assert!(mesh.vertices_m.iter().all(|at| at.is_finite()));
        let paint = mesh.paint.clone().unwrap_or_default();
        assert!(paint.corners_uv.is_empty() || paint.corners_uv.len() == mesh.triangles.len());
        assert!(paint.skin_of.is_empty() || paint.skin_of.len() == mesh.triangles.len());
        assert!(Solid::new(Shape::Mesh(Arc::new(mesh))).is_ok());
    }
}

/// A file with a byte changed, and one cut off, are read or refused.
pub(super) fn check_damaged(format: Format, mut bytes: Vec<u8>, (at, byte): (usize, u8), cut: usize) {
    let length = bytes.len();
    bytes[at % length] = byte;
    check_bytes(format, &bytes);
    bytes.truncate(cut % length);
    check_bytes(format, &bytes);
}
