"""Runs a builder script of the simulator MORSE and prints the same simulation as a scenario of muster.

Called as `python3 morse_shim.py SCRIPT.py [ARGUMENTS]` or with its text after `-c`. The scenario goes to standard output;
what the script prints, and notes about what has no meaning here, go to standard error. The script sees a package `morse`
with the builder's classes, which only take down what it says; nothing of MORSE is needed.
"""
import json
import math
import os
import runpy
import sys
import types

SCRIPT = ""
NOTES = []


def line():
    """Where in the script we are."""
    frame = sys._getframe(1)
    while frame is not None:
        if os.path.abspath(frame.f_code.co_filename) == SCRIPT:
            return frame.f_lineno
        frame = frame.f_back
    return 0


def note(text):
    at = line()
    entry = "%s:%s: note: %s" % (os.path.basename(SCRIPT), at, text)
    if entry not in NOTES:
        NOTES.append(entry)
        sys.stderr.write(entry + "\n")


class MorseBuilderError(Exception):
    pass


class Vector(list):
    """Three numbers by place or by name."""

    def _named(place):
        return property(lambda self: self[place], lambda self, value: self.__setitem__(place, value))

    x, y, z = _named(0), _named(1), _named(2)


class timer(float):
    pass


COMPONENTS = []
STREAMS = []  # (component, interface, options) in the order in which they were added
FREQUENCY = [60.0]


class AbstractComponent(object):
    """Anything that has a place."""

    components = COMPONENTS

    def __init__(self, obj=None, filename="", category=""):
        self.basename = None
        self.children = []
        self.location = Vector((0.0, 0.0, 0.0))
        self.rotation_euler = Vector((0.0, 0.0, 0.0))
        self.scale = Vector((1.0, 1.0, 1.0))
        self._properties = {}
        self._services = set()
        self._modifiers = []
        self._level = None
        self._frequency = None
        self._exportable = True
        self.filename = filename
        self.at_line = line()
        COMPONENTS.append(self)

    def __setattr__(self, key, value):
        if key in ("location", "rotation_euler", "scale") and not isinstance(value, Vector):
            value = Vector(value)
        object.__setattr__(self, key, value)

    @property
    def name(self):
        return self.basename or type(self).__name__

    @name.setter
    def name(self, value):
        if value:
            if "." in value:
                raise SyntaxError("Invalid component name: <%s>. Dots are not allowed." % value)
            self.basename = value

    def __str__(self):
        return full_name(self)

    def translate(self, x=0.0, y=0.0, z=0.0):
        self.location = [self.location[0] + x, self.location[1] + y, self.location[2] + z]

    def rotate(self, x=0.0, y=0.0, z=0.0):
        turned = self.rotation_euler
        self.rotation_euler = [turned[0] + x, turned[1] + y, turned[2] + z]

    def properties(self, **kwargs):
        self._properties.update(kwargs)

    def property_value(self, name):
        return self._properties.get(name)

    def append(self, obj, child=None, level=1):
        if child:
            note("%s is put on %s itself, not on its part %s" % (obj.name, self.name, child))
        obj.parent = self
        self.children.append(obj)
        name_by_variables(sys._getframe(level))

    def add_stream(self, datastream, method=None, path=None, classpath=None, direction=None, **kwargs):
        if method or path:
            note("socket streams serialise themselves: %s is not used" % (method or path))
        STREAMS.append((self, datastream, kwargs, line()))

    configure_mw = add_stream

    def add_service(self, interface, component=None, config=None):
        if interface not in ("socket",):
            note("services of %s are served by socket only, not by %r" % (self.name, interface))
        self._services.add("socket")

    configure_service = add_service

    def add_interface(self, interface, **kwargs):
        self.add_service(interface)
        if self._exportable:
            self.add_stream(interface, **kwargs)

    def alter(self, modifier_name=None, classpath=None, direction=None, **kwargs):
        self._modifiers.append((modifier_name or classpath, kwargs, line()))

    configure_modifier = alter

    def add_overlay(self, datastream, overlay, config=None, **kwargs):
        note("overlays are Python inside MORSE; %s has none here" % self.name)

    configure_overlay = add_overlay

    def level(self, level):
        self._level = level

    def frequency(self, frequency=None):
        if frequency:
            self._frequency = float(frequency)

    def mark_unexportable(self):
        self._exportable = False

    def is_exportable(self):
        return self._exportable

    def is_morseable(self):
        return True

    def profile(self):
        note("profiling belongs to `muster bench` and the report of a run")

    def set_color(self, *colour, **named):
        colour = named.get("color", colour[0] if len(colour) == 1 else colour)
        self._properties["muster_colour"] = list(colour)

    def get_child(self, name, objects=None, recursive=True):
        for each in self.children:
            if each.name == name:
                return each
        return None

    def select(self):
        pass

    @staticmethod
    def close_context(level=1):
        name_by_variables(sys._getframe(level))

    def __getattr__(self, name):
        # methods that only touch Blender's scene
        if name in QUIET_METHODS:
            return lambda *args, **kwargs: note("%s() concerns Blender's scene and has no meaning here" % name)
        raise AttributeError("%s has no attribute %r" % (type(self).__name__, name))


QUIET_METHODS = {
    "append_meshes", "append_scenes", "append_collada", "set_blender_object", "morseable", "hide_mesh", "create_laser_arc",
    "unparent_wheels", "make_ghost", "set_collision_bounds", "get_ray_material",
}


def name_by_variables(frame):
    """MORSE names components after the variables they are in."""
    scope = dict(frame.f_locals)
    if "self" in scope and hasattr(scope["self"], "__dict__"):
        for key, value in scope["self"].__dict__.items():
            scope.setdefault(key, value)
    for key, value in scope.items():
        if isinstance(value, AbstractComponent) and key not in ("self", "obj") and not value.__dict__.get("basename"):
            value.basename = key


def chain(component):
    names = []
    while component is not None:
        names.append(component.name)
        component = component.__dict__.get("parent")
    return list(reversed(names))


def full_name(component):
    return ".".join(chain(component))


# robots -----------------------------------------------------------------------------------------------------------------


