"""What OpenCV makes of muster's cameras: the algorithms that read real images must be able to read these.

Usage: vision.py --check, with the program in MUSTER and who makes the pictures in MUSTER_RENDER. `cargo xtask test` calls it
with the requirements beside it, for each engine there is.
Scenes are written to a temporary folder and photographed with `muster look`.
"""

import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np

MUSTER = os.environ.get("MUSTER", "muster")
RENDER = os.environ.get("MUSTER_RENDER", "cpu")
HOME = Path(tempfile.mkdtemp(prefix="muster-vision-"))


def look(scene, name="image", sensor="eye.camera"):
    """Photographs a scene; returns the path of the image without its ending."""
    scenario, out = HOME / f"{name}.yaml", HOME / f"{name}.png"
    scenario.write_text(scene)
    command = [MUSTER, "look", scenario, "--sensor", sensor, "--out", out, "--render", RENDER]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"muster look {scenario}: {ran.stderr}")
    return HOME / name


def grey(path):
    return cv2.imread(f"{path}.png", cv2.IMREAD_GRAYSCALE)


def eye(camera, xyz, rpy_deg):
    at = f"{{xyz_m: [{xyz[0]}, {xyz[1]}, {xyz[2]}], rpy_deg: [{rpy_deg[0]}, {rpy_deg[1]}, {rpy_deg[2]}]}}"
    return f"robots:\n  - {{name: eye, motion: {{kind: fixture}}, at: {at}, sensors: {{camera: {{{camera}}}}}}}\n"


def check(what, value, good):
    print(f"{'ok  ' if good else 'FAIL'} {what}: {value}")
    return good


def features():
    """ORB finds the same points of a library world in two views 5 degrees apart."""
    worlds = {"rescue": ((-2, -22), (0, 0), 2.2), "indoor_room": ((-3.4, -2.4), (1.7, 1.2), 1.5)}
    good = True
    for world, (first, target, height) in worlds.items():
        images = []
        for step in (0, 1):
            turn = math.radians(5 * step)
            away = np.subtract(first, target)
            place = np.array(target) + [
                math.cos(turn) * away[0] - math.sin(turn) * away[1],
                math.sin(turn) * away[0] + math.cos(turn) * away[1],
            ]
            yaw = math.degrees(math.atan2(target[1] - place[1], target[0] - place[0]))
            scene = f"world: {{include: worlds/{world}.yaml}}\n"
            camera = "kind: camera, columns: 640, rows: 480, width_deg: 65, samples: 2"
            images.append(grey(look(scene + eye(camera, [*place, height], [0, 6, yaw]), f"{world}{step}")))
        orb = cv2.ORB_create(2000)
        (points_a, words_a), (points_b, words_b) = [orb.detectAndCompute(image, None) for image in images]
        matches = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True).match(words_a, words_b)
        a = np.float32([points_a[match.queryIdx].pt for match in matches])
        b = np.float32([points_b[match.trainIdx].pt for match in matches])
        # matches count if they agree on one motion of the camera
        _, inliers = cv2.findFundamentalMat(a, b, cv2.FM_RANSAC, 1.5, 0.999)
        count = int(inliers.sum())
        good &= check(f"ORB matches in {world}", count, count >= 100)
    return good


