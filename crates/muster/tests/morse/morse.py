"""pymorse, the Python client of MORSE, against muster: what MORSE's own tests publish must hold through the socket.

`MUSTER=path/to/muster python morse.py --check` runs builder scripts of this folder with `muster morse run` and does with them
what MORSE's users do. Needs pymorse (requirements.txt).
"""
import base64
import contextlib
import json
import math
import os
import socket
import subprocess
import sys
import time

import pymorse

HERE = os.path.dirname(os.path.abspath(__file__))
MUSTER = os.environ.get("MUSTER", "muster")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connects(port, within_s=60.0):
    """Waits until somebody listens."""
    end = time.time() + within_s
    while time.time() < end:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=5)
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("nobody listens at port %d" % port)


@contextlib.contextmanager
def muster(script, *options):
    """Runs a builder script; gives the port of services."""
    port = free_port()
    command = [MUSTER, "morse", "run", os.path.join(HERE, script), "--set", "links.socket.service_port=%d" % port, "--quiet"]
    with subprocess.Popen(command + list(options), stdout=subprocess.DEVNULL) as process:
        try:
            connects(port).close()
            yield port
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(30)


@contextlib.contextmanager
def client(port):
    """pymorse; its own `with` fails on leaving under Python 3.11."""
    simu = pymorse.Morse("localhost", port)
    try:
        yield simu
    finally:
        simu.close(True, wait_publishers=False)


FAILURES = []


def check(what, ok, found=""):
    print("%s %s%s" % ("ok  " if ok else "FAIL", what, " (%s)" % (found,) if found != "" else ""))
    if not ok:
        FAILURES.append(what)


def near(what, found, expected, within):
    check(what, abs(found - expected) <= within, "%.6g, expected %.6g +- %g" % (found, expected, within))


def pose_now(simu):
    return simu.robot.pose.get(5.0)


def start_over(simu):
    """At the origin, at rest."""
    simu.robot.motion.stop().result(5)
    simu.robot.teleport.publish({"x": 0.0, "y": 0.0, "z": 0.1, "yaw": 0.0, "pitch": 0.0, "roll": 0.0})
    simu.sleep(0.2)


def drive(simu, v, w, seconds):
    """Drives for exactly so long: until a service answers, time goes on."""
    begin = pose_now(simu)["timestamp"]
    simu.robot.motion.set_speed(v, w).result(5)
    simu.sleep(seconds)
    simu.robot.motion.stop().result(5)
    simu.sleep(0.05)
    return begin


def moves(simu):
    start_over(simu)
    rest = pose_now(simu)
    near("ATRV rests at 0.10 m", rest["z"], 0.10, 1e-6)
    drive(simu, 1.0, 0.0, 2.0)
    pose = pose_now(simu)
    near("1 m/s for 2 s is 2 m", pose["x"], 2.0, 0.1)
    near("straight ahead", pose["y"], 0.0, 0.01)
    start_over(simu)
    drive(simu, 1.0, -math.pi / 4, 2.0)
    pose = pose_now(simu)
    near("an arc ends at x = 4/pi", pose["x"], 4 / math.pi, 0.1)
    near("an arc ends at y = -4/pi", pose["y"], -4 / math.pi, 0.1)
    near("an arc ends with yaw -pi/2", pose["yaw"], -math.pi / 2, 0.1)
    start_over(simu)
    simu.robot.motion.publish({"v": 1.0, "w": 0.0})
    simu.sleep(2.0)
    simu.robot.motion.publish({"v": 0.0, "w": 0.0})
    simu.sleep(0.1)
    near("the same by the stream of the actuator", pose_now(simu)["x"], 2.0, 0.1)


def samples(simu):
    stamps = []
    simu.robot.pose.subscribe(lambda pose: stamps.append(pose["timestamp"]))
    simu.sleep(3.0)
    begin = stamps[0]
    count = sum(1 for stamp in stamps if begin <= stamp < begin + 2.0)
    check("120 samples in 2 s at 60 Hz", abs(count - 120) <= 1, count)


