//! Laws of reading scenario text, on generated input.

use muster_core::node::{Entry, Node, Place, Value};
use muster_scenario::files::{Files, Paint};
use muster_scenario::merge::merge;
use muster_scenario::template::{Scope, expand};
use muster_scenario::yaml::parse;
use proptest::prelude::*;

fn map_of(entries: impl IntoIterator<Item = (String, Node)>) -> Node {
    let entry = |(key, value)| Entry { key, key_place: Place::default(), value };
    Node::of(Value::Map(entries.into_iter().map(entry).collect()))
}

fn scalar() -> impl Strategy<Value = Node> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Integer),
        any::<f64>().prop_filter("NaN differs from itself", |number| !number.is_nan()).prop_map(Value::Number),
        any::<String>().prop_map(Value::Text),
        "[-+0-9a-z.:{}#&*~ ]{0,6}".prop_map(Value::Text),
    ]
    .prop_map(Node::of)
}

fn tree() -> impl Strategy<Value = Node> {
    scalar().prop_recursive(5, 60, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|list| Node::of(Value::List(list))),
            prop::collection::btree_map(any::<String>(), inner, 0..5).prop_map(map_of),
        ]
    })
}

/// Maps of maps in which a key's first letter tells its kind, so that no key changes between map and other value.
fn layer() -> impl Strategy<Value = Node> {
    let leaf = prop::collection::btree_map("[abc]", (0_i64..9).prop_map(|value| Node::of(Value::Integer(value))), 0..3);
    leaf.prop_map(map_of).prop_recursive(3, 30, 3, |inner| {
        (prop::collection::btree_map("m[123]", inner.clone(), 0..3), inner).prop_map(|(maps, scalars)| {
            let own = scalars.entries().unwrap_or_default().iter().filter(|entry| !entry.key.starts_with('m'));
            let own: Vec<(String, Node)> = own.map(|entry| (entry.key.clone(), entry.value.clone())).collect();
            map_of(own.into_iter().chain(maps))
        })
    })
}

/// YAML flow text of a tree, every text in double quotes.
fn write(node: &Node) -> String {
    match &node.value {
        Value::Number(number) if number.is_infinite() => if *number > 0.0 { ".inf" } else { "-.inf" }.to_owned(),
        Value::Text(text) => quote(text),
        Value::List(list) => format!("[{}]", list.iter().map(write).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => {
            let entry = |entry: &Entry| format!("{}: {}", quote(&entry.key), write(&entry.value));
            format!("{{{}}}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        _ => node.to_string(),
    }
}

fn quote(text: &str) -> String {
    let escape = |character: char| match character {
        ' '..='~' if character != '"' && character != '\\' => character.to_string(),
        _ => format!("\\U{:08x}", u32::from(character)),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// The tree with all places forgotten.
fn bare(node: Node) -> Node {
    match node.value {
        Value::List(list) => Node::of(Value::List(list.into_iter().map(bare).collect())),
        Value::Map(map) => map_of(map.into_iter().map(|entry| (entry.key, bare(entry.value)))),
        value => Node::of(value),
    }
}

fn no_library() -> &'static [(&'static str, &'static str)] {
    &[]
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(tree in tree()) {
        let text = write(&tree);
        prop_assert_eq!(bare(parse(&text, 0).map_err(|list| TestCaseError::fail(format!("{text}: {list:?}")))?), tree);
    }

    #[test]
    fn merging_is_associative(a in layer(), b in layer(), c in layer()) {
        let left = merge(merge(a.clone(), b.clone()), c.clone());
        let right = merge(a, merge(b, c));
        prop_assert_eq!(left, right);
    }

    #[test]
    fn what_is_laid_over_wins_and_merging_twice_changes_nothing(a in layer(), b in layer()) {
        let once = merge(a, b.clone());
        prop_assert_eq!(merge(once.clone(), b), once);
    }

    #[test]
    fn any_text_is_read_or_refused_at_a_place_that_can_be_shown(text in any::<String>()) {
        check_any(&text)?;
    }

    #[test]
    fn any_row_of_yaml_pieces_is_read_or_refused(
        parts in prop::collection::vec(prop::sample::select(
            &["a", ": ", "- ", "\n", "  ", "{", "}", "[", "]", ", ", "&x ", "*x", "<<", "|", ">", "'", "\"", "#", "\t",
              "? ", "---", "...", "!!str ", "!t ", "%", "1", "é", "\r", "\\", "include"][..],
        ), 0..40),
    ) {
        check_any(&parts.concat())?;
    }

    #[test]
    fn any_template_is_expanded_or_refused(
        parts in prop::collection::vec(prop::sample::select(
            &["{", "}", "i", "name", " + ", "1", "é", "(", ")", " ", "-", "x"][..],
        ), 0..12),
    ) {
        let scope = Scope::default().with_number("i", 3.0).with_text("name", "scout");
        let node = Node::of(Value::Text(parts.concat()));
        if let Err(problems) = expand(node, &scope) {
            prop_assert_eq!(problems.len(), 1);
        }
    }

    #[test]
    fn text_with_doubled_braces_is_expanded_to_itself(text in any::<String>()) {
        let doubled = text.replace('{', "{{").replace('}', "}}");
        let expanded = expand(Node::of(Value::Text(doubled)), &Scope::default());
        prop_assert_eq!(expanded, Ok(Node::of(Value::Text(text))));
    }
}

fn check_any(text: &str) -> Result<(), TestCaseError> {
    let mut files = Files::new(Vec::new(), no_library());
    if let Err(problems) = files.load_text("any.yaml", text) {
        for problem in &problems {
            prop_assert!(problem.place.line >= 1 && problem.place.column >= 1);
            prop_assert!(files.render(problem, Paint::Plain).ends_with('^'));
        }
        prop_assert!(!problems.is_empty());
    }
    Ok(())
}
