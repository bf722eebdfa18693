//! `{…}` templates in text: `scout{i}`, `"{10940 + i}"`, with `{{` and `}}` for braces themselves. What stands between
//! the braces is an [`Expression`] over the variables of a [`Scope`]. Only values are expanded, never keys, and what a
//! template gives is not expanded again.

use muster_core::expression::{EvalError, Expression, FUNCTIONS};
use muster_core::node::{Node, Place, Problem, Problems, Value, nearest};

/// The variables a template may name.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    variables: Vec<(String, Variable)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Variable {
    Number(f64),
    Text(String),
}

impl Scope {
    /// The scope with a number in it, replacing an earlier variable of that name.
    pub fn with_number(self, name: &str, value: f64) -> Self {
        self.with(name, Variable::Number(value))
    }

    /// The scope with a text in it, which a template can splice but not calculate with.
    pub fn with_text(self, name: &str, value: &str) -> Self {
        self.with(name, Variable::Text(value.to_owned()))
    }

    fn with(mut self, name: &str, value: Variable) -> Self {
        self.variables.retain(|(other, _)| other != name);
        self.variables.push((name.to_owned(), value));
        self
    }

    fn get(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.variables.iter().map(|(name, _)| name.as_str())
    }
}

/// The tree with every template expanded, or everything that was wrong.
pub fn expand(mut node: Node, scope: &Scope) -> Result<Node, Vec<Problem>> {
    let mut problems = Problems::default();
    expand_in(&mut node, scope, &mut problems);
    if problems.any_error() { Err(problems.list().to_vec()) } else { Ok(node) }
}

fn expand_in(node: &mut Node, scope: &Scope, problems: &mut Problems) {
    match &mut node.value {
        Value::Text(text) if text.contains(['{', '}']) => {
            let value = Template { text, place: node.place, scope, problems }.expand();
            node.value = value.unwrap_or_default();
        }
        Value::List(list) => list.iter_mut().for_each(|inner| expand_in(inner, scope, problems)),
        Value::Map(map) => map.iter_mut().for_each(|entry| expand_in(&mut entry.value, scope, problems)),
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Number(_) | Value::Text(_) => (),
    }
}

struct Template<'a> {
    text: &'a str,
    place: Place,
    scope: &'a Scope,
    problems: &'a mut Problems,
}

impl Template<'_> {
    /// None when a problem was noted.
    fn expand(&mut self) -> Option<Value> {
        let mut out = String::new();
        let mut rest = self.text;
        while let Some(at) = rest.find(['{', '}']) {
            out.push_str(&rest[..at]);
            let (brace, after) = rest[at..].split_at(1);
            if let Some(after) = after.strip_prefix(brace) {
                out.push_str(brace);
                rest = after;
                continue;
            }
            let Some((inside, after)) = after.split_once('}').filter(|_| brace == "{") else {
                return self.unbalanced(brace);
            };
            let value = self.evaluate(inside)?;
            if inside.len() + 2 == self.text.len() {
                return Some(value);
            }
            match value {
                Value::Text(text) => out.push_str(&text),
                value => out.push_str(&Node::of(value).to_string()),
            }
            rest = after;
        }
        out.push_str(rest);
        Some(Value::Text(out))
    }

    fn evaluate(&mut self, inside: &str) -> Option<Value> {
        let expression = match Expression::parse(inside) {
            Ok(expression) => expression,
            Err(error) => {
                let found = format!("{:?}, which is not an expression ({error})", format!("{{{inside}}}"));
                self.problem(found, "an expression between braces", Some(DOUBLED.to_owned()));
                return None;
            }
        };
        if let Some(Variable::Text(text)) = expression.as_path().and_then(|path| self.scope.get(path)) {
            return Some(Value::Text(text.clone()));
        }
        let mut lookup = |path: &str| match self.scope.get(path) {
            Some(Variable::Number(value)) => Some(*value),
            _ => None,
        };
        match expression.eval(&mut lookup, &mut |_, _| None) {
            Ok(value) if !value.is_finite() => {
                self.problem(format!("{{{inside}}}, which gives {value}"), "a finite number", None);
                None
            }
            Ok(value) if expression.is_truth() => Some(Value::Bool(value != 0.0)),
            Ok(value) => Some(number(value)),
            Err(error) => self.no_value(&error),
        }
    }

    fn no_value(&mut self, error: &EvalError) -> Option<Value> {
        let (name, what, names): (_, _, Vec<&str>) = match error {
            EvalError::Variable(name) if matches!(self.scope.get(name), Some(Variable::Text(_))) => {
                self.problem(format!("the text {name} in a calculation"), "a number", None);
                return None;
            }
            EvalError::Variable(name) => (name, "a variable", self.scope.names().collect()),
            EvalError::Call(name) => (name, "a function", FUNCTIONS.iter().map(|function| function.name).collect()),
        };
        let hint = match nearest(name, names.iter().copied()) {
            Some(near) => Some(format!("did you mean {near:?}?")),
            None if name.contains('-') => Some("to subtract, write spaces around the minus".to_owned()),
            None => None,
        };
        self.problem(format!("{name:?} in {:?}", self.text), format!("{what}: {}", names.join(", ")), hint);
        None
    }

    fn unbalanced(&mut self, brace: &str) -> Option<Value> {
        let found = format!("{:?}, where a {brace:?} has no partner", self.text);
        self.problem(found, "braces in pairs around an expression", Some(DOUBLED.to_owned()));
        None
    }

    fn problem(&mut self, found: String, expected: impl Into<String>, hint: Option<String>) {
        self.problems.error_with_hint(self.place, "", found, expected, hint);
    }
}

