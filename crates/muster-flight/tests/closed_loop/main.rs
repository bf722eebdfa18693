//! The loop closed around a Hummingbird in floating point: steps, hover with a poor gyro, recovery, and the same
//! control law in floating point beside it.

mod float_law;
mod plant;

use float_law::FloatLaw;
use muster_flight::{Airframe, Gains, Setpoint, State, step};
use plant::{Gyro, HOVER_MN, Plant};

const HOVER: Setpoint = Setpoint { roll_e4_rad: 0, pitch_e4_rad: 0, yaw_rate_e4_rad_s: 0, thrust_mn: HOVER_MN };

/// Either law: from a sample and a setpoint to rotor speeds in rad/s.
trait Law {
    fn rotor_rad_s(&mut self, imu: muster_flight::ImuRaw, setpoint: Setpoint) -> [f64; 4];
}

struct IntegerLaw(State);

impl Law for IntegerLaw {
    fn rotor_rad_s(&mut self, imu: muster_flight::ImuRaw, setpoint: Setpoint) -> [f64; 4] {
        let speeds = step(&Airframe::HUMMINGBIRD, &Gains::HUMMINGBIRD, &mut self.0, imu, setpoint);
        speeds.map(|speed| f64::from(speed) / 8.0)
    }
}

/// Flies for a time, and shows the plant after every millisecond.
fn fly(plant: &mut Plant, law: &mut impl Law, setpoint: Setpoint, seconds: f64, mut see: impl FnMut(f64, &Plant)) {
    let mut wanted = [0.0; 4];
    for millisecond in 0..(seconds * 1e3) as u32 {
        if millisecond % 2 == 0 {
            wanted = law.rotor_rad_s(plant.sample_imu(), setpoint);
        }
        plant.advance(wanted);
        see(f64::from(millisecond + 1) * 1e-3, plant);
    }
}

fn degrees(radians: f64) -> f64 {
    radians.to_degrees()
}

/// What a step of 10° does: largest angle, last time outside ±1°, and the integral of the absolute error in deg s.
#[derive(Debug)]
struct Response {
    peak_deg: f64,
    settled_s: f64,
    error_deg_s: f64,
}

fn ten_degrees(law: &mut impl Law, setpoint: Setpoint, angle_of: impl Fn(&Plant) -> f64) -> Response {
    let mut plant = Plant::hovering(0.0, Gyro::default());
    let mut response = Response { peak_deg: 0.0, settled_s: 0.0, error_deg_s: 0.0 };
    fly(&mut plant, law, setpoint, 1.5, |time, plant| {
        let angle = degrees(angle_of(plant));
        response.peak_deg = response.peak_deg.max(angle);
        response.error_deg_s += (angle - 10.0).abs() * 1e-3;
        if (angle - 10.0).abs() > 1.0 {
            response.settled_s = time;
        }
    });
    response
}

#[test]
fn a_step_of_ten_degrees_settles_in_half_a_second() {
    let roll = Setpoint { roll_e4_rad: 1_745, ..HOVER };
    let pitch = Setpoint { pitch_e4_rad: 1_745, ..HOVER };
    for response in [
        ten_degrees(&mut IntegerLaw(State::LEVEL), roll, Plant::roll),
        ten_degrees(&mut IntegerLaw(State::LEVEL), pitch, Plant::pitch),
    ] {
        println!("{response:?}");
        assert!(response.settled_s < 0.5 && response.peak_deg < 12.0, "{response:?}");
    }
}

#[test]
fn integers_track_as_floats_do() {
    let roll = Setpoint { roll_e4_rad: 1_745, ..HOVER };
    let integer = ten_degrees(&mut IntegerLaw(State::LEVEL), roll, Plant::roll);
    let float = ten_degrees(&mut FloatLaw::level(), roll, Plant::roll);
    println!("integer {integer:?}\nfloat   {float:?}");
    assert!((integer.error_deg_s / float.error_deg_s - 1.0).abs() < 0.1, "{integer:?} {float:?}");
}

#[test]
fn yaw_follows_its_rate_and_leaves_the_tilt_alone() {
    let mut plant = Plant::hovering(0.0, Gyro::default());
    let turning = Setpoint { yaw_rate_e4_rad_s: 10_000, roll_e4_rad: 1_745, ..HOVER };
    fly(&mut plant, &mut IntegerLaw(State::LEVEL), turning, 2.0, |_, _| {});
    assert!((plant.yaw_rate() - 1.0).abs() < 0.05, "{}", plant.yaw_rate());
    assert!((degrees(plant.roll()) - 10.0).abs() < 2.0, "{}", degrees(plant.roll()));
    assert!(degrees(plant.pitch()).abs() < 1.0, "{}", degrees(plant.pitch()));
}

#[test]
fn hover_holds_for_a_minute_with_a_noisy_and_biased_gyro() {
    let mut plant = Plant::standing(Gyro { noise_rad_s: 0.01, bias_rad_s: [0.01; 3] });
    let mut law = IntegerLaw(State::LEVEL);
    fly(&mut plant, &mut law, Setpoint { thrust_mn: 0, ..HOVER }, 3.0, |_, _| {});
    plant.take_off();
    let mut worst = 0.0_f64;
    fly(&mut plant, &mut law, HOVER, 60.0, |_, plant| worst = worst.max(degrees(plant.tilt())));
    println!("worst tilt {worst:.3}°, bias {:?}", law.0.gyro_bias_q30().map(|bias| f64::from(bias) / (1 << 30) as f64));
    assert!(worst < 1.0, "{worst}°");
}

/// Without rest to learn the bias in, only drag shows it: the tilt grows towards bias over level gain, 11°, and comes
/// back as the bias is learnt.
#[test]
fn a_bias_met_in_the_air_is_bounded_and_learnt() {
    let mut plant = Plant::hovering(0.0, Gyro { noise_rad_s: 0.0, bias_rad_s: [0.01, 0.0, 0.0] });
    let mut law = IntegerLaw(State::LEVEL);
    let (mut worst, mut last) = (0.0_f64, 0.0);
    fly(&mut plant, &mut law, HOVER, 300.0, |_, plant| {
        last = degrees(plant.tilt());
        worst = worst.max(last);
    });
    println!("worst {worst:.2}°, after 300 s {last:.2}°");
    assert!(worst < 12.0 && last < 1.0, "{worst}° {last}°");
}

#[test]
fn forty_degrees_are_recovered() {
    let mut plant = Plant::hovering(40.0, Gyro::default());
    let mut law = IntegerLaw(State::tilted(6_981, 0));
    let (mut last_out, mut lowest) = (0.0, 0.0_f64);
    fly(&mut plant, &mut law, HOVER, 2.0, |time, plant| {
        let roll = degrees(plant.roll());
        lowest = lowest.min(roll);
        if roll.abs() > 1.0 {
            last_out = time;
        }
    });
    println!("within 1° after {last_out} s, lowest {lowest}°");
    assert!(last_out < 1.0 && lowest > -8.0, "{last_out} s, {lowest}°");
}
