//! A modifier: adds a drift that grows with every sample.

use muster_plugin::{Config, Field, Kind, Modifier, Outcome, Quantity, Sample, plugin};

struct Drift {
    per_s: f64,
}

impl Modifier for Drift {
    const KIND: Kind = Kind::new("@name@", "Adds a drift to the first number of every sample.")
        .repeatable()
        .fields(&[Field::number("per_s", "By how much a second.").or("0.1")])
        .state(&[Quantity::one("drift")]);

    fn configure(config: &Config<'_>) -> Result<Self, String> {
        Ok(Self { per_s: config.number("per_s") })
    }

    fn modify(&self, sample: &mut Sample<'_>) -> Outcome {
        let step = self.per_s * sample.period_s();
        sample.memory()[0] += step;
        let drift = sample.memory()[0];
        if let Some(first) = sample.values().first_mut() {
            *first += drift;
        }
        Outcome::Kept
    }
}

plugin! {
    name: "@name@", version: env!("CARGO_PKG_VERSION"), about: "A modifier of my own.",
    kinds: [modifier Drift],
}
