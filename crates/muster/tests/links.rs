//! Links as users write them: bindings, their errors, logs, and what happens while it runs.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

mod common;

use muster::{PortBase, Setup, Simulation};
use std::path::PathBuf;

/// A folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("muster-links-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Two rovers; the text between is what each test is about.
fn rovers(links: &str, rest: &str) -> String {
    format!(
        "muster: 1\nrobots:\n  - name: rover{{i}}\n    count: 2\n    layout: {{grid: {{rows: 1, spacing_m: 3}}}}\n    \
         motion: {{kind: differential}}\n    sensors:\n      GPS: {{kind: truth, rate_hz: 10}}\n      \
         Gyroscope: {{kind: gyroscope, rate_hz: 20}}\n      near: {{kind: neighbours, rate_hz: 5, radius_m: 10}}\n{links}{rest}"
    )
}

fn problems(text: &str) -> String {
    Simulation::from_text(text, &Setup::default()).err().map_or_else(String::new, |error| error.to_string())
}

#[test]
fn bindings_are_checked_with_line_and_nearest_name() {
    let wrong = problems(&rovers("    links:\n      - {channel: GSP, to: csv}\n      - {channel: GPS, to: cvs}\n", ""));
    assert!(wrong.contains("scenario.yaml:12:19") && wrong.contains("did you mean \"GPS\"?"), "{wrong}");
    assert!(wrong.contains("scenario.yaml:13:28") && wrong.contains("did you mean \"csv\"?"), "{wrong}");
    let wrong = problems(&rovers("    links:\n      - {channel: GPS, to: csv, fiel: x}\n      - {to: csv}\n", ""));
    assert!(wrong.contains("found \"fiel\"") && wrong.contains("did you mean \"file\"?"), "{wrong}");
    assert!(wrong.contains("expected a sensor: logs are written, not read"), "{wrong}");
    let wrong = problems(&rovers("", "links: {csv: {foldr: x}, scv: {}}\n"));
    assert!(wrong.contains("did you mean \"folder\"?") && wrong.contains("did you mean \"csv\"?"), "{wrong}");
}

#[test]
fn w04_unknown_components_and_middlewares_of_morse_fail_with_their_line() {
    let wrong =
        problems(&rovers("", "component_mw:\n  rover0.GPZ: [Text, write_data]\n  rover1.GPS: [Txt, write_data]\n"));
    assert!(wrong.contains("scenario.yaml:12:3") && wrong.contains("did you mean \"rover0.GPS\"?"), "{wrong}");
    assert!(wrong.contains("scenario.yaml:13") && wrong.contains("did you mean \"text\"?"), "{wrong}");
    let wrong = problems(&rovers("", "component_mw:\n  GPS: [Text, write_data]\n"));
    assert!(wrong.contains("which 2 robots have") && wrong.contains("rover0.GPS"), "{wrong}");
}

