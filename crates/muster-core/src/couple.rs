//! Coupling: which robots could touch before a given time, from balls swept at each motion's speed bound. Chunks whose
//! robots could touch form a group and tick together; all others live alone. How robots are grouped never changes
//! results, only which ticks have to wait for each other.

use crate::chunk::{Chunk, Found, Surroundings, find_pair, settle};
use crate::contact::patch::MARGIN_M;
use crate::contact::{Mobility, Other};
use crate::exec::{Executor, Serial};
use crate::grid::Grid;
use crate::lanes::{LANES, body};
use crate::model::Environment;
use crate::state::State;
use crate::time::SimTime;
use glam::DVec3;
use std::ops::Range;

/// A pair of robots that could touch. Pairs are ordered by the robots' order of coming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    dense: (u32, u32),
    /// Chunk (as position in its group once grouped) and lane of both.
    first: (u32, u8),
    second: (u32, u8),
}

/// Chunks that must tick together.
#[derive(Default)]
pub(crate) struct Group {
    members: Vec<u32>,
    #[expect(clippy::vec_box, reason = "chunks move in and out at every window; only their pointers should")]
    chunks: Vec<Box<Chunk>>,
    pairs: Vec<Pair>,
    /// Those of the pairs that could touch before `close_until`.
    close: Vec<Pair>,
    close_until: SimTime,
    robots: usize,
    /// What its pairs do to each other in a tick, block by block.
    found: Vec<Found>,
}

/// A robot's swept ball.
#[derive(Clone, Copy)]
struct Ball {
    centre_m: DVec3,
    reach_m: f64,
    chunk: u32,
    lane: u8,
}

/// What stands in the world, and whether all robots count as one island.
pub(crate) struct Solids<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) one_island: bool,
}

/// The robots of one realm, sorted for search: their positions among all, and where they are.
#[derive(Default)]
struct RealmGrid {
    range: Range<usize>,
    grid: Grid,
}

/// Robots of one realm whose partners are searched as one piece of work.
#[derive(Default)]
struct Block {
    realm: usize,
    range: Range<usize>,
    pairs: Vec<Pair>,
}

/// Robots in a block at most.
const BLOCK: usize = 256;

/// Pairs are looked at again after this time for those that could touch within it: far fewer than before the next
/// coupling.
const CLOSE: SimTime = SimTime::from_ns(4_000_000);

/// Pairs that are looked at as one piece of work.
const PAIRS: usize = 64;

/// From this many robots on the search is spread over threads.
const PARALLEL_FROM: usize = 1000;

/// Who could touch whom until when.
pub(crate) struct Coupling {
    until: SimTime,
    /// How many horizons the next coupling looks ahead.
    stretch: u64,
    patience: u32,
    /// One for each realm.
    grids: Vec<RealmGrid>,
    balls: Vec<Ball>,
    pairs: Vec<Pair>,
    blocks: Vec<Block>,
    parents: Vec<u32>,
    group_of: Vec<u32>,
    /// Group of each chunk, and its position there.
    positions: Vec<(u32, u32)>,
    pub(crate) groups: Vec<Group>,
    used: usize,
}

/// Coupling looks at least this far ahead, so that short windows need not couple each time.
const HORIZON: SimTime = SimTime::from_ns(20_000_000);

/// While nobody can touch anything, coupling looks up to this many times as far ahead.
const STRETCH_MAX: u64 = 16;

/// So many couplings look equally far ahead before one tries to look further.
const PATIENCE: u32 = 16;

impl Default for Coupling {
    fn default() -> Self {
        Self {
            until: SimTime::ZERO,
            stretch: 1,
            patience: 0,
            grids: Vec::new(),
            balls: Vec::new(),
            pairs: Vec::new(),
            blocks: Vec::new(),
            parents: Vec::new(),
            group_of: Vec::new(),
            positions: Vec::new(),
            groups: Vec::new(),
            used: 0,
        }
    }
}

impl Coupling {
    /// Forgets everything: robots came, went or were moved.
    pub(crate) fn invalidate(&mut self) {
        self.until = SimTime::ZERO;
    }

    /// Makes the groups valid until `end`, if they are not.
    pub(crate) fn renew<E: Executor>(&mut self, state: &mut State, end: SimTime, around: &Solids<'_>, executor: &E) {
        if end <= self.until && self.until > SimTime::ZERO {
            return;
        }
        // as far ahead as nobody can touch anything: what is near costs at every tick, coupling only now and then
        while !self.look_ahead(state, end, around, executor) && self.stretch > 1 {
            self.stretch /= 2;
            self.patience = PATIENCE;
        }
        self.patience = self.patience.saturating_sub(1);
        if self.patience == 0 {
            self.stretch = (self.stretch * 2).min(STRETCH_MAX);
            self.patience = PATIENCE;
        }
        self.join(state, around.one_island);
        self.gather(state);
    }

