//! Flight control of quadrotors, in two loops. The outer loop, in floating point and at a divided rate, takes pose and
//! velocity from `truth`, as a motion capture system would give them, and turns a setpoint into an attitude and a
//! thrust. The inner loop is [`muster_flight::step_lanes`]: integers only, from raw counts of the `imu` and nothing else, the
//! code and gains that fly on a microcontroller.
//!
//! Guidance gives a specific force f; the attitude has its thrust axis along it, and the thrust is `m f · ẑ_body`, so a
//! body not yet tilted does not climb.
//!
//! Setpoints: none stops the rotors; velocity, position and attitude as in [`setpoint`]; course is flown as a velocity
//! over ground with the nose along it; direct leaves the inputs alone, only the estimate of attitude goes on. The
//! airframe must be that of the motion; the defaults are those of an AscTec Hummingbird, which is also the motion's
//! default.
//!
//! As on a real vehicle a gyroscope's bias is learnt while standing: a robot whose sensor is off by more than about
//! 0.03 rad/s should start on the ground and wait there for a second without a setpoint. Less is overcome in the air.

use super::guidance::{self, Fix, GRAVITY_MPS2, Guidance, LIFT_MIN};
use super::heading::Heading;
use crate::sensors::{imu, truth};
use muster_core::component::{Control, Driver, Kind, Pose, Reading, Subscription};
use muster_core::lanes::{Column, IntColumn, LANE_STEP, LANES, Quantity, body, setpoint};
use muster_core::math;
use muster_core::node::{Node, Problems, Value};
use muster_core::spec;
use muster_core::spec::{Spec, below};
use muster_flight::{
    Airframe, AirframeSpec, Gains, GainsSpec, ImuRaw, Inputs, OutOfRange, RateGainsSpec, Setpoint, State,
};
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
        /// Holds the place where it starts until something else is commanded; else the rotors stop.
        hold_at_start: bool = true;
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
    doc: "Flies a quadrotor to setpoints: an outer loop from truth, and an integer inner loop from the IMU.",
    fields: FlightControlSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <FlightControlSpec as Spec>::read(node, path, also, problems)?;
        let rate_hz = rate_of(node, path, problems)?;
        let airframe = within_range(Airframe::new(airframe_of(&spec)), node, path, problems)?;
        let gains = within_range(Gains::new(gains_of(&spec, rate_hz)), node, path, problems)?;
        Some(Arc::new(FlightControl::new(spec, airframe, gains, rate_hz)))
    },
};

/// The rates for which the inner loop's arithmetic is made.
const RATE_HZ: std::ops::RangeInclusive<f64> = 200.0..=2000.0;

/// The rate if the scenario gives none.
const DEFAULT_RATE_HZ: f64 = 500.0;

/// The driver's `rate_hz`, on which the gains of the inner loop depend.
fn rate_of(node: &Node, path: &str, problems: &mut Problems) -> Option<f64> {
    let (rate_hz, place) = match node.get("rate_hz").map(|rate| (&rate.value, rate.place)) {
        Some((&Value::Number(hz), place)) => (Some(hz), place),
        Some((&Value::Integer(hz), place)) => (Some(hz as f64), place),
        Some((_, place)) => (None, place),
        None => (Some(DEFAULT_RATE_HZ), node.place),
    };
    let within = rate_hz.filter(|rate_hz| RATE_HZ.contains(rate_hz));
    if within.is_none() {
        let found = rate_hz.map_or_else(|| "something else".to_owned(), |hz| hz.to_string());
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

/// The vertical specific force is held below this share of the greatest thrust, so that some is left for attitude.
const LIFT_MAX_SHARE: f64 = 0.8;

struct FlightControl {
    spec: FlightControlSpec,
    airframe: Airframe,
    gains: Gains,
    /// The outer loop runs at every so many calls.
    outer_every: u64,
    outer: Outer,
}

/// The outer loop: what its kernel needs of the specification.
#[derive(Clone, Copy)]
struct Outer {
    mass_kg: f64,
    guidance: Guidance,
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
        let lift_max = LIFT_MAX_SHARE * f64::from(airframe.thrust_max_mn()) * 1e-3 / spec.mass_kg;
        let outer_every = math::max(1.0, math::round_nearest(rate_hz / spec.outer_rate_hz));
        let guidance = Guidance {
            position_gain: spec.position_gain_per_s,
            velocity_gain: spec.velocity_gain_per_s,
            integral_step: spec.integral_gain_per_s2 * (outer_every / rate_hz),
            integral_max: spec.integral_max_mps2,
            heading_gain: spec.heading_gain_per_s,
            speed_max: spec.speed_max_mps,
            climb_max: spec.climb_max_mps,
            tilt_max_tan: math::tan(spec.tilt_max_deg.to_radians()),
            lift_max: math::max(lift_max, LIFT_MIN),
        };
        let outer = Outer { mass_kg: spec.mass_kg, guidance };
        Self { outer_every: outer_every as u64, outer, spec, airframe, gains }
    }
}

impl Driver for FlightControl {
    fn default_rate_hz(&self) -> f64 {
        DEFAULT_RATE_HZ
    }

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
        if self.spec.hold_at_start {
            let (place, yaw) = (home.position_m, math::yaw_from_quat(home.orientation));
            control.command(lane, setpoint::POSITION, [place.x, place.y, place.z, yaw]);
        }
    }

    fn control(&self, control: &mut Control<'_>) {
        let outer = control.index.is_multiple_of(self.outer_every);
        let (mut guided, mut flown) = (0, 0);
        while let Some(lane) = control.next_lane() {
            let mode = control.mode[lane];
            if mode == setpoint::NONE {
                control.state.iter_mut().for_each(|column| column[lane] = 0.0);
                store_wanted(control.integers, lane, Setpoint::default());
            } else if outer && mode != setpoint::DIRECT && control.reading(TRUTH, lane).stamp.is_some() {
                guided |= 1 << lane;
            }
            if control.reading(IMU, lane).stamp.is_none() {
                continue;
            }
            if mode == setpoint::DIRECT {
                self.watch(control, lane);
            } else {
                flown |= 1 << lane;
            }
        }
        if guided != 0 {
            self.guide(control, guided);
        }
        if flown != 0 {
            self.fly(control, flown);
        }
    }
}

