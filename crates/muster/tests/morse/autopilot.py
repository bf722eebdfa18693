"""A builder script as ArduPilot's examples have them: one stream of all sensors, one of commands."""
from morse.builder import *

vehicle = ATRV()
vehicle.properties(Object=True, Graspable=False, Label="Vehicle")

pose = Pose()
vehicle.append(pose)
imu = IMU()
vehicle.append(imu)
gps = GPS()
vehicle.append(gps)
velocity = Velocity()
vehicle.append(velocity)

everything = CompoundSensor([imu, gps, velocity, pose])
everything.add_stream('socket')
vehicle.append(everything)

motion = MotionVW()
motion.add_stream('socket')
vehicle.append(motion)

env = Environment('empty')
