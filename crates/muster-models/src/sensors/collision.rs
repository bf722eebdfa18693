//! Collision: whether the robot touched something since the last sample, how many contacts began since the start, and
//! what it touched last: a robot or an obstacle, by the number under which `neighbours` also tells it.
//!
//! It feels contacts of all parts of the robot. A contact counts as begun if the robot touched nothing for two ticks.

use super::build;
use super::neighbours::{OBSTACLE, ROBOT};
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::contact::Other;
use muster_core::lanes::{LANES, Quantity};
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Sensor of collisions.
    pub struct Collision {}
}

/// Sensor of collisions.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "collision",
    doc: "Whether the robot touched something since the last sample, how often, and what: kind (0 robot, 1 obstacle) and id.",
    fields: Collision::FIELDS,
    build: &build::<Collision>,
};

/// What stands for nobody.
const NOBODY: f64 = -1.0;

impl Sensor for Collision {
    fn fields(&self) -> &'static [Quantity] {
        const {
            &[
                Quantity::one("touching"),
                Quantity::one("contacts"),
                Quantity::one("last_s"),
                Quantity::one("kind"),
                Quantity::one("id"),
            ]
        }
    }

    fn default_rate_hz(&self) -> f64 {
        50.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }

    fn feels_contacts(&self) -> bool {
        true
    }
}

impl Feel for Collision {
    fn start(&self, _: &mut Measure<'_>, _: usize) {}

    fn measure(&self, measure: &mut Measure<'_>) {
        let (contacts, now_ns) = (measure.contacts, measure.time.ns() as i64);
        let before_ns = now_ns - (measure.period_s * 1e9) as i64;
        for lane in 0..measure.lanes.min(LANES) {
            let last_ns = contacts.last_ns[lane];
            let touching = last_ns >= 0 && last_ns > before_ns;
            let with = contacts.with.and_then(|codes| Other::from_code(codes[lane]));
            let (kind, id) = match with {
                Some(Other::Robot(number)) => (ROBOT, f64::from(number)),
                Some(Other::Obstacle(index)) => (OBSTACLE, f64::from(index)),
                None => (NOBODY, NOBODY),
            };
            let last_s = if last_ns < 0 { NOBODY } else { last_ns as f64 * 1e-9 };
            let sample = [f64::from(u8::from(touching)), contacts.begun[lane] as f64, last_s, kind, id];
            for (column, value) in measure.sample.iter_mut().zip(sample) {
                column[lane] = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::*;

    #[test]
    fn a_contact_is_felt_until_the_sample_after_it_and_its_partner_is_remembered() {
        let sensor = Collision {};
        let mut bench = Bench::new(&sensor, 50.0);
        bench.index = 5;
        let mut felt = |begun: i64, last_ms: i64, with: i64| {
            bench.contacts = [[begun; LANES], [last_ms * 1_000_000; LANES], [with; LANES]];
            bench.measure(&sensor);
            [0, 1, 3, 4].map(|field| bench.sample[field][3])
        };
        assert_eq!(felt(0, -1, -1), [0.0, 0.0, -1.0, -1.0], "nothing so far");
        // at 120 ms, after the sample at 100 ms
        assert_eq!(felt(1, 101, 2 * 7), [1.0, 1.0, ROBOT, 7.0]);
        assert_eq!(felt(1, 101, 2 * 7), [0.0, 1.0, ROBOT, 7.0]);
        assert_eq!(felt(2, 160, 2 * 3 + 1), [1.0, 2.0, OBSTACLE, 3.0]);
    }
}
