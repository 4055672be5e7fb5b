// weir-predict: the probabilities that a saved model gives to the rows of a file.
//
// Thread rule: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/eval/metrics.h"
#include "tools/model/loaded_model.h"

namespace weir::tools {

struct Predictions {
  int64_t row_count = 0;
  int64_t malformed_count = 0;
  std::vector<std::string> problems;     // the first few malformed lines
  std::optional<eval::Metrics> metrics;  // when every row has a label
};

// Reads `in` as the model's config says, but that labels may miss, and writes `out`: a header, then
// the line of each row and its probability, comma-separated. Fails, and leaves no `out`, when the
// file cannot be read, more of it is malformed than data.max_malformed_share allows, or it is
// interrupted.
Result<Predictions> Predict(LoadedModel* model, const std::string& in, const std::string& out,
                            const std::atomic<bool>& interrupted);

}  // namespace weir::tools
