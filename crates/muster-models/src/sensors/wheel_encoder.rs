//! Wheel encoders: how many marks of its disc each wheel has passed since the start, and the rate that follows from
//! the marks between two samples, as a microcontroller would compute it.
//!
//! Which wheels there are is for the motion to say: `left` and `right` of differential, tracked and balancing robots,
//! `rear_left`, `rear_right`, `front_left` and `front_right` of cars, `wheel0`, `wheel1`… of omnidirectional robots. The
//! angle of most wheels is part of the motion and counted exactly; that of a differential robot is integrated from its
//! wheel speeds between samples by the trapezoidal rule, which is exact but where a ramp begins or ends within.

use muster_core::component::{Feel, Kind, Measure, Sense, Sensor, Turning};
use muster_core::lanes::{LANES, Quantity};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::{Spec, below};
use std::f64::consts::TAU;
use std::sync::Arc;

spec! {
    /// Wheel encoders.
    pub struct WheelEncoder {
        /// One to eight wheels by name: left, right; of cars rear_left, rear_right, front_left, front_right; else wheel0…
        wheels: Vec<String> = vec!["left".to_owned(), "right".to_owned()];
        /// Counts in one turn of a wheel, gears included.
        ticks_per_turn: f64 = 1024.0, in 1.0..=1e9;
    }
}

/// Wheel encoders.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "wheel_encoder",
    doc: "Wheel encoders: counts of each wheel since the start, and the rate by the counts of the last period.",
    fields: WheelEncoder::FIELDS,
    build: &|node, path, also, problems| {
        let sensor = <WheelEncoder as Spec>::read(node, path, also, problems)?;
        if (1..=MOST).contains(&sensor.wheels.len()) {
            return Some(Arc::new(sensor));
        }
        let place = node.get("wheels").map_or(node.place, |wheels| wheels.place);
        let found = format!("{} wheels", sensor.wheels.len());
        problems.error(place, &below(path, "wheels"), found, "one to eight wheels");
        None
    },
};

/// The most wheels of a sensor.
const MOST: usize = 8;

/// What a sample holds, for each number of wheels.
static FIELDS: [[Quantity; 2]; MOST + 1] = {
    let mut table = [[Quantity::one("ticks"), Quantity::one("rate_radps")]; MOST + 1];
    let mut count = 0;
    while count <= MOST {
        table[count][0].len = count;
        table[count][1].len = count;
        count += 1;
    }
    table
};

/// When the last sample was; of each wheel its angle since the start, and what the motion said of it last.
static STATE: [[Quantity; 3]; MOST + 1] = {
    let mut table =
        [[Quantity::one("last_time_s"), Quantity::one("angle_rad"), Quantity::one("last_turning")]; MOST + 1];
    let mut count = 0;
    while count <= MOST {
        table[count][1].len = count;
        table[count][2].len = count;
        count += 1;
    }
    table
};
const LAST_TIME: usize = 0;
const ANGLES: usize = 1;

impl WheelEncoder {
    fn count(&self) -> usize {
        self.wheels.len()
    }

    /// Where the motion keeps the turning of each wheel.
    fn turnings<'a>(&'a self, measure: &Measure<'a>) -> impl Iterator<Item = (usize, Turning)> + use<'a> {
        let wheels = measure.wheels;
        let find = move |name: &String| wheels.iter().find(|wheel| wheel.name == *name);
        let found = self.wheels.iter().enumerate().map(move |(at, name)| (at, find(name)));
        found.filter_map(|(at, wheel)| wheel.map(|wheel| (at, wheel.turning)))
    }
}

impl Sensor for WheelEncoder {
    fn fields(&self) -> &'static [Quantity] {
        &FIELDS[self.count()]
    }

    fn default_rate_hz(&self) -> f64 {
        50.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }

    fn wheels(&self) -> &[String] {
        &self.wheels
    }
}

