//! SCIP 2.0 as bytes: requests of a host, responses of a scanner. Pure functions; whatever bytes come in, nothing panics and
//! nothing grows beyond [`REQUEST_MAX`].
//!
//! Sources: Hokuyo's *Communication Protocol Specification for SCIP2.0 Standard* (C-42-03320B), and for what its successors
//! added (`%ST`, `%SL`, `RT`, `RB`, `GE`, `ME`) the clients that speak it. A request is a command, its parameters, perhaps
//! `;` and a text of the host's own, and LF or CR. A response is the request, a status, lines of data, each with a sum, and
//! an empty line. Numbers have six bits a character, the most significant first, counted from `0`.

/// The longest request that is read: the longest that is right has 32 bytes.
pub const REQUEST_MAX: usize = 64;
/// The longest text a host may add to a request.
pub const TEXT_MAX: usize = 16;
/// Characters of data to a line.
pub const LINE: usize = 64;
/// The largest number in two characters.
pub const TWO_MAX: u32 = (1 << 12) - 1;
/// The largest number in three characters.
pub const THREE_MAX: u32 = (1 << 18) - 1;
/// The first character of a number.
const ZERO: u8 = b'0';

/// What a response says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(pub [u8; 2]);

impl Status {
    /// Done.
    pub const OK: Self = Self(*b"00");
    /// Data of a stream.
    pub const DATA: Self = Self(*b"99");
    /// Not enough parameters.
    pub const SHORT: Self = Self(*b"0C");
    /// Too many.
    pub const LONG: Self = Self(*b"0D");
    /// No such command.
    pub const UNKNOWN: Self = Self(*b"0E");
    /// This device has no such command.
    pub const UNSUPPORTED: Self = Self(*b"0F");
    /// The host's text is longer than it may be.
    pub const TEXT_LONG: Self = Self(*b"0G");
    /// The host's text has characters it may not have.
    pub const TEXT_WRONG: Self = Self(*b"0H");
    /// The device cannot answer.
    pub const UNABLE: Self = Self(*b"0A");
    /// Not now: the laser is off, or the device is in another state.
    pub const DENIED: Self = Self(*b"10");

    /// A status that is one digit.
    pub const fn digit(digit: u8) -> Self {
        Self([ZERO, ZERO + digit])
    }
}

/// How the numbers of a scan are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Ranges in two characters, up to 4095 mm.
    Two,
    /// Ranges in three characters.
    Three,
    /// Ranges and intensities, three characters each.
    Intensity,
    /// Several echoes in three characters; each range here has one.
    Echoes,
    /// Several echoes with intensities.
    EchoIntensity,
}

impl Form {
    /// True if it tells intensities.
    pub fn has_intensity(self) -> bool {
        matches!(self, Self::Intensity | Self::EchoIntensity)
    }

    /// True if it can tell several echoes.
    pub fn has_echoes(self) -> bool {
        matches!(self, Self::Echoes | Self::EchoIntensity)
    }
}

/// Which part of scans, how, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// How numbers are written.
    pub form: Form,
    /// The first step.
    pub start: u16,
    /// The last step.
    pub end: u16,
    /// How many steps become one value; at least 1.
    pub cluster: u16,
    /// The rest, if it asks for a stream.
    pub stream: Option<Times>,
}

/// Which scans of a stream, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Scans passed over after each that is sent.
    pub skip: u8,
    /// How many are sent; 0 for no end.
    pub count: u8,
}

