//! What a component is called and what can be written for it.

use crate::abi;

/// A parameter a user may write.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub(crate) form: u32,
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) fallback: Option<&'static str>,
    pub(crate) limits: (f64, f64),
    pub(crate) words: &'static [&'static str],
    pub(crate) count: u64,
}

impl Field {
    const fn new(form: u32, name: &'static str, doc: &'static str) -> Self {
        Self { form, name, doc, fallback: None, limits: (0.0, 0.0), words: &[], count: 0 }
    }

    /// A number; its name ends with its unit.
    pub const fn number(name: &'static str, doc: &'static str) -> Self {
        Self::new(abi::NUMBER, name, doc)
    }

    /// A whole number.
    pub const fn integer(name: &'static str, doc: &'static str) -> Self {
        Self::new(abi::INTEGER, name, doc)
    }

    /// `true` or `false`.
    pub const fn boolean(name: &'static str, doc: &'static str) -> Self {
        Self::new(abi::BOOL, name, doc)
    }

    /// A text.
    pub const fn text(name: &'static str, doc: &'static str) -> Self {
        Self::new(abi::TEXT, name, doc)
    }

    /// One of several words.
    pub const fn choice(name: &'static str, doc: &'static str, words: &'static [&'static str]) -> Self {
        Self { words, ..Self::new(abi::CHOICE, name, doc) }
    }

    /// A list of so many numbers; of any length if 0.
    pub const fn numbers(name: &'static str, doc: &'static str, count: usize) -> Self {
        Self { count: count as u64, ..Self::new(abi::NUMBERS, name, doc) }
    }

    /// What it is if the user does not write it, as it would be written.
    pub const fn or(self, fallback: &'static str) -> Self {
        Self { fallback: Some(fallback), ..self }
    }

    /// Limits of its numbers.
    pub const fn within(self, min: f64, max: f64) -> Self {
        Self { limits: (min, max), ..self }
    }
}

/// A named quantity of some columns.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    pub(crate) name: &'static str,
    pub(crate) count: u32,
}

impl Quantity {
    /// One number a robot.
    pub const fn one(name: &'static str) -> Self {
        Self { name, count: 1 }
    }

    /// Several numbers a robot.
    pub const fn many(name: &'static str, count: usize) -> Self {
        Self { name, count: count as u32 }
    }
}

/// What a component is called, what can be written for it, and what it remembers.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) fields: &'static [Field],
    pub(crate) state: &'static [Quantity],
    pub(crate) integers: &'static [Quantity],
    pub(crate) sample: &'static [Quantity],
    pub(crate) inputs: &'static [Quantity],
    pub(crate) flags: u32,
    pub(crate) rate_hz: f64,
}

impl Kind {
    /// A kind that is chosen by this name.
    pub const fn new(name: &'static str, doc: &'static str) -> Self {
        Self { name, doc, fields: &[], state: &[], integers: &[], sample: &[], inputs: &[], flags: 0, rate_hz: 0.0 }
    }

    /// Its parameters.
    pub const fn fields(self, fields: &'static [Field]) -> Self {
        Self { fields, ..self }
    }

    /// Columns it remembers; of a modifier, numbers of each sensor.
    pub const fn state(self, state: &'static [Quantity]) -> Self {
        Self { state, ..self }
    }

    /// Columns of integers that a driver remembers.
    pub const fn integers(self, integers: &'static [Quantity]) -> Self {
        Self { integers, ..self }
    }

    /// What a sample holds; of a modifier, what it must hold.
    pub const fn sample(self, sample: &'static [Quantity]) -> Self {
        Self { sample, ..self }
    }

    /// Inputs of a motion.
    pub const fn inputs(self, inputs: &'static [Quantity]) -> Self {
        Self { inputs, ..self }
    }

    /// How often it is called if the scenario does not say.
    pub const fn rate_hz(self, rate_hz: f64) -> Self {
        Self { rate_hz, ..self }
    }

    /// It remembers nothing but columns and what [`crate::Memory`] saves: two runs give the same bits.
    pub const fn repeatable(self) -> Self {
        Self { flags: self.flags | abi::REPEATABLE, ..self }
    }

    /// It casts rays.
    pub const fn sees_bodies(self) -> Self {
        Self { flags: self.flags | abi::SEES_BODIES, ..self }
    }

    /// A motion on the ground: contacts push its robots sideways only.
    pub const fn planar(self) -> Self {
        Self { flags: self.flags | abi::PLANAR, ..self }
    }

    /// A motion that nothing pushes.
    pub const fn fixed(self) -> Self {
        Self { flags: self.flags | abi::FIXED, ..self }
    }
}
