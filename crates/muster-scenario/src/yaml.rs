//! YAML 1.2 text (core schema) to [`Node`]s that remember line and column. It reads no file and knows no key's
//! meaning, except the merge key `<<`. It never panics, and what it makes is bounded in bytes, values and depth, so
//! that aliases of aliases cannot fill the memory.

use std::collections::BTreeMap;

use muster_core::node::{Entry, Node, Place, Problem, Problems, Value};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

/// Longest text read, in bytes.
pub const BYTES_MAX: usize = 64 * 1024 * 1024;
/// Most values in one file once its aliases are written out.
pub const NODES_MAX: usize = 1_000_000;
/// Most levels of maps and lists inside each other.
pub const DEPTH_MAX: usize = 64;

/// Reads a text; `file` goes into every place. An empty text gives `Null`.
pub fn parse(text: &str, file: u16) -> Result<Node, Vec<Problem>> {
    let mut problems = Problems::default();
    let start = Place { file, line: 1, column: 1 };
    if text.len() > BYTES_MAX {
        let found = format!("a text of {} bytes", text.len());
        problems.error(start, "", found, format!("at most {} MB", BYTES_MAX / 1024 / 1024));
        return Err(problems.list().to_vec());
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parser = Parser::new_from_str(text);
    let mut reader = Reader { text, parser, file, problems, anchors: BTreeMap::new(), size: Size::default(), depth: 0 };
    // A `Stop` has left its problem in the list.
    let node = reader.stream(start);
    match node {
        Ok(node) if reader.problems.list().is_empty() => Ok(node),
        _ => Err(reader.problems.list().to_vec()),
    }
}

/// How much memory a tree takes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Size {
    /// Values.
    pub(crate) nodes: usize,
    /// Bytes of text and keys.
    pub(crate) bytes: usize,
    /// Levels of maps and lists.
    pub(crate) depth: usize,
}

impl Size {
    pub(crate) fn of(node: &Node) -> Self {
        let mut size = Self { nodes: 1, ..Self::default() };
        match &node.value {
            Value::Text(text) => size.bytes = text.len(),
            Value::List(list) => list.iter().for_each(|inner| size.hold(Self::of(inner))),
            Value::Map(map) => map.iter().for_each(|entry| {
                size.bytes += entry.key.len();
                size.hold(Self::of(&entry.value));
            }),
            Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Number(_) => (),
        }
        size
    }

    /// Counts a tree one level below.
    fn hold(&mut self, inner: Self) {
        self.nodes += inner.nodes;
        self.bytes += inner.bytes;
        self.depth = self.depth.max(inner.depth + 1);
    }
}

/// Reading cannot go on; the problem is already noted.
struct Stop;

type Read<T> = Result<T, Stop>;
type Spanned<'a> = (Event<'a>, Span);

