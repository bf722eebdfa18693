//! What the loop remembers between two steps: eleven integers, so that a simulator keeps ten thousand of them in
//! columns.

use crate::control::vertical_at;
use crate::estimate::{BIAS_MAX, ImuRaw};
use crate::fixed::{ONE_Q30, hold};
use crate::gains::Gains;

/// What the loop remembers. Start from [`State::LEVEL`] or [`State::tilted`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// The world's vertical seen from the body, a unit vector; Q30.
    pub(crate) up: [i32; 3],
    /// What the gyro reads at rest, rad/s, Q30.
    pub(crate) gyro_bias: [i32; 3],
    /// Low-passed roll and pitch rate, for the derivative, rad/s, Q24.
    pub(crate) slow_rate: [i32; 2],
    /// Acceleration from the integrals, rad/s², Q24.
    pub(crate) integral: [i32; 3],
}

/// Rates and integrals read from outside are held within these: 36 rad/s, which no gyro reading exceeds once its
/// bias is taken off, and 101 rad/s², just above the largest limit of any gains.
pub(crate) const RATE_MAX: i32 = 36 << 24;
pub(crate) const INTEGRAL_MAX: i32 = 101 << 24;

impl State {
    /// Level, at rest, with an unbiased gyro.
    pub const LEVEL: Self = Self { up: [0, 0, ONE_Q30], gyro_bias: [0; 3], slow_rate: [0; 2], integral: [0; 3] };

    /// At rest at a known roll and pitch, in 1e-4 rad and held within ±60°: a vehicle that starts in the air cannot
    /// learn them from its accelerometer.
    pub fn tilted(roll_e4_rad: i32, pitch_e4_rad: i32) -> Self {
        Self { up: vertical_at(roll_e4_rad, pitch_e4_rad), ..Self::LEVEL }
    }

    /// One period in flight while somebody else commands the rotors: the estimate goes on, and no integral is left over
    /// for when [`step`](crate::step) takes over again.
    #[inline]
    pub fn watch(&mut self, gains: &Gains, imu: ImuRaw) {
        let rate = self.estimate(gains, imu, false);
        self.integral = [0; 3];
        self.slow_rate = [rate[0], rate[1]];
    }

    /// The world's vertical seen from the body, a unit vector in Q30: `[-sin pitch, cos pitch sin roll,
    /// cos pitch cos roll]`.
    pub const fn up_q30(&self) -> [i32; 3] {
        self.up
    }

    /// The estimated gyro bias about x, y and z, in rad/s in Q30.
    pub const fn gyro_bias_q30(&self) -> [i32; 3] {
        self.gyro_bias
    }

    /// The state as columns, for [`State::from_array`].
    pub const fn to_array(self) -> [i32; 11] {
        let [ux, uy, uz] = self.up;
        let [bx, by, bz] = self.gyro_bias;
        let [sx, sy] = self.slow_rate;
        let [ix, iy, iz] = self.integral;
        [ux, uy, uz, bx, by, bz, sx, sy, ix, iy, iz]
    }

    /// The state that [`State::to_array`] gave. Numbers no step can leave behind are held within their ranges, and a
    /// vertical that is no unit vector becomes level, so that no array can make [`step`](crate::step) overflow.
    #[inline]
    pub fn from_array(columns: [i32; 11]) -> Self {
        let [ux, uy, uz, bx, by, bz, sx, sy, ix, iy, iz] = columns;
        let up = [ux, uy, uz];
        let held = |values: [i32; 3], limit: i32| values.map(|value| hold(value, limit));
        // Halved so that three squares fit in 64 bits; a step leaves the square of the length between 1/2 and 9/8.
        let norm_squared: i64 = up.iter().map(|&part| i64::from(part >> 1) * i64::from(part >> 1)).sum();
        let is_unit = (1_i64 << 57..9_i64 << 55).contains(&norm_squared);
        Self {
            up: if is_unit { up } else { Self::LEVEL.up },
            gyro_bias: held([bx, by, bz], BIAS_MAX),
            slow_rate: [hold(sx, RATE_MAX), hold(sy, RATE_MAX)],
            integral: held([ix, iy, iz], INTEGRAL_MAX),
        }
    }
}

impl Default for State {
    fn default() -> Self {
        Self::LEVEL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_no_step_can_leave_behind_is_brought_within_range() {
        let state = State::from_array([i32::MIN; 11]);
        assert_eq!(state.up, State::LEVEL.up);
        assert_eq!(state.gyro_bias, [-BIAS_MAX; 3]);
        assert_eq!(state.slow_rate, [-RATE_MAX; 2]);
        assert_eq!(state.integral, [-INTEGRAL_MAX; 3]);
    }
}
