//! What is left of a text when everything wrong is taken out, so that the rest is checked all the same and all problems
//! are seen at once.

use muster_core::node::{Node, Problem, Problems, Value};

/// The most times something is taken out of a block: what contains it may be wrong without it.
const ROUNDS_MAX: usize = 64;

/// What is left of a block without one of these would lack a shape.
const OUTLINES: [&str; 9] =
    ["sphere_radius_m", "box_size_m", "cylinder", "capsule", "cone", "mesh", "terrain", "walls", "plan"];

/// Reads a block and notes its problems. If it cannot be read, the sound part of it is read instead, with `stand_ins` for
/// keys that it must have; that part is returned, too.
pub(crate) fn read_sound<T>(
    node: &Node,
    path: &str,
    stand_ins: &[(&str, Node)],
    problems: &mut Problems,
    read: impl Fn(&Node, &mut Problems) -> Option<T>,
) -> Option<(T, Option<Node>)> {
    if let Some(whole) = read(node, problems) {
        return Some((whole, None));
    }
    let mut rest = node.clone();
    if rest.entries().is_none() {
        rest.value = Value::Null;
    }
    for _ in 0..ROUNDS_MAX {
        let mut found = Problems::default();
        if let Some(sound) = read(&rest, &mut found) {
            return Some((sound, Some(rest)));
        }
        let before = rest.clone();
        // from the last on, as what is taken out of a list moves those after it
        for problem in found.list().iter().rev() {
            let below = problem.path.strip_prefix(path).unwrap_or(&problem.path);
            take_out(&mut rest, below.trim_start_matches('.'), problem);
        }
        for (key, stand_in) in stand_ins {
            if rest.get(key).is_none() {
                rest.set(key, stand_in.clone());
            }
        }
        if rest == before {
            return None;
        }
    }
    None
}

/// Takes out what a problem is about; true if that is the node itself.
fn take_out(node: &mut Node, path: &str, problem: &Problem) -> bool {
    if path.is_empty() {
        // a key that is not known is wrong alone, not the block that has it
        let unknown =
            node.entries().unwrap_or_default().iter().find(|entry| format!("{:?}", entry.key) == problem.found);
        let unknown = unknown.map(|entry| entry.key.clone());
        return unknown.is_none_or(|key| node.take(&key).is_none());
    }
    match &mut node.value {
        Value::List(items) => {
            let inner = path.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            let Some((Ok(at), rest)) = inner.map(|(number, rest)| (number.parse::<usize>(), rest)) else { return true };
            let Some(item) = items.get_mut(at) else { return true };
            if take_out(item, rest.trim_start_matches('.'), problem) {
                items.remove(at);
            }
            false
        }
        Value::Map(entries) => {
            let rest_of =
                |key: &str| path.strip_prefix(key).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
            let found = entries.iter().enumerate().filter_map(|(at, entry)| Some((at, rest_of(&entry.key)?)));
            // keys may have points in them
            let Some((at, rest)) = found.min_by_key(|(_, rest)| rest.len()) else { return true };
            if take_out(&mut entries[at].value, rest.trim_start_matches('.'), problem) {
                let key = entries.remove(at).key;
                // without its outline a block would be wrong for another reason
                return OUTLINES.contains(&key.as_str());
            }
            false
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_core::spec::{Parameter, Spec};

    muster_core::spec! {
        /// A block.
        pub struct Block {
            /// Must be there.
            name: String;
            /// Any two.
            pair: [f64; 2] = [1.0, 2.0], in 0.0..=9.0;
            /// Any number.
            list: Vec<f64> = Vec::new(), in 0.0..=9.0;
            /// A block in it.
            inner: Option<Inner>;
        }
    }

    muster_core::spec! {
        /// A block in it.
        pub struct Inner {
            /// Must be there.
            size_m: f64, in 0.0..=9.0;
            /// A number.
            speed_mps: f64 = 3.0, in 0.0..=9.0;
        }
    }

    fn check(text: &str, problems_expected: usize, sound: &str) {
        let node = crate::yaml::parse(text, 0).unwrap();
        let stand_ins = [("name", Node::of(Value::Text("nobody".to_owned())))];
        let mut problems = Problems::default();
        let read = |node: &Node, problems: &mut Problems| <Block as Spec>::read(node, "a.b", &[], problems);
        let (block, rest) = read_sound(&node, "a.b", &stand_ins, &mut problems, read).unwrap();
        assert_eq!(<Block as Parameter>::show(&block), sound, "{text}");
        assert_eq!(problems.list().len(), problems_expected, "{text}: {:?}", problems.list());
        assert_eq!(rest.is_none(), problems_expected == 0, "{text}");
    }

    #[test]
    fn only_what_is_wrong_is_taken_out() {
        check("{name: x}", 0, "{name: x, pair: [1, 2], list: [], inner: null}");
        check("{pair: [3, 4]}", 1, "{name: nobody, pair: [3, 4], list: [], inner: null}");
        check(
            "{name: x, pair: [3, 40], list: [1, 10, 2, 11]}",
            3,
            "{name: x, pair: [1, 2], list: [1, 2], inner: null}",
        );
        check(
            "{name: 3, inner: {size_m: 2, speed_mps: 77, sped: 3}}",
            3,
            "{name: nobody, pair: [1, 2], list: [], inner: {size_m: 2, speed_mps: 3}}",
        );
        check("{name: x, inner: {speed_mps: 2}}", 1, "{name: x, pair: [1, 2], list: [], inner: null}");
        check("7", 1, "{name: nobody, pair: [1, 2], list: [], inner: null}");
    }
}