    /// Finds who could touch whom or what until some time after `end`; true if nobody can.
    fn look_ahead<E: Executor>(&mut self, state: &mut State, end: SimTime, around: &Solids<'_>, executor: &E) -> bool {
        self.until = end.max(state.time + SimTime::from_ns(HORIZON.ns() * self.stretch));
        let widest_m = self.sweep(state, self.until);
        let many = state.roster.len() >= PARALLEL_FROM;
        if many {
            near_obstacles(state, around, executor)
        } else {
            near_obstacles(state, around, &Serial)
        }
        self.pairs.clear();
        if widest_m > 0.0 {
            self.divide(state);
            if many { self.find_pairs(widest_m, executor) } else { self.find_pairs(widest_m, &Serial) }
        }
        self.pairs.is_empty() && state.chunks.iter().flatten().all(|chunk| chunk.near.is_empty())
    }

    /// Balls of all solid robots. Returns the largest reach.
    fn sweep(&mut self, state: &mut State, until: SimTime) -> f64 {
        let no_ball = Ball { centre_m: DVec3::ZERO, reach_m: -1.0, chunk: u32::MAX, lane: 0 };
        self.balls.clear();
        self.balls.resize(state.roster.len(), no_ball);
        let mut widest_m = 0.0_f64;
        for (index, chunk) in state.chunks.iter_mut().enumerate() {
            let Some(chunk) = chunk else { continue };
            let blueprint = &chunk.cohort.blueprint;
            let ticks = blueprint.rate.first_after(until).saturating_sub(chunk.tick.index);
            let travel_m = blueprint.motion.speed_max_mps() * ticks as f64 * blueprint.rate.period_s();
            let (nothing, reach_m) = (!blueprint.touches(), chunk.cohort.radius_m + MARGIN_M + travel_m);
            chunk.reach_m = reach_m;
            if nothing {
                continue;
            }
            widest_m = widest_m.max(chunk.reach_m);
            for lane in 0..chunk.len {
                let centre_m = body::vec3(&chunk.real, body::POSITION, lane);
                let ball = Ball { centre_m, reach_m: chunk.reach_m, chunk: index as u32, lane: lane as u8 };
                self.balls[chunk.dense[lane] as usize] = ball;
            }
        }
        widest_m
    }

    /// Divides the search into blocks.
    fn divide(&mut self, state: &State) {
        self.grids.resize_with(state.roster.realms.len(), RealmGrid::default);
        let mut used = 0;
        for (realm, members) in state.roster.realms.iter().enumerate() {
            let range = members.range();
            self.grids[realm].range = range.clone();
            for start in range.clone().step_by(BLOCK) {
                if used == self.blocks.len() {
                    self.blocks.push(Block::default());
                }
                let block = &mut self.blocks[used];
                (block.realm, block.range) = (realm, start..range.end.min(start + BLOCK));
                used += 1;
            }
        }
        self.blocks.truncate(used);
    }

    fn find_pairs<E: Executor>(&mut self, widest_m: f64, executor: &E) {
        let balls = &self.balls;
        executor.for_each_mut(&mut self.grids, &|_, realm: &mut RealmGrid| {
            // cells a little wider than the widest search: it touches at most eight, four on the ground
            realm.grid.rebuild(4.01 * widest_m, balls[realm.range.clone()].iter().map(|ball| ball.centre_m));
        });
        let grids = &self.grids;
        executor.for_each_mut(&mut self.blocks, &|_, block: &mut Block| {
            block.pairs.clear();
            for index in block.range.clone() {
                partners(index, balls, &grids[block.realm], widest_m, &mut block.pairs);
            }
        });
        self.blocks.iter().for_each(|block| self.pairs.extend_from_slice(&block.pairs));
    }

    /// Unites chunks that share a pair or a bond (union–find).
    fn join(&mut self, state: &State, one_island: bool) {
        let chunks = state.chunks.len();
        self.parents.clear();
        self.parents.extend(0..chunks as u32);
        for pair in &self.pairs {
            unite(&mut self.parents, pair.first.0, pair.second.0);
        }
        for (index, chunk) in state.chunks.iter().enumerate() {
            for tie in chunk.iter().flat_map(|chunk| &chunk.ties) {
                if let Some(holder) = state.roster.get(tie.to) {
                    unite(&mut self.parents, index as u32, holder.chunk);
                }
            }
        }
        if one_island {
            (1..chunks as u32).for_each(|chunk| unite(&mut self.parents, 0, chunk));
        }
    }

