//! Laws of the expression language on generated input.

use muster_core::expression::Expression;
use proptest::prelude::*;

/// Fully parenthesised text and its value, calculated directly.
fn arithmetic() -> impl Strategy<Value = (String, f64)> {
    let leaf = prop_oneof![
        (0_u32..1000).prop_map(|value| (value.to_string(), f64::from(value))),
        (0.0..1e6).prop_map(|value: f64| (format!("{value:?}"), value)),
        Just(("x.y[1]".to_owned(), X)),
    ];
    leaf.prop_recursive(6, 64, 3, |inner| {
        prop_oneof![
            (inner.clone(), 0..OPERATORS.len(), inner.clone()).prop_map(|(left, at, right)| {
                let (symbol, value) = OPERATORS[at];
                (format!("({} {symbol} {})", left.0, right.0), value(left.1, right.1))
            }),
            inner.clone().prop_map(|(text, value)| (format!("(-{text})"), -value)),
            (inner.clone(), inner.clone(), inner).prop_map(|(condition, yes, no)| {
                let value = if condition.1 > 10.0 { yes.1 } else { no.1 };
                (format!("({} > 10 ? {} : {})", condition.0, yes.0, no.0), value)
            }),
        ]
    })
}

const X: f64 = -2.5;

type Operator = (&'static str, fn(f64, f64) -> f64);

const OPERATORS: [Operator; 7] = [
    ("+", |a, b| a + b),
    ("-", |a, b| a - b),
    ("*", |a, b| a * b),
    ("/", |a, b| a / b),
    ("%", |a, b| a % b),
    ("<=", |a, b| f64::from(u8::from(a <= b))),
    ("==", |a, b| f64::from(u8::from(a == b))),
];

fn eval(text: &str) -> f64 {
    let expression = Expression::parse(text).expect("an expression");
    expression.eval(&mut |path| (path == "x.y[1]").then_some(X), &mut |_, _| None).expect("a value")
}

proptest! {
    #[test]
    fn value_equals_direct_evaluation((text, value) in arithmetic()) {
        let found = eval(&text);
        prop_assert!(found == value || found.is_nan() && value.is_nan(), "{text} gave {found}, not {value}");
    }

    #[test]
    fn powers_are_exact_for_small_whole_exponents_and_close_for_others(base in 0.1..10.0_f64, exponent in -3.0..3.0_f64) {
        prop_assert_eq!(eval(&format!("{base:?} ^ 3")), base * base * base);
        prop_assert_eq!(eval(&format!("(-{base:?}) ^ 2")), base * base);
        let product = eval(&format!("{base:?} ^ {exponent:?} * {base:?} ^ (-{exponent:?})"));
        prop_assert!((product - 1.0).abs() < 1e-12, "{product}");
    }

    #[test]
    fn without_parentheses_products_bind_tighter_and_sums_go_left(
        a in 0.0..100.0_f64, b in 0.0..100.0_f64, c in 0.0..100.0_f64, d in 1.0..100.0_f64,
    ) {
        prop_assert_eq!(eval(&format!("{a:?} - {b:?} * {c:?} - {a:?} / {d:?}")), a - b * c - a / d);
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,80}") {
        check_any(&text)?;
    }

    #[test]
    fn any_row_of_tokens_is_read_or_refused(
        parts in prop::collection::vec(prop::sample::select(
            &["(", ")", "-", "!", "not", "a.b", "[1]", "f", ",", "1", ".5", "e", "?", ":", "^", "and", "<", "é", "min"][..],
        ), 0..40),
        gap in prop::sample::select(&["", " "][..]),
    ) {
        check_any(&parts.join(gap))?;
    }
}

fn check_any(text: &str) -> Result<(), TestCaseError> {
    match Expression::parse(text) {
        Ok(expression) => {
            prop_assert_eq!(expression.to_string(), text);
            // Everything has a value once all paths and functions have.
            prop_assert!(expression.eval(&mut |_| Some(1.0), &mut |_, _| Some(1.0)).is_ok());
        }
        Err(error) => prop_assert!((1..=text.chars().count() + 1).contains(&error.column)),
    }
    Ok(())
}
