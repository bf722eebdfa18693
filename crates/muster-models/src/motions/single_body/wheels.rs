//! Wheels on springs, for a [`super::SingleBody`] that drives.
//!
//! Each wheel hangs on a spring and damper along the body's z axis and feels the ground below it by one ray. The tyre is
//! a brush with a lag (H. B. Pacejka, *Tire and Vehicle Dynamics*, 3rd ed., sections 3.2 and 7.2): its tread is bent by
//! the velocity with which the wheel slips and carried out of the contact by rolling,
//!
//! ```text
//! u' = s - |ω r| u/σ        f = C u/σ        F = f (1 - q + q²/3), q = |f|/(3 µ N), at most µ N
//! ```
//!
//! so that in steady rolling the force is C times the slip while that is small, turns smoothly into sliding at µ N, and
//! at rest the tread holds the vehicle on a slope without creeping. Longitudinal and lateral slip share the friction.
//!
//! Steering follows Ackermann's geometry about the line of the wheels that are not steered; without steered wheels the
//! two sides are driven at different speeds.

use super::{Held, SingleBodySpec, Wrench};
use glam::DVec3;
use muster_core::component::Tick;
use muster_core::contact::Obstacle;
use muster_core::lanes::{Column, Quantity, body, setpoint};
use muster_core::math;
use muster_core::shape::Shape;
use muster_core::spec;

spec! {
    /// A wheel on a spring. Stiffness that is not given follows from the load of the wheel at rest.
    pub struct WheelSpec {
        /// Its name, for encoders.
        name: String;
        /// Where its axle is while the spring is at rest: forward, left, up from the body's origin.
        at_m: [f64; 3];
        /// Radius.
        radius_m: f64 = 0.3, in 1e-3..=10.0;
        /// Mass.
        mass_kg: f64 = 5.0, in 1e-4..=1e5;
        /// True if it turns with the steering.
        steered: bool = false;
        /// True if the drive turns it.
        driven: bool = true;
        /// Stiffness of the spring; so that it yields by a third of its travel at rest if none is given.
        spring_npm: Option<f64>, in 1.0..=1e9;
        /// Damping of the spring; half of the critical if none is given.
        damper_nspm: Option<f64>, in 0.0..=1e8;
        /// How far the spring yields.
        travel_m: f64 = 0.15, in 1e-4..=10.0;
        /// Lateral force per slip angle; twelve times the load if none is given.
        cornering_npr: Option<f64>, in 1.0..=1e9;
        /// Longitudinal force per slip; as much as the lateral if none is given.
        slip_stiffness_n: Option<f64>, in 1.0..=1e9;
        /// How far it rolls until a slip has its effect; half of its radius if none is given.
        relaxation_m: Option<f64>, in 1e-4..=10.0;
        /// Coefficient of friction of its tyre; that of a pair is the geometric mean.
        friction: f64 = 1.0, in 0.0..=10.0;
        /// Resistance to rolling as a share of the load.
        rolling_resistance: f64 = 0.01, in 0.0..=1.0;
    }
}

impl WheelSpec {
    /// Moment of inertia about its axle: between a disc and a hoop.
    pub(super) fn inertia_kgm2(&self) -> f64 {
        0.75 * self.mass_kg * self.radius_m * self.radius_m
    }
}

pub(super) const INPUTS: [Quantity; 3] =
    [Quantity::one("steer_rad"), Quantity::one("drive_nm"), Quantity::one("brake_nm")];

/// Columns of each wheel's state, after the steering angle; all wheels of one quantity together.
const SPIN: usize = 0;
const ANGLE: usize = 1;
const TRAVEL: usize = 2;
const TREAD_X: usize = 3;
const TREAD_Y: usize = 4;

/// Where a vehicle with so many wheels keeps the angle of one of them, counted from its first column.
pub(super) fn angle_column(wheels: usize, number: usize) -> usize {
    1 + ANGLE * wheels + number
}

