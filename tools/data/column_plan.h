// What a column of a text file becomes: a number, a table, or nothing, and why.
//
// Thread rule: pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>

#include "tools/data/column_sample.h"

namespace weir::tools {

struct ColumnPlan {
  enum class Kind {
    kLeftOut,
    kNumber,   // dense, standardised
    kCount,    // dense, of very different sizes: its logarithm
    kHashed,   // a table, by the hash of a value
    kInteger,  // a table, by the whole number itself
    kHour,     // a table, by the last two digits
    kList,     // a table of several values in a field
  };

  bool is_table() const { return kind >= Kind::kHashed; }

  Kind kind = Kind::kLeftOut;
  std::string reason;  // for whoever looks the proposal over
  // Of a table; of numbers that come again often, of one beside the number, else 0.
  int64_t rows = 0;
  std::string separator = "";  // of a list
  std::string missing = "";    // a word among numbers, to be taken for a missing one
};

// Times are told by their looks, row numbers by never coming again, ids of things by their names or
// by standing close together. The column has a name.
ColumnPlan PlanColumn(const ColumnSample& column);

// A round number, a hundred times as many as values: so few hashed values share a row, and a row
// that no value has takes no memory.
int64_t RowsForHashes(int64_t value_count);

// The next 1, 2 or 5 with zeros from `least` on, at most what a config allows.
int64_t RoundRows(int64_t least);

}  // namespace weir::tools