/// Lanes up to the last one of these, without empty places in registers.
fn lanes_of(chosen: u32) -> usize {
    ((u32::BITS - chosen.leading_zeros()) as usize).next_multiple_of(LANE_STEP).min(LANES)
}

/// All bits of the lanes in `chosen`, none of the others.
fn mask_of(chosen: u32) -> IntColumn {
    std::array::from_fn(|lane| -i64::from(chosen >> lane & 1))
}

/// The first columns of a sample, of the lanes in `chosen` at least.
fn sample_of<const N: usize>(control: &Control<'_>, index: usize, chosen: u32) -> [Column; N] {
    let own = control.own_columns(index).and_then(|columns| columns.first_chunk());
    own.copied().unwrap_or_else(|| {
        let mut sample = [[0.0; LANES]; N];
        for lane in (0..LANES).filter(|lane| chosen >> lane & 1 == 1) {
            let reading = control.reading(index, lane);
            sample.iter_mut().enumerate().for_each(|(field, column)| column[lane] = reading.get(field));
        }
        sample
    })
}

/// `x as i32` of the nearest integer, ties to even, for loops over lanes: adding 1.5·2⁵² rounds, and leaves the integer
/// in the low bits of the sum.
#[inline(always)]
fn nearest_i32(x: f64) -> i32 {
    let x = if x.is_nan() { 0.0 } else { x };
    let bounded = math::clamp(x, f64::from(i32::MIN), f64::from(i32::MAX));
    (bounded + 6_755_399_441_055_744.0).to_bits() as i32
}

