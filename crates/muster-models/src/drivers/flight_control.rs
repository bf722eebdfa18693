//! Flight control of quadrotors, in two loops. The outer loop, in floating point and at a divided rate, takes pose and
//! velocity from `truth`, as a motion capture system would give them, and turns a setpoint into an attitude and a
//! thrust. The inner loop is [`muster_flight::step`]: integers only, from raw counts of the `imu` and nothing else, the
//! code and gains that fly on a microcontroller.
//!
//! ```text
//! v* = k_p (p* − p), limited                 position setpoints; velocity setpoints begin here
//! a  = k_v (v* − v) + b,   ḃ = k_i (v* − v)  b: what wind, weight and a tilted estimate ask for; held while a is limited
//! f  = a + g ẑ                               limited in tilt; the attitude has its thrust axis along f
//! T  = m f · ẑ_body                          so a body not yet tilted does not climb
//! ```
//!
//! Setpoints: none stops the rotors; velocity and position as in [`setpoint`]; course is flown as a velocity over
//! ground with the nose along it; direct leaves the inputs alone, only the estimate of attitude goes on. The airframe
//! must be that of the motion; the defaults are those of an AscTec Hummingbird, which is also the motion's default.

use crate::sensors::{imu, truth};
use glam::{DQuat, DVec3};
use muster_core::component::{Control, Driver, Kind, Pose, Reading, Subscription};
use muster_core::lanes::{IntColumn, Quantity, setpoint};
use muster_core::math;
use muster_core::node::{Node, Problems, Value};
use muster_core::spec;
use muster_core::spec::{Spec, below};
use muster_flight::{Airframe, AirframeSpec, Gains, GainsSpec, ImuRaw, OutOfRange, RateGainsSpec, Setpoint, State};
use std::sync::Arc;

