//! Scanners that speak SCIP 2.0, as a program written for the real device sees them. Clients here are a few lines each;
//! those of others are run by `cargo xtask references`.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

mod common;

use common::peers::{Client, while_it_runs};
use muster::{PortBase, Setup, Simulation};
use muster_links::scip::codec::{number_of, sum};

/// A robot that stands in a room, with a URG-04LX that is exact to the millimetre; the text is what is bound.
fn room(sensor: &str, links: &str) -> String {
    format!(
        "muster: 1\nworld:\n  obstacles:\n    wall: {{box_size_m: [0.1, 8, 2], at: {{xyz_m: [2, 0, 1]}}}}\n    \
         post: {{box_size_m: [0.2, 0.2, 2], at: {{xyz_m: [-1, 1.5, 1]}}}}\nrun: {{window_ms: 10}}\nrobots:\n  - name: rover\n    \
         motion: {{kind: differential}}\n    at: {{xyz_m: [0.3, 0.1, 0], yaw_deg: 7}}\n    sensors:\n      \
         scan: {sensor}\n    links:\n      - {links}\n"
    )
}

const URG: &str = "{kind: range, preset: urg04lx, at: {xyz_m: [0.1, 0, 0.3]}, accuracy: perfect}";

fn opened(text: &str) -> Simulation {
    let mut sim = Simulation::from_text(text, &Setup::default()).unwrap_or_else(|error| panic!("{error}"));
    sim.open_links(PortBase::Auto).unwrap_or_else(|error| panic!("{error}"));
    sim
}

fn problem(text: &str) -> String {
    let loaded = Simulation::from_text(text, &Setup::default());
    match loaded {
        Err(error) => error.to_string(),
        Ok(mut sim) => sim.open_links(PortBase::Auto).err().map_or_else(String::new, |error| error.to_string()),
    }
}

/// The lines of a response without their sums, which are checked.
fn response(client: &mut Client) -> Vec<String> {
    let text = String::from_utf8(client.until(b"\n\n")).unwrap();
    let mut lines = text.strip_suffix("\n\n").unwrap().split('\n');
    let echo = lines.next().unwrap().to_owned();
    let unsummed = |line: &str| {
        let (content, check) = line.split_at(line.len() - 1);
        let pair = content.strip_suffix(';').filter(|pair| sum(pair.as_bytes()) == check.as_bytes()[0]);
        assert!(pair.is_some() || sum(content.as_bytes()) == check.as_bytes()[0], "{line}");
        pair.unwrap_or(content).to_owned()
    };
    std::iter::once(echo).chain(lines.map(unsummed)).collect()
}

fn ask(client: &mut Client, request: &str) -> Vec<String> {
    client.say(&format!("{request}\n"));
    let lines = response(client);
    assert_eq!(lines[0], request);
    lines[1..].to_vec()
}

fn ranges(lines: &[String], characters: usize) -> Vec<u32> {
    lines.concat().as_bytes().chunks(characters).map(number_of).collect()
}

/// What a device writes for the sensor's ranges; the room has none between its walls and what is too far.
fn written(sim: &Simulation) -> Vec<f64> {
    sim.world().property("rover.scan").unwrap().iter().map(|range| range * 1000.0).collect()
}

/// Every range is the sensor's to half a millimetre; what was not seen is 0.
fn same(told: &[u32], truth: &[f64]) {
    assert_eq!(told.len(), truth.len());
    let mut seen = 0;
    for (&told, &truth) in told.iter().zip(truth) {
        if truth.is_finite() {
            assert!((f64::from(told) - truth).abs() <= 0.5, "{told} {truth}");
            seen += 1;
        } else {
            assert_eq!(told, 0);
        }
    }
    assert!(seen > 100 && seen < told.len(), "{seen}");
}

