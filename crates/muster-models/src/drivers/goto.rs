//! Goto: goes to one place, which may change at any time, and says when it has arrived. The place is given in the
//! scenario, or while it runs as a position setpoint or in the property `driver.destination_m`; so a destination is
//! commanded alike to robots that follow positions themselves and to those that follow velocities only. Speed and
//! tolerance are properties too.
//!
//! It reads a pose sensor (`pose`, any sensor whose sample begins with position and orientation) and steers as
//! [`waypoints`](super::waypoints) does. Heights count only if positions are commanded.

use super::pilot::{By, Leg, Pilot};
use super::status;
use glam::DVec3;
use muster_core::component::{Control, Driver, Kind, Order, Pose, Subscription, orders};
use muster_core::lanes::{Column, Quantity, setpoint};
use muster_core::spec;
use muster_core::spec::Spec;
use std::sync::Arc;

spec! {
    /// Parameters of the goto driver.
    pub struct GotoSpec {
        /// The first place; where the robot starts if not written.
        to_m: Option<[f64; 3]>;
        /// Speed on the way.
        speed_mps: f64 = 1.0, in 0.0..=1000.0;
        /// The place is reached within this distance.
        tolerance_m: f64 = 0.5, in 0.000001..=100000;
        /// Slows down in time to stop with this deceleration.
        brake_mps2: f64 = 0.5, in 0.001..=1e6;
        /// Largest turn rate.
        turn_max_radps: f64 = 1.5, in 0.0..=100.0;
        /// Which setpoint is commanded; cars and other steered vehicles need `pursuit`.
        by: By = By::Velocity;
        /// By pursuit: how far ahead on the way the point is that is steered for.
        lookahead_m: f64 = 1.0, in 0.001..=100000;
        /// By pursuit: radius of the tightest turn asked for.
        turn_radius_m: f64 = 0.0, in 0.0..=100000;
        /// Name of the sensor that gives the pose.
        pose: String = "truth".to_owned();
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "goto",
    doc: "Goes to a place, told in the scenario or while it runs (status: transit, arrived, stopped, preempted).",
    fields: GotoSpec::FIELDS,
    build: &|node, path, also, problems| {
        Some(Arc::new(Goto { spec: <GotoSpec as Spec>::read(node, path, also, problems)? }))
    },
};

struct Goto {
    spec: GotoSpec,
}

const DESTINATION: usize = 0;
/// The destination the robot is on its way to: another one in the property is news.
const KNOWN: usize = 3;
const CARROT: usize = 6;
const SPEED: usize = 9;
const TOLERANCE: usize = 10;
const STATUS: usize = 0;

fn get3(columns: &[Column], first: usize, lane: usize) -> DVec3 {
    DVec3::new(columns[first][lane], columns[first + 1][lane], columns[first + 2][lane])
}

fn set3(columns: &mut [Column], first: usize, lane: usize, value: DVec3) {
    for (column, value) in columns[first..].iter_mut().zip(value.to_array()) {
        column[lane] = value;
    }
}

impl Driver for Goto {
    fn turns_in_place(&self) -> bool {
        self.spec.by == By::Velocity
    }

    fn speed_asked_mps(&self) -> Option<f64> {
        Some(self.spec.speed_mps)
    }

    fn state(&self) -> &'static [Quantity] {
        const {
            &[
                Quantity::many("destination_m", 3),
                Quantity::many("known_m", 3),
                Quantity::many("carrot_m", 3),
                Quantity::one("speed_mps"),
                Quantity::one("tolerance_m"),
            ]
        }
    }

    fn integers(&self) -> &'static [Quantity] {
        const { &[Quantity::one("status")] }
    }

    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::own(&self.spec.pose, "")]
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, home: Pose) {
        let destination = self.spec.to_m.map_or(home.position_m, DVec3::from);
        set3(control.state, DESTINATION, lane, destination);
        set3(control.state, KNOWN, lane, destination);
        set3(control.state, CARROT, lane, home.position_m);
        control.state[SPEED][lane] = self.spec.speed_mps;
        control.state[TOLERANCE][lane] = self.spec.tolerance_m;
        control.integers[STATUS][lane] = if self.spec.to_m.is_some() { status::TRANSIT } else { status::ARRIVED };
    }

    fn control(&self, control: &mut Control<'_>) {
        while let Some(lane) = control.next_lane() {
            let reading = control.reading(0, lane);
            let (sampled, here) =
                (reading.stamp.is_some(), Pose { position_m: reading.vec3(0), orientation: reading.quat(3) });
            self.listen(control, lane, here);
            let pilot = self.pilot(control, lane);
            let carrot = get3(control.state, CARROT, lane);
            if !sampled || control.integers[STATUS][lane] == status::STOPPED {
                pilot.hold(control, lane, here, carrot);
                continue;
            }
            let target = get3(control.state, DESTINATION, lane);
            let mut way = target - here.position_m;
            if pilot.flat() {
                way.z = 0.0;
            }
            if way.length() <= pilot.tolerance_m {
                control.integers[STATUS][lane] = status::ARRIVED;
            }
            let leg = Leg { target, last: true, arrived: control.integers[STATUS][lane] == status::ARRIVED };
            let carrot = pilot.head_for(control, lane, here, leg, carrot);
            set3(control.state, CARROT, lane, carrot);
        }
    }

    fn orders(&self) -> &'static [&'static str] {
        &["goto", orders::STOP, orders::RESUME, orders::YIELD]
    }

    fn order(&self, control: &mut Control<'_>, lane: usize, order: &Order<'_>) -> Result<(), String> {
        if let ("goto", [x, y, z, tolerance_m, speed_mps]) = (order.name, order.numbers) {
            let destination = DVec3::new(*x, *y, *z);
            set3(control.state, DESTINATION, lane, destination);
            set3(control.state, KNOWN, lane, destination);
            for (column, value) in [(TOLERANCE, *tolerance_m), (SPEED, *speed_mps)] {
                control.state[column][lane] = if value.is_finite() { value } else { control.state[column][lane] };
            }
        }
        let pilot = self.pilot(control, lane);
        pilot.obey(control, lane, order.name, (STATUS, CARROT));
        Ok(())
    }
}

impl Goto {
    /// Takes up a new destination, from a setpoint or from the property.
    fn listen(&self, control: &mut Control<'_>, lane: usize, here: Pose) {
        let told = get3(control.setpoint, 0, lane);
        // what this driver commanded itself is no news
        let own = self.spec.by == By::Position && told == get3(control.state, CARROT, lane);
        if control.mode[lane] == setpoint::POSITION && !own {
            set3(control.state, DESTINATION, lane, told);
        }
        let destination = get3(control.state, DESTINATION, lane);
        if destination != get3(control.state, KNOWN, lane) {
            set3(control.state, KNOWN, lane, destination);
            set3(control.state, CARROT, lane, here.position_m);
            control.integers[STATUS][lane] = status::TRANSIT;
        }
    }

    fn pilot(&self, control: &Control<'_>, lane: usize) -> Pilot {
        Pilot {
            by: self.spec.by,
            speed_mps: control.state[SPEED][lane],
            tolerance_m: control.state[TOLERANCE][lane],
            turn_max_radps: self.spec.turn_max_radps,
            lookahead_m: self.spec.lookahead_m,
            turn_radius_m: self.spec.turn_radius_m,
            brake_mps2: Some(self.spec.brake_mps2),
        }
    }
}