    /// Fills the groups, reusing their vectors.
    fn gather(&mut self, state: &State) {
        for group in &mut self.groups[..self.used] {
            group.members.clear();
            group.pairs.clear();
            group.close_until = SimTime::ZERO;
            group.robots = 0;
        }
        self.used = 0;
        self.group_of.clear();
        self.group_of.resize(self.parents.len(), u32::MAX);
        for index in 0..self.parents.len() as u32 {
            let Some(chunk) = state.chunk(index).filter(|chunk| chunk.len > 0) else { continue };
            let root = find(&mut self.parents, index) as usize;
            if self.group_of[root] == u32::MAX {
                self.group_of[root] = self.used as u32;
                if self.used == self.groups.len() {
                    self.groups.push(Group { found: vec![Found::roomy()], ..Group::default() });
                }
                self.used += 1;
            }
            let group = &mut self.groups[self.group_of[root] as usize];
            group.members.push(index);
            group.robots += chunk.len;
        }
        self.positions.clear();
        self.positions.resize(self.parents.len(), (0, 0));
        for (number, group) in self.groups[..self.used].iter().enumerate() {
            for (position, &chunk) in group.members.iter().enumerate() {
                self.positions[chunk as usize] = (number as u32, position as u32);
            }
        }
        for pair in &self.pairs {
            let (a, b) = (pair.first.0 as usize, pair.second.0 as usize);
            self.groups[self.positions[a].0 as usize].pairs.push(Pair {
                dense: pair.dense,
                first: (self.positions[a].1, pair.first.1),
                second: (self.positions[b].1, pair.second.1),
            });
        }
    }

    /// Lets all groups live until `end`: small groups beside each other, large ones each on all threads.
    pub(crate) fn live<E: Executor>(
        &mut self,
        chunks: &mut [Option<Box<Chunk>>],
        end: SimTime,
        around: &Surroundings<'_>,
        executor: Option<&E>,
    ) {
        let groups = &mut self.groups[..self.used];
        for group in groups.iter_mut() {
            group.chunks.extend(group.members.iter().filter_map(|&member| chunks[member as usize].take()));
        }
        match executor {
            None => groups.iter_mut().for_each(|group| group.live(end, around)),
            Some(executor) => {
                let robots: usize = groups.iter().map(|group| group.robots).sum();
                let large = |group: &Group| {
                    !group.pairs.is_empty() && group.members.len() > 1 && group.robots * executor.threads() > robots
                };
                executor.for_each_mut(groups, &|_, group: &mut Group| {
                    if !large(group) {
                        group.live(end, around);
                    }
                });
                for group in groups.iter_mut().filter(|group| large(group)) {
                    group.live_wide(end, around, executor);
                }
            }
        }
        for group in groups {
            for (member, chunk) in group.members.iter().zip(group.chunks.drain(..)) {
                chunks[*member as usize] = Some(chunk);
            }
        }
    }

    /// The end of the first tick in which a robot whose contacts are watched could touch something.
    pub(crate) fn next_watched(&self, chunks: &[Option<Box<Chunk>>]) -> SimTime {
        let chunk = |number: u32| chunks[number as usize].as_deref();
        let next = |number: u32| chunk(number).map_or(SimTime::NEVER, |chunk| chunk.tick.next);
        let watched = |number: u32, lane: u8| chunk(number).is_some_and(|chunk| chunk.watched & (1 << lane) != 0);
        let of_group = |group: &Group| {
            let member = |spot: (u32, u8)| watched(group.members[spot.0 as usize], spot.1);
            if group.pairs.iter().any(|pair| member(pair.first) || member(pair.second)) {
                return group.members.iter().map(|&number| next(number)).min().unwrap_or(SimTime::NEVER);
            }
            let near = |&&number: &&u32| {
                chunk(number).is_some_and(|chunk| chunk.near.iter().any(|(lane, _)| watched(number, *lane)))
            };
            group.members.iter().filter(near).map(|&number| next(number)).min().unwrap_or(SimTime::NEVER)
        };
        self.groups[..self.used].iter().map(of_group).min().unwrap_or(SimTime::NEVER)
    }

