// The files of a log in its folder: each has the records from a number on, which is its name.
//
// Place in the life of a batch: push -> number -> **log** -> answer.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/file_system.h"

namespace weir::log {

struct Segment {
  uint64_t first_number = 0;
  std::string path;
};

std::string SegmentPath(const std::string& folder, uint64_t first_number);

// In their order; none where there is no such folder.
Result<std::vector<Segment>> FindSegments(FileSystem& files, const std::string& folder);

}  // namespace weir::log
