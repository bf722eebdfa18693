//! Engines that make pictures of the frozen world.
//!
//! [`Cpu`] needs neither a graphics card nor a display: a rasteriser in plain Rust that fills 8 pixels at once and gives
//! the same bits on every machine and thread. It draws geometry: depth, and which triangle of which thing is seen. Images in
//! colour come from rays over the hierarchy that all sensors share: textures, one sun with shadows, lamps, sky.
//!
//! `Gpu` (feature `gpu`) draws the same on a graphics card, by Vulkan or OpenGL.
#![forbid(unsafe_code)]
#![expect(clippy::needless_range_loop, reason = "kernels are plain loops over lanes")]

mod coat;
mod colour;
mod cpu;
mod form;
mod frustum;
#[cfg(feature = "gpu")]
mod gpu;
mod raster;
mod scene;
mod tessellate;
mod texture;

pub use cpu::Cpu;
#[cfg(feature = "gpu")]
pub use gpu::{Gpu, NoGpu};
