//! What follows from who exists: orders, schedules, wires, listeners. Derived anew whenever robots come, go or change.

use super::{LookSchedule, Public, World};
use crate::component::Sense;
use crate::look::LookItem;
use crate::model::Cohort;
use crate::roster::Robot;
use crate::state::Around;
use crate::time::{SimTime, Ticker};
use std::collections::BTreeMap;
use std::sync::Arc;

impl World {
    pub(super) fn start(&mut self, number: u32) {
        let around = Around {
            environment: &self.environment,
            simd: self.options.simd,
            logic_after_physics: self.model.logic_after_physics,
        };
        self.state.start(number, &around);
    }

    /// Derives everything that follows from who exists: orders, schedules, wires.
    pub(super) fn reindex(&mut self) {
        self.stale = false;
        self.spare_jobs.clear();
        self.state.roster.note_ranges();
        self.contacts.reserve(self.state.roster.len());
        self.generation += 1;
        self.coupling.invalidate();
        let now = self.state.time;
        for (dense, (_, robot)) in self.state.roster.iter().enumerate() {
            let (chunk, lane) = (robot.chunk, robot.lane as usize);
            if let Some(Some(chunk)) = self.state.chunks.get_mut(chunk as usize) {
                chunk.dense[lane] = dense as u32;
            }
        }
        self.schedule_looks(now);
        self.wire_all();
        self.find_publics(now);
        self.prick_ears();
        self.look_out();
        self.note_demand();
    }

    /// Derives who is heard; forgets those who are gone.
    pub(super) fn prick_ears(&mut self) {
        self.listeners.clear();
        self.state.chunks.iter_mut().flatten().for_each(|chunk| chunk.listened.fill(0));
        if self.ears.is_empty() {
            return;
        }
        let identity = |(number, robot): (u32, &Robot)| ((robot.realm, robot.key), number);
        let numbers: BTreeMap<(u32, u64), u32> = self.roster().map(identity).collect();
        self.ears.retain(|&(realm, key, _)| numbers.contains_key(&(realm, key)));
        let ears = std::mem::take(&mut self.ears);
        for (realm, key, name) in &ears {
            self.hear(numbers[&(*realm, *key)], name);
        }
        self.ears = ears;
    }

    /// Marks a sensor as heard; false if there is no such sensor.
    pub(super) fn hear(&mut self, number: u32, name: &str) -> bool {
        let Some(robot) = self.state.roster.get(number) else { return false };
        let sensors = &robot.cohort.blueprint.sensors;
        let Some(at) = sensors.iter().position(|slot| slot.name == name) else { return false };
        match sensors[at].sensor.sense() {
            Sense::World(_) => {
                self.listeners.push((number, at as u32, robot.slots[at]));
            }
            Sense::Own(_) => {
                if let Some((chunk, lane)) = self.state.place_of_mut(number) {
                    chunk.listened[at] |= 1 << lane;
                }
            }
        }
        true
    }

    fn schedule_looks(&mut self, now: SimTime) {
        self.looks.clear();
        self.radii_m.clear();
        let mut known: Vec<(*const Cohort, usize, u32)> = Vec::new();
        for (dense, (number, robot)) in self.state.roster.iter().enumerate() {
            let seen = dense as u32 - self.state.roster.realm_of(robot).first;
            for (sensor, slot) in robot.cohort.blueprint.sensors.iter().enumerate() {
                let Sense::World(look) = slot.sensor.sense() else { continue };
                let id = (Arc::as_ptr(&robot.cohort), sensor);
                let found = known.iter().rev().find(|(cohort, number, _)| (*cohort, *number) == id);
                let schedule = found.map(|found| found.2).unwrap_or_else(|| {
                    known.push((id.0, id.1, self.looks.len() as u32));
                    let (slices, span_s) = look.slices();
                    let mut schedule = LookSchedule {
                        rate: slot.rate,
                        latency: slot.latency,
                        ticker: Ticker::after(slot.rate, slot.phase, now),
                        items: Vec::new(),
                        slices: slices.max(1),
                        span: SimTime::from_s(span_s).min(slot.rate.period()),
                        slice: 0,
                        due: None,
                        sees_bodies: look.sees_bodies() || slot.frame.is_some(),
                        wanted: false,
                    };
                    // in the middle of a sweep
                    while schedule.next() <= now {
                        schedule.slice += 1;
                    }
                    self.looks.push(schedule);
                    self.radii_m.extend(look.search_radius_m());
                    self.looks.len() as u32 - 1
                });
                let entry = &mut self.state.board.entries[robot.slots[sensor] as usize];
                (entry.seen, entry.schedule, entry.wanted) = (seen, schedule, !look.on_demand());
                self.looks[schedule as usize].items.push(LookItem {
                    cohort: Arc::clone(&robot.cohort),
                    sensor: sensor as u32,
                    realm: robot.realm,
                    seen,
                    robot: number,
                    key: robot.key,
                    stream: entry.stream,
                });
            }
        }
        self.radii_m.sort_by(f64::total_cmp);
        self.radii_m.dedup();
    }

    /// Derives which sensors anybody wants samples of: all, but for those that make them on demand, which are wanted by
    /// drivers and events that read them and by listeners outside.
    pub(super) fn note_demand(&mut self) {
        let chunks = self.state.chunks.iter().flatten();
        let mut wanted: Vec<u32> = chunks.flat_map(|chunk| chunk.slots.iter().flatten().copied()).collect();
        wanted.extend(self.listeners.iter().map(|&(_, _, slot)| slot));
        wanted.extend(self.slots_of_events());
        for slot in wanted {
            if let Some(entry) = self.state.board.entries.get_mut(slot as usize) {
                entry.wanted = true;
            }
        }
        self.looks.iter_mut().for_each(|look| look.wanted = false);
        for entry in self.state.board.entries.iter().filter(|entry| entry.wanted && entry.alive) {
            if let Some(look) = self.looks.get_mut(entry.schedule as usize) {
                look.wanted = true;
            }
        }
        self.sees_bodies = self.looks.iter().any(|look| look.wanted && look.sees_bodies);
    }

    /// Robots may have come or gone: subscriptions to others are looked up again.
    fn wire_all(&mut self) {
        for number in 0..self.state.roster.robots.len() as u32 {
            self.state.rewire(number);
        }
    }

    /// Finds the local sensors others read, and posts what they see of them now.
    fn find_publics(&mut self, now: SimTime) {
        self.publics.clear();
        for (number, robot) in self.state.roster.iter() {
            for (sensor, slot) in robot.cohort.blueprint.sensors.iter().enumerate() {
                let local = matches!(slot.sensor.sense(), Sense::Own(_));
                if local && robot.slots[sensor] != crate::board::NOWHERE {
                    // a sample is made at the tick after its event, perhaps still to come
                    let earliest = now - slot.latency - robot.cohort.blueprint.rate.period();
                    let sample = Ticker::after(slot.rate, slot.phase, earliest);
                    self.publics.push(Public { slot: robot.slots[sensor], robot: number, sensor, sample });
                }
            }
        }
        for at in 0..self.publics.len() {
            self.post_local(at);
        }
    }
}
