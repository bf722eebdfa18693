/* A sensor on a robot: how far it has come, with the noise of a cheap counter. */
#include "muster_plugin.h"
#include <math.h>
#include <stdlib.h>

typedef struct {
  double noise_m;
} Odometer;

static int32_t configure(void *self, const MusterConfig *config) {
  ((Odometer *)self)->noise_m = muster_number(config, "noise_m");
  return MUSTER_OK;
}

static int32_t measure(void *self, MusterMeasure *measure) {
  const Odometer *me = self;
  const double *velocity = measure->truth + MUSTER_VELOCITY * MUSTER_LANES;
  for (uint32_t lane = 0; lane < measure->call.lanes; lane++) {
    double vx = velocity[lane], vy = velocity[MUSTER_LANES + lane], vz = velocity[2 * MUSTER_LANES + lane];
    double four[4];
    measure->call.host->normals(measure->streams[lane], measure->index, 0, four);
    measure->state[lane] += sqrt(vx * vx + vy * vy + vz * vz) * measure->period_s;
    measure->sample[lane] = measure->state[lane] + me->noise_m * four[0];
  }
  return MUSTER_OK;
}

static const MusterField fields[] = {
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "noise_m", .doc = "Standard deviation of a sample.",
     .fallback = "0.01", .min = 0, .max = 10},
};

static const MusterQuantity state[] = {{.size = sizeof(MusterQuantity), .count = 1, .name = "travelled_m"}};
static const MusterQuantity sample[] = {{.size = sizeof(MusterQuantity), .count = 1, .name = "distance_m"}};

static const MusterKind kind = {
    .size = sizeof(MusterKind),
    .family = MUSTER_SENSOR,
    .name = "@name@",
    .doc = "How far the robot has come.",
    .fields = fields,
    .state = state,
    .sample = sample,
    .field_count = 1,
    .state_count = 1,
    .sample_count = 1,
    .flags = MUSTER_REPEATABLE,
    .rate_hz = 10,
    .configure = configure,
    .measure = measure,
};

const MusterPlugin *muster_plugin(void) {
  static const MusterPlugin plugin = {sizeof(MusterPlugin), MUSTER_ABI, "@name@", "0.1.0", "A sensor of my own.", &kind, 1};
  return &plugin;
}

void *muster_create(uint32_t which, const MusterHost *host) {
  (void)which, (void)host;
  return calloc(1, sizeof(Odometer));
}

void muster_destroy(uint32_t which, void *self) {
  (void)which;
  free(self);
}
