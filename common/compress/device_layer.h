// A layer that a device selects from.
//
// Place in the life of a batch: backward -> threshold -> residual += gradient -> **select**.
// Thread rule: a value; what it names outlives it.
#pragma once

#include <cstdint>
#include <string>

#include "common/compress/device_selectable.h"

namespace weir::compress {

struct DeviceLayer {
  std::string name;
  const Policy* policy = nullptr;
  PolicyState* state = nullptr;
  const Scope* scope = nullptr;
  int64_t offset = 0;           // in flat buffers
  bool must_be_finite = false;  // its gradient is looked at: a bias's

  // Of layers that agree with nobody.
  const DeviceSelectable& selectable() const { return *policy->on_device(); }
};

}  // namespace weir::compress