class Robot(AbstractComponent):
    """A robot: what it is here, and the height it rests at."""

    _about = ""
    _text = None  # what the scenario says of it
    _rest_m = None  # the height of its origin when it stands on the ground

    def __init__(self, filename="", name=None):
        AbstractComponent.__init__(self, filename=filename)
        if name:
            self.name = name
        self._default_interface = None
        self.mass = None
        if type(self) is Robot and filename:
            known = {key.lower(): value for key, value in ROBOT_CLASSES.items()}.get(filename.lower())
            if known is None:
                raise MorseBuilderError("found robot %r, expected one of %s" % (filename, ", ".join(sorted(ROBOT_CLASSES))))
            self.__class__ = known

    def add_default_interface(self, stream):
        self._default_interface = stream

    def set_mass(self, mass):
        self.mass = float(mass)

    def set_friction(self, friction=0.0):
        self._properties["muster_friction"] = float(friction)

    def set_rigid_body(self):
        pass

    def set_dynamic(self):
        pass

    def set_no_collision(self):
        self._properties["muster_no_collision"] = True

    def make_external(self):
        note("%s is moved by another node in MORSE; here it stands" % self.name)

    def make_grasper(self, obj_name):
        note("grasping is the actuator Gripper here, not the human's hand %s" % obj_name)

    def append(self, obj, child=None, level=1):
        AbstractComponent.append(self, obj, child, level + 1)


GroundRobot = WheeledRobot = Robot

# MORSE's robots take velocities at once
AT_ONCE = {"speed_max_mps": 20, "turn_max_radps": 20, "wheel_accel_max_radps2": 1e6}


def standing(shape, rest_m):
    """The outline of a robot that stands on the ground with its origin at this height."""
    height = shape["box_size_m"][2] if "box_size_m" in shape else shape["cylinder"]["height_m"]
    return {"body": dict(shape, at={"xyz_m": [0, 0, round(height / 2 - rest_m + 0.01, 6)]})}


def differential(radius_m, gap_m, shape):
    motion = dict(kind="differential", rate_hz=1000, wheel_radius_m=radius_m, wheel_gap_m=gap_m, **AT_ONCE)
    return lambda robot: {"motion": motion, "parts": standing(shape, robot._rest_m)}


def quadrotor(robot):
    engines = [each for each in robot.children if isinstance(each, QuadrotorDynamicControl)]
    if engines:
        # MORSE's quadrotor of 0.6 kg, whose engines act at once
        motion = {"kind": "quadrotor", "rate_hz": 1000, "mass_kg": robot.mass or 0.6, "rotor_up_s": 0, "rotor_down_s": 0,
                  "rotor_max_radps": 1500, "start_rotors": "rest", "speed_max_mps": 100}
        return {"motion": motion, "shape": {"sphere_radius_m": 0.25}}
    if not any(isinstance(each, FLIGHT) for each in robot.children):
        return point({"sphere_radius_m": 0.25})(robot)
    motion = {"kind": "quadrotor", "rate_hz": 1000}
    controller = {"kind": "flight_control", "rate_hz": 500, "imu": "_imu", "pose": "_truth"}
    if robot.mass:
        note("the flight controller is that of a Hummingbird of 0.716 kg; the mass of %s is not changed" % robot.name)
    sensors = {"_imu": {"kind": "imu", "rate_hz": 500}, "_truth": {"kind": "truth", "rate_hz": 100}}
    return {"motion": motion, "controller": controller, "shape": {"sphere_radius_m": 0.25}, "sensors": sensors}


def library(kind):
    return lambda robot: {"kind": kind}


def point(shape):
    return lambda robot: {"motion": {"kind": "point", "rate_hz": 500, "speed_max_mps": 20}, "shape": shape}


def robot_class(name, text, rest_m, about=""):
    def init(self, name=None):
        Robot.__init__(self, name=name)

    return type(name, (Robot,), {"__init__": init, "_text": staticmethod(text), "_rest_m": rest_m, "_about": about})


ATRV = robot_class("ATRV", differential(0.19, 0.65, {"box_size_m": [1.05, 0.8, 0.65]}), 0.10)
Morsy = robot_class("Morsy", differential(0.05, 0.2, {"box_size_m": [0.25, 0.22, 0.2]}), 0.0)
Pioneer3DX = robot_class("Pioneer3DX", differential(0.0975, 0.33, {"box_size_m": [0.455, 0.381, 0.237]}), 0.16)
PatrolBot = robot_class("PatrolBot", differential(0.0955, 0.35, {"box_size_m": [0.59, 0.48, 0.38]}), 0.19)
SegwayRMP400 = robot_class("SegwayRMP400", differential(0.27, 0.6, {"box_size_m": [1.12, 0.76, 0.56]}), 0.27)
B21 = robot_class("B21", differential(0.11, 0.4, {"cylinder": {"radius_m": 0.26, "height_m": 1.06}}), 0.0)
Jido = robot_class("Jido", differential(0.13, 0.5, {"box_size_m": [0.8, 0.6, 1.0]}), 0.0)
Hummer = robot_class("Hummer", lambda robot: {"motion": {"kind": "ackermann", "rate_hz": 1000, "mass_kg": robot.mass or 10},
                                              "shape": {"box_size_m": [4.6, 2.2, 1.9]}}, 0.95,
                     "the Hummer drives forward along x here, as every robot, not along its y axis")
Quadrotor = QuadrotorDynamic = robot_class("Quadrotor", quadrotor, None)
QUAD2012 = robot_class("QUAD2012", point({"none": True}), None)
# without gravity in MORSE, and moved by what is asked of them alone
RMax = robot_class("RMax", point({"box_size_m": [2.75, 0.72, 1.08]}), None)
Submarine = robot_class("Submarine", point({"box_size_m": [3.0, 1.0, 1.0]}), None)
Human = robot_class("Human", library("human"), None)
FakeRobot = robot_class("FakeRobot", point({"none": True}), None)
Victim = robot_class("Victim", lambda robot: {"kind": "human", "tags": ["victim", "Victim_Tag"]}, None,
                     "a victim is a human who lies nowhere and needs no healing here")
ROBOT_CLASSES = {each.__name__: each for each in
                 (ATRV, Morsy, Pioneer3DX, PatrolBot, SegwayRMP400, B21, Jido, Hummer, Quadrotor, QUAD2012, RMax, Submarine,
                  Human, FakeRobot, Victim)}


def unsupported(name, what):
    def init(self, *args, **kwargs):
        raise MorseBuilderError("found %s, which muster does not have (%s); expected another robot" % (name, what))

    return type(name, (Robot,), {"__init__": init})


