//! Robots as trees of six kinds of blocks, against yourdfpy: `data/kinematics.csv` holds frames, joints and poses of two
//! robots, computed from URDF with `data/kinematics.py`; `cargo xtask references` checks that yourdfpy still says so.

use glam::{DMat3, DQuat, DVec3};
use muster_core::component::Pose;
use muster_core::joints::{Frame, Joint, Servo, frame_motions, joint_number, jointed};
use muster_core::math;
use muster_core::tree::{Block, Tree};

const TABLE: &str = include_str!("data/kinematics.csv");

fn rows<'a>(what: &'a str, robot: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
    let lines = TABLE.lines().map(|line| line.split(',').collect::<Vec<_>>());
    lines.filter(move |row| row[0] == what && row[1] == robot).map(|row| row[2..].to_vec())
}

fn numbers(row: &[&str]) -> Vec<f64> {
    row.iter().map(|number| number.parse().expect("a number")).collect()
}

fn frames(robot: &str) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    for row in rows("frame", robot) {
        let n = numbers(&row[3..]);
        let axis = DVec3::from_slice(&n[6..]);
        frames.push(Frame {
            name: row[0].to_owned(),
            parent: frames.iter().position(|frame| frame.name == row[1]),
            pose: Pose { position_m: DVec3::from_slice(&n), orientation: math::quat_from_rpy(n[3], n[4], n[5]) },
            joint: match row[2] {
                "turn" => Joint::Turn(axis),
                "slide" => Joint::Slide(axis),
                _ => Joint::Fixed,
            },
            servo: Servo::FREE,
        });
    }
    frames
}

fn joints(robot: &str, frames: &[Frame], case: usize) -> Vec<f64> {
    let mut positions = vec![0.0; jointed(frames).count()];
    for row in rows("joint", robot).filter(|row| row[1] == case.to_string()) {
        positions[joint_number(frames, row[0]).expect("a joint")] = numbers(&row[2..])[0];
    }
    positions
}

/// How far a pose is from a row of twelve: rotation and shift, row by row.
fn error(pose: &Pose, n: &[f64]) -> f64 {
    let turn = DMat3::from_quat(pose.orientation).transpose().to_cols_array();
    let turned = (0..9).map(|at| (turn[at] - n[at / 3 * 4 + at % 3]).abs());
    let shift = (pose.position_m - DVec3::new(n[3], n[7], n[11])).length();
    turned.fold(shift, f64::max)
}

// D06
#[test]
fn direct_kinematics_is_that_of_a_solver_for_urdf() {
    for robot in ["two_arms", "random"] {
        let frames = frames(robot);
        let tree = Tree::of(&frames, &[]);
        for case in 0..8 {
            let positions = joints(robot, &frames, case);
            let poses = tree.poses(|joint| positions[joint]);
            let mut motions = Vec::new();
            frame_motions(&frames, |joint| (positions[joint], 0.0), &mut motions);
            let mut compared = 0;
            for row in rows("pose", robot).filter(|row| row[1] == case.to_string()) {
                let n = numbers(&row[2..]);
                let at = tree.find(row[0]).expect("a frame");
                assert!(error(&poses[at], &n) < 1e-12, "{robot} {}: {}", row[0], error(&poses[at], &n));
                let frame = frames.iter().position(|frame| frame.name == row[0]).expect("a frame");
                assert!(error(&motions[frame].pose, &n) < 1e-12, "{robot} {}", row[0]);
                compared += 1;
            }
            assert_eq!(compared, frames.len());
        }
    }
}

/// How many branches each fork has, after checking that blocks come depth-first.
fn check_order(tree: &Tree) -> Vec<usize> {
    let nodes = tree.nodes();
    let mut way = vec![0];
    let mut branches = vec![0; nodes.len()];
    assert_eq!(nodes[0].block, Block::Base);
    for (at, node) in nodes.iter().enumerate().skip(1) {
        let parent = node.parent.expect("something it hangs on");
        // depth-first: what it hangs on is on the way from the base to the block before it
        while way.last() != Some(&parent) {
            way.pop().expect("depth-first");
        }
        branches[parent] += 1;
        way.push(at);
    }
    let is_fork = |at: &usize| nodes[*at].block == Block::Fork;
    assert!((0..nodes.len()).filter(|at| !is_fork(at)).all(|at| branches[at] <= 1), "only forks have two branches");
    (0..nodes.len()).filter(is_fork).map(|at| branches[at]).collect()
}

