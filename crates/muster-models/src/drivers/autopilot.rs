//! Autopilot of a small aircraft by successive loop closure, after R. W. Beard and T. W. McLain, *Small Unmanned
//! Aircraft: Theory and Practice* (2012), chapter 6, and their orbits of chapter 10:
//!
//! ```text
//! course   -> turn rate -> roll -> aileron         yaw rate -> rudder (damper)
//! altitude -> climb rate -> pitch -> elevator      airspeed -> thrust -> throttle
//! ```
//!
//! Gains follow from a frequency and a damping for each loop and from the coefficients of the aircraft at the design
//! airspeed; surfaces are scaled to the dynamic pressure that is flown. What the model tells beforehand (angle of
//! attack and elevator for speed and bank, thrust for drag and climb) is fed forward, so the integrators only hold what
//! the model does not know. They stand still while their loop is at a limit.
//!
//! | setpoint   | what is flown |
//! |------------|---------------|
//! | `none`     | the course and altitude it started with, or had when nothing was commanded any more; design airspeed |
//! | `velocity` | forward as airspeed, up as climb rate, turn rate; nothing sideways |
//! | `position` | towards x, y at altitude z and then around it on a circle; design airspeed |
//! | `course`   | course, altitude, airspeed |
//! | `direct`   | inputs are left as they are |
//!
//! A course is the direction of motion over ground as an angle from east, counter-clockwise, like yaw. Airspeeds are
//! flown within limits, and below the least one height is given up for speed. Pose and velocity come from a sensor of
//! kind `truth` on the body's origin, airspeed from a pitot tube; until both have measured, inputs stay as they are.
//! Inside, roll, pitch and rates are the book's: right wing down, nose up, nose to the right.

mod gains;
mod law;

use crate::motions::fixed_wing::FixedWingSpec;
use crate::sensors::{airspeed, truth};
use gains::Gains;
use law::{Flight, Memory, Order};
use muster_core::component::{Control, Driver, Kind, Pose, Subscription};
use muster_core::lanes::{Column, LANE_STEP, LANES, Quantity, body, setpoint};
use muster_core::spec::Spec;
use muster_core::{math, spec};
use std::sync::Arc;

spec! {
    /// Parameters of the autopilot. The defaults suit the Aerosonde.
    pub struct AutopilotSpec {
        /// Name of the sensor that gives position, attitude, velocity and rates.
        truth: String = "truth".to_owned();
        /// Name of the sensor that gives the airspeed.
        airspeed: String = "airspeed".to_owned();
        /// The aircraft gains are computed for, as its motion describes it; the Aerosonde if none.
        aircraft: Option<FixedWingSpec>;
        /// Airspeed gains are computed for, and that is flown if none is commanded.
        airspeed_mps: f64 = 25.0, in 1.0..=1000.0;
        /// Least airspeed that is flown; below it height is given up for speed.
        airspeed_min_mps: f64 = 16.0, in 1.0..=1000.0;
        /// Greatest airspeed that is flown.
        airspeed_max_mps: f64 = 40.0, in 1.0..=1000.0;
        /// Greatest rate of climb and descent.
        climb_max_mps: f64 = 5.0, in 0.1..=100.0;
        /// Greatest roll.
        roll_max_rad: f64 = 0.8, in 0.1..=1.4;
        /// Greatest pitch up and down.
        pitch_max_rad: f64 = 0.5, in 0.1..=1.4;
        /// Natural frequency of the roll loop.
        roll_radps: f64 = 6.0, in 0.1..=100.0;
        /// Damping of the roll loop.
        roll_damping: f64 = 1.0, in 0.1..=10.0;
        /// Gain from yaw rate to yaw acceleration.
        yaw_damper_per_s: f64 = 2.0, in 0.0..=100.0;
        /// Natural frequency of the course loop.
        course_radps: f64 = 0.25, in 0.01..=100.0;
        /// Damping of the course loop.
        course_damping: f64 = 1.5, in 0.1..=10.0;
        /// Natural frequency of the pitch loop.
        pitch_radps: f64 = 8.0, in 0.1..=100.0;
        /// Damping of the pitch loop.
        pitch_damping: f64 = 0.8, in 0.1..=10.0;
        /// Natural frequency of the altitude loop.
        altitude_radps: f64 = 0.2, in 0.01..=100.0;
        /// Damping of the altitude loop.
        altitude_damping: f64 = 1.5, in 0.1..=10.0;
        /// Natural frequency of the airspeed loop.
        airspeed_radps: f64 = 0.4, in 0.01..=100.0;
        /// Damping of the airspeed loop.
        airspeed_damping: f64 = 1.2, in 0.1..=10.0;
        /// Radius of the circle around a position.
        loiter_radius_m: f64 = 100.0, in 1.0..=100000;
        /// Circle clockwise, seen from above.
        loiter_clockwise: bool = false;
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "autopilot",
    doc: "Controller of a small aircraft: course, altitude and airspeed, circles around positions, climb and turn rates.",
    fields: AutopilotSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <AutopilotSpec as Spec>::read(node, path, also, problems)?;
        match Gains::new(&spec) {
            Ok(gains) => Some(Arc::new(Autopilot { spec, gains })),
            Err((found, expected)) => {
                problems.error(node.place, path, found, expected);
                None
            }
        }
    },
};

