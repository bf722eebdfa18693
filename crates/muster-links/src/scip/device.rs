//! One session of a scanner: what state it is in and what it answers. Time and scans are given to it; it opens nothing and
//! waits for nothing.
//!
//! States and what is allowed in each follow the maker's specification and, where it is silent, the clients: after switching
//! on the laser is off; `BM` or a stream switches it on; a stream that is over, `QT` and a reset switch it off; while the time
//! is told (`TM0` to `TM2`) it is off and nothing is measured, and `QT` is unknown.

use super::codec::{Ask, Command, Form, Request, Response, Status, THREE_MAX, TWO_MAX, Times, put_number};
use super::identity::{Identity, Port};
use std::sync::Arc;

/// A scan as a device writes it, in the order of its steps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scan {
    /// When it was made, in milliseconds of simulated time.
    pub time_ms: u64,
    /// Millimetres.
    pub ranges_mm: Vec<u32>,
    /// How bright, if it is measured.
    pub intensities: Vec<u32>,
}

/// What a device says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// An answer to a request.
    Answer(Vec<u8>),
    /// A scan of a stream.
    Scan(Vec<u8>),
}

/// What a device is at.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Standby,
    Time,
    /// The laser is on since then.
    Measuring(u64),
    /// A stream is sent.
    Streaming(Stream),
    Asleep,
}

/// A stream that is being sent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stream {
    /// The request up to the number of scans, and what stood behind it.
    request: (Vec<u8>, Vec<u8>),
    ask: Ask,
    times: Times,
    /// Scans still to be sent, if there is an end.
    left: u8,
    /// Scans to pass over before the next is sent.
    pass: u8,
}

/// Bits a second of a serial port that a device knows.
const BIT_RATES: [u32; 7] = [19_200, 38_400, 57_600, 115_200, 250_000, 500_000, 750_000];

/// A second `RB` must come this soon after the first, ms.
const REBOOT_WITHIN_MS: u64 = 1000;

/// A session of a device.
#[derive(Debug, Clone)]
pub struct Device {
    identity: Arc<Identity>,
    state: State,
    /// A request for one scan that waits for the first since the laser is on.
    waiting: Option<(Vec<u8>, Ask)>,
    /// What its timer counts from.
    zero_ms: u64,
    /// When the first of two `RB` came.
    reboot_ms: Option<u64>,
    bits_per_second: u32,
}

impl Device {
    /// A device that was just switched on.
    pub fn new(identity: Arc<Identity>) -> Self {
        let bits_per_second = BIT_RATES[0];
        Self { identity, state: State::Standby, waiting: None, zero_ms: 0, reboot_ms: None, bits_per_second }
    }

    /// True if it wants scans.
    pub fn wants_scans(&self) -> bool {
        self.waiting.is_some() || matches!(self.state, State::Streaming(_))
    }

    /// Answers a request at a time, in milliseconds of simulated time; `latest` is the last scan that was made.
    pub fn request(&mut self, request: &Request<'_>, now_ms: u64, latest: Option<&Scan>, out: &mut impl FnMut(Reply)) {
        // hosts wait for an answer before they ask again; to one that does not, the scan it waited for is not sent
        if let Some((line, _)) = self.waiting.take() {
            out(Reply::Answer(Response::begin(&line, Status::UNABLE).end()));
        }
        let (line, reboot) = (request.line, self.reboot_ms.take());
        let command = match request.command {
            Ok(command) => command,
            Err(status) => return out(Reply::Answer(Response::begin(line, status).end())),
        };
        if let Err(status) = self.allows(command) {
            return out(Reply::Answer(Response::begin(line, status).end()));
        }
        let answer = match command {
            Command::Measure(ask) => return self.measure(line, ask, latest, out),
            Command::Version => self.version(line),
            Command::Parameters => self.parameters(line),
            Command::Information => self.information(line, now_ms),
            Command::State => Response::begin(line, Status::OK).line(self.state_code()),
            Command::TimeTell => Response::begin(line, Status::OK).time(self.timer(now_ms)),
            Command::Reboot => Response::begin(line, self.reboot(reboot, now_ms)),
            command => Response::begin(line, self.change(command, now_ms)),
        };
        out(Reply::Answer(answer.end()));
    }

