//! North, east, down: turns the axes of a sample from those of REP-103 to those of aircraft, or back.
//!
//! | what | from | to |
//! |---|---|---|
//! | points and vectors of the world | east, north, up (x, y, z) | north, east, down (y, x, −z) |
//! | vectors of body, mount or start | forward, left, up (x, y, z) | forward, right, down (x, −y, −z) |
//! | orientation | `enu_from_flu` q | `ned_from_frd` W q B, with W and B the half turns that exchange the axes |
//! | yaw, headings | from east towards north ψ | from north towards east π/2 − ψ |
//! | pitch, turns about up | down positive θ, to the left positive | up positive −θ, to the right positive |
//! | roll | φ | φ |
//!
//! Each line is its own inverse, so both directions compute the same; the direction tells which axes a sample must be in.
//! Fields keep their names. Everything that has a direction is turned; numbers without one stay. The robot's own drivers
//! read modified samples too and expect REP-103: give software outside a sensor of its own.

use super::{build, for_each_field};
use glam::DQuat;
use muster_core::component::{Kind, Modifier, Sample};
use muster_core::lanes::{Quantity, Role};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2};

muster_core::choice! {
    /// Which way axes are turned.
    pub enum Direction {
        /// From east, north, up.
        ToNed = "to_ned",
        /// From north, east, down.
        ToEnu = "to_enu",
    }
}

spec! {
    /// North, east, down.
    pub struct Ned {
        /// to_ned or to_enu.
        direction: Direction = Direction::ToNed;
    }
}

/// North, east, down.
pub const KIND: Kind<dyn Modifier> = Kind {
    name: "ned",
    doc: "Axes of world and body become north-east-down and forward-right-down, or back; angles and orientations too.",
    fields: Ned::FIELDS,
    build: &build::<Ned>,
};

impl Ned {
    /// Whether a field is in the axes this modifier turns.
    fn turns(&self, field: &Quantity) -> bool {
        field.role != Role::Plain && field.down == (self.direction == Direction::ToEnu)
    }
}

impl Modifier for Ned {
    fn check(&self, fields: &[Quantity]) -> Result<(), String> {
        if fields.iter().any(|field| self.turns(field)) {
            return Ok(());
        }
        let axes = match self.direction {
            Direction::ToNed => "east, north, up or forward, left, up",
            Direction::ToEnu => "north, east, down or forward, right, down",
        };
        Err(format!("a field in the axes {axes}: a position, a velocity, an orientation, a heading"))
    }

    fn fields(&self, fields: &[Quantity]) -> Vec<Quantity> {
        let turned = |field: &Quantity| Quantity { down: field.down != self.turns(field), ..*field };
        fields.iter().map(turned).collect()
    }

    fn modify(&self, sample: &mut Sample<'_>) -> bool {
        for_each_field(sample.values, sample.fields, |field, numbers| {
            if self.turns(field) {
                turn(field.role, numbers);
            }
        });
        true
    }
}