struct Autopilot {
    spec: AutopilotSpec,
    gains: Gains,
}

const HELD_COURSE: usize = 0;
const HELD_ALTITUDE: usize = 1;
const TURN_TRIM: usize = 2;
const CLIMB_TRIM: usize = 3;
const THRUST_TRIM: usize = 4;
const MEMORY: usize = 5;
const MODE: usize = 0;

/// What a call works on, apart from the columns of the world, because a loop over one block becomes vector code: the
/// truth, the airspeed, the order, the memory and the inputs.
type Block = [Column; INPUTS + 4];

const AIRSPEED: usize = truth::ANGULAR_VELOCITY + 3;
const ORDER_MODE: usize = AIRSPEED + 1;
const ORDER: usize = ORDER_MODE + 1;
const HELD: usize = ORDER + 4;
const INPUTS: usize = HELD + MEMORY;

impl Driver for Autopilot {
    fn default_rate_hz(&self) -> f64 {
        100.0
    }

    fn state(&self) -> &'static [Quantity] {
        const {
            &[
                Quantity::one("held_course_rad"),
                Quantity::one("held_altitude_m"),
                Quantity::one("turn_trim_radps"),
                Quantity::one("climb_trim_mps"),
                Quantity::one("thrust_trim_mps2"),
            ]
        }
    }

    fn integers(&self) -> &'static [Quantity] {
        const { &[Quantity::one("mode")] }
    }

    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::own(&self.spec.truth, "truth"), Subscription::own(&self.spec.airspeed, "airspeed")]
    }

    fn commands(&self) -> &'static [&'static str] {
        const { &["elevator_rad", "aileron_rad", "rudder_rad", "throttle"] }
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, home: Pose) {
        control.state[HELD_COURSE][lane] = math::yaw_from_quat(home.orientation);
        control.state[HELD_ALTITUDE][lane] = home.position_m.z;
        for trim in [TURN_TRIM, CLIMB_TRIM, THRUST_TRIM] {
            control.state[trim][lane] = 0.0;
        }
        control.integers[MODE][lane] = setpoint::NONE as i64;
    }

    fn control(&self, control: &mut Control<'_>) {
        let mut block: Block = [[0.0; LANES]; INPUTS + 4];
        let flown = gather(control, &mut block);
        let (gains, period_s) = (self.gains, control.period_s);
        let lanes = (u32::BITS - flown.leading_zeros()).next_multiple_of(LANE_STEP as u32) as usize;
        control.simd.run(
            #[inline(always)]
            || kernel(&mut block, lanes, &gains, period_s),
        );
        for lane in (0..LANES).filter(|lane| flown & (1 << lane) != 0) {
            for (column, fresh) in control.state.iter_mut().zip(&block[HELD..INPUTS]) {
                column[lane] = fresh[lane];
            }
            for (column, fresh) in control.inputs.iter_mut().zip(&block[INPUTS..]) {
                column[lane] = fresh[lane];
            }
        }
    }
}

