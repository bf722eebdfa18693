/* Plug-ins of muster: everything both sides must agree on.
 *
 * A plug-in is a shared library with three functions, muster_plugin, muster_create and muster_destroy. The first says
 * what kinds of components are in it; the other two make and free one. A component is made for robots that are built
 * alike, and each call serves up to MUSTER_LANES of them: a quantity of theirs is a column, one number a robot.
 *
 * Every struct begins with its size. Within a major version of the interface structs only grow at their ends, so a
 * plug-in built against an older minor version goes on working; another major version is refused.
 *
 * Order of the calls: muster_create, attach, configure; robot_create and start for each robot; step, measure, look,
 * modify or advance; robot_destroy, muster_destroy. Nothing is called after it was freed. Functions that return int32_t
 * return MUSTER_OK or an error; `host->fail` says more. No exception and no longjmp may leave a function.
 *
 * Calls for different robots come from several threads at once, so what is behind `self` must not change in them.
 * Memory belongs in columns (`state`, `integers`): it is then saved, restored and hashed with the rest. What does not
 * fit there is kept robot by robot (robot_create) and saved as bytes. Set MUSTER_REPEATABLE if nothing else is kept.
 *
 * Units are SI; the world is east, north, up; a body has x forward, y left, z up; quaternions are x, y, z, w.
 */
#ifndef MUSTER_PLUGIN_H
#define MUSTER_PLUGIN_H

#include <stdint.h>
#include <string.h>

#define MUSTER_ABI_MAJOR 1u
#define MUSTER_ABI_MINOR 0u
#define MUSTER_ABI ((MUSTER_ABI_MAJOR << 16) | MUSTER_ABI_MINOR)

/* Numbers in a column. */
#define MUSTER_LANES 16
/* Not one robot, but all that are served. */
#define MUSTER_ALL_LANES 0xffffffffu

/* What functions return; modify may also return MUSTER_LOST. */
enum { MUSTER_OK = 0, MUSTER_LOST = 1, MUSTER_FAILED = -1, MUSTER_UNKNOWN = -2, MUSTER_NOT_NOW = -3 };

/* Families of kinds. A sensor knows the robot it is on, a look the whole world. */
enum {
  MUSTER_DRIVER = 1,
  MUSTER_SENSOR = 2,
  MUSTER_LOOK = 3,
  MUSTER_MODIFIER = 4,
  MUSTER_MOTION = 5,
  MUSTER_EXTENSION = 6
};

/* Flags of kinds. */
enum {
  MUSTER_REPEATABLE = 1, /* keeps nothing but columns and what robot_save saves */
  MUSTER_SEES_BODIES = 2, /* a look that casts rays */
  MUSTER_PLANAR = 4, /* a motion on the ground: contacts push its robots sideways only */
  MUSTER_FIXED = 8 /* a motion that nothing pushes: a door, a lift */
};

/* Types of fields. */
enum {
  MUSTER_NUMBER = 1,
  MUSTER_INTEGER = 2,
  MUSTER_BOOL = 3,
  MUSTER_TEXT = 4,
  MUSTER_CHOICE = 5,
  MUSTER_NUMBERS = 6
};

/* Kinds of setpoints and their four numbers. */
#define MUSTER_SETPOINT_NONE 0.0
#define MUSTER_SETPOINT_VELOCITY 1.0 /* forward, left, up in m/s; turn rate in rad/s */
#define MUSTER_SETPOINT_POSITION 2.0 /* x, y, z in m; heading in rad */
#define MUSTER_SETPOINT_COURSE 3.0 /* course in rad, altitude in m, airspeed in m/s */
#define MUSTER_SETPOINT_DIRECT 4.0 /* the inputs are commanded directly */
#define MUSTER_SETPOINT_ATTITUDE 5.0 /* roll and pitch in rad, turn rate in rad/s, thrust in N */
#define MUSTER_SETPOINT_STEER_FORCE 6.0 /* steering angle in rad, driving and braking force in N */

