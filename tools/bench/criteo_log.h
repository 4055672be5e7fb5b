// A made-up Criteo log in a folder of its own: the synthetic set's counts, its ids hashed to 32
// bits as Criteo's are. What the section read reads.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "tools/bench/temporary_folder.h"
#include "worker/data/reader.h"

namespace weir::bench {

inline constexpr int64_t kLogBatchRows = 512;
inline constexpr const char* kPlainLog = "log.tsv";
inline constexpr const char* kPackedLog = "log.tsv.gz";

v1::Config LogConfig(const std::string& path);
Status WriteLog(const std::string& path, int64_t row_count);
// That every id and label is read as WriteLog wrote it; dense features are tested by themselves.
Status VerifyLog(const std::string& path, int64_t row_count);

struct Log {
  TemporaryFolder folder;
  int64_t row_count = 0;
  std::string plain, packed;  // contents
};
// Both files, verified to be read as they were written.
Result<Log> MakeLog(int64_t row_count);

// Calls visit(block) for each chunk of the file, in order. Returns the rows of it.
template <typename Visit>
Result<int64_t> ForEachChunk(data::Reader& reader, data::RowBlock* block, Visit&& visit) {
  int64_t rows = 0;
  for (data::ChunkId chunk;; ++chunk.chunk) {
    WEIR_ASSIGN_OR_RETURN(const data::ChunkResult result, reader.ReadChunk(chunk, block));
    if (!block->malformed.empty()) return Internal(result.problems.front());
    rows += block->row_count();
    visit(*block);
    if (result.end_of_file) return rows;
  }
}

}  // namespace weir::bench