def gps(simu):
    simu.robot.teleport.publish({"x": 100.0, "y": 200.0, "z": 50.0, "yaw": 0.0, "pitch": 0.0, "roll": 0.0})
    simu.sleep(0.2)
    fix = simu.robot.gps.get(5.0)
    near("latitude at (100, 200, 50)", fix["latitude"], 1.4351, 5e-5)
    near("longitude at (100, 200, 50)", fix["longitude"], 43.6009, 5e-5)
    near("altitude at (100, 200, 50)", fix["altitude"], 185.003, 0.01)
    same = simu.robot.gps.get_local_data().result(5)
    near("get_local_data tells the same", same["latitude"], fix["latitude"], 1e-9)
    start_over(simu)


def goes(simu):
    way = simu.robot.way
    arrived = way.goto(2.0, 0.0, 0.0, 0.1, 1.0).result(20)
    check("goto answers on arrival", arrived == "Arrived", arrived)
    near("goto arrives", pose_now(simu)["x"], 2.0, 0.15)
    first = way.goto(8.0, 0.0, 0.0, 0.1, 1.0)
    simu.sleep(0.5)
    check("it is on its way", way.get_status() == "Transit")
    second = way.goto(4.0, 0.0, 0.0, 0.1, 1.0)
    check("another goto preempts the first", isinstance(first.exception(5), pymorse.MorseServicePreempted))
    simu.sleep(0.3)
    check("stop is told", way.stop().result(5) == "Stop")
    simu.sleep(0.3)
    check("stopped, but still asked for", not second.done() and way.get_status() == "Stop")
    way.resume().result(5)
    check("resumed, it arrives", second.result(20) == "Arrived")
    third = way.goto(20.0, 0.0, 0.0)
    simu.sleep(0.5)
    third.cancel()
    check("cancelled is preempted", isinstance(third.exception(5), pymorse.MorseServicePreempted))
    here = pose_now(simu)["x"]
    simu.sleep(0.5)
    near("and stands", pose_now(simu)["x"], here, 0.05)
    check("where it is already it need not go", way.setdest(here, 0.0, 0.0).result(5) is None)


def mistakes(simu):
    def raises(kind, *call):
        try:
            simu.rpc(*call)
        except Exception as error:
            return type(error) is kind
        return False

    check("too few parameters are a TypeError", raises(TypeError, "robot.way", "goto", 1.0))
    check("too many are too", raises(TypeError, "robot.way", "goto", 1, 2, 3, 4, 5, 6))
    check("none at all fail", raises(pymorse.MorseServiceFailed, "robot.way", "goto"))
    check("unknown services fail", raises(pymorse.MorseServiceFailed, "robot.way", "fly"))
    check("unknown components fail", raises(pymorse.MorseServiceFailed, "nobody", "goto", 1, 2, 3))
    check("unknown streams fail", raises(pymorse.MorseServiceFailed, "simulation", "get_stream_port", "nobody"))
    check("words for numbers fail", raises(pymorse.MorseServiceFailed, "robot.way", "goto", "there", 2, 3))