    /// How many pairs could touch.
    pub(crate) fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// How many groups there are.
    pub(crate) fn islands(&self) -> usize {
        self.used
    }
}

/// Adds the pairs of one robot with all that came after it, in their order.
fn partners(index: usize, balls: &[Ball], realm: &RealmGrid, widest_m: f64, pairs: &mut Vec<Pair>) {
    let ball = &balls[index];
    if ball.reach_m < 0.0 {
        return;
    }
    let (first, base) = (pairs.len(), realm.range.start as u32);
    realm.grid.within(ball.centre_m, ball.reach_m + widest_m, |other, centre_m| {
        let other = other + base;
        if other as usize <= index {
            return;
        }
        let partner = &balls[other as usize];
        let reach = ball.reach_m + partner.reach_m;
        if partner.reach_m >= 0.0 && (centre_m - ball.centre_m).length_squared() <= reach * reach {
            pairs.push(Pair {
                dense: (index as u32, other),
                first: (ball.chunk, ball.lane),
                second: (partner.chunk, partner.lane),
            });
        }
    });
    pairs[first..].sort_unstable();
}

/// The obstacles each robot could touch, in their order.
fn near_obstacles<E: Executor>(state: &mut State, around: &Solids<'_>, executor: &E) {
    executor.for_each_mut(&mut state.chunks, &|_, chunk: &mut Option<Box<Chunk>>| {
        let Some(chunk) = chunk else { return };
        chunk.near.clear();
        let blueprint = &chunk.cohort.blueprint;
        if !blueprint.touches() || blueprint.motion.mobility() == Mobility::Fixed {
            return;
        }
        let (reach_m, planar) = (chunk.reach_m, blueprint.planar());
        let (parts, heavy) = (blueprint.parts.len(), blueprint.motion.mobility() == Mobility::Dynamic);
        for lane in 0..chunk.len {
            let centre_m = body::vec3(&chunk.real, body::POSITION, lane);
            if !planar {
                near_planes(&mut chunk.near, lane as u8, (centre_m, reach_m), around);
            }
            around.environment.obstacles.near(centre_m, reach_m, |obstacle| {
                chunk.near.push((lane as u8, obstacle));
            });
        }
        chunk.near.sort_unstable();
        if heavy && !chunk.near.is_empty() {
            // and for as many others
            let most = chunk.near.len() * parts + LANES;
            chunk.make_room_for(most);
        }
    });
}

fn near_planes(near: &mut Vec<(u8, u32)>, lane: u8, (centre_m, reach_m): (DVec3, f64), around: &Solids<'_>) {
    for &plane in around.environment.obstacles.planes() {
        let pose = &around.environment.obstacles[plane as usize].pose;
        let height = (pose.orientation * DVec3::Z).dot(centre_m - pose.position_m);
        if height <= reach_m {
            near.push((lane, plane));
        }
    }
}

fn find(parents: &mut [u32], mut at: u32) -> u32 {
    while parents[at as usize] != at {
        parents[at as usize] = parents[parents[at as usize] as usize];
        at = parents[at as usize];
    }
    at
}

fn unite(parents: &mut [u32], a: u32, b: u32) {
    let (a, b) = (find(parents, a), find(parents, b));
    parents[a.max(b) as usize] = a.min(b);
}

impl Group {
    fn live(&mut self, end: SimTime, around: &Surroundings<'_>) {
        self.find_holders();
        if self.pairs.is_empty() && self.chunks.iter().all(|chunk| chunk.ties.is_empty()) {
            for chunk in &mut self.chunks {
                chunk.live_until(end, around);
            }
            return;
        }
        while let Some(time) = self.next_tick(end) {
            for chunk in self.chunks.iter_mut().filter(|chunk| chunk.tick.next == time) {
                chunk.begin_tick(around);
            }
            self.meet(time, around, &Serial);
            for chunk in self.chunks.iter_mut().filter(|chunk| chunk.now == time) {
                chunk.end_tick(around);
            }
        }
        self.chunks.iter_mut().for_each(|chunk| chunk.decide_before(end, around));
    }

    /// Finds where those are who hold others.
    fn find_holders(&mut self) {
        for at in 0..self.chunks.len() {
            for number in 0..self.chunks[at].ties.len() {
                let to = self.chunks[at].ties[number].to;
                let lane_of = |chunk: &Chunk| chunk.robots[..chunk.len].iter().position(|&robot| robot == to);
                let mut places = self.chunks.iter().enumerate();
                if let Some((chunk, lane)) = places.find_map(|(at, chunk)| Some((at, lane_of(chunk)?))) {
                    self.chunks[at].ties[number].second = (chunk as u32, lane as u8);
                }
            }
        }
    }