struct Reader<'a> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
    file: u16,
    problems: Problems,
    /// Values by the parser's number of their anchor, complete ones only.
    anchors: BTreeMap<usize, (Node, Size)>,
    /// What was made so far; the bytes count text copied for aliases only, the rest is bounded by the file.
    size: Size,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn stream(&mut self, start: Place) -> Read<Node> {
        let mut document = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => break,
                Event::DocumentStart(_) if document.is_some() => {
                    let place = self.place(span.start);
                    return self.stop(place, "a second document", "one document in a file");
                }
                Event::StreamStart | Event::Nothing | Event::DocumentStart(_) | Event::DocumentEnd => (),
                _ => document = Some(self.node((event, span))?),
            }
        }
        Ok(document.unwrap_or(Node { value: Value::Null, place: start }))
    }

    fn next(&mut self) -> Read<Spanned<'a>> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => self.refuse(&error),
            None => self.stop(Place { file: self.file, line: 1, column: 1 }, "the end of the text", "a value"),
        }
    }

    fn node(&mut self, (event, span): Spanned<'a>) -> Read<Node> {
        let place = self.place(span.start);
        self.count(place, Size { nodes: 1, ..Size::default() })?;
        let (anchor, value) = match event {
            Event::Alias(anchor) => return self.alias(anchor, place),
            Event::Scalar(text, style, anchor, tag) => (anchor, self.scalar(&text, style, tag.as_deref(), place)),
            Event::SequenceStart(anchor, tag) => {
                self.collection_tag(tag.as_deref(), "seq", place);
                (anchor, self.nested(place, Self::list)?)
            }
            Event::MappingStart(anchor, tag) => {
                self.collection_tag(tag.as_deref(), "map", place);
                (anchor, self.nested(place, Self::map)?)
            }
            // The parser sends no other event where a value stands.
            _ => return self.stop(place, "the end of a document", "a value"),
        };
        let node = Node { value, place };
        if anchor > 0 {
            let size = Size::of(&node);
            // The copy kept for aliases counts too: anchors inside anchors are kept once per level.
            self.count(place, size)?;
            self.anchors.insert(anchor, (node.clone(), size));
        }
        Ok(node)
    }

    fn nested(&mut self, place: Place, inner: fn(&mut Self) -> Read<Value>) -> Read<Value> {
        self.depth += 1;
        self.count(place, Size::default())?;
        let value = inner(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// Notes what is about to be made and stops when it is too much.
    fn count(&mut self, place: Place, more: Size) -> Read<()> {
        self.size.nodes += more.nodes;
        self.size.bytes += more.bytes;
        if self.depth + more.depth > DEPTH_MAX {
            return self.stop(place, "more levels of maps and lists", format!("at most {DEPTH_MAX}"));
        }
        if self.size.nodes > NODES_MAX {
            return self.stop(place, "more values, with aliases written out", format!("at most {NODES_MAX}"));
        }
        if self.size.bytes > BYTES_MAX {
            let expected = format!("at most {} MB", BYTES_MAX / 1024 / 1024);
            return self.stop(place, "more text, with aliases written out", expected);
        }
        Ok(())
    }

    /// A copy of an anchored value, which keeps the places where it was written.
    fn alias(&mut self, anchor: usize, place: Place) -> Read<Node> {
        let Some(&(_, size)) = self.anchors.get(&anchor) else {
            return self.stop(place, "an alias inside its own anchor", "an alias of a complete value");
        };
        self.count(place, size)?;
        Ok(self.anchors.get(&anchor).map(|(node, _)| node.clone()).unwrap_or_default())
    }

    fn list(&mut self) -> Read<Value> {
        let mut list = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::List(list)),
                event => list.push(self.node(event)?),
            }
        }
    }

    fn map(&mut self) -> Read<Value> {
        let mut entries = Vec::new();
        let mut seen = BTreeMap::new();
        let mut inherited = None;
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            let merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, ..) if text == "<<");
            let key_place = self.place(span.start);
            let key = self.key((event, span))?;
            let event = self.next()?;
            let value = self.node(event)?;
            let Some(key) = key else { continue };
            if let Some(line) = seen.get(&key) {
                self.duplicate(&key, key_place, *line);
            } else {
                seen.insert(key.clone(), key_place.line);
                if merge {
                    inherited = Some(self.inherited(value));
                } else {
                    entries.push(Entry { key, key_place, value });
                }
            }
        }
        Ok(Value::Map(with_inherited(inherited.unwrap_or_default(), entries)))
    }

    /// The text of a key; none, with a problem noted, when it is not a text or a whole number.
    fn key(&mut self, (event, span): Spanned<'a>) -> Read<Option<String>> {
        let place = self.place(span.start);
        let written = match &event {
            Event::Scalar(text, style, 0, None) => {
                if *style != ScalarStyle::Plain || is_integer(text) {
                    return Ok(Some(text.to_string()));
                }
                Some(text.to_string())
            }
            _ => None,
        };
        let node = self.node((event, span))?;
        match node.value {
            Value::Text(text) => Ok(Some(text)),
            Value::Integer(value) => Ok(Some(value.to_string())),
            _ => {
                let found = written.filter(|text| !text.is_empty()).unwrap_or_else(|| node.found());
                let hint = Some("put quotes around it if it is a name".to_owned());
                self.problems.error_with_hint(place, "", format!("{found} as a key"), "a text", hint);
                Ok(None)
            }
        }
    }

    fn duplicate(&mut self, key: &str, place: Place, first_line: u32) {
        let found = format!("the key {key:?} a second time, on line {}", place.line);
        self.problems.error(place, "", found, format!("each key once (it is first on line {first_line})"));
    }

    /// The entries that `<<: value` brings: those of a map, or of a list of maps of which the first wins.
    fn inherited(&mut self, value: Node) -> Vec<Entry> {
        match value.value {
            Value::Map(entries) => entries,
            Value::List(list) => {
                let maps: Vec<Vec<Entry>> = list.into_iter().map(|node| self.inherited_map(node)).collect();
                maps.into_iter().rev().fold(Vec::new(), with_inherited)
            }
            _ => self.inherited_map(value),
        }
    }

    fn inherited_map(&mut self, node: Node) -> Vec<Entry> {
        match node.value {
            Value::Map(entries) => entries,
            _ => {
                self.problems.error(node.place, "", node.found(), "a map (or a list of maps) to merge with <<");
                Vec::new()
            }
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, place: Place) -> Value {
        let plain = style == ScalarStyle::Plain;
        let value = if plain { resolve(text) } else { Some(Value::Text(text.to_owned())) };
        let Some(tag) = tag else { return self.in_range(value, text, place) };
        let name = if tag.is_yaml_core_schema() { tag.suffix.as_str() } else { "" };
        match (name, value) {
            ("str", _) => Value::Text(text.to_owned()),
            ("float", Some(Value::Integer(value))) => Value::Number(value as f64),
            ("float", Some(value @ Value::Number(_)))
            | ("int", Some(value @ Value::Integer(_)))
            | ("bool", Some(value @ Value::Bool(_)))
            | ("null", Some(value @ Value::Null)) => value,
            ("" | "seq" | "map", _) => self.unknown_tag(tag, place),
            _ => {
                self.problems.error(place, "", format!("{text:?}"), format!("a value for the tag !!{name}"));
                Value::Null
            }
        }
    }

    fn in_range(&mut self, value: Option<Value>, text: &str, place: Place) -> Value {
        value.unwrap_or_else(|| {
            let expected = format!("a whole number from {} to {}", i64::MIN, i64::MAX);
            let hint = Some("put quotes around it if it is a text, write a point if it may be rounded".to_owned());
            self.problems.error_with_hint(place, "", text, expected, hint);
            Value::Null
        })
    }

    fn collection_tag(&mut self, tag: Option<&Tag>, wanted: &str, place: Place) {
        match tag {
            Some(tag) if !(tag.is_yaml_core_schema() && tag.suffix == wanted) => {
                self.unknown_tag(tag, place);
            }
            _ => (),
        }
    }

    fn unknown_tag(&mut self, tag: &Tag, place: Place) -> Value {
        let found = format!("the tag {:?}", format!("{}{}", tag.handle, tag.suffix));
        self.problems.error(place, "", found, "no tag, or one of !!str !!int !!float !!bool !!null !!seq !!map");
        Value::Null
    }

    fn place(&self, marker: Marker) -> Place {
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Place { file: self.file, line: number(marker.line()), column: number(marker.col().saturating_add(1)) }
    }

    fn stop<T>(&mut self, place: Place, found: impl Into<String>, expected: impl Into<String>) -> Read<T> {
        self.problems.error(place, "", found, expected);
        Err(Stop)
    }

    fn refuse<T>(&mut self, error: &ScanError) -> Read<T> {
        let (place, here) = self.spot(error);
        let found = match here {
            None => "the end of the text".to_owned(),
            Some('\t') => "a tab".to_owned(),
            Some('\n' | '\r') => "the end of the line".to_owned(),
            Some(character) => format!("{character:?}"),
        };
        let (expected, hint) = explain(error.info(), here);
        self.problems.error_with_hint(place, "", found, expected, hint);
        Err(Stop)
    }

    /// Where a complaint of the parser is best shown, and the character there.
    fn spot(&self, error: &ScanError) -> (Place, Option<char>) {
        let mut place = self.place(*error.marker());
        let index = error.marker().index();
        let here = self.text.chars().nth(index);
        // The parser counts a line after the last one, where there is nothing to show.
        if here.is_none() {
            return (end(self.text, self.file), here);
        }
        // It notices some tabs only after it has passed them, and tells of others where the text before them begins.
        let tabs =
            self.text.chars().take(index).fold(0, |tabs, character| if character == '\t' { tabs + 1 } else { 0 });
        if here != Some('\t') && tabs > 0 {
            place.column -= tabs.min(place.column - 1);
            return (place, Some('\t'));
        }
        if error.info().contains("found a tab")
            && let Some(ahead) = self.text.chars().skip(index).position(|character| character == '\t')
        {
            return (place_of(self.text.chars().take(index + ahead), self.file), Some('\t'));
        }
        (place, here)
    }
}