def supervises(simu):
    check("robots are listed", simu.rpc("simulation", "list_robots") == ["robot", "other"])
    streams = simu.streams()
    check("streams are listed in order", streams[:3] == ["robot.pose", "robot.gps", "robot.sick"], streams)
    ports = simu.rpc("simulation", "get_all_stream_ports")
    check("each has a port", sorted(ports) == sorted(streams) and len(set(ports.values())) == len(streams))
    scene = simu.rpc("simulation", "get_scene_objects")
    check("the scene holds robots and what is on them", "robot.pose" in scene["robot"][0])
    simu.rpc("simulation", "set_object_position", "other", [5.0, 5.0, 0.1], [0.0, 0.0, 1.0])
    simu.sleep(0.1)
    at = simu.rpc("simulation", "get_scene_objects")["other"][1]
    check("objects are put elsewhere", abs(at[0] - 5.0) < 1e-6 and abs(at[1] - 5.0) < 1e-6, at)
    distance, seen = simu.rpc("communication", "distance_and_view", "robot", "other")
    check("distance and view", distance > 0.0 and seen is True, distance)
    check("visibility", simu.rpc("simulation", "set_object_visibility", "other", False, True) is None
          and simu.rpc("simulation", "set_object_visibility", "other", True, True) is True)
    simu.rpc("simulation", "reset_objects")
    simu.sleep(0.1)
    near("objects are put back", simu.rpc("simulation", "get_scene_objects")["other"][1][0], 20.0, 1e-6)
    simu.deactivate("robot.pose")
    time.sleep(0.2)
    silent = simu.robot.pose.last()["timestamp"]
    simu.sleep(0.3)
    check("a sensor that was deactivated is silent", simu.robot.pose.last()["timestamp"] == silent)
    simu.activate("robot.pose")
    check("and speaks again", simu.robot.pose.get(5.0)["timestamp"] > silent)
    check("time has a mode", simu.rpc("time", "mode") == "Fixed Simulation Step")
    check("time has statistics", set(simu.rpc("time", "statistics")) == {"mean_time", "variance_time", "diff_real_time"})
    properties = simu.rpc("robot.sick", "get_properties")["properties"]
    check("properties are told", properties["range_max_m"][0] == 30.0, properties.get("range_max_m"))
    mount = simu.rpc("robot.sick", "get_configurations")["configurations"]["object_to_robot"]
    check("so is where it sits", mount["translation"] == [0.5, 0.0, 0.2], mount)


def looks(simu):
    image = simu.robot.camera.get(20.0)
    pixels = base64.b64decode(image["image"])
    check("images are whole", (image["width"], image["height"], len(pixels)) == (64, 48, 64 * 48 * 4))
    check("of full opacity", set(pixels[3::4]) == {255})
    focal = image["intrinsic_matrix"][0][0]
    near("the matrix is that of a lens of 35 mm", focal, 64 * 35.0 / 32.0, 1e-3)
    scan = simu.robot.sick.get(10.0)
    check("a scan has 181 rays", len(scan["range_list"]) == 181 and len(scan["point_list"]) == 181)
    seen = simu.other.near.get(10.0)["near_objects"]
    check("the other sees the rover", "robot" in seen, seen)


def time_scale(simu):
    check("time runs twice as fast", simu.rpc("time", "set_time_scale", 2.0) is True)
    wall, begin = time.time(), simu.time()
    simu.sleep(2.0)
    wall = time.time() - wall
    check("two seconds in one", 0.7 < wall < 1.8 and simu.time() - begin >= 2.0, "%.2f s" % wall)
    simu.rpc("time", "set_time_scale", 1.0)


def rover():
    with muster("rover.py") as port, client(port) as simu:
        check("robots are found", simu.robots == ["robot", "other"], simu.robots)
        moves(simu)
        samples(simu)
        gps(simu)
        goes(simu)
        mistakes(simu)
        supervises(simu)
        looks(simu)
        time_scale(simu)
        simu.rpc("simulation", "quit")
        check("it quits", True)


def raw_requests():
    """What telnet and careless programs send: pieces, several at once, blanks everywhere."""
    with muster("rover.py") as port, connects(port) as wire:
        lines = wire.makefile("r")
        wire.sendall(b"  a  simulation \t list_robots \nb simulation list_robots []\n")
        check("blanks do not matter", [lines.readline() for _ in range(2)] ==
              ['a SUCCESS ["robot", "other"]\n', 'b SUCCESS ["robot", "other"]\n'])
        for piece in (b"c simu", b"lation list_", b"robots\n"):
            wire.sendall(piece)
            time.sleep(0.05)
        check("requests may come in pieces", lines.readline() == 'c SUCCESS ["robot", "other"]\n')
        wire.sendall(b"d\ne cancel\nf nothing at_all [\ng time sleep [0.0]\n")
        answers = [lines.readline() for _ in range(3)]
        check("what is no request fails", answers[0].startswith('d FAILED "') and answers[1].startswith('f FAILED "'), answers)
        check("and nothing else does", answers[2] == "g SUCCESS\n", answers[2])
        for number in range(500):
            wire.sendall(b"%d simulation list_robots\n" % number)
        check("many at once are all answered", [lines.readline().split()[0] for _ in range(500)] == [str(n) for n in range(500)])


