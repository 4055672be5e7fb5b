#include "worker/data/chunk_place.h"

#include <limits>

namespace weir::data {

v1::ChunkPlace MakeChunkPlace(int64_t chunk, const LinePlace& place) {
  v1::ChunkPlace made;
  made.set_chunk(static_cast<uint64_t>(chunk));
  made.set_entry(place.at.entry);
  made.set_behind(place.at.behind);
  made.set_text_lines(static_cast<uint64_t>(place.text_line_count));
  return made;
}

std::optional<LinePlace> ToLinePlace(const v1::ChunkPlace& place, int64_t lines_per_chunk,
                                     int64_t line, int64_t header_lines) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const auto last_chunk = static_cast<uint64_t>(line / lines_per_chunk);
  if (place.chunk() == 0 || place.chunk() > last_chunk) return std::nullopt;
  const int64_t first_line = static_cast<int64_t>(place.chunk()) * lines_per_chunk + header_lines;
  if (place.text_lines() > kMost || static_cast<int64_t>(place.text_lines()) < first_line) {
    return std::nullopt;
  }
  return LinePlace{.at = {.entry = place.entry(), .behind = place.behind()},
                   .line_count = first_line,
                   .text_line_count = static_cast<int64_t>(place.text_lines())};
}

// Within a member the way from its beginning is the longer one.
bool IsNearer(const LinePlace& place, int64_t line, const LineReader& reader) {
  if (reader.line_count() > line) return true;
  if (reader.line_count() >= place.line_count) return false;
  const std::optional<LinePlace> here = reader.place();
  return !here || here->at.entry < place.at.entry;
}

std::optional<LinePlace> PlaceBehind(int64_t line_count, LineReader* reader) {
  const Result<int64_t> skipped = reader->Skip(line_count);
  if (!skipped.ok() || *skipped < line_count) return std::nullopt;
  const Result<bool> at_end = reader->AtEnd();
  if (!at_end.ok() || *at_end) return std::nullopt;
  return reader->place();
}

}  // namespace weir::data
