// The files of a log in its folder: each has the records from a number on, which is its name; and
// snapshots, which stand for all records up to one.
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

struct Snapshot {
  uint64_t last_number = 0;
  std::string path;
};

std::string SnapshotPath(const std::string& folder, uint64_t last_number);
Result<std::vector<Snapshot>> FindSnapshots(FileSystem& files, const std::string& folder);

// While it is written; what is left of one that was not finished is of no use.
std::string PartialPath(const std::string& path);
bool IsPartial(const std::string& name);

// Keeps the last so many snapshots, and the log behind the first of these; removes the others.
Status RemoveOld(FileSystem& files, const std::string& folder, size_t kept_snapshots);

}  // namespace weir::log
