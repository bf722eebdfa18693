//! Any text: reading, including, expanding templates and showing the problems must not panic, hang or fill the memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use muster_scenario::files::{Files, Paint};
use muster_scenario::template::{Scope, expand};

const LIBRARY: &[(&str, &str)] =
    &[("a.yaml", "a: 1\nb: {c: [2, 3]}\n"), ("b.yaml", "include: a.yaml\nb: {d: '{i}'}\n")];

fuzz_target!(|text: &str| {
    let mut files = Files::new(Vec::new(), LIBRARY);
    let scope = Scope::default().with_number("i", 3.0).with_text("name", "scout3");
    let expanded = files.load_text("any.yaml", text).and_then(|node| expand(node, &scope));
    if let Err(problems) = expanded {
        assert!(!problems.is_empty());
        for problem in &problems {
            files.render(problem, Paint::Coloured);
        }
    }
});
