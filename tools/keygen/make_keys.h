// Makes the keys of a run's processes, and changes them while it goes on.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace weir::tools {

struct KeysToMake {
  uint32_t servers = 0, trainers = 0, stages = 1;  // of each trainer
  // All secrets belong into the folder: whose is not there gets another key.
  bool mends = false;
  // Names of those that have one.
  std::vector<std::string> replace = {}, remove = {};
};

// In that folder, which is made if it is not there. Who has a key keeps it, unless it is to have
// another. Says what it does.
Status MakeKeys(const std::string& folder, const KeysToMake& wanted, std::ostream& out);

}  // namespace weir::tools
