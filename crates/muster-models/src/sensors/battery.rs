//! Battery: the energy left, drained by what the robot does and filled in zones of purpose `charging`.
//!
//! ```text
//! P = P_idle + k v + P_hover (f/g)^(3/2)      E ← E − (mean of P over the period) Δt + P_charge Δt
//! ```
//!
//! with the speed v and the specific force f = |a − g| that the robot feels. The first two terms suit what rolls: a power
//! in proportion to speed is a constant resistance. The third suits what hovers on its thrust: by momentum theory the
//! induced power of a rotor grows with thrust to the power of 3/2 (G. Leishman, *Principles of Helicopter Aerodynamics*,
//! section 2.2); leave it at 0 for robots that stand on the ground, which feel 1 g without effort. The power is taken as
//! linear between two samples. Losses within the cells, temperature and ageing are not modelled.
//!
//! It is a measuring device: an empty battery stops nobody. Software reads `charge_percent` and acts.

use super::{build, mount_motion};
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::lanes::{LANES, Quantity, body};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Battery.
    pub struct Battery {
        /// Energy when full.
        capacity_wh: f64 = 50.0, in 0.000001..=1e9;
        /// Charge at the start.
        start_percent: f64 = 100.0, in 0.0..=100.0;
        /// Power that is always drawn.
        idle_power_w: f64 = 5.0, in 0.0..=1e9;
        /// Power for each metre a second: a force that resists motion.
        power_w_per_mps: f64 = 0.0, in 0.0..=1e9;
        /// Power of thrust while hovering; grows with the power 3/2 of the specific force.
        hover_power_w: f64 = 0.0, in 0.0..=1e9;
        /// Power that a zone of purpose `charging` gives.
        charge_power_w: f64 = 100.0, in 0.0..=1e9;
    }
}

/// Battery.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "battery",
    doc: "Charge of a battery that is drained by time, speed and thrust, and filled in zones of purpose charging.",
    fields: Battery::FIELDS,
    build: &build::<Battery>,
};

/// What a sample holds.
pub const FIELDS: &[Quantity] =
    &[Quantity::one("charge_percent"), Quantity::one("energy_j"), Quantity::one("power_w"), Quantity::one("charging")];

/// Where the charge is in a sample.
pub const CHARGE: usize = 0;
/// Where the energy left is in a sample.
pub const ENERGY: usize = 1;
/// Where the power drawn by the robot is in a sample, whether it is being charged or not.
pub const POWER: usize = 2;
/// Where it is told whether it is being charged, 1 or 0.
pub const CHARGING: usize = 3;

const STATE: &[Quantity] = &[Quantity::one("energy_j"), Quantity::one("power_w")];

/// The purpose of a zone that fills batteries.
pub const CHARGING_ZONE: &str = "charging";

const J_PER_WH: f64 = 3600.0;

impl Sensor for Battery {
    fn fields(&self) -> &'static [Quantity] {
        FIELDS
    }

    fn default_rate_hz(&self) -> f64 {
        10.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }
}

impl Battery {
    /// What the robot draws now.
    fn power_w(&self, measure: &Measure<'_>, lane: usize) -> f64 {
        let speed_mps = body::vec3(measure.truth, body::VELOCITY, lane).length();
        let gravity_mps2 = measure.environment.gravity_mps2;
        let felt_mps2 = (body::vec3(measure.truth, body::ACCELERATION, lane) - gravity_mps2).length();
        // without gravity there is no hovering to compare with
        let hovers = if gravity_mps2.length() > 0.0 { felt_mps2 / gravity_mps2.length() } else { 0.0 };
        self.idle_power_w + self.power_w_per_mps * speed_mps + self.hover_power_w * hovers * hovers.sqrt()
    }
}

