//! Formation: keeps a place in a formation and out of everybody's way by artificial potentials. Each robot decides for
//! itself from its own pose and what its `neighbours` sensor tells, and commands velocities in the frame of its
//! heading, so it drives every robot that follows them in any direction.
//!
//! ```text
//! v = v_d + k (s − p)                  downhill to the place s, limited in speed; v_d: drift of the formation
//!   + Σ c (1/d − 1/R) / d² · n         away from every neighbour and obstacle nearer than R   (Khatib 1986)
//!   + Σ … b (a × n)                    and around it, as far as it stands in the way          (De Luca, Oriolo 1994)
//! ```
//!
//! d is the gap between the outlines as it will be after the reaction time at the present closing speed, so that
//! those who approach fast brake early (Krogh 1984). c makes the repulsion at `clearance_m` equal the greatest speed.
//! b is the share of its speed with which the robot heads for the thing; a points upwards, so two who meet both pass
//! on the right, and none waits behind an obstacle. n points away from the thing.
//!
//! With `shape: home` a robot's place is where it started, as seen from `center_m` and drawn apart by `scale`. With
//! `shape: sphere` it is the nearest point of a sphere: nobody owns a place there, repulsion spreads the robots evenly.
//! Both need no numbers of their own for any robot, so that all robots of a count remain one cohort.

use super::heading::Heading;
use super::status;
use crate::sensors::neighbours;
use glam::DVec3;
use muster_core::component::{Control, Driver, Kind, Pose, Subscription};
use muster_core::lanes::{Quantity, body, setpoint};
use muster_core::spec::Spec;
use muster_core::{choice, math, spec};
use std::sync::Arc;

choice! {
    /// Where the places of a formation are.
    pub enum Shape {
        /// Where the robots start, scaled about the centre.
        Home = "home",
        /// Anywhere on a sphere about the centre.
        Sphere = "sphere",
    }
}

spec! {
    /// Parameters of the formation driver.
    pub struct FormationSpec {
        /// Where the places are: home (where each robot starts) or sphere (anywhere on it).
        shape: Shape = Shape::Home;
        /// Centre of the formation at the start of the run.
        center_m: [f64; 3] = [0.0; 3];
        /// Shape home: how far the places are drawn apart from the centre; 1 for not at all.
        scale: f64 = 1.0, in 0.0..=1000.0;
        /// Shape sphere: its radius.
        sphere_radius_m: f64 = 5.0, in 0.0..=1e6;
        /// Velocity of the whole formation.
        drift_mps: [f64; 3] = [0.0; 3], in -1e3..=1e3;
        /// Speed per distance from the place.
        gain_per_s: f64 = 0.8, in 0.0..=100.0;
        /// The greatest speed relative to the formation.
        speed_max_mps: f64 = 1.5, in 0.0..=1000.0;
        /// The gap to others and obstacles from which on they repel.
        radius_m: f64 = 5.0, in 0.001..=1e6;
        /// The gap at which another alone repels with the greatest speed; less than `radius_m`.
        clearance_m: f64 = 0.5, in 0.001..=1e6;
        /// Radius of the robot's own outline.
        body_radius_m: f64 = 0.25, in 0.0..=1e3;
        /// How long the robot takes to follow a change of velocity.
        reaction_s: f64 = 0.4, in 0.0..=100.0;
        /// Stay at the present height and heed only what lies beside, not above or below (ground robots).
        flat: bool = false;
        /// The place is reached within this distance.
        tolerance_m: f64 = 0.2, in 0.0..=1e6;
        /// Name of the sensor that gives the pose.
        pose: String = "truth".to_owned();
        /// Name of the sensor of neighbours, in the axes of the world.
        neighbours: String = "neighbours".to_owned();
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "formation",
    doc: "Keeps a place in a formation and avoids others and obstacles by artificial potentials.",
    fields: FormationSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <FormationSpec as Spec>::read(node, path, also, problems)?;
        if spec.clearance_m >= spec.radius_m {
            let place = node.get("clearance_m").map_or(node.place, |clearance| clearance.place);
            let path = muster_core::spec::below(path, "clearance_m");
            problems.error(
                place,
                &path,
                spec.clearance_m.to_string(),
                format!("less than radius_m, {}", spec.radius_m),
            );
            return None;
        }
        Some(Arc::new(Formation::new(spec)))
    },
};

struct Formation {
    spec: FormationSpec,
    per_radius: f64,
    /// Speed of repulsion per (1/d − 1/R)/d².
    repulsion: f64,
}

const POSE: usize = 0;
const NEIGHBOURS: usize = 1;

const SLOT: usize = 0;
const ERROR: usize = 3;
const STATUS: usize = 0;

/// Gaps count as no less than this, so that robots in contact part at a finite speed.
const GAP_MIN_M: f64 = 0.01;

/// One thing repels with no more than so many times the greatest speed, else it would drown what others ask for.
const REPULSION_MAX: f64 = 2.0;

/// The axis about which robots pass each other. It leans a little, so that those straight above each other do, too.
const PASSING_AXIS: DVec3 = DVec3::new(0.1, 0.0, 1.0);

