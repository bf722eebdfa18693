//! Follow: keeps behind another robot, at a distance, reading that robot's pose sensor straight from the board, without
//! a copy and without middleware.

use super::heading::Heading;
use muster_core::component::{Control, Driver, Kind, Pose, Subscription};
use muster_core::lanes::setpoint;
use muster_core::spec::Spec;
use muster_core::{math, spec};
use std::sync::Arc;

spec! {
    /// Parameters of following.
    pub struct FollowSpec {
        /// The sensor of the robot to follow, `robot.sensor`; its sample begins with position and orientation.
        leader: String;
        /// Name of the robot's own pose sensor.
        pose: String = "truth".to_owned();
        /// Distance to keep.
        distance_m: f64 = 1.0, in 0.0..=100000;
        /// Speed towards the place behind the leader, for each metre away from it.
        gain_per_s: f64 = 1.5, in 0.0..=100;
        /// Largest speed.
        speed_max_mps: f64 = 1.0, in 0.0..=1000;
        /// Turns towards the leader at most this fast; 0: never turns, moves in any direction.
        turn_max_radps: f64 = 2.0, in 0.0..=100;
    }
}

/// The row of this driver in the table.
pub const KIND: Kind<dyn Driver> = Kind {
    name: "follow",
    doc: "Keeps at a distance from another robot, reading that robot's pose sensor.",
    fields: FollowSpec::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <FollowSpec as Spec>::read(node, path, also, problems)?;
        if !spec.leader.contains('.') {
            let place = node.get("leader").map_or(node.place, |leader| leader.place);
            let found = format!("{:?}", spec.leader);
            problems.error(place, &format!("{path}.leader"), found, "robot.sensor, for example carrier.truth");
            return None;
        }
        Some(Arc::new(Follow { spec }))
    },
};

struct Follow {
    spec: FollowSpec,
}

const OWN: usize = 0;
const LEADER: usize = 1;

impl Driver for Follow {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::own(&self.spec.pose, ""), Subscription::own(&self.spec.leader, "")]
    }

    fn start(&self, _: &mut Control<'_>, _: usize, _: Pose) {}

    fn control(&self, control: &mut Control<'_>) {
        while let Some(lane) = control.next_lane() {
            let (own, leader) = (control.reading(OWN, lane), control.reading(LEADER, lane));
            // a leader that is gone, or not heard yet, is waited for
            if own.stamp.is_none() || leader.stamp.is_none() {
                control.command(lane, setpoint::VELOCITY, [0.0; 4]);
                continue;
            }
            let way = leader.vec3(0) - own.vec3(0);
            let distance = way.length();
            let speed = math::clamp(
                self.spec.gain_per_s * (distance - self.spec.distance_m),
                -self.spec.speed_max_mps,
                self.spec.speed_max_mps,
            );
            let velocity = way.normalize_or_zero() * speed;
            let heading = Heading::of(own.quat(3));
            let off = heading.turn_to((way.y, way.x));
            let ahead = heading.of_world(velocity);
            let turn = math::clamp(2.0 * off, -self.spec.turn_max_radps, self.spec.turn_max_radps);
            control.command(lane, setpoint::VELOCITY, [ahead.x, ahead.y, ahead.z, turn]);
        }
    }
}