/* First columns of every robot, as sensors and motions see it. */
enum {
  MUSTER_POSITION = 0, /* 3, m, world */
  MUSTER_ORIENTATION = 3, /* 4, world_from_body */
  MUSTER_VELOCITY = 7, /* 3, m/s, world */
  MUSTER_ANGULAR_VELOCITY = 10, /* 3, rad/s, body */
  MUSTER_ACCELERATION = 13, /* 3, m/s2, world; mean over the last tick */
  MUSTER_WIND = 16, /* 3, m/s, world */
  MUSTER_CONTACT_FORCE = 28, /* 3, N, world */
  MUSTER_SETPOINT_MODE = 31,
  MUSTER_SETPOINT = 32, /* 4 */
  MUSTER_BODY_COLUMNS = 36 /* then inputs and state of the motion */
};

typedef struct MusterHost MusterHost;

/* Begins everything a function is called with. */
typedef struct MusterCall {
  uint32_t size; /* of the whole struct that begins here */
  uint32_t lanes; /* how many lanes there are; those beyond hold harmless numbers */
  const MusterHost *host; /* what muster offers */
  const void *inside; /* muster's own */
} MusterCall;

/* A parameter a user may write, as in `driver: {kind: NAME, gain: 2}`. */
typedef struct MusterField {
  uint32_t size;
  uint32_t type;
  const char *name; /* with its unit: speed_mps */
  const char *doc;
  const char *fallback; /* as written in a scenario; NULL if it must be written */
  double min, max; /* limits of numbers; both 0 for none */
  const char *const *words; /* of MUSTER_CHOICE, ends with NULL */
  uint64_t count; /* of MUSTER_NUMBERS: how many; 0 for any */
} MusterField;

/* What a user wrote, or the fallback. */
typedef struct MusterValue {
  uint32_t size;
  uint32_t type;
  const char *name;
  double number; /* of MUSTER_NUMBER and MUSTER_INTEGER */
  int64_t integer; /* of MUSTER_INTEGER and MUSTER_BOOL; of MUSTER_CHOICE which word */
  const char *text; /* of MUSTER_TEXT and MUSTER_CHOICE */
  const double *numbers; /* of MUSTER_NUMBERS */
  uint64_t count;
} MusterValue;

/* All values, in the order of the fields. `call` may be asked for inputs, joints, columns, constants and subscriptions. */
typedef struct MusterConfig {
  MusterCall call;
  const MusterValue *values;
  uint64_t count;
} MusterConfig;

/* A named quantity of `count` columns. */
typedef struct MusterQuantity {
  uint32_t size;
  uint32_t count;
  const char *name;
} MusterQuantity;

/* A sample. Number i is values[i * stride]. The numbers are not copied: all who read a sample see the same address. */
typedef struct MusterReading {
  uint32_t size;
  uint32_t subscription;
  int64_t stamp_ns; /* when it was measured; -1 if there is none yet */
  const double *values;
  uint64_t count;
  uint64_t stride;
} MusterReading;

/* What a driver sees and may change. Column i of a list begins at i * MUSTER_LANES. */
typedef struct MusterControl {
  MusterCall call;
  uint32_t due; /* bit k: lane k is to be commanded */
  uint32_t current; /* set by whoever wants to be blamed for one lane alone: the lane being commanded */
  int64_t time_ns;
  double period_s;
  uint64_t index; /* which call this is, from the start of the simulation */
  double *mode; /* one column */
  double *setpoint; /* four columns */
  double *inputs; /* of the motion */
  double *state; /* the driver's memory */
  int64_t *integers;
  const double *joint_positions; /* rad or m */
  double *joint_commands;
  double *joint_mode; /* one column, 0: commands are positions, 1: rates; NULL without joints */
  const uint64_t *streams; /* keys of random streams, one a lane */
  void *const *robots; /* what robot_create made, one a lane; NULL without it */
  uint32_t input_count, state_count, integer_count, joint_count;
} MusterControl;

/* What a sensor on a robot sees, and the sample it fills. */
typedef struct MusterMeasure {
  MusterCall call;
  int64_t time_ns;
  double period_s;
  uint64_t index;
  const double *truth; /* body columns, inputs and state of the motion */
  double *state;
  double *sample; /* to be filled */
  const double *mount; /* body_from_sensor: x, y, z and a quaternion */
  const double *gravity_mps2; /* 3, world */
  const uint64_t *streams;
  void *const *robots;
  uint32_t truth_count, state_count, sample_count, reserved;
} MusterMeasure;

