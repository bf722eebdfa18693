//! One step of the loop: angle P, then rate PID, then the mixer.

use crate::airframe::Airframe;
use crate::estimate::ImuRaw;
use crate::fixed::{cross_xy, hold, mul, mul_within, sin_cos_q30, within};
use crate::gains::Gains;
use crate::state::State;

/// What the outer loop wants. Any value is accepted and held within what the vehicle and its gains allow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Setpoint {
    /// Roll angle, in 1e-4 rad, held within ±60°.
    pub roll_e4_rad: i32,
    /// Pitch angle, in 1e-4 rad, held within ±60°.
    pub pitch_e4_rad: i32,
    /// Rate of turn about the world's vertical, in 1e-4 rad/s.
    pub yaw_rate_e4_rad_s: i32,
    /// Total thrust along body z, in mN. Zero or less stops the rotors and gives up attitude, as on the ground; from
    /// 1 mN on attitude is held, with more thrust than asked for if that takes it.
    pub thrust_mn: i32,
}

/// 60° in 1e-4 rad.
const TILT_MAX_E4_RAD: i32 = 10_472;

/// Runs one period, [`GainsSpec::period_us`](crate::GainsSpec::period_us), and returns the speeds of rotors 0 to 3,
/// each in 1/8 rad/s.
#[inline]
pub fn step(airframe: &Airframe, gains: &Gains, state: &mut State, imu: ImuRaw, setpoint: Setpoint) -> [u16; 4] {
    let rotors_off = setpoint.thrust_mn <= 0;
    // The estimate of the present was made by the last step; this sample carries it forward to the next one.
    let up = state.up;
    let rate = state.estimate(gains, imu, rotors_off);
    if rotors_off {
        // On the ground no integral may wind up against the legs.
        state.integral = [0; 3];
        state.slow_rate = [rate[0], rate[1]];
        return [0; 4];
    }
    let wanted = wanted_rate(gains, up, setpoint);

    let mut derivative = [0; 3];
    for (axis, slow_rate) in state.slow_rate.iter_mut().enumerate() {
        let change = rate[axis] - *slow_rate;
        *slow_rate += change >> gains.derivative_shift;
        derivative[axis] = i64::from(change) * i64::from(gains.d_over_time);
    }
    let mut accel = [0; 3];
    let mut integral = [0; 3];
    for axis in 0..3 {
        let axis_gains = &gains.axes[axis];
        let error = i64::from(wanted[axis] - rate[axis]);
        let summed = i64::from(state.integral[axis]) + ((error * i64::from(axis_gains.i_by_period)) >> 24);
        integral[axis] = within(summed, axis_gains.integral_max);
        // All three in Q40, so that one shift serves them.
        let sum = error * i64::from(axis_gains.p) - derivative[axis] + (i64::from(integral[axis]) << 16);
        accel[axis] = within(sum >> 24, axis_gains.accel_max);
    }

    let mixed = airframe.mix(accel, setpoint.thrust_mn);
    // Anti-windup: an axis the rotors cannot serve keeps its old integral.
    state.integral = core::array::from_fn(|axis| if mixed.short[axis] { state.integral[axis] } else { integral[axis] });
    mixed.speeds
}

/// The body rate, in Q24 rad/s, that brings the vertical where the setpoint wants it while turning about it.
#[inline]
fn wanted_rate(gains: &Gains, up: [i32; 3], setpoint: Setpoint) -> [i32; 3] {
    let up_wanted = vertical_at(setpoint.roll_e4_rad, setpoint.pitch_e4_rad);
    // A turn about `wanted × up` carries up to wanted. Its length is the sine of the angle between them, which serves
    // for the angle: 5 % short at 30°, and beyond that the rate is at its limit with usual gains.
    let sine = cross_xy(up_wanted, up, 30);
    let turn = hold(setpoint.yaw_rate_e4_rad_s, gains.yaw_rate_max);
    // 1e-4 in Q24 is 107374/2⁶.
    let turn = mul(turn, 107_374, 6);
    let tilt = |axis: usize| mul_within(sine[axis], gains.angle_p, 22, gains.tilt_rate_max) + mul(up[axis], turn, 30);
    [tilt(0), tilt(1), mul(up[2], turn, 30)]
}

/// The world's vertical seen from a body at a roll and pitch in 1e-4 rad, held within ±60°; Q30.
#[inline(always)]
pub(crate) fn vertical_at(roll_e4_rad: i32, pitch_e4_rad: i32) -> [i32; 3] {
    // 1e-4 in Q30.
    let angle = |e4_rad: i32| hold(e4_rad, TILT_MAX_E4_RAD) * 107_374;
    let (sin_roll, cos_roll) = sin_cos_q30(angle(roll_e4_rad));
    let (sin_pitch, cos_pitch) = sin_cos_q30(angle(pitch_e4_rad));
    [-sin_pitch, mul(cos_pitch, sin_roll, 30), mul(cos_pitch, cos_roll, 30)]
}
