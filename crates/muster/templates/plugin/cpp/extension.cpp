// An extension: counts windows, and writes the count down at the end.
#include "muster_plugin.h"
#include <iostream>

namespace {

struct Counter {
  unsigned long windows = 0;

  void window(MusterWindow &window) {
    char name[256];
    if (windows++ == 0)
      for (uint64_t robot = 0; window.call.host->robot_name(&window.call, robot, name, sizeof name) >= 0; robot++)
        std::cerr << "robot " << name << '\n';
  }
};

Counter &me(void *self) { return *static_cast<Counter *>(self); }

const MusterKind kind = {
    .size = sizeof(MusterKind),
    .family = MUSTER_EXTENSION,
    .name = "@name@",
    .doc = "Counts windows.",
    .init = [](void *, const MusterCall *) -> int32_t { return MUSTER_OK; },
    .shutdown = [](void *self) { std::cerr << me(self).windows << " windows\n"; },
    .window = [](void *self, MusterWindow *window) {
      return muster::guarded(window->call, [&] { me(self).window(*window); });
    },
};

}  // namespace

const MusterPlugin *muster_plugin(void) {
  static const MusterPlugin plugin = {sizeof(MusterPlugin), MUSTER_ABI, "@name@", "0.1.0", "An extension of my own.", &kind, 1};
  return &plugin;
}

void *muster_create(uint32_t, const MusterHost *) { return new Counter; }

void muster_destroy(uint32_t, void *self) { delete static_cast<Counter *>(self); }
