"""A builder script as MORSE's users write them: a rover with sensors and actuators on sockets."""
from morse.builder import *

robot = ATRV()

pose = Pose()
pose.add_stream('socket')
pose.frequency(60)
robot.append(pose)

gps = GPS()
gps.level('raw')
gps.add_interface('socket')
robot.append(gps)

sick = Sick()
sick.translate(x=0.5, z=0.2)
sick.add_interface('socket')
robot.append(sick)

camera = VideoCamera()
camera.translate(x=0.5, z=0.5)
camera.properties(cam_width=64, cam_height=48)
camera.frequency(5)
camera.add_interface('socket')
robot.append(camera)

motion = MotionVW()
motion.add_interface('socket')
robot.append(motion)

way = Waypoint()
way.add_interface('socket')
robot.append(way)

teleport = Teleport()
teleport.add_interface('socket')
robot.append(teleport)

other = ATRV()
other.translate(x=20.0)
near = Proximity()
near.add_interface('socket')
other.append(near)

env = Environment('empty', fastmode=True)
env.properties(longitude=43.6, latitude=1.4333, altitude=135.0)
env.set_camera_location([10.0, -10.0, 10.0])
