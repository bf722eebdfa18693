//! Gait: turns a velocity or position setpoint into the joints of legs. Any number of legs, each with a hip and a knee
//! and perhaps an ankle, whose axes point to the left; a phase for each leg makes it a walk, a trot or a pace.
//!
//! Every leg goes through the same cycle, shifted by its phase. For `stance_share` of `period_s` its foot is on the
//! ground and moves backwards against the body as fast as the body is to go forwards, so it does not slide; then it
//! swings to where its next stance will be centred below the hip, along a cycloid:
//! `x = a + (b - a)(s - sin(2πs)/2π)`, `z = h (1 - cos(2πs))/2`. Foot positions become joint angles by the inverse
//! kinematics of two links; the ankle keeps the foot level as long as the body is.
//!
//! Legs turn the body by steps that are longer on one side than on the other: a leg at `y_m` goes with `v - ω y`. A leg
//! with a joint `yaw` about the upward axis at its hip also keeps the heading of its foot while the body turns over it,
//! which a robot needs whose feet do not slide.
//!
//! Speeds change within their accelerations, and only as fast as the reach of the legs allows: a robot that starts takes
//! half a step first. Told to stop, it brings its feet together and stands. Modes of setpoints: velocity (forward, and
//! turn rate; legs do not step sideways), position (walks there, then turns to the heading; needs a pose sensor); in any
//! other it stops. Joints that are named neither in `legs` nor in `swings` are left to others.

use super::pilot::{By, Pilot};
use muster_core::component::{Control, Driver, Fitting, Kind, Misfit, Pose, Subscription};
use muster_core::joints::{joint_numbers, mode};
use muster_core::lanes::{Quantity, setpoint};
use muster_core::math;
use muster_core::node::{Node, Problems};
use muster_core::spec::{Spec, below};
use muster_core::{choice, spec};
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

choice! {
    /// Where a knee points.
    pub enum Knee {
        /// Forwards, as that of a human: the joint turns to positive angles.
        Forward = "forward",
        /// Backwards, as that of a bird.
        Backward = "backward"
    }
}

choice! {
    /// How joints are commanded.
    pub enum Commands {
        /// By position: joints that are fast enough are there at the next tick.
        Position = "position",
        /// By rate: joints are there at the next call; then all joints of the robot are commanded by rate.
        Rate = "rate"
    }
}

spec! {
    /// A leg. Joints turn about axes that point to the left (y), and the leg hangs straight down with all at zero.
    pub struct LegSpec {
        /// Joint at the hip about the upward axis; none for legs that turn by sliding.
        yaw: Option<String>;
        /// Joint of the hip.
        hip: String;
        /// Joint of the knee.
        knee: String;
        /// Joint of the ankle, which keeps the foot level.
        ankle: Option<String>;
        /// From hip to knee.
        thigh_m: f64, in 0.001..=100;
        /// From knee to ankle, or to the foot of a leg without one.
        shank_m: f64, in 0.001..=100;
        /// How far to the left of the middle of the robot it is.
        y_m: f64 = 0.0, in -100..=100;
        /// When its step begins, as a share of the period: its foot comes down.
        phase: f64 = 0.0, in 0.0..=1.0;
        /// Where its knee points.
        knee_points: Knee = Knee::Forward;
    }
}

spec! {
    /// A joint that swings with a leg, such as the shoulder on the other side.
    pub struct SwingSpec {
        /// The joint.
        joint: String;
        /// The leg it swings with, by its number in `legs`, from 0.
        leg: usize, in 0..=7;
        /// How far it swings: its angle for that of the leg from hip to foot.
        gain: f64 = 1.0, in -10..=10;
        /// Its angle while the robot stands.
        middle_deg: f64 = 0.0, in -360..=360;
    }
}

