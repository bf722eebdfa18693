//! The laws of flight.

use super::super::testing::{Flock, GRAVITY, build, check_same_bits};
use super::*;
use muster_core::lanes::setpoint;
use muster_core::node::{Node, Problems, Value};

const CRUISE_MPS: f64 = 35.0;

fn spec() -> FixedWingSpec {
    <FixedWingSpec as Spec>::read(&Node::default(), "", &[], &mut Problems::default()).expect("defaults are valid")
}

fn flock(velocity_mps: DVec3) -> Flock {
    Flock::new(build(&KIND, &[]), velocity_mps)
}

fn airspeed(flock: &Flock) -> f64 {
    (flock.vec3(body::VELOCITY) - flock.vec3(body::WIND)).length()
}

#[test]
fn an_aircraft_started_in_balance_holds_altitude_and_airspeed() {
    let mut flock = flock(DVec3::new(CRUISE_MPS, 0.0, 0.0));
    flock.run(0.005, 4000);
    let position = flock.vec3(body::POSITION);
    assert!((position - DVec3::new(20.0 * CRUISE_MPS, 0.0, 0.0)).length() < 1e-6, "{position}");
    assert!((airspeed(&flock) - CRUISE_MPS).abs() < 1e-7, "{}", airspeed(&flock));
}

#[test]
fn an_aircraft_started_in_a_balanced_climb_keeps_climbing() {
    let (sine, cosine) = math::sin_cos(0.1);
    let mut flock = flock(CRUISE_MPS * DVec3::new(cosine, 0.0, sine));
    flock.run(0.005, 4000);
    assert!((flock.vec3(body::POSITION).z - 20.0 * CRUISE_MPS * sine).abs() < 1e-6);
}

#[test]
fn trim_balances_the_coefficients_of_small_angles() {
    let spec = spec();
    let trim = trim(&spec, CRUISE_MPS, 0.0).expect("an Aerosonde flies at 35 m/s");
    // the linear law without the blend and with cos α = 1, sin α = 0: two equations for α and the elevator
    let lift = spec.mass_kg * GRAVITY / (0.5 * spec.air_density_kgpm3 * CRUISE_MPS * CRUISE_MPS * spec.wing_area_m2);
    let slope = spec.c_l_alpha - spec.c_l_elevator * spec.c_m_alpha / spec.c_m_elevator;
    let alpha = (lift - spec.c_l_0 + spec.c_l_elevator * spec.c_m_0 / spec.c_m_elevator) / slope;
    assert!((trim.alpha_rad - alpha).abs() < 2e-3, "{trim:?} {alpha}");
    let moment = spec.c_m_0 + spec.c_m_alpha * trim.alpha_rad + spec.c_m_elevator * trim.elevator_rad;
    assert!(moment.abs() < 1e-12);
}

#[test]
fn there_is_no_balance_below_stall_speed_nor_in_too_steep_a_climb() {
    assert_eq!(trim(&spec(), 8.0, 0.0), None);
    assert_eq!(trim(&spec(), 70.0, 1.5), None);
}

#[test]
fn lift_falls_beyond_stall_and_is_odd_and_finite_all_around() {
    let constants = Constants::new(&spec());
    let lift = |alpha: f64| lift_of_alpha(alpha, math::sin_cos(alpha), &constants);
    let angles = || (0..900).map(|step| 0.001 * f64::from(step));
    let (best, _) = angles().map(|a| (a, lift(a))).max_by(|a, b| a.1.total_cmp(&b.1)).expect("not empty");
    assert!((0.35..0.4712).contains(&best), "{best}");
    assert!(lift(best + 0.15) < 0.75 * lift(best));
    assert!((lift(0.1) - (0.28 + 0.345)).abs() < 1e-6, "linear below stall");
    for alpha in angles().map(|a| 3.5 * a).filter(|a| *a > 0.8) {
        assert!((lift(alpha) + lift(-alpha)).abs() < 1e-4, "a flat plate at {alpha}");
    }
}

