//! Temporary stand-in.
/// Stream.
#[derive(Debug, Clone, Copy)]
pub struct Stream(u64);
impl Stream {
    /// New.
    pub fn new(seed: u64, component: u64) -> Self { Self(combine(seed, component)) }
    /// Uniforms.
    pub fn uniforms(self, index: u64, draw: u32) -> [f64; 4] {
        std::array::from_fn(|i| (combine(combine(self.0, index), u64::from(draw) * 4 + i as u64) >> 11) as f64 / (1u64 << 53) as f64 + 1e-17)
    }
}
/// Id.
pub fn id_of(text: &str) -> u64 { text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)) }
/// Combine.
pub fn combine(a: u64, b: u64) -> u64 { let mut x = a ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15); x ^= x >> 32; x = x.wrapping_mul(0xd6e8_feb8_6659_fd93); x ^ (x >> 32) }
