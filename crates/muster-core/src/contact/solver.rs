//! The contact solver: impulses that keep bodies apart and make them stick or slide, for all bodies that touch at once.
//!
//! Sequential impulses with a warm start and soft constraints (E. Catto, *Solver2D* and Box2D 3, "soft step"): motions
//! have moved their bodies freely; the solver finds the change of velocity that, applied over the tick, would have kept
//! every spot from overlapping, moves the bodies by it, and then lets go of the part of it that only served to undo
//! overlap. Friction obeys the cone exactly at each spot. Rebound is added last.
//!
//! Bodies that do not touch each other never influence each other's numbers, so it does not matter which others are
//! solved together with them.

use super::Surface;
use super::patch::Patch;
use crate::component::Pose;
use glam::{DMat3, DQuat, DVec3};

/// A body as the solver sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mover {
    /// Reciprocal of the mass; 0 for what no contact moves.
    per_mass: f64,
    /// Reciprocal of the inertia in the world.
    per_inertia: DMat3,
    /// Centre of mass, m.
    pub(crate) centre_m: DVec3,
    /// Velocity of the centre of mass, m/s.
    pub(crate) velocity_mps: DVec3,
    /// In the world, rad/s.
    pub(crate) spin_radps: DVec3,
    /// By how much the centre moved in the tick, m.
    moved_m: DVec3,
    /// Velocity and spin before the solver began.
    free: (DVec3, DVec3),
    /// With which velocity and spin over the tick it would not overlap anything.
    apart: (DVec3, DVec3),
    /// True if some contact acts on it.
    touched: bool,
}

impl Mover {
    /// What never moves.
    const FIXED: Self = Self {
        per_mass: 0.0,
        per_inertia: DMat3::ZERO,
        centre_m: DVec3::ZERO,
        velocity_mps: DVec3::ZERO,
        spin_radps: DVec3::ZERO,
        moved_m: DVec3::ZERO,
        free: (DVec3::ZERO, DVec3::ZERO),
        apart: (DVec3::ZERO, DVec3::ZERO),
        touched: false,
    };

    /// A body that moves freely, with the reciprocals of its mass and inertia, where its centre is and how far it moved
    /// in the tick, its velocity and spin.
    pub(crate) fn new(per: (f64, DMat3), (centre_m, moved_m): (DVec3, DVec3), free: (DVec3, DVec3)) -> Self {
        Self {
            per_mass: per.0,
            per_inertia: per.1,
            centre_m,
            velocity_mps: free.0,
            spin_radps: free.1,
            moved_m,
            free,
            apart: free,
            touched: false,
        }
    }

    /// True if some contact acts on it.
    pub(crate) fn touched(&self) -> bool {
        self.touched
    }

    /// By how much contacts changed velocity and spin.
    pub(crate) fn change(&self) -> (DVec3, DVec3) {
        (self.velocity_mps - self.free.0, self.spin_radps - self.free.1)
    }

    /// Where contacts leave the centre, and by which vector they turn the body, after a tick of this length.
    pub(crate) fn place(&self, dt_s: f64) -> (DVec3, DVec3) {
        (self.centre_m - self.moved_m + self.apart.0 * dt_s, (self.apart.1 - self.free.1) * dt_s)
    }

    /// How far a spot moved in the tick.
    fn moved_at(&self, arm: DVec3, dt_s: f64) -> DVec3 {
        self.moved_m + self.free.1.cross(arm) * dt_s
    }

    fn at(&self, arm: DVec3) -> DVec3 {
        self.velocity_mps + self.spin_radps.cross(arm)
    }
}

/// How fast a body moves and turns, and how easily it is moved: what the rounds of the solver read and write.
#[derive(Debug, Clone, Copy)]
struct Motion {
    velocity_mps: DVec3,
    spin_radps: DVec3,
    per_mass: f64,
}

/// One direction in which a spot is held, with the levers it has on both bodies.
#[derive(Debug, Clone, Copy)]
struct Hold {
    /// Arm times direction, on each body.
    levers: [DVec3; 2],
    /// By how much a unit impulse turns each body.
    turns: [DVec3; 2],
    /// Velocity of the surfaces against each other that no impulse changes: joints, belts, m/s.
    given_mps: f64,
    mass: f64,
    impulse: f64,
}

impl Hold {
    fn new(along: DVec3, arms: [DVec3; 2], bodies: [&Mover; 2], given_mps: f64, impulse: f64) -> Self {
        let levers = arms.map(|arm| arm.cross(along));
        let turns = [bodies[0].per_inertia * levers[0], bodies[1].per_inertia * levers[1]];
        let yielding = bodies[0].per_mass + bodies[1].per_mass + levers[0].dot(turns[0]) + levers[1].dot(turns[1]);
        Self { levers, turns, given_mps, mass: if yielding > 0.0 { 1.0 / yielding } else { 0.0 }, impulse }
    }

