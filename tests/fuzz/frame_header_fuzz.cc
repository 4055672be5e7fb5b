// The headers of frames that lie end to end, behind the checksum, which would stop nearly every
// damaged input: the last frame's is made good. The input is the frames.
#include "common/base/check.h"
#include "common/wire/frame.h"
#include "common/wire/row_frame.h"
#include "common/wire/score_frame.h"
#include "common/wire/state_frame.h"
#include "tests/common/wire/reseal.h"
#include "tests/fuzz/target.h"

namespace weir::fuzz {
namespace {

// Walks to the first frame that is refused, or the end; returns where that is.
size_t Walk(const Bytes& bytes) {
  wire::FrameCursor cursor(bytes);
  size_t position = 0;
  while (!cursor.done()) {
    const auto frame = cursor.Next();
    if (!frame.ok()) break;
    const wire::FrameHeader& header = frame->header;
    CHECK_EQ(header.length, frame->payload.size());
    CHECK_LE(header.count, uint64_t{header.length} * 8);
    CHECK_EQ(frame->payload.data() - bytes.data(),
             static_cast<ptrdiff_t>(position + frame->header_bytes));
    CHECK(wire::ClaimedKind(ByteSpan(bytes).subspan(position)) == header.kind);
    position += frame->frame_bytes();
    CHECK_LE(position, bytes.size());
  }
  return position;
}

void ReadInput(const uint8_t* data, size_t size) {
  Bytes bytes(data, data + size);
  const auto end = static_cast<ptrdiff_t>(Walk(bytes));
  Bytes rest(bytes.begin() + end, bytes.end());
  wire::Reseal(&rest);
  Walk(rest);
}

std::string Text(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const std::vector<float> values = {1, 2, 3, 4};
  std::vector<Bytes> seeds(4);
  wire::AppendRowIds(&seeds[0], 300, 16, std::vector<uint64_t>{3, 17});
  wire::AppendScores(&seeds[1], values, Bytes(values.size(), 1));
  wire::AppendPieceState(&seeds[2], 3, 1 << 20, values);
  wire::AppendPieceState(&seeds[3], 3, 1 << 20, std::vector<float>(5000, 1));  // padded varints
  Bytes both = seeds[0];
  both.insert(both.end(), seeds[1].begin(), seeds[1].end());
  seeds.push_back(both);
  std::vector<std::string> texts;
  for (const Bytes& seed : seeds) texts.push_back(Text(seed));
  return texts;
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::fuzz::ReadInput(data, size);
  return 0;
}
