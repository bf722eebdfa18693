//! Specifications: what a user may write for a component, as one typed block with names, units, defaults, limits and
//! documentation. The [`spec!`](crate::spec!) macro makes from one text the struct, its reader, and the table of
//! [`Field`]s from which the JSON schema, `muster list` and the reference pages are made.
//!
//! Reading collects all problems instead of stopping at the first.

use crate::node::{Node, Problems, Value};

/// One parameter a user may write.
pub struct Field {
    /// Its key, unit included (`mass_kg`).
    pub name: &'static str,
    /// What it is, first line of its documentation.
    pub doc: &'static str,
    /// The form its value must have.
    pub schema: &'static (dyn Fn() -> Schema + Sync),
    /// The default as text; `None` if it must be written.
    pub default: &'static (dyn Fn() -> Option<String> + Sync),
}

/// The form of a value, from which JSON schema and type names are made.
#[derive(Debug, Clone, PartialEq)]
pub enum Schema {
    /// Any number within limits.
    Number {
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// A whole number within limits.
    Integer {
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// `true` or `false`.
    Bool,
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list, perhaps of fixed length.
    List {
        /// What each item is.
        of: Box<Schema>,
        /// How many, if fixed.
        length: Option<usize>,
    },
    /// A map whose keys the user chooses.
    MapOf(Box<Schema>),
    /// A block of named fields.
    Block(&'static [Field]),
    /// Anything: checked elsewhere.
    Any,
    /// A block made by one of several kinds: `kind: NAME` and the fields of that kind, beside common fields.
    KindOf {
        /// Which registry, for example `motions`.
        registry: &'static str,
        /// Fields every kind has.
        common: &'static [Field],
    },
    /// One of several forms.
    Either(Vec<Schema>),
}

impl std::fmt::Debug for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.name)
    }
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && (self.schema)() == (other.schema)()
    }
}

impl Schema {
    /// A short name of the type for tables and messages.
    pub fn type_name(&self) -> String {
        match self {
            Self::Number { min, max } => format!("number{}", limits(*min, *max)),
            Self::Integer { min, max } => format!("whole number{}", limits(*min, *max)),
            Self::Bool => "true or false".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::List { of, length: Some(length) } => format!("list of {length} ({})", of.type_name()),
            Self::List { of, length: None } => format!("list of {}", of.type_name()),
            Self::MapOf(of) => format!("map of {}", of.type_name()),
            Self::Block(fields) => {
                format!("map with {}", fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", "))
            }
            Self::Any => "any value".to_owned(),
            Self::KindOf { registry, .. } => format!("map with kind: one of {registry}"),
            Self::Either(forms) => forms.iter().map(Self::type_name).collect::<Vec<_>>().join(", or "),
        }
    }
}

fn limits(min: f64, max: f64) -> String {
    // numbers beyond these are no limits anybody would run into
    let (low, high) = (min.abs() < 1e15, max.abs() < 1e15);
    let min = if min.abs() < 1e-15 { 0.0 } else { min };
    match (low, high) {
        (true, true) if min == max => format!(": {min}"),
        (true, true) => format!(" from {min} to {max}"),
        (true, false) => format!(" of at least {min}"),
        (false, true) => format!(" of at most {max}"),
        (false, false) => String::new(),
    }
}

/// A type that can be written as the value of a field.
pub trait Parameter: Sized {
    /// The form, with limits for numbers.
    fn schema(min: f64, max: f64) -> Schema;

    /// Reads a value; on a problem notes it and returns `None`.
    fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self>;

    /// The value as a user would write it.
    fn show(&self) -> String;

    /// What an absent key means when the field has no default.
    fn absent() -> Option<Self> {
        None
    }
}

