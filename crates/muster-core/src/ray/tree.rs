//! A hierarchy of boxes, eight children to a node, so that one ray (or one bundle) is tested against eight boxes at once.
//! It knows boxes and numbers, not what is inside. Contacts search it by box, rays by walking it front to back.
//!
//! Built by the surface area heuristic in bins (MacDonald and Booth 1990; Wald 2007) as a binary tree whose largest nodes are
//! then opened until each has eight children (Wald, Benthin and Boulos 2008), or, where everything moves, by sorting along
//! a Morton curve (Lauterbach et al. 2009).

use super::wide::{WIDTH, Wide};

/// A box with edges along the axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) low: [f32; 3],
    pub(crate) high: [f32; 3],
}

impl Bounds {
    pub(crate) const EMPTY: Self = Self { low: [f32::INFINITY; 3], high: [f32::NEG_INFINITY; 3] };

    #[inline(always)]
    pub(crate) fn with(mut self, other: &Self) -> Self {
        for axis in 0..3 {
            self.low[axis] = self.low[axis].min(other.low[axis]);
            self.high[axis] = self.high[axis].max(other.high[axis]);
        }
        self
    }

    #[inline(always)]
    fn half_area(&self) -> f32 {
        let [x, y, z] = [0, 1, 2].map(|axis| (self.high[axis] - self.low[axis]).max(0.0));
        x * y + y * z + z * x
    }

    #[inline(always)]
    fn centre(&self, axis: usize) -> f32 {
        0.5 * (self.low[axis] + self.high[axis])
    }
}

/// Eight boxes as columns, and what is in them.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Node {
    /// Lowest corners, then highest: x, y, z each.
    planes: [[f32; WIDTH]; 6],
    /// A node, or a leaf if [`LEAF`] is set.
    child: [u32; WIDTH],
}

const LEAF: u32 = 1 << 31;
/// Where the highest corners begin.
const HIGH: usize = 3;

const NOWHERE: [[f32; WIDTH]; 6] = {
    let (low, high) = ([f32::INFINITY; WIDTH], [f32::NEG_INFINITY; WIDTH]);
    [low, low, low, high, high, high]
};

impl Node {
    /// No child: boxes that nothing meets.
    const EMPTY: Self = Self { planes: NOWHERE, child: [LEAF; WIDTH] };

    fn set(&mut self, lane: usize, bounds: &Bounds, child: u32) {
        for axis in 0..3 {
            self.planes[axis][lane] = bounds.low[axis];
            self.planes[HIGH + axis][lane] = bounds.high[axis];
        }
        self.child[lane] = child;
    }
}

/// The hierarchy. Leaves are numbers whose meaning is the owner's.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    /// Room to build in.
    keys: Vec<(u32, u32)>,
    spare: Vec<(u32, u32)>,
    level: Vec<(Bounds, u32)>,
}

/// Room for a walk: a tree that needs more is built anew, balanced.
const STACK: usize = 56;
/// From here on binary nodes are halved, so that no input makes a deep tree.
const DEPTH_MAX: usize = 48;
const BINS: usize = 24;

impl Tree {
    /// A tree for what stands still. At most `leaf_max` items share a leaf; `leaf` is told each leaf's items and numbers it.
    pub(crate) fn new(items: &[Bounds], leaf_max: usize, mut leaf: impl FnMut(&[u32]) -> u32) -> Self {
        let mut tree = Self::default();
        if items.is_empty() {
            return tree;
        }
        let mut order: Vec<u32> = (0..items.len() as u32).collect();
        let mut binary = Binary { items, nodes: Vec::new(), leaf_max, balanced: false };
        binary.split(&mut order, 0, 0);
        if binary.walk_room(0) > STACK {
            binary = Binary { items, nodes: Vec::new(), leaf_max, balanced: true };
            binary.split(&mut order, 0, 0);
        }
        tree.nodes.push(Node::EMPTY);
        tree.widen(&binary, &order, (0, 0), &mut leaf);
        tree
    }

    /// Opens a binary node into the wide node at a place.
    fn widen(
        &mut self,
        binary: &Binary<'_>,
        order: &[u32],
        (from, to): (usize, usize),
        leaf: &mut impl FnMut(&[u32]) -> u32,
    ) {
        let (open, count) = binary.opened(from);
        for (lane, &at) in open[..count].iter().enumerate() {
            let node = &binary.nodes[at];
            let child = match node.inside {
                Inside::Items(first, end) => LEAF | leaf(&order[first..end]),
                Inside::Two(..) => {
                    self.nodes.push(Node::EMPTY);
                    self.nodes.len() as u32 - 1
                }
            };
            self.nodes[to].set(lane, &node.bounds, child);
            if child & LEAF == 0 {
                self.widen(binary, order, (at, child as usize), leaf);
            }
        }
    }

