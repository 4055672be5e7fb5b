// What flags call a device: "cpu", or "cuda:" and the number of a card.
//
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace weir::device {

struct DeviceName {
  bool is_cuda = false;
  int number = 0;  // of the card
};

// InvalidData, saying what there is, for anything else.
Result<DeviceName> ParseDeviceName(std::string_view text);

// "24GiB", "800MiB"; empty: 0. InvalidData for anything else.
Result<size_t> ParseMemorySize(std::string_view text);

}  // namespace weir::device