/// Turns the numbers of one field.
fn turn(role: Role, numbers: &mut [f64]) {
    match (role, numbers) {
        (Role::Plain, _) => (),
        (Role::Point | Role::World, numbers) => {
            for vector in numbers.as_chunks_mut::<3>().0 {
                *vector = [vector[1], vector[0], -vector[2]];
            }
        }
        (Role::Body, numbers) => {
            for vector in numbers.as_chunks_mut::<3>().0 {
                *vector = [vector[0], -vector[1], -vector[2]];
            }
        }
        (Role::Attitude, numbers) => {
            for quaternion in numbers.as_chunks_mut::<4>().0 {
                // half turns about the horizontal diagonal of the world and about the body's x axis; the sign makes
                // the heading east, which is a quarter turn from north, one with a positive w
                let world = DQuat::from_xyzw(FRAC_1_SQRT_2, FRAC_1_SQRT_2, 0.0, 0.0);
                let body = DQuat::from_xyzw(-1.0, 0.0, 0.0, 0.0);
                *quaternion = (world * DQuat::from_array(*quaternion) * body).to_array();
            }
        }
        (Role::Turn, numbers) => {
            for [_, y, z, _] in numbers.as_chunks_mut::<4>().0 {
                (*y, *z) = (-*y, -*z);
            }
        }
        (Role::Heading, numbers) => {
            numbers.iter_mut().for_each(|angle| *angle = math::wrap_angle(FRAC_PI_2 - *angle));
        }
        (Role::Flipped, numbers) => numbers.iter_mut().for_each(|angle| *angle = -*angle),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{defaults, run};
    use super::*;
    use glam::DVec3;
    use std::f64::consts::PI;

    fn to_ned() -> Ned {
        defaults()
    }

    fn to_enu() -> Ned {
        Ned { direction: Direction::ToEnu }
    }

    #[test]
    fn one_two_three_in_east_north_up_is_two_one_minus_three() {
        let fields = crate::sensors::gps::FIELDS;
        let measured = [47.0, 8.0, 488.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let turned = run(&[&to_ned()], fields, &measured, 1).remove(0);
        assert_eq!(turned, [47.0, 8.0, 488.0, 2.0, 1.0, -3.0, 5.0, 4.0, -6.0]);
        let body = crate::sensors::imu::FIELDS;
        let turned = run(&[&to_ned()], body, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 1).remove(0);
        assert_eq!(turned, [1.0, -2.0, -3.0, 4.0, -5.0, -6.0]);
    }

    #[test]
    fn a_compass_counts_from_north_clockwise() {
        let fields = [Quantity::one("yaw_rad").with(Role::Heading), Quantity::one("pitch_rad").with(Role::Flipped)];
        // east, north, west, south: 90°, 0°, 270° which is -90°, 180°
        for (enu, ned) in [(0.0, FRAC_PI_2), (FRAC_PI_2, 0.0), (PI, -FRAC_PI_2), (-FRAC_PI_2, PI)] {
            let turned = run(&[&to_ned()], &fields, &[enu, 0.2], 1).remove(0);
            assert!((turned[0] - ned).abs() < 1e-15 && turned[1] == -0.2, "{enu}: {turned:?}");
        }
    }

    #[test]
    fn the_orientation_takes_turned_bodies_to_the_turned_world() {
        // a vector of the body seen in the world is the same vector, whichever axes both are in
        let fields = [Quantity::many("orientation", 4).with(Role::Attitude)];
        for step in 0..20 {
            let (roll, pitch, yaw) = (0.1 * f64::from(step), 0.05 * f64::from(step) - 0.4, 0.6 * f64::from(step));
            let enu_from_flu = math::quat_from_rpy(roll, pitch, yaw);
            let turned = run(&[&to_ned()], &fields, &enu_from_flu.to_array(), 1).remove(0);
            let ned_from_frd = DQuat::from_slice(&turned);
            let (x, y, z) = (0.3, -0.7, 1.1);
            let enu = math::rotate(enu_from_flu, DVec3::new(x, y, z));
            let ned = math::rotate(ned_from_frd, DVec3::new(x, -y, -z));
            assert!((DVec3::new(enu.y, enu.x, -enu.z) - ned).length() < 1e-14);
            // and its angles are those of the fields of angles
            let (_, pitch_ned, yaw_ned) = math::rpy_from_quat(ned_from_frd);
            assert!((pitch_ned + pitch).abs() < 1e-14);
            assert!(math::wrap_angle(yaw_ned - (FRAC_PI_2 - yaw)).abs() < 1e-14);
        }
    }

    #[test]
    fn there_and_back_changes_nothing() {
        for (kind, len) in [(crate::sensors::truth::KIND, 13), (crate::sensors::odometry::KIND, 13)] {
            let sensor = super::super::testing::sensor(&kind);
            let measured: Vec<f64> = (0..len).map(|number| 0.1 * f64::from(number) - 0.6).collect();
            let turned = run(&[&to_ned(), &to_enu()], sensor.fields(), &measured, 1).remove(0);
            for (turned, measured) in turned.iter().zip(&measured) {
                assert!((turned - measured).abs() < 1e-15, "{}: {turned} {measured}", kind.name);
            }
        }
    }

    #[test]
    fn a_sensor_without_directions_or_in_other_axes_is_refused() {
        let fields = crate::sensors::gps::FIELDS;
        assert_eq!(to_ned().check(fields), Ok(()));
        assert!(to_ned().check(crate::sensors::barometer::FIELDS).is_err());
        assert!(to_enu().check(fields).is_err());
        let turned = to_ned().fields(fields);
        assert!(to_ned().check(&turned).is_err());
        assert_eq!(to_enu().fields(&turned), fields);
    }
}
