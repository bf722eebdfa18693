/* A modifier: adds a drift that grows with every sample. */
#include "muster_plugin.h"
#include <stdlib.h>

typedef struct {
  double per_s;
} Drift;

static int32_t configure(void *self, const MusterConfig *config) {
  ((Drift *)self)->per_s = muster_number(config, "per_s");
  return MUSTER_OK;
}

static int32_t modify(void *self, MusterSample *sample) {
  sample->memory[0] += ((Drift *)self)->per_s * sample->period_s;
  if (sample->count > 0) sample->values[0] += sample->memory[0];
  return MUSTER_OK;
}

static const MusterField fields[] = {
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "per_s", .doc = "By how much a second.",
     .fallback = "0.1"},
};

static const MusterQuantity memory[] = {{.size = sizeof(MusterQuantity), .count = 1, .name = "drift"}};

static const MusterKind kind = {
    .size = sizeof(MusterKind),
    .family = MUSTER_MODIFIER,
    .name = "@name@",
    .doc = "Adds a drift to the first number of every sample.",
    .fields = fields,
    .state = memory,
    .field_count = 1,
    .state_count = 1,
    .flags = MUSTER_REPEATABLE,
    .configure = configure,
    .modify = modify,
};

const MusterPlugin *muster_plugin(void) {
  static const MusterPlugin plugin = {sizeof(MusterPlugin), MUSTER_ABI, "@name@", "0.1.0", "A modifier of my own.", &kind, 1};
  return &plugin;
}

void *muster_create(uint32_t which, const MusterHost *host) {
  (void)which, (void)host;
  return calloc(1, sizeof(Drift));
}

void muster_destroy(uint32_t which, void *self) {
  (void)which;
  free(self);
}
