//! Which scanner a device says it is: what it tells of itself in `VV`, `PP` and `II`, the steps its rays are counted in, and
//! how it writes that it saw nothing.
//!
//! Hosts compute angles as 2π (step − AFRT) / ARES, all whole numbers, so rays must lie on such a lattice: in one plane, evenly
//! spaced, a whole number of them to the turn, and one straight ahead if the fan were long enough.

use glam::DVec3;
use muster_core::component::Misfit;
use muster_core::math;
use std::f64::consts::TAU;

/// Evenly spaced rays in a plane, in whole steps from straight ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fan {
    /// Steps in a full turn.
    pub turn: u32,
    /// The first ray counter-clockwise, in steps from straight ahead.
    pub first: i32,
    /// How many rays there are.
    pub count: usize,
    /// True if samples hold the rays clockwise.
    pub clockwise: bool,
}

/// How far a ray may be off the lattice, in steps: more than rounding of an angle written in degrees, far less than a step.
const OFF_MAX: f64 = 1e-3;

impl Fan {
    /// The fan these directions are; else what was found and what was expected.
    pub fn of(directions: &[DVec3]) -> Result<Self, Misfit> {
        let wrong = |found: String, expected: &str| Err((found, expected.to_owned()));
        let ([first, second, ..], Some(last)) = (directions, directions.last()) else {
            return wrong(format!("{} rays", directions.len()), "at least two, in a plane");
        };
        if let Some(at) = directions.iter().position(|each| each.z.abs() > 1e-9) {
            return wrong(format!("ray {at} out of the sensor's xy plane"), "a planar scan");
        }
        let azimuth = |each: &DVec3| math::atan2(each.y, each.x);
        let step = wrapped(azimuth(second) - azimuth(first));
        let turn = TAU / step.abs();
        let whole = math::round_nearest(turn);
        if step == 0.0 || (turn - whole).abs() > OFF_MAX * whole.max(1.0) / directions.len() as f64 {
            return wrong(format!("{turn:.4} rays to a full turn"), "a whole number of them");
        }
        if whole > f64::from(STEPS_MAX) || directions.len() as f64 > whole {
            let found = format!("{} rays, {whole} to a full turn", directions.len());
            return wrong(found, "no more than a full turn, of at most 9999");
        }
        let step = TAU / whole * step.signum();
        let start = wrapped(azimuth(first)) / step;
        if (start - math::round_nearest(start)).abs() > OFF_MAX {
            let found = format!("straight ahead {:.4} of a step beside a ray", start - math::floor(start));
            return wrong(found, "rays counted in whole steps from straight ahead");
        }
        for (at, each) in directions.iter().enumerate() {
            let off = wrapped(azimuth(each) - azimuth(first) - step * at as f64) / step;
            if off.abs() > OFF_MAX {
                return wrong(format!("ray {at} {off:.4} steps beside an even fan"), "even spacing");
            }
        }
        let (clockwise, turn, count) = (step < 0.0, whole as u32, directions.len());
        let start = if clockwise { last } else { first };
        let start = math::round_nearest(wrapped(azimuth(start)) / step.abs()) as i32;
        // a fan that begins behind the scanner on the left counts on from the right
        let behind = start > 0 && start + count as i32 - 1 > turn as i32 / 2;
        let first = if behind { start - turn as i32 } else { start };
        Ok(Self { turn, first, count, clockwise })
    }
}

/// Steps are told in four digits.
const STEPS_MAX: u32 = 9999;

/// The same angle from −π to π.
fn wrapped(angle: f64) -> f64 {
    angle - TAU * math::round_nearest(angle / TAU)
}

/// What is measured, as `PP` tells it, beside what depends on the make.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The rays.
    pub fan: Fan,
    /// What is nearer is not measured.
    pub near_m: f64,
    /// What is further is not measured.
    pub far_m: f64,
    /// Scans a second.
    pub rate_hz: f64,
    /// True if intensities are measured.
    pub intensity: bool,
}

