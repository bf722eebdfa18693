//! How the robots of a chunk measure: robot-local sensors, their modifiers, and samples on their way to being visible.

use super::{Lanes, Spoken, Surroundings, attempt};
use crate::component::{Contacts, Measure, Sample, Sense};
use crate::lanes::{Column, LANES};
use crate::model::{Cohort, Environment, integers};
use crate::random;
use crate::time::SimTime;

impl Lanes {
    /// Measures with every robot-local sensor that is due.
    pub(super) fn feel(&mut self, cohort: &Cohort, around: &Surroundings<'_>) {
        let now = self.now;
        for index in 0..cohort.layout.sensors.len() {
            let columns = &cohort.layout.sensors[index];
            let slot = &cohort.blueprint.sensors[index];
            if !columns.local || self.sensors[index].ticker.next > now {
                continue;
            }
            let Some(sample) = self.sensors[index].ticker.take_due(slot.rate, now) else { continue };
            self.sensors[index].samples += 1;
            let Sense::Own(feel) = slot.sensor.sense() else { continue };
            if self.sensors[index].broken {
                continue;
            }
            let mut fresh = std::mem::take(&mut self.fresh);
            let panic = attempt(|| match columns.jointed {
                true => self.measure_jointed(cohort, index, sample, &mut fresh, around),
                false => feel.measure(&mut self.measure(cohort, index, sample, &mut fresh, around)),
            });
            let lost = self.blame(cohort, now, |what| format!("sensor {:?} {what}", slot.name));
            match panic {
                None => self.keep_sample(cohort, (index, sample, lost), &mut fresh, around.environment),
                Some(panic) => {
                    self.sensors[index].broken = true;
                    self.isolate_all(cohort, now, &format!("sensor {:?} {panic}", slot.name));
                }
            }
            self.fresh = fresh;
        }
    }

