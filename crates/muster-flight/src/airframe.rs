//! What the loop must know of the vehicle, and the mixer: from angular acceleration and thrust to rotor speeds.
//! The order of sacrifice when the rotors cannot give all is thrust first, then yaw, then roll and pitch.

use core::hint::cold_path;

use crate::fixed::{isqrt, within};
use crate::range::{OutOfRange, row};

/// An X quadrotor, as identified. Rotor positions and senses of rotation are those of the crate's documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AirframeSpec {
    /// Rotor thrust divided by the square of rotor speed, `k_f`, in 1e-12 N s²/rad².
    pub thrust_factor_pn_s2: u32,
    /// Rotor drag torque divided by rotor thrust, in µm.
    pub moment_per_thrust_um: u32,
    /// From the centre to each rotor's axis, in µm.
    pub arm_um: u32,
    /// Moments of inertia about x, y and z, in 1e-9 kg m².
    pub inertia_nkg_m2: [u32; 3],
    /// The speed no rotor may exceed, in rad/s.
    pub rotor_max_rad_s: u16,
}

impl AirframeSpec {
    /// AscTec Hummingbird as identified in RotorS (Furrer et al. 2016). It weighs 0.716 kg and hovers at 7024 mN.
    pub const HUMMINGBIRD: Self = Self {
        thrust_factor_pn_s2: 8_548_580,
        moment_per_thrust_um: 16_000,
        arm_um: 170_000,
        inertia_nkg_m2: [7_000_000, 7_000_000, 12_000_000],
        rotor_max_rad_s: 838,
    };
}

/// A vehicle with every division already done. The mixer adds up squares of rotor speed, in (1/8 rad/s)², which are
/// thrust but for a factor: so no rotor needs a product of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Airframe {
    /// Square of speed that each rotor gains or loses for an angular acceleration about each axis, per rad/s²; Q4.
    pub(crate) square_per_accel: [i32; 3],
    /// Square of every rotor's speed per mN of total thrust; Q16.
    pub(crate) square_per_mn: u64,
    /// Square of the greatest speed.
    pub(crate) square_max: i32,
    pub(crate) thrust_max_mn: i32,
}

/// Rotor speeds, and which axes did not get what they asked for.
pub(crate) struct Mixed {
    pub(crate) speeds: [u16; 4],
    pub(crate) short: [bool; 3],
}

impl Airframe {
    /// The vehicle of [`AirframeSpec::HUMMINGBIRD`].
    pub const HUMMINGBIRD: Self = match Self::new(AirframeSpec::HUMMINGBIRD) {
        Ok(airframe) => airframe,
        Err(_) => panic!("the Hummingbird is within range"),
    };

    /// Prepares a vehicle.
    ///
    /// # Errors
    ///
    /// When a field, or the authority that follows from several, is zero or so large that the arithmetic of
    /// [`step`](crate::step) could overflow. A Crazyflie of 30 g fits.
    pub const fn new(spec: AirframeSpec) -> Result<Self, OutOfRange> {
        let thrust_factor = spec.thrust_factor_pn_s2 as u128;
        let speed_max = spec.rotor_max_rad_s as u128;
        let arm = spec.arm_um as u128;
        let moment = spec.moment_per_thrust_um as u128;
        let [inertia_x, inertia_y, inertia_z] = spec.inertia_nkg_m2;
        if let Some(bad) = OutOfRange::first(&[
            row("thrust_factor_pn_s2", thrust_factor, 100, 1_000_000_000),
            row("rotor_max_rad_s", speed_max, 1, 4_095),
            row("arm_um", arm, 1_000, 10_000_000),
            row("moment_per_thrust_um", moment, 10, 1_000_000),
            row("inertia_nkg_m2[0]", inertia_x as u128, 1, u32::MAX as u128),
            row("inertia_nkg_m2[1]", inertia_y as u128, 1, u32::MAX as u128),
            row("inertia_nkg_m2[2]", inertia_z as u128, 1, u32::MAX as u128),
        ]) {
            return Err(bad);
        }
        // A rotor's lever is arm/√2 and four rotors share the torque, so a tilt takes the thrust I/(2√2 arm) of each,
        // yaw I/(4 moment), and a thrust F is the square 64 F/k_f.
        let tilt_divisor = 2_828_427 * arm * thrust_factor;
        let roll = inertia_x as u128 * (1_024 * 1_000_000_000_000_000) / tilt_divisor;
        let pitch = inertia_y as u128 * (1_024 * 1_000_000_000_000_000) / tilt_divisor;
        let yaw = inertia_z as u128 * (256 * 1_000_000_000) / (moment * thrust_factor);
        let thrust_max_mn = thrust_factor * speed_max * speed_max / 250_000_000;
        let axis_max = i32::MAX as u128;
        if let Some(bad) = OutOfRange::first(&[
            row("square of rotor speed for roll, in (1/32 rad/s)² per rad/s²", roll, 1, axis_max),
            row("square of rotor speed for pitch, in (1/32 rad/s)² per rad/s²", pitch, 1, axis_max),
            row("square of rotor speed for yaw, in (1/32 rad/s)² per rad/s²", yaw, 1, axis_max),
            row("greatest thrust, in mN", thrust_max_mn, 1, axis_max),
        ]) {
            return Err(bad);
        }
        Ok(Self {
            square_per_accel: [roll as i32, pitch as i32, yaw as i32],
            square_per_mn: (16_000_000_000 << 16) / thrust_factor as u64,
            square_max: 64 * (speed_max * speed_max) as i32,
            thrust_max_mn: thrust_max_mn as i32,
        })
    }

    /// The greatest total thrust, in mN.
    pub const fn thrust_max_mn(&self) -> i32 {
        self.thrust_max_mn
    }

