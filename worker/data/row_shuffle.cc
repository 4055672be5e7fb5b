#include "worker/data/row_shuffle.h"

#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/base/random_streams.h"

namespace weir::data {
namespace {

// The block's rows in another order: row i of the result is row order[i].
RowBlock InOrder(const RowBlock& block, const std::vector<size_t>& order) {
  const auto dense_count = static_cast<size_t>(block.dense_count);
  const auto table_count = static_cast<size_t>(block.table_count);
  RowBlock result;
  result.dense_count = block.dense_count;
  result.table_count = block.table_count;
  result.malformed = block.malformed;
  result.hash = block.hash;
  result.Reserve(block.row_count());
  const auto append = [](const auto& from, size_t begin, size_t end, auto* to) {
    to->insert(to->end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
               from.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (const size_t row : order) {
    result.labels.push_back(block.labels[row]);
    if (!block.lines.empty()) result.lines.push_back(block.lines[row]);
    append(block.dense, row * dense_count, (row + 1) * dense_count, &result.dense);
    const size_t list = row * table_count;
    for (size_t t = 0; block.has_lists() && t < table_count; ++t) {
      const size_t before = result.id_ends.empty() ? 0 : result.id_ends.back();
      result.id_ends.push_back(before + block.IdBegin(list + t + 1) - block.IdBegin(list + t));
    }
    const size_t first = block.IdBegin(list), end = block.IdBegin(list + table_count);
    append(block.ids, first, end, &result.ids);
    if (!block.weights.empty()) append(block.weights, first, end, &result.weights);
  }
  return result;
}

class ShufflingReader : public Reader {
 public:
  ShufflingReader(std::unique_ptr<Reader> inside, uint64_t seed)
      : inside_(std::move(inside)), seed_(seed) {}

  Result<ChunkResult> ReadColumns(const ChunkId& chunk, const ColumnChoice& choice,
                                  RowBlock* block) override {
    Result<ChunkResult> result = inside_->ReadColumns(chunk, choice, block);
    if (!result.ok() || chunk.split != Split::kTrain) return result;
    RandomStream random(seed_, RunStream::kRowShuffle, chunk.epoch, chunk.file, chunk.chunk);
    std::vector<size_t> order(block->labels.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t last = order.size(); last-- > 1;) {
      std::swap(order[random.NextBelow(last + 1)], order[last]);
    }
    *block = InOrder(*block, order);
    return result;
  }

  Result<std::optional<v1::ChunkPlace>> FindNext(const ChunkId& chunk) override {
    return inside_->FindNext(chunk);
  }
  int64_t passed_lines() const override { return inside_->passed_lines(); }
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
