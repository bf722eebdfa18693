/* A sensor that looks at the world: how far it is to what is ahead, and to the nearest other robot. */
#include "muster_plugin.h"
#include <math.h>
#include <stdlib.h>

typedef struct {
  double range_max_m;
} Ahead;

static int32_t configure(void *self, const MusterConfig *config) {
  ((Ahead *)self)->range_max_m = muster_number(config, "range_max_m");
  return MUSTER_OK;
}

static int32_t look(void *self, MusterLook *look) {
  const Ahead *me = self;
  const double *p = look->pose, *q = look->pose + 3;
  /* the x axis of the sensor in the world */
  double ahead[3] = {1 - 2 * (q[1] * q[1] + q[2] * q[2]), 2 * (q[0] * q[1] + q[3] * q[2]),
                     2 * (q[0] * q[2] - q[3] * q[1])};
  MusterHit hit = {.size = sizeof hit};
  look->call.host->cast(&look->call, p, ahead, me->range_max_m, &hit);
  double nearest_m = me->range_max_m;
  for (uint64_t robot = 0; robot < look->robots; robot++) {
    const double *other = (const double *)((const char *)look->positions_m + robot * look->stride);
    double x = other[0] - p[0], y = other[1] - p[1], z = other[2] - p[2];
    if (robot != look->robot) nearest_m = fmin(nearest_m, sqrt(x * x + y * y + z * z));
  }
  look->sample[0] = fmin(hit.distance_m, me->range_max_m);
  look->sample[1] = nearest_m;
  look->count = 2;
  return MUSTER_OK;
}

static const MusterField fields[] = {
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "range_max_m", .doc = "How far it sees.",
     .fallback = "10", .min = 0.1, .max = 1000},
};

static const MusterQuantity sample[] = {
    {.size = sizeof(MusterQuantity), .count = 1, .name = "ahead_m"},
    {.size = sizeof(MusterQuantity), .count = 1, .name = "nearest_m"},
};

static const MusterKind kind = {
    .size = sizeof(MusterKind),
    .family = MUSTER_LOOK,
    .name = "@name@",
    .doc = "How far it is to what is ahead, and to the nearest robot.",
    .fields = fields,
    .sample = sample,
    .field_count = 1,
    .sample_count = 2,
    .flags = MUSTER_REPEATABLE | MUSTER_SEES_BODIES,
    .rate_hz = 10,
    .configure = configure,
    .look = look,
};

const MusterPlugin *muster_plugin(void) {
  static const MusterPlugin plugin = {sizeof(MusterPlugin), MUSTER_ABI, "@name@", "0.1.0", "A sensor of my own.", &kind, 1};
  return &plugin;
}

void *muster_create(uint32_t which, const MusterHost *host) {
  (void)which, (void)host;
  return calloc(1, sizeof(Ahead));
}

void muster_destroy(uint32_t which, void *self) {
  (void)which;
  free(self);
}