#[test]
fn logs_hold_every_sample_in_their_format() {
    let folder = folder("formats");
    let links = "    links:\n      - {channel: \"*\", to: jsonl}\n      - {channel: GPS, to: csv, file: \"gps{i}.csv\"}\n      \
                 - {channel: Gyroscope, to: text}\n      - {channel: near, to: csv}\n";
    let all = format!("{{folder: {folder:?}}}");
    let text = rovers(links, &format!("links: {{csv: {all}, jsonl: {all}, text: {all}}}\n"));
    let mut sim = Simulation::from_text(&text, &Setup::default()).unwrap();
    sim.open_links(PortBase::AsWritten).unwrap();
    assert_eq!(sim.addresses().len(), 12);
    sim.run_for(2.0);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let csv = read("gps1.csv");
    assert!(csv.starts_with("stamp_s,position_m.x,position_m.y,position_m.z,orientation.x"));
    assert_eq!(csv.lines().count(), 1 + 20);
    assert!(csv.lines().nth(3).unwrap().starts_with("0.3,"));
    let near = read("rover0_near.csv");
    assert!(
        near.starts_with("stamp_s,record,") && near.lines().filter(|line| line.contains(",0,")).count() >= 10,
        "{near}"
    );
    let jsonl = read("rover0_Gyroscope.jsonl");
    let last: serde_json::Value = serde_json::from_str(jsonl.lines().last().unwrap()).unwrap();
    assert_eq!((jsonl.lines().count(), last["stamp_s"].as_f64()), (40, Some(2.0)));
    assert_eq!(last["channel"], "rover0.Gyroscope");
    let morse = read("rover1_Gyroscope.txt");
    let mut lines = morse.lines();
    assert_eq!(lines.next(), Some("ROBOT rover1 || SENSOR rover1.Gyroscope"));
    assert_eq!(lines.next(), Some("(distance, globalVector(3), localVector(3))"));
    let first = morse.lines().find(|line| line.starts_with("==>")).unwrap();
    assert!(first.contains("yaw,pitch,roll: [0.000000 0.000000 0.000000] | index 0 | time 0.05"), "{first}");
    assert_eq!(morse.matches("\tyaw_rad = ").count(), 40);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn w02_a_channel_is_bound_and_unbound_while_it_runs() {
    let folder = folder("bind");
    let text = rovers("", &format!("links: {{csv: {{folder: {folder:?}}}}}\n"));
    let mut sim = Simulation::from_text(&text, &Setup::default()).unwrap();
    sim.open_links(PortBase::AsWritten).unwrap();
    sim.run_for(1.0);
    sim.bind("rover0", "{channel: GPS, to: csv}").unwrap();
    sim.run_for(1.0);
    assert!(sim.unbind("rover0.GPS", "csv") && !sim.unbind("rover0.GPS", "csv"));
    sim.run_for(1.0);
    let log = std::fs::read_to_string(folder.join("rover0_GPS.csv")).unwrap();
    let stamps: Vec<&str> = log.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!((stamps.first(), stamps.last(), stamps.len()), (Some(&"1.1"), Some(&"2"), 10));
    let wrong = sim.bind("rover0", "{channel: GSP, to: csv}").unwrap_err().to_string();
    assert!(wrong.contains("did you mean \"GPS\"?"), "{wrong}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn logging_changes_no_bit_of_a_run() {
    let folder = folder("hash");
    let links = "    links: [{channel: \"*\", to: jsonl}]\n";
    let text = rovers(links, &format!("links: {{jsonl: {{folder: {folder:?}}}}}\n"));
    let hash = |open: bool| {
        let mut sim = Simulation::from_text(&text, &Setup::default()).unwrap();
        if open {
            sim.open_links(PortBase::AsWritten).unwrap();
        }
        sim.run_for(1.0);
        sim.world().hash()
    };
    assert_eq!(hash(true), hash(false));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_full_disk_ends_the_log_and_not_the_run() {
    let text = rovers("    links: [{channel: GPS, to: csv, file: /dev/full}]\n    overrides: {1: {links: []}}\n", "");
    let mut sim = Simulation::from_text(&text, &Setup::default()).unwrap();
    sim.open_links(PortBase::AsWritten).unwrap();
    sim.run_for(2.0);
    let (_, notes) = sim.attend(Default::default());
    assert!(notes.len() == 1 && notes[0].contains("/dev/full") && notes[0].contains("written no more"), "{notes:?}");
    sim.run_for(1.0);
    assert_eq!(sim.world().time().s(), 3.0);
}

#[test]
fn p12_without_a_socket_there_is_no_thread_of_links_and_no_port() {
    let folder = folder("quiet");
    let links = "    links: [{channel: \"*\", to: csv}]\n";
    let text = rovers(links, &format!("links: {{csv: {{folder: {folder:?}}}}}\n"));
    let mut sim = Simulation::from_text(&text, &Setup::default()).unwrap();
    sim.open_links(PortBase::AsWritten).unwrap();
    sim.run_for(0.5);
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default());
    assert!(names.into_iter().all(|name| name.trim() != "links"));
    let sockets = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = sockets.filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok());
    assert!(targets.into_iter().all(|target| !target.to_string_lossy().starts_with("socket:")));
    std::fs::remove_dir_all(folder).unwrap();
}
