// A motion: a slider that follows its input along the x axis of the world.
#include "muster_plugin.h"
#include <algorithm>

namespace {

struct Slider {
  double speed_max_mps = 0;

  void advance(MusterAdvance &advance) const {
    const double *input = advance.columns + advance.inputs * MUSTER_LANES;
    double *x = advance.columns + MUSTER_POSITION * MUSTER_LANES;
    double *vx = advance.columns + MUSTER_VELOCITY * MUSTER_LANES;
    for (uint32_t lane = 0; lane < advance.call.lanes; lane++) {
      vx[lane] = std::clamp(input[lane], -speed_max_mps, speed_max_mps);
      x[lane] += vx[lane] * advance.dt_s;
    }
  }
};

Slider &me(void *self) { return *static_cast<Slider *>(self); }

const MusterField fields[] = {
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "speed_max_mps", .doc = "How fast at most.",
     .fallback = "2", .min = 0, .max = 100},
};

const MusterQuantity inputs[] = {{sizeof(MusterQuantity), 1, "slide_mps"}};

const MusterKind kind = {
    .size = sizeof(MusterKind),
    .family = MUSTER_MOTION,
    .name = "@name@",
    .doc = "Slides along the x axis of the world.",
    .fields = fields,
    .inputs = inputs,
    .field_count = 1,
    .input_count = 1,
    .flags = MUSTER_REPEATABLE,
    .configure = [](void *self, const MusterConfig *config) -> int32_t {
      me(self).speed_max_mps = muster_number(config, "speed_max_mps");
      return MUSTER_OK;
    },
    .speed_max_mps = [](void *self) { return me(self).speed_max_mps; },
    .start_motion = [](void *, MusterAdvance *advance, uint32_t lane) -> int32_t {
      advance->columns[advance->inputs * MUSTER_LANES + lane] = 1;
      return MUSTER_OK;
    },
    .advance = [](void *self, MusterAdvance *advance) {
      return muster::guarded(advance->call, [&] { me(self).advance(*advance); });
    },
};

}  // namespace

const MusterPlugin *muster_plugin(void) {
  static const MusterPlugin plugin = {sizeof(MusterPlugin), MUSTER_ABI, "@name@", "0.1.0", "A motion of my own.", &kind, 1};
  return &plugin;
}

void *muster_create(uint32_t, const MusterHost *) { return new Slider; }

void muster_destroy(uint32_t, void *self) { delete static_cast<Slider *>(self); }
