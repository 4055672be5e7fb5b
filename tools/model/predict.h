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
#include "tools/model/output_file.h"

namespace weir::tools {

struct Predictions {
  int64_t row_count = 0;  // those with a probability
  int64_t malformed_count = 0;
  std::vector<std::string> problems;     // the first few malformed lines
  int64_t labelled_count = 0;            // rows with a label that the model's config knows
  std::optional<eval::Metrics> metrics;  // of these, when there are any
};

// Reads `in` as the model's config says, but that labels may miss or be unknown, and writes `out`:
// a header, then each line that holds a row, or should, and its probability, comma-separated;
// nothing stands in the place of a probability that is not to be had. Fails, and finishes no `out`,
// when the file cannot be read, a larger share of it is malformed than allowed, or it is
// interrupted. in: a file, or what gives its rows once, such as a pipe; "-" is standard input.
Result<Predictions> Predict(LoadedModel* model, const std::string& in, double max_malformed_share,
                            const std::atomic<bool>& interrupted, OutputFile* out);

}  // namespace weir::tools
