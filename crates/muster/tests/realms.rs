//! Realms: a scenario under several seeds in one world runs, in each realm, bit by bit as it would alone; robots of
//! different realms lie on top of each other and never meet.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod common;

use common::files::all;
use common::{REGISTRY, serial, simulation};
use glam::DVec3;
use muster::run::{RunOptions, Unwatched, run_realms, run_seeds};
use muster::sink::{Batch, Sink};
use muster::{Action, Pose, Setup, Simulation};
use muster_core::component::Registry;
use muster_core::contact::Other;
use muster_core::model::{Model, Placement};
use muster_core::time::SimTime;
use muster_core::world::{Options, World};
use muster_scenario::build::{self, Override, Scenario};
use muster_scenario::files::Files;
use muster_scenario::text::{Async, Threads};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

const SEEDS: [u64; 5] = [3, 8, 3, 1, 40];

/// Robots of three sorts that touch, see and follow each other.
const CROWD: &str = r#"
world: {include: worlds/arena.yaml}
run: {seed: 3}
robots:
  - name: d{i}
    kind: differential
    count: 21
    layout: {random: {from_m: [-4, -4, 0], to_m: [4, 4, 0], min_distance_m: 0.5}}
    motion: {kind: differential, rate_hz: 100, speed_max_mps: 1.0}
    driver: {kind: random_walk, rate_hz: 20, speed_mps: 0.8}
    sensors:
      near: {kind: neighbours, rate_hz: 10, radius_m: 2, latency_ms: 30}
      gps: {kind: gps, rate_hz: 7, latency_ms: 15, modifiers: [{kind: gaussian_noise, std: 0.1}, {kind: dropout, probability: 0.2}]}
  - name: lead
    kind: point
    at: {xyz_m: [0, 0, 2]}
    driver: {kind: random_walk, rate_hz: 33, speed_mps: 2}
    sensors: {all: {kind: world_state, rate_hz: 5}, pose: {kind: truth, rate_hz: 50}}
  - name: follow{i}
    kind: point
    count: 3
    layout: {grid: {rows: 1, spacing_m: 1, from_m: [1, 1, 2]}}
    driver: {kind: formation, pose: lead.pose, neighbours: d0.near}
compounds: {team: {members: [lead, follow0]}}
share: [[team.height, lead.position_m]]
expect:
  - {that: no_contact, robots: "d*"}
  - {that: min_distance, robots: "*", at_least_m: 0.6}
  - {that: value, of: lead.position_m, max: 1}
"#;

fn setup(seeds: &[u64]) -> Setup {
    Setup { seeds: seeds.to_vec(), threads: Some(Threads::Count(1)), ..Setup::default() }
}

fn crowd(setup: &Setup) -> Simulation {
    Simulation::from_text(CROWD, setup).unwrap_or_else(|error| panic!("{error}"))
}

/// The joined simulation, and each seed alone.
fn joined_and_alone() -> (Simulation, Vec<Simulation>) {
    (crowd(&setup(&SEEDS)), SEEDS.iter().map(|&seed| crowd(&setup(&[seed]))).collect())
}

fn check_equal(joined: &Simulation, alone: &[Simulation], what: &str) {
    for (realm, alone) in (0..).zip(alone) {
        assert_eq!(joined.world().realm(realm).hash(), alone.world().hash(), "realm {realm}: {what}");
    }
}

#[test]
fn every_file_has_in_each_realm_the_hash_it_has_alone() {
    for file in all() {
        let mut joined = file.load(&setup(&[4, 9, 2]));
        joined.run_for(0.7013);
        for (realm, seed) in [4, 9, 2].into_iter().enumerate() {
            let mut alone = file.load(&setup(&[seed]));
            alone.run_for(0.7013);
            let hash = joined.world().realm(realm as u32).hash();
            assert_eq!(hash, alone.world().hash(), "{} with seed {seed}", file.name);
        }
    }
}

