//! Waypoints: goes from place to place and says when it has arrived. It reads a pose sensor (`pose`, any sensor whose
//! sample begins with position and orientation) and commands velocity, course or position setpoints, so it drives
//! every robot whose motion or controller follows setpoints. With `room` for other places, the service `waypoints`
//! gives it a route of its own while it runs; for a single place that is told while it runs see [`goto`](super::goto).

use super::pilot::{Leg, Pilot};
use super::status;
use glam::DVec3;
use muster_core::component::{Control, Driver, Kind, Order, Pose, Reading, Subscription, orders};
use muster_core::lanes::Quantity;
use muster_core::spec;
use muster_core::spec::Spec;
use std::sync::Arc;

pub use super::pilot::By;

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
        /// Which setpoint is commanded; cars and other steered vehicles need `pursuit`.
        by: By = By::Velocity;
        /// By pursuit: how far ahead on the way the point is that is steered for.
        lookahead_m: f64 = 1.0, in 0.001..=100000;
        /// By pursuit: radius of the tightest turn asked for.
        turn_radius_m: f64 = 0.0, in 0.0..=100000;
        /// So many places can be told while it runs, by the service `waypoints`.
        room: usize = 0, in 0..=64;
        /// Name of the sensor that gives the pose.
        pose: String = "truth".to_owned();
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "waypoints",
    doc: "Goes from place to place and says when it has arrived (status: transit, arrived, stopped, preempted).",
    fields: WaypointsSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <WaypointsSpec as Spec>::read(node, path, also, problems)?;
        for (at, point) in spec.points_m.iter().enumerate() {
            if !(2..=3).contains(&point.len()) {
                let place = node.get("points_m").map_or(node.place, |points| points.place);
                let path = format!("{path}.points_m[{at}]");
                problems.error(place, &path, format!("{} coordinates", point.len()), "x, y or x, y, z");
                return None;
            }
        }
        Some(Arc::new(Waypoints::new(spec)))
    },
};

struct Waypoints {
    spec: WaypointsSpec,
    reals: Vec<Quantity>,
    integers: Vec<Quantity>,
}

const HOME: usize = 0;
const CARROT: usize = 3;
/// The places that were told, if there is room for any.
const ROUTE: usize = 6;
const STATUS: usize = 0;
const NEXT: usize = 1;
/// How many places were told; 0 for those of the scenario.
const TOLD: usize = 2;

impl Driver for Waypoints {
    fn turns_in_place(&self) -> bool {
        self.spec.by == By::Velocity
    }

    fn speed_asked_mps(&self) -> Option<f64> {
        Some(self.spec.speed_mps)
    }

    fn state(&self) -> &[Quantity] {
        &self.reals
    }

    fn integers(&self) -> &[Quantity] {
        &self.integers
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
            let (pilot, carrot) = (self.pilot(), column3(control.state, CARROT, lane));
            if pose.stamp.is_none() || control.integers[STATUS][lane] == status::STOPPED {
                pilot.hold(control, lane, here, carrot);
                continue;
            }
            let (target, flat) = self.target(control, lane, home, here.position_m);
            let mut way = target - here.position_m;
            if flat || self.spec.by == By::Course {
                way.z = 0.0;
            }
            let reached = way.length() <= self.spec.tolerance_m;
            if reached {
                self.reached(control, lane);
            }
            // a way that is pursued begins at the place before
            let carrot = if reached && self.spec.by == By::Pursuit { target } else { carrot };
            let leg = self.leg(control, lane, home, here.position_m);
            let carrot = pilot.head_for(control, lane, here, leg, carrot);
            for (axis, value) in carrot.to_array().into_iter().enumerate() {
                control.state[CARROT + axis][lane] = value;
            }
        }
    }

    fn orders(&self) -> &'static [&'static str] {
        const ORDERS: &[&str] = &[orders::STOP, orders::RESUME, orders::YIELD, "waypoints"];
        if self.spec.room > 0 { ORDERS } else { &ORDERS[..3] }
    }

    fn order(&self, control: &mut Control<'_>, lane: usize, order: &Order<'_>) -> Result<(), String> {
        if order.name == "waypoints" {
            let (places, room) = (order.numbers.len() / 3, self.spec.room);
            if places > room {
                return Err(format!("found {places} places, expected at most {room} (`room` of the driver)"));
            }
            for (column, value) in control.state[ROUTE..].iter_mut().zip(order.numbers) {
                column[lane] = *value;
            }
            control.integers[TOLD][lane] = places as i64;
            control.integers[NEXT][lane] = 0;
        }
        self.pilot().obey(control, lane, order.name, (STATUS, CARROT));
        Ok(())
    }
}

