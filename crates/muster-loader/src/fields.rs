//! Parameters of a plug-in's kinds: from its table to fields like those of built-in kinds, and from what a user wrote to
//! values as the plug-in gets them.

use crate::library::text;
use muster_core::component::Misfit;
use muster_core::node::{Node, Problems, Value};
use muster_core::spec::{Field, Parameter, Schema, below, check_keys, read_field};
use muster_plugin::abi::{self, MusterField, MusterValue};
use std::ffi::{CStr, CString};

/// What the reader of a field knows of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldText {
    pub(crate) name: &'static CStr,
    pub(crate) form: Form,
    pub(crate) fallback: Option<Datum>,
    pub(crate) limits: (f64, f64),
}

/// The form of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Form {
    Number,
    Integer,
    Bool,
    Text,
    Choice(&'static [&'static str]),
    /// So many numbers; any if there is no length.
    Numbers(Option<usize>),
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Datum {
    Number(f64),
    Integer(i64),
    Bool(bool),
    Text(String),
    /// Which word.
    Choice(usize, &'static str),
    Numbers(Vec<f64>),
}

/// The fields of a table: for schema and help, and for reading. They live as long as the process.
pub(crate) fn fields_of(list: &[MusterField]) -> Result<(&'static [Field], &'static [FieldText]), Misfit> {
    let (mut fields, mut texts) = (Vec::new(), Vec::new());
    for raw in list {
        let name = text(raw.name, "a field's name")?;
        let doc = text(raw.doc, "a field's doc")?;
        let of_field = |(found, expected): Misfit| (format!("field {name:?} with {found}"), expected);
        let field = field_text(raw).map_err(of_field)?;
        if texts.iter().any(|known: &FieldText| known.name == field.name) || name == "kind" {
            return Err((format!("a second field {name:?}"), "names that are not taken".to_owned()));
        }
        let (form, limits) = (field.form, field.limits);
        let shown = field.fallback.as_ref().map(Datum::show);
        fields.push(Field {
            name,
            doc,
            schema: Box::leak(Box::new(move || form.schema(limits))),
            default: Box::leak(Box::new(move || shown.clone())),
        });
        texts.push(field);
    }
    Ok((Box::leak(fields.into_boxed_slice()), Box::leak(texts.into_boxed_slice())))
}

fn field_text(raw: &MusterField) -> Result<FieldText, Misfit> {
    let form = match raw.r#type {
        abi::NUMBER => Form::Number,
        abi::INTEGER => Form::Integer,
        abi::BOOL => Form::Bool,
        abi::TEXT => Form::Text,
        abi::CHOICE => Form::Choice(words(raw)?),
        abi::NUMBERS => Form::Numbers((raw.count > 0).then_some(raw.count as usize)),
        other => return Err((format!("type {other}"), "one of those of the header".to_owned())),
    };
    let unlimited = raw.min == 0.0 && raw.max == 0.0;
    let limits = if unlimited { (f64::NEG_INFINITY, f64::INFINITY) } else { (raw.min, raw.max) };
    if limits.0.is_nan() || limits.1.is_nan() || limits.0 > limits.1 {
        return Err((format!("limits from {} to {}", limits.0, limits.1), "the lower limit first".to_owned()));
    }
    let fallback = match raw.fallback.is_null() {
        true => None,
        false => Some(form.parse(text(raw.fallback, "a fallback")?, limits)?),
    };
    // SAFETY: the name was read as a text already, so it ends with zero and lives as long as the library
    let name = unsafe { CStr::from_ptr(raw.name) };
    Ok(FieldText { name, form, fallback, limits })
}

fn words(raw: &MusterField) -> Result<&'static [&'static str], Misfit> {
    const MANY: usize = 256;
    let mut words = Vec::new();
    while !raw.words.is_null() && words.len() < MANY {
        // SAFETY: the list of words ends with a null pointer, which was not met so far
        let word = unsafe { *raw.words.add(words.len()) };
        if word.is_null() {
            break;
        }
        words.push(text(word, "a word")?);
    }
    match words.len() {
        0 | MANY => Err((format!("{} words", words.len()), format!("1 to {}", MANY - 1))),
        _ => Ok(Box::leak(words.into_boxed_slice())),
    }
}

