//! Joints: frames of a robot that turn or slide, and how they follow what is commanded.
//!
//! Every joint follows a position or a rate within its limits of position, rate and acceleration, exactly as commanded
//! otherwise: no load moves it (M. Friedmann, K. Petersen and O. von Stryk, *MuRoSimF*, section 3.2). Towards a position
//! it brakes in time: it is at rest when it arrives.

use crate::component::{Misfit, Pose};
use crate::lanes::{Column, LANES};
use crate::math;
use glam::DVec3;

/// A named frame on a robot, relative to its parent, perhaps moved by a joint.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Its name.
    pub name: String,
    /// The frame it hangs on, as an index into the robot's frames; `None` for the body.
    pub parent: Option<usize>,
    /// `parent_from_frame` when the joint is at zero.
    pub pose: Pose,
    /// How it moves relative to its parent.
    pub joint: Joint,
    /// How its joint follows commands.
    pub servo: Servo,
}

/// How a frame moves relative to its parent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Joint {
    /// Not at all.
    Fixed,
    /// Turns about an axis of the frame.
    Turn(DVec3),
    /// Slides along an axis of the frame.
    Slide(DVec3),
}

/// The limits of a joint, in rad or m.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Servo {
    /// Where it starts.
    pub start: f64,
    /// It goes no lower.
    pub lower: f64,
    /// It goes no higher.
    pub upper: f64,
    /// It goes no faster, per s.
    pub rate_max: f64,
    /// It gains no speed faster, per s².
    pub accel_max: f64,
}

impl Servo {
    /// A joint that follows at once.
    pub const FREE: Self =
        Self { start: 0.0, lower: f64::NEG_INFINITY, upper: f64::INFINITY, rate_max: 1e9, accel_max: 1e12 };

    /// Position and rate after a tick towards a commanded position.
    #[inline(always)]
    fn towards(&self, position: f64, rate: f64, command: f64, dt_s: f64) -> (f64, f64) {
        let way = math::clamp(command, self.lower, self.upper) - position;
        // at rest after so many ticks, each slower by the same step: exactly there, without overshoot
        let step = self.accel_max * dt_s;
        let ticks = math::max(1.0, (0.5 * ((1.0 + 8.0 * way.abs() / (step * dt_s)).sqrt() - 1.0)).ceil());
        let braking = way.abs() / (ticks * dt_s) + 0.5 * (ticks - 1.0) * step;
        let wanted = math::min(braking, self.rate_max);
        self.at_rate(position, rate, wanted.copysign(way), dt_s)
    }

    /// Position and rate after a tick at a commanded rate.
    #[inline(always)]
    fn at_rate(&self, position: f64, rate: f64, command: f64, dt_s: f64) -> (f64, f64) {
        let wanted = math::clamp(command, -self.rate_max, self.rate_max);
        let step = self.accel_max * dt_s;
        let rate = rate + math::clamp(wanted - rate, -step, step);
        let free = position + rate * dt_s;
        let next = math::clamp(free, self.lower, self.upper);
        (next, if next == free { rate } else { (next - position) / dt_s })
    }
}

/// What joints are commanded to do, in the column `joint_mode`.
pub mod mode {
    /// The commands are positions, rad or m.
    pub const POSITION: f64 = 0.0;
    /// The commands are rates, rad/s or m/s.
    pub const RATE: f64 = 1.0;
}

/// Where the joints' columns begin: first all positions, then all rates, then all commands, then the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JointColumns {
    /// First column.
    pub first: usize,
    /// How many joints there are.
    pub count: usize,
}

impl JointColumns {
    /// First position.
    pub fn positions(self) -> usize {
        self.first
    }

    /// First rate.
    pub fn rates(self) -> usize {
        self.first + self.count
    }

    /// First command.
    pub fn commands(self) -> usize {
        self.first + 2 * self.count
    }

    /// The mode.
    pub fn mode(self) -> usize {
        self.first + 3 * self.count
    }