    /// Simulated time began again.
    pub fn rewind(&mut self) {
        self.zero_ms = 0;
        self.reboot_ms = None;
        if let State::Measuring(since) = &mut self.state {
            *since = 0;
        }
    }

    /// A scan was made: what is to be sent of it.
    pub fn scan(&mut self, scan: &Scan, out: &mut impl FnMut(Reply)) {
        if let Some((line, ask)) = self.waiting.take() {
            return out(Reply::Answer(self.scan_response(&line, Status::OK, &ask, scan)));
        }
        let State::Streaming(stream) = &mut self.state else { return };
        if stream.pass > 0 {
            stream.pass -= 1;
            return;
        }
        stream.pass = stream.times.skip;
        stream.left = stream.left.saturating_sub(1);
        let over = stream.times.count > 0 && stream.left == 0;
        let (mut line, ask) = (stream.request.0.clone(), stream.ask);
        line.extend(format!("{:02}", stream.left).bytes());
        line.extend_from_slice(&stream.request.1);
        out(Reply::Scan(self.scan_response(&line, Status::DATA, &ask, scan)));
        if over {
            self.state = State::Standby;
        }
    }

    /// Whether a command is allowed now.
    fn allows(&self, command: Command) -> Result<(), Status> {
        let always = matches!(
            command,
            Command::Version
                | Command::Information
                | Command::State
                | Command::Reset
                | Command::PartialReset
                | Command::Reboot
                | Command::Scip2
                | Command::TimeLeave
        );
        match self.state {
            _ if always => Ok(()),
            _ if command == Command::TimeTell && self.state != State::Time => Err(Status::digit(4)),
            // urg_library leaves the time when it is told that there is no such command
            State::Time if command == Command::LaserOff => Err(Status::UNKNOWN),
            State::Time if matches!(command, Command::TimeEnter | Command::TimeTell) => Ok(()),
            State::Time => Err(Status::DENIED),
            State::Asleep if matches!(command, Command::LaserOff | Command::Sleep | Command::Parameters) => Ok(()),
            State::Asleep => Err(Status::DENIED),
            _ => Ok(()),
        }
    }

    /// Commands that change something and are answered by a status alone.
    fn change(&mut self, command: Command, now_ms: u64) -> Status {
        match command {
            Command::Sleep => self.state = State::Asleep,
            Command::LaserOn if self.laser() => return Status::digit(2),
            Command::LaserOn => self.state = State::Measuring(now_ms),
            Command::LaserOff => self.state = State::Standby,
            Command::Reset | Command::PartialReset => {
                let zero_ms = now_ms;
                let fresh = Self { zero_ms, ..Self::new(Arc::clone(&self.identity)) };
                let kept = if command == Command::Reset { fresh.bits_per_second } else { self.bits_per_second };
                *self = Self { bits_per_second: kept, ..fresh };
            }
            Command::TimeEnter if self.state == State::Time => return Status::digit(2),
            Command::TimeEnter => self.state = State::Time,
            Command::TimeLeave if self.state != State::Time => return Status::digit(3),
            Command::TimeLeave => self.state = State::Standby,
            Command::BitRate(_) if self.identity.port == Port::Network => return Status::UNSUPPORTED,
            Command::BitRate(rate) if rate == self.bits_per_second => return Status::digit(3),
            Command::BitRate(rate) if !BIT_RATES.contains(&rate) => return Status::digit(2),
            Command::BitRate(rate) => self.bits_per_second = rate,
            // the rate of a sensor is the scenario's business, as is what it can see
            Command::Motor(_) | Command::Sensitivity(true) => return Status::digit(3),
            Command::Sensitivity(false) => return Status::digit(2),
            _ => (),
        }
        Status::OK
    }