spec! {
    /// Parameters of the flight control of a quadrotor.
    pub struct FlightControlSpec {
        /// Mass of the vehicle.
        mass_kg: f64 = 0.716, in 0.001..=1000.0;
        /// Moments of inertia about the body's axes.
        inertia_kgm2: [f64; 3] = [0.007, 0.007, 0.012], in 1e-9..=4.0;
        /// From the centre to each rotor's axis.
        arm_m: f64 = 0.17, in 0.001..=10.0;
        /// Thrust of a rotor divided by the square of its speed: N/(rad/s)².
        thrust_square_ns2: f64 = 8.54858e-6, in 1e-10..=1e-3;
        /// Drag torque of a rotor divided by its thrust.
        moment_ratio_m: f64 = 0.016, in 1e-5..=1.0;
        /// The speed no rotor may exceed.
        rotor_max_radps: f64 = 838.0, in 1.0..=4095.0;
        /// How often the outer loop runs; the nearest divisor of `rate_hz` is taken.
        outer_rate_hz: f64 = 100.0, in 1.0..=2000.0;
        /// Speed asked per distance from a position setpoint.
        position_gain_per_s: f64 = 1.5, in 0.0..=100.0;
        /// Acceleration asked per error of velocity.
        velocity_gain_per_s: f64 = 4.0, in 0.0..=100.0;
        /// Acceleration asked per error of velocity and time, against wind and errors of the model.
        integral_gain_per_s2: f64 = 2.5, in 0.0..=100.0;
        /// The greatest acceleration from the integral.
        integral_max_mps2: f64 = 5.0, in 0.0..=100.0;
        /// Turn rate asked per error of heading.
        heading_gain_per_s: f64 = 2.0, in 0.0..=100.0;
        /// The greatest horizontal speed asked.
        speed_max_mps: f64 = 5.0, in 0.0..=1000.0;
        /// The greatest speed asked upwards and downwards.
        climb_max_mps: f64 = 2.0, in 0.0..=1000.0;
        /// The greatest tilt asked.
        tilt_max_deg: f64 = 35.0, in 0.0..=60.0;
        /// Inner loop: roll and pitch rate asked per angle of error.
        tilt_gain_per_s: f64 = 8.0, in 0.0..=100.0;
        /// Inner loop: the greatest roll and pitch rate asked.
        tilt_rate_max_radps: f64 = 6.0, in 0.0..=20.0;
        /// Inner loop: the greatest turn rate obeyed.
        turn_rate_max_radps: f64 = 3.0, in 0.0..=20.0;
        /// Inner loop: proportional, integral and derivative gain of roll and pitch rates: 1/s, 1/s², 1.
        tilt_rate_pid: [f64; 3] = [28.0, 20.0, 0.2], in 0.0..=1000.0;
        /// Inner loop: proportional and integral gain of the turn rate: 1/s, 1/s².
        turn_rate_pi: [f64; 2] = [5.0, 2.0], in 0.0..=1000.0;
        /// Inner loop: how fast the accelerometer levels the estimated attitude.
        level_gain_per_s: f64 = 0.05, in 0.0..=0.2;
        /// Inner loop: how fast the accelerometer corrects the estimated bias of the gyroscope.
        bias_gain_per_s2: f64 = 0.0005, in 0.0..=0.1;
        /// Name of the inertial measurement unit, in the axes of the body.
        imu: String = "imu".to_owned();
        /// Name of the sensor of pose and velocity.
        pose: String = "truth".to_owned();
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "flight_control",
    doc: "Flies a quadrotor to velocity, position and course setpoints: outer loop from truth, integer inner loop from IMU.",
    fields: FlightControlSpec::FIELDS,
    build: |node, path, also, problems| {
        let spec = <FlightControlSpec as Spec>::read(node, path, also, problems)?;
        let rate_hz = rate_of(node, path, problems)?;
        let airframe = within_range(Airframe::new(airframe_of(&spec)), node, path, problems)?;
        let gains = within_range(Gains::new(gains_of(&spec, rate_hz)), node, path, problems)?;
        Some(Arc::new(FlightControl::new(spec, airframe, gains, rate_hz)))
    },
};

/// The rates for which the inner loop's arithmetic is made.
const RATE_HZ: std::ops::RangeInclusive<f64> = 200.0..=2000.0;

/// The driver's `rate_hz`, on which the gains of the inner loop depend.
fn rate_of(node: &Node, path: &str, problems: &mut Problems) -> Option<f64> {
    let (rate_hz, place) = match node.get("rate_hz").map(|rate| (&rate.value, rate.place)) {
        Some((&Value::Number(hz), place)) => (Some(hz), place),
        Some((&Value::Integer(hz), place)) => (Some(hz as f64), place),
        Some((_, place)) => (None, place),
        None => (None, node.place),
    };
    let within = rate_hz.filter(|rate_hz| RATE_HZ.contains(rate_hz));
    if within.is_none() {
        let found = rate_hz.map_or_else(|| "no rate_hz".to_owned(), |hz| hz.to_string());
        let expected = format!("{} to {} Hz", RATE_HZ.start(), RATE_HZ.end());
        problems.error(place, &below(path, "rate_hz"), found, expected);
    }
    within
}

fn within_range<T>(made: Result<T, OutOfRange>, node: &Node, path: &str, problems: &mut Problems) -> Option<T> {
    made.map_err(|bad| {
        let found = format!("{} of {}", bad.field, bad.found);
        problems.error(node.place, path, found, format!("{} to {}", bad.min, bad.max));
    })
    .ok()
}

/// A number in the integer unit of the inner loop, `per_unit` of them to the unit of the specification.
fn whole(value: f64, per_unit: f64) -> u32 {
    math::round_nearest(value * per_unit) as u32
}

fn airframe_of(spec: &FlightControlSpec) -> AirframeSpec {
    AirframeSpec {
        thrust_factor_pn_s2: whole(spec.thrust_square_ns2, 1e12),
        moment_per_thrust_um: whole(spec.moment_ratio_m, 1e6),
        arm_um: whole(spec.arm_m, 1e6),
        inertia_nkg_m2: spec.inertia_kgm2.map(|inertia| whole(inertia, 1e9)),
        rotor_max_rad_s: math::round_nearest(spec.rotor_max_radps) as u16,
    }
}

fn gains_of(spec: &FlightControlSpec, rate_hz: f64) -> GainsSpec {
    let usual = GainsSpec::HUMMINGBIRD;
    let ([tilt_p, tilt_i, tilt_d], [turn_p, turn_i]) = (spec.tilt_rate_pid, spec.turn_rate_pi);
    GainsSpec {
        period_us: whole(1e6 / rate_hz, 1.0),
        angle_p_milli: whole(spec.tilt_gain_per_s, 1e3),
        tilt_rate_max_mrad_s: whole(spec.tilt_rate_max_radps, 1e3),
        yaw_rate_max_mrad_s: whole(spec.turn_rate_max_radps, 1e3),
        tilt_d_milli: whole(tilt_d, 1e3),
        tilt: RateGainsSpec { p_milli: whole(tilt_p, 1e3), i_milli: whole(tilt_i, 1e3), ..usual.tilt },
        yaw: RateGainsSpec { p_milli: whole(turn_p, 1e3), i_milli: whole(turn_i, 1e3), ..usual.yaw },
        level_milli: whole(spec.level_gain_per_s, 1e3),
        bias_micro: whole(spec.bias_gain_per_s2, 1e6),
        ..usual
    }
}

/// The gravity the outer loop reckons with; the integral makes up for another.
const GRAVITY_MPS2: f64 = 9.80665;

/// The vertical specific force is held between this share of gravity, so that there is always thrust to tilt…
const LIFT_MIN: f64 = 0.3 * GRAVITY_MPS2;
/// …and this share of the greatest thrust, so that some is left for attitude.
const LIFT_MAX_SHARE: f64 = 0.8;

struct FlightControl {
    spec: FlightControlSpec,
    airframe: Airframe,
    gains: Gains,
    /// The outer loop runs at every so many calls.
    outer_every: u64,
    tilt_max_tan: f64,
    lift_max_mps2: f64,
}

const IMU: usize = 0;
const TRUTH: usize = 1;

/// Integer columns: the inner loop's state, then the setpoint the outer loop left for it.
const INNER: usize = 0;
const INNER_COLUMNS: usize = 11;
const WANTED: usize = INNER + INNER_COLUMNS;
const INTEGERS: usize = WANTED + 4;

impl FlightControl {
    fn new(spec: FlightControlSpec, airframe: Airframe, gains: Gains, rate_hz: f64) -> Self {
        let lift_max_mps2 = LIFT_MAX_SHARE * f64::from(airframe.thrust_max_mn()) * 1e-3 / spec.mass_kg;
        Self {
            outer_every: math::max(1.0, math::round_nearest(rate_hz / spec.outer_rate_hz)) as u64,
            tilt_max_tan: math::tan(spec.tilt_max_deg.to_radians()),
            lift_max_mps2: math::max(lift_max_mps2, LIFT_MIN),
            spec,
            airframe,
            gains,
        }
    }
}

impl Driver for FlightControl {
    fn state(&self) -> &'static [Quantity] {
        const { &[Quantity::many("integral_mps2", 3)] }
    }

    fn integers(&self) -> &'static [Quantity] {
        const {
            &[
                Quantity::many("up_q30", 3),
                Quantity::many("gyro_bias_q30", 3),
                Quantity::many("slow_rate_q24", 2),
                Quantity::many("rate_integral_q24", 3),
                Quantity::one("roll_wanted_e4_rad"),
                Quantity::one("pitch_wanted_e4_rad"),
                Quantity::one("turn_rate_wanted_e4_radps"),
                Quantity::one("thrust_wanted_mn"),
            ]
        }
    }

    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::own(&self.spec.imu, imu::KIND.name), Subscription::own(&self.spec.pose, truth::KIND.name)]
    }

    fn commands(&self) -> &'static [&'static str] {
        &["rotor_speed_radps"]
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, home: Pose) {
        let (roll, pitch, _) = math::rpy_from_quat(home.orientation);
        store_inner(control.integers, lane, State::tilted(e4(roll), e4(pitch)));
        let hover_mn = math::round_nearest(1e3 * self.spec.mass_kg * GRAVITY_MPS2) as i32;
        store_wanted(control.integers, lane, Setpoint { thrust_mn: hover_mn, ..Setpoint::default() });
        control.state.iter_mut().for_each(|column| column[lane] = 0.0);
    }

    fn control(&self, control: &mut Control<'_>) {
        let outer = control.index.is_multiple_of(self.outer_every);
        while let Some(lane) = control.next_lane() {
            let mode = control.mode[lane];
            if mode == setpoint::NONE {
                control.state.iter_mut().for_each(|column| column[lane] = 0.0);
                store_wanted(control.integers, lane, Setpoint::default());
            } else if outer && mode != setpoint::DIRECT {
                self.outer(control, lane);
            }
            self.inner(control, lane, mode == setpoint::DIRECT);
        }
    }
}

