#include "common/store/row_table.h"

#include <algorithm>

#include "common/base/check.h"

namespace weir::store {

RowPartitionStore::RowPartitionStore(const ModelLayout& layout, const UpdateRule& rule)
    : layout_(layout),
      rule_(rule),
      dimension_(static_cast<size_t>(layout.embedding_dimension())),
      state_per_row_(static_cast<size_t>(rule.StatePerRow(layout.embedding_dimension()))) {
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

void RowPartitionStore::ReadOrInitial(uint32_t table, uint64_t id, std::span<float> out) const {
  CHECK_EQ(out.size(), dimension_);
  const std::span<const float> row = Find(table, id);
  if (row.empty()) {
    InitialRowValues(layout_.seed(), layout_.tables()[table], id, out);
  } else {
    std::copy(row.begin(), row.end(), out.begin());
  }
}

void RowPartitionStore::Apply(uint32_t table, uint64_t id, std::span<const float> gradient) {
  CHECK_EQ(gradient.size(), dimension_);
  const uint32_t slot = FindOrCreateSlot(table, id);
  rule_.ApplyRow(Values(slot), State(slot), gradient);
}

uint64_t RowPartitionStore::PackKey(uint32_t table, uint64_t id) {
  DCHECK_LE(id, kIdMask);
  return uint64_t{table} << kIdBits | id;
}

uint32_t RowPartitionStore::FindSlot(uint64_t key) const {
  return index_.Find(key, [this](uint32_t slot) { return Key(slot); });
}

uint32_t RowPartitionStore::FindOrCreateSlot(uint32_t table, uint64_t id) {
  DCHECK_LT(table, layout_.tables().size());
  const uint64_t key = PackKey(table, id);
  if (const uint32_t found = FindSlot(key); found != RowIndex::kAbsent) return found;
  const uint32_t slot = index_.size();
  if (slot % kSlabRows == 0) slabs_.push_back(std::make_unique<Slab>(dimension_ + state_per_row_));
  index_.Append(key, [this](uint32_t earlier) { return Key(earlier); });
  slabs_[slot / kSlabRows]->keys[slot % kSlabRows] = key;
  InitialRowValues(layout_.seed(), layout_.tables()[table], id, Values(slot));
  rule_.InitialState(State(slot));
  return slot;
}

int64_t RowPartitionStore::memory_bytes() const {
  const size_t slab_bytes =
      sizeof(Slab) + kSlabRows * (dimension_ + state_per_row_) * sizeof(float);
  return static_cast<int64_t>(slabs_.size() * (slab_bytes + sizeof(slabs_[0])) +
                              index_.memory_bytes());
}

}  // namespace weir::store