fn expected<T: Parameter>(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<T> {
    problems.error(node.place, path, node.found(), T::schema(limits.0, limits.1).type_name());
    None
}

impl Parameter for f64 {
    fn schema(min: f64, max: f64) -> Schema {
        Schema::Number { min, max }
    }

    fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
        let value = match node.value {
            Value::Number(value) => value,
            Value::Integer(value) => value as f64,
            _ => return expected::<f64>(node, path, limits, problems),
        };
        if value.is_finite() && value >= limits.0 && value <= limits.1 {
            return Some(value);
        }
        expected::<f64>(node, path, limits, problems)
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

macro_rules! integer_parameter {
    ($($type:ty),*) => {$(
        impl Parameter for $type {
            fn schema(min: f64, max: f64) -> Schema {
                Schema::Integer { min: min.max(<$type>::MIN as f64), max }
            }

            fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
                if let Value::Integer(value) = node.value
                    && (value as f64) >= limits.0 && (value as f64) <= limits.1
                    && let Ok(value) = <$type>::try_from(value)
                {
                    return Some(value);
                }
                expected::<$type>(node, path, limits, problems)
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

integer_parameter!(u16, u32, u64, i64, usize);

impl Parameter for bool {
    fn schema(_: f64, _: f64) -> Schema {
        Schema::Bool
    }

    fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
        match node.value {
            Value::Bool(value) => Some(value),
            _ => expected::<bool>(node, path, limits, problems),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Parameter for String {
    fn schema(_: f64, _: f64) -> Schema {
        Schema::Text
    }

    fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Text(text) => Some(text.clone()),
            _ => expected::<String>(node, path, limits, problems),
        }
    }

    fn show(&self) -> String {
        self.clone()
    }
}

impl Parameter for Node {
    fn schema(_: f64, _: f64) -> Schema {
        Schema::Any
    }

    fn read(node: &Node, _: &str, _: (f64, f64), _: &mut Problems) -> Option<Self> {
        Some(node.clone())
    }

    fn show(&self) -> String {
        self.to_string()
    }

    fn absent() -> Option<Self> {
        Some(Node::default())
    }
}

impl<T: Parameter, const N: usize> Parameter for [T; N] {
    fn schema(min: f64, max: f64) -> Schema {
        Schema::List { of: Box::new(T::schema(min, max)), length: Some(N) }
    }

    fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
        let Value::List(list) = &node.value else { return expected::<Self>(node, path, limits, problems) };
        if list.len() != N {
            return expected::<Self>(node, path, limits, problems);
        }
        let items = read_items(list, path, limits, problems)?;
        items.try_into().ok()
    }

    fn show(&self) -> String {
        show_items(self)
    }
}

impl<T: Parameter> Parameter for Vec<T> {
    fn schema(min: f64, max: f64) -> Schema {
        Schema::List { of: Box::new(T::schema(min, max)), length: None }
    }

    fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::List(list) => read_items(list, path, limits, problems),
            _ => expected::<Self>(node, path, limits, problems),
        }
    }

    fn show(&self) -> String {
        show_items(self)
    }
}

fn read_items<T: Parameter>(list: &[Node], path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Vec<T>> {
    // every item is read, so that every problem is found
    let items: Vec<Option<T>> = list
        .iter()
        .enumerate()
        .map(|(index, item)| T::read(item, &format!("{path}[{index}]"), limits, problems))
        .collect();
    items.into_iter().collect()
}

fn show_items<T: Parameter>(items: &[T]) -> String {
    format!("[{}]", items.iter().map(T::show).collect::<Vec<_>>().join(", "))
}

impl<T: Parameter> Parameter for Option<T> {
    fn schema(min: f64, max: f64) -> Schema {
        T::schema(min, max)
    }

    fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
        match node.value {
            Value::Null => Some(None),
            _ => T::read(node, path, limits, problems).map(Some),
        }
    }

    fn show(&self) -> String {
        self.as_ref().map_or_else(|| "null".to_owned(), T::show)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// A block of fields made by [`spec!`](crate::spec!).
pub trait Spec: Sized {
    /// Its fields, in the order documented.
    const FIELDS: &'static [Field];

    /// Reads the block from a map. Keys in `also_valid` belong to somebody else and are passed over; any other key
    /// that is not a field is a problem.
    fn read(node: &Node, path: &str, also_valid: &[&str], problems: &mut Problems) -> Option<Self>;

    /// Every field's value as text, in the order of [`Spec::FIELDS`].
    fn values(&self) -> Vec<String>;
}

/// Notes each key of `node` that is neither a field nor in `also_valid`; true if `node` is a map at all.
pub fn check_keys(
    node: &Node,
    path: &str,
    fields: &'static [Field],
    also_valid: &[&str],
    problems: &mut Problems,
) -> bool {
    let Some(entries) = node.entries() else {
        problems.error(node.place, path, node.found(), Schema::Block(fields).type_name());
        return false;
    };
    let valid = fields.iter().map(|field| field.name).chain(also_valid.iter().copied());
    for entry in entries {
        if !valid.clone().any(|name| name == entry.key) {
            problems.unknown(entry.key_place, path, &entry.key, "a key", valid.clone());
        }
    }
    true
}

/// A field's name without the mark of a name that is a word of the language: `r#do` is written `do`.
pub const fn plain(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

/// The path of a key below a path.
pub fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Reads one field of a block: its value, else its default, else notes that it is missing.
pub fn read_field<T: Parameter>(
    node: &Node,
    path: &str,
    name: &str,
    rule: (Option<T>, (f64, f64)),
    problems: &mut Problems,
) -> Option<T> {
    let (default, limits) = rule;
    match node.get(name) {
        Some(value) => T::read(value, &below(path, name), limits, problems),
        None => default.or_else(T::absent).or_else(|| {
            problems.error(
                node.place,
                path,
                format!("no {name}"),
                format!("{name}: {}", T::schema(limits.0, limits.1).type_name()),
            );
            None
        }),
    }
}

/// Declares a [`Spec`]: a struct of documented fields, each with a type, a default (or none: then it must be
/// written) and limits for its numbers.
///
/// ```
/// muster_core::spec! {
///     /// A ball.
///     pub struct Ball {
///         /// Mass.
///         mass_kg: f64 = 1.0, in 0.001..=1000.0;
///         /// Radius; must be written.
///         radius_m: f64, in 0.0..=10.0;
///         /// Colour.
///         colour: String = "red".to_owned();
///     }
/// }
/// ```
#[macro_export]
macro_rules! spec {
    ($(#[doc = $doc:literal])* pub struct $name:ident {
        $($(#[doc = $field_doc:literal])* $field:ident : $type:ty $(= $default:expr)? $(, in $min:literal ..= $max:literal)? ;)*
    }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[doc = $field_doc])* pub $field: $type,)* }

        impl $crate::spec::Spec for $name {
            const FIELDS: &'static [$crate::spec::Field] = &[$($crate::spec::Field {
                name: $crate::spec::plain(stringify!($field)),
                doc: concat!($($field_doc),*),
                schema: &|| <$type as $crate::spec::Parameter>::schema(
                    $crate::spec!(@limits $($min, $max)?).0, $crate::spec!(@limits $($min, $max)?).1),
                default: &|| $crate::spec!(@shown $type $(, $default)?),
            }),*];

            fn read(
                node: &$crate::node::Node,
                path: &str,
                also_valid: &[&str],
                problems: &mut $crate::node::Problems,
            ) -> Option<Self> {
                if !$crate::spec::check_keys(node, path, Self::FIELDS, also_valid, problems) {
                    return None;
                }
                // all fields are read before any is missed, so that every problem is found
                $(let $field: Option<$type> = $crate::spec::read_field(node, path, $crate::spec::plain(stringify!($field)),
                    ($crate::spec!(@default $($default)?), $crate::spec!(@limits $($min, $max)?)), problems);)*
                Some(Self { $($field: $field?,)* })
            }

            fn values(&self) -> Vec<String> {
                vec![$($crate::spec::Parameter::show(&self.$field)),*]
            }
        }

        impl $crate::spec::Parameter for $name {
            fn schema(_: f64, _: f64) -> $crate::spec::Schema {
                $crate::spec::Schema::Block(<Self as $crate::spec::Spec>::FIELDS)
            }

            fn read(
                node: &$crate::node::Node,
                path: &str,
                _: (f64, f64),
                problems: &mut $crate::node::Problems,
            ) -> Option<Self> {
                <Self as $crate::spec::Spec>::read(node, path, &[], problems)
            }

            fn show(&self) -> String {
                let names = <Self as $crate::spec::Spec>::FIELDS.iter().map(|field| field.name);
                let values = <Self as $crate::spec::Spec>::values(self);
                let pairs: Vec<String> = names.zip(values).map(|(name, value)| format!("{name}: {value}")).collect();
                format!("{{{}}}", pairs.join(", "))
            }
        }
    };
    (@limits) => { (f64::NEG_INFINITY, f64::INFINITY) };
    (@limits $min:literal, $max:literal) => { (f64::from($min), f64::from($max)) };
    (@default) => { None };
    (@default $default:expr) => { Some($default) };
    (@shown $type:ty) => { None };
    (@shown $type:ty, $default:expr) => { { let value: $type = $default; Some($crate::spec::Parameter::show(&value)) } };
}

/// Declares an enum whose variants a user chooses by a word.
///
/// ```
/// muster_core::choice! {
///     /// How windy it is.
///     pub enum Level { Light = "light", Moderate = "moderate" }
/// }
/// ```
#[macro_export]
macro_rules! choice {
    ($(#[doc = $doc:literal])* pub enum $name:ident { $($(#[doc = $variant_doc:literal])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $(#[doc = concat!("`", $word, "`")] $(#[doc = $variant_doc])* $variant),* }

        impl $name {
            /// The words, in the order of the variants.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// The variant named by a word.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }

            /// The word of this variant.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl $crate::spec::Parameter for $name {
            fn schema(_: f64, _: f64) -> $crate::spec::Schema {
                $crate::spec::Schema::Choice(Self::WORDS)
            }

            fn read(
                node: &$crate::node::Node,
                path: &str,
                _: (f64, f64),
                problems: &mut $crate::node::Problems,
            ) -> Option<Self> {
                let word = node.text().map_or_else(|| node.to_string(), str::to_owned);
                let found = Self::from_word(&word);
                if found.is_none() {
                    problems.unknown(node.place, path, &word, "one of", Self::WORDS.iter().copied());
                }
                found
            }

            fn show(&self) -> String {
                self.word().to_owned()
            }
        }
    };
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "the macros make public items")]
mod tests {
    use super::*;
    use crate::node::Entry;

    crate::choice! {
        /// A colour.
        pub enum Colour { Red = "red", Green = "green" }
    }

    crate::spec! {
        /// A ball.
        pub struct Ball {
            /// Mass.
            mass_kg: f64 = 1.0, in 0.001..=1000.0;
            /// Radius.
            radius_m: f64, in 0.0..=10.0;
            /// Colour.
            colour: Colour = Colour::Red;
            /// Spin.
            spin_radps: [f64; 3] = [0.0; 3];
        }
    }

    fn map(pairs: &[(&str, Value)]) -> Node {
        let entries = pairs.iter().map(|(key, value)| Entry {
            key: (*key).to_owned(),
            key_place: Default::default(),
            value: Node::of(value.clone()),
        });
        Node::of(Value::Map(entries.collect()))
    }

    #[test]
    fn defaults_fill_what_is_not_written() {
        let mut problems = Problems::default();
        let ball = <Ball as Spec>::read(&map(&[("radius_m", Value::Integer(2))]), "", &[], &mut problems);
        let ball = ball.expect("a valid ball");
        assert_eq!((ball.mass_kg, ball.radius_m, ball.colour), (1.0, 2.0, Colour::Red));
        assert!(problems.list().is_empty());
    }

    #[test]
    fn all_problems_of_a_block_are_found_at_once() {
        let node = map(&[
            ("mas_kg", Value::Number(1.0)),
            ("radius_m", Value::Number(11.0)),
            ("colour", Value::Text("gren".into())),
            (
                "spin_radps",
                Value::List(vec![Node::of(Value::Bool(true)), Node::default(), Node::of(Value::Integer(1))]),
            ),
        ]);
        let mut problems = Problems::default();
        assert!(<Ball as Spec>::read(&node, "ball", &[], &mut problems).is_none());
        let texts: Vec<String> = problems.list().iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 5, "{texts:#?}");
        assert!(texts[0].contains("did you mean \"mass_kg\"?"));
        assert!(texts[1].contains("found 11, expected number from 0 to 10"));
        assert!(texts[2].contains("did you mean \"green\"?"));
        assert!(texts[3].starts_with("ball.spin_radps[0]: found true"));
    }

    #[test]
    fn a_missing_field_without_default_is_named() {
        let mut problems = Problems::default();
        assert!(<Ball as Spec>::read(&map(&[]), "ball", &[], &mut problems).is_none());
        assert!(problems.list()[0].to_string().contains("found no radius_m"));
    }
}