spec! {
    /// Parameters of the gait driver.
    pub struct GaitSpec {
        /// One to eight legs.
        legs: Vec<LegSpec> = Vec::new();
        /// Joints that swing with legs.
        swings: Vec<SwingSpec> = Vec::new();
        /// How high a foot is lifted.
        step_height_m: f64 = 0.05, in 0.0..=100;
        /// Time of two steps of a leg.
        period_s: f64 = 0.8, in 0.02..=100;
        /// Share of the period during which a foot is on the ground.
        stance_share: f64 = 0.5, in 0.1..=0.95;
        /// Height of the hips above the ankles, or above the feet of legs without ankles.
        stand_height_m: f64 = 0.5, in 0.001..=100;
        /// How far in front of the hip the middle of a stance is.
        stance_ahead_m: f64 = 0.0, in -10..=10;
        /// The greatest speed; as fast as the legs can reach if none is given.
        speed_max_mps: Option<f64>, in 0.0..=100;
        /// The greatest turn rate.
        turn_max_radps: f64 = 1.0, in 0.0..=100;
        /// How fast the speed changes.
        accel_mps2: f64 = 1.0, in 0.001..=1e6;
        /// How fast the turn rate changes.
        turn_accel_radps2: f64 = 2.0, in 0.001..=1e6;
        /// How joints are commanded.
        by: Commands = Commands::Position;
        /// Name of the sensor that gives the pose, for setpoints of position.
        pose: String = "truth".to_owned();
        /// A commanded position is reached within this distance.
        tolerance_m: f64 = 0.1, in 0.000001..=1000;
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "gait",
    doc: "Walks: turns setpoints of velocity or position into the joints of any number of legs.",
    fields: GaitSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <GaitSpec as Spec>::read(node, path, also, problems)?;
        fits(&spec, node, path, problems).then(|| Arc::new(Gait::new(spec)) as Arc<dyn Driver>)
    },
};

/// The most legs of a robot.
const MOST: usize = 8;

/// Feet that are so near their middle, and so little turned, need no step to stand.
const SETTLED_M: f64 = 1e-3;

/// A leg is not stretched further than this share of its length, where its knee would stop.
const STRETCH_MAX: f64 = 0.999;

/// Faster than any legs.
const SPEED_ANY_MPS: f64 = 1e6;

fn fits(spec: &GaitSpec, node: &Node, path: &str, problems: &mut Problems) -> bool {
    let mut problem = |key: &str, found: String, expected: String| {
        let place = node.get(key).map_or(node.place, |node| node.place);
        problems.error(place, &below(path, key), found, expected);
        false
    };
    if !(1..=MOST).contains(&spec.legs.len()) {
        return problem("legs", format!("{} legs", spec.legs.len()), format!("one to {MOST} legs"));
    }
    for leg in &spec.legs {
        let (least, most) = ((leg.thigh_m - leg.shank_m).abs(), STRETCH_MAX * (leg.thigh_m + leg.shank_m));
        let bent = math::hypot2(spec.stand_height_m, spec.stance_ahead_m);
        if bent <= least || bent >= most {
            let found = format!("{bent} m from hip {:?} to its foot", leg.hip);
            return problem("stand_height_m", found, format!("between {least} m and {most:.4} m, for bent knees"));
        }
    }
    match spec.swings.iter().find(|swing| swing.leg >= spec.legs.len()) {
        Some(swing) => {
            let found = format!("leg {} for joint {:?}", swing.leg, swing.joint);
            problem("swings", found, format!("a number below {}", spec.legs.len()))
        }
        None => true,
    }
}

/// What the driver remembers, for each number of legs: where it is in its period, how fast the robot goes and turns; of
/// each leg where its foot is against its middle, how it is turned, both also when it was lifted, and how high it is
/// lifted (0 on the ground).
static STATE: [[Quantity; 8]; MOST + 1] = {
    let one = [
        Quantity::one("phase"),
        Quantity::one("speed_mps"),
        Quantity::one("turn_radps"),
        Quantity::one("foot_m"),
        Quantity::one("foot_rad"),
        Quantity::one("lifted_m"),
        Quantity::one("lifted_rad"),
        Quantity::one("lift_m"),
    ];
    let mut table = [one; MOST + 1];
    let mut count = 0;
    while count <= MOST {
        let mut at = FEET;
        while at < one.len() {
            table[count][at].len = count;
            at += 1;
        }
        count += 1;
    }
    table
};
const PHASE: usize = 0;
const SPEED: usize = 1;
const TURN: usize = 2;
const FEET: usize = 3;

