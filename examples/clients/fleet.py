"""Drives a fleet of 100 robots over one connection, with nothing but Python's standard library: each drives a circle of its
own, held there by its pose.

    muster run examples/remote.yaml --rtf 1 --for 60s &
    python3 examples/clients/fleet.py
"""
import json
import math
import socket
import sys


def main(port=4100, seconds=8.0, radius=0.4):
    wire = socket.create_connection(("127.0.0.1", port))
    lines = wire.makefile("r")

    def send(**message):
        wire.sendall((json.dumps(message) + "\n").encode())

    send(subscribe=["r*.truth"])
    centres, turned, last, begin, now = {}, {}, {}, None, 0.0
    while begin is None or now < begin + seconds:
        message = json.loads(lines.readline())
        robot, _, channel = message["channel"].partition(".")
        if channel != "truth" or not robot[1:].isdigit():
            continue
        pose = message["data"]
        now = pose["timestamp"]
        begin = now if begin is None else begin
        # the centre of its circle is to the left of where it started
        x, y = centres.setdefault(robot, (pose["x"] - radius * math.sin(pose["yaw"]), pose["y"] + radius * math.cos(pose["yaw"])))
        away = math.hypot(pose["x"] - x, pose["y"] - y)
        speed = 0.3
        send(channel=robot + ".motion", data={"v": speed, "w": speed / radius + 2.0 * (away - radius)})
        change = (pose["yaw"] - last.get(robot, pose["yaw"]) + math.pi) % (2 * math.pi) - math.pi
        turned[robot] = turned.get(robot, 0.0) + change
        last[robot] = pose["yaw"]
    for robot in centres:
        send(channel=robot + ".motion", data={"v": 0.0, "w": 0.0})
    turns = [each / (2 * math.pi) for each in turned.values()]
    print("%d robots, %.2f to %.2f turns in %.1f s" % (len(turns), min(turns), max(turns), now - begin))
    expected = seconds * 0.3 / radius / (2 * math.pi)
    return 0 if len(turns) == 100 and min(turns) > 0.8 * expected else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
