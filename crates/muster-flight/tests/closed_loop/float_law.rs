//! The control law of the crate in floating point, written from its documentation: exact angles and roots, no
//! rounding, no fixed-point formats. What differs between the two is what integers cost.

use muster_flight::{AirframeSpec, GainsSpec, ImuRaw, RateGainsSpec, Setpoint};

use crate::Law;

const GAINS: GainsSpec = GainsSpec::HUMMINGBIRD;
const FRAME: AirframeSpec = AirframeSpec::HUMMINGBIRD;
const PERIOD_S: f64 = GAINS.period_us as f64 * 1e-6;

pub(crate) struct FloatLaw {
    up: [f64; 3],
    bias: [f64; 3],
    slow_rate: [f64; 2],
    integral: [f64; 3],
}

impl FloatLaw {
    pub(crate) fn level() -> Self {
        Self { up: [0.0, 0.0, 1.0], bias: [0.0; 3], slow_rate: [0.0; 2], integral: [0.0; 3] }
    }

    fn estimate(&mut self, imu: ImuRaw) -> [f64; 3] {
        let accel = imu.accel.map(|count| f64::from(count) / 4096.0);
        let off = (accel.iter().map(|part| part * part).sum::<f64>() - 1.0).abs();
        let trust = (1.0 - 4.0 * off).max(0.0);
        let error = cross(accel.map(|part| part * trust), self.up);
        let rate: [f64; 3] =
            std::array::from_fn(|axis| (f64::from(imu.gyro[axis]) / 16.4).to_radians() - self.bias[axis]);
        let level = f64::from(GAINS.level_milli) * 1e-3;
        let turn = [rate[0] + level * error[0], rate[1] + level * error[1], rate[2]].map(|rate| rate * PERIOD_S);
        let moved = cross(self.up, turn);
        let up: [f64; 3] = std::array::from_fn(|axis| self.up[axis] + moved[axis]);
        let length = up.iter().map(|part| part * part).sum::<f64>().sqrt();
        self.up = up.map(|part| part / length);
        for (bias, error) in self.bias.iter_mut().zip(&error[..2]) {
            *bias -= f64::from(GAINS.bias_micro) * 1e-6 * PERIOD_S * error;
        }
        rate
    }

    fn wanted_rate(&self, setpoint: Setpoint) -> [f64; 3] {
        let (sin_roll, cos_roll) = (f64::from(setpoint.roll_e4_rad) * 1e-4).sin_cos();
        let (sin_pitch, cos_pitch) = (f64::from(setpoint.pitch_e4_rad) * 1e-4).sin_cos();
        let sine = cross([-sin_pitch, cos_pitch * sin_roll, cos_pitch * cos_roll], self.up);
        let limit = f64::from(GAINS.tilt_rate_max_mrad_s) * 1e-3;
        let tilt = |axis: usize| (sine[axis] * f64::from(GAINS.angle_p_milli) * 1e-3).clamp(-limit, limit);
        let turn = f64::from(setpoint.yaw_rate_e4_rad_s) * 1e-4;
        [tilt(0) + turn * self.up[0], tilt(1) + turn * self.up[1], turn * self.up[2]]
    }

    fn accel(&mut self, axis: usize, error: f64, rate: f64) -> f64 {
        let RateGainsSpec { p_milli, i_milli, integral_max_mrad_s2, accel_max_mrad_s2 } =
            if axis == 2 { GAINS.yaw } else { GAINS.tilt };
        let derivative = match self.slow_rate.get_mut(axis) {
            Some(slow_rate) => {
                let change = rate - *slow_rate;
                let share = 1.0 / f64::from(1 << GAINS.derivative_shift);
                *slow_rate += change * share;
                f64::from(GAINS.tilt_d_milli) * 1e-3 * change * share / PERIOD_S
            }
            None => 0.0,
        };
        let integral_max = f64::from(integral_max_mrad_s2) * 1e-3;
        let integral = self.integral[axis] + f64::from(i_milli) * 1e-3 * PERIOD_S * error;
        self.integral[axis] = integral.clamp(-integral_max, integral_max);
        let accel_max = f64::from(accel_max_mrad_s2) * 1e-3;
        let sum = f64::from(p_milli) * 1e-3 * error - derivative + self.integral[axis];
        sum.clamp(-accel_max, accel_max)
    }
}

impl Law for FloatLaw {
    fn rotor_rad_s(&mut self, imu: ImuRaw, setpoint: Setpoint) -> [f64; 4] {
        let wanted = self.wanted_rate(setpoint);
        let rate = self.estimate(imu);
        let accel: [f64; 3] = std::array::from_fn(|axis| self.accel(axis, wanted[axis] - rate[axis], rate[axis]));
        let torque: [f64; 3] = std::array::from_fn(|axis| accel[axis] * f64::from(FRAME.inertia_nkg_m2[axis]) * 1e-9);
        let lever = f64::from(FRAME.arm_um) * 1e-6 * std::f64::consts::FRAC_1_SQRT_2;
        let (roll, pitch) = (torque[0] / (4.0 * lever), torque[1] / (4.0 * lever));
        let yaw = torque[2] / (4.0 * f64::from(FRAME.moment_per_thrust_um) * 1e-6);
        let mean = f64::from(setpoint.thrust_mn) * 1e-3 / 4.0;
        // A step of 10° stays far from the limits of the rotors, so no order of sacrifice is needed here.
        [mean + roll - pitch + yaw, mean - roll - pitch - yaw, mean - roll + pitch + yaw, mean + roll + pitch - yaw]
            .map(|thrust| (thrust / (f64::from(FRAME.thrust_factor_pn_s2) * 1e-12)).sqrt())
    }
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