    /// Builds anew for items that move, one to a leaf, without allocating once there is room. Neighbours on a Morton curve
    /// share a node.
    pub(crate) fn rebuild(&mut self, items: &[Bounds]) {
        self.nodes.clear();
        if items.is_empty() {
            return;
        }
        let all = items.iter().fold(Bounds::EMPTY, |all, item| all.with(item));
        let scale = [0, 1, 2].map(|axis| 1023.0 / (all.high[axis] - all.low[axis]).max(1e-6));
        self.keys.clear();
        self.keys.extend(items.iter().enumerate().map(|(at, item)| {
            let cell = |axis: usize| spread(((item.centre(axis) - all.low[axis]) * scale[axis]) as u32);
            (cell(0) | cell(1) << 1 | cell(2) << 2, at as u32)
        }));
        sort_by_radix(&mut self.keys, &mut self.spare);
        self.level.clear();
        self.level.extend(self.keys.iter().map(|&(_, at)| (items[at as usize], LEAF | at)));
        // the root comes first, so levels are counted before they are filled
        let mut sizes = [0; 12];
        let (mut levels, mut size) = (0, items.len());
        while levels == 0 || size > 1 {
            size = size.div_ceil(WIDTH);
            sizes[levels] = size;
            levels += 1;
        }
        self.nodes.resize(sizes[..levels].iter().sum(), Node::EMPTY);
        for level in 0..levels {
            let first: usize = sizes[level + 1..levels].iter().sum();
            for at in 0..sizes[level] {
                let children = at * WIDTH..self.level.len().min((at + 1) * WIDTH);
                let mut bounds = Bounds::EMPTY;
                for (lane, (child, number)) in self.level[children].iter().enumerate() {
                    self.nodes[first + at].set(lane, child, *number);
                    bounds = bounds.with(child);
                }
                // what is written has been read
                self.level[at] = (bounds, (first + at) as u32);
            }
            self.level.truncate(sizes[level]);
        }
    }

    /// True if there is nothing in it.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Calls `found` with the leaves whose boxes meet a box.
    pub(crate) fn meeting(&self, bounds: &Bounds, mut found: impl FnMut(u32)) {
        let mut stack = [0_u32; STACK];
        let mut top = usize::from(!self.nodes.is_empty());
        while top > 0 {
            top -= 1;
            let node = &self.nodes[stack[top] as usize];
            for lane in 0..WIDTH {
                let apart = (0..3).any(|axis| {
                    node.planes[axis][lane] > bounds.high[axis] || node.planes[HIGH + axis][lane] < bounds.low[axis]
                });
                match node.child[lane] {
                    _ if apart => {}
                    leaf if leaf & LEAF != 0 => found(leaf & !LEAF),
                    child => {
                        stack[top] = child;
                        top += 1;
                    }
                }
            }
        }
    }

    /// Walks front to back along a beam. `visit` is told leaves that it may meet before `limit` and returns the limit from
    /// then on.
    #[inline(always)]
    pub(crate) fn walk<W: Wide<Real = f32>>(
        &self,
        token: W::Token,
        beam: &Beam,
        stack: &mut Stack,
        mut limit: f32,
        mut visit: impl FnMut(u32, f32, &mut Stack) -> f32,
    ) {
        if self.nodes.is_empty() {
            return;
        }
        let bottom = stack.top;
        let mut top = bottom;
        let mut at = 0_u32;
        loop {
            if at & LEAF != 0 {
                stack.top = top;
                limit = visit(at & !LEAF, limit, stack);
            } else {
                let node = &self.nodes[at as usize];
                let (near, mut met) = beam.meets::<W>(token, node, limit);
                if met != 0 {
                    let first = met.trailing_zeros() as usize & 7;
                    met &= met - 1;
                    if met == 0 {
                        at = node.child[first];
                        continue;
                    }
                    let mut nears = [0.0; WIDTH];
                    near.store(&mut nears);
                    let base = top;
                    stack.all[top] = (nears[first], node.child[first]);
                    top += 1;
                    while met != 0 {
                        let lane = met.trailing_zeros() as usize & 7;
                        met &= met - 1;
                        // nearest on top
                        let mut place = top;
                        while place > base && stack.all[place - 1].0 < nears[lane] {
                            stack.all[place] = stack.all[place - 1];
                            place -= 1;
                        }
                        stack.all[place] = (nears[lane], node.child[lane]);
                        top += 1;
                    }
                }
            }
            loop {
                if top == bottom {
                    stack.top = bottom;
                    return;
                }
                top -= 1;
                if stack.all[top].0 <= limit {
                    at = stack.all[top].1;
                    break;
                }
            }
        }
    }
}

