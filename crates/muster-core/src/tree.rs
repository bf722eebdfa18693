//! Robots as trees of six kinds of blocks (M. Friedmann, K. Petersen and O. von Stryk, *MuRoSimF*, section 2.1): the
//! base, forks, fixed translations and rotations for what is rigid, variable rotations and translations for joints. Forks
//! are binary: of n branches, each but the last hangs on a fork of its own.
//!
//! A [`Tree`] is another view of a robot's [`Frame`]s, made from them and back, or built block by block:
//!
//! ```
//! use glam::DVec3;
//! use muster_core::joints::Servo;
//! use muster_core::tree::Tree;
//!
//! // a head and an arm; blocks come depth-first
//! let tree = Tree::base()
//!     .fork()
//!     .translate(DVec3::Z * 0.5)
//!     .turn("neck", DVec3::Z, Servo::FREE)
//!     .end()
//!     .translate(DVec3::new(0.0, 0.2, 0.4))
//!     .turn("shoulder", DVec3::Y, Servo::FREE)
//!     .constant("mass_kg", 1.5)
//!     .translate(DVec3::Z * -0.3)
//!     .name("hand")
//!     .build()?;
//! assert_eq!(tree.frames().len(), 3);
//! # Ok::<(), String>(())
//! ```

use crate::component::Pose;
use crate::contact::Part;
use crate::joints::{Frame, Joint, Servo, joint_number};
use crate::math;
use glam::{DQuat, DVec3};
use std::fmt;

/// One block of a robot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Block {
    /// Where the tree begins.
    Base,
    /// Where it goes on in two branches.
    Fork,
    /// Something rigid: a shift, m.
    FixedTranslation(DVec3),
    /// Something rigid: a turn.
    FixedRotation(DQuat),
    /// A joint that turns about an axis.
    VariableRotation {
        /// The axis, of unit length.
        axis: DVec3,
        /// Its limits.
        servo: Servo,
        /// Its number among the robot's joints.
        joint: usize,
    },
    /// A joint that slides along an axis.
    VariableTranslation {
        /// The axis, of unit length.
        axis: DVec3,
        /// Its limits.
        servo: Servo,
        /// Its number among the robot's joints.
        joint: usize,
    },
}

/// A block in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it is.
    pub block: Block,
    /// What it hangs on; `None` for the base.
    pub parent: Option<usize>,
    /// The frame that ends with it, if one does.
    pub name: Option<String>,
    /// What does not change about the part of the robot that it carries.
    pub constants: Vec<(String, f64)>,
}

