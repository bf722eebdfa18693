//! Accelerometer as MORSE has it: the distance travelled since the last sample, and velocity and acceleration by
//! differences of its own samples. What it knows is where it was at its last sample and how fast it was then:
//!
//! ```text
//! d = p(t) − p(t − Δt)      distance |d|      velocity v = d / Δt      acceleration (v − v(t − Δt)) / Δt
//! ```
//!
//! So the velocity is the mean over one period and the acceleration the mean over two: they lag by half a period and a
//! whole one, and gravity is not felt. An accelerometer that feels gravity and has the errors of one is the `imu`.

use super::neighbours::Axes;
use super::{build, mount_motion, world_from_mount};
use muster_core::component::{Feel, Kind, Measure, Sense, Sensor};
use muster_core::lanes::{LANES, Quantity, Role, body};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Accelerometer.
    pub struct Accelerometer {
        /// In which axes: world or body (those of the mount at the time of the sample).
        axes: Axes = Axes::World;
    }
}

/// Accelerometer.
pub const KIND: Kind<dyn Sensor> = Kind {
    name: "accelerometer",
    doc: "Distance since the last sample, velocity and acceleration by differences of its own samples, without gravity (MORSE).",
    fields: Accelerometer::FIELDS,
    build: &build::<Accelerometer>,
};

/// What a sample holds, in the axes of the world.
pub const FIELDS: &[Quantity] = &fields(Role::World);
const IN_BODY: &[Quantity] = &fields(Role::Body);

const fn fields(axes: Role) -> [Quantity; 3] {
    [
        Quantity::one("distance_m"),
        Quantity::many("velocity_mps", 3).with(axes),
        Quantity::many("acceleration_mps2", 3).with(axes),
    ]
}

/// Where the distance is in a sample.
pub const DISTANCE: usize = 0;
/// Where the velocity begins in a sample.
pub const VELOCITY: usize = 1;
/// Where the acceleration begins in a sample.
pub const ACCELERATION: usize = 4;

const STATE: &[Quantity] = &[Quantity::many("last_position_m", 3), Quantity::many("last_velocity_mps", 3)];
const LAST_POSITION: usize = 0;
const LAST_VELOCITY: usize = 3;

impl Sensor for Accelerometer {
    fn fields(&self) -> &'static [Quantity] {
        match self.axes {
            Axes::World => FIELDS,
            Axes::Body => IN_BODY,
        }
    }

    fn default_rate_hz(&self) -> f64 {
        60.0
    }

    fn sense(&self) -> Sense<'_> {
        Sense::Own(self)
    }
}

