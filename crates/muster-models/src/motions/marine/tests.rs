//! The laws of floating and diving.

use super::super::testing::{Flock, GRAVITY, build, check_same_bits_in};
use super::*;
use muster_core::lanes::setpoint;
use muster_core::model::{Water, Wave};
use muster_core::node::Value;
use std::f64::consts::TAU;

const DENSITY: f64 = 1000.0;
const WATER: Water = Water { level_m: 0.0, density_kgpm3: DENSITY, current_mps: DVec3::ZERO, wave: None };

fn number(value: f64) -> Value {
    Value::Number(value)
}

fn list(values: [f64; 3]) -> Value {
    Value::List(values.iter().map(|value| Node::of(number(*value))).collect())
}

fn block(pairs: &[(&str, Value)]) -> Node {
    let mut node = Node::default();
    pairs.iter().for_each(|(key, value)| node.set(key, Node::of(value.clone())));
    node
}

fn flock(parameters: &[(&str, Value)]) -> Flock {
    let mut flock = Flock::new(build(&KIND, parameters), DVec3::ZERO);
    flock.environment.water = Some(WATER);
    flock
}

/// Sides and mass of a pontoon that draws 10 cm, and what moves with it.
const SIZE: DVec3 = DVec3::new(2.0, 1.0, 0.5);
const MASS: f64 = 200.0;
const INERTIA: [f64; 3] = [20.0, 70.0, 80.0];
const ADDED: [f64; 3] = [20.0, 100.0, 150.0];
const TURN_ADDED: [f64; 3] = [5.0, 30.0, 20.0];

