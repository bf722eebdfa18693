#!/usr/bin/env python3
"""Moves the arm of examples/controller.yaml, over TCP (HOST PORT) or a pseudo-terminal (PATH): a line of six angles in
degrees goes in, a line of six angles comes back. Needs nothing but Python; exit code 0 if the arm got there.

    python3 controller.py 127.0.0.1 7001
    python3 controller.py /tmp/arm0
"""
import os
import socket
import sys

TARGET_DEG = [30, -45, 60, 10, -20, 90]


def connect(where):
    if len(where) == 2:
        return socket.create_connection((where[0], int(where[1])), timeout=20).makefile("rwb", buffering=0)
    return os.fdopen(os.open(where[0], os.O_RDWR | os.O_NOCTTY), "r+b", buffering=0)


def line_of(stream):
    line = b""
    while not line.endswith(b"\n"):
        more = stream.read(1)
        if not more:
            raise EOFError("the arm is gone")
        line += more
    return line.decode()


def main():
    arm = connect(sys.argv[1:])
    arm.write(("J " + " ".join(str(angle) for angle in TARGET_DEG) + "\n").encode())
    for _ in range(2000):
        words = line_of(arm).split()
        if len(words) != 7 or words[0] != "P":
            continue  # what was left on the line before
        angles = [float(word) for word in words[1:]]
        if all(abs(angle - target) < 0.1 for angle, target in zip(angles, TARGET_DEG)):
            print("there:", *words[1:])
            return
    sys.exit("the arm did not get there: %s" % angles)


if __name__ == "__main__":
    main()
