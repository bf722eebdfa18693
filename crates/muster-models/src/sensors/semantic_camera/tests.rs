use super::super::testing::{defaults, environment, glance};
use super::*;
use muster_core::contact::Obstacle;
use muster_core::obstacles::Obstacles;
use muster_core::snapshot::{Seen, Snapshot};
use std::f64::consts::PI;
use std::sync::Arc;

const BLUE: f64 = 0.0;
const RED: f64 = 1.0;

/// MORSE's `indoors-1/boxes` as far as its test of the semantic camera needs it: two tagged boxes; and what a test adds.
fn world(at_m: DVec3, yaw_rad: f64, more: Vec<Obstacle>) -> Snapshot {
    let mut all = vec![boxed([-3.48, -3.0, 0.17], 0.5, "BlueBox"), boxed([-7.48, 0.0, 0.17], 0.5, "RedBox")];
    all.extend(more);
    let mut environment = environment();
    environment.obstacles = Obstacles::new(all);
    let robot = Seen {
        key: 1,
        robot: 0,
        position_m: at_m,
        orientation: math::quat_from_yaw(yaw_rad),
        velocity_mps: DVec3::ZERO,
        angular_velocity_radps: DVec3::ZERO,
        radius_m: 0.0,
    };
    Snapshot::of(Arc::new(environment), vec![robot], &[])
}

fn boxed(at_m: [f64; 3], half_m: f64, tag: &str) -> Obstacle {
    let solid = Solid::new(Shape::Box { half_m: DVec3::splat(half_m) }).expect("a box");
    let pose = Pose { position_m: DVec3::from(at_m), ..Pose::IDENTITY };
    Obstacle { tags: vec![tag.to_owned()], ..Obstacle::new(tag, solid, pose) }
}

fn seen(camera: &SemanticCamera, world: &Snapshot) -> Vec<[f64; RECORD]> {
    let mut sample = Vec::new();
    camera.look(&glance(world, 0, &Pose::IDENTITY), &mut sample);
    sample.as_chunks().0.to_vec()
}

#[test]
fn boxes_of_morse_are_seen_where_its_test_expects_them() {
    let camera = SemanticCamera { axes: Axes::World, ..defaults() };
    assert!(seen(&camera, &world(DVec3::ZERO, 0.0, Vec::new())).is_empty());
    for (at_m, yaw_rad, id, x, y) in
        [(DVec3::ZERO, 5.0 * PI / 4.0, BLUE, -3.48, -3.0), (DVec3::new(-5.0, 0.0, 0.0), PI, RED, -7.48, 0.0)]
    {
        let found = seen(&camera, &world(at_m, yaw_rad, Vec::new()));
        assert_eq!(found.len(), 1);
        let [kind, number, _, px, py, pz, ..] = found[0];
        assert_eq!((kind, number), (OBSTACLE, id));
        assert!((px - x).abs() < 1e-9 && (py - y).abs() < 1e-9 && (pz - 0.17).abs() < 1e-9, "{:?}", found[0]);
    }
}

#[test]
fn positions_are_in_the_frame_of_the_camera() {
    let found = seen(&defaults(), &world(DVec3::new(-5.0, 0.0, 0.0), PI, Vec::new()));
    let [_, _, _, x, y, z, _, _, k, w] = found[0];
    assert!((x - 2.48).abs() < 1e-9 && y.abs() < 1e-9 && (z - 0.17).abs() < 1e-9);
    // a box that is not turned looks turned by half a turn to a camera that is
    assert!((k.abs() - 1.0).abs() < 1e-9 && w.abs() < 1e-9);
}

#[test]
fn what_is_hidden_is_not_seen_until_a_part_of_it_is() {
    let camera = SemanticCamera { tags: vec!["RedBox".to_owned()], ..defaults() };
    let at_m = DVec3::new(-5.0, 0.0, 0.0);
    let wall = |y: f64| vec![Obstacle { tags: Vec::new(), ..boxed([-6.3, y, 0.17], 0.45, "wall") }];
    assert_eq!(seen(&camera, &world(at_m, PI, Vec::new())).len(), 1);
    assert!(seen(&camera, &world(at_m, PI, wall(0.0))).is_empty(), "a wall hides it all");
    assert_eq!(seen(&camera, &world(at_m, PI, wall(0.5))).len(), 1, "an edge of it looks out");
}

#[test]
fn tags_choose_and_tell_the_class_and_the_nearest_come_first() {
    let near = vec![boxed([-6.4, 0.6, 0.17], 0.1, "RedBox"), boxed([-6.6, -0.7, 0.17], 0.1, "BlueBox")];
    let world = world(DVec3::new(-5.0, 0.0, 0.0), PI, near);
    let camera = SemanticCamera { tags: vec!["BlueBox".to_owned(), "RedBox".to_owned()], ..defaults() };
    let classes: Vec<(f64, f64)> = seen(&camera, &world).iter().map(|record| (record[1], record[2])).collect();
    assert_eq!(classes, [(2.0, 2.0), (3.0, 1.0), (1.0, 2.0)]);
    let one = SemanticCamera { max_count: 1, ..camera.clone() };
    assert_eq!(seen(&one, &world)[0][1], 2.0);
    let red = SemanticCamera { tags: vec!["RedBox".to_owned()], ..camera };
    assert!(seen(&red, &world).iter().all(|record| record[2] == 1.0));
}
