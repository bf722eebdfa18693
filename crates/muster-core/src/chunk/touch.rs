//! How the robots of a chunk touch: obstacles and each other. Detection fills `found`; [`settle`] makes it the patches
//! of the tick, solves them and moves the bodies.

use super::{Before, Chunk, Lanes};
use crate::component::Pose;
use crate::contact::patch::{MARGIN_M, Patch, PatchKey, Probe};
use crate::contact::solver::{Contact, Mover, Solver, turned};
use crate::contact::{Mass, Mobility, Other, Part, Placed, nudge, nudge_both};
use crate::joints::{FrameMotion, frame_motions};
use crate::lanes::{Column, LANES, body};
use crate::model::{Cohort, Environment};
use crate::time::SimTime;
use glam::{DMat3, DVec3};
use parry3d_f64::query::{ShapeCastOptions, cast_shapes};
use std::ops::DerefMut;

/// A part of one robot in the world, and how joints move its surface on the body.
#[derive(Clone, Copy)]
struct PartPlace {
    pose: Pose,
    surface: (DVec3, DVec3),
}

impl Lanes {
    /// The frames of one robot.
    pub(super) fn find_frames(&mut self, cohort: &Cohort, lane: usize) {
        let mut frames = std::mem::take(&mut self.frames);
        frames_of(cohort, &self.real, lane, &mut frames);
        self.frames = frames;
    }

    /// Displaces robots that are moved by their algorithm out of obstacles; finds where bodies with mass touch them.
    pub(super) fn meet_obstacles(&mut self, cohort: &Cohort, environment: &Environment) {
        for lane in (0..self.len).filter(|lane| self.pressed & (1 << lane) != 0) {
            body::set_vec3(&mut self.real, body::CONTACT_FORCE, lane, DVec3::ZERO);
        }
        self.pressed = 0;
        self.found.clear();
        self.fresh_contacts = true;
        let mobility = cohort.blueprint.motion.mobility();
        if self.near.is_empty() || mobility == Mobility::Fixed {
            return;
        }
        self.stop_at_obstacles(cohort, environment);
        for at in 0..self.near.len() {
            let (lane, obstacle) = (usize::from(self.near[at].0), self.near[at].1);
            if self.isolated & (1 << lane) == 0 {
                self.meet_obstacle(cohort, environment, (lane, obstacle), mobility);
            }
        }
    }

    fn meet_obstacle(
        &mut self,
        cohort: &Cohort,
        environment: &Environment,
        (lane, index): (usize, u32),
        mobility: Mobility,
    ) {
        let obstacle = &environment.obstacles[index as usize];
        let second = Placed { solid: &obstacle.solid, pose: obstacle.pose };
        if cohort.framed {
            self.find_frames(cohort, lane);
        }
        for (number, part) in cohort.blueprint.parts.iter().enumerate() {
            if !part.groups.meet(obstacle.groups) {
                continue;
            }
            let first = Placed { solid: &part.solid, pose: place(&self.real, lane, part, &self.frames).pose };
            if mobility == Mobility::Dynamic {
                let key = PatchKey {
                    lane: lane as u8,
                    with: Other::Obstacle(index),
                    part: number as u16,
                    other_part: 0,
                    triangle: 0,
                };
                self.probe.touch(key, &first, &second, &self.patches, &mut self.found);
            } else if let Some(touch) = self.probe.deepest(&first, &second) {
                let belt_mps = obstacle.pose.orientation * obstacle.belt_mps;
                nudge(&mut self.real, lane, mobility, &touch, belt_mps);
                self.touched |= 1 << lane;
                self.note_contact(cohort, lane, self.tick.next, Other::Obstacle(index));
            }
        }
    }

