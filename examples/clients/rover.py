"""Drives one robot to a goal over MORSE's sockets, with nothing but Python's standard library.

    muster run examples/remote.yaml --rtf 1 --for 120s &
    python3 examples/clients/rover.py
"""
import json
import socket
import sys


class Services:
    """The service port: requests by lines, answers in any order."""

    def __init__(self, host="127.0.0.1", port=4000):
        self.wire = socket.create_connection((host, port))
        self.lines = self.wire.makefile("r")
        self.next = 0
        self.answers = {}

    def send(self, component, service, *arguments):
        self.next += 1
        self.wire.sendall(("%d %s %s %s\n" % (self.next, component, service, json.dumps(arguments))).encode())
        return self.next

    def answer(self, number):
        while number not in self.answers:
            parts = self.lines.readline().rstrip("\n").split(" ", 2)
            self.answers[int(parts[0])] = (parts[1], json.loads(parts[2]) if len(parts) > 2 else None)
        status, result = self.answers.pop(number)
        if status != "SUCCESS":
            raise RuntimeError("%s: %s" % (status, result))
        return result

    def ask(self, component, service, *arguments):
        return self.answer(self.send(component, service, *arguments))


class Stream:
    """The stream of a channel: a JSON object a line."""

    def __init__(self, services, channel, host="127.0.0.1"):
        self.wire = socket.create_connection((host, services.ask("simulation", "get_stream_port", channel)))
        self.lines = self.wire.makefile("r")

    def read(self):
        return json.loads(self.lines.readline())

    def write(self, **values):
        self.wire.sendall((json.dumps(values) + "\n").encode())


def main(port=4000):
    services = Services(port=port)
    pose, scan, motion = [Stream(services, "rover." + name) for name in ("truth", "scan", "motion")]
    start = pose.read()
    print("starts at (%.2f, %.2f)" % (start["x"], start["y"]))

    # by velocity, for two seconds of simulated time
    motion.write(v=0.5, w=0.0)
    services.ask("time", "sleep", 2.0)
    motion.write(v=0.0, w=0.0)
    # streams and services are different connections: the goal must not overtake the stop, which would preempt it
    services.ask("time", "sleep", 0.2)

    # to a goal, and tell how near the nearest thing was on the way
    goal = services.send("rover.way", "goto", start["x"] + 5.0, start["y"], 0.0, 0.3, 1.0)
    nearest, there = float("inf"), start
    while abs(there["x"] - start["x"] - 5.0) > 0.35:
        nearest = min([nearest] + scan.read()["range_list"])
        there = pose.read()
    print(services.answer(goal), "at (%.2f, %.2f), nothing nearer than %.1f m" % (there["x"], there["y"], nearest))
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
