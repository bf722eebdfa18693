//! A scanner's session: any bytes of a host, in any pieces, with scans between them. Every answer is whole, and what is kept
//! does not grow.
#![no_main]

use libfuzzer_sys::fuzz_target;
use muster_links::scip::codec::{Lines, REQUEST_MAX};
use muster_links::scip::device::{Device, Reply, Scan};
use muster_links::scip::identity::{Fan, Identity, Limits, MAKES, Port};
use std::sync::{Arc, OnceLock};

static MADE: OnceLock<(Arc<Identity>, Scan)> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let (identity, scan) = MADE.get_or_init(|| {
        let fan = Fan { turn: 360, first: -45, count: 91, clockwise: false };
        let limits = Limits { fan, near_m: 0.02, far_m: 30.0, rate_hz: 10.0, intensity: true };
        let identity = Identity::new(MAKES.last(), limits, "fuzz", Port::Serial).expect("a device");
        let (ranges_mm, intensities) = ((0..91).map(|at| at * 300).collect(), (0..91).collect());
        (Arc::new(identity), Scan { time_ms: 5, ranges_mm, intensities })
    });
    let (mut device, mut lines) = (Device::new(Arc::clone(identity)), Lines::default());
    let mut check = |reply: Reply| {
        let (Reply::Answer(bytes) | Reply::Scan(bytes)) = reply;
        assert!(bytes.ends_with(b"\n\n") && bytes.len() < 2000 + REQUEST_MAX);
    };
    for (at, piece) in bytes.chunks(37).enumerate() {
        let now_ms = at as u64 * 7;
        lines.take(piece, |request| device.request(&request, now_ms, Some(scan), &mut check));
        device.scan(scan, &mut check);
    }
});