impl Feel for Battery {
    fn state(&self) -> &'static [Quantity] {
        STATE
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        measure.state[0][lane] = 0.01 * self.start_percent * self.capacity_wh * J_PER_WH;
        measure.state[1][lane] = self.power_w(measure, lane);
    }

    fn measure(&self, measure: &mut Measure<'_>) {
        let capacity_j = self.capacity_wh * J_PER_WH;
        let Some(truth) = measure.truth.first_chunk() else { return };
        for lane in 0..measure.lanes.min(LANES) {
            let (position_m, _) = mount_motion(truth, measure.mount.position_m, lane);
            let mut zones = measure.environment.zones.iter();
            let charging = zones.any(|zone| zone.serves(CHARGING_ZONE) && zone.contains(position_m));
            let power_w = self.power_w(measure, lane);
            let drawn_w = 0.5 * (measure.state[1][lane] + power_w);
            let given_w = if charging { self.charge_power_w } else { 0.0 };
            let energy_j = measure.state[0][lane] + (given_w - drawn_w) * measure.period_s;
            let energy_j = math::clamp(energy_j, 0.0, capacity_j);
            (measure.state[0][lane], measure.state[1][lane]) = (energy_j, power_w);
            let told = [100.0 * energy_j / capacity_j, energy_j, power_w, if charging { 1.0 } else { 0.0 }];
            for (column, value) in measure.sample.iter_mut().zip(told) {
                column[lane] = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults};
    use super::*;
    use glam::DVec3;
    use muster_core::component::Pose;
    use muster_core::shape::{Shape, Solid};
    use muster_core::zone::Zone;

    fn run(battery: &Battery, bench: &mut Bench, samples: usize) {
        (0..samples).for_each(|_| bench.measure(battery));
    }

    #[test]
    fn an_hour_at_the_rated_power_empties_it_and_no_further() {
        let battery = Battery { capacity_wh: 5.0, ..defaults() };
        let mut bench = Bench::new(&battery, 1.0);
        bench.start(&battery);
        run(&battery, &mut bench, 1800);
        assert!((bench.sample[CHARGE][0] - 50.0).abs() < 1e-9 && (bench.sample[ENERGY][0] - 9000.0).abs() < 1e-6);
        run(&battery, &mut bench, 2000);
        assert_eq!((bench.sample[CHARGE][0], bench.sample[ENERGY][0], bench.sample[CHARGING][0]), (0.0, 0.0, 0.0));
    }

    #[test]
    fn driving_costs_the_work_against_resistance() {
        // a resistance of 20 N over 0.5 · 2 m/s² · (10 s)² = 100 m is 2000 J, whatever the speed on the way
        let battery = Battery { idle_power_w: 0.0, power_w_per_mps: 20.0, ..defaults() };
        let mut bench = Bench::new(&battery, 10.0);
        bench.start(&battery);
        for sample in 1..=100 {
            bench.truth[body::VELOCITY] = [0.2 * f64::from(sample); LANES];
            bench.measure(&battery);
        }
        assert!((50.0 * 3600.0 - bench.sample[ENERGY][0] - 2000.0).abs() < 1e-6, "{}", bench.sample[ENERGY][0]);
        assert!((bench.sample[POWER][0] - 400.0).abs() < 1e-9);
    }

    #[test]
    fn twice_the_thrust_takes_two_to_the_three_halves_of_the_power() {
        let battery = Battery { idle_power_w: 0.0, hover_power_w: 100.0, ..defaults() };
        let mut bench = Bench::new(&battery, 10.0);
        bench.start(&battery);
        assert!((bench.state[1][0] - 100.0).abs() < 1e-9);
        bench.truth[body::ACCELERATION + 2] = [9.81; LANES];
        bench.measure(&battery);
        assert!((bench.sample[POWER][0] - 100.0 * 8.0_f64.sqrt()).abs() < 1e-9);
        // in free fall nothing carries the robot
        bench.truth[body::ACCELERATION + 2] = [-9.81; LANES];
        bench.measure(&battery);
        assert_eq!(bench.sample[POWER][0], 0.0);
    }

    #[test]
    fn a_charging_zone_fills_it_and_no_other_does() {
        let battery = Battery { start_percent: 10.0, idle_power_w: 10.0, ..defaults() };
        let mut bench = Bench::new(&battery, 1.0);
        let zone = |purpose: &str, x_m: f64| Zone {
            name: String::new(),
            solid: Solid::new(Shape::Sphere { radius_m: 1.0 }).expect("a ball"),
            pose: Pose { position_m: DVec3::new(x_m, 0.0, 0.0), ..Pose::IDENTITY },
            purposes: vec!["rest".to_owned(), purpose.to_owned()],
        };
        bench.environment.zones = vec![zone("loading", 0.0), zone("charging", 10.0)];
        bench.truth[body::POSITION][7] = 10.5;
        bench.start(&battery);
        run(&battery, &mut bench, 100);
        // 90 W net over 100 s into 180 kJ; the others lose 10 W
        assert!((bench.sample[CHARGE][7] - 15.0).abs() < 1e-9 && bench.sample[CHARGING][7] == 1.0);
        assert!((bench.sample[ENERGY][0] - 17_000.0).abs() < 1e-6 && bench.sample[CHARGING][0] == 0.0);
        run(&battery, &mut bench, 3000);
        assert_eq!(bench.sample[CHARGE][7], 100.0);
    }
}
