//! What a tick of each motion and of gusts costs on one thread with 10,000 robots, with the widest and with the narrowest registers.
//! Run with `cargo bench -p muster-models --bench motions`.

use glam::{DQuat, DVec3};
use muster_core::component::{Blow, Kind, Motion, Tick};
use muster_core::lanes::{Column, LANES, Quantity, body, setpoint};
use muster_core::model::{Environment, Water};
use muster_core::node::{Node, Problems};
use muster_core::simd::Simd;
use muster_models::motions::MOTIONS;
use muster_models::winds::dryden;
use std::time::Instant;

const CHUNKS: usize = 625;
const TICKS: usize = 2000;

fn main() {
    for kind in MOTIONS {
        for simd in [Simd::detect(), Simd::Scalar] {
            println!("{:<14} {:<8} {:7.2} ns per robot and tick", kind.name, simd.to_string(), cost_ns(kind, simd));
        }
    }
    for simd in [Simd::detect(), Simd::Scalar] {
        println!("{:<14} {:<8} {:7.2} ns per robot and tick", dryden::KIND.name, simd.to_string(), gust_ns(simd));
    }
}

/// A low percentile of single ticks, as other processes disturb the rest.
fn typical_ns(mut tick: impl FnMut(u64)) -> f64 {
    let mut ticks_ns: Vec<f64> = (0..TICKS)
        .map(|index| {
            let begin = Instant::now();
            tick(index as u64);
            begin.elapsed().as_secs_f64() * 1e9 / (CHUNKS * LANES) as f64
        })
        .collect();
    ticks_ns.sort_by(f64::total_cmp);
    ticks_ns[TICKS / 20]
}

fn gust_ns(simd: Simd) -> f64 {
    let mut problems = Problems::default();
    let Some(wind) = (dryden::KIND.build)(&Node::default(), "wind", &[], &mut problems) else { return f64::NAN };
    let one = (vec![[0.0; LANES]; Quantity::total(wind.state())], vec![[0.0; LANES]; body::COLUMNS]);
    let mut chunks = vec![one; CHUNKS];
    let streams = std::array::from_fn(|lane| lane as u64);
    typical_ns(|index| {
        for (state, body) in &mut chunks {
            wind.blow(&mut Blow { state, body, lanes: LANES, dt_s: 0.002, index, streams: &streams, simd });
        }
    })
}

fn cost_ns(kind: &Kind<dyn Motion>, simd: Simd) -> f64 {
    let mut problems = Problems::default();
    let Some(motion) = (kind.build)(&Node::default(), kind.name, &[], &mut problems) else { return f64::NAN };
    let water = Water { level_m: 0.0, density_kgpm3: 1025.0, current_mps: DVec3::ZERO, wave: None };
    let environment = Environment { water: Some(water), ..Environment::empty() };
    let tick = Tick::alone(0.002, &environment, simd);
    let mut chunks: Vec<Vec<Column>> = (0..CHUNKS).map(|_| chunk(motion.as_ref())).collect();
    typical_ns(|_| {
        for columns in &mut chunks {
            motion.advance(columns, LANES, &tick);
        }
    })
}

fn chunk(motion: &dyn Motion) -> Vec<Column> {
    let count = body::COLUMNS + Quantity::total(motion.inputs()) + Quantity::total(motion.state());
    let mut columns = vec![[0.0; LANES]; count];
    for lane in 0..LANES {
        body::set_orientation(&mut columns, lane, DQuat::IDENTITY);
        body::set_vec3(&mut columns, body::VELOCITY, lane, DVec3::new(30.0, 0.0, 0.0));
        columns[body::SETPOINT_MODE][lane] = setpoint::VELOCITY;
        columns[body::SETPOINT][lane] = 1.0;
        columns[body::SETPOINT + 3][lane] = 0.1;
        motion.start(&mut columns, lane);
    }
    columns
}
