//! A biped that walks by its joints alone (M. Friedmann, K. Petersen and O. von Stryk, *MuRoSimF*, section 3.1): its
//! feet are on a plane and at least one touches it. The pose of the base follows by direct kinematics from the foot it
//! stands on, which is fixed to the ground; when the other foot would go into the ground, it stands on that one. So it
//! never shakes, slides or falls, however its joints move. Any joints between base and feet will do.
//!
//! The ground is the plane `z = ground_z_m`. A foot is put down flat: if it was tilted, because joints lag behind or the
//! gait is not level, the base turns at that instant, but such errors do not add up from step to step. A robot starts on
//! the ground below where it was placed: the height it was placed at does not matter. Whoever pushes it or puts it
//! elsewhere moves its foot along; put at another height, it is back on the ground as soon as its greatest speed allows.

use glam::{DQuat, DVec3};
use muster_core::component::{Kind, Misfit, Motion, Pose, Tick};
use muster_core::contact::{Mobility, Part};
use muster_core::joints::{Frame, FrameMotion, Joint, joint_number};
use muster_core::lanes::{Column, Quantity, body};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;
use std::sync::Arc;

spec! {
    /// A foot.
    pub struct FootSpec {
        /// The frame it is.
        frame: String;
        /// The middle of its sole in that frame.
        sole_at_m: [f64; 3] = [0.0; 3], in -10..=10;
        /// Length and width of its sole.
        sole_size_m: [f64; 2] = [0.0; 2], in 0.0..=10;
    }
}

impl FootSpec {
    /// A foot that touches with the origin of its frame.
    fn point(frame: &str) -> Self {
        Self { frame: frame.to_owned(), sole_at_m: [0.0; 3], sole_size_m: [0.0; 2] }
    }
}

spec! {
    /// A biped that walks by its joints alone.
    pub struct BipedKinematicSpec {
        /// Its two feet.
        feet: [FootSpec; 2] = ["left_foot", "right_foot"].map(FootSpec::point);
        /// Height of the ground.
        ground_z_m: f64 = 0.0, in -1e5..=1e5;
        /// The speed its base does not exceed.
        speed_max_mps: f64 = 3.0, in 0.001..=100;
    }
}

/// The row of this kind.
pub const KIND: Kind<dyn Motion> = Kind {
    name: "biped_kinematic",
    doc: "Walks by its joints alone: one foot is fixed to the ground, the base follows; never shakes, slides or falls.",
    fields: <BipedKinematicSpec as Spec>::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <BipedKinematicSpec as Spec>::read(node, path, also, problems)?;
        Some(Arc::new(BipedKinematic { spec, legs: [Vec::new(), Vec::new()] }))
    },
};

const STATE: &[Quantity] = &[
    Quantity::one("stance"),
    Quantity::one("swaps"),
    Quantity::many("foot_m", 3),
    Quantity::many("foot_orientation", 4),
    Quantity::many("base_m", 3),
    Quantity::many("base_orientation", 4),
];
/// Which foot it stands on: 0 or 1.
const STANCE: usize = body::COLUMNS;
/// How often it changed from one foot to the other.
const SWAPS: usize = STANCE + 1;
/// Where the foot it stands on is in the world.
const FOOT: usize = SWAPS + 1;
/// The base as this motion left it: whatever differs was done by others.
const BASE: usize = FOOT + 7;

/// The other foot is in the ground if deeper than rounding can make it, m.
const CONTRADICTION_M: f64 = 1e-10;

/// A frame on the way from the base to a foot, and the number of its joint.
type Bone = (Frame, Option<usize>);

struct BipedKinematic {
    spec: BipedKinematicSpec,
    legs: [Vec<Bone>; 2],
}

fn pose_of(columns: &[Column], first: usize, lane: usize) -> Pose {
    let turn = |axis: usize| columns[first + 3 + axis][lane];
    let orientation = DQuat::from_xyzw(turn(0), turn(1), turn(2), turn(3));
    Pose { position_m: body::vec3(columns, first, lane), orientation }
}

