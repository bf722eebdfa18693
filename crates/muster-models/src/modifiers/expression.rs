//! Expressions: a user's own modifier, written in the scenario.
//!
//! ```yaml
//! modifiers:
//!   - kind: expression
//!     state: {drift_m: "drift_m + 0.02 * noise * sqrt(period_s)"}
//!     set: {"position_m[2]": "value * 1.01 + drift_m", altitude_m: "min(value, 500)"}
//! ```
//!
//! `set` gives a field, or one number of it, a new value; on a field of several numbers each gets its own. `state` holds
//! numbers that are remembered from sample to sample, up to 16, which begin at 0. Expressions are those of `expect` and of
//! templates. They know
//!
//! - the fields of the sample, with an index for one number of several: `velocity_mps[0]`, `heading_rad`;
//! - the numbers of `state`;
//! - `value`: the number being set; `time_s`: when the sample was measured; `period_s`: time between two samples;
//!   `index`: number of the sample;
//! - `noise` and `uniform`: random numbers, standard normal and between 0 and 1, each mention one of its own.
//!
//! A field or a state hides a word of the same name. All is computed in the order written, first `state` and then `set`,
//! and each sees what those before it gave. For sensors that see several things `set` is computed for each of them, and
//! `state` once, with the fields of the first; without any it stays. A result that is no finite number loses the sample.

use super::{check_fields, stream};
use muster_core::component::{Kind, Modifier, Sample};
use muster_core::expression::{self, Argument};
use muster_core::lanes::Quantity;
use muster_core::node::{Node, Problems, Value};
use muster_core::random::Stream;
use muster_core::spec;
use muster_core::spec::{Parameter, Schema, Spec, below};
use std::sync::Arc;

/// Expressions by the name of what they are for, in the order written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rules(pub Vec<(String, expression::Expression)>);

impl Parameter for Rules {
    fn schema(min: f64, max: f64) -> Schema {
        Schema::MapOf(Box::new(Schema::Either(vec![Schema::Text, Schema::Number { min, max }])))
    }

    fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
        let Some(entries) = node.entries() else {
            problems.error(node.place, path, node.found(), Self::schema(limits.0, limits.1).type_name());
            return None;
        };
        let rules: Vec<Option<(String, expression::Expression)>> = entries
            .iter()
            .map(|entry| {
                let text = match &entry.value.value {
                    Value::Text(text) => text.clone(),
                    _ => entry.value.to_string(),
                };
                let parsed = expression::Expression::parse(&text).map_err(|error| {
                    let found = format!("{} in {text:?}", error.found);
                    problems.error(entry.value.place, &below(path, &entry.key), found, error.expected);
                });
                parsed.ok().map(|parsed| (entry.key.clone(), parsed))
            })
            .collect();
        rules.into_iter().collect::<Option<Vec<_>>>().map(Self)
    }

    fn show(&self) -> String {
        let shown: Vec<String> = self.0.iter().map(|(name, rule)| format!("{name}: {rule}")).collect();
        format!("{{{}}}", shown.join(", "))
    }
}

spec! {
    /// Expressions.
    pub struct Expression {
        /// What is remembered from sample to sample, by name.
        state: Rules = Rules::default();
        /// Fields that get a new value: `field` or `field[index]`.
        set: Rules = Rules::default();
    }
}

/// Expressions.
pub const KIND: Kind<dyn Modifier> = Kind {
    name: "expression",
    doc: "Fields get new values by expressions over the sample, time, random numbers and a state of their own: value, time_s, period_s, index, noise, uniform.",
    fields: Expression::FIELDS,
    build: &build,
};

/// The most numbers a modifier may remember.
const STATES_MAX: usize = 16;

const WORDS: [&str; 6] = ["value", "time_s", "period_s", "index", "noise", "uniform"];

/// Makes one if it does something and remembers no more than there is room for.
fn build(node: &Node, path: &str, also_valid: &[&str], problems: &mut Problems) -> Option<Arc<dyn Modifier>> {
    let expression = <Expression as Spec>::read(node, path, also_valid, problems)?;
    if expression.set.0.is_empty() {
        problems.error(node.place, path, "no set", "set: map of field to expression");
        return None;
    }
    if expression.state.0.len() > STATES_MAX {
        let found = format!("{} numbers", expression.state.0.len());
        problems.error(node.place, &below(path, "state"), found, format!("at most {STATES_MAX}"));
        return None;
    }
    Some(Arc::new(expression))
}

/// The name and the index of `field` or `field[index]`.
fn split(path: &str) -> (&str, Option<usize>) {
    match path.split_once('[') {
        Some((name, index)) => (name, index.strip_suffix(']').and_then(|index| index.parse().ok())),
        None => (path, None),
    }
}

/// Where the numbers of `field` or `field[index]` are in a record.
fn numbers_of(path: &str, fields: &[Quantity]) -> Option<std::ops::Range<usize>> {
    let (name, index) = split(path);
    let mut first = 0;
    for field in fields {
        if field.name == name {
            return match index {
                Some(index) => (index < field.len).then_some(first + index..first + index + 1),
                None if path.len() == name.len() => Some(first..first + field.len),
                None => None,
            };
        }
        first += field.len;
    }
    None
}

