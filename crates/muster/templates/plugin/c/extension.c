/* An extension: counts windows, and writes the count down at the end. */
#include "muster_plugin.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  unsigned long windows;
} Counter;

static int32_t init(void *self, const MusterCall *call) {
  (void)call;
  ((Counter *)self)->windows = 0;
  return MUSTER_OK;
}

static int32_t window(void *self, MusterWindow *window) {
  Counter *me = self;
  char name[256];
  if (me->windows++ == 0)
    for (uint64_t robot = 0; window->call.host->robot_name(&window->call, robot, name, sizeof name) >= 0; robot++)
      fprintf(stderr, "robot %s\n", name);
  return MUSTER_OK;
}

static void shutdown(void *self) { fprintf(stderr, "%lu windows\n", ((Counter *)self)->windows); }

static const MusterKind kind = {
    .size = sizeof(MusterKind),
    .family = MUSTER_EXTENSION,
    .name = "@name@",
    .doc = "Counts windows.",
    .init = init,
    .shutdown = shutdown,
    .window = window,
};

const MusterPlugin *muster_plugin(void) {
  static const MusterPlugin plugin = {sizeof(MusterPlugin), MUSTER_ABI, "@name@", "0.1.0", "An extension of my own.", &kind, 1};
  return &plugin;
}

void *muster_create(uint32_t which, const MusterHost *host) {
  (void)which, (void)host;
  return calloc(1, sizeof(Counter));
}

void muster_destroy(uint32_t which, void *self) {
  (void)which;
  free(self);
}