fn set_pose(columns: &mut [Column], first: usize, lane: usize, pose: &Pose) {
    body::set_vec3(columns, first, lane, pose.position_m);
    for (column, value) in columns[first + 3..].iter_mut().zip(pose.orientation.to_array()) {
        column[lane] = value;
    }
}

/// The pose of the parent of something that is at `child` in it and at `pose` in the world.
fn carrier(pose: &Pose, child: &Pose) -> Pose {
    let orientation = math::normalize_quat(pose.orientation * child.orientation.inverse());
    Pose { position_m: pose.position_m - orientation * child.position_m, orientation }
}

/// The frames from the base to a foot.
fn bones(frames: &[Frame], foot: usize) -> Vec<Bone> {
    let frame = &frames[foot];
    let mut bones = frame.parent.map_or_else(Vec::new, |parent| bones(frames, parent));
    let joint = (frame.joint != Joint::Fixed).then(|| joint_number(frames, &frame.name)).flatten();
    bones.push((frame.clone(), joint));
    bones
}

impl BipedKinematic {
    /// A foot against the base.
    fn foot(&self, foot: usize, joint: impl Fn(usize) -> (f64, f64)) -> FrameMotion {
        self.legs[foot].iter().fold(FrameMotion::BODY, |parent, (frame, number)| {
            let (position, rate) = number.map_or((0.0, 0.0), &joint);
            parent.then(frame, position, rate)
        })
    }

    /// How far the lowest point of a sole is above the ground, m.
    fn clearance_m(&self, foot: usize, pose: &Pose) -> f64 {
        let FootSpec { sole_at_m, sole_size_m: [length, width], .. } = self.spec.feet[foot];
        let middle = pose.position_m + pose.orientation * DVec3::from(sole_at_m);
        let DQuat { x, y, z, w } = pose.orientation;
        // how steep its length and its width are
        let (along, across) = (2.0 * (x * z - w * y), 2.0 * (y * z + w * x));
        middle.z - 0.5 * (along.abs() * length + across.abs() * width) - self.spec.ground_z_m
    }

    /// A foot put on the ground as it is.
    fn grounded(&self, foot: usize, mut pose: Pose) -> Pose {
        pose.position_m.z -= self.clearance_m(foot, &pose);
        pose
    }

    /// A foot put flat on the ground, given where it would be and where it is against the base: the robot turns upright
    /// about its base, so that the foot and not the robot gives way.
    fn planted(&self, foot: usize, pose: &Pose, on_base: &Pose) -> Pose {
        let flat = Pose { orientation: math::quat_from_yaw(math::yaw_from_quat(pose.orientation)), ..*pose };
        let base = Pose { position_m: carrier(pose, on_base).position_m, ..carrier(&flat, on_base) };
        self.grounded(foot, Pose { orientation: flat.orientation, ..base.then(on_base) })
    }

    /// Where a foot met the ground on its way from one pose to another that is in the ground.
    fn touchdown(&self, foot: usize, before: &Pose, after: &Pose) -> Pose {
        let (high, low) = (math::max(self.clearance_m(foot, before), 0.0), self.clearance_m(foot, after));
        let share = high / (high - low);
        let orientation = math::normalize_quat(before.orientation.lerp(after.orientation, share));
        Pose { position_m: before.position_m.lerp(after.position_m, share), orientation }
    }