/// The joints of a leg, by number.
#[derive(Debug, Clone, Copy)]
struct LegJoints {
    yaw: Option<usize>,
    hip: usize,
    knee: usize,
    ankle: Option<usize>,
}

struct Gait {
    spec: GaitSpec,
    /// How far from its middle each foot reaches, m.
    reach_m: Vec<f64>,
    legs: Vec<LegJoints>,
    swings: Vec<usize>,
}

/// A foot against its middle below the hip: how far ahead, and how far it is turned.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Foot {
    ahead_m: f64,
    turned_rad: f64,
}

impl Foot {
    const MIDDLE: Self = Self { ahead_m: 0.0, turned_rad: 0.0 };

    /// Part of the way from here to there.
    fn towards(self, other: Self, share: f64) -> Self {
        Self {
            ahead_m: self.ahead_m + (other.ahead_m - self.ahead_m) * share,
            turned_rad: self.turned_rad + (other.turned_rad - self.turned_rad) * share,
        }
    }

    /// Where it is after the ground has moved under the body for a time.
    fn carried(self, rates: (f64, f64), time_s: f64) -> Self {
        Self { ahead_m: self.ahead_m - rates.0 * time_s, turned_rad: self.turned_rad - rates.1 * time_s }
    }

    fn is_settled(self) -> bool {
        self.ahead_m.abs() < SETTLED_M && self.turned_rad.abs() < SETTLED_M
    }
}

/// What one robot's legs do.
#[derive(Debug, Clone, Copy)]
struct Walk {
    phase: f64,
    speed: f64,
    turn: f64,
    feet: [Foot; MOST],
    lifted: [Foot; MOST],
    lift_m: [f64; MOST],
}

/// Angles of hip and knee that put the foot of a leg `ahead_m` of the hip and `below_m` below it.
fn two_links(leg: &LegSpec, ahead_m: f64, below_m: f64) -> (f64, f64) {
    let (thigh, shank) = (leg.thigh_m, leg.shank_m);
    let square = ahead_m * ahead_m + below_m * below_m;
    let cosine = math::clamp((square - thigh * thigh - shank * shank) / (2.0 * thigh * shank), -1.0, 1.0);
    let knee = match leg.knee_points {
        Knee::Forward => math::acos(cosine),
        Knee::Backward => -math::acos(cosine),
    };
    let lead = math::atan2(shank * math::sin(knee), thigh + shank * cosine);
    (leg_angle(ahead_m, below_m) - lead, knee)
}

/// The angle of a leg from hip to foot; backwards is positive.
fn leg_angle(ahead_m: f64, below_m: f64) -> f64 {
    math::atan2(-ahead_m, below_m)
}

impl Gait {
    fn new(spec: GaitSpec) -> Self {
        let reach = |leg: &LegSpec| {
            let most = STRETCH_MAX * (leg.thigh_m + leg.shank_m);
            (most * most - spec.stand_height_m * spec.stand_height_m).max(0.0).sqrt() - spec.stance_ahead_m.abs()
        };
        Self { reach_m: spec.legs.iter().map(reach).collect(), legs: Vec::new(), swings: Vec::new(), spec }
    }

    /// How fast the ground goes back under the hip of a leg, and how fast it turns.
    fn rates(&self, leg: usize, walk: &Walk) -> (f64, f64) {
        let leg = &self.spec.legs[leg];
        let turn = if leg.yaw.is_some() { walk.turn } else { 0.0 };
        (walk.speed - walk.turn * leg.y_m, turn)
    }

    fn stance_s(&self) -> f64 {
        self.spec.stance_share * self.spec.period_s
    }

    /// Speed and turn rate within what legs can reach at all.
    fn bounded(&self, [speed, turn]: [f64; 2]) -> [f64; 2] {
        let most = self.spec.speed_max_mps.unwrap_or(f64::INFINITY);
        let speed = math::clamp(speed, -most, most);
        let turn = math::clamp(turn, -self.spec.turn_max_radps, self.spec.turn_max_radps);
        let share = (self.reach_m.iter().zip(&self.spec.legs)).fold(1.0, |share, (reach_m, leg)| {
            let step = (speed.abs() + (turn * leg.y_m).abs()) * self.stance_s();
            math::min(share, 2.0 * reach_m / math::max(step, 1e-12))
        });
        [speed * share, turn * share]
    }

