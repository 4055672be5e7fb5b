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
#include <utility>
#include <vector>

#include "common/base/file_system.h"
#include "common/base/status.h"
#include "common/log/record_reader.h"
#include "common/log/segments.h"

namespace weir::log {

class LogReader {
 public:
  // From this record on, which may be the one behind the last. NotFound where there is no log,
  // InvalidData where it begins behind the record.
  static Result<LogReader> Open(FileSystem& files, const std::string& folder,
                                uint64_t first_number = 1);

  // The next record; nothing at the end. InvalidData, with file and offset, where it is damaged.
  Result<std::optional<Record>> Next();

  // Of the file that is read, and where its next record is.
  const std::string& path() const { return file_.path(); }
  uint64_t offset() const { return file_.offset(); }

  // That the log goes on with.
  uint64_t next_number() const { return next_number_; }
  // At the end: bytes that were begun and are left out.
  uint64_t torn_bytes() const { return torn_bytes_; }
  // Of all files, and what of them was read.
  uint64_t total_bytes() const { return total_bytes_; }
  uint64_t read_bytes() const {
    return segments_.empty() ? done_bytes_ : done_bytes_ + file_.offset();
  }

 private:
  LogReader(FileSystem& files, std::vector<Segment> segments, RecordReader file)
      : files_(&files),
        segments_(std::move(segments)),
        file_(std::move(file)),
        next_number_(segments_.front().first_number) {}

  Status SkipTo(uint64_t number);
  // The current file holds no more whole records: whether the log may go on without what is left.
  Status LeaveFile();
  Status CheckTorn() const;

  FileSystem* files_;
  std::vector<Segment> segments_;  // the current one first
  RecordReader file_;
  uint64_t next_number_;
  uint64_t torn_bytes_ = 0, total_bytes_ = 0, done_bytes_ = 0;
};

}  // namespace weir::log
