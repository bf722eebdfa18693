//! A sensor on a robot: how far it has come, with the noise of a cheap counter.

use muster_plugin::{Config, Field, Kind, Measure, Quantity, Sensor, body, plugin};

struct Odometer {
    noise_m: f64,
}

impl Sensor for Odometer {
    const KIND: Kind = Kind::new("@name@", "How far the robot has come.")
        .repeatable()
        .rate_hz(10.0)
        .fields(&[Field::number("noise_m", "Standard deviation of a sample.").or("0.01").within(0.0, 10.0)])
        .state(&[Quantity::one("travelled_m")])
        .sample(&[Quantity::one("distance_m")]);
    type Memory = ();

    fn configure(config: &Config<'_>) -> Result<Self, String> {
        Ok(Self { noise_m: config.number("noise_m") })
    }

    fn measure(&self, measure: &mut Measure<'_, ()>) {
        for lane in 0..measure.lanes() {
            let truth = measure.truth();
            let [vx, vy, vz] = [0, 1, 2].map(|axis| truth[body::VELOCITY + axis][lane]);
            let step_m = (vx * vx + vy * vy + vz * vz).sqrt() * measure.period_s();
            measure.state()[0][lane] += step_m;
            let noise = self.noise_m * measure.normals(lane, measure.index(), 0)[0];
            measure.sample()[0][lane] = measure.state()[0][lane] + noise;
        }
    }
}

plugin! {
    name: "@name@", version: env!("CARGO_PKG_VERSION"), about: "A sensor of my own.",
    kinds: [sensor Odometer],
}
