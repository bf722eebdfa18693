//! A driver: walks to and fro along its heading.

use muster_plugin::{Config, Control, Driver, Field, Kind, Quantity, Setpoint, plugin};

struct ToAndFro {
    speed_mps: f64,
    turn_after_s: f64,
}

/// Columns of the driver's state.
const LEFT_S: usize = 0;
const DIRECTION: usize = 1;

impl Driver for ToAndFro {
    const KIND: Kind = Kind::new("@name@", "Walks to and fro.")
        .repeatable()
        .rate_hz(20.0)
        .fields(&[
            Field::number("speed_mps", "How fast.").or("0.5").within(0.0, 5.0),
            Field::number("turn_after_s", "Turns back after so long.").or("2").within(0.1, 1000.0),
        ])
        .state(&[Quantity::one("left_s"), Quantity::one("direction")]);
    type Memory = ();

    fn configure(config: &Config<'_>) -> Result<Self, String> {
        Ok(Self { speed_mps: config.number("speed_mps"), turn_after_s: config.number("turn_after_s") })
    }

    fn start(&self, control: &mut Control<'_, ()>, lane: usize) {
        control.state()[LEFT_S][lane] = self.turn_after_s;
        control.state()[DIRECTION][lane] = 1.0;
    }

    fn step(&self, control: &mut Control<'_, ()>) {
        let period_s = control.period_s();
        while let Some(lane) = control.next_lane() {
            let state = control.state();
            state[LEFT_S][lane] -= period_s;
            if state[LEFT_S][lane] <= 0.0 {
                state[LEFT_S][lane] += self.turn_after_s;
                state[DIRECTION][lane] *= -1.0;
            }
            let speed_mps = state[DIRECTION][lane] * self.speed_mps;
            control.command(lane, Setpoint::velocity(speed_mps, 0.0, 0.0, 0.0));
        }
    }
}

plugin! {
    name: "@name@", version: env!("CARGO_PKG_VERSION"), about: "A driver of my own.",
    kinds: [driver ToAndFro],
}