/// A command of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `VV`: who made the device.
    Version,
    /// `PP`: what it can measure.
    Parameters,
    /// `II`: how it is.
    Information,
    /// `%ST`: what state it is in, as a number.
    State,
    /// `%SL`: sleep.
    Sleep,
    /// `BM`: laser on.
    LaserOn,
    /// `QT`: laser off.
    LaserOff,
    /// `RS`: as after switching on.
    Reset,
    /// `RT`: the same, but for rates.
    PartialReset,
    /// `RB`: start again; must come twice.
    Reboot,
    /// `TM0`: begin to tell the time.
    TimeEnter,
    /// `TM1`: tell the time.
    TimeTell,
    /// `TM2`: no more.
    TimeLeave,
    /// `SS`: bits a second of a serial port.
    BitRate(u32),
    /// `CR`: how fast the motor turns.
    Motor(u8),
    /// `HS`: high sensitivity or not.
    Sensitivity(bool),
    /// `SCIP2.0`: speak this protocol.
    Scip2,
    /// `GD`, `GS`, `GE`, `HD`, `HE`, `MD`, `MS`, `ME`, `ND`, `NE`: ranges.
    Measure(Ask),
}

/// A request: what it asks for, or the status that tells what is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The line, without its end.
    pub line: &'a [u8],
    /// What it asks for.
    pub command: Result<Command, Status>,
}

impl<'a> Request<'a> {
    /// Reads a line without its end.
    pub fn parse(line: &'a [u8]) -> Self {
        let (request, text) = match line.iter().position(|&byte| byte == b';') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &line[line.len()..]),
        };
        let command = match command(request) {
            // what is wrong with the text is told only of requests that are right otherwise
            Ok(_) if text.len() > TEXT_MAX => Err(Status::TEXT_LONG),
            Ok(_) if !text.iter().all(|&byte| byte == b' ' || byte.is_ascii_graphic()) => Err(Status::TEXT_WRONG),
            read => read,
        };
        Self { line, command }
    }
}

fn command(request: &[u8]) -> Result<Command, Status> {
    match request {
        b"SCIP2.0" => return Ok(Command::Scip2),
        b"%ST" => return Ok(Command::State),
        b"%SL" => return Ok(Command::Sleep),
        _ => (),
    }
    let Some((name, parameters)) = request.split_first_chunk::<2>() else { return Err(Status::UNKNOWN) };
    let plain = |command| if parameters.is_empty() { Ok(command) } else { Err(Status::LONG) };
    match name {
        b"VV" => plain(Command::Version),
        b"PP" => plain(Command::Parameters),
        b"II" => plain(Command::Information),
        b"BM" => plain(Command::LaserOn),
        b"QT" => plain(Command::LaserOff),
        b"RS" => plain(Command::Reset),
        b"RT" => plain(Command::PartialReset),
        b"RB" => plain(Command::Reboot),
        b"TM" => match exactly(parameters)? {
            b"0" => Ok(Command::TimeEnter),
            b"1" => Ok(Command::TimeTell),
            b"2" => Ok(Command::TimeLeave),
            _ => Err(Status::digit(1)),
        },
        b"SS" => Ok(Command::BitRate(number(exactly::<6>(parameters)?, 1)?)),
        b"CR" => Ok(Command::Motor(number(exactly::<2>(parameters)?, 1)? as u8)),
        b"HS" => match exactly(parameters)? {
            b"0" => Ok(Command::Sensitivity(false)),
            b"1" => Ok(Command::Sensitivity(true)),
            _ => Err(Status::digit(1)),
        },
        [first @ (b'G' | b'H' | b'M' | b'N'), second] => measure(*first, *second, parameters),
        _ => Err(Status::UNKNOWN),
    }
}

/// `GD` and its kin: start, end and cluster; `MD` and its kin: skip and count as well.
fn measure(first: u8, second: u8, parameters: &[u8]) -> Result<Command, Status> {
    let form = match (first, second) {
        (b'G' | b'M', b'S') => Form::Two,
        (b'G' | b'M', b'D') => Form::Three,
        (b'G' | b'M', b'E') => Form::Intensity,
        (b'H' | b'N', b'D') => Form::Echoes,
        (b'H' | b'N', b'E') => Form::EchoIntensity,
        _ => return Err(Status::UNKNOWN),
    };
    let (parameters, times) = match first {
        b'G' | b'H' => (exactly::<10>(parameters)?.as_slice(), None),
        _ => {
            let (area, times) = exactly::<13>(parameters)?.split_at(10);
            (area, Some(times))
        }
    };
    let start = number(&parameters[..4], 1)? as u16;
    let end = number(&parameters[4..8], 2)? as u16;
    let cluster = number(&parameters[8..], 3)?.max(1) as u16;
    let stream = match times {
        Some(times) => Some(Times { skip: number(&times[..1], 6)? as u8, count: number(&times[1..], 7)? as u8 }),
        None => None,
    };
    if start > end {
        return Err(Status::digit(5));
    }
    Ok(Command::Measure(Ask { form, start, end, cluster, stream }))
}

