//! Keyboard: drives a robot by keys that are held down, as somebody at a keyboard would. Keys go down and up at the
//! times of a script, by the services `press` and `release`, or whenever the property `driver.pressed` is set (the sum of
//! the numbers of the keys: 1 up, 2 down, 4 left, 8 right, 16 a, 32 d, 64 page_up, 128 page_down, 256 space).
//!
//! | keys | what |
//! |---|---|
//! | up, down | forward, backward |
//! | left, right | turn left, right |
//! | a, d | sideways to the left, right |
//! | page_up, page_down | climb, sink |
//! | space | stop at once |
//!
//! Speeds grow at an acceleration while a key is down and decay when it is up; two opposite keys are none. Commands are
//! velocity setpoints, so keys drive every robot whose motion or controller follows these.

use muster_core::component::{Control, Driver, Kind, Order, Pose};
use muster_core::lanes::{Quantity, setpoint};
use muster_core::math;
use muster_core::spec::Spec;
use muster_core::time::SimTime;
use muster_core::{choice, spec};
use std::sync::Arc;

choice! {
    /// A key.
    pub enum Key {
        Up = "up",
        Down = "down",
        Left = "left",
        Right = "right",
        A = "a",
        D = "d",
        PageUp = "page_up",
        PageDown = "page_down",
        Space = "space",
    }
}

impl Key {
    /// Its number in `driver.pressed`.
    pub const fn bit(self) -> i64 {
        1 << self as i64
    }
}

spec! {
    /// A key goes down or up.
    pub struct KeyEvent {
        /// When.
        at_s: f64, in 0.0..=1e9;
        /// The key that goes down.
        press: Option<Key>;
        /// The key that goes up.
        release: Option<Key>;
    }
}