    /// Holds two bodies from turning against each other about an axis.
    fn turning(axis: DVec3, bodies: [&Mover; 2], impulse: f64) -> Self {
        let turns = [bodies[0].per_inertia * axis, bodies[1].per_inertia * axis];
        let yielding = axis.dot(turns[0]) + axis.dot(turns[1]);
        let mass = if yielding > 0.0 { 1.0 / yielding } else { 0.0 };
        Self { levers: [axis; 2], turns, given_mps: 0.0, mass, impulse }
    }

    /// Velocity of the first against the second along this direction.
    #[inline(always)]
    fn parting(&self, along: DVec3, a: &Motion, b: &Motion) -> f64 {
        along.dot(a.velocity_mps - b.velocity_mps) + self.levers[0].dot(a.spin_radps) - self.levers[1].dot(b.spin_radps)
            + self.given_mps
    }

    /// Changes the impulse, and the bodies by the change.
    #[inline(always)]
    fn set(&mut self, total: f64, along: DVec3, a: &mut Motion, b: &mut Motion) {
        let change = total - self.impulse;
        self.impulse = total;
        self.push(change, along, a, b);
    }

    #[inline(always)]
    fn push(&self, impulse: f64, along: DVec3, a: &mut Motion, b: &mut Motion) {
        a.velocity_mps += along * (impulse * a.per_mass);
        a.spin_radps += self.turns[0] * impulse;
        b.velocity_mps -= along * (impulse * b.per_mass);
        b.spin_radps -= self.turns[1] * impulse;
    }
}

/// One spot to be solved.
#[derive(Debug, Clone, Copy)]
struct Row {
    normal: Hold,
    across: [Hold; 2],
    /// Gap at the start of the tick, m.
    gap_m: f64,
    /// Normal velocity before the contact, m/s.
    approach_mps: f64,
}

/// The spots of a patch.
#[derive(Debug, Clone, Copy)]
struct Block {
    movers: [u32; 2],
    normal: DVec3,
    tangents: [DVec3; 2],
    friction: f64,
    restitution: f64,
    /// How overlap is undone, between these two.
    soft: Soft,
    rows: (u32, u32),
}

/// A patch with all that matters to the solver.
pub(crate) struct Contact<'a> {
    /// The patch.
    pub(crate) patch: &'a Patch,
    /// The movers of both.
    pub(crate) movers: [u32; 2],
    /// Where the two parts are.
    pub(crate) poses: [Pose; 2],
    /// How the surfaces move on their bodies: velocity at the part's origin and spin, in the world.
    pub(crate) surfaces: [(DVec3, DVec3); 2],
    /// What counts between the two surfaces.
    pub(crate) surface: Surface,
}

/// Two bodies that are held together.
pub(crate) struct Joined {
    /// Where the point is that should be one, on each, m.
    pub(crate) points: [DVec3; 2],
    /// By how much the first is turned against the second, if it should not be, rad.
    pub(crate) turned: Option<DVec3>,
    /// Impulses at the last tick.
    pub(crate) impulses: [f64; 6],
}

/// A bond to be solved: three directions, and three axes if it does not turn.
#[derive(Debug, Clone, Copy)]
struct Grip {
    movers: [u32; 2],
    holds: [Hold; 6],
    /// How far each is off at the start of the tick, m or rad.
    off: [f64; 6],
    count: usize,
    soft: Soft,
}

/// The axes of the world.
const AXES: [DVec3; 3] = [DVec3::X, DVec3::Y, DVec3::Z];

impl Grip {
    /// The direction of hold number `at`: axes of turning have none.
    fn along(at: usize) -> DVec3 {
        AXES.get(at).copied().unwrap_or(DVec3::ZERO)
    }

    fn push(&self, a: &mut Motion, b: &mut Motion) {
        for (at, hold) in self.holds[..self.count].iter().enumerate() {
            hold.push(hold.impulse, Self::along(at), a, b);
        }
    }

    /// Pulls the two together, softly; or, with a rigid bond, only stops them from parting.
    fn pull(&mut self, a: &mut Motion, b: &mut Motion, soft: Soft) {
        for at in 0..self.count {
            let (along, hold) = (Self::along(at), &mut self.holds[at]);
            let parting = hold.parting(along, a, b) + soft.rate_per_s * self.off[at];
            let total = hold.impulse - hold.mass * soft.mass * parting - soft.impulse * hold.impulse;
            hold.set(total, along, a, b);
        }
    }
}

