//! Generic controllers, as programs outside see them.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

mod common;

use common::peers::{Client, step, while_it_runs};
use muster::{PortBase, Setup, Simulation};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/controller.yaml");

/// A rover and a pan-tilt unit; the text is what is bound of the rover, and what stands below.
fn yard(links: &str, rest: &str) -> String {
    format!(
        "muster: 1\nrun: {{window_ms: 10}}\nrobots:\n  - name: rover\n    kind: differential\n    driver: {{kind: goto}}\n    sensors:\n      \
         pose: {{kind: truth, rate_hz: 100}}\n    links: {links}\n  - {{name: head, kind: pan_tilt, at: {{xyz_m: [4, 0, 0]}}}}\n{rest}"
    )
}

fn opened(text: &str) -> Simulation {
    let mut sim = Simulation::from_text(text, &Setup::default()).unwrap_or_else(|error| panic!("{error}"));
    sim.open_links(PortBase::Auto).unwrap_or_else(|error| panic!("{error}"));
    sim
}

fn at(sim: &Simulation, channel: &str) -> Vec<String> {
    let addresses = sim.addresses().into_iter();
    addresses.filter(|address| address.channel == channel).map(|address| address.at).collect()
}

fn problem(links: &str) -> String {
    let mut sim = Simulation::from_text(&yard(links, ""), &Setup::default()).unwrap_or_else(|error| panic!("{error}"));
    sim.open_links(PortBase::Auto).err().map_or_else(String::new, |error| error.to_string())
}

