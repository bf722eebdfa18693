//! Any text: parsing and evaluating must not panic, and an expression whose every name has a value has one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use muster_core::expression::Expression;

fuzz_target!(|text: &str| {
    match Expression::parse(text) {
        Ok(expression) => {
            assert_eq!(expression.to_string(), text);
            assert!(expression.eval(&mut |_| Some(2.0), &mut |_, _| Some(3.0)).is_ok());
            assert!(expression.variables().iter().all(|path| text.contains(path)));
        }
        Err(error) => assert!(error.column >= 1 && error.column <= text.chars().count() + 1),
    }
});
