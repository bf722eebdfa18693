//! Lines without code: a template says which numbers of a line are which values, for lines that come in and lines that go
//! out.
//!
//! `J <joint.a> <joint.b:deg.1>` is a line of the letter J and two numbers. A placeholder is a name and perhaps, after a
//! colon, `deg` (the number in the line is in degrees, the value in radians), `.N` (so many decimals are written), or both.
//! `<name=0.5>` is a value that does not stand in the line. In lines that come in, blanks may be more or fewer than in the
//! template, numbers may be followed by anything that is no part of a number, and `<>` is a number nobody needs. Braces are
//! left to the templates of scenarios.

use std::fmt::Write;

/// A line with numbers in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    pieces: Vec<Piece>,
    /// The values, in the order of the line.
    pub slots: Vec<Slot>,
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    /// The number of a slot.
    Number(usize),
    /// A number nobody needs.
    Any,
}

/// A value of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// What it is.
    pub name: String,
    /// Degrees in the line, radians outside it.
    degrees: bool,
    decimals: Option<usize>,
    /// It is not in the line, it is this.
    pub fixed: Option<f64>,
}

impl Slot {
    fn plain(name: &str) -> Self {
        Self { name: name.to_owned(), degrees: false, decimals: None, fixed: None }
    }

    /// What stands between brackets; else what was found and what was expected.
    fn parse(text: &str) -> Result<Self, (String, String)> {
        let wrong = |found: &str, expected: &str| Err((format!("{found:?} in <{text}>"), expected.to_owned()));
        let (rest, fixed) = match text.split_once('=') {
            Some((rest, value)) => match value.trim().parse::<f64>() {
                Ok(value) if value.is_finite() => (rest, Some(value)),
                _ => return wrong(value, "a number after ="),
            },
            None => (text, None),
        };
        let (name, form) = rest.split_once(':').unwrap_or((rest, ""));
        let name = name.trim();
        if name.is_empty() {
            return wrong(name, "a name");
        }
        let (degrees, form) = match form.strip_prefix("deg") {
            Some(rest) => (true, rest),
            None => (false, form),
        };
        let decimals = match form.strip_prefix('.') {
            Some(digits) => match digits.parse() {
                Ok(decimals @ 0..=15) => Some(decimals),
                _ => return wrong(digits, "decimals from 0 to 15"),
            },
            None if form.is_empty() => None,
            None => return wrong(form, "deg, .N or deg.N after a colon"),
        };
        Ok(Self { degrees, decimals, fixed, ..Self::plain(name) })
    }
}

