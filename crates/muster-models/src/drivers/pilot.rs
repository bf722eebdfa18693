//! How a robot is steered to a place: what the drivers that know where to go have in common.

use super::status;
use glam::DVec3;
use muster_core::choice;
use muster_core::component::{Control, Pose, orders};
use muster_core::lanes::setpoint;
use muster_core::math;

choice! {
    /// Which setpoint is commanded.
    pub enum By {
        /// Velocity in the frame of the heading: turns towards the place and drives (ground robots).
        Velocity = "velocity",
        /// Velocity in any direction, without turning (robots that move sideways).
        Strafe = "strafe",
        /// Velocity along the way from place to place by pure pursuit, never turning on the spot (cars).
        Pursuit = "pursuit",
        /// Position, moved along the way at the given speed (multirotors).
        Position = "position",
        /// Course, altitude and airspeed (aircraft).
        Course = "course"
    }
}

/// How to go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pilot {
    pub(super) by: By,
    pub(super) speed_mps: f64,
    pub(super) tolerance_m: f64,
    pub(super) turn_max_radps: f64,
    pub(super) lookahead_m: f64,
    pub(super) turn_radius_m: f64,
    /// Robots slow down in time to stop with this deceleration; they respond at once if there is none.
    pub(super) brake_mps2: Option<f64>,
}

/// Where to go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leg {
    /// The place.
    pub(super) target: DVec3,
    /// The robot stops there.
    pub(super) last: bool,
    /// It is there.
    pub(super) arrived: bool,
}

impl Pilot {
    /// Whether height matters to what counts as being there.
    pub(super) fn flat(&self) -> bool {
        self.by != By::Position
    }

    /// The speed at a distance from a place to stop at.
    fn speed_at(&self, distance: f64) -> f64 {
        let speed = math::min(self.speed_mps, 0.5 * self.tolerance_m + 1.5 * distance);
        self.brake_mps2.map_or(speed, |brake| math::min(speed, (2.0 * brake * distance).sqrt()))
    }

    /// Commands a robot to stay where it is. `carrot` is the position it was told last.
    pub(super) fn hold(&self, control: &mut Control<'_>, lane: usize, here: Pose, carrot: DVec3) {
        match self.by {
            By::Velocity | By::Strafe | By::Pursuit => control.command(lane, setpoint::VELOCITY, [0.0; 4]),
            By::Position => control.command(lane, setpoint::POSITION, [carrot.x, carrot.y, carrot.z, 0.0]),
            By::Course => {
                let course = math::yaw_from_quat(here.orientation);
                let altitude = here.position_m.z;
                control.command(lane, setpoint::COURSE, [course, altitude, self.speed_mps, 0.0]);
            }
        }
    }

    /// Does what an order says of the status, in the integer column `status`, and of the position the robot was told
    /// last, in the columns from `carrot` on. Any order that stops nothing begins a way where the robot is.
    pub(super) fn obey(&self, control: &mut Control<'_>, lane: usize, order: &str, (status, carrot): (usize, usize)) {
        let reading = control.reading(0, lane);
        let (sampled, position_m, orientation) = (reading.stamp.is_some(), reading.vec3(0), reading.quat(3));
        let now = control.integers[status][lane];
        control.integers[status][lane] = match order {
            orders::YIELD => status::PREEMPTED,
            orders::STOP => status::STOPPED,
            orders::RESUME if now == status::ARRIVED => status::ARRIVED,
            _ => status::TRANSIT,
        };
        if order == orders::YIELD {
            return;
        }
        if order != orders::STOP && sampled {
            let columns = control.state[carrot..].iter_mut().zip(position_m.to_array());
            columns.for_each(|(column, value)| column[lane] = value);
        }
        let told = DVec3::from_array(std::array::from_fn(|axis| control.state[carrot + axis][lane]));
        let here = Pose { position_m: if sampled { position_m } else { told }, orientation };
        self.hold(control, lane, here, told);
    }

    /// Commands a robot to go on towards a place. `carrot` is the position it was told last, or where its way to this
    /// place began; returns the next.
    pub(super) fn head_for(
        &self,
        control: &mut Control<'_>,
        lane: usize,
        here: Pose,
        leg: Leg,
        carrot: DVec3,
    ) -> DVec3 {
        let target = leg.target;
        let way = target - here.position_m;
        let yaw = math::yaw_from_quat(here.orientation);
        let bearing = math::atan2(way.y, way.x);
        match self.by {
            By::Velocity | By::Pursuit if leg.arrived => control.command(lane, setpoint::VELOCITY, [0.0; 4]),
            By::Velocity => {
                let [speed, turn] = self.towards(way, yaw);
                control.command(lane, setpoint::VELOCITY, [speed, 0.0, 0.0, turn]);
            }
            By::Strafe => {
                let speed = math::min(self.speed_mps, 1.5 * way.length());
                let velocity = way.normalize_or_zero() * speed;
                let (sin, cos) = math::sin_cos(yaw);
                let forward = velocity.x * cos + velocity.y * sin;
                let left = velocity.y * cos - velocity.x * sin;
                control.command(lane, setpoint::VELOCITY, [forward, left, velocity.z, 0.0]);
            }
            By::Pursuit => {
                let ([speed, turn], start) = self.pursue(here.position_m, yaw, leg, carrot);
                control.command(lane, setpoint::VELOCITY, [speed, 0.0, 0.0, turn]);
                return start;
            }
            By::Position => {
                let rest = target - carrot;
                let step = self.speed_mps * control.period_s;
                let carrot = carrot + if rest.length() <= step { rest } else { rest * (step / rest.length()) };
                control.command(lane, setpoint::POSITION, [carrot.x, carrot.y, carrot.z, 0.0]);
                return carrot;
            }
            By::Course => {
                control.command(lane, setpoint::COURSE, [bearing, target.z, self.speed_mps, 0.0]);
            }
        }
        carrot
    }