    /// One past the last column.
    pub fn end(self) -> usize {
        self.first + if self.count > 0 { 3 * self.count + 1 } else { 0 }
    }
}

/// The frames that joints move, in order.
pub fn jointed(frames: &[Frame]) -> impl Iterator<Item = &Frame> {
    frames.iter().filter(|frame| frame.joint != Joint::Fixed)
}

/// The number of the joint of a frame among all joints of the robot.
pub fn joint_number(frames: &[Frame], name: &str) -> Option<usize> {
    jointed(frames).position(|frame| frame.name == name)
}

/// The numbers of joints by name; an error says what was found and what was expected.
pub fn joint_numbers<'a>(frames: &[Frame], names: impl IntoIterator<Item = &'a str>) -> Result<Vec<usize>, Misfit> {
    let number = |name: &str| {
        joint_number(frames, name).ok_or_else(|| {
            let known: Vec<&str> = jointed(frames).map(|frame| frame.name.as_str()).collect();
            let expected = match known.is_empty() {
                true => "a robot with joints (frames with turn or slide)".to_owned(),
                false => format!("one of the robot's joints: {}", known.join(", ")),
            };
            (format!("joint {name:?}"), expected)
        })
    };
    names.into_iter().map(number).collect()
}

/// Moves all joints of the first `lanes` robots on by one tick.
pub(crate) fn advance(frames: &[Frame], columns: &mut [Column], at: JointColumns, lanes: usize, dt_s: f64) {
    let modes = columns[at.mode()];
    for (joint, frame) in jointed(frames).enumerate() {
        let (mut positions, mut rates) = (columns[at.positions() + joint], columns[at.rates() + joint]);
        let commands = columns[at.commands() + joint];
        for lane in 0..lanes.min(LANES) {
            let (position, rate, command) = (positions[lane], rates[lane], commands[lane]);
            (positions[lane], rates[lane]) = match modes[lane] == mode::RATE {
                true => frame.servo.at_rate(position, rate, command, dt_s),
                false => frame.servo.towards(position, rate, command, dt_s),
            };
        }
        columns[at.positions() + joint] = positions;
        columns[at.rates() + joint] = rates;
    }
}

/// Where a frame is on its robot, and how joints move it there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameMotion {
    /// `body_from_frame`.
    pub pose: Pose,
    /// Velocity of its origin against the body, in the body frame, m/s.
    pub velocity_mps: DVec3,
    /// Its turn rate against the body, in the body frame, rad/s.
    pub spin_radps: DVec3,
}

impl FrameMotion {
    /// The body itself.
    pub const BODY: Self = Self { pose: Pose::IDENTITY, velocity_mps: DVec3::ZERO, spin_radps: DVec3::ZERO };

    /// The motion of a frame on this one, whose joint is at a position and moves at a rate.
    pub fn then(&self, frame: &Frame, position: f64, rate: f64) -> Self {
        let hinge = self.pose.then(&frame.pose);
        let carried = self.velocity_mps + self.spin_radps.cross(hinge.position_m - self.pose.position_m);
        match frame.joint {
            Joint::Fixed => Self { pose: hinge, velocity_mps: carried, ..*self },
            Joint::Turn(axis) => {
                let turn = Pose { orientation: math::quat_from_axis_angle(axis, position), ..Pose::IDENTITY };
                let spin_radps = self.spin_radps + hinge.orientation * axis * rate;
                Self { pose: hinge.then(&turn), velocity_mps: carried, spin_radps }
            }
            Joint::Slide(axis) => {
                let along = hinge.orientation * axis;
                let pose = Pose { position_m: hinge.position_m + along * position, ..hinge };
                let carried = self.velocity_mps + self.spin_radps.cross(pose.position_m - self.pose.position_m);
                Self { pose, velocity_mps: carried + along * rate, ..*self }
            }
        }
    }

    /// The motion of something fixed to this frame.
    pub fn carrying(&self, child: &Pose) -> Self {
        let pose = self.pose.then(child);
        let carried = self.spin_radps.cross(pose.position_m - self.pose.position_m);
        Self { pose, velocity_mps: self.velocity_mps + carried, ..*self }
    }
}