PR2 = unsupported("PR2", "two arms and a torso of 45 joints")
BarePR2 = BasePR2 = LocalizedPR2 = NavPR2 = PR2

# sensors ----------------------------------------------------------------------------------------------------------------


class SensorCreator(AbstractComponent):
    _kind = None
    _defaults = {}
    _frequency_hz = None

    def __init__(self, name=None):
        AbstractComponent.__init__(self)
        if name:
            self.name = name
        self._properties.update(self._defaults)
        self._frequency = self._frequency_hz

    def block(self):
        return {"kind": self._kind}

    def used(self):
        """Properties that `block` makes use of."""
        return set()


def sensor_class(name, kind, block=None, frequency=None, **defaults):
    return type(name, (SensorCreator,), {
        "_kind": kind, "_defaults": defaults, "_frequency_hz": frequency,
        "block": (lambda self: dict(block(self), kind=kind)) if block else SensorCreator.block,
        "used": lambda self: set(defaults),
    })


def levels(names):
    def block(sensor):
        if sensor._level and sensor._level not in names:
            raise MorseBuilderError("found level %r of %s, expected one of %s" % (sensor._level, sensor.name, ", ".join(names)))
        return {"level": names[sensor._level or "default"]}

    return block


def laser(sensor):
    get = sensor._properties.get
    window, step = float(get("scan_window")), float(get("resolution"))
    count = int(round(window / step)) + 1
    if int(get("layers", 1)) > 1:
        separation = float(get("layer_separation", 0.8))
        layers = int(get("layers"))
        rings = [separation * (layer - 0.5 * (layers - 1)) for layer in range(layers)]
        rays = {"kind": "rings", "rings_deg": rings, "from_deg": -window / 2, "to_deg": window / 2, "count": count}
    else:
        full = window >= 360.0
        rays = {"kind": "planar", "from_deg": -window / 2, "to_deg": window / 2, "count": count - 1 if full else count}
    text = {"rays": rays, "range_max_m": float(get("laser_range")), "accuracy": "perfect"}
    if sensor._level == "rssi":
        text["output"] = "intensity"
    return text


def lens(sensor):
    get = sensor._properties.get
    # Blender's lens: the focal length in millimetres behind a sensor of 32 mm
    return {"columns": int(get("cam_width")), "rows": int(get("cam_height")),
            "width_deg": round(math.degrees(2 * math.atan(16.0 / float(get("cam_focal")))), 6),
            "near_m": float(get("cam_near", 0.1)), "far_m": float(get("cam_far", 100.0))}


def depth_lens(sensor):
    return dict(lens(sensor), output=["depth"])


def semantic(sensor):
    seen = lens(sensor)
    height = 2 * math.degrees(math.atan(math.tan(math.radians(seen["width_deg"]) / 2) * seen["rows"] / seen["columns"]))
    text = {"width_deg": seen["width_deg"], "height_deg": round(height, 6), "near_m": seen["near_m"], "far_m": seen["far_m"],
            "axes": "body" if sensor._properties.get("relative") else "world"}
    tag = sensor._properties.get("tag", "Object")
    return dict(text, tags=[tag], robots=True)


def proximity(sensor):
    track = sensor._properties["Track"]
    text = {"range_m": float(sensor._properties["Range"])}
    return dict(text, objects=False) if track == "Robot_Tag" else dict(text, tags=[track])


Pose = sensor_class("Pose", "truth")
GPS = sensor_class("GPS", "gps", levels({"default": "position", "simple": "position", "raw": "geodetic", "extended": "extended"}))
Odometry = sensor_class("Odometry", "odometry",
                        levels({"default": "integrated", "raw": "raw", "differential": "differential", "integrated": "integrated"}))
IMU = sensor_class("IMU", "imu")
Velocity = sensor_class("Velocity", "velocity")
Attitude = sensor_class("Attitude", "attitude")
Gyroscope = sensor_class("Gyroscope", "gyroscope")
Accelerometer = sensor_class("Accelerometer", "accelerometer")
Barometer = sensor_class("Barometer", "barometer")
Airspeed = sensor_class("Airspeed", "airspeed")
Magnetometer = sensor_class("Magnetometer", "magnetometer")
RadarAltimeter = sensor_class("RadarAltimeter", "radar_altimeter", lambda s: {"range_max_m": float(s._properties["MaxRange"])},
                              MaxRange=30.0)
Thermometer = sensor_class("Thermometer", "thermometer", lambda s: {"ambient_c": float(s._properties["DefaultTemperature"]),
                                                                   "falloff_per_m": float(s._properties["Alpha"])},
                           DefaultTemperature=15.0, Alpha=0.2)
Clock = sensor_class("Clock", "clock")
Collision = sensor_class("Collision", "collision")
# per cent a second of 1 Wh
Battery = sensor_class("Battery", "battery", lambda s: {"capacity_wh": 1.0, "idle_power_w": 36.0 * float(s._properties["DischargingRate"]),
                                                        "charge_power_w": 72.0 * float(s._properties["DischargingRate"])},
                       DischargingRate=0.05)
Proximity = sensor_class("Proximity", "proximity", proximity, 12, Range=30.0, Track="Robot_Tag")
LASER = dict(Visible_arc=False, layers=1, layer_separation=0.8, layer_offset=0.125)
Hokuyo = sensor_class("Hokuyo", "range", laser, 10, laser_range=30.0, scan_window=270.0, resolution=0.25, **LASER)
Sick = sensor_class("Sick", "range", laser, 10, laser_range=30.0, scan_window=180.0, resolution=1.0, **LASER)
SickLDMRS = sensor_class("SickLDMRS", "range", laser, 4, laser_range=30.0, scan_window=100.0, resolution=0.25,
                         **dict(LASER, layers=4))
Infrared = sensor_class("Infrared", "range", laser, 10, laser_range=2.0, scan_window=20.0, resolution=1.0, **LASER)
VelodyneRayCast = sensor_class("VelodyneRayCast", "range", laser, None, laser_range=50.0, scan_window=360.0, resolution=1.0,
                               **dict(LASER, layers=32, layer_separation=1.33))
CAMERA = dict(cam_width=256, cam_height=256, cam_focal=35.0, cam_near=0.1, cam_far=100.0, capturing=True, Vertical_Flip=True,
              retrieve_depth=False, retrieve_zbuffer=False)
