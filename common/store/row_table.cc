#include "common/store/row_table.h"

#include <algorithm>
#include <array>

#include "common/base/check.h"
#include "common/layout/initial_values.h"
#include "common/store/row_cut.h"
#include "common/store/update_rules.h"

namespace weir::store {
namespace {

// Rows that take a step of a lookup together.
constexpr size_t kGroup = 32;
// How many rows behind they take the next one, when memory has answered. Both by measurement, of
// rows of 16 floats, as weir-bench store has them.
constexpr size_t kAhead = 2 * kGroup;

// Most bytes of a row that are asked for by hand; what lies behind is read in sequence, which the
// processor foresees by itself.
constexpr size_t kPrefetchBytes = 512;
constexpr size_t kCacheLineBytes = 64;

// Inlined by force: g++ 12 sees no effect in a function that only prefetches, and drops calls of
// it. So it does of a lambda that does nothing else.
template <bool to_write>
[[gnu::always_inline]] inline void Prefetch(const void* first, size_t size) {
  const auto* row = static_cast<const std::byte*>(first);
  size = std::min(size, kPrefetchBytes);
  for (size_t at = 0; at < size; at += kCacheLineBytes) __builtin_prefetch(row + at, to_write);
  __builtin_prefetch(row + size - 1, to_write);
}

}  // namespace

RowPartitionStore::RowPartitionStore(const ModelLayout& layout, const UpdateRule& rule)
    : layout_(layout),
      rule_(rule),
      moves_at_rest_(rule.moves_at_rest()),
      dimension_(static_cast<size_t>(layout.embedding_dimension())),
      state_per_row_(static_cast<size_t>(rule.StatePerRow(layout.embedding_dimension()))),
      row_bytes_(sizeof(uint64_t) + (state_per_row_ + dimension_) * sizeof(float)),
      slab_rows_(static_cast<uint32_t>(SlabPool::kSlabBytes / row_bytes_)),
      rows_per_slab_(slab_rows_) {
  CHECK_LE(layout.tables().size(), size_t{1} << (64 - kIdBits));
  for (const TableSpec& table : layout.tables()) {
    CHECK_LE(table.row_count, int64_t{1} << kIdBits) << "rows of table " << table.name;
  }
}

std::span<const float> RowPartitionStore::Find(uint32_t table, uint64_t id) const {
  const uint32_t slot = FindSlot(PackKey(table, id));
  if (slot == RowIndex::kAbsent) return {};
  return Values(slot);
}

std::span<const float> RowPartitionStore::FindOrCreate(uint32_t table, uint64_t id) {
  return Values(FindOrCreateSlot(table, id));
}

void RowPartitionStore::ReadOrInitial(uint32_t table, uint64_t id, uint64_t step,
                                      std::span<float> out) const {
  CHECK_EQ(out.size(), dimension_);
  const uint32_t slot = FindSlot(PackKey(table, id));
  if (slot == RowIndex::kAbsent) {
    ReadUnseen(table, id, step, out);
  } else {
    ReadRow(Row(slot), step, out);
  }
}

void RowPartitionStore::Apply(uint32_t table, uint64_t id, std::span<const float> gradient,
                              uint64_t step) {
  CHECK_EQ(gradient.size(), dimension_);
  const uint32_t slot = FindOrCreateSlot(table, id);
  if (cut_ != nullptr) Keep(Row(slot));
  rule_.ApplyRow(Values(slot), State(slot), gradient, step);
}

void RowPartitionStore::Load(uint32_t table, uint64_t id, std::span<const float> values,
                             std::span<const float> state) {
  CHECK_EQ(values.size(), dimension_);
  CHECK_EQ(state.size(), state_per_row_);
  const uint64_t key = PackKey(table, id);
  std::byte* row = RowOrNull(FindSlot(key));
  if (row == nullptr) row = Append(key);
  if (cut_ != nullptr) Keep(row);
  std::ranges::copy(values, ValuesOf(row).begin());
  std::ranges::copy(state, StateOf(row).begin());
}

void RowPartitionStore::Settle(uint32_t begin, uint32_t end, uint64_t step) {
  for (uint32_t slot = begin; slot < end; ++slot) {
    if (cut_ != nullptr) Keep(Row(slot));
    rule_.SettleRow(Values(slot), State(slot), step);
  }
}

uint64_t RowPartitionStore::PackKey(uint32_t table, uint64_t id) {
  DCHECK_LE(id, kIdMask);
  return uint64_t{table} << kIdBits | id;
}

uint32_t RowPartitionStore::FindSlot(uint64_t key) const {
  return index_.Find(key, [this](uint32_t slot) { return Row(slot); });
}

uint32_t RowPartitionStore::FindOrCreateSlot(uint32_t table, uint64_t id) {
  DCHECK_LT(table, layout_.tables().size());
  const uint32_t found = FindSlot(PackKey(table, id));
  return found != RowIndex::kAbsent ? found : CreateSlot(table, id);
}

uint32_t RowPartitionStore::CreateSlot(uint32_t table, uint64_t id) {
  const uint32_t slot = index_.size();
  std::byte* const row = Append(PackKey(table, id));
  InitialRowValues(layout_.seed(), layout_.tables()[table], id, ValuesOf(row));
  MakeState(StateOf(row));
  return slot;
}

std::byte* RowPartitionStore::Append(uint64_t key) {
  const uint32_t slot = index_.size();
  if (slot % slab_rows_ == 0) slabs_.push_back(pool_.Take());
  index_.Append(key, [this](uint32_t earlier) { return Row(earlier); });
  std::memcpy(Row(slot), &key, sizeof(key));
  row_count_.store(slot + 1, std::memory_order_relaxed);
  return Row(slot);
}

// Calls visit(row, memory), null for a row that is not there, in order; between two calls rows may
// be created. Three steps follow each other through the batch, kAhead rows apart: ask for the
// index entries; find the rows and ask for them and their gradients; use them. A group takes a step
// as a whole: where each row took all three in turn, a batch took longer. gradients: the batch's
// matrix, or null where rows are read.
template <typename Visit>
void RowPartitionStore::VisitBatch(std::span<const BatchRow> rows, const float* gradients,
                                   const Visit& visit) const {
  struct Lookup {
    uint64_t key, hash;
    std::byte* row;
  };
  std::array<Lookup, 2 * kAhead> lookups;
  const auto for_group = [&](size_t begin, const auto& take) {
    const size_t end = std::min(begin + kGroup, rows.size());
    for (size_t i = begin; i < end; ++i) take(rows[i], lookups[i % lookups.size()]);
  };
  const auto ask = [&](const BatchRow& row, Lookup& lookup) {
    lookup.key = PackKey(row.table, row.id);
    lookup.hash = RowIndex::Hash(lookup.key);
    index_.Prefetch(lookup.hash);
  };
  const auto find = [&](const BatchRow& row, Lookup& lookup) {
    if (gradients != nullptr) {
      Prefetch<false>(gradients + row.position * dimension_, dimension_ * sizeof(float));
    }
    lookup.row = RowOrNull(index_.Candidate(lookup.hash));
    if (lookup.row != nullptr) Prefetch<true>(lookup.row, row_bytes_);
  };
  const auto use = [&](const BatchRow& row, const Lookup& lookup) {
    const bool found = lookup.row != nullptr && KeyOf(lookup.row) == lookup.key;
    visit(row, found ? lookup.row : RowOrNull(FindSlot(lookup.key)));
  };
  for (size_t begin = 0; begin < rows.size() + 2 * kAhead; begin += kGroup) {
    if (begin >= 2 * kAhead) for_group(begin - 2 * kAhead, use);
    if (begin >= kAhead) for_group(begin - kAhead, find);
    for_group(begin, ask);
  }
}

void RowPartitionStore::CopyRow(const float* from, float* to) const {
  if (dimension_ == kUsualDimension) {
    std::memcpy(to, from, kUsualDimension * sizeof(float));
  } else {
    std::memcpy(to, from, dimension_ * sizeof(float));
  }
}

void RowPartitionStore::ReadRow(std::byte* row, uint64_t step, std::span<float> out) const {
  if (moves_at_rest_ && cut_ != nullptr) SettleToRead(row);
  CopyRow(ValuesOf(row).data(), out.data());
  if (moves_at_rest_) [[unlikely]] {
    rule_.CatchUp(out, StateOf(row), step);
  }
}

// What weight decay would have left of the row if it had been there from the start.
void RowPartitionStore::ReadUnseen(uint32_t table, uint64_t id, uint64_t step,
                                   std::span<float> out) const {
  InitialRowValues(layout_.seed(), layout_.tables()[table], id, out);
  if (!moves_at_rest_) return;
  std::vector<float> state(state_per_row_);
  MakeState(state);
  rule_.CatchUp(out, state, step);
}

void RowPartitionStore::MakeState(std::span<float> state) const {
  rule_.InitialState(dimension_, state);
  if (first_step_ > 0) rule_.StartAt(dimension_, first_step_, state);
}

void RowPartitionStore::ReadBatch(std::span<const BatchRow> rows, uint64_t step,
                                  std::span<float> matrix, std::vector<RowPlace>* places) {
  if (places != nullptr) places->resize(rows.size());
  RowPlace* place = places != nullptr ? places->data() : nullptr;
  VisitBatch(rows, nullptr, [&](const BatchRow& row, std::byte* memory) {
    if (memory == nullptr) memory = Row(CreateSlot(row.table, row.id));
    if (place != nullptr) *place++ = {memory, row.position};
    ReadRow(memory, step, matrix.subspan(row.position * dimension_, dimension_));
  });
}

void RowPartitionStore::ReadBatchOrInitial(std::span<const BatchRow> rows, uint64_t step,
                                           std::span<float> matrix) const {
  VisitBatch(rows, nullptr, [&](const BatchRow& row, std::byte* memory) {
    const std::span<float> out = matrix.subspan(row.position * dimension_, dimension_);
    if (memory == nullptr) {
      ReadUnseen(row.table, row.id, step, out);
    } else {
      ReadRow(memory, step, out);
    }
  });
}

// They are looked up twice then, the second time where memory has answered already.
void RowPartitionStore::KeepBatch(std::span<const BatchRow> rows) {
  VisitBatch(rows, nullptr, [&](const BatchRow& /*row*/, std::byte* memory) {
    if (memory != nullptr) Keep(memory);
  });
}

// A step's updates, some at a time: the rule's loop is worth entering for many.
class RowPartitionStore::Updates {
 public:
  Updates(const RowPartitionStore& store, std::span<const float> matrix, uint64_t step)
      : store_(store), matrix_(matrix), step_(step) {}