/// Nodes still to be walked, and how near they are. A walk within a walk starts where the outer one is.
pub(crate) struct Stack {
    all: [(f32, u32); 2 * STACK],
    top: usize,
}

impl Stack {
    pub(crate) const NEW: Self = Self { all: [(0.0, 0); 2 * STACK], top: 0 };
}

/// The bounds of rays: between which origins and directions they lie, along each axis (interval arithmetic after Reshetov,
/// Soupikov and Hurley 2005). One ray is a beam without width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beam {
    /// Along each axis the plane of a box at which a beam enters: its number, and the rays that come there first.
    enter: [(usize, f32, f32); 3],
    /// The plane at which it leaves, and the rays that come there last.
    leave: [(usize, f32, f32); 3],
    /// Axes along which some rays run forth and some back: there is no plane at which they leave.
    both: [bool; 3],
    any_both: bool,
    /// What is nearer does not count.
    min: f32,
}

/// What stands for a direction component of zero.
const TINY: f32 = 1e-18;
/// Makes up for rounding in the reciprocals.
const SLACK: f32 = 1.0 + 4e-7;

impl Beam {
    /// The beam of rays whose origins and directions lie between these.
    #[inline(always)]
    pub(crate) fn new(from: &Bounds, directions: &Bounds, min: f32) -> Self {
        let none = [(0, 0.0, 0.0); 3];
        let mut beam = Self { enter: none, leave: none, both: [false; 3], any_both: false, min };
        for axis in 0..3 {
            let (low, high) = (directions.low[axis], directions.high[axis]);
            let forth = low > TINY;
            beam.both[axis] = !forth && high >= -TINY;
            beam.any_both |= beam.both[axis];
            // what could reach the low plane of a box soonest, and its high plane
            let to_low = (axis, from.high[axis], 1.0 / if beam.both[axis] { high.max(TINY) } else { high });
            let to_high = (HIGH + axis, from.low[axis], 1.0 / if beam.both[axis] { low.min(-TINY) } else { low });
            (beam.enter[axis], beam.leave[axis]) = if forth { (to_low, to_high) } else { (to_high, to_low) };
            if !beam.both[axis] {
                beam.leave[axis].2 *= SLACK;
            }
        }
        beam
    }

    /// The beam of one ray.
    #[inline(always)]
    pub(crate) fn ray(from: [f32; 3], direction: [f32; 3], min: f32) -> Self {
        let none = [(0, 0.0, 0.0); 3];
        let mut beam = Self { enter: none, leave: none, both: [false; 3], any_both: false, min };
        for axis in 0..3 {
            let forth = direction[axis] > TINY;
            // a ray within a plane runs both ways, as little as is possible
            beam.both[axis] = !forth && direction[axis] >= -TINY;
            beam.any_both |= beam.both[axis];
            let (per_low, per_high) = match beam.both[axis] {
                true => (1.0 / TINY, -1.0 / TINY),
                false => (1.0 / direction[axis], 1.0 / direction[axis]),
            };
            let (to_low, to_high) = ((axis, from[axis], per_low), (HIGH + axis, from[axis], per_high));
            (beam.enter[axis], beam.leave[axis]) = if forth { (to_low, to_high) } else { (to_high, to_low) };
            if !beam.both[axis] {
                beam.leave[axis].2 *= SLACK;
            }
        }
        beam
    }

    /// When some ray reaches the planes of eight boxes.
    #[inline(always)]
    fn reach<W: Wide<Real = f32>>(token: W::Token, node: &Node, (plane, from, per): (usize, f32, f32)) -> W {
        (W::load(token, &node.planes[plane]) - W::splat(token, from)) * W::splat(token, per)
    }