VideoCamera = sensor_class("VideoCamera", "camera", lens, 20, **CAMERA)
DepthCamera = sensor_class("DepthCamera", "camera", depth_lens, 20, **dict(CAMERA, cam_near=1.0, cam_far=20.0))
SemanticCamera = sensor_class("SemanticCamera", "semantic_camera", semantic, 20, relative=False, noocclusion=False, tag="Object",
                              **dict(CAMERA, cam_width=512, cam_height=512))
PTUPosture = sensor_class("PTUPosture", "joint_state")
ArmaturePose = sensor_class("ArmaturePose", "joint_state")


class CompoundSensor(SensorCreator):
    def __init__(self, sensors, name=None):
        SensorCreator.__init__(self, name)
        self.sensors = sensors


class Kinect(CompoundSensor):
    def __init__(self, name=None):
        CompoundSensor.__init__(self, [], name)
        self.video_camera = VideoCamera("rgb")
        self.depth_camera = DepthCamera("depth")
        for camera, y in ((self.video_camera, 0.08), (self.depth_camera, -0.08)):
            camera.properties(cam_width=128, cam_height=128)
            camera.location = (0.06, y, 0.04)
            self.append(camera)
        self.sensors = [self.video_camera, self.depth_camera]

    def add_stream(self, *args, **kwargs):
        self.video_camera.add_stream(*args, **kwargs)
        self.depth_camera.add_stream(*args, **kwargs)

    def frequency(self, frequency=None):
        self.video_camera.frequency(frequency)
        self.depth_camera.frequency(frequency)


class StereoUnit(SensorCreator):
    """Only carries its cameras."""

    def block(self):
        return None


def missing_sensor(name, what):
    def init(self, *args, **kwargs):
        SensorCreator.__init__(self, kwargs.get("name"))
        note("%s is not simulated: %s" % (name, what))

    return type(name, (SensorCreator,), {"__init__": init, "block": lambda self: None})


SearchAndRescue = missing_sensor("SearchAndRescue", "nobody is healed here; SemanticCamera and Proximity find victims")
HumanPosture = missing_sensor("HumanPosture", "use a joint_state sensor of muster")
Velodyne = VelodyneZB = missing_sensor("Velodyne", "use VelodyneRayCast")

# actuators --------------------------------------------------------------------------------------------------------------


class ActuatorCreator(AbstractComponent):
    _kind = None
    _needs_goto = None

    def __init__(self, name=None):
        AbstractComponent.__init__(self)
        if name:
            self.name = name

    def block(self):
        return {"kind": self._kind}

    def used(self):
        return set()


def actuator_class(name, kind, keys=None, needs_goto=None, fixed=None):
    """`keys` maps properties of MORSE to parameters here."""
    keys = keys or {}

    def block(self):
        text = {"kind": kind}
        text.update(fixed or {})
        for theirs, ours in keys.items():
            if theirs in self._properties:
                text[ours] = self._properties[theirs]
        return text

    return type(name, (ActuatorCreator,), {"_kind": kind, "_needs_goto": needs_goto, "block": block,
                                           "used": lambda self: set(keys) | {"ControlType"}})


MotionVW = actuator_class("MotionVW", "v_omega")
MotionVWDiff = actuator_class("MotionVWDiff", "v_omega")
MotionXYW = actuator_class("MotionXYW", "xy_omega")
Waypoint = actuator_class("Waypoint", "waypoint", {"Speed": "speed_mps", "FreeZ": "free_z"}, "velocity")
Destination = actuator_class("Destination", "destination", {"Speed": "speed_mps", "Tolerance": "tolerance_m"}, "position")
Teleport = actuator_class("Teleport", "teleport")
Orientation = actuator_class("Orientation", "orientation")
SteerForce = actuator_class("SteerForce", "steer_force", fixed={"negative_forward": True})
ForceTorque = actuator_class("ForceTorque", "force_torque", {"RobotFrame": "robot_frame"})
RotorcraftAttitude = actuator_class("RotorcraftAttitude", "attitude", {"ThrustFactor": "thrust_max_n"})
RotorcraftVelocity = actuator_class("RotorcraftVelocity", "velocity")
RotorcraftWaypoint = actuator_class("RotorcraftWaypoint", "rotorcraft_waypoint", None, "position")
StabilizedQuadrotor = actuator_class("StabilizedQuadrotor", "stabilized")
QuadrotorDynamicControl = actuator_class("QuadrotorDynamicControl", "engines",
                                         {"ThrustFactor": "thrust_ns2", "DragFactor": "drag_nms2", "Lever": "lever_m"})
FLIGHT = (RotorcraftAttitude, RotorcraftVelocity, RotorcraftWaypoint, StabilizedQuadrotor)
PTU = actuator_class("PTU", "pan_tilt", {})
Gripper = actuator_class("Gripper", "gripper", {"Angle": "angle_deg", "Distance": "distance_m"})
Light = actuator_class("Light", "light", {})
Keyboard = actuator_class("Keyboard", "keyboard", {})
Joystick = actuator_class("Joystick", "keyboard", {})


def missing_actuator(name, what):
    def init(self, *args, **kwargs):
        ActuatorCreator.__init__(self, kwargs.get("name"))
        self._exportable = True
        note("%s is not simulated: %s" % (name, what))

    def other(self, method):
        if method.startswith("_"):
            raise AttributeError(method)
        return lambda *args, **kwargs: note("%s() of %s has no meaning here" % (method, name))

    return type(name, (ActuatorCreator,), {"__init__": init, "block": lambda self: None, "__getattr__": other})


Armature = missing_actuator("Armature", "arms come as Blender files; describe joints as `frames` of a robot instead")
KukaLWR = missing_actuator("KukaLWR", "arms come as Blender files; describe joints as `frames` of a robot instead")
PA10 = missing_actuator("PA10", "arms come as Blender files; describe joints as `frames` of a robot instead")
MocapControl = missing_actuator("MocapControl", "there is no motion capture here")
Sound = missing_actuator("Sound", "there is nothing to hear")
Drag = missing_actuator("Drag", "motions of muster have drag of their own")
ExternalForce = missing_actuator("ExternalForce", "use ForceTorque, or `world.wind`")
Arucomarker = missing_actuator("Arucomarker", "give a part of the robot a texture instead")

# objects ----------------------------------------------------------------------------------------------------------------


class Mesh(AbstractComponent):
    _shape = staticmethod(lambda scale: {"box_size_m": [2 * each for each in scale]})

    def __init__(self, name=None):
        AbstractComponent.__init__(self)
        self.name = name

    def color(self, r=0.1, g=0.1, b=0.1):
        self._properties["muster_colour"] = [r, g, b]


