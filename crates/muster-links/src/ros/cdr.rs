//! CDR, the bytes of ROS 2 messages: XCDR version 1, little-endian, final types, as in section 7.4.1 of OMG's *DDS for
//! Extensible and Dynamic Topic Types* 1.3. Four header bytes (00 01 00 00), then every number aligned to its own size,
//! counted from the end of the header; texts and sequences begin with their length.

use std::fmt;

/// The header: representation PLAIN_CDR little-endian, no options.
pub const HEADER: [u8; 4] = [0, 1, 0, 0];

/// Writes one message after another into the same buffer, which is reused.
#[derive(Debug, Clone, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Begins a message.
    pub fn begin(&mut self) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&HEADER);
    }

    /// Writes a whole message and returns its bytes.
    pub fn message(&mut self, message: &impl Field) -> &[u8] {
        self.begin();
        message.write(self);
        &self.bytes
    }

    /// The bytes so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds zeros until the next number of this size may follow.
    pub fn align(&mut self, size: usize) {
        let end = (self.bytes.len() - HEADER.len()).next_multiple_of(size) + HEADER.len();
        self.bytes.resize(end, 0);
    }

    /// Adds bytes as they are.
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds the length of a sequence or text.
    pub fn length(&mut self, length: usize) {
        u32::try_from(length).unwrap_or(u32::MAX).write(self);
    }

    /// Adds a text.
    pub fn text(&mut self, text: &str) {
        self.length(text.len() + 1);
        self.put(text.as_bytes());
        self.put(&[0]);
    }
}

/// Why bytes are no such message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// Where, in bytes from the start.
    pub at: usize,
    /// What was expected there.
    pub expected: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found other bytes at {}, expected {}", self.at, self.expected)
    }
}

impl std::error::Error for Malformed {}

/// Reads one message. Never makes more room than the bytes that are there can fill.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Begins to read a message.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Malformed> {
        match bytes.get(..HEADER.len()) {
            Some(header) if header == HEADER => Ok(Self { bytes, at: HEADER.len() }),
            _ => Err(Malformed { at: 0, expected: "the header 00 01 00 00" }),
        }
    }

    /// Reads a whole message; nothing but padding may follow it.
    pub fn message<T: Field>(bytes: &'a [u8]) -> Result<T, Malformed> {
        let mut reader = Self::new(bytes)?;
        let message = T::read(&mut reader)?;
        if reader.left() >= 8 {
            return Err(reader.malformed("the end of the message"));
        }
        Ok(message)
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn malformed(&self, expected: &'static str) -> Malformed {
        Malformed { at: self.at, expected }
    }

    /// Passes over what aligns the next number.
    pub fn align(&mut self, size: usize) -> Result<(), Malformed> {
        let at = (self.at - HEADER.len()).next_multiple_of(size) + HEADER.len();
        if at > self.bytes.len() {
            return Err(self.malformed("more bytes"));
        }
        self.at = at;
        Ok(())
    }

    /// Takes bytes as they are.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or(self.malformed("more bytes"))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    /// The length of a sequence whose elements take so many bytes at least.
    pub fn length(&mut self, least: usize) -> Result<usize, Malformed> {
        let length = u32::read(self)? as usize;
        if length.saturating_mul(least.max(1)) > self.left() {
            return Err(self.malformed("as many elements as the length says"));
        }
        Ok(length)
    }

    /// A text.
    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        let length = self.length(1)?;
        let bytes = self.take(length)?;
        // some writers leave out the zero of an empty text
        let text = bytes.strip_suffix(&[0]).unwrap_or(bytes);
        std::str::from_utf8(text).ok().ok_or(self.malformed("UTF-8"))
    }
}

/// Part of a message.
pub trait Field: Sized {
    /// It takes so many bytes at least.
    const LEAST: usize;

    /// A zero, an empty text, a message of such.
    fn empty() -> Self;

    /// Adds it to a message.
    fn write(&self, out: &mut Writer);

    /// Takes it from a message.
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed>;

    /// Its type in a definition: `float64`, `geometry_msgs/Pose`.
    fn type_name() -> String;

    /// Adds the definitions of the messages it is made of, each once, outer ones first.
    fn define(definitions: &mut Vec<Definition>) {
        _ = definitions;
    }

    /// Adds several.
    fn write_all(list: &[Self], out: &mut Writer) {
        list.iter().for_each(|each| each.write(out));
    }

    /// Takes several.
    fn read_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<Self>, Malformed> {
        (0..count).map(|_| Self::read(from)).collect()
    }
}

/// The definition of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// `package/Type`.
    pub name: String,
    /// Its fields and constants, a line each.
    pub text: String,
}

/// Between the definition of a message and those of the messages in it.
const RULE: &str = "================================================================================";