impl Expression {
    /// What an expression may not name.
    fn check_rule(&self, rule: &expression::Expression, fields: &[Quantity]) -> Result<(), String> {
        if let Some(unknown) = rule.functions().first() {
            let known: Vec<&str> = expression::FUNCTIONS.iter().map(|function| function.name).collect();
            return Err(format!(
                "one of the functions {} instead of {unknown} in {:?}",
                known.join(" "),
                rule.to_string()
            ));
        }
        for variable in rule.variables() {
            let own = self.state.0.iter().any(|(name, _)| name == variable) || WORDS.contains(&variable);
            let single = numbers_of(variable, fields).is_some_and(|numbers| numbers.len() == 1);
            if !single && !own {
                let names: Vec<String> = fields.iter().map(shown).collect();
                return Err(format!(
                    "one of {}, a number of state, or {} instead of {variable:?} in {:?}",
                    names.join(", "),
                    WORDS.join(", "),
                    rule.to_string()
                ));
            }
        }
        Ok(())
    }
}

/// A field as an expression names it.
fn shown(field: &Quantity) -> String {
    match field.len {
        1 => field.name.to_owned(),
        len => format!("{}[0] to [{}]", field.name, len - 1),
    }
}

impl Modifier for Expression {
    fn memory(&self, _: &[Quantity]) -> usize {
        self.state.0.len()
    }

    fn check(&self, fields: &[Quantity]) -> Result<(), String> {
        for (target, _) in &self.set.0 {
            check_fields(&[split(target).0.to_owned()], fields)?;
            if numbers_of(target, fields).is_none() {
                return Err(format!("an index within the field instead of {target:?}"));
            }
        }
        self.state.0.iter().chain(&self.set.0).try_for_each(|(_, rule)| self.check_rule(rule, fields))
    }

    fn modify(&self, sample: &mut Sample<'_>) -> bool {
        let record = Quantity::total(sample.fields).max(1);
        let mut draws = Draws { stream: stream(sample.stream), index: sample.index, next: 0 };
        let known = Known {
            fields: sample.fields,
            states: &self.state.0,
            time_s: sample.stamp.s(),
            period_s: sample.period_s,
            index: sample.index as f64,
        };
        let mut finite = true;
        for (number, record) in sample.values.chunks_exact_mut(record).enumerate() {
            for (at, (_, rule)) in self.state.0.iter().enumerate().filter(|_| number == 0) {
                let value = known.eval(rule, sample.memory[at], (record, sample.memory), &mut draws);
                finite &= value.is_finite();
                // a sample is lost by a number that is none, the memory is not
                if value.is_finite() {
                    sample.memory[at] = value;
                }
            }
            for (target, rule) in &self.set.0 {
                for at in numbers_of(target, sample.fields).into_iter().flatten() {
                    record[at] = known.eval(rule, record[at], (record, sample.memory), &mut draws);
                    finite &= record[at].is_finite();
                }
            }
        }
        finite
    }
}

/// Random numbers of one sample, one after another.
struct Draws {
    stream: Stream,
    index: u64,
    next: u32,
}

impl Draws {
    fn draw(&mut self, numbers: fn(Stream, u64, u32) -> [f64; 4]) -> f64 {
        self.next += 1;
        numbers(self.stream, self.index, self.next - 1)[0]
    }
}

/// What expressions know of a sample beside its numbers.
struct Known<'a> {
    fields: &'a [Quantity],
    states: &'a [(String, expression::Expression)],
    time_s: f64,
    period_s: f64,
    index: f64,
}

