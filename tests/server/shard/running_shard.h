// Shards of two stages that take random pushes and pulls.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "common/base/random.h"
#include "server/shard/shard.h"
#include "tests/server/server_test_support.h"
#include "tests/server/shard/step_support.h"

namespace weir::server {

inline constexpr uint32_t kWidth = 64;  // of rows: so that some thousands are more than a section
inline constexpr uint64_t kCutTableRows = 20'000;

struct Event {
  StageId stage;
  std::vector<Bytes> body;
  bool is_pull = false;
};

class Running {
 public:
  explicit Running(const v1::Config& config, bool awaits_load = false)
      : layout_(config, 1),
        shard_(config, layout_, 0, &outbox_, ShardOptions{.awaits_load = awaits_load}) {}

  // Waits for nothing.
  void Take(const Event& event) {
    if (event.is_pull) {
      CHECK(shard_.PostRows(std::make_shared<PendingRows>(), MakeParts({}, event.body)).ok());
    } else {
      shard_.Post(MakeStep(shard_, {event.body}, 0, event.stage).value());
    }
    shard_.HandOver();
  }

  // Of pieces, then of rows in the order of their creation, with numbers between them.
  std::vector<uint32_t> BitsOfAll() {
    shard_.WaitIdle();
    std::vector<uint32_t> bits;
    const auto add = [&](std::span<const float> floats) {
      for (const float value : floats) bits.push_back(std::bit_cast<uint32_t>(value));
    };
    for (const auto& strand : shard_.dense_strands()) {
      add(strand->piece().values());
      add(strand->piece().state());
    }
    for (const auto& strand : shard_.row_strands()) {
      bits.push_back(static_cast<uint32_t>(strand->rows().row_count()));
      strand->rows().ForEachRow([&](uint32_t table, uint64_t id, std::span<const float> values,
                                    std::span<const float> state) {
        bits.insert(bits.end(), {table, static_cast<uint32_t>(id)});
        add(values);
        add(state);
      });
    }
    return bits;
  }

  const ModelLayout& layout() const { return layout_; }
  Shard& shard() { return shard_; }

 private:
  const ModelLayout layout_;
  Outbox outbox_{[] {}};
  Shard shard_;
};

inline Bytes RandomRows(RandomStream& random, bool with_gradients) {
  std::vector<uint64_t> ids;
  uint64_t id = random.NextBelow(8);
  for (; id < kCutTableRows; id += 1 + random.NextBelow(40)) ids.push_back(id);
  const auto table = static_cast<uint32_t>(random.NextBelow(2));
  Bytes bytes;
  if (!with_gradients) {
    wire::AppendRowIds(&bytes, table, kWidth, ids);
    return bytes;
  }
  std::vector<float> values(ids.size() * kWidth);
  for (float& value : values) value = static_cast<float>(random.NextNormal());
  wire::AppendRowGradients(&bytes, table, kWidth, ids, values, wire::ValueCoding::kF32);
  return bytes;
}

// A pull, or a push of a stage's worker or of one with the whole model: with rows, a piece's
// gradient, both or neither.
inline Event RandomEvent(RandomStream& random, const ModelLayout& layout, bool by_stages) {
  Event event{.stage = {}, .body = {}, .is_pull = random.NextBelow(8) == 0};
  if (event.is_pull) {
    event.body.push_back(RandomRows(random, false));
    return event;
  }
  if (by_stages) event.stage = static_cast<uint32_t>(random.NextBelow(2));
  const PieceSpec& piece = layout.pieces()[random.NextBelow(layout.pieces().size())];
  if (!event.stage || *event.stage == layout.StageOfTensor(piece.tensor)) {
    const auto last = static_cast<uint16_t>(std::min(piece.element_count, kStripeElements) - 1);
    event.body.push_back(GradientFrame(piece, 0, {last}, {1.5f}));
  }
  const bool has_rows = !event.stage || *event.stage == layout.row_stage();
  if (has_rows && random.NextBelow(4) != 0) event.body.push_back(RandomRows(random, true));
  return event;
}

}  // namespace weir::server
