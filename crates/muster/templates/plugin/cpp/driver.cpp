// A driver: walks to and fro along its heading.
#include "muster_plugin.h"

namespace {

struct ToAndFro {
  double speed_mps = 0, turn_after_s = 0;

  void configure(const MusterConfig &config) {
    speed_mps = muster_number(&config, "speed_mps");
    turn_after_s = muster_number(&config, "turn_after_s");
  }

  // Called once for all robots of a chunk; throws what goes wrong.
  void step(MusterControl &control) const {
    double *left_s = control.state, *direction = control.state + MUSTER_LANES;
    MUSTER_EACH(lane, control.due) {
      left_s[lane] -= control.period_s;
      if (left_s[lane] <= 0) {
        left_s[lane] += turn_after_s;
        direction[lane] *= -1;
      }
      control.mode[lane] = MUSTER_SETPOINT_VELOCITY;
      control.setpoint[lane] = direction[lane] * speed_mps;
    }
  }
};

ToAndFro &me(void *self) { return *static_cast<ToAndFro *>(self); }

const MusterField fields[] = {
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "speed_mps", .doc = "How fast.",
     .fallback = "0.5", .min = 0, .max = 5},
    {.size = sizeof(MusterField), .type = MUSTER_NUMBER, .name = "turn_after_s", .doc = "Turns back after so long.",
     .fallback = "2", .min = 0.1, .max = 1000},
};

const MusterQuantity state[] = {{sizeof(MusterQuantity), 1, "left_s"}, {sizeof(MusterQuantity), 1, "direction"}};

const MusterKind kind = {
    .size = sizeof(MusterKind),
    .family = MUSTER_DRIVER,
    .name = "@name@",
    .doc = "Walks to and fro.",
    .fields = fields,
    .state = state,
    .field_count = 2,
    .state_count = 2,
    .flags = MUSTER_REPEATABLE,
    .rate_hz = 20,
    .configure = [](void *self, const MusterConfig *config) {
      return muster::guarded(config->call, [&] { me(self).configure(*config); });
    },
    .start_driver = [](void *self, MusterControl *control, uint32_t lane) -> int32_t {
      control->state[lane] = me(self).turn_after_s;
      control->state[MUSTER_LANES + lane] = 1;
      return MUSTER_OK;
    },
    .step = [](void *self, MusterControl *control) {
      return muster::guarded(control->call, [&] { me(self).step(*control); });
    },
};

}  // namespace

const MusterPlugin *muster_plugin(void) {
  static const MusterPlugin plugin = {sizeof(MusterPlugin), MUSTER_ABI, "@name@", "0.1.0", "A driver of my own.", &kind, 1};
  return &plugin;
}

void *muster_create(uint32_t, const MusterHost *) { return new ToAndFro; }

void muster_destroy(uint32_t, void *self) { delete static_cast<ToAndFro *>(self); }