#[derive(Debug, Clone, Copy)]
struct Wheel {
    at_m: DVec3,
    radius_m: f64,
    per_inertia: f64,
    steered: bool,
    driven: bool,
    spring_npm: f64,
    damper_nspm: f64,
    travel_m: f64,
    /// Force per bend of the tread, along and across, N/m.
    tread_npm: [f64; 2],
    /// Damping of the tread at rest, Ns/m.
    tread_nspm: f64,
    per_relaxation: f64,
    friction: f64,
    rolling_resistance: f64,
}

/// The wheels of a vehicle and what drives them.
#[derive(Debug, Clone)]
pub struct Vehicle {
    wheels: Vec<Wheel>,
    /// From the line of the wheels that are not steered to those that are, m; 0 if none is.
    base_m: f64,
    /// Where that line is, m forward of the body's origin.
    line_m: f64,
    steer_max_rad: f64,
    steer_rate_max_radps: f64,
    drive_max_nm: f64,
    brake_max_nm: f64,
    /// Torque of a driven wheel per difference from the speed it should have, Nms.
    speed_gain_nms: f64,
    driven: f64,
}

/// What the wheels should do in this tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct Command {
    steer_rad: f64,
    drive_nm: f64,
    brake_nm: f64,
    /// Speed and turn rate the wheels should have, instead of torques.
    speed: Option<(f64, f64)>,
}

/// Below this speed of rolling the tread is damped, m/s.
const DAMPED_BELOW_MPS: f64 = 0.1;
/// A spring that has yielded all its travel is so many times stiffer.
const STOP_STIFFNESS: f64 = 10.0;
const GRAVITY_MPS2: f64 = 9.80665;

impl Vehicle {
    pub(super) fn new(spec: &SingleBodySpec, &(mass_kg, centre_m): &(f64, DVec3)) -> Self {
        let loads = loads_n(&spec.wheels, mass_kg, centre_m);
        let wheels: Vec<Wheel> = spec.wheels.iter().zip(&loads).map(|(wheel, &load)| wheel_of(wheel, load)).collect();
        let mean = |steered: bool| {
            let line: Vec<f64> = wheels.iter().filter(|wheel| wheel.steered == steered).map(|w| w.at_m.x).collect();
            (!line.is_empty()).then(|| line.iter().sum::<f64>() / line.len() as f64)
        };
        let line_m = mean(false).unwrap_or(0.0);
        let base_m = mean(true).map_or(0.0, |front| front - line_m);
        let radius_m = wheels.iter().map(|wheel| wheel.radius_m).fold(0.0, f64::max);
        let driven = wheels.iter().filter(|wheel| wheel.driven).count().max(1) as f64;
        let drive_max_nm = spec.drive_max_nm.unwrap_or(mass_kg * GRAVITY_MPS2 * radius_m);
        Self {
            base_m,
            line_m,
            steer_max_rad: spec.steer_max_deg.to_radians(),
            steer_rate_max_radps: spec.steer_rate_max_degps.to_radians(),
            drive_max_nm,
            brake_max_nm: spec.brake_max_nm.unwrap_or(drive_max_nm),
            // a fifth of a second until the vehicle has the speed of its wheels
            speed_gain_nms: mass_kg * radius_m * radius_m / (driven * 0.2),
            driven,
            wheels,
        }
    }

    pub(super) fn state(&self) -> Vec<Quantity> {
        let count = self.wheels.len();
        vec![
            Quantity::one("steer_rad"),
            Quantity::many("wheel_radps", count),
            Quantity::many("wheel_angle_rad", count),
            Quantity::many("wheel_travel_m", count),
            Quantity::many("tread_along_m", count),
            Quantity::many("tread_across_m", count),
        ]
    }

    pub(super) fn start(&self, state: &mut [Column], lane: usize, forward_mps: f64) {
        state[..1 + 5 * self.wheels.len()].iter_mut().for_each(|column| column[lane] = 0.0);
        for (number, wheel) in self.wheels.iter().enumerate() {
            state[self.column(SPIN, number)][lane] = forward_mps / wheel.radius_m;
        }
    }

    fn column(&self, quantity: usize, wheel: usize) -> usize {
        1 + quantity * self.wheels.len() + wheel
    }

