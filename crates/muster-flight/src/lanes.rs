//! [`step`](crate::step) for many vehicles at once, for simulators: a plain loop over columns without branches, which
//! compilers turn into vector instructions. It takes the general formula wherever the step for one vehicle tells the
//! usual case apart; both give the same numbers.

use crate::airframe::Airframe;
use crate::control::vertical_at;
use crate::estimate::{BIAS_MAX, GYRO_LSB, STANDING_BIAS_SHIFT, STANDING_GYRO_MAX, STANDING_LEVEL_SHIFT, trusted_q30};
use crate::fixed::{ONE_Q30, hold, mul, mul_high, mul_within, narrow, within};
use crate::gains::{Gains, RateGains};
use crate::state::{INTEGRAL_MAX, RATE_MAX};

/// What [`step_lanes`] reads of `L` vehicles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs<const L: usize> {
    /// [`ImuRaw::gyro`](crate::ImuRaw::gyro).
    pub gyro: [[i32; L]; 3],
    /// [`ImuRaw::accel`](crate::ImuRaw::accel).
    pub accel: [[i32; L]; 3],
    /// The fields of [`Setpoint`](crate::Setpoint), in their order.
    pub setpoint: [[i32; L]; 4],
}

impl<const L: usize> Default for Inputs<L> {
    fn default() -> Self {
        Self { gyro: [[0; L]; 3], accel: [[0; L]; 3], setpoint: [[0; L]; 4] }
    }
}

/// Runs one period of the first `n` vehicles. `states` are the columns of [`State::to_array`](crate::State::to_array);
/// readings are held within 16 bits. Leaves the squares of rotor speeds, in (1/8 rad/s)²: their roots, rounded down,
/// are what [`step`](crate::step) returns, and a simulator has faster ways to them than integers.
#[inline(always)]
pub fn step_lanes<const L: usize>(
    airframe: &Airframe,
    gains: &Gains,
    states: &mut [[i32; L]; 11],
    inputs: &Inputs<L>,
    squares: &mut [[i32; L]; 4],
    n: usize,
) {
    // copies, as loads behind references might be touched by every store
    let (airframe, gains) = (&{ *airframe }, &{ *gains });
    let [ux, uy, uz, bx, by, bz, sx, sy, ix, iy, iz] = states;
    let Inputs { gyro: [gx, gy, gz], accel: [ax, ay, az], setpoint: [roll, pitch, turn, thrust] } = inputs;
    let [s0, s1, s2, s3] = squares;
    for k in 0..n.min(L) {
        let vehicle = Vehicle {
            up: [ux[k], uy[k], uz[k]],
            bias: [bx[k], by[k], bz[k]],
            slow: [sx[k], sy[k]],
            integral: [ix[k], iy[k], iz[k]],
        };
        let imu = [gx[k], gy[k], gz[k], ax[k], ay[k], az[k]];
        let (next, rotors) = vehicle.step(imu, [roll[k], pitch[k], turn[k], thrust[k]], gains, airframe);
        [ux[k], uy[k], uz[k]] = next.up;
        [bx[k], by[k], bz[k]] = next.bias;
        [sx[k], sy[k]] = next.slow;
        [ix[k], iy[k], iz[k]] = next.integral;
        [s0[k], s1[k], s2[k], s3[k]] = rotors;
    }
}

/// A state as [`State`](crate::State) holds it.
#[derive(Clone, Copy)]
struct Vehicle {
    up: [i32; 3],
    bias: [i32; 3],
    slow: [i32; 2],
    integral: [i32; 3],
}

#[inline(always)]
fn wide(a: i32, b: i32) -> i64 {
    i64::from(a) * i64::from(b)
}

/// A reading of 16 bits.
#[inline(always)]
fn reading(count: i32) -> i32 {
    count.max(i16::MIN as i32).min(i16::MAX as i32)
}

// Everything is written out, axis by axis: what is not inlined is not vectorised, closures over arrays among it.
impl Vehicle {
    #[inline(always)]
    fn step(self, imu: [i32; 6], setpoint: [i32; 4], gains: &Gains, airframe: &Airframe) -> (Self, [i32; 4]) {
        let rotors_off = setpoint[3] <= 0;
        let held = self.held();
        let up = held.up;
        let (estimated, rate) = held.estimate(imu, rotors_off, gains);
        let (controlled, squares) =
            estimated.control(rate, wanted_rate(gains, up, setpoint), setpoint[3], gains, airframe);
        let on = |value: i32| if rotors_off { 0 } else { value };
        let slow_x = if rotors_off { rate[0] } else { controlled.slow[0] };
        let slow_y = if rotors_off { rate[1] } else { controlled.slow[1] };
        let [ix, iy, iz] = controlled.integral;
        let next = Self { slow: [slow_x, slow_y], integral: [on(ix), on(iy), on(iz)], ..controlled };
        (next, [on(squares[0]), on(squares[1]), on(squares[2]), on(squares[3])])
    }