/// A box with its centre of gravity in the middle; without damping if not asked for, and with one thruster.
fn pontoon(more: &[(&'static str, Value)]) -> Flock {
    let hull = block(&[("size_m", list(SIZE.to_array()))]);
    let thruster =
        block(&[("at_m", list([-0.9, 0.0, -0.25])), ("forward_max_n", number(500.0)), ("lag_s", number(0.5))]);
    let mut parameters = vec![
        ("mass_kg", number(MASS)),
        ("inertia_kgm2", list(INERTIA)),
        ("hull", Value::List(vec![hull])),
        ("added_mass_kg", list(ADDED)),
        ("added_inertia_kgm2", list(TURN_ADDED)),
        ("wind_area_m2", list([0.0; 3])),
        ("thrusters", Value::List(vec![thruster])),
    ];
    for key in ["drag_linear_kgps", "drag_square_kgpm", "turn_drag_linear_nms", "turn_drag_square_nms2"] {
        parameters.push((key, list([0.0; 3])));
    }
    parameters.extend_from_slice(more);
    flock(&parameters)
}

/// The height of the pontoon's centre afloat: Archimedes.
fn afloat() -> f64 {
    0.5 * SIZE.z - MASS / (DENSITY * SIZE.x * SIZE.y)
}

fn set_height(flock: &mut Flock, height: f64) {
    flock.set_vec3(body::POSITION, DVec3::new(0.0, 0.0, height));
}

/// The period of something that swings about zero, from its upward passes over many swings.
fn period(flock: &mut Flock, mut of: impl FnMut(&Flock) -> f64) -> f64 {
    const DT_S: f64 = 0.002;
    let (mut passes, mut last) = (Vec::new(), of(flock));
    for tick in 1..=10_000 {
        flock.run(DT_S, 1);
        let now = of(flock);
        if last < 0.0 && now >= 0.0 {
            passes.push(DT_S * (f64::from(tick) - now / (now - last)));
        }
        last = now;
    }
    (passes[passes.len() - 1] - passes[0]) / (passes.len() - 1) as f64
}

#[test]
fn a_boat_settles_at_the_draught_of_archimedes() {
    let mut flock = pontoon(&[("drag_linear_kgps", list([300.0, 300.0, 2000.0]))]);
    set_height(&mut flock, 0.4);
    flock.run(0.005, 12_000);
    let height = flock.vec3(body::POSITION).z;
    println!("height {height:.9} of {:.9} m", afloat());
    assert!((height - afloat()).abs() < 1e-9, "{height}");
}

#[test]
fn heave_swings_with_the_frequency_of_its_waterplane() {
    let mut flock = pontoon(&[]);
    set_height(&mut flock, afloat() + 0.02);
    let found = TAU / period(&mut flock, |flock| flock.vec3(body::POSITION).z - afloat());
    let expected = (DENSITY * GRAVITY * SIZE.x * SIZE.y / (MASS + ADDED[2])).sqrt();
    println!("heave {found:.6} of {expected:.6} rad/s");
    assert!((found / expected - 1.0).abs() < 1e-4, "{found} {expected}");
}

#[test]
fn roll_and_pitch_swing_with_the_period_of_their_metacentric_heights() {
    let draught = MASS / (DENSITY * SIZE.x * SIZE.y);
    let volume = MASS / DENSITY;
    for (axis, waterplane) in
        [(0, SIZE.x * SIZE.y * SIZE.y * SIZE.y / 12.0), (1, SIZE.y * SIZE.x * SIZE.x * SIZE.x / 12.0)]
    {
        let mut flock = pontoon(&[]);
        set_height(&mut flock, afloat());
        let tilt = [0.005 * DVec3::X, 0.005 * DVec3::Y][axis];
        (0..LANES).for_each(|lane| body::set_orientation(&mut flock.columns, lane, math::quat_exp(tilt)));
        let found = period(&mut flock, |flock| flock.orientation().to_array()[axis]);
        // GM = KB + BM - KG
        let metacentric = 0.5 * draught + waterplane / volume - 0.5 * SIZE.z;
        let expected = TAU * ((INERTIA[axis] + TURN_ADDED[axis]) / (MASS * GRAVITY * metacentric)).sqrt();
        println!("axis {axis}: GM {metacentric:.4} m, period {found:.5} of {expected:.5} s");
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    }
}

#[test]
fn a_hull_whose_metacentre_is_below_its_centre_of_gravity_capsizes() {
    let tall = block(&[("size_m", list([2.0, 0.3, 1.5]))]);
    let mut flock = pontoon(&[
        ("hull", Value::List(vec![tall])),
        ("turn_drag_linear_nms", list([20.0, 50.0, 50.0])),
        ("drag_linear_kgps", list([300.0, 300.0, 500.0])),
    ]);
    set_height(&mut flock, 0.4);
    (0..LANES).for_each(|lane| body::set_orientation(&mut flock.columns, lane, math::quat_exp(0.01 * DVec3::X)));
    flock.run(0.005, 6000);
    let up = math::rotate(flock.orientation(), DVec3::Z).z;
    assert!(up.abs() < 0.7, "{up}");
}

/// What balances a force by linear and quadratic drag.
fn terminal(force: f64, linear: f64, square: f64) -> f64 {
    2.0 * force / (linear + (linear * linear + 4.0 * square * force).sqrt())
}

#[test]
fn surge_ends_at_the_speed_where_drag_is_thrust() {
    let mut flock = pontoon(&[
        ("drag_linear_kgps", list([30.0, 300.0, 2000.0])),
        ("drag_square_kgpm", list([50.0, 100.0, 0.0])),
        ("turn_drag_linear_nms", list([100.0, 500.0, 500.0])),
    ]);
    set_height(&mut flock, afloat());
    flock.columns[INPUT] = [100.0; LANES];
    flock.run(0.005, 20_000);
    let expected = terminal(100.0, 30.0, 50.0);
    let speed = flock.vec3(body::VELOCITY).x;
    println!("surge {speed:.6} of {expected:.6} m/s");
    // thrust below the centre of gravity pitches it a little
    assert!((speed / expected - 1.0).abs() < 1e-3, "{speed} {expected}");
}

#[test]
fn what_drifts_goes_with_the_current() {
    let mut flock = pontoon(&[("drag_linear_kgps", list([30.0, 60.0, 2000.0]))]);
    let current = DVec3::new(0.5, -0.2, 0.0);
    flock.environment.water = Some(Water { current_mps: current, ..WATER });
    set_height(&mut flock, afloat());
    flock.run(0.01, 20_000);
    let velocity = flock.vec3(body::VELOCITY);
    assert!((velocity - current).length() < 1e-6, "{velocity}");
}

#[test]
fn wind_drives_a_boat_until_water_holds_it() {
    let mut flock =
        pontoon(&[("drag_linear_kgps", list([30.0, 60.0, 2000.0])), ("wind_area_m2", list([0.5, 1.0, 2.0]))]);
    flock.set_vec3(body::WIND, DVec3::new(10.0, 0.0, 0.0));
    set_height(&mut flock, afloat());
    flock.run(0.01, 20_000);
    let speed = flock.vec3(body::VELOCITY).x;
    let dry = 1.0 - MASS / DENSITY / (SIZE.x * SIZE.y * SIZE.z);
    let wind = 0.5 * AIR_KGPM3 * 0.5 * dry * (10.0 - speed) * (10.0 - speed);
    assert!((wind / (30.0 * speed) - 1.0).abs() < 1e-3, "{speed}");
}

/// A BlueROV2 whose volume is this many litres, at a depth.
fn diver(litres: f64, depth_m: f64) -> Flock {
    let size = [0.457, 0.575, 0.254];
    let fill = 1e-3 * litres / (size[0] * size[1] * size[2]);
    let hull = block(&[("size_m", list(size)), ("at_m", list([0.0, 0.0, 0.01])), ("fill", number(fill))]);
    let mut flock = flock(&[("hull", Value::List(vec![hull]))]);
    set_height(&mut flock, -depth_m);
    flock
}

#[test]
fn what_displaces_its_mass_stays_where_it_is() {
    let mut flock = diver(13.5, 5.0);
    flock.run(0.005, 12_000);
    let position = flock.vec3(body::POSITION);
    assert!((position - DVec3::new(0.0, 0.0, -5.0)).length() < 1e-9, "{position}");
}

#[test]
fn what_displaces_more_rises_at_the_speed_where_drag_is_buoyancy_and_floats() {
    let mut flock = diver(14.0, 30.0);
    flock.run(0.005, 4000);
    let expected = terminal(0.5 * GRAVITY, 33.0, 190.0);
    let speed = flock.vec3(body::VELOCITY).z;
    println!("rises at {speed:.6} of {expected:.6} m/s");
    assert!((speed / expected - 1.0).abs() < 1e-6, "{speed} {expected}");
    flock.run(0.005, 60_000);
    // 13.5 of 14 parts are under water
    let under = 0.254 * 13.5 / 14.0;
    let height = flock.vec3(body::POSITION).z;
    assert!((height - (0.127 - 0.01 - under)).abs() < 1e-3, "{height}");
}

#[test]
fn what_displaces_less_sinks() {
    let mut flock = diver(13.4, 1.0);
    flock.run(0.005, 4000);
    let expected = terminal(0.1 * GRAVITY, 33.0, 190.0);
    let speed = -flock.vec3(body::VELOCITY).z;
    assert!((speed / expected - 1.0).abs() < 1e-6, "{speed} {expected}");
}

#[test]
fn without_water_it_falls_and_its_thrusters_push_nothing() {
    let mut flock = pontoon(&[]);
    flock.environment.water = None;
    flock.columns[INPUT] = [500.0; LANES];
    flock.run(0.005, 200);
    let velocity = flock.vec3(body::VELOCITY);
    assert!((velocity - DVec3::new(0.0, 0.0, -GRAVITY)).length() < 1e-9, "{velocity}");
}

#[test]
fn thrust_follows_as_a_lag_within_its_limits() {
    let mut flock = pontoon(&[]);
    set_height(&mut flock, afloat());
    flock.columns[INPUT] = [1e6; LANES];
    flock.run(0.005, 100);
    let expected = 500.0 * (1.0 - math::exp(-1.0));
    assert!((flock.columns[INPUT + 1][0] - expected).abs() < 1e-9, "{}", flock.columns[INPUT + 1][0]);
}

/// Energy of the pontoon and the water that moves with it: motion, weight, and what it took to push water aside.
fn energy(flock: &Flock) -> f64 {
    let q = flock.orientation();
    let v = math::rotate_inverse(q, flock.vec3(body::VELOCITY));
    let rate = flock.vec3(body::ANGULAR_VELOCITY);
    let mass = DVec3::splat(MASS) + DVec3::from(ADDED);
    let inertia = DVec3::from(INERTIA) + DVec3::from(TURN_ADDED);
    let position = flock.vec3(body::POSITION);
    let hull = HullBox { size_m: SIZE.to_array(), at_m: [0.0; 3], fill: 1.0 };
    let mut pushed = 0.0;
    for bar in Bar::of_box(&hull) {
        const PARTS: usize = 2000;
        for part in 0..PARTS {
            let (at, volume) = bar.part(part as f64 / PARTS as f64, 1.0 / PARTS as f64);
            let depth = -(position + math::rotate(q, at)).z;
            pushed += volume * depth.max(0.0);
        }
    }
    0.5 * v.dot(mass * v) + 0.5 * rate.dot(inertia * rate) + MASS * GRAVITY * position.z + DENSITY * GRAVITY * pushed
}

/// A pontoon that heels, trims and turns, but stays more than half as deep as afloat.
fn swinging(more: &[(&'static str, Value)]) -> Flock {
    let mut flock = pontoon(more);
    set_height(&mut flock, afloat() - 0.02);
    (0..LANES).for_each(|lane| body::set_orientation(&mut flock.columns, lane, math::quat_from_rpy(0.15, 0.05, 0.3)));
    flock.set_vec3(body::VELOCITY, DVec3::new(1.0, 0.3, 0.0));
    flock.set_vec3(body::ANGULAR_VELOCITY, DVec3::new(0.1, 0.0, 0.2));
    flock
}

#[test]
fn without_damping_the_energy_of_body_and_water_stays() {
    let mut flock = swinging(&[]);
    let first = energy(&flock);
    let rest = energy(&{
        let mut still = pontoon(&[]);
        set_height(&mut still, afloat());
        still
    });
    let mut worst: f64 = 0.0;
    for _ in 0..200 {
        flock.run(0.001, 100);
        worst = worst.max(((energy(&flock) - first) / (first - rest)).abs());
    }
    println!("energy changes by {worst:e} of what moves, in 20 s");
    assert!(worst < 1e-3, "{worst}");
}

#[test]
fn with_damping_energy_only_falls() {
    let mut flock = swinging(&[
        ("drag_linear_kgps", list([30.0, 60.0, 200.0])),
        ("drag_square_kgpm", list([50.0, 100.0, 100.0])),
        ("turn_drag_linear_nms", list([5.0, 20.0, 20.0])),
    ]);
    let mut last = energy(&flock);
    for _ in 0..400 {
        flock.run(0.005, 20);
        let now = energy(&flock);
        assert!(now < last + 1e-4, "{now} {last}");
        last = now;
    }
}

#[test]
fn deep_in_water_momentum_stays_as_kirchhoff_has_it() {
    let hull =
        block(&[("size_m", list(SIZE.to_array())), ("fill", number(MASS / DENSITY / (SIZE.x * SIZE.y * SIZE.z)))]);
    let mut flock = pontoon(&[("hull", Value::List(vec![hull]))]);
    set_height(&mut flock, -20.0);
    flock.set_vec3(body::VELOCITY, DVec3::new(1.0, 0.3, -0.2));
    flock.set_vec3(body::ANGULAR_VELOCITY, DVec3::new(0.3, -0.2, 0.4));
    let momentum = |flock: &Flock| {
        let q = flock.orientation();
        let v = math::rotate_inverse(q, flock.vec3(body::VELOCITY));
        math::rotate(q, (DVec3::splat(MASS) + DVec3::from(ADDED)) * v)
    };
    let first = momentum(&flock);
    flock.run(0.001, 10_000);
    let error = (momentum(&flock) - first).length() / first.length();
    println!("momentum changes by {error:e} in 10 s");
    assert!(error < 1e-5, "{error}");
}

#[test]
fn a_boat_rides_on_long_waves() {
    let mut flock =
        pontoon(&[("drag_linear_kgps", list([300.0, 300.0, 2000.0])), ("turn_drag_linear_nms", list([50.0; 3]))]);
    let wave = Wave { amplitude_m: 0.5, period_s: 12.0, direction_rad: 0.0 };
    flock.environment.water = Some(Water { wave: Some(wave), ..WATER });
    set_height(&mut flock, afloat() + 0.5);
    flock.run(0.005, 4000);
    let number = (TAU / 12.0) * (TAU / 12.0) / GRAVITY;
    let (mut worst, mut highest): (f64, f64) = (0.0, 0.0);
    for _ in 0..240 {
        flock.run(0.005, 10);
        let position = flock.vec3(body::POSITION);
        let surface = 0.5 * math::cos(number * position.x - TAU / 12.0 * flock.time_s);
        worst = worst.max((position.z - afloat() - surface).abs());
        highest = highest.max(position.z - afloat());
    }
    println!("within {worst:.4} m of the surface, up to {highest:.3} m");
    assert!(worst < 0.03 && highest > 0.47, "{worst} {highest}");
}

#[test]
fn deep_water_is_still_under_waves() {
    let wave = Wave { amplitude_m: 0.5, period_s: 3.0, direction_rad: 1.0 };
    let mut flock = diver(13.5, 20.0);
    flock.environment.water = Some(Water { wave: Some(wave), ..WATER });
    flock.run(0.005, 6000);
    let moved = (flock.vec3(body::POSITION) - DVec3::new(0.0, 0.0, -20.0)).length();
    assert!(moved < 1e-3, "{moved}");
}

#[test]
fn wrong_thrusters_are_refused() {
    let mut problems = Problems::default();
    let thruster = block(&[("direction", list([0.0; 3]))]);
    let node = block(&[("thrusters", Value::List(vec![thruster]))]);
    assert!((KIND.build)(&node, "motion", &[], &mut problems).is_none());
    assert!(problems.list()[0].to_string().contains("motion.thrusters[0].direction"), "{:?}", problems.list());
}

/// Where a boat ends that heels and turns under thrust, integrated in `ticks` ticks.
fn manoeuvre(ticks: usize) -> DVec3 {
    let mut flock = swinging(&[("drag_square_kgpm", list([50.0, 100.0, 100.0]))]);
    flock.environment.water = Some(Water { current_mps: DVec3::new(0.2, 0.1, 0.0), ..WATER });
    flock.columns[INPUT] = [200.0; LANES];
    flock.run(2.0 / ticks as f64, ticks);
    flock.vec3(body::POSITION)
}

#[test]
fn the_integrator_is_of_second_order() {
    let exact = manoeuvre(1 << 14);
    let errors: Vec<f64> = [7, 8, 9, 10].map(|power| (manoeuvre(1 << power) - exact).length()).into();
    let slope = (errors[0] / errors[3]).log2() / 3.0;
    println!("errors {errors:?}, order {slope}");
    assert!((1.8..2.3).contains(&slope), "{slope} {errors:?}");
}

#[test]
fn registers_of_all_widths_give_the_same_bits() {
    let motion = build(&KIND, &[]);
    let wave = Wave { amplitude_m: 0.3, period_s: 4.0, direction_rad: 0.7 };
    for wave in [None, Some(wave)] {
        let water = Water { wave, current_mps: DVec3::new(0.3, 0.1, 0.0), ..WATER };
        check_same_bits_in(Some(water), &motion, setpoint::NONE, (&[(-30.0, 30.0); 8], 0.5));
    }
}