class Cube(Mesh):
    pass


class Plane(Mesh):
    _shape = staticmethod(lambda scale: {"box_size_m": [2 * scale[0], 2 * scale[1], 0.001]})


class Sphere(Mesh):
    _shape = staticmethod(lambda scale: {"sphere_radius_m": max(scale)})


class IcoSphere(Sphere):
    pass


class Cylinder(Mesh):
    _shape = staticmethod(lambda scale: {"cylinder": {"radius_m": max(scale[:2]), "height_m": 2 * scale[2]}})


class Cone(Mesh):
    _shape = staticmethod(lambda scale: {"cone": {"radius_m": max(scale[:2]), "height_m": 2 * scale[2]}})


class Torus(Sphere):
    pass


class Empty(Mesh):
    _shape = None


class Coordsys(Empty):
    pass


class Spot(Empty):
    def __init__(self, name=None, lamp_type="SPOT"):
        Empty.__init__(self, name)
        note("lamps of the scene are `world.sun`, or robots with a light")


class Camera(Empty):
    pass


class Zone(AbstractComponent):
    def __init__(self, type):
        AbstractComponent.__init__(self)
        self._properties["Type"] = type

    @property
    def size(self):
        return self.scale

    @size.setter
    def size(self, value):
        self.scale = value


# what MORSE's files hold, and what stands for it here
OBJECTS = {"chair": "chair", "table": "table", "sofa": "sofa", "bed": "bed", "shelf": "shelf", "tree": "tree", "lamp": "lamp",
           "house": "house", "container": "container"}


class PassiveObject(AbstractComponent):
    def __init__(self, filename="props/objects", prefix=None, keep_pose=False):
        AbstractComponent.__init__(self, filename=filename)
        self.prefix = prefix or os.path.basename(filename)
        self.graspable = False
        if keep_pose:
            note("the pose of %s in its Blender file is not known here; it stands where it is put" % self.prefix)

    def setgraspable(self):
        self.graspable = True
        self._properties.setdefault("Label", self.name)

    def make_catchable(self):
        self.setgraspable()


# environment ------------------------------------------------------------------------------------------------------------

# MORSE's environments are Blender files; these stand for them
WORLDS = {
    "empty": None,
    "indoors-1/indoor-1": "worlds/indoor_room.yaml",
    "indoors-1/boxes": "worlds/arena.yaml",
    "laas/grande_salle": "worlds/indoor_room.yaml",
    "apartment": "worlds/indoor_room.yaml",
    "apartment2": "worlds/indoor_room.yaml",
    "tum_kitchen/tum_kitchen": "worlds/indoor_room.yaml",
    "sandbox": "worlds/arena.yaml",
    "square": "worlds/arena.yaml",
    "outdoors": "worlds/outdoor.yaml",
    "land-1/trees": "worlds/outdoor.yaml",
    "land-1/buildings": "worlds/outdoor.yaml",
    "land-1/buildings_2": "worlds/outdoor.yaml",
    "land-1/rosace_1": "worlds/rescue.yaml",
    "water": "worlds/harbour.yaml",
}

ENVIRONMENT = []

HARMLESS = {
    "set_camera_location", "set_camera_rotation", "set_camera_clip", "set_camera_speed", "set_camera_focal_length",
    "place_camera", "aim_camera", "show_debug_properties", "show_framerate", "show_physics", "set_material_mode",
    "set_viewport", "set_auto_start", "fullscreen", "set_debug", "set_stereo", "set_animation_record",
    "select_display_camera", "save", "set_background_scene", "use_vsync", "set_mist_settings", "enable_mist",
    "use_internal_syncer", "set_physics_step_sub", "create", "set_log_level",
}


class TimeStrategies(object):
    BestEffort, FixedSimulationStep = range(2)


class Environment(AbstractComponent):
    multinode_distribution = {}

    def __init__(self, filename, main_scene=None, fastmode=False, component_renaming=True, auto_tune_time=True):
        AbstractComponent.__init__(self, filename=filename)
        COMPONENTS.remove(self)
        ENVIRONMENT.append(self)
        frame = sys._getframe(1)
        while frame is not None:
            if os.path.abspath(frame.f_code.co_filename) == SCRIPT and component_renaming:
                name_by_variables(frame)
            frame = frame.f_back
        for robot in [each for each in COMPONENTS if isinstance(each, Robot) and each._default_interface]:
            default_interface(robot, robot._default_interface)
        self.gravity = 9.81
        self.rtf = 1.0
        self.sync = None

    def __getattr__(self, name):
        if name in HARMLESS:
            return lambda *args, **kwargs: note("%s() concerns MORSE's window and has no meaning here" % name)
        return AbstractComponent.__getattr__(self, name)

    def set_gravity(self, gravity=9.81):
        self.gravity = float(gravity)

    def simulator_frequency(self, base_frequency=60, logic_step_max=20, physics_step_max=20, fps=None):
        FREQUENCY[0] = float(fps or base_frequency)

    def set_time_scale(self, slowdown_by=None, accelerate_by=None):
        self.rtf = float(accelerate_by) if accelerate_by else 1.0 / float(slowdown_by)

    def set_time_strategy(self, strategy):
        pass  # steps are always fixed

    def use_relative_time(self, relative_time):
        if not relative_time:
            note("time always begins with 0 here")

    def set_horizon_color(self, color=(0.05, 0.22, 0.4)):
        self._properties["muster_horizon"] = list(color)

    def configure_stream_manager(self, stream_manager, **kwargs):
        if stream_manager != "socket":
            return note("stream manager %r is not spoken here" % stream_manager)
        if kwargs.get("time_sync"):
            self.sync = int(kwargs.get("sync_port", 6000))

    def configure_multinode(self, *args, **kwargs):
        note("one process simulates all of it; there are no nodes here")

    def add_service(self, datastream):
        if datastream != "socket":
            note("services are served by socket only, not by %r" % datastream)

    configure_service = add_service


def default_interface(component, interface):
    for child in component.children:
        if isinstance(child, (SensorCreator, ActuatorCreator)):
            if child._exportable and not any(stream[0] is child for stream in STREAMS):
                child.add_stream(interface)
            child._services.add(interface)
            default_interface(child, interface)


# from what the script said to a scenario --------------------------------------------------------------------------------