/// The definition of a message with all that it is made of, as `ros2msg` schemas have it.
pub fn schema_text(definitions: &[Definition]) -> String {
    let mut text = String::new();
    for (at, definition) in definitions.iter().enumerate() {
        if at > 0 {
            text.push_str(&format!("{RULE}\nMSG: {}\n", definition.name));
        }
        text.push_str(&definition.text);
    }
    text
}

macro_rules! numbers {
    ($($type:ty = $name:literal),* $(,)?) => {$(
        impl Field for $type {
            const LEAST: usize = size_of::<$type>();

            fn empty() -> Self {
                Self::default()
            }

            #[inline]
            fn write(&self, out: &mut Writer) {
                out.align(Self::LEAST);
                out.put(&self.to_le_bytes());
            }

            #[inline]
            fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                from.align(Self::LEAST)?;
                let mut bytes = [0; size_of::<$type>()];
                bytes.copy_from_slice(from.take(Self::LEAST)?);
                Ok(Self::from_le_bytes(bytes))
            }

            fn type_name() -> String {
                $name.to_owned()
            }

            fn write_all(list: &[Self], out: &mut Writer) {
                if list.is_empty() {
                    return;
                }
                out.align(Self::LEAST);
                let first = out.bytes.len();
                out.bytes.resize(first + size_of_val(list), 0);
                for (place, value) in out.bytes[first..].chunks_exact_mut(Self::LEAST).zip(list) {
                    place.copy_from_slice(&value.to_le_bytes());
                }
            }
        }
    )*};
}

numbers! {
    i8 = "int8", u8 = "uint8", i16 = "int16", u16 = "uint16", i32 = "int32", u32 = "uint32", i64 = "int64", u64 = "uint64",
    f32 = "float32", f64 = "float64",
}

impl Field for bool {
    const LEAST: usize = 1;

    fn empty() -> Self {
        false
    }

    fn write(&self, out: &mut Writer) {
        u8::from(*self).write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        match u8::read(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(from.malformed("0 or 1")),
        }
    }

    fn type_name() -> String {
        "bool".to_owned()
    }
}

impl Field for String {
    const LEAST: usize = 4;

    fn empty() -> Self {
        Self::new()
    }

    fn write(&self, out: &mut Writer) {
        out.text(self);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        from.text().map(str::to_owned)
    }

    fn type_name() -> String {
        "string".to_owned()
    }
}

impl<T: Field> Field for Vec<T> {
    const LEAST: usize = 4;

    fn empty() -> Self {
        Self::new()
    }

    fn write(&self, out: &mut Writer) {
        out.length(self.len());
        T::write_all(self, out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let count = from.length(T::LEAST)?;
        T::read_all(count, from)
    }

    fn type_name() -> String {
        format!("{}[]", T::type_name())
    }

    fn define(definitions: &mut Vec<Definition>) {
        T::define(definitions);
    }
}

impl<T: Field, const N: usize> Field for [T; N] {
    const LEAST: usize = N * T::LEAST;

    fn empty() -> Self {
        std::array::from_fn(|_| T::empty())
    }