impl Form {
    fn schema(self, (min, max): (f64, f64)) -> Schema {
        match self {
            Self::Number => f64::schema(min, max),
            Self::Integer => i64::schema(min, max),
            Self::Bool => Schema::Bool,
            Self::Text => Schema::Text,
            Self::Choice(words) => Schema::Choice(words),
            Self::Numbers(length) => Schema::List { of: Box::new(f64::schema(min, max)), length },
        }
    }

    /// Reads a fallback, as it would be written in a scenario.
    fn parse(self, written: &str, limits: (f64, f64)) -> Result<Datum, Misfit> {
        let number = |text: &str| match text.trim().parse::<i64>() {
            Ok(whole) => Node::of(Value::Integer(whole)),
            Err(_) => Node::of(text.trim().parse().map_or(Value::Text(text.to_owned()), Value::Number)),
        };
        let node = match self {
            Self::Number | Self::Integer => number(written),
            Self::Bool => Node::of(written.trim().parse().map_or(Value::Null, Value::Bool)),
            Self::Text | Self::Choice(_) => Node::of(Value::Text(written.to_owned())),
            Self::Numbers(_) => {
                let inner = written.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(written);
                let items = inner.split(',').filter(|item| !item.trim().is_empty()).map(number);
                Node::of(Value::List(items.collect()))
            }
        };
        let wrong = || (format!("fallback {written:?}"), self.schema(limits).type_name());
        self.read(&node, "", limits, &mut Problems::default()).ok_or_else(wrong)
    }

    fn read(self, node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Datum> {
        match self {
            Self::Number => f64::read(node, path, limits, problems).map(Datum::Number),
            Self::Integer => i64::read(node, path, limits, problems).map(Datum::Integer),
            Self::Bool => bool::read(node, path, limits, problems).map(Datum::Bool),
            Self::Text => String::read(node, path, limits, problems).map(Datum::Text),
            Self::Choice(words) => {
                let word = node.text().map_or_else(|| node.to_string(), str::to_owned);
                let found = words.iter().position(|known| *known == word);
                if found.is_none() {
                    problems.unknown(node.place, path, &word, "one of", words.iter().copied());
                }
                found.map(|at| Datum::Choice(at, words[at]))
            }
            Self::Numbers(length) => {
                let numbers = Vec::<f64>::read(node, path, limits, problems)?;
                if length.is_some_and(|length| length != numbers.len()) {
                    problems.error(node.place, path, node.found(), self.schema(limits).type_name());
                    return None;
                }
                Some(Datum::Numbers(numbers))
            }
        }
    }

    fn number(self) -> u32 {
        match self {
            Self::Number => abi::NUMBER,
            Self::Integer => abi::INTEGER,
            Self::Bool => abi::BOOL,
            Self::Text => abi::TEXT,
            Self::Choice(_) => abi::CHOICE,
            Self::Numbers(_) => abi::NUMBERS,
        }
    }
}

impl Datum {
    fn show(&self) -> String {
        match self {
            Self::Number(value) => value.show(),
            Self::Integer(value) => value.show(),
            Self::Bool(value) => value.show(),
            Self::Text(text) => text.show(),
            Self::Choice(_, word) => (*word).to_owned(),
            Self::Numbers(numbers) => numbers.show(),
        }
    }
}

/// Reads what a user wrote for a kind; `None` if something is wrong, which is noted.
pub(crate) fn read(
    (fields, texts): (&'static [Field], &'static [FieldText]),
    node: &Node,
    path: &str,
    also: &[&str],
    problems: &mut Problems,
) -> Option<Given> {
    if !check_keys(node, path, fields, also, problems) {
        return None;
    }
    // all fields are read before any is missed, so that every problem is found
    let data: Vec<Option<Datum>> = fields
        .iter()
        .zip(texts)
        .map(|(field, text)| match (node.get(field.name), &text.fallback) {
            (Some(written), _) => text.form.read(written, &below(path, field.name), text.limits, problems),
            (None, Some(fallback)) => Some(fallback.clone()),
            (None, None) => missing(node, path, field, text, problems),
        })
        .collect();
    Some(Given::new(texts, data.into_iter().collect::<Option<Vec<_>>>()?))
}

/// Notes that a field is missing, in the words of built-in kinds.
fn missing(node: &Node, path: &str, field: &Field, text: &FieldText, problems: &mut Problems) -> Option<Datum> {
    match text.form {
        Form::Number => read_field::<f64>(node, path, field.name, (None, text.limits), problems).map(Datum::Number),
        _ => {
            let expected = format!("{}: {}", field.name, (field.schema)().type_name());
            problems.error(node.place, path, format!("no {}", field.name), expected);
            None
        }
    }
}

/// The values of all fields, and their copies as a plug-in gets them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Given {
    texts: &'static [FieldText],
    data: Vec<Datum>,
}