/// A spring and damper as a soft constraint: how fast overlap is undone, and which share of the impulse is kept.
#[derive(Debug, Clone, Copy)]
struct Soft {
    rate_per_s: f64,
    mass: f64,
    impulse: f64,
}

impl Soft {
    fn new(hertz: f64, damping: f64, dt_s: f64) -> Self {
        let omega = std::f64::consts::TAU * hertz;
        let a = 2.0 * damping + dt_s * omega;
        let b = dt_s * omega * a;
        let keep = 1.0 / (1.0 + b);
        Self { rate_per_s: omega / a, mass: b * keep, impulse: keep }
    }

    const RIGID: Self = Self { rate_per_s: 0.0, mass: 1.0, impulse: 0.0 };
}

/// Rounds in which bodies are kept apart.
const ROUNDS: usize = 2;
/// Rounds in which what only undid overlap is let go.
const RELAXING_ROUNDS: usize = 1;
/// Overlap is undone like by a spring of this frequency, Hz: a body at rest sinks in by g/(2π f)², 17 µm.
const STIFFNESS_HZ: f64 = 120.0;
/// A spring must be slow against the ticks to be stable.
const STIFFNESS_PER_TICK: f64 = 0.125;
/// Ratio of damping: overlap is undone without swinging.
const DAMPING: f64 = 10.0;
/// Overlap is undone no faster than this, m/s.
const UNDO_MAX_MPS: f64 = 3.0;
/// Below this normal speed a contact does not bounce, so that things come to rest, m/s.
const BOUNCE_FROM_MPS: f64 = 0.05;

/// Solves contacts. Holds room only.
#[derive(Default)]
pub(crate) struct Solver {
    pub(crate) movers: Vec<Mover>,
    motions: Vec<Motion>,
    blocks: Vec<Block>,
    rows: Vec<Row>,
    grips: Vec<Grip>,
    dt_s: f64,
}

impl Solver {
    /// Forgets all bodies and contacts; mover 0 is what never moves.
    pub(crate) fn clear(&mut self, dt_s: f64) {
        self.dt_s = dt_s;
        self.movers.clear();
        self.movers.push(Mover::FIXED);
        self.blocks.clear();
        self.rows.clear();
        self.grips.clear();
    }

    /// Makes room for so many contacts.
    pub(crate) fn make_ready(&mut self, contacts: usize) {
        self.movers.reserve(contacts + 1);
        self.motions.reserve(contacts + 1);
        self.blocks.reserve(contacts);
        self.rows.reserve(4 * contacts);
    }

    /// Adds a body with its free motion.
    pub(crate) fn add_mover(&mut self, mover: Mover) -> u32 {
        self.movers.push(mover);
        self.movers.len() as u32 - 1
    }

    /// Adds a contact. Contacts are solved in this order.
    pub(crate) fn add(&mut self, contact: &Contact<'_>) {
        let Contact { patch, movers, poses, surfaces, .. } = contact;
        let dt_s = self.dt_s;
        let normal = patch.normal(&poses[1]);
        let tangents = tangents(normal);
        let [a, b] = movers.map(|mover| self.movers[mover as usize]);
        let first = self.rows.len() as u32;
        for spot in patch.spots() {
            let on_first = poses[0].orientation * spot.on_first + poses[0].position_m;
            let on_second = poses[1].orientation * spot.on_second + poses[1].position_m;
            let middle = 0.5 * (on_first + on_second);
            let arms = [middle - a.centre_m, middle - b.centre_m];
            let given = |side: usize| surfaces[side].0 + surfaces[side].1.cross(middle - poses[side].position_m);
            let given_mps = given(0) - given(1);
            let moved_m = a.moved_at(arms[0], dt_s) - b.moved_at(arms[1], dt_s) + given_mps * dt_s;
            let hold = |along: DVec3, impulse| Hold::new(along, arms, [&a, &b], given_mps.dot(along), impulse);
            self.rows.push(Row {
                normal: hold(normal, spot.impulse[0]),
                across: [hold(tangents[0], spot.impulse[1]), hold(tangents[1], spot.impulse[2])],
                gap_m: spot.gap_m - moved_m.dot(normal),
                approach_mps: (a.at(arms[0]) - b.at(arms[1]) + given_mps).dot(normal),
            });
        }
        let stiffness_hz = STIFFNESS_HZ.min(STIFFNESS_PER_TICK / self.dt_s);
        self.blocks.push(Block {
            movers: *movers,
            normal,
            tangents,
            friction: contact.surface.friction,
            restitution: contact.surface.restitution,
            soft: Soft::new(stiffness_hz, DAMPING, self.dt_s),
            rows: (first, self.rows.len() as u32),
        });
    }