    /// A robot that moved by more than it is thick within a tick stops where it first met something.
    fn stop_at_obstacles(&mut self, cohort: &Cohort, environment: &Environment) {
        for lane in 0..self.len {
            let from_m = body::vec3(&self.before, body::POSITION, lane);
            let step_m = body::vec3(&self.real, body::POSITION, lane) - from_m;
            if step_m.length_squared() <= cohort.leap_m * cohort.leap_m {
                continue;
            }
            if cohort.framed {
                self.find_frames(cohort, lane);
            }
            let near = self.near.iter().filter(|(other, _)| usize::from(*other) == lane);
            let share = near.fold(1.0, |share: f64, (_, obstacle)| {
                let obstacle = &environment.obstacles[*obstacle as usize];
                let parts = cohort.blueprint.parts.iter().filter(|part| part.groups.meet(obstacle.groups));
                parts.fold(share, |share, part| {
                    let mut pose = place(&self.real, lane, part, &self.frames).pose;
                    pose.position_m -= step_m;
                    let placed = Placed { solid: &part.solid, pose };
                    let other = Placed { solid: &obstacle.solid, pose: obstacle.pose };
                    share.min(first_meeting(&placed, step_m, &other, cohort.leap_m))
                })
            });
            if share < 1.0 {
                body::set_vec3(&mut self.real, body::POSITION, lane, from_m + step_m * share);
            }
        }
    }

    fn mass(&self, cohort: &Cohort, lane: usize) -> Mass {
        let well = self.isolated & (1 << lane) == 0;
        match cohort.blueprint.motion.mobility() {
            Mobility::Dynamic if well => cohort.blueprint.motion.mass(&self.real[..cohort.layout.motion_end], lane),
            _ => Mass::INFINITE,
        }
    }
}

/// After which share of its step a solid first meets another, if it would go deeper into it than `leap_m` from there; 1 if
/// not, or if it overlaps it from the start. What only slides along another is left to the contact.
fn first_meeting(moving: &Placed<'_>, step_m: DVec3, other: &Placed<'_>, leap_m: f64) -> f64 {
    let options = ShapeCastOptions { max_time_of_impact: 1.0, ..ShapeCastOptions::default() };
    let hit = cast_shapes(
        &moving.solid.form_pose(&moving.pose),
        step_m,
        &*moving.solid.form.0,
        &other.solid.form_pose(&other.pose),
        DVec3::ZERO,
        &*other.solid.form.0,
        options,
    );
    match hit {
        Ok(Some(hit)) if hit.time_of_impact > 0.0 => {
            let normal = moving.pose.orientation * (moving.solid.turn * hit.normal1);
            let deep_m = (1.0 - hit.time_of_impact) * step_m.dot(normal).abs();
            if deep_m > leap_m { hit.time_of_impact } else { 1.0 }
        }
        _ => 1.0,
    }
}

/// The frames of a robot.
pub(crate) fn frames_of(cohort: &Cohort, real: &[Column], lane: usize, frames: &mut Vec<FrameMotion>) {
    let joints = cohort.layout.joints;
    let joint = |at: usize| (real[joints.positions() + at][lane], real[joints.rates() + at][lane]);
    frame_motions(&cohort.blueprint.frames, joint, frames);
}

/// Where a part is in the world; `frames` are those of its robot, if parts sit on any.
pub(crate) fn place_of(real: &[Column], lane: usize, part: &Part, frames: &[FrameMotion]) -> Pose {
    place(real, lane, part, frames).pose
}

/// Where a part is, and how it moves on its robot; `frames` are those of its robot, if parts sit on any.
fn place(real: &[Column], lane: usize, part: &Part, frames: &[FrameMotion]) -> PartPlace {
    let robot = Pose { position_m: body::vec3(real, body::POSITION, lane), orientation: body::orientation(real, lane) };
    match part.frame {
        // most robots have one part at their origin, and most of the work of a pile at rest is to find such parts
        None if part.pose == Pose::IDENTITY => PartPlace { pose: robot, surface: (DVec3::ZERO, DVec3::ZERO) },
        None => PartPlace { pose: robot.then(&part.pose), surface: (DVec3::ZERO, DVec3::ZERO) },
        Some(frame) => {
            let on_body = frames[frame].carrying(&part.pose);
            let turn = robot.orientation;
            PartPlace {
                pose: robot.then(&on_body.pose),
                surface: (turn * on_body.velocity_mps, turn * on_body.spin_radps),
            }
        }
    }
}

/// Chunk and lane of a robot, as far as those who touch are concerned.
type Spot = (u32, u8);

/// What two robots that are moved by their algorithms do to each other: displacement and change of velocity of each.
pub(crate) type Nudge = ([Spot; 2], [(DVec3, DVec3); 2]);

/// What pairs of robots do to each other in a tick.
#[derive(Default)]
pub(crate) struct Found {
    /// Where bodies touch.
    pub(crate) patches: Vec<Patch>,
    /// Robots without mass that overlap.
    pub(crate) nudges: Vec<Nudge>,
    probe: Probe,
    frames: [Vec<FrameMotion>; 2],
    /// Where the parts of the second robot are.
    poses: Vec<Pose>,
}

