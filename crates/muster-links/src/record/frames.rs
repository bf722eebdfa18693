//! Transforms: where robots, their frames and their sensors are.
//!
//! `world` is the root. A robot whose odometry is recorded is `world → ROBOT/odom → ROBOT/base_link`, the first where it
//! started, the second as odometry tells it, and its true pose is `ROBOT/base_link_gt` (REP-105); one without is
//! `world → ROBOT/base_link`. Below that are its frames, sensors (`ROBOT/SENSOR_link`) and images (`ROBOT/SENSOR_optical`,
//! z forward, x right, y down).

use crate::delivery::RobotNames;
use crate::ros::messages::{Transform, TransformStamped};
use crate::ros::{names, sensor};
use glam::{DQuat, DVec3};
use muster_core::component::Pose;
use muster_core::joints::{FrameMotion, Joint, jointed};
use muster_core::math;

fn stamped(parent: &str, child: String, transform: Transform) -> TransformStamped {
    let mut stamped = TransformStamped { child_frame_id: child, transform, ..TransformStamped::default() };
    stamped.header.frame_id = parent.to_owned();
    stamped
}

/// From axes of a sensor to those of its images.
const OPTICAL: DQuat = DQuat::from_xyzw(-0.5, 0.5, -0.5, 0.5);

/// What never moves on a robot. `odom`: whether its odometry is told.
pub(super) fn fixed(token: &str, robot: &RobotNames, odom: bool) -> Vec<TransformStamped> {
    let blueprint = &robot.cohort.blueprint;
    let base = names::base(token);
    let mut list = Vec::new();
    if odom {
        // odometry is planar and begins with the heading
        let yaw = math::yaw_from_quat(robot.home.orientation);
        let start = Pose { position_m: robot.home.position_m, orientation: math::quat_from_rpy(0.0, 0.0, yaw) };
        list.push(stamped(names::WORLD, names::frame(token, "odom"), start.into()));
    }
    let parent = |at: Option<usize>| match at {
        Some(at) => names::frame(token, &blueprint.frames[at].name),
        None => base.clone(),
    };
    for frame in blueprint.frames.iter().filter(|frame| frame.joint == Joint::Fixed) {
        list.push(stamped(&parent(frame.parent), names::frame(token, &frame.name), frame.pose.into()));
    }
    for slot in &blueprint.sensors {
        let link = names::link(token, &slot.name);
        list.push(stamped(&parent(slot.frame), link.clone(), slot.mount.into()));
        if slot.sensor.image().is_some() {
            let eye = Pose { position_m: DVec3::ZERO, orientation: OPTICAL };
            list.push(stamped(&link, names::optical(token, &slot.name), eye.into()));
            let baseline_m = sensor::baseline_of(slot);
            if baseline_m > 0.0 {
                let right = Pose { position_m: DVec3::new(0.0, -baseline_m, 0.0), ..eye };
                list.push(stamped(&link, names::optical(token, &format!("{}_right", slot.name)), right.into()));
            }
        }
    }
    list
}

/// What moves: the body, and frames with joints, in this order. Numbers are filled in later.
pub(super) fn moving(token: &str, robot: &RobotNames, odom: bool) -> Vec<TransformStamped> {
    let base = names::base(token);
    let body = if odom { names::frame(token, "base_link_gt") } else { base.clone() };
    let mut list = vec![stamped(names::WORLD, body, Transform::default())];
    let frames = &robot.cohort.blueprint.frames;
    for frame in frames.iter().filter(|frame| frame.joint != Joint::Fixed) {
        let parent = frame.parent.map_or_else(|| base.clone(), |at| names::frame(token, &frames[at].name));
        list.push(stamped(&parent, names::frame(token, &frame.name), Transform::default()));
    }
    list
}

/// Fills in where frames with joints are on their parents.
pub(super) fn place_joints(robot: &RobotNames, joints: &[f64], to: &mut [TransformStamped]) {
    for ((frame, &position), transform) in jointed(&robot.cohort.blueprint.frames).zip(joints).zip(to) {
        transform.transform = FrameMotion::BODY.then(frame, position, 0.0).pose.into();
    }
}