fn exactly<const N: usize>(parameters: &[u8]) -> Result<&[u8; N], Status> {
    let wrong = if parameters.len() < N { Status::SHORT } else { Status::LONG };
    parameters.try_into().map_err(|_: std::array::TryFromSliceError| wrong)
}

/// A number of decimal digits, at most six; else the status with this digit.
fn number(digits: &[u8], wrong: u8) -> Result<u32, Status> {
    digits.iter().try_fold(0, |sum, &byte| match byte {
        b'0'..=b'9' => Ok(sum * 10 + u32::from(byte - ZERO)),
        _ => Err(Status::digit(wrong)),
    })
}

/// Cuts what comes in into lines, wherever it is split. Longer lines than [`REQUEST_MAX`] are cut off and told as such.
#[derive(Debug, Default, Clone)]
pub struct Lines {
    line: Vec<u8>,
    overlong: bool,
}

impl Lines {
    /// Takes bytes and hands over each request that is complete, without empty lines.
    pub fn take(&mut self, bytes: &[u8], mut each: impl FnMut(Request<'_>)) {
        for &byte in bytes {
            match byte {
                b'\n' | b'\r' => {
                    if !self.line.is_empty() {
                        let mut request = Request::parse(&self.line);
                        if self.overlong {
                            request.command = Err(Status::LONG);
                        }
                        each(request);
                    }
                    self.line.clear();
                    self.overlong = false;
                }
                _ if self.line.len() < REQUEST_MAX => self.line.push(byte),
                _ => self.overlong = true,
            }
        }
    }
}

/// The sum at the end of a line: the six lowest bits of the sum of its bytes, as a character.
pub fn sum(line: &[u8]) -> u8 {
    let sum = line.iter().fold(0_u32, |sum, &byte| sum.wrapping_add(u32::from(byte)));
    (sum & 0x3f) as u8 + ZERO
}

/// Appends a number in so many characters.
pub fn put_number(value: u32, characters: u32, out: &mut Vec<u8>) {
    out.extend((0..characters).rev().map(|at| (value >> (6 * at) & 0x3f) as u8 + ZERO));
}

/// Reads a number.
pub fn number_of(characters: &[u8]) -> u32 {
    characters.iter().fold(0, |value, &byte| value << 6 | u32::from(byte.wrapping_sub(ZERO) & 0x3f))
}

/// Appends a line with its sum.
fn put_line(line: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(line);
    out.push(sum(line));
    out.push(b'\n');
}

/// A response that is being written: first [`Response::begin`], then lines, then [`Response::end`].
#[derive(Debug)]
pub struct Response {
    bytes: Vec<u8>,
}

impl Response {
    /// The request as it came, and a status.
    pub fn begin(request: &[u8], status: Status) -> Self {
        let mut bytes = Vec::with_capacity(request.len() + 5);
        bytes.extend_from_slice(request);
        bytes.push(b'\n');
        put_line(&status.0, &mut bytes);
        Self { bytes }
    }

    /// A line `KEY:VALUE;` whose sum leaves out the `;`. Clients split lines at the colon, so a value has none.
    #[must_use]
    pub fn pair(mut self, key: &str, value: &str) -> Self {
        let value: String =
            value.chars().map(|each| if matches!(each, '\n' | '\r' | ':' | ';') { ' ' } else { each }).collect();
        let line = format!("{key}:{value}");
        self.bytes.extend_from_slice(line.as_bytes());
        self.bytes.extend_from_slice(&[b';', sum(line.as_bytes()), b'\n']);
        self
    }

