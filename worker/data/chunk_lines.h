// Which lines a chunk is, and whether there can be such a chunk: its numbers came over the network.
//
// Thread rule: pure function.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "worker/data/reader.h"

namespace weir::data {

// The chunk's first line, counted from 0. InvalidData for a file that the split does not have, a
// negative chunk, or one whose lines no 64-bit number counts.
Result<int64_t> FirstLine(const ChunkId& chunk, int32_t file_count, int64_t lines_per_chunk);

}  // namespace weir::data