/* What a sensor that looks at the world sees. Vectors of robot i begin `stride` bytes after those of robot i - 1. */
typedef struct MusterLook {
  MusterCall call;
  int64_t time_ns;
  double period_s;
  uint64_t index;
  uint64_t stream;
  uint64_t robot; /* the one it is on */
  uint64_t robots; /* how many there are */
  uint64_t stride;
  const double *positions_m;
  const double *orientations;
  const double *velocities_mps;
  const double *pose; /* world_from_sensor: x, y, z and a quaternion */
  double *sample; /* to be filled */
  uint64_t capacity;
  uint64_t count; /* set it to how many numbers were filled */
} MusterLook;

/* What a ray met. */
typedef struct MusterHit {
  uint32_t size;
  uint32_t reserved;
  double distance_m; /* infinite if nothing */
  double normal[3]; /* world */
} MusterHit;

/* A sample on its way to those who read it. */
typedef struct MusterSample {
  MusterCall call;
  double *values;
  uint64_t count;
  double *memory; /* what `state` of the kind asks for */
  uint64_t memory_count;
  uint64_t stream;
  uint64_t index;
  int64_t stamp_ns;
  double period_s;
} MusterSample;

/* A tick of a motion. */
typedef struct MusterAdvance {
  MusterCall call;
  int64_t time_ns; /* the end of the tick */
  double dt_s;
  double *columns; /* body columns, inputs, state */
  const double *gravity_mps2; /* 3 */
  uint32_t column_count, inputs, state, reserved; /* where inputs and state begin */
} MusterAdvance;

/* Between two windows. */
typedef struct MusterWindow {
  MusterCall call;
  int64_t time_ns;
} MusterWindow;

/* One kind of component. What its family does not have is 0. */
typedef struct MusterKind {
  uint32_t size;
  uint32_t family;
  const char *name; /* the word after `kind:` */
  const char *doc;
  const MusterField *fields;
  const MusterQuantity *state; /* columns it remembers */
  const MusterQuantity *integers; /* of a driver: columns of integers */
  const MusterQuantity *sample; /* what a sample holds; of a modifier: what it must hold */
  const MusterQuantity *inputs; /* of a motion */
  uint32_t field_count, state_count, integer_count, sample_count, input_count;
  uint32_t flags;
  double rate_hz; /* if the scenario gives none; 0 for 50 */

  int32_t (*attach)(void *self, const MusterCall *robot); /* may be NULL; not of modifiers and extensions */
  int32_t (*configure)(void *self, const MusterConfig *config);
  void *(*robot_create)(void *self, const char *robot); /* memory of one robot; all four or none */
  void (*robot_destroy)(void *self, void *robot);
  uint64_t (*robot_save)(void *self, const void *robot, uint8_t *bytes, uint64_t capacity); /* returns how many there are */
  int32_t (*robot_restore)(void *self, void *robot, const uint8_t *bytes, uint64_t count);

  int32_t (*start_driver)(void *self, MusterControl *control, uint32_t lane);
  int32_t (*step)(void *self, MusterControl *control);
  int32_t (*on_sample)(void *self, MusterControl *control, uint32_t lane, const MusterReading *reading);
  int32_t (*start_sensor)(void *self, MusterMeasure *measure, uint32_t lane);
  int32_t (*measure)(void *self, MusterMeasure *measure);
  uint64_t (*capacity)(void *self, uint64_t robots); /* most numbers of a look; NULL: one record */
  int32_t (*look)(void *self, MusterLook *look);
  int32_t (*modify)(void *self, MusterSample *sample);
  double (*speed_max_mps)(void *self); /* of a motion: no robot is faster */
  int32_t (*start_motion)(void *self, MusterAdvance *advance, uint32_t lane);
  int32_t (*advance)(void *self, MusterAdvance *advance);
  int32_t (*init)(void *self, const MusterCall *call); /* of an extension: before all else */
  void (*shutdown)(void *self); /* after all else */
  void *(*offer)(void *self); /* what others get who ask for it by name */
  int32_t (*window)(void *self, MusterWindow *window);
} MusterKind;

/* What is in a plug-in. The first two members never change. */
typedef struct MusterPlugin {
  uint32_t size;
  uint32_t abi; /* MUSTER_ABI */
  const char *name, *version, *about;
  const MusterKind *kinds;
  uint64_t kind_count;
} MusterPlugin;