    fn reboot(&mut self, first_ms: Option<u64>, now_ms: u64) -> Status {
        if first_ms.is_some_and(|first| now_ms.saturating_sub(first) <= REBOOT_WITHIN_MS) {
            return self.change(Command::Reset, now_ms);
        }
        self.reboot_ms = Some(now_ms);
        Status::digit(1)
    }

    fn measure(&mut self, line: &[u8], ask: Ask, latest: Option<&Scan>, out: &mut impl FnMut(Reply)) {
        let unable = (ask.form.has_intensity() && !self.identity.has_intensity())
            || (ask.form.has_echoes() && !self.identity.make.echoes);
        let refused = if unable {
            Some(Status::UNSUPPORTED)
        } else if u32::from(ask.end) > self.identity.end {
            Some(Status::digit(4))
        } else {
            None
        };
        if let Some(status) = refused {
            return out(Reply::Answer(Response::begin(line, status).end()));
        }
        match (ask.stream, &self.state) {
            (Some(times), _) => {
                let request = (line[..STREAM_HEAD].to_vec(), line[STREAM_HEAD + 2..].to_vec());
                self.state = State::Streaming(Stream { request, ask, times, left: times.count, pass: 0 });
                out(Reply::Answer(Response::begin(line, Status::OK).end()));
            }
            (None, State::Measuring(since)) => match latest.filter(|scan| scan.time_ms >= *since) {
                Some(scan) => out(Reply::Answer(self.scan_response(line, Status::OK, &ask, scan))),
                None => self.waiting = Some((line.to_vec(), ask)),
            },
            (None, _) => out(Reply::Answer(Response::begin(line, Status::DENIED).end())),
        }
    }

    /// A scan in the form asked for.
    fn scan_response(&self, line: &[u8], status: Status, ask: &Ask, scan: &Scan) -> Vec<u8> {
        let mut data = Vec::with_capacity(6 * usize::from(ask.end - ask.start + 1));
        for step in (ask.start..=ask.end).step_by(usize::from(ask.cluster)) {
            let last = ask.end.min(step.saturating_add(ask.cluster - 1));
            let (range, intensity) = self.nearest(step, last, scan);
            match ask.form {
                Form::Two => put_number(range.min(TWO_MAX), 2, &mut data),
                Form::Three | Form::Echoes => put_number(range.min(THREE_MAX), 3, &mut data),
                Form::Intensity | Form::EchoIntensity => {
                    put_number(range.min(THREE_MAX), 3, &mut data);
                    put_number(intensity.min(THREE_MAX), 3, &mut data);
                }
            }
        }
        Response::begin(line, status).time(self.timer(scan.time_ms)).data(&data).end()
    }

    /// The nearest of some steps that is a measurement, else the first.
    fn nearest(&self, first: u16, last: u16, scan: &Scan) -> (u32, u32) {
        let at = |step: u16| {
            let index = (u32::from(step)).checked_sub(self.identity.first).map(|index| index as usize);
            let value = |of: &[u32]| index.and_then(|index| of.get(index).copied());
            (value(&scan.ranges_mm).unwrap_or(self.identity.make.blank_mm), value(&scan.intensities).unwrap_or(0))
        };
        let measured = |range: u32| (self.identity.near_mm()..=self.identity.far_mm()).contains(&range);
        let all = (first..=last).map(at).filter(|(range, _)| measured(*range));
        all.min_by_key(|(range, _)| *range).unwrap_or_else(|| at(first))
    }

    /// What the timer of the device shows.
    fn timer(&self, now_ms: u64) -> u64 {
        now_ms.wrapping_sub(self.zero_ms)
    }

    fn laser(&self) -> bool {
        matches!(self.state, State::Measuring(_) | State::Streaming(_))
    }