impl Given {
    pub(crate) fn new(texts: &'static [FieldText], data: Vec<Datum>) -> Self {
        Self { texts, data }
    }

    /// Numbers among the values, by name.
    pub(crate) fn numbers(&self, fields: &'static [Field]) -> Vec<(&'static str, f64)> {
        let named = fields.iter().zip(&self.data);
        named
            .filter_map(|(field, datum)| match datum {
                Datum::Number(value) => Some((field.name, *value)),
                Datum::Integer(value) => Some((field.name, *value as f64)),
                _ => None,
            })
            .collect()
    }

    /// Lends the values as a plug-in gets them.
    pub(crate) fn lend<R>(&self, take: impl FnOnce(&[MusterValue]) -> R) -> R {
        let c_texts: Vec<CString> = self
            .data
            .iter()
            .map(|datum| match datum {
                Datum::Text(text) => c_text(text),
                Datum::Choice(_, word) => c_text(word),
                _ => CString::default(),
            })
            .collect();
        let values: Vec<MusterValue> = self
            .texts
            .iter()
            .zip(&self.data)
            .zip(&c_texts)
            .map(|((field, datum), c_text)| value(field, datum, c_text))
            .collect();
        take(&values)
    }
}

/// A text as C wants it; what follows a zero byte is left out.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