    /// Rotor speeds for an angular acceleration (Q16 rad/s²) and a total thrust.
    #[inline]
    pub(crate) fn mix(&self, accel: [i32; 3], thrust_mn: i32) -> Mixed {
        let asked: [i64; 3] =
            core::array::from_fn(|axis| (i64::from(accel[axis]) * i64::from(self.square_per_accel[axis])) >> 20);
        // The usual case has room for all; the compiler is told so, that the rest need not wait for the limits.
        let half = i64::from(self.square_max / 2);
        let [roll, pitch, yaw] = if asked[0].abs() + asked[1].abs() + asked[2].abs() <= half {
            asked.map(|part| part as i32)
        } else {
            cold_path();
            self.most_of(asked)
        };

        let parts = [roll - pitch + yaw, -roll - pitch - yaw, -roll + pitch + yaw, roll + pitch - yaw];
        debug_assert!(thrust_mn > 0, "the step sends rotors that are off away before the mixer");
        let thrust_mn = thrust_mn.min(self.thrust_max_mn) as u64;
        let wanted = ((thrust_mn * self.square_per_mn) >> 16) as i32;
        let spread = roll.abs() + pitch.abs() + yaw.abs();
        let mean = if spread <= wanted && wanted <= self.square_max - spread {
            wanted
        } else {
            cold_path();
            let lowest = parts[0].min(parts[1]).min(parts[2].min(parts[3]));
            let highest = parts[0].max(parts[1]).max(parts[2].max(parts[3]));
            wanted.min(self.square_max - highest).max(-lowest)
        };
        let speed = |part: i32| {
            debug_assert!((0..=self.square_max).contains(&(mean + part)), "{mean} + {part}");
            isqrt((mean + part) as u32) as u16
        };
        Mixed {
            speeds: [speed(parts[0]), speed(parts[1]), speed(parts[2]), speed(parts[3])],
            short: [i64::from(roll) != asked[0], i64::from(pitch) != asked[1], i64::from(yaw) != asked[2]],
        }
    }

    /// As much of the deviations asked for as the rotors can give.
    #[cold]
    fn most_of(&self, asked: [i64; 3]) -> [i32; 3] {
        // The rotors deviate from their mean by ±roll ±pitch, which fits when |roll| + |pitch| <= max/2. When it does
        // not, the larger gives way first, down to equal halves: no division, and no sign changes.
        let half = self.square_max / 2;
        let room_beside = |other: i64| (i64::from(half) - other.abs()).max(i64::from(half / 2)) as i32;
        let roll = within(asked[0], room_beside(asked[1]));
        let pitch = within(asked[1], room_beside(asked[0]));
        // Yaw's sign on a rotor is minus roll's times pitch's, so the rotors lie at +yaw ±(roll - pitch) and at
        // -yaw ±(roll + pitch), and their spread is within max exactly if |yaw| has this room.
        [roll, pitch, within(asked[2], half - roll.abs().max(pitch.abs()))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BIRD: Airframe = Airframe::HUMMINGBIRD;
    const TOP: u16 = 838 * 8;

    #[test]
    fn each_axis_moves_the_rotors_of_the_table() {
        let check = |accel: [i32; 3], signs: [i32; 4]| {
            let speeds = BIRD.mix(accel, 7024).speeds.map(i32::from);
            let hover = i32::from(BIRD.mix([0; 3], 7024).speeds[0]);
            assert_eq!(speeds.map(|speed| (speed - hover).signum()), signs);
        };
        check([10 << 16, 0, 0], [1, -1, -1, 1]);
        check([0, 10 << 16, 0], [-1, -1, 1, 1]);
        check([0, 0, 1 << 16], [1, -1, 1, -1]);
    }

    #[test]
    fn full_thrust_turns_every_rotor_at_its_limit() {
        assert!(BIRD.mix([0; 3], i32::MAX).speeds.iter().all(|&speed| speed.abs_diff(TOP) <= 1));
    }

    #[test]
    fn tilt_takes_from_yaw_and_both_take_from_thrust() {
        let everything = BIRD.mix([i32::MAX, 0, i32::MAX], i32::MAX);
        assert_eq!(everything.short, [true, false, true]);
        let [left_front, right_front, right_rear, left_rear] = everything.speeds;
        assert!(left_front.abs_diff(TOP) <= 2 && left_rear == left_front, "no yaw is left: {:?}", everything.speeds);
        assert!(right_front <= 16 && right_rear == right_front, "roll came before thrust: {:?}", everything.speeds);

        let yaw_at_full_thrust = BIRD.mix([0, 0, 4 << 16], i32::MAX);
        assert_eq!(yaw_at_full_thrust.short, [false; 3]);
        let roll_at_almost_no_thrust = BIRD.mix([20 << 16, 0, 0], 1);
        assert_eq!(roll_at_almost_no_thrust.short, [false; 3]);
        assert!(roll_at_almost_no_thrust.speeds[0] > 2_000, "thrust is raised until roll is met");
    }

    #[test]
    fn a_tilt_beyond_the_rotors_keeps_the_sign_of_both_axes() {
        let [front_left, front_right, rear_right, rear_left] =
            BIRD.mix([i32::MAX, i32::MAX / 2, 0], 7024).speeds.map(i32::from);
        assert!(front_left + rear_left > front_right + rear_right);
        assert!(rear_left + rear_right > front_left + front_right);
    }

    #[test]
    fn a_number_outside_its_range_is_named() {
        let spec = AirframeSpec { arm_um: 0, ..AirframeSpec::HUMMINGBIRD };
        assert_eq!(Airframe::new(spec), Err(row("arm_um", 0, 1_000, 10_000_000)));
    }
}