    fn state_code(&self) -> &'static [u8] {
        match self.state {
            State::Standby => b"000",
            State::Time => b"002",
            State::Measuring(_) => b"003",
            State::Streaming(_) => b"004",
            State::Asleep => b"005",
        }
    }

    fn version(&self, line: &[u8]) -> Response {
        let make = self.identity.make;
        Response::begin(line, Status::OK)
            .pair("VEND", make.vendor)
            .pair("PROD", make.product)
            .pair("FIRM", make.firmware)
            .pair("PROT", make.protocol)
            .pair("SERI", &self.identity.serial)
    }

    fn parameters(&self, line: &[u8]) -> Response {
        let device = &self.identity;
        Response::begin(line, Status::OK)
            .pair("MODL", &device.model)
            .pair("DMIN", &device.near_mm().to_string())
            .pair("DMAX", &device.far_mm().to_string())
            .pair("ARES", &device.limits.fan.turn.to_string())
            .pair("AMIN", &device.first.to_string())
            .pair("AMAX", &device.last.to_string())
            .pair("AFRT", &device.front.to_string())
            .pair("SCAN", &device.turns_per_minute().to_string())
    }

    fn information(&self, line: &[u8], now_ms: u64) -> Response {
        let measuring = match self.state {
            State::Standby | State::Time => "IDLE",
            State::Asleep => "Sleep",
            State::Measuring(_) | State::Streaming(_) => "Measuring by Normal Mode",
        };
        let port = match self.identity.port {
            Port::Serial => format!("{}[bps]", self.bits_per_second),
            Port::Network => "Ethernet 100[Mbps]".to_owned(),
        };
        Response::begin(line, Status::OK)
            .pair("MODL", &self.identity.model)
            .pair("LASR", if self.laser() { "ON" } else { "OFF" })
            .pair("SCSP", &format!("Initial({}[rpm])", self.identity.turns_per_minute()))
            .pair("MESM", measuring)
            .pair("SBPS", &port)
            .pair("TIME", &format!("{:06X}", self.timer(now_ms) & 0xff_ffff))
            .pair("STAT", self.identity.make.works)
    }
}

/// How long a request for a stream is up to the number of scans.
const STREAM_HEAD: usize = 13;

#[cfg(test)]
mod tests {
    use super::super::codec::{Lines, number_of, sum};
    use super::super::identity::{Fan, Limits, MAKES};
    use super::*;
    use proptest::prelude::*;

    fn identity(port: Port) -> Arc<Identity> {
        let fan = Fan { turn: 1024, first: -340, count: 682, clockwise: false };
        let limits = Limits { fan, near_m: 0.02, far_m: 4.095, rate_hz: 10.0, intensity: false };
        Arc::new(Identity::new(None, limits, "H0000042", port).unwrap())
    }

    fn scan(time_ms: u64) -> Scan {
        let ranges_mm = (0..682).map(|at| 1000 + at).collect();
        Scan { time_ms, ranges_mm, intensities: Vec::new() }
    }

    struct Host {
        device: Device,
        lines: Lines,
        now_ms: u64,
        latest: Option<Scan>,
    }

    impl Host {
        fn new(identity: Arc<Identity>) -> Self {
            Self { device: Device::new(identity), lines: Lines::default(), now_ms: 0, latest: None }
        }

        fn all(&mut self, text: &[u8]) -> Vec<Reply> {
            let Self { device, lines, now_ms, latest } = self;
            let mut replies = Vec::new();
            lines.take(text, |request| {
                device.request(&request, *now_ms, latest.as_ref(), &mut |each| replies.push(each))
            });
            replies
        }

        /// The lines of the only answer, sums checked and taken off, without the echo.
        fn ask(&mut self, line: &str) -> Vec<String> {
            let replies = self.all(format!("{line}\n").as_bytes());
            let [Reply::Answer(bytes)] = replies.as_slice() else { panic!("{line}: {replies:?}") };
            let (echo, lines) = lines_of(bytes);
            assert_eq!(echo, line);
            lines
        }

        fn scanned(&mut self, time_ms: u64) -> Vec<Reply> {
            let mut replies = Vec::new();
            self.now_ms = time_ms;
            self.latest = Some(scan(time_ms));
            self.device.scan(&scan(time_ms), &mut |each| replies.push(each));
            replies
        }
    }

