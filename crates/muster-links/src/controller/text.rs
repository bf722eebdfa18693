//! The line protocol of controllers: requests and answers as text, one a line.
//!
//! ```text
//! request = [#TAG] verb word...
//! answer  = [#TAG] ok word... | [#TAG] error what was found, what was expected
//! ```
//!
//! Words are separated by blanks or commas. Every request gets one answer, in order, with the tag it came with. Lines that
//! nobody asked for at that moment begin with another word: `data` of a stream, `done`, `failed` and `preempted` of a call.

use super::template::shortened;
use muster_core::node::nearest;
use muster_core::service::{Answer, Datum, Outcome};
use std::fmt::Write;

/// The longest line that is read.
pub const LINE_MAX: usize = 16 * 1024;
/// The most words of a line.
const WORDS_MAX: usize = 2048;

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What it came with and its answers go with.
    pub tag: String,
    /// What it asks for; else what was found and what was expected.
    pub verb: Result<Verb, String>,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Verb {
    /// The values of properties.
    Get(Vec<String>),
    /// A property set.
    Set(String, Vec<f64>),
    /// The values of properties so often, in simulated time.
    Stream(f64, Vec<String>),
    /// No more of a stream, or of all.
    Stop(Option<u64>),
    /// A service of a robot, by `robot.service`.
    Call(String, Vec<Datum>),
    /// A call given up.
    Cancel(u64),
    /// Robots, or the properties of one.
    List(Option<String>),
    /// The services of a robot.
    Services(String),
    /// The simulated time.
    Time,
    /// What can be asked.
    Help,
}

/// Every verb, and how it is used.
pub const VERBS: [(&str, &str); 10] = [
    ("get", "get PATH..."),
    ("set", "set PATH VALUE..."),
    ("stream", "stream RATE_HZ PATH..."),
    ("stop", "stop [STREAM]"),
    ("call", "call ROBOT.SERVICE ARGUMENT..."),
    ("cancel", "cancel CALL"),
    ("list", "list [ROBOT]"),
    ("services", "services ROBOT"),
    ("time", "time"),
    ("help", "help"),
];

impl Request {
    /// Reads a line; none if there is nothing on it.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(|each: char| each.is_whitespace() || each == ',').filter(|word| !word.is_empty());
        let mut first = words.next()?;
        let mut tag = String::new();
        if first.starts_with('#') {
            tag = format!("{} ", shortened(first));
            first = words.next().unwrap_or_default();
        }
        let words: Vec<&str> = words.take(WORDS_MAX + 1).collect();
        let verb = match words.len() {
            0..=WORDS_MAX => verb(first, &words),
            _ => Err(format!("found more than {WORDS_MAX} words, expected fewer")),
        };
        Some(Self { tag, verb })
    }
}

fn verb(name: &str, words: &[&str]) -> Result<Verb, String> {
    let usage = |name: &str| VERBS.iter().find(|(verb, _)| *verb == name).map_or("", |(_, usage)| usage);
    let misused = || Err(format!("found {} words after {name}, expected {}", words.len(), usage(name)));
    let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    match (name, words) {
        ("get", [_, ..]) => Ok(Verb::Get(owned(words))),
        ("set", [path, values @ ..]) if !values.is_empty() => {
            let values: Result<Vec<f64>, String> = values.iter().map(|word| number(word)).collect();
            Ok(Verb::Set((*path).to_owned(), values?))
        }
        ("stream", [rate, paths @ ..]) if !paths.is_empty() => {
            let rate_hz = number(rate)?;
            if !(RATE_MIN_HZ..=RATE_MAX_HZ).contains(&rate_hz) {
                return Err(format!("found {rate_hz} Hz, expected from {RATE_MIN_HZ} to {RATE_MAX_HZ}"));
            }
            Ok(Verb::Stream(rate_hz, owned(paths)))
        }
        ("stop", []) => Ok(Verb::Stop(None)),
        ("stop", [stream]) => Ok(Verb::Stop(Some(whole(stream)?))),
        ("call", [service, arguments @ ..]) => {
            let datum = |word: &&str| number(word).map_or_else(|_| Datum::Word((*word).to_owned()), Datum::Number);
            Ok(Verb::Call((*service).to_owned(), arguments.iter().map(datum).collect()))
        }
        ("cancel", [call]) => Ok(Verb::Cancel(whole(call)?)),
        ("list", []) => Ok(Verb::List(None)),
        ("list", [robot]) => Ok(Verb::List(Some((*robot).to_owned()))),
        ("services", [robot]) => Ok(Verb::Services((*robot).to_owned())),
        ("time", []) => Ok(Verb::Time),
        ("help", []) => Ok(Verb::Help),
        (name, _) if VERBS.iter().any(|(verb, _)| *verb == name) => misused(),
        (name, _) => {
            let near = nearest(name, VERBS.iter().map(|(verb, _)| *verb));
            let hint = near.map_or_else(|| "help tells them".to_owned(), |near| format!("did you mean {near:?}?"));
            Err(format!("found no verb {:?} ({hint})", shortened(name)))
        }
    }
}