    /// Where the beam enters each of eight boxes, and which of them it may meet before the limit.
    #[inline(always)]
    fn meets<W: Wide<Real = f32>>(&self, token: W::Token, node: &Node, limit: f32) -> (W, u32) {
        let [x, y, z] = self.enter;
        let across = Self::reach::<W>(token, node, x).max(Self::reach::<W>(token, node, y));
        let mut enter = across.max(Self::reach::<W>(token, node, z).max(W::splat(token, self.min)));
        let mut leave = W::splat(token, limit);
        if self.any_both {
            for axis in 0..3 {
                let reached = Self::reach::<W>(token, node, self.leave[axis]);
                if self.both[axis] {
                    enter = reached.max(enter);
                } else {
                    leave = reached.min(leave);
                }
            }
        } else {
            let [x, y, z] = self.leave;
            let across = Self::reach::<W>(token, node, x).min(Self::reach::<W>(token, node, y));
            leave = across.min(Self::reach::<W>(token, node, z).min(leave));
        }
        (enter, enter.bits(enter.le(leave)))
    }
}

/// Puts two zeros between the ten lowest bits.
#[inline(always)]
fn spread(value: u32) -> u32 {
    let value = value & 0x3ff;
    let value = (value | value << 16) & 0x0300_00ff;
    let value = (value | value << 8) & 0x0300_f00f;
    let value = (value | value << 4) & 0x030c_30c3;
    (value | value << 2) & 0x0924_9249
}

/// Sorts by key, stable.
fn sort_by_radix(keys: &mut Vec<(u32, u32)>, spare: &mut Vec<(u32, u32)>) {
    const DIGIT: u32 = 10;
    spare.clear();
    spare.resize(keys.len(), (0, 0));
    for pass in 0..3 {
        let digit = |key: u32| (key >> (pass * DIGIT)) as usize & ((1 << DIGIT) - 1);
        let mut starts = [0_u32; 1 << DIGIT];
        keys.iter().for_each(|&(key, _)| starts[digit(key)] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += std::mem::replace(start, sum);
        }
        for &entry in keys.iter() {
            let start = &mut starts[digit(entry.0)];
            spare[*start as usize] = entry;
            *start += 1;
        }
        std::mem::swap(keys, spare);
    }
}

/// What is in a binary node.
#[derive(Clone, Copy)]
enum Inside {
    Two(usize, usize),
    /// Items by their places in the order.
    Items(usize, usize),
}

struct BinaryNode {
    bounds: Bounds,
    count: usize,
    inside: Inside,
}

/// A binary tree under construction.
struct Binary<'a> {
    items: &'a [Bounds],
    nodes: Vec<BinaryNode>,
    leaf_max: usize,
    /// Halved by count instead of cut where it is best.
    balanced: bool,
}