#[test]
fn surfaces_turn_the_aircraft_by_the_signs_of_the_book() {
    let rates = |input: usize, value: f64| {
        let mut flock = flock(DVec3::new(CRUISE_MPS, 0.0, 0.0));
        flock.columns[COMMAND + input].iter_mut().for_each(|command| *command += value);
        flock.run(0.005, 40);
        // forward, right, down
        flock.vec3(body::ANGULAR_VELOCITY) * DVec3::new(1.0, -1.0, -1.0)
    };
    assert!(rates(0, -0.05).y > 0.01, "elevator up raises the nose");
    assert!(rates(1, 0.05).x > 0.1, "positive aileron rolls to the right");
    assert!(rates(2, -0.05).z > 0.001, "negative rudder turns the nose to the right");
}

#[test]
fn a_bank_to_the_right_turns_to_the_right() {
    let mut flock = flock(DVec3::new(CRUISE_MPS, 0.0, 0.0));
    let bank = math::quat_from_rpy(0.3, 0.0, 0.0);
    for lane in 0..LANES {
        let level = body::orientation(&flock.columns, lane);
        body::set_orientation(&mut flock.columns, lane, rigid::product(level, bank));
    }
    flock.run(0.005, 400);
    assert!(flock.vec3(body::VELOCITY).y < -1.0, "{}", flock.vec3(body::VELOCITY));
}

#[test]
fn more_throttle_climbs() {
    let mut flock = flock(DVec3::new(CRUISE_MPS, 0.0, 0.0));
    flock.columns[COMMAND + 3].iter_mut().for_each(|throttle| *throttle += 0.1);
    flock.run(0.005, 4000);
    assert!(flock.vec3(body::POSITION).z > 20.0, "{}", flock.vec3(body::POSITION));
}

#[test]
fn a_glide_without_thrust_loses_energy_all_the_time() {
    let mut flock = flock(DVec3::new(CRUISE_MPS, 3.0, 0.0));
    flock.set(COMMAND + 3, &[0.0]);
    let mass = spec().mass_kg;
    let energy = |flock: &Flock| {
        let rate = flock.vec3(body::ANGULAR_VELOCITY);
        let spin = DVec3::from(spec().inertia_kgm2).dot(rate * rate);
        0.5 * mass * flock.vec3(body::VELOCITY).length_squared()
            + 0.5 * spin
            + mass * GRAVITY * flock.vec3(body::POSITION).z
    };
    let mut last = energy(&flock);
    for _ in 0..1000 {
        flock.run(0.005, 1);
        let now = energy(&flock);
        assert!(now < last, "{now} {last}");
        last = now;
    }
}

#[test]
fn a_steady_wind_shifts_the_ground_track_only() {
    let wind = DVec3::new(0.0, 8.0, 0.0);
    let mut flock = flock(DVec3::new(CRUISE_MPS, 0.0, 0.0));
    flock.set_vec3(body::WIND, wind);
    flock.set_vec3(body::VELOCITY, DVec3::new(CRUISE_MPS, 0.0, 0.0) + wind);
    flock.run(0.005, 2000);
    let expected = 10.0 * (DVec3::new(CRUISE_MPS, 0.0, 0.0) + wind);
    assert!((flock.vec3(body::POSITION) - expected).length() < 1e-6);
}

#[test]
fn at_zero_airspeed_an_aircraft_falls_and_stays_finite() {
    let mut flock = flock(DVec3::ZERO);
    flock.run(0.005, 1);
    let velocity = flock.vec3(body::VELOCITY);
    assert!((velocity.z + GRAVITY * 0.005).abs() < 1e-4, "{velocity}");
    flock.run(0.005, 2000);
    assert!(flock.columns.iter().flatten().all(|value| value.is_finite()));
}

