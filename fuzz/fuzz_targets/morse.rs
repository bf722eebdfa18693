//! Any bytes as JSON and as a request of MORSE's socket protocol: nothing may panic, hang or fill the memory, and what was
//! read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use muster_links::morse::codec::{Request, parse};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(json) = parse(bytes) {
        let text = json.to_text();
        assert!(text.is_ascii());
        let again = parse(text.as_bytes()).expect("what was written");
        assert_eq!(again.to_text(), text);
    }
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(request) = Request::parse(line) {
            let again = Request::parse(&request.line());
            assert!(again.is_some());
        }
    }
});
