//! Laying one configuration over another, as `include:` does. Values only: it reads no file and knows no key's meaning.

use std::collections::BTreeMap;

use muster_core::node::{Entry, Node, Value};

/// `base` with everything that `over` writes: maps merge key by key, all else (lists too) is replaced, a key that
/// `over` sets to null is deleted. Two maps of different `kind` do not merge: the upper one replaces the lower.
/// An `over` that is null itself writes nothing. The keys of `base` keep their order,
/// new ones follow. While no key is null or changes between map and other value, the merging of three is associative.
/// A null for a key that `base` lacks stays, so that a misspelt deletion is seen as an unknown key.
pub fn merge(base: Node, over: Node) -> Node {
    match (base.value, over.value) {
        (value, Value::Null) => Node { value, place: base.place },
        // another kind has other parameters: nothing of the old one may stay
        (Value::Map(below), Value::Map(above))
            if kind(&below).is_some_and(|old| kind(&above).is_some_and(|new| new != old)) =>
        {
            Node { value: Value::Map(above), place: over.place }
        }
        (Value::Map(below), Value::Map(above)) => {
            Node { value: Value::Map(merge_entries(below, above)), place: over.place }
        }
        (_, value) => Node { value, place: over.place },
    }
}

fn kind(entries: &[Entry]) -> Option<&Value> {
    entries.iter().find(|entry| entry.key == "kind").map(|entry| &entry.value.value)
}

fn merge_entries(below: Vec<Entry>, above: Vec<Entry>) -> Vec<Entry> {
    let positions: BTreeMap<&str, usize> =
        below.iter().enumerate().map(|(at, entry)| (entry.key.as_str(), at)).collect();
    let targets: Vec<Option<usize>> = above.iter().map(|entry| positions.get(entry.key.as_str()).copied()).collect();
    let mut slots: Vec<Option<Entry>> = below.into_iter().map(Some).collect();
    for (entry, target) in above.into_iter().zip(targets) {
        match target {
            Some(at) => slots[at] = slots[at].take().and_then(|old| replaced(old, entry)),
            None => slots.push(Some(entry)),
        }
    }
    slots.into_iter().flatten().collect()
}

/// None when the new entry deletes the old one.
fn replaced(old: Entry, new: Entry) -> Option<Entry> {
    if new.value.value == Value::Null {
        return None;
    }
    Some(Entry { key: new.key, key_place: new.key_place, value: merge(old.value, new.value) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::parse;

    fn check(base: &str, over: &str, expected: &str) {
        let merged = merge(parse(base, 0).unwrap(), parse(over, 1).unwrap());
        assert_eq!(merged.to_string(), parse(expected, 0).unwrap().to_string());
    }

    #[test]
    fn written_keys_win_and_maps_merge_deeply() {
        check("{a: 1, m: {x: 1, y: 2}}", "{m: {y: 3, z: 4}, b: 2}", "{a: 1, m: {x: 1, y: 3, z: 4}, b: 2}");
    }

    #[test]
    fn lists_replace_and_kinds_may_change() {
        check("{a: [1, 2, 3], b: {x: 1}, c: 1}", "{a: [4], b: 2, c: {x: 1}}", "{a: [4], b: 2, c: {x: 1}}");
    }

    #[test]
    fn null_deletes_what_is_below_and_stays_where_nothing_is() {
        check("{a: 1, m: {x: 1, y: 2}}", "{a: ~, m: {x: ~}}", "{m: {y: 2}}");
        check("{a: 1}", "{typo: ~}", "{a: 1, typo: ~}");
        check("{a: ~}", "{b: 1}", "{a: ~, b: 1}");
    }

    #[test]
    fn nothing_over_something_and_something_over_nothing() {
        check("{a: 1}", "", "{a: 1}");
        check("", "{a: 1}", "{a: 1}");
    }

    #[test]
    fn places_tell_who_wrote_a_value() {
        let merged = merge(parse("{a: 1, b: 2}", 0).unwrap(), parse("{b: 3}", 1).unwrap());
        let files: Vec<u16> = merged.entries().unwrap().iter().map(|entry| entry.value.place.file).collect();
        assert_eq!(files, [0, 1]);
        assert_eq!(merged.entries().unwrap()[1].key_place.file, 1);
    }
}
