//! The link `socket` from outside, over real sockets: services, streams, the fleet port, lock step, and peers that behave badly.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

use muster::run::{RunOptions, Unwatched, run};
use muster::{PortBase, Setup, Simulation};
use muster_core::time::SimTime;
use muster_scenario::text::Threads;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const SCENARIO: &str = "
robots:
  - name: r
    kind: atrv
    driver: {kind: goto}
    actuators: {motion: {kind: v_omega}, way: {kind: waypoint}}
    links: [{channel: '*', to: socket}]
  - name: other
    kind: point
    at: {xyz_m: [9, 9, 0]}
    sensors: {here: {kind: truth, rate_hz: 10}}
    actuators: {motion: {kind: v_omega}}
    links: [{channel: here, to: socket, name: head.here}, {channel: motion, to: socket}]
links:
  socket: {fleet_port: 4100, lock_step: {rate_hz: 10, timeout_s: 0.3, on_timeout: stop}, compounds: {r.all: [imu, gps]}}
";

struct Line {
    wire: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Line {
    fn to(address: &str) -> Self {
        let wire = TcpStream::connect(address).unwrap();
        wire.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { reader: BufReader::new(wire.try_clone().unwrap()), wire }
    }

    fn send(&mut self, text: &str) {
        self.wire.write_all(text.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line
    }

    fn ask(&mut self, text: &str) -> String {
        self.send(&format!("{text}\n"));
        self.line()
    }

    fn json(&mut self) -> serde_json::Value {
        serde_json::from_str(&self.line()).unwrap()
    }
}

/// Runs the scenario in real time while a program outside does something; the program ends the run.
fn with(text: &str, outside: impl FnOnce(BTreeMap<String, String>) + Send) -> muster::report::Report {
    let setup = Setup { threads: Some(Threads::Count(1)), ..Setup::default() };
    let mut sim = Simulation::from_text(text, &setup).unwrap_or_else(|error| panic!("{error}"));
    sim.open_links(PortBase::Auto).unwrap();
    let addresses: BTreeMap<String, String> =
        sim.addresses().into_iter().map(|address| (address.channel, address.at)).collect();
    let options = RunOptions {
        rtf: Some(1.0),
        span: SimTime::from_s(60.0),
        windows: None,
        timeout: Some(Duration::from_secs(100)),
        require_rt: false,
    };
    std::thread::scope(|scope| {
        let service = addresses["services"].clone();
        let client = scope.spawn(move || {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| outside(addresses)));
            // whatever happened, the run ends
            if let Ok(mut wire) = TcpStream::connect(service) {
                _ = wire.write_all(b"end simulation quit\n");
                _ = wire.read(&mut [0; 64]);
            }
            done
        });
        let (report, _) = run(&mut sim, &options, &AtomicBool::new(false), &mut Unwatched);
        if let Err(panic) = client.join().unwrap() {
            std::panic::resume_unwind(panic);
        }
        report
    })
}

#[test]
fn w11_services_answer_as_clients_of_morse_expect() {
    with(SCENARIO, |at| {
        let mut services = Line::to(&at["services"]);
        let mut ask = |text: &str| services.ask(text);
        assert_eq!(ask("1 simulation list_robots []"), "1 SUCCESS [\"r\", \"other\"]\n");
        assert_eq!(ask("2 time sleep [0.1]"), "2 SUCCESS\n");
        assert_eq!(ask("3 r.way get_status"), "3 SUCCESS \"Arrived\"\n");
        assert!(ask("4 r.way goto [1]").contains("wrong # of parameters for service goto"));
        assert!(ask("5 r.way goto").contains("parameters expected for service goto"));
        assert_eq!(
            ask("6 r.way fly"),
            "6 FAILED \"The request fly has not been registered in Socket service manager\"\n"
        );
        assert_eq!(ask("7 simulation get_stream_port [\"x\"]"), "7 FAILED \"Stream unavailable for component x\"\n");
        let details = ask("8 simulation details []");
        let json: serde_json::Value = serde_json::from_str(details.trim_start_matches("8 SUCCESS ")).unwrap();
        let way = &json["robots"][0]["components"]["r.way"];
        assert_eq!((&way["type"], &way["stream_interfaces"][0][1]), (&"Waypoint".into(), &"IN".into()), "{way}");
        assert!(way["services"].as_array().unwrap().contains(&"goto".into()));
        assert_eq!(json["robots"][1]["components"]["other.head.here"]["type"], "Pose");
        let distance = ask("9 communication distance_and_view [\"r\", \"other\"]");
        assert!(distance.starts_with("9 SUCCESS [12.7") && distance.ends_with(", true]\n"), "{distance}");
    });
}