    /// A line of text.
    #[must_use]
    pub fn line(mut self, line: &[u8]) -> Self {
        put_line(line, &mut self.bytes);
        self
    }

    /// Milliseconds, of which 24 bits are told.
    #[must_use]
    pub fn time(self, milliseconds: u64) -> Self {
        let mut line = Vec::with_capacity(4);
        put_number((milliseconds & 0xff_ffff) as u32, 4, &mut line);
        self.line(&line)
    }

    /// Data, cut into lines.
    #[must_use]
    pub fn data(mut self, data: &[u8]) -> Self {
        self.bytes.reserve(data.len() + 2 * data.len().div_ceil(LINE));
        for line in data.chunks(LINE) {
            put_line(line, &mut self.bytes);
        }
        self
    }

    /// The response as it is sent.
    pub fn end(mut self) -> Vec<u8> {
        self.bytes.push(b'\n');
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(line: &str) -> Result<Command, Status> {
        Request::parse(line.as_bytes()).command
    }

    #[test]
    fn sums_are_those_of_the_makers_examples() {
        let check = |line: &str, expected: char| assert_eq!(sum(line.as_bytes()) as char, expected, "{line}");
        check("00", 'P');
        check("99", 'b');
        // the version and parameters of a URG-04LX, as on the maker's pages
        check("VEND:Hokuyo Automatic Co.,Ltd.", '[');
        check("PROT:SCIP 2.0", 'N');
        check("SERI:H0614967", 'V');
        check("DMIN:20", '4');
        check("DMAX:5600", '_');
        check("ARES:1024", '\\');
        check("AMAX:725", 'o');
        check("SCAN:600", 'e');
    }

    #[test]
    fn numbers_are_those_of_the_makers_examples() {
        // section 6 of the specification: 1234 mm, 5432 mm and 16000000 ms
        let check = |value: u32, text: &str| {
            let mut out = Vec::new();
            put_number(value, text.len() as u32, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), text);
            assert_eq!(number_of(text.as_bytes()), value);
        };
        check(1234, "CB");
        check(5432, "1Dh");
        check(16_000_000, "m2@0");
    }

    #[test]
    fn requests_of_known_clients_are_read() {
        let whole = |form, end, stream| Ask { form, start: 0, end, cluster: 1, stream };
        assert_eq!(parsed("GD0000108000"), Ok(Command::Measure(whole(Form::Three, 1080, None))));
        let endless = Some(Times { skip: 0, count: 0 });
        assert_eq!(parsed("MD0000108001000"), Ok(Command::Measure(whole(Form::Three, 1080, endless))));
        let some = Some(Times { skip: 2, count: 5 });
        let ask = Ask { form: Form::Two, start: 44, end: 725, cluster: 3, stream: some };
        assert_eq!(parsed("MS0044072503205"), Ok(Command::Measure(ask)));
        assert_eq!(parsed("QT;bye"), Ok(Command::LaserOff));
        assert_eq!(parsed("SS115200"), Ok(Command::BitRate(115_200)));
        assert_eq!(parsed("SCIP2.0"), Ok(Command::Scip2));
        assert_eq!(parsed("%ST"), Ok(Command::State));
        assert_eq!(parsed("TM1"), Ok(Command::TimeTell));
    }