fn numbers(line: &str) -> Vec<f64> {
    line.split([' ', ',']).filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn w18_any_property_is_read_and_variable_ones_are_set_by_name() {
    let mut sim = opened(&yard("[]", "links: {controller: {}}\n"));
    let at = at(&sim, "all robots").remove(0);
    while_it_runs(&mut sim, move || {
        let mut client = Client::connect(&at);
        assert_eq!(client.ask("list"), "ok rover head");
        assert_eq!(client.ask("get head.position_m head.joint.pan"), "ok 4 0 0 0");
        assert_eq!(client.ask("#a set head.joint_command.pan 0.5"), "#a ok");
        while numbers(&client.ask("get head.joint.pan")) != [0.5] {}
        assert_eq!(
            client.ask("set head.driver.x 1"),
            "error found no property \"head.driver.x\", expected robot.property"
        );
        let near = client.ask("get head.joint_comand.pan");
        assert!(near.contains("did you mean \"head.joint_command.pan\"?"), "{near}");
        assert_eq!(
            client.ask("set rover.position_m 1"),
            "error found 1 values for property \"rover.position_m\", expected 3"
        );
        let constant = client.ask("set head.frame.pan 1 2 3 4 5 6 7");
        assert_eq!(constant, "error found \"head.frame.pan\", which cannot be set, expected a variable");
        assert!(client.ask("gte").contains("did you mean \"get\"?"));
        assert!(client.ask("list head").contains(" joint_command.pan "));
        assert!(client.ask("list head").contains(" frame.view[7]!"));
        assert!(client.ask("services rover").contains(" v_omega"));
        assert!(client.ask("help").starts_with("ok get PATH...; set"));
    });
}

#[test]
fn services_are_called_and_their_ends_are_told() {
    let mut sim = opened(&yard("[{to: controller}]", ""));
    let at = at(&sim, "rover").remove(0);
    while_it_runs(&mut sim, move || {
        let mut client = Client::connect(&at);
        // on the robot's own port its name may be left out
        assert_eq!(client.ask("#1 call goto 2 0 0"), "#1 ok 1");
        assert_eq!(client.line(), "#1 done 1");
        assert!((numbers(&client.ask("get position_m"))[0] - 2.0).abs() < 0.5);
        assert_eq!(client.ask("#2 call rover.goto 50 0 0"), "#2 ok 2");
        assert_eq!(client.ask("cancel 2"), "ok");
        assert_eq!(client.line(), "#2 preempted 2");
        assert_eq!(client.ask("cancel 2"), "error found no call 2, expected one that has not ended");
        assert_eq!(client.ask("#3 call head.joint pan 0.2"), "#3 ok 4");
        assert_eq!(client.line(), "#3 done 4");
        assert!(client.ask("call rover.gto 1 2").contains("did you mean \"goto\"?"));
        assert!(client.ask("call rovr.goto 1 2").contains("did you mean \"rover\"?"));
        assert!(client.ask("call goto there 0").contains("expected a number"));
    });
}

#[test]
fn streams_come_at_their_rate_in_simulated_time() {
    let mut sim = opened(&yard("[{to: controller}]", ""));
    let at = at(&sim, "rover").remove(0);
    while_it_runs(&mut sim, move || {
        let mut client = Client::connect(&at);
        // 250 Hz is more often than windows end by themselves
        assert_eq!(
            client.ask("stream 250 time_ms position_m"),
            "error found no property \"rover.time_ms\", expected robot.property"
        );
        assert_eq!(client.ask("stream 250 position_m head.joint.pan"), "ok 1");
        let lines: Vec<Vec<f64>> = (0..100).map(|_| numbers(&client.line())).collect();
        for pair in lines.windows(2) {
            assert_eq!((pair[0].len(), pair[0][0]), (6, 1.0));
            assert!((pair[1][1] - pair[0][1] - 0.004).abs() < 1e-9, "{pair:?}");
        }
        client.say("stop 1\n");
        while client.line() != "ok" {}
        assert!(client.ask("stop 1").starts_with("error found no stream 1"));
    });
}

#[test]
fn w19_w20_six_joints_are_controlled_without_code_over_a_pseudo_terminal_and_tcp() {
    let pty = std::env::temp_dir().join(format!("muster-arm-{}", std::process::id()));
    let text = std::fs::read_to_string(EXAMPLE).unwrap().replace("/tmp/arm0", &pty.display().to_string());
    let mut sim = opened(&text);
    let ends = at(&sim, "arm");
    assert_eq!(ends.len(), 2);
    for (at, target) in
        ends.into_iter().zip([[30.0, -45.0, 60.0, 10.0, -20.0, 90.0], [-10.0, 5.0, 15.0, -60.0, 20.0, 0.0]])
    {
        while_it_runs(&mut sim, move || {
            let mut client = Client::connect(&at);
            let words = target.map(|angle: f64| angle.to_string()).join(" ");
            client.say(&format!("J {words}\r\n"));
            let there = |line: &str| {
                let told = numbers(line);
                told.len() == 6 && told.iter().zip(target).all(|(told, wanted)| (told - wanted).abs() < 0.01)
            };
            while !there(&client.line()) {}
        });
        let names = ["base", "shoulder", "elbow", "roll", "pitch", "flange"];
        for (name, target) in names.into_iter().zip(target) {
            let joint = sim.world().number(&format!("arm.joint.{name}")).unwrap();
            assert!((joint.to_degrees() - target).abs() < 0.01, "{name}");
        }
    }
}

#[test]
fn k12_a_pose_from_outside_is_answered_by_virtual_ranges_within_a_step() {
    let mut sim = opened(&std::fs::read_to_string(EXAMPLE).unwrap().replace("/tmp/arm0", "/tmp/muster-k12"));
    let mut client = Client::connect(&at(&sim, "real")[0]);
    for (x, heading_deg, expected) in [(0.0, 0.0, 2.9), (1.0, 0.0, 1.9), (1.5, 180.0, f64::INFINITY), (2.4, 0.0, 0.5)] {
        let received = sim.link_reports()[0].tally.received;
        client.say(&format!("{x} 0.2 {heading_deg}\n"));
        while sim.link_reports()[0].tally.received == received {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let before = sim.world().time();
        step(&mut sim);
        sim.attend(Default::default());
        assert_eq!((sim.world().time() - before).s(), 0.02);
        let told = numbers(&client.line());
        assert_eq!(told.len(), 7);
        assert!(told[3] == expected || (told[3] - expected).abs() < 1e-6, "{told:?} {expected}");
    }
}

#[test]
fn a_line_is_obeyed_in_the_next_window_and_answered_after_it() {
    let mut sim = opened(&yard(
        "[{to: controller, sets: [v_omega.v_mps, v_omega.omega_radps], gets: [time_s, \"velocity_mps[0]\"]}]",
        "",
    ));
    let mut client = Client::connect(&at(&sim, "rover")[0]);
    client.say("0.5, 0\n");
    while sim.link_reports()[0].tally.received == 0 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(sim.world().time().s(), 0.0);
    sim.attend(Default::default());
    sim.walk_window(muster_core::time::SimTime::from_s(0.01));
    sim.attend(Default::default());
    let told = numbers(&client.line());
    assert_eq!(told[0], 0.01);
    assert!(told[1] > 0.0, "{told:?}");
}

#[test]
fn lines_that_do_not_fit_are_counted_and_told_once() {
    let mut sim = opened(&yard("[{to: controller, accepts: \"V <v_omega.v_mps> <v_omega.omega_radps>\"}]", ""));
    let mut client = Client::connect(&at(&sim, "rover")[0]);
    client.say("V 1\nV a b\nV 0.1 0\n");
    while sim.link_reports()[0].tally.received < 3 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let (_, notes) = sim.attend(Default::default());
    assert_eq!(notes, ["link controller: line \"V 1\": found \"\", expected a number"]);
    assert_eq!(sim.link_reports()[0].tally.misunderstood, 2);
}

#[test]
fn wrong_names_are_refused_with_line_and_nearest_name() {
    let check = |options: &str, expected: &str| {
        let wrong = problem(&format!("[{{to: controller, {options}}}]"));
        assert!(wrong.contains("scenario.yaml:9:13") && wrong.contains(expected), "{wrong}");
    };
    check("sets: [postion_m]", "did you mean \"rover.position_m\"?");
    check("sets: [position_m]", "\"position_m\", which has 3 values, expected one of them: position_m[0]");
    check("sets: [v_omega.v_mps]", "no number for omega_radps");
    check("sets: [v_omega.v_mps, v_omega.omega_rads]", "did you mean \"omega_radps\"?");
    check("sets: [v_omega.v_mps, v_omega.v_mps, v_omega.omega_radps]", "v_omega.v_mps twice");
    check("sets: [joint.position]", "joint");
    check("gets: [pose.positon_m]", "did you mean");
    check("gets: [pose], sends: \"<pose>\"", "found gets and sends, expected one of them");
    check("rate_hz: 10", "with nothing to send");
    check("accepts: \"<speed\"", "names in brackets");
}

#[test]
fn a_flood_of_requests_is_answered_in_order_and_costs_bounded_memory() {
    let mut sim = opened(&yard("[{to: controller}]", ""));
    let at = at(&sim, "rover").remove(0);
    while_it_runs(&mut sim, move || {
        let mut flood = Client::connect(&at);
        let mut calm = Client::connect(&at);
        let text: String = (0..5000).map(|at| format!("#{at} time\n")).collect();
        flood.say(&text);
        assert!(calm.ask("time").starts_with("ok "));
        for at in 0..5000 {
            let line = flood.line();
            assert!(line.starts_with(&format!("#{at} ok ")), "{line}");
        }
    });
    assert_eq!(sim.link_reports()[0].tally.dropped, 0);
}
