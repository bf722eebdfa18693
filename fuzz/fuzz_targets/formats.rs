//! Any bytes as a mesh or an image, with the same bytes as every file beside it: reading must not panic, hang or fill the
//! memory, and a mesh that was read makes a solid.
#![no_main]

use libfuzzer_sys::fuzz_target;
use muster_core::shape::{Shape, Solid};
use muster_scenario::formats::{Beside, Fault, Format, image};
use std::sync::Arc;

struct Same<'a>(&'a [u8]);

impl Beside for Same<'_> {
    fn bytes(&mut self, _: &str) -> Result<Arc<[u8]>, Fault> {
        Ok(self.0.into())
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let formats = [Format::Obj, Format::Stl, Format::Gltf, Format::Collada];
    let Some(format) = formats.get(usize::from(*first) % 5) else {
        if let Ok(image) = image::texture(rest) {
            assert_eq!(image.pixels.len(), image.columns * image.rows());
        }
        _ = image::brightness(rest);
        return;
    };
    if let Ok(mesh) = format.read(rest, None, &mut Same(rest)) {
        assert!(mesh.vertices_m.iter().all(|at| at.is_finite()));
        assert!(Solid::new(Shape::Mesh(Arc::new(mesh))).is_ok());
    }
});
