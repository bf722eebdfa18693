/* A driver in C: drives in circles. */
#include "muster_plugin.h"
#include <stdlib.h>

typedef struct {
  double speed_mps, radius_m;
} Circle;

static int32_t configure(void *self, const MusterConfig *config) {
  Circle *me = self;
  me->speed_mps = muster_number(config, "speed_mps");
  me->radius_m = muster_number(config, "radius_m");
  return MUSTER_OK;
}

/* Called once for up to 16 robots: setpoint 0 is the speed ahead, setpoint 3 the turn rate. */
static int32_t step(void *self, MusterControl *control) {
  const Circle *me = self;
  MUSTER_EACH(lane, control->due) {
    control->mode[lane] = MUSTER_SETPOINT_VELOCITY;
    control->setpoint[lane] = me->speed_mps;
    control->setpoint[3 * MUSTER_LANES + lane] = me->speed_mps / me->radius_m;
  }
  return MUSTER_OK;
}

static const MusterField fields[] = {
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "speed_mps", .doc = "How fast.", .fallback = "0.5",
     .min = 0, .max = 10},
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "radius_m", .doc = "How wide.", .fallback = "1",
     .min = 0.1, .max = 1000},
};

static const MusterKind kind = {
    .size = sizeof(MusterKind), .family = MUSTER_DRIVER, .name = "circle", .doc = "Drives in circles.",
    .fields = fields, .field_count = 2, .flags = MUSTER_REPEATABLE, .configure = configure, .step = step,
};

const MusterPlugin *muster_plugin(void) {
  static const MusterPlugin plugin = {sizeof(MusterPlugin), MUSTER_ABI, "circle", "1.0.0", "Circles.", &kind, 1};
  return &plugin;
}

void *muster_create(uint32_t which, const MusterHost *host) {
  (void)which, (void)host;
  return malloc(sizeof(Circle));
}

void muster_destroy(uint32_t which, void *self) {
  (void)which;
  free(self);
}