    #[test]
    fn what_is_wrong_with_a_request_is_told_by_its_status() {
        let check = |line: &str, status: &[u8; 2]| assert_eq!(parsed(line), Err(Status(*status)), "{line}");
        check("XX", b"0E");
        check("V", b"0E");
        check("%SX", b"0E");
        check("HX0000000000", b"0E");
        check("GD00", b"0C");
        check("GD00000010000", b"0D");
        check("VV1", b"0D");
        check("GDx000108000", b"01");
        check("GD00001x8000", b"02");
        check("GD00001080xx", b"03");
        check("GD0010000900", b"05");
        check("MD000010800110x", b"07");
        check("MD0000108001x00", b"06");
        check("TM7", b"01");
        check("SSbaud!!", b"01");
        check("HS2", b"01");
        check("QT;seventeen letters", b"0G");
        check("QT;\u{7}", b"0H");
    }

    #[test]
    fn lines_end_in_any_way_and_are_never_long() {
        let mut lines = Lines::default();
        let mut heard = Vec::new();
        for part in [&b"\nV"[..], b"V\r\nP", b"P\rQT\n\n", &[b'G'; 1000], b"\nBM\n"] {
            lines.take(part, |request| heard.push((request.line.to_vec(), request.command)));
        }
        assert!(lines.line.capacity() <= 2 * REQUEST_MAX);
        let expected = [
            (b"VV".to_vec(), Ok(Command::Version)),
            (b"PP".to_vec(), Ok(Command::Parameters)),
            (b"QT".to_vec(), Ok(Command::LaserOff)),
            (vec![b'G'; REQUEST_MAX], Err(Status::LONG)),
            (b"BM".to_vec(), Ok(Command::LaserOn)),
        ];
        assert_eq!(heard, expected);
    }

    #[test]
    fn a_response_ends_in_an_empty_line_and_has_no_other() {
        let response = Response::begin(b"MD0000000201000", Status::DATA).time(0x100_0001).data(b"0Eg0Ei0Em").end();
        assert_eq!(String::from_utf8_lossy(&response), "MD0000000201000\n99b\n00011\n0Eg0Ei0EmL\n\n");
        let response = Response::begin(b"VV", Status::OK).pair("VEND", "a:b;c\nd").end();
        assert_eq!(String::from_utf8_lossy(&response), "VV\n00P\nVEND:a b c d;A\n\n");
    }

    proptest! {
        #[test]
        fn numbers_come_back(value in 0_u32..1 << 24) {
            let mut out = Vec::new();
            put_number(value, 4, &mut out);
            prop_assert_eq!(number_of(&out), value);
        }

        #[test]
        fn data_come_back(data in proptest::collection::vec(ZERO..ZERO + 64, 0..1000)) {
            let response = Response::begin(b"GD", Status::OK).time(7).data(&data).end();
            let text = String::from_utf8(response).unwrap();
            let lines: Vec<&str> = text.strip_suffix("\n\n").unwrap().split('\n').collect();
            let mut back = Vec::new();
            for line in &lines[1..] {
                let (content, check) = line.as_bytes().split_at(line.len() - 1);
                prop_assert!(content.len() <= LINE);
                prop_assert_eq!(sum(content), check[0]);
                back.push(content);
            }
            prop_assert_eq!(back[2..].concat(), data);
        }

        #[test]
        fn any_bytes_in_any_pieces_are_the_same_requests(bytes in proptest::collection::vec(any::<u8>(), 0..300),
                                                        cut in 0_usize..300) {
            let read = |parts: &[&[u8]]| {
                let mut heard = Vec::new();
                let mut lines = Lines::default();
                for part in parts {
                    lines.take(part, |request| heard.push((request.line.to_vec(), request.command)));
                }
                heard
            };
            let cut = cut.min(bytes.len());
            prop_assert_eq!(read(&[&bytes]), read(&[&bytes[..cut], &bytes[cut..]]));
        }

        #[test]
        fn mutated_requests_are_read_or_refused(at in 0_usize..16, byte in any::<u8>(), text in ".{0,20}") {
            for request in ["MD0000108001000", "GS0044072500", "TM1", "SS115200", "%ST", "SCIP2.0"] {
                let mut line = format!("{request};{text}").into_bytes();
                let length = line.len();
                line[at % length] = byte;
                _ = Request::parse(&line);
            }
        }
    }
}