    /// As [`State::from_array`](crate::State::from_array).
    #[inline(always)]
    fn held(self) -> Self {
        let Self { up: [ux, uy, uz], bias: [bx, by, bz], slow: [sx, sy], integral: [ix, iy, iz] } = self;
        let norm_squared = wide(ux >> 1, ux >> 1) + wide(uy >> 1, uy >> 1) + wide(uz >> 1, uz >> 1);
        let is_unit = (1_i64 << 57..9_i64 << 55).contains(&norm_squared);
        let or = |value: i32, level: i32| if is_unit { value } else { level };
        Self {
            up: [or(ux, 0), or(uy, 0), or(uz, ONE_Q30)],
            bias: [hold(bx, BIAS_MAX), hold(by, BIAS_MAX), hold(bz, BIAS_MAX)],
            slow: [hold(sx, RATE_MAX), hold(sy, RATE_MAX)],
            integral: [hold(ix, INTEGRAL_MAX), hold(iy, INTEGRAL_MAX), hold(iz, INTEGRAL_MAX)],
        }
    }

    /// As `State::estimate`.
    #[inline(always)]
    fn estimate(self, imu: [i32; 6], rotors_off: bool, gains: &Gains) -> (Self, [i32; 3]) {
        let Self { up: [ux, uy, uz], bias: [bx, by, bz], .. } = self;
        let [gx, gy, gz, ax, ay, az] = imu;
        let (gx, gy, gz) = (reading(gx), reading(gy), reading(gz));
        let [tx, ty, tz] = trusted_q30([reading(ax), reading(ay), reading(az)]);
        let slow = (gx.abs() < STANDING_GYRO_MAX) & (gy.abs() < STANDING_GYRO_MAX) & (gz.abs() < STANDING_GYRO_MAX);
        let standing = rotors_off & ((tx | ty | tz) != 0) & slow;
        let level = if standing { gains.level << STANDING_LEVEL_SHIFT } else { gains.level };

        let error_x = narrow((wide(ty, uz) - wide(tz, uy)) >> 32);
        let error_y = narrow((wide(tz, ux) - wide(tx, uz)) >> 32);
        let (raw_x, raw_y, raw_z) = (gx * GYRO_LSB, gy * GYRO_LSB, gz * GYRO_LSB);
        let (rate_x, rate_y, rate_z) = (raw_x - (bx >> 6), raw_y - (by >> 6), raw_z - (bz >> 6));
        let turn_x = mul_high(rate_x + mul_high(error_x, level), gains.period);
        let turn_y = mul_high(rate_y + mul_high(error_y, level), gains.period);
        let turn_z = mul_high(rate_z, gains.period);
        let vx = ux + narrow((wide(uy, turn_z) - wide(uz, turn_y)) >> 30);
        let vy = uy + narrow((wide(uz, turn_x) - wide(ux, turn_z)) >> 30);
        let vz = uz + narrow((wide(ux, turn_y) - wide(uy, turn_x)) >> 30);
        let lengthen = narrow(((1 << 60) - (wide(vx, vx) + wide(vy, vy) + wide(vz, vz))) >> 29);
        let up = [vx + mul_high(vx, lengthen), vy + mul_high(vy, lengthen), vz + mul_high(vz, lengthen)];

        // a reading too large for the shift is not of a vehicle that stands, and what comes of it is not used
        let stood = |bias: i32, raw: i32| bias.wrapping_add((raw << 6).wrapping_sub(bias) >> STANDING_BIAS_SHIFT);
        let flown = |bias: i32, error: i32| {
            let drift = wide(error, gains.bias_by_period) + (1 << 31);
            hold(bias - narrow(drift >> 32), BIAS_MAX)
        };
        let bias = [
            if standing { stood(bx, raw_x) } else { flown(bx, error_x) },
            if standing { stood(by, raw_y) } else { flown(by, error_y) },
            if standing { stood(bz, raw_z) } else { bz },
        ];
        (Self { up, bias, ..self }, [rate_x, rate_y, rate_z])
    }