impl Feel for Accelerometer {
    fn state(&self) -> &'static [Quantity] {
        STATE
    }

    fn start(&self, measure: &mut Measure<'_>, lane: usize) {
        let Some(truth) = measure.truth.first_chunk() else { return };
        let (position_m, velocity_mps) = mount_motion(truth, measure.mount.position_m, lane);
        body::set_vec3(measure.state, LAST_POSITION, lane, position_m);
        body::set_vec3(measure.state, LAST_VELOCITY, lane, velocity_mps);
    }

    fn measure(&self, measure: &mut Measure<'_>) {
        let (mount, lanes, rate_hz) = (*measure.mount, measure.lanes.min(LANES), 1.0 / measure.period_s);
        let (state, sample) = (&mut *measure.state, &mut *measure.sample);
        let Some(truth) = measure.truth.first_chunk() else { return };
        let in_body = self.axes == Axes::Body;
        measure.simd.run(
            #[inline(always)]
            || {
                for lane in 0..lanes {
                    let (position_m, _) = mount_motion(truth, mount.position_m, lane);
                    let step_m = position_m - body::vec3(state, LAST_POSITION, lane);
                    let velocity = step_m * rate_hz;
                    let acceleration = (velocity - body::vec3(state, LAST_VELOCITY, lane)) * rate_hz;
                    body::set_vec3(state, LAST_POSITION, lane, position_m);
                    body::set_vec3(state, LAST_VELOCITY, lane, velocity);
                    sample[DISTANCE][lane] = step_m.length();
                    let turned = world_from_mount(truth, &mount, lane);
                    let shown = |vector| if in_body { math::rotate_inverse(turned, vector) } else { vector };
                    body::set_vec3(sample, VELOCITY, lane, shown(velocity));
                    body::set_vec3(sample, ACCELERATION, lane, shown(acceleration));
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, defaults};
    use super::*;
    use glam::DVec3;

    /// A circle of 2 m at 3 rad/s, heading along it; returns the time of the last sample.
    fn circle(accelerometer: &Accelerometer, bench: &mut Bench, samples: usize) -> f64 {
        let mut angle = 0.0_f64;
        for sample in 0..=samples {
            angle = 3.0 * bench.period_s * sample as f64;
            let place = 2.0 * DVec3::new(angle.cos(), angle.sin(), 0.0);
            for lane in 0..LANES {
                body::set_vec3(&mut bench.truth, body::POSITION, lane, place);
                let velocity = 6.0 * DVec3::new(-angle.sin(), angle.cos(), 0.0);
                body::set_vec3(&mut bench.truth, body::VELOCITY, lane, velocity);
                let heading = angle + std::f64::consts::FRAC_PI_2;
                body::set_orientation(&mut bench.truth, lane, math::quat_from_yaw(heading));
            }
            match sample {
                0 => bench.start(accelerometer),
                _ => bench.measure(accelerometer),
            }
        }
        angle / 3.0
    }

    #[test]
    fn velocity_and_acceleration_are_those_of_a_circle_within_five_percent() {
        let accelerometer: Accelerometer = defaults();
        let mut bench = Bench::new(&accelerometer, 120.0);
        let time_s = circle(&accelerometer, &mut bench, 100);
        let angle = 3.0 * time_s;
        // v = r ω = 6 m/s along the tangent, a = r ω² = 18 m/s² to the centre, d = 0.05 m a sample
        let velocity = 6.0 * DVec3::new(-angle.sin(), angle.cos(), 0.0);
        let acceleration = -18.0 * DVec3::new(angle.cos(), angle.sin(), 0.0);
        assert!((bench.vec3(VELOCITY, 3) - velocity).length() < 0.05 * 6.0);
        assert!((bench.vec3(ACCELERATION, 3) - acceleration).length() < 0.05 * 18.0);
        assert!((bench.sample[DISTANCE][3] / 0.05 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn differences_are_exact_for_a_parabola_half_and_one_period_ago() {
        let accelerometer: Accelerometer = defaults();
        let mut bench = Bench::new(&accelerometer, 10.0);
        bench.start(&accelerometer);
        for sample in 1..=20 {
            let time_s = 0.1 * f64::from(sample);
            bench.truth[body::POSITION] = [0.5 * 1.2 * time_s * time_s; LANES];
            bench.measure(&accelerometer);
            assert!((bench.sample[VELOCITY][0] - 1.2 * (time_s - 0.05)).abs() < 1e-12);
            if sample > 1 {
                assert!((bench.sample[ACCELERATION][0] - 1.2).abs() < 1e-11);
            }
        }
    }

    #[test]
    fn in_its_own_axes_a_circle_is_driven_forward_and_pulled_left() {
        let accelerometer = Accelerometer { axes: Axes::Body };
        let mut bench = Bench::new(&accelerometer, 1000.0);
        circle(&accelerometer, &mut bench, 100);
        assert!((bench.vec3(VELOCITY, 0) - DVec3::new(6.0, 0.0, 0.0)).length() < 0.02);
        assert!((bench.vec3(ACCELERATION, 0) - DVec3::new(0.0, 18.0, 0.0)).length() < 0.06);
    }
}