fn urg_session(client: &mut Client) -> Vec<Vec<u32>> {
    assert_eq!(ask(client, "QT"), ["00"]);
    let parameters = ask(client, "PP");
    let expected =
        ["MODL:URG-04LX(Hokuyo Automatic Co.,Ltd.)", "DMIN:20", "DMAX:4095", "ARES:1024", "AMIN:43", "AMAX:725"];
    assert_eq!(parameters[1..7], expected);
    assert_eq!(ask(client, "GD0043072500"), ["10"]);
    assert_eq!(ask(client, "BM"), ["00"]);
    let single = ask(client, "GD0043072500");
    let short = ask(client, "GS0043072500");
    let mut scans = vec![ranges(&single[2..], 3), ranges(&short[2..], 2)];
    assert_eq!(ask(client, "MD0043072501003"), ["00"]);
    let mut times = vec![number_of(single[1].as_bytes())];
    for left in ["02", "01", "00"] {
        let lines = response(client);
        assert_eq!((lines[0].as_str(), lines[1].as_str()), (format!("MD00430725010{left}").as_str(), "99"));
        times.push(number_of(lines[2].as_bytes()));
        scans.push(ranges(&lines[3..], 3));
    }
    // every scan of 10 Hz is told, with its simulated time
    assert_eq!((times[2] - times[1], times[3] - times[2]), (100, 100), "{times:?}");
    assert_eq!(ask(client, "%ST"), ["00", "000"]);
    scans
}

#[test]
fn r32_l12_a_urg_04lx_is_served_over_tcp_and_a_pseudo_terminal_with_the_ranges_of_the_sensor() {
    let pty = std::env::temp_dir().join(format!("muster-urg-{}", std::process::id()));
    let mut sim = opened(&room(URG, &format!("{{channel: scan, to: scip, port: 10940, pty: {}}}", pty.display())));
    let at: Vec<String> = sim.addresses().into_iter().map(|address| address.at).collect();
    assert_eq!(at.len(), 2);
    for at in at {
        let told = while_it_runs(&mut sim, move || urg_session(&mut Client::connect(&at)));
        let truth = written(&sim);
        assert_eq!(told.len(), 5);
        told.iter().for_each(|told| same(told, &truth));
    }
    let tally = &sim.link_reports()[0].tally;
    assert_eq!((tally.misunderstood, tally.dropped, tally.closed), (0, 0, 0));
    drop(sim);
    assert!(!pty.exists());
}

#[test]
fn responses_never_arrive_together() {
    let mut sim = opened(&room(URG, "{channel: scan, to: scip}"));
    let at = sim.addresses()[0].at.clone();
    while_it_runs(&mut sim, move || {
        let mut client = Client::connect(&at);
        // read as some clients do: whatever ends in an empty line is one response
        let one = |client: &mut Client, expected: &str| {
            let mut bytes = Vec::new();
            while !bytes.ends_with(b"\n\n") {
                bytes.extend(client.some());
            }
            let text = String::from_utf8(bytes).unwrap();
            assert_eq!(text.matches("\n\n").count(), 1, "{text}");
            assert!(text.starts_with(expected), "{text}");
        };
        client.say("MD0043072501000\n");
        one(&mut client, "MD0043072501000\n00P\n\n");
        for _ in 0..20 {
            one(&mut client, "MD0043072501000\n99b\n");
        }
        client.say("QT\nVV\n");
        // scans that were under way may come first
        let mut rest = client.until(b"SERI:rover.scan");
        rest.drain(..rest.windows(3).position(|each| each == b"QT\n").unwrap());
        assert!(rest.starts_with(b"QT\n00P\n\nVV\n00P\n"));
    });
}

#[test]
fn several_hosts_have_sessions_of_their_own_and_one_may_vanish() {
    let mut sim = opened(&room(URG, "{channel: scan, to: scip}"));
    let at = sim.addresses()[0].at.clone();
    while_it_runs(&mut sim, move || {
        let (mut first, mut second) = (Client::connect(&at), Client::connect(&at));
        assert_eq!(ask(&mut first, "BM"), ["00"]);
        assert_eq!(ask(&mut second, "%ST"), ["00", "000"]);
        assert_eq!(ask(&mut second, "TM0"), ["00"]);
        assert_eq!(ask(&mut first, "%ST"), ["00", "003"]);
        first.say("MD0043072501000\n");
        drop(first);
        let time = number_of(ask(&mut second, "TM1")[1].as_bytes());
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(number_of(ask(&mut second, "TM1")[1].as_bytes()) > time);
    });
    assert_eq!(sim.link_reports()[0].tally.peers_ever, 2);
}

