"""Places on the earth in four coordinate systems, by PROJ: the table geodesy.csv that tests/geodesy.rs compares with.

    python geodesy.py           writes geodesy.csv
    python geodesy.py --check   compares the committed table with what PROJ says now

Needs pyproj (coordinates) and utm (numbers of zones, with the exceptions of Norway and Svalbard); `cargo xtask
references` installs them and checks.
"""

import math
import pathlib
import random
import sys

import pyproj
import utm

TABLE = pathlib.Path(__file__).with_name("geodesy.csv")
HEADER = (
    "latitude_deg,longitude_deg,altitude_m,ecef_x_m,ecef_y_m,ecef_z_m,origin_latitude_deg,origin_longitude_deg,"
    "origin_altitude_m,east_m,north_m,up_m,zone,north,easting_m,northing_m"
)

# poles, equator, date line, borders of zones, south-west Norway, Svalbard, and places people know
SPECIAL = [
    (0, 0, 0), (0, 180, 0), (0, -180, 10), (84, 3, 0), (-80, -179.9, 50), (89.999, -120, 0), (-89.9, 77, 2800),
    (60.39, 5.32, 12), (55.999, 5, 0), (56, 3, 0), (63.999, 11.999, 0), (64, 5, 0), (58.97, 2.999, 0),
    (78.22, 15.65, 30), (72, 0, 0), (71.999, 8, 0), (75, 8.999, 0), (75, 9, 0), (78, 21, 0), (80, 33, 0),
    (83.999, 41.999, 0), (79, 42, 0), (47.3977, 8.5456, 488), (43.5645, 1.4811, 150), (1.4333, 43.6, 135),
    (-33.8688, 151.2093, 20), (-77.85, 166.67, 30), (27.9881, 86.925, 8848), (31.5, 35.5, -430), (36, 5.999999, 0),
    (36, 6, 0), (-0.000001, 12, 0), (0.000001, 12, 0),
]


def places():
    draw = random.Random(1)
    for place in SPECIAL:
        yield place
    for _ in range(170):
        latitude = math.degrees(math.asin(draw.uniform(-0.985, 0.994)))
        yield round(latitude, 6), round(draw.uniform(-180, 180), 6), round(draw.uniform(-400, 12000), 2)


def rows():
    ecef_from = pyproj.Transformer.from_pipeline("+proj=cart +ellps=WGS84")
    draw = random.Random(2)
    for latitude, longitude, altitude in places():
        ecef = ecef_from.transform(longitude, latitude, altitude, radians=False)
        # an origin within some 60 km, as far as worlds reach
        away = draw.choice([0.001, 0.05, 0.5])
        origin = (
            max(-90.0, min(90.0, round(latitude + draw.uniform(-away, away), 6))),
            round(longitude + draw.uniform(-away, away), 6),
            round(draw.uniform(-100, 3000), 2),
        )
        topocentric = pyproj.Transformer.from_pipeline(
            f"+proj=topocentric +ellps=WGS84 +lat_0={origin[0]} +lon_0={origin[1]} +h_0={origin[2]}"
        )
        enu = topocentric.transform(*ecef)
        zone = utm.latlon_to_zone_number(latitude, (longitude + 180) % 360 - 180)
        north = latitude >= 0
        grid = pyproj.Proj(f"+proj=utm +zone={zone} {'' if north else '+south'} +ellps=WGS84")
        easting, northing = grid(longitude, latitude)
        numbers = [latitude, longitude, altitude, *ecef, *origin, *enu]
        # tenths of a millimetre are plenty, and the same on every machine
        texts = [f"{number:.4f}" if 3 <= at < 6 or at >= 9 else f"{number}" for at, number in enumerate(numbers)]
        yield ",".join([*texts, str(zone), str(int(north)), f"{easting:.4f}", f"{northing:.4f}"])


def differs(old, new):
    numbers = [float(a) - float(b) for a, b in zip(old.split(","), new.split(","))]
    return len(old.split(",")) != len(new.split(",")) or any(abs(difference) > 2e-4 for difference in numbers)


def main():
    lines = [HEADER, *rows()]
    if "--check" not in sys.argv:
        TABLE.write_text("\n".join(lines) + "\n")
        return
    committed = TABLE.read_text().splitlines()
    wrong = [new for old, new in zip(committed[1:], lines[1:]) if differs(old, new)]
    if wrong or len(committed) != len(lines):
        sys.exit(f"geodesy.csv differs from pyproj {pyproj.__version__} in {len(wrong)} places: {wrong[:3]}")
    print(f"{len(lines) - 1} places agree with pyproj {pyproj.__version__} (PROJ {pyproj.proj_version_str})")


main()