#[test]
fn each_realm_has_the_bits_it_has_alone_whatever_the_threads_windows_islands_and_asynchrony() {
    let alone: Vec<Simulation> = SEEDS
        .iter()
        .map(|&seed| {
            let mut sim = crowd(&setup(&[seed]));
            sim.run_for(2.0);
            sim
        })
        .collect();
    assert!(alone.iter().all(|sim| sim.world().touches() > 0), "robots touch");
    let check = |what: &str, setup: &Setup| {
        let mut joined = crowd(setup);
        joined.run_for(2.0);
        check_equal(&joined, &alone, what);
    };
    let base = setup(&SEEDS);
    for threads in [Threads::Count(1), Threads::Count(3), Threads::PerRobot] {
        check("threads", &Setup { threads: Some(threads), ..base.clone() });
    }
    for window in ["run.window_ms=1", "run.window_ms=7.3", "run.window_ms=500"] {
        check(window, &Setup { over: vec![Override::parse(window).unwrap()], ..base.clone() });
    }
    for asynchronous in [Async::None, Async::Both] {
        check("asynchrony", &Setup { asynchronous: Some(asynchronous), ..base.clone() });
    }
    for (one_island, lanes) in [(true, 16), (false, 1), (false, 3)] {
        let options = Options { one_island, lanes, ..Options::default() };
        check("islands and lanes", &Setup { options, ..base.clone() });
    }
}

#[test]
fn each_realm_shows_the_properties_and_contacts_it_has_alone() {
    let (mut joined, mut alone) = joined_and_alone();
    let mut contacts = 0;
    while joined.world().time() < SimTime::from_s(1.0) {
        let until = joined.world().time() + SimTime::from_s(0.01);
        joined.run_until(until);
        for (realm, alone) in (0..).zip(&mut alone) {
            alone.run_until(until);
            let number = |robot: u32| robot / SEEDS.len() as u32;
            let here = joined.world().realm(realm).contacts().map(|event| {
                let with = match event.with {
                    Other::Robot(robot) => Other::Robot(number(robot)),
                    obstacle @ Other::Obstacle(_) => obstacle,
                };
                (event.time, number(event.robot), with)
            });
            let there = alone.world().contacts().iter().map(|event| (event.time, event.robot, event.with));
            contacts += alone.world().contacts().len();
            assert!(here.eq(there), "realm {realm}");
        }
    }
    assert!(contacts > 0);
    for (realm, alone) in (0..).zip(&alone) {
        let here = joined.world().realm(realm);
        assert_eq!(here.robots().count(), alone.world().robots().count());
        for robot in alone.world().robots() {
            let (found, expected) = (here.properties_of(&robot.name), alone.world().properties_of(&robot.name));
            let values = |shown: Vec<muster_core::property::Shown>| -> Vec<Vec<u64>> {
                shown.iter().map(|shown| shown.values.iter().map(|value| value.to_bits()).collect()).collect()
            };
            assert_eq!(values(found.unwrap()), values(expected.unwrap()), "{} in realm {realm}", robot.name);
        }
        for path in ["team.bounds_m", "team.height", "team.lead.position_m", "d3.gps.position_m[1]"] {
            assert_eq!(here.property(path), alone.world().property(path), "{path} in realm {realm}");
            let (head, rest) = path.split_once('.').unwrap();
            let address = if realm == 0 { path.to_owned() } else { format!("{head}@{realm}.{rest}") };
            assert_eq!(joined.world().property(&address), alone.world().property(path), "{address}");
        }
    }
    assert!(joined.world().property("lead@9.position_m").is_err());
}