#[test]
fn servos_and_motor_lag_by_their_time_constants() {
    let parameters = [("servo_s", Value::Number(0.05)), ("motor_s", Value::Number(0.2))];
    let mut flock = Flock::new(build(&KIND, &parameters), DVec3::ZERO);
    flock.set(COMMAND, &[0.2, -9.0, 0.0, 1.0]);
    flock.run(0.005, 20);
    let actual = |index: usize| flock.columns[ACTUAL + index][0];
    assert!((actual(0) - 0.2 * (1.0 - math::exp(-2.0))).abs() < 1e-12);
    assert!((actual(1) + std::f64::consts::FRAC_PI_4 * (1.0 - math::exp(-2.0))).abs() < 1e-12, "limited");
    assert!((actual(3) - (1.0 - math::exp(-0.5))).abs() < 1e-12);
}

/// The derivative of forward and downward velocity, pitch rate and pitch, in the book's frame.
fn longitudinal([u, w, q, pitch]: [f64; 4], controls: &Controls, constants: &Constants) -> [f64; 4] {
    let loads = loads(DVec3::new(u, 0.0, -w), DVec3::new(0.0, -q, 0.0), controls, constants);
    let (sine, cosine) = math::sin_cos(pitch);
    [loads.acceleration.x - q * w - GRAVITY * sine, -loads.acceleration.z + q * u + GRAVITY * cosine, -loads.spin.y, q]
}

/// The characteristic polynomial `x⁴ + c₃x³ + c₂x² + c₁x + c₀` by Faddeev and LeVerrier, as `[c₃, c₂, c₁, c₀]`.
fn characteristic(a: [[f64; 4]; 4]) -> [f64; 4] {
    let mut m = [[0.0; 4]; 4];
    let mut previous = 1.0;
    std::array::from_fn(|k| {
        let mut next = [[0.0; 4]; 4];
        for (i, row) in next.iter_mut().enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                *entry = (0..4).map(|l| a[i][l] * m[l][j]).sum::<f64>() + if i == j { previous } else { 0.0 };
            }
        }
        m = next;
        let trace: f64 = (0..4).map(|i| (0..4).map(|l| a[i][l] * m[l][i]).sum::<f64>()).sum();
        previous = -trace / (k + 1) as f64;
        previous
    })
}

/// The quadratic factor `x² + p x + r` of smallest roots, by Bairstow's method from a start near zero.
fn slow_factor([c3, c2, c1, c0]: [f64; 4]) -> (f64, f64) {
    let (mut p, mut r) = (c1 / c2, c0 / c2);
    for _ in 0..100 {
        // the quotient is x² + b x + d; its product with the factor must give c1 and c0
        let b = c3 - p;
        let d = c2 - p * b - r;
        (p, r) = ((c1 - r * b) / d, c0 / d);
    }
    (p, r)
}

