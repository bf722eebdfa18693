//! Files that a scenario names beside its own text: meshes, textures, height images, maps. They are looked for as includes
//! are, read once and shared. What is wrong with one is told with the line that names it and the place inside it.

use crate::files::{Files, Found};
use crate::formats::{Beside, FAR_MAX, Fault, Format, Up, image};
use muster_core::node::{Node, Place, Problems, Value};
use muster_core::shape::{Mesh, Shape, Solid};
use muster_core::skin::{Paint, Texture};
use muster_core::spec::{Parameter, Schema};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A text that remembers where it was written: names of files are relative to that.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The text.
    pub text: String,
    /// Where.
    pub place: Place,
}

impl Parameter for Written {
    fn schema(_: f64, _: f64) -> Schema {
        Schema::Text
    }

    fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Text(text) => Some(Self { text: text.clone(), place: node.place }),
            _ => {
                problems.error(node.place, path, node.found(), Self::schema(limits.0, limits.1).type_name());
                None
            }
        }
    }

    fn show(&self) -> String {
        self.text.clone()
    }
}

/// What is wrong with something that was written, and where if not just there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wrong {
    place: Option<Place>,
    found: String,
    expected: String,
    hint: Option<String>,
}

impl Wrong {
    pub(crate) fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { place: None, found: found.into(), expected: expected.into(), hint: None }
    }

    /// From a text that may tell what was expected, too; else with the usual expectation.
    pub(crate) fn told(text: &str, usual: &str) -> Self {
        let (found, expected) = text.split_once(", expected ").unwrap_or((text, usual));
        Self::new(found, expected)
    }

    /// The same at the place of a text that caused it.
    pub(crate) fn at(self, written: &Written) -> Self {
        Self { place: Some(written.place), ..self }
    }

    pub(crate) fn with_hint(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }

    /// Notes it, at a place if it knows none.
    pub(crate) fn note(self, place: Place, path: &str, problems: &mut Problems) {
        let place = self.place.filter(|own| own.line > 0).unwrap_or(place);
        problems.error_with_hint(place, path, self.found, self.expected, self.hint);
    }
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Self {
        Self::new(format!("{} {}", fault.found, fault.place), fault.expected)
    }
}

/// What was read so far, by file and how it was wanted.
#[derive(Default)]
pub(crate) struct Assets {
    textures: BTreeMap<String, Arc<Texture>>,
    solids: BTreeMap<String, Solid>,
}

/// How a mesh is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MeshOptions {
    pub(crate) scale: f64,
    pub(crate) up: Option<Up>,
    /// Without the colours and textures of the file.
    pub(crate) bare: bool,
}

/// The files beside one that was found.
struct Neighbours<'a> {
    files: &'a Files,
    from: &'a Found,
    textures: &'a mut BTreeMap<String, Arc<Texture>>,
}

impl Neighbours<'_> {
    fn find(&self, name: &str) -> Result<Found, Fault> {
        self.files.search(name, Some(self.from)).map_err(|missing| Fault::new(missing.found, missing.expected))
    }
}

impl Beside for Neighbours<'_> {
    fn bytes(&mut self, name: &str) -> Result<Arc<[u8]>, Fault> {
        let found = self.find(name)?;
        self.files.bytes(&found)
    }

    fn texture(&mut self, name: &str) -> Result<Arc<Texture>, Fault> {
        let found = self.find(name)?;
        texture(self.files, &found, self.textures).map_err(|fault| fault.of(name))
    }
}

fn texture(files: &Files, found: &Found, known: &mut BTreeMap<String, Arc<Texture>>) -> Result<Arc<Texture>, Fault> {
    let key = found.key();
    if let Some(known) = known.get(&key) {
        return Ok(Arc::clone(known));
    }
    let read = Arc::new(image::texture(&files.bytes(found)?)?);
    known.insert(key, Arc::clone(&read));
    Ok(read)
}

impl Files {
    /// The image of a file.
    pub(crate) fn texture(&mut self, name: &Written) -> Result<Arc<Texture>, Wrong> {
        let found = self.named(name)?;
        let mut assets = std::mem::take(&mut self.assets);
        let read = texture(self, &found, &mut assets.textures);
        self.assets = assets;
        read.map_err(|fault| Wrong::from(fault.of(&found.path())).at(name))
    }

    /// The mesh of a file, ready to be asked about.
    pub(crate) fn mesh(&mut self, name: &Written, options: MeshOptions) -> Result<Solid, Wrong> {
        let found = self.named(name)?;
        let key = format!("{} {options:?}", found.key());
        if let Some(known) = self.assets.solids.get(&key) {
            return Ok(known.clone());
        }
        let mut assets = std::mem::take(&mut self.assets);
        let neighbours = &mut Neighbours { files: self, from: &found, textures: &mut assets.textures };
        let read = read_mesh(neighbours, options);
        self.assets = assets;
        let solid = read.map_err(|fault| Wrong::from(fault.of(&found.path())).at(name))?;
        self.assets.solids.insert(key, solid.clone());
        Ok(solid)
    }

    /// The bytes of a file, and where it was found.
    pub(crate) fn named_bytes(&self, name: &Written) -> Result<(Found, Arc<[u8]>), Wrong> {
        let found = self.named(name)?;
        let bytes = self.bytes(&found).map_err(|fault| Wrong::from(fault.of(&found.path())).at(name))?;
        Ok((found, bytes))
    }

    fn named(&self, name: &Written) -> Result<Found, Wrong> {
        let missing = match self.search(&name.text, self.file_at(name.place).as_ref()) {
            Ok(found) => return Ok(found),
            Err(missing) => missing,
        };
        Err(Wrong::new(missing.found, missing.expected).with_hint(missing.hint).at(name))
    }
}

fn read_mesh(neighbours: &mut Neighbours<'_>, options: MeshOptions) -> Result<Solid, Fault> {
    let format = Format::of(&neighbours.from.path())?;
    let bytes = neighbours.files.bytes(neighbours.from)?;
    let mut mesh = format.read(&bytes, options.up, neighbours)?;
    scale(&mut mesh, options.scale)?;
    if options.bare
        && let Some(Paint { corners_uv, .. }) = mesh.paint.take()
    {
        mesh.paint = (!corners_uv.is_empty()).then(|| Paint { corners_uv, ..Paint::default() });
    }
    Solid::new(Shape::Mesh(Arc::new(mesh))).map_err(|wrong| Fault::new(wrong, "a mesh"))
}

fn scale(mesh: &mut Mesh, scale: f64) -> Result<(), Fault> {
    mesh.vertices_m.iter_mut().for_each(|at| *at *= scale);
    match mesh.vertices_m.iter().find(|at| at.abs().max_element() > FAR_MAX) {
        Some(far) => Err(Fault::new(format!("a corner at {far} m"), format!("at most {FAR_MAX:e} m from the origin"))),
        None => Ok(()),
    }
}