impl Found {
    /// With room for what a few robots do to each other.
    pub(crate) fn roomy() -> Self {
        Self {
            patches: Vec::with_capacity(LANES),
            nudges: Vec::with_capacity(LANES),
            probe: Probe::roomy(),
            ..Self::default()
        }
    }

    pub(crate) fn clear(&mut self) {
        self.patches.clear();
        self.nudges.clear();
    }
}

/// Finds out whether and where two robots touch.
pub(crate) fn find_pair<C: std::ops::Deref<Target = Chunk>>(
    chunks: &[C],
    first: Spot,
    second: Spot,
    found: &mut Found,
) {
    let faster = |spot: Spot| chunks[spot.0 as usize].cohort.blueprint.rate.period();
    let [a, b] = if faster(second) < faster(first) { [second, first] } else { [first, second] };
    let (mine, other) = (&*chunks[a.0 as usize], &*chunks[b.0 as usize]);
    let (lane, other_lane) = (usize::from(a.1), usize::from(b.1));
    let (from, to) = (position(mine, lane), position(other, other_lane));
    let reach_m = mine.cohort.radius_m + other.cohort.radius_m + MARGIN_M;
    if (from - to).length_squared() > reach_m * reach_m {
        return;
    }
    let tied = |chunk: &Chunk, lane: u8, to: u32| chunk.ties.iter().any(|tie| tie.lane == lane && tie.to == to);
    if tied(mine, a.1, other.robots[other_lane]) || tied(other, b.1, mine.robots[lane]) {
        return;
    }
    let mobility = [mine, other].map(|chunk| chunk.cohort.blueprint.motion.mobility());
    let heavy = mobility.contains(&Mobility::Dynamic);
    for (chunk, lane, frames) in [(mine, lane, 0), (other, other_lane, 1)] {
        if chunk.cohort.framed {
            frames_of(&chunk.cohort, &chunk.real, lane, &mut found.frames[frames]);
        }
    }
    let others = &other.cohort.blueprint.parts;
    found.poses.clear();
    found.poses.extend(others.iter().map(|part| place(&other.real, other_lane, part, &found.frames[1]).pose));
    for (number, part) in mine.cohort.blueprint.parts.iter().enumerate() {
        let placed = Placed { solid: &part.solid, pose: place(&mine.real, lane, part, &found.frames[0]).pose };
        for (other_number, other_part) in others.iter().enumerate() {
            let pose = found.poses[other_number];
            let reach_m = part.solid.radius_m() + other_part.solid.radius_m() + MARGIN_M;
            let near = (placed.pose.position_m - pose.position_m).length_squared() <= reach_m * reach_m;
            if !near || !part.groups.meet(other_part.groups) {
                continue;
            }
            let against = Placed { solid: &other_part.solid, pose };
            if heavy {
                let key = PatchKey {
                    lane: a.1,
                    with: Other::Robot(other.robots[other_lane]),
                    part: number as u16,
                    other_part: other_number as u16,
                    triangle: 0,
                };
                let known = found.patches.len();
                found.probe.touch(key, &placed, &against, &mine.patches, &mut found.patches);
                found.patches[known..].iter_mut().for_each(|patch| (patch.owner, patch.second) = (a.0, b));
            } else if let Some(touch) = found.probe.deepest(&placed, &against) {
                let relative_mps = velocity(mine, lane) - velocity(other, other_lane);
                found.nudges.push(([a, b], nudge_both(mobility, &touch, relative_mps)));
            }
        }
    }
}

fn position(chunk: &Chunk, lane: usize) -> DVec3 {
    body::vec3(&chunk.real, body::POSITION, lane)
}

fn velocity(chunk: &Chunk, lane: usize) -> DVec3 {
    body::vec3(&chunk.real, body::VELOCITY, lane)
}

/// What [`settle`] needs room for.
#[derive(Default)]
pub(crate) struct Room {
    solver: Solver,
    /// Contacts in the order in which they are solved: by the robots' order of coming.
    order: Vec<(OrderKey, u32, u32)>,
    /// Bonds in the same order: position of the robot, chunk, and number there.
    ties: Vec<(u32, u32, u32)>,
    /// Mover of each lane of each chunk.
    movers: Vec<[u32; LANES]>,
    /// Chunk, lane and mass of each mover.
    owners: Vec<(u32, u8, Mass)>,
    frames: Vec<FrameMotion>,
    /// Length of the ticks that are solved.
    period_ns: u64,
}