spec! {
    /// Parameters of the keyboard driver.
    pub struct KeyboardSpec {
        /// Keys that go down and up: up, down, left, right, a, d, page_up, page_down, space.
        keys: Vec<KeyEvent> = Vec::new();
        /// Speed forward and backward.
        speed_mps: f64 = 1.0, in 0.0..=1000.0;
        /// Speed sideways.
        side_mps: f64 = 0.5, in 0.0..=1000.0;
        /// Speed up and down.
        climb_mps: f64 = 0.5, in 0.0..=1000.0;
        /// Turn rate.
        turn_radps: f64 = 1.0, in 0.0..=100.0;
        /// How fast speeds grow while a key is down.
        accel_mps2: f64 = 2.0, in 0.001..=1e6;
        /// How fast speeds decay when it is up.
        decay_mps2: f64 = 4.0, in 0.001..=1e6;
        /// How fast the turn rate grows.
        turn_accel_radps2: f64 = 4.0, in 0.001..=1e6;
        /// How fast the turn rate decays.
        turn_decay_radps2: f64 = 8.0, in 0.001..=1e6;
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "keyboard",
    doc: "Drives by keys that are held down, by a script, by services or by the property `driver.pressed`.",
    fields: KeyboardSpec::FIELDS,
    build: &|node, path, also, problems| {
        let mut spec = <KeyboardSpec as Spec>::read(node, path, also, problems)?;
        if let Some(at) = spec.keys.iter().position(|event| event.press.is_some() == event.release.is_some()) {
            let place = node.get("keys").map_or(node.place, |keys| keys.place);
            let found = if spec.keys[at].press.is_some() { "press and release" } else { "neither press nor release" };
            problems.error(place, &format!("{path}.keys[{at}]"), found, "press or release");
            return None;
        }
        spec.keys.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        Some(Arc::new(Keyboard { spec }))
    },
};

struct Keyboard {
    spec: KeyboardSpec,
}

const PRESSED: usize = 0;
const NEXT: usize = 1;

/// The keys of each number of the setpoint, which way they drive.
const AXES: [(Key, Key); 4] =
    [(Key::Up, Key::Down), (Key::A, Key::D), (Key::PageUp, Key::PageDown), (Key::Left, Key::Right)];

impl Driver for Keyboard {
    fn state(&self) -> &'static [Quantity] {
        const { &[Quantity::many("velocity", 4)] }
    }

    fn integers(&self) -> &'static [Quantity] {
        const { &[Quantity::one("pressed"), Quantity::one("next")] }
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, _: Pose) {
        control.state.iter_mut().for_each(|column| column[lane] = 0.0);
        control.integers.iter_mut().for_each(|column| column[lane] = 0);
    }

    fn control(&self, control: &mut Control<'_>) {
        let (spec, period_s) = (&self.spec, control.period_s);
        let most = [spec.speed_mps, spec.side_mps, spec.climb_mps, spec.turn_radps];
        while let Some(lane) = control.next_lane() {
            self.follow_script(control, lane);
            let pressed = control.integers[PRESSED][lane];
            let held = |key: Key| f64::from(u8::from(pressed & key.bit() != 0));
            let mut command = [0.0; 4];
            for (axis, (more, less)) in AXES.into_iter().enumerate() {
                let turns = axis == 3;
                let target = most[axis] * (held(more) - held(less));
                let grow = if turns { spec.turn_accel_radps2 } else { spec.accel_mps2 };
                let decay = if turns { spec.turn_decay_radps2 } else { spec.decay_mps2 };
                let now = control.state[axis][lane];
                let grows = target.abs() > now.abs() && target * now >= 0.0;
                let step = period_s * if grows { grow } else { decay };
                command[axis] = now + math::clamp(target - now, -step, step);
            }
            if pressed & Key::Space.bit() != 0 {
                command = [0.0; 4];
            }
            for (column, value) in control.state.iter_mut().zip(command) {
                column[lane] = value;
            }
            control.command(lane, setpoint::VELOCITY, command);
        }
    }

    fn orders(&self) -> &'static [&'static str] {
        &["press", "release"]
    }

    fn order(&self, control: &mut Control<'_>, lane: usize, order: &Order<'_>) -> Result<(), String> {
        let bit = order.numbers.first().map_or(0, |&bit| bit as i64);
        let pressed = &mut control.integers[PRESSED][lane];
        *pressed = if order.name == "press" { *pressed | bit } else { *pressed & !bit };
        Ok(())
    }
}

impl Keyboard {
    /// Lets the keys of the script go down and up whose time has come.
    fn follow_script(&self, control: &mut Control<'_>, lane: usize) {
        let mut next = control.integers[NEXT][lane].max(0) as usize;
        while let Some(event) = self.spec.keys.get(next).filter(|event| SimTime::from_s(event.at_s) <= control.time) {
            let down = event.press.map_or(0, Key::bit);
            let up = event.release.map_or(0, Key::bit);
            control.integers[PRESSED][lane] = (control.integers[PRESSED][lane] & !up) | down;
            next += 1;
        }
        control.integers[NEXT][lane] = next as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_core::node::{Node, Problems, Value};

    #[test]
    fn an_event_without_a_key_is_refused_by_its_number() {
        let mut event = Node::default();
        event.set("at_s", Node::of(Value::Number(1.0)));
        let mut node = Node::default();
        node.set("keys", Node::of(Value::List(vec![event])));
        let mut problems = Problems::default();
        assert!((KIND.build)(&node, "driver", &[], &mut problems).is_none());
        let text = problems.list()[0].to_string();
        assert!(text.contains("driver.keys[0]") && text.contains("neither press nor release"), "{text}");
    }

    #[test]
    fn keys_have_the_numbers_that_are_documented() {
        let keys = ["up", "down", "left", "right", "a", "d", "page_up", "page_down", "space"];
        for (at, word) in keys.into_iter().enumerate() {
            assert_eq!(Key::from_word(word).map(Key::bit), Some(1 << at), "{word}");
        }
    }
}
