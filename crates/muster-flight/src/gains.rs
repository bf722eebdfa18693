//! The tuning of the loop. Gains act on angular acceleration, not torque, so one set serves vehicles of similar
//! agility whatever their size; the airframe's inertia does the rest.

use crate::range::{OutOfRange, row};

/// A PID controller from the error of an angular rate to an angular acceleration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateGainsSpec {
    /// Acceleration per rate error, in 1e-3 /s.
    pub p_milli: u32,
    /// Acceleration per integrated rate error, in 1e-3 /s².
    pub i_milli: u32,
    /// The greatest acceleration from the integral, in 1e-3 rad/s².
    pub integral_max_mrad_s2: u32,
    /// The greatest acceleration asked of the rotors, in 1e-3 rad/s².
    pub accel_max_mrad_s2: u32,
}

/// Every gain of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GainsSpec {
    /// Time between two calls of [`step`](crate::step), in µs: 500 to 5000.
    pub period_us: u32,
    /// Roll and pitch rate asked per angle of error, in 1e-3 /s.
    pub angle_p_milli: u32,
    /// The greatest roll and pitch rate asked to correct an angle, in 1e-3 rad/s.
    pub tilt_rate_max_mrad_s: u32,
    /// The greatest yaw rate obeyed, in 1e-3 rad/s.
    pub yaw_rate_max_mrad_s: u32,
    /// Roll and pitch acceleration against the measured one, in 1e-3. Yaw has none: its rotors answer too slowly.
    pub tilt_d_milli: u32,
    /// The measured acceleration is low-passed: each period takes over 2⁻ⁿ of what is new, for this n.
    pub derivative_shift: u32,
    /// Roll and pitch.
    pub tilt: RateGainsSpec,
    /// Yaw.
    pub yaw: RateGainsSpec,
    /// How fast the accelerometer levels the estimate in flight, in 1e-3 /s. About a quarter of the drag over mass
    /// damps best: what the accelerometer shows of a tilt lags by that drag.
    pub level_milli: u32,
    /// How fast the accelerometer corrects the gyro bias in flight, in 1e-6 /s².
    pub bias_micro: u32,
}

impl GainsSpec {
    /// For [`AirframeSpec::HUMMINGBIRD`](crate::AirframeSpec::HUMMINGBIRD) at 500 Hz.
    pub const HUMMINGBIRD: Self = Self {
        period_us: 2_000,
        angle_p_milli: 8_000,
        tilt_rate_max_mrad_s: 6_000,
        yaw_rate_max_mrad_s: 3_000,
        tilt_d_milli: 200,
        derivative_shift: 2,
        tilt: RateGainsSpec {
            p_milli: 28_000,
            i_milli: 20_000,
            integral_max_mrad_s2: 20_000,
            accel_max_mrad_s2: 150_000,
        },
        yaw: RateGainsSpec { p_milli: 5_000, i_milli: 2_000, integral_max_mrad_s2: 2_000, accel_max_mrad_s2: 6_000 },
        level_milli: 50,
        bias_micro: 500,
    };
}

/// One axis's PID, prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateGains {
    /// /s, Q16.
    pub(crate) p: i32,
    /// Gain times period, /s, Q24.
    pub(crate) i_by_period: i32,
    /// rad/s², Q24.
    pub(crate) integral_max: i32,
    /// rad/s², Q16.
    pub(crate) accel_max: i32,
}

/// Gains with every division already done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gains {
    /// s, Q38.
    pub(crate) period: i32,
    /// /s, Q16.
    pub(crate) angle_p: i32,
    /// rad/s, Q24.
    pub(crate) tilt_rate_max: i32,
    /// 1e-4 rad/s.
    pub(crate) yaw_rate_max: i32,
    /// Gain over the time of the low-pass, /s, Q16.
    pub(crate) d_over_time: i32,
    pub(crate) derivative_shift: u32,
    pub(crate) axes: [RateGains; 3],
    /// /s, Q28.
    pub(crate) level: i32,
    /// Gain times period, /s, Q34.
    pub(crate) bias_by_period: i32,
}

impl Gains {
    /// The gains of [`GainsSpec::HUMMINGBIRD`].
    pub const HUMMINGBIRD: Self = match Self::new(GainsSpec::HUMMINGBIRD) {
        Ok(gains) => gains,
        Err(_) => panic!("the Hummingbird's gains are within range"),
    };