impl Clone for Room {
    /// Room is not worth copying.
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// By the robots' order of coming and by part, whatever chunks they are in.
type OrderKey = (u32, Other, u16, u16, u32);

/// Makes what was found the contacts of the tick, and lets them act on all chunks that have just ticked. Robots of equal
/// rate are solved together; a slower one gets what it gets at its next tick.
pub(crate) fn settle<C: DerefMut<Target = Chunk>>(chunks: &mut [C], environment: &Environment) {
    let mut any = false;
    for chunk in chunks.iter_mut().filter(|chunk| chunk.fresh_contacts) {
        let lanes = &mut chunk.lanes;
        std::mem::swap(&mut lanes.found, &mut lanes.patches);
        if !lanes.patches.is_sorted_by_key(|patch| patch.key) {
            lanes.patches.sort_unstable_by_key(|patch| patch.key);
        }
        any |= !(lanes.patches.is_empty() && lanes.ties.is_empty());
    }
    if any {
        let mut room = std::mem::take(&mut chunks[0].lanes.room);
        let period = |chunk: &C| chunk.cohort.blueprint.rate.period();
        let mut last = None;
        loop {
            let acts = |chunk: &&C| chunk.fresh_contacts && !(chunk.patches.is_empty() && chunk.ties.is_empty());
            let fresh = chunks.iter().filter(acts);
            let Some(next) = fresh.map(period).filter(|&next| last.is_none_or(|last| next > last)).min() else { break };
            room.settle_class(chunks, environment, next.ns());
            last = Some(next);
        }
        chunks[0].lanes.room = room;
    }
    chunks.iter_mut().for_each(|chunk| chunk.lanes.fresh_contacts = false);
}

impl Room {
    /// Makes room for a contact of every robot of a chunk, once.
    pub(super) fn make_ready(&mut self) {
        if self.order.capacity() == 0 {
            self.order.reserve(LANES);
            self.owners.reserve(LANES + 1);
            self.movers.reserve(1);
            self.solver.make_ready(LANES);
        }
    }

    /// Solves the contacts of all robots with ticks of one length.
    fn settle_class<C: DerefMut<Target = Chunk>>(
        &mut self,
        chunks: &mut [C],
        environment: &Environment,
        period_ns: u64,
    ) {
        let dt_s = period_ns as f64 * 1e-9;
        self.solver.clear(dt_s);
        self.period_ns = period_ns;
        self.owners.clear();
        self.owners.push((u32::MAX, 0, Mass::INFINITE));
        self.movers.clear();
        self.movers.resize(chunks.len(), [u32::MAX; LANES]);
        self.order.clear();
        for (number, chunk) in chunks.iter().enumerate().filter(|(_, chunk)| chunk.ticks_with(period_ns)) {
            for (at, patch) in chunk.patches.iter().enumerate() {
                self.order.push((order_key(chunks, chunk, patch), number as u32, at as u32));
            }
        }
        if !self.order.is_sorted() {
            self.order.sort_unstable();
        }
        self.join(chunks);
        for at in 0..self.order.len() {
            let (_, number, patch) = self.order[at];
            self.add(chunks, environment, (number, patch));
        }
        self.solver.solve();
        for (at, &(_, number, tie)) in self.ties.iter().enumerate() {
            chunks[number as usize].lanes.ties[tie as usize].impulses = self.solver.bond_impulses(at);
        }
        self.note(chunks, dt_s);
        for mover in 1..self.owners.len() {
            let (number, lane, mass) = self.owners[mover];
            let chunk = &mut *chunks[number as usize];
            let now = chunk.ticks_with(period_ns);
            let mover = &self.solver.movers[mover];
            if mass.per_kg > 0.0 && mover.touched() {
                write_back(&mut chunk.lanes, usize::from(lane), &mass, mover, now.then_some(dt_s));
                chunk.lanes.pushed |= !now;
                chunk.lanes.touched |= u32::from(now) << lane;
            }
        }
    }