def marker():
    """An ArUco marker on a box is decoded, its corners where the lens shows them."""
    dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    tag = cv2.aruco.generateImageMarker(dictionary, 7, 240)
    cv2.imwrite(str(HOME / "marker.png"), cv2.copyMakeBorder(tag, 40, 40, 40, 40, cv2.BORDER_CONSTANT, value=255))
    scene = f"""world:
  ground_skin: {{texture: textures/tiles.png, texture_size_m: 1}}
  obstacles:
    sign: {{box_size_m: [0.8, 0.8, 0.8], at: {{xyz_m: [3, 0.3, 0.9], yaw_deg: 205}}, skin: {{texture: {HOME}/marker.png, texture_size_m: 0.8}}}}
"""
    image = grey(look(scene + eye("kind: camera, columns: 640, rows: 480, samples: 2", [0, 0, 1.2], [0, 4, 0]), "marker"))
    corners, ids, _ = cv2.aruco.ArucoDetector(dictionary).detectMarkers(image)
    found = [] if ids is None else ids.flatten().tolist()
    good = check("ArUco markers", found, 7 in found)
    if not good:
        return False
    # the face of the box that looks back: its marker is 0.6 m wide, its first corner left and up as one looks at it
    yaw, half = math.radians(205), 0.3
    pitch, focal = math.radians(4), 320 / math.tan(math.radians(30))
    errors = []
    for right, up in ((-half, half), (half, half), (half, -half), (-half, -half)):
        x = 3 + 0.4 * math.cos(yaw) - right * math.sin(yaw)
        y = 0.3 + 0.4 * math.sin(yaw) + right * math.cos(yaw)
        z = 0.9 + up - 1.2
        forward, above = x * math.cos(pitch) - z * math.sin(pitch), x * math.sin(pitch) + z * math.cos(pitch)
        expected = (319.5 - focal * y / forward, 239.5 - focal * above / forward)
        errors.append(np.subtract(corners[found.index(7)][0][len(errors)], expected))
    worst = float(np.abs(errors).max())
    return check("corners of the marker, px from where the lens shows them", f"{worst:.2f}", worst < 1.0) and good


TRUE = {"k1": -0.3, "k2": 0.12, "p1": 0.004, "p2": -0.003}