/// The place after the last character that is not blank.
fn end(text: &str, file: u16) -> Place {
    place_of(text.trim_end().chars(), file)
}

/// The place after these characters.
fn place_of(before: impl Iterator<Item = char>, file: u16) -> Place {
    let text = before.collect::<String>().replace("\r\n", "\n").replace('\r', "\n");
    let last = text.rsplit('\n').next().unwrap_or_default();
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Place { file, line: number(text.matches('\n').count() + 1), column: number(last.chars().count() + 1) }
}

/// `own` entries after those inherited ones whose keys they do not set.
fn with_inherited(mut inherited: Vec<Entry>, own: Vec<Entry>) -> Vec<Entry> {
    if inherited.is_empty() {
        return own;
    }
    let keys: std::collections::BTreeSet<&str> = own.iter().map(|entry| entry.key.as_str()).collect();
    inherited.retain(|entry| !keys.contains(entry.key.as_str()));
    inherited.extend(own);
    inherited
}

/// What the parser's complaint means for someone who writes a scenario: (part of the complaint, expected, hint).
const EXPLAINED: &[(&str, &str, &str)] = &[
    ("unknown anchor", "an anchor (&name) written before its alias (*name)", "put quotes around a text with *"),
    ("',' or '}'", "',' or '}' in a map between braces", ""),
    ("',' or ']'", "',' or ']' in a list between brackets", ""),
    ("illegal placement of ':'", "',' or ']' in a list between brackets", "a bracket above may lack its partner"),
    ("mapping values are not allowed", "one `key: value` on a line", "put quotes around a text with ': '"),
    ("block mapping, did not find", "a key at the same indentation as the keys above", ""),
    ("did not find expected '-'", "'-' at the same indentation as the items above", ""),
    ("end of stream", "a closing quote for this text", ""),
    ("unknown escape", "a known escape such as \\n or \\\\", "a text in single quotes has no escapes"),
    ("simple key expect", "':' after a key", ""),
    ("simple key expected", "a key on one line, followed by ':'", ""),
    ("flow construct", "the lines between brackets or braces indented", ""),
    ("recursion limit", "at most 64 levels of maps and lists", ""),
    ("quoted scalar, found", "a well-formed text in quotes", ""),
];