#[test]
fn w17_calls_that_take_time_are_preempted_and_cancelled() {
    with(SCENARIO, |at| {
        let mut services = Line::to(&at["services"]);
        services.send("a r.way goto [50, 0, 0]\n");
        assert_eq!(services.ask("b time sleep [0.1]"), "b SUCCESS\n");
        services.send("c r.way goto [60, 0, 0]\n");
        assert_eq!(services.line(), "a PREEMPTED\n");
        services.send("c cancel\nnobody cancel\n");
        assert_eq!(services.line(), "c PREEMPTED\n");
        services.send("d time sleep [50]\nd cancel\n");
        assert_eq!(services.line(), "d PREEMPTED\n");
        // a robot's own services, by its name
        assert_eq!(services.ask("e other teleport [3, 4, 0]"), "e SUCCESS\n");
        let data = services.ask("f other.head.here get_local_data");
        assert!(data.starts_with("f SUCCESS {\"timestamp\": "), "{data}");
    });
}

#[test]
fn w06_streams_carry_samples_out_and_commands_in() {
    with(SCENARIO, |at| {
        let mut pose = Line::to(&at["r.truth"]);
        let mut motion = Line::to(&at["r.motion"]);
        let first = pose.json();
        // of several messages the last counts, and they may come in pieces
        motion.send("{\"v\": -5.0, \"w\": 0.0}\n{\"v\": 1.0, ");
        motion.send("\"w\": 0.0}\n");
        let stamp = first["timestamp"].as_f64().unwrap();
        let mut now = first.clone();
        while now["timestamp"].as_f64().unwrap() < stamp + 1.0 {
            now = pose.json();
        }
        assert!(now["x"].as_f64().unwrap() > 0.3, "{now}");
        assert_eq!(
            first.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["timestamp", "x", "y", "z", "yaw", "pitch", "roll"]
        );
        let all = Line::to(&at["r.all"]).json();
        assert!(all["r.imu"]["linear_acceleration"][2].as_f64().unwrap() > 9.0, "{all}");
        assert!(all["r.gps"]["latitude"].is_number(), "{all}");
    });
}

#[test]
fn one_port_carries_all_channels_of_a_fleet() {
    with(SCENARIO, |at| {
        let mut fleet = Line::to(&at["fleet"]);
        fleet.send("{\"channel\": \"r.moton\", \"data\": {}}\n");
        assert!(fleet.json()["error"].as_str().unwrap().contains("no actuator"));
        fleet.send(
            "{\"subscribe\": [\"*.here\", \"r.truth\"]}\n{\"channel\": \"other.motion\", \"data\": {\"v\": 2}}\n",
        );
        let mut heard: BTreeMap<String, usize> = BTreeMap::new();
        let mut x = 0.0;
        while heard.values().sum::<usize>() < 100 {
            let message = fleet.json();
            let channel = message["channel"].as_str().unwrap().to_owned();
            if channel == "other.head.here" {
                x = message["data"]["x"].as_f64().unwrap();
            }
            *heard.entry(channel).or_default() += 1;
        }
        assert_eq!(heard.keys().collect::<Vec<_>>(), ["other.head.here", "r.truth"]);
        assert!(x > 9.5, "{x}");
    });
}

#[test]
fn one_message_is_one_step_while_somebody_is_connected() {
    let report = with(SCENARIO, |at| {
        let mut pose = Line::to(&at["other.head.here"]);
        pose.line();
        let mut step = TcpStream::connect(&at["lock step"]).unwrap();
        std::thread::sleep(Duration::from_millis(150));
        // what was on its way before time stood still
        pose.reader.get_ref().set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let mut rest = String::new();
        while pose.reader.read_line(&mut rest).is_ok() {}
        pose.reader.get_ref().set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut last = None;
        for _ in 0..5 {
            step.write_all(b"go").unwrap();
            let stamp = pose.json()["timestamp"].as_f64().unwrap();
            if let Some(last) = last.replace(stamp) {
                let passed: f64 = stamp - last;
                assert!((passed - 0.1).abs() < 1e-4, "{passed}");
            }
        }
        // who is silent for too long ends the run, as the scenario says
        std::thread::sleep(Duration::from_millis(800));
    });
    assert!(report.sim_time_s < 50.0);
}

#[test]
fn peers_that_flood_stall_or_leave_harm_nobody() {
    let begin = Instant::now();
    with(SCENARIO, |at| {
        // one that never reads
        let _deaf = TcpStream::connect(&at["r.truth"]).unwrap();
        // one that sends without an end of line
        let mut endless = TcpStream::connect(&at["services"]).unwrap();
        let junk = vec![b'x'; 1 << 16];
        for _ in 0..64 {
            if endless.write_all(&junk).is_err() {
                break;
            }
        }
        // one that asks without end and goes
        let mut flood = TcpStream::connect(&at["services"]).unwrap();
        let questions = "1 simulation list_robots []\n".repeat(2000);
        _ = flood.write_all(questions.as_bytes());
        drop(flood);
        // and one that is served all the same
        let mut services = Line::to(&at["services"]);
        for number in 0..200 {
            assert!(services.ask(&format!("{number} time now")).starts_with(&format!("{number} SUCCESS")));
        }
    });
    assert!(begin.elapsed() < Duration::from_secs(60));
}
