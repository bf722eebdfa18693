// A modifier: adds a drift that grows with every sample.
#include "muster_plugin.h"

namespace {

struct Drift {
  double per_s = 0;

  void modify(MusterSample &sample) const {
    sample.memory[0] += per_s * sample.period_s;
    if (sample.count > 0) sample.values[0] += sample.memory[0];
  }
};

Drift &me(void *self) { return *static_cast<Drift *>(self); }

const MusterField fields[] = {
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "per_s", .doc = "By how much a second.",
     .fallback = "0.1"},
};

const MusterQuantity memory[] = {{sizeof(MusterQuantity), 1, "drift"}};

const MusterKind kind = {
    .size = sizeof(MusterKind),
    .family = MUSTER_MODIFIER,
    .name = "@name@",
    .doc = "Adds a drift to the first number of every sample.",
    .fields = fields,
    .state = memory,
    .field_count = 1,
    .state_count = 1,
    .flags = MUSTER_REPEATABLE,
    .configure = [](void *self, const MusterConfig *config) -> int32_t {
      me(self).per_s = muster_number(config, "per_s");
      return MUSTER_OK;
    },
    .modify = [](void *self, MusterSample *sample) {
      return muster::guarded(sample->call, [&] { me(self).modify(*sample); });
    },
};

}  // namespace

const MusterPlugin *muster_plugin(void) {
  static const MusterPlugin plugin = {sizeof(MusterPlugin), MUSTER_ABI, "@name@", "0.1.0", "A modifier of my own.", &kind, 1};
  return &plugin;
}

void *muster_create(uint32_t, const MusterHost *) { return new Drift; }

void muster_destroy(uint32_t, void *self) { delete static_cast<Drift *>(self); }