  void Add(std::byte* row, uint32_t position) {
    const size_t dimension = store_.dimension_;
    updates_[count_++] = {store_.ValuesOf(row).data(), store_.StateOf(row).data(),
                          matrix_.subspan(position * dimension, dimension).data()};
    if (count_ == updates_.size()) Apply();
  }

  void Apply() {
    store_.rule_.ApplyRows(std::span(updates_).first(count_), store_.dimension_, step_);
    count_ = 0;
  }

 private:
  const RowPartitionStore& store_;
  const std::span<const float> matrix_;
  const uint64_t step_;
  std::array<RowUpdate, kGroup> updates_;
  size_t count_ = 0;
};

void RowPartitionStore::ApplyBatch(std::span<const BatchRow> rows, std::span<const float> matrix,
                                   uint64_t step) {
  if (cut_ != nullptr) [[unlikely]] {
    KeepBatch(rows);
  }
  Updates updates(*this, matrix, step);
  VisitBatch(rows, matrix.data(), [&](const BatchRow& row, std::byte* memory) {
    if (memory == nullptr) memory = Row(CreateSlot(row.table, row.id));
    updates.Add(memory, row.position);
  });
  updates.Apply();
}

void RowPartitionStore::ApplyPlaces(std::span<const RowPlace> places, std::span<const float> matrix,
                                    uint64_t step) {
  if (cut_ != nullptr) [[unlikely]] {
    for (const RowPlace& place : places) Keep(place.row);
  }
  Updates updates(*this, matrix, step);
  for (size_t begin = 0; begin < places.size() + kAhead; begin += kGroup) {
    for (size_t i = begin; i < std::min(begin + kGroup, places.size()); ++i) {
      Prefetch<true>(places[i].row, row_bytes_);
      Prefetch<false>(matrix.data() + places[i].position * dimension_, dimension_ * sizeof(float));
    }
    if (begin < kAhead) continue;
    for (size_t i = begin - kAhead; i < std::min(begin - kAhead + kGroup, places.size()); ++i) {
      updates.Add(places[i].row, places[i].position);
    }
  }
  updates.Apply();
}

// The first slab takes memory as its rows come, every other one at once.
int64_t RowPartitionStore::memory_bytes() const {
  const size_t first_bytes = std::min(index_.size(), slab_rows_) * row_bytes_;
  const size_t later_slabs = slabs_.empty() ? 0 : slabs_.size() - 1;
  const int64_t kept_bytes = cut_ != nullptr ? cut_->kept.memory_bytes() : 0;
  return kept_bytes +
         static_cast<int64_t>(first_bytes + later_slabs * SlabPool::kSlabBytes +
                              slabs_.capacity() * sizeof(slabs_[0]) + index_.memory_bytes());
}

}  // namespace weir::store
