use super::super::testing::{defaults, environment, glance};
use super::*;
use muster_core::component::Pose;
use muster_core::contact::Obstacle;
use muster_core::obstacles::Obstacles;
use muster_core::shape::{Shape, Solid};
use muster_core::snapshot::{Seen, Snapshot};

/// A wall across the view at a distance.
fn world(depth_m: f64) -> Snapshot {
    let mut environment = environment();
    let wall = Shape::Box { half_m: DVec3::new(0.5, 500.0, 500.0) };
    let pose = Pose { position_m: DVec3::new(depth_m + 0.5, 0.0, 0.0), ..Pose::IDENTITY };
    environment.obstacles = Obstacles::new(vec![Obstacle::new("", Solid::new(wall).expect("a box"), pose)]);
    let robot = Seen {
        key: 1,
        robot: 0,
        position_m: DVec3::ZERO,
        orientation: glam::DQuat::IDENTITY,
        velocity_mps: DVec3::ZERO,
        angular_velocity_radps: DVec3::ZERO,
        radius_m: 0.0,
    };
    Snapshot::of(Arc::new(environment), vec![robot], &[])
}

fn points(spec: StereoPointsSpec, depth_m: f64) -> Vec<[f64; 3]> {
    let sensor = StereoPoints::new(spec).expect("a sensor");
    let mut sample = Vec::new();
    sensor.look(&glance(&world(depth_m), 0, &Pose::IDENTITY), &mut sample);
    sample.as_chunks().0.to_vec()
}

#[test]
fn the_spread_of_depth_grows_with_its_square() {
    // f = 554 px and B = 0.12 m: a noise of 0.25 px is Z² / 266
    for depth_m in [2.0, 4.0, 8.0] {
        let points = points(defaults(), depth_m);
        assert_eq!(points.len(), 80 * 60);
        let mean = points.iter().map(|point| point[0]).sum::<f64>() / points.len() as f64;
        let variance = points.iter().map(|point| (point[0] - mean) * (point[0] - mean)).sum::<f64>();
        let deviation_m = (variance / points.len() as f64).sqrt();
        let expected_m = depth_m * depth_m * 0.25 / (320.0 / 30.0_f64.to_radians().tan() * 0.12);
        assert!(
            (deviation_m / expected_m - 1.0).abs() < 0.05,
            "{deviation_m} m instead of {expected_m} m at {depth_m} m"
        );
    }
}

#[test]
fn without_noise_points_lie_on_the_wall_and_far_walls_are_not_seen() {
    let spec = StereoPointsSpec { disparity_noise_px: 0.0, ..defaults() };
    for point in points(spec.clone(), 5.0) {
        assert!((point[0] - 5.0).abs() < 1e-9, "{point:?}");
    }
    // f B is 66.5 px m: beyond 66.5 m there is less than a pixel of disparity
    assert!(points(spec.clone(), 67.0).is_empty());
    assert_eq!(points(spec, 66.0).len(), 80 * 60);
}
