"""Direct kinematics of robots by yourdfpy, a solver for URDF: the table kinematics.csv that tests/trees.rs compares with.

    python kinematics.py           writes kinematics.csv
    python kinematics.py --check   compares the committed table with what yourdfpy says now

Two robots: one with two arms and a head, and a random one with a link of five children. Needs yourdfpy; `cargo xtask
references` installs it and checks.
"""

import io
import math
import pathlib
import random
import sys

import yourdfpy

TABLE = pathlib.Path(__file__).with_name("kinematics.csv")
CASES = 8


def two_arms():
    """Frames as name, parent, xyz, rpy, joint, axis."""
    frames = [
        ("torso", "", (0, 0, 0.4), (0, 0, 0), "turn", (0, 0, 1)),
        ("head", "torso", (0, 0, 0.5), (0, 0.1, 0), "turn", (0, 1, 0)),
    ]
    for side, sign in (("left", 1), ("right", -1)):
        frames += [
            (f"{side}_shoulder", "torso", (0, sign * 0.22, 0.42), (sign * 0.3, 0, 0), "turn", (0, 1, 0)),
            (f"{side}_upper", f"{side}_shoulder", (0, 0, -0.1), (0, 0, 0), "turn", (0, 0, 1)),
            (f"{side}_elbow", f"{side}_upper", (0, 0, -0.2), (0, 0.2, sign * 0.1), "turn", (0, 1, 0)),
            (f"{side}_slide", f"{side}_elbow", (0.02, 0, -0.15), (0, 0, 0), "slide", (0, 0, -1)),
            (f"{side}_hand", f"{side}_slide", (0, 0, -0.1), (0.4, -0.3, 1.2), "fixed", (0, 0, 1)),
        ]
    return frames


def random_robot(draw):
    frames = []
    for number in range(24):
        if number < 6:
            parent = "" if number == 0 else "f0"
        else:
            parent = f"f{draw.randrange(number)}"
        xyz = tuple(round(draw.uniform(-0.5, 0.5), 3) for _ in range(3))
        rpy = tuple(round(draw.uniform(-3, 3), 3) for _ in range(3))
        axis = [draw.gauss(0, 1) for _ in range(3)]
        norm = math.sqrt(sum(value * value for value in axis))
        joint = draw.choice(["turn", "turn", "slide", "fixed"])
        frames.append((f"f{number}", parent, xyz, rpy, joint, tuple(value / norm for value in axis)))
    return frames


def row(values):
    return " ".join(repr(float(value)) for value in values)


def urdf(frames):
    kinds = {"turn": "continuous", "slide": "prismatic", "fixed": "fixed"}
    text = '<robot name="r"><link name="base"/>'
    for name, parent, xyz, rpy, joint, axis in frames:
        text += f'<link name="{name}"/><joint name="j_{name}" type="{kinds[joint]}"><parent link="{parent or "base"}"/>'
        text += f'<child link="{name}"/><origin xyz="{row(xyz)}" rpy="{row(rpy)}"/><axis xyz="{row(axis)}"/>'
        text += '<limit lower="-9" upper="9" effort="1" velocity="1"/></joint>'
    return text + "</robot>"


def lines():
    draw = random.Random(7)
    yield "what,robot,name,parent or case,values"
    for robot, frames in (("two_arms", two_arms()), ("random", random_robot(draw))):
        model = yourdfpy.URDF.load(io.BytesIO(urdf(frames).encode()), build_scene_graph=True, load_meshes=False)
        for name, parent, xyz, rpy, joint, axis in frames:
            yield ",".join(["frame", robot, name, parent, joint, *(repr(float(v)) for v in (*xyz, *rpy, *axis))])
        moved = [name for name, _, _, _, joint, _ in frames if joint != "fixed"]
        for case in range(CASES):
            values = {name: draw.uniform(-3, 3) for name in moved}
            model.update_cfg({f"j_{name}": value for name, value in values.items()})
            for name, value in values.items():
                yield f"joint,{robot},{name},{case},{value!r}"
            for name, *_ in frames:
                matrix = model.get_transform(frame_to=name, frame_from="base")[:3].flatten()
                yield ",".join(["pose", robot, name, str(case), *(f"{float(v):.15g}" for v in matrix)])


def near(a, b):
    try:
        return abs(float(a) - float(b)) < 1e-12
    except ValueError:
        return a == b


if __name__ == "__main__":
    made = list(lines())
    if "--check" in sys.argv:
        kept = TABLE.read_text().splitlines()
        pairs = [(a.split(","), b.split(",")) for a, b in zip(kept, made)]
        same = len(kept) == len(made) and all(len(a) == len(b) and all(map(near, a, b)) for a, b in pairs)
        if not same:
            sys.exit(f"{TABLE.name} is not what {pathlib.Path(__file__).name} makes")
        print(f"{len(made) - 1} rows of kinematics agree with yourdfpy {yourdfpy.__version__}")
        sys.exit()
    TABLE.write_text("\n".join(made) + "\n")
