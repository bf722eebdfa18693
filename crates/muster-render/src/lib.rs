//! Engines that make pictures of the frozen world.
//!
//! [`Cpu`] needs neither a graphics card nor a display: a rasteriser in plain Rust that fills 8 pixels at once and gives
//! the same bits on every machine and thread. It draws geometry: depth, and which triangle of which thing is seen, from
//! which colours can be made pixel by pixel.
#![forbid(unsafe_code)]
#![expect(clippy::needless_range_loop, reason = "kernels are plain loops over lanes")]

mod cpu;
mod form;
mod frustum;
mod raster;
mod scene;
mod tessellate;

pub use cpu::Cpu;