impl Template {
    /// Reads a template; else what was found and what was expected. `<<` and `>>` are brackets.
    pub fn parse(text: &str) -> Result<Self, (String, String)> {
        let mut template = Self::nothing();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['<', '>']) {
            literal.push_str(&rest[..at]);
            let (bracket, after) = (&rest[at..=at], &rest[at + 1..]);
            if let Some(after) = after.strip_prefix(bracket) {
                literal.push_str(bracket);
                rest = after;
                continue;
            }
            let Some(end) = after.find('>').filter(|_| bracket == "<") else {
                return Err((
                    format!("{bracket:?} alone in {text:?}"),
                    format!("names in brackets, or {bracket}{bracket}"),
                ));
            };
            template.text(&mut literal);
            template.placeholder(&after[..end])?;
            rest = &after[end + 1..];
        }
        literal.push_str(rest);
        let trimmed = literal.trim_end_matches(['\n', '\r']).len();
        literal.truncate(trimmed);
        template.text(&mut literal);
        Ok(template)
    }

    /// Names with commas between them.
    pub fn list(names: &[String]) -> Result<Self, (String, String)> {
        let mut template = Self::nothing();
        for name in names {
            let absent = name.contains('=');
            if !absent && !template.pieces.is_empty() {
                template.text(&mut ",".to_owned());
            }
            template.placeholder(name)?;
        }
        Ok(template)
    }

    /// A line with nothing on it.
    pub fn nothing() -> Self {
        Self { pieces: Vec::new(), slots: Vec::new() }
    }

    fn text(&mut self, literal: &mut String) {
        if !literal.is_empty() {
            self.pieces.push(Piece::Text(std::mem::take(literal)));
        }
    }

    fn placeholder(&mut self, text: &str) -> Result<(), (String, String)> {
        if text.trim().is_empty() {
            self.pieces.push(Piece::Any);
            return Ok(());
        }
        let slot = Slot::parse(text)?;
        if slot.fixed.is_none() {
            self.pieces.push(Piece::Number(self.slots.len()));
        }
        self.slots.push(slot);
        Ok(())
    }

    /// The values of a line, in the order of the slots; else what was found and what was expected. Where the template has a
    /// comma, a line may have a semicolon or blanks.
    pub fn read(&self, line: &str, values: &mut Vec<f64>) -> Result<(), String> {
        values.clear();
        values.extend(self.slots.iter().map(|slot| slot.fixed.unwrap_or(f64::NAN)));
        let mut rest = line.trim();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => rest = literal(rest, text)?,
                Piece::Number(slot) => {
                    let (value, after) = number(rest)?;
                    values[*slot] = if self.slots[*slot].degrees { value.to_radians() } else { value };
                    rest = after;
                }
                Piece::Any => rest = number(rest)?.1,
            }
        }
        match rest.trim_start() {
            "" => Ok(()),
            more => Err(format!("found {:?} at the end, expected no more", shortened(more))),
        }
    }

    /// Writes a line of values, each perhaps several numbers, which then have commas between them.
    pub fn write<'v>(&self, value: impl Fn(usize) -> &'v [f64], line: &mut String) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => line.push_str(text),
                Piece::Any => line.push('0'),
                Piece::Number(slot) => {
                    let form = &self.slots[*slot];
                    for (at, &number) in value(*slot).iter().enumerate() {
                        let number = if form.degrees { number.to_degrees() } else { number };
                        let comma = if at > 0 { "," } else { "" };
                        // writing to a text cannot fail
                        _ = match form.decimals {
                            Some(decimals) => write!(line, "{comma}{number:.decimals$}"),
                            None => write!(line, "{comma}{number}"),
                        };
                    }
                }
            }
        }
        line.push('\n');
    }
}

/// What is left behind a text of the template.
fn literal<'l>(mut rest: &'l str, text: &str) -> Result<&'l str, String> {
    for expected in text.chars() {
        if expected.is_whitespace() {
            rest = rest.trim_start();
            continue;
        }
        let (blank, next) = (rest.trim_start(), rest.trim_start().chars().next());
        rest = match next {
            Some(found) if found == expected => &blank[found.len_utf8()..],
            Some(';') if expected == ',' => &blank[1..],
            // blanks alone part numbers as well as a comma does
            _ if expected == ',' && blank.len() < rest.len() => blank,
            _ => return Err(format!("found {:?}, expected {expected:?}", shortened(blank))),
        };
    }
    Ok(rest)
}

/// The number a text begins with, and what is left.
fn number(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim_start();
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    end += digits(end);
    if bytes.get(end) == Some(&b'.') {
        end += 1 + digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    match text[..end].parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((value, &text[end..])),
        _ => Err(format!("found {:?}, expected a number", shortened(text))),
    }
}

