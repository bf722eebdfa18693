//! Configuration as a tree of values that remember where they were written, and the problems found in it.
//! Parsers make [`Node`]s, [`mod@crate::spec`] turns them into typed specifications; neither stops at the first problem.

use std::fmt;

/// Where something was written. `file` counts in the loader's list of files; lines and columns start at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Place {
    /// Which file, as an index into the loader's list.
    pub file: u16,
    /// Line, from 1; 0 when the value was written in no file (a default, a command line).
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Node {
    /// What was written.
    pub value: Value,
    /// Where.
    pub place: Place,
}

/// What can be written.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// Nothing, `null` or `~`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a point or an exponent.
    Number(f64),
    /// Text.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A map, in the order written, keys unique.
    Map(Vec<Entry>),
}

/// One key of a map and its value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_place: Place,
    /// The value.
    pub value: Node,
}

impl Node {
    /// A node with this value that stands in no file.
    pub fn of(value: Value) -> Self {
        Self { value, place: Place::default() }
    }

    /// The entries if this is a map; `Null` counts as an empty map.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            Value::Null => Some(&[]),
            _ => None,
        }
    }

    /// The value of a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries()?.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// The text, if this is text.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Sets a key of a map (a `Null` becomes a map), replacing an earlier value.
    pub fn set(&mut self, key: &str, value: Node) {
        if !matches!(self.value, Value::Map(_)) {
            self.value = Value::Map(Vec::new());
        }
        if let Value::Map(entries) = &mut self.value {
            match entries.iter_mut().find(|entry| entry.key == key) {
                Some(entry) => entry.value = value,
                None => entries.push(Entry { key: key.to_owned(), key_place: value.place, value }),
            }
        }
    }

    /// Removes a key of a map and returns its value.
    pub fn take(&mut self, key: &str) -> Option<Node> {
        let Value::Map(entries) = &mut self.value else { return None };
        let at = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(at).value)
    }

    /// What was found here, for a message: the value if it is short, else its kind.
    pub fn found(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Number(value) => value.to_string(),
            Value::Text(text) if text.chars().count() <= 60 => format!("{text:?}"),
            Value::Text(_) => "a long text".to_owned(),
            Value::List(list) => format!("a list of {}", list.len()),
            Value::Map(map) => format!("a map of {} keys", map.len()),
        }
    }
}

