//! The laws of rotors.

use super::super::testing::{Flock, GRAVITY, build, check_same_bits};
use super::*;
use muster_core::lanes::setpoint;
use muster_core::node::{Node, Problems, Value};

fn spec() -> HelicopterSpec {
    <HelicopterSpec as Spec>::read(&Node::default(), "", &[], &mut Problems::default()).expect("defaults are valid")
}

fn number(value: f64) -> Value {
    Value::Number(value)
}

fn list(values: &[f64]) -> Value {
    Value::List(values.iter().map(|value| Node::of(number(*value))).collect())
}

/// So heavy that its rotors hardly move it, without gravity.
const PINNED_KG: f64 = 1e6;

fn pinned() -> Flock {
    let parameters =
        [("mass_kg", number(PINNED_KG)), ("inertia_kgm2", list(&[1e8; 3])), ("start", Value::Text("flat".into()))];
    let mut flock = Flock::new(build(&KIND, &parameters), DVec3::ZERO);
    flock.environment.gravity_mps2 = DVec3::ZERO;
    flock
}

/// The force on the body, from the change of its velocity over a tick.
fn force(flock: &mut Flock) -> DVec3 {
    let before = flock.vec3(body::VELOCITY);
    flock.run(0.001, 1);
    (flock.vec3(body::VELOCITY) - before) * (PINNED_KG * 1000.0)
}

/// Collective, cyclic forward and left, pedal.
fn command(flock: &mut Flock, controls: [f64; 4]) {
    flock.set(COMMAND, &controls);
}

#[test]
fn hover_collective_and_power_are_those_of_momentum_and_blade_element_theory() {
    let spec = spec();
    let weight = spec.mass_kg * GRAVITY;
    // coefficients as textbooks have them (Leishman 2006, 2.3 and 3.5), not the kernel's
    let area = PI * spec.rotor_radius_m * spec.rotor_radius_m;
    let tip = spec.rotor_speed_radps * spec.rotor_radius_m;
    let solidity = 2.0 * spec.rotor_chord_m / (PI * spec.rotor_radius_m);
    let c_t = weight / (spec.air_density_kgpm3 * area * tip * tip);
    let collective = 6.0 * c_t / (solidity * spec.rotor_lift_slope) + 1.5 * (0.5 * c_t).sqrt();
    let ideal = weight * (weight / (2.0 * spec.air_density_kgpm3 * area)).sqrt();
    let profile = 0.125 * solidity * spec.blade_drag * spec.air_density_kgpm3 * area * tip * tip * tip;
    let power = spec.induced_factor * ideal + profile;

    let mut flock = pinned();
    command(&mut flock, [collective, 0.0, 0.0, 0.0]);
    flock.run(0.001, 2000);
    let (lift, found) = (force(&mut flock).z, flock.columns[POWER][0]);
    println!("collective {:.4} rad, lift {lift:.2} of {weight:.2} N, power {found:.0} of {power:.0} W", collective);
    println!("figure of merit {:.3}", ideal / found);
    assert!((lift / weight - 1.0).abs() < 1e-4, "{lift} {weight}");
    assert!((found / power - 1.0).abs() < 1e-4, "{found} {power}");
    assert!((0.6..0.75).contains(&(ideal / found)), "an ordinary figure of merit");
    assert!(power < 15_400.0, "what the engine has");
    let hover = Hover::new(&spec, GRAVITY);
    assert!((hover.collective_rad - collective).abs() < 1e-12 && (hover.power_w - power).abs() < 1e-8);
}

#[test]
fn in_a_climb_the_inflow_is_that_of_axial_momentum_theory() {
    let mut flock = pinned();
    flock.set_vec3(body::VELOCITY, DVec3::new(0.0, 0.0, 3.0));
    command(&mut flock, [0.2, 0.0, 0.0, 0.0]);
    flock.run(0.001, 3000);
    let spec = spec();
    let area = PI * spec.rotor_radius_m * spec.rotor_radius_m;
    let drag = 0.5 * spec.air_density_kgpm3 * spec.drag_area_m2[2] * 9.0;
    let lift = force(&mut flock).z + drag;
    let hover = lift / (2.0 * spec.air_density_kgpm3 * area);
    // Leishman (2.33)
    let expected = -1.5 + (2.25 + hover).sqrt();
    assert!((flock.columns[INFLOW][0] / expected - 1.0).abs() < 1e-3, "{} {expected}", flock.columns[INFLOW][0]);
}

#[test]
fn in_fast_forward_flight_the_inflow_is_that_of_a_wing_of_the_rotors_span() {
    let mut flock = pinned();
    let speed = 40.0;
    flock.set_vec3(body::VELOCITY, DVec3::new(speed, 0.0, 0.0));
    command(&mut flock, [0.08, 0.0, 0.0, 0.0]);
    flock.run(0.001, 3000);
    let lift = force(&mut flock).z;
    let spec = spec();
    let area = PI * spec.rotor_radius_m * spec.rotor_radius_m;
    let expected = lift / (2.0 * spec.air_density_kgpm3 * area * speed);
    assert!((flock.columns[INFLOW][0] / expected - 1.0).abs() < 2e-3, "{} {expected}", flock.columns[INFLOW][0]);
}

#[test]
fn without_blades_it_falls_at_the_speed_at_which_drag_is_weight() {
    let parameters =
        [("rotor_chord_m", number(0.0)), ("tail_chord_m", number(0.0)), ("start", Value::Text("flat".into()))];
    let mut flock = Flock::new(build(&KIND, &parameters), DVec3::ZERO);
    flock.run(0.002, 20_000);
    let spec = spec();
    let expected = (2.0 * spec.mass_kg * GRAVITY / (spec.air_density_kgpm3 * spec.drag_area_m2[2])).sqrt();
    let speed = -flock.vec3(body::VELOCITY).z;
    println!("falls at {speed:.4} m/s, drag is weight at {expected:.4} m/s");
    assert!((speed / expected - 1.0).abs() < 1e-6, "{speed} {expected}");
}