/// At most so much of what somebody sent, for messages.
pub fn shortened(text: &str) -> &str {
    match text.char_indices().nth(40) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(template: &str, line: &str) -> Result<Vec<f64>, String> {
        let mut values = Vec::new();
        Template::parse(template).unwrap().read(line, &mut values).map(|()| values)
    }

    #[test]
    fn numbers_are_found_where_the_template_has_them() {
        assert_eq!(read("J <a> <b>", "J 1.5 -2e-1"), Ok(vec![1.5, -0.2]));
        assert_eq!(read("J <a> <b>\n", "  J   1.5\t+2 "), Ok(vec![1.5, 2.0]));
        assert_eq!(read("J<a>,<b>", "J1,2"), Ok(vec![1.0, 2.0]));
        assert_eq!(read("<a>,<b>,<c>", "1 2;3"), Ok(vec![1.0, 2.0, 3.0]));
        assert_eq!(read("x=<a>m", "x=.5m"), Ok(vec![0.5]));
        assert_eq!(read("<> <a> <z=7>", "99 1"), Ok(vec![1.0, 7.0]));
        assert_eq!(read("<a:deg>", "180"), Ok(vec![std::f64::consts::PI]));
        assert_eq!(read("<<<a>>>", "<4>"), Ok(vec![4.0]));
    }

    #[test]
    fn lines_that_do_not_fit_are_told_so() {
        assert_eq!(read("J <a>", "K 1"), Err("found \"K 1\", expected 'J'".to_owned()));
        assert_eq!(read("<a>,<b>", "1"), Err("found \"\", expected ','".to_owned()));
        assert_eq!(read("<a>", "one"), Err("found \"one\", expected a number".to_owned()));
        assert_eq!(read("<a>", "1 2"), Err("found \"2\" at the end, expected no more".to_owned()));
        assert_eq!(read("<a>", "nan"), Err("found \"nan\", expected a number".to_owned()));
        assert_eq!(read("<a>", "1e999"), Err("found \"1e999\", expected a number".to_owned()));
    }

    #[test]
    fn wrong_templates_are_told_so() {
        let wrong = |text: &str| Template::parse(text).unwrap_err();
        assert_eq!(wrong("<a"), ("\"<\" alone in \"<a\"".to_owned(), "names in brackets, or <<".to_owned()));
        assert_eq!(wrong("a>").0, "\">\" alone in \"a>\"");
        assert_eq!(wrong("<a:rad>"), ("\"rad\" in <a:rad>".to_owned(), "deg, .N or deg.N after a colon".to_owned()));
        assert_eq!(wrong("<a:.99>").1, "decimals from 0 to 15");
        assert_eq!(wrong("<a=x>").1, "a number after =");
        assert_eq!(wrong("<:deg>").1, "a name");
    }

    #[test]
    fn values_are_written_as_the_template_says() {
        let written = |template: &str, values: &[&[f64]]| {
            let mut line = String::new();
            Template::parse(template).unwrap().write(|slot| values[slot], &mut line);
            line
        };
        assert_eq!(written("J <a:.2> <b>\n", &[&[1.0], &[0.25]]), "J 1.00 0.25\n");
        assert_eq!(written("<a:deg.1>", &[&[std::f64::consts::FRAC_PI_2]]), "90.0\n");
        assert_eq!(written("S <scan>", &[&[1.5, f64::INFINITY, 2.0]]), "S 1.5,inf,2\n");
        let list = Template::list(&["a".to_owned(), "b:.1".to_owned(), "c=2".to_owned()]).unwrap();
        let mut line = String::new();
        list.write(|slot| [&[1.0][..], &[2.0]][slot], &mut line);
        assert_eq!(line, "1,2.0\n");
        assert_eq!(list.slots[2].fixed, Some(2.0));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(values in proptest::collection::vec(-1e300..1e300, 1..8)) {
            let names: Vec<String> = (0..values.len()).map(|at| format!("v{at}")).collect();
            for template in [Template::list(&names).unwrap(), Template::parse(&format!("A <{}>", names.join("> B <"))).unwrap()] {
                let mut line = String::new();
                template.write(|slot| &values[slot..=slot], &mut line);
                let mut back = Vec::new();
                template.read(&line, &mut back).unwrap();
                prop_assert_eq!(&back, &values);
            }
        }

        #[test]
        fn any_line_is_read_or_refused(line in ".{0,80}", cut in 0_usize..80) {
            let mut values = Vec::new();
            for template in ["J <a> <b:deg>", "<a>,<b>", "ä <a>é<b>"] {
                let template = Template::parse(template).unwrap();
                _ = template.read(&line, &mut values);
                prop_assert_eq!(values.len(), 2);
                let mutated: String = "J 1.5e3,-2;ä".chars().take(cut).chain(line.chars()).collect();
                _ = template.read(&mutated, &mut values);
            }
        }

        #[test]
        fn any_template_is_read_or_refused(text in "[<>a:=.0-9eé ,]{0,30}") {
            _ = Template::parse(&text);
        }
    }
}