/// An angle or rate in the unit of the inner loop's setpoints.
#[inline(always)]
fn e4(rad: f64) -> i32 {
    math::round_nearest(1e4 * rad) as i32
}

#[inline(always)]
fn store_inner(integers: &mut [IntColumn], lane: usize, state: State) {
    for (column, value) in integers[INNER..WANTED].iter_mut().zip(state.to_array()) {
        column[lane] = i64::from(value);
    }
}

#[inline(always)]
fn store_wanted(integers: &mut [IntColumn], lane: usize, wanted: Setpoint) {
    let Setpoint { roll_e4_rad, pitch_e4_rad, yaw_rate_e4_rad_s, thrust_mn } = wanted;
    let values = [roll_e4_rad, pitch_e4_rad, yaw_rate_e4_rad_s, thrust_mn];
    for (column, value) in integers[WANTED..INTEGERS].iter_mut().zip(values) {
        column[lane] = i64::from(value);
    }
}

impl FlightControl {
    /// From the last inertial sample to rotor speeds, in integers.
    #[inline(always)]
    fn inner(&self, control: &mut Control<'_>, lane: usize, direct: bool) {
        let sample = control.reading(IMU, lane);
        if sample.stamp.is_none() {
            return;
        }
        let counts = counts_of(&sample);
        let column = |index: usize| control.integers[index][lane] as i32;
        let mut state = State::from_array(std::array::from_fn(|index| column(INNER + index)));
        if direct {
            state.watch(&self.gains, counts);
        } else {
            let [roll_e4_rad, pitch_e4_rad, yaw_rate_e4_rad_s, thrust_mn] =
                std::array::from_fn(|index| column(WANTED + index));
            let wanted = Setpoint { roll_e4_rad, pitch_e4_rad, yaw_rate_e4_rad_s, thrust_mn };
            let speeds = muster_flight::step(&self.airframe, &self.gains, &mut state, counts, wanted);
            for (input, speed) in control.inputs.iter_mut().zip(speeds) {
                input[lane] = f64::from(speed) * 0.125;
            }
        }
        store_inner(control.integers, lane, state);
    }