impl Feel for WheelEncoder {
    fn state(&self) -> &'static [Quantity] {
        &STATE[self.count()]
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        measure.state[LAST_TIME][lane] = measure.time.s();
        for (at, turning) in self.turnings(measure) {
            let (Turning::Angle(column) | Turning::Rate(column)) = turning;
            measure.state[ANGLES + at][lane] = 0.0;
            measure.state[ANGLES + self.count() + at][lane] = measure.truth[column][lane];
        }
    }

    fn measure(&self, measure: &mut Measure<'_>) {
        let (lanes, now_s) = (measure.lanes.min(LANES), measure.time.s());
        let per_rad = self.ticks_per_turn / TAU;
        for (at, turning) in self.turnings(measure) {
            let (angle, last) = (ANGLES + at, ANGLES + self.count() + at);
            for lane in 0..lanes {
                let passed_s = now_s - measure.state[LAST_TIME][lane];
                let before = measure.state[last][lane];
                let (now, turned) = match turning {
                    Turning::Angle(column) => (measure.truth[column][lane], measure.truth[column][lane] - before),
                    Turning::Rate(column) => {
                        (measure.truth[column][lane], 0.5 * passed_s * (measure.truth[column][lane] + before))
                    }
                };
                let ticks_before = math::floor(measure.state[angle][lane] * per_rad);
                measure.state[angle][lane] += turned;
                measure.state[last][lane] = now;
                let ticks = math::floor(measure.state[angle][lane] * per_rad);
                let rate = (ticks - ticks_before) / (per_rad * math::max(passed_s, 1e-9));
                measure.sample[at][lane] = ticks;
                measure.sample[self.count() + at][lane] = rate;
            }
        }
        measure.state[LAST_TIME][..lanes].fill(now_s);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults};
    use super::*;
    use muster_core::component::Wheel;
    use muster_core::lanes::body;
    use muster_core::node::{Node, Problems, Value};

    /// A chunk whose motion keeps two wheels in the columns after the body's.
    fn bench(sensor: &WheelEncoder, turning: fn(usize) -> Turning, rate_hz: f64) -> Bench {
        let mut bench = Bench::new(sensor, rate_hz);
        bench.truth.extend([[0.0; LANES]; 2]);
        bench.wheels = vec![
            Wheel { name: std::borrow::Cow::Borrowed("left"), turning: turning(body::COLUMNS) },
            Wheel { name: std::borrow::Cow::Borrowed("right"), turning: turning(body::COLUMNS + 1) },
        ];
        bench.start(sensor);
        bench.index = 1;
        bench
    }

    #[test]
    fn counts_are_distance_over_circumference_times_ticks() {
        let sensor = WheelEncoder { ticks_per_turn: 500.0, ..defaults() };
        let (radius_m, mut bench) = (0.1, bench(&sensor, Turning::Angle, 50.0));
        for step in 1..=100 {
            let distance_m = 0.02 * f64::from(step);
            bench.truth[body::COLUMNS] = [distance_m / radius_m; LANES];
            bench.truth[body::COLUMNS + 1] = [-distance_m / radius_m; LANES];
            bench.measure(&sensor);
            let turns = distance_m / (TAU * radius_m);
            assert_eq!(bench.sample[0][3], (turns * 500.0).floor());
            assert_eq!(bench.sample[1][3], (-turns * 500.0).floor());
        }
        // 0.02 m in 0.02 s; one count is 0.63 rad/s
        assert!((bench.sample[2][3] - 10.0).abs() < TAU / 500.0 * 50.0, "{}", bench.sample[2][3]);
    }

    #[test]
    fn wheels_of_which_only_the_rate_is_known_are_integrated() {
        let sensor = WheelEncoder { ticks_per_turn: 1e6, ..defaults() };
        let mut bench = bench(&sensor, Turning::Rate, 50.0);
        // 1 s of constant acceleration from rest to 10 rad/s: 5 rad
        for step in 1..=50 {
            bench.truth[body::COLUMNS] = [0.2 * f64::from(step); LANES];
            bench.measure(&sensor);
        }
        assert!((bench.sample[0][0] - 5.0 * 1e6 / TAU).abs() <= 1.0, "{}", bench.sample[0][0]);
        assert_eq!(bench.sample[1][0], 0.0);
    }

    #[test]
    fn counting_begins_at_zero_and_names_choose_wheels() {
        let sensor = WheelEncoder { wheels: vec!["right".to_owned()], ..defaults() };
        let mut bench = bench(&sensor, Turning::Angle, 50.0);
        bench.truth[body::COLUMNS + 1] = [123.0; LANES];
        bench.start(&sensor);
        bench.truth[body::COLUMNS + 1] = [123.0 + TAU; LANES];
        bench.truth[body::COLUMNS] = [7.0; LANES];
        bench.measure(&sensor);
        assert_eq!(bench.sample.len(), 2);
        assert!((bench.sample[0][0] - 1024.0).abs() <= 1.0);
    }

    #[test]
    fn no_wheels_or_too_many_are_refused() {
        for count in [0, 9] {
            let mut node = Node::default();
            node.set("wheels", Node::of(Value::List(vec![Node::of(Value::Text("left".to_owned())); count])));
            let mut problems = Problems::default();
            assert!((KIND.build)(&node, "encoder", &[], &mut problems).is_none());
            assert!(problems.list()[0].to_string().contains("one to eight wheels"));
        }
    }
}
