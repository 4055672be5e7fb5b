// What a process keeps on disk, behind an interface: so that a test can have a disk that fills up,
// fails, or forgets what was not synced. Only what state that outlives a process needs.
//
// What was appended outlives the process at once, and the machine once it was synced; so does a
// file's name, or its new one, once its folder was synced.
//
// Thread rule: any thread; a file is its owner's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace weir {

// A file that is written from its beginning. Unavailable where it cannot be written; then what it
// holds is not known.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  // One behind the other.
  virtual Status Append(std::span<const ByteSpan> parts) = 0;
  virtual Status Sync() = 0;
};

// The claim of a process on a folder, until it goes or the process ends.
class FolderClaim {
 public:
  virtual ~FolderClaim() = default;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Replaces what is there.
  virtual Result<std::unique_ptr<WritableFile>> Create(const std::string& path) = 0;
  // So many bytes from `offset` on, fewer at the end.
  virtual Result<Bytes> Read(const std::string& path, uint64_t offset, uint64_t byte_count) = 0;
  virtual Result<uint64_t> Size(const std::string& path) = 0;
  // Replaces what is there.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // Of a file, or an empty folder. OK where there is none.
  virtual Status Remove(const std::string& path) = 0;
  // OK where it is there; its parent is.
  virtual Status MakeFolder(const std::string& path) = 0;
  // What a process before this one has written there.
  virtual Status SyncFile(const std::string& path) = 0;
  virtual Status SyncFolder(const std::string& path) = 0;
  // Names in it, in their order.
  virtual Result<std::vector<std::string>> List(const std::string& folder) = 0;
  // FailedPrecondition where another process has it.
  virtual Result<std::unique_ptr<FolderClaim>> Claim(const std::string& folder) = 0;

  // The machine's.
  static FileSystem& Real();
};

}  // namespace weir