#[test]
fn what_happens_to_one_realm_happens_to_no_other() {
    let (mut joined, mut alone) = joined_and_alone();
    let placement = |sim: &Simulation, name: &str, realm: u32| {
        let cohort = Arc::clone(&sim.scenario().model.robots[0].cohort);
        let pose = Pose { position_m: DVec3::new(0.3, 0.2, 0.0), ..Pose::IDENTITY };
        Action::Spawn(Box::new(Placement {
            name: name.to_owned(),
            realm,
            cohort,
            pose,
            velocity_mps: DVec3::ZERO,
            attached: None,
        }))
    };
    let actions = |sim: &Simulation, realm: u32, at: &str| -> Vec<Vec<Action>> {
        let name = |name: &str| format!("{name}{at}");
        let pose = Pose { position_m: DVec3::new(-1.0, 0.5, 0.0), ..Pose::IDENTITY };
        vec![
            vec![Action::Delete { robot: name("d2") }, Action::Delete { robot: name("d7") }],
            vec![placement(sim, "new", realm), placement(sim, "newer", realm), placement(sim, "newest", realm)],
            vec![Action::Teleport { robot: name("new"), pose }, Action::Delete { robot: name("newer") }],
            vec![
                Action::Set { path: name("d1") + ".position_m[0]", values: vec![0.25] },
                Action::AddProperty { path: name("d1") + ".mark", values: vec![7.0] },
                placement(sim, "newer", realm),
            ],
        ]
    };
    let (theirs, ours) = (actions(&joined, 3, "@3"), actions(&alone[3], 0, ""));
    for (theirs, ours) in theirs.into_iter().zip(ours) {
        theirs.into_iter().for_each(|action| joined.command(action));
        ours.into_iter().for_each(|action| alone[3].command(action));
        joined.run_for(0.4);
        alone.iter_mut().for_each(|sim| sim.run_for(0.4));
        assert_eq!(joined.world_mut().take_refusals(), Vec::<String>::new());
        check_equal(&joined, &alone, "after a change in realm 3");
    }
    assert!(joined.world().find("newer@3").is_some() && joined.world().find("newer").is_none());
    let saved = joined.save();
    joined.run_for(0.5);
    let hash = joined.world().hash();
    joined.restore(&saved);
    joined.run_for(0.5);
    assert_eq!(joined.world().hash(), hash, "a saved state continues with the same bits");
}

#[test]
fn a_robot_in_no_realm_is_refused() {
    let mut joined = crowd(&setup(&SEEDS));
    let placed = joined.scenario().model.robots[0].clone();
    joined.command(Action::Spawn(Box::new(Placement { realm: 5, name: "lost".to_owned(), ..placed })));
    joined.command(Action::Delete { robot: "d1@7".to_owned() });
    joined.run_for(0.1);
    let refusals = joined.world_mut().take_refusals();
    assert!(refusals[0].contains("realm 5") && refusals[1].contains("d1@7"), "{refusals:?}");
    let model = Model { seeds: Vec::new(), ..Arc::into_inner(scenario(CROWD, muster::REGISTRY).model).unwrap() };
    assert!(World::new(Arc::new(model), Options::default()).is_err());
}

fn scenario(text: &str, registry: Registry) -> Scenario {
    let mut files = Files::new(Vec::new(), muster::library::Embedded);
    let scenario = build::load_text(&mut files, "scenario.yaml", text, &[], registry);
    scenario.unwrap_or_else(|problems| panic!("{problems:?}"))
}

#[test]
fn joined_models_keep_their_realms_and_share_cohorts() {
    let [one, other] = [(); 2].map(|()| scenario(CROWD, muster::REGISTRY).model);
    let pair = Arc::new(Model::join(&[Arc::clone(&one), other]).unwrap());
    let three = Model::join(&[pair, Arc::clone(&one)]).unwrap();
    assert_eq!(three.seeds, [3; 3]);
    let per_realm = one.robots.len();
    for (at, robot) in three.robots.iter().enumerate() {
        assert_eq!(robot.realm as usize, at / per_realm);
        assert!(Arc::ptr_eq(&robot.cohort, &three.robots[at % per_realm].cohort));
    }
    assert!(Model::join(&[]).is_none());
}

#[test]
fn so_many_models_are_joined_that_chunks_are_full() {
    let best = |robots: usize, most: usize| {
        let text = format!(
            "robots: [{{name: 'p{{i}}', kind: point, count: {robots}, layout: {{grid: {{rows: 1, spacing_m: 1}}}}}}]"
        );
        let sim = Simulation::from_text(&text, &setup(&[1])).unwrap_or_else(|error| panic!("{error}"));
        sim.scenario().model.best_joined(most)
    };
    assert_eq!((best(10, 1000), best(10, 5), best(10, 0)), (8, 3, 1));
    assert_eq!((best(1, 1000), best(1, 7), best(16, 1000), best(5000, 1000)), (16, 7, 1, 1));
}

/// Writes down which robots it hears, and whose states it gets.
struct Names(Arc<Mutex<Vec<String>>>);

