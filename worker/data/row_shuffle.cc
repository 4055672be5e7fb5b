#include "worker/data/row_shuffle.h"

#include <algorithm>
#include <utility>

#include "common/base/random.h"

namespace weir::data {
namespace {

// Keeps this use of run.seed apart from the others.
constexpr uint64_t kShuffleKey = 0x5bff1e;

void SwapRows(int64_t a, int64_t b, RowBlock* block) {
  std::swap(block->labels[static_cast<size_t>(a)], block->labels[static_cast<size_t>(b)]);
  const auto dense = block->dense.begin();
  std::swap_ranges(dense + a * block->dense_count, dense + (a + 1) * block->dense_count,
                   dense + b * block->dense_count);
  const auto ids = block->ids.begin();
  std::swap_ranges(ids + a * block->table_count, ids + (a + 1) * block->table_count,
                   ids + b * block->table_count);
}

class ShufflingReader : public Reader {
 public:
  ShufflingReader(std::unique_ptr<Reader> inside, uint64_t seed)
      : inside_(std::move(inside)), seed_(seed) {}

  Result<ChunkResult> ReadChunk(const ChunkId& chunk, RowBlock* block) override {
    Result<ChunkResult> result = inside_->ReadChunk(chunk, block);
    if (!result.ok() || chunk.split != Split::kTrain) return result;
    RandomStream random(seed_, kShuffleKey, chunk.epoch, chunk.file, chunk.chunk);
    for (int64_t last = block->row_count() - 1; last > 0; --last) {
      const auto other = static_cast<int64_t>(random.NextBelow(static_cast<uint64_t>(last) + 1));
      if (other != last) SwapRows(other, last, block);
    }
    return result;
  }

  int32_t file_count(Split split) const override { return inside_->file_count(split); }

 private:
  const std::unique_ptr<Reader> inside_;
  const uint64_t seed_;
};

}  // namespace

std::unique_ptr<Reader> MakeShufflingReader(std::unique_ptr<Reader> inside, uint64_t seed) {
  return std::make_unique<ShufflingReader>(std::move(inside), seed);
}

}  // namespace weir::data