    /// Slows down so that no foot on the ground has to go further than it reaches before it is lifted.
    fn within_reach(&self, walk: &mut Walk) {
        let mut share: f64 = 1.0;
        for leg in 0..self.spec.legs.len() {
            if walk.lift_m[leg] > 0.0 {
                continue;
            }
            let phase = self.phase_of(leg, walk.phase);
            let stance = self.spec.stance_share;
            // a leg that was not lifted in time stays on the ground for another stance
            let left = if phase <= stance { stance - phase } else { 1.0 - phase + stance };
            let (rate, _) = self.rates(leg, walk);
            let room = self.reach_m[leg] + walk.feet[leg].ahead_m * 1.0_f64.copysign(rate);
            let way = rate.abs() * left * self.spec.period_s;
            if way > room {
                share = math::min(share, math::max(room, 0.0) / way);
            }
        }
        walk.speed *= share;
        walk.turn *= share;
    }

    fn phase_of(&self, leg: usize, phase: f64) -> f64 {
        let phase = phase + self.spec.legs[leg].phase;
        phase - math::floor(phase)
    }

    /// Moves the feet on by a call.
    fn advance(&self, walk: &mut Walk, [speed, turn]: [f64; 2], dt_s: f64) {
        let spec = &self.spec;
        let ramp = |now: f64, wanted: f64, accel: f64| now + math::clamp(wanted - now, -accel * dt_s, accel * dt_s);
        walk.speed = ramp(walk.speed, speed, spec.accel_mps2);
        walk.turn = ramp(walk.turn, turn, spec.turn_accel_radps2);
        self.within_reach(walk);
        let count = spec.legs.len();
        let stands = speed == 0.0 && turn == 0.0 && walk.speed == 0.0 && walk.turn == 0.0;
        if stands && (0..count).all(|leg| walk.lift_m[leg] == 0.0 && walk.feet[leg].is_settled()) {
            walk.phase = 0.0;
            return;
        }
        let before = walk.phase;
        walk.phase += dt_s / spec.period_s;
        walk.phase -= math::floor(walk.phase);
        for leg in 0..count {
            self.move_foot(walk, leg, before, dt_s, stands);
        }
    }

    fn move_foot(&self, walk: &mut Walk, leg: usize, phase_before: f64, dt_s: f64, stands: bool) {
        let (share, period_s) = (self.spec.stance_share, self.spec.period_s);
        let (before, phase) = (self.phase_of(leg, phase_before), self.phase_of(leg, walk.phase));
        let rates = self.rates(leg, walk);
        let landing = Foot::MIDDLE.carried(rates, -0.5 * self.stance_s());
        let foot = walk.feet[leg];
        let lifts = walk.lift_m[leg] == 0.0 && before <= share && phase > share && !(stands && foot.is_settled());
        if lifts {
            walk.lifted[leg] = foot.carried(rates, (share - before) * period_s);
            walk.lift_m[leg] = math::max(self.spec.step_height_m, 1e-9);
        }
        walk.feet[leg] = match walk.lift_m[leg] > 0.0 {
            true if phase > share => walk.lifted[leg].towards(landing, cycloid((phase - share) / (1.0 - share))),
            true => {
                walk.lift_m[leg] = 0.0;
                landing.carried(rates, phase * period_s)
            }
            false => foot.carried(rates, dt_s),
        };
    }

    /// How high a foot is.
    fn height_m(&self, walk: &Walk, leg: usize) -> f64 {
        let share = self.spec.stance_share;
        let swung = (self.phase_of(leg, walk.phase) - share) / (1.0 - share);
        let sine = math::sin(PI * math::clamp(swung, 0.0, 1.0));
        walk.lift_m[leg] * sine * sine
    }

