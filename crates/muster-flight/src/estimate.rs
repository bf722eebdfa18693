//! Attitude from inertial measurements: the complementary filter of Mahony, Hamel and Pflimlin (2008) on the
//! vertical alone, since nothing aboard measures heading.

use crate::fixed::{ONE_Q30, cross, cross_xy, hold, length_squared, mul_high, narrow};
use crate::gains::Gains;
use crate::state::State;

/// A raw sample of a MPU-6050 at ±2000 °/s and ±8 g, body frame x forward, y left, z up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImuRaw {
    /// Angular rate, in 1/16.4 °/s.
    pub gyro: [i16; 3],
    /// Specific force, in g/4096: at rest and level, z reads +4096.
    pub accel: [i16; 3],
}

/// The largest gyro bias believed: 0.5 rad/s in Q30; the sensor's sheet promises 20 °/s, which is 0.35 rad/s.
pub(crate) const BIAS_MAX: i32 = ONE_Q30 / 2;

/// One count of the gyro, π/(180 · 16.4) rad/s, in Q24.
pub(crate) const GYRO_LSB: i32 = 17_855;

/// A vehicle whose gyro reads more than this, 25 °/s in counts, is not standing, whatever its thrust.
pub(crate) const STANDING_GYRO_MAX: i32 = 410;

/// Standing, the accelerometer shows the vertical without a doubt: it is trusted 2⁵ times as much as in flight.
pub(crate) const STANDING_LEVEL_SHIFT: u32 = 5;

/// Standing, the gyro bias is the mean of the readings over about 2⁸ of them.
pub(crate) const STANDING_BIAS_SHIFT: u32 = 8;

impl State {
    /// Carries the estimate from this sample to the next, and returns the body rate of this one, in Q24 rad/s.
    #[inline]
    pub(crate) fn estimate(&mut self, gains: &Gains, imu: ImuRaw, rotors_off: bool) -> [i32; 3] {
        let trusted = trusted_q30(imu.accel.map(i32::from));
        let standing =
            rotors_off && trusted != [0; 3] && imu.gyro.iter().all(|count| i32::from(*count).abs() < STANDING_GYRO_MAX);
        let level = if standing { gains.level << STANDING_LEVEL_SHIFT } else { gains.level };

        // The rotation that would carry the estimate to the accelerometer's vertical, about sin(angle), Q28. Only its
        // part about x and y: it converges all the same, and nothing in flight shows the gyro's bias about z.
        let tilt_error = cross_xy(trusted, self.up, 32);
        let raw_rate = imu.gyro.map(|count| i32::from(count) * GYRO_LSB);
        let rate: [i32; 3] = core::array::from_fn(|axis| raw_rate[axis] - (self.gyro_bias[axis] >> 6));

        let leveled = [rate[0] + mul_high(tilt_error[0], level), rate[1] + mul_high(tilt_error[1], level), rate[2]];
        let turn = leveled.map(|rate| mul_high(rate, gains.period));
        let moved = cross(self.up, turn, 30);
        let up: [i32; 3] = core::array::from_fn(|axis| self.up[axis] + moved[axis]);
        // One Newton step keeps the length at one, since a turn adds only half its square: (1 - |up|²)/2 in Q32.
        let lengthen = narrow(((1 << 60) - length_squared(up)) >> 29);
        self.up = up.map(|part| part + mul_high(part, lengthen));

        if standing {
            for (bias, raw_rate) in self.gyro_bias.iter_mut().zip(raw_rate) {
                *bias += ((raw_rate << 6) - *bias) >> STANDING_BIAS_SHIFT;
            }
        } else {
            for (bias, error) in self.gyro_bias.iter_mut().zip(tilt_error) {
                // Rounded to nearest: rounding down would add up to a bias of its own.
                let drift = i64::from(error) * i64::from(gains.bias_by_period) + (1 << 31);
                *bias = hold(*bias - narrow(drift >> 32), BIAS_MAX);
            }
        }
        rate
    }
}

/// The specific force in Q30 g, weighted by how far it shows the vertical: fully at exactly 1 g, falling to nothing
/// where its square is a quarter of g² off, that is at 0.87 g and 1.12 g.
#[inline(always)]
pub(crate) fn trusted_q30([x, y, z]: [i32; 3]) -> [i32; 3] {
    let squared = (x * x) as u32 + (y * y) as u32 + (z * z) as u32;
    let off = squared.abs_diff(1 << 24).min(1 << 22);
    let weight_q18 = ((1 << 18) - (off >> 4)) as i32;
    [x * weight_q18, y * weight_q18, z * weight_q18]
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: ImuRaw = ImuRaw { gyro: [0; 3], accel: [0, 0, 4096] };

    #[test]
    fn a_standing_vehicle_learns_its_tilt_and_gyro_bias() {
        let mut state = State::LEVEL;
        // Roll 30°: a body that stands on a slope feels [0, sin, cos] g.
        let on_a_slope = ImuRaw { gyro: [10, -20, 30], accel: [0, 2048, 3547] };
        for _ in 0..2_500 {
            state.estimate(&Gains::HUMMINGBIRD, on_a_slope, true);
        }
        assert!(state.up[1].abs_diff(ONE_Q30 / 2) < 1 << 20, "{state:?}");
        for (bias, count) in state.gyro_bias.into_iter().zip([10, -20, 30]) {
            assert!(bias.abs_diff((count * GYRO_LSB) << 6) < 1 << 15, "{state:?}");
        }
    }

    #[test]
    fn an_accelerometer_far_from_one_g_is_not_believed() {
        for accel in [[0; 3], [0, 2400, 2400], [0, 0, 4600], [i16::MIN; 3]] {
            let mut state = State::tilted(3_000, -2_000);
            let before = state.up;
            state.estimate(&Gains::HUMMINGBIRD, ImuRaw { accel, ..REST }, false);
            assert!(
                state.up.iter().zip(before).all(|(after, before)| after.abs_diff(before) < 5_000),
                "{accel:?} moved {before:?} to {:?}",
                state.up
            );
        }
    }

    #[test]
    fn the_gyro_turns_the_vertical_by_its_angle() {
        let mut state = State::LEVEL;
        // 90 °/s of roll for 1/3 s is 30°, with an accelerometer in free fall that cannot help.
        for _ in 0..167 {
            state.estimate(&Gains::HUMMINGBIRD, ImuRaw { gyro: [1476, 0, 0], accel: [0; 3] }, false);
        }
        let expected = State::tilted(5_246, 0).up;
        assert!(state.up.iter().zip(expected).all(|(found, up)| found.abs_diff(up) < 1 << 18), "{state:?}");
    }
}
