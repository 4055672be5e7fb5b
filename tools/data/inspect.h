// weir-data inspect: what a file of rows holds, and a config that trains on it.
//
// The config is tried before it is shown: checked as a run checks it, and the first rows read with
// it by the reader that training has, whose count of malformed lines is told. What cannot be read
// is refused with the reason and what to do.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "common/base/status.h"

namespace weir::tools {

struct InspectOptions {
  std::string path;
  std::string test_path = "";  // rows to test on; empty: none
  std::string label = "";      // the column to predict; empty: to be found
  std::string out = "";        // where the config goes; empty: to standard output alone
  int64_t line_limit = 0;  // lines that are looked at; 0: all of a click log, 100,000 of the others
};

// Tells a Criteo click log, libsvm, libffm and comma-separated values apart, by the first lines,
// and prints what the file holds, how the config reads it, the config, between marks, and what to
// run next. Writes no file that is there already, nor one of a config that reads nothing.
Status Inspect(const InspectOptions& options, std::ostream& out);

}  // namespace weir::tools
