"""A builder script in lock step: ten steps a second, each let go by whoever is connected to the port."""
from morse.builder import *

robot = Morsy()

clock = Clock()
clock.add_stream('socket')
robot.append(clock)

env = Environment('empty')
env.simulator_frequency(10)
env.configure_stream_manager('socket', time_sync=True, sync_port=6000)