    /// From pose and setpoint to the attitude and thrust the inner loop shall hold.
    fn outer(&self, control: &mut Control<'_>, lane: usize) {
        let sample = control.reading(TRUTH, lane);
        if sample.stamp.is_none() {
            return;
        }
        let velocity = sample.vec3(truth::VELOCITY);
        let orientation = sample.quat(truth::ORIENTATION);
        let heading = Heading::of(orientation);
        let setpoint: [f64; 4] = std::array::from_fn(|index| control.setpoint[index][lane]);
        let (wanted, turn_rate) = self.wanted(control.mode[lane], setpoint, sample.vec3(truth::POSITION), heading);

        let error = wanted - velocity;
        let integral: [f64; 3] = std::array::from_fn(|axis| control.state[axis][lane]);
        let asked = self.spec.velocity_gain_per_s * error + DVec3::from(integral);
        let force = self.within_tilt(asked + DVec3::new(0.0, 0.0, GRAVITY_MPS2));
        let gain = self.spec.integral_gain_per_s2 * control.period_s * self.outer_every as f64;
        let limit = self.spec.integral_max_mps2;
        // what is limited does not answer, so its error must not be summed up
        let level_free = force.x == asked.x && force.y == asked.y;
        let lift_free = force.z == asked.z + GRAVITY_MPS2;
        for (axis, free) in [level_free, level_free, lift_free].into_iter().enumerate() {
            let step = if free { gain * error[axis] } else { 0.0 };
            control.state[axis][lane] = math::clamp(integral[axis] + step, -limit, limit);
        }
        store_wanted(control.integers, lane, self.attitude(force, orientation, heading, turn_rate));
    }