    /// Adds the bonds of all robots that have just ticked, in the order of their coming.
    fn join<C: DerefMut<Target = Chunk>>(&mut self, chunks: &[C]) {
        self.ties.clear();
        for (number, chunk) in chunks.iter().enumerate().filter(|(_, chunk)| chunk.ticks_with(self.period_ns)) {
            for (at, tie) in chunk.ties.iter().enumerate() {
                self.ties.push((chunk.dense[usize::from(tie.lane)], number as u32, at as u32));
            }
        }
        self.ties.sort_unstable();
        for at in 0..self.ties.len() {
            let (_, number, tie) = self.ties[at];
            let chunk = &*chunks[number as usize];
            let tie = &chunk.ties[tie as usize];
            let poses =
                [(chunk, tie.lane), (&*chunks[tie.second.0 as usize], tie.second.1)].map(|(chunk, lane)| Pose {
                    position_m: position(chunk, usize::from(lane)),
                    orientation: body::orientation(&chunk.real, usize::from(lane)),
                });
            let movers = [self.mover_of(chunks, (number, tie.lane)), self.mover_of(chunks, tie.second)];
            self.solver.join(movers, &tie.joined(&poses[0], &poses[1]));
        }
    }

    /// Adds a contact, and the bodies it is between.
    fn add<C: DerefMut<Target = Chunk>>(&mut self, chunks: &[C], environment: &Environment, (number, at): (u32, u32)) {
        let chunk = &*chunks[number as usize];
        let patch = &chunk.patches[at as usize];
        let key = patch.key;
        let part = &chunk.cohort.blueprint.parts[usize::from(key.part)];
        let first = self.place_of(chunk, key.lane, part);
        let mover = self.mover_of(chunks, (number, key.lane));
        let (second, other, surface) = match key.with {
            Other::Obstacle(index) => {
                let obstacle = &environment.obstacles[index as usize];
                let belt_mps = obstacle.pose.orientation * obstacle.belt_mps;
                (PartPlace { pose: obstacle.pose, surface: (belt_mps, DVec3::ZERO) }, 0, obstacle.surface)
            }
            Other::Robot(_) => {
                let other = &*chunks[patch.second.0 as usize];
                let part = &other.cohort.blueprint.parts[usize::from(key.other_part)];
                (self.place_of(other, patch.second.1, part), self.mover_of(chunks, patch.second), part.surface)
            }
        };
        self.solver.add(&Contact {
            patch,
            movers: [mover, other],
            poses: [first.pose, second.pose],
            surfaces: [first.surface, second.surface],
            surface: part.surface.with(surface),
        });
    }

    fn place_of(&mut self, chunk: &Chunk, lane: u8, part: &Part) -> PartPlace {
        if part.frame.is_some() {
            frames_of(&chunk.cohort, &chunk.real, usize::from(lane), &mut self.frames);
        }
        let lane = usize::from(lane);
        let mut placed = place(&chunk.real, lane, part, &self.frames);
        let belt_mps = chunk.cohort.blueprint.motion.belt_mps(&chunk.real[..chunk.cohort.layout.motion_end], lane);
        if belt_mps != DVec3::ZERO {
            placed.surface.0 += body::orientation(&chunk.real, lane) * belt_mps;
        }
        placed
    }

    fn mover_of<C: DerefMut<Target = Chunk>>(&mut self, chunks: &[C], (number, lane): Spot) -> u32 {
        let known = &mut self.movers[number as usize][usize::from(lane)];
        if *known == u32::MAX {
            let chunk = &*chunks[number as usize];
            let mass = chunk.mass(&chunk.cohort, usize::from(lane));
            let ticked = chunk.ticks_with(self.period_ns).then_some(&chunk.before);
            *known = self.solver.add_mover(mover(&chunk.real, ticked, (usize::from(lane), &mass), self.period_ns));
            self.owners.push((number, lane, mass));
        }
        *known
    }

