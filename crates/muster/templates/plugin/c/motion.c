/* A motion: a slider that follows its input along the x axis of the world. */
#include "muster_plugin.h"
#include <math.h>
#include <stdlib.h>

typedef struct {
  double speed_max_mps;
} Slider;

static int32_t configure(void *self, const MusterConfig *config) {
  ((Slider *)self)->speed_max_mps = muster_number(config, "speed_max_mps");
  return MUSTER_OK;
}

static double speed_max_mps(void *self) { return ((Slider *)self)->speed_max_mps; }

static int32_t start(void *self, MusterAdvance *advance, uint32_t lane) {
  (void)self;
  advance->columns[advance->inputs * MUSTER_LANES + lane] = 1;
  return MUSTER_OK;
}

static int32_t advance(void *self, MusterAdvance *advance) {
  const double most_mps = ((Slider *)self)->speed_max_mps;
  const double *input = advance->columns + advance->inputs * MUSTER_LANES;
  double *x = advance->columns + MUSTER_POSITION * MUSTER_LANES;
  double *vx = advance->columns + MUSTER_VELOCITY * MUSTER_LANES;
  for (uint32_t lane = 0; lane < advance->call.lanes; lane++) {
    vx[lane] = fmax(-most_mps, fmin(most_mps, input[lane]));
    x[lane] += vx[lane] * advance->dt_s;
  }
  return MUSTER_OK;
}

static const MusterField fields[] = {
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "speed_max_mps", .doc = "How fast at most.",
     .fallback = "2", .min = 0, .max = 100},
};

static const MusterQuantity inputs[] = {{.size = sizeof(MusterQuantity), .count = 1, .name = "slide_mps"}};

static const MusterKind kind = {
    .size = sizeof(MusterKind),
    .family = MUSTER_MOTION,
    .name = "@name@",
    .doc = "Slides along the x axis of the world.",
    .fields = fields,
    .inputs = inputs,
    .field_count = 1,
    .input_count = 1,
    .flags = MUSTER_REPEATABLE,
    .configure = configure,
    .speed_max_mps = speed_max_mps,
    .start_motion = start,
    .advance = advance,
};

const MusterPlugin *muster_plugin(void) {
  static const MusterPlugin plugin = {sizeof(MusterPlugin), MUSTER_ABI, "@name@", "0.1.0", "A motion of my own.", &kind, 1};
  return &plugin;
}

void *muster_create(uint32_t which, const MusterHost *host) {
  (void)which, (void)host;
  return calloc(1, sizeof(Slider));
}

void muster_destroy(uint32_t which, void *self) {
  (void)which;
  free(self);
}
