// Reads a log, record after record, and tells what was only begun when its writer ended from what
// is damaged: a record that is not whole, behind which there is none that knew of it, was never
// promised to anybody. It, and what is behind it, is as if it had not been written.
//
// Place in the life of a batch: none; when a server is started anew.
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/file_system.h"
#include "common/base/status.h"
#include "common/log/record.h"
#include "common/log/segments.h"

namespace weir::log {

class LogReader {
 public:
  // From the file on that has this record. NotFound where there is no log, InvalidData where the
  // record is in none of its files.
  static Result<LogReader> Open(FileSystem& files, const std::string& folder,
                                uint64_t first_number = 1);

  // The next record; nothing at the end. InvalidData, with file and offset, where it is damaged.
  Result<std::optional<Record>> Next();

  // That the log goes on with.
  uint64_t next_number() const { return next_number_; }
  // At the end: bytes that were begun and are left out.
  uint64_t torn_bytes() const { return torn_bytes_; }
  // Of all files, and what of them was read.
  uint64_t total_bytes() const { return total_bytes_; }
  uint64_t read_bytes() const { return done_bytes_ + offset_; }

 private:
  LogReader(FileSystem& files, std::vector<Segment> segments);
  Status BeginFile();

  // So many bytes of the current file from the offset on, fewer at its end.
  Result<ByteSpan> Look(uint64_t byte_count);
  Result<std::optional<Record>> ReadHere();
  // The current file holds no more whole records: whether the log may go on without what is left.
  Status LeaveFile();
  Status CheckTorn();
  Status Damaged(const std::string& what) const;

  FileSystem* files_;
  std::vector<Segment> segments_;  // the current one first
  uint64_t next_number_;
  uint64_t size_ = 0;    // of the current file
  uint64_t offset_ = 0;  // in it
  Bytes block_;          // of it, from block_offset_ on
  uint64_t block_offset_ = 0;
  uint64_t torn_bytes_ = 0, total_bytes_ = 0, done_bytes_ = 0;
};

}  // namespace weir::log