impl Known<'_> {
    /// The value of an expression; NaN where there is none, which checking excludes.
    fn eval(
        &self,
        rule: &expression::Expression,
        value: f64,
        (record, memory): (&[f64], &[f64]),
        draws: &mut Draws,
    ) -> f64 {
        let mut lookup = |path: &str| {
            if let Some(numbers) = numbers_of(path, self.fields) {
                return record.get(numbers.start).copied();
            }
            if let Some(at) = self.states.iter().position(|(name, _)| name == path) {
                return memory.get(at).copied();
            }
            match path {
                "value" => Some(value),
                "time_s" => Some(self.time_s),
                "period_s" => Some(self.period_s),
                "index" => Some(self.index),
                "noise" => Some(draws.draw(Stream::normals)),
                "uniform" => Some(draws.draw(Stream::uniforms)),
                _ => None,
            }
        };
        let mut call = |_: &str, _: &[Argument<'_>]| None;
        rule.eval(&mut lookup, &mut call).unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Chain, run};
    use super::*;

    const FIELDS: &[Quantity] = &[Quantity::many("position_m", 3), Quantity::one("range_m")];

    fn rules(pairs: &[(&str, &str)]) -> Rules {
        let parsed = |(name, text): &(&str, &str)| {
            ((*name).to_owned(), expression::Expression::parse(text).expect("an expression"))
        };
        Rules(pairs.iter().map(parsed).collect())
    }

    fn made(state: &[(&str, &str)], set: &[(&str, &str)]) -> Expression {
        let expression = Expression { state: rules(state), set: rules(set) };
        assert_eq!(expression.check(FIELDS), Ok(()));
        expression
    }

    #[test]
    fn fields_and_numbers_of_fields_get_new_values_in_order() {
        let expression = made(
            &[],
            &[
                ("position_m[2]", "position_m[2] * 2 + 1"),
                ("range_m", "value + position_m[2]"),
                ("position_m", "-value"),
            ],
        );
        // 3 · 2 + 1 = 7, then 4 + 7, then all of the position
        assert_eq!(run(&[&expression], FIELDS, &[1.0, 2.0, 3.0, 4.0], 1), [[-1.0, -2.0, -7.0, 11.0]]);
    }

    #[test]
    fn a_drift_grows_with_time() {
        let expression = made(&[], &[("range_m", "range_m + 0.5 * time_s"), ("position_m[0]", "index * period_s")]);
        let samples = run(&[&expression], FIELDS, &[0.0, 0.0, 0.0, 4.0], 201);
        assert!((samples[200][3] - 5.0).abs() < 1e-12);
        assert!((samples[200][0] - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_random_walk_has_the_deviation_of_its_steps() {
        let walk = made(&[("bias", "bias + 0.3 * noise * sqrt(period_s)")], &[("range_m", "value + bias")]);
        // 0.3 per √s over 4 s is 0.6
        let ends = (0..2000).map(|key| Chain::new(&walk, FIELDS, key).run(&[0.0, 0.0, 0.0, 1.0], 400)[3] - 1.0);
        let square: f64 = ends.map(|end| end * end).sum();
        let std = (square / 2000.0).sqrt();
        assert!((std / 0.6 - 1.0).abs() < 0.06, "{std}");
    }

    #[test]
    fn a_low_pass_forgets_with_its_time_constant() {
        let filter = made(&[("low", "low + (range_m - low) * 0.01")], &[("range_m", "low")]);
        let last = Chain::new(&filter, FIELDS, 1).run(&[0.0, 0.0, 0.0, 1.0], 100);
        assert!((last[3] - (1.0 - 0.99_f64.powi(100))).abs() < 1e-12, "{last:?}");
    }

    #[test]
    fn every_mention_of_noise_is_a_number_of_its_own() {
        let expression = made(&[], &[("range_m", "noise - noise"), ("position_m", "uniform")]);
        let samples = run(&[&expression], FIELDS, &[0.0; 4], 4000);
        let square: f64 = samples.iter().map(|sample| sample[3] * sample[3]).sum();
        assert!((square / 4000.0 / 2.0 - 1.0).abs() < 0.1, "{square}");
        assert!(samples.iter().all(|sample| sample[0] != sample[1] && (0.0..1.0).contains(&sample[2])));
    }

    #[test]
    fn things_seen_are_computed_each_for_itself() {
        let expression = made(&[("count", "count + 1")], &[("range_m", "value * 10 + count")]);
        let seen = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0];
        let last = Chain::new(&expression, FIELDS, 1).run(&seen, 3);
        assert_eq!((last[3], last[7]), (13.0, 23.0));
        assert!(run(&[&expression], FIELDS, &[], 1)[0].is_empty());
    }

    #[test]
    fn a_result_that_is_no_number_loses_the_sample() {
        let expression = made(&[], &[("range_m", "1 / value")]);
        assert_eq!(run(&[&expression], FIELDS, &[0.0, 0.0, 0.0, 0.0], 3).len(), 0);
        assert_eq!(run(&[&expression], FIELDS, &[0.0, 0.0, 0.0, 0.5], 3).len(), 3);
    }

    #[test]
    fn unknown_names_and_numbers_are_told() {
        let error = |state: &[(&str, &str)], set: &[(&str, &str)]| {
            Expression { state: rules(state), set: rules(set) }.check(FIELDS).unwrap_err()
        };
        assert_eq!(error(&[], &[("rnge_m", "1")]), "a field \"rnge_m\"");
        assert_eq!(error(&[], &[("position_m[3]", "1")]), "an index within the field instead of \"position_m[3]\"");
        assert!(error(&[], &[("range_m", "position_m")]).contains("position_m[0] to [2], range_m"));
        assert!(error(&[], &[("range_m", "distance(range_m, 1)")]).contains("instead of distance"));
        assert!(error(&[("a", "b")], &[("range_m", "a")]).contains("instead of \"b\""));
    }

    #[test]
    fn an_expression_that_is_none_is_told_with_its_place() {
        let mut set = Node::default();
        set.set("range_m", Node::of(Value::Text("1 +".to_owned())));
        let mut node = Node::default();
        node.set("set", set);
        let mut problems = Problems::default();
        assert!(build(&node, "scan.modifiers[0]", &[], &mut problems).is_none());
        let text = problems.list()[0].to_string();
        assert!(text.starts_with("scan.modifiers[0].set.range_m: found the end in \"1 +\", expected"), "{text}");
        let mut problems = Problems::default();
        assert!(build(&Node::default(), "", &[], &mut problems).is_none());
        assert!(problems.list()[0].to_string().contains("found no set"));
    }
}
