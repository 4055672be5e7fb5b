// A snapshot in its file: whose it is, the sections of a cut (shard_cut.h), and what makes them a
// whole. The records are framed as those of a log.
//
// Place in the life of a batch: none; beside all of it, and when a server is started anew.
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/file_system.h"
#include "common/base/status.h"
#include "common/log/record.h"
#include "common/log/segments.h"
#include "common/proto/log.pb.h"
#include "server/shard/cut_summary.h"
#include "server/shard/load_progress.h"
#include "server/shard/shard.h"

namespace weir::server {

// Written aside; it has its name once it is whole and on disk.
class SnapshotWriter {
 public:
  // of: whose it is. last_number: of the log's records that it stands for.
  static Result<std::unique_ptr<SnapshotWriter>> Create(FileSystem& files,
                                                        const std::string& folder,
                                                        uint64_t last_number,
                                                        const v1::LogStart& of);
  Status Append(Bytes section);
  // Once, as the last.
  Status Finish(const CutSummary& summary);
  uint64_t byte_count() const { return byte_count_; }

 private:
  SnapshotWriter(FileSystem& files, std::string folder, std::string path,
                 std::unique_ptr<WritableFile> file)
      : files_(files), folder_(std::move(folder)), path_(std::move(path)), file_(std::move(file)) {}
  Status Put(const v1::LogRecord& record, std::span<const transport::Part> body);

  FileSystem& files_;
  const std::string folder_, path_;
  const std::unique_ptr<WritableFile> file_;
  uint64_t record_count_ = 0, byte_count_ = 0;
};

// Makes a fresh shard what it was then. InvalidData, with file and offset, where the file is
// damaged or not this shard's; then the shard is of no use. progress: hears of each byte.
Status ReadSnapshot(FileSystem& files, const log::Snapshot& snapshot, Shard* shard,
                    LoadProgress* progress);

}  // namespace weir::server