/// An angle or rate in the unit of the inner loop's setpoints.
#[inline(always)]
fn e4(rad: f64) -> i32 {
    nearest_i32(1e4 * rad)
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
    /// While others command the rotors, only the estimate goes on.
    fn watch(&self, control: &mut Control<'_>, lane: usize) {
        let counts = counts_of(&control.reading(IMU, lane));
        let mut state = State::from_array(std::array::from_fn(|index| control.integers[INNER + index][lane] as i32));
        state.watch(&self.gains, counts);
        store_inner(control.integers, lane, state);
    }

    /// From the last inertial samples to rotor speeds, in integers.
    fn fly(&self, control: &mut Control<'_>, flown: u32) {
        let sample = sample_of(control, IMU, flown);
        let (mask, lanes) = (mask_of(flown), lanes_of(flown));
        let (integers, inputs) = (control.integers.first_chunk_mut(), control.inputs.first_chunk_mut());
        let (Some(integers), Some(inputs)) = (integers, inputs) else { return };
        control.simd.run(
            #[inline(always)]
            || self.inner(&sample, integers, inputs, (&mask, lanes)),
        );
    }

    #[inline(always)]
    fn inner(
        &self,
        sample: &[Column; 6],
        integers: &mut [IntColumn; INTEGERS],
        rotors: &mut [Column; 4],
        (mask, lanes): (&IntColumn, usize),
    ) {
        let lanes = lanes.min(LANES);
        let mut inputs = Inputs::<LANES>::default();
        let (mut states, mut squares) = ([[0; LANES]; INNER_COLUMNS], [[0; LANES]; 4]);
        let axes = inputs.gyro.iter_mut().zip(&sample[imu::ANGULAR_VELOCITY..]).map(|pair| (pair, PER_RADPS));
        let forces = inputs.accel.iter_mut().zip(&sample[imu::ACCEL..]).map(|pair| (pair, PER_MPS2));
        for ((counts, values), per_unit) in axes.chain(forces) {
            for lane in 0..lanes {
                counts[lane] = nearest_i32(values[lane] * per_unit);
            }
        }
        let columns = states.iter_mut().chain(&mut inputs.setpoint);
        for (column, kept) in columns.zip(&*integers) {
            for lane in 0..lanes {
                column[lane] = kept[lane] as i32;
            }
        }
        muster_flight::step_lanes(&self.airframe, &self.gains, &mut states, &inputs, &mut squares, lanes);
        for (kept, column) in integers.iter_mut().zip(&states) {
            for lane in 0..lanes {
                kept[lane] = (i64::from(column[lane]) & mask[lane]) | (kept[lane] & !mask[lane]);
            }
        }
        for (rotor, square) in rotors.iter_mut().zip(&squares) {
            for lane in 0..lanes {
                // the root of an integer is correctly rounded, so it is not rounded up to the next one
                let speed = math::floor(f64::from(square[lane]).sqrt()) * 0.125;
                rotor[lane] = if mask[lane] == 0 { rotor[lane] } else { speed };
            }
        }
    }

    /// From poses and setpoints to the attitudes and thrusts the inner loop shall hold.
    fn guide(&self, control: &mut Control<'_>, guided: u32) {
        let sample = sample_of(control, TRUTH, guided);
        let (outer, lanes) = (self.outer, lanes_of(guided));
        let (Some(asked), Some(state)) = (control.setpoint.first_chunk(), control.state.first_chunk_mut()) else {
            return;
        };
        let (asked, mode, mut integral) = (*asked, *control.mode, *state);
        let mut wanted = [[0; LANES]; 4];
        control.simd.run(
            #[inline(always)]
            || outer.guide(&sample, (&mode, &asked), &mut integral, &mut wanted, lanes),
        );
        for lane in (0..LANES).filter(|lane| guided >> lane & 1 == 1) {
            for (column, fresh) in state.iter_mut().zip(&integral) {
                column[lane] = fresh[lane];
            }
            for (column, fresh) in control.integers[WANTED..].iter_mut().zip(&wanted) {
                column[lane] = i64::from(fresh[lane]);
            }
        }
    }
}

impl Outer {
    /// The new integrals, and what the inner loop shall hold: the fields of its setpoint, in their order.
    #[inline(always)]
    fn guide(
        self,
        sample: &[Column; truth::ANGULAR_VELOCITY],
        (mode, asked): (&Column, &[Column; 4]),
        integral: &mut [Column; 3],
        wanted: &mut [[i32; LANES]; 4],
        lanes: usize,
    ) {
        for lane in 0..lanes.min(LANES) {
            let orientation = body::orientation(sample, lane);
            let heading = Heading::of(orientation);
            let setpoint = [asked[0][lane], asked[1][lane], asked[2][lane], asked[3][lane]];
            let (position, velocity) =
                (body::vec3(sample, truth::POSITION, lane), body::vec3(sample, truth::VELOCITY, lane));
            let fix = Fix { position, velocity, heading };
            let lead = self.guidance.lead(mode[lane], setpoint, &fix, body::vec3(integral, 0, lane));
            let tilt = guidance::tilt_along(lead.force, heading);
            let thrust_mn = 1e3 * self.mass_kg * lead.force.dot(guidance::up(orientation));

            let by_attitude = mode[lane] == setpoint::ATTITUDE;
            let either = |ordered: f64, found: f64| if by_attitude { ordered } else { found };
            integral[0][lane] = either(integral[0][lane], lead.integral.x);
            integral[1][lane] = either(integral[1][lane], lead.integral.y);
            integral[2][lane] = either(integral[2][lane], lead.integral.z);
            wanted[0][lane] = e4(either(setpoint[0], tilt[0]));
            wanted[1][lane] = e4(either(setpoint[1], tilt[1]));
            wanted[2][lane] = e4(either(setpoint[2], lead.turn_rate));
            // at nothing the inner loop would give up attitude
            wanted[3][lane] = nearest_i32(either(1e3 * setpoint[3], thrust_mn)).max(1);
        }
    }
}

/// Counts of the sensor for which the inner loop is made, ±2000 °/s and ±8 g, which saturates there.
const PER_RADPS: f64 = 16.4 * 180.0 / std::f64::consts::PI;
const PER_MPS2: f64 = 4096.0 / GRAVITY_MPS2;

/// A sample in counts.
fn counts_of(sample: &Reading<'_>) -> ImuRaw {
    let counts = |first: usize, per_unit: f64| {
        std::array::from_fn(|axis| math::round_nearest(sample.get(first + axis) * per_unit) as i16)
    };
    ImuRaw { gyro: counts(imu::ANGULAR_VELOCITY, PER_RADPS), accel: counts(imu::ACCEL, PER_MPS2) }
}
