use super::super::testing::{defaults, environment, glance};
use super::*;
use glam::DVec3;
use muster_core::component::Pose;
use muster_core::contact::Obstacle;
use muster_core::obstacles::Obstacles;
use muster_core::render::Film;
use muster_core::shape::{Shape, Solid};
use muster_core::simd::Simd;
use muster_core::snapshot::Seen;
use std::sync::Arc;

fn robot() -> Seen {
    Seen {
        key: 1,
        robot: 0,
        position_m: DVec3::ZERO,
        orientation: glam::DQuat::IDENTITY,
        velocity_mps: DVec3::ZERO,
        angular_velocity_radps: DVec3::ZERO,
        radius_m: 0.0,
    }
}

/// A camera at the origin that looks along x at a wall 4 m ahead and at a ball before it, to the left.
fn world() -> Snapshot {
    let mut environment = environment();
    let obstacle = |shape: Shape, x: f64, y: f64, tag: &str| Obstacle {
        tags: vec![tag.to_owned()],
        ..Obstacle::new(
            "",
            Solid::new(shape).expect("a shape"),
            Pose { position_m: DVec3::new(x, y, 0.0), ..Pose::IDENTITY },
        )
    };
    environment.obstacles = Obstacles::new(vec![
        obstacle(Shape::Box { half_m: DVec3::new(0.5, 2.0, 1.0) }, 4.5, 0.0, "wall"),
        obstacle(Shape::Sphere { radius_m: 0.25 }, 2.0, 0.6, "ball"),
    ]);
    Snapshot::of(Arc::new(environment), vec![robot()], &[])
}

fn image(spec: CameraSpec) -> Vec<f64> {
    let (camera, world) = (Camera::new(spec).expect("a camera"), world());
    let mut sample = Vec::new();
    camera.look(&glance(&world, 0, &Pose::IDENTITY), &mut sample);
    sample
}

fn spec(output: &[Output]) -> CameraSpec {
    let classes = vec!["ball".to_owned(), "wall".to_owned()];
    CameraSpec { columns: 41, rows: 31, width_deg: 60.0, output: output.to_vec(), classes, ..defaults() }
}

#[test]
fn depth_is_that_of_the_plane_along_the_axis_and_longer_along_the_ray() {
    let axis = image(spec(&[Output::Depth]));
    let ray = image(CameraSpec { depth: Along::Ray, ..spec(&[Output::Depth]) });
    let lens = Camera::new(spec(&[Output::Depth])).expect("a camera").lens;
    let mut on_wall = 0;
    for (pixel, (&axis, &ray)) in axis.iter().zip(&ray).enumerate() {
        let cos = lens.rays.directions()[pixel].x;
        assert!(axis.is_infinite() && ray.is_infinite() || (axis - ray * cos).abs() < 1e-9);
        on_wall += usize::from((axis - 4.0).abs() < 1e-5);
    }
    // the wall spans 4 m by 2 m at 4 m, the image 4.62 m by 3.5 m; the ball hides some of it
    assert!((500..650).contains(&on_wall), "{on_wall} pixels");
    assert!(axis[0].is_infinite(), "above the wall there is nothing");
}

#[test]
fn objects_and_classes_are_told_by_number_side_by_side() {
    let sample = image(spec(&[Output::Classes, Output::Ids, Output::Depth]));
    let (records, rest) = sample.as_chunks::<3>();
    assert!(rest.is_empty() && records.len() == 41 * 31);
    for &[depth_m, id, class] in records {
        match id {
            0.0 => assert!(depth_m.is_infinite() && class == 0.0),
            1.0 => assert!(depth_m > 3.9 && class == 2.0),
            2.0 => assert!(depth_m < 2.0 && class == 1.0),
            other => panic!("object {other}"),
        }
    }
    // left is left: the ball at 16.7° to the left of 30°
    let [_, id, _] = records[15 * 41 + 9];
    assert_eq!(id, 2.0);
    let [_, id, _] = records[15 * 41 + 31];
    assert_eq!(id, 1.0);
}

fn lens(columns: usize, rows: usize) -> Lens {
    Lens::new(LensSpec::pinhole(columns, rows, 0.5)).expect("a lens")
}

const PLAIN: Exposure = Exposure { gain: 1.0, full_well: 0.0, read_noise: 0.0, vignetting: 0.0 };