/* What muster offers. Names that are not known give MUSTER_UNKNOWN, calls that do not fit MUSTER_NOT_NOW. */
struct MusterHost {
  uint32_t size;
  uint32_t abi;
  /* Says why the function that is being called fails, for one lane or for MUSTER_ALL_LANES. That robot is isolated. */
  void (*fail)(const MusterCall *call, uint32_t lane, const char *text);
  /* Writes a line to the trace log. */
  void (*trace)(const MusterCall *call, const char *text);

  /* While a component is attached and configured: */
  int32_t (*input)(const MusterCall *call, const char *name); /* which input of the motion */
  int32_t (*joint)(const MusterCall *call, const char *name); /* which joint */
  int32_t (*column)(const MusterCall *call, const char *name); /* which column of `truth`: position_m, input.X, motion.X */
  int32_t (*constant)(const MusterCall *call, const char *name, double *value); /* of the motion: mass_kg */
  /* Asks for a sensor, `sensor` of the robot itself or `robot.sensor`, of a kind (NULL for any). Returns the number of the
   * subscription. Unless it is optional, a scenario without that sensor is refused. */
  int32_t (*subscribe)(const MusterCall *call, const char *sensor, const char *kind, uint32_t optional);

  /* While it runs: */
  int32_t (*reading)(const MusterCall *call, uint32_t subscription, uint32_t lane, MusterReading *reading);
  void *(*extension)(const MusterCall *call, const char *name); /* what it offers; NULL if there is none of that name */
  int32_t (*field)(const MusterCall *call, const char *name); /* which number of a sample that is modified */
  int64_t (*find_robot)(const MusterCall *call, const char *name); /* of a look; robots that were there at the start */
  int32_t (*cast)(const MusterCall *call, const double *from_m, const double *direction, double max_m, MusterHit *hit);
  void (*uniforms)(uint64_t stream, uint64_t index, uint32_t draw, double *four); /* from 0 to 1 */
  void (*normals)(uint64_t stream, uint64_t index, uint32_t draw, double *four);

  /* Between windows, for extensions. Properties are `robot.name`; get returns how many numbers there are. */
  int64_t (*get)(const MusterCall *call, const char *property, double *values, uint64_t capacity);
  int32_t (*set)(const MusterCall *call, const char *property, const double *values, uint64_t count);
  int32_t (*ask)(const MusterCall *call, const char *robot, const char *service, const double *numbers, uint64_t count);
  int64_t (*robot_name)(const MusterCall *call, uint64_t robot, char *name, uint64_t capacity); /* returns its length */
};

#if defined(_WIN32)
#define MUSTER_API __declspec(dllexport)
#else
#define MUSTER_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

MUSTER_API const MusterPlugin *muster_plugin(void);
MUSTER_API void *muster_create(uint32_t kind, const MusterHost *host);
MUSTER_API void muster_destroy(uint32_t kind, void *self);

/* The value of a field, or NULL. */
static inline const MusterValue *muster_value(const MusterConfig *config, const char *name) {
  for (uint64_t i = 0; i < config->count; i++)
    if (strcmp(config->values[i].name, name) == 0) return &config->values[i];
  return 0;
}

/* The number of a field; 0 for a field that does not exist. */
static inline double muster_number(const MusterConfig *config, const char *name) {
  const MusterValue *value = muster_value(config, name);
  return value ? value->number : 0.0;
}

#ifdef __cplusplus
} /* extern "C" */

#include <exception>

namespace muster {
/* Runs work, and tells muster of an exception instead of letting it out. */
template <class Work>
int32_t guarded(const MusterCall &call, Work work) {
  try {
    work();
    return MUSTER_OK;
  } catch (const std::exception &error) {
    call.host->fail(&call, MUSTER_ALL_LANES, error.what());
  } catch (...) {
    call.host->fail(&call, MUSTER_ALL_LANES, "threw something that is no std::exception");
  }
  return MUSTER_FAILED;
}
} /* namespace muster */
#endif

/* Goes through the lanes of a set of bits. */
#define MUSTER_EACH(lane, bits) \
  for (uint32_t lane = 0; lane < MUSTER_LANES; lane++) \
    if ((bits) & (1u << lane))

#endif
