#include "common/store/row_cut.h"

#include <cstring>

#include "common/base/check.h"

namespace weir::store {

RowPartitionStore::~RowPartitionStore() = default;

void RowPartitionStore::BeginCut() {
  CHECK(cut_ == nullptr) << "one cut at a time";
  cut_ = std::make_unique<Cut>(layout_, rule_);
  cut_->end = index_.size();
  for (uint32_t slab = 0; slab < slabs_.size(); ++slab) {
    cut_->first_slots[reinterpret_cast<uintptr_t>(slabs_[slab])] = slab * slab_rows_;
  }
}

uint32_t RowPartitionStore::cut_row_count() const { return cut_ == nullptr ? 0 : cut_->end; }

uint32_t RowPartitionStore::cut_rows_read() const { return cut_ == nullptr ? 0 : cut_->next; }

void RowPartitionStore::EndCut() { cut_.reset(); }

void RowPartitionStore::Keep(const std::byte* row) {
  const auto address = reinterpret_cast<uintptr_t>(row);
  const uintptr_t offset = address % SlabPool::kSlabBytes;
  const auto slab = cut_->first_slots.find(address - offset);
  if (slab == cut_->first_slots.end()) return;
  const uint32_t slot = slab->second + static_cast<uint32_t>(offset / row_bytes_);
  if (slot < cut_->next || slot >= cut_->end) return;
  const uint64_t key = KeyOf(row);
  if (cut_->kept.FindSlot(key) != RowIndex::kAbsent) return;
  std::memcpy(cut_->kept.Append(key), row, row_bytes_);
}

// The next row of the cut, as it was; null behind the last.
std::byte* RowPartitionStore::TakeCutRow() {
  if (cut_rows_read() == cut_row_count()) return nullptr;
  std::byte* const row = Row(cut_->next++);
  if (cut_->kept.row_count() == 0) return row;
  std::byte* const kept = cut_->kept.RowOrNull(cut_->kept.FindSlot(KeyOf(row)));
  return kept != nullptr ? kept : row;
}

}  // namespace weir::store