fn value(field: &FieldText, datum: &Datum, c_text: &CString) -> MusterValue {
    let numbers: &[f64] = match datum {
        Datum::Numbers(numbers) => numbers,
        _ => &[],
    };
    MusterValue {
        size: abi::size_of::<MusterValue>(),
        r#type: field.form.number(),
        name: field.name.as_ptr(),
        number: match datum {
            Datum::Number(value) => *value,
            Datum::Integer(value) => *value as f64,
            _ => 0.0,
        },
        integer: match datum {
            Datum::Integer(value) => *value,
            Datum::Bool(value) => i64::from(*value),
            Datum::Choice(at, _) => *at as i64,
            _ => 0,
        },
        text: c_text.as_ptr(),
        numbers: numbers.as_ptr(),
        count: numbers.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_core::node::Entry;
    use proptest::prelude::*;

    const WORDS: &[&str] = &["left", "right", "straight on"];

    /// A field of every form, with the datum that a user writes for it.
    fn any_field() -> impl Strategy<Value = (Form, Datum)> {
        prop_oneof![
            any::<f64>()
                .prop_filter("finite", |value| value.is_finite())
                .prop_map(|value| (Form::Number, Datum::Number(value))),
            (-(1_i64 << 53)..1 << 53).prop_map(|value| (Form::Integer, Datum::Integer(value))),
            any::<bool>().prop_map(|value| (Form::Bool, Datum::Bool(value))),
            ".*".prop_filter("no zero", |text| !text.contains('\0')).prop_map(|text| (Form::Text, Datum::Text(text))),
            (0..WORDS.len()).prop_map(|at| (Form::Choice(WORDS), Datum::Choice(at, WORDS[at]))),
            (any::<bool>(), proptest::collection::vec(-1e9..1e9, 0..20)).prop_map(|(fixed, numbers)| {
                (Form::Numbers(fixed.then_some(numbers.len())), Datum::Numbers(numbers))
            }),
        ]
    }

    fn written(datum: &Datum) -> Node {
        Node::of(match datum {
            Datum::Number(value) => Value::Number(*value),
            Datum::Integer(value) => Value::Integer(*value),
            Datum::Bool(value) => Value::Bool(*value),
            Datum::Text(text) => Value::Text(text.clone()),
            Datum::Choice(_, word) => Value::Text((*word).to_owned()),
            Datum::Numbers(numbers) => {
                Value::List(numbers.iter().map(|value| Node::of(Value::Number(*value))).collect())
            }
        })
    }

    /// What a plug-in reads of a value.
    fn received(value: &MusterValue) -> Datum {
        assert_eq!(value.size, abi::size_of::<MusterValue>());
        // SAFETY: the values are lent as a plug-in gets them
        let text = || unsafe { CStr::from_ptr(value.text) }.to_str().expect("text").to_owned();
        match value.r#type {
            abi::NUMBER => Datum::Number(value.number),
            abi::INTEGER => Datum::Integer(value.integer),
            abi::BOOL => Datum::Bool(value.integer != 0),
            abi::TEXT => Datum::Text(text()),
            abi::CHOICE => {
                Datum::Choice(value.integer as usize, WORDS.iter().find(|word| **word == text()).expect("word"))
            }
            // SAFETY: see above
            _ => Datum::Numbers(unsafe { std::slice::from_raw_parts(value.numbers, value.count as usize) }.to_vec()),
        }
    }

    fn texts(fields: &[(Form, Datum)], fallback: bool) -> (&'static [Field], &'static [FieldText]) {
        let name = |at: usize| -> &'static CString { Box::leak(Box::new(c_text(&format!("field_{at}")))) };
        let limits = (f64::NEG_INFINITY, f64::INFINITY);
        let texts: Vec<FieldText> = fields
            .iter()
            .enumerate()
            .map(|(at, (form, datum))| FieldText {
                name: name(at),
                form: *form,
                fallback: fallback.then(|| datum.clone()),
                limits,
            })
            .collect();
        let field = |text: &FieldText| {
            let form = text.form;
            let name = text.name.to_str().expect("a name");
            let (schema, default) = (Box::leak(Box::new(move || form.schema(limits))), Box::leak(Box::new(|| None)));
            Field { name: Box::leak(name.to_owned().into_boxed_str()), doc: "", schema, default }
        };
        let fields: Vec<Field> = texts.iter().map(field).collect();
        (Box::leak(fields.into_boxed_slice()), Box::leak(texts.into_boxed_slice()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn what_a_user_writes_arrives_in_the_plugin(fields in proptest::collection::vec(any_field(), 0..8)) {
            let kinds = texts(&fields, false);
            let entries = fields.iter().zip(kinds.0).map(|((_, datum), field)| Entry {
                key: field.name.to_owned(),
                key_place: Default::default(),
                value: written(datum),
            });
            let node = Node::of(Value::Map(entries.collect()));
            let mut problems = Problems::default();
            let given = read(kinds, &node, "driver", &[], &mut problems).expect("all is sound");
            prop_assert!(problems.list().is_empty());
            let data: Vec<Datum> = given.lend(|values| values.iter().map(received).collect());
            prop_assert_eq!(data, fields.iter().map(|(_, datum)| datum.clone()).collect::<Vec<_>>());
        }

        #[test]
        fn what_is_not_written_is_the_fallback_or_missed(fields in proptest::collection::vec(any_field(), 1..8)) {
            let node = Node::of(Value::Map(Vec::new()));
            let given = read(texts(&fields, true), &node, "", &[], &mut Problems::default()).expect("fallbacks");
            let data: Vec<Datum> = given.lend(|values| values.iter().map(received).collect());
            prop_assert_eq!(data, fields.iter().map(|(_, datum)| datum.clone()).collect::<Vec<_>>());
            let mut problems = Problems::default();
            prop_assert!(read(texts(&fields, false), &node, "", &[], &mut problems).is_none());
            prop_assert_eq!(problems.errors(), fields.len(), "every one is named");
        }

        #[test]
        fn a_fallback_reads_as_it_is_shown((form, datum) in any_field()) {
            let shown = datum.show();
            let parsed = form.parse(&shown, (f64::NEG_INFINITY, f64::INFINITY));
            prop_assert_eq!(parsed, Ok(datum));
        }
    }

    #[test]
    fn what_does_not_fit_is_told_with_the_nearest_word() {
        let limits = (0.0, 1.0);
        let check = |form: Form, value: Value, expected: &str| {
            let mut problems = Problems::default();
            assert!(form.read(&Node::of(value), "driver.x", limits, &mut problems).is_none());
            let said = problems.list()[0].to_string();
            assert!(said.contains(expected), "{said}");
        };
        check(Form::Number, Value::Number(2.0), "expected number from 0 to 1");
        check(Form::Number, Value::Number(f64::NAN), "expected number");
        check(Form::Choice(WORDS), Value::Text("rigth".into()), "did you mean \"right\"?");
        check(Form::Numbers(Some(2)), Value::List(Vec::new()), "list of 2");
        check(Form::Bool, Value::Integer(1), "true or false");
    }
}
