//! Gaussian noise: white noise on the numbers of a sample. An orientation is turned by a small random rotation (about
//! each axis by a normal angle, through the exponential map) and stays a unit quaternion.

use super::{ORIENTATION, build, check_fields, chosen, for_each_field, stream};
use glam::{DQuat, DVec3};
use muster_core::component::{Kind, Modifier, Sample};
use muster_core::lanes::Quantity;
use muster_core::math;
use muster_core::random::Stream;
use muster_core::spec;
use muster_core::spec::Spec;

spec! {
    /// Gaussian noise.
    pub struct GaussianNoise {
        /// Standard deviation of each axis of `position_m`.
        position_std_m: f64 = 0.0, in 0.0..=1e6;
        /// Standard deviation of the rotation of `orientation` about each axis.
        rotation_std_rad: f64 = 0.0, in 0.0..=10.0;
        /// Standard deviation of the numbers of other fields, or of those in `fields`, in their own unit.
        std: f64 = 0.0, in 0.0..=1e9;
        /// To which fields `std` applies; all measurements if none is named.
        fields: Vec<String> = Vec::new();
    }
}

/// Gaussian noise.
pub const KIND: Kind<dyn Modifier> = Kind {
    name: "gaussian_noise",
    doc: "White Gaussian noise on positions, rotations or any field.",
    fields: GaussianNoise::FIELDS,
    build: &build::<GaussianNoise>,
};

const POSITION: &str = "position_m";

impl GaussianNoise {
    fn std_of(&self, field: &Quantity) -> f64 {
        match field.name {
            ORIENTATION if self.rotation_std_rad > 0.0 => self.rotation_std_rad,
            POSITION if self.position_std_m > 0.0 => self.position_std_m,
            _ if chosen(&self.fields, field) => self.std,
            _ => 0.0,
        }
    }
}

impl Modifier for GaussianNoise {
    fn check(&self, fields: &[Quantity]) -> Result<(), String> {
        check_fields(&self.fields, fields)?;
        let wanted = [(self.position_std_m, POSITION), (self.rotation_std_rad, ORIENTATION)];
        let names: Vec<String> =
            wanted.iter().filter(|(std, _)| *std > 0.0).map(|(_, name)| (*name).to_owned()).collect();
        check_fields(&names, fields)
    }

    fn modify(&self, sample: &mut Sample<'_>) -> bool {
        let mut normals = Normals::new(stream(sample.stream), sample.index);
        for_each_field(sample.values, sample.fields, |field, numbers| {
            let std = self.std_of(field);
            if std == 0.0 {
                return;
            }
            match numbers {
                [x, y, z, w] if field.name == ORIENTATION => {
                    let turn = DVec3::new(normals.draw(), normals.draw(), normals.draw()) * std;
                    let turned = DQuat::from_xyzw(*x, *y, *z, *w) * math::quat_exp(turn);
                    [*x, *y, *z, *w] = math::normalize_quat(turned).to_array();
                }
                numbers => numbers.iter_mut().for_each(|number| *number += std * normals.draw()),
            }
        });
        true
    }
}

/// The normals of one sample, one after another.
struct Normals {
    stream: Stream,
    index: u64,
    draw: u32,
    four: [f64; 4],
    used: usize,
}

impl Normals {
    fn new(stream: Stream, index: u64) -> Self {
        Self { stream, index, draw: 0, four: [0.0; 4], used: 4 }
    }

    fn draw(&mut self) -> f64 {
        if self.used == 4 {
            self.four = self.stream.normals(self.index, self.draw);
            self.draw += 1;
            self.used = 0;
        }
        self.used += 1;
        self.four[self.used - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{defaults, run, run_with_key};
    use super::*;

    const POSE: &[Quantity] = &[Quantity::many(POSITION, 3), Quantity::many(ORIENTATION, 4), Quantity::one("range_m")];
    const AT: [f64; 8] = [1.0, 2.0, 3.0, 0.0, 0.6, 0.0, 0.8, 7.0];

    fn deviation(values: impl Iterator<Item = f64>) -> f64 {
        let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value * value, count + 1.0));
        (sum / count).sqrt()
    }

    fn check_std(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 0.05, "{found}, expected {expected}");
    }

    #[test]
    fn position_and_rotation_have_their_standard_deviations() {
        let noise = GaussianNoise { position_std_m: 0.3, rotation_std_rad: 0.05, ..defaults() };
        let samples = run(&[&noise], POSE, &AT, 10_000);
        for axis in 0..3 {
            check_std(deviation(samples.iter().map(|sample| sample[axis] - AT[axis])), 0.3);
        }
        let turns: Vec<DQuat> = samples
            .iter()
            .map(|sample| DQuat::from_slice(&AT[3..7]).conjugate() * DQuat::from_slice(&sample[3..7]))
            .collect();
        assert!(turns.iter().all(|turn| (turn.length() - 1.0).abs() < 1e-14));
        check_std(deviation(turns.iter().map(|turn| 2.0 * turn.x)), 0.05);
        check_std(deviation(turns.iter().map(|turn| 2.0 * turn.y)), 0.05);
        check_std(deviation(turns.iter().map(|turn| 2.0 * turn.z)), 0.05);
        assert!(samples.iter().all(|sample| sample[7] == 7.0), "other fields are left alone");
    }

    #[test]
    fn std_applies_to_the_fields_named_or_to_all_measurements() {
        let named = GaussianNoise { std: 0.5, fields: vec!["range_m".to_owned()], ..defaults() };
        let samples = run(&[&named], POSE, &AT, 10_000);
        check_std(deviation(samples.iter().map(|sample| sample[7] - 7.0)), 0.5);
        assert!(samples.iter().all(|sample| sample[..7] == AT[..7]));
        let all = GaussianNoise { std: 0.5, ..defaults() };
        let samples = run(&[&all], POSE, &AT, 10_000);
        check_std(deviation(samples.iter().map(|sample| sample[1] - 2.0)), 0.5);
        assert!(samples.iter().all(|sample| sample[3..7] == AT[3..7]), "an orientation has its own unit");
    }

    #[test]
    fn noise_is_a_function_of_the_stream_and_differs_between_things_seen() {
        let noise = GaussianNoise { std: 1.0, ..defaults() };
        let fields = [Quantity::one("id"), Quantity::one("range_m")];
        let with_key = |key| run_with_key(&[&noise], &fields, &[8.0, 0.0, 9.0, 0.0], 10, key);
        assert_eq!(with_key(1), with_key(1));
        assert_ne!(with_key(1), with_key(2));
        for sample in with_key(1) {
            assert_eq!((sample[0], sample[2]), (8.0, 9.0), "names have no noise");
            assert_ne!(sample[1], sample[3]);
        }
    }

    #[test]
    fn noise_of_a_field_the_sensor_lacks_is_told() {
        let noise = GaussianNoise { rotation_std_rad: 0.1, ..defaults() };
        assert_eq!(noise.check(POSE), Ok(()));
        assert_eq!(noise.check(&POSE[..1]), Err("a field \"orientation\"".to_owned()));
    }

    #[test]
    fn without_a_standard_deviation_nothing_changes() {
        let noise: GaussianNoise = defaults();
        assert_eq!(run(&[&noise], POSE, &AT, 1), [AT.to_vec()]);
    }
}
