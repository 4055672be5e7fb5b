// How to train on data of a size: the model, the update rule and the epochs, as what learns well
// without being tuned.
//
// Thread rule: pure functions, any thread.
#pragma once

#include <cstdint>

#include "common/proto/config.pb.h"

namespace weir::tools {

struct DataSize {
  int64_t row_count = 1;    // to train on, at least one; those that were counted
  bool is_whole = true;     // there are no more
  int64_t value_count = 0;  // different values of all tables together
  bool has_numbers = false;
};

// Fills in model, update, and what of data says how often rows are seen. The more rows, the larger
// the model; the fewer rows a value has, the fewer epochs, for rows of tables are learned by heart
// soon. Where all rows are counted the learning rate falls to 0 over them; else one epoch, by rules
// that need no end.
void ProposeRun(const DataSize& size, v1::Config* config);

}  // namespace weir::tools