    /// Adds a bond. Bonds are solved before contacts, in this order.
    pub(crate) fn join(&mut self, movers: [u32; 2], joined: &Joined) {
        let [a, b] = movers.map(|mover| self.movers[mover as usize]);
        let arms = [joined.points[0] - a.centre_m, joined.points[1] - b.centre_m];
        let gap_m =
            joined.points[0] - joined.points[1] - (a.moved_at(arms[0], self.dt_s) - b.moved_at(arms[1], self.dt_s));
        let turned = joined.turned.map(|turned| turned - (a.free.1 - b.free.1) * self.dt_s);
        let off_turn = turned.unwrap_or(DVec3::ZERO);
        let hold = |at: usize| match at {
            0..3 => Hold::new(AXES[at], arms, [&a, &b], 0.0, joined.impulses[at]),
            _ => Hold::turning(AXES[at - 3], [&a, &b], joined.impulses[at]),
        };
        self.grips.push(Grip {
            movers,
            holds: std::array::from_fn(hold),
            off: [gap_m.x, gap_m.y, gap_m.z, off_turn.x, off_turn.y, off_turn.z],
            count: if turned.is_some() { 6 } else { 3 },
            soft: Soft::new(2.0 * STIFFNESS_PER_TICK / self.dt_s, 1.0, self.dt_s),
        });
    }

    /// The impulses of bond number `at`.
    pub(crate) fn bond_impulses(&self, at: usize) -> [f64; 6] {
        self.grips[at].holds.map(|hold| hold.impulse)
    }

    fn each_grip(&mut self, mut visit: impl FnMut(&mut Grip, &mut Motion, &mut Motion)) {
        for grip in &mut self.grips {
            let [mut a, mut b] = grip.movers.map(|mover| self.motions[mover as usize]);
            visit(grip, &mut a, &mut b);
            self.motions[grip.movers[0] as usize] = a;
            self.motions[grip.movers[1] as usize] = b;
        }
    }

    /// Finds the impulses.
    pub(crate) fn solve(&mut self) {
        self.motions.clear();
        self.motions.extend(self.movers.iter().map(|mover| Motion {
            velocity_mps: mover.velocity_mps,
            spin_radps: mover.spin_radps,
            per_mass: mover.per_mass,
        }));
        self.each_grip(|grip, a, b| grip.push(a, b));
        self.each_block(|block, rows, a, b| rows.iter().for_each(|row| row.warm_start(block, a, b)));
        for _ in 0..ROUNDS {
            self.each_grip(|grip, a, b| grip.pull(a, b, grip.soft));
            self.keep_apart();
        }
        for (mover, motion) in self.movers.iter_mut().zip(&self.motions) {
            mover.apart = (motion.velocity_mps, motion.spin_radps);
        }
        for _ in 0..RELAXING_ROUNDS {
            self.each_grip(|grip, a, b| grip.pull(a, b, Soft::RIGID));
            self.relax();
        }
        self.bounce();
        for (mover, motion) in self.movers.iter_mut().zip(&self.motions) {
            (mover.velocity_mps, mover.spin_radps) = (motion.velocity_mps, motion.spin_radps);
        }
        for mover in self.grips.iter().flat_map(|grip| grip.movers) {
            self.movers[mover as usize].touched = true;
        }
        for block in &self.blocks {
            if self.rows[block.rows.0 as usize..block.rows.1 as usize].iter().any(|row| row.normal.impulse > 0.0) {
                block.movers.iter().for_each(|&mover| self.movers[mover as usize].touched = true);
            }
        }
    }

