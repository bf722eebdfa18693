//! A sensor that looks at the world: how far it is to what is ahead, and to the nearest other robot.

use muster_plugin::{Config, Field, Kind, Look, LookAt, Quantity, plugin};

struct Ahead {
    range_max_m: f64,
}

impl Look for Ahead {
    const KIND: Kind = Kind::new("@name@", "How far it is to what is ahead, and to the nearest robot.")
        .repeatable()
        .sees_bodies()
        .rate_hz(10.0)
        .fields(&[Field::number("range_max_m", "How far it sees.").or("10").within(0.1, 1000.0)])
        .sample(&[Quantity::one("ahead_m"), Quantity::one("nearest_m")]);

    fn configure(config: &Config<'_>) -> Result<Self, String> {
        Ok(Self { range_max_m: config.number("range_max_m") })
    }

    fn look(&self, at: &mut LookAt<'_>) {
        let [x, y, z, qx, qy, qz, qw] = at.pose();
        // the x axis of the sensor in the world
        let ahead = [1.0 - 2.0 * (qy * qy + qz * qz), 2.0 * (qx * qy + qw * qz), 2.0 * (qx * qz - qw * qy)];
        let hit = at.cast([x, y, z], ahead, self.range_max_m);
        let mut nearest_m = self.range_max_m;
        for robot in (0..at.robots()).filter(|&robot| robot != at.own()) {
            let [ox, oy, oz] = at.position_m(robot);
            nearest_m = nearest_m.min(((ox - x).powi(2) + (oy - y).powi(2) + (oz - z).powi(2)).sqrt());
        }
        at.push(hit.map_or(self.range_max_m, |hit| hit.distance_m));
        at.push(nearest_m);
    }
}

plugin! {
    name: "@name@", version: env!("CARGO_PKG_VERSION"), about: "A sensor of my own.",
    kinds: [look Ahead],
}
