// A sensor that looks at the world: how far it is to what is ahead, and to the nearest other robot.
#include "muster_plugin.h"
#include <algorithm>
#include <cmath>

namespace {

struct Ahead {
  double range_max_m = 0;

  void look(MusterLook &look) const {
    const double *p = look.pose, *q = look.pose + 3;
    // the x axis of the sensor in the world
    const double ahead[3] = {1 - 2 * (q[1] * q[1] + q[2] * q[2]), 2 * (q[0] * q[1] + q[3] * q[2]),
                             2 * (q[0] * q[2] - q[3] * q[1])};
    MusterHit hit = {};
    hit.size = sizeof hit;
    look.call.host->cast(&look.call, p, ahead, range_max_m, &hit);
    double nearest_m = range_max_m;
    for (uint64_t robot = 0; robot < look.robots; robot++) {
      auto bytes = reinterpret_cast<const char *>(look.positions_m) + robot * look.stride;
      auto other = reinterpret_cast<const double *>(bytes);
      if (robot != look.robot)
        nearest_m = std::min(nearest_m, std::hypot(other[0] - p[0], other[1] - p[1], other[2] - p[2]));
    }
    look.sample[0] = std::min(hit.distance_m, range_max_m);
    look.sample[1] = nearest_m;
    look.count = 2;
  }
};

Ahead &me(void *self) { return *static_cast<Ahead *>(self); }

const MusterField fields[] = {
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "range_max_m", .doc = "How far it sees.",
     .fallback = "10", .min = 0.1, .max = 1000},
};

const MusterQuantity sample[] = {{sizeof(MusterQuantity), 1, "ahead_m"}, {sizeof(MusterQuantity), 1, "nearest_m"}};

const MusterKind kind = {
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
    .configure = [](void *self, const MusterConfig *config) -> int32_t {
      me(self).range_max_m = muster_number(config, "range_max_m");
      return MUSTER_OK;
    },
    .look = [](void *self, MusterLook *look) {
      return muster::guarded(look->call, [&] { me(self).look(*look); });
    },
};

}  // namespace

const MusterPlugin *muster_plugin(void) {
  static const MusterPlugin plugin = {sizeof(MusterPlugin), MUSTER_ABI, "@name@", "0.1.0", "A sensor of my own.", &kind, 1};
  return &plugin;
}

void *muster_create(uint32_t, const MusterHost *) { return new Ahead; }

void muster_destroy(uint32_t, void *self) { delete static_cast<Ahead *>(self); }
