#include "worker/data/chunk_lines.h"

#include <limits>

#include "common/base/strings.h"

namespace weir::data {

Result<int64_t> FirstLine(const ChunkId& chunk, int32_t file_count, int64_t lines_per_chunk) {
  const char* split = chunk.split == Split::kTrain ? "train" : "test";
  if (chunk.file < 0 || chunk.file >= file_count) {
    return InvalidData(StrCat("chunk of file ", chunk.file, " of data.", split, ", which has ",
                              file_count, " files; do all processes have the same config?"));
  }
  // The lines after the last one must be countable too.
  const int64_t chunk_limit = std::numeric_limits<int64_t>::max() / lines_per_chunk - 1;
  if (chunk.chunk < 0 || chunk.chunk > chunk_limit) {
    return InvalidData(
        StrCat("chunk ", chunk.chunk, " of data.", split, " is outside [0, ", chunk_limit, "]"));
  }
  return chunk.chunk * lines_per_chunk;
}

}  // namespace weir::data