#[test]
fn intensities_and_the_identity_of_a_ust_10lx_are_told() {
    let ust = "{kind: range, preset: ust10lx, at: {xyz_m: [0.1, 0, 0.3]}, accuracy: perfect, output: intensity}";
    let mut sim = opened(&room(ust, "{channel: scan, to: scip, serial_number: H42, intensity_scale: 2000}"));
    let at = sim.addresses()[0].at.clone();
    let told = while_it_runs(&mut sim, move || {
        let mut client = Client::connect(&at);
        assert_eq!(ask(&mut client, "VV")[5], "SERI:H42");
        assert_eq!(
            ask(&mut client, "PP")[1..],
            ["MODL:UST-10LX", "DMIN:60", "DMAX:10000", "ARES:1440", "AMIN:0", "AMAX:1080", "AFRT:540", "SCAN:2400",]
        );
        assert_eq!(ask(&mut client, "BM"), ["00"]);
        ranges(&ask(&mut client, "GE0000108000")[2..], 3)
    });
    let truth = sim.world().property("rover.scan").unwrap();
    assert_eq!(told.len(), truth.len());
    for (told, truth) in told.chunks(2).zip(truth.chunks(2)) {
        let range = if truth[0].is_finite() { truth[0] * 1000.0 } else { 65533.0 };
        assert!((f64::from(told[0]) - range).abs() <= 0.5 && (f64::from(told[1]) - truth[1] * 2000.0).abs() <= 0.5);
    }
}

#[test]
fn what_is_no_scanner_is_refused_with_its_line() {
    let wrong = problem(&room("{kind: imu}", "{channel: scan, to: scip}"));
    assert!(wrong.contains("scenario.yaml:14:19") && wrong.contains("\"scan\", a imu without rays"), "{wrong}");
    let grid = "{kind: range, rays: {kind: grid, columns: 4, rows: 3}}";
    let wrong = problem(&room(grid, "{channel: scan, to: scip}"));
    assert!(wrong.contains("scenario.yaml:14:19") && wrong.contains("out of the sensor's xy plane"), "{wrong}");
    let wrong = problem(&room("{kind: range, rays: {count: 180}}", "{channel: scan, to: scip}"));
    assert!(wrong.contains("straight ahead 0.5000 of a step beside a ray"), "{wrong}");
    let wrong = problem(&room("{kind: range}", "{channel: scan, to: scip, device: urg04lx}"));
    assert!(wrong.contains("scenario.yaml:14:9") && wrong.contains("rays a urg04lx could have"), "{wrong}");
    let wrong = problem(&room("{kind: range}", "{channel: scan, to: scip, device: urg4lx}"));
    assert!(wrong.contains("did you mean \"urg04lx\"?"), "{wrong}");
    let wrong = problem(&room("{kind: range}", "{channel: scan, to: scip, host: nowhere}"));
    assert!(wrong.contains("scenario.yaml:14:9") && wrong.contains("host \"nowhere\""), "{wrong}");
    let wrong = problem(&room("{kind: range}", "{to: scip}"));
    assert!(wrong.contains("expected a range sensor with a planar fan of rays"), "{wrong}");
}

#[test]
fn a_scanner_is_bound_and_unbound_while_it_runs() {
    let mut sim = opened(&format!(
        "{}links: {{scip: {{}}}}\n",
        room(URG, "{channel: scan, to: scip}")
            .replace("{channel: scan, to: scip}", "{channel: scan, to: scip, port: 10940}")
    ));
    assert!(sim.unbind("rover.scan", "scip") && sim.addresses().is_empty());
    sim.bind("rover", "{channel: scan, to: scip, device: urg04lx}").unwrap();
    let at = sim.addresses()[0].at.clone();
    let told = while_it_runs(&mut sim, move || urg_session(&mut Client::connect(&at)));
    same(&told[0], &written(&sim));
}