fn pose_of(reading: &Reading<'_>) -> Pose {
    Pose { position_m: reading.vec3(0), orientation: reading.quat(3) }
}

fn column3(columns: &[muster_core::lanes::Column], first: usize, lane: usize) -> DVec3 {
    DVec3::new(columns[first][lane], columns[first + 1][lane], columns[first + 2][lane])
}

impl Waypoints {
    fn new(spec: WaypointsSpec) -> Self {
        let mut reals = vec![Quantity::many("home_m", 3), Quantity::many("carrot_m", 3)];
        let mut integers = vec![Quantity::one("status"), Quantity::one("next")];
        if spec.room > 0 {
            reals.push(Quantity::many("route_m", 3 * spec.room));
            integers.push(Quantity::one("route_places"));
        }
        Self { spec, reals, integers }
    }

    /// How many places were told.
    fn told(&self, control: &Control<'_>, lane: usize) -> i64 {
        control.integers.get(TOLD).map_or(0, |told| told[lane])
    }

    /// How many places there are.
    fn places(&self, control: &Control<'_>, lane: usize) -> i64 {
        match self.told(control, lane) {
            0 => self.spec.points_m.len() as i64,
            told => told,
        }
    }

    /// The next place, and whether its height does not matter.
    fn target(&self, control: &Control<'_>, lane: usize, home: DVec3, here: DVec3) -> (DVec3, bool) {
        let number = control.integers[NEXT][lane].max(0) as usize;
        match self.told(control, lane).min(self.spec.room as i64) {
            0 => self.written(number, home, here),
            told => {
                let at = ROUTE + 3 * number.min(told as usize - 1);
                (column3(control.state, at, lane), self.pilot().flat())
            }
        }
    }

    /// The place of the scenario with a number, and whether its height does not matter.
    fn written(&self, number: usize, home: DVec3, here: DVec3) -> (DVec3, bool) {
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

    fn pilot(&self) -> Pilot {
        let spec = &self.spec;
        Pilot {
            by: spec.by,
            speed_mps: spec.speed_mps,
            tolerance_m: spec.tolerance_m,
            turn_max_radps: spec.turn_max_radps,
            lookahead_m: spec.lookahead_m,
            turn_radius_m: spec.turn_radius_m,
            brake_mps2: None,
        }
    }

    /// The way to the next place.
    fn leg(&self, control: &Control<'_>, lane: usize, home: DVec3, here: DVec3) -> Leg {
        let next = control.integers[NEXT][lane];
        let (target, _) = self.target(control, lane, home, here);
        let last = next + 1 >= self.places(control, lane) && !self.loops(control, lane);
        Leg { target, last, arrived: control.integers[STATUS][lane] == status::ARRIVED }
    }

    /// Whether it starts again after the last place.
    fn loops(&self, control: &Control<'_>, lane: usize) -> bool {
        self.spec.loop_forever && self.told(control, lane) == 0
    }

    fn reached(&self, control: &mut Control<'_>, lane: usize) {
        let next = control.integers[NEXT][lane] + 1;
        if next < self.places(control, lane) {
            control.integers[NEXT][lane] = next;
        } else if self.loops(control, lane) {
            control.integers[NEXT][lane] = 0;
        } else {
            control.integers[STATUS][lane] = status::ARRIVED;
        }
    }
}
