//! References from one file to another: names relative to the file, with escapes, or data written in place (RFC 2397).

use super::{BYTES_MAX, Fault};

/// What a reference means.
#[derive(Debug, PartialEq)]
pub(super) enum Reference {
    /// A file, by its name relative to the one that names it.
    File(String),
    /// Bytes.
    Data(Vec<u8>),
}

/// Reads a URI.
pub(super) fn read(uri: &str) -> Result<Reference, Fault> {
    let uri = uri.trim();
    if let Some(data) = uri.strip_prefix("data:") {
        let (kind, data) =
            data.split_once(',').ok_or_else(|| Fault::new("a data: reference without data", "a comma"))?;
        if !kind.ends_with(";base64") {
            return Err(Fault::new(format!("a data: reference of kind {:?}", short(kind)), ";base64"));
        }
        return base64(data.as_bytes()).map(Reference::Data);
    }
    let name = uri.strip_prefix("file://").unwrap_or(uri);
    if name.contains("://") {
        return Err(Fault::new(format!("a reference to {:?}", short(uri)), "the name of a file beside it"));
    }
    file(&unescaped(name)).map(Reference::File)
}

/// A name of a file beside the one that names it. Whoever made a file does not choose what else is read of this machine.
pub(super) fn file(name: &str) -> Result<String, Fault> {
    // other systems part folders otherwise
    let name = name.trim().replace('\\', "/");
    let drive = name.as_bytes().get(1) == Some(&b':');
    if name.is_empty() || name.starts_with('/') || drive || name.contains('\0') {
        return Err(Fault::new(format!("a reference to {:?}", short(&name)), "the name of a file beside it"));
    }
    Ok(name)
}

fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

/// `%20` and its like.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn base64(text: &[u8]) -> Result<Vec<u8>, Fault> {
    if text.len() / 4 * 3 > BYTES_MAX {
        return Err(Fault::new(format!("{} bytes of data", text.len()), format!("at most {BYTES_MAX}")));
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for (at, byte) in text.iter().enumerate() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => {
                let found = format!("byte {byte:#04x} in data, at character {at} of it");
                return Err(Fault::new(found, "letters, digits, + and / (base64)"));
            }
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_names_or_data() {
        assert_eq!(read("data:application/octet-stream;base64,SGVsbG8=").unwrap(), Reference::Data(b"Hello".to_vec()));
        assert_eq!(read("my%20map.png").unwrap(), Reference::File("my map.png".to_owned()));
        assert_eq!(read("..\\textures\\a.png").unwrap(), Reference::File("../textures/a.png".to_owned()));
        assert_eq!(read("100%.png").unwrap(), Reference::File("100%.png".to_owned()));
        for wrong in [
            "http://x/y.png",
            "/etc/passwd",
            "file:///etc/passwd",
            "C:\\a.png",
            "",
            "data:x",
            "data:x,y",
            "data:;base64,*",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