    /// Prepares a set of gains.
    ///
    /// # Errors
    ///
    /// When a field is so large that the arithmetic of [`step`](crate::step) could overflow, or the period is zero.
    pub const fn new(spec: GainsSpec) -> Result<Self, OutOfRange> {
        if let Some(bad) = OutOfRange::first(&[
            row("period_us", spec.period_us as u128, 500, 5_000),
            row("angle_p_milli", spec.angle_p_milli as u128, 0, 100_000),
            row("tilt_rate_max_mrad_s", spec.tilt_rate_max_mrad_s as u128, 0, 20_000),
            row("yaw_rate_max_mrad_s", spec.yaw_rate_max_mrad_s as u128, 0, 20_000),
            row("tilt_d_milli", spec.tilt_d_milli as u128, 0, 10_000),
            row("derivative_shift", spec.derivative_shift as u128, 0, 8),
            row("level_milli", spec.level_milli as u128, 0, 200),
            row("bias_micro", spec.bias_micro as u128, 0, 100_000),
        ]) {
            return Err(bad);
        }
        let tilt = match RateGains::new(spec.tilt, spec.period_us) {
            Ok(axis) => axis,
            Err(bad) => return Err(bad),
        };
        let yaw = match RateGains::new(spec.yaw, spec.period_us) {
            Ok(axis) => axis,
            Err(bad) => return Err(bad),
        };
        Ok(Self {
            period: scaled(spec.period_us, 38, 1_000_000),
            angle_p: scaled(spec.angle_p_milli, 16, 1_000),
            tilt_rate_max: scaled(spec.tilt_rate_max_mrad_s, 24, 1_000),
            yaw_rate_max: (spec.yaw_rate_max_mrad_s * 10) as i32,
            // On a ramp the slow rate trails by 2ⁿ periods, so what it lacks, over that time, is the slope.
            d_over_time: scaled(spec.tilt_d_milli * 1_000, 16, (spec.period_us << spec.derivative_shift) as u64),
            derivative_shift: spec.derivative_shift,
            axes: [tilt, tilt, yaw],
            level: scaled(spec.level_milli, 28, 1_000),
            bias_by_period: scaled(spec.bias_micro * spec.period_us, 34, 1_000_000_000_000),
        })
    }
}

impl RateGains {
    const fn new(spec: RateGainsSpec, period_us: u32) -> Result<Self, OutOfRange> {
        if let Some(bad) = OutOfRange::first(&[
            row("p_milli", spec.p_milli as u128, 0, 1_000_000),
            row("i_milli", spec.i_milli as u128, 0, 10_000_000),
            row("integral_max_mrad_s2", spec.integral_max_mrad_s2 as u128, 0, 100_000),
            row("accel_max_mrad_s2", spec.accel_max_mrad_s2 as u128, 0, 30_000_000),
        ]) {
            return Err(bad);
        }
        Ok(Self {
            p: scaled(spec.p_milli, 16, 1_000),
            i_by_period: ((((spec.i_milli as u64) << 24) * period_us as u64) / 1_000_000_000) as i32,
            integral_max: scaled(spec.integral_max_mrad_s2, 24, 1_000),
            accel_max: scaled(spec.accel_max_mrad_s2, 16, 1_000),
        })
    }
}

/// `value / divisor` in Q`shift`, rounded to nearest; the ranges above keep it within 31 bits.
const fn scaled(value: u32, shift: u32, divisor: u64) -> i32 {
    ((((value as u64) << shift) + divisor / 2) / divisor) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_gains_fit_and_one_more_is_refused() {
        let rate = RateGainsSpec {
            p_milli: 1_000_000,
            i_milli: 10_000_000,
            integral_max_mrad_s2: 100_000,
            accel_max_mrad_s2: 30_000_000,
        };
        let largest = GainsSpec {
            period_us: 5_000,
            angle_p_milli: 100_000,
            tilt_rate_max_mrad_s: 20_000,
            yaw_rate_max_mrad_s: 20_000,
            tilt_d_milli: 10_000,
            derivative_shift: 0,
            tilt: rate,
            yaw: rate,
            level_milli: 200,
            bias_micro: 100_000,
        };
        let gains = Gains::new(largest).unwrap();
        assert_eq!(gains.axes[0].p, 1_000 << 16);
        assert_eq!(gains.axes[0].i_by_period, 50 << 24);
        assert_eq!(gains.d_over_time, 2_000 << 16);
        assert_eq!(gains.axes[2].accel_max, 30_000 << 16);
        let fastest = Gains::new(GainsSpec { period_us: 500, ..largest }).unwrap();
        assert_eq!(fastest.d_over_time, 20_000 << 16);
        let over = GainsSpec { period_us: 5_001, ..largest };
        assert_eq!(Gains::new(over), Err(row("period_us", 5_001, 500, 5_000)));
    }
}