    /// The impulses of contact number `at`, spot by spot.
    pub(crate) fn impulses(&self, at: usize) -> impl Iterator<Item = [f64; 3]> + '_ {
        let (first, end) = self.blocks[at].rows;
        let impulses = |row: &Row| [row.normal.impulse, row.across[0].impulse, row.across[1].impulse];
        self.rows[first as usize..end as usize].iter().map(impulses)
    }

    /// The impulse on the first body of contact number `at` in the world, Ns.
    pub(crate) fn total(&self, at: usize) -> DVec3 {
        let block = &self.blocks[at];
        let impulse = |[n, t, u]: [f64; 3]| block.normal * n + block.tangents[0] * t + block.tangents[1] * u;
        self.impulses(at).fold(DVec3::ZERO, |sum, impulses| sum + impulse(impulses))
    }

    /// Keeps bodies apart; what matters more comes last.
    fn keep_apart(&mut self) {
        let per_s = 1.0 / self.dt_s;
        self.each_block(|block, rows, a, b| {
            rows.iter_mut().for_each(|row| row.stop_sliding(block, a, b));
            rows.iter_mut().for_each(|row| row.keep_apart(block, a, b, per_s));
        });
    }

    /// Where bodies touch they are at rest against each other at the end of the tick, or slide.
    fn relax(&mut self) {
        self.each_block(|block, rows, a, b| {
            for row in rows.iter_mut().filter(|row| row.normal.impulse > 0.0) {
                row.stop(block, a, b, 0.0, Soft::RIGID);
            }
            rows.iter_mut().for_each(|row| row.stop_sliding(block, a, b));
        });
    }

    fn bounce(&mut self) {
        self.each_block(|block, rows, a, b| {
            for row in rows.iter_mut().filter(|row| row.approach_mps < -BOUNCE_FROM_MPS && row.normal.impulse > 0.0) {
                row.stop(block, a, b, block.restitution * row.approach_mps, Soft::RIGID);
            }
        });
    }

    #[inline(always)]
    fn each_block(&mut self, mut visit: impl FnMut(&Block, &mut [Row], &mut Motion, &mut Motion)) {
        for block in &self.blocks {
            let [mut a, mut b] = block.movers.map(|mover| self.motions[mover as usize]);
            visit(block, &mut self.rows[block.rows.0 as usize..block.rows.1 as usize], &mut a, &mut b);
            self.motions[block.movers[0] as usize] = a;
            self.motions[block.movers[1] as usize] = b;
        }
    }
}

impl Row {
    /// Begins with the impulses of the last tick.
    fn warm_start(&self, block: &Block, a: &mut Motion, b: &mut Motion) {
        self.normal.push(self.normal.impulse, block.normal, a, b);
        for (hold, along) in self.across.iter().zip(block.tangents) {
            hold.push(hold.impulse, along, a, b);
        }
    }

    /// No overlap at the end of the tick: a gap may close, an overlap is undone softly.
    #[inline(always)]
    fn keep_apart(&mut self, block: &Block, a: &mut Motion, b: &mut Motion, per_s: f64) {
        if self.gap_m > 0.0 {
            self.stop(block, a, b, self.gap_m * per_s, Soft::RIGID);
        } else {
            let bias_mps = (block.soft.rate_per_s * self.gap_m).max(-UNDO_MAX_MPS);
            self.stop(block, a, b, bias_mps, block.soft);
        }
    }

    /// The impulse after which the spots part at `-bias` or faster.
    #[inline(always)]
    fn stop(&mut self, block: &Block, a: &mut Motion, b: &mut Motion, bias_mps: f64, soft: Soft) {
        let hold = &mut self.normal;
        let parting_mps = hold.parting(block.normal, a, b);
        let wanted = -hold.mass * soft.mass * (parting_mps + bias_mps) - soft.impulse * hold.impulse;
        hold.set((hold.impulse + wanted).max(0.0), block.normal, a, b);
    }

    /// Coulomb friction: no sliding, unless the cone is left.
    #[inline(always)]
    fn stop_sliding(&mut self, block: &Block, a: &mut Motion, b: &mut Motion) {
        let [t, u] = &mut self.across;
        let wanted = [
            t.impulse - t.mass * t.parting(block.tangents[0], a, b),
            u.impulse - u.mass * u.parting(block.tangents[1], a, b),
        ];
        let most = block.friction * self.normal.impulse;
        let square = wanted[0] * wanted[0] + wanted[1] * wanted[1];
        let share = if square > most * most { most / square.sqrt() } else { 1.0 };
        t.set(wanted[0] * share, block.tangents[0], a, b);
        u.set(wanted[1] * share, block.tangents[1], a, b);
    }
}

/// Two directions across a normal (T. Duff et al., *Building an Orthonormal Basis, Revisited*, 2017).
fn tangents(normal: DVec3) -> [DVec3; 2] {
    let sign = 1.0_f64.copysign(normal.z);
    let a = -1.0 / (sign + normal.z);
    let b = normal.x * normal.y * a;
    [
        DVec3::new(1.0 + sign * normal.x * normal.x * a, sign * b, -sign * normal.x),
        DVec3::new(b, sign + normal.y * normal.y * a, -normal.y),
    ]
}

/// `orientation` after a small turn by a vector in the world, rad.
pub(crate) fn turned(orientation: DQuat, by_rad: DVec3) -> DQuat {
    let half = 0.5 * by_rad;
    let turn = DQuat::from_xyzw(half.x, half.y, half.z, 1.0) * orientation;
    turn.normalize()
}