    /// What setpoint or inputs ask of the wheels. `first` is the column of the first input.
    pub(super) fn command(&self, columns: &[Column], lane: usize, first: usize) -> Command {
        let mode = columns[body::SETPOINT_MODE][lane];
        let asked = |at: usize| columns[body::SETPOINT + at][lane];
        let bounded = |value: f64, most: f64| math::clamp(value, -most, most);
        let radius_m = self.wheels[0].radius_m;
        if mode == setpoint::VELOCITY {
            let (speed, turn) = (asked(0), asked(3));
            // below walking pace the steering is that of walking pace, so that it does not jump
            let pace = if speed < 0.0 { math::min(speed, -0.2) } else { math::max(speed, 0.2) };
            let steer_rad = bounded(math::atan(self.base_m * turn / pace), self.steer_max_rad);
            return Command { steer_rad, drive_nm: 0.0, brake_nm: 0.0, speed: Some((speed, turn)) };
        }
        let (steer, drive, brake) = if mode == setpoint::STEER_FORCE {
            (asked(0), asked(1) * radius_m, asked(2) * radius_m)
        } else if mode == setpoint::DIRECT {
            (columns[first][lane], columns[first + 1][lane], columns[first + 2][lane])
        } else {
            (0.0, 0.0, self.brake_max_nm)
        };
        Command {
            steer_rad: bounded(steer, self.steer_max_rad),
            drive_nm: bounded(drive, self.drive_max_nm),
            brake_nm: math::clamp(brake, 0.0, self.brake_max_nm),
            speed: None,
        }
    }

    /// Turns the wheels on by one tick; what they do to the body.
    pub(super) fn roll(
        &self,
        state: &mut [Column],
        (lane, command): (usize, &Command),
        held: &Held,
        tick: &Tick<'_>,
    ) -> Wrench {
        let step = self.steer_rate_max_radps * tick.dt_s;
        let steer = state[0][lane] + math::clamp(command.steer_rad - state[0][lane], -step, step);
        state[0][lane] = steer;
        // curvature of the path of the line of wheels that are not steered
        let bend = if self.base_m == 0.0 { 0.0 } else { math::tan(steer) / self.base_m };
        let mut wrench = Wrench::default();
        for number in 0..self.wheels.len() {
            let pushed = self.roll_one(state, (lane, number), (command, bend), held, tick);
            wrench.force_n += pushed.force_n;
            wrench.torque_nm += pushed.torque_nm;
        }
        wrench
    }

    fn roll_one(
        &self,
        state: &mut [Column],
        (lane, number): (usize, usize),
        (command, bend): (&Command, f64),
        held: &Held,
        tick: &Tick<'_>,
    ) -> Wrench {
        let wheel = &self.wheels[number];
        let dt = tick.dt_s;
        let mut columns = [SPIN, ANGLE, TRAVEL, TREAD_X, TREAD_Y].map(|quantity| self.column(quantity, number));
        let mut values = columns.map(|column| state[column][lane]);
        let touch = wheel.ground(held, tick, lane);
        let [spin, angle, travel, along, across] = &mut values;
        let mut wrench = Wrench::default();
        let mut resistance_nm = 0.0;
        let mut reaction_nm = 0.0;
        if let Some(touch) = touch {
            let forward = self.heading(wheel, bend, held, touch.normal);
            let left = touch.normal.cross(forward);
            let velocity = held.velocity_at(touch.point_m) - touch.belt_mps;
            let load = wheel.load_n(&touch, velocity);
            let most = load * touch.friction;
            let rolling = (*spin * wheel.radius_m).abs();
            let slip = [velocity.dot(forward) - *spin * wheel.radius_m, velocity.dot(left)];
            let force = wheel.tread([along, across], slip, rolling, most, dt);
            wrench.force_n = touch.normal * load + forward * force[0] + left * force[1];
            wrench.torque_nm = (touch.point_m - held.position_m - held.arm_m).cross(wrench.force_n);
            reaction_nm = -force[0] * wheel.radius_m;
            resistance_nm = wheel.rolling_resistance * load * wheel.radius_m;
            *travel = touch.yield_m;
        } else {
            (*travel, *along, *across) = (0.0, 0.0, 0.0);
        }
        let (drive_nm, brake_nm) = self.torques(wheel, command, *spin);
        let turned = *spin + (drive_nm + reaction_nm) * wheel.per_inertia * dt;
        let braked = (brake_nm + resistance_nm) * wheel.per_inertia * dt;
        *spin = turned - math::clamp(turned, -braked, braked);
        *angle += *spin * dt;
        columns.iter_mut().zip(values).for_each(|(column, value)| state[*column][lane] = value);
        wrench
    }