/// All frames of one robot: position and rate of every joint come from `joint`, by its number.
pub fn frame_motions(frames: &[Frame], joint: impl Fn(usize) -> (f64, f64), motions: &mut Vec<FrameMotion>) {
    motions.clear();
    motions.resize(frames.len(), FrameMotion::BODY);
    frame_motions_in(frames, joint, motions);
}

/// The same into a place with room for all of them.
pub fn frame_motions_in(frames: &[Frame], joint: impl Fn(usize) -> (f64, f64), motions: &mut [FrameMotion]) {
    let mut next = 0;
    for (at, frame) in frames.iter().enumerate() {
        let (position, rate) = if frame.joint == Joint::Fixed { (0.0, 0.0) } else { joint(next) };
        next += usize::from(frame.joint != Joint::Fixed);
        let parent = frame.parent.map_or(FrameMotion::BODY, |parent| motions[parent]);
        motions[at] = parent.then(frame, position, rate);
    }
}

/// How far from the body a frame's origin can get, m.
pub fn reach_m(frames: &[Frame], at: Option<usize>) -> f64 {
    let Some(frame) = at.map(|at| &frames[at]) else { return 0.0 };
    let slide_m = match frame.joint {
        Joint::Slide(_) => math::max(frame.servo.lower.abs(), frame.servo.upper.abs()),
        Joint::Fixed | Joint::Turn(_) => 0.0,
    };
    frame.pose.position_m.length() + slide_m + reach_m(frames, frame.parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turning(parent: Option<usize>, x: f64) -> Frame {
        let pose = Pose { position_m: DVec3::new(x, 0.0, 0.0), ..Pose::IDENTITY };
        Frame { name: String::new(), parent, pose, joint: Joint::Turn(DVec3::Z), servo: Servo::FREE }
    }

    #[test]
    fn a_joint_reaches_its_command_in_the_time_its_limits_allow_and_does_not_overshoot() {
        let servo = Servo { rate_max: 1.0, accel_max: 4.0, lower: -2.0, upper: 2.0, start: 0.0 };
        let (mut position, mut rate, mut arrival, dt) = (0.0, 0.0, 0, 0.001);
        for tick in 1..4000 {
            (position, rate) = servo.towards(position, rate, 1.5, dt);
            assert!(rate.abs() <= 1.0 + 1e-12 && position <= 1.5 + 1e-12);
            if arrival == 0 && position > 1.5 - 1e-9 {
                arrival = tick;
            }
        }
        // trapezoid: way/rate + rate/accel
        assert!((f64::from(arrival) * dt - (1.5 + 0.25)).abs() < 0.01, "{arrival}");
        assert!(rate.abs() < 1e-9);
        let (stopped, rate) = servo.at_rate(1.9999, 1.0, 1.0, dt);
        assert!(stopped == 2.0 && rate < 1.0, "its limit stops it");
    }

    #[test]
    fn the_velocity_of_a_frame_is_the_derivative_of_its_place() {
        let frames = [
            turning(None, 0.3),
            turning(Some(0), 0.5),
            Frame { joint: Joint::Slide(DVec3::X), ..turning(Some(1), 0.2) },
        ];
        let joints = |t: f64| [(0.4 * t, 0.4), (1.0 - 0.7 * t, -0.7), (0.1 + 0.2 * t, 0.2)];
        let place = |t: f64| {
            let mut motions = Vec::new();
            frame_motions(&frames, |joint| joints(t)[joint], &mut motions);
            motions[2]
        };
        let (h, now) = (1e-6, place(0.5));
        let slope = (place(0.5 + h).pose.position_m - place(0.5 - h).pose.position_m) / (2.0 * h);
        assert!((slope - now.velocity_mps).length() < 1e-8, "{slope} {}", now.velocity_mps);
        assert!((now.spin_radps - DVec3::Z * -0.3).length() < 1e-12);
    }
}