    /// The rate PID and the mixer.
    #[inline(always)]
    fn control(
        self,
        rate: [i32; 3],
        wanted: [i32; 3],
        thrust_mn: i32,
        gains: &Gains,
        airframe: &Airframe,
    ) -> (Self, [i32; 4]) {
        let Self { slow: [sx, sy], integral: [ix, iy, iz], .. } = self;
        let (change_x, change_y) = (rate[0] - sx, rate[1] - sy);
        let slow = [sx + (change_x >> gains.derivative_shift), sy + (change_y >> gains.derivative_shift)];
        let against_x = wide(change_x, gains.d_over_time);
        let against_y = wide(change_y, gains.d_over_time);
        let (new_x, accel_x) = pid(wanted[0] - rate[0], ix, against_x, &gains.axes[0]);
        let (new_y, accel_y) = pid(wanted[1] - rate[1], iy, against_y, &gains.axes[1]);
        let (new_z, accel_z) = pid(wanted[2] - rate[2], iz, 0, &gains.axes[2]);
        let (squares, [short_x, short_y, short_z]) = airframe.mix_squares([accel_x, accel_y, accel_z], thrust_mn);
        let integral =
            [if short_x { ix } else { new_x }, if short_y { iy } else { new_y }, if short_z { iz } else { new_z }];
        (Self { slow, integral, ..self }, squares)
    }
}

/// The new integral of one axis, and the angular acceleration it asks for.
#[inline(always)]
fn pid(error: i32, integral: i32, derivative: i64, gains: &RateGains) -> (i32, i32) {
    let summed = i64::from(integral) + (wide(error, gains.i_by_period) >> 24);
    let integral = within(summed, gains.integral_max);
    let sum = wide(error, gains.p) - derivative + (i64::from(integral) << 16);
    (integral, within(sum >> 24, gains.accel_max))
}

/// As the function of this name of the step for one vehicle.
#[inline(always)]
fn wanted_rate(gains: &Gains, [ux, uy, uz]: [i32; 3], [roll, pitch, turn, _]: [i32; 4]) -> [i32; 3] {
    let [wx, wy, wz] = vertical_at(roll, pitch);
    let sine_x = narrow((wide(wy, uz) - wide(wz, uy)) >> 30);
    let sine_y = narrow((wide(wz, ux) - wide(wx, uz)) >> 30);
    let turn = mul(hold(turn, gains.yaw_rate_max), 107_374, 6);
    [
        mul_within(sine_x, gains.angle_p, 22, gains.tilt_rate_max) + mul(ux, turn, 30),
        mul_within(sine_y, gains.angle_p, 22, gains.tilt_rate_max) + mul(uy, turn, 30),
        mul(uz, turn, 30),
    ]
}

impl Airframe {
    /// As `mix`, but squares of speeds, and every limit always taken: where there is room they change nothing.
    #[inline(always)]
    fn mix_squares(&self, accel: [i32; 3], thrust_mn: i32) -> ([i32; 4], [bool; 3]) {
        let asked_roll = wide(accel[0], self.square_per_accel[0]) >> 20;
        let asked_pitch = wide(accel[1], self.square_per_accel[1]) >> 20;
        let asked_yaw = wide(accel[2], self.square_per_accel[2]) >> 20;
        let half = self.square_max / 2;
        // what an axis asks for beyond half of all there is changes no other axis' room
        let beside = |other: i64| (half - within(other, half).abs()).max(half / 2);
        let roll = within(asked_roll, beside(asked_pitch));
        let pitch = within(asked_pitch, beside(asked_roll));
        let yaw = within(asked_yaw, half - roll.abs().max(pitch.abs()));
        let short = [i64::from(roll) != asked_roll, i64::from(pitch) != asked_pitch, i64::from(yaw) != asked_yaw];

        let [p0, p1, p2, p3] = [roll - pitch + yaw, -roll - pitch - yaw, -roll + pitch + yaw, roll + pitch - yaw];
        let thrust = thrust_mn.max(0).min(self.thrust_max_mn) as u64;
        let wanted = ((thrust * self.square_per_mn) >> 16) as i32;
        let (lowest, highest) = (p0.min(p1).min(p2.min(p3)), p0.max(p1).max(p2.max(p3)));
        let mean = wanted.min(self.square_max - highest).max(-lowest);
        ([mean + p0, mean + p1, mean + p2, mean + p3], short)
    }
}