// D07
#[test]
fn five_children_hang_on_four_binary_forks() {
    let frames = frames("random");
    let children = |parent: Option<usize>| frames.iter().filter(|frame| frame.parent == parent).count();
    assert!(children(Some(0)) >= 5);
    let forks = check_order(&Tree::of(&frames, &[]));
    assert!(forks.iter().all(|&branches| branches == 2));
    let needed: usize = (0..frames.len()).map(|at| children(Some(at)).saturating_sub(1)).sum();
    assert_eq!(forks.len(), needed);
    let star: Vec<Frame> =
        (0..6).map(|at| Frame { parent: (at > 0).then_some(0), name: at.to_string(), ..frames[1].clone() }).collect();
    assert_eq!(check_order(&Tree::of(&star, &[])), [2; 4]);
}

#[test]
fn a_tree_of_frames_gives_the_frames_back() {
    for robot in ["two_arms", "random"] {
        let before = frames(robot);
        let after = Tree::of(&before, &[]).frames();
        assert_eq!(after.len(), before.len());
        for frame in &before {
            let back = after.iter().find(|back| back.name == frame.name).expect("the frame");
            let parent = |frames: &[Frame], of: &Frame| of.parent.map(|parent| frames[parent].name.clone());
            assert_eq!(parent(&after, back), parent(&before, frame));
            assert_eq!((back.joint, back.servo), (frame.joint, frame.servo));
            assert_eq!(back.pose.position_m, frame.pose.position_m);
            assert!((back.pose.orientation - frame.pose.orientation).length() < 1e-15);
        }
    }
}

// D08
#[test]
fn a_builder_makes_blocks_depth_first_with_their_constants() {
    let built = Tree::base()
        .translate(DVec3::Z)
        .turn("torso", DVec3::Z, Servo::FREE)
        .constant("mass_kg", 12.0)
        .fork()
        .turn("left", DVec3::Y, Servo::FREE)
        .constant("mass_kg", 2.0)
        .constant("length_m", 0.3)
        .end()
        .rotate(DQuat::IDENTITY)
        .slide("right", DVec3::X, Servo::FREE)
        .translate(DVec3::X * 0.1)
        .name("tip")
        .build()
        .expect("a tree");
    assert_eq!(check_order(&built), [2]);
    let kinds: Vec<String> = built
        .nodes()
        .iter()
        .map(|node| node.block.to_string().split(' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    let expected = [
        "base",
        "fixed translation",
        "variable rotation",
        "fork",
        "variable rotation",
        "fixed rotation",
        "variable translation",
        "fixed translation",
    ];
    assert_eq!(kinds, expected);
    let constants = |name: &str| built.nodes()[built.find(name).expect("a frame")].constants.clone();
    assert_eq!(constants("torso"), [("mass_kg".to_owned(), 12.0)]);
    assert_eq!(constants("left"), [("mass_kg".to_owned(), 2.0), ("length_m".to_owned(), 0.3)]);
    let names: Vec<String> = built.frames().into_iter().map(|frame| frame.name).collect();
    assert_eq!(names, ["torso", "left", "right", "tip"]);
    let poses = built.poses(|joint| [0.5, 0.0, 0.2][joint]);
    let tip = poses[built.find("tip").expect("a frame")].position_m;
    assert!((tip - DVec3::new(0.3 * math::cos(0.5), 0.3 * math::sin(0.5), 1.0)).length() < 1e-15, "{tip}");
}

#[test]
fn what_is_no_tree_is_refused_with_what_is_wrong() {
    let turn = |builder: muster_core::tree::TreeBuilder, name| builder.turn(name, DVec3::Z, Servo::FREE);
    let mistakes = [
        (turn(Tree::base().fork(), "a"), "a fork with 1 branches"),
        (turn(Tree::base(), "a").end(), "found an end"),
        (turn(turn(Tree::base(), "a"), "a"), "a second frame \"a\""),
        (Tree::base().name("a"), "found name \"a\" at a fork"),
    ];
    for (builder, expected) in mistakes {
        let found = builder.build().expect_err("a mistake");
        assert!(found.contains(expected), "{found}");
    }
}
