//! Every example runs, and what it expects happens.

use muster::judge::Judge;
use muster::{Setup, Simulation};
use muster_core::time::SimTime;

#[test]
fn every_example_passes_its_expectations() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let entries = std::fs::read_dir(folder).expect("the folder of examples");
    let mut files: Vec<String> = entries.map(|entry| entry.expect("an entry").path().display().to_string()).collect();
    files.retain(|file| file.ends_with(".yaml"));
    files.sort();
    for file in files {
        let mut sim = Simulation::load(&file, &Setup::default()).unwrap_or_else(|error| panic!("{error}"));
        assert!(!sim.scenario().expect.is_empty(), "{file} expects nothing");
        let end = SimTime::from_s(sim.scenario().run.for_s);
        let mut judge = Judge::new(sim.scenario().expect.iter(), end);
        while sim.world().time() < end {
            let until = judge.next_time(sim.world().time()).min(end);
            sim.walk_window(until);
            judge.watch(sim.world());
        }
        let failures: Vec<String> = judge.failures.iter().map(ToString::to_string).collect();
        assert!(failures.is_empty(), "{file}:\n{}", failures.join("\n"));
    }
}