    /// The echo, and the other lines without sums, which are checked.
    fn lines_of(bytes: &[u8]) -> (String, Vec<String>) {
        let text = std::str::from_utf8(bytes).unwrap();
        let text = text.strip_suffix("\n\n").unwrap();
        assert!(!text.contains("\n\n"));
        let mut lines = text.split('\n').map(str::to_owned);
        let echo = lines.next().unwrap();
        let unsummed = |line: String| {
            let (content, check) = line.split_at(line.len() - 1);
            let pair =
                content.as_bytes()[..4.min(content.len())].iter().all(u8::is_ascii_uppercase) && content.contains(':');
            let content = if pair { content.strip_suffix(';').unwrap() } else { content };
            assert_eq!(sum(content.as_bytes()), check.as_bytes()[0], "{line}");
            content.to_owned()
        };
        (echo, lines.map(unsummed).collect())
    }

    fn ranges(lines: &[String], characters: usize) -> Vec<u32> {
        lines.concat().as_bytes().chunks(characters).map(number_of).collect()
    }

    #[test]
    fn a_urg_04lx_tells_what_it_is() {
        let mut host = Host::new(identity(Port::Serial));
        let version = host.ask("VV");
        assert_eq!(version[0], "00");
        assert_eq!(version[1], "VEND:Hokuyo Automatic Co.,Ltd.");
        assert_eq!(version[5], "SERI:H0000042");
        assert_eq!(version.len(), 6);
        let expected = [
            "00",
            "MODL:URG-04LX(Hokuyo Automatic Co.,Ltd.)",
            "DMIN:20",
            "DMAX:4095",
            "ARES:1024",
            "AMIN:44",
            "AMAX:725",
            "AFRT:384",
            "SCAN:600",
        ];
        assert_eq!(host.ask("PP"), expected);
        host.now_ms = 0x01_2345_6789;
        let information = host.ask("II");
        assert_eq!(information.len(), 8);
        assert_eq!(information[2], "LASR:OFF");
        assert_eq!(information[6], "TIME:456789");
        assert!(information.iter().skip(1).all(|line| line.matches(':').count() == 1));
    }

    #[test]
    fn single_scans_need_the_laser_and_one_scan_since() {
        let mut host = Host::new(identity(Port::Serial));
        host.scanned(100);
        assert_eq!(host.ask("GD0044072501"), ["10"]);
        host.now_ms = 150;
        assert_eq!(host.ask("BM"), ["00"]);
        assert_eq!(host.ask("BM"), ["02"]);
        assert_eq!(host.ask("%ST"), ["00", "003"]);
        // the last scan was made with the laser off
        assert!(host.all(b"GD0044072501\n").is_empty() && host.device.wants_scans());
        let replies = host.scanned(200);
        let [Reply::Answer(bytes)] = replies.as_slice() else { panic!("{replies:?}") };
        let (echo, lines) = lines_of(bytes);
        assert_eq!((echo.as_str(), lines[0].as_str()), ("GD0044072501", "00"));
        assert_eq!(number_of(lines[1].as_bytes()), 200);
        assert_eq!(ranges(&lines[2..], 3), scan(200).ranges_mm);
        // from now on the latest is told at once, and is told again
        for _ in 0..2 {
            let lines = host.ask("GS0044004600");
            assert_eq!((number_of(lines[1].as_bytes()), ranges(&lines[2..], 2)), (200, vec![1000, 1001, 1002]));
        }
        assert_eq!(host.ask("QT"), ["00"]);
        assert_eq!(host.ask("GD0044072501"), ["10"]);
    }

