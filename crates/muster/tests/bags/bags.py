"""What the readers of ROS 2 bags make of muster's recordings: mcap, mcap-ros2-support and rosbags.

Usage: bags.py --check, with the program in MUSTER. `cargo xtask test` calls it with the requirements beside it.
Numbers are compared with what the scenario says, not with what muster says elsewhere.
"""

import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from mcap.exceptions import McapError
from mcap.reader import NonSeekingReader, make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

MUSTER = os.environ.get("MUSTER", "muster")
HOME = Path(tempfile.mkdtemp(prefix="muster-bags-"))

SCENE = """
muster: 1
run: {for_s: 2}
world:
  origin: {latitude_deg: 43.6, longitude_deg: 1.48, altitude_m: 150}
  obstacles:
    wall: {box_size_m: [0.2, 40, 4], at: {xyz_m: [5.1, 0, 1]}}
robots:
  - name: post
    motion: {kind: fixture}
    at: {xyz_m: [1, 0, 0.5]}
    sensors:
      front: {kind: range, rate_hz: 10, accuracy: perfect, rays: {kind: planar, from_deg: -45, to_deg: 45, count: 91}}
      rear: {kind: range, rate_hz: 10, accuracy: perfect, range_max_m: 8, at: {yaw_deg: 180}}
      cloud: {kind: range, rate_hz: 5, accuracy: perfect, output: full, rays: {kind: grid, columns: 8, rows: 6, width_deg: 40, height_deg: 20}}
      beam: {kind: range, rate_hz: 20, accuracy: perfect, rays: {kind: planar, from_deg: 0, to_deg: 0, count: 1}}
      eye: {kind: camera, rate_hz: 5, columns: 32, rows: 24, width_deg: 60, output: [colour, depth]}
      imu: {kind: imu, rate_hz: 60}
      gps: {kind: gps, rate_hz: 5, level: extended}
      field: {kind: magnetometer, rate_hz: 10}
      air: {kind: barometer, rate_hz: 10}
      heat: {kind: thermometer, rate_hz: 10}
      sun: {kind: light, rate_hz: 10}
      power: {kind: battery, rate_hz: 10}
      bump: {kind: collision, rate_hz: 10}
      near: {kind: neighbours, rate_hz: 10, radius_m: 50}
      north: {kind: imu, rate_hz: 10, modifiers: [{kind: ned}]}
  - name: rover-1
    kind: differential
    at: {xyz_m: [0, -4, 0.12], yaw_deg: 30}
    driver: {kind: waypoints, points_m: [[2, -3], [2, -6]], speed_mps: 0.5, loop_forever: true}
    sensors:
      truth: {kind: truth, rate_hz: 120}
      odometry: {kind: odometry, rate_hz: 60, distance_noise_m_per_sqrt_m: 0, turn_noise_rad_per_sqrt_rad: 0}
  - name: head
    kind: pan_tilt
    at: {xyz_m: [0, 4, 0]}
    driver: {kind: joint_script, moves: [{at_s: 0, joint: pan, to_deg: 90}, {at_s: 0, joint: tilt, to_deg: 20}]}
    sensors:
      joints: {kind: joint_state, rate_hz: 50}
  - {name: ball, kind: ball, at: {xyz_m: [-5, 0, 0.5]}}
"""

FAILED = []


def check(what, value, good):
    print(f"{'ok  ' if good else 'FAIL'} {what}: {value}")
    if not good:
        FAILED.append(what)