/// The same text for equal values wherever they stand: used to see that two robots share one blueprint.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Integer(value) => write!(f, "{value}"),
            Value::Number(value) => write!(f, "{value:?}"),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::List(list) => {
                f.write_str("[")?;
                for (index, node) in list.iter().enumerate() {
                    write!(f, "{}{node}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
            Value::Map(map) => {
                f.write_str("{")?;
                for (index, entry) in map.iter().enumerate() {
                    write!(f, "{}{}: {}", if index > 0 { ", " } else { "" }, entry.key, entry.value)?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Something wrong in a configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// The dotted path of the thing concerned, for example `robots[2].motion.rate_hz`; may be empty.
    pub path: String,
    /// What was found.
    pub found: String,
    /// What was expected instead.
    pub expected: String,
    /// The nearest valid name, or another hint on how to mend it.
    pub hint: Option<String>,
    /// A warning lets the run go on.
    pub warning: bool,
    /// A plug-in was refused.
    pub refused: bool,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "found {}, expected {}", self.found, self.expected)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// All problems found so far; reading goes on after each.
#[derive(Debug, Clone, Default)]
pub struct Problems {
    list: Vec<Problem>,
}

impl Problems {
    /// Notes an error.
    pub fn error(&mut self, place: Place, path: &str, found: impl Into<String>, expected: impl Into<String>) {
        self.push(place, path, found.into(), expected.into(), None);
    }

    /// Notes an error with a hint on how to mend it.
    pub fn error_with_hint(
        &mut self,
        place: Place,
        path: &str,
        found: impl Into<String>,
        expected: impl Into<String>,
        hint: Option<String>,
    ) {
        self.push(place, path, found.into(), expected.into(), hint);
    }

    /// Notes a name that is not among the valid ones, with the nearest of them.
    pub fn unknown<'a>(
        &mut self,
        place: Place,
        path: &str,
        found: &str,
        what: &str,
        valid: impl Iterator<Item = &'a str> + Clone,
    ) {
        let hint = nearest(found, valid.clone()).map(|name| format!("did you mean {name:?}?"));
        let names: Vec<&str> = valid.collect();
        let expected = match names.len() {
            0 => format!("{what} (there is none)"),
            1..=20 => format!("{what}: {}", names.join(", ")),
            _ => format!("{what} (one of {})", names.len()),
        };
        self.push(place, path, format!("{found:?}"), expected, hint);
    }

    /// Notes something questionable that does not stop a run.
    pub fn warn(&mut self, place: Place, path: &str, found: impl Into<String>, expected: impl Into<String>) {
        self.push(place, path, found.into(), expected.into(), None);
        if let Some(last) = self.list.last_mut() {
            last.warning = true;
        }
    }

    /// Notes that a plug-in cannot be used.
    pub fn refuse(&mut self, place: Place, path: &str, found: impl Into<String>, expected: impl Into<String>) {
        self.push(place, path, found.into(), expected.into(), None);
        if let Some(last) = self.list.last_mut() {
            last.refused = true;
        }
    }

    /// The problems, in the order found.
    pub fn list(&self) -> &[Problem] {
        &self.list
    }

    /// How many of the problems are errors.
    pub fn errors(&self) -> usize {
        self.list.iter().filter(|problem| !problem.warning).count()
    }

    /// True when one of the problems is an error.
    pub fn any_error(&self) -> bool {
        self.errors() > 0
    }

    fn push(&mut self, place: Place, path: &str, found: String, expected: String, hint: Option<String>) {
        self.list.push(Problem { place, path: path.to_owned(), found, expected, hint, warning: false, refused: false });
    }
}

/// True if `name` matches a pattern in which `*` stands for any text.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name
            .strip_prefix(head)
            .is_some_and(|rest| (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches(tail, &rest[at..]))),
    }
}

/// The valid name nearest to `name`, if one is near enough to be meant (at most a third of its letters differ, or only
/// the unit at its end is missing).
pub fn nearest<'a>(name: &str, valid: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |candidate: &str| match candidate.strip_prefix(name) {
        Some(unit) if unit.starts_with('_') => 1,
        _ => edits(&name.to_lowercase(), &candidate.to_lowercase()),
    };
    valid
        .map(|candidate| (distance(candidate), candidate))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, candidate)| distance * 3 <= candidate.chars().count().max(name.chars().count()))
        .map(|(_, candidate)| candidate)
}

/// Number of insertions, deletions, replacements and swaps of neighbours between two words (optimal string alignment).
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_text() {
        for (pattern, name, expected) in [
            ("scout*", "scout12", true),
            ("*", "", true),
            ("s*t*2", "scout12", true),
            ("scout", "scout1", false),
            ("a*", "b", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn nearest_name_is_the_one_with_fewest_edits_and_none_when_far() {
        let valid = ["quadrotor", "differential", "point"];
        assert_eq!(nearest("quadrotr", valid.into_iter()), Some("quadrotor"));
        assert_eq!(nearest("diferentail", valid.into_iter()), Some("differential"));
        assert_eq!(nearest("submarine", valid.into_iter()), None);
        assert_eq!(nearest("speed", ["kind", "speed_mps"].into_iter()), Some("speed_mps"), "the unit was forgotten");
    }

    #[test]
    fn a_problem_names_path_found_expected_and_hint() {
        let mut problems = Problems::default();
        problems.unknown(Place::default(), "robots[0].kind", "pont", "a motion", ["point"].into_iter());
        let text = problems.list()[0].to_string();
        assert_eq!(text, "robots[0].kind: found \"pont\", expected a motion: point (did you mean \"point\"?)");
    }
}
