// The records of one file, one after the other, as far as they are whole.
//
// Place in the life of a batch: none; when a server is started anew.
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/file_system.h"
#include "common/base/status.h"
#include "common/log/record.h"

namespace weir::log {

class RecordReader {
 public:
  static Result<RecordReader> Open(FileSystem& files, const std::string& path);

  // The next record, where it is whole and has this number; else nothing, and what is there stays.
  Result<std::optional<Record>> Next(uint64_t number);

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  // Where the next record is.
  uint64_t offset() const { return offset_; }
  // What is there up to the end.
  Result<Bytes> Rest() const { return files_->Read(path_, offset_, size_ - offset_); }
  // "/a/log-1.weir at byte 40: what".
  Status Damaged(const std::string& what) const;

 private:
  RecordReader(FileSystem& files, std::string path, uint64_t size)
      : files_(&files), path_(std::move(path)), size_(size) {}

  // So many bytes from the offset on, fewer at the end.
  Result<ByteSpan> Look(uint64_t byte_count);

  FileSystem* files_;
  std::string path_;
  uint64_t size_ = 0, offset_ = 0;
  Bytes block_;  // from block_offset_ on
  uint64_t block_offset_ = 0;
};

}  // namespace weir::log