/// Streams are no slower than this.
const RATE_MIN_HZ: f64 = 0.001;
/// Streams are no faster than this.
const RATE_MAX_HZ: f64 = 10_000.0;

fn number(word: &str) -> Result<f64, String> {
    match word.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("found {:?}, expected a number", shortened(word))),
    }
}

fn whole(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_: std::num::ParseIntError| format!("found {:?}, expected a whole number", shortened(word)))
}

/// Writes an answer that something is done, with values.
pub fn ok(tag: &str, values: &[f64], line: &mut String) {
    line.push_str(tag);
    line.push_str("ok");
    put_values(values, line);
    line.push('\n');
}

/// Writes an answer that something is done, with words.
pub fn ok_words<'w>(tag: &str, words: impl IntoIterator<Item = &'w str>, line: &mut String) {
    line.push_str(tag);
    line.push_str("ok");
    for word in words {
        line.push(' ');
        line.push_str(word);
    }
    line.push('\n');
}

/// Writes what is wrong.
pub fn error(tag: &str, what: &str, line: &mut String) {
    line.push_str(tag);
    line.push_str("error ");
    line.extend(what.chars().map(|each| if each.is_control() { ' ' } else { each }));
    line.push('\n');
}

/// Begins a line of a stream: its number and the time.
pub fn data(tag: &str, stream: u64, time_s: f64, line: &mut String) {
    // writing to a text cannot fail
    _ = write!(line, "{tag}data {stream} {time_s}");
}

/// Writes values behind what is there.
pub fn put_values(values: &[f64], line: &mut String) {
    for value in values {
        _ = write!(line, " {value}");
    }
}

/// Writes how a call ended.
pub fn ended(tag: &str, answer: &Answer, line: &mut String) {
    line.push_str(tag);
    let call = answer.sequence;
    _ = match &answer.outcome {
        Outcome::Succeeded => writeln!(line, "done {call}"),
        Outcome::Preempted => writeln!(line, "preempted {call}"),
        Outcome::Failed(why) => writeln!(line, "failed {call} {}", why.replace(['\n', '\r'], " ")),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(line: &str) -> Result<Verb, String> {
        Request::parse(line).unwrap().verb
    }

    #[test]
    fn requests_are_read() {
        assert_eq!(parsed("get a.b c.d[0]"), Ok(Verb::Get(vec!["a.b".to_owned(), "c.d[0]".to_owned()])));
        assert_eq!(parsed(" set a.b 1,2, 3e-1\r"), Ok(Verb::Set("a.b".to_owned(), vec![1.0, 2.0, 0.3])));
        assert_eq!(parsed("stream 50 a.b"), Ok(Verb::Stream(50.0, vec!["a.b".to_owned()])));
        let call = Verb::Call("r.joint".to_owned(), vec![Datum::Word("pan".to_owned()), Datum::Number(0.5)]);
        assert_eq!(parsed("call r.joint pan 0.5"), Ok(call));
        assert_eq!(parsed("stop"), Ok(Verb::Stop(None)));
        assert_eq!(parsed("stop 3"), Ok(Verb::Stop(Some(3))));
        assert_eq!(Request::parse("#7 time"), Some(Request { tag: "#7 ".to_owned(), verb: Ok(Verb::Time) }));
        assert_eq!(Request::parse(" \t,"), None);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let check = |line: &str, expected: &str| assert_eq!(parsed(line), Err(expected.to_owned()), "{line}");
        check("gte a", "found no verb \"gte\" (did you mean \"get\"?)");
        check("get", "found 0 words after get, expected get PATH...");
        check("set a.b", "found 1 words after set, expected set PATH VALUE...");
        check("set a.b x", "found \"x\", expected a number");
        check("set a.b nan", "found \"nan\", expected a number");
        check("stream 0 a.b", "found 0 Hz, expected from 0.001 to 10000");
        check("stop x", "found \"x\", expected a whole number");
        check("time 3", "found 1 words after time, expected time");
        check("#9", "found no verb \"\" (help tells them)");
    }

    #[test]
    fn answers_are_lines() {
        let mut line = String::new();
        ok("#1 ", &[1.0, 0.25, f64::INFINITY], &mut line);
        error("", "found\nthat", &mut line);
        data("", 2, 0.5, &mut line);
        put_values(&[3.0], &mut line);
        assert_eq!(line, "#1 ok 1 0.25 inf\nerror found that\ndata 2 0.5 3");
    }

    proptest! {
        #[test]
        fn numbers_come_back(values in proptest::collection::vec(-1e300..1e300, 1..20)) {
            let mut line = "set a.b".to_owned();
            put_values(&values, &mut line);
            prop_assert_eq!(parsed(&line), Ok(Verb::Set("a.b".to_owned(), values)));
        }

        #[test]
        fn any_line_is_read_or_refused(line in ".{0,200}", verb in 0_usize..10) {
            _ = Request::parse(&line);
            let mixed = format!("{} {line}", VERBS[verb].0);
            let request = Request::parse(&mixed).unwrap();
            if let Err(what) = request.verb {
                let mut answer = String::new();
                error(&request.tag, &what, &mut answer);
                prop_assert_eq!(answer.matches('\n').count(), 1);
            }
        }
    }
}
