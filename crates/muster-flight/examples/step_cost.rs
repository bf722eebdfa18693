//! The time of one step, over 10,000 vehicles: on states as they are, and on columns as a simulator keeps them.

use std::hint::black_box;
use std::time::Instant;

use muster_flight::{Airframe, Gains, ImuRaw, Setpoint, State, step};

const VEHICLES: usize = 10_000;
const ROUNDS: usize = 200;

/// Readings that differ from vehicle to vehicle, so that no branch predictor learns them.
fn reading(vehicle: i32) -> (ImuRaw, Setpoint) {
    let wobble = |factor: i32| ((vehicle * factor) % 201 - 100) as i16;
    let imu =
        ImuRaw { gyro: [wobble(37), wobble(53), wobble(71)], accel: [wobble(89), wobble(97), 4096 + wobble(101)] };
    let setpoint = Setpoint {
        roll_e4_rad: i32::from(wobble(31)) * 10,
        pitch_e4_rad: i32::from(wobble(43)) * 10,
        yaw_rate_e4_rad_s: i32::from(wobble(59)),
        thrust_mn: 7024 + i32::from(wobble(61)),
    };
    (imu, setpoint)
}

/// Prints the time per vehicle of the fastest round: the one that other work on the machine disturbed least.
fn report(what: &str, mut round: impl FnMut()) {
    let mut best_ps = u128::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        round();
        best_ps = best_ps.min(start.elapsed().as_nanos() * 1_000 / VEHICLES as u128);
    }
    println!("{what}: {}.{} ns a step", best_ps / 1_000, best_ps % 1_000 / 100);
}

fn main() {
    let (airframe, gains) = (black_box(Airframe::HUMMINGBIRD), black_box(Gains::HUMMINGBIRD));
    let readings: Vec<(ImuRaw, Setpoint)> = (0..VEHICLES as i32).map(reading).collect();
    let mut speeds = vec![[0; 4]; VEHICLES];

    let mut states = vec![State::LEVEL; VEHICLES];
    report("states", || {
        for ((state, &(imu, setpoint)), speeds) in states.iter_mut().zip(&readings).zip(&mut speeds) {
            *speeds = step(&airframe, &gains, state, imu, setpoint);
        }
        black_box(&speeds);
    });

    let mut columns: [Vec<i32>; 11] = State::LEVEL.to_array().map(|value| vec![value; VEHICLES]);
    report("columns", || {
        for (vehicle, &(imu, setpoint)) in readings.iter().enumerate() {
            let mut state = State::from_array(std::array::from_fn(|column| columns[column][vehicle]));
            speeds[vehicle] = step(&airframe, &gains, &mut state, imu, setpoint);
            for (column, value) in columns.iter_mut().zip(state.to_array()) {
                column[vehicle] = value;
            }
        }
        black_box(&speeds);
    });
}