/// Collects what is sensed, ordered and remembered in all lanes that are flown, and tells which these are. What a lane
/// holds is taken anew where its mode has changed.
fn gather(control: &mut Control<'_>, block: &mut Block) -> u32 {
    let mut flown = 0;
    while let Some(lane) = control.next_lane() {
        let mode = control.mode[lane];
        let entered = control.integers[MODE][lane] != mode as i64;
        control.integers[MODE][lane] = mode as i64;
        let (truth, air) = (control.reading(0, lane), control.reading(1, lane));
        if truth.stamp.is_none() || air.stamp.is_none() || mode == setpoint::DIRECT {
            continue;
        }
        flown |= 1 << lane;
        for (index, column) in block[..AIRSPEED].iter_mut().enumerate() {
            column[lane] = truth.get(index);
        }
        block[AIRSPEED][lane] = air.get(airspeed::AIRSPEED);
        block[ORDER_MODE][lane] = mode;
        for (column, value) in block[ORDER..HELD].iter_mut().zip(&*control.setpoint) {
            column[lane] = value[lane];
        }
        for (column, value) in block[HELD..INPUTS].iter_mut().zip(&*control.state) {
            column[lane] = value[lane];
        }
        if entered {
            let velocity = body::vec3(block, truth::VELOCITY, lane);
            block[HELD + HELD_COURSE][lane] = math::atan2(velocity.y, velocity.x);
            block[HELD + HELD_ALTITUDE][lane] = block[truth::POSITION + 2][lane];
        }
    }
    flown
}

/// One call for all lanes.
#[inline(always)]
fn kernel(block: &mut Block, lanes: usize, gains: &Gains, period_s: f64) {
    for lane in 0..lanes.min(LANES) {
        let flight = Flight::new(
            body::vec3(block, truth::POSITION, lane),
            body::orientation(block, lane),
            body::vec3(block, truth::VELOCITY, lane),
            body::vec3(block, truth::ANGULAR_VELOCITY, lane),
            block[AIRSPEED][lane],
        );
        let values = [block[ORDER][lane], block[ORDER + 1][lane], block[ORDER + 2][lane], block[ORDER + 3][lane]];
        let order = Order { mode: block[ORDER_MODE][lane], values };
        let before = Memory {
            course_rad: block[HELD + HELD_COURSE][lane],
            altitude_m: block[HELD + HELD_ALTITUDE][lane],
            turn_trim_radps: block[HELD + TURN_TRIM][lane],
            climb_trim_mps: block[HELD + CLIMB_TRIM][lane],
            thrust_trim_mps2: block[HELD + THRUST_TRIM][lane],
        };
        let ([elevator, aileron, rudder, throttle], after) = law::fly(&flight, &order, &before, (gains, period_s));
        block[HELD + HELD_COURSE][lane] = after.course_rad;
        block[HELD + HELD_ALTITUDE][lane] = after.altitude_m;
        block[HELD + TURN_TRIM][lane] = after.turn_trim_radps;
        block[HELD + CLIMB_TRIM][lane] = after.climb_trim_mps;
        block[HELD + THRUST_TRIM][lane] = after.thrust_trim_mps2;
        block[INPUTS][lane] = elevator;
        block[INPUTS + 1][lane] = aileron;
        block[INPUTS + 2][lane] = rudder;
        block[INPUTS + 3][lane] = throttle;
    }
}