/// A make of scanner: how it names itself and what it writes for what it did not see.
#[derive(Debug, PartialEq)]
pub struct Make {
    /// As in the option `device` of a binding.
    pub name: &'static str,
    /// Its maker.
    pub vendor: &'static str,
    /// `PROD`.
    pub product: &'static str,
    /// `FIRM`.
    pub firmware: &'static str,
    /// `PROT`.
    pub protocol: &'static str,
    /// `MODL`.
    pub model: &'static str,
    /// `STAT` of a device that works.
    pub works: &'static str,
    /// Steps to a turn, and the step straight ahead, if they are fixed.
    pub lattice: Option<(u32, u32)>,
    /// Up to which range it measures, m, to tell makes apart.
    pub far_m: f64,
    /// The range of nothing, mm.
    pub nothing_mm: u32,
    /// The range of what is too near, mm.
    pub near_mm: u32,
    /// The range of steps it does not measure, mm.
    pub blank_mm: u32,
    /// True if it tells intensities.
    pub intensity: bool,
    /// True if it tells several echoes.
    pub echoes: bool,
}

const MAKER: &str = "Hokuyo Automatic Co.,Ltd.";

/// Makes whose answers are known. Codes for what was not seen are those of tables 3 and 4 of the maker's specification; the
/// UST series, which has none there, writes 65533. Firmware versions are examples.
pub const MAKES: &[Make] = &[
    Make {
        name: "urg04lx",
        vendor: MAKER,
        product: "SOKUIKI Sensor URG-04LX",
        firmware: "3.3.00(04/Mar./2008)",
        protocol: "SCIP 2.0",
        model: "URG-04LX(Hokuyo Automatic Co.,Ltd.)",
        works: "Sensor works well.",
        lattice: Some((1024, 384)),
        far_m: 5.6,
        nothing_mm: 0,
        near_mm: 6,
        blank_mm: 19,
        intensity: false,
        echoes: false,
    },
    Make {
        name: "ust10lx",
        vendor: MAKER,
        product: "SOKUIKI Sensor UST-10LX",
        firmware: "1.0.00(01/Aug./2013)",
        protocol: "SCIP 2.2",
        model: "UST-10LX",
        works: "sensor is working normally",
        lattice: Some((1440, 540)),
        far_m: 15.0,
        nothing_mm: 65533,
        near_mm: 4,
        blank_mm: 65533,
        intensity: true,
        echoes: false,
    },
    Make {
        name: "ust20lx",
        vendor: MAKER,
        product: "SOKUIKI Sensor UST-20LX",
        firmware: "1.0.00(01/Aug./2013)",
        protocol: "SCIP 2.2",
        model: "UST-20LX",
        works: "sensor is working normally",
        lattice: Some((1440, 540)),
        far_m: 25.0,
        nothing_mm: 65533,
        near_mm: 4,
        blank_mm: 65533,
        intensity: true,
        echoes: false,
    },
    Make {
        name: "utm30lx",
        vendor: MAKER,
        product: "SOKUIKI Sensor TOP-URG UTM-30LX",
        firmware: "1.16.01(16/Nov./2009)",
        protocol: "SCIP 2.0",
        model: "UTM-30LX(Hokuyo Automatic Co.,Ltd.)",
        works: "Sensor works well.",
        lattice: Some((1440, 540)),
        far_m: 60.0,
        nothing_mm: 1,
        near_mm: 4,
        blank_mm: 5,
        intensity: true,
        echoes: false,
    },
    Make {
        name: "generic",
        vendor: "muster",
        product: "planar range sensor",
        firmware: env!("CARGO_PKG_VERSION"),
        protocol: "SCIP 2.0",
        model: "muster range sensor",
        works: "Sensor works well.",
        lattice: None,
        far_m: f64::INFINITY,
        nothing_mm: 1,
        near_mm: 0,
        blank_mm: 1,
        intensity: true,
        echoes: true,
    },
];