    #[test]
    fn clusters_are_their_nearest_measurement_and_dead_steps_are_blank() {
        let mut host = Host::new(identity(Port::Serial));
        host.ask("BM");
        let mut made = scan(1);
        made.ranges_mm[..6].copy_from_slice(&[900, 0, 800, 0, 6, 0]);
        host.latest = Some(made);
        let lines = host.ask("GD0044005203");
        // the second cluster has codes only, and tells the first of them
        assert_eq!(ranges(&lines[2..], 3), [800, 0, 1006]);
        let lines = host.ask("GD0042004401");
        assert_eq!(ranges(&lines[2..], 3), [19, 19, 900]);
        let lines = host.ask("GD0725076801");
        assert_eq!(ranges(&lines[2..], 3)[..2], [1681, 19]);
        assert_eq!(host.ask("GD0725076901"), ["04"]);
        assert_eq!(host.ask("GD0045004401"), ["05"]);
        assert_eq!(host.ask("GE0044004401"), ["0F"]);
        assert_eq!(host.ask("ND0044004401000"), ["0F"]);
    }

    #[test]
    fn a_stream_counts_down_skips_and_switches_the_laser_off() {
        let mut host = Host::new(identity(Port::Serial));
        assert_eq!(host.ask("MD0044004601102;mine"), ["00"]);
        assert_eq!(host.ask("%ST"), ["00", "004"]);
        let mut heard = Vec::new();
        for time_ms in [100, 200, 300, 400, 500] {
            for reply in host.scanned(time_ms) {
                let Reply::Scan(bytes) = reply else { panic!("{reply:?}") };
                let (echo, lines) = lines_of(&bytes);
                assert_eq!(lines[0], "99");
                heard.push((echo, number_of(lines[1].as_bytes())));
            }
        }
        let expected = [("MD0044004601101;mine".to_owned(), 100), ("MD0044004601100;mine".to_owned(), 300)];
        assert_eq!(heard, expected);
        assert_eq!(host.ask("%ST"), ["00", "000"]);
        // an endless one stays at 00 until it is stopped
        assert_eq!(host.ask("MS0044004601000"), ["00"]);
        for _ in 0..200 {
            let replies = host.scanned(600);
            let [Reply::Scan(bytes)] = replies.as_slice() else { panic!("{replies:?}") };
            assert_eq!(lines_of(bytes).0, "MS0044004601000");
        }
        assert_eq!(host.ask("QT"), ["00"]);
        assert!(host.scanned(700).is_empty());
    }

    #[test]
    fn the_time_is_told_between_tm0_and_tm2_only() {
        let mut host = Host::new(identity(Port::Serial));
        assert_eq!(host.ask("TM1"), ["04"]);
        assert_eq!(host.ask("TM2"), ["03"]);
        host.ask("BM");
        assert_eq!(host.ask("TM0"), ["00"]);
        assert_eq!(host.ask("TM0"), ["02"]);
        assert_eq!(host.ask("%ST"), ["00", "002"]);
        host.now_ms = 1234;
        assert_eq!(number_of(host.ask("TM1")[1].as_bytes()), 1234);
        assert_eq!(host.ask("QT"), ["0E"]);
        assert_eq!(host.ask("BM"), ["10"]);
        assert_eq!(host.ask("TM2"), ["00"]);
        assert_eq!(host.ask("%ST"), ["00", "000"]);
        assert_eq!(host.ask("TM3"), ["01"]);
    }

    #[test]
    fn resets_switch_the_laser_off_and_the_timer_to_zero() {
        for (reset, rate) in [("RS", "19200"), ("RT", "115200")] {
            let mut host = Host::new(identity(Port::Serial));
            host.ask("BM");
            assert_eq!(host.ask("SS115200"), ["00"]);
            host.now_ms = 5000;
            assert_eq!(host.ask(reset), ["00"]);
            host.now_ms = 5001;
            let information = host.ask("II");
            assert_eq!(information[2], "LASR:OFF");
            assert_eq!(information[5], format!("SBPS:{rate}[bps]"));
            assert_eq!(information[6], "TIME:000001");
        }
        let mut host = Host::new(identity(Port::Serial));
        host.ask("BM");
        assert_eq!(host.ask("RB"), ["01"]);
        host.now_ms = 900;
        assert_eq!(host.ask("RB"), ["00"]);
        assert_eq!(host.ask("%ST"), ["00", "000"]);
        // two that are too far apart, or with something between, are two first ones
        assert_eq!(host.ask("RB"), ["01"]);
        host.now_ms = 2000;
        assert_eq!(host.ask("RB"), ["01"]);
        host.ask("VV");
        assert_eq!(host.ask("RB"), ["01"]);
    }

