/* A driver: walks to and fro along its heading. */
#include "muster_plugin.h"
#include <stdlib.h>

typedef struct {
  double speed_mps, turn_after_s;
} ToAndFro;

/* Columns of the driver's state. */
enum { LEFT_S = 0, DIRECTION = MUSTER_LANES };

static int32_t configure(void *self, const MusterConfig *config) {
  ToAndFro *me = self;
  me->speed_mps = muster_number(config, "speed_mps");
  me->turn_after_s = muster_number(config, "turn_after_s");
  return MUSTER_OK;
}

static int32_t start(void *self, MusterControl *control, uint32_t lane) {
  control->state[LEFT_S + lane] = ((ToAndFro *)self)->turn_after_s;
  control->state[DIRECTION + lane] = 1;
  return MUSTER_OK;
}

/* Called once for all robots of a chunk. */
static int32_t step(void *self, MusterControl *control) {
  const ToAndFro *me = self;
  MUSTER_EACH(lane, control->due) {
    control->state[LEFT_S + lane] -= control->period_s;
    if (control->state[LEFT_S + lane] <= 0) {
      control->state[LEFT_S + lane] += me->turn_after_s;
      control->state[DIRECTION + lane] *= -1;
    }
    control->mode[lane] = MUSTER_SETPOINT_VELOCITY;
    control->setpoint[lane] = control->state[DIRECTION + lane] * me->speed_mps;
  }
  return MUSTER_OK;
}

static const MusterField fields[] = {
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "speed_mps", .doc = "How fast.",
     .fallback = "0.5", .min = 0, .max = 5},
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "turn_after_s", .doc = "Turns back after so long.",
     .fallback = "2", .min = 0.1, .max = 1000},
};

static const MusterQuantity state[] = {
    {.size = sizeof(MusterQuantity), .count = 1, .name = "left_s"},
    {.size = sizeof(MusterQuantity), .count = 1, .name = "direction"},
};

static const MusterKind kind = {
    .size = sizeof(MusterKind),
    .family = MUSTER_DRIVER,
    .name = "@name@",
    .doc = "Walks to and fro.",
    .fields = fields,
    .state = state,
    .field_count = 2,
    .state_count = 2,
    .flags = MUSTER_REPEATABLE,
    .rate_hz = 20,
    .configure = configure,
    .start_driver = start,
    .step = step,
};

const MusterPlugin *muster_plugin(void) {
  static const MusterPlugin plugin = {sizeof(MusterPlugin), MUSTER_ABI, "@name@", "0.1.0", "A driver of my own.", &kind, 1};
  return &plugin;
}

void *muster_create(uint32_t which, const MusterHost *host) {
  (void)which, (void)host;
  return calloc(1, sizeof(ToAndFro));
}

void muster_destroy(uint32_t which, void *self) {
  (void)which;
  free(self);
}