    fn step(&self, columns: &mut [Column], lane: usize, tick: &Tick<'_>) {
        let joints = tick.joints;
        let joint = |at: usize| (columns[joints.positions() + at][lane], columns[joints.rates() + at][lane]);
        let feet = [self.foot(0, joint), self.foot(1, joint)];
        let mut stance = usize::from(columns[STANCE][lane] > 0.5);
        let mut anchor = pose_of(columns, FOOT, lane);
        let (known, found) = (pose_of(columns, BASE, lane), pose_of(columns, body::POSITION, lane));
        if known != found {
            // the foot goes where the base was pushed or put
            let pushed = found.then(&carrier(&Pose::IDENTITY, &known).then(&anchor));
            anchor = self.planted(stance, &pushed, &feet[stance].pose);
        }
        let mut base = carrier(&anchor, &feet[stance].pose);
        let other = base.then(&feet[1 - stance].pose);
        if self.clearance_m(1 - stance, &other) < -CONTRADICTION_M {
            let left = stance;
            stance = 1 - stance;
            let before = self.foot(stance, |at| (joint(at).0 - joint(at).1 * tick.dt_s, 0.0));
            let met = self.touchdown(stance, &found.then(&before.pose), &other);
            anchor = self.planted(stance, &met, &feet[stance].pose);
            base = carrier(&anchor, &feet[stance].pose);
            if self.clearance_m(left, &base.then(&feet[left].pose)) < -CONTRADICTION_M {
                // two feet that are not level with each other cannot both be flat
                anchor = self.grounded(stance, other);
                base = carrier(&anchor, &feet[stance].pose);
            }
            columns[SWAPS][lane] += 1.0;
        }
        // what stands still in the world is the foot: the base moves against it
        let foot = &feet[stance];
        let turn = -foot.spin_radps;
        let velocity = -(base.orientation * (foot.velocity_mps + turn.cross(foot.pose.position_m)));
        columns[STANCE][lane] = stance as f64;
        set_pose(columns, FOOT, lane, &anchor);
        set_pose(columns, BASE, lane, &base);
        set_pose(columns, body::POSITION, lane, &base);
        body::set_vec3(columns, body::VELOCITY, lane, velocity);
        body::set_vec3(columns, body::ANGULAR_VELOCITY, lane, turn);
    }
}

impl Motion for BipedKinematic {
    fn inputs(&self) -> &[Quantity] {
        &[]
    }

    fn state(&self) -> &[Quantity] {
        STATE
    }

    fn speed_max_mps(&self) -> f64 {
        self.spec.speed_max_mps
    }

    fn mobility(&self) -> Mobility {
        Mobility::Planar
    }

    fn fitted(&self, frames: &[Frame], _: &[Part]) -> Result<Option<Arc<dyn Motion>>, Misfit> {
        let leg = |foot: &FootSpec| match frames.iter().position(|frame| frame.name == foot.frame) {
            Some(at) => Ok(bones(frames, at)),
            None => {
                let names: Vec<&str> = frames.iter().map(|frame| frame.name.as_str()).collect();
                Err((format!("foot {:?}", foot.frame), format!("one of the robot's frames: {}", names.join(", "))))
            }
        };
        let [left, right] = &self.spec.feet;
        Ok(Some(Arc::new(Self { spec: self.spec.clone(), legs: [leg(left)?, leg(right)?] })))
    }

    fn start(&self, columns: &mut [Column], lane: usize) {
        let joint = |number: usize| {
            let bone = self.legs.iter().flatten().find(|(_, joint)| *joint == Some(number));
            (bone.map_or(0.0, |(frame, _)| frame.servo.start), 0.0)
        };
        let feet = [0, 1].map(|foot| self.foot(foot, joint).pose);
        let placed = pose_of(columns, body::POSITION, lane);
        let clearance = [0, 1].map(|foot| self.clearance_m(foot, &placed.then(&feet[foot])));
        let stance = usize::from(clearance[1] < clearance[0]);
        let anchor = self.planted(stance, &placed.then(&feet[stance]), &feet[stance]);
        let base = carrier(&anchor, &feet[stance]);
        columns[STANCE][lane] = stance as f64;
        columns[SWAPS][lane] = 0.0;
        set_pose(columns, FOOT, lane, &anchor);
        set_pose(columns, BASE, lane, &base);
        set_pose(columns, body::POSITION, lane, &base);
        body::set_vec3(columns, body::VELOCITY, lane, DVec3::ZERO);
    }

    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>) {
        for lane in 0..lanes {
            self.step(columns, lane, tick);
        }
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        vec![("ground_z_m", self.spec.ground_z_m), ("speed_max_mps", self.spec.speed_max_mps)]
    }
}