    pub(super) fn measure<'a>(
        &'a mut self,
        cohort: &'a Cohort,
        index: usize,
        sample: u64,
        fresh: &'a mut [Column],
        around: &Surroundings<'a>,
    ) -> Measure<'a> {
        let (slot, columns) = (&cohort.blueprint.sensors[index], &cohort.layout.sensors[index]);
        let lanes = self.lanes();
        let (front, sensors) = self.real.split_at_mut(cohort.layout.sensors_first);
        let base = cohort.layout.sensors_first;
        Measure {
            truth: &front[..cohort.layout.motion_end],
            state: &mut sensors[columns.state.0 - base..columns.state.1 - base],
            sample: &mut fresh[..columns.sample.1 - columns.sample.0],
            lanes,
            streams: &self.sensor_streams[index],
            index: sample,
            period_s: slot.rate.period_s(),
            time: self.now,
            mount: &slot.mount,
            wheels: cohort.blueprint.motion.wheels(),
            environment: around.environment,
            simd: around.simd,
            joints: cohort.layout.joints,
            contacts: Contacts {
                begun: &self.int[integers::CONTACTS],
                last_ns: &self.int[integers::LAST_CONTACT],
                with: cohort.layout.touched.map(|column| &self.int[column]),
            },
            kept: &mut self.sensor_kept[index],
            faults: &mut self.failed,
        }
    }

    /// A sensor on a frame that joints move sits elsewhere on every robot: measures lane by lane.
    fn measure_jointed(
        &mut self,
        cohort: &Cohort,
        index: usize,
        sample: u64,
        fresh: &mut [Column],
        around: &Surroundings<'_>,
    ) {
        let (slot, columns) = (&cohort.blueprint.sensors[index], &cohort.layout.sensors[index]);
        let (Sense::Own(feel), Some(frame)) = (slot.sensor.sense(), slot.frame) else { return };
        let (first, end) = columns.state;
        let count = end - first;
        let mut room = std::mem::take(&mut self.jointed);
        room.clear();
        room.extend_from_slice(&self.real[first..end]);
        room.extend_from_slice(&self.real[first..end]);
        room.extend_from_slice(fresh);
        let (before, kept) = room.split_at_mut(count);
        let (states, samples) = kept.split_at_mut(count);
        for lane in 0..self.len {
            self.real[first..end].copy_from_slice(before);
            self.find_frames(cohort, lane);
            let mount = self.frames[frame].pose.then(&slot.mount);
            let mut measure = self.measure(cohort, index, sample, fresh, around);
            measure.mount = &mount;
            feel.measure(&mut measure);
            states.iter_mut().zip(&self.real[first..end]).for_each(|(kept, column)| kept[lane] = column[lane]);
            samples.iter_mut().zip(fresh.iter()).for_each(|(kept, column)| kept[lane] = column[lane]);
        }
        self.real[first..end].copy_from_slice(states);
        fresh.copy_from_slice(samples);
        self.jointed = room;
    }

    /// Sends a fresh sample through the modifiers and makes it visible, now or after its latency.
    fn keep_sample(
        &mut self,
        cohort: &Cohort,
        (index, sample, mut lost): (usize, u64, u32),
        fresh: &mut [Column],
        environment: &Environment,
    ) {
        let (slot, columns) = (&cohort.blueprint.sensors[index], &cohort.layout.sensors[index]);
        let len = columns.sample.1 - columns.sample.0;
        if !slot.modifiers.is_empty() {
            for lane in 0..self.len {
                let mut kept = false;
                let well = self.isolated & (1 << lane) == 0;
                let modified = || kept = self.modify(cohort, (index, sample), fresh, lane, environment);
                if well && let Some(panic) = attempt(modified) {
                    self.isolate(cohort, lane, self.now, format!("a modifier of sensor {:?} {panic}", slot.name));
                }
                lost |= u32::from(!kept) << lane;
            }
        }
        let stamp_ns = self.now.ns() as i64;
        let (first, stamp) = match columns.ring_len {
            0 => (columns.sample.0, columns.stamp),
            ring_len => {
                let place = (sample % ring_len as u64) as usize;
                let visible = self.now + slot.latency;
                self.sensors[index].next_visible = self.sensors[index].next_visible.min(visible);
                (columns.ring.0 + place * len, columns.ring_stamps + place)
            }
        };
        if lost == 0 {
            self.real[first..first + len].copy_from_slice(&fresh[..len]);
            self.int[stamp] = [stamp_ns; LANES];
        } else {
            for lane in (0..self.len).filter(|lane| lost & (1 << lane) == 0) {
                for (column, new) in self.real[first..first + len].iter_mut().zip(fresh.iter()) {
                    column[lane] = new[lane];
                }
                self.int[stamp][lane] = stamp_ns;
            }
        }
        if columns.ring_len == 0 {
            let heard = self.listened[index] & !lost;
            self.speak(cohort, index, heard);
        }
    }

    fn modify(
        &mut self,
        cohort: &Cohort,
        (index, sample): (usize, u64),
        fresh: &mut [Column],
        lane: usize,
        environment: &Environment,
    ) -> bool {
        let (slot, columns) = (&cohort.blueprint.sensors[index], &cohort.layout.sensors[index]);
        let len = columns.sample.1 - columns.sample.0;
        for (value, column) in self.values.iter_mut().zip(fresh.iter()) {
            *value = column[lane];
        }
        let mut kept = true;
        let mut first = columns.memory.0;
        for (number, (modifier, fields)) in slot.stages().enumerate() {
            let count = modifier.modifier.memory(fields);
            let mut memory: smallmem::Memory = smallmem::load(&self.real[first..first + count], lane);
            kept &= modifier.modifier.modify(&mut Sample {
                values: &mut self.values[..len],
                fields,
                memory: &mut memory[..count],
                stream: random::combine(self.sensor_streams[index][lane], number as u64 + 1),
                index: sample,
                period_s: slot.rate.period_s(),
                stamp: self.now,
                environment,
            });
            smallmem::store(&mut self.real[first..first + count], lane, &memory);
            first += count;
        }
        for (value, column) in self.values.iter().zip(fresh.iter_mut()) {
            column[lane] = *value;
        }
        kept
    }

    /// Tells those outside who listen that a sample became visible.
    fn speak(&mut self, cohort: &Cohort, index: usize, heard: u32) {
        if heard == 0 {
            return;
        }
        let (slot, columns) = (&cohort.blueprint.sensors[index], &cohort.layout.sensors[index]);
        for lane in (0..self.len).filter(|lane| heard & (1 << lane) != 0) {
            let stamp = SimTime::from_ns(self.int[columns.stamp][lane] as u64);
            let first = self.spoken_values.len() as u32;
            let sample_columns = &self.real[columns.sample.0..columns.sample.1];
            self.spoken_values.extend(sample_columns.iter().map(|column| column[lane]));
            self.spoken.push(Spoken {
                stamp,
                robot: self.robots[lane],
                sensor: index as u32,
                // the last event of its lattice by then
                index: slot.rate.first_after(stamp - slot.phase) - 1,
                first,
                len: sample_columns.len() as u32,
            });
        }
    }

    pub(super) fn promote(&mut self, cohort: &Cohort, now: SimTime) {
        for index in 0..self.sensors.len() {
            if self.sensors[index].next_visible <= now {
                self.promote_sensor(cohort, index, now);
            }
        }
    }

    fn promote_sensor(&mut self, cohort: &Cohort, index: usize, now: SimTime) {
        let (slot, columns) = (&cohort.blueprint.sensors[index], &cohort.layout.sensors[index]);
        let len = columns.sample.1 - columns.sample.0;
        let mut next = i64::MAX;
        let (mut heard, latency) = (0_u32, slot.latency.ns() as i64);
        for lane in 0..self.len {
            let mut newest: Option<(i64, usize)> = None;
            for place in 0..columns.ring_len {
                let stamp = &mut self.int[columns.ring_stamps + place][lane];
                if *stamp < 0 {
                    continue;
                }
                if *stamp + latency > now.ns() as i64 {
                    next = next.min(*stamp + latency);
                    continue;
                }
                newest = newest.max(Some((*stamp, place)));
                *stamp = -1;
            }
            let Some((stamp, place)) = newest else { continue };
            for field in 0..len {
                self.real[columns.sample.0 + field][lane] = self.real[columns.ring.0 + place * len + field][lane];
            }
            self.int[columns.stamp][lane] = stamp;
            heard |= 1 << lane;
        }
        self.sensors[index].next_visible = SimTime::from_ns(next as u64);
        self.speak(cohort, index, heard & self.listened[index]);
    }

    /// How many samples a sensor of one robot has made so far.
    pub(crate) fn samples(&self, sensor: usize) -> u64 {
        self.sensors[sensor].samples
    }
}

/// Memory of a modifier on the stack: at most sixteen numbers.
mod smallmem {
    use crate::lanes::Column;

    /// The most numbers a modifier may remember.
    pub(super) const MOST: usize = 16;
    pub(super) type Memory = [f64; MOST];

    pub(super) fn load(columns: &[Column], lane: usize) -> Memory {
        let mut memory = [0.0; MOST];
        for (value, column) in memory.iter_mut().zip(columns) {
            *value = column[lane];
        }
        memory
    }

    pub(super) fn store(columns: &mut [Column], lane: usize, memory: &Memory) {
        for (value, column) in memory.iter().zip(columns) {
            column[lane] = *value;
        }
    }
}