#[test]
fn the_disc_follows_cyclic_as_a_lag_and_stays_behind_a_turning_body() {
    let mut flock = pinned();
    command(&mut flock, [0.1, 0.1, -0.05, 0.0]);
    flock.set(ACTUAL, &[0.1, 0.1, -0.05, 0.0]);
    flock.run(0.001, 100);
    let share = 1.0 - math::exp(-0.1 / 0.17);
    assert!((flock.columns[DISC][0] - 0.1 * share).abs() < 1e-6, "{}", flock.columns[DISC][0]);
    assert!((flock.columns[DISC + 1][0] + 0.05 * share).abs() < 1e-6);

    let mut flock = pinned();
    flock.set_vec3(body::ANGULAR_VELOCITY, DVec3::new(0.2, 0.1, 0.0));
    flock.run(0.001, 3000);
    assert!((flock.columns[DISC][0] + 0.17 * 0.1).abs() < 1e-4, "{}", flock.columns[DISC][0]);
    assert!((flock.columns[DISC + 1][0] - 0.17 * 0.2).abs() < 1e-4, "{}", flock.columns[DISC + 1][0]);
}

#[test]
fn roll_and_pitch_answer_flapping_as_identified_in_flight() {
    let hover = Hover::new(&spec(), GRAVITY);
    let acceleration = |disc: usize| {
        let mut flock = Flock::new(build(&KIND, &[("servo_s", number(0.0))]), DVec3::ZERO);
        let before = flock.columns[DISC + disc][0];
        flock.columns[DISC + disc] = [before + 0.01; LANES];
        flock.columns[COMMAND + 1 + disc] = [before + 0.01; LANES];
        flock.run(1e-5, 1);
        flock.vec3(body::ANGULAR_VELOCITY) / (0.01 * 1e-5)
    };
    // Mettler, Tischler and Kanade: M_a 82.6, L_b 166
    let (pitch, roll) = (acceleration(0), acceleration(1));
    println!("pitch {:.1}, roll {:.1} rad/s² a rad; {hover:?}", pitch.y, roll.x);
    assert!((pitch.y / 82.6 - 1.0).abs() < 0.02, "{pitch}");
    assert!((roll.x / -166.0 - 1.0).abs() < 0.02, "{roll}");
}

#[test]
fn the_tail_rotor_holds_the_torque_of_the_main_rotor_in_hover() {
    for clockwise in [true, false] {
        let parameters = [("rotor_clockwise", Value::Bool(clockwise))];
        let mut flock = Flock::new(build(&KIND, &parameters), DVec3::ZERO);
        flock.run(0.001, 20);
        let rate = flock.vec3(body::ANGULAR_VELOCITY);
        assert!(rate.length() < 2e-3, "{rate}");
        flock.columns[COMMAND + 3].iter_mut().for_each(|pedal| *pedal += 0.05);
        flock.run(0.001, 200);
        let turn = flock.vec3(body::ANGULAR_VELOCITY).z;
        assert!(if clockwise { turn < -0.05 } else { turn > 0.05 }, "{turn}");
    }
}

#[test]
fn cyclic_tilts_and_moves_it_to_the_side_its_name_says() {
    for (index, axis) in [(1, 0), (2, 1)] {
        let mut flock = Flock::new(build(&KIND, &[]), DVec3::ZERO);
        let steady = {
            let mut still = Flock::new(build(&KIND, &[]), DVec3::ZERO);
            still.run(0.001, 700);
            still.vec3(body::VELOCITY)
        };
        flock.columns[COMMAND + index].iter_mut().for_each(|cyclic| *cyclic += 0.02);
        flock.run(0.001, 700);
        let moved = (flock.vec3(body::VELOCITY) - steady).to_array();
        assert!(moved[axis] > 0.1, "{index}: {moved:?}");
    }
}

#[test]
fn limits_the_wrong_way_around_are_refused() {
    let (mut node, mut problems) = (Node::default(), Problems::default());
    node.set("pedal_rad", Node::of(list(&[0.3, -0.3])));
    assert!((KIND.build)(&node, "motion", &[], &mut problems).is_none());
    assert!(problems.list()[0].to_string().starts_with("motion.pedal_rad"), "{:?}", problems.list());
}

/// Where a manoeuvre ends, integrated in `ticks` ticks.
fn manoeuvre(ticks: usize) -> DVec3 {
    let mut flock = Flock::new(build(&KIND, &[]), DVec3::new(2.0, 1.0, 0.0));
    flock.set_vec3(body::WIND, DVec3::new(3.0, -1.0, 0.5));
    command(&mut flock, [0.19, 0.03, -0.02, 0.2]);
    flock.run(0.8 / ticks as f64, ticks);
    flock.vec3(body::POSITION)
}

#[test]
fn the_integrator_is_of_second_order() {
    let exact = manoeuvre(1 << 14);
    let errors: Vec<f64> = [8, 9, 10, 11].map(|power| (manoeuvre(1 << power) - exact).length()).into();
    let slope = (errors[0] / errors[3]).log2() / 3.0;
    println!("errors {errors:?}, order {slope}");
    assert!((1.9..2.3).contains(&slope), "{slope} {errors:?}");
}

#[test]
fn registers_of_all_widths_give_the_same_bits() {
    let inputs = [(0.12, 0.2), (-0.03, 0.03), (-0.03, 0.03), (0.1, 0.2)];
    check_same_bits(&build(&KIND, &[]), setpoint::NONE, &inputs, 3.0);
}
