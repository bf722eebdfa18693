/* Plug-ins that must be refused, each by a definition of its own; and, without any, one that works. */
#include "muster_plugin.h"
#include <stdlib.h>

#ifdef WRONG_ABI
#define VERSION ((MUSTER_ABI_MAJOR + 1) << 16)
#else
#define VERSION MUSTER_ABI
#endif

#ifdef SMALL_TABLE
#define PLUGIN_SIZE 12
#else
#define PLUGIN_SIZE sizeof(MusterPlugin)
#endif

#ifdef NO_SIZE
#define KIND_SIZE 0
#else
#define KIND_SIZE sizeof(MusterKind)
#endif

#ifdef BAD_NAME
#define NAME "bad name!"
#elif defined(TAKEN_NAME)
#define NAME "waypoints"
#else
#define NAME "broken"
#endif

#ifdef BAD_FALLBACK
#define FALLBACK "many"
#else
#define FALLBACK "1"
#endif

static int32_t configure(void *self, const MusterConfig *config) {
  (void)self;
  if (muster_number(config, "gain") < 0) {
    config->call.host->fail(&config->call, MUSTER_ALL_LANES, "found a negative gain");
    return MUSTER_FAILED;
  }
  return MUSTER_OK;
}

static int32_t step(void *self, MusterControl *control) {
  (void)self, (void)control;
#ifdef FAILS
  return 17;
#else
  return MUSTER_OK;
#endif
}

static const MusterField fields[] = {
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "gain", .doc = "A number.", .fallback = FALLBACK},
};

static const MusterKind kind = {
    .size = KIND_SIZE, .family = MUSTER_DRIVER, .name = NAME, .doc = "For tests.", .fields = fields,
    .field_count = 1, .configure = configure,
#ifndef NO_STEP
    .step = step,
#endif
};

const MusterPlugin *muster_plugin(void) {
  static const MusterPlugin plugin = {PLUGIN_SIZE, VERSION, "broken", "0", "For tests.", &kind, 1};
  (void)step;
  return &plugin;
}

void *muster_create(uint32_t which, const MusterHost *host) {
  (void)which, (void)host;
#ifdef MAKES_NOTHING
  return 0;
#else
  return malloc(1);
#endif
}

#ifndef NO_DESTROY
void muster_destroy(uint32_t which, void *self) {
  (void)which;
  free(self);
}
#endif
