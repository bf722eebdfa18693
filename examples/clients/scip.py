#!/usr/bin/env python3
"""Reads a laser scanner by SCIP 2.0, simulated or real: over TCP (HOST PORT) or a serial line (PATH).

    python3 scip.py 127.0.0.1 10941
    python3 scip.py /tmp/urg0

Needs nothing but Python. Exit code 0 if all scans came and were whole.
"""
import math
import os
import socket
import sys


class Scanner:
    def __init__(self, where):
        if len(where) == 2:
            self.socket = socket.create_connection((where[0], int(where[1])), timeout=20)
            self.read, self.write = self.socket.recv, self.socket.sendall
        else:
            line = os.open(where[0], os.O_RDWR | os.O_NOCTTY)
            self.read, self.write = lambda size: os.read(line, size), lambda data: os.write(line, data)
        self.buffer = b""

    def response(self):
        """The lines of the next response: the request, the status, the data."""
        while b"\n\n" not in self.buffer:
            more = self.read(4096)
            if not more:
                raise EOFError("the scanner is gone")
            self.buffer += more
        whole, self.buffer = self.buffer.split(b"\n\n", 1)
        return whole.split(b"\n")

    def ask(self, request):
        self.write(request.encode() + b"\n")
        lines = self.response()
        # what is left of a stream comes before the answer
        while lines[0] != request.encode():
            lines = self.response()
        return checked(lines[1]), lines[2:]


def checked(line):
    """A line without its sum."""
    content, total = line[:-1], line[-1]
    summed = content[:-1] if content.endswith(b";") else content
    if (sum(content) & 0x3F) + 0x30 != total and (sum(summed) & 0x3F) + 0x30 != total:
        raise ValueError("wrong sum: %r" % line)
    return content


def number(characters):
    value = 0
    for character in characters:
        value = value << 6 | character - 0x30
    return value


def ranges(lines):
    data = b"".join(checked(line) for line in lines)
    return [number(data[at:at + 3]) for at in range(0, len(data), 3)]


def main():
    scanner = Scanner(sys.argv[1:])
    scanner.ask("QT")
    status, lines = scanner.ask("PP")
    about = dict(checked(line).rstrip(b";").decode().split(":") for line in lines)
    print(about["MODL"], "sees", about["DMIN"], "to", about["DMAX"], "mm")
    first, last, front = (int(about[key]) for key in ("AMIN", "AMAX", "AFRT"))
    step = 2 * math.pi / int(about["ARES"])

    request = "MD%04d%04d01003" % (first, last)
    status, _ = scanner.ask(request)
    assert status == b"00", status
    for _ in range(3):
        lines = scanner.response()
        assert checked(lines[1]) == b"99", lines[1]
        seen = ranges(lines[3:])
        assert len(seen) == last - first + 1, len(seen)
        valid = [(mm, at) for at, mm in enumerate(seen) if int(about["DMIN"]) <= mm <= int(about["DMAX"])]
        nearest, at = min(valid)
        angle = math.degrees(step * (first + at - front))
        print("%8d ms: %d ranges, nearest %d mm at %.1f degrees" % (number(checked(lines[2])), len(seen), nearest, angle))
    scanner.ask("QT")


if __name__ == "__main__":
    main()