impl Binary<'_> {
    /// A node opened until it has eight children, or none that can be opened: largest first.
    fn opened(&self, from: usize) -> ([usize; WIDTH], usize) {
        let mut open = [from; WIDTH];
        let mut count = 1;
        while count < WIDTH {
            let size = |at: &usize| match (&self.nodes[open[*at]], self.balanced) {
                (node, false) => node.bounds.half_area(),
                (node, true) => node.count as f32,
            };
            let inner = |&at: &usize| matches!(self.nodes[open[at]].inside, Inside::Two(..));
            let Some(largest) = (0..count).filter(inner).max_by(|a, b| size(a).total_cmp(&size(b))) else { break };
            let Inside::Two(left, right) = self.nodes[open[largest]].inside else { break };
            open[largest] = left;
            open[count] = right;
            count += 1;
        }
        (open, count)
    }

    /// How many nodes a walk may have to remember below a node.
    fn walk_room(&self, from: usize) -> usize {
        let (open, count) = self.opened(from);
        let inner = open[..count].iter().filter(|&&at| matches!(self.nodes[at].inside, Inside::Two(..)));
        count - 1 + inner.map(|&at| self.walk_room(at)).max().unwrap_or(1)
    }

    /// Makes a node of these items, whose places start at `first`; returns its number.
    fn split(&mut self, order: &mut [u32], first: usize, depth: usize) -> usize {
        let bounds = order.iter().fold(Bounds::EMPTY, |all, &item| all.with(&self.items[item as usize]));
        let at = self.nodes.len();
        self.nodes.push(BinaryNode { bounds, count: order.len(), inside: Inside::Items(first, first + order.len()) });
        if order.len() <= 1 {
            return at;
        }
        let cut = self.best_cut(order, &bounds, depth);
        let Some(middle) = cut else { return at };
        let (left, right) = order.split_at_mut(middle);
        let left = self.split(left, first, depth + 1);
        let right = self.split(right, first + middle, depth + 1);
        self.nodes[at].inside = Inside::Two(left, right);
        at
    }

    /// Sorts items to both sides of the best cut and says where it is; `None` if they are best left together.
    fn best_cut(&self, order: &mut [u32], bounds: &Bounds, depth: usize) -> Option<usize> {
        let centres = order.iter().fold(Bounds::EMPTY, |all, &item| {
            let centre = [0, 1, 2].map(|axis| self.items[item as usize].centre(axis));
            all.with(&Bounds { low: centre, high: centre })
        });
        let halve = |order: &mut [u32]| (order.len() > self.leaf_max).then_some(order.len() / 2);
        if self.balanced || depth >= DEPTH_MAX {
            return halve(order);
        }
        let mut best: Option<(f32, usize, usize)> = None;
        for axis in 0..3 {
            let found = self.best_bin(order, axis, &centres);
            if let Some((cost, bin)) = found
                && best.is_none_or(|(least, ..)| cost < least)
            {
                best = Some((cost, axis, bin));
            }
        }
        let Some((cost, axis, bin)) = best else { return halve(order) };
        // two more boxes to test against what is saved by not testing all items
        let together = self.leaf_cost(order.len());
        if order.len() <= self.leaf_max && WALK_COST + cost / bounds.half_area().max(f32::MIN_POSITIVE) >= together {
            return None;
        }
        let bin_of = bins(&centres, axis);
        let middle = partition(order, |&item| bin_of(self.items[item as usize].centre(axis)) <= bin);
        Some(middle)
    }

    fn leaf_cost(&self, items: usize) -> f32 {
        if self.leaf_max == 1 { items as f32 } else { BLOCK_COST + ITEM_COST * items as f32 }
    }

    /// The cheapest cut along an axis: the sum of areas times costs on both sides, and the last bin of the left side.
    fn best_bin(&self, order: &[u32], axis: usize, centres: &Bounds) -> Option<(f32, usize)> {
        if centres.high[axis] <= centres.low[axis] {
            return None;
        }
        let bin_of = bins(centres, axis);
        let mut counts = [0_usize; BINS];
        let mut boxes = [Bounds::EMPTY; BINS];
        for &item in order {
            let item = &self.items[item as usize];
            let bin = bin_of(item.centre(axis));
            counts[bin] += 1;
            boxes[bin] = boxes[bin].with(item);
        }
        let mut right = [(0.0_f32, 0_usize); BINS];
        let (mut bounds, mut count) = (Bounds::EMPTY, 0);
        for bin in (1..BINS).rev() {
            bounds = bounds.with(&boxes[bin]);
            count += counts[bin];
            right[bin] = (bounds.half_area(), count);
        }
        let (mut bounds, mut count) = (Bounds::EMPTY, 0);
        let mut best: Option<(f32, usize)> = None;
        for bin in 0..BINS - 1 {
            bounds = bounds.with(&boxes[bin]);
            count += counts[bin];
            let (right_area, right_count) = right[bin + 1];
            if count == 0 || right_count == 0 {
                continue;
            }
            let cost = bounds.half_area() * self.leaf_cost(count) + right_area * self.leaf_cost(right_count);
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, bin));
            }
        }
        best
    }
}

/// Costs of opening a node, of testing a block of items, and of each item that survives that.
const WALK_COST: f32 = 2.0;
const BLOCK_COST: f32 = 1.0;
const ITEM_COST: f32 = 0.3;

fn bins(centres: &Bounds, axis: usize) -> impl Fn(f32) -> usize {
    let low = centres.low[axis];
    let scale = BINS as f32 / (centres.high[axis] - low);
    move |centre| (((centre - low) * scale) as usize).min(BINS - 1)
}

/// Moves those that belong to the left to the front, keeping the order on both sides.
fn partition(order: &mut [u32], left: impl Fn(&u32) -> bool) -> usize {
    let right: Vec<u32> = order.iter().copied().filter(|item| !left(item)).collect();
    let mut middle = 0;
    for at in 0..order.len() {
        if left(&order[at]) {
            order[middle] = order[at];
            middle += 1;
        }
    }
    order[middle..].copy_from_slice(&right);
    middle
}