    fn write(&self, out: &mut Writer) {
        T::write_all(self, out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let wrong = from.malformed("as many elements as the array has");
        T::read_all(N, from)?.try_into().ok().ok_or(wrong)
    }

    fn type_name() -> String {
        format!("{}[{N}]", T::type_name())
    }

    fn define(definitions: &mut Vec<Definition>) {
        T::define(definitions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::messages::{Header, LaserScan, Message, TfMessage, Time, TransformStamped};
    use proptest::prelude::*;

    /// Worked out by hand from the rules of section 7.4.1.
    #[test]
    fn numbers_are_aligned_to_their_size_after_the_header() {
        let mut writer = Writer::default();
        writer.begin();
        1_u8.write(&mut writer);
        2_u16.write(&mut writer);
        "ab".to_owned().write(&mut writer);
        1.5_f64.write(&mut writer);
        let expected: &[u8] = &[
            0, 1, 0, 0, // header
            1, 0, 2, 0, // a byte, padding, two bytes
            3, 0, 0, 0, b'a', b'b', 0, // length with the zero, the text
            0, // padding to 12, and to 16:
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f,
        ];
        assert_eq!(writer.bytes(), expected);
    }

    #[test]
    fn an_empty_sequence_of_doubles_is_only_a_length() {
        let mut writer = Writer::default();
        writer.begin();
        Vec::<f64>::new().write(&mut writer);
        assert_eq!(writer.bytes(), [0, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn schemas_name_every_nested_message_once() {
        let text = TfMessage::schema();
        assert!(text.starts_with("geometry_msgs/TransformStamped[] transforms\n===="), "{text}");
        for name in ["geometry_msgs/TransformStamped", "std_msgs/Header", "builtin_interfaces/Time"] {
            assert_eq!(text.matches(&format!("\nMSG: {name}\n")).count(), 1, "{name}");
        }
    }

    #[test]
    fn a_length_that_promises_more_than_there_is_makes_no_room() {
        let mut bytes = HEADER.to_vec();
        bytes.extend_from_slice(&u32::MAX.to_le_bytes());
        let mut reader = Reader::new(&bytes).unwrap();
        assert_eq!(Vec::<f64>::read(&mut reader).unwrap_err().expected, "as many elements as the length says");
        assert!(Reader::message::<TfMessage>(&bytes).is_err());
    }

    fn scans() -> impl Strategy<Value = LaserScan> {
        let numbers = (any::<i32>(), any::<u32>(), ".{0,20}", any::<[f32; 7]>());
        let lists = (prop::collection::vec(any::<f32>(), 0..50), prop::collection::vec(any::<f32>(), 0..50));
        (numbers, lists).prop_map(|((sec, nanosec, frame_id, n), (ranges, intensities))| LaserScan {
            header: Header { stamp: Time { sec, nanosec }, frame_id },
            angle_min: n[0],
            angle_max: n[1],
            angle_increment: n[2],
            time_increment: n[3],
            scan_time: n[4],
            range_min: n[5],
            range_max: n[6],
            ranges,
            intensities,
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(scan in scans(), frames in prop::collection::vec(".{0,9}", 0..9)) {
            let mut writer = Writer::default();
            let read: LaserScan = Reader::message(writer.message(&scan)).unwrap();
            // floats that are no numbers are compared by their bits
            prop_assert_eq!(format!("{:?}", read), format!("{:?}", scan));
            let named = |name: &String| TransformStamped { child_frame_id: name.clone(), ..TransformStamped::default() };
            let tf = TfMessage { transforms: frames.iter().map(named).collect() };
            prop_assert_eq!(Reader::message::<TfMessage>(writer.message(&tf)).unwrap(), tf);
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if bytes.len() >= 4 {
                bytes[..4].copy_from_slice(&HEADER);
            }
            _ = Reader::message::<LaserScan>(&bytes);
            _ = Reader::message::<TfMessage>(&bytes);
        }
    }

    /// A number from a row that looks random.
    fn draw(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    /// Real messages with a few bytes changed, cut or doubled; `MUSTER_PACKETS` says how many, for a long look.
    #[test]
    fn mutated_messages_are_read_or_refused() {
        use crate::record::command::Recorded;
        use crate::ros::messages::{CommandRecord, Hashes, PointCloud2};
        let count = std::env::var("MUSTER_PACKETS").ok().and_then(|text| text.parse().ok()).unwrap_or(200_000_u64);
        let scan = LaserScan { ranges: vec![1.0; 40], intensities: vec![0.5; 3], ..LaserScan::default() };
        let tf = TfMessage { transforms: vec![TransformStamped::default(); 3] };
        let words = vec!["goto".to_owned(), "reply".to_owned(), "x".to_owned()];
        let call = CommandRecord {
            action: "call".to_owned(),
            numbers: vec![1.0, 2.0],
            words,
            order: "nwn".to_owned(),
            ..CommandRecord::default()
        };
        let hashes = Hashes { robots: vec![7; 9], ..Hashes::default() };
        let cloud = PointCloud2 { data: vec![1; 64], ..PointCloud2::default() };
        let mut writer = Writer::default();
        let originals = [
            writer.message(&scan).to_vec(),
            writer.message(&tf).to_vec(),
            writer.message(&call).to_vec(),
            writer.message(&hashes).to_vec(),
            writer.message(&cloud).to_vec(),
        ];
        let (mut state, mut read) = (0x9e37_79b9_7f4a_7c15_u64, 0);
        let mut bytes = Vec::new();
        for packet in 0..count {
            let which = (packet % originals.len() as u64) as usize;
            bytes.clone_from(&originals[which]);
            for _ in 0..=draw(&mut state) % 4 {
                let at = draw(&mut state) as usize % bytes.len();
                match draw(&mut state) % 4 {
                    0 => bytes.truncate(at.max(1)),
                    1 => bytes.extend_from_within(at..),
                    _ => bytes[at] = draw(&mut state) as u8,
                }
                bytes.truncate(4096);
            }
            read += u64::from(match which {
                0 => Reader::message::<LaserScan>(&bytes).is_ok(),
                1 => Reader::message::<TfMessage>(&bytes).is_ok(),
                2 => Reader::message::<CommandRecord>(&bytes).is_ok_and(|message| Recorded::read(&message).is_ok()),
                3 => Reader::message::<Hashes>(&bytes).is_ok(),
                _ => Reader::message::<PointCloud2>(&bytes).is_ok(),
            });
        }
        assert!(read > 0 && read < count, "{read} of {count} were read");
    }
}