/// A robot as blocks, depth-first: whatever hangs on a block comes after it, one branch of a fork after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    /// Begins a tree.
    pub fn base() -> TreeBuilder {
        TreeBuilder { nodes: vec![Node::new(Block::Base, None)], at: 0, open: Vec::new(), joints: 0, wrong: None }
    }

    /// The tree of a robot's frames. Parts give their frames constants: friction, restitution and radius.
    pub fn of(frames: &[Frame], parts: &[Part]) -> Self {
        let mut tree = Self { nodes: vec![Node::new(Block::Base, None)] };
        tree.grow((frames, parts), None, 0);
        tree
    }

    /// Hangs all children of a frame on a block, behind forks if there are several.
    fn grow(&mut self, robot: (&[Frame], &[Part]), frame: Option<usize>, mut at: usize) {
        let (frames, parts) = robot;
        for part in parts.iter().filter(|part| part.frame == frame) {
            let constants = [
                ("friction", part.surface.friction),
                ("restitution", part.surface.restitution),
                ("radius_m", part.solid.radius_m()),
            ];
            let named = constants.map(|(name, value)| (format!("{}.{name}", part.name), value));
            self.nodes[at].constants.extend(named);
        }
        let children: Vec<usize> = (0..frames.len()).filter(|&child| frames[child].parent == frame).collect();
        for (number, &child) in children.iter().enumerate() {
            if number + 1 < children.len() {
                at = self.push(Block::Fork, at);
            }
            let hung = self.hang(frames, child, at);
            self.grow(robot, Some(child), hung);
        }
    }

    /// Hangs one frame on a block: its blocks, of which the last has its name.
    fn hang(&mut self, frames: &[Frame], frame: usize, mut at: usize) -> usize {
        let Frame { name, pose, joint, servo, .. } = &frames[frame];
        let (shifted, turned) = (pose.position_m != DVec3::ZERO, pose.orientation != DQuat::IDENTITY);
        if shifted || (!turned && *joint == Joint::Fixed) {
            at = self.push(Block::FixedTranslation(pose.position_m), at);
        }
        if turned {
            at = self.push(Block::FixedRotation(pose.orientation), at);
        }
        let number = joint_number(frames, name).unwrap_or_default();
        match *joint {
            Joint::Fixed => (),
            Joint::Turn(axis) => at = self.push(Block::VariableRotation { axis, servo: *servo, joint: number }, at),
            Joint::Slide(axis) => at = self.push(Block::VariableTranslation { axis, servo: *servo, joint: number }, at),
        }
        self.nodes[at].name = Some(name.clone());
        at
    }

    fn push(&mut self, block: Block, parent: usize) -> usize {
        self.nodes.push(Node::new(block, Some(parent)));
        self.nodes.len() - 1
    }

    /// The blocks, depth-first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The block that a frame ends with.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name.as_deref() == Some(name))
    }

    /// The frames of this tree, in the order of its blocks.
    pub fn frames(&self) -> Vec<Frame> {
        let mut frames: Vec<Frame> = Vec::new();
        // of each block: the last frame before or at it, and what is rigid since
        let mut since: Vec<(Option<usize>, Pose)> = Vec::new();
        for node in &self.nodes {
            let (parent, rigid) = node.parent.map_or((None, Pose::IDENTITY), |parent| since[parent]);
            let (pose, joint, servo) = match node.block {
                Block::VariableRotation { axis, servo, .. } => (rigid, Joint::Turn(axis), servo),
                Block::VariableTranslation { axis, servo, .. } => (rigid, Joint::Slide(axis), servo),
                block => (rigid.then(&block.pose(0.0)), Joint::Fixed, Servo::FREE),
            };
            since.push(match &node.name {
                Some(name) => {
                    frames.push(Frame { name: name.clone(), parent, pose, joint, servo });
                    (Some(frames.len() - 1), Pose::IDENTITY)
                }
                None => (parent, pose),
            });
        }
        frames
    }

    /// Where every block ends on the robot: direct kinematics. The position of each joint comes from `joint`, by its
    /// number.
    pub fn poses(&self, joint: impl Fn(usize) -> f64) -> Vec<Pose> {
        let mut poses: Vec<Pose> = Vec::new();
        for node in &self.nodes {
            let own = node.block.pose(node.block.joint().map_or(0.0, &joint));
            poses.push(node.parent.map_or(own, |parent| poses[parent].then(&own)));
        }
        poses
    }
}

impl Node {
    fn new(block: Block, parent: Option<usize>) -> Self {
        Self { block, parent, name: None, constants: Vec::new() }
    }
}

impl Block {
    /// The number of its joint, if it is one.
    pub fn joint(&self) -> Option<usize> {
        match self {
            Self::VariableRotation { joint, .. } | Self::VariableTranslation { joint, .. } => Some(*joint),
            _ => None,
        }
    }

    /// What it does to a pose, with its joint at a position.
    fn pose(&self, position: f64) -> Pose {
        match *self {
            Self::Base | Self::Fork => Pose::IDENTITY,
            Self::FixedTranslation(shift) => Pose { position_m: shift, ..Pose::IDENTITY },
            Self::FixedRotation(turn) => Pose { orientation: turn, ..Pose::IDENTITY },
            Self::VariableRotation { axis, .. } => {
                Pose { orientation: math::quat_from_axis_angle(axis, position), ..Pose::IDENTITY }
            }
            Self::VariableTranslation { axis, .. } => Pose { position_m: axis * position, ..Pose::IDENTITY },
        }
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = |f: &mut fmt::Formatter<'_>, axis: DVec3, servo: &Servo, unit: &str, scale: f64| {
            write!(f, " {} {} {}", axis.x, axis.y, axis.z)?;
            if servo.lower.is_finite() || servo.upper.is_finite() {
                write!(f, ", {:.6} to {:.6} {unit}", servo.lower * scale, servo.upper * scale)?;
            }
            Ok(())
        };
        match self {
            Self::Base => write!(f, "base"),
            Self::Fork => write!(f, "fork"),
            Self::FixedTranslation(by) => write!(f, "fixed translation by {} {} {} m", by.x, by.y, by.z),
            Self::FixedRotation(turn) => {
                let (roll, pitch, yaw) = math::rpy_from_quat(*turn);
                let [roll, pitch, yaw] = [roll, pitch, yaw].map(f64::to_degrees);
                write!(f, "fixed rotation by {roll:.6} {pitch:.6} {yaw:.6} deg")
            }
            Self::VariableRotation { axis, servo, .. } => {
                write!(f, "variable rotation about")?;
                limits(f, *axis, servo, "deg", 1.0_f64.to_degrees())
            }
            Self::VariableTranslation { axis, servo, .. } => {
                write!(f, "variable translation along")?;
                limits(f, *axis, servo, "m", 1.0)
            }
        }
    }
}