fn explain(info: &str, here: Option<char>) -> (String, Option<String>) {
    if here == Some('\t') {
        return ("spaces".to_owned(), Some("YAML is indented with spaces, not tabs".to_owned()));
    }
    match EXPLAINED.iter().find(|(part, ..)| info.contains(part)) {
        Some((_, expected, hint)) => ((*expected).to_owned(), Some((*hint).to_owned()).filter(|hint| !hint.is_empty())),
        None => ("valid YAML".to_owned(), Some(info.to_owned())),
    }
}

/// The value of a plain scalar in the core schema; none for a whole number that does not fit.
fn resolve(text: &str) -> Option<Value> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Value::Number(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Value::Number(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Value::Number(f64::NEG_INFINITY),
        _ if is_integer(text) => Value::Integer(integer(text)?),
        _ if is_number(text) => text.parse().map_or_else(|_| Value::Text(text.to_owned()), Value::Number),
        _ => Value::Text(text.to_owned()),
    })
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

fn all(text: &str, wanted: fn(&char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(|character| wanted(&character))
}

fn is_integer(text: &str) -> bool {
    match (text.strip_prefix("0x"), text.strip_prefix("0o")) {
        (Some(digits), _) => all(digits, char::is_ascii_hexdigit),
        (_, Some(digits)) => all(digits, |character| matches!(character, '0'..='7')),
        _ => all(unsigned(text), char::is_ascii_digit),
    }
}

fn integer(text: &str) -> Option<i64> {
    match (text.strip_prefix("0x"), text.strip_prefix("0o")) {
        (Some(digits), _) => i64::from_str_radix(digits, 16).ok(),
        (_, Some(digits)) => i64::from_str_radix(digits, 8).ok(),
        _ => text.parse().ok(),
    }
}

/// `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
fn is_number(text: &str) -> bool {
    let digits = |text: &str| text.chars().all(|character| character.is_ascii_digit());
    let (mantissa, exponent) = match unsigned(text).split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(unsigned(exponent))),
        None => (unsigned(text), None),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digit = !whole.is_empty() || !part.is_empty();
    has_digit && digits(whole) && digits(part) && exponent.is_none_or(|text| !text.is_empty() && digits(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        parse(text, 0).unwrap().value
    }

    fn faults(text: &str) -> Vec<String> {
        let list = parse(text, 0).unwrap_err();
        list.iter().map(|problem| format!("{}:{}: {problem}", problem.place.line, problem.place.column)).collect()
    }

    #[test]
    fn scalars_follow_the_core_schema() {
        let Value::List(list) = value("[~, null, '', true, False, 12, -7, +3, 0x1F, 0o17, 1.5, 1e3, -.5, 2.]") else {
            panic!("not a list")
        };
        let text: Vec<String> = list.iter().map(ToString::to_string).collect();
        let expected =
            ["null", "null", "\"\"", "true", "false", "12", "-7", "3", "31", "15", "1.5", "1000.0", "-0.5", "2.0"];
        assert_eq!(text, expected);
        assert_eq!(value("-.inf"), Value::Number(f64::NEG_INFINITY));
        assert!(matches!(value(".nan"), Value::Number(number) if number.is_nan()));
        for plain in ["1e", ".", "-", "e5", "0x", "0b1", "yes", "nan", "1.2.3", "1_000", "- 1x"] {
            assert!(matches!(value(plain), Value::Text(_) | Value::List(_)), "{plain}");
        }
    }

    #[test]
    fn quoted_scalars_are_text() {
        for text in ["'12'", "\"12\"", "|-\n  12", ">-\n  12", "!!str 12"] {
            assert_eq!(value(text), Value::Text("12".to_owned()));
        }
    }

    #[test]
    fn every_node_and_key_has_line_and_column() {
        let node = parse("a: 1\nbc:\n  - x\n  - {d: \"y\"}\n", 3).unwrap();
        let entries = node.entries().unwrap();
        let at = |place: Place| (place.file, place.line, place.column);
        assert_eq!((at(entries[0].key_place), at(entries[0].value.place)), ((3, 1, 1), (3, 1, 4)));
        assert_eq!((at(entries[1].key_place), at(entries[1].value.place)), ((3, 2, 1), (3, 3, 3)));
        let Value::List(list) = &entries[1].value.value else { panic!("not a list") };
        assert_eq!((at(list[0].place), at(list[1].place)), ((3, 3, 5), (3, 4, 5)));
        assert_eq!(at(list[1].get("d").unwrap().place), (3, 4, 9));
    }

    #[test]
    fn all_duplicate_keys_are_named_with_both_lines() {
        let list = faults("a: 1\nb: 2\na: 3\nc: {x: 1, 'x': 2}\na: 4\n");
        let second = |line, column, key: &str, first| {
            let found = format!("found the key {key:?} a second time, on line {line}");
            format!("{line}:{column}: {found}, expected each key once (it is first on line {first})")
        };
        assert_eq!(list, [second(3, 1, "a", 1), second(4, 11, "x", 4), second(5, 1, "a", 1)]);
    }

    #[test]
    fn keys_are_text_or_whole_numbers() {
        assert_eq!(parse("{1: a, 0x10: b, '2': c, \"\": d}", 0).unwrap().to_string(), {
            "{1: \"a\", 0x10: \"b\", 2: \"c\", : \"d\"}"
        });
        let list = faults("true: 1\n1.5: 2\n[a]: 3\n~: 4\n");
        assert_eq!(list.len(), 4);
        assert_eq!(list[0], "1:1: found true as a key, expected a text (put quotes around it if it is a name)");
    }

    #[test]
    fn aliases_copy_and_merge_keys_inherit() {
        let node = parse("base: &b {x: 1, y: 2}\nmore: &m {y: 5, z: 6}\none: {<<: *b, y: 3}\ntwo: {<<: [*m, *b]}", 0);
        let node = node.unwrap();
        assert_eq!(node.get("one").unwrap().to_string(), "{x: 1, y: 3}");
        assert_eq!(node.get("two").unwrap().to_string(), "{x: 1, y: 5, z: 6}");
        assert_eq!(node.get("one").unwrap().get("x").unwrap().place.line, 1);
        assert_eq!(faults("a: {<<: 3}"), ["1:9: found 3, expected a map (or a list of maps) to merge with <<"]);
        assert_eq!(parse("'<<': 3", 0).unwrap().to_string(), "{<<: 3}");
    }

    #[test]
    fn expansion_is_bounded() {
        let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..20 {
            let before = format!("*a{}", level - 1);
            laughs += &format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(", "));
        }
        assert!(faults(&laughs)[0].contains("found more values, with aliases written out, expected at most 1000000"));
        let long = format!("a: &a {}\nb: [{}]", "x".repeat(1_000_000), ["*a"; 100].join(","));
        assert!(faults(&long)[0].contains("more text, with aliases written out"));
        assert!(faults(&"[".repeat(100_000))[0].contains("levels of maps and lists"));
        assert!(faults(&"- ".repeat(100_000))[0].contains("levels of maps and lists"));
        assert!(faults("a: &a [*a]")[0].contains("an alias inside its own anchor"));
        let bytes = faults(&" ".repeat(BYTES_MAX + 1));
        assert_eq!(bytes, ["1:1: found a text of 67108865 bytes, expected at most 64 MB"]);
    }

    #[test]
    fn syntax_errors_name_place_found_and_expected() {
        let tab = "2:1: found a tab, expected spaces (YAML is indented with spaces, not tabs)";
        assert_eq!(faults("a:\n\tb: 1\n"), [tab]);
        assert!(faults("a: [1, 2\nb: 3")[0].starts_with("2:2: found ':', expected ',' or ']' in a list"));
        assert!(faults("a: {x: 1, y: 2")[0].contains("found the end of the text, expected ',' or '}' in a map"));
        assert_eq!(faults("a: \"x"), ["1:4: found '\"', expected a closing quote for this text"]);
        assert!(faults("a: b: c")[0].starts_with("1:5: found ':', expected one `key: value` on a line"));
        assert!(faults("a: *b")[0].contains("an anchor (&name) written before its alias"));
        assert_eq!(faults("a: 1\n---\nb: 2"), ["2:1: found a second document, expected one document in a file"]);
    }

    #[test]
    fn whole_numbers_that_do_not_fit_and_unknown_tags_are_problems() {
        let list = faults("a: 9223372036854775808\nb: !robot {x: 1}\nc: !!int x\nd: !point 3");
        assert_eq!(list.len(), 4, "{list:?}");
        assert!(list[0].starts_with("1:4: found 9223372036854775808, expected a whole number from"));
        assert!(list[1].contains("found the tag \"!robot\""));
    }

    #[test]
    fn nothing_is_null_and_a_byte_order_mark_is_passed_over() {
        for text in ["", "\n\n", "# only a comment\n", "---\n", "\u{feff}"] {
            assert_eq!(value(text), Value::Null, "{text:?}");
        }
        assert_eq!(parse("\u{feff}a: 1", 0).unwrap().get("a").unwrap().place.column, 4);
    }
}
