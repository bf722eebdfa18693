"""hokuyolx, a program for Hokuyo's scanners which knows nothing of muster, reads scans of a simulated UST-10LX and compares
them with the geometry of the room, to the millimetre to which they are rounded.

`cargo xtask references` runs it; MUSTER is the program to try.
"""
import math
import os
import socket
import subprocess
import sys
import tempfile
import time

import numpy
from hokuyolx import HokuyoLX

# a room from (-3, -2) to (4, 3) and a scanner in it, turned by 20 degrees
LOW, HIGH = (-3.0, -2.0), (4.0, 3.0)
AT, HEADING = (0.5, -0.25), math.radians(20)

ROOM = """
muster: 1
run: {for_s: 60, rtf: 1, window_ms: 5}
world:
  obstacles:
    east: {box_size_m: [1, 9, 2], at: {xyz_m: [4.5, 0.5, 1]}}
    west: {box_size_m: [1, 9, 2], at: {xyz_m: [-3.5, 0.5, 1]}}
    north: {box_size_m: [9, 1, 2], at: {xyz_m: [0.5, 3.5, 1]}}
    south: {box_size_m: [9, 1, 2], at: {xyz_m: [0.5, -2.5, 1]}}
robots:
  - name: mast
    motion: {kind: fixture}
    at: {xyz_m: [0.5, -0.25, 0], yaw_deg: 20}
    sensors:
      scan: {kind: range, preset: ust10lx, at: {xyz_m: [0, 0, 1]}, accuracy: perfect, output: intensity}
    links: [{channel: scan, to: scip, port: PORT}]
"""


def truth_mm(angles):
    """How far the walls are at these angles."""
    across, along = numpy.cos(angles + HEADING), numpy.sin(angles + HEADING)
    with numpy.errstate(divide="ignore"):
        x = numpy.where(across > 0, HIGH[0] - AT[0], AT[0] - LOW[0]) / numpy.abs(across)
        y = numpy.where(along > 0, HIGH[1] - AT[1], AT[1] - LOW[1]) / numpy.abs(along)
    return 1000 * numpy.minimum(x, y)


def same(scan, angles, what):
    worst = numpy.max(numpy.abs(scan.astype(float) - truth_mm(angles)))
    assert len(scan) == len(angles) and worst <= 0.51, "%s is off by %.2f mm" % (what, worst)
    print("== scanner: %s, %d ranges within %.2f mm" % (what, len(scan), worst))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connect(port):
    """The scanner, once it listens."""
    for _ in range(200):
        try:
            return HokuyoLX(addr=("127.0.0.1", port), time_tolerance=2000, timeout=20)
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise SystemExit("muster does not listen")


def check(port):
    laser = connect(port)
    assert (laser.model, laser.scan_freq, laser.dmin, laser.dmax) == ("UST-10LX", 40, 60, 10000), vars(laser)
    assert laser.version()["SERI"] == "mast.scan"
    assert laser.sensor_state()["LASR"] == "ON" and laser.laser_state()[0] == 3
    angles = laser.get_angles()
    assert len(angles) == 1081 and abs(angles[540]) < 1e-12

    first, scan = laser.get_dist()
    same(scan, angles, "GD")
    _, scan = laser.get_dist(start=100, end=900)
    same(scan, angles[100:901], "GD of a part")
    _, scan = laser.get_intens()
    same(scan[:, 0], angles, "GE")
    assert numpy.all(scan[:, 1] > 0)
    times = []
    for scan, time_ms, left in laser.iter_dist(scans=40):
        same(scan, angles, "MD, %d to come" % left) if left % 13 == 0 else None
        assert numpy.max(numpy.abs(scan - truth_mm(angles))) <= 0.51
        times.append(time_ms)
    assert all(later - sooner == 25 for sooner, later in zip(times, times[1:])), times
    laser.activate()
    for scan, _, _ in laser.iter_intens(scans=3, skips=1):
        same(scan[:, 0], angles, "ME")
    laser.reset()
    laser.sleep()
    assert laser.laser_state()[0] == 5
    laser.standby()
    assert laser.laser_state()[0] == 0
    laser.reboot()
    laser.close()
    assert times[0] >= first


def main():
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "room.yaml")
        with open(path, "w") as file:
            file.write(ROOM.replace("PORT", str(port)))
        run = subprocess.Popen([os.environ["MUSTER"], "run", path], stdout=subprocess.DEVNULL)
        try:
            check(port)
            assert run.poll() is None, "muster ended"
        finally:
            run.terminate()
            run.wait(20)


if __name__ == "__main__":
    sys.exit(main())