impl fmt::Display for Tree {
    /// A block to a line; the first branch of a fork is indented, the second goes on below it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut depths: Vec<usize> = Vec::new();
        let mut branches = vec![0; self.nodes.len()];
        for node in &self.nodes {
            let depth = node.parent.map_or(0, |parent| {
                branches[parent] += 1;
                depths[parent] + usize::from(self.nodes[parent].block == Block::Fork && branches[parent] == 1)
            });
            depths.push(depth);
            write!(f, "{:indent$}{}", "", node.block, indent = 2 * depth)?;
            if let Some(name) = &node.name {
                write!(f, ": {name}")?;
            }
            for (name, value) in &node.constants {
                write!(f, ", {name} {value:.6}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Builds a [`Tree`] depth-first.
#[derive(Debug, Clone)]
pub struct TreeBuilder {
    nodes: Vec<Node>,
    /// What the next block hangs on.
    at: usize,
    /// Forks whose first branch is being built.
    open: Vec<usize>,
    joints: usize,
    /// The first mistake.
    wrong: Option<String>,
}

impl TreeBuilder {
    /// Something rigid: a shift, m.
    #[must_use]
    pub fn translate(self, by_m: DVec3) -> Self {
        self.push(Block::FixedTranslation(by_m))
    }

    /// Something rigid: a turn.
    #[must_use]
    pub fn rotate(self, turn: DQuat) -> Self {
        self.push(Block::FixedRotation(turn))
    }

    /// A joint that turns about an axis, and the frame of this name that it moves.
    #[must_use]
    pub fn turn(mut self, name: &str, axis: DVec3, servo: Servo) -> Self {
        self.joints += 1;
        let joint = self.joints - 1;
        self.push(Block::VariableRotation { axis, servo, joint }).name(name)
    }

    /// A joint that slides along an axis, and the frame of this name that it moves.
    #[must_use]
    pub fn slide(mut self, name: &str, axis: DVec3, servo: Servo) -> Self {
        self.joints += 1;
        let joint = self.joints - 1;
        self.push(Block::VariableTranslation { axis, servo, joint }).name(name)
    }

    /// Names the frame that ends with the last block.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        let taken = self.nodes.iter().any(|node| node.name.as_deref() == Some(name));
        match self.nodes[self.at].block {
            _ if taken => self.mistake(format!("found a second frame {name:?}, expected unique names")),
            Block::Base | Block::Fork => self.mistake(format!("found name {name:?} at a fork, expected it at a part")),
            _ => self.nodes[self.at].name = Some(name.to_owned()),
        }
        self
    }

    /// Adds a constant to what the last block carries.
    #[must_use]
    pub fn constant(mut self, name: &str, value: f64) -> Self {
        self.nodes[self.at].constants.push((name.to_owned(), value));
        self
    }

    /// Begins the first of two branches; [`end`](Self::end) ends it and begins the second.
    #[must_use]
    pub fn fork(self) -> Self {
        let mut forked = self.push(Block::Fork);
        forked.open.push(forked.at);
        forked
    }

    /// Ends the first branch of the last fork and begins the second.
    #[must_use]
    pub fn end(mut self) -> Self {
        match self.open.pop() {
            Some(fork) => self.at = fork,
            None => self.mistake("found an end, expected a fork whose first branch is open".to_owned()),
        }
        self
    }

    /// The tree, or the first mistake.
    pub fn build(self) -> Result<Tree, String> {
        let branches = |at: usize| self.nodes.iter().filter(|node| node.parent == Some(at)).count();
        let forks = (0..self.nodes.len()).filter(|&at| self.nodes[at].block == Block::Fork);
        let torn = forks.map(branches).find(|&branches| branches != 2);
        let torn = torn.map(|branches| format!("found a fork with {branches} branches, expected 2"));
        match self.wrong.or(torn) {
            Some(mistake) => Err(mistake),
            None => Ok(Tree { nodes: self.nodes }),
        }
    }

    fn push(mut self, block: Block) -> Self {
        self.nodes.push(Node::new(block, Some(self.at)));
        self.at = self.nodes.len() - 1;
        self
    }

    fn mistake(&mut self, mistake: String) {
        self.wrong.get_or_insert(mistake);
    }
}