    /// Remembers the impulses, and tells robots what they touched and how hard.
    fn note<C: DerefMut<Target = Chunk>>(&mut self, chunks: &mut [C], dt_s: f64) {
        for (contact, &(_, number, at)) in self.order.iter().enumerate() {
            let chunk = &mut *chunks[number as usize];
            let patch = &mut chunk.lanes.patches[at as usize];
            for (spot, impulse) in patch.spots_mut().iter_mut().zip(self.solver.impulses(contact)) {
                spot.impulse = impulse;
            }
            if !patch.loaded() {
                continue;
            }
            let (key, second, time) = (patch.key, patch.second, chunk.now);
            let force_n = self.solver.total(contact) / dt_s;
            let robot = chunk.robots[usize::from(key.lane)];
            chunk.bear(usize::from(key.lane), force_n, time, key.with);
            if let Other::Robot(_) = key.with {
                chunks[second.0 as usize].bear(usize::from(second.1), -force_n, time, Other::Robot(robot));
            }
        }
    }
}

impl Chunk {
    /// True if its robots have just made a tick of this length.
    fn ticks_with(&self, period_ns: u64) -> bool {
        self.fresh_contacts && self.cohort.blueprint.rate.period().ns() == period_ns
    }

    fn bear(&mut self, lane: usize, force_n: DVec3, time: SimTime, with: Other) {
        let force_n = body::vec3(&self.real, body::CONTACT_FORCE, lane) + force_n;
        body::set_vec3(&mut self.lanes.real, body::CONTACT_FORCE, lane, force_n);
        self.lanes.pressed |= 1 << lane;
        self.lanes.touched |= 1 << lane;
        self.note_contact(lane, time, with);
    }
}

fn order_key<C: DerefMut<Target = Chunk>>(chunks: &[C], chunk: &Chunk, patch: &Patch) -> OrderKey {
    let key = patch.key;
    let with = match key.with {
        Other::Obstacle(index) => Other::Obstacle(index),
        Other::Robot(_) => Other::Robot(chunks[patch.second.0 as usize].dense[usize::from(patch.second.1)]),
    };
    (chunk.dense[usize::from(key.lane)], with, key.part, key.other_part, key.triangle)
}

/// A robot as a body, with what others' contacts already asked of it.
fn mover(real: &[Column], ticked_from: Option<&Before>, (lane, mass): (usize, &Mass), period_ns: u64) -> Mover {
    let dt_s = period_ns as f64 * 1e-9;
    let turn = DMat3::from_quat(body::orientation(real, lane));
    let pending = |first: usize, asked: usize| body::vec3(real, first, lane) + body::vec3(real, asked, lane);
    let arm_m = turn * mass.centre_m;
    let spin_radps = turn * pending(body::ANGULAR_VELOCITY, body::TWIST);
    let velocity_mps = pending(body::VELOCITY, body::KICK) + spin_radps.cross(arm_m) + turn * mass.centre_mps;
    let centre_m = body::vec3(real, body::POSITION, lane) + arm_m;
    let moved_m = match ticked_from {
        Some(before) => {
            let arm_before = body::orientation(before, lane) * (mass.centre_m - mass.centre_mps * dt_s);
            centre_m - body::vec3(before, body::POSITION, lane) - arm_before
        }
        None => velocity_mps * dt_s,
    };
    let per = (mass.per_kg, turn * mass.per_inertia * turn.transpose());
    Mover::new(per, (centre_m, moved_m), (velocity_mps, spin_radps))
}

/// Gives a robot what contacts did to its body: now, if it has just made a tick of this length, or at its next tick.
fn write_back(lanes: &mut Lanes, lane: usize, mass: &Mass, mover: &Mover, tick_s: Option<f64>) {
    let real = &mut lanes.real;
    let before = body::orientation(real, lane);
    let (kick, twist) = mover.change();
    let Some(dt_s) = tick_s else {
        let arm_m = before * mass.centre_m;
        add(real, body::KICK, lane, kick - twist.cross(arm_m));
        add(real, body::TWIST, lane, before.inverse() * twist);
        return;
    };
    let (centre_m, turn) = mover.place(dt_s);
    let after = turned(before, turn);
    let arm_m = after * mass.centre_m;
    let velocity = mover.velocity_mps - mover.spin_radps.cross(arm_m) - after * mass.centre_mps;
    body::set_vec3(real, body::POSITION, lane, centre_m - arm_m);
    body::set_orientation(real, lane, after);
    body::set_vec3(real, body::VELOCITY, lane, velocity);
    body::set_vec3(real, body::ANGULAR_VELOCITY, lane, after.inverse() * mover.spin_radps);
}

fn add(real: &mut [Column], first: usize, lane: usize, change: DVec3) {
    let sum = body::vec3(real, first, lane) + change;
    body::set_vec3(real, first, lane, sum);
}
