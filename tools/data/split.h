// weir-data split: a file of rows as two, one to train on and one to test with.
//
// Rows are read one after the other and written as they are, Windows' newlines included, in their
// order; a header goes to both files, and a record whose quotes hide newlines to one of them,
// whole. Memory does not grow with the file.
//
// Thread rule: any thread.
#pragma once

#include <atomic>
#include <ostream>
#include <string>

#include "common/base/status.h"

namespace weir::tools {

struct SplitOptions {
  std::string path;
  double test_share = 0.1;  // of the rows; between 0 and 1
  // Rows with one value of this column stay together, and that share of the values is tested with;
  // empty: rows are chosen one by one, always the same of the same file.
  std::string by = "";
  bool last = false;  // the last rows of the file
  const std::atomic<bool>* interrupted = nullptr;
};

// Where the parts go: beside the file, compressed if it is called so.
struct SplitNames {
  explicit SplitNames(const std::string& path);

  std::string train, test;
};

// Tells the names and how many rows each part has. Writes nothing unless both are whole, have rows,
// and were not there.
Status Split(const SplitOptions& options, std::ostream& out);

}  // namespace weir::tools