#[test]
fn the_phugoid_has_the_period_of_the_linearised_model() {
    // a small fast jet, whose thrust hardly depends on airspeed: with the book's propeller the mode hardly oscillates
    let parameters = [("propeller_area_m2", Value::Number(0.002)), ("motor_mps", Value::Number(400.0))];
    let spec = FixedWingSpec { propeller_area_m2: 0.002, motor_mps: 400.0, ..spec() };
    let (constants, trim) = (Constants::new(&spec), trim(&spec, CRUISE_MPS, 0.0).expect("flies"));
    let controls = Controls { elevator: trim.elevator_rad, aileron: 0.0, rudder: 0.0, throttle: trim.throttle };
    let (sine, cosine) = math::sin_cos(trim.alpha_rad);
    let state = [CRUISE_MPS * cosine, CRUISE_MPS * sine, 0.0, trim.pitch_rad];
    assert!(longitudinal(state, &controls, &constants).iter().all(|change| change.abs() < 1e-9));
    let mut jacobian = [[0.0; 4]; 4];
    for column in 0..4 {
        let moved = |by: f64| {
            let mut state = state;
            state[column] += by;
            longitudinal(state, &controls, &constants)
        };
        let (up, down) = (moved(1e-5), moved(-1e-5));
        (0..4).for_each(|row| jacobian[row][column] = (up[row] - down[row]) / 2e-5);
    }
    let (p, r) = slow_factor(characteristic(jacobian));
    let expected_s = 2.0 * PI / (r - 0.25 * p * p).sqrt();

    let mut flock = Flock::new(build(&KIND, &parameters), DVec3::new(CRUISE_MPS, 0.0, 0.0));
    flock.set_vec3(body::VELOCITY, DVec3::new(CRUISE_MPS + 0.1, 0.0, 0.0));
    let (dt_s, mut climb, mut crossings) = (0.005, 0.0, Vec::new());
    for tick in 0..20_000 {
        flock.run(dt_s, 1);
        let now = flock.vec3(body::VELOCITY).z;
        if tick > 1000 && climb < 0.0 && now >= 0.0 {
            crossings.push(dt_s * (f64::from(tick) - now / (now - climb)));
        }
        climb = now;
    }
    let measured_s = (crossings[3] - crossings[0]) / 3.0;
    let lanchester_s = PI * std::f64::consts::SQRT_2 * CRUISE_MPS / GRAVITY;
    println!("phugoid: flown {measured_s} s, linearised {expected_s} s, Lanchester {lanchester_s} s");
    assert!((measured_s / expected_s - 1.0).abs() < 1e-5, "{measured_s} {expected_s}");
    assert!((measured_s / lanchester_s - 1.0).abs() < 0.1, "{measured_s} {lanchester_s}");
}

/// Where a manoeuvre with lagging surfaces ends, integrated in `ticks` ticks.
fn manoeuvre(ticks: usize) -> DVec3 {
    let mut flock = Flock::new(build(&KIND, &[("servo_s", Value::Number(0.1))]), DVec3::new(CRUISE_MPS, 0.0, 0.0));
    flock.set_vec3(body::WIND, DVec3::new(0.0, 3.0, 0.0));
    flock.set(COMMAND, &[-0.1, 0.03, 0.02, 0.6]);
    flock.run(1.0 / ticks as f64, ticks);
    flock.vec3(body::POSITION)
}

#[test]
fn the_integrator_is_of_second_order() {
    let exact = manoeuvre(1 << 14);
    let errors: Vec<f64> = [7, 8, 9, 10].map(|power| (manoeuvre(1 << power) - exact).length()).into();
    let slope = (errors[0] / errors[3]).log2() / 3.0;
    println!("errors {errors:?}, order {slope}");
    assert!((1.9..2.3).contains(&slope), "{slope} {errors:?}");
}

#[test]
fn roll_is_damped_at_great_speed_and_in_long_ticks() {
    let mut flock = flock(DVec3::new(95.0, 0.0, 0.0));
    flock.set_vec3(body::ANGULAR_VELOCITY, DVec3::new(2.0, 0.0, 0.0));
    let mut last = 2.0;
    for _ in 0..20 {
        flock.run(0.01, 1);
        let now = flock.vec3(body::ANGULAR_VELOCITY).x.abs();
        assert!(now < 1.01 * last + 0.05, "{now} after {last}");
        last = now;
    }
    assert!(last < 0.2, "{last}");
}

#[test]
fn a_product_of_inertia_beyond_its_moments_is_refused() {
    let mut node = Node::default();
    node.set("inertia_xz_kgm2", Node::of(Value::Number(2.0)));
    let mut problems = Problems::default();
    assert!((KIND.build)(&node, "motion", &[], &mut problems).is_none());
    assert!(problems.list()[0].to_string().contains("inertia_xz_kgm2 2"));
}

#[test]
fn registers_of_all_widths_give_the_same_bits() {
    let motion = build(&KIND, &[("servo_s", Value::Number(0.05)), ("c_l_q", Value::Number(7.95))]);
    let limits = [(-0.3, 0.1), (-0.1, 0.1), (-0.1, 0.1), (0.0, 1.1)];
    check_same_bits(&motion, setpoint::NONE, &limits, 30.0);
}