impl Formation {
    fn new(spec: FormationSpec) -> Self {
        let (per_radius, per_clearance) = (1.0 / spec.radius_m, 1.0 / spec.clearance_m);
        let at_clearance = (per_clearance - per_radius) * per_clearance * per_clearance;
        Self { repulsion: spec.speed_max_mps / at_clearance, per_radius, spec }
    }
}

impl Driver for Formation {
    fn state(&self) -> &'static [Quantity] {
        const { &[Quantity::many("slot_m", 3), Quantity::one("formation_error_m")] }
    }

    fn integers(&self) -> &'static [Quantity] {
        const { &[Quantity::one("status")] }
    }

    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::own(&self.spec.pose, ""), Subscription::own(&self.spec.neighbours, neighbours::KIND.name)]
    }

    fn start(&self, control: &mut Control<'_>, lane: usize, home: Pose) {
        // a robot that joins later takes its place relative to where the formation is by then
        let drifted = control.time.s() * DVec3::from(self.spec.drift_mps);
        let center = DVec3::from(self.spec.center_m);
        let slot = center + self.spec.scale * (home.position_m - drifted - center);
        body::set_vec3(control.state, SLOT, lane, slot);
        self.note_way(control, lane, self.way(slot, control.time.s(), home.position_m));
    }

    fn control(&self, control: &mut Control<'_>) {
        let time_s = control.time.s();
        while let Some(lane) = control.next_lane() {
            let pose = control.reading(POSE, lane);
            let seen = control.reading(NEIGHBOURS, lane);
            // nobody moves before it has looked around
            if pose.stamp.is_none() || seen.stamp.is_none() || control.integers[STATUS][lane] == status::STOPPED {
                control.command(lane, setpoint::VELOCITY, [0.0; 4]);
                continue;
            }
            let way = self.way(body::vec3(control.state, SLOT, lane), time_s, pose.vec3(0));
            let velocity = self.velocity(way, seen.shared().unwrap_or_default());
            let v = Heading::of(pose.quat(3)).of_world(velocity);
            self.note_way(control, lane, way);
            control.command(lane, setpoint::VELOCITY, [v.x, v.y, v.z, 0.0]);
        }
    }
}

impl Formation {
    /// From a robot to its place, given that place at the start of the run.
    #[inline(always)]
    fn way(&self, slot: DVec3, time_s: f64, position: DVec3) -> DVec3 {
        let drift = time_s * DVec3::from(self.spec.drift_mps);
        let way = match self.spec.shape {
            Shape::Home => slot + drift - position,
            Shape::Sphere => {
                let out = position - (DVec3::from(self.spec.center_m) + drift);
                let distance = out.length();
                // the centre has no nearest point: leave it upwards
                let direction = if distance > 1e-9 { out / distance } else { DVec3::Z };
                (self.spec.sphere_radius_m - distance) * direction
            }
        };
        if self.spec.flat { DVec3::new(way.x, way.y, 0.0) } else { way }
    }

    fn note_way(&self, control: &mut Control<'_>, lane: usize, way: DVec3) {
        let error_m = way.length();
        control.state[ERROR][lane] = error_m;
        control.integers[STATUS][lane] =
            if error_m <= self.spec.tolerance_m { status::ARRIVED } else { status::TRANSIT };
    }

    /// The velocity in the world downhill on all potentials.
    #[inline(always)]
    fn velocity(&self, way: DVec3, seen: &[f64]) -> DVec3 {
        let speed_max = self.spec.speed_max_mps;
        let towards = limited(self.spec.gain_per_s * way, speed_max);
        let (records, _) = seen.as_chunks::<{ neighbours::RECORD }>();
        let avoiding = records.iter().fold(DVec3::ZERO, |sum, record| sum + self.avoid(record, towards));
        let velocity = limited(towards + avoiding, speed_max) + DVec3::from(self.spec.drift_mps);
        if self.spec.flat { DVec3::new(velocity.x, velocity.y, 0.0) } else { velocity }
    }

    /// What one neighbour adds: away from it, and around it if it stands where the robot wants to go.
    #[inline(always)]
    fn avoid(&self, record: &[f64; neighbours::RECORD], towards: DVec3) -> DVec3 {
        let [x, y, z, vx, vy, vz, radius, ..] = *record;
        let there = DVec3::new(x, y, if self.spec.flat { 0.0 } else { z });
        let distance = there.length();
        if distance < 1e-9 {
            return DVec3::ZERO;
        }
        let away = there / -distance;
        let closing = math::max(0.0, away.dot(DVec3::new(vx, vy, vz)));
        let gap = distance - radius - self.spec.body_radius_m - closing * self.spec.reaction_s;
        if gap >= self.spec.radius_m {
            return DVec3::ZERO;
        }
        let per_gap = 1.0 / math::max(gap, GAP_MIN_M);
        let speed_max = self.spec.speed_max_mps;
        let speed =
            math::min(self.repulsion * (per_gap - self.per_radius) * per_gap * per_gap, REPULSION_MAX * speed_max);
        let blocked = math::max(0.0, -away.dot(towards)) / math::max(speed_max, f64::MIN_POSITIVE);
        speed * (away + blocked * PASSING_AXIS.cross(away))
    }
}

#[inline(always)]
fn limited(velocity: DVec3, speed_max: f64) -> DVec3 {
    let speed = velocity.length();
    if speed > speed_max { velocity * (speed_max / speed) } else { velocity }
}
