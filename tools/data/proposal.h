// What inspect proposes for a file: a whole config, what it says beside it, and what becomes of the
// file when it is read so.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "tools/data/run_proposal.h"
#include "worker/data/reader.h"

namespace weir::tools {

struct Proposal {
  v1::Config config;
  // Of data.csv: what stands behind a column, by its name.
  std::map<std::string, std::string> comments;
  DataSize size;
};

// As a config file has it: a column in a line. Reads back the same.
std::string ProposalText(const Proposal& proposal);

// What the reader makes of a split's first line_limit lines, or of a chunk more.
struct Reading {
  int64_t line_count = 0;  // looked at
  int64_t malformed_count = 0;
  std::string first_problem;  // "file:line: what is wrong"
};

// As training reads it. InvalidData when the config does not hold what the data needs, or the
// reader refuses a file.
Result<Reading> TryReading(const Proposal& proposal, data::Split split, int64_t line_limit);

// "with it 3 of 1000 lines are malformed, the first: ...".
std::string Told(const Reading& reading);

// Lines of a file, up to `most` of them, whatever they hold.
Result<int64_t> CountLines(const std::string& path, int64_t most);

}  // namespace weir::tools