def muster(*arguments, code=0, **options):
    ran = subprocess.run([MUSTER, *map(str, arguments)], capture_output=True, text=True, **options)
    if ran.returncode != code:
        sys.exit(f"muster {arguments}: {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran


def decoded(path):
    """Every message by topic, as mcap and mcap-ros2-support read it: log time and message."""
    topics = {}
    with open(path, "rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        for _, channel, message, ros in reader.iter_decoded_messages():
            topics.setdefault(channel.topic, []).append((message.log_time, ros))
    return topics


def stamp(header):
    return header.stamp.sec + header.stamp.nanosec * 1e-9


def matrix(translation, rotation):
    x, y, z, w = rotation.x, rotation.y, rotation.z, rotation.w
    turn = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    whole = np.eye(4)
    whole[:3, :3], whole[:3, 3] = turn, [translation.x, translation.y, translation.z]
    return whole


def chain(topics, child, at_s):
    """world_from_child at a time, by the last transforms told at or before it."""
    known = {}
    for topic in ("/tf_static", "/tf"):
        for _, message in topics[topic]:
            for each in message.transforms:
                if topic == "/tf_static" or stamp(each.header) <= at_s + 1e-9:
                    known[each.child_frame_id] = each
    whole = np.eye(4)
    while child != "world":
        each = known[child]
        whole = matrix(each.transform.translation, each.transform.rotation) @ whole
        child = each.header.frame_id
    return whole


def ranges(topics):
    scans = topics["/post/front/scan"]
    check("scans of 10 Hz in 2 s", len(scans), 20 <= len(scans) <= 21)
    scan = scans[5][1]
    angles = scan.angle_min + scan.angle_increment * np.arange(len(scan.ranges))
    # the wall's face is at x = 5, the scanner at x = 1
    error = np.abs(np.array(scan.ranges) - 4.0 / np.cos(angles)).max()
    check("ranges against the wall, m", error, error < 1e-5)
    check("frame of the scan", scan.header.frame_id, scan.header.frame_id == "post/front_link")
    check("angles of the scan", (scan.angle_min, scan.angle_max), abs(scan.angle_max - math.pi / 4) < 1e-6)
    rear = topics["/post/rear/scan"][0][1]
    check("rays that meet nothing are infinite", rear.ranges[0], math.isinf(rear.ranges[0]) and rear.range_max == 8)
    beam = topics["/post/range/beam"][0][1]
    check("a single beam, m", beam.range, abs(beam.range - 4.0) < 1e-6)
    cloud = topics["/post/points"][0][1]
    names = [field.name for field in cloud.fields]
    points = np.frombuffer(bytes(cloud.data), "<f4").reshape(-1, len(names))
    check("fields of the cloud", names, names[:5] == ["x", "y", "z", "intensity", "time"])
    # those that go down meet the ground 0.5 m below
    seen = points[np.isfinite(points[:, 0]) & (points[:, 2] > -0.49)]
    check("points on the wall, m", np.abs(seen[:, 0] - 4.0).max(), len(seen) > 8 and np.abs(seen[:, 0] - 4.0).max() < 1e-5)


def images(topics):
    image, info = topics["/post/camera/image_raw"][1][1], topics["/post/camera/camera_info"][1][1]
    check("colour image", (image.encoding, image.width, image.height), (image.encoding, len(image.data)) == ("rgb8", 32 * 24 * 3))
    focal = 16 / math.tan(math.radians(30))
    check("focal length, px", info.k[0], abs(info.k[0] - focal) < 1e-9)
    depth = topics["/post/camera/depth/image_raw"][1][1]
    metres = np.frombuffer(bytes(depth.data), "<f4").reshape(24, 32)
    check("depth of the wall, m", metres[12, 16], depth.encoding == "32FC1" and abs(metres[12, 16] - 4.0) < 1e-4)
    # the optical frame looks along z: its z is the sensor's x
    optical = chain(topics, "post/eye_optical", 1.0)
    check("axes of the optical frame", optical[:3, 2].round(9).tolist(), np.allclose(optical[:3, 2], [1, 0, 0]))


def scalars(topics):
    imu = topics["/post/imu"]
    check("samples of 60 Hz in 2 s", len(imu), 119 <= len(imu) <= 121)
    one = imu[7][1]
    check("an imu at rest feels gravity upwards", one.linear_acceleration.z, abs(one.linear_acceleration.z - 9.80665) < 1e-6)
    check("an imu has no orientation", one.orientation_covariance[0], one.orientation_covariance[0] == -1)
    steps = np.diff([stamp(message.header) for _, message in imu])
    # measured at ticks of 1 ms
    check("time between samples, s", (steps.min(), steps.max()), abs(steps - 1 / 60).max() < 1e-3)
    fix = topics["/post/fix"][0][1]
    north = (fix.latitude - 43.6, fix.longitude - 1.48, fix.altitude - 150.5)
    check("fix", north, abs(north[0]) < 1e-8 and 1.2e-5 < north[1] < 1.3e-5 and abs(north[2]) < 1e-3)
    check("status of the fix", fix.status.status, fix.status.status == 0)
    strength = topics["/post/mag"][0][1].magnetic_field
    tesla = math.sqrt(strength.x**2 + strength.y**2 + strength.z**2)
    check("magnetic field near Toulouse, T", tesla, 4.5e-5 < tesla < 4.8e-5)
    pressure = topics["/post/pressure"][0][1].fluid_pressure
    check("pressure at 150.5 m, Pa", pressure, abs(pressure - 101325 * (1 - 0.0065 * 150.5 / 288.15) ** 5.25588) < 1)
    check("temperature", topics["/post/temperature"][0][1].temperature, True)
    check("illuminance", topics["/post/illuminance"][0][1].illuminance, True)
    battery = topics["/post/battery_state"][0][1]
    check("battery", battery.percentage, 0.99 < battery.percentage <= 1 and battery.power_supply_status == 2)


def others(topics):
    bump = topics["/post/bump"][0][1]
    check("a message of one's own", (bump.touching, bump.contacts), (bump.touching, bump.contacts) == (0, 0))
    near = topics["/post/near"][0][1]
    check("a list of records", len(near.records), len(near.records) >= 3)
    down = topics["/post/north"][0][1]
    check("axes with z down have a name of their own", down.accel_mps2_ned[2], abs(down.accel_mps2_ned[2] + 9.80665) < 1e-6)


def motion(topics):
    truth = topics["/rover_1/truth"]
    check("truth of 120 Hz in 2 s", len(truth), 239 <= len(truth) <= 241)
    _, last = truth[-1]
    where = chain(topics, "rover_1/base_link", stamp(last.header))
    position = last.pose.pose.position
    apart = np.abs(where[:3, 3] - [position.x, position.y, position.z]).max()
    check("transforms of odometry compose to the truth, m", apart, apart < 2e-3)
    real = chain(topics, "rover_1/base_link_gt", stamp(last.header))
    apart = np.abs(real - matrix(position, last.pose.pose.orientation)).max()
    check("and those of the truth are the truth", apart, apart < 1e-12)
    moved = math.hypot(position.x, position.y + 4)
    check("the rover drove, m", moved, moved > 0.4)
    check("its twist is its own", last.twist.twist.linear.x, last.twist.twist.linear.x > 0.3 and abs(last.twist.twist.linear.y) < 0.02)
    command = topics["/rover_1/command"][-1][1]
    check("its command", (command.mode, command.values[0]), command.mode == "velocity" and command.values[0] > 0)
    joints = topics["/head/joint_states"][-1][1]
    turned = chain(topics, "head/pan", 2.0)
    yaw = math.atan2(turned[1, 0], turned[0, 0])
    check("joints", dict(zip(joints.name, joints.position)), joints.name == ["pan", "tilt"] and joints.position[0] > 0.5)
    check("the frame of a joint turns with it, rad", yaw - joints.position[0], abs(yaw - joints.position[0]) < 0.05)
    ball = topics["/ball/truth"]
    check("truth of a robot without sensors", len(ball), len(ball) >= 100)
    clock = [message.clock.sec + message.clock.nanosec * 1e-9 for _, message in topics["/clock"]]
    check("the clock runs", (clock[0], clock[-1], len(clock)), clock == sorted(clock) and clock[0] == 0 and clock[-1] == 2 and len(clock) >= 100)


def definitions(path):
    """Every message is the one of ROS 2: the same hashes of REP-2011 as those of Jazzy."""
    jazzy, ours = get_typestore(Stores.ROS2_JAZZY), get_typestore(Stores.EMPTY)
    compared = set()
    with Reader(path) as reader:
        for connection in reader.connections:
            ours.register(get_types_from_msg(connection.msgdef.data, connection.msgtype))
        for name in ours.fielddefs:
            if name in jazzy.fielddefs:
                compared.add(name)
                if ours.hash_rihs01(name) != jazzy.hash_rihs01(name):
                    check("definition", name, False)
        check("definitions equal to those of ROS 2 Jazzy", len(compared), len(compared) >= 30)
        counts = {}
        for connection, _, raw in reader.messages():
            ours.deserialize_cdr(raw, connection.msgtype)
            counts[connection.topic] = counts.get(connection.topic, 0) + 1
    return counts


def damage(path):
    """A changed byte is found by all three readers."""
    whole = path.read_bytes()
    with open(path, "rb") as file:
        summary = make_reader(file).get_summary()
        names = {attachment.name: attachment.media_type for attachment in make_reader(file).iter_attachments()}
    check("files inside", sorted(names), any(name.endswith("scene.yaml") for name in names) and "library:robots/differential.yaml" in names)
    middle = summary.chunk_indexes[len(summary.chunk_indexes) // 2]
    at = middle.chunk_start_offset + middle.chunk_length // 2
    broken = HOME / "broken.mcap"
    broken.write_bytes(whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1 :])
    try:
        decoded(broken)
        found = None
    except Exception as error:  # the compressor or the checksum, whichever is first
        found = type(error).__name__
    check("a changed byte is found by mcap", found, found is not None)
    try:
        definitions(broken)
        found = None
    except Exception as error:
        found = type(error).__name__
    check("and by rosbags", found, found is not None)
    ran = muster("replay", broken, "--verify", code=1)
    check("and by muster", ran.stderr.strip(), "damaged" in ran.stderr)


def killed(scene):
    """A run that is killed leaves what was flushed, for all readers."""
    path = HOME / "killed.mcap"
    run = subprocess.Popen([MUSTER, "run", scene, "--rtf", "1", "--for", "60s", "--record", path, "-q"])
    time.sleep(4)
    run.send_signal(signal.SIGKILL)
    run.wait()
    last, count = 0, 0
    with open(path, "rb") as file:
        try:
            for _, _, message in NonSeekingReader(file, validate_crcs=True).iter_messages(log_time_order=False):
                last, count = max(last, message.log_time), count + 1
        except McapError as error:
            print(f"     (then: {type(error).__name__})")
    check("a killed recording is read up to its last chunk, s", last * 1e-9, last > 1.5e9 and count > 500)
    ran = muster("replay", path, "--verify")
    check("and verified", ran.stdout.strip(), "equal" in ran.stdout and "cut off" in ran.stderr)


def main():
    scene, path = HOME / "scene.yaml", HOME / "out.mcap"
    scene.write_text(SCENE)
    muster("run", scene, "--record", path, "-q")
    topics = decoded(path)
    for part in (ranges, images, scalars, others, motion):
        part(topics)
    counts = definitions(path)
    check("rosbags counts what mcap counts", len(counts), counts == {name: len(list_) for name, list_ in topics.items()})
    damage(path)
    (HOME / "elsewhere").mkdir()
    scene.unlink()
    ran = muster("replay", path, "--verify", cwd=HOME / "elsewhere")
    check("verified without its files", ran.stdout.strip(), "equal: 3 hashes" in ran.stdout)
    scene.write_text(SCENE)
    killed(scene)
    shutil.rmtree(HOME)
    if FAILED:
        sys.exit(f"{len(FAILED)} of the checks failed: {', '.join(FAILED)}")


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        sys.exit(__doc__)
    main()
