//! Who makes pictures for cameras and for range sensors by the depth method: nobody, the processor, or a graphics card.

use muster_core::component::Sense;
use muster_core::render::{Null, Renderer};
use muster_core::simd::Simd;
use muster_core::world::Realm;
use muster_render::Cpu;
use serde_json::{Value, json};
use std::sync::Arc;

/// Engines that make pictures. Robots move the same way whichever it is, unless what drives them reads images, or ranges
/// that come from pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Render {
    /// None: cameras give no images in colour.
    Null,
    /// The processor.
    #[default]
    Cpu,
    /// A graphics card, whichever there is; an error if there is none.
    Gpu,
    /// A graphics card if there is a real one, else the processor.
    Auto,
}

/// An engine, and what there is to tell about it.
#[derive(Clone)]
pub(crate) struct Engine {
    pub(crate) renderer: Arc<dyn Renderer>,
    pub(crate) drawing: Drawing,
}

/// What the report tells about an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    /// Its name.
    pub engine: &'static str,
    /// The graphics card.
    pub adapter: Option<String>,
    /// Why it was taken, if that was left to the machine.
    pub why: Option<String>,
    /// False if the bits of its pictures depend on the machine.
    pub is_deterministic: bool,
}

impl Render {
    /// The names of all, in the order of the variants.
    pub const NAMES: [&'static str; 4] = ["null", "cpu", "gpu", "auto"];

    /// The engine of a name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Null, Self::Cpu, Self::Gpu, Self::Auto];
        all.into_iter().zip(Self::NAMES).find(|(_, own)| *own == name).map(|(engine, _)| engine)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Opens the engine; an error says what was found instead.
    pub(crate) fn open(self, simd: Simd) -> Result<Engine, String> {
        match self {
            Self::Null => Ok(Engine::of(Arc::new(Null), None, None)),
            Self::Cpu => Ok(Engine::of(Arc::new(Cpu::new(simd)), None, None)),
            Self::Gpu => {
                let (renderer, adapter, _) = card(simd)?;
                Ok(Engine::of(renderer, Some(adapter), None))
            }
            Self::Auto => Ok(match card(simd) {
                Ok((renderer, adapter, true)) => Engine::of(renderer, Some(adapter), Some("it was found".to_owned())),
                Ok((_, adapter, false)) => {
                    let why = format!("found {adapter}, which is a program on the processor itself");
                    Engine::of(Arc::new(Cpu::new(simd)), None, Some(why))
                }
                Err(why) => Engine::of(Arc::new(Cpu::new(simd)), None, Some(why)),
            }),
        }
    }
}

/// An engine for a graphics card, the name of the card, and whether it is a real one.
type Card = (Arc<dyn Renderer>, String, bool);

/// The graphics card, which is opened once and shared by all simulations.
#[cfg(feature = "gpu")]
fn card(simd: Simd) -> Result<Card, String> {
    use muster_render::{Gpu, NoGpu};
    use std::sync::OnceLock;
    static CARD: OnceLock<Result<Arc<Gpu>, NoGpu>> = OnceLock::new();
    let gpu = CARD.get_or_init(|| Gpu::open(simd).map(Arc::new)).as_ref().map_err(ToString::to_string)?;
    Ok((Arc::clone(gpu) as Arc<dyn Renderer>, gpu.card(), gpu.is_hardware()))
}

#[cfg(not(feature = "gpu"))]
fn card(_: Simd) -> Result<Card, String> {
    Err("found a program built without graphics cards, expected one of cargo build --features gpu".to_owned())
}

impl Engine {
    fn of(renderer: Arc<dyn Renderer>, adapter: Option<String>, why: Option<String>) -> Self {
        let (engine, is_deterministic) = (renderer.name(), renderer.is_deterministic());
        Self { renderer, drawing: Drawing { engine, adapter, why, is_deterministic } }
    }
}

impl Drawing {
    pub(crate) fn json(&self, unpromised: &[String]) -> Value {
        json!({ "engine": self.engine, "adapter": self.adapter, "why": self.why,
                "deterministic": self.is_deterministic, "outside_hash_promise": unpromised })
    }

    /// Sensors of a realm that see through an engine whose bits depend on the machine, as `robot.sensor`; the promise of
    /// equal hashes does not cover them, nor robots that act on what they tell.
    pub(crate) fn unpromised(&self, realm: Realm<'_>) -> Vec<String> {
        let mut names = Vec::new();
        if self.is_deterministic {
            return names;
        }
        for robot in realm.robots() {
            for slot in &robot.cohort.blueprint.sensors {
                let Sense::World(look) = slot.sensor.sense() else { continue };
                if look.needs_pictures() || slot.sensor.image().is_some() {
                    names.push(format!("{}.{}", robot.name, slot.name));
                }
            }
        }
        names
    }
}

impl std::fmt::Display for Drawing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pictures by {}", self.engine)?;
        let Self { adapter, why, .. } = self;
        [adapter, why].into_iter().flatten().try_for_each(|text| write!(f, ": {text}"))
    }
}
