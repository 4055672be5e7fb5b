#include "worker/data/batch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "common/base/check.h"

namespace weir::data {
namespace {

// A digit's counters then stay within the first-level cache, beside the ids of a batch.
constexpr int kMaxDigitBits = 10;

// Sorts by the lowest bit_count bits of the ids, which are all they have: a radix sort from the
// lowest digit on, in as few even digits as will do. Equal ids keep their order.
// scratch: as long as *sorted.
void SortById(int bit_count, std::vector<SampleId>* sorted, std::vector<SampleId>* scratch) {
  const int digits = (bit_count + kMaxDigitBits - 1) / kMaxDigitBits;
  if (digits == 0) return;
  const int digit_bits = (bit_count + digits - 1) / digits;
  const uint64_t mask = (uint64_t{1} << digit_bits) - 1;
  std::array<uint32_t, size_t{1} << kMaxDigitBits> next;  // where the next id of a digit goes
  for (int shift = 0; shift < bit_count; shift += digit_bits) {
    std::fill_n(next.begin(), mask + 1, 0u);
    for (const SampleId& entry : *sorted) ++next[entry.id >> shift & mask];
    uint32_t before = 0;
    for (size_t digit = 0; digit <= mask; ++digit) before += std::exchange(next[digit], before);
    for (const SampleId& entry : *sorted) (*scratch)[next[entry.id >> shift & mask]++] = entry;
    sorted->swap(*scratch);
  }
}

// Calls use(list, first, end) for a table's list in each row of [begin, end): ids[first, end).
template <typename Use>
void ForEachList(const RowBlock& block, int64_t begin, int64_t end, int32_t table, const Use& use) {
  const auto table_count = static_cast<size_t>(block.table_count);
  for (auto row = static_cast<size_t>(begin); row < static_cast<size_t>(end); ++row) {
    const size_t list = row * table_count + static_cast<size_t>(table);
    use(block.IdBegin(list), block.IdBegin(list + 1));
  }
}

// A table's ids of rows [begin, end), sorted, which is the order that the row frames want.
void SortTable(const RowBlock& block, int64_t begin, int64_t end, int32_t table, Batch* batch) {
  size_t count = 0;
  if (block.has_lists()) {
    ForEachList(block, begin, end, table,
                [&](size_t first, size_t last) { count += last - first; });
  } else {
    count = static_cast<size_t>(end - begin);
  }
  batch->sorted.resize(count);
  batch->scratch.resize(count);
  uint64_t any = 0;
  uint32_t number = 0;
  ForEachList(block, begin, end, table, [&](size_t first, size_t last) {
    for (size_t at = first; at < last; ++at) {
      const uint64_t id = block.ids[at];
      batch->sorted[number] = {id, number};
      any |= id;
      ++number;
    }
  });
  SortById(static_cast<int>(std::bit_width(any)), &batch->sorted, &batch->scratch);
}

void Deduplicate(const std::vector<SampleId>& sorted, TableIds* out) {
  out->unique.resize(sorted.size());
  out->positions.resize(sorted.size());
  if (sorted.empty()) return;
  uint32_t position = 0;
  uint64_t previous = sorted.front().id;
  for (const SampleId& entry : sorted) {
    position += entry.id != previous;
    previous = entry.id;
    out->unique[position] = entry.id;
    out->positions[entry.number] = position;
  }
  out->unique.resize(position + 1);
}

// Ends and weights of lists.
void CopyLists(const RowBlock& block, int64_t begin, int64_t end, int32_t table, TableIds* out) {
  out->ends.clear();
  out->weights.clear();
  if (!block.has_lists()) return;
  size_t count = 0;
  ForEachList(block, begin, end, table, [&](size_t first, size_t last) {
    count += last - first;
    out->ends.push_back(static_cast<uint32_t>(count));
    if (block.weights.empty()) return;
    const auto weights = block.weights.begin();
    out->weights.insert(out->weights.end(), weights + static_cast<std::ptrdiff_t>(first),
                        weights + static_cast<std::ptrdiff_t>(last));
  });
}

}  // namespace

void KeepColumns(bool dense, bool ids, RowBlock* block) {
  if (!dense) {
    block->dense_count = 0;
    block->dense = {};
  }
  if (ids) return;
  block->table_count = 0;
  block->ids = {};
  block->id_ends = {};
  block->weights = {};
}

void MakeBatch(const RowBlock& block, int64_t begin, int64_t end, Batch* batch) {
  CHECK_LE(0, begin);
  CHECK_LE(begin, end);
  CHECK_LE(end, block.row_count());
  CHECK_EQ(std::ssize(block.dense), block.row_count() * block.dense_count);
  const int64_t list_count = block.row_count() * block.table_count;
  CHECK_EQ(std::ssize(block.has_lists() ? block.id_ends : block.ids), list_count);
  batch->row_count = static_cast<int32_t>(end - begin);
  batch->labels.assign(block.labels.begin() + begin, block.labels.begin() + end);
  batch->dense.assign(block.dense.begin() + begin * block.dense_count,
                      block.dense.begin() + end * block.dense_count);
  batch->tables.resize(static_cast<size_t>(block.table_count));
  for (int32_t table = 0; table < block.table_count; ++table) {
    SortTable(block, begin, end, table, batch);
    TableIds* ids = &batch->tables[static_cast<size_t>(table)];
    Deduplicate(batch->sorted, ids);
    CopyLists(block, begin, end, table, ids);
  }
}

}  // namespace weir::data