    /// Speed and turn rate of a robot that turns towards a place and goes, given the way there and its heading.
    pub(super) fn towards(&self, way: DVec3, yaw: f64) -> [f64; 2] {
        let off = math::wrap_angle(math::atan2(way.y, way.x) - yaw);
        let distance = math::hypot2(way.x, way.y);
        let turn = math::clamp(2.5 * off, -self.turn_max_radps, self.turn_max_radps);
        // drives only as far as it looks where it goes, and slows down before the place
        let ahead = math::max(0.0, math::cos(off));
        [self.speed_at(distance) * ahead * ahead, turn]
    }

    /// Speed and turn rate of pure pursuit (R. C. Coulter, *Implementation of the pure pursuit path tracking algorithm*,
    /// CMU-RI-TR-92-01): the arc through a point of the straight way that lies ahead, of curvature `2 y/d²` for a point
    /// at distance d, y to the side. What lies behind, or inside of the tightest turn, is turned to as far as the radius
    /// allows, in the second case by turning away first, as the shortest way of bounded curvature does; the straight way
    /// then begins where that ends. Returns where it begins, too.
    fn pursue(&self, here: DVec3, yaw: f64, leg: Leg, start: DVec3) -> ([f64; 2], DVec3) {
        let (sin, cos) = math::sin_cos(yaw);
        // ahead and to the left of the robot
        let seen = |point: DVec3| {
            let way = point - here;
            (way.x * cos + way.y * sin, way.y * cos - way.x * sin)
        };
        let (along, across) = seen(leg.target);
        let distance = math::hypot2(along, across);
        let radius = math::max(self.turn_radius_m, self.speed_mps / math::max(self.turn_max_radps, 1e-9));
        let tightest = 1.0 / math::max(radius, 1e-9);

        let path = (leg.target - start).truncate();
        let length = math::max(path.length(), 1e-9);
        let passed = (here - start).truncate().dot(path) / length;
        let at = math::clamp(passed + self.lookahead_m, 0.0, length) / length;
        let (ahead, aside) = seen(start + (leg.target - start) * at);
        let square = math::max(ahead * ahead + aside * aside, 1e-12);
        let curve = if ahead > 0.0 { 2.0 * aside / square } else { tightest.copysign(aside) };
        let side = 1.0_f64.copysign(across);
        let inside = math::hypot2(along, across - side * radius) < radius - self.tolerance_m;
        let curve = if inside { -side * tightest } else { curve };
        let speed = if leg.last { self.speed_at(distance) } else { self.speed_mps };
        let start = if inside { here } else { start };
        ([speed, speed * math::clamp(curve, -tightest, tightest)], start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pilot(turn_radius_m: f64) -> Pilot {
        Pilot {
            by: By::Pursuit,
            speed_mps: 1.0,
            tolerance_m: 0.2,
            turn_max_radps: 2.0,
            lookahead_m: 1.0,
            turn_radius_m,
            brake_mps2: None,
        }
    }

    /// Follows the commands exactly; the closest it comes to the place, and how long it drives until it is there.
    fn drive(pilot: &Pilot, target: DVec3) -> (f64, Option<f64>) {
        let (mut here, mut start, mut yaw, mut closest) = (DVec3::ZERO, DVec3::ZERO, 0.0_f64, f64::INFINITY);
        let leg = Leg { target, last: false, arrived: false };
        for step in 0..20_000 {
            let ([speed, turn], from) = pilot.pursue(here, yaw, leg, start);
            start = from;
            assert!((turn / speed).abs() <= 1.0 / pilot.turn_radius_m + 1e-9);
            here += 0.01 * speed * DVec3::new(yaw.cos(), yaw.sin(), 0.0);
            yaw += 0.01 * turn;
            closest = closest.min((target - here).length());
            if closest < pilot.tolerance_m {
                return (closest, Some(0.01 * f64::from(step)));
            }
        }
        (closest, None)
    }

    #[test]
    fn an_arc_is_the_one_through_the_point() {
        let leg = Leg { target: DVec3::new(10.0, 0.0, 0.0), last: false, arrived: false };
        // half a metre to the right of the way, looking along it: the point is 1 m ahead
        let ([speed, turn], _) = pilot(0.1).pursue(DVec3::new(2.0, -0.5, 0.0), 0.0, leg, DVec3::ZERO);
        assert!((turn / speed - 2.0 * 0.5 / 1.25).abs() < 1e-12);
    }

    #[test]
    fn places_all_around_are_reached_with_a_bounded_radius() {
        for degrees in (0..360).step_by(15) {
            for distance in [0.5, 2.0, 5.0, 20.0] {
                let (sine, cosine) = f64::from(degrees).to_radians().sin_cos();
                let target = distance * DVec3::new(cosine, sine, 0.0);
                let (closest, time) = drive(&pilot(3.0), target);
                // once around either circle and straight on is long enough for anything
                let longest = distance + 2.0 * std::f64::consts::TAU * 3.0;
                assert!(time.is_some_and(|time| time < longest), "{target}: {closest} m, {time:?}");
            }
        }
    }
}
