//! The inner loop of a cascaded quadrotor controller: inertial measurements and an attitude setpoint in, four rotor
//! speeds out, in integers only, so that the simulator runs the very code and gains that a fixed-point
//! microcontroller flies. It may not use floating point, allocate, divide by a variable in [`step`], or panic.
//!
//! # Conventions
//!
//! Body frame (REP-103): x forward, y left, z up; every rotation is right-handed about its axis. So positive roll
//! lifts the left side, positive pitch lowers the nose, positive yaw turns left.
//! Roll and pitch are the ZYX Euler angles: `world_from_body = Rz(yaw) Ry(pitch) Rx(roll)`.
//!
//! X configuration, rotors numbered clockwise from the front left, seen from above:
//!
//! ```text
//!            x, forward
//!              ^
//!   0 (cw)     |     1 (ccw)        rotor | turns | more speed gives roll, pitch, yaw torque
//!          \   |   /                   0  |  cw   |   +   -   +
//!            \ | /                     1  |  ccw  |   -   -   -
//!  y, left <---+                       2  |  cw   |   -   +   +
//!            /   \                     3  |  ccw  |   +   +   -
//!          /       \
//!   3 (ccw)          2 (cw)
//! ```
//!
//! A rotor that turns clockwise seen from above drags the body anticlockwise, which is positive yaw torque.
//!
//! # How it works
//!
//! The estimate is the world's vertical seen from the body, a unit vector: the gyro turns it, and the accelerometer
//! draws it back slowly, the less the further its norm is from 1 g (a complementary filter in the form of Mahony,
//! Hamel and Pflimlin 2008, with gyro bias). A vector has no singular attitude and needs no arctangent. The angle
//! loop turns that vector into the setpoint's one about their cross product; a rate PID asks for an angular
//! acceleration; [`Airframe`] turns it into rotor thrusts and, by `F = k_f Ω²`, into speeds.
//!
//! An accelerometer in flight feels thrust and drag, not gravity: without drag it reads "level" at every tilt. The
//! level gain is therefore low, and the gyro bias is learnt chiefly while standing (thrust setpoint 0, gyro slow,
//! 1 g felt). A vehicle that starts in the air with a biased gyro drifts until drag or the outer loop shows it.
//!
//! # On a microcontroller
//!
//! ```text
//! rustup target add thumbv7em-none-eabihf
//! cargo build -p muster-flight --target thumbv7em-none-eabihf
//! ```
//!
//! # Example
//!
//! ```
//! use muster_flight::{Airframe, Gains, ImuRaw, Setpoint, State, step};
//!
//! let at_rest = ImuRaw { gyro: [0; 3], accel: [0, 0, 4096] };
//! let hover = Setpoint { thrust_mn: 7024, ..Setpoint::default() };
//! let mut state = State::LEVEL;
//! let speeds = step(&Airframe::HUMMINGBIRD, &Gains::HUMMINGBIRD, &mut state, at_rest, hover);
//! assert!(speeds.iter().all(|speed| speed.abs_diff(453 * 8) <= 8));
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

mod airframe;
mod control;
mod estimate;
mod fixed;
mod gains;
mod lanes;
mod range;
mod state;

pub use airframe::{Airframe, AirframeSpec};
pub use control::{Setpoint, step};
pub use estimate::ImuRaw;
pub use gains::{Gains, GainsSpec, RateGainsSpec};
pub use lanes::{Inputs, step_lanes};
pub use range::OutOfRange;
pub use state::State;
