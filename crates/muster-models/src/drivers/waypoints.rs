//! Waypoints: goes from place to place and says when it has arrived. It reads a pose sensor (`pose`, any sensor whose
//! sample begins with position and orientation) and commands velocity, course or position setpoints, so it drives
//! every robot whose motion or controller follows setpoints.

use super::status;
use glam::DVec3;
use muster_core::component::{Control, Driver, Kind, Pose, Reading, Subscription};
use muster_core::lanes::{Quantity, setpoint};
use muster_core::spec::Spec;
use muster_core::{choice, math, spec};
use std::sync::Arc;

choice! {
    /// Which setpoint is commanded.
    pub enum By {
        /// Velocity in the frame of the heading: turns towards the place and drives (ground robots).
        Velocity = "velocity",
        /// Velocity in any direction, without turning (robots that move sideways).
        Strafe = "strafe",
        /// Position, moved along the way at the given speed (multirotors).
        Position = "position",
        /// Course, altitude and airspeed (aircraft).
        Course = "course"
    }
}

spec! {
    /// Parameters of the waypoints driver.
    pub struct WaypointsSpec {
        /// The places, in order; x, y, z, or x, y at any height (aircraft: the one they started at). None: stay.
        points_m: Vec<Vec<f64>> = Vec::new();
        /// Places are relative to where the robot started.
        relative: bool = false;
        /// Start again at the first place after the last.
        loop_forever: bool = false;
        /// Speed on the way.
        speed_mps: f64 = 1.0, in 0.0..=1000.0;
        /// A place is reached within this distance (horizontally for x, y places and for aircraft).
        tolerance_m: f64 = 0.2, in 0.000001..=100000;
        /// Largest turn rate.
        turn_max_radps: f64 = 1.5, in 0.0..=100.0;
        /// Which setpoint is commanded.
        by: By = By::Velocity;
        /// Name of the sensor that gives the pose.
        pose: String = "truth".to_owned();
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "waypoints",
    doc: "Goes from place to place and says when it has arrived (status: transit, arrived, stopped).",
    fields: WaypointsSpec::FIELDS,
    build: |node, path, also, problems| {
        let spec = <WaypointsSpec as Spec>::read(node, path, also, problems)?;
        for (at, point) in spec.points_m.iter().enumerate() {
            if !(2..=3).contains(&point.len()) {
                let place = node.get("points_m").map_or(node.place, |points| points.place);
                let path = format!("{path}.points_m[{at}]");
                problems.error(place, &path, format!("{} coordinates", point.len()), "x, y or x, y, z");
                return None;
            }
        }
        Some(Arc::new(Waypoints { spec }))
    },
};

struct Waypoints {
    spec: WaypointsSpec,
}

const HOME: usize = 0;
const CARROT: usize = 3;
const STATUS: usize = 0;
const NEXT: usize = 1;

impl Driver for Waypoints {
    fn state(&self) -> &'static [Quantity] {
        const { &[Quantity::many("home_m", 3), Quantity::many("carrot_m", 3)] }
    }

    fn integers(&self) -> &'static [Quantity] {
        const { &[Quantity::one("status"), Quantity::one("next")] }
    }

    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::own(&self.spec.pose, "")]
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, home: Pose) {
        for (axis, value) in home.position_m.to_array().into_iter().enumerate() {
            control.state[HOME + axis][lane] = value;
            control.state[CARROT + axis][lane] = value;
        }
        control.integers[STATUS][lane] = if self.spec.points_m.is_empty() { status::ARRIVED } else { status::TRANSIT };
        control.integers[NEXT][lane] = 0;
    }

    fn control(&self, control: &mut Control<'_>) {
        while let Some(lane) = control.next_lane() {
            let pose = control.reading(0, lane);
            let home = column3(control.state, HOME, lane);
            let here = match pose.stamp {
                Some(_) => pose_of(&pose),
                None => Pose { position_m: home, orientation: glam::DQuat::IDENTITY },
            };
            if pose.stamp.is_none() || control.integers[STATUS][lane] == status::STOPPED {
                self.hold(control, lane, here);
                continue;
            }
            let (target, flat) = self.target(control.integers[NEXT][lane] as usize, home, here.position_m);
            let mut way = target - here.position_m;
            if flat || self.spec.by == By::Course {
                way.z = 0.0;
            }
            if way.length() <= self.spec.tolerance_m {
                self.reached(control, lane);
            }
            let (target, _) = self.target(control.integers[NEXT][lane] as usize, home, here.position_m);
            self.head_for(control, lane, here, target);
        }
    }
}

