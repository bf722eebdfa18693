// A sensor in C++ that looks at the world: distance and bearing of another robot, by name, as a radio beacon tells them.
#include "muster_plugin.h"
#include <cmath>
#include <stdexcept>
#include <string>

namespace {

struct Bearing {
  std::string target;
  double range_max_m = 0;

  void configure(const MusterConfig &config) {
    target = muster_value(&config, "target")->text;
    range_max_m = muster_number(&config, "range_max_m");
    if (target.empty()) throw std::invalid_argument("found no target, expected the name of a robot");
  }

  // One record if the target is in range, none if it is not.
  void look(MusterLook &look) const {
    const int64_t robot = look.call.host->find_robot(&look.call, target.c_str());
    if (robot < 0) return;  // it is not there (any more)
    auto bytes = reinterpret_cast<const char *>(look.positions_m) + robot * static_cast<int64_t>(look.stride);
    auto other = reinterpret_cast<const double *>(bytes);
    const double *p = look.pose, *q = look.pose + 3;
    const double east = other[0] - p[0], north = other[1] - p[1];
    const double distance_m = std::hypot(east, north);
    if (distance_m > range_max_m) return;
    const double yaw = std::atan2(2 * (q[3] * q[2] + q[0] * q[1]), 1 - 2 * (q[1] * q[1] + q[2] * q[2]));
    look.sample[0] = distance_m;
    look.sample[1] = std::remainder(std::atan2(north, east) - yaw, 2 * M_PI);
    look.count = 2;
  }
};

Bearing &me(void *self) { return *static_cast<Bearing *>(self); }

const MusterField fields[] = {
    {.size = sizeof(MusterField), .type = MUSTER_TEXT, .name = "target", .doc = "Name of the robot it listens to."},
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "range_max_m", .doc = "How far it hears.",
     .fallback = "100", .min = 0, .max = 1e6},
};

const MusterQuantity sample[] = {{sizeof(MusterQuantity), 1, "distance_m"}, {sizeof(MusterQuantity), 1, "bearing_rad"}};

const MusterKind kind = {
    .size = sizeof(MusterKind),
    .family = MUSTER_LOOK,
    .name = "bearing",
    .doc = "Distance and bearing of another robot.",
    .fields = fields,
    .sample = sample,
    .field_count = 2,
    .sample_count = 2,
    .flags = MUSTER_REPEATABLE,
    .rate_hz = 10,
    .configure = [](void *self, const MusterConfig *config) {
      return muster::guarded(config->call, [&] { me(self).configure(*config); });
    },
    .look = [](void *self, MusterLook *look) {
      return muster::guarded(look->call, [&] { me(self).look(*look); });
    },
};

}  // namespace

const MusterPlugin *muster_plugin(void) {
  static const MusterPlugin plugin = {sizeof(MusterPlugin), MUSTER_ABI, "bearing", "1.0.0", "A radio beacon.", &kind, 1};
  return &plugin;
}

void *muster_create(uint32_t, const MusterHost *) { return new Bearing; }

void muster_destroy(uint32_t, void *self) { delete static_cast<Bearing *>(self); }
