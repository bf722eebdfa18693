//! What the second step of range sensing costs a ray: 1,000 scanners of 180 rays on one thread, with the widest and with the
//! narrowest registers. Run with `cargo bench -p muster-models --bench range`.

use muster_core::material::Material;
use muster_core::node::{Node, Problems};
use muster_core::simd::Simd;
use muster_core::spec::Spec;
use muster_models::sensors::range::errors::{Accuracy, Chance, Errors, Scan, Things, finish, spoil};
use std::time::Instant;

const SCANNERS: usize = 1000;
const RAYS: usize = 180;
const SAMPLES: usize = 40;

fn main() {
    let Some(none) = <Errors as Spec>::read(&Node::default(), "", &[], &mut Problems::default()) else { return };
    let noise = Errors { noise_m: 0.01, noise_per_m: 0.005, ..none.clone() };
    let all = Errors { dropout: 0.01, crosstalk: vec![0.1, 0.8, 0.1], mixed: 0.2, ..noise.clone() };
    for simd in [Simd::detect(), Simd::Scalar] {
        for (name, errors, accuracy) in [
            ("limits only", &none, Accuracy::Perfect),
            ("noise", &noise, Accuracy::Sensor),
            ("noise and materials", &noise, Accuracy::Material),
            ("noise, loss, crosstalk, edges", &all, Accuracy::Sensor),
        ] {
            println!("{name:<30} {:<8} {:6.2} ns per ray", simd.to_string(), cost_ns(errors, accuracy, simd));
        }
    }
}

/// A low percentile of single samples, as other processes disturb the rest.
fn cost_ns(errors: &Errors, accuracy: Accuracy, simd: Simd) -> f64 {
    let materials = [Material::plain(), Material { bias_m: 0.02, dropout: 0.1, ..Material::plain() }];
    let true_m: Vec<f64> = (0..SCANNERS * RAYS).map(|ray| 0.5 + (ray % 97) as f64 * 0.07).collect();
    let (mut facing, mut glow) = (vec![0.9; RAYS], vec![0.4; RAYS]);
    let mut material: Vec<f64> = (0..RAYS).map(|ray| (ray / 20 % 2) as f64).collect();
    let mut samples_ns: Vec<f64> = (0..SAMPLES)
        .map(|index| {
            let mut distance_m = true_m.clone();
            let begin = Instant::now();
            for (scanner, distance_m) in distance_m.chunks_mut(RAYS).enumerate() {
                let things = Things { facing: &mut facing, material: &mut material, glow: &mut glow };
                let things = (accuracy == Accuracy::Material).then_some(things);
                let mut scan = Scan { distance_m, things, columns: RAYS };
                let chance = Chance { stream: scanner as u64, index: index as u64 };
                spoil((errors, accuracy), &mut scan, &materials, (0.0, 8.0), chance, simd);
                finish(scan.distance_m, (0.0, 8.0), 0.001, simd);
            }
            begin.elapsed().as_secs_f64() * 1e9 / (SCANNERS * RAYS) as f64
        })
        .collect();
    samples_ns.sort_by(f64::total_cmp);
    samples_ns[SAMPLES / 20]
}