const DOUBLED: &str = "write {{ and }} for braces themselves";

/// Whole numbers become integers as far as a float counts without gaps.
fn number(value: f64) -> Value {
    const GAPLESS: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    if value.fract() == 0.0 && value.abs() <= GAPLESS { Value::Integer(value as i64) } else { Value::Number(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::parse;

    fn scope() -> Scope {
        Scope::default().with_number("i", 3.0).with_number("n", 20.0).with_text("name", "scout3")
    }

    fn check(text: &str, expected: Value) {
        assert_eq!(expand(Node::of(Value::Text(text.to_owned())), &scope()).unwrap().value, expected);
    }

    fn fault(text: &str) -> String {
        expand(Node::of(Value::Text(text.to_owned())), &scope()).unwrap_err()[0].to_string()
    }

    fn text(value: &str) -> Value {
        Value::Text(value.to_owned())
    }

    #[test]
    fn text_is_spliced_and_integers_have_no_decimals() {
        check("scout{i}", text("scout3"));
        check("{name}/scan of {n}, {i / 2}", text("scout3/scan of 20, 1.5"));
        check("{name}", text("scout3"));
        check("{i}{i}", text("33"));
    }

    #[test]
    fn a_lone_template_becomes_its_value() {
        check("{10940 + i}", Value::Integer(10943));
        check("{ i / 2 }", Value::Number(1.5));
        check("{i == 3}", Value::Bool(true));
        check("{2 ^ 60}", Value::Number(2.0_f64.powi(60)));
    }

    #[test]
    fn doubled_braces_are_braces() {
        check("{{i}} is {i}", text("{i} is 3"));
        check("{{", text("{"));
        check("}}{{", text("}{"));
    }

    #[test]
    fn the_whole_tree_is_expanded_but_not_its_keys() {
        let node = parse("robots: [{name: 'scout{i}', port: '{10940 + i}', 'k{i}': plain}]", 0).unwrap();
        let expanded = expand(node, &scope()).unwrap().to_string();
        assert_eq!(expanded, "{robots: [{name: \"scout3\", port: 10943, k{i}: \"plain\"}]}");
    }

    #[test]
    fn all_problems_are_found_with_their_places() {
        let node = parse("a: 'x{j}'\nb: [1, '{nam}']\n", 4).unwrap();
        let problems = expand(node, &scope()).unwrap_err();
        assert_eq!(problems.len(), 2);
        assert_eq!((problems[1].place.file, problems[1].place.line, problems[1].place.column), (4, 2, 8));
        assert_eq!(problems[1].hint.as_deref(), Some("did you mean \"name\"?"));
    }

    #[test]
    fn each_fault_is_explained() {
        assert_eq!(
            fault("x{i"),
            "found \"x{i\", where a \"{\" has no partner, expected braces in pairs around an expression (write {{ and }} for braces themselves)"
        );
        assert!(fault("a } b").contains("where a \"}\" has no partner"));
        assert!(fault("{a b}").contains("\"{a b}\", which is not an expression (column 3: found \"b\""));
        assert!(fault("{}").contains("found the end, expected a value"));
        assert!(fault("{i-1}").contains("write spaces around the minus"));
        assert!(fault("{abz(i)}").contains("did you mean \"abs\"?"));
        assert_eq!(fault("{name + 1}"), "found the text name in a calculation, expected a number");
        assert_eq!(fault("{1 / 0}"), "found {1 / 0}, which gives inf, expected a finite number");
    }
}