    #[test]
    fn a_sleeping_device_wakes_by_qt() {
        let mut host = Host::new(identity(Port::Network));
        assert_eq!(host.ask("%SL"), ["00"]);
        assert_eq!(host.ask("%ST"), ["00", "005"]);
        assert_eq!(host.ask("BM"), ["10"]);
        assert_eq!(host.ask("MD0044004601000"), ["10"]);
        assert_eq!(host.ask("QT"), ["00"]);
        assert_eq!(host.ask("%ST"), ["00", "000"]);
    }

    #[test]
    fn settings_that_a_device_does_not_have_are_refused() {
        let mut host = Host::new(identity(Port::Network));
        assert_eq!(host.ask("SS115200"), ["0F"]);
        assert_eq!(host.ask("CR05"), ["03"]);
        assert_eq!(host.ask("HS1"), ["03"]);
        assert_eq!(host.ask("HS0"), ["02"]);
        assert_eq!(host.ask("SCIP2.0"), ["00"]);
        let mut host = Host::new(identity(Port::Serial));
        assert_eq!(host.ask("SS019200"), ["03"]);
        assert_eq!(host.ask("SS012345"), ["02"]);
    }

    #[test]
    fn intensities_stand_behind_their_ranges() {
        let fan = Fan { turn: 1440, first: -1, count: 3, clockwise: false };
        let limits = Limits { fan, near_m: 0.02, far_m: 10.0, rate_hz: 40.0, intensity: true };
        let identity = Arc::new(Identity::new(Some(&MAKES[1]), limits, "1", Port::Network).unwrap());
        let mut host = Host::new(identity);
        host.ask("BM");
        host.latest = Some(Scan { time_ms: 1, ranges_mm: vec![1, 2000, 65533], intensities: vec![7, 8, 300_000] });
        let lines = host.ask("GE0539054100");
        assert_eq!(ranges(&lines[2..], 3), [1, 7, 2000, 8, 65533, THREE_MAX]);
    }

    proptest! {
        #[test]
        fn any_bytes_get_whole_answers(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
            let mut host = Host::new(identity(Port::Serial));
            for reply in host.all(&bytes) {
                let (Reply::Answer(bytes) | Reply::Scan(bytes)) = reply;
                prop_assert!(bytes.ends_with(b"\n\n") && bytes.len() < 200);
            }
        }

        #[test]
        fn any_requests_in_any_order_get_whole_answers(
            asked in proptest::collection::vec((0_usize..20, 0_u16..1100, 0_u16..1100, 0_u16..1000), 0..40),
        ) {
            let mut host = Host::new(identity(Port::Serial));
            for (which, start, end, rest) in asked {
                let names = ["VV", "PP", "II", "BM", "QT", "RS", "RT", "RB", "%ST", "%SL", "TM0", "TM1", "TM2", "SCIP2.0"];
                let line = match which {
                    0..14 => names[which].to_owned(),
                    14..17 => format!("GD{start:04}{end:04}{:02}", rest % 100),
                    _ => format!("MS{start:04}{end:04}{:02}{}{:02}", rest % 100, rest % 10, rest / 10),
                };
                host.now_ms += 10;
                let mut replies = host.all(format!("{line}\n").as_bytes());
                let now_ms = host.now_ms;
                replies.extend(host.scanned(now_ms));
                prop_assert!(replies.len() <= 3);
                for reply in replies {
                    let (Reply::Answer(bytes) | Reply::Scan(bytes)) = reply;
                    prop_assert!(bytes.ends_with(b"\n\n"));
                    prop_assert_eq!(bytes.windows(2).filter(|pair| pair == b"\n\n").count(), 1);
                    // at most every step in two characters, and its sums
                    prop_assert!(bytes.len() < 3000);
                }
            }
        }
    }
}
