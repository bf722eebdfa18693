//! A Hummingbird in floating point, as identified in RotorS: rigid body, rotors with lag, rotor drag, and a MPU-6050.
//! Integrated at 1 kHz by semi-implicit Euler.

use muster_flight::ImuRaw;

const MASS_KG: f64 = 0.716;
const GRAVITY: f64 = 9.81;
const INERTIA: [f64; 3] = [0.007, 0.007, 0.012];
const LEVER_M: f64 = 0.17 * std::f64::consts::FRAC_1_SQRT_2;
const THRUST_FACTOR: f64 = 8.54858e-6;
const MOMENT_M: f64 = 0.016;
/// Force against a rotor's motion across its axis, per rotor speed and velocity.
const ROTOR_DRAG: f64 = 8.06428e-5;
const DT: f64 = 1e-3;

pub(crate) const HOVER_MN: i32 = 7_024;

#[derive(Default)]
pub(crate) struct Gyro {
    pub(crate) noise_rad_s: f64,
    pub(crate) bias_rad_s: [f64; 3],
}

pub(crate) struct Plant {
    /// Rows of `world_from_body`.
    rotation: [[f64; 3]; 3],
    rate: [f64; 3],
    velocity_in_world: [f64; 3],
    rotor_rad_s: [f64; 4],
    /// What an ideal accelerometer feels, in the body frame.
    specific_force: [f64; 3],
    on_ground: bool,
    gyro: Gyro,
    random: u64,
}

impl Plant {
    pub(crate) fn hovering(roll_deg: f64, gyro: Gyro) -> Self {
        let (sin, cos) = roll_deg.to_radians().sin_cos();
        let hover_rad_s = (MASS_KG * GRAVITY / 4.0 / THRUST_FACTOR).sqrt();
        Self {
            rotation: [[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]],
            rate: [0.0; 3],
            velocity_in_world: [0.0; 3],
            rotor_rad_s: [hover_rad_s; 4],
            specific_force: [0.0, 0.0, GRAVITY],
            on_ground: false,
            gyro,
            random: 0x2545_F491_4F6C_DD1D,
        }
    }

    pub(crate) fn standing(gyro: Gyro) -> Self {
        Self { on_ground: true, ..Self::hovering(0.0, gyro) }
    }

    pub(crate) fn take_off(&mut self) {
        self.on_ground = false;
    }

    pub(crate) fn roll(&self) -> f64 {
        self.rotation[2][1].atan2(self.rotation[2][2])
    }

    pub(crate) fn pitch(&self) -> f64 {
        (-self.rotation[2][0]).asin()
    }

    pub(crate) fn tilt(&self) -> f64 {
        self.rotation[2][2].clamp(-1.0, 1.0).acos()
    }

    /// About the world's vertical.
    pub(crate) fn yaw_rate(&self) -> f64 {
        (0..3).map(|axis| self.rotation[2][axis] * self.rate[axis]).sum()
    }

    pub(crate) fn sample_imu(&mut self) -> ImuRaw {
        let count = |value: f64| value.round().clamp(-32768.0, 32767.0) as i16;
        let gyro = std::array::from_fn(|axis| {
            let noise = self.gyro.noise_rad_s * self.normal();
            count((self.rate[axis] + self.gyro.bias_rad_s[axis] + noise).to_degrees() * 16.4)
        });
        ImuRaw { gyro, accel: self.specific_force.map(|force| count(force / GRAVITY * 4096.0)) }
    }

    pub(crate) fn advance(&mut self, wanted_rad_s: [f64; 4]) {
        if self.on_ground {
            return;
        }
        for (speed, wanted) in self.rotor_rad_s.iter_mut().zip(wanted_rad_s) {
            let lag_s = if wanted > *speed { 0.0125 } else { 0.025 };
            *speed += (wanted - *speed) * (1.0 - (-DT / lag_s).exp());
        }
        let thrust = self.rotor_rad_s.map(|speed| THRUST_FACTOR * speed * speed);
        let torque = [
            LEVER_M * (thrust[0] - thrust[1] - thrust[2] + thrust[3]),
            LEVER_M * (-thrust[0] - thrust[1] + thrust[2] + thrust[3]),
            MOMENT_M * (thrust[0] - thrust[1] + thrust[2] - thrust[3]),
        ];

        let drag = ROTOR_DRAG * self.rotor_rad_s.iter().sum::<f64>();
        let velocity_along =
            |axis: usize| (0..3).map(|row| self.rotation[row][axis] * self.velocity_in_world[row]).sum::<f64>();
        let force = [-drag * velocity_along(0), -drag * velocity_along(1), thrust.iter().sum()];
        self.specific_force = force.map(|newton| newton / MASS_KG);
        for row in 0..3 {
            let felt: f64 = (0..3).map(|axis| self.rotation[row][axis] * self.specific_force[axis]).sum();
            self.velocity_in_world[row] += (felt - if row == 2 { GRAVITY } else { 0.0 }) * DT;
        }

        // Euler's equation, then a turn of every row by the rate.
        let [p, q, r] = self.rate;
        let [jx, jy, jz] = INERTIA;
        self.rate[0] += (torque[0] - (jz - jy) * q * r) / jx * DT;
        self.rate[1] += (torque[1] - (jx - jz) * r * p) / jy * DT;
        self.rate[2] += (torque[2] - (jy - jx) * p * q) / jz * DT;
        for row in &mut self.rotation {
            *row = turned(*row, self.rate);
        }
    }

    /// One draw from the standard normal distribution, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let mut uniform = || {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            ((self.random >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        };
        (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
    }
}

/// A world axis seen from a body that turned for one period: Rodrigues' formula.
fn turned(axis: [f64; 3], rate: [f64; 3]) -> [f64; 3] {
    let angle = rate.iter().map(|part| part * part).sum::<f64>().sqrt() * DT;
    if angle == 0.0 {
        return axis;
    }
    // Seen from the body the world turns backwards.
    let about = rate.map(|part| -part * DT / angle);
    let along: f64 = (0..3).map(|i| about[i] * axis[i]).sum();
    let across = [
        about[1] * axis[2] - about[2] * axis[1],
        about[2] * axis[0] - about[0] * axis[2],
        about[0] * axis[1] - about[1] * axis[0],
    ];
    let (sin, cos) = angle.sin_cos();
    std::array::from_fn(|i| axis[i] * cos + across[i] * sin + about[i] * along * (1.0 - cos))
}
