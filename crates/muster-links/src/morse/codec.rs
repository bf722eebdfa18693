//! The text of MORSE's socket protocol: JSON as Python's `json` module reads and writes it, requests and answers.
//!
//! A request is a line `ID COMPONENT SERVICE [JSON-LIST]` or `ID cancel`, an answer a line `ID STATUS [JSON]`. Clients of the
//! original depend on what `json.dumps` writes: a space after `:` and `,`, numbers by `repr`, everything beyond ASCII
//! escaped, `NaN` and `Infinity`. Reading is more lenient than Python: numbers may end in `f`, as one client writes them.
//!
//! Pure functions over bytes from outside: nothing here can panic, and nothing recurses deeper than [`DEPTH_MAX`].

use muster_core::actuator::Told;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number, not a number and infinity included.
    Float(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// A map, in the order written.
    Map(Vec<(String, Json)>),
}

impl Json {
    /// The number it is, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Bool(value) => Some(f64::from(u8::from(*value))),
            _ => None,
        }
    }

    /// The text it is, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a list.
    pub fn items(&self) -> Option<&[Json]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The value under a key; the last one, if it is there twice.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Self::Map(entries) => entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// What Python calls false: nothing, zero, and what is empty. Such results are left out of answers.
    pub fn is_falsy(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Int(value) => *value == 0,
            Self::Float(value) => *value == 0.0,
            Self::Text(text) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
        }
    }

    /// A map.
    pub fn map<K: Into<String>>(entries: impl IntoIterator<Item = (K, Json)>) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// A list of numbers.
    pub fn floats(values: impl IntoIterator<Item = f64>) -> Self {
        Self::List(values.into_iter().map(Self::Float).collect())
    }

    /// As text.
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        // what is written is ASCII
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// Appends it as `json.dumps` writes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(true) => out.extend_from_slice(b"true"),
            Self::Bool(false) => out.extend_from_slice(b"false"),
            Self::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Self::Float(value) => write_float(*value, out),
            Self::Text(text) => write_text(text, out),
            Self::List(items) => {
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    separate(at, out);
                    item.write(out);
                }
                out.push(b']');
            }
            Self::Map(entries) => {
                out.push(b'{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    separate(at, out);
                    write_key(key, out);
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&Told> for Json {
    fn from(told: &Told) -> Self {
        match told {
            Told::Nothing => Self::Null,
            Told::Flag(flag) => Self::Bool(*flag),
            Told::Number(value) => Self::Float(*value),
            Told::Word(word) => Self::Text(word.clone()),
            Told::List(items) => Self::List(items.iter().map(Self::from).collect()),
            Told::Map(entries) => Self::map(entries.iter().map(|(key, value)| (key.clone(), Self::from(value)))),
        }
    }
}

impl From<&Json> for Told {
    fn from(json: &Json) -> Self {
        match json {
            Json::Null => Self::Nothing,
            Json::Bool(flag) => Self::Flag(*flag),
            Json::Int(value) => Self::Number(*value as f64),
            Json::Float(value) => Self::Number(*value),
            Json::Text(text) => Self::Word(text.clone()),
            Json::List(items) => Self::List(items.iter().map(Self::from).collect()),
            Json::Map(entries) => {
                Self::Map(entries.iter().map(|(key, value)| (key.clone(), Self::from(value))).collect())
            }
        }
    }
}

/// What stands before the item with this number.
pub fn separate(at: usize, out: &mut Vec<u8>) {
    if at > 0 {
        out.extend_from_slice(b", ");
    }
}

/// A key and what follows it.
pub fn write_key(key: &str, out: &mut Vec<u8>) {
    write_text(key, out);
    out.extend_from_slice(b": ");
}

/// A text, with everything beyond ASCII escaped.
pub fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for character in text.chars() {
        match character {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            ' '..='~' => out.push(character as u8),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
    out.push(b'"');
}

/// A number as `repr` writes it: the shortest that reads back the same, with an exponent below 1e-4 and from 1e16 on.
pub fn write_float(value: f64, out: &mut Vec<u8>) {
    if value.is_nan() {
        return out.extend_from_slice(b"NaN");
    }
    if value.is_infinite() {
        return out.extend_from_slice(if value > 0.0 { b"Infinity" } else { b"-Infinity" });
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        return write_exponent(value, out);
    }
    let mut buffer = zmij::Buffer::new();
    out.extend_from_slice(buffer.format_finite(value).as_bytes());
}

/// The same with an exponent of a sign and at least two digits.
fn write_exponent(value: f64, out: &mut Vec<u8>) {
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, size) = exponent.strip_prefix('-').map_or(('+', exponent), |size| ('-', size));
    out.extend_from_slice(format!("{digits}e{sign}{size:0>2}").as_bytes());
}

/// How deep lists and maps may lie in each other.
pub const DEPTH_MAX: usize = 64;

/// Reads a JSON value; an error says at which byte what was wrong.
pub fn parse(bytes: &[u8]) -> Result<Json, String> {
    let mut reader = Reader { bytes, at: 0 };
    let value = reader.value(0)?;
    reader.blank();
    match reader.at == bytes.len() {
        true => Ok(value),
        false => Err(reader.wrong("the end")),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn wrong(&self, expected: &str) -> String {
        let found = self.peek().map_or_else(|| "the end".to_owned(), |byte| format!("{:?}", char::from(byte)));
        format!("found {found} at byte {}, expected {expected}", self.at)
    }

    fn take(&mut self, word: &[u8]) -> bool {
        let found = self.bytes[self.at..].starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn expect(&mut self, byte: u8, what: &str) -> Result<(), String> {
        self.blank();
        match self.take(&[byte]) {
            true => Ok(()),
            false => Err(self.wrong(what)),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEPTH_MAX {
            return Err(self.wrong("lists and maps that lie less deep in each other"));
        }
        self.blank();
        const WORDS: [(&[u8], Json); 5] = [
            (b"null", Json::Null),
            (b"true", Json::Bool(true)),
            (b"false", Json::Bool(false)),
            (b"NaN", Json::Float(f64::NAN)),
            (b"Infinity", Json::Float(f64::INFINITY)),
        ];
        match self.peek() {
            Some(b'{') => self.map(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.text().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => match WORDS.iter().find(|(word, _)| self.take(word)) {
                Some((_, value)) => Ok(value.clone()),
                None => Err(self.wrong("a value")),
            },
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json, String> {
        self.at += 1;
        let mut items = Vec::new();
        self.blank();
        if self.take(b"]") {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blank();
            if self.take(b"]") {
                return Ok(Json::List(items));
            }
            self.expect(b',', "a comma or the end of the list")?;
        }
    }

    fn map(&mut self, depth: usize) -> Result<Json, String> {
        self.at += 1;
        let mut entries = Vec::new();
        self.blank();
        if self.take(b"}") {
            return Ok(Json::Map(entries));
        }
        loop {
            self.blank();
            if self.peek() != Some(b'"') {
                return Err(self.wrong("a key in quotes"));
            }
            let key = self.text()?;
            self.expect(b':', "a colon after the key")?;
            entries.push((key, self.value(depth + 1)?));
            self.blank();
            if self.take(b"}") {
                return Ok(Json::Map(entries));
            }
            self.expect(b',', "a comma or the end of the map")?;
        }
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        self.take(b"-");
        if self.take(b"Infinity") {
            return Ok(Json::Float(f64::NEG_INFINITY));
        }
        while matches!(self.peek(), Some(b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
            self.at += 1;
        }
        let digits = &self.bytes[start..self.at];
        // a client that was written in C leaves the f of a number behind it
        self.take(b"f");
        let text = str::from_utf8(digits).unwrap_or_default();
        let whole = !text.contains(['.', 'e', 'E']);
        let read = text.parse().ok().filter(|_| whole).map(Json::Int);
        // Rust reads numbers that JSON does not know, such as `1.` and `.5`; they do no harm
        read.or_else(|| text.parse().ok().map(Json::Float)).ok_or_else(|| {
            self.at = start;
            self.wrong("a number")
        })
    }

    fn text(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\')) {
                self.at += 1;
            }
            let plain = str::from_utf8(&self.bytes[start..self.at]);
            text.push_str(plain.map_err(|error| format!("found bytes that are no text: {error}"))?);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(_) => text.push(self.escape()?),
                None => return Err(self.wrong("the end of a text")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        self.at += 1;
        let escaped = self.peek();
        self.at += 1;
        Ok(match escaped {
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'u') => return self.unicode(),
            _ => {
                self.at = self.at.saturating_sub(1).min(self.bytes.len());
                return Err(self.wrong("an escape that JSON knows"));
            }
        })
    }

    fn unicode(&mut self) -> Result<char, String> {
        let high = self.unit()?;
        if !(0xd800..0xdc00).contains(&high) {
            return Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        if !self.take(b"\\u") {
            return Ok(char::REPLACEMENT_CHARACTER);
        }
        let low = self.unit()?;
        if !(0xdc00..0xe000).contains(&low) {
            return Ok(char::REPLACEMENT_CHARACTER);
        }
        let joined = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        Ok(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn unit(&mut self) -> Result<u32, String> {
        let digits = self.bytes.get(self.at..self.at + 4).and_then(|digits| str::from_utf8(digits).ok());
        let unit = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match unit.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            Some(unit) => {
                self.at += 4;
                Ok(unit)
            }
            None => Err(self.wrong("four hexadecimal digits")),
        }
    }
}

/// What a client asks.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// To call a service.
    Call {
        /// The client's name for the request.
        id: String,
        /// Of which component.
        component: String,
        /// Which service.
        service: String,
        /// With what: nothing at all, or a list.
        arguments: Vec<Json>,
    },
    /// To give up a call.
    Cancel {
        /// The client's name for the call.
        id: String,
    },
    /// Something that is no request: the answer says why.
    Malformed {
        /// The client's name for it.
        id: String,
        /// What is wrong.
        why: String,
    },
}

impl Request {
    /// Reads a line without its end; nothing if it is blank.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let line = line.trim_ascii();
        let (id, rest) = split(line);
        if id.is_empty() {
            return None;
        }
        let id = String::from_utf8_lossy(id).into_owned();
        let (component, rest) = split(rest);
        if component == b"cancel" && rest.is_empty() {
            return Some(Self::Cancel { id });
        }
        let (service, rest) = split(rest);
        if service.is_empty() {
            let why =
                "Malformed request: at least 3 values and at most 4 are expected (id, component, service, [params])";
            return Some(Self::Malformed { id, why: why.to_owned() });
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let arguments = match rest {
            [] => Ok(Vec::new()),
            rest => match parse(rest) {
                Ok(Json::List(items)) => Ok(items),
                Ok(Json::Null) => Ok(Vec::new()),
                Ok(_) => Err("found no list".to_owned()),
                Err(why) => Err(why),
            },
        };
        Some(match arguments {
            Ok(arguments) => Self::Call { id, component: text(component), service: text(service), arguments },
            Err(why) => {
                let shown: String = text(rest).chars().take(200).collect();
                let why = format!("Invalid request syntax: error while parsing the parameters: <{shown}>. {why}");
                Self::Malformed { id, why }
            }
        })
    }

    /// The line it is, for clients and tests.
    pub fn line(&self) -> Vec<u8> {
        let mut out = match self {
            Self::Call { id, component, service, arguments } => {
                let arguments = Json::List(arguments.clone()).to_text();
                format!("{id} {component} {service} {arguments}")
            }
            Self::Cancel { id } => format!("{id} cancel"),
            Self::Malformed { id, .. } => id.clone(),
        }
        .into_bytes();
        out.push(b'\n');
        out
    }
}

/// The first word and the rest, without blanks around them.
fn split(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii();
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_ascii())
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// Well, perhaps with a result.
    Success(Json),
    /// It failed, and why.
    Failed(String),
    /// Something else wanted the same, or it was cancelled.
    Preempted,
}

/// The line of an answer.
pub fn answer(id: &str, status: &Status) -> Vec<u8> {
    let (word, result) = match status {
        Status::Success(result) => ("SUCCESS", result.clone()),
        Status::Failed(why) => ("FAILED", Json::Text(why.clone())),
        Status::Preempted => ("PREEMPTED", Json::Null),
    };
    let mut out = format!("{id} {word}").into_bytes();
    if !result.is_falsy() {
        out.push(b' ');
        result.write(&mut out);
    }
    out.push(b'\n');
    out
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