impl Sink for Names {
    fn sensors(&self) -> Vec<String> {
        vec!["lead@2.pose".to_owned(), "d0.gps".to_owned()]
    }

    fn states(&self) -> bool {
        true
    }

    fn take(&mut self, batch: &Batch) {
        let name = |robot: u32| batch.directory.robots[&robot].name.clone();
        let mut names = self.0.lock().unwrap();
        names.extend(batch.samples().map(|sample| name(sample.robot)));
        names.extend(batch.states().into_iter().flat_map(|states| &states.robots).map(|seen| name(seen.robot)));
        names.sort();
        names.dedup();
    }
}

#[test]
fn sinks_hear_robots_of_every_realm_by_their_addresses() {
    let heard = |states_hz: f64| {
        let names = Arc::new(Mutex::new(Vec::new()));
        let over = vec![Override::parse(&format!("run.states_hz={states_hz}")).unwrap()];
        let mut joined = crowd(&Setup { over, ..setup(&SEEDS) });
        joined.add_sink(Box::new(Names(Arc::clone(&names)))).unwrap();
        joined.run_for(0.5);
        let names = names.lock().unwrap().clone();
        (names, joined.world().robots().map(|robot| robot.address()).collect::<Vec<String>>())
    };
    assert_eq!(heard(0.0).0, ["d0", "lead@2"]);
    let (names, mut everybody) = heard(10.0);
    everybody.sort();
    assert_eq!(names, everybody);
}

fn fast_for(span_s: f64) -> RunOptions {
    RunOptions { rtf: None, span: SimTime::from_s(span_s), windows: None, timeout: None, require_rt: false }
}

#[test]
fn every_realm_is_judged_and_reported_as_if_it_were_alone() {
    let reports = |seeds: &[u64]| {
        let mut sim = crowd(&setup(seeds));
        run_realms(&mut sim, &fast_for(3.0), &AtomicBool::new(false), &mut Unwatched).0
    };
    let joined = reports(&SEEDS);
    assert!(joined.iter().any(|report| report.failures.len() > 1), "something fails");
    for (report, seed) in joined.iter().zip(SEEDS) {
        let alone = &reports(&[seed])[0];
        assert_eq!((report.seed, report.state_hash, report.ticks), (seed, alone.state_hash, alone.ticks));
        assert_eq!((&report.failures, &report.measured), (&alone.failures, &alone.measured));
        assert_eq!((report.contacts, &report.first_contacts), (alone.contacts, &alone.first_contacts));
        assert_eq!((report.robots, &report.sensors), (alone.robots, &alone.sensors));
    }
}

#[test]
fn a_seed_in_which_a_component_fails_takes_no_other_with_it() {
    let text = "{robots: [{name: r, kind: point, at: {xyz_m: [0, 0, 1]}, driver: {kind: random_walk}, \
                sensors: {feel: {kind: feeler, rate_hz: 20, panics_from_x_m: 10}}}]}";
    let model = |&seed: &u64| {
        // the robot of seed 2 starts where its sensor fails
        let place = format!("robots[0].at.xyz_m=[{}, 0, 1]", if seed == 2 { 20 } else { 0 });
        Arc::clone(&simulation(text, &serial(&[&format!("run.seed={seed}"), &place])).scenario().model)
    };
    let load = |seeds: &[u64]| -> Result<(Simulation, RunOptions), String> {
        let models: Vec<Arc<Model>> = seeds.iter().map(model).collect();
        let joined = Scenario { model: Arc::new(Model::join(&models).unwrap()), ..scenario(text, REGISTRY) };
        let sim = Simulation::new(joined, &serial(&[])).map_err(|error| error.to_string())?;
        Ok((sim, fast_for(0.5)))
    };
    let faults = |seeds: &[u64]| -> Vec<(u64, usize, u32)> {
        let reports = run_seeds(seeds, &load, &AtomicBool::new(false)).unwrap();
        reports.iter().map(|(report, _)| (report.seed, report.faults.len(), report.seeds_in_world)).collect()
    };
    assert_eq!(faults(&[1, 2, 3]), [(1, 0, 1), (2, 1, 1), (3, 0, 1)]);
    assert_eq!(faults(&[1, 3]), [(1, 0, 2), (3, 0, 2)], "seeds that are well stay together");
}