    /// Where a wheel rolls to, along the ground.
    fn heading(&self, wheel: &Wheel, bend: f64, held: &Held, normal: DVec3) -> DVec3 {
        let steered = if wheel.steered {
            DVec3::new(1.0 - wheel.at_m.y * bend, (wheel.at_m.x - self.line_m) * bend, 0.0)
        } else {
            DVec3::X
        };
        let forward = held.orientation * steered;
        (forward - normal * forward.dot(normal)).normalize_or(held.orientation * DVec3::X)
    }

    /// Torque of the drive and of the brake on one wheel.
    fn torques(&self, wheel: &Wheel, command: &Command, spin: f64) -> (f64, f64) {
        let brake_nm = command.brake_nm / self.wheels.len() as f64;
        if !wheel.driven {
            return (0.0, brake_nm);
        }
        let share_nm = self.drive_max_nm / self.driven;
        match command.speed {
            None => (command.drive_nm / self.driven, brake_nm),
            Some((speed, turn)) => {
                // the inner wheels of a curve are slower
                let wanted = (speed - turn * wheel.at_m.y) / wheel.radius_m;
                (math::clamp(self.speed_gain_nms * (wanted - spin), -share_nm, share_nm), 0.0)
            }
        }
    }
}

/// The load of each wheel at rest on level ground: the loads of least squares that balance weight and moments.
fn loads_n(wheels: &[WheelSpec], mass_kg: f64, centre_m: DVec3) -> Vec<f64> {
    let count = wheels.len() as f64;
    let weight_n = mass_kg * GRAVITY_MPS2;
    let arms: Vec<DVec3> = wheels.iter().map(|wheel| DVec3::from(wheel.at_m) - centre_m).collect();
    let mean = arms.iter().fold(DVec3::ZERO, |sum, arm| sum + *arm) / count;
    let square = |axis: fn(&DVec3) -> f64| arms.iter().map(|arm| (axis(arm) - axis(&mean)).powi(2)).sum::<f64>();
    let (xx, yy) = (square(|arm| arm.x).max(1e-9), square(|arm| arm.y).max(1e-9));
    let share = |arm: &DVec3| 1.0 / count - mean.x * (arm.x - mean.x) / xx - mean.y * (arm.y - mean.y) / yy;
    arms.iter().map(|arm| (weight_n * share(arm)).max(0.05 * weight_n / count)).collect()
}

fn wheel_of(spec: &WheelSpec, load_n: f64) -> Wheel {
    let spring_npm = spec.spring_npm.unwrap_or(3.0 * load_n / spec.travel_m);
    let carried_kg = load_n / GRAVITY_MPS2;
    let relaxation_m = spec.relaxation_m.unwrap_or(0.5 * spec.radius_m);
    let cornering_n = spec.cornering_npr.unwrap_or(12.0 * load_n);
    let tread_npm = [spec.slip_stiffness_n.unwrap_or(cornering_n), cornering_n].map(|stiff| stiff / relaxation_m);
    Wheel {
        at_m: DVec3::from(spec.at_m),
        radius_m: spec.radius_m,
        per_inertia: 1.0 / spec.inertia_kgm2(),
        steered: spec.steered,
        driven: spec.driven,
        spring_npm,
        damper_nspm: spec.damper_nspm.unwrap_or((spring_npm * carried_kg).sqrt()),
        travel_m: spec.travel_m,
        tread_npm,
        tread_nspm: (tread_npm[1] * carried_kg).sqrt(),
        per_relaxation: 1.0 / relaxation_m,
        friction: spec.friction,
        rolling_resistance: spec.rolling_resistance,
    }
}

