use super::super::testing::{deviation, environment, glance};
use super::*;
use muster_core::component::Pose;
use muster_core::contact::Obstacle;
use muster_core::material::Material;
use muster_core::model::Environment;
use muster_core::node::{Entry, Value};
use muster_core::obstacles::Obstacles;
use muster_core::shape::{Shape, Solid};
use muster_core::skin::Skin;
use muster_core::snapshot::Seen;

/// How exact first hits are promised to be, m.
const HIT_M: f64 = 2e-5;

/// A map of keys and values.
fn map(pairs: &[(&str, Value)]) -> Node {
    let entries = pairs.iter().map(|(key, value)| Entry {
        key: (*key).to_owned(),
        key_place: Default::default(),
        value: Node::of(value.clone()),
    });
    Node::of(Value::Map(entries.collect()))
}

fn word(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn block(pairs: &[(&str, Value)]) -> Value {
    map(pairs).value
}

fn numbers(list: &[f64]) -> Value {
    Value::List(list.iter().map(|&number| Node::of(Value::Number(number))).collect())
}

fn planar(from_deg: f64, to_deg: f64, count: i64) -> Value {
    let (from, to) = (Value::Number(from_deg), Value::Number(to_deg));
    block(&[("from_deg", from), ("to_deg", to), ("count", Value::Integer(count))])
}

fn read(pairs: &[(&str, Value)]) -> RangeSpec {
    let mut problems = Problems::default();
    let spec = <RangeSpec as Spec>::read(&map(pairs), "", &[], &mut problems);
    spec.unwrap_or_else(|| panic!("{}", problems.list()[0]))
}

fn sensor(pairs: &[(&str, Value)]) -> Range {
    Range::new(read(pairs)).expect("rays that can be drawn")
}

fn problems(pairs: &[(&str, Value)]) -> Vec<String> {
    let mut problems = Problems::default();
    check(&read(pairs), &map(pairs), "scan", &mut problems);
    problems.list().iter().map(ToString::to_string).collect()
}

fn obstacle(shape: Shape, at_m: [f64; 3], material: u16) -> Obstacle {
    let pose = Pose { position_m: DVec3::from(at_m), ..Pose::IDENTITY };
    let skin = Skin { material, ..Skin::default() };
    Obstacle { skin, ..Obstacle::new("", Solid::new(shape).expect("a shape"), pose) }
}

/// A wall whose near face is the plane x = `x_m`, from `y_m.0` to `y_m.1`.
fn wall(x_m: f64, y_m: (f64, f64), material: u16) -> Obstacle {
    let half_m = DVec3::new(0.1, 0.5 * (y_m.1 - y_m.0), 10.0);
    obstacle(Shape::Box { half_m }, [x_m + 0.1, 0.5 * (y_m.0 + y_m.1), 0.0], material)
}

/// A robot at the origin among obstacles; the second material is black.
fn world(obstacles: Vec<Obstacle>) -> Snapshot {
    let black = Material { name: "black".to_owned(), bias_m: 0.03, reflectivity: 0.05, ..Material::plain() };
    let materials = vec![Material::plain(), black];
    let environment = Environment { obstacles: Obstacles::new(obstacles), materials, ..environment() };
    let robot = Seen {
        key: 0,
        robot: 7,
        position_m: DVec3::ZERO,
        orientation: glam::DQuat::IDENTITY,
        velocity_mps: DVec3::ZERO,
        angular_velocity_radps: DVec3::ZERO,
        radius_m: 0.2,
    };
    Snapshot::of(Arc::new(environment), vec![robot], &[])
}

fn look_from(sensor: &Range, world: &Snapshot, mount: &Pose, index: u64) -> Vec<f64> {
    let mut sample = Vec::with_capacity(sensor.capacity(1));
    let room = sample.capacity();
    for slice in 0..sensor.slices().0 {
        sensor.look(&LookAt { index, slice, ..glance(world, 0, mount) }, &mut sample);
    }
    assert_eq!(sample.capacity(), room, "room was enough");
    sample
}

fn look(sensor: &Range, world: &Snapshot) -> Vec<f64> {
    look_from(sensor, world, &Pose::IDENTITY, 0)
}

fn far_wall(x_m: f64) -> Snapshot {
    world(vec![wall(x_m, (-100.0, 100.0), 0)])
}

#[test]
fn ranges_to_a_flat_wall_are_its_distance_over_the_cosine() {
    let read = look(&sensor(&[("rays", planar(-60.0, 60.0, 121))]), &far_wall(3.0));
    for (ray, range_m) in read.iter().enumerate() {
        let expected = 3.0 / (ray as f64 - 60.0).to_radians().cos();
        assert!((range_m - expected).abs() < HIT_M, "{ray}: {range_m}, expected {expected}");
    }
}

// S20
#[test]
fn the_place_of_the_sensor_on_the_robot_counts() {
    let single = sensor(&[("rays", planar(0.0, 0.0, 1))]);
    let ahead = Pose { position_m: DVec3::new(0.5, 0.0, 0.2), ..Pose::IDENTITY };
    assert!((look_from(&single, &far_wall(3.0), &ahead, 0)[0] - 2.5).abs() < HIT_M);
    // at the right side, looking 60 degrees to the left
    let aside = Pose { position_m: DVec3::new(0.5, -0.3, 0.0), orientation: math::quat_from_yaw(60_f64.to_radians()) };
    assert!((look_from(&single, &far_wall(3.0), &aside, 0)[0] - 5.0).abs() < HIT_M);
}

// R35
#[test]
fn in_open_space_every_ray_reads_infinity_and_what_is_too_near_minus_infinity() {
    let pairs = [("range_min_m", Value::Number(0.1)), ("range_max_m", Value::Number(5.0))];
    let scan = sensor(&pairs);
    assert!(look(&scan, &world(Vec::new())).iter().all(|&range_m| range_m == f64::INFINITY));
    let read = look(&scan, &far_wall(0.05));
    assert_eq!(read[90], f64::NEG_INFINITY);
    assert_eq!(look(&scan, &far_wall(5.1))[90], f64::INFINITY, "beyond its reach");
}

// L10, R20: level 1 is exact, level 2 differs by the sensor's error, level 3 by that of the material where it is met
#[test]
fn only_rays_that_meet_black_have_its_bias() {
    let world = world(vec![wall(2.0, (-50.0, 0.0), 0), wall(2.0, (0.0, 50.0), 1)]);
    let errors = block(&[("bias_m", Value::Number(0.01))]);
    let read = |accuracy: &str| {
        let pairs = [("rays", planar(-40.0, 40.0, 80)), ("errors", errors.clone()), ("accuracy", word(accuracy))];
        look(&sensor(&pairs), &world)
    };
    let [perfect, of_sensor, of_material] = ["perfect", "sensor", "material"].map(read);
    for ray in 0..80 {
        let azimuth_rad = (-40.0 + ray as f64 * 80.0 / 79.0_f64).to_radians();
        assert!((perfect[ray] - 2.0 / azimuth_rad.cos()).abs() < HIT_M);
        assert!((of_sensor[ray] - perfect[ray] - 0.01).abs() < 1e-12);
        let bias_m = if ray < 40 { 0.0 } else { 0.03 };
        assert!((of_material[ray] - of_sensor[ray] - bias_m).abs() < 1e-12, "ray {ray}");
    }
}

// R18
#[test]
fn what_was_met_is_told_with_material_and_intensity() {
    let world = world(vec![wall(2.0, (-50.0, 0.0), 0), wall(2.0, (0.0, 1.0), 1)]);
    let pairs = [("rays", planar(-60.0, 60.0, 4)), ("output", word("full"))];
    let full = look(&sensor(&pairs), &world);
    let records: Vec<&[f64]> = full.chunks_exact(FULL.len()).collect();
    let expected =
        [(0.25, 0.0, 0.0), (0.5 * 20_f64.to_radians().cos(), 0.0, 0.0), (0.05 * 20_f64.to_radians().cos(), 1.0, 1.0)];
    for (record, (intensity, id, material)) in records.iter().zip(expected) {
        assert!((record[1] - intensity).abs() < HIT_M, "{record:?}, expected {intensity}");
        assert_eq!(record[2..], [0.0, super::super::neighbours::OBSTACLE, id, material]);
    }
    assert_eq!(records[3], [f64::INFINITY, 0.0, 0.0, NOTHING, NOTHING, NOTHING]);
    let received =
        sensor(&[("rays", planar(0.0, 0.0, 1)), ("output", word("intensity")), ("intensity", word("received"))]);
    let record = look(&received, &far_wall(4.0));
    assert!((record[0] - 4.0).abs() < HIT_M && (record[1] - 0.5 / 16.0).abs() < 1e-5, "{record:?}");
}

// L11, R23
#[test]
fn what_a_method_cannot_serve_is_refused() {
    let depth = |things: bool| block(&[("things", Value::Bool(things))]);
    let level = [("method", word("depth")), ("accuracy", word("material")), ("depth", depth(false))];
    assert!(problems(&level)[0].contains("material errors need to know what is met"), "{:?}", problems(&level));
    let moving = [("method", word("depth")), ("sweep_s", Value::Number(0.1))];
    assert!(problems(&moving)[0].contains("method: ray"), "{:?}", problems(&moving));
    assert!(problems(&[("method", word("depth"))]).is_empty());
    assert!(problems(&[("method", word("auto"))]).is_empty() && problems(&[("depth", depth(false))]).is_empty());
    let kernel = |shares: &[f64]| [("errors", block(&[("crosstalk", numbers(shares))]))];
    assert!(problems(&kernel(&[0.5, 0.5]))[0].contains("an odd number"));
    assert!(problems(&kernel(&[0.1, 0.7, 0.1]))[0].contains("together 1"));
    assert!(problems(&kernel(&[0.1, 0.8, 0.1])).is_empty());
    let single = [("sweep_s", Value::Number(0.1)), ("aggregate", word("minimum"))];
    assert!(problems(&single)[0].contains("a single value has one instant"));
    let limits = [("range_min_m", Value::Number(5.0)), ("range_max_m", Value::Number(4.0))];
    assert!(problems(&limits)[0].contains("less than range_max_m"));
}

// R01: the second step is a pure function of hits, stream and sample number
#[test]
fn the_same_sample_number_gives_the_same_errors() {
    let errors = block(&[("noise_m", Value::Number(0.02)), ("dropout", Value::Number(0.1))]);
    let scan = sensor(&[("errors", errors)]);
    let world = far_wall(2.0);
    let [first, again, next] = [4, 4, 5].map(|index| look_from(&scan, &world, &Pose::IDENTITY, index));
    assert_eq!(first, again);
    assert_ne!(first, next);
}

// R19 through the whole sensor
#[test]
fn noise_of_a_hundredth_of_the_range_is_measured_at_three_ranges() {
    let errors = block(&[("noise_per_m", Value::Number(0.01))]);
    let scan = sensor(&[("rays", planar(0.0, 0.0, 1)), ("errors", errors)]);
    for true_m in [1.0, 5.0, 10.0] {
        let world = far_wall(true_m);
        let readings = (0..20_000).map(|index| look_from(&scan, &world, &Pose::IDENTITY, index)[0]);
        let std = deviation(readings.map(|range_m| range_m - true_m));
        assert!((std / (0.01 * true_m) - 1.0).abs() < 0.05, "{std} at {true_m} m");
    }
}

// R24
#[test]
fn a_cone_reads_the_distance_to_a_pole_off_its_axis() {
    let pole = obstacle(Shape::Cylinder { radius_m: 0.15, half_height_m: 5.0 }, [2.0, 0.7, 0.0], 0);
    let world = world(vec![pole, wall(4.0, (-50.0, 50.0), 0)]);
    let cone = |half_angle_deg: f64| {
        block(&[
            ("kind", word("cone")),
            ("half_angle_deg", Value::Number(half_angle_deg)),
            ("count", Value::Integer(50)),
        ])
    };
    let nearest_m = 2.0_f64.hypot(0.7) - 0.15;
    let read = look(&sensor(&[("rays", cone(30.0)), ("aggregate", word("minimum"))]), &world);
    assert_eq!(read.len(), 1);
    // the ray nearest to the pole's nearest point misses it by half the spacing of the rays at most
    assert!(read[0] >= nearest_m - HIT_M && read[0] < nearest_m + 0.05, "{read:?}, expected {nearest_m}");
    let narrow = look(&sensor(&[("rays", cone(10.0)), ("aggregate", word("minimum"))]), &world);
    assert!((narrow[0] - 4.0).abs() < HIT_M, "a cone that does not reach it reads the wall: {narrow:?}");
}

// R25 through the whole sensor: noise belongs to the one value, and what is mirrored away is not heard
#[test]
fn a_weighted_cone_is_one_value_with_one_noise() {
    let rays =
        || block(&[("kind", word("cone")), ("half_angle_deg", Value::Number(20.0)), ("count", Value::Integer(200))]);
    let errors = block(&[("noise_m", Value::Number(0.01)), ("incidence_max_deg", Value::Number(25.0))]);
    let pairs = [("rays", rays()), ("aggregate", word("weighted")), ("errors", errors), ("output", word("full"))];
    let sonar = sensor(&pairs);
    let world = far_wall(2.0);
    let readings: Vec<f64> = (0..5000).map(|index| look_from(&sonar, &world, &Pose::IDENTITY, index)[0]).collect();
    let mean = readings.iter().sum::<f64>() / 5000.0;
    let std = deviation(readings.iter().map(|range_m| range_m - mean));
    assert!((mean - 2.0).abs() < 0.002 && (std / 0.01 - 1.0).abs() < 0.05, "{mean} {std}");
    // turned by 60 degrees, no ray meets the wall at less than 40
    let turned = Pose { orientation: math::quat_from_yaw(60_f64.to_radians()), ..Pose::IDENTITY };
    assert_eq!(look_from(&sonar, &world, &turned, 0)[0], f64::INFINITY);
}

// R22: a wall ahead is nearer at the end of a sweep by the way driven
#[test]
fn a_sweep_on_the_move_shows_the_way_driven() {
    let rays = planar(-1e-6, 1e-6, 101);
    let mut world = far_wall(5.0);
    world.robots[0].velocity_mps = DVec3::X;
    let pairs = [("rays", rays), ("sweep_s", Value::Number(0.1)), ("output", word("full"))];
    let scan = sensor(&pairs);
    assert_eq!(scan.slices(), (20, 0.1));
    let full = look(&scan, &world);
    for (ray, record) in full.chunks_exact(FULL.len()).enumerate() {
        let time_s = -0.1 * (100 - ray) as f64 / 101.0;
        assert!((record[2] - time_s).abs() < 1e-12);
        assert!((record[0] - (5.0 - time_s)).abs() < HIT_M, "ray {ray}: {}", record[0]);
    }
    let slope_m = full[0] - full[100 * FULL.len()];
    assert!((slope_m - 0.1).abs() <= 0.001 + HIT_M, "{slope_m}");
}

#[test]
fn a_sweep_at_rest_is_a_scan_at_once() {
    let world = world(vec![wall(3.0, (-4.0, 4.0), 0), obstacle(Shape::Sphere { radius_m: 0.5 }, [1.5, 0.4, 0.0], 1)]);
    let rings = || {
        let rings = numbers(&[-5.0, 0.0, 5.0]);
        block(&[("kind", word("rings")), ("rings_deg", rings), ("count", Value::Integer(90))])
    };
    let at_once = look(&sensor(&[("rays", rings()), ("output", word("intensity"))]), &world);
    let swept =
        look(&sensor(&[("rays", rings()), ("output", word("intensity")), ("sweep_s", Value::Number(0.1))]), &world);
    assert_eq!(at_once.len(), 540);
    assert!(at_once.iter().zip(&swept).all(|(a, b)| a == b || (a - b).abs() < HIT_M));
}

// R30
#[test]
fn every_resolution_of_the_paper_is_valid() {
    let world = far_wall(4.0);
    let sizes = [
        (1, 1),
        (3, 1),
        (10, 1),
        (30, 1),
        (100, 1),
        (300, 1),
        (1000, 1),
        (35, 35),
        (50, 50),
        (70, 70),
        (100, 100),
        (140, 140),
        (200, 200),
    ];
    for (columns, rows) in sizes {
        let rays = block(&[
            ("kind", word("grid")),
            ("columns", Value::Integer(columns)),
            ("rows", Value::Integer(rows)),
            ("width_deg", Value::Integer(90)),
            ("height_deg", Value::Integer(if rows > 1 { 90 } else { 0 })),
        ]);
        for accuracy in ["perfect", "material"] {
            let read = look(&sensor(&[("rays", rays.clone()), ("accuracy", word(accuracy))]), &world);
            assert_eq!(read.len() as i64, columns * rows);
            assert!(read.iter().all(|&range_m| range_m >= 4.0 - HIT_M));
        }
    }
}
