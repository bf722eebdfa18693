// A sensor on a robot: how far it has come, with the noise of a cheap counter.
#include "muster_plugin.h"
#include <cmath>

namespace {

struct Odometer {
  double noise_m = 0;

  void measure(MusterMeasure &measure) const {
    const double *velocity = measure.truth + MUSTER_VELOCITY * MUSTER_LANES;
    for (uint32_t lane = 0; lane < measure.call.lanes; lane++) {
      double vx = velocity[lane], vy = velocity[MUSTER_LANES + lane], vz = velocity[2 * MUSTER_LANES + lane];
      double four[4];
      measure.call.host->normals(measure.streams[lane], measure.index, 0, four);
      measure.state[lane] += std::sqrt(vx * vx + vy * vy + vz * vz) * measure.period_s;
      measure.sample[lane] = measure.state[lane] + noise_m * four[0];
    }
  }
};

Odometer &me(void *self) { return *static_cast<Odometer *>(self); }

const MusterField fields[] = {
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "noise_m", .doc = "Standard deviation of a sample.",
     .fallback = "0.01", .min = 0, .max = 10},
};

const MusterQuantity state[] = {{sizeof(MusterQuantity), 1, "travelled_m"}};
const MusterQuantity sample[] = {{sizeof(MusterQuantity), 1, "distance_m"}};

const MusterKind kind = {
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
    .configure = [](void *self, const MusterConfig *config) -> int32_t {
      me(self).noise_m = muster_number(config, "noise_m");
      return MUSTER_OK;
    },
    .measure = [](void *self, MusterMeasure *measure) {
      return muster::guarded(measure->call, [&] { me(self).measure(*measure); });
    },
};

}  // namespace

const MusterPlugin *muster_plugin(void) {
  static const MusterPlugin plugin = {sizeof(MusterPlugin), MUSTER_ABI, "@name@", "0.1.0", "A sensor of my own.", &kind, 1};
  return &plugin;
}

void *muster_create(uint32_t, const MusterHost *) { return new Odometer; }

void muster_destroy(uint32_t, void *self) { delete static_cast<Odometer *>(self); }