/// Where a wheel stands.
#[derive(Debug, Clone, Copy)]
struct Ground {
    point_m: DVec3,
    normal: DVec3,
    /// How far the spring yields, m.
    yield_m: f64,
    friction: f64,
    belt_mps: DVec3,
    /// How steeply the spring meets the ground.
    upright: f64,
}

impl Wheel {
    /// The ground below: the nearest obstacle along the spring.
    fn ground(&self, held: &Held, tick: &Tick<'_>, lane: usize) -> Option<Ground> {
        let down = held.orientation * -DVec3::Z;
        let reach_m = self.travel_m + self.radius_m;
        let top_m = held.position_m + held.orientation * self.at_m - down * self.travel_m;
        let mut nearest: Option<(f64, DVec3, &Obstacle)> = None;
        for obstacle in tick.near(lane) {
            let range_m = nearest.map_or(reach_m, |(distance, ..)| distance);
            if let Some((distance_m, normal)) = meet(obstacle, top_m, down, range_m) {
                nearest = Some((distance_m, normal, obstacle));
            }
        }
        let (distance_m, normal, obstacle) = nearest?;
        let upright = -down.dot(normal);
        (upright > 0.05).then(|| Ground {
            point_m: top_m + down * distance_m,
            normal,
            yield_m: reach_m - distance_m,
            friction: (self.friction * obstacle.surface.friction).sqrt(),
            belt_mps: obstacle.pose.orientation * obstacle.belt_mps,
            upright,
        })
    }

    /// Force of spring and damper along the normal of the ground.
    fn load_n(&self, touch: &Ground, velocity_mps: DVec3) -> f64 {
        let closing_mps = -velocity_mps.dot(touch.normal) / touch.upright;
        let beyond_m = math::max(touch.yield_m - self.travel_m, 0.0);
        let spring_n = self.spring_npm * (touch.yield_m + STOP_STIFFNESS * beyond_m);
        math::max(spring_n + self.damper_nspm * closing_mps, 0.0) * touch.upright
    }

    /// Bends the tread by a slip along and across; the force on the body.
    fn tread(&self, bend: [&mut f64; 2], slip: [f64; 2], rolling_mps: f64, most_n: f64, dt: f64) -> [f64; 2] {
        let [along, across] = bend;
        let lost = 1.0 + dt * rolling_mps * self.per_relaxation;
        let bent = [(*along + dt * slip[0]) / lost, (*across + dt * slip[1]) / lost];
        let damping = self.tread_nspm * DAMPED_BELOW_MPS / (DAMPED_BELOW_MPS + rolling_mps);
        let stiff = [bent[0] * self.tread_npm[0], bent[1] * self.tread_npm[1]];
        let asked = [stiff[0] + damping * slip[0], stiff[1] + damping * slip[1]];
        let size = (asked[0] * asked[0] + asked[1] * asked[1]).sqrt();
        let (sliding, q) = (3.0 * most_n, size / math::max(3.0 * most_n, 1e-9));
        // a tread that slides is bent no further
        let share = if size > sliding { sliding / size } else { 1.0 };
        let kept = if q < 1.0 { 1.0 - q + q * q * (1.0 / 3.0) } else { 1.0 / (3.0 * q) };
        (*along, *across) = (bent[0] * share, bent[1] * share);
        [-asked[0] * kept, -asked[1] * kept]
    }
}

/// Where a ray first meets an obstacle, and the normal there.
fn meet(obstacle: &Obstacle, from_m: DVec3, direction: DVec3, range_m: f64) -> Option<(f64, DVec3)> {
    let pose = &obstacle.pose;
    if *obstacle.solid.shape() == Shape::Plane {
        let normal = pose.orientation * DVec3::Z;
        let (height_m, sinking) = (normal.dot(from_m - pose.position_m), -normal.dot(direction));
        let distance_m = if height_m > 0.0 { height_m / math::max(sinking, 1e-12) } else { 0.0 };
        return (sinking > 0.0 && distance_m < range_m).then_some((distance_m, normal));
    }
    let reach_m = obstacle.solid.radius_m() + range_m;
    if (from_m - pose.position_m).length_squared() > reach_m * reach_m {
        return None;
    }
    obstacle.solid.ray(pose, from_m, direction, range_m).map(|hit| (hit.distance_m, hit.normal))
}
