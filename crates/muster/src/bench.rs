//! `muster bench`.

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct BenchArguments {
    /// The case; all if left out
    name: Option<String>,
}

/// Measures.
pub(crate) fn bench(_: &BenchArguments) -> u8 {
    0
}
