//! A motion: a slider that follows its input along the x axis of the world.

use muster_plugin::{Advance, Config, Field, Kind, Motion, Quantity, body, plugin};

struct Slider {
    speed_max_mps: f64,
}

impl Motion for Slider {
    const KIND: Kind = Kind::new("@name@", "Slides along the x axis of the world.")
        .repeatable()
        .fields(&[Field::number("speed_max_mps", "How fast at most.").or("2").within(0.0, 100.0)])
        .inputs(&[Quantity::one("slide_mps")]);

    fn configure(config: &Config<'_>) -> Result<Self, String> {
        Ok(Self { speed_max_mps: config.number("speed_max_mps") })
    }

    fn speed_max_mps(&self) -> f64 {
        self.speed_max_mps
    }

    fn start(&self, advance: &mut Advance<'_>, lane: usize) {
        let (inputs, _) = advance.firsts();
        advance.columns()[inputs][lane] = 1.0;
    }

    fn advance(&self, advance: &mut Advance<'_>) {
        let (lanes, dt_s, (inputs, _)) = (advance.lanes(), advance.dt_s(), advance.firsts());
        let columns = advance.columns();
        for lane in 0..lanes {
            let speed_mps = columns[inputs][lane].clamp(-self.speed_max_mps, self.speed_max_mps);
            columns[body::VELOCITY][lane] = speed_mps;
            columns[body::POSITION][lane] += speed_mps * dt_s;
        }
    }
}

plugin! {
    name: "@name@", version: env!("CARGO_PKG_VERSION"), about: "A motion of my own.",
    kinds: [motion Slider],
}