/// A device: its make, its limits and how its steps are counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// Its make.
    pub make: &'static Make,
    /// `MODL`.
    pub model: String,
    /// `SERI`.
    pub serial: String,
    /// What it measures.
    pub limits: Limits,
    /// `AMIN`: the first step measured.
    pub first: u32,
    /// `AMAX`: the last.
    pub last: u32,
    /// `AFRT`: the step straight ahead.
    pub front: u32,
    /// The last step that can be asked for.
    pub end: u32,
    /// What stands for a serial port in `II`: bits a second, or the network.
    pub port: Port,
}

/// How a device is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// By a serial port, or what looks like one.
    Serial,
    /// By a network.
    Network,
}

impl Identity {
    /// The device with these limits: of a make, or of the one whose lattice and reach fit. An error says what was found and
    /// what was expected.
    pub fn new(make: Option<&'static Make>, limits: Limits, serial: &str, port: Port) -> Result<Self, Misfit> {
        let fan = limits.fan;
        let place = |make: &Make| -> Option<(u32, u32)> {
            let front = match make.lattice {
                Some((turn, _)) if turn != fan.turn => return None,
                Some((_, front)) => front,
                None => u32::try_from(-fan.first).unwrap_or(0),
            };
            let first = u32::try_from(front as i32 + fan.first).ok()?;
            let past = make.lattice.is_some() && first + fan.count as u32 > 2 * front + 1;
            (!past).then_some((front, first))
        };
        let fits = |make: &&Make| limits.far_m <= make.far_m && place(make).is_some();
        let make = make.or_else(|| MAKES.iter().find(fits)).unwrap_or(&MAKES[MAKES.len() - 1]);
        let Some((front, first)) = place(make) else {
            let (turn, front) = make.lattice.unwrap_or_default();
            let found = format!("{} rays from step {} of {} to the turn", fan.count, fan.first, fan.turn);
            let expected =
                format!("rays a {} could have: within {front} steps of straight ahead, {turn} to the turn", make.name);
            return Err((found, expected));
        };
        let last = first + fan.count as u32 - 1;
        let end = if make.lattice.is_some() { 2 * front } else { last };
        if last > STEPS_MAX {
            return Err((format!("steps up to {last}"), format!("at most {STEPS_MAX}")));
        }
        let (model, serial) = (make.model.to_owned(), serial.to_owned());
        Ok(Self { make, model, serial, limits, first, last, front, end, port })
    }

    /// True if it tells intensities.
    pub fn has_intensity(&self) -> bool {
        self.limits.intensity && self.make.intensity
    }

    /// `DMIN`: the least range, mm.
    pub fn near_mm(&self) -> u32 {
        millimetres(self.limits.near_m)
    }

    /// `DMAX`: the largest range, mm.
    pub fn far_mm(&self) -> u32 {
        millimetres(self.limits.far_m)
    }

    /// `SCAN`: turns a minute.
    pub fn turns_per_minute(&self) -> u32 {
        math::round_nearest(self.limits.rate_hz * 60.0) as u32
    }

    /// A range as the device writes it, in millimetres; what it did not see as it does.
    pub fn range_mm(&self, range_m: f64) -> u32 {
        if range_m >= self.limits.near_m && range_m <= self.limits.far_m {
            millimetres(range_m)
        } else if range_m < self.limits.near_m {
            self.make.near_mm
        } else {
            self.make.nothing_mm
        }
    }
}

