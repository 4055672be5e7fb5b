// Where chunks begin in a file of lines, as trainers tell each other through the coordinator. What
// is received may be anything.
//
// Place in the life of a batch: lease -> **read** -> parse -> batch.
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "common/proto/protocol.pb.h"
#include "worker/data/line_reader.h"

namespace weir::data {

// Of a chunk that begins there.
v1::ChunkPlace MakeChunkPlace(int64_t chunk, const LinePlace& place);

// The other way round, with a header's lines. Nothing for a place that is of no use for a line,
// counted from 0 behind the header: one behind it, or what cannot be one.
std::optional<LinePlace> ToLinePlace(const v1::ChunkPlace& place, int64_t lines_per_chunk,
                                     int64_t line, int64_t header_lines);

// Whether the way to a line, the header's counted, is shorter from the place than from where the
// reader is.
bool IsNearer(const LinePlace& place, int64_t line, const LineReader& reader);

// Goes past so many lines. Nothing when the file ends there, or before, or cannot be read so far.
std::optional<LinePlace> PlaceBehind(int64_t line_count, LineReader* reader);

}  // namespace weir::data
