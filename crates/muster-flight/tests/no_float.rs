//! The crate's source, its tests apart, names no floating-point type and holds no floating-point literal.

use std::fs;
use std::path::Path;

/// The text before a mark, or all of it.
fn before<'a>(text: &'a str, mark: &str) -> &'a str {
    text.split_once(mark).map_or(text, |(before, _)| before)
}

/// The code of a file: no tests, no comments, no text in quotes.
fn code_of(source: &str) -> String {
    let before_tests = before(source, "#[cfg(test)]");
    let lines = before_tests.lines().map(|line| before(line, "//"));
    lines.map(|line| line.split('"').step_by(2).collect::<String>() + "\n").collect()
}

/// A word that is a floating-point type or number, such as `f32`, `1.5`, `2.` or `1e9`.
fn floats_in(code: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let is_float = |word: &&str| {
        // Hexadecimal digits may hold an e; a range such as `0..3` is no number with a point.
        let number = word.starts_with(|c: char| c.is_ascii_digit()) && !word.starts_with("0x");
        let names_type = word.split('.').any(|part| part.ends_with("f32") || part.ends_with("f64"));
        let digits = before(word, "..");
        let has_point = digits.contains('.');
        let has_exponent = digits.contains(['e', 'E']) && !digits.contains("size");
        names_type || (number && (has_point || has_exponent))
    };
    code.split(|c: char| !is_part(c)).filter(is_float).map(str::to_owned).collect()
}

#[test]
fn the_source_holds_no_float() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(floats_in(&code_of(&fs::read_to_string(&path).unwrap())), [""; 0], "{}", path.display());
        files += 1;
    }
    assert!(files >= 7, "only {files} files were searched");
}

#[test]
fn the_search_finds_what_it_searches_for() {
    let check = |line: &str, found: &[&str]| assert_eq!(floats_in(&code_of(line)), found, "{line}");
    check("let a: f32 = x as f64;", &["f32", "f64"]);
    check("let a = 1.5 + 2. * 1e9 - 3_f32;", &["1.5", "2.", "1e9", "3_f32"]);
    check("core::f64::consts::PI", &["f64"]);
    check("for i in 0..3 { a[i] = t.0 + 0x1e9 + 7_usize } // 1.5 f32", &[]);
    check("row(\"1.5\", 2)", &[]);
}
