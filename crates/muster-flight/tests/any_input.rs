//! No input, however absurd, makes a step panic or a rotor exceed its limit, and a state survives its columns.

use muster_flight::{
    Airframe, AirframeSpec, Gains, GainsSpec, ImuRaw, Inputs, RateGainsSpec, Setpoint, State, step, step_lanes,
};

struct Xorshift(u64);

impl Xorshift {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Half of the draws are extremes or close to zero, where overflow and sign errors live.
    fn int(&mut self) -> i32 {
        let bits = self.next();
        match bits >> 61 {
            0 => i32::MIN,
            1 => i32::MAX,
            2 => (bits as i32) >> 28,
            3 => (bits as i32) >> 16,
            _ => bits as i32,
        }
    }

    fn short(&mut self) -> i16 {
        let value = self.int();
        i16::try_from(value).unwrap_or((value >> 16) as i16)
    }

    fn imu(&mut self) -> ImuRaw {
        ImuRaw { gyro: [(); 3].map(|()| self.short()), accel: [(); 3].map(|()| self.short()) }
    }

    fn setpoint(&mut self) -> Setpoint {
        Setpoint {
            roll_e4_rad: self.int(),
            pitch_e4_rad: self.int(),
            yaw_rate_e4_rad_s: self.int(),
            thrust_mn: self.int(),
        }
    }
}

fn largest_gains(period_us: u32) -> Gains {
    let rate = RateGainsSpec {
        p_milli: 1_000_000,
        i_milli: 10_000_000,
        integral_max_mrad_s2: 100_000,
        accel_max_mrad_s2: 30_000_000,
    };
    Gains::new(GainsSpec {
        period_us,
        angle_p_milli: 100_000,
        tilt_rate_max_mrad_s: 20_000,
        yaw_rate_max_mrad_s: 20_000,
        tilt_d_milli: 10_000,
        derivative_shift: 0,
        tilt: rate,
        yaw: rate,
        level_milli: 200,
        bias_micro: 100_000,
    })
    .expect("the largest gains are within range")
}

/// A pocket quadrotor, and the largest and weakest vehicles whose numbers are accepted.
fn airframes() -> [(Airframe, u16); 4] {
    let crazyflie = AirframeSpec {
        thrust_factor_pn_s2: 18_800,
        moment_per_thrust_um: 5_960,
        arm_um: 46_000,
        inertia_nkg_m2: [16_572, 16_656, 29_262],
        rotor_max_rad_s: 2_618,
    };
    let largest = AirframeSpec {
        thrust_factor_pn_s2: 1_000_000_000,
        moment_per_thrust_um: 1_000_000,
        arm_um: 10_000_000,
        inertia_nkg_m2: [u32::MAX; 3],
        rotor_max_rad_s: 4_095,
    };
    let weakest = AirframeSpec {
        thrust_factor_pn_s2: 100,
        moment_per_thrust_um: 1_000,
        arm_um: 1_000,
        inertia_nkg_m2: [500; 3],
        rotor_max_rad_s: 4_095,
    };
    [AirframeSpec::HUMMINGBIRD, crazyflie, largest, weakest]
        .map(|spec| (Airframe::new(spec).expect("the vehicle is within range"), spec.rotor_max_rad_s * 8))
}

#[test]
fn no_input_makes_a_step_panic_or_a_rotor_exceed_its_limit() {
    let mut random = Xorshift(0x9E37_79B9_7F4A_7C15);
    for (airframe, speed_max) in airframes() {
        for gains in [Gains::HUMMINGBIRD, largest_gains(500), largest_gains(5_000)] {
            for _ in 0..40_000 {
                let mut state = State::from_array([(); 11].map(|()| random.int()));
                for _ in 0..4 {
                    let speeds = step(&airframe, &gains, &mut state, random.imu(), random.setpoint());
                    assert!(speeds.iter().all(|&speed| speed <= speed_max), "{speeds:?}");
                    assert_eq!(State::from_array(state.to_array()), state, "a step leaves only states it takes back");
                }
            }
        }
    }
}