fn millimetres(metres: f64) -> u32 {
    math::round_nearest((metres * 1000.0).clamp(0.0, f64::from(super::codec::THREE_MAX))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rays(from_deg: f64, to_deg: f64, count: usize) -> Vec<DVec3> {
        let step = (to_deg - from_deg) / (count.max(2) - 1) as f64;
        let angle = |at: usize| (from_deg + step * at as f64).to_radians();
        (0..count).map(|at| DVec3::new(math::cos(angle(at)), math::sin(angle(at)), 0.0)).collect()
    }

    fn limits(fan: Fan, far_m: f64) -> Limits {
        Limits { fan, near_m: 0.02, far_m, rate_hz: 10.0, intensity: false }
    }

    #[test]
    fn the_steps_of_real_devices_follow_from_their_rays() {
        let steps = |rays: &[DVec3], far_m| {
            let device = Identity::new(None, limits(Fan::of(rays).unwrap(), far_m), "", Port::Network).unwrap();
            (device.make.name, device.limits.fan.turn, device.first, device.last, device.front, device.end)
        };
        // the URG-04LX of the maker's table: 44 to 725 of 1024, 384 ahead; its data sheet has one ray more on the right
        let urg = |first: f64| (first * 360.0 / 1024.0, 341.0 * 360.0 / 1024.0);
        let (from, to) = urg(-340.0);
        assert_eq!(steps(&rays(from, to, 682), 4.095), ("urg04lx", 1024, 44, 725, 384, 768));
        let (from, to) = urg(-341.0);
        assert_eq!(steps(&rays(from, to, 683), 4.095), ("urg04lx", 1024, 43, 725, 384, 768));
        assert_eq!(steps(&rays(-135.0, 135.0, 1081), 10.0), ("ust10lx", 1440, 0, 1080, 540, 1080));
        assert_eq!(steps(&rays(-135.0, 135.0, 1081), 30.0), ("utm30lx", 1440, 0, 1080, 540, 1080));
        assert_eq!(steps(&rays(-90.0, 90.0, 181), 30.0), ("generic", 360, 0, 180, 90, 180));
        assert_eq!(steps(&rays(10.0, 20.0, 11), 30.0), ("generic", 360, 10, 20, 0, 20));
        assert_eq!(steps(&rays(-180.0, 179.0, 360), 30.0), ("generic", 360, 0, 359, 180, 359));
    }

    #[test]
    fn clockwise_fans_are_turned_round() {
        let fan = Fan::of(&rays(45.0, -45.0, 91)).unwrap();
        assert_eq!(fan, Fan { turn: 360, first: -45, count: 91, clockwise: true });
    }

    #[test]
    fn what_is_no_fan_is_refused() {
        let check = |rays: &[DVec3], expected: &str| assert_eq!(Fan::of(rays).unwrap_err().0, expected);
        check(&[], "0 rays");
        check(&rays(0.0, 0.0, 1), "1 rays");
        let mut tilted = rays(-90.0, 90.0, 181);
        tilted[7] = DVec3::new(0.0, 0.6, 0.8);
        check(&tilted, "ray 7 out of the sensor's xy plane");
        let mut uneven = rays(-90.0, 90.0, 181);
        uneven[100] = uneven[101];
        check(&uneven, "ray 100 1.0000 steps beside an even fan");
        check(&rays(-90.0, 90.0, 180), "straight ahead 0.5000 of a step beside a ray");
        check(&rays(-70.0, 70.0, 100), "254.5714 rays to a full turn");
        check(&rays(-180.0, 180.0, 361), "361 rays, 360 to a full turn");
    }

    #[test]
    fn a_make_that_does_not_fit_is_refused() {
        let fan = Fan::of(&rays(-90.0, 90.0, 181)).unwrap();
        let wrong = Identity::new(Some(&MAKES[0]), limits(fan, 4.0), "", Port::Serial).unwrap_err();
        assert_eq!(wrong.0, "181 rays from step -90 of 360 to the turn");
        assert_eq!(wrong.1, "rays a urg04lx could have: within 384 steps of straight ahead, 1024 to the turn");
    }

    #[test]
    fn ranges_are_whole_millimetres_and_codes_for_the_unseen() {
        let fan = Fan::of(&rays(-135.0, 135.0, 1081)).unwrap();
        let device = Identity::new(None, limits(fan, 10.0), "", Port::Network).unwrap();
        assert_eq!(device.range_mm(1.2344), 1234);
        assert_eq!(device.range_mm(1.2346), 1235);
        assert_eq!(device.range_mm(f64::INFINITY), 65533);
        assert_eq!(device.range_mm(10.001), 65533);
        assert_eq!(device.range_mm(f64::NAN), 65533);
        assert_eq!(device.range_mm(f64::NEG_INFINITY), 4);
        assert_eq!(device.range_mm(0.01), 4);
    }
}
