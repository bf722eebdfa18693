use super::*;
use proptest::prelude::*;

fn shown(value: f64) -> String {
    let mut out = Vec::new();
    write_float(value, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

#[test]
fn numbers_are_written_as_python_does() {
    // what repr says of each
    let cases = [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.1, "0.1"),
        (1e-4, "0.0001"),
        (0.00012345, "0.00012345"),
        (1e-5, "1e-05"),
        (1.5e-7, "1.5e-07"),
        (123_456_789.125, "123456789.125"),
        (1e15, "1000000000000000.0"),
        (9_007_199_254_740_993.0, "9007199254740992.0"),
        (1e16, "1e+16"),
        (1.234e100, "1.234e+100"),
        (5e-324, "5e-324"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "Infinity"),
        (f64::NEG_INFINITY, "-Infinity"),
        (std::f64::consts::PI, "3.141592653589793"),
    ];
    for (value, expected) in cases {
        assert_eq!(shown(value), expected);
    }
}

#[test]
fn texts_are_escaped_to_ascii() {
    let json = Json::map([("a\"\\\n\u{1}", Json::from("Žmij 🐉 \u{7f}"))]);
    assert_eq!(json.to_text(), r#"{"a\"\\\n\u0001": "\u017dmij \ud83d\udc09 \u007f"}"#);
    assert_eq!(parse(json.to_text().as_bytes()), Ok(json));
}

#[test]
fn maps_and_lists_have_a_space_after_colon_and_comma() {
    let json = Json::map([
        ("a", Json::List(vec![Json::Int(1), Json::Float(2.0), Json::Null])),
        ("b", Json::Map(Vec::new())),
        ("c", Json::Bool(true)),
    ]);
    assert_eq!(json.to_text(), r#"{"a": [1, 2.0, null], "b": {}, "c": true}"#);
}

#[test]
fn requests_are_read_whatever_blanks_are_between_their_words() {
    let call = |text: &str| Request::parse(text.as_bytes());
    let expected = Some(Request::Call {
        id: "id1".to_owned(),
        component: "simulation".to_owned(),
        service: "list_robots".to_owned(),
        arguments: Vec::new(),
    });
    for text in [
        "id1 simulation list_robots",
        "  id1   simulation \t list_robots   ",
        "id1 simulation list_robots []",
        "\tid1 simulation list_robots [ ]\r",
    ] {
        assert_eq!(call(text), expected, "{text:?}");
    }
    assert_eq!(call(""), None);
    assert_eq!(call("  \t"), None);
    assert_eq!(call("11 cancel"), Some(Request::Cancel { id: "11".to_owned() }));
    assert!(matches!(call("11 cancel now"), Some(Request::Call { .. })));
    assert!(matches!(call("11"), Some(Request::Malformed { id, .. }) if id == "11"));
    assert!(matches!(call("11 time"), Some(Request::Malformed { .. })));
    assert!(
        matches!(call("2 time sleep [1.0"), Some(Request::Malformed { why, .. }) if why.starts_with("Invalid request syntax"))
    );
    let Some(Request::Call { arguments, .. }) = call("1 r.motion goto [1, NaN, -Infinity, 1500f]") else {
        panic!("no call")
    };
    assert_eq!(arguments[0], Json::Int(1));
    assert!(arguments[1].number().is_some_and(f64::is_nan));
    assert_eq!(arguments[2], Json::Float(f64::NEG_INFINITY));
    assert_eq!(arguments[3], Json::Int(1500));
}

#[test]
fn answers_leave_out_what_is_false() {
    let line = |status: Status| String::from_utf8(answer("7", &status)).unwrap_or_default();
    assert_eq!(line(Status::Success(Json::Null)), "7 SUCCESS\n");
    assert_eq!(line(Status::Success(Json::Bool(false))), "7 SUCCESS\n");
    assert_eq!(line(Status::Success(Json::Float(0.0))), "7 SUCCESS\n");
    assert_eq!(line(Status::Success(Json::List(Vec::new()))), "7 SUCCESS\n");
    assert_eq!(line(Status::Success(Json::from("Arrived"))), "7 SUCCESS \"Arrived\"\n");
    assert_eq!(line(Status::Failed("no".to_owned())), "7 FAILED \"no\"\n");
    assert_eq!(line(Status::Preempted), "7 PREEMPTED\n");
}

#[test]
fn what_is_too_deep_is_refused() {
    let deep = |depth: usize| parse([vec![b'['; depth], vec![b']'; depth]].concat().as_slice());
    assert!(deep(DEPTH_MAX).is_ok());
    assert!(deep(100_000).is_err());
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(Json::Int),
        (-1e300..1e300f64).prop_map(Json::Float),
        any::<f64>().prop_filter("not a number is never equal", |value| !value.is_nan()).prop_map(Json::Float),
        any::<String>().prop_map(Json::Text),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::List),
            prop::collection::vec((any::<String>(), inner), 0..6).prop_map(Json::Map),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(json in json()) {
        let text = json.to_text();
        prop_assert!(text.is_ascii());
        prop_assert_eq!(parse(text.as_bytes()), Ok(json));
    }

    #[test]
    fn requests_are_read_back(
        id in "[a-zA-Z0-9]{1,8}",
        component in "[a-zA-Z0-9_.]{1,12}",
        service in "[a-z_]{1,12}",
        arguments in prop::collection::vec(json(), 0..4),
    ) {
        let request = Request::Call { id, component, service, arguments };
        prop_assert_eq!(Request::parse(&request.line()), Some(request));
    }

    #[test]
    fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        _ = parse(&bytes);
        _ = Request::parse(&bytes);
    }

    #[test]
    fn changed_bytes_do_no_harm(json in json(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let mut bytes = json.to_text().into_bytes();
        let place = at.index(bytes.len());
        bytes[place] = byte;
        bytes.truncate(cut.index(bytes.len() + 1));
        // whatever is read can be written and read again
        if let Ok(read) = parse(&bytes) {
            prop_assert!(parse(read.to_text().as_bytes()).is_ok());
        }
    }
}

/// Mutated requests and messages; `MUSTER_PACKETS` says how many.
#[test]
fn mutated_packets_do_no_harm() {
    const SEEDS: [&[u8]; 6] = [
        b"0 simulation details []",
        b"11 cancel",
        b"3 robot.way goto [2.0, 0.0, NaN, -Infinity, 1500f]",
        b"{\"timestamp\": 1.5, \"x\": 1e-05, \"name\": \"\\u017d\\ud83d\\udc09\", \"l\": [1, 2.0, null, true, {}]}",
        b"{\"engines\": [1500f, 1500.000, 0, -1]}",
        b"{\"channel\": \"r0.motion\", \"data\": {\"v\": 1.0, \"w\": 0.0}}",
    ];
    let packets: u64 = std::env::var("MUSTER_PACKETS").ok().and_then(|text| text.parse().ok()).unwrap_or(50_000);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    };
    let (mut packet, mut read) = (Vec::new(), 0_u64);
    for _ in 0..packets {
        packet.clear();
        packet.extend_from_slice(SEEDS[random(SEEDS.len())]);
        for _ in 0..=random(4) {
            let at = random(packet.len().max(1));
            match random(4) {
                0 if at < packet.len() => packet[at] = random(256) as u8,
                1 if at < packet.len() => _ = packet.remove(at),
                2 => packet.insert(at.min(packet.len()), b"\"\\[]{},:0eE.-+ \tfnuN"[random(19)]),
                _ => packet.extend_from_within(at.min(packet.len())..),
            }
        }
        if let Ok(json) = parse(&packet) {
            read += 1;
            assert!(parse(json.to_text().as_bytes()).is_ok());
        }
        if let Some(request) = Request::parse(&packet) {
            assert!(request.line().len() < 64 * packet.len() + 64);
        }
    }
    assert!(read > 0);
}
