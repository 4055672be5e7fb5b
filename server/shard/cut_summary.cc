#include "server/shard/cut_summary.h"

namespace weir::server {
namespace {

void PutNumbers(const std::vector<uint64_t>& numbers, ByteWriter* writer) {
  writer->PutVarint(numbers.size());
  for (const uint64_t number : numbers) writer->PutVarint(number);
}

// Each number takes a byte at least.
std::vector<uint64_t> GetNumbers(ByteReader* reader) {
  std::vector<uint64_t> numbers;
  for (uint64_t left = reader->GetVarint(); left > 0 && reader->ok(); --left) {
    numbers.push_back(reader->GetVarint());
  }
  return numbers;
}

}  // namespace

Bytes CutSummary::Encode() const {
  Bytes bytes;
  ByteWriter writer(bytes);
  PutNumbers(versions, &writer);
  PutNumbers(row_counts, &writer);
  PutNumbers({rule_starts.dense(), rule_starts.rows(), rule_starts.untouched_rows()}, &writer);
  return bytes;
}

Result<CutSummary> CutSummary::Decode(ByteSpan bytes) {
  ByteReader reader(bytes);
  CutSummary summary;
  summary.versions = GetNumbers(&reader);
  summary.row_counts = GetNumbers(&reader);
  const std::vector<uint64_t> starts = GetNumbers(&reader);
  if (!reader.ok() || reader.remaining() > 0 || starts.size() != 3) {
    return InvalidData("what is written beside the sections of a server's cut is damaged");
  }
  summary.rule_starts.set_dense(starts[0]);
  summary.rule_starts.set_rows(starts[1]);
  summary.rule_starts.set_untouched_rows(starts[2]);
  return summary;
}

}  // namespace weir::server