#[test]
fn the_vertical_stays_a_unit_vector_through_wild_readings() {
    let mut random = Xorshift(7);
    let mut state = State::LEVEL;
    for _ in 0..100_000 {
        step(&Airframe::HUMMINGBIRD, &Gains::HUMMINGBIRD, &mut state, random.imu(), random.setpoint());
        let norm_squared: i64 = state.up_q30().iter().map(|&part| (i64::from(part) * i64::from(part)) >> 30).sum();
        assert!((norm_squared - (1 << 30)).abs() < 1 << 21, "{state:?}");
    }
}

#[test]
fn a_step_continues_from_columns_as_from_the_state() {
    let mut random = Xorshift(11);
    let mut kept = State::tilted(1_000, -2_000);
    for _ in 0..10_000 {
        let mut restored = State::from_array(kept.to_array());
        let (imu, setpoint) = (random.imu(), random.setpoint());
        let from_kept = step(&Airframe::HUMMINGBIRD, &Gains::HUMMINGBIRD, &mut kept, imu, setpoint);
        let from_columns = step(&Airframe::HUMMINGBIRD, &Gains::HUMMINGBIRD, &mut restored, imu, setpoint);
        assert_eq!((kept, from_kept), (restored, from_columns));
    }
}

#[test]
fn all_lanes_at_once_give_what_each_gives_alone() {
    const LANES: usize = 16;
    let mut random = Xorshift(0x1234_5678_9ABC_DEF1);
    for (airframe, _) in airframes() {
        for gains in [Gains::HUMMINGBIRD, largest_gains(500), largest_gains(5_000)] {
            for round in 0..4_000 {
                let mut columns = [[0; LANES]; 11];
                // States no step can leave behind, and others, that fly or stand for some periods.
                for lane in 0..LANES {
                    let wild = State::from_array([(); 11].map(|()| random.int()));
                    let state = if round % 2 == 0 { [(); 11].map(|()| random.int()) } else { wild.to_array() };
                    columns.iter_mut().zip(state).for_each(|(column, value)| column[lane] = value);
                }
                for period in 0..4 {
                    let calm = period >= 2;
                    let mut inputs = Inputs::<LANES>::default();
                    let mut squares = [[0; LANES]; 4];
                    let mut expected = Vec::new();
                    for lane in 0..LANES {
                        let (mut imu, mut setpoint) = (random.imu(), random.setpoint());
                        if calm {
                            imu = ImuRaw { gyro: imu.gyro.map(|count| count >> 7), accel: [0, 100, 4000] };
                            setpoint.thrust_mn %= 9_000;
                        }
                        let mut state = State::from_array(columns.map(|column| column[lane]));
                        let speeds = step(&airframe, &gains, &mut state, imu, setpoint);
                        expected.push((state.to_array(), speeds));
                        for axis in 0..3 {
                            inputs.gyro[axis][lane] = i32::from(imu.gyro[axis]);
                            inputs.accel[axis][lane] = i32::from(imu.accel[axis]);
                        }
                        let Setpoint { roll_e4_rad, pitch_e4_rad, yaw_rate_e4_rad_s, thrust_mn } = setpoint;
                        let values = [roll_e4_rad, pitch_e4_rad, yaw_rate_e4_rad_s, thrust_mn];
                        inputs.setpoint.iter_mut().zip(values).for_each(|(column, value)| column[lane] = value);
                    }
                    step_lanes(&airframe, &gains, &mut columns, &inputs, &mut squares, LANES);
                    for (lane, (state, speeds)) in expected.into_iter().enumerate() {
                        assert_eq!(columns.map(|column| column[lane]), state, "lane {lane}");
                        assert_eq!(squares.map(|column| column[lane].isqrt() as u16), speeds, "lane {lane}");
                    }
                }
            }
        }
    }
}