/// The image of a film of even light but for one pixel.
fn developed(lens: &Lens, exposure: &Exposure, blur_px: f64, (even, spot): (f32, f32)) -> Vec<u32> {
    let rays = lens.rays.len();
    let mut film = Film { light: vec![[even; 3]; rays], hits: Vec::new() };
    film.light[(lens.spec.rows / 2) * lens.spec.columns + lens.spec.columns / 2] = [spot; 3];
    let mut image = vec![0; rays];
    let darkroom = Darkroom::new(lens, exposure, blur_px);
    darkroom.develop(&film, lens, (7, 3), Simd::detect(), |pixel, colour| image[pixel] = colour);
    image
}

/// The light of a grey pixel.
fn light(colour: u32) -> f64 {
    muster_core::colour::linear(f64::from(colour & 0xFF) / 255.0)
}

#[test]
fn a_point_spreads_to_a_gaussian_of_the_width_asked_for() {
    for sigma_px in [0.8, 1.5, 3.0] {
        let lens = lens(61, 41);
        let spot = (2.0 * std::f64::consts::PI * sigma_px * sigma_px * 0.9) as f32;
        let image = developed(&lens, &PLAIN, sigma_px, (0.0, spot));
        let at = |pixel: usize| ((pixel % 61) as f64 - 30.0, (pixel / 61) as f64 - 20.0);
        let sum: f64 = image.iter().map(|&colour| light(colour)).sum();
        let moment = |of: fn((f64, f64)) -> f64| {
            image.iter().enumerate().map(|(pixel, &colour)| light(colour) * of(at(pixel))).sum::<f64>() / sum
        };
        for variance in [moment(|(x, _)| x * x), moment(|(_, y)| y * y)] {
            assert!((variance.sqrt() / sigma_px - 1.0).abs() < 0.02, "{} instead of {sigma_px}", variance.sqrt());
        }
        assert!((sum / f64::from(spot) - 1.0).abs() < 0.02, "light is kept: {sum} of {spot}");
    }
}

#[test]
fn noise_has_the_variance_of_counted_electrons_and_of_reading() {
    let exposure = Exposure { full_well: 1000.0, read_noise: 8.0, ..PLAIN };
    for even in [0.05_f32, 0.3] {
        let image = developed(&lens(200, 200), &exposure, 0.0, (even, even));
        let values: Vec<f64> = image.iter().map(|&colour| light(colour)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / values.len() as f64;
        let expected = (f64::from(even) * 1000.0 + 64.0) / 1e6;
        assert!((mean - f64::from(even)).abs() < 5e-4, "{mean}");
        assert!((variance / expected - 1.0).abs() < 0.04, "{variance:e} instead of {expected:e}");
    }
}

#[test]
fn vignetting_follows_the_fourth_power_of_the_cosine() {
    let lens = lens(101, 101);
    let image = developed(&lens, &Exposure { vignetting: 1.0, ..PLAIN }, 0.0, (0.8, 0.8));
    for pixel in [0, 50, 50 * 101 + 50, 101 * 101 - 1] {
        let cos = lens.rays.directions()[pixel].x;
        let expected = 0.8 * cos.powi(4);
        assert!((light(image[pixel]) / expected - 1.0).abs() < 0.01, "{} of {expected}", light(image[pixel]));
    }
}

#[test]
fn gain_multiplies_light_and_white_is_the_limit() {
    let lens = lens(8, 8);
    let value = |gain: f64| light(developed(&lens, &Exposure { gain, ..PLAIN }, 0.0, (0.2, 0.2))[0]);
    assert!((value(1.0) - 0.2).abs() < 2e-3 && (value(3.0) - 0.6).abs() < 4e-3);
    assert_eq!(value(100.0), 1.0);
}

#[test]
fn cameras_that_make_no_sense_are_told_so() {
    let wrong = |spec: CameraSpec| {
        let mut problems = Problems::default();
        assert!(made(spec, &Node::default(), "cam", &mut problems).is_none());
        problems.list()[0].to_string()
    };
    assert!(wrong(CameraSpec { near_m: 5.0, far_m: 4.0, ..defaults() }).contains("near_m"));
    assert!(wrong(CameraSpec { output: vec![Output::Classes], ..defaults() }).contains("classes"));
    assert!(wrong(CameraSpec { output: Vec::new(), ..defaults() }).contains("output"));
    let distortion = Distortion { k1: -2.0, k2: 0.0, p1: 0.0, p2: 0.0, k3: 0.0 };
    assert!(wrong(CameraSpec { distortion, ..defaults() }).contains("folds over"));
}