fn pose_of(reading: &Reading<'_>) -> Pose {
    Pose { position_m: reading.vec3(0), orientation: reading.quat(3) }
}

fn column3(columns: &[muster_core::lanes::Column], first: usize, lane: usize) -> DVec3 {
    DVec3::new(columns[first][lane], columns[first + 1][lane], columns[first + 2][lane])
}

impl Waypoints {
    /// The place with a number, and whether its height does not matter.
    fn target(&self, number: usize, home: DVec3, here: DVec3) -> (DVec3, bool) {
        let Some(point) = self.spec.points_m.get(number.min(self.spec.points_m.len().saturating_sub(1))) else {
            return (home, false);
        };
        let base = if self.spec.relative { home } else { DVec3::ZERO };
        match *point.as_slice() {
            [x, y, z] => (base + DVec3::new(x, y, z), false),
            // an aircraft told to fly where it is would drift away in height
            [x, y] => {
                let z = if self.spec.by == By::Course { home.z } else { here.z };
                (DVec3::new(base.x + x, base.y + y, z), true)
            }
            _ => (home, false),
        }
    }

    fn reached(&self, control: &mut Control<'_>, lane: usize) {
        let next = control.integers[NEXT][lane] + 1;
        if next < self.spec.points_m.len() as i64 {
            control.integers[NEXT][lane] = next;
        } else if self.spec.loop_forever {
            control.integers[NEXT][lane] = 0;
        } else {
            control.integers[STATUS][lane] = status::ARRIVED;
        }
    }

    fn hold(&self, control: &mut Control<'_>, lane: usize, here: Pose) {
        match self.spec.by {
            By::Velocity | By::Strafe => control.command(lane, setpoint::VELOCITY, [0.0; 4]),
            By::Position => {
                let carrot = column3(control.state, CARROT, lane);
                control.command(lane, setpoint::POSITION, [carrot.x, carrot.y, carrot.z, 0.0]);
            }
            By::Course => {
                let course = math::yaw_from_quat(here.orientation);
                let altitude = here.position_m.z;
                control.command(lane, setpoint::COURSE, [course, altitude, self.spec.speed_mps, 0.0]);
            }
        }
    }

    fn head_for(&self, control: &mut Control<'_>, lane: usize, here: Pose, target: DVec3) {
        let way = target - here.position_m;
        let yaw = math::yaw_from_quat(here.orientation);
        let bearing = math::atan2(way.y, way.x);
        let off = math::wrap_angle(bearing - yaw);
        let arrived = control.integers[STATUS][lane] == status::ARRIVED;
        match self.spec.by {
            By::Velocity if arrived => control.command(lane, setpoint::VELOCITY, [0.0; 4]),
            By::Velocity => {
                let distance = math::hypot2(way.x, way.y);
                let turn = math::clamp(2.5 * off, -self.spec.turn_max_radps, self.spec.turn_max_radps);
                // drives only as far as it looks where it goes, and slows down before the place
                let ahead = math::max(0.0, math::cos(off));
                let speed =
                    math::min(self.spec.speed_mps, 0.5 * self.spec.tolerance_m + 1.5 * distance) * ahead * ahead;
                control.command(lane, setpoint::VELOCITY, [speed, 0.0, 0.0, turn]);
            }
            By::Strafe => {
                let speed = math::min(self.spec.speed_mps, 1.5 * way.length());
                let velocity = way.normalize_or_zero() * speed;
                let (sin, cos) = math::sin_cos(yaw);
                let forward = velocity.x * cos + velocity.y * sin;
                let left = velocity.y * cos - velocity.x * sin;
                control.command(lane, setpoint::VELOCITY, [forward, left, velocity.z, 0.0]);
            }
            By::Position => {
                let mut carrot = column3(control.state, CARROT, lane);
                let rest = target - carrot;
                let step = self.spec.speed_mps * control.period_s;
                carrot += if rest.length() <= step { rest } else { rest * (step / rest.length()) };
                for (axis, value) in carrot.to_array().into_iter().enumerate() {
                    control.state[CARROT + axis][lane] = value;
                }
                control.command(lane, setpoint::POSITION, [carrot.x, carrot.y, carrot.z, 0.0]);
            }
            By::Course => {
                control.command(lane, setpoint::COURSE, [bearing, target.z, self.spec.speed_mps, 0.0]);
            }
        }
    }
}