    /// The same on all threads: three fork-joins a tick.
    fn live_wide<E: Executor>(&mut self, end: SimTime, around: &Surroundings<'_>, executor: &E) {
        self.find_holders();
        while let Some(time) = self.next_tick(end) {
            executor.for_each_mut(&mut self.chunks, &|_, chunk: &mut Box<Chunk>| {
                if chunk.tick.next == time {
                    chunk.begin_tick(around);
                }
            });
            self.meet(time, around, executor);
            executor.for_each_mut(&mut self.chunks, &|_, chunk: &mut Box<Chunk>| {
                if chunk.now == time {
                    chunk.end_tick(around);
                }
            });
        }
        executor.for_each_mut(&mut self.chunks, &|_, chunk: &mut Box<Chunk>| chunk.decide_before(end, around));
    }

    fn next_tick(&self, end: SimTime) -> Option<SimTime> {
        self.chunks.iter().map(|chunk| chunk.tick.next).min().filter(|&next| next <= end)
    }

    /// Evaluates every pair of which at least one robot has just ticked, and lets contacts act.
    fn meet<E: Executor>(&mut self, time: SimTime, around: &Surroundings<'_>, executor: &E) {
        let chunks = &self.chunks;
        let often = chunks.iter().any(|chunk| 2 * chunk.cohort.blueprint.rate.period().ns() <= CLOSE.ns());
        if often && time > self.close_until {
            self.close_until = time + CLOSE;
            self.close.clear();
            self.close.extend(self.pairs.iter().filter(|pair| is_close(chunks, pair, CLOSE)));
        }
        let pairs = if often { &self.close } else { &self.pairs };
        let blocks = pairs.len().div_ceil(PAIRS);
        if self.found.len() < blocks {
            self.found.resize_with(blocks, Found::roomy);
        }
        executor.for_each_mut(&mut self.found[..blocks], &|block, found: &mut Found| {
            found.clear();
            for pair in &pairs[block * PAIRS..pairs.len().min((block + 1) * PAIRS)] {
                if [pair.first, pair.second].iter().any(|spot| chunks[spot.0 as usize].now == time) {
                    find_pair(chunks, pair.first, pair.second, found);
                }
            }
        });
        for found in &mut self.found[..blocks] {
            for patch in found.patches.drain(..) {
                self.chunks[patch.owner as usize].found.push(patch);
            }
            for (spots, changes) in found.nudges.drain(..) {
                hand_out(&mut self.chunks, time, spots, changes);
            }
        }
        settle(&mut self.chunks, around.environment);
    }
}

/// Whether two robots could touch within a time.
fn is_close(chunks: &[Box<Chunk>], pair: &Pair, within: SimTime) -> bool {
    let side = |(chunk, lane): (u32, u8)| {
        let chunk = &chunks[chunk as usize];
        let blueprint = &chunk.cohort.blueprint;
        // a tick that began before the time ends after it
        let travel_s = within.s() + blueprint.rate.period_s();
        let reach_m = chunk.cohort.radius_m + MARGIN_M + blueprint.motion.speed_max_mps() * travel_s;
        (body::vec3(&chunk.real, body::POSITION, usize::from(lane)), reach_m)
    };
    let (a, b) = (side(pair.first), side(pair.second));
    (a.0 - b.0).length_squared() <= (a.1 + b.1) * (a.1 + b.1)
}

/// Gives two robots that are moved by their algorithms what they do to each other, at their next tick.
fn hand_out(chunks: &mut [Box<Chunk>], time: SimTime, spots: [(u32, u8); 2], changes: [(DVec3, DVec3); 2]) {
    let number = |(chunk, lane): (u32, u8)| chunks[chunk as usize].robots[usize::from(lane)];
    let others = [number(spots[1]), number(spots[0])];
    for (((chunk, lane), (push, kick)), other) in spots.into_iter().zip(changes).zip(others) {
        let chunk = &mut chunks[chunk as usize];
        let lane = usize::from(lane);
        let push = body::vec3(&chunk.real, body::PUSH, lane) + push;
        let kick = body::vec3(&chunk.real, body::KICK, lane) + kick;
        body::set_vec3(&mut chunk.real, body::PUSH, lane, push);
        body::set_vec3(&mut chunk.real, body::KICK, lane, kick);
        chunk.pushed = true;
        chunk.note_contact(lane, time, Other::Robot(other));
    }
}