def calibration():
    """Images of a checkerboard give the coefficients of the lens back."""
    squares, size = (10, 7), 0.1
    board = np.indices((squares[1] + 2, squares[0] + 2)).sum(axis=0) % 2
    board[0, :] = board[-1, :] = 1
    board[:, 0] = board[:, -1] = 1
    pixels = np.kron(board, np.ones((64, 64))) * 215 + 20
    side = 12 * 64
    sheet = np.full((side, side), 235.0)
    rows = pixels.shape[0]
    sheet[(side - rows) // 2 : (side - rows) // 2 + rows] = pixels
    cv2.imwrite(str(HOME / "board.png"), sheet.astype(np.uint8))
    inner = (squares[0] - 1, squares[1] - 1)
    grid = np.zeros((inner[0] * inner[1], 3), np.float32)
    grid[:, :2] = np.mgrid[0 : inner[0], 0 : inner[1]].T.reshape(-1, 2) * size
    camera = "kind: camera, columns: 800, rows: 600, fx_px: 560, fy_px: 570, cx_px: 405, cy_px: 296, samples: 4, distortion: {%s}"
    camera %= ", ".join(f"{name}: {value}" for name, value in TRUE.items())
    objects, images, shape = [], [], None
    views = [(0.8, y, z) for y in (-0.08, 0.08) for z in (-0.07, 0.07)]
    views += [(1.25, y, z) for y in (-0.42, 0, 0.42) for z in (-0.28, 0, 0.28)]
    for number, (x, y, z) in enumerate(views):
        yaw, pitch, roll = 180 + 22 * math.sin(2.1 * number), 20 * math.sin(1.3 * number + 1), 9 * math.sin(number)
        scene = f"""world:
  ground: false
  ambient: 1
  sun: {{intensity: 0}}
  obstacles:
    board: {{box_size_m: [0.01, 1.2, 1.2], at: {{xyz_m: [{x}, {y}, {z}], rpy_deg: [{roll}, {pitch}, {yaw}]}}, skin: {{texture: {HOME}/board.png, texture_size_m: 1.2}}}}
"""
        image = grey(look(scene + eye(camera, [0, 0, 0], [0, 0, 0]), f"board{number}"))
        shape = image.shape[::-1]
        seen, corners = cv2.findChessboardCornersSB(image, inner, flags=cv2.CALIB_CB_ACCURACY)
        if seen:
            objects.append(grid)
            images.append(corners)
    if not check("views of the checkerboard", len(images), len(images) >= 8):
        return False
    error, matrix, found, _, _ = cv2.calibrateCamera(objects, images, shape, None, None, flags=cv2.CALIB_FIX_K3)
    good = check("reprojection error, px", f"{error:.3f}", error < 0.2)
    expected = dict(TRUE, fx=560, fy=570, cx=405, cy=296)
    got = dict(zip(("k1", "k2", "p1", "p2"), found.flatten()))
    got.update(fx=matrix[0, 0], fy=matrix[1, 1], cx=matrix[0, 2], cy=matrix[1, 2])
    for name, value in expected.items():
        off = 100 * abs(got[name] / value - 1)
        good &= check(f"{name} {value}", f"{got[name]:.5f}, {off:.2f} % off", off < 2)
    return good


def terrain():
    """Block matching of a stereo pair over terrain gives its heights."""
    height = "0.6 * sin(x / 1.7) * cos(y / 2.3) + 0.25 * sin(x + y)"
    scene = f"""world:
  ground: false
  obstacles:
    hills: {{terrain: {{size_m: [40, 40], resolution_m: 0.25, height: "{height}"}}, skin: {{texture: {HOME}/soil.png, texture_size_m: 5}}}}
robots:
  - {{name: eye, motion: {{kind: fixture}}, at: {{xyz_m: [0, 0, 14]}}, sensors: {{camera: {{kind: stereo, baseline_m: 1, camera: {{columns: 640, rows: 480, width_deg: 60}}, at: {{rpy_deg: [0, 90, 0]}}}}}}}}
"""
    # soil: noise of several grain sizes, so that every place looks different
    random = np.random.default_rng(5)
    soil = sum(cv2.resize(random.normal(size=(n, n)), (512, 512), interpolation=cv2.INTER_CUBIC) for n in (32, 64, 128, 256))
    soil = cv2.normalize(soil, None, 40, 220, cv2.NORM_MINMAX)
    cv2.imwrite(str(HOME / "soil.png"), cv2.merge([0.6 * soil, 0.8 * soil, soil]).astype(np.uint8))
    path = look(scene, "stereo")
    left, right = grey(f"{path}-left"), grey(f"{path}-right")
    matcher = cv2.StereoSGBM_create(minDisparity=16, numDisparities=48, blockSize=7, P1=200, P2=800, uniquenessRatio=5)
    disparity = matcher.compute(left, right).astype(float) / 16
    focal = 320 / math.tan(math.radians(30))
    valid = disparity > 16
    valid[:, :70] = False
    depth = focal / np.where(valid, disparity, 1)
    rows, columns = np.indices(disparity.shape)
    # the camera looks down: up in the image is east, left is north
    x, y = -(rows - 239.5) * depth / focal, -(columns - 319.5) * depth / focal
    true = 0.6 * np.sin(x / 1.7) * np.cos(y / 2.3) + 0.25 * np.sin(x + y)
    errors = (14 - depth - true)[valid]
    share, rmse = valid.mean(), float(np.sqrt((errors**2).mean()))
    good = check("share of pixels with a height", f"{share:.2f}", share > 0.8)
    return check("RMSE of the height map, m", f"{rmse:.3f}", rmse < 0.1) and good


def spread():
    """A point of light spreads by the blur that was asked for."""
    good = True
    for sigma in (1.0, 2.5):
        scene = """world:
  ground: false
  ambient: 1
  sun: {intensity: 0}
  sky: {zenith: [0.0001, 0.0001, 0.0001], horizon: [0, 0, 0]}
  obstacles:
    star: {sphere_radius_m: 0.01, at: {xyz_m: [10, 0, 0]}, skin: {colour: [1, 1, 1]}}
"""
        camera = f"kind: camera, columns: 101, rows: 101, width_deg: 10, blur_px: {sigma}, exposure: {{gain: {5.5 * sigma**2}}}"
        shown = grey(look(scene + eye(camera, [0, 0, 0], [0, 0, 0]), "star")).astype(float) / 255
        light = np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)
        rows, columns = np.indices(light.shape)
        for axis, at in (("across", columns), ("down", rows)):
            middle = (light * at).sum() / light.sum()
            width = math.sqrt((light * (at - middle) ** 2).sum() / light.sum())
            good &= check(f"blur of {sigma} px {axis}", f"{width:.3f} px", abs(width / sigma - 1) < 0.03)
    return good


if __name__ == "__main__":
    print(f"OpenCV {cv2.__version__}")
    if not all([features(), marker(), calibration(), terrain(), spread()]):
        sys.exit("OpenCV does not read these images as it should; they are in " + str(HOME))
    shutil.rmtree(HOME)