def lock_step():
    step = free_port()
    with muster("clock.py", "--set", "links.socket.lock_step.port=%d" % step) as port, client(port) as simu:
        clock = simu.robot.clock
        time.sleep(0.5)
        first = clock.last()["timestamp"]
        time.sleep(0.5)
        check("time runs by itself", clock.last()["timestamp"] > first)
        with connects(step) as wire:
            time.sleep(0.5)
            before = clock.last()["timestamp"]
            time.sleep(0.5)
            check("whoever is connected holds it", clock.last()["timestamp"] == before)
            for number in range(1, 6):
                wire.sendall(b"foo")
                end = time.time() + 5
                while clock.last()["timestamp"] < before + 0.1 * number - 1e-4 and time.time() < end:
                    time.sleep(0.01)
                near("step %d" % number, clock.last()["timestamp"] - before, 0.1 * number, 1e-4)
        held = clock.last()["timestamp"]
        time.sleep(0.7)
        check("and lets it go when he leaves", clock.last()["timestamp"] > held)


def autopilot():
    """Reads as ArduPilot's backend does: text searched for keys, three characters passed over after each."""
    with muster("autopilot.py") as port, client(port) as simu:
        ports = simu.rpc("simulation", "get_all_stream_ports")
        check("sensors at 60000, commands at 60001", ports == {"vehicle.everything": 60000, "vehicle.motion": 60001}, ports)
        with connects(ports["vehicle.everything"]) as sensors, connects(ports["vehicle.motion"]) as control:
            lines = sensors.makefile("r")

            def value(text, section, key):
                at = text.index(section) if section else 0
                at = text.index(key, at + len(section) + (1 if section else 0)) + len(key) + 3
                return text[at:]

            def scalar(text, section, key):
                return float(value(text, section, key).split(",")[0].rstrip("}\n "))

            def vector(text, section, key):
                inner = value(text, section, key)
                assert inner[0] == "[", inner[:20]
                return [float(part) for part in inner[1:inner.index("]")].split(", ")]

            text = lines.readline()
            near("at rest it feels gravity", vector(text, ".imu", "linear_acceleration")[2], 9.81, 0.01)
            control.sendall(b'{"v": 1500f, "w": 0.00}\n{"v": 1.000, "w": 0.00}\n')
            begin = scalar(text, "", "timestamp")
            while scalar(text, "", "timestamp") < begin + 2.0:
                text = lines.readline()
            near("it drives", vector(text, ".velocity", "world_linear_velocity")[0], 1.0, 0.01)
            near("to where the receiver says", scalar(text, ".gps", '"x'), 2.0, 0.3)
            near("with the pose it says", scalar(text, ".pose", "yaw"), 0.0, 1e-6)
            json.loads(text)


def clients():
    """The examples of clients do what they say."""
    examples = os.path.join(HERE, "..", "..", "..", "..", "examples")
    service, fleet = free_port(), free_port()
    command = [MUSTER, "run", os.path.join(examples, "remote.yaml"), "--rtf", "1", "--for", "300s", "--quiet",
               "--set", "links.socket.service_port=%d" % service, "--set", "links.socket.fleet_port=%d" % fleet]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            connects(service).close()
            for name, port in (("rover.py", service), ("fleet.py", fleet)):
                ran = subprocess.run([sys.executable, os.path.join(examples, "clients", name), str(port)],
                                     capture_output=True, text=True, timeout=120)
                check("%s: %s" % (name, ran.stdout.strip().replace("\n", "; ")), ran.returncode == 0, ran.stderr.strip())
        finally:
            process.terminate()
            process.wait(30)


def main():
    if "--check" not in sys.argv:
        print(__doc__)
        return 2
    for part in (rover, raw_requests, lock_step, autopilot, clients):
        print("== %s" % part.__name__)
        part()
    print("%d failures" % len(FAILURES))
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