    /// Speed and turn rate that are asked for.
    fn wanted(&self, control: &Control<'_>, lane: usize) -> [f64; 2] {
        let told = |number: usize| control.setpoint[number][lane];
        if control.mode[lane] == setpoint::VELOCITY {
            return [told(0), told(3)];
        }
        let reading = control.reading(0, lane);
        if control.mode[lane] != setpoint::POSITION || reading.stamp.is_none() {
            return [0.0; 2];
        }
        let way = glam::DVec3::new(told(0), told(1), 0.0) - reading.vec3(0);
        let yaw = math::yaw_from_quat(reading.quat(3));
        let pilot = Pilot {
            by: By::Velocity,
            speed_mps: self.spec.speed_max_mps.unwrap_or(f64::INFINITY),
            tolerance_m: self.spec.tolerance_m,
            turn_max_radps: self.spec.turn_max_radps,
            lookahead_m: 1.0,
            turn_radius_m: 0.0,
            brake_mps2: Some(0.5 * self.spec.accel_mps2),
        };
        if math::hypot2(way.x, way.y) > self.spec.tolerance_m {
            return pilot.towards(way, yaw);
        }
        let off = math::wrap_angle(told(3) - yaw);
        [0.0, if off.abs() < 0.03 { 0.0 } else { 2.0 * off }]
    }

    /// Commands the joints of a robot whose feet are to be here at the next call.
    fn command(&self, control: &mut Control<'_>, lane: usize, walk: &Walk) {
        let period_s = control.period_s;
        let mut angles = [0.0; MOST];
        let joints = &mut control.joints;
        let by_rate = self.spec.by == Commands::Rate;
        for column in joints.mode.iter_mut() {
            column[lane] = if by_rate { mode::RATE } else { mode::POSITION };
        }
        let mut set = |joint: usize, angle: f64| {
            let rate = (angle - joints.positions[joint][lane]) / period_s;
            joints.commands[joint][lane] = if by_rate { rate } else { angle };
        };
        for (leg, (spec, numbers)) in self.spec.legs.iter().zip(&self.legs).enumerate() {
            let foot = walk.feet[leg];
            let ahead_m = self.spec.stance_ahead_m + foot.ahead_m;
            let below_m = self.spec.stand_height_m - self.height_m(walk, leg);
            let (hip, knee) = two_links(spec, ahead_m, below_m);
            angles[leg] = leg_angle(foot.ahead_m, below_m);
            set(numbers.hip, hip);
            set(numbers.knee, knee);
            if let Some(ankle) = numbers.ankle {
                set(ankle, -(hip + knee));
            }
            if let Some(yaw) = numbers.yaw {
                set(yaw, foot.turned_rad);
            }
        }
        for (spec, &joint) in self.spec.swings.iter().zip(&self.swings) {
            set(joint, spec.middle_deg.to_radians() + spec.gain * angles[spec.leg]);
        }
    }

    fn load(&self, control: &Control<'_>, lane: usize) -> Walk {
        let (count, state) = (self.spec.legs.len(), &control.state);
        let of = |family: usize, leg: usize| state[FEET + family * count + leg][lane];
        let mut walk = Walk {
            phase: state[PHASE][lane],
            speed: state[SPEED][lane],
            turn: state[TURN][lane],
            feet: [Foot::MIDDLE; MOST],
            lifted: [Foot::MIDDLE; MOST],
            lift_m: [0.0; MOST],
        };
        for leg in 0..count {
            walk.feet[leg] = Foot { ahead_m: of(0, leg), turned_rad: of(1, leg) };
            walk.lifted[leg] = Foot { ahead_m: of(2, leg), turned_rad: of(3, leg) };
            walk.lift_m[leg] = of(4, leg);
        }
        walk
    }

    fn store(&self, control: &mut Control<'_>, lane: usize, walk: &Walk) {
        let (count, state) = (self.spec.legs.len(), &mut control.state);
        state[PHASE][lane] = walk.phase;
        state[SPEED][lane] = walk.speed;
        state[TURN][lane] = walk.turn;
        for leg in 0..count {
            let (foot, lifted) = (walk.feet[leg], walk.lifted[leg]);
            let values = [foot.ahead_m, foot.turned_rad, lifted.ahead_m, lifted.turned_rad, walk.lift_m[leg]];
            for (family, value) in values.into_iter().enumerate() {
                state[FEET + family * count + leg][lane] = value;
            }
        }
    }
}

/// How far along its way a point of a rolling wheel is, for a share of the time.
fn cycloid(share: f64) -> f64 {
    share - math::sin(TAU * share) / TAU
}

