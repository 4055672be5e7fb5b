// Which column of a file says what to predict, and which of its values mean yes.
//
// Thread rule: pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "tools/data/csv_sample.h"

namespace weir::tools {

using ValueCounts = std::map<std::string, int64_t, std::less<>>;

struct LabelSides {
  std::vector<std::string> positive, negative;
  std::string reason;  // why these are positive
};

// Of numbers the larger one, or the top of a scale, is positive; of two texts the one that usually
// means yes, else the rarer one. Stray words among two numbers, one in a
// hundred at most, are on neither side: readers count their rows as malformed. InvalidData, naming
// `where` the labels are, when they have no two sides, or are measures rather than labels.
Result<LabelSides> DivideLabels(const std::string& where, const ValueCounts& values);

struct LabelColumn {
  size_t column = 0;
  std::string reason;  // why it is the label
};

// A column of the name that a label has, if its values may be labels; else the last or the first
// one with two values, else another with two. name: the column to take; empty: to be found.
// InvalidData when there is none.
Result<LabelColumn> FindLabel(const std::string& path, const CsvSample& sample,
                              const std::string& name);

}  // namespace weir::tools