    /// The velocity in the world and the turn rate that a setpoint asks for.
    #[inline(always)]
    fn wanted(&self, mode: f64, [a, b, c, d]: [f64; 4], position: DVec3, heading: Heading) -> (DVec3, f64) {
        let (velocity, turn_rate) = if mode == setpoint::POSITION {
            let way = DVec3::new(a, b, c) - position;
            (self.spec.position_gain_per_s * way, self.spec.heading_gain_per_s * heading.to(d))
        } else if mode == setpoint::COURSE {
            let (sin, cos) = math::sin_cos(a);
            let climb = self.spec.position_gain_per_s * (b - position.z);
            (DVec3::new(c * cos, c * sin, climb), self.spec.heading_gain_per_s * heading.to(a))
        } else {
            (heading.to_world(DVec3::new(a, b, c)), d)
        };
        let speed = math::hypot2(velocity.x, velocity.y);
        let share = if speed > self.spec.speed_max_mps { self.spec.speed_max_mps / speed } else { 1.0 };
        let climb = math::clamp(velocity.z, -self.spec.climb_max_mps, self.spec.climb_max_mps);
        (DVec3::new(share * velocity.x, share * velocity.y, climb), turn_rate)
    }

    /// The nearest specific force that the rotors can give and whose tilt is allowed; height comes first.
    #[inline(always)]
    fn within_tilt(&self, force: DVec3) -> DVec3 {
        let lift = math::clamp(force.z, LIFT_MIN, self.lift_max_mps2);
        let (side, side_max) = (math::hypot2(force.x, force.y), lift * self.tilt_max_tan);
        let share = if side > side_max { side_max / side } else { 1.0 };
        DVec3::new(share * force.x, share * force.y, lift)
    }

    /// The attitude whose thrust axis lies along a specific force, with the thrust the present attitude shall have.
    #[inline(always)]
    fn attitude(&self, force: DVec3, orientation: DQuat, heading: Heading, turn_rate: f64) -> Setpoint {
        let forward = heading.cos * force.x + heading.sin * force.y;
        let left = heading.cos * force.y - heading.sin * force.x;
        let up = math::rotate(orientation, DVec3::Z);
        let thrust_mn = math::round_nearest(1e3 * self.spec.mass_kg * force.dot(up)) as i32;
        Setpoint {
            roll_e4_rad: e4(-math::atan2(left, math::hypot2(forward, force.z))),
            pitch_e4_rad: e4(math::atan2(forward, force.z)),
            yaw_rate_e4_rad_s: e4(turn_rate),
            // at nothing the inner loop would give up attitude
            thrust_mn: thrust_mn.max(1),
        }
    }
}

/// A sample in counts of the sensor for which the inner loop is made, ±2000 °/s and ±8 g, which saturates there.
#[inline(always)]
fn counts_of(sample: &Reading<'_>) -> ImuRaw {
    const PER_RADPS: f64 = 16.4 * 180.0 / std::f64::consts::PI;
    const PER_MPS2: f64 = 4096.0 / GRAVITY_MPS2;
    let counts = |first: usize, per_unit: f64| {
        std::array::from_fn(|axis| math::round_nearest(sample.get(first + axis) * per_unit) as i16)
    };
    ImuRaw { gyro: counts(imu::ANGULAR_VELOCITY, PER_RADPS), accel: counts(imu::ACCEL, PER_MPS2) }
}

/// Where the nose points, over ground.
#[derive(Debug, Clone, Copy)]
struct Heading {
    sin: f64,
    cos: f64,
}

impl Heading {
    #[inline(always)]
    fn of(orientation: DQuat) -> Self {
        let DQuat { x, y, z, w } = orientation;
        let (along, across) = (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z));
        let length = math::hypot2(along, across);
        // a nose straight up or down has no heading; east is as good as any
        if length > 1e-9 { Self { sin: across / length, cos: along / length } } else { Self { sin: 0.0, cos: 1.0 } }
    }

    /// The turn from here to another heading, within ±π.
    #[inline(always)]
    fn to(self, heading_rad: f64) -> f64 {
        let (sin, cos) = math::sin_cos(heading_rad);
        math::atan2(self.cos * sin - self.sin * cos, self.cos * cos + self.sin * sin)
    }

    #[inline(always)]
    fn to_world(self, v: DVec3) -> DVec3 {
        DVec3::new(self.cos * v.x - self.sin * v.y, self.sin * v.x + self.cos * v.y, v.z)
    }
}