def number(value):
    value = round(float(value), 9)
    return int(value) if value == int(value) and abs(value) < 1e15 else value


def place(location, rotation=(0, 0, 0)):
    text = {"xyz_m": [number(each) for each in location]}
    if any(rotation[:2]):
        text["rpy_deg"] = [number(math.degrees(each)) for each in rotation]
    elif rotation[2]:
        text["yaw_deg"] = number(math.degrees(rotation[2]))
    return text


def turn(rotation):
    """The matrix of Euler angles about x, y, z."""
    (sx, cx), (sy, cy), (sz, cz) = [(math.sin(each), math.cos(each)) for each in rotation]
    return [[cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
            [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
            [-sy, cy * sx, cy * cx]]


def times(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


def angles(matrix):
    pitch = math.asin(max(-1.0, min(1.0, -matrix[2][0])))
    return (math.atan2(matrix[2][1], matrix[2][2]), pitch, math.atan2(matrix[1][0], matrix[0][0]))


def mount(component, top):
    """Where a component sits on `top`, through those it is appended to."""
    location, rotation = list(component.location), turn(component.rotation_euler)
    owner = component.__dict__.get("parent")
    while owner is not None and owner is not top:
        outer = turn(owner.rotation_euler)
        location = [owner.location[i] + sum(outer[i][k] * location[k] for k in range(3)) for i in range(3)]
        rotation = times(outer, rotation)
        owner = owner.__dict__.get("parent")
    return place(location, [0.0 if abs(each) < 1e-12 else each for each in angles(rotation)])


MODIFIERS = {"NED": {"kind": "ned"}, "UTM": {"kind": "utm"}, "ECEF": {"kind": "ecef"}, "feet": {"kind": "feet"},
             "geodetic": {"kind": "geodetic"}}


def modifier(component, name, options, at):
    if name in MODIFIERS:
        return dict(MODIFIERS[name])
    if name in ("Noise", "PoseNoise", "IMUNoise"):
        if component._kind == "imu":
            fields = {"accel_mps2": options.get("accel_std", 0.5), "angular_velocity_radps": options.get("gyro_std", 0.05)}
            return [{"kind": "gaussian_noise", "std": std, "fields": [field]} for field, std in fields.items()]
        text = {"kind": "gaussian_noise", "position_std_m": options.get("pos_std", 0.05)}
        if component._kind in ("truth", "odometry"):
            text["rotation_std_rad"] = options.get("rot_std", math.radians(5))
        return text
    sys.stderr.write("%s:%s: note: modifier %r is not known here; %s is not changed\n"
                     % (os.path.basename(SCRIPT), at, name, full_name(component)))
    return None


COORDINATES = {"NED": "ned", "feet": "feet", "UTM": "utm", "ECEF": "ecef", "geodetic": "geodetic"}


class Scenario(object):
    def __init__(self):
        self.text = {"muster": 1}
        self.ports = {}
        self.compounds = {}
        self.next_port = 60000

    def port(self, component):
        """Ports in the order in which streams were added, or as they were asked for."""
        if not self.ports:
            for each, interface, options, _ in STREAMS:
                if interface != "socket" or id(each) in self.ports:
                    continue
                if "port" in options:
                    self.ports[id(each)] = int(options["port"])
                else:
                    self.ports[id(each)] = self.next_port
                    self.next_port += 1
        return self.ports.get(id(component))

    def build(self):
        env = ENVIRONMENT[-1] if ENVIRONMENT else None
        if env is None:
            sys.stderr.write("%s: note: no Environment is made; the world is empty\n" % os.path.basename(SCRIPT))
        robots = [each for each in COMPONENTS if isinstance(each, Robot) and "parent" not in each.__dict__]
        unique_names(robots)
        self.text["about"] = "Made of MORSE's builder script %s." % os.path.basename(SCRIPT)
        self.text["world"] = self.world(env)
        self.text["run"] = {"for_s": 1e9, "rtf": number(env.rtf if env else 1.0), "window_ms": 20}
        self.text["robots"] = [self.robot(each) for each in robots]
        self.text["robots"] += [self.load(each) for each in COMPONENTS if isinstance(each, PassiveObject) and each.graspable]
        settings = {"environment": env.filename if env else "empty"}
        if env is not None and env.sync:
            settings["lock_step"] = {"port": env.sync, "rate_hz": number(FREQUENCY[0])}
        if self.compounds:
            settings["compounds"] = self.compounds
        self.text["links"] = {"socket": settings}
        return self.text

    # the world

    def world(self, env):
        text = {}
        if env is None:
            return text
        name = env.filename.replace(".blend", "")
        if name not in WORLDS:
            sys.stderr.write("%s:%s: note: environment %r is a Blender file, which cannot be read; the world is empty\n"
                             % (os.path.basename(SCRIPT), env.at_line, name))
        elif WORLDS[name]:
            text["include"] = WORLDS[name]
            sys.stderr.write("%s:%s: note: environment %r is a Blender file; %s stands for it\n"
                             % (os.path.basename(SCRIPT), env.at_line, name, WORLDS[name]))
        get = env._properties.get
        if env.gravity != 9.81:
            text["gravity_mps2"] = [0, 0, number(-env.gravity)]
        # MORSE's origin is at sea level unless the script says otherwise
        text["origin"] = {"latitude_deg": number(get("latitude", 0)), "longitude_deg": number(get("longitude", 0)),
                          "altitude_m": number(get("altitude", 0))}
        if get("muster_horizon"):
            text["sky"] = {"horizon": get("muster_horizon")}
        unused = set(env._properties) - {"latitude", "longitude", "altitude", "muster_horizon"}
        for key in sorted(unused):
            sys.stderr.write("%s: note: property %s of the environment has no meaning here\n" % (os.path.basename(SCRIPT), key))
        self.things(text)
        return text

    def things(self, text):
        obstacles, objects, zones, fires = {}, {}, {}, {}
        for at, each in enumerate(COMPONENTS):
            if "parent" in each.__dict__:
                continue
            key = "%s_%d" % (each.name, at)
            tags = [tag for tag in ("Object", "Fire", "Graspable") if each._properties.get(tag)]
            if isinstance(each, Zone):
                zones[key] = {"box_size_m": [2 * number(side) for side in each.scale], "at": place(each.location),
                              "purposes": [str(each._properties["Type"]).lower()]}
            elif isinstance(each, Mesh) and each._shape:
                obstacles[key] = dict(each._shape([number(side) for side in each.scale]), at=place(each.location, each.rotation_euler))
                if tags:
                    obstacles[key]["tags"] = tags
            elif isinstance(each, PassiveObject) and not each.graspable:
                kind = next((ours for theirs, ours in OBJECTS.items() if theirs in each.prefix.lower()), None)
                if kind:
                    objects[key] = {"kind": kind, "at": place(each.location, each.rotation_euler), "tags": tags}
                else:
                    obstacles[key] = {"box_size_m": [0.5, 0.5, 0.5], "at": place(each.location, each.rotation_euler), "tags": tags}
                    sys.stderr.write("%s:%s: note: %s is in a Blender file, which cannot be read; a box of half a metre stands "
                                     "for it\n" % (os.path.basename(SCRIPT), each.at_line, each.prefix))
            if each._properties.get("Fire"):
                fires[key] = {"at": place(each.location), "temperature_k": number(each._properties.get("Fire_Temperature", 200))}
        for name, things in (("obstacles", obstacles), ("objects", objects), ("zones", zones), ("fires", fires)):
            if things:
                text[name] = things

    def load(self, thing):
        """Something that can be grasped has a mass."""
        return {"name": thing.name, "kind": "crate_box", "at": place(thing.location, thing.rotation_euler),
                "tags": ["graspable", "Object"]}

    # robots

    def robot(self, robot):
        text = {"name": robot.name}
        base = robot._text(robot) if robot._text else None
        if base is None:
            raise MorseBuilderError("found robot %s without a model, expected one of %s" % (robot.name, ", ".join(sorted(ROBOT_CLASSES))))
        if robot._about:
            sys.stderr.write("%s:%s: note: %s\n" % (os.path.basename(SCRIPT), robot.at_line, robot._about))
        text.update(base)
        location = list(robot.location)
        if robot._rest_m is not None:
            location[2] = robot._rest_m
            env = ENVIRONMENT[-1] if ENVIRONMENT else None
            if env is not None and WORLDS.get(env.filename):
                text["on_terrain"] = True
        text["at"] = place(location, robot.rotation_euler)
        tags = list(text.get("tags", [])) + ["Robot_Tag"]
        # whatever a script marks a robot with, sensors may look for
        tags += sorted(key for key, value in robot._properties.items() if value is True and not key.startswith("muster_"))
        text["tags"] = tags
        if robot._properties.get("muster_no_collision"):
            text["shape"] = {"none": True}
            text.pop("parts", None)
        colour = robot._properties.get("muster_colour")
        if colour and "body" in text.get("parts", {}):
            text["parts"]["body"]["skin"] = {"colour": colour}
        self.components(robot, text)
        return text

    def components(self, robot, text):
        parts = list(descend(robot))
        self.motion(robot, text, parts)
        sensors, actuators, links = dict(text.get("sensors", {})), {}, [{"to": "socket", "class": type(robot).__name__}]
        names = {}
        for component in parts:
            if isinstance(component, CompoundSensor):
                continue
            if not isinstance(component, (SensorCreator, ActuatorCreator)):
                continue
            block = component.block()
            if block is None:
                continue
            name = "_".join(chain(component)[1:])
            names[id(component)] = name
            if isinstance(component, SensorCreator):
                sensors[name] = self.sensor(robot, component, block)
            else:
                actuators[name] = block
            self.unused(component)
            links += self.links(robot, component, name)
        for component in parts:
            if isinstance(component, CompoundSensor):
                self.compound(robot, component, names)
        for key, value in (("sensors", sensors), ("actuators", actuators), ("links", links)):
            if value:
                text[key] = value

    def motion(self, robot, text, parts):
        """What the robot needs for its actuators."""
        slides = any(isinstance(each, (MotionXYW, Destination)) for each in parts)
        if slides and text.get("motion", {}).get("kind") == "differential":
            text["motion"] = {"kind": "point", "rate_hz": 500, "speed_max_mps": 20, "turn_max_radps": 20}
        goes = [each for each in parts if getattr(each, "_needs_goto", None)]
        if any(isinstance(each, (Keyboard, Joystick)) for each in parts):
            text["driver"] = {"kind": "keyboard"}
            if goes:
                raise MorseBuilderError("found a keyboard beside %s on %s, expected one driver" % (goes[0].name, robot.name))
        if goes:
            by = goes[0]._needs_goto
            speed = float(goes[0]._properties.get("Speed", 1.0))
            driver = {"kind": "goto", "by": by, "speed_mps": number(speed), "brake_mps2": 1000, "turn_max_radps": 2,
                      "pose": "_truth"}
            text["driver"] = driver
            sensors = dict(text.get("sensors", {}))
            sensors.setdefault("_truth", {"kind": "truth", "rate_hz": 100})
            text["sensors"] = sensors
        if any(isinstance(each, PTU) for each in parts):
            ptu = next(each for each in parts if isinstance(each, PTU))
            text["include"] = "mounts/pan_tilt.yaml"
            speed = number(math.degrees(float(ptu._properties.get("Speed", 1.0))))
            servo = {"rate_max_degps": speed, "accel_max_degps2": 1e6, "range_deg": [-180, 180]}
            text["frames"] = {"pan": dict(servo, at=mount(ptu, robot)), "tilt": dict(servo)}
        if any(isinstance(each, Light) for each in parts):
            text["light"] = {}
        if any(isinstance(each, ForceTorque) for each in parts) and text.get("motion", {}).get("kind") != "single_body":
            text["motion"] = {"kind": "single_body", "rate_hz": 1000, "mass_kg": robot.mass or 1.0}
            text.pop("controller", None)

    def sensor(self, robot, component, block):
        rate = component._frequency or FREQUENCY[0]
        text = dict(block, rate_hz=number(rate))
        owner = component.__dict__.get("parent")
        if isinstance(owner, PTU):
            text["frame"] = "view"
            at = place(component.location, component.rotation_euler)
        else:
            at = mount(component, robot)
        if at != {"xyz_m": [0, 0, 0]}:
            text["at"] = at
        changed = []
        for name, options, where in component._modifiers:
            made = modifier(component, name, options, where)
            changed += made if isinstance(made, list) else [made] if made else []
        if changed:
            text["modifiers"] = changed
        return text

    def unused(self, component):
        known = component.used() | {"Object", "Graspable", "Label", "Type", "ComputationMode", "muster_colour"}
        for key in sorted(set(component._properties) - known):
            sys.stderr.write("%s:%s: note: property %s of %s has no meaning here\n"
                             % (os.path.basename(SCRIPT), component.at_line, key, full_name(component)))

    def links(self, robot, component, name):
        links = []
        path = ".".join(chain(component)[1:])
        streams = [stream for stream in STREAMS if stream[0] is component]
        named = {} if path == name else {"name": path}
        coordinates = {}
        if isinstance(component, ActuatorCreator):
            for modifier_name, _, where in component._modifiers:
                if modifier_name in COORDINATES:
                    coordinates = {"coordinates": COORDINATES[modifier_name]}
                else:
                    modifier(component, modifier_name, {}, where)
        socket = [stream for stream in streams if stream[1] == "socket"]
        text = {"channel": name, "to": "socket"}
        text.update(named)
        text.update(coordinates)
        if socket:
            text["port"] = self.port(component)
        else:
            text["stream"] = False
        links.append(text)
        for _, interface, options, at in streams:
            if interface == "text":
                links.append({"channel": name, "to": "text"})
            elif interface != "socket":
                sys.stderr.write("%s:%s: note: %s is not spoken here: %s has no stream there\n"
                                 % (os.path.basename(SCRIPT), at, interface, full_name(component)))
        return links

    def compound(self, robot, component, names):
        members = [names[id(each)] for each in component.sensors if id(each) in names]
        text = {"sensors": members}
        port = self.port(component)
        if port:
            text["port"] = port
        self.compounds[full_name(component)] = text


def descend(component):
    for child in component.children:
        yield child
        for each in descend(child):
            yield each


def unique_names(robots):
    taken = set()
    for robot in robots:
        base, count = robot.name, 0
        while robot.name in taken:
            count += 1
            robot.basename = "%s_%03d" % (base, count)
        taken.add(robot.name)
        unique_children(robot)


def unique_children(component):
    taken = set()
    for child in component.children:
        if isinstance(child, (SensorCreator, ActuatorCreator)):
            base, count = child.name, 0
            while child.name in taken:
                count += 1
                child.basename = "%s_%03d" % (base, count)
            taken.add(child.name)
            unique_children(child)


# writing ----------------------------------------------------------------------------------------------------------------


def flow(value):
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (key_text(key), flow(each)) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(flow(each) for each in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    return json.dumps(str(value))


def key_text(key):
    return key if key.replace("_", "a").isalnum() else json.dumps(key)


def block(value, indent):
    """YAML: what fits a line is written in one."""
    pad = "  " * indent
    out = []
    if isinstance(value, dict):
        for key, each in value.items():
            text = flow(each)
            if not isinstance(each, (dict, list)) or len(text) + len(pad) + len(key) < 100 or not each:
                out.append("%s%s: %s" % (pad, key_text(key), text))
            else:
                out.append("%s%s:" % (pad, key_text(key)))
                out += block(each, indent + 1)
    else:
        for each in value:
            text = flow(each)
            if not isinstance(each, dict) or len(text) + len(pad) < 100:
                out.append("%s- %s" % (pad, text))
            else:
                inner = block(each, indent + 1)
                out.append(pad + "- " + inner[0].lstrip())
                out += inner[1:]
    return out


# the package the script sees --------------------------------------------------------------------------------------------


class Blender(types.ModuleType):
    """What scripts reach into Blender with."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise MorseBuilderError("found %s.%s, which reaches into Blender; expected only the builder's own classes"
                                % (self.__name__, name))


def install():
    names = {name: value for name, value in globals().items()
             if isinstance(value, type) and not name.startswith("_") and name not in ("Scenario", "Vector", "Blender")}
    names.update(math=math, bpymorse=Blender("bpymorse"), TimeStrategies=TimeStrategies)

    def module(path):
        made = types.ModuleType(path)
        made.__dict__.update(names)
        made.__all__ = list(names)
        made.__path__ = []
        sys.modules[path] = made
        if "." in path:
            parent, name = path.rsplit(".", 1)
            setattr(sys.modules[parent], name, made)
        return made

    for path in ("morse", "morse.builder", "morse.builder.sensors", "morse.builder.actuators", "morse.builder.robots",
                 "morse.builder.robots.morserobots", "morse.builder.robots.human", "morse.builder.robots.pr2",
                 "morse.builder.environment", "morse.builder.morsebuilder", "morse.builder.abstractcomponent",
                 "morse.builder.blenderobjects", "morse.builder.creator", "morse.builder.bpymorse", "morse.core",
                 "morse.core.morse_time", "morse.core.exceptions", "morse.testing", "morse.testing.testing"):
        module(path)
    sys.modules["morse.builder.bpymorse"] = sys.modules["morse.builder"].bpymorse = names["bpymorse"]
    sys.modules["bpy"] = Blender("bpy")
    # MORSE's own tests are builder scripts too: their classes are made, but not run
    case = type("MorseTestCase", (object,), {})
    for name in ("MorseTestCase", "MorseMoveTestCase", "MorseBuilderFailureTestCase", "MorseTestRunner"):
        setattr(sys.modules["morse.testing.testing"], name, case)


def main(arguments):
    global SCRIPT
    if not arguments:
        sys.stderr.write("usage: morse_shim.py SCRIPT.py [ARGUMENTS]\n")
        return 2
    SCRIPT = os.path.abspath(arguments[0])
    out, sys.stdout = sys.stdout, sys.stderr
    sys.argv = list(arguments)
    sys.path.insert(0, os.path.dirname(SCRIPT))
    install()
    try:
        runpy.run_path(SCRIPT, run_name="__morse__")
        text = Scenario().build()
    except MorseBuilderError as error:
        sys.stderr.write("%s:%s: error: %s\n" % (os.path.basename(SCRIPT), last_line(), error))
        return 3
    except Exception as error:
        import traceback
        traceback.print_exc()
        sys.stderr.write("%s:%s: error: %s: %s\n" % (os.path.basename(SCRIPT), last_line(), type(error).__name__, error))
        return 3
    finally:
        sys.stdout = out
    out.write("\n".join(block(text, 0)) + "\n")
    return 0


def last_line():
    """The line of the script in which an error happened."""
    trace = sys.exc_info()[2]
    found = 0
    while trace is not None:
        if os.path.abspath(trace.tb_frame.f_code.co_filename) == SCRIPT:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