impl Driver for Gait {
    /// Straight ahead.
    fn speed_max_mps(&self) -> Option<f64> {
        Some(self.bounded([SPEED_ANY_MPS, 0.0])[0])
    }

    fn state(&self) -> &'static [Quantity] {
        &STATE[self.spec.legs.len()]
    }

    fn default_rate_hz(&self) -> f64 {
        100.0
    }

    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription { optional: true, ..Subscription::own(&self.spec.pose, "") }]
    }

    fn fitted(&self, robot: &Fitting<'_>) -> Result<Option<Arc<dyn Driver>>, Misfit> {
        let frames = robot.frames;
        let number = |name: &String| joint_numbers(frames, [name.as_str()]).map(|numbers| numbers[0]);
        let perhaps = |name: &Option<String>| name.as_ref().map(number).transpose();
        let leg = |leg: &LegSpec| -> Result<LegJoints, Misfit> {
            Ok(LegJoints {
                yaw: perhaps(&leg.yaw)?,
                hip: number(&leg.hip)?,
                knee: number(&leg.knee)?,
                ankle: perhaps(&leg.ankle)?,
            })
        };
        Ok(Some(Arc::new(Self {
            legs: self.spec.legs.iter().map(leg).collect::<Result<_, _>>()?,
            swings: joint_numbers(frames, self.spec.swings.iter().map(|swing| swing.joint.as_str()))?,
            ..Self::new(self.spec.clone())
        })))
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, _: Pose) {
        control.state.iter_mut().for_each(|column| column[lane] = 0.0);
        if self.spec.by == Commands::Rate {
            // what was commanded as a position is no rate
            control.joints.commands.iter_mut().for_each(|column| column[lane] = 0.0);
        }
        let walk = self.load(control, lane);
        self.command(control, lane, &walk);
    }

    fn control(&self, control: &mut Control<'_>) {
        while let Some(lane) = control.next_lane() {
            let mut walk = self.load(control, lane);
            let wanted = self.bounded(self.wanted(control, lane));
            self.advance(&mut walk, wanted, control.period_s);
            self.store(control, lane, &walk);
            self.command(control, lane, &walk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_core::random::Stream;

    fn leg(y_m: f64, phase: f64, knee_points: Knee) -> LegSpec {
        let name = |joint: &str| format!("{joint}{y_m}{phase}");
        LegSpec {
            yaw: None,
            hip: name("hip"),
            knee: name("knee"),
            ankle: None,
            thigh_m: 0.2,
            shank_m: 0.18,
            y_m,
            phase,
            knee_points,
        }
    }

    /// Four legs that trot: opposite corners together.
    fn trot(stance_share: f64) -> Gait {
        let defaults = <GaitSpec as Spec>::read(&Node::default(), "", &[], &mut Problems::default()).expect("defaults");
        let legs = [(0.1, 0.0), (-0.1, 0.5), (0.1, 0.5), (-0.1, 0.0)];
        let legs = legs.map(|(y_m, phase)| leg(y_m, phase, Knee::Backward)).to_vec();
        Gait::new(GaitSpec { legs, stand_height_m: 0.3, period_s: 0.5, stance_share, accel_mps2: 2.0, ..defaults })
    }

    fn standing() -> Walk {
        Walk {
            phase: 0.0,
            speed: 0.0,
            turn: 0.0,
            feet: [Foot::MIDDLE; MOST],
            lifted: [Foot::MIDDLE; MOST],
            lift_m: [0.0; MOST],
        }
    }

    #[test]
    fn angles_of_hip_and_knee_put_the_foot_where_it_is_to_be() {
        for knee_points in [Knee::Forward, Knee::Backward] {
            let leg = leg(0.0, 0.0, knee_points);
            for (ahead, below) in [(0.0, 0.3), (0.15, 0.25), (-0.2, 0.31), (0.05, 0.1), (-0.1, 0.36)] {
                let (hip, knee) = two_links(&leg, ahead, below);
                let x = -0.2 * hip.sin() - 0.18 * (hip + knee).sin();
                let z = 0.2 * hip.cos() + 0.18 * (hip + knee).cos();
                assert!((x - ahead).abs() < 1e-12 && (z - below).abs() < 1e-12, "{ahead} {below}: {x} {z}");
                // the knee lies on its side of the line from hip to foot
                let side = -0.2 * hip.sin() * below - 0.2 * hip.cos() * ahead;
                assert_eq!(side > 0.0, knee_points == Knee::Forward, "{ahead} {below}");
            }
        }
    }

    #[test]
    fn feet_on_the_ground_go_back_as_fast_as_the_robot_goes_on_and_stances_are_centred() {
        for share in [0.5, 0.75] {
            let (gait, mut walk, dt) = (trot(share), standing(), 0.004);
            let speed = 0.3;
            for _ in 0..1000 {
                gait.advance(&mut walk, [speed, 0.0], dt);
            }
            assert_eq!(walk.speed, speed);
            let (mut foremost, mut hindmost, mut on_ground) = ([0.0_f64; 4], [0.0_f64; 4], 0);
            for _ in 0..1000 {
                let before = walk;
                gait.advance(&mut walk, [speed, 0.0], dt);
                for leg in 0..4 {
                    let (was, is) = (before.feet[leg].ahead_m, walk.feet[leg].ahead_m);
                    if before.lift_m[leg] == 0.0 && walk.lift_m[leg] == 0.0 {
                        on_ground += 1;
                        assert!((is - was + speed * dt).abs() < 1e-12, "leg {leg} slides");
                        assert_eq!(gait.height_m(&walk, leg), 0.0);
                    }
                    foremost[leg] = foremost[leg].max(is);
                    hindmost[leg] = hindmost[leg].min(is);
                }
            }
            let half = 0.5 * speed * share * 0.5;
            for leg in 0..4 {
                // the foot is seen at calls only
                assert!((foremost[leg] - half).abs() < 2.0 * speed * dt, "{} {half}", foremost[leg]);
                assert!((hindmost[leg] + half).abs() < 2.0 * speed * dt, "{} {half}", hindmost[leg]);
            }
            let expected = 4000.0 * share;
            assert!((f64::from(on_ground) / expected - 1.0).abs() < 0.03, "{on_ground} {expected}");
        }
    }

    #[test]
    fn legs_turn_by_steps_of_different_length() {
        let (gait, mut walk) = (trot(0.5), standing());
        for _ in 0..1000 {
            gait.advance(&mut walk, [0.0, 0.5], 0.004);
        }
        // ω y: those on the left go back while those on the right go ahead
        assert_eq!(gait.rates(0, &walk), (-0.05, 0.0));
        assert_eq!(gait.rates(1, &walk), (0.05, 0.0));
    }

    #[test]
    fn no_foot_is_told_to_go_further_than_it_reaches_whatever_is_commanded() {
        let (gait, mut walk, stream) = (trot(0.6), standing(), Stream::new(5, 0));
        let reach = gait.reach_m[0];
        for step in 0..20_000 {
            let [a, b, ..] = stream.normals(step / 150, 0);
            gait.advance(&mut walk, gait.bounded([3.0 * a, b]), 0.004);
            for foot in &walk.feet[..4] {
                assert!(foot.ahead_m.abs() <= reach + 1e-3, "{step}: {} of {reach}", foot.ahead_m);
            }
        }
        // as fast as the legs reach, and no faster
        for _ in 0..3000 {
            gait.advance(&mut walk, gait.bounded([100.0, 0.0]), 0.004);
        }
        assert!((walk.speed - 2.0 * reach / (0.6 * 0.5)).abs() < 1e-3, "{}", walk.speed);
    }

    #[test]
    fn told_to_stop_all_feet_come_to_their_middle_and_stay() {
        let (gait, mut walk) = (trot(0.5), standing());
        for _ in 0..777 {
            gait.advance(&mut walk, [0.4, 0.3], 0.004);
        }
        for _ in 0..500 {
            gait.advance(&mut walk, [0.0, 0.0], 0.004);
        }
        let stood = walk;
        assert!(stood.feet.iter().all(|foot| foot.is_settled()) && stood.lift_m == [0.0; MOST]);
        gait.advance(&mut walk, [0.0, 0.0], 0.004);
        assert_eq!((walk.feet, walk.phase), (stood.feet, 0.0));
    }
}
